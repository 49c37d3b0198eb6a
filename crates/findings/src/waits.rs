//! Waits that other hosts or a clock end. Those for disks are told in `disk.rs`.

use std::collections::BTreeMap;

use slowpath_critical_path::State;
use slowpath_model::Nanoseconds;

use crate::finding::{Finding, FindingId};
use crate::path::{Piece, Slow, Taken, listed};

/// A kind of wait, and how it is told.
struct Kind {
    state: State,
    id: FindingId,
    title: &'static str,
    what: &'static str,
    advice: &'static str,
}

const KINDS: [Kind; 2] = [
    Kind {
        state: State::Network,
        id: FindingId::NetworkWait,
        title: "Network: requests wait for other hosts",
        what: "waited for the network for",
        advice: "Record on the other host as well to see what it did meanwhile; make fewer calls, or \
                 several at once.",
    },
    Kind {
        state: State::Timer,
        id: FindingId::TimerWait,
        title: "Sleep: requests wait for a time to come",
        what: "slept for",
        advice: "Look for sleeps, polling with a pause, retries with back-off and rate limits in the \
                 request's path; wait for the event instead.",
    },
];

pub(crate) fn findings(slow: &Slow<'_>) -> Vec<Finding> {
    KINDS
        .iter()
        .filter_map(|kind| finding(slow, kind))
        .collect()
}

fn finding(slow: &Slow<'_>, kind: &Kind) -> Option<Finding> {
    let mut taken = Taken::default();
    let mut causes: BTreeMap<String, Nanoseconds> = BTreeMap::new();
    let of_kind = |piece: &Piece| piece.segment.state == kind.state;
    for piece in slow.pieces().filter(of_kind) {
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
        "{} slow requests {} {} in all{causes}, in these threads: {}.",
        taken.requests(),
        kind.what,
        taken.total,
        taken.blamed()
    );
    let evidence = taken.evidence_by(slow, kind.what, "thread");
    let title = kind.title.to_owned();
    taken.finding(slow, kind.id, title, explanation, evidence, kind.advice)
}
