//! Spans in any order in, whole traces out, in bounded memory.
//!
//! Files interleave traces as they please (a collector writes what arrives), and a trace may be
//! spread over files. So spans are sorted by trace: in memory up to a number, beyond that in sorted
//! runs on a store that the caller provides (a temporary file), merged when read back. This module
//! opens no file.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::io::{self, Read, Seek, SeekFrom, Write};

use rustc_hash::FxHashMap;
use slowpath_model::{SpanId, TraceId};

use crate::operations::Operation;
use crate::record::SpanRecord;

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
    /// Of these, how many each operation has.
    of_operations: FxHashMap<Operation, u64>,
}

impl<S: Store, Open: FnMut() -> io::Result<S>> TraceSorter<S, Open> {
    /// A sorter that holds `most_held` spans (of about 100 bytes) before it calls `open` for a store.
    pub fn new(most_held: usize, open: Open) -> Self {
        Self {
            held: Vec::new(),
            most_held: most_held.max(1),
            open,
            store: None,
            runs: Vec::new(),
            spans: 0,
            of_operations: FxHashMap::default(),
        }
    }

    /// Takes a span.
    ///
    /// # Errors
    /// Where the store cannot be opened or written.
    pub fn push(&mut self, record: SpanRecord) -> io::Result<()> {
        if self.held.len() >= self.most_held {
            self.spill()?;
        }
        let operation = (record.service, record.operation);
        *self.of_operations.entry(operation).or_default() += 1;
        self.held.push(record);
        self.spans += 1;
        Ok(())
    }

    fn spill(&mut self) -> io::Result<()> {
        let store = match &mut self.store {
            Some(store) => store,
            none => none.insert((self.open)()?),
        };
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
    of_operations: FxHashMap<Operation, u64>,
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
            of_operations: FxHashMap::default(),
        };
        for mut sorter in sorters {
            traces.spans += sorter.spans;
            for (operation, spans) in sorter.of_operations {
                *traces.of_operations.entry(operation).or_default() += spans;
            }
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
                add_run(Vec::new(), Some((traces.stores.len(), begin, end)));
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

    /// How many spans each operation has.
    pub fn of_operations(&self) -> &FxHashMap<Operation, u64> {
        &self.of_operations
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
