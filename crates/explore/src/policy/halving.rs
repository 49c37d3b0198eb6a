//! Successive halving: many configurations with a trial each, then the better ones with more trials, until one is left.
//!
//! After Jamieson and Talwalkar, *Non-stochastic Best Arm Identification and Hyperparameter Optimization* (2016); trials
//! are the budget.

use super::{Policy, PolicyError, Seen, Wanted, plain};
use crate::spec::{PolicyChoice, Spec};
use crate::trial::Trial;
use crate::value::Configuration;

/// What was wanted for a round, as the trials of earlier rounds tell.
pub(crate) fn wanted_for(spec: &Spec, trials: &[Trial], round: u32) -> Vec<Configuration> {
    let PolicyChoice::Halving {
        configurations,
        eta,
    } = spec.policy
    else {
        return Vec::new();
    };
    let before = trials.partition_point(|trial| trial.batch < round);
    let seen = Seen {
        spec,
        trials: &trials[..before],
        batches: round,
    };
    let wanted = match round {
        0 => Ok(Vec::new()),
        _ => Halving {
            configurations,
            eta,
        }
        .next(seen),
    };
    let wanted = wanted.unwrap_or_default().into_iter();
    wanted.map(|one| one.configuration).collect()
}

pub(super) struct Halving {
    pub(super) configurations: Option<u32>,
    pub(super) eta: u32,
}

impl Policy for Halving {
    fn next(&mut self, seen: Seen<'_>) -> Result<Vec<Wanted>, PolicyError> {
        let space = &seen.spec.space;
        if seen.batches == 0 {
            let first = match self.configurations {
                Some(count) => plain::distinct(space, count, seen.spec.trials.seed)?,
                None => space.grid()?,
            };
            return Ok(first
                .into_iter()
                .map(|configuration| Wanted {
                    configuration,
                    trials: 1,
                })
                .collect());
        }
        let last = seen.batches - 1;
        let tried = seen.tried();
        let mut rivals: Vec<_> = (tried.iter())
            .filter(|one| one.batch == last && one.failed == 0)
            .filter(|one| one.sample().is_some())
            .collect();
        let kept = tried.iter().filter(|one| one.batch == last).count() / self.eta as usize;
        rivals.sort_by(|one, two| one.compare(two));
        rivals.truncate(kept);
        // One alone has won, and needs no further trial.
        if rivals.len() < 2 {
            return Ok(Vec::new());
        }
        let trials = self.eta.saturating_pow(seen.batches).min(1000);
        let wanted = rivals.into_iter().map(|one| Wanted {
            configuration: one.configuration.clone(),
            trials,
        });
        Ok(wanted.collect())
    }

    fn conclusions(&mut self, seen: Seen<'_>) -> Result<Vec<String>, PolicyError> {
        let short = self
            .configurations
            .map(|count| plain::shortfall(seen, count));
        Ok(short.flatten().into_iter().collect())
    }
}
