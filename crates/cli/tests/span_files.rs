//! Files of spans among everything else: found by content, listed by `slowpath info`, and refused with a
//! hint where a command needs a trace.

mod support;

use std::fs;
use std::path::Path;
use std::process::Command;

use support::slowpath;

const JAEGER: &str = r#"{"data":[{"traceID":"aa","spans":[
 {"traceID":"aa","spanID":"1","operationName":"GET","startTime":1000,"duration":500,"processID":"p1"},
 {"traceID":"aa","spanID":"2","operationName":"SQL","startTime":1100,"duration":900,"processID":"p2"}],
 "processes":{"p1":{"serviceName":"front"},"p2":{"serviceName":"mysql"}}}]}"#;

const OTLP: &str = r#"{"resourceSpans":[{"resource":{"attributes":[{"key":"service.name","value":{"stringValue":"cart"}}]},
 "scopeSpans":[{"spans":[{"traceId":"5b8efff798038103d269b633813fc60c","spanId":"eee19b7ec3c1b174","name":"add",
 "startTimeUnixNano":"5","endTimeUnixNano":"9"}]}]}]}"#;

/// A recording's folder with a trace and spans, and files that are neither.
fn mixed() -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let write = |name: &str, text: &str| {
        let path = folder.path().join(name);
        fs::create_dir_all(path.parent().expect("below the folder")).expect("a folder");
        fs::write(path, text).expect("a file");
    };
    write("spans/jaeger.json", JAEGER);
    write("spans/deeper/otlp.jsonl", OTLP);
    write("notes.json", "{\"data\":[{\"traceID\":\"a\"}]}");
    write("notes.txt", "spans: none");
    let fixture = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/fixtures/cpu-cgroup-ust");
    for name in ["metadata", "uchan_0"] {
        let text = fs::read(fixture.join(name)).expect("the fixture");
        fs::create_dir_all(folder.path().join("ust")).expect("a folder");
        fs::write(folder.path().join("ust").join(name), text).expect("a file");
    }
    folder
}

#[test]
fn info_lists_files_of_spans_beside_traces() {
    let folder = mixed();
    let info = slowpath(&["info", "--json"], folder.path());
    assert_eq!(info.status, Some(0), "{}", info.stderr);
    let document = info.json();
    assert_eq!(document["traces"].as_array().map(Vec::len), Some(1));
    let files = document["span_files"].as_array().expect("a list");
    let told: Vec<String> = (files.iter())
        .map(|file| {
            let services = file["services"].as_array().expect("a list").iter();
            let services: Vec<_> = services
                .map(|service| format!("{} {}", service["service"], service["spans"]))
                .collect();
            format!(
                "{} {}..{} {} spans {} traces: {}",
                file["format"],
                file["begin_ns"],
                file["end_ns"],
                file["spans"],
                file["traces"],
                services.join(", ")
            )
        })
        .collect();
    assert_eq!(
        told,
        [
            r#""OTLP JSON" 5..9 1 spans 1 traces: "cart" 1"#,
            r#""Jaeger JSON" 1000000..2000000 2 spans 1 traces: "front" 1, "mysql" 1"#,
        ]
    );
    let text = slowpath(&["info"], &folder.path().join("spans/jaeger.json"));
    let text = String::from_utf8(text.stdout).expect("text");
    assert!(text.contains("2 spans of 1 distributed trace\n"), "{text}");
}

#[test]
fn a_cut_file_is_damaged_input_and_still_read() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("cut.json");
    let cut = JAEGER
        .find(",\n {\"traceID\":\"aa\",\"spanID\":\"2\"")
        .expect("the second span");
    fs::write(&path, &JAEGER[..cut]).expect("a file");
    let info = slowpath(&["info", "--json"], &path);
    assert_eq!(info.status, Some(1));
    assert!(
        info.stderr.contains("error[TruncatedSpans]"),
        "{}",
        info.stderr
    );
    assert_eq!(info.json()["span_files"][0]["spans"], 1);
}

#[test]
fn what_needs_a_trace_says_so_where_there_are_only_spans() {
    let folder = mixed();
    let spans = folder.path().join("spans");
    for command in ["count", "cpu", "events"] {
        let refused = slowpath(&[command], &spans);
        assert_eq!(refused.status, Some(3), "{command}");
        assert!(
            refused.stderr.contains("only spans") && refused.stderr.contains("hint:"),
            "{}",
            refused.stderr
        );
    }
}

