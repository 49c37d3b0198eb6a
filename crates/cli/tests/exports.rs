//! What `slowpath export` writes is what `slowpath requests` says, as other programs read it.

mod support;

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

use serde_json::Value;
use support::{oracle, python, run, slowpath, slowpath_succeeds, unpacked};

/// By span: begin, end and time by state.
type Requests = BTreeMap<String, (i64, i64, BTreeMap<String, i64>)>;

fn summary_of(value: &Value) -> BTreeMap<String, i64> {
    let states = value.as_object().expect("states");
    let states = states.iter();
    states
        .map(|(state, ns)| (state.clone(), ns.as_i64().expect("a number")))
        .collect()
}

fn requests_of(trace: &Path) -> Requests {
    let document = slowpath_succeeds(&["requests", "--json"], trace).json();
    let rows = document["requests"].as_array().expect("requests");
    let number = |value: &Value| value.as_i64().expect("a number");
    let request = |row: &Value| {
        let span = row["span_id"].as_str().expect("a span").to_owned();
        let times = (number(&row["begin_ns"]), number(&row["end_ns"]));
        (span, (times.0, times.1, summary_of(&row["summary"])))
    };
    rows.iter().map(request).collect()
}

/// Runs the export to a file; what it says was written.
fn export(trace: &Path, form: &str, folder: &Path) -> (PathBuf, Value) {
    let file = folder.join(form);
    let name = file.to_str().expect("a plain name");
    let said = slowpath_succeeds(&["export", "--json", "--to", form, "-o", name], trace);
    (file, said.json())
}

fn each_trace(mut check: impl FnMut(&Path)) {
    for name in ["cpu-cgroup", "futex-contention"] {
        let Some(folder) = unpacked(&format!("{name}/{name}.tar.zst")) else {
            return;
        };
        check(&folder.join(name));
    }
}

fn python_says(python: &Path, arguments: &[&OsStr]) -> Value {
    let printed = run(&python.to_string_lossy(), arguments).expect("python runs");
    assert_eq!(printed.status, Some(0), "{}", printed.stderr);
    printed.json()
}

#[test]
fn perfetto_reads_requests_and_scheduling() {
    let Some(python) = python("perfetto.protos.perfetto.trace.perfetto_trace_pb2") else {
        return;
    };
    each_trace(|trace| {
        let folder = tempfile::tempdir().expect("a folder");
        let (file, said) = export(trace, "perfetto", folder.path());
        let script = oracle("perfetto_trace.py");
        let read = python_says(&python, &[script.as_os_str(), file.as_os_str()]);
        let counts = &read["counts"];
        assert_eq!(counts["slices"], said["slices"]);
        assert_eq!(counts["sched_switch"], said["switches"]);
        assert_eq!(counts["sched_waking"], said["wakings"]);
        assert_eq!(counts["counter_values"], said["counter_values"]);
        assert!(said["wakings"].as_u64().is_some_and(|count| count > 1000));
        let found: Requests = (read["requests"].as_object().expect("requests").iter())
            .map(|(span, request)| {
                let time = |key: &str| request[key].as_i64().expect("a time");
                let summary = summary_of(&request["summary"]);
                (span.clone(), (time("begin_ns"), time("end_ns"), summary))
            })
            .collect();
        assert_eq!(found, requests_of(trace));
    });
}

#[test]
fn otlp_has_each_state_as_part_of_its_request() {
    each_trace(|trace| {
        let folder = tempfile::tempdir().expect("a folder");
        let (file, said) = export(trace, "otlp", folder.path());
        let text = std::fs::read_to_string(file).expect("text");
        let mut found: BTreeMap<String, BTreeMap<String, i64>> = BTreeMap::new();
        let mut states = 0;
        for line in text.lines() {
            let document: Value = serde_json::from_str(line).expect("a document per line");
            let lists = document["resourceSpans"].as_array().expect("spans").iter();
            let spans = lists.flat_map(|list| list["scopeSpans"][0]["spans"].as_array().unwrap());
            for span in spans {
                let time = |key: &str| span[key].as_str().unwrap().parse::<i64>().unwrap();
                let state = &span["attributes"][0]["value"]["stringValue"];
                let parent = span["parentSpanId"].as_str().expect("a parent").to_owned();
                let state = state.as_str().expect("a state").to_owned();
                let length = time("endTimeUnixNano") - time("startTimeUnixNano");
                *found.entry(parent).or_default().entry(state).or_default() += length;
                states += 1;
            }
        }
        assert_eq!(said["states"], states);
        let expected: BTreeMap<_, _> = (requests_of(trace).into_iter())
            .map(|(span, (.., summary))| (span, summary))
            .collect();
        assert_eq!(found, expected);
    });
}

/// The requests of a folder with a trace and files of spans.
fn requests_beside(trace: &Path, files: &[&str]) -> Value {
    let folder = tempfile::tempdir().expect("a folder");
    std::os::unix::fs::symlink(trace, folder.path().join("trace")).expect("a link");
    for (number, file) in files.iter().enumerate() {
        let name = folder.path().join(format!("{number}.jsonl"));
        std::fs::write(name, file).expect("a file");
    }
    slowpath_succeeds(&["requests", "--json"], folder.path()).json()["requests"].take()
}

