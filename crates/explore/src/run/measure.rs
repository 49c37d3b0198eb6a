//! From what a trial left to its metrics: the place where further sources of numbers are added.
//!
//! Who collects numbers while the workload runs (`probes.rs`) puts them into [`Observed`] by the metric's name.

use std::collections::BTreeMap;

use regex::Regex;

use super::functions::Calls;
use crate::spec::{Function, Metric, OfCalls, Source};
use crate::statistics::LARGEST;

/// What a trial left.
#[derive(Clone, Debug, Default)]
pub struct Observed {
    /// The workload's standard output.
    pub output: String,
    /// Seconds that the workload took.
    pub wall: f64,
    /// Seconds of processor time of the workload.
    pub workload_cpu: f64,
    /// Seconds of processor time of the system meanwhile.
    pub system_cpu: f64,
    /// What collectors found, by metric: a number, or why there is none.
    pub collected: BTreeMap<String, Result<f64, String>>,
    /// What was seen of the functions that metrics name.
    pub calls: BTreeMap<Function, Calls>,
}

/// The metrics of a trial.
///
/// # Errors
/// The first that is not there, in words.
pub fn measure(
    metrics: &BTreeMap<String, Metric>,
    observed: &Observed,
) -> Result<BTreeMap<String, f64>, String> {
    let all = metrics.iter();
    all.map(|(name, metric)| Ok((name.clone(), one(name, metric, observed)?)))
        .collect()
}

/// Those metrics that there are of a trial that was stopped: what is told at the end of a run is not among them.
pub(crate) fn measure_part(
    metrics: &BTreeMap<String, Metric>,
    observed: &Observed,
) -> BTreeMap<String, f64> {
    let all = metrics.iter();
    all.filter_map(|(name, metric)| Some((name.clone(), one(name, metric, observed).ok()?)))
        .collect()
}

fn one(name: &str, metric: &Metric, observed: &Observed) -> Result<f64, String> {
    let value = match observed.collected.get(name) {
        Some(collected) => Some(collected.clone()?),
        None => number(&metric.source, observed),
    };
    let value = value.filter(|value| value.is_finite());
    let value = value.ok_or_else(|| missing(name, &metric.source))?;
    match value.abs() <= LARGEST {
        true => Ok(value),
        false => Err(format!(
            "the metric `{name}` is {value:e}, and numbers beyond {LARGEST:e} are not reckoned with"
        )),
    }
}

fn number(source: &Source, observed: &Observed) -> Option<f64> {
    match source {
        Source::Regex { pattern, take } => take.of(matches(&pattern.0, &observed.output).collect()),
        Source::Json { pointer } => in_json(&observed.output, pointer),
        Source::Wall => Some(observed.wall),
        Source::WorkloadCpu => Some(observed.workload_cpu),
        Source::SystemCpu => Some(observed.system_cpu),
        // Collected.
        Source::Probe(_) => None,
        Source::Function { function, of } => {
            observed.calls.get(function)?.number(*of, observed.wall)
        }
    }
}

/// The numbers that a metric's expression finds in a text.
pub(crate) fn matches<'run>(
    pattern: &'run Regex,
    text: &'run str,
) -> impl Iterator<Item = f64> + use<'run> {
    let found = pattern
        .captures_iter(text)
        .filter_map(|captures| captures.get(1));
    found.filter_map(|group| parsed(group.as_str().trim()))
}

/// Thousands are often told apart: 12,345.6. A comma that may be a decimal one (1,50) makes no number.
fn parsed(text: &str) -> Option<f64> {
    let text = text.trim_end_matches([',', '_']);
    let whole = text.split('.').next()?;
    let mut groups = whole.trim_start_matches(['-', '+']).split([',', '_']);
    let first = groups.next()?;
    let mut others = groups.peekable();
    let are_digits = |group: &str| group.bytes().all(|byte| byte.is_ascii_digit());
    let are_thousands = (1..=3).contains(&first.len())
        && !first.starts_with('0')
        && are_digits(first)
        && others
            .clone()
            .all(|group| group.len() == 3 && are_digits(group));
    let is_plain = others.peek().is_none() || are_thousands;
    match is_plain && !text[whole.len()..].contains([',', '_']) {
        true => text.replace([',', '_'], "").parse().ok(),
        false => None,
    }
}

