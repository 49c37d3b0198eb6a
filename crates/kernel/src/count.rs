//! How many events there are: by name, by stream, by processor or in all.
//!
//! The cheapest analysis there can be: no field is decoded, and a chunk adds to one list of numbers.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};
use slowpath_engine::{Analysis, Cancelled, Chunk, Options, Outcome};
use slowpath_model::{CpuId, Event, EventClassId, Projection, TimeRange};
use slowpath_source::{Packet, Source};
use utoipa::ToSchema;

use crate::answer::{Answer, answer};
use crate::{Extent, Window};

/// What events are counted by.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CountBy {
    /// The event's name.
    #[default]
    Event,
    /// The stream.
    Stream,
    /// The processor.
    Cpu,
    /// Nothing.
    None,
}

/// How many events there are.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, ToSchema)]
pub struct CountReport {
    /// Events in the window.
    pub events: u64,
    /// Events that the tracer says it lost.
    pub lost: u64,
    /// Packets read.
    pub packets: u64,
    /// Streams of the trace.
    pub streams: u64,
    /// First point of the window, nanoseconds since the Unix epoch.
    pub begin_ns: i64,
    /// End of the window.
    pub end_ns: i64,
    /// Events by name, stream or processor; keys without events are absent.
    pub by: BTreeMap<String, u64>,
}

/// Counts the events of `source` in `options.range`.
pub fn count(
    source: &dyn Source,
    by: CountBy,
    options: &Options<'_>,
) -> Result<Outcome<CountReport>, Cancelled> {
    answer(source, &Count::new(source, by, options.range), options)
}

struct Count {
    by: CountBy,
    /// What of the trace is asked for; the window lies in it.
    asked: TimeRange,
    window: Window,
    projection: Projection,
    /// Names of what is counted by; of processors their numbers.
    keys: Vec<String>,
    /// Where events are counted by processor: all there are, rising. Positions in it are keys, as a
    /// damaged number of a processor can be as large as four billion.
    cpus: Vec<CpuId>,
    streams: u64,
}

impl Count {
    fn new(source: &dyn Source, by: CountBy, range: TimeRange) -> Self {
        let schema = source.schema();
        let cpus = match by {
            CountBy::Cpu => processors(source),
            _ => Vec::new(),
        };
        let keys = match by {
            CountBy::Event => schema
                .event_classes
                .iter()
                .map(|class| class.name.clone())
                .collect(),
            CountBy::Stream => source
                .streams()
                .iter()
                .map(|stream| stream.name.clone())
                .collect(),
            CountBy::Cpu => cpus.iter().map(CpuId::to_string).collect(),
            CountBy::None => Vec::new(),
        };
        Self {
            by,
            window: Extent::of(source).window(range),
            asked: range,
            projection: Projection::every_event(schema.event_classes.len()),
            keys,
            cpus,
            streams: source.streams().len() as u64,
        }
    }

    fn is_narrowed(&self) -> bool {
        self.asked != TimeRange::ALL
    }

    fn key_of(&self, cpu: CpuId) -> usize {
        self.cpus.binary_search(&cpu).unwrap_or_default()
    }
}

/// The processors that streams and packets name, rising; processor 0 stands for an unnamed one.
fn processors(source: &dyn Source) -> Vec<CpuId> {
    let of_streams = source.streams().iter().filter_map(|stream| stream.cpu);
    let of_packets = source.packets().iter().filter_map(|packet| packet.cpu);
    let all: BTreeSet<CpuId> = of_streams.chain(of_packets).chain([CpuId(0)]).collect();
    all.into_iter().collect()
}

impl Answer for Count {
    type Report = CountReport;

    fn projection(&self) -> &Projection {
        &self.projection
    }

    fn range(&self) -> TimeRange {
        // Losses may stand in packets without events, before all of them or behind.
        let end = self.window.and_before().end;
        TimeRange::new(self.window.begin, end).hull(self.asked)
    }

    fn report(&self, tally: Tally) -> CountReport {
        let mut report = CountReport {
            events: tally.by.iter().sum(),
            lost: tally.lost,
            packets: tally.packets,
            streams: self.streams,
            begin_ns: self.window.begin.ns(),
            end_ns: self.window.end.ns(),
            by: BTreeMap::new(),
        };
        if self.by != CountBy::None {
            for (key, &count) in tally.by.iter().enumerate().filter(|&(_, &count)| count > 0) {
                let name = self.keys.get(key).cloned().unwrap_or_default();
                *report.by.entry(name).or_default() += count;
            }
        }
        report
    }
}

/// What a chunk, or several, counted.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct Tally {
    /// The chunk's own key, where events do not choose it.
    key: usize,
    /// Events by class, stream or processor: by position in `Count::keys`.
    by: Vec<u64>,
    lost: u64,
    packets: u64,
}

impl Tally {
    #[inline]
    fn add(&mut self, key: usize, count: u64) {
        if self.by.len() <= key {
            self.by.resize(key + 1, 0);
        }
        self.by[key] += count;
    }
}

impl Analysis for Count {
    type State = Tally;

    fn begin(&self, chunk: &Chunk) -> Tally {
        Tally {
            key: match self.by {
                CountBy::Stream => chunk.stream.index(),
                CountBy::Cpu => self.key_of(chunk.cpu.unwrap_or_default()),
                CountBy::Event | CountBy::None => 0,
            },
            ..Tally::default()
        }
    }

    fn packet(&self, state: &mut Tally, packet: &Packet) {
        // What stands for a missing end is no packet.
        state.packets += u64::from(packet.size > 0);
        // A damaged counter may say anything.
        state.lost = state.lost.saturating_add(packet.lost_events);
    }

