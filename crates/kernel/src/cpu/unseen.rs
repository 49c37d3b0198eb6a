//! Who ran where a switch is missing: evidence besides switches.
//!
//! A switch from a thread that was not known to run shows that one before it was not recorded (some
//! virtual machines keep every switch away from their idle thread, or from their agents, out of the
//! tracer). Then, and only then, the trace is read a second time, for the first event in the context
//! of the thread that ran unseen, and for its wake-up: a processor that idles runs a thread as soon
//! as it is woken. Whoever left another processor after that was taken there before it ran here: the
//! first wake-up since counts. Finding the earliest or the latest of anything is a merge in any order.

use std::collections::{BTreeMap, BTreeSet};

use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};
use slowpath_concepts::{Concepts, Fact, FactKind};
use slowpath_engine::{Analysis, Chunk};
use slowpath_model::{CpuId, Event, Projection, Schema, ThreadId, TimeRange, Timestamp};
use slowpath_source::Packet;

use crate::answer::Answer;
use crate::contexts::Contexts;

/// How many are looked into at most: a trace of chosen threads lacks most of its switches.
const MOST: usize = 1 << 20;

/// A stretch of time on a processor between two switches that contradict each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Unseen {
    pub(super) cpu: CpuId,
    /// The switch that it follows ...
    pub(super) since: Timestamp,
    /// ... went to this thread.
    pub(super) known: ThreadId,
    /// The switch that ends it ...
    pub(super) until: Timestamp,
    /// ... went away from this thread, which has run before it, unseen.
    pub(super) thread: ThreadId,
}

/// All of a trace, or none if they are too many to be looked into.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct UnseenRuns {
    runs: Vec<Unseen>,
    too_many: bool,
}

impl UnseenRuns {
    pub(super) fn push(&mut self, unseen: Unseen) {
        // Of the idle thread nothing tells when it began to run. Streams beside each other go on from one another
        // whole, so that what follows may lie before.
        let is_sought = unseen.thread != ThreadId::IDLE && unseen.since < unseen.until;
        if !self.too_many && is_sought {
            self.runs.push(unseen);
        }
        self.limit();
    }

    pub(super) fn set_cpu(&mut self, cpu: CpuId) {
        for unseen in &mut self.runs {
            unseen.cpu = cpu;
        }
    }

    /// Adds those of another part of the trace.
    pub(super) fn merge(&mut self, mut later: Self) {
        self.too_many |= later.too_many;
        if !self.too_many {
            self.runs.append(&mut later.runs);
        }
        self.limit();
    }

    fn limit(&mut self) {
        if self.too_many || self.runs.len() > MOST {
            *self = Self {
                runs: Vec::new(),
                too_many: true,
            };
        }
    }

    /// In the order of processor and time, however they were merged.
    pub(super) fn sorted(mut self) -> Vec<Unseen> {
        self.runs.sort_unstable_by_key(|run| {
            let Unseen {
                cpu,
                since,
                known,
                until,
                thread,
            } = *run;
            (cpu, since, until, known, thread)
        });
        self.runs
    }
}

/// Looks for evidence of when unseen runs began.
pub(super) struct Search<'runs> {
    runs: &'runs [Unseen],
    of_cpu: BTreeMap<CpuId, Vec<u32>>,
    of_thread: FxHashMap<(CpuId, ThreadId), Vec<u32>>,
    /// Where a thread ran unseen.
    cpus_of_thread: FxHashMap<ThreadId, BTreeSet<CpuId>>,
    concepts: Concepts,
    projection: Projection,
    contexts: Contexts,
    /// When runs were unseen on any processor, in order and apart.
    times: Vec<(Timestamp, Timestamp)>,
    range: TimeRange,
}

/// What was found about each run, by its position.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct Found {
    clues: FxHashMap<u32, Clues>,
    /// Only while a chunk is passed over.
    cpu: Option<CpuId>,
    /// Of the processor's runs, how many have ended before the latest event.
    ended: usize,
}

/// What tells of the begin of a run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
struct Clues {
    /// The first event in the thread's context.
    context: Option<Timestamp>,
    /// When the thread left another processor, the last time.
    left: Option<Timestamp>,
    /// Wake-ups since then.
    wakeups: Vec<Timestamp>,
    wakings: Vec<Timestamp>,
}

impl Clues {
    /// The earliest time from which the thread is known to have run.
    fn begin(&self, was_idle: bool) -> Option<Timestamp> {
        let first = |wakes: &[Timestamp]| wakes.iter().copied().min();
        let woken = first(&self.wakeups).or_else(|| first(&self.wakings));
        earlier(self.context, woken.filter(|_| was_idle))
    }

    fn left(&mut self, at: Timestamp) {
        if self.left.is_some_and(|left| at <= left) {
            return;
        }
        self.left = Some(at);
        self.wakeups.retain(|woken| *woken >= at);
        self.wakings.retain(|woken| *woken >= at);
    }

    /// Whether a wake-up at `at` may be what the run began with.
    fn takes_wake(&self, at: Timestamp) -> bool {
        self.left.is_none_or(|left| at >= left)
    }

    fn merge(&mut self, other: Self) {
        self.context = earlier(self.context, other.context);
        self.wakeups.extend(other.wakeups);
        self.wakings.extend(other.wakings);
        let left = self.left.take().max(other.left);
        if let Some(left) = left {
            self.left(left);
        }
    }
}

