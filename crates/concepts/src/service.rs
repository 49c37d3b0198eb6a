//! What a service tells of the requests that it answers and sends, and of the commands that it sends to a data store.
//!
//! The agent for Node (agents/node/provider.h) is the one who tells it today. There are too many values for a
//! [`Fact`](crate::Fact), which every analysis moves about: they are taken out of the event where they are wanted.

use serde::{Deserialize, Serialize};
use slowpath_model::{Event, ProcessId, ThreadId};

use crate::slot;

/// A request or command as a piece of work of a process; 0: none. Never used twice in the life of the process.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct WorkId(pub u64);

/// A connection of a process. Never used twice in its life: a later one with the same ports has another.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct ConnectionId(pub u64);

/// The moments of a request over HTTP that its two ends tell.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum MessageMoment {
    /// The client is about to write the request's head.
    RequestSent,
    /// The server has read it, and turns to it.
    RequestReceived,
    /// The server has handed over the last byte of the answer.
    ResponseSent,
    /// The client has read the answer's head.
    ResponseReceived,
}

/// Which work it is and over which connection. Empty addresses and ports 0: a Unix socket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ServiceMark<'packet> {
    /// The process, as its own namespace numbers it, where recorded (context `vpid`).
    pub process: Option<ProcessId>,
    /// The namespace of that number, where recorded (context `pid_ns`).
    pub namespace: u32,
    /// The thread, as its own namespace numbers it, where recorded (context `vtid`).
    pub thread: Option<ThreadId>,
    /// The work.
    pub work: WorkId,
    /// The request that was being served when the work came up.
    pub cause: WorkId,
    /// The connection.
    pub connection: ConnectionId,
    /// Its place in the order on the connection, from 1; of HTTP/2 the stream's id; 0: not known, as the
    /// connection is older than the recording.
    pub number: u32,
    /// Address of this end.
    pub own_address: &'packet [u8],
    /// Port of this end.
    pub own_port: u16,
    /// Address of the other end.
    pub peer_address: &'packet [u8],
    /// Port of the other end.
    pub peer_port: u16,
}

impl<'packet> ServiceMark<'packet> {
    /// Out of the slots that all of these events have first.
    fn of(event: &Event<'packet>) -> Self {
        let number = |n| event.has(slot(n)).then(|| event.signed(slot(n)) as i32);
        Self {
            process: number(0).map(ProcessId),
            thread: number(1).map(ThreadId),
            namespace: event.unsigned(slot(2)) as u32,
            work: WorkId(event.unsigned(slot(3))),
            cause: WorkId(event.unsigned(slot(4))),
            connection: ConnectionId(event.unsigned(slot(5))),
            number: event.unsigned(slot(6)) as u32,
            own_address: event.text(slot(7)),
            own_port: event.unsigned(slot(8)) as u16,
            peer_address: event.text(slot(9)),
            peer_port: event.unsigned(slot(10)) as u16,
        }
    }
}

/// What an event says that is a [`Fact::ServiceMessage`](crate::Fact::ServiceMessage).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ServiceMessage<'packet> {
    /// Which request, and where.
    pub mark: ServiceMark<'packet>,
    /// 11: HTTP/1.1 or 1.0; 20: HTTP/2.
    pub version: u8,
    /// Of the answer; 0 before there is one.
    pub status: u16,
    /// Bytes that went out over the connection before this; 0 for HTTP/2.
    pub sent: u64,
    /// Bytes that came in over it until now; 0 for HTTP/2.
    pub received: u64,
    /// `GET` and so on.
    pub method: &'packet [u8],
    /// Without scheme, host, query string and fragment.
    pub path: &'packet [u8],
}

impl<'packet> ServiceMessage<'packet> {
    /// What the event says.
    pub fn of(event: &Event<'packet>) -> Self {
        Self {
            mark: ServiceMark::of(event),
            version: event.unsigned(slot(11)) as u8,
            status: event.unsigned(slot(12)) as u16,
            sent: event.unsigned(slot(13)),
            received: event.unsigned(slot(14)),
            method: event.text(slot(15)),
            path: event.text(slot(16)),
        }
    }
}

/// What an event says that is a [`Fact::ServiceCommand`](crate::Fact::ServiceCommand).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ServiceCommand<'packet> {
    /// Which command, and where.
    pub mark: ServiceMark<'packet>,
    /// Bytes that were written to the connection before it.
    pub offset: u64,
    /// Bytes of it on the wire.
    pub bytes: u64,
    /// Its name in lower case, without a subcommand; empty where that is not told.
    pub command: &'packet [u8],
}

impl<'packet> ServiceCommand<'packet> {
    /// What the event says.
    pub fn of(event: &Event<'packet>) -> Self {
        Self {
            mark: ServiceMark::of(event),
            offset: event.unsigned(slot(11)),
            bytes: event.unsigned(slot(12)),
            command: event.text(slot(13)),
        }
    }
}
