//! Event loops, threads and connections of data stores as rows of a time line.
//!
//! Rows are numbered in the order of host and server; of each server its event loop first, then its other threads,
//! then connections.

use std::collections::BTreeMap;

use serde::Serialize;
use slowpath_datastore::Entity;
use slowpath_history::{AttributeId, History};
use slowpath_model::HostId;
use slowpath_session::{AttributePath, Subject};
use utoipa::ToSchema;

use crate::{Clocks, Origin, RowPlace};

/// What a row of a data store is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, ToSchema)]
#[serde(rename_all = "kebab-case")]
pub enum StoreRowKind {
    /// The loop of the main thread.
    EventLoop,
    /// Another thread.
    Thread,
    /// A client's connection.
    Connection,
    /// What threads did to a client's connection: over TLS, or where several did.
    ConnectionOperations,
}

/// A part of a data store, as a row.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
pub struct StoreRow {
    /// Its place.
    pub row: usize,
    /// The host's name, where there are several with data stores.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub host: Option<String>,
    /// The server's number, as the tables have it.
    pub server: u32,
    /// What it is.
    pub kind: StoreRowKind,
    /// The number of the thread or of the client; null where that is not known.
    #[schema(required)]
    pub number: Option<u64>,
}

/// What a row of a data store can show.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StoreTrack {
    /// Of threads: whether they read, execute or write, by its place among the operations. Of connections: where what
    /// the client asked for lies, by its place among the structures. Of what threads did to them, that.
    Operations,
    /// Of connections: what the client asked for, by its place among the commands.
    Commands,
}

/// Of one server: counters of whole milliseconds, and clients that wait.
#[derive(Clone, Debug)]
pub(super) struct Series {
    pub(super) server: u32,
    pub(super) name: Option<String>,
    pub(super) origin: Origin,
    pub(super) busy: Option<AttributeId>,
    pub(super) waiting: Option<AttributeId>,
    pub(super) read: Option<AttributeId>,
    pub(super) written: Option<AttributeId>,
    pub(super) bus: Option<AttributeId>,
}

/// All rows of the data stores of a recording, with where their history keeps them.
pub struct StoreRows {
    /// By row.
    pub rows: Vec<StoreRow>,
    /// What threads do, by value.
    pub operations: Vec<String>,
    /// Where requests lie, by value.
    pub structures: Vec<String>,
    /// What threads do to connections, by value.
    pub connection_operations: Vec<String>,
    /// Names of commands, by value.
    pub commands: Vec<String>,
    pub(super) shown: Vec<Shown>,
    pub(super) series: Vec<Series>,
    clocks: Clocks,
}

/// Where the history keeps what a row shows.
#[derive(Clone, Copy, Debug)]
pub(super) struct Shown {
    pub(super) host: HostId,
    pub(super) operations: AttributeId,
    pub(super) commands: Option<AttributeId>,
    /// Of event loops and threads: the client that it does it for.
    pub(super) clients: Option<AttributeId>,
    pub(super) details: Details,
}

/// Of what threads do to a connection, where the history keeps the rest.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Details {
    pub(super) thread: Option<AttributeId>,
    pub(super) asked: Option<AttributeId>,
    pub(super) got: Option<AttributeId>,
}

type OfServer = (Option<String>, u32);

impl StoreRows {
    /// Finds the rows. `hosts` are the hosts with time lines in their order, `stores` those with data stores.
    pub fn of(history: &History, hosts: &[String], stores: &[String], clocks: Clocks) -> Self {
        let mut rows = Self {
            rows: Vec::new(),
            operations: Vec::new(),
            structures: Vec::new(),
            connection_operations: Vec::new(),
            commands: Vec::new(),
            shown: Vec::new(),
            series: Vec::new(),
            clocks,
        };
        let mut servers: BTreeMap<OfServer, BTreeMap<(Entity, &str), AttributeId>> =
            BTreeMap::new();
        for (attribute, id) in history.attributes().iter().zip((0..).map(AttributeId)) {
            let Some(path) = AttributePath::parse(&attribute.path) else {
                continue;
            };
            if let Subject::Store { server, of } = path.subject {
                let server = servers.entry((path.host.map(str::to_owned), server));
                server.or_default().insert((of, path.what), id);
            }
        }
        for ((name, server), attributes) in servers {
            // Where there is only one, its attributes do not name it.
            let name = name.or_else(|| stores.first().cloned());
            let host = hosts.iter().position(|host| Some(host) == name.as_ref());
            let host = HostId(host.unwrap_or(0) as u32);
            let name = name.filter(|_| stores.len() > 1);
            rows.add_server(history, host, (name, server), &attributes);
        }
        rows
    }

