//! Who gave up a mutex when: found in the waits that this ended.
//!
//! A mutex that is waited for wakes one of those who wait whenever it is given up, so that these wake-ups tell of all
//! its holders in turn. Found when they are first asked for, as few paths need them. Who held a mutex that nobody waited
//! for is not known.

use slowpath_concepts::SwitchOut;
use slowpath_model::{ProcessId, ThreadId, Timestamp};

use super::entry::Run;
use super::stretch::{Doing, Waker};
use super::{Timelines, range};

/// A mutex that threads of one process wait for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Mutex {
    /// The process.
    process: ProcessId,
    /// A number that words of memory seldom have in common.
    word: u16,
}

/// A thread gave up a mutex and woke one that waited for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct HandOver {
    /// When.
    pub at: Timestamp,
    /// Who did.
    pub by: ThreadId,
}

impl Timelines {
    /// The mutex that a thread waits for from `since` on, if it is for one and the trace tells, also the process.
    pub fn mutex_since(&self, thread: ThreadId, since: Timestamp) -> Option<Mutex> {
        let futex = self.futex_since(thread, since)?;
        let process = self.process(thread, since).filter(|_| futex.is_for_mutex)?;
        Some(Mutex {
            process,
            word: futex.word,
        })
    }

    /// When threads of its process gave up a mutex and woke one that waited for it, in the order of time.
    pub fn hand_overs(
        &self,
        mutex: Mutex,
        from: Timestamp,
        until: Timestamp,
    ) -> impl DoubleEndedIterator<Item = HandOver> + '_ {
        let all = self.hand_overs.get_or_init(|| self.find_hand_overs());
        let before = |at: Timestamp| all.partition_point(|(of, one)| (*of, one.at) < (mutex, at));
        let (first, past) = (before(from), before(until));
        all[first..past.max(first)].iter().map(|(_, one)| *one)
    }

    fn find_hand_overs(&self) -> Vec<(Mutex, HandOver)> {
        let threads = self.threads().iter().copied();
        let mut all: Vec<(Mutex, HandOver)> = threads
            .flat_map(|thread| {
                let (runs, _) = self.line(thread);
                let waits = runs
                    .iter()
                    .map(Run::from_row)
                    .filter(|run| run.word.is_for_mutex() && run.left != Some(SwitchOut::Runnable));
                waits.filter_map(move |run| self.hand_over(thread, run))
            })
            .collect();
        all.sort_unstable();
        all.shrink_to_fit();
        all
    }

    /// The one that ended the wait of a thread after a run.
    fn hand_over(&self, thread: ThreadId, run: Run) -> Option<(Mutex, HandOver)> {
        let begin = range(run.end, run.end + 1);
        let Doing::Blocked {
            wake: Some(wake), ..
        } = self.stretch_before(thread, begin.end).doing
        else {
            return None;
        };
        let Waker::Thread(by) = wake.by else {
            return None;
        };
        let mutex = self.mutex_since(thread, begin.begin)?;
        let is_of_process = self.process(by, wake.begin) == Some(mutex.process);
        let hand_over = HandOver { at: wake.begin, by };
        (is_of_process && !wake.for_signal).then_some((mutex, hand_over))
    }
}
