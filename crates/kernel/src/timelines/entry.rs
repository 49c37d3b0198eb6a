//! What scanning a processor finds, as rows of numbers that can be put on a shelf.
//!
//! The packing is private to this file: everybody else sees the structures. A time line holds one
//! row per run and per wake-up, so every word counts.

use slowpath_concepts::SwitchOut;
use slowpath_model::ThreadId;

use super::record::{
    BUFFER_MASK, Call, Returned, THREAD_BITS, Word, switch_out_code, switch_out_of, thread_bits,
    thread_of,
};

/// A [`Run`], packed.
pub(super) type RunRow = [u64; 3];
/// A [`Wake`], packed.
pub(super) type WakeRow = [u64; 2];
/// An [`Interruption`], packed.
pub(super) type InterruptionRow = [u64; 2];
/// A [`Step`], packed.
pub(super) type StepRow = [u64; 3];
/// A [`Delivery`], packed.
pub(super) type DeliveryRow = [u64; 2];
/// A [`Sending`], packed.
pub(super) type SendingRow = [u64; 2];

/// A thread on a processor, from the switch to it until the switch from it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Run {
    pub(super) begin: i64,
    pub(super) end: i64,
    /// Position of the processor, below 2²⁷; zero until processors are put together.
    pub(super) cpu: u32,
    /// The thread ran for an unknown part of the time only.
    pub(super) in_part: bool,
    /// The switch to the thread, from the idle thread, is missing: it may have begun a little earlier.
    pub(super) begun_unseen: bool,
    /// What the call returned from which it returned first, unless it entered one before.
    pub(super) returned: Returned,
    /// System call that it was in at the end.
    pub(super) call: Call,
    /// The word of memory that the call is about, if that is `futex`.
    pub(super) word: Word,
    /// Before, it made calls of other kinds.
    pub(super) others: bool,
    /// Why it ended; `None` where the trace ends or events are missing.
    pub(super) left: Option<SwitchOut>,
}

/// A wake-up event, recorded on the waker's (waking) or the target's processor (wakeup).
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Wake {
    pub(super) at: i64,
    /// Position of the processor, below 2²⁷; zero until processors are put together.
    pub(super) cpu: u32,
    pub(super) stage: Stage,
    pub(super) by: Waker,
}

/// The events of one wake-up, in their order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Stage {
    Waking,
    Wakeup,
    /// The thread was made; it becomes runnable with `New`.
    Forked,
    New,
    /// A signal was sent to it: what woke it right before was that.
    Signal,
}

/// What the processor was doing when it woke a thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Waker {
    Thread(ThreadId),
    /// The innermost interrupt, packed (`interrupt_of`).
    Interrupt(u32),
    /// Receiving packets; the position in the processor's list of deliveries.
    Receipt(u32),
    Unknown,
}

/// A stretch of a run that belongs to an interrupt.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Interruption {
    pub(super) begin: i64,
    /// In nanoseconds, at most four seconds.
    pub(super) length: u32,
    /// Packed (`interrupt_of`).
    pub(super) source: u32,
}

/// Something that happened to a packet, or to the request to receive some.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Step {
    pub(super) at: i64,
    pub(super) what: StepKind,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum StepKind {
    /// Events are missing before.
    Lost,
    /// A packet was sent to this host itself.
    Sent { buffer: u64, by: Sender },
    /// A packet was handed to a device, which may turn out to give it back.
    Queued { buffer: u64, by: Sender },
    /// A device gave the packet back that it was handed last.
    Looped { buffer: u64 },
    /// A packet was received in the time of a thread.
    Received { buffer: u64, during: ThreadId },
    /// Somebody asked for packets to be received: a thread or nobody known.
    Raised(Option<ThreadId>),
    /// Packets are being received, whichever.
    Receiving { during: ThreadId },
}

/// Who sent a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sender {
    Thread(ThreadId),
    /// It answers the packet that this processor received last.
    Answer,
    Unknown,
}

/// A packet that was received.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Delivery {
    /// The thread of this host that sent it; `None` where none did.
    pub(super) sender: Option<ThreadId>,
    /// When that thread sent it; without one, when it was received.
    pub(super) at: i64,
    /// The thread in whose time it was received; `None`: there was no packet after all.
    pub(super) during: Option<ThreadId>,
}

/// A thread handed a packet to a device.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Sending {
    pub(super) at: i64,
    pub(super) thread: ThreadId,
}

impl Run {
    pub(super) fn row(self) -> RunRow {
        let left = self.left.map_or(NOT_LEFT, switch_out_code);
        let word = cpu_bits(self.cpu)
            | self.returned.code() << RETURNED_AT
            | u64::from(self.in_part) << 32
            | left << 33
            | u64::from(self.begun_unseen) << 36
            | u64::from(self.others) << 38
            | u64::from(self.call.0 & CALL_MASK) << CALL_AT
            | u64::from(self.word.0) << WORD_AT;
        [self.begin.cast_unsigned(), self.end.cast_unsigned(), word]
    }

