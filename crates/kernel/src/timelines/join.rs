//! Pass 2 over one processor: its pieces one after the other, with what lies between them read by a
//! scanner that knows what came before.
//!
//! Processors are independent of each other here. The work is that of a few records per chunk,
//! except where several streams tell of one processor at the same time: there nothing could be read
//! before, and all of it is read here.

use std::collections::BTreeMap;

use rustc_hash::FxHashMap;
use slowpath_model::{CpuId, StreamId, ThreadId};
use slowpath_platform::Shelf;

use super::gather::{Named, Piece};
use super::in_order::InOrder;
use super::record::Record;
use super::scan::Scanner;
use super::segment::{Found, Segment};
use super::told::SwitchesTold;

/// Everything that the records of one processor say.
#[derive(Debug, Default)]
pub(super) struct Joined {
    pub(super) cpu: CpuId,
    pub(super) segments: Vec<Placed>,
    pub(super) names: Vec<Named>,
    pub(super) irq_names: Vec<(u32, String)>,
}

/// A segment among the others of its processor.
#[derive(Debug)]
pub(super) struct Placed {
    pub(super) segment: Segment,
    /// Nothing in it is earlier than this, whatever it says itself: time went back.
    pub(super) floor: i64,
    /// Receipts in the segments before.
    pub(super) receipts_before: u32,
}

/// What holds for all processors.
#[derive(Clone, Copy)]
pub(super) struct Join<'run> {
    /// What the trace covers.
    pub(super) begin: i64,
    pub(super) end: i64,
    /// The trace says which packets are received.
    pub(super) packets_recorded: bool,
    /// When traces say which threads are switched to.
    pub(super) switches: &'run SwitchesTold<'run>,
    pub(super) shelf: &'run Shelf,
}

impl Join<'_> {
    /// Joins the pieces of one processor.
    pub(super) fn join(self, cpu: CpuId, mut pieces: Vec<Piece>, interleaved: bool) -> Joined {
        pieces.sort_by_key(|piece| (piece.begin, piece.stream, piece.first_packet));
        let mut joined = Joined {
            cpu,
            ..Joined::default()
        };
        joined.take_names(&mut pieces);
        match interleaved {
            true => self.read_interleaved(&pieces, &mut joined),
            false => self.read(pieces, &mut joined),
        }
        joined
    }

    fn read(self, pieces: Vec<Piece>, joined: &mut Joined) {
        // Records between the segment before and the one to come.
        let mut between: Vec<Record> = Vec::new();
        let mut scanner: Option<Scanner> = None;
        for piece in pieces {
            let read = self.switches.read(piece.stream);
            between.extend(piece.head.iter().flat_map(read).flatten());
            let Some(mut body) = piece.body else { continue };
            let scanner = scanner.get_or_insert_with(|| self.scanner(between.iter().copied()));
            scanner.read(between.iter().copied());
            let floor = scanner.knows.now;
            joined.push(self.segment(scanner), i64::MIN);
            body.knows.not_before(floor);
            body.knows.pass_receipts(body.segment.receipts);
            joined.push(body.segment, floor);
            scanner.knows = body.knows;
            between = body.tail;
        }
        let mut scanner = scanner.unwrap_or_else(|| self.scanner(between.iter().copied()));
        scanner.read(between.iter().copied());
        scanner.finish(self.end);
        joined.push(self.segment(&mut scanner), i64::MIN);
    }

    fn read_interleaved(self, pieces: &[Piece], joined: &mut Joined) {
        /// Entries of a segment, about.
        const SEGMENT: usize = 200_000;
        let mut streams: BTreeMap<StreamId, Vec<&[[u64; 2]]>> = BTreeMap::new();
        for piece in pieces {
            streams.entry(piece.stream).or_default().push(&piece.head);
        }
        let streams = streams.into_iter().map(|(stream, heads)| {
            let read = self.switches.read(stream);
            heads.into_iter().flatten().flat_map(read).flatten()
        });
        let mut records = InOrder::new(streams, |record| record.at).map(|(_, record)| record);
        let mut scanner = self.scanner(records.clone());
        loop {
            let following = records.clone();
            let Some(record) = records.next() else { break };
            scanner.read_first(record, following);
            if scanner.found.len() >= SEGMENT {
                joined.push(self.segment(&mut scanner), i64::MIN);
            }
        }
        scanner.finish(self.end);
        joined.push(self.segment(&mut scanner), i64::MIN);
    }

    fn scanner(self, first: impl Iterator<Item = Record>) -> Scanner {
        let scanner = Scanner::before(self.begin, first, self.packets_recorded);
        match self.switches.are_some() {
            true => scanner,
            false => scanner.without_switches(),
        }
    }

    /// What the scanner has found so far.
    fn segment(self, scanner: &mut Scanner) -> Segment {
        let found: Found = std::mem::take(&mut scanner.found);
        scanner.knows.pass_receipts(found.receipts);
        found.into_segment(self.shelf)
    }
}

impl Joined {
    fn push(&mut self, segment: Segment, floor: i64) {
        let before = self.segments.last().map_or(0, |last| {
            last.receipts_before.wrapping_add(last.segment.receipts)
        });
        self.segments.push(Placed {
            segment,
            floor,
            receipts_before: before,
        });
    }

    fn take_names(&mut self, pieces: &mut [Piece]) {
        let mut places: FxHashMap<(StreamId, ThreadId), usize> = FxHashMap::default();
        for piece in pieces {
            for named in std::mem::take(&mut piece.names) {
                let next = self.names.len();
                let place = places.entry((piece.stream, named.thread)).or_insert(next);
                match self.names.get_mut(*place) {
                    Some(known) if known.name == named.name => known.last = named.last,
                    _ => {
                        *place = next;
                        self.names.push(named);
                    }
                }
            }
            for entry in std::mem::take(&mut piece.irq_names) {
                if !self.irq_names.contains(&entry) {
                    self.irq_names.push(entry);
                }
            }
        }
    }
}
