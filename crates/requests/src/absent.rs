//! When a request cannot go on, though its thread does other things: event loops.
//!
//! Between two times at which a thread serves a request, an event loop serves others, looks after its timers,
//! and sleeps until something comes. Had the request been able to go on, the loop would not have slept. So
//! it waited, from when it was left until the loop's last sleep before it is taken up again, for what ended
//! that sleep. What the loop was woken for in between is no cause of it. Where several things came at once, or the loop
//! served others or had no processor for long before it took the request up, what the request waited for may have come
//! when the loop was awake.

use slowpath_critical_path::{State, state_of};
use slowpath_kernel::timelines::{Doing, Returned, Stretch, Timelines, Waker};
use slowpath_model::{Nanoseconds, ThreadId, TimeRange, Timestamp};

use crate::hosts::{AllHosts, RequestOfHost};
use crate::path::Stage;

/// Whether threads wait in a system call for whatever comes first.
pub(crate) fn waits_for_events(call: Option<&str>) -> bool {
    matches!(
        call,
        Some(
            "epoll_wait"
                | "epoll_pwait"
                | "epoll_pwait2"
                | "poll"
                | "ppoll"
                | "select"
                | "pselect6"
                | "io_uring_enter"
        )
    )
}

/// A time in which a request could not go on, until its thread's wait for events ends.
pub(crate) struct Absence {
    pub(crate) range: TimeRange,
    /// Whether what ends the thread's wait is what the request waited for.
    pub(crate) is_told: bool,
}

/// A loop that has no processor for one of so many parts of an absence may have missed a timer meanwhile.
const MOST_READY: u64 = 10;

/// The times of a stage in which the request could not go on, as far as a single wait of its thread does not tell
/// that anyway; in the order of time.
pub(crate) fn absences(
    all: &AllHosts<'_>,
    lines: &Timelines,
    of: RequestOfHost,
    stage: Stage,
) -> Vec<Absence> {
    let Stage { thread, range } = stage;
    let mut absences = Vec::new();
    let mut left = range.begin;
    for served in served(all, of, stage) {
        absences.extend(absence(all, lines, of, thread, left, served.begin));
        left = left.max(served.end);
    }
    absences.extend(absence(all, lines, of, thread, left, range.end));
    absences
}

/// When the thread works for the request, its ancestors and descendants, in the order of the begin.
fn served(all: &AllHosts<'_>, of: RequestOfHost, stage: Stage) -> Vec<TimeRange> {
    let (requests, request) = (all.requests(of.host), all.get(of));
    let servings = (request.servings.iter())
        .filter(|serving| serving.thread == stage.thread)
        .map(|serving| serving.range.intersect(stage.range));
    let kin = (requests.active(stage.thread, stage.range))
        .filter(|(_, other)| requests.get(*other).is_kin(request))
        .map(|(when, _)| when);
    let mut served: Vec<TimeRange> = (servings.chain(kin))
        .filter(|when| !when.is_empty())
        .collect();
    served.sort_unstable_by_key(|when| when.begin);
    served
}

/// Of the time between two servings, that to the end of the thread's last wait for events, if it did something else
/// before.
fn absence(
    all: &AllHosts<'_>,
    lines: &Timelines,
    of: RequestOfHost,
    thread: ThreadId,
    left: Timestamp,
    taken_up: Timestamp,
) -> Option<Absence> {
    let mut at = taken_up;
    let mut ready = Nanoseconds::ZERO;
    while at > left {
        let stretch = lines.stretch_before(thread, at);
        let begin = stretch.range.begin;
        match stretch.doing {
            Doing::Blocked {
                wake: Some(wake),
                stopped: false,
                call,
                ..
            } if waits_for_events(call) => {
                // In another request's time it may wait for what that one asked for.
                let within = TimeRange::new(begin.max(left), stretch.range.end.min(at));
                let is_idle = (all.requests(of.host).active(thread, within))
                    .next()
                    .is_none();
                if is_idle {
                    let range = TimeRange::new(left, within.end);
                    let after = TimeRange::new(within.end, taken_up);
                    let returned = lines.returned(thread, after.begin, after.end);
                    let is_told = is_single(lines, &stretch, wake.by, returned)
                        && ready.get() * MOST_READY < range.length().get()
                        && !serves_others(all, of, thread, after);
                    return (begin > left).then_some(Absence { range, is_told });
                }
            }
            // A missing switch: a wait before it is still the last one that is seen.
            Doing::Unknown | Doing::Running { .. } | Doing::Blocked { wake: Some(_), .. } => {}
            Doing::Preempted | Doing::WaitingForCpu => {
                ready += TimeRange::new(begin.max(left), at).length();
            }
            _ => return None,
        }
        at = begin;
    }
    None
}

/// Whether the wait for events that ends with `sleep` was ended by all that its call tells of: one event, or its time-out.
fn is_single(lines: &Timelines, sleep: &Stretch<'_>, by: Waker, returned: Returned) -> bool {
    let is_timer = state_of(lines, sleep) == Some(State::Timer);
    match returned {
        Returned::Nothing => is_timer || by == Waker::Unknown,
        Returned::One => !is_timer,
        _ => false,
    }
}

fn serves_others(
    all: &AllHosts<'_>,
    of: RequestOfHost,
    thread: ThreadId,
    range: TimeRange,
) -> bool {
    let (requests, request) = (all.requests(of.host), all.get(of));
    (requests.active(thread, range))
        .any(|(_, other)| other != of.request && !requests.get(other).is_kin(request))
}
