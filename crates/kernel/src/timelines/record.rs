//! What pass 1 keeps of an event: its time and one 64-bit word.
//!
//! Records are kept where a chunk alone cannot tell what they mean. A record takes 16 bytes whatever
//! it is about. Thread ids fit because Linux never gives out one above 2²² (`PID_MAX_LIMIT`).

use serde::{Deserialize, Serialize};
use slowpath_concepts::{Softirq, SwitchOut};
use slowpath_model::ThreadId;

/// One event on one processor.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Record {
    /// When, in nanoseconds since the Unix epoch.
    pub(super) at: i64,
    /// A [`Kind`] in the low four bits, its values above.
    word: u64,
}

/// What a record is about, unpacked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// The processor goes from `prev` to `next`; `call` is the system call that `prev` was in.
    Switch {
        prev: Runner,
        next: Runner,
        left: SwitchOut,
        call: Call,
    },
    /// A thread is about to be woken, by whatever this processor is doing.
    Waking(ThreadId),
    /// A thread has become runnable.
    Wakeup { thread: ThreadId, new: bool },
    /// An interrupt of any kind begins.
    Enter(Interrupt),
    /// An interrupt of any kind ends.
    Leave(Interrupt),
    /// Packets are waiting to be received on this processor from now on.
    ReceiveRaised,
    /// A packet with this buffer is handed to a device; `loopback`: to one that gives it back.
    PacketQueued { buffer: u64, loopback: bool },
    /// A packet is put on this host's own receive queue.
    PacketLooped { buffer: u64 },
    /// A packet is handed to the protocols.
    PacketReceived { buffer: u64 },
    /// The system call that the running thread is in: where a chunk ends, no edge of it, or streams are interleaved.
    Call(Call),
    /// The running thread returns from a call.
    Returned(Returned),
    /// A signal was sent to this thread, or to the process of which it is the first.
    Signal { thread: ThreadId, to_process: bool },
    /// Events were lost between the record before and the record after.
    Lost,
    /// The running thread made a new one.
    Forked(ThreadId),
    /// What follows happened in the context of this thread: it runs, whatever the switches say.
    Runs(ThreadId),
    /// An event that tells nothing else: nothing was lost here.
    Seen,
    /// The running thread entered a system call, or left one.
    CallEdge,
    /// The word of memory that the running thread's call is about, and whether it made calls of other kinds before,
    /// since it began to run.
    Futex { word: Word, others: bool },
}

/// A thread on a processor.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Runner {
    pub(super) thread: ThreadId,
    /// It is there for softirqs alone (`ksoftirqd`): they interrupt nobody.
    pub(super) for_softirqs: bool,
}

/// What interrupts a thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Interrupt {
    /// A device's interrupt line.
    Irq(u32),
    /// A softirq.
    Softirq(Softirq),
    /// A high-resolution timer, or the processor's own timer interrupt.
    Timer,
    /// An interrupt sent by another processor.
    Ipi,
}

/// The word of memory that a futex is, by a number that two words have in common once in 4,096 times; and whether the wait
/// there has a time-out, and is for a mutex.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Word(pub(super) u16);

impl Word {
    /// There is none, or the trace does not tell.
    pub(super) const UNKNOWN: Self = Self(0);
    pub(super) const BITS: u32 = 14;

    /// A condition of the C library has two words side by side, which take turns whenever it is signalled
    /// (`__g_signals` of glibc): these count as one.
    pub(super) fn at(address: u64, is_timed: bool, is_for_mutex: bool) -> Self {
        /// 2⁶⁴ divided by the golden ratio: what is alike is spread (Fibonacci hashing).
        const SPREAD: u64 = 0x9e37_79b9_7f4a_7c15;
        let spread = (address >> 3).wrapping_mul(SPREAD) >> (u64::BITS - Self::BITS + 2);
        Self((spread as u16).max(1) << 2 | u16::from(is_for_mutex) << 1 | u16::from(is_timed))
    }

    pub(super) fn is_timed(self) -> bool {
        self.0 & 1 != 0
    }

    pub(super) fn is_for_mutex(self) -> bool {
        self.0 & 2 != 0
    }

    pub(super) fn number(self) -> u16 {
        self.0 >> 2
    }

    pub(super) fn is_known(self) -> bool {
        self != Self::UNKNOWN
    }
}

/// What a system call returns that a thread waits in: of one that waits for several things, how many came.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Returned {
    /// The trace does not tell.
    #[default]
    Unseen,
    /// 0.
    Nothing,
    /// 1.
    One,
    /// Another number.
    Other,
    /// A signal interrupted it.
    Interrupted,
}

impl Returned {
    pub(super) const BITS: u32 = 3;

    pub(super) fn new(ret: i64) -> Self {
        /// `EINTR`, and the four codes by which the kernel knows how to begin again (`include/linux/errno.h`).
        const INTERRUPTED: [i64; 5] = [-4, -512, -513, -514, -516];
        match ret {
            0 => Self::Nothing,
            1 => Self::One,
            ret if INTERRUPTED.contains(&ret) => Self::Interrupted,
            _ => Self::Other,
        }
    }

