//! Waits that signals interrupt: who ended them, and who is waited for.

use crate::support::{Tracer, awoken_by_a_timer, check, path, range, shown, timelines, trace};

#[test]
fn a_wait_that_signals_interrupt_is_for_whoever_ends_the_last_piece() {
    // A timer's signal interrupts a, then one of c; the handler runs, and a waits for b's lock again.
    let drawing = |call: &str, second: &str, last: &str| {
        format!(
            "{}0 203 interrupted {call}
         0 204 call rt_sigreturn
         0 205 interrupted rt_sigreturn
         0 206 call {call}
         0 208 switch a:S -
         2 280 switch - c
         2 299 wake a
         0 301 switch - a
         0 302 {second} {call}
         0 304 call {call}
         0 306 switch a:S -
         {last}
         0 410 switch - a
         0 420 ret {call}
         0 500 switch a:S -",
            awoken_by_a_timer(call)
        )
    };
    let by_b = "1 400 wake a";
    let of_b = "50..110 a RUNNING
           110..400 b RUNNING
         400..410 a WAIT_CPU
         410..500 a RUNNING";
    for call in ["futex", "flock", "fcntl", "semop", "semtimedop"] {
        let interrupted = drawing(call, "interrupted", by_b);
        check(&interrupted, "a", (50, 500), of_b);
    }
    let timer = "0 399 timer\n 0 400 wake a\n 0 401 timerend";
    check(
        &drawing("futex", "interrupted", timer),
        "a",
        (50, 500),
        "50..110 a RUNNING
         110..400 a TIMER (in futex, timer)
         400..410 a WAIT_CPU
         410..500 a RUNNING",
    );
    // b gives the lock up while a's handler runs: nobody wakes a for it, and c has no lock.
    let handled = "2 399 wake a
         0 410 switch - a
         0 411 interrupted futex
         0 420 call futex
         0 421 ret futex
         0 500 switch a:S -";
    let given_up = drawing("futex", "interrupted", by_b);
    let (until, _) = given_up.split_once("1 400").expect("b's wake-up");
    check(
        &format!("{until}{handled}"),
        "a",
        (50, 500),
        "50..110 a RUNNING
         110..399 a BLOCKED (in futex, interrupted by a signal)
         399..410 a WAIT_CPU
         410..500 a RUNNING",
    );
    // In other calls the signal may be what is waited for; and a wait that no signal interrupted was over.
    for (call, second) in [("epoll_wait", "interrupted"), ("flock", "ret")] {
        check(
            &drawing(call, second, by_b),
            "a",
            (285, 500),
            "  285..299 c RUNNING
         299..301 a WAIT_CPU
         301..306 a RUNNING
           306..400 b RUNNING
         400..410 a WAIT_CPU
         410..500 a RUNNING",
        );
    }
}

#[test]
fn a_lock_that_is_given_up_before_who_was_sent_a_signal_runs_is_not_the_senders() {
    // b gives a the lock when c's signal has woken it; so its call returns as if b had.
    let drawing = |sent: &str| {
        format!(
            "1   0 switch - b
         0   0 switch - a
         0 100 call futex
         0 110 switch a:S -
         2 110 switch - c
         2 300 wake a
         {sent}
         0 410 switch - a
         0 420 ret futex
         0 500 switch a:S -"
        )
    };
    let of_nobody = "50..110 a RUNNING
         110..300 a BLOCKED (in futex, interrupted by a signal)
         300..410 a WAIT_CPU
         410..500 a RUNNING";
    check(&drawing("2 305 signal a"), "a", (50, 500), of_nobody);
    // Another is sent one; or it is sent one by another, after c has given it the lock.
    for sent in ["2 305 signal d", "2 303 switch c:S d\n 2 305 signal a"] {
        check(
            &drawing(sent),
            "a",
            (50, 500),
            "50..110 a RUNNING
           110..300 c RUNNING
         300..410 a WAIT_CPU
         410..500 a RUNNING",
        );
    }
}

#[test]
fn a_lock_that_is_given_up_right_before_a_process_is_sent_a_signal_keeps_its_holder() {
    // The process of d; whom the call woke takes the signal.
    let drawing = |calls: &str| {
        format!(
            "2   0 switch - c
         0   0 switch - a
         0 100 call futex
         0 110 switch a:S -
         {calls}
         2 305 signal d process
         2 306 ret kill
         0 410 switch - a
         0 420 ret futex
         0 500 switch a:S -"
        )
    };
    let check = |calls: &str, held: &str| {
        let path = [
            "50..110 a RUNNING",
            held,
            "300..410 a WAIT_CPU",
            "410..500 a RUNNING",
        ];
        check(&drawing(calls), "a", (50, 500), &path.join("\n"));
    };
    let given_up_before = "2 299 call futex\n 2 300 wake a\n 2 301 ret futex\n 2 302 call kill";
    check(given_up_before, "  110..300 c RUNNING");
    let by_signal = "2 299 call kill\n 2 300 wake a";
    check(
        by_signal,
        "110..300 a BLOCKED (in futex, interrupted by a signal)",
    );
}

