//! Lengths of time counted in buckets: percentiles of any number of values in bounded memory.
//!
//! Values below 128 ns are exact; above, each power of two has 128 buckets, so that a percentile is
//! off by at most 0.4 %. Only buckets in use take room (a service with a thousand contexts has a
//! thousand histograms). Merging adds counts: any grouping of the values gives the same result.

use rustc_hash::FxHashMap;
use slowpath_model::Nanoseconds;

/// Bits of a value that a bucket tells apart.
const PRECISION_BITS: u32 = 7;

/// Counts of lengths.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Histogram {
    buckets: FxHashMap<u16, u64>,
    count: u64,
    largest: Nanoseconds,
}

impl Histogram {
    /// Counts `value`.
    pub fn add(&mut self, value: Nanoseconds) {
        *self.buckets.entry(bucket_of(value.get())).or_default() += 1;
        self.count += 1;
        self.largest = self.largest.max(value);
    }

    /// Counts everything that `other` counted.
    pub fn merge(&mut self, other: &Self) {
        for (&bucket, &count) in &other.buckets {
            *self.buckets.entry(bucket).or_default() += count;
        }
        self.count += other.count;
        self.largest = self.largest.max(other.largest);
    }

    /// Nearest-rank percentiles for `percents` in rising order, each in 1..=100; zero where nothing
    /// was counted.
    pub fn percentiles<const N: usize>(&self, percents: [u64; N]) -> [Nanoseconds; N] {
        let mut buckets: Vec<_> = self.buckets.iter().collect();
        buckets.sort_unstable();
        let mut buckets = buckets.into_iter();
        let (mut seen, mut middle) = (0, Nanoseconds::ZERO);
        percents.map(|percent| {
            let rank = (self.count * percent).div_ceil(100);
            while seen < rank
                && let Some((&bucket, &count)) = buckets.next()
            {
                seen += count;
                middle = middle_of(bucket).min(self.largest);
            }
            middle
        })
    }

    /// The largest value, exactly.
    pub fn largest(&self) -> Nanoseconds {
        self.largest
    }
}

fn bucket_of(value: u64) -> u16 {
    let power = value.checked_ilog2().unwrap_or(0);
    if power < PRECISION_BITS {
        return value as u16;
    }
    let shift = power - PRECISION_BITS;
    // The value's leading bits, the first of which is always set and so carries into the power.
    ((u64::from(shift) << PRECISION_BITS) + (value >> shift)) as u16
}

fn middle_of(bucket: u16) -> Nanoseconds {
    let shift = (u32::from(bucket) >> PRECISION_BITS).saturating_sub(1);
    let leading = u64::from(bucket) - (u64::from(shift) << PRECISION_BITS);
    Nanoseconds((leading << shift) + ((1_u64 << shift) >> 1))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn percentiles_are_within_the_stated_error_of_the_exact_ones(
            mut values in prop::collection::vec(prop_oneof![0..300_u64, any::<u64>(), 0..5_000_000_000_u64], 1..300),
            percent in 1..=100_u64,
        ) {
            let mut histogram = Histogram::default();
            values.iter().for_each(|&value| histogram.add(Nanoseconds(value)));
            values.sort_unstable();
            let exact = values[(values.len() as u64 * percent).div_ceil(100) as usize - 1];
            let [found] = histogram.percentiles([percent]);
            let off = found.get().abs_diff(exact) as f64;
            prop_assert!(off <= exact as f64 * 0.004, "{found:?} for {exact}");
        }

        #[test]
        fn merging_in_any_grouping_counts_the_same(parts in prop::collection::vec(prop::collection::vec(any::<u64>(), 0..20), 0..6)) {
            let of = |values: &[u64]| {
                let mut histogram = Histogram::default();
                values.iter().for_each(|&value| histogram.add(Nanoseconds(value)));
                histogram
            };
            let mut merged = Histogram::default();
            parts.iter().rev().for_each(|part| merged.merge(&of(part)));
            prop_assert_eq!(merged, of(&parts.concat()));
        }
    }

    #[test]
    fn nothing_counted_is_zero() {
        let [median] = Histogram::default().percentiles([50]);
        assert_eq!(median, Nanoseconds::ZERO);
    }
}
