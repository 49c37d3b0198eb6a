//! Where a request's time went: through its threads, into those they waited for, and which other
//! requests these served.

use slowpath_critical_path::State;
use slowpath_model::{HostId, ThreadId};
use slowpath_requests::{RequestOfHost, RequestPath, ThreadOfHost, WaitFor};

use crate::support::{Drawing, Found, assert_shows, tid};

fn found(drawing: &str) -> Found {
    Drawing::parse(drawing).find(1, u64::MAX)
}

#[test]
fn a_holder_of_a_lock_that_serves_another_request_is_named() {
    let found = found(
        "0   0 switch - a
         1   0 switch - b
         1  50 start b 2.1
         0 100 start a 1.1
         0 150 call futex
         0 160 switch a:S -
         1 300 wake a
         0 310 switch - a
         0 400 end a 1.1
         1 500 end b 2.1
         0 600 switch a:S -
         1 600 switch b:S -",
    );
    assert_shows(
        &found.path("1.1"),
        "100..160 a RUNNING
           160..300 b RUNNING for 2.1
         300..310 a WAIT_CPU
         310..400 a RUNNING",
    );
    let id = found.id("1.1");
    let summary = found.requests.summary(Some(&found.lines), id);
    let host = HostId(0);
    let other = RequestOfHost {
        host,
        request: found.id("2.1"),
    };
    assert_eq!(
        summary.blocked_by,
        [(other, slowpath_model::Nanoseconds(140))]
    );
    let [wait] = &*summary.waits else {
        panic!("{:?}", summary.waits);
    };
    let thread = ThreadId(tid("b"));
    assert_eq!(wait.on, WaitFor::Thread(ThreadOfHost { host, thread }));
    assert_eq!(
        (wait.thread, wait.call),
        (ThreadId(tid("a")), Some("futex"))
    );
    assert_eq!(summary.own.by_name()["BLOCKED"], 140);
}

/// `a` waits in a call for `b`, which waits in one for `c`; empty where the trace does not tell.
fn who_waits_in(call: &str, below: &str) -> Found {
    let called = |at: u32, cpu: u32, call: &str| match call {
        "" => String::new(),
        call => format!("{cpu} {at} call {call}"),
    };
    let (call, below) = (called(110, 0, call), called(150, 1, below));
    found(&format!(
        "0   0 switch - a
         1   0 switch - b
         1  50 start b 2.1
         0 100 start a 1.1
         {call}
         0 120 switch a:S -
         {below}
         1 160 switch b:S c
         1 360 wake b
         1 370 switch c:S b
         1 420 wake a
         0 430 switch - a
         0 500 end a 1.1
         1 500 end b 2.1
         0 600 switch a:S -
         1 600 switch b:S -"
    ))
}

#[test]
fn what_a_holder_waits_for_is_for_the_request_that_it_serves() {
    let found = who_waits_in("futex", "fsync");
    assert_shows(
        &found.path("1.1"),
        "100..120 a RUNNING
           120..160 b RUNNING for 2.1
             160..360 c RUNNING for 2.1
           360..370 b WAIT_CPU for 2.1
           370..420 b RUNNING for 2.1
         420..430 a WAIT_CPU
         430..500 a RUNNING",
    );
    let summary = (found.requests).summary(Some(&found.lines), found.id("1.1"));
    assert_eq!(summary.own.by_name()["BLOCKED"], 300);
    // To the request itself it is nobody else's.
    assert_shows(
        &found.path("2.1"),
        "50..160 b RUNNING
           160..360 c RUNNING
         360..370 b WAIT_CPU
         370..500 b RUNNING",
    );
}

#[test]
fn who_waits_in_the_same_queue_or_for_whatever_comes_first_is_not_said_to_keep_others_waiting() {
    for (call, below) in [
        ("futex", "futex"),
        ("flock", "flock"),
        ("read", "read"),
        ("recvfrom", "epoll_wait"),
        ("futex", ""),
    ] {
        let found = who_waits_in(call, below);
        assert_shows(
            &found.path("1.1"),
            "100..120 a RUNNING
               120..160 b RUNNING for 2.1
                 160..360 c RUNNING
               360..370 b WAIT_CPU for 2.1
               370..420 b RUNNING for 2.1
             420..430 a WAIT_CPU
             430..500 a RUNNING",
        );
    }
}

