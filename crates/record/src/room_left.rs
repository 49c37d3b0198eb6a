//! Room on a recording's disk: what it begins with, and what must be left while it runs.
//!
//! When a disk is full, what tracers hold in memory is still to be written. The kernel's rings have their room behind
//! their files (`storage.rs`). LTTng writes by itself, and where it cannot, the packet is lost: so room for what its
//! buffers hold is kept aside until its session is stopped, and the recording ends while as much again is free.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use slowpath_platform::room::{self, Reserve};
use slowpath_platform::splice::MOST_PIPE_BYTES;

use crate::error::RecordError;
use crate::storage::bytes_below;

/// Room for rings is kept in steps of so many bytes.
pub(crate) const STEP_OF_ROOM: u64 = 256 << 10;

/// What a recording with kernel events needs beside their pages: the kernel's symbols and the formats of events.
/// 6 MB were seen.
pub(crate) const TEXTS: u64 = 8 << 20;

/// What the end of a recording writes beside events: processes, names of threads, `slowpath.json`. 400 KB were
/// seen.
pub(crate) const TEXTS_OF_END: u64 = 2 << 20;

/// Room that is left at least for what others write between two looks.
const LEAST_MARGIN: u64 = 1 << 20;

/// How often the room is looked at.
const INTERVAL: Duration = Duration::from_millis(100);
/// How often where little is left: an application that does nothing else was seen to write 100 MB/s.
const SHORT_INTERVAL: Duration = Duration::from_millis(10);
/// Little is less than so many times what must be left.
const LITTLE: u64 = 8;

/// The room that is kept for the file of one processor beyond what is written, in bytes: for a ring that
/// holds `ring_bytes` of events, and the pipe that its pages pass through.
pub(crate) fn room_of_ring(ring_bytes: u64) -> u64 {
    // Each of its pages has a head besides, and the reader has a page of its own.
    let pages = ring_bytes + ring_bytes / 64 + (64 << 10);
    (pages + MOST_PIPE_BYTES as u64).next_multiple_of(STEP_OF_ROOM)
}

/// What LTTng's buffers can hold, in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct LttngBuffers {
    /// Those of the kernel's events.
    pub(crate) kernel: u64,
    /// One set of those of applications' events: each user has one, for each word size.
    pub(crate) of_user: u64,
}

impl LttngBuffers {
    /// What those hold that there are by now in the recording `folder`. One set is counted before it is there.
    fn held_bytes(self, folder: &Path) -> u64 {
        let folders = |path: &Path| {
            let entries = fs::read_dir(path).into_iter().flatten().flatten();
            entries.map(|entry| entry.path())
        };
        let users = folders(&folder.join("ust/uid"));
        let sets = users.flat_map(|user| folders(&user)).count() as u64;
        self.kernel + self.of_user * sets.max(1)
    }
}

/// What a recording begins with.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FirstRoom {
    /// The kernel's rings.
    pub(crate) rings: u64,
    /// Bytes of each.
    pub(crate) ring_bytes: u64,
    /// Of LTTng.
    pub(crate) lttng: LttngBuffers,
}

impl FirstRoom {
    /// Where each ring takes `room_of_ring` bytes.
    fn bytes(self, room_of_ring: u64) -> u64 {
        let texts = if self.rings > 0 { TEXTS } else { 0 };
        self.rings * room_of_ring + texts + TEXTS_OF_END + self.of_lttng()
    }

    fn of_lttng(self) -> u64 {
        self.lttng.kernel + self.lttng.of_user
    }

    /// Whether there is room in `folder` to write everything.
    ///
    /// # Errors
    /// When there is not.
    pub(crate) fn check(self, folder: &Path, replace: bool) -> Result<(), RecordError> {
        let margin = self.of_lttng().max(LEAST_MARGIN);
        let wanted = self.bytes(room_of_ring(self.ring_bytes)) + margin;
        let free = free_for(folder, replace);
        if free >= wanted {
            return Ok(());
        }
        Err(RecordError::NoRoom {
            folder: folder.to_owned(),
            wanted,
            rings: self.rings,
            ring_bytes: self.ring_bytes,
            lttng_bytes: self.of_lttng(),
            free,
        })
    }

