//! When threads began to exit: their last system call, from which none returns. The kernel wakes who waits
//! for the end of a thread after that; what a thread wakes before, it wakes by its own doing.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use slowpath_concepts::{Concepts, Fact, FactKind};
use slowpath_engine::{Analysis, Cancelled, Chunk, Options, Outcome};
use slowpath_model::{Event, ThreadId, Timestamp};
use slowpath_source::Source;

use crate::contexts::Contexts;

/// When each thread began to exit, in the order of time; an id may be given anew.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Exits(BTreeMap<ThreadId, Vec<Timestamp>>);

impl Exits {
    /// Whether the thread began to exit between these times.
    pub fn has_begun(&self, thread: ThreadId, from: Timestamp, until: Timestamp) -> bool {
        let times = self.0.get(&thread).map_or(&[][..], Vec::as_slice);
        let first = times.partition_point(|at| *at < from);
        times.get(first).is_some_and(|at| *at <= until)
    }
}

/// Finds when threads began to exit; those of which events do not say whose they are are left out.
///
/// # Errors
///
/// Where it was cancelled.
pub fn exits(source: &dyn Source, options: &Options<'_>) -> Result<Outcome<Exits>, Cancelled> {
    let concepts = Concepts::resolve(source.schema(), &[FactKind::SyscallEntry]);
    let mut projection = concepts.projection().clone();
    let find = Find {
        contexts: Contexts::of_wanted(source.schema(), &mut projection),
        is_exit: (concepts.syscall_names().iter())
            .map(|name| matches!(name.as_str(), "exit" | "exit_group"))
            .collect(),
        concepts: &concepts,
    };
    let mut outcome = slowpath_engine::run(source, &projection, &find, options)?;
    let all = outcome
        .state
        .iter_mut()
        .flat_map(|exits| exits.0.values_mut());
    all.for_each(|times| times.sort_unstable());
    Ok(outcome)
}

struct Find<'run> {
    concepts: &'run Concepts,
    contexts: Contexts,
    /// By the position of the system call's name.
    is_exit: Vec<bool>,
}

impl Analysis for Find<'_> {
    type State = Exits;

    fn begin(&self, _chunk: &Chunk) -> Exits {
        Exits::default()
    }

    fn event(&self, state: &mut Exits, event: &Event<'_>) {
        if let Some(Fact::SyscallEntry(entry)) = self.concepts.fact(event)
            && self.is_exit.get(entry.call.index()) == Some(&true)
            && let Some(thread) = entry.thread.or_else(|| self.contexts.thread(event))
        {
            state.0.entry(thread).or_default().push(event.at);
        }
    }

    fn merge(&self, earlier: &mut Exits, later: Exits) {
        for (thread, times) in later.0 {
            earlier.0.entry(thread).or_default().extend(times);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::num::NonZeroUsize;

    use slowpath_drawn::DrawnTrace;

    use super::*;

    #[test]
    fn exits_are_of_the_threads_that_call_them() {
        let drawing = "cpu0 10 syscall_entry_exit @tid=7
            cpu0 20 syscall_entry_futex op=0 @tid=8
            cpu1 25 syscall_entry_exit_group @tid=9
            cpu0 40 syscall_entry_exit @tid=7";
        let trace = DrawnTrace::parse(drawing).unwrap();
        for (jobs, chunk_bytes) in [(1, None), (2, Some(1)), (8, Some(1))] {
            let options = Options {
                jobs: NonZeroUsize::new(jobs).unwrap(),
                chunk_bytes,
                ..Options::default()
            };
            let found = exits(&trace, &options).unwrap().state.unwrap();
            let began = |thread, from, until| {
                let [from, until] = [from, until].map(Timestamp::from_ns);
                found.has_begun(ThreadId(thread), from, until)
            };
            assert!(began(7, 0, 10) && began(7, 11, 40) && began(9, 25, 25));
            assert!(!began(7, 11, 39) && !began(7, 41, 90) && !began(8, 0, 90));
        }
    }
}
