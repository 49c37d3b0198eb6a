//! Quotas that the recorder read from the kernel: their group, quota and period are facts, and so is how
//! often each stopped its group in every second or so. What is found here is whom, and when.
//!
//! A group's timer is known by how often it fired. At which of its firings the group had used its quota up:
//! the kernel's account is kept again from the time that its threads ran, and of the periods of each
//! stretch as many are taken as the kernel counted, those with the least left; of a stretch that is recorded
//! in part, as many as the missing periods leave. Where the timers are not in the trace, `quota_estimate`
//! says when threads stood still.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use slowpath_kernel::quotas::{GroupQuotas, QuotaStep};
use slowpath_kernel::timelines::Timelines;
use slowpath_model::{CpuId, Nanoseconds, ThreadId, TimeRange, Timestamp};

use crate::quota::{Counted, Groups, Held, Quota, Regime, Stalls};
use crate::quota_estimate::estimated_regimes;
use crate::quota_timer::{Silence, Timer, free_runs, silences, used, waits};

/// Shorter waits are those of every wake-up.
const SHORT: Nanoseconds = Nanoseconds(200_000);

/// A group with a quota that stopped it, as long as it was the same one: a group that was made anew under its
/// old name, and one of a later recording, may have another timer.
struct Stopped<'run> {
    group: String,
    /// Its threads and those of all groups below it.
    threads: Vec<ThreadId>,
    steps: &'run [QuotaStep],
    silences: Vec<Silence>,
}

/// The quotas that the groups of `stalled` have or that are above them, where they stopped them within `window`.
/// The innermost come first.
pub(crate) fn counted(
    groups: &Groups<'_>,
    stalled: &BTreeSet<Held<'_>>,
    told: &GroupQuotas,
    timers: Option<&[Timer<'_>]>,
    window: TimeRange,
) -> Vec<Quota> {
    let mut names: Vec<&str> = (stalled.iter().filter_map(|held| held.group()))
        .flat_map(with_those_above)
        .filter(|group| told.steps(group).iter().any(|step| stops(step, window)))
        .collect();
    names.sort_unstable_by_key(|group| (Reverse(depth(group)), *group));
    names.dedup();
    let mut all: Vec<Stopped<'_>> = Vec::new();
    for group in &names {
        let threads = groups.below(group);
        let silences: Vec<Silence> = silences(groups.lines, &[&threads])
            .into_iter()
            .flatten()
            .collect();
        let goes_on =
            |one: &QuotaStep, next: &QuotaStep| one.range.end == next.range.begin && !next.is_new;
        let lives = told.steps(group).chunk_by(goes_on);
        all.extend(lives.map(|steps| Stopped {
            group: (*group).to_owned(),
            threads: threads.clone(),
            steps,
            silences: silences.clone(),
        }));
    }
    let own = own_timers(&all, timers.unwrap_or_default(), groups.lines);
    let quota = |group: &&str| {
        let lives = all
            .iter()
            .enumerate()
            .filter(|(_, life)| life.group == *group);
        let threads = groups.below(group);
        let stalls = match lives.clone().any(|(number, _)| own.contains_key(&number)) {
            true => {
                let mut stops: BTreeMap<ThreadId, Vec<TimeRange>> = BTreeMap::new();
                for (number, life) in lives {
                    for (thread, of_life) in life.stops(own.get(&number).copied(), groups.lines) {
                        stops.entry(thread).or_default().extend(of_life);
                    }
                }
                Stalls::OfEach(stops)
            }
            false => Stalls::OfAll(TimeRange::union(
                estimated_regimes(groups.lines, &threads).1,
            )),
        };
        let regimes = regimes(told.steps(group), &stalls, groups.lines);
        groups.quota(((Some((*group).to_owned())), threads), (regimes, stalls))
    };
    names.iter().filter_map(quota).collect()
}

impl Stopped<'_> {
    /// When each thread was stopped, in order; as far as can be estimated where the timer is not known.
    fn stops(
        &self,
        timer: Option<&Timer<'_>>,
        lines: &Timelines,
    ) -> BTreeMap<ThreadId, Vec<TimeRange>> {
        if let Some(timer) = timer {
            return stops_of(lines, &self.threads, self.steps, timer);
        }
        let (Some(first), Some(last)) = (self.steps.first(), self.steps.last()) else {
            return BTreeMap::new();
        };
        let own = TimeRange::new(first.range.begin, last.range.end);
        let stalls = TimeRange::union(estimated_regimes(lines, &self.threads).1);
        let stalls: Vec<TimeRange> = (stalls.into_iter())
            .map(|stall| stall.intersect(own))
            .filter(|stall| !stall.is_empty())
            .collect();
        let threads = self.threads.iter();
        threads.map(|thread| (*thread, stalls.clone())).collect()
    }
}

