//! A drawing as a source: its packets, a decoder that projects, and the walk over all fields.

use slowpath_model::{
    Diagnostic, DisplayBase, Event, EventClass, FieldKind, FieldVisitor, Nanoseconds, PacketId,
    Projection, Schema, Scope, StreamId, TimeRange,
};
use slowpath_source::{Decoder, EventSink, Packet, Source, Stream};

use crate::{DrawnEvent, DrawnTrace, Line, PackedEvent, PacketContent, Value};

/// What a drawn packet and each of its events add to the packet's size in bytes.
const SIZE_OF_EVENT: u64 = 64;

impl DrawnTrace {
    /// Adds the packets of a stream: at least one, however few its events, but none where nothing is
    /// left of it.
    pub(crate) fn add_stream(&mut self, line: &Line) {
        let id = StreamId(self.streams.len() as u32);
        let first_packet = self.packets.len() as u32;
        let inner = line.cuts.iter().copied();
        let mut begin = 0;
        let is_left = line.cut_off_at.is_none() || !line.events.is_empty();
        let ends = inner.chain([line.events.len()]).filter(|_| is_left);
        for end in ends {
            let (lost_events, lost_packets) = line.losses.get(&begin).copied().unwrap_or_default();
            let events = &line.events[begin..end];
            let at = |event: Option<&DrawnEvent>| event.map(|event| event.at).unwrap_or_default();
            let content = pack(events);
            self.packets.push(Packet {
                id: PacketId(self.packets.len() as u32),
                stream: id,
                offset: begin as u64 * SIZE_OF_EVENT,
                size: (1 + events.len() as u64) * SIZE_OF_EVENT,
                range: TimeRange::new(at(events.first()), at(events.last())),
                cpu: line.cpu,
                lost_events,
                lost_packets,
                behind_loss: false,
                beyond: Nanoseconds::ZERO,
                number: None,
            });
            self.contents.push(content);
            begin = end;
        }
        self.streams.push(Stream {
            name: line.name.clone(),
            cpu: line.cpu,
            packets: first_packet..self.packets.len() as u32,
            buffer: line.buffer,
            cut_off_at: line.cut_off_at,
        });
    }
}

fn pack(events: &[DrawnEvent]) -> PacketContent {
    let mut content = PacketContent::default();
    for event in events {
        let values = event
            .values
            .iter()
            .map(|value| {
                value
                    .as_ref()
                    .map(|value| pack_value(value, &mut content.bytes))
            })
            .collect();
        content.events.push(PackedEvent {
            class: event.class,
            at: event.at,
            values,
            unreadable_until: event.unreadable_until,
        });
    }
    content
}

fn pack_value(value: &Value, bytes: &mut Vec<u8>) -> u64 {
    match value {
        Value::Signed(number) => *number as u64,
        Value::Unsigned(number) => *number,
        Value::Float(number) => number.to_bits(),
        Value::Text(text) => {
            let begin = bytes.len();
            bytes.extend_from_slice(text.as_bytes());
            bytes.push(0);
            Event::pack_range(begin, text.len())
        }
        Value::Bytes(raw) => {
            let begin = bytes.len();
            bytes.extend_from_slice(raw);
            Event::pack_range(begin, raw.len())
        }
    }
}

impl Source for DrawnTrace {
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
        &[]
    }

    fn decoder<'source>(&'source self, projection: &Projection) -> Box<dyn Decoder + 'source> {
        Box::new(DrawnDecoder {
            trace: self,
            projection: projection.clone(),
        })
    }

    fn visit(&self, packet: PacketId, position: u64, visitor: &mut dyn FieldVisitor) {
        let Some(content) = self.contents.get(packet.index()) else {
            return;
        };
        let Some(event) = content.events.get(position as usize) else {
            return;
        };
        let class = &self.schema.event_classes[event.class.index()];
        for scope in [Scope::CommonContext, Scope::Payload] {
            visit_scope(content, event, class, scope, visitor);
        }
    }
}