#[test]
fn below_a_wait_for_whatever_comes_first_nobody_is_said_to_wait() {
    let found = found(
        "0   0 switch - a
         1   0 switch - b
         2   0 switch - c
         2  50 start c 2.1
         0 100 start a 1.1
         0 110 call recvfrom
         0 120 switch a:S -
         1 130 call epoll_wait
         1 140 switch b:S -
         2 150 call wait4
         2 160 switch c:S d
         2 360 wake c
         2 370 switch d:S c
         2 400 wake b
         1 410 switch - b
         1 420 wake a
         0 430 switch - a
         0 500 end a 1.1
         2 500 end c 2.1
         0 600 switch a:S -
         1 600 switch b:S -
         2 600 switch c:S -",
    );
    assert_shows(
        &found.path("1.1"),
        "100..120 a RUNNING
           120..140 b RUNNING
             140..160 c RUNNING for 2.1
               160..360 d RUNNING
             360..370 c WAIT_CPU for 2.1
             370..400 c RUNNING for 2.1
           400..410 b WAIT_CPU
           410..420 b RUNNING
         420..430 a WAIT_CPU
         430..500 a RUNNING",
    );
}

#[test]
fn what_is_done_for_the_request_itself_is_no_other_s_whoever_waits_for_it() {
    let found = found(
        "0   0 switch - a
         1   0 switch - b
         0 100 start a 1.1
         1 110 start b 1.2
         0 150 start a 2.1
         0 160 call wait4
         0 170 switch a:S -
         1 370 wake a
         0 380 switch - a
         0 400 end a 2.1
         1 410 end b 1.2
         0 500 end a 1.1
         0 600 switch a:S -
         1 600 switch b:S -",
    );
    assert_shows(
        &found.path("1.1"),
        "100..150 a RUNNING
         150..170 a BLOCKED_BY_REQUEST for 2.1
           170..370 b RUNNING
         370..400 a BLOCKED_BY_REQUEST for 2.1
         400..500 a RUNNING",
    );
    let summary = (found.requests).summary(Some(&found.lines), found.id("1.1"));
    let own = summary.own.by_name();
    assert_eq!((own["BLOCKED"], own["BLOCKED_BY_REQUEST"]), (200, 50));
}

#[test]
fn a_thread_that_waits_for_another_requests_sake_blocks_the_first_in_whatever_call() {
    for call in ["wait4", "epoll_wait", "futex"] {
        let found = found(&format!(
            "0   0 switch - a
         1   0 switch - b
         0 100 start a 1.1
         0 150 start a 2.1
         0 160 call {call}
         0 170 switch a:S -
         1 370 wake a
         0 380 switch - a
         0 400 end a 2.1
         0 500 end a 1.1
         0 600 switch a:S -
         1 600 switch b:S -"
        ));
        assert_shows(
            &found.path("1.1"),
            "100..150 a RUNNING
         150..170 a BLOCKED_BY_REQUEST for 2.1
           170..370 b RUNNING for 2.1
         370..400 a BLOCKED_BY_REQUEST for 2.1
         400..500 a RUNNING",
        );
        let summary = (found.requests).summary(Some(&found.lines), found.id("1.1"));
        assert_eq!(summary.own.by_name()["BLOCKED_BY_REQUEST"], 250);
        assert_eq!(summary.own.by_name().get("BLOCKED"), None);
        let other = RequestOfHost {
            host: HostId(0),
            request: found.id("2.1"),
        };
        let [wait] = &*summary.waits else {
            panic!("{:?}", summary.waits);
        };
        assert_eq!((wait.range.begin.ns(), wait.range.end.ns()), (150, 400));
        assert_eq!((wait.on, wait.call), (WaitFor::Request(other), None));
        assert_eq!(wait.mostly.0.thread, ThreadId(tid("b")));
    }
}

