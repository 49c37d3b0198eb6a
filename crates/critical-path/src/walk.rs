//! The walk: backwards in time, into whoever ended each wait, and back where the wait began.
//!
//! Threads that wait for each other lie on a stack, the one that was asked about at the bottom. The
//! path is always in the topmost one. While it is there, all others are blocked (or look for a moment
//! whether they still have to be), so none can be met again; time only goes back, so the walk ends.

use slowpath_kernel::timelines::{Doing, Stretch, Timelines, WakeUp, Waker};
use slowpath_model::{CpuId, Nanoseconds, ThreadId, TimeRange, Timestamp};

use crate::bare::{BareLink, BarePath, Cause, Detail, Piece};
use crate::state_of::interrupt_state;
use crate::{LinkKind, State};

/// Where the time of `thread` within `window` went, without names.
pub fn bare_path(lines: &Timelines, thread: ThreadId, window: TimeRange) -> BarePath<'_> {
    let mut walk = Walk {
        lines,
        cursor: window.end,
        frames: vec![Frame {
            thread,
            until: window.begin,
            entry: LinkKind::Wait,
            call: None,
        }],
        segments: Vec::new(),
        links: Vec::new(),
    };
    while walk.step() {}
    walk.segments.reverse();
    walk.links.reverse();
    BarePath {
        pieces: walk.segments,
        links: walk.links,
    }
}

/// A thread on the stack: the path is in it from the cursor back to `until`.
struct Frame<'lines> {
    thread: ThreadId,
    until: Timestamp,
    /// How the path comes here from the frame below, at `until`.
    entry: LinkKind,
    /// The system call in which the thread below waits meanwhile.
    call: Option<&'lines str>,
}

struct Walk<'lines> {
    lines: &'lines Timelines,
    cursor: Timestamp,
    frames: Vec<Frame<'lines>>,
    /// The last one first, as are the links.
    segments: Vec<Piece<'lines>>,
    links: Vec<BareLink<'lines>>,
}

/// A wait that ended, to be followed to what ended it.
#[derive(Clone, Copy)]
struct Wait<'lines> {
    /// When it began, but not before the path came here.
    begin: Timestamp,
    wake: WakeUp,
    uninterruptible: bool,
    call: Option<&'lines str>,
    /// The waker's link to the thread.
    link: LinkKind,
}

impl<'lines> Walk<'lines> {
    /// Goes back by one stretch of the topmost thread, or leaves it; false when nothing is left.
    fn step(&mut self) -> bool {
        let Some(frame) = self.frames.last() else {
            return false;
        };
        if self.cursor <= frame.until {
            self.leave_frame();
            return true;
        }
        let stretch = self.lines.stretch_before(frame.thread, self.cursor);
        let begin = stretch.range.begin.max(frame.until);
        if frame.entry == LinkKind::Packet && self.deliver(stretch, begin) {
            return true;
        }
        match stretch.doing {
            Doing::Running { cpu } => self.run(cpu, begin),
            Doing::Preempted => self.segment(begin, State::Preempted, Detail::default()),
            Doing::WaitingForCpu => self.segment(begin, State::WaitCpu, Detail::default()),
            Doing::Blocked {
                wake: Some(wake),
                uninterruptible,
                call,
            } => self.follow(Wait {
                begin,
                wake,
                uninterruptible,
                call,
                link: LinkKind::WakeUp,
            }),
            Doing::Unborn { creation } => self.follow(Wait {
                begin,
                wake: creation,
                uninterruptible: false,
                call: None,
                link: LinkKind::Creation,
            }),
            Doing::Blocked {
                wake: None, call, ..
            } => {
                let why = match stretch.range.end == self.lines.range().end {
                    true => "still waiting at the end of the trace",
                    false => "no wake-up in the trace",
                };
                let cause = Cause::Words(why);
                self.segment(begin, State::Unknown, Detail { call, cause });
            }
            Doing::Dead => self.segment(begin, State::Unknown, words("the thread has ended")),
            Doing::Unknown => {
                let why = words("events lost or outside of the trace");
                self.segment(begin, State::Unknown, why);
            }
        }
        true
    }

    /// Back to the thread that waited for the topmost one, at the time when it began to wait.
    fn leave_frame(&mut self) {
        if let Some(left) = self.frames.pop()
            && let Some(below) = self.frames.last()
        {
            let from = below.thread;
            self.link(from, left.thread, left.entry, left.call);
        }
    }

