//! What the tracer lost, as packets tell it: a counter of discarded events and numbers of packets.
//!
//! Both run over a stream, so a loss is a difference between two packets. What was lost before the
//! first packet that is there is nobody's: the counter may have begun long before it.

use slowpath_model::{Diagnostic, DiagnosticCode, Place, counted};

use crate::packets::RawPacket;

/// What was lost before or in one packet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Loss {
    /// Events discarded since the packet before ended.
    pub(crate) events: u64,
    /// Packets missing between the one before and this one, but for those that were left out.
    pub(crate) packets: u64,
    /// Events discarded before the end of a stream's first packet, where nothing says that the
    /// counter began with it.
    pub(crate) earlier_events: u64,
}

/// The losses of each packet of one stream.
///
/// The counter is written at the end of a packet, so its growth belongs to the packet. The value of
/// the first packet is its own growth only where it has the sequence number 0. What is less than a value before it is no
/// value of the counter: LTTng-UST (2.13) states 0 now and then.
///
/// Also which packets state what cannot be, by position, in words.
pub(crate) fn losses(packets: &[RawPacket]) -> (Vec<Loss>, Vec<(usize, String)>) {
    let mut damaged = Vec::new();
    let mut before: Option<&RawPacket> = None;
    let mut known_sequence = None;
    let mut known = 0;
    let mut read_since = 0;
    let mut losses = Vec::with_capacity(packets.len());
    for (position, packet) in packets.iter().enumerate() {
        let is_damaged = is_out_of_line(packets, position);
        let sequence = packet.sequence.filter(|_| !is_damaged);
        let discarded = packet.discarded.unwrap_or(0);
        let is_too_much = is_too_much(before, packet, known);
        if let (true, Some(number)) = (is_damaged, packet.sequence) {
            let what = format!(
                "the packet's number, {number}, does not lie between those of its neighbours"
            );
            damaged.push((position, what));
        } else if is_too_much {
            let what = format!(
                "the packet says that {discarded} events were lost, more than can have come since the one before"
            );
            damaged.push((position, what));
        }
        let discarded = if is_too_much { known } else { discarded };
        losses.push(match before {
            None if sequence == Some(0) => Loss {
                events: discarded,
                ..Loss::default()
            },
            None => Loss {
                earlier_events: discarded,
                ..Loss::default()
            },
            Some(_) => Loss {
                events: discarded.saturating_sub(known),
                packets: known_sequence.zip(sequence).map_or(0, |(earlier, later)| {
                    let between = u64::saturating_sub(later, earlier).saturating_sub(1);
                    between.saturating_sub(packet.left_out_before + read_since)
                }),
                earlier_events: 0,
            },
        });
        before = Some(packet);
        known = known.max(discarded);
        // The next number is compared with the last one that was believed.
        read_since = if is_damaged {
            read_since + 1 + packet.left_out_before
        } else {
            0
        };
        known_sequence = if is_damaged { known_sequence } else { sequence };
    }
    (losses, damaged)
}

/// Whether a packet's number cannot be its own, as it does not lie between those of its neighbours, which are in order.
fn is_out_of_line(packets: &[RawPacket], position: usize) -> bool {
    let number = |position: usize| packets.get(position)?.sequence;
    let before = position.checked_sub(1).and_then(number);
    let numbers = before.zip(number(position)).zip(number(position + 1));
    numbers.is_some_and(|((before, own), next)| before < next && !(before..=next).contains(&own))
}

/// Whether a packet says that more events were discarded since the one before than its clock has ticks.
fn is_too_much(before: Option<&RawPacket>, packet: &RawPacket, known: u64) -> bool {
    // Some clocks are slower than events come.
    const MOST_BY_SLOW_CLOCKS: u64 = u32::MAX as u64;
    let ends = before.and_then(|before| before.end).zip(packet.end);
    let ticks = ends.map(|(earlier, later)| later.saturating_sub(earlier));
    let grown = packet.discarded.unwrap_or(0).saturating_sub(known);
    ticks.is_some_and(|ticks| grown > ticks.max(MOST_BY_SLOW_CLOCKS))
}

/// The losses of a trace's streams, for one diagnostic of each kind.
#[derive(Default)]
pub(crate) struct LossReport {
    events: Tally,
    packets: Tally,
    earlier_events: Tally,
}

/// A number over streams, and the stream with most of it.
#[derive(Default)]
struct Tally {
    sum: u64,
    streams: usize,
    most: u64,
    most_in: String,
}

impl Tally {
    fn add(&mut self, stream: &str, lost: impl Iterator<Item = u64>) {
        let lost = lost.fold(0, u64::saturating_add);
        if lost == 0 {
            return;
        }
        self.sum = self.sum.saturating_add(lost);
        self.streams += 1;
        if lost > self.most {
            self.most = lost;
            self.most_in = stream.to_owned();
        }
    }

    /// A diagnostic that tells the sum at the stream that has most of it.
    fn diagnostic(
        &self,
        code: DiagnosticCode,
        count: Option<u64>,
        [one, several]: [&str; 2],
        more: &str,
    ) -> Diagnostic {
        let place = Place {
            file: self.most_in.clone(),
            ..Place::default()
        };
        let others = match self.streams {
            1 => String::new(),
            several => format!(", in {several} streams, {} of them in this one", self.most),
        };
        Diagnostic {
            count,
            ..Diagnostic::new(
                code,
                place,
                counted(self.sum, one, several) + more + &others,
            )
        }
    }
}

impl LossReport {
    pub(crate) fn add_stream(&mut self, name: &str, losses: &[Loss]) {
        let each = || losses.iter();
        self.events.add(name, each().map(|loss| loss.events));
        self.packets.add(name, each().map(|loss| loss.packets));
        let earlier = each().map(|loss| loss.earlier_events);
        self.earlier_events.add(name, earlier);
    }

    pub(crate) fn diagnostics(&self) -> Vec<Diagnostic> {
        let Self {
            events,
            packets,
            earlier_events: earlier,
        } = self;
        let mut diagnostics = Vec::new();
        if events.sum > 0 {
            let mut diagnostic = events.diagnostic(
                DiagnosticCode::LostEvents,
                Some(events.sum),
                ["event was lost", "events were lost"],
                "",
            );
            if earlier.sum > 0 {
                let more = format!(
                    "; up to {} more, not counted, in or before the first packets",
                    earlier.sum
                );
                diagnostic.message += &more;
            }
            diagnostics.push(diagnostic);
        } else if earlier.sum > 0 {
            let what = [
                "event was lost in or before the first packet",
                "events were lost in or before the first packet",
            ];
            let why = "; not counted, since nothing says that the counter began with it";
            diagnostics.push(earlier.diagnostic(DiagnosticCode::LostEvents, None, what, why));
        }
        if packets.sum > 0 {
            let code = DiagnosticCode::LostPackets;
            let what = ["packet is missing", "packets are missing"];
            diagnostics.push(packets.diagnostic(code, Some(packets.sum), what, ""));
        }
        diagnostics
    }
}