    pub(super) fn code(self) -> u64 {
        match self {
            Self::Unseen => 0,
            Self::Nothing => 1,
            Self::One => 2,
            Self::Other => 3,
            Self::Interrupted => 4,
        }
    }

    pub(super) fn of_code(code: u64) -> Self {
        match code & ((1 << Self::BITS) - 1) {
            1 => Self::Nothing,
            2 => Self::One,
            3 => Self::Other,
            4 => Self::Interrupted,
            _ => Self::Unseen,
        }
    }
}

/// The system call that a thread is in, as far as one processor's events tell.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Call(pub(super) u16);

impl Call {
    /// No entry or exit was seen since the thread began to run.
    pub(super) const UNSEEN: Self = Self(0);
    /// In user space: the last call has returned.
    pub(super) const NONE: Self = Self(1);
    const FIRST: u16 = 2;
    pub(super) const BITS: u32 = 11;
    const LIMIT: u16 = 1 << Self::BITS;

    /// The call at position `name` of a list of names.
    pub(super) fn named(name: usize) -> Self {
        u16::try_from(name + Self::FIRST as usize)
            .ok()
            .filter(|&code| code < Self::LIMIT)
            .map_or(Self::UNSEEN, Self)
    }

    /// The position in the list of names, when it is a call.
    pub(super) fn name(self) -> Option<usize> {
        Some(self.0.checked_sub(Self::FIRST)? as usize)
    }
}

impl Runner {
    /// A thread whose name is not at hand.
    pub(super) fn unnamed(thread: ThreadId) -> Self {
        Self {
            thread,
            for_softirqs: false,
        }
    }
}

pub(super) const THREAD_BITS: u32 = 22;
const RUNNER_BITS: u32 = THREAD_BITS + 1;
const THREAD_MASK: u64 = (1 << THREAD_BITS) - 1;
/// Kernel addresses differ in their low 48 bits only.
const BUFFER_BITS: u32 = 48;
pub(super) const BUFFER_MASK: u64 = (1 << BUFFER_BITS) - 1;

impl Record {
    pub(super) fn new(at: i64, kind: Kind) -> Self {
        let (tag, payload) = match kind {
            Kind::Switch {
                prev,
                next,
                left,
                call,
            } => (
                0,
                runner_bits(prev)
                    | runner_bits(next) << RUNNER_BITS
                    | switch_out_code(left) << (2 * RUNNER_BITS)
                    | u64::from(call.0) << (2 * RUNNER_BITS + 3),
            ),
            Kind::Waking(thread) => (1, thread_bits(thread)),
            Kind::Wakeup { thread, new } => {
                (2, thread_bits(thread) | u64::from(new) << THREAD_BITS)
            }
            Kind::Enter(interrupt) => (3, interrupt_bits(interrupt)),
            Kind::Leave(interrupt) => (4, interrupt_bits(interrupt)),
            Kind::ReceiveRaised => (5, 0),
            Kind::PacketQueued { buffer, loopback } => (
                6,
                (buffer & BUFFER_MASK) | u64::from(loopback) << BUFFER_BITS,
            ),
            Kind::PacketLooped { buffer } => (7, buffer & BUFFER_MASK),
            Kind::PacketReceived { buffer } => (8, buffer & BUFFER_MASK),
            Kind::Call(call) => (9, u64::from(call.0)),
            Kind::Lost => (10, 0),
            Kind::Forked(thread) => (11, thread_bits(thread)),
            Kind::Runs(thread) => (12, thread_bits(thread)),
            Kind::Seen => (13, 0),
            Kind::CallEdge => (13, 1),
            Kind::Futex { word, others } => {
                (13, 2 | u64::from(others) << 2 | u64::from(word.0) << 3)
            }
            Kind::Returned(returned) => (14, returned.code()),
            Kind::Signal { thread, to_process } => (
                15,
                thread_bits(thread) | u64::from(to_process) << THREAD_BITS,
            ),
        };
        Self {
            at,
            word: tag | payload << 4,
        }
    }

    /// As it is kept.
    pub(super) fn row(self) -> [u64; 2] {
        [self.at.cast_unsigned(), self.word]
    }

    pub(super) fn from_row([at, word]: [u64; 2]) -> Self {
        let at = at.cast_signed();
        Self { at, word }
    }

