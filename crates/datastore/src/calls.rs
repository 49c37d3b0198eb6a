//! What services asked of each other and of data stores: which request led to which, without anything added to what
//! they send.
//!
//! Made of what the agents for Node and for Redis tell. Definitions: docs/reference/definitions.md, section "calls".

mod commands;
mod hosts;
mod report;
mod requests;
mod services;
#[cfg(test)]
mod tests;
pub(crate) mod told;
mod wires;

pub use report::{
    CallReport, CalledNode, Execution, JoinRow, Joinable, RequestNode, ServiceRow, StoreRow,
    Whereabouts,
};

use serde::{Deserialize, Serialize};
use slowpath_engine::{Cancelled, Options, Outcome};
use slowpath_model::TimeRange;
use slowpath_source::Source;

use self::hosts::Together;
use self::services::Services;
use crate::pass::{Listener, Pass};
use crate::server::Servers;
use crate::told::{SERVICE_FACTS, STORE_FACTS, Told, What};
use crate::totals::{Asked, Keeps};
use crate::{has_any, probes};

/// Whether `source` can have events of services, by its schema.
pub fn has_service_events(source: &dyn Source) -> bool {
    has_any(source, SERVICE_FACTS)
}

/// The requests that services of these hosts, each with its name, received in `options.range`, with what they led to
/// wherever that lies: all counted, the `slowest` as trees. Times are by the first host's clock, as far as what hosts
/// sent each other tells it.
///
/// Takes memory for each request and each command of the traces.
pub fn calls(
    hosts: &[(&str, &dyn Source)],
    slowest: usize,
    options: &Options<'_>,
) -> Result<Outcome<CallReport>, Cancelled> {
    let facts = [STORE_FACTS, SERVICE_FACTS].concat();
    let whole = Options {
        range: TimeRange::ALL,
        ..*options
    };
    let mut all = Vec::new();
    let mut lost: u64 = 0;
    let mut diagnostics = Vec::new();
    let mut timings = Vec::new();
    for (_, source) in hosts {
        let concepts = probes::resolve(*source, &facts);
        let pass = Pass::<Heard>::new(*source, &concepts, ASKED);
        let of_host = slowpath_engine::run(*source, concepts.projection(), &pass, &whole)?;
        let (heard, lost_here) = pass.finish(of_host.state.unwrap_or_default());
        all.push(heard);
        lost = lost.saturating_add(lost_here);
        diagnostics.extend(of_host.diagnostics);
        timings.extend(of_host.timings);
    }
    let names: Vec<&str> = hosts.iter().map(|(name, _)| *name).collect();
    let (told, said) = Together::of(all, &names);
    diagnostics.extend(said);
    Ok(Outcome {
        state: Some(CallReport::new(&told, &names, lost, options.range, slowest)),
        diagnostics,
        timings,
    })
}

/// Whole requests, wherever their window ends.
const ASKED: Asked<'static> = Asked {
    window: TimeRange::ALL,
    slowest: 0,
    level: None,
    keeps: Keeps::Batches,
    appends: None,
};

/// All that services and data stores told.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct Heard {
    services: Services,
    servers: Servers,
    /// When events may be missing.
    lost: Vec<TimeRange>,
    /// Events that do not say whose they are.
    nameless: u64,
}

impl Listener for Heard {
    fn take(&mut self, told: Told, asked: &Asked<'_>) {
        let (at, process) = (told.at, told.process);
        match told.what {
            What::Message(..) | What::Command(_) if process.number.is_none() => self.nameless += 1,
            What::Message(moment, message) => self.services.message(process, at, moment, *message),
            What::Command(command) => self.services.command(process, at, *command),
            What::Gap { since } => {
                self.lost.push(TimeRange::new(since, at));
                self.servers.take(told, asked);
            }
            _ => self.servers.take(told, asked),
        }
    }

    fn finish(&mut self, asked: &Asked<'_>) {
        self.servers.finish(asked);
        self.lost = TimeRange::union(std::mem::take(&mut self.lost));
    }
}
