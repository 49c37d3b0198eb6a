//! Threads that were frozen with their control group, from what their waits look like: no event tells of it.
//!
//! Not for those that a signal stopped: their switches say so.

use slowpath_kernel::timelines::{Doing, Waker};
use slowpath_model::{Nanoseconds, ThreadId, TimeRange, Timestamp};

use super::{Wait, Walk};
use crate::bare::Backwards;

/// So far apart one thread lets the threads of a process go on, at most.
const AT_ONCE: Nanoseconds = Nanoseconds(1_000_000);

impl<'lines, Path: Backwards<'lines>> Walk<'_, 'lines, Path> {
    /// Whether the topmost thread was frozen: it slept in no system call, until a thread of another process woke it. Who
    /// serves its page faults (FUSE, userfaultfd) does so as well, but is woken by it first. Where signals could not end
    /// that sleep (version 1 of control groups), it may have lacked a page that the other had, unless more tells.
    pub(super) fn is_thawed_by(&self, waker: ThreadId, wait: &Wait<'_>) -> bool {
        wait.outside_calls
            && self.lines.tells_sleeping_calls()
            && self.is_of_another_process(waker, wait.wake.begin)
            && !self.lines.is_of_kernel(waker)
            && !self.is_asked(waker, wait)
            && (!wait.uninterruptible
                || self.is_woken_to_freeze(wait)
                || self.is_thawed_with_others(waker, wait))
    }

    fn is_of_another_process(&self, other: ThreadId, at: Timestamp) -> bool {
        let process = |thread| self.lines.process(thread, at);
        let processes = process(self.topmost()).zip(process(other));
        processes.is_some_and(|(own, other)| own != other)
    }

    /// Whether the topmost thread woke that one before, from where it ran last.
    fn is_asked(&self, other: ThreadId, wait: &Wait<'_>) -> bool {
        let (thread, woken) = (self.topmost(), wait.wake.begin);
        let last_run = self.lines.stretch_before(thread, wait.whole).range;
        let during = TimeRange::new(last_run.begin.min(woken), woken);
        (self.lines.backwards(other, during)).any(|stretch| {
            matches!(stretch.doing, Doing::Blocked { wake: Some(wake), .. } if wake.by == Waker::Thread(thread))
        })
    }

    /// Whether a thread of another process woke the topmost one for a signal right before the wait, as who freezes a group
    /// does with threads that sleep.
    fn is_woken_to_freeze(&self, wait: &Wait<'_>) -> bool {
        let thread = self.topmost();
        let mut at = wait.whole;
        while at > self.lines.range().begin {
            let stretch = self.lines.stretch_before(thread, at);
            match stretch.doing {
                Doing::Running { .. } | Doing::Preempted | Doing::WaitingForCpu => {}
                Doing::Blocked {
                    wake: Some(wake), ..
                } => {
                    let between = TimeRange::new(wake.end.min(wait.whole), wait.whole);
                    return wake.for_signal
                        && matches!(wake.by, Waker::Thread(by) if self.is_of_another_process(by, wake.begin))
                        && !self.lines.made_other_calls(thread, between);
                }
                _ => return false,
            }
            at = stretch.range.begin;
        }
        false
    }

    /// Whether that thread ended such a wait of another thread of the topmost one's process at that time, too.
    fn is_thawed_with_others(&self, waker: ThreadId, wait: &Wait<'_>) -> bool {
        let (thread, woken) = (self.topmost(), wait.wake.begin);
        let process = self.lines.process(thread, woken);
        let around = TimeRange::new(woken - AT_ONCE, woken + AT_ONCE);
        let is_thawed = |other: ThreadId| {
            self.lines.backwards(other, around).any(|stretch| {
                matches!(
                    stretch.doing,
                    Doing::Blocked { wake: Some(wake), uninterruptible: true, outside_calls: true, .. }
                        if wake.by == Waker::Thread(waker)
                )
            })
        };
        let mut others = self.lines.threads().iter().copied();
        others.any(|other| {
            other != thread && self.lines.process(other, woken) == process && is_thawed(other)
        })
    }
}
