//! How busy each processor was, and with which threads.
//!
//! A chunk knows who ran from its first switch to its last; who ran before and after stays pending
//! until its neighbours on the same processor are merged. Where events were lost nobody is known to
//! run between the last event before the gap and the first after it. Where switches contradict each
//! other, a second pass looks for other evidence of who ran (`unseen`).

mod known;
mod unseen;

use std::collections::{BTreeMap, BTreeSet};

use rustc_hash::{FxHashMap, FxHashSet};
use serde::{Deserialize, Serialize};
use slowpath_concepts::{Concepts, Fact, FactKind};
use slowpath_engine::{Analysis, Cancelled, Chunk, Options, Outcome};
use slowpath_model::{
    CpuId, Event, EventClassId, Nanoseconds, Projection, ThreadId, TimeRange, Timestamp,
};
use slowpath_source::{Packet, Source};

use crate::answer::{Answer, answer};
use crate::comm::Named;
use crate::extent::shares_processors;
use crate::{Extent, Window};

use unseen::{Search, Unseen, UnseenRuns};

/// How busy each processor was, and with which threads.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct CpuReport {
    /// First point of the window, nanoseconds since the Unix epoch.
    pub begin_ns: i64,
    /// End of the window.
    pub end_ns: i64,
    /// Processors by number.
    pub cpus: Vec<CpuRow>,
    /// Threads that were busy, the busiest first.
    pub threads: Vec<ThreadRow>,
}

/// One processor.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CpuRow {
    /// Its number.
    pub cpu: CpuId,
    /// Time with a known thread other than the idle one.
    pub busy_ns: Nanoseconds,
    /// Time of the window in which events of it are missing, so that nobody is known to run.
    pub unknown_ns: Nanoseconds,
    /// Busy time as a share of the time that is known; 0 where none is.
    pub percent: f64,
}

/// One thread.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ThreadRow {
    /// Its number.
    pub tid: ThreadId,
    /// Its name, the latest seen.
    pub comm: String,
    /// Time on any processor.
    pub busy_ns: Nanoseconds,
    /// The same as a share of the window without the time in which no processor is known; 100 keeps one
    /// processor busy.
    pub percent: f64,
}

/// Tells how busy processors and threads were in `options.range` of `source`, a kernel trace.
pub fn cpu(source: &dyn Source, options: &Options<'_>) -> Result<Outcome<CpuReport>, Cancelled> {
    let analysis = CpuUse::new(source, options.range);
    let counted = answer(source, &analysis, options)?;
    let mut counts = counted.state.unwrap_or_default();
    let runs = std::mem::take(&mut counts.unseen);
    if !runs.is_empty() {
        let search = Search::new(source.schema(), &runs, analysis.range());
        let begins = answer(source, &search, options)?.state.unwrap_or_default();
        analysis.see(&mut counts, &runs, &begins);
    }
    Ok(Outcome {
        state: Some(analysis.rows(counts)),
        diagnostics: counted.diagnostics,
        timings: counted.timings,
    })
}

struct CpuUse {
    extent: Extent,
    window: Window,
    /// All that events or streams with a missing end name.
    cpus: BTreeSet<CpuId>,
    concepts: Concepts,
    projection: Projection,
    /// Events were lost, so the times of all events are needed to know where the gaps end.
    times_of_all: bool,
    /// A stream without any switch says nothing.
    streams_may_lack_switches: bool,
}

/// What a chunk, or several, told.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct Usage {
    lanes: BTreeMap<CpuId, Lane>,
    threads: FxHashMap<ThreadId, ThreadUse>,
    /// The one lane of a chunk while it is passed over.
    open: Lane,
    /// Name of the thread that the latest switch went to.
    latest: Option<(ThreadId, Named)>,
    unseen: UnseenRuns,
}

/// What switches alone tell.
#[derive(Debug, Default, PartialEq)]
struct Counts {
    busy: BTreeMap<CpuId, Nanoseconds>,
    /// By processor, how long nobody is known to run.
    unknown: BTreeMap<CpuId, Nanoseconds>,
    /// How long nobody is known to run on any of them.
    unknown_everywhere: Nanoseconds,
    threads: FxHashMap<ThreadId, ThreadUse>,
    /// Where they contradict each other, in the order of processor and time.
    unseen: Vec<Unseen>,
}

#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
struct ThreadUse {
    busy: Nanoseconds,
    named: Named,
}

