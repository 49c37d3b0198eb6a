//! Quotas by the kernel's own timers: a group's timer fires where a period of its quota begins, and
//! whom the quota stopped goes on.
//!
//! A timer is that of some threads' quota where they go on right after it far more often than by chance;
//! so it does not matter whether the quota holds in every period or now and then. Where a recording
//! does not have these timers, `quota_estimate` estimates the periods.

use std::collections::BTreeMap;

use slowpath_kernel::timelines::{Doing, Timelines};
use slowpath_kernel::timers::{Firings, TimerId};
use slowpath_model::{CpuId, Nanoseconds, ThreadId, TimeRange, Timestamp};

use crate::quota::{LEAST_PERIODS, Regime};
use crate::quota_levels::{levels_of_steps, slope, spread};
use crate::stalls::{LATE, STALL, is_taken};

/// A busy processor is given to who may go on at its next tick, or earlier.
const TICK: Nanoseconds = Nanoseconds(4_000_000);
/// What a processor may keep of a period's quota for the next when its threads have gone to sleep (the
/// kernel's `min_cfs_rq_runtime`).
const KEPT: Nanoseconds = Nanoseconds(1_000_000);

/// Who uses a smaller share of the quota in a period is not stopped at its end: some of it may be left with
/// processors on which nobody wants to run any more.
const LEAST_USED: f64 = 0.7;

/// For so many periods threads may pay for what they have overdrawn.
const MOST_PAID: i64 = 4;

/// A timer of a quota, as long as that has one period.
pub(crate) struct Timer<'run> {
    pub(crate) id: TimerId,
    /// In nanoseconds.
    period: f64,
    firings: &'run [Timestamp],
}

impl<'run> Timer<'run> {
    /// Those that fired often enough for a period to show; one of a quota that was given another period is
    /// there once for each, in the order of time.
    pub(crate) fn all(firings: &'run Firings) -> Vec<Self> {
        let timers = firings.iter().flat_map(|(id, firings)| {
            let stretches = of_one_period(firings).into_iter();
            stretches.filter_map(|firings| Self::of(*id, firings))
        });
        timers
            .filter(|timer| timer.firings.len() > LEAST_PERIODS)
            .collect()
    }

    /// Each as if it had one period, also those that fired a few times only: these periods are no evidence.
    pub(crate) fn of_any(firings: &'run Firings) -> Vec<Self> {
        let timers = firings.iter();
        timers
            .filter_map(|(id, firings)| Self::of(*id, firings))
            .collect()
    }

    fn of(id: TimerId, firings: &'run [Timestamp]) -> Option<Self> {
        let mut apart: Vec<f64> = (firings.windows(2))
            .map(|pair| (pair[1].ns() - pair[0].ns()) as f64)
            .collect();
        apart.sort_unstable_by(f64::total_cmp);
        // It does not fire while nobody wants to run, but once more after they have.
        let near = *apart.get(apart.len() / 4).unwrap_or(&f64::INFINITY);
        // A rest ends when somebody wants to run, and a change of the period between two of them.
        let is_whole = |apart: &f64| (apart / near - (apart / near).round()).abs() < 0.1;
        apart.retain(is_whole);
        let periods: f64 = apart.iter().map(|apart| (apart / near).round()).sum();
        let period = match apart.len() {
            0 => near,
            _ => apart.iter().sum::<f64>() / periods,
        };
        (near > 0.0).then_some(Self {
            id,
            period,
            firings,
        })
    }

    /// The last firing until then.
    fn last_before(&self, at: Timestamp) -> Option<Timestamp> {
        let next = self.firings.partition_point(|firing| *firing <= at);
        self.firings[..next].last().copied()
    }

    pub(crate) fn within(&self, range: TimeRange) -> &[Timestamp] {
        let first = self.firings.partition_point(|at| *at < range.begin);
        let next = self.firings.partition_point(|at| *at <= range.end);
        &self.firings[first..next]
    }

    /// A busy processor is given to who may go on within this.
    pub(crate) fn tick(&self) -> Nanoseconds {
        Nanoseconds((self.period / 10.0) as u64).min(TICK)
    }

