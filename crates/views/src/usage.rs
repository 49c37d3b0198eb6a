//! How busy processors were over a time, in equal parts of it.

use serde::Serialize;
use slowpath_history::History;
use slowpath_model::HostId;
use utoipa::ToSchema;

use crate::{Rows, Track};

/// The share of time in which processors were busy.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
pub struct Usage {
    /// Each processor.
    pub cpus: Vec<CpuUsage>,
    /// The mean of all processors.
    pub total: Vec<f64>,
}

/// A processor over time.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
pub struct CpuUsage {
    /// Its host.
    pub host: HostId,
    /// Its number.
    pub cpu: u32,
    /// By part of the time, from 0 to 1.
    pub values: Vec<f64>,
}

/// How busy the processors were between two offsets, cut into so many parts: exact, from the history's
/// intervals.
pub fn usage(history: &History, rows: &Rows, (begin, end): (i64, i64), buckets: usize) -> Usage {
    let cpus: Vec<CpuUsage> = (rows.cpu_attributes())
        .map(|(row, attribute)| {
            let range = rows.origin(Track::Cpus, row.row).range(begin, end);
            let width = range.length().get() as f64 / buckets.max(1) as f64;
            let mut busy = vec![0.0; buckets];
            let runs = history.intervals(attribute, range);
            for run in runs.filter(|run| run.value.0 > 0) {
                let within = run.range.intersect(range);
                let begin = within.begin.since(range.begin).get() as f64;
                spread((begin, within.length().get() as f64), 1.0, width, &mut busy);
            }
            CpuUsage {
                host: row.host,
                cpu: row.cpu,
                values: busy.into_iter().map(|busy| rounded(busy / width)).collect(),
            }
        })
        .collect();
    let mean = |bucket: usize| {
        let sum: f64 = cpus.iter().map(|cpu| cpu.values[bucket]).sum();
        rounded(sum / cpus.len().max(1) as f64)
    };
    Usage {
        total: (0..buckets).map(mean).collect(),
        cpus,
    }
}

/// Adds to buckets what a stretch has of each: `density` for each unit of its length. It begins in the
/// first bucket or later.
pub(crate) fn spread((begin, length): (f64, f64), density: f64, width: f64, buckets: &mut [f64]) {
    let (mut at, end) = (begin, begin + length);
    let mut bucket = (begin / width) as usize;
    while at < end && bucket < buckets.len() {
        let until = end.min((bucket + 1) as f64 * width);
        buckets[bucket] += (until - at).max(0.0) * density;
        at = until;
        bucket += 1;
    }
}

fn rounded(share: f64) -> f64 {
    (share.clamp(0.0, 1.0) * 1e4).round() / 1e4
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_is_spread_over_the_buckets_that_it_touches() {
        let mut buckets = [0.0; 4];
        spread((5.0, 20.0), 1.0, 10.0, &mut buckets);
        assert_eq!(buckets, [5.0, 10.0, 5.0, 0.0]);
        spread((39.0, 50.0), 3.0, 10.0, &mut buckets);
        assert_eq!(buckets[3], 3.0);
    }
}