#[test]
fn a_handler_may_take_its_time_while_another_has_the_lock() {
    check(
        "1       0 switch - b
         0       0 switch - a
         0     100 call futex
         0     110 switch a:S -
         2     110 switch - c
         2     199 wake a
         0     202 switch - a
         0     203 interrupted futex
         0 2000203 call futex
         0 2000206 switch a:S -
         1 2000400 wake a
         0 2000410 switch - a
         0 2000420 ret futex
         0 2000500 switch a:S -",
        "a",
        (50, 2_000_500),
        "50..110 a RUNNING
           110..2000400 b RUNNING
         2000400..2000410 a WAIT_CPU
         2000410..2000500 a RUNNING",
    );
}

#[test]
fn who_is_stopped_waits_to_be_let_go_on_and_then_for_the_lock_as_before() {
    // c stops a, which waits for b's lock with a time-out, and lets it go on; then a signal of c's interrupts it.
    check(
        "1   0 switch - b
         0   0 switch - a
         0 100 call futex
         0 110 switch a:S -
         2 110 switch - c
         2 200 wake a
         0 202 switch - a
         0 203 interrupted futex
         0 204 switch a:T -
         2 300 wake a
         0 302 switch - a
         0 303 call restart_syscall
         0 304 switch a:S -
         2 350 wake a
         0 352 switch - a
         0 353 interrupted restart_syscall
         0 354 call restart_syscall
         0 355 switch a:S -
         1 400 wake a
         0 410 switch - a
         0 420 ret restart_syscall
         0 500 switch a:S -",
        "a",
        (50, 500),
        "50..110 a RUNNING
         110..200 a BLOCKED (in futex, interrupted by a signal)
         200..202 a WAIT_CPU
         202..204 a RUNNING
         204..300 a BLOCKED (stopped by a signal)
         300..302 a WAIT_CPU
         302..304 a RUNNING
           304..400 b RUNNING
         400..410 a WAIT_CPU
         410..500 a RUNNING",
    );
}

#[test]
fn a_thread_whose_process_another_one_ends_leads_to_that_one() {
    // u waits for the end of a process: a computes, and ends it; b, which was idle, dies last and wakes u.
    let drawing = |then: &str| {
        format!(
            "0   0 switch - b
         1   0 switch - a
         2   0 switch - u
         0  20 call futex
         0  30 switch b:S -
         2  40 call wait4
         2  50 switch u:S -
         1 300 call exit_group
         1 310 wake b
         1 320 switch a:X -
         0 330 switch - b
         0 332 interrupted futex
         {then}
         2 360 switch - u
         2 362 ret wait4
         2 500 switch u:S -"
        )
    };
    check(
        &drawing("0 340 wake u\n 0 350 switch b:X -"),
        "u",
        (10, 500),
        "10..50 u RUNNING
             50..310 a RUNNING
           310..330 b WAIT_CPU
           330..340 b RUNNING
         340..360 u WAIT_CPU
         360..500 u RUNNING",
    );
    // It goes on after a signal, makes another call, and ends on its own.
    for then in [
        "0 334 call futex\n 0 336 switch b:S -\n 1 338 wake b\n 0 339 switch - b\n 0 340 wake u\n 0 350 switch b:X -",
        "0 335 call exit\n 0 340 wake u\n 0 350 switch b:X -",
    ] {
        let drawn = trace(&drawing(then), Tracer::Ftrace);
        let told = shown(&path(&timelines(&drawn, 1, u64::MAX), "u", range(10, 500)));
        assert!(
            told.contains("50..310 b BLOCKED (in futex, interrupted by a signal)"),
            "{told}"
        );
    }
}

/// The calls that threads of programs sleep in are told: a thread in none of them is known to be in none.
const SLEEPING_CALLS: &str = "3 1 call read
         3 2 ret read
         3 3 call epoll_wait
         3 4 ret epoll_wait
         3 5 call nanosleep
         3 6 ret nanosleep
         3 7 call futex
         3 8 ret futex
";

