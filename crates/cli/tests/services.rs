//! `slowpath services`: what it prints and how it ends, on documents of spans written here.

mod support;

use std::fs;
use std::path::Path;

use serde_json::{Value, json};
use support::{slowpath, slowpath_succeeds};

/// A span as Jaeger writes it: id, parent, service, operation, begin and duration in microseconds.
type Drawn<'a> = (u64, u64, &'a str, &'a str, u64, u64);

/// A download of Jaeger's user interface with one trace.
fn jaeger(trace: u64, spans: &[Drawn<'_>]) -> Value {
    let trace = format!("{trace:032x}");
    let span = |(id, parent, service, operation, begin, duration): &Drawn<'_>| {
        let reference =
            json!({"refType": "CHILD_OF", "traceID": trace, "spanID": format!("{parent:016x}")});
        let references = if *parent == 0 {
            json!([])
        } else {
            json!([reference])
        };
        json!({
            "traceID": trace, "spanID": format!("{id:016x}"), "operationName": operation,
            "references": references, "startTime": 1_700_000_000_000_000 + begin,
            "duration": duration, "tags": [{"key": "error", "type": "bool", "value": operation == &"query"}],
            "logs": [], "processID": service, "warnings": null,
        })
    };
    let services = spans.iter().map(|(_, _, service, ..)| {
        (
            (*service).to_owned(),
            json!({"serviceName": service, "tags": []}),
        )
    });
    json!({"data": [{
        "traceID": trace, "spans": spans.iter().map(span).collect::<Vec<_>>(),
        "processes": services.collect::<serde_json::Map<_, _>>(), "warnings": null,
    }]})
}

/// Forty traces in as many files; every span of the second half lies in the file of another trace.
fn shop(folder: &Path) {
    let spans: [Drawn<'_>; 4] = [
        (1, 0, "shop", "buy", 0, 100),
        (2, 1, "cart", "load", 10, 50),
        (3, 2, "db", "query", 20, 30),
        (4, 1, "mail", "send", 15, 20),
    ];
    for trace in 1..=40_u64 {
        let slower = spans.map(|(id, parent, service, operation, begin, duration)| {
            (
                id,
                parent,
                service,
                operation,
                begin * trace,
                duration * trace,
            )
        });
        let (first, rest) = slower.split_at(if trace > 20 { 2 } else { 4 });
        let part = |number: u64, spans| {
            let file = folder.join(format!("{number}.json"));
            fs::write(file, jaeger(trace, spans).to_string()).unwrap();
        };
        part(trace, first);
        if !rest.is_empty() {
            part(trace + 100, rest);
        }
    }
}

#[test]
fn the_document_has_the_promised_keys_and_its_parts_add_up() {
    let folder = tempfile::tempdir().unwrap();
    shop(folder.path());
    let document = slowpath_succeeds(&["services", "--json"], folder.path()).json();
    let rows = document["paths"].as_array().unwrap();
    assert_eq!(rows.len(), 4);
    // 1 + 2 + … + 40 = 820 times each length.
    let row = |path: Value| rows.iter().find(|row| row["path"] == path).unwrap();
    let query = row(json!(["shop[buy]", "cart[load]", "db[query]"]));
    assert_eq!(query["count"], 40);
    assert_eq!(query["errors"], 40);
    assert_eq!(query["inclusive"], 820 * 30_000);
    assert_eq!(query["exclusive"], 820 * 30_000);
    assert_eq!(query["inclusive_normalized"], 0.3);
    let buy = row(json!(["shop[buy]"]));
    // 10 before and 40 behind the call to cart.
    assert_eq!(buy["exclusive"], 820 * 50_000);
    assert_eq!(
        (&buy["rank"], &buy["distance"]),
        (&json!(1), &json!(2.0_f64.sqrt()))
    );
    let mail = row(json!(["shop[buy]", "mail[send]"]));
    assert_eq!((&mail["critical"], &mail["drag"]), (&json!(0), &json!(0)));
    let critical: u64 = rows
        .iter()
        .map(|row| row["critical"].as_u64().unwrap())
        .sum();
    assert_eq!(document["latency"], critical);
    assert_eq!(
        rows.iter()
            .map(|row| row["rank"].as_u64().unwrap())
            .collect::<Vec<_>>(),
        [1, 2, 3, 4]
    );
}

#[test]
fn any_number_of_workers_prints_the_same() {
    let folder = tempfile::tempdir().unwrap();
    shop(folder.path());
    for options in [
        &["--json"][..],
        &["--sort", "drag"],
        &["--operation", "cart*"],
    ] {
        let ask = |jobs| {
            let command = [&["services", "--jobs", jobs], options].concat();
            slowpath_succeeds(&command, folder.path()).stdout
        };
        assert_eq!(ask("8"), ask("1"), "{options:?}");
    }
}

#[test]
fn the_table_says_what_comes_first_and_what_is_left_out() {
    let folder = tempfile::tempdir().unwrap();
    shop(folder.path());
    let command = ["services", "--sort", "critical", "--top", "2"];
    let printed = slowpath_succeeds(&command, folder.path());
    let text = String::from_utf8(printed.stdout).unwrap();
    assert!(
        text.starts_with("40 traces with 160 spans, 40 requests: p50 2."),
        "{text}"
    );
    let last: Vec<_> = text.lines().rev().take(3).collect();
    assert!(last[0].contains("2 more"), "{text}");
    assert!(
        last[1].ends_with("shop[buy] → cart[load] → db[query]"),
        "{text}"
    );
    assert!(last[2].ends_with("50.0 %  100.0 %  shop[buy]"), "{text}");
}

