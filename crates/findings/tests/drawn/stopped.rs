//! Threads that signals stop while they serve a request.

use slowpath_findings::{Finding, FindingId};

use crate::support::{evidence, findings, only};

/// Thread 7 serves a request of 50 ms and leaves its processor in the state `left` from 1 ms on, until thread 8 wakes it
/// at `woken` microseconds.
fn off_the_processor(left: u32, woken: u32) -> Vec<Finding> {
    let switch = "sched_switch prev_comm=t prev_tid";
    let drawing = format!(
        "cpu0 1 {switch}=0 prev_state=0 next_comm=t next_tid=7
         cpu0 2 start 7 1
         cpu1 5 {switch}=0 prev_state=0 next_comm=t next_tid=8
         cpu0 1000 {switch}=7 prev_state={left} next_comm=t next_tid=0
         cpu1 {woken} sched_waking comm=t tid=7 target_cpu=0
         cpu1 {woken} sched_wakeup comm=t tid=7 target_cpu=0
         cpu0 {} {switch}=0 prev_state=0 next_comm=t next_tid=7
         cpu0 50000 end 7 1
         cpu0 50010 {switch}=7 prev_state=1 next_comm=t next_tid=0
         cpu1 50020 {switch}=8 prev_state=1 next_comm=t next_tid=0\n",
        woken + 10
    );
    findings(&drawing, Vec::new())
}

#[test]
fn who_is_stopped_is_told_with_the_time() {
    let found = off_the_processor(4, 43_000);
    let finding = only(&found, FindingId::StoppedBySignal);
    assert!((0.83..0.85).contains(&finding.share), "{}", finding.share);
    let title = "Stopped: signals stop threads that requests need";
    assert_eq!(finding.title, title);
    assert_eq!(
        evidence(finding),
        [
            "t (7): was stopped for 42.000 ms in request 0000000000000001 (t)",
            "by thread: t (7) 42.000 ms",
        ]
    );
}

#[test]
fn neither_a_short_stop_nor_another_wait_is_a_stop() {
    for found in [off_the_processor(4, 1_900), off_the_processor(1, 43_000)] {
        let stops = found
            .iter()
            .find(|one| one.id == FindingId::StoppedBySignal);
        assert_eq!(stops, None);
    }
}

#[test]
fn who_is_frozen_is_told_with_the_time() {
    let switch = "sched_switch prev_comm=t prev_tid";
    let calls: String = ["read", "epoll_wait", "nanosleep", "futex"]
        .iter()
        .map(|call| format!("cpu0 3 syscall_entry_{call} fd=1\ncpu0 3 syscall_exit_{call} ret=0\n"))
        .collect();
    let drawing = format!(
        "cpu1 0 lttng_statedump_process_state tid=7 pid=7 ppid=1 name=t
         cpu1 0 lttng_statedump_process_state tid=8 pid=8 ppid=1 name=runc
         cpu0 1 {switch}=0 prev_state=0 next_comm=t next_tid=7
         cpu0 2 start 7 1
         {calls}cpu0 1000 {switch}=7 prev_state=1 next_comm=t next_tid=0
         cpu1 42000 {switch}=0 prev_state=0 next_comm=runc next_tid=8
         cpu1 42990 syscall_entry_write fd=1
         cpu1 43000 sched_waking comm=t tid=7 target_cpu=0
         cpu1 43000 sched_wakeup comm=t tid=7 target_cpu=0
         cpu0 43010 {switch}=0 prev_state=0 next_comm=t next_tid=7
         cpu0 50000 end 7 1
         cpu0 50010 {switch}=7 prev_state=1 next_comm=t next_tid=0
         cpu1 50020 {switch}=8 prev_state=1 next_comm=t next_tid=0\n"
    );
    let found = findings(&drawing, Vec::new());
    let finding = only(&found, FindingId::Frozen);
    assert!((0.83..0.85).contains(&finding.share), "{}", finding.share);
    assert_eq!(
        evidence(finding),
        [
            "t (7): was frozen for 42.000 ms in request 0000000000000001 (t)",
            "by thread: t (7) 42.000 ms",
        ]
    );
    assert_eq!(found.len(), 1, "{found:?}");
}
