//! Traces of different times opened together: clocks that count from the epoch beside those that do not, and hosts of
//! which nothing was recorded in the window that is asked for.

mod support;

use std::path::{Path, PathBuf};

use serde_json::Value;
use support::{Printed, quiet_recording, slowpath};

/// A file of trace-cmd from `tests/fixtures`.
fn of_trace_cmd(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../tests/fixtures/ftrace-trace-cmd")
        .join(name)
}

fn on_both(command: &[&str], one: &Path, other: &Path) -> Printed {
    let one = one.to_str().expect("a plain path");
    slowpath(&[command, &[one]].concat(), other)
}

#[test]
fn a_clock_without_an_epoch_beside_one_with_is_told() {
    let (_folder, recording) = quiet_recording();
    let counts_from_start = of_trace_cmd("everyday-v6.dat");
    let alone = slowpath(&["cpu"], &counts_from_start);
    assert!(!alone.stderr.contains("MixedClocks"), "{}", alone.stderr);
    let told = on_both(&["cpu"], &recording, &counts_from_start).stderr;
    let said = format!("warning[MixedClocks]: {}", counts_from_start.display());
    assert!(told.contains(&said), "{told}");
    let of_date = of_trace_cmd("everyday-v7-zstd.dat");
    let told = on_both(&["cpu"], &recording, &of_date).stderr;
    assert!(!told.contains("MixedClocks"), "{told}");
}

#[test]
fn a_host_of_another_time_has_no_window_of_its_own() {
    let (_folder, recording) = quiet_recording();
    let other = of_trace_cmd("everyday-v6.dat");
    let whole = slowpath(&["cpu", "--json"], &other).json();
    let begin = whole["begin_ns"].as_i64().expect("a time");
    let window = ["--begin", "+1ms", "--end", "+3ms"];
    for command in ["cpu", "io", "latency"] {
        let asked = [&[command, "--json"], &window[..]].concat();
        let both = on_both(&asked, &recording, &other).json();
        let ms = |key: &str| (both[key].as_i64().expect("a time") - begin) / 1_000_000;
        assert_eq!((ms("begin_ns"), ms("end_ns")), (1, 3), "{command}: {both}");
        // Nothing is known of its processors, which are not idle.
        let mut rows = both.as_object().expect("a document").values();
        let is_of_other = |row: &Value| row["host"] == "vm";
        let are_of_other = |rows: &Value| {
            let rows = rows.as_array().into_iter().flatten();
            rows.into_iter().all(is_of_other)
        };
        assert!(rows.all(are_of_other), "{command}: {both}");
    }
    let asked = [&["thread-states"], &window[..]].concat();
    let printed = on_both(&asked, &recording, &other);
    assert_eq!(printed.status, Some(0), "{}", printed.stderr);
    let printed = String::from_utf8_lossy(&printed.stdout);
    assert!(
        printed.contains("nothing was recorded of it then"),
        "{printed}"
    );
    let printed = on_both(&[&["cpu"], &window[..]].concat(), &recording, &other);
    let printed = String::from_utf8_lossy(&printed.stdout);
    let count = |text| printed.matches(text).count();
    assert_eq!(count("window: "), 1, "{printed}");
    assert_eq!(count("nothing was recorded of it then"), 1, "{printed}");
}