/// One processor over time: runs of known events with gaps in between. Runs between the first and
/// the last gap are settled; only the outer ones can still learn something.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct Lane {
    /// Busy time that is settled.
    busy: Nanoseconds,
    /// When it is known who ran: of the settled runs, in order.
    known: Vec<TimeRange>,
    first: Run,
    /// The run after the last gap, if there is a gap.
    last: Option<Run>,
}

/// Events of a processor without a gap.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
struct Run {
    /// Events were lost before it, else it goes on from what came before.
    after_gap: bool,
    /// Events were lost after it, else it goes on.
    before_gap: bool,
    /// Only known where times of all events are read.
    first_event: Option<Timestamp>,
    last_event: Option<Timestamp>,
    /// When, and the thread that ran until then.
    first_switch: Option<(Timestamp, ThreadId)>,
    /// When, and the thread that runs since.
    last_switch: Option<(Timestamp, ThreadId)>,
}

/// A stretch of time in which a thread ran.
type Stretch = (ThreadId, Timestamp, Timestamp);

impl Run {
    /// The stretch from its begin to its first switch, where the begin is known.
    fn head(&self) -> Option<Stretch> {
        let (until, thread) = self.first_switch?;
        Some((thread, self.first_event.filter(|_| self.after_gap)?, until))
    }

    /// The stretch from its last switch to a gap after it.
    fn tail(&self) -> Option<Stretch> {
        let (since, thread) = self.last_switch?;
        Some((thread, since, self.last_event.filter(|_| self.before_gap)?))
    }

    /// Goes on with `later`; gives the stretches that are settled by that.
    fn join(&mut self, later: Self) -> [Option<Stretch>; 2] {
        let had_switch = self.first_switch.is_some();
        let between = match (self.last_switch, later.first_switch) {
            (Some((since, thread)), Some((until, _))) => Some((thread, since, until)),
            _ => None,
        };
        let later_was_settled = later.last_switch.is_some();
        self.before_gap = later.before_gap;
        self.first_event = self.first_event.or(later.first_event);
        self.last_event = later.last_event.or(self.last_event);
        self.first_switch = self.first_switch.or(later.first_switch);
        self.last_switch = later.last_switch.or(self.last_switch);
        let head = self.head().filter(|_| !had_switch);
        let tail = self.tail().filter(|_| !later_was_settled);
        [between.or(head), tail]
    }
}

impl Lane {
    fn latest(&mut self) -> &mut Run {
        self.last.as_mut().unwrap_or(&mut self.first)
    }
}

impl Usage {
    /// Notes the name of the thread that runs: no switch from it will tell.
    fn name_latest(&mut self) {
        if let Some((thread, named)) = self.latest.take() {
            let unnamed = ThreadUse {
                busy: Nanoseconds::ZERO,
                named,
            };
            let usage = self.threads.entry(thread).or_insert(unnamed);
            usage.named.update(named);
        }
    }
}

impl CpuUse {
    fn new(source: &dyn Source, range: TimeRange) -> Self {
        let extent = Extent::of(source);
        let concepts = Concepts::resolve(source.schema(), &[FactKind::Switch]);
        let has_losses = |packet: &Packet| packet.lost_events > 0 || packet.lost_packets > 0;
        let times_of_all = source.packets().iter().any(has_losses)
            || source
                .streams()
                .iter()
                .any(|stream| stream.cut_off_at.is_some());
        let mut projection = concepts.projection().clone();
        if times_of_all {
            for class in (0..source.schema().event_classes.len() as u32).map(EventClassId) {
                if projection.fields(class).is_none() {
                    projection.want(class, Vec::new());
                }
            }
        }
        let cut_off = source
            .streams()
            .iter()
            .filter(|stream| stream.cut_off_at.is_some());
        let cut_off = cut_off.filter_map(|stream| stream.cpu);
        Self {
            window: extent.window(range),
            cpus: extent.first_of_cpu.keys().copied().chain(cut_off).collect(),
            extent,
            concepts,
            projection,
            times_of_all,
            streams_may_lack_switches: shares_processors(source),
        }
    }

