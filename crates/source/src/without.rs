//! A trace of which some time is not read, or events of some classes in some time.

use std::ops::Range;

use slowpath_model::{
    Diagnostic, Event, EventClassId, FieldVisitor, PacketId, Projection, Schema, StreamId,
    TimeRange, Timestamp,
};

use crate::{Decoder, EventSink, Packet, Source, Stream};

/// Reads all of a source but what happened in some time. Classes of events still stand in its schema, and streams
/// of which nothing is left in its list.
pub struct Without {
    source: Box<dyn Source>,
    /// When events are left out, by class.
    left_out: Vec<Vec<TimeRange>>,
    /// When some of the events are left out.
    times: Vec<TimeRange>,
    streams: Vec<Stream>,
    packets: Vec<Packet>,
    /// By packet: its id in the source.
    ids: Vec<PacketId>,
}

impl Without {
    /// Leaves events of these classes out, of each when it says.
    pub fn kinds(source: Box<dyn Source>, kinds: Vec<(EventClassId, Vec<TimeRange>)>) -> Self {
        let mut left_out = vec![Vec::new(); source.schema().event_classes.len()];
        for (class, ranges) in kinds {
            left_out[class.index()] = ranges;
        }
        let packets = source.packets().to_vec();
        let in_part = left_out
            .iter()
            .flatten()
            .filter(|range| **range != TimeRange::ALL);
        Self {
            times: TimeRange::union(in_part.copied().collect()),
            streams: source.streams().to_vec(),
            ids: packets.iter().map(|packet| packet.id).collect(),
            left_out,
            packets,
            source,
        }
    }

    /// Leaves out everything that happened in `ranges`: packets end and begin there.
    pub fn time(source: Box<dyn Source>, ranges: Vec<TimeRange>) -> Self {
        let ranges = TimeRange::union(ranges);
        let (mut streams, mut packets, mut ids) = (Vec::new(), Vec::new(), Vec::new());
        for stream in source.streams() {
            let first = packets.len() as u32;
            let of_stream = stream.packets.start as usize..stream.packets.end as usize;
            for packet in source.packets().get(of_stream).unwrap_or_default() {
                if let Some(range) = outside(packet.range, &ranges) {
                    ids.push(packet.id);
                    packets.push(Packet {
                        id: PacketId(packets.len() as u32),
                        range,
                        ..packet.clone()
                    });
                }
            }
            let is_read = |at: &Timestamp| !ranges.iter().any(|range| range.contains(*at));
            streams.push(Stream {
                packets: first..packets.len() as u32,
                cut_off_at: stream.cut_off_at.filter(is_read),
                ..stream.clone()
            });
        }
        Self {
            left_out: vec![ranges.clone(); source.schema().event_classes.len()],
            times: ranges,
            streams,
            packets,
            ids,
            source,
        }
    }

    /// Its id in the source.
    fn id(&self, packet: PacketId) -> PacketId {
        self.ids.get(packet.index()).copied().unwrap_or(packet)
    }
}

/// What of `range` lies in none of `ranges`, which are apart; with what lies between where that is several parts.
fn outside(range: TimeRange, ranges: &[TimeRange]) -> Option<TimeRange> {
    let at_begin = ranges.iter().find(|of| of.contains(range.begin));
    let at_end = ranges
        .iter()
        .find(|of| of.begin < range.end && range.end <= of.end);
    let begin = at_begin.map_or(range.begin, |of| of.end);
    let end = at_end.map_or(range.end, |of| of.begin);
    (begin < end || range.is_empty() && begin == range.begin).then(|| TimeRange::new(begin, end))
}

impl Source for Without {
    fn schema(&self) -> &Schema {
        self.source.schema()
    }

    fn streams(&self) -> &[Stream] {
        &self.streams
    }

    fn packets(&self) -> &[Packet] {
        &self.packets
    }

    fn diagnostics(&self) -> &[Diagnostic] {
        self.source.diagnostics()
    }

    fn decoder<'source>(&'source self, projection: &Projection) -> Box<dyn Decoder + 'source> {
        let mut projection = projection.clone();
        for (class, _) in self.source.schema().classes() {
            if self.left_out[class.index()] == [TimeRange::ALL] {
                projection.exclude(class);
            }
        }
        Box::new(Sieve {
            decoder: self.source.decoder(&projection),
            without: self,
        })
    }

    fn visit(&self, packet: PacketId, position: u64, visitor: &mut dyn FieldVisitor) {
        self.source.visit(self.id(packet), position, visitor);
    }

    fn traces(&self) -> Vec<StreamId> {
        self.source.traces()
    }

    fn has_clock(&self, packet: PacketId) -> bool {
        self.source.has_clock(self.id(packet))
    }

    fn release(&self, packets: Range<PacketId>) {
        let ids = self.ids.get(packets.start.index()..packets.end.index());
        if let Some([first, .., last] | [first @ last]) = ids {
            self.source.release(*first..PacketId(last.0 + 1));
        }
    }
}

/// Decodes what is not left out.
struct Sieve<'source> {
    decoder: Box<dyn Decoder + 'source>,
    without: &'source Without,
}

impl Sieve<'_> {
    /// Whether all events of a packet are read that the decoder gives.
    fn reads_all_of(&self, packet: PacketId) -> bool {
        let source = &self.without.source;
        let Some(packet) = source.packets().get(self.without.id(packet).index()) else {
            return true;
        };
        let meets =
            |range: &TimeRange| range.begin <= packet.range.end && packet.range.begin < range.end;
        !self.without.times.iter().any(meets)
    }
}

impl Decoder for Sieve<'_> {
    fn decode(&self, packet: PacketId, sink: &mut dyn EventSink) -> Vec<Diagnostic> {
        let id = self.without.id(packet);
        if self.reads_all_of(packet) {
            return self.decoder.decode(id, sink);
        }
        let left_out = &self.without.left_out;
        self.decoder.decode(id, &mut Sifted { sink, left_out })
    }

    fn tally(&self, packet: PacketId, tell: &mut dyn FnMut(EventClassId, u64)) -> Vec<Diagnostic> {
        if self.reads_all_of(packet) {
            return self.decoder.tally(self.without.id(packet), tell);
        }
        self.decode(packet, &mut |event: &Event<'_>| tell(event.class, 1))
    }
}

/// Hands on what is not left out.
struct Sifted<'run> {
    sink: &'run mut dyn EventSink,
    left_out: &'run [Vec<TimeRange>],
}

impl EventSink for Sifted<'_> {
    fn event(&mut self, event: &Event<'_>) {
        let left_out = &self.left_out[event.class.index()];
        if !left_out.iter().any(|range| range.contains(event.at)) {
            self.sink.event(event);
        }
    }

    fn gap(&mut self, until: Timestamp) {
        self.sink.gap(until);
    }
}
