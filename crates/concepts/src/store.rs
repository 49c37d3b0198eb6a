//! What a data store tells of its clients and their commands, as far as a fact needs words of its own.
//!
//! The agent for Redis (agents/redis/provider.h) is the one who tells it today. What batches are is not in slots, as
//! these hold single values: [`StoreBatches`] collects it from a visit of the event.

use std::ops::Range;

use serde::{Deserialize, Serialize};
use slowpath_model::{DisplayBase, Event, FieldVisitor, Nanoseconds, ProcessId, ThreadId};

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
        let descriptor = event.has(slot(3)).then(|| event.signed(slot(3)) as i32);
        Self {
            descriptor: descriptor.unwrap_or(-1),
            // Messages between nodes have none.
            client: StoreClientId(event.unsigned(slot(4))),
            ..Self::of_no_client(event)
        }
    }

    /// The same where the event may be about several clients.
    pub(crate) fn of_no_client(event: &Event<'_>) -> Self {
        let number = |n| event.has(slot(n)).then(|| event.signed(slot(n)) as i32);
        Self {
            process: number(0).map(ProcessId),
            namespace: event.unsigned(slot(2)) as u32,
            thread: number(1).map(ThreadId),
            descriptor: -1,
            client: StoreClientId::default(),
        }
    }
}

/// What one client sent, from the first byte read to the last byte of the replies written. Times are
/// offsets from the moment when the first read began, in units of `unit_ns` nanoseconds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoreBatch {
    /// Descriptor of the connection.
    pub descriptor: i32,
    /// Whose it is.
    pub client: StoreClientId,
    /// From the moment when the first read began to the event's time.
    pub age: Nanoseconds,
    /// The thread that read last; `None`: nothing was read.
    pub read_thread: Option<ThreadId>,
    /// The thread that wrote last, where that is told.
    pub write_thread: Option<ThreadId>,
    /// Why it is told now.
    pub ended_by: BatchEnd,
    /// Nanoseconds in a unit.
    pub unit_ns: u32,
    /// The bytes of the first read were there.
    pub read_end: u32,
    /// Writing began; 0 where nothing was written.
    pub write_start: u32,
    /// Its end: where all was written, writing had ended just before.
    pub ended: u32,
    /// Bytes that were read.
    pub bytes_read: u64,
    /// Bytes that were written.
    pub bytes_written: u64,
    /// In the order in which the client sent them.
    pub commands: Vec<BatchCommand>,
}

impl StoreBatch {
    /// So many of its units.
    pub fn length(&self, units: u32) -> Nanoseconds {
        Nanoseconds(u64::from(units) * u64::from(self.unit_ns))
    }
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
    /// No reply is wanted.
    Unanswered,
    /// The connection is gone, or a reason that is not known here.
    Gone,
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
    /// Whether the data store itself opened the connection: to the primary whose replica it is. It wants no replies to
    /// what comes over that. Earlier agents do not tell.
    pub is_to_primary: bool,
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
            is_to_primary: event.unsigned(slot(10)) != 0,
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

/// A function of a data store that the kernel's probes are on; its numbers are those of `record`'s probes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum StoreFunction {
    /// Reads what a client sent, and executes it unless others do (`readQueryFromClient`).
    Read,
    /// Executes a command (`call`).
    Call,
    /// Writes replies to a client (`writeToClient`).
    Write,
}

/// What a probe tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StoreProbe<'packet> {
    /// The thread enters a function, for the client of the mark.
    Entered {
        /// Which.
        function: StoreFunction,
        /// The command that it executes; empty where it executes none.
        command: &'packet [u8],
    },
    /// It returns from one; the mark has no client.
    Returned(StoreFunction),
    /// A client was made.
    ClientMade,
    /// The command that the thread executes for the client will be executed again once it can go on, unless the client is
    /// released before.
    ClientBlocked,
    /// A client that was blocked goes on with what it sent next: what has blocked it is not executed again.
    ClientReleased,
    /// A look at the process: the descriptor of the mark was one socket for a while.
    Socket {
        /// It waits for connections; the address has no other end.
        listens: bool,
        /// Whose.
        address: StoreAddress<'packet>,
        /// How long before the event it was seen first.
        since: Nanoseconds,
        /// How long before the event the kernel was asked about it …
        asked: Nanoseconds,
        /// … and had answered: it was seen since.
        answered: Nanoseconds,
        /// Bytes that had been read of it by then, where that is known.
        read: Option<u64>,
    },
}

impl<'packet> StoreProbe<'packet> {
    /// `None` where the function is none that is known.
    pub(crate) fn of(event: &Event<'packet>, fact: FactKind) -> Option<Self> {
        match fact {
            FactKind::StoreClientMade => return Some(Self::ClientMade),
            FactKind::StoreClientBlocked => return Some(Self::ClientBlocked),
            FactKind::StoreClientReleased => return Some(Self::ClientReleased),
            _ => {}
        }
        let function = match event.unsigned(slot(5)) {
            1 => StoreFunction::Read,
            2 => StoreFunction::Call,
            3 => StoreFunction::Write,
            _ => return None,
        };
        Some(match fact {
            FactKind::StoreReturned => Self::Returned(function),
            _ => Self::Entered {
                function,
                command: event.text(slot(6)),
            },
        })
    }

