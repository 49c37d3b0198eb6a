//! A data store from inside: which commands its clients sent, where the time of each went, and how busy its
//! main thread was.
//!
//! Made of what the agent for Redis tells, batches or single events of a command's life. Definitions:
//! docs/reference/definitions.md, section "redis". The kernel below and the requests above are not known here.

#![forbid(unsafe_code)]

mod batch;
mod busy;
mod life_cycle;
mod lite;
mod pass;
mod report;
mod server;
#[cfg(test)]
mod tests;
mod told;
mod totals;

pub use batch::Parts;
pub use report::{BusyRow, ClientRow, CommandRow, CommandRun, Latency, ServerRow, StoreReport};
pub use server::Level;

use slowpath_concepts::Concepts;
use slowpath_engine::{Cancelled, Options, Outcome};
use slowpath_model::{TimeRange, Timestamp};
use slowpath_source::Source;

/// Whether `source` can have events of a data store, by its schema.
pub fn has_store_events(source: &dyn Source) -> bool {
    let concepts = Concepts::resolve(source.schema(), told::FACTS);
    told::FACTS.iter().any(|&kind| concepts.has(kind))
}

/// What the data stores of one host did in `options.range`: totals, and the `slowest` commands.
pub fn store(
    source: &dyn Source,
    slowest: usize,
    options: &Options<'_>,
) -> Result<Outcome<StoreReport>, Cancelled> {
    let concepts = Concepts::resolve(source.schema(), told::FACTS);
    let pass = pass::Pass::new(source, &concepts, options.range, slowest);
    // Names and addresses may have been told, and batches begun, before the window.
    let options = Options {
        range: TimeRange::new(Timestamp::MIN, options.range.end),
        ..*options
    };
    let outcome = slowpath_engine::run(source, concepts.projection(), &pass, &options)?;
    Ok(Outcome {
        state: Some(pass.report(outcome.state.unwrap_or_default())),
        diagnostics: outcome.diagnostics,
        timings: outcome.timings,
    })
}
