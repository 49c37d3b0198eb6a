//! The answer as plain data: services, how much of what they sent was found again at the other end, and the slowest
//! requests as trees.
//!
//! Keys of the JSON document are the fields' names; docs/reference/definitions.md, section "calls", says what they mean.

use std::cmp::Reverse;
use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};
use slowpath_concepts::StoreClientId;
use slowpath_model::{Nanoseconds, ProcessId, TimeRange, Timestamp};

use super::commands::{self, ExecutedAt, wire_of};
use super::hosts::{Store, Together};
use super::requests::{self, Joined, JoinedRequests};
use super::services::{CallAt, Command, ConnectionAt, ReceivedAt, ServiceAt, Services};
use super::wires::{HostAt, Wires};
use crate::server::Level;

/// Requests that are nested deeper are not shown below their callers.
const DEEPEST: usize = 256;

/// What services asked of each other and of data stores.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct CallReport {
    /// Events that the tracer says it lost, of whatever kind.
    pub lost: u64,
    /// Events of services without the context `vpid`, which are left out.
    pub nameless: u64,
    /// Services, in the order in which they were seen first.
    pub services: Vec<ServiceRow>,
    /// Data stores, numbered as `slowpath redis` does.
    pub stores: Vec<StoreRow>,
    /// How much was found again at the other end.
    pub joins: Vec<JoinRow>,
    /// The slowest requests that were not sent for another one, the slowest first, then those that were not answered.
    pub requests: Vec<RequestNode>,
}

/// A process that answers or sends requests.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ServiceRow {
    /// Where it ran; `None` where one host is told of.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub host: Option<Box<str>>,
    /// Its number in this report, from 1.
    pub service: u32,
    /// Its process, as its own namespace numbers it.
    pub pid: Option<ProcessId>,
    /// The ports on which requests reached it.
    pub ports: BTreeSet<u16>,
    /// Requests that it received.
    pub received: u64,
    /// Requests that it sent.
    pub calls: u64,
    /// Commands that it sent to data stores.
    pub commands: u64,
    /// Another process had the same number at the same time: nothing of it is joined.
    pub mixed: bool,
}

/// A data store.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct StoreRow {
    /// Where it ran; `None` where one host is told of.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub host: Option<Box<str>>,
    /// Its number, on its host.
    pub server: u32,
    /// Its process, as its own namespace numbers it.
    pub pid: Option<ProcessId>,
    /// The port on which its clients reached it; 0: a Unix socket, or not told.
    pub port: u16,
    /// How closely it was recorded. Commands are joined to those of level lite.
    pub level: Level,
    /// Commands that it executed, by level lite.
    pub commands: u64,
    /// Those of them of which it is known who sent them.
    pub joined: u64,
}

/// What has another end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Joinable {
    /// Requests that were received: who sent them.
    Received,
    /// Requests that were sent: who received them.
    Calls,
    /// Commands that were sent: who executed them.
    Commands,
}

/// How many have another end that was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct JoinRow {
    /// What they are.
    pub of: Joinable,
    /// All.
    pub count: u64,
    /// The other end is known.
    pub joined: u64,
    /// The other end was not recorded.
    pub outside: u64,
    /// The other end was recorded, but which one it is is not certain.
    pub uncertain: u64,
    /// No request is known for which they were made. Always 0 of those received.
    pub without_request: u64,
}

/// Whether the other end is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Whereabouts {
    /// It is.
    Joined,
    /// It was not recorded.
    Outside,
    /// It was recorded, but which one it is is not certain.
    Uncertain,
}

/// A request that a service received, and what that led to.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RequestNode {
    /// Where it ran; `None` where one host is told of.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub host: Option<Box<str>>,
    /// The service's number.
    pub service: u32,
    /// `GET` and so on.
    pub method: String,
    /// The path, without a query.
    pub path: String,
    /// Of the answer.
    pub status: Option<u16>,
    /// The sender's address; empty: a Unix socket.
    pub address: String,
    /// The sender's port.
    pub port: u16,
    /// Its place in the order on the connection, from 1; HTTP/2: the stream; 0: not known.
    pub number: u32,
    /// Whether the sender is known.
    pub sender: Whereabouts,
    /// The service that sent it.
    pub sender_service: Option<u32>,
    /// When its head had been read.
    pub begin_ns: i64,
    /// Until the last byte of the answer was handed over; `None`: it was not, as far as is known.
    pub duration_ns: Option<Nanoseconds>,
    /// What was asked for it, in the order of time.
    pub called: Vec<CalledNode>,
}

