//! Events that come late: whose thread stood still after the tracer had read its clock and before it fired the event.
//!
//! A CPU quota stops threads anywhere, also there; the request would lose that time at its begin and be given it
//! at its end. The file knows better then. It is believed where the kernel says that the thread was kept from running
//! in between, and did next to nothing: clocks that are apart do not look like that.

use rustc_hash::FxHashMap;
use slowpath_kernel::timelines::Timelines;
use slowpath_model::{ThreadId, TimeRange, Timestamp};

use crate::events::{SpanEvent, SpanEventKind};
use crate::request::SpanKey;

/// Events that come this much after the time in the file are looked at; and a tracer does not run for longer than this
/// between reading its clock and firing the event.
const LATE_NS: i64 = 1_000_000;

/// A start or end of a span, as told by its event.
pub(crate) type Bound = (SpanKey, SpanEventKind, Timestamp);

/// Starts and ends whose events may be late, and when they were by the file.
#[derive(Debug, Default)]
pub(crate) struct Late(FxHashMap<Bound, Timestamp>);

impl Late {
    /// Notes what was `told`, and when it was by the `file`, in time of the host.
    pub(crate) fn note(&mut self, told: Bound, file: Timestamp) {
        if told.2.ns().saturating_sub(file.ns()) >= LATE_NS {
            self.0.insert(told, file);
        }
    }

    /// Puts those events back to the file's time whose threads stood still; `events` stay in the order of time.
    /// Gives what was put back, and to when.
    pub(crate) fn put_back(self, events: &mut [SpanEvent], lines: &Timelines) -> Self {
        let mut latest: FxHashMap<ThreadId, Timestamp> = FxHashMap::default();
        let mut put_back = Self::default();
        if self.0.is_empty() {
            return put_back;
        }
        for event in &mut *events {
            let Some(thread) = event.thread() else {
                continue;
            };
            let before = latest.insert(thread, event.at);
            let bound = (event.key(), event.kind, event.at);
            let Some(&file) = self.0.get(&bound) else {
                continue;
            };
            let told_nothing = before.is_none_or(|before| before <= file);
            if told_nothing && stood_still(lines, thread, TimeRange::new(file, event.at)) {
                event.at = file;
                put_back.0.insert(bound, file);
            }
        }
        events.sort_by_key(|event| event.at);
        put_back
    }

    /// When it was, by the file where that is noted.
    pub(crate) fn at(&self, told: Bound) -> Timestamp {
        self.0.get(&told).copied().unwrap_or(told.2)
    }
}

/// Whether a thread was kept from running, and did not wait for anything.
fn stood_still(lines: &Timelines, thread: ThreadId, during: TimeRange) -> bool {
    let states = lines.states(thread, during);
    let running = i64::try_from(states.running.get()).unwrap_or(i64::MAX);
    states.blocked.get() == 0 && states.unknown.get() == 0 && running < LATE_NS
}
