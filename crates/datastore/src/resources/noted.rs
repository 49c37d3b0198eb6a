//! What the model needs beside batches and stretches of threads: whose connections there were, their memory, what threads
//! did to them one by one, and what was sent over the bus.

use std::collections::{BTreeMap, BTreeSet};

use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};
use slowpath_concepts::{BusKind, BusMoment, StoreClientId, StoreOperation};
use slowpath_model::{Nanoseconds, ThreadId, TimeRange, Timestamp};

use super::{
    Entity, INTERNAL_LINK, NODE_TO_NODE, NOT_TOLD, PRIMARY_TO_REPLICA, Told as Values4, Tree,
    Values, millisecond_of, milliseconds, resource,
};
use crate::server::{Address, has_client};
use crate::told::{Told, What};

/// Names of what threads do to a connection, by value.
pub(super) const OPERATIONS: [&str; 5] = [
    "tls-read",
    "read-postponed",
    "freed",
    "unwatched-in-part",
    "unwatched",
];

/// So long is shown what a thread did where nothing is known of what came after.
const SHOWN: Nanoseconds = Nanoseconds(1_000);

/// What was noted of one server, in the order of time.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Noted {
    connections: BTreeMap<StoreClientId, Connection>,
    /// By descriptor: who had it last.
    latest: FxHashMap<i32, StoreClientId>,
    /// Those with which something was done in this cycle of the event loop.
    touched: BTreeSet<StoreClientId>,
    /// By descriptor: connections to other nodes, one after the other.
    links: BTreeMap<i32, Vec<Link>>,
    sent: Vec<Sent>,
    /// Copies of a message to all nodes go out, of which type.
    broadcast: Option<BusKind>,
}

/// A connection to another node.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Link {
    /// Its ends.
    address: Address,
    begin: Timestamp,
    /// A client has its descriptor.
    end: Option<Timestamp>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
struct Connection {
    descriptor: i32,
    /// What it was before, where the data store took a lost connection up again.
    before: Vec<TimeRange>,
    begin: Timestamp,
    /// The client closed it, or another has its descriptor.
    end: Option<Timestamp>,
    /// Bytes of memory, each with since when.
    memory: Vec<(Timestamp, u64)>,
    operations: Vec<Operation>,
}

/// What a thread did to a connection.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct Operation {
    at: Timestamp,
    /// The next one, or the end of the cycle.
    end: Option<Timestamp>,
    thread: Option<ThreadId>,
    what: StoreOperation,
}

/// A message to another node.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct Sent {
    at: Timestamp,
    kind: BusKind,
    is_broadcast: bool,
    bytes: u64,
}

impl Noted {
    /// One more event; they come in the order of time.
    pub(crate) fn take(&mut self, told: &Told) {
        if let What::Bus(message) = &told.what {
            match message.moment {
                BusMoment::BroadcastStart => self.broadcast = Some(message.kind),
                BusMoment::BroadcastEnd => self.broadcast = None,
                BusMoment::Sent => self.sent.push(Sent {
                    at: told.at,
                    kind: message.kind,
                    is_broadcast: self.broadcast == Some(message.kind),
                    bytes: message.bytes,
                }),
                BusMoment::Received => {}
            }
        }
        if let What::BusAddress(address) = &told.what {
            self.link(told.descriptor, address, told.at);
        }
        if !has_client(told) {
            return;
        }
        let links = self.links.get_mut(&told.descriptor);
        if let Some(link) = links.and_then(|links| links.last_mut()) {
            link.end.get_or_insert(told.happened());
        }
        let before = self.latest.insert(told.descriptor, told.client);
        if let Some(before) = before.filter(|before| *before != told.client)
            && let Some(connection) = self.connections.get_mut(&before)
            && connection.descriptor == told.descriptor
        {
            connection.end.get_or_insert(told.happened());
        }
        let connection = (self.connections.entry(told.client)).or_insert_with(|| Connection {
            descriptor: told.descriptor,
            before: Vec::new(),
            begin: told.happened(),
            end: None,
            memory: Vec::new(),
            operations: Vec::new(),
        });
        let begin = match &told.what {
            What::Batch(part) => Some(part.batch.begin),
            What::ReadStart => Some(told.at),
            _ => None,
        };
        connection.take_up(told.descriptor, begin);
        match &told.what {
            What::Batch(part) => connection.begin = connection.begin.min(part.batch.begin),
            What::ReadEnd { bytes, memory } => {
                if *bytes == 0 {
                    connection.end.get_or_insert(told.at);
                }
                let known = connection.memory.last().map_or(0, |(_, bytes)| *bytes);
                if *memory != known {
                    connection.memory.push((told.at, *memory));
                }
            }
            _ => {}
        }
    }

