//! Paths as users have them: links in circles, pipes, the same trace twice, nothing at all; and
//! output that nobody reads to its end.

mod support;

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::symlink;
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use support::slowpath;

/// A folder with a small real trace in `trace/`.
fn with_trace() -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let fixture = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/fixtures/cpu-cgroup-ust");
    let trace = folder.path().join("trace");
    fs::create_dir(&trace).expect("a folder");
    for name in ["metadata", "uchan_0", "uchan_1", "uchan_2", "uchan_3"] {
        fs::copy(fixture.join(name), trace.join(name)).expect("the fixture");
    }
    folder
}

/// The number of events below a path.
fn events(path: &Path) -> u64 {
    let counted = slowpath(&["count", "--by", "none", "--json"], path);
    assert_eq!(counted.status, Some(0), "{}", counted.stderr);
    counted.json()["events"].as_u64().expect("a number")
}

#[test]
fn links_in_circles_are_followed_once() {
    let folder = with_trace();
    let once = events(folder.path());
    symlink(folder.path(), folder.path().join("self")).expect("a link");
    symlink(folder.path().join("trace"), folder.path().join("again")).expect("a link");
    assert_eq!(events(folder.path()), once);
}

#[test]
fn a_trace_named_twice_is_one_trace() {
    let folder = with_trace();
    let trace = folder.path().join("trace");
    let twice = Command::new(env!("CARGO_BIN_EXE_slowpath"))
        .args(["count", "--by", "none", "--json"])
        .args([&trace, &trace])
        .output()
        .expect("slowpath runs");
    let counted: serde_json::Value = serde_json::from_slice(&twice.stdout).expect("JSON");
    assert_eq!(counted["events"].as_u64(), Some(events(&trace)));
}

#[test]
fn pipes_are_left_alone() {
    let folder = with_trace();
    let pipe: PathBuf = folder.path().join("pipe");
    let made = Command::new("mkfifo").arg(&pipe).status().expect("mkfifo");
    assert!(made.success());
    // Opening a pipe that nobody writes to would wait for ever.
    assert_eq!(events(folder.path()), events(&folder.path().join("trace")));
    let alone = slowpath(&["count"], &pipe);
    assert_eq!(alone.status, Some(3));
    assert!(alone.stderr.contains("holds no trace"), "{}", alone.stderr);
}

#[test]
fn nothing_to_read_is_said_with_a_hint() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let empty = slowpath(&["info"], folder.path());
    assert_eq!(empty.status, Some(3));
    assert!(empty.stderr.contains("hint:"), "{}", empty.stderr);
    let missing = slowpath(&["info"], &folder.path().join("missing"));
    assert_eq!(missing.status, Some(3));
}

#[test]
fn names_that_nothing_has_are_refused_with_a_hint() {
    let folder = with_trace();
    for (filter, said) in [("--event", "no event has"), ("--stream", "no stream has")] {
        let refused = slowpath(&["events", filter, "nope*"], folder.path());
        assert_eq!(refused.status, Some(2), "{}", refused.stderr);
        let stderr = &refused.stderr;
        assert!(
            stderr.contains(said) && stderr.contains("nope*"),
            "{stderr}"
        );
        assert!(stderr.contains("hint:"), "{stderr}");
        let one_of_two = slowpath(&["events", filter, "nope*", filter, "*"], folder.path());
        assert_eq!(one_of_two.status, Some(0), "{}", one_of_two.stderr);
    }
}

#[test]
fn a_reader_that_stops_reading_is_no_error() {
    let folder = with_trace();
    let exports = ["otlp", "folded", "arrow", "parquet", "perfetto"]
        .map(|form| ["export", "--to", form, "--output", "-"]);
    let others = [&["events"][..], &["count"], &["info"]];
    for command in others
        .into_iter()
        .chain(exports.iter().map(|export| &export[..]))
    {
        let mut child = Command::new(env!("CARGO_BIN_EXE_slowpath"))
            .args(command)
            .arg(folder.path())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("slowpath runs");
        drop(child.stdout.take());
        let ended = child.wait_with_output().expect("it ends");
        let talk = String::from_utf8_lossy(&ended.stderr);
        assert_eq!(ended.status.code(), Some(0), "{command:?}: {talk}");
    }
}

#[test]
fn a_full_disk_is_answered_with_a_hint() {
    let Ok(full) = fs::File::create("/dev/full") else {
        support::skip("there is no /dev/full");
        return;
    };
    let folder = with_trace();
    let ended = Command::new(env!("CARGO_BIN_EXE_slowpath"))
        .arg("count")
        .arg(folder.path())
        .stdout(full)
        .output()
        .expect("slowpath runs");
    let talk = String::from_utf8_lossy(&ended.stderr);
    assert_eq!(ended.status.code(), Some(2), "{talk}");
    assert!(talk.contains("hint: the disk is full"), "{talk}");
}

#[test]
fn a_manifest_that_cannot_be_used_is_said() {
    let folder = with_trace();
    for text in ["no JSON", "{\"format_version\": 99}"] {
        fs::write(folder.path().join("slowpath.json"), text).expect("a file");
        let counted = slowpath(&["count"], folder.path());
        assert_eq!(counted.status, Some(1), "{text}");
        assert!(
            counted.stderr.contains("slowpath.json"),
            "{}",
            counted.stderr
        );
    }
}

