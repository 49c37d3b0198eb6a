//! Several traces of one host, read as one.
//!
//! For traces that were taken one after the other, or side by side. Streams, packets and event classes of the parts are
//! put one after the other and keep their order; nothing is merged in time, as sources never promise that. What lies
//! between two parts that follow each other counts as lost.

use std::ops::Range;

use slowpath_model::{
    Diagnostic, Event, EventClassId, FieldId, FieldVisitor, PacketId, Projection, Schema, StreamId,
    Timestamp,
};

use crate::{Decoder, EventSink, Packet, ROTATION, Source, Stream};

/// A source made of several.
pub struct Joined<'source> {
    parts: Vec<Part<'source>>,
    schema: Schema,
    streams: Vec<Stream>,
    packets: Vec<Packet>,
    diagnostics: Vec<Diagnostic>,
}

struct Part<'source> {
    source: &'source dyn Source,
    first_packet: u32,
    first_stream: u32,
    first_class: u32,
}

impl<'source> Joined<'source> {
    /// Joins `sources` in the order of their begin; what the schema says about tracer and host is that of
    /// the first.
    pub fn new(sources: impl IntoIterator<Item = &'source dyn Source>) -> Self {
        let mut joined = Self {
            parts: Vec::new(),
            schema: Schema::default(),
            streams: Vec::new(),
            packets: Vec::new(),
            diagnostics: Vec::new(),
        };
        let mut sources: Vec<&dyn Source> = sources.into_iter().collect();
        // What lies between two is lost before the later one, whichever was named first.
        sources.sort_by_key(|source| {
            let begin = source
                .packets()
                .iter()
                .map(|packet| packet.range.begin)
                .min();
            (begin.is_none(), begin)
        });
        for source in sources {
            joined.add(source);
        }
        joined
    }

    fn add(&mut self, source: &'source dyn Source) {
        let first_packet = self.packets.len() as u32;
        let first_stream = self.streams.len() as u32;
        if self.parts.is_empty() {
            self.schema = Schema {
                event_classes: Vec::new(),
                ..source.schema().clone()
            };
        } else {
            let environment = source.schema().environment.iter().cloned();
            self.schema.environment.extend(environment);
            let threads = &source.schema().threads_of_32_bit;
            self.schema.threads_of_32_bit.extend(threads);
        }
        self.parts.push(Part {
            source,
            first_packet,
            first_stream,
            first_class: self.schema.event_classes.len() as u32,
        });
        let classes = source.schema().event_classes.iter().cloned();
        self.schema.event_classes.extend(classes);
        self.streams
            .extend(source.streams().iter().map(|stream| Stream {
                packets: stream.packets.start + first_packet..stream.packets.end + first_packet,
                ..stream.clone()
            }));
        self.packets
            .extend(source.packets().iter().map(|packet| Packet {
                id: PacketId(packet.id.0 + first_packet),
                stream: StreamId(packet.stream.0 + first_stream),
                ..packet.clone()
            }));
        let diagnostics = source.diagnostics().iter().cloned();
        self.diagnostics.extend(diagnostics);
        let new = self.streams[first_stream as usize..].iter();
        let new = new.filter(|stream| !stream.packets.is_empty());
        let firsts: Vec<u32> = new
            .map(|stream| stream.packets.start)
            .filter(|first| self.parts.len() > 1 && !self.goes_on_beside(*first))
            .collect();
        if !firsts.is_empty() {
            self.end_streams_without_successor(first_stream as usize);
        }
        for first in firsts {
            let lost = &mut self.packets[first as usize].lost_packets;
            *lost = lost.saturating_add(1);
        }
    }

    /// Whether other parts were being recorded when a packet of the last one began, and went on:
    /// recorders of different events side by side, of which nothing is missing where one begins. Not so with
    /// rings of ftrace, of which one is read at a time, and of which two snapshots may share a page.
    fn goes_on_beside(&self, packet: u32) -> bool {
        let Some(part) = self.parts.last() else {
            return false;
        };
        if part.source.schema().tracer == "ftrace" {
            return false;
        }
        let new = part.first_packet as usize;
        let begin = self.packets[packet as usize].range.begin;
        let mut ends = self.packets[..new].iter().map(|known| known.range.end);
        ends.any(|end| end > begin + ROTATION)
    }

