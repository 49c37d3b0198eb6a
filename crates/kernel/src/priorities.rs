//! The priority of each thread, as last seen when it was switched to or from.
//!
//! One value per thread: a priority that changes while the trace lasts is told as it was last. What a
//! better priority did to others is not decided here.

use std::collections::BTreeMap;
use std::fmt;

use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};
use slowpath_concepts::{Concepts, Fact, FactKind};
use slowpath_engine::{Analysis, Cancelled, Chunk, Options, Outcome};
use slowpath_model::{Event, Projection, ThreadId, TimeRange, Timestamp};
use slowpath_source::Source;

use crate::answer::{Answer, answer};

/// A priority in the kernel's numbering: the lower runs first. Below 0: deadline; to 99: real-time; from
/// 100: nice -20 to 19.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Priority(pub i32);

impl Priority {
    /// Whether it is that of SCHED_DEADLINE: before all others, but in each period for no more than its runtime.
    pub fn is_deadline(self) -> bool {
        self.0 < 0
    }
}

impl fmt::Display for Priority {
    /// As `chrt` and `nice` number it, for instance `real-time priority 50` or `nice 5`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            ..0 => f.write_str("deadline"),
            0..100 => write!(f, "real-time priority {}", 99 - self.0),
            100.. => write!(f, "nice {}", self.0 - 120),
        }
    }
}

/// The priorities of threads; none of those that were never switched to or from.
pub type Priorities = BTreeMap<ThreadId, Priority>;

/// Finds the priorities of all threads.
///
/// # Errors
///
/// Where it was cancelled.
pub fn priorities(
    source: &dyn Source,
    options: &Options<'_>,
) -> Result<Outcome<Priorities>, Cancelled> {
    answer(source, &Find::new(source), options)
}

struct Find {
    concepts: Concepts,
}

/// When a thread's priority was last seen, and what it was.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct Told(FxHashMap<i32, (Timestamp, i32)>);

impl Find {
    fn new(source: &dyn Source) -> Self {
        Self {
            concepts: Concepts::resolve(source.schema(), &[FactKind::SwitchPriorities]),
        }
    }
}

impl Answer for Find {
    type Report = Priorities;

    fn projection(&self) -> &Projection {
        self.concepts.projection()
    }

    fn range(&self) -> TimeRange {
        TimeRange::ALL
    }

    fn report(&self, told: Told) -> Priorities {
        let threads = told.0.into_iter();
        threads
            .map(|(thread, (_, priority))| (ThreadId(thread), Priority(priority)))
            .collect()
    }
}

impl Analysis for Find {
    type State = Told;

    fn begin(&self, _chunk: &Chunk) -> Told {
        Told::default()
    }

    fn event(&self, told: &mut Told, event: &Event<'_>) {
        let Some(Fact::SwitchPriorities { prev, next }) = self.concepts.fact(event) else {
            return;
        };
        for (thread, priority) in [prev, next] {
            told.see(thread.0, (event.at, priority));
        }
    }

    fn merge(&self, earlier: &mut Told, later: Told) {
        for (thread, seen) in later.0 {
            earlier.see(thread, seen);
        }
    }
}

impl Told {
    fn see(&mut self, thread: i32, seen: (Timestamp, i32)) {
        let known = self.0.entry(thread).or_insert(seen);
        *known = seen.max(*known);
    }
}

#[cfg(test)]
mod tests {
    use slowpath_drawn::DrawnTrace;

    use super::*;
    use crate::answer::every_way;

    fn check(drawing: &str, expected: &[&str]) {
        let trace = DrawnTrace::parse(drawing).unwrap();
        let found = every_way::ask(&trace, Find::new);
        let words = |(thread, priority): (&ThreadId, &Priority)| format!("{thread}: {priority}");
        assert_eq!(found.iter().map(words).collect::<Vec<_>>(), expected);
    }

    #[test]
    fn both_tracers_number_alike_and_the_last_value_counts() {
        let ftrace = "cpu0 10 sched_switch prev_pid=7 prev_prio=120 next_pid=8 next_prio=49
            cpu1 15 sched_switch prev_pid=0 prev_prio=120 next_pid=7 next_prio=125
            cpu0 20 sched_switch prev_pid=8 prev_prio=49 next_pid=9 next_prio=-1";
        let expected = [
            "0: nice 0",
            "7: nice 5",
            "8: real-time priority 50",
            "9: deadline",
        ];
        check(ftrace, &expected);
        let lttng = "cpu0 10 sched_switch prev_tid=7 prev_prio=20 next_tid=8 next_prio=-51
            cpu1 15 sched_switch prev_tid=0 prev_prio=20 next_tid=7 next_prio=25
            cpu0 20 sched_switch prev_tid=8 prev_prio=-51 next_tid=9 next_prio=-101";
        check(lttng, &expected);
        check("cpu0 10 sched_switch prev_tid=7 next_tid=8", &[]);
    }
}