/// F, of another process, freezes the control group of a, which sleeps in `call`, and wakes it when it thaws the group.
fn frozen(call: &str, waker: &str) -> String {
    format!(
        "{SLEEPING_CALLS}0   0 switch - a
         0 100 call {call}
         0 110 switch a:S -
         2 110 switch - {waker}
         2 199 call write
         2 200 wake a
         2 201 switch {waker}:S -
         0 202 switch - a
         0 203 interrupted {call}
         0 205 switch a:S -
         2 290 timer
         2 291 wake {waker}
         2 292 timerend
         2 293 switch - {waker}
         2 300 wake a
         0 302 switch - a
         0 400 switch a:S -
         2 400 switch {waker}:S -"
    )
}

#[test]
fn who_thaws_a_control_group_did_not_work_for_who_was_frozen() {
    for (call, wait) in [
        (
            "epoll_wait",
            "BLOCKED (in epoll_wait, interrupted by a signal)",
        ),
        ("futex", "BLOCKED (in futex, interrupted by a signal)"),
        ("nanosleep", "TIMER (in nanosleep)"),
    ] {
        check(
            &frozen(call, "F"),
            "a",
            (50, 400),
            &format!(
                "50..110 a RUNNING
         110..200 a {wait}
         200..202 a WAIT_CPU
         202..205 a RUNNING
         205..300 a BLOCKED (frozen with its control group)
         300..302 a WAIT_CPU
         302..400 a RUNNING"
            ),
        );
    }
}

#[test]
fn who_wakes_a_thread_that_sleeps_in_no_call_is_followed_where_that_is_no_thaw() {
    // A thread of its own process, one of which no process is known, and one that it asks for the page that it lacks.
    let asked = frozen("futex", "F").replace(
        "0 205 switch",
        "0 204 wake F\n 2 205 switch - F\n 2 250 switch F:S -\n 0 205 switch",
    );
    for drawing in [frozen("futex", "b"), frozen("futex", "z"), asked] {
        let drawn = trace(&drawing, Tracer::Lttng);
        let told = shown(&path(&timelines(&drawn, 1, u64::MAX), "a", range(50, 400)));
        assert!(!told.contains("frozen"), "{told}");
        assert!(told.contains("TIMER"), "{told}");
    }
    // Where it is not known that it slept in no call.
    let unknown = frozen("futex", "F").replace(SLEEPING_CALLS, "");
    let drawn = trace(&unknown, Tracer::Lttng);
    let told = shown(&path(&timelines(&drawn, 1, u64::MAX), "a", range(50, 400)));
    assert!(!told.contains("frozen"), "{told}");
}

/// The same with version 1 of control groups, whose threads sleep as those do that wait for a page.
fn frozen_by_version_1() -> String {
    frozen("futex", "F").replace("0 205 switch a:S", "0 205 switch a:D")
}

#[test]
fn who_thaws_a_control_group_of_version_1_did_not_work_for_who_was_frozen() {
    // Woken to be frozen.
    check(
        &frozen_by_version_1(),
        "a",
        (50, 400),
        "50..110 a RUNNING
         110..200 a BLOCKED (in futex, interrupted by a signal)
         200..202 a WAIT_CPU
         202..205 a RUNNING
         205..300 a BLOCKED (frozen with its control group)
         300..302 a WAIT_CPU
         302..400 a RUNNING",
    );
    // Frozen as it ran, with another thread of its process.
    let running = "0 0 switch - a
         0 10 call read
         0 20 ret read
         1 0 switch - b
         1 10 call read
         1 20 ret read
         2 195 switch - F
         2 199 call write
         1 200 switch b:D -
         0 205 switch a:D -
         2 210 switch F:S -
         2 290 timer
         2 291 wake F
         2 292 timerend
         2 293 switch - F
         2 299 wake b
         2 300 wake a
         1 301 switch - b
         0 302 switch - a
         0 400 switch a:S -
         2 400 switch F:S -";
    check(
        &format!("{SLEEPING_CALLS}{running}"),
        "a",
        (50, 400),
        "50..205 a RUNNING
         205..300 a BLOCKED (frozen with its control group)
         300..302 a WAIT_CPU
         302..400 a RUNNING",
    );
    // Alone it may have lacked a page that F had.
    let alone = running
        .replace("2 299 wake b", "")
        .replace("1 301 switch - b", "");
    let drawn = trace(&format!("{SLEEPING_CALLS}{alone}"), Tracer::Lttng);
    let told = shown(&path(&timelines(&drawn, 1, u64::MAX), "a", range(50, 400)));
    assert!(!told.contains("frozen"), "{told}");
}
