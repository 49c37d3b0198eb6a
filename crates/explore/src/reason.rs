//! Why one configuration is slower than another, from the critical paths of the workload's threads in both.
//!
//! Time is told apart by what a thread did itself and by what it waited for: in which system call, for whom, and what
//! that one did meanwhile. Threads of one name are one group. Pure computation on paths; who has the recordings hands
//! the paths in.

use std::collections::{BTreeMap, BTreeSet};

use slowpath_critical_path::{CriticalPath, LinkKind, State, without_numbers};
use slowpath_model::Nanoseconds;

/// A share of the time that is not worth a word.
const ALIKE: f64 = 0.05;

/// How the names of threads end that LTTng-UST starts in a program which has events or probes.
const TRACER: &str = "-ust";

/// So many causes are told of a group.
const MOST_CAUSES: usize = 3;

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
    /// The path of the workload's first thread: what the workload as a whole took.
    pub whole: Account,
    /// Its other threads by name, numbers left out.
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

    /// All of it in seconds.
    pub fn seconds(&self) -> f64 {
        self.total() / 1e9
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

impl Change<'_> {
    fn added(&self) -> f64 {
        self.to - self.from
    }
}

impl Accounts {
    /// Adds a thread's path to the group of its name. What LTTng-UST runs in a program (`NAME-ust`) is none of its threads.
    pub fn add(&mut self, name: &str, path: &CriticalPath) {
        if name.ends_with(TRACER) {
            return;
        }
        self.groups
            .entry(without_numbers(name))
            .or_default()
            .add(path);
    }

    /// What makes `slow` slower than this one, in sentences; `names` are what the two are called, the faster one first.
    /// Of the workload as a whole, and of the group of threads that loses most. Nothing of what takes no longer and
    /// spends its time alike.
    pub fn reasons(&self, slow: &Self, (fast_name, slow_name): (&str, &str)) -> Vec<String> {
        let has_work = self.work.is_some() && slow.work.is_some();
        let unit = |alone| {
            if has_work {
                " for each unit of work"
            } else {
                alone
            }
        };
        let of = |who: &str, one: &Account, other: &Account, alone| {
            let (weight, words) = loss(
                (one, self.unit(one)),
                (other, slow.unit(other)),
                unit(alone),
            )?;
            Some((
                weight,
                format!("with {slow_name} instead of {fast_name}, {who} {words}"),
            ))
        };
        let whole = of("the workload", &self.whole, &slow.whole, "");
        // A group that only one of the two has cannot be compared.
        let both = self
            .groups
            .iter()
            .filter_map(|(name, one)| Some((name, one, slow.groups.get(name)?)));
        let groups = both
            .filter_map(|(name, one, other)| of(&format!("threads `{name}`"), one, other, " each"));
        let most = groups.max_by(|one, two| one.0.total_cmp(&two.0));
        whole
            .into_iter()
            .chain(most)
            .map(|(_, words)| words)
            .collect()
    }

    fn unit(&self, account: &Account) -> f64 {
        self.work
            .filter(|work| *work > 0.0)
            .unwrap_or(account.threads as f64)
    }
}