/// Whether every processor's events are there for all of the step: what the kernel counted can be found.
fn is_recorded(step: &QuotaStep, lines: &Timelines) -> bool {
    let is_missing = |cpu| {
        let mut unknown = lines.unknown_on(cpu);
        unknown.any(|unknown| !unknown.intersect(step.range).is_empty())
    };
    let whole = lines.range();
    whole.intersect(step.range) == step.range && !lines.processors().any(is_missing)
}

/// `/a/b/c`, `/a/b` and `/a`.
fn with_those_above<'run>(group: &'run str) -> impl Iterator<Item = &'run str> {
    let above = |group: &&'run str| Some(group.rsplit_once('/')?.0);
    std::iter::successors(Some(group), above).filter(|group| !group.is_empty())
}

fn depth(group: &str) -> usize {
    group.matches('/').count()
}

/// Whether the group was stopped in it, as far as is known.
fn stops(step: &QuotaStep, window: TimeRange) -> bool {
    let is_stopped = step.counted.is_none_or(|counted| counted.throttled > 0);
    is_stopped && !step.range.intersect(window).is_empty()
}

/// The timer of each group, by the group's place: the one that lets it go on, of those that fired about as
/// often as its periods ended. No timer is of two groups: who was stopped most often chooses first, then
/// the outermost, for what lets all go on lets those within go on, too.
fn own_timers<'all, 'run>(
    all: &[Stopped<'_>],
    timers: &'all [Timer<'run>],
    lines: &Timelines,
) -> BTreeMap<usize, &'all Timer<'run>> {
    let mut pairs = Vec::new();
    for (number, stopped) in all.iter().enumerate() {
        let whole = stopped.steps.iter().filter(|step| is_recorded(step, lines));
        let counted: Vec<(TimeRange, u64)> = whole
            .filter_map(|step| Some((step.range, step.counted?.periods)))
            .collect();
        let periods: u64 = counted.iter().map(|(_, periods)| periods).sum();
        let throttled = (stopped.steps.iter())
            .map(|step| step.counted.map_or(u64::MAX, |counted| counted.throttled))
            .fold(0, u64::saturating_add);
        for (place, timer) in timers.iter().enumerate() {
            let apart = counted.iter().map(|(range, periods)| {
                let fired = timer.within(*range).len() as u64;
                fired.abs_diff(*periods)
            });
            let apart: u64 = apart.sum();
            let is_during = |silence: &&Silence| {
                let end = silence.range.end;
                let mut steps = stopped.steps.iter();
                steps.any(|step| step.range.begin <= end && end <= step.range.end)
            };
            let ended = (stopped.silences.iter())
                .filter(is_during)
                .filter(|silence| timer.is_ending(silence))
                .count() as u64;
            // Where the host of a virtual machine held it up, one firing is for several periods.
            if apart <= 2 + periods / 8 {
                let score = Reverse(ended.min(throttled));
                pairs.push((score, depth(&stopped.group), apart, number, place));
            }
        }
    }
    pairs.sort_unstable();
    let mut own: BTreeMap<usize, &Timer<'_>> = BTreeMap::new();
    let mut taken: BTreeMap<usize, &str> = BTreeMap::new();
    for &(score, _, apart, number, place) in &pairs {
        let group = all[number].group.as_str();
        let is_free = |place: &usize| taken.get(place).is_none_or(|owner| *owner == group);
        if own.contains_key(&number) || !is_free(&place) {
            continue;
        }
        // One that lets nobody go on may be hidden by that of a group above; it must be the only one.
        let is_alike = |other: &&(_, _, u64, usize, usize)| {
            (other.0, other.2, other.3) == (score, apart, number) && is_free(&other.4)
        };
        if score.0 > 0 || pairs.iter().filter(is_alike).count() == 1 {
            own.insert(number, &timers[place]);
            taken.insert(place, group);
        }
    }
    own
}

