//! An additive model fitted by least squares: a number is a mean, and for each factor the effect of its level.
//!
//! What a factor does is told from what others do beside it, so levels need not occur equally often. Effects of a factor
//! have the mean 0 over all that have a level of it; what has none (a parameter that is conditional) has no effect of it.
//! Where several solutions fit alike, it is the shortest, which shares among factors that change together. It knows
//! nothing of parameters.

use crate::statistics::mean;

/// For each row its level of one factor, from 0; `None` where it has none.
pub(crate) type Levels = Vec<Option<usize>>;

/// What was fitted.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Fit {
    /// For each factor the effect of each level.
    pub(crate) effects: Vec<Vec<f64>>,
    /// The sum of squares that is left.
    pub(crate) left: f64,
}

/// A factor, and how many rows have each level.
struct Factor<'run> {
    levels: &'run Levels,
    counts: Vec<f64>,
}

/// More turns than this are not worth it: each one takes the direction that is best of those left.
const MOST_TURNS: usize = 300;

/// Fits the numbers, one for each row, to the factors. Conjugate gradients on the normal equations from 0 (Hestenes and
/// Stiefel, *Methods of Conjugate Gradients for Solving Linear Systems*, 1952).
pub(crate) fn fit(numbers: &[f64], factors: &[Levels]) -> Fit {
    let factors: Vec<Factor<'_>> = factors.iter().map(Factor::of).collect();
    let mean = mean(numbers);
    let mut left: Vec<f64> = numbers.iter().map(|number| number - mean).collect();
    let mut effects: Vec<Vec<f64>> = (factors.iter())
        .map(|factor| vec![0.0; factor.counts.len()])
        .collect();
    let down = |rows: &[f64]| -> Vec<Vec<f64>> {
        (factors.iter()).map(|factor| factor.down(rows)).collect()
    };
    // As effects have the mean 0 where a factor has a level, none of them changes the mean of all rows.
    let across = |effects: &[Vec<f64>]| -> Vec<f64> {
        let mut rows = vec![0.0; numbers.len()];
        for (factor, effects) in factors.iter().zip(effects) {
            factor.across(effects, &mut rows);
        }
        rows
    };
    let mut slope = down(&left);
    let mut direction = slope.clone();
    let mut size = length(&slope);
    let small = size * 1e-24;
    for _ in 0..MOST_TURNS {
        if size <= small {
            break;
        }
        let moved = across(&direction);
        let step = size / moved.iter().map(|one| one * one).sum::<f64>();
        if !step.is_finite() {
            break;
        }
        for (effect, along) in each(&mut effects).zip(direction.iter().flatten()) {
            *effect += step * along;
        }
        for (left, moved) in left.iter_mut().zip(&moved) {
            *left -= step * moved;
        }
        slope = down(&left);
        let next = length(&slope);
        for (along, slope) in each(&mut direction).zip(slope.iter().flatten()) {
            *along = slope + next / size * *along;
        }
        size = next;
    }
    for (factor, effects) in factors.iter().zip(&mut effects) {
        factor.centre(effects);
    }
    Fit {
        effects,
        left: left.iter().map(|one| one * one).sum(),
    }
}

impl<'run> Factor<'run> {
    fn of(levels: &'run Levels) -> Self {
        let count = levels.iter().flatten().max().map_or(0, |last| last + 1);
        let mut counts = vec![0.0; count];
        for level in levels.iter().flatten() {
            counts[*level] += 1.0;
        }
        Self { levels, counts }
    }

    /// Adds the centred effect of each row's level.
    fn across(&self, effects: &[f64], rows: &mut [f64]) {
        let mut effects = effects.to_vec();
        self.centre(&mut effects);
        for (row, level) in rows.iter_mut().zip(self.levels) {
            *row += level.map_or(0.0, |level| effects[level]);
        }
    }

    /// The transpose of [`Self::across`].
    fn down(&self, rows: &[f64]) -> Vec<f64> {
        let mut sums = vec![0.0; self.counts.len()];
        for (row, level) in rows.iter().zip(self.levels) {
            if let Some(level) = level {
                sums[*level] += row;
            }
        }
        let share = sums.iter().sum::<f64>() / self.counts.iter().sum::<f64>().max(1.0);
        for (sum, count) in sums.iter_mut().zip(&self.counts) {
            *sum -= share * count;
        }
        sums
    }

    fn centre(&self, effects: &mut [f64]) {
        let all = effects.iter().zip(&self.counts);
        let mean = all.map(|(effect, count)| effect * count).sum::<f64>()
            / self.counts.iter().sum::<f64>().max(1.0);
        for effect in effects {
            *effect -= mean;
        }
    }
}

fn each(numbers: &mut [Vec<f64>]) -> impl Iterator<Item = &mut f64> {
    numbers.iter_mut().flatten()
}

fn length(numbers: &[Vec<f64>]) -> f64 {
    numbers.iter().flatten().map(|one| one * one).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn near(found: &[f64], expected: &[f64]) {
        let is_near = |(found, expected): (&f64, &f64)| (found - expected).abs() < 1e-9;
        assert!(found.iter().zip(expected).all(is_near), "{found:?}");
    }

    #[test]
    fn levels_need_not_occur_equally_often() {
        // 10 for the second level of one factor, 1 for that of the other; three of one combination, one of each other.
        let one: Levels = [0, 0, 0, 0, 1, 1].map(Some).into();
        let two: Levels = [0, 0, 0, 1, 0, 1].map(Some).into();
        let fitted = fit(&[5.0, 5.0, 5.0, 6.0, 15.0, 16.0], &[one, two]);
        assert!(fitted.left < 1e-18, "{fitted:?}");
        near(&fitted.effects[0], &[-10.0 / 3.0, 20.0 / 3.0]);
        near(&fitted.effects[1], &[-1.0 / 3.0, 2.0 / 3.0]);
    }

    #[test]
    fn what_changes_together_is_shared() {
        let both: Levels = [0, 1, 0, 1].map(Some).into();
        let fitted = fit(&[0.0, 4.0, 0.0, 4.0], &[both.clone(), both]);
        near(&fitted.effects[0], &[-1.0, 1.0]);
        near(&fitted.effects[1], &[-1.0, 1.0]);
    }

    #[test]
    fn what_has_no_level_has_no_effect() {
        let kind: Levels = [0, 0, 1, 1].map(Some).into();
        let size: Levels = vec![Some(0), Some(1), None, None];
        let fitted = fit(&[1.0, 3.0, 7.0, 7.0], &[kind, size]);
        near(&fitted.effects[0], &[-2.5, 2.5]);
        near(&fitted.effects[1], &[-1.0, 1.0]);
    }
}