    fn run(&mut self, cpu: CpuId, begin: Timestamp) {
        let range = TimeRange::new(begin, self.cursor);
        for (when, interrupt) in self.lines.interruptions(cpu, range).rev() {
            self.segment(when.end, State::Running, Detail::default());
            let detail = Detail {
                call: None,
                cause: Cause::Interrupt(interrupt),
            };
            self.segment(when.begin, State::Interrupted, detail);
        }
        self.segment(begin, State::Running, Detail::default());
    }

    /// Goes to what ended a wait of the topmost thread.
    fn follow(&mut self, wait: Wait<'lines>) {
        let wake = wait.wake;
        let woken = wake.begin.clamp(wait.begin, self.cursor);
        let (state, detail) = match wake.remote {
            true => (State::Ipi, words("woken on another processor")),
            false => (State::WaitCpu, Detail::default()),
        };
        self.segment(woken, state, detail);
        if self.cursor <= wait.begin {
            return;
        }
        match wake.by {
            Waker::Thread(_) if self.is_unseen_timer(&wait) => {
                self.wait_segment(&wait, State::Timer, Cause::None);
            }
            Waker::Thread(waker) => {
                let until = self.tried_since(&wait);
                self.enter(waker, &wait, until, wait.link);
            }
            Waker::Packet { sender: None, .. } => {
                self.wait_segment(&wait, State::Network, Cause::None)
            }
            Waker::Packet {
                sender: Some((sender, sent)),
                during,
            } => self.follow_packet(&wait, sender, sent, during),
            Waker::Interrupt(interrupt) => {
                let state = interrupt_state(self.lines, interrupt, wait.uninterruptible);
                self.wait_segment(&wait, state, Cause::Interrupt(interrupt));
            }
            Waker::Unknown if self.is_unseen_timer(&wait) => {
                self.wait_segment(&wait, State::Timer, Cause::None);
            }
            Waker::Unknown => self.wait_segment(
                &wait,
                State::Unknown,
                Cause::Words("woken by an interrupt that is not in the trace"),
            ),
        }
    }

    /// When a wait for a lock really began: who waits with a timeout (Java's monitors, Python's
    /// interpreter lock) wakes in between, finds the lock taken and waits again.
    fn tried_since(&self, wait: &Wait<'_>) -> Timestamp {
        /// The look at the lock takes less, unless it is interrupted for long.
        const LOOK: Nanoseconds = Nanoseconds(100_000);
        let Some(frame) = self.frames.last() else {
            return wait.begin;
        };
        let (mut since, mut at, mut ran) = (wait.begin, wait.begin, Nanoseconds::ZERO);
        while wait.call == Some("futex") && at > frame.until && ran <= LOOK {
            let stretch = self.lines.stretch_before(frame.thread, at);
            at = stretch.range.begin.max(frame.until);
            match stretch.doing {
                Doing::Running { .. } => ran += stretch.range.length(),
                Doing::Preempted | Doing::WaitingForCpu => {}
                Doing::Blocked {
                    wake: Some(wake),
                    uninterruptible,
                    call: Some("futex"),
                } if self.is_timeout(wake, uninterruptible) => {
                    (since, ran) = (at, Nanoseconds::ZERO);
                }
                _ => break,
            }
        }
        since
    }

    fn is_timeout(&self, wake: WakeUp, uninterruptible: bool) -> bool {
        matches!(wake.by, Waker::Interrupt(interrupt)
            if interrupt_state(self.lines, interrupt, uninterruptible) == State::Timer)
    }

    /// A packet of this host ended the wait: goes to the thread that sent it, at the time it did.
    fn follow_packet(
        &mut self,
        wait: &Wait<'lines>,
        sender: ThreadId,
        sent: Timestamp,
        during: ThreadId,
    ) {
        if sent <= wait.begin || self.is_waiting(sender) {
            self.wait_segment(wait, State::Network, Cause::None);
            return;
        }
        let at_delivery = self.lines.stretch_before(sender, self.cursor);
        let delivered_itself = during == sender
            && at_delivery.range.begin <= sent
            && matches!(at_delivery.doing, Doing::Running { .. });
        if delivered_itself || sent >= self.cursor {
            self.enter(sender, wait, wait.begin, LinkKind::WakeUp);
            return;
        }
        let by_softirq_thread = during != sender
            && !self.is_waiting(during)
            && (self.lines.name(during, self.cursor)).starts_with("ksoftirqd/");
        if by_softirq_thread {
            let waiter = self.topmost();
            self.link(during, waiter, LinkKind::WakeUp, wait.call);
            self.push(sender, wait.begin, LinkKind::Wait, wait.call);
            self.push(during, sent, LinkKind::Packet, None);
        } else {
            let detail = Detail {
                call: wait.call,
                cause: Cause::None,
            };
            self.segment(sent, State::Network, detail);
            self.enter(sender, wait, wait.begin, LinkKind::Packet);
        }
    }