/// A wait of a thread of the group across a firing of its timer, on a processor on which none of
/// the group's threads ran then.
struct Across {
    thread: ThreadId,
    wait: TimeRange,
    /// Since when none of them ran there, or the wait began.
    since: Timestamp,
}

/// When each thread was stopped.
fn stops_of(
    lines: &Timelines,
    threads: &[ThreadId],
    steps: &[QuotaStep],
    timer: &Timer<'_>,
) -> BTreeMap<ThreadId, Vec<TimeRange>> {
    let (Some(first), Some(last)) = (steps.first(), steps.last()) else {
        return BTreeMap::new();
    };
    let firings = timer.within(TimeRange::new(first.range.begin, last.range.end));
    let mut across: Vec<Vec<Across>> = firings.iter().map(|_| Vec::new()).collect();
    let ran = Ran::of(lines, threads);
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
    let left = left_over(lines, threads, steps, timer, firings);
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

/// At how many of the firings in a step the group was stopped.
struct StepCount {
    /// The firings, by their places.
    places: Range<usize>,
    /// At least, and at most; `None` where nobody counted.
    stops: Option<(usize, usize)>,
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
        Self { places, stops }
    }
}

/// At which of the firings the group was stopped: as many in each step as were counted, those with the least
/// left of the quota. Where it is not known how many, also those that have no more left than any of these, or nothing.
fn held_at(steps: &[StepCount], left: &[i64], someone_waits: impl Fn(usize) -> bool) -> Vec<usize> {
    let (mut held, mut perhaps) = (Vec::new(), Vec::new());
    for step in steps {
        let mut places: Vec<usize> = (step.places.clone())
            .filter(|place| someone_waits(*place))
            .collect();
        places.sort_by_key(|place| (left[*place], *place));
        let (least, most) = step.stops.unwrap_or((0, usize::MAX));
        places.truncate(most);
        perhaps.extend(places.split_off(least.min(places.len())));
        held.extend(places);
    }
    // Where nothing is left and somebody waits, the group is stopped.
    let most_left = held.iter().map(|place| left[*place]).fold(0, i64::max);
    held.extend(
        perhaps
            .into_iter()
            .filter(|place| left[*place] <= most_left),
    );
    held.sort_unstable();
    held.dedup();
    held
}

/// What was left of the quota at each firing, in nanoseconds of CPU time; less than nothing where threads
/// had overdrawn it, which the next periods pay for.
fn left_over(
    lines: &Timelines,
    threads: &[ThreadId],
    steps: &[QuotaStep],
    timer: &Timer<'_>,
    firings: &[Timestamp],
) -> Vec<i64> {
    let limit_at = |at: Timestamp| {
        let place = steps.partition_point(|step| step.range.end < at);
        steps.get(place).or(steps.last()).map(|step| step.limit)
    };
    let mut before = None;
    let ranges: Vec<TimeRange> = (firings.iter())
        .map(|at| {
            let begin = before.replace(*at).unwrap_or_else(|| {
                let period = limit_at(*at).map_or(0, |limit| limit.period.get());
                Timestamp::from_ns(at.ns().saturating_sub(period as i64))
            });
            TimeRange::new(begin, *at)
        })
        .collect();
    let used = used(lines, threads, timer, &ranges);
    let mut left: Option<i64> = None;
    let after = |(at, used): (&Timestamp, u64)| {
        let limit = limit_at(*at)?;
        let [quota, burst] = [limit.quota, limit.burst].map(|time| time.get() as i64);
        let filled = left.map_or(quota, |left| {
            left.saturating_add(quota).min(quota.saturating_add(burst))
        });
        left = Some(filled.saturating_sub(used as i64));
        left
    };
    firings.iter().zip(used).map_while(after).collect()
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
}