    /// Whether it fired right before the end of the silence.
    pub(crate) fn is_ending(&self, silence: &Silence) -> bool {
        self.ends_within(silence, self.tick())
    }

    fn ends_within(&self, silence: &Silence, late: Nanoseconds) -> bool {
        let end = silence.range.end;
        self.last_before(end)
            .is_some_and(|at| silence.range.begin <= at && end.since(at) <= late)
    }

    /// So many periods until `end`.
    fn periods_before(&self, end: Timestamp, periods: f64) -> TimeRange {
        let begin = end.ns().saturating_sub((self.period * periods) as i64);
        TimeRange::new(Timestamp::from_ns(begin), end)
    }

    /// Of `silences`, those that end because it fired; empty where that may be chance.
    fn ends<'silences>(&self, silences: &[&'silences Silence]) -> Vec<&'silences Silence> {
        let (Some(first), Some(last)) = (self.firings.first(), self.firings.last()) else {
            return Vec::new();
        };
        let is_during = |silence: &Silence| {
            silence.ends_taking && silence.range.end >= *first && silence.range.begin <= *last
        };
        let during = silences.iter().filter(|silence| is_during(silence));
        let during: Vec<&Silence> = during.copied().collect();
        for late in [self.tick(), LATE] {
            let is_ended = |silence: &Silence| self.ends_within(silence, late);
            // Of short ones there are too many without a quota.
            let is_long =
                |silence: &Silence| silence.range.length().get() as f64 * 10.0 >= self.period;
            let long = during.iter().filter(|silence| is_long(silence));
            let (all, count) = long.fold((0, 0), |(all, count), silence| {
                (all + 1, count + usize::from(is_ended(silence)))
            });
            if count >= LEAST_PERIODS
                && is_beyond_chance(count, all, late.get() as f64 / self.period)
            {
                return during
                    .into_iter()
                    .filter(|silence| is_ended(silence))
                    .collect();
            }
        }
        Vec::new()
    }
}

/// The firings while the period was the same; the one at which it changed ends the one before. Another period is one
/// at which the timer fires several times in a row: one that rested between would fire once more first.
fn of_one_period(firings: &[Timestamp]) -> Vec<&[Timestamp]> {
    const STEADY: usize = 2 * LEAST_PERIODS;
    let apart = firings.windows(2);
    let apart: Vec<i64> = apart.map(|pair| pair[1].ns() - pair[0].ns()).collect();
    let is_near = |one: i64, other: i64| (one - other).abs() * 50 < one.max(other);
    let mut stretches = Vec::new();
    let (mut begin, mut place, mut period) = (0, 0, None);
    for run in apart.chunk_by(|one, other| is_near(*one, *other)) {
        if run.len() >= STEADY {
            let own = run.iter().sum::<i64>() / run.len() as i64;
            if let Some(period) = period.replace(own).filter(|period| !is_near(*period, own)) {
                // The first ones may be late, but are nearer to this period than to the one before.
                let is_own = |apart: &&i64| (**apart - own).abs() < (**apart - period).abs();
                let own = apart[begin..place].iter().rev().take_while(is_own);
                let end = place - own.count();
                stretches.push(&firings[begin..=end]);
                begin = end + 1;
            }
        }
        place += run.len();
    }
    stretches.push(&firings[begin..]);
    stretches
}

/// Whether so many of all are no chance, where each is with the probability `each`: the bound of
/// Chernoff (H. Chernoff, 1952) for the upper tail, one in a hundred million.
fn is_beyond_chance(count: usize, all: usize, each: f64) -> bool {
    const SURE: f64 = 18.4;
    let share = count as f64 / all as f64;
    let rest = match share < 1.0 {
        true => (1.0 - share) * ((1.0 - share) / (1.0 - each)).ln(),
        false => 0.0,
    };
    share > each && all as f64 * (share * (share / each).ln() + rest) > SURE
}

/// A time in which none of some threads ran, although one of them was ready.
#[derive(Clone)]
pub(crate) struct Silence {
    pub(crate) range: TimeRange,
    /// Who ends it takes the processor from somebody who goes on soon, or finds it idle.
    ends_taking: bool,
}

