//! What killed recorders and their killed guardians left behind.
//!
//! The kernel refuses to remove an instance whose rings are open, and a living recorder holds them
//! open, so removal is simply tried; this also holds across containers, where pids mean nothing.
//! LTTng sessions are judged by the pid and start time in their names.

use std::fs;
use std::path::Path;

use slowpath_platform::process::{StartTime, start_time};

use crate::ftrace::INSTANCE_PREFIX;

/// Removes the instances in `parent` that nobody holds; returns their names. The caller has the
/// folder locked.
pub(crate) fn remove_instances(parent: &Path) -> Vec<String> {
    let entries = fs::read_dir(parent).into_iter().flatten().flatten();
    let names = entries.filter_map(|entry| entry.file_name().into_string().ok());
    names
        .filter(|name| is_recorders(name))
        .filter(|name| fs::remove_dir(parent.join(name)).is_ok())
        .collect()
}

/// Whether `name` is our prefix with numbers behind it, as recorders name their instances.
fn is_recorders(name: &str) -> bool {
    let numbers = name.strip_prefix(INSTANCE_PREFIX);
    numbers.is_some_and(|numbers| {
        numbers
            .bytes()
            .all(|one| one.is_ascii_digit() || one == b'-')
    })
}

/// The name of the LTTng session of the recorder `pid`.
pub(crate) fn session_name(pid: i32) -> String {
    let start = start_time(pid).map_or(0, |start| start.0);
    format!("{INSTANCE_PREFIX}{pid}-{start}")
}

/// Whether `session` is a recorder's whose process has ended.
pub(crate) fn is_orphan(session: &str) -> bool {
    let Some(owner) = session.strip_prefix(INSTANCE_PREFIX) else {
        return false;
    };
    let Some((pid, start)) = owner.split_once('-') else {
        return false;
    };
    match (pid.parse(), start.parse()) {
        (Ok(pid), Ok(start)) => start_time(pid) != Some(StartTime(start)),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_that_recorders_did_not_name_stay() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        for name in ["slowpath-17", "slowpath-17-2", "slowpath-mine", "other-17"] {
            fs::create_dir(folder.path().join(name)).expect("a folder");
        }
        let mut removed = remove_instances(folder.path());
        removed.sort();
        assert_eq!(removed, ["slowpath-17", "slowpath-17-2"]);
        assert!(folder.path().join("slowpath-mine").exists());
    }

    #[test]
    fn only_sessions_of_ended_recorders_are_orphans() {
        let own = std::process::id() as i32;
        assert!(!is_orphan(&session_name(own)));
        assert!(
            is_orphan(&format!("slowpath-{own}-1")),
            "the pid was given out again"
        );
        assert!(is_orphan("slowpath-999999999-17"));
        assert!(!is_orphan("auto-20261121-081512"), "somebody else's");
        assert!(
            !is_orphan("slowpath-notes"),
            "somebody else's, with our prefix"
        );
    }
}
