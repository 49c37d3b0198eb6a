//! The walk: backwards in time, into whoever ended each wait, and back where the wait began.
//!
//! Threads that wait for each other lie on a stack, the one that was asked about at the bottom. The
//! path is always in the topmost one. While it is there, all others are blocked, so none can be met
//! again; time only goes back, so the walk ends.

use slowpath_concepts::Softirq;
use slowpath_kernel::timelines::{Doing, Interrupt, Stretch, Timelines, WakeUp, Waker};
use slowpath_model::{CpuId, ThreadId, TimeRange, Timestamp};

use crate::device::device_state;
use crate::{CriticalPath, Link, LinkKind, Segment, State};

/// Where the time of `thread` within `window` went.
///
/// Many paths can be asked of the same time lines; each costs a few binary searches per segment.
pub fn critical_path(lines: &Timelines, thread: ThreadId, window: TimeRange) -> CriticalPath {
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
    CriticalPath {
        thread,
        window,
        segments: walk.segments,
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
    segments: Vec<Segment>,
    links: Vec<Link>,
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
            Doing::Preempted => self.segment(begin, State::Preempted, ""),
            Doing::WaitingForCpu => self.segment(begin, State::WaitCpu, ""),
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
                let detail = match call {
                    Some(call) => format!("in {call}, {why}"),
                    None => why.into(),
                };
                self.segment(begin, State::Unknown, &detail);
            }
            Doing::Dead => self.segment(begin, State::Unknown, "the thread has ended"),
            Doing::Unknown => {
                self.segment(begin, State::Unknown, "events lost or outside of the trace");
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
            self.segment(when.end, State::Running, "");
            let detail = self.interrupt_name(interrupt);
            self.segment(when.begin, State::Interrupted, &detail);
        }
        self.segment(begin, State::Running, "");
    }

    /// Goes to what ended a wait of the topmost thread.
    fn follow(&mut self, wait: Wait<'lines>) {
        let wake = wait.wake;
        let woken = wake.begin.clamp(wait.begin, self.cursor);
        let (state, detail) = match wake.remote {
            true => (State::Ipi, "woken on another processor"),
            false => (State::WaitCpu, ""),
        };
        self.segment(woken, state, detail);
        if self.cursor <= wait.begin {
            return;
        }
        match wake.by {
            Waker::Thread(_) if self.is_unseen_timer(&wait) => {
                self.wait_segment(&wait, State::Timer, "");
            }
            Waker::Thread(waker) => self.enter(waker, &wait, wait.begin, wait.link),
            Waker::Packet { sender: None, .. } => self.wait_segment(&wait, State::Network, ""),
            Waker::Packet {
                sender: Some((sender, sent)),
                during,
            } => self.follow_packet(&wait, sender, sent, during),
            Waker::Interrupt(interrupt) => {
                let state = self.interrupt_state(interrupt, wait.uninterruptible);
                let name = self.interrupt_name(interrupt);
                self.wait_segment(&wait, state, &name);
            }
            Waker::Unknown if self.is_unseen_timer(&wait) => {
                self.wait_segment(&wait, State::Timer, "");
            }
            Waker::Unknown => self.wait_segment(
                &wait,
                State::Unknown,
                "woken by an interrupt that is not in the trace",
            ),
        }
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
            self.wait_segment(wait, State::Network, "");
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
            self.segment(sent, State::Network, &waiting_in(wait.call));
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
                self.segment(wake.begin, state, "");
            }
            _ => self.segment(begin, State::Network, "a packet on its way"),
        }
        true
    }

    /// The path was in `thread` until the cursor, where it woke the topmost one.
    fn enter(&mut self, thread: ThreadId, wait: &Wait<'lines>, until: Timestamp, link: LinkKind) {
        if self.is_waiting(thread) {
            // Only clocks that differ between processors make a thread wake while it waits.
            self.wait_segment(
                wait,
                State::Unknown,
                "threads wait for each other in a circle",
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

    /// The wait was for a time to come, but the trace has no timers: whoever was interrupted seems
    /// to be the waker.
    fn is_unseen_timer(&self, wait: &Wait<'_>) -> bool {
        let sleeps = matches!(wait.call, Some("nanosleep" | "clock_nanosleep"));
        let thread = matches!(wait.wake.by, Waker::Thread(_));
        sleeps && !(thread && self.lines.records_timers())
    }

    fn link(&mut self, from: ThreadId, to: ThreadId, kind: LinkKind, call: Option<&str>) {
        self.links.push(Link {
            at: self.cursor,
            from,
            to,
            kind,
            call: call.map(Into::into),
        });
    }

    /// The rest of a wait of the topmost thread.
    fn wait_segment(&mut self, wait: &Wait<'_>, state: State, detail: &str) {
        let call = waiting_in(wait.call);
        let detail = match (call.is_empty(), detail.is_empty()) {
            (_, true) => call,
            (true, _) => detail.to_owned(),
            _ => format!("{call}, {detail}"),
        };
        self.segment(wait.begin, state, &detail);
    }

    /// The topmost thread was in `state` from `begin` to the cursor, which goes back to `begin`.
    fn segment(&mut self, begin: Timestamp, state: State, detail: &str) {
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
        self.segments.push(Segment {
            range,
            thread,
            comm: self.lines.name(thread, range.end).into_owned(),
            state,
            depth,
            detail: detail.to_owned(),
        });
    }

    fn interrupt_state(&self, interrupt: Interrupt, uninterruptible: bool) -> State {
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
            Interrupt::Irq(line) => match self.lines.irq_names(line).find_map(device_state) {
                Some(state) => state,
                None if uninterruptible => State::BlockDevice,
                None => State::Blocked,
            },
        }
    }

    fn interrupt_name(&self, interrupt: Interrupt) -> String {
        match interrupt {
            Interrupt::Timer => "timer".into(),
            Interrupt::Ipi => "interrupt from another processor".into(),
            Interrupt::Softirq(softirq) => format!("softirq {}", softirq.name()),
            Interrupt::Irq(line) => {
                let names: Vec<&str> = self.lines.irq_names(line).collect();
                format!("irq {line} {}", names.join(" ")).trim_end().into()
            }
        }
    }
}

fn waiting_in(call: Option<&str>) -> String {
    call.map_or(String::new(), |call| format!("in {call}"))
}
