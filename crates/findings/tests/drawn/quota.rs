//! Whose a quota is that nobody noted, where processes were moved from group to group.

use slowpath_findings::FindingId;
use slowpath_model::{HostId, ProcessId};

use crate::sleep::held_back;
use crate::support::{Drawn, only};

#[test]
fn which_group_of_a_moved_process_has_a_quota_is_not_known() {
    let title = |groups: &[&str]| {
        let mut drawn = Drawn::hosts(&[("web-1", &held_back("futex"))], Vec::new());
        let groups = groups.iter().map(|group| (*group).to_owned());
        drawn.control_groups.insert(ProcessId(7), groups.collect());
        let found = drawn.findings(HostId(0));
        only(&found, FindingId::CpuQuota).title.clone()
    };
    let of_shop = "of control group /shop (or of one above it)";
    for groups in [&["/shop"][..], &["/", "/shop"]] {
        let title = title(groups);
        assert!(title.contains(of_shop), "{title}");
    }
    let title = title(&["/shop", "/free"]);
    assert!(
        title.contains(", moved among the control groups /free and /shop, get"),
        "{title}"
    );
}

#[test]
fn the_files_that_hold_a_quota_are_told_for_both_versions_of_control_groups() {
    let mut drawn = Drawn::hosts(&[("web-1", &held_back("futex"))], Vec::new());
    (drawn.control_groups).insert(ProcessId(7), vec!["/shop".to_owned()]);
    let found = drawn.findings(HostId(0));
    let finding = only(&found, FindingId::CpuQuota);
    let files =
        "in its cpu.max, with cgroup version 1 in its cpu.cfs_quota_us and cpu.cfs_period_us;";
    assert!(finding.advice.contains(files), "{}", finding.advice);
    // Which of them is there the recording does not tell.
    assert!(
        !finding.explanation.contains("cpu.max"),
        "{}",
        finding.explanation
    );
}
