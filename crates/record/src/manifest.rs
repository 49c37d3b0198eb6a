//! `slowpath.json`: what a recording says about itself (docs/formats/recording.md).
//!
//! Always replaced whole, by renaming, so that a reader never sees half of it and a killed recorder
//! leaves the last good one.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::Path;

use serde::{Deserialize, Serialize};
use slowpath_model::{CpuId, ProcessId, ThreadId, Timestamp};

/// The version of the folder's format that this crate writes.
pub const FORMAT_VERSION: u32 = 1;

const FILE_NAME: &str = "slowpath.json";

/// The contents of `slowpath.json`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Manifest {
    /// Version of the folder's format.
    pub format_version: u32,
    /// Version of slowpath that wrote it.
    pub tool_version: String,
    /// Name of the host.
    pub host: String,
    /// Release of its kernel.
    pub kernel_release: String,
    /// Its architecture, as `uname -m` says.
    pub machine: String,
    /// Identifies one run of the host's kernel.
    pub boot_id: String,
    /// How the clocks of the events relate to wall time.
    pub clocks: Vec<ClockReading>,
    /// Everything, or the last of it.
    pub mode: Mode,
    /// The recorded command and its arguments.
    pub command: Option<Vec<String>>,
    /// How it ended, as a shell tells it: its status, or 128 + the signal that killed it. `None`
    /// when there was none or it outlived the recording.
    pub command_exit: Option<i32>,
    /// When events could first be recorded.
    pub begin_ns: Timestamp,
    /// When tracing was stopped; equal to `begin_ns` while the recording runs.
    pub end_ns: Timestamp,
    /// The kernel's events.
    pub kernel: KernelPart,
    /// Applications' own events.
    pub ust: Option<UserSpacePart>,
    /// Why control groups' CPU quotas were not recorded; `None` where they were.
    #[serde(default)]
    pub quotas_unread: Option<String>,
    /// Spans of distributed traces.
    #[serde(default)]
    pub spans: Option<SpansPart>,
    /// Snapshots asked for while the recording ran: folders beside this file, oldest first.
    pub snapshots: Vec<String>,
    /// Which of them a rule took, and why. Of a snapshot: its own one.
    #[serde(default)]
    pub triggers: Vec<Trigger>,
    /// Snapshots that could not be written; `None` where all were.
    #[serde(default)]
    pub failed_snapshots: Option<FailedSnapshots>,
    /// Whether the recorder ended in order; false while it runs, where it could not go on, and after it was killed.
    pub complete: bool,
    /// Why it could not go on, or not write all at its end, for instance because the disk was full; `None` where it
    /// could.
    #[serde(default)]
    pub ended_because: Option<String>,
    /// By path within the folder: the bytes of each file when the recorder ended in order, but for this
    /// one and for snapshots, which have their own.
    #[serde(default)]
    pub files: BTreeMap<String, u64>,
    /// What recording cost.
    pub cost: Cost,
    /// What the kernel accounted to the recorded processes.
    pub accounts: Accounts,
}

/// A clock and its distance from wall time, measured when the recording began and ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClockReading {
    /// For instance `monotonic`.
    pub name: String,
    /// Epoch time minus the clock at the begin, in nanoseconds.
    pub offset_to_epoch_ns: i64,
    /// The same at the end: differs where wall time was adjusted meanwhile.
    pub offset_to_epoch_at_end_ns: i64,
    /// Half the time that the measurement at the begin took: the error is no larger.
    pub uncertainty_ns: u64,
}

/// What of the time is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Mode {
    /// Everything, on disk.
    Standard,
    /// The last of it, in memory until asked for.
    Snapshot,
}

/// Who recorded the kernel's events.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Tracer {
    /// The kernel's own tracer.
    Ftrace,
    /// LTTng's kernel modules.
    Lttng,
    /// Nobody.
    #[default]
    None,
}

/// The kernel's events.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct KernelPart {
    /// Who recorded them.
    pub tracer: Tracer,
    /// The clock of their times.
    pub clock: String,
    /// Their names, as `system:event`.
    pub events: Vec<String>,
    /// Bytes of a ring-buffer page (ftrace).
    pub page_size: u64,
    /// Kernel buffer per processor, in bytes.
    pub buffer_bytes_per_cpu: u64,
    /// Events lost for want of space, by processor; those without loss are absent. Events that a
    /// flight recorder overwrote are not losses.
    pub lost_events: BTreeMap<CpuId, u64>,
}

/// Applications' own events.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct UserSpacePart {
    /// Names and globs of the events that were enabled.
    pub events: Vec<String>,
    /// Events and packets that LTTng discarded.
    pub lost_events: u64,
    /// Redis servers that were to be recorded, and were not or no more when the recording ended.
    #[serde(default)]
    pub missing_servers: Vec<ProcessId>,
}

