//! Notices threads of which several processors tell at one time, as where their clocks are set apart.
//!
//! An analysis that pairs a thread's calls within a chunk and brings only the rest into the order of time must not do so
//! then: what it pairs would depend on where chunks end. Whoever notices asks again, with all brought into that order.

use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};
use slowpath_model::{CpuId, ThreadId, Timestamp};

/// What processors told of threads, as far as it is needed.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Overlaps {
    /// Of each thread: when and by which processor it was told of last.
    last: FxHashMap<ThreadId, (Timestamp, CpuId)>,
    found: bool,
}

impl Overlaps {
    /// A record of a thread from a processor, which stands for all that the processor told of it from `since` to
    /// `at`. Records are to be given in the order of `at`.
    pub(crate) fn note(&mut self, thread: ThreadId, cpu: CpuId, since: Timestamp, at: Timestamp) {
        let (last, of) = self.last.entry(thread).or_insert((at, cpu));
        self.found |= *of != cpu && since <= *last;
        (*last, *of) = (at, cpu);
    }

    /// Whether any two records of one thread from different processors overlap.
    pub(crate) fn found(&self) -> bool {
        self.found
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Records as `CPU SINCE AT`.
    fn found(records: &[(u32, i64, i64)]) -> bool {
        let mut overlaps = Overlaps::default();
        for &(cpu, since, at) in records {
            let [since, at] = [since, at].map(Timestamp::from_ns);
            overlaps.note(ThreadId(7), CpuId(cpu), since, at);
        }
        overlaps.found()
    }

    #[test]
    fn only_what_two_processors_tell_of_one_time_overlaps() {
        assert!(!found(&[(0, 1, 3), (0, 3, 5), (1, 6, 6), (0, 7, 9)]));
        assert!(found(&[(1, 2, 2), (0, 1, 3)]));
        assert!(found(&[(0, 1, 3), (1, 2, 4)]));
        assert!(found(&[(0, 3, 3), (1, 3, 3)]));
    }
}
