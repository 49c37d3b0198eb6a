//! Means, their intervals, and whether two of them differ.
//!
//! Differences are those of Welch (*The generalization of "Student's" problem when several different population
//! variances are involved*, 1947) with Satterthwaite's degrees of freedom: no equal variances are assumed. Two values
//! on each side are needed at least; with fewer nothing is claimed.

use serde::Serialize;
use statrs::distribution::{Continuous, ContinuousCDF, Normal, StudentsT};
use utoipa::ToSchema;

/// A larger number, or one below the negative of it, is none to reckon with: sums of squares have to stay finite.
pub(crate) const LARGEST: f64 = 1e140;

/// The mean: of equal values exactly that value, and the same in whatever order they stand. What a plain sum rounds off
/// would make differences where there are none.
pub(crate) fn mean(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let Some(least) = sorted.first() else {
        return f64::NAN;
    };
    let above = sorted.iter().map(|value| value - least).sum::<f64>();
    least + above / sorted.len() as f64
}

/// A number as it is compared with others: without the digits that rounding decides, where it was computed on several ways.
pub(crate) fn to_compare(number: f64) -> f64 {
    // And there is one zero.
    format!("{number:.11e}").parse().unwrap_or(number) + 0.0
}

/// Several measurements of one thing.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Sample {
    /// How many.
    pub count: u64,
    /// Their mean.
    pub mean: f64,
    /// Their variance, with `count - 1` below the line; 0 for a single one.
    pub variance: f64,
}

/// A difference of means, and the interval in which it lies with the confidence that was asked for.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, ToSchema)]
#[schema(as = MeanDifference)]
pub struct Difference {
    /// The other mean minus this one.
    pub estimate: f64,
    /// Not less than this.
    pub low: f64,
    /// Not more than this.
    pub high: f64,
}

impl Sample {
    /// Of these values; `None` of none, and where they are too large to be reckoned with ([`LARGEST`]).
    pub fn of(values: &[f64]) -> Option<Self> {
        let count = values.len() as f64;
        let mean = mean(values);
        let squares = values
            .iter()
            .map(|value| (value - mean).powi(2))
            .sum::<f64>();
        let variance = match values.len() {
            0 | 1 => 0.0,
            _ => squares / (count - 1.0),
        };
        (mean.abs() <= LARGEST && variance.is_finite()).then_some(Self {
            count: values.len() as u64,
            mean,
            variance,
        })
    }

    /// Half the width of the mean's interval (Student's t); `None` of a single value.
    pub fn half_width(&self, confidence: f64) -> Option<f64> {
        let freedom = self.count.checked_sub(2)? + 1;
        Some(quantile(confidence, freedom as f64)? * (self.variance / self.count as f64).sqrt())
    }

    /// How far `other` lies above this one; `None` where either is a single value.
    pub fn difference(&self, other: &Self, confidence: f64) -> Option<Difference> {
        if self.count < 2 || other.count < 2 {
            return None;
        }
        let share = |sample: &Self| sample.variance / sample.count as f64;
        let (one, two) = (share(self), share(other));
        // Means that rank as equal are told as equal, too.
        let estimate = match to_compare(self.mean) == to_compare(other.mean) {
            true => 0.0,
            false => other.mean - self.mean,
        };
        let square = one + two;
        // Of shares, as squares of squares would soon be too large, or nothing.
        let (one, two) = (one / square, two / square);
        let freedom =
            1.0 / (one.powi(2) / (self.count - 1) as f64 + two.powi(2) / (other.count - 1) as f64);
        // Values that are all equal leave no doubt.
        let half = match square > 0.0 {
            true => quantile(confidence, freedom)? * square.sqrt(),
            false => 0.0,
        };
        Some(Difference {
            estimate,
            low: estimate - half,
            high: estimate + half,
        })
    }
}

impl Difference {
    /// Whether 0 is outside of the interval.
    pub fn is_told_apart(&self) -> bool {
        self.low > 0.0 || self.high < 0.0
    }
}

