//! Servers: whose event it is, and when a process number begins to mean another server.
//!
//! Events come here in the order of time. In the life of a process a client number is never used twice, and
//! the number of a command always means the same; where an event contradicts that, the server was restarted.

#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};

use rustc_hash::{FxHashMap, FxHashSet};
use serde::{Deserialize, Serialize};
use slowpath_concepts::StoreClientId;
use slowpath_model::Timestamp;
use utoipa::ToSchema;

use crate::batch::Batch;
use crate::bus::Bus;
use crate::cycles::Cycles;
use crate::life_cycle::{Completed, LifeCycle};
use crate::links::{Links, ServerAt};
use crate::lite::{self, LiteBatches};
use crate::pass::Listener;
use crate::resources::Noted;
use crate::told::{Process, Told, What};
use crate::totals::{Asked, Keeps, Totals};

/// Whose connection a client is; empty and 0: a Unix socket, or not known any more.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Address {
    pub(crate) peer_address: Box<str>,
    pub(crate) peer_port: u16,
    pub(crate) own_address: Box<str>,
    pub(crate) own_port: u16,
    /// What had been read of the connection before the client's next batch, in bytes.
    pub(crate) bytes_before: Option<u64>,
    /// The server opened the connection, to its primary.
    pub(crate) is_to_primary: bool,
}

/// All servers of a host, in the order in which they were seen first.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Servers {
    pub(crate) all: Vec<Server>,
    pub(crate) links: Links,
}

/// One server, from its start or the recording's begin to its end.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Server {
    pub(crate) process: Process,
    pub(crate) first: Timestamp,
    pub(crate) last: Timestamp,
    pub(crate) addresses: FxHashMap<StoreClientId, Address>,
    /// Where it waits for connections, as far as that is told: addresses and ports.
    pub(crate) listens: BTreeSet<(Box<str>, u16)>,
    /// What numbers of commands in batches mean.
    names: BTreeMap<u32, Box<str>>,
    /// The same of the server that had its process number before: a restart may show only after the first
    /// names were told.
    names_before: BTreeMap<u32, Box<str>>,
    pub(crate) lite: Totals,
    pub(crate) life_cycle: Totals,
    /// By descriptor: the last client that had it.
    clients: FxHashMap<i32, StoreClientId>,
    /// Those that closed their connection.
    closed: FxHashSet<StoreClientId>,
    /// Of those of whom a command was seen by itself, whether they are replicas after their handshake.
    replicas: FxHashMap<StoreClientId, bool>,
    batches: LiteBatches,
    /// What had been read of a connection before its next batch, where that was told.
    bytes_before: FxHashMap<StoreClientId, u64>,
    pub(crate) events: LifeCycle,
    pub(crate) bus: Bus,
    pub(crate) cycles: Cycles,
    pub(crate) noted: Noted,
}

impl Listener for Servers {
    fn take(&mut self, told: Told, asked: &Asked<'_>) {
        if told.happened() >= asked.window.end {
            return;
        }
        if matches!(told.what, What::Gap { .. }) {
            // What was open may have ended meanwhile.
            self.finish(asked);
            return;
        }
        if let What::Operation(operation) = told.what {
            // Tells of no server by itself: the client that it names may be gone.
            if let Some(server) = self.known(&told).map(|server| &mut self.all[server]) {
                server.cycles.take(&told, operation, asked.window);
                if asked.keeps == Keeps::Model {
                    server.noted.operate(&told, operation);
                }
            }
            return;
        }
        if let What::ReplyQueued = told.what {
            // Likewise.
            if let Some(server) = self.known(&told) {
                self.links.take(server, &told, asked);
            }
            return;
        }
        let server = self.server_of(&told, asked);
        self.links.take(server, &told, asked);
        self.all[server].take(told, asked);
    }

    fn finish(&mut self, asked: &Asked<'_>) {
        for server in &mut self.all {
            server.finish(asked);
        }
        self.links.settle(asked);
    }
}

impl Servers {
    /// Those of which anything is told, with their numbers: the same whatever level is asked for.
    pub(crate) fn numbered(self) -> impl Iterator<Item = (Server, u32)> {
        let told = (self.all.into_iter()).filter(|server| server.told(None).is_some());
        told.zip(1..)
    }

    /// By position, the number of each; 0 for those of which nothing is told.
    pub(crate) fn numbers(&self) -> Vec<u32> {
        let mut last = 0;
        let numbers = self.all.iter().map(|server| {
            let is_told = server.told(None).is_some();
            last += u32::from(is_told);
            if is_told { last } else { 0 }
        });
        numbers.collect()
    }

    /// The last server of the process that tells it.
    fn known(&self, told: &Told) -> Option<ServerAt> {
        let is_its = |server: &Server| server.process == told.process;
        self.all.iter().rposition(is_its)
    }

