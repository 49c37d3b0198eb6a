//! Threads that a control group's CPU quota stops (`cpu.max` of the kernel's bandwidth control).
//!
//! The signature: threads are ready, their processor idles or all of their process stands still, and
//! they go on together at the begin of a period, for as long as the quota lasts. Period and quota are
//! estimated from that; where the kernel's own timer of periods is in the trace, it gives the periods.
//! Nothing is concluded from a few occasions, nor where no period shows.

use std::collections::BTreeMap;

use slowpath_critical_path::State;
use slowpath_kernel::timelines::Timelines;
use slowpath_kernel::timers::Firings;
use slowpath_model::{Nanoseconds, ProcessId, ThreadId, TimeRange, Timestamp};

use crate::path::{Wait, wants_cpu};
use crate::period::{in_step, period_of_a_part};
use crate::stalls::{LATE, SILENCE, Stall, are_of_one_busy_processor, stalls};

/// A time with fewer periods in a row is no evidence.
pub(crate) const LEAST_PERIODS: usize = 3;

/// The quota that a control group is held to, or a process whose group is not known.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Quota {
    pub(crate) group: Option<String>,
    /// Those that ran under it, in the order of their ids; never empty.
    pub(crate) processes: Vec<ProcessId>,
    /// In the order of their ids.
    pub(crate) threads: Vec<ThreadId>,
    /// When, in the order of time; never empty.
    pub(crate) regimes: Vec<Regime>,
    /// When ready threads of it stood still, in the order of time, apart.
    stalls: Vec<TimeRange>,
}

/// A time in which the quota had one value.
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
}

impl Regime {
    /// How much it is, in words: the two bounds where they are well apart.
    pub(crate) fn amount(&self) -> String {
        match self.most.get() * 20 > self.quota.get() * 21 {
            true => format!("between {} and {}", self.quota, self.most),
            false => self.quota.to_string(),
        }
    }

    /// The middle of the bounds.
    pub(crate) fn about(&self) -> Nanoseconds {
        Nanoseconds(self.quota.get().midpoint(self.most.get()))
    }
}

impl Quota {
    /// Whether a thread that was ready, but not running, was held back by the quota: waits that are
    /// short compared with the period are those of every thread.
    pub(crate) fn holds(&self, thread: ThreadId, wait: TimeRange) -> bool {
        self.threads.binary_search(&thread).is_ok()
            && self.regimes.iter().any(|regime| {
                // The first stall ends where the first whole period begins, the last one is cut
                // short where the quota is waived.
                let mut within = regime.range;
                if wait.length() >= SILENCE {
                    let period = regime.period.get() as i64;
                    let (begin, end) = (within.begin.ns(), within.end.ns());
                    within = TimeRange::new(
                        Timestamp::from_ns(begin.saturating_sub(period)),
                        Timestamp::from_ns(end.saturating_add(period)),
                    );
                }
                !within.intersect(wait).is_empty()
                    && wait.length().get() * 50 >= regime.period.get()
            })
    }

    /// How long other threads of its stood still while `thread`, which is one of them, did not run.
    fn stood_still(&self, thread: ThreadId, range: TimeRange) -> Nanoseconds {
        if self.threads.binary_search(&thread).is_err() {
            return Nanoseconds::ZERO;
        }
        self.stalls_during(range).map(TimeRange::length).sum()
    }

    fn stalls_during(&self, range: TimeRange) -> impl Iterator<Item = TimeRange> {
        let first = self
            .stalls
            .partition_point(|stall| stall.end <= range.begin);
        let during = self.stalls[first..].iter();
        let during = during.take_while(move |stall| stall.begin < range.end);
        during.map(move |stall| stall.intersect(range))
    }

    /// The parts of `range` in which no ready thread of its stood still.
    pub(crate) fn between_stalls(&self, range: TimeRange) -> Vec<TimeRange> {
        let mut parts = Vec::new();
        let mut begin = range.begin;
        for stall in self.stalls_during(range) {
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
            .map(|piece| match wants_cpu(piece.state) {
                true if quota.holds(piece.thread, piece.range) => piece.range.length(),
                false if piece.state != State::Running => {
                    quota.stood_still(piece.thread, piece.range)
                }
                _ => Nanoseconds::ZERO,
            })
            .sum();
        held.get() * 2 > wait.range.length().get()
    })
}

