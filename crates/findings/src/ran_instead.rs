//! Threads that ran while others waited for their processor, and which of them had a better priority.
//!
//! Says nothing of why the others could not run elsewhere.

use std::collections::BTreeMap;

use slowpath_kernel::priorities::{Priorities, Priority};
use slowpath_model::{Nanoseconds, ThreadId};

use crate::finding::Evidence;
use crate::path::{Slow, listed, percent};

/// Who ran instead of ready threads, and for how long.
#[derive(Default)]
pub(crate) struct RanInstead {
    threads: BTreeMap<String, Nanoseconds>,
    /// What of that was because of priorities.
    preferred: Nanoseconds,
    /// Who ran then, and who waited meanwhile, with their priorities.
    ran: BTreeMap<String, Nanoseconds>,
    waited: BTreeMap<String, Nanoseconds>,
}

impl RanInstead {
    /// `others` ran, each for a time, while `thread` waited for their processor.
    pub(crate) fn add(
        &mut self,
        slow: &Slow<'_>,
        priorities: &Priorities,
        thread: ThreadId,
        others: impl Iterator<Item = (ThreadId, Nanoseconds)>,
    ) {
        let priority = |of: ThreadId| Some((of, *priorities.get(&of)?));
        let words = |(of, priority): (ThreadId, Priority)| {
            format!("{} [{priority}]", slow.thread(slow.own(of)))
        };
        for (other, time) in others {
            let name = slow.thread(slow.own(other));
            *self.threads.entry(name).or_default() += time;
            let (Some(other), Some(thread)) = (priority(other), priority(thread)) else {
                continue;
            };
            if other.1 < thread.1 {
                self.preferred += time;
                *self.ran.entry(words(other)).or_default() += time;
                *self.waited.entry(words(thread)).or_default() += time;
            }
        }
    }

    /// Who ran longest, in words, if anybody did.
    pub(crate) fn named(&self) -> Option<String> {
        (!self.threads.is_empty()).then(|| listed(&self.threads, 4))
    }

    /// Less of all waits is what kernel threads of good priority need everywhere.
    fn is_by_priority(&self, total: Nanoseconds) -> bool {
        self.preferred.get() >= total.get().div_ceil(10).max(1)
    }

    /// A sentence about priorities, where they explain enough of `total`: how long threads waited in all.
    pub(crate) fn because(&self, total: Nanoseconds) -> String {
        match self.is_by_priority(total) {
            false => String::new(),
            true => format!(
                " For {} of it ({}) those that ran had a better priority: {}.",
                self.preferred,
                percent(self.preferred, total),
                listed(&self.ran, 4)
            ),
        }
    }

    /// Who ran, and who of them had a better priority where that explains enough of `total`.
    pub(crate) fn evidence(&self, total: Nanoseconds) -> Vec<Evidence> {
        let mut evidence = Vec::new();
        if !self.threads.is_empty() {
            evidence.push(Evidence::text(format!(
                "by threads that ran instead: {}",
                listed(&self.threads, 6)
            )));
        }
        if self.is_by_priority(total) {
            evidence.push(Evidence::text(format!(
                "by better priority: {} ran while these waited: {}",
                listed(&self.ran, 6),
                listed(&self.waited, 6)
            )));
        }
        evidence
    }
}