    #[inline]
    pub(super) fn from_row(&[begin, end, word]: &RunRow) -> Self {
        let left = word >> 33 & 7;
        Self {
            begin: begin.cast_signed(),
            end: end.cast_signed(),
            cpu: (word & CPU_MASK) as u32,
            returned: Returned::of_code(word >> RETURNED_AT),
            in_part: word >> 32 & 1 != 0,
            begun_unseen: word >> 36 & 1 != 0,
            others: word >> 38 & 1 != 0,
            call: Call((word >> CALL_AT) as u16 & CALL_MASK),
            word: Word((word >> WORD_AT) as u16),
            left: (left != NOT_LEFT).then(|| switch_out_of(left)),
        }
    }
}

const CALL_AT: u32 = 39;
const CALL_MASK: u16 = (1 << Call::BITS) - 1;
const WORD_AT: u32 = CALL_AT + Call::BITS;
const _: () = assert!(WORD_AT + Word::BITS == u64::BITS);
/// No code of a [`SwitchOut`].
const NOT_LEFT: u64 = 7;
const CPU_BITS: u32 = 27;
const CPU_MASK: u64 = (1 << CPU_BITS) - 1;
const RETURNED_AT: u32 = CPU_BITS;
const _: () = assert!(RETURNED_AT + Returned::BITS <= u32::BITS);

fn cpu_bits(cpu: u32) -> u64 {
    u64::from(cpu) & CPU_MASK
}

impl Wake {
    pub(super) fn row(self) -> WakeRow {
        let stage = match self.stage {
            Stage::Waking => 0,
            Stage::Wakeup => 1,
            Stage::Forked => 2,
            Stage::New => 3,
            Stage::Signal => 4,
        };
        let (tag, payload) = match self.by {
            Waker::Thread(thread) => (0, thread_bits(thread)),
            Waker::Interrupt(packed) => (1, packed.into()),
            Waker::Receipt(position) => (2, position.into()),
            Waker::Unknown => (3, 0),
        };
        let word = payload | stage << 32 | tag << 35 | cpu_bits(self.cpu) << 37;
        [self.at.cast_unsigned(), word]
    }

    #[inline]
    pub(super) fn from_row(&[at, word]: &WakeRow) -> Self {
        let payload = word as u32;
        Self {
            at: at.cast_signed(),
            cpu: (word >> 37) as u32,
            stage: match word >> 32 & 7 {
                0 => Stage::Waking,
                1 => Stage::Wakeup,
                2 => Stage::Forked,
                3 => Stage::New,
                _ => Stage::Signal,
            },
            by: match word >> 35 & 3 {
                0 => Waker::Thread(thread_of(word)),
                1 => Waker::Interrupt(payload),
                2 => Waker::Receipt(payload),
                _ => Waker::Unknown,
            },
        }
    }
}

impl Interruption {
    pub(super) fn between(begin: i64, end: i64, source: u32) -> Self {
        let length = u32::try_from(end.saturating_sub(begin).max(0)).unwrap_or(u32::MAX);
        Self {
            begin,
            length,
            source,
        }
    }

    pub(super) fn end(self) -> i64 {
        self.begin.saturating_add(self.length.into())
    }

    pub(super) fn row(self) -> InterruptionRow {
        let word = u64::from(self.length) | u64::from(self.source) << 32;
        [self.begin.cast_unsigned(), word]
    }

    #[inline]
    pub(super) fn from_row(&[begin, word]: &InterruptionRow) -> Self {
        Self {
            begin: begin.cast_signed(),
            length: word as u32,
            source: (word >> 32) as u32,
        }
    }
}

impl Step {
    pub(super) fn row(self) -> StepRow {
        let by_word = |by| match by {
            Sender::Thread(thread) => thread_bits(thread),
            Sender::Answer => 1 << THREAD_BITS,
            Sender::Unknown => 2 << THREAD_BITS,
        };
        let (tag, buffer, word) = match self.what {
            StepKind::Lost => (0, 0, 0),
            StepKind::Sent { buffer, by } => (1, buffer, by_word(by)),
            StepKind::Queued { buffer, by } => (2, buffer, by_word(by)),
            StepKind::Looped { buffer } => (3, buffer, 0),
            StepKind::Received { buffer, during } => (4, buffer, thread_bits(during)),
            StepKind::Raised(None) => (5, 0, 0),
            StepKind::Raised(Some(thread)) => (6, 0, thread_bits(thread)),
            StepKind::Receiving { during } => (7, 0, thread_bits(during)),
        };
        let word = word | tag << 32;
        [self.at.cast_unsigned(), buffer & BUFFER_MASK, word]
    }

