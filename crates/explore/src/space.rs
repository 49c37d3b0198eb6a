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
    /// Each holds in every configuration; a parameter without a value counts with its default.
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

    /// The value of this domain that `value` is the same as: 2 and 2.0 are one value. `None` where it is none.
    pub fn canonical(&self, value: &Value) -> Option<Value> {
        let canonical = match (self, value.number()) {
            (Self::Values { values }, _) => {
                return values.iter().find(|known| known.is_same(value)).cloned();
            }
            (_, None) => return None,
            _ if matches!(value, Value::Boolean(_)) => return None,
            // 0 and -0 are one value, too.
            (Self::Float { .. }, Some(number)) => Value::Float(number + 0.0),
            (Self::Integer { .. }, Some(number)) => match value {
                Value::Float(_) if number.fract() == 0.0 && number.abs() < 2_f64.powi(53) => {
                    Value::Integer(number as i64)
                }
                _ => value.clone(),
            },
        };
        self.contains(&canonical).then_some(canonical)
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

    /// Whether every constraint holds; one that cannot be computed does not.
    pub fn satisfies(&self, configuration: &Configuration) -> bool {
        (self.constraints.iter()).all(|constraint| self.holds(constraint, configuration))
    }

    fn holds(&self, constraint: &Expression, configuration: &Configuration) -> bool {
        constraint.value(&|name| self.value(configuration, name)) == Ok(Value::Boolean(true))
    }

    /// The value of a parameter, its default where it has none.
    pub fn value(&self, configuration: &Configuration, name: &str) -> Option<Value> {
        let default = || Some(self.parameter(name)?.default.clone());
        configuration.get(name).cloned().or_else(default)
    }

    /// The constraints whose last parameter is the one at `place`.
    fn due_at(&self, place: usize) -> Vec<&Expression> {
        let place_of = |name: &str| (self.parameters.iter()).position(|one| one.name == name);
        let last = |constraint: &&Expression| {
            let names = constraint.names().into_iter();
            names.filter_map(place_of).max().unwrap_or(0)
        };
        let due = self.constraints.iter();
        due.filter(|constraint| last(constraint) == place).collect()
    }

    /// A configuration with the values as the parameters' domains have them; what is none of theirs stays.
    pub fn canonical(&self, configuration: &Configuration) -> Configuration {
        let one = |(name, value): (&String, &Value)| {
            let parameter = self.parameter(name);
            let canonical = parameter.and_then(|parameter| parameter.domain.canonical(value));
            (name.clone(), canonical.unwrap_or_else(|| value.clone()))
        };
        Configuration(configuration.0.iter().map(one).collect())
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
        self.misfit(configuration).or_else(|| {
            (!self.satisfies(configuration)).then(|| "a constraint does not hold".to_owned())
        })
    }

    /// Why it would be none whatever the constraints.
    pub(crate) fn misfit(&self, configuration: &Configuration) -> Option<String> {
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
        missing.map(|parameter| format!("`{}` has no value", parameter.name))
    }

    /// Every configuration.
    ///
    /// # Errors
    /// Where there is none, there are too many, or a parameter has no end of values.
    pub fn grid(&self) -> Result<Vec<Configuration>, GridError> {
        let mut configurations = vec![Configuration::default()];
        for (place, parameter) in self.parameters.iter().enumerate() {
            let due = self.due_at(place);
            let may_be = |one: &Configuration| due.iter().all(|due| self.holds(due, one));
            let Some(values) = parameter.domain.grid() else {
                return Err(match parameter.domain {
                    Domain::Float { .. } => GridError::Continuous(parameter.name.clone()),
                    _ => GridError::TooLarge,
                });
            };
            let mut more = Vec::new();
            for configuration in configurations {
                if !Self::is_active(parameter, &configuration) {
                    more.extend(may_be(&configuration).then_some(configuration));
                    continue;
                }
                for value in &values {
                    let mut with = configuration.clone();
                    with.0.insert(parameter.name.clone(), value.clone());
                    more.extend(may_be(&with).then_some(with));
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
    fn a_constraint_counts_parameters_without_a_value_with_their_default() {
        let mut space = conditional();
        space.constraints = vec![Expression::parse("size <= 2 && n < 2").expect("an expression")];
        let grid = space.grid().expect("a grid");
        let shown: Vec<String> = grid.iter().map(ToString::to_string).collect();
        let expected = [
            "cache=off n=1",
            "cache=on n=1 size=1",
            "cache=on n=1 size=2",
        ];
        assert_eq!(shown, expected);
        // The parameter that has no value may also be the last one.
        space.parameters.swap(1, 2);
        assert_eq!(space.grid().expect("a grid").len(), 3);
    }

    #[test]
    fn values_that_are_the_same_are_one() {
        let integer = Domain::Integer {
            min: 0,
            max: 9,
            step: 3,
        };
        let float = Domain::Float {
            min: 0.0,
            max: 1.0,
            steps: None,
        };
        let listed = Domain::Values {
            values: vec![Value::Integer(1), Value::Float(2.5)],
        };
        let check = |domain: &Domain, value: Value, expected: Option<Value>| {
            // As texts, which tell 1 from 1.0 and 0.0 from -0.0.
            let shown = |value: &Value| serde_json::to_string(value).expect("JSON");
            let found = domain.canonical(&value);
            assert_eq!(
                found.as_ref().map(shown),
                expected.as_ref().map(shown),
                "{value:?}"
            );
        };
        check(&integer, Value::Float(3.0), Some(Value::Integer(3)));
        check(&integer, Value::Float(2.0), None);
        check(&integer, Value::Float(3.5), None);
        check(&integer, Value::Boolean(false), None);
        check(&float, Value::Integer(1), Some(Value::Float(1.0)));
        check(&float, Value::Float(-0.0), Some(Value::Float(0.0)));
        check(&float, Value::Boolean(true), None);
        check(&listed, Value::Float(1.0), Some(Value::Integer(1)));
        check(&listed, Value::Integer(2), None);
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
