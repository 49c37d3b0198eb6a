//! The space of configurations: parameters with their values, conditions and constraints.
//!
//! Order is that of the specification throughout. Whole grids are enumerated, never guessed at; what is too large for
//! that can still be sampled.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::expression::Expression;
use crate::value::{Configuration, Value};

/// A grid with more configurations than this is no grid that anybody will wait for.
pub const LARGEST_GRID: usize = 100_000;

/// So often a random configuration is drawn again because a constraint forbids it.
const MOST_DRAWS: usize = 10_000;

/// What values a parameter can have.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Domain {
    /// `min`, `min + step`, … up to `max`.
    Integer {
        /// The smallest.
        min: i64,
        /// None is larger.
        max: i64,
        /// From one to the next; at least 1.
        step: i64,
    },
    /// Numbers from `min` to `max`.
    Float {
        /// The smallest.
        min: f64,
        /// The largest.
        max: f64,
        /// So many of them, evenly spaced, make its part of a grid.
        steps: Option<u32>,
    },
    /// Exactly these.
    Values {
        /// In the order of the specification.
        values: Vec<Value>,
    },
}

/// A parameter.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Parameter {
    /// Its name.
    pub name: String,
    /// Its values.
    pub domain: Domain,
    /// The value that it has where nobody chooses one.
    pub default: Value,
    /// It has a value only where each of these parameters has one of the values.
    pub when: BTreeMap<String, Vec<Value>>,
}

/// Parameters and what must hold between them.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Space {
    /// In the order of the specification; conditions refer to earlier ones only.
    pub parameters: Vec<Parameter>,
    /// Each holds in every configuration that has values for all of its names.
    pub constraints: Vec<Expression>,
}

/// A grid cannot be had.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum GridError {
    /// A parameter has no end of values.
    #[error(
        "the parameter `{0}` has no `steps`, so that it has no grid\n  hint: give it `steps` or `values`, or choose another policy"
    )]
    Continuous(String),
    /// There are too many.
    #[error(
        "the grid has more than {LARGEST_GRID} configurations\n  hint: give parameters fewer values (`step`, `values`), or choose another policy (random, halving, optuna)"
    )]
    TooLarge,
    /// There are none.
    #[error(
        "no configuration satisfies all constraints\n  hint: look at `constraints`, and at the conditions in `when`"
    )]
    Empty,
}

impl Domain {
    /// Its part of a grid; `None` where it has no end of values, or too many.
    pub fn grid(&self) -> Option<Vec<Value>> {
        match self {
            Self::Integer { min, max, step } => {
                let count = (i128::from(*max) - i128::from(*min)) / i128::from(*step) + 1;
                if count > LARGEST_GRID as i128 {
                    return None;
                }
                let values = (0..count).map(|number| i128::from(*min) + number * i128::from(*step));
                Some(values.map(|value| Value::Integer(value as i64)).collect())
            }
            Self::Float { min, max, steps } => {
                let last = f64::from(steps.as_ref()?.checked_sub(1)?);
                let at = |number: f64| match number == last {
                    true => *max,
                    false => min + (max - min) * number / last,
                };
                Some(
                    (0..(*steps)?)
                        .map(|number| Value::Float(at(f64::from(number))))
                        .collect(),
                )
            }
            Self::Values { values } => Some(values.clone()),
        }
    }

    /// Whether a parameter can have this value.
    pub fn contains(&self, value: &Value) -> bool {
        match (self, value) {
            (Self::Integer { min, max, step }, Value::Integer(value)) => {
                min <= value
                    && value <= max
                    && (i128::from(*value) - i128::from(*min)) % i128::from(*step) == 0
            }
            (Self::Float { min, max, .. }, Value::Float(_) | Value::Integer(_)) => value
                .number()
                .is_some_and(|value| *min <= value && value <= *max),
            (Self::Values { values }, value) => values.iter().any(|known| known.is_same(value)),
            _ => false,
        }
    }

