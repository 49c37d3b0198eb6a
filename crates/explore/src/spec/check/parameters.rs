//! Checks parameters, their conditions, and constraints.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use toml::Spanned;

use super::super::raw::{OneOrMore, RawParameter, RawType};
use super::super::read::Wrong;
use super::GIVEN_NAMES;
use crate::expression::{Expression, Kind};
use crate::space::{Domain, Parameter, Space};
use crate::value::{Configuration, Value};

/// So many values of a parameter, and combinations of several, are looked at to see whether a constraint can be computed.
const MOST_OF_A_PARAMETER: usize = 100;
const MOST_LOOKED_AT: usize = 10_000;

type RawParameters = BTreeMap<Spanned<String>, Spanned<RawParameter>>;

pub(super) fn space(raw: RawParameters, constraints: Vec<Spanned<String>>) -> Result<Space, Wrong> {
    let mut raw: Vec<_> = raw.into_iter().collect();
    // As the file has them.
    raw.sort_by_key(|(name, _)| name.span().start);
    let mut space = Space::default();
    for (name, parameter) in raw {
        let at = name.span();
        let parameter = one(name.into_inner(), parameter.into_inner(), &at, &space)?;
        space.parameters.push(parameter);
    }
    let mut places = Vec::new();
    for text in constraints {
        let parsed = Expression::parse(text.get_ref()).map_err(|error| {
            let what = format!("the constraint cannot be read: {error}");
            Wrong::new(
                text.span(),
                what,
                "for instance \"threads * 2 <= cores && mode != 'slow'\"",
            )
        })?;
        if let Some(unknown) =
            (parsed.names().into_iter()).find(|name| space.parameter(name).is_none())
        {
            let what = format!("there is no parameter `{unknown}`");
            return Err(Wrong::new(
                text.span(),
                what,
                "a word to compare with stands in quotes",
            ));
        }
        let kind_of = |name: &str| space.parameter(name).map(|one| Kind::of(&one.default));
        let kind = parsed.kind(&kind_of);
        if kind != Ok(Kind::Truth) {
            let why = kind.err().unwrap_or_else(|| {
                "it is neither true nor false, whatever the parameters are".to_owned()
            });
            return Err(Wrong::new(
                text.span(),
                format!("the constraint cannot hold: {why}"),
                "a comparison, or several with `&&` and `||`; words are only equal or not",
            ));
        }
        if let Some((name, value, values)) = never_equal(&parsed, &space) {
            return Err(Wrong::new(
                text.span(),
                format!("the constraint compares `{name}` with '{value}', which it never is"),
                format!("its values are: {}", values.join(", ")),
            ));
        }
        places.push(text.span());
        space.constraints.push(parsed);
    }
    for (constraint, at) in space.constraints.iter().zip(places) {
        if let Some((beside, why)) = not_computed(constraint, &space) {
            return Err(Wrong::new(
                at,
                match beside.0.is_empty() {
                    true => format!("the constraint never has a value: {why}"),
                    false => format!("the constraint has no value with {beside}: {why}"),
                },
                "guard it: `b != 0 && a / b < 2`, where the right side counts only when the left one holds",
            ));
        }
    }
    Ok(space)
}

/// A category that is compared with what is none of its values: its name, the other one, its own.
fn never_equal(constraint: &Expression, space: &Space) -> Option<(String, String, Vec<String>)> {
    constraint.compared().into_iter().find_map(|(name, value)| {
        let (Domain::Values { values }, Value::Text(word)) =
            (&space.parameter(name)?.domain, value)
        else {
            return None;
        };
        let is_known = values.iter().any(|known| known.is_same(value));
        let values = || values.iter().map(ToString::to_string).collect();
        (!is_known).then(|| (name.to_owned(), word.clone(), values()))
    })
}

