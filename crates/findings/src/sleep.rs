//! Waits for a time to come: sleeps, timeouts, pauses before a call is made again.

use std::collections::BTreeMap;

use slowpath_critical_path::State;
use slowpath_model::{Nanoseconds, TimeRange};

use crate::finding::{Finding, FindingId};
use crate::path::{Piece, Slow, Taken, listed};
use crate::quota::Quota;

pub(crate) fn finding(slow: &Slow<'_>, quotas: &[Quota]) -> Option<Finding> {
    let mut taken = Taken::default();
    let mut causes: BTreeMap<String, Nanoseconds> = BTreeMap::new();
    let is_sleep = |piece: &Piece| piece.segment.state == State::Timer;
    for piece in slow.pieces().filter(is_sleep) {
        let detail = piece.segment.detail.to_string();
        for range in slept(slow, quotas, &piece) {
            taken.add(piece.request, piece.whose(), range);
            taken.blame(slow.thread(piece.whose()), range.length());
            if !detail.is_empty() {
                *causes.entry(detail.clone()).or_default() += range.length();
            }
        }
    }
    let causes = match causes.is_empty() {
        true => String::new(),
        false => format!(" ({})", listed(&causes, 3)),
    };
    let explanation = format!(
        "{} slept for {} in all{causes}, in these threads: {}.",
        taken.slow_requests(),
        taken.total,
        taken.blamed()
    );
    let evidence = taken.evidence_by(slow, "slept for", "thread");
    let title = "Sleep: requests wait for a time to come".to_owned();
    let advice = "Look for sleeps, polling with a pause, retries with back-off and rate limits in the \
                  request's path; wait for the event instead.";
    taken.finding(
        slow,
        FindingId::TimerWait,
        title,
        explanation,
        evidence,
        advice,
    )
}

/// When the thread of a piece slept for its own sake. Who waits with a timeout for threads that a quota
/// holds back only looks now and then whether they go on: until they do, that is the quota's time, which
/// tells of it.
fn slept(slow: &Slow<'_>, quotas: &[Quota], piece: &Piece) -> Vec<TimeRange> {
    let segment = &piece.segment;
    let calls = ["in nanosleep", "in clock_nanosleep"];
    let is_meant = segment.depth == 0 && calls.iter().any(|call| segment.detail.starts_with(call));
    let of_thread = |quota: &&Quota| quota.threads.binary_search(&segment.thread).is_ok();
    match quotas.iter().find(of_thread) {
        Some(quota) if segment.host == slow.host && !is_meant => {
            quota.not_stopped(segment.thread, segment.range)
        }
        _ => vec![segment.range],
    }
}
