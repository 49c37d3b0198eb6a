//! How many spans each service and each operation has, in bounded memory: tallies that become too large are written to
//! a store, sorted, and come back added up.
//!
//! `N` names identify what is counted: a service by its own, an operation by the service's and its own.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::io::{self, SeekFrom};
use std::sync::Arc;

use rustc_hash::FxHashMap;

use crate::names::NameId;
use crate::sort::Store;

/// A service or an operation, and how many spans it has.
#[derive(Clone, Debug)]
pub(crate) struct Counted<const N: usize> {
    pub(crate) ids: [NameId; N],
    pub(crate) texts: [Arc<str>; N],
    pub(crate) spans: u64,
}

impl<const N: usize> Counted<N> {
    /// What is named last comes first, so that operations of one name come together.
    fn order(&self) -> [NameId; N] {
        let mut order = self.ids;
        order.reverse();
        order
    }

    fn write(&self, output: &mut Vec<u8>) {
        output.extend(self.spans.to_le_bytes());
        for text in &self.texts {
            output.extend((text.len() as u64).to_le_bytes());
            output.extend(text.as_bytes());
        }
    }

    /// Reads what [`Self::write`] wrote, and moves `bytes` behind it; `None` where that is not all of it.
    fn read(bytes: &mut &[u8]) -> Option<Self> {
        let mut rest = *bytes;
        let number = |rest: &mut &[u8]| {
            let (number, behind) = rest.split_first_chunk()?;
            *rest = behind;
            Some(u64::from_le_bytes(*number))
        };
        let spans = number(&mut rest)?;
        let mut texts = [const { None }; N];
        for text in &mut texts {
            let length = usize::try_from(number(&mut rest)?).ok()?;
            let (bytes, behind) = rest.split_at_checked(length)?;
            *text = Some(Arc::from(String::from_utf8_lossy(bytes)));
            rest = behind;
        }
        *bytes = rest;
        let texts = texts.map(Option::unwrap_or_default);
        Some(Self {
            ids: texts.each_ref().map(|text| NameId::of(text)),
            texts,
            spans,
        })
    }
}

/// Counts spans.
#[derive(Debug, Default)]
pub(crate) struct Tally<const N: usize> {
    held: FxHashMap<[NameId; N], Counted<N>>,
    bytes: usize,
    /// Where each run on the store begins and ends, in bytes.
    runs: Vec<(u64, u64)>,
}

/// What a count takes beside its texts.
const BYTES_PER_COUNT: usize = 128;

impl<const N: usize> Tally<N> {
    /// Counts a span.
    pub(crate) fn add(&mut self, ids: [NameId; N], texts: [&Arc<str>; N]) {
        let counted = self.held.entry(ids).or_insert_with(|| {
            let lengths = texts.map(|text| text.len());
            self.bytes += BYTES_PER_COUNT + lengths.iter().sum::<usize>();
            Counted {
                ids,
                texts: texts.map(Arc::clone),
                spans: 0,
            }
        });
        counted.spans += 1;
    }

    /// About what it takes in memory, in bytes.
    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }

    /// Writes what is held to the end of `store`.
    pub(crate) fn spill(&mut self, store: &mut impl Store) -> io::Result<()> {
        let begin = store.seek(SeekFrom::End(0))?;
        let mut end = begin;
        let mut buffer = Vec::new();
        for counted in self.take_sorted() {
            counted.write(&mut buffer);
            if buffer.len() >= WRITTEN_AT_ONCE {
                store.write_all(&buffer)?;
                end += buffer.len() as u64;
                buffer.clear();
            }
        }
        store.write_all(&buffer)?;
        self.runs.push((begin, end + buffer.len() as u64));
        Ok(())
    }

    fn take_sorted(&mut self) -> Vec<Counted<N>> {
        self.bytes = 0;
        let held = std::mem::take(&mut self.held);
        let mut sorted: Vec<_> = held.into_values().collect();
        sorted.sort_unstable_by_key(Counted::order);
        sorted
    }
}

