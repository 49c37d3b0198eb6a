//! Wires: the two ends of a connection, and who had one of them when.
//!
//! Ports are used again, so a wire has one connection after the other; in different networks of one host (containers)
//! the same addresses can even be used at once, by connections that this cannot tell apart. Networks of different hosts
//! are told apart: a wire both of whose ends are on one host is that host's own.

use std::net::IpAddr;

use rustc_hash::{FxHashMap, FxHashSet};
use serde::{Deserialize, Serialize};
use slowpath_model::Timestamp;

use super::commands::wire_of;
use super::hosts::Store;
use super::services::{Connection, ConnectionAt, Role, Services};
use super::told::Endpoint;

/// A host, by its position among those that are looked at.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub(crate) struct HostAt(pub(crate) u32);

/// The end that sends requests or commands, and the end that receives them.
pub(crate) type Wire = (Endpoint, Endpoint);

/// A wire, by its position among those over which services were connected.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct WireAt(u32);

/// All wires over which services were connected.
pub(crate) struct Wires {
    of_connection: Vec<Option<WireAt>>,
    /// By the host whose own they are, if they are one's.
    all: FxHashMap<(Option<HostAt>, Wire), WireAt>,
    local: FxHashSet<(HostAt, Wire)>,
}

impl Wires {
    pub(crate) fn of(services: &Services, stores: &[Store]) -> Self {
        let mut wires = Self {
            of_connection: Vec::with_capacity(services.connections.len()),
            all: FxHashMap::default(),
            local: local(services, stores),
        };
        for connection in &services.connections {
            let service = &services.services[connection.service.index()];
            let wire = connection.wire();
            let is_known = wire.0.port != 0 && wire.1.port != 0 && !service.is_mixed;
            let key = wires.key(service.host, wire);
            let next = WireAt(wires.all.len() as u32);
            let at = is_known.then(|| *wires.all.entry(key).or_insert(next));
            wires.of_connection.push(at);
        }
        wires
    }

    /// That of a connection; `None`: a Unix socket, or nobody knows whose connection it is.
    pub(crate) fn of_connection(&self, connection: ConnectionAt) -> Option<WireAt> {
        self.of_connection[connection.index()]
    }

    /// The one with these ends, as the host knows them.
    pub(crate) fn find(&self, host: HostAt, wire: Wire) -> Option<WireAt> {
        self.all.get(&self.key(host, wire)).copied()
    }

    fn key(&self, host: HostAt, wire: Wire) -> (Option<HostAt>, Wire) {
        let own = (host, wire);
        let is_own = !is_between_hosts(&own.1) || self.local.contains(&own);
        (is_own.then_some(host), own.1)
    }
}

/// The wires of each host that it has both ends of.
fn local(services: &Services, stores: &[Store]) -> FxHashSet<(HostAt, Wire)> {
    let connections = services.connections.iter().map(|connection| {
        let host = services.services[connection.service.index()].host;
        (connection.role == Role::Server, (host, connection.wire()))
    });
    let of_stores = stores.iter().flat_map(|store| {
        let wires = store.server.addresses.values().filter_map(wire_of);
        wires.map(|wire| (true, (store.host, wire)))
    });
    let (servers, clients): (Vec<_>, Vec<_>) =
        (connections.chain(of_stores)).partition(|(is_server, _)| *is_server);
    let clients: FxHashSet<_> = clients.into_iter().map(|(_, wire)| wire).collect();
    let both = servers.into_iter().map(|(_, wire)| wire);
    both.filter(|wire| clients.contains(wire)).collect()
}

impl Connection {
    /// Its ends, in the order of a wire.
    pub(crate) fn wire(&self) -> Wire {
        let (own, peer) = (self.own.clone(), self.peer.clone());
        match self.role {
            Role::Server => (peer, own),
            Role::Client | Role::StoreClient => (own, peer),
        }
    }
}

/// Whether its ends can be on two hosts, by their addresses.
pub(crate) fn is_between_hosts(wire: &Wire) -> bool {
    let is_far = |end: &Endpoint| {
        let address: Option<IpAddr> = end.address.parse().ok();
        end.port != 0 && address.is_none_or(|address| !address.is_loopback())
    };
    is_far(&wire.0) && is_far(&wire.1)
}

/// One end of a wire while one connection had it.
#[derive(Clone, Copy, Debug)]
struct Turn {
    connection: ConnectionAt,
    /// When it was used first and last.
    first: Timestamp,
    last: Timestamp,
    /// Another connection used the wire meanwhile.
    is_shared: bool,
}

/// Who sends over each wire, one turn after the other.
pub(crate) struct Turns(FxHashMap<WireAt, Vec<Turn>>);

impl Turns {
    /// `uses`: connections and when they were used to send.
    pub(crate) fn of(wires: &Wires, uses: impl Iterator<Item = (ConnectionAt, Timestamp)>) -> Self {
        let mut by_connection: FxHashMap<ConnectionAt, Turn> = FxHashMap::default();
        for (connection, at) in uses {
            let turn = by_connection.entry(connection).or_insert(Turn {
                connection,
                first: at,
                last: at,
                is_shared: false,
            });
            turn.last = turn.last.max(at);
        }
        let mut turns: FxHashMap<WireAt, Vec<Turn>> = FxHashMap::default();
        for turn in by_connection.into_values() {
            if let Some(wire) = wires.of_connection(turn.connection) {
                turns.entry(wire).or_default().push(turn);
            }
        }
        for turns in turns.values_mut() {
            turns.sort_by_key(|turn| (turn.first, turn.connection));
            mark_shared(turns);
        }
        Self(turns)
    }

    /// Whether anybody who was recorded sends over the wire.
    pub(crate) fn know(&self, wire: WireAt) -> bool {
        self.0.contains_key(&wire)
    }

    /// Whose turn it was; `None` where that is not certain.
    pub(crate) fn at(&self, wire: WireAt, at: Timestamp) -> Option<ConnectionAt> {
        self.during(wire, at, at)
    }

    /// Whose turn it was all the time; that may have begun before what is known of it, if nobody had one before.
    pub(crate) fn during(
        &self,
        wire: WireAt,
        first: Timestamp,
        last: Timestamp,
    ) -> Option<ConnectionAt> {
        let turns = self.0.get(&wire)?;
        let begun = |at| turns.partition_point(|turn| turn.first <= at);
        let position = begun(last).checked_sub(1)?;
        let turn = turns[position];
        let is_one = begun(first).saturating_sub(1) == position;
        (is_one && !turn.is_shared).then_some(turn.connection)
    }
}

fn mark_shared(turns: &mut [Turn]) {
    let mut reaches = 0;
    for i in 1..turns.len() {
        if turns[i].first <= turns[reaches].last {
            turns[reaches].is_shared = true;
            turns[i].is_shared = true;
        }
        if turns[i].last > turns[reaches].last {
            reaches = i;
        }
    }
}
