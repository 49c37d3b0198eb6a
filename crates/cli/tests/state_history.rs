//! `slowpath state` says what `slowpath thread-states` says, from a history that is built once, reused,
//! and built again whenever it is not what it should be.

mod support;

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use support::{slowpath_succeeds, unpacked};

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).expect("a folder");
    for entry in fs::read_dir(from).expect("a folder").flatten() {
        let target = to.join(entry.file_name());
        match entry.path().is_dir() {
            true => copy(&entry.path(), &target),
            false => drop(fs::copy(entry.path(), target).expect("a copy")),
        }
    }
}

/// A recording of one's own, in a folder of its own.
fn recording() -> Option<(tempfile::TempDir, PathBuf)> {
    let original = unpacked("cpu-cgroup/cpu-cgroup.tar.zst")?.join("cpu-cgroup");
    let folder = tempfile::tempdir().expect("a folder");
    let recording = folder.path().join("recording");
    copy(&original, &recording);
    Some((folder, recording))
}

fn state(recording: &Path, at: &str) -> Value {
    slowpath_succeeds(&["state", "--json", "--at", at], recording).json()
}

#[test]
fn states_are_those_of_the_time_lines() {
    let Some((folder, recording)) = recording() else {
        return;
    };
    for at in ["+1s", "+4.5s", "+7.25s", "+12s", "+20s"] {
        let found = state(&recording, at);
        let at = found["at_ns"].as_i64().expect("a time");
        let threads = found["threads"].as_array().expect("threads");
        assert!(threads.len() > 20, "{} threads at {at}", threads.len());
        let requests: Vec<String> = (threads.iter())
            .map(|row| json!({"tid": row["tid"], "begin_ns": at, "end_ns": at + 1}).to_string())
            .collect();
        let file = folder.path().join("requests");
        fs::write(&file, requests.join("\n")).expect("a file");
        let name = file.to_str().expect("a plain name");
        let expected =
            slowpath_succeeds(&["thread-states", "--json", "--requests", name], &recording);
        let expected = expected.lines().into_iter();
        let mut running = 0;
        for (row, expected) in threads.iter().zip(expected) {
            let expected: Value = serde_json::from_slice(expected).expect("JSON");
            let key = match row["state"].as_str().expect("a state") {
                "RUNNING" => "running_ns",
                "PREEMPTED" | "WAIT_CPU" => "runnable_ns",
                "UNKNOWN" => "unknown_ns",
                _ => "blocked_ns",
            };
            assert_eq!(expected[key], 1, "{row} {expected}");
            if key == "running_ns" {
                running += 1;
                let cpus = found["cpus"].as_array().expect("processors");
                assert!(cpus.iter().any(|cpu| cpu["tid"] == row["tid"]), "{row}");
            }
            assert!(row["begin_ns"].as_i64() <= Some(at) && row["end_ns"].as_i64() > Some(at));
        }
        let cpus = found["cpus"].as_array().expect("processors").iter();
        assert_eq!(
            cpus.filter(|cpu| cpu["tid"].as_i64() > Some(0)).count(),
            running
        );
    }
}

#[test]
fn the_history_is_reused_and_never_believed_when_it_is_not_whole() {
    let Some((_folder, recording)) = recording() else {
        return;
    };
    let expected = state(&recording, "+5s");
    let busy = expected["threads"].as_array().expect("threads").iter();
    assert!(busy.filter(|row| row["request"].is_string()).count() > 0);
    let cache = recording
        .with_file_name("recording.slowpath-cache")
        .join("history");
    let built = |file: &str| {
        let about = fs::metadata(cache.join(file)).expect("a cache");
        about.modified().expect("a time")
    };
    let first = built("history.json");
    assert_eq!(state(&recording, "+5s"), expected);
    assert_eq!(built("history.json"), first, "it is reused");
    for file in ["intervals.arrow", "history.json", "names.arrow"] {
        let bytes = fs::read(cache.join(file)).expect("a file");
        fs::write(cache.join(file), &bytes[..bytes.len() / 2]).expect("a file");
        assert_eq!(state(&recording, "+5s"), expected, "after {file} was cut");
        assert_eq!(
            fs::read(cache.join(file)).expect("a file"),
            bytes,
            "it is built again"
        );
    }
    // Another recording under the same name.
    let stream = fs::read_dir(recording.join("kernel"))
        .expect("streams")
        .flatten();
    let stream = stream
        .map(|entry| entry.path())
        .find(|path| path.ends_with("kchan_0"));
    let stream = stream.expect("a stream");
    let bytes = fs::read(&stream).expect("a stream");
    fs::write(&stream, &bytes[..bytes.len() / 2]).expect("a stream");
    let printed = support::slowpath(&["state", "--json", "--at", "+5s"], &recording);
    assert_ne!(
        printed.json(),
        expected,
        "half of a processor's events are gone"
    );
}

#[test]
fn two_hosts_are_told_apart() {
    let Some(folder) = unpacked("two-hosts/two-hosts.tar.zst") else {
        return;
    };
    let folder_of_copy = tempfile::tempdir().expect("a folder");
    let recording = folder_of_copy.path().join("both");
    copy(&folder.join("two-hosts"), &recording);
    let printed = support::slowpath(&["state", "--json", "--at", "+8s"], &recording);
    let found = printed.json();
    let hosts: Vec<&Value> = (found["cpus"].as_array().expect("processors").iter())
        .map(|cpu| &cpu["host"])
        .collect();
    assert!(hosts.iter().all(|host| host.is_string()), "{hosts:?}");
    assert!(hosts.contains(&&json!("server")) && hosts.contains(&&json!("client")));
}
