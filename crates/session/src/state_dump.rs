//! `kernel/statedump.jsonl` of a recording: what the recorder saw in `/proc`.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::path::Path;

use serde::Deserialize;
use serde::de::DeserializeOwned;
use slowpath_kernel::io::{Known, StatedumpProcess};
use slowpath_kernel::timelines::MAKES_KERNEL_THREADS;
use slowpath_model::{Diagnostic, DiagnosticCode, Place, ProcessId, ThreadId, Timestamp};

use crate::discover::unreadable;
use crate::{Manifest, OpenedSource};

/// A process or thread, when it was looked at.
#[derive(Deserialize)]
pub(crate) struct Line {
    at_ns: i64,
    tid: i32,
    #[serde(default)]
    pid: i32,
    #[serde(default)]
    ppid: i32,
    #[serde(default)]
    comm: String,
    #[serde(default)]
    pid_inside: Option<i32>,
    #[serde(default)]
    is_of_32_bit: bool,
    #[serde(default)]
    cgroup: Option<String>,
    #[serde(default)]
    fds: Vec<Descriptor>,
    /// When the recorder began to look at the descriptors.
    fds_since_ns: Option<i64>,
}

#[derive(Deserialize)]
struct Descriptor {
    fd: i32,
    path: String,
}

/// What is known about processes besides the events of `traces`, which are in the order of their begin.
pub(crate) fn known(traces: &[&OpenedSource]) -> Known {
    // The earliest says most about a thread when it is first seen.
    let latest_first = traces.iter().rev();
    let saved = latest_first.flat_map(|trace| &trace.saved_processes);
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

/// Processes of the threads that were seen, in the order they were looked at.
pub(crate) fn processes(traces: &[&OpenedSource]) -> Vec<(ThreadId, ProcessId)> {
    processes_of(traces.iter().flat_map(|trace| &trace.state_dump))
}

/// Threads of the kernel's own: `kthreadd` and those that it made.
pub(crate) fn threads_of_kernel(traces: &[&OpenedSource]) -> Vec<ThreadId> {
    let lines = || traces.iter().flat_map(|trace| &trace.state_dump);
    let is_first = |line: &&Line| line.comm == "kthreadd" && line.tid == MAKES_KERNEL_THREADS.0;
    // In a container number 2 may be any process.
    let Some(first) = lines().find(is_first) else {
        return Vec::new();
    };
    let is_of_kernel = |line: &&Line| line.ppid == first.tid || line.tid == first.tid;
    // Numbers are given again.
    let of_programs: BTreeSet<i32> = (lines().filter(|line| !is_of_kernel(line)))
        .map(|line| line.tid)
        .collect();
    let of_kernel = lines().filter(|line| is_of_kernel(line) && !of_programs.contains(&line.tid));
    of_kernel.map(|line| ThreadId(line.tid)).collect()
}

/// Processes in namespaces of their own, as in containers: the number that each has there, and the one that it has here.
pub(crate) fn numbers_inside(traces: &[&OpenedSource]) -> Vec<(ProcessId, ProcessId)> {
    let lines = traces.iter().flat_map(|trace| &trace.state_dump);
    let inside = lines.filter_map(|line| Some((ProcessId(line.pid_inside?), ProcessId(line.pid))));
    inside.collect()
}

/// Processes that were seen running programs of 32 bits.
pub(crate) fn processes_of_32_bit(lines: &[Line]) -> Vec<ProcessId> {
    let of_32_bit = lines.iter().filter(|line| line.is_of_32_bit);
    let mut processes: Vec<ProcessId> = of_32_bit.map(|line| ProcessId(line.pid)).collect();
    processes.sort_unstable();
    processes.dedup();
    processes
}

fn processes_of<'run>(lines: impl Iterator<Item = &'run Line>) -> Vec<(ThreadId, ProcessId)> {
    // Lines that do not tell the process have 0.
    let told = lines.filter(|line| line.pid > 0);
    told.map(|line| (ThreadId(line.tid), ProcessId(line.pid)))
        .collect()
}

/// The control groups that processes were seen in, each once, the latest last; `/` is the root.
pub(crate) fn control_groups(traces: &[&OpenedSource]) -> BTreeMap<ProcessId, Vec<String>> {
    control_groups_of(traces.iter().flat_map(|trace| &trace.state_dump))
}

fn control_groups_of<'run>(
    lines: impl Iterator<Item = &'run Line>,
) -> BTreeMap<ProcessId, Vec<String>> {
    let mut groups: BTreeMap<ProcessId, Vec<String>> = BTreeMap::new();
    for line in lines {
        let Some(group) = &line.cgroup else {
            continue;
        };
        // A process that has ended, and has no files any more, may be shown in the root.
        if group != "/" || !line.fds.is_empty() {
            let of_process = groups.entry(ProcessId(line.pid)).or_default();
            of_process.retain(|known| known != group);
            of_process.push(group.clone());
        }
    }
    groups
}

