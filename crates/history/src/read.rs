//! Reading a history: what an attribute was at a time, and over a time.

use std::collections::BTreeMap;
use std::path::Path;

use arrow_array::{Array, RecordBatch, StringArray, UInt32Array, UInt64Array};
use arrow_buffer::Buffer;
use bytes::Bytes;
use slowpath_model::{Nanoseconds, TimeRange, Timestamp};
use slowpath_platform::MappedFile;
use xxhash_rust::xxh3::xxh3_64;

use crate::store::{self, Key, Manifest, Unusable, damaged};
use crate::table::{self, Table};
use crate::{Attribute, AttributeId, Interval, Part, Value, Vocabulary};

/// A history on disk, open.
pub struct History {
    range: TimeRange,
    overlaps: u64,
    attributes: Vec<Attribute>,
    by_path: BTreeMap<String, AttributeId>,
    vocabularies: Vec<Vocabulary>,
    notes: Vec<String>,
    pub(crate) intervals: Table,
    /// From the finest to the coarsest: the width of a bucket, and its summaries.
    pub(crate) levels: Vec<(i64, Table)>,
}

impl History {
    /// Opens the history in `folder` if it is of `key` and whole: every file is compared with its
    /// checksum, which takes about 0.1 s per GB.
    ///
    /// # Errors
    ///
    /// Why it must be built again.
    pub fn open(folder: &Path, key: &Key) -> Result<Self, Unusable> {
        let manifest = Manifest::read(folder, key)?;
        let file = |name: &str| checked(folder, &manifest, name);
        let starts = read_starts(&file(store::STARTS)?, manifest.levels.len() + 1)
            .map_err(|reason| damaged(&folder.join(store::STARTS), reason))?;
        let mut starts = starts.into_iter();
        let mut table = |name: &str, summaries: bool| {
            let starts = starts.next().unwrap_or_default();
            Table::new(&file(name)?, starts, summaries)
                .map_err(|reason| damaged(&folder.join(name), reason))
        };
        let intervals = table(store::INTERVALS, false)?;
        let mut levels = Vec::new();
        for level in &manifest.levels {
            levels.push((level.width_ns, table(&level.file, true)?));
        }
        let attributes = read_attributes(&file(store::ATTRIBUTES)?)
            .map_err(|reason| damaged(&folder.join(store::ATTRIBUTES), reason))?;
        let vocabularies = read_names(&file(store::NAMES)?)
            .map_err(|reason| damaged(&folder.join(store::NAMES), reason))?;
        let by_path = (attributes.iter().zip(0..))
            .map(|(attribute, id)| (attribute.path.clone(), AttributeId(id)))
            .collect();
        Ok(Self {
            range: TimeRange::new(
                Timestamp::from_ns(manifest.begin_ns),
                Timestamp::from_ns(manifest.end_ns),
            ),
            overlaps: manifest.overlaps,
            notes: manifest.notes,
            attributes,
            by_path,
            vocabularies,
            intervals,
            levels,
        })
    }

    /// From the first begin to the last end of an interval.
    pub fn range(&self) -> TimeRange {
        self.range
    }

    /// How many intervals there are.
    pub fn len(&self) -> u64 {
        self.intervals.rows
    }

    /// Whether there is no interval.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// How many intervals were cut because another of their attribute began within them.
    pub fn overlaps(&self) -> u64 {
        self.overlaps
    }

    /// What its builder noted.
    pub fn notes(&self) -> &[String] {
        &self.notes
    }

    /// By id.
    pub fn attributes(&self) -> &[Attribute] {
        &self.attributes
    }

    /// The attribute of that name.
    pub fn find(&self, path: &str) -> Option<AttributeId> {
        self.by_path.get(path).copied()
    }

    /// Attributes whose names begin with `prefix`, in the order of their names.
    pub fn below<'history>(
        &'history self,
        prefix: &'history str,
    ) -> impl Iterator<Item = (&'history str, AttributeId)> {
        let from = self.by_path.range(prefix.to_owned()..);
        from.map(|(path, id)| (path.as_str(), *id))
            .take_while(move |(path, _)| path.starts_with(prefix))
    }

    /// The name of a value; `None` where the attribute's values are numbers.
    pub fn value_name(&self, attribute: AttributeId, value: Value) -> Option<&str> {
        let position = usize::try_from(value.0).ok()?;
        self.value_names(attribute)
            .get(position)
            .map(String::as_str)
    }

    /// The names of the attribute's values, by value; none where these are numbers.
    pub fn value_names(&self, attribute: AttributeId) -> &[String] {
        let attribute = self.attributes.get(attribute.index());
        let wanted = attribute.and_then(|attribute| attribute.vocabulary.as_deref());
        let mut vocabularies = self.vocabularies.iter();
        let found = vocabularies.find(|vocabulary| Some(vocabulary.name.as_str()) == wanted);
        found.map_or(&[], |vocabulary| &vocabulary.names)
    }

    /// What the attribute was at `at`: the interval that began at or before and ends after.
    pub fn at(&self, attribute: AttributeId, at: Timestamp) -> Option<Interval> {
        let (rows, part) = self.rows_of(attribute);
        let row = self.intervals.first_ending_after(rows.clone(), at.ns());
        let found = (row < rows.end).then(|| self.interval(attribute, part, row))??;
        (found.range.begin <= at).then_some(found)
    }

    /// Every attribute that had a value at `at`.
    pub fn all_at(&self, at: Timestamp) -> impl Iterator<Item = Interval> {
        let ids = (0..self.attributes.len() as u32).map(AttributeId);
        ids.filter_map(move |attribute| self.at(attribute, at))
    }

    /// The attribute's intervals that touch `range`, not cut, in the order of time. Of an attribute that shares its
    /// intervals, neighbours may have one value.
    pub fn intervals(
        &self,
        attribute: AttributeId,
        range: TimeRange,
    ) -> impl Iterator<Item = Interval> {
        let (rows, part) = self.rows_of(attribute);
        let first = (self.intervals).first_ending_after(rows.clone(), range.begin.ns());
        (first..rows.end)
            .take_while(move |row| self.intervals.begin(*row) < range.end.ns())
            .filter_map(move |row| self.interval(attribute, part, row))
    }

    /// How long the attribute had each value within `range`, exactly: reads its intervals.
    pub fn times(&self, attribute: AttributeId, range: TimeRange) -> BTreeMap<Value, Nanoseconds> {
        let mut times = BTreeMap::new();
        for interval in self.intervals(attribute, range) {
            let length = interval.range.intersect(range).length();
            *times.entry(interval.value).or_default() += length;
        }
        times
    }

    /// The rows that have the attribute's values, and what of their values these are.
    fn rows_of(&self, attribute: AttributeId) -> (std::ops::Range<u64>, Option<Part>) {
        let part = self.part(attribute);
        let of = part.map_or(attribute, |part| part.of);
        (self.intervals.rows_of(of.index()), part)
    }

    pub(crate) fn part(&self, attribute: AttributeId) -> Option<Part> {
        self.attributes.get(attribute.index())?.part
    }

    fn interval(&self, attribute: AttributeId, part: Option<Part>, row: u64) -> Option<Interval> {
        let (begin, end, value, _) = self.intervals.get(row);
        let value = match part {
            Some(part) => part.of_packed(value)?,
            None => value,
        };
        Some(Interval {
            attribute,
            range: TimeRange::new(Timestamp::from_ns(begin), Timestamp::from_ns(end)),
            value: Value(value),
        })
    }
}

