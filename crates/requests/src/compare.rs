//! What makes the requests of one group take longer than those of another.
//!
//! After Doray & Dagenais (*Diagnosing performance variations by comparing multi-level execution
//! traces*, 2017): the critical paths of both groups are broken down by the same categories, and the
//! categories by which they differ are told, the largest difference first. Means of a group add up to
//! its mean duration, so the differences add up to the difference of the means.

use std::collections::BTreeMap;

use slowpath_critical_path::{State, without_numbers};
use slowpath_model::Nanoseconds;

use crate::path::RequestPath;

/// What time is broken down by.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Category {
    /// The state.
    pub state: State,
    /// The name of the thread whose state it was, where the request waited for it; empty for the
    /// threads that served the request. Numbers in it are left out: pools are one. With its host where
    /// the path lies on several.
    pub thread: String,
    /// What the state was about: a system call, a device, the operation that was served instead.
    pub resource: String,
}

/// Time of a group of requests by category.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Breakdown {
    requests: u64,
    total: Nanoseconds,
    by: BTreeMap<Category, Nanoseconds>,
}

/// A category in both groups.
#[derive(Clone, Debug, PartialEq)]
pub struct Difference {
    /// Which.
    pub category: Category,
    /// Mean time per request in the one group and in the other, in nanoseconds.
    pub means: (f64, f64),
    /// The share of this difference in the difference of the mean durations; negative where it goes
    /// the other way. 0 where the means are equal.
    pub share: f64,
}

impl Difference {
    /// How much longer the other group spends here, in nanoseconds per request.
    pub fn difference(&self) -> f64 {
        self.means.1 - self.means.0
    }
}

impl Breakdown {
    /// Adds a request.
    pub fn add(&mut self, path: &RequestPath) {
        self.requests += 1;
        for segment in path.path.segments.iter() {
            let length = segment.range.length();
            let category = Category {
                state: segment.state,
                thread: match segment.depth {
                    0 => String::new(),
                    _ => match &segment.host_name {
                        Some(host) => format!("{} on {host}", without_numbers(&segment.comm)),
                        None => without_numbers(&segment.comm),
                    },
                },
                resource: resource(segment.state, &segment.detail),
            };
            self.total += length;
            *self.by.entry(category).or_default() += length;
        }
    }

    /// How many requests.
    pub fn requests(&self) -> u64 {
        self.requests
    }

    /// Their mean duration in nanoseconds; 0 without a request.
    pub fn mean(&self) -> f64 {
        self.per_request(self.total)
    }

    fn per_request(&self, time: Nanoseconds) -> f64 {
        match self.requests {
            0 => 0.0,
            requests => time.get() as f64 / requests as f64,
        }
    }

    /// How `other` differs, category by category, the largest difference first.
    pub fn differences(&self, other: &Self) -> Vec<Difference> {
        let all = other.mean() - self.mean();
        let categories: std::collections::BTreeSet<&Category> =
            self.by.keys().chain(other.by.keys()).collect();
        let mut differences: Vec<Difference> = (categories.into_iter())
            .map(|category| {
                let mean = |group: &Self| {
                    let time = group.by.get(category).copied();
                    group.per_request(time.unwrap_or(Nanoseconds::ZERO))
                };
                let means = (mean(self), mean(other));
                Difference {
                    category: category.clone(),
                    means,
                    share: match all == 0.0 {
                        true => 0.0,
                        false => (means.1 - means.0) / all,
                    },
                }
            })
            .collect();
        differences.sort_by(|one, two| {
            let size = |difference: &Difference| difference.difference().abs();
            size(two).total_cmp(&size(one))
        });
        differences
    }
}

/// What a segment's words say about the resource: numbers of requests left out, so that they add up.
fn resource(state: State, detail: &str) -> String {
    match state {
        // `request 55cb4297 (GET /dispatch)`: the operation.
        State::BlockedByRequest => match (detail.find('('), detail.rfind(')')) {
            (Some(begin), Some(end)) if begin < end => detail[begin + 1..end].to_owned(),
            _ => String::new(),
        },
        // Which handler interrupted is no matter of the request's.
        State::Interrupted => String::new(),
        _ => detail.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use slowpath_critical_path::{Cause, CriticalPath, Links, Segment, Segments};
    use slowpath_model::{HostId, ThreadId, TimeRange, Timestamp};

    use super::*;

    /// A request whose path is in these states: name of the state's thread, state, length, detail.
    fn request(states: &[(&str, State, i64, &str)]) -> RequestPath {
        let mut at = 0;
        let segments = states.iter().map(|(comm, state, length, detail)| {
            at += length;
            let range = TimeRange::new(Timestamp::from_ns(at - length), Timestamp::from_ns(at));
            Segment {
                range,
                recorded: range,
                host: HostId(0),
                host_name: None,
                thread: ThreadId(1),
                comm: (*comm).into(),
                state: *state,
                depth: u32::from(!comm.is_empty()),
                call: None,
                cause: Cause::None,
                detail: (*detail).into(),
            }
        });
        let segments: Segments = segments.collect();
        RequestPath {
            blocked_by: vec![None; segments.len()],
            path: CriticalPath {
                host: HostId(0),
                thread: ThreadId(1),
                window: TimeRange::new(Timestamp::from_ns(0), Timestamp::from_ns(at)),
                segments,
                links: Links::default(),
                corrections: Vec::new(),
            },
        }
    }

    #[test]
    fn differences_add_up_and_the_largest_comes_first() {
        let (mut fast, mut slow) = (Breakdown::default(), Breakdown::default());
        fast.add(&request(&[("", State::Running, 10, "")]));
        fast.add(&request(&[
            ("", State::Running, 20, ""),
            ("", State::Timer, 4, ""),
        ]));
        slow.add(&request(&[
            ("", State::Running, 15, ""),
            ("worker-1", State::BlockDevice, 80, "irq 9"),
            ("worker-23", State::BlockDevice, 20, "irq 9"),
            ("", State::BlockedByRequest, 7, "request 1 (GET /a)"),
        ]));
        let differences = fast.differences(&slow);
        let told: Vec<(State, &str, &str, f64)> = (differences.iter())
            .map(|d| {
                let Category {
                    state,
                    thread,
                    resource,
                } = &d.category;
                (*state, thread.as_str(), resource.as_str(), d.difference())
            })
            .collect();
        assert_eq!(
            told,
            [
                (State::BlockDevice, "worker-*", "irq 9", 100.0),
                (State::BlockedByRequest, "", "GET /a", 7.0),
                (State::Timer, "", "", -2.0),
                (State::Running, "", "", 0.0),
            ]
        );
        let all: f64 = differences.iter().map(Difference::difference).sum();
        assert_eq!(all, slow.mean() - fast.mean());
        let shares: f64 = differences.iter().map(|d| d.share).sum();
        assert!((shares - 1.0).abs() < 1e-9);
    }

    #[test]
    fn nothing_differs_from_nothing() {
        let none = Breakdown::default();
        assert_eq!((none.mean(), none.differences(&none)), (0.0, Vec::new()));
    }
}
