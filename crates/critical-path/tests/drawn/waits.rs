//! What ends a wait, drawn: for each kind the time line, the question and the expected path.
//!
//! Every drawing is asked as LTTng and as ftrace would have told it (`support::check`).

use slowpath_critical_path::critical_path;
use slowpath_drawn::DrawnTrace;
use slowpath_engine::Options;
use slowpath_kernel::timelines::Timelines;
use slowpath_model::ThreadId;

use crate::support::{awoken_by_a_timer, check};

#[test]
fn a_mutex_goes_from_holder_to_waiter() {
    check(
        "0   0 switch - a
         1   0 switch - b
         0 100 call futex
         0 110 switch a:S -
         1 300 call futex
         1 310 waking a
         0 320 wakeup a
         0 330 switch - a
         0 340 ret futex
         0 400 switch a:S -
         1 400 switch b:S -",
        "a",
        (50, 400),
        "50..110 a RUNNING
           110..310 b RUNNING
         310..320 a IPI (woken on another processor)
         320..330 a WAIT_CPU
         330..400 a RUNNING",
    );
}

#[test]
fn a_lock_that_is_tried_for_with_a_timeout_is_waited_for_all_the_time() {
    // Java's monitors: a looks whether b still has the lock whenever a timer wakes it, for 4 ns.
    let drawing = |call: &str| {
        format!(
            "{}0 203 ret {call}
         0 204 call futex
         0 206 switch a:S -
         0 298 timer
         0 299 wake a
         0 300 timerend
         0 301 switch - a
         0 302 ret futex
         0 303 call futex
         0 305 switch a:S -
         1 400 wake a
         0 410 switch - a
         0 420 ret futex
         0 500 switch a:S -",
            awoken_by_a_timer(call)
        )
    };
    let tried = "50..110 a RUNNING
           110..400 b RUNNING
         400..410 a WAIT_CPU
         410..500 a RUNNING";
    check(&drawing("futex"), "a", (50, 500), tried);
    // A sleep before it is a sleep.
    check(
        &drawing("nanosleep"),
        "a",
        (150, 500),
        "150..199 a TIMER (in nanosleep, timer)
         199..202 a WAIT_CPU
         202..206 a RUNNING
           206..400 b RUNNING
         400..410 a WAIT_CPU
         410..500 a RUNNING",
    );
}

/// a waits at `first` until a timer wakes it at 200,000, does what `between` says, waits at `then` from 800,000 on, and
/// has what b gives it at 900,000.
fn waits_at_two_words(first: &str, between: &str, then: &str, expected: &str) {
    let drawing = format!(
        "1      0 switch - b
         0      0 switch - a
         0 100000 call futex {first}
         0 110000 switch a:S -
         0 199000 timer
         0 200000 wake a
         0 201000 timerend
         {between}
         0 790000 call futex {then}
         0 800000 switch a:S -
         1 900000 wake a
         0 910000 switch - a
         0 920000 ret futex
         0 950000 switch a:S -"
    );
    check(&drawing, "a", (100_000, 950_000), expected);
}

#[test]
fn what_is_known_to_be_one_lock_may_be_looked_at_for_longer() {
    // It spins for 0.55 ms, wakes who waits for the mutex of its condition, and waits again.
    let spins = "0 250000 switch - a
         0 251000 ret futex
         0 252000 call futex 0x7f001200
         0 253000 ret futex";
    let waited = "100000..110000 a RUNNING
           110000..900000 b RUNNING
         900000..910000 a WAIT_CPU
         910000..950000 a RUNNING";
    waits_at_two_words("0x7f001228", spins, "0x7f001228", waited);
    // The other word of the same condition.
    waits_at_two_words("0x7f001228", spins, "0x7f00122c", waited);
    let without_words = "100000..110000 a RUNNING
         110000..200000 a TIMER (in futex, timer)
         200000..250000 a WAIT_CPU
         250000..800000 a RUNNING
           800000..900000 b RUNNING
         900000..910000 a WAIT_CPU
         910000..950000 a RUNNING";
    waits_at_two_words("", spins, "", without_words);
    waits_at_two_words("0x7f001228", spins, "", without_words);
    // It reads a clock by a system call.
    let reads_clock = format!("{spins}\n0 254000 call clock_gettime\n0 255000 ret clock_gettime");
    waits_at_two_words("0x7f001228", &reads_clock, "0x7f001228", waited);
    // It has no processor for most of the time.
    let waits_for_cpu = "0 760000 switch - a
         0 770000 ret futex";
    waits_at_two_words("0x7f001228", waits_for_cpu, "0x7f001228", waited);
}

