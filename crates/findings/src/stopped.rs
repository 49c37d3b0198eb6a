//! Threads that requests need and that stood still until another process let them go on: a signal had stopped them
//! (SIGSTOP, SIGTSTP), or their control group was frozen.

use slowpath_critical_path::Cause;

use crate::finding::{Finding, FindingId};
use crate::path::{Slow, Taken};

pub(crate) fn by_signal(slow: &Slow<'_>) -> Option<Finding> {
    let mut taken = taken(slow, Cause::Stopped);
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

pub(crate) fn frozen(slow: &Slow<'_>) -> Option<Finding> {
    let mut taken = taken(slow, Cause::Frozen);
    let title = "Frozen: the control group of threads that requests need stands still".to_owned();
    let explanation = format!(
        "{} stood still for {} in all, as these threads slept in no system call until another process let them go \
         on, which is how a control group is frozen: {}.",
        taken.slow_requests(),
        taken.total,
        taken.blamed()
    );
    let evidence = taken.evidence_by(slow, "was frozen for", "thread");
    let advice = "Find out who freezes the control group (`cgroup.freeze`, `freezer.state`): `docker pause`, a checkpoint or a \
                  backup of a container, `systemctl freeze`. Do so while no requests come.";
    let id = FindingId::Frozen;
    taken.finding(slow, id, title, explanation, evidence, advice)
}

fn taken(slow: &Slow<'_>, cause: Cause) -> Taken {
    let mut taken = Taken::default();
    for piece in slow.pieces().filter(|piece| piece.segment.cause == cause) {
        let range = piece.segment.range;
        taken.add(piece.request, piece.whose(), range);
        taken.blame(slow.thread(piece.whose()), range.length());
    }
    taken
}
