//! Which threads held others up, doing what: found from one path after the other.
//!
//! The merged graph (`graph.rs`) is not needed: only times in which somebody waited are kept, as rows that
//! may lie in temporary files.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::sync::Arc;

use slowpath_model::{HostId, Nanoseconds, ThreadId, Timestamp};
use slowpath_platform::LongList;

use crate::{CriticalPath, State};

/// How much others waited for a thread in a state.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Holdup {
    /// The host's name, where paths lie on several hosts.
    pub host_name: Option<Arc<str>>,
    /// The thread that others waited for.
    pub thread: ThreadId,
    /// Its name.
    pub comm: Arc<str>,
    /// What it did meanwhile.
    pub state: State,
    /// How long anybody waited.
    pub length: Nanoseconds,
    /// The waits of all paths together.
    pub waited: Nanoseconds,
    /// At most how many waited at once.
    pub at_once: u32,
}

/// Adds up how long threads waited for others, path by path.
#[derive(Debug, Default)]
pub struct Holdups {
    paths: usize,
    by_state: BTreeMap<(HostId, ThreadId, State), Waits>,
}

/// The times in which others waited for a thread in a state.
#[derive(Debug, Default)]
struct Waits {
    /// Begin and end.
    rows: LongList<2>,
    host_name: Option<Arc<str>>,
    /// Its name in the latest of them.
    comm: Arc<str>,
    latest: Option<Timestamp>,
}

impl Holdups {
    /// Adds the waits of a path.
    pub fn add(&mut self, path: &CriticalPath) {
        self.paths += 1;
        for segment in path.segments.iter() {
            if (segment.host, segment.thread) == (path.host, path.thread) {
                continue;
            }
            let key = (segment.host, segment.thread, segment.state);
            let waits = self.by_state.entry(key).or_default();
            let (begin, end) = (segment.range.begin, segment.range.end);
            waits
                .rows
                .push([begin.ns(), end.ns()].map(i64::cast_unsigned));
            if waits.latest <= Some(begin) {
                waits.latest = Some(begin);
                waits.comm = segment.comm;
                waits.host_name = segment.host_name;
            }
        }
    }

    /// How many paths there were.
    pub fn paths(&self) -> usize {
        self.paths
    }

    /// All of them; the longest waits together first.
    pub fn all(self) -> Vec<Holdup> {
        let holdups = self.by_state.into_iter();
        let mut holdups: Vec<Holdup> = holdups
            .map(|((_, thread, state), waits)| waits.holdup(thread, state))
            .collect();
        holdups.sort_by_key(|holdup| Reverse(holdup.waited));
        holdups
    }
}

impl Waits {
    fn holdup(self, thread: ThreadId, state: State) -> Holdup {
        let sorted = |side: usize| {
            let times = self.rows.iter().map(|row| row[side].cast_signed());
            let mut times: Vec<i64> = times.collect();
            times.sort_unstable();
            times
        };
        let (begins, ends) = (sorted(0), sorted(1));
        let mut begins = begins.into_iter().peekable();
        let (mut length, mut waited) = (0, 0_u64);
        let (mut now, mut at_once) = (0_u32, 0);
        let mut since = 0;
        // Up to each end, those who begin before it; who begins then comes after it.
        for end in ends {
            loop {
                let begin = begins.next_if(|begin| *begin < end);
                let at = begin.unwrap_or(end);
                let apart = at.abs_diff(since);
                if now > 0 {
                    length += apart;
                    waited = waited.saturating_add(apart.saturating_mul(now.into()));
                }
                since = at;
                match begin {
                    Some(_) => now += 1,
                    None => break,
                }
                at_once = at_once.max(now);
            }
            now = now.saturating_sub(1);
        }
        Holdup {
            host_name: self.host_name,
            thread,
            comm: self.comm,
            state,
            length: Nanoseconds(length),
            waited: Nanoseconds(waited),
            at_once,
        }
    }
}
