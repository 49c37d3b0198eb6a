//! At which firings of its timer a group was stopped, and which of its threads, where the kernel told how often.
//!
//! The kernel's account is kept again from the time that the group's threads ran. How much was left when the
//! recording began is not known, nor what a change between two looks made of it, so the account is kept as
//! two bounds, which come together as soon as something is left over. Nothing is concluded where they are apart
//! and it matters.

use std::collections::BTreeMap;
use std::ops::Range;

use slowpath_kernel::quotas::{QuotaLimit, QuotaStep};
use slowpath_kernel::timelines::Timelines;
use slowpath_model::{CpuId, Nanoseconds, ThreadId, TimeRange, Timestamp};

use crate::quota_levels::spread;
use crate::quota_timer::{Timer, bounds_of, free_runs, used, waits};

/// Shorter waits are those of every wake-up.
const SHORT: Nanoseconds = Nanoseconds(200_000);

/// A wait of a thread of the group across a firing of its timer, on a processor on which none of
/// the group's threads ran then.
struct Across {
    thread: ThreadId,
    wait: TimeRange,
    /// Since when none of them ran there, or the wait began.
    since: Timestamp,
}

/// When each of `threads`, which are all of the group, was stopped.
pub(crate) fn stops_of(
    lines: &Timelines,
    threads: &[ThreadId],
    steps: &[QuotaStep],
    timer: &Timer<'_>,
) -> BTreeMap<ThreadId, Vec<TimeRange>> {
    let (Some(first), Some(last)) = (steps.first(), steps.last()) else {
        return BTreeMap::new();
    };
    let firings = timer.within(TimeRange::new(first.range.begin, last.range.end));
    let ran = Ran::of(lines, threads);
    let across = across(lines, threads, &ran, firings);
    let account = Account {
        lines,
        threads,
        steps,
        timer,
    };
    let left = account.left_over(firings, &ran);
    let mut stops: BTreeMap<ThreadId, Vec<TimeRange>> = BTreeMap::new();
    let counted: Vec<StepCount> = (steps.iter())
        .map(|step| StepCount::of(step, firings))
        .collect();
    for place in held_at(&counted, &left, |place| !across[place].is_empty()) {
        for Across {
            thread,
            wait,
            since,
        } in &across[place]
        {
            let at = firings[place];
            // Others may have the processor when the timer fires.
            let end = match wait.end.since(at) <= timer.tick() {
                true => wait.end,
                false => at,
            };
            let stop = TimeRange::new((*since).min(end), end);
            stops.entry(*thread).or_default().push(stop);
        }
    }
    (stops.into_iter())
        .map(|(thread, stops)| (thread, TimeRange::union(stops)))
        .collect()
}

/// Who waited across each of the firings.
fn across(
    lines: &Timelines,
    threads: &[ThreadId],
    ran: &Ran,
    firings: &[Timestamp],
) -> Vec<Vec<Across>> {
    let mut across: Vec<Vec<Across>> = firings.iter().map(|_| Vec::new()).collect();
    for &thread in threads {
        for wait in waits(lines, thread, SHORT) {
            let cpu = ran.next_cpu(thread, wait.end);
            let place = firings.partition_point(|at| *at <= wait.begin);
            let during = firings[place..].iter().take_while(|at| **at <= wait.end);
            for (at, across) in during.zip(&mut across[place..]) {
                let quiet = cpu.map_or(Some(wait.begin), |cpu| ran.quiet_since(cpu, *at));
                if let Some(since) = quiet.map(|since| since.max(wait.begin)) {
                    across.push(Across {
                        thread,
                        wait,
                        since,
                    });
                }
            }
        }
    }
    across
}

/// At how many of the firings in a step the group was stopped.
struct StepCount {
    /// The firings, by their places.
    places: Range<usize>,
    /// At least, and at most; `None` where nobody counted.
    stops: Option<(usize, usize)>,
    /// So little of the quota is next to nothing: who has no more left is stopped at once.
    nothing: i64,
}

