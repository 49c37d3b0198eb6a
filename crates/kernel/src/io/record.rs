//! What a chunk leaves to be resolved in the order of time.

use serde::{Deserialize, Serialize};
use slowpath_concepts::UringRequest;
use slowpath_model::{ProcessId, ThreadId, Timestamp};

use super::calls::{Call, Entry, Kind, Return, Way};
use super::uring::Operation;

/// Something that a thread did, or that the tracer told.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) enum What {
    /// A call was entered, and its exit was not found in the chunk.
    Entered(Entry),
    /// A call returned without failing, and its entry was not found in the chunk.
    Returned {
        call: Option<Call>,
        returned: Return,
    },
    /// A call is over of which nothing else is told.
    Completed,
    /// Bytes (or messages) were moved.
    Moved {
        way: Way,
        fd: i32,
        other_fd: i32,
        value: i64,
    },
    /// A call that wrote for long, or synced, is over.
    Called {
        call: Call,
        fd: i32,
        /// It was entered.
        since: Timestamp,
    },
    /// A descriptor is something from now on.
    Named { fd: i32, name: Name },
    /// Two descriptors were made, nothing tells which.
    MadeUntold,
    /// A descriptor is nothing from now on.
    Closed { fd: i32 },
    /// The same of all descriptors from one to another one.
    ClosedRange { first: u32, last: u32 },
    /// The thread gave an operation to io_uring.
    Submitted {
        request: UringRequest,
        operation: Operation,
        user_data: Option<u64>,
    },
    /// A request of io_uring is another one from now on, which does not matter.
    Replaced(UringRequest),
    /// An operation of io_uring looked a descriptor up.
    LookedUp { request: UringRequest, fd: i32 },
    /// An operation of io_uring completed.
    OperationCompleted {
        request: UringRequest,
        user_data: Option<u64>,
        value: i64,
        /// It lies in the window.
        counts: bool,
        has_more: bool,
    },
    /// The thread is of this process.
    BelongsTo(ProcessId),
    /// The thread made another one.
    Forked {
        parent_process: Option<ProcessId>,
        child: ThreadId,
        child_process: Option<ProcessId>,
    },
    /// The thread is gone.
    Freed,
    /// The thread's process executed another program, which may have none of the descriptors but the first three.
    Executed,
    /// The tracer begins to list what is there.
    DumpBegins,
    /// The thread is of this process, which uses this table of descriptors.
    DumpedThread {
        process: ProcessId,
        table: Option<u64>,
    },
    /// A process has a descriptor.
    DumpedOfProcess {
        process: ProcessId,
        fd: i32,
        path: Box<str>,
    },
    /// A table of descriptors has a descriptor.
    DumpedOfTable { table: u64, fd: i32, path: Box<str> },
}

impl What {
    /// Whether it tells that a call is entered or over.
    pub(super) fn is_of_call(&self) -> bool {
        matches!(self, Self::Entered(_)) || self.ends_call()
    }

    /// Whether the thread is in no call from then on, whatever it entered before.
    pub(super) fn ends_call(&self) -> bool {
        matches!(
            self,
            Self::Returned { .. }
                | Self::Completed
                | Self::Moved { .. }
                | Self::Called { .. }
                | Self::Named { .. }
                | Self::MadeUntold
                | Self::Closed { .. }
                | Self::ClosedRange { .. }
        )
    }
}

/// What a descriptor is.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) enum Name {
    /// The file that it was opened with.
    Path(Box<str>),
    Kind(Kind),
    /// What this other descriptor is.
    Like(i32),
    /// The trace does not say.
    Unknown,
}
