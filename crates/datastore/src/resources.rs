//! The model: what the resources of a data store were over time, for the state history.
//!
//! Its tree is that of Redis's actors: connections, requests, bus, threads, event loop. Made of what the totals are
//! made of (batches, stretches of threads), so both tell the same. What a level does not tell is absent. Definitions:
//! docs/reference/definitions.md, section "state".

mod noted;
mod request_type;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};

use rustc_hash::FxHashMap;
use slowpath_concepts::StoreClientId;
use slowpath_model::{ThreadId, TimeRange, Timestamp};

pub(crate) use noted::Noted;

use crate::batch::Batch;
use crate::busy::{self, Doing, Operation};
use crate::server::{Level, Server};
use crate::totals::Totals;

/// Whose resource it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Entity {
    /// The server itself.
    Server,
    /// A client's connection.
    Connection(StoreClientId),
    /// A connection to another node of the cluster, by its descriptor.
    Link(i32),
    /// What a client asked for, over its connection; one at a time.
    Request(StoreClientId),
    /// The bus to the other nodes of a cluster.
    Bus,
    /// One of its threads, as its own namespace numbers it.
    Thread(ThreadId),
    /// The loop of its main thread.
    EventLoop,
    /// All its clients together.
    Clients,
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
    /// Between whom something goes.
    BusTypes,
    /// Whether a request reads or writes: positions in [`ServerModel::commands`].
    RequestTypes,
    /// What a thread does.
    Operations,
    /// What a thread does to a connection.
    ConnectionOperations,
    /// Positions in [`ServerModel::commands`].
    Commands,
    /// Positions in [`ServerModel::messages`].
    Messages,
}

impl Values {
    /// Those whose names are the same in every server.
    pub const FIXED: [Self; 5] = [
        Self::ConnectionTypes,
        Self::BusTypes,
        Self::Structures,
        Self::Operations,
        Self::ConnectionOperations,
    ];

    /// What their names are called together; numbers have none.
    pub fn vocabulary(self) -> Option<&'static str> {
        match self {
            Self::Numbers => None,
            Self::ConnectionTypes => Some("connection type"),
            Self::BusTypes => Some("bus type"),
            Self::Structures => Some("data structure"),
            Self::RequestTypes => Some("request type"),
            Self::Operations => Some("store operation"),
            Self::ConnectionOperations => Some("connection operation"),
            Self::Commands => Some("store command"),
            Self::Messages => Some("bus message"),
        }
    }

    /// The names by value, where they are the same in every server.
    pub fn names(self) -> &'static [&'static str] {
        match self {
            Self::ConnectionTypes => &["client", "internal-link", "replica-link"],
            Self::BusTypes => &["node-to-node", "primary-to-replica"],
            Self::Structures => &["query-buffer", "arguments", "reply-buffer"],
            Self::Operations => &["reading", "executing", "writing"],
            Self::ConnectionOperations => &noted::OPERATIONS,
            Self::Numbers | Self::RequestTypes | Self::Commands | Self::Messages => &[],
        }
    }
}

/// Values of [`Values::ConnectionTypes`].
const CLIENT: i64 = 0;
const INTERNAL_LINK: i64 = 1;
const REPLICA_LINK: i64 = 2;

/// Values of [`Values::BusTypes`].
const NODE_TO_NODE: i64 = 0;
const PRIMARY_TO_REPLICA: i64 = 1;

/// What a replica alone sends to its primary.
pub(crate) const OF_REPLICAS: [&str; 3] = ["psync", "sync", "replconf"];

/// Values of [`Values::Structures`].
const QUERY_BUFFER: i64 = 0;
const ARGUMENTS: i64 = 1;
const REPLY_BUFFER: i64 = 2;

/// What a server is told of at a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Resource {
    /// Whose it is.
    pub of: Entity,
    /// What it tells of that: `memory`, `operation` …
    pub what: &'static str,
    /// What its values mean.
    pub values: Values,
    /// Which of the values of [`Together::intervals`] are its own.
    pub column: usize,
}