#[test]
fn who_had_a_mutex_in_turn_is_named_each_with_its_request() {
    let found = found(
        "0   1 dump a P a P
         0   2 dump b P b P
         0   3 dump c P c P
         0   4 switch - a
         1   4 switch - b
         2   4 switch - c
         1  20 start b 2.1 P
         2  40 start c 3.1 P
         2  50 call futex mutex
         2  60 switch c:S -
         0 100 start a 1.1 P
         0 105 call futex mutex
         0 110 switch a:S -
         1 200 wake c
         2 210 switch - c
         2 220 ret futex
         2 300 wake a
         0 310 switch - a
         0 320 ret futex
         0 400 end a 1.1 P
         1 500 end b 2.1 P
         2 500 end c 3.1 P
         0 600 switch a:S -
         1 600 switch b:S -
         2 600 switch c:S -",
    );
    assert_shows(
        &found.path("1.1"),
        "100..110 a RUNNING
           110..200 b RUNNING for 2.1
           200..210 c WAIT_CPU for 3.1
           210..300 c RUNNING for 3.1
         300..310 a WAIT_CPU
         310..400 a RUNNING",
    );
    let summary = (found.requests).summary(Some(&found.lines), found.id("1.1"));
    let host = HostId(0);
    let of = |span: &str, length| {
        let request = found.id(span);
        let length = slowpath_model::Nanoseconds(length);
        (RequestOfHost { host, request }, length)
    };
    assert_eq!(summary.blocked_by, [of("3.1", 100), of("2.1", 90)]);
    let waits = summary.waits.iter().map(|wait| {
        let (begin, end) = (wait.range.begin.ns(), wait.range.end.ns());
        (wait.on.waker(), begin, end, wait.call)
    });
    let waker = |letter| {
        let thread = ThreadId(tid(letter));
        Some(ThreadOfHost { host, thread })
    };
    let expected = [
        (waker("c"), 200, 300, Some("futex")),
        (waker("b"), 110, 200, Some("futex")),
    ];
    assert_eq!(waits.collect::<Vec<_>>(), expected);
    assert_eq!(summary.own.by_name()["BLOCKED"], 190);
}

#[test]
fn what_a_wait_was_mostly_for_is_added_up_whatever_interrupts_it() {
    let found = found(
        "0   0 switch - a
         1   0 switch - b
         0 100 start a 1.1
         0 150 call futex
         0 160 switch a:S -
         1 260 switch b:R c
         1 370 switch c:S b
         1 470 wake a
         0 480 switch - a
         0 500 end a 1.1
         0 600 switch a:S -
         1 600 switch b:S -",
    );
    assert_shows(
        &found.path("1.1"),
        "100..160 a RUNNING
           160..260 b RUNNING
           260..370 b PREEMPTED
           370..470 b RUNNING
         470..480 a WAIT_CPU
         480..500 a RUNNING",
    );
    let summary = (found.requests).summary(Some(&found.lines), found.id("1.1"));
    let states: Vec<_> = summary.waits.iter().map(|wait| wait.mostly.1).collect();
    assert_eq!(states, [State::Running]);
}

#[test]
fn a_thread_that_turns_to_another_request_blocks_the_first() {
    let found = found(
        "0   0 switch - a
         0 100 start a 1.1
         0 150 start a 2.1
         0 200 end a 2.1
         0 300 end a 1.1
         0 400 switch a:S -",
    );
    assert_shows(
        &found.path("1.1"),
        "100..150 a RUNNING
         150..200 a BLOCKED_BY_REQUEST for 2.1
         200..300 a RUNNING",
    );
    assert_shows(&found.path("2.1"), "150..200 a RUNNING");
    assert_eq!(found.summary("1.1"), "RUNNING 150, BLOCKED_BY_REQUEST 50");
}

#[test]
fn a_part_of_a_request_does_not_block_it() {
    let found = found(
        "0   0 switch - a
         0 100 start a 1.1
         0 150 start a 1.2
         0 200 end a 1.2
         0 300 end a 1.1
         0 400 switch a:S -",
    );
    assert_eq!(found.summary("1.1"), "RUNNING 200");
    assert_eq!(found.summary("1.2"), "RUNNING 50");
}

/// Thread a takes a request and hands it to b, which is busy with another one until 300.
const HANDED_OVER: &str = "
    0   0 switch - a
    1   0 switch - b
    1  50 start b 2.1
    1  60 attach b 2.1
    0 100 start a 1.1
    0 100 attach a 1.1
    0 150 detach a 1.1
    1 250 detach b 2.1
    1 250 end b 2.1
    1 300 attach b 1.1
    1 400 detach b 1.1
    1 400 end b 1.1
    0 500 switch a:S -
    1 500 switch b:S -";

#[test]
fn a_request_that_lies_in_a_queue_waits_for_what_the_next_thread_does() {
    let found = found(HANDED_OVER);
    assert_shows(
        &found.path("1.1"),
        "100..150 a RUNNING
         150..250 b BLOCKED_BY_REQUEST for 2.1
         250..400 b RUNNING",
    );
}

#[test]
fn a_thread_that_slept_until_the_hand_over_leads_to_who_woke_it() {
    let found = found(
        "0   0 switch - a
         1   0 switch - b
         1  10 call futex
         1  20 switch b:S -
         0 100 start a 1.1
         0 100 attach a 1.1
         0 150 detach a 1.1
         0 200 wake b
         1 220 switch - b
         1 250 attach b 1.1
         1 400 end b 1.1
         0 500 switch a:S -
         1 500 switch b:S -",
    );
    assert_shows(
        &found.path("1.1"),
        "100..150 a RUNNING
           150..200 a RUNNING
         200..220 b WAIT_CPU
         220..400 b RUNNING",
    );
}

