//! `slowpath transfers`: what it prints and how it ends, on the report of the agent's own test.

mod support;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;
use support::server::Server;
use support::{slowpath, slowpath_succeeds};

fn fixture() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/fixtures/transfers")
}

/// The same program, and spans of the same run.
fn with_spans() -> PathBuf {
    fixture().with_file_name("transfers-on-services")
}

/// The transfer in whose call path the method is.
fn of<'report>(report: &'report Value, method: &str) -> &'report Value {
    let rows = report["transfers"].as_array().expect("a list");
    let is_called = |row: &&Value| {
        let path = row["call_path"].as_array().expect("a list");
        let marker = format!("shop.PlannerService.{method}(");
        path.iter().any(|place| {
            place
                .as_str()
                .is_some_and(|place| place.starts_with(&marker))
        })
    };
    rows.iter().find(is_called).expect("it is there")
}

#[test]
fn three_callers_of_one_endpoint_are_told_apart() {
    let report = slowpath_succeeds(&["transfers", "--json"], &fixture()).json();
    assert_eq!(
        (report["processes"].as_u64(), report["rows"].as_u64()),
        (Some(1), Some(12))
    );
    let uses = |method| -> Vec<String> {
        let fields = of(&report, method)["fields"].as_array().expect("a list");
        fields
            .iter()
            .map(|field| {
                format!(
                    "{} {}",
                    field["name"].as_str().unwrap_or_default(),
                    field["use"].as_str().unwrap_or_default()
                )
            })
            .collect()
    };
    let one = of(&report, "one");
    assert_eq!(one["class"], "shop.Ticket");
    assert_eq!(
        (one["responses"].as_u64(), one["decided"].as_u64()),
        (Some(420), Some(385))
    );
    assert!(
        one["endpoint"]
            .as_str()
            .is_some_and(|endpoint| endpoint.ends_with("/tickets/{id}"))
    );
    assert_eq!(
        one["advice"]["text"],
        "only `destination` is read: ask for that field"
    );
    assert_eq!(
        uses("one")
            .iter()
            .filter(|field| field.ends_with(" never"))
            .count(),
        11
    );
    assert!(uses("all").iter().all(|field| field.ends_with(" always")));
    assert!(uses("log").iter().all(|field| field.ends_with(" printed")));
    let (read, unread): (Vec<String>, _) =
        (uses("keep").into_iter()).partition(|field| field.starts_with("departure "));
    assert_eq!(read, ["departure censored"]);
    assert!(unread.iter().all(|field| field.ends_with(" unknown")));
    let fields = of(&report, "keep")["fields"].as_array().expect("a list");
    let read = (fields.iter()).find(|field| field["name"] == "departure");
    assert_eq!(read.map(|field| &field["censored_used"]), Some(&420.into()));
    assert!(uses("sometimes").contains(&"price sometimes".to_owned()));
}

#[test]
fn people_see_where_what_and_what_to_change() {
    let printed = slowpath_succeeds(&["transfers", "--top", "3"], &fixture());
    let text = String::from_utf8(printed.stdout).expect("it is text");
    for part in [
        "2,380 responses in 1 process (field-mask)\n",
        "   → shop.TicketClient.ticket(TicketClient.java:17)\n",
        "8.3 % of the fields used (385 objects decided, 0 censored)\n",
        "change: only `destination` is read: ask for that field\n",
        "destination  String   always  100.0 %   99.0–100.0 %     24\n",
        "… and 9 more (--top 0 shows all)\n",
    ] {
        assert!(text.contains(part), "{part} is not in\n{text}");
    }
    let printed = slowpath_succeeds(&["transfers", "--top", "0"], &fixture());
    let text = String::from_utf8(printed.stdout).expect("it is text");
    for part in [
        "may have been read unseen; read in some of them: `departure`\n",
        "departure    String   in 420 censored",
    ] {
        assert!(text.contains(part), "{part} is not in\n{text}");
    }
}

