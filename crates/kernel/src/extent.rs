//! From when to when a trace has events, and the window that an analysis looks at.
//!
//! Packets state times of their own, which lie around those of their events; definitions speak of
//! events. So the outermost packets of each stream, several where they overlap, are decoded for their times
//! before an analysis runs; nothing else is.

use std::collections::BTreeMap;

use rustc_hash::FxHashSet;
use slowpath_model::{
    CpuId, Event, Nanoseconds, PacketId, Projection, StreamId, TimeRange, Timestamp,
};
use slowpath_source::{Decoder, Packet, Source};

/// The times of the first and last events of a trace.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Extent {
    /// First and last event; `None` when there is none.
    pub bounds: Option<(Timestamp, Timestamp)>,
    /// The first event of each processor.
    pub first_of_cpu: BTreeMap<CpuId, Timestamp>,
}

impl Extent {
    /// Finds the first and last events of `source`.
    pub fn of(source: &dyn Source) -> Self {
        let classes = source.schema().event_classes.len();
        let decoder = source.decoder(&Projection::every_event(classes));
        let mut extent = Self::default();
        for (packets, cpu) in runs(source) {
            let Some((first, last)) = bounds(&*decoder, packets) else {
                continue;
            };
            extent.bounds = Some(match extent.bounds {
                Some((begin, end)) => (begin.min(first), end.max(last)),
                None => (first, last),
            });
            if let Some(cpu) = cpu {
                let known = extent.first_of_cpu.entry(cpu).or_insert(first);
                *known = first.min(*known);
            }
        }
        extent
    }

    /// The window that `asked` leaves of the trace; `TimeRange::ALL` leaves all of it.
    pub fn window(&self, asked: TimeRange) -> Window {
        let (first, last) = self.bounds.unwrap_or_default();
        let ends_with_trace = asked.begin <= last && asked.end > last;
        Window {
            begin: asked.begin.clamp(first, last),
            end: asked.end.clamp(first, last),
            ends_with_trace,
            has_events: self.bounds.is_some(),
        }
    }
}

/// Packets of one stream that follow each other and are of one processor, and that processor: mostly those of
/// the whole stream.
fn runs(source: &dyn Source) -> impl Iterator<Item = (&[Packet], Option<CpuId>)> {
    let is_same = |one: &Packet, next: &Packet| (one.stream, one.cpu) == (next.stream, next.cpu);
    let runs = source.packets().chunk_by(is_same);
    runs.map(|run| {
        let stream = run.first().map(|packet| packet.stream.index());
        let stream = stream.and_then(|stream| source.streams().get(stream));
        let cpu = run.first().and_then(|packet| packet.cpu);
        (run, cpu.or(stream.and_then(|stream| stream.cpu)))
    })
}

/// First and last event of packets that follow each other in a stream.
fn bounds(decoder: &dyn Decoder, packets: &[Packet]) -> Option<(Timestamp, Timestamp)> {
    let mut first: Option<Timestamp> = None;
    let mut last: Option<Timestamp> = None;
    let mut read = 0;
    for packet in packets {
        if first.is_some_and(|first| packet.range.begin >= first) {
            break;
        }
        read += 1;
        if let Some((begin, end)) = times(decoder, packet.id) {
            first = Some(first.map_or(begin, |first| first.min(begin)));
            last = last.max(Some(end));
        }
    }
    for packet in packets[read..].iter().rev() {
        if last.is_some_and(|last| packet.range.end <= last) {
            break;
        }
        if let Some((_, end)) = times(decoder, packet.id) {
            last = last.max(Some(end));
        }
    }
    first.zip(last)
}

/// First and last event of a packet, in which time may go back.
fn times(decoder: &dyn Decoder, packet: PacketId) -> Option<(Timestamp, Timestamp)> {
    let mut times: Option<(Timestamp, Timestamp)> = None;
    decoder.decode(packet, &mut |event: &Event<'_>| {
        let (first, last) = times.unwrap_or((event.at, event.at));
        times = Some((first.min(event.at), last.max(event.at)));
    });
    times
}

