//! The answer as plain data: servers, their commands and clients, the slowest commands.
//!
//! Keys of the JSON document are the fields' names; docs/reference/definitions.md, section "redis", says what
//! they mean. Commands get their names here, when all that explains them has been seen.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use slowpath_concepts::StoreClientId;
use slowpath_engine::Distribution;
use slowpath_model::{Nanoseconds, ProcessId, ThreadId, TimeRange};
use utoipa::ToSchema;

use crate::batch::Parts;
use crate::bus::{BusRow, BusVolume};
use crate::cycles::TouchedConnection;
use crate::findings::{self, Finding, NamedClient, Names};
use crate::hops::{Between, HopRow};
use crate::resources::OF_REPLICAS;
use crate::server::{Level, Server, Servers};
use crate::totals::{Asked, CommandTotals, Run, Totals};

/// What the data stores of a host did for their clients.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct StoreReport {
    /// The first thing known of any server, or the begin of the window.
    pub begin_ns: i64,
    /// The last thing known of any server, or the end of the window.
    pub end_ns: i64,
    /// Events that the tracer says it lost, of whatever kind.
    pub lost: u64,
    /// Servers, in the order in which they were seen first.
    pub servers: Vec<ServerRow>,
    /// Commands of each server, those with most time first.
    pub commands: Vec<CommandRow>,
    /// Clients of each server, those with most time first.
    pub clients: Vec<ClientRow>,
    /// The slowest commands, the slowest first.
    pub slowest: Vec<CommandRun>,
    /// Messages between nodes of a cluster, server by server.
    pub bus: Vec<BusRow>,
    /// Published messages that went from one server to another, by both.
    pub hops: Vec<HopRow>,
    /// Connections that several threads touched in one cycle of the event loop, server by server.
    pub touched: Vec<TouchedRow>,
    /// What stands out, server by server.
    pub findings: Vec<Finding>,
}

/// How long commands took, and where the time went.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[schema(as = StoreLatency)]
pub struct Latency {
    /// The sum of all.
    pub total_ns: Nanoseconds,
    /// Their mean, rounded down.
    pub mean_ns: Nanoseconds,
    /// The median.
    pub p50_ns: Nanoseconds,
    /// The 99th percentile.
    pub p99_ns: Nanoseconds,
    /// The longest.
    pub max_ns: Nanoseconds,
    /// Sums of the parts, which add up to `total_ns`.
    #[serde(flatten)]
    pub parts: Parts,
}

/// One server: a process from its start, or the recording's begin, to its end.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[schema(as = StoreServer)]
pub struct ServerRow {
    /// Its number in this report, from 1.
    pub server: u32,
    /// Its process, as its own namespace numbers it.
    #[schema(required)]
    pub pid: Option<ProcessId>,
    /// The port on which most of its clients reached it; 0: Unix sockets, or not told.
    pub port: u16,
    /// What its numbers are made of.
    pub level: Level,
    /// The first thing known of it in the window.
    pub begin_ns: i64,
    /// The last thing known of it in the window.
    pub end_ns: i64,
    /// Clients of which anything ended in the window.
    pub clients: u64,
    /// What clients sent at once.
    pub batches: u64,
    /// Commands.
    pub count: u64,
    /// Commands to which no reply was seen.
    pub unanswered: u64,
    /// Bytes that it read from clients.
    pub bytes_read: u64,
    /// Bytes that it wrote to clients.
    pub bytes_written: u64,
    /// How long its commands took.
    #[serde(flatten)]
    pub latency: Latency,
    /// What its main thread did.
    pub busy: BusyRow,
    /// What went over its cluster's bus; nothing where it is in none, or that was not recorded.
    #[schema(required)]
    pub bus: Option<BusVolume>,
}

