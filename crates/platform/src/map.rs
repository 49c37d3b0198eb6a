//! Read-only memory maps of files.
//!
//! One map per file for as long as the recording is open: no mapping and unmapping while workers
//! run, hence no contention on the address space (Reumont-Locke et al. 2019, §5.2.1).

#![allow(unsafe_code)]

use std::fs::File;
use std::io;
use std::ops::Range;
use std::path::Path;

use memmap2::{Advice, Mmap, UncheckedAdvice};

/// The bytes of a file, mapped.
pub struct MappedFile {
    map: Option<Mmap>,
}

impl MappedFile {
    /// Maps the file at `path`; an empty file is empty bytes.
    ///
    /// The file must not be cut shorter while it is mapped: recorders only append.
    pub fn open(path: &Path) -> io::Result<Self> {
        let file = File::open(path)?;
        if file.metadata()?.len() == 0 {
            return Ok(Self { map: None });
        }
        // SAFETY: the map is read-only and private to this process. Undefined behaviour would need
        // the file's bytes to change while a slice is held; traces are written once, and a reader
        // checks every length it takes from them against the slice it holds.
        let map = unsafe { Mmap::map(&file)? };
        // Only hints to the kernel's read-ahead; without them reading is slower, not wrong: a file that it reads in
        // small pages takes longer to read and to map.
        let _ = map.advise(Advice::Sequential);
        #[cfg(target_os = "linux")]
        let _ = map.advise(Advice::HugePage);
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

impl AsRef<[u8]> for MappedFile {
    fn as_ref(&self) -> &[u8] {
        self.map.as_deref().unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