/// Values with which a constraint cannot be computed though no other one forbids them, and why. Of many values only the
/// default, the ends and 0 are looked at.
fn not_computed(constraint: &Expression, space: &Space) -> Option<(Configuration, String)> {
    let names: BTreeSet<&str> = constraint.names().into_iter().collect();
    let mut all = vec![Configuration::default()];
    for name in names {
        let parameter = space.parameter(name)?;
        let values = telling_values(parameter);
        if all.len() * values.len() > MOST_LOOKED_AT {
            return None;
        }
        let with = |one: &Configuration| -> Vec<Configuration> {
            let with = |value: &Value| {
                let mut one = one.clone();
                one.0.insert(name.to_owned(), value.clone());
                one
            };
            values.iter().map(with).collect()
        };
        all = all.iter().flat_map(with).collect();
    }
    all.into_iter().find_map(|one| {
        let value = |of: &Expression| of.value(&|name| one.get(name).cloned());
        let why = value(constraint).err()?;
        let mut others = space.constraints.iter();
        let is_forbidden = others.any(|other| value(other) == Ok(Value::Boolean(false)));
        (!is_forbidden).then_some((one, why))
    })
}

fn telling_values(parameter: &Parameter) -> Vec<Value> {
    let grid = parameter.domain.grid();
    if let Some(few) = grid.filter(|grid| grid.len() <= MOST_OF_A_PARAMETER) {
        return few;
    }
    let ends = match parameter.domain {
        Domain::Integer { min, max, .. } => vec![Value::Integer(min), Value::Integer(max)],
        Domain::Float { min, max, .. } => vec![Value::Float(min), Value::Float(max)],
        Domain::Values { .. } => Vec::new(),
    };
    let mut values = [ends, vec![Value::Integer(0), parameter.default.clone()]].concat();
    values.retain(|value| parameter.domain.contains(value));
    values
}

fn one(
    name: String,
    raw: RawParameter,
    at: &Range<usize>,
    earlier: &Space,
) -> Result<Parameter, Wrong> {
    let wrong = |what: String, hint: &str| Wrong::new(at.clone(), what, hint);
    let mut letters = name.chars();
    let is_name = letters
        .next()
        .is_some_and(|first| first.is_ascii_alphabetic() || first == '_')
        && letters.all(|letter| letter.is_ascii_alphanumeric() || letter == '_')
        && !["true", "false"].contains(&name.as_str());
    if !is_name {
        let hint =
            "letters, digits and `_`, as expressions use it: io_threads instead of io-threads";
        return Err(wrong(
            format!("`{name}` cannot be the name of a parameter"),
            hint,
        ));
    }
    if GIVEN_NAMES.contains(&name.as_str()) {
        return Err(wrong(
            format!("`{name}` has a meaning of its own in templates"),
            "choose another name",
        ));
    }
    let domain = domain(&name, &raw).map_err(|(what, hint)| wrong(what, hint))?;
    let default = match raw.default {
        None => first(&domain),
        Some(value) => domain.canonical(&value).ok_or_else(|| {
            let what = format!("the default of `{name}`, {value}, is none of its values");
            wrong(what, "")
        })?,
    };
    let mut when = BTreeMap::new();
    for (other, wanted) in raw.when {
        let Some(known) = earlier.parameter(&other) else {
            let what = format!("`{name}` depends on `{other}`, which is no parameter above it");
            return Err(wrong(
                what,
                "a parameter that others depend on stands before them",
            ));
        };
        let wanted = match wanted {
            OneOrMore::One(value) => vec![value],
            OneOrMore::More(values) => values,
        };
        if let Some(value) = wanted.iter().find(|value| !known.domain.contains(value)) {
            let what = format!("`{name}` depends on `{other}` being {value}, which it cannot be");
            return Err(wrong(what, ""));
        }
        when.insert(other, wanted);
    }
    Ok(Parameter {
        name,
        domain,
        default,
        when,
    })
}

fn first(domain: &Domain) -> Value {
    match domain {
        Domain::Integer { min, .. } => Value::Integer(*min),
        Domain::Float { min, .. } => Value::Float(*min),
        Domain::Values { values } => values[0].clone(),
    }
}