/// What a service asked while it served a request.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum CalledNode {
    /// A request to a service.
    Request {
        /// `GET` and so on.
        method: String,
        /// The path, without a query.
        path: String,
        /// Of the answer.
        status: Option<u16>,
        /// To where.
        address: String,
        /// To which port.
        port: u16,
        /// From which port.
        own_port: u16,
        /// Its place in the order on the connection, from 1; HTTP/2: the stream; 0: not known.
        number: u32,
        /// Just before it was written.
        begin_ns: i64,
        /// Until the head of the answer had been read.
        duration_ns: Option<Nanoseconds>,
        /// Whether the receiver is known.
        receiver: Whereabouts,
        /// What the receiver did.
        request: Option<Box<RequestNode>>,
    },
    /// A command to a data store.
    Command {
        /// Its name; empty where that was not told.
        command: String,
        /// To where; empty: a Unix socket.
        address: String,
        /// To which port.
        port: u16,
        /// From which port.
        own_port: u16,
        /// Its place in the order on the connection, from 1; 0: not known.
        number: u32,
        /// Just before it was written.
        begin_ns: i64,
        /// Until its reply was written.
        duration_ns: Option<Nanoseconds>,
        /// Whether its execution is known.
        receiver: Whereabouts,
        /// Its execution.
        execution: Option<Execution>,
    },
}

/// What a data store did with a command.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Execution {
    /// Where it ran; `None` where one host is told of.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub host: Option<Box<str>>,
    /// The data store's number, on its host.
    pub server: u32,
    /// The client's number there.
    pub client: StoreClientId,
    /// When the data store turned to it.
    pub start_ns: i64,
    /// From when it was sent until then.
    pub queued_ns: Nanoseconds,
    /// It was executed.
    pub executed_ns: Nanoseconds,
    /// Until the last reply of its batch was written; `None`: none was seen.
    pub replied_ns: Option<Nanoseconds>,
}

impl<T> Joined<T> {
    fn whereabouts(&self) -> Whereabouts {
        match self {
            Self::To(_) => Whereabouts::Joined,
            Self::Outside => Whereabouts::Outside,
            Self::Uncertain => Whereabouts::Uncertain,
        }
    }
}

impl JoinRow {
    fn of(of: Joinable, all: impl Iterator<Item = (Whereabouts, bool)>) -> Self {
        let mut row = Self {
            of,
            count: 0,
            joined: 0,
            outside: 0,
            uncertain: 0,
            without_request: 0,
        };
        for (whereabouts, has_request) in all {
            row.add(whereabouts, has_request);
        }
        row
    }

    fn add(&mut self, whereabouts: Whereabouts, has_request: bool) {
        self.count += 1;
        self.without_request += u64::from(!has_request);
        match whereabouts {
            Whereabouts::Joined => self.joined += 1,
            Whereabouts::Outside => self.outside += 1,
            Whereabouts::Uncertain => self.uncertain += 1,
        }
    }
}

impl CallReport {
    /// `names`: of the hosts.
    pub(super) fn new(
        told: &Together,
        names: &[&str],
        lost: u64,
        window: TimeRange,
        slowest: usize,
    ) -> Self {
        let maker = Maker::of(told, names);
        Self {
            lost,
            nameless: told.nameless,
            services: maker.services(window),
            stores: maker.stores(window),
            joins: maker.joins(window),
            requests: maker.slowest(window, slowest),
        }
    }
}

/// Makes the report's parts of what was heard and joined.
struct Maker<'run> {
    services: &'run Services,
    stores: &'run [Store],
    names: &'run [&'run str],
    requests: JoinedRequests,
    executed: Vec<Joined<ExecutedAt>>,
    /// What was asked for each request, in the order of time.
    called: Vec<Vec<Called>>,
}

#[derive(Clone, Copy)]
enum Called {
    Request(CallAt),
    Command(usize),
}

