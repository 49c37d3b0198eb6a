//! Threads that a control group's CPU quota stops (the kernel's bandwidth control): which
//! groups have one, how much, and when it stopped whom.
//!
//! Where the recorder read the quotas, they are facts, and whom they stopped is the matter of `quota_counted`.
//! Other traces show quotas only by what they do: to `quota_timer` where the kernel's own timers of quotas
//! are in the trace, and to `quota_estimate` where they are not. Nothing is concluded from a few occasions.

use std::collections::{BTreeMap, BTreeSet};

use slowpath_critical_path::State;
use slowpath_kernel::quotas::GroupQuotas;
use slowpath_kernel::timelines::Timelines;
use slowpath_kernel::timers::Firings;
use slowpath_model::{Nanoseconds, ProcessId, ThreadId, TimeRange};

use crate::quota_counted::counted;
use crate::quota_estimate::estimated_regimes;
use crate::quota_timer::{self, Timer, silences, timers_of};
use crate::waits::Wait;

/// A time with fewer periods in a row is no evidence.
pub(crate) const LEAST_PERIODS: usize = 3;

/// The quota that a control group is held to, or a process whose group is not known.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Quota {
    pub(crate) group: Option<String>,
    /// Where some of its processes were moved from group to group: all of these. Which one has it is not known then.
    pub(crate) moved_among: Vec<String>,
    /// Those that ran under it, in the order of their ids; never empty.
    pub(crate) processes: Vec<ProcessId>,
    /// In the order of their ids.
    pub(crate) threads: Vec<ThreadId>,
    /// When, in the order of time; never empty.
    pub(crate) regimes: Vec<Regime>,
    stalls: Stalls,
}

/// When ready threads stood still, in the order of time, apart.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Stalls {
    /// All at the same times.
    OfAll(Vec<TimeRange>),
    /// Each at its own.
    OfEach(BTreeMap<ThreadId, Vec<TimeRange>>),
}

impl Stalls {
    fn of(&self, thread: ThreadId) -> &[TimeRange] {
        match self {
            Self::OfAll(stalls) => stalls,
            Self::OfEach(stalls) => stalls.get(&thread).map_or(&[], Vec::as_slice),
        }
    }
}

/// What the kernel counted of a quota.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Counted {
    /// Periods at whose end the group was stopped.
    pub(crate) times: u64,
    /// How long, added up over processors.
    pub(crate) stopped: Nanoseconds,
    /// From look to look: more than the regime where these lie outside of it.
    pub(crate) between: TimeRange,
    /// The time of it for which there is no count.
    pub(crate) uncounted: Nanoseconds,
}

impl Counted {
    /// What was counted in both.
    pub(crate) fn and(self, other: Self) -> Self {
        Self {
            times: self.times.saturating_add(other.times),
            stopped: self.stopped + other.stopped,
            between: self.between.hull(other.between),
            uncounted: self.uncounted + other.uncounted,
        }
    }

    /// Whether there is no count at all.
    pub(crate) fn is_unknown(&self) -> bool {
        self.times == 0 && self.uncounted > Nanoseconds::ZERO
    }
}

/// A time in which the quota had one value, within the window that is looked at.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Regime {
    pub(crate) period: Nanoseconds,
    /// CPU time of all threads in a period; at least, and at most where begins of runs were not recorded.
    pub(crate) quota: Nanoseconds,
    pub(crate) most: Nanoseconds,
    pub(crate) range: TimeRange,
    pub(crate) periods: usize,
    /// How long ready threads stood still, all threads together.
    pub(crate) stood_still: Nanoseconds,
    /// `None` where the quota is not told by the kernel, but inferred.
    pub(crate) counted: Option<Counted>,
}

impl Regime {
    /// How much it is, in words: the two bounds where they are well apart.
    pub(crate) fn amount(&self) -> String {
        self.bounds(|quota| quota.to_string())
    }

    /// As it is written to cpu.max, in microseconds; version 1 of control groups has a file for each number.
    pub(crate) fn setting(&self) -> String {
        let micro = |time: Nanoseconds| time.get() / 1000;
        self.bounds(|quota| format!("`{} {}`", micro(quota), micro(self.period)))
    }