    /// Ends the streams before `first_new` of processors that the part behind it has no events of: what they
    /// did between the two parts, and in the later one, is not known.
    fn end_streams_without_successor(&mut self, first_new: usize) {
        let (earlier, new) = self.streams.split_at_mut(first_new);
        let has_successor = |stream: &Stream| {
            let goes_on = |new: &Stream| new.cpu == stream.cpu && !new.packets.is_empty();
            new.iter().any(goes_on)
        };
        for stream in earlier {
            if stream.cut_off_at.is_none() && stream.cpu.is_some() && !has_successor(stream) {
                let last = stream.packets.clone().next_back();
                let last = last.map(|last| &self.packets[last as usize]);
                stream.cut_off_at = last.map(|last| last.range.end);
            }
        }
    }

    /// The position of the part that a packet is of, and the packet's id there.
    fn part_of(&self, packet: PacketId) -> Option<(usize, PacketId)> {
        let after = self
            .parts
            .partition_point(|part| part.first_packet <= packet.0);
        // Parts without packets begin where the next one does: the last one that begins there has it.
        let position = after.checked_sub(1)?;
        Some((
            position,
            PacketId(packet.0 - self.parts[position].first_packet),
        ))
    }
}

impl Source for Joined<'_> {
    fn schema(&self) -> &Schema {
        &self.schema
    }

    fn streams(&self) -> &[Stream] {
        &self.streams
    }

    fn packets(&self) -> &[Packet] {
        &self.packets
    }

    fn diagnostics(&self) -> &[Diagnostic] {
        &self.diagnostics
    }

    fn decoder<'source>(&'source self, projection: &Projection) -> Box<dyn Decoder + 'source> {
        let decoders = self.parts.iter().map(|part| {
            let count = part.source.schema().event_classes.len();
            let mut own = Projection::nothing(count);
            for class in 0..count as u32 {
                let wanted = projection.fields(EventClassId(part.first_class + class));
                if let Some(fields) = wanted {
                    own.want(EventClassId(class), Vec::<Option<FieldId>>::from(fields));
                }
            }
            part.source.decoder(&own)
        });
        Box::new(JoinedDecoder {
            decoders: decoders.collect(),
            joined: self,
        })
    }

    fn visit(&self, packet: PacketId, position: u64, visitor: &mut dyn FieldVisitor) {
        if let Some((part, packet)) = self.part_of(packet) {
            self.parts[part].source.visit(packet, position, visitor);
        }
    }

    fn traces(&self) -> Vec<StreamId> {
        let shifted = self.parts.iter().flat_map(|part| {
            let own = part.source.traces().into_iter();
            own.map(|first| StreamId(first.0 + part.first_stream))
        });
        shifted.collect()
    }

    fn release(&self, packets: Range<PacketId>) {
        if let Some((part, first)) = self.part_of(packets.start) {
            let count = packets.end.0.saturating_sub(packets.start.0);
            let end = PacketId(first.0 + count);
            self.parts[part].source.release(first..end);
        }
    }
}

struct JoinedDecoder<'source> {
    joined: &'source Joined<'source>,
    decoders: Vec<Box<dyn Decoder + 'source>>,
}

impl Decoder for JoinedDecoder<'_> {
    fn decode(&self, packet: PacketId, sink: &mut dyn EventSink) -> Vec<Diagnostic> {
        let Some((part, packet)) = self.joined.part_of(packet) else {
            return Vec::new();
        };
        let mut renumbered = Renumbered {
            sink,
            first_class: self.joined.parts[part].first_class,
        };
        self.decoders[part].decode(packet, &mut renumbered)
    }

    fn tally(&self, packet: PacketId, tell: &mut dyn FnMut(EventClassId, u64)) -> Vec<Diagnostic> {
        let Some((part, packet)) = self.joined.part_of(packet) else {
            return Vec::new();
        };
        let first_class = self.joined.parts[part].first_class;
        let mut renumbered = |class: EventClassId, count| {
            tell(EventClassId(class.0 + first_class), count);
        };
        self.decoders[part].tally(packet, &mut renumbered)
    }
}

/// Hands on the events of a part with the classes that they have in the whole.
struct Renumbered<'sink> {
    sink: &'sink mut dyn EventSink,
    first_class: u32,
}

impl EventSink for Renumbered<'_> {
    fn event(&mut self, event: &Event<'_>) {
        self.sink.event(&Event {
            class: EventClassId(event.class.0 + self.first_class),
            ..*event
        });
    }

    fn gap(&mut self, until: Timestamp) {
        self.sink.gap(until);
    }
}