fn visit_scope(
    content: &PacketContent,
    event: &PackedEvent,
    class: &EventClass,
    scope: Scope,
    visitor: &mut dyn FieldVisitor,
) {
    let present = class.fields.iter().zip(&event.values);
    let mut fields = present
        .filter_map(|(field, value)| Some((field, (*value)?)))
        .filter(|(field, _)| field.scope == scope)
        .peekable();
    if fields.peek().is_none() {
        return;
    }
    visitor.scope(scope);
    for (field, value) in fields {
        visitor.name(&field.name);
        match field.kind {
            FieldKind::Unsigned => visitor.unsigned(value, 64, DisplayBase::Hexadecimal),
            FieldKind::Float => visitor.float(f64::from_bits(value), false),
            FieldKind::Text => visitor.text(bytes_at(content, value)),
            FieldKind::Bytes => visitor.blob(bytes_at(content, value)),
            FieldKind::Signed | FieldKind::Compound => {
                visitor.signed(value as i64, 64, DisplayBase::Decimal);
            }
        }
    }
    visitor.end_scope();
}

fn bytes_at(content: &PacketContent, packed: u64) -> &[u8] {
    let (begin, length) = ((packed >> 32) as usize, packed as u32 as usize);
    content.bytes.get(begin..begin + length).unwrap_or_default()
}

struct DrawnDecoder<'source> {
    trace: &'source DrawnTrace,
    projection: Projection,
}

impl Decoder for DrawnDecoder<'_> {
    fn decode(&self, packet: PacketId, sink: &mut dyn EventSink) -> Vec<Diagnostic> {
        let Some(content) = self.trace.contents.get(packet.index()) else {
            return Vec::new();
        };
        let mut values = Vec::new();
        for (event, position) in content.events.iter().zip(0..) {
            let Some(wanted) = self.projection.fields(event.class) else {
                event
                    .unreadable_until
                    .iter()
                    .for_each(|&until| sink.gap(until));
                continue;
            };
            let mut absent = 0;
            values.clear();
            for (field, slot) in wanted.iter().zip(0..) {
                let value = field.and_then(|field| event.values.get(field.index()).copied()?);
                absent |= u128::from(value.is_none()) << slot;
                values.push(value.unwrap_or(0));
            }
            sink.event(&Event {
                class: event.class,
                at: event.at,
                position,
                bytes: &content.bytes,
                values: &values,
                absent,
            });
            event
                .unreadable_until
                .iter()
                .for_each(|&until| sink.gap(until));
        }
        Vec::new()
    }
}

#[cfg(test)]
mod tests {
    use slowpath_model::{EventClassId, Slot};

    use super::*;

    const DRAWING: &str = r#"
        cpu0 10 switch next=7 comm="a b"   # a comment
        cpu1 11 call   args=[1,-2] mask=0xffffffffffffffff
        cpu0 12 switch next=8 prev=7 @tid=3
        -- lost 5 cpu0
        cpu0 13 switch next=9
        -- packet cpu1
        cpu1 14 call args=[3,4]
    "#;

