//! Whether two traces hold the same events: one may be a copy of the other, whole or damaged, or a
//! snapshot of what the other went on to record.
//!
//! Packets are compared by processor and begin, which no two packets of one tracer share by accident;
//! events are counted only where all packets are alike, and in parts of one session. Parts of a rotated
//! session, and traces of several domains, have no packet in common. Pages whose `slowpath.json` is lost
//! tell neither their host nor wall time: they are compared by the tracer's own clock.

use std::cell::OnceCell;
use std::collections::HashMap;

use slowpath_model::{CpuId, EventClassId, Projection, TimeRange, Timestamp, TracerDomain};
use slowpath_source::{Packet, Source, Stream};

use crate::{Manifest, OpenedSource, one_session};

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
    let [one, other] = match [first, second].map(lost_its_manifest).contains(&true) {
        true => [first, second].map(InItsClock::own),
        false => [first, second].map(InItsClock::as_it_is),
    };
    // Parts of one session will be one trace, which has each packet from the part that holds most of it.
    let will_be_one = one_session::are_of_one(first, second);
    if has_same_packets(&one, &other) {
        let holds_more = |trace: &InItsClock<'_>, than: &InItsClock<'_>| {
            let mut events = trace.events().iter().zip(than.events());
            events.any(|(events, less)| events > less)
        };
        if will_be_one && holds_more(&one, &other) && holds_more(&other, &one) {
            return Some(InCommon::Some);
        }
        // Of two that hold the same, the one that tells more besides.
        let tells = |trace: &OpenedSource| u64::from(trace.recording.is_some());
        let one = (one.all_events(), tells(first));
        return Some(match one < (other.all_events(), tells(second)) {
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
    let overlap = hull(&one).intersect(hull(&other));
    if !says_whence(first) || !says_whence(second) || overlap.is_empty() {
        return None;
    }
    let streams_of_one = by_begin(&one);
    let streams_of_other = by_begin(&other);
    if !is_any_shared(&streams_of_one, &streams_of_other) {
        return None;
    }
    let second_is_part = is_held(&other, &one, &streams_of_one, will_be_one);
    let first_is_part = is_held(&one, &other, &streams_of_other, will_be_one);
    Some(match (first_is_part, second_is_part) {
        // The same packets, of which one does not describe all events.
        (true, true) if one.all_events() < other.all_events() => InCommon::FirstIsPart,
        (_, true) => InCommon::SecondIsPart,
        (true, false) => InCommon::FirstIsPart,
        (false, false) => InCommon::Some,
    })
}

/// Whether nothing but their packets tells the traces apart.
fn may_be_one(first: &OpenedSource, second: &OpenedSource) -> bool {
    let about = |trace: &OpenedSource| {
        let schema = trace.source.schema();
        (trace.format, schema.domain, schema.session.clone())
    };
    let host = |trace: &OpenedSource| {
        let machine = trace.machine();
        (machine.name.to_owned(), machine.boot)
    };
    let tells_no_host = [first, second].map(lost_its_manifest).contains(&true);
    about(first) == about(second) && (tells_no_host || host(first) == host(second))
}

/// Whether these are pages of a folder without `slowpath.json`.
fn lost_its_manifest(trace: &OpenedSource) -> bool {
    trace.format == "ftrace" && trace.recording.is_none() && trace.source.schema().host.is_empty()
}

/// A trace with times as they are, or as the tracer's clock had them.
struct InItsClock<'trace> {
    source: &'trace dyn Source,
    offset_ns: i64,
    events: OnceCell<Vec<u64>>,
}

impl<'trace> InItsClock<'trace> {
    fn as_it_is(trace: &'trace OpenedSource) -> Self {
        Self {
            source: &*trace.source,
            offset_ns: 0,
            events: OnceCell::new(),
        }
    }

    /// Wall time was stated beside it.
    fn own(trace: &'trace OpenedSource) -> Self {
        let manifest = trace.recording.as_ref().map(|(_, manifest)| manifest);
        let manifest = manifest.filter(|_| trace.format == "ftrace");
        Self {
            source: &*trace.source,
            offset_ns: manifest.map_or(0, Manifest::monotonic_offset_ns),
            events: OnceCell::new(),
        }
    }

    fn at(&self, at: Timestamp) -> Timestamp {
        Timestamp::from_ns(at.ns().wrapping_sub(self.offset_ns))
    }

    fn range(&self, packet: &Packet) -> TimeRange {
        TimeRange::new(self.at(packet.range.begin), self.at(packet.range.end))
    }

    /// How many events can be read, by packet.
    fn events(&self) -> &[u64] {
        self.events.get_or_init(|| {
            let classes = self.source.schema().event_classes.len();
            let decoder = self.source.decoder(&Projection::every_event(classes));
            let packets = self.source.packets().iter().map(|packet| {
                let mut events = 0;
                decoder.tally(packet.id, &mut |_: EventClassId, count| events += count);
                events
            });
            packets.collect()
        })
    }

    fn all_events(&self) -> u64 {
        self.events().iter().sum()
    }
}

fn has_same_packets(one: &InItsClock<'_>, other: &InItsClock<'_>) -> bool {
    let packets = |trace: &InItsClock<'_>| {
        let packets = trace.source.packets().iter();
        let what = packets.map(|packet| (trace.range(packet), packet.size, packet.cpu));
        what.collect::<Vec<_>>()
    };
    let classes = |trace: &InItsClock<'_>| trace.source.schema().event_classes.len();
    let mut all = one.source.packets().iter();
    all.any(|packet| !packet.range.is_empty())
        && classes(one) == classes(other)
        && one.source.packets().len() == other.source.packets().len()
        && packets(one) == packets(other)
}

