//! Threads, from the first wake-up since they last ran to running.
//!
//! The waker, the thread's old and its new processor may all differ, so switches and wake-ups are
//! brought together in the order of time. A wake-up of a running thread is forgotten when the thread
//! is switched from.

use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};
use slowpath_concepts::{Concepts, Fact, FactKind};
use slowpath_engine::{Analysis, Chunk, Distribution};
use slowpath_model::{Event, Projection, ThreadId, TimeRange, Timestamp};
use slowpath_source::Source;

use super::{LatencyKind, LatencyReport, report};
use crate::answer::Answer;
use crate::comm::Comm;
use crate::extent::{add_unreadable, is_whole};
use crate::lanes::{Lane, Lanes, Record, Whose};
use crate::{Extent, Window, missing};

/// The analysis.
pub(super) struct Wakeups {
    window: Window,
    concepts: Concepts,
    /// When any processor's events are missing: whoever was woken may have run there unseen.
    missing: Vec<TimeRange>,
}

/// What a chunk, or several, told.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct Told {
    lanes: Lanes<What>,
    woken: FxHashMap<ThreadId, Timestamp>,
    taken: FxHashMap<ThreadId, (Comm, Distribution)>,
    /// When events within packets could not be read: in order, apart from each other.
    unreadable: Vec<TimeRange>,
    /// Only while a chunk is passed over.
    lane: Lane<What>,
}

#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
enum What {
    Woken(ThreadId),
    Switched {
        prev: ThreadId,
        next: ThreadId,
        comm: Comm,
    },
}

const KINDS: &[FactKind] = &[
    FactKind::Switch,
    FactKind::Waking,
    FactKind::Wakeup,
    FactKind::WakeupNew,
];

impl Wakeups {
    pub(super) fn new(source: &dyn Source, range: TimeRange) -> Self {
        Self {
            window: Extent::of(source).window(range),
            concepts: Concepts::resolve(source.schema(), KINDS),
            missing: missing(source),
        }
    }

    fn drain(&self, told: &mut Told, until: Timestamp, end: bool) {
        let (woken, taken) = (&mut told.woken, &mut told.taken);
        let is_whole =
            |from, to| is_whole(&self.missing, from, to) && is_whole(&told.unreadable, from, to);
        told.lanes
            .drain(until, end, |_, Record { at, what, .. }| match what {
                What::Woken(thread) => drop(woken.entry(thread).or_insert(at)),
                What::Switched { prev, next, comm } => {
                    woken.remove(&prev);
                    if let Some(from) = woken.remove(&next)
                        && self.window.contains(from)
                        && self.window.contains(at)
                        && is_whole(from, at)
                    {
                        let (name, taken) = taken.entry(next).or_default();
                        *name = comm;
                        taken.add(at.since(from));
                    }
                }
            });
    }
}

impl Answer for Wakeups {
    type Report = LatencyReport;

    fn projection(&self) -> &Projection {
        self.concepts.projection()
    }

    fn range(&self) -> TimeRange {
        self.window.and_before()
    }

    fn report(&self, mut told: Told) -> LatencyReport {
        self.drain(&mut told, Timestamp::MAX, true);
        let named = told.taken.into_iter();
        let named = named.map(|(tid, (comm, taken))| (format!("{comm}-{tid}"), taken));
        report(LatencyKind::Wakeup, self.window, named)
    }
}

impl Analysis for Wakeups {
    type State = Told;

    fn begin(&self, _chunk: &Chunk) -> Told {
        Told::default()
    }

    #[inline]
    fn event(&self, told: &mut Told, event: &Event<'_>) {
        let what = match self.concepts.fact(event) {
            Some(Fact::Waking { thread, .. } | Fact::Wakeup { thread, .. }) => What::Woken(thread),
            Some(Fact::Switch {
                prev,
                next,
                next_comm,
                ..
            }) => What::Switched {
                prev,
                next,
                comm: Comm::new(next_comm),
            },
            _ => return,
        };
        told.lane.push(Record {
            at: event.at,
            thread: Whose::Nobody,
            what,
        });
    }

    fn unreadable(&self, told: &mut Told, between: TimeRange) {
        add_unreadable(&mut told.unreadable, vec![between]);
    }

    fn end(&self, told: &mut Told, chunk: &Chunk) {
        told.lanes = Lanes::of(chunk, std::mem::take(&mut told.lane));
    }

    fn merge(&self, earlier: &mut Told, later: Told) {
        earlier.lanes.merge(later.lanes);
        add_unreadable(&mut earlier.unreadable, later.unreadable);
    }

    fn settle(&self, told: &mut Told, watermark: Timestamp) {
        self.drain(told, watermark, false);
    }
}
