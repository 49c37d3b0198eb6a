//! Groups of requests: how long they took, and what makes one group slower than another.

use serde::Serialize;
use slowpath_critical_path::State;
use slowpath_model::Nanoseconds;
use slowpath_requests::{AllHosts, Breakdown};
use utoipa::ToSchema;

use crate::RequestNumbers;

/// How many requests took how long.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
pub struct Distribution {
    /// Where the classes begin and end: one more than there are counts, each the same factor longer.
    pub edges_ns: Vec<f64>,
    /// Requests by class.
    pub counts: Vec<u64>,
}

/// The requests' durations in so many classes of equal factor; empty where there is no request.
pub fn distribution(durations: &[Nanoseconds], classes: usize) -> Distribution {
    let bounds = durations.iter().min().zip(durations.iter().max());
    let Some((least, most)) = bounds.filter(|_| classes > 0) else {
        return Distribution {
            edges_ns: Vec::new(),
            counts: Vec::new(),
        };
    };
    let least = (least.get() as f64).max(1.0);
    let span = ((most.get() as f64 + 1.0) / least).max(1.0 + 1e-9);
    let edge = |number: usize| least * span.powf(number as f64 / classes as f64);
    let mut counts = vec![0; classes];
    for duration in durations {
        let place = (duration.get() as f64 / least).max(1.0).ln() / span.ln() * classes as f64;
        counts[(place as usize).min(classes - 1)] += 1;
    }
    Distribution {
        edges_ns: (0..=classes).map(|number| edge(number).round()).collect(),
        counts,
    }
}

/// Two groups of requests, compared.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
pub struct Comparison {
    /// The one group.
    pub one: GroupSize,
    /// The other.
    pub other: GroupSize,
    /// What makes the difference, the largest first.
    pub differences: Vec<Difference>,
}

/// A group.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
pub struct GroupSize {
    /// How many requests whose durations are known.
    pub count: u64,
    /// How many others, which are left out: their start or end is not recorded.
    pub in_part: u64,
    /// The mean duration.
    pub mean_ns: f64,
}

/// A difference between the groups.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
pub struct Difference {
    /// The state.
    #[schema(value_type = State)]
    pub state: &'static str,
    /// The thread that was waited for, numbers left out; empty for the request's own.
    pub comm: String,
    /// What the state was about.
    pub detail: String,
    /// Mean time per request in the one group.
    pub one_ns: f64,
    /// In the other.
    pub other_ns: f64,
    /// How much longer the other takes.
    pub difference_ns: f64,
}

/// What makes the requests `other` differ from `one`, nothing where either has none. Numbers that are no
/// request's are left out, and so are requests whose durations are not known.
pub fn compare(
    all: &AllHosts<'_>,
    numbers: &RequestNumbers,
    one: &[usize],
    other: &[usize],
) -> Comparison {
    let breakdown = |group: &[usize]| {
        let mut sum = Breakdown::default();
        let mut in_part = 0;
        for of in group.iter().filter_map(|&number| numbers.get(number)) {
            match all.get(of).duration() {
                Some(_) => sum.add(&all.path(of)),
                None => in_part += 1,
            }
        }
        let size = GroupSize {
            count: sum.requests(),
            in_part,
            mean_ns: sum.mean().round(),
        };
        (sum, size)
    };
    let ((one, size_of_one), (other, size_of_other)) = (breakdown(one), breakdown(other));
    let is_there = one.requests() > 0 && other.requests() > 0;
    let differences = is_there.then(|| one.differences(&other));
    let differences = differences.into_iter().flatten();
    Comparison {
        one: size_of_one,
        other: size_of_other,
        differences: differences
            .map(|difference| Difference {
                state: difference.category.state.name(),
                one_ns: difference.means.0.round(),
                other_ns: difference.means.1.round(),
                difference_ns: difference.difference().round(),
                comm: difference.category.thread,
                detail: difference.category.resource,
            })
            .collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_request_is_in_a_class() {
        let durations = [1, 11, 101, 1000, 1000].map(Nanoseconds);
        let found = distribution(&durations, 3);
        assert_eq!(found.counts, [1, 1, 3]);
        assert_eq!(found.edges_ns, [1.0, 10.0, 100.0, 1001.0]);
        assert!(distribution(&[], 3).counts.is_empty());
        assert_eq!(
            distribution(&[Nanoseconds(5); 4], 2)
                .counts
                .iter()
                .sum::<u64>(),
            4
        );
    }
}