    /// Counts a stretch; gives the time that the processor was busy.
    fn add(
        &self,
        threads: &mut FxHashMap<ThreadId, ThreadUse>,
        (thread, since, until): Stretch,
    ) -> Nanoseconds {
        if thread == ThreadId::IDLE {
            return Nanoseconds::ZERO;
        }
        let busy = self.window.overlap(since, until);
        let unnamed = || ThreadUse {
            busy: Nanoseconds::ZERO,
            named: Named::otherwise(Timestamp::MIN, b""),
        };
        threads.entry(thread).or_insert_with(unnamed).busy += busy;
        busy
    }

    fn switch(
        &self,
        state: &mut Usage,
        at: Timestamp,
        (prev, prev_comm): (ThreadId, &[u8]),
        (next, next_comm): (ThreadId, &[u8]),
    ) {
        let run = state.open.latest();
        let since = match run.last_switch {
            Some((since, thread)) if thread == prev => Some(since),
            Some((since, thread)) => {
                // Not what the switch itself says: an event is missing without being counted as lost.
                let busy = self.add(&mut state.threads, (thread, since, at));
                state.open.busy += busy;
                state.unseen.push(Unseen {
                    cpu: CpuId(0), // the chunk's, set at its end
                    since,
                    known: thread,
                    until: at,
                    thread: prev,
                });
                None
            }
            None => run.first_event.filter(|_| run.after_gap),
        };
        if state.latest.is_some_and(|(thread, _)| thread != prev) {
            state.name_latest();
        }
        let run = state.open.latest();
        run.first_switch = run.first_switch.or(Some((at, prev)));
        run.last_switch = Some((at, next));
        if at <= self.window.end {
            state.latest = Some((next, Named::by_switch(at, next_comm)));
        }
        if prev == ThreadId::IDLE {
            return;
        }
        let busy = since.map_or(Nanoseconds::ZERO, |since| self.window.overlap(since, at));
        state.open.busy += busy;
        let named = match at <= self.window.end {
            true => Named::by_switch(at, prev_comm),
            false => Named::otherwise(at, prev_comm),
        };
        let unseen = ThreadUse {
            busy: Nanoseconds::ZERO,
            named,
        };
        let usage = state.threads.entry(prev).or_insert(unseen);
        usage.busy += busy;
        usage.named.update(named);
    }

    /// Counts unseen runs for the threads that ran, from when they are known to have begun.
    fn see(&self, counts: &mut Counts, runs: &[Unseen], begins: &[Option<Timestamp>]) {
        for (run, begin) in runs.iter().zip(begins) {
            let Some(begin) = *begin else {
                continue;
            };
            let busy = self.add(&mut counts.threads, (run.thread, begin, run.until));
            match counts.threads.get_mut(&run.known) {
                Some(usage) if run.known != ThreadId::IDLE => {
                    usage.busy = usage.busy - busy;
                }
                _ => *counts.busy.entry(run.cpu).or_default() += busy,
            }
        }
    }

    fn rows(&self, counts: Counts) -> CpuReport {
        let unknown = |cpu: &CpuId| counts.unknown.get(cpu).copied().unwrap_or_default();
        let cpus = counts.busy.iter().map(|(&cpu, &busy)| CpuRow {
            cpu,
            busy_ns: busy,
            unknown_ns: unknown(&cpu),
            percent: self.percent(busy, unknown(&cpu)),
        });
        let busy_threads = counts.threads.iter();
        let busy_threads = busy_threads.filter(|(_, usage)| usage.busy > Nanoseconds::ZERO);
        let mut threads: Vec<ThreadRow> = busy_threads
            .map(|(&tid, usage)| ThreadRow {
                tid,
                comm: usage.named.comm.to_string(),
                busy_ns: usage.busy,
                percent: self.percent(usage.busy, counts.unknown_everywhere),
            })
            .collect();
        threads.sort_by_key(|row| (std::cmp::Reverse(row.busy_ns), row.tid));
        CpuReport {
            begin_ns: self.window.begin.ns(),
            end_ns: self.window.end.ns(),
            cpus: cpus.collect(),
            threads,
        }
    }

    /// A share of the window without what is unknown of it.
    fn percent(&self, busy: Nanoseconds, unknown: Nanoseconds) -> f64 {
        let length = (self.window.length() - unknown).get().max(1);
        100.0 * busy.get() as f64 / length as f64
    }
}

impl Answer for CpuUse {
    type Report = Counts;

    fn projection(&self) -> &Projection {
        &self.projection
    }

    fn range(&self) -> TimeRange {
        self.window.and_before()
    }

