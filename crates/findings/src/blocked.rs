//! Requests that wait because a thread works for another request: the one that serves them, or one of a pool that is to
//! do some of their work.

use slowpath_critical_path::State;
use slowpath_model::TimeRange;
use slowpath_requests::{RequestOfHost, ThreadOfHost};

use crate::finding::{Finding, FindingId};
use crate::path::{Slow, Taken};
use crate::quota::{Quota, quota_behind};

/// Waits for threads that a quota stopped are the quota's, which tells of them.
pub(crate) fn finding(slow: &Slow<'_>, quotas: &[Quota]) -> Option<Finding> {
    let mut taken = Taken::default();
    let mut add = |request, whose: ThreadOfHost, range: TimeRange, other: RequestOfHost| {
        taken.add(request, whose, range);
        let lines = slow.all.hosts().lines(other.host);
        let other = slow.all.get(other).name(lines);
        taken.blame(other, range.length());
    };
    for piece in slow.pieces() {
        let (State::BlockedByRequest, Some(other)) = (piece.segment.state, piece.blocked_by) else {
            continue;
        };
        add(piece.request, piece.whose(), piece.segment.range, other);
    }
    for wait in slow.waits_looked_into() {
        if quota_behind(quotas, &wait).is_some() {
            continue;
        }
        for (range, other) in slow.queued(&wait) {
            let whose = match wait.is_of(other) {
                true => wait.waiter,
                false => wait.holder,
            };
            add(wait.request, whose, range, other);
        }
    }
    let title =
        "Queueing: requests wait while threads that they need work for other requests".to_owned();
    let explanation = format!(
        "{} waited {} in all for a thread that worked for others: {}.",
        taken.slow_requests(),
        taken.total,
        taken.blamed()
    );
    let evidence = taken.evidence_by(slow, "worked for other requests for", "operation");
    let advice = "Use more threads (or processes), move long work off the thread that serves many \
                  requests, or make the blocking operations shorter.";
    let id = FindingId::BlockedByRequest;
    taken.finding(slow, id, title, explanation, evidence, advice)
}
