//! What killed recorders and their killed guardians left behind.
//!
//! Nothing is touched that a claim holds (`claims.rs`): a guardian may still be writing it out.
//! Claims of other containers cannot be seen, but there the kernel refuses to remove an instance
//! whose rings are open.

use std::fs;
use std::path::Path;

use slowpath_platform::process::{StartTime, start_time};

use crate::claims::{self, NAME_PREFIX};

/// Removes the instances in `parent` that nobody claims or holds; returns their names. The caller
/// has the folder locked.
pub(crate) fn remove_instances(parent: &Path, claims: &Path) -> Vec<String> {
    let entries = fs::read_dir(parent).into_iter().flatten().flatten();
    let names = entries.filter_map(|entry| entry.file_name().into_string().ok());
    names
        .filter(|name| owner(name).is_some() && !claims::is_held(claims, name))
        .filter(|name| fs::remove_dir(parent.join(name)).is_ok())
        .collect()
}

/// Whether `session` is a recorder's whose process has ended and whose guardian is through with it.
pub(crate) fn is_orphan(session: &str, claims: &Path) -> bool {
    owner(session).is_some_and(|(pid, start)| start_time(pid) != Some(start))
        && !claims::is_held(claims, session)
}

/// The recorder that gave this name; `None` for names that recorders do not give.
fn owner(name: &str) -> Option<(i32, StartTime)> {
    let (pid, start) = name.strip_prefix(NAME_PREFIX)?.split_once('-')?;
    Some((pid.parse().ok()?, StartTime(start.parse().ok()?)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::claims::{Claim, recorder_name};

    #[test]
    fn folders_that_recorders_did_not_name_or_still_claim_stay() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let claims = tempfile::tempdir().expect("a temporary folder");
        for name in [
            "slowpath-17-4",
            "slowpath-17-5",
            "slowpath-my-1",
            "other-17-4",
        ] {
            fs::create_dir(folder.path().join(name)).expect("a folder");
        }
        let claim = Claim::take(claims.path(), "slowpath-17-5").expect("taken");
        let remove = || remove_instances(folder.path(), claims.path());
        assert_eq!(remove(), ["slowpath-17-4"]);
        drop(claim);
        assert_eq!(remove(), ["slowpath-17-5"]);
        assert_eq!(fs::read_dir(folder.path()).expect("a folder").count(), 2);
    }

    #[test]
    fn only_unclaimed_sessions_of_ended_recorders_are_orphans() {
        let claims = tempfile::tempdir().expect("a temporary folder");
        let is_orphan = |session: &str| is_orphan(session, claims.path());
        let own = std::process::id() as i32;
        assert!(!is_orphan(&recorder_name(own)));
        assert!(
            is_orphan(&format!("slowpath-{own}-1")),
            "the pid was given out again"
        );
        assert!(is_orphan("slowpath-999999999-17"));
        let _claim = Claim::take(claims.path(), "slowpath-999999999-17").expect("taken");
        assert!(!is_orphan("slowpath-999999999-17"), "its guardian is at it");
        assert!(!is_orphan("auto-20261121-081512"), "somebody else's");
        assert!(
            !is_orphan("slowpath-notes"),
            "somebody else's, with our prefix"
        );
    }
}
