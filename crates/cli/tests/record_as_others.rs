//! A recorder in a namespace of processes of its own, as in a container: the kernel's events have the numbers of the
//! host, so it says so, and notes nothing by the numbers that it sees. And one that is not root, but has the capability.
//!
//! Needs root, tracefs, unshare(1) and setpriv(1); skips visibly where one is missing.

mod support;

use std::path::Path;
use std::process::{Command, Stdio};

use support::skip;

/// Records a short command by a call of `program`; what was said, or why there can be no recording.
fn recorded(program: &[&str], folder: &Path) -> Result<String, String> {
    let words = [
        "record", "--kernel", "ftrace", "--ust", "none", "--spans", "off", "-o",
    ];
    let said = Command::new(program[0])
        .args(&program[1..])
        .args(words)
        .arg(folder)
        .args(["--", "true"])
        .stdin(Stdio::null())
        .output()
        .map_err(|cause| format!("{} does not run: {cause}", program[0]))?;
    let talk = String::from_utf8_lossy(&said.stderr).into_owned();
    match said.status.success() {
        true => Ok(talk),
        false => Err(format!("nothing can be recorded so here: {talk}")),
    }
}

#[test]
fn nothing_is_noted_by_numbers_that_events_do_not_have() {
    const APART: &str = "this runs in a namespace of processes of its own";
    let folder = tempfile::tempdir().expect("a temporary folder");
    let slowpath = env!("CARGO_BIN_EXE_slowpath");
    let (apart, beside) = (folder.path().join("apart"), folder.path().join("beside"));
    let unshare = ["unshare", "--pid", "--fork", "--mount-proc", slowpath];
    let said = recorded(&[slowpath], &beside)
        .and_then(|of_host| Ok((of_host, recorded(&unshare, &apart)?)));
    let (of_host, of_apart) = match said {
        Ok(said) => said,
        Err(missing) => return skip(&missing),
    };
    let noted = |folder: &Path| {
        let dump = std::fs::metadata(folder.join("kernel/statedump.jsonl"));
        dump.expect("a file").len() > 0
    };
    assert!(of_apart.contains(APART), "{of_apart}");
    assert!(!noted(&apart));
    // Where the tests run in a container themselves, it is the same.
    assert_eq!(of_host.contains(APART), !noted(&beside), "{of_host}");
}

#[test]
fn who_has_the_capability_records_without_being_root() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let program = env!("CARGO_BIN_EXE_slowpath");
    if let Err(why) = recorded(&[program], &folder.path().join("root")) {
        return skip(&why);
    }
    let other = "setpriv --reuid=65534 --regid=65534 --clear-groups --inh-caps=+dac_override \
        --ambient-caps=+dac_override";
    let other: Vec<&str> = other.split_whitespace().chain([program]).collect();
    match recorded(&other, &folder.path().join("other")) {
        Err(why) if why.contains("setpriv") => skip(&why),
        told => assert!(told.is_ok(), "{told:?}"),
    }
}