    fn report(&self, mut state: Usage) -> Counts {
        let mut counts = BTreeMap::new();
        let (unknown, unknown_everywhere) = self.unknown(&state.lanes);
        for &cpu in &self.cpus {
            let mut busy = Nanoseconds::ZERO;
            if let Some(lane) = state.lanes.get_mut(&cpu) {
                busy = lane.busy;
                let head = lane.first.first_switch.filter(|_| !lane.first.after_gap);
                let first_event = self.extent.first_of_cpu.get(&cpu);
                let head = head.and_then(|(until, thread)| Some((thread, *first_event?, until)));
                let latest = *lane.latest();
                let tail = latest.last_switch.filter(|_| !latest.before_gap);
                let tail = tail.map(|(since, thread)| (thread, since, self.window.end));
                for stretch in [head, tail].into_iter().flatten() {
                    busy += self.add(&mut state.threads, stretch);
                }
            }
            counts.insert(cpu, busy);
        }
        let unseen = state.unseen.sorted();
        let ran_unseen: FxHashSet<ThreadId> = unseen.iter().map(|run| run.thread).collect();
        state
            .threads
            .retain(|thread, usage| usage.busy > Nanoseconds::ZERO || ran_unseen.contains(thread));
        Counts {
            busy: counts,
            unknown,
            unknown_everywhere,
            threads: state.threads,
            unseen,
        }
    }
}

impl Analysis for CpuUse {
    type State = Usage;

    fn begin(&self, _chunk: &Chunk) -> Usage {
        Usage::default()
    }

    fn packet(&self, state: &mut Usage, packet: &Packet) {
        if packet.lost_events == 0 && packet.lost_packets == 0 {
            return;
        }
        state.name_latest();
        let latest = state.open.latest();
        latest.before_gap = true;
        if let Some(stretch) = latest.tail() {
            state.open.busy += self.add(&mut state.threads, stretch);
        }
        state.open.settle_last();
        state.open.last = Some(Run {
            after_gap: true,
            ..Run::default()
        });
    }

    #[inline]
    fn event(&self, state: &mut Usage, event: &Event<'_>) {
        if self.times_of_all {
            let run = state.open.latest();
            run.first_event = run.first_event.or(Some(event.at));
            run.last_event = Some(event.at);
        }
        if let Some(Fact::Switch {
            prev,
            next,
            prev_comm,
            next_comm,
            ..
        }) = self.concepts.fact(event)
        {
            self.switch(state, event.at, (prev, prev_comm), (next, next_comm));
        }
    }

    fn end(&self, state: &mut Usage, chunk: &Chunk) {
        state.name_latest();
        let lane = std::mem::take(&mut state.open);
        let has_switch = |run: &Run| run.first_switch.is_some();
        let silent = !has_switch(&lane.first) && !lane.last.as_ref().is_some_and(has_switch);
        if !(silent && self.streams_may_lack_switches) {
            let cpu = chunk.cpu.unwrap_or(CpuId(chunk.stream.0));
            state.unseen.set_cpu(cpu);
            state.lanes.insert(cpu, lane);
        }
    }

    fn merge(&self, earlier: &mut Usage, later: Usage) {
        for (thread, usage) in later.threads {
            let none = ThreadUse {
                busy: Nanoseconds::ZERO,
                ..usage
            };
            let sum = earlier.threads.entry(thread).or_insert(none);
            sum.busy += usage.busy;
            sum.named.update(usage.named);
        }
        for (cpu, lane) in later.lanes {
            let Some(known) = earlier.lanes.get_mut(&cpu) else {
                earlier.lanes.insert(cpu, lane);
                continue;
            };
            known.busy += lane.busy;
            if let (Some((since, before)), Some((until, thread))) =
                (known.latest().last_switch, lane.first.first_switch)
                && before != thread
            {
                earlier.unseen.push(Unseen {
                    cpu,
                    since,
                    known: before,
                    until,
                    thread,
                });
            }
            let settled = known.latest().join(lane.first);
            for stretch in settled.into_iter().flatten() {
                known.busy += self.add(&mut earlier.threads, stretch);
            }
            if lane.last.is_some() {
                known.settle_last();
                known.known.extend(lane.known);
                known.last = lane.last;
            }
        }
        earlier.unseen.merge(later.unseen);
    }
}

#[cfg(test)]
mod tests {
    use slowpath_drawn::DrawnTrace;

