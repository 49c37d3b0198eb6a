//! An exploration as its folder has it, for those who look at it from outside, also while it runs.
//!
//! Everything is read from the store, the specification too, so that no other file is needed; nothing is written and
//! nothing waits. How far it is ([`Progress`]) is told cheaply, so that it can be asked for often.

mod heat_map;
mod recommended;
#[cfg(test)]
mod tests;
mod trials;

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

use serde::Serialize;
use utoipa::ToSchema;

pub use heat_map::{Axis, Cell, HeatMap, HeatMapAsked, NoHeatMap, Panel};
pub use recommended::{Recommended, RecommendedFile};
pub use trials::{Drift, TrialRow, drifts};

use crate::exploration::is_at_work;
use crate::results::{Luck, Results, Standing};
use crate::space::Parameter;
use crate::spec::{self, Spec, SpecError};
use crate::store::{About, FILE_NAME, Reason, Store, StoreError};
use crate::value::{Configuration, ParameterValue, Value};

/// An exploration cannot be shown.
#[derive(Debug, thiserror::Error)]
pub enum NotShown {
    /// Its store cannot be read.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The specification in the store is none that this version understands.
    #[error(transparent)]
    Specification(#[from] SpecError),
}

/// The folder of an exploration that `path` is, or whose store it is.
pub fn exploration_at(path: &Path) -> Option<PathBuf> {
    if path.join(FILE_NAME).is_file() {
        return Some(path.to_owned());
    }
    let is_store = path.is_file() && path.file_name().is_some_and(|name| name == FILE_NAME);
    is_store.then(|| path.parent().unwrap_or(Path::new("")).to_owned())
}

/// Whether anything still comes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "kebab-case")]
#[schema(as = ExplorationState)]
pub enum State {
    /// Trials run.
    Running,
    /// All trials have been run; reasons are looked for.
    Explaining,
    /// It is over.
    Ended,
    /// Its explorer is gone before the end; `--resume` goes on.
    Interrupted,
}

/// How far an exploration is.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
#[schema(as = ExplorationProgress)]
pub struct Progress {
    /// Whether anything still comes.
    pub state: State,
    /// How many trials are planned so far, those that have ended among them; a policy may want more.
    pub planned: u64,
    /// How many trials have ended.
    pub ended: u64,
    /// What runs now; null where nothing does.
    #[schema(required)]
    pub running: Option<Configuration>,
    /// Why it has ended, in words; null where it has not.
    #[schema(required)]
    pub end: Option<String>,
    /// Another text whenever the exploration holds something else.
    pub revision: String,
}

impl Progress {
    /// Of the exploration in `folder`.
    ///
    /// # Errors
    /// Where its store cannot be read.
    pub fn of(folder: &Path) -> Result<Self, StoreError> {
        let store = Store::open(folder)?;
        store.at_one_moment(|store| Self::read(store, folder))
    }

