//! What repeated runs say: means, and ratios of two modes, with 95 % intervals.
//!
//! Runs are compared round by round, because what slows a round slows all its modes; intervals are
//! Student's over the rounds. It knows nothing of requests.

/// A value and how far it may be off either way, with 95 % confidence.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize)]
pub struct Estimate {
    /// The middle.
    pub value: f64,
    /// Half the width of the interval; absent with fewer than two rounds.
    pub margin: Option<f64>,
}

/// The value at a share (0 to 1) of ascending values; 0 where there are none.
pub fn quantile(ascending: &[f64], share: f64) -> f64 {
    let last = ascending.len().saturating_sub(1);
    let position = (share * last as f64).round() as usize;
    ascending.get(position.min(last)).copied().unwrap_or(0.0)
}

/// The mean of one figure over rounds.
pub fn mean(rounds: &[f64]) -> Estimate {
    let count = rounds.len() as f64;
    let value = rounds.iter().sum::<f64>() / count.max(1.0);
    let squares: f64 = rounds.iter().map(|one| (one - value).powi(2)).sum();
    let margin = (rounds.len() > 1).then(|| {
        let deviation = (squares / (count - 1.0)).sqrt();
        student_975(rounds.len() - 1) * deviation / count.sqrt()
    });
    Estimate { value, margin }
}

/// By how many per cent the first of each pair exceeds the second: the geometric mean of the ratios.
/// Pairs with a figure that is not positive are left out.
pub fn excess_percent(pairs: &[(f64, f64)]) -> Estimate {
    let usable = pairs.iter().filter(|(one, base)| *one > 0.0 && *base > 0.0);
    let logs: Vec<f64> = usable.map(|(one, base)| (one / base).ln()).collect();
    let log = mean(&logs);
    let ratio = log.value.exp();
    Estimate {
        value: (ratio - 1.0) * 100.0,
        margin: log.margin.map(|margin| ratio * margin.sinh() * 100.0),
    }
}

/// The 97.5 % quantile of Student's t.
fn student_975(degrees_of_freedom: usize) -> f64 {
    const TABLE: [f64; 30] = [
        12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160,
        2.145, 2.131, 2.120, 2.110, 2.101, 2.093, 2.086, 2.080, 2.074, 2.069, 2.064, 2.060, 2.056,
        2.052, 2.048, 2.045, 2.042,
    ];
    match degrees_of_freedom.checked_sub(1) {
        // The first terms of its expansion in 1/n, good to three digits from here on.
        Some(index) => TABLE
            .get(index)
            .copied()
            .unwrap_or(1.960 + 2.372 / degrees_of_freedom as f64),
        None => f64::INFINITY,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn near(value: Option<f64>, expected: f64) {
        let value = value.expect("there is a value");
        assert!((value - expected).abs() < 0.005, "{value}, not {expected}");
    }

    #[test]
    fn a_mean_of_few_rounds_is_as_uncertain_as_student_says() {
        let estimate = mean(&[9.0, 10.0, 11.0]);
        near(Some(estimate.value), 10.0);
        near(estimate.margin, 4.303 / 3_f64.sqrt());
        assert_eq!(mean(&[5.0]).margin, None);
        near(Some(student_975(40)), 2.021);
    }

    #[test]
    fn what_slows_a_whole_round_does_not_widen_the_excess() {
        let estimate = excess_percent(&[(105.0, 100.0), (210.0, 200.0), (52.5, 50.0)]);
        near(Some(estimate.value), 5.0);
        near(estimate.margin, 0.0);
        near(
            Some(excess_percent(&[(1.0, 0.0), (110.0, 100.0)]).value),
            10.0,
        );
    }

    #[test]
    fn quantiles_are_values_that_occurred() {
        let ascending: Vec<f64> = (0..=100).map(f64::from).collect();
        assert_eq!(quantile(&ascending, 0.5), 50.0);
        assert_eq!(quantile(&ascending, 0.99), 99.0);
        assert_eq!(quantile(&[], 0.5), 0.0);
    }
}
