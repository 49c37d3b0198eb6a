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
        const Z: f64 = 1.959_964;
        if samples == 0 {
            return None;
        }
        let count = samples as f64;
        let share = hits as f64 / count;
        let weight = Z * Z / count;
        let middle = (share + weight / 2.0) / (1.0 + weight);
        let half =
            Z / (1.0 + weight) * (share * (1.0 - share) / count + weight / (4.0 * count)).sqrt();
        Some(Self {
            share,
            // Exact at the ends, where rounding would leave a trace.
            low: if hits == 0 {
                0.0
            } else {
                (middle - half).max(0.0)
            },
            high: if hits == samples {
                1.0
            } else {
                (middle + half).min(1.0)
            },
        })
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
}
