//! Wires: the two ends of a connection, and who had one of them when.
//!
//! Ports are used again, so a wire has one connection after the other; in different networks of one host (containers)
//! the same addresses can even be used at once, by connections that this cannot tell apart.

use rustc_hash::FxHashMap;
use slowpath_model::Timestamp;

use super::services::{ConnectionAt, Role, Services};
use super::told::Endpoint;

/// The end that sends requests or commands, and the end that receives them.
pub(crate) type Wire = (Endpoint, Endpoint);

/// A wire, by its position among those over which services were connected.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct WireAt(u32);

/// All wires over which services were connected.
pub(crate) struct Wires {
    of_connection: Vec<Option<WireAt>>,
    all: FxHashMap<Wire, WireAt>,
}

impl Wires {
    pub(crate) fn of(services: &Services) -> Self {
        let mut wires = Self {
            of_connection: Vec::with_capacity(services.connections.len()),
            all: FxHashMap::default(),
        };
        for connection in &services.connections {
            let (own, peer) = (connection.own.clone(), connection.peer.clone());
            let is_mixed = services.services[connection.service.index()].is_mixed;
            let is_known = own.port != 0 && peer.port != 0 && !is_mixed;
            let wire = match connection.role {
                Role::Server => (peer, own),
                Role::Client | Role::StoreClient => (own, peer),
            };
            let next = WireAt(wires.all.len() as u32);
            let at = is_known.then(|| *wires.all.entry(wire).or_insert(next));
            wires.of_connection.push(at);
        }
        wires
    }

    /// That of a connection; `None`: a Unix socket, or nobody knows whose connection it is.
    pub(crate) fn of_connection(&self, connection: ConnectionAt) -> Option<WireAt> {
        self.of_connection[connection.index()]
    }

    /// The one with these ends.
    pub(crate) fn find(&self, wire: &Wire) -> Option<WireAt> {
        self.all.get(wire).copied()
    }
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
