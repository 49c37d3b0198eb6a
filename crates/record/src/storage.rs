//! The folder of a recording, and the page files in it.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs::{self, File, TryLockError};
use std::io::{self, Read, Write};
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::path::{Path, PathBuf};

use slowpath_model::CpuId;
use slowpath_platform::ownership::{self, Owner};
use slowpath_platform::room;
use slowpath_platform::splice::{MOST_PIPE_BYTES, PagePipe};

use crate::error::RecordError;
use crate::manifest;

/// What is recorded, each in a folder of its own.
const PARTS: [&str; 3] = ["kernel", "ust", "spans"];

/// What in a recording's folder is none of the recorder's.
fn foreign(folder: &Path) -> io::Result<Option<PathBuf>> {
    let entries = fs::read_dir(folder)?.flatten();
    if let Some(other) = entries.map(|entry| entry.file_name()).find(is_foreign) {
        return Ok(Some(other.into()));
    }
    // One that was not ended in order lists nothing.
    let listed = manifest::Manifest::read(folder).map_or(BTreeMap::new(), |own| own.files);
    let mut files = files_of(folder).into_keys();
    let other = files.find(|file| !listed.is_empty() && !listed.contains_key(file));
    Ok(other.map(PathBuf::from))
}

/// Whether an entry of a recording's folder is none of the recorder's.
fn is_foreign(name: &OsString) -> bool {
    let Some(name) = name.to_str() else {
        return true;
    };
    let is_own = PARTS.contains(&name)
        || name.starts_with("slowpath.json")
        || name.starts_with("snapshot-")
        || name == crate::control::SOCKET_NAME;
    !is_own
}

/// The folder of a recording, which one recorder at a time has.
#[derive(Debug)]
pub(crate) struct OutputFolder {
    /// Absolute.
    pub(crate) path: PathBuf,
    /// Whether it was not there before.
    is_new: bool,
    /// The folder itself, locked until the recorder and its guardian have let go of it; none on file
    /// systems that lock no folders.
    _lock: Option<File>,
}

impl OutputFolder {
    /// Makes and locks it. A new one is for its owner only: what it will hold tells of everybody.
    ///
    /// # Errors
    /// When it cannot be made, when another recorder has it, or when it holds something that
    /// `replace` does not cover.
    pub(crate) fn make(folder: &Path, replace: bool) -> Result<Self, RecordError> {
        let refused = |cause| RecordError::Output {
            folder: folder.to_owned(),
            cause,
        };
        let is_new = make_private(folder).map_err(refused)?;
        let folder = &folder.canonicalize().map_err(refused)?;
        // The folder stays the same, whatever becomes of its content, and so does the lock.
        let lock = lock(folder).map_err(refused)?;
        let mut entries = fs::read_dir(folder).map_err(refused)?;
        if entries.next().is_some() {
            let by_recording = manifest::is_recording(folder);
            if !(replace && by_recording) {
                return Err(RecordError::Occupied {
                    folder: folder.to_owned(),
                    by_recording,
                });
            }
            if crate::control::is_recording_running(folder) {
                return Err(refused(somebody_records()));
            }
            if let Some(other) = foreign(folder).map_err(refused)? {
                return Err(RecordError::MoreThanARecording {
                    folder: folder.to_owned(),
                    other,
                });
            }
            take(folder).and_then(|()| empty(folder)).map_err(refused)?;
        }
        Ok(Self {
            path: folder.clone(),
            is_new,
            _lock: lock,
        })
    }

    /// Removes what was begun and never recorded anything.
    pub(crate) fn discard(&self) {
        // What cannot be removed is no recording and does no harm.
        let _ = empty(&self.path);
        if self.is_new {
            let _ = fs::remove_dir(&self.path);
        }
    }
}

/// Makes `folder`, for its owner only; false where it is there already.
fn make_private(folder: &Path) -> io::Result<bool> {
    if let Some(parent) = folder.parent() {
        fs::create_dir_all(parent)?;
    }
    match fs::DirBuilder::new().mode(0o700).create(folder) {
        Err(cause) if cause.kind() == io::ErrorKind::AlreadyExists && folder.is_dir() => Ok(false),
        made => made.map(|()| true),
    }
}

