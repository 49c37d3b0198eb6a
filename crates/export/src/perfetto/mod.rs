//! Perfetto's trace format: what its browser application and trace processor open.
//!
//! Scheduling is written as the kernel's own events, so that Perfetto shows it as it shows its own
//! recordings; everything else as slices, flows and counters on named tracks. Packets are written one
//! by one, in any order of time; Perfetto sorts them.

mod kernel;
mod messages;
mod requests;

use std::io::{self, Write};

use prost::Message;
use slowpath_model::{TimeRange, Timestamp};

use messages::{
    CounterDescriptor, Data, DebugAnnotation, EventType, TracePacket, TrackDescriptor, TrackEvent,
};

pub use kernel::KernelTracks;
pub use requests::write_requests;

/// A track that was described.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Track(u64);

/// A named stretch of time on a track; slices of one track nest.
#[derive(Clone, Debug, Default)]
pub struct Slice<'text> {
    /// What it is called.
    pub name: &'text str,
    /// What kind it is of, for Perfetto's filters.
    pub category: &'text str,
    /// More about it, by name.
    pub details: Vec<(&'text str, String)>,
    /// Arrows that begin here: each ends in the slice that names the same number in `flows_in`.
    pub flows_out: Vec<u64>,
    /// Arrows that end here.
    pub flows_in: Vec<u64>,
}

/// What was written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Tracks that were described.
    pub tracks: u64,
    /// Slices.
    pub slices: u64,
    /// Arrows: counted where they begin.
    pub flows: u64,
    /// Values of counters.
    pub counter_values: u64,
    /// Switches of the kernel's scheduler.
    pub switches: u64,
    /// Wake-ups by the kernel's scheduler that ended a wait: not those of threads that still ran, as they had only
    /// begun to go to sleep, which change nobody's state.
    pub wakings: u64,
}

/// Writes a Perfetto trace.
pub struct PerfettoWriter<W: Write> {
    output: W,
    counts: Counts,
    packet: Vec<u8>,
}

/// All packets are of one sequence.
const SEQUENCE: u32 = 1;

impl<W: Write> PerfettoWriter<W> {
    /// A trace without packets.
    pub fn new(output: W) -> Self {
        Self {
            output,
            counts: Counts::default(),
            packet: Vec::new(),
        }
    }

    /// Ends the trace.
    ///
    /// # Errors
    ///
    /// The output cannot be written.
    pub fn finish(mut self) -> io::Result<Counts> {
        self.output.flush()?;
        Ok(self.counts)
    }

    /// Describes a track for slices, perhaps below another.
    ///
    /// # Errors
    ///
    /// The output cannot be written.
    pub fn track(&mut self, name: &str, above: Option<Track>) -> io::Result<Track> {
        self.describe(name, above, None)
    }

    /// Describes a track for the values of a counter.
    ///
    /// # Errors
    ///
    /// The output cannot be written.
    pub fn counter_track(&mut self, name: &str, unit: &str) -> io::Result<Track> {
        let counter = CounterDescriptor {
            unit_name: Some(unit.to_owned()),
        };
        self.describe(name, None, Some(counter))
    }

    fn describe(
        &mut self,
        name: &str,
        above: Option<Track>,
        counter: Option<CounterDescriptor>,
    ) -> io::Result<Track> {
        self.counts.tracks += 1;
        let track = Track(self.counts.tracks);
        self.packet(
            None,
            Data::TrackDescriptor(TrackDescriptor {
                uuid: Some(track.0),
                name: Some(name.to_owned()),
                parent_uuid: above.map(|above| above.0),
                counter,
            }),
        )?;
        Ok(track)
    }

    /// Writes a slice. Slices of a track come in the order of their begin, outer ones first.
    ///
    /// # Errors
    ///
    /// The output cannot be written.
    pub fn slice(&mut self, track: Track, range: TimeRange, slice: Slice<'_>) -> io::Result<()> {
        self.counts.slices += 1;
        self.counts.flows += slice.flows_out.len() as u64;
        let details = slice
            .details
            .into_iter()
            .map(|(name, text)| DebugAnnotation {
                name: Some(name.to_owned()),
                string_value: Some(text),
            });
        let begins = TrackEvent {
            r#type: Some(EventType::SliceBegin.into()),
            track_uuid: Some(track.0),
            name: Some(slice.name.to_owned()),
            categories: vec![slice.category.to_owned()],
            debug_annotations: details.collect(),
            flow_ids: slice.flows_out,
            terminating_flow_ids: slice.flows_in,
            ..TrackEvent::default()
        };
        self.packet(Some(range.begin), Data::TrackEvent(begins))?;
        let ends = TrackEvent {
            r#type: Some(EventType::SliceEnd.into()),
            track_uuid: Some(track.0),
            ..TrackEvent::default()
        };
        self.packet(Some(range.end), Data::TrackEvent(ends))
    }

    /// Writes what a counter was from `at` on.
    ///
    /// # Errors
    ///
    /// The output cannot be written.
    pub fn counter(&mut self, track: Track, at: Timestamp, value: i64) -> io::Result<()> {
        self.counts.counter_values += 1;
        let event = TrackEvent {
            r#type: Some(EventType::Counter.into()),
            track_uuid: Some(track.0),
            counter_value: Some(value),
            ..TrackEvent::default()
        };
        self.packet(Some(at), Data::TrackEvent(event))
    }

    fn packet(&mut self, at: Option<Timestamp>, data: Data) -> io::Result<()> {
        /// `Trace.packet`, with the length in front.
        const PACKET_OF_TRACE: u8 = 1 << 3 | 2;
        let packet = TracePacket {
            timestamp: at.map(nanoseconds),
            trusted_packet_sequence_id: Some(SEQUENCE),
            data: Some(data),
        };
        self.packet.clear();
        self.packet.push(PACKET_OF_TRACE);
        packet
            .encode_length_delimited(&mut self.packet)
            .map_err(io::Error::other)?;
        self.output.write_all(&self.packet)
    }
}

/// Perfetto has no time before the epoch.
fn nanoseconds(at: Timestamp) -> u64 {
    u64::try_from(at.ns()).unwrap_or(0)
}
