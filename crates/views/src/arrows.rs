//! Wake-ups as arrows between rows: who woke whom, itself or by a packet that it sent.

use rustc_hash::FxHashSet;
use serde::Serialize;
use slowpath_critical_path::{State, state_of};
use slowpath_kernel::timelines::{Doing, Stretch, Timelines, WakeUp, Waker};
use slowpath_model::{HostId, ThreadId, Timestamp};
use utoipa::ToSchema;

use crate::{Rows, Track};

/// A thread was woken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, ToSchema)]
#[schema(as = WakeUp)]
pub struct Arrow {
    /// The row of the thread that woke it, or that sent it the packet which did; null where no thread did.
    #[schema(required)]
    pub from_row: Option<usize>,
    /// When the waker began to, or sent the packet.
    pub from_ns: i64,
    /// The row of the thread that was woken.
    pub to_row: usize,
    /// When that could run.
    pub to_ns: i64,
    /// What it had waited for: where no thread woke it, this tells what did.
    #[schema(value_type = State)]
    pub waited: &'static str,
}

/// Wake-ups of some rows.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, ToSchema)]
#[schema(as = WakeUps)]
pub struct Arrows {
    /// In the order of the rows.
    pub arrows: Vec<Arrow>,
    /// Whether these are all.
    pub complete: bool,
}

/// Which wake-ups are wanted.
#[derive(Clone, Debug)]
pub enum Wanted {
    /// Those among these rows.
    Among(Vec<usize>),
    /// Those from or to this row, whichever the other one; also those of it that are no thread's.
    Touching(usize),
}

/// The wake-ups that are wanted and end between two offsets, at most `limit`. `lines` are the time lines of a host,
/// by [`HostId`].
pub fn arrows<'lines>(
    lines: impl Fn(HostId) -> Option<&'lines Timelines>,
    rows: &Rows,
    wanted: &Wanted,
    (begin, end): (i64, i64),
    limit: usize,
) -> Arrows {
    let (woken, touching): (Vec<usize>, Option<usize>) = match wanted {
        Wanted::Among(rows) => (rows.clone(), None),
        Wanted::Touching(row) => ((0..rows.threads.len()).collect(), Some(*row)),
    };
    let is_shown: FxHashSet<usize> = woken.iter().copied().collect();
    let mut found = Arrows {
        arrows: Vec::new(),
        complete: true,
    };
    for row in woken.iter().filter_map(|&row| rows.threads.get(row)) {
        let Some(lines) = lines(row.host) else {
            continue;
        };
        let origin = rows.origin(Track::Threads, row.row);
        let range = origin.range(begin, end).intersect(lines.range());
        for stretch in lines.backwards(ThreadId(row.tid as i32), range) {
            let Doing::Blocked {
                wake: Some(wake), ..
            } = stretch.doing
            else {
                continue;
            };
            let (waker, from_time) = waker(&wake);
            let from = waker.and_then(|waker| rows.of_thread(row.host, waker.0.into()));
            let is_meant = match (touching, from) {
                (Some(of), _) => of == row.row || from == Some(of),
                (None, Some(from)) => is_shown.contains(&from),
                (None, None) => false,
            };
            if !is_meant || !range.contains(wake.end) {
                continue;
            }
            if found.arrows.len() == limit {
                found.complete = false;
                return found;
            }
            found.arrows.push(Arrow {
                from_row: from,
                from_ns: origin.offset(from_time),
                to_row: row.row,
                to_ns: origin.offset(wake.end),
                waited: waited(lines, &stretch),
            });
        }
    }
    found
}

/// The thread that woke, if one did, and when it began to.
fn waker(wake: &WakeUp) -> (Option<ThreadId>, Timestamp) {
    match wake.by {
        Waker::Thread(thread) => (Some(thread), wake.begin),
        Waker::Packet { sender, .. } => (Some(sender.0), sender.1),
        Waker::Arrival { received, .. } => (None, received),
        Waker::Interrupt(_) | Waker::Unknown => (None, wake.begin),
    }
}

fn waited(lines: &Timelines, stretch: &Stretch<'_>) -> &'static str {
    state_of(lines, stretch).unwrap_or(State::Unknown).name()
}
