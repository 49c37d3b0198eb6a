//! What stands out of what a server did, each with its evidence: commands that held others up, a main thread
//! that could do no more, clients that a pipeline would help, messages that a cluster multiplies, an append-only file
//! that answers wait for.
//!
//! Batches are asked, and messages between nodes, in bounded memory (by clients, names of commands, and sizes, never by
//! events). What they do
//! not show for certain is told as a bound. Definitions: docs/reference/definitions.md, section "redis".

mod appending;
mod publishing;
mod round_trips;
#[cfg(test)]
mod tests;
mod turns;

use std::cmp::Reverse;

use serde::{Deserialize, Serialize};
use slowpath_concepts::StoreClientId;
use slowpath_model::{Nanoseconds, ProcessId};

use crate::appends::Appends;
use crate::cycles::{Cycles, Touch, TouchedConnection};
use crate::totals::Totals;

pub(crate) use appending::Appending;
pub(crate) use publishing::Publishing;
pub(crate) use round_trips::RoundTrips;
pub(crate) use turns::{SlowRun, SlowTotals, Turns, Victim};

/// A command that executes for so long is slow: what Redis's own slow log takes for slow, too.
pub(crate) const SLOW: Nanoseconds = Nanoseconds(10_000_000);
/// Work follows at once on what ended less than this before. A tenth of [`SLOW`]: what was read so soon after a
/// slow command came while it was executed, nine times in ten at least, if it can have come at any time.
pub(crate) const AT_ONCE: Nanoseconds = Nanoseconds(1_000_000);
/// So many round trips in a row, or published messages, are many.
const MANY: u64 = 100;
/// So many clients are named of those that a finding is about.
const MOST_NAMED: usize = 5;

/// Something that stands out of what a server did.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Finding {
    /// A slow command held up other clients.
    SlowCommand(SlowCommand),
    /// The main thread could do no more while commands waited for it.
    SaturatedLoop(SaturatedLoop),
    /// Clients sent many small commands one by one.
    Pipeline(Pipeline),
    /// What clients published went over the cluster's bus many times.
    PublishAmplification(PublishAmplification),
    /// Several threads read a connection in one cycle of the event loop.
    ConnectionReadBySeveralThreads(ReadBySeveralThreads),
    /// A client was freed twice.
    DoubleFree(DoubleFree),
    /// Replies waited until the main thread had written the append-only file, or synced it.
    AppendOnlyFileInThePath(AppendOnlyFileInThePath),
    /// What nodes of a cluster published lay unread at others.
    BusStall(BusStall),
}

/// Published messages that nodes of a cluster had sent and others did not read for long.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct BusStall {
    /// The number of the server that did not read for longest.
    pub server: u32,
    /// How often for 10 ms or longer, over all links.
    pub count: u64,
    /// How long, all together.
    pub stood_ns: Nanoseconds,
    /// The links, that first which stood for longest, all together.
    pub links: Vec<StalledLink>,
}

/// What one node published and another one did not read for long.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct StalledLink {
    /// The number of the server that did not read.
    pub server: u32,
    /// The number of the one that sent.
    pub from_server: u32,
    /// How often for 10 ms or longer.
    pub count: u64,
    /// How long, all together.
    pub stood_ns: Nanoseconds,
    /// The longest time: since when.
    pub begin_ns: i64,
    /// How long.
    pub length_ns: Nanoseconds,
    /// Messages that were there to be read at its end.
    pub messages: u64,
    /// Their bytes.
    pub bytes: u64,
    /// What the sender sent over the bus in the second since the epoch in which it sent most, to all nodes.
    pub busiest_bytes: u64,
    /// The longest time touches that second.
    pub in_busiest_second: bool,
}

/// Commands whose replies waited until the main thread had written its append-only file, or synced it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AppendOnlyFileInThePath {
    /// The server's number.
    pub server: u32,
    /// How many commands.
    pub commands: u64,
    /// How long they waited for it, all together.
    pub waited_ns: Nanoseconds,
    /// How much of that until it was synced; the rest, until it was written.
    pub syncing_ns: Nanoseconds,
    /// Their latency, all together.
    pub latency_ns: Nanoseconds,
    /// The longest of the calls that they waited for.
    pub longest: LongestAppend,
}

/// A call on an append-only file that commands waited for.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LongestAppend {
    /// Its name: `fdatasync`, `write`.
    pub call: String,
    /// The file's path, as the kernel was given it.
    pub file: String,
    /// It was entered.
    pub begin_ns: i64,
    /// How long it took.
    pub length_ns: Nanoseconds,
    /// How many commands waited for it.
    pub commands: u64,
}