    pub(super) fn kind(self) -> Kind {
        let payload = self.word >> 4;
        let thread = thread_of(payload);
        let buffer = payload & BUFFER_MASK;
        match self.word & 0xf {
            0 => Kind::Switch {
                prev: runner_of(payload),
                next: runner_of(payload >> RUNNER_BITS),
                left: switch_out_of(payload >> (2 * RUNNER_BITS) & 7),
                call: Call((payload >> (2 * RUNNER_BITS + 3)) as u16),
            },
            1 => Kind::Waking(thread),
            2 => Kind::Wakeup {
                thread,
                new: payload >> THREAD_BITS & 1 != 0,
            },
            3 => Kind::Enter(interrupt_of(payload)),
            4 => Kind::Leave(interrupt_of(payload)),
            5 => Kind::ReceiveRaised,
            6 => Kind::PacketQueued {
                buffer,
                loopback: payload >> BUFFER_BITS & 1 != 0,
            },
            7 => Kind::PacketLooped { buffer },
            8 => Kind::PacketReceived { buffer },
            9 => Kind::Call(Call(payload as u16)),
            11 => Kind::Forked(thread),
            12 => Kind::Runs(thread),
            13 if payload & 1 != 0 => Kind::CallEdge,
            13 if payload & 2 != 0 => Kind::Futex {
                word: Word((payload >> 3) as u16),
                others: payload & 4 != 0,
            },
            13 => Kind::Seen,
            14 => Kind::Returned(Returned::of_code(payload)),
            15 => Kind::Signal {
                thread,
                to_process: payload >> THREAD_BITS & 1 != 0,
            },
            _ => Kind::Lost,
        }
    }
}

pub(super) fn thread_bits(thread: ThreadId) -> u64 {
    thread.0 as u64 & THREAD_MASK
}

pub(super) fn thread_of(bits: u64) -> ThreadId {
    ThreadId((bits & THREAD_MASK) as i32)
}

fn runner_bits(runner: Runner) -> u64 {
    thread_bits(runner.thread) | u64::from(runner.for_softirqs) << THREAD_BITS
}

fn runner_of(bits: u64) -> Runner {
    Runner {
        thread: thread_of(bits),
        for_softirqs: bits >> THREAD_BITS & 1 != 0,
    }
}

pub(super) fn interrupt_bits(interrupt: Interrupt) -> u64 {
    match interrupt {
        Interrupt::Irq(line) => u64::from(line) << 2,
        Interrupt::Softirq(softirq) => u64::from(softirq.0) << 2 | 1,
        Interrupt::Timer => 2,
        Interrupt::Ipi => 3,
    }
}

pub(super) fn interrupt_of(bits: u64) -> Interrupt {
    let number = (bits >> 2) as u32;
    match bits & 3 {
        0 => Interrupt::Irq(number),
        1 => Interrupt::Softirq(Softirq(number)),
        2 => Interrupt::Timer,
        _ => Interrupt::Ipi,
    }
}

pub(super) fn switch_out_code(left: SwitchOut) -> u64 {
    match left {
        SwitchOut::Runnable => 0,
        SwitchOut::Interruptible => 1,
        SwitchOut::Uninterruptible => 2,
        SwitchOut::Stopped => 3,
        SwitchOut::Dead => 4,
        SwitchOut::Other => 5,
    }
}

pub(super) fn switch_out_of(code: u64) -> SwitchOut {
    match code {
        0 => SwitchOut::Runnable,
        1 => SwitchOut::Interruptible,
        2 => SwitchOut::Uninterruptible,
        3 => SwitchOut::Stopped,
        4 => SwitchOut::Dead,
        _ => SwitchOut::Other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_comes_back_as_it_was_packed() {
        let largest = ThreadId((1 << 22) - 1);
        for kind in [
            Kind::Switch {
                prev: Runner {
                    thread: largest,
                    for_softirqs: false,
                },
                next: Runner {
                    thread: ThreadId(7),
                    for_softirqs: true,
                },
                left: SwitchOut::Other,
                call: Call::named(2045),
            },
            Kind::Waking(largest),
            Kind::Wakeup {
                thread: ThreadId(1),
                new: true,
            },
            Kind::Enter(Interrupt::Irq(u32::MAX)),
            Kind::Leave(Interrupt::Softirq(Softirq::NET_RX)),
            Kind::Enter(Interrupt::Timer),
            Kind::Leave(Interrupt::Ipi),
            Kind::ReceiveRaised,
            Kind::PacketQueued {
                buffer: 0xffff_ffff_ffff,
                loopback: true,
            },
            Kind::PacketLooped { buffer: 1 },
            Kind::PacketReceived { buffer: 2 },
            Kind::Call(Call::NONE),
            Kind::Returned(Returned::One),
            Kind::Signal {
                thread: largest,
                to_process: true,
            },
            Kind::Lost,
            Kind::Forked(largest),
            Kind::Runs(largest),
            Kind::Seen,
            Kind::CallEdge,
            Kind::Futex {
                word: Word::at(0x7f00_0000_1238, true, true),
                others: true,
            },
        ] {
            let record = Record::new(-5, kind);
            assert_eq!((record.at, record.kind()), (-5, kind));
            assert_eq!(Record::from_row(record.row()), record);
        }
        assert_eq!(Call::named(2046), Call::UNSEEN, "more calls than fit");
        assert_eq!(Call::named(3).name(), Some(3));
        assert_eq!((Call::UNSEEN.name(), Call::NONE.name()), (None, None));
    }
}
