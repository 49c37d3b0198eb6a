//! How much each parameter matters: shares of the variance between configurations.
//!
//! On a whole grid (every combination of the specification's values, no conditions) these are the main effects of functional ANOVA (Hutter, Hoos
//! and Leyton-Brown, *An Efficient Approach for Assessing Hyperparameter Importance*, 2014) on what was measured
//! itself, without a model. Elsewhere each parameter is looked at alone (Kelley's epsilon squared, 1935), which counts
//! what parameters do together for each of them. Noise, as repeated trials show it, is subtracted in both.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;
use utoipa::ToSchema;

use crate::space::Space;
use crate::statistics::Sample;
use crate::value::{Configuration, Value};

/// Where it is no whole grid, more different numbers than this are looked at in groups of neighbours.
const MOST_LEVELS: usize = 8;

/// Of how many groups.
const GROUPS: usize = 5;

/// How much each parameter matters.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
pub struct Importance {
    /// How it was computed.
    pub method: Method,
    /// Shares of the variance, from 0 to 1, the largest first.
    pub parameters: Vec<(String, f64)>,
    /// The share of what parameters do only together; null where it is not known, or there is one alone.
    #[schema(required)]
    pub together: Option<f64>,
}

/// How importance was computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "kebab-case")]
#[schema(as = ImportanceMethod)]
pub enum Method {
    /// Main effects on the whole grid.
    MainEffects,
    /// Each parameter alone.
    OneByOne,
}

/// Of these configurations; `None` where fewer than three, or where all are the same.
pub fn importance(space: &Space, sampled: &[(&Configuration, Sample)]) -> Option<Importance> {
    let means: Vec<f64> = sampled.iter().map(|(_, sample)| sample.mean).collect();
    let total = squares(&means);
    if sampled.len() < 3 || total <= 0.0 {
        return None;
    }
    let names: Vec<&str> = space
        .parameters
        .iter()
        .map(|parameter| parameter.name.as_str())
        .collect();
    let is_grid = is_whole_grid(space, sampled);
    let levels: Vec<Vec<usize>> = (names.iter())
        .map(|name| levels(sampled, name, is_grid))
        .collect();
    let counts: Vec<usize> = levels
        .iter()
        .map(|levels| levels.iter().collect::<BTreeSet<_>>().len())
        .collect();
    let noise = noise(sampled);
    let between: Vec<f64> = levels
        .iter()
        .map(|levels| between(&means, levels))
        .collect();
    let mut shares = Vec::new();
    for ((name, between), count) in names.iter().zip(&between).zip(&counts) {
        let freedom = (count - 1) as f64;
        let by_chance = match is_grid {
            true => noise,
            // What is left within the groups stands for everything else.
            false => {
                let left = sampled.len().saturating_sub(*count);
                if left == 0 {
                    *between
                } else {
                    (total - between) / left as f64
                }
            }
        };
        shares.push((
            (*name).to_owned(),
            ((between - freedom * by_chance) / total).clamp(0.0, 1.0),
        ));
    }
    let together = (is_grid && counts.iter().filter(|count| **count > 1).count() > 1).then(|| {
        let freedom = sampled.len() - 1 - counts.iter().map(|count| count - 1).sum::<usize>();
        let rest = total - between.iter().sum::<f64>();
        ((rest - freedom as f64 * noise) / total).clamp(0.0, 1.0)
    });
    shares.sort_by(|one, two| two.1.total_cmp(&one.1));
    let method = if is_grid {
        Method::MainEffects
    } else {
        Method::OneByOne
    };
    Some(Importance {
        method,
        parameters: shares,
        together,
    })
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

/// For each configuration, which value of the parameter it has, or which group of many values.
fn levels(sampled: &[(&Configuration, Sample)], name: &str, is_grid: bool) -> Vec<usize> {
    let values: Vec<Option<&Value>> = sampled
        .iter()
        .map(|(configuration, _)| configuration.get(name))
        .collect();
    let words: Vec<String> = values
        .iter()
        .map(|value| value.map_or(String::new(), Value::to_string))
        .collect();
    let distinct: BTreeSet<&String> = words.iter().collect();
    let numbers: Option<Vec<f64>> = values
        .iter()
        .map(|value| value.and_then(Value::number))
        .collect();
    match numbers {
        Some(numbers) if distinct.len() > MOST_LEVELS && !is_grid => {
            let mut sorted = numbers.clone();
            sorted.sort_by(f64::total_cmp);
            let bounds: Vec<f64> = (1..GROUPS)
                .map(|group| sorted[group * sorted.len() / GROUPS])
                .collect();
            numbers
                .iter()
                .map(|number| bounds.iter().filter(|bound| *number >= **bound).count())
                .collect()
        }
        _ => {
            let places: BTreeMap<&String, usize> = distinct.into_iter().zip(0..).collect();
            words.iter().map(|word| places[word]).collect()
        }
    }
}

fn squares(values: &[f64]) -> f64 {
    let mean = values.iter().sum::<f64>() / values.len() as f64;
    values.iter().map(|value| (value - mean).powi(2)).sum()
}

/// The part of the squares that lies between the groups.
fn between(values: &[f64], groups: &[usize]) -> f64 {
    let mean = values.iter().sum::<f64>() / values.len() as f64;
    let mut sums: BTreeMap<usize, (f64, f64)> = BTreeMap::new();
    for (value, group) in values.iter().zip(groups) {
        let sum = sums.entry(*group).or_default();
        *sum = (sum.0 + value, sum.1 + 1.0);
    }
    sums.values()
        .map(|(sum, count)| count * (sum / count - mean).powi(2))
        .sum()
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
        (found.expect("the parameter").1 * 1000.0).round() / 1000.0
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
        assert_eq!((part.method, part.together), (Method::OneByOne, None));
        let alone = of(&space, &grid);
        assert_eq!((alone.method, alone.together), (Method::MainEffects, None));
        assert_eq!(share(&alone, "a"), 1.0);
    }

    #[test]
    fn parts_of_a_grid_are_looked_at_one_by_one() {
        let part = shares(|a, _| a, |a, b| a != b);
        assert_eq!((part.method, part.together), (Method::OneByOne, None));
        assert_eq!(share(&part, "a"), 1.0);
        assert!(share(&part, "b") < 0.2, "{part:?}");
    }
}
