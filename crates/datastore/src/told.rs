//! What one event said, kept until all that happened before it is known.
//!
//! Owns its texts, unlike a fact. Which server, client or command it is about is decided later, in the order
//! of time (`server.rs`).

use serde::{Deserialize, Serialize};
use slowpath_concepts::{
    BatchEnd, BusMessage, Fact, FactKind, MessageMoment, ServiceCommand, ServiceMark,
    ServiceMessage, StoreAddress, StoreBatch, StoreClientId, StoreMark, StoreOperation,
};
use slowpath_model::{Event, ProcessId, StreamId, ThreadId, Timestamp};

use crate::batch::{Batch, Executed};
use crate::calls::told::{ToldCommand, ToldMessage};
use crate::probes::Probe;
use crate::server::Address;

/// The facts that data stores tell.
pub(crate) const STORE_FACTS: &[FactKind] = &[
    FactKind::StoreBatches,
    FactKind::StoreCommandName,
    FactKind::StoreClientAddress,
    FactKind::StoreReadStart,
    FactKind::StoreReadEnd,
    FactKind::StoreCallStart,
    FactKind::StoreCallEnd,
    FactKind::StoreWriteStart,
    FactKind::StoreWriteEnd,
    FactKind::StoreBusSent,
    FactKind::StoreBusReceived,
    FactKind::StoreBroadcastStart,
    FactKind::StoreBroadcastEnd,
    FactKind::StoreBusAddress,
    FactKind::StoreReplyQueued,
    FactKind::StoreTlsRead,
    FactKind::StoreReadPostponed,
    FactKind::StoreClientFreed,
    FactKind::StoreUnwatched,
    FactKind::StoreCycleEnd,
    FactKind::StoreEntered,
    FactKind::StoreReturned,
    FactKind::StoreClientMade,
    FactKind::StoreClientBlocked,
    FactKind::StoreClientReleased,
];

/// The facts that services tell.
pub(crate) const SERVICE_FACTS: &[FactKind] = &[
    FactKind::ServiceRequestSent,
    FactKind::ServiceRequestReceived,
    FactKind::ServiceResponseSent,
    FactKind::ServiceResponseReceived,
    FactKind::ServiceCommand,
];

/// One event, one of the batches of an event, or a place where events are missing.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Told {
    /// The event's time.
    pub(crate) at: Timestamp,
    pub(crate) stream: StreamId,
    pub(crate) process: Process,
    pub(crate) thread: Option<ThreadId>,
    pub(crate) descriptor: i32,
    pub(crate) client: StoreClientId,
    /// The kernel's probes tell it, which are on one process: nobody else can be meant by its number.
    pub(crate) is_probed: bool,
    pub(crate) what: What,
}

/// A process, as far as its number tells it from others.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Process {
    pub(crate) number: Option<ProcessId>,
    pub(crate) namespace: u32,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) enum What {
    /// Events since then may be missing.
    Gap {
        since: Timestamp,
    },
    Batch(Box<ToldBatch>),
    Name {
        number: u32,
        command: Box<str>,
    },
    Address(Box<Address>),
    ReadStart,
    ReadEnd {
        bytes: i64,
        memory: u64,
    },
    CallStart {
        command: Box<str>,
    },
    CallEnd {
        command: Box<str>,
    },
    WriteStart,
    WriteEnd {
        bytes: i64,
    },
    Bus(Box<BusMessage>),
    BusAddress(Box<Address>),
    ReplyQueued,
    Operation(StoreOperation),
    /// Where the server waits for connections.
    Listens(Box<Address>),
    /// So many bytes had been read of the client's connection before its next batch.
    WasRead(u64),
    /// Not told on: `probes.rs` says what it comes to.
    Probe(Probe),
    Message(MessageMoment, Box<ToldMessage>),
    Command(Box<ToldCommand>),
}

/// A batch as it is told: all of it, or a part that others continue.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct ToldBatch {
    pub(crate) batch: Batch,
    /// The thread that wrote last; who tells the batch, where that is not told.
    pub(crate) write_thread: Option<ThreadId>,
    pub(crate) ended_by: BatchEnd,
}

impl Told {
    /// A place before which events are missing, back to `since`.
    pub(crate) fn gap(since: Timestamp, at: Timestamp, stream: StreamId) -> Self {
        Self::new(at, stream, StoreMark::default(), What::Gap { since })
    }

    /// When what it says happened: a batch had ended before it was told.
    pub(crate) fn happened(&self) -> Timestamp {
        match &self.what {
            What::Batch(part) => part.batch.ended,
            _ => self.at,
        }
    }