/// The control group that all others are below; none of its own threads is ever held to a quota.
const ROOT: &str = "/";

/// Finds quotas on the control groups of `threads`, or on their processes where groups are not known.
pub(crate) fn quotas(
    lines: &Timelines,
    threads: &[ThreadId],
    control_groups: &BTreeMap<ProcessId, String>,
    timers: Option<&Firings>,
) -> Vec<Quota> {
    #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
    enum Held<'run> {
        Group(&'run str),
        Process(ProcessId),
    }
    let process = |thread: ThreadId| {
        let process = lines.process(thread, lines.range().end);
        process.unwrap_or(ProcessId(thread.0))
    };
    let held = |process: ProcessId| match control_groups.get(&process) {
        Some(group) => Held::Group(group),
        None => Held::Process(process),
    };
    let mut all: BTreeMap<Held<'_>, Vec<ThreadId>> = BTreeMap::new();
    for &thread in threads {
        all.entry(held(process(thread))).or_default();
    }
    all.remove(&Held::Group(ROOT));
    for &thread in lines.threads() {
        if let Some(threads) = all.get_mut(&held(process(thread))) {
            threads.push(thread);
        }
    }
    let quota = |(held, threads): (Held<'_>, Vec<ThreadId>)| {
        let mut stalls = stalls(lines, &threads);
        let regimes = regimes(lines, &threads, &stalls, timers);
        let is_held = |stall: &Stall| {
            let mut regimes = regimes.iter();
            regimes.any(|regime| !regime.range.intersect(stall.range).is_empty())
        };
        stalls.retain(is_held);
        let stalls = stalls.into_iter().map(|stall| stall.range).collect();
        let all = regimes.iter().map(|regime| regime.range);
        let all = all.reduce(TimeRange::hull)?;
        let ran = |thread: &&ThreadId| {
            let mut runs = lines.runs_of(**thread);
            runs.any(|(run, _)| !run.intersect(all).is_empty())
        };
        let mut processes: Vec<ProcessId> =
            threads.iter().filter(ran).map(|&t| process(t)).collect();
        processes.sort_unstable();
        processes.dedup();
        Some(Quota {
            group: match held {
                Held::Group(group) => Some(group.to_owned()),
                Held::Process(_) => None,
            },
            processes,
            threads,
            regimes,
            stalls: TimeRange::union(stalls),
        })
    };
    all.into_iter().filter_map(quota).collect()
}

