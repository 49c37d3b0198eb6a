//! How much each parameter matters: shares of the variance between configurations.
//!
//! On a whole grid (every combination of the specification's values, no conditions) these are the main effects of functional ANOVA (Hutter, Hoos
//! and Leyton-Brown, *An Efficient Approach for Assessing Hyperparameter Importance*, 2014) on what was measured
//! itself. Elsewhere they are those of an additive model fitted to what was measured, every value of a parameter counted
//! once: what the grid would show if nothing were done by parameters only together. On a grid both are the same. What
//! noise makes of them, as repeated trials show it, is subtracted.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;
use utoipa::ToSchema;

use crate::additive::{Levels, fit};
use crate::space::Space;
use crate::statistics::{Sample, mean};
use crate::value::{Configuration, Value};

/// Where configurations are too few to look at each number by itself, so many groups of neighbours are looked at,
/// the first of these that the configurations suffice for.
const GROUPS: [usize; 4] = [8, 5, 3, 2];

/// Less that no parameter explains is not worth telling.
const MUCH_UNEXPLAINED: f64 = 0.1;

/// How much each parameter matters.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
pub struct Importance {
    /// How it was computed.
    pub method: Method,
    /// Shares of the variance, from 0 to 1, the largest first; null where no second value of a parameter has a result.
    pub parameters: Vec<(String, Option<f64>)>,
    /// The share of what parameters do only together; null where it is not known, or there is one alone.
    #[schema(required)]
    pub together: Option<f64>,
    /// The share that no parameter explains by itself, where that is not known better and a tenth or more: of noise, of values
    /// that were looked at in groups, and of what parameters do together.
    #[schema(required)]
    pub not_explained: Option<f64>,
}

/// How importance was computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "kebab-case")]
#[schema(as = ImportanceMethod)]
pub enum Method {
    /// Main effects on the whole grid.
    MainEffects,
    /// Effects of an additive model.
    Additive,
}

/// Of these configurations; `None` where fewer than three, where all are the same but for what rounding makes, or where
/// they are too few for what was varied.
pub fn importance(space: &Space, sampled: &[(&Configuration, Sample)]) -> Option<Importance> {
    let means: Vec<f64> = sampled.iter().map(|(_, sample)| sample.mean).collect();
    let squares = squares(&means);
    let largest = means.iter().fold(0.0, |most: f64, one| most.max(one.abs()));
    let rounded_off = means.len() as f64 * (largest * 1e-12).powi(2);
    if sampled.len() < 3 || !squares.is_finite() || squares <= rounded_off {
        return None;
    }
    let is_grid = is_whole_grid(space, sampled);
    let levels = levels(space, sampled, is_grid)?;
    let fitted = fit(&means, &levels);
    let count = sampled.len() as f64;
    let freedom = count - 1.0 - freedom(&levels);
    let noise = noise(sampled);
    let found: Vec<Option<(f64, f64)>> = (levels.iter().zip(&fitted.effects))
        .map(|(levels, effects)| variance(levels, effects, noise))
        .collect();
    // What is left is the variance that a grid would have beside the effects: all of it is known where the grid is.
    let left = match is_grid || freedom < 1.0 {
        true => fitted.left / count,
        false => fitted.left / freedom,
    };
    let total = left + found.iter().flatten().map(|(all, _)| all).sum::<f64>();
    let share = |variance: f64| (variance / total).clamp(0.0, 1.0);
    let names = space.parameters.iter().map(|one| one.name.clone());
    let mut parameters: Vec<(String, Option<f64>)> = names
        .zip(&found)
        .map(|(name, found)| (name, found.map(|(all, by_chance)| share(all - by_chance))))
        .collect();
    parameters.sort_by(|one, two| {
        let key = |share: Option<f64>| share.unwrap_or(-1.0);
        key(two.1).total_cmp(&key(one.1))
    });
    let are_several = found.iter().flatten().count() > 1;
    let explained: f64 = parameters.iter().filter_map(|one| one.1).sum();
    let not_explained =
        Some(1.0 - explained).filter(|share| !is_grid && *share >= MUCH_UNEXPLAINED);
    Some(Importance {
        method: match is_grid {
            true => Method::MainEffects,
            false => Method::Additive,
        },
        parameters,
        together: (is_grid && are_several).then(|| share(left - freedom * noise / count)),
        not_explained,
    })
}

