//! Why nothing could be opened, with what the user can do.

use std::path::PathBuf;

/// Nothing could be read from a path.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// The path cannot be read at all.
    #[error("cannot read {}: {cause}\n  hint: check the path and its permissions", path.display())]
    Unreadable {
        /// The path.
        path: PathBuf,
        /// Why.
        cause: std::io::Error,
    },
    /// The path holds no trace of a known format.
    #[error(
        "{} holds no trace that slowpath can read\n  hint: give a folder with CTF traces (LTTng), a slowpath recording, or a trace.dat file of trace-cmd",
        path.display()
    )]
    NoTrace {
        /// The path.
        path: PathBuf,
    },
    /// Every trace that was found is damaged at its root.
    #[error("nothing below {} could be read", path.display())]
    AllDamaged {
        /// The path.
        path: PathBuf,
    },
}
