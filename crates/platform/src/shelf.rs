//! Rows of numbers that are written once and then read, in memory as long as they are few, else in
//! unlinked temporary files that are mapped.
//!
//! What lies in a file is page cache: the kernel takes it back under pressure, and nothing of it
//! is left when the process ends, however it ends. Rows are written with system calls, not through
//! the map, so that a full disk is an error and not a signal; such rows stay in memory.

#![allow(unsafe_code)]

use std::fs::File;
use std::io;
use std::ops::Deref;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use memmap2::{MmapOptions, MmapRaw};

/// Files are this large at least; they are sparse, so only what is written takes space.
const FILE_BYTES: usize = 256 << 20;
/// Rows are handed to the kernel in portions of about so many bytes.
const PORTION_BYTES: usize = 256 << 10;

/// Where rows of numbers are put, from any thread.
#[derive(Debug)]
pub struct Shelf {
    folder: PathBuf,
    /// Bytes that may still be kept in memory.
    memory_left: AtomicUsize,
    files: Mutex<Files>,
}

#[derive(Debug, Default)]
struct Files {
    /// The file that is being filled, and up to where it is taken.
    open: Option<(Arc<MappedRows>, usize)>,
    failure: Option<String>,
}

/// A temporary file with a map of all of it.
///
/// Every byte is written at most once, before anybody can read it through the map.
#[derive(Debug)]
struct MappedRows {
    file: File,
    map: MmapRaw,
}

/// Rows of `N` numbers, as they were put on a shelf; read them as a slice.
#[derive(Debug)]
pub struct Kept<const N: usize>(Place<N>);

#[derive(Debug)]
enum Place<const N: usize> {
    Memory(Vec<[u64; N]>),
    File {
        rows: Arc<MappedRows>,
        /// In bytes, a multiple of eight.
        begin: usize,
        length: usize,
    },
}

/// Puts rows on a shelf, one after the other.
#[derive(Debug)]
pub struct ShelfWriter<'shelf, const N: usize> {
    shelf: &'shelf Shelf,
    /// Not in the file yet; all of them, where there is none.
    rows: Vec<[u64; N]>,
    file: Option<Reserved>,
}

#[derive(Debug)]
struct Reserved {
    rows: Arc<MappedRows>,
    begin: usize,
    /// Bytes that are reserved, and how many of them are written.
    size: usize,
    written: usize,
}

impl Shelf {
    /// A shelf that keeps `memory` bytes in memory and the rest in files in `folder`.
    pub fn new(folder: &Path, memory: usize) -> Self {
        Self {
            folder: folder.to_owned(),
            memory_left: AtomicUsize::new(memory),
            files: Mutex::default(),
        }
    }

    /// The folder for large temporary files: `TMPDIR` where it is set, else `/var/tmp`, which
    /// unlike `/tmp` lies on a disk everywhere.
    pub fn usual_folder() -> PathBuf {
        let large = Path::new("/var/tmp");
        match std::env::var_os("TMPDIR") {
            None if large.is_dir() => large.to_owned(),
            _ => std::env::temp_dir(),
        }
    }

    /// Why rows stayed in memory that should have gone to a file: the first such failure.
    pub fn failure(&self) -> Option<String> {
        self.lock().failure.clone()
    }

    /// Keeps rows that are complete.
    pub fn keep<const N: usize>(&self, rows: Vec<[u64; N]>) -> Kept<N> {
        let mut writer = self.writer(rows.len());
        if writer.file.is_none() {
            // Not more than is needed: these stay.
            writer.rows = rows;
            writer.rows.shrink_to_fit();
        } else if let Err(rows) = writer.write(&rows) {
            writer.rows = rows;
        }
        writer.finish()
    }