impl StepCount {
    /// Of all periods that the kernel counted, those whose end is not recorded may all have been stops. The
    /// timer fires once more after the quota was waived, which ends no period.
    fn of(step: &QuotaStep, firings: &[Timestamp]) -> Self {
        let until = |at: Timestamp| firings.partition_point(|firing| *firing <= at);
        let mut places = until(step.range.begin)..until(step.range.end);
        let count = |count: u64| usize::try_from(count).unwrap_or(usize::MAX);
        let stops = step.counted.map(|counted| {
            let (periods, most) = (count(counted.periods), count(counted.throttled));
            let unseen = periods.saturating_sub(places.len());
            places.end = places.end.min(places.start.saturating_add(periods));
            (most.saturating_sub(unseen), most)
        });
        Self {
            places,
            stops,
            nothing: (step.limit.quota.get() / 20) as i64,
        }
    }
}

/// What was left of the quota at a firing, in nanoseconds of CPU time: at least and at most. Less than nothing
/// where threads had overdrawn it, which the next periods pay for.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Left {
    least: i64,
    most: i64,
}

/// At which of the firings the group was stopped: as many in each step as were counted, those with the least
/// left of the quota. Where it is not known how many or which, also those that have no more left than any of
/// these, or next to nothing.
fn held_at(
    steps: &[StepCount],
    left: &[Left],
    someone_waits: impl Fn(usize) -> bool,
) -> Vec<usize> {
    let (mut held, mut perhaps) = (Vec::new(), Vec::new());
    for step in steps {
        let mut places: Vec<usize> = (step.places.clone())
            .filter(|place| someone_waits(*place))
            .collect();
        places.sort_by_key(|place| (left[*place].most, *place));
        let (least, most) = step.stops.unwrap_or((0, usize::MAX));
        let mut leasts: Vec<(i64, usize)> = (places.iter())
            .map(|place| (left[*place].least, *place))
            .collect();
        leasts.sort_unstable();
        // So many others may have had less.
        let is_sure = |place: &usize| {
            let own = (left[*place].most, *place);
            let with_less = leasts.partition_point(|of_other| *of_other < own);
            let is_own_among = usize::from((left[*place].least, *place) < own);
            with_less - is_own_among < least
        };
        let (sure, mut unsure): (Vec<usize>, Vec<usize>) = places.iter().partition(|p| is_sure(p));
        unsure.truncate(most - sure.len().min(most));
        perhaps.extend(unsure.into_iter().map(|place| (place, step.nothing)));
        held.extend(sure);
    }
    // Where nothing is left and somebody waits, the group is stopped.
    let of_held = held.iter().map(|place| left[*place].least);
    let most_left = of_held.fold(0, i64::max);
    let is_held = |(place, nothing): &(usize, i64)| left[*place].most <= most_left.max(*nothing);
    let perhaps = perhaps.into_iter().filter(is_held);
    held.extend(perhaps.map(|(place, _)| place));
    held.sort_unstable();
    held.dedup();
    held
}

/// The kernel's account of a group, kept again.
struct Account<'run> {
    lines: &'run Timelines,
    threads: &'run [ThreadId],
    steps: &'run [QuotaStep],
    timer: &'run Timer<'run>,
}