fn lock(folder: &Path) -> io::Result<Option<File>> {
    let file = File::open(folder)?;
    match file.try_lock() {
        Ok(()) => Ok(Some(file)),
        Err(TryLockError::WouldBlock) => Err(somebody_records()),
        Err(TryLockError::Error(_)) => Ok(None),
    }
}

fn somebody_records() -> io::Error {
    io::Error::new(io::ErrorKind::ResourceBusy, "a recorder is writing to it")
}

/// A recording to be replaced may be another user's by now (`sudo`, and what `recorder.rs` hands over).
fn take(folder: &Path) -> io::Result<()> {
    if Owner::behind_sudo().is_some() {
        ownership::take_over(folder)?;
    }
    fs::set_permissions(folder, fs::Permissions::from_mode(0o700))
}

/// Removes what is in `folder`.
fn empty(folder: &Path) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        match entry.file_type()?.is_dir() {
            true => fs::remove_dir_all(entry.path())?,
            false => fs::remove_file(entry.path())?,
        }
    }
    Ok(())
}

/// Room is kept in steps of so many bytes.
const STEP_OF_ROOM: u64 = 256 << 10;

/// The room that is kept for the file of one processor beyond what is written, in bytes: for a ring that
/// holds `ring_bytes` of events, and the pipe that its pages pass through.
pub(crate) fn room_of_ring(ring_bytes: u64) -> u64 {
    // Each of its pages has a head besides, and the reader has a page of its own.
    let pages = ring_bytes + ring_bytes / 64 + (64 << 10);
    (pages + MOST_PIPE_BYTES as u64).next_multiple_of(STEP_OF_ROOM)
}

/// What a recording needs beside its pages: the kernel's symbols and the formats of events. 6 MB were seen.
const TEXTS: u64 = 8 << 20;

/// Whether there is room in `folder` for a recording to begin with, that of a recording included which it is to
/// `replace`.
///
/// # Errors
/// When there is not.
pub(crate) fn check_room(
    folder: &Path,
    replace: bool,
    rings: u64,
    ring_bytes: u64,
) -> Result<(), RecordError> {
    let wanted = rings * room_of_ring(ring_bytes) + TEXTS;
    let to_be_free = if replace { bytes_below(folder) } else { 0 };
    match room::free_bytes(folder).map(|free| free + to_be_free) {
        Some(free) if free < wanted => Err(RecordError::NoRoom {
            folder: folder.to_owned(),
            wanted,
            rings,
            ring_bytes,
            free,
        }),
        _ => Ok(()),
    }
}

/// `cpuN.raw` of every processor, open for appending pages.
///
/// Where room is kept, a disk that fills takes nothing of what was recorded before: each file always has
/// room for what its ring and its pipe can hold, so what ends the recording is that no more can be kept. Where
/// the file system keeps none, what ends it is that less is free than all of them may still need.
#[derive(Debug)]
pub(crate) struct PageFiles {
    files: Vec<PageFile>,
    /// The room that is kept for each, where it is.
    room: Option<u64>,
}

/// The file of one processor. Its pipe is its own: what a killed recorder left in it is of that processor.
#[derive(Debug)]
struct PageFile {
    cpu: CpuId,
    path: PathBuf,
    file: File,
    pipe: PagePipe,
    /// Written by this process.
    bytes: u64,
    /// Where the room ends that is kept for it.
    kept_to: u64,
}

impl PageFile {
    fn empty_pipe(&mut self) -> io::Result<u64> {
        let moved = self.pipe.empty_into(&mut self.file)?;
        self.bytes += moved;
        Ok(moved)
    }
}

