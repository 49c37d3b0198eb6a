//! What data stores did for their clients, as tables and findings; times as offsets.

use serde::Serialize;
use slowpath_datastore::{
    BusRow, ClientRow, CommandRow, CommandRun, Finding, ServerRow, StoreReport,
};
use slowpath_engine::{Cancelled, Options};
use slowpath_model::{HostId, Timestamp};
use slowpath_session::Experiment;
use utoipa::ToSchema;

use super::findings::{StoreFinding, store_finding};
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
    /// What stands out, server by server.
    pub findings: Vec<StoreFinding>,
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
            findings: findings.iter().map(in_words).collect(),
        }
    }
}