    fn read(store: &Store, folder: &Path) -> Result<Self, StoreError> {
        let about = store.about()?;
        let (planned, ended) = store.counts()?;
        let state = match (is_at_work(folder), &about.end) {
            (true, None) => State::Running,
            (true, Some(_)) => State::Explaining,
            (false, Some(_)) => State::Ended,
            (false, None) => State::Interrupted,
        };
        let running = match state {
            State::Running => store.running()?,
            _ => None,
        };
        let (began, reasons) = (store.began_ns()?, store.reasons()?.len());
        Ok(Self {
            state,
            planned,
            ended,
            running,
            end: about.end,
            revision: format!("{began:x}-{ended}-{reasons}-{state:?}"),
        })
    }
}

/// All that there is to show of an exploration.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
#[schema(as = Exploration)]
pub struct Dashboard {
    /// How far it is.
    pub progress: Progress,
    /// What was found so far, as `slowpath explore --results json` gives it.
    pub results: Results,
    /// How many configurations cannot be told from the best.
    pub not_told_apart: u64,
    /// How many configurations have too few trials to say whether they can.
    pub no_interval: u64,
    /// How far luck alone could make some seem worse than the best; null where none is said to be.
    #[schema(required)]
    pub luck: Option<Luck>,
    /// Milliseconds spent in trials.
    pub spent_ms: u64,
    /// Parameters with the values that were tried, in the specification's order.
    pub parameters: Vec<ParameterRow>,
    /// Metrics, objectives first.
    pub metrics: Vec<MetricName>,
    /// Every trial that has ended, in the order in which they ran.
    pub trials: Vec<TrialRow>,
    /// How much each objective changed with time alone, in the objectives' order.
    pub drift: Vec<Drift>,
    /// What the policy concludes; empty before the end.
    pub conclusions: Vec<String>,
    /// Why configurations differ; empty before they were looked for.
    pub reasons: Vec<Reason>,
    /// The best configuration as files; null where no trial has a result.
    #[schema(required)]
    pub recommended: Option<Recommended>,
}

/// A parameter and its values.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
#[schema(as = ExploredParameter)]
pub struct ParameterRow {
    /// Its name.
    pub name: String,
    /// Values that were tried, numbers by size, others in the specification's order.
    #[schema(value_type = Vec<ParameterValue>)]
    pub values: Vec<Value>,
    /// Whether all of them are numbers.
    pub is_number: bool,
    /// Where it has a value in some configurations only: in how many of those that were tried it has none.
    pub without: u64,
}

/// A metric.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
#[schema(as = ExploredMetric)]
pub struct MetricName {
    /// Its name.
    pub name: String,
    /// Its unit; empty where none was given.
    pub unit: String,
    /// `maximise` or `minimise`; null of what is no objective.
    #[schema(required)]
    pub goal: Option<&'static str>,
}

/// An exploration that has been read.
#[derive(Clone, Debug)]
pub struct ReadExploration {
    spec: Spec,
    /// All that there is to show.
    pub dashboard: Dashboard,
}

impl ReadExploration {
    /// Reads the exploration in `folder`.
    ///
    /// # Errors
    /// See [`NotShown`].
    pub fn of(folder: &Path) -> Result<Self, NotShown> {
        let store = Store::open(folder)?;
        let (about, progress, trials, times, conclusions, reasons) =
            store.at_one_moment(|store| {
                Ok((
                    store.about()?,
                    Progress::read(store, folder)?,
                    store.trials()?,
                    store.times()?,
                    store.conclusions()?,
                    store.reasons()?,
                ))
            })?;
        let spec = spec_of(&about, folder)?;
        let results = Results::new(&spec, &trials);
        let with = |standing| {
            let rows = results.configurations.iter();
            rows.filter(|row| row.standing == standing).count() as u64
        };
        let best = results.best().map(|row| &row.configuration);
        let dashboard = Dashboard {
            progress,
            not_told_apart: with(Standing::NotToldApart),
            no_interval: with(Standing::NoInterval),
            luck: results.luck(),
            spent_ms: about.spent_ms,
            parameters: (spec.space.parameters.iter())
                .map(|parameter| parameter_row(parameter, &results))
                .collect(),
            metrics: metric_names(&spec),
            trials: trials::rows(&results, &trials, &times),
            drift: drifts(&spec, &trials, &times),
            conclusions,
            reasons,
            recommended: best.map(|best| Recommended::of(best, folder)),
            results,
        };
        Ok(Self { spec, dashboard })
    }