/// Values in an interval; [`NOT_TOLD`] where there is none.
pub type Told = [i64; 4];

/// What an interval does not tell.
pub const NOT_TOLD: i64 = -1;

/// Resources that change together, and what they were over time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Together {
    /// The one first that says most; several may have the same values.
    pub resources: Vec<Resource>,
    /// What they were and when, in no order; where one begins within another, that ends there. None less than 0 but
    /// [`NOT_TOLD`].
    pub intervals: Vec<(TimeRange, Told)>,
}

/// The resources of one server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServerModel {
    /// Its number, as the report has it.
    pub number: u32,
    /// All that was told.
    pub together: Vec<Together>,
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
            replicas: replicas(server, level, totals),
            together: Vec::new(),
            commands: Names::default(),
            messages: Names::default(),
        };
        if let Some(process) = server.process.number {
            let life = TimeRange::new(server.first, server.last);
            let number = (life, process.0.into());
            tree.put_one(Entity::Server, "process", Values::Numbers, vec![number]);
        }
        let is_of_replica = |(client, _): &(&StoreClientId, _)| tree.replicas.contains(*client);
        let to_replicas = (totals.kept.iter().filter(is_of_replica))
            .flat_map(|(_, batches)| batches)
            .filter(|batch| batch.bytes_written > 0)
            .map(|batch| batch.write_start.unwrap_or(batch.begin));
        let to_replicas: Vec<Timestamp> = to_replicas.collect();
        server.noted.put(server.last, &to_replicas, &mut tree);
        for (&client, batches) in &totals.kept {
            tree.client(client, batches);
        }
        tree.waiting(totals.kept.values().flatten());
        tree.operations(&totals.work.kept);
        tree.busy(&totals.work.kept);
        tree.volumes(totals.kept.values().flatten());
        Self {
            number,
            together: tree.together,
            commands: tree.commands.names,
            messages: tree.messages.names,
        }
    }

    /// By the position of a command: whether it reads or writes.
    pub fn request_types(&self) -> impl Iterator<Item = &'static str> {
        self.commands
            .iter()
            .map(|name| request_type::request_type(name))
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

/// Clients that sent what replicas send.
fn replicas(server: &Server, level: Level, totals: &Totals) -> BTreeSet<StoreClientId> {
    let mut known: FxHashMap<u32, bool> = FxHashMap::default();
    let mut is_of_replica = |command| {
        let named = || OF_REPLICAS.contains(&server.command(level, command).as_str());
        *known.entry(command).or_insert_with(named)
    };
    let mut replicas = BTreeSet::new();
    for (&client, batches) in &totals.kept {
        let mut commands = batches.iter().flat_map(|batch| &batch.commands);
        if commands.any(|executed| is_of_replica(executed.command)) {
            replicas.insert(client);
        }
    }
    replicas
}

/// What is known of a server's resources so far.
struct Tree<'run> {
    server: &'run Server,
    level: Level,
    /// Clients that are its replicas.
    replicas: BTreeSet<StoreClientId>,
    together: Vec<Together>,
    commands: Names,
    messages: Names,
}

