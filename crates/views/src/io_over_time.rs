//! Bytes read and written over a time, in equal parts of it, by host and medium.

use serde::Serialize;
use slowpath_kernel::io::{Bytes, Medium, MovedOverTime};
use slowpath_model::HostId;
use utoipa::ToSchema;

use crate::Clocks;
use crate::usage::spread;

/// Bytes per second over a time.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
pub struct IoRates {
    /// How finely the recording's bytes are known, nanoseconds: shorter stretches look even.
    pub finest_ns: u64,
    /// By host and medium, those of which anything was moved in the whole recording.
    pub rates: Vec<MediumRates>,
}

/// What one host moved from and to one medium.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
pub struct MediumRates {
    /// The host.
    pub host: HostId,
    /// What was read and written.
    pub medium: Medium,
    /// Bytes read per second, by part of the time.
    pub read: Vec<f64>,
    /// Bytes written per second.
    pub written: Vec<f64>,
}

/// Bytes per second between two offsets, cut into so many parts. What was moved in one of the parts in
/// which it is known is spread over it evenly.
pub fn io_rates(
    moved: &[(HostId, MovedOverTime)],
    clocks: &Clocks,
    (begin, end): (i64, i64),
    buckets: usize,
) -> IoRates {
    let width = (end as f64 - begin as f64) / buckets.max(1) as f64;
    let mut rates = Vec::new();
    for (host, moved) in moved {
        let origin = clocks.of_host(*host);
        for (place, medium) in Medium::ALL.into_iter().enumerate() {
            if moved
                .parts()
                .all(|(_, part)| part[place] == Bytes::default())
            {
                continue;
            }
            let mut sums = [vec![0.0; buckets], vec![0.0; buckets]];
            for (range, part) in moved.parts() {
                let from = origin.offset(range.begin) as f64 - begin as f64;
                let length = range.length().get() as f64;
                let Bytes { read, written } = part[place];
                for (bytes, sums) in [read, written].into_iter().zip(&mut sums) {
                    // From where it lies in the time on.
                    let cut = (-from).clamp(0.0, length);
                    if bytes > 0 {
                        spread(
                            (from + cut, length - cut),
                            bytes as f64 / length,
                            width,
                            sums,
                        );
                    }
                }
            }
            let per_second = |sums: Vec<f64>| {
                let rate = |bytes: f64| (bytes / width * 1e9).round();
                sums.into_iter().map(rate).collect()
            };
            let [read, written] = sums.map(per_second);
            rates.push(MediumRates {
                host: *host,
                medium,
                read,
                written,
            });
        }
    }
    IoRates {
        finest_ns: moved
            .iter()
            .map(|(_, moved)| moved.part_ns())
            .max()
            .unwrap_or(1),
        rates,
    }
}
