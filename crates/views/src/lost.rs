//! Where events were lost: the packets that say so.

use serde::Serialize;
use slowpath_session::Experiment;
use utoipa::ToSchema;

use crate::TraceClocks;

/// A packet before or in which events were lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, ToSchema)]
#[schema(as = LostEvents)]
pub struct LostRow {
    /// The trace's place in the recording.
    pub trace: usize,
    /// When the packet begins.
    pub begin_ns: i64,
    /// When it ends.
    pub end_ns: i64,
    /// How many.
    pub events: u64,
}

/// The packets with losses that touch the time between two offsets, trace by trace.
pub fn lost_events<'run>(
    experiment: &'run Experiment,
    clocks: &'run TraceClocks,
    (begin, end): (i64, i64),
) -> impl Iterator<Item = LostRow> + 'run {
    let traces = experiment.traces.iter().enumerate();
    let rows = traces.flat_map(|(place, trace)| {
        let origin = clocks.of_trace(place);
        let packets = trace.source.packets().iter();
        let lossy = packets.filter(|packet| packet.lost_events > 0);
        lossy.map(move |packet| LostRow {
            trace: place,
            begin_ns: origin.offset(packet.range.begin),
            end_ns: origin.offset(packet.range.end),
            events: packet.lost_events,
        })
    });
    rows.filter(move |row| row.begin_ns < end && row.end_ns >= begin)
}
