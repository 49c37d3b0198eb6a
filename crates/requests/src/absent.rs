//! When a request cannot go on, though its thread does other things: event loops.
//!
//! Between two times at which a thread serves a request, an event loop serves others, looks after its timers,
//! and sleeps until something comes. Had the request been able to go on, the loop would not have slept. So
//! it waited, from when it was left until the loop's last sleep before it is taken up again, for what ended
//! that sleep. What the loop was woken for in between is no cause of it.

use slowpath_kernel::timelines::{Doing, Timelines};
use slowpath_model::{ThreadId, TimeRange, Timestamp};

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

/// The times of a stage in which the request could not go on, as far as a single wait of its thread does not tell
/// that anyway; in the order of time. At the end of each, the thread's wait for events ends.
pub(crate) fn absences(
    all: &AllHosts<'_>,
    lines: &Timelines,
    of: RequestOfHost,
    stage: Stage,
) -> Vec<TimeRange> {
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
) -> Option<TimeRange> {
    let mut at = taken_up;
    while at > left {
        let stretch = lines.stretch_before(thread, at);
        let begin = stretch.range.begin;
        match stretch.doing {
            Doing::Blocked {
                wake: Some(_),
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
                    return (begin > left).then_some(TimeRange::new(left, within.end));
                }
            }
            Doing::Running { .. }
            | Doing::Preempted
            | Doing::WaitingForCpu
            | Doing::Blocked { wake: Some(_), .. } => {}
            _ => return None,
        }
        at = begin;
    }
    None
}
