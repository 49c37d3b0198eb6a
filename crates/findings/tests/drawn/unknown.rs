//! Time of which the recording does not tell where it went: what is said to be the reason.

use slowpath_findings::FindingId;
use slowpath_model::{DiagnosticCode, HostId};

use crate::support::{Drawn, findings, only};

/// Thread 7 waits for one page after the other, and is woken after 5 ms of 10: each switch to it from the idle thread is
/// missing.
fn pages(asks_disk: bool) -> String {
    let turn = |ms: u32| {
        let at = ms * 1000;
        let asks = match asks_disk {
            true => format!(
                "cpu0 {} block_rq_issue dev=1 sector=8 nr_sector=8 bytes=4096 @tid=7\n",
                at + 5010
            ),
            false => String::new(),
        };
        format!(
            "cpu0 {} irq_softirq_entry vec=4 @tid=0
             cpu0 {} sched_waking comm=shop tid=7 target_cpu=0 @tid=0
             cpu0 {} sched_wakeup comm=shop tid=7 target_cpu=0 @tid=0
             cpu0 {} irq_softirq_exit vec=4 @tid=0
             {asks}cpu0 {} sched_switch prev_comm=shop prev_tid=7 prev_state=2 next_comm=swapper/0 next_tid=0 @tid=7\n",
            at + 5000,
            at + 5001,
            at + 5002,
            at + 5003,
            at + 10000
        )
    };
    let turns: String = [0, 10, 20, 30].map(turn).concat();
    format!(
        "cpu0 0 sched_switch prev_comm=swapper/0 prev_tid=0 prev_state=0 next_comm=shop next_tid=7 @tid=0
         cpu0 10 start 7 1
         cpu0 20 sched_switch prev_comm=shop prev_tid=7 prev_state=2 next_comm=swapper/0 next_tid=0 @tid=7
         {turns}
         cpu0 40000 end 7 1
         cpu0 41000 irq_softirq_entry vec=4 @tid=0"
    )
}

#[test]
fn where_switches_are_missing_nothing_else_is_blamed() {
    let found = findings(&pages(false), Vec::new());
    let finding = only(&found, FindingId::UnknownTime);
    let explanation = &finding.explanation;
    assert!(
        explanation.contains("a switch to a thread is missing")
            && !explanation.contains("beyond the recording"),
        "{explanation}"
    );
    assert!(
        finding
            .advice
            .starts_with("Record system calls and block requests"),
        "{}",
        finding.advice
    );
}

#[test]
fn who_asks_a_disk_is_known_to_run_and_then_waits_for_it() {
    let found = findings(&pages(true), Vec::new());
    let is_unknown = found
        .iter()
        .any(|finding| finding.id == FindingId::UnknownTime);
    assert!(!is_unknown, "{found:#?}");
    let share = only(&found, FindingId::DiskWait).share;
    assert!((0.45..0.55).contains(&share), "{share}");
}

#[test]
fn where_no_switches_were_recorded_none_is_said_to_be_missing() {
    let drawing = "cpu0 0 syscall_entry_read fd=3 @tid=7
         cpu0 10 start 7 1
         cpu0 20 syscall_exit_read ret=1 @tid=7
         cpu0 30000 syscall_entry_read fd=3 @tid=7
         cpu0 40000 end 7 1
         cpu0 41000 syscall_exit_read ret=1 @tid=7";
    let mut drawn = Drawn::hosts(&[("web-1", drawing)], Vec::new());
    // Lost events do not explain it either.
    drawn.wrong(HostId(0), DiagnosticCode::LostEvents, Some(1));
    let found = drawn.findings(HostId(0));
    let finding = only(&found, FindingId::UnknownTime);
    let explanation = &finding.explanation;
    assert!(
        explanation.contains("no switches of threads were recorded")
            && !explanation.contains("a switch to a thread is missing")
            && !explanation.contains("beyond the recording"),
        "{explanation}"
    );
    assert!(
        finding.advice.starts_with("Record the scheduler"),
        "{}",
        finding.advice
    );
    let is_lost = |finding: &slowpath_findings::Finding| finding.id == FindingId::LostEvents;
    assert!(!found.iter().any(is_lost), "{found:#?}");
}

/// Request 2 leaves its event loop, thread 7, which is woken by a timer, serves request 3 and takes up request 2 again.
const SEVERAL_EVENTS: &str = "
    cpu0 0 sched_switch prev_comm=swapper/0 prev_tid=0 prev_state=0 next_comm=node next_tid=7 @tid=0
    cpu0 10 start 7 2
    cpu0 10 attach 7 2
    cpu0 100 detach 7 2
    cpu0 110 syscall_entry_epoll_pwait epfd=3 timeout=1 @tid=7
    cpu0 120 sched_switch prev_comm=node prev_tid=7 prev_state=1 next_comm=swapper/0 next_tid=0 @tid=7
    cpu0 30000 irq_softirq_entry vec=1 @tid=0
    cpu0 30001 sched_waking comm=node tid=7 target_cpu=0 @tid=0
    cpu0 30002 sched_wakeup comm=node tid=7 target_cpu=0 @tid=0
    cpu0 30003 irq_softirq_exit vec=1 @tid=0
    cpu0 30010 sched_switch prev_comm=swapper/0 prev_tid=0 prev_state=0 next_comm=node next_tid=7 @tid=0
    cpu0 30020 syscall_exit_epoll_pwait ret=1 @tid=7
    cpu0 30030 start 7 4:3
    cpu0 30030 attach 7 4:3
    cpu0 33000 detach 7 4:3
    cpu0 33000 end 7 4:3
    cpu0 33010 attach 7 2
    cpu0 34000 detach 7 2
    cpu0 34000 end 7 2
    cpu0 35000 sched_switch prev_comm=node prev_tid=7 prev_state=1 next_comm=swapper/0 next_tid=0 @tid=7";

#[test]
fn what_event_loops_do_not_tell_are_no_lost_events() {
    let mut drawn = Drawn::hosts(&[("web-1", SEVERAL_EVENTS)], Vec::new());
    drawn.wrong(HostId(0), DiagnosticCode::LostEvents, Some(1));
    let found = drawn.findings(HostId(0));
    let finding = only(&found, FindingId::UnknownTime);
    assert!(
        finding
            .title
            .contains("event loops had several things to do")
            && (0.87..0.89).contains(&finding.share),
        "{finding:#?}"
    );
    assert!(
        finding.evidence[0].text.contains("waited for 29.902 ms"),
        "{finding:#?}"
    );
    let is_lost = |finding: &slowpath_findings::Finding| finding.id == FindingId::LostEvents;
    assert!(!found.iter().any(is_lost), "{found:#?}");
}
