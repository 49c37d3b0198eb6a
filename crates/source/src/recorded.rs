//! Whether two recorders hold the same events of one machine: such events would count twice.
//!
//! Each of the two took an event at a time of its own and wrote packets of its own, so that nothing is alike but
//! names, processors, values and, about, times. Only the outermost packets of the time that both cover are decoded.

use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash, Hasher};

use slowpath_model::{
    CpuId, Event, Field, FieldId, FieldKind, Nanoseconds, PacketId, Projection, Scope, Slot,
    TimeRange, Timestamp,
};

use crate::{Packet, ROTATION, Source, Stream};

/// So many packets at either end of the common time tell which events a stream has.
const OUTERMOST: usize = 3;

/// What one recorder wrote: streams of a trace.
pub struct Recorded<'source> {
    source: &'source dyn Source,
    streams: Vec<&'source Stream>,
    /// Of each processor, from its first packet's begin to its last one's end.
    by_cpu: BTreeMap<CpuId, TimeRange>,
}

impl<'source> Recorded<'source> {
    /// Of `streams`, which are some or all of `source`.
    pub fn new(
        source: &'source dyn Source,
        streams: impl IntoIterator<Item = &'source Stream>,
    ) -> Self {
        let streams: Vec<&Stream> = streams.into_iter().collect();
        let mut by_cpu: BTreeMap<CpuId, TimeRange> = BTreeMap::new();
        for packet in streams.iter().flat_map(|stream| packets(source, stream)) {
            if let Some(cpu) = packet.cpu {
                let known = by_cpu.entry(cpu).or_insert(packet.range);
                *known = known.hull(packet.range);
            }
        }
        Self {
            source,
            streams,
            by_cpu,
        }
    }

    /// From its first packet's begin to its last one's end; empty where no packet tells its processor.
    pub fn whole(&self) -> TimeRange {
        let whole = self.by_cpu.values().copied().reduce(TimeRange::hull);
        whole.unwrap_or(TimeRange::new(Timestamp::MIN, Timestamp::MIN))
    }

    /// The processors of which both have packets of the same time, and that time.
    fn in_common(&self, other: &Self) -> impl Iterator<Item = (CpuId, TimeRange)> {
        self.by_cpu.iter().filter_map(|(cpu, range)| {
            let common = range.intersect(*other.by_cpu.get(cpu)?);
            (!common.is_empty()).then_some((*cpu, common))
        })
    }

    /// Whether both have packets of some processor over more than a moment of the same time.
    pub fn shares_time(&self, other: &Self) -> bool {
        self.in_common(other).any(|(_, common)| is_long(common))
    }

    /// By name, how many events of `other` lie in time of both, and how many of them are here as well: on the same
    /// processor, no more than `apart` earlier or later, and, where one tracer wrote both, with the same values. Only
    /// names that both may have are looked at.
    pub fn shared(&self, other: &Self, apart: Nanoseconds) -> BTreeMap<&'source str, Shared> {
        let kinds = self.kinds_in_both(other);
        let mut shared: BTreeMap<&str, Shared> = BTreeMap::new();
        for (cpu, range) in self.in_common(other) {
            let of_other = other.happened(&other.outermost(cpu, range), range, &kinds);
            let near = self.near(cpu, &of_other, apart);
            let own = self.happened(&near, TimeRange::ALL, &kinds);
            for (name, happened) in of_other {
                let own = own.get(name).map_or(&[][..], Vec::as_slice);
                let is_here = |event: &&Happened| {
                    let near = around(TimeRange::new(event.at, event.at), apart);
                    let next = own
                        .partition_point(|own| (own.values, own.at) < (event.values, near.begin));
                    let next = own.get(next).filter(|own| own.values == event.values);
                    next.is_some_and(|own| own.at <= near.end)
                };
                let of_name = shared.entry(name).or_default();
                of_name.found += happened.iter().filter(is_here).count() as u64;
                of_name.all += happened.len() as u64;
            }
        }
        shared
    }

    /// The names that both have, each with the fields by which an event of the one is known in the other. Where
    /// these would be none, an event says too little to be known.
    fn kinds_in_both(&self, other: &Self) -> BTreeMap<&'source str, Vec<&'source str>> {
        let [own, of_other] = [self.source.schema(), other.source.schema()];
        let mut kinds = BTreeMap::new();
        for class in &own.event_classes {
            let Some(as_other) = of_other
                .event_classes
                .iter()
                .find(|of| of.name == class.name)
            else {
                continue;
            };
            let is_in_both = |field: &&Field| {
                let as_other = as_other
                    .field(&field.name)
                    .map(|id| &as_other.fields[id.index()]);
                as_other.is_some_and(|of| of.kind == field.kind && of.scope == field.scope)
            };
            let fields = class.fields.iter().filter(|field| tells_event(field));
            let fields: Vec<&str> = fields
                .filter(is_in_both)
                .map(|field| &*field.name)
                .collect();
            // Two tracers write a value in different ways: their events are known by name and time.
            match own.tracer == of_other.tracer {
                true if fields.is_empty() => {}
                true => drop(kinds.insert(&*class.name, fields)),
                false => drop(kinds.insert(&*class.name, Vec::new())),
            }
        }
        kinds
    }

    /// The packets of a processor that may hold one of these events.
    fn near(
        &self,
        cpu: CpuId,
        happened: &BTreeMap<&str, Vec<Happened>>,
        apart: Nanoseconds,
    ) -> Vec<PacketId> {
        let mut times: Vec<Timestamp> = happened.values().flatten().map(|event| event.at).collect();
        times.sort_unstable();
        let is_near = |packet: &&Packet| {
            let near = around(packet.range, apart);
            let next = times.partition_point(|at| *at < near.begin);
            packet.cpu == Some(cpu) && times.get(next).is_some_and(|at| *at <= near.end)
        };
        let streams = self.streams.iter();
        let packets = streams.flat_map(|stream| packets(self.source, stream));
        packets.filter(is_near).map(|packet| packet.id).collect()
    }

    /// The outermost packets of each stream that hold something of a processor in `range`.
    fn outermost(&self, cpu: CpuId, range: TimeRange) -> Vec<PacketId> {
        let of_stream = self.streams.iter().flat_map(|stream| {
            let is_inside = |packet: &&Packet| {
                packet.cpu == Some(cpu) && !is_before_or_after(packet.range, range)
            };
            let inside = packets(self.source, stream).iter().filter(is_inside);
            let mut inside: Vec<PacketId> = inside.map(|packet| packet.id).collect();
            if inside.len() > 2 * OUTERMOST {
                inside.drain(OUTERMOST..inside.len() - OUTERMOST);
            }
            inside
        });
        of_stream.collect()
    }

    /// What happened in these packets and in `range` of the names of `kinds`, by values, then time.
    fn happened<'name>(
        &self,
        packets: &[PacketId],
        range: TimeRange,
        kinds: &BTreeMap<&'name str, Vec<&'name str>>,
    ) -> BTreeMap<&'name str, Vec<Happened>> {
        let schema = self.source.schema();
        let mut projection = Projection::nothing(schema.event_classes.len());
        // Of each class its name and the kinds of its values.
        let mut wanted: Vec<Option<(&'name str, Vec<FieldKind>)>> = Vec::new();
        for (id, class) in schema.classes() {
            let kind = kinds.get_key_value(class.name.as_str());
            wanted.push(kind.map(|(name, fields)| {
                let fields: Vec<Option<FieldId>> =
                    fields.iter().map(|name| class.field(name)).collect();
                projection.want(id, fields.clone());
                let fields = fields.into_iter().flatten();
                (
                    *name,
                    fields.map(|id| class.fields[id.index()].kind).collect(),
                )
            }));
        }
        let decoder = self.source.decoder(&projection);
        let mut happened: BTreeMap<&'name str, Vec<Happened>> = BTreeMap::new();
        let mut note = |event: &Event<'_>| {
            if let Some((name, kinds)) = &wanted[event.class.index()]
                && range.contains(event.at)
            {
                happened.entry(name).or_default().push(Happened {
                    at: event.at,
                    values: hash_of(event, kinds),
                });
            }
        };
        for packet in packets {
            decoder.decode(*packet, &mut note);
        }
        for of_name in happened.values_mut() {
            of_name.sort_unstable_by_key(|event| (event.values, event.at));
        }
        happened
    }
}

