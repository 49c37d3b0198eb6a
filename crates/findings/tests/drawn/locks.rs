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
fn threads_that_the_kernel_has_take_turns_wait_for_a_lock() {
    let of_process = |thread: u32, process: u32| {
        format!(
            "cpu0 0 sched_process_fork parent_tid={process} parent_pid={process} child_tid={thread} \
             child_pid={process} child_comm=t\n"
        )
    };
    const INTERRUPTS: &str =
        "\ncpu0 21010 irq_handler_entry irq=1 name=x\ncpu0 21020 softirq_entry vec=1";
    // Thread 7 of process 6 waits for 8 of `process`, in `call` if in any, in a state that the kernel calls `state`, in a
    // trace with the events of `more` as well.
    let waited_among = |more: &str, call: &str, state: u32, process: u32| {
        let lines = WAITED
            .lines()
            .filter(|line| !call.is_empty() || !line.contains("syscall"));
        let slept = (lines.collect::<Vec<_>>().join("\n"))
            .replace("futex", call)
            .replace(
                "prev_tid=7 prev_state=1 next_comm=other",
                &format!("prev_tid=7 prev_state={state} next_comm=other"),
            );
        let processes = of_process(7, 6) + &of_process(8, process);
        findings(&(processes + &slept + more), Vec::new())
    };
    let waited =
        |call: &str, state: u32, process: u32| waited_among(INTERRUPTS, call, state, process);
    let is_lock = |finding: &Finding| finding.id == FindingId::LockContention;
    let memory = "the process's memory map, which one thread changes at a time";
    for (call, said) in [
        ("pwrite64", "in pwrite64, for a lock of the kernel"),
        ("munmap", &format!("in munmap, for {memory}")),
        (
            "",
            "in page faults (or calls that the trace lacks), for a lock of the kernel",
        ),
    ] {
        let found = waited(call, 2, 6);
        let finding = only(&found, FindingId::LockContention);
        assert_eq!(finding.title, "Lock: requests wait for other (8)");
        assert!(finding.share > 0.95, "{}", finding.share);
        assert!(
            finding.explanation.contains(said),
            "{}",
            finding.explanation
        );
        assert!(finding.advice.contains("Memory:"), "{}", finding.advice);
    }
    // What a thread of its process hands over, and what another process lets it have: a child its memory (`vfork`), a
    // program that serves files their content.
    for (call, state, process) in [("read", 1, 6), ("vfork", 2, 5), ("read", 2, 5)] {
        let found = waited(call, state, process);
        assert!(!found.iter().any(is_lock), "{found:#?}");
    }
    // Without interrupts and softirqs, 8 may only be whom the one hit that told of a disk.
    for line in INTERRUPTS.lines() {
        let found = waited_among(&INTERRUPTS.replace(line, ""), "pwrite64", 2, 6);
        assert_eq!(found.iter().any(is_lock), line.is_empty(), "{found:#?}");
    }
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

const SWITCH: &str = "sched_switch prev_comm=t prev_tid";

/// Thread 7 hands its request to thread 8 at 110 µs and waits in futex until that has done it, `before` which thread 8 does
/// other things until 10 ms.
fn handed_over(before: &str) -> String {
    format!(
        "cpu1 1 {SWITCH}=0 prev_state=0 next_comm=t next_tid=8
         cpu0 1 {SWITCH}=0 prev_state=0 next_comm=shop next_tid=7
         cpu0 10 start 7 1
         cpu0 11 attach 7 1
         cpu0 100 syscall_entry_futex op=0
         cpu0 110 {SWITCH}=7 prev_state=1 next_comm=t next_tid=0
         {before}
         cpu1 10010 attach 8 1
         cpu1 19900 detach 8 1
         cpu1 20000 sched_waking comm=shop tid=7 target_cpu=0
         cpu1 20001 sched_wakeup comm=shop tid=7 target_cpu=0
         cpu0 20010 {SWITCH}=0 prev_state=0 next_comm=shop next_tid=7
         cpu0 20020 syscall_exit_futex ret=0
         cpu0 20100 end 7 1
         cpu0 21000 {SWITCH}=7 prev_state=1 next_comm=t next_tid=0
         cpu1 21000 {SWITCH}=8 prev_state=1 next_comm=t next_tid=0\n"
    )
}

/// Thread 8 waits in futex from 1 to 9 ms until thread 9 wakes it.
fn waits_for_another() -> String {
    format!(
        "cpu2 900 {SWITCH}=0 prev_state=0 next_comm=t next_tid=9
         cpu1 990 syscall_entry_futex op=0
         cpu1 1000 {SWITCH}=8 prev_state=1 next_comm=t next_tid=0
         cpu2 9000 sched_waking comm=t tid=8 target_cpu=1
         cpu2 9001 sched_wakeup comm=t tid=8 target_cpu=1
         cpu1 9010 {SWITCH}=0 prev_state=0 next_comm=t next_tid=8
         cpu1 9020 syscall_exit_futex ret=0
         cpu2 9100 {SWITCH}=9 prev_state=1 next_comm=t next_tid=0"
    )
}

fn has(found: &[Finding], id: FindingId) -> bool {
    found.iter().any(|finding| finding.id == id)
}

#[test]
fn who_waits_for_its_own_work_in_another_thread_waits_for_no_lock() {
    let found = findings(&handed_over(""), Vec::new());
    assert!(!has(&found, FindingId::LockContention), "{found:#?}");
    // Nor does one of a pool that waits for work.
    let found = findings(&handed_over(&waits_for_another()), Vec::new());
    assert!(!has(&found, FindingId::LockContention), "{found:#?}");
    assert!(!has(&found, FindingId::BlockedByRequest), "{found:#?}");
}

#[test]
fn of_work_in_another_thread_the_locks_are_told_that_it_waits_for() {
    let locked = format!(
        "cpu1 500 attach 8 1\n{}\ncpu1 9500 detach 8 1",
        waits_for_another()
    );
    let found = findings(&handed_over(&locked), Vec::new());
    let finding = only(&found, FindingId::LockContention);
    assert_eq!(finding.title, "Lock: requests wait for t (9)");
    assert!((0.39..0.41).contains(&finding.share), "{}", finding.share);
}

#[test]
fn a_pool_that_works_for_others_first_is_a_queue() {
    // From 0.5 to 9.5 ms, in which it waits.
    let busy = format!(
        "cpu1 490 start 8 2:5
         cpu1 500 attach 8 2:5
         {}
         cpu1 9500 detach 8 2:5
         cpu1 9510 end 8 2:5",
        waits_for_another()
    );
    let found = findings(&handed_over(&busy), Vec::new());
    let of_own = |finding: &Finding| {
        let evidence = finding.evidence.iter();
        let mut texts = evidence.map(|evidence| evidence.text.clone());
        texts.find(|text| text.contains("0000000000000001"))
    };
    let queueing = only(&found, FindingId::BlockedByRequest);
    let said = of_own(queueing).unwrap_or_default();
    assert!(
        said.starts_with("t (8): worked for other requests for 9.000 ms"),
        "{queueing:#?}"
    );
    // The other request waits for thread 9, and so does this one.
    let lock = only(&found, FindingId::LockContention);
    assert_eq!(lock.title, "Lock: requests wait for t (9)");
}

#[test]
fn what_a_runtime_does_meanwhile_is_no_lock_and_the_rest_is_no_runtime() {
    // The holder waits for a thread of the runtime for 4 ms of 20.
    let held = |until: u32| {
        format!(
            "cpu1 1 {SWITCH}=0 prev_state=0 next_comm=t next_tid=8
             cpu0 1 {SWITCH}=0 prev_state=0 next_comm=shop next_tid=7
             cpu0 10 start 7 1
             cpu0 100 syscall_entry_futex op=0
             cpu0 110 {SWITCH}=7 prev_state=1 next_comm=t next_tid=0
             cpu2 900 {SWITCH}=0 prev_state=0 next_comm=V8Worker next_tid=9
             cpu1 990 syscall_entry_futex op=0
             cpu1 1000 {SWITCH}=8 prev_state=1 next_comm=t next_tid=0
             cpu2 {until} sched_waking comm=t tid=8 target_cpu=1
             cpu2 {until} sched_wakeup comm=t tid=8 target_cpu=1
             cpu1 {until} {SWITCH}=0 prev_state=0 next_comm=t next_tid=8
             cpu1 {until} syscall_exit_futex ret=0
             cpu2 19000 sched_switch prev_comm=V8Worker prev_tid=9 prev_state=1 next_comm=t next_tid=0
             cpu1 20000 sched_waking comm=shop tid=7 target_cpu=0
             cpu1 20001 sched_wakeup comm=shop tid=7 target_cpu=0
             cpu0 20010 {SWITCH}=0 prev_state=0 next_comm=shop next_tid=7
             cpu0 20020 syscall_exit_futex ret=0
             cpu0 20100 end 7 1
             cpu0 21000 {SWITCH}=7 prev_state=1 next_comm=t next_tid=0
             cpu1 21000 {SWITCH}=8 prev_state=1 next_comm=t next_tid=0\n"
        )
    };
    let found = findings(&held(5000), Vec::new());
    let runtime = only(&found, FindingId::RuntimeThreads);
    assert!((0.19..0.21).contains(&runtime.share), "{}", runtime.share);
    let said = "for the runtime's own threads: V8Worker (9) 4.000 ms.";
    assert!(
        runtime.explanation.contains(said),
        "{}",
        runtime.explanation
    );
    let lock = only(&found, FindingId::LockContention);
    assert!((0.78..0.80).contains(&lock.share), "{}", lock.share);
    assert_eq!(lock.title, "Lock: requests wait for t (8)");
    // A part too short to tell is none of the runtime's.
    let found = findings(&held(1500), Vec::new());
    assert!(!has(&found, FindingId::RuntimeThreads), "{found:#?}");
}

/// Thread 7 waits for a mutex that thread 8 gives up at 8 ms, to thread 9, which gives it up at 20 ms.
#[test]
fn each_holder_of_a_mutex_in_turn_is_told_with_its_own_time() {
    let fork = |thread: u32| {
        format!(
            "cpu0 0 sched_process_fork parent_tid=7 parent_pid=7 child_tid={thread} child_pid=7 child_comm=t\n"
        )
    };
    const CALL: &str = "syscall_entry_futex uaddr=0x7f001228 utime=0 op=128";
    let drawing = |value: u32| {
        format!(
            "{}{}{}
             cpu0 1 {SWITCH}=0 prev_state=0 next_comm=shop next_tid=7
             cpu1 1 {SWITCH}=0 prev_state=0 next_comm=t next_tid=8
             cpu2 1 {SWITCH}=0 prev_state=0 next_comm=t next_tid=9
             cpu0 10 start 7 1
             cpu2 50 {CALL} val={value}
             cpu2 60 {SWITCH}=9 prev_state=1 next_comm=t next_tid=0
             cpu0 100 {CALL} val={value}
             cpu0 110 {SWITCH}=7 prev_state=1 next_comm=t next_tid=0
             cpu1 8000 sched_waking comm=t tid=9 target_cpu=2
             cpu1 8001 sched_wakeup comm=t tid=9 target_cpu=2
             cpu2 8010 {SWITCH}=0 prev_state=0 next_comm=t next_tid=9
             cpu2 8020 syscall_exit_futex ret=0
             cpu2 20000 sched_waking comm=shop tid=7 target_cpu=0
             cpu2 20001 sched_wakeup comm=shop tid=7 target_cpu=0
             cpu0 20010 {SWITCH}=0 prev_state=0 next_comm=shop next_tid=7
             cpu0 20020 syscall_exit_futex ret=0
             cpu0 20100 end 7 1
             cpu0 21000 {SWITCH}=7 prev_state=1 next_comm=t next_tid=0
             cpu1 21000 {SWITCH}=8 prev_state=1 next_comm=t next_tid=0
             cpu2 21000 {SWITCH}=9 prev_state=1 next_comm=t next_tid=0\n",
            fork(7),
            fork(8),
            fork(9)
        )
    };
    let told = |value| {
        let found = findings(&drawing(value), Vec::new());
        let finding = only(&found, FindingId::LockContention);
        assert!((0.98..1.0).contains(&finding.share), "{}", finding.share);
        let evidence = finding.evidence.iter();
        let holders = evidence.filter(|evidence| evidence.text.contains("was waited for"));
        let words = |text: &str| text.split("; meanwhile").next().unwrap_or("").to_owned();
        let holders = holders.map(|evidence| words(&evidence.text)).collect();
        (finding.title.clone(), holders)
    };
    let expected = |title: &str, holders: &[&str]| {
        let holders: Vec<String> = holders.iter().map(|&holder| holder.to_owned()).collect();
        (title.to_owned(), holders)
    };
    let each = [
        "t (9) was waited for 1 time, 12.000 ms in all",
        "t (8) was waited for 1 time, 7.890 ms in all",
    ];
    let title = "Locks: requests wait for t (9) and 1 other holder";
    assert_eq!(told(2), expected(title, &each));
    // At a word of another value it is no mutex: nothing tells who had what 9 gave.
    let last = ["t (9) was waited for 1 time, 19.890 ms in all"];
    assert_eq!(told(0), expected("Lock: requests wait for t (9)", &last));
}

#[test]
fn a_pool_s_thread_that_loses_its_processor_between_tasks_is_a_queue_but_for_that() {
    // Thread 8 works for two others, and hog has its processor for 4 ms in between. No other one idles.
    let busy = format!(
        "cpu2 0 {SWITCH}=0 prev_state=0 next_comm=o next_tid=19
         cpu0 200 {SWITCH}=0 prev_state=0 next_comm=o next_tid=20
         cpu1 490 start 8 2:5
         cpu1 500 attach 8 2:5
         cpu1 3000 detach 8 2:5
         cpu1 3010 end 8 2:5
         cpu1 3020 {SWITCH}=8 prev_state=0 next_comm=hog next_tid=9
         cpu1 7020 {SWITCH}=9 prev_state=0 next_comm=t next_tid=8
         cpu1 7030 start 8 3:5
         cpu1 7040 attach 8 3:5
         cpu1 9500 detach 8 3:5
         cpu1 9510 end 8 3:5"
    );
    let drawing = handed_over(&busy).replace(
        &format!("cpu0 20010 {SWITCH}=0"),
        &format!("cpu0 20010 {SWITCH}=20"),
    );
    let found = findings(&drawing, Vec::new());
    let told = |id, words: &str| {
        let explanation = &only(&found, id).explanation;
        assert!(explanation.contains(words), "{explanation}");
    };
    let queue = "waited 4.960 ms in all for a thread that worked for others";
    told(FindingId::BlockedByRequest, queue);
    let contention = "waited 4.000 ms in all for a processor that others used";
    told(FindingId::CpuContention, contention);
    assert!(!has(&found, FindingId::LockContention), "{found:#?}");
}