fn regimes(
    lines: &Timelines,
    threads: &[ThreadId],
    stalls: &[Stall],
    timers: Option<&Firings>,
) -> Vec<Regime> {
    let mut ends: Vec<i64> = stalls.iter().map(|stall| stall.range.end.ns()).collect();
    ends.sort_unstable();
    let Some(period) = period_of_a_part(&ends) else {
        return Vec::new();
    };
    let ends = in_step(&ends, period);
    let mut regimes = Vec::new();
    for row in rows_of_periods(&ends, period) {
        let told = match timers {
            // Without its timer there is no quota: others in step take the processor, for instance.
            Some(timers) => told_by_timer(&row, period, timers),
            None => {
                let (begin, end) = (row.first(), row.last());
                let is_of_row = |stall: &&Stall| {
                    let at = stall.range.end.ns();
                    begin.is_some_and(|begin| *begin <= at) && end.is_some_and(|end| at <= *end)
                };
                let is_taken = are_of_one_busy_processor(stalls.iter().filter(is_of_row));
                (!is_taken).then_some((row, period))
            }
        };
        let Some((begins, period)) = told else {
            continue;
        };
        let mut used = vec![0_u64; begins.len() - 1];
        let mut perhaps = vec![0_u64; begins.len() - 1];
        let mut stopped = vec![0_u64; begins.len() - 1];
        for &thread in threads {
            for (run, _) in lines.runs_of(thread) {
                spread(run, &begins, &mut used);
            }
            for ready in lines.perhaps_ran(thread) {
                let end = ready.end.ns();
                let in_period = begins[..begins.partition_point(|at| *at <= end)].last();
                let earliest = end.saturating_sub(LATE.get() as i64);
                let begin = ready
                    .begin
                    .ns()
                    .max(earliest)
                    .max(*in_period.unwrap_or(&end));
                let range = TimeRange::new(Timestamp::from_ns(begin), ready.end);
                spread(range, &begins, &mut perhaps);
            }
        }
        for (perhaps, used) in perhaps.iter_mut().zip(&used) {
            *perhaps += used;
        }
        for &stall in stalls {
            spread(stall.range, &begins, &mut stopped);
        }
        let periods: Vec<f64> = (begins.windows(2))
            .map(|pair| ((pair[1] - pair[0]) as f64 / period).round())
            .collect();
        let rates: Vec<f64> = (used.iter().zip(&periods))
            .map(|(used, periods)| *used as f64 / periods)
            .collect();
        // Periods in which nobody goes on are those in which all pay for what one has overdrawn.
        let is_held = |(first, last): &(usize, usize)| {
            let steps = *first..*last;
            let missing = periods[steps.clone()].iter().sum::<f64>() - steps.len() as f64;
            stopped[steps].iter().sum::<u64>() as f64 * 2.0 >= missing * period
        };
        let parts = held_parts(&rates, &periods).into_iter().filter(is_held);
        for (first, last) in parts.flat_map(|part| levels_of_steps(&rates, &periods, part)) {
            let quota = slope(&periods[first..last], &used[first..last]);
            let most = slope(&periods[first..last], &perhaps[first..last]);
            let periods: f64 = periods[first..last].iter().sum();
            regimes.push(Regime {
                period: Nanoseconds(period.round() as u64),
                quota: Nanoseconds(quota as u64),
                most: Nanoseconds(most.max(quota) as u64),
                range: TimeRange::new(
                    Timestamp::from_ns(begins[first]),
                    Timestamp::from_ns(begins[last]),
                ),
                periods: periods as usize,
                stood_still: Nanoseconds(stopped[first..last].iter().sum()),
            });
        }
    }
    joined(regimes)
}

/// The begins and the length of a row's periods by the kernel's timer of this quota: the one that fires
/// before most threads go on.
fn told_by_timer(row: &[i64], period: f64, timers: &Firings) -> Option<(Vec<i64>, f64)> {
    /// Threads go on at once, or when a processor is free.
    const AT_ONCE: f64 = 0.1;
    let (first, last) = (*row.first()?, *row.last()?);
    let around = (period / 2.0) as i64;
    let told = timers.values().filter_map(|firings| {
        let firings = firings.iter().map(|at| at.ns());
        let begins: Vec<i64> = firings
            .filter(|at| (first.saturating_sub(around)..=last).contains(at))
            .collect();
        let goes_on = |end: &&i64| {
            let before = begins[..begins.partition_point(|begin| begin <= end)].last();
            before.is_some_and(|begin| ((**end - begin) as f64) < AT_ONCE * period)
        };
        let count = row.iter().filter(goes_on).count();
        (begins.len() > LEAST_PERIODS && count * 2 > row.len()).then_some((count, begins))
    });
    let (_, begins) = told.max_by_key(|(count, _)| *count)?;
    let apart = (begins.last()? - begins.first()?) as f64;
    // The timer is late at times, but never early, and does not fire while nobody wants to run.
    let times: f64 = (begins.windows(2))
        .map(|pair| ((pair[1] - pair[0]) as f64 / period).round())
        .sum();
    Some((begins, apart / times))
}