    /// A value, each as likely as any other.
    pub fn sample(&self, random: &mut fastrand::Rng) -> Value {
        match self {
            Self::Integer { min, max, step } => {
                let last = (i128::from(*max) - i128::from(*min)) / i128::from(*step);
                let chosen = random.u128(..=last as u128) as i128;
                Value::Integer((i128::from(*min) + chosen * i128::from(*step)) as i64)
            }
            Self::Float { min, max, .. } => Value::Float(min + (max - min) * random.f64()),
            Self::Values { values } => values[random.usize(..values.len())].clone(),
        }
    }
}

impl Space {
    /// The parameter of this name.
    pub fn parameter(&self, name: &str) -> Option<&Parameter> {
        self.parameters
            .iter()
            .find(|parameter| parameter.name == name)
    }

    /// Whether `parameter` has a value beside these.
    fn is_active(parameter: &Parameter, beside: &Configuration) -> bool {
        parameter.when.iter().all(|(name, wanted)| {
            let value = beside.get(name);
            value.is_some_and(|value| wanted.iter().any(|one| one.is_same(value)))
        })
    }

    /// Whether every constraint holds; one that refers to a parameter without a value does, one that cannot be
    /// computed does not.
    pub fn satisfies(&self, configuration: &Configuration) -> bool {
        self.constraints.iter().all(|constraint| {
            let mut names = constraint.names().into_iter();
            names.any(|name| configuration.get(name).is_none())
                || constraint.value(&|name| configuration.get(name).cloned())
                    == Ok(Value::Boolean(true))
        })
    }

    /// The configuration that `choose` gives values to, parameter by parameter; those whose condition does not hold
    /// have none.
    pub fn configuration(&self, mut choose: impl FnMut(&Parameter) -> Value) -> Configuration {
        let mut configuration = Configuration::default();
        for parameter in &self.parameters {
            if Self::is_active(parameter, &configuration) {
                configuration
                    .0
                    .insert(parameter.name.clone(), choose(parameter));
            }
        }
        configuration
    }

    /// The configuration of all defaults.
    pub fn defaults(&self) -> Configuration {
        self.configuration(|parameter| parameter.default.clone())
    }

    /// Why a configuration is none of this space; `None` where it is one.
    pub fn objection(&self, configuration: &Configuration) -> Option<String> {
        for (name, value) in &configuration.0 {
            let Some(parameter) = self.parameter(name) else {
                return Some(format!("there is no parameter `{name}`"));
            };
            if !parameter.domain.contains(value) {
                return Some(format!("`{name}` cannot be {value}"));
            }
            if !Self::is_active(parameter, configuration) {
                return Some(format!("`{name}` has no value beside these others"));
            }
        }
        let missing = self.parameters.iter().find(|parameter| {
            configuration.get(&parameter.name).is_none()
                && Self::is_active(parameter, configuration)
        });
        if let Some(parameter) = missing {
            return Some(format!("`{}` has no value", parameter.name));
        }
        (!self.satisfies(configuration)).then(|| "a constraint does not hold".to_owned())
    }

    /// Every configuration.
    ///
    /// # Errors
    /// Where there is none, there are too many, or a parameter has no end of values.
    pub fn grid(&self) -> Result<Vec<Configuration>, GridError> {
        let mut configurations = vec![Configuration::default()];
        for parameter in &self.parameters {
            let Some(values) = parameter.domain.grid() else {
                return Err(match parameter.domain {
                    Domain::Float { .. } => GridError::Continuous(parameter.name.clone()),
                    _ => GridError::TooLarge,
                });
            };
            let mut more = Vec::new();
            for configuration in configurations {
                if !Self::is_active(parameter, &configuration) {
                    more.push(configuration);
                    continue;
                }
                for value in &values {
                    let mut with = configuration.clone();
                    with.0.insert(parameter.name.clone(), value.clone());
                    // A constraint all of whose names have values already will not change its mind.
                    if self.satisfies(&with) {
                        more.push(with);
                    }
                }
                if more.len() > LARGEST_GRID {
                    return Err(GridError::TooLarge);
                }
            }
            configurations = more;
        }
        match configurations.is_empty() {
            true => Err(GridError::Empty),
            false => Ok(configurations),
        }
    }