/// What the other account of a group loses against the one, and how much in all; both with their units.
fn loss(
    (one, one_units): (&Account, f64),
    (other, other_units): (&Account, f64),
    unit: &str,
) -> Option<(f64, String)> {
    if one.threads == 0 || other.threads == 0 {
        return None;
    }
    let (from, to) = (one.total() / one_units, other.total() / other_units);
    let added = to - from;
    // Where they take as long (a workload of fixed length), what they did with the time is what differs.
    let is_alike = added.abs() < ALIKE * from.max(to);
    if added < 0.0 && !is_alike {
        return None;
    }
    let (one_scale, other_scale) = match is_alike {
        true => (one.total(), other.total()),
        false => (one_units, other_units),
    };
    let causes: BTreeSet<&Cause> = one.by.keys().chain(other.by.keys()).collect();
    let part = |account: &Account, cause| {
        account
            .by
            .get(cause)
            .map_or(0.0, |time: &Nanoseconds| time.get() as f64)
    };
    let changes = causes.into_iter().map(|cause| Change {
        cause,
        from: part(one, cause) / one_scale,
        to: part(other, cause) / other_scale,
    });
    let least = if is_alike { ALIKE } else { ALIKE * added };
    let (mut changes, mut fewer): (Vec<Change<'_>>, Vec<Change<'_>>) = changes
        .filter(|change| change.added().abs() >= least)
        .partition(|change| change.added() > 0.0);
    changes.sort_by(|one, two| two.added().total_cmp(&one.added()));
    fewer.sort_by(|one, two| one.added().total_cmp(&two.added()));
    let all: f64 = changes.iter().map(Change::added).sum();
    changes.truncate(MOST_CAUSES);
    if changes.is_empty() {
        return None;
    }
    if is_alike {
        let percent = |share: f64| format!("{:.0} %", share * 100.0);
        let told = changes.iter().map(|change| {
            format!(
                "{} instead of {} {}",
                percent(change.to),
                percent(change.from),
                words(change.cause)
            )
        });
        let told: Vec<String> = told.collect();
        return Some((
            all * from * other_units,
            format!("spent more of their time: {}", told.join("; ")),
        ));
    }
    let told = |changes: &[Change<'_>]| {
        let each = changes
            .iter()
            .map(|change| format!("{} {}", time(change.added()), words(change.cause)));
        each.collect::<Vec<_>>().join("; ")
    };
    // Else parts would be more than the whole, and nobody could see why.
    let all_told: f64 = changes.iter().map(Change::added).sum();
    fewer.truncate(MOST_CAUSES);
    let less = match all_told > added * (1.0 + ALIKE) && !fewer.is_empty() {
        true => format!(". Less than before went to: {}", told(&fewer)),
        false => String::new(),
    };
    let took = format!(
        "took {} instead of {}{unit}, {} more",
        time(to),
        time(from),
        time(added)
    );
    Some((
        added * other_units,
        format!("{took}. More than before went to: {}{less}", told(&changes)),
    ))
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
            whole: Account::default(),
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
                "with threads=4 instead of threads=2, threads `query` took 310.000 ms instead of 100.000 ms each, \
                 210.000 ms more. More than before went to: 200.000 ms waiting in futex for `query`, which was running \
                 (RUNNING)"
            ]
        );
    }

    #[test]
    fn what_became_less_is_told_where_parts_are_more_than_the_whole() {
        let fast = accounts(1, &[(running(), 600), (waiting(), 100)], None);
        let slow = accounts(1, &[(running(), 150), (waiting(), 800)], None);
        let reasons = fast.reasons(&slow, ("a", "b"));
        assert!(
            reasons[0].ends_with(
                "250.000 ms more. More than before went to: 700.000 ms waiting in futex for `query`, which was running \
                 (RUNNING). Less than before went to: 450.000 ms running (RUNNING)"
            ),
            "{reasons:?}"
        );
    }

    #[test]
    fn threads_of_the_tracer_are_none_of_the_workload() {
        let path = CriticalPath {
            host: slowpath_model::HostId(0),
            thread: slowpath_model::ThreadId(7),
            window: slowpath_model::TimeRange::ALL,
            segments: Default::default(),
            links: Default::default(),
            corrections: Vec::new(),
        };
        let mut accounts = Accounts::default();
        accounts.add("server-ust", &path);
        accounts.add("query-1", &path);
        let names: Vec<&String> = accounts.groups.keys().collect();
        assert_eq!(names, ["query-*"]);
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
            reasons[0].contains("went to: 2.000 ms waiting in futex"),
            "{reasons:?}"
        );
        assert!(
            slow.reasons(&fast, ("b", "a")).is_empty(),
            "nothing is lost the other way"
        );
    }

    #[test]
    fn the_workload_as_a_whole_comes_first() {
        let whole = |ms: u64| Account {
            threads: 1,
            by: [(waiting(), Nanoseconds(ms * 1_000_000))].into(),
        };
        let one = Accounts {
            whole: whole(100),
            ..accounts(8, &[(running(), 400)], Some(10.0))
        };
        let two = Accounts {
            whole: whole(300),
            ..accounts(1, &[(running(), 300)], Some(10.0))
        };
        let reasons = one.reasons(&two, ("n=8", "n=1"));
        assert_eq!(
            reasons,
            [
                "with n=1 instead of n=8, the workload took 30.000 ms instead of 10.000 ms for each unit of work, 20.000 ms \
                 more. More than before went to: 20.000 ms waiting in futex for `query`, which was running (RUNNING)"
            ]
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
