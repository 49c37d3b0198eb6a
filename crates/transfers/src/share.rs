//! A share that was estimated from samples, with its confidence interval.

use serde::Serialize;
use utoipa::ToSchema;

/// So many of so many, and the 95 % interval after Wilson (1927), which holds for few samples and for shares near 0
/// and 1, too.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, ToSchema)]
#[schema(as = EstimatedShare)]
pub struct Share {
    /// 0 to 1.
    pub share: f64,
    /// Lower bound.
    pub low: f64,
    /// Upper bound.
    pub high: f64,
}

impl Share {
    /// `hits` of `samples`; nothing where there are no samples.
    pub fn of(hits: u64, samples: u64) -> Option<Self> {
        Self::of_weights(hits, samples, samples)
    }

    /// The share of samples of different weights, of which those that hit have the sum `hits` and all have `weight` and,
    /// squared, `squares`; nothing where there are no samples. The interval is that of as many samples of equal weight
    /// as say as much ([`effective_samples`]).
    pub fn of_weights(hits: u64, weight: u64, squares: u64) -> Option<Self> {
        const Z: f64 = 1.959_964;
        let count = effective_samples(weight, squares);
        if count == 0.0 {
            return None;
        }
        let share = hits as f64 / weight as f64;
        let weight_of_z = Z * Z / count;
        let middle = (share + weight_of_z / 2.0) / (1.0 + weight_of_z);
        let half = Z / (1.0 + weight_of_z)
            * (share * (1.0 - share) / count + weight_of_z / (4.0 * count)).sqrt();
        Some(Self {
            share,
            // Exact at the ends, where rounding would leave a trace.
            low: if hits == 0 {
                0.0
            } else {
                (middle - half).max(0.0)
            },
            high: if hits == weight {
                1.0
            } else {
                (middle + half).min(1.0)
            },
        })
    }

    /// The same with an interval that is wider by this much in both directions.
    pub(crate) fn widened(self, by: f64) -> Self {
        Self {
            low: (self.low - by).max(0.0),
            high: (self.high + by).min(1.0),
            ..self
        }
    }
}

/// How many samples of equal weight say as much as some whose weights, and whose squares, have these sums (Kish, Survey
/// Sampling, 1965, 11.7): as many as there are where they weigh the same, else fewer. 0 where there are none.
pub(crate) fn effective_samples(weight: u64, squares: u64) -> f64 {
    if squares == 0 {
        0.0
    } else {
        weight as f64 * weight as f64 / squares as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn intervals_are_those_of_tables() {
        let check = |hits, samples, low: f64, high: f64| {
            let share = Share::of(hits, samples).expect("there are samples");
            assert!(
                (share.low - low).abs() < 5e-5,
                "{hits} of {samples}: {share:?}"
            );
            assert!(
                (share.high - high).abs() < 5e-5,
                "{hits} of {samples}: {share:?}"
            );
        };
        check(0, 385, 0.0, 0.00988);
        check(385, 385, 0.99012, 1.0);
        check(5, 10, 0.23659, 0.76341);
        check(1, 12, 0.01486, 0.35388);
        assert_eq!(Share::of(0, 0), None);
    }

    #[test]
    fn samples_of_different_weights_say_less() {
        for weight in [1, 7, 2000] {
            let weighed = Share::of_weights(5 * weight, 385 * weight, 385 * weight * weight);
            let counted = Share::of(5, 385);
            assert_eq!(weighed, counted, "of equal weight, each counts once");
        }
        // 200 of weight 1, all of which hit, and 200 of weight 99.
        let share = Share::of_weights(200, 20_000, 200 * (1 + 99 * 99)).expect("samples");
        assert_eq!(share.share, 0.01);
        let heavy = Share::of_weights(2, 200, 200).expect("samples");
        assert!((share.high - heavy.high).abs() < 2e-3, "{share:?}");
        assert!(share.low < 0.01 && share.high > 0.01, "{share:?}");
        assert_eq!(Share::of_weights(0, 0, 0), None);
    }
}