/// When events of any processor are missing, as packets and streams state it: in the order of time, apart
/// from each other.
pub(crate) fn missing(source: &dyn Source) -> Vec<TimeRange> {
    let packets = source.packets();
    let classes = source.schema().event_classes.len();
    let decoder = source.decoder(&Projection::every_event(classes));
    let has_losses = |packet: &&Packet| packet.lacks_events_before();
    let gap_before = |after: &Packet| {
        let is_before = |other: &&Packet| {
            other.cpu == after.cpu && other.id != after.id && other.range.end <= after.range.begin
        };
        let of_stream = &source.streams()[after.stream.index()].packets;
        let end = match after.id.0 > of_stream.start {
            true => {
                let before = &packets[after.id.index() - 1];
                // Pages of ftrace end where the next begins, whatever was lost between the two.
                let is_next = before.range.end >= after.range.begin;
                let last_event = is_next.then(|| times(&*decoder, before.id)).flatten();
                Some(last_event.map_or(before.range.end, |(_, last)| last))
            }
            false => packets
                .iter()
                .filter(is_before)
                .map(|other| other.range.end)
                .max(),
        };
        let begin = end.unwrap_or(Timestamp::MIN).min(after.range.begin);
        TimeRange::new(begin, after.range.begin)
    };
    let gaps = packets.iter().filter(has_losses).map(gap_before);
    let cut_off = source
        .streams()
        .iter()
        .filter_map(|stream| stream.cut_off_at);
    let cut_off = cut_off.map(|at| TimeRange::new(at, Timestamp::MAX));
    TimeRange::union(gaps.chain(cut_off).collect())
}

/// Whether several streams hold events of one processor at the same time: then no stream alone
/// tells which thread an event is of. Two recordings of one of ftrace's rings may overlap by a page; only rings that
/// were filled side by side have different events.
pub(crate) fn shares_processors(source: &dyn Source) -> bool {
    let is_ftrace = source.schema().tracer == "ftrace";
    let mut spans: BTreeMap<(CpuId, StreamId), TimeRange> = BTreeMap::new();
    for (packets, cpu) in runs(source) {
        let (Some(cpu), Some(first), Some(last)) = (cpu, packets.first(), packets.last()) else {
            continue;
        };
        let range = first.range.hull(last.range);
        let span = spans.entry((cpu, first.stream)).or_insert(range);
        *span = span.hull(range);
    }
    let spans: Vec<_> = spans.into_iter().collect();
    let buffer = |stream: StreamId| source.streams()[stream.index()].buffer;
    spans.iter().enumerate().any(|(position, one)| {
        let ((cpu, stream), range) = *one;
        let of_cpu = spans[..position].iter().rev();
        let mut of_cpu = of_cpu.take_while(|((other, _), _)| *other == cpu);
        of_cpu.any(|&((_, other), seen)| {
            let is_beside = !is_ftrace || buffer(other) != buffer(stream);
            is_beside && seen.begin <= range.end && range.begin <= seen.end
        })
    })
}

/// Processors whose events at a time lie in several streams, or in a stream whose packets are not
/// in the order of time. With those `or_touching` at a moment, whose events come in the order of streams; and those of
/// which a stream has nothing left, as what that lacks lies beside all that others have.
pub(crate) fn interleaved(source: &dyn Source, or_touching: bool) -> FxHashSet<CpuId> {
    let mut found = FxHashSet::default();
    // Of each stream, from the first to the last event of a processor.
    let mut spans: Vec<(CpuId, TimeRange)> = Vec::new();
    for (stream, position) in source.streams().iter().zip(0..) {
        let first = spans.len();
        for packet in &source.packets()[stream.packets.start as usize..stream.packets.end as usize]
        {
            let cpu = packet.cpu.or(stream.cpu).unwrap_or(CpuId(position));
            // Nearly always there is one only.
            match spans[first..].iter_mut().find(|(other, _)| *other == cpu) {
                None => spans.push((cpu, packet.range)),
                Some((_, span)) => {
                    if packet.range.begin < span.end {
                        found.insert(cpu);
                    }
                    *span = span.hull(packet.range);
                }
            }
        }
    }
    spans.sort_by_key(|(cpu, span)| (*cpu, span.begin));
    let nothing_left = source
        .streams()
        .iter()
        .filter(|stream| stream.packets.is_empty());
    found.extend(nothing_left.filter_map(|stream| stream.cpu));
    for pair in spans.windows(2) {
        let ((cpu, before), (next, after)) = (pair[0], pair[1]);
        let touches = or_touching && after.begin == before.end;
        if cpu == next && (after.begin < before.end || touches) {
            found.insert(cpu);
        }
    }
    found
}

