//! From entries and returns of a function to how long its calls took.
//!
//! A call is known by its thread and by where its frame lies on the stack: so calls inside calls of the same function are
//! told apart, and one that never returns (`longjmp`, an exception, the end of the thread) is mistaken for no other. Knows
//! nothing of how the kernel tells of entries and returns.

use std::collections::HashMap;
use std::fmt;

use sketches_ddsketch::{Config, DDSketch};

use crate::spec::Take;

/// How far a percentile may be off, as a share of it; and in how many steps of that it is counted, from 1 ns to a day.
const PRECISION: f64 = 0.001;
const STEPS: u32 = 16_384;

/// Where so many calls have not returned, most never will: they are forgotten.
const MOST_OPEN: usize = 1 << 20;

/// How long the calls of a function took.
#[derive(Clone)]
pub struct Times {
    /// For percentiles.
    sketch: DDSketch,
    count: u64,
    sum_ns: u128,
    min_ns: u64,
    max_ns: u64,
    /// Entries and returns that there was no room for.
    pub(super) lost: u64,
}

impl fmt::Debug for Times {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            count,
            sum_ns,
            min_ns,
            max_ns,
            lost,
            ..
        } = self;
        write!(
            f,
            "Times({count}, {sum_ns}, {min_ns}..={max_ns}, {lost} lost)"
        )
    }
}

impl Times {
    pub(super) fn new() -> Self {
        Self {
            sketch: DDSketch::new(Config::new(PRECISION, STEPS, 1.0)),
            count: 0,
            sum_ns: 0,
            min_ns: u64::MAX,
            max_ns: 0,
            lost: 0,
        }
    }

    /// Takes note of a call.
    pub fn add(&mut self, ns: u64) {
        self.sketch.add(ns as f64);
        self.count += 1;
        self.sum_ns += u128::from(ns);
        self.min_ns = self.min_ns.min(ns);
        self.max_ns = self.max_ns.max(ns);
    }

    /// How many calls were timed.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// One number for all calls, in nanoseconds; `None` where there was no call, or for what is not kept.
    pub fn take(&self, take: Take) -> Option<f64> {
        let percentile = |percent: u64| {
            // The nearest rank, as a share that the sketch rounds down to it.
            let rank = (self.count * percent).div_ceil(100).saturating_sub(1);
            let share = (rank as f64 + 0.5) / (self.count as f64 - 1.0);
            let value = self.sketch.quantile(share.min(1.0)).ok()??;
            Some(value.clamp(self.min_ns as f64, self.max_ns as f64))
        };
        match take {
            Take::Sum => Some(self.sum_ns as f64),
            _ if self.count() == 0 => None,
            Take::Mean => Some(self.sum_ns as f64 / self.count() as f64),
            Take::Median => percentile(50),
            Take::P95 => percentile(95),
            Take::P99 => percentile(99),
            Take::Min => Some(self.min_ns as f64),
            Take::Max => Some(self.max_ns as f64),
            Take::First | Take::Last => None,
        }
    }

    /// Adds what another place of the same function saw.
    pub(super) fn merge(&mut self, other: &Self) {
        // Fails only between sketches of different precision.
        let _ = self.sketch.merge(&other.sketch);
        self.count += other.count;
        self.sum_ns += other.sum_ns;
        self.min_ns = self.min_ns.min(other.min_ns);
        self.max_ns = self.max_ns.max(other.max_ns);
        self.lost += other.lost;
    }
}

/// A call: the thread, and the address of its return address.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Frame {
    pub(super) tid: u32,
    pub(super) stack: u64,
}

/// What the kernel tells of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Told {
    Entry(Frame),
    Return(Frame),
    /// So many of them are missing before this.
    Lost(u64),
}

/// Pairs entries with returns. All must come in the order of time.
#[derive(Debug)]
pub(super) struct Pairing {
    open: HashMap<Frame, u64>,
    pub(super) times: Times,
}

impl Pairing {
    pub(super) fn new() -> Self {
        Self {
            open: HashMap::new(),
            times: Times::new(),
        }
    }

