//! The policies that know from the beginning what they want: grid, random, one at a time.

use std::collections::BTreeSet;

use super::{Policy, PolicyError, Seen, Wanted, each};
use crate::space::Space;
use crate::value::Configuration;

/// Every configuration.
pub(super) struct Grid;

impl Policy for Grid {
    fn next(&mut self, seen: Seen<'_>) -> Result<Vec<Wanted>, PolicyError> {
        match seen.batches {
            0 => Ok(each(seen, seen.spec.space.grid()?)),
            _ => Ok(Vec::new()),
        }
    }
}

/// Some, at random.
pub(super) struct Random {
    pub(super) configurations: u32,
}

impl Policy for Random {
    fn next(&mut self, seen: Seen<'_>) -> Result<Vec<Wanted>, PolicyError> {
        match seen.batches {
            0 => Ok(each(
                seen,
                distinct(&seen.spec.space, self.configurations, seen.spec.trials.seed)?,
            )),
            _ => Ok(Vec::new()),
        }
    }
}

/// So many configurations at random, no two of them equal; fewer where there are no more.
pub(super) fn distinct(
    space: &Space,
    count: u32,
    seed: u64,
) -> Result<Vec<Configuration>, PolicyError> {
    let mut random = fastrand::Rng::with_seed(seed);
    // A grid that is hardly larger than what is wanted gives all of it.
    if let Ok(mut grid) = space.grid() {
        random.shuffle(&mut grid);
        grid.truncate(count as usize);
        return Ok(grid);
    }
    let mut keys = BTreeSet::new();
    let mut found = Vec::new();
    for _ in 0..u64::from(count) * 100 {
        if found.len() == count as usize {
            break;
        }
        let Some(configuration) = space.sample(&mut random) else {
            break;
        };
        if keys.insert(configuration.key()) {
            found.push(configuration);
        }
    }
    match found.is_empty() {
        true => Err(PolicyError(
            "no configuration was found that satisfies all constraints\n  hint: look at `constraints`".to_owned(),
        )),
        false => Ok(found),
    }
}

/// The defaults, and each parameter varied by itself.
pub(super) struct OneAtATime;

impl Policy for OneAtATime {
    fn next(&mut self, seen: Seen<'_>) -> Result<Vec<Wanted>, PolicyError> {
        if seen.batches > 0 {
            return Ok(Vec::new());
        }
        let space = &seen.spec.space;
        let defaults = space.defaults();
        if !space.satisfies(&defaults) {
            return Err(PolicyError(format!(
                "the defaults ({defaults}) do not satisfy all constraints\n  hint: give parameters a `default` that does"
            )));
        }
        let mut keys: BTreeSet<String> = [defaults.key()].into();
        let mut wanted = vec![defaults];
        for varied in &space.parameters {
            let values = varied.domain.grid().ok_or_else(|| {
                PolicyError(format!(
                    "the parameter `{}` has too many values to try each\n  hint: give it `values`, `step` or `steps`",
                    varied.name
                ))
            })?;
            for value in values {
                let one = space.configuration(|parameter| match parameter.name == varied.name {
                    true => value.clone(),
                    false => parameter.default.clone(),
                });
                if space.satisfies(&one) && keys.insert(one.key()) {
                    wanted.push(one);
                }
            }
        }
        Ok(each(seen, wanted))
    }
}