/// An event of some name: when, and a hash of its values.
struct Happened {
    at: Timestamp,
    values: u64,
}

/// Of some events of one recorder.
#[derive(Clone, Copy, Debug, Default)]
pub struct Shared {
    /// So many are another one's as well.
    pub found: u64,
    /// Of so many that were looked at.
    pub all: u64,
}

impl Shared {
    /// Whether the other one has more of them than chance makes alike.
    pub fn is_a_tenth(self) -> bool {
        self.found > 0 && self.found * 10 >= self.all
    }

    /// Whether the other one has most of them.
    pub fn is_most(self) -> bool {
        self.found * 2 > self.all
    }
}

/// What is not read along with what is left out: nothing, or kinds of events, in words.
pub fn without_kinds<'name>(kinds: impl IntoIterator<Item = &'name str>) -> String {
    const NAMED: usize = 5;
    let kinds: Vec<&str> = kinds.into_iter().collect();
    let named = kinds[..kinds.len().min(NAMED)].join(", ");
    let more = if kinds.len() > NAMED { " …" } else { "" };
    match kinds.len() {
        0 => String::new(),
        1 => format!(", without {named}"),
        number => format!(", without {number} kinds of events: {named}{more}"),
    }
}

/// Whether the value of a field is the event's own, whoever records it: the payload, and whose event it is.
fn tells_event(field: &Field) -> bool {
    const WHOSE: [&str; 5] = ["vtid", "vpid", "tid", "pid", "common_pid"];
    field.kind != FieldKind::Compound
        && (field.scope == Scope::Payload || WHOSE.contains(&field.name.as_str()))
}

fn hash_of(event: &Event<'_>, kinds: &[FieldKind]) -> u64 {
    let mut hasher = DefaultHasher::new();
    for (kind, slot) in kinds.iter().zip(0..) {
        match kind {
            FieldKind::Text => event.text(Slot(slot)).hash(&mut hasher),
            FieldKind::Bytes => event.raw_bytes(Slot(slot)).hash(&mut hasher),
            _ => event.unsigned(Slot(slot)).hash(&mut hasher),
        }
    }
    hasher.finish()
}

/// As much time before `range` and behind it.
fn around(range: TimeRange, apart: Nanoseconds) -> TimeRange {
    let apart = i64::try_from(apart.0).unwrap_or(i64::MAX);
    let [begin, end] = [(range.begin, -apart), (range.end, apart)];
    let moved = |(at, by): (Timestamp, i64)| Timestamp::from_ns(at.ns().saturating_add(by));
    TimeRange::new(moved(begin), moved(end))
}

fn is_before_or_after(packet: TimeRange, range: TimeRange) -> bool {
    packet.end < range.begin || range.end <= packet.begin
}

/// Parts of a rotated session, and recordings one after the other, have less time in common.
fn is_long(common: TimeRange) -> bool {
    common.length() > ROTATION
}

fn packets<'source>(source: &'source dyn Source, stream: &Stream) -> &'source [Packet] {
    &source.packets()[stream.packets.start as usize..stream.packets.end as usize]
}
