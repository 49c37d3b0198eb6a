//! Traces drawn in text, for tests: a small time line that a colleague can read is a
//! [`Source`](slowpath_source::Source).
//!
//! One event per line, with its stream, time and fields; the schema follows from the lines:
//!
//! ```text
//! # stream time event         fields                      @context of the event
//! cpu0     1000 sched_switch  prev_comm=swapper/0 prev_tid=0 prev_state=0 next_comm=worker next_tid=7
//! cpu0     1200 syscall_entry_read fd=3 count=100         @tid=7
//! -- packet cpu0              # what follows of this stream lies in a new packet
//! -- lost 5 cpu0              # the same, and five events were lost before it
//! -- lost-packets 2 cpu0      # the same, and two packets are missing before it
//! -- cut-off 1300 cpu0        # from this time on events of the stream are missing
//! -- unreadable 1200 cpu0     # behind the last event, up to this time, events cannot be read
//! -- domain user              # what was traced: kernel (default) or user
//! -- environment hostname=web-1
//! -- 32-bit 7 8
//! ```
//!
//! A stream whose name ends in `cpuN` is that of processor N; one whose name begins with `bufferN/` lies in the
//! tracer's buffer N. Decimal numbers are signed, numbers
//! that begin with `0x` unsigned, `1.5` is a floating-point number, `[1,2]` the elements of an array
//! (fields `name.0`, `name.1`),
//! `hex:0a0b` two bytes, everything else (in quotes, if it holds blanks or looks like a number)
//! is text. Times of a stream must not go back.
//!
//! Where packets are cut must not matter to an analysis: [`DrawnTrace::recut`] cuts them elsewhere.
//! Only tests depend on this crate. It is no trace format: nothing reads or writes it at run time.

#![forbid(unsafe_code)]

mod parse;
mod source;

pub use parse::DrawError;

use std::collections::{BTreeMap, BTreeSet};

use slowpath_model::{CpuId, EventClassId, Schema, StreamId, Timestamp};
use slowpath_source::{Packet, Stream};

/// A trace that was drawn in text.
#[derive(Clone, Debug)]
pub struct DrawnTrace {
    schema: Schema,
    lines: Vec<Line>,
    streams: Vec<Stream>,
    packets: Vec<Packet>,
    /// By packet: its events, and the bytes that their texts lie in.
    contents: Vec<PacketContent>,
}

/// One stream as it was drawn.
#[derive(Clone, Debug, Default)]
struct Line {
    name: String,
    cpu: Option<CpuId>,
    buffer: u32,
    events: Vec<DrawnEvent>,
    /// Positions in `events` before which a packet begins.
    cuts: BTreeSet<usize>,
    /// By position in `events`: lost events and lost packets before it. Always a cut.
    losses: BTreeMap<usize, (u64, u64)>,
    /// From when on events are missing.
    cut_off_at: Option<Timestamp>,
}

#[derive(Clone, Debug)]
struct DrawnEvent {
    class: EventClassId,
    at: Timestamp,
    /// By field of the class; `None` where the line does not have it.
    values: Vec<Option<Value>>,
    /// Until when what follows cannot be read.
    unreadable_until: Option<Timestamp>,
}

#[derive(Clone, Debug, PartialEq)]
enum Value {
    Signed(i64),
    Unsigned(u64),
    Float(f64),
    Text(String),
    Bytes(Vec<u8>),
}

#[derive(Clone, Debug, Default)]
struct PacketContent {
    events: Vec<PackedEvent>,
    bytes: Vec<u8>,
}

#[derive(Clone, Debug)]
struct PackedEvent {
    class: EventClassId,
    at: Timestamp,
    /// By field of the class, as an event's slot holds it.
    values: Vec<Option<u64>>,
    unreadable_until: Option<Timestamp>,
}

impl DrawnTrace {
    /// Reads the drawing; see the crate's documentation for its form.
    pub fn parse(text: &str) -> Result<Self, DrawError> {
        let (schema, lines) = parse::parse(text)?;
        Ok(Self::build(schema, lines))
    }

    /// The same events with packets that begin where `cut(stream, n)` says so, n counting the
    /// events of the stream from 1, and where events were lost.
    pub fn recut(&self, mut cut: impl FnMut(StreamId, usize) -> bool) -> Self {
        let mut lines = self.lines.clone();
        for (line, stream) in lines.iter_mut().zip((0..).map(StreamId)) {
            let chosen = (1..line.events.len()).filter(|&n| cut(stream, n));
            let lost = line.losses.keys().copied().filter(|&n| n > 0);
            line.cuts = lost.chain(chosen).collect();
        }
        Self::build(self.schema.clone(), lines)
    }

    /// The same events in packets of random length, `average` events on average; the same `seed`
    /// gives the same packets.
    pub fn recut_at_random(&self, seed: u64, average: u64) -> Self {
        let mut state = seed;
        self.recut(|_, _| splitmix(&mut state).is_multiple_of(average.max(1)))
    }

    fn build(schema: Schema, lines: Vec<Line>) -> Self {
        let mut trace = Self {
            schema,
            streams: Vec::new(),
            packets: Vec::new(),
            contents: Vec::new(),
            lines: Vec::new(),
        };
        for line in &lines {
            trace.add_stream(line);
        }
        trace.lines = lines;
        trace
    }
}

/// Next number of Steele, Lea & Flood's SplitMix64 (2014): random enough to cut packets.
fn splitmix(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mut mixed = *state;
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}
