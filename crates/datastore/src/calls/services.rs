//! Services and what they told: requests that they received and sent, commands, connections.
//!
//! Events come here in the order of time. Numbers of work are never used twice in the life of a process; where an
//! event contradicts that, its number belongs to another process from there on. What caused a piece of work was told
//! before it, so the references here always go back, and no request is among its own causes.

use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};
use slowpath_concepts::{ConnectionId, MessageMoment, WorkId};
use slowpath_model::Timestamp;

use super::told::{Endpoint, Mark, ToldCommand, ToldMessage};
use super::wires::HostAt;
use crate::told::Process;

/// Positions in the lists of [`Services`].
macro_rules! positions {
    ($($(#[$what:meta])* $name:ident),*) => {
        $(
            $(#[$what])*
            #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
            pub(crate) struct $name(pub(crate) u32);

            impl $name {
                pub(crate) fn of(position: usize) -> Self {
                    Self(position as u32)
                }

                pub(crate) fn index(self) -> usize {
                    self.0 as usize
                }
            }
        )*
    };
}
positions!(
    /// A service.
    ServiceAt,
    /// A connection.
    ConnectionAt,
    /// A request that was received.
    ReceivedAt,
    /// A request that was sent.
    CallAt
);

/// All services of a host, or of several, in the order in which they were seen first, and what they told, in the order of time.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Services {
    pub(crate) services: Vec<Service>,
    pub(crate) connections: Vec<Connection>,
    pub(crate) received: Vec<Received>,
    pub(crate) calls: Vec<Call>,
    pub(crate) commands: Vec<Command>,
}

/// A process that answers or sends requests.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Service {
    pub(crate) process: Process,
    /// Where it runs.
    pub(crate) host: HostAt,
    /// Another process with the same number lived at the same time, in a namespace of its own: whose work is whose
    /// is not known.
    pub(crate) is_mixed: bool,
    works: FxHashMap<WorkId, Work>,
    connections: FxHashMap<ConnectionId, ConnectionAt>,
}

/// What a number of work stands for.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
enum Work {
    Received(ReceivedAt),
    Call(CallAt),
    Command(ConnectionAt),
}

/// What a connection is for, seen from this end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Role {
    /// Requests are received.
    Server,
    /// Requests are sent.
    Client,
    /// Commands are sent.
    StoreClient,
}

/// One end of a connection.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Connection {
    pub(crate) service: ServiceAt,
    pub(crate) role: Role,
    pub(crate) own: Endpoint,
    pub(crate) peer: Endpoint,
}

/// A request that a service received.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Received {
    pub(crate) connection: ConnectionAt,
    pub(crate) at: Timestamp,
    pub(crate) answered: Option<Timestamp>,
    pub(crate) message: Message,
}

/// A request that a service sent.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Call {
    pub(crate) connection: ConnectionAt,
    pub(crate) cause: Option<ReceivedAt>,
    pub(crate) at: Timestamp,
    pub(crate) answered: Option<Timestamp>,
    pub(crate) message: Message,
}

/// What both ends tell of a request.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Message {
    pub(crate) number: u32,
    pub(crate) version: u8,
    /// 0: not answered.
    pub(crate) status: u16,
    /// Bytes that this end had sent and received when the request was sent or received.
    pub(crate) sent: u64,
    pub(crate) received: u64,
    pub(crate) method: Box<str>,
    pub(crate) path: Box<str>,
}

/// A command that a service sent.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Command {
    pub(crate) connection: ConnectionAt,
    pub(crate) cause: Option<ReceivedAt>,
    pub(crate) at: Timestamp,
    pub(crate) number: u32,
    /// Bytes of the connection before it, and with it.
    pub(crate) begin: u64,
    pub(crate) end: u64,
    pub(crate) name: Box<str>,
}

impl Services {
    /// A moment of a request.
    pub(crate) fn message(
        &mut self,
        process: Process,
        at: Timestamp,
        moment: MessageMoment,
        told: ToldMessage,
    ) {
        match moment {
            MessageMoment::RequestReceived => self.request_received(process, at, told),
            MessageMoment::RequestSent => self.request_sent(process, at, told),
            MessageMoment::ResponseSent | MessageMoment::ResponseReceived => {
                self.response(process, at, moment, &told);
            }
        }
    }

    /// A command.
    pub(crate) fn command(&mut self, process: Process, at: Timestamp, told: ToldCommand) {
        let (service, connection) = self.place(process, &told.mark, Role::StoreClient);
        let command = Command {
            connection,
            cause: self.cause(service, &told.mark),
            at,
            number: told.mark.number,
            begin: told.offset,
            end: told.offset.saturating_add(told.bytes),
            name: told.command,
        };
        self.commands.push(command);
        let work = Work::Command(connection);
        self.services[service.index()]
            .works
            .insert(told.mark.work, work);
    }

