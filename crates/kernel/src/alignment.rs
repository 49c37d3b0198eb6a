//! How the clocks of two hosts relate, from packets that went between them.
//!
//! A packet arrives after it was sent. Packets one way bound the clocks' difference from below, those
//! the other way from above; the line between the bounds that keeps farthest from both is taken
//! (the idea of Duda's convex hull, *Estimating global time in distributed systems*, 1987). Which
//! events are one packet is not decided here.

use slowpath_model::{Nanoseconds, Timestamp};

/// A packet: sent by one clock, received by another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Passage {
    /// By the sender's clock.
    pub sent: Timestamp,
    /// By the receiver's clock.
    pub received: Timestamp,
}

/// How to read a clock as another, the reference.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Alignment {
    /// Reference minus clock at `at`, in nanoseconds.
    pub offset_ns: i64,
    /// When `offset_ns` holds, by the clock.
    pub at: Timestamp,
    /// How much faster the reference runs: nanoseconds in a second. 0 unless packets rule that out.
    pub drift_ns_per_s: f64,
    /// The offset may be off by so much: packets would still arrive after they were sent. `None`
    /// where packets went one way only; then the fastest one is taken to have needed no time.
    pub uncertainty: Option<Nanoseconds>,
    /// How many packets it rests on.
    pub packets: usize,
}

/// Clocks of computers differ by less, unless one is broken.
const MOST_DRIFT_NS_PER_S: f64 = 1_000_000.0;

impl Alignment {
    /// The reference's time at the clock's `time`.
    pub fn to_reference(&self, time: Timestamp) -> Timestamp {
        let since = time.ns().saturating_sub(self.at.ns()) as f64 / 1e9;
        let drift = (since * self.drift_ns_per_s).round() as i64;
        let offset = self.offset_ns.saturating_add(drift);
        Timestamp::from_ns(time.ns().saturating_add(offset))
    }

    /// The clock's time at the reference's `time`, to the nanosecond or the next.
    pub fn from_reference(&self, time: Timestamp) -> Timestamp {
        let mut clock = time.ns().saturating_sub(self.offset_ns);
        // The drift is small: each round leaves a thousandth of the error, at most.
        for _ in 0..6 {
            let error = self.to_reference(Timestamp::from_ns(clock)).ns();
            clock = clock.saturating_sub(error.saturating_sub(time.ns()));
        }
        Timestamp::from_ns(clock)
    }
}

/// A bound of the offset: at a time of the clock, relative to a first guess.
#[derive(Clone, Copy)]
struct Bound {
    /// Seconds since the first packet.
    at: f64,
    offset: f64,
}

/// Aligns a clock with the reference, by packets `to_clock` (sent by the reference's host) and
/// `from_clock` (sent by the clock's host). `None` without a packet.
pub fn align(to_clock: &[Passage], from_clock: &[Passage]) -> Option<Alignment> {
    let difference =
        |later: Timestamp, earlier: Timestamp| i128::from(later.ns()) - i128::from(earlier.ns());
    // At these times of the clock the offset is at least, and at most, so much.
    let least = to_clock
        .iter()
        .map(|p| (p.received, difference(p.sent, p.received)));
    let most = from_clock
        .iter()
        .map(|p| (p.sent, difference(p.received, p.sent)));
    let (least, most): (Vec<_>, Vec<_>) = (least.collect(), most.collect());
    let &(_, guess) = least
        .iter()
        .max_by_key(|(_, offset)| *offset)
        .or_else(|| most.iter().min_by_key(|(_, offset)| *offset))?;
    let times = || least.iter().chain(&most).map(|(at, _)| at.ns());
    let (first, last) = (times().min()?, times().max()?);
    let middle = ((i128::from(first) + i128::from(last)) / 2) as i64;
    let bounds = |of: &[(Timestamp, i128)]| -> Vec<Bound> {
        (of.iter())
            .map(|(at, offset)| Bound {
                at: at.ns().saturating_sub(middle) as f64 / 1e9,
                offset: (offset - guess) as f64,
            })
            .collect()
    };
    let (least, most) = (bounds(&least), bounds(&most));
    let (drift, low, high) = best_drift(&least, &most);
    let (offset, uncertainty) = match (low.is_finite(), high.is_finite()) {
        (true, true) => {
            let half = ((high - low) / 2.0).abs().ceil();
            (low + (high - low) / 2.0, Some(Nanoseconds(half as u64)))
        }
        (true, false) => (low, None),
        _ => (high, None),
    };
    // Rounded away from zero, so that the clocks may change places.
    let twice = 2 * guess + (2.0 * offset).round() as i128;
    let offset_ns = (twice + twice.signum()) / 2;
    Some(Alignment {
        offset_ns: i64::try_from(offset_ns).ok()?,
        at: Timestamp::from_ns(middle),
        drift_ns_per_s: drift,
        uncertainty,
        packets: least.len() + most.len(),
    })
}

