//! What a data store tells of its clients and their commands, as far as a fact needs words of its own.
//!
//! The agent for Redis (agents/redis/provider.h) is the one who tells it today. The arrays of a batch are
//! not in slots, as these hold single values: [`BatchCommands`] collects them from a visit of the event.

use serde::{Deserialize, Serialize};
use slowpath_model::{DisplayBase, Event, FieldVisitor, ProcessId, ThreadId};

use crate::{FactKind, slot};

/// A client of a data store, by the number that it gives to a connection: never used twice in the life of
/// its process.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct StoreClientId(pub u64);

/// Who says something, and of which client.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StoreMark {
    /// The process, as its own namespace numbers it, where recorded (context `vpid`).
    pub process: Option<ProcessId>,
    /// The namespace of that number, where recorded (context `pid_ns`).
    pub namespace: u32,
    /// The thread, as its own namespace numbers it, where recorded (context `vtid`).
    pub thread: Option<ThreadId>,
    /// Descriptor of the connection; negative: none.
    pub descriptor: i32,
    /// The client.
    pub client: StoreClientId,
}

impl StoreMark {
    /// Out of the slots that all of these events have first.
    pub(crate) fn of(event: &Event<'_>) -> Self {
        let number = |n| event.has(slot(n)).then(|| event.signed(slot(n)) as i32);
        Self {
            process: number(0).map(ProcessId),
            namespace: event.unsigned(slot(2)) as u32,
            thread: number(1).map(ThreadId),
            descriptor: number(3).unwrap_or(-1),
            // Messages between nodes have none.
            client: StoreClientId(event.unsigned(slot(4))),
        }
    }
}

/// What one client sent, from the first byte read to the last byte of the replies written. Times are
/// offsets from the moment when the first read began, in units of `unit_ns` nanoseconds; that moment is the
/// event's time less `ended`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StoreBatch {
    /// The thread that read last; `None`: nothing was read.
    pub read_thread: Option<ThreadId>,
    /// Why it is told now.
    pub ended_by: BatchEnd,
    /// Nanoseconds in a unit.
    pub unit_ns: u32,
    /// The bytes of the first read were there.
    pub read_end: u32,
    /// Writing began; 0 where nothing was written.
    pub write_start: u32,
    /// It was told; where all was written, writing had ended just before.
    pub ended: u32,
    /// Bytes that were read.
    pub bytes_read: u64,
    /// Bytes that were written.
    pub bytes_written: u64,
}

/// Why a batch is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum BatchEnd {
    /// All replies have been written.
    Written,
    /// The event holds no more commands; another one follows.
    Full,
    /// Nothing happened for a second.
    Waited,
    /// The connection is gone, or a reason that is not known here.
    Gone,
}

impl StoreBatch {
    pub(crate) fn of(event: &Event<'_>) -> Self {
        let number = |n| event.unsigned(slot(n)) as u32;
        Self {
            read_thread: Some(ThreadId(number(5).cast_signed())).filter(|thread| thread.0 != 0),
            ended_by: match number(6) {
                0 => BatchEnd::Written,
                1 => BatchEnd::Full,
                2 => BatchEnd::Waited,
                _ => BatchEnd::Gone,
            },
            unit_ns: number(7),
            read_end: number(8),
            write_start: number(9),
            ended: number(10),
            bytes_read: event.unsigned(slot(11)),
            bytes_written: event.unsigned(slot(12)),
        }
    }
}

/// Whose connection a client is. Empty addresses: a Unix socket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StoreAddress<'packet> {
    /// The client's address.
    pub peer_address: &'packet [u8],
    /// The client's port.
    pub peer_port: u16,
    /// The data store's address.
    pub own_address: &'packet [u8],
    /// The data store's port.
    pub own_port: u16,
    /// What had been read of the connection before the batch that is told next, in bytes, where known.
    pub bytes_before: Option<u64>,
}

impl<'packet> StoreAddress<'packet> {
    pub(crate) fn of(event: &Event<'packet>) -> Self {
        Self {
            peer_address: event.text(slot(5)),
            peer_port: event.unsigned(slot(6)) as u16,
            own_address: event.text(slot(7)),
            own_port: event.unsigned(slot(8)) as u16,
            bytes_before: (event.has(slot(9)).then(|| event.signed(slot(9))))
                .and_then(|bytes| u64::try_from(bytes).ok()),
        }
    }
}

/// What a thread of a data store does to a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "operation", rename_all = "kebab-case")]
pub enum StoreOperation {
    /// It asks OpenSSL for what the client sent. The event names no client.
    TlsRead {
        /// Room, in bytes.
        asked: i64,
        /// Bytes, or what OpenSSL returned instead: 0 or less.
        got: i64,
        /// Bytes that OpenSSL has decrypted and nobody has read.
        pending: i64,
    },
    /// It leaves reading to the I/O threads.
    ReadPostponed,
    /// It frees the client.
    Freed,
    /// It has the event loop watch the descriptor no more: the connection is closed, or not read for now.
    Unwatched {
        /// Neither for what may be read nor for what may be written.
        wholly: bool,
    },
    /// All that was ready has been done: the event loop is about to wait. Of no connection.
    CycleEnd,
}