    /// What the recorder wrote beside the probes' events: `slowpath_redis_socket pid=7 fd=8 peer=::1 peer_port=50000
    /// own=::1 own_port=6379 since_ns=400000000 asked_ns=3000 answered_ns=2000 read=4711`. `None` for what anybody else wrote.
    pub(crate) fn socket(text: &'packet [u8]) -> Option<(StoreMark, Self)> {
        let text = std::str::from_utf8(text).ok()?;
        let words = text.strip_prefix("slowpath_redis_socket ")?.trim_end();
        let word = |key: &str| {
            let mut words = words.split(' ');
            words.find_map(|word| word.strip_prefix(key)?.strip_prefix('='))
        };
        let mark = StoreMark {
            process: Some(ProcessId(word("pid")?.parse().ok()?)),
            descriptor: word("fd")?.parse().ok()?,
            ..StoreMark::default()
        };
        let socket = Self::Socket {
            address: StoreAddress {
                peer_address: word("peer")?.as_bytes(),
                peer_port: word("peer_port")?.parse().ok()?,
                own_address: word("own")?.as_bytes(),
                own_port: word("own_port")?.parse().ok()?,
                bytes_before: None,
                is_to_primary: word("outgoing").is_some(),
            },
            listens: word("listens").is_some(),
            since: Nanoseconds(word("since_ns")?.parse().ok()?),
            asked: Nanoseconds(word("asked_ns")?.parse().ok()?),
            answered: Nanoseconds(word("answered_ns")?.parse().ok()?),
            read: word("read").and_then(|read| read.parse().ok()),
        };
        Some((mark, socket))
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

/// Collects the batches that an event tells, from `Source::visit` of it.
///
/// Earlier agents told each batch in an event of its own (`slowpath_redis:batch`): one value where there are arrays now,
/// and no number of commands, as all were its own.
#[derive(Debug, Default)]
pub struct StoreBatches {
    columns: [Vec<u64>; COLUMNS.len()],
    /// Where the values go that come next.
    column: Option<usize>,
}

/// Fields of the event, each with an element for each batch; the last three with one for each command.
const COLUMNS: [&str; 16] = [
    "client_id",
    "fd",
    "age",
    "read_thread",
    "write_thread",
    "ended_by",
    "unit_ns",
    "read_end",
    "write_start",
    "ended",
    "bytes_read",
    "bytes_written",
    "commands",
    "command",
    "start",
    "duration",
];

impl StoreBatches {
    /// In the order in which they ended. What a damaged event does not say is 0.
    pub fn batches(&self) -> Vec<StoreBatch> {
        let [client, .., numbers, _, _] = &self.columns;
        let mut first = 0;
        (0..client.len())
            .map(|batch| {
                let all = numbers.len() - first;
                let own = self.column("commands").get(batch);
                let count = own.map_or(all, |&own| all.min(own as usize));
                first += count;
                self.batch(batch, first - count..first)
            })
            .collect()
    }

    fn column(&self, name: &str) -> &[u64] {
        let position = COLUMNS.iter().position(|column| *column == name);
        position.map_or(&[], |position| &self.columns[position])
    }

    fn batch(&self, position: usize, commands: Range<usize>) -> StoreBatch {
        let of = |name: &str, position| self.column(name).get(position).copied();
        let wide = |name| of(name, position).unwrap_or(0);
        let number = |name| wide(name) as u32;
        let thread = |name| Some(ThreadId(number(name).cast_signed())).filter(|id| id.0 != 0);
        let batch = StoreBatch {
            descriptor: number("fd").cast_signed(),
            client: StoreClientId(wide("client_id")),
            age: Nanoseconds(0),
            read_thread: thread("read_thread"),
            write_thread: thread("write_thread"),
            ended_by: match number("ended_by") {
                0 => BatchEnd::Written,
                1 => BatchEnd::Full,
                2 => BatchEnd::Waited,
                4 => BatchEnd::Unanswered,
                _ => BatchEnd::Gone,
            },
            unit_ns: number("unit_ns"),
            read_end: number("read_end"),
            write_start: number("write_start"),
            ended: number("ended"),
            bytes_read: wide("bytes_read"),
            bytes_written: wide("bytes_written"),
            commands: commands
                .map(|command| BatchCommand {
                    number: of("command", command).unwrap_or(0) as u32,
                    start: of("start", command).unwrap_or(0) as u32,
                    duration: of("duration", command).unwrap_or(0) as u32,
                })
                .collect(),
        };
        let age = of("age", position).map(Nanoseconds);
        StoreBatch {
            age: age.unwrap_or_else(|| batch.length(batch.ended)),
            ..batch
        }
    }
}

impl FieldVisitor for StoreBatches {
    fn name(&mut self, name: &str) {
        // Elements of an array of fixed length are fields of their own: `command.0`.
        let (name, _) = name.split_once('.').unwrap_or((name, ""));
        self.column = COLUMNS.iter().position(|column| *column == name);
    }

    fn unsigned(&mut self, value: u64, _bits: u32, _base: DisplayBase) {
        if let Some(column) = self.column {
            self.columns[column].push(value);
        }
    }

    fn signed(&mut self, value: i64, bits: u32, base: DisplayBase) {
        self.unsigned(value.cast_unsigned(), bits, base);
    }
}
