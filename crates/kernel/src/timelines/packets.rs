//! Who on this host sent the packets that each processor received.
//!
//! The steps of all packets in the order of time, as packets go from one processor to another. Kept
//! meanwhile: packets that were sent and not received yet, at most one for each buffer.

use rustc_hash::FxHashMap;
use slowpath_model::ThreadId;
use slowpath_platform::{Kept, Shelf, ShelfWriter};

use super::entry::{Delivery, Sender, Sending, SendingRow, Step, StepKind};
use super::in_order::InOrder;
use super::join::Joined;

/// The thread that sent a packet, and when.
type Sent = Option<(ThreadId, i64)>;

/// What is known of packets on one processor.
struct Processor<'shelf> {
    deliveries: ShelfWriter<'shelf, 2>,
    /// Who sent the packet that was received last.
    last_sender: Sent,
    /// The packet that was handed to a device last.
    queued: Option<(u64, Sent)>,
    /// Who asked for packets to be received, and when.
    raised_by: Sent,
    /// What its threads handed to devices, where that is asked for.
    sendings: Option<Vec<SendingRow>>,
}

/// What is known of the packets on a processor.
pub(super) struct Packets {
    /// In the order of its receipts: rows of [`Delivery`].
    pub(super) deliveries: Kept<2>,
    /// In the order of time: rows of [`Sending`]; empty unless they were asked for.
    pub(super) sendings: Kept<2>,
}

/// For every processor its packets; `sendings`: those that other hosts may have received as well.
pub(super) fn packets(joined: &[Joined], shelf: &Shelf, sendings: bool) -> Vec<Packets> {
    let mut processors: Vec<Processor<'_>> = (joined.iter())
        .map(|one| {
            let receipts = one.segments.iter().map(|s| s.segment.receipts as usize);
            Processor {
                deliveries: shelf.writer(receipts.sum()),
                last_sender: None,
                queued: None,
                raised_by: None,
                sendings: sendings.then(Vec::new),
            }
        })
        .collect();
    let steps = joined.iter().map(|one| {
        one.segments.iter().flat_map(|placed| {
            let steps = placed.segment.steps.iter().map(Step::from_row);
            steps.map(|step| Step {
                at: step.at.max(placed.floor),
                ..step
            })
        })
    });
    // What is received at the time at which it was sent was sent before.
    let order = |step: &Step| (step.at, matches!(step.what, StepKind::Received { .. }));
    let mut on_the_way: FxHashMap<u64, Sent> = FxHashMap::default();
    for (cpu, step) in InOrder::new(steps, order) {
        if let Some(processor) = processors.get_mut(cpu) {
            processor.take(step, &mut on_the_way);
        }
    }
    let finished = processors.into_iter().map(|one| Packets {
        deliveries: one.deliveries.finish(),
        sendings: shelf.keep(one.sendings.unwrap_or_default()),
    });
    finished.collect()
}

impl Processor<'_> {
    fn take(&mut self, Step { at, what }: Step, on_the_way: &mut FxHashMap<u64, Sent>) {
        match what {
            StepKind::Lost => (self.queued, self.raised_by) = (None, None),
            StepKind::Sent { buffer, by } => {
                on_the_way.insert(buffer, self.sender(by, at));
                self.queued = None;
            }
            StepKind::Queued { buffer, by } => {
                self.queued = Some((buffer, self.sender(by, at)));
                if let (Some(sendings), Sender::Thread(thread)) = (&mut self.sendings, by) {
                    sendings.push(Sending { at, thread }.row());
                }
            }
            StepKind::Looped { buffer } => {
                // Otherwise it was sent elsewhere.
                if let Some((_, sender)) = self.queued.take_if(|(queued, _)| *queued == buffer) {
                    on_the_way.insert(buffer, sender);
                }
            }
            StepKind::Received { buffer, during } => {
                // A buffer is used again: the packet is the one sent last, unless somebody has
                // received it since.
                self.last_sender = on_the_way.remove(&buffer).flatten();
                self.deliver(at, Some(during));
            }
            StepKind::Raised(by) => self.raised_by = by.map(|thread| (thread, at)),
            StepKind::Receiving { during } => {
                self.last_sender = self.raised_by;
                self.deliver(at, self.raised_by.map(|_| during));
            }
        }
    }

    fn sender(&self, by: Sender, at: i64) -> Sent {
        match by {
            Sender::Thread(thread) => Some((thread, at)),
            Sender::Answer => self.last_sender,
            Sender::Unknown => None,
        }
    }

    fn deliver(&mut self, received: i64, during: Option<ThreadId>) {
        let delivery = Delivery {
            sender: self.last_sender.map(|(thread, _)| thread),
            at: self.last_sender.map_or(received, |(_, sent)| sent),
            during,
        };
        self.deliveries.push(delivery.row());
    }
}