    /// A metric over parameters; what is not said is chosen by what matters most.
    ///
    /// # Errors
    /// Where something that is asked for is not there.
    pub fn heat_map(&self, asked: &HeatMapAsked) -> Result<HeatMap, NoHeatMap> {
        heat_map::heat_map(&self.spec, &self.dashboard.results, asked)
    }
}

/// The specification of the exploration in `folder` as its trials have it, whatever its file says by now.
///
/// # Errors
/// See [`NotShown`].
pub fn as_it_began(folder: &Path) -> Result<Spec, NotShown> {
    let about = Store::open(folder)?.about()?;
    Ok(spec_of(&about, folder)?)
}

/// The specification that the store holds. Its name, where it has none, is that of the folder, which `slowpath explore`
/// names after the specification.
fn spec_of(about: &About, folder: &Path) -> Result<Spec, SpecError> {
    let full = folder.canonicalize().unwrap_or_else(|_| folder.to_owned());
    let name = full.file_name().unwrap_or_default().to_string_lossy();
    let name = name.strip_suffix("-exploration").unwrap_or(&name);
    let templates = templates(about);
    let load = |path: &Path| {
        let text = templates.get(path).cloned();
        text.ok_or_else(|| io::Error::from(io::ErrorKind::NotFound))
    };
    let file = full.join(FILE_NAME).display().to_string();
    Spec::parse(&about.specification, &file, name, Path::new(""), &load)
}

/// The texts of template files, as they were when the exploration began.
fn templates(about: &About) -> BTreeMap<PathBuf, String> {
    let text = match spec::is_xml(&about.specification) {
        true => spec::in_toml(&about.specification).map_or(String::new(), |xml| xml.text),
        false => about.specification.clone(),
    };
    let table: toml::Table = toml::from_str(&text).unwrap_or_default();
    let files = table.get("files").and_then(toml::Value::as_array);
    let files = files.into_iter().flatten().zip(&about.files);
    files
        .filter_map(|(file, text)| {
            let path = file.get("template")?.as_str()?;
            Some((PathBuf::from(path), text.clone()))
        })
        .collect()
}

fn parameter_row(parameter: &Parameter, results: &Results) -> ParameterRow {
    let tried = || results.configurations.iter().map(|row| &row.configuration);
    let values = values_of(parameter, tried());
    ParameterRow {
        name: parameter.name.clone(),
        is_number: !values.is_empty() && values.iter().all(is_number),
        values,
        without: tried()
            .filter(|one| one.get(&parameter.name).is_none())
            .count() as u64,
    }
}

/// Every value of a parameter in these configurations once, numbers by size, others in the specification's order.
fn values_of<'run>(
    parameter: &Parameter,
    tried: impl Iterator<Item = &'run Configuration>,
) -> Vec<Value> {
    let values = tried.filter_map(|one| one.get(&parameter.name));
    let by_words: BTreeMap<String, &Value> =
        values.map(|value| (value.to_string(), value)).collect();
    let mut values: Vec<Value> = by_words.into_values().cloned().collect();
    match values.iter().all(is_number) {
        true => values.sort_by(|one, two| number(one).total_cmp(&number(two))),
        false => {
            let order = parameter.domain.grid().unwrap_or_default();
            let place = |value: &Value| order.iter().position(|one| one.is_same(value));
            values.sort_by_key(|value| place(value).unwrap_or(order.len()));
        }
    }
    values
}

fn is_number(value: &Value) -> bool {
    matches!(value, Value::Integer(_) | Value::Float(_))
}

fn number(value: &Value) -> f64 {
    value.number().unwrap_or(f64::NAN)
}

fn metric_names(spec: &Spec) -> Vec<MetricName> {
    let goals = || spec.objectives.iter();
    let goal_of = |name: &str| {
        let objective = goals().find(|one| one.metric == name)?;
        Some(if objective.is_maximised {
            "maximise"
        } else {
            "minimise"
        })
    };
    let others = spec.metrics.keys().filter(|name| goal_of(name).is_none());
    let names = goals().map(|one| &one.metric).chain(others);
    names
        .map(|name| MetricName {
            name: name.clone(),
            unit: spec
                .metrics
                .get(name)
                .map_or(String::new(), |metric| metric.unit.clone()),
            goal: goal_of(name),
        })
        .collect()
}
