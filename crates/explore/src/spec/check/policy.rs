//! Checks the choice of a policy: that its options are its own, and fit the space.

use std::path::PathBuf;

use toml::Spanned;

use super::super::raw::{RawPolicy, RawPolicyName};
use super::super::read::Wrong;
use super::super::{PolicyChoice, PythonPolicy, Trials};
use crate::space::{Domain, Space};

pub(super) fn choice(
    raw: Option<Spanned<RawPolicy>>,
    space: &Space,
    trials: &Trials,
) -> Result<PolicyChoice, Wrong> {
    let Some(raw) = raw else {
        return Ok(PolicyChoice::Grid);
    };
    let at = raw.span();
    let wrong = |what: String, hint: &str| Wrong::new(at.clone(), what, hint);
    let raw = raw.into_inner();
    let given = [
        ("configurations", raw.configurations.is_some()),
        ("eta", raw.eta.is_some()),
        ("most_trials", raw.most_trials.is_some()),
        ("precision", raw.precision.is_some()),
        ("parameter", raw.parameter.is_some()),
        ("tolerance", raw.tolerance.is_some()),
        ("interpreter", raw.interpreter.is_some()),
        ("file", raw.file.is_some()),
        ("options", !raw.options.is_empty()),
    ];
    let own: &[&str] = match raw.name {
        RawPolicyName::Grid | RawPolicyName::OneAtATime => &[],
        RawPolicyName::Random => &["configurations"],
        RawPolicyName::Halving => &["configurations", "eta"],
        RawPolicyName::Confident => &["most_trials", "precision"],
        RawPolicyName::Knee => &["parameter", "tolerance"],
        RawPolicyName::Optuna => &["configurations", "interpreter", "options"],
        RawPolicyName::Python => &["file", "interpreter", "options"],
    };
    if let Some((name, _)) =
        (given.iter()).find(|(name, is_given)| *is_given && !own.contains(name))
    {
        let hint = match own.is_empty() {
            true => "it has no options".to_owned(),
            false => format!("its options are: {}", own.join(", ")),
        };
        return Err(wrong(
            format!("`{name}` is no option of this policy"),
            &hint,
        ));
    }
    if raw.configurations == Some(0) {
        return Err(wrong("`configurations` is 1 or more".to_owned(), ""));
    }
    let share = |name: &str, value: Option<f64>, default: f64| match value.unwrap_or(default) {
        value if value > 0.0 && value < 1.0 => Ok(value),
        _ => Err(wrong(format!("`{name}` lies between 0 and 1"), "")),
    };
    let interpreter = raw
        .interpreter
        .clone()
        .unwrap_or_else(|| "python3".to_owned());
    Ok(match raw.name {
        RawPolicyName::Grid => PolicyChoice::Grid,
        RawPolicyName::OneAtATime => PolicyChoice::OneAtATime,
        RawPolicyName::Random => PolicyChoice::Random {
            configurations: raw.configurations.unwrap_or(20),
        },
        RawPolicyName::Halving => PolicyChoice::Halving {
            configurations: raw.configurations,
            eta: match raw.eta.unwrap_or(2) {
                eta @ 2..=16 => eta,
                _ => return Err(wrong("`eta` is from 2 to 16".to_owned(), "")),
            },
        },
        RawPolicyName::Confident => PolicyChoice::Confident {
            most_trials: match raw.most_trials.unwrap_or(10) {
                most if most >= trials.per_configuration.max(2) => most,
                _ => {
                    let what = "`most_trials` is 2 at least, and not below `per_configuration`";
                    return Err(wrong(what.to_owned(), ""));
                }
            },
            precision: share("precision", raw.precision, 0.02)?,
        },
        RawPolicyName::Knee => {
            let name = (raw.parameter.clone()).ok_or_else(|| {
                wrong(
                    "a knee needs the `parameter` to look along".to_owned(),
                    "parameter = \"threads\"",
                )
            })?;
            match space.parameter(&name) {
                Some(parameter) if matches!(parameter.domain, Domain::Integer { .. }) => {}
                Some(_) => {
                    let what = format!("`{name}` is no whole number with `min` and `max`");
                    let hint = "a knee looks between values: give the parameter these two, or use the policy grid";
                    return Err(wrong(what, hint));
                }
                None => return Err(wrong(format!("there is no parameter `{name}`"), "")),
            }
            if space
                .parameters
                .iter()
                .any(|other| other.when.contains_key(&name))
            {
                return Err(wrong(
                    format!("other parameters depend on `{name}`"),
                    "use the policy grid",
                ));
            }
            if space.defaults().get(&name).is_none() {
                return Err(wrong(
                    format!("`{name}` has no value beside the defaults of the others"),
                    "give the parameters in its `when` a `default` that it needs",
                ));
            }
            PolicyChoice::Knee {
                parameter: name,
                tolerance: share("tolerance", raw.tolerance, 0.05)?,
            }
        }
        RawPolicyName::Optuna => {
            let mut options = raw.options;
            if let Some(configurations) = raw.configurations {
                options.insert("configurations".to_owned(), configurations.into());
            }
            PolicyChoice::Python(PythonPolicy {
                interpreter,
                file: None,
                options,
            })
        }
        RawPolicyName::Python => {
            let file = (raw.file.clone()).ok_or_else(|| {
                wrong(
                    "a policy in Python needs a `file`".to_owned(),
                    "file = \"my_policy.py\"",
                )
            })?;
            PolicyChoice::Python(PythonPolicy {
                interpreter,
                file: Some(PathBuf::from(file)),
                options: raw.options,
            })
        }
    })
}