    fn bounds(&self, words: impl Fn(Nanoseconds) -> String) -> String {
        match self.most.get() * 20 > self.quota.get() * 21 {
            true => format!("between {} and {}", words(self.quota), words(self.most)),
            false => words(self.quota),
        }
    }

    /// The middle of the bounds.
    pub(crate) fn about(&self) -> Nanoseconds {
        Nanoseconds(self.quota.get().midpoint(self.most.get()))
    }
}

impl Quota {
    /// When the quota stopped `thread`, which was not running in `range`.
    pub(crate) fn stopped(&self, thread: ThreadId, range: TimeRange) -> Vec<TimeRange> {
        match self.threads.binary_search(&thread) {
            Ok(_) => {
                let stalls = self.stalls.of(thread);
                let first = stalls.partition_point(|stall| stall.end <= range.begin);
                let during = stalls[first..].iter();
                let during = during.take_while(|stall| stall.begin < range.end);
                during.map(|stall| stall.intersect(range)).collect()
            }
            Err(_) => Vec::new(),
        }
    }

    /// Whether the kernel told of it.
    pub(crate) fn is_told(&self) -> bool {
        self.regimes.iter().any(|regime| regime.counted.is_some())
    }

    /// The rest of `range`, in which it did not stop `thread`.
    pub(crate) fn not_stopped(&self, thread: ThreadId, range: TimeRange) -> Vec<TimeRange> {
        let mut parts = Vec::new();
        let mut begin = range.begin;
        for stall in self.stopped(thread, range) {
            parts.push(TimeRange::new(begin, stall.begin));
            begin = stall.end;
        }
        parts.push(TimeRange::new(begin, range.end));
        parts.retain(|part| !part.is_empty());
        parts
    }
}

/// The quota behind a wait for other threads: one that held back whoever the wait was for, for most of it;
/// or whom those waited for in their turn, as a runtime's thread that asks every few milliseconds
/// whether all others have stopped.
pub(crate) fn quota_behind<'run>(quotas: &'run [Quota], wait: &Wait) -> Option<&'run Quota> {
    quotas.iter().find(|quota| {
        let here = (wait.pieces.iter()).filter(|piece| piece.host == wait.waiter.host);
        let held: Nanoseconds = here
            .filter(|piece| piece.state != State::Running)
            .flat_map(|piece| quota.stopped(piece.thread, piece.range))
            .map(TimeRange::length)
            .sum();
        held.get() * 2 > wait.range.length().get()
    })
}

/// The control group that all others are below; none of its own threads is ever held to a quota.
const ROOT: &str = "/";

/// Who may be held to a quota together.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Held<'run> {
    Group(&'run str),
    /// Its group is not known.
    Process(ProcessId),
}

impl<'run> Held<'run> {
    pub(crate) fn group(self) -> Option<&'run str> {
        match self {
            Self::Group(group) => Some(group),
            Self::Process(_) => None,
        }
    }

    /// The part of the tree of control groups that it is in: what lies in several has no quota in common.
    fn tree(self) -> Option<&'run str> {
        self.group()?.split('/').find(|part| !part.is_empty())
    }
}

/// The threads of a host by what may hold them to a quota.
pub(crate) struct Groups<'run> {
    pub(crate) lines: &'run Timelines,
    /// The time that is looked at.
    pub(crate) window: TimeRange,
    control_groups: &'run BTreeMap<ProcessId, Vec<String>>,
    threads: BTreeMap<Held<'run>, Vec<ThreadId>>,
    /// Whether processes that were moved count for each group that they were seen in, or for the latest.
    has_moved: bool,
}