/// What became of spans that were sent here.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SpansPart {
    /// Where they were received, as `address:port`.
    pub addresses: Vec<String>,
    /// Where everything was passed on to.
    pub forward: Option<String>,
    /// Requests that were kept.
    pub requests: u64,
    /// Spans in them.
    pub spans: u64,
    /// Spans that were understood and could not be kept.
    pub lost_spans: u64,
    /// Requests that were not understood or too large.
    pub refused_requests: u64,
    /// Requests with metrics or logs.
    pub other_requests: u64,
    /// Requests that were passed on.
    pub forwarded_requests: u64,
    /// Requests that were to be passed on and were not.
    pub lost_forwards: u64,
    /// Spans that the other side rejected out of requests that it took.
    #[serde(default)]
    pub rejected_spans: u64,
    /// Data points and log records that it rejected likewise.
    #[serde(default)]
    pub rejected_others: u64,
    /// Rules, as they were given, that no span was of.
    #[serde(default)]
    pub rules_without_spans: Vec<String>,
}

/// Why a snapshot was taken.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Trigger {
    /// Its folder.
    pub snapshot: String,
    /// The snapshot before it, where a request began before this one does: the events of that time are there.
    #[serde(default)]
    pub before: Option<String>,
    /// The rule that was broken, as it was given.
    pub rule: String,
    /// What was measured: nanoseconds, or a number of spans.
    pub value: u64,
    /// What the rule allows, in the same unit.
    pub threshold: u64,
    /// When it was broken.
    pub at_ns: Timestamp,
    /// The requests that broke it, slowest first; not all where they are many.
    pub requests: Vec<SlowRequest>,
}

/// Snapshots that could not be written: what the ring held of the kernel's events then is lost.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FailedSnapshots {
    /// How many.
    pub count: u64,
    /// When the last of them failed.
    pub last_ns: Timestamp,
    /// Why.
    pub last_cause: String,
}

/// A span that broke a rule.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SlowRequest {
    /// 32 hexadecimal digits.
    pub trace_id: String,
    /// 16 hexadecimal digits.
    pub span_id: String,
    /// The service.
    pub service: String,
    /// The operation.
    pub operation: String,
    /// When it began.
    pub begin_ns: Timestamp,
    /// How long it took, in nanoseconds.
    pub duration_ns: u64,
}

/// What recording cost, apart from the events' own cost in the traced threads.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cost {
    /// CPU time of the recorder, in nanoseconds.
    pub recorder_cpu_ns: u64,
    /// Bytes of events written.
    pub bytes_written: u64,
}

/// CPU times by `/proc`, to check analyses against.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Accounts {
    /// Each thread when it was first seen.
    pub begin: Vec<Account>,
    /// The same threads when they were last seen.
    pub end: Vec<Account>,
}

/// `/proc/PID/task/TID/schedstat` at one moment.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Account {
    /// The thread's process.
    pub pid: ProcessId,
    /// The thread.
    pub tid: ThreadId,
    /// Its name then.
    pub comm: String,
    /// Time on a processor since the thread began, in nanoseconds.
    pub schedstat_run_ns: u64,
    /// Time runnable but waiting, in nanoseconds.
    pub schedstat_wait_ns: u64,
    /// When it was read, by the monotonic clock in nanoseconds.
    pub at_ns: i64,
}

impl Manifest {
    /// Writes `slowpath.json` in `folder`, replacing what is there in one step.
    pub(crate) fn write(&self, folder: &Path) -> io::Result<()> {
        let target = folder.join(FILE_NAME);
        let beside = folder.join(format!("{FILE_NAME}.new"));
        let written = self.write_to(&beside);
        let replaced = written.and_then(|()| fs::rename(&beside, target));
        if replaced.is_err() {
            let _ = fs::remove_file(beside);
        }
        replaced
    }

    fn write_to(&self, path: &Path) -> io::Result<()> {
        let mut file = File::create(path)?;
        serde_json::to_writer_pretty(&mut file, self)?;
        file.write_all(b"\n")
    }

    /// Reads the one in `folder`.
    ///
    /// # Errors
    /// When it is not there or is not what [`FORMAT_VERSION`] describes.
    pub fn read(folder: &Path) -> io::Result<Self> {
        Ok(serde_json::from_slice(&fs::read(folder.join(FILE_NAME))?)?)
    }
}

/// Whether a recording lies in `folder`, of whatever version.
pub(crate) fn is_recording(folder: &Path) -> bool {
    let text = fs::read(folder.join(FILE_NAME)).unwrap_or_default();
    let document: Option<serde_json::Value> = serde_json::from_slice(&text).ok();
    document.is_some_and(|document| document["format_version"].is_u64())
}
