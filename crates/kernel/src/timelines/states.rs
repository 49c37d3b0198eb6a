//! How long a thread ran, was runnable, blocked or unknown within a window.

use slowpath_model::{Nanoseconds, ThreadId, TimeRange};

use super::{Doing, Timelines};

/// Lengths that add up to the window: running + runnable + blocked + unknown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ThreadStates {
    /// On a processor, interrupts included.
    pub running: Nanoseconds,
    /// The part of `running` that interrupts took.
    pub interrupted: Nanoseconds,
    /// Preempted, or woken and waiting for a processor: about what Linux calls `run_delay`.
    pub runnable: Nanoseconds,
    /// Waiting to be woken, or gone.
    pub blocked: Nanoseconds,
    /// Not created yet, outside the trace, or where events were lost.
    pub unknown: Nanoseconds,
}

impl Timelines {
    /// What `thread` did within `window`.
    pub fn states(&self, thread: ThreadId, window: TimeRange) -> ThreadStates {
        let mut states = ThreadStates::default();
        for stretch in self.backwards(thread, window) {
            let length = stretch.range.length();
            match stretch.doing {
                Doing::Running { cpu } => {
                    states.running += length;
                    states.interrupted += self
                        .interruptions(cpu, stretch.range)
                        .map(|(when, _)| when.length())
                        .sum();
                }
                Doing::Preempted | Doing::WaitingForCpu => states.runnable += length,
                Doing::Blocked { .. } | Doing::Dead => states.blocked += length,
                Doing::Unborn { .. } | Doing::Unknown => states.unknown += length,
            }
        }
        states
    }
}
