//! Why one configuration is slower than another, from the critical paths of the workload's threads in both.
//!
//! Time is told apart by what a thread did itself and by what it waited for: in which system call, for whom, and what
//! that one did meanwhile. Threads of one name are one group. Pure computation on paths; who has the recordings hands
//! the paths in.

use std::collections::{BTreeMap, BTreeSet};

use slowpath_critical_path::{CriticalPath, LinkKind, State};
use slowpath_model::Nanoseconds;

/// What time went to.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Cause {
    /// The thread's own state; in which system call, or what about, where that says more.
    Own(State, String),
    /// It waited for another thread, which was in this state.
    Waiting {
        /// The system call in which it waited; empty where unknown.
        call: String,
        /// Whom the wait led to, numbers left out.
        thread: String,
        /// What that one did.
        state: State,
    },
}

/// The time of a group of threads.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Account {
    /// How many threads.
    pub threads: u64,
    /// What their time went to.
    pub by: BTreeMap<Cause, Nanoseconds>,
}

/// The times of all groups of threads of one recording, and how much work they did.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Accounts {
    /// By name of thread, numbers left out.
    pub groups: BTreeMap<String, Account>,
    /// Units of work, where the specification says how they are counted.
    pub work: Option<f64>,
}

impl Account {
    /// Adds a thread's path.
    pub fn add(&mut self, path: &CriticalPath) {
        self.threads += 1;
        let mut waits = path
            .links
            .iter()
            .filter(|link| link.kind == LinkKind::Wait && link.from == path.thread)
            .peekable();
        let mut call = String::new();
        for segment in path.segments.iter() {
            while let Some(wait) = waits.next_if(|wait| wait.at <= segment.range.begin) {
                call = wait.call.as_deref().unwrap_or_default().to_owned();
            }
            let cause = match segment.depth {
                0 => {
                    let about = segment.call.as_deref().filter(|_| is_wait(segment.state));
                    Cause::Own(segment.state, about.unwrap_or_default().to_owned())
                }
                _ => Cause::Waiting {
                    call: call.clone(),
                    thread: without_numbers(&segment.comm),
                    state: segment.state,
                },
            };
            *self.by.entry(cause).or_default() += segment.range.length();
        }
    }

    fn total(&self) -> f64 {
        self.by.values().map(|time| time.get() as f64).sum()
    }
}

/// A cause and how much of its time changed.
struct Change<'run> {
    cause: &'run Cause,
    from: f64,
    to: f64,
}

impl Accounts {
    /// Adds a thread's path to the group of its name.
    pub fn add(&mut self, name: &str, path: &CriticalPath) {
        self.groups
            .entry(without_numbers(name))
            .or_default()
            .add(path);
    }

    /// What makes `slow` slower than this one, in sentences; `names` are what the two are called, the faster one first.
    /// Of at most two groups of threads: those whose time differs most.
    pub fn reasons(&self, slow: &Self, (fast_name, slow_name): (&str, &str)) -> Vec<String> {
        let none = Account::default();
        let names: BTreeSet<&String> = self.groups.keys().chain(slow.groups.keys()).collect();
        let mut told: Vec<(f64, String)> = names
            .into_iter()
            .filter_map(|name| {
                let one = self.groups.get(name).unwrap_or(&none);
                let other = slow.groups.get(name).unwrap_or(&none);
                // A group that only one of the two has cannot be compared.
                (one.threads > 0 && other.threads > 0).then(|| {
                    let units = (self.unit(one), slow.unit(other));
                    sentence(
                        name,
                        (one, other),
                        units,
                        (fast_name, slow_name),
                        self.work.is_some() && slow.work.is_some(),
                    )
                })
            })
            .collect();
        told.sort_by(|one, two| two.0.total_cmp(&one.0));
        told.truncate(2);
        told.into_iter().map(|(_, words)| words).collect()
    }

    fn unit(&self, account: &Account) -> f64 {
        self.work
            .filter(|work| *work > 0.0)
            .unwrap_or(account.threads as f64)
    }
}

/// What differs in one group, and by how many nanoseconds for each unit.
fn sentence(
    name: &str,
    (one, other): (&Account, &Account),
    (one_units, other_units): (f64, f64),
    (fast_name, slow_name): (&str, &str),
    has_work: bool,
) -> (f64, String) {
    let (from, to) = (one.total() / one_units, other.total() / other_units);
    let causes: BTreeSet<&Cause> = one.by.keys().chain(other.by.keys()).collect();
    let part = |account: &Account, cause, units: f64| {
        account.by.get(cause).map_or(0.0, |time| time.get() as f64) / units
    };
    let changes = causes.into_iter().map(|cause| Change {
        cause,
        from: part(one, cause, one_units),
        to: part(other, cause, other_units),
    });
    let mut changes: Vec<Change<'_>> = changes.collect();
    let added = to - from;
    let unit = if has_work {
        "for each unit of work"
    } else {
        "each"
    };
    // Where they take as long (a workload of fixed length), what they did with the time is what differs.
    if added.abs() < 0.05 * from.max(to) {
        changes.iter_mut().for_each(|change| {
            change.from /= from;
            change.to /= to;
        });
        changes.sort_by(|one, two| (two.to - two.from).total_cmp(&(one.to - one.from)));
        let percent = |share: f64| format!("{:.0} %", share * 100.0);
        let told = changes
            .iter()
            .take_while(|change| change.to - change.from >= 0.03)
            .take(3);
        let told = told.map(|change| {
            format!(
                "{} instead of {} {}",
                percent(change.to),
                percent(change.from),
                words(change.cause)
            )
        });
        let told: Vec<String> = told.collect();
        let said = match told.is_empty() {
            true => "spent their time alike".to_owned(),
            false => format!("spent more of their time: {}", told.join("; ")),
        };
        let weight = changes
            .iter()
            .map(|change| (change.to - change.from).abs())
            .sum::<f64>()
            * from;
        return (
            weight,
            format!("with {slow_name} instead of {fast_name}, threads `{name}` {said}"),
        );
    }
    changes.sort_by(|one, two| {
        let size = |change: &Change<'_>| (change.to - change.from) * added.signum();
        size(two).total_cmp(&size(one))
    });
    let told = changes
        .iter()
        .take_while(|change| (change.to - change.from) / added >= 0.05)
        .take(3);
    let told = told.map(|change| {
        let (length, share) = (
            time(change.to - change.from),
            (change.to - change.from) / added * 100.0,
        );
        format!("{length} ({share:.0} %) {}", words(change.cause))
    });
    let direction = if added > 0.0 { "more" } else { "less" };
    let text = format!(
        "with {slow_name} instead of {fast_name}, threads `{name}` took {} instead of {} {unit}; of the {} {direction}: {}",
        time(to),
        time(from),
        time(added),
        told.collect::<Vec<_>>().join("; ")
    );
    (added.abs() * other_units, text)
}

