//! Tables of a history as Arrow IPC files: written in batches of one size, read where they lie.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::Path;
use std::sync::Arc;

use arrow_array::types::Int64Type;
use arrow_array::{Array, ArrayRef, Int64Array, PrimitiveArray, RecordBatch, UInt32Array};
use arrow_buffer::{Buffer, ScalarBuffer};
use arrow_ipc::reader::FileDecoder;
use arrow_ipc::writer::FileWriter;
use arrow_schema::{ArrowError, DataType, Field, Schema};
use xxhash_rust::xxh3::Xxh3;

use crate::runs::Row;

/// Rows of a batch: a power of two, so that a row's batch is a shift away.
const BATCH_BITS: u32 = 16;
const BATCH_ROWS: usize = 1 << BATCH_BITS;

/// Counts and sums up what goes into a file.
pub(crate) struct Summed<W> {
    inner: W,
    hash: Xxh3,
    pub(crate) bytes: u64,
}

impl<W: Write> Summed<W> {
    pub(crate) fn new(inner: W) -> Self {
        Self {
            inner,
            hash: Xxh3::new(),
            bytes: 0,
        }
    }

    pub(crate) fn digest(&self) -> u64 {
        self.hash.digest()
    }
}

impl<W: Write> Write for Summed<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.inner.write(bytes)?;
        self.hash.update(&bytes[..written]);
        self.bytes += written as u64;
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.inner.flush()
    }
}

pub(crate) type TableFile = FileWriter<Summed<BufWriter<File>>>;

/// Opens the file of a table with these columns.
pub(crate) fn create(path: &Path, schema: &Schema) -> io::Result<TableFile> {
    let file = Summed::new(BufWriter::with_capacity(1 << 18, File::create(path)?));
    FileWriter::try_new(file, schema).map_err(failed)
}

/// What the file's manifest entry says: bytes and checksum.
pub(crate) fn finish(mut file: TableFile) -> io::Result<(u64, u64)> {
    file.finish().map_err(failed)?;
    let mut summed = file.into_inner().map_err(failed)?;
    summed.flush()?;
    Ok((summed.bytes, summed.digest()))
}

pub(crate) fn failed(error: ArrowError) -> io::Error {
    match error {
        ArrowError::IoError(_, error) => error,
        other => io::Error::other(other),
    }
}

/// Writes intervals, or summaries of a level of the pyramid.
pub(crate) struct TableWriter {
    file: TableFile,
    schema: Arc<Schema>,
    attribute: Vec<u32>,
    columns: Vec<Vec<i64>>,
    pub(crate) rows: u64,
    /// By attribute: its first row.
    pub(crate) starts: Vec<u64>,
}

impl TableWriter {
    /// `summaries`: with the column `held_ns`.
    pub(crate) fn create(path: &Path, summaries: bool) -> io::Result<Self> {
        let mut names = vec!["begin_ns", "end_ns", "value"];
        names.extend(summaries.then_some("held_ns"));
        let mut fields = vec![Field::new("attribute", DataType::UInt32, false)];
        fields.extend((names.iter()).map(|name| Field::new(*name, DataType::Int64, false)));
        let schema = Arc::new(Schema::new(fields));
        Ok(Self {
            file: create(path, &schema)?,
            schema,
            attribute: Vec::with_capacity(BATCH_ROWS),
            columns: vec![Vec::with_capacity(BATCH_ROWS); names.len()],
            rows: 0,
            starts: Vec::new(),
        })
    }

    /// The row's value was held for `held` ns between its begin and end.
    pub(crate) fn push(&mut self, row: Row, held: i64) -> io::Result<()> {
        let Row {
            attribute,
            begin,
            end,
            value,
        } = row;
        while self.starts.len() <= attribute as usize {
            self.starts.push(self.rows);
        }
        self.attribute.push(attribute);
        let values = [begin, end, value, held];
        for (column, value) in self.columns.iter_mut().zip(values) {
            column.push(value);
        }
        self.rows += 1;
        if self.attribute.len() == BATCH_ROWS {
            self.write_batch()?;
        }
        Ok(())
    }

    fn write_batch(&mut self) -> io::Result<()> {
        let attribute = std::mem::replace(&mut self.attribute, Vec::with_capacity(BATCH_ROWS));
        let mut arrays: Vec<ArrayRef> = vec![Arc::new(UInt32Array::from(attribute))];
        for column in &mut self.columns {
            let values = std::mem::replace(column, Vec::with_capacity(BATCH_ROWS));
            arrays.push(Arc::new(Int64Array::from(values)));
        }
        let batch = RecordBatch::try_new(self.schema.clone(), arrays).map_err(failed)?;
        self.file.write(&batch).map_err(failed)
    }

    /// Bytes and checksum of the file, and where each of `attributes` begins: one more than those.
    pub(crate) fn finish(mut self, attributes: usize) -> io::Result<(u64, u64, Vec<u64>)> {
        if !self.attribute.is_empty() {
            self.write_batch()?;
        }
        self.starts.resize(attributes + 1, self.rows);
        let (bytes, checksum) = finish(self.file)?;
        Ok((bytes, checksum, self.starts))
    }
}

