//! How busy each processor was, and with which threads.
//!
//! A chunk knows who ran from its first switch to its last; who ran before and after stays pending
//! until its neighbours on the same processor are merged. Where events were lost nobody is known to
//! run between the last event before the gap and the first after it. Where switches contradict each
//! other, a second pass looks for other evidence of who ran (`unseen`).

mod known;
#[cfg(test)]
mod tests;
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
use utoipa::ToSchema;

use crate::answer::{Answer, answer};
use crate::by_stream::ByStream;
use crate::comm::Named;
use crate::extent::shares_processors;
use crate::{Extent, Window};

use unseen::{Search, Unseen, UnseenRuns};

/// How busy each processor was, and with which threads.
#[derive(Clone, Debug, Default, PartialEq, Serialize, ToSchema)]
pub struct CpuReport {
    /// First point of the window, nanoseconds since the Unix epoch.
    pub begin_ns: i64,
    /// End of the window.
    pub end_ns: i64,
    /// Processors by number.
    pub cpus: Vec<CpuRow>,
    /// Threads that were busy, of each host the busiest first.
    pub threads: Vec<ThreadRow>,
}

/// One processor.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
#[schema(as = CpuUse)]
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
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
#[schema(as = ThreadUse)]
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
    let mut analysis = CpuUse::new(source, options.range);
    let mut counted = answer(source, &analysis, options)?;
    while counted
        .state
        .as_ref()
        .is_some_and(|counts| analysis.read_more(source, counts))
    {
        counted = answer(source, &analysis, options)?;
    }
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
    /// What comes behind the window is read as well.
    reads_to_the_end: bool,
    /// A stream without any switch says nothing beside one that has some.
    streams_may_lack_switches: bool,
}

/// What a chunk, or several, told.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct Usage {
    lanes: ByStream<Lane>,
    threads: FxHashMap<ThreadId, ThreadUse>,
    /// The one lane of a chunk while it is passed over.
    open: Lane,
    /// Name of the thread that the latest switch went to.
    latest: Option<(ThreadId, Named)>,
    unseen: UnseenRuns,
    /// Events were missing where none were told to be lost.
    needs_times_of_all: bool,
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
    /// Events turned out to be missing where none were told to be lost: the rest may be wrong.
    needs_times_of_all: bool,
    /// Whoever ran somewhere at the window's end is named only by a switch behind it.
    needs_later_switches: bool,
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
    /// Whether who ran is known of any time.
    fn has_switch(&self) -> bool {
        let mut outer = [Some(self.first), self.last].into_iter().flatten();
        !self.known.is_empty() || outer.any(|run| run.first_switch.is_some())
    }

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
        let times_of_all = source.packets().iter().any(Packet::lacks_events_before)
            || source
                .streams()
                .iter()
                .any(|stream| stream.cut_off_at.is_some());
        let cut_off = source
            .streams()
            .iter()
            .filter(|stream| stream.cut_off_at.is_some());
        let cut_off = cut_off.filter_map(|stream| stream.cpu);
        let extent_end = extent.bounds.map_or(Timestamp::MIN, |(_, end)| end);
        let mut analysis = Self {
            window: extent.window(range),
            cpus: extent.first_of_cpu.keys().copied().chain(cut_off).collect(),
            extent,
            projection: concepts.projection().clone(),
            concepts,
            times_of_all: false,
            reads_to_the_end: range.end > extent_end,
            streams_may_lack_switches: shares_processors(source),
        };
        if times_of_all {
            analysis.want_times_of_all(source);
        }
        analysis
    }

    /// Sees to it that the next pass reads more, where `counts` want more; false where they do not.
    fn read_more(&mut self, source: &dyn Source, counts: &Counts) -> bool {
        let has_switches = self.concepts.has(FactKind::Switch);
        let reads_on = counts.needs_later_switches && !self.reads_to_the_end && has_switches;
        let wants_times = counts.needs_times_of_all && !self.times_of_all;
        self.reads_to_the_end |= reads_on;
        if wants_times {
            self.want_times_of_all(source);
        }
        reads_on || wants_times
    }

    /// Reads the times of all events: with them it is known where gaps begin and end.
    fn want_times_of_all(&mut self, source: &dyn Source) {
        self.times_of_all = true;
        for class in (0..source.schema().event_classes.len() as u32).map(EventClassId) {
            if self.projection.fields(class).is_none() {
                self.projection.want(class, Vec::new());
            }
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
        // What this switch says of the same thread is said later, and so is all that counts; mostly.
        let says_more = |(thread, named): (ThreadId, Named)| {
            thread != prev || named.at() >= at || at > self.window.end
        };
        if state.latest.is_some_and(says_more) {
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

    /// Goes on with `later` where `known` ends.
    fn join(
        &self,
        cpu: CpuId,
        known: &mut Lane,
        later: Lane,
        threads: &mut FxHashMap<ThreadId, ThreadUse>,
        unseen: &mut UnseenRuns,
    ) {
        known.busy += later.busy;
        if let (Some((since, before)), Some((until, thread))) =
            (known.latest().last_switch, later.first.first_switch)
            && before != thread
        {
            unseen.push(Unseen {
                cpu,
                since,
                known: before,
                until,
                thread,
            });
        }
        let settled = known.latest().join(later.first);
        for stretch in settled.into_iter().flatten() {
            known.busy += self.add(threads, stretch);
        }
        if later.last.is_some() {
            known.settle_last();
            known.known.extend(later.known);
            known.last = later.last;
        }
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
        match self.reads_to_the_end {
            true => TimeRange::ALL,
            false => self.window.and_before(),
        }
    }

    fn report(&self, mut state: Usage) -> Counts {
        let (threads, unseen) = (&mut state.threads, &mut state.unseen);
        let mut lanes = std::mem::take(&mut state.lanes);
        if self.streams_may_lack_switches {
            lanes.forget_silent(Lane::has_switch);
        }
        let mut lanes =
            lanes.joined(|cpu, known, later| self.join(cpu, known, later, threads, unseen));
        let mut counts = BTreeMap::new();
        let (unknown, unknown_everywhere) = self.unknown(&lanes);
        let waits = |cpu: &CpuId| lanes.get(cpu).is_none_or(Lane::waits_for_switch);
        let needs_later_switches = self.cpus.iter().any(waits);
        for &cpu in &self.cpus {
            let mut busy = Nanoseconds::ZERO;
            if let Some(lane) = lanes.get_mut(&cpu) {
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
            needs_times_of_all: state.needs_times_of_all,
            needs_later_switches,
        }
    }
}

impl Analysis for CpuUse {
    type State = Usage;

    fn begin(&self, _chunk: &Chunk) -> Usage {
        Usage::default()
    }

    fn packet(&self, state: &mut Usage, packet: &Packet) {
        if !packet.lacks_events_before() {
            return;
        }
        state.needs_times_of_all |= !self.times_of_all;
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
        state.unseen.set_cpu(chunk.processor());
        state.lanes = ByStream::of(chunk, lane);
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
        let (threads, unseen) = (&mut earlier.threads, &mut earlier.unseen);
        let join = |cpu, known: &mut _, later| self.join(cpu, known, later, threads, unseen);
        earlier.lanes.merge(later.lanes, join);
        earlier.unseen.merge(later.unseen);
        earlier.needs_times_of_all |= later.needs_times_of_all;
    }
}
