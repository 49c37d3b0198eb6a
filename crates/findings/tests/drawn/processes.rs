//! Waits for other processes that compute.

use slowpath_findings::{Finding, FindingId};

use crate::support::{evidence, findings, only};

const SWITCH: &str = "sched_switch prev_comm";

/// Thread 7 waits in `call` from 0.1 ms to 20 ms for thread 9 of process `process`, which computes from 1 ms on, and for which
/// `meanwhile` holds.
fn waited(call: &str, process: u32, meanwhile: &str) -> String {
    format!(
        "cpu0 0 sched_process_fork parent_tid=1 parent_pid=1 child_tid=7 child_pid=7 child_comm=shop
         cpu0 1 sched_process_fork parent_tid={process} parent_pid={process} child_tid=9 child_pid={process} child_comm=resize
         cpu0 2 {SWITCH}=t prev_tid=1 prev_state=1 next_comm=shop next_tid=7
         cpu0 10 start 7 1
         cpu0 100 syscall_entry_{call} fd=3
         cpu0 110 {SWITCH}=shop prev_tid=7 prev_state=1 next_comm=swapper/0 next_tid=0
         cpu1 1000 {SWITCH}=swapper/1 prev_tid=0 prev_state=0 next_comm=resize next_tid=9
         {meanwhile}
         cpu1 20000 sched_waking comm=shop tid=7 target_cpu=0
         cpu1 20001 sched_wakeup comm=shop tid=7 target_cpu=0
         cpu0 20010 {SWITCH}=swapper/0 prev_tid=0 prev_state=0 next_comm=shop next_tid=7
         cpu0 20020 syscall_exit_{call} ret=0
         cpu0 20100 end 7 1
         cpu0 21000 {SWITCH}=shop prev_tid=7 prev_state=1 next_comm=swapper/0 next_tid=0
         cpu1 21000 {SWITCH}=resize prev_tid=9 prev_state=1 next_comm=swapper/1 next_tid=0\n"
    )
}

fn is_told(found: &[Finding]) -> bool {
    let mut found = found.iter();
    found.any(|finding| finding.id == FindingId::ProcessWait)
}

#[test]
fn a_process_that_computes_is_named_with_its_share() {
    for call in ["read", "wait4", "recvfrom", "epoll_wait"] {
        // An interrupt is no end of it.
        let interrupt = "cpu1 5000 irq_handler_entry irq=4 name=disk
                         cpu1 5100 irq_handler_exit irq=4 ret=1";
        let found = findings(&waited(call, 9, interrupt), Vec::new());
        let finding = only(&found, FindingId::ProcessWait);
        assert_eq!(
            finding.title,
            "Process: requests wait for resize (9), which computes"
        );
        assert!((0.94..0.96).contains(&finding.share), "{}", finding.share);
        let told = evidence(finding);
        let said = "resize (9): computed while another process waited for 19.000 ms in request";
        assert!(told[0].starts_with(said), "{told:?}");
        let by_call =
            format!("by system call in which the requests' threads waited: {call} 19.000 ms");
        assert!(told.contains(&by_call.as_str()), "{told:?}");
        let shares: f64 = found.iter().map(|finding| finding.share).sum();
        assert!(shares <= 1.0, "{found:#?}");
    }
}

#[test]
fn the_operation_of_its_span_is_named() {
    let spans = "cpu1 1100 start 9 5\ncpu1 19900 end 9 5";
    let found = findings(
        &waited("recvfrom", 9, spans),
        vec![crate::support::span(
            "5 1100..19900 pictures thumbnail server parent=1",
        )],
    );
    let finding = only(&found, FindingId::ProcessWait);
    let told = evidence(finding);
    let by_operation = told.iter().find(|text| text.starts_with("by operation"));
    assert!(
        by_operation.is_some_and(|text| text.contains("thumbnail 18.800 ms")),
        "{told:?}"
    );
    assert!(
        finding
            .explanation
            .contains("By their spans they worked for: thumbnail")
    );
}

#[test]
fn a_child_that_was_started_for_the_request_is_told_so() {
    let fork = |at: u32| {
        format!(
            "cpu0 {at} sched_process_fork parent_tid=9 parent_pid=9 child_tid=9 child_pid=9 child_comm=resize\n"
        )
    };
    let started = waited("wait4", 9, "").replace(&fork(1), "").replace(
        "cpu0 100 syscall_entry",
        &format!("{}cpu0 100 syscall_entry", fork(90)),
    );
    let found = findings(&started, Vec::new());
    let explanation = &only(&found, FindingId::ProcessWait).explanation;
    let said = "1 of them was started after the request that waited had begun.";
    assert!(explanation.contains(said), "{explanation}");
    let found = findings(&waited("wait4", 9, ""), Vec::new());
    let explanation = &only(&found, FindingId::ProcessWait).explanation;
    assert!(!explanation.contains("started"), "{explanation}");
}