impl StoreOperation {
    pub(crate) fn of(event: &Event<'_>, fact: FactKind) -> Self {
        const BOTH: u64 = 3;
        let number = |n| event.signed(slot(n));
        match fact {
            FactKind::StoreTlsRead => Self::TlsRead {
                asked: number(5),
                got: number(6),
                pending: number(7),
            },
            FactKind::StoreReadPostponed => Self::ReadPostponed,
            FactKind::StoreClientFreed => Self::Freed,
            FactKind::StoreUnwatched => Self::Unwatched {
                wholly: event.unsigned(slot(5)) & BOTH == BOTH,
            },
            _ => Self::CycleEnd,
        }
    }
}

/// A message between nodes of a cluster.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BusMessage {
    /// What happens to it.
    pub moment: BusMoment,
    /// What it is for, as the data store numbers it.
    pub kind: BusKind,
    /// Its length; of a broadcast, of each copy.
    pub bytes: u64,
    /// Bytes in it that a client published, where known.
    pub payload: Option<u64>,
}

/// What happens to a message between nodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum BusMoment {
    /// It goes out to one node.
    Sent,
    /// All of it has come in.
    Received,
    /// Copies of it begin to go out to all other nodes; each is [`BusMoment::Sent`].
    BroadcastStart,
    /// All copies went out.
    BroadcastEnd,
}

/// What a message between nodes is for, by Redis's number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct BusKind(pub u16);

impl BusKind {
    /// What a client published, for all nodes.
    pub const PUBLISH: Self = Self(4);

    /// As `CLUSTER INFO` names it, where it does.
    pub fn name(self) -> Option<&'static str> {
        const NAMES: [&str; 11] = [
            "ping",
            "pong",
            "meet",
            "fail",
            "publish",
            "auth-req",
            "auth-ack",
            "update",
            "mfstart",
            "module",
            "publishshard",
        ];
        NAMES.get(usize::from(self.0)).copied()
    }

    /// The same, and its number where there is none.
    pub fn told_name(self) -> String {
        (self.name()).map_or_else(|| format!("type {}", self.0), str::to_owned)
    }
}

impl BusMessage {
    pub(crate) fn of(event: &Event<'_>, fact: FactKind) -> Self {
        let payload = event.has(slot(7)).then(|| event.signed(slot(7)));
        Self {
            moment: match fact {
                FactKind::StoreBusSent => BusMoment::Sent,
                FactKind::StoreBroadcastStart => BusMoment::BroadcastStart,
                FactKind::StoreBroadcastEnd => BusMoment::BroadcastEnd,
                _ => BusMoment::Received,
            },
            kind: BusKind(event.unsigned(slot(5)) as u16),
            bytes: event.unsigned(slot(6)),
            payload: payload.and_then(|bytes| u64::try_from(bytes).ok()),
        }
    }
}

/// One command of a batch; times as those of its [`StoreBatch`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BatchCommand {
    /// Its number, which [`Fact::StoreCommandName`](crate::Fact::StoreCommandName) explains; 0: unknown to
    /// the data store.
    pub number: u32,
    /// The data store turned to it.
    pub start: u32,
    /// How long it was executed.
    pub duration: u32,
}

/// Collects the commands of a batch from `Source::visit` of its event.
#[derive(Debug, Default)]
pub struct BatchCommands {
    /// In the order in which the client sent them.
    pub commands: Vec<BatchCommand>,
    array: Option<Array>,
    next: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Array {
    Numbers,
    Starts,
    Durations,
}

impl FieldVisitor for BatchCommands {
    fn name(&mut self, name: &str) {
        // Elements of an array of fixed length are fields of their own: `command.0`.
        let (name, position) = name.split_once('.').unwrap_or((name, "0"));
        self.array = match name {
            "command" => Some(Array::Numbers),
            "start" => Some(Array::Starts),
            "duration" => Some(Array::Durations),
            _ => None,
        };
        self.next = position.parse().unwrap_or(0);
    }

    fn unsigned(&mut self, value: u64, _bits: u32, _base: DisplayBase) {
        let Some(array) = self.array else {
            return;
        };
        if array == Array::Numbers && self.next == self.commands.len() {
            self.commands.push(BatchCommand::default());
        }
        if let Some(command) = self.commands.get_mut(self.next) {
            match array {
                Array::Numbers => command.number = value as u32,
                Array::Starts => command.start = value as u32,
                Array::Durations => command.duration = value as u32,
            }
        }
        self.next = self.next.saturating_add(1);
    }

    fn signed(&mut self, value: i64, bits: u32, base: DisplayBase) {
        self.unsigned(value.cast_unsigned(), bits, base);
    }
}