/// Maps a file of the folder if it is as the manifest says.
fn checked(folder: &Path, manifest: &Manifest, name: &str) -> Result<Buffer, Unusable> {
    let path = folder.join(name);
    let entry = manifest.files.iter().find(|entry| entry.name == name);
    let entry = entry.ok_or_else(|| damaged(&path, "the manifest does not list it"))?;
    let file = MappedFile::open(&path).map_err(|error| damaged(&path, error))?;
    let bytes = file.as_ref();
    if bytes.len() as u64 != entry.bytes {
        let reason = format!("{} bytes, not {}", bytes.len(), entry.bytes);
        return Err(damaged(&path, reason));
    }
    if store::hexadecimal(xxh3_64(bytes)) != entry.xxh3 {
        return Err(damaged(&path, "its bytes have changed"));
    }
    Ok(Buffer::from(Bytes::from_owner(file)))
}

fn typed<'batch, A: Array + 'static>(
    batch: &'batch RecordBatch,
    name: &str,
) -> Result<&'batch A, String> {
    let column = batch.column_by_name(name);
    column
        .and_then(|column| column.as_any().downcast_ref::<A>())
        .ok_or_else(|| format!("no column {name}"))
}

fn read_starts(file: &Buffer, tables: usize) -> Result<Vec<Vec<u64>>, String> {
    let mut starts = vec![Vec::new(); tables];
    for batch in table::batches(file)? {
        let numbers = typed::<UInt32Array>(&batch, "table")?.values();
        let rows = typed::<UInt64Array>(&batch, "first_row")?.values();
        for (table, row) in numbers.iter().zip(rows) {
            let of_table = starts.get_mut(*table as usize);
            of_table.ok_or("more tables than levels")?.push(*row);
        }
    }
    Ok(starts)
}

fn read_attributes(file: &Buffer) -> Result<Vec<Attribute>, String> {
    let mut attributes = Vec::new();
    for batch in table::batches(file)? {
        let paths = typed::<StringArray>(&batch, "path")?;
        let vocabularies = typed::<StringArray>(&batch, "vocabulary")?;
        let parts = ["part_of", "first_bit", "bits"].map(|name| typed::<UInt32Array>(&batch, name));
        let [of, first_bit, bits] = parts;
        let parts = of?.iter().zip(first_bit?).zip(bits?);
        let parts = parts.map(|((of, first_bit), bits)| {
            Some(Part {
                of: AttributeId(of?),
                first_bit: first_bit?,
                bits: bits?,
            })
        });
        let rows = paths.iter().zip(vocabularies).zip(parts);
        attributes.extend(rows.map(|((path, vocabulary), part)| Attribute {
            path: path.unwrap_or_default().to_owned(),
            vocabulary: vocabulary.map(str::to_owned),
            part,
        }));
    }
    let is_sound = |attribute: &Attribute| attribute.part.is_none_or(Part::is_sound);
    let all_sound = attributes.iter().all(is_sound);
    all_sound
        .then_some(attributes)
        .ok_or_else(|| "a part of values without bits".into())
}

fn read_names(file: &Buffer) -> Result<Vec<Vocabulary>, String> {
    let mut vocabularies: Vec<Vocabulary> = Vec::new();
    for batch in table::batches(file)? {
        let of = typed::<StringArray>(&batch, "vocabulary")?;
        let names = typed::<StringArray>(&batch, "name")?;
        for (of, name) in of.iter().zip(names) {
            let (of, name) = (of.unwrap_or_default(), name.unwrap_or_default());
            match vocabularies.last_mut() {
                Some(last) if last.name == of => last.names.push(name.to_owned()),
                _ => vocabularies.push(Vocabulary {
                    name: of.to_owned(),
                    names: vec![name.to_owned()],
                }),
            }
        }
    }
    Ok(vocabularies)
}