/// A command that executed for long while commands of other clients waited.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SlowCommand {
    /// The server's number.
    pub server: u32,
    /// Its name.
    pub command: String,
    /// How often it held others up.
    pub count: u64,
    /// How long it executed then, all together.
    pub executing_ns: Nanoseconds,
    /// Other clients that it held up, or likely did.
    pub clients: u64,
    /// Commands of others that waited for certain.
    pub held: u64,
    /// Commands of others that were read at once when it was over: they likely waited.
    pub likely_held: u64,
    /// How long the former waited for it, all together.
    pub waited_at_least_ns: Nanoseconds,
    /// How long both did at most.
    pub waited_at_most_ns: Nanoseconds,
    /// When it made others wait the longest.
    pub worst: HoldUp,
}

/// One slow command, once, and those that waited for it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct HoldUp {
    /// The client that sent it.
    pub client: NamedClient,
    /// The server turned to it.
    pub start_ns: i64,
    /// How long it executed: so long waited who waited for certain.
    pub executing_ns: Nanoseconds,
    /// Commands that waited for certain.
    pub held: u64,
    /// Commands that likely did.
    pub likely_held: u64,
    /// How many clients' these were.
    pub clients: u64,
    /// The first of these clients: those that waited for certain, then by number.
    pub victims: Vec<HeldUp>,
}

/// A client that waited for another client's command.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct HeldUp {
    /// Which.
    #[serde(flatten)]
    pub client: NamedClient,
    /// What it had sent; of several commands the first.
    pub command: String,
    /// How many commands it had sent.
    pub commands: u64,
    /// It waited for certain.
    pub certain: bool,
}

/// A client and where it is.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct NamedClient {
    /// Its number, as `CLIENT ID` tells it.
    pub client: StoreClientId,
    /// Its address; empty: a Unix socket, or not told.
    pub address: String,
    /// Its port.
    pub port: u16,
}

/// Whole seconds in which the main thread was at work nearly all the time and commands waited for it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SaturatedLoop {
    /// The server's number.
    pub server: u32,
    /// How many seconds.
    pub seconds: u64,
    /// How much of them the main thread was at work, in per cent.
    pub percent: f64,
    /// Commands answered in them.
    pub commands: u64,
    /// Those of them that had come when the server turned to another client first.
    pub queued: u64,
    /// The most clients served in one turn of the event loop.
    pub most_clients: u64,
    /// The longest row of such seconds: where it begins.
    pub longest_begin_ns: i64,
    /// How many seconds it has.
    pub longest_seconds: u64,
}

/// Clients that sent many small commands one by one, each when the one before was answered.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Pipeline {
    /// The server's number.
    pub server: u32,
    /// How many clients.
    pub clients: u64,
    /// Their round trips.
    pub round_trips: u64,
    /// How long these took, all clients together.
    pub elapsed_ns: Nanoseconds,
    /// How much of it their commands were executed.
    pub executing_ns: Nanoseconds,
    /// The rest: no pipeline can save more.
    pub saved_at_most_ns: Nanoseconds,
    /// The clients that would save most.
    pub worst: Vec<RoundTripper>,
}

/// A client that sent many small commands one by one.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RoundTripper {
    /// Which.
    #[serde(flatten)]
    pub client: NamedClient,
    /// Its round trips.
    pub round_trips: u64,
    /// What a pipeline would save it at most.
    pub saved_at_most_ns: Nanoseconds,
}

/// Messages that clients published at a node, and what its cluster's bus carried for them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PublishAmplification {
    /// The server's number.
    pub server: u32,
    /// Messages that clients published there.
    pub messages: u64,
    /// Messages that it sent to other nodes for them.
    pub copies: u64,
    /// The most copies of one message: as many as there are other nodes.
    pub most_copies: u64,
    /// Bytes that were published, without names of channels.
    pub payload_bytes: u64,
    /// Bytes that it sent to other nodes.
    pub bus_bytes: u64,
    /// How many times the former the latter are; nothing, where only empty messages were published.
    pub factor: Option<f64>,
    /// How long the main thread took to make the copies.
    pub broadcasting_ns: Nanoseconds,
    /// The same by length of the messages, short ones first.
    pub payloads: Vec<Amplified>,
}

/// Messages of about one length: less than twice the shortest.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Amplified {
    /// Bytes of the shortest.
    pub least_bytes: u64,
    /// Bytes of the longest.
    pub most_bytes: u64,
    /// Messages that clients published.
    pub messages: u64,
    /// Messages to other nodes for them.
    pub copies: u64,
    /// Bytes that were published.
    pub payload_bytes: u64,
    /// Bytes to other nodes.
    pub bus_bytes: u64,
    /// How many times the former the latter are.
    pub factor: Option<f64>,
}

/// A connection that several threads read in one cycle of the event loop.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ReadBySeveralThreads {
    /// The server's number.
    pub server: u32,
    /// In how many cycles, those of several connections counted each.
    pub cycles: u64,
    /// How many descriptors.
    pub connections: u64,
    /// When the most threads did.
    pub worst: TouchedConnection,
}

