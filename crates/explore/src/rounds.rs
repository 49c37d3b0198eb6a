//! What a metric would have been if nothing had changed from one of the policy's rounds to the next.
//!
//! Where a policy runs some configurations again, these are measured at other times than those that it leaves, and a
//! machine that becomes slower or faster meanwhile would decide between them. Configurations that ran in several rounds
//! tell how rounds differ; that is taken away. Rounds that have no configuration in common cannot be compared.

use std::collections::{BTreeSet, HashMap};

use crate::trial::Trial;

/// More turns than this are not worth it.
const MOST_TURNS: usize = 1000;

/// For each trial its value of the metric less what its round adds, by its number; `None` where no configuration ran in
/// several rounds. The effects of configurations and rounds add up, or multiply where all values are above 0 (least
/// squares, of the logarithms then).
pub(crate) fn without_rounds(trials: &[Trial], metric: &str) -> Option<HashMap<i64, f64>> {
    let measured = || {
        let value = |trial: &Trial| trial.measures.get(metric).copied();
        (trials.iter()).filter_map(move |trial| Some((trial, value(trial)?)))
    };
    let is_factor = measured().all(|(_, value)| value > 0.0);
    let mut configurations: HashMap<String, usize> = HashMap::new();
    let mut points = Vec::new();
    for (trial, value) in measured() {
        let place = configurations.len();
        let place = *configurations
            .entry(trial.configuration.key())
            .or_insert(place);
        let value = if is_factor { value.ln() } else { value };
        points.push((place, trial.batch as usize, value));
    }
    let pairs: BTreeSet<(usize, usize)> = (points.iter())
        .map(|(configuration, round, _)| (*configuration, *round))
        .collect();
    if pairs.len() == configurations.len() {
        return None;
    }
    let rounds = effects(&points, configurations.len());
    let without = |(trial, value): (&Trial, f64)| {
        let round = rounds[trial.batch as usize];
        let value = match is_factor {
            true => value * (-round).exp(),
            false => value - round,
        };
        (trial.id, value)
    };
    Some(measured().map(without).collect())
}

/// The effect of each round: means of what is left by configurations, and by rounds, in turn until nothing changes. What
/// both could explain is the configurations', as they come first.
fn effects(points: &[(usize, usize, f64)], configurations: usize) -> Vec<f64> {
    let last = points.iter().map(|(_, round, _)| *round).max();
    let mut rounds = vec![0.0; last.map_or(0, |last| last + 1)];
    let means = |places: &mut dyn Iterator<Item = (usize, f64)>, count: usize| {
        let mut sums = vec![(0.0, 0.0_f64); count];
        for (place, value) in places {
            sums[place].0 += value;
            sums[place].1 += 1.0;
        }
        let means = sums.into_iter().map(|(sum, count)| sum / count.max(1.0));
        means.collect::<Vec<f64>>()
    };
    let size = points
        .iter()
        .fold(0.0, |most: f64, one| most.max(one.2.abs()));
    for _ in 0..MOST_TURNS {
        let mut left = (points.iter()).map(|(one, round, value)| (*one, value - rounds[*round]));
        let own = means(&mut left, configurations);
        let mut left = (points.iter()).map(|(one, round, value)| (*round, value - own[*one]));
        let next = means(&mut left, rounds.len());
        let moved = rounds.iter().zip(&next).map(|(one, two)| (one - two).abs());
        let most = moved.fold(0.0, f64::max);
        rounds = next;
        if most <= 1e-12 * size {
            break;
        }
    }
    rounds
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trial::Outcome;
    use crate::value::Configuration;

    fn trials(of: &[(u32, i64, f64)]) -> Vec<Trial> {
        let trial = |(id, (batch, a, value)): (i64, &(u32, i64, f64))| Trial {
            id,
            batch: *batch,
            configuration: Configuration::from_key(&format!("{{\"a\":{a}}}")).expect("JSON"),
            outcome: Outcome::Good,
            measures: [("v".to_owned(), *value)].into(),
            notes: String::new(),
        };
        (1..).zip(of).map(trial).collect()
    }

    #[test]
    fn what_rounds_differ_by_is_taken_away() {
        // The second round is twice as slow; 3 ran in the first alone.
        let all = trials(&[
            (0, 1, 10.0),
            (0, 2, 20.0),
            (0, 3, 12.0),
            (1, 1, 20.0),
            (1, 2, 40.0),
        ]);
        let found = without_rounds(&all, "v").expect("some ran twice");
        let of = |id: i64| found[&id] / found[&1];
        for (id, factor) in [(2, 2.0), (3, 1.2), (4, 1.0), (5, 2.0)] {
            assert!((of(id) - factor).abs() < 1e-9, "{id}: {}", of(id));
        }
    }

    #[test]
    fn rounds_with_nothing_in_common_are_left_alone() {
        assert_eq!(
            without_rounds(&trials(&[(0, 1, 1.0), (1, 2, 5.0)]), "v"),
            None
        );
        // One configuration alone ran twice: nothing else is moved by that.
        let all = trials(&[(0, 1, 1.0), (1, 2, 5.0), (2, 2, -7.0), (3, 3, 4.0)]);
        let found = without_rounds(&all, "v").expect("one ran twice");
        assert_eq!((found[&1], found[&4]), (1.0, 4.0));
        assert!((found[&2] + 1.0).abs() < 1e-9 && (found[&3] + 1.0).abs() < 1e-9);
    }
}
