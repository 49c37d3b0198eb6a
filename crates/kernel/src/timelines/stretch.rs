//! What a thread was doing at a time: derived from its runs and wake-ups when asked.
//!
//! A switch-out tells what follows it, a wake-up or a switch-in what came before it. Where events
//! of any processor are missing, the thread may have run or been woken there: that time is unknown,
//! and only what comes after tells about the time between the loss and itself.

use slowpath_concepts::{Softirq, SwitchOut};
use slowpath_model::{CpuId, ThreadId, TimeRange, Timestamp};

use super::entry::{self, Delivery, Run, RunRow, Stage, Wake, WakeRow};
use super::nearby::{Nearby, Places, count_near};
use super::record::{Call, Interrupt, Returned, interrupt_of};
use super::scan::AT_ONCE_NS;
use super::{MAKES_KERNEL_THREADS, Timelines, leading, range};

/// A stretch of time in which a thread did one thing.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Stretch<'lines> {
    /// When; stretches of a thread follow each other without a gap.
    pub range: TimeRange,
    /// What.
    pub doing: Doing<'lines>,
}

/// What a thread was doing.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Doing<'lines> {
    /// It was on a processor (interrupts included).
    Running {
        /// Which.
        cpu: CpuId,
    },
    /// It lost its processor although it could have gone on.
    Preempted,
    /// It was woken and waits for a processor.
    WaitingForCpu,
    /// It waited to be woken.
    Blocked {
        /// What ended the wait, where the trace tells.
        wake: Option<WakeUp>,
        /// The wait could not be interrupted by a signal: mostly for a device.
        uninterruptible: bool,
        /// A signal had stopped it: what it waited for is to be let go on.
        stopped: bool,
        /// The system call that it was in, where the trace tells.
        call: Option<&'lines str>,
        /// It slept in none: its last call had returned.
        outside_calls: bool,
    },
    /// It did not exist yet.
    Unborn {
        /// What created it.
        creation: WakeUp,
    },
    /// It was gone.
    Dead,
    /// The trace does not tell.
    Unknown,
}

/// How a thread was woken.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct WakeUp {
    /// When the waker began to wake it.
    pub begin: Timestamp,
    /// When it was runnable, perhaps on another processor.
    pub end: Timestamp,
    /// The waker's processor.
    pub cpu: CpuId,
    /// The thread became runnable on another processor, which had to be told.
    pub remote: bool,
    /// Who woke it.
    pub by: Waker,
    /// A signal interrupted the call in which it waited.
    pub by_signal: bool,
    /// It was woken for a signal, whether that interrupted the call or what it waited for came before it ran.
    pub for_signal: bool,
}

/// Who woke a thread.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Waker {
    /// Another thread.
    Thread(ThreadId),
    /// An interrupt, the innermost one.
    Interrupt(Interrupt),
    /// A packet of this host.
    Packet {
        /// The thread that sent it, and when.
        sender: (ThreadId, Timestamp),
        /// The thread in whose time it was received: the sender, `ksoftirqd`, or whoever ran.
        during: ThreadId,
    },
    /// A packet that no thread of this host sent.
    Arrival {
        /// When it was received, on the waker's processor.
        received: Timestamp,
        /// The thread in whose time that was.
        during: ThreadId,
    },
    /// The trace does not tell.
    Unknown,
}

/// The word of memory at which a thread waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Futex {
    /// A number that words seldom have in common.
    pub word: u16,
    /// It waits no longer than until a time.
    pub is_timed: bool,
    /// It is that of a mutex.
    pub is_for_mutex: bool,
}

