//! From the numbers that the tracer's clock wrote to nanoseconds.
//!
//! ftrace offers several clocks; most count nanoseconds from boot. Counters of another unit are
//! converted where the recording says how, else left as the numbers they are.

use std::sync::Arc;

use slowpath_model::{TimeRange, Timestamp};

/// `uptime` counts in the 100 Hz of the kernel's user interface, whatever the timer's real rate.
const NANOSECONDS_PER_USER_TICK: u64 = 10_000_000;

/// How one processor's clock readings become time.
#[derive(Clone, Debug, Default)]
pub(crate) struct Clock {
    unit: Unit,
    /// Corrections from a guest's clock to its host's, in order of time.
    corrections: Arc<[Correction]>,
    /// Whether corrections are joined by straight lines or hold until the next.
    interpolate: bool,
    offset_ns: i64,
}

#[derive(Clone, Copy, Debug, Default, PartialEq)]
enum Unit {
    #[default]
    Nanoseconds,
    UserTicks,
    Scaled(CounterScale),
    Unknown,
}

/// How a processor's cycle counter becomes nanoseconds: `(counter * multiplier) >> shift`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct CounterScale {
    pub(crate) multiplier: u32,
    pub(crate) shift: u32,
}

/// What was measured between a guest's and its host's clock at one moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Correction {
    /// Guest time of the measurement.
    pub(crate) time: u64,
    /// To be added to guest time.
    pub(crate) offset: i64,
    /// Guest time is first multiplied by this ...
    pub(crate) scaling: u64,
    /// ... and shifted right by this many bits.
    pub(crate) fraction: u64,
}

impl Clock {
    /// The clock called `name`, as `trace_clock` lists them.
    pub(crate) fn new(name: &str, scale: Option<CounterScale>, offset_ns: i64) -> Self {
        let unit = match (name, scale) {
            ("uptime", _) => Unit::UserTicks,
            ("counter", _) => Unit::Unknown,
            ("x86-tsc" | "tsc2nsec" | "ppc-tb", Some(scale)) if scale.multiplier != 0 => {
                Unit::Scaled(scale)
            }
            ("x86-tsc" | "ppc-tb", _) => Unit::Unknown,
            _ => Unit::Nanoseconds,
        };
        Self {
            unit,
            offset_ns,
            ..Self::default()
        }
    }

    /// The same clock, corrected to a host's.
    pub(crate) fn corrected(self, mut corrections: Vec<Correction>, interpolate: bool) -> Self {
        corrections.sort_by_key(|correction| correction.time);
        corrections.dedup_by_key(|correction| correction.time);
        Self {
            corrections: corrections.into(),
            interpolate,
            ..self
        }
    }

    /// Whether its readings could be turned into nanoseconds.
    pub(crate) fn has_unit(&self) -> bool {
        self.unit != Unit::Unknown
    }

    /// The first and last reading in `range`, where its readings are nanoseconds.
    pub(crate) fn readings(&self, range: TimeRange) -> Option<(u64, u64)> {
        let is_plain = self.unit == Unit::Nanoseconds && self.corrections.is_empty();
        let reading = |at: Timestamp| at.ns().saturating_sub(self.offset_ns).max(0) as u64;
        let until = if range.end == Timestamp::MAX {
            u64::MAX
        } else {
            reading(range.end)
        };
        is_plain.then(|| (reading(range.begin), until))
    }

    /// The time of one reading.
    #[inline]
    pub(crate) fn time(&self, reading: u64) -> Timestamp {
        let reading = if self.corrections.is_empty() {
            reading
        } else {
            self.correct(reading)
        };
        let ns = match self.unit {
            Unit::Nanoseconds | Unit::Unknown => reading,
            Unit::UserTicks => reading.wrapping_mul(NANOSECONDS_PER_USER_TICK),
            Unit::Scaled(scale) => {
                let product = u128::from(reading) * u128::from(scale.multiplier);
                product.checked_shr(scale.shift).unwrap_or(0) as u64
            }
        };
        Timestamp::from_ns((ns as i64).wrapping_add(self.offset_ns))
    }

