//! How long a server's main thread was busy with clients, and with what.
//!
//! Only what is known of single stretches counts: they never overlap, so the sum is at most the time there
//! was.

use serde::{Deserialize, Serialize};
use slowpath_model::{Nanoseconds, ThreadId, TimeRange};

use crate::told::Process;

/// Time of the main thread inside the window.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Busy {
    pub(crate) reading: Nanoseconds,
    pub(crate) executing: Nanoseconds,
    pub(crate) writing: Nanoseconds,
}

/// Whether `thread` is the one that all commands are executed by; taken for it where that is not known.
pub(crate) fn is_main(process: Process, thread: Option<ThreadId>) -> bool {
    match (process.number, thread) {
        (Some(process), Some(thread)) => process.0 == thread.0,
        _ => true,
    }
}

/// The part of `stretch` in `window`.
pub(crate) fn inside(window: TimeRange, stretch: TimeRange) -> Nanoseconds {
    window.intersect(stretch).length()
}
