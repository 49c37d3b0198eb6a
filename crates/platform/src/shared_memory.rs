//! Memory that other processes write while this one reads it: numbers in it are reached one by one, as atomics, within bounds.
//!
//! No slices and no structures of it are given out, as their bytes would change under whoever holds them. What the
//! numbers mean, and whether they can be believed, is the caller's affair.

#![allow(unsafe_code)]

use std::fs::File;
use std::io;
use std::sync::atomic::{AtomicU32, AtomicU64};

use memmap2::{MmapMut, MmapOptions, MmapRaw};
use rustix::fs::{SealFlags, fcntl_get_seals};

/// A mapping that is shared, readable and writable.
#[derive(Debug)]
pub struct SharedMemory {
    map: MmapRaw,
}

impl SharedMemory {
    /// Maps all of a file. Where somebody cuts it shorter while it is mapped, whoever reads beyond its end is killed: only
    /// for files whose writers are trusted not to, or [`SharedMemory::cannot_shrink`].
    ///
    /// # Errors
    /// Where it is empty or cannot be mapped.
    pub fn of_file(file: &File) -> io::Result<Self> {
        let bytes = usize::try_from(file.metadata()?.len());
        match bytes {
            Ok(bytes) if bytes > 0 => {
                let map = MmapOptions::new().len(bytes).map_raw(file)?;
                Ok(Self { map })
            }
            _ => Err(io::ErrorKind::InvalidData.into()),
        }
    }

    /// Memory of this process alone with a copy of these bytes.
    ///
    /// # Errors
    /// Where there are none, or there is no memory.
    pub fn of_bytes(bytes: &[u8]) -> io::Result<Self> {
        if bytes.is_empty() {
            return Err(io::ErrorKind::InvalidData.into());
        }
        let mut map = MmapMut::map_anon(bytes.len())?;
        map.copy_from_slice(bytes);
        Ok(Self { map: map.into() })
    }

    /// Whether nobody can cut this file shorter: it is a memfd that was sealed so.
    pub fn cannot_shrink(file: &File) -> bool {
        fcntl_get_seals(file).is_ok_and(|seals| seals.contains(SealFlags::SHRINK))
    }

    /// Its size in bytes.
    pub fn bytes(&self) -> u64 {
        self.map.len() as u64
    }

    /// The 32-bit number at an offset; `None` where it is not aligned or not in the memory.
    pub fn u32_at(&self, offset: u64) -> Option<&AtomicU32> {
        let at = self.place::<4>(offset)?;
        // SAFETY: `place` gives an address that is aligned to 4 bytes, with 4 bytes of the mapping behind it, and the
        // mapping lives as long as `self`. In this process the memory is accessed in no other way than by these atomics.
        Some(unsafe { AtomicU32::from_ptr(at.cast()) })
    }

    /// The 64-bit number at an offset; `None` where it is not aligned or not in the memory.
    pub fn u64_at(&self, offset: u64) -> Option<&AtomicU64> {
        let at = self.place::<8>(offset)?;
        // SAFETY: as above, with 8 bytes.
        Some(unsafe { AtomicU64::from_ptr(at.cast()) })
    }

    fn place<const SIZE: u64>(&self, offset: u64) -> Option<*mut u8> {
        let is_inside = offset
            .checked_add(SIZE)
            .is_some_and(|end| end <= self.bytes());
        // The mapping itself begins at a page.
        (offset.is_multiple_of(SIZE) && is_inside)
            .then(|| self.map.as_mut_ptr().wrapping_add(offset as usize))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Read, Write};
    use std::sync::atomic::Ordering;

    #[test]
    fn numbers_are_reached_within_bounds_only() -> io::Result<()> {
        let memory = SharedMemory::of_bytes(&[1, 0, 0, 0, 2, 0, 0, 0, 3, 0, 0, 0])?;
        let read = |offset| {
            memory
                .u32_at(offset)
                .map(|number| number.load(Ordering::Relaxed))
        };
        assert_eq!(
            [read(0), read(4), read(8)],
            [1, 2, 3].map(|number: u32| Some(number.to_le()))
        );
        for outside in [1, 2, 12, u64::MAX - 3, u64::MAX] {
            assert!(memory.u32_at(outside).is_none(), "{outside}");
        }
        assert!(memory.u64_at(0).is_some());
        for outside in [4, 8, u64::MAX - 7] {
            assert!(memory.u64_at(outside).is_none(), "{outside}");
        }
        assert!(SharedMemory::of_bytes(&[]).is_err());
        Ok(())
    }

    #[test]
    fn what_is_stored_is_in_the_file() -> io::Result<()> {
        let mut file = tempfile::NamedTempFile::new()?;
        file.write_all(&[0; 16])?;
        let opened = File::options().read(true).write(true).open(file.path())?;
        assert!(!SharedMemory::cannot_shrink(&opened));
        let memory = SharedMemory::of_file(&opened)?;
        let number = memory.u64_at(8).ok_or(io::ErrorKind::InvalidData)?;
        number.store(u64::MAX, Ordering::Relaxed);
        let mut bytes = Vec::new();
        file.reopen()?.read_to_end(&mut bytes)?;
        assert_eq!(bytes[8..], [255; 8]);
        Ok(())
    }
}