    pub(super) fn from_row(&[at, buffer, word]: &StepRow) -> Self {
        let thread = thread_of(word);
        let by = match word >> THREAD_BITS & 3 {
            0 => Sender::Thread(thread),
            1 => Sender::Answer,
            _ => Sender::Unknown,
        };
        let what = match word >> 32 {
            1 => StepKind::Sent { buffer, by },
            2 => StepKind::Queued { buffer, by },
            3 => StepKind::Looped { buffer },
            4 => StepKind::Received {
                buffer,
                during: thread,
            },
            5 => StepKind::Raised(None),
            6 => StepKind::Raised(Some(thread)),
            7 => StepKind::Receiving { during: thread },
            _ => StepKind::Lost,
        };
        let at = at.cast_signed();
        Self { at, what }
    }
}

impl Delivery {
    pub(super) fn row(self) -> DeliveryRow {
        let bits = |thread: Option<ThreadId>| {
            thread.map_or(0, |thread| thread_bits(thread) | 1 << THREAD_BITS)
        };
        let word = bits(self.sender) | bits(self.during) << 32;
        [self.at.cast_unsigned(), word]
    }

    pub(super) fn from_row(&[at, word]: &DeliveryRow) -> Self {
        let thread = |bits: u64| (bits >> THREAD_BITS & 1 != 0).then(|| thread_of(bits));
        Self {
            sender: thread(word),
            at: at.cast_signed(),
            during: thread(word >> 32),
        }
    }
}

impl Sending {
    pub(super) fn row(self) -> SendingRow {
        [self.at.cast_unsigned(), thread_bits(self.thread)]
    }

    pub(super) fn from_row(&[at, word]: &SendingRow) -> Self {
        Self {
            at: at.cast_signed(),
            thread: thread_of(word),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LARGEST: ThreadId = ThreadId((1 << 22) - 1);

    #[test]
    fn runs_come_back_as_they_were_packed() {
        for left in [None, Some(SwitchOut::Runnable), Some(SwitchOut::Other)] {
            let run = Run {
                begin: i64::MIN,
                end: -1,
                cpu: (1 << CPU_BITS) - 1,
                in_part: left.is_none(),
                begun_unseen: left.is_some(),
                returned: match left {
                    None => Returned::Interrupted,
                    Some(_) => Returned::One,
                },
                call: Call::named(2045),
                word: match left {
                    None => Word::UNKNOWN,
                    Some(_) => Word((1 << Word::BITS) - 1),
                },
                others: left.is_none(),
                left,
            };
            assert_eq!(Run::from_row(&run.row()), run);
        }
    }

    #[test]
    fn wakes_come_back_as_they_were_packed() {
        for (stage, by) in [
            (Stage::Waking, Waker::Thread(LARGEST)),
            (Stage::Wakeup, Waker::Interrupt(u32::MAX)),
            (Stage::Forked, Waker::Receipt(u32::MAX)),
            (Stage::New, Waker::Unknown),
            (Stage::Signal, Waker::Thread(LARGEST)),
        ] {
            let wake = Wake {
                at: -7,
                cpu: (1 << 27) - 1,
                stage,
                by,
            };
            assert_eq!(Wake::from_row(&wake.row()), wake);
        }
    }

    #[test]
    fn steps_and_deliveries_come_back_as_they_were_packed() {
        let buffer = BUFFER_MASK;
        for what in [
            StepKind::Lost,
            StepKind::Sent {
                buffer,
                by: Sender::Thread(LARGEST),
            },
            StepKind::Queued {
                buffer,
                by: Sender::Answer,
            },
            StepKind::Queued {
                buffer,
                by: Sender::Unknown,
            },
            StepKind::Looped { buffer },
            StepKind::Received {
                buffer,
                during: LARGEST,
            },
            StepKind::Raised(None),
            StepKind::Raised(Some(LARGEST)),
            StepKind::Receiving {
                during: ThreadId::IDLE,
            },
        ] {
            let step = Step { at: -1, what };
            assert_eq!(Step::from_row(&step.row()), step);
        }
        for (sender, at) in [(None, -3), (Some(LARGEST), i64::MIN)] {
            for during in [None, Some(ThreadId::IDLE), Some(LARGEST)] {
                let delivery = Delivery { sender, at, during };
                assert_eq!(Delivery::from_row(&delivery.row()), delivery);
            }
        }
        let sending = Sending {
            at: i64::MIN,
            thread: LARGEST,
        };
        assert_eq!(Sending::from_row(&sending.row()), sending);
        let interruption = Interruption::between(-5, i64::MAX, u32::MAX);
        assert_eq!(Interruption::from_row(&interruption.row()), interruption);
        assert_eq!(interruption.length, u32::MAX);
    }
}
