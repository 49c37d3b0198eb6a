//! How much was moved when: bytes in equal parts of time, never more than so many parts.
//!
//! Parts begin at multiples of a power of two; where there would be too many, two become one. So the
//! parts depend on the first and the last byte that were moved, and on nothing else.

use serde::{Deserialize, Serialize};
use slowpath_model::{TimeRange, Timestamp};

/// The most parts of a time; 128 bytes each.
const MOST: usize = 1 << 14;

/// What bytes were read from or written to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum Medium {
    /// Something with a path: files, devices.
    Files,
    /// Sockets.
    Network,
    /// Pipes and the like.
    Other,
    /// Nothing tells what the descriptor is.
    Unknown,
}

impl Medium {
    /// All of them, in the order of [`MovedOverTime::parts`].
    pub const ALL: [Self; 4] = [Self::Files, Self::Network, Self::Other, Self::Unknown];

    /// Of what a descriptor is called.
    pub(super) fn of(name: &str) -> Self {
        match name {
            _ if name.starts_with('/') => Self::Files,
            _ if name == "socket" || name.starts_with("socket:") => Self::Network,
            _ if name.starts_with("unknown (") => Self::Unknown,
            _ => Self::Other,
        }
    }
}

/// Bytes of one medium in one part of the time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Bytes {
    /// Bytes read.
    pub read: u64,
    /// Bytes written.
    pub written: u64,
}

impl Bytes {
    fn add(&mut self, other: Self) {
        self.read = self.read.saturating_add(other.read);
        self.written = self.written.saturating_add(other.written);
    }
}

type Part = [Bytes; Medium::ALL.len()];

/// Bytes over time. A call's bytes count when it returns.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct MovedOverTime {
    /// A part is 2 to the power of this long, in nanoseconds.
    shift: u32,
    /// Number of the first part: how many of its length fit between the epoch and its begin.
    first: i64,
    parts: Vec<Part>,
    /// When the first and the last byte were moved.
    known: (Timestamp, Timestamp),
}

impl MovedOverTime {
    /// How long a part is, in nanoseconds.
    pub fn part_ns(&self) -> u64 {
        1 << self.shift
    }

    /// Parts in the order of time, each from its begin to the next one's; by [`Medium::ALL`]. The first one begins
    /// with the first byte and the last one ends with the last, so that none reaches out of the recording.
    pub fn parts(&self) -> impl Iterator<Item = (TimeRange, &[Bytes; Medium::ALL.len()])> {
        let (first, last) = self.known;
        (self.parts.iter().zip(0_i64..)).map(move |(part, place)| {
            let number = self.first.saturating_add(place);
            let begin_of = |number: i64| Timestamp::from_ns(number.saturating_mul(1 << self.shift));
            let end = begin_of(number.saturating_add(1)).min(last);
            // All of the last part's bytes may have been moved in the instant that is its begin.
            let instant_before = Timestamp::from_ns(end.ns().saturating_sub(1));
            let begin = begin_of(number).max(first).min(instant_before);
            (TimeRange::new(begin, end), part)
        })
    }

    /// Counts bytes at a time not before the one of the call before.
    pub(super) fn add(&mut self, at: Timestamp, medium: Medium, bytes: Bytes) {
        if bytes == Bytes::default() {
            return;
        }
        if self.parts.is_empty() {
            self.first = at.ns() >> self.shift;
            self.known = (at, at);
        }
        let (first, last) = &mut self.known;
        (*first, *last) = (at.min(*first), at.max(*last));
        // What is out of order by a little counts for the first part.
        while (at.ns() >> self.shift).saturating_sub(self.first) >= MOST as i64 {
            self.halve();
        }
        let part = (at.ns() >> self.shift).saturating_sub(self.first).max(0) as usize;
        if self.parts.len() <= part {
            self.parts.resize(part + 1, Part::default());
        }
        self.parts[part][medium as usize].add(bytes);
    }

    /// Makes parts twice as long.
    fn halve(&mut self) {
        let parts = std::mem::take(&mut self.parts);
        let first = self.first >> 1;
        // Whether the first part is the latter one of two.
        let odd = (self.first & 1) as usize;
        for (place, part) in parts.into_iter().enumerate() {
            let place = (place + odd) / 2;
            if self.parts.len() <= place {
                self.parts.resize(place + 1, Part::default());
            }
            for (sum, bytes) in self.parts[place].iter_mut().zip(part) {
                sum.add(bytes);
            }
        }
        self.first = first;
        self.shift += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(bytes: u64) -> Bytes {
        Bytes {
            read: bytes,
            written: 0,
        }
    }

    #[test]
    fn parts_stay_few_and_nothing_is_lost() {
        let mut moved = MovedOverTime::default();
        // 3,000 s in steps of 1 ms, from a time after the epoch as traces have it.
        let begin = 1_780_000_000_000_000_000;
        for step in 0..3_000_000_i64 {
            let at = Timestamp::from_ns(begin + step * 1_000_000);
            moved.add(at, Medium::Files, read(3));
        }
        assert!((MOST / 2..=MOST).contains(&moved.parts.len()));
        let all: u64 = moved.parts().map(|(_, part)| part[0].read).sum();
        assert_eq!(all, 9_000_000);
        let ranges: Vec<TimeRange> = moved.parts().map(|(range, _)| range).collect();
        assert_eq!(ranges[0].begin, Timestamp::from_ns(begin));
        let last = Timestamp::from_ns(begin + 2_999_999 * 1_000_000);
        assert_eq!(ranges.last().unwrap().end, last);
        assert!(ranges.windows(2).all(|two| two[0].end == two[1].begin));
    }

    #[test]
    fn times_before_the_epoch_and_far_apart_are_counted() {
        let mut moved = MovedOverTime::default();
        for at in [i64::MIN, -5, 0, 7, i64::MAX, i64::MIN] {
            moved.add(Timestamp::from_ns(at), Medium::Network, read(1));
        }
        let all: u64 = moved.parts().map(|(_, part)| part[1].read).sum();
        assert_eq!(all, 6);
        let mut last = MovedOverTime::default();
        last.add(Timestamp::from_ns(i64::MAX), Medium::Other, read(1));
        let parts: Vec<TimeRange> = last.parts().map(|(range, _)| range).collect();
        assert_eq!(parts.len(), 1);
        assert_eq!(parts[0].length().get(), 1);
    }

    #[test]
    fn a_medium_is_told_by_the_name() {
        let of = [
            "/srv/a",
            "socket:[7]",
            "socket",
            "pipe:[1]",
            "unknown (pid 7, fd 1)",
        ]
        .map(Medium::of);
        let [files, network, again, other, unknown] = of;
        assert_eq!(
            (files, network, again),
            (Medium::Files, Medium::Network, Medium::Network)
        );
        assert_eq!((other, unknown), (Medium::Other, Medium::Unknown));
    }
}