impl Account<'_> {
    /// What was left of the quota at each firing.
    fn left_over(&self, firings: &[Timestamp], ran: &Ran) -> Vec<Left> {
        let periods = self.periods(firings);
        let ranges: Vec<TimeRange> = periods.iter().map(|(range, _)| *range).collect();
        let used = used(self.lines, self.threads, self.timer, &ranges);
        let unseen = self.unseen(&ranges);
        let mut left: Option<Left> = None;
        let after = |((range, step), (used, unseen)): (&(TimeRange, &QuotaStep), (u64, u64))| {
            let filled = self.filled(left, *range, step);
            // Who is let run has something left.
            let floor = if ran.begins_in(*range) { 0 } else { i64::MIN };
            let is_first = step.is_set() && range.begin <= step.range.begin;
            let most = match step.is_changed() || is_first {
                // Nothing of that may have been used since.
                true => full(step.largest()),
                false => filled.most.saturating_sub(used as i64),
            };
            let least = filled.least.max(floor);
            *left.insert(Left {
                least: least.saturating_sub_unsigned(used.saturating_add(unseen)),
                most,
            })
        };
        let lengths = used.into_iter().zip(unseen);
        periods.iter().zip(lengths).map(after).collect()
    }

    /// The periods that end with these firings.
    fn periods(&self, firings: &[Timestamp]) -> Vec<(TimeRange, &QuotaStep)> {
        let mut last = None;
        let period = |at: &Timestamp| {
            let step = self.step_at(*at)?;
            let length = step.limit.period.get() as i64;
            let begin = Timestamp::from_ns(at.ns().saturating_sub(length));
            let mut begin = last.replace(*at).unwrap_or(begin);
            if step.is_set() {
                begin = begin.max(step.range.begin).min(*at);
            }
            Some((TimeRange::new(begin, *at), step))
        };
        firings.iter().filter_map(period).collect()
    }

    fn step_at(&self, at: Timestamp) -> Option<&QuotaStep> {
        let place = self.steps.partition_point(|step| step.range.end < at);
        self.steps.get(place).or(self.steps.last())
    }

    /// What there was to use in a period, where so much was left of the one before.
    fn filled(&self, left: Option<Left>, period: TimeRange, step: &QuotaStep) -> Left {
        let (small, large) = (step.limit, step.largest());
        let quota_of = |limit: QuotaLimit| limit.quota.get() as i64;
        let is_set_here = step.is_set()
            && period.begin <= step.range.begin
            && self.lines.range().begin <= step.range.begin;
        if is_set_here {
            return Left {
                least: quota_of(small),
                most: quota_of(large),
            };
        }
        let before = left.unwrap_or(Left {
            least: i64::MIN,
            most: i64::MAX,
        });
        let mut least = (before.least.saturating_add(quota_of(small))).min(full(small));
        if step.is_changed() {
            least = least.min(quota_of(small));
        }
        Left {
            least,
            most: (before.most.saturating_add(quota_of(large))).min(full(large)),
        }
    }

    /// For how long in each of these times it is not known who ran, all processors together.
    fn unseen(&self, ranges: &[TimeRange]) -> Vec<u64> {
        let bounds = bounds_of(ranges);
        let mut sums = vec![0; bounds.len()];
        for cpu in self.lines.processors() {
            for unknown in self.lines.unknown_on(cpu) {
                spread(unknown, &bounds, &mut sums);
            }
        }
        sums.into_iter().step_by(2).collect()
    }
}

/// The most that can be left of a quota.
fn full(limit: QuotaLimit) -> i64 {
    let [quota, burst] = [limit.quota, limit.burst].map(|time| time.get() as i64);
    quota.saturating_add(burst)
}

/// When threads of a group ran, by thread and by processor.
struct Ran {
    /// Begin of each run, and where it was, in the order of time.
    by_thread: BTreeMap<ThreadId, Vec<(Timestamp, CpuId)>>,
    by_cpu: BTreeMap<CpuId, Vec<TimeRange>>,
}

impl Ran {
    fn of(lines: &Timelines, threads: &[ThreadId]) -> Self {
        let mut by_thread: BTreeMap<ThreadId, Vec<(Timestamp, CpuId)>> = BTreeMap::new();
        let mut by_cpu: BTreeMap<CpuId, Vec<TimeRange>> = BTreeMap::new();
        for &thread in threads {
            let runs = lines.runs_of(thread);
            let mut begins: Vec<_> = runs.map(|(run, cpu)| (run.begin, cpu)).collect();
            begins.sort_unstable();
            by_thread.insert(thread, begins);
            for (run, cpu) in free_runs(lines, thread) {
                by_cpu.entry(cpu).or_default().push(run);
            }
        }
        for runs in by_cpu.values_mut() {
            runs.sort_unstable_by_key(|run| run.begin);
        }
        Self { by_thread, by_cpu }
    }

