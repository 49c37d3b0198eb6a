//! The walk: backwards in time, into whoever ended each wait, and back where the wait began.
//!
//! Threads that wait for each other lie on a stack, the one that was asked about at the bottom. The
//! path is always in the topmost one. While it is there, all others are blocked (or look for a moment
//! whether they still have to be), so none can be met again. Only the bottom one did other things where
//! something else waited in it (`walk_from_wait`), so it may be met once more. Time only goes back, so the walk
//! ends. A mutex may go through several hands while a thread waits for it: then the path comes back to that
//! thread whenever it was handed over, and goes to the one that had it before. On another host the walk
//! goes by that host's clock; what it finds is told by the clock of the host that was asked about.

use slowpath_kernel::timelines::{Doing, Mutex, Nearby, Stretch, Timelines, WakeUp, Waker};
use slowpath_model::{CpuId, HostId, Nanoseconds, ThreadId, TimeRange, Timestamp};

use crate::bare::{Backwards, BareLink, Cause, Detail, Piece};
use crate::state_of::interrupt_state;
use crate::{Hosts, LOCK_CALLS, LinkKind, State};

mod frozen;

/// Walks paths among hosts. Keeps in mind where it was last: what is near is found sooner.
#[derive(Debug)]
pub struct Walker<'hosts, 'lines> {
    hosts: &'hosts Hosts<'lines>,
    nearby: Nearby,
}

impl<'hosts, 'lines> Walker<'hosts, 'lines> {
    /// One that was nowhere yet.
    pub fn new(hosts: &'hosts Hosts<'lines>) -> Self {
        Self {
            hosts,
            nearby: Nearby::default(),
        }
    }

    /// Tells `path` where the time of `thread` of `host` within `window` went.
    pub fn walk(
        &mut self,
        host: HostId,
        thread: ThreadId,
        window: TimeRange,
        path: &mut impl Backwards<'lines>,
    ) {
        self.go(host, thread, window, false, path);
    }

    /// The same of something that waited throughout `window` for what ended the thread's wait at the end of it,
    /// whatever else the thread did before.
    pub fn walk_from_wait(
        &mut self,
        host: HostId,
        thread: ThreadId,
        window: TimeRange,
        path: &mut impl Backwards<'lines>,
    ) {
        self.go(host, thread, window, true, path);
    }

    fn go(
        &mut self,
        host: HostId,
        thread: ThreadId,
        window: TimeRange,
        waits_throughout: bool,
        path: &mut impl Backwards<'lines>,
    ) {
        let Some(lines) = self.hosts.lines(host) else {
            let cause = Cause::Words("no kernel events of its host");
            if let Some(piece) = Piece::unknown(host, thread, window, cause) {
                path.piece(piece);
            }
            return;
        };
        let mut walk = Walk {
            hosts: self.hosts,
            own: host,
            lines,
            nearby: &mut self.nearby,
            cursor: window.end,
            shown: window.end,
            frames: vec![Frame {
                host,
                thread,
                until: window.begin,
                until_shown: window.begin,
                below: window.begin,
                entry: LinkKind::Wait,
                call: None,
                queue: None,
                halted: None,
                is_busy: waits_throughout,
            }],
            path,
            waits_throughout,
        };
        while walk.step() {}
    }
}

/// A thread on the stack: the path is in it from the cursor back to `until`.
struct Frame<'lines> {
    host: HostId,
    thread: ThreadId,
    /// By its own host's clock, by the clock of the host that was asked about, and by that of the
    /// frame below.
    until: Timestamp,
    until_shown: Timestamp,
    below: Timestamp,
    /// How the path comes here from the frame below, at `until`.
    entry: LinkKind,
    /// The system call in which the thread below waits meanwhile.
    call: Option<&'lines str>,
    /// The wait of this thread that the path is in, where others had what it is for before.
    queue: Option<Queue<'lines>>,
    /// When this thread was stopped or frozen, if that is what the path met of its waits last.
    halted: Option<Timestamp>,
    /// At the bottom: it did other things, too, while something waited (`walk_from_wait`).
    is_busy: bool,
}

