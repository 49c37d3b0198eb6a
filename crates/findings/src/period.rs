//! The period in which stalls end: found from the distances between their ends alone.
//!
//! Which ends belong to one quota, and what it amounts to, is `quota`'s matter. Of many ends a sample
//! says where the period may be; all of them say where it is.

use std::f64::consts::TAU;

use crate::quota::LEAST_PERIODS;

/// Periods that the kernel allows: 1 ms to 1 s; below 5 ms a stall cannot be told from its period.
const SHORTEST_PERIOD: f64 = 5e6;
const LONGEST_PERIOD: f64 = 1e9;
/// The period of all ends, or of a part of the time: where processors are busy, threads also stand
/// still without a quota, and then go on at any time.
pub(crate) fn period_of_a_part(ends: &[i64]) -> Option<f64> {
    /// Parts overlap by half. Fewer ends are in step by chance.
    const PART: usize = 48;
    let parts = (0..ends.len())
        .step_by(PART / 2)
        .map(|first| &ends[first..ends.len().min(first + PART)])
        .filter(|part| part.len() >= PART / 2);
    period(ends).or_else(|| {
        let found = parts.filter_map(|part| {
            let period = period(part)?;
            let steps = in_step(part, period).len();
            (steps * 4 >= part.len() * 3).then_some((steps, period))
        });
        found.max_by_key(|(steps, _)| *steps).map(|(_, p)| p)
    })
}

/// The ends that lie on the grid of a period together with most of their neighbours.
pub(crate) fn in_step(ends: &[i64], period: f64) -> Vec<i64> {
    const NEIGHBOURS: usize = 6;
    let is_in_step = |(place, end): (usize, &i64)| {
        let near = &ends[place.saturating_sub(NEIGHBOURS)..ends.len().min(place + NEIGHBOURS + 1)];
        let (mut along, mut across, mut count) = (0.0, 0.0, 0);
        for other in near {
            let turns = (other - end) as f64 / period;
            if turns.abs() < 20.0 {
                along += (TAU * turns).cos();
                across += (TAU * turns).sin();
                count += 1;
            }
        }
        let count = f64::from(count);
        // How much they agree, and how far this one is from where they agree.
        f64::hypot(along, across) >= 0.7 * count && along >= 0.5 * count
    };
    let kept = ends.iter().enumerate().filter(|end| is_in_step(*end));
    kept.map(|(_, end)| *end).collect()
}

/// The period in which stalls end, in nanoseconds; `None` where there is none.
///
/// Distances between ends are multiples of it, give or take: the longest period for which that holds
/// about as well as for any.
fn period(ends: &[i64]) -> Option<f64> {
    const NEIGHBOURS: usize = 24;
    const MOST_PAIRS: usize = 20_000;
    let mut distances: Vec<f64> = Vec::new();
    let step = (ends.len() * NEIGHBOURS / MOST_PAIRS).max(1);
    for (place, end) in ends.iter().enumerate().step_by(step) {
        let later = ends[place + 1..].iter().take(NEIGHBOURS);
        let apart = later.map(|other| (other - end) as f64);
        distances.extend(apart.filter(|d| (SHORTEST_PERIOD..=1.2 * LONGEST_PERIOD).contains(d)));
    }
    if distances.len() < 2 * LEAST_PERIODS {
        return None;
    }
    let candidates = std::iter::successors(Some(SHORTEST_PERIOD), |period| Some(period * 1.005));
    let candidates = candidates.take_while(|period| *period <= LONGEST_PERIOD);
    let mut scored: Vec<(f64, f64)> = candidates.map(|period| (period, 0.0)).collect();
    // A few distances tell of most ends that they have no period, and some where it may be.
    for (most, error) in [(128, 0.2), (2_000, 0.1), (usize::MAX, 0.0)] {
        let some: Vec<f64> = some_of(&distances, most).collect();
        for (period, score) in &mut scored {
            *score = fits(&some, *period);
        }
        let best = scored.iter().map(|(_, score)| *score).fold(0.0, f64::max);
        if best < 0.5 - error {
            return None;
        }
        scored.retain(|(_, score)| *score >= 0.85 * best - error);
    }
    let (mut period, _) = *scored.last()?;
    for _ in 0..4 {
        let (mut products, mut squares) = (0.0, 0.0);
        for distance in &distances {
            let times = (distance / period).round();
            if times >= 1.0 && (distance - times * period).abs() < 0.2 * period {
                products += times * distance;
                squares += times * times;
            }
        }
        if squares > 0.0 {
            period = products / squares;
        }
    }
    Some(period)
}

/// How well distances are multiples of a period: 1 if all are, 0 if they have nothing to do with it.
fn fits(distances: &[f64], period: f64) -> f64 {
    // Threads that go on in the same period say nothing about it.
    let (mut sum, mut count) = (0.0, 0);
    for distance in distances
        .iter()
        .filter(|distance| **distance * 2.0 >= period)
    {
        sum += (TAU * distance / period).cos();
        count += 1;
    }
    match count * 3 >= distances.len() {
        true => sum / f64::from(count as u32),
        false => 0.0,
    }
}

/// About so many distances, evenly chosen, but not always those to the same neighbours.
fn some_of(distances: &[f64], most: usize) -> impl Iterator<Item = f64> {
    let step = distances.len().div_ceil(most);
    let step = match step {
        1 => 1,
        step if (step | 1).is_multiple_of(3) => (step | 1) + 2,
        step => step | 1,
    };
    distances.iter().copied().step_by(step)
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: i64 = 1_000_000;

    #[test]
    fn the_period_is_the_longest_that_fits() {
        for period in [10, 100, 250] {
            // Threads go on up to 6 % late, some periods are left out.
            let ends: Vec<i64> = (0..80)
                .filter(|n| n % 7 != 3)
                .flat_map(|n| {
                    [0, n % 4, 2 * (n % 3)].map(|late| n * period * MS + late * period * MS / 100)
                })
                .collect();
            let found = super::period(&ends).unwrap() / MS as f64;
            assert!(
                (found / period as f64 - 1.0).abs() < 0.01,
                "{found} for {period}"
            );
        }
    }

    #[test]
    fn a_period_shows_between_other_ends() {
        // Busy processors: ends come at any time, except between 5 s and 10 s, where a quota holds.
        let mut ends: Vec<i64> = (0..400_i64)
            .map(|n| n * 37 % 15_000 * MS + n * n % 83 * MS)
            .filter(|at| !(5_000 * MS..10_000 * MS).contains(at))
            .chain((0..50).map(|n| (5_020 + n * 100 + n % 3) * MS))
            .collect();
        ends.sort_unstable();
        let found = period_of_a_part(&ends).unwrap();
        assert!((found / (100 * MS) as f64 - 1.0).abs() < 0.01, "{found}");
        let kept = in_step(&ends, found);
        assert!(kept.len() >= 44, "{}", kept.len());
        let outside = |at: &&i64| !(4_700 * MS..10_300 * MS).contains(*at);
        assert_eq!(kept.iter().filter(outside).count(), 0);
    }

    #[test]
    fn ends_without_a_period_have_none() {
        let mut at = 0;
        let ends: Vec<i64> = (1..300_i64)
            .map(|n| {
                at += 3 * MS + n * n % 97 * n % 89 * MS;
                at
            })
            .collect();
        assert_eq!(period(&ends), None);
        assert_eq!(period_of_a_part(&ends), None);
        assert_eq!(period(&[0, 100 * MS, 200 * MS]), None, "too few");
    }
}