#[test]
fn what_cannot_be_read_does_not_hide_what_else_is_named() {
    let folder = mixed();
    let in_folder = |name: &str| folder.path().join(name).display().to_string();
    let empty = in_folder("empty.json");
    fs::write(&empty, "").expect("a file");
    let good = folder.path().join("spans/jaeger.json");
    for bad in [&empty, &in_folder("notes.json"), &in_folder("missing.json")] {
        for command in ["services", "info"] {
            let printed = slowpath(&[command, "--json", bad], &good);
            let told = &printed.stderr;
            assert_eq!(printed.status, Some(1), "{command} {bad}: {told}");
            assert!(
                told.contains("error[InvalidFile]") && told.contains(bad),
                "{told}"
            );
            assert!(printed.json().is_object());
            let alone = slowpath(&[command, &empty], Path::new(bad));
            assert_eq!(alone.status, Some(3), "{command} {bad}: {}", alone.stderr);
            let told = &alone.stderr;
            assert!(told.contains(&empty) && told.contains(bad), "{told}");
        }
        let without_trace = slowpath(&["requests", bad], &good);
        assert_eq!(without_trace.status, Some(3), "{}", without_trace.stderr);
        assert!(
            without_trace.stderr.contains(bad),
            "{}",
            without_trace.stderr
        );
    }
    let printed = slowpath(&["count", "--json", &empty], &folder.path().join("ust"));
    assert_eq!(printed.status, Some(1), "{}", printed.stderr);
    assert!(printed.json().is_object());
}

#[test]
fn what_may_be_in_a_path_that_cannot_be_read_is_not_said_to_be_asked_for_wrongly() {
    let folder = mixed();
    let missing = folder.path().join("kernel").display().to_string();
    let trace = folder.path().join("ust");
    let commands: [&[&str]; 4] = [
        &["diagnose"],
        &["cpu"],
        &["critical-path", "--tid", "1"],
        &["critical-path", "--span", "1"],
    ];
    for command in commands {
        let asked = slowpath(command, &trace);
        assert_eq!(asked.status, Some(2), "{command:?}: {}", asked.stderr);
        let told = slowpath(&[command, &[&missing]].concat(), &trace);
        assert_eq!(told.status, Some(1), "{command:?}: {}", told.stderr);
        assert!(told.stderr.contains(&missing), "{}", told.stderr);
    }
}

#[test]
fn a_blank_file_among_files_of_spans_is_told_and_one_elsewhere_is_none_of_ours() {
    let folder = mixed();
    let services = |expected| {
        let printed = slowpath(&["services", "--json"], folder.path());
        assert_eq!(printed.status, Some(expected), "{}", printed.stderr);
        printed.stderr
    };
    fs::write(folder.path().join("empty.json"), "").expect("a file");
    services(0);
    let check = |name: &str, content: &[u8], expected: &str| {
        let file = folder.path().join("spans").join(name);
        fs::write(&file, content).expect("a file");
        let told = services(1);
        assert!(told.contains(&format!("{name}: {expected}")), "{told}");
        // Named alone, it holds nothing, and why is said.
        let alone = slowpath(&["services"], &file);
        assert_eq!(alone.status, Some(3), "{}", alone.stderr);
        assert!(alone.stderr.contains(expected), "{}", alone.stderr);
        fs::remove_file(file).expect("removed");
    };
    for name in ["a.json", "a.jsonl", "a.pb", "A.JSON", "a.json.gz"] {
        check(name, b"", "it is empty");
        check(name, b"\n \n", "it is empty");
    }
    // Nothing of it says yet that it has spans.
    let cut = r#"{"data":[{"processes":{"p1":{"serv"#;
    let ends = "it ends within its first document";
    check("cut.json", cut.as_bytes(), ends);
    check("cut.jsonl", cut.as_bytes(), ends);
    check("marked.json", format!("\u{feff}{cut}").as_bytes(), ends);
    let compressed = zstd::encode_all(cut.as_bytes(), 1).expect("compressed");
    check("cut.json.zst", &compressed, ends);
    let nothing = "nothing of it can be decompressed";
    check("cut.json.zst", &compressed[..5], nothing);

    let write = |name: &str, content: &[u8]| {
        fs::write(folder.path().join("spans").join(name), content).expect("a file");
    };
    write("access.log", b"");
    write("access.log.zst", &compressed[..5]);
    write("package.json", b"{}");
    let long = format!("{{\"a\": \"{}\"}}", "b".repeat(1 << 15));
    write("long.json", long.as_bytes());
    write("lines.json", b"{\"a\":1}\n{\"b\":2}\n");
    write("cut-lines.jsonl", b"{\"a\":1}\n{\"b\":");
    write("comment.json", b"{\n // of the user\n \"a\": 1\n}\n");
    services(0);
}

