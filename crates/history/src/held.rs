//! How long each value was held in a stretch of time.

use rustc_hash::FxHashMap;

/// So many values are found as fast by looking through them: a thread has few states, a processor may run
/// hundreds of threads within a bucket.
const FEW: usize = 8;

/// Values and for how many nanoseconds each was held.
#[derive(Debug, Default)]
pub(crate) struct Held {
    times: Vec<(i64, i64)>,
    /// Where a value's time is, once there are more than few.
    places: FxHashMap<i64, usize>,
}

impl Held {
    #[inline]
    pub(crate) fn add(&mut self, value: i64, time: i64) {
        let place = match self.times.len() <= FEW {
            true => self.times.iter().position(|(other, _)| *other == value),
            false => self.places.get(&value).copied(),
        };
        match place {
            Some(place) => self.times[place].1 += time,
            None => self.add_new(value, time),
        }
    }

    fn add_new(&mut self, value: i64, time: i64) {
        self.times.push((value, time));
        if self.times.len() > FEW {
            let unplaced = self.places.len()..self.times.len();
            (self.places).extend(unplaced.map(|place| (self.times[place].0, place)));
        }
    }

    /// The value that was held longest, of equal ones the least, and for how long.
    pub(crate) fn longest(&self) -> Option<(i64, i64)> {
        let times = self.times.iter().copied();
        times.max_by_key(|&(value, held)| (held, std::cmp::Reverse(value)))
    }

    pub(crate) fn clear(&mut self) {
        self.times.clear();
        if !self.places.is_empty() {
            self.places.clear();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_and_many_values_are_summed_up_alike() {
        for values in [1, FEW as i64, FEW as i64 + 1, 100] {
            let mut held = Held::default();
            for _ in 0..2 {
                for value in 0..values {
                    held.add(value, 1 + value);
                    held.add(values - 1 - value, 2);
                }
                assert_eq!(held.longest(), Some((values - 1, values + 2)));
                held.clear();
                assert_eq!(held.longest(), None);
            }
        }
    }

    #[test]
    fn of_values_held_equally_long_the_least_is_longest() {
        let mut held = Held::default();
        for value in [7, 3, 5] {
            held.add(value, 10);
        }
        assert_eq!(held.longest(), Some((3, 10)));
    }
}
