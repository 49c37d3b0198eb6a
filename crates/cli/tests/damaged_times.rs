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

/// Moves the pages of processor 0 from one on (both a share of all, in hundredths) to another one.
fn move_pages(recording: &Path, from: usize, to: usize, by_ns: i64) {
    let path = recording.join("kernel/cpu0.raw");
    let pages = fs::metadata(&path).expect("pages").len() as usize / PAGE;
    for page in pages * from / 100..pages * to / 100 {
        change(
            &path,
            |_| page * PAGE,
            |time| time.wrapping_add_signed(by_ns),
        );
    }
}

#[test]
fn many_pages_of_another_time_are_left_out() {
    let (_folder, recording) = quiet_recording();
    let whole = slowpath(&["cpu", "--json"], &recording).json();
    for (from, to, by_ns) in [
        (30, 60, -1_000_000_000),
        (60, 90, 1_000_000_000),
        (20, 70, 40_000_000),
    ] {
        let (_folder, recording) = quiet_recording();
        move_pages(&recording, from, to, by_ns);
        let told = check_first_processor(&recording, &whole).stderr;
        assert!(told.contains("a page's time"), "{told}");
        assert!(!told.contains("were lost"), "{told}");
        let events = slowpath(&["events", "--format", "jsonl"], &recording);
        let times = events.lines().into_iter().map(|line| {
            let event: Value = serde_json::from_slice(line).expect("JSON");
            event["ns"].as_i64().expect("a time")
        });
        assert!(times.is_sorted(), "{from} to {to}");
    }
}

#[test]
fn a_complete_recording_has_no_page_after_its_end() {
    let (_folder, recording) = quiet_recording();
    let whole = slowpath(&["cpu", "--json"], &recording).json();
    let last = |bytes: &[u8]| bytes.len() - PAGE;
    let later = |time: u64| time + 10_000_000_000;
    change(&recording.join("kernel/cpu0.raw"), last, later);
    let told = check_first_processor(&recording, &whole).stderr;
    assert!(
        told.contains("is not in the time of the recording"),
        "{told}"
    );
}

#[test]
fn a_damaged_offset_to_wall_time_is_told() {
    let (_folder, recording) = quiet_recording();
    let whole = slowpath(&["cpu", "--json"], &recording).json();
    let path = recording.join("slowpath.json");
    let manifest: Value =
        serde_json::from_slice(&fs::read(&path).expect("a manifest")).expect("JSON");
    let with_offset = |name: &str, offset: i64| {
        let mut manifest = manifest.clone();
        manifest["clocks"][0][name] = offset.into();
        fs::write(&path, manifest.to_string()).expect("written");
        slowpath(&["cpu", "--json"], &recording)
    };
    for name in ["offset_to_epoch_ns", "offset_to_epoch_at_end_ns"] {
        let told = with_offset(name, 12_345);
        assert_eq!(told.status, Some(1), "{}", told.stderr);
        assert!(told.stderr.contains("cannot be true"), "{}", told.stderr);
        assert_eq!(told.json(), whole, "{name}");
    }
    let offset = manifest["clocks"][0]["offset_to_epoch_at_end_ns"].as_i64();
    let told = with_offset(
        "offset_to_epoch_at_end_ns",
        offset.expect("an offset") + 2_000_000_000,
    );
    assert_eq!(told.status, Some(0), "{}", told.stderr);
    assert!(
        told.stderr.contains("warning[WallTimeSet]"),
        "{}",
        told.stderr
    );
}

#[test]
fn events_lie_in_their_packet() {
    const BEGIN: usize = 32;
    const END: usize = 40;
    for at in [BEGIN, END] {
        let (_folder, recording) = quiet_recording();
        let trace = recording.join("ust/uid/0/64-bit");
        fs::remove_dir_all(trace.join("index")).expect("an index");
        let file = trace.join("slowpath_0");
        let bytes = fs::read(&file).expect("a stream");
        let stated = |at: usize| u64::from_le_bytes(*bytes[at..].first_chunk().expect("a time"));
        // The 32-bit times of all events are before such a begin, and would wrap.
        let moved = match at {
            BEGIN => stated(END),
            _ => stated(BEGIN) + 1,
        };
        change(&file, |_| at, |_| moved);
        for command in ["events", "count"] {
            let told = slowpath(&[command], &trace);
            assert_eq!(told.status, Some(1), "{command}: {}", told.stderr);
            let words = "outside of its packet's";
            assert!(told.stderr.contains(words), "{command}: {}", told.stderr);
            assert!(!told.stderr.contains("were lost"), "{}", told.stderr);
            // No event is in its packet.
            assert!(command == "count" || told.lines().is_empty());
        }
    }
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
    for name in ["metadata", "kchan_0", "kchan_1", "kchan_2", "kchan_3"] {
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

#[test]
fn events_of_a_packet_in_which_time_goes_back_are_counted() {
    const METADATA: &str = r#"/* CTF 1.8 */
        typealias integer { size = 8; align = 8; } := u8;
        trace { major = 1; minor = 8; byte_order = le; };
        clock { name = c; freq = 1000000000; };
        typealias integer { size = 64; align = 8; map = clock.c.value; } := time;
        stream { packet.context := struct { u8 packet_size; }; event.header := struct { time timestamp; }; };
        event { name = "tick"; };"#;
    let folder = tempfile::tempdir().expect("a temporary folder");
    fs::write(folder.path().join("metadata"), METADATA).expect("written");
    let times = [500_u64, 700, 100].map(u64::to_le_bytes);
    let packet = [&[200], times.as_flattened()].concat();
    fs::write(folder.path().join("stream"), packet).expect("written");
    let printed = slowpath(&["count", "--json"], folder.path());
    let report = printed.json();
    let told = ["events", "begin_ns", "end_ns"].map(|key| report[key].as_i64());
    assert_eq!(told, [Some(3), Some(500), Some(700)]);
    let warning = "warning[TimeGoesBack]";
    assert!(printed.stderr.contains(warning), "{}", printed.stderr);
}
