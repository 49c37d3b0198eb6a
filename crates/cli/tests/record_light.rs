//! Recordings without system calls: stacks tell in which call a thread waits, and the same as the calls would.
//!
//! Needs root, tracefs, Python and a kernel that writes stacks into instances; skips visibly where one is missing.

mod support;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use support::{skip, slowpath, slowpath_succeeds};

/// In the folder of a recording: by which it is known that stacks were asked for.
const TRIGGER: &str = "kernel/events/sched/sched_switch/trigger";

/// A recording of `support/waits.py` with these kernel events, and the calls in which that says it has waited; `before`
/// it is done in the shell.
fn recorded(events: &str, before: &str) -> Result<(tempfile::TempDir, PathBuf, String), String> {
    let program = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/support/waits.py");
    let folder = tempfile::tempdir().expect("a temporary folder");
    let recording = folder.path().join("recording");
    let said = Command::new(env!("CARGO_BIN_EXE_slowpath"))
        .args([
            "record", "--kernel", "ftrace", "--ust", "none", "--spans", "off",
        ])
        .args(["--events", events, "-o"])
        .arg(&recording)
        .args(["--", "sh", "-c", &format!("{before}exec python3 \"$0\"")])
        .arg(program)
        .stdin(Stdio::null())
        .output()
        .expect("slowpath runs");
    let talk = String::from_utf8_lossy(&said.stderr).into_owned();
    if said.status.code() == Some(3) || talk.contains("stacks") {
        return Err(format!("stacks cannot be recorded here: {talk}"));
    }
    assert_eq!(said.status.code(), Some(0), "{talk}");
    let calls = String::from_utf8_lossy(&said.stdout).trim().to_owned();
    Ok((folder, recording, calls))
}

/// What the critical paths of Python's threads have to say of system calls, a line each, in the order of texts.
fn waits(recording: &Path) -> Vec<String> {
    let paths = slowpath(&["critical-path", "--comm", "python3*"], recording);
    let paths = String::from_utf8_lossy(&paths.stdout).into_owned();
    let is_of_call = |line: &&str| line.contains(" in ") && !line.ends_with(" in all");
    let mut waits: Vec<String> = (paths.lines().filter(is_of_call))
        .map(str::to_owned)
        .collect();
    waits.sort();
    waits
}

#[test]
fn a_light_recording_tells_in_which_calls_threads_wait() {
    let (_folder, recording, calls) = match recorded("light", "") {
        Ok(recorded) => recorded,
        Err(reason) => return skip(&reason),
    };
    let counts = slowpath_succeeds(&["count"], &recording);
    let counts = String::from_utf8_lossy(&counts.stdout).into_owned();
    assert!(counts.contains(" kernel_stack\n"), "{counts}");
    assert!(!counts.contains("sys_enter"), "{counts}");
    let waits = waits(&recording).join("\n");
    for call in calls.split(' ') {
        assert!(waits.contains(&format!(" in {call}")), "{call} in {waits}");
    }
}

/// Both are recorded at once; then the system calls are taken away.
#[test]
fn stacks_tell_the_calls_that_system_calls_tell() {
    let ask = "for events in /sys/kernel/tracing/instances/slowpath-$PPID-*/events \
               /sys/kernel/debug/tracing/instances/slowpath-$PPID-*/events; do \
               [ ! -d $events ] || echo 'stacktrace if prev_state & 127' > $events/sched/sched_switch/trigger; \
               done; ";
    let (_folder, recording, _) = match recorded("default", ask) {
        Ok(recorded) => recorded,
        Err(reason) => return skip(&reason),
    };
    let by_calls = waits(&recording);
    fs::write(recording.join(TRIGGER), "stacktrace\n").expect("a writable recording");
    fs::remove_dir_all(recording.join("kernel/events/raw_syscalls")).expect("formats of calls");
    let by_stacks = waits(&recording);
    let common = by_calls
        .iter()
        .filter(|wait| by_stacks.binary_search(wait).is_ok())
        .count();
    // Virtual machines keep switches from the tracer; beside these, calls tell when threads ran.
    let all = by_calls.len().max(by_stacks.len());
    assert!(all > 100 && common * 100 >= all * 95, "{common} of {all}");
}