/// The state dumps of one trace.
fn dumps(trace: &OpenedSource) -> impl Iterator<Item = StatedumpProcess> {
    let manifest = trace.recording.as_ref().map(|(_, manifest)| manifest);
    let offset = manifest.map_or(0, Manifest::monotonic_offset_ns);
    trace.state_dump.iter().map(move |line| dump(line, offset))
}

/// What the recorder saw of the trace in `folder`; what cannot be understood of it is told. The last
/// line may be cut off where the recorder did not end in order.
pub(crate) fn read(
    folder: &Path,
    manifest: &Manifest,
    diagnostics: &mut Vec<Diagnostic>,
) -> Vec<Line> {
    let lines = json_lines(
        &folder.join("statedump.jsonl"),
        manifest,
        "lines cannot be understood; names and files of their processes may be missing",
        diagnostics,
    );
    lines.unwrap_or_default()
}

/// The lines of a file, each a JSON object, without those that cannot be understood, which are told with
/// what is `lost` by it; `None` where there is no file, or it cannot be read.
pub(crate) fn json_lines<T: DeserializeOwned>(
    path: &Path,
    manifest: &Manifest,
    lost: &str,
    diagnostics: &mut Vec<Diagnostic>,
) -> Option<Vec<T>> {
    let text = match fs::read(path) {
        Ok(text) => text,
        Err(cause) => {
            if cause.kind() != io::ErrorKind::NotFound {
                diagnostics.push(unreadable(path, &cause));
            }
            return None;
        }
    };
    let mut lines = Vec::new();
    let mut damaged: Vec<u32> = Vec::new();
    for (line, number) in text.split_inclusive(|byte| *byte == b'\n').zip(1..) {
        let is_cut_off = !line.ends_with(b"\n") && !manifest.complete;
        match serde_json::from_slice(line) {
            Ok(line) => lines.push(line),
            Err(_) if is_cut_off => {}
            Err(_) => damaged.push(number),
        }
    }
    if let Some(&first) = damaged.first() {
        let place = Place {
            file: path.display().to_string(),
            line: Some((first, 1)),
            ..Place::default()
        };
        diagnostics.push(Diagnostic {
            count: Some(damaged.len() as u64),
            ..Diagnostic::new(DiagnosticCode::InvalidFile, place, lost)
        });
    }
    Some(lines)
}

fn dump(line: &Line, offset_ns: i64) -> StatedumpProcess {
    let fds = line.fds.iter();
    let time = |ns: i64| Timestamp::from_ns(ns.saturating_add(offset_ns));
    StatedumpProcess {
        at: time(line.at_ns),
        tid: ThreadId(line.tid),
        pid: ProcessId(line.pid),
        ppid: ProcessId(line.ppid),
        comm: line.comm.clone(),
        fds: fds
            .map(|descriptor| (descriptor.fd, descriptor.path.clone()))
            .collect(),
        files_since: line.fds_since_ns.map(time),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_are_of_the_processes_that_they_were_seen_in() {
        let lines: Vec<Line> = [r#"{"at_ns":1,"tid":8,"pid":7}"#, r#"{"at_ns":1,"tid":9}"#]
            .map(|line| serde_json::from_str(line).expect("a line"))
            .into();
        assert_eq!(processes_of(lines.iter()), [(ThreadId(8), ProcessId(7))]);
    }

    #[test]
    fn the_root_group_is_told_from_an_unknown_one_and_from_a_process_that_has_ended() {
        let lines: Vec<Line> = [
            r#"{"at_ns":1,"tid":7,"pid":7,"cgroup":"/shop","fds":[{"fd":0,"path":"a"}]}"#,
            r#"{"at_ns":1,"tid":8,"pid":8,"cgroup":"/","fds":[{"fd":0,"path":"a"}]}"#,
            r#"{"at_ns":1,"tid":9,"pid":9,"fds":[{"fd":0,"path":"a"}]}"#,
            r#"{"at_ns":2,"tid":7,"pid":7,"cgroup":"/","fds":[]}"#,
            r#"{"at_ns":2,"tid":8,"pid":8,"cgroup":"/shop","fds":[{"fd":0,"path":"a"}]}"#,
        ]
        .map(|line| serde_json::from_str(line).expect("a line"))
        .into();
        let groups = control_groups_of(lines.iter());
        let groups: Vec<(i32, String)> = (groups.iter())
            .map(|(process, groups)| (process.0, groups.join(" ")))
            .collect();
        let expected = [(7, "/shop"), (8, "/ /shop")].map(|(process, of)| (process, of.to_owned()));
        assert_eq!(groups, expected);
    }
}
