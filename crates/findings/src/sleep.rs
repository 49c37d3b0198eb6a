//! Waits for a time to come: sleeps, timeouts, pauses before a call is made again.

use std::collections::BTreeMap;

use slowpath_critical_path::State;
use slowpath_model::{Nanoseconds, TimeRange};

use crate::finding::{Finding, FindingId, Severity};
use crate::kernel_wait::is_of_kernel;
use crate::path::{Piece, Slow, Taken, listed};
use crate::quota::Quota;

/// The calls that only wait for a time.
const SLEEPING: [&str; 2] = ["nanosleep", "clock_nanosleep"];

pub(crate) fn finding(slow: &Slow<'_>, quotas: &[Quota]) -> Option<Finding> {
    let mut taken = Taken::default();
    let mut calls: BTreeMap<String, Nanoseconds> = BTreeMap::new();
    let moving = slow.requests.moving_unseen();
    // A runtime parks threads of its own process, in futex: elsewhere somebody sleeps.
    let process = |thread, at| slow.lines.process(thread, at);
    let may_be = |piece: &Piece| {
        let (segment, at) = (&piece.segment, piece.segment.range.end);
        let own = slow.requests.get(piece.request).first_thread();
        let own = own.and_then(|thread| process(thread, at));
        moving.contains(&piece.request)
            && segment.call.as_deref() == Some("futex")
            && segment.host == slow.host
            && own.is_some()
            && own == process(segment.thread, at)
    };
    let mut may_be_parked = Nanoseconds::ZERO;
    // What a thread of the kernel sleeps for is no program's time-out.
    let is_timed =
        |piece: &Piece| piece.segment.state == State::Timer && !is_of_kernel(slow, piece);
    for piece in slow.pieces().filter(is_timed) {
        let call = piece.segment.call.as_deref();
        let call = call.unwrap_or("no known call").to_owned();
        for range in own_waits(slow, quotas, &piece) {
            taken.add(piece.request, piece.whose(), range);
            taken.blame(slow.thread(piece.whose()), range.length());
            *calls.entry(call.clone()).or_default() += range.length();
            if may_be(&piece) {
                may_be_parked += range.length();
            }
        }
    }
    let of_calls = listed(&calls, 4);
    let slept: Nanoseconds = SLEEPING.iter().filter_map(|call| calls.remove(*call)).sum();
    let in_futex = calls.remove("futex").unwrap_or_default();
    let in_others: Nanoseconds = calls.into_values().sum();
    let mut explanation = format!(
        "{} waited {} in all until a timer woke them ({of_calls}), in these threads: {}.",
        taken.slow_requests(),
        taken.total,
        taken.blamed()
    );
    if in_futex > Nanoseconds::ZERO {
        explanation += " Who waits in futex waits for a lock, a condition or a thread, and the time was up \
                        before it came; but some runtimes also sleep so (Java's Thread.sleep), which looks the \
                        same.";
    }
    if in_others > Nanoseconds::ZERO {
        explanation += " Calls that wait for events end so when none comes in time.";
    }
    let is_doubtful = may_be_parked.get() * 2 > taken.total.get();
    if is_doubtful {
        explanation += " Spans of their process end on other threads than they begin on, and nothing tells when they move: \
                        where the requests do not sleep themselves, these are waits of threads that the runtime has \
                        parked (as Go's does) while others served them.";
    }
    let (title, advice) = match slept.get() * 2 > taken.total.get() {
        true => (
            "Sleep: requests wait for a time to come",
            "Look for sleeps, polling with a pause, retries with back-off and rate limits in the request's \
             path; wait for the event instead.",
        ),
        false => (
            "Time-outs or sleep: requests wait until their time is up",
            "Look at what was to end these waits, and why it did not come before their time was up. Where the \
             program sleeps so, wait for the event instead.",
        ),
    };
    let evidence = taken.evidence_by(slow, "a timer ended its wait of", "thread");
    let (id, title) = (FindingId::TimerWait, title.to_owned());
    let finding = taken.finding(slow, id, title, explanation, evidence, advice)?;
    Some(Finding {
        severity: match is_doubtful {
            true => Severity::Low,
            false => finding.severity,
        },
        ..finding
    })
}

/// When the thread of a piece waited for its own sake. Who waits with a timeout for threads that a quota
/// holds back only looks now and then whether they go on: until they do, that is the quota's time, which
/// tells of it.
fn own_waits(slow: &Slow<'_>, quotas: &[Quota], piece: &Piece) -> Vec<TimeRange> {
    let segment = &piece.segment;
    let call = segment.call.as_deref();
    let is_meant = segment.depth == 0 && call.is_some_and(|call| SLEEPING.contains(&call));
    let of_thread = |quota: &&Quota| quota.threads.binary_search(&segment.thread).is_ok();
    match quotas.iter().find(of_thread) {
        Some(quota) if segment.host == slow.host && !is_meant => {
            quota.not_stopped(segment.thread, segment.range)
        }
        _ => vec![segment.range],
    }
}
