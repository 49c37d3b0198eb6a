//! Waits that ended with an interrupt which stands for no disk, packet or timer: other devices (a graphics card, a
//! terminal), and the kernel's own work (RCU). What they were for, only the system call and the interrupt's name say.

use slowpath_critical_path::{Cause, State};

use crate::finding::{Finding, FindingId};
use crate::path::{Piece, Slow, Taken};

pub(crate) fn finding(slow: &Slow<'_>) -> Option<Finding> {
    let mut taken = Taken::default();
    for piece in slow.pieces().filter(is_meant) {
        let range = piece.segment.range;
        taken.add(piece.request, piece.whose(), range);
        taken.blame(piece.segment.detail.to_string(), range.length());
    }
    let most = taken.most_blamed().map_or("", |(most, _)| most);
    let title = format!("Kernel or device: requests wait for an interrupt ({most})");
    let explanation = format!(
        "{} waited {} in all until interrupts woke them that stand neither for a disk nor for the network nor for a \
         timer, by system call and interrupt: {}.",
        taken.slow_requests(),
        taken.total,
        taken.blamed()
    );
    let evidence = taken.evidence_by(slow, "waited in the kernel for", "call and interrupt");
    let advice = "Look at which system call waits so (`slowpath critical-path --span`), and what it does. An interrupt \
                  line (irq) names the device that it waited for; softirq RCU stands for work of the kernel that goes \
                  on when every processor has been elsewhere for a moment (membarrier, for instance): make such calls \
                  less often, or not in the request's path.";
    taken.finding(
        slow,
        FindingId::KernelWait,
        title,
        explanation,
        evidence,
        advice,
    )
}

fn is_meant(piece: &Piece) -> bool {
    let by_interrupt = matches!(piece.segment.cause, Cause::Interrupt(_));
    by_interrupt && matches!(piece.segment.state, State::Blocked | State::UserInput)
}