/// The times between looks in which the quota had one value and stopped somebody: as far as anything of them
/// is recorded.
fn regimes(steps: &[QuotaStep], stalls: &Stalls, lines: &Timelines) -> Vec<Regime> {
    let same = |one: &QuotaStep, other: &QuotaStep| one.limit == other.limit;
    let is_covered = |step: &QuotaStep| !step.range.intersect(lines.range()).is_empty();
    let regime = |steps: &[QuotaStep]| {
        let (first, last) = (
            steps.iter().find(|step| is_covered(step))?,
            steps.iter().rfind(|step| is_covered(step))?,
        );
        let range = TimeRange::new(first.range.begin, last.range.end);
        let covered = steps.iter().filter(|step| is_covered(step));
        let counted = covered.filter_map(|step| step.counted);
        let counted = counted.fold(Counted::default(), |sum, counted| Counted {
            times: sum.times.saturating_add(counted.throttled),
            stopped: sum.stopped + counted.stopped,
        });
        let stood_still = stalls.during(range);
        let is_told = stood_still > Nanoseconds::ZERO || counted.times > 0;
        is_told.then_some(Regime {
            period: first.limit.period,
            quota: first.limit.quota,
            most: first.limit.quota,
            range,
            periods: usize::try_from(counted.times).unwrap_or(usize::MAX),
            stood_still,
            counted: Some(counted),
        })
    };
    steps.chunk_by(same).filter_map(regime).collect()
}

#[cfg(test)]
mod tests {
    use slowpath_drawn::DrawnTrace;
    use slowpath_kernel::quotas::{QuotaLimit, QuotaNote, QuotaSeen};
    use slowpath_kernel::timers::{Firings, TimerId};
    use slowpath_model::ProcessId;

    use super::*;
    use crate::quota::quotas;

    const MS: i64 = 1_000_000;
    /// Periods of 100 ms.
    const PERIODS: i64 = 20;

    fn at(ms: i64) -> Timestamp {
        Timestamp::from_ns(ms * MS)
    }

    fn range(begin: i64, end: i64) -> TimeRange {
        TimeRange::new(at(begin), at(end))
    }

    /// The thread on processor `cpu` changes; who leaves it is ready.
    fn switch(cpu: i32, ms: i64, from: i32, to: i32) -> String {
        format!(
            "cpu{cpu} {} sched_switch prev_comm=t prev_tid={from} prev_state=0 next_comm=t \
             next_tid={to} @tid={from}\n",
            ms * MS
        )
    }

    /// Groups with their quota in each 100 ms, and how often they were stopped.
    fn told(groups: &[(&str, i64, u64)]) -> GroupQuotas {
        told_between((0, PERIODS * 100 + 50), PERIODS as u64, groups)
    }

    /// The same, between two looks.
    fn told_between(
        (begin, end): (i64, i64),
        periods: u64,
        groups: &[(&str, i64, u64)],
    ) -> GroupQuotas {
        let seen = |group: &str, ms: i64, periods, throttled| QuotaNote::Group {
            group: group.to_owned(),
            is_new: false,
            seen: QuotaSeen {
                limit: Some(QuotaLimit {
                    quota: Nanoseconds(ms.unsigned_abs() * 1_000_000),
                    period: Nanoseconds(100_000_000),
                    burst: Nanoseconds::ZERO,
                }),
                periods,
                throttled,
                stopped: Nanoseconds(throttled * 1000),
            },
        };
        let [begin, end] = [begin, end].map(at);
        let notes = groups.iter().flat_map(|(group, ms, throttled)| {
            let last = seen(group, *ms, periods, *throttled);
            [(begin, seen(group, *ms, 0, 0)), (end, last)]
        });
        let looks = [begin, end].map(|at| (at, QuotaNote::Look { has_more: false }));
        GroupQuotas::new(notes.chain(looks)).expect("a look")
    }

