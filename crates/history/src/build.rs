//! Building a history: intervals from many workers, unsorted, in bounded memory.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use arrow_array::{ArrayRef, Int64Array, RecordBatch, StringArray, UInt32Array, UInt64Array};
use arrow_schema::{Field, Schema};
use tempfile::TempDir;

use crate::pyramid::{Crossings, Levels, widths};
use crate::runs::{Merged, Row, Run};
use crate::store::{self, FileEntry, Key, LevelEntry, Manifest};
use crate::table;
use crate::write::write_tables;
use crate::{Attribute, Interval, Part, Vocabulary};

/// Rows that a worker sorts in memory at once: 32 MB.
const RUN_ROWS: usize = 1 << 20;
/// Bytes for reading sorted runs ahead.
const MERGE_BYTES: usize = 32 << 20;
/// Times are within 146 years of the epoch, so that no sum of them overflows.
const FARTHEST: i64 = 1 << 62;

/// Collects the intervals of a history.
pub struct Builder {
    target: PathBuf,
    /// Where the files are made; gone with the builder unless it finishes.
    folder: TempDir,
    collected: Mutex<Collected>,
    run_rows: usize,
    levels: Levels,
}

struct Collected {
    runs: Vec<Run>,
    crossings: Crossings,
    begin: i64,
    end: i64,
}

/// Takes the intervals of one worker.
pub struct Writer<'builder> {
    builder: &'builder Builder,
    rows: Vec<Row>,
    crossings: Crossings,
    begin: i64,
    end: i64,
}

impl Builder {
    /// A history that will lie at `target`, a folder; whatever is there is replaced at the end.
    ///
    /// # Errors
    ///
    /// The folder above cannot be made or written to.
    pub fn create(target: &Path) -> io::Result<Self> {
        Self::with_run_rows(target, RUN_ROWS)
    }

    /// Like [`Self::create`], with as many rows sorted in memory at once by each worker.
    pub fn with_run_rows(target: &Path, run_rows: usize) -> io::Result<Self> {
        let above = target.parent().unwrap_or(Path::new("."));
        std::fs::create_dir_all(above)?;
        let folder = tempfile::Builder::new()
            .prefix(".history-")
            .tempdir_in(above)?;
        Ok(Self {
            target: target.to_owned(),
            folder,
            collected: Mutex::new(Collected {
                runs: Vec::new(),
                crossings: Crossings::NONE,
                begin: i64::MAX,
                end: i64::MIN,
            }),
            run_rows: run_rows.max(1),
            levels: Levels::default(),
        })
    }

    /// The same with so many levels of summaries.
    pub fn with_levels(self, levels: Levels) -> Self {
        Self { levels, ..self }
    }

    /// For one worker; any number may write at once.
    pub fn writer(&self) -> Writer<'_> {
        Writer {
            builder: self,
            rows: Vec::new(),
            crossings: Crossings::NONE,
            begin: i64::MAX,
            end: i64::MIN,
        }
    }

    /// Sorts everything, writes the files and gives the folder its name.
    ///
    /// `attributes` are named by their ids' positions; intervals of others are an error. Where an
    /// interval begins within another of its attribute, the earlier one ends there. `notes` are whatever
    /// the caller wants to find again in [`History::notes`](crate::History::notes).
    ///
    /// # Errors
    ///
    /// The disk is full or fails; nothing is left behind then.
    pub fn finish(
        self,
        key: &Key,
        attributes: &[Attribute],
        vocabularies: &[Vocabulary],
        notes: Vec<String>,
    ) -> io::Result<()> {
        let folder = self.folder.path();
        let collected = (self.collected.into_inner()).unwrap_or_else(PoisonError::into_inner);
        let (begin, end) = match collected.begin <= collected.end {
            true => (collected.begin, collected.end),
            false => (0, 0),
        };
        let widths = widths(&collected.crossings, self.levels, end.saturating_sub(begin));
        let merged = Merged::new(collected.runs, MERGE_BYTES)?;
        let (tables, overlaps) = write_tables(folder, merged, &widths, attributes)?;
        let mut files = Vec::new();
        let mut starts = Vec::new();
        let levels = (0..widths.len()).map(store::level_file);
        let names = std::iter::once(store::INTERVALS.to_owned()).chain(levels);
        for (name, table) in names.zip(tables) {
            let (bytes, checksum, table_starts) = table.finish(attributes.len())?;
            files.push(FileEntry::new(&name, bytes, checksum));
            starts.push(table_starts);
        }
        files.push(write_starts(folder, &starts)?);
        files.push(write_attributes(folder, attributes)?);
        files.push(write_names(folder, vocabularies)?);
        let manifest = Manifest {
            format: store::FORMAT.into(),
            version: store::VERSION,
            key: key.clone(),
            begin_ns: begin,
            end_ns: end,
            overlaps,
            files,
            levels: (widths.iter().enumerate())
                .map(|(number, &width_ns)| LevelEntry {
                    file: store::level_file(number),
                    width_ns,
                })
                .collect(),
            notes,
        };
        let text = serde_json::to_vec_pretty(&manifest).map_err(io::Error::other)?;
        std::fs::write(folder.join(store::MANIFEST), text)?;
        replace(self.folder, &self.target)
    }
}