impl Timelines {
    /// What `thread` was doing right before `at`: the stretch that begins before `at` and ends at
    /// or after it.
    pub fn stretch_before(&self, thread: ThreadId, at: Timestamp) -> Stretch<'_> {
        self.stretch_from(thread, at, &mut Places::default())
    }

    /// The same, found sooner where the one asked for last is near.
    pub fn stretch_before_near(
        &self,
        thread: ThreadId,
        at: Timestamp,
        nearby: &mut Nearby,
    ) -> Stretch<'_> {
        self.stretch_from(thread, at, nearby.of_thread(thread))
    }

    fn stretch_from(&self, thread: ThreadId, at: Timestamp, near: &mut Places) -> Stretch<'_> {
        let (at, known) = (at.ns(), self.known);
        if at <= known.begin {
            return unknown(i64::MIN, known.begin);
        }
        if at > known.end {
            return unknown(known.end, i64::MAX);
        }
        let (runs, wakes) = self.line(thread);
        let after = count_near(runs, &mut near.runs, |run| Run::from_row(run).begin < at);
        if let Some(run) = run_before(runs, after)
            && run.end >= at
        {
            let doing = match self.cpu_at(run.cpu) {
                Some(line) if !run.in_part => Doing::Running { cpu: line.cpu },
                _ => Doing::Unknown,
            };
            return Stretch {
                range: range(run.begin, run.end),
                doing,
            };
        }
        self.between_runs((runs, wakes), after, &mut near.wakes)
            .before(at)
            .into_iter()
            .flatten()
            .find(|stretch| stretch.range.end.ns() >= at)
            .unwrap_or_else(|| unknown(known.begin, at))
    }

    /// From the thread's creation to its end, or as far as the trace covers.
    pub fn life(&self, thread: ThreadId) -> TimeRange {
        let whole = self.range();
        let last = self.stretch_before(thread, whole.end);
        let begin = match self.birth(thread) {
            Some((at, _)) => at,
            None => whole.begin,
        };
        let end = match last.doing {
            Doing::Dead => last.range.begin,
            _ => whole.end,
        };
        TimeRange::new(begin, end)
    }

    /// Who created `thread`, where the trace shows that.
    pub fn creator(&self, thread: ThreadId) -> Option<ThreadId> {
        match self.birth(thread)?.1.by {
            Waker::Thread(creator) => Some(creator),
            _ => None,
        }
    }

    /// When and how the thread was created, where nothing is known of it before: events that are missing before
    /// its creation tell of none.
    fn birth(&self, thread: ThreadId) -> Option<(Timestamp, WakeUp)> {
        let before_first_run = self.between_runs(self.line(thread), 0, &mut 0);
        let mut at = before_first_run.begin;
        while at < before_first_run.end {
            let next = before_first_run.before(at + 1);
            let mut known = next.iter().flatten();
            let first = known.find(|stretch| stretch.doing != Doing::Unknown);
            if let Some(first) = first {
                return match first.doing {
                    Doing::Unborn { creation } => Some((first.range.end, creation)),
                    _ => None,
                };
            }
            at = next.iter().flatten().last()?.range.end.ns();
        }
        None
    }

    /// Everything that `thread` did within `window`, cut to it, the last first.
    pub fn backwards(
        &self,
        thread: ThreadId,
        window: TimeRange,
    ) -> impl Iterator<Item = Stretch<'_>> {
        let mut cursor = window.end;
        let mut near = Places::default();
        std::iter::from_fn(move || {
            if cursor <= window.begin {
                return None;
            }
            let mut stretch = self.stretch_from(thread, cursor, &mut near);
            stretch.range = stretch
                .range
                .intersect(range(window.begin.ns(), cursor.ns()));
            cursor = stretch.range.begin;
            Some(stretch)
        })
    }

    /// The time between the run before position `next` of a thread's runs and that run; its wake-ups are looked for
    /// near a position.
    fn between_runs<'lines>(
        &'lines self,
        (runs, wakes): (&'lines [RunRow], &'lines [WakeRow]),
        next: usize,
        near: &mut usize,
    ) -> Interval<'lines> {
        let before = run_before(runs, next);
        let begin = before.map_or(self.known.begin, |run| run.end);
        let following = runs.get(next).map(Run::from_row);
        // Where the switch to it is missing, what it returns from is told after the time in which that was.
        let returning = match following {
            Some(part) if part.in_part && part.left.is_none() => (runs.get(next + 1))
                .map(Run::from_row)
                .filter(|run| run.begin == part.end),
            whole => whole,
        };
        let end = following.map_or(self.known.end, |run| run.begin);
        let first_wake = count_near(wakes, near, |wake| {
            let at = Wake::from_row(wake).at;
            before.is_some_and(|run| at <= run.begin) || at < self.known.begin
        });
        let wakes = &wakes[first_wake..];
        let count = leading(wakes, |wake| Wake::from_row(wake).at <= end);
        Interval {
            lines: self,
            wakes: &wakes[..count],
            before: before.filter(|run| run.left.is_some()),
            call: self.call_at_the_end(&runs[..next.min(runs.len())]),
            begin,
            end,
            then_runs: next < runs.len(),
            interrupted: returning.is_some_and(|run| run.returned == Returned::Interrupted),
        }
    }

    /// The word of memory at which a thread waits from `since` on, if it does so in `futex` and the trace tells.
    pub fn futex_since(&self, thread: ThreadId, since: Timestamp) -> Option<Futex> {
        let (runs, _) = self.line(thread);
        let past = runs.partition_point(|row| Run::from_row(row).begin < since.ns());
        let run = run_before(runs, past).filter(|run| run.end == since.ns())?;
        let word = run.word;
        word.is_known().then(|| Futex {
            word: word.number(),
            is_timed: word.is_timed(),
            is_for_mutex: word.is_for_mutex(),
        })
    }

    /// Whether a thread is known to have made system calls within `during`, from where it began to run to where it
    /// ended, that are not for futexes.
    pub fn made_other_calls(&self, thread: ThreadId, during: TimeRange) -> bool {
        let (runs, _) = self.line(thread);
        let first = runs.partition_point(|row| Run::from_row(row).end <= during.begin.ns());
        let mut runs = runs[first..].iter().map(Run::from_row);
        let mut within = runs.by_ref().take_while(|run| run.begin < during.end.ns());
        within.any(|run| run.others)
    }

    /// What the call returned in which a thread waited until `woken`, if it returned before `end`.
    pub fn returned(&self, thread: ThreadId, woken: Timestamp, end: Timestamp) -> Returned {
        let (runs, _) = self.line(thread);
        let next = runs.partition_point(|row| Run::from_row(row).begin < woken.ns());
        let runs = runs[next..].iter().map(Run::from_row);
        let mut returned = (runs.take_while(|run| run.begin < end.ns()))
            .map(|run| run.returned)
            .filter(|returned| *returned != Returned::Unseen);
        returned.next().unwrap_or_default()
    }

    /// The system call in which a thread was when it ran last: `exit`, where it ended of itself.
    pub fn last_call(&self, thread: ThreadId) -> Option<&str> {
        self.call_at_the_end(self.line(thread).0)
    }

    /// Whether a thread is one of the kernel's own: by who made it, where a state dump tells; elsewhere it has slept, and
    /// never in a system call, in which every thread of a program sleeps sooner or later. Where neither a dump nor all
    /// calls were recorded, none is.
    pub fn is_of_kernel(&self, thread: ThreadId) -> bool {
        let is_told = self.of_kernel.contains(&MAKES_KERNEL_THREADS);
        if is_told || !self.tells_sleeping_calls() {
            return self.of_kernel.contains(&thread);
        }
        let all = self.sleeping_without_calls.get_or_init(|| {
            let all = self.threads().iter().copied();
            all.filter(|thread| self.sleeps_without_call(*thread))
                .collect()
        });
        self.of_kernel.contains(&thread) || all.contains(&thread)
    }

    /// Whether those calls were recorded that threads of programs sleep in.
    pub fn tells_sleeping_calls(&self) -> bool {
        const SLEEPING: [&[&str]; 4] = [
            &["read"],
            &["futex"],
            &["nanosleep", "clock_nanosleep"],
            &["epoll_wait", "epoll_pwait"],
        ];
        let is_told = |call: &&str| self.calls.iter().any(|told| told == call);
        SLEEPING.iter().all(|calls| calls.iter().any(is_told))
    }

    fn sleeps_without_call(&self, thread: ThreadId) -> bool {
        let mut has_slept = false;
        let (runs, _) = self.line(thread);
        let mut runs = runs.iter().map(Run::from_row);
        let is_in_call = runs.any(|run| {
            let goes_on = |left| matches!(left, SwitchOut::Runnable | SwitchOut::Dead);
            has_slept |= run.left.is_some_and(|left| !goes_on(left));
            self.call_name(run).is_some()
        });
        has_slept && !is_in_call
    }

    /// The call that a thread was in at the end of the last of these runs.
    fn call_at_the_end(&self, runs: &[RunRow]) -> Option<&str> {
        /// By which a wait goes on, after its thread was stopped, that has a time-out.
        const GOES_ON: &str = "restart_syscall";
        let runs = runs.iter().rev().map(Run::from_row);
        let mut known = runs.take_while(|run| run.left.is_some());
        let call = self.call_name(known.next()?)?;
        if call != GOES_ON {
            return Some(call);
        }
        let mut before = known.filter_map(|run| self.call_name(run));
        before.find(|name| *name != GOES_ON).or(Some(call))
    }

    fn call_name(&self, run: Run) -> Option<&str> {
        Some(self.calls.get(run.call.name()?)?.as_str())
    }

    fn wake_up(&self, waking: Wake, end: i64, remote: bool) -> WakeUp {
        let line = self.cpu_at(waking.cpu);
        let by = match waking.by {
            entry::Waker::Thread(thread) => Waker::Thread(thread),
            entry::Waker::Interrupt(packed) => Waker::Interrupt(interrupt_of(packed.into())),
            entry::Waker::Receipt(receipt) => line
                .and_then(|line| line.deliveries.get(receipt as usize))
                .map_or(Waker::Unknown, |row| delivered(Delivery::from_row(row))),
            entry::Waker::Unknown => Waker::Unknown,
        };
        WakeUp {
            begin: Timestamp::from_ns(waking.at),
            end: Timestamp::from_ns(end),
            cpu: line.map_or(CpuId::default(), |line| line.cpu),
            remote,
            by,
            by_signal: false,
            for_signal: false,
        }
    }
}

