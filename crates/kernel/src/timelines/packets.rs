//! Who on this host sent the packets that each processor received.
//!
//! The steps of all packets in the order of time, as packets go from one processor to another. Kept
//! meanwhile: packets that were sent and not received yet, at most one for each buffer.

use rustc_hash::FxHashMap;
use slowpath_model::ThreadId;
use slowpath_platform::{Kept, Shelf, ShelfWriter};

use super::entry::{Delivery, Sender, Step, StepKind};
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
}

/// For every processor its deliveries, in the order of its receipts.
pub(super) fn deliveries(joined: &[Joined], shelf: &Shelf) -> Vec<Kept<2>> {
    let mut processors: Vec<Processor<'_>> = (joined.iter())
        .map(|one| {
            let receipts = one.segments.iter().map(|s| s.segment.receipts as usize);
            Processor {
                deliveries: shelf.writer(receipts.sum()),
                last_sender: None,
                queued: None,
                raised_by: None,
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
    let finished = processors.into_iter().map(|one| one.deliveries.finish());
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
            StepKind::Queued { buffer, by } => self.queued = Some((buffer, self.sender(by, at))),
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
                self.deliver(Some(during));
            }
            StepKind::Raised(by) => self.raised_by = by.map(|thread| (thread, at)),
            StepKind::Receiving { during } => {
                self.last_sender = self.raised_by;
                self.deliver(self.raised_by.map(|_| during));
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

    fn deliver(&mut self, during: Option<ThreadId>) {
        let sender = self.last_sender;
        self.deliveries.push(Delivery { sender, during }.row());
    }
}