#[test]
fn a_sleep_right_before_a_wait_for_a_lock_is_a_sleep() {
    // Java's Thread.sleep waits at a word of its own.
    let wakes = "0 760000 switch - a
         0 770000 ret futex";
    let slept = "100000..110000 a RUNNING
         110000..200000 a TIMER (in futex, timer)
         200000..760000 a WAIT_CPU
         760000..800000 a RUNNING
           800000..900000 b RUNNING
         900000..910000 a WAIT_CPU
         910000..950000 a RUNNING";
    waits_at_two_words("0x7f001528", wakes, "0x7f001228", slept);
    // So where both are at one word, as with Java's LockSupport, and the lock is waited for without a time-out.
    waits_at_two_words("0x7f001228", wakes, "0x7f001228 untimed", slept);
    // Who looks at something else meanwhile does not only wait.
    let polls = format!("{wakes}\n0 775000 call read\n0 776000 ret read");
    waits_at_two_words("0x7f001228", &polls, "0x7f001228", slept);
    // So where it loses its processor in between.
    let polls = format!(
        "{wakes}\n0 775000 call read\n0 776000 ret read\n0 780000 switch a:R -\n0 785000 switch - a"
    );
    waits_at_two_words(
        "0x7f001228",
        &polls,
        "0x7f001228",
        "100000..110000 a RUNNING
         110000..200000 a TIMER (in futex, timer)
         200000..760000 a WAIT_CPU
         760000..780000 a RUNNING
         780000..785000 a PREEMPTED
         785000..800000 a RUNNING
           800000..900000 b RUNNING
         900000..910000 a WAIT_CPU
         910000..950000 a RUNNING",
    );
}

#[test]
fn who_tries_for_a_lock_may_wake_its_holder_meanwhile() {
    check(
        "1   0 switch - b
         0   0 switch - a
         0 100 call futex
         0 110 switch a:S -
         1 150 switch b:S -
         0 198 timer
         0 199 wake a
         0 200 timerend
         0 202 switch - a
         0 203 wake b
         1 203 switch - b
         0 206 switch a:S -
         1 400 wake a
         0 410 switch - a
         0 420 ret futex
         0 500 switch a:S -",
        "a",
        (50, 500),
        "50..110 a RUNNING
         110..199 a TIMER (in futex, timer)
         199..202 a WAIT_CPU
         202..203 a RUNNING
           203..400 b RUNNING
         400..410 a WAIT_CPU
         410..500 a RUNNING",
    );
}

#[test]
fn a_wait_on_a_waiter_goes_on_to_the_disk() {
    check(
        "0   0 switch - a
         1   0 switch - b
         0 100 switch a:S -
         1 150 call fsync
         1 160 switch b:D -
         1 500 irq 9 nvme0q1
         1 510 wake b
         1 515 irqend 9
         1 520 switch - b
         1 530 ret fsync
         1 600 waking a
         1 605 wakeup a
         0 620 switch - a
         0 700 switch a:S -
         1 700 switch b:S -",
        "a",
        (0, 700),
        "0..100 a RUNNING
           100..160 b RUNNING
           160..510 b BLOCK_DEVICE (in fsync, irq 9 nvme0q1)
           510..520 b WAIT_CPU
           520..600 b RUNNING
         600..620 a WAIT_CPU
         620..700 a RUNNING",
    );
}