    fn request_received(&mut self, process: Process, at: Timestamp, told: ToldMessage) {
        let (service, connection) = self.place(process, &told.mark, Role::Server);
        let work = Work::Received(ReceivedAt::of(self.received.len()));
        self.services[service.index()]
            .works
            .insert(told.mark.work, work);
        self.received.push(Received {
            connection,
            at,
            answered: None,
            message: Message::of(told),
        });
    }

    fn request_sent(&mut self, process: Process, at: Timestamp, told: ToldMessage) {
        let (service, connection) = self.place(process, &told.mark, Role::Client);
        let work = Work::Call(CallAt::of(self.calls.len()));
        let cause = self.cause(service, &told.mark);
        self.services[service.index()]
            .works
            .insert(told.mark.work, work);
        self.calls.push(Call {
            connection,
            cause,
            at,
            answered: None,
            message: Message::of(told),
        });
    }

    /// The first answer counts.
    fn response(
        &mut self,
        process: Process,
        at: Timestamp,
        moment: MessageMoment,
        told: &ToldMessage,
    ) {
        let known = self.latest(process);
        let work = known.and_then(|known| self.services[known.index()].works.get(&told.mark.work));
        let (answered, message) = match (work, moment) {
            (Some(Work::Received(position)), MessageMoment::ResponseSent) => {
                let received = &mut self.received[position.index()];
                (&mut received.answered, &mut received.message)
            }
            (Some(Work::Call(position)), MessageMoment::ResponseReceived) => {
                let call = &mut self.calls[position.index()];
                (&mut call.answered, &mut call.message)
            }
            _ => return,
        };
        if answered.is_none() {
            *answered = Some(at);
            message.status = told.status;
        }
    }

    /// The request that was being served when the work came up.
    fn cause(&self, service: ServiceAt, mark: &Mark) -> Option<ReceivedAt> {
        match self.services[service.index()].works.get(&mark.cause) {
            Some(Work::Received(position)) => Some(*position),
            _ => None,
        }
    }

    fn latest(&self, process: Process) -> Option<ServiceAt> {
        let position = (self.services.iter()).rposition(|service| service.process == process);
        position.map(ServiceAt::of)
    }

    /// The service that begins a piece of work, and the connection, both made where they are new.
    fn place(&mut self, process: Process, mark: &Mark, role: Role) -> (ServiceAt, ConnectionAt) {
        let known = self.latest(process);
        let known = known.filter(|known| !self.is_contradicted(*known, mark, role));
        let is_mixed = self.is_mixed(process, known, mark, role);
        if is_mixed {
            let all = self.services.iter_mut();
            let its = all.filter(|service| service.process == process);
            its.for_each(|service| service.is_mixed = true);
        }
        let service = known.unwrap_or_else(|| {
            self.services.push(Service {
                process,
                host: HostAt::default(),
                is_mixed,
                works: FxHashMap::default(),
                connections: FxHashMap::default(),
            });
            ServiceAt::of(self.services.len() - 1)
        });
        let connections = &mut self.services[service.index()].connections;
        let connection = *connections.entry(mark.connection).or_insert_with(|| {
            self.connections.push(Connection {
                service,
                role,
                own: mark.own.clone(),
                peer: mark.peer.clone(),
            });
            ConnectionAt::of(self.connections.len() - 1)
        });
        (service, connection)
    }

    /// Whether a service goes on after another one has taken its number.
    fn is_mixed(&self, process: Process, now: Option<ServiceAt>, mark: &Mark, role: Role) -> bool {
        let is_on = |service: &Service| {
            let connection = service.connections.get(&mark.connection);
            connection.is_some_and(|position| self.connections[position.index()].is(mark, role))
        };
        let is_now = now.is_some_and(|now| is_on(&self.services[now.index()]));
        let mut its = (self.services.iter()).filter(|service| service.process == process);
        its.any(|service| service.is_mixed || !is_now && is_on(service))
    }

    /// Whether the work that begins cannot be of this process. Work can be sent again, over another connection.
    fn is_contradicted(&self, service: ServiceAt, mark: &Mark, role: Role) -> bool {
        let service = &self.services[service.index()];
        let connection = service.connections.get(&mark.connection);
        let is_other = connection.is_some_and(|position| {
            let known = &self.connections[position.index()];
            !known.is(mark, role)
        });
        let before = match service.works.get(&mark.work) {
            None => return is_other,
            Some(Work::Received(_)) => return true,
            Some(Work::Call(position)) => self.calls[position.index()].connection,
            Some(Work::Command(connection)) => *connection,
        };
        is_other || connection == Some(&before)
    }
}

impl Connection {
    fn is(&self, mark: &Mark, role: Role) -> bool {
        self.role == role && self.own == mark.own && self.peer == mark.peer
    }
}

impl Message {
    /// Whether both ends tell of the same.
    pub(crate) fn is_same(&self, other: &Self) -> bool {
        self.version == other.version && self.method == other.method && self.path == other.path
    }

    fn of(told: ToldMessage) -> Self {
        Self {
            number: told.mark.number,
            version: told.version,
            status: 0,
            sent: told.sent,
            received: told.received,
            method: told.method,
            path: told.path,
        }
    }
}