impl PageFiles {
    /// Makes the files in `folder`, one per processor of `cpus`, in their order.
    pub(crate) fn create(folder: &Path, cpus: impl Iterator<Item = CpuId>) -> io::Result<Self> {
        let create = |cpu| {
            let path = folder.join(format!("cpu{cpu}.raw"));
            let file = File::create(&path)?;
            let pipe = PagePipe::new()?;
            Ok(PageFile {
                cpu,
                path,
                file,
                pipe,
                bytes: 0,
                kept_to: 0,
            })
        };
        let files = cpus.map(create).collect::<io::Result<_>>()?;
        Ok(Self { files, room: None })
    }

    /// From now on keeps room for what rings of `ring_bytes` hold: at once for those of processors that are
    /// `online`, for others with their first pages.
    pub(crate) fn keep_room(
        &mut self,
        ring_bytes: u64,
        online: impl Fn(CpuId) -> bool,
    ) -> io::Result<()> {
        self.room = Some(room_of_ring(ring_bytes));
        for index in 0..self.files.len() {
            if online(self.files[index].cpu) {
                self.keep_room_of(index)?;
            }
        }
        Ok(())
    }

    /// Sees to it that the room which is kept is there behind what is written to the file at `index`.
    fn keep_room_of(&mut self, index: usize) -> io::Result<()> {
        let Some(room) = self.room else { return Ok(()) };
        let of_all = room * self.files.iter().filter(|file| file.kept_to > 0).count() as u64;
        let file = &mut self.files[index];
        let needed = file.bytes + room;
        if needed > file.kept_to {
            let to = needed.next_multiple_of(STEP_OF_ROOM);
            let is_kept = room::keep(&file.file, file.kept_to, to)?;
            if !is_kept && room::free_bytes(&file.path).is_some_and(|free| free < of_all) {
                return Err(io::ErrorKind::StorageFull.into());
            }
            file.kept_to = to;
        }
        Ok(())
    }

    /// Appends the whole pages that wait in the ring of the processor at position `index`; returns
    /// their bytes.
    pub(crate) fn append_pages(&mut self, index: usize, ring: &File) -> io::Result<u64> {
        let mut moved = 0;
        while self.files[index].pipe.take(ring)? > 0 {
            moved += self.files[index].empty_pipe()?;
            self.keep_room_of(index)?;
        }
        Ok(moved)
    }

    /// Appends all that is left in the ring of a stopped tracer, the page begun last included.
    pub(crate) fn append_rest(
        &mut self,
        index: usize,
        ring: &File,
        page_size: u64,
    ) -> io::Result<()> {
        // What is left has its room; what is not needed of it is for the texts beside.
        self.room = None;
        let written = self.append_to_the_end(index, ring, page_size);
        written.and(room::give_back(&self.files[index].file))
    }

    fn append_to_the_end(
        &mut self,
        index: usize,
        mut ring: &File,
        page_size: u64,
    ) -> io::Result<()> {
        // What a recorder that was killed between two splices had already taken.
        self.files[index].empty_pipe()?;
        self.append_pages(index, ring)?;
        let mut page = vec![0; usize::try_from(page_size).unwrap_or(4096)];
        loop {
            match ring.read(&mut page) {
                Ok(0) => return Ok(()),
                // A reader relies on whole pages; the kernel gives no less.
                Ok(count) => {
                    page[count..].fill(0);
                    self.files[index].file.write_all(&page)?;
                    self.files[index].bytes += page_size;
                }
                Err(cause) if cause.kind() == io::ErrorKind::WouldBlock => return Ok(()),
                Err(cause) if cause.kind() == io::ErrorKind::Interrupted => {}
                Err(cause) => return Err(cause),
            }
        }
    }

    /// Bytes written so far by this process.
    pub(crate) fn bytes(&self) -> u64 {
        self.files.iter().map(|file| file.bytes).sum()
    }

    /// Removes the files of processors that recorded nothing (those that are possible but absent).
    pub(crate) fn remove_empty(&self) {
        for PageFile { path, file, .. } in &self.files {
            if file.metadata().is_ok_and(|metadata| metadata.len() == 0) {
                // An empty file harms no reader.
                let _ = fs::remove_file(path);
            }
        }
    }
}

