//! How much is used in a period, from what was used in each of some: the level in the long run, and where
//! it changes. Knows no threads, only times and sums.

use slowpath_model::TimeRange;

/// What is used in a period: of all that was used until each step, the median of the slopes between
/// steps far apart (Theil and Sen). No mean, as who overdraws pays for it later, perhaps after the
/// last step, and no line through all, as many may overdraw just before the quota is waived.
pub(crate) fn slope(periods: &[f64], used: &[u64]) -> f64 {
    /// Of more steps than this, evenly chosen ones will do.
    const MOST_STEPS: usize = 400;
    let (mut at, mut sum) = (0.0, 0.0);
    let mut points = vec![(at, sum)];
    for (periods, used) in periods.iter().zip(used) {
        at += periods;
        sum += *used as f64;
        points.push((at, sum));
    }
    let step = points.len().div_ceil(MOST_STEPS);
    let points: Vec<(f64, f64)> = points.into_iter().step_by(step).collect();
    let far = (points.len() / 3).max(1);
    let pairs = (points.iter().enumerate()).flat_map(|(place, from)| {
        points[place + 1..]
            .iter()
            .skip(far - 1)
            .map(move |to| (from, to))
    });
    let mut slopes: Vec<f64> = pairs
        .map(|(from, to)| (to.1 - from.1) / (to.0 - from.0))
        .collect();
    slopes.sort_unstable_by(f64::total_cmp);
    slopes.get(slopes.len() / 2).copied().unwrap_or(0.0)
}

/// Adds the time of `range` to the periods in which it lies.
pub(crate) fn spread(range: TimeRange, begins: &[i64], sums: &mut [u64]) {
    let (begin, end) = (range.begin.ns(), range.end.ns());
    let first = begins.partition_point(|at| *at <= begin).saturating_sub(1);
    for (pair, sum) in begins.windows(2).zip(sums).skip(first) {
        if pair[0] >= end {
            break;
        }
        *sum += (end.min(pair[1]) - begin.max(pair[0])).max(0) as u64;
    }
}

/// Parts of the steps from first to last on one level each; a step counts as often as it has periods.
pub(crate) fn levels_of_steps(
    rates: &[f64],
    periods: &[f64],
    (first, last): (usize, usize),
) -> Vec<(usize, usize)> {
    let steps: Vec<usize> = (first..last)
        .flat_map(|step| std::iter::repeat_n(step, periods[step] as usize))
        .collect();
    let used: Vec<f64> = steps.iter().map(|step| rates[*step]).collect();
    let step_at = |period: usize| steps.get(period).copied().unwrap_or(last);
    let levels = levels(&used, 0).into_iter();
    levels
        .map(|(from, until)| (step_at(from), step_at(until)))
        .collect()
}

/// Parts of `used` on one level each: a quota that was changed shows as two.
fn levels(used: &[f64], offset: usize) -> Vec<(usize, usize)> {
    /// A level of fewer periods is not told from chance.
    const LEAST: usize = 8;
    let mean = |part: &[f64]| part.iter().sum::<f64>() / part.len().max(1) as f64;
    let spread = |part: &[f64]| {
        let middle = mean(part);
        part.iter()
            .map(|value| (value - middle) * (value - middle))
            .sum::<f64>()
    };
    let gain = |at: usize| {
        let (left, right) = used.split_at(at);
        spread(left) + spread(right)
    };
    let places = LEAST..used.len().saturating_sub(LEAST - 1);
    let split = places.min_by(|one, other| gain(*one).total_cmp(&gain(*other)));
    if let Some(at) = split {
        let (left, right) = used.split_at(at);
        let apart = (mean(left) - mean(right)).abs();
        let noise = gain(at) / used.len() as f64;
        let error = noise * (1.0 / left.len() as f64 + 1.0 / right.len() as f64);
        // A quarter apart, and four times farther than chance would have it.
        if apart > 0.25 * mean(left).max(mean(right)) && apart * apart > 16.0 * error {
            let mut parts = levels(left, offset);
            parts.extend(levels(right, offset + at));
            return parts;
        }
    }
    vec![(offset, offset + used.len())]
}

#[cfg(test)]
mod tests {
    use slowpath_model::Timestamp;

    use super::*;

    #[test]
    fn the_quota_is_what_is_used_in_the_long_run() {
        // 1 in each period, overdrawn by 3 and paid for in the next three; also in the last step.
        let used: Vec<u64> = (0..40).flat_map(|_| [4, 0, 0, 0]).chain([4]).collect();
        let quota = slope(&vec![1.0; used.len()], &used);
        assert!((quota - 1.0).abs() < 0.02, "{quota}");
    }

    #[test]
    fn what_is_overdrawn_at_the_end_is_no_part_of_the_quota() {
        let used: Vec<u64> = [100; 40].into_iter().chain([400, 900, 2_500]).collect();
        let quota = slope(&vec![1.0; used.len()], &used);
        assert!((quota - 100.0).abs() < 2.0, "{quota}");
    }

    #[test]
    fn a_changed_quota_is_two_levels() {
        let noise = |n: usize| [0.9, 1.3, 0.8, 1.0][n % 4];
        let used: Vec<f64> = (0..40)
            .map(|n| if n < 22 { 6.0 } else { 12.0 } * noise(n))
            .collect();
        assert_eq!(levels(&used, 10), [(10, 32), (32, 50)]);
        assert_eq!(levels(&used[..22], 0), [(0, 22)]);
    }

    #[test]
    fn time_is_added_to_the_periods_in_which_it_lies() {
        let mut sums = [0; 2];
        let range = TimeRange::new(Timestamp::from_ns(5), Timestamp::from_ns(25));
        spread(range, &[0, 10, 20], &mut sums);
        assert_eq!(sums, [5, 10]);
    }
}
