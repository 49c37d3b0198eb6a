//! Which command that a service sent is which that a data store executed.
//!
//! Who sends a command tells at which byte of the connection it begins and ends. The data store tells now and then how
//! much of the connection it had read, and then executes what follows in that order: from there on commands are
//! counted, and their names, times and bytes must agree. Where they do not, nothing since then is joined; where events
//! are missing, it begins anew with what is told next, or once all that was read has been executed.

use std::collections::BTreeMap;

use rustc_hash::{FxHashMap, FxHashSet};
use slowpath_concepts::StoreClientId;
use slowpath_model::{TimeRange, Timestamp};

use super::hosts::Store;
use super::requests::Joined;
use super::services::{Command, ConnectionAt, Services};
use super::told::Endpoint;
use super::wires::{Turns, Wire, WireAt, Wires};
use crate::batch::{Batch, Executed};
use crate::server::{Address, Server};

/// A command that a data store executed, by the positions of its server, its batch among those of its client, and
/// its own in the batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ExecutedAt {
    pub(crate) server: usize,
    pub(crate) client: StoreClientId,
    pub(crate) batch: usize,
    pub(crate) position: usize,
}

/// For each command that a service sent, by its position: where it was executed.
pub(crate) fn join(
    services: &Services,
    wires: &Wires,
    stores: &[Store],
    lost: &[TimeRange],
) -> Vec<Joined<ExecutedAt>> {
    let uses = (services.commands.iter()).map(|command| (command.connection, command.at));
    let turns = Turns::of(wires, uses);
    let mut sent: FxHashMap<ConnectionAt, Vec<usize>> = FxHashMap::default();
    for (command, position) in services.commands.iter().zip(0..) {
        sent.entry(command.connection).or_default().push(position);
    }
    let mut executed = executed_by_recorded(services, wires, stores);
    for (connection, clients) in clients_of(stores, wires, &turns) {
        let Some(sent) = sent.get(&connection) else {
            continue;
        };
        for (server, client) in one_server(&clients) {
            let batches = &stores[*server].server.kept()[client];
            let mut counting = Counting::new(services, &stores[*server].server, sent, lost);
            for (batch, number) in batches.iter().zip(0..) {
                counting.take(number, batch);
            }
            for (position, batch, place) in counting.joined {
                let place = ExecutedAt {
                    server: *server,
                    client: *client,
                    batch,
                    position: place,
                };
                executed[position] = match executed[position] {
                    // Of an earlier client, whose connection it was.
                    Joined::To(earlier) => Joined::To(earlier),
                    _ => Joined::To(place),
                };
            }
        }
    }
    executed
}

/// Commands over wires at whose other end somebody was recorded are not executed outside.
fn executed_by_recorded(
    services: &Services,
    wires: &Wires,
    stores: &[Store],
) -> Vec<Joined<ExecutedAt>> {
    let found = stores.iter().flat_map(|store| {
        let addresses = store.server.addresses.values();
        addresses.filter_map(|address| wires.find(store.host, wire_of(address)?))
    });
    let recorded: FxHashSet<WireAt> = found.collect();
    let commands = services.commands.iter().map(|command| {
        let wire = wires.of_connection(command.connection);
        let connection = &services.connections[command.connection.index()];
        let host = services.services[connection.service.index()].host;
        let (_, to) = connection.wire();
        // Of a connection that was short its other end may not be told.
        let is_recorded = wire.is_some_and(|wire| recorded.contains(&wire))
            || (stores.iter()).any(|store| store.host == host && listens(&store.server, &to));
        match is_recorded {
            true => Joined::Uncertain,
            false => Joined::Outside,
        }
    });
    commands.collect()
}

/// Whether a server is known to wait for connections there.
fn listens(server: &Server, at: &Endpoint) -> bool {
    (server.listens.iter()).any(|(address, port)| {
        let is_any = matches!(&**address, "0.0.0.0" | "::");
        *port == at.port && (is_any || Endpoint::new(address, *port) == *at)
    })
}

type Client = (usize, StoreClientId);

/// For each connection over which commands were sent: who was at its other end, in the order of time.
fn clients_of(
    stores: &[Store],
    wires: &Wires,
    turns: &Turns,
) -> BTreeMap<ConnectionAt, Vec<Client>> {
    let mut clients: BTreeMap<ConnectionAt, Vec<(Timestamp, Client)>> = BTreeMap::new();
    for (store, position) in stores.iter().zip(0..) {
        for (client, batches) in store.server.kept() {
            let wire = store.server.addresses.get(client).and_then(wire_of);
            let (Some(wire), [first, .., last] | [first @ last]) = (wire, &batches[..]) else {
                continue;
            };
            let wire = wires.find(store.host, wire);
            let during = |wire| turns.during(wire, first.begin, last.ended);
            if let Some(connection) = wire.and_then(during) {
                let known = clients.entry(connection).or_default();
                known.push((first.begin, (position, *client)));
            }
        }
    }
    let in_order = |mut clients: Vec<(Timestamp, Client)>| {
        clients.sort_unstable();
        clients.into_iter().map(|(_, client)| client).collect()
    };
    (clients.into_iter())
        .map(|(connection, clients)| (connection, in_order(clients)))
        .collect()
}

