//! The language of `--when`: which latency is too much.
//!
//! ```text
//! rule     = measure "(" service ":" operation ")" (">" | ">=") limit ["in" duration] ["hold" duration]
//! measure  = "p50" | "p99" | any "p" and a number below 100 | "max" | "errors"
//! limit    = duration, or a whole number for errors
//! duration = number ("ns" | "us" | "µs" | "ms" | "s" | "min")
//! ```
//! Service and operation may have `*` and `?`; the operation may be left out with its colon.
//! For users: docs/reference/receiving-spans.md.

use std::str::FromStr;
use std::time::Duration;

use crate::event_names::glob_matches;

/// Spans that arrived so long ago are no longer looked at.
const DEFAULT_WINDOW: Duration = Duration::from_secs(10);
/// After a snapshot, the same rule takes none for so long.
const DEFAULT_HOLD: Duration = Duration::from_secs(30);

/// A rule that takes a snapshot when spans break it.
#[derive(Clone, Debug, PartialEq)]
pub struct Rule {
    /// As the user wrote it.
    pub text: String,
    pub(crate) measure: Measure,
    pub(crate) service: String,
    pub(crate) operation: String,
    /// Nanoseconds, or spans for [`Measure::Errors`].
    pub(crate) threshold: u64,
    /// Whether the threshold itself breaks the rule.
    pub(crate) or_equal: bool,
    pub(crate) window: Duration,
    pub(crate) hold: Duration,
}

/// What is measured of the spans in the window.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Measure {
    /// The duration that this share of them (of 100) does not exceed.
    Percentile(f64),
    /// The longest duration.
    Max,
    /// How many have failed.
    Errors,
}

/// Why a text is no rule.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{what}; a rule looks like 'p99(frontend:/dispatch) > 300ms in 10s hold 30s'")]
pub struct NoRule {
    what: String,
}

fn no_rule(what: impl Into<String>) -> NoRule {
    NoRule { what: what.into() }
}

impl Rule {
    /// Whether spans of this service and operation count.
    pub(crate) fn covers(&self, service: &str, operation: &str) -> bool {
        glob_matches(&self.service, service) && glob_matches(&self.operation, operation)
    }

    /// Whether the measure rests on a span like this: one that is no error is none of the errors, and one that is
    /// not too long by itself never makes the maximum too much.
    pub(crate) fn rests_on(&self, duration_ns: u64, is_error: bool) -> bool {
        match self.measure {
            Measure::Percentile(_) => true,
            Measure::Max => self.is_broken_by(duration_ns),
            Measure::Errors => is_error,
        }
    }

    /// Whether `value` is too much.
    pub(crate) fn is_broken_by(&self, value: u64) -> bool {
        value > self.threshold || (self.or_equal && value == self.threshold)
    }
}

impl FromStr for Rule {
    type Err = NoRule;

    fn from_str(text: &str) -> Result<Self, NoRule> {
        let (measure, rest) = text
            .split_once('(')
            .ok_or_else(|| no_rule(format!("{text:?} has no parenthesis")))?;
        let measure = parse_measure(measure.trim())?;
        // An operation may have parentheses and angle brackets of its own.
        let (spans, comparison) = rest
            .rsplit_once(')')
            .ok_or_else(|| no_rule(format!("{text:?} has no closing parenthesis")))?;
        let (service, operation) = match spans.split_once(':') {
            Some((service, operation)) => (service.trim(), operation.trim()),
            None => (spans.trim(), "*"),
        };
        if service.is_empty() || operation.is_empty() {
            return Err(no_rule(format!(
                "{spans:?} names no service and operation (* stands for any)"
            )));
        }
        let comparison = comparison.trim_start();
        let (or_equal, rest) = match (comparison.strip_prefix(">="), comparison.strip_prefix('>')) {
            (Some(rest), _) => (true, rest),
            (None, Some(rest)) => (false, rest),
            (None, None) => {
                return Err(no_rule("behind the parenthesis, > and a limit are wanted"));
            }
        };
        let mut words = rest.split_ascii_whitespace();
        let limit = words
            .next()
            .ok_or_else(|| no_rule("the limit is missing"))?;
        let threshold = match measure {
            Measure::Errors => limit.parse().map_err(|_| {
                no_rule(format!("errors are counted: {limit:?} is no whole number"))
            })?,
            _ => nanoseconds(limit)?,
        };
        let mut rule = Self {
            text: text.trim().to_owned(),
            measure,
            service: service.to_owned(),
            operation: operation.to_owned(),
            threshold,
            or_equal,
            window: DEFAULT_WINDOW,
            hold: DEFAULT_HOLD,
        };
        while let Some(word) = words.next() {
            let target = match word {
                "in" => &mut rule.window,
                "hold" => &mut rule.hold,
                _ => return Err(no_rule(format!("{word:?} is not understood"))),
            };
            let duration = words
                .next()
                .ok_or_else(|| no_rule(format!("a duration is missing behind {word:?}")))?;
            *target = Duration::from_nanos(nanoseconds(duration)?);
        }
        Ok(rule)
    }
}