fn run_before(runs: &[RunRow], position: usize) -> Option<Run> {
    Some(Run::from_row(runs.get(position.checked_sub(1)?)?))
}

fn delivered(delivery: Delivery) -> Waker {
    let Some(during) = delivery.during else {
        // Packets were being received, but nobody asked for it.
        return Waker::Interrupt(Interrupt::Softirq(Softirq::NET_RX));
    };
    let at = Timestamp::from_ns(delivery.at);
    match delivery.sender {
        Some(thread) => Waker::Packet {
            sender: (thread, at),
            during,
        },
        None => Waker::Arrival {
            received: at,
            during,
        },
    }
}

fn unknown<'lines>(begin: i64, end: i64) -> Stretch<'lines> {
    Stretch {
        range: range(begin, end),
        doing: Doing::Unknown,
    }
}

/// The time between two runs of a thread.
struct Interval<'lines> {
    lines: &'lines Timelines,
    /// Wake-up events since the run before began.
    wakes: &'lines [WakeRow],
    /// The run before, where it is known why it ended.
    before: Option<Run>,
    /// The call that it was in then.
    call: Option<&'lines str>,
    begin: i64,
    end: i64,
    /// The thread runs at `end`; otherwise the trace ends there.
    then_runs: bool,
    /// That run first returns from a call that a signal interrupted.
    interrupted: bool,
}

