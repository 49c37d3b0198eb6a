//! A quota's period and size where the kernel's timers are not in the trace: estimated from when threads
//! stand still and go on.
//!
//! The signature: threads are ready, their processor idles or all of their group stands still, and
//! they go on together at the begin of a period, for as long as the quota lasts. Nothing is concluded
//! from a few occasions, nor where no period shows.

use slowpath_kernel::timelines::Timelines;
use slowpath_model::{Nanoseconds, ThreadId, TimeRange, Timestamp};

use crate::period::{in_step, period_of_a_part};
use crate::quota::{LEAST_PERIODS, Regime};
use crate::quota_levels::{levels_of_steps, slope, spread};
use crate::stalls::{LATE, Stall, are_of_one_busy_processor, stalls};

/// How much the quota of these threads is within `window`, and when they stood still because of it.
pub(crate) fn estimated_regimes(
    lines: &Timelines,
    window: TimeRange,
    threads: &[ThreadId],
) -> (Vec<Regime>, Vec<TimeRange>) {
    let mut stalls = stalls(lines, threads);
    let regimes = regimes(lines, window, threads, &stalls);
    let is_held = |stall: &Stall| {
        let mut regimes = regimes.iter();
        // The first one ends where the first whole period begins, the last one is cut short where
        // the quota is waived.
        regimes.any(|regime| {
            let period = regime.period.get() as i64;
            let (begin, end) = (regime.range.begin.ns(), regime.range.end.ns());
            let around = TimeRange::new(
                Timestamp::from_ns(begin.saturating_sub(period)),
                Timestamp::from_ns(end.saturating_add(period)),
            );
            !around.intersect(stall.range).is_empty()
        })
    };
    stalls.retain(is_held);
    let stalls = stalls.into_iter().map(|stall| stall.range).collect();
    (regimes, stalls)
}

fn regimes(
    lines: &Timelines,
    window: TimeRange,
    threads: &[ThreadId],
    stalls: &[Stall],
) -> Vec<Regime> {
    let mut ends: Vec<i64> = stalls.iter().map(|stall| stall.range.end.ns()).collect();
    ends.sort_unstable();
    let Some(period) = period_of_a_part(&ends) else {
        return Vec::new();
    };
    let ends = in_step(&ends, period);
    let mut regimes = Vec::new();
    for begins in rows_of_periods(&ends, period) {
        let (begin, end) = (begins.first(), begins.last());
        let is_of_row = |stall: &&Stall| {
            let at = stall.range.end.ns();
            begin.is_some_and(|begin| *begin <= at) && end.is_some_and(|end| at <= *end)
        };
        if are_of_one_busy_processor(stalls.iter().filter(is_of_row)) {
            continue;
        }
        let mut used = vec![0_u64; begins.len() - 1];
        let mut perhaps = vec![0_u64; begins.len() - 1];
        let mut stopped = vec![0_u64; begins.len() - 1];
        for &thread in threads {
            for (run, _) in lines.runs_of(thread) {
                spread(run, &begins, &mut used);
            }
            for ready in lines.perhaps_ran(thread) {
                let end = ready.end.ns();
                let in_period = begins[..begins.partition_point(|at| *at <= end)].last();
                let earliest = end.saturating_sub(LATE.get() as i64);
                let begin = ready
                    .begin
                    .ns()
                    .max(earliest)
                    .max(*in_period.unwrap_or(&end));
                let range = TimeRange::new(Timestamp::from_ns(begin), ready.end);
                spread(range, &begins, &mut perhaps);
            }
        }
        for (perhaps, used) in perhaps.iter_mut().zip(&used) {
            *perhaps += used;
        }
        for &stall in stalls {
            spread(stall.range, &begins, &mut stopped);
        }
        let periods: Vec<f64> = (begins.windows(2))
            .map(|pair| ((pair[1] - pair[0]) as f64 / period).round())
            .collect();
        let rates: Vec<f64> = (used.iter().zip(&periods))
            .map(|(used, periods)| *used as f64 / periods)
            .collect();
        // Periods in which nobody goes on are those in which all pay for what one has overdrawn.
        let is_held = |(first, last): &(usize, usize)| {
            let steps = *first..*last;
            let missing = periods[steps.clone()].iter().sum::<f64>() - steps.len() as f64;
            stopped[steps].iter().sum::<u64>() as f64 * 2.0 >= missing * period
        };
        let parts = held_parts(&rates, &periods).into_iter().filter(is_held);
        for (first, last) in parts.flat_map(|part| levels_of_steps(&rates, &periods, part)) {
            let quota = slope(&periods[first..last], &used[first..last]);
            let most = slope(&periods[first..last], &perhaps[first..last]);
            let begin =
                |place: usize| Timestamp::from_ns(begins[place]).clamp(window.begin, window.end);
            let periods = (first..last).map(|step| {
                let length = begin(step + 1).since(begin(step)).get() as f64;
                (length / period).ceil().min(periods[step])
            });
            let periods: f64 = periods.sum();
            let range = TimeRange::new(begin(first), begin(last));
            let stood_still = stalls.iter().map(|stall| stall.range.intersect(range));
            let stood_still: Nanoseconds = stood_still.map(TimeRange::length).sum();
            if stood_still == Nanoseconds::ZERO {
                continue;
            }
            regimes.push(Regime {
                period: Nanoseconds(period.round() as u64),
                quota: Nanoseconds(quota as u64),
                most: Nanoseconds(most.max(quota) as u64),
                range,
                periods: periods as usize,
                stood_still,
                counted: None,
            });
        }
    }
    joined(regimes)
}