/// Adds times in which events could not be read to those that are known, which stay in order and apart.
pub(crate) fn add_unreadable(known: &mut Vec<TimeRange>, more: Vec<TimeRange>) {
    if !more.is_empty() {
        known.extend(more);
        *known = TimeRange::union(std::mem::take(known));
    }
}

/// Whether no events are missing between two times, by what [`missing`] or [`add_unreadable`] told.
pub(crate) fn is_whole(missing: &[TimeRange], from: Timestamp, to: Timestamp) -> bool {
    let first = missing.partition_point(|gap| gap.end <= from);
    missing.get(first).is_none_or(|gap| gap.begin >= to)
}

/// The part of a trace that counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Window {
    /// Its first point.
    pub begin: Timestamp,
    /// Its end.
    pub end: Timestamp,
    /// Whether the trace's last events, which lie at `end`, belong to it.
    ends_with_trace: bool,
    /// Whether the trace has any event that can be read.
    has_events: bool,
}

impl Window {
    /// Whether an event at `at` counts.
    #[inline]
    pub fn contains(&self, at: Timestamp) -> bool {
        at >= self.begin && (at < self.end || (self.ends_with_trace && at == self.end))
    }

    /// How much of the time from `begin` to `end` lies inside.
    #[inline]
    pub fn overlap(&self, begin: Timestamp, end: Timestamp) -> Nanoseconds {
        end.min(self.end).since(begin.max(self.begin))
    }

    /// How long it is.
    pub fn length(&self) -> Nanoseconds {
        self.end.since(self.begin)
    }

    /// What has to be read to know what holds in the window: everything up to its end, as what
    /// holds at its begin follows from what came before. Of a trace without events all, which tells why.
    pub fn and_before(&self) -> TimeRange {
        if !self.has_events {
            return TimeRange::ALL;
        }
        let end = Timestamp::from_ns(self.end.ns().saturating_add(1));
        TimeRange::new(Timestamp::MIN, end)
    }
}

#[cfg(test)]
mod tests {
    use slowpath_drawn::DrawnTrace;
    use slowpath_source::Stream;

    use super::*;

    fn range(begin: i64, end: i64) -> TimeRange {
        TimeRange::new(Timestamp::from_ns(begin), Timestamp::from_ns(end))
    }

    #[test]
    fn windows_lie_within_the_events() {
        let trace = DrawnTrace::parse("cpu1 5 a\ncpu0 7 a\n-- packet cpu0\ncpu0 20 a").unwrap();
        let extent = Extent::of(&trace);
        let firsts: Vec<_> = extent
            .first_of_cpu
            .iter()
            .map(|(cpu, at)| (cpu.0, at.ns()))
            .collect();
        assert_eq!(firsts, [(0, 7), (1, 5)]);
        let check = |asked, bounds, inside: &[i64], outside: &[i64]| {
            let window = extent.window(asked);
            assert_eq!((window.begin.ns(), window.end.ns()), bounds, "{asked:?}");
            for &at in inside {
                assert!(window.contains(Timestamp::from_ns(at)), "{at} in {asked:?}");
            }
            for &at in outside {
                assert!(
                    !window.contains(Timestamp::from_ns(at)),
                    "{at} not in {asked:?}"
                );
            }
        };
        check(TimeRange::ALL, (5, 20), &[5, 20], &[4, 21]);
        check(range(0, 7), (5, 7), &[5, 6], &[7]);
        check(range(6, 100), (6, 20), &[6, 20], &[5]);
        check(range(6, 20), (6, 20), &[19], &[20]);
        check(range(20, 21), (20, 20), &[20], &[19, 21]);
        check(range(21, 30), (20, 20), &[], &[20, 21]);
        check(range(0, 5), (5, 5), &[], &[5]);
    }

    #[test]
    fn streams_of_one_processor_are_noticed() {
        let check = |text: &str, expected| {
            assert_eq!(
                shares_processors(&DrawnTrace::parse(text).unwrap()),
                expected,
                "{text}"
            );
        };
        check("a/cpu0 1 x\na/cpu0 5 x\nb/cpu0 3 x", true);
        check("a/cpu0 1 x\na/cpu0 5 x\nb/cpu1 3 x", false);
        check("a/cpu0 1 x\na/cpu0 5 x\nb/cpu0 6 x", false);
        // Rings of two recordings may overlap by a page; each has all events of its processor.
        let rings = "-- environment tracer_name=ftrace\na/cpu0 1 x\na/cpu0 5 x\nb/cpu0 3 x";
        check(rings, false);
        check(&rings.replace("a/", "buffer1/"), true);
    }