/// What is used in a period: of all that was used until each step, the median of the slopes between
/// steps far apart (Theil and Sen). No mean, as who overdraws pays for it later, perhaps after the
/// last step, and no line through all, as many may overdraw just before the quota is waived.
fn slope(periods: &[f64], used: &[u64]) -> f64 {
    /// Of more steps than this, evenly chosen ones will do.
    const MOST_STEPS: usize = 400;
    let (mut at, mut sum) = (0.0, 0.0);
    let mut points = vec![(at, sum)];
    for (periods, used) in periods.iter().zip(used) {
        at += periods;
        sum += *used as f64;
        points.push((at, sum));
    }
    let step = points.len().div_ceil(MOST_STEPS);
    let points: Vec<(f64, f64)> = points.into_iter().step_by(step).collect();
    let far = (points.len() / 3).max(1);
    let pairs = (points.iter().enumerate()).flat_map(|(place, from)| {
        points[place + 1..]
            .iter()
            .skip(far - 1)
            .map(move |to| (from, to))
    });
    let mut slopes: Vec<f64> = pairs
        .map(|(from, to)| (to.1 - from.1) / (to.0 - from.0))
        .collect();
    slopes.sort_unstable_by(f64::total_cmp);
    slopes.get(slopes.len() / 2).copied().unwrap_or(0.0)
}

/// Regimes that follow each other with about the same quota are one.
fn joined(regimes: Vec<Regime>) -> Vec<Regime> {
    let mut joined: Vec<Regime> = Vec::new();
    for regime in regimes {
        let (quota, period) = (regime.quota.get() as f64, regime.period.get());
        match joined.last_mut() {
            Some(last)
                if (last.quota.get() as f64 / quota - 1.0).abs() < 0.15
                    && regime.range.begin.since(last.range.end).get() < 4 * period =>
            {
                let periods = last.periods + regime.periods;
                let mean = |one: Nanoseconds, other: Nanoseconds| {
                    let of_one = one.get() as f64 * last.periods as f64;
                    let of_other = other.get() as f64 * regime.periods as f64;
                    Nanoseconds(((of_one + of_other) / periods as f64) as u64)
                };
                let means = (mean(last.quota, regime.quota), mean(last.most, regime.most));
                (last.quota, last.most) = means;
                last.periods = periods;
                last.stood_still += regime.stood_still;
                last.range.end = regime.range.end;
            }
            _ => joined.push(regime),
        }
    }
    joined
}

/// Begins of periods that follow each other: the first thread to go on in each. A period in which no
/// thread went on is part of the one before (one who overdrew pays for several); many end the row.
fn rows_of_periods(ends: &[i64], period: f64) -> Vec<Vec<i64>> {
    let mut rows: Vec<Vec<i64>> = Vec::new();
    for &end in ends {
        let Some(row) = rows.last_mut() else {
            rows.push(vec![end]);
            continue;
        };
        let since = row.last().map_or(0.0, |begin| (end - begin) as f64) / period;
        if since < 0.6 {
            continue;
        }
        let times = since.round();
        match times <= 10.0 && (since - times).abs() < 0.3 {
            true => row.push(end),
            false => rows.push(vec![end]),
        }
    }
    rows.retain(|row| row.len() > LEAST_PERIODS);
    rows
}

/// Adds the time of `range` to the periods in which it lies.
fn spread(range: TimeRange, begins: &[i64], sums: &mut [u64]) {
    let (begin, end) = (range.begin.ns(), range.end.ns());
    let first = begins.partition_point(|at| *at <= begin).saturating_sub(1);
    for (pair, sum) in begins.windows(2).zip(sums).skip(first) {
        if pair[0] >= end {
            break;
        }
        *sum += (end.min(pair[1]) - begin.max(pair[0])).max(0) as u64;
    }
}