fn hull(trace: &InItsClock<'_>) -> TimeRange {
    let ranges = (trace.source.packets().iter()).map(|packet| trace.range(packet));
    let none = TimeRange::new(Timestamp::MIN, Timestamp::MIN);
    ranges.reduce(TimeRange::hull).unwrap_or(none)
}

/// Positions of streams by the processor and begin of their packets.
type ByBegin = HashMap<(Option<CpuId>, Timestamp), usize>;

fn by_begin(trace: &InItsClock<'_>) -> ByBegin {
    let key = |packet: &Packet| (packet.cpu, trace.at(packet.range.begin));
    let packets = trace.source.packets().iter();
    packets
        .map(|packet| (key(packet), packet.stream.index()))
        .collect()
}

fn is_any_shared(one: &ByBegin, other: &ByBegin) -> bool {
    one.keys().any(|begin| other.contains_key(begin))
}

/// Whether every packet of `part` lies in a packet of `whole`, of the stream with which its own one
/// shares some, and, where they are counted, as many events in each that both hold.
fn is_held(
    part: &InItsClock<'_>,
    whole: &InItsClock<'_>,
    streams_of_whole: &ByBegin,
    are_counted: bool,
) -> bool {
    part.source.streams().iter().all(|stream| {
        let packets = packets_of(part.source, stream);
        let key = |packet: &Packet| (packet.cpu, part.at(packet.range.begin));
        let shared = |packet: &Packet| streams_of_whole.get(&key(packet));
        let Some(&of_whole) = packets.iter().find_map(shared) else {
            return packets.is_empty();
        };
        let of_whole = packets_of(whole.source, &whole.source.streams()[of_whole]);
        packets.iter().all(|packet| {
            let range = part.range(packet);
            let after = of_whole.partition_point(|known| whole.range(known).begin <= range.begin);
            let known = after.checked_sub(1).map(|position| &of_whole[position]);
            known.is_some_and(|known| {
                let known_range = whole.range(known);
                let holds_events = || {
                    let events =
                        |of: &InItsClock<'_>, packet: &Packet| of.events()[packet.id.index()];
                    !are_counted || events(whole, known) >= events(part, packet)
                };
                known_range.end >= range.end
                    && (known_range.begin < range.begin
                        || known.size >= packet.size && holds_events())
            })
        })
    })
}

fn packets_of<'source>(source: &'source dyn Source, stream: &Stream) -> &'source [Packet] {
    &source.packets()[stream.packets.start as usize..stream.packets.end as usize]
}