#[test]
fn a_flight_recorder_that_has_written_nothing_says_so() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let kernel = folder.path().join("kernel");
    fs::create_dir_all(kernel.join("events")).expect("a folder");
    fs::write(kernel.join("header_page"), "").expect("a file");
    let write = |begin: i64, end: i64| {
        let manifest = format!(
            r#"{{"format_version":1,"mode":"snapshot","complete":false,"begin_ns":{begin},"end_ns":{end}}}"#
        );
        fs::write(folder.path().join("slowpath.json"), manifest).expect("a file");
    };
    write(17, 17);
    let cpu_says = || {
        let told = slowpath(&["cpu"], folder.path());
        assert_eq!(told.status, Some(3), "{}", told.stderr);
        told.stderr
    };
    // Nobody is there any more.
    let said = cpu_says();
    assert!(said.contains("those events are lost"), "{said}");
    // A guardian is at it.
    let lock = fs::File::open(folder.path()).expect("a folder");
    lock.try_lock().expect("nobody else has it");
    let said = cpu_says();
    assert!(said.contains("try again in a second"), "{said}");
    let recorder = UnixListener::bind(folder.path().join("control.sock")).expect("a socket");
    let told = slowpath(&["cpu"], folder.path());
    assert_eq!(told.status, Some(3), "{}", told.stderr);
    let hint = format!("`slowpath snapshot {}`", folder.path().display());
    assert!(
        told.stderr.contains("nothing is written yet"),
        "{}",
        told.stderr
    );
    assert!(told.stderr.contains(&hint), "{}", told.stderr);
    drop((recorder, lock));
    // A guardian that put a killed one away has written its end.
    write(17, 18);
    let told = slowpath(&["cpu"], folder.path());
    assert!(
        !told.stderr.contains("nothing is written yet"),
        "{}",
        told.stderr
    );
}

#[test]
fn two_hosts_of_one_name_are_kept_apart() {
    const BOOT: &[u8] = b"e0b24716-ccee-4214-a3ff-5d4126177207";
    let (one, other) = (with_trace(), with_trace());
    let requests = |paths: &[&Path]| {
        let output = Command::new(env!("CARGO_BIN_EXE_slowpath"))
            .args(["requests", "--json"])
            .args(paths)
            .output()
            .expect("slowpath runs");
        let document: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
        let requests = document["requests"].as_array().expect("requests").len();
        (
            requests,
            String::from_utf8_lossy(&output.stderr).into_owned(),
        )
    };
    let (alone, words) = requests(&[one.path()]);
    assert!(alone > 0 && !words.contains("hosts are called"), "{words}");
    let metadata = other.path().join("trace/metadata");
    let mut bytes = fs::read(&metadata).expect("metadata");
    let place =
        (bytes.windows(BOOT.len()).position(|part| part == BOOT)).expect("the clock's UUID");
    bytes[place] = b'f';
    fs::write(&metadata, bytes).expect("metadata");
    let (both, words) = requests(&[one.path(), other.path()]);
    assert_eq!(both, 2 * alone, "{words}");
    assert!(words.contains("2 hosts are called `lttngvm`"), "{words}");
    // The same operations on both are counted apart.
    let counts = |paths: &[&Path]| {
        let output = Command::new(env!("CARGO_BIN_EXE_slowpath"))
            .args(["requests", "--json", "--percentiles"])
            .args(paths)
            .output()
            .expect("slowpath runs");
        let document: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
        let rows = document["operations"].as_array().expect("operations");
        let count = |row: &serde_json::Value| row["count"].as_u64().expect("a count");
        let hosts = rows.iter().filter_map(|row| row["host"].as_str());
        let hosts: BTreeSet<String> = hosts.map(str::to_owned).collect();
        (rows.iter().map(count).collect::<Vec<u64>>(), hosts.len())
    };
    let (mut alone, hosts) = counts(&[one.path()]);
    assert_eq!(hosts, 0, "one host needs no name");
    let (mut both, hosts) = counts(&[one.path(), other.path()]);
    assert_eq!(hosts, 2);
    alone.extend(alone.clone());
    alone.sort_unstable();
    both.sort_unstable();
    assert_eq!(both, alone);
}

#[test]
fn options_that_would_be_passed_over_are_refused() {
    let folder = with_trace();
    let says = |arguments: &[&str], expected: &str| {
        let told = slowpath(arguments, folder.path());
        assert_eq!(told.status, Some(2), "{arguments:?}");
        assert!(
            told.stderr.contains(expected),
            "{arguments:?}: {}",
            told.stderr
        );
    };
    says(
        &["requests", "--percentiles", "--slowest", "3"],
        "leave out --slowest",
    );
    says(
        &["export", "--to", "folded", "--output", "-", "--json"],
        "hint: --output FILE",
    );
    says(&["requests", "--min-duration", "1min"], "no request fits");
}

#[test]
fn a_negative_number_is_told_what_is_wanted_instead() {
    let folder = with_trace();
    let refused = |arguments: &[&str], wanted: &str| {
        let told = slowpath(arguments, folder.path());
        assert_eq!(told.status, Some(2), "{arguments:?}");
        let says = told.stderr.contains(arguments[1]) && told.stderr.contains(wanted);
        assert!(says, "{arguments:?}: {}", told.stderr);
    };
    refused(&["report", "--slowest", "-1"], "-1 is not in 1..=100");
    for [command, option] in [["requests", "--slowest"], ["transfers", "--top"]] {
        refused(
            &[command, option, "-1"],
            "a whole number from 0 on is wanted",
        );
    }
    for command in ["requests", "services", "state", "serve", "report"] {
        refused(
            &[command, "--jobs", "-1"],
            "a whole number from 1 on is wanted",
        );
    }
    for option in ["--begin", "--end"] {
        refused(
            &["requests", option, "-5s"],
            "`-5s` is neither nanoseconds since the epoch nor an offset",
        );
    }
    refused(
        &["requests", "--jobs", "0"],
        "a whole number from 1 on is wanted",
    );
}
