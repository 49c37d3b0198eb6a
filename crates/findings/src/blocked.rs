//! Requests that wait because their thread works for another request.

use slowpath_critical_path::State;

use crate::finding::{Finding, FindingId};
use crate::path::{Slow, Taken};

pub(crate) fn finding(slow: &Slow<'_>) -> Option<Finding> {
    let mut taken = Taken::default();
    for piece in slow.pieces() {
        let (State::BlockedByRequest, Some(other)) = (piece.segment.state, piece.blocked_by) else {
            continue;
        };
        let range = piece.segment.range;
        taken.add(piece.request, piece.whose(), range);
        let lines = slow.all.hosts().lines(other.host);
        let other = slow.all.get(other).name(lines);
        taken.blame(other, range.length());
    }
    let title = "Queueing: requests wait while their thread works for other requests".to_owned();
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
