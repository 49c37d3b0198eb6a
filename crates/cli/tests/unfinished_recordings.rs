//! Recordings of recorders that did not end in order, or had nothing to record: what is said of them is true.

mod support;

use std::fs;
use std::path::Path;

use serde_json::Value;
use support::server::Server;
use support::{quiet_recording, slowpath};

/// Changes what a recording says about itself.
fn change_manifest(recording: &Path, change: impl Fn(&mut Value)) {
    let path = recording.join("slowpath.json");
    let text = fs::read(&path).expect("a manifest");
    let mut manifest: Value = serde_json::from_slice(&text).expect("JSON");
    change(&mut manifest);
    fs::write(&path, manifest.to_string()).expect("written");
}

#[test]
fn a_processor_of_which_only_the_statistics_are_there_is_missed() {
    let (_folder, recording) = quiet_recording();
    assert_eq!(slowpath(&["count"], &recording).status, Some(0));
    let pages = recording.join("kernel/cpu1.raw");
    fs::remove_file(&pages).expect("pages");
    let is_missed = || {
        let told = slowpath(&["count"], &recording);
        let is_named =
            told.stderr.contains("error[MissingStream]") && told.stderr.contains("cpu1.raw: ");
        assert_eq!(told.status, Some(is_named.into()), "{}", told.stderr);
        is_named
    };
    assert!(is_missed());
    // A processor that recorded nothing has no pages.
    let stats = "entries: 0\noverrun: 0\nread events: ";
    for (read, expected) in [(0, false), (7, true)] {
        let stats = format!("{stats}{read}\n");
        fs::write(recording.join("kernel/stats/cpu1"), stats).expect("statistics");
        assert_eq!(is_missed(), expected, "{read}");
    }
    // What was read before an earlier snapshot is not in this one, which lists its files.
    change_manifest(&recording, |manifest| {
        manifest["files"]["kernel/cpu0.raw"] = fs::metadata(recording.join("kernel/cpu0.raw"))
            .expect("pages")
            .len()
            .into();
    });
    assert!(!is_missed());
    change_manifest(&recording, |manifest| {
        manifest["files"]["kernel/cpu1.raw"] = 4096.into()
    });
    assert!(is_missed());
}

#[test]
fn a_recording_without_events_is_called_one() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    for (manifest, why) in [
        (
            r#"{"format_version":1,"complete":true,"begin_ns":1,"end_ns":2,"kernel":{"tracer":"none"}}"#,
            "is a recording without events: kernel events were not asked for",
        ),
        (
            r#"{"format_version":1,"complete":false,"begin_ns":1,"end_ns":1,"kernel":{"tracer":"ftrace"}}"#,
            "is a recording without events: its recorder runs, failed at its start",
        ),
        (
            r#"{"format_version":1,"complete":true,"begin_ns":1,"end_ns":2,"snapshots":["snapshot-1"]}"#,
            "has no events of its own: they are in its snapshots snapshot-1",
        ),
    ] {
        fs::write(folder.path().join("slowpath.json"), manifest).expect("written");
        let told = slowpath(&["info"], folder.path());
        assert_eq!(told.status, Some(3));
        assert!(told.stderr.contains(why), "{}", told.stderr);
    }
}

#[test]
fn nothing_is_known_of_a_processor_without_pages_whose_recorder_was_killed() {
    let (_folder, recording) = quiet_recording();
    fs::write(recording.join("kernel/cpu1.raw"), []).expect("emptied");
    change_manifest(&recording, |manifest| manifest["complete"] = false.into());
    let told = slowpath(&["cpu", "--json"], &recording);
    assert_eq!(told.status, Some(1), "{}", told.stderr);
    assert!(
        told.stderr.contains("cpu1.raw: it is empty"),
        "{}",
        told.stderr
    );
    let report = told.json();
    let window = report["end_ns"].as_i64().zip(report["begin_ns"].as_i64());
    let window = window.map(|(end, begin)| end - begin);
    let second = &report["cpus"][1];
    assert_eq!(second["cpu"], 1);
    assert_eq!(second["unknown_ns"].as_i64(), window, "{report}");
}

