//! How busy processors were over a time, in equal parts of it.

use serde::Serialize;
use slowpath_history::{History, Interval};
use slowpath_model::HostId;
use slowpath_session::UNKNOWN_THREAD;
use utoipa::ToSchema;

use crate::{Rows, Track};

/// The share of time in which processors were busy.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
pub struct Usage {
    /// Each processor.
    pub cpus: Vec<CpuUsage>,
    /// Of all processors together, of the time for which it is known what each did; null where of none.
    pub total: Vec<Option<f64>>,
    /// The same of all parts together; null where nothing is known.
    #[schema(required)]
    pub mean: Option<f64>,
}

/// A processor over time.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
pub struct CpuUsage {
    /// Its host.
    pub host: HostId,
    /// Its number.
    pub cpu: u32,
    /// By part of the time, from 0 to 1, of what is known of it; null where nothing is.
    pub values: Vec<Option<f64>>,
    /// The same of all parts together; null where nothing is known.
    #[schema(required)]
    pub mean: Option<f64>,
}

/// For how long it was busy, and how long that is known, by part of the time.
struct Spent {
    busy: Vec<f64>,
    known: Vec<f64>,
}

/// How busy the processors were between two offsets, cut into so many parts: exact, from the history's
/// intervals.
pub fn usage(history: &History, rows: &Rows, (begin, end): (i64, i64), buckets: usize) -> Usage {
    let mut all = Spent {
        busy: vec![0.0; buckets],
        known: vec![0.0; buckets],
    };
    let mut cpus = Vec::new();
    for (row, running, recorded) in rows.cpu_attributes() {
        let range = rows.origin(Track::Cpus, row.row).range(begin, end);
        let width = range.length().get() as f64 / buckets.max(1) as f64;
        let mut of_cpu = Spent {
            busy: vec![0.0; buckets],
            known: vec![0.0; buckets],
        };
        let add = |run: Interval, density: f64, buckets: &mut [f64]| {
            let within = run.range.intersect(range);
            let begin = within.begin.since(range.begin).get() as f64;
            spread(
                (begin, within.length().get() as f64),
                density,
                width,
                buckets,
            );
        };
        for time in history.intervals(recorded, range) {
            add(time, 1.0, &mut of_cpu.known);
        }
        for run in history.intervals(running, range) {
            match run.value.0 {
                UNKNOWN_THREAD => add(run, -1.0, &mut of_cpu.known),
                _ => add(run, 1.0, &mut of_cpu.busy),
            }
        }
        for (sum, time) in all.busy.iter_mut().zip(&of_cpu.busy) {
            *sum += time;
        }
        for (sum, time) in all.known.iter_mut().zip(&of_cpu.known) {
            *sum += time;
        }
        cpus.push(CpuUsage {
            host: row.host,
            cpu: row.cpu,
            values: of_cpu.shares(),
            mean: of_cpu.mean(),
        });
    }
    Usage {
        total: all.shares(),
        mean: all.mean(),
        cpus,
    }
}

impl Spent {
    fn shares(&self) -> Vec<Option<f64>> {
        let parts = self.busy.iter().zip(&self.known);
        parts.map(|(busy, known)| share(*busy, *known)).collect()
    }

    fn mean(&self) -> Option<f64> {
        share(self.busy.iter().sum(), self.known.iter().sum())
    }
}

fn share(busy: f64, known: f64) -> Option<f64> {
    // Less than a nanosecond is what was rounded away.
    (known >= 1.0).then(|| rounded(busy / known))
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
    fn a_share_is_of_what_is_known() {
        let spent = Spent {
            busy: vec![5.0, 2.0, 0.0],
            known: vec![10.0, 4.0, 0.0],
        };
        assert_eq!(spent.shares(), [Some(0.5), Some(0.5), None]);
        // Not the mean of the shares: more is known of some parts than of others.
        let uneven = Spent {
            busy: vec![10.0, 0.0, 0.0],
            known: vec![10.0, 30.0, 0.0],
        };
        assert_eq!(uneven.mean(), Some(0.25));
        assert_eq!(share(0.0, 0.0), None);
    }

    #[test]
    fn a_time_is_spread_over_the_buckets_that_it_touches() {
        let mut buckets = [0.0; 4];
        spread((5.0, 20.0), 1.0, 10.0, &mut buckets);
        assert_eq!(buckets, [5.0, 10.0, 5.0, 0.0]);
        spread((39.0, 50.0), 3.0, 10.0, &mut buckets);
        assert_eq!(buckets[3], 3.0);
    }
}
