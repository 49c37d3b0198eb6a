//! What an exploration has found: configurations ranked, with intervals; which are not told apart from the best.
//!
//! Plain data, made from trials alone. Definitions: docs/reference/definitions.md.

use std::cmp::{Ordering, Reverse};
use std::collections::{BTreeMap, BTreeSet, HashMap};

use serde::Serialize;
use utoipa::ToSchema;

use crate::columns::column_names;
use crate::importance::{Importance, importance};
use crate::policy::halving;
use crate::rounds::without_rounds;
use crate::spec::{Objective, PolicyChoice, Spec};
use crate::statistics::{Difference, Sample, to_compare, worse_by_luck};
use crate::trial::{Outcome, Trial, by_configuration, complete};
use crate::value::Configuration;

/// All that was found.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
#[schema(as = ExplorationResults)]
pub struct Results {
    /// The exploration's name.
    pub name: String,
    /// Trials that have ended.
    pub trials: u64,
    /// How many of them failed.
    pub failed: u64,
    /// Of every interval.
    pub confidence: f64,
    /// What is wanted, the most important first.
    pub objectives: Vec<ObjectiveRow>,
    /// Names of parameters, in the specification's order.
    pub parameters: Vec<String>,
    /// The best by the first objective first; those that the policy stopped and those that failed come last.
    pub configurations: Vec<Row>,
    /// Whether configurations ran in different rounds of the policy, so that they are not ranked by their means alone: what
    /// a policy that throws configurations out kept for longer is before what it did not, and what rounds differ by, as
    /// configurations in several of them tell, is taken off.
    pub is_by_rounds: bool,
    /// What the first objective depends on; null where too little was tried.
    #[schema(required)]
    pub importance: Option<Importance>,
    /// Trials whose metrics lack something.
    pub notes: Vec<Note>,
}

/// What the metrics of a trial lack: records of probes that were lost, for instance.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
#[schema(as = ExplorationNote)]
pub struct Note {
    /// The trial.
    pub trial: i64,
    /// In words.
    pub words: String,
}

/// An objective.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
#[schema(as = Objective)]
pub struct ObjectiveRow {
    /// Its metric.
    pub metric: String,
    /// The metric's unit.
    pub unit: String,
    /// `maximise` or `minimise`.
    pub goal: &'static str,
    /// How much trials of one configuration differ, as a share of their mean: the square root of the mean squared
    /// coefficient of variation. Null where nothing was repeated.
    #[schema(required)]
    pub noise: Option<f64>,
}

/// A configuration.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
#[schema(as = TriedConfiguration)]
pub struct Row {
    /// 1 for the best; null where it has no result.
    #[schema(required)]
    pub rank: Option<u64>,
    /// Its parameters.
    pub configuration: Configuration,
    /// How its trials ended, by outcome.
    pub outcomes: BTreeMap<String, u64>,
    /// Metrics of its good trials.
    pub metrics: BTreeMap<String, MetricRow>,
    /// How it stands to the best.
    pub standing: Standing,
    /// By how much its first objective differs from that of the best; null where there is no interval, and of the best.
    #[schema(required)]
    pub difference: Option<Difference>,
    /// Whether no other configuration is better in one objective and not worse in any, by their means.
    pub is_on_front: bool,
}

/// A metric over trials.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, ToSchema)]
#[schema(as = MetricOfConfiguration)]
pub struct MetricRow {
    /// How many trials.
    pub count: u64,
    /// Their mean.
    pub mean: f64,
    /// Half the width of its interval; null of a single trial.
    #[schema(required)]
    pub half_width: Option<f64>,
}

/// What chance alone would make of comparisons with the best, which is partly lucky.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, ToSchema)]
#[schema(as = ExplorationLuck)]
pub struct Luck {
    /// How many configurations were compared, the best among them.
    pub rivals: u64,
    /// The share of so many equally good ones that at most would seem worse, each being compared by itself.
    pub share: f64,
}

/// How a configuration stands to the best.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Standing {
    /// It is the best.
    Best,
    /// The interval of the difference does not say that it is worse.
    NotToldApart,
    /// It is worse, and the interval says so.
    Worse,
    /// There are too few trials to say, or the policy stopped them.
    NoInterval,
    /// Some of its trials failed.
    Unreliable,
    /// All of its trials failed.
    Failed,
}

