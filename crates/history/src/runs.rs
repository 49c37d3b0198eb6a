//! Sorting more intervals than fit into memory: sorted runs, then one ordered stream of all.
//!
//! The order is complete (attribute, begin, end, value), so it does not depend on who pushed what.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::fs::File;
use std::io::{self, BufRead, BufReader, BufWriter, Read, Seek, Write};

/// An interval as sorted: attribute, begin and end in nanoseconds, value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Row {
    pub(crate) attribute: u32,
    pub(crate) begin: i64,
    pub(crate) end: i64,
    pub(crate) value: i64,
}

impl Row {
    /// Attribute and begin as one number, which nearly always tells the order of rows.
    fn place(&self) -> u128 {
        let begin = self.begin as u64 ^ (1 << 63);
        u128::from(self.attribute) << 64 | u128::from(begin)
    }
}

fn sort(rows: &mut [Row]) {
    rows.sort_unstable_by(|one, other| {
        let places = one.place().cmp(&other.place());
        places.then_with(|| one.cmp(other))
    });
}

const ROW_BYTES: usize = 28;

/// Rows in order.
pub(crate) enum Run {
    Memory(Vec<Row>),
    /// A file without a name: it is gone with the process.
    File(File),
}

impl Run {
    /// Sorts `rows`.
    pub(crate) fn in_memory(mut rows: Vec<Row>) -> Self {
        sort(&mut rows);
        Self::Memory(rows)
    }

    /// Sorts `rows` and writes them to a file in `folder`; `rows` is empty afterwards.
    pub(crate) fn on_disk(rows: &mut Vec<Row>, folder: &std::path::Path) -> io::Result<Self> {
        sort(rows);
        let mut output = BufWriter::with_capacity(1 << 20, tempfile::tempfile_in(folder)?);
        for row in rows.iter() {
            output.write_all(&encode(row))?;
        }
        rows.clear();
        let mut file = output
            .into_inner()
            .map_err(io::IntoInnerError::into_error)?;
        file.rewind()?;
        Ok(Self::File(file))
    }
}

fn encode(row: &Row) -> [u8; ROW_BYTES] {
    let mut bytes = [0; ROW_BYTES];
    bytes[..4].copy_from_slice(&row.attribute.to_le_bytes());
    bytes[4..12].copy_from_slice(&row.begin.to_le_bytes());
    bytes[12..20].copy_from_slice(&row.end.to_le_bytes());
    bytes[20..].copy_from_slice(&row.value.to_le_bytes());
    bytes
}

fn decode(bytes: &[u8; ROW_BYTES]) -> Row {
    let number = |from: usize| {
        let mut eight = [0; 8];
        eight.copy_from_slice(&bytes[from..from + 8]);
        i64::from_le_bytes(eight)
    };
    Row {
        attribute: u32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]),
        begin: number(4),
        end: number(12),
        value: number(20),
    }
}

enum Source {
    Memory(std::vec::IntoIter<Row>),
    File(BufReader<File>),
}

impl Source {
    fn next(&mut self) -> io::Result<Option<Row>> {
        match self {
            Self::Memory(rows) => Ok(rows.next()),
            Self::File(reader) => {
                let ahead = reader.fill_buf()?;
                if let Some(bytes) = ahead.first_chunk() {
                    // Not copied: what is read again right after it was written waits for that.
                    let row = decode(bytes);
                    reader.consume(ROW_BYTES);
                    return Ok(Some(row));
                }
                if ahead.is_empty() {
                    return Ok(None);
                }
                let mut bytes = [0; ROW_BYTES];
                reader.read_exact(&mut bytes)?;
                Ok(Some(decode(&bytes)))
            }
        }
    }
}

/// All rows of all runs, in order.
pub(crate) struct Merged {
    sources: Vec<Source>,
    next: BinaryHeap<Reverse<(Row, usize)>>,
}

impl Merged {
    /// `memory`: bytes for reading ahead, all files together.
    pub(crate) fn new(runs: Vec<Run>, memory: usize) -> io::Result<Self> {
        let ahead = (memory / runs.len().max(1)).clamp(4096, 1 << 20);
        let mut merged = Self {
            sources: Vec::with_capacity(runs.len()),
            next: BinaryHeap::with_capacity(runs.len()),
        };
        for run in runs {
            let mut source = match run {
                Run::Memory(rows) => Source::Memory(rows.into_iter()),
                Run::File(file) => Source::File(BufReader::with_capacity(ahead, file)),
            };
            if let Some(row) = source.next()? {
                merged.next.push(Reverse((row, merged.sources.len())));
            }
            merged.sources.push(source);
        }
        Ok(merged)
    }

    pub(crate) fn next(&mut self) -> io::Result<Option<Row>> {
        let Some(mut least) = self.next.peek_mut() else {
            return Ok(None);
        };
        let Reverse((row, source)) = *least;
        match self.sources[source].next()? {
            Some(after) => least.0.0 = after,
            None => {
                std::collections::binary_heap::PeekMut::pop(least);
            }
        }
        Ok(Some(row))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_come_back_from_files_whole_and_in_order() {
        // Longer than what is read ahead, of which a row's size is no divisor.
        let rows: Vec<Row> = (0..1_000)
            .map(|number| Row {
                attribute: number / 300,
                begin: i64::from(number) - 500,
                end: i64::from(number) + i64::from(number % 7) - 499,
                value: -i64::from(number),
            })
            .collect();
        let folder = tempfile::tempdir().unwrap();
        let (mut odd, mut even): (Vec<Row>, Vec<Row>) =
            (rows.iter().rev()).partition(|row| row.value % 2 != 0);
        let runs = [&mut odd, &mut even].map(|rows| Run::on_disk(rows, folder.path()).unwrap());
        let mut merged = Merged::new(runs.into(), 0).unwrap();
        let read: Vec<Row> = std::iter::from_fn(|| merged.next().unwrap()).collect();
        assert!(read == rows);
    }
}