/// The size of all files below `folder`, in bytes.
pub(crate) fn bytes_below(folder: &Path) -> u64 {
    files_below(folder).map(|(_, bytes)| bytes).sum()
}

/// The files of a recording with their bytes, by path within `folder`; what lies beside the parts that
/// are recorded (`slowpath.json`, snapshots) is not among them.
pub(crate) fn files_of(folder: &Path) -> BTreeMap<String, u64> {
    let files = PARTS
        .iter()
        .flat_map(|part| files_below(&folder.join(part)));
    let named = |(path, bytes): (PathBuf, u64)| {
        let name = path.strip_prefix(folder).ok()?.to_str()?.to_owned();
        Some((name, bytes))
    };
    files.filter_map(named).collect()
}

fn files_below(folder: &Path) -> Box<dyn Iterator<Item = (PathBuf, u64)>> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    Box::new(entries.flat_map(|entry| match entry.metadata() {
        Ok(metadata) if metadata.is_dir() => files_below(&entry.path()),
        Ok(metadata) => Box::new(std::iter::once((entry.path(), metadata.len()))),
        Err(_) => Box::new(std::iter::empty()),
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_killed_recorder_had_taken_goes_to_its_own_processor() {
        let folder = tempfile::tempdir().unwrap();
        let cpus = [CpuId(0), CpuId(1)].into_iter();
        let mut files = PageFiles::create(folder.path(), cpus).unwrap();
        let ring = folder.path().join("ring");
        fs::write(&ring, vec![7; 8192]).unwrap();
        let ring = File::open(ring).unwrap();
        assert_eq!(files.files[1].pipe.take(&ring).unwrap(), 8192);
        for index in [0, 1] {
            files.append_rest(index, &ring, 4096).unwrap();
        }
        let lengths = ["cpu0.raw", "cpu1.raw"].map(|name| {
            let path = folder.path().join(name);
            fs::metadata(path).unwrap().len()
        });
        assert_eq!(lengths, [0, 8192]);
    }

    #[test]
    fn room_is_kept_for_processors_that_are_online_and_for_others_with_their_pages() {
        let folder = tempfile::tempdir().unwrap();
        let cpus = [CpuId(0), CpuId(1)];
        let mut files = PageFiles::create(folder.path(), cpus.into_iter()).unwrap();
        files.keep_room(1 << 20, |cpu| cpu == CpuId(0)).unwrap();
        let kept = |files: &PageFiles| [0, 1].map(|index| files.files[index].kept_to);
        let room = room_of_ring(1 << 20);
        assert_eq!(kept(&files), [room, 0]);
        let ring = folder.path().join("ring");
        fs::write(&ring, vec![7; 8192]).unwrap();
        files.append_pages(1, &File::open(ring).unwrap()).unwrap();
        assert_eq!(kept(&files), [room, room + STEP_OF_ROOM]);
    }

    #[test]
    fn what_lies_in_the_folder_is_room_only_where_it_is_replaced() {
        let folder = tempfile::tempdir().unwrap();
        let file = File::create(folder.path().join("file")).unwrap();
        // It takes no room, and says that it is larger than any disk.
        file.set_len(1 << 43).unwrap();
        let check = |replace| check_room(folder.path(), replace, 1, 1 << 42);
        assert!(matches!(check(false), Err(RecordError::NoRoom { .. })));
        assert!(check(true).is_ok());
    }

    #[test]
    fn only_a_recording_and_nothing_else_is_replaced() {
        let folder = tempfile::tempdir().unwrap();
        let write = |name: &str| fs::write(folder.path().join(name), "content").unwrap();
        fs::write(
            folder.path().join("slowpath.json"),
            "{\"format_version\": 1}",
        )
        .unwrap();
        write("notes.txt");
        let refused = OutputFolder::make(folder.path(), true).unwrap_err();
        assert!(refused.to_string().ends_with("notes.txt"), "{refused}");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 2);
        fs::remove_file(folder.path().join("notes.txt")).unwrap();
        fs::create_dir(folder.path().join("snapshot-1")).unwrap();
        OutputFolder::make(folder.path(), true).unwrap();
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
    }
}