impl Results {
    /// Of these trials.
    pub fn new(spec: &Spec, trials: &[Trial]) -> Self {
        let rounds = rounds_reached(spec, trials);
        let trials = &*complete(trials);
        let groups = by_configuration(trials).into_iter().map(|trials| Group {
            configuration: &trials[0].configuration,
            trials,
        });
        let mut groups: Vec<Group<'_>> = groups.collect();
        let first = &spec.objectives[0];
        let confidence = spec.trials.confidence;
        let alike = Alike::of(spec, trials);
        groups.sort_by_cached_key(|group| {
            let round = rounds.get(&group.configuration.key()).copied();
            // Where the first objective decides nothing, the next ones do.
            let costs = spec.objectives.iter();
            let costs = costs.map(|objective| Ordered(alike.cost(group, objective)));
            let costs = costs.collect::<Vec<_>>();
            let has_none = group.sample(&first.metric).is_none();
            (has_none, group.fails(), Reverse(round.unwrap_or(0)), costs)
        });
        let front = front(&groups, &spec.objectives, &alike);
        let rows = groups
            .iter()
            .zip(front)
            .enumerate()
            .map(|(place, (group, is_on_front))| {
                let sample = group.sample(&first.metric);
                let difference = match place {
                    0 => None,
                    _ => groups[0].difference(group, &first.metric, confidence),
                };
                Row {
                    rank: sample.map(|_| place as u64 + 1),
                    configuration: group.configuration.clone(),
                    outcomes: group.outcomes(),
                    metrics: group.metrics(spec, confidence),
                    standing: match (sample, group.fails(), difference) {
                        (None, ..) if group.is_stopped() => Standing::NoInterval,
                        (None, ..) => Standing::Failed,
                        _ if place == 0 => Standing::Best,
                        (_, Fails::AtTimes, _) => Standing::Unreliable,
                        (_, _, None) => Standing::NoInterval,
                        (_, _, Some(difference)) if is_worse(first, difference) => Standing::Worse,
                        _ => Standing::NotToldApart,
                    },
                    difference,
                    is_on_front,
                }
            });
        let sampled = groups
            .iter()
            .filter_map(|group| Some((group.configuration, alike.sample(group, &first.metric)?)));
        Self {
            name: spec.name.clone(),
            trials: trials.len() as u64,
            failed: trials.iter().filter(|trial| trial.is_failed()).count() as u64,
            confidence,
            objectives: spec
                .objectives
                .iter()
                .map(|objective| objective_row(spec, objective, &groups))
                .collect(),
            parameters: spec
                .space
                .parameters
                .iter()
                .map(|parameter| parameter.name.clone())
                .collect(),
            configurations: rows.collect(),
            is_by_rounds: alike.are_some(),
            importance: importance(&spec.space, &sampled.collect::<Vec<_>>()),
            notes: (trials.iter())
                .filter(|trial| !trial.notes.is_empty())
                .map(|trial| Note {
                    trial: trial.id,
                    words: trial.notes.clone(),
                })
                .collect(),
        }
    }

    /// The best configuration, if any has a result.
    pub fn best(&self) -> Option<&Row> {
        self.configurations.first().filter(|row| row.rank.is_some())
    }

    /// What luck would make of as many as were compared; `None` where none is said to be worse, or two alone were compared.
    /// Where values do not vary, no luck is in a comparison.
    pub fn luck(&self) -> Option<Luck> {
        let rows = || self.configurations.iter();
        let is_uncertain = |row: &&Row| row.difference.is_some_and(|one| one.low < one.high);
        let rivals = rows().filter(is_uncertain).count() as u64 + 1;
        let is_any_worse = rows().any(|row| row.standing == Standing::Worse);
        (rivals > 2 && is_any_worse).then(|| Luck {
            rivals,
            share: worse_by_luck(rivals, self.confidence),
        })
    }

    /// The worst one that has a result, and is not the best.
    pub fn worst(&self) -> Option<&Row> {
        self.configurations
            .iter()
            .skip(1)
            .rev()
            .find(|row| row.rank.is_some())
    }
}