/// By how much second numbers change for each unit of the first ones, along a line whose slope all groups have in common
/// while each has a height of its own (the within estimator: least squares about each group's means). `None` where fewer
/// than two degrees of freedom are left, or the first numbers do not vary within groups.
pub fn common_slope(groups: &[Vec<(f64, f64)>], confidence: f64) -> Option<Difference> {
    let (mut xx, mut xy, mut yy, mut freedom) = (0.0, 0.0, 0.0, -1.0);
    for group in groups.iter().filter(|group| group.len() > 1) {
        let count = group.len() as f64;
        let x_mean = mean(&group.iter().map(|(x, _)| *x).collect::<Vec<_>>());
        let y_mean = mean(&group.iter().map(|(_, y)| *y).collect::<Vec<_>>());
        for (x, y) in group {
            xx += (x - x_mean).powi(2);
            xy += (x - x_mean) * (y - y_mean);
            yy += (y - y_mean).powi(2);
        }
        freedom += count - 1.0;
    }
    if freedom < 2.0 || xx <= 0.0 {
        return None;
    }
    let estimate = xy / xx;
    let left = (yy - estimate * xy).max(0.0) / freedom;
    let half = quantile(confidence, freedom)? * (left / xx).sqrt();
    Some(Difference {
        estimate,
        low: estimate - half,
        high: estimate + half,
    })
}

/// Where so many means are all of one thing, and each is compared by itself with the largest: the share that at most seems
/// smaller. Known variances are assumed; where they are estimated from few values, the share is less.
///
/// The largest lies at m with density k φ(m) Φ(m)^(k-1), each other one below m - z √2 with probability Φ(m - z √2) / Φ(m).
pub(crate) fn worse_by_luck(count: u64, confidence: f64) -> f64 {
    const STEP: f64 = 0.01;
    let normal = Normal::standard();
    let apart = normal.inverse_cdf(0.5 + confidence / 2.0) * std::f64::consts::SQRT_2;
    let at = |step: i32| {
        let largest = f64::from(step) * STEP;
        let others = normal.cdf(largest).powf(count as f64 - 2.0);
        count as f64 * normal.pdf(largest) * others * normal.cdf(largest - apart)
    };
    (-1000..=1000).map(at).sum::<f64>() * STEP
}

/// The quantile of Student's t so that a share of `confidence` lies between it and its negative.
fn quantile(confidence: f64, freedom: f64) -> Option<f64> {
    let distribution = StudentsT::new(0.0, 1.0, freedom).ok()?;
    Some(distribution.inverse_cdf(0.5 + confidence / 2.0))
}

