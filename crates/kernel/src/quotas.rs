//! CPU quotas of control groups as the kernel tells them: how much each is, and how often it stopped its
//! group in each stretch of time. Made of what a recorder saw now and then; knows no threads and no events.

use std::collections::BTreeMap;

use slowpath_model::{Nanoseconds, TimeRange, Timestamp};

/// How much CPU time a group gets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QuotaLimit {
    /// All its threads together, in each period.
    pub quota: Nanoseconds,
    /// When the quota is given anew.
    pub period: Nanoseconds,
    /// So much that was left over may be used later.
    pub burst: Nanoseconds,
}

impl QuotaLimit {
    /// So much of a processor is it.
    fn share(&self) -> f64 {
        self.quota.get() as f64 / self.period.get().max(1) as f64
    }
}

/// What a group was seen with at one moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QuotaSeen {
    /// `None` where it has no quota any more.
    pub limit: Option<QuotaLimit>,
    /// Periods of its quota that have ended, since it was made.
    pub periods: u64,
    /// Those of them at whose end it was stopped.
    pub throttled: u64,
    /// How long it was stopped, added up over processors.
    pub stopped: Nanoseconds,
}

/// What a recorder noted, in the order of time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum QuotaNote {
    /// A group with a quota, or one that had it until then.
    Group {
        /// Its path from the root, as `/a/b`.
        group: String,
        /// It was not there at the look before.
        is_new: bool,
        /// How it was.
        seen: QuotaSeen,
    },
    /// A group with a quota is gone.
    Gone {
        /// Its path.
        group: String,
    },
    /// A look at the groups has ended: what was not told since the look before is unchanged.
    Look {
        /// There were groups that were not looked at.
        has_more: bool,
    },
}

/// A stretch of time in which a group had a quota.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QuotaStep {
    /// From when it was known until when.
    pub range: TimeRange,
    /// How much the quota was; where it was changed in this time, the smaller one.
    pub limit: QuotaLimit,
    /// How much it was at the begin; `None` where it was set in this time.
    pub before: Option<QuotaLimit>,
    /// How much it was at the end; `None` where it was waived in this time.
    pub after: Option<QuotaLimit>,
    /// What the kernel counted in it; `None` where nobody looked in time.
    pub counted: Option<QuotaCounts>,
    /// The group was made in this time; one of the same name before it is another one.
    pub is_new: bool,
}

impl QuotaStep {
    /// A stretch in which the quota stayed as it was.
    fn of_one(range: TimeRange, limit: QuotaLimit, counted: Option<QuotaCounts>) -> Self {
        Self {
            range,
            limit,
            before: Some(limit),
            after: Some(limit),
            counted,
            is_new: false,
        }
    }

    /// Whether there was none before.
    pub fn is_set(&self) -> bool {
        self.before.is_none()
    }

    /// Whether there was another one before.
    pub fn is_changed(&self) -> bool {
        matches!((self.before, self.after), (Some(before), Some(after)) if before != after)
    }

    /// How much the quota was; where it was changed in this time, the larger one.
    pub fn largest(&self) -> QuotaLimit {
        let limits = [self.before, self.after].into_iter().flatten();
        let largest = limits.max_by(|one, other| one.share().total_cmp(&other.share()));
        largest.unwrap_or(self.limit)
    }
}

/// What the kernel counts of a quota.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct QuotaCounts {
    /// Periods that ended.
    pub periods: u64,
    /// Those of them at whose end the group was stopped.
    pub throttled: u64,
    /// How long, added up over processors.
    pub stopped: Nanoseconds,
}

/// The quotas of all control groups of a host over time.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GroupQuotas {
    groups: BTreeMap<String, Vec<QuotaStep>>,
}

impl GroupQuotas {
    /// What was recorded begins at `begin`: quotas that the first look found are taken to have been the same since.
    /// `None` where the notes do not tell of any whole look: then no quota was not seen to be none.
    pub fn new(
        begin: Timestamp,
        notes: impl IntoIterator<Item = (Timestamp, QuotaNote)>,
    ) -> Option<Self> {
        let mut notes: Vec<(Timestamp, QuotaNote)> = notes.into_iter().collect();
        notes.sort_by_key(|(at, _)| *at);
        // A snapshot and the recording that it is of have some in common.
        notes.dedup();
        let mut quotas = Self::default();
        // A look is noted at its end, and reads each group some time before: what it found unchanged is known
        // until the end of the look before that.
        let (mut look_before, mut last_look) = (None, None);
        let mut last: BTreeMap<String, (Timestamp, QuotaSeen)> = BTreeMap::new();
        for (at, note) in notes {
            match note {
                QuotaNote::Look { has_more: true } => return None,
                QuotaNote::Look { has_more: false } => look_before = last_look.replace(at),
                QuotaNote::Group {
                    group,
                    is_new,
                    seen,
                } => {
                    let before = last.insert(group.clone(), (at, seen));
                    // One with less was made anew under the same name.
                    let before = before.filter(|(_, was)| was.periods <= seen.periods && !is_new);
                    let steps = quotas.groups.entry(group).or_default();
                    if last_look.is_none() && steps.is_empty() {
                        steps.extend(uncounted(Some((begin, seen)), None, at));
                    }
                    let known = before.map_or(last_look, |_| look_before);
                    steps.extend(unchanged(before, known));
                    steps.extend(changed(before, is_new, known, (at, seen)));
                }
                QuotaNote::Gone { group } => {
                    let before = last.remove(&group);
                    let steps = quotas.groups.entry(group).or_default();
                    steps.extend(unchanged(before, look_before));
                    steps.extend(uncounted(before, look_before, at));
                }
            }
        }
        for (group, before) in last {
            let steps = quotas.groups.entry(group).or_default();
            steps.extend(unchanged(Some(before), look_before));
            steps.extend(last_look.and_then(|at| uncounted(Some(before), look_before, at)));
        }
        quotas.groups.retain(|_, steps| !steps.is_empty());
        last_look.map(|_| quotas)
    }

