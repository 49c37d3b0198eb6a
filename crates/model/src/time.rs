//! Points in time, lengths of time and half-open ranges.
//!
//! All times are nanoseconds since the Unix epoch, with the trace's clock offset applied. The
//! invariant everybody relies on: a [`TimeRange`] never ends before it begins.

use std::fmt;
use std::ops::{Add, AddAssign, Sub};

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// A point in time, in nanoseconds since the Unix epoch.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct Timestamp(i64);

impl Timestamp {
    /// Before every event.
    pub const MIN: Self = Self(i64::MIN);
    /// After every event.
    pub const MAX: Self = Self(i64::MAX);

    /// The point `ns` nanoseconds after the Unix epoch.
    pub const fn from_ns(ns: i64) -> Self {
        Self(ns)
    }

    /// Nanoseconds since the Unix epoch.
    pub const fn ns(self) -> i64 {
        self.0
    }

    /// The time from `earlier` to `self`; zero when `earlier` is later.
    pub fn since(self, earlier: Self) -> Nanoseconds {
        Nanoseconds(self.0.saturating_sub(earlier.0).max(0) as u64)
    }
}

/// A length of time in nanoseconds.
#[derive(
    Clone,
    Copy,
    Debug,
    Default,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    Serialize,
    Deserialize,
    ToSchema,
)]
#[serde(transparent)]
pub struct Nanoseconds(pub u64);

impl Nanoseconds {
    /// No time at all.
    pub const ZERO: Self = Self(0);

    /// The bare number of nanoseconds.
    pub const fn get(self) -> u64 {
        self.0
    }
}

impl Add for Nanoseconds {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }
}

impl AddAssign for Nanoseconds {
    fn add_assign(&mut self, other: Self) {
        *self = *self + other;
    }
}

impl Sub for Nanoseconds {
    type Output = Self;
    fn sub(self, other: Self) -> Self {
        Self(self.0.saturating_sub(other.0))
    }
}

impl std::iter::Sum for Nanoseconds {
    fn sum<I: Iterator<Item = Self>>(parts: I) -> Self {
        parts.fold(Self::ZERO, Add::add)
    }
}

impl Sub<Nanoseconds> for Timestamp {
    type Output = Self;
    fn sub(self, length: Nanoseconds) -> Self {
        Self(self.0.saturating_sub_unsigned(length.0))
    }
}

impl Add<Nanoseconds> for Timestamp {
    type Output = Self;
    fn add(self, length: Nanoseconds) -> Self {
        Self(self.0.saturating_add_unsigned(length.0))
    }
}

/// Prints seconds, milliseconds or microseconds, whichever reads best.
impl fmt::Display for Nanoseconds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ns = self.0 as f64;
        let text = match self.0 {
            0..1_000 => format!("{} ns", self.0),
            1_000..1_000_000 => format!("{:.3} µs", ns / 1e3),
            1_000_000..1_000_000_000 => format!("{:.3} ms", ns / 1e6),
            _ => format!("{:.3} s", ns / 1e9),
        };
        f.pad(&text)
    }
}

/// A half-open range of time: `begin` belongs to it, `end` does not.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct TimeRange {
    /// First point inside.
    pub begin: Timestamp,
    /// First point after; never before `begin`.
    pub end: Timestamp,
}

impl TimeRange {
    /// All of time.
    pub const ALL: Self = Self {
        begin: Timestamp::MIN,
        end: Timestamp::MAX,
    };

    /// The range from `begin` to `end`; empty at `begin` when `end` is earlier.
    pub fn new(begin: Timestamp, end: Timestamp) -> Self {
        Self {
            begin,
            end: end.max(begin),
        }
    }

    /// The times that any of `ranges` covers, in order and apart.
    pub fn union(mut ranges: Vec<Self>) -> Vec<Self> {
        ranges.sort_unstable_by_key(|range| range.begin);
        ranges.dedup_by(|later, earlier| {
            let meets = later.begin <= earlier.end;
            if meets {
                *earlier = earlier.hull(*later);
            }
            meets
        });
        ranges
    }

    /// How long it lasts.
    pub fn length(self) -> Nanoseconds {
        self.end.since(self.begin)
    }

    /// Whether nothing lies inside.
    pub fn is_empty(self) -> bool {
        self.begin >= self.end
    }

    /// Whether `at` lies inside.
    pub fn contains(self, at: Timestamp) -> bool {
        self.begin <= at && at < self.end
    }

    /// Whether any of it lies in `window`, which is not empty. One of no length does at the window's begin, and not at its
    /// end.
    pub fn touches(self, window: Self) -> bool {
        let is_before = self.begin < window.begin && self.end <= window.begin;
        self.begin < window.end && !is_before
    }

    /// Whether all of it lies in `window`, by the same rule.
    pub fn lies_within(self, window: Self) -> bool {
        self.touches(window) && window.begin <= self.begin && self.end <= window.end
    }

    /// The part that lies in both, empty where they do not meet.
    pub fn intersect(self, other: Self) -> Self {
        Self::new(self.begin.max(other.begin), self.end.min(other.end))
    }

    /// The smallest range that holds both.
    pub fn hull(self, other: Self) -> Self {
        Self::new(self.begin.min(other.begin), self.end.max(other.end))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn range(begin: i64, end: i64) -> TimeRange {
        TimeRange::new(Timestamp::from_ns(begin), Timestamp::from_ns(end))
    }

    #[test]
    fn what_touches_a_window_and_what_lies_within_it() {
        let window = range(10, 20);
        let told = |begin, end| {
            let asked = range(begin, end);
            (asked.touches(window), asked.lies_within(window))
        };
        for (begin, end, expected) in [
            (5, 9, (false, false)),
            (5, 10, (false, false)),
            (5, 11, (true, false)),
            (5, 20, (true, false)),
            (5, 25, (true, false)),
            (10, 20, (true, true)),
            (10, 21, (true, false)),
            (19, 20, (true, true)),
            (20, 21, (false, false)),
            (9, 9, (false, false)),
            (10, 10, (true, true)),
            (19, 19, (true, true)),
            (20, 20, (false, false)),
        ] {
            assert_eq!(told(begin, end), expected, "{begin} {end}");
        }
    }

    #[test]
    fn ranges_are_half_open_and_never_negative() {
        assert!(range(5, 3).is_empty());
        assert!(range(1, 4).contains(Timestamp::from_ns(1)));
        assert!(!range(1, 4).contains(Timestamp::from_ns(4)));
        assert_eq!(range(1, 4).intersect(range(3, 9)), range(3, 4));
        assert!(range(1, 2).intersect(range(5, 9)).is_empty());
        assert_eq!(range(1, 2).hull(range(5, 9)), range(1, 9));
    }

    #[test]
    fn lengths_read_well() {
        let shown: Vec<String> = [7, 1_500, 2_000_000, 3_250_000_000]
            .map(|ns| Nanoseconds(ns).to_string())
            .into();
        assert_eq!(shown, ["7 ns", "1.500 µs", "2.000 ms", "3.250 s"]);
    }
}
