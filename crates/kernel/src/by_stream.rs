//! What chunks told of each processor, apart by stream until all are merged.
//!
//! Chunks of one stream follow each other, so each can go on from the one before it. Streams beside each other
//! that name the same processor (a damaged number, or events that were enabled twice) have no such order: what
//! is told must not depend on how they were cut, so each goes on whole from those that begin before it.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use serde::{Deserialize, Serialize};
use slowpath_engine::Chunk;
use slowpath_model::{CpuId, StreamId, TimeRange};

/// Something told of each processor by each stream, and the time that the stream is of.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct ByStream<T>(BTreeMap<CpuId, BTreeMap<StreamId, (TimeRange, T)>>);

impl<T> Default for ByStream<T> {
    fn default() -> Self {
        Self(BTreeMap::new())
    }
}

impl<T> ByStream<T> {
    /// What a chunk told.
    pub(crate) fn of(chunk: &Chunk, told: T) -> Self {
        let told = BTreeMap::from([(chunk.stream, (chunk.range, told))]);
        Self(BTreeMap::from([(chunk.processor(), told)]))
    }

    /// Goes over what is told.
    pub(crate) fn for_each(&mut self, change: impl FnMut(&mut T)) {
        let streams = self.0.values_mut().flat_map(BTreeMap::values_mut);
        streams.map(|(_, told)| told).for_each(change);
    }

    /// Forgets the streams that do not tell what others beside them do.
    pub(crate) fn forget_silent(&mut self, tells: impl Fn(&T) -> bool) {
        for streams in self.0.values_mut() {
            let telling = streams.values().filter(|(_, told)| tells(told));
            let telling: Vec<TimeRange> = telling.map(|(range, _)| *range).collect();
            streams.retain(|_, (range, told)| {
                let is_beside =
                    |other: &TimeRange| other.begin < range.end && range.begin < other.end;
                tells(told) || !telling.iter().any(is_beside)
            });
        }
    }

    /// Lets what `later` chunks told follow what is known of the same stream.
    pub(crate) fn merge(&mut self, later: Self, mut join: impl FnMut(CpuId, &mut T, T)) {
        for (cpu, streams) in later.0 {
            let known = self.0.entry(cpu).or_default();
            for (stream, (range, told)) in streams {
                match known.entry(stream) {
                    Entry::Vacant(place) => drop(place.insert((range, told))),
                    Entry::Occupied(mut known) => {
                        let (known_range, known) = known.get_mut();
                        *known_range = known_range.hull(range);
                        join(cpu, known, told);
                    }
                }
            }
        }
    }

    /// What all streams told of each processor.
    pub(crate) fn joined(self, mut join: impl FnMut(CpuId, &mut T, T)) -> BTreeMap<CpuId, T> {
        let mut all = BTreeMap::new();
        for (cpu, streams) in self.0 {
            let mut streams: Vec<(TimeRange, T)> = streams.into_values().collect();
            streams.sort_by_key(|(range, _)| range.begin);
            let told = streams.into_iter().map(|(_, told)| told);
            let told = told.reduce(|mut known, later| {
                join(cpu, &mut known, later);
                known
            });
            all.extend(told.map(|told| (cpu, told)));
        }
        all
    }
}
