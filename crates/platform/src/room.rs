//! Room on a disk: how much is free, and keeping some for a file before it is written.

use std::fs::File;
use std::io;
use std::path::Path;

use rustix::fs::{FallocateFlags, fallocate, ftruncate, statvfs};
use rustix::io::Errno;

/// Bytes that this process may still write to the file system of `path`, or of its nearest folder that
/// is there; `None` where that cannot be told.
pub fn free_bytes(path: &Path) -> Option<u64> {
    let path = std::path::absolute(path).ok()?;
    let told = path.ancestors().find_map(|folder| statvfs(folder).ok())?;
    (told.f_blocks > 0).then(|| told.f_bavail * told.f_frsize)
}

/// Keeps room for `file` from byte `from` to byte `to`, beyond its end too; its size stays. False where the
/// file system keeps none for anybody.
///
/// # Errors
/// When the room is not there.
pub fn keep(file: &File, from: u64, to: u64) -> io::Result<bool> {
    loop {
        match fallocate(
            file,
            FallocateFlags::KEEP_SIZE,
            from,
            to.saturating_sub(from),
        ) {
            Ok(()) => return Ok(true),
            Err(Errno::OPNOTSUPP | Errno::NOSYS) => return Ok(false),
            Err(Errno::INTR) => {}
            Err(cause) => return Err(cause.into()),
        }
    }
}

/// The error of a disk that has no room left, in the words in which the system tells it.
pub fn full() -> io::Error {
    Errno::NOSPC.into()
}

/// Room that nobody else gets until it is given back: it belongs to a file without a name, which is gone with the
/// processes that hold it (a fork does, and may give it back).
#[derive(Debug)]
pub struct Reserve {
    file: File,
    bytes: u64,
}

impl Reserve {
    /// Begins with no bytes, on the file system of `folder`.
    ///
    /// # Errors
    /// When no file can be made there.
    pub fn on(folder: &Path) -> io::Result<Self> {
        let file = tempfile::tempfile_in(folder)?;
        Ok(Self { file, bytes: 0 })
    }

    /// Keeps `bytes`, if it keeps less so far. False where the file system keeps none for anybody.
    ///
    /// # Errors
    /// When the room is not there.
    pub fn grow_to(&mut self, bytes: u64) -> io::Result<bool> {
        let is_kept = bytes <= self.bytes || keep(&self.file, self.bytes, bytes)?;
        if is_kept {
            self.bytes = self.bytes.max(bytes);
        }
        Ok(is_kept)
    }

    /// Gives all of it back.
    ///
    /// # Errors
    /// When the file system refuses.
    pub fn give_back(&mut self) -> io::Result<()> {
        self.bytes = 0;
        give_back(&self.file)
    }
}

/// Gives back what was kept beyond the end of `file`.
///
/// # Errors
/// When the file system refuses.
pub fn give_back(file: &File) -> io::Result<()> {
    Ok(ftruncate(file, file.metadata()?.len())?)
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::os::unix::fs::MetadataExt;

    use super::*;

    #[test]
    fn kept_room_is_neither_content_nor_lasting() -> io::Result<()> {
        let mut file = tempfile::tempfile()?;
        file.write_all(b"content")?;
        keep(&file, 0, 1 << 20)?;
        let kept = file.metadata()?;
        assert_eq!(kept.len(), 7);
        give_back(&file)?;
        let left = file.metadata()?;
        assert_eq!(left.len(), 7);
        // Where the file system keeps room at all.
        assert!(left.blocks() <= kept.blocks(), "{left:?} {kept:?}");
        assert!(left.blocks() * 512 < 1 << 20, "{left:?}");
        Ok(())
    }

    #[test]
    fn a_reserve_grows_and_is_given_back_also_by_another_that_holds_it() -> io::Result<()> {
        let folder = tempfile::tempdir()?;
        let mut reserve = Reserve::on(folder.path())?;
        if !reserve.grow_to(1 << 20)? {
            return Ok(());
        }
        let blocks = |reserve: &Reserve| Ok::<_, io::Error>(reserve.file.metadata()?.blocks());
        assert!(blocks(&reserve)? * 512 >= 1 << 20);
        assert!(reserve.grow_to(2 << 20)? && reserve.grow_to(1 << 20)?);
        assert!(blocks(&reserve)? * 512 >= 2 << 20);
        assert_eq!(std::fs::read_dir(folder.path())?.count(), 0);
        // What a fork has.
        let mut other = Reserve {
            file: reserve.file.try_clone()?,
            bytes: 0,
        };
        other.give_back()?;
        assert_eq!(blocks(&reserve)?, 0);
        Ok(())
    }

    #[test]
    fn a_folder_that_is_still_to_be_made_has_the_room_of_the_one_above() {
        let above = free_bytes(Path::new("/")).expect("a file system");
        let told = free_bytes(Path::new("/no/such/folder")).expect("a file system");
        // Others may write meanwhile.
        assert!(
            told.abs_diff(above) < above / 2 + (1 << 30),
            "{told} {above}"
        );
    }
}
