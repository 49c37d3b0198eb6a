//! Thread states and critical paths agree with what the traced programs wrote about themselves:
//! `tests/oracles/ground_truth.py` asks slowpath about every request of a recording. And critical
//! paths go where Trace Compass's go, as far as it explains them.

mod support;

use std::ffi::OsStr;
use std::io::Write;
use std::path::Path;

use support::{oracle, reference, run, shared_traces, skip, unpacked};

struct Recording {
    truth: &'static str,
    archive: &'static str,
    trace: &'static str,
}

const RECORDINGS: &[Recording] = &[
    Recording {
        truth: "futex-contention/ground-truth.jsonl",
        archive: "futex-contention/futex-contention.tar.zst",
        trace: "futex-contention",
    },
    Recording {
        truth: "cpu-cgroup/ground-truth.jsonl",
        archive: "cpu-cgroup/cpu-cgroup.tar.zst",
        trace: "cpu-cgroup",
    },
    Recording {
        truth: "two-hosts/ground-truth-server.jsonl",
        archive: "two-hosts/two-hosts.tar.zst",
        trace: "two-hosts/server",
    },
    Recording {
        truth: "two-hosts/ground-truth-client.jsonl",
        archive: "two-hosts/two-hosts.tar.zst",
        trace: "two-hosts/client",
    },
];

/// Requests of a recording whose time in a state may lie outside of what the program's record and the
/// kernel's reading of its clock leave open (`accounts.py`). The traces' README: where the host stopped
/// a virtual processor in the middle of a switch, running and runnable take some milliseconds
/// from each other, and their sum agrees.
const MAY_BE_OUTSIDE: &[(&str, u64)] = &[("running", 1), ("runnable", 1), ("either", 0)];

/// Of a hundred waits whose record names a thread, so many critical paths must go into it.
const WAITS_PERCENT: f64 = 99.0;

/// Asks about one recording; None where something is not there.
fn report(recording: &Recording) -> Option<serde_json::Value> {
    let truth = shared_traces()?.join(recording.truth);
    let trace = unpacked(recording.archive)?.join(recording.trace);
    let script = oracle("ground_truth.py");
    let arguments = [
        script.as_os_str(),
        OsStr::new("--slowpath"),
        OsStr::new(env!("CARGO_BIN_EXE_slowpath")),
        truth.as_os_str(),
        trace.as_os_str(),
    ];
    match run("python3", &arguments) {
        Err(error) => {
            skip(&format!("python3 does not run: {error}"));
            None
        }
        // The clock's offset comes from babeltrace2.
        Ok(printed) if printed.stderr.contains("'babeltrace2'") => {
            skip("babeltrace2 does not run");
            None
        }
        Ok(printed) => {
            assert_eq!(printed.status, Some(0), "{}", printed.stderr);
            Some(printed.json())
        }
    }
}

#[test]
fn states_and_waits_agree_with_the_programs_records() {
    let mut disagreements = String::new();
    for recording in RECORDINGS {
        let Some(report) = report(recording) else {
            return;
        };
        let states = &report["states"];
        let number = |value: &serde_json::Value| value.as_f64().expect("a number");
        assert_eq!(states["not_adding_up"], serde_json::json!([]));
        println!(
            "{}: of {} requests inside {}",
            recording.truth, states["requests"], states["inside"]
        );
        let requests = states["requests"].as_u64().expect("a number");
        assert!(requests > 400, "{}: {requests} requests", recording.truth);
        for (state, may_be_outside) in MAY_BE_OUTSIDE {
            let inside = states["inside"][state].as_u64().expect("a number");
            if inside + may_be_outside < requests {
                disagreements += &format!(
                    "{}: {state} of {inside} of {requests} requests\n{:#}\n",
                    recording.truth, states["outside"]
                );
            }
        }
        for (kind, row) in report["waits"].as_object().expect("waits by kind") {
            let (agreed, total) = (number(&row["agreed"]), number(&row["total"]));
            if row["checked"] != true {
                continue;
            }
            println!("{}: {agreed} of {total} {kind} waits", recording.truth);
            if 100.0 * agreed < WAITS_PERCENT * total {
                disagreements += &format!(
                    "{}: {agreed} of {total} {kind} waits\n{}\n",
                    recording.truth, row["disagreements"]
                );
            }
        }
    }
    assert!(disagreements.is_empty(), "{disagreements}");
}

