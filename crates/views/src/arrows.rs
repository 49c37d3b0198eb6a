//! Wake-ups as arrows between rows: who woke whom.

use rustc_hash::FxHashSet;
use serde::Serialize;
use slowpath_kernel::timelines::{Doing, Timelines, Waker};
use slowpath_model::{HostId, ThreadId};
use utoipa::ToSchema;

use crate::{Rows, Track};

/// A thread woke another one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, ToSchema)]
#[schema(as = WakeUp)]
pub struct Arrow {
    /// The row of the thread that woke.
    pub from_row: usize,
    /// When it began to.
    pub from_ns: i64,
    /// The row of the thread that was woken.
    pub to_row: usize,
    /// When that could run.
    pub to_ns: i64,
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
    /// Those from or to this row, whichever the other one.
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
            let Waker::Thread(waker) = wake.by else {
                continue;
            };
            let from = rows.of_thread(row.host, waker.0.into());
            let is_meant = |from: &usize| {
                range.contains(wake.end)
                    && is_shown.contains(from)
                    && touching.is_none_or(|of| *from == of || row.row == of)
            };
            let Some(from) = from.filter(is_meant) else {
                continue;
            };
            if found.arrows.len() == limit {
                found.complete = false;
                return found;
            }
            found.arrows.push(Arrow {
                from_row: from,
                from_ns: origin.offset(wake.begin),
                to_row: row.row,
                to_ns: origin.offset(wake.end),
            });
        }
    }
    found
}