    use super::*;
    use crate::answer::every_way;

    /// Switches between `prev` and `next` of the short form `cpu0 10 7>0`, other lines as they are.
    fn drawn(text: &str) -> DrawnTrace {
        let mut lines = String::new();
        for line in text.lines() {
            let words: Vec<&str> = line.split_whitespace().collect();
            if let [cpu, at, switch] = words[..]
                && let Some((prev, next)) = switch.split_once('>')
            {
                lines += &format!(
                    "{cpu} {at} sched_switch prev_comm=t{prev} prev_tid={prev} prev_state=0 next_comm=t{next} next_tid={next}\n"
                );
            } else {
                lines += &format!("{line}\n");
            }
        }
        DrawnTrace::parse(&lines).unwrap()
    }

    fn rows(report: &CpuReport) -> String {
        let cpus = report
            .cpus
            .iter()
            .map(|row| format!("cpu{} {}", row.cpu, row.busy_ns.get()));
        let threads = report.threads.iter();
        let threads = threads.map(|row| format!("{}:{} {}", row.tid, row.comm, row.busy_ns.get()));
        cpus.chain(threads).collect::<Vec<_>>().join(", ")
    }

    fn check_in(text: &str, range: TimeRange, expected: &str) {
        let trace = drawn(text);
        let analysis = CpuUse::new(&trace, range);
        let mut counts = every_way::ask(&trace, |source| CpuUse::new(source, range));
        let runs = std::mem::take(&mut counts.unseen);
        let search = |source: &dyn Source| Search::new(source.schema(), &runs, analysis.range());
        let begins = every_way::ask(&trace, search);
        analysis.see(&mut counts, &runs, &begins);
        assert_eq!(rows(&analysis.rows(counts)), expected, "{text}");
    }

    fn check(text: &str, expected: &str) {
        check_in(text, TimeRange::ALL, expected);
    }

    #[test]
    fn threads_run_from_switch_to_switch() {
        check(
            "cpu0 10 tick
             cpu0 20 7>0
             cpu0 50 0>8
             cpu0 60 8>7
             cpu0 90 tick",
            "cpu0 50, 7:t7 40, 8:t8 10",
        );
    }

    #[test]
    fn a_thread_without_a_switch_from_it_keeps_its_name() {
        check(
            "cpu0 0 0>7
             cpu0 10 8>9
             cpu0 15 9>0
             cpu0 40 tick",
            "cpu0 15, 7:t7 10, 9:t9 5",
        );
    }

    #[test]
    fn a_thread_on_two_processors_is_one_row() {
        check(
            "cpu0 0 0>7
             cpu0 30 7>0
             cpu1 5 0>9
             cpu1 40 9>7
             cpu1 100 tick
             cpu0 35 tick
             cpu0 100 tick",
            "cpu0 30, cpu1 95, 7:t7 90, 9:t9 35",
        );
    }

    #[test]
    fn a_processor_without_switches_is_not_known_to_be_busy() {
        check(
            "cpu0 0 tick\ncpu0 50 tick\ncpu1 0 0>3\ncpu1 50 3>0",
            "cpu0 0, cpu1 50, 3:t3 50",
        );
    }

    #[test]
    fn nobody_is_known_to_run_where_events_were_lost() {
        check(
            "cpu0 0 0>7
             cpu0 10 tick
             -- lost 3 cpu0
             cpu0 50 tick
             cpu0 60 8>9
             cpu0 65 tick
             -- lost 1 cpu0
             -- lost-packets 1 cpu0
             cpu0 80 tick
             -- lost 1 cpu0
             cpu0 90 9>0
             cpu0 95 tick",
            "cpu0 25, 7:t7 10, 8:t8 10, 9:t9 5",
        );
    }

