//! Waits for a processor while another one was idle.

use slowpath_findings::FindingId;

use crate::support::{evidence, findings, only};

/// Thread 7 runs on processor 0 and sleeps. It is woken and queued on processor 1, where thread 8 runs
/// until 12 ms, while nobody runs on processor 0.
const MOVED: &str =
    "cpu0 0 sched_switch prev_comm=swapper/0 prev_tid=0 prev_state=0 next_comm=shop next_tid=7
    cpu1 5 sched_switch prev_comm=swapper/1 prev_tid=0 prev_state=0 next_comm=batch next_tid=8
    cpu0 10 start 7 1
    cpu0 1000 sched_switch prev_comm=shop prev_tid=7 prev_state=1 next_comm=swapper/0 next_tid=0
    cpu1 2000 sched_waking comm=shop tid=7 target_cpu=1
    cpu1 2001 sched_wakeup comm=shop tid=7 target_cpu=1
    cpu1 12000 sched_switch prev_comm=batch prev_tid=8 prev_state=1 next_comm=shop next_tid=7
    cpu1 12500 end 7 1
    cpu1 13000 sched_switch prev_comm=shop prev_tid=7 prev_state=1 next_comm=swapper/1 next_tid=0";

#[test]
fn a_thread_that_was_moved_to_a_busy_processor_is_told_with_both() {
    let found = findings(MOVED, Vec::new());
    let finding = only(&found, FindingId::CpuPlacement);
    assert!(
        (finding.explanation).contains("shop (7) from processor 0 to 1"),
        "{}",
        finding.explanation
    );
    let told = evidence(finding);
    assert!(
        (told.iter()).any(|text| text.starts_with("by move to a busy processor: shop (7) from")),
        "{told:?}"
    );
}

#[test]
fn one_that_was_fetched_by_an_idle_processor_was_not_moved_to_a_busy_one() {
    // Thread 8 leaves processor 1 at once.
    let left = "cpu1 1500 sched_switch prev_comm=batch prev_tid=8 prev_state=1 next_comm=swapper/1 next_tid=0
    cpu0 2000 sched_waking comm=shop tid=7 target_cpu=1
    cpu0 2001 sched_wakeup comm=shop tid=7 target_cpu=1
    cpu1 12000 sched_switch prev_comm=swapper/1 prev_tid=0 prev_state=0 next_comm=shop next_tid=7";
    let (before, after) = MOVED.split_once("cpu1 2000").expect("a wake-up");
    let after = after.split_once("cpu1 12500").expect("an end").1;
    let found = findings(&format!("{before}{left}\ncpu1 12500{after}"), Vec::new());
    let finding = only(&found, FindingId::CpuPlacement);
    assert!(
        !finding.explanation.contains("moved"),
        "{}",
        finding.explanation
    );
    let told = evidence(finding);
    assert!(
        !told.iter().any(|text| text.contains("by move")),
        "{told:?}"
    );
}
