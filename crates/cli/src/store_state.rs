//! What data stores were doing at a time, for `slowpath state`: connections, requests, bus, threads, event loop.
//!
//! What is not told is absent, in JSON too. Keys of the JSON document: docs/reference/definitions.md, section "state".

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::{Map, Value};
use slowpath_datastore::Entity;
use slowpath_history::History;
use slowpath_model::Timestamp;
use slowpath_session::{AttributePath, Subject};
use slowpath_views::bytes;

use crate::tables::Columns;

/// What is told of one thing, by name.
pub(crate) type Told = Map<String, Value>;

/// One server, and what was told of it.
#[derive(Default, Serialize)]
pub(crate) struct StoreRow {
    #[serde(skip_serializing_if = "Option::is_none")]
    host: Option<String>,
    server: u32,
    #[serde(flatten)]
    itself: Told,
    event_loop: Told,
    bus: Told,
    clients: Told,
    threads: Vec<ThreadRow>,
    connections: Vec<ClientRow>,
    /// Connections to other nodes of the cluster.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    links: Vec<LinkRow>,
    requests: Vec<ClientRow>,
}

#[derive(Serialize)]
struct ThreadRow {
    tid: i32,
    #[serde(flatten)]
    told: Told,
}

#[derive(Serialize)]
struct LinkRow {
    fd: i32,
    #[serde(flatten)]
    told: Told,
}

#[derive(Serialize)]
struct ClientRow {
    client: u64,
    #[serde(flatten)]
    told: Told,
}

/// A row for each server of which anything was told at `at`; nothing where the history has other attributes.
pub(crate) fn rows(history: &History, at: Timestamp) -> Option<Vec<StoreRow>> {
    let mut servers: BTreeMap<(Option<&str>, u32), BTreeMap<Entity, Told>> = BTreeMap::new();
    for interval in history.all_at(at) {
        let path = &history.attributes()[interval.attribute.0 as usize].path;
        let path = AttributePath::parse(path)?;
        let Subject::Store { server, of } = path.subject else {
            return None;
        };
        let name = history.value_name(interval.attribute, interval.value);
        let value = name.map_or_else(|| interval.value.0.into(), Into::into);
        let server = servers.entry((path.host, server)).or_default();
        let told = server.entry(of).or_default();
        told.insert(path.what.replace('-', "_"), value);
    }
    let rows = servers.into_iter().map(|((host, server), told)| {
        let mut row = StoreRow {
            host: host.map(str::to_owned),
            server,
            ..StoreRow::default()
        };
        for (of, told) in told {
            row.add(of, told);
        }
        row
    });
    Some(rows.collect())
}

impl StoreRow {
    fn add(&mut self, of: Entity, told: Told) {
        match of {
            Entity::Server => self.itself = told,
            Entity::EventLoop => self.event_loop = told,
            Entity::Bus => self.bus = told,
            Entity::Clients => self.clients = told,
            Entity::Thread(thread) => self.threads.push(ThreadRow {
                tid: thread.0,
                told,
            }),
            Entity::Connection(client) => self.connections.push(ClientRow {
                client: client.0,
                told,
            }),
            Entity::Link(fd) => self.links.push(LinkRow { fd, told }),
            Entity::Request(client) => self.requests.push(ClientRow {
                client: client.0,
                told,
            }),
        }
    }

    /// For people: the server in a line, then its threads and clients.
    pub(crate) fn text(&self) -> String {
        let host = self
            .host
            .as_ref()
            .map_or(String::new(), |host| format!("{host} "));
        let mut text = format!("\n{host}server {}", self.server);
        let mut say = |before: &str, told: String, after: &str| {
            if !told.is_empty() {
                text += &format!("{before}{told}{after}");
            }
        };
        say(": process ", as_text(&self.itself, "process"), "");
        say("; event loop: ", as_text(&self.event_loop, "operation"), "");
        let waiting = as_text(&self.event_loop, "waiting");
        let clients = if waiting == "1" { "client" } else { "clients" };
        say("; ", waiting, &format!(" {clients} not answered yet"));
        let volume = |of: &Told, what| {
            let volume = of.get(what).and_then(Value::as_u64);
            volume.map_or(String::new(), bytes)
        };
        say(
            "; clients: ",
            volume(&self.clients, "read"),
            " read in this millisecond",
        );
        say(
            "; ",
            volume(&self.clients, "written"),
            " written to clients in it",
        );
        say(
            "; bus: ",
            volume(&self.bus, "volume"),
            " sent in this millisecond",
        );
        say("; last message: ", as_text(&self.bus, "message"), "");
        say(" ", as_text(&self.bus, "type"), "");
        text.push('\n');
        text + &self.thread_table() + &self.client_table()
    }

    fn thread_table(&self) -> String {
        let mut threads = Columns::new(&["#tid", "operation", "#for client"], 0);
        for row in &self.threads {
            let told = ["operation", "request"].map(|what| as_text(&row.told, what));
            let [operation, request] = told;
            threads.row(vec![row.tid.to_string(), operation, request]);
        }
        match self.threads.is_empty() {
            true => String::new(),
            false => threads.text(),
        }
    }

    fn client_table(&self) -> String {
        let titles = [
            "#client",
            "connection",
            "#memory",
            "data structure",
            "request",
            "type",
            "lies in",
        ];
        let mut clients = Columns::new(&titles, 0);
        for row in &self.connections {
            let of_client = |other: &&ClientRow| other.client == row.client;
            let request = self.requests.iter().find(of_client);
            let of_request = |what| request.map_or(String::new(), |row| as_text(&row.told, what));
            let memory = row.told.get("memory").and_then(Value::as_u64);
            clients.row(vec![
                row.client.to_string(),
                as_text(&row.told, "type"),
                memory.map_or(String::new(), bytes),
                as_text(&row.told, "data_structure"),
                of_request("command"),
                of_request("type"),
                of_request("data_structure"),
            ]);
        }
        for row in &self.links {
            let mut texts = vec![format!("fd {}", row.fd), as_text(&row.told, "type")];
            texts.resize(titles.len(), String::new());
            clients.row(texts);
        }
        match self.connections.is_empty() && self.links.is_empty() {
            true => String::new(),
            false => clients.text(),
        }
    }
}

/// A value for people; nothing where it was not told.
fn as_text(told: &Told, what: &str) -> String {
    match told.get(what) {
        None => String::new(),
        Some(Value::String(text)) => text.clone(),
        Some(other) => other.to_string(),
    }
}