    fn add_server(
        &mut self,
        history: &History,
        host: HostId,
        (name, server): OfServer,
        attributes: &BTreeMap<(Entity, &str), AttributeId>,
    ) {
        let find = |of, what| attributes.get(&(of, what)).copied();
        let part = |attribute: AttributeId| history.attributes()[attribute.0 as usize].part;
        let event_loop = find(Entity::EventLoop, "operation");
        let shown = |operations, commands, clients| Shown {
            host,
            operations,
            commands,
            clients,
            details: Details::default(),
        };
        let mut found = Vec::new();
        // The main thread has the event loop's values, as they are one.
        let mut main = None;
        for (&(of, what), &attribute) in attributes {
            let is_main = || event_loop.is_some_and(|of_loop| part(of_loop) == part(attribute));
            match (of, what) {
                (Entity::Thread(thread), "operation") if is_main() => main = Some(thread),
                (Entity::Thread(thread), "operation") => {
                    let number = u64::try_from(thread.0).ok();
                    let shown = shown(attribute, None, find(of, "request"));
                    found.push((StoreRowKind::Thread, number, shown));
                }
                (Entity::Request(client), "data-structure") => {
                    let shown = shown(attribute, find(of, "command"), None);
                    found.push((StoreRowKind::Connection, Some(client.0), shown));
                }
                (Entity::Connection(client), "operation") => {
                    let details = Details {
                        thread: find(of, "thread"),
                        asked: find(of, "asked"),
                        got: find(of, "got"),
                    };
                    let shown = Shown {
                        details,
                        ..shown(attribute, None, None)
                    };
                    found.push((StoreRowKind::ConnectionOperations, Some(client.0), shown));
                }
                _ => {}
            }
        }
        found.extend(event_loop.map(|of_loop| {
            let clients = main.and_then(|thread| find(Entity::Thread(thread), "request"));
            let number = main.and_then(|thread| u64::try_from(thread.0).ok());
            (
                StoreRowKind::EventLoop,
                number,
                shown(of_loop, None, clients),
            )
        }));
        found.sort_by_key(|(kind, number, _)| (*kind, *number));
        for (kind, number, shown) in found {
            let names = match kind {
                StoreRowKind::Connection => &mut self.structures,
                StoreRowKind::ConnectionOperations => &mut self.connection_operations,
                _ => &mut self.operations,
            };
            take_names(history, Some(shown.operations), names);
            take_names(history, shown.commands, &mut self.commands);
            self.rows.push(StoreRow {
                row: self.rows.len(),
                host: name.clone(),
                server,
                kind,
                number,
            });
            self.shown.push(shown);
        }
        self.series.push(Series {
            server,
            name,
            origin: self.clocks.of_host(host),
            busy: find(Entity::EventLoop, "busy"),
            waiting: find(Entity::EventLoop, "waiting"),
            read: find(Entity::Clients, "read"),
            written: find(Entity::Clients, "written"),
            bus: find(Entity::Bus, "volume"),
        });
    }

    /// Where the history keeps a row; `None` where it does not show such a thing.
    pub fn place(&self, track: StoreTrack, row: usize) -> Option<RowPlace> {
        let shown = self.shown.get(row)?;
        let attribute = match track {
            StoreTrack::Operations => shown.operations,
            StoreTrack::Commands => shown.commands?,
        };
        Some(RowPlace {
            attribute,
            origin: self.origin(shown),
        })
    }

    /// How times of a row's host become offsets.
    pub(super) fn origin(&self, shown: &Shown) -> Origin {
        self.clocks.of_host(shown.host)
    }

    /// Rows of one server after the other: their places.
    pub(super) fn by_server(&self) -> impl Iterator<Item = &[StoreRow]> {
        self.rows
            .chunk_by(|one, next| (&one.host, one.server) == (&next.host, next.server))
    }
}

fn take_names(history: &History, attribute: Option<AttributeId>, names: &mut Vec<String>) {
    if let (Some(attribute), true) = (attribute, names.is_empty()) {
        *names = history.value_names(attribute).to_vec();
    }
}
