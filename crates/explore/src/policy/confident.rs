//! Repeat until confident: the whole grid, and then more trials of those that cannot be told from the best yet.

use super::{Policy, PolicyError, Seen, Tried, Wanted};
use crate::statistics::Sample;

pub(super) struct Confident {
    pub(super) most_trials: u32,
    pub(super) precision: f64,
}

impl Policy for Confident {
    fn next(&mut self, seen: Seen<'_>) -> Result<Vec<Wanted>, PolicyError> {
        if seen.batches == 0 {
            // An interval takes two.
            let trials = seen.spec.trials.per_configuration.max(2);
            let grid = seen.spec.space.grid()?.into_iter();
            return Ok(grid
                .map(|configuration| Wanted {
                    configuration,
                    trials,
                })
                .collect());
        }
        let tried = seen.tried();
        let confidence = seen.spec.trials.confidence;
        let sampled: Vec<(&Tried, Sample)> = tried
            .iter()
            .filter_map(|one| Some((one, one.sample()?)))
            .collect();
        // As results are ranked: what fails at times is behind what never does.
        let Some((best, best_sample)) = sampled.iter().min_by(|one, two| {
            let fails = |one: &Tried| one.failed > 0;
            (fails(one.0).cmp(&fails(two.0))).then(one.0.compare(two.0))
        }) else {
            return Ok(Vec::new());
        };
        let is_precise = |sample: &Sample| {
            let half = sample.half_width(confidence);
            half.is_some_and(|half| half <= self.precision * sample.mean.abs())
        };
        let may_go_on = |one: &Tried| {
            one.costs.len() as u64 + u64::from(one.failed) < u64::from(self.most_trials)
        };
        let is_open = |(one, sample): &&(&Tried, Sample)| {
            let difference = best_sample.difference(sample, confidence);
            let is_told_apart = difference.is_some_and(|difference| difference.is_told_apart());
            let is_good_enough = is_precise(sample) && is_precise(best_sample);
            !(std::ptr::eq(*one, *best) || is_told_apart || is_good_enough)
        };
        let open: Vec<&Tried> = sampled
            .iter()
            .filter(is_open)
            .map(|(one, _)| *one)
            .collect();
        let more = open
            .iter()
            .copied()
            .chain((!open.is_empty()).then_some(*best));
        let more = more.filter(|one| may_go_on(one));
        Ok(more
            .map(|one| Wanted {
                configuration: one.configuration.clone(),
                trials: 1,
            })
            .collect())
    }
}