    /// One of the batches that an event tells, whose mark is `mark`.
    pub(crate) fn batch(
        mark: StoreMark,
        batch: &StoreBatch,
        at: Timestamp,
        stream: StreamId,
    ) -> Self {
        let told = told_batch(batch, at, mark.thread);
        let mark = StoreMark {
            descriptor: batch.descriptor,
            client: batch.client,
            ..mark
        };
        Self::new(at, stream, mark, What::Batch(Box::new(told)))
    }

    /// What `fact`, that of `event`, says, where it tells no batches.
    pub(crate) fn of(
        fact: Fact<'_>,
        event: &Event<'_>,
        at: Timestamp,
        stream: StreamId,
    ) -> Option<Self> {
        let (mark, what) = match fact {
            Fact::ServiceMessage(moment) => {
                let message = ServiceMessage::of(event);
                let told = Box::new(ToldMessage::of(&message));
                (service(&message.mark), What::Message(moment, told))
            }
            Fact::ServiceCommand => {
                let command = ServiceCommand::of(event);
                let told = Box::new(ToldCommand::of(&command));
                (service(&command.mark), What::Command(told))
            }
            Fact::StoreCommandName {
                mark,
                number,
                command,
            } => {
                let command = text(command);
                (mark, What::Name { number, command })
            }
            Fact::StoreClientAddress(mark, address) => {
                (mark, What::Address(Box::new(address_of(&address))))
            }
            Fact::StoreReadStart(mark) => (mark, What::ReadStart),
            Fact::StoreReadEnd {
                mark,
                bytes,
                memory,
            } => (mark, What::ReadEnd { bytes, memory }),
            Fact::StoreCallStart { mark, command } => {
                let command = text(command);
                (mark, What::CallStart { command })
            }
            Fact::StoreCallEnd { mark, command } => {
                let command = text(command);
                (mark, What::CallEnd { command })
            }
            Fact::StoreWriteStart(mark) => (mark, What::WriteStart),
            Fact::StoreWriteEnd { mark, bytes } => (mark, What::WriteEnd { bytes }),
            Fact::StoreBus(mark, message) => (mark, What::Bus(Box::new(message))),
            Fact::StoreBusAddress(mark, address) => {
                (mark, What::BusAddress(Box::new(address_of(&address))))
            }
            Fact::StoreReplyQueued(mark) => (mark, What::ReplyQueued),
            Fact::StoreOperation(mark, operation) => (mark, What::Operation(operation)),
            Fact::StoreProbe(mark, probe) => (mark, What::Probe(Probe::of(&probe, event))),
            _ => return None,
        };
        Some(Self::new(at, stream, mark, what))
    }

    fn new(at: Timestamp, stream: StreamId, mark: StoreMark, what: What) -> Self {
        Self {
            at,
            stream,
            process: Process {
                number: mark.process,
                namespace: mark.namespace,
            },
            thread: mark.thread,
            descriptor: mark.descriptor,
            client: mark.client,
            is_probed: matches!(what, What::Probe(_)),
            what,
        }
    }
}

/// Who tells it; there is no client.
fn service(mark: &ServiceMark<'_>) -> StoreMark {
    StoreMark {
        process: mark.process,
        namespace: mark.namespace,
        thread: mark.thread,
        ..StoreMark::default()
    }
}

pub(crate) fn text(bytes: &[u8]) -> Box<str> {
    String::from_utf8_lossy(bytes).into()
}

pub(crate) fn address_of(address: &StoreAddress<'_>) -> Address {
    Address {
        peer_address: text(address.peer_address),
        peer_port: address.peer_port,
        own_address: text(address.own_address),
        own_port: address.own_port,
        bytes_before: address.bytes_before,
        is_to_primary: address.is_to_primary,
    }
}

/// Offsets become times: all count from the moment when the first read began.
fn told_batch(told: &StoreBatch, at: Timestamp, teller: Option<ThreadId>) -> ToldBatch {
    let age = i64::try_from(told.age.get()).unwrap_or(i64::MAX);
    let begin = Timestamp::from_ns(at.ns().saturating_sub(age));
    let after = |units: u32| begin + told.length(units);
    let commands = told.commands.iter().map(|command| Executed {
        command: command.number,
        start: after(command.start),
        length: told.length(command.duration),
    });
    ToldBatch {
        batch: Batch {
            client: told.client,
            begin,
            read_end: after(told.read_end),
            write_start: (told.bytes_written > 0).then(|| after(told.write_start)),
            ended: after(told.ended).min(at),
            answered: false,
            read_thread: told.read_thread,
            bytes_before: None,
            bytes_read: told.bytes_read,
            bytes_written: told.bytes_written,
            commands: commands.collect(),
        },
        write_thread: told.write_thread.or(teller),
        ended_by: told.ended_by,
    }
}