#[test]
fn what_was_exported_changes_nothing_beside_what_it_is_of() {
    let Some(unpacked) = unpacked("cpu-cgroup/cpu-cgroup.tar.zst") else {
        return;
    };
    let trace = unpacked.join("cpu-cgroup");
    let folder = tempfile::tempdir().expect("a folder");
    let exported = |of: &Path, name: &str| {
        let file = folder.path().join(name);
        let arguments = ["export", "--to", "otlp", "--with-requests", "-o"];
        let name = file.to_str().expect("a plain name");
        slowpath_succeeds(&[&arguments[..], &[name]].concat(), of);
        std::fs::read_to_string(file).expect("a file")
    };
    // As an application would tell them: the server's side of calls, of a version.
    let told =
        exported(&trace, "told.jsonl").replace(r#""kind":1,"#, r#""kind":2,"status":{"code":2},"#);
    let with_told = tempfile::tempdir().expect("a folder");
    std::os::unix::fs::symlink(&trace, with_told.path().join("trace")).expect("a link");
    std::fs::write(with_told.path().join("told.jsonl"), &told).expect("a file");
    let again = exported(with_told.path(), "again.jsonl");
    assert!(again.contains(r#""kind":2,"#) && again.contains(r#""status":{"code":2}"#));
    assert_eq!(
        requests_beside(&trace, &[&told, &again]),
        requests_beside(&trace, &[&told])
    );
}

#[test]
fn requests_whose_events_tell_other_times_are_copies_of_what_told_them() {
    let Some(unpacked) = unpacked("cpu-cgroup/cpu-cgroup.tar.zst") else {
        return;
    };
    let trace = unpacked.join("cpu-cgroup");
    let folder = tempfile::tempdir().expect("a folder");
    let with_requests = |of: &Path, file: &Path| {
        let file = file.to_str().expect("a plain name");
        let arguments = ["export", "--to", "otlp", "--with-requests", "-o", file];
        slowpath_succeeds(&arguments, of);
    };
    std::os::unix::fs::symlink(&trace, folder.path().join("trace")).expect("a link");
    let file = folder.path().join("told.jsonl");
    with_requests(&trace, &file);
    // As an application tells them that reads its clock 40 µs before the events.
    let text = std::fs::read_to_string(&file).expect("a file");
    let mut told = String::new();
    for line in text.lines() {
        let mut document: Value = serde_json::from_str(line).expect("a document");
        for list in document["resourceSpans"].as_array_mut().expect("spans") {
            let spans = list["scopeSpans"][0]["spans"].as_array_mut();
            for span in spans.expect("spans") {
                let begin = &mut span["startTimeUnixNano"];
                let ns: i64 = begin.as_str().expect("a time").parse().expect("a number");
                *begin = (ns - 40_000).to_string().into();
            }
        }
        told += &format!("{document}\n");
    }
    std::fs::write(&file, told).expect("a file");
    with_requests(folder.path(), &folder.path().join("again.jsonl"));
    for command in ["requests", "services"] {
        let said = slowpath_succeeds(&[command], folder.path()).stderr;
        assert_eq!(said, "", "{command}");
    }
}

/// A collector that answers every message with `answer`: where it listens, and how many messages it got.
fn collector(answer: &'static str) -> (String, Arc<AtomicU64>) {
    collector_with_status(|_| "200 OK", answer)
}

/// The same, with the status line's end for the message of this number.
fn collector_with_status(
    status: fn(u64) -> &'static str,
    answer: &'static str,
) -> (String, Arc<AtomicU64>) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = format!("http://{}", listener.local_addr().expect("an address"));
    let messages = Arc::new(AtomicU64::new(0));
    let count = messages.clone();
    let serve = move |connection: TcpStream| -> io::Result<()> {
        let mut from = BufReader::new(&connection);
        loop {
            let (mut line, mut length) = (String::new(), 0);
            while from.read_line(&mut line)? > 0 && line != "\r\n" {
                let lower = line.to_ascii_lowercase();
                if let Some(number) = lower.strip_prefix("content-length:") {
                    length = number.trim().parse().expect("a length");
                }
                line.clear();
            }
            if length == 0 {
                return Ok(());
            }
            io::copy(&mut from.by_ref().take(length), &mut io::sink())?;
            let status = status(count.fetch_add(1, Ordering::Relaxed));
            let size = answer.len();
            let head = format!("HTTP/1.1 {status}\r\nContent-Length: {size}\r\n\r\n");
            (&connection).write_all((head + answer).as_bytes())?;
        }
    };
    thread::spawn(move || {
        for connection in listener.incoming() {
            // Who sends may be gone before it has read all.
            let _ = serve(connection.expect("a connection"));
        }
    });
    (address, messages)
}

#[test]
fn what_a_collector_rejects_is_told() {
    let Some(unpacked) = unpacked("cpu-cgroup/cpu-cgroup.tar.zst") else {
        return;
    };
    let trace = unpacked.join("cpu-cgroup");
    for (answer, rejected, why) in [
        (
            r#"{"partialSuccess":{"rejectedSpans":"7","errorMessage":"too old"}}"#,
            7,
            ": too old\n",
        ),
        (r#"{"partialSuccess":{"rejectedSpans":7}}"#, 7, "\n"),
        (
            r#"{"partialSuccess":{"rejectedSpans":7,"errorMessage":null}}"#,
            7,
            "\n",
        ),
        (r#"{"partialSuccess":{}}"#, 0, ""),
        (r#"{"partialSuccess":null}"#, 0, ""),
        ("", 0, ""),
        ("thank you", 0, ""),
    ] {
        let (address, messages) = collector(answer);
        let export = ["export", "--json", "--to", "otlp", "--send", &address];
        let told = slowpath_succeeds(&export, &trace);
        let rejected = rejected * messages.load(Ordering::Relaxed);
        assert!(messages.load(Ordering::Relaxed) > 0, "nothing was sent");
        assert_eq!(
            told.json()["rejected"].as_u64().unwrap_or(0),
            rejected,
            "{answer}"
        );
        let warning = format!("warning: the collector rejected {rejected} of the spans{why}");
        assert_eq!(
            told.stderr.contains(&warning),
            rejected > 0,
            "{}",
            told.stderr
        );
    }
}

#[test]
fn a_collector_that_has_too_much_to_do_is_asked_again_and_one_that_refuses_says_why() {
    let Some(unpacked) = unpacked("cpu-cgroup/cpu-cgroup.tar.zst") else {
        return;
    };
    let trace = unpacked.join("cpu-cgroup");
    let busy_at_first = |message| match message {
        0 => "503 Service Unavailable\r\nRetry-After: 0",
        _ => "200 OK",
    };
    let send = |address: &str| {
        let arguments = ["export", "--to", "otlp", "--send", address];
        slowpath(&arguments, &trace)
    };
    let (address, messages) = collector("");
    assert_eq!(send(&address).status, Some(0));
    let (busy, messages_to_busy) = collector_with_status(busy_at_first, "");
    assert_eq!(send(&busy).status, Some(0));
    let [messages, to_busy] =
        [messages, messages_to_busy].map(|count| count.load(Ordering::Relaxed));
    assert_eq!(to_busy, messages + 1);
    let (strict, _) = collector_with_status(|_| "400 Bad Request", "no such tenant");
    let told = send(&strict);
    assert_eq!(told.status, Some(2));
    let said = "does not take the spans: HTTP status 400 Bad Request: no such tenant\n  hint: ";
    assert!(told.stderr.contains(said), "{}", told.stderr);
}

#[test]
fn folded_stacks_add_up_to_the_requests() {
    each_trace(|trace| {
        let folder = tempfile::tempdir().expect("a folder");
        let (file, _) = export(trace, "folded", folder.path());
        let text = std::fs::read_to_string(file).expect("text");
        let weights = text.lines().map(|line| {
            let (stack, weight) = line.rsplit_once(' ').expect("a stack and a weight");
            assert!(stack.contains(';'), "{line}");
            weight.parse::<i64>().expect("a number")
        });
        let requests = requests_of(trace);
        let expected: i64 = requests.values().map(|(begin, end, _)| end - begin).sum();
        assert_eq!(weights.sum::<i64>(), expected);
    });
}

#[test]
fn duckdb_adds_up_the_arrow_file() {
    adds_up(
        "arrow",
        "rows = pyarrow.ipc.open_file(pyarrow.memory_map(sys.argv[1])).read_all()",
    );
}

#[test]
fn duckdb_adds_up_the_parquet_file() {
    adds_up("parquet", "rows = duckdb.read_parquet(sys.argv[1])");
}

/// Compares the sums of an export, which `read` makes DuckDB's `rows`, with those of `slowpath requests`.
fn adds_up(form: &str, read: &str) {
    let Some(python) = python("duckdb, pyarrow") else {
        return;
    };
    let program = format!(
        "import duckdb, json, pyarrow, sys\n\
         {read}\n\
         print(json.dumps(duckdb.query('SELECT span_id, state, CAST(sum(end_ns - begin_ns) AS \
         BIGINT) FROM rows GROUP BY ALL').fetchall()))"
    );
    each_trace(|trace| {
        let folder = tempfile::tempdir().expect("a folder");
        let (file, _) = export(trace, form, folder.path());
        let arguments = [OsStr::new("-c"), OsStr::new(&program), file.as_os_str()];
        let mut found: BTreeMap<String, BTreeMap<String, i64>> = BTreeMap::new();
        for row in python_says(&python, &arguments).as_array().expect("rows") {
            let text = |column: usize| row[column].as_str().expect("text").to_owned();
            let sum = row[2].as_i64().expect("a number");
            found.entry(text(0)).or_default().insert(text(1), sum);
        }
        let expected: BTreeMap<_, _> = (requests_of(trace).into_iter())
            .map(|(span, (.., summary))| (span, summary))
            .collect();
        assert_eq!(found, expected);
    });
}