impl<'run> Groups<'run> {
    fn of(
        lines: &'run Timelines,
        window: TimeRange,
        control_groups: &'run BTreeMap<ProcessId, Vec<String>>,
        has_moved: bool,
    ) -> Self {
        let mut groups = Self {
            lines,
            window,
            control_groups,
            threads: BTreeMap::new(),
            has_moved,
        };
        for &thread in lines.threads() {
            for held in groups.held(thread) {
                groups.threads.entry(held).or_default().push(thread);
            }
        }
        groups.threads.remove(&Held::Group(ROOT));
        groups
    }

    fn process(&self, thread: ThreadId) -> ProcessId {
        let process = self.lines.process(thread, self.lines.range().end);
        process.unwrap_or(ProcessId(thread.0))
    }

    fn held(&self, thread: ThreadId) -> Vec<Held<'run>> {
        let process = self.process(thread);
        let Some(groups) = self.groups_of(process) else {
            return vec![Held::Process(process)];
        };
        let first = match self.has_moved {
            true => 0,
            false => groups.len() - 1,
        };
        let groups = groups[first..].iter();
        groups.map(|group| Held::Group(group)).collect()
    }

    /// The groups that a process was seen in, or else whoever created it: it begins in the same one.
    fn groups_of(&self, process: ProcessId) -> Option<&'run [String]> {
        /// A chain of processes of which none was ever seen is hardly longer.
        const MOST_CREATORS: usize = 8;
        let creator = |process: &ProcessId| {
            let creator = self.lines.creator(ThreadId(process.0))?;
            Some(self.process(creator))
        };
        std::iter::successors(Some(process), creator)
            .take(MOST_CREATORS)
            .find_map(|process| self.control_groups.get(&process))
            .filter(|groups| !groups.is_empty())
            .map(Vec::as_slice)
    }

    /// The groups of those of these processes that were seen in several. Whoever starts a process in a group moves
    /// it there from the root.
    fn moved_among(&self, processes: &[ProcessId]) -> Vec<String> {
        let groups = processes.iter().filter_map(|of| self.groups_of(*of));
        let groups = groups.map(|groups| groups.iter().filter(|group| *group != ROOT));
        let moved = groups.filter(|groups| groups.clone().count() > 1);
        let all: BTreeSet<&String> = moved.flatten().collect();
        all.into_iter().cloned().collect()
    }

    /// Those of some threads, each once; the root group's are none.
    fn of_threads(&self, threads: &[ThreadId]) -> BTreeSet<Held<'run>> {
        let all = threads.iter().flat_map(|thread| self.held(*thread));
        all.filter(|held| self.threads.contains_key(held)).collect()
    }

    /// The smallest group that all of these are in or below; `None` where the group of one is not known.
    fn common(held: &[Held<'_>]) -> Option<String> {
        let (first, others) = held.split_first()?;
        let mut common = first.group()?.to_owned();
        for other in others {
            let parts = common.split('/').zip(other.group()?.split('/'));
            let same = parts.take_while(|(one, other)| one == other);
            common = same.map(|(part, _)| part).collect::<Vec<_>>().join("/");
        }
        Some(common)
    }

    /// The threads of a group and of all below it, in the order of their ids.
    pub(crate) fn below(&self, group: &str) -> Vec<ThreadId> {
        let is_below = |held: &Held<'_>| {
            let rest = held.group().and_then(|other| other.strip_prefix(group));
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        };
        let below = self.threads.iter().filter(|(held, _)| is_below(held));
        let mut threads: Vec<ThreadId> = below.flat_map(|(_, threads)| threads).copied().collect();
        threads.sort_unstable();
        threads
    }

    /// The threads of processes whose groups are not known, or else the group that all are in or below
    /// with its threads.
    fn together(&self, held: &[Held<'_>]) -> (Option<String>, Vec<ThreadId>) {
        match Self::common(held) {
            Some(group) => {
                let threads = self.below(&group);
                (Some(group), threads)
            }
            None => {
                let threads = held.iter().filter_map(|held| self.threads.get(held));
                let mut threads: Vec<ThreadId> = threads.flatten().copied().collect();
                threads.sort_unstable();
                (None, threads)
            }
        }
    }

    /// The quota with these regimes; `None` where there are none.
    pub(crate) fn quota(
        &self,
        (group, threads): (Option<String>, Vec<ThreadId>),
        (regimes, stalls): (Vec<Regime>, Stalls),
    ) -> Option<Quota> {
        let all = regimes.iter().map(|regime| regime.range);
        let all = all.reduce(TimeRange::hull)?;
        let ran = |thread: &&ThreadId| {
            let mut runs = self.lines.runs_of(**thread);
            runs.any(|(run, _)| !run.intersect(all).is_empty())
        };
        let mut processes: Vec<ProcessId> = (threads.iter().filter(ran))
            .map(|&thread| self.process(thread))
            .collect();
        processes.sort_unstable();
        processes.dedup();
        let moved_among = match self.has_moved {
            true => Vec::new(),
            false => self.moved_among(&processes),
        };
        // The kernel is told them in microseconds.
        let micro = |time: Nanoseconds| Nanoseconds((time.get() + 500) / 1000 * 1000);
        let regimes = regimes.into_iter().map(|regime| Regime {
            period: micro(regime.period),
            quota: micro(regime.quota),
            most: micro(regime.most),
            ..regime
        });
        Some(Quota {
            group,
            moved_among,
            processes,
            threads,
            regimes: regimes.collect(),
            stalls,
        })
    }
}

