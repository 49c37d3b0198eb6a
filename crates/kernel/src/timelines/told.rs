//! When the traces of a host tell who ran: in the time of those that have switches.
//!
//! Of traces that are read as one, some may lack switches. What these say of who ran counts beside the switches of
//! another one. In time that no such trace covers it only tells that threads were there: what is kept of it has events
//! missing all the way.

use slowpath_model::{StreamId, TimeRange};

use super::gather::Piece;
use super::range;
use super::record::{Kind, Record};

/// From the first to the last event of each trace that has switches.
#[derive(Debug, Default)]
pub(super) struct SwitchesTold<'run> {
    /// The first stream of each trace.
    firsts: &'run [StreamId],
    /// By trace; none of those without switches.
    ranges: Vec<Option<(i64, i64)>>,
}

impl<'run> SwitchesTold<'run> {
    /// By these pieces of traces that begin with the streams `firsts`.
    pub(super) fn by(pieces: &[Piece], firsts: &'run [StreamId]) -> Self {
        let mut told = Self {
            firsts,
            ranges: vec![None; firsts.len().max(1)],
        };
        for piece in pieces.iter().filter(|piece| piece.has_switches) {
            let trace = told.trace_of(piece.stream);
            told.ranges[trace] = Some((i64::MAX, i64::MIN));
        }
        for piece in pieces {
            let trace = told.trace_of(piece.stream);
            if let (Some((begin, end)), Some(events)) = (&mut told.ranges[trace], piece.events) {
                *begin = events.begin.ns().min(*begin);
                *end = events.end.ns().max(*end);
            }
        }
        told
    }

    /// Whether any trace has switches, of some processor at least.
    pub(super) fn are_some(&self) -> bool {
        self.ranges.iter().any(Option::is_some)
    }

    /// When any trace has them, in order, apart.
    pub(super) fn times(&self) -> Vec<TimeRange> {
        let ranges = self.ranges.iter().flatten();
        TimeRange::union(ranges.map(|(begin, end)| range(*begin, *end)).collect())
    }

    /// What a record of a stream tells, given that some trace has switches.
    pub(super) fn read(
        &self,
        stream: StreamId,
    ) -> impl Fn(&[u64; 2]) -> [Option<Record>; 3] + Copy + use<'_> {
        let has_own = self.ranges[self.trace_of(stream)].is_some() || !self.are_some();
        move |row| {
            let record = Record::from_row(*row);
            let is_within = |(begin, end): &(i64, i64)| (*begin..=*end).contains(&record.at);
            if has_own || self.ranges.iter().flatten().any(is_within) {
                return [Some(record), None, None];
            }
            // That a thread was there tells nothing of the time before and behind it.
            let is_there = matches!(record.kind(), Kind::Runs(_));
            let lost = Some(Record::new(record.at, Kind::Lost));
            [lost, is_there.then_some(record), lost]
        }
    }

    fn trace_of(&self, stream: StreamId) -> usize {
        let after = self.firsts.partition_point(|first| *first <= stream);
        after.saturating_sub(1)
    }
}