    /// Adds what was seen later, in a recording of its own.
    pub fn append(&mut self, later: Self) {
        for (group, steps) in later.groups {
            self.groups.entry(group).or_default().extend(steps);
        }
    }

    /// When the group itself had a quota, in the order of time; empty where it had none.
    pub fn steps(&self, group: &str) -> &[QuotaStep] {
        self.groups.get(group).map_or(&[], Vec::as_slice)
    }
}

fn since(
    before: Option<(Timestamp, QuotaSeen)>,
    last_look: Option<Timestamp>,
    at: Timestamp,
) -> TimeRange {
    let begin = before.map(|(at, _)| at).max(last_look);
    TimeRange::new(begin.unwrap_or(at), at)
}

/// The looks at which nothing had changed.
fn unchanged(
    before: Option<(Timestamp, QuotaSeen)>,
    last_look: Option<Timestamp>,
) -> Option<QuotaStep> {
    let (at, was) = before?;
    let until = last_look.filter(|look| *look > at)?;
    let range = TimeRange::new(at, until);
    let counted = Some(QuotaCounts::default());
    Some(QuotaStep::of_one(range, was.limit?, counted))
}

/// The time since, of which nothing was counted.
fn uncounted(
    before: Option<(Timestamp, QuotaSeen)>,
    last_look: Option<Timestamp>,
    at: Timestamp,
) -> Option<QuotaStep> {
    let range = since(before, last_look, at);
    let limit = before.and_then(|(_, was)| was.limit)?;
    (!range.is_empty()).then_some(QuotaStep::of_one(range, limit, None))
}

/// Where a quota was changed between two looks, what was counted is mostly of the smaller one.
fn tighter(before: Option<QuotaLimit>, now: Option<QuotaLimit>) -> Option<QuotaLimit> {
    let limits = [now, before].into_iter().flatten();
    limits.min_by(|one, other| one.share().total_cmp(&other.share()))
}

