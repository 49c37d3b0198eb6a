//! Times that cannot be true: what they touch is told and unknown, and the rest of the answer is as before.

mod support;

use std::fs;
use std::path::Path;

use serde_json::Value;
use support::{Printed, quiet_recording, slowpath, unpacked};

const PAGE: usize = 4096;
const HOUR_NS: u64 = 3_600_000_000_000;

/// Changes the 64-bit number at `at` of a file.
fn change(path: &Path, at: impl Fn(&[u8]) -> usize, change: impl Fn(u64) -> u64) {
    let mut bytes = fs::read(path).expect("a file");
    let at = at(&bytes);
    let place = &mut bytes[at..at + 8];
    let old = u64::from_le_bytes(place.try_into().expect("eight bytes"));
    place.copy_from_slice(&change(old).to_le_bytes());
    fs::write(path, bytes).expect("written");
}

fn processors(report: &Value) -> &Vec<Value> {
    report["cpus"].as_array().expect("processors")
}

fn length(report: &Value) -> i64 {
    let [begin, end] = ["begin_ns", "end_ns"].map(|key| report[key].as_i64().expect("a time"));
    end - begin
}

/// Asks for `cpu` and holds it against what it said of the whole recording: as long, no share is above a
/// whole, and of processor 0 alone some time is unknown.
fn check_first_processor(recording: &Path, whole: &Value) -> Printed {
    let told = slowpath(&["cpu", "--json"], recording);
    assert_eq!(told.status, Some(1), "{}", told.stderr);
    let report = told.json();
    let longer = length(&report) - length(whole);
    assert!(longer.abs() < 1_000_000_000, "{longer} ns longer");
    let rows = processors(&report);
    for row in rows
        .iter()
        .chain(report["threads"].as_array().expect("threads"))
    {
        assert!(row["percent"].as_f64() <= Some(100.0), "{row}");
    }
    assert!(rows[0]["unknown_ns"].as_u64() > Some(0), "{report}");
    assert_eq!(rows[1]["unknown_ns"], 0, "{report}");
    told
}

#[test]
fn pages_of_another_time_are_left_out() {
    let (_folder, recording) = quiet_recording();
    let whole = slowpath(&["cpu", "--json"], &recording).json();
    let middle = |bytes: &[u8]| bytes.len() / 2 / PAGE * PAGE;
    type At<'run> = &'run dyn Fn(&[u8]) -> usize;
    let places: [(&str, At<'_>); 3] = [
        ("first", &|_| 0),
        ("middle", &middle),
        ("last", &|bytes| bytes.len() - PAGE),
    ];
    for (name, at) in places {
        for change_by in [HOUR_NS, HOUR_NS.wrapping_neg()] {
            let (_folder, recording) = quiet_recording();
            let moved = |time: u64| time.wrapping_add(change_by);
            change(&recording.join("kernel/cpu0.raw"), at, moved);
            let told = check_first_processor(&recording, &whole).stderr;
            assert!(told.contains("cpu0.raw at byte"), "{name}: {told}");
        }
    }
    // Two in a row, by less than the recording is long.
    let (_folder, recording) = quiet_recording();
    for page in [0, PAGE] {
        let next = |bytes: &[u8]| middle(bytes) + page;
        change(&recording.join("kernel/cpu0.raw"), next, |time| {
            time - 700_000_000
        });
    }
    let told = check_first_processor(&recording, &whole).stderr;
    assert!(told.contains("contradicts the pages around it"), "{told}");
}

#[test]
fn records_lie_between_their_page_and_the_next() {
    let (_folder, recording) = quiet_recording();
    let whole = slowpath(&["cpu", "--json"], &recording).json();
    let pages = recording.join("kernel/cpu0.raw");
    // A time extension (type 30) of 2^39 ns in the place of the first record.
    let first_record = |bytes: &[u8]| bytes.len() / 2 / PAGE * PAGE + 16;
    change(&pages, first_record, |_| 30 | 1 << 44);
    let told = check_first_processor(&recording, &whole).stderr;
    assert!(told.contains("a record's time lies outside"), "{told}");
}

#[test]
fn events_outside_of_the_time_that_the_recording_states_are_damaged() {
    // An application's last packet ends an hour later: 8 bytes behind its begin, which is at byte 32.
    let (_folder, recording) = quiet_recording();
    let whole = slowpath(&["count", "--json"], &recording).json();
    let trace = recording.join("ust/uid/0/64-bit");
    fs::remove_dir_all(trace.join("index")).expect("an index");
    change(&trace.join("slowpath_0"), |_| 40, |end| end + HOUR_NS);
    let told = slowpath(&["count", "--json"], &recording);
    assert_eq!(told.status, Some(1), "{}", told.stderr);
    let words = "is not the time of the recording";
    assert!(told.stderr.contains(words), "{}", told.stderr);
    let longer = length(&told.json()) - length(&whole);
    assert!(longer.abs() < 1_000_000_000, "{longer} ns longer");

    // Where nothing fits, it is the statement that is wrong.
    let (_folder, recording) = quiet_recording();
    let path = recording.join("slowpath.json");
    let text = fs::read(&path).expect("a manifest");
    let mut manifest: Value = serde_json::from_slice(&text).expect("JSON");
    for key in ["begin_ns", "end_ns"] {
        let at = manifest[key].as_i64().expect("a time");
        manifest[key] = (at - HOUR_NS as i64).into();
    }
    fs::write(&path, manifest.to_string()).expect("written");
    let told = slowpath(&["count", "--json"], &recording);
    assert_eq!(told.status, Some(1), "{}", told.stderr);
    assert!(
        told.stderr.contains("lie outside of that"),
        "{}",
        told.stderr
    );
    assert_eq!(told.json()["events"], whole["events"]);
}

#[test]
fn a_lonely_end_of_a_trace_is_doubted() {
    let Some(trace) = unpacked("io-mix/io-mix.tar.zst") else {
        return;
    };
    let kernel = trace.join("io-mix/kernel");
    let folder = tempfile::tempdir().expect("a folder");
    for name in ["metadata", "kchan_0", "kchan_1"] {
        fs::copy(kernel.join(name), folder.path().join(name)).expect("copied");
    }
    let told = slowpath(&["count"], folder.path());
    assert_eq!((told.status, told.stderr.as_str()), (Some(0), ""));
    change(&folder.path().join("kchan_0"), last_packet_end, |end| {
        end + HOUR_NS
    });
    let told = slowpath(&["count"], folder.path());
    assert_eq!(told.status, Some(0), "{}", told.stderr);
    let said = told.stderr.matches("warning[UnlikelyTime]").count();
    assert_eq!(said, 1, "{}", told.stderr);
    assert!(told.stderr.contains("kchan_0"), "{}", told.stderr);
}

/// Where the last packet of a stream of LTTng states its end; its size in bits is 16 bytes further on.
fn last_packet_end(stream: &[u8]) -> usize {
    const END_AT: usize = 40;
    let mut begin = 0;
    loop {
        let size = begin + END_AT + 16;
        let bits = stream[size..size + 8].try_into().expect("eight bytes");
        let next = begin + u64::from_le_bytes(bits) as usize / 8;
        if next >= stream.len() {
            return begin + END_AT;
        }
        begin = next;
    }
}
