//! Runs an analysis over a trace in parallel: chunks of whole packets, a state per chunk, an
//! ordered associative merge pipelined with the passes.
//!
//! Names no analysis and no format. The method is that of Reumont-Locke, Ezzati-Jivan & Dagenais
//! (2019), §4: what a chunk cannot know when it begins is kept pending in its state and resolved
//! when states are merged. The result does not depend on the number of workers or the chunk size.

#![forbid(unsafe_code)]

mod chunk;
mod distribution;
mod run;

pub use chunk::{Chunk, chunks};
pub use distribution::{Distribution, DistributionSummary};
pub use run::{Cancelled, ChunkTiming, Options, Outcome, run, run_chunk};

use serde::{Serialize, de::DeserializeOwned};
use slowpath_model::{Event, EventClassId, TimeRange, Timestamp};
use slowpath_source::Packet;

/// A pass over chunks of events and the merge of what it finds.
///
/// States can be serialised so that chunks may also be passed over on other machines.
pub trait Analysis: Sync {
    /// What a chunk, or any number of merged chunks, has told.
    type State: Send + Serialize + DeserializeOwned;

    /// The state before the first event of a chunk: knows nothing of what came before.
    fn begin(&self, chunk: &Chunk) -> Self::State;

    /// A packet of the chunk begins. Where [`Packet::lacks_events_before`], what was known about its processor no
    /// longer holds.
    fn packet(&self, _state: &mut Self::State, _packet: &Packet) {}

    /// Events of the packet between these times could not be read. [`Self::packet`] has been told of it before,
    /// by a packet without events that was lost at their begin.
    fn unreadable(&self, _state: &mut Self::State, _between: TimeRange) {}

    /// Whether a packet has nothing to tell: it is not decoded then. [`Self::packet`] is called anyway.
    fn skips(&self, _packet: &Packet) -> bool {
        false
    }

    /// One event, in the order of the chunk.
    fn event(&self, state: &mut Self::State, event: &Event<'_>);

    /// Whether the numbers of events by class are enough: [`Self::tally`] is called then instead of
    /// [`Self::event`], which is cheaper.
    fn wants_only_numbers(&self) -> bool {
        false
    }

    /// So many events of a class in the packet.
    fn tally(&self, _state: &mut Self::State, _class: EventClassId, _count: u64) {}

    /// The chunk is over.
    fn end(&self, _state: &mut Self::State, _chunk: &Chunk) {}

    /// Adds `later` to `earlier`. Chunks are merged in the order of their begin (then of their
    /// stream), and merging is associative: any bracketing gives the same state.
    fn merge(&self, earlier: &mut Self::State, later: Self::State);

    /// Every event before `watermark` has been merged into `state`: what waited for such events
    /// may be resolved now, to keep memory bounded. Must not change the final result.
    fn settle(&self, _state: &mut Self::State, _watermark: Timestamp) {}

    /// A worker is free: does what merging and settling have left for anybody. Called by all workers,
    /// also at once, before each chunk and when there are no more. Must not change the final result.
    fn assist(&self) {}
}
