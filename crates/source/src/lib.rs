//! What every trace reader implements, and how a format is recognised.
//!
//! A source is a trace as lists of streams and packets. Readers get bytes and never open files; the
//! same bytes give the same events, on any thread, in any order of packets. No format is named here.

#![forbid(unsafe_code)]

mod bytes;
mod joined;
mod order;
mod recorded;
mod sniff;
mod without;

pub use bytes::{Bytes, FileBytes, NamedBytes};
pub use joined::Joined;
pub use order::contradicting;
pub use recorded::{Recorded, Shared, without_kinds};
pub use sniff::{Format, sniff};
pub use without::Without;

use std::ops::Range;

use slowpath_model::{
    CpuId, Diagnostic, Event, EventClassId, FieldVisitor, Nanoseconds, PacketId, Projection,
    Schema, StreamId, TimeRange, Timestamp,
};

/// Tracers begin and end the packets of all processors within so much time of each other, where a session
/// starts, stops or is rotated.
pub const ROTATION: Nanoseconds = Nanoseconds(10_000_000);

/// A trace that can be read packet by packet.
pub trait Source: Send + Sync {
    /// What the trace says about its events.
    fn schema(&self) -> &Schema;

    /// The streams; [`StreamId`] is the position.
    fn streams(&self) -> &[Stream];

    /// All packets, those of one stream together and in the order of the stream; [`PacketId`] is
    /// the position.
    fn packets(&self) -> &[Packet];

    /// What was found wrong while the packets were listed.
    fn diagnostics(&self) -> &[Diagnostic];

    /// Compiles a projection into something that decodes packets.
    fn decoder<'source>(&'source self, projection: &Projection) -> Box<dyn Decoder + 'source>;

    /// Walks every field of the event at `position` of `packet`, as a decoder reported both.
    fn visit(&self, packet: PacketId, position: u64, visitor: &mut dyn FieldVisitor);

    /// The first stream of each of the traces that are read as one here, in order.
    fn traces(&self) -> Vec<StreamId> {
        vec![StreamId(0)]
    }

    /// Whether the events of a packet have times; where not, all of them are at time 0.
    fn has_clock(&self, _packet: PacketId) -> bool {
        true
    }

    /// Packets of one stream that have been gone over: the memory that their bytes take may be given
    /// back. They can be read again.
    fn release(&self, _packets: Range<PacketId>) {}
}

/// Decodes packets by a compiled projection. Holds no state between packets.
pub trait Decoder: Send + Sync {
    /// Gives every wanted event of `packet` to `sink`, in the order of the packet.
    ///
    /// Events before a damaged place are given, then [`EventSink::gap`] where any may be missing; what was
    /// wrong is returned.
    fn decode(&self, packet: PacketId, sink: &mut dyn EventSink) -> Vec<Diagnostic>;

    /// Tells how many wanted events of each class `packet` has, without their times and values; a
    /// class may be told more than once.
    fn tally(&self, packet: PacketId, tell: &mut dyn FnMut(EventClassId, u64)) -> Vec<Diagnostic> {
        self.decode(packet, &mut |event: &Event<'_>| tell(event.class, 1))
    }
}

/// Receives events.
pub trait EventSink {
    /// One event, gone after the call.
    fn event(&mut self, event: &Event<'_>);

    /// Events that follow the last one could not be read, up to this time.
    fn gap(&mut self, _until: Timestamp) {}
}

impl<F: FnMut(&Event<'_>)> EventSink for F {
    fn event(&mut self, event: &Event<'_>) {
        self(event);
    }
}

/// One stream of a trace: events of one source in the order of time.
#[derive(Clone, Debug)]
pub struct Stream {
    /// Its name as the user knows it: the file's name or path within the trace.
    pub name: String,
    /// The processor whose events it holds, where the trace says so.
    pub cpu: Option<CpuId>,
    /// Its packets: a range of positions in [`Source::packets`].
    pub packets: Range<u32>,
    /// Which of the buffers it was written to that its tracer filled side by side, where it has several of them; else 0.
    pub buffer: u32,
    /// From when on its events are missing, if its end is: what happened then is not known. The begin
    /// of the trace where nothing is left of it.
    pub cut_off_at: Option<Timestamp>,
}

/// One packet: the unit of I/O and of parallelism.
#[derive(Clone, Debug)]
pub struct Packet {
    /// Its own id.
    pub id: PacketId,
    /// The stream that it belongs to.
    pub stream: StreamId,
    /// Where it begins in its file, in bytes; only for messages.
    pub offset: u64,
    /// How many bytes it takes.
    pub size: u64,
    /// From its begin to its end as its context states (else its first and last event). Its events
    /// lie inside, the last one possibly exactly at the end, or behind it: see `beyond`.
    pub range: TimeRange,
    /// By so much at most some of its events may lie behind the end of `range`: some tracers close packets too early.
    pub beyond: Nanoseconds,
    /// The processor whose events it holds, where the trace says so.
    pub cpu: Option<CpuId>,
    /// Events that the tracer lost between the packet before (or its own beginning) and its end.
    pub lost_events: u64,
    /// Packets that are missing before this one.
    pub lost_packets: u64,
    /// Of the events that the packet before says were lost, some may be missing behind its last one: a tracer that
    /// has no room counts what it loses until it can close the packet.
    pub behind_loss: bool,
    /// Its number in its stream, from 0, where the tracer counts packets.
    pub number: Option<u64>,
}

impl Packet {
    /// Whether events may be missing between the last one before it in its stream and its first.
    pub fn lacks_events_before(&self) -> bool {
        self.behind_loss || self.lost_events > 0 || self.lost_packets > 0
    }
}
