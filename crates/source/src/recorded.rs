//! Whether two recorders hold the same events of one machine: such events would count twice.
//!
//! Each of the two took an event at a time of its own and wrote packets of its own, so that nothing is alike but
//! names, processors and, about, times. Only the outermost packets of the time that both cover are decoded.

use std::collections::{BTreeMap, BTreeSet};

use slowpath_model::{CpuId, Event, EventClassId, PacketId, Projection, TimeRange, Timestamp};

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

    /// Whether both have events of one name on one processor over more than a moment of the same time; only
    /// names of which `counts` holds are looked at.
    pub fn holds_same(&self, other: &Self, counts: impl Fn(&str) -> bool) -> bool {
        let both = self.names_in_both(other, counts);
        let is_same_on = |(cpu, range): (CpuId, TimeRange)| {
            let [one, other] = [self, other].map(|recorded| {
                let packets = recorded.outermost(cpu, range);
                recorded.times(&packets, range, &both)
            });
            let mut one = one.iter();
            one.any(|(name, one)| {
                let hulls = [Some(one), other.get(name)].map(|times| hull(times?));
                matches!(hulls, [Some(one), Some(other)] if is_long(one.intersect(other)))
            })
        };
        let mut common = (self.in_common(other)).filter(|(_, common)| is_long(*common));
        !both.is_empty() && common.any(is_same_on)
    }

    /// Whether most events of `other` that lie in time of both are here as well, each at the same time: they may
    /// be few and far between. Only names of which `counts` holds are looked at.
    pub fn holds_each(&self, other: &Self, counts: impl Fn(&str) -> bool) -> bool {
        let wanted: BTreeSet<&str> = names(other.source).filter(|name| counts(name)).collect();
        let (mut found, mut all) = (0, 0);
        for (cpu, range) in self.in_common(other) {
            let of_other = other.times(&other.outermost(cpu, range), range, &wanted);
            let ranges: Vec<TimeRange> = of_other.values().filter_map(|of| hull(of)).collect();
            let is_near = |packet: &Packet| {
                let mut ranges = ranges.iter();
                ranges.any(|range| !is_before_or_after(packet.range, around(*range)))
            };
            let packets = self
                .streams
                .iter()
                .flat_map(|stream| packets(self.source, stream));
            let near = packets.filter(|packet| packet.cpu == Some(cpu) && is_near(packet));
            let near: Vec<PacketId> = near.map(|packet| packet.id).collect();
            let own = self.times(&near, TimeRange::ALL, &wanted);
            for (name, times) in &of_other {
                let own = own.get(name).map_or(&[][..], Vec::as_slice);
                let is_here = |at: &&Timestamp| {
                    let near = around(TimeRange::new(**at, **at));
                    let next = own.partition_point(|own| *own < near.begin);
                    own.get(next).is_some_and(|own| *own <= near.end)
                };
                found += times.iter().filter(is_here).count();
                all += times.len();
            }
        }
        found * 2 > all
    }

    fn names_in_both(&self, other: &Self, counts: impl Fn(&str) -> bool) -> BTreeSet<&'source str> {
        let of_other: BTreeSet<&str> = names(other.source).collect();
        names(self.source)
            .filter(|name| of_other.contains(name) && counts(name))
            .collect()
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

    /// When events of some names happened in these packets and in `range`, in order.
    fn times<'name>(
        &self,
        packets: &[PacketId],
        range: TimeRange,
        wanted: &BTreeSet<&'name str>,
    ) -> BTreeMap<&'name str, Vec<Timestamp>> {
        let names: Vec<Option<&'name str>> = (names(self.source))
            .map(|name| wanted.get(name).copied())
            .collect();
        let mut projection = Projection::nothing(names.len());
        for (name, class) in names.iter().zip(0..) {
            if name.is_some() {
                projection.want(EventClassId(class), Vec::new());
            }
        }
        let decoder = self.source.decoder(&projection);
        let mut times: BTreeMap<&'name str, Vec<Timestamp>> = BTreeMap::new();
        let mut note = |event: &Event<'_>| {
            if let Some(name) = names[event.class.index()]
                && range.contains(event.at)
            {
                times.entry(name).or_default().push(event.at);
            }
        };
        for packet in packets {
            decoder.decode(*packet, &mut note);
        }
        for of_name in times.values_mut() {
            of_name.sort_unstable();
        }
        times
    }
}

/// Where another recorder may have an event: as two clocks are read.
fn around(range: TimeRange) -> TimeRange {
    const APART_NS: i64 = 1_000_000;
    let [begin, end] = [(range.begin, -APART_NS), (range.end, APART_NS)];
    let moved = |(at, by): (Timestamp, i64)| Timestamp::from_ns(at.ns().saturating_add(by));
    TimeRange::new(moved(begin), moved(end))
}

fn hull(times: &[Timestamp]) -> Option<TimeRange> {
    let all = times.iter().map(|at| TimeRange::new(*at, *at));
    all.reduce(TimeRange::hull)
}

fn is_before_or_after(packet: TimeRange, range: TimeRange) -> bool {
    packet.end < range.begin || range.end <= packet.begin
}

/// Parts of a rotated session, and recordings one after the other, have less time in common.
fn is_long(common: TimeRange) -> bool {
    common.length() > ROTATION
}

fn names(source: &dyn Source) -> impl Iterator<Item = &str> {
    let classes = source.schema().event_classes.iter();
    classes.map(|class| class.name.as_str())
}

fn packets<'source>(source: &'source dyn Source, stream: &Stream) -> &'source [Packet] {
    &source.packets()[stream.packets.start as usize..stream.packets.end as usize]
}
