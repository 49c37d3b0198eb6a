//! Metrics: where the numbers of a trial come from.
//!
//! What a collector gathers while the workload runs (probes inside the observed programs) is a [`Source`] of its own: it gives
//! `measure.rs` the number by the metric's name, and nothing else changes.

use super::Pattern;
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
    }
}
