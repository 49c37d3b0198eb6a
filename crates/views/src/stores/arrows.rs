//! The way of commands as arrows between rows of data stores: from the connection to the thread that read it, to the one
//! that executed it, to the one that wrote the reply, and back to the connection; and that of published messages, from the
//! node of a cluster that sends them to those that read them, and on to subscribers.
//!
//! The former out of the history alone: what threads did for whom, one thing after the other, is the way. Where one thread did it
//! all, which is the event loop without I/O threads, only the ends of the way are arrows.

use rustc_hash::{FxHashMap, FxHashSet};
use serde::Serialize;
use slowpath_history::History;
use slowpath_model::{TimeRange, Timestamp};
use utoipa::ToSchema;

use super::StoreHops;
use super::rows::{StoreRow, StoreRowKind, StoreRows};
use crate::Origin;

/// Where a part of a command's way leads.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "kebab-case")]
pub enum StoreArrowKind {
    /// From a connection to the thread that reads it.
    Read,
    /// From the thread that has read or executed to the one that goes on.
    HandOver,
    /// From the thread that has written to the connection.
    Reply,
    /// From the event loop of the node that hands a published message over to that of another one that has read it.
    Publish,
    /// From the event loop of that to the connection to which it was written.
    Deliver,
}

/// A part of a command's way.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, ToSchema)]
pub struct StoreArrow {
    /// Which.
    pub kind: StoreArrowKind,
    /// The row that it comes from.
    pub from_row: usize,
    /// When.
    pub from_ns: i64,
    /// The row that it leads to.
    pub to_row: usize,
    /// When it is there.
    pub to_ns: i64,
}

/// The way of commands between some rows.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
pub struct StoreArrows {
    /// In the order of time.
    pub arrows: Vec<StoreArrow>,
    /// Whether these are all.
    pub complete: bool,
}

/// What threads do, by value of their rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Doing {
    Reading,
    Executing,
    Writing,
}

/// What a thread did for a client.
#[derive(Clone, Copy, Debug)]
struct Work {
    client: u64,
    row: usize,
    doing: Doing,
    range: TimeRange,
}

/// The arrows among these rows that touch the time between two offsets; of more than `limit` none is told, as a part of
/// them would show ways that end nowhere.
pub fn store_arrows(
    history: &History,
    rows: &StoreRows,
    hops: &[StoreHops],
    among: &[usize],
    (begin, end): (i64, i64),
    limit: usize,
) -> StoreArrows {
    let among: FxHashSet<usize> = among.iter().copied().collect();
    let mut arrows = Vec::new();
    let mut tell = |kind, origin: Origin, from: Place, to: Place| {
        if among.contains(&from.0) && among.contains(&to.0) {
            arrows.push(StoreArrow {
                kind,
                from_row: from.0,
                from_ns: origin.offset(from.1),
                to_row: to.0,
                to_ns: origin.offset(to.1),
            });
        }
    };
    for server in rows.by_server() {
        let asked = Asked {
            history,
            rows,
            server,
            limit: limit.saturating_mul(WORK_FOR_AN_ARROW),
        };
        let origin = rows.origin(&rows.shown[server[0].row]);
        let window = origin.range(begin, end);
        let Some(mut work) = asked.work(window) else {
            return StoreArrows::too_many();
        };
        work.sort_by_key(|one| (one.client, one.range.begin));
        let connections = connections(server);
        for work in work.chunk_by(|one, next| one.client == next.client) {
            let connection = connections.get(&work[0].client).copied();
            way(work, connection, &mut |kind, from: Place, to: Place| {
                if from.1 < window.end && to.1 >= window.begin {
                    tell(kind, origin, from, to);
                }
            });
        }
    }
    for of_host in hops {
        published(rows, of_host, (begin, end), &mut tell);
    }
    if arrows.len() > limit {
        return StoreArrows::too_many();
    }
    arrows.sort_by_key(|arrow| (arrow.from_ns, arrow.to_ns, arrow.from_row, arrow.to_row));
    StoreArrows {
        arrows,
        complete: true,
    }
}

/// A row, at a time.
type Place = (usize, Timestamp);

/// Tells the arrows of published messages of one host that touch the time between two offsets.
fn published(
    rows: &StoreRows,
    of_host: &StoreHops,
    (begin, end): (i64, i64),
    tell: &mut impl FnMut(StoreArrowKind, Origin, Place, Place),
) {
    let is_of_host = |row: &&StoreRow| row.host.as_ref().is_none_or(|host| *host == of_host.host);
    let mut loops = FxHashMap::default();
    let mut connections = FxHashMap::default();
    for row in rows.rows.iter().filter(is_of_host) {
        match (row.kind, row.number) {
            (StoreRowKind::EventLoop, _) => _ = loops.insert(row.server, row.row),
            (StoreRowKind::Connection, Some(client)) => {
                connections.insert((row.server, client), row.row);
            }
            _ => {}
        }
    }
    let Some(first) = loops.values().next() else {
        return;
    };
    let origin = rows.origin(&rows.shown[*first]);
    let window = origin.range(begin, end);
    let mut pass = |kind, from: Option<&usize>, from_ns, to: Option<&usize>, to_ns| {
        let [since, until] = [from_ns, to_ns].map(Timestamp::from_ns);
        if let (Some(&from), Some(&to)) = (from, to)
            && since < window.end
            && until >= window.begin
        {
            tell(kind, origin, (from, since), (to, until));
        }
    };
    for hop in &of_host.told.hops {
        let ends = (loops.get(&hop.server), loops.get(&hop.to_server));
        pass(
            StoreArrowKind::Publish,
            ends.0,
            hop.sent_ns,
            ends.1,
            hop.received_ns,
        );
    }
    for one in &of_host.told.deliveries {
        let client = connections.get(&(one.server, one.client.0));
        let from = loops.get(&one.server);
        pass(
            StoreArrowKind::Deliver,
            from,
            one.received_ns,
            client,
            one.written_ns,
        );
    }
}