/// What changed since the last look.
fn changed(
    before: Option<(Timestamp, QuotaSeen)>,
    is_new: bool,
    last_look: Option<Timestamp>,
    (at, seen): (Timestamp, QuotaSeen),
) -> Option<QuotaStep> {
    let range = since(before, last_look, at);
    let limit_before = before.and_then(|(_, was)| was.limit);
    let limit = tighter(limit_before, seen.limit)?;
    if range.is_empty() {
        return None;
    }
    let counts = |from: QuotaSeen| QuotaCounts {
        periods: seen.periods.saturating_sub(from.periods),
        throttled: seen.throttled.saturating_sub(from.throttled),
        stopped: Nanoseconds(seen.stopped.get().saturating_sub(from.stopped.get())),
    };
    let all = counts(QuotaSeen {
        limit: None,
        periods: 0,
        throttled: 0,
        stopped: Nanoseconds::ZERO,
    });
    // What a group that was there before has counted may be older, if it is too much.
    let may_be_all = || all.periods <= range.length().get() / limit.period.get().max(1) + 1;
    let counted = match before {
        Some((_, was)) => Some(counts(was)),
        None => Some(all).filter(|_| is_new || may_be_all()),
    };
    Some(QuotaStep {
        range,
        limit,
        before: limit_before,
        after: seen.limit,
        counted,
        is_new: before.is_none(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMIT: QuotaLimit = QuotaLimit {
        quota: Nanoseconds(10_000_000),
        period: Nanoseconds(100_000_000),
        burst: Nanoseconds::ZERO,
    };

    fn at(tenths: i64) -> Timestamp {
        Timestamp::from_ns(tenths * 100_000_000)
    }

    fn group(limit: Option<QuotaLimit>, is_new: bool, [periods, throttled]: [u64; 2]) -> QuotaNote {
        QuotaNote::Group {
            group: "/a".to_owned(),
            is_new,
            seen: QuotaSeen {
                limit,
                periods,
                throttled,
                stopped: Nanoseconds(throttled * 1000),
            },
        }
    }

    const LOOK: QuotaNote = QuotaNote::Look { has_more: false };

    /// Begin and end of each step in tenths of a second, and what was counted.
    fn steps(notes: Vec<(i64, QuotaNote)>) -> Vec<(i64, i64, Option<[u64; 2]>)> {
        steps_since(0, notes)
    }

    /// The same of a recording that begins at `begin`.
    fn steps_since(begin: i64, notes: Vec<(i64, QuotaNote)>) -> Vec<(i64, i64, Option<[u64; 2]>)> {
        let notes = notes.into_iter().map(|(when, note)| (at(when), note));
        let quotas = GroupQuotas::new(at(begin), notes).expect("a look");
        let steps = quotas.steps("/a").iter().map(|step| {
            let tenths = |at: Timestamp| at.ns() / 100_000_000;
            let counted = step.counted.map(|of| [of.periods, of.throttled]);
            (tenths(step.range.begin), tenths(step.range.end), counted)
        });
        steps.collect()
    }

    #[test]
    fn counts_are_of_the_time_since_the_last_look() {
        let found = steps(vec![
            (0, group(Some(LIMIT), false, [700, 50])),
            (0, LOOK),
            (10, LOOK),
            (20, LOOK),
            (30, group(Some(LIMIT), false, [708, 53])),
            (30, LOOK),
            (40, group(None, false, [710, 55])),
            (40, LOOK),
            (50, group(None, false, [710, 55])),
            (50, LOOK),
        ]);
        let expected = [
            (0, 10, Some([0, 0])),
            (10, 30, Some([8, 3])),
            (30, 40, Some([2, 2])),
        ];
        assert_eq!(found, expected);
    }

    #[test]
    fn what_is_new_began_at_nothing_and_what_is_gone_was_not_counted_at_last() {
        let new = |is_new, counts| {
            steps(vec![
                (0, LOOK),
                (10, group(Some(LIMIT), is_new, counts)),
                (10, LOOK),
                (
                    20,
                    QuotaNote::Gone {
                        group: "/a".to_owned(),
                    },
                ),
                (20, LOOK),
            ])
        };
        assert_eq!(new(true, [7, 3]), [(0, 10, Some([7, 3])), (10, 20, None)]);
        // A quota was set: all counted since, where there was time enough for it.
        assert_eq!(new(false, [7, 3])[0], (0, 10, Some([7, 3])));
        assert_eq!(new(false, [70, 30])[0], (0, 10, None));
        // The same name, made anew.
        let again = steps(vec![
            (0, group(Some(LIMIT), false, [700, 50])),
            (0, LOOK),
            (10, group(Some(LIMIT), false, [5, 4])),
            (10, LOOK),
        ]);
        assert_eq!(again, [(0, 10, Some([5, 4]))]);
    }

    #[test]
    fn without_a_whole_look_no_group_is_known_to_have_none() {
        let seen = (at(0), group(Some(LIMIT), false, [0, 0]));
        assert_eq!(GroupQuotas::new(at(0), [seen]), None);
        let looks = |has_more| {
            let look = (at(0), QuotaNote::Look { has_more });
            GroupQuotas::new(at(0), [look]).is_some()
        };
        assert_eq!((looks(false), looks(true)), (true, false));
    }

    #[test]
    fn before_the_first_look_nobody_counted() {
        // As where a recorder was killed, and somebody else looked at the end.
        let only_one = vec![(30, group(Some(LIMIT), false, [9, 5])), (30, LOOK)];
        assert_eq!(steps_since(10, only_one.clone()), [(10, 30, None)]);
        assert_eq!(steps_since(40, only_one), []);
        let waived = vec![(30, group(None, false, [9, 5])), (30, LOOK)];
        assert_eq!(steps_since(10, waived), []);
    }

    #[test]
    fn who_had_a_quota_earlier_has_counted_since_then() {
        let found = steps(vec![
            (0, group(None, false, [2, 1])),
            (0, LOOK),
            (10, group(Some(LIMIT), false, [5, 3])),
            (10, LOOK),
        ]);
        assert_eq!(found, [(0, 10, Some([3, 2]))]);
    }

    #[test]
    fn what_is_noted_twice_counts_once() {
        let once = vec![
            (0, LOOK),
            (10, group(Some(LIMIT), true, [5, 3])),
            (10, LOOK),
            (20, group(Some(LIMIT), false, [9, 6])),
            (20, LOOK),
        ];
        let twice = once.iter().flat_map(|note| [note.clone(), note.clone()]);
        let expected = [(0, 10, Some([5, 3])), (10, 20, Some([4, 3]))];
        assert_eq!(steps(once.clone()), expected);
        assert_eq!(steps(twice.collect()), expected);
    }
}
