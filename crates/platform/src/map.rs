//! Read-only memory maps of files.
//!
//! One map per file for as long as the recording is open: no mapping and unmapping while workers
//! run, hence no contention on the address space (Reumont-Locke et al. 2019, §5.2.1).

#![allow(unsafe_code)]

use std::fs::File;
use std::io;
use std::ops::Range;
use std::path::Path;
use std::sync::Once;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use memmap2::{Advice, Mmap, UncheckedAdvice};

/// Linux gives a process 65,530 maps (`vm.max_map_count`) unless told otherwise; without any left, it can have no memory.
const MOST_MAPS: usize = 60_000;

static MAPS: AtomicUsize = AtomicUsize::new(0);

/// The bytes of a file, mapped.
pub struct MappedFile {
    map: Option<Mmap>,
}

impl MappedFile {
    /// Maps the file at `path`; an empty file is empty bytes.
    ///
    /// The file must not be cut shorter while it is mapped, and recorders of slowpath and LTTng only append. Where another
    /// one does it all the same, the program ends with status 3 as it reads there, and says why.
    ///
    /// # Errors
    /// Where it cannot be opened or mapped, and where 60,000 others are already.
    pub fn open(path: &Path) -> io::Result<Self> {
        let file = File::open(path)?;
        if file.metadata()?.len() == 0 {
            return Ok(Self { map: None });
        }
        if MAPS.load(Relaxed) >= MOST_MAPS {
            let what = "too many files are open at once, no more than 60,000 can be: name fewer parts of the recording";
            return Err(io::Error::other(what));
        }
        say_what_a_cut_file_is();
        // SAFETY: the map is read-only and private to this process. Undefined behaviour would need
        // the file's bytes to change while a slice is held; traces are written once, and a reader
        // checks every length it takes from them against the slice it holds.
        let map = unsafe { Mmap::map(&file)? };
        // Only hints to the kernel's read-ahead; without them reading is slower, not wrong: a file that it reads in
        // small pages takes longer to read and to map.
        let _ = map.advise(Advice::Sequential);
        #[cfg(target_os = "linux")]
        let _ = map.advise(Advice::HugePage);
        MAPS.fetch_add(1, Relaxed);
        Ok(Self { map: Some(map) })
    }

    /// Takes a part out of the process's memory; whoever reads it again finds it in the page cache.
    pub fn release(&self, part: Range<usize>) {
        let Some(map) = self.map.as_ref().filter(|map| part.end <= map.len()) else {
            return;
        };
        // SAFETY: pages of a read-only map of a file come back with the same content, so nothing that
        // borrows them sees a change.
        // Only memory is at stake, so a refusal is none of the caller's business.
        let _ = unsafe {
            map.unchecked_advise_range(UncheckedAdvice::DontNeed, part.start, part.len())
        };
    }
}

impl Drop for MappedFile {
    fn drop(&mut self) {
        if self.map.take().is_some() {
            MAPS.fetch_sub(1, Relaxed);
        }
    }
}

impl AsRef<[u8]> for MappedFile {
    fn as_ref(&self) -> &[u8] {
        self.map.as_deref().unwrap_or_default()
    }
}

/// What a program is told by SIGBUS: the page that it reads is behind the file's end, or cannot be read from the disk.
fn say_what_a_cut_file_is() {
    const WORDS: &[u8] =
        b"slowpath: a file was cut shorter while it was read, or cannot be read from its disk\n  \
        hint: is it recorded anew in the same place?\n";
    extern "C" fn end(_: libc::c_int) {
        // SAFETY: both calls may be made in a signal handler, and the words live for ever.
        unsafe {
            libc::write(libc::STDERR_FILENO, WORDS.as_ptr().cast(), WORDS.len());
            libc::_exit(3)
        }
    }
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let handler = end as extern "C" fn(libc::c_int);
        // SAFETY: the handler makes calls alone that may be made there.
        unsafe { libc::signal(libc::SIGBUS, handler as libc::sighandler_t) };
    });
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    const CUT: &str = "SLOWPATH_TEST_CUT";

    #[test]
    fn who_reads_a_file_that_is_cut_is_told() {
        if let Some(path) = std::env::var_os(CUT) {
            let file = MappedFile::open(Path::new(&path)).unwrap();
            File::create(&path).unwrap();
            println!("{}", file.as_ref()[5000]);
            return;
        }
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(&file, [1; 9000]).unwrap();
        let mut again = Command::new(std::env::current_exe().unwrap());
        again.args(["who_reads_a_file_that_is_cut_is_told", "--nocapture"]);
        let left = again.env(CUT, file.path()).output().unwrap();
        let said = String::from_utf8_lossy(&left.stderr);
        assert!(said.contains("slowpath: a file was cut shorter"), "{said}");
        assert_eq!(left.status.code(), Some(3));
    }

    #[test]
    fn maps_files_also_empty_ones() {
        let folder = std::env::temp_dir().join(format!("slowpath-map-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        for content in [&b""[..], b"bytes"] {
            let path = folder.join("file");
            std::fs::write(&path, content).unwrap();
            let file = MappedFile::open(&path).unwrap();
            assert_eq!(file.as_ref(), content);
            file.release(0..content.len());
            file.release(3..content.len() + 1);
            assert_eq!(file.as_ref(), content);
        }
        assert!(MappedFile::open(&folder.join("missing")).is_err());
        std::fs::remove_dir_all(&folder).unwrap();
    }
}
