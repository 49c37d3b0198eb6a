//! The events of several traces in the order of time, one by one.
//!
//! For printing and exporting; analyses need no such order and are faster without. Holds the places
//! of one packet's events per stream. Events with the same time come in the order of the traces,
//! then of their streams.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use slowpath_model::{Diagnostic, Event, EventClassId, PacketId, Projection, TimeRange, Timestamp};
use slowpath_source::{Decoder, Packet, Source};

/// Where an event is.
#[derive(Clone, Copy, Debug)]
pub struct EventPlace {
    /// Position of its trace among those merged.
    pub trace: usize,
    /// Its packet.
    pub packet: PacketId,
    /// Its place in the packet, for `Source::visit`.
    pub position: u64,
    /// Its class.
    pub class: EventClassId,
    /// Its time.
    pub at: Timestamp,
}

/// The receiver asked to stop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Interrupted;

/// Gives the events of `sources` that `wanted` (by trace) selects and that lie in `range` to
/// `receive`, in the order of time, until it asks to stop. Returns what was wrong with the packets.
pub fn merged_events(
    sources: &[&dyn Source],
    wanted: &[Projection],
    range: TimeRange,
    receive: impl FnMut(EventPlace) -> Result<(), Interrupted>,
) -> (Vec<Diagnostic>, Result<(), Interrupted>) {
    merged_events_by(sources, wanted, |_| range, |_, at| at.ns(), receive)
}

/// The same where traces have clocks of their own: `range` of each trace, in the order of `shown` times,
/// which are those of a trace's clock as a common one has them.
pub fn merged_events_by(
    sources: &[&dyn Source],
    wanted: &[Projection],
    range: impl Fn(usize) -> TimeRange,
    shown: impl Fn(usize, Timestamp) -> i64,
    mut receive: impl FnMut(EventPlace) -> Result<(), Interrupted>,
) -> (Vec<Diagnostic>, Result<(), Interrupted>) {
    let decoders: Vec<Box<dyn Decoder + '_>> = sources
        .iter()
        .zip(wanted)
        .map(|(source, wanted)| source.decoder(wanted))
        .collect();
    let mut diagnostics = Vec::new();
    let mut cursors: Vec<StreamCursor<'_>> = Vec::new();
    for (trace, source) in sources.iter().enumerate() {
        for stream in source.streams() {
            cursors.push(StreamCursor {
                trace,
                source: *source,
                decoder: &*decoders[trace],
                packets: stream.packets.clone(),
                range: range(trace),
                places: Vec::new(),
                next: 0,
            });
        }
    }
    let mut heads: BinaryHeap<Reverse<(i64, usize)>> = BinaryHeap::new();
    for (position, cursor) in cursors.iter_mut().enumerate() {
        let head = cursor.peek(&mut diagnostics);
        heads.extend(head.map(|head| Reverse((shown(head.trace, head.at), position))));
    }
    while let Some(Reverse((_, position))) = heads.pop() {
        let limit = heads.peek().map(|Reverse(head)| *head);
        let cursor = &mut cursors[position];
        // Stay with this stream as long as its events come first.
        while let Some(head) = cursor.peek(&mut diagnostics) {
            let at = shown(head.trace, head.at);
            if limit.is_some_and(|limit| (at, position) > limit) {
                heads.push(Reverse((at, position)));
                break;
            }
            cursor.next += 1;
            if receive(head).is_err() {
                return (diagnostics, Err(Interrupted));
            }
        }
    }
    (diagnostics, Ok(()))
}

/// One stream, packet after packet.
struct StreamCursor<'run> {
    trace: usize,
    source: &'run dyn Source,
    decoder: &'run dyn Decoder,
    packets: std::ops::Range<u32>,
    range: TimeRange,
    /// The events of the packet that was decoded last.
    places: Vec<EventPlace>,
    next: usize,
}

impl StreamCursor<'_> {
    fn peek(&mut self, diagnostics: &mut Vec<Diagnostic>) -> Option<EventPlace> {
        while self.next == self.places.len() {
            let packet = PacketId(self.packets.next()?);
            self.places.clear();
            self.next = 0;
            let Packet { range, beyond, .. } = self.source.packets()[packet.index()];
            if range.end + beyond < self.range.begin || range.begin >= self.range.end {
                continue;
            }
            let (trace, range) = (self.trace, self.range);
            let places = &mut self.places;
            let mut note = |event: &Event<'_>| {
                if range.contains(event.at) {
                    places.push(EventPlace {
                        trace,
                        packet,
                        position: event.position,
                        class: event.class,
                        at: event.at,
                    });
                }
            };
            diagnostics.extend(self.decoder.decode(packet, &mut note));
        }
        self.places.get(self.next).copied()
    }
}