    /// Timers that fire at these times in each period.
    fn timers(phases: &[i64]) -> Firings {
        let firings = phases.iter().zip(1..).map(|(phase, id)| {
            let times = (1..=PERIODS).map(|n| at(n * 100 + phase));
            (TimerId(id), times.collect())
        });
        firings.collect()
    }

    /// The quotas of 97 and 98, which are in these groups.
    fn found(drawing: &str, groups: [&str; 2], told: &GroupQuotas, timers: &Firings) -> Vec<Quota> {
        let trace = DrawnTrace::parse(drawing).expect("the drawing can be read");
        let lines = Timelines::build(&trace, &Default::default()).unwrap();
        let lines = lines.state.unwrap();
        let processes = [97, 98].map(ProcessId).into_iter();
        let groups = processes.zip(groups.map(|group| vec![group.to_owned()]));
        let groups = groups.collect();
        let threads = [97, 98].map(ThreadId);
        let all = TimeRange::ALL;
        quotas(&lines, &threads, &groups, Some(told), Some(timers), all)
    }

    /// The groups with their quotas in milliseconds.
    fn names(found: &[Quota]) -> Vec<(&str, u64)> {
        let millis = |quota: &Quota| quota.regimes[0].quota.get() / 1_000_000;
        (found.iter())
            .map(|quota| (quota.group.as_deref().unwrap_or_default(), millis(quota)))
            .collect()
    }

    /// 97 uses up 50 ms in each period, then 98 has the processor until 97 may go on.
    fn turns() -> String {
        let row = (0..=PERIODS).map(|n| {
            let begin = n * 100;
            switch(0, begin, 98, 97) + &switch(0, begin + 50, 97, 98)
        });
        row.collect()
    }

    #[test]
    fn who_waits_for_one_that_a_quota_stops_has_none() {
        let firings = timers(&[0, 50]);
        let of_first = told(&[("/a", 50, PERIODS as u64), ("/k", 50, 0)]);
        let overdrawnquotas = found(&turns(), ["/a", "/b"], &of_first, &firings);
        assert_eq!(names(&overdrawnquotas), [("/a", 50)]);
        let quota = &overdrawnquotas[0];
        assert_eq!(
            quota.stopped(ThreadId(97), range(300, 400)),
            [range(350, 400)]
        );
        assert_eq!(quota.stopped(ThreadId(98), range(300, 400)), []);
        // Nobody has one that stopped him, whatever it looks like.
        let unreached = told(&[("/a", 50, 0), ("/b", 50, 0)]);
        assert_eq!(found(&turns(), ["/a", "/b"], &unreached, &firings), []);
        assert_eq!(found(&turns(), ["/a", "/b"], &told(&[]), &firings), []);
    }

    #[test]
    fn of_all_periods_as_many_stopped_the_group_as_were_counted() {
        // In each second period it is others that keep 97 waiting: it has used 20 ms only.
        let row = (0..=PERIODS).map(|n| {
            let begin = n * 100;
            let length = if n % 2 == 0 { 50 } else { 20 };
            switch(0, begin, 98, 97) + &switch(0, begin + length, 97, 98)
        });
        let drawing: String = row.collect();
        let half = told(&[("/a", 50, PERIODS as u64 / 2)]);
        let found = found(&drawing, ["/a", "/b"], &half, &timers(&[0]));
        assert_eq!(names(&found), [("/a", 50)]);
        let stopped = found[0].stopped(ThreadId(97), range(400, 800));
        assert_eq!(stopped, [range(450, 500), range(650, 700)]);
        let told = found[0].regimes[0].counted.expect("the kernel's count");
        assert_eq!(told.times, PERIODS as u64 / 2);
    }