#[test]
fn spans_that_contradict_others_are_told_in_words() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let write = |name: &str, spans: &[Drawn<'_>]| {
        fs::write(folder.path().join(name), jaeger(1, spans).to_string()).expect("a file");
    };
    let shop = (1, 0, "shop", "buy", 600_000, 100_000);
    write("first.json", &[shop, (2, 1, "cart", "load", 610_000, 5)]);
    write("copy.json", &[shop]);
    let printed = slowpath_succeeds(&["services"], folder.path());
    assert_eq!(printed.stderr, "");
    let text = String::from_utf8(printed.stdout).expect("text");
    let head = "1 trace with 2 spans (1 duplicate left out), 1 request: ";
    assert!(text.starts_with(head), "{text}");
    write("other.json", &[(1, 0, "shop", "sell", 600_000, 100_000)]);
    // Half a second before its parent.
    write("early.json", &[(3, 1, "mail", "send", 100_000, 550_000)]);
    // Two hours after it.
    let hours = 7_200_000_000;
    write("late.json", &[(4, 1, "mail", "read", hours, 5)]);
    let told = slowpath_succeeds(&["services"], folder.path()).stderr;
    for expected in [
        ": 1 span begins more than an hour after the parent ended",
        "warning[ConflictingSpans]",
        ": 1 span has the id of another one",
        "warning[ClockSkew]",
        ": 1 span begins before the parent",
    ] {
        assert!(told.contains(expected), "{told}");
    }
}

#[test]
fn of_more_operations_than_are_told_apart_the_rest_is_told() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let names: Vec<String> = (0..503).map(|item| format!("item {item:05}")).collect();
    let calls = names.iter().zip(2..);
    let calls = calls.map(|(name, id)| (id, 1, "shop", name.as_str(), id, 1));
    let spans: Vec<Drawn<'_>> = [(1, 0, "shop", "item 00000", 0, 20_000)]
        .into_iter()
        .chain(calls)
        .collect();
    let file = folder.path().join("items.json");
    fs::write(&file, jaeger(1, &spans).to_string()).expect("a file");
    let printed = slowpath_succeeds(&["services", "--json"], &file);
    let told = "warning[ManyOperations]";
    assert!(printed.stderr.contains(told), "{}", printed.stderr);
    let report = printed.json();
    assert_eq!(report["other_operations"], 3);
    let paths = report["paths"].as_array().expect("paths");
    let others = paths.iter().find(|path| path["count"] == 3);
    let others = others.expect("a path of three spans");
    assert_eq!(others["path"], json!(["shop[item 00000]", "shop[(other)]"]));
}

#[test]
fn of_more_paths_than_are_told_apart_the_first_calls_are_told() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let names: Vec<String> = (0..320).map(|number| format!("call {number}")).collect();
    let first_calls =
        (names.iter().zip(2..)).map(|(name, id)| (id, 1, "shop", name.as_str(), 0, 9));
    let mut spans: Vec<Drawn<'_>> = vec![(1, 0, "shop", "buy", 0, 10)];
    spans.extend(first_calls);
    for caller in 2..322 {
        let calls = names.iter().zip(1000 * caller..);
        spans.extend(calls.map(|(name, id)| (id, caller, "db", name.as_str(), 2, 5)));
    }
    let file = folder.path().join("calls.json");
    fs::write(&file, jaeger(1, &spans).to_string()).expect("a file");
    let expected = slowpath_succeeds(&["services", "--json", "-j", "1"], &file);
    let told = "warning[ManyContexts]";
    assert!(expected.stderr.contains(told), "{}", expected.stderr);
    let told = ": 102400 spans lie below paths of 2 calls";
    assert!(expected.stderr.contains(told), "{}", expected.stderr);
    let report = expected.json();
    assert_eq!(
        (&report["most_calls"], &report["contexts"]),
        (&json!(2), &json!(321))
    );
    let others = slowpath_succeeds(&["services", "--json", "-j", "8"], &file);
    assert_eq!(others.stdout, expected.stdout);
}

#[test]
fn nothing_to_read_ends_with_3_a_cut_file_with_1_an_unknown_operation_with_2() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    fs::create_dir(at("empty")).unwrap();
    for name in ["nowhere", "empty"] {
        let printed = slowpath(&["services"], &at(name));
        assert_eq!(printed.status, Some(3), "{}", printed.stderr);
        assert!(printed.stderr.contains("hint:"), "{}", printed.stderr);
    }
    let spans = [
        (1, 0, "shop", "buy", 0, 100),
        (2, 1, "cart", "load", 10, 50),
    ];
    let text = jaeger(7, &spans).to_string();
    fs::write(at("whole.json"), &text).unwrap();
    let printed = slowpath(&["services", "--operation", "sell"], &at("whole.json"));
    assert_eq!(printed.status, Some(2), "{}", printed.stderr);
    assert!(printed.stderr.contains("hint:"), "{}", printed.stderr);
    fs::write(at("cut.json"), &text[..text.len() - 30]).unwrap();
    let printed = slowpath(&["services", "--json"], &at("cut.json"));
    assert_eq!(printed.status, Some(1), "{}", printed.stderr);
    assert_eq!(printed.json()["spans"], 2);
}