/// Finds the quotas that `threads` are held to within `window`. Where they are `told`, those of their control
/// groups and of the groups above them; otherwise what seems to be one of their groups or one above, or of
/// their processes where groups are not known.
pub(crate) fn quotas(
    lines: &Timelines,
    threads: &[ThreadId],
    control_groups: &BTreeMap<ProcessId, Vec<String>>,
    told: Option<&GroupQuotas>,
    timers: Option<&Firings>,
    window: TimeRange,
) -> Vec<Quota> {
    let groups = Groups::of(lines, window, control_groups, told.is_some());
    let stalled = groups.of_threads(threads);
    match (told, timers) {
        (Some(told), timers) => {
            let timers = timers.map(Timer::of_any).unwrap_or_default();
            counted(&groups, &stalled, told, &timers)
        }
        (None, Some(timers)) => by_timers(&groups, &stalled, &Timer::all(timers)),
        (None, None) => estimated(&groups, &stalled),
    }
}

/// Quotas whose timers are known: groups that go on by the same one have it from a group above them.
fn by_timers(
    groups: &Groups<'_>,
    stalled: &BTreeSet<Held<'_>>,
    timers: &[Timer<'_>],
) -> Vec<Quota> {
    let trees: BTreeSet<&str> = stalled.iter().filter_map(|held| held.tree()).collect();
    let is_near = |held: &Held<'_>| {
        stalled.contains(held) || held.tree().is_some_and(|tree| trees.contains(tree))
    };
    let near: Vec<(Held<'_>, &[ThreadId])> = (groups.threads.iter())
        .filter(|(held, _)| is_near(held))
        .map(|(held, threads)| (*held, &threads[..]))
        .collect();
    let sets: Vec<&[ThreadId]> = near.iter().map(|(_, threads)| *threads).collect();
    let mut by_timer: BTreeMap<(usize, Option<&str>), Vec<Held<'_>>> = BTreeMap::new();
    for ((held, _), silences) in near.iter().zip(silences(groups.lines, &sets)) {
        for timer in timers_of(&silences, timers) {
            by_timer
                .entry((timer, held.tree()))
                .or_default()
                .push(*held);
        }
    }
    // One after the other, where the timer was given another period.
    let mut found: BTreeMap<_, (Vec<Regime>, Vec<TimeRange>)> = BTreeMap::new();
    for ((place, _), held) in by_timer {
        let timer = &timers[place];
        let of_group = groups.together(&held);
        let (regimes, stalls) =
            quota_timer::regimes(groups.lines, groups.window, &of_group.1, timer);
        let (all_regimes, all_stalls) = found.entry((timer.id, of_group)).or_default();
        all_regimes.extend(regimes);
        all_stalls.extend(stalls);
    }
    let quota = |((_, of_group), (regimes, stalls))| {
        groups.quota(of_group, (regimes, Stalls::OfAll(TimeRange::union(stalls))))
    };
    found.into_iter().filter_map(quota).collect()
}

/// Quotas whose timers are not known. Groups that go on in step have one from a group above them.
fn estimated(groups: &Groups<'_>, stalled: &BTreeSet<Held<'_>>) -> Vec<Quota> {
    let estimate = |held: &[Held<'_>]| {
        let (name, threads) = groups.together(held);
        let (regimes, stalls) = estimated_regimes(groups.lines, groups.window, &threads);
        let stalls = Stalls::OfAll(TimeRange::union(stalls));
        groups.quota((name, threads), (regimes, stalls))
    };
    let mut found: Vec<(Vec<Held<'_>>, Quota)> = Vec::new();
    for &held in stalled {
        let Some(quota) = estimate(&[held]) else {
            continue;
        };
        let together = found.iter().position(|(of, other)| {
            held.tree().is_some() && of[0].tree() == held.tree() && are_in_step(&quota, other)
        });
        let Some(place) = together else {
            found.push((vec![held], quota));
            continue;
        };
        let mut all = found[place].0.clone();
        all.push(held);
        match estimate(&all) {
            Some(quota) => found[place] = (all, quota),
            None => found.push((vec![held], quota)),
        }
    }
    found.into_iter().map(|(_, quota)| quota).collect()
}

/// Whether the threads of one go on when those of the other do.
fn are_in_step(one: &Quota, other: &Quota) -> bool {
    let period = |quota: &Quota| {
        quota
            .regimes
            .first()
            .map_or(0, |regime| regime.period.get())
    };
    let (period, other_period) = (period(one) as i64, period(other) as i64);
    let ends = |quota: &Quota| match &quota.stalls {
        Stalls::OfAll(stalls) => stalls.clone(),
        Stalls::OfEach(_) => Vec::new(),
    };
    let (stalls, others) = (ends(one), ends(other));
    let goes_on = |stall: &&TimeRange| {
        let next = others.partition_point(|other| other.end < stall.end);
        let near = &others[next.saturating_sub(1)..others.len().min(next + 1)];
        let apart = |other: &TimeRange| (other.end.ns() - stall.end.ns()).abs();
        near.iter().any(|other| apart(other) * 20 < period)
    };
    (period - other_period).abs() * 50 < period
        && stalls.iter().filter(goes_on).count() * 2 > stalls.len()
}

#[cfg(test)]
mod tests {
    use slowpath_drawn::DrawnTrace;
    use slowpath_kernel::timers::TimerId;
    use slowpath_model::Timestamp;

    use super::*;

    const MS: i64 = 1_000_000;

    /// Two threads, processes of their own, on a processor each. In every one of 60 periods of 100 ms they
    /// run for 0.6 ms and 0.4 ms, then stand still, ready. `first` tells of the first one that it runs.
    fn held_together(first: impl Fn(i64) -> String) -> DrawnTrace {
        let periods = (0..60).map(|n| n * 100 * MS);
        let drawing: String = periods
            .flat_map(|at| {
                [
                    first(at) + &switch(0, at + 6 * MS / 10, 97, 0),
                    switch(1, at + 10, 0, 98) + &switch(1, at + 10 + 4 * MS / 10, 98, 0),
                ]
            })
            .collect();
        DrawnTrace::parse(&drawing).expect("the drawing can be read")
    }

    fn switch(cpu: i32, at: i64, from: i32, to: i32) -> String {
        format!(
            "cpu{cpu} {at} sched_switch prev_comm=t prev_tid={from} prev_state=0 next_comm=t next_tid={to} \
             @tid={from}\n"
        )
    }

    #[test]
    fn of_a_quota_that_reaches_over_both_ends_of_a_window_what_lies_within_is_told() {
        let lines = Timelines::build(
            &held_together(|at| switch(0, at, 0, 97)),
            &Default::default(),
        );
        let lines = lines.unwrap().state.unwrap();
        let groups = [97, 98].map(|process| (ProcessId(process), vec!["/shop".to_owned()]));
        let groups = BTreeMap::from(groups);
        let at = |ms: i64| Timestamp::from_ns(ms * MS);
        let each = Firings::from([(TimerId(1), (0..60).map(|n| at(n * 100)).collect())]);
        let check = |timers: Option<&Firings>, [begin, end]: [i64; 2], periods, stood_still| {
            let window = TimeRange::new(at(begin), at(end));
            let threads = [97, 98].map(ThreadId);
            let found = quotas(&lines, &threads, &groups, None, timers, window);
            let [
                Regime {
                    range,
                    periods: found_periods,
                    stood_still: found_time,
                    quota,
                    ..
                },
            ] = &found[0].regimes[..]
            else {
                panic!("one regime in {found:?}");
            };
            assert_eq!((*range, *found_periods), (window, periods));
            assert_eq!(found_time.get() / 100_000, stood_still, "{found_time}");
            // How much it is, all of it tells.
            assert_eq!(quota.get() / 10_000, 100);
        };
        // In tenths of a millisecond; without the timer, of each thread.
        check(Some(&each), [1000, 2000], 10, 9940);
        check(None, [1000, 2000], 10, 19_900);
        // Within a period.
        check(Some(&each), [1020, 1040], 1, 200);
        check(None, [1020, 1040], 1, 400);
        let beside = TimeRange::new(at(7000), at(8000));
        for timers in [Some(&each), None] {
            let found = quotas(&lines, &[ThreadId(97)], &groups, None, timers, beside);
            assert_eq!(found, []);
        }
    }

    #[test]
    fn a_quota_has_two_bounds_where_switches_are_missing() {
        // The first event of each run comes 0.06 ms after its begin.
        let unseen = |at: i64| {
            let at = at + 6 * MS / 100;
            format!(
                "cpu0 {at} irq_handler_entry irq=1 name=x @tid=97\n\
                 cpu0 {} irq_handler_exit irq=1 ret=1 @tid=97\n",
                at + 1
            )
        };
        let lines = Timelines::build(&held_together(unseen), &Default::default()).unwrap();
        let lines = lines.state.unwrap();
        let groups = [97, 98].map(|process| (ProcessId(process), vec!["/shop".to_owned()]));
        let threads = [97, 98].map(ThreadId);
        let found = quotas(
            &lines,
            &threads,
            &BTreeMap::from(groups),
            None,
            None,
            TimeRange::ALL,
        );
        let regime = &found[0].regimes[0];
        let ms = |time: Nanoseconds| (time.get() as f64 / 1e4).round() / 1e2;
        assert_eq!((ms(regime.quota), ms(regime.most)), (0.94, 1.0));
        assert!(
            regime.amount().starts_with("between 9"),
            "{}",
            regime.amount()
        );
    }

    #[test]
    fn a_quota_is_that_of_all_processes_in_the_group() {
        let seen = |at| switch(0, at, 0, 97);
        let lines = Timelines::build(&held_together(seen), &Default::default()).unwrap();
        let lines = lines.state.unwrap();
        let check = |groups: &BTreeMap<ProcessId, Vec<String>>, expected: &[(&[i32], f64)]| {
            let found = quotas(
                &lines,
                &[ThreadId(97), ThreadId(98)],
                groups,
                None,
                None,
                TimeRange::ALL,
            );
            assert_eq!(found.len(), expected.len(), "{found:?}");
            for (found, (processes, amount)) in found.iter().zip(expected) {
                let of: Vec<i32> = found.processes.iter().map(|process| process.0).collect();
                assert_eq!(of, *processes);
                let [regime] = &found.regimes[..] else {
                    panic!("one regime in {found:?}");
                };
                let near =
                    |found: Nanoseconds, ms: f64| (found.get() as f64 / 1e6 - ms).abs() < 0.01 * ms;
                assert!(
                    near(regime.quota, *amount) && near(regime.period, 100.0),
                    "{regime:?}"
                );
            }
        };
        let shop = |process| (ProcessId(process), vec!["/shop".to_owned()]);
        check(&BTreeMap::from([shop(97), shop(98)]), &[(&[97, 98], 1.0)]);
        check(&BTreeMap::new(), &[(&[97], 0.6), (&[98], 0.4)]);
        // Groups that go on in step are held by one above them.
        let below = |process, name: &str| (ProcessId(process), vec![format!("/pods/{name}")]);
        let groups = BTreeMap::from([below(97, "web"), below(98, "log")]);
        check(&groups, &[(&[97, 98], 1.0)]);
        let found = quotas(
            &lines,
            &[ThreadId(97), ThreadId(98)],
            &groups,
            None,
            None,
            TimeRange::ALL,
        );
        assert_eq!(found[0].group.as_deref(), Some("/pods"));
        let groups = BTreeMap::from([below(97, "web"), shop(98)]);
        check(&groups, &[(&[97], 0.6), (&[98], 0.4)]);
    }

    #[test]
    fn without_its_timer_there_is_no_quota() {
        let lines = Timelines::build(
            &held_together(|at| switch(0, at, 0, 97)),
            &Default::default(),
        );
        let lines = lines.unwrap().state.unwrap();
        let found = |timers: &Firings| {
            quotas(
                &lines,
                &[ThreadId(97)],
                &BTreeMap::new(),
                None,
                Some(timers),
                TimeRange::ALL,
            )
            .len()
        };
        assert_eq!(found(&Firings::new()), 0);
        let at = |n: i64| Timestamp::from_ns(n * 100 * MS);
        let rarely = (0..60).step_by(10).map(at).collect();
        assert_eq!(found(&Firings::from([(TimerId(1), rarely)])), 0);
        let each: Vec<Timestamp> = (0..60).map(at).collect();
        assert_eq!(found(&Firings::from([(TimerId(1), each.clone())])), 1);
        // That of another group, which fires as often, but at other times.
        let late = |at: &Timestamp| Timestamp::from_ns(at.ns() + 48 * MS);
        let others = each.iter().map(late).collect();
        assert_eq!(found(&Firings::from([(TimerId(1), others)])), 0);
    }

    #[test]
    fn the_root_group_has_no_quota() {
        let lines = Timelines::build(
            &held_together(|at| switch(0, at, 0, 97)),
            &Default::default(),
        );
        let lines = lines.unwrap().state.unwrap();
        let found = |group: &str| {
            let groups = BTreeMap::from([(ProcessId(97), vec![group.to_owned()])]);
            quotas(&lines, &[ThreadId(97)], &groups, None, None, TimeRange::ALL).len()
        };
        assert_eq!(found("/shop"), 1);
        assert_eq!(found(ROOT), 0);
    }

    #[test]
    fn who_waits_for_one_busy_processor_is_held_by_who_runs_there() {
        // In every 50 ms, 98 has processor 0 for 35 ms, 97 and 99 the rest; processor 1 idles, or 99 is
        // there and stands still meanwhile.
        let found = |second: i32| {
            let drawing: String = (0..60_i64)
                .flat_map(|n| {
                    let at = n * 50 * MS;
                    let most = [
                        switch(0, at, 98, 97),
                        switch(0, at + 9 * MS, 97, 96),
                        switch(0, at + 15 * MS, 96, 98),
                    ];
                    let there = [
                        switch(1, at + 100, 0, second),
                        switch(1, at + 9 * MS, second, 0),
                    ];
                    most.into_iter()
                        .chain(there.into_iter().filter(move |_| second != 0))
                })
                .collect();
            let trace = DrawnTrace::parse(&drawing).expect("the drawing can be read");
            let lines = Timelines::build(&trace, &Default::default()).unwrap();
            let group = |process| (ProcessId(process), vec!["/shop".to_owned()]);
            let groups = BTreeMap::from([group(97), group(99)]);
            let lines = lines.state.unwrap();
            quotas(&lines, &[ThreadId(97)], &groups, None, None, TimeRange::ALL).len()
        };
        assert_eq!(found(0), 0);
        assert_eq!(found(99), 1);
    }
}