impl Row {
    /// How many of its trials failed.
    pub fn failed(&self) -> u64 {
        let outcomes = self.outcomes.iter();
        let failed = outcomes.filter(|(name, _)| !["good", "stopped"].contains(&name.as_str()));
        failed.map(|(_, count)| count).sum()
    }
}

/// All trials of a configuration.
struct Group<'run> {
    configuration: &'run Configuration,
    trials: Vec<&'run Trial>,
}

/// Whether a difference from the best is one to the worse.
fn is_worse(objective: &Objective, difference: Difference) -> bool {
    difference.is_told_apart() && objective.cost(difference.estimate) > 0.0
}

/// The last round for which a policy that throws configurations out wanted each of them; none of other policies.
fn rounds_reached(spec: &Spec, trials: &[Trial]) -> HashMap<String, u32> {
    let (true, Some(last)) = (
        matches!(spec.policy, PolicyChoice::Halving { .. }),
        trials.last().map(|trial| trial.batch),
    ) else {
        return HashMap::new();
    };
    let mut rounds: HashMap<String, u32> = HashMap::new();
    for trial in trials {
        let round = rounds.entry(trial.configuration.key()).or_default();
        *round = trial.batch.max(*round);
    }
    // The last round may not have been run whole.
    for configuration in halving::wanted_for(spec, trials, last) {
        rounds.insert(configuration.key(), last);
    }
    rounds
}

/// Metrics of objectives as if rounds did not differ.
struct Alike(BTreeMap<String, HashMap<i64, f64>>);

impl Alike {
    fn of(spec: &Spec, trials: &[Trial]) -> Self {
        let metrics = spec.objectives.iter().map(|objective| &objective.metric);
        let without =
            metrics.filter_map(|metric| Some((metric.clone(), without_rounds(trials, metric)?)));
        Self(without.collect())
    }

    fn are_some(&self) -> bool {
        !self.0.is_empty()
    }

    fn sample(&self, group: &Group<'_>, metric: &str) -> Option<Sample> {
        let Some(without) = self.0.get(metric) else {
            return group.sample(metric);
        };
        let values = (group.trials.iter()).filter_map(|trial| without.get(&trial.id).copied());
        Sample::of(&values.collect::<Vec<f64>>())
    }

    fn cost(&self, group: &Group<'_>, objective: &Objective) -> f64 {
        let sample = self.sample(group, &objective.metric);
        sample.map_or(f64::INFINITY, |sample| {
            to_compare(objective.cost(sample.mean))
        })
    }
}

/// A number with an order.
#[derive(Clone, Copy, PartialEq)]
struct Ordered(f64);

impl Eq for Ordered {}

impl PartialOrd for Ordered {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Ordered {
    fn cmp(&self, other: &Self) -> Ordering {
        self.0.total_cmp(&other.0)
    }
}

/// How often trials fail.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Fails {
    Never,
    AtTimes,
    Always,
}

impl Group<'_> {
    fn fails(&self) -> Fails {
        match self.trials.iter().filter(|trial| trial.is_failed()).count() {
            0 => Fails::Never,
            all if all == self.trials.len() => Fails::Always,
            _ => Fails::AtTimes,
        }
    }

    fn is_stopped(&self) -> bool {
        (self.trials.iter()).any(|trial| trial.outcome == Outcome::Stopped)
    }

    fn sample(&self, metric: &str) -> Option<Sample> {
        let values: Vec<f64> = self
            .trials
            .iter()
            .filter_map(|trial| trial.measures.get(metric).copied())
            .collect();
        Sample::of(&values)
    }

    /// How far another one lies above this one, by what ran in the same rounds; by all where none was the same.
    fn difference(&self, other: &Self, metric: &str, confidence: f64) -> Option<Difference> {
        let rounds = |group: &Self| -> BTreeSet<u32> {
            let good = (group.trials.iter()).filter(|trial| trial.measures.contains_key(metric));
            good.map(|trial| trial.batch).collect()
        };
        let (own, others) = (rounds(self), rounds(other));
        let common: BTreeSet<u32> = own.intersection(&others).copied().collect();
        let sample = |group: &Self| {
            let counts = |trial: &&&Trial| common.is_empty() || common.contains(&trial.batch);
            let trials = group.trials.iter().filter(counts);
            let values = trials.filter_map(|trial| trial.measures.get(metric).copied());
            Sample::of(&values.collect::<Vec<f64>>())
        };
        sample(self)?.difference(&sample(other)?, confidence)
    }

    fn outcomes(&self) -> BTreeMap<String, u64> {
        let mut outcomes = BTreeMap::new();
        for trial in &self.trials {
            *outcomes.entry(trial.outcome.name().to_owned()).or_default() += 1;
        }
        outcomes
    }

    fn metrics(&self, spec: &Spec, confidence: f64) -> BTreeMap<String, MetricRow> {
        let row = |name: &String| {
            let sample = self.sample(name)?;
            let half_width = sample.half_width(confidence);
            Some((
                name.clone(),
                MetricRow {
                    count: sample.count,
                    mean: sample.mean,
                    half_width,
                },
            ))
        };
        spec.metrics.keys().filter_map(row).collect()
    }
}

