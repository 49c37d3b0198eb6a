//! Which threads tell when they take up a span and when they leave it: those with attach and detach events.
//!
//! Not every thread of such a process does: on Java's virtual threads, for one, nothing can be told of the threads below
//! them. And where spans are taken up on one thread and left on another, these events tell of something else than
//! threads: none of the process is believed then, and its spans move unseen (`unseen.rs`).

use std::collections::BTreeMap;

use rustc_hash::{FxHashMap, FxHashSet};
use slowpath_model::{ProcessId, ThreadId};

use crate::events::{SpanEvent, SpanEventKind};
use crate::request::{Request, SpanKey};
use crate::unseen::Moving;

/// The threads that tell.
#[derive(Debug, Default)]
pub(crate) struct Tellers {
    threads: FxHashSet<(Option<ProcessId>, Option<ThreadId>)>,
    /// The processes that are not believed.
    pub(crate) left_elsewhere: BTreeMap<ProcessId, Moving>,
}

impl Tellers {
    pub(crate) fn of(events: impl Iterator<Item = SpanEvent>) -> Self {
        let mut threads = FxHashSet::default();
        let mut all: BTreeMap<ProcessId, usize> = BTreeMap::new();
        let mut taken: FxHashMap<(ProcessId, SpanKey), Taken> = FxHashMap::default();
        for event in events {
            let change = match event.kind {
                SpanEventKind::Attach => 1,
                SpanEventKind::Detach => -1,
                SpanEventKind::Start | SpanEventKind::End => continue,
            };
            threads.insert((event.process(), event.thread()));
            let (Some(process), Some(thread)) = (event.process(), event.thread()) else {
                continue;
            };
            *all.entry(process).or_default() += usize::from(change > 0);
            let key = (process, event.key());
            let by_thread = taken.entry(key).or_default();
            by_thread.add(thread, change);
            if by_thread.0.is_empty() {
                taken.remove(&key);
            }
        }
        let mut moved: BTreeMap<ProcessId, usize> = BTreeMap::new();
        for ((process, _), by_thread) in &taken {
            *moved.entry(*process).or_default() += by_thread.moved();
        }
        let left_elsewhere: BTreeMap<ProcessId, Moving> = (moved.into_iter())
            .filter_map(|(process, moved)| Some((process, Moving::left(moved, all[&process])?)))
            .collect();
        threads.retain(|(process, _)| {
            process.is_none_or(|process| !left_elsewhere.contains_key(&process))
        });
        Self {
            threads,
            left_elsewhere,
        }
    }

    pub(crate) fn are_none(&self) -> bool {
        self.threads.is_empty()
    }

    /// Whether this thread does.
    pub(crate) fn tells(&self, process: Option<ProcessId>, thread: Option<ThreadId>) -> bool {
        self.threads.contains(&(process, thread))
    }

    /// Whether a thread that started or ended the request does: then nobody served it who did not say so.
    pub(crate) fn tell_of(&self, request: &Request) -> bool {
        let ends = [request.start, request.end].into_iter().flatten();
        ends.into_iter()
            .any(|bound| self.tells(request.process, bound.thread))
    }
}

/// By thread, how much more often it took up a span than it left it; only those with a difference.
#[derive(Debug, Default)]
struct Taken(Vec<(ThreadId, i32)>);

impl Taken {
    fn add(&mut self, thread: ThreadId, change: i32) {
        match self.0.iter().position(|(known, _)| *known == thread) {
            Some(place) => {
                self.0[place].1 += change;
                if self.0[place].1 == 0 {
                    self.0.swap_remove(place);
                }
            }
            None => self.0.push((thread, change)),
        }
    }

    /// How often one thread took it up and never left it, and another one left it that never took it up.
    fn moved(&self) -> usize {
        let sum = |sign: i32| -> usize {
            let differences = self.0.iter().map(|(_, difference)| difference * sign);
            differences
                .filter_map(|over| usize::try_from(over).ok())
                .sum()
        };
        sum(1).min(sum(-1))
    }
}
