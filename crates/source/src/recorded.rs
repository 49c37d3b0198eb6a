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

    /// The processors of which both have packets over more than a moment of the same time, and that time.
    fn in_common(&self, other: &Self) -> impl Iterator<Item = (CpuId, TimeRange)> {
        self.by_cpu.iter().filter_map(|(cpu, range)| {
            let common = range.intersect(*other.by_cpu.get(cpu)?);
            is_long(common).then_some((*cpu, common))
        })
    }

    /// Whether both have packets of some processor over more than a moment of the same time.
    pub fn shares_time(&self, other: &Self) -> bool {
        self.in_common(other).next().is_some()
    }

    /// Whether both have events of one name on one processor over more than a moment of the same time; only
    /// names of which `counts` holds are looked at.
    pub fn holds_same(&self, other: &Self, counts: impl Fn(&str) -> bool) -> bool {
        let of_other: BTreeSet<&str> = names(other.source).collect();
        let both = names(self.source).filter(|name| of_other.contains(name) && counts(name));
        let both: BTreeSet<&str> = both.collect();
        let is_same_on = |(cpu, range): (CpuId, TimeRange)| {
            let [one, other] = [self, other].map(|recorded| recorded.times(cpu, range, &both));
            let mut one = one.iter();
            one.any(|(name, one)| {
                let other = other.get(name);
                other.is_some_and(|other| is_long(one.intersect(*other)))
            })
        };
        !both.is_empty() && self.in_common(other).any(is_same_on)
    }

    /// When events of some names happened on a processor in `range`: from the first to the last one in each
    /// stream's outermost packets there.
    fn times<'name>(
        &self,
        cpu: CpuId,
        range: TimeRange,
        wanted: &BTreeSet<&'name str>,
    ) -> BTreeMap<&'name str, TimeRange> {
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
        let mut times: BTreeMap<&'name str, TimeRange> = BTreeMap::new();
        let mut note = |event: &Event<'_>| {
            if let Some(name) = names[event.class.index()]
                && range.contains(event.at)
            {
                let at = TimeRange::new(event.at, event.at);
                let known = times.entry(name).or_insert(at);
                *known = known.hull(at);
            }
        };
        for stream in &self.streams {
            let is_inside = |packet: &&Packet| {
                let is_outside = packet.range.end < range.begin || range.end <= packet.range.begin;
                packet.cpu == Some(cpu) && !is_outside
            };
            let inside = packets(self.source, stream).iter().filter(is_inside);
            let inside: Vec<PacketId> = inside.map(|packet| packet.id).collect();
            let behind_first = OUTERMOST.min(inside.len());
            let last = inside.len().saturating_sub(OUTERMOST).max(behind_first);
            for packet in inside[..behind_first].iter().chain(&inside[last..]) {
                decoder.decode(*packet, &mut note);
            }
        }
        times
    }
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
