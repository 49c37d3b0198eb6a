//! `kernel/statedump.jsonl` of a recording: what the recorder saw in `/proc`.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufRead, BufReader};

use serde::Deserialize;
use slowpath_kernel::io::{Known, StatedumpProcess};
use slowpath_model::{ProcessId, ThreadId, Timestamp};

use crate::OpenedSource;

#[derive(Deserialize)]
struct Line {
    at_ns: i64,
    tid: i32,
    #[serde(default)]
    pid: i32,
    #[serde(default)]
    ppid: i32,
    #[serde(default)]
    comm: String,
    #[serde(default)]
    cgroup: Option<String>,
    #[serde(default)]
    fds: Vec<Descriptor>,
}

#[derive(Deserialize)]
struct Descriptor {
    fd: i32,
    path: String,
}

/// What is known about processes besides the events of `traces`.
pub(crate) fn known(traces: &[&OpenedSource]) -> Known {
    let saved = traces.iter().flat_map(|trace| &trace.saved_processes);
    Known::new(
        traces.iter().flat_map(|trace| dumps(trace)).collect(),
        saved.copied(),
    )
}

/// Names of threads when they were last looked at.
pub(crate) fn names(traces: &[&OpenedSource]) -> BTreeMap<ThreadId, String> {
    let dumps = traces.iter().flat_map(|trace| dumps(trace));
    dumps.map(|dump| (dump.tid, dump.comm)).collect()
}

/// The control groups that processes were in when they were last looked at; those of the root left out.
pub(crate) fn control_groups(traces: &[&OpenedSource]) -> BTreeMap<ProcessId, String> {
    let lines = traces.iter().flat_map(|trace| lines(trace));
    lines
        .filter_map(|line| Some((ProcessId(line.pid), line.cgroup?)))
        .collect()
}

/// The state dumps of one trace.
fn dumps(trace: &OpenedSource) -> Vec<StatedumpProcess> {
    let Some((_, manifest)) = &trace.recording else {
        return Vec::new();
    };
    let offset = manifest.monotonic_offset_ns();
    lines(trace).map(|line| dump(line, offset)).collect()
}

/// The lines of one trace. Those that cannot be read, as the last one of a recorder that was killed,
/// are left out.
fn lines(trace: &OpenedSource) -> impl Iterator<Item = Line> {
    let is_recording = trace.recording.is_some();
    let file = is_recording.then(|| File::open(trace.path.join("statedump.jsonl")));
    let lines = (file.into_iter().flatten()).flat_map(|file| BufReader::new(file).lines());
    lines.filter_map(|line| serde_json::from_str(&line.ok()?).ok())
}

fn dump(line: Line, offset_ns: i64) -> StatedumpProcess {
    let fds = line.fds.into_iter();
    StatedumpProcess {
        at: Timestamp::from_ns(line.at_ns.saturating_add(offset_ns)),
        tid: ThreadId(line.tid),
        pid: ProcessId(line.pid),
        ppid: ProcessId(line.ppid),
        comm: line.comm,
        fds: fds
            .map(|descriptor| (descriptor.fd, descriptor.path))
            .collect(),
    }
}