#[test]
fn where_nothing_was_received_it_is_said_what_to_do() -> std::io::Result<()> {
    let folder = tempfile::tempdir()?;
    let whole = fs::read_to_string(fixture().join("planner.jsonl"))?;
    let mut lines = whole.lines();
    let (head, context) = (lines.next().expect("a head"), lines.next());
    let told = |report: &str| -> std::io::Result<String> {
        fs::write(folder.path().join("none.jsonl"), report)?;
        let told = slowpath(&["transfers"], folder.path());
        let is_damaged = told.stderr.contains("error[InvalidTransfers]");
        assert_eq!(told.status, Some(i32::from(is_damaged)), "{}", told.stderr);
        Ok(String::from_utf8_lossy(&told.stdout).into_owned())
    };
    let none = told(&format!("{head}\n"))?;
    assert!(
        none.starts_with("0 responses in 1 process (field-mask)\n"),
        "{none}"
    );
    assert!(none.contains("hint: no objects came through"), "{none}");
    // What might have been there is not said to have been nowhere.
    let with = |count: &str| head.replace(&format!("\"{count}\":0"), &format!("\"{count}\":3"));
    for (count, says) in [
        ("failures", "left out: 3 responses"),
        ("classes_not_rewritten", "left out: 3 classes"),
    ] {
        let told = told(&format!("{}\n", with(count)))?;
        assert!(told.contains(says) && !told.contains("hint"), "{told}");
    }
    let damaged = told(&format!("{head}\n{{\"ki"))?;
    assert!(
        damaged.starts_with("0 resp") && !damaged.contains("hint"),
        "{damaged}"
    );
    let mut context: Value = serde_json::from_str(context.expect("a context"))?;
    context["classes"] = serde_json::json!([]);
    for (looked_into, why, hint) in [
        (
            12,
            "no objects of the application",
            "(`packages`, `exclude`)",
        ),
        (
            0,
            "none of those that arrive there",
            "(`rate`, `arms-per-second`)",
        ),
    ] {
        context["looked_into"] = looked_into.into();
        for head in [head, &with("failures")] {
            let others = told(&format!("{head}\n{context}\n"))?;
            assert!(others.contains(why) && others.contains(hint), "{others}");
        }
    }
    Ok(())
}

#[test]
fn a_damaged_report_is_read_as_far_as_it_goes() -> std::io::Result<()> {
    let folder = tempfile::tempdir()?;
    let whole = fs::read(fixture().join("planner.jsonl"))?;
    let file = folder.path().join("cut.jsonl");
    fs::write(&file, &whole[..whole.len() - 100])?;
    let cut = slowpath(&["transfers", "--json"], folder.path());
    assert_eq!(cut.status, Some(1));
    assert_eq!(cut.json()["rows"], 11);
    assert!(
        cut.stderr.contains("error[InvalidTransfers]"),
        "{}",
        cut.stderr
    );
    let unseen =
        String::from_utf8_lossy(&whole).replace("\"reads_unseen\":0", "\"reads_unseen\":1234");
    fs::write(&file, unseen)?;
    let told = slowpath_succeeds(&["transfers"], folder.path());
    let told = String::from_utf8_lossy(&told.stdout).into_owned();
    let line = "left out: 1,234 objects were not watched: reads of their class might be missed\n";
    assert!(told.contains(line), "{told}");
    fs::write(&file, "{}\n")?;
    let none = slowpath(&["transfers"], folder.path());
    assert_eq!(none.status, Some(3));
    assert!(
        none.stderr.contains("holds no report of transfers"),
        "{}",
        none.stderr
    );
    Ok(())
}

#[test]
fn a_report_beside_traces_is_no_trace() {
    let printed = slowpath(&["info"], &fixture());
    assert_eq!(printed.status, Some(3));
    assert!(
        printed.stderr.contains("holds no trace"),
        "{}",
        printed.stderr
    );
}

#[test]
fn a_path_without_a_report_does_not_hide_the_others() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let empty = folder.path().display().to_string();
    let missing = folder.path().join("missing").display().to_string();
    for bad in [&empty, &missing] {
        let printed = slowpath(&["transfers", "--json", bad], &fixture());
        assert_eq!(printed.status, Some(1), "{bad}: {}", printed.stderr);
        assert!(printed.stderr.contains(bad), "{}", printed.stderr);
        assert_eq!(printed.json()["rows"].as_u64(), Some(12));
        let alone = slowpath(&["transfers", &missing], Path::new(bad));
        assert_eq!(alone.status, Some(3), "{bad}: {}", alone.stderr);
    }
}

/// By row: the first method on the call path, the ranks of its paths, and the calls of the first of these.
fn on_paths(report: &Value) -> Vec<(String, Vec<u64>, Vec<String>)> {
    let texts = |value: &Value| -> Vec<String> {
        let list = value.as_array().expect("a list").iter();
        list.map(|text| text.as_str().expect("a text").to_owned())
            .collect()
    };
    let rows = report["transfers"].as_array().expect("a list").iter();
    rows.map(|row| {
        let method = texts(&row["call_path"]).swap_remove(0);
        let method = method.split('(').next().unwrap_or_default();
        let method = method.trim_start_matches("shop.PlannerService.").to_owned();
        let paths = row["paths"].as_array().expect("a list");
        let ranks = paths
            .iter()
            .map(|path| path["rank"].as_u64().expect("a rank"));
        let calls = paths.first().map(|path| texts(&path["path"]));
        (method, ranks.collect(), calls.unwrap_or_default())
    })
    .collect()
}

