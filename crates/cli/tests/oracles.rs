//! `count`, `cpu`, `io`, `latency` and `thread-states` give exactly what the scripts of
//! `tests/oracles` compute from babeltrace2's text by the same definitions
//! (docs/reference/definitions.md).

mod support;

use std::ffi::OsStr;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use support::{oracle, oracle_says, run, slowpath_succeeds, unpacked};

/// Traces that babeltrace2 reads, as archive and the kernel trace in it.
const TRACES: &[(&str, &str)] = &[
    ("io-mix/io-mix.tar.zst", "io-mix/kernel"),
    ("redis-kernel/redis-kernel.tar.zst", "redis-kernel/kernel"),
    ("tracecompass/many-threads.tar.zst", "many-threads"),
    ("cpu-cgroup/cpu-cgroup.tar.zst", "cpu-cgroup/kernel"),
];

fn each_trace(mut check: impl FnMut(&Path)) {
    for (archive, trace) in TRACES {
        let Some(folder) = unpacked(archive) else {
            return;
        };
        check(&folder.join(trace));
    }
}

fn kept(text: &[u8]) -> tempfile::NamedTempFile {
    let mut file = tempfile::NamedTempFile::new().expect("a temporary file");
    file.write_all(text).expect("the file is written");
    file
}

/// Asks slowpath and compares with the oracle's answer.
fn check(command: &[&str], expected: &[u8], trace: &Path) {
    let mut with_json = command.to_vec();
    with_json.push("--json");
    let found = kept(&slowpath_succeeds(&with_json, trace).stdout);
    let expected = kept(expected);
    let script = oracle("compare.py");
    let arguments = [
        script.as_os_str(),
        OsStr::new("same"),
        expected.path().as_os_str(),
        found.path().as_os_str(),
    ];
    let compared = run("python3", &arguments).expect("python3 ran before");
    assert_eq!(
        compared.status,
        Some(0),
        "{command:?} of {} (oracle / slowpath):\n{}{}",
        trace.display(),
        String::from_utf8_lossy(&compared.stdout),
        compared.stderr
    );
}

#[test]
fn count() {
    each_trace(|trace| {
        for by in ["event", "cpu", "none"] {
            let arguments = [OsStr::new("--by"), OsStr::new(by)];
            let Some(expected) = oracle_says("count.py", &arguments, &[trace]) else {
                return;
            };
            check(&["count", "--by", by], &expected.stdout, trace);
        }
    });
}

#[test]
fn cpu() {
    each_trace(|trace| {
        let Some(expected) = oracle_says("cpu.py", &[], &[trace]) else {
            return;
        };
        check(&["cpu"], &expected.stdout, trace);
    });
}

#[test]
fn io() {
    each_trace(|trace| {
        let Some(expected) = oracle_says("io.py", &[], &[trace]) else {
            return;
        };
        check(&["io"], &expected.stdout, trace);
    });
}

#[test]
fn latency() {
    each_trace(|trace| {
        let Some(expected) = oracle_says("latency.py", &[], &[trace]) else {
            return;
        };
        let expected = expected.json();
        for (kind, expected) in expected.as_object().expect("an object by kind") {
            let expected = expected.to_string();
            check(&["latency", "--kind", kind], expected.as_bytes(), trace);
        }
    });
}

/// Every request of the ground truths, in every state, to the nanosecond.
#[test]
fn thread_states() {
    for (archive, trace, tids) in [
        (
            "futex-contention/futex-contention.tar.zst",
            "futex-contention/kernel",
            300..=330,
        ),
        (
            "cpu-cgroup/cpu-cgroup.tar.zst",
            "cpu-cgroup/kernel",
            300..=315,
        ),
        ("io-mix/io-mix.tar.zst", "io-mix/kernel", 280..=360),
    ] {
        let Some(folder) = unpacked(archive) else {
            return;
        };
        let trace = folder.join(trace);
        let counted = slowpath_succeeds(&["count", "--by", "none", "--json"], &trace).json();
        let bound = |key: &str| counted[key].as_i64().expect("a time");
        let (begin, end) = (bound("begin_ns"), bound("end_ns"));
        // Windows of several lengths that fall where they fall.
        let mut requests = String::new();
        for tid in tids {
            for (from, to) in [(0, 100), (10, 11), (37, 52), (52, 53), (90, 100)] {
                let at = |percent: i64| begin + (end - begin) / 100 * percent;
                requests += &format!(
                    "{{\"tid\":{tid},\"begin_ns\":{},\"end_ns\":{}}}\n",
                    at(from),
                    at(to)
                );
            }
        }
        let file = request_file(&trace, &requests);
        let arguments = [OsStr::new("--requests"), file.as_os_str()];
        let Some(expected) = oracle_says("thread_states.py", &arguments, &[&trace]) else {
            return;
        };
        let path = file.to_str().expect("a plain path");
        let command = ["thread-states", "--json", "--requests", path];
        let found = slowpath_succeeds(&command, &trace);
        let (expected, found) = (expected.lines(), found.lines());
        assert_eq!(expected.len(), found.len());
        for (expected, found) in expected.into_iter().zip(found) {
            let [expected, found] = [expected, found]
                .map(|line| serde_json::from_slice::<serde_json::Value>(line).expect("JSON"));
            for (key, value) in expected.as_object().expect("an object") {
                assert_eq!(&found[key], value, "{key}: {expected} / {found}");
            }
        }
    }
}

/// A file that keeps its name, so that the oracle's answer can be kept too.
fn request_file(trace: &Path, requests: &str) -> PathBuf {
    let name = trace.to_string_lossy().replace('/', "-");
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("states{name}.jsonl"));
    if fs::read_to_string(&path).ok().as_deref() != Some(requests) {
        fs::write(&path, requests).expect("the requests are written");
    }
    path
}
