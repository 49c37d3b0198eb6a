//! Who chooses configurations: the small interface of all policies, and the choice among them.
//!
//! After Pseudocode 1 and 2 of Go and Colmenares, *Enabling Performance Exploration and Analysis for Multi-parametric
//! Systems* (2016), § 3.2. A policy is asked whenever all that it wanted has been run, and is given all trials so far; those
//! here answer from these alone, so that an exploration goes on where it stopped without a memory of theirs.

mod confident;
pub(crate) mod halving;
mod knee;
mod plain;
mod python;

use std::cmp::Ordering;
use std::time::Duration;

use slowpath_platform::signals::SignalPipe;

use crate::spec::{Objective, PolicyChoice, Spec};
use crate::statistics::{Sample, to_compare};
use crate::trial::{Trial, by_configuration, complete};
use crate::value::Configuration;

pub use python::PythonPolicyProcess;

/// A configuration, and how often it is to be run.
#[derive(Clone, Debug, PartialEq)]
pub struct Wanted {
    /// Which.
    pub configuration: Configuration,
    /// How often.
    pub trials: u32,
}

/// What a policy may look at.
#[derive(Clone, Copy, Debug)]
pub struct Seen<'run> {
    /// What the exploration is about.
    pub spec: &'run Spec,
    /// All trials, in the order in which they ran.
    pub trials: &'run [Trial],
    /// How often the policy has wanted something before.
    pub batches: u32,
}

/// A policy cannot go on.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct PolicyError(pub String);

/// Chooses configurations.
pub trait Policy {
    /// What is to be run next (`has_next_config` and `next_config` of Pseudocode 1); nothing ends the exploration.
    ///
    /// # Errors
    /// In words, with a hint.
    fn next(&mut self, seen: Seen<'_>) -> Result<Vec<Wanted>, PolicyError>;

    /// How long the workload may take with this configuration (`max_duration`); as the specification says where `None`.
    ///
    /// # Errors
    /// In words, with a hint.
    fn max_duration(
        &mut self,
        _configuration: &Configuration,
    ) -> Result<Option<Duration>, PolicyError> {
        Ok(None)
    }

    /// Whether [`Policy::stop_run`] wants to be asked.
    fn looks_at_runs(&self) -> bool {
        false
    }

    /// Whether a trial has told enough (`process_record` and `stop_run` of Pseudocode 2), asked with each number that
    /// the workload prints for a metric.
    ///
    /// # Errors
    /// In words, with a hint.
    fn stop_run(
        &mut self,
        _configuration: &Configuration,
        _metric: &str,
        _value: f64,
    ) -> Result<bool, PolicyError> {
        Ok(false)
    }

    /// What it concludes (`process_results`), a sentence each.
    ///
    /// # Errors
    /// In words, with a hint.
    fn conclusions(&mut self, _seen: Seen<'_>) -> Result<Vec<String>, PolicyError> {
        Ok(Vec::new())
    }

    /// Where its answers may take long, it gives up when one of these signals arrives, and leaves that to be taken.
    ///
    /// # Errors
    /// In words.
    fn watch(&mut self, _signals: &SignalPipe) -> Result<(), PolicyError> {
        Ok(())
    }

    /// The process that it works in, if that is another one.
    fn process(&self) -> Option<i32> {
        None
    }
}

/// The policy that a specification chooses.
///
/// # Errors
/// Where it cannot be had, with a hint.
pub fn policy(spec: &Spec) -> Result<Box<dyn Policy>, PolicyError> {
    Ok(match &spec.policy {
        PolicyChoice::Grid => Box::new(plain::Grid),
        PolicyChoice::Random { configurations } => Box::new(plain::Random {
            configurations: *configurations,
        }),
        PolicyChoice::OneAtATime => Box::new(plain::OneAtATime),
        PolicyChoice::Halving {
            configurations,
            eta,
        } => Box::new(halving::Halving {
            configurations: *configurations,
            eta: *eta,
        }),
        PolicyChoice::Confident {
            most_trials,
            precision,
        } => Box::new(confident::Confident {
            most_trials: *most_trials,
            precision: *precision,
        }),
        PolicyChoice::Knee {
            parameter,
            tolerance,
        } => Box::new(knee::Knee {
            parameter: parameter.clone(),
            tolerance: *tolerance,
        }),
        PolicyChoice::Python(choice) => Box::new(PythonPolicyProcess::start(spec, choice)?),
    })
}

/// All trials of a configuration, as the first objective sees them.
#[derive(Clone, Debug, PartialEq)]
pub struct Tried {
    /// Which.
    pub configuration: Configuration,
    /// Its costs, smaller ones being better, in the order in which they were measured; nothing of failed trials.
    pub costs: Vec<f64>,
    /// Their means by the objectives behind the first, in order; infinite where there is none.
    pub further: Vec<f64>,
    /// How many of its trials have failed.
    pub failed: u32,
    /// The last batch that it was in.
    pub batch: u32,
}

impl Tried {
    /// Its costs in numbers; `None` where all trials failed.
    pub fn sample(&self) -> Option<Sample> {
        Sample::of(&self.costs)
    }

    /// Which of two is better, by means: where the first objective decides nothing, the next one does.
    pub(crate) fn compare(&self, other: &Self) -> Ordering {
        let costs = |one: &Self| {
            let first = one.sample().map_or(f64::INFINITY, |sample| sample.mean);
            [vec![first], one.further.clone()].concat()
        };
        let (own, others) = (costs(self), costs(other));
        let each = own.iter().zip(&others);
        let mut each = each.map(|(one, two)| to_compare(*one).total_cmp(&to_compare(*two)));
        each.find(|order| order.is_ne()).unwrap_or(Ordering::Equal)
    }
}

impl Seen<'_> {
    /// Every configuration that was tried, in the order of first trials.
    pub fn tried(&self) -> Vec<Tried> {
        let of = |trials: Vec<&Trial>| {
            let costs = |objective: &Objective| -> Vec<f64> {
                let values = (trials.iter()).filter_map(|one| one.measures.get(&objective.metric));
                values.map(|value| objective.cost(*value)).collect()
            };
            let mean = |objective| {
                let sample = Sample::of(&costs(objective));
                sample.map_or(f64::INFINITY, |sample| sample.mean)
            };
            Tried {
                costs: costs(&self.spec.objectives[0]),
                further: self.spec.objectives[1..].iter().map(mean).collect(),
                configuration: trials[0].configuration.clone(),
                failed: trials.iter().filter(|one| one.is_failed()).count() as u32,
                batch: trials.iter().map(|one| one.batch).max().unwrap_or(0),
            }
        };
        let trials = complete(self.trials);
        by_configuration(&trials).into_iter().map(of).collect()
    }
}

/// Each of these, as often as the specification says.
fn each(seen: Seen<'_>, configurations: Vec<Configuration>) -> Vec<Wanted> {
    let trials = seen.spec.trials.per_configuration;
    configurations
        .into_iter()
        .map(|configuration| Wanted {
            configuration,
            trials,
        })
        .collect()
}

impl From<crate::space::GridError> for PolicyError {
    fn from(error: crate::space::GridError) -> Self {
        Self(error.to_string())
    }
}

#[cfg(test)]
mod tests;