impl Tree<'_> {
    fn connection_type(&self, client: StoreClientId) -> i64 {
        match self.replicas.contains(&client) || self.server.is_to_primary(client) {
            true => REPLICA_LINK,
            false => CLIENT,
        }
    }

    fn put(&mut self, resources: Vec<Resource>, mut intervals: Vec<(TimeRange, Told)>) {
        intervals.retain(|(range, _)| range.begin < range.end);
        if !intervals.is_empty() {
            self.together.push(Together {
                resources,
                intervals,
            });
        }
    }

    /// A resource that changes by itself.
    fn put_one(
        &mut self,
        of: Entity,
        what: &'static str,
        values: Values,
        intervals: Vec<(TimeRange, i64)>,
    ) {
        let told = |(range, value)| (range, [value, NOT_TOLD, NOT_TOLD, NOT_TOLD]);
        let intervals = intervals.into_iter().map(told).collect();
        self.put(vec![resource(of, what, values, 0)], intervals);
    }

    /// What a client's requests were, and where what its connection brought lay. A batch is over when the next begins.
    fn client(&mut self, client: StoreClientId, batches: &[Batch]) {
        let mut in_order: Vec<&Batch> = batches.iter().collect();
        in_order.sort_by_key(|batch| batch.begin);
        let descriptor = self.server.noted.descriptor(client).unwrap_or(NOT_TOLD);
        let mut intervals = Vec::new();
        let ends = in_order.iter().skip(1).map(|next| next.begin);
        for (batch, end) in in_order.iter().zip(ends.chain([Timestamp::MAX])) {
            let from = intervals.len();
            self.batch(batch, descriptor, &mut intervals);
            for (range, _) in &mut intervals[from..] {
                let end = range.end.min(end);
                *range = TimeRange::new(range.begin.min(end), end);
            }
        }
        let (request, connection) = (Entity::Request(client), Entity::Connection(client));
        let resources = vec![
            resource(request, "data-structure", Values::Structures, 0),
            resource(request, "command", Values::Commands, 1),
            resource(request, "type", Values::RequestTypes, 1),
            resource(request, "connection", Values::Numbers, 2),
            resource(connection, "data-structure", Values::Structures, 3),
        ];
        self.put(resources, intervals);
    }

    /// Requests follow one another on a connection: each from the end of the one before it to its own, the last until
    /// it was answered.
    fn batch(&mut self, batch: &Batch, descriptor: i64, intervals: &mut Vec<(TimeRange, Told)>) {
        let mut since = batch.begin;
        let mut replying = [NOT_TOLD, NOT_TOLD, NOT_TOLD, REPLY_BUFFER];
        for executed in &batch.commands {
            let start = executed.start.max(since);
            let end = start.max(executed.start + executed.length);
            let name = self.server.command(self.level, executed.command);
            let command = self.commands.number(name);
            let told = |structure| [structure, command, descriptor, QUERY_BUFFER];
            intervals.push((TimeRange::new(since, start), told(QUERY_BUFFER)));
            intervals.push((TimeRange::new(start, end), told(ARGUMENTS)));
            replying = [REPLY_BUFFER, command, descriptor, REPLY_BUFFER];
            since = end;
        }
        if batch.commands.is_empty() && batch.bytes_read > 0 {
            let writing = batch.write_start.unwrap_or(batch.ended).max(since);
            let told = [NOT_TOLD, NOT_TOLD, NOT_TOLD, QUERY_BUFFER];
            intervals.push((TimeRange::new(since, writing), told));
            since = writing;
        }
        if batch.answered {
            let until = batch.ended.max(since);
            intervals.push((TimeRange::new(since, until), replying));
        }
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
        let mut intervals = Vec::with_capacity(changes.len());
        for (at, change) in changes {
            if at > since {
                if count > 0 {
                    intervals.push((TimeRange::new(since, at), count));
                }
                since = at;
            }
            count += change;
        }
        self.put_one(Entity::EventLoop, "waiting", Values::Numbers, intervals);
    }

    /// What clients sent and got, by millisecond.
    fn volumes<'batch>(&mut self, batches: impl Iterator<Item = &'batch Batch>) {
        let mut sums: FxHashMap<i64, [u64; 2]> = FxHashMap::default();
        for batch in batches {
            let moved = [
                (batch.begin, batch.bytes_read),
                (batch.ended, batch.bytes_written),
            ];
            for (column, (at, bytes)) in moved.into_iter().enumerate() {
                if bytes > 0 {
                    let sum = &mut sums.entry(millisecond_of(at)).or_default()[column];
                    *sum = sum.saturating_add(bytes);
                }
            }
        }
        let value = |sum: u64| match sum {
            0 => NOT_TOLD,
            sum => i64::try_from(sum).unwrap_or(i64::MAX),
        };
        let told = |(number, [read, written]): (i64, [u64; 2])| {
            let told = [value(read), value(written), NOT_TOLD, NOT_TOLD];
            (milliseconds(number, 1), told)
        };
        let resources = vec![
            resource(Entity::Clients, "read", Values::Numbers, 0),
            resource(Entity::Clients, "written", Values::Numbers, 1),
        ];
        self.put(resources, sums.into_iter().map(told).collect());
    }

    /// How long the event loop was busy, by millisecond.
    fn busy(&mut self, operations: &[Operation]) {
        let process = self.server.process;
        let main = operations
            .iter()
            .filter(|one| busy::is_main(process, one.thread));
        let mut ranges: Vec<TimeRange> = main.map(|one| one.range).collect();
        ranges.sort_unstable_by_key(|range| range.begin);
        let mut told: Vec<(TimeRange, i64)> = Vec::new();
        let mut add = |number: i64, count: i64, time: i64| {
            let of = milliseconds(number, count);
            match told.last_mut() {
                Some((last, sum)) if last.begin == of.begin => *sum += time,
                _ if count > 0 && time > 0 => told.push((of, time)),
                _ => {}
            }
        };
        let mut since = Timestamp::MIN;
        for range in ranges {
            let begin = range.begin.max(since);
            if begin >= range.end {
                continue;
            }
            since = range.end;
            let (first, last) = (millisecond_of(begin), millisecond_of(range.end));
            let within = |at: Timestamp| at.ns().rem_euclid(MILLISECOND);
            if first == last {
                add(first, 1, within(range.end) - within(begin));
                continue;
            }
            add(first, 1, MILLISECOND - within(begin));
            // However many there are.
            add(first + 1, last - first - 1, MILLISECOND);
            add(last, 1, within(range.end));
        }
        self.put_one(Entity::EventLoop, "busy", Values::Numbers, told);
    }

    /// What threads did, and with that the event loop: the main thread's, and those of which none is known.
    fn operations(&mut self, operations: &[Operation]) {
        let process = self.server.process;
        let mut threads: BTreeMap<Option<ThreadId>, Vec<(TimeRange, Told)>> = BTreeMap::new();
        for operation in operations {
            let doing = match operation.doing {
                Doing::Reading => 0,
                Doing::Executing => 1,
                Doing::Writing => 2,
            };
            let client = i64::try_from(operation.client.0).unwrap_or(NOT_TOLD);
            let told = (operation.range, [doing, client, NOT_TOLD, NOT_TOLD]);
            threads.entry(operation.thread).or_default().push(told);
        }
        let of_loop = resource(Entity::EventLoop, "operation", Values::Operations, 0);
        let is_main = |thread: &Option<ThreadId>| busy::is_main(process, *thread);
        // Mostly one: it is the event loop then.
        let alone = threads.keys().filter(|thread| is_main(thread)).count() == 1;
        if !alone {
            let main = threads.iter().filter(|(thread, _)| is_main(thread));
            let intervals = main.flat_map(|(_, intervals)| intervals).copied().collect();
            self.put(vec![of_loop], intervals);
        }
        for (thread, intervals) in threads {
            let mut resources = Vec::new();
            if let Some(thread) = thread {
                let thread = Entity::Thread(thread);
                resources.push(resource(thread, "operation", Values::Operations, 0));
                resources.push(resource(thread, "request", Values::Numbers, 1));
            }
            resources.extend((alone && is_main(&thread)).then_some(of_loop));
            if !resources.is_empty() {
                self.put(resources, intervals);
            }
        }
    }
}

/// The bus's volume is that of each of these, and so are the clients' bytes and the event loop's work.
const MILLISECOND: i64 = 1_000_000;

/// So many milliseconds.
fn milliseconds(first: i64, count: i64) -> TimeRange {
    let bound = |number: i64| Timestamp::from_ns(number.saturating_mul(MILLISECOND));
    TimeRange::new(bound(first), bound(first.saturating_add(count)))
}

fn millisecond_of(at: Timestamp) -> i64 {
    at.ns().div_euclid(MILLISECOND)
}

fn resource(of: Entity, what: &'static str, values: Values, column: usize) -> Resource {
    Resource {
        of,
        what,
        values,
        column,
    }
}