#[test]
fn what_lies_on_the_most_expensive_paths_comes_first() {
    let report = slowpath_succeeds(&["transfers", "--json"], &with_spans()).json();
    let services = slowpath_succeeds(&["services", "--json"], &with_spans()).json();
    let told = &report["services"];
    assert_eq!(told["requests"], services["requests"]);
    assert_eq!(told["latency"], services["latency"]);
    let ranked = services["paths"].as_array().expect("a list");
    assert_eq!(told["paths"].as_u64(), Some(ranked.len() as u64));

    // Each method is on the path of the request that it serves, although five of them share an endpoint and a line.
    let rows = on_paths(&report);
    let mut before = 0;
    for ((method, ranks, calls), row) in rows
        .iter()
        .zip(report["transfers"].as_array().expect("a list"))
    {
        if method == "annotated" {
            assert_eq!((ranks.len(), &row["no_path"]), (0, &"no_call".into()));
            continue;
        }
        let [rank] = ranks[..] else {
            panic!("{method} lies on {ranks:?}");
        };
        let route = match method.as_str() {
            "restClient" => "rest-client",
            other => other,
        };
        let expected = [
            format!("planner[GET /{route}/{{id}}]"),
            format!("planner[PlannerService.{method}]"),
            "planner[GET]".to_owned(),
        ];
        assert_eq!(calls[..], expected);
        assert!(rank > before, "{method}: {rank} after {before}");
        before = rank;
        // As `slowpath services` ranks it.
        let same = &ranked[rank as usize - 1];
        assert_eq!(same["path"], row["paths"][0]["path"]);
        assert_eq!(same["inclusive"], row["paths"][0]["inclusive"]);
        let share = same["inclusive"].as_f64().unwrap() / services["latency"].as_f64().unwrap();
        assert!((row["paths"][0]["share"].as_f64().unwrap() - share).abs() < 1e-9);
    }
    assert_eq!(rows.len(), 11);
    assert_eq!(told["rows_on_paths"], 10);

    let printed = slowpath_succeeds(&["transfers", "--top", "1"], &with_spans());
    let text = String::from_utf8(printed.stdout).expect("it is text");
    for part in [
        "paths of services, by rank: 52 paths of 410 requests; 10 below lie on one\n",
        "no path: 1: no call that spans tell of goes to the endpoint\n",
        "time: planner[GET /one/{id}] → planner[PlannerService.one] → planner[GET]\n",
    ] {
        assert!(text.contains(part), "{part} is not in\n{text}");
    }
}

#[test]
fn spans_that_name_no_methods_leave_open_what_several_places_share() -> std::io::Result<()> {
    let folder = tempfile::tempdir()?;
    let spans = Command::new("gzip")
        .arg("-dc")
        .arg(with_spans().join("spans.pb.gz"))
        .output()?;
    assert!(spans.status.success(), "gzip: {:?}", spans.stderr);
    // As long as before, so that it is still a sound message.
    let without: Vec<u8> = {
        let mut bytes = spans.stdout;
        let name = b"code.function";
        let places: Vec<usize> = (0..bytes.len().saturating_sub(name.len()))
            .filter(|&place| bytes[place..].starts_with(name))
            .collect();
        assert_eq!(places.len(), 810);
        places.iter().for_each(|&place| bytes[place] = b'n');
        bytes
    };
    fs::write(folder.path().join("spans.pb"), without)?;
    let report = with_spans().join("planner.jsonl");
    let report = slowpath_succeeds(
        &["transfers", "--json", &report.display().to_string()],
        folder.path(),
    )
    .json();
    let without = &report["services"]["rows_without"];
    let counts =
        ["no_process", "no_call", "ambiguous", "not_told"].map(|why| without[why].as_u64());
    assert_eq!(counts, [0, 1, 8, 0].map(Some));
    let placed: Vec<String> = on_paths(&report)
        .into_iter()
        .filter(|(_, ranks, _)| !ranks.is_empty())
        .map(|(method, ..)| method)
        .collect();
    assert_eq!(placed, ["list", "forward"]);
    Ok(())
}

