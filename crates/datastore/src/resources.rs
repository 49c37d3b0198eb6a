//! The model: what the resources of a data store were over time, for the state history.
//!
//! Its tree is that of Redis's actors: connections, requests, bus, threads, event loop. Made of what the totals are
//! made of (batches, stretches of threads), so both tell the same. What a level does not tell is absent. Definitions:
//! docs/reference/definitions.md, section "state".

mod noted;
mod request_type;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use slowpath_concepts::StoreClientId;
use slowpath_model::{ThreadId, TimeRange, Timestamp};

pub(crate) use noted::Noted;

use crate::batch::Batch;
use crate::busy::{self, Doing, Operation};
use crate::server::{Level, Server};

/// Whose resource it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Entity {
    /// The server itself.
    Server,
    /// A client's connection.
    Connection(StoreClientId),
    /// What a client asked for, over its connection; one at a time.
    Request(StoreClientId),
    /// The bus to the other nodes of a cluster.
    Bus,
    /// One of its threads, as its own namespace numbers it.
    Thread(ThreadId),
    /// The loop of its main thread.
    EventLoop,
}

/// What a resource's values mean.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Values {
    /// They are numbers.
    Numbers,
    /// What a connection is.
    ConnectionTypes,
    /// Where a request, or what a connection brought, lies in the server.
    Structures,
    /// Whether a request reads or writes.
    RequestTypes,
    /// What a thread does.
    Operations,
    /// Positions in [`ServerModel::commands`].
    Commands,
    /// Positions in [`ServerModel::messages`].
    Messages,
}

impl Values {
    /// Those whose names are the same in every server.
    pub const FIXED: [Self; 4] = [
        Self::ConnectionTypes,
        Self::Structures,
        Self::RequestTypes,
        Self::Operations,
    ];

    /// What their names are called together; numbers have none.
    pub fn vocabulary(self) -> Option<&'static str> {
        match self {
            Self::Numbers => None,
            Self::ConnectionTypes => Some("connection type"),
            Self::Structures => Some("data structure"),
            Self::RequestTypes => Some("request type"),
            Self::Operations => Some("store operation"),
            Self::Commands => Some("store command"),
            Self::Messages => Some("bus message"),
        }
    }

    /// The names by value, where they are the same in every server.
    pub fn names(self) -> &'static [&'static str] {
        match self {
            Self::ConnectionTypes => &["client"],
            Self::Structures => &["query-buffer", "arguments", "reply-buffer"],
            Self::RequestTypes => request_type::TYPES,
            Self::Operations => &["reading", "executing", "writing"],
            Self::Numbers | Self::Commands | Self::Messages => &[],
        }
    }
}

/// Values of [`Values::Structures`].
const QUERY_BUFFER: i64 = 0;
const ARGUMENTS: i64 = 1;
const REPLY_BUFFER: i64 = 2;

/// What one resource was over time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Resource {
    /// Whose it is.
    pub of: Entity,
    /// What it tells of that: `memory`, `operation` …
    pub what: &'static str,
    /// What its values mean.
    pub values: Values,
    /// Values and when it had them, in no order; where one begins within another, that ends there.
    pub intervals: Vec<(TimeRange, i64)>,
}

/// The resources of one server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServerModel {
    /// Its number, as the report has it.
    pub number: u32,
    /// All that was told, in the order of whose it is.
    pub resources: Vec<Resource>,
    /// Names of commands.
    pub commands: Vec<String>,
    /// Types of messages over the bus.
    pub messages: Vec<String>,
}

impl ServerModel {
    /// `server` was told with all that the model is made of.
    pub(crate) fn new(server: &Server, number: u32) -> Self {
        let (level, totals) = match server.life_cycle.is_recorded {
            true => (Level::LifeCycle, &server.life_cycle),
            false => (Level::Lite, &server.lite),
        };
        let mut tree = Tree {
            server,
            level,
            found: BTreeMap::new(),
            commands: Names::default(),
            messages: Names::default(),
        };
        if let Some(process) = server.process.number {
            let life = TimeRange::new(server.first, server.last);
            tree.put(
                Entity::Server,
                "process",
                Values::Numbers,
                life,
                process.0.into(),
            );
        }
        server.noted.put(server.last, &mut tree);
        for batch in totals.kept.values().flatten() {
            tree.batch(batch);
        }
        tree.waiting(totals.kept.values().flatten());
        for operation in &totals.work.kept {
            tree.operation(operation);
        }
        tree.model(number)
    }
}

/// Names of values, as they are found.
#[derive(Default)]
struct Names {
    names: Vec<String>,
    numbers: BTreeMap<String, i64>,
}

impl Names {
    fn number(&mut self, name: String) -> i64 {
        let next = self.names.len() as i64;
        let number = *self.numbers.entry(name.clone()).or_insert(next);
        if number == next {
            self.names.push(name);
        }
        number
    }
}