/// Time of a server's main thread from the server's `begin_ns` to its `end_ns`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[schema(as = StoreBusy)]
pub struct BusyRow {
    /// It read from clients.
    pub reading_ns: Nanoseconds,
    /// It executed commands.
    pub executing_ns: Nanoseconds,
    /// It wrote to clients.
    pub writing_ns: Nanoseconds,
    /// The sum, in per cent of the time.
    pub percent: f64,
}

/// Connections of one server that several threads touched in one cycle of the event loop.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TouchedRow {
    /// The server's number.
    pub server: u32,
    /// In how many cycles, those of several connections counted each.
    pub cycles: u64,
    /// How many descriptors.
    pub connections: u64,
    /// When the most threads did.
    pub worst: TouchedConnection,
}

/// One command of one server.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[schema(as = StoreCommand)]
pub struct CommandRow {
    /// The server's number.
    pub server: u32,
    /// Its name.
    pub command: String,
    /// How often clients sent it.
    pub count: u64,
    /// How often a script or `EXEC` called it; of level life cycle only. Their time is not in this row.
    pub inside: u64,
    /// How often no reply was seen.
    pub unanswered: u64,
    /// Its share of the bytes that were read.
    pub bytes_read: u64,
    /// Its share of the bytes that were written.
    pub bytes_written: u64,
    /// How long it took.
    #[serde(flatten)]
    pub latency: Latency,
}

/// One client of one server.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[schema(as = StoreClient)]
pub struct ClientRow {
    /// The server's number.
    pub server: u32,
    /// The client's number, as `CLIENT ID` tells it.
    #[schema(value_type = u64)]
    pub client: StoreClientId,
    /// Its address; empty: a Unix socket, or not told.
    pub address: String,
    /// Its port.
    pub port: u16,
    /// It is a link between a primary and its replica, whichever of the two the server is.
    pub is_replication: bool,
    /// What it sent at once.
    pub batches: u64,
    /// Commands.
    pub count: u64,
    /// Commands to which no reply was seen.
    pub unanswered: u64,
    /// The command that it sent most often.
    pub busiest: String,
    /// How often it did.
    pub busiest_count: u64,
    /// Bytes that were read from it.
    pub bytes_read: u64,
    /// Bytes that were written to it.
    pub bytes_written: u64,
    /// How long its commands took, all together.
    pub total_ns: Nanoseconds,
    /// The longest.
    pub max_ns: Nanoseconds,
    /// Sums of the parts, which add up to `total_ns`.
    #[serde(flatten)]
    pub parts: Parts,
}

/// One command, once.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[schema(as = StoreCommandRun)]
pub struct CommandRun {
    /// The server's number.
    pub server: u32,
    /// Its name.
    pub command: String,
    /// The client's number.
    #[schema(value_type = u64)]
    pub client: StoreClientId,
    /// The client's address; empty: a Unix socket, or not told.
    pub address: String,
    /// The client's port.
    pub port: u16,
    /// The first read of its batch began.
    pub begin_ns: i64,
    /// The server turned to it.
    pub start_ns: i64,
    /// Its latency.
    pub total_ns: Nanoseconds,
    /// The parts, which add up to `total_ns`.
    #[serde(flatten)]
    pub parts: Parts,
    /// A reply was seen.
    pub answered: bool,
    /// The thread that read it.
    #[schema(required)]
    pub read_tid: Option<ThreadId>,
    /// Commands of its batch.
    pub batch_commands: u64,
    /// Bytes of its batch that were read.
    pub batch_bytes_read: u64,
    /// Bytes of its batch that were written.
    pub batch_bytes_written: u64,
}

