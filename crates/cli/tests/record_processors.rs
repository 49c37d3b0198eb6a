//! Threads that wait for a processor for a reason that is made here and now: others of better priority,
//! and a move to a processor that another one keeps. `slowpath diagnose` names it.
//!
//! Needs root, tracefs, Python and two processors; skips visibly where one is missing. What else the
//! machine does may add waits and causes, but takes none away.

mod support;

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Mutex, PoisonError};

use serde_json::Value;
use support::{skip, slowpath_succeeds};

/// The status of the program where it may not set real-time priorities.
const NO_RIGHTS: i64 = 77;

/// Where others use the processor that is left, nobody can tell that it was a bad move.
const TRIES: usize = 3;
/// Each needs the processors for itself.
static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());

/// A recording of `support/processors.py` doing `what`; the error is why there can be none here.
fn recorded(what: &str) -> Result<(tempfile::TempDir, PathBuf), String> {
    if std::thread::available_parallelism().map_or(1, usize::from) < 2 {
        return Err("there is one processor only".to_owned());
    }
    let python = Command::new("python3").arg("--version").output();
    if !python.is_ok_and(|python| python.status.success()) {
        return Err("there is no python3".to_owned());
    }
    let program = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/support/processors.py");
    let folder = tempfile::tempdir().expect("a temporary folder");
    let recording = folder.path().join("recording");
    let _alone = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
    let said = Command::new(env!("CARGO_BIN_EXE_slowpath"))
        .args(["record", "--kernel", "ftrace", "--ust", "none"])
        .args(["--spans", "127.0.0.1:0", "-o"])
        .arg(&recording)
        .args(["--", "python3"])
        .arg(program)
        .arg(what)
        .stdin(Stdio::null())
        .output()
        .expect("slowpath runs");
    let talk = String::from_utf8_lossy(&said.stderr).into_owned();
    if said.status.code() == Some(3) {
        return Err(format!("kernel events cannot be recorded here: {talk}"));
    }
    let manifest = std::fs::read(recording.join("slowpath.json")).expect("a manifest");
    let manifest: Value = serde_json::from_slice(&manifest).expect("JSON");
    if manifest["command_exit"] == NO_RIGHTS {
        return Err("real-time priorities may not be set here".to_owned());
    }
    assert_eq!(manifest["command_exit"], 0, "{talk}");
    Ok((folder, recording))
}

fn findings(recording: &Path) -> Vec<Value> {
    let document = slowpath_succeeds(&["diagnose", "--json"], recording).json();
    document["findings"].as_array().expect("findings").clone()
}

/// All evidence of the findings of a kind.
fn evidence(findings: &[Value], id: &str) -> Vec<String> {
    let of_kind = findings.iter().filter(|finding| finding["id"] == id);
    let all = of_kind.flat_map(|finding| finding["evidence"].as_array().into_iter().flatten());
    all.filter_map(|one| Some(one["text"].as_str()?.to_owned()))
        .collect()
}

#[test]
fn threads_of_better_priority_that_run_instead_are_named() {
    let mut findings = Vec::new();
    let mut by_priority = String::new();
    // Whether both come into the slowest request's way is the scheduler's to say, mostly so.
    for _ in 0..TRIES {
        let (_folder, recording) = match recorded("preferred") {
            Ok(recorded) => recorded,
            Err(missing) => return skip(&missing),
        };
        findings = self::findings(&recording);
        let told = evidence(&findings, "cpu-contention");
        let found = (told.into_iter()).find(|text| text.starts_with("by better priority"));
        by_priority = found.unwrap_or_else(|| panic!("no priority in {findings:#?}"));
        if ["urgent", "favoured"]
            .iter()
            .all(|name| by_priority.contains(name))
        {
            break;
        }
    }
    let (ran, waited) = by_priority
        .split_once("ran while these waited")
        .expect("who ran and who waited");
    for (name, priority) in [
        ("urgent", "[real-time priority 10]"),
        ("favoured", "[nice -20]"),
    ] {
        let is_told = |part: &str| part.contains(name) && part.contains(priority);
        assert!(ran.split(", ").any(is_told), "{name}: {by_priority}");
    }
    assert!(
        waited.contains("shop (") && waited.contains("[nice -5]"),
        "{waited}"
    );
    // Others that take the processor in step are no quota.
    assert_eq!(evidence(&findings, "cpu-quota"), [""; 0]);
}

#[test]
fn a_move_to_a_processor_that_another_thread_keeps_is_named() {
    for _ in 0..TRIES {
        let (_folder, recording) = match recorded("moved") {
            Ok(recorded) => recorded,
            Err(missing) => return skip(&missing),
        };
        let findings = findings(&recording);
        assert_eq!(evidence(&findings, "cpu-quota"), [""; 0]);
        let told = evidence(&findings, "cpu-placement");
        let moves = (told.iter()).find(|text| text.starts_with("by move to a busy processor"));
        if let Some(moves) = moves {
            let from_to = "from processor 1 to 0";
            assert!(
                moves.contains("shop (") && moves.contains(from_to),
                "{moves}"
            );
            let by_priority = (told.iter()).find(|text| text.starts_with("by better priority"));
            let by_priority = by_priority.unwrap_or_else(|| panic!("no priority in {told:?}"));
            let who = ["keeper (", "[real-time priority 10]"];
            assert!(
                who.iter().all(|part| by_priority.contains(part)),
                "{by_priority}"
            );
            return;
        }
        let waits = evidence(&findings, "cpu-contention");
        assert!(!waits.is_empty(), "neither is told: {findings:#?}");
    }
    skip("others kept the processor busy that the thread was moved away from");
}
