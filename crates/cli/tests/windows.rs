//! `--begin` and `--end`: what they leave of a recording, before it, in it and after it.

mod support;

use serde_json::Value;
use support::{quiet_recording, slowpath, slowpath_succeeds};

#[test]
fn nothing_lies_in_a_window_after_or_before_the_trace() {
    let (_folder, recording) = quiet_recording();
    let answer = |arguments: &[&str]| slowpath_succeeds(arguments, &recording).json();
    for window in [["--begin", "+1000s"], ["--end", "5"]] {
        let counted = answer(&["count", "--by", "none", "--json", window[0], window[1]]);
        assert_eq!(counted["events"], 0, "{window:?}");
        let info = answer(&["info", "--json", window[0], window[1]]);
        assert_eq!(info["traces"][0]["begin_ns"], Value::Null, "{window:?}");
        let words = slowpath(&["info", window[0], window[1]], &recording);
        let words = String::from_utf8_lossy(&words.stdout);
        assert!(!words.contains(" -"), "{words}");
    }
    let none = slowpath(
        &["critical-path", "--comm", "*", "--begin", "+1000s"],
        &recording,
    );
    assert!(
        none.stderr.contains("no thread that lived in the window"),
        "{}",
        none.stderr
    );
}

#[test]
fn a_window_without_time_is_refused() {
    let (_folder, recording) = quiet_recording();
    let refused = slowpath(&["count", "--begin", "+1s", "--end", "+1s"], &recording);
    assert_eq!(refused.status, Some(2), "{}", refused.stderr);
    assert!(
        refused.stderr.contains("the window is empty"),
        "{}",
        refused.stderr
    );
}

#[test]
fn a_path_covers_the_window_that_was_asked_for() {
    let (_folder, recording) = quiet_recording();
    let whole = slowpath_succeeds(&["info", "--json"], &recording).json();
    let first = whole["traces"][0]["begin_ns"].as_i64().expect("a time");
    let arguments = [
        "critical-path",
        "--json",
        "--comm",
        "*",
        "--begin",
        "+10ms",
        "--end",
        "+60ms",
    ];
    let paths = slowpath(&arguments, &recording);
    let paths = String::from_utf8_lossy(&paths.stdout);
    for line in paths.lines() {
        let path: Value = serde_json::from_str(line).expect("a document per line");
        assert_eq!(
            path["begin_ns"].as_i64(),
            Some(first + 10_000_000),
            "{line}"
        );
        assert_eq!(path["end_ns"].as_i64(), Some(first + 60_000_000), "{line}");
        let summary = path["summary"].as_object().expect("sums");
        let all: i64 = summary.values().filter_map(Value::as_i64).sum();
        assert_eq!(all, 50_000_000, "{line}");
    }
    assert!(paths.lines().count() > 5, "{paths}");
}