type Intervals = Vec<(TimeRange, i64)>;

/// What is known of a server's resources so far.
struct Tree<'run> {
    server: &'run Server,
    level: Level,
    found: BTreeMap<(Entity, &'static str), (Values, Intervals)>,
    commands: Names,
    messages: Names,
}

impl Tree<'_> {
    fn put(
        &mut self,
        of: Entity,
        what: &'static str,
        values: Values,
        range: TimeRange,
        value: i64,
    ) {
        if range.begin < range.end {
            let known = self.found.entry((of, what));
            let (_, intervals) = known.or_insert_with(|| (values, Vec::new()));
            intervals.push((range, value));
        }
    }

    /// Requests follow one another on a connection: each from the end of the one before it to its own, the last until
    /// it was answered.
    fn batch(&mut self, batch: &Batch) {
        let mut since = batch.begin;
        let last = batch.commands.len().saturating_sub(1);
        for (executed, position) in batch.commands.iter().zip(0..) {
            let start = executed.start.max(since);
            let end = start.max(executed.start + executed.length);
            let until = match position == last && batch.answered {
                true => batch.ended.max(end),
                false => end,
            };
            self.request(batch.client, executed.command, [since, start, end, until]);
            since = end;
        }
        let written_since = match batch.commands.is_empty() {
            true if batch.bytes_read == 0 => batch.begin,
            true => batch.write_start.unwrap_or(batch.ended),
            false => since,
        };
        let until = match batch.answered {
            true => batch.ended.max(written_since),
            false => written_since,
        };
        let connection = Entity::Connection(batch.client);
        self.lies_in(connection, [batch.begin, written_since], QUERY_BUFFER);
        self.lies_in(connection, [written_since, until], REPLY_BUFFER);
    }

    /// A command that waited, was turned to, was executed and was answered until then.
    fn request(&mut self, client: StoreClientId, command: u32, times: [Timestamp; 4]) {
        let [since, start, end, until] = times;
        let (of, range) = (Entity::Request(client), TimeRange::new(since, until));
        let name = self.server.command(self.level, command);
        let kind = request_type::request_type(&name);
        let command = self.commands.number(name);
        self.put(of, "command", Values::Commands, range, command);
        self.put(of, "type", Values::RequestTypes, range, kind);
        if let Some(descriptor) = self.server.noted.descriptor(client) {
            self.put(of, "connection", Values::Numbers, range, descriptor);
        }
        self.lies_in(of, [since, start], QUERY_BUFFER);
        self.lies_in(of, [start, end], ARGUMENTS);
        self.lies_in(of, [end, until], REPLY_BUFFER);
    }

    fn lies_in(&mut self, of: Entity, [begin, end]: [Timestamp; 2], structure: i64) {
        let range = TimeRange::new(begin, end);
        self.put(of, "data-structure", Values::Structures, range, structure);
    }

    /// How many clients have asked for something and were not answered yet.
    fn waiting<'batch>(&mut self, batches: impl Iterator<Item = &'batch Batch>) {
        let asking =
            batches.filter(|batch| !batch.commands.is_empty() && batch.begin < batch.ended);
        let mut changes: Vec<(Timestamp, i64)> = asking
            .flat_map(|batch| [(batch.begin, 1), (batch.ended, -1)])
            .collect();
        changes.sort_unstable();
        let (mut since, mut count) = (Timestamp::MIN, 0);
        for (at, change) in changes {
            if at > since {
                if count > 0 {
                    let range = TimeRange::new(since, at);
                    self.put(Entity::EventLoop, "waiting", Values::Numbers, range, count);
                }
                since = at;
            }
            count += change;
        }
    }

    fn operation(&mut self, operation: &Operation) {
        let doing = match operation.doing {
            Doing::Reading => 0,
            Doing::Executing => 1,
            Doing::Writing => 2,
        };
        let range = operation.range;
        if let Some(thread) = operation.thread {
            let thread = Entity::Thread(thread);
            let client = operation.client.0.cast_signed();
            self.put(thread, "operation", Values::Operations, range, doing);
            self.put(thread, "request", Values::Numbers, range, client);
        }
        if busy::is_main(self.server.process, operation.thread) {
            self.put(
                Entity::EventLoop,
                "operation",
                Values::Operations,
                range,
                doing,
            );
        }
    }

    fn model(self, number: u32) -> ServerModel {
        let resources = self.found.into_iter();
        let resources = resources.map(|((of, what), (values, intervals))| Resource {
            of,
            what,
            values,
            intervals,
        });
        ServerModel {
            number,
            resources: resources.collect(),
            commands: self.commands.names,
            messages: self.messages.names,
        }
    }
}