/// Parts of a row in which its threads were held back, as first and last step. Before and after it,
/// and in long steps, ends that fit by chance give themselves away: the threads use many times more.
fn held_parts(rates: &[f64], periods: &[f64]) -> Vec<(usize, usize)> {
    let mut sorted = rates.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    let Some(&median) = sorted.get(sorted.len() / 2) else {
        return Vec::new();
    };
    let is_free = |step: usize| rates[step] > 4.0 * median;
    let ends_row = |step: usize| periods[step] > 3.0 && rates[step] > 2.0 * median;
    let mut parts = Vec::new();
    let mut first = 0;
    for step in 0..=rates.len() {
        if step < rates.len() && !ends_row(step) {
            continue;
        }
        let mut last = step;
        while first < last && is_free(first) {
            first += 1;
        }
        while first < last && is_free(last - 1) {
            last -= 1;
        }
        if last - first >= LEAST_PERIODS {
            parts.push((first, last));
        }
        first = step + 1;
    }
    parts
}

/// Parts of the steps from first to last on one level each; a step counts as often as it has periods.
fn levels_of_steps(
    rates: &[f64],
    periods: &[f64],
    (first, last): (usize, usize),
) -> Vec<(usize, usize)> {
    let steps: Vec<usize> = (first..last)
        .flat_map(|step| std::iter::repeat_n(step, periods[step] as usize))
        .collect();
    let used: Vec<f64> = steps.iter().map(|step| rates[*step]).collect();
    let step_at = |period: usize| steps.get(period).copied().unwrap_or(last);
    let levels = levels(&used, 0).into_iter();
    levels
        .map(|(from, until)| (step_at(from), step_at(until)))
        .collect()
}

/// Parts of `used` on one level each: a quota that was changed shows as two.
fn levels(used: &[f64], offset: usize) -> Vec<(usize, usize)> {
    /// A level of fewer periods is not told from chance.
    const LEAST: usize = 8;
    let mean = |part: &[f64]| part.iter().sum::<f64>() / part.len().max(1) as f64;
    let spread = |part: &[f64]| {
        let middle = mean(part);
        part.iter()
            .map(|value| (value - middle) * (value - middle))
            .sum::<f64>()
    };
    let gain = |at: usize| {
        let (left, right) = used.split_at(at);
        spread(left) + spread(right)
    };
    let places = LEAST..used.len().saturating_sub(LEAST - 1);
    let split = places.min_by(|one, other| gain(*one).total_cmp(&gain(*other)));
    if let Some(at) = split {
        let (left, right) = used.split_at(at);
        let apart = (mean(left) - mean(right)).abs();
        let noise = gain(at) / used.len() as f64;
        let error = noise * (1.0 / left.len() as f64 + 1.0 / right.len() as f64);
        // A quarter apart, and four times farther than chance would have it.
        if apart > 0.25 * mean(left).max(mean(right)) && apart * apart > 16.0 * error {
            let mut parts = levels(left, offset);
            parts.extend(levels(right, offset + at));
            return parts;
        }
    }
    vec![(offset, offset + used.len())]
}

#[cfg(test)]
mod tests {
    use slowpath_drawn::DrawnTrace;
    use slowpath_kernel::timers::TimerId;

    use super::*;

    const MS: i64 = 1_000_000;

    #[test]
    fn the_quota_is_what_is_used_in_the_long_run() {
        // 1 in each period, overdrawn by 3 and paid for in the next three; also in the last step.
        let used: Vec<u64> = (0..40).flat_map(|_| [4, 0, 0, 0]).chain([4]).collect();
        let quota = slope(&vec![1.0; used.len()], &used);
        assert!((quota - 1.0).abs() < 0.02, "{quota}");
    }

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
        let groups = [97, 98].map(|process| (ProcessId(process), "/shop".to_owned()));
        let threads = [97, 98].map(ThreadId);
        let found = quotas(&lines, &threads, &BTreeMap::from(groups), None);
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
        let check = |groups: &BTreeMap<ProcessId, String>, expected: &[(&[i32], f64)]| {
            let found = quotas(&lines, &[ThreadId(97), ThreadId(98)], groups, None);
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
        let shop = |process| (ProcessId(process), "/shop".to_owned());
        check(&BTreeMap::from([shop(97), shop(98)]), &[(&[97, 98], 1.0)]);
        check(&BTreeMap::new(), &[(&[97], 0.6), (&[98], 0.4)]);
    }