/// The variance of a factor's effects, each level counted once, as a part of all that was tried; and how much of it chance
/// makes where a row's number has this much. `None` where there is no second level.
fn variance(levels: &Levels, effects: &[f64], noise: f64) -> Option<(f64, f64)> {
    if effects.len() < 2 {
        return None;
    }
    let mut counts = vec![0.0_f64; effects.len()];
    for level in levels.iter().flatten() {
        counts[*level] += 1.0;
    }
    let count = effects.len() as f64;
    let part = levels.iter().flatten().count() as f64 / levels.len() as f64;
    // An effect is a mean over the level's rows.
    let by_chance = counts.iter().map(|rows| noise / rows).sum::<f64>() / count;
    Some((
        part * squares(effects) / count,
        part * by_chance * (count - 1.0) / count,
    ))
}

/// Whether these are all combinations of all values that the space has.
fn is_whole_grid(space: &Space, sampled: &[(&Configuration, Sample)]) -> bool {
    let mut combinations = 1_usize;
    for parameter in &space.parameters {
        let Some(values) = parameter.domain.grid() else {
            return false;
        };
        let tried = sampled.iter().filter_map(|one| one.0.get(&parameter.name));
        let tried: BTreeSet<String> = tried.map(ToString::to_string).collect();
        if !parameter.when.is_empty() || tried.len() != values.len() {
            return false;
        }
        combinations = combinations.saturating_mul(values.len());
    }
    combinations == sampled.len()
}

/// For each parameter the levels of all configurations: its values, or groups of neighbours where configurations are
/// too few for that. `None` where they are too few even so.
fn levels(
    space: &Space,
    sampled: &[(&Configuration, Sample)],
    is_grid: bool,
) -> Option<Vec<Levels>> {
    let of = |groups: usize| -> Vec<Levels> {
        let parameters = space.parameters.iter();
        parameters
            .map(|parameter| levels_of(sampled, &parameter.name, groups))
            .collect()
    };
    let all = of(usize::MAX);
    let count = sampled.len() as f64;
    // As much is left for what they do together, and for noise.
    let is_enough = |levels: &[Levels]| 2.0 * freedom(levels) < count;
    if is_grid || is_enough(&all) || is_star(&all) || is_most_of(space, sampled.len()) {
        return Some(all);
    }
    let coarser = GROUPS.iter().map(|groups| of(*groups));
    let mut coarser = coarser.skip_while(|levels| !is_enough(levels));
    coarser.next().or_else(|| {
        let coarsest = of(GROUPS[GROUPS.len() - 1]);
        (freedom(&coarsest) < count - 1.0).then_some(coarsest)
    })
}

/// How many numbers are fitted beside the mean.
fn freedom(levels: &[Levels]) -> f64 {
    let of = |levels: &Levels| levels.iter().flatten().max().copied().unwrap_or(0);
    levels.iter().map(of).sum::<usize>() as f64
}

/// Whether all are one configuration, which need not be among them, with one parameter changed at most: then nothing
/// was done together, and the model leaves nothing out.
fn is_star(levels: &[Levels]) -> bool {
    let centre = |levels: &Levels| {
        let mut counts: BTreeMap<Option<usize>, usize> = BTreeMap::new();
        for level in levels {
            *counts.entry(*level).or_default() += 1;
        }
        counts.into_iter().max_by_key(|(_, count)| *count)
    };
    let centre: Vec<Option<usize>> = levels
        .iter()
        .filter_map(|levels| Some(centre(levels)?.0))
        .collect();
    let rows = levels.first().map_or(0, Vec::len);
    (0..rows).all(|row| {
        let changed = levels.iter().zip(&centre);
        changed.filter(|(levels, own)| levels[row] != **own).count() < 2
    })
}