    /// Something that happened at `ns`. Only calls that began at `begin` or later count.
    pub(super) fn tell(&mut self, ns: u64, what: Told, begin: u64) {
        match what {
            Told::Entry(frame) => {
                if self.open.len() >= MOST_OPEN {
                    self.open.clear();
                }
                self.open.insert(frame, ns);
            }
            Told::Return(frame) => {
                if let Some(entry) = self.open.remove(&frame)
                    && entry >= begin
                {
                    self.times.add(ns.saturating_sub(entry));
                }
            }
            Told::Lost(count) => {
                // A return may be among them, and a later one be taken for it.
                self.open.clear();
                if ns >= begin {
                    self.times.lost += count;
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A time line: `12 e 1 100` is an entry at 12 of thread 1 with its frame at 100; `r` a return, `l` losses.
    fn times(begin: u64, line: &str) -> Pairing {
        let mut pairing = Pairing::new();
        for event in line.split(';') {
            let words: Vec<&str> = event.split_whitespace().collect();
            let number = |place: usize| words[place].parse::<u64>().expect("a number");
            let frame = || Frame {
                tid: number(2) as u32,
                stack: number(3),
            };
            let what = match words[1] {
                "e" => Told::Entry(frame()),
                "r" => Told::Return(frame()),
                _ => Told::Lost(number(2)),
            };
            pairing.tell(number(0), what, begin);
        }
        pairing
    }

    #[track_caller]
    fn check(line: &str, (count, sum, max): (u64, f64, Option<f64>)) {
        let found = times(10, line).times;
        let told = (
            found.count(),
            found.take(Take::Sum).expect("a sum"),
            found.take(Take::Max),
        );
        assert_eq!(told, (count, sum, max), "{line}");
    }

    #[test]
    fn entries_and_returns_are_paired_by_thread_and_frame() {
        check("12 e 1 100; 15 r 1 100", (1, 3.0, Some(3.0)));
        check(
            "12 e 1 100; 13 e 2 100; 20 r 1 100; 40 r 2 100",
            (2, 35.0, Some(27.0)),
        );
        // A call inside a call: both count, from their own entries.
        check(
            "12 e 1 100; 14 e 1 90; 15 r 1 90; 20 r 1 100",
            (2, 9.0, Some(8.0)),
        );
    }

    #[test]
    fn calls_that_began_before_or_never_ended_do_not_count() {
        check("9 e 1 100; 15 r 1 100", (0, 0.0, None));
        check("15 r 1 100", (0, 0.0, None));
        check("12 e 1 100", (0, 0.0, None));
        // The first one was left by longjmp, and its frame is used again.
        check("12 e 1 100; 50 e 1 100; 52 r 1 100", (1, 2.0, Some(2.0)));
    }

    #[test]
    fn what_was_lost_is_counted_and_pairs_nothing_wrongly() {
        let found = times(10, "12 e 1 100; 20 l 3; 21 r 1 100; 22 e 1 90; 25 r 1 90");
        assert_eq!((found.times.count(), found.times.lost), (1, 3));
        assert_eq!(found.times.take(Take::Max), Some(3.0));
        assert_eq!(times(10, "5 l 3").times.lost, 0, "before the workload");
    }

    #[test]
    fn percentiles_are_close_and_the_rest_is_exact() {
        let mut times = Times::new();
        (1..=100_000_u64).for_each(|one| times.add(one * 1000));
        assert_eq!(times.take(Take::Mean), Some(50_000_500.0));
        assert_eq!(
            (times.take(Take::Min), times.take(Take::Max)),
            (Some(1e3), Some(1e8))
        );
        for (take, expected) in [(Take::Median, 5e7), (Take::P95, 9.5e7), (Take::P99, 9.9e7)] {
            let found = times.take(take).expect("a number");
            assert!((found / expected - 1.0).abs() < 1.1e-3, "{take:?}: {found}");
        }
        let mut both = Times::new();
        both.merge(&times);
        both.merge(&times);
        assert_eq!(both.count(), 200_000);
        assert_eq!(both.take(Take::Mean), times.take(Take::Mean));
    }
}