#[test]
fn timers_disks_networks_and_keyboards_name_the_resource() {
    check(
        "0   0 switch - a
         0  10 call clock_nanosleep
         0  20 switch a:S -
         0 100 timer
         0 101 wake a
         0 102 timerend
         0 110 switch - a
         0 120 switch a:D -
         0 200 softirq 4
         0 210 wake a
         0 215 softirqend 4
         0 220 switch - a
         0 230 switch a:S -
         0 300 softirq 3
         0 310 wake a
         0 315 softirqend 3
         0 320 switch - a
         0 330 switch a:S -
         0 400 irq 1 i8042
         0 410 wake a
         0 415 irqend 1
         0 420 switch - a
         0 430 switch a:S -
         0 500 softirq 9
         0 510 wake a
         0 515 softirqend 9
         0 520 switch - a
         0 530 switch a:S -
         0 540 switch - -",
        "a",
        (0, 530),
        "0..20 a RUNNING
         20..101 a TIMER (in clock_nanosleep, timer)
         101..110 a WAIT_CPU
         110..120 a RUNNING
         120..210 a BLOCK_DEVICE (in clock_nanosleep, softirq BLOCK)
         210..220 a WAIT_CPU
         220..230 a RUNNING
         230..310 a NETWORK (in clock_nanosleep, softirq NET_RX)
         310..320 a WAIT_CPU
         320..330 a RUNNING
         330..410 a USER_INPUT (in clock_nanosleep, irq 1 i8042)
         410..420 a WAIT_CPU
         420..430 a RUNNING
         430..510 a BLOCKED (in clock_nanosleep, softirq RCU)
         510..520 a WAIT_CPU
         520..530 a RUNNING",
    );
}

#[test]
fn time_of_its_own_is_preempted_interrupted_and_migrated() {
    check(
        "0   0 switch - a
         0  50 irq 7 eth0
         0  55 softirq 3
         0  58 softirqend 3
         0  60 irqend 7
         0 100 switch a:R b
         0 150 switch b:S -
         1 180 switch - a
         1 250 switch a:R -
         1 900 switch - a
         1 950 switch a:S -",
        "a",
        (0, 950),
        "0..50 a RUNNING
         50..60 a INTERRUPTED (irq 7 eth0)
         60..100 a RUNNING
         100..180 a PREEMPTED
         180..250 a RUNNING
         250..900 a PREEMPTED
         900..950 a RUNNING",
    );
}

#[test]
fn a_loopback_packet_delivered_in_the_senders_time_leads_to_the_sender() {
    check(
        "0   0 switch - a
         1   0 switch - b
         0 100 switch a:S -
         1 300 queue 0xff10 lo
         1 301 loop 0xff10 lo
         1 310 softirq 3
         1 315 receive 0xff10 lo
         1 320 wake a
         1 325 softirqend 3
         0 330 switch - a
         0 400 switch a:S -
         1 400 switch b:S -",
        "a",
        (0, 400),
        "0..100 a RUNNING
           100..310 b RUNNING
           310..320 b INTERRUPTED (softirq NET_RX)
         320..330 a WAIT_CPU
         330..400 a RUNNING",
    );
}

#[test]
fn a_loopback_packet_delivered_by_ksoftirqd_leads_to_the_sender() {
    check(
        "0   0 switch - a
         1   0 switch - b
         0 100 switch a:S -
         1 300 queue 0x10 lo
         1 301 loop 0x10 lo
         1 305 waking k
         1 306 wakeup k
         1 340 switch b:R k
         1 350 softirq 3
         1 355 receive 0x10 lo
         1 360 wake a
         1 365 softirqend 3
         1 370 switch k:S b
         0 380 switch - a
         0 400 switch a:S -
         1 400 switch b:S -",
        "a",
        (0, 400),
        "0..100 a RUNNING
           100..305 b RUNNING
             305..340 ksoftirqd/0 WAIT_CPU
             340..360 ksoftirqd/0 RUNNING
         360..380 a WAIT_CPU
         380..400 a RUNNING",
    );
}

#[test]
fn a_loopback_packet_that_interrupts_a_third_thread_leads_to_the_sender() {
    check(
        "0   0 switch - a
         1   0 switch - b
         2   0 switch - c
         0 100 switch a:S -
         1 300 queue 0x10 veth1
         1 301 loop 0x10 veth1
         2 350 softirq 3
         2 355 receive 0x10 veth0
         2 356 receive 0x10 bridge
         2 360 wake a
         2 365 softirqend 3
         0 380 switch - a
         0 400 switch a:S -
         1 400 switch b:S -
         2 400 switch c:S -",
        "a",
        (0, 400),
        "0..100 a RUNNING
           100..300 b RUNNING
         300..360 a NETWORK
         360..380 a WAIT_CPU
         380..400 a RUNNING",
    );
}