/// The batches of an Arrow IPC file, not copied.
pub(crate) fn batches(file: &Buffer) -> Result<Vec<RecordBatch>, String> {
    let text = |error: ArrowError| error.to_string();
    let size = file.len();
    let trailer = size.checked_sub(10).ok_or("the file is too short")?;
    let trailer_bytes: [u8; 10] = file[trailer..].try_into().map_err(|_| "no trailer")?;
    let footer_length = arrow_ipc::reader::read_footer_length(trailer_bytes).map_err(text)?;
    let footer_begin = (trailer.checked_sub(footer_length)).ok_or("the footer is too long")?;
    let footer = arrow_ipc::root_as_footer(&file[footer_begin..trailer])
        .map_err(|error| error.to_string())?;
    let schema = footer.schema().ok_or("no schema")?;
    let schema = Arc::new(arrow_ipc::convert::try_fb_to_schema(schema).map_err(text)?);
    let decoder = FileDecoder::new(schema, footer.version());
    let mut batches = Vec::new();
    for block in footer.recordBatches().iter().flatten() {
        let range = usize::try_from(block.offset()).ok().and_then(|offset| {
            let length = usize::try_from(block.bodyLength()).ok()?;
            let length = length.checked_add(usize::try_from(block.metaDataLength()).ok()?)?;
            (offset.checked_add(length)? <= size).then_some((offset, length))
        });
        let (offset, length) = range.ok_or("a batch lies outside of the file")?;
        let data = file.slice_with_length(offset, length);
        let batch = decoder.read_record_batch(block, &data).map_err(text)?;
        batches.extend(batch);
    }
    Ok(batches)
}

/// A column of 64-bit numbers, not copied.
pub(crate) fn column(batch: &RecordBatch, name: &str) -> Result<ScalarBuffer<i64>, String> {
    let column = batch.column_by_name(name);
    let numbers = column.and_then(|column| {
        let numbers = column
            .as_any()
            .downcast_ref::<PrimitiveArray<Int64Type>>()?;
        (numbers.null_count() == 0).then(|| numbers.values().clone())
    });
    numbers.ok_or_else(|| format!("no column {name} of 64-bit numbers"))
}

/// A table of intervals or summaries, mapped.
pub(crate) struct Table {
    batches: Vec<Columns>,
    pub(crate) rows: u64,
    /// By attribute: its first row; one more than there are attributes.
    starts: Vec<u64>,
}

struct Columns {
    begin: ScalarBuffer<i64>,
    end: ScalarBuffer<i64>,
    value: ScalarBuffer<i64>,
    held: Option<ScalarBuffer<i64>>,
}

impl Table {
    /// Checks that the batches are as [`TableWriter`] makes them.
    pub(crate) fn new(file: &Buffer, starts: Vec<u64>, summaries: bool) -> Result<Self, String> {
        let mut table = Self {
            batches: Vec::new(),
            rows: 0,
            starts,
        };
        for batch in batches(file)? {
            if !table.rows.is_multiple_of(BATCH_ROWS as u64) {
                return Err("a batch other than the last is not full".into());
            }
            table.rows += batch.num_rows() as u64;
            table.batches.push(Columns {
                begin: column(&batch, "begin_ns")?,
                end: column(&batch, "end_ns")?,
                value: column(&batch, "value")?,
                held: summaries.then(|| column(&batch, "held_ns")).transpose()?,
            });
        }
        let fits = table.starts.is_sorted()
            && table.starts.first() == Some(&0)
            && table.starts.last() == Some(&table.rows);
        fits.then_some(table)
            .ok_or_else(|| "rows and attributes do not fit".into())
    }

    /// The rows of an attribute; none for one that there is not.
    pub(crate) fn rows_of(&self, attribute: usize) -> std::ops::Range<u64> {
        let start = |at: usize| self.starts.get(at).copied().unwrap_or(self.rows);
        start(attribute)..start(attribute.saturating_add(1))
    }

    #[inline]
    fn place(&self, row: u64) -> (&Columns, usize) {
        let columns = &self.batches[(row >> BATCH_BITS) as usize];
        (columns, row as usize & (BATCH_ROWS - 1))
    }

    /// `row` must be one of the table's.
    #[inline]
    pub(crate) fn begin(&self, row: u64) -> i64 {
        let (columns, place) = self.place(row);
        columns.begin[place]
    }

    /// `row` must be one of the table's.
    #[inline]
    pub(crate) fn end(&self, row: u64) -> i64 {
        let (columns, place) = self.place(row);
        columns.end[place]
    }

    /// `row` must be one of the table's.
    #[inline]
    pub(crate) fn get(&self, row: u64) -> (i64, i64, i64, i64) {
        let (columns, place) = self.place(row);
        let (begin, end) = (columns.begin[place], columns.end[place]);
        let held = match &columns.held {
            Some(held) => held[place],
            None => end - begin,
        };
        (begin, end, columns.value[place], held)
    }

    /// The first of `rows` that ends after `at`.
    pub(crate) fn first_ending_after(&self, rows: std::ops::Range<u64>, at: i64) -> u64 {
        let (mut low, mut high) = (rows.start, rows.end);
        while low < high {
            let middle = low + (high - low) / 2;
            if self.end(middle) <= at {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        low
    }
}