/// The silences of each of these sets of threads, in the order of time.
pub(crate) fn silences(lines: &Timelines, sets: &[&[ThreadId]]) -> Vec<Vec<Silence>> {
    let found: Vec<Vec<(TimeRange, CpuId)>> = (sets.iter())
        .map(|threads| silences_of(lines, threads))
        .collect();
    let places = found.iter().flatten();
    let places: Vec<_> = places.map(|(range, cpu)| (*cpu, *range)).collect();
    let occupants = lines.occupants(&places);
    let silence = |(range, cpu): (TimeRange, CpuId)| Silence {
        range,
        ends_taking: is_taken(lines, &occupants, cpu, range.end),
    };
    let silences = |found: Vec<_>| found.into_iter().map(silence).collect();
    found.into_iter().map(silences).collect()
}

/// When none of these threads ran although one was ready, and on which processor one went on.
fn silences_of(lines: &Timelines, threads: &[ThreadId]) -> Vec<(TimeRange, CpuId)> {
    let mut runs: Vec<(TimeRange, CpuId)> = (threads.iter())
        .flat_map(|thread| free_runs(lines, *thread))
        .collect();
    runs.sort_unstable_by_key(|(run, _)| run.begin);
    let waits: Vec<Vec<TimeRange>> = (threads.iter())
        .map(|thread| waits(lines, *thread, STALL))
        .collect();
    let mut silences = Vec::new();
    let mut ran_until = lines.range().begin;
    for (run, cpu) in runs {
        if run.begin.since(ran_until.min(run.begin)) >= STALL {
            let ready = waits.iter().filter_map(|waits| {
                let wait = waits.get(waits.partition_point(|wait| wait.end < run.begin))?;
                (wait.begin < run.begin).then_some(wait.begin)
            });
            if let Some(begin) = ready.min().map(|begin| begin.max(ran_until))
                && run.begin.since(begin) >= STALL
            {
                silences.push((TimeRange::new(begin, run.begin), cpu));
            }
        }
        ran_until = ran_until.max(run.end);
    }
    silences
}

/// When a thread ran. Without short runs from which it was taken though it could have gone on: who is
/// woken while the quota is used up is let run in the kernel, and stopped where that returns to the
/// program (since Linux 6.18). Those whose begin was not seen may have begun when their thread was ready.
pub(crate) fn free_runs(
    lines: &Timelines,
    thread: ThreadId,
) -> impl Iterator<Item = (TimeRange, CpuId)> + '_ {
    let unseen: BTreeMap<Timestamp, TimeRange> = (lines.perhaps_ran(thread))
        .map(|ready| (ready.end, ready))
        .collect();
    lines.runs_of(thread).filter(move |(run, _)| {
        let past = Timestamp::from_ns(run.end.ns().saturating_add(1));
        let perhaps = unseen
            .get(&run.begin)
            .map_or(*run, |ready| ready.hull(*run));
        perhaps.length() > LATE || lines.stretch_before(thread, past).doing != Doing::Preempted
    })
}

/// When a thread was ready for so long or longer, in the order of time.
pub(crate) fn waits(lines: &Timelines, thread: ThreadId, least: Nanoseconds) -> Vec<TimeRange> {
    let stretches = lines.backwards(thread, lines.range());
    let ready = stretches.filter(|stretch| {
        matches!(stretch.doing, Doing::Preempted | Doing::WaitingForCpu)
            && stretch.range.length() >= least
    });
    let mut waits: Vec<TimeRange> = ready.map(|stretch| stretch.range).collect();
    waits.reverse();
    waits
}