#[test]
fn what_others_tell_is_not_told_twice() {
    // A thread of the same process.
    assert!(!is_told(&findings(&waited("read", 7, ""), Vec::new())));
    // A lock that processes share.
    let found = findings(&waited("flock", 9, ""), Vec::new());
    only(&found, FindingId::LockContention);
    assert!(!is_told(&found), "{found:#?}");
    // One that waits for a time to come itself.
    let sleeps = format!(
        "cpu1 1010 syscall_entry_nanosleep rqtp=0
         cpu1 1020 {SWITCH}=resize prev_tid=9 prev_state=1 next_comm=swapper/1 next_tid=0
         cpu1 19500 timer_hrtimer_expire_entry hrtimer=0x1
         cpu1 19501 sched_waking comm=resize tid=9 target_cpu=1
         cpu1 19502 sched_wakeup comm=resize tid=9 target_cpu=1
         cpu1 19503 timer_hrtimer_expire_exit hrtimer=0x1
         cpu1 19510 {SWITCH}=swapper/1 prev_tid=0 prev_state=0 next_comm=resize next_tid=9
         cpu1 19520 syscall_exit_nanosleep ret=0"
    );
    let found = findings(&waited("read", 9, &sleeps), Vec::new());
    only(&found, FindingId::TimerWait);
    assert!(!is_told(&found), "{found:#?}");
}

#[test]
fn a_server_that_works_for_others_first_is_a_queue_for_that_time() {
    let spans = "cpu1 1000 start 9 2:8
        cpu1 11000 end 9 2:8
        cpu1 11001 start 9 5
        cpu1 19900 end 9 5";
    let found = findings(
        &waited("recvfrom", 9, spans),
        vec![crate::support::span(
            "5 11001..19900 pictures thumbnail server parent=1",
        )],
    );
    let share = |id| only(&found, id).share;
    let (queue, computed) = (
        share(FindingId::BlockedByRequest),
        share(FindingId::ProcessWait),
    );
    assert!(queue > 0.2 && computed > 0.2, "{queue} {computed}");
    assert!(queue + computed <= 1.0, "{queue} {computed}");
}

#[test]
fn a_server_that_takes_a_request_has_not_answered_it() {
    // Who waits at the other end of a Unix socket is woken when its request is read, as there is room for another one,
    // and waits on.
    let spans = |awake_until: u32| {
        format!(
            "cpu1 1000 start 9 2:8
             cpu1 11000 end 9 2:8
             cpu1 11001 sched_waking comm=shop tid=7 target_cpu=0
             cpu1 11002 sched_wakeup comm=shop tid=7 target_cpu=0
             cpu0 11010 {SWITCH}=swapper/0 prev_tid=0 prev_state=0 next_comm=shop next_tid=7
             cpu0 {awake_until} {SWITCH}=shop prev_tid=7 prev_state=1 next_comm=swapper/0 next_tid=0
             cpu1 11100 start 9 5
             cpu1 19900 end 9 5"
        )
    };
    let of_file = || crate::support::span("5 11100..19900 pictures thumbnail server parent=1");
    let found = findings(&waited("recvfrom", 9, &spans(11_020)), vec![of_file()]);
    let queue = only(&found, FindingId::BlockedByRequest);
    // 10 ms of the 39 that this request, the other one and its own server's part take.
    assert!((0.25..0.27).contains(&queue.share), "{}", queue.share);
    // It did something of its own in between: that was an answer.
    let found = findings(&waited("recvfrom", 9, &spans(11_090)), vec![of_file()]);
    let mut ids = found.iter().map(|finding| finding.id);
    assert!(
        !ids.any(|id| id == FindingId::BlockedByRequest),
        "{found:#?}"
    );
}

