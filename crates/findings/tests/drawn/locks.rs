//! Waits for locks: what is said of who woke the thread.

use slowpath_findings::{Finding, FindingId};

use crate::support::{findings, only};

/// Thread 7 waits in futex until thread 8, which runs meanwhile, wakes it; or a timer that was not recorded.
const WAITED: &str =
    "cpu0 0 sched_switch prev_comm=swapper/0 prev_tid=0 prev_state=0 next_comm=shop next_tid=7
    cpu0 10 start 7 1
    cpu0 100 syscall_entry_futex op=0
    cpu0 110 sched_switch prev_comm=shop prev_tid=7 prev_state=1 next_comm=other next_tid=8
    cpu0 20000 sched_waking comm=shop tid=7 target_cpu=0
    cpu0 20001 sched_wakeup comm=shop tid=7 target_cpu=0
    cpu0 20010 sched_switch prev_comm=other prev_tid=8 prev_state=1 next_comm=shop next_tid=7
    cpu0 20020 syscall_exit_futex ret=0
    cpu0 20100 end 7 1
    cpu0 21000 sched_switch prev_comm=shop prev_tid=7 prev_state=1 next_comm=swapper/0 next_tid=0";

#[test]
fn without_timers_it_is_said_that_a_wait_may_have_ended_by_itself() {
    let with_timers = format!("{WAITED}\ncpu0 21010 timer_hrtimer_expire_entry hrtimer=0x1");
    for (drawing, is_sure) in [(WAITED, false), (&with_timers, true)] {
        let found = findings(drawing, Vec::new());
        let finding = only(&found, FindingId::LockContention);
        assert!(finding.title.contains("other (8)"), "{}", finding.title);
        let doubt = "The trace has no timers";
        assert_eq!(!finding.explanation.contains(doubt), is_sure, "{drawing}");
    }
}

#[test]
fn who_waits_for_a_lock_on_a_file_or_a_semaphore_waits_for_its_holder() {
    for (call, what) in [
        ("flock", "a lock on a file"),
        ("fcntl", "a lock on a file"),
        ("semop", "a semaphore"),
        ("semtimedop", "a semaphore"),
    ] {
        let found = findings(&WAITED.replace("futex", call), Vec::new());
        let finding = only(&found, FindingId::LockContention);
        assert_eq!(finding.title, "Lock: requests wait for other (8)");
        let said = format!("in all in {call}, for {what}, until");
        assert!(
            finding.explanation.contains(&said),
            "{}",
            finding.explanation
        );
    }
    let other = findings(&WAITED.replace("futex", "read"), Vec::new());
    assert!(
        !other
            .iter()
            .any(|finding| finding.id == FindingId::LockContention)
    );
}

#[test]
fn who_sends_signals_has_no_lock() {
    // Thread 9, or a timer, interrupts the wait of 7 for 8 every 5 ms; 7 waits again at once.
    let signals = |by_timer: bool| -> String {
        let signal = |at: u32| {
            let wake = format!("cpu1 {at} sched_waking comm=shop tid=7 target_cpu=0");
            let timer = |what: &str| format!("cpu1 {at} timer_hrtimer_expire_{what} hrtimer=0x1");
            let wake = match by_timer {
                true => format!("{}\n{wake}\n{}", timer("entry"), timer("exit")),
                false => wake,
            };
            format!(
                "{wake}
                cpu0 {0} sched_switch prev_comm=other prev_tid=8 prev_state=0 next_comm=shop next_tid=7
                cpu0 {1} syscall_exit_futex ret=-512
                cpu0 {2} syscall_entry_futex op=0
                cpu0 {3} sched_switch prev_comm=shop prev_tid=7 prev_state=1 next_comm=other next_tid=8\n",
                at + 10,
                at + 15,
                at + 50,
                at + 60,
            )
        };
        [5000, 10000, 15000].map(signal).concat()
    };
    let profiler = "cpu1 0 sched_switch prev_comm=swapper/1 prev_tid=0 prev_state=0 next_comm=profiler next_tid=9";
    let at = WAITED.find("cpu0 20000").expect("the wake-up");
    let (before, after) = WAITED.split_at(at);
    for by_timer in [false, true] {
        let drawing = format!("{profiler}\n{before}{}{after}", signals(by_timer));
        let found = findings(&drawing, Vec::new());
        let finding = only(&found, FindingId::LockContention);
        assert_eq!(finding.title, "Lock: requests wait for other (8)");
        assert!(finding.share > 0.95, "{}", finding.share);
        let is_timer = |finding: &Finding| finding.id == FindingId::TimerWait;
        assert!(!found.iter().any(is_timer), "{found:#?}");
    }
}