    #[test]
    fn the_last_firing_after_the_quota_was_waived_ends_no_period() {
        // Then 97 uses most in the last one.
        let last = (PERIODS - 1) * 100;
        let drawing = turns().replace(&switch(0, last + 50, 97, 98), &switch(0, last + 90, 97, 98));
        let periods = PERIODS as u64 - 1;
        let told = told_between((0, PERIODS * 100 + 50), periods, &[("/a", 50, periods)]);
        let found = found(&drawing, ["/a", "/b"], &told, &timers(&[0]));
        let stopped = found[0].stopped(ThreadId(97), range(last - 200, last + 100));
        assert_eq!(
            stopped,
            [-150, -50].map(|begin| range(last + begin, last + begin + 50))
        );
    }

    #[test]
    fn looks_that_lie_around_what_is_recorded_tell_how_many_stops_lie_within() {
        // 97 never uses all of what it has got: what is left over tells nothing by itself.
        let around = (-300, PERIODS * 100 + 350);
        let periods = PERIODS as u64 + 6;
        let stopped = |throttled, drawing: &str| {
            // What was counted earlier is of no matter.
            let mut told = told_between((-900, around.0), 6, &[("/a", 53, 6)]);
            told.append(told_between(around, periods, &[("/a", 53, throttled)]));
            let found = found(drawing, ["/a", "/b"], &told, &timers(&[0]));
            let regime = &found[0].regimes[0];
            assert_eq!(regime.range, range(around.0, around.1));
            assert_eq!(regime.periods as u64, throttled);
            found[0].stopped(ThreadId(97), range(400, 800))
        };
        let each = [450, 550, 650, 750].map(|begin| range(begin, begin + 50));
        assert_eq!(stopped(periods, &turns()), each);
        // Perhaps none of these few.
        assert_eq!(stopped(6, &turns()), []);
        // Where nothing is left, somebody who waits is stopped, however few were counted.
        let told = told_between(around, periods, &[("/a", 50, 6)]);
        let overdrawn = found(&turns(), ["/a", "/b"], &told, &timers(&[0]));
        let whole = range(0, PERIODS * 100);
        assert_eq!(overdrawn[0].stopped(ThreadId(97), whole).len(), 6);
        // In each second period it has used 20 ms only.
        let row = (0..=PERIODS).map(|n| {
            let begin = n * 100;
            let length = if n % 2 == 0 { 50 } else { 20 };
            switch(0, begin, 98, 97) + &switch(0, begin + length, 97, 98)
        });
        let half: String = row.collect();
        assert_eq!(
            stopped(periods - PERIODS as u64 / 2, &half),
            [range(450, 500), range(650, 700)]
        );
    }

    #[test]
    fn parent_and_child_are_told_apart_by_their_timers() {
        // 97 gets 10 ms in each period from 0 on, and both together 60 ms in each from 30 on.
        let row = (0..PERIODS).map(|n| {
            let begin = n * 100 + 30;
            [
                switch(0, begin, 0, 97),
                switch(1, begin, 0, 98),
                switch(0, begin + 10, 97, 0),
                switch(1, begin + 50, 98, 0),
            ]
            .concat()
        });
        let drawing: String = row.collect();
        let both = told(&[("/p", 60, PERIODS as u64), ("/p/c", 10, PERIODS as u64)]);
        let found = found(&drawing, ["/p/c", "/p/d"], &both, &timers(&[0, 30]));
        assert_eq!(names(&found), [("/p/c", 10), ("/p", 60)]);
        let of_child = |thread| found[0].stopped(ThreadId(thread), range(300, 430));
        assert_eq!(of_child(97), [range(340, 400)]);
        assert_eq!(of_child(98), []);
        let of_parent = found[1].stopped(ThreadId(98), range(330, 430));
        assert_eq!(of_parent, [range(380, 430)]);
    }

