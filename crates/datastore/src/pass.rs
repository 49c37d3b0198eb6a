//! The pass over the events of a host: chunks collect what was said, and what is complete in time is added
//! to the servers in the order of time.
//!
//! Events of one client may lie in the streams of all processors, so a chunk alone decides nothing. What
//! was said before the watermark is folded into totals, which keeps memory bounded; the order (time, then
//! stream, then place in the stream) is the same however the trace is cut.

use serde::{Deserialize, Serialize};
use slowpath_concepts::{BatchCommands, Concepts};
use slowpath_engine::{Analysis, Chunk};
use slowpath_model::{Event, PacketId, StreamId, TimeRange, Timestamp};
use slowpath_source::{Packet, Source};

use crate::report::StoreReport;
use crate::server::Servers;
use crate::told::Told;
use crate::totals::Asked;

pub(crate) struct Pass<'run> {
    source: &'run dyn Source,
    concepts: &'run Concepts,
    asked: Asked,
}

/// What a chunk, or any number of merged chunks, has told.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct Gathered {
    /// Not yet added to the servers.
    waiting: Vec<Told>,
    servers: Servers,
    lost: u64,
    /// Where the chunk that is being passed over is: its packet, and when that began.
    #[serde(skip)]
    place: Place,
}

#[derive(Clone, Copy, Debug)]
struct Place {
    stream: StreamId,
    packet: PacketId,
    begin: Timestamp,
}

impl Default for Place {
    fn default() -> Self {
        Self {
            stream: StreamId(0),
            packet: PacketId(0),
            begin: Timestamp::MIN,
        }
    }
}

impl<'run> Pass<'run> {
    pub(crate) fn new(
        source: &'run dyn Source,
        concepts: &'run Concepts,
        window: TimeRange,
        slowest: usize,
    ) -> Self {
        Self {
            source,
            concepts,
            asked: Asked { window, slowest },
        }
    }

    /// The answer, when all chunks have been merged.
    pub(crate) fn report(&self, mut gathered: Gathered) -> StoreReport {
        self.fold(&mut gathered, None);
        gathered.servers.finish(&self.asked);
        StoreReport::new(gathered.servers, gathered.lost, &self.asked)
    }

    /// Adds to the servers what was said before `until`; all that was, without.
    fn fold(&self, gathered: &mut Gathered, until: Option<Timestamp>) {
        // Those of one stream stay in its order.
        gathered.waiting.sort_by_key(|told| (told.at, told.stream));
        let count = match until {
            Some(until) => gathered.waiting.partition_point(|told| told.at < until),
            None => gathered.waiting.len(),
        };
        for told in gathered.waiting.drain(..count) {
            gathered.servers.take(told, &self.asked);
        }
    }
}

impl Analysis for Pass<'_> {
    type State = Gathered;

    fn begin(&self, chunk: &Chunk) -> Gathered {
        Gathered {
            place: Place {
                stream: chunk.stream,
                ..Place::default()
            },
            ..Gathered::default()
        }
    }

    fn packet(&self, state: &mut Gathered, packet: &Packet) {
        let at = match packet.id == state.place.packet {
            // What follows in it could not be read.
            true => packet.range.begin.max(state.place.begin),
            false => packet.range.begin,
        };
        state.place.packet = packet.id;
        state.place.begin = at;
        if packet.lost_events > 0 || packet.lost_packets > 0 {
            let gap = Told::gap(at, state.place.stream);
            state.waiting.push(gap);
        }
        if packet.range.end >= self.asked.window.begin {
            // A damaged counter may say anything.
            state.lost = state.lost.saturating_add(packet.lost_events);
        }
    }

    fn event(&self, state: &mut Gathered, event: &Event<'_>) {
        let Some(fact) = self.concepts.fact(event) else {
            return;
        };
        let Place {
            stream,
            packet,
            begin,
        } = state.place;
        // Some tracers date a packet's first event a little before it: what was told before the packet may have
        // been added already, or not, as chunks are cut.
        let at = event.at.max(begin);
        let told = Told::of(fact, at, stream, || {
            let mut commands = BatchCommands::default();
            self.source.visit(packet, event.position, &mut commands);
            commands
        });
        state.waiting.extend(told);
    }

    fn merge(&self, earlier: &mut Gathered, mut later: Gathered) {
        earlier.waiting.append(&mut later.waiting);
        earlier.lost = earlier.lost.saturating_add(later.lost);
    }

    fn settle(&self, state: &mut Gathered, watermark: Timestamp) {
        self.fold(state, Some(watermark));
    }
}