impl StoreReport {
    pub(crate) fn new(servers: Servers, lost: u64, asked: &Asked<'_>) -> Self {
        let between = Between::of(&servers);
        let mut report = Self {
            lost,
            hops: between.rows(),
            ..Self::default()
        };
        let mut slowest = Vec::new();
        for (server, number) in servers.numbered() {
            if let Some(level) = server.told(asked.level) {
                report.add(server, level, number, asked, &mut slowest);
            }
        }
        let is_told = |server| report.servers.iter().any(|row| row.server == server);
        let stall = between.stall(is_told);
        report.findings.extend(stall);
        slowest.sort_by_key(|(run, row)| (run.order(), row.server));
        slowest.truncate(asked.slowest);
        report.slowest = slowest.into_iter().map(|(_, row)| row).collect();
        report.begin_ns = report
            .servers
            .iter()
            .map(|row| row.begin_ns)
            .min()
            .unwrap_or_default();
        report.end_ns = report
            .servers
            .iter()
            .map(|row| row.end_ns)
            .max()
            .unwrap_or_default();
        (report.commands).sort_by(|a, b| {
            let key = |row: &CommandRow| {
                (
                    Reverse(row.latency.total_ns),
                    Reverse(row.count),
                    row.server,
                )
            };
            key(a).cmp(&key(b)).then_with(|| a.command.cmp(&b.command))
        });
        report.clients.sort_by_key(|row| {
            (
                Reverse(row.total_ns),
                Reverse(row.count),
                row.server,
                row.client,
            )
        });
        report
    }

    fn add(
        &mut self,
        mut server: Server,
        level: Level,
        number: u32,
        asked: &Asked<'_>,
        slowest: &mut Vec<(Run, CommandRun)>,
    ) {
        let mut totals = match level {
            Level::Lite => std::mem::take(&mut server.lite),
            Level::LifeCycle => std::mem::take(&mut server.life_cycle),
        };
        let about = About {
            server: &server,
            level,
            number,
        };
        slowest.extend((totals.slowest(asked.slowest).iter()).map(|run| (*run, about.run(run))));
        self.clients.extend(about.clients(&totals));
        self.findings.extend(findings::findings(
            &totals,
            &server.bus.publishing,
            &server.cycles,
            asked.appends.zip(server.process.number),
            &about,
        ));
        self.touched.extend(about.touched());
        self.bus.extend(server.bus.rows(number));
        self.servers.push(about.row(&totals, asked));
        self.commands.extend(about.commands(totals));
    }
}

/// A server whose rows are made.
struct About<'report> {
    server: &'report Server,
    level: Level,
    number: u32,
}