/// Whether so many are half of all that there are.
fn is_most_of(space: &Space, count: usize) -> bool {
    let grid = space.grid();
    grid.is_ok_and(|grid| grid.len() <= 2 * count)
}

/// For each configuration, which value of the parameter it has, or which of so many groups of numbers.
fn levels_of(sampled: &[(&Configuration, Sample)], name: &str, groups: usize) -> Levels {
    let values = || {
        sampled
            .iter()
            .map(|(configuration, _)| configuration.get(name))
    };
    let words: BTreeSet<String> = values().flatten().map(ToString::to_string).collect();
    let numbers = values().flatten().map(Value::number);
    let numbers: Option<Vec<f64>> = numbers.collect();
    match numbers {
        Some(mut sorted) if words.len() > groups => {
            sorted.sort_by(f64::total_cmp);
            let bounds: Vec<f64> = (1..groups)
                .map(|group| sorted[group * sorted.len() / groups])
                .collect();
            let group = |number: f64| bounds.iter().filter(|bound| number >= **bound).count();
            let groups: Vec<Option<usize>> = values()
                .map(|value| Some(group(value?.number()?)))
                .collect();
            // Where many have one number, some groups are empty.
            let known: BTreeSet<usize> = groups.iter().flatten().copied().collect();
            let place = |group: Option<usize>| Some(known.range(..group?).count());
            groups.into_iter().map(place).collect()
        }
        _ => {
            let places: BTreeMap<String, usize> = words.into_iter().zip(0..).collect();
            values()
                .map(|value| places.get(&value?.to_string()).copied())
                .collect()
        }
    }
}

fn squares(values: &[f64]) -> f64 {
    let mean = mean(values);
    values.iter().map(|value| (value - mean).powi(2)).sum()
}

