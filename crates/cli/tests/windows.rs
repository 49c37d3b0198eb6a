//! `--begin` and `--end`: what they leave of a recording, before it, in it and after it.

mod support;

use std::fs;

use serde_json::Value;
use support::server::Server;
use support::{quiet_recording, slowpath, slowpath_succeeds, unpacked};

#[test]
fn a_window_after_or_before_the_trace_is_refused_by_every_command() {
    let (_folder, recording) = quiet_recording();
    let whole = slowpath_succeeds(&["count", "--by", "none", "--json"], &recording).json();
    let covered = format!("from {} to {} ", whole["begin_ns"], whole["end_ns"]);
    let commands: [&[&str]; 12] = [
        &["count"],
        &["info"],
        &["events"],
        &["cpu"],
        &["io", "--json"],
        &["latency"],
        &["thread-states"],
        &["critical-path", "--comm", "*"],
        &["requests"],
        &["diagnose"],
        &["compare"],
        &["export", "--to", "perfetto", "--output", "-"],
    ];
    for command in commands {
        for window in [["--begin", "+1000s"], ["--end", "5"]] {
            let refused = slowpath(&[command, &window].concat(), &recording);
            assert_eq!(refused.status, Some(2), "{command:?}: {}", refused.stderr);
            let said = &refused.stderr;
            assert!(
                said.contains("nothing was recorded then"),
                "{command:?}: {said}"
            );
            assert!(said.contains(&covered), "{command:?}: {said}");
            assert!(refused.stdout.is_empty(), "{command:?}");
        }
    }
}

#[test]
fn merged_paths_are_those_of_threads_as_long_as_they_live() {
    let (_folder, recording) = quiet_recording();
    let merged = |window: &[&str]| {
        let command = [&["critical-path", "--merged", "--json"], window].concat();
        slowpath_succeeds(&command, &recording).stdout
    };
    assert_eq!(merged(&["--begin", "+0s"]), merged(&[]));
}

#[test]
fn an_answer_that_needs_switches_says_that_there_are_none() {
    let (_folder, recording) = quiet_recording();
    let says_so = |command: &[&str]| {
        let said = slowpath_succeeds(command, &recording).stderr;
        said.contains("no switch of threads was recorded then")
    };
    let all = || [says_so(&["cpu"]), says_so(&["thread-states"])];
    assert_eq!(all(), [false; 2]);
    // What it is called makes it one.
    let format = recording.join("kernel/events/sched/sched_switch/format");
    let told = fs::read_to_string(&format).expect("the format of an event");
    let without = told.replace("name: sched_switch\n", "name: sched_nothing\n");
    assert_ne!(without, told);
    fs::write(&format, without).expect("written");
    assert_eq!(all(), [true; 2]);
    // Wake-ups are there.
    let of_wake_ups = slowpath_succeeds(&["latency", "--kind", "wakeup"], &recording).stderr;
    assert!(
        of_wake_ups.contains("no switch to who was woken"),
        "{of_wake_ups}"
    );
}

#[test]
fn a_state_is_of_a_time_and_has_no_window() {
    let (_folder, recording) = quiet_recording();
    let refused = |arguments: &[&str], expected: &str| {
        let refused = slowpath(&[&["state"], arguments].concat(), &recording);
        assert_eq!(refused.status, Some(2), "{arguments:?}: {}", refused.stderr);
        let said = &refused.stderr;
        assert!(said.contains(expected), "{arguments:?}: {said}");
        assert!(refused.stdout.is_empty(), "{arguments:?}");
    };
    for late in ["+1000s", "+1000000000000s"] {
        refused(&["--at", late], "nothing was recorded then");
    }
    refused(&["--at", "+-1s"], "is neither nanoseconds");
    for option in ["--begin", "--end"] {
        refused(&["--at", "+10ms", option, "+1ms"], option);
    }
    let help = slowpath_succeeds(&["state", "--help"], &recording).stdout;
    let help = String::from_utf8_lossy(&help);
    assert!(help.contains("--at <TIME>"), "{help}");
    assert!(
        !help.contains("--begin") && !help.contains("--end"),
        "{help}"
    );
    slowpath_succeeds(&["state", "--at", "+10ms"], &recording);
}