    #[test]
    fn without_its_timer_there_is_no_quota() {
        let lines = Timelines::build(
            &held_together(|at| switch(0, at, 0, 97)),
            &Default::default(),
        );
        let lines = lines.unwrap().state.unwrap();
        let found = |timers: &Firings| {
            quotas(&lines, &[ThreadId(97)], &BTreeMap::new(), Some(timers)).len()
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
            let groups = BTreeMap::from([(ProcessId(97), group.to_owned())]);
            quotas(&lines, &[ThreadId(97)], &groups, None).len()
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
            let group = |process| (ProcessId(process), "/shop".to_owned());
            let groups = BTreeMap::from([group(97), group(99)]);
            let lines = lines.state.unwrap();
            quotas(&lines, &[ThreadId(97)], &groups, None).len()
        };
        assert_eq!(found(0), 0);
        assert_eq!(found(99), 1);
    }

    #[test]
    fn what_is_overdrawn_at_the_end_is_no_part_of_the_quota() {
        let used: Vec<u64> = [100; 40].into_iter().chain([400, 900, 2_500]).collect();
        let quota = slope(&vec![1.0; used.len()], &used);
        assert!((quota - 100.0).abs() < 2.0, "{quota}");
    }

    #[test]
    fn the_timer_of_the_quota_tells_its_periods() {
        let at = |times: &[i64]| times.iter().map(|t| Timestamp::from_ns(t * MS)).collect();
        let timers = Firings::from([
            (TimerId(1), at(&[0, 50, 150, 250, 350, 450, 550])),
            (TimerId(2), at(&[1, 101, 201, 301, 501, 601, 701])),
        ]);
        // Threads go on up to 6 ms late, after 301 not at all, and once at another time.
        let row = [103, 202, 307, 340, 502, 601].map(|end| end * MS);
        let (begins, period) = told_by_timer(&row, 99.6e6, &timers).unwrap();
        assert_eq!(begins, [101, 201, 301, 501, 601].map(|begin| begin * MS));
        assert_eq!(period, 100e6);
        assert_eq!(told_by_timer(&row, 99.6e6, &Firings::new()), None);
        let others = Firings::from([(TimerId(1), at(&[0, 50, 150, 250, 350, 450, 550]))]);
        assert_eq!(told_by_timer(&row, 99.6e6, &others), None);
    }

    #[test]
    fn what_is_used_freely_is_no_part_of_a_row() {
        let rates = [30.0, 1.0, 0.8, 4.5, 0.9, 1.1, 1.0, 0.2, 40.0, 9.0];
        let steps = [1.0, 1.0, 4.0, 1.0, 1.0, 1.0, 5.0, 1.0, 6.0, 1.0];
        assert_eq!(held_parts(&rates, &steps), [(1, 8)]);
        assert_eq!(held_parts(&[], &[]), []);
    }

    #[test]
    fn a_changed_quota_is_two_levels() {
        let noise = |n: usize| [0.9, 1.3, 0.8, 1.0][n % 4];
        let used: Vec<f64> = (0..40)
            .map(|n| if n < 22 { 6.0 } else { 12.0 } * noise(n))
            .collect();
        assert_eq!(levels(&used, 10), [(10, 32), (32, 50)]);
        assert_eq!(levels(&used[..22], 0), [(0, 22)]);
    }

    #[test]
    fn periods_follow_each_other_or_end() {
        let ends = [0, 3, 100, 104, 190, 203, 410, 508, 1900, 2000].map(|end| end * MS);
        let rows = rows_of_periods(&ends, 100e6);
        let rows: Vec<Vec<i64>> = (rows.iter())
            .map(|row| row.iter().map(|at| at / MS).collect())
            .collect();
        assert_eq!(rows, [[0, 100, 190, 410, 508]]);
        let mut sums = [0; 2];
        let range = TimeRange::new(Timestamp::from_ns(5), Timestamp::from_ns(25));
        spread(range, &[0, 10, 20], &mut sums);
        assert_eq!(sums, [5, 10]);
    }
}