    /// Where the thread runs from `at` on, or whenever it does again.
    fn next_cpu(&self, thread: ThreadId, at: Timestamp) -> Option<CpuId> {
        let begins = self.by_thread.get(&thread)?;
        let next = begins.partition_point(|(begin, _)| *begin < at);
        begins.get(next).or(begins.last()).map(|(_, cpu)| *cpu)
    }

    /// Since when none of the threads has run there; `None` where one runs at `at`.
    fn quiet_since(&self, cpu: CpuId, at: Timestamp) -> Option<Timestamp> {
        let runs = self.by_cpu.get(&cpu).map_or(&[][..], Vec::as_slice);
        let last = runs[..runs.partition_point(|run| run.begin < at)].last();
        let end = last.map_or(Timestamp::MIN, |run| run.end);
        (end <= at).then_some(end)
    }

    /// Whether one of the threads began to run in this time, not only for a moment in the kernel.
    fn begins_in(&self, range: TimeRange) -> bool {
        self.by_cpu.values().any(|runs| {
            let next = runs.partition_point(|run| run.begin < range.begin);
            runs.get(next).is_some_and(|run| run.begin < range.end)
        })
    }
}

#[cfg(test)]
mod tests {
    use slowpath_drawn::DrawnTrace;
    use slowpath_kernel::quotas::QuotaCounts;
    use slowpath_kernel::timers::{Firings, TimerId};

    use super::*;

    const THREAD: ThreadId = ThreadId(97);

    fn at(ms: i64) -> Timestamp {
        Timestamp::from_ns(ms * 1_000_000)
    }

    /// So much in every 100 ms.
    fn limit(ms: u64) -> QuotaLimit {
        QuotaLimit {
            quota: Nanoseconds(ms * 1_000_000),
            period: Nanoseconds(100_000_000),
            burst: Nanoseconds::ZERO,
        }
    }

    /// Periods that ended and how many of them with a stop, where the quota was `before` and `after`.
    fn step(
        [begin, end]: [i64; 2],
        [before, after]: [Option<u64>; 2],
        [periods, throttled]: [u64; 2],
    ) -> QuotaStep {
        let [before, after] = [before, after].map(|ms| ms.map(limit));
        let all = [before, after].into_iter().flatten();
        QuotaStep {
            range: TimeRange::new(at(begin), at(end)),
            limit: all.min_by_key(|limit| limit.quota).expect("a quota"),
            before,
            after,
            counted: Some(QuotaCounts {
                periods,
                throttled,
                stopped: Nanoseconds::ZERO,
            }),
            is_new: before.is_none(),
        }
    }

    /// The numbers of the periods of 100 ms, from 1, at whose end 97 was stopped. Beside 98 on the only
    /// processor it ran at these times.
    fn stopped(runs: &[[i64; 2]], begin: i64, steps: &[QuotaStep]) -> Vec<i64> {
        let switch = |ms: i64, [from, to]: [i32; 2]| {
            format!(
                "cpu0 {} sched_switch prev_comm=t prev_tid={from} prev_state=0 next_comm=t next_tid={to} \
                 @tid={from}\n",
                ms * 1_000_000
            )
        };
        let mut runs = runs.iter().filter(|[from, _]| *from >= begin).peekable();
        let mut drawing = match runs.peek() {
            Some([from, _]) if *from == begin => String::new(),
            _ => switch(begin, [97, 98]),
        };
        for [from, to] in runs {
            drawing += &(switch(*from, [98, 97]) + &switch(*to, [97, 98]));
        }
        let end = steps.last().expect("a step").range.end.ns() / 1_000_000;
        drawing += &switch(end, [98, 97]);
        let trace = DrawnTrace::parse(&drawing).expect("the drawing can be read");
        let lines = Timelines::build(&trace, &Default::default()).unwrap();
        let lines = lines.state.unwrap();
        let first = steps[0].range.begin.ns() / 100_000_000;
        let times = (first..=end / 100).map(|n| at(n * 100));
        let times: Vec<Timestamp> = times
            .filter(|time| steps[0].range.begin < *time && *time > at(begin))
            .collect();
        let firings = Firings::from([(TimerId(1), times.clone())]);
        let timers = Timer::all(&firings);
        let stops = stops_of(&lines, &[THREAD], steps, &timers[0]);
        let of_thread = stops.get(&THREAD).map_or(&[][..], Vec::as_slice);
        let is_stopped = |time: &&Timestamp| {
            let mut stops = of_thread.iter();
            stops.any(|stop| stop.begin < **time && **time <= stop.end)
        };
        let held = times.iter().filter(is_stopped);
        held.map(|time| time.ns() / 100_000_000).collect()
    }