impl About<'_> {
    fn name(&self, command: u32) -> String {
        self.server.command(self.level, command)
    }

    fn address(&self, client: StoreClientId) -> (String, u16) {
        let address = self.server.addresses.get(&client);
        address.map_or_else(Default::default, |address| {
            (address.peer_address.to_string(), address.peer_port)
        })
    }

    /// The port at which most clients reached it.
    fn port(&self) -> u16 {
        let addresses = self.server.addresses.values();
        let reached = addresses.filter(|address| !address.is_to_primary && address.own_port != 0);
        let mut ports: BTreeMap<u16, u64> = BTreeMap::new();
        for address in reached {
            *ports.entry(address.own_port).or_default() += 1;
        }
        let most = ports
            .into_iter()
            .max_by_key(|&(port, count)| (count, Reverse(port)));
        most.map_or(0, |(port, _)| port)
    }

    fn row(&self, totals: &Totals, asked: &Asked<'_>) -> ServerRow {
        let seen = TimeRange::new(self.server.first, self.server.last);
        let window = asked.window.intersect(seen);
        let busy = totals.work.busy;
        let length = window.length().get();
        let sum = busy.reading + busy.executing + busy.writing;
        let mut all = CommandTotals::default();
        totals
            .commands
            .values()
            .for_each(|command| all.merge(command.clone()));
        let clients = || totals.clients.values();
        ServerRow {
            server: self.number,
            pid: self.server.process.number,
            port: self.port(),
            level: self.level,
            begin_ns: window.begin.ns(),
            end_ns: window.end.ns(),
            clients: clients().count() as u64,
            batches: clients().map(|client| client.batches).sum(),
            count: clients().flat_map(|client| client.commands.values()).sum(),
            unanswered: all.unanswered,
            bytes_read: clients().fold(0, |sum, client| sum.saturating_add(client.bytes_read)),
            bytes_written: clients()
                .fold(0, |sum, client| sum.saturating_add(client.bytes_written)),
            latency: latency(all.latency, all.parts),
            busy: BusyRow {
                reading_ns: busy.reading,
                executing_ns: busy.executing,
                writing_ns: busy.writing,
                percent: match length {
                    0 => 0.0,
                    length => sum.get() as f64 / length as f64 * 100.0,
                },
            },
            bus: (self.server.bus.is_recorded).then(|| self.server.bus.volume()),
        }
    }

    fn touched(&self) -> Option<TouchedRow> {
        let several = &self.server.cycles.several;
        let worst = several.worst.clone()?;
        Some(TouchedRow {
            server: self.number,
            cycles: several.cycles,
            connections: several.descriptors.len() as u64,
            worst,
        })
    }

    fn commands(&self, totals: Totals) -> Vec<CommandRow> {
        // A module that is loaded again gives its commands new numbers.
        let mut by_name: BTreeMap<String, CommandTotals> = BTreeMap::new();
        for (command, totals) in totals.commands {
            by_name.entry(self.name(command)).or_default().merge(totals);
        }
        let rows = by_name.into_iter().map(|(command, totals)| CommandRow {
            server: self.number,
            command,
            count: totals.latency.count(),
            inside: totals.inside,
            unanswered: totals.unanswered,
            bytes_read: totals.bytes_read,
            bytes_written: totals.bytes_written,
            latency: latency(totals.latency, totals.parts),
        });
        rows.collect()
    }

    fn clients(&self, totals: &Totals) -> Vec<ClientRow> {
        let rows = totals.clients.iter().map(|(&client, totals)| {
            let (address, port) = self.address(client);
            let commands = totals.commands.iter();
            let named = commands.map(|(&command, &count)| (count, Reverse(self.name(command))));
            let is_of_replica = |name: &str| OF_REPLICAS.contains(&name);
            let is_replication = self.server.is_to_primary(client)
                || named.clone().any(|(_, Reverse(name))| is_of_replica(&name));
            let busiest = named.max();
            let (busiest_count, busiest) =
                busiest.map_or_else(Default::default, |(count, Reverse(name))| (count, name));
            ClientRow {
                server: self.number,
                client,
                address,
                port,
                is_replication,
                batches: totals.batches,
                count: totals.commands.values().sum(),
                unanswered: totals.unanswered,
                busiest,
                busiest_count,
                bytes_read: totals.bytes_read,
                bytes_written: totals.bytes_written,
                total_ns: totals.parts.total(),
                max_ns: totals.longest,
                parts: totals.parts,
            }
        });
        rows.collect()
    }

    fn run(&self, run: &Run) -> CommandRun {
        let (address, port) = self.address(run.client);
        CommandRun {
            server: self.number,
            command: self.name(run.command),
            client: run.client,
            address,
            port,
            begin_ns: run.begin.ns(),
            start_ns: run.start.ns(),
            total_ns: run.parts.total(),
            parts: run.parts,
            answered: run.answered,
            read_tid: run.read_thread,
            batch_commands: run.batch_commands,
            batch_bytes_read: run.batch_bytes_read,
            batch_bytes_written: run.batch_bytes_written,
        }
    }
}

impl Names for About<'_> {
    fn server(&self) -> u32 {
        self.number
    }

    fn command(&self, number: u32) -> String {
        self.name(number)
    }

    fn client(&self, client: StoreClientId) -> NamedClient {
        let (address, port) = self.address(client);
        NamedClient {
            client,
            address,
            port,
        }
    }
}

fn latency(distribution: Distribution, parts: Parts) -> Latency {
    let summary = distribution.summary();
    summary.map_or_else(Latency::default, |summary| Latency {
        total_ns: summary.total,
        mean_ns: summary.mean,
        p50_ns: summary.p50,
        p99_ns: summary.p99,
        max_ns: summary.max,
        parts,
    })
}
