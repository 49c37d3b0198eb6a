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

    fn conclusions(&mut self, seen: Seen<'_>) -> Result<Vec<String>, PolicyError> {
        Ok(shortfall(seen, self.configurations).into_iter().collect())
    }
}

/// What is to be said where fewer configurations were found than wanted, though there may be more.
pub(super) fn shortfall(seen: Seen<'_>, count: u32) -> Option<String> {
    let space = &seen.spec.space;
    let tried = seen.tried().len();
    if tried >= count as usize || space.grid().is_ok() {
        return None;
    }
    // Fewer may also have been tried because the exploration ended before.
    let found = distinct(space, count, seen.spec.trials.seed).map_or(0, |found| found.len());
    (found < count as usize).then(|| {
        format!(
            "only {found} of {count} configurations that satisfy all constraints were found at random; there may be more"
        )
    })
}

/// So many steps from configuration to configuration are tried, even where hardly one leaves all constraints satisfied.
const MOST_STEPS: usize = 1_000_000;

/// So many configurations at random, no two of them equal; fewer where there are no more, or constraints rule out so much
/// that no more are found.
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
    if found.len() < count as usize {
        walk(space, count as usize, &mut random, &mut keys, &mut found);
    }
    match found.is_empty() {
        true => Err(PolicyError(
            "no configuration was found that satisfies all constraints\n  hint: look at `constraints`".to_owned(),
        )),
        false => Ok(found),
    }
}

/// Adds what is met on a way at random from what was found, or from the defaults, each step being a change of one or two
/// parameters that leaves all constraints satisfied.
fn walk(
    space: &Space,
    count: usize,
    random: &mut fastrand::Rng,
    keys: &mut BTreeSet<String>,
    found: &mut Vec<Configuration>,
) {
    let defaults = space.defaults();
    if space.satisfies(&defaults) && keys.insert(defaults.key()) {
        found.push(defaults);
    }
    let Some(mut here) = found.last().cloned() else {
        return;
    };
    let parameters = space.parameters.len();
    // Neighbours are much alike: one is taken after as many changes as there are parameters.
    let mut changes = 0;
    for _ in 0..MOST_STEPS {
        if found.len() >= count {
            return;
        }
        let changed = [random.usize(..parameters), random.usize(..parameters)];
        let changed = changed.map(|place| &space.parameters[place].name);
        let next = space.configuration(|parameter| match here.get(&parameter.name) {
            Some(value) if !changed.contains(&&parameter.name) => value.clone(),
            _ => parameter.domain.sample(random),
        });
        if !space.satisfies(&next) || next == here {
            continue;
        }
        here = next;
        changes += 1;
        if changes >= parameters && keys.insert(here.key()) {
            changes = 0;
            found.push(here.clone());
        }
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

    fn conclusions(&mut self, seen: Seen<'_>) -> Result<Vec<String>, PolicyError> {
        let defaults = seen.spec.space.defaults();
        let mut tried = seen.tried().into_iter();
        let failed = tried.any(|one| one.configuration == defaults && one.costs.is_empty());
        let told = format!(
            "the defaults ({defaults}) have no result, so nothing is compared with them; give parameters a `default` that works"
        );
        Ok(failed.then_some(told).into_iter().collect())
    }
}
