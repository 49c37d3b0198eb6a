//! The pass over the events of a host: chunks collect what was said, and what is complete in time is told on
//! in the order of time.
//!
//! Events of one client may lie in the streams of all processors, so a chunk alone decides nothing. What
//! was said before the watermark is told on, so that little has to wait; the order (time, then
//! stream, then place in the stream) is the same however the trace is cut.

use std::marker::PhantomData;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use slowpath_concepts::{Concepts, Fact, StoreBatches};
use slowpath_engine::{Analysis, Chunk};
use slowpath_model::{Event, PacketId, StreamId, Timestamp};
use slowpath_source::{Packet, Source};

use crate::probes::{Movers, Probes};
use crate::told::Told;
use crate::totals::Asked;

/// Who is told of all events of a host in the order of time.
pub(crate) trait Listener: Default + Send + Serialize + DeserializeOwned {
    /// One more event.
    fn take(&mut self, told: Told, asked: &Asked<'_>);

    /// Nothing follows that could complete what is open.
    fn finish(&mut self, asked: &Asked<'_>);
}

pub(crate) struct Pass<'run, L> {
    source: &'run dyn Source,
    concepts: &'run Concepts,
    movers: Movers,
    asked: Asked<'run>,
    listener: PhantomData<fn() -> L>,
}

/// What a chunk, or any number of merged chunks, has told.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct Gathered<L> {
    /// Not yet told on.
    waiting: Vec<Told>,
    probes: Probes,
    listener: L,
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

impl<'run, L: Listener> Pass<'run, L> {
    pub(crate) fn new(
        source: &'run dyn Source,
        concepts: &'run Concepts,
        asked: Asked<'run>,
    ) -> Self {
        Self {
            source,
            concepts,
            movers: Movers::of(concepts),
            asked,
            listener: PhantomData,
        }
    }

    /// Who was told of everything, when all chunks have been merged, and how many events were lost.
    pub(crate) fn finish(&self, mut gathered: Gathered<L>) -> (L, u64) {
        self.fold(&mut gathered, None);
        gathered.listener.finish(&self.asked);
        (gathered.listener, gathered.lost)
    }

    /// Tells on what was said before `until`; all that was, without.
    fn fold(&self, gathered: &mut Gathered<L>, until: Option<Timestamp>) {
        // Those of one stream stay in its order.
        gathered.waiting.sort_by_key(|told| (told.at, told.stream));
        let count = match until {
            Some(until) => gathered.waiting.partition_point(|told| told.at < until),
            None => gathered.waiting.len(),
        };
        let (probes, listener) = (&mut gathered.probes, &mut gathered.listener);
        for told in gathered.waiting.drain(..count) {
            probes.take(told, |told| listener.take(told, &self.asked));
        }
    }

    /// Where the packet before ends in its stream.
    fn end_before(&self, packet: &Packet) -> Timestamp {
        let before = packet.id.0.checked_sub(1);
        let before = before.and_then(|id| self.source.packets().get(id as usize));
        let same_stream = before.filter(|before| before.stream == packet.stream);
        same_stream.map_or(Timestamp::MIN, |before| before.range.end)
    }
}

impl<L: Listener> Analysis for Pass<'_, L> {
    type State = Gathered<L>;

    fn begin(&self, chunk: &Chunk) -> Gathered<L> {
        Gathered {
            place: Place {
                stream: chunk.stream,
                ..Place::default()
            },
            ..Gathered::default()
        }
    }

    fn packet(&self, state: &mut Gathered<L>, packet: &Packet) {
        let at = match packet.id == state.place.packet {
            // What follows in it could not be read.
            true => packet.range.begin.max(state.place.begin),
            false => packet.range.begin,
        };
        state.place.packet = packet.id;
        state.place.begin = at;
        if packet.lacks_events_before() {
            let since = self.end_before(packet).min(at);
            let gap = Told::gap(since, at, state.place.stream);
            state.waiting.push(gap);
        }
        let window = self.asked.window;
        if packet.range.end >= window.begin && packet.range.begin < window.end {
            // A damaged counter may say anything.
            state.lost = state.lost.saturating_add(packet.lost_events);
        }
    }

    fn event(&self, state: &mut Gathered<L>, event: &Event<'_>) {
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
        if let Fact::StoreBatches(mark) = fact {
            let mut told = StoreBatches::default();
            self.source.visit(packet, event.position, &mut told);
            let batches = told.batches();
            let batches = batches.iter();
            (state.waiting).extend(batches.map(|batch| Told::batch(mark, batch, at, stream)));
            return;
        }
        let of_call = self.movers.told(&fact, at, stream);
        state
            .waiting
            .extend(of_call.or_else(|| Told::of(fact, event, at, stream)));
    }

    fn merge(&self, earlier: &mut Gathered<L>, mut later: Gathered<L>) {
        earlier.waiting.append(&mut later.waiting);
        earlier.lost = earlier.lost.saturating_add(later.lost);
    }

    fn settle(&self, state: &mut Gathered<L>, watermark: Timestamp) {
        self.fold(state, Some(watermark));
    }
}