/// A wait for a mutex.
#[derive(Clone, Copy)]
struct Queue<'lines> {
    mutex: Mutex,
    wait: Wait<'lines>,
    waker: ThreadId,
    /// When it began, with what was tried for with time-outs before.
    since: Timestamp,
}

struct Walk<'walk, 'lines, Path> {
    hosts: &'walk Hosts<'lines>,
    /// The host that was asked about.
    own: HostId,
    /// Those of the topmost thread's host.
    lines: &'lines Timelines,
    /// By the clock of the topmost thread's host, and by that of the host that was asked about.
    cursor: Timestamp,
    shown: Timestamp,
    frames: Vec<Frame<'lines>>,
    nearby: &'walk mut Nearby,
    path: &'walk mut Path,
    /// The wait that the path meets first is as long as the window.
    waits_throughout: bool,
}

/// A thread of another host that sent a packet.
struct Sender<'lines> {
    host: HostId,
    thread: ThreadId,
    lines: &'lines Timelines,
    /// By its host's clock, and by that of the host that received the packet.
    sent: Timestamp,
    sent_here: Timestamp,
    /// When the wait began, by the sender's clock.
    until: Timestamp,
}

/// A wait that ended, to be followed to what ended it.
#[derive(Clone, Copy)]
struct Wait<'lines> {
    /// When it began, and the same, but not before the path came here.
    whole: Timestamp,
    begin: Timestamp,
    wake: WakeUp,
    uninterruptible: bool,
    stopped: bool,
    call: Option<&'lines str>,
    outside_calls: bool,
    /// The waker's link to the thread.
    link: LinkKind,
}