const WRITTEN_AT_ONCE: usize = 1 << 16;
/// Memory in which runs are read back, all of them together; a run takes at least [`LEAST_READ`].
const READ_AT_ONCE: usize = 1 << 22;
const LEAST_READ: usize = 1 << 10;

/// Tallies that are complete.
#[derive(Debug, Default)]
pub(crate) struct Tallies<const N: usize> {
    runs: Vec<Run<N>>,
}

/// A sorted run: what is in memory of it, and what is still on a store.
#[derive(Debug, Default)]
struct Run<const N: usize> {
    counted: std::vec::IntoIter<Counted<N>>,
    /// The begin of a count that was not read whole.
    begun: Vec<u8>,
    /// The number of the store, and the bytes not read yet.
    rest: Option<(usize, u64, u64)>,
}

impl<const N: usize> Tallies<N> {
    /// Adds a tally, whose runs are on the store of that number.
    pub(crate) fn add(&mut self, mut tally: Tally<N>, store: usize) {
        self.runs.push(Run {
            counted: tally.take_sorted().into_iter(),
            ..Run::default()
        });
        self.runs
            .extend(tally.runs.into_iter().map(|(begin, end)| Run {
                rest: Some((store, begin, end)),
                ..Run::default()
            }));
    }

    /// Gives each to `take` once, with its spans of all tallies; those with the same last name after each other.
    ///
    /// # Errors
    /// Where a store cannot be read.
    pub(crate) fn added_up<S: Store>(
        mut self,
        stores: &mut [S],
        mut take: impl FnMut(Counted<N>),
    ) -> io::Result<()> {
        let read_at_once = (READ_AT_ONCE / self.runs.len().max(1)).max(LEAST_READ) as u64;
        let mut heads: Vec<Option<Counted<N>>> = Vec::with_capacity(self.runs.len());
        let mut first = BinaryHeap::with_capacity(self.runs.len());
        for (number, run) in self.runs.iter_mut().enumerate() {
            let head = run.next(stores, read_at_once)?;
            first.extend(head.as_ref().map(|head| Reverse((head.order(), number))));
            heads.push(head);
        }
        let mut sum: Option<Counted<N>> = None;
        while let Some(Reverse((_, number))) = first.pop() {
            let next = self.runs[number].next(stores, read_at_once)?;
            first.extend(next.as_ref().map(|next| Reverse((next.order(), number))));
            let Some(counted) = std::mem::replace(&mut heads[number], next) else {
                continue;
            };
            match &mut sum {
                Some(sum) if sum.ids == counted.ids => sum.spans += counted.spans,
                sum => sum.replace(counted).into_iter().for_each(&mut take),
            }
        }
        sum.into_iter().for_each(take);
        Ok(())
    }
}

impl<const N: usize> Run<N> {
    fn next<S: Store>(
        &mut self,
        stores: &mut [S],
        read_at_once: u64,
    ) -> io::Result<Option<Counted<N>>> {
        loop {
            if let Some(counted) = self.counted.next() {
                return Ok(Some(counted));
            }
            let Some((store, begin, end)) = self.rest.filter(|(_, begin, end)| begin < end) else {
                return Ok(None);
            };
            let length = (end - begin).min(read_at_once);
            let mut bytes = std::mem::take(&mut self.begun);
            let begun = bytes.len();
            bytes.resize(begun + length as usize, 0);
            stores[store].seek(SeekFrom::Start(begin))?;
            stores[store].read_exact(&mut bytes[begun..])?;
            self.rest = Some((store, begin + length, end));
            let mut bytes = bytes.as_slice();
            let counted: Vec<_> = std::iter::from_fn(|| Counted::read(&mut bytes)).collect();
            self.counted = counted.into_iter();
            self.begun = bytes.to_vec();
        }
    }
}