    /// Begins to keep at most `count` rows.
    pub fn writer<const N: usize>(&self, count: usize) -> ShelfWriter<'_, N> {
        let size = count.saturating_mul(size_of::<[u64; N]>());
        let file = match self.may_stay_in_memory(size) {
            true => None,
            false => self.reserve(size),
        };
        let room = match file {
            Some(_) => count.min(PORTION_BYTES / size_of::<[u64; N]>().max(1)),
            None => count,
        };
        ShelfWriter {
            shelf: self,
            rows: Vec::with_capacity(room),
            file,
        }
    }

    fn may_stay_in_memory(&self, size: usize) -> bool {
        let left = &self.memory_left;
        left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| {
            left.checked_sub(size)
        })
        .is_ok()
    }

    /// A part of a file, unless files cannot be had.
    fn reserve(&self, size: usize) -> Option<Reserved> {
        let mut files = self.lock();
        if files.failure.is_some() {
            return None;
        }
        let has_room = |(rows, used): &&(Arc<MappedRows>, usize)| rows.map.len() - used >= size;
        if files.open.as_ref().filter(has_room).is_none() {
            match MappedRows::create(&self.folder, size.max(FILE_BYTES)) {
                Ok(rows) => files.open = Some((Arc::new(rows), 0)),
                Err(error) => {
                    files.failure = Some(self.explain(&error));
                    return None;
                }
            }
        }
        let (rows, used) = files.open.as_mut()?;
        let begin = *used;
        *used += size;
        Some(Reserved {
            rows: Arc::clone(rows),
            begin,
            size,
            written: 0,
        })
    }

    fn explain(&self, error: &io::Error) -> String {
        format!("a temporary file in {}: {error}", self.folder.display())
    }

    fn lock(&self) -> MutexGuard<'_, Files> {
        self.files.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl MappedRows {
    fn create(folder: &Path, size: usize) -> io::Result<Self> {
        let file = tempfile::tempfile_in(folder)?;
        file.set_len(size as u64)?;
        let map = MmapOptions::new().len(size).map_raw_read_only(&file)?;
        Ok(Self { file, map })
    }
}

impl<const N: usize> ShelfWriter<'_, N> {
    /// Adds a row.
    #[inline]
    pub fn push(&mut self, row: [u64; N]) {
        if self.rows.len() == self.rows.capacity() && self.file.is_some() {
            self.flush();
        }
        self.rows.push(row);
    }

    fn flush(&mut self) {
        let rows = std::mem::take(&mut self.rows);
        self.rows = match self.write(&rows) {
            Ok(()) => {
                let mut empty = rows;
                empty.clear();
                empty
            }
            Err(all) => all,
        };
    }

    /// Writes rows to the file; where that fails, gives back all rows so far, and there is no file
    /// any more.
    fn write(&mut self, rows: &[[u64; N]]) -> Result<(), Vec<[u64; N]>> {
        let Some(file) = &mut self.file else {
            return Err(rows.to_vec());
        };
        let numbers = rows.as_flattened();
        // SAFETY: eight bytes for each number, which have no padding; the slice is borrowed for as
        // long as the bytes are.
        let bytes =
            unsafe { std::slice::from_raw_parts(numbers.as_ptr().cast::<u8>(), 8 * numbers.len()) };
        let result = match file.written + bytes.len() <= file.size {
            true => (file.rows.file).write_all_at(bytes, (file.begin + file.written) as u64),
            false => Err(io::Error::other("more rows than were announced")),
        };
        match result {
            Ok(()) => {
                file.written += bytes.len();
                Ok(())
            }
            Err(error) => {
                let failure = self.shelf.explain(&error);
                self.shelf.lock().failure.get_or_insert(failure);
                let mut all = self.file.take().map_or(Vec::new(), |f| f.kept().to_vec());
                all.extend_from_slice(rows);
                Err(all)
            }
        }
    }

    /// All rows that were added.
    pub fn finish(mut self) -> Kept<N> {
        if self.file.is_some() && !self.rows.is_empty() {
            self.flush();
        }
        match self.file {
            Some(file) => file.kept(),
            None => Kept(Place::Memory(self.rows)),
        }
    }
}