#[test]
fn a_request_that_nobody_took_up_goes_by_who_ended_it() {
    let found = found(
        "0   0 switch - a
         1   0 switch - b
         0  20 start a 9.9
         0  20 attach a 9.9
         0  30 detach a 9.9
         0  30 end a 9.9
         0 100 start a 1.1
         1 110 switch b:S -
         1 150 timer
         1 160 wake b
         1 170 timerend
         1 180 switch - b
         1 200 end b 1.1
         0 500 switch a:S -
         1 500 switch b:S -",
    );
    assert_shows(
        &found.path("1.1"),
        "100..110 b RUNNING
         110..160 b TIMER
         160..180 b WAIT_CPU
         180..200 b RUNNING",
    );
}

#[test]
fn without_kernel_events_all_is_unknown() {
    let found = found(HANDED_OVER);
    let id = found.id("1.1");
    let RequestPath { path, .. } = found.requests.path(None, id);
    let segments: Vec<_> = path.segments.iter().collect();
    let [segment] = segments.as_slice() else {
        panic!("{path:?}");
    };
    assert_eq!(segment.range, found.requests.get(id).window);
    assert_eq!(segment.state.name(), "UNKNOWN");
}

/// An event loop that looks after a timer of its own while a request waits for another thread. It is woken for the last
/// time by `wake`, and its call returns that so many events came.
fn an_event_loop_is_woken_in_between(between: &str, wake: &str, events: u32) -> Found {
    found(&format!(
        "0   0 switch - a
         1   0 switch - w
         0 100 start a 1.1
         0 101 attach a 1.1
         0 120 detach a 1.1
         0 130 call epoll_pwait
         0 140 switch a:S -
         0 200 timer
         0 201 wake a
         0 202 timerend
         0 210 switch - a
         0 215 ret epoll_pwait
         {between}
         0 250 call epoll_pwait
         0 260 switch a:S -
         {wake}
         0 410 switch - a
         0 415 ret epoll_pwait {events}
         0 420 attach a 1.1
         0 450 detach a 1.1
         0 450 end a 1.1
         0 600 switch a:S -
         1 600 switch w:S -"
    ))
}

const BY_THREAD: &str = "1 400 wake a";
const BY_TIMER: &str = "0 399 timer
         0 400 wake a
         0 401 timerend";

#[test]
fn a_request_of_an_event_loop_waits_for_what_ends_the_last_sleep_before_it_goes_on() {
    let found = an_event_loop_is_woken_in_between("", BY_THREAD, 1);
    assert_shows(
        &found.path("1.1"),
        "100..120 a RUNNING
           120..400 w RUNNING
         400..410 a WAIT_CPU
         410..450 a RUNNING",
    );
    let summary = (found.requests).summary(Some(&found.lines), found.id("1.1"));
    let waits = summary.waits.iter();
    let waits = waits.map(|wait| (wait.range.begin.ns(), wait.range.end.ns(), wait.call));
    assert_eq!(waits.collect::<Vec<_>>(), [(120, 400, Some("epoll_pwait"))]);
}

#[test]
fn a_request_of_an_event_loop_waits_for_a_thread_to_its_begin_though_that_had_to_wait_for_the_loop_in_between()
 {
    let for_a_lock = "1 205 call futex
         1 212 switch w:S -
         0 230 wake w
         1 235 switch - w
         1 236 ret futex";
    let found = an_event_loop_is_woken_in_between(for_a_lock, BY_THREAD, 1);
    assert_shows(
        &found.path("1.1"),
        "100..120 a RUNNING
           120..212 w RUNNING
             212..230 a RUNNING
           230..235 w WAIT_CPU
           235..400 w RUNNING
         400..410 a WAIT_CPU
         410..450 a RUNNING",
    );
    let (found, id) = (&found, found.id("1.1"));
    let summary = found.requests.summary(Some(&found.lines), id);
    let waits = summary.waits.iter();
    let waits = waits.map(|wait| (wait.range.begin.ns(), wait.range.end.ns(), wait.call));
    assert_eq!(waits.collect::<Vec<_>>(), [(120, 400, Some("epoll_pwait"))]);
}