    #[inline]
    fn event(&self, state: &mut Tally, event: &Event<'_>) {
        if self.is_narrowed() && !self.window.contains(event.at) {
            return;
        }
        let key = match self.by {
            CountBy::Event => event.class.index(),
            _ => state.key,
        };
        state.add(key, 1);
    }

    fn wants_only_numbers(&self) -> bool {
        !self.is_narrowed()
    }

    fn tally(&self, state: &mut Tally, class: EventClassId, count: u64) {
        let key = match self.by {
            CountBy::Event => class.index(),
            _ => state.key,
        };
        state.add(key, count);
    }

    fn merge(&self, earlier: &mut Tally, later: Tally) {
        for (key, count) in later.by.into_iter().enumerate() {
            earlier.add(key, count);
        }
        earlier.lost = earlier.lost.saturating_add(later.lost);
        earlier.packets += later.packets;
    }
}

#[cfg(test)]
mod tests {
    use slowpath_drawn::DrawnTrace;
    use slowpath_model::Timestamp;

    use super::*;
    use crate::answer::every_way;

    const TRACE: &str = "
        cpu0 10 read
        cpu1 12 read
        cpu0 20 write
        -- lost 5 cpu0
        cpu0 30 read
        cpu1 35 idle
    ";

    /// Counts, and packets apart from the number of packets, which recutting changes.
    fn check(by: CountBy, range: (i64, i64), expected: &str) {
        let range = TimeRange::new(Timestamp::from_ns(range.0), Timestamp::from_ns(range.1));
        let range = if range.end.ns() == 0 {
            TimeRange::ALL
        } else {
            range
        };
        let trace = DrawnTrace::parse(TRACE).unwrap();
        let report = every_way::ask(&trace, |source| {
            CountWithoutPackets(Count::new(source, by, range))
        });
        let by: Vec<String> = report
            .by
            .iter()
            .map(|(key, count)| format!("{key} {count}"))
            .collect();
        let found = format!(
            "{} [{}] {}..{}",
            report.events,
            by.join(", "),
            report.begin_ns,
            report.end_ns
        );
        assert_eq!(found, expected);
    }

    #[test]
    fn events_are_counted_by_what_was_asked() {
        let all = (0, 0);
        check(CountBy::Event, all, "5 [idle 1, read 3, write 1] 10..35");
        check(CountBy::Cpu, all, "5 [0 3, 1 2] 10..35");
        check(CountBy::Stream, all, "5 [cpu0 3, cpu1 2] 10..35");
        check(CountBy::None, all, "5 [] 10..35");
        check(CountBy::Event, (12, 30), "2 [read 1, write 1] 12..30");
    }

    #[test]
    fn losses_packets_and_streams_are_counted() {
        let trace = DrawnTrace::parse(TRACE).unwrap();
        let report = count(&trace, CountBy::Event, &Options::default())
            .unwrap()
            .state
            .unwrap();
        assert_eq!((report.lost, report.packets, report.streams), (5, 3, 2));
    }

    #[test]
    fn losses_of_packets_without_events_count_as_well() {
        // The last packet, without an event, is at 0.
        let trace = "cpu0 10 read\ncpu1 30 read\n-- lost 5 cpu1";
        let trace = DrawnTrace::parse(trace).unwrap();
        let lost = |begin| {
            let range = TimeRange::new(Timestamp::from_ns(begin), Timestamp::MAX);
            let options = Options {
                range,
                ..Options::default()
            };
            let outcome = count(&trace, CountBy::None, &options).unwrap();
            outcome.state.unwrap().lost
        };
        assert_eq!((lost(i64::MIN), lost(0), lost(5)), (5, 5, 0));
    }

    #[test]
    fn damaged_numbers_are_only_numbers() {
        let trace = "
            cpu0 10 read
            cpu4294967280 12 read
            -- lost 9223372036854775807 cpu0
            cpu0 20 write
            -- lost 9223372036854775807 cpu0
            cpu0 30 write
            -- lost 9223372036854775807 cpu4294967280
            cpu4294967280 40 read
        ";
        let trace = DrawnTrace::parse(trace).unwrap();
        let report = every_way::ask(&trace, |source| {
            CountWithoutPackets(Count::new(source, CountBy::Cpu, TimeRange::ALL))
        });
        let by: Vec<_> = report.by.into_iter().collect();
        assert_eq!(by, [("0".into(), 3), ("4294967280".into(), 2)]);
        let report = count(&trace, CountBy::Cpu, &Options::default())
            .unwrap()
            .state
            .unwrap();
        assert_eq!(report.lost, u64::MAX);
    }

    /// The number of packets is the one thing that cutting packets elsewhere changes.
    struct CountWithoutPackets(Count);

    impl Answer for CountWithoutPackets {
        type Report = CountReport;
        fn projection(&self) -> &Projection {
            &self.0.projection
        }
        fn range(&self) -> TimeRange {
            self.0.range()
        }
        fn report(&self, tally: Tally) -> CountReport {
            CountReport {
                packets: 0,
                lost: 0,
                ..self.0.report(tally)
            }
        }
    }

    impl Analysis for CountWithoutPackets {
        type State = Tally;
        fn begin(&self, chunk: &Chunk) -> Tally {
            self.0.begin(chunk)
        }
        fn packet(&self, state: &mut Tally, packet: &Packet) {
            self.0.packet(state, packet);
        }
        fn event(&self, state: &mut Tally, event: &Event<'_>) {
            self.0.event(state, event);
        }
        fn merge(&self, earlier: &mut Tally, later: Tally) {
            self.0.merge(earlier, later);
        }
    }
}