/// One after the other: a thread that does not run waits for something, then for a processor.
type Stretches<'lines> = [Option<Stretch<'lines>>; 2];

impl<'lines> Interval<'lines> {
    /// What the thread did right before `at`: in the loss there, or since the one before and until the next.
    fn before(&self, at: i64) -> Stretches<'lines> {
        let lost = &self.lines.lost;
        let next = lost.partition_point(|(begin, _)| *begin < at);
        let earlier = next.checked_sub(1).map(|last| lost[last]);
        let earlier = earlier.filter(|(_, end)| *end > self.begin);
        let next = lost.get(next).map(|(begin, _)| *begin);
        let (end, then_runs) = match next.filter(|begin| *begin < self.end) {
            Some(loss) => (loss, false),
            None => (self.end, self.then_runs),
        };
        match earlier {
            Some((lost_begin, lost_end)) if at <= lost_end => {
                let lost = range(lost_begin.max(self.begin), lost_end.min(self.end));
                let doing = Doing::Unknown;
                [Some(Stretch { range: lost, doing }), None]
            }
            Some((_, lost_end)) => self.explain(None, lost_end, end, then_runs),
            None => self.explain(self.before, self.begin, end, then_runs),
        }
    }

    /// The time from `begin` to `end`, in which nothing was lost: after `before`, if that is known,
    /// and before a run if `then_runs`.
    fn explain(
        &self,
        before: Option<Run>,
        begin: i64,
        end: i64,
        then_runs: bool,
    ) -> Stretches<'lines> {
        let mut stretches = [None; 2];
        let mut free = stretches.iter_mut();
        let mut push = |begin: i64, end: i64, doing: Doing<'lines>| {
            if begin < end
                && let Some(place) = free.next()
            {
                let range = range(begin, end);
                *place = Some(Stretch { range, doing });
            }
        };
        if self.lines.switches.is_empty() {
            // Between what is told of it, it may have run as well.
            push(begin, end, Doing::Unknown);
            return stretches;
        }
        let left = before.and_then(|run| run.left);
        let created = || {
            let new = |wake: &Wake| matches!(wake.stage, Stage::Forked | Stage::New);
            let mut inside = self.wakes_within(begin, end);
            let last = inside.rfind(new)?;
            Some(self.lines.wake_up(last, last.at, false))
        };
        let call = before.and(self.call);
        // Kernels before 4.14 have no state of their own for the end.
        let has_ended = left == Some(SwitchOut::Dead)
            || left == Some(SwitchOut::Other) && matches!(call, Some("exit" | "exit_group"));
        match left {
            Some(SwitchOut::Runnable) => push(begin, end, Doing::Preempted),
            Some(_) if has_ended && (created().is_some() || !then_runs) => match created() {
                Some(creation) => {
                    push(begin, creation.end.ns(), Doing::Dead);
                    push(creation.end.ns(), end, Doing::WaitingForCpu);
                }
                None => push(begin, end, Doing::Dead),
            },
            None if created().is_some() => {
                if let Some(creation) = created() {
                    push(begin, creation.end.ns(), Doing::Unborn { creation });
                    push(creation.end.ns(), end, Doing::WaitingForCpu);
                }
            }
            _ => {
                let blocked = |wake| Doing::Blocked {
                    wake,
                    uninterruptible: left == Some(SwitchOut::Uninterruptible),
                    stopped: left == Some(SwitchOut::Stopped),
                    call,
                    outside_calls: matches!(
                        left,
                        Some(SwitchOut::Interruptible | SwitchOut::Uninterruptible)
                    ) && before.is_some_and(|run| run.call == Call::NONE),
                };
                match self.wake(begin, end, before.is_some()) {
                    Some(mut wake) => {
                        wake.by_signal = then_runs && self.interrupted;
                        wake.for_signal |= wake.by_signal;
                        push(begin, wake.end.ns(), blocked(Some(wake)));
                        push(wake.end.ns(), end, Doing::WaitingForCpu);
                    }
                    // A thread on its way out goes on running after it is marked as dead.
                    None if has_ended => {
                        push(begin, end, Doing::Preempted);
                    }
                    None if left.is_some() => push(begin, end, blocked(None)),
                    None if then_runs && self.lines.known.wakes => {
                        push(begin, end, Doing::WaitingForCpu);
                    }
                    None => push(begin, end, Doing::Unknown),
                }
            }
        }
        stretches
    }

    /// The wake-up that made the thread runnable between `begin` and `end`.
    ///
    /// A waker may begin before the thread has left its processor (`early`) and end after.
    fn wake(&self, begin: i64, end: i64, early: bool) -> Option<WakeUp> {
        let is_wake = |wake: &Wake| !matches!(wake.stage, Stage::Forked | Stage::Signal);
        let mut inside = self.wakes_within(begin, end).filter(is_wake);
        let done = |wake: &Wake| wake.stage != Stage::Waking;
        if let Some(wakeup) = inside.clone().find(done) {
            let from = if early { i64::MIN } else { begin };
            let mut earlier = self.wakes_within(from, wakeup.at);
            let waking = earlier.rfind(|wake| wake.stage == Stage::Waking);
            let begun = waking.unwrap_or(wakeup);
            let remote = begun.cpu != wakeup.cpu;
            return Some(self.woken(begun, wakeup.at, remote));
        }
        if let Some(begun) = inside.next() {
            return Some(self.woken(begun, begun.at, false));
        }
        let mut earlier = self.wakes_within(i64::MIN, begin.saturating_sub(1));
        let last = earlier.rfind(|wake| early && wake.stage != Stage::Signal)?;
        (last.stage == Stage::Waking).then(|| self.woken(last, begin, false))
    }

    /// The wake-up events from `begin` to `end`.
    fn wakes_within(
        &self,
        begin: i64,
        end: i64,
    ) -> impl DoubleEndedIterator<Item = Wake> + Clone + use<'lines> {
        let first = (self.wakes).partition_point(|row| Wake::from_row(row).at < begin);
        let past = (self.wakes).partition_point(|row| Wake::from_row(row).at <= end);
        self.wakes[first..past.max(first)]
            .iter()
            .map(Wake::from_row)
    }

    /// The wake-up that began so, and whether a signal was what it was for.
    fn woken(&self, begun: Wake, end: i64, remote: bool) -> WakeUp {
        let mut at_once = self.wakes_within(begun.at, begun.at.saturating_add(AT_ONCE_NS));
        let for_signal = at_once.any(|row| {
            let is_the_wakers = row.by == begun.by && row.cpu == begun.cpu;
            row.stage == Stage::Signal && is_the_wakers
        });
        WakeUp {
            for_signal,
            ..self.lines.wake_up(begun, end, remote)
        }
    }
}
