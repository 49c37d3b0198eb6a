//! Stacks behind switches: in which call a thread waits, where calls are not recorded.

use super::*;

/// A stack comes behind the switch from its thread: other packets and chunks may begin between them.
#[test]
fn stacks_tell_in_which_call_the_thread_before_waits_however_they_are_cut() {
    const DRAWING: &str = "
        -- call-code futex=100..200 read=200..256
        cpu0 10 kernel_stack caller=hex:6e00000000000000 @common_pid=9
        cpu0 20 sched_switch prev_comm=a prev_pid=7 prev_state=1 next_comm=b next_pid=8 @common_pid=7
        cpu0 21 kernel_stack caller=hex:01000000000000006e00000000000000ffff000000000000 @common_pid=7
        cpu1 22 sched_switch prev_comm=swapper/1 prev_pid=0 prev_state=0 next_comm=c next_pid=9 @common_pid=0
        cpu0 25 sched_waking comm=a pid=7 target_cpu=0 @common_pid=8
        cpu0 26 kernel_stack caller=hex:dc00000000000000 @common_pid=8
        cpu0 30 sched_switch prev_comm=b prev_pid=8 prev_state=1 next_comm=a next_pid=7 @common_pid=8
        cpu0 31 kernel_stack caller=hex:010000000000000001 @common_pid=8
        cpu0 40 sched_switch prev_comm=a prev_pid=7 prev_state=2 next_comm=b next_pid=8 @common_pid=7
        cpu0 41 kernel_stack caller=hex:0001000000000000 @common_pid=7
        cpu1 45 sched_switch prev_comm=c prev_pid=9 prev_state=1 next_comm=a next_pid=7 @common_pid=9
        cpu1 50 sched_switch prev_comm=a prev_pid=7 prev_state=1 next_comm=swapper/1 next_pid=0 @common_pid=7";
    let trace = DrawnTrace::parse(DRAWING).unwrap();
    let expected = built(&trace, usize::MAX, 1);
    let lines = Timelines::build(&trace, &Options::default());
    let lines = lines.unwrap().state.unwrap();
    let waits = |thread, at| {
        let stretch = lines.stretch_before(ThreadId(thread), Timestamp::from_ns(at));
        match stretch.doing {
            Doing::Blocked {
                call,
                outside_calls,
                ..
            } => (call.unwrap_or_default(), outside_calls),
            doing => panic!("{thread} at {at}: {doing:?}"),
        }
    };
    assert_eq!(waits(7, 24), ("futex", false));
    assert_eq!(waits(8, 39), ("", true), "in no call");
    assert_eq!(waits(7, 44), ("read", false));
    for seed in 0..60 {
        let cut = trace.recut_at_random(seed, 1 + seed % 7);
        for (memory, jobs) in [(0, 1), (usize::MAX, 8)] {
            assert_eq!(built(&cut, memory, jobs), expected, "{seed}");
        }
    }
}

/// The switch to 7 on the second processor is missing: it may have run there since before it did so on the first.
#[test]
fn a_stack_is_of_the_run_that_ends_before_it_whenever_that_began() {
    let drawing = "
        -- call-code futex=100..200 read=200..300
        cpu1 10 sched_switch prev_comm=c prev_pid=9 prev_state=1 next_comm=d next_pid=6 @common_pid=9
        cpu0 20 sched_switch prev_comm=b prev_pid=8 prev_state=1 next_comm=a next_pid=7 @common_pid=8
        cpu0 30 sched_switch prev_comm=a prev_pid=7 prev_state=1 next_comm=b next_pid=8 @common_pid=7
        cpu0 31 kernel_stack caller=hex:6e00000000000000 @common_pid=7
        cpu0 35 sched_waking comm=a pid=7 target_cpu=1 @common_pid=8
        cpu1 40 sched_switch prev_comm=a prev_pid=7 prev_state=1 next_comm=c next_pid=9 @common_pid=7
        cpu1 41 kernel_stack caller=hex:dc00000000000000 @common_pid=7
        cpu0 50 sched_switch prev_comm=b prev_pid=8 prev_state=1 next_comm=a next_pid=7 @common_pid=8";
    let trace = DrawnTrace::parse(drawing).unwrap();
    let lines = Timelines::build(&trace, &Options::default()).unwrap();
    let lines = lines.state.unwrap();
    let call = |at| match lines
        .stretch_before(ThreadId(7), Timestamp::from_ns(at))
        .doing
    {
        Doing::Blocked { call, .. } => call,
        doing => panic!("{doing:?} at {at}"),
    };
    assert_eq!([call(34), call(48)], [Some("futex"), Some("read")]);
}
