//! What `/proc` accounts to threads of interest, first and last seen: the yardstick for `slowpath cpu`.
//!
//! A thread that ends between two looks keeps the figures of the last one, with their time, so that
//! a comparison can take the same window.

use std::collections::BTreeMap;

use slowpath_model::{ProcessId, ThreadId};
use slowpath_platform::clocks::monotonic_ns;

use crate::manifest::{Account, Accounts};
use crate::processes;

/// More threads than this are not followed: the accounts are a check, not a product.
const MOST_THREADS: usize = 16_384;

/// The accounts while the recording runs.
#[derive(Debug, Default)]
pub(crate) struct AccountBook {
    threads: BTreeMap<(ProcessId, ThreadId), (Account, Account)>,
}

impl AccountBook {
    /// Reads the figures of every thread of `process` as they are now.
    pub(crate) fn look_at(&mut self, process: ProcessId) {
        for thread in processes::threads(process) {
            self.look_at_thread(process, thread);
        }
    }

    fn look_at_thread(&mut self, pid: ProcessId, tid: ThreadId) {
        let Some(stat) = processes::task_stat(pid, tid) else {
            return;
        };
        let before = monotonic_ns();
        let Some(times) = processes::sched_stat(pid, tid) else {
            return;
        };
        let after = monotonic_ns();
        let account = Account {
            pid,
            tid,
            comm: stat.comm,
            schedstat_run_ns: times.run_ns,
            schedstat_wait_ns: times.wait_ns,
            at_ns: before + (after - before) / 2,
        };
        let is_full = self.threads.len() >= MOST_THREADS;
        match self.threads.get_mut(&(pid, tid)) {
            Some((_, last)) => *last = account,
            None if is_full => {}
            None => drop(self.threads.insert((pid, tid), (account.clone(), account))),
        }
    }

    /// The first and the last figures of every thread seen.
    pub(crate) fn accounts(&self) -> Accounts {
        let (begin, end) = self.threads.values().cloned().unzip();
        Accounts { begin, end }
    }
}
