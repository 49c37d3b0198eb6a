//! What services asked of each other and of data stores: which request led to which, without anything added to what
//! they send.
//!
//! Made of what the agents for Node and for Redis tell. Definitions: docs/reference/definitions.md, section "calls".

mod commands;
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
use slowpath_concepts::Concepts;
use slowpath_engine::{Cancelled, Options, Outcome};
use slowpath_model::TimeRange;
use slowpath_source::Source;

use self::services::Services;
use crate::has_any;
use crate::pass::{Listener, Pass};
use crate::server::Servers;
use crate::told::{SERVICE_FACTS, STORE_FACTS, Told, What};
use crate::totals::{Asked, Keeps};

/// Whether `source` can have events of services, by its schema.
pub fn has_service_events(source: &dyn Source) -> bool {
    has_any(source, SERVICE_FACTS)
}

/// The requests that services of one host received in `options.range`, with what they led to wherever that lies: all
/// counted, the `slowest` as trees.
///
/// Takes memory for each request and each command of the trace.
pub fn calls(
    source: &dyn Source,
    slowest: usize,
    options: &Options<'_>,
) -> Result<Outcome<CallReport>, Cancelled> {
    let facts = [STORE_FACTS, SERVICE_FACTS].concat();
    let concepts = Concepts::resolve(source.schema(), &facts);
    let pass = Pass::<Heard>::new(source, &concepts, ASKED);
    let whole = Options {
        range: TimeRange::ALL,
        ..*options
    };
    let outcome = slowpath_engine::run(source, concepts.projection(), &pass, &whole)?;
    let (heard, lost) = pass.finish(outcome.state.unwrap_or_default());
    Ok(Outcome {
        state: Some(CallReport::new(&heard, lost, options.range, slowest)),
        diagnostics: outcome.diagnostics,
        timings: outcome.timings,
    })
}

/// Whole requests, wherever their window ends.
const ASKED: Asked<'static> = Asked {
    window: TimeRange::ALL,
    slowest: 0,
    level: None,
    keeps: Keeps::LiteBatches,
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
