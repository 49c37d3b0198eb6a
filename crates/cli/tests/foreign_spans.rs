//! Spans beside a kernel trace that does not tell who served them: of containers, of other hosts and
//! times, of processes without an agent. None is dropped or left unexplained in silence.

mod support;

use std::fs;
use std::path::Path;

use serde_json::{Value, json};
use support::{quiet_recording, slowpath, slowpath_succeeds};

/// Where the kernel trace of the quiet recording begins.
const BEGIN_NS: i64 = 1_795_273_809_009_757_219;

/// The quiet recording without the events of its spans, and with a file of `count` other spans, one
/// each 10 ms from `begin_ns`, of 5 ms each.
fn without_agents(
    host: &str,
    begin_ns: i64,
    count: i64,
) -> (tempfile::TempDir, std::path::PathBuf) {
    let (folder, recording) = quiet_recording();
    fs::remove_dir_all(recording.join("ust")).expect("span events");
    fs::remove_dir_all(recording.join("spans")).expect("spans");
    edit_manifest(&recording, |manifest| {
        manifest.remove("ust");
        manifest.remove("spans");
    });
    write_spans(&recording.join("spans.json"), host, begin_ns, count);
    (folder, recording)
}

fn edit_manifest(recording: &Path, edit: impl FnOnce(&mut serde_json::Map<String, Value>)) {
    let path = recording.join("slowpath.json");
    let text = fs::read(&path).expect("a manifest");
    let mut manifest: Value = serde_json::from_slice(&text).expect("JSON");
    edit(manifest.as_object_mut().expect("an object"));
    fs::write(&path, manifest.to_string()).expect("written");
}

fn write_spans(path: &Path, host: &str, begin_ns: i64, count: i64) {
    let text = |key: &str, value: &str| json!({"key": key, "value": {"stringValue": value}});
    let spans = (0..count).map(|number| {
        let begin = begin_ns + number * 10_000_000;
        json!({
            "traceId": format!("{:032x}", number + 1),
            "spanId": format!("{:016x}", number + 1),
            "name": "buy",
            "startTimeUnixNano": begin.to_string(),
            "endTimeUnixNano": (begin + 5_000_000).to_string(),
        })
    });
    // The process exists on the recorded host: another one.
    let resource = json!({"attributes": [
        text("service.name", "shop"),
        text("host.name", host),
        json!({"key": "process.pid", "value": {"intValue": "28643"}}),
    ]});
    let scopes = json!([{"spans": spans.collect::<Vec<_>>()}]);
    let document = json!({"resourceSpans": [{"resource": resource, "scopeSpans": scopes}]});
    fs::write(path, document.to_string()).expect("written");
}

#[test]
fn spans_of_a_container_are_requests_of_the_only_host_without_a_guess_at_their_threads() {
    let (_folder, recording) = without_agents("3f2c9a61d0be", BEGIN_NS + 100_000_000, 20);
    let told = slowpath_succeeds(&["requests", "--json"], &recording);
    let requests = told.json()["requests"].clone();
    let requests = requests.as_array().expect("requests");
    assert_eq!(requests.len(), 20);
    for request in requests {
        assert_eq!(request["placed_by"], "nothing", "{request}");
        assert_eq!(request["tids"], json!([]), "{request}");
        assert_eq!(request["summary"], json!({"UNKNOWN": 5_000_000}));
    }
    for expected in [
        "warning[UnknownSpanHost]: spans: 20 spans of files name another host",
        "warning[NoThreadKnown]: spans: no thread is known that served 20 of 20 requests",
        "build the agents (`make agents`)",
    ] {
        assert!(told.stderr.contains(expected), "{}", told.stderr);
    }
    // By the name of the host itself, its process numbers are believed.
    let (_folder, recording) = without_agents("prices", BEGIN_NS + 1_500_000_000, 20);
    let told = slowpath_succeeds(&["requests", "--json"], &recording);
    assert_eq!(told.json()["requests"][0]["placed_by"], "only-thread");
    assert!(!told.stderr.contains("UnknownSpanHost"), "{}", told.stderr);
    assert!(!told.stderr.contains("NoThreadKnown"), "{}", told.stderr);
}

#[test]
fn diagnose_says_that_nothing_tells_where_the_time_went() {
    let (_folder, recording) = without_agents("3f2c9a61d0be", BEGIN_NS + 100_000_000, 20);
    let document = slowpath_succeeds(&["diagnose", "--json"], &recording).json();
    let findings = document["findings"].as_array().expect("findings");
    let ids: Vec<_> = findings.iter().map(|finding| &finding["id"]).collect();
    assert_eq!(ids, ["unknown-time"]);
    let finding = &findings[0];
    assert_eq!(
        (finding["share"].as_f64(), &finding["severity"]),
        (Some(1.0), &json!("high"))
    );
    let words = finding["explanation"].as_str().expect("words");
    assert!(
        words.contains("No thread is known for 2 of 2 requests"),
        "{words}"
    );
    assert_eq!(finding["evidence"].as_array().map(Vec::len), Some(2));
    assert!(
        finding["advice"]
            .as_str()
            .expect("words")
            .contains("make agents")
    );
}

