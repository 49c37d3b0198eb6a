//! What data stores did for their clients, as tables and findings; times as offsets.

use serde::Serialize;
use slowpath_datastore::{
    BusRow, ClientRow, CommandRow, CommandRun, Finding, HopRow, ServerRow, StoreReport, Touch,
    TouchedRow,
};
use slowpath_engine::{Cancelled, Options};
use slowpath_kernel::timelines::Timelines;
use slowpath_model::{HostId, ThreadId, Timestamp};
use slowpath_session::{Experiment, store_thread};
use utoipa::ToSchema;

use super::findings::{StoreFinding, store_finding, store_steps};
use crate::{Clocks, Origin};

/// What the data stores of a host did for their clients.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
pub struct StoreTables {
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
    pub touched: Vec<StoreTouched>,
    /// What stands out, server by server.
    pub findings: Vec<StoreFinding>,
}

/// Connections of one server that several threads touched in one cycle of the event loop.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
pub struct StoreTouched {
    /// The server's number.
    pub server: u32,
    /// In how many cycles, those of several connections counted each.
    pub cycles: u64,
    /// How many descriptors.
    pub connections: u64,
    /// Where the most threads did: the descriptor.
    pub fd: i32,
    /// The client's number; 0: not told.
    pub client: u64,
    /// How many threads.
    pub threads: u64,
    /// What they did then, one step after the other.
    pub steps: Vec<String>,
    /// When that began.
    pub begin_ns: i64,
    /// When it ended.
    pub end_ns: i64,
}

/// What the data stores of an experiment did, by host: all that was recorded, with so many of the slowest commands.
///
/// # Errors
/// Where it was cancelled.
pub fn store_tables(
    experiment: &Experiment,
    clocks: &Clocks,
    slowest: usize,
    options: &Options<'_>,
) -> Result<Vec<(String, StoreTables)>, Cancelled> {
    let kernels = experiment.hosts();
    let hosts = experiment.stores().into_iter().map(|of_host| {
        let told = of_host.stores(of_host.kernel(&kernels), slowest, None, options)?;
        let told = told.state.unwrap_or_default();
        let host = kernels.iter().position(|host| host.name == of_host.name);
        let origin = clocks.of_host(HostId(host.unwrap_or(0) as u32));
        Ok((of_host.name, StoreTables::of(told, origin)))
    });
    hosts.collect()
}

impl StoreTables {
    /// The main thread of one of the servers, where its host's kernel tells of it.
    pub fn main_thread(&self, server: u32, lines: &Timelines, origin: Origin) -> Option<ThreadId> {
        let row = self.servers.iter().find(|row| row.server == server)?;
        let runs = self.slowest.iter().filter(|run| run.server == server);
        store_thread(lines, row.pid, runs.map(|run| origin.at(run.start_ns)))
    }

    /// The report of a host whose times are offsets by `origin`.
    fn of(told: StoreReport, origin: Origin) -> Self {
        let offset = |at: i64| origin.offset(Timestamp::from_ns(at));
        let StoreReport {
            lost,
            mut servers,
            commands,
            clients,
            mut slowest,
            bus,
            mut hops,
            touched,
            findings,
            ..
        } = told;
        for server in &mut servers {
            server.begin_ns = offset(server.begin_ns);
            server.end_ns = offset(server.end_ns);
        }
        for run in &mut slowest {
            run.begin_ns = offset(run.begin_ns);
            run.start_ns = offset(run.start_ns);
        }
        for row in &mut hops {
            row.longest_begin_ns = row.longest_begin_ns.map(offset);
        }
        let in_steps = |row: &TouchedRow| {
            let touches = &row.worst.touches;
            let at = |touch: Option<&Touch>| touch.map_or(0, |touch| offset(touch.at_ns));
            StoreTouched {
                server: row.server,
                cycles: row.cycles,
                connections: row.connections,
                fd: row.worst.fd,
                client: row.worst.client.0,
                threads: row.worst.threads,
                steps: store_steps(touches),
                begin_ns: at(touches.first()),
                end_ns: at(touches.last()),
            }
        };
        let in_words = |finding: &Finding| {
            let time = |at| format!("{:.6} s", offset(at) as f64 / 1e9);
            let found = store_finding(finding, time);
            StoreFinding {
                begin_ns: found.begin_ns.map(offset),
                end_ns: found.end_ns.map(offset),
                ..found
            }
        };
        Self {
            lost,
            servers,
            commands,
            clients,
            slowest,
            bus,
            hops,
            touched: touched.iter().map(in_steps).collect(),
            findings: findings.iter().map(in_words).collect(),
        }
    }
}