    /// Runs of 50 ms at the begin of periods with these numbers, from 0, and of 20 ms in others until 20.
    fn turns(full: impl Fn(i64) -> bool) -> Vec<[i64; 2]> {
        let length = |n| if full(n) { 50 } else { 20 };
        let run = |n| [n * 100, n * 100 + length(n)];
        (0..20).map(run).collect()
    }

    #[test]
    fn what_was_left_when_the_recording_began_is_not_known() {
        let halves = turns(|n| n % 2 == 0);
        let even: Vec<i64> = (1..20).filter(|n| n % 2 == 1).collect();
        let whole = |throttled| step([-50, 1950], [Some(50); 2], [19, throttled]);
        assert_eq!(stopped(&halves, 0, &[whole(10)]), even);
        // The recording begins when 97 has used up what it has, and no period of all the others may stand
        // for that one.
        assert_eq!(stopped(&halves, 60, &[whole(10)]), even[1..]);
        // All that can have been one was one.
        assert_eq!(stopped(&halves, 60, &[whole(19)]).len(), 19);
    }

    #[test]
    fn where_nobody_counted_who_has_next_to_nothing_left_is_stopped() {
        let uncounted = QuotaStep {
            counted: None,
            ..step([-50, 1950], [Some(50); 2], [0, 0])
        };
        let runs = turns(|n| n % 2 == 0).into_iter();
        let runs: Vec<[i64; 2]> = runs.map(|[begin, end]| [begin, end - 2]).collect();
        let expected: Vec<i64> = (3..20).filter(|n| n % 2 == 1).collect();
        assert_eq!(stopped(&runs, 60, &[uncounted]), expected);
    }

    #[test]
    fn what_was_used_before_the_quota_was_set_does_not_count() {
        // Without one it runs for 90 ms of each period, then for 50 or 20 ms.
        let runs = turns(|n| n % 2 == 0).into_iter();
        let runs = runs.map(|[begin, end]| match begin < 500 {
            true => [begin, begin + 90],
            false => [begin, end],
        });
        let runs: Vec<[i64; 2]> = runs.collect();
        let set = step([495, 1050], [None, Some(50)], [6, 2]);
        let later = step([1050, 1950], [Some(50); 2], [9, 5]);
        let found = stopped(&runs, 1, &[set, later]);
        assert_eq!(found, [7, 9, 11, 13, 15, 17, 19]);
    }

    #[test]
    fn when_a_quota_was_changed_is_not_known() {
        // From 50 ms to 10 ms or back, at some time between the looks: the stops may be those of either.
        let runs = turns(|n| n % 2 == 0);
        for change in [[50, 10], [10, 50]] {
            let changed = step([-50, 1050], change.map(Some), [10, 5]);
            let later = step([1050, 1950], [Some(change[1]); 2], [9, 0]);
            assert_eq!(stopped(&runs, 0, &[changed, later]), [0; 0], "{change:?}");
            let all = step([-50, 1050], change.map(Some), [10, 10]);
            assert_eq!(stopped(&runs, 0, &[all, later]).len(), 10, "{change:?}");
        }
    }
}