/// A number for people: with four digits that count, or all before the point.
pub fn four_digits(value: f64) -> String {
    let size = value.abs();
    let digits = match size {
        _ if size == 0.0 => 0,
        _ if !(1e-6..1e15).contains(&size) => return format!("{value:.3e}"),
        _ => (3 - size.log10().floor() as i32).max(0),
    };
    format!("{value:.*}", digits as usize)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn near(found: f64, expected: f64) {
        assert!(
            (found - expected).abs() < 1e-4 * expected.abs().max(1.0),
            "{found} instead of {expected}"
        );
    }

    #[test]
    fn intervals_are_those_of_student() {
        // t of 0.975 with 4 degrees of freedom is 2.776445.
        let sample = Sample::of(&[1.0, 2.0, 3.0, 4.0, 5.0]).expect("values");
        near(sample.variance, 2.5);
        near(
            sample.half_width(0.95).expect("several"),
            2.776445 * 0.5_f64.sqrt(),
        );
        assert_eq!(
            Sample::of(&[1.0]).and_then(|one| one.half_width(0.95)),
            None
        );
        assert_eq!(Sample::of(&[]), None);
    }

    #[test]
    fn rounding_makes_no_difference_between_equal_numbers() {
        // Sums of 3 and of 10 times 0.7 are not 2.1 and 7.
        for count in [1, 2, 3, 6, 10] {
            let sample = Sample::of(&vec![0.7; count]).expect("values");
            assert_eq!((sample.mean, sample.variance), (0.7, 0.0), "{count}");
        }
        assert_eq!(mean(&[0.1, 0.2, 0.3]), mean(&[0.3, 0.1, 0.2]));
        assert!(mean(&[0.1, 0.2, 0.3, 0.1, 0.2, 0.3]) - mean(&[0.1, 0.2, 0.3]) < 1e-15);
        assert_eq!(to_compare(0.1 + 0.2), to_compare(0.3));
        assert!(to_compare(0.3) < to_compare(0.3 + 1e-11));
        assert_eq!(to_compare(-0.0).total_cmp(&0.0), std::cmp::Ordering::Equal);
    }

    #[test]
    fn differences_are_those_of_welch() {
        // By hand: 3.70833 degrees of freedom; t of 0.975 is 2.864726 there, by numerical integration of its density.
        let one = Sample::of(&[20.0, 22.0, 19.0, 20.0, 22.0]).expect("values");
        let two = Sample::of(&[28.0, 23.0, 31.0, 25.0]).expect("values");
        let difference = one.difference(&two, 0.95).expect("several on both sides");
        near(difference.estimate, 6.15);
        near(difference.low, 0.850258);
        near(difference.high, 11.449742);
        assert!(difference.is_told_apart());
        let single = Sample::of(&[1.0]).expect("a value");
        assert_eq!(one.difference(&single, 0.95), None);
    }

    /// By simulation of 3,000 times so many means of 30 values: 5.1, 12.9, 24.3 and 38.4 %.
    #[test]
    fn what_is_compared_with_the_luckiest_seems_worse_more_often() {
        for (count, expected) in [(2, 0.05), (8, 0.131), (30, 0.260), (100, 0.404)] {
            assert!(
                (worse_by_luck(count, 0.95) - expected).abs() < 1e-3,
                "{count}"
            );
        }
        assert!((worse_by_luck(30, 0.99) - 0.078).abs() < 1e-3);
    }

    #[test]
    fn a_slope_that_groups_have_in_common() {
        // One group is plain regression: slope 0.6, residual squares 2.4 with 3 degrees of freedom, 10 along the line;
        // t of 0.975 with 3 is 3.182446.
        let one = vec![(1.0, 2.0), (2.0, 4.0), (3.0, 5.0), (4.0, 4.0), (5.0, 5.0)];
        let slope = common_slope(std::slice::from_ref(&one), 0.95).expect("several");
        near(slope.estimate, 0.6);
        near(
            slope.high - slope.estimate,
            3.182446 * (0.8_f64 / 10.0).sqrt(),
        );
        // Another height does not matter, and a group of one says nothing.
        let higher = one.iter().map(|(x, y)| (x + 7.0, y + 90.0)).collect();
        let both = common_slope(&[one, higher, vec![(3.0, 1e6)]], 0.95).expect("several");
        near(both.estimate, 0.6);
        assert!(both.high - both.estimate < slope.high - slope.estimate);
        assert_eq!(common_slope(&[vec![(1.0, 1.0), (2.0, 3.0)]], 0.95), None);
    }

    #[test]
    fn numbers_that_are_too_large_are_not_reckoned_with() {
        assert_eq!(Sample::of(&[1e308, 1e308, 1e308]), None);
        assert_eq!(Sample::of(&[1e200, -1e200]), None);
        let one = Sample::of(&[LARGEST, 0.0, 0.5 * LARGEST]).expect("finite");
        let difference = one.difference(&one, 0.95).expect("several");
        assert!(difference.high.is_finite() && difference.high > 0.0);
    }

    #[test]
    fn means_that_rank_as_equal_do_not_differ() {
        let (one, two) = (Sample::of(&[0.3; 3]), Sample::of(&[0.1 + 0.2; 3]));
        let (one, two) = one.zip(two).expect("values");
        for difference in [one.difference(&two, 0.95), two.difference(&one, 0.95)] {
            let difference = difference.expect("several on both sides");
            assert_eq!(
                (difference.estimate, difference.is_told_apart()),
                (0.0, false)
            );
        }
        // What twelve digits tell apart does.
        let other = Sample::of(&[0.3 + 1e-11; 3]).expect("values");
        let difference = one.difference(&other, 0.95).expect("several on both sides");
        assert!(difference.is_told_apart() && difference.estimate > 0.0);
    }

    #[test]
    fn equal_values_leave_no_doubt() {
        let (one, two) = (Sample::of(&[1.0, 1.0]), Sample::of(&[2.0, 2.0]));
        let difference = one
            .zip(two)
            .and_then(|(one, two)| one.difference(&two, 0.95));
        assert_eq!(
            difference,
            Some(Difference {
                estimate: 1.0,
                low: 1.0,
                high: 1.0
            })
        );
    }
}
