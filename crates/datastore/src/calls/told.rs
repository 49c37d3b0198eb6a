//! What one event of a service said, kept until all that happened before it is known.

use serde::{Deserialize, Serialize};
use slowpath_concepts::{ConnectionId, ServiceCommand, ServiceMark, ServiceMessage, WorkId};

use crate::told::text;

/// One end of a connection. Empty and 0: a Unix socket.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub(crate) struct Endpoint {
    pub(crate) address: Box<str>,
    pub(crate) port: u16,
}

impl Endpoint {
    /// A socket for both kinds of addresses shows those of IPv4 in another form than the other end does.
    pub(crate) fn new(address: &str, port: u16) -> Self {
        let mapped = address.strip_prefix("::ffff:");
        let address = mapped.filter(|rest| rest.contains('.')).unwrap_or(address);
        Self {
            address: address.into(),
            port,
        }
    }
}

/// Which work it is and over which connection.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Mark {
    pub(crate) work: WorkId,
    pub(crate) cause: WorkId,
    pub(crate) connection: ConnectionId,
    pub(crate) number: u32,
    pub(crate) own: Endpoint,
    pub(crate) peer: Endpoint,
}

/// A moment of a request over HTTP.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct ToldMessage {
    pub(crate) mark: Mark,
    pub(crate) version: u8,
    pub(crate) status: u16,
    pub(crate) sent: u64,
    pub(crate) received: u64,
    pub(crate) method: Box<str>,
    pub(crate) path: Box<str>,
}

/// A command that is about to be sent.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct ToldCommand {
    pub(crate) mark: Mark,
    pub(crate) offset: u64,
    pub(crate) bytes: u64,
    pub(crate) command: Box<str>,
}

impl Mark {
    fn of(mark: &ServiceMark<'_>) -> Self {
        let endpoint = |address, port| Endpoint::new(&String::from_utf8_lossy(address), port);
        Self {
            work: mark.work,
            cause: mark.cause,
            connection: mark.connection,
            number: mark.number,
            own: endpoint(mark.own_address, mark.own_port),
            peer: endpoint(mark.peer_address, mark.peer_port),
        }
    }
}

impl ToldMessage {
    pub(crate) fn of(message: &ServiceMessage<'_>) -> Self {
        Self {
            mark: Mark::of(&message.mark),
            version: message.version,
            status: message.status,
            sent: message.sent,
            received: message.received,
            method: text(message.method),
            path: text(message.path),
        }
    }
}

impl ToldCommand {
    pub(crate) fn of(command: &ServiceCommand<'_>) -> Self {
        Self {
            mark: Mark::of(&command.mark),
            offset: command.offset,
            bytes: command.bytes,
            command: text(command.command),
        }
    }
}
