//! The folder of a recording, and the page files in it.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs::{self, File, TryLockError};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::path::{Path, PathBuf};

use slowpath_model::CpuId;
use slowpath_platform::ownership::{self, Owner};
use slowpath_platform::room;
use slowpath_platform::splice::PagePipe;

use crate::error::RecordError;
use crate::manifest;
use crate::room_left::{STEP_OF_ROOM, room_of_ring};

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
        if is_to_be_emptied(folder, replace)? {
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

/// Refuses a folder that holds something which `replace` does not cover; nothing is touched. A folder that cannot be
/// looked into is refused as well.
pub(crate) fn check_folder(folder: &Path, replace: bool) -> Result<(), RecordError> {
    match folder.is_dir() {
        true => is_to_be_emptied(folder, replace).map(drop),
        false => Ok(()),
    }
}

/// Whether `folder` holds a recording that is to be replaced.
fn is_to_be_emptied(folder: &Path, replace: bool) -> Result<bool, RecordError> {
    let refused = |cause| RecordError::Output {
        folder: folder.to_owned(),
        cause,
    };
    if fs::read_dir(folder).map_err(refused)?.next().is_none() {
        return Ok(false);
    }
    let by_recording = manifest::is_recording(folder);
    match replace && by_recording {
        true => Ok(true),
        false => Err(RecordError::Occupied {
            folder: folder.to_owned(),
            by_recording,
        }),
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
    /// Bytes that are left to others: pages are written only while more is free.
    left_to_others: u64,
}

/// The file of one processor. Its pipe is its own: what a killed recorder left in it is of that processor.
#[derive(Debug)]
struct PageFile {
    cpu: CpuId,
    path: PathBuf,
    file: File,
    pipe: PagePipe,
    /// Written so far.
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
    /// Makes the files in `folder`, one per processor of `cpus`, in their order. What a recorder that was killed
    /// has written to them stays before what comes: it is in the rings no more.
    pub(crate) fn create(folder: &Path, cpus: impl Iterator<Item = CpuId>) -> io::Result<Self> {
        let create = |cpu| {
            let path = folder.join(format!("cpu{cpu}.raw"));
            let mut open = File::options();
            let mut file = open.write(true).create(true).truncate(false).open(&path)?;
            let bytes = file.seek(SeekFrom::End(0))?;
            let pipe = PagePipe::new()?;
            Ok(PageFile {
                cpu,
                path,
                file,
                pipe,
                bytes,
                kept_to: 0,
            })
        };
        let files = cpus.map(create).collect::<io::Result<_>>()?;
        Ok(Self {
            files,
            room: None,
            left_to_others: 0,
        })
    }

    /// From now on leaves so many bytes of the disk to others.
    pub(crate) fn leave(&mut self, bytes: u64) {
        self.left_to_others = bytes;
    }

    /// What is left in the rings has its room; what is not needed of it is for what else is to be written.
    pub(crate) fn keep_no_more_room(&mut self) {
        self.room = None;
        self.left_to_others = 0;
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
            if !room::keep(&file.file, file.kept_to, to)? {
                self.check_free(index, of_all)?;
            }
            self.files[index].kept_to = to;
        }
        Ok(())
    }

    /// Whether `bytes` are free beyond what is left to others.
    fn check_free(&self, index: usize, bytes: u64) -> io::Result<()> {
        let wanted = self.left_to_others + bytes;
        let free = || room::free_bytes(&self.files[index].path);
        match wanted > 0 && free().is_some_and(|free| free < wanted) {
            true => Err(room::full()),
            false => Ok(()),
        }
    }

    /// Appends the whole pages that wait in the ring of the processor at position `index`; returns
    /// their bytes.
    pub(crate) fn append_pages(&mut self, index: usize, ring: &File) -> io::Result<u64> {
        let mut moved = 0;
        loop {
            self.check_free(index, 0)?;
            if self.files[index].pipe.take(ring)? == 0 {
                return Ok(moved);
            }
            moved += self.files[index].empty_pipe()?;
            self.keep_room_of(index)?;
        }
    }

    /// Appends all that is left in the ring of a stopped tracer, the page begun last included.
    pub(crate) fn append_rest(
        &mut self,
        index: usize,
        ring: &File,
        page_size: u64,
    ) -> io::Result<()> {
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

    /// Bytes written so far.
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
    fn what_was_written_before_the_files_were_opened_again_stays() {
        let folder = tempfile::tempdir().unwrap();
        let ring = folder.path().join("ring");
        fs::write(&ring, vec![7; 8192]).unwrap();
        for written in [8192, 16384] {
            let cpus = [CpuId(0)].into_iter();
            let mut files = PageFiles::create(folder.path(), cpus).unwrap();
            let ring = File::open(&ring).unwrap();
            files.append_rest(0, &ring, 4096).unwrap();
            assert_eq!(files.bytes(), written);
            let pages = fs::read(folder.path().join("cpu0.raw")).unwrap();
            assert_eq!(pages, vec![7; written as usize]);
        }
    }

    #[test]
    fn pages_stay_in_the_ring_where_the_room_is_left_to_others() {
        let folder = tempfile::tempdir().unwrap();
        let cpus = [CpuId(0)].into_iter();
        let mut files = PageFiles::create(folder.path(), cpus).unwrap();
        let path = folder.path().join("ring");
        fs::write(&path, vec![7; 8192]).unwrap();
        let mut ring = File::open(path).unwrap();
        files.leave(1 << 60);
        let refused = files.append_pages(0, &ring).unwrap_err();
        assert_eq!(refused.kind(), io::ErrorKind::StorageFull);
        assert_eq!(ring.stream_position().unwrap(), 0);
        files.leave(0);
        assert_eq!(files.append_pages(0, &ring).unwrap(), 8192);
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