#[test]
fn a_cut_file_of_spans_is_told_whatever_lies_beside_it() {
    let folder = mixed();
    fs::remove_dir_all(folder.path().join("spans")).expect("removed");
    let cut = r#"{"data":[{"processes":{"p1":{"serviceName":"a"},"p2":{"serv"#;
    fs::write(folder.path().join("cut.json"), cut).expect("a file");
    let told = |command| {
        let printed = slowpath(&[command], folder.path());
        let told = &printed.stderr;
        assert_eq!(printed.status, Some(1), "{command}: {told}");
        assert!(told.contains("error[TruncatedSpans]"), "{told}");
        assert!(told.contains("cut.json"), "{told}");
    };
    told("info");
    told("services");
    fs::remove_dir_all(folder.path().join("ust")).expect("removed");
    told("info");
    told("services");
}

#[test]
fn a_manifest_that_cannot_be_used_is_told_once_whatever_the_recording_holds() {
    let folder = mixed();
    let check = |command: &str, manifest: &str, expected: &str| {
        fs::write(folder.path().join("slowpath.json"), manifest).expect("a file");
        let printed = slowpath(&[command], folder.path());
        let told = &printed.stderr;
        assert_eq!(printed.status, Some(1), "{command} {manifest:?}: {told}");
        assert_eq!(told.matches("slowpath.json").count(), 1, "{told}");
        assert!(told.contains(expected), "{told}");
    };
    let check_all = || {
        for command in ["info", "services"] {
            check(command, "", "EOF while parsing");
            check(command, "{\"format_version\":", "EOF while parsing");
            check(command, "[]", "it tells no format version");
            check(command, "{\"format_version\":99}", "its format version 99");
        }
    };
    // Each of two traces asks for it.
    let another = folder.path().join("other");
    fs::create_dir(&another).expect("a folder");
    for name in ["metadata", "uchan_0"] {
        let from = folder.path().join("ust").join(name);
        fs::copy(from, another.join(name)).expect("copied");
    }
    check_all();
    for trace in ["ust", "other"] {
        fs::remove_dir_all(folder.path().join(trace)).expect("removed");
    }
    check_all();
    // Beside the files of spans, too.
    for name in ["jaeger.json", "deeper/otlp.jsonl"] {
        let name = Path::new(name);
        let to = folder.path().join(name.file_name().expect("a name"));
        fs::rename(folder.path().join("spans").join(name), to).expect("moved");
    }
    check_all();
}

#[test]
fn a_pipe_in_the_place_of_a_manifest_is_not_waited_for() {
    let folder = mixed();
    let manifest = folder.path().join("slowpath.json");
    let made = Command::new("mkfifo").arg(&manifest).status();
    assert!(made.expect("mkfifo runs").success());
    let told = slowpath(&["info"], folder.path());
    assert_eq!(told.status, Some(0), "{}", told.stderr);
}

#[test]
fn a_file_of_spans_may_be_named_like_a_manifest() {
    let folder = mixed();
    fs::write(folder.path().join("slowpath.json"), JAEGER).expect("a file");
    let services = |path: &Path| {
        let printed = slowpath(&["services", "--json"], path);
        assert_eq!(printed.status, Some(0), "{}", printed.stderr);
        printed.json()["spans"].clone()
    };
    services(folder.path());
    fs::remove_dir_all(folder.path().join("spans")).expect("removed");
    assert_eq!(services(folder.path()), 2);
    let info = slowpath(&["info"], folder.path());
    assert_eq!(info.status, Some(0), "{}", info.stderr);
    assert_eq!(services(&folder.path().join("slowpath.json")), 2);
}