#[test]
fn a_packet_from_elsewhere_is_the_network_even_in_a_used_buffer() {
    check(
        "0   0 switch - a
         1   0 switch - b
         0 100 switch a:S -
         1 200 queue 0x10 lo
         1 201 loop 0x10 lo
         1 210 softirq 3
         1 215 receive 0x10 lo
         1 225 softirqend 3
         1 230 queue 0x20 eth0
         1 300 softirq 3
         1 310 receive 0x10 eth0
         1 320 wake a
         1 325 softirqend 3
         0 330 switch - a
         0 340 switch a:S -
         1 350 softirq 3
         1 360 receive 0x20 eth0
         1 370 wake a
         1 375 softirqend 3
         0 380 switch - a
         0 400 switch a:S -
         1 400 switch b:S -",
        "a",
        (0, 400),
        "0..100 a RUNNING
         100..320 a NETWORK
         320..330 a WAIT_CPU
         330..340 a RUNNING
         340..370 a NETWORK
         370..380 a WAIT_CPU
         380..400 a RUNNING",
    );
}

#[test]
fn without_packet_events_whoever_asked_for_the_receipt_is_the_sender() {
    check(
        "0   0 switch - a
         1   0 switch - b
         0 100 switch a:S -
         1 300 raise 3
         1 310 softirq 3
         1 320 wake a
         1 325 softirqend 3
         0 330 switch - a
         0 400 switch a:S -
         1 400 switch b:S -",
        "a",
        (0, 400),
        "0..100 a RUNNING
           100..310 b RUNNING
           310..320 b INTERRUPTED (softirq NET_RX)
         320..330 a WAIT_CPU
         330..400 a RUNNING",
    );
}

#[test]
fn a_lock_found_taken_again_is_followed_to_each_holder() {
    check(
        "0   0 switch - a
         1   0 switch - b
         2   0 switch - c
         0 100 switch a:S -
         1 200 wake a
         0 210 switch - a
         0 220 switch a:S -
         1 230 switch b:S -
         2 300 wake a
         0 310 switch - a
         0 400 switch a:S -
         2 400 switch c:S -",
        "a",
        (0, 400),
        "0..100 a RUNNING
           100..200 b RUNNING
         200..210 a WAIT_CPU
         210..220 a RUNNING
           220..300 c RUNNING
         300..310 a WAIT_CPU
         310..400 a RUNNING",
    );
}

#[test]
fn a_waker_may_be_faster_than_the_sleeper() {
    check(
        "0   0 switch - a
         1   0 switch - b
         1  95 waking a
         0 100 switch a:S -
         0 105 wakeup a
         0 110 switch - a
         0 200 switch a:S -
         1 200 switch b:S -",
        "a",
        (0, 200),
        "0..100 a RUNNING
         100..105 a IPI (woken on another processor)
         105..110 a WAIT_CPU
         110..200 a RUNNING",
    );
}

#[test]
fn a_new_thread_leads_to_the_one_that_made_it() {
    check(
        "0   0 switch - a
         0  80 fork c
         0 100 new c
         0 150 switch a:S c
         0 200 switch c:X -
         0 210 switch - -",
        "c",
        (0, 210),
        "  0..100 a RUNNING
         100..150 c WAIT_CPU
         150..200 c RUNNING
         200..210 c UNKNOWN (the thread has ended)",
    );
}

#[test]
fn a_window_may_end_before_the_wait_does() {
    check(
        "0   0 switch - a
         1   0 switch - b
         0 100 switch a:S -
         1 300 wake a
         0 310 switch - a
         0 400 switch a:S -
         1 400 switch b:S -",
        "a",
        (50, 200),
        "50..100 a RUNNING
           100..200 b RUNNING",
    );
}

