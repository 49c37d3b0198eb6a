//! A data store from inside: which commands its clients sent, where the time of each went, and how busy its
//! main thread was. And the services around it: which request led to which, and to which commands.
//!
//! Made of what the agents for Redis and for Node tell, batches or single events of a command's life. Definitions:
//! docs/reference/definitions.md, sections "redis" and "calls". The kernel below is not known here.

#![forbid(unsafe_code)]

mod appends;
mod batch;
mod bus;
mod busy;
mod calls;
mod cycles;
mod findings;
mod hops;
mod life_cycle;
mod links;
mod lite;
mod pass;
mod probes;
mod report;
mod resources;
mod server;
#[cfg(test)]
mod tests;
mod told;
mod totals;

pub use appends::Appends;
pub use batch::Parts;
pub use bus::{BusRow, BusVolume};
pub use calls::{
    CallReport, CalledNode, Execution, JoinRow, Joinable, RequestNode, ServiceRow, StoreRow,
    Whereabouts, calls, has_service_events,
};
pub use cycles::{Touch, TouchedConnection};
pub use findings::{
    Amplified, AppendOnlyFileInThePath, BusStall, DoubleFree, Finding, HeldUp, HoldUp,
    LongestAppend, NamedClient, Pipeline, PublishAmplification, ReadBySeveralThreads, RoundTripper,
    SaturatedLoop, SlowCommand, StalledLink,
};
pub use hops::{Delivery, Hop, HopRow, Hops};
pub use report::{
    BusyRow, ClientRow, CommandRow, CommandRun, Latency, ServerRow, StoreReport, TouchedRow,
};
pub use resources::{Entity, NOT_TOLD, Resource, ServerModel, Together, Told, Values};
pub use server::{Level, UNKNOWN_COMMAND};
pub use slowpath_concepts::StoreOperation;

use slowpath_concepts::{Concepts, FactKind};
use slowpath_engine::{Cancelled, Options, Outcome};
use slowpath_model::{TimeRange, Timestamp};
use slowpath_source::Source;

use crate::pass::Pass;
use crate::server::Servers;
use crate::totals::{Asked, Keeps};

/// Whether `source` can have events of a data store, by its schema.
pub fn has_store_events(source: &dyn Source) -> bool {
    has_any(source, told::STORE_FACTS)
}

/// What the data stores of one host did in `options.range`: totals, and the `slowest` commands. Where a `level` is asked
/// for, servers are left out of which others alone were recorded; else lite counts where it was. `appends` is what the
/// kernel tells of their append-only files, where it was recorded.
pub fn store(
    source: &dyn Source,
    slowest: usize,
    level: Option<Level>,
    appends: Option<&Appends>,
    options: &Options<'_>,
) -> Result<Outcome<StoreReport>, Cancelled> {
    let asked = Asked {
        window: options.range,
        slowest,
        level,
        keeps: Keeps::Nothing,
        appends,
    };
    let outcome = servers(source, asked, options)?;
    Ok(outcome.map(|(servers, lost)| StoreReport::new(servers, lost, &asked)))
}

/// What the resources of one host's data stores were over time, server by server as [`StoreReport`] numbers them. Of
/// single events where these were recorded, else of batches.
///
/// Takes memory for each command of the trace.
pub fn model(
    source: &dyn Source,
    options: &Options<'_>,
) -> Result<Outcome<Vec<ServerModel>>, Cancelled> {
    let asked = Asked {
        window: options.range,
        slowest: 0,
        level: None,
        keeps: Keeps::Model,
        appends: None,
    };
    let outcome = servers(source, asked, options)?;
    Ok(outcome.map(|(servers, _)| {
        let numbered = servers.numbered();
        numbered
            .map(|(server, number)| ServerModel::new(&server, number))
            .collect()
    }))
}

/// The published messages that went between data stores of one host, one by one, in `options.range`; servers as
/// [`StoreReport`] numbers them.
///
/// Takes memory for each such message.
pub fn hops(source: &dyn Source, options: &Options<'_>) -> Result<Outcome<Hops>, Cancelled> {
    let asked = Asked {
        window: options.range,
        slowest: 0,
        level: None,
        keeps: Keeps::Hops,
        appends: None,
    };
    let outcome = servers(source, asked, options)?;
    Ok(outcome.map(|(servers, _)| Hops::of(&servers)))
}

/// The servers of one host, and how many events were lost.
fn servers(
    source: &dyn Source,
    asked: Asked<'_>,
    options: &Options<'_>,
) -> Result<Outcome<(Servers, u64)>, Cancelled> {
    let concepts = probes::resolve(source, told::STORE_FACTS);
    let pass = Pass::<Servers>::new(source, &concepts, asked);
    // Names and addresses may have been told, and batches begun, before the window; batches that ended in it may be told
    // after it.
    let end = match concepts.has(FactKind::StoreBatches) {
        true => Timestamp::MAX,
        false => options.range.end,
    };
    let options = Options {
        range: TimeRange::new(Timestamp::MIN, end),
        ..*options
    };
    let outcome = slowpath_engine::run(source, concepts.projection(), &pass, &options)?;
    Ok(Outcome {
        state: Some(pass.finish(outcome.state.unwrap_or_default())),
        diagnostics: outcome.diagnostics,
        timings: outcome.timings,
    })
}

fn has_any(source: &dyn Source, facts: &[FactKind]) -> bool {
    let concepts = Concepts::resolve(source.schema(), facts);
    facts.iter().any(|&kind| concepts.has(kind))
}
