//! Trials one by one, and how much an objective changed with time alone: what is left of noise and drift when the
//! configurations' own differences are taken away.

use std::collections::{BTreeMap, HashMap};

use serde::Serialize;
use utoipa::ToSchema;

use crate::results::Results;
use crate::spec::Spec;
use crate::statistics::{Difference, common_slope, mean};
use crate::trial::{Outcome, Trial, by_configuration, complete};

/// From when to when each trial ran, in nanoseconds since the epoch.
pub type Times = BTreeMap<i64, (i64, i64)>;

/// Trials of a configuration tell of a change with time where they lie so much of all the time apart.
const LEAST_APART: f64 = 0.3;

/// A trial that has ended.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
#[schema(as = ExploredTrial)]
pub struct TrialRow {
    /// Its number, in the order in which trials run.
    pub trial: i64,
    /// The place of its configuration in `results.configurations`.
    pub configuration: usize,
    /// How it ended.
    pub outcome: String,
    /// What went wrong, or what its metrics lack; empty where nothing.
    pub words: String,
    /// When it began, in milliseconds since the first one did; null where that is not known.
    #[schema(required)]
    pub begin_ms: Option<i64>,
    /// How long it took in all, in milliseconds; null where that is not known.
    #[schema(required)]
    pub duration_ms: Option<i64>,
    /// What was measured, by metric; empty where it failed.
    pub measures: BTreeMap<String, f64>,
    /// By metric, how far it lies from the mean of its configuration, as a share of that; none of what was run once, and of
    /// a trial that was stopped where others ran to their end.
    pub deviations: BTreeMap<String, f64>,
}

/// How much an objective changed with time alone.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
#[schema(as = ExplorationDrift)]
pub struct Drift {
    /// The objective's metric.
    pub metric: String,
    /// From the first trial to the last, as a share of a configuration's mean, along a line that all configurations have in
    /// common; null where too little was repeated.
    #[schema(required)]
    pub change: Option<Difference>,
}

pub(super) fn rows(results: &Results, trials: &[Trial], times: &Times) -> Vec<TrialRow> {
    let places: HashMap<String, usize> = (results.configurations.iter().enumerate())
        .map(|(place, row)| (row.configuration.key(), place))
        .collect();
    let first = times.values().map(|(begin, _)| *begin).min();
    let is_any_good = trials.iter().any(|trial| trial.outcome == Outcome::Good);
    let ms = |from: i64, to: i64| to.saturating_sub(from) / 1_000_000;
    let row = |trial: &Trial| {
        let place = *places.get(&trial.configuration.key())?;
        let known = &results.configurations[place].metrics;
        // The mean is of complete trials alone, which a part of one cannot be compared with.
        let is_part = is_any_good && trial.outcome == Outcome::Stopped;
        let deviation = |(name, value): (&String, &f64)| {
            let metric = known.get(name).filter(|_| !is_part)?;
            let is_repeated = metric.count > 1 && metric.mean != 0.0;
            is_repeated.then(|| (name.clone(), value / metric.mean - 1.0))
        };
        let time = times.get(&trial.id).zip(first);
        Some(TrialRow {
            trial: trial.id,
            configuration: place,
            outcome: trial.outcome.name().to_owned(),
            words: trial.words().to_owned(),
            begin_ms: time.map(|((begin, _), first)| ms(first, *begin)),
            duration_ms: time.map(|((begin, end), _)| ms(*begin, *end)),
            deviations: trial.measures.iter().filter_map(deviation).collect(),
            measures: trial.measures.clone(),
        })
    };
    trials.iter().filter_map(row).collect()
}

/// For each objective, how it changed with time alone; of times in nanoseconds, from when to when each trial ran.
pub fn drifts(spec: &Spec, trials: &[Trial], times: &Times) -> Vec<Drift> {
    let trials = &*complete(trials);
    let begins = || trials.iter().filter_map(|trial| times.get(&trial.id));
    let first = begins().map(|(begin, _)| *begin).min().unwrap_or_default();
    let last = begins().map(|(begin, _)| *begin).max().unwrap_or_default();
    let groups = by_configuration(trials);
    let of = |metric: &String| {
        // The time as a share of all, so that the slope is the change over all of it.
        let point = |trial: &&Trial| {
            let (begin, _) = times.get(&trial.id)?;
            let all = last.saturating_sub(first).max(1);
            let share = begin.saturating_sub(first) as f64 / all as f64;
            Some((share, *trial.measures.get(metric)?))
        };
        let groups = groups.iter().map(|group| {
            let points: Vec<(f64, f64)> = group.iter().filter_map(point).collect();
            let mean = mean(&points.iter().map(|(_, value)| *value).collect::<Vec<_>>());
            let is_share = mean != 0.0 && mean.is_finite();
            let shares = points.into_iter().filter(|_| is_share);
            shares
                .map(|(time, value)| (time, value / mean))
                .collect::<Vec<(f64, f64)>>()
        });
        let groups: Vec<_> = groups.filter(|one| lie_apart(one)).collect();
        common_slope(&groups, spec.trials.confidence)
    };
    (spec.objectives.iter())
        .map(|objective| Drift {
            metric: objective.metric.clone(),
            change: of(&objective.metric),
        })
        .collect()
}

/// Whether what these say of a change holds for all of the time: they lie a good part of it apart. Where a policy runs all
/// trials of a configuration one after the other, the little that they differ by would be told as many times that.
fn lie_apart(points: &[(f64, f64)]) -> bool {
    let times = || points.iter().map(|(time, _)| *time);
    let last = times().fold(f64::NEG_INFINITY, f64::max);
    last - times().fold(f64::INFINITY, f64::min) >= LEAST_APART
}