impl<'lines, Path: Backwards<'lines>> Walk<'_, 'lines, Path> {
    /// Goes back by one stretch of the topmost thread, or leaves it; false when nothing is left.
    fn step(&mut self) -> bool {
        let Some(frame) = self.frames.last() else {
            return false;
        };
        if self.cursor <= frame.until {
            self.leave_frame();
            return true;
        }
        if let Some(queue) = frame.queue.filter(|queue| queue.since < self.cursor) {
            self.enter_holder(queue);
            return true;
        }
        let stretch = (self.lines).stretch_before_near(frame.thread, self.cursor, self.nearby);
        let whole = stretch.range.begin;
        let begin = match std::mem::take(&mut self.waits_throughout) {
            true => frame.until,
            false => whole.max(frame.until),
        };
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
                stopped,
                call,
                outside_calls,
            } => self.follow(Wait {
                whole,
                begin,
                wake,
                uninterruptible,
                stopped,
                call,
                outside_calls,
                link: LinkKind::WakeUp,
            }),
            Doing::Unborn { creation } => self.follow(Wait {
                whole,
                begin,
                wake: creation,
                uninterruptible: false,
                stopped: false,
                call: None,
                outside_calls: false,
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
                let range = TimeRange::new(begin, self.cursor);
                let missed = self.lines.beside_missing_switches(self.topmost(), range);
                let without = self.lines.without_switches(range);
                let why = match missed > Nanoseconds::ZERO {
                    _ if without.get() * 2 > range.length().get() => {
                        "no switches of threads were recorded then"
                    }
                    true => "a switch is missing: it ran for a part of this time",
                    false => "events lost or outside of the trace",
                };
                self.segment(begin, State::Unknown, words(why));
            }
        }
        true
    }

    /// Back to the thread that waited for the topmost one, at the time when it began to wait.
    fn leave_frame(&mut self) {
        if let Some(left) = self.frames.pop()
            && let Some(below) = self.frames.last()
        {
            let from = (below.host, below.thread);
            if below.host != left.host
                && let Some(lines) = self.hosts.lines(below.host)
            {
                (self.lines, self.cursor) = (lines, left.below);
                self.shown = left.until_shown;
            }
            self.link(from, (left.host, left.thread), left.entry, left.call);
        }
    }

    fn run(&mut self, cpu: CpuId, begin: Timestamp) {
        let range = TimeRange::new(begin, self.cursor);
        let interruptions = (self.lines).interruptions_near(cpu, range, self.nearby);
        for (when, interrupt) in interruptions.rev() {
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
        let halted = (self.frames.last_mut()).and_then(|frame| frame.halted.take());
        match wake.by {
            // Who let it go on did not work for it.
            _ if wait.stopped => self.halted(&wait, Cause::Stopped),
            Waker::Thread(waker) if self.is_thawed_by(waker, &wait) => {
                self.halted(&wait, Cause::Frozen);
            }
            Waker::Thread(waker) if wake.for_signal && self.is_ended_by(waker, &wait) => {
                self.enter(waker, &wait, wait.begin, wait.link);
            }
            // It was given up before or while the handler ran: nobody woke the thread for that.
            _ if wake.for_signal && is_for_a_lock(&wait) => {
                let begin = self.tried_since(&wait, true);
                self.wait_segment(&Wait { begin, ..wait }, State::Blocked, Cause::CutShort);
            }
            // For no other signal than that it was to stop: who sent that did not work for it either.
            Waker::Thread(_) if wake.for_signal && self.is_right_before(halted, &wait) => {
                match is_sleep(&wait) {
                    true => self.wait_segment(&wait, State::Timer, Cause::None),
                    false => self.wait_segment(&wait, State::Blocked, Cause::CutShort),
                }
            }
            Waker::Thread(_) if self.is_unseen_timer(&wait) => {
                self.wait_segment(&wait, State::Timer, Cause::None);
            }
            Waker::Thread(waker) => {
                let since = self.tried_since(&wait, true);
                match self.lines.mutex_since(self.topmost(), wait.whole) {
                    Some(mutex) => self.enter_holder(Queue {
                        mutex,
                        wait,
                        waker,
                        since,
                    }),
                    None => self.enter(waker, &wait, since, wait.link),
                }
            }
            Waker::Packet {
                sender: (sender, sent),
                during,
            } => self.follow_packet(&wait, sender, sent, during),
            Waker::Arrival { received, .. } => self.follow_arrival(&wait, received),
            Waker::Interrupt(interrupt) => {
                let state = interrupt_state(self.lines, interrupt, wait.uninterruptible);
                let begin = self.tried_since(&wait, false);
                let wait = Wait { begin, ..wait };
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

    /// Goes to the thread that had a mutex at the cursor, and there back to when another one gave it up.
    fn enter_holder(&mut self, queue: Queue<'lines>) {
        let Queue {
            mutex, wait, since, ..
        } = queue;
        let waiter = self.topmost();
        let hand_overs = |from, until| {
            let all = self.lines.hand_overs(mutex, from, until);
            all.filter(|one| one.by != waiter)
        };
        let given_up = hand_overs(self.cursor, wait.wake.begin).next();
        let (holder, link) = match given_up {
            Some(hand_over) => (hand_over.by, LinkKind::Release),
            None => (queue.waker, wait.link),
        };
        // Strictly before: the walk goes back.
        let got = hand_overs(since, self.cursor).rfind(|one| one.by != holder);
        if let Some(frame) = self.frames.last_mut() {
            frame.queue = got.map(|_| queue);
        }
        let until = got.map_or(since, |hand_over| hand_over.at);
        let begin = match got {
            Some(hand_over) => hand_over.at,
            None => wait.begin.min(self.cursor),
        };
        self.enter(holder, &Wait { begin, ..wait }, until, link);
    }

    /// When a wait for a lock really began: who waits with a timeout (Java's monitors, Python's
    /// interpreter lock) wakes in between, finds the lock taken and waits again, at the same word of memory; so does
    /// whom a signal interrupts. A wait that ends with its own time is no look at a lock: `after_timeouts` is false.
    fn tried_since(&self, wait: &Wait<'_>, after_timeouts: bool) -> Timestamp {
        /// The look at the lock takes less, unless it is interrupted for long.
        const LOOK: Nanoseconds = Nanoseconds(100_000);
        /// Where it is known to be for the same word, it may have looked more than once: Java's threads spin before
        /// they wait again.
        const LOOKS: Nanoseconds = Nanoseconds(1_000_000);
        /// The handler of a signal takes less (a profiler's walks the stack), and so does a processor to come. Who
        /// does other things for longer meanwhile does not only wait for the lock.
        const BETWEEN: Nanoseconds = Nanoseconds(5_000_000);
        let Some(frame) = self.frames.last() else {
            return wait.begin;
        };
        let (mut since, mut at) = (wait.begin, wait.begin);
        let (mut ran, mut ready) = (Nanoseconds::ZERO, Nanoseconds::ZERO);
        let is_lock = is_for_a_lock(wait);
        let word = self.lines.futex_since(frame.thread, wait.begin);
        while is_lock && at > frame.until && ran <= BETWEEN {
            let stretch = self.lines.stretch_before(frame.thread, at);
            at = stretch.range.begin.max(frame.until);
            match stretch.doing {
                Doing::Running { .. } => ran += stretch.range.length(),
                Doing::Preempted | Doing::WaitingForCpu => ready += stretch.range.length(),
                Doing::Blocked {
                    wake: Some(wake),
                    uninterruptible,
                    call,
                    ..
                } if call == wait.call => {
                    let word_before = self.lines.futex_since(frame.thread, stretch.range.begin);
                    let looked = match word.zip(word_before) {
                        // Who waits without a time-out now does not try again and again: Java's threads have one word
                        // for all that they wait for by `LockSupport`.
                        Some((futex, before)) => {
                            let between = TimeRange::new(stretch.range.end, since);
                            futex.word == before.word
                                && futex.is_timed
                                && ran <= LOOKS
                                && !self.lines.made_other_calls(frame.thread, between)
                        }
                        None => ran <= LOOK && ready <= BETWEEN,
                    };
                    let was_timeout = || {
                        after_timeouts
                            && call == Some("futex")
                            && looked
                            && self.is_timeout(wake, uninterruptible)
                    };
                    if !(was_timeout() || wake.by_signal && ready <= BETWEEN) {
                        break;
                    }
                    (since, ran, ready) = (at, Nanoseconds::ZERO, Nanoseconds::ZERO);
                }
                _ => break,
            }
        }
        since
    }

    /// Whether the wait is the last that the topmost thread does, as another one ends their process (`exit_group`): the
    /// kernel wakes it for a signal that nobody takes, and it makes no call any more. Nobody had what it waited for.
    fn is_ended_by(&self, waker: ThreadId, wait: &Wait<'_>) -> bool {
        let (thread, woken) = (self.topmost(), wait.wake.begin);
        let process = |thread| self.lines.process(thread, woken);
        let ended = self.lines.life(thread).end;
        if process(thread).is_none()
            || process(thread) != process(waker)
            || ended == self.lines.range().end
            || self.lines.last_call(thread).is_some()
        {
            return false;
        }
        let rest = TimeRange::new(woken, ended.max(woken));
        let waits_again = || {
            let mut at = ended;
            while at > self.cursor {
                let stretch = self.lines.stretch_before(thread, at);
                if matches!(stretch.doing, Doing::Blocked { call: Some(_), .. }) {
                    return stretch.range.begin >= self.cursor;
                }
                at = stretch.range.begin;
            }
            false
        };
        !self.lines.made_other_calls(thread, rest) && !waits_again()
    }

    /// The topmost thread stood still until it was let go on.
    fn halted(&mut self, wait: &Wait<'lines>, cause: Cause) {
        if let Some(frame) = self.frames.last_mut() {
            frame.halted = Some(wait.whole);
        }
        self.wait_segment(wait, State::Blocked, cause);
    }

    /// Whether the topmost thread was woken only to be stopped or frozen, at `halted`: it made no call in between.
    fn is_right_before(&self, halted: Option<Timestamp>, wait: &Wait<'_>) -> bool {
        halted.is_some_and(|halted| {
            let between = TimeRange::new(wait.wake.end.min(halted), halted);
            !self.lines.made_other_calls(self.topmost(), between)
        })
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
        if sent <= wait.begin || self.is_waiting(self.host(), sender) {
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
            && !self.is_waiting(self.host(), during)
            && (self.lines.name(during, self.cursor)).starts_with("ksoftirqd/");
        if by_softirq_thread {
            self.link_here(during, LinkKind::WakeUp, wait.call);
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

    /// A packet from elsewhere ended the wait: goes to the thread that sent it, if its host is known.
    fn follow_arrival(&mut self, wait: &Wait<'lines>, received: Timestamp) {
        let host = self.host();
        let Some(sender) = self.sender(host, wait, received) else {
            return self.wait_segment(wait, State::Network, Cause::None);
        };
        let detail = Detail {
            call: wait.call,
            cause: Cause::None,
        };
        // By clocks that are a little off it may seem to come before it was sent.
        self.segment(sender.sent_here.min(self.cursor), State::Network, detail);
        let waiter = (host, self.topmost());
        self.link(
            (sender.host, sender.thread),
            waiter,
            LinkKind::Packet,
            wait.call,
        );
        let until_shown = self.shown_at(wait.begin);
        self.frames.push(Frame {
            host: sender.host,
            thread: sender.thread,
            until: sender.until,
            until_shown,
            below: wait.begin,
            entry: LinkKind::Wait,
            call: wait.call,
            queue: None,
            halted: None,
            is_busy: false,
        });
        (self.lines, self.cursor) = (sender.lines, sender.sent);
    }

    /// Who sent the packet on another host; `None` where that is not known, or was not after the wait
    /// began.
    fn sender(
        &self,
        host: HostId,
        wait: &Wait<'lines>,
        received: Timestamp,
    ) -> Option<Sender<'lines>> {
        let network = self.hosts.network()?;
        let during = TimeRange::new(wait.begin, received);
        let origin = network.origin(host, self.topmost(), wait.wake.cpu, during)?;
        let lines = self.hosts.lines(origin.host)?;
        let sender = Sender {
            host: origin.host,
            thread: lines.sender(origin.cpu, origin.sent)?,
            lines,
            sent: origin.sent,
            sent_here: network.translate(origin.sent, origin.host, host)?,
            until: network.translate(wait.begin, host, origin.host)?,
        };
        let is_waiting = self.is_waiting(sender.host, sender.thread);
        (!is_waiting && sender.sent > sender.until && sender.sent_here > wait.begin)
            .then_some(sender)
    }

    /// A time of the topmost thread's host by the clock of the host that was asked about, between
    /// where the frame ends and the cursor.
    fn shown_at(&self, at: Timestamp) -> Timestamp {
        let Some(frame) = self.frames.last() else {
            return at;
        };
        if at <= frame.until {
            return frame.until_shown;
        }
        let network = self.hosts.network().filter(|_| frame.host != self.own);
        let shown = network.and_then(|all| all.translate(at, frame.host, self.own));
        shown.unwrap_or(at).max(frame.until_shown).min(self.shown)
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
        let until_shown = woken_by_sender.map(|wake| self.shown_at(wake.begin));
        match (woken_by_sender.zip(until_shown), self.frames.last_mut()) {
            (Some((wake, until_shown)), Some(frame)) => {
                (frame.until, frame.until_shown) = (wake.begin, until_shown);
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
        let host = self.host();
        let is_other = |frame: &&Frame<'_>| (frame.host, frame.thread) != (host, thread);
        let mut above = self.frames.iter().rev().take_while(is_other);
        let is_here = above.all(|frame| frame.host == host);
        let is_waiting = self.is_waiting(host, thread);
        if is_here && is_waiting && self.is_running(thread) {
            // It looked whether a lock was free (`tried_since`), and woke this one then.
            while self.topmost() != thread {
                self.leave_frame();
            }
            if let Some(frame) = self.frames.last_mut() {
                frame.queue = None;
            }
            return;
        }
        if is_waiting {
            // Only clocks that differ between processors make a thread wake while it waits.
            self.wait_segment(
                wait,
                State::Unknown,
                Cause::Words("threads wait for each other in a circle"),
            );
            return;
        }
        self.link_here(thread, link, wait.call);
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
            host: self.host(),
            thread,
            until,
            until_shown: self.shown_at(until),
            below: until,
            entry,
            call,
            queue: None,
            halted: None,
            is_busy: false,
        });
    }

    /// That of the topmost thread.
    fn host(&self) -> HostId {
        self.frames.last().map_or(self.own, |frame| frame.host)
    }

    fn topmost(&self) -> ThreadId {
        self.frames
            .last()
            .map_or(ThreadId::IDLE, |frame| frame.thread)
    }

    fn is_waiting(&self, host: HostId, thread: ThreadId) -> bool {
        let mut waiting = self.frames.iter().filter(|frame| !frame.is_busy);
        waiting.any(|frame| (frame.host, frame.thread) == (host, thread))
    }

    fn is_running(&self, thread: ThreadId) -> bool {
        let stretch = self.lines.stretch_before(thread, self.cursor);
        matches!(stretch.doing, Doing::Running { .. })
    }

    /// The wait was for a time to come, but the trace has no timers: whoever was interrupted seems
    /// to be the waker.
    fn is_unseen_timer(&self, wait: &Wait<'_>) -> bool {
        let thread = matches!(wait.wake.by, Waker::Thread(_));
        is_sleep(wait) && !(thread && self.lines.records_timers())
    }

    /// From a thread of the topmost one's host to the topmost one.
    fn link_here(&mut self, from: ThreadId, kind: LinkKind, call: Option<&'lines str>) {
        let host = self.host();
        self.link((host, from), (host, self.topmost()), kind, call);
    }

    fn link(
        &mut self,
        from: (HostId, ThreadId),
        to: (HostId, ThreadId),
        kind: LinkKind,
        call: Option<&'lines str>,
    ) {
        self.path.link(BareLink {
            at: self.shown,
            hosts: [from.0, to.0],
            from: from.1,
            to: to.1,
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
        let recorded = TimeRange::new(begin, self.cursor);
        let range = TimeRange::new(self.shown_at(begin), self.shown);
        (self.cursor, self.shown) = (recorded.begin, range.begin);
        if range.is_empty() {
            return;
        }
        let (host, thread) = (self.host(), self.topmost());
        let depth = self.frames.len().saturating_sub(1) as u32;
        self.path.piece(Piece {
            range,
            recorded,
            host,
            thread,
            state,
            depth,
            detail,
        });
    }
}

/// Whether nothing but a time to come ends the wait, unless a signal does.
fn is_sleep(wait: &Wait<'_>) -> bool {
    matches!(wait.call, Some("nanosleep" | "clock_nanosleep"))
}

fn is_for_a_lock(wait: &Wait<'_>) -> bool {
    (LOCK_CALLS.iter()).any(|(name, _)| wait.call == Some(name))
}

fn words(words: &'static str) -> Detail<'static> {
    Detail {
        call: None,
        cause: Cause::Words(words),
    }
}
