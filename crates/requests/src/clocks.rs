//! Do the clocks of several hosts agree? Told by packets that went both ways between them, else by the
//! distributed traces that both took part in.
//!
//! What the one did for a trace lies within what the other did, or the other way round; that leaves
//! only some offsets between their clocks possible. Packets leave fewer. Nothing is corrected here.

use rustc_hash::FxHashMap;
use slowpath_kernel::network::ClockRelation;
use slowpath_model::{Diagnostic, DiagnosticCode, Place, TimeRange, TraceId};

use crate::requests::Requests;

/// How far one host's clock is ahead of another's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClockOffset {
    /// Positions of the two hosts in the list that was asked about.
    pub hosts: (usize, usize),
    /// The first host's clock is ahead of the second's by at least and by at most so many
    /// nanoseconds; negative where it is behind.
    pub ahead_ns: (i64, i64),
    /// Who says so.
    pub told_by: ToldBy,
}

/// What tells how clocks relate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ToldBy {
    /// So many distributed traces.
    Traces(u64),
    /// So many packets, which went both ways.
    Packets(u64),
}

impl ClockOffset {
    /// What packets tell, at the middle of their time; `None` where they went one way only.
    pub fn by_packets(relation: &ClockRelation) -> Option<Self> {
        let alignment = relation.alignment;
        let offset = alignment.offset_ns;
        let uncertainty = i64::try_from(alignment.uncertainty?.get()).unwrap_or(i64::MAX);
        let (first, second) = relation.hosts;
        Some(Self {
            hosts: (first.index(), second.index()),
            ahead_ns: (
                offset.saturating_sub(uncertainty),
                offset.saturating_add(uncertainty),
            ),
            told_by: ToldBy::Packets(alignment.packets as u64),
        })
    }

    /// Whether the clocks may agree, to a millisecond.
    pub fn may_agree(&self) -> bool {
        const TOLERANCE_NS: i64 = 1_000_000;
        self.ahead_ns.0 <= TOLERANCE_NS && self.ahead_ns.1 >= -TOLERANCE_NS
    }

    /// The middle of what is possible.
    pub fn middle_ns(&self) -> i64 {
        ((i128::from(self.ahead_ns.0) + i128::from(self.ahead_ns.1)) / 2) as i64
    }

    /// What to say where they do not agree; `names` are the two hosts'.
    pub fn diagnostic(&self, names: (&str, &str)) -> Diagnostic {
        let (ahead, behind) = match self.middle_ns() >= 0 {
            true => names,
            false => (names.1, names.0),
        };
        let seconds = self.middle_ns().unsigned_abs() as f64 / 1e9;
        let within = self.ahead_ns.0.abs_diff(self.ahead_ns.1).div_ceil(2) as f64 / 1e6;
        let place = Place {
            file: format!("hosts {} and {}", names.0, names.1),
            ..Place::default()
        };
        let (count, who) = match self.told_by {
            ToldBy::Traces(count) => (count, "distributed traces on both"),
            ToldBy::Packets(count) => (count, "packets between them"),
        };
        let message = format!(
            "the clock of {ahead} is {seconds:.6} s ahead of that of {behind} (to {within:.3} ms), \
             as {count} {who} show"
        );
        Diagnostic {
            count: Some(count),
            ..Diagnostic::new(DiagnosticCode::HostClocksApart, place, message)
        }
    }
}

/// The offsets between the clocks of every two hosts that share distributed traces.
pub fn clock_offsets(hosts: &[&Requests]) -> Vec<ClockOffset> {
    let mut hulls: Vec<FxHashMap<TraceId, TimeRange>> = Vec::new();
    for requests in hosts {
        let mut of_host: FxHashMap<TraceId, TimeRange> = FxHashMap::default();
        let requests = requests.all().iter();
        for request in requests.filter(|request| request.duration().is_some()) {
            let hull = of_host.entry(request.key.trace).or_insert(request.window);
            *hull = hull.hull(request.window);
        }
        hulls.push(of_host);
    }
    let mut offsets = Vec::new();
    for (first, of_first) in hulls.iter().enumerate() {
        for (second, of_second) in hulls.iter().enumerate().skip(first + 1) {
            let both = (of_first.iter())
                .filter_map(|(trace, own)| Some((*own, *of_second.get(trace)?)))
                .collect::<Vec<_>>();
            offsets.extend(offset(&both).map(|ahead_ns| ClockOffset {
                hosts: (first, second),
                ahead_ns,
                told_by: ToldBy::Traces(both.len() as u64),
            }));
        }
    }
    offsets
}

/// The least and the most that the first clock can be ahead of the second.
fn offset(both: &[(TimeRange, TimeRange)]) -> Option<(i64, i64)> {
    let difference = |one: i64, other: i64| one.saturating_sub(other);
    let mut least = Vec::new();
    let mut most = Vec::new();
    for (own, other) in both {
        let begins = difference(own.begin.ns(), other.begin.ns());
        let ends = difference(own.end.ns(), other.end.ns());
        least.push(begins.min(ends));
        most.push(begins.max(ends));
    }
    let (lower, upper) = (*least.iter().max()?, *most.iter().min()?);
    if lower <= upper {
        return Some((lower, upper));
    }
    // The clocks drift, or a trace has parts that do not enclose each other: what most say.
    let middle = |values: &mut Vec<i64>| {
        values.sort_unstable();
        values[values.len() / 2]
    };
    Some((middle(&mut least), middle(&mut most)))
}
