//! Waits for a time to come: sleeps, timeouts, pauses before a call is made again.

use std::collections::BTreeMap;

use slowpath_critical_path::State;
use slowpath_model::Nanoseconds;

use crate::finding::{Finding, FindingId};
use crate::path::{Piece, Slow, Taken, listed};

pub(crate) fn finding(slow: &Slow<'_>) -> Option<Finding> {
    let mut taken = Taken::default();
    let mut causes: BTreeMap<String, Nanoseconds> = BTreeMap::new();
    let is_sleep = |piece: &Piece| piece.segment.state == State::Timer;
    for piece in slow.pieces().filter(is_sleep) {
        let segment = &piece.segment;
        taken.add(piece.request, piece.whose(), segment.range);
        taken.blame(slow.thread(piece.whose()), segment.range.length());
        if !segment.detail.is_empty() {
            *causes.entry(segment.detail.to_string()).or_default() += segment.range.length();
        }
    }
    let causes = match causes.is_empty() {
        true => String::new(),
        false => format!(" ({})", listed(&causes, 3)),
    };
    let explanation = format!(
        "{} slow requests slept for {} in all{causes}, in these threads: {}.",
        taken.requests(),
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