#[test]
fn what_happened_before_the_first_event_follows_from_it() {
    // a ran, b was blocked, c was runnable from the beginning of the trace on.
    let drawing = "0  10 call read
         1  20 switch - d
         0 100 switch a:S c
         1 150 wake b
         1 160 switch d:S b
         0 200 switch c:S -
         1 200 switch b:S -";
    check(drawing, "a", (10, 100), "10..100 a RUNNING");
    check(
        drawing,
        "b",
        (10, 200),
        "  10..20 d WAIT_CPU
           20..150 d RUNNING
         150..160 b WAIT_CPU
         160..200 b RUNNING",
    );
    check(
        drawing,
        "c",
        (10, 200),
        "10..100 c WAIT_CPU\n100..200 c RUNNING",
    );
}

#[test]
fn an_idle_processor_without_an_interrupt_explains_nothing_but_sleep() {
    check(
        "0   0 switch - a
         0  10 call nanosleep
         0  20 switch a:S -
         0 100 wake a
         0 110 switch - a
         0 115 ret nanosleep
         0 118 call read
         0 120 switch a:S -
         0 200 wake a
         0 210 switch - a
         0 220 switch a:S -",
        "a",
        (0, 220),
        "0..20 a RUNNING
         20..100 a TIMER (in nanosleep)
         100..110 a WAIT_CPU
         110..120 a RUNNING
         120..200 a UNKNOWN (in read, woken by an interrupt that is not in the trace)
         200..210 a WAIT_CPU
         210..220 a RUNNING",
    );
}

#[test]
fn old_tracers_tell_wake_ups_but_no_wakings() {
    check(
        "0   0 switch - a
         1   0 switch - b
         0 100 switch a:S -
         1 300 wakeup a
         0 320 switch - a
         0 400 switch a:S -
         1 400 switch b:S -",
        "a",
        (50, 400),
        "50..100 a RUNNING
           100..300 b RUNNING
         300..320 a WAIT_CPU
         320..400 a RUNNING",
    );
}

#[test]
fn a_wait_that_outlasts_the_trace_is_unknown() {
    check(
        "0   0 switch - a
         0  90 call futex
         0 100 switch a:S -
         0 200 wake c",
        "a",
        (0, 200),
        "0..100 a RUNNING
         100..200 a UNKNOWN (in futex, still waiting at the end of the trace)",
    );
}

#[test]
fn a_trace_of_chosen_threads_only_still_explains_them() {
    // Switches between idle and x are recorded when x leaves only, as by trace-cmd -F.
    check(
        "0   0 switch - a
         1   0 switch - b
         0 100 switch a:S -
         0 150 wake x
         0 200 switch x:S -
         1 300 wake a
         0 320 switch - a
         0 400 switch a:S -
         1 400 switch b:S -",
        "a",
        (50, 400),
        "50..100 a RUNNING
           100..300 b RUNNING
         300..320 a WAIT_CPU
         320..400 a RUNNING",
    );
    check(
        "0   0 switch - a
         0 100 switch a:S -
         0 150 wake x
         0 200 switch x:S -
         0 300 wake a",
        "x",
        (150, 250),
        "150..200 x UNKNOWN (a switch is missing: it ran for a part of this time)
         200..250 x UNKNOWN (still waiting at the end of the trace)",
    );
    check(
        "0   0 switch - a
         0  10 switch a:R b
         0  20 switch b:S a
         -- lost 3 cpu0
         0 200 switch a:S -",
        "a",
        (50, 200),
        "50..200 a UNKNOWN (events lost or outside of the trace)",
    );
}

#[test]
fn nothing_is_said_to_be_lost_where_no_switches_were_recorded() {
    let trace = "cpu0 0 syscall_entry_read fd=3 @tid=7
         cpu0 50 syscall_exit_read ret=1 @tid=7
         cpu0 90 syscall_entry_read fd=3 @tid=8
         cpu0 200 syscall_exit_read ret=1 @tid=8";
    let trace = DrawnTrace::parse(trace).unwrap();
    let lines = Timelines::build(&trace, &Options::default()).unwrap();
    let lines = lines.state.unwrap();
    let told = critical_path(&lines, ThreadId(7), lines.range()).to_string();
    assert!(
        told.contains("no switches of threads were recorded then")
            && !told.contains("events lost")
            && !told.contains("a switch is missing"),
        "{told}"
    );
}
