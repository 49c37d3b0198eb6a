//! Quotas that the recorder read from the kernel: their group, quota and period are facts, and so is how
//! often each stopped its group in every second or so. What is found here is whom, and when.
//!
//! A group's timer is known by how often it fired; at which of its firings it was stopped, is the matter of
//! `quota_stops`. Where the timers are not in the trace, `quota_estimate` says when threads stood still.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use slowpath_kernel::quotas::{GroupQuotas, QuotaStep};
use slowpath_kernel::timelines::Timelines;
use slowpath_model::{Nanoseconds, ThreadId, TimeRange};

use crate::quota::{Counted, Groups, Held, Quota, Regime, Stalls};
use crate::quota_estimate::estimated_regimes;
use crate::quota_stops::stops_of;
use crate::quota_timer::{Silence, Timer, silences};

/// A group with a quota that stopped it, as long as it was the same one: a group that was made anew under its
/// old name, and one of a later recording, may have another timer.
struct Stopped<'run> {
    group: String,
    /// Its threads and those of all groups below it.
    threads: Vec<ThreadId>,
    steps: &'run [QuotaStep],
    silences: Vec<Silence>,
}

/// The quotas that the groups of `stalled` have or that are above them, where they stopped them within the window.
/// The innermost come first.
pub(crate) fn counted(
    groups: &Groups<'_>,
    stalled: &BTreeSet<Held<'_>>,
    told: &GroupQuotas,
    timers: &[Timer<'_>],
) -> Vec<Quota> {
    let window = groups.window;
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
    let own = own_timers(&all, timers, groups.lines);
    let quota = |group: &&str| {
        let lives = all
            .iter()
            .enumerate()
            .filter(|(_, life)| life.group == *group);
        let threads = groups.below(group);
        let (waits, stalls) = match lives.clone().any(|(number, _)| own.contains_key(&number)) {
            true => {
                let mut stops: BTreeMap<ThreadId, Vec<TimeRange>> = BTreeMap::new();
                for (number, life) in lives {
                    for (thread, of_life) in life.stops(own.get(&number).copied(), groups) {
                        stops.entry(thread).or_default().extend(of_life);
                    }
                }
                let waits = stops.values().flatten().copied().collect();
                (waits, Stalls::OfEach(stops))
            }
            false => {
                let (_, waits) = estimated_regimes(groups.lines, window, &threads);
                let united = TimeRange::union(waits.clone());
                (waits, Stalls::OfAll(united))
            }
        };
        let regimes = regimes(told.steps(group), &waits, groups);
        groups.quota(((Some((*group).to_owned())), threads), (regimes, stalls))
    };
    names.iter().filter_map(quota).collect()
}

impl Stopped<'_> {
    /// When each thread was stopped, in order; as far as can be estimated where the timer is not known.
    fn stops(
        &self,
        timer: Option<&Timer<'_>>,
        groups: &Groups<'_>,
    ) -> BTreeMap<ThreadId, Vec<TimeRange>> {
        let lines = groups.lines;
        if let Some(timer) = timer {
            return stops_of(lines, &self.threads, self.steps, timer);
        }
        let (Some(first), Some(last)) = (self.steps.first(), self.steps.last()) else {
            return BTreeMap::new();
        };
        let own = TimeRange::new(first.range.begin, last.range.end);
        let stalls = TimeRange::union(estimated_regimes(lines, groups.window, &self.threads).1);
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
        let counted: Vec<(&QuotaStep, u64, bool)> = (stopped.steps.iter())
            .filter_map(|step| Some((step, step.counted?.periods, is_recorded(step, lines))))
            .collect();
        let whole = counted.iter().filter(|(.., is_recorded)| *is_recorded);
        let periods: u64 = whole.map(|(_, periods, _)| periods).sum();
        let throttled = (stopped.steps.iter())
            .map(|step| step.counted.map_or(u64::MAX, |counted| counted.throttled))
            .fold(0, u64::saturating_add);
        for (place, timer) in timers.iter().enumerate() {
            let apart = counted.iter().map(|(step, periods, is_recorded)| {
                let fired = timer.within(step.range).len() as u64;
                match is_recorded {
                    true => fired.abs_diff(*periods),
                    false => fired.saturating_sub(*periods),
                }
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

/// The times between looks in which the quota had one value and stopped somebody, as far as anything of them
/// is recorded and within the window. `waits` are those of all threads that it stopped, of each its own.
fn regimes(steps: &[QuotaStep], waits: &[TimeRange], groups: &Groups<'_>) -> Vec<Regime> {
    let covered = groups.lines.range().intersect(groups.window);
    let same = |one: &QuotaStep, other: &QuotaStep| one.limit == other.limit;
    let is_covered = |step: &QuotaStep| !step.range.intersect(covered).is_empty();
    let regime = |steps: &[QuotaStep]| {
        let (first, last) = (
            steps.iter().find(|step| is_covered(step))?,
            steps.iter().rfind(|step| is_covered(step))?,
        );
        let mut counted = Counted {
            times: 0,
            stopped: Nanoseconds::ZERO,
            between: TimeRange::new(first.range.begin, last.range.end),
            uncounted: Nanoseconds::ZERO,
        };
        let range = counted.between.intersect(covered);
        for step in steps.iter().filter(|step| is_covered(step)) {
            match step.counted {
                Some(of_step) => {
                    counted.times = counted.times.saturating_add(of_step.throttled);
                    counted.stopped += of_step.stopped;
                }
                None => counted.uncounted += step.range.length(),
            }
        }
        let within = waits.iter().map(|wait| wait.intersect(range).length());
        let stood_still: Nanoseconds = within.sum();
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
    use slowpath_model::{ProcessId, Timestamp};

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
        GroupQuotas::new(begin, notes.chain(looks)).expect("a look")
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
            let kernel = regime.counted.expect("the kernel's count");
            assert_eq!(kernel.between, range(around.0, around.1));
            assert_eq!(regime.range, range(0, PERIODS * 100 + 50));
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
    fn of_what_was_counted_between_looks_a_window_has_a_part() {
        let trace = DrawnTrace::parse(&turns()).expect("the drawing can be read");
        let lines = Timelines::build(&trace, &Default::default()).unwrap();
        let lines = lines.state.unwrap();
        let groups = BTreeMap::from([(ProcessId(97), vec!["/a".to_owned()])]);
        let told = told(&[("/a", 50, PERIODS as u64)]);
        let timers = timers(&[0]);
        let window = range(420, 820);
        let found = quotas(
            &lines,
            &[ThreadId(97)],
            &groups,
            Some(&told),
            Some(&timers),
            window,
        );
        let [regime] = &found[0].regimes[..] else {
            panic!("one regime in {found:?}");
        };
        assert_eq!(regime.range, window);
        assert_eq!(regime.stood_still, Nanoseconds(200_000_000));
        let kernel = regime.counted.expect("the kernel's count");
        assert_eq!(kernel.between, range(0, PERIODS * 100 + 50));
        assert_eq!(kernel.times, PERIODS as u64);
    }

    #[test]
    fn without_timers_too_the_waits_of_all_threads_are_added_up() {
        let row = (0..=PERIODS).flat_map(|n| {
            let on = [(0, 97), (1, 98)].map(|(cpu, thread)| switch(cpu, n * 100, 0, thread));
            let off = [(0, 97), (1, 98)].map(|(cpu, thread)| switch(cpu, n * 100 + 50, thread, 0));
            on.into_iter().chain(off)
        });
        let drawing: String = row.collect();
        let both = told(&[("/a", 100, PERIODS as u64)]);
        let found = found(&drawing, ["/a", "/a"], &both, &Firings::new());
        let stopped = found[0].stopped(ThreadId(97), range(0, PERIODS * 100));
        let of_one: Nanoseconds = stopped.iter().map(|range| range.length()).sum();
        assert_eq!(of_one, Nanoseconds(PERIODS as u64 * 50_000_000));
        let of_both = found[0].regimes[0].stood_still;
        assert_eq!(of_both, Nanoseconds(2 * of_one.get()));
    }

    #[test]
    fn where_the_kernel_told_a_timer_that_fired_twice_is_enough() {
        let row = (0..=2).map(|n| switch(0, n * 100, 98, 97) + &switch(0, n * 100 + 50, 97, 98));
        let drawing: String = row.collect();
        let firings = Firings::from([(TimerId(1), vec![at(100), at(200)])]);
        let told = told_between((-800, 1150), 20, &[("/a", 50, 20)]);
        let found = found(&drawing, ["/a", "/b"], &told, &firings);
        assert_eq!(names(&found), [("/a", 50)]);
        let stopped = found[0].stopped(ThreadId(97), range(0, 250));
        assert_eq!(stopped, [range(50, 100), range(150, 200)]);
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
        let told = GroupQuotas::new(at(0), notes).expect("a look");
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