/// A client that was freed again after its connection had been closed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DoubleFree {
    /// The server's number.
    pub server: u32,
    /// Descriptor of its connection.
    pub fd: i32,
    /// Which.
    #[serde(flatten)]
    pub client: NamedClient,
    /// How often any client of the server was freed again.
    pub count: u64,
    /// What was done to the connection, in order, up to the second time; the last of many.
    pub touches: Vec<Touch>,
}

/// Who knows the names of one server's commands and clients.
pub(crate) trait Names {
    fn server(&self) -> u32;
    fn command(&self, number: u32) -> String;
    fn client(&self, client: StoreClientId) -> NamedClient;
}

/// What stands out of one server, when all of it has been seen.
pub(crate) fn findings(
    totals: &Totals,
    publishing: &Publishing,
    cycles: &Cycles,
    appends: Option<(&Appends, ProcessId)>,
    names: &impl Names,
) -> Vec<Finding> {
    let slow = totals.turns.slow.iter();
    let mut slow: Vec<SlowCommand> = slow
        .filter_map(|(&command, totals)| slow_command(command, totals, names))
        .collect();
    slow.sort_by(|a, b| {
        let most = b.waited_at_most_ns.cmp(&a.waited_at_most_ns);
        most.then_with(|| a.command.cmp(&b.command))
    });
    let saturated = totals.turns.saturated().map(|found| SaturatedLoop {
        server: names.server(),
        ..found
    });
    let mut findings: Vec<Finding> = slow.into_iter().map(Finding::SlowCommand).collect();
    findings.extend(saturated.map(Finding::SaturatedLoop));
    let appending =
        appends.and_then(|(appends, of)| totals.appending.finding(appends, of, names.server()));
    findings.extend(appending.map(Finding::AppendOnlyFileInThePath));
    findings.extend(pipeline(&totals.round_trips, names).map(Finding::Pipeline));
    let amplified = publishing.amplification(names.server());
    findings.extend(amplified.map(Finding::PublishAmplification));
    findings.extend(of_threads(cycles, names));
    findings
}

fn of_threads(cycles: &Cycles, names: &impl Names) -> Vec<Finding> {
    let several = &cycles.several_read;
    let several = several.worst.as_ref().map(|worst| ReadBySeveralThreads {
        server: names.server(),
        cycles: several.cycles,
        connections: several.descriptors.len() as u64,
        worst: worst.clone(),
    });
    let freed = cycles.freed_twice.iter().map(|freed| DoubleFree {
        server: names.server(),
        fd: freed.fd,
        client: names.client(freed.client),
        count: cycles.freed_twice_count,
        touches: freed.touches.clone(),
    });
    let freed = freed.map(Finding::DoubleFree);
    let several = several.map(Finding::ConnectionReadBySeveralThreads);
    freed.chain(several).collect()
}

fn slow_command(command: u32, totals: &SlowTotals, names: &impl Names) -> Option<SlowCommand> {
    Some(SlowCommand {
        server: names.server(),
        command: names.command(command),
        count: totals.count,
        executing_ns: totals.executing,
        clients: totals.clients.len() as u64,
        held: totals.held,
        likely_held: totals.likely_held,
        waited_at_least_ns: totals.waited_at_least,
        waited_at_most_ns: totals.waited_at_most,
        worst: hold_up(totals.worst.as_ref()?, names),
    })
}

fn hold_up(run: &SlowRun, names: &impl Names) -> HoldUp {
    let mut victims: Vec<&Victim> = run.victims.iter().collect();
    victims.sort_by_key(|victim| (!victim.certain, victim.client));
    let named = victims.iter().take(MOST_NAMED).map(|victim| HeldUp {
        client: names.client(victim.client),
        command: names.command(victim.command),
        commands: victim.commands,
        certain: victim.certain,
    });
    HoldUp {
        client: names.client(run.client),
        start_ns: run.start.ns(),
        executing_ns: run.length,
        held: run.held(true),
        likely_held: run.held(false),
        clients: victims.len() as u64,
        victims: named.collect(),
    }
}

fn pipeline(round_trips: &RoundTrips, names: &impl Names) -> Option<Pipeline> {
    let rows = &round_trips.many;
    let sum = |of: fn(&round_trips::Row) -> Nanoseconds| rows.values().map(of).sum();
    let mut worst: Vec<_> = rows.iter().collect();
    worst.sort_by_key(|(client, row)| (Reverse(row.saved_at_most()), **client));
    let worst = worst.iter().take(MOST_NAMED);
    let worst = worst.map(|&(&client, row)| RoundTripper {
        client: names.client(client),
        round_trips: row.count,
        saved_at_most_ns: row.saved_at_most(),
    });
    (!rows.is_empty()).then(|| Pipeline {
        server: names.server(),
        clients: rows.len() as u64,
        round_trips: rows.values().map(|row| row.count).sum(),
        elapsed_ns: sum(|row| row.elapsed),
        executing_ns: sum(|row| row.executing),
        saved_at_most_ns: sum(round_trips::Row::saved_at_most),
        worst: worst.collect(),
    })
}
