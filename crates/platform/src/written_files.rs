//! Which files of some folders were written to: inotify(7), which tells that of files that the kernel makes up as well, if a
//! program writes to them.
//!
//! Not for what lies in folders below these, nor for what is made or removed there.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};

use rustix::fs::inotify::{CreateFlags, ReadFlags, Reader, WatchFlags, add_watch, init};

/// Folders whose files are watched.
#[derive(Debug)]
pub struct WrittenFiles {
    inotify: OwnedFd,
    folders: BTreeMap<i32, PathBuf>,
    watched: BTreeSet<PathBuf>,
}

impl WrittenFiles {
    /// Watches nothing yet.
    ///
    /// # Errors
    /// Where the user has too many of these.
    pub fn new() -> io::Result<Self> {
        Ok(Self {
            inotify: init(CreateFlags::CLOEXEC | CreateFlags::NONBLOCK)?,
            folders: BTreeMap::new(),
            watched: BTreeSet::new(),
        })
    }

    /// Watches the files of a folder, until it is gone.
    ///
    /// # Errors
    /// Where it is gone, or the user watches too many.
    pub fn watch(&mut self, folder: &Path) -> io::Result<()> {
        if !self.watched.contains(folder) {
            let watch = add_watch(&self.inotify, folder, WatchFlags::MODIFY)?;
            self.folders.insert(watch, folder.to_owned());
            self.watched.insert(folder.to_owned());
        }
        Ok(())
    }

    /// Readable while there are files to take.
    pub fn descriptor(&self) -> BorrowedFd<'_> {
        self.inotify.as_fd()
    }

    /// The files that were written to since they were taken last, each with its folder. Where very many were, some are
    /// missing.
    pub fn take(&mut self) -> BTreeSet<(PathBuf, OsString)> {
        let mut buffer = [MaybeUninit::uninit(); 4096];
        let mut reader = Reader::new(&self.inotify, &mut buffer);
        let mut written = BTreeSet::new();
        // It ends with EAGAIN.
        while let Ok(event) = reader.next() {
            if event.events().contains(ReadFlags::IGNORED) {
                if let Some(folder) = self.folders.remove(&event.wd()) {
                    self.watched.remove(&folder);
                }
            } else if let (Some(folder), Some(name)) =
                (self.folders.get(&event.wd()), event.file_name())
            {
                let name = OsString::from_vec(name.to_bytes().to_vec());
                written.insert((folder.clone(), name));
            }
        }
        written
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn files_that_are_written_to_are_told_once_with_their_folder() {
        let folder = tempfile::tempdir().expect("a folder");
        let mut files = WrittenFiles::new().expect("inotify");
        let below = folder.path().join("below");
        fs::create_dir(&below).expect("made");
        files.watch(folder.path()).expect("watched");
        files.watch(&below).expect("watched");
        assert_eq!(files.take(), BTreeSet::new());
        for _ in 0..2 {
            fs::write(folder.path().join("one"), "text").expect("written");
        }
        fs::write(below.join("two"), "text").expect("written");
        let both = [
            (folder.path().to_owned(), "one".into()),
            (below.clone(), "two".into()),
        ];
        assert_eq!(files.take(), BTreeSet::from(both));
        assert_eq!(files.take(), BTreeSet::new());
        // One that is made anew is another one.
        fs::remove_dir_all(&below).expect("removed");
        assert_eq!(files.take(), BTreeSet::new());
        fs::create_dir(&below).expect("made");
        files.watch(&below).expect("watched");
        fs::write(below.join("three"), "text").expect("written");
        assert_eq!(files.take().len(), 1);
    }
}
