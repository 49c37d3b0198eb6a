//! What a server's event loop did while a command was under way: for the command itself, and for others that it waited for.

use std::collections::BTreeMap;

use serde::Serialize;
use slowpath_history::{AttributeId, History};
use slowpath_model::{Nanoseconds, Timestamp};
use utoipa::ToSchema;

use super::rows::{StoreRowKind, StoreRows};

/// What an event loop did in a time.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, ToSchema)]
pub struct StoreMeanwhile {
    /// What it did, most time first.
    pub did: Vec<StoreDid>,
    /// The rest: it waited for clients, or did what is not told.
    pub rest_ns: Nanoseconds,
}

/// What an event loop did in a time for the client in question, or for all others, for one command.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
pub struct StoreDid {
    /// By the name that `operations` of `/api/store/rows` has for it.
    pub operation: String,
    /// The command that it did it for; of several that were sent at once the one that the client was at. Empty where that is
    /// not told.
    pub command: String,
    /// For the client in question.
    pub own: bool,
    /// How often.
    pub count: u64,
    /// How long, within the time.
    pub total_ns: Nanoseconds,
}

/// Whose event loop is asked about, and for whom it matters.
#[derive(Clone, Copy, Debug)]
pub struct AtServer<'text> {
    /// The host's name, where there are several with data stores.
    pub host: Option<&'text str>,
    /// The server's number.
    pub server: u32,
    /// The client's number.
    pub client: u64,
}

/// What the event loop did between two offsets; `None` where there is no such server.
pub fn store_meanwhile(
    history: &History,
    rows: &StoreRows,
    of: AtServer<'_>,
    (begin, end): (i64, i64),
) -> Option<StoreMeanwhile> {
    let its = || {
        let rows = rows.rows.iter();
        rows.filter(|row| (row.host.as_deref(), row.server) == (of.host, of.server))
    };
    let main = its().find(|row| row.kind == StoreRowKind::EventLoop)?;
    let connections: BTreeMap<u64, AttributeId> = its()
        .filter(|row| row.kind == StoreRowKind::Connection)
        .filter_map(|row| Some((row.number?, rows.shown[row.row].commands?)))
        .collect();
    let shown = &rows.shown[main.row];
    let window = rows.origin(shown).range(begin, end);
    let at =
        |attribute: Option<AttributeId>, at: Timestamp| Some(history.at(attribute?, at)?.value);
    let mut sums: BTreeMap<(i64, Option<i64>, bool), (u64, Nanoseconds)> = BTreeMap::new();
    let mut since = window.begin;
    let mut rest = window.length();
    for interval in history.intervals(shown.operations, window) {
        let client = at(shown.clients, interval.range.begin);
        let client = client.and_then(|client| u64::try_from(client.0).ok());
        let commands = client.and_then(|client| connections.get(&client).copied());
        // Reading begins with the batch, writing ends with it.
        let command = at(commands, interval.range.begin).map(|command| command.0);
        let length = window.intersect(interval.range).length();
        let sum = sums.entry((interval.value.0, command, client == Some(of.client)));
        let sum = sum.or_default();
        *sum = (sum.0 + 1, sum.1 + length);
        let begin = interval.range.begin.max(since);
        since = since.max(interval.range.end.min(window.end));
        rest = rest - since.since(begin);
    }
    let name = |names: &[String], value: i64| {
        let name = usize::try_from(value)
            .ok()
            .and_then(|value| names.get(value));
        name.cloned().unwrap_or_default()
    };
    let did = sums
        .into_iter()
        .map(|((operation, command, own), (count, total_ns))| StoreDid {
            operation: name(&rows.operations, operation),
            command: command.map_or_else(String::new, |command| name(&rows.commands, command)),
            own,
            count,
            total_ns,
        });
    let mut did: Vec<StoreDid> = did.collect();
    did.sort_by(|one, next| {
        let most = next.total_ns.cmp(&one.total_ns);
        most.then_with(|| (&one.operation, &one.command).cmp(&(&next.operation, &next.command)))
    });
    Some(StoreMeanwhile { did, rest_ns: rest })
}