/// The drift, and the least and the most offset that it leaves. None, if that fits.
fn best_drift(least: &[Bound], most: &[Bound]) -> (f64, f64, f64) {
    let (least, most) = (outermost(least, 1.0), outermost(most, -1.0));
    let range = |drift: f64| {
        let rest = |bound: &Bound| bound.offset - drift * bound.at;
        let low = least.iter().map(rest).fold(f64::NEG_INFINITY, f64::max);
        let high = most.iter().map(rest).fold(f64::INFINITY, f64::min);
        (low, high)
    };
    let (low, high) = range(0.0);
    if low <= high {
        return (0.0, low, high);
    }
    // The room between the bounds is a concave function of the drift.
    let (mut from, mut to) = (-MOST_DRIFT_NS_PER_S, MOST_DRIFT_NS_PER_S);
    let room = |drift: f64| {
        let (low, high) = range(drift);
        high - low
    };
    for _ in 0..80 {
        let (left, right) = (from + (to - from) / 3.0, to - (to - from) / 3.0);
        match room(left) < room(right) {
            true => from = left,
            false => to = right,
        }
    }
    let drift = (from + to) / 2.0;
    let (low, high) = range(drift);
    (drift, low, high)
}

/// The bounds that some line meets first: the upper (`side` 1) or lower (-1) convex hull.
fn outermost(bounds: &[Bound], side: f64) -> Vec<Bound> {
    let mut sorted = bounds.to_vec();
    sorted.sort_by(|one, other| one.at.total_cmp(&other.at));
    let mut hull: Vec<Bound> = Vec::new();
    for bound in sorted {
        while let [.., before, last] = hull[..] {
            let rise = (last.offset - before.offset) * (bound.at - before.at);
            let needed = (bound.offset - before.offset) * (last.at - before.at);
            if side * (rise - needed) > 0.0 {
                break;
            }
            hull.pop();
        }
        hull.push(bound);
    }
    hull
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: i64 = 1_000_000_000;

    /// Packets each way every 10 ms; those of the clock's host are timed by a clock that is `offset`
    /// behind and loses `drift` ns in a second. Delays vary from `delay` up.
    fn passages(offset: i64, drift: f64, delay: i64) -> (Vec<Passage>, Vec<Passage>) {
        let clock =
            |at: i64| Timestamp::from_ns(at - offset - (at as f64 / 1e9 * drift).round() as i64);
        let reference = Timestamp::from_ns;
        let sent = (0..1000).map(|n| n * 10_000_000);
        let late = |at: i64| at + delay + at / 10_000_000 * 7919 % 97 * 1000;
        let to = sent.clone().map(|at| Passage {
            sent: reference(at),
            received: clock(late(at)),
        });
        let from = sent.map(|at| Passage {
            sent: clock(at),
            received: reference(late(at)),
        });
        (to.collect(), from.collect())
    }

    #[test]
    fn a_constant_difference_is_found_within_the_delay() {
        for offset in [0, -5_855 * SECOND, 17, 1 << 60] {
            let (to, from) = passages(offset, 0.0, 20_000);
            let alignment = align(&to, &from).unwrap();
            assert!(
                (alignment.offset_ns - offset).abs() <= 20_000,
                "{alignment:?}"
            );
            assert_eq!(alignment.drift_ns_per_s, 0.0);
            assert_eq!(alignment.uncertainty, Some(Nanoseconds(20_000)));
            assert_eq!(alignment.packets, 2000);
        }
    }

    #[test]
    fn clocks_may_change_places() {
        let passage = |sent, received| Passage {
            sent: Timestamp::from_ns(sent),
            received: Timestamp::from_ns(received),
        };
        // The middle lies on a nanosecond or between two.
        for delay in 0..4 {
            for ahead in [-1000, -1, 0, 1, 1000] {
                let to = [passage(0, 7 + ahead)];
                let from = [passage(50 + ahead, 57 + delay)];
                let one = align(&to, &from).unwrap().offset_ns;
                let other = align(&from, &to).unwrap().offset_ns;
                assert_eq!(one, -other, "{delay} {ahead}");
            }
        }
    }

    #[test]
    fn drift_is_found_where_no_constant_fits() {
        let (to, from) = passages(3 * SECOND, 40_000.0, 20_000);
        let alignment = align(&to, &from).unwrap();
        assert!(
            (alignment.drift_ns_per_s - 40_000.0).abs() < 3_000.0,
            "{alignment:?}"
        );
        for passage in to {
            let error = alignment.to_reference(passage.received).ns() - passage.sent.ns();
            assert!((0..200_000).contains(&error), "{error}");
        }
    }

    #[test]
    fn one_way_is_enough_for_a_guess() {
        let (to, from) = passages(SECOND, 0.0, 5_000);
        assert_eq!(align(&to, &[]).unwrap().offset_ns, SECOND - 5_000);
        assert_eq!(align(&[], &from).unwrap().offset_ns, SECOND + 5_000);
        assert_eq!(align(&to, &[]).unwrap().uncertainty, None);
        assert_eq!(align(&[], &[]), None);
    }

    #[test]
    fn there_and_back_is_the_same_time() {
        let (to, from) = passages(3 * SECOND, 40_000.0, 20_000);
        let alignment = align(&to, &from).unwrap();
        for time in [0, 123_456_789, 9 * SECOND].map(Timestamp::from_ns) {
            let back = alignment.from_reference(alignment.to_reference(time));
            assert!((back.ns() - time.ns()).abs() <= 1);
        }
    }
}