    /// Every event of `trace` by packet: time, then its fields as the projection gives them.
    fn told(trace: &dyn Source) -> Vec<String> {
        let decoder = trace.decoder(&Projection::everything(trace.schema()));
        let mut lines = Vec::new();
        for packet in trace.packets() {
            let mut line = format!("{}:", trace.streams()[packet.stream.index()].name);
            if packet.lost_events > 0 {
                line += &format!(" lost {}", packet.lost_events);
            }
            decoder.decode(packet.id, &mut |event: &Event<'_>| {
                line += &format!(" {}", event.at.ns());
                let class = &trace.schema().event_classes[event.class.index()];
                for (field, n) in class.fields.iter().zip(0..) {
                    let slot = Slot(n);
                    if !event.has(slot) {
                        continue;
                    }
                    line += &match field.kind {
                        FieldKind::Text => {
                            format!(
                                " {}={}",
                                field.name,
                                String::from_utf8_lossy(event.text(slot))
                            )
                        }
                        FieldKind::Unsigned => {
                            format!(" {}={:#x}", field.name, event.unsigned(slot))
                        }
                        _ => format!(" {}={}", field.name, event.signed(slot)),
                    };
                }
            });
            lines.push(line);
        }
        lines
    }

    #[test]
    fn a_drawing_gives_its_events_in_its_packets() {
        let trace = DrawnTrace::parse(DRAWING).unwrap();
        assert_eq!(
            told(&trace),
            [
                "cpu0: 10 next=7 comm=a b 12 next=8 prev=7 tid=3",
                "cpu0: lost 5 13 next=9",
                "cpu1: 11 args.0=1 args.1=-2 mask=0xffffffffffffffff",
                "cpu1: 14 args.0=3 args.1=4",
            ]
        );
        assert_eq!(trace.streams[1].cpu, Some(slowpath_model::CpuId(1)));
        assert_eq!(trace.packets[0].range.end.ns(), 12);
    }

    #[test]
    fn packets_can_be_cut_elsewhere_but_losses_stay() {
        let trace = DrawnTrace::parse(DRAWING).unwrap();
        let each = trace.recut(|_, _| true);
        assert_eq!(each.packets.len(), 5);
        assert_eq!(told(&trace.recut(|_, _| false))[..2], told(&trace)[..2]);
        let random = |seed| told(&trace.recut_at_random(seed, 2));
        assert_eq!(random(1), random(1));
        assert!((0..20).any(|seed| random(seed) != random(1)));
    }

    #[test]
    fn only_what_is_wanted_is_decoded() {
        let trace = DrawnTrace::parse(DRAWING).unwrap();
        let mut projection = Projection::nothing(2);
        projection.want(EventClassId(1), vec![None]);
        let decoder = trace.decoder(&projection);
        let mut seen = Vec::new();
        for packet in &trace.packets {
            decoder.decode(packet.id, &mut |event: &Event<'_>| {
                seen.push((event.at.ns(), event.has(Slot(0))));
            });
        }
        assert_eq!(seen, [(11, false), (14, false)]);
    }

    #[test]
    fn traces_that_are_joined_keep_their_events() {
        let first = DrawnTrace::parse("cpu0 1 a x=1\ncpu1 2 b y=2").unwrap();
        let nothing = DrawnTrace::parse("").unwrap();
        let second = DrawnTrace::parse("cpu0 3 b z=3\n-- packet cpu0\ncpu0 4 c w=4").unwrap();
        let parts: [&dyn Source; 3] = [&first, &nothing, &second];
        let joined = slowpath_source::Joined::new(parts);
        assert_eq!(
            told(&joined),
            ["cpu0: 1 x=1", "cpu1: 2 y=2", "cpu0: 3 z=3", "cpu0: 4 w=4"]
        );
        let ids: Vec<u32> = joined.packets().iter().map(|packet| packet.id.0).collect();
        assert_eq!(ids, [0, 1, 2, 3]);
        assert_eq!(joined.streams()[2].packets, 2..4);
        assert_eq!(joined.packets()[3].stream, StreamId(2));
    }

    #[test]
    fn mistakes_are_named_with_their_line() {
        let check = |text: &str, line, message| {
            let error = DrawnTrace::parse(text).unwrap_err();
            assert_eq!((error.line, error.message), (line, message), "{text}");
        };
        check("cpu0 5", 1, "an event needs a stream, a time and a name");
        check("\ncpu0 x e", 2, "the time is not a number");
        check("cpu0 5 e a", 1, "a field has no `=`");
        check("cpu0 5 e\ncpu0 4 e", 2, "the stream's time goes back");
        check("cpu0 5 e a=\"x", 1, "a quote is not closed");
        check("-- lost x cpu0", 1, "not a number");
        check("-- nonsense", 1, "unknown directive");
        check(
            "cpu0 5 e a=1\ncpu0 6 e a=x",
            2,
            "the field has a value of another kind in an earlier line",
        );
    }
}
