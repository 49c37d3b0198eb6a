//! Who still works on what: a locked file for each recorder, which its guardian inherits.
//!
//! A fork shares the lock, so it is held until the last of both has ended, however that comes about.
//! A starting recorder leaves alone whatever a held claim names. Not a list of recordings.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use slowpath_platform::process::{is_root, start_time};

/// Names of recorders' instances, sessions and claims begin so.
pub(crate) const NAME_PREFIX: &str = "slowpath-";

const SUFFIX: &str = ".lock";

/// The name of the recorder `pid`, for its instance and its session: with the time it started,
/// since pids are given out again.
pub(crate) fn recorder_name(pid: i32) -> String {
    let start = start_time(pid).map_or(0, |start| start.0);
    format!("{NAME_PREFIX}{pid}-{start}")
}

/// The claim of this recorder to what bears its name.
#[derive(Debug)]
pub(crate) struct Claim {
    path: PathBuf,
    _lock: File,
}

impl Claim {
    /// Takes the claim in `folder`, and removes those of recorders that are gone.
    pub(crate) fn take(folder: &Path, name: &str) -> io::Result<Self> {
        remove_unheld(folder);
        // Locked before it has its name, so that nobody finds it unheld.
        let unnamed = folder.join(format!("{name}.new"));
        let path = folder.join(format!("{name}{SUFFIX}"));
        let lock = File::create(&unnamed)?;
        lock.lock()?;
        fs::rename(unnamed, &path)?;
        Ok(Self { path, _lock: lock })
    }

    /// Gives the claim up, for the other of recorder and guardian as well.
    pub(crate) fn give_up(self) {
        // Gone already where the other did it.
        let _ = fs::remove_file(&self.path);
    }
}

/// Whether recorder or guardian of this name are still at work.
pub(crate) fn is_held(folder: &Path, name: &str) -> bool {
    is_locked(&folder.join(format!("{name}{SUFFIX}")))
}

fn is_locked(path: &Path) -> bool {
    File::open(path)
        .is_ok_and(|file| matches!(file.try_lock_shared(), Err(fs::TryLockError::WouldBlock)))
}

fn remove_unheld(folder: &Path) {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let ours = entries.filter(|entry| {
        let name = entry.file_name();
        let name = name.to_string_lossy();
        name.starts_with(NAME_PREFIX) && name.ends_with(SUFFIX)
    });
    for entry in ours.filter(|entry| !is_locked(&entry.path())) {
        // Another may be quicker.
        let _ = fs::remove_file(entry.path());
    }
}

/// Where this user's recorders keep what lives no longer than the machine runs.
pub(crate) fn run_folder() -> PathBuf {
    match (is_root(), std::env::var_os("XDG_RUNTIME_DIR")) {
        (true, _) => PathBuf::from("/run"),
        (false, Some(folder)) => PathBuf::from(folder),
        (false, None) => std::env::var_os("HOME").map_or_else(std::env::temp_dir, PathBuf::from),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_claim_is_held_until_both_have_let_go_and_a_forgotten_one_is_removed() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let folder = folder.path();
        let claim = Claim::take(folder, "slowpath-17-1").expect("taken");
        assert!(is_held(folder, "slowpath-17-1"));
        assert!(!is_held(folder, "slowpath-17-2"));
        // What a fork does to the descriptor.
        let guardians = claim._lock.try_clone().expect("shared");
        drop(claim);
        assert!(is_held(folder, "slowpath-17-1"), "the guardian has it");
        drop(guardians);
        assert!(!is_held(folder, "slowpath-17-1"));
        let next = Claim::take(folder, "slowpath-18-1").expect("taken");
        assert!(!folder.join("slowpath-17-1.lock").exists(), "forgotten");
        next.give_up();
        assert_eq!(fs::read_dir(folder).expect("a folder").count(), 0);
    }
}