fn in_json(output: &str, pointer: &str) -> Option<f64> {
    let document = |text: &str| serde_json::from_str::<serde_json::Value>(text).ok();
    let of = |document: serde_json::Value| document.pointer(pointer)?.as_f64();
    let mut lines = output
        .lines()
        .rev()
        .filter(|line| line.trim_start().starts_with(['{', '[']));
    document(output)
        .and_then(of)
        .or_else(|| of(lines.find_map(document)?))
}

fn missing(name: &str, source: &Source) -> String {
    match source {
        Source::Regex { pattern, .. } => {
            format!(
                "the metric `{name}` is not in the workload's output: nothing there matches '{}' with a number",
                pattern.0
            )
        }
        Source::Json { pointer } => format!(
            "the metric `{name}` is not in the workload's output: no JSON document there has a number at {pointer:?}"
        ),
        Source::Function {
            function,
            of: OfCalls::Time { .. },
        } => format!(
            "the metric `{name}` has no value: no call of `{}` in {} both began and ended while the workload ran (`take = \"sum\"` would be 0)",
            function.name, function.binary
        ),
        _ => format!("the metric `{name}` could not be measured"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::spec::{Pattern, Take};

    fn check(source: Source, output: &str, expected: Option<f64>) {
        let observed = Observed {
            output: output.to_owned(),
            ..Observed::default()
        };
        assert_eq!(number(&source, &observed), expected, "{source:?}");
    }

    fn regex(text: &str, take: Take) -> Source {
        let pattern = Pattern(Regex::new(text).expect("an expression"));
        Source::Regex { pattern, take }
    }

    #[test]
    fn numbers_are_found_in_what_was_printed() {
        let output = "SET: 12,345.50 requests\nGET: 99 requests\n";
        check(
            regex(r"([0-9.,]+) requests", Take::Last),
            output,
            Some(99.0),
        );
        check(
            regex(r"([0-9.,]+) requests", Take::First),
            output,
            Some(12_345.5),
        );
        check(regex(r"DEL: ([0-9.]+)", Take::Last), output, None);
        for (printed, expected) in [
            ("1,50", None),
            ("0,912", None),
            ("1,234,56", None),
            ("1.234,56", None),
            ("1234,567", None),
            ("-1,234,567.5e1", Some(-12_345_675.0)),
            ("12_000", Some(12_000.0)),
            ("12,", Some(12.0)),
            ("1.5e-3", Some(1.5e-3)),
            ("3.", Some(3.0)),
            (".5", Some(0.5)),
        ] {
            let source = regex("v=(.*)$", Take::Last);
            check(source, &format!("v={printed}"), expected);
        }
        let json = |pointer: &str| Source::Json {
            pointer: pointer.to_owned(),
        };
        check(
            json("/a/1"),
            "talk\n{\"a\":[1,2.5]}\nmore talk\n",
            Some(2.5),
        );
        check(json("/a"), "{\n \"a\": 7\n}", Some(7.0));
        check(json("/b"), "{\"a\": 7}", None);
        check(json("/a"), "{\"a\": \"7\"}", None);
    }

    #[test]
    fn numbers_that_are_too_large_are_no_result() {
        let metric = Metric {
            source: regex("v=(.*)$", Take::Last),
            unit: String::new(),
        };
        let metrics = BTreeMap::from([("speed".to_owned(), metric)]);
        let of = |output: &str| {
            let output = output.to_owned();
            measure(
                &metrics,
                &Observed {
                    output,
                    ..Observed::default()
                },
            )
        };
        assert!(of("v=1e308").is_err_and(|words| words.contains("`speed` is 1e308")));
        assert!(of("v=1e100").is_ok_and(|found| found["speed"] == 1e100));
    }

    #[test]
    fn what_is_missing_is_named() {
        let metrics = [(
            "speed".to_owned(),
            Metric {
                source: regex("x([0-9])", Take::Last),
                unit: String::new(),
            },
        )];
        let found = measure(&metrics.into(), &Observed::default());
        assert!(found.is_err_and(|words| words.contains("`speed`") && words.contains("x([0-9])")));
    }
}