    #[test]
    fn what_a_switch_missed_is_told_by_wake_ups_and_contexts() {
        // The idle thread's switches to 7 and 9 are missing, and 9's to 8.
        let text = "cpu0 0 5>0
             cpu0 30 sched_wakeup comm=t7 tid=7 target_cpu=0
             cpu0 50 7>0
             cpu1 0 3>3
             cpu1 55 sched_waking comm=t9 tid=9 target_cpu=1
             cpu1 60 sched_waking comm=t9 tid=9 target_cpu=0
             cpu1 62 sched_waking comm=t9 tid=9 target_cpu=0
             cpu1 90 tick
             cpu0 70 0>9
             cpu0 80 tick @tid=9
             cpu0 82 sched_waking comm=t8 tid=8 target_cpu=0
             cpu0 85 tick @tid=8
             cpu0 90 8>0
             cpu0 100 tick";
        check(
            text,
            "cpu0 40, cpu1 100, 3:t3 100, 7:t7 20, 9:t9 15, 8:t8 5",
        );
        check(
            &text.replace("cpu0 70 0>9\n", "cpu0 70 9>0\n"),
            "cpu0 38, cpu1 100, 3:t3 100, 7:t7 20, 9:t9 10, 8:t8 8",
        );
        // A wake-up says nothing where another thread was running, nor does one elsewhere.
        check(
            "cpu0 0 5>6
             cpu0 30 sched_wakeup comm=t7 tid=7 target_cpu=0
             cpu0 50 7>0
             cpu0 60 sched_wakeup comm=t7 tid=7 target_cpu=1
             cpu0 90 7>0",
            "cpu0 50, 6:t6 50",
        );
    }

    #[test]
    fn a_window_cuts_off_what_lies_outside() {
        let range = TimeRange::new(Timestamp::from_ns(25), Timestamp::from_ns(70));
        let text = "cpu0 0 0>7\ncpu0 30 7>0\ncpu0 40 0>8\ncpu0 90 8>0\ncpu1 0 1>2\ncpu1 90 tick";
        check_in(text, range, "cpu0 35, cpu1 45, 2:t2 45, 8:t8 30, 7:t7 5");
    }

    #[test]
    fn shares_are_of_the_window() {
        let trace = drawn("cpu0 0 0>7\ncpu0 50 7>0\ncpu0 200 tick");
        let report = cpu(&trace, &Options::default()).unwrap().state.unwrap();
        assert_eq!((report.begin_ns, report.end_ns), (0, 200));
        assert_eq!(report.threads[0].percent, 25.0);
        let json = serde_json::to_value(&report).unwrap();
        assert_eq!(
            json["cpus"][0],
            serde_json::json!({"cpu": 0, "busy_ns": 50, "unknown_ns": 0, "percent": 25.0})
        );
    }

    #[test]
    fn where_events_are_missing_nothing_is_known() {
        let check = |text: &str, cpus: &[(u64, u64, f64)], thread: f64| {
            let trace = drawn(text);
            let mut counts = every_way::ask(&trace, |source| CpuUse::new(source, TimeRange::ALL));
            counts.unseen.clear();
            let report = CpuUse::new(&trace, TimeRange::ALL).rows(counts);
            let row = |row: &CpuRow| (row.busy_ns.get(), row.unknown_ns.get(), row.percent);
            assert_eq!(
                report.cpus.iter().map(row).collect::<Vec<_>>(),
                cpus,
                "{text}"
            );
            assert_eq!(report.threads[0].percent, thread, "{text}");
        };
        let whole = "cpu0 0 0>7\ncpu0 40 7>0\ncpu0 100 tick\ncpu1 0 3>0\ncpu1 50 tick\n";
        check(whole, &[(40, 0, 40.0), (0, 0, 0.0)], 40.0);
        let cut = format!("{whole}-- cut-off 50 cpu1");
        check(&cut, &[(40, 0, 40.0), (0, 50, 0.0)], 40.0);
        // A processor of which nothing is left.
        check(
            "cpu0 0 0>7\ncpu0 40 7>0\ncpu0 100 tick\n-- cut-off 0 cpu1",
            &[(40, 0, 40.0), (0, 100, 0.0)],
            40.0,
        );
        // Two recordings of one host, and in the middle of the later one a part without a switch.
        check(
            "cpu0 0 0>7
             cpu0 10 7>0
             cpu0 20 tick
             cpu1 0 0>8
             cpu1 20 8>0
             -- lost-packets 1 cpu0
             -- lost-packets 1 cpu1
             cpu0 80 0>7
             cpu0 82 7>0
             cpu0 84 tick
             -- lost-packets 1 cpu0
             cpu0 86 tick
             cpu0 88 tick
             -- lost-packets 1 cpu0
             cpu0 90 tick
             cpu0 95 0>7
             cpu0 100 tick
             cpu1 80 0>8
             cpu1 100 8>0",
            &[(17, 66, 50.0), (40, 60, 100.0)],
            100.0,
        );
    }
}