#[test]
fn a_call_that_is_not_told_takes_nothing_from_the_one_before() {
    // The server works for another request, then for this one, and answers; it is asked at once for something of which it
    // tells no span.
    let spans = format!(
        "cpu1 1000 start 9 2:8
         cpu1 11000 end 9 2:8
         cpu1 11001 start 9 5
         cpu1 18000 end 9 5
         cpu1 18001 sched_waking comm=shop tid=7 target_cpu=0
         cpu1 18002 sched_wakeup comm=shop tid=7 target_cpu=0
         cpu0 18010 {SWITCH}=swapper/0 prev_tid=0 prev_state=0 next_comm=shop next_tid=7
         cpu0 18012 syscall_exit_recvfrom ret=2
         cpu0 18014 syscall_entry_sendto fd=3
         cpu0 18016 syscall_exit_sendto ret=2
         cpu0 18018 syscall_entry_recvfrom fd=3
         cpu0 18020 {SWITCH}=shop prev_tid=7 prev_state=1 next_comm=swapper/0 next_tid=0"
    );
    let of_file = crate::support::span("5 11001..18000 pictures thumbnail server parent=1");
    let found = findings(&waited("recvfrom", 9, &spans), vec![of_file]);
    let queue = only(&found, FindingId::BlockedByRequest);
    // 10 ms of the 37 that this request, the other one and its own server's part take.
    assert!((0.26..0.28).contains(&queue.share), "{}", queue.share);
}

/// Thread 9 waits in `call` for 11, which is of process `process` and computes.
fn peer_waits(call: &str, process: u32) -> String {
    format!(
        "cpu2 1 sched_process_fork parent_tid={process} parent_pid={process} child_tid=11 child_pid={process} child_comm=batch
         cpu2 20 {SWITCH}=swapper/2 prev_tid=0 prev_state=0 next_comm=batch next_tid=11
         cpu1 2000 syscall_entry_{call} fd=3
         cpu1 2010 {SWITCH}=resize prev_tid=9 prev_state=1 next_comm=swapper/1 next_tid=0
         cpu2 17000 sched_waking comm=resize tid=9 target_cpu=1
         cpu2 17001 sched_wakeup comm=resize tid=9 target_cpu=1
         cpu1 17010 {SWITCH}=swapper/1 prev_tid=0 prev_state=0 next_comm=resize next_tid=9
         cpu1 17020 syscall_exit_{call} ret=0
         cpu2 21000 {SWITCH}=batch prev_tid=11 prev_state=1 next_comm=swapper/2 next_tid=0"
    )
}

#[test]
fn a_lock_that_the_peer_waits_for_is_told_as_one() {
    // Thread 9 asks 11 for what it holds.
    for (call, process) in [("flock", 11), ("fcntl", 11), ("semop", 9), ("futex", 11)] {
        let found = findings(
            &waited("recvfrom", 9, &peer_waits(call, process)),
            Vec::new(),
        );
        let lock = only(&found, FindingId::LockContention);
        assert!(
            lock.title.starts_with("Lock: requests wait for batch"),
            "{}",
            lock.title
        );
        assert!((0.7..0.76).contains(&lock.share), "{}", lock.share);
        let computes = only(&found, FindingId::ProcessWait);
        assert!((0.15..0.26).contains(&computes.share), "{}", computes.share);
    }
    // Within a process that may be a queue; and in another call it is a question.
    for (call, process) in [("futex", 9), ("read", 11)] {
        let found = findings(
            &waited("recvfrom", 9, &peer_waits(call, process)),
            Vec::new(),
        );
        assert!(
            only(&found, FindingId::ProcessWait).share > 0.9,
            "{found:#?}"
        );
        assert!(
            found
                .iter()
                .all(|finding| finding.id != FindingId::LockContention)
        );
    }
}

#[test]
fn who_kills_a_peer_that_waits_for_a_lock_has_none() {
    let drawing = |calls: &str, is_killed: bool| {
        let drawing = waited("wait4", 9, &format!("{}\n{calls}", peer_waits("futex", 11)));
        let leaves = |at: u32, state: u32| {
            format!("cpu1 {at} {SWITCH}=resize prev_tid=9 prev_state={state} ")
        };
        match is_killed {
            true => drawing.replace(&leaves(21000, 1), &leaves(20005, 16)),
            false => drawing,
        }
    };
    // That it works on with what it got, or ends by itself, its calls tell.
    let read = format!(
        "cpu1 19000 syscall_entry_read fd=3
         cpu1 19001 syscall_exit_read ret=0
         cpu1 19100 {SWITCH}=resize prev_tid=9 prev_state=0 next_comm=other next_tid=12
         cpu1 19200 {SWITCH}=other prev_tid=12 prev_state=1 next_comm=resize next_tid=9"
    );
    let exit = "cpu1 19000 syscall_entry_exit_group fd=3";
    for (calls, is_killed, is_lock) in [
        ("", false, true),
        ("", true, false),
        (&read, true, true),
        (exit, true, true),
    ] {
        let found = findings(&drawing(calls, is_killed), Vec::new());
        let mut found = found.iter();
        let is_told = found.any(|finding| finding.id == FindingId::LockContention);
        assert_eq!(is_told, is_lock, "{calls} {is_killed}");
    }
}