/// Regimes that follow each other with about the same quota are one.
fn joined(regimes: Vec<Regime>) -> Vec<Regime> {
    let mut joined: Vec<Regime> = Vec::new();
    for regime in regimes {
        let (quota, period) = (regime.quota.get() as f64, regime.period.get());
        match joined.last_mut() {
            Some(last)
                if (last.quota.get() as f64 / quota - 1.0).abs() < 0.15
                    && regime.range.begin.since(last.range.end).get() < 4 * period =>
            {
                let periods = last.periods + regime.periods;
                let mean = |one: Nanoseconds, other: Nanoseconds| {
                    let of_one = one.get() as f64 * last.periods as f64;
                    let of_other = other.get() as f64 * regime.periods as f64;
                    Nanoseconds(((of_one + of_other) / periods as f64) as u64)
                };
                let means = (mean(last.quota, regime.quota), mean(last.most, regime.most));
                (last.quota, last.most) = means;
                last.periods = periods;
                last.stood_still += regime.stood_still;
                last.range.end = regime.range.end;
            }
            _ => joined.push(regime),
        }
    }
    joined
}

/// Begins of periods that follow each other: the first thread to go on in each. A period in which no
/// thread went on is part of the one before (one who overdrew pays for several); many end the row.
fn rows_of_periods(ends: &[i64], period: f64) -> Vec<Vec<i64>> {
    let mut rows: Vec<Vec<i64>> = Vec::new();
    for &end in ends {
        let Some(row) = rows.last_mut() else {
            rows.push(vec![end]);
            continue;
        };
        let since = row.last().map_or(0.0, |begin| (end - begin) as f64) / period;
        if since < 0.6 {
            continue;
        }
        let times = since.round();
        match times <= 10.0 && (since - times).abs() < 0.3 {
            true => row.push(end),
            false => rows.push(vec![end]),
        }
    }
    rows.retain(|row| row.len() > LEAST_PERIODS);
    rows
}

/// Parts of a row in which its threads were held back, as first and last step. Before and after it,
/// and in long steps, ends that fit by chance give themselves away: the threads use many times more.
fn held_parts(rates: &[f64], periods: &[f64]) -> Vec<(usize, usize)> {
    let mut sorted = rates.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    let Some(&median) = sorted.get(sorted.len() / 2) else {
        return Vec::new();
    };
    let is_free = |step: usize| rates[step] > 4.0 * median;
    let ends_row = |step: usize| periods[step] > 3.0 && rates[step] > 2.0 * median;
    let mut parts = Vec::new();
    let mut first = 0;
    for step in 0..=rates.len() {
        if step < rates.len() && !ends_row(step) {
            continue;
        }
        let mut last = step;
        while first < last && is_free(first) {
            first += 1;
        }
        while first < last && is_free(last - 1) {
            last -= 1;
        }
        if last - first >= LEAST_PERIODS {
            parts.push((first, last));
        }
        first = step + 1;
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: i64 = 1_000_000;

    #[test]
    fn what_is_used_freely_is_no_part_of_a_row() {
        let rates = [30.0, 1.0, 0.8, 4.5, 0.9, 1.1, 1.0, 0.2, 40.0, 9.0];
        let steps = [1.0, 1.0, 4.0, 1.0, 1.0, 1.0, 5.0, 1.0, 6.0, 1.0];
        assert_eq!(held_parts(&rates, &steps), [(1, 8)]);
        assert_eq!(held_parts(&[], &[]), []);
    }

    #[test]
    fn periods_follow_each_other_or_end() {
        let ends = [0, 3, 100, 104, 190, 203, 410, 508, 1900, 2000].map(|end| end * MS);
        let rows = rows_of_periods(&ends, 100e6);
        let rows: Vec<Vec<i64>> = (rows.iter())
            .map(|row| row.iter().map(|at| at / MS).collect())
            .collect();
        assert_eq!(rows, [[0, 100, 190, 410, 508]]);
    }
}