    #[test]
    fn a_group_made_anew_under_its_name_has_another_timer() {
        let half = PERIODS / 2;
        let seen = |is_new, count: i64| QuotaNote::Group {
            group: "/a".to_owned(),
            is_new,
            seen: QuotaSeen {
                limit: Some(QuotaLimit {
                    quota: Nanoseconds(50_000_000),
                    period: Nanoseconds(100_000_000),
                    burst: Nanoseconds::ZERO,
                }),
                periods: count.unsigned_abs(),
                throttled: count.unsigned_abs(),
                stopped: Nanoseconds(count.unsigned_abs() * 1000),
            },
        };
        let gone = QuotaNote::Gone {
            group: "/a".to_owned(),
        };
        let looks = [
            (0, seen(false, 0)),
            (half * 100 + 10, seen(false, half)),
            (half * 100 + 20, gone),
            (half * 100 + 30, seen(true, 0)),
            (PERIODS * 100 + 50, seen(false, PERIODS - half)),
        ];
        let notes = looks.into_iter().flat_map(|(ms, note)| {
            let look = QuotaNote::Look { has_more: false };
            [(at(ms), note), (at(ms), look)]
        });
        let told = GroupQuotas::new(notes).expect("a look");
        let all: Vec<Timestamp> = (1..=PERIODS).map(|n| at(n * 100)).collect();
        let (first, second) = all.split_at(half as usize);
        let firings = Firings::from([(TimerId(1), first.to_vec()), (TimerId(2), second.to_vec())]);
        let found = found(&turns(), ["/a", "/b"], &told, &firings);
        assert_eq!(names(&found), [("/a", 50)]);
        for begin in [300, 1300] {
            let stopped = found[0].stopped(ThreadId(97), range(begin, begin + 100));
            assert_eq!(stopped, [range(begin + 50, begin + 100)]);
        }
    }

    #[test]
    fn a_process_counts_for_each_group_that_it_was_seen_in() {
        let trace = DrawnTrace::parse(&turns()).expect("the drawing can be read");
        let lines = Timelines::build(&trace, &Default::default()).unwrap();
        let lines = lines.state.unwrap();
        let groups = ["/a", "/free"].map(str::to_owned).to_vec();
        let groups = BTreeMap::from([(ProcessId(97), groups)]);
        let told = told(&[("/a", 50, PERIODS as u64)]);
        let timers = timers(&[0]);
        let threads = [ThreadId(97)];
        let all = TimeRange::ALL;
        let found = quotas(&lines, &threads, &groups, Some(&told), Some(&timers), all);
        assert_eq!(names(&found), [("/a", 50)]);
    }

    #[test]
    fn a_process_that_was_never_seen_is_in_the_group_of_its_creator() {
        let born = "cpu0 1000 sched_process_fork parent_tid=98 parent_pid=98 child_tid=97 \
             child_pid=97 child_comm=t @tid=98\n\
             cpu0 2000 sched_wakeup_new comm=t tid=97 target_cpu=0 @tid=98\n";
        let turns = turns();
        let (first, later) = turns.split_once('\n').expect("lines");
        let first = first
            .replace("prev_tid=98", "prev_tid=0")
            .replace("next_tid=97", "next_tid=98");
        // 98 runs first, and makes 97.
        let drawing = format!("{first}\n{born}{later}");
        let trace = DrawnTrace::parse(&drawing).expect("the drawing can be read");
        let lines = Timelines::build(&trace, &Default::default()).unwrap();
        let lines = lines.state.unwrap();
        assert_eq!(lines.creator(ThreadId(97)), Some(ThreadId(98)));
        assert_eq!(lines.creator(ThreadId(98)), None);
        let groups = BTreeMap::from([(ProcessId(98), vec!["/a".to_owned()])]);
        let told = told(&[("/a", 50, PERIODS as u64)]);
        let timers = timers(&[0]);
        let all = TimeRange::ALL;
        let found = quotas(
            &lines,
            &[ThreadId(97)],
            &groups,
            Some(&told),
            Some(&timers),
            all,
        );
        let of: Vec<ProcessId> = found
            .iter()
            .flat_map(|quota| quota.processes.clone())
            .collect();
        assert_eq!(of, [ProcessId(97), ProcessId(98)]);
    }

    #[test]
    fn a_child_without_its_own_quota_has_that_of_its_parent() {
        let of_parent = told(&[("/p", 50, PERIODS as u64)]);
        let found = found(&turns(), ["/p/c", "/"], &of_parent, &timers(&[0]));
        assert_eq!(names(&found), [("/p", 50)]);
    }
}