    fn link(&mut self, descriptor: i32, address: &Address, begin: Timestamp) {
        let links = self.links.entry(descriptor).or_default();
        let is_it = |link: &Link| link.end.is_none() && link.address == *address;
        if !links.last().is_some_and(is_it) {
            let address = address.clone();
            links.push(Link {
                address,
                begin,
                end: None,
            });
        }
    }

    /// One more operation, or the end of a cycle; they come in the order of time. Reads name no client: it is the one that
    /// had the descriptor last.
    pub(crate) fn operate(&mut self, told: &Told, what: StoreOperation) {
        if what == StoreOperation::CycleEnd {
            for client in std::mem::take(&mut self.touched) {
                if let Some(connection) = self.connections.get_mut(&client) {
                    connection.end_operation(told.at);
                }
            }
            return;
        }
        let client = match has_client(told) {
            true => Some(told.client),
            false => self.latest.get(&told.descriptor).copied(),
        };
        let Some(client) = client else { return };
        let Some(connection) = self.connections.get_mut(&client) else {
            return;
        };
        connection.end_operation(told.at);
        connection.operations.push(Operation {
            at: told.at,
            end: None,
            thread: told.thread,
            what,
        });
        self.touched.insert(client);
    }

    /// Events are missing: until when the last operations are what was done last is not known.
    pub(crate) fn settle(&mut self) {
        for client in std::mem::take(&mut self.touched) {
            if let Some(connection) = self.connections.get_mut(&client) {
                connection.end_operation(Timestamp::MAX);
            }
        }
    }

    /// The descriptor of a client's connection.
    pub(super) fn descriptor(&self, client: StoreClientId) -> Option<i64> {
        let connection = self.connections.get(&client)?;
        Some(connection.descriptor.into())
    }

    /// Adds all of it; nothing is known after `last`.
    pub(super) fn put(&self, last: Timestamp, to_replicas: &[Timestamp], tree: &mut Tree<'_>) {
        for (&client, connection) in &self.connections {
            connection.put(client, last, tree);
        }
        for (&descriptor, links) in &self.links {
            let next = links.iter().skip(1).map(|link| link.begin).chain([last]);
            let lives = links.iter().zip(next).map(|(link, next)| {
                let end = link.end.unwrap_or(next).max(link.begin);
                (TimeRange::new(link.begin, end), INTERNAL_LINK)
            });
            let of = Entity::Link(descriptor);
            tree.put_one(of, "type", Values::ConnectionTypes, lives.collect());
        }
        self.put_bus(last, tree);
        self.put_bus_types(last, to_replicas, tree);
    }

    fn put_bus_types(&self, last: Timestamp, to_replicas: &[Timestamp], tree: &mut Tree<'_>) {
        let to_nodes = self.sent.iter().map(|sent| (sent.at, NODE_TO_NODE));
        let to_replicas = to_replicas.iter().map(|at| (*at, PRIMARY_TO_REPLICA));
        let mut sent: Vec<(Timestamp, i64)> = to_nodes.chain(to_replicas).collect();
        sent.sort_unstable();
        let mut runs = sent.chunk_by(|a, b| a.1 == b.1).peekable();
        let mut types = Vec::new();
        while let Some(run) = runs.next() {
            let (begin, kind) = run[0];
            let end = runs.peek().map_or(last, |next| next[0].0);
            types.push((TimeRange::new(begin, end.max(begin)), kind));
        }
        tree.put_one(Entity::Bus, "type", Values::BusTypes, types);
    }

