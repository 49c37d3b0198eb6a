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
        "{} holds no trace that slowpath can read\n  hint: give a folder with CTF traces (LTTng), a slowpath recording, a trace.dat file of trace-cmd, or a file of Jaeger or OTLP spans",
        path.display()
    )]
    NoTrace {
        /// The path.
        path: PathBuf,
    },
    /// The path holds no file of spans.
    #[error(
        "{} holds no spans that slowpath can read\n  hint: give Jaeger JSON (as its user interface downloads it), OTLP files, or a recording with a folder `spans`",
        path.display()
    )]
    NoSpans {
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
        path.display(), path.display()
    )]
    StillInMemory {
        /// The recording.
        path: PathBuf,
    },
    /// Every trace that was found is damaged at its root.
    #[error("nothing below {} could be read", path.display())]
    AllDamaged {
        /// The path.
        path: PathBuf,
    },
}
