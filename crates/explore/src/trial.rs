//! A trial: one configuration run once, and what came of it.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap};

use crate::value::Configuration;

/// A trial that has ended.
#[derive(Clone, Debug, PartialEq)]
pub struct Trial {
    /// Its number, in the order in which trials run.
    pub id: i64,
    /// Which time the policy asked for configurations.
    pub batch: u32,
    /// What it ran with.
    pub configuration: Configuration,
    /// How it ended.
    pub outcome: Outcome,
    /// What was measured, by metric; empty where it failed.
    pub measures: BTreeMap<String, f64>,
    /// What its metrics lack, in words; empty where nothing.
    pub notes: String,
}

/// How a trial ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The workload ended well, and every metric was found.
    Good,
    /// The policy had seen enough; metrics are of what ran until then.
    Stopped,
    /// It gave no result.
    Failed {
        /// Of what kind.
        kind: Failure,
        /// In words.
        what: String,
    },
}

/// Why a trial gave no result.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Failure {
    /// A file or a command of the specification could not be applied.
    Apply,
    /// The system did not become ready.
    NotReady,
    /// The system ended while it was needed.
    SystemEnded,
    /// The workload ended with a failure.
    Workload,
    /// The workload took too long.
    TimedOut,
    /// A metric is not in what the workload printed.
    NoMetric,
    /// It printed more than anybody wants to keep.
    TooMuchOutput,
    /// The agent that was to run it was cut off for too long.
    Unreachable,
}

impl Failure {
    /// Every kind.
    pub const ALL: [Self; 8] = [
        Self::Apply,
        Self::NotReady,
        Self::SystemEnded,
        Self::Workload,
        Self::TimedOut,
        Self::NoMetric,
        Self::TooMuchOutput,
        Self::Unreachable,
    ];

    /// The name in every output.
    pub fn name(self) -> &'static str {
        match self {
            Self::Apply => "apply",
            Self::NotReady => "not-ready",
            Self::SystemEnded => "system-ended",
            Self::Workload => "workload",
            Self::TimedOut => "timed-out",
            Self::NoMetric => "no-metric",
            Self::TooMuchOutput => "too-much-output",
            Self::Unreachable => "unreachable",
        }
    }
}

impl Outcome {
    /// The name in every output.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Good => "good",
            Self::Stopped => "stopped",
            Self::Failed { kind, .. } => kind.name(),
        }
    }

    /// What went wrong, in words; empty where nothing did.
    pub fn words(&self) -> &str {
        match self {
            Self::Failed { what, .. } => what,
            _ => "",
        }
    }

    /// The outcome of this name.
    pub(crate) fn from_name(name: &str, words: String) -> Option<Self> {
        match name {
            "good" => Some(Self::Good),
            "stopped" => Some(Self::Stopped),
            _ => {
                let kind = Failure::ALL.into_iter().find(|kind| kind.name() == name)?;
                Some(Self::Failed { kind, what: words })
            }
        }
    }
}

/// Trials without the numbers of those that a policy stopped, unless none ran to its end.
pub(crate) fn complete(trials: &[Trial]) -> Cow<'_, [Trial]> {
    let any = |outcome: Outcome| trials.iter().any(|trial| trial.outcome == outcome);
    if !(any(Outcome::Good) && any(Outcome::Stopped)) {
        return Cow::Borrowed(trials);
    }
    let mut trials = trials.to_vec();
    for trial in &mut trials {
        if trial.outcome == Outcome::Stopped {
            trial.measures.clear();
        }
    }
    Cow::Owned(trials)
}

/// Trials of one configuration each, in the order in which configurations were first tried.
pub(crate) fn by_configuration(trials: &[Trial]) -> Vec<Vec<&Trial>> {
    let mut places = HashMap::new();
    let mut groups: Vec<Vec<&Trial>> = Vec::new();
    for trial in trials {
        let place = *places.entry(trial.configuration.key()).or_insert_with(|| {
            groups.push(Vec::new());
            groups.len() - 1
        });
        groups[place].push(trial);
    }
    groups
}

impl Trial {
    /// Whether it failed.
    pub fn is_failed(&self) -> bool {
        matches!(self.outcome, Outcome::Failed { .. })
    }

    /// Why it failed, or what its metrics lack; empty where nothing is to be said.
    pub fn words(&self) -> &str {
        match &self.outcome {
            Outcome::Failed { what, .. } => what,
            _ => &self.notes,
        }
    }

    /// Whether both failed, and for the same reason.
    pub fn has_failed_like(&self, other: &Self) -> bool {
        self.is_failed() && self.outcome.name() == other.outcome.name()
    }
}
