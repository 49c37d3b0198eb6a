//! Bytes read and written over a time, in equal parts of it, by host and medium.

use serde::Serialize;
use slowpath_kernel::io::{Bytes, Medium, MovedOverTime};
use slowpath_model::{HostId, TimeRange};
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
    /// Bytes read per second, by part of the time; null where the host was not recorded.
    pub read: Vec<Option<f64>>,
    /// Bytes written per second, or null.
    pub written: Vec<Option<f64>>,
}

/// What one host moved, and when its kernel was recorded: from its first event to its last.
pub struct HostMoved {
    /// The host.
    pub host: HostId,
    /// By its own clock.
    pub recorded: TimeRange,
    /// What it moved.
    pub moved: MovedOverTime,
}

/// Bytes per second between two offsets, cut into so many parts. What was moved in one of the parts in
/// which it is known is spread over it evenly.
pub fn io_rates(
    hosts: &[HostMoved],
    clocks: &Clocks,
    (begin, end): (i64, i64),
    buckets: usize,
) -> IoRates {
    let width = (end as f64 - begin as f64) / buckets.max(1) as f64;
    let mut rates = Vec::new();
    for HostMoved {
        host,
        recorded,
        moved,
    } in hosts
    {
        let origin = clocks.of_host(*host);
        let [first, last] = [recorded.begin, recorded.end]
            .map(|at| (origin.offset(at) as f64 - begin as f64) / width);
        // Its last event is in the part that it begins.
        let is_recorded = |part: usize| first < (part + 1) as f64 && part as f64 <= last;
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
                let parts = sums.into_iter().enumerate();
                parts
                    .map(|(part, bytes)| is_recorded(part).then(|| rate(bytes)))
                    .collect()
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
        finest_ns: hosts.iter().map(|of| of.moved.part_ns()).max().unwrap_or(1),
        rates,
    }
}

#[cfg(test)]
mod tests {
    use slowpath_drawn::DrawnTrace;
    use slowpath_engine::Options;
    use slowpath_kernel::io::{Known, io};
    use slowpath_model::Timestamp;

    use super::*;

    #[test]
    fn nothing_is_known_of_a_host_that_was_not_recorded_then() {
        let trace = "cpu0 1000 syscall_entry_write fd=3 @tid=7
             cpu0 1200 syscall_exit_write ret=500 @tid=7
             cpu0 2000 syscall_entry_write fd=3 @tid=7
             cpu0 2999 syscall_exit_write ret=-9 @tid=7";
        let trace = DrawnTrace::parse(trace).unwrap();
        let outcome = io(&trace, &Known::default(), &Options::default()).unwrap();
        let report = outcome.state.unwrap();
        let at = Timestamp::from_ns;
        let host = HostMoved {
            host: HostId(0),
            recorded: TimeRange::new(at(report.begin_ns), at(report.end_ns)),
            moved: report.over_time,
        };
        // Offsets are from 500 ns on.
        let told = io_rates(&[host], &Clocks::one(at(500)), (-500, 4500), 5);
        assert_eq!(told.rates.len(), 1);
        let a_byte_each = 1e9 / 1000.0;
        let expected = [None, Some(500.0 * a_byte_each), Some(0.0), None, None];
        assert_eq!(told.rates[0].written, expected);
        assert_eq!(told.rates[0].read, [None, Some(0.0), Some(0.0), None, None]);
    }
}
