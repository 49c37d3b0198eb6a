//! Finds the memories of probes: files in folders, and memfds of processes. Each is found once.
//!
//! What is in a folder may be of anybody, and a file may be cut short by whoever may write it: folders are the
//! explorer's own, or named by the user.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use slowpath_platform::SharedMemory;

use super::memory::ProbeMemory;

const FILE: &str = "slowpath-probes.";
const MEMFD: &str = "/memfd:slowpath-probes";

/// Knows what was found already.
#[derive(Debug, Default)]
pub(crate) struct Finder {
    folders: BTreeSet<PathBuf>,
    /// Device and inode, which nobody else gets while the memory is mapped.
    known: BTreeSet<(u64, u64)>,
    /// Memory that was made earlier (`CLOCK_MONOTONIC`) is of processes that ended long ago.
    since_ns: u64,
    /// What is wrong with memories that cannot be read.
    pub(crate) objections: Vec<String>,
}

impl Finder {
    pub(crate) fn new(folders: BTreeSet<PathBuf>, since_ns: u64) -> Self {
        Self {
            folders,
            since_ns,
            ..Self::default()
        }
    }

    /// Memories in the folders that were not found before.
    pub(crate) fn in_folders(&mut self) -> Vec<ProbeMemory> {
        let entries = self
            .folders
            .iter()
            .filter_map(|folder| fs::read_dir(folder).ok());
        let paths = entries.flatten().flatten().map(|entry| entry.path());
        let is_one = |path: &PathBuf| {
            let name = path.file_name().and_then(|name| name.to_str());
            name.is_some_and(|name| name.starts_with(FILE))
        };
        let paths: Vec<PathBuf> = paths.filter(is_one).collect();
        let found = paths.iter().filter_map(|path| self.open(path, false));
        found.collect()
    }

    /// Memories of these processes that were not found before.
    pub(crate) fn of_processes(&mut self, processes: &[i32]) -> Vec<ProbeMemory> {
        let mut found = Vec::new();
        for process in processes {
            let entries = fs::read_dir(format!("/proc/{process}/fd"));
            for path in entries
                .into_iter()
                .flatten()
                .flatten()
                .map(|entry| entry.path())
            {
                let target = fs::read_link(&path).unwrap_or_default();
                if target
                    .as_os_str()
                    .as_encoded_bytes()
                    .starts_with(MEMFD.as_bytes())
                {
                    found.extend(self.open(&path, true));
                }
            }
        }
        found
    }

    fn open(&mut self, path: &Path, is_memfd: bool) -> Option<ProbeMemory> {
        let about = match is_memfd {
            true => fs::metadata(path),
            false => fs::symlink_metadata(path),
        };
        let about = about.ok().filter(fs::Metadata::is_file)?;
        let key = (about.dev(), about.ino());
        if self.known.contains(&key) {
            return None;
        }
        match read(path, key, is_memfd) {
            Ok(None) => None,
            Ok(Some(memory)) => {
                self.known.insert(key);
                (memory.made_ns() >= self.since_ns).then_some(memory)
            }
            Err(what) => {
                self.known.insert(key);
                self.objections.push(format!(
                    "the probes in {} cannot be read: {what}",
                    path.display()
                ));
                None
            }
        }
    }
}

/// `None` where it is not complete yet, or has gone.
fn read(path: &Path, key: (u64, u64), is_memfd: bool) -> Result<Option<ProbeMemory>, String> {
    let gone = |cause: &io::Error| cause.kind() == io::ErrorKind::NotFound;
    let file = match File::options().read(true).write(true).open(path) {
        Err(cause) if gone(&cause) => return Ok(None),
        file => file.map_err(|cause| cause.to_string())?,
    };
    // It may have become another one meanwhile.
    let is_it = file
        .metadata()
        .is_ok_and(|about| (about.dev(), about.ino()) == key && about.len() > 0);
    if !is_it || is_memfd && !SharedMemory::cannot_shrink(&file) {
        return Ok(None);
    }
    let memory = SharedMemory::of_file(&file).map_err(|cause| cause.to_string())?;
    ProbeMemory::open(memory).map_err(|damage| damage.to_string())
}