    fn server_of(&mut self, told: &Told, asked: &Asked<'_>) -> ServerAt {
        match self.known(told) {
            Some(known) if told.is_probed || !self.all[known].is_contradicted_by(told) => known,
            before => {
                let mut server = Server::new(told);
                if let Some(before) = before {
                    let before = &mut self.all[before];
                    before.finish(asked);
                    server.names_before.clone_from(&before.names);
                }
                self.all.push(server);
                self.all.len() - 1
            }
        }
    }
}

impl Server {
    fn new(told: &Told) -> Self {
        Self {
            process: told.process,
            first: told.happened(),
            last: told.happened(),
            addresses: FxHashMap::default(),
            listens: BTreeSet::new(),
            names: BTreeMap::new(),
            names_before: BTreeMap::new(),
            lite: Totals::default(),
            life_cycle: Totals::default(),
            clients: FxHashMap::default(),
            closed: FxHashSet::default(),
            replicas: FxHashMap::default(),
            batches: LiteBatches::default(),
            bytes_before: FxHashMap::default(),
            events: LifeCycle::default(),
            bus: Bus::default(),
            cycles: Cycles::default(),
            noted: Noted::default(),
        }
    }

    /// Whether what `told` says cannot be of the same process.
    fn is_contradicted_by(&self, told: &Told) -> bool {
        let had_it = self.clients.get(&told.descriptor);
        // Redis takes a lost link to its primary up again with the number that it had as a client.
        let comes_again = is_to_primary(&self.addresses, told.client);
        let is_older = had_it.is_some_and(|had_it| *had_it > told.client);
        if has_client(told) && is_older && !comes_again {
            return true;
        }
        match &told.what {
            What::ReadStart => !comes_again && self.closed.contains(&told.client),
            What::Name { number, command } => {
                let known = self.names.get(number);
                known.is_some_and(|known| known != command)
            }
            What::Address(address) => {
                let known = self.addresses.get(&told.client);
                known.is_some_and(|known| {
                    // Of a connection that is going down it cannot be asked any more.
                    let both_known = known.peer_port != 0 && address.peer_port != 0;
                    let is_same = match (known.is_to_primary, address.is_to_primary) {
                        (false, false) => known.peer_port == address.peer_port,
                        // After a failover it is another primary.
                        (known, now) => known && now,
                    };
                    both_known && !is_same
                })
            }
            _ => false,
        }
    }

    fn take(&mut self, told: Told, asked: &Asked<'_>) {
        self.last = self.last.max(told.happened());
        if has_client(&told) {
            self.clients.insert(told.descriptor, told.client);
            if matches!(told.what, What::ReadStart) && is_to_primary(&self.addresses, told.client) {
                self.cycles.comes_again(told.client);
            }
        }
        if matches!(told.what, What::ReadEnd { bytes: 0, .. }) {
            self.closed.insert(told.client);
        }
        if asked.keeps == Keeps::Model {
            self.noted.take(&told);
        }
        if told.is_of_life_cycle() {
            let totals = &mut self.life_cycle;
            totals.is_recorded = true;
            let replicates = note_replica(&mut self.replicas, &told)
                || is_to_primary(&self.addresses, told.client);
            match (self.events).take(&told, replicates, &mut totals.work, asked) {
                Some(Completed::Batch(mut batch)) => {
                    batch.answered &= !replicates;
                    totals.take(self.process, batch, asked);
                }
                Some(Completed::Inside(command)) if asked.window.contains(told.at) => {
                    totals.commands.entry(command).or_default().inside += 1;
                }
                Some(Completed::Inside(_)) | None => {}
            }
            return;
        }
        let process = told.process;
        match told.what {
            What::Batch(mut part) => {
                self.first = self.first.min(part.batch.begin);
                part.batch.bytes_before = self.bytes_before.remove(&told.client);
                let lite = &mut self.lite;
                lite.is_recorded = true;
                lite::add_work(&mut lite.work, asked, process, &part);
                let addresses = &self.addresses;
                let take = |mut batch: Batch| {
                    batch.answered &= !is_to_primary(addresses, batch.client);
                    lite.take(self.process, batch, asked);
                };
                self.batches.take(*part, take);
            }
            What::Listens(address) => {
                self.listens.insert((address.own_address, address.own_port));
            }
            What::WasRead(bytes) => self.events.was_read(told.client, bytes),
            What::Bus(message) => self.bus.take(&message, told.at, asked.window),
            What::Name { number, command } => {
                self.names.insert(number, command);
            }
            What::Address(address) => {
                let known = self.addresses.entry(told.client).or_default();
                if let Some(bytes) = address.bytes_before {
                    self.bytes_before.insert(told.client, bytes);
                }
                if address.peer_port != 0 || known.peer_port == 0 {
                    *known = *address;
                }
            }
            _ => {}
        }
    }

