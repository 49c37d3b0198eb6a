//! Whether two traces hold the same events: one may be a copy of the other, whole or damaged, or a
//! snapshot of what the other went on to record.
//!
//! Packets are compared by processor and begin, which no two packets of one tracer share by accident;
//! events are counted only where all packets are alike. Parts of a rotated session, and traces of
//! several domains, have no packet in common.

use std::collections::HashMap;

use slowpath_model::{CpuId, EventClassId, Projection, TimeRange, Timestamp, TracerDomain};
use slowpath_source::{Packet, Source, Stream};

use crate::OpenedSource;

/// What two traces have in common.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum InCommon {
    /// The second one holds nothing that the first does not hold.
    SecondIsPart,
    /// The first one holds less than the second.
    FirstIsPart,
    /// Both hold packets that the other one lacks.
    Some,
}

/// What two traces have in common; `None` where that is nothing.
pub(crate) fn in_common(first: &OpenedSource, second: &OpenedSource) -> Option<InCommon> {
    if !may_be_one(first, second) {
        return None;
    }
    let (one, other) = (&*first.source, &*second.source);
    if has_same_packets(one, other) {
        let is_less = events(one) < events(other);
        return Some(match is_less {
            true => InCommon::FirstIsPart,
            false => InCommon::SecondIsPart,
        });
    }
    // Without these, alike times may be chance: traces that were made by hand, or by a device whose clock
    // begins at 0 with every run.
    let says_whence = |trace: &OpenedSource| {
        let schema = trace.source.schema();
        let is_of_some_run = !schema.session.is_empty() || trace.format == "ftrace";
        is_of_some_run && !schema.tracer.is_empty() && schema.domain != TracerDomain::Unknown
    };
    let overlap = hull(one).intersect(hull(other));
    if !says_whence(first) || !says_whence(second) || overlap.is_empty() {
        return None;
    }
    let streams_of_one = by_begin(one);
    let streams_of_other = by_begin(other);
    if !is_any_shared(&streams_of_one, &streams_of_other) {
        return None;
    }
    let second_is_part = is_held(other, one, &streams_of_one);
    let first_is_part = is_held(one, other, &streams_of_other);
    Some(match (first_is_part, second_is_part) {
        // The same packets, of which one does not describe all events.
        (true, true) if events(one) < events(other) => InCommon::FirstIsPart,
        (_, true) => InCommon::SecondIsPart,
        (true, false) => InCommon::FirstIsPart,
        (false, false) => InCommon::Some,
    })
}

/// Whether nothing but their packets tells the traces apart.
fn may_be_one(first: &OpenedSource, second: &OpenedSource) -> bool {
    let about = |trace: &OpenedSource| {
        let (schema, machine) = (trace.source.schema(), trace.machine());
        let host = (machine.name.to_owned(), machine.boot);
        (host, trace.format, schema.domain, schema.session.clone())
    };
    about(first) == about(second)
}

fn has_same_packets(one: &dyn Source, other: &dyn Source) -> bool {
    let what = |packet: &Packet| (packet.range, packet.size, packet.cpu);
    let classes = |source: &dyn Source| source.schema().event_classes.len();
    let has_times = one.packets().iter().any(|packet| !packet.range.is_empty());
    has_times
        && classes(one) == classes(other)
        && (one.packets().iter().map(what)).eq(other.packets().iter().map(what))
}

/// How many events can be read.
fn events(source: &dyn Source) -> u64 {
    let classes = source.schema().event_classes.len();
    let decoder = source.decoder(&Projection::every_event(classes));
    let mut events = 0;
    for packet in source.packets() {
        decoder.tally(packet.id, &mut |_: EventClassId, count| events += count);
    }
    events
}

fn hull(source: &dyn Source) -> TimeRange {
    let ranges = source.packets().iter().map(|packet| packet.range);
    let none = TimeRange::new(Timestamp::MIN, Timestamp::MIN);
    ranges.reduce(TimeRange::hull).unwrap_or(none)
}

/// Positions of streams by the processor and begin of their packets.
type ByBegin = HashMap<(Option<CpuId>, Timestamp), usize>;

fn by_begin(source: &dyn Source) -> ByBegin {
    let packets = source.packets().iter();
    packets
        .map(|packet| ((packet.cpu, packet.range.begin), packet.stream.index()))
        .collect()
}

fn is_any_shared(one: &ByBegin, other: &ByBegin) -> bool {
    one.keys().any(|begin| other.contains_key(begin))
}

/// Whether every packet of `part` lies in a packet of `whole`, of the stream with which its own one
/// shares some.
fn is_held(part: &dyn Source, whole: &dyn Source, streams_of_whole: &ByBegin) -> bool {
    part.streams().iter().all(|stream| {
        let packets = packets_of(part, stream);
        let shared = |packet: &Packet| streams_of_whole.get(&(packet.cpu, packet.range.begin));
        let Some(&of_whole) = packets.iter().find_map(shared) else {
            return packets.is_empty();
        };
        let of_whole = packets_of(whole, &whole.streams()[of_whole]);
        packets.iter().all(|packet| {
            let after = of_whole.partition_point(|known| known.range.begin <= packet.range.begin);
            let known = after.checked_sub(1).map(|position| &of_whole[position]);
            known.is_some_and(|known| {
                known.range.end >= packet.range.end
                    && (known.range.begin < packet.range.begin || known.size >= packet.size)
            })
        })
    })
}

fn packets_of<'source>(source: &'source dyn Source, stream: &Stream) -> &'source [Packet] {
    &source.packets()[stream.packets.start as usize..stream.packets.end as usize]
}
