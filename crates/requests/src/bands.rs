//! Requests of one operation by how long they took: what the slow ones spend their time on.
//!
//! A request's percentile is its rank from the fastest, as a share of all; bands lie between percentiles
//! (docs/reference/definitions.md), so that each request is in exactly one, and sums over bands add up
//! to all. Requests of which the trace does not show how long they took have no rank, and are counted only.

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
    /// How many requests whose durations are known.
    pub count: u64,
    /// How many others.
    pub in_part: u64,
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

/// The requests of an operation.
#[derive(Default)]
struct Group {
    /// In the order of their durations, in the end.
    rows: Vec<(Nanoseconds, u32)>,
    in_part: u64,
}

/// Requests by operation and band, to which what they spent their time on is added one by one.
#[derive(Debug)]
pub struct Operations<Name> {
    all: Vec<Operation<Name>>,
    /// By request: its operation and its band there; `None` where its duration is not known.
    of_requests: Vec<Option<(u32, u32)>>,
    left_out: Vec<(Name, u64)>,
}

impl<Name: Clone + Ord + Hash> Operations<Name> {
    /// Groups requests by name and [duration](crate::Request::duration); the operation with the most time
    /// in all comes first, then by name.
    pub fn of(requests: impl IntoIterator<Item = (Name, Option<Nanoseconds>)>) -> Self {
        let mut groups: FxHashMap<Name, Group> = FxHashMap::default();
        let mut count = 0;
        for ((name, duration), request) in requests.into_iter().zip(0..) {
            let group = groups.entry(name).or_default();
            match duration {
                Some(duration) => group.rows.push((duration, request)),
                None => group.in_part += 1,
            }
            count += 1;
        }
        let left_out = groups.iter().filter(|(_, group)| group.in_part > 0);
        let mut left_out: Vec<(Name, u64)> = left_out
            .map(|(name, group)| (name.clone(), group.in_part))
            .collect();
        left_out.sort_unstable_by(|(one, count), (other, other_count)| {
            (other_count, one).cmp(&(count, other))
        });
        let mut groups: Vec<(Nanoseconds, Name, Group)> = (groups.into_iter())
            .filter(|(_, group)| !group.rows.is_empty())
            .map(|(name, mut group)| {
                group.rows.sort_by_key(|(duration, _)| *duration);
                let total = group.rows.iter().map(|(duration, _)| *duration).sum();
                (total, name, group)
            })
            .collect();
        groups.sort_by(|(total, one, _), (other_total, other, _)| {
            (other_total, one).cmp(&(total, other))
        });
        let mut operations = Self {
            all: Vec::with_capacity(groups.len()),
            of_requests: vec![None; count],
            left_out,
        };
        for (_, name, group) in groups {
            operations.push(name, &group);
        }
        operations
    }

    fn push(&mut self, name: Name, Group { rows, in_part }: &Group) {
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
                let place = (self.all.len() as u32, bands.len() as u32);
                self.of_requests[*request as usize] = Some(place);
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
            in_part: *in_part,
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
        let Some((operation, band)) = self.of_requests[request] else {
            return;
        };
        let band = &mut self.all[operation as usize].bands[band as usize];
        band.states.add_all(&summary.states);
        band.own.add_all(&summary.own);
    }

    /// All operations that have a request whose duration is known.
    pub fn all(&self) -> &[Operation<Name>] {
        &self.all
    }

    /// How many requests of each operation are left out as their durations are not known, the most first; also of
    /// operations without any other.
    pub fn left_out(&self) -> &[(Name, u64)] {
        &self.left_out
    }

    /// How many requests are left out, of all operations.
    pub fn in_part(&self) -> u64 {
        self.left_out.iter().map(|(_, count)| count).sum()
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
        let durations = durations.map(|(name, summary)| (*name, Some(summary.states.total())));
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
    fn who_is_shown_in_part_has_no_rank() {
        let known = |length| Some(Nanoseconds(length));
        let mut operations =
            Operations::of([("a", known(3)), ("a", None), ("b", None), ("a", known(5))]);
        for (position, length) in [(0, 3), (1, 1000), (2, 2000), (3, 5)] {
            operations.add(position, &ran(length));
        }
        assert_eq!(operations.in_part(), 2);
        assert_eq!(operations.left_out(), [("a", 1), ("b", 1)]);
        let [operation] = operations.all() else {
            panic!("{operations:?}");
        };
        assert_eq!(
            (operation.name, operation.count, operation.in_part),
            ("a", 2, 1)
        );
        assert_eq!(operation.longest, Nanoseconds(5));
        let ran = operation.bands.iter().map(|band| band.states.total().get());
        assert_eq!(ran.sum::<u64>(), 8);
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
