//! Spans in any order in, whole traces out, in bounded memory.
//!
//! Files interleave traces as they please (a collector writes what arrives), and a trace may be
//! spread over files. So spans are sorted by trace: in memory up to a number, beyond that in sorted
//! runs on a store that the caller provides (a temporary file), merged when read back. So are the counts
//! of how many spans each operation has. This module opens no file.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::io::{self, Read, Seek, SeekFrom, Write};

use slowpath_model::{SpanId, TraceId};
use slowpath_read_spans::Span;

use crate::mark::Mark;
use crate::operations::{Limits, Operations};
use crate::record::SpanRecord;
use crate::tally::{Tallies, Tally};

/// Where runs that do not fit into memory go.
pub trait Store: Read + Write + Seek {}
impl<S: Read + Write + Seek> Store for S {}

/// Takes spans of any traces.
pub struct TraceSorter<S, Open> {
    held: Vec<SpanRecord>,
    most_held: usize,
    open: Open,
    store: Option<S>,
    /// Where each run on the store begins and ends, in bytes.
    runs: Vec<(u64, u64)>,
    spans: u64,
    /// Of these, how many each service and each operation has.
    of_services: Tally<1>,
    of_operations: Tally<2>,
}

/// Memory for the counts of operations, for each span that may be held.
const TALLY_BYTES_PER_SPAN: usize = 32;

impl<S: Store, Open: FnMut() -> io::Result<S>> TraceSorter<S, Open> {
    /// A sorter that holds `most_held` spans (of about 150 bytes, with the counts of their operations) before it calls
    /// `open` for a store.
    pub fn new(most_held: usize, open: Open) -> Self {
        Self {
            held: Vec::new(),
            most_held: most_held.max(1),
            open,
            store: None,
            runs: Vec::new(),
            spans: 0,
            of_services: Tally::default(),
            of_operations: Tally::default(),
        }
    }

    /// Takes a span; whether it is a request where no span above it is one; what else is to be known of it.
    ///
    /// # Errors
    /// Where the store cannot be opened or written.
    pub fn push(&mut self, span: &Span, may_be_request: bool, mark: Mark) -> io::Result<()> {
        if self.held.len() >= self.most_held {
            self.spill()?;
        }
        let record = SpanRecord {
            mark,
            ..SpanRecord::new(span, may_be_request)
        };
        let (service, operation) = (record.service, record.operation);
        self.of_services.add([service], [&span.service]);
        let texts = [&span.service, &span.operation];
        self.of_operations.add([service, operation], texts);
        let most_bytes = self.most_held.saturating_mul(TALLY_BYTES_PER_SPAN);
        if self.of_services.bytes() + self.of_operations.bytes() > most_bytes {
            let store = opened(&mut self.store, &mut self.open)?;
            self.of_services.spill(store)?;
            self.of_operations.spill(store)?;
        }
        self.held.push(record);
        self.spans += 1;
        Ok(())
    }

    fn spill(&mut self) -> io::Result<()> {
        let store = opened(&mut self.store, &mut self.open)?;
        self.held.sort_unstable_by_key(order);
        let begin = store.seek(SeekFrom::End(0))?;
        let mut buffer = Vec::with_capacity(BUFFER_BYTES);
        for records in self.held.chunks(BUFFER_RECORDS) {
            buffer.clear();
            records.iter().for_each(|record| record.write(&mut buffer));
            store.write_all(&buffer)?;
        }
        let length = self.held.len() as u64 * SpanRecord::BYTES as u64;
        self.runs.push((begin, begin + length));
        self.held.clear();
        Ok(())
    }
}

fn opened<S>(store: &mut Option<S>, open: impl FnOnce() -> io::Result<S>) -> io::Result<&mut S> {
    match store {
        Some(store) => Ok(store),
        none => Ok(none.insert(open()?)),
    }
}

const BUFFER_RECORDS: usize = 1000;
const BUFFER_BYTES: usize = BUFFER_RECORDS * SpanRecord::BYTES;

