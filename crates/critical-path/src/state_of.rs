//! The state of a thread in a stretch of its own time line, without following what it waited for.

use slowpath_concepts::Softirq;
use slowpath_kernel::timelines::{Doing, Interrupt, Stretch, Timelines, Waker};

use crate::State;
use crate::device::device_state;

/// The state of a thread in `stretch`: what ended a wait names it, if that was no thread. `None`
/// while the thread did not exist.
pub fn state_of(lines: &Timelines, stretch: &Stretch<'_>) -> Option<State> {
    Some(match stretch.doing {
        Doing::Running { .. } => State::Running,
        Doing::Preempted => State::Preempted,
        Doing::WaitingForCpu => State::WaitCpu,
        Doing::Blocked {
            wake,
            uninterruptible,
            ..
        } => match wake.map(|wake| wake.by) {
            Some(Waker::Interrupt(interrupt)) => interrupt_state(lines, interrupt, uninterruptible),
            Some(Waker::Packet { .. } | Waker::Arrival { .. }) => State::Network,
            Some(Waker::Thread(_) | Waker::Unknown) | None => State::Blocked,
        },
        Doing::Unknown => State::Unknown,
        Doing::Unborn { .. } | Doing::Dead => return None,
    })
}

/// The state of a thread that waits for this interrupt.
pub(crate) fn interrupt_state(
    lines: &Timelines,
    interrupt: Interrupt,
    uninterruptible: bool,
) -> State {
    match interrupt {
        Interrupt::Timer => State::Timer,
        Interrupt::Ipi => State::Ipi,
        Interrupt::Softirq(softirq) => match softirq {
            Softirq::TIMER | Softirq::HRTIMER => State::Timer,
            Softirq::NET_TX | Softirq::NET_RX => State::Network,
            Softirq::BLOCK | Softirq::IRQ_POLL => State::BlockDevice,
            _ => State::Blocked,
        },
        // A wait for one thing only, ended by a device, is a wait for that device: mostly a disk.
        Interrupt::Irq(line) => match lines.irq_names(line).find_map(device_state) {
            Some(state) => state,
            None if uninterruptible => State::BlockDevice,
            None => State::Blocked,
        },
    }
}
