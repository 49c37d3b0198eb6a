//! What a server's threads did for clients, and how long its main thread was busy with it.
//!
//! Only what is known of single stretches counts: they never overlap, so the sum is at most the time there
//! was.

use serde::{Deserialize, Serialize};
use slowpath_concepts::StoreClientId;
use slowpath_model::{Nanoseconds, ThreadId, TimeRange};

use crate::told::Process;
use crate::totals::{Asked, Keeps};

/// What a thread does for a client.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Doing {
    Reading,
    Executing,
    Writing,
}

/// A stretch of a thread's time.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(crate) struct Operation {
    pub(crate) thread: Option<ThreadId>,
    pub(crate) client: StoreClientId,
    pub(crate) doing: Doing,
    pub(crate) range: TimeRange,
}

/// What all threads did, as far as it is asked for.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Work {
    pub(crate) busy: Busy,
    /// One by one, where that is asked for.
    pub(crate) kept: Vec<Operation>,
}

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

impl Work {
    /// One more stretch of a thread of `process`.
    pub(crate) fn add(&mut self, process: Process, operation: Operation, asked: &Asked<'_>) {
        if is_main(process, operation.thread) {
            let sum = match operation.doing {
                Doing::Reading => &mut self.busy.reading,
                Doing::Executing => &mut self.busy.executing,
                Doing::Writing => &mut self.busy.writing,
            };
            *sum += asked.window.intersect(operation.range).length();
        }
        if asked.keeps == Keeps::Model {
            self.kept.push(operation);
        }
    }
}