type Objection = (String, &'static str);

fn domain(name: &str, raw: &RawParameter) -> Result<Domain, Objection> {
    if let Some(values) = &raw.values {
        if raw.min.is_some() || raw.max.is_some() || raw.step.is_some() || raw.steps.is_some() {
            let hint = "either `values`, or `min` and `max`";
            return Err((format!("`{name}` has both `values` and a range"), hint));
        }
        return listed(name, raw.kind, values);
    }
    let range = || match (&raw.min, &raw.max) {
        (Some(min), Some(max)) => Ok((min.clone(), max.clone())),
        _ => Err((
            format!("`{name}` has neither `values` nor both `min` and `max`"),
            "",
        )),
    };
    match raw.kind {
        RawType::Boolean => {
            if raw.min.is_some() || raw.max.is_some() || raw.step.is_some() || raw.steps.is_some() {
                return Err((format!("`{name}` is a boolean and has no range"), ""));
            }
            Ok(Domain::Values {
                values: vec![Value::Boolean(false), Value::Boolean(true)],
            })
        }
        RawType::Category => {
            let hint = "values = [\"always\", \"never\"]";
            Err((format!("`{name}` is a category and needs `values`"), hint))
        }
        RawType::Integer => {
            let step = raw.step.unwrap_or(1);
            match range()? {
                _ if raw.steps.is_some() => {
                    let hint = "`step` is the distance from one to the next";
                    Err((
                        format!("`{name}` is a whole number and has no `steps`"),
                        hint,
                    ))
                }
                (Value::Integer(min), Value::Integer(max)) if min <= max && step > 0 => {
                    Ok(Domain::Integer { min, max, step })
                }
                (Value::Integer(_), Value::Integer(_)) => {
                    let hint = "`max` is not below `min`, `step` is 1 or more";
                    Err((format!("the range of `{name}` is empty"), hint))
                }
                _ => Err((format!("the bounds of `{name}` are no whole numbers"), "")),
            }
        }
        RawType::Float => {
            let (min, max) = range()?;
            let bounds = min.number().zip(max.number());
            let bounds =
                bounds.filter(|(min, max)| min.is_finite() && max.is_finite() && min < max);
            match bounds {
                _ if raw.step.is_some() => {
                    let hint = "`steps` says how many of its values make part of a grid";
                    Err((format!("`{name}` is a float and has no `step`"), hint))
                }
                Some(_)
                    if raw
                        .steps
                        .is_some_and(|steps| !(2..=10_000).contains(&steps)) =>
                {
                    Err((format!("`steps` of `{name}` is from 2 to 10000"), ""))
                }
                Some((min, max)) => Ok(Domain::Float {
                    min,
                    max,
                    steps: raw.steps,
                }),
                None => Err((
                    format!("the range of `{name}` is empty"),
                    "`min` is below `max`, both are finite",
                )),
            }
        }
    }
}

fn listed(name: &str, kind: RawType, values: &[Value]) -> Result<Domain, Objection> {
    if values.is_empty() {
        return Err((format!("`{name}` has no value"), ""));
    }
    let does_not_fit = |value: &&Value| match (kind, value) {
        (RawType::Integer, Value::Integer(_))
        | (RawType::Category, Value::Text(_))
        | (RawType::Boolean, Value::Boolean(_)) => false,
        (RawType::Float, value) => {
            matches!(value, Value::Boolean(_))
                || value.number().is_none_or(|number| !number.is_finite())
        }
        _ => true,
    };
    if let Some(value) = values.iter().find(does_not_fit) {
        let hint = match (kind, value) {
            (RawType::Integer, Value::Float(_)) => {
                "whole numbers have no point, and 64 bits at most"
            }
            _ => "numbers of a category stand in quotes",
        };
        return Err((
            format!("the value {value} does not fit the type of `{name}`"),
            hint,
        ));
    }
    for (number, value) in values.iter().enumerate() {
        if values[..number]
            .iter()
            .any(|earlier| earlier.is_same(value))
        {
            return Err((format!("`{name}` has the value {value} twice"), ""));
        }
    }
    Ok(Domain::Values {
        values: values.to_vec(),
    })
}