fn parse_measure(text: &str) -> Result<Measure, NoRule> {
    let percent = || {
        let percent: f64 = text.strip_prefix('p')?.parse().ok()?;
        (percent > 0.0 && percent < 100.0).then_some(Measure::Percentile(percent))
    };
    match text {
        "max" => Ok(Measure::Max),
        "errors" => Ok(Measure::Errors),
        _ => percent().ok_or_else(|| {
            no_rule(format!(
                "{text:?} is no measure; max, errors, p50, p99, p99.9 are"
            ))
        }),
    }
}

fn nanoseconds(text: &str) -> Result<u64, NoRule> {
    let is_number = |one: char| one.is_ascii_digit() || one == '.';
    let (number, unit) = text.split_at(text.find(|one| !is_number(one)).unwrap_or(text.len()));
    let scale = match unit {
        "ns" => 1.0,
        "us" | "µs" => 1e3,
        "ms" => 1e6,
        "s" => 1e9,
        "min" => 60e9,
        _ => {
            return Err(no_rule(format!(
                "{text:?} is no duration; 300ms, 1.5s, 20us are"
            )));
        }
    };
    match number.parse::<f64>().map(|number| number * scale) {
        Ok(value) if value > 0.0 && value < 1e18 => Ok(value.round() as u64),
        _ => Err(no_rule(format!("{text:?} is no duration above 0"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rules_are_read_as_people_write_them() {
        let rule: Rule = "p99(frontend:/dispatch) > 300ms".parse().expect("a rule");
        assert_eq!(rule.measure, Measure::Percentile(99.0));
        assert_eq!(
            (&*rule.service, &*rule.operation),
            ("frontend", "/dispatch")
        );
        assert_eq!((rule.threshold, rule.or_equal), (300_000_000, false));
        assert_eq!((rule.window, rule.hold), (DEFAULT_WINDOW, DEFAULT_HOLD));
        assert!(rule.covers("frontend", "/dispatch") && !rule.covers("frontend", "/"));
        assert!(rule.is_broken_by(300_000_001) && !rule.is_broken_by(300_000_000));

        let rule: Rule = " errors( shop-* ) >= 5 hold 1min in 2.5s "
            .parse()
            .expect("a rule");
        assert_eq!(rule.measure, Measure::Errors);
        assert_eq!((&*rule.service, &*rule.operation), ("shop-*", "*"));
        assert_eq!((rule.window.as_millis(), rule.hold.as_secs()), (2500, 60));
        assert!(rule.is_broken_by(5));

        let rule: Rule = "max(db:SELECT (a) > b: c)>20us".parse().expect("a rule");
        assert_eq!(
            (&*rule.operation, rule.threshold),
            ("SELECT (a) > b: c", 20_000)
        );
    }

    #[test]
    fn what_is_wrong_with_a_rule_is_said() {
        for (text, expected) in [
            ("", "no parenthesis"),
            ("p99 > 3s", "no parenthesis"),
            ("p100(a:b) > 3s", "\"p100\" is no measure"),
            ("mean(a:b) > 3s", "\"mean\" is no measure"),
            ("p99(a:b > 3s", "no closing parenthesis"),
            ("p99(:b) > 3s", "names no service"),
            ("p99(a:) > 3s", "names no service and operation"),
            ("p99(a:b) < 3s", "> and a limit are wanted"),
            ("p99(a:b) >", "the limit is missing"),
            ("p99(a:b) > 3", "\"3\" is no duration"),
            ("p99(a:b) > 1.2.3s", "no duration above 0"),
            ("p99(a:b) > 0s", "no duration above 0"),
            ("errors(a:b) > 3s", "no whole number"),
            ("p99(a:b) > 3s for 2s", "\"for\" is not understood"),
            ("p99(a:b) > 3s in", "missing behind \"in\""),
        ] {
            let error = text.parse::<Rule>().expect_err(text).to_string();
            assert!(error.contains(expected), "{text}: {error}");
            assert!(error.contains("p99(frontend:/dispatch)"), "{error}");
        }
    }
}