/// Gives the finished folder its name; another one of that name goes.
fn replace(folder: TempDir, target: &Path) -> io::Result<()> {
    let old = folder.path().with_extension("old");
    match std::fs::rename(target, &old) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    std::fs::rename(folder.path(), target)?;
    // It has another name now: there is nothing to remove.
    let _ = folder.keep();
    match std::fs::remove_dir_all(&old) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

impl Writer<'_> {
    /// Takes an interval; an empty one is nothing.
    ///
    /// # Errors
    ///
    /// A sorted run could not be written.
    pub fn push(&mut self, interval: Interval) -> io::Result<()> {
        let cut = |at: i64| at.clamp(-FARTHEST, FARTHEST);
        let (begin, end) = (cut(interval.range.begin.ns()), cut(interval.range.end.ns()));
        if begin >= end {
            return Ok(());
        }
        self.crossings.add(begin, end);
        self.begin = self.begin.min(begin);
        self.end = self.end.max(end);
        self.rows.push(Row {
            attribute: interval.attribute.0,
            begin,
            end,
            value: interval.value.0,
        });
        if self.rows.len() >= self.builder.run_rows {
            let run = Run::on_disk(&mut self.rows, self.builder.folder.path())?;
            self.builder.collected().runs.push(run);
        }
        Ok(())
    }

    /// Hands in what was collected; intervals of a writer that is dropped are lost.
    pub fn close(self) {
        let run = Run::in_memory(self.rows);
        let mut collected = self.builder.collected();
        collected.runs.push(run);
        collected.crossings.merge(&self.crossings);
        collected.begin = collected.begin.min(self.begin);
        collected.end = collected.end.max(self.end);
    }
}

impl Builder {
    fn collected(&self) -> std::sync::MutexGuard<'_, Collected> {
        self.collected
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

fn write_small(folder: &Path, name: &str, columns: Vec<(&str, ArrayRef)>) -> io::Result<FileEntry> {
    let fields: Vec<Field> = (columns.iter())
        .map(|(name, array)| Field::new(*name, array.data_type().clone(), array.is_nullable()))
        .collect();
    let schema = Arc::new(Schema::new(fields));
    let arrays = columns.into_iter().map(|(_, array)| array).collect();
    let mut file = table::create(&folder.join(name), &schema)?;
    let batch = RecordBatch::try_new(schema, arrays).map_err(table::failed)?;
    file.write(&batch).map_err(table::failed)?;
    let (bytes, checksum) = table::finish(file)?;
    Ok(FileEntry::new(name, bytes, checksum))
}

/// By table (0: the intervals, then the levels) and attribute: the first row.
fn write_starts(folder: &Path, starts: &[Vec<u64>]) -> io::Result<FileEntry> {
    let numbers = (0..).zip(starts);
    let tables = numbers.flat_map(|(table, starts)| starts.iter().map(move |_| table));
    let columns: Vec<(&str, ArrayRef)> = vec![
        ("table", Arc::new(UInt32Array::from_iter_values(tables))),
        (
            "first_row",
            Arc::new(UInt64Array::from_iter_values(
                starts.iter().flatten().copied(),
            )),
        ),
    ];
    write_small(folder, store::STARTS, columns)
}

fn write_attributes(folder: &Path, attributes: &[Attribute]) -> io::Result<FileEntry> {
    let numbers = UInt32Array::from_iter_values(0..attributes.len() as u32);
    let paths = StringArray::from_iter_values(attributes.iter().map(|a| &a.path));
    let vocabularies: StringArray = (attributes.iter())
        .map(|attribute| attribute.vocabulary.as_deref())
        .collect();
    let part = |of: fn(Part) -> u32| -> UInt32Array {
        let parts = attributes.iter().map(|attribute| attribute.part.map(of));
        parts.collect()
    };
    let columns: Vec<(&str, ArrayRef)> = vec![
        ("attribute", Arc::new(numbers)),
        ("path", Arc::new(paths)),
        ("vocabulary", Arc::new(vocabularies)),
        ("part_of", Arc::new(part(|part| part.of.0))),
        ("first_bit", Arc::new(part(|part| part.first_bit))),
        ("bits", Arc::new(part(|part| part.bits))),
    ];
    write_small(folder, store::ATTRIBUTES, columns)
}

fn write_names(folder: &Path, vocabularies: &[Vocabulary]) -> io::Result<FileEntry> {
    let names = || {
        (vocabularies.iter()).flat_map(|vocabulary| {
            let numbered = (0_i64..).zip(&vocabulary.names);
            numbered.map(|(value, name)| (&vocabulary.name, value, name))
        })
    };
    let columns: Vec<(&str, ArrayRef)> = vec![
        (
            "vocabulary",
            Arc::new(StringArray::from_iter_values(names().map(|(of, ..)| of))),
        ),
        (
            "value",
            Arc::new(Int64Array::from_iter_values(names().map(|(_, v, _)| v))),
        ),
        (
            "name",
            Arc::new(StringArray::from_iter_values(names().map(|(.., n)| n))),
        ),
    ];
    write_small(folder, store::NAMES, columns)
}