    /// A thread that only delivers a packet (`ksoftirqd`): what it waited for before is not the
    /// path's matter. Whether the stretch was dealt with.
    fn deliver(&mut self, stretch: Stretch<'lines>, begin: Timestamp) -> bool {
        let Doing::Blocked { wake, .. } = stretch.doing else {
            return false;
        };
        let sender = self.frames.iter().rev().nth(1).map(|frame| frame.thread);
        let woken_by_sender = wake.filter(|wake| {
            matches!(wake.by, Waker::Thread(waker) if Some(waker) == sender)
                && wake.begin >= begin
                && wake.begin <= self.cursor
        });
        match (woken_by_sender, self.frames.last_mut()) {
            (Some(wake), Some(frame)) => {
                frame.until = wake.begin;
                let state = if wake.remote {
                    State::Ipi
                } else {
                    State::WaitCpu
                };
                self.segment(wake.begin, state, Detail::default());
            }
            _ => self.segment(begin, State::Network, words("a packet on its way")),
        }
        true
    }

    /// The path was in `thread` until the cursor, where it woke the topmost one.
    fn enter(&mut self, thread: ThreadId, wait: &Wait<'lines>, until: Timestamp, link: LinkKind) {
        if self.is_waiting(thread) && self.is_running(thread) {
            // It looked whether a lock was free (`tried_since`), and woke this one then.
            while self.topmost() != thread {
                self.leave_frame();
            }
            return;
        }
        if self.is_waiting(thread) {
            // Only clocks that differ between processors make a thread wake while it waits.
            self.wait_segment(
                wait,
                State::Unknown,
                Cause::Words("threads wait for each other in a circle"),
            );
            return;
        }
        let waiter = self.topmost();
        self.link(thread, waiter, link, wait.call);
        self.push(thread, until, LinkKind::Wait, wait.call);
    }

    fn push(
        &mut self,
        thread: ThreadId,
        until: Timestamp,
        entry: LinkKind,
        call: Option<&'lines str>,
    ) {
        self.frames.push(Frame {
            thread,
            until,
            entry,
            call,
        });
    }

    fn topmost(&self) -> ThreadId {
        self.frames
            .last()
            .map_or(ThreadId::IDLE, |frame| frame.thread)
    }

    fn is_waiting(&self, thread: ThreadId) -> bool {
        self.frames.iter().any(|frame| frame.thread == thread)
    }

    fn is_running(&self, thread: ThreadId) -> bool {
        let stretch = self.lines.stretch_before(thread, self.cursor);
        matches!(stretch.doing, Doing::Running { .. })
    }

    /// The wait was for a time to come, but the trace has no timers: whoever was interrupted seems
    /// to be the waker.
    fn is_unseen_timer(&self, wait: &Wait<'_>) -> bool {
        let sleeps = matches!(wait.call, Some("nanosleep" | "clock_nanosleep"));
        let thread = matches!(wait.wake.by, Waker::Thread(_));
        sleeps && !(thread && self.lines.records_timers())
    }

    fn link(&mut self, from: ThreadId, to: ThreadId, kind: LinkKind, call: Option<&'lines str>) {
        self.links.push(BareLink {
            at: self.cursor,
            from,
            to,
            kind,
            call,
        });
    }

    /// The rest of a wait of the topmost thread.
    fn wait_segment(&mut self, wait: &Wait<'lines>, state: State, cause: Cause) {
        let call = wait.call;
        self.segment(wait.begin, state, Detail { call, cause });
    }

    /// The topmost thread was in `state` from `begin` to the cursor, which goes back to `begin`.
    fn segment(&mut self, begin: Timestamp, state: State, detail: Detail<'lines>) {
        if begin >= self.cursor {
            return;
        }
        let range = TimeRange::new(begin, self.cursor);
        let (thread, depth) = (self.topmost(), self.frames.len().saturating_sub(1) as u32);
        self.cursor = begin;
        if let Some(last) = self.segments.last_mut()
            && (last.thread, last.state, last.depth) == (thread, state, depth)
            && last.range.begin == range.end
            && last.detail == detail
        {
            last.range.begin = range.begin;
            return;
        }
        self.segments.push(Piece {
            range,
            thread,
            state,
            depth,
            detail,
        });
    }
}

fn words(words: &'static str) -> Detail<'static> {
    Detail {
        call: None,
        cause: Cause::Words(words),
    }
}