#[test]
fn nothing_is_known_of_a_processor_after_its_last_page_whose_recorder_was_killed() {
    let (_folder, recording) = quiet_recording();
    let pages = recording.join("kernel/cpu1.raw");
    let half = fs::metadata(&pages).expect("pages").len() / 2 / 4096 * 4096;
    let file = fs::File::options().write(true).open(&pages);
    file.expect("pages").set_len(half).expect("cut");
    let unknown = |complete: bool| {
        change_manifest(&recording, |manifest| {
            manifest["complete"] = complete.into()
        });
        let report = slowpath(&["cpu", "--json"], &recording).json();
        let ends = report["end_ns"].as_i64().zip(report["begin_ns"].as_i64());
        let unknown = report["cpus"][1]["unknown_ns"].as_i64();
        let (end, begin) = ends.expect("a window");
        unknown.expect("a number") as f64 / (end - begin) as f64
    };
    assert_eq!(unknown(true), 0.0);
    let share = unknown(false);
    assert!(share > 0.05 && share < 0.95, "{share}");
}

#[test]
fn that_the_recorder_did_not_end_in_order_is_told_by_commands_and_the_server() {
    let (_folder, recording) = quiet_recording();
    let told = |expected: Option<(&str, &str)>| {
        let words = expected.map_or(String::new(), |(code, what)| {
            format!("warning[{code}]: {}: {what}", recording.display())
        });
        let info = slowpath(&["info"], &recording);
        assert_eq!(info.status, Some(0), "{}", info.stderr);
        assert_eq!(
            info.stderr.contains("end may be missing"),
            expected.is_some()
        );
        assert!(info.stderr.contains(&words), "{words}: {}", info.stderr);
        let answer = Server::of(&recording).get("/api/recording");
        let diagnostics = answer["diagnostics"].as_array().expect("diagnostics");
        let mut unfinished = diagnostics.iter().filter(|one| {
            let message = one["message"].as_str().expect("a message");
            message.contains("end may be missing")
        });
        let found = unfinished.next().map(|one| one["code"].as_str());
        assert_eq!(found, expected.map(|(code, _)| Some(code)), "{answer}");
        assert_eq!(unfinished.next(), None, "{answer}");
    };
    told(None);
    change_manifest(&recording, |manifest| manifest["complete"] = false.into());
    let killed = "the recorder did not end in order";
    told(Some(("UnfinishedRecording", killed)));
    let full = "kernel events could not be written: No space left on device (os error 28)";
    change_manifest(&recording, |manifest| {
        manifest["ended_because"] = full.into()
    });
    let info = slowpath(&["info", "--json"], &recording);
    assert_eq!(info.json()["traces"][0]["recording"]["ended_because"], full);
    let could_not = "the recorder could not go on, and what came later is missing: ";
    let words = format!(
        "warning[UnfinishedRecording]: {}: {could_not}{full}",
        recording.display()
    );
    assert!(info.stderr.contains(&words), "{}", info.stderr);
    change_manifest(&recording, |manifest| {
        manifest["ended_because"] = Value::Null
    });
    change_manifest(&recording, |manifest| {
        manifest["end_ns"] = manifest["begin_ns"].clone()
    });
    let running = "it was still being recorded when it was opened";
    told(Some(("StillRecorded", running)));
}

#[test]
fn what_a_flight_recorder_wrote_before_the_disk_was_full_is_read() {
    let (_folder, recording) = quiet_recording();
    let kernel = recording.join("kernel");
    for part in ["ust", "spans"] {
        fs::remove_dir_all(recording.join(part)).unwrap_or_default();
    }
    change_manifest(&recording, |manifest| {
        manifest["mode"] = "snapshot".into();
        manifest["complete"] = false.into();
        manifest["end_ns"] = manifest["begin_ns"].clone();
        manifest["ust"] = Value::Null;
    });
    fs::write(kernel.join("cpu1.raw"), []).expect("emptied");
    let told = slowpath(&["info"], &recording);
    assert_eq!(told.status, Some(1), "{}", told.stderr);
    let unknown = "what this processor did is not known";
    assert!(told.stderr.contains(unknown), "{}", told.stderr);
    let unfinished = "the end may be missing";
    assert!(told.stderr.contains(unfinished), "{}", told.stderr);
    fs::write(kernel.join("cpu0.raw"), []).expect("emptied");
    let told = slowpath(&["info"], &recording);
    assert_eq!(told.status, Some(3), "{}", told.stderr);
    let why = "were killed or had no room";
    assert!(told.stderr.contains(why), "{}", told.stderr);
    change_manifest(&recording, |manifest| {
        manifest["snapshots"] = serde_json::json!(["snapshot-1"]);
    });
    let told = slowpath(&["info"], &recording);
    assert_eq!(told.status, Some(3), "{}", told.stderr);
    let where_they_are = "they are in its snapshots snapshot-1";
    assert!(told.stderr.contains(where_they_are), "{}", told.stderr);
}
