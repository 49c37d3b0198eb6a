//! Waits that ended with an interrupt which stands for no disk, packet or timer of a program: other devices (a graphics
//! card, a terminal), and the kernel's own work (RCU, its worker threads). What they were for, only the system call and
//! the interrupt's name say.

use std::collections::BTreeMap;

use slowpath_critical_path::{Cause, State};
use slowpath_model::Timestamp;
use slowpath_requests::RequestId;

use crate::finding::{Finding, FindingId};
use crate::path::{Piece, Slow, Taken};
use crate::waits::Wait;

pub(crate) fn finding(slow: &Slow<'_>) -> Option<Finding> {
    let waits: BTreeMap<(RequestId, Timestamp), Wait> = (slow.waits())
        .map(|wait| ((wait.request, wait.range.begin), wait))
        .collect();
    let mut taken = Taken::default();
    for piece in slow.pieces().filter(|piece| is_meant(slow, piece)) {
        let range = piece.segment.range;
        taken.add(piece.request, piece.whose(), range);
        let since = (piece.request, range.begin);
        let within = waits.range(..=since).next_back();
        let within = within.filter(|((request, _), wait)| {
            *request == piece.request && wait.range.end >= range.end
        });
        let call = within.and_then(|(_, wait)| wait.call.as_deref());
        taken.blame(named(&piece, call), range.length());
    }
    let most = taken.most_blamed().map_or("", |(most, _)| most);
    let title = format!("Kernel or device: requests wait for an interrupt ({most})");
    let explanation = format!(
        "{} waited {} in all until interrupts woke them, or threads of the kernel for them, that stand neither for a \
         disk nor for the network nor for a timer of a program, by system call and interrupt: {}.",
        taken.slow_requests(),
        taken.total,
        taken.blamed()
    );
    let evidence = taken.evidence_by(slow, "waited in the kernel for", "call and interrupt");
    let advice = "Look at which system call waits so (`slowpath critical-path --span`), and what it does. An interrupt \
                  line (irq) names the device that it waited for; softirq RCU, and timers of rcu threads, stand for work \
                  of the kernel that goes on when every processor has been elsewhere for a moment (membarrier, for \
                  instance): make such calls less often, or not in the request's path.";
    taken.finding(
        slow,
        FindingId::KernelWait,
        title,
        explanation,
        evidence,
        advice,
    )
}

fn is_meant(slow: &Slow<'_>, piece: &Piece) -> bool {
    match piece.segment.state {
        State::Blocked | State::UserInput => matches!(piece.segment.cause, Cause::Interrupt(_)),
        State::Timer => is_of_kernel(slow, piece),
        _ => false,
    }
}

/// Whether the thread is one of the kernel's own, whose sleep is none of a program.
pub(crate) fn is_of_kernel(slow: &Slow<'_>, piece: &Piece) -> bool {
    let lines = slow.all.hosts().lines(piece.segment.host);
    lines.is_some_and(|lines| lines.is_of_kernel(piece.segment.thread))
}

/// For what was waited, and in which call of the request's thread, if another one waited in its place.
fn named(piece: &Piece, call: Option<&str>) -> String {
    let segment = &piece.segment;
    let what = match segment.state {
        State::Timer => format!("a timer of {}", segment.comm),
        _ => segment.detail.to_string(),
    };
    match call.filter(|_| segment.call.is_none()) {
        Some(call) => format!("in {call}, {what}"),
        None => what,
    }
}