    /// Says where all that a flight recorder may hold is more than `folder` has room for.
    pub(crate) fn warn_of_snapshots(
        self,
        folder: &Path,
        replace: bool,
        talk: &mut dyn FnMut(&str),
    ) {
        let wanted = self.bytes(self.ring_bytes);
        let free = free_for(folder, replace);
        if free < wanted {
            talk(&format!(
                "a snapshot may not fit on the disk: it takes up to {} MB, and {} MB are free in {} \
                 (smaller ones: --buffer-size)",
                wanted.div_ceil(1 << 20),
                free >> 20,
                folder.display()
            ));
        }
    }
}

/// Bytes that are free for a recording in `folder`, where that cannot be told any number; with those of the recording
/// that it is to `replace`.
fn free_for(folder: &Path, replace: bool) -> u64 {
    let to_be_free = if replace { bytes_below(folder) } else { 0 };
    room::free_bytes(folder).map_or(u64::MAX, |free| free + to_be_free)
}

/// The room that must be left on the disk while a recording writes everything.
#[derive(Debug)]
pub(crate) struct RoomLeft {
    folder: PathBuf,
    lttng: LttngBuffers,
    reserve: Reserve,
}

/// What a look at the room found.
pub(crate) struct Look {
    /// Bytes that must stay free.
    pub(crate) to_stay_free: u64,
    /// How long this will do.
    pub(crate) next: Duration,
}

impl RoomLeft {
    pub(crate) fn on(folder: &Path, lttng: LttngBuffers) -> io::Result<Self> {
        Ok(Self {
            folder: folder.to_owned(),
            lttng,
            reserve: Reserve::on(folder)?,
        })
    }

    /// Keeps room for what the buffers that there are can hold, and looks at what else is free.
    ///
    /// # Errors
    /// When too little is, so that the recording must end.
    pub(crate) fn look(&mut self) -> io::Result<Look> {
        let held = self.lttng.held_bytes(&self.folder);
        let to_keep = held + TEXTS_OF_END;
        let margin = held.max(LEAST_MARGIN);
        let to_stay_free = match self.reserve.grow_to(to_keep)? {
            true => margin,
            false => margin + to_keep,
        };
        let free = room::free_bytes(&self.folder).unwrap_or(u64::MAX);
        if free < to_stay_free {
            return Err(room::full());
        }
        let next = match free < LITTLE * to_stay_free {
            true => SHORT_INTERVAL,
            false => INTERVAL,
        };
        Ok(Look { to_stay_free, next })
    }

    /// Gives back what was kept: now is the end that it was kept for.
    pub(crate) fn give_back(&mut self) {
        // A file system that does not take it back has it when the recorder ends.
        let _ = self.reserve.give_back();
    }
}

#[cfg(test)]
mod tests {
    use std::fs::File;

    use super::*;

    #[test]
    fn each_user_and_word_size_has_buffers_of_its_own() {
        let folder = tempfile::tempdir().unwrap();
        let buffers = LttngBuffers {
            kernel: 1,
            of_user: 100,
        };
        let held = |after: &str| {
            fs::create_dir_all(folder.path().join(after)).unwrap();
            buffers.held_bytes(folder.path())
        };
        assert_eq!(held(""), 101);
        assert_eq!(held("ust/uid/0/64-bit"), 101);
        assert_eq!(held("ust/uid/0/32-bit"), 201);
        assert_eq!(held("ust/uid/1000/64-bit"), 301);
    }

    #[test]
    fn what_lies_in_the_folder_is_room_only_where_it_is_replaced() {
        let folder = tempfile::tempdir().unwrap();
        let file = File::create(folder.path().join("file")).unwrap();
        // It takes no room, and says that it is larger than any disk.
        file.set_len(1 << 43).unwrap();
        let first = FirstRoom {
            rings: 1,
            ring_bytes: 1 << 42,
            lttng: LttngBuffers::default(),
        };
        let check = |replace| first.check(folder.path(), replace);
        assert!(matches!(check(false), Err(RecordError::NoRoom { .. })));
        assert!(check(true).is_ok());
    }
}