impl Reserved {
    /// What is written; nothing is written to this part of the file afterwards.
    fn kept<const N: usize>(self) -> Kept<N> {
        Kept(Place::File {
            rows: self.rows,
            begin: self.begin,
            length: self.written / size_of::<[u64; N]>().max(1),
        })
    }
}

impl<const N: usize> From<Vec<[u64; N]>> for Kept<N> {
    fn from(rows: Vec<[u64; N]>) -> Self {
        Self(Place::Memory(rows))
    }
}

impl<const N: usize> Default for Kept<N> {
    fn default() -> Self {
        Vec::new().into()
    }
}

impl<const N: usize> Deref for Kept<N> {
    type Target = [[u64; N]];

    fn deref(&self) -> &[[u64; N]] {
        match &self.0 {
            Place::Memory(rows) => rows,
            Place::File {
                rows,
                begin,
                length,
            } => {
                let bytes = rows.map.as_ptr().wrapping_add(*begin);
                // SAFETY: `Reserved` handed out this part of the map once, inside its bounds, and
                // gave it up when the rows were complete, so nobody writes to it. The file is
                // unlinked and never made shorter. A map begins at a page and every part at a
                // multiple of eight, as rows are; any bytes are numbers.
                unsafe { std::slice::from_raw_parts(bytes.cast(), *length) }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(count: u64) -> Vec<[u64; 3]> {
        (0..count).map(|n| [n, n * n, u64::MAX - n]).collect()
    }

    #[test]
    fn rows_come_back_wherever_they_lie() {
        let folder = tempfile::tempdir().unwrap();
        for memory in [0, 1000, usize::MAX] {
            let shelf = Shelf::new(folder.path(), memory);
            let kept: Vec<Kept<3>> = (0..50).map(|n| shelf.keep(rows(n * 1000))).collect();
            let mut writer = shelf.writer(70_000);
            rows(70_000).into_iter().for_each(|row| writer.push(row));
            assert_eq!(*writer.finish(), rows(70_000));
            let mut pairs = shelf.writer(9);
            pairs.push([7, 8]);
            let pairs = pairs.finish();
            assert_eq!(shelf.failure(), None);
            drop(shelf);
            assert_eq!(*pairs, [[7, 8]], "fewer than announced");
            for (kept, n) in kept.iter().zip(0..) {
                assert_eq!(**kept, rows(n * 1000));
            }
            let left = std::fs::read_dir(folder.path()).unwrap().count();
            assert_eq!(left, 0, "files are unlinked at once");
        }
    }

    #[test]
    fn threads_share_a_shelf() {
        let shelf = Shelf::new(&std::env::temp_dir(), 0);
        std::thread::scope(|scope| {
            for size in 1..9 {
                let shelf = &shelf;
                scope.spawn(move || {
                    for _ in 0..20 {
                        assert_eq!(*shelf.keep(rows(size * 100)), rows(size * 100));
                    }
                });
            }
        });
    }

    #[test]
    fn without_a_folder_rows_stay_in_memory() {
        let shelf = Shelf::new(Path::new("/nowhere"), 0);
        assert_eq!(*shelf.keep(rows(10)), rows(10));
        let failure = shelf.failure().unwrap();
        assert!(
            failure.starts_with("a temporary file in /nowhere: "),
            "{failure}"
        );
    }

    #[test]
    fn rows_stay_in_memory_when_writing_fails() {
        let shelf = Shelf::new(&std::env::temp_dir(), 0);
        // More than announced is refused like by a full disk, after a part was written.
        let mut writer = shelf.writer(40_000);
        rows(90_000).into_iter().for_each(|row| writer.push(row));
        assert_eq!(*writer.finish(), rows(90_000));
        assert!(shelf.failure().unwrap().contains("more rows"));
    }
}
