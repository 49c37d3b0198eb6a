//! Requests that wait because their thread works for another request.

use std::collections::BTreeMap;

use slowpath_critical_path::State;
use slowpath_model::Nanoseconds;

use crate::finding::{Evidence, Finding, FindingId};
use crate::path::{Slow, Taken, listed, name};

pub(crate) fn findings(slow: &Slow<'_>) -> Vec<Finding> {
    let mut taken = Taken::default();
    let mut others: BTreeMap<String, Nanoseconds> = BTreeMap::new();
    let blocked = slow
        .pieces()
        .filter(|piece| piece.segment.state == State::BlockedByRequest);
    for piece in blocked {
        let Some(other) = piece.blocked_by else {
            continue;
        };
        let length = piece.segment.range.length();
        taken.add(piece.request, piece.segment.thread, piece.segment.range);
        let operation = name(slow.requests.get(other), slow.lines);
        *others.entry(operation).or_default() += length;
    }
    let title = "Queueing: requests wait while their thread works for other requests".to_owned();
    let explanation = format!(
        "{} slow requests waited {} in all for a thread that worked for others: {}.",
        taken.requests(),
        taken.total,
        listed(&others, 4)
    );
    let mut evidence = taken.evidence(slow, "worked for other requests for");
    evidence.push(Evidence::text(format!(
        "by operation: {}",
        listed(&others, 6)
    )));
    let advice = "Use more threads (or processes), move long work off the thread that serves many \
                  requests, or make the blocking operations shorter.";
    let id = FindingId::BlockedByRequest;
    let finding = taken.finding(slow, id, title, explanation, evidence, advice);
    finding.into_iter().collect()
}