    fn put_bus(&self, last: Timestamp, tree: &mut Tree<'_>) {
        let mut volumes = Vec::new();
        let number = |sent: &Sent| millisecond_of(sent.at);
        for sent in self.sent.chunk_by(|a, b| number(a) == number(b)) {
            let range = milliseconds(number(&sent[0]), 1);
            let bytes = sent.iter().map(|sent| sent.bytes);
            let bytes = bytes.fold(0_u64, u64::saturating_add);
            let bytes = i64::try_from(bytes).unwrap_or(i64::MAX);
            volumes.push((range, bytes));
        }
        tree.put_one(Entity::Bus, "volume", Values::Numbers, volumes);
        let mut types = Vec::new();
        let is_alike = |a: &Sent, b: &Sent| (a.kind, a.is_broadcast) == (b.kind, b.is_broadcast);
        let mut runs = self.sent.chunk_by(is_alike).peekable();
        while let Some(sent) = runs.next() {
            let end = runs.peek().map_or(last, |next| next[0].at);
            let mut name = sent[0].kind.told_name();
            if sent[0].is_broadcast {
                name += " broadcast";
            }
            let name = tree.messages.number(name);
            types.push((TimeRange::new(sent[0].at, end), name));
        }
        tree.put_one(Entity::Bus, "message", Values::Messages, types);
    }
}

impl Operation {
    fn told(&self) -> (TimeRange, Values4) {
        let bytes = |bytes: i64| bytes.max(NOT_TOLD);
        let (what, asked, got) = match self.what {
            StoreOperation::TlsRead { asked, got, .. } => (0, bytes(asked), bytes(got)),
            StoreOperation::ReadPostponed => (1, NOT_TOLD, NOT_TOLD),
            StoreOperation::Freed => (2, NOT_TOLD, NOT_TOLD),
            StoreOperation::Unwatched { wholly: false } => (3, NOT_TOLD, NOT_TOLD),
            // A cycle's end is of no connection.
            StoreOperation::Unwatched { wholly: true } | StoreOperation::CycleEnd => {
                (4, NOT_TOLD, NOT_TOLD)
            }
        };
        let thread = self.thread.map_or(NOT_TOLD, |thread| thread.0.into());
        let end = self.end.filter(|end| *end < Timestamp::MAX);
        let range = TimeRange::new(self.at, end.unwrap_or(self.at + SHOWN));
        (range, [what, asked, got, thread])
    }
}

impl Connection {
    /// Something began over it then. Where it had ended before, it goes on with another descriptor.
    fn take_up(&mut self, descriptor: i32, begin: Option<Timestamp>) {
        if let (Some(begin), Some(end)) = (begin, self.end)
            && begin > end
        {
            self.before.push(TimeRange::new(self.begin, end));
            self.memory.push((end, 0));
            self.descriptor = descriptor;
            self.begin = begin;
            self.end = None;
        }
    }

    fn end_operation(&mut self, at: Timestamp) {
        if let Some(last) = self.operations.last_mut() {
            last.end.get_or_insert(at);
        }
    }

    /// Whether it is one of those for which it matters which thread did what: over TLS, or in the hands of several.
    fn is_of_several_hands(&self) -> bool {
        let is_tls = |one: &Operation| matches!(one.what, StoreOperation::TlsRead { .. });
        let first = self.operations.first().map(|one| one.thread);
        (self.operations.iter()).any(|one| is_tls(one) || Some(one.thread) != first)
    }

    fn put(&self, client: StoreClientId, last: Timestamp, tree: &mut Tree<'_>) {
        let (of, kind) = (Entity::Connection(client), tree.connection_type(client));
        let end = self.end.unwrap_or(last);
        let lives = [TimeRange::new(self.begin, end)];
        let lives = self.before.iter().chain(&lives).map(|life| (*life, kind));
        tree.put_one(of, "type", Values::ConnectionTypes, lives.collect());
        let mut told = Vec::new();
        let mut memory = self.memory.iter().peekable();
        while let Some(&(since, bytes)) = memory.next() {
            let until = memory.peek().map_or(end, |(at, _)| *at);
            if let (1.., Ok(bytes)) = (bytes, i64::try_from(bytes)) {
                told.push((TimeRange::new(since, until), bytes));
            }
        }
        tree.put_one(of, "memory", Values::Numbers, told);
        if self.is_of_several_hands() {
            let resources = vec![
                resource(of, "operation", Values::ConnectionOperations, 0),
                resource(of, "asked", Values::Numbers, 1),
                resource(of, "got", Values::Numbers, 2),
                resource(of, "thread", Values::Numbers, 3),
            ];
            tree.put(
                resources,
                self.operations.iter().map(Operation::told).collect(),
            );
        }
    }
}