    /// A trace whose packets lie as none can be drawn.
    struct Placed {
        drawn: DrawnTrace,
        streams: Vec<Stream>,
        packets: Vec<Packet>,
    }

    impl Placed {
        /// Packets end where the next ones begin, as pages of ftrace do.
        fn touching(text: &str) -> Self {
            let drawn = DrawnTrace::parse(text).unwrap();
            let mut packets = drawn.packets().to_vec();
            for after in 1..packets.len() {
                let next = packets[after].range.begin;
                let before = &mut packets[after - 1].range;
                *before = TimeRange::new(before.begin, next);
            }
            Self {
                streams: drawn.streams().to_vec(),
                drawn,
                packets,
            }
        }

        /// Each packet ends where it begins, whatever events it has behind.
        fn closed_early(text: &str) -> Self {
            let mut placed = Self::touching(text);
            for packet in &mut placed.packets {
                packet.range = TimeRange::new(packet.range.begin, packet.range.begin);
            }
            placed
        }

        /// The packets of all streams are of one, and begin with the first.
        fn overlapping(text: &str) -> Self {
            let drawn = DrawnTrace::parse(text).unwrap();
            let mut packets = drawn.packets().to_vec();
            let begin = Timestamp::from_ns(0);
            for packet in &mut packets {
                packet.range = TimeRange::new(begin, packet.range.end);
            }
            let all = 0..packets.len() as u32;
            let mut first = drawn.streams()[0].clone();
            first.packets = all;
            Self {
                streams: vec![first],
                drawn,
                packets,
            }
        }
    }

    impl Source for Placed {
        fn schema(&self) -> &slowpath_model::Schema {
            self.drawn.schema()
        }

        fn streams(&self) -> &[Stream] {
            &self.streams
        }

        fn packets(&self) -> &[Packet] {
            &self.packets
        }

        fn diagnostics(&self) -> &[slowpath_model::Diagnostic] {
            &[]
        }

        fn decoder<'source>(&'source self, projection: &Projection) -> Box<dyn Decoder + 'source> {
            self.drawn.decoder(projection)
        }

        fn visit(&self, packet: PacketId, at: u64, visitor: &mut dyn slowpath_model::FieldVisitor) {
            self.drawn.visit(packet, at, visitor);
        }
    }

    #[test]
    fn events_between_pages_that_touch_are_missing_from_the_last_event_on() {
        let text = "cpu0 10 x\ncpu0 20 x\n-- lost 1 cpu0\ncpu0 50 x\n-- packet cpu0\ncpu0 90 x";
        assert_eq!(missing(&Placed::touching(text)), [range(20, 50)]);
    }

    #[test]
    fn events_behind_the_end_of_their_packet_do_not_depend_on_chunks() {
        let text = "cpu0 10 sched_switch prev_tid=0 next_tid=7
            cpu0 15 syscall_entry_write
            cpu0 90 sched_switch prev_tid=7 next_tid=8
            cpu0 95 syscall_entry_write
            -- packet cpu0
            cpu0 100 syscall_exit_write ret=1
            cpu0 105 sched_switch prev_tid=8 next_tid=7
            cpu0 107 syscall_exit_write ret=1";
        // The second packet begins before the last events of the first.
        let mut placed = Placed::closed_early(text);
        placed.packets[1].range = range(50, 107);
        let rows = |chunk_bytes| {
            let options = slowpath_engine::Options {
                chunk_bytes: Some(chunk_bytes),
                ..slowpath_engine::Options::default()
            };
            let outcome =
                crate::latency::latency(&placed, crate::latency::LatencyKind::Syscall, &options);
            format!("{:?}", outcome.unwrap().state.unwrap())
        };
        assert_eq!(rows(1), rows(1 << 30));
    }

    #[test]
    fn first_and_last_event_may_lie_in_any_of_packets_that_overlap() {
        let check = |text: &str, first, last| {
            let bounds = Extent::of(&Placed::overlapping(text)).bounds;
            let expected = (Timestamp::from_ns(first), Timestamp::from_ns(last));
            assert_eq!(bounds, Some(expected), "{text}");
        };
        check("a 10 x\na 90 x\nb 5 x\nb 70 x\nc 20 x\nc 80 x", 5, 90);
        check("a 10 x\na 20 x\nb 50 x\nb 90 x\nc 5 x\nc 60 x", 5, 90);
    }
}
