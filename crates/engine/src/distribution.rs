//! A distribution of lengths of time that takes bounded memory, to be merged as states are.
//!
//! Up to [`EXACT`] values are kept as they are. Beyond, values are counted in buckets, linear within
//! each power of two (as in Tene's HdrHistogram), and percentiles are off by less than 0.05 %. Which
//! form it has depends on the number of values only, so the order of merging does not matter.

use serde::{Deserialize, Serialize};
use slowpath_model::Nanoseconds;

/// Values kept exactly.
const EXACT: usize = 1 << 17;
/// Buckets per power of two, as a power of two.
const PRECISION: u32 = 10;

/// Lengths of time.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Distribution {
    count: u64,
    total: u64,
    min: u64,
    max: u64,
    values: Values,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
enum Values {
    /// In no order.
    Exact(Vec<u64>),
    /// Values per bucket.
    Buckets(Vec<u64>),
}

impl Default for Distribution {
    fn default() -> Self {
        Self {
            count: 0,
            total: 0,
            min: u64::MAX,
            max: 0,
            values: Values::Exact(Vec::new()),
        }
    }
}

/// What is told of a distribution.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DistributionSummary {
    /// How many values.
    pub count: u64,
    /// Their sum.
    pub total: Nanoseconds,
    /// The smallest.
    pub min: Nanoseconds,
    /// The largest.
    pub max: Nanoseconds,
    /// The sum by the number, rounded down.
    pub mean: Nanoseconds,
    /// The median, by nearest rank.
    pub p50: Nanoseconds,
    /// The 99th percentile, by nearest rank.
    pub p99: Nanoseconds,
}

impl Distribution {
    /// One more value.
    #[inline]
    pub fn add(&mut self, value: Nanoseconds) {
        let value = value.get();
        self.count += 1;
        self.total = self.total.saturating_add(value);
        self.min = self.min.min(value);
        self.max = self.max.max(value);
        match &mut self.values {
            Values::Exact(values) => {
                values.push(value);
                if values.len() > EXACT {
                    self.use_buckets();
                }
            }
            Values::Buckets(buckets) => count(buckets, bucket_of(value), 1),
        }
    }

    /// The values of both.
    pub fn merge(&mut self, later: Self) {
        self.count += later.count;
        self.total = self.total.saturating_add(later.total);
        self.min = self.min.min(later.min);
        self.max = self.max.max(later.max);
        if self.count > EXACT as u64 {
            self.use_buckets();
        }
        match (&mut self.values, later.values) {
            (Values::Exact(values), Values::Exact(more)) => values.extend(more),
            (Values::Buckets(buckets), Values::Buckets(more)) => {
                for (bucket, values) in more.into_iter().enumerate() {
                    count(buckets, bucket, values);
                }
            }
            (Values::Buckets(buckets), Values::Exact(more)) => {
                for value in more {
                    count(buckets, bucket_of(value), 1);
                }
            }
            // More than EXACT values on one side are on the sum, too.
            (Values::Exact(_), Values::Buckets(_)) => {}
        }
    }

    fn use_buckets(&mut self) {
        if let Values::Exact(values) = &self.values {
            let mut buckets = Vec::new();
            for &value in values {
                count(&mut buckets, bucket_of(value), 1);
            }
            self.values = Values::Buckets(buckets);
        }
    }

    /// How many values.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// `None` where there is no value.
    pub fn summary(mut self) -> Option<DistributionSummary> {
        if let Values::Exact(values) = &mut self.values {
            values.sort_unstable();
        }
        Some(DistributionSummary {
            count: self.count,
            total: Nanoseconds(self.total),
            min: Nanoseconds(self.min),
            max: Nanoseconds(self.max),
            mean: Nanoseconds(self.total.checked_div(self.count)?),
            p50: self.percentile(50),
            p99: self.percentile(99),
        })
    }

    /// The nearest-rank percentile; exact values have to be sorted.
    fn percentile(&self, percent: u64) -> Nanoseconds {
        let rank = (u128::from(self.count) * u128::from(percent))
            .div_ceil(100)
            .max(1) as u64;
        let value = match &self.values {
            Values::Exact(values) => values.get(rank as usize - 1).copied().unwrap_or(self.max),
            Values::Buckets(buckets) => {
                let mut seen = 0;
                let reaches = |&values: &u64| {
                    seen += values;
                    seen >= rank
                };
                let bucket = buckets.iter().position(reaches);
                let middle = bucket.map_or(self.max, middle_of);
                middle.clamp(self.min, self.max)
            }
        };
        Nanoseconds(value)
    }
}

fn count(buckets: &mut Vec<u64>, bucket: usize, values: u64) {
    if buckets.len() <= bucket {
        buckets.resize(bucket + 1, 0);
    }
    buckets[bucket] += values;
}

/// Values below 2^(PRECISION + 1) have a bucket each; above, each power of two has 2^PRECISION.
fn bucket_of(value: u64) -> usize {
    let shift = value.checked_ilog2().unwrap_or(0).saturating_sub(PRECISION);
    ((u64::from(shift) << PRECISION) + (value >> shift)) as usize
}

/// The value in the middle of a bucket.
fn middle_of(bucket: usize) -> u64 {
    let shift = (bucket as u64 >> PRECISION).saturating_sub(1);
    let leading = bucket as u64 - (shift << PRECISION);
    (leading << shift) + ((1 << shift) >> 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(values: impl IntoIterator<Item = u64>) -> Distribution {
        let mut distribution = Distribution::default();
        for value in values {
            distribution.add(Nanoseconds(value));
        }
        distribution
    }

    #[test]
    fn percentiles_are_nearest_rank() {
        let check = |values: &[u64], p50, p99, mean| {
            let summary = of(values.iter().copied()).summary().unwrap();
            let found = (summary.p50.get(), summary.p99.get(), summary.mean.get());
            assert_eq!(found, (p50, p99, mean), "{values:?}");
        };
        check(&[7], 7, 7, 7);
        check(&[4, 1, 2, 3], 2, 4, 2);
        check(&[5, 1, 3], 3, 5, 3);
        let hundred: Vec<u64> = (1..=100).collect();
        check(&hundred, 50, 99, 50);
        assert_eq!(Distribution::default().summary(), None);
    }

    #[test]
    fn buckets_are_off_by_less_than_a_twentieth_of_a_percent() {
        for exponent in 0..64 {
            for value in [
                1u64 << exponent,
                (1 << exponent) | (1 << exponent >> 3),
                u64::MAX >> exponent,
            ] {
                let error = middle_of(bucket_of(value)).abs_diff(value);
                assert!(
                    error as f64 <= value as f64 * 0.0005,
                    "{value} is off by {error}"
                );
            }
        }
    }

    #[test]
    fn many_values_give_the_same_however_they_are_merged() {
        let value = |n: u64| n * 7919 % 1_000_003;
        let whole = of((0..300_000).map(value));
        let mut parts = of((0..100_000).map(value));
        let mut rest = of((100_000..100_001).map(value));
        rest.merge(of((100_001..300_000).map(value)));
        parts.merge(rest);
        let (whole, parts) = (whole.summary().unwrap(), parts.summary().unwrap());
        assert_eq!(whole, parts);
        assert!(whole.p50.get().abs_diff(500_000) < 2_000, "{whole:?}");
        assert_eq!((whole.count, whole.min.get()), (300_000, 0));
    }
}
