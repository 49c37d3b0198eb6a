//! `slowpath transfers`: what it prints and how it ends, on the report of the agent's own test.

mod support;

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;
use support::{slowpath, slowpath_succeeds};

fn fixture() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/fixtures/transfers")
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
    assert!(uses("keep").iter().all(|field| field.ends_with(" unknown")));
    assert!(uses("sometimes").contains(&"price sometimes".to_owned()));
}

#[test]
fn people_see_where_what_and_what_to_change() {
    let printed = slowpath_succeeds(&["transfers", "--top", "3"], &fixture());
    let text = String::from_utf8(printed.stdout).expect("it is text");
    for part in [
        "2,380 responses in 1 process\n",
        "   → shop.TicketClient.ticket(TicketClient.java:17)\n",
        "8.3 % of the fields used (385 objects decided, 0 censored)\n",
        "change: only `destination` is read: ask for that field\n",
        "destination  String   always  100.0 %   99.0–100.0 %     24\n",
        "… and 9 more (--top 0 shows all)\n",
    ] {
        assert!(text.contains(part), "{part} is not in\n{text}");
    }
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