/// For each group, whether none is better in one objective and not worse in any; of those that never fail only such count.
fn front(groups: &[Group<'_>], objectives: &[Objective], alike: &Alike) -> Vec<bool> {
    let costs = groups.iter().map(|group| {
        objectives
            .iter()
            .map(|one| alike.cost(group, one))
            .collect()
    });
    let costs: Vec<Vec<f64>> = costs.collect();
    let dominates = |one: &[f64], other: &[f64]| {
        one.iter().zip(other).all(|(one, other)| one <= other)
            && one.iter().zip(other).any(|(one, other)| one < other)
    };
    let is_on_front = |(group, own): (&Group<'_>, &Vec<f64>)| {
        let counts =
            |other: &Group<'_>| group.fails() != Fails::Never || other.fails() == Fails::Never;
        let mut others = groups.iter().zip(&costs);
        own.iter().all(|cost| cost.is_finite())
            && !others.any(|(other, costs)| counts(other) && dominates(costs, own))
    };
    groups.iter().zip(&costs).map(is_on_front).collect()
}

fn objective_row(spec: &Spec, objective: &Objective, groups: &[Group<'_>]) -> ObjectiveRow {
    let samples = groups
        .iter()
        .filter_map(|group| group.sample(&objective.metric));
    let (mut squares, mut freedom) = (0.0, 0.0);
    for sample in samples.filter(|sample| sample.count > 1 && sample.mean != 0.0) {
        let own = (sample.count - 1) as f64;
        squares += own * sample.variance / sample.mean.powi(2);
        freedom += own;
    }
    ObjectiveRow {
        metric: objective.metric.clone(),
        unit: spec
            .metrics
            .get(&objective.metric)
            .map_or(String::new(), |metric| metric.unit.clone()),
        goal: if objective.is_maximised {
            "maximise"
        } else {
            "minimise"
        },
        noise: (freedom > 0.0).then(|| (squares / freedom).sqrt()),
    }
}

/// A line for each trial, with commas between; the first one has names. Texts with commas, quotes or line ends are quoted
/// (RFC 4180).
pub fn csv(spec: &Spec, trials: &[Trial]) -> String {
    let quoted = |text: &str| match text.contains([',', '"', '\n', '\r']) {
        true => format!("\"{}\"", text.replace('"', "\"\"")),
        false => text.to_owned(),
    };
    let parameters: Vec<&str> = spec
        .space
        .parameters
        .iter()
        .map(|parameter| parameter.name.as_str())
        .collect();
    let heads = column_names(spec);
    let heads: Vec<String> = heads.iter().map(|name| quoted(name)).collect();
    let mut text = heads.join(",") + "\n";
    for trial in trials {
        let mut cells = vec![
            trial.id.to_string(),
            trial.batch.to_string(),
            trial.outcome.name().to_owned(),
        ];
        let value = |name: &&str| {
            trial
                .configuration
                .get(name)
                .map_or(String::new(), ToString::to_string)
        };
        cells.extend(parameters.iter().map(|name| quoted(&value(name))));
        let measure = |name: &String| {
            trial
                .measures
                .get(name)
                .map_or(String::new(), f64::to_string)
        };
        cells.extend(spec.metrics.keys().map(measure));
        cells.push(quoted(trial.words()));
        text += &(cells.join(",") + "\n");
    }
    text
}