fn time(ns: f64) -> String {
    Nanoseconds(ns.abs().round() as u64).to_string()
}

fn words(cause: &Cause) -> String {
    let in_call = |call: &str| {
        if call.is_empty() {
            String::new()
        } else {
            format!(" in {call}")
        }
    };
    match cause {
        Cause::Own(state, call) => format!(
            "{}{} ({})",
            state_words(*state),
            in_call(call),
            state.name()
        ),
        Cause::Waiting {
            call,
            thread,
            state,
        } => {
            let thread = if thread.is_empty() {
                "another thread".to_owned()
            } else {
                format!("`{thread}`")
            };
            format!(
                "waiting{} for {thread}, which was {} ({})",
                in_call(call),
                state_words(*state),
                state.name()
            )
        }
    }
}

fn is_wait(state: State) -> bool {
    matches!(
        state,
        State::Blocked
            | State::BlockDevice
            | State::Network
            | State::Timer
            | State::UserInput
            | State::Ipi
    )
}

fn state_words(state: State) -> &'static str {
    match state {
        State::Running => "running",
        State::Preempted => "preempted",
        State::WaitCpu => "waiting for a processor",
        State::Interrupted => "interrupted",
        State::Blocked => "blocked",
        State::Timer => "waiting for a time to come",
        State::BlockDevice => "waiting for a disk",
        State::Network => "waiting for the network",
        State::UserInput => "waiting for somebody at a terminal",
        State::Ipi => "waiting for another processor",
        State::BlockedByRequest => "working for another request",
        State::Unknown => "in an unknown state",
    }
}

/// A name with its numbers left out: `worker-12` and `worker-7` are `worker-*`.
fn without_numbers(name: &str) -> String {
    let mut short = String::with_capacity(name.len());
    for letter in name.chars() {
        match letter.is_ascii_digit() {
            true if short.ends_with('*') => {}
            true => short.push('*'),
            false => short.push(letter),
        }
    }
    short
}

#[cfg(test)]
mod tests {
    use super::*;

    fn accounts(threads: u64, by: &[(Cause, u64)], work: Option<f64>) -> Accounts {
        let by = by
            .iter()
            .map(|(cause, ms)| (cause.clone(), Nanoseconds(ms * 1_000_000)));
        let account = Account {
            threads,
            by: by.collect(),
        };
        Accounts {
            groups: [("query".to_owned(), account)].into(),
            work,
        }
    }

    fn waiting() -> Cause {
        Cause::Waiting {
            call: "futex".to_owned(),
            thread: "query".to_owned(),
            state: State::Running,
        }
    }

    fn running() -> Cause {
        Cause::Own(State::Running, String::new())
    }

    #[test]
    fn the_added_time_is_told_by_what_it_went_to() {
        let fast = accounts(2, &[(running(), 200)], None);
        let slow = accounts(4, &[(running(), 440), (waiting(), 800)], None);
        let reasons = fast.reasons(&slow, ("threads=2", "threads=4"));
        assert_eq!(
            reasons,
            [
                "with threads=4 instead of threads=2, threads `query` took 310.000 ms instead of 100.000 ms each; of the \
              210.000 ms more: 200.000 ms (95 %) waiting in futex for `query`, which was running (RUNNING)"
            ]
        );
    }

    #[test]
    fn time_is_told_for_each_unit_of_work_where_that_is_counted() {
        let fast = accounts(1, &[(running(), 100)], Some(100.0));
        let slow = accounts(2, &[(running(), 100), (waiting(), 100)], Some(50.0));
        let reasons = fast.reasons(&slow, ("a", "b"));
        assert!(
            reasons[0].contains("took 4.000 ms instead of 1.000 ms for each unit of work"),
            "{reasons:?}"
        );
        assert!(
            reasons[0].contains("2.000 ms (67 %) waiting"),
            "{reasons:?}"
        );
    }

    #[test]
    fn work_of_fixed_length_is_told_in_shares() {
        let fast = accounts(1, &[(running(), 900), (waiting(), 100)], None);
        let slow = accounts(1, &[(running(), 300), (waiting(), 700)], None);
        let reasons = fast.reasons(&slow, ("a", "b"));
        assert!(reasons[0].ends_with("threads `query` spent more of their time: 70 % instead of 10 % waiting in futex for `query`, which was running (RUNNING)"), "{reasons:?}");
    }
}