    fn finish(&mut self, asked: &Asked<'_>) {
        let Self {
            lite,
            life_cycle,
            process,
            addresses,
            ..
        } = self;
        let of_client = |mut batch: Batch| {
            batch.answered &= !is_to_primary(addresses, batch.client);
            batch
        };
        self.batches
            .finish(|batch| lite.take(*process, of_client(batch), asked));
        self.events
            .finish(|batch| life_cycle.take(*process, of_client(batch), asked));
        lite.settle();
        life_cycle.settle();
        self.bus.settle();
        self.cycles.settle();
        self.noted.settle();
    }

    pub(crate) fn is_to_primary(&self, client: StoreClientId) -> bool {
        is_to_primary(&self.addresses, client)
    }

    /// The level whose batches are joined to what services sent.
    fn kept_level(&self) -> Level {
        self.told(None).unwrap_or(Level::Lite)
    }

    /// Batches by client, in their order, where they are kept.
    pub(crate) fn kept(&self) -> &BTreeMap<StoreClientId, Vec<Batch>> {
        match self.kept_level() {
            Level::Lite => &self.lite.kept,
            Level::LifeCycle => &self.life_cycle.kept,
        }
    }

    /// The same, to be changed.
    pub(crate) fn kept_mut(&mut self) -> &mut BTreeMap<StoreClientId, Vec<Batch>> {
        match self.kept_level() {
            Level::Lite => &mut self.lite.kept,
            Level::LifeCycle => &mut self.life_cycle.kept,
        }
    }

    /// What the number of a command in them means.
    pub(crate) fn kept_name(&self, number: u32) -> Option<&str> {
        match self.kept_level() {
            Level::Lite => self.name(number),
            Level::LifeCycle => self.events.name(number),
        }
    }

    /// What a command's number means in what was told at `level`.
    pub(crate) fn command(&self, level: Level, number: u32) -> String {
        let known = match level {
            Level::Lite if number == 0 => return UNKNOWN_COMMAND.to_owned(),
            Level::Lite => self.name(number),
            Level::LifeCycle => self.events.name(number),
        };
        known.map_or_else(|| format!("command {number}"), str::to_owned)
    }

    /// What the number of a command in a batch means.
    pub(crate) fn name(&self, number: u32) -> Option<&str> {
        let names = self.names.get(&number);
        names
            .or_else(|| self.names_before.get(&number))
            .map(|name| &**name)
    }

    /// What is told of it: level lite where that was recorded, as both hold the same commands, and where nothing is
    /// known but its bus.
    pub(crate) fn told(&self, asked: Option<Level>) -> Option<Level> {
        let recorded = match (self.lite.is_recorded, self.life_cycle.is_recorded) {
            (true, true) => asked.or(Some(Level::Lite)),
            (true, false) => Some(Level::Lite),
            (false, true) => Some(Level::LifeCycle),
            (false, false) => (self.bus.is_recorded).then(|| asked.unwrap_or(Level::Lite)),
        };
        recorded.filter(|&level| asked.is_none_or(|asked| asked == level))
    }
}

/// Whether the client is the server's own connection to its primary, whose commands want no replies: what it writes there
/// says how far it has come.
fn is_to_primary(addresses: &FxHashMap<StoreClientId, Address>, client: StoreClientId) -> bool {
    let address = addresses.get(&client);
    address.is_some_and(|address| address.is_to_primary)
}

/// Whether the client is a replica that has what is replicated written to it, and acknowledges that without a reply. Who
/// begins with REPLCONF and not with PING had its handshake before the recording.
fn note_replica(replicas: &mut FxHashMap<StoreClientId, bool>, told: &Told) -> bool {
    let What::CallStart { command } = &told.what else {
        return replicas.get(&told.client).copied().unwrap_or(false);
    };
    let replicates = matches!(&**command, "psync" | "sync");
    let begins = replicas.entry(told.client);
    let is_replica = begins.or_insert_with(|| &**command == "replconf");
    *is_replica |= replicates;
    *is_replica
}

/// Whether it is about a connected client.
pub(crate) fn has_client(told: &Told) -> bool {
    told.descriptor >= 0 && told.client != StoreClientId::default()
}

/// What a command is called that Redis does not know, or by which its client left, at level lite.
pub const UNKNOWN_COMMAND: &str = "(unknown)";

/// The level of detail that totals are made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "kebab-case")]
#[schema(as = StoreLevel)]
pub enum Level {
    /// Batches.
    Lite,
    /// Single events.
    LifeCycle,
}