fn order(record: &SpanRecord) -> (TraceId, SpanId) {
    (record.trace, record.span)
}

/// Whole traces, in the order of their ids.
pub struct Traces<S> {
    stores: Vec<S>,
    runs: Vec<Run>,
    /// The next record of each run.
    heads: BinaryHeap<Reverse<(TraceId, SpanId, usize)>>,
    spans: u64,
    of_services: Tallies<1>,
    of_operations: Tallies<2>,
}

/// A sorted run: what is in memory of it, and what is still on a store.
struct Run {
    records: std::vec::IntoIter<SpanRecord>,
    /// Position in `stores`, and the bytes not read yet.
    rest: Option<(usize, u64, u64)>,
    head: Option<SpanRecord>,
}

impl<S: Store> Traces<S> {
    /// Everything that `sorters` took.
    ///
    /// # Errors
    /// Where a store cannot be read.
    pub fn merge<Open>(
        sorters: impl IntoIterator<Item = TraceSorter<S, Open>>,
    ) -> io::Result<Self> {
        let mut traces = Self {
            stores: Vec::new(),
            runs: Vec::new(),
            heads: BinaryHeap::new(),
            spans: 0,
            of_services: Tallies::default(),
            of_operations: Tallies::default(),
        };
        for mut sorter in sorters {
            traces.spans += sorter.spans;
            let store = traces.stores.len();
            traces.of_services.add(sorter.of_services, store);
            traces.of_operations.add(sorter.of_operations, store);
            sorter.held.sort_unstable_by_key(order);
            let mut add_run = |records: Vec<SpanRecord>, rest| {
                let records = records.into_iter();
                traces.runs.push(Run {
                    records,
                    rest,
                    head: None,
                });
            };
            add_run(sorter.held, None);
            for (begin, end) in sorter.runs {
                add_run(Vec::new(), Some((store, begin, end)));
            }
            traces.stores.extend(sorter.store);
        }
        for run in 0..traces.runs.len() {
            traces.advance(run)?;
        }
        Ok(traces)
    }

    /// How many spans there are in all.
    pub fn spans(&self) -> u64 {
        self.spans
    }

    /// Chooses the services and operations that are told apart; for the first caller only.
    ///
    /// # Errors
    /// Where a store cannot be read.
    pub(crate) fn choose_operations(&mut self, limits: Limits) -> io::Result<Operations> {
        let services = std::mem::take(&mut self.of_services);
        let operations = std::mem::take(&mut self.of_operations);
        Operations::choose(services, operations, &mut self.stores, limits)
    }

    /// Puts the next trace into `records`, sorted by span; false at the end.
    ///
    /// # Errors
    /// Where a store cannot be read.
    pub fn next_trace(&mut self, records: &mut Vec<SpanRecord>) -> io::Result<bool> {
        records.clear();
        while let Some(&Reverse((trace, _, run))) = self.heads.peek() {
            if records.first().is_some_and(|first| first.trace != trace) {
                break;
            }
            self.heads.pop();
            records.extend(self.runs[run].head.take());
            self.advance(run)?;
        }
        Ok(!records.is_empty())
    }

    fn advance(&mut self, number: usize) -> io::Result<()> {
        let run = &mut self.runs[number];
        run.head = run.records.next();
        if run.head.is_none()
            && let Some((store, begin, end)) = run.rest.filter(|(_, begin, end)| begin < end)
        {
            let length = (end - begin).min(BUFFER_BYTES as u64);
            let mut bytes = vec![0; length as usize];
            self.stores[store].seek(SeekFrom::Start(begin))?;
            self.stores[store].read_exact(&mut bytes)?;
            let (records, _) = bytes.as_chunks();
            let records: Vec<_> = records.iter().map(SpanRecord::read).collect();
            run.records = records.into_iter();
            run.rest = Some((store, begin + length, end));
            run.head = run.records.next();
        }
        if let Some(head) = &run.head {
            let (trace, span) = order(head);
            self.heads.push(Reverse((trace, span, number)));
        }
        Ok(())
    }
}
