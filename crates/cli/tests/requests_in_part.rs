//! Requests whose start or end is not recorded: how long they took is not known, and nothing is made of it.

mod support;

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::path::PathBuf;
use std::process::Command;

use serde_json::{Value, json};
use support::server::{Server, i64_of};
use support::{slowpath, unpacked};
use tempfile::TempDir;

const OTHERS: &str = "left out, of unknown length: their start or end is not recorded (";

/// A recording of our own to damage.
fn own_copy() -> Option<(TempDir, PathBuf)> {
    let shared = unpacked("futex-contention/futex-contention.tar.zst")?.join("futex-contention");
    let folder = tempfile::tempdir().expect("a temporary folder");
    let copied = Command::new("cp")
        .arg("-r")
        .args([&shared, folder.path()])
        .status();
    assert!(copied.expect("cp runs").success());
    let trace = folder.path().join("futex-contention");
    Some((folder, trace))
}

#[test]
fn requests_that_are_shown_in_part_are_in_no_percentile_and_no_comparison() {
    let Some((_folder, trace)) = own_copy() else {
        return;
    };
    let cut = File::options()
        .write(true)
        .open(trace.join("ust/uid/0/64-bit/uchan_2"));
    cut.and_then(|file| file.set_len(56_723)).expect("cut");

    let rows = slowpath(&["requests", "--json"], &trace).json();
    let rows = rows["requests"].as_array().expect("requests");
    let (whole, in_part): (Vec<&Value>, Vec<&Value>) =
        rows.iter().partition(|row| row["shown"] == "whole");
    assert!(
        in_part.len() > 10 && whole.len() > 1000,
        "{} of {}",
        in_part.len(),
        rows.len()
    );
    let durations = |comm: &str| -> Vec<i64> {
        let of_comm = whole.iter().filter(|row| row["comm"] == comm);
        of_comm.map(|row| i64_of(row, "duration_ns")).collect()
    };

    let bands = slowpath(
        &["requests", "--percentiles", "--slowest", "1", "--json"],
        &trace,
    )
    .json();
    let compared = slowpath(&["compare", "--json"], &trace).json();
    let server = Server::of(&trace);
    for document in [&bands, &server.get("/api/operations")] {
        assert_eq!(document["in_part"], in_part.len());
        for operation in document["operations"].as_array().expect("operations") {
            let of_comm = durations(operation["comm"].as_str().expect("a name"));
            assert_eq!(operation["count"], of_comm.len(), "{operation}");
            assert_eq!(operation["max_ns"].as_i64(), of_comm.iter().max().copied());
        }
    }
    assert_eq!(compared["in_part"], in_part.len());
    for document in [&bands, &compared] {
        let left_out = document["left_out"].as_array().expect("operations");
        for operation in left_out {
            let of_comm = in_part
                .iter()
                .filter(|row| row["comm"] == operation["comm"]);
            assert_eq!(operation["in_part"], of_comm.count(), "{operation}");
        }
        let sum: i64 = left_out.iter().map(|row| i64_of(row, "in_part")).sum();
        assert_eq!(sum as usize, in_part.len());
    }
    for operation in compared["operations"].as_array().expect("operations") {
        let mut slow = durations(operation["comm"].as_str().expect("a name"));
        slow.sort_unstable_by(|one, other| other.cmp(one));
        slow.truncate(slow.len().div_ceil(10));
        let mean = slow.iter().sum::<i64>() / slow.len() as i64;
        let found = operation["mean_ns"][1].as_i64().expect("a mean");
        assert!(
            (found - mean).abs() <= 1,
            "{found} is not {mean}: {operation}"
        );
    }
    let page = server.get("/api/requests?limit=10000");
    let of_page = page["requests"].as_array().expect("requests");
    assert_eq!(of_page.len(), rows.len());
    for row in of_page {
        assert_eq!(
            row["percentile"].is_null(),
            row["shown"] != "whole",
            "{row}"
        );
    }
    let classes = server.get("/api/distribution");
    let counts = classes["counts"].as_array().expect("counts").iter();
    let counted: u64 = counts.filter_map(Value::as_u64).sum();
    assert_eq!(counted as usize, whole.len());

    let marked: Vec<i64> = of_page.iter().map(|row| i64_of(row, "id")).collect();
    let groups = json!({ "one": { "requests": marked }, "other": { "percentiles": [0, 50] } });
    let group = &server.post("/api/compare", groups)["one"];
    let counts = (&group["count"], &group["in_part"]);
    assert_eq!(counts, (&json!(whole.len()), &json!(in_part.len())));

    let exported = slowpath(&["export", "--to", "otlp", "-o", "-"], &trace).stdout;
    let mut marked = BTreeSet::new();
    for document in serde_json::Deserializer::from_slice(&exported).into_iter::<Value>() {
        let document = document.expect("a document");
        let lists = document["resourceSpans"].as_array().expect("lists").iter();
        let spans = lists.flat_map(|list| list["scopeSpans"][0]["spans"].as_array().unwrap());
        for span in spans {
            let mut attributes = span["attributes"].as_array().expect("attributes").iter();
            if attributes.any(|attribute| attribute["key"] == "slowpath.shown") {
                marked.insert(span["parentSpanId"].as_str().expect("an id").to_owned());
            }
        }
    }
    let ids = in_part
        .iter()
        .map(|row| row["span_id"].as_str().expect("an id").to_owned());
    assert_eq!(marked, ids.collect());

    let text = |command: &[&str]| {
        let printed = slowpath(command, &trace).stdout;
        String::from_utf8(printed).expect("text")
    };
    let told = format!("{} requests are {OTHERS}", in_part.len());
    for command in [&["requests", "--percentiles"][..], &["compare"]] {
        assert!(
            text(command).contains(&told),
            "{command:?}: {}",
            text(command)
        );
    }
    // Behind all others, marked.
    let all = text(&["requests", "--slowest", "0"]);
    assert!(all.contains("\n? not known: "), "{all}");
    let durations: Vec<&str> = all.lines().skip(1).take(rows.len()).collect();
    let (known, in_part_rows) = durations.split_at(whole.len());
    let is_marked = |line: &&str| line.trim_start().starts_with("? ");
    assert!(!known.iter().any(is_marked) && in_part_rows.iter().all(is_marked));
    let at_least = slowpath(&["requests", "--json", "--min-duration", "1s"], &trace).json();
    assert_eq!(at_least["requests"], Value::Array(Vec::new()));
    assert_eq!(server.get("/api/requests?min_ns=1000000000")["total"], 0);
}

#[test]
fn a_stream_of_spans_that_is_gone_with_its_index_is_missed() {
    let Some((_folder, trace)) = own_copy() else {
        return;
    };
    let told = |command: &str| slowpath(&[command, "--json"], &trace).stderr;
    assert!(!told("requests").contains("MissingSpanEvents"));
    let streams = trace.join("ust/uid/0/64-bit");
    fs::remove_file(streams.join("uchan_1")).expect("removed");
    fs::remove_dir_all(streams.join("index")).expect("removed");
    for command in ["requests", "diagnose", "compare"] {
        let told = told(command);
        assert!(
            told.contains("no event of a span is from processor 1, "),
            "{told}"
        );
        // What is not known to have begun has not moved.
        assert!(!told.contains("SpansMoveUnseen"), "{told}");
    }
}
