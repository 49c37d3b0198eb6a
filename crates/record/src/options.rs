//! What the user asks of a recording. Plain data; checked where it is used.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use slowpath_model::ProcessId;

use crate::agents::AgentsChoice;
use crate::manifest::Mode;
use crate::redis::RedisChoice;
use crate::spans::SpanOptions;

/// Everything that a recording can be told.
#[derive(Clone, Debug)]
pub struct RecordOptions {
    /// The folder to write; it must not exist, be empty, or (with `replace`) hold a recording.
    pub output: PathBuf,
    /// Whether a recording that lies in the folder is deleted first.
    pub replace: bool,
    /// Everything to disk, or a ring in memory.
    pub mode: Mode,
    /// Ends the recording after this time, at the latest.
    pub duration: Option<Duration>,
    /// Who delivers kernel events.
    pub kernel: KernelChoice,
    /// Presets, `system:event` names and globs of them; empty means `default`.
    pub events: Vec<String>,
    /// What applications' own events are wanted.
    pub user_space: UserSpaceChoice,
    /// What spans are received, and what they trigger.
    pub spans: SpanOptions,
    /// Which agents the command inherits.
    pub agents: AgentsChoice,
    /// Which Redis servers are recorded from inside.
    pub redis: RedisChoice,
    /// Whether the Node programs that the command starts are recorded from inside.
    pub node: bool,
    /// Kernel buffer per processor, in bytes; `None` chooses by mode and memory.
    pub buffer_bytes_per_cpu: Option<u64>,
    /// Processes, beside the command's, whose CPU times by `/proc` are noted for comparison.
    pub accounts: Vec<ProcessId>,
    /// The command to run and record, with its arguments; empty records until told to end.
    pub command: Vec<OsString>,
}

/// Who delivers kernel events.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KernelChoice {
    /// LTTng where its kernel modules are there, else ftrace.
    Auto,
    /// LTTng or nothing.
    Lttng,
    /// ftrace or nothing.
    Ftrace,
    /// No kernel events.
    None,
}

/// What applications' own events are wanted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum UserSpaceChoice {
    /// Span events where LTTng is installed, and a remark where it is not.
    SpansIfPossible,
    /// These event names and globs; impossible without LTTng.
    Events(Vec<String>),
    /// None.
    Nothing,
}
