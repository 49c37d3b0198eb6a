//! Why nothing could be opened, with what the user can do.

use std::fs::{File, TryLockError};
use std::os::fd::AsRawFd;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};

use slowpath_model::{Diagnostic, shell_word, shown};

use crate::Manifest;

/// Why nothing could be opened, and what was found wrong before.
pub type NotOpened = (OpenError, Vec<Diagnostic>);

/// Nothing could be read from a path.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// The path cannot be read at all.
    #[error(
        "cannot read {}: {cause}\n  hint: check the path and its permissions",
        named(path)
    )]
    Unreadable {
        /// The path.
        path: PathBuf,
        /// Why.
        cause: std::io::Error,
    },
    /// The path holds no trace of a known format.
    #[error(
        "{} holds no trace that slowpath can read\n  hint: give a folder with CTF traces (LTTng), a slowpath recording, a trace.dat file of trace-cmd, or a file of Jaeger or OTLP spans",
        named(path)
    )]
    NoTrace {
        /// The path.
        path: PathBuf,
    },
    /// A recording in which nothing was recorded.
    #[error(
        "{} is a recording without events: {why}\n  hint: what is to be recorded must happen while `slowpath record` runs; see `slowpath record --help`",
        named(path)
    )]
    NoEvents {
        /// The recording.
        path: PathBuf,
        /// As far as it says.
        why: String,
    },
    /// A flight recorder's folder that has nothing but snapshots.
    #[error(
        "{} has no events of its own: they are in its snapshots {}\n  hint: give one of them: {}",
        named(path),
        snapshots.join(", "),
        named(&path.join(snapshots.last().map_or("", String::as_str)))
    )]
    InSnapshots {
        /// The recording.
        path: PathBuf,
        /// Names of the folders below it.
        snapshots: Vec<String>,
    },
    /// The path holds no file of spans.
    #[error(
        "{} holds no file of spans that slowpath can read\n  hint: give Jaeger JSON (as its user interface downloads it), OTLP files, or a recording with a folder `spans`",
        named(path)
    )]
    NoSpans {
        /// The path.
        path: PathBuf,
    },
    /// The path holds no report of transfers.
    #[error(
        "{} holds no report of transfers\n  hint: give a file that the agent for Java wrote (`report=FILE`), or a folder with such files",
        named(path)
    )]
    NoTransfers {
        /// The path.
        path: PathBuf,
    },
    /// There are spans, but no events of a kernel or an application.
    #[error(
        "there are only spans, and this needs a trace\n  hint: `slowpath services` and `slowpath info` work on spans alone"
    )]
    OnlySpans,
    /// A flight recorder's folder whose events are still in memory.
    #[error(
        "nothing is written yet to {}: its recorder keeps the events in memory\n  hint: `slowpath snapshot {}` writes them and names the folder to read",
        named(path),
        shell_word(&named(path))
    )]
    StillInMemory {
        /// The recording.
        path: PathBuf,
    },
    /// A flight recorder's folder that somebody works on who takes no orders.
    #[error(
        "nothing is written yet to {}: its recorder starts, or was killed and its guardian writes what it kept in memory\n  hint: try again in a second",
        named(path)
    )]
    NotWrittenYet {
        /// The recording.
        path: PathBuf,
    },
    /// A flight recorder's folder to which nothing was written, and nothing will be.
    #[error(
        "nothing was written to {}: its recorder and its guardian, which write what was kept in memory, were killed or had no room\n  hint: those events are lost; see that the disk has room, and record again",
        named(path)
    )]
    NeverWritten {
        /// The recording.
        path: PathBuf,
    },
    /// Every trace that was found is damaged at its root.
    #[error("nothing of {} could be read", named(path))]
    AllDamaged {
        /// The path.
        path: PathBuf,
    },
}

impl OpenError {
    /// Nothing has been written to the flight recorder's folder `path` but `snapshots`, or not all. `None` where
    /// nobody goes on with what `has_events`.
    pub(crate) fn not_written(
        path: PathBuf,
        snapshots: Vec<String>,
        has_events: impl Fn(&Path) -> bool,
    ) -> Option<Self> {
        // By a descriptor, as a socket's address may have 107 bytes only (docs/formats/recording.md).
        let held = File::open(&path);
        let answers = held.as_ref().is_ok_and(|held| {
            let socket = format!("/proc/self/fd/{}/control.sock", held.as_raw_fd());
            UnixStream::connect(socket).is_ok()
        });
        let is_locked =
            held.is_ok_and(|held| matches!(held.try_lock_shared(), Err(TryLockError::WouldBlock)));
        match (answers, is_locked) {
            (true, _) => Some(Self::StillInMemory { path }),
            (false, true) => Some(Self::NotWrittenYet { path }),
            (false, false) if has_events(&path) => None,
            (false, false) if !snapshots.is_empty() => Some(Self::InSnapshots { path, snapshots }),
            (false, false) => Some(Self::NeverWritten { path }),
        }
    }

    /// Nothing was found below `path`, which may be a recording all the same.
    pub(crate) fn nothing_in(path: &Path) -> Self {
        let path = path.to_owned();
        match Manifest::above(&path) {
            Ok(Some((folder, manifest))) if folder == path => {
                match manifest.part_not_there(&folder) {
                    None if !manifest.snapshots.is_empty() => Self::InSnapshots {
                        path,
                        snapshots: manifest.snapshots,
                    },
                    part => Self::NoEvents {
                        why: part.unwrap_or_else(|| manifest.why_without_events()),
                        path,
                    },
                }
            }
            _ => Self::NoTrace { path },
        }
    }
}

/// A path as it can be printed.
fn named(path: &Path) -> String {
    shown(&path.display().to_string()).into_owned()
}