/// The wire of a client's connection; `None`: a Unix socket.
pub(crate) fn wire_of(address: &Address) -> Option<Wire> {
    let is_known = address.peer_port != 0 && address.own_port != 0;
    is_known.then(|| {
        (
            Endpoint::new(&address.peer_address, address.peer_port),
            Endpoint::new(&address.own_address, address.own_port),
        )
    })
}

/// Clients of several servers over one wire are in different networks: whose it is is not known.
fn one_server(clients: &[Client]) -> &[Client] {
    let of_first = clients.iter().filter(|(server, _)| *server == clients[0].0);
    match of_first.count() == clients.len() {
        true => clients,
        false => &[],
    }
}

/// Counts a client's commands along those that were sent over its connection.
struct Counting<'run> {
    services: &'run Services,
    server: &'run Server,
    /// Positions of what was sent, in its order.
    sent: &'run [usize],
    lost: &'run [TimeRange],
    /// The end of the batch before.
    before: Option<Timestamp>,
    /// How much of the connection was read, where that is known.
    read: Option<u64>,
    /// All that was read has been executed.
    is_idle: bool,
    /// Of what was sent, what is executed next.
    next: Option<usize>,
    /// What was sent, the batch that has it, and its place there.
    joined: Vec<(usize, usize, usize)>,
    /// How many of these were joined before counting began.
    settled: usize,
}

impl<'run> Counting<'run> {
    fn new(
        services: &'run Services,
        server: &'run Server,
        sent: &'run [usize],
        lost: &'run [TimeRange],
    ) -> Self {
        Self {
            services,
            server,
            sent,
            lost,
            before: None,
            read: None,
            is_idle: false,
            next: None,
            joined: Vec::new(),
            settled: 0,
        }
    }

    fn sent(&self, place: usize) -> Option<&'run Command> {
        let position = self.sent.get(place)?;
        Some(&self.services.commands[*position])
    }

    fn take(&mut self, number: usize, batch: &Batch) {
        let since = self.before.unwrap_or(batch.begin).min(batch.begin);
        self.before = Some(batch.ended);
        if is_any_within(self.lost, since, batch.ended) {
            self.read = None;
            self.stop();
            return;
        }
        self.begin(batch);
        let Some(read) = &mut self.read else {
            return;
        };
        *read = read.saturating_add(batch.bytes_read);
        let read = *read;
        self.is_idle = batch.answered;
        let Some(mut place) = self.next else {
            return;
        };
        for (executed, position) in batch.commands.iter().zip(0..) {
            let Some(command) = self.sent(place).filter(|_| self.follows(place)) else {
                // The service has not told what was sent there.
                self.stop();
                return;
            };
            if !self.fits(command, executed, batch, read) {
                self.give_up();
                return;
            }
            self.joined.push((self.sent[place], number, position));
            place += 1;
        }
        let is_left = |command: &Command| self.follows(place) && command.end <= read;
        if self.is_idle && self.sent(place).is_some_and(is_left) {
            self.give_up();
            return;
        }
        self.next = Some(place);
    }

    /// Finds out how much had been read before the batch, and where counting begins if it does not go on.
    fn begin(&mut self, batch: &Batch) {
        let told = batch.bytes_before;
        if told.is_some() && self.read.is_some() && told != self.read {
            self.give_up();
        }
        self.read = told.or(self.read);
        if let Some(read) = self.read
            && self.next.is_none()
            && (told.is_some() || self.is_idle)
        {
            self.settled = self.joined.len();
            let commands = &self.services.commands;
            let place = (self.sent).partition_point(|position| commands[*position].end <= read);
            let is_told = |command: &Command| command.begin <= read;
            self.next = (self.sent(place).is_some_and(is_told)).then_some(place);
        }
    }

    /// Whether nothing is missing between this command and the one that was sent before it.
    fn follows(&self, place: usize) -> bool {
        let (Some(command), Some(before)) = (self.sent(place), place.checked_sub(1)) else {
            return true;
        };
        let is_begin = self.joined.len() == self.settled;
        is_begin
            || self
                .sent(before)
                .is_some_and(|before| before.end == command.begin)
    }

    fn fits(&self, command: &Command, executed: &Executed, batch: &Batch, read: u64) -> bool {
        let name = self.server.kept_name(executed.command);
        let is_called = |name: &str| {
            let of_command = name.split_once('|').map_or(name, |(name, _)| name);
            command.name.is_empty() || *command.name == *of_command
        };
        // Numbers that nothing explains, and commands that the data store does not know, have no name.
        let in_name = name.is_none_or(is_called);
        in_name && command.at <= batch.ended && command.end <= read
    }

    /// What is executed next is not known.
    fn stop(&mut self) {
        self.next = None;
        self.is_idle = false;
        self.settled = self.joined.len();
    }

    /// Something is not as it seemed since counting began.
    fn give_up(&mut self) {
        self.joined.truncate(self.settled);
        self.read = None;
        self.next = None;
    }
}

/// Whether any of the stretches, which are in order and apart, shares time with this one.
fn is_any_within(stretches: &[TimeRange], begin: Timestamp, end: Timestamp) -> bool {
    let after = stretches.partition_point(|stretch| stretch.end <= begin);
    (stretches.get(after)).is_some_and(|stretch| stretch.begin < end)
}