#[test]
fn spans_of_another_time_tell_nothing() -> std::io::Result<()> {
    let folder = tempfile::tempdir()?;
    fs::copy(
        with_spans().join("spans.pb.gz"),
        folder.path().join("spans.pb.gz"),
    )?;
    fs::copy(
        fixture().join("planner.jsonl"),
        folder.path().join("planner.jsonl"),
    )?;
    let report = slowpath_succeeds(&["transfers", "--json"], folder.path()).json();
    assert_eq!(report["services"]["rows_without"]["no_process"], 12);
    let alone = slowpath_succeeds(&["transfers", "--json"], &fixture()).json();
    assert_eq!(alone["services"], Value::Null);
    let order = |report: &Value| -> Vec<Value> {
        let rows = report["transfers"].as_array().expect("a list").iter();
        rows.map(|row| row["context"].clone()).collect()
    };
    assert_eq!(order(&report), order(&alone));
    Ok(())
}

#[test]
fn lost_objects_and_busy_registers_are_told() -> std::io::Result<()> {
    let folder = tempfile::tempdir()?;
    let whole = fs::read_to_string(fixture().join("planner.jsonl"))?;
    let told = whole
        .replace(
            "\"reads_unseen\":0",
            "\"reads_unseen\":0,\"registers_busy\":1234",
        )
        .replace(
            "\"watched\":385,\"decided\":385,\"censored\":0,",
            "\"watched\":392,\"decided\":385,\"censored\":0,\"lost\":7,",
        );
    fs::write(folder.path().join("planner.jsonl"), told)?;
    let printed = slowpath_succeeds(&["transfers"], folder.path());
    let text = String::from_utf8_lossy(&printed.stdout).into_owned();
    for part in [
        "left out: 1,234 objects were not watched: no debug register was free, or `aiming-share` was used up\n",
        "(385 objects decided, 0 censored, 7 lost)\n",
    ] {
        assert!(text.contains(part), "{part} is not in\n{text}");
    }
    let report = slowpath_succeeds(&["transfers", "--json"], folder.path()).json();
    assert_eq!(report["left_out"]["registers_busy"], 1234);
    assert_eq!(of(&report, "one")["lost"], 7);
    Ok(())
}

#[test]
fn reports_of_several_backends_are_told_apart() -> std::io::Result<()> {
    let folder = tempfile::tempdir()?;
    let whole = fs::read_to_string(fixture().join("planner.jsonl"))?;
    let attached = whole.replace("\"field-mask\"", "\"watchpoints\"");
    let attached = attached.lines().next().expect("a head");
    fs::write(folder.path().join("planner.jsonl"), &whole)?;
    fs::write(
        folder.path().join("attached.jsonl"),
        format!("{attached}\n"),
    )?;
    let printed = slowpath_succeeds(&["transfers"], folder.path());
    let text = String::from_utf8_lossy(&printed.stdout).into_owned();
    let head = "2,380 responses in 2 processes (1 field-mask, 1 watchpoints)\n";
    assert!(text.starts_with(head), "{text}");
    let report = slowpath_succeeds(&["transfers", "--json"], folder.path()).json();
    let backends = serde_json::json!({"field-mask": 1, "watchpoints": 1});
    assert_eq!(report["backends"], backends);
    assert_eq!(of(&report, "one")["backend"], "field-mask");
    Ok(())
}

#[test]
fn what_an_agent_did_not_finish_is_no_report_of_a_folder() -> std::io::Result<()> {
    let folder = tempfile::tempdir()?;
    let whole = fs::read(fixture().join("planner.jsonl"))?;
    fs::write(folder.path().join("planner.jsonl"), &whole)?;
    let unfinished = folder.path().join("planner.jsonl.part");
    fs::write(&unfinished, &whole)?;
    let report = slowpath_succeeds(&["transfers", "--json"], folder.path()).json();
    assert_eq!(report["processes"], 1);
    // Who names it wants it.
    let named = unfinished.display().to_string();
    let named = slowpath_succeeds(&["transfers", "--json", &named], &fixture()).json();
    assert_eq!(named["processes"], 2);
    Ok(())
}

#[test]
fn a_folder_of_reports_alone_is_served() {
    let server = Server::of(&fixture());
    let recording = server.get("/api/recording");
    assert_eq!(recording["transfer_reports"], 1);
    assert_eq!(recording["traces"].as_array().map(Vec::len), Some(0));
    let told = slowpath_succeeds(&["transfers", "--json"], &fixture()).json();
    assert_eq!(server.get("/api/transfers"), told);
    assert_eq!(
        server.answer("GET", "/api/services", &Value::Null).status,
        409
    );

    let beside = Server::of(&with_spans());
    let told = slowpath_succeeds(&["transfers", "--json"], &with_spans()).json();
    assert_eq!(beside.get("/api/transfers"), told);
}
