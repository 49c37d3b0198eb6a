//! Which threads did what to a connection in one cycle of the event loop, and clients that were freed twice.
//!
//! Of level full alone, and of connections over TLS, whose reads name their bytes. A cycle goes from the end of
//! `beforeSleep` to the next. Memory is bounded by the open descriptors, and by [`MOST_FREED`].

#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};
use slowpath_concepts::{StoreClientId, StoreOperation};
use slowpath_model::{ThreadId, TimeRange, Timestamp};

use crate::told::Told;

/// So many operations on a connection are remembered.
const MOST_REMEMBERED: usize = 32;
/// So many freed clients are remembered, those that connected last.
const MOST_FREED: usize = 1024;

/// What one thread did to a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Touch {
    /// When.
    pub at_ns: i64,
    /// The cycle of the event loop, counted from the first that was seen whole.
    pub cycle: u64,
    /// The thread, where recorded.
    pub tid: Option<ThreadId>,
    /// What, with bytes asked and got.
    #[serde(flatten)]
    pub operation: StoreOperation,
}

/// A connection that several threads touched in one cycle of the event loop.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TouchedConnection {
    /// Its descriptor.
    pub fd: i32,
    /// The client's number; 0: not told.
    pub client: StoreClientId,
    /// How many threads.
    pub threads: u64,
    /// What they did, in order; the last of many.
    pub touches: Vec<Touch>,
}

/// How often several threads did something to one connection in one cycle.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Several {
    pub(crate) cycles: u64,
    pub(crate) descriptors: BTreeSet<i32>,
    /// Where the most threads did, and most.
    pub(crate) worst: Option<TouchedConnection>,
}

/// A client that was freed again after its connection was closed.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct FreedTwice {
    pub(crate) fd: i32,
    pub(crate) client: StoreClientId,
    /// Up to the second time.
    pub(crate) touches: Vec<Touch>,
}

/// The cycles of one server.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Cycles {
    /// None before the end of the first cycle, or after events that are missing.
    cycle: Option<u64>,
    ended: u64,
    connections: FxHashMap<i32, Connection>,
    /// Descriptors that were touched in this cycle.
    touched: BTreeSet<i32>,
    freed: BTreeMap<StoreClientId, Connection>,
    /// They were touched by several threads.
    pub(crate) several: Several,
    /// They were read by several threads.
    pub(crate) several_read: Several,
    pub(crate) freed_twice: Vec<FreedTwice>,
    pub(crate) freed_twice_count: u64,
}

/// Freed clients that are told of.
const MOST_TOLD: usize = 5;

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct Connection {
    client: StoreClientId,
    touches: VecDeque<Touch>,
    /// The event loop stopped to watch it after it had been freed.
    is_closed: bool,
    is_freed: bool,
}

impl Connection {
    fn add(&mut self, touch: Touch) {
        if self.touches.len() == MOST_REMEMBERED {
            self.touches.pop_front();
        }
        self.touches.push_back(touch);
    }
}

impl Cycles {
    /// One more operation; those of a server come in the order of time.
    pub(crate) fn take(&mut self, told: &Told, operation: StoreOperation, window: TimeRange) {
        if operation == StoreOperation::CycleEnd {
            self.end_cycle(told.at, window);
            return;
        }
        if told.descriptor < 0 {
            return;
        }
        let touch = Touch {
            at_ns: told.at.ns(),
            cycle: self.cycle.unwrap_or_default(),
            tid: told.thread,
            operation,
        };
        let is_freed_again = operation == StoreOperation::Freed && self.is_gone(told);
        let connection = self.connection_of(told);
        connection.add(touch);
        match operation {
            StoreOperation::Freed => connection.is_freed = true,
            StoreOperation::Unwatched { wholly } => {
                connection.is_closed |= wholly && connection.is_freed;
            }
            _ => {}
        }
        if is_freed_again && window.contains(told.at) {
            self.tell_freed_again(told);
        }
    }

    /// A freed client has another connection now.
    pub(crate) fn comes_again(&mut self, client: StoreClientId) {
        self.freed.remove(&client);
    }

    /// The descriptor's connection, touched in this cycle. Until that ends, nobody else can have the descriptor but a
    /// client that is named: reads name none.
    fn connection_of(&mut self, told: &Told) -> &mut Connection {
        self.touched.insert(told.descriptor);
        let connection = self.connections.entry(told.descriptor).or_default();
        if told.client != StoreClientId::default() {
            if connection.client != StoreClientId::default() && connection.client != told.client {
                *connection = Connection::default();
            }
            connection.client = told.client;
        }
        connection
    }

    /// Whether the client was freed and its connection closed before. Redis may put a first attempt off; then the
    /// connection is still there.
    fn is_gone(&self, told: &Told) -> bool {
        let current = self.connections.get(&told.descriptor);
        let is_its = current.filter(|connection| connection.client == told.client);
        is_its.is_some_and(|connection| connection.is_closed)
            || self.freed.contains_key(&told.client)
    }

    fn tell_freed_again(&mut self, told: &Told) {
        self.freed_twice_count += 1;
        if self.freed_twice.len() == MOST_TOLD {
            return;
        }
        let before = self.freed.get(&told.client);
        let before = before.map(|connection| &connection.touches);
        let now = &self.connections[&told.descriptor].touches;
        self.freed_twice.push(FreedTwice {
            fd: told.descriptor,
            client: told.client,
            touches: before.into_iter().flatten().chain(now).copied().collect(),
        });
    }

    fn end_cycle(&mut self, at: Timestamp, window: TimeRange) {
        let touched = std::mem::take(&mut self.touched);
        if let Some(cycle) = self.cycle.filter(|_| window.contains(at)) {
            for (fd, connection) in touched.iter().map(|fd| (*fd, &self.connections[fd])) {
                let touches = connection
                    .touches
                    .iter()
                    .filter(|touch| touch.cycle == cycle);
                let found = TouchedConnection {
                    fd,
                    client: connection.client,
                    threads: 0,
                    touches: touches.copied().collect(),
                };
                let is_read =
                    |touch: &Touch| matches!(touch.operation, StoreOperation::TlsRead { .. });
                self.several.add(&found, |_| true);
                self.several_read.add(&found, is_read);
            }
        }
        self.ended += 1;
        self.cycle = Some(self.ended);
        let closed = self
            .connections
            .extract_if(|_, connection| connection.is_closed);
        let closed = closed.map(|(_, connection)| (connection.client, connection));
        self.freed.extend(closed);
        while self.freed.len() > MOST_FREED {
            self.freed.pop_first();
        }
    }

    /// Events are missing, or nothing follows: what belongs to the cycle is not known.
    pub(crate) fn settle(&mut self) {
        self.cycle = None;
        self.touched.clear();
        self.connections.clear();
    }
}

impl Several {
    /// Adds a connection's cycle, where several threads did what counts.
    fn add(&mut self, found: &TouchedConnection, counts: impl Fn(&Touch) -> bool) {
        let counted = found.touches.iter().filter(|touch| counts(touch));
        let threads: BTreeSet<ThreadId> = counted.filter_map(|touch| touch.tid).collect();
        if threads.len() < 2 {
            return;
        }
        self.cycles += 1;
        self.descriptors.insert(found.fd);
        let found = TouchedConnection {
            threads: threads.len() as u64,
            ..found.clone()
        };
        let weight = |row: &TouchedConnection| (row.threads, row.touches.len());
        if (self.worst.as_ref()).is_none_or(|worst| weight(&found) > weight(worst)) {
            self.worst = Some(found);
        }
    }
}
