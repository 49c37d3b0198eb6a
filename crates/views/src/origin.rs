//! Times as offsets from the begin of a recording: small numbers, exact in every language.
//!
//! Several hosts have clocks of their own. Where the packets between them tell how these relate, all
//! offsets are by the first host's clock, so that one picture shows them at once; where nothing tells,
//! clocks are taken as they are.

use slowpath_kernel::network::Network;
use slowpath_model::{HostId, TimeRange, Timestamp};

/// How times of a host become offsets from the begin of the recording.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Origin {
    /// A time of the host's clock, and what offset that is.
    anchor: Timestamp,
    offset: i64,
    /// How much faster the first host's clock runs, in nanoseconds per nanosecond.
    drift: f64,
}

impl Origin {
    /// Offsets from `begin`, by the clock that it is of.
    pub fn at_begin(begin: Timestamp) -> Self {
        Self {
            anchor: begin,
            offset: 0,
            drift: 0.0,
        }
    }

    /// Nanoseconds from the begin to `at`; negative before it.
    pub fn offset(self, at: Timestamp) -> i64 {
        let since = at.ns().saturating_sub(self.anchor.ns());
        let drift = (since as f64 * self.drift).round() as i64;
        self.offset.saturating_add(since).saturating_add(drift)
    }

    /// The time, by the host's clock, so many nanoseconds after the begin.
    pub fn at(self, offset: i64) -> Timestamp {
        let since = offset.saturating_sub(self.offset);
        let drift = (since as f64 * (self.drift / (1.0 + self.drift))).round() as i64;
        let since = since.saturating_sub(drift);
        Timestamp::from_ns(self.anchor.ns().saturating_add(since))
    }

    /// The range between two offsets; empty where the end is not after the begin.
    pub fn range(self, begin: i64, end: i64) -> TimeRange {
        TimeRange::new(self.at(begin), self.at(end))
    }
}

/// The origins of all hosts.
#[derive(Clone, Debug, PartialEq)]
pub struct Clocks {
    begin: Timestamp,
    hosts: Vec<Origin>,
}

impl Clocks {
    /// One clock for all, whose recording begins at `begin`.
    pub fn one(begin: Timestamp) -> Self {
        Self {
            begin,
            hosts: Vec::new(),
        }
    }

    /// Reads the clocks of hosts that were recorded in `ranges` as the first one's, where `network` tells
    /// how; and the range of all of them by it.
    pub fn of(network: &Network, ranges: &[Option<TimeRange>]) -> (Self, TimeRange) {
        let first = HostId(0);
        let by_first = |host: HostId, range: TimeRange| {
            let read = |at| network.translate(at, host, first).unwrap_or(at);
            TimeRange::new(read(range.begin), read(range.end))
        };
        let known = (0..).map(HostId).zip(ranges);
        let shown: Vec<Option<TimeRange>> = known
            .map(|(host, range)| range.map(|range| by_first(host, range)))
            .collect();
        let all = shown.iter().copied().flatten().reduce(TimeRange::hull);
        let nothing = TimeRange::new(Timestamp::from_ns(0), Timestamp::from_ns(0));
        let all = all.unwrap_or(nothing);
        let origins = ranges.iter().zip(&shown).map(|(own, shown)| {
            let (Some(own), Some(shown)) = (own, shown) else {
                return Origin::at_begin(all.begin);
            };
            let (own_length, length) = (own.length().get() as f64, shown.length().get() as f64);
            Origin {
                anchor: own.begin,
                offset: shown.begin.ns().saturating_sub(all.begin.ns()),
                drift: match own_length > 0.0 {
                    true => (length - own_length) / own_length,
                    false => 0.0,
                },
            }
        });
        let clocks = Self {
            begin: all.begin,
            hosts: origins.collect(),
        };
        (clocks, all)
    }

    /// How times of a host become offsets.
    pub fn of_host(&self, host: HostId) -> Origin {
        let known = self.hosts.get(host.index()).copied();
        known.unwrap_or(Origin::at_begin(self.begin))
    }

    /// The begin of the recording, by the first host's clock.
    pub fn begin(&self) -> Timestamp {
        self.begin
    }

    /// The time by the first host's clock, so many nanoseconds after the begin.
    pub fn shown(&self, offset: i64) -> Timestamp {
        Origin::at_begin(self.begin).at(offset)
    }

    /// The offset of a time by the first host's clock.
    pub fn offset(&self, shown: Timestamp) -> i64 {
        Origin::at_begin(self.begin).offset(shown)
    }
}

/// The origins of traces, by their position in the experiment.
#[derive(Clone, Debug, PartialEq)]
pub struct TraceClocks {
    origins: Vec<Origin>,
    hosts: Vec<Option<HostId>>,
}

impl TraceClocks {
    /// Those of the traces' hosts; what no host is known of goes by the first one's clock.
    pub fn of(clocks: &Clocks, hosts: &[Option<usize>]) -> Self {
        let of_trace = |host: &Option<usize>| match host {
            Some(host) => clocks.of_host(HostId(*host as u32)),
            None => Origin::at_begin(clocks.begin),
        };
        Self {
            origins: hosts.iter().map(of_trace).collect(),
            hosts: (hosts.iter())
                .map(|host| host.map(|host| HostId(host as u32)))
                .collect(),
        }
    }

    /// The host of a trace, where it is known.
    pub(crate) fn host_of_trace(&self, trace: usize) -> Option<HostId> {
        self.hosts.get(trace).copied().flatten()
    }

    /// Times of a trace between two offsets, and some nanoseconds more: where clocks drift, an offset is that
    /// of several times.
    pub(crate) fn about(&self, trace: usize, begin: Option<i64>, end: Option<i64>) -> TimeRange {
        const MARGIN: i64 = 2;
        let origin = self.of_trace(trace);
        let begin = begin.map(|begin| origin.at(begin.saturating_sub(MARGIN)));
        let end = end.map(|end| origin.at(end.saturating_add(MARGIN)));
        TimeRange::new(
            begin.unwrap_or(Timestamp::MIN),
            end.unwrap_or(Timestamp::MAX),
        )
    }

    /// How times of a trace become offsets.
    ///
    /// # Panics
    /// Where there is no such trace.
    pub fn of_trace(&self, trace: usize) -> Origin {
        self.origins[trace]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_offset_leads_back_to_its_time() {
        let origin = Origin {
            anchor: Timestamp::from_ns(1_795_000_000_000_000_000),
            offset: 250,
            drift: 2e-5,
        };
        for since in [0, 1, 999, 1_000_000, 3_600_000_000_000_i64] {
            let at = Timestamp::from_ns(origin.anchor.ns() + since);
            let back = origin.at(origin.offset(at));
            assert!(back.ns().abs_diff(at.ns()) <= 1, "{since}");
        }
        let plain = Origin::at_begin(Timestamp::from_ns(7));
        assert_eq!(
            plain.at(plain.offset(Timestamp::from_ns(100))),
            Timestamp::from_ns(100)
        );
    }
}
