//! Threads that requests need and that a signal stopped (SIGSTOP, SIGTSTP), until another let them go on.

use slowpath_critical_path::Cause;

use crate::finding::{Finding, FindingId};
use crate::path::{Slow, Taken};

pub(crate) fn finding(slow: &Slow<'_>) -> Option<Finding> {
    let mut taken = Taken::default();
    let is_stopped = |cause| cause == Cause::Stopped;
    for piece in slow
        .pieces()
        .filter(|piece| is_stopped(piece.segment.cause))
    {
        let range = piece.segment.range;
        taken.add(piece.request, piece.whose(), range);
        taken.blame(slow.thread(piece.whose()), range.length());
    }
    let title = "Stopped: signals stop threads that requests need".to_owned();
    let explanation = format!(
        "{} stood still for {} in all, as signals had stopped these threads, until others let them go on: {}.",
        taken.slow_requests(),
        taken.total,
        taken.blamed()
    );
    let evidence = taken.evidence_by(slow, "was stopped for", "thread");
    let advice = "Find out who sends these signals (SIGSTOP, SIGTSTP): a shell (`kill -STOP`, Ctrl-Z), or a tool that \
                  limits or holds back processes in this way (cpulimit).";
    let id = FindingId::StoppedBySignal;
    taken.finding(slow, id, title, explanation, evidence, advice)
}