/// The places of the timers that let threads with these silences go on, the one that does most often first.
/// What one of them ends is no evidence of another.
pub(crate) fn timers_of(silences: &[Silence], timers: &[Timer<'_>]) -> Vec<usize> {
    let mut left: Vec<&Silence> = silences.iter().collect();
    let mut found = Vec::new();
    loop {
        let ends = timers.iter().map(|timer| timer.ends(&left)).enumerate();
        let Some((place, ended)) = ends.max_by_key(|(_, ended)| ended.len()) else {
            return found;
        };
        if ended.is_empty() {
            return found;
        }
        left.retain(|silence| !ended.iter().any(|ended| std::ptr::eq(*ended, *silence)));
        found.push(place);
    }
}

/// Periods at whose end a quota held: several where threads still had to pay for what they had overdrawn.
struct Step {
    range: TimeRange,
    periods: f64,
    /// The quota held at the end of the period before, too.
    follows: bool,
    /// What its threads used.
    used: u64,
}

impl Step {
    fn rate(&self) -> f64 {
        self.used as f64 / self.periods
    }
}

/// How much the quota of `timer` is, and when `threads`, which are all that it is for, stood still within `window`.
pub(crate) fn regimes(
    lines: &Timelines,
    window: TimeRange,
    threads: &[ThreadId],
    timer: &Timer<'_>,
) -> (Vec<Regime>, Vec<TimeRange>) {
    let silences: Vec<Silence> = silences(lines, &[threads]).into_iter().flatten().collect();
    let ended = timer.ends(&silences.iter().collect::<Vec<_>>());
    let all_used = |ranges: &[TimeRange]| used(lines, threads, timer, ranges);
    let steps = steps(timer, &ended, all_used);
    // Others may have the processor when the timer fires.
    let stopped = silences.iter().filter_map(|silence| {
        let fired = *timer.within(silence.range).first()?;
        let is_ended = ended.iter().any(|ended| std::ptr::eq(*ended, silence));
        let end = if is_ended { silence.range.end } else { fired };
        Some((TimeRange::new(silence.range.begin, end), fired))
    });
    let (stopped, fired): (Vec<TimeRange>, Vec<Timestamp>) = stopped.unzip();
    let used_before = |periods: i64| {
        let period = timer.period as i64;
        let ranges: Vec<TimeRange> = (fired.iter())
            .map(|at| {
                let times = [periods, periods - 1].map(|periods| at.ns() - periods * period);
                TimeRange::new(Timestamp::from_ns(times[0]), Timestamp::from_ns(times[1]))
            })
            .collect();
        all_used(&ranges)
    };
    let used: Vec<Vec<u64>> = (1..=MOST_PAID).map(used_before).collect();
    let mut regimes = Vec::new();
    let mut stalls = Vec::new();
    for (level, quota, most) in levels(&steps) {
        let least = (LEAST_USED * quota as f64) as u64;
        let held = (0..stopped.len()).filter(|&number| {
            // Of what was overdrawn in the periods before, less is left for the last one.
            let mut sum = 0;
            let is_used_up = used.iter().zip(1..).any(|(used, periods)| {
                sum += used[number];
                sum >= periods * least
            });
            level.begin <= fired[number] && fired[number] <= level.end && is_used_up
        });
        let held = held.map(|number| stopped[number].intersect(window));
        let held: Vec<TimeRange> = held.filter(|stall| !stall.is_empty()).collect();
        let range = level.intersect(window);
        if held.is_empty() || range.is_empty() {
            continue;
        }
        // The period of a stall that the window's end cuts short ends later.
        let periods = held.iter().map(|stall| timer.within(*stall).len().max(1));
        regimes.push(Regime {
            period: Nanoseconds(timer.period.round() as u64),
            quota: Nanoseconds(quota),
            most: Nanoseconds(most),
            range,
            periods: periods.sum(),
            stood_still: held.iter().map(|stall| stall.length()).sum(),
            counted: None,
        });
        stalls.extend(held);
    }
    (regimes, stalls)
}

/// The periods that end with these silences.
fn steps(
    timer: &Timer<'_>,
    ended: &[&Silence],
    used: impl Fn(&[TimeRange]) -> Vec<u64>,
) -> Vec<Step> {
    let mut steps: Vec<Step> = Vec::new();
    for silence in ended {
        let Some(end) = timer.last_before(silence.range.end) else {
            continue;
        };
        let stood_still = end.since(silence.range.begin.min(end)).get() as f64;
        let periods = (stood_still / timer.period).ceil().max(1.0);
        let mut range = timer.periods_before(end, periods);
        let before = steps.last().map(|step| step.range.end);
        let follows = before
            .is_some_and(|before| (range.begin.ns() - before.ns()) as f64 <= timer.period / 4.0);
        range.begin = range.begin.max(before.unwrap_or(range.begin)).min(end);
        steps.push(Step {
            range,
            periods,
            follows,
            used: 0,
        });
    }
    let ranges: Vec<TimeRange> = steps.iter().map(|step| step.range).collect();
    for (step, used) in steps.iter_mut().zip(used(&ranges)) {
        step.used = used;
    }
    steps
}

/// When the quota had one value, and how much that was at least and at most.
fn levels(steps: &[Step]) -> Vec<(TimeRange, u64, u64)> {
    // What was left of the period before is used besides.
    let following: Vec<&Step> = steps.iter().filter(|step| step.follows).collect();
    let (chosen, left) = match following.len() >= LEAST_PERIODS {
        true => (following, 0),
        false => (steps.iter().collect(), KEPT.get()),
    };
    let rates: Vec<f64> = chosen.iter().map(|step| step.rate()).collect();
    let periods: Vec<f64> = chosen.iter().map(|step| step.periods).collect();
    let level = |(first, last): (usize, usize)| {
        let range = TimeRange::new(
            chosen.get(first)?.range.begin,
            chosen[..last].last()?.range.end,
        );
        let mut sorted = rates[first..last].to_vec();
        sorted.sort_unstable_by(f64::total_cmp);
        let middle = *sorted.get(sorted.len() / 2)?;
        let of_level = &chosen[first..last];
        let used_up = of_level
            .iter()
            .filter(|step| step.follows || step.rate() >= LEAST_USED * middle);
        let (periods, used): (Vec<f64>, Vec<u64>) =
            used_up.map(|step| (step.periods, step.used)).unzip();
        let most = slope(&periods, &used) as u64;
        Some((range, most.saturating_sub(left).max(most / 2), most))
    };
    let parts = levels_of_steps(&rates, &periods, (0, chosen.len()));
    let mut levels: Vec<_> = parts.into_iter().filter_map(level).collect();
    // Steps that were not chosen belong to the level that they are next to.
    let mut end = steps.last().map(|step| step.range.end);
    for (range, ..) in levels.iter_mut().rev() {
        range.end = end.unwrap_or(range.end);
        end = Some(range.begin);
    }
    if let (Some((range, ..)), Some(step)) = (levels.first_mut(), steps.first()) {
        range.begin = step.range.begin;
    }
    levels
}

/// What the threads used in each of these times, which do not overlap and are in order.
pub(crate) fn used(
    lines: &Timelines,
    threads: &[ThreadId],
    timer: &Timer<'_>,
    ranges: &[TimeRange],
) -> Vec<u64> {
    let bounds = bounds_of(ranges);
    let mut sums = vec![0; bounds.len()];
    for &thread in threads {
        for (run, _) in lines.runs_of(thread) {
            spread(run, &bounds, &mut sums);
        }
        // Who stood still before an idle processor goes on as soon as the timer fires, though a trace
        // may tell so only at the next tick.
        for ready in lines.perhaps_ran(thread) {
            let fired = timer.last_before(ready.end);
            let fired = fired.filter(|at| *at >= ready.begin && ready.end.since(*at) <= TICK);
            spread(
                TimeRange::new(fired.unwrap_or(ready.end), ready.end),
                &bounds,
                &mut sums,
            );
        }
    }
    sums.into_iter().step_by(2).collect()
}

/// Begins and ends by turns, of times that do not overlap and are in order.
pub(crate) fn bounds_of(ranges: &[TimeRange]) -> Vec<i64> {
    let bounds = ranges.iter();
    let bounds = bounds.flat_map(|range| [range.begin.ns(), range.end.ns()]);
    bounds.collect()
}

#[cfg(test)]
mod tests {
    use slowpath_drawn::DrawnTrace;
    use slowpath_model::ProcessId;

    use super::*;
    use crate::quota::{Quota, quotas};

    const MS: i64 = 1_000_000;
    const PERIOD: i64 = 100 * MS;

    fn switch(at: i64, from: i32, state: u8, to: i32) -> String {
        format!(
            "cpu0 {at} sched_switch prev_comm=t prev_tid={from} prev_state={state} next_comm=t \
             next_tid={to} @tid={from}\n"
        )
    }

    fn firings(times: impl IntoIterator<Item = i64>) -> Firings {
        let times = times.into_iter().map(Timestamp::from_ns).collect();
        Firings::from([(TimerId(1), times)])
    }

    /// The quotas of the processes 97 and 98, which are in these groups.
    fn found(drawing: &str, groups: [&str; 2], timers: &Firings) -> Vec<Quota> {
        let trace = DrawnTrace::parse(drawing).expect("the drawing can be read");
        let lines = Timelines::build(&trace, &Default::default()).unwrap();
        let groups = [97, 98]
            .map(ProcessId)
            .into_iter()
            .zip(groups.map(|group| vec![group.to_owned()]));
        let threads = [ThreadId(97)];
        let lines = lines.state.unwrap();
        quotas(
            &lines,
            &threads,
            &groups.collect(),
            None,
            Some(timers),
            TimeRange::ALL,
        )
    }

    fn near(found: Nanoseconds, ms: f64) -> bool {
        (found.get() as f64 / 1e6 - ms).abs() < 0.02 * ms
    }

    /// Every third period 97 wants 12 ms of the only processor, which 96 has all the time otherwise: for
    /// 5 ms each time it is not its turn, and after 10 ms it is stopped until `goes_on`.
    fn now_and_then(goes_on: impl Fn(i64, i64) -> i64) -> String {
        let row = (0..24).map(|n| {
            let begin = n * 3 * PERIOD;
            let woken = begin + (15 + n * n % 60) * MS;
            let goes_on = goes_on(n, begin + PERIOD);
            [
                format!("cpu0 {woken} sched_wakeup comm=t tid=97 target_cpu=0\n"),
                switch(woken + MS, 96, 0, 97),
                switch(woken + 5 * MS, 97, 0, 96),
                switch(woken + 10 * MS, 96, 0, 97),
                switch(woken + 16 * MS, 97, 0, 96),
                switch(goes_on, 96, 0, 97),
                switch(goes_on + 2 * MS, 97, 1, 96),
            ]
            .concat()
        });
        row.collect()
    }

    #[test]
    fn a_quota_that_holds_now_and_then_on_a_busy_processor_is_found() {
        let timers = firings((0..24).flat_map(|n| [1, 2, 3].map(|at| (3 * n + at) * PERIOD)));
        // It goes on at the next tick.
        let drawing = now_and_then(|n, fires| fires + n % 4 * MS);
        let [quota] = &found(&drawing, ["/shop", "/"], &timers)[..] else {
            panic!("no quota");
        };
        let [regime] = &quota.regimes[..] else {
            panic!("one regime in {quota:?}");
        };
        assert!(
            near(regime.period, 100.0) && near(regime.quota, 9.0),
            "{regime:?}"
        );
        assert!(near(regime.most, 10.0), "{regime:?}");
        // Its first wait in the first period is not the quota's, the second one is.
        let range = |begin, end| {
            TimeRange::new(Timestamp::from_ns(begin * MS), Timestamp::from_ns(end * MS))
        };
        let stopped = quota.stopped(ThreadId(97), range(0, 200));
        assert_eq!(stopped, [range(31, 100)]);
        assert_eq!(
            quota.not_stopped(ThreadId(97), range(0, 200)),
            [range(0, 31), range(100, 200)]
        );

        // Others keep it waiting for about as long.
        let drawing = now_and_then(|n, fires| fires + (n * 17 % 40 - 20) * MS);
        assert_eq!(found(&drawing, ["/shop", "/"], &timers), []);
    }

    #[test]
    fn who_is_woken_and_stopped_at_once_does_not_end_a_standstill() {
        // 97 uses it up in each period; 98 is woken meanwhile and let run for 0.01 ms in the kernel.
        let stands_still = |begins: &dyn Fn(i64) -> String| {
            let row = (0..40).map(|n| {
                let (begin, woken) = (n * PERIOD, n * PERIOD + 70 * MS);
                [
                    switch(begin, 0, 0, 97),
                    switch(begin + 8 * MS, 97, 0, 98),
                    switch(begin + 9 * MS, 98, 1, 0),
                    format!("cpu0 {woken} sched_wakeup comm=t tid=98 target_cpu=0\n"),
                    begins(woken + MS / 100),
                    switch(woken + MS / 50, 98, 0, 0),
                ]
                .concat()
            });
            let drawing: String = row.collect();
            let timers = firings((0..40).map(|n| n * PERIOD));
            let found = found(&drawing, ["/shop", "/shop"], &timers);
            let range = TimeRange::new(
                Timestamp::from_ns(2 * PERIOD),
                Timestamp::from_ns(3 * PERIOD),
            );
            let stopped = found
                .first()
                .map(|quota| quota.stopped(ThreadId(97), range));
            let stood_still = stopped.unwrap_or_default();
            stood_still.first().map(|stall| stall.length())
        };
        let all = Some(Nanoseconds(91_000_000));
        assert_eq!(stands_still(&|at| switch(at, 0, 0, 98)), all);
        // The switch from the idle thread is missing: he may have begun when he was woken.
        let returns = |at| format!("cpu0 {at} syscall_exit_futex ret=-110 @tid=98\n");
        assert_eq!(stands_still(&returns), all);
    }

    #[test]
    fn what_ran_unseen_since_the_timer_fired_counts() {
        // The switch from the idle thread is missing: the tick after 3 ms is the first that tells of it.
        let row = (0..40).map(|n| {
            let tick = n * PERIOD + 3 * MS;
            format!(
                "cpu0 {tick} irq_handler_entry irq=1 name=x @tid=97\n\
                 cpu0 {} irq_handler_exit irq=1 ret=1 @tid=97\n",
                tick + 1
            ) + &switch(n * PERIOD + 8 * MS, 97, 0, 0)
        });
        let drawing: String = row.collect();
        let found = found(
            &drawing,
            ["/shop", "/"],
            &firings((0..40).map(|n| n * PERIOD)),
        );
        let regimes = found.first().map(|quota| &quota.regimes[..]);
        let Some([regime]) = regimes else {
            panic!("one regime in {found:?}");
        };
        assert!(near(regime.quota, 8.0), "{regime:?}");
    }

    #[test]
    fn a_quota_with_another_period_is_told_with_both() {
        // 8 ms in every 50 ms, then 60 ms in every 200 ms.
        let mut times: Vec<(i64, i64)> = (0..40).map(|n| (n * 50, 8)).collect();
        times.extend((0..20).map(|n| (2000 + n * 200, 60)));
        let row = times.iter().map(|(begin, quota)| {
            switch(begin * MS, 0, 0, 97) + &switch((begin + quota) * MS, 97, 0, 0)
        });
        let drawing: String = row.collect();
        let timers = firings(times.iter().map(|(begin, _)| begin * MS));
        let [quota] = &found(&drawing, ["/shop", "/"], &timers)[..] else {
            panic!("no quota");
        };
        let [first, second] = &quota.regimes[..] else {
            panic!("two regimes in {quota:?}");
        };
        assert!(
            near(first.period, 50.0) && near(first.quota, 8.0),
            "{first:?}"
        );
        assert!(
            near(second.period, 200.0) && near(second.quota, 60.0),
            "{second:?}"
        );
        assert!(first.range.end <= second.range.begin, "{quota:?}");
    }

    #[test]
    fn a_timer_that_rests_has_one_period() {
        // It fires at the end of a period in which somebody ran, and once more.
        let rests = (0..30).flat_map(|n| [0, 1, 2].map(|at| (4 * n + at) * PERIOD));
        let late = (0..30).map(|n| n * PERIOD + n % 7 / 6 * 5 * MS);
        for times in [rests.collect::<Vec<i64>>(), late.collect()] {
            let times: Vec<Timestamp> = times.into_iter().map(Timestamp::from_ns).collect();
            assert_eq!(of_one_period(&times), [&times[..]]);
        }
        assert_eq!(of_one_period(&[]), [&[]]);
    }

    #[test]
    fn what_chance_explains_is_no_evidence() {
        assert!(is_beyond_chance(6, 6, 0.04));
        assert!(is_beyond_chance(30, 175, 0.04));
        assert!(!is_beyond_chance(4, 4, 0.04));
        assert!(!is_beyond_chance(12, 175, 0.04));
        assert!(!is_beyond_chance(1, 100, 0.04));
    }
}