/// Trace Compass's paths: thread, trace, file of the reference (packed or not).
#[rustfmt::skip]
const THEIR_PATHS: &[(&str, &str, &str, &str)] = &[
    ("315", "futex-contention/futex-contention.tar.zst", "futex-contention", "critical-path-futex-contention-315.txt"),
    ("316", "futex-contention/futex-contention.tar.zst", "futex-contention", "critical-path-futex-contention-316.txt"),
    ("318", "futex-contention/futex-contention.tar.zst", "futex-contention", "critical-path-futex-contention-318.txt"),
    ("319", "futex-contention/futex-contention.tar.zst", "futex-contention", "critical-path-futex-contention-319.txt"),
    ("322", "futex-contention/futex-contention.tar.zst", "futex-contention", "critical-path-futex-contention-322.txt"),
    ("306", "cpu-cgroup/cpu-cgroup.tar.zst", "cpu-cgroup", "critical-path-cpu-cgroup-306.txt"),
    ("2673", "tracecompass/many-threads.tar.zst", "many-threads", "critical-path-many-threads-2673.txt.zst"),
];

/// Of the time in which Trace Compass explains where the path is, so much must be in the same
/// thread. The rest is on futex-contention 319, where it stays in the thread as NETWORK while the
/// record names the answering thread (314) that slowpath goes into.
const SAME_THREAD: f64 = 0.99;

#[test]
fn critical_paths_agree_with_trace_compass() {
    let Some(references) = reference() else {
        return;
    };
    for (tid, archive, trace, file) in THEIR_PATHS {
        let Some(folder) = unpacked(archive) else {
            return;
        };
        let Some(theirs) = plain(&references.join(file)) else {
            return;
        };
        let (script, trace) = (oracle("critical_path_reference.py"), folder.join(trace));
        let arguments = [
            script.as_os_str(),
            OsStr::new("--slowpath"),
            OsStr::new(env!("CARGO_BIN_EXE_slowpath")),
            theirs.path().as_os_str(),
            OsStr::new(tid),
            trace.as_os_str(),
        ];
        let printed = match run("python3", &arguments) {
            Ok(printed) => printed,
            Err(error) => return skip(&format!("python3 does not run: {error}")),
        };
        assert_eq!(printed.status, Some(0), "{file}:\n{}", printed.stderr);
        let report = printed.json();
        let share = |key: &str| report[key].as_f64().expect("a share");
        println!(
            "{file}: UNKNOWN {}, theirs {}; where they know, in the same thread {}",
            report["unknown"], report["their_unknown"], report["same_where_they_know"]
        );
        assert!(
            share("unknown") <= share("their_unknown")
                && share("same_where_they_know") >= SAME_THREAD,
            "{file}: {report:#}"
        );
    }
}

/// A reference as a plain file; None, visibly, where it is missing.
fn plain(reference: &Path) -> Option<tempfile::NamedTempFile> {
    let bytes = match std::fs::read(reference) {
        Ok(bytes) => bytes,
        Err(error) => {
            skip(&format!("{}: {error}", reference.display()));
            return None;
        }
    };
    let packed = reference
        .extension()
        .is_some_and(|extension| extension == "zst");
    let bytes = if packed {
        zstd::decode_all(bytes.as_slice()).expect("the reference is whole")
    } else {
        bytes
    };
    let mut file = tempfile::NamedTempFile::new().expect("a temporary file");
    file.write_all(&bytes).expect("the file is written");
    Some(file)
}