#[test]
fn what_is_given_up_while_a_signal_is_handled_is_waited_for() {
    // Thread 9 sends 7 a signal; when that has handled it, it gets the lock at once.
    let profiler = "cpu1 0 sched_switch prev_comm=swapper/1 prev_tid=0 prev_state=0 next_comm=profiler next_tid=9";
    let signalled = WAITED
        .replace("cpu0 2000", "cpu1 2000")
        .replace("futex ret=0", "futex ret=-512");
    let found = findings(&format!("{profiler}\n{signalled}"), Vec::new());
    let finding = only(&found, FindingId::LockContention);
    assert_eq!(
        finding.title,
        "Lock: requests wait for a holder that is not known"
    );
    assert!(finding.share > 0.95, "{}", finding.share);
    let said = "a thread. For 19.890 ms of it a signal interrupted them";
    assert!(
        finding.explanation.contains(said),
        "{}",
        finding.explanation
    );
}

#[test]
fn who_waits_for_a_thread_to_end_waits_for_no_lock() {
    // 8 ends after it has woken 7 (soon, or later), is at its end when it wakes 7, or goes on to wait for something else.
    let ends = |exit: &str| {
        let gone = WAITED.replace(
            "prev_comm=other prev_tid=8 prev_state=1",
            "prev_comm=other prev_tid=8 prev_state=16",
        );
        let (before, after) = gone.split_at(gone.find("cpu0 20010").expect("the end"));
        match exit {
            "20005" => format!("{before}cpu0 20005 syscall_entry_exit @tid=8\n    {after}"),
            "21500" => format!("{WAITED}\n    cpu0 21500 syscall_entry_exit @tid=8"),
            _ => {
                let waking = before.find("cpu0 20000").expect("the wake-up");
                let (before, woken) = before.split_at(waking);
                format!("{before}cpu0 19990 syscall_entry_exit @tid=8\n    {woken}{after}")
            }
        }
    };
    let told = |drawing: &str| {
        let found = findings(drawing, Vec::new());
        let finding = only(&found, FindingId::LockContention);
        (
            finding.title.clone(),
            finding.explanation.contains("it was joined."),
        )
    };
    let expected = |title: &str, is_join| (title.to_owned(), is_join);
    assert_eq!(
        told(WAITED),
        expected("Lock: requests wait for other (8)", false)
    );
    assert_eq!(
        told(&ends("21500")),
        expected("Lock: requests wait for other (8)", false)
    );
    assert_eq!(
        told(&ends("20005")),
        expected(
            "Threads or a lock: requests wait for other (8), which ends then",
            false
        )
    );
    assert_eq!(
        told(&ends("19990")),
        expected("Threads: requests wait until other (8) has ended", true)
    );
    // Who holds a lock on a file until its end is joined by nobody.
    for (call, exit) in [("flock", "19990"), ("fcntl", "19990"), ("flock", "20005")] {
        assert_eq!(
            told(&ends(exit).replace("futex", call)),
            expected("Lock: requests wait for other (8)", false),
            "{call} {exit}"
        );
    }
}