impl<'run> Maker<'run> {
    fn of(told: &'run Together, names: &'run [&'run str]) -> Self {
        let (services, stores) = (&told.services, &told.stores[..]);
        let wires = Wires::of(services, stores);
        let mut maker = Self {
            services,
            stores,
            names,
            requests: requests::join(services, &wires),
            executed: commands::join(services, &wires, stores, &told.lost),
            called: vec![Vec::new(); services.received.len()],
        };
        maker.find_called();
        maker
    }

    fn host(&self, host: HostAt) -> Option<Box<str>> {
        let is_one = self.names.len() < 2;
        (!is_one).then(|| self.names[host.0 as usize].into())
    }

    fn find_called(&mut self) {
        let mut called: Vec<(ReceivedAt, Timestamp, Called)> = Vec::new();
        for (call, position) in self.services.calls.iter().zip(0..) {
            let cause = self.cause(call.connection, call.cause);
            called.extend(cause.map(|cause| (cause, call.at, Called::Request(CallAt(position)))));
        }
        for (command, position) in self.services.commands.iter().zip(0..) {
            let cause = self.cause(command.connection, command.cause);
            called.extend(cause.map(|cause| (cause, command.at, Called::Command(position))));
        }
        called.sort_by_key(|(_, at, _)| *at);
        for (cause, _, what) in called {
            self.called[cause.index()].push(what);
        }
    }

    fn cause(&self, connection: ConnectionAt, cause: Option<ReceivedAt>) -> Option<ReceivedAt> {
        let service = self.service(connection);
        cause.filter(|_| !self.services.services[service.index()].is_mixed)
    }

    fn service(&self, connection: ConnectionAt) -> ServiceAt {
        self.services.connections[connection.index()].service
    }

    fn joins(&self, window: TimeRange) -> Vec<JoinRow> {
        let received = self.services.received.iter().zip(&self.requests.senders);
        let calls = self.services.calls.iter().zip(&self.requests.receivers);
        let commands = self.services.commands.iter().zip(&self.executed);
        let received = (received.filter(|(one, _)| window.contains(one.at)))
            .map(|(_, joined)| (joined.whereabouts(), true));
        let calls = calls
            .filter(|(one, _)| window.contains(one.at))
            .map(|(one, joined)| {
                let cause = self.cause(one.connection, one.cause);
                (joined.whereabouts(), cause.is_some())
            });
        let commands = commands
            .filter(|(one, _)| window.contains(one.at))
            .map(|(one, joined)| {
                let cause = self.cause(one.connection, one.cause);
                (joined.whereabouts(), cause.is_some())
            });
        vec![
            JoinRow::of(Joinable::Received, received),
            JoinRow::of(Joinable::Calls, calls),
            JoinRow::of(Joinable::Commands, commands),
        ]
    }

    fn services(&self, window: TimeRange) -> Vec<ServiceRow> {
        let services = self.services.services.iter().zip(1..);
        let mut rows: Vec<ServiceRow> = services
            .map(|(service, number)| ServiceRow {
                host: self.host(service.host),
                service: number,
                pid: service.process.number,
                ports: BTreeSet::new(),
                received: 0,
                calls: 0,
                commands: 0,
                mixed: service.is_mixed,
            })
            .collect();
        for received in &self.services.received {
            let connection = &self.services.connections[received.connection.index()];
            let row = &mut rows[connection.service.index()];
            row.ports.insert(connection.own.port);
            row.received += u64::from(window.contains(received.at));
        }
        for call in &self.services.calls {
            let row = &mut rows[self.service(call.connection).index()];
            row.calls += u64::from(window.contains(call.at));
        }
        for command in &self.services.commands {
            let row = &mut rows[self.service(command.connection).index()];
            row.commands += u64::from(window.contains(command.at));
        }
        rows
    }

    fn stores(&self, window: TimeRange) -> Vec<StoreRow> {
        let mut rows: Vec<StoreRow> = Vec::new();
        // Of each row, the position of its store.
        let mut told: Vec<usize> = Vec::new();
        for (store, position) in self.stores.iter().zip(0..) {
            let server = &store.server;
            let Some(level) = server.told(None) else {
                continue;
            };
            let batches = server.kept().values().flatten();
            let in_window = batches.filter(|batch| window.contains(batch.ended));
            let wires = server.addresses.values().filter_map(wire_of);
            told.push(position);
            rows.push(StoreRow {
                host: self.host(store.host),
                server: store.number,
                pid: server.process.number,
                port: wires.map(|(_, own)| own.port).min().unwrap_or_default(),
                level,
                commands: in_window.map(|batch| batch.commands.len() as u64).sum(),
                joined: 0,
            });
        }
        for executed in self.executed.iter().filter_map(|executed| executed.to()) {
            let ended =
                self.stores[executed.server].server.kept()[&executed.client][executed.batch].ended;
            let row = told.binary_search(&executed.server);
            if let Ok(row) = row
                && window.contains(ended)
            {
                rows[row].joined += 1;
            }
        }
        rows
    }

    fn slowest(&self, window: TimeRange, slowest: usize) -> Vec<RequestNode> {
        let received = self.services.received.iter().zip(&self.requests.senders);
        let first = (received.zip(0..)).filter(|((received, sender), _)| {
            let call = sender.to().map(|call| &self.services.calls[call.index()]);
            let cause = call.and_then(|call| self.cause(call.connection, call.cause));
            cause.is_none() && window.contains(received.at)
        });
        let mut first: Vec<_> = first
            .map(|((received, _), position)| {
                let length = received.answered.map(|end| end.since(received.at));
                (Reverse(length), received.at, ReceivedAt(position))
            })
            .collect();
        first.sort_unstable();
        first.truncate(slowest);
        let requests = first.into_iter().map(|(_, _, at)| self.request(at, 0));
        requests.collect()
    }

    fn request(&self, at: ReceivedAt, depth: usize) -> RequestNode {
        let received = &self.services.received[at.index()];
        let connection = &self.services.connections[received.connection.index()];
        let sender = self.requests.senders[at.index()];
        let called = self.called[at.index()].iter().map(|called| match *called {
            Called::Request(call) => self.call(call, depth),
            Called::Command(position) => self.command(position),
        });
        let host = self.services.services[connection.service.index()].host;
        RequestNode {
            host: self.host(host),
            service: connection.service.0 + 1,
            method: received.message.method.to_string(),
            path: received.message.path.to_string(),
            status: Some(received.message.status).filter(|status| *status != 0),
            address: connection.peer.address.to_string(),
            port: connection.peer.port,
            number: received.message.number,
            sender: sender.whereabouts(),
            sender_service: sender.to().map(|call| {
                let connection = self.services.calls[call.index()].connection;
                self.service(connection).0 + 1
            }),
            begin_ns: received.at.ns(),
            duration_ns: received.answered.map(|end| end.since(received.at)),
            called: called.collect(),
        }
    }

    fn call(&self, at: CallAt, depth: usize) -> CalledNode {
        let call = &self.services.calls[at.index()];
        let connection = &self.services.connections[call.connection.index()];
        let receiver = self.requests.receivers[at.index()];
        let below = receiver.to().filter(|_| depth < DEEPEST);
        CalledNode::Request {
            method: call.message.method.to_string(),
            path: call.message.path.to_string(),
            status: Some(call.message.status).filter(|status| *status != 0),
            address: connection.peer.address.to_string(),
            port: connection.peer.port,
            own_port: connection.own.port,
            number: call.message.number,
            begin_ns: call.at.ns(),
            duration_ns: call.answered.map(|end| end.since(call.at)),
            receiver: receiver.whereabouts(),
            request: below.map(|below| Box::new(self.request(below, depth + 1))),
        }
    }

    fn command(&self, position: usize) -> CalledNode {
        let command = &self.services.commands[position];
        let connection = &self.services.connections[command.connection.index()];
        let executed = self.executed[position];
        let execution = executed
            .to()
            .map(|executed| self.execution(command, executed));
        let duration = execution.as_ref().and_then(|execution| {
            let replied = execution.replied_ns?;
            Some(execution.queued_ns + execution.executed_ns + replied)
        });
        CalledNode::Command {
            command: command.name.to_string(),
            address: connection.peer.address.to_string(),
            port: connection.peer.port,
            own_port: connection.own.port,
            number: command.number,
            begin_ns: command.at.ns(),
            duration_ns: duration,
            receiver: executed.whereabouts(),
            execution,
        }
    }

    fn execution(&self, command: &Command, at: ExecutedAt) -> Execution {
        let store = &self.stores[at.server];
        let batch = &store.server.kept()[&at.client][at.batch];
        let executed = batch.commands[at.position];
        let start = executed.start.max(command.at);
        let done = start + executed.length;
        Execution {
            host: self.host(store.host),
            server: store.number,
            client: at.client,
            start_ns: start.ns(),
            queued_ns: start.since(command.at),
            executed_ns: executed.length,
            replied_ns: batch.answered.then(|| batch.ended.max(done).since(done)),
        }
    }
}
