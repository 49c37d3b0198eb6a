//! Requests of one operation by how long they took: what the slow ones spend their time on.
//!
//! Bands lie between percentiles (nearest rank, docs/reference/definitions.md), so that each request
//! is in exactly one, and sums over bands add up to all.

use std::hash::Hash;

use rustc_hash::FxHashMap;
use slowpath_model::Nanoseconds;

use crate::summary::{States, Summary};

/// The percentiles between which bands lie, in thousandths.
const BOUNDS: [u64; 5] = [0, 500, 900, 990, 1000];

/// Requests of one operation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Operation<Name> {
    /// Which.
    pub name: Name,
    /// How many requests.
    pub count: u64,
    /// The duration that half of them do not exceed.
    pub p50: Nanoseconds,
    /// The duration that 90 of 100 do not exceed.
    pub p90: Nanoseconds,
    /// The duration that 99 of 100 do not exceed.
    pub p99: Nanoseconds,
    /// The longest.
    pub longest: Nanoseconds,
    /// From the fastest to the slowest; bands without requests are left out.
    pub bands: Vec<Band>,
}

/// The requests between two percentiles of their operation's durations.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Band {
    /// The lower percentile, exclusive, and the upper one, inclusive, in thousandths.
    pub permille: (u64, u64),
    /// How many requests.
    pub count: u64,
    /// Their shortest and longest durations.
    pub durations: (Nanoseconds, Nanoseconds),
    /// What all of them together spent their time on.
    pub states: States,
    /// What their own threads did; see [`Summary::own`].
    pub own: States,
}

/// Groups requests by name; the operation with the most time in all comes first, then by name.
pub fn operations<'all, Name: Ord + Hash>(
    requests: impl IntoIterator<Item = (Name, &'all Summary<'all>)>,
) -> Vec<Operation<Name>> {
    let mut groups: FxHashMap<Name, Vec<(Nanoseconds, &Summary<'_>)>> = FxHashMap::default();
    for (name, summary) in requests {
        let row = (summary.states.total(), summary);
        groups.entry(name).or_default().push(row);
    }
    let mut operations: Vec<(Nanoseconds, Operation<Name>)> = (groups.into_iter())
        .map(|(name, mut rows)| {
            rows.sort_by_key(|(duration, _)| *duration);
            let total = rows.iter().map(|(duration, _)| *duration).sum();
            (total, operation(name, &rows))
        })
        .collect();
    operations.sort_by(|(total, one), (other_total, other)| {
        (other_total, &one.name).cmp(&(total, &other.name))
    });
    let sorted = operations.into_iter();
    sorted.map(|(_, operation)| operation).collect()
}

/// `rows` are in the order of their durations, at least one.
fn operation<Name>(name: Name, rows: &[(Nanoseconds, &Summary<'_>)]) -> Operation<Name> {
    let percentile = |permille| {
        let number = rank(rows.len(), permille).max(1);
        rows[number - 1].0
    };
    let bands = BOUNDS.windows(2).filter_map(|pair| {
        let within = &rows[rank(rows.len(), pair[0])..rank(rows.len(), pair[1])];
        let (first, last) = (within.first()?, within.last()?);
        let mut band = Band {
            permille: (pair[0], pair[1]),
            count: within.len() as u64,
            durations: (first.0, last.0),
            states: States::default(),
            own: States::default(),
        };
        for (_, summary) in within {
            band.states.add_all(&summary.states);
            band.own.add_all(&summary.own);
        }
        Some(band)
    });
    Operation {
        count: rows.len() as u64,
        p50: percentile(500),
        p90: percentile(900),
        p99: percentile(990),
        longest: percentile(1000),
        bands: bands.collect(),
        name,
    }
}

/// The nearest rank of a percentile among so many values, from 1; 0 for the zeroth.
fn rank(count: usize, permille: u64) -> usize {
    (count as u64 * permille).div_ceil(1000) as usize
}

#[cfg(test)]
mod tests {
    use slowpath_critical_path::State;

    use super::*;

    /// A request that ran for so many nanoseconds.
    fn ran(length: u64) -> Summary<'static> {
        let mut summary = Summary::default();
        summary.states.add(State::Running, Nanoseconds(length));
        summary
    }

    #[test]
    fn every_request_is_in_one_band() {
        let summaries: Vec<_> = (1..=200).map(ran).collect();
        let operations = operations(summaries.iter().map(|summary| ("GET /", summary)));
        let [operation] = operations.as_slice() else {
            panic!("{operations:?}");
        };
        let percentiles = [
            operation.p50,
            operation.p90,
            operation.p99,
            operation.longest,
        ];
        assert_eq!(percentiles.map(Nanoseconds::get), [100, 180, 198, 200]);
        let shown: Vec<_> = (operation.bands.iter())
            .map(|band| (band.count, band.durations.0.get(), band.durations.1.get()))
            .collect();
        let expected = [(100, 1, 100), (80, 101, 180), (18, 181, 198), (2, 199, 200)];
        assert_eq!(shown, expected);
        let sum: u64 = (operation.bands.iter())
            .map(|band| band.states.of(State::Running).get())
            .sum();
        assert_eq!(sum, 200 * 201 / 2);
    }

    #[test]
    fn few_requests_have_few_bands_and_the_most_time_comes_first() {
        let (short, long) = (ran(3), ran(50));
        let operations = operations([("a", &short), ("a", &short), ("b", &long)]);
        let shown: Vec<_> = (operations.iter())
            .map(|operation| (operation.name, operation.count, operation.bands.len()))
            .collect();
        assert_eq!(shown, [("b", 1, 1), ("a", 2, 2)]);
    }
}