#[test]
fn diagnose_tells_requests_that_outlast_the_recording_from_losses() {
    // Of a process that is there, from just before the end of the recording.
    let (_folder, recording) = without_agents("prices", BEGIN_NS + 1_960_000_000, 1);
    let document = slowpath_succeeds(&["diagnose", "--json"], &recording).json();
    let findings = document["findings"].as_array().expect("findings");
    // It takes the most of the time.
    let finding = findings.first().expect("a finding");
    assert_eq!(finding["id"], "unknown-time", "{findings:#?}");
    assert!(
        finding["share"].as_f64().is_some_and(|share| share > 0.5),
        "{finding}"
    );
    let words = finding["explanation"].as_str().expect("words");
    assert!(words.contains("beyond the recording"), "{words}");
    assert_eq!(finding["evidence"][0]["tid"], 28643);
}

#[test]
fn spans_of_no_recorded_time_are_counted_and_no_lack_of_spans() {
    let (_folder, recording) = without_agents("prices", 1_000_000_000, 300);
    for command in ["requests", "diagnose", "compare"] {
        let told = slowpath(&[command], &recording);
        assert_eq!(told.status, Some(2), "{command}: {}", told.stderr);
        let expected = "there are 300 spans, but none of a host and time that was recorded";
        assert!(told.stderr.contains(expected), "{command}: {}", told.stderr);
    }
    // Beside those that belong there, a warning tells of them.
    let (_folder, recording) = quiet_recording();
    let told = slowpath_succeeds(&["requests"], &recording);
    let before = "warning[SpansOfAnotherTime]: spans: 50 spans of files lie before or after";
    assert!(told.stderr.starts_with(before), "{}", told.stderr);
    assert_eq!(told.stderr.matches("warning").count(), 1, "{}", told.stderr);
    write_spans(
        &recording.join("foreign.json"),
        "strangers",
        1_000_000_000,
        300,
    );
    let told = slowpath_succeeds(&["requests", "--json"], &recording);
    assert_eq!(told.json()["requests"].as_array().map(Vec::len), Some(40));
    let expected = "warning[UnplacedSpans]: spans: 300 spans of files lie outside";
    assert!(told.stderr.contains(expected), "{}", told.stderr);
}

#[test]
fn hosts_of_one_name_are_told_apart_by_their_boots() {
    let (_folder, first) = quiet_recording();
    let (_other_folder, second) = quiet_recording();
    // LTTng writes the boot's id into its metadata, the recorder into the manifest.
    let boots = [
        "3c8bb92a-9524-4a08-a349-50a1c12f21a9",
        "11112222-3333-4444-5555-666677778888",
    ];
    for file in ["slowpath.json", "ust/uid/0/64-bit/metadata"] {
        let mut bytes = fs::read(second.join(file)).expect("a file");
        let at = bytes
            .windows(boots[0].len())
            .position(|window| window == boots[0].as_bytes());
        let at = at.expect("the boot's id");
        bytes[at..at + boots[1].len()].copy_from_slice(boots[1].as_bytes());
        fs::write(second.join(file), bytes).expect("written");
    }
    // Less of it, as a trace that is there twice is read once.
    let pages = second.join("kernel/cpu0.raw");
    let whole = fs::read(&pages).expect("pages");
    fs::write(&pages, &whole[..whole.len() - 4096]).expect("written");
    let both = first.parent().expect("a folder").join("both");
    fs::create_dir(&both).expect("a folder");
    fs::rename(&first, both.join("first")).expect("moved");
    fs::rename(&second, both.join("second")).expect("moved");
    let names = ["prices (boot 11112222)", "prices (boot 3c8bb92a)"];
    for (command, rows) in [("requests", "requests"), ("cpu", "cpus")] {
        let told = slowpath(&[command, "--json"], &both);
        let document = told.json();
        let rows = document[rows].as_array().expect("rows").iter();
        let hosts: std::collections::BTreeSet<&str> =
            rows.filter_map(|row| row["host"].as_str()).collect();
        assert_eq!(hosts.into_iter().collect::<Vec<_>>(), names, "{command}");
        let expected = "warning[SameHostName]: host prices: 2 hosts are called `prices`; here they \
                        are `prices (boot 11112222)`, `prices (boot 3c8bb92a)`";
        assert!(told.stderr.contains(expected), "{}", told.stderr);
    }
}