    /// A random configuration; `None` where constraints forbade every one that was drawn.
    pub fn sample(&self, random: &mut fastrand::Rng) -> Option<Configuration> {
        (0..MOST_DRAWS).find_map(|_| {
            let drawn = self.configuration(|parameter| parameter.domain.sample(random));
            self.satisfies(&drawn).then_some(drawn)
        })
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// A parameter of whole numbers.
    pub(crate) fn integer(name: &str, min: i64, max: i64) -> Parameter {
        Parameter {
            name: name.to_owned(),
            domain: Domain::Integer { min, max, step: 1 },
            default: Value::Integer(min),
            when: BTreeMap::new(),
        }
    }

    fn words(name: &str, values: &[&str]) -> Parameter {
        let values: Vec<Value> = values
            .iter()
            .map(|word| Value::Text((*word).to_owned()))
            .collect();
        Parameter {
            name: name.to_owned(),
            default: values[0].clone(),
            domain: Domain::Values { values },
            when: BTreeMap::new(),
        }
    }

    fn conditional() -> Space {
        let mut size = integer("size", 1, 3);
        let on = vec![Value::Text("on".to_owned())];
        size.when = [("cache".to_owned(), on)].into();
        Space {
            parameters: vec![words("cache", &["off", "on"]), size, integer("n", 1, 2)],
            constraints: vec![Expression::parse("size * n < 6").expect("an expression")],
        }
    }

    #[test]
    fn a_grid_leaves_out_what_conditions_and_constraints_rule_out() {
        let grid = conditional().grid().expect("a grid");
        let shown: Vec<String> = grid.iter().map(ToString::to_string).collect();
        let expected = [
            "cache=off n=1",
            "cache=off n=2",
            "cache=on n=1 size=1",
            "cache=on n=2 size=1",
            "cache=on n=1 size=2",
            "cache=on n=2 size=2",
            "cache=on n=1 size=3",
        ];
        assert_eq!(shown, expected);
        assert!(
            grid.iter()
                .all(|one| conditional().objection(one).is_none())
        );
    }

    #[test]
    fn samples_are_configurations_of_the_space() {
        let space = conditional();
        let grid: Vec<String> = space
            .grid()
            .expect("a grid")
            .iter()
            .map(Configuration::key)
            .collect();
        let mut random = fastrand::Rng::with_seed(1);
        let seen: std::collections::BTreeSet<String> = (0..300)
            .map(|_| space.sample(&mut random).expect("a configuration").key())
            .collect();
        assert_eq!(seen.len(), grid.len());
        assert!(seen.iter().all(|key| grid.contains(key)));
    }

    #[test]
    fn what_is_no_configuration_is_told_why() {
        let check = |key: &str, expected: Option<&str>| {
            let configuration = Configuration::from_key(key).expect("JSON");
            assert_eq!(
                conditional().objection(&configuration).as_deref(),
                expected,
                "{key}"
            );
        };
        check(r#"{"cache":"off","n":2}"#, None);
        check(r#"{"cache":"off","n":3}"#, Some("`n` cannot be 3"));
        check(
            r#"{"cache":"off","n":1,"m":1}"#,
            Some("there is no parameter `m`"),
        );
        check(
            r#"{"cache":"off","n":1,"size":1}"#,
            Some("`size` has no value beside these others"),
        );
        check(r#"{"cache":"on","n":1}"#, Some("`size` has no value"));
        check(
            r#"{"cache":"on","n":2,"size":3}"#,
            Some("a constraint does not hold"),
        );
    }

    #[test]
    fn grids_that_nobody_waits_for_are_refused() {
        let space = |parameters| Space {
            parameters,
            constraints: Vec::new(),
        };
        let wide = ["a", "b", "c"].map(|name| integer(name, 1, 1000)).to_vec();
        assert_eq!(space(wide).grid(), Err(GridError::TooLarge));
        assert_eq!(
            space(vec![integer("a", i64::MIN, i64::MAX)]).grid(),
            Err(GridError::TooLarge)
        );
        let mut float = integer("x", 0, 1);
        float.domain = Domain::Float {
            min: 0.0,
            max: 1.0,
            steps: None,
        };
        assert_eq!(
            space(vec![float]).grid(),
            Err(GridError::Continuous("x".to_owned()))
        );
    }
}