/// The variance of a configuration's mean that chance alone makes; 0 where nothing was repeated.
fn noise(sampled: &[(&Configuration, Sample)]) -> f64 {
    let repeated: Vec<&Sample> = sampled
        .iter()
        .map(|(_, sample)| sample)
        .filter(|sample| sample.count > 1)
        .collect();
    if repeated.is_empty() {
        return 0.0;
    }
    repeated
        .iter()
        .map(|sample| sample.variance / sample.count as f64)
        .sum::<f64>()
        / repeated.len() as f64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::space::tests::integer;

    fn shares(cost: impl Fn(f64, f64) -> f64, keep: impl Fn(i64, i64) -> bool) -> Importance {
        let space = Space {
            parameters: vec![integer("a", 0, 3), integer("b", 0, 3)],
            constraints: Vec::new(),
        };
        let grid = space.grid().expect("a grid");
        let number = |one: &Configuration, name: &str| {
            one.get(name).and_then(Value::number).expect("a number")
        };
        let sampled = grid
            .iter()
            .filter(|one| keep(number(one, "a") as i64, number(one, "b") as i64));
        let sampled: Vec<_> = sampled
            .map(|one| {
                (
                    one,
                    Sample::of(&[cost(number(one, "a"), number(one, "b"))]).expect("a value"),
                )
            })
            .collect();
        importance(&space, &sampled).expect("an importance")
    }

    fn share(importance: &Importance, name: &str) -> f64 {
        let found = importance
            .parameters
            .iter()
            .find(|(known, _)| known == name);
        let share = found.expect("the parameter").1.expect("it was varied");
        (share * 1000.0).round() / 1000.0
    }

    #[test]
    fn main_effects_are_shares_of_the_variance() {
        // Variance of a over 0..=3 is 1.25, that of 2b four times as much.
        let added = shares(|a, b| a + 2.0 * b, |_, _| true);
        assert_eq!(added.method, Method::MainEffects);
        assert_eq!((share(&added, "a"), share(&added, "b")), (0.2, 0.8));
        assert_eq!(added.together.map(|share| share.round()), Some(0.0));
        assert_eq!(added.parameters[0].0, "b");
    }

    #[test]
    fn what_parameters_do_together_is_told_apart() {
        let multiplied = shares(|a, b| (a - 1.5) * (b - 1.5), |_, _| true);
        assert_eq!(
            (share(&multiplied, "a"), share(&multiplied, "b")),
            (0.0, 0.0)
        );
        assert_eq!(multiplied.together, Some(1.0));
        assert_eq!(multiplied.not_explained, None);
        let part = shares(|a, b| (a - 1.5) * (b - 1.5), |a, b| (a, b) != (1, 1));
        let explained = share(&part, "a") + share(&part, "b");
        let left = part.not_explained.expect("much is left");
        assert!(explained < 0.2, "{explained}");
        assert!((left + explained - 1.0).abs() < 0.002, "{left}");
    }

    #[test]
    fn a_whole_grid_is_all_that_the_specification_has() {
        let of = |space: &Space, configurations: &[Configuration]| {
            let cost = |one: &Configuration| {
                let number = |name| one.get(name).and_then(Value::number).unwrap_or(0.0);
                number("a") + 100.0 * (number("b") - 1.0).powi(2)
            };
            let sampled: Vec<_> = (configurations.iter())
                .map(|one| (one, Sample::of(&[cost(one)]).expect("a value")))
                .collect();
            importance(space, &sampled).expect("an importance")
        };
        // More values than are looked at one by one elsewhere.
        let mut space = Space {
            parameters: vec![integer("a", 0, 11), integer("b", 0, 2)],
            constraints: Vec::new(),
        };
        let whole = of(&space, &space.grid().expect("a grid"));
        assert_eq!(whole.method, Method::MainEffects);
        // The variance of a is 143 / 12; that of b, whose costs are 100, 0 and 100, 20000 / 9.
        let (a, b) = (143.0 / 12.0, 20_000.0 / 9.0);
        let rounded = |share: f64| (share * 1000.0).round() / 1000.0;
        assert_eq!(share(&whole, "a"), rounded(a / (a + b)));
        assert_eq!(share(&whole, "b"), rounded(b / (a + b)));
        // Some values of one parameter are no grid, and one parameter does nothing together.
        space.parameters = vec![integer("a", 0, 999)];
        let grid = space.grid().expect("a grid");
        let part = of(&space, &grid[..5]);
        assert_eq!((part.method, part.together), (Method::Additive, None));
        let alone = of(&space, &grid);
        assert_eq!((alone.method, alone.together), (Method::MainEffects, None));
        assert_eq!(share(&alone, "a"), 1.0);
    }

    #[test]
    fn on_parts_of_a_grid_others_are_not_taken_for_chance() {
        let part = shares(|a, _| a, |a, b| a != b);
        assert_eq!((part.method, part.together), (Method::Additive, None));
        assert_eq!((share(&part, "a"), share(&part, "b")), (1.0, 0.0));
        // A hole changes nothing where nothing is done together.
        let hole = shares(|a, b| a + 2.0 * b, |a, b| (a, b) != (3, 3));
        assert_eq!((share(&hole, "a"), share(&hole, "b")), (0.2, 0.8));
        assert_eq!(hole.not_explained, None);
        // One parameter, each value once, one of them without a result.
        let line = shares(|_, b| b, |a, b| a == 0 && b < 3);
        assert_eq!(share(&line, "b"), 1.0);
        // It was not varied, so nothing is known of it.
        assert_eq!(line.parameters[1], ("a".to_owned(), None));
    }

    /// Of what is tried of these parameters, several times each with this much noise.
    fn tried(
        space: &Space,
        configurations: &[Configuration],
        cost: impl Fn(&dyn Fn(&str) -> f64) -> f64,
        noise: f64,
    ) -> Importance {
        let mut random = fastrand::Rng::with_seed(7);
        let sampled: Vec<_> = (configurations.iter())
            .map(|one| {
                let number = |name: &str| one.get(name).and_then(Value::number).unwrap_or(0.0);
                let cost = cost(&number);
                let values = [(); 3].map(|()| cost + noise * (random.f64() - 0.5));
                (one, Sample::of(&values).expect("values"))
            })
            .collect();
        importance(space, &sampled).expect("an importance")
    }

    #[test]
    fn conditional_parameters_are_told_from_what_they_depend_on() {
        let mut space = Space {
            parameters: vec![
                integer("mode", 0, 1),
                integer("one", 1, 3),
                integer("two", 1, 3),
            ],
            constraints: Vec::new(),
        };
        for (place, value) in [(1, 0), (2, 1)] {
            let when = ("mode".to_owned(), vec![Value::Integer(value)]);
            space.parameters[place].when = [when].into_iter().collect();
        }
        let grid = space.grid().expect("a grid");
        assert_eq!(grid.len(), 6);
        let found = tried(&space, &grid, |of| 10.0 * (of("one") + of("two")), 0.0);
        let shares = ["one", "two", "mode"].map(|name| share(&found, name));
        assert_eq!((found.method, shares), (Method::Additive, [0.5, 0.5, 0.0]));
        let found = tried(&space, &grid, |of| of("mode"), 0.0);
        assert_eq!(share(&found, "mode"), 1.0);
        // One of them gave no result.
        let found = tried(&space, &grid[1..], |of| 10.0 * (of("one") + of("two")), 0.0);
        assert!(
            share(&found, "one") > 0.1 && share(&found, "two") > 0.4,
            "{found:?}"
        );
    }

    #[test]
    fn one_at_a_time_counts_each_value_once() {
        let space = Space {
            parameters: vec![integer("a", 1, 20), integer("b", 1, 4), integer("c", 0, 1)],
            constraints: Vec::new(),
        };
        let all = space.grid().expect("a grid").into_iter().filter(|one| {
            let number = |name| one.get(name).and_then(Value::number).unwrap_or(0.0);
            let is_off = [number("a") != 1.0, number("b") != 1.0, number("c") != 0.0];
            is_off.iter().filter(|is_off| **is_off).count() < 2
        });
        let all: Vec<Configuration> = all.collect();
        assert_eq!(all.len(), 24);
        let cost = |of: &dyn Fn(&str) -> f64| 10.0 * of("a") + of("b");
        let found = tried(&space, &all, cost, 0.1);
        assert!(share(&found, "a") > 0.99, "{found:?}");
        assert!(
            share(&found, "b") < 0.01 && share(&found, "c") < 0.01,
            "{found:?}"
        );
        // Where the defaults have no result, what they do to a and to others cannot be told apart, and is shared.
        let found = tried(&space, &all[1..], cost, 0.1);
        assert!(share(&found, "a") > 0.7, "{found:?}");
    }

    #[test]
    fn few_of_many_are_looked_at_in_groups_and_noise_is_not_a_share() {
        let space = Space {
            parameters: vec![integer("a", 0, 999), integer("b", 0, 999)],
            constraints: Vec::new(),
        };
        let mut random = fastrand::Rng::with_seed(1);
        let mut some = Vec::new();
        for _ in 0..30 {
            let mut one = Configuration::default();
            for name in ["a", "b"] {
                one.0
                    .insert(name.to_owned(), Value::Integer(random.i64(0..1000)));
            }
            some.push(one);
        }
        let found = tried(&space, &some, |of| of("a"), 1.0);
        assert!(
            share(&found, "a") > 0.85 && share(&found, "b") < 0.05,
            "{found:?}"
        );
        let grid = space.grid();
        assert!(grid.is_err() || !is_most_of(&space, some.len()));
        // Nothing but noise.
        let noise = tried(&space, &some, |_| 5.0, 1.0);
        let both = share(&noise, "a") + share(&noise, "b");
        assert!(both < 0.3, "{noise:?}");
        // Too few for what was varied.
        let sampled: Vec<_> = (some[..3].iter())
            .map(|one| {
                (
                    one,
                    Sample::of(&[one.0["a"].number().expect("a number")]).expect("one"),
                )
            })
            .collect();
        assert_eq!(importance(&space, &sampled), None);
    }
}