    fn correct(&self, reading: u64) -> u64 {
        let all = &self.corrections;
        let after = all.partition_point(|correction| correction.time <= reading);
        let first = after.saturating_sub(1).min(all.len().saturating_sub(2));
        let low = &all[first];
        let mut offset = low.offset;
        let Some(high) = all.get(first + 1) else {
            return reading.wrapping_add_signed(offset);
        };
        if self.interpolate {
            let length = i128::from(high.time) - i128::from(low.time);
            let gone = i128::from(reading) - i128::from(low.time);
            let slope = i128::from(high.offset) - i128::from(low.offset);
            offset = offset.wrapping_add(((gone * slope + length / 2) / length) as i64);
        }
        let scaled = u128::from(reading) * u128::from(low.scaling);
        let scaled = scaled
            .checked_shr(low.fraction.min(255) as u32)
            .unwrap_or(0) as u64;
        scaled.wrapping_add_signed(offset)
    }
}

/// The clock in use out of a `trace_clock` text such as `local [mono] boot`; a lone name as it is.
pub(crate) fn clock_in_use(text: &str) -> Option<&str> {
    let bracketed = text
        .split_once('[')
        .and_then(|(_, rest)| rest.split_once(']'))
        .map(|(name, _)| name);
    let mut words = text.split_whitespace();
    let lone = match (words.next(), words.next()) {
        (Some(name), None) => Some(name),
        _ => None,
    };
    bracketed.or(lone)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(clock: &Clock, reading: u64, expected: i64) {
        assert_eq!(clock.time(reading).ns(), expected, "{clock:?}");
    }

    #[test]
    fn clocks_by_name() {
        let scale = Some(CounterScale {
            multiplier: 3,
            shift: 1,
        });
        check(&Clock::new("mono", None, 5), 1_000, 1_005);
        check(&Clock::new("local", scale, -1), 1_000, 999);
        check(&Clock::new("uptime", None, 0), 7, 70_000_000);
        check(&Clock::new("x86-tsc", scale, 1), 1_000, 1_501);
        check(
            &Clock::new("tsc2nsec", scale, 0),
            u64::MAX,
            ((u128::from(u64::MAX) * 3) >> 1) as i64,
        );
        check(&Clock::new("x86-tsc", None, 0), 1_000, 1_000);
        assert!(!Clock::new("x86-tsc", None, 0).has_unit());
        assert!(!Clock::new("counter", scale, 0).has_unit());
    }

    #[test]
    fn a_guest_is_put_on_its_hosts_clock() {
        let correction = |time, offset| Correction {
            time,
            offset,
            scaling: 1,
            fraction: 0,
        };
        let one = Clock::new("mono", None, 0).corrected(vec![correction(50, 7)], true);
        check(&one, 100, 107);
        let samples = vec![
            correction(200, 20),
            correction(100, 10),
            correction(300, 20),
        ];
        let lines = Clock::new("mono", None, 0).corrected(samples.clone(), true);
        check(&lines, 100, 110);
        check(&lines, 150, 165);
        check(&lines, 250, 270);
        check(&lines, 400, 420);
        let steps = Clock::new("mono", None, 0).corrected(samples, false);
        check(&steps, 150, 160);
        let double = Correction {
            time: 0,
            offset: -3,
            scaling: 4,
            fraction: 1,
        };
        let pair = vec![
            double,
            Correction {
                time: 1_000,
                ..double
            },
        ];
        check(&Clock::new("mono", None, 0).corrected(pair, false), 10, 17);
    }

    #[test]
    fn the_clock_in_use_stands_in_brackets() {
        assert_eq!(clock_in_use("local global [mono] boot\n"), Some("mono"));
        assert_eq!(clock_in_use("[local]"), Some("local"));
        assert_eq!(clock_in_use("boot"), Some("boot"));
        assert_eq!(clock_in_use("local global"), None);
        assert_eq!(clock_in_use(""), None);
    }
}
