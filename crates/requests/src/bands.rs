//! Requests of one operation by how long they took: what the slow ones spend their time on.
//!
//! A request's percentile is its rank from the fastest, as a share of all; bands lie between percentiles
//! (docs/reference/definitions.md), so that each request is in exactly one, and sums over bands add up
//! to all.

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

/// Requests by operation and band, to which what they spent their time on is added one by one.
#[derive(Debug)]
pub struct Operations<Name> {
    all: Vec<Operation<Name>>,
    /// By request: its operation and its band there.
    of_requests: Vec<(u32, u32)>,
}

impl<Name: Ord + Hash> Operations<Name> {
    /// Groups requests by name, of which the duration of each is known; the operation with the most time
    /// in all comes first, then by name.
    pub fn of(requests: impl IntoIterator<Item = (Name, Nanoseconds)>) -> Self {
        let mut groups: FxHashMap<Name, Vec<(Nanoseconds, u32)>> = FxHashMap::default();
        let mut count = 0;
        for ((name, duration), request) in requests.into_iter().zip(0..) {
            groups.entry(name).or_default().push((duration, request));
            count += 1;
        }
        let mut groups: Vec<(Nanoseconds, Name, Vec<_>)> = (groups.into_iter())
            .map(|(name, mut rows)| {
                rows.sort_by_key(|(duration, _)| *duration);
                let total = rows.iter().map(|(duration, _)| *duration).sum();
                (total, name, rows)
            })
            .collect();
        groups.sort_by(|(total, one, _), (other_total, other, _)| {
            (other_total, one).cmp(&(total, other))
        });
        let mut operations = Self {
            all: Vec::with_capacity(groups.len()),
            of_requests: vec![(0, 0); count],
        };
        for (_, name, rows) in groups {
            operations.push(name, &rows);
        }
        operations
    }

    /// `rows` are the requests in the order of their durations, at least one.
    fn push(&mut self, name: Name, rows: &[(Nanoseconds, u32)]) {
        let percentile = |permille: u64| {
            // Nearest rank, from 1.
            let number = (rows.len() as u64 * permille).div_ceil(1000) as usize;
            rows[number - 1].0
        };
        let mut bands = Vec::new();
        for pair in BOUNDS.windows(2) {
            let within = &rows[not_above(rows.len(), pair[0])..not_above(rows.len(), pair[1])];
            let (Some(first), Some(last)) = (within.first(), within.last()) else {
                continue;
            };
            for (_, request) in within {
                self.of_requests[*request as usize] = (self.all.len() as u32, bands.len() as u32);
            }
            bands.push(Band {
                permille: (pair[0], pair[1]),
                count: within.len() as u64,
                durations: (first.0, last.0),
                states: States::default(),
                own: States::default(),
            });
        }
        self.all.push(Operation {
            count: rows.len() as u64,
            p50: percentile(500),
            p90: percentile(900),
            p99: percentile(990),
            longest: percentile(1000),
            bands,
            name,
        });
    }

    /// Adds what a request spent its time on, by its position among those that were given.
    pub fn add(&mut self, request: usize, summary: &Summary<'_>) {
        let (operation, band) = self.of_requests[request];
        let band = &mut self.all[operation as usize].bands[band as usize];
        band.states.add_all(&summary.states);
        band.own.add_all(&summary.own);
    }

    /// All operations.
    pub fn all(&self) -> &[Operation<Name>] {
        &self.all
    }
}

/// How many of so many requests have a percentile that is not above this one.
fn not_above(count: usize, permille: u64) -> usize {
    (count as u64 * permille / 1000) as usize
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

    fn operations<'all>(requests: &[(&'all str, Summary<'static>)]) -> Operations<&'all str> {
        let durations = requests.iter();
        let durations = durations.map(|(name, summary)| (*name, summary.states.total()));
        let mut operations = Operations::of(durations);
        for (position, (_, summary)) in requests.iter().enumerate() {
            operations.add(position, summary);
        }
        operations
    }

    #[test]
    fn every_request_is_in_one_band() {
        let requests: Vec<_> = (1..=200).map(|length| ("GET /", ran(length))).collect();
        let operations = operations(&requests);
        let [operation] = operations.all() else {
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
        let operations = operations(&[("a", ran(3)), ("a", ran(3)), ("b", ran(50))]);
        let shown: Vec<_> = (operations.all().iter())
            .map(|operation| (operation.name, operation.count, operation.bands.len()))
            .collect();
        assert_eq!(shown, [("b", 1, 1), ("a", 2, 2)]);
    }

    #[test]
    fn the_slowest_tenth_of_a_few_more_is_rounded_up() {
        let requests: Vec<_> = (1..=272).map(|length| ("GET /", ran(length))).collect();
        let operations = operations(&requests);
        let counts = operations.all()[0].bands.iter().map(|band| band.count);
        assert_eq!(counts.collect::<Vec<_>>(), [136, 108, 25, 3]);
    }
}