#[test]
fn a_window_that_begins_with_the_last_event_has_that_event() {
    let (_folder, recording) = quiet_recording();
    let count = |arguments: &[&str]| {
        let command = [&["count", "--by", "none", "--json"], arguments].concat();
        slowpath_succeeds(&command, &recording).json()
    };
    let end = count(&[])["end_ns"].to_string();
    assert!(count(&["--begin", &end])["events"].as_u64() > Some(0));
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

#[test]
fn where_no_request_fits_that_is_said_and_no_table_without_rows() {
    let (_folder, recording) = quiet_recording();
    let filtered = ["requests", "--operation", "no such one"];
    for command in [
        &filtered[..],
        &["requests", "--percentiles", "--min-duration", "1000s"],
    ] {
        let refused = slowpath(command, &recording);
        assert_eq!(refused.status, Some(2), "{command:?}: {}", refused.stderr);
        let said = &refused.stderr;
        assert!(
            said.contains("no request fits") && said.contains("hint:"),
            "{said}"
        );
        assert!(refused.stdout.is_empty(), "{command:?}");
    }
    let listed = slowpath_succeeds(&[&filtered[..], &["--json"]].concat(), &recording);
    assert_eq!(listed.json()["requests"], Value::Array(Vec::new()));
}

#[test]
fn a_window_has_its_events_that_lie_behind_the_end_of_their_packet() {
    const METADATA: &str = r#"/* CTF 1.8 */
        typealias integer { size = 16; align = 8; } := u16;
        trace { major = 1; minor = 8; byte_order = le; };
        clock { name = c; freq = 1000000000; };
        typealias integer { size = 64; align = 8; map = clock.c.value; } := time;
        stream {
            packet.context := struct { u16 packet_size; time timestamp_begin; time timestamp_end; };
            event.header := struct { time timestamp; };
        };
        event { name = "tick"; };"#;
    let packet = |times: [u64; 4]| {
        let bits = 8 * (2 + 8 * times.len() as u16);
        let times = times.map(u64::to_le_bytes);
        [bits.to_le_bytes().as_slice(), times.as_flattened()].concat()
    };
    let folder = tempfile::tempdir().expect("a temporary folder");
    fs::write(folder.path().join("metadata"), METADATA).expect("written");
    let stream = [
        packet([100, 200, 150, 250]),
        packet([5_000, 6_000, 5_500, 5_600]),
    ]
    .concat();
    fs::write(folder.path().join("stream"), stream).expect("written");
    for (begin, expected) in [("150", 4), ("240", 3), ("251", 2)] {
        let counted = slowpath(&["count", "--json", "--begin", begin], folder.path()).json();
        assert_eq!(counted["events"], expected, "from {begin} on");
        let shown = slowpath(&["events", "--begin", begin], folder.path()).stdout;
        let shown = String::from_utf8_lossy(&shown);
        assert_eq!(shown.lines().count(), expected, "from {begin} on: {shown}");
    }
}

#[test]
fn a_request_of_no_length_is_inside_at_the_windows_begin_and_not_at_its_end() {
    let (_folder, recording) = quiet_recording();
    let requests = || {
        let told = slowpath_succeeds(&["requests", "--json"], &recording).json();
        let requests = told["requests"].as_array().expect("requests").iter();
        let time = |request: &Value, key: &str| request[key].as_i64().expect("a time");
        let times = |request| (time(request, "begin_ns"), time(request, "end_ns"));
        requests.map(times).collect::<Vec<_>>()
    };
    let middle = requests()
        .first()
        .map(|(begin, end)| begin + (end - begin) / 2);
    let service = r#""key": "service.name", "value": {"stringValue": "prices"}"#;
    let instant = format!(
        r#"{{"resourceSpans": [{{"resource": {{"attributes": [{{{service}}}]}}, "scopeSpans": [{{"spans": [
            {{"traceId": "{:032x}", "spanId": "{:016x}", "name": "instant", "startTimeUnixNano": "{at}",
            "endTimeUnixNano": "{at}"}}]}}]}}]}}"#,
        5,
        77,
        at = middle.expect("a request")
    );
    fs::write(recording.join("instant.json"), instant).expect("a file of spans");
    let requests = requests();
    let instant = requests.iter().find(|(begin, end)| begin == end);
    let (at, _) = *instant.expect("the one of no length");
    let is_cut = |(begin, end): &&(i64, i64)| *begin < at && at < *end;
    let server = Server::of(&recording);
    let origin = &server.get("/api/recording")["origin_ns"];
    let origin: i64 = (origin.as_str().and_then(|text| text.parse().ok())).expect("a time");
    for (edge, instants) in [("--begin", 1), ("--end", 0)] {
        let told = |command: &str| {
            let command = [command, "--json", edge, &at.to_string()];
            slowpath(&command, &recording).json()
        };
        let is_inside = |(begin, end): &&(i64, i64)| match edge {
            "--begin" => *begin > at,
            _ => *end < at,
        };
        let inside = requests.iter().filter(is_inside).count();
        let cut = requests.iter().filter(is_cut).count();
        let diagnosed = told("diagnose");
        assert_eq!(diagnosed["requests"], inside + instants, "{edge}");
        assert_eq!(diagnosed["in_part"], cut, "{edge}");
        let listed = told("requests")["requests"].as_array().map(Vec::len);
        assert_eq!(listed, Some(inside + instants + cut), "{edge}");
        let edge_of_page = edge.trim_start_matches('-');
        let page = server.get(&format!("/api/requests?{edge_of_page}_ns={}", at - origin));
        assert_eq!(page["total"], inside + instants + cut, "{edge}");
    }
}

#[test]
fn hosts_without_a_request_in_the_window_are_named() {
    let Some(folder) = unpacked("two-hosts/two-hosts.tar.zst") else {
        return;
    };
    // The clock of the client is 5,855 s ahead.
    let recording = folder.join("two-hosts");
    let named = |command: &[&str], window: &[&str]| {
        let said = slowpath_succeeds(&[command, window].concat(), &recording).stderr;
        ["client", "server"].map(|host| said.matches(&format!("note: host {host}: ")).count())
    };
    let other = recording.to_str().expect("a path");
    let commands: [(&[&str], usize); 5] = [
        (&["requests"], 1),
        (&["diagnose"], 1),
        (&["compare"], 1),
        (&["compare", "--with", other], 2),
        (&["export", "--to", "folded", "--output", "-"], 1),
    ];
    for (command, times) in commands {
        let named = |window| named(command, window);
        assert_eq!(named(&[]), [0, 0], "{command:?}");
        assert_eq!(
            named(&["--begin", "+15s", "--end", "+16s"]),
            [times, 0],
            "{command:?}"
        );
        assert_eq!(named(&["--begin", "+5858s"]), [0, times], "{command:?}");
    }
}
