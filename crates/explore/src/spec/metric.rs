//! Metrics: where the numbers of a trial come from.
//!
//! What a collector gathers while the workload runs (probes inside the observed programs) is a [`Source`] of its own: it gives
//! `measure.rs` the number by the metric's name, and nothing else changes.

use super::Pattern;
use super::function::{Function, OfCalls};
use super::probe::ProbeMetric;

/// A number that a trial gives.
#[derive(Clone, Debug, PartialEq)]
pub struct Metric {
    /// Where it comes from.
    pub source: Source,
    /// Its unit, for people.
    pub unit: String,
}

/// Where a number comes from.
#[derive(Clone, Debug, PartialEq)]
pub enum Source {
    /// The first group of a regular expression on the workload's standard output.
    Regex {
        /// The expression.
        pattern: Pattern,
        /// Which of several matches.
        take: Take,
    },
    /// A number in the JSON document on the workload's standard output: the last line that is one, or all of it.
    Json {
        /// A pointer (RFC 6901) into it.
        pointer: String,
    },
    /// Seconds that the workload took.
    Wall,
    /// Seconds of processor time of the workload and all that it started.
    WorkloadCpu,
    /// Seconds of processor time of the observed system while the workload ran.
    SystemCpu,
    /// Records of probes in the programs of the trial.
    Probe(ProbeMetric),
    /// Calls of a function in the programs of the trial while the workload runs.
    Function {
        /// Which function.
        function: Function,
        /// What of its calls.
        of: OfCalls,
    },
}

/// Which of several numbers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Take {
    /// The first.
    First,
    /// The last.
    #[default]
    Last,
    /// Their mean.
    Mean,
    /// Their median.
    Median,
    /// Their sum.
    Sum,
    /// The smallest.
    Min,
    /// The largest.
    Max,
    /// The one that 95 % do not exceed.
    P95,
    /// The one that 99 % do not exceed.
    P99,
}

impl Take {
    /// By its name in a specification.
    pub(super) fn named(name: &str) -> Option<Self> {
        Some(match name {
            "first" => Self::First,
            "last" => Self::Last,
            "mean" => Self::Mean,
            "median" => Self::Median,
            "sum" => Self::Sum,
            "min" => Self::Min,
            "max" => Self::Max,
            "p95" => Self::P95,
            "p99" => Self::P99,
            _ => return None,
        })
    }

    /// The number of several; `None` of none.
    pub fn of(self, mut numbers: Vec<f64>) -> Option<f64> {
        let sum = |numbers: &[f64]| numbers.iter().sum::<f64>();
        match self {
            Self::First => numbers.first().copied(),
            Self::Last => numbers.last().copied(),
            _ if numbers.is_empty() => None,
            Self::Mean => Some(sum(&numbers) / numbers.len() as f64),
            Self::Sum => Some(sum(&numbers)),
            Self::Median => {
                numbers.sort_by(f64::total_cmp);
                let middle = numbers.len() / 2;
                Some(match numbers.len() % 2 {
                    1 => numbers[middle],
                    _ => f64::midpoint(numbers[middle - 1], numbers[middle]),
                })
            }
            Self::P95 | Self::P99 => {
                numbers.sort_by(f64::total_cmp);
                let share = if self == Self::P95 { 95 } else { 99 };
                Some(numbers[(numbers.len() * share).div_ceil(100) - 1])
            }
            Self::Min => numbers.into_iter().reduce(f64::min),
            Self::Max => numbers.into_iter().reduce(f64::max),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_number_of_several() {
        let check = |take: Take, expected| {
            assert_eq!(
                take.of(vec![3.0, 1.0, 2.0, 10.0]),
                Some(expected),
                "{take:?}"
            );
            assert_eq!(take.of(Vec::new()), None);
        };
        check(Take::First, 3.0);
        check(Take::Last, 10.0);
        check(Take::Mean, 4.0);
        check(Take::Median, 2.5);
        check(Take::Sum, 16.0);
        check(Take::Min, 1.0);
        check(Take::Max, 10.0);
        check(Take::P95, 10.0);
        let hundred = || (1..=100).rev().map(f64::from).collect();
        assert_eq!(Take::P95.of(hundred()), Some(95.0));
        assert_eq!(Take::P99.of(hundred()), Some(99.0));
    }
}