/// More is looked at than becomes arrows, as connections may be out of sight; but not without end.
const WORK_FOR_AN_ARROW: usize = 40;

impl StoreArrows {
    fn too_many() -> Self {
        Self {
            arrows: Vec::new(),
            complete: false,
        }
    }
}

/// The rows of connections by the numbers of their clients.
fn connections(server: &[StoreRow]) -> FxHashMap<u64, usize> {
    let connections = (server.iter()).filter(|row| row.kind == StoreRowKind::Connection);
    connections
        .filter_map(|row| Some((row.number?, row.row)))
        .collect()
}

/// Tells the arrows of what was done for one client, in the order of time: kind, from, to.
fn way(
    work: &[Work],
    connection: Option<usize>,
    tell: &mut impl FnMut(StoreArrowKind, Place, Place),
) {
    let mut before: Option<&Work> = None;
    for one in work {
        let (begin, end) = (one.range.begin, one.range.end);
        if let (Doing::Reading, Some(connection)) = (one.doing, connection) {
            tell(StoreArrowKind::Read, (connection, begin), (one.row, begin));
        }
        // What was executed or written is over: what is read next is another command.
        let goes_on = before.filter(|before| {
            let is_next = one.doing == Doing::Reading && before.doing != Doing::Reading;
            before.row != one.row && before.doing != Doing::Writing && !is_next
        });
        if let Some(before) = goes_on {
            let since = before.range.end.min(begin);
            tell(
                StoreArrowKind::HandOver,
                (before.row, since),
                (one.row, begin),
            );
        }
        if let (Doing::Writing, Some(connection)) = (one.doing, connection) {
            tell(StoreArrowKind::Reply, (one.row, end), (connection, end));
        }
        before = Some(one);
    }
}

/// Of one server, what its threads did.
struct Asked<'run> {
    history: &'run History,
    rows: &'run StoreRows,
    server: &'run [StoreRow],
    /// How much work at most.
    limit: usize,
}

impl Asked<'_> {
    /// All work in the window, and what had been done before it for commands that were under way when it began; `None`
    /// where that is too much.
    fn work(&self, window: TimeRange) -> Option<Vec<Work>> {
        let mut found = Vec::new();
        let (since, queued) = self.queued(window.begin);
        for row in self.server {
            let range = match row.kind {
                StoreRowKind::Connection | StoreRowKind::ConnectionOperations => continue,
                StoreRowKind::EventLoop => window,
                StoreRowKind::Thread => TimeRange::new(since, window.end),
            };
            self.of_thread(row, range, &mut found)?;
        }
        let is_meant = |work: &Work| work.range.end > window.begin || queued.contains(&work.client);
        found.retain(is_meant);
        found.extend(self.executed_before(window.begin));
        Some(found)
    }

    fn of_thread(&self, row: &StoreRow, range: TimeRange, found: &mut Vec<Work>) -> Option<()> {
        let shown = &self.rows.shown[row.row];
        let Some(clients) = shown.clients else {
            return Some(());
        };
        for interval in self.history.intervals(shown.operations, range) {
            let doing = match interval.value.0 {
                0 => Doing::Reading,
                1 => Doing::Executing,
                2 => Doing::Writing,
                _ => continue,
            };
            let client = self.history.at(clients, interval.range.begin);
            let client = client.and_then(|client| u64::try_from(client.value.0).ok());
            let Some(client) = client else { continue };
            if found.len() == self.limit {
                return None;
            }
            found.push(Work {
                client,
                row: row.row,
                doing,
                range: interval.range,
            });
        }
        Some(())
    }

    /// Since when commands had been read that waited for the event loop at a time; and whose they are.
    fn queued(&self, at: Timestamp) -> (Timestamp, FxHashSet<u64>) {
        const QUERY_BUFFER: i64 = 0;
        let mut since = at;
        let mut clients = FxHashSet::default();
        // Without other threads the event loop has read them itself.
        if self
            .server
            .iter()
            .any(|row| row.kind == StoreRowKind::Thread)
        {
            for (client, begin) in self.under_way(at, QUERY_BUFFER) {
                since = since.min(begin);
                clients.insert(client);
            }
        }
        (since, clients)
    }

    /// What the event loop had executed of that whose reply waited at a time, or was being written.
    fn executed_before(&self, at: Timestamp) -> Vec<Work> {
        const REPLY_BUFFER: i64 = 2;
        let mut rows = self.server.iter();
        let Some(main) = rows.find(|row| row.kind == StoreRowKind::EventLoop) else {
            return Vec::new();
        };
        let executed = self.under_way(at, REPLY_BUFFER).map(|(client, end)| Work {
            client,
            row: main.row,
            doing: Doing::Executing,
            range: TimeRange::new(end, end),
        });
        executed.collect()
    }

    /// Clients whose requests lay there at a time, and since when.
    fn under_way(&self, at: Timestamp, place: i64) -> impl Iterator<Item = (u64, Timestamp)> {
        let connections = (self.server.iter()).filter(|row| row.kind == StoreRowKind::Connection);
        connections.filter_map(move |row| {
            let lies = self.history.at(self.rows.shown[row.row].operations, at)?;
            (lies.value.0 == place && lies.range.begin < at)
                .then_some((row.number?, lies.range.begin))
        })
    }
}