fn earlier(one: Option<Timestamp>, other: Option<Timestamp>) -> Option<Timestamp> {
    [one, other].into_iter().flatten().min()
}

impl<'runs> Search<'runs> {
    /// For `runs` in the order of processor and time, in the part of a trace that holds them.
    pub(super) fn new(schema: &Schema, runs: &'runs [Unseen], range: TimeRange) -> Self {
        let kinds = [
            FactKind::Switch,
            FactKind::Waking,
            FactKind::Wakeup,
            FactKind::WakeupNew,
        ];
        let concepts = Concepts::resolve(schema, &kinds);
        let mut projection = concepts.projection().clone();
        let contexts = Contexts::of_all(schema, &mut projection);
        let mut of_cpu: BTreeMap<CpuId, Vec<u32>> = BTreeMap::new();
        let mut of_thread: FxHashMap<(CpuId, ThreadId), Vec<u32>> = FxHashMap::default();
        let mut cpus_of_thread: FxHashMap<ThreadId, BTreeSet<CpuId>> = FxHashMap::default();
        for (position, run) in (0..).zip(runs) {
            of_cpu.entry(run.cpu).or_default().push(position);
            let those = of_thread.entry((run.cpu, run.thread)).or_default();
            those.push(position);
            cpus_of_thread
                .entry(run.thread)
                .or_default()
                .insert(run.cpu);
        }
        let mut times: Vec<_> = runs.iter().map(|run| (run.since, run.until)).collect();
        times.sort_unstable();
        times.dedup_by(|next, known| {
            let meet = next.0 <= known.1;
            if meet {
                known.1 = known.1.max(next.1);
            }
            meet
        });
        Self {
            times,
            runs,
            of_cpu,
            of_thread,
            cpus_of_thread,
            concepts,
            projection,
            contexts,
            range,
        }
    }

    /// The unseen run on `cpu` of a thread at `at`, if it has one then.
    fn at(&self, cpu: CpuId, thread: ThreadId, at: Timestamp) -> Option<u32> {
        let those = self.of_thread.get(&(cpu, thread))?;
        let next = those.partition_point(|&run| self.runs[run as usize].until <= at);
        those
            .get(next)
            .copied()
            .filter(|&run| self.runs[run as usize].since < at)
    }

    /// The unseen run on the chunk's own processor at `at`, which never goes back.
    fn here(&self, state: &mut Found, at: Timestamp) -> Option<u32> {
        let those = self.of_cpu.get(&state.cpu?)?;
        let has_ended = |run: &u32| self.runs[*run as usize].until <= at;
        while those.get(state.ended).is_some_and(has_ended) {
            state.ended += 1;
        }
        let run = *those.get(state.ended)?;
        (self.runs[run as usize].since < at).then_some(run)
    }
}

impl Answer for Search<'_> {
    /// By run: when it began, as far as anything tells.
    type Report = Vec<Option<Timestamp>>;

    fn projection(&self) -> &Projection {
        &self.projection
    }

    fn range(&self) -> TimeRange {
        self.range
    }

    fn report(&self, found: Found) -> Self::Report {
        let begin = |(position, run): (u32, &Unseen)| {
            let clues = found.clues.get(&position)?;
            clues.begin(run.known == ThreadId::IDLE)
        };
        (0..).zip(self.runs).map(begin).collect()
    }
}

impl Analysis for Search<'_> {
    type State = Found;

    fn begin(&self, chunk: &Chunk) -> Found {
        Found {
            cpu: Some(chunk.processor()),
            ..Found::default()
        }
    }

    fn skips(&self, packet: &Packet) -> bool {
        let begin = packet.range.begin;
        let next = self.times.partition_point(|&(_, until)| until < begin);
        self.times
            .get(next)
            .is_none_or(|&(since, _)| since > packet.range.end)
    }

    #[inline]
    fn event(&self, state: &mut Found, event: &Event<'_>) {
        let at = event.at;
        if let Some(thread) = self.contexts.thread(event)
            && let Some(run) = self.here(state, at)
            && thread == self.runs[run as usize].thread
        {
            let clues = state.clues.entry(run).or_default();
            clues.context = earlier(clues.context, Some(at));
        }
        match self.concepts.fact(event) {
            Some(Fact::Waking { thread, target, .. }) => {
                if let Some(run) = target.and_then(|target| self.at(target, thread, at)) {
                    let clues = state.clues.entry(run).or_default();
                    if clues.takes_wake(at) {
                        clues.wakings.push(at);
                    }
                }
            }
            Some(Fact::Wakeup { thread, target, .. }) => {
                if let Some(run) = target.and_then(|target| self.at(target, thread, at)) {
                    let clues = state.clues.entry(run).or_default();
                    if clues.takes_wake(at) {
                        clues.wakeups.push(at);
                    }
                }
            }
            Some(Fact::Switch { prev, .. }) => {
                let cpus = self.cpus_of_thread.get(&prev).into_iter().flatten();
                for cpu in cpus.filter(|cpu| Some(**cpu) != state.cpu) {
                    if let Some(run) = self.at(*cpu, prev, at) {
                        state.clues.entry(run).or_default().left(at);
                    }
                }
            }
            _ => {}
        }
    }

    fn end(&self, state: &mut Found, _chunk: &Chunk) {
        (state.cpu, state.ended) = (None, 0);
    }

    fn merge(&self, earlier_chunks: &mut Found, later: Found) {
        for (run, clues) in later.clues {
            earlier_chunks.clues.entry(run).or_default().merge(clues);
        }
    }
}