#[test]
fn a_request_of_an_event_loop_waits_for_a_thread_to_its_begin_though_that_waited_for_a_packet_of_the_loop()
 {
    let sent_by_loop = "212..233 a RUNNING
             233..236 a INTERRUPTED";
    let on_its_way = "212..232 a RUNNING
           232..236 w NETWORK";
    for (receiving, expected) in [(0, sent_by_loop), (2, on_its_way)] {
        let for_a_packet = format!(
            "1 205 call read
             1 212 switch w:S -
             0 232 send
             {receiving} 233 receive
             {receiving} 236 wake w
             {receiving} 238 received
             1 240 switch - w
             1 241 ret read"
        );
        let found = an_event_loop_is_woken_in_between(&for_a_packet, BY_THREAD, 1);
        assert_shows(
            &found.path("1.1"),
            &format!(
                "100..120 a RUNNING
           120..212 w RUNNING
             {expected}
           236..240 w WAIT_CPU
           240..400 w RUNNING
         400..410 a WAIT_CPU
         410..450 a RUNNING"
            ),
        );
    }
}

#[test]
fn other_requests_hold_up_none_that_cannot_go_on_yet() {
    let other = "0 216 start a 2.1
         0 216 attach a 2.1
         0 240 detach a 2.1
         0 240 end a 2.1";
    let found = an_event_loop_is_woken_in_between(other, BY_TIMER, 0);
    assert_shows(
        &found.path("1.1"),
        "100..120 a RUNNING
         120..400 a TIMER
         400..410 a WAIT_CPU
         410..450 a RUNNING",
    );
}

#[test]
fn what_a_request_waits_for_is_unknown_where_its_event_loop_serves_another_after_its_last_sleep() {
    let found = an_event_loop_is_woken_in_between(
        "",
        "1 300 wake a
         0 310 switch - a
         0 311 ret epoll_pwait 1
         0 312 start a 2.1
         0 312 attach a 2.1
         0 390 detach a 2.1
         0 390 end a 2.1
         0 395 switch a:R -",
        0,
    );
    assert_shows(
        &found.path("1.1"),
        "100..120 a RUNNING
         120..300 a UNKNOWN
         300..310 a WAIT_CPU
         310..312 a RUNNING
         312..390 a BLOCKED_BY_REQUEST for 2.1
         390..395 a RUNNING
         395..410 a PREEMPTED
         410..450 a RUNNING",
    );
}

#[test]
fn what_a_request_waits_for_is_unknown_where_its_event_loop_is_told_of_something_else_than_what_woke_it()
 {
    for (wake, events, expected) in [
        (BY_THREAD, 0, "120..400 a UNKNOWN"),
        (BY_THREAD, 1, "  120..400 w RUNNING"),
        (BY_THREAD, 2, "120..400 a UNKNOWN"),
        (BY_TIMER, 0, "120..400 a TIMER"),
        (BY_TIMER, 1, "120..400 a UNKNOWN"),
    ] {
        let found = an_event_loop_is_woken_in_between("", wake, events);
        assert_shows(
            &found.path("1.1"),
            &format!(
                "100..120 a RUNNING
                 {expected}
                 400..410 a WAIT_CPU
                 410..450 a RUNNING"
            ),
        );
    }
}

#[test]
fn what_a_request_waits_for_is_unknown_where_its_event_loop_has_no_processor_for_long_after_its_last_sleep()
 {
    for (woken, expected) in [(370, "120..370 a UNKNOWN"), (390, "  120..390 w RUNNING")] {
        let found = an_event_loop_is_woken_in_between("", &format!("1 {woken} wake a"), 1);
        assert_shows(
            &found.path("1.1"),
            &format!(
                "100..120 a RUNNING
                 {expected}
                 {woken}..410 a WAIT_CPU
                 410..450 a RUNNING"
            ),
        );
    }
}

#[test]
fn an_event_loop_may_be_preempted_before_its_call_returns() {
    let preempted = "1 400 wake a
         0 402 switch - a
         0 404 switch a:R -";
    let found = an_event_loop_is_woken_in_between("", preempted, 1);
    assert_shows(
        &found.path("1.1"),
        "100..120 a RUNNING
           120..400 w RUNNING
         400..402 a WAIT_CPU
         402..404 a RUNNING
         404..410 a PREEMPTED
         410..450 a RUNNING",
    );
}

#[test]
fn a_missing_switch_makes_a_request_wait_for_no_timer_of_its_event_loop() {
    let missing = "1 380 wake a
         0 384 switch - v
         0 393 switch a:R -";
    let found = an_event_loop_is_woken_in_between("", missing, 1);
    assert_shows(
        &found.path("1.1"),
        "100..120 a RUNNING
           120..380 w RUNNING
         380..384 a WAIT_CPU
         384..393 a UNKNOWN
         393..410 a PREEMPTED
         410..450 a RUNNING",
    );
}
