//! Waits for event loops that serve a part of the request, and others.

use proptest::prelude::*;

use crate::joining::joined;
use crate::properties::adds_up;
use crate::support::{Found, assert_shows, letter};

/// Thread a waits for b, an event loop, which serves 1.2 until its time has come, and looks after another timer meanwhile.
const WAITS_FOR_A_LOOP: &str = "
    0   0 switch - a
    1   0 switch - b
    0 100 start a 1.1
    0 105 call read
    0 110 switch a:S -
    1 120 start b 1.2
    1 121 attach b 1.2
    1 150 detach b 1.2
    1 155 call epoll_pwait
    1 160 switch b:S -
    1 200 timer
    1 201 wake b
    1 202 timerend
    1 210 switch - b
    1 215 ret epoll_pwait
    1 220 start b 2.1
    1 220 attach b 2.1
    1 240 detach b 2.1
    1 240 end b 2.1
    1 250 call epoll_pwait
    1 260 switch b:S -
    1 299 timer
    1 300 wake b
    1 301 timerend
    1 310 switch - b
    1 315 ret epoll_pwait
    1 320 attach b 1.2
    1 330 wake a
    1 335 detach b 1.2
    1 335 end b 1.2
    0 345 switch - a
    0 350 ret read
    0 400 end a 1.1
    0 600 switch a:S -
    1 600 switch b:S -";

fn waits_for_a_loop(parent: &str) -> Found {
    called_from_outside("", parent)
}

/// The same, where the request is a part of `caller`, which was not recorded.
fn called_from_outside(caller: &str, parent: &str) -> Found {
    let file = format!(
        "1.1 100..400 shop GET {caller}\n1.2 120..335 stock GET parent={parent}\n2.1 220..240 stock GET"
    );
    joined(WAITS_FOR_A_LOOP, &file).0
}

/// What is to be told then.
const WAITS_FOR_ITS_PART: &str = "100..110 a RUNNING
      110..150 b RUNNING
      150..300 b TIMER
      300..310 b WAIT_CPU
      310..330 b RUNNING
    330..345 a WAIT_CPU
    345..400 a RUNNING";

#[test]
fn who_waits_for_an_event_loop_waits_for_what_its_own_part_of_the_request_waits_for() {
    assert_shows(&waits_for_a_loop("1").path("1.1"), WAITS_FOR_ITS_PART);
}

#[test]
fn parts_of_a_request_are_known_though_who_called_it_was_not_recorded() {
    let found = called_from_outside("parent=9", "1");
    assert_shows(&found.path("1.1"), WAITS_FOR_ITS_PART);
}

/// A page that asks for several things: of one span, as a load generator with one context has, or of a span for each.
#[test]
fn requests_that_a_caller_who_was_not_recorded_makes_at_once_are_no_parts_of_each_other() {
    let drawing = WAITS_FOR_A_LOOP.replace("2.1", "1.3");
    for other in ["parent=9", "parent=8 called"] {
        let file = format!(
            "1.1 100..400 shop GET parent=9 called\n1.2 120..335 stock GET parent=1\n1.3 220..240 stock GET {other}"
        );
        assert_shows(&joined(&drawing, &file).0.path("1.1"), WAITS_FOR_ITS_PART);
    }
}

/// The loop takes up the span of an own call first, and then who made it.
#[test]
fn a_part_of_a_request_is_one_though_a_span_between_them_is_missing() {
    let drawing = WAITS_FOR_A_LOOP
        .replace(
            "1 150 detach b 1.2",
            "1 140 start b 1.3\n1 141 attach b 1.3\n1 145 detach b 1.3\n1 150 detach b 1.2",
        )
        .replace(
            "1 320 attach b 1.2",
            "1 316 attach b 1.3\n1 318 end b 1.3\n1 320 attach b 1.2",
        );
    for parent in ["2", "8"] {
        let file = format!(
            "1.1 100..400 shop GET\n1.2 120..335 stock GET parent=1\n1.3 140..318 stock GET parent={parent}"
        );
        assert_shows(&joined(&drawing, &file).0.path("1.1"), WAITS_FOR_ITS_PART);
    }
}

#[test]
fn a_span_whose_parent_is_missing_may_be_a_part_of_any_of_its_trace() {
    for found in [
        waits_for_a_loop("9"),
        called_from_outside("parent=8", "9"),
        called_from_outside("parent=9", "0"),
    ] {
        let path = found.path("1.1");
        assert!(
            path.contains("for 2.1") && !path.contains("for 1.2"),
            "{path}"
        );
    }
}

#[test]
fn an_event_loop_that_works_for_no_part_of_the_request_is_followed_from_wake_up_to_wake_up() {
    assert_shows(
        &waits_for_a_loop("0").path("1.1"),
        "100..110 a RUNNING
           110..121 b RUNNING
           121..150 b RUNNING for 1.2
           150..160 b RUNNING
           160..201 b TIMER
           201..210 b WAIT_CPU
           210..220 b RUNNING
           220..240 b RUNNING for 2.1
           240..260 b RUNNING
           260..300 b TIMER
           300..310 b WAIT_CPU
           310..320 b RUNNING
           320..330 b RUNNING for 1.2
         330..345 a WAIT_CPU
         345..400 a RUNNING",
    );
}

/// The loop wakes a within a span of its own, 1.3, that `events` tell of.
fn wakes_in_a_span(events: &str) {
    let drawing = WAITS_FOR_A_LOOP.replace(
        "1 320 attach b 1.2\n    1 330 wake a\n    1 335 detach b 1.2",
        events,
    );
    let file = "1.1 100..400 shop GET\n1.2 120..335 stock GET parent=1\n1.3 322..332 stock render parent=2\n\
        2.1 220..240 stock GET";
    assert_shows(&joined(&drawing, file).0.path("1.1"), WAITS_FOR_ITS_PART);
}

#[test]
fn a_short_span_in_which_an_event_loop_ends_a_wait_is_not_all_that_is_waited_for() {
    wakes_in_a_span(
        "1 320 attach b 1.2
         1 322 start b 1.3
         1 322 attach b 1.3
         1 330 wake a
         1 332 end b 1.3
         1 335 detach b 1.2",
    );
}

#[test]
fn an_event_loop_may_end_a_span_before_it_ends_the_wait() {
    wakes_in_a_span(
        "1 320 attach b 1.2
         1 322 start b 1.3
         1 322 detach b 1.2
         1 322 attach b 1.3
         1 325 end b 1.3
         1 330 wake a",
    );
}

#[test]
fn an_event_loop_may_end_all_its_spans_before_it_ends_the_wait() {
    let drawing = WAITS_FOR_A_LOOP.replace(
        "1 330 wake a\n    1 335 detach b 1.2\n    1 335 end b 1.2",
        "1 325 detach b 1.2\n    1 325 end b 1.2\n    1 330 wake a",
    );
    let file = "1.1 100..400 shop GET\n1.2 120..325 stock GET parent=1\n2.1 220..240 stock GET";
    assert_shows(&joined(&drawing, file).0.path("1.1"), WAITS_FOR_ITS_PART);
}

/// The loop b gives its part of the request to thread c, and looks after a timer and another request meanwhile.
const GIVES_IT_TO_A_THREAD: &str = "
    0   0 switch - a
    1   0 switch - b
    2   0 switch - c
    2   5 call futex
    2  10 switch c:S -
    0 100 start a 1.1
    0 105 call read
    0 110 switch a:S -
    1 120 start b 1.2
    1 121 attach b 1.2
    1 140 wake c
    2 145 switch - c
    2 146 ret futex
    1 150 detach b 1.2
    2 150 attach c 1.2
    1 155 call epoll_pwait
    1 160 switch b:S -
    1 200 timer
    1 201 wake b
    1 202 timerend
    1 210 switch - b
    1 215 ret epoll_pwait
    1 220 start b 2.1
    1 220 attach b 2.1
    1 240 detach b 2.1
    1 240 end b 2.1
    1 250 call epoll_pwait
    1 260 switch b:S -
    2 300 detach c 1.2
    2 301 wake b
    2 305 call futex
    2 308 switch c:S -
    1 310 switch - b
    1 315 ret epoll_pwait 1
    1 320 attach b 1.2
    1 330 wake a
    1 335 detach b 1.2
    1 335 end b 1.2
    0 345 switch - a
    0 350 ret read
    0 400 end a 1.1
    0 600 switch a:S -";

#[test]
fn who_waits_for_an_event_loop_waits_for_the_thread_to_which_it_gave_its_part() {
    let file = "1.1 100..400 shop GET\n1.2 120..335 stock GET parent=1\n2.1 220..240 stock GET";
    assert_shows(
        &joined(GIVES_IT_TO_A_THREAD, file).0.path("1.1"),
        "100..110 a RUNNING
           110..150 b RUNNING
           150..300 c RUNNING
             300..301 c RUNNING
           301..310 b WAIT_CPU
           310..330 b RUNNING
         330..345 a WAIT_CPU
         345..400 a RUNNING",
    );
}

/// What the loop does in one turn: for whom thread w works meanwhile, what wakes it, and for whom it works then, for so
/// long.
#[derive(Clone, Copy, Debug)]
struct Turn {
    given: Option<&'static str>,
    by_timer: bool,
    works_for: Option<&'static str>,
    wakes: bool,
    length: i64,
}

fn turn() -> impl Strategy<Value = Turn> {
    let span = || {
        prop_oneof![
            Just(None),
            Just(Some("1.2")),
            Just(Some("1.3")),
            Just(Some("2.1"))
        ]
    };
    (span(), any::<bool>(), span(), any::<bool>(), 1i64..30).prop_map(
        |(given, by_timer, works_for, wakes, length)| Turn {
            given,
            by_timer,
            works_for,
            wakes,
            length,
        },
    )
}

/// Thread a has 1.1 and waits for b, an event loop, whose turns these are: of 1.2 and 1.3, which are parts of it, and of
/// 2.1. Some end a wait of a.
fn turns(turns: &[Turn]) -> Found {
    let mut drawing = "0 0 switch - a\n1 0 switch - b\n2 0 switch - w\n0 50 start a 1.1\n0 60 call read\n0 70 switch a:S -\n\
        1 80 start b 2.1\n1 85 start b 1.2\n1 86 attach b 1.2\n1 88 start b 1.3\n1 90 attach b 1.3\n1 95 detach b 1.3\n1 96 detach b 1.2\n"
        .to_owned();
    let mut at = 100;
    for turn in turns {
        drawing += &format!("1 {at} call epoll_pwait\n1 {} switch b:S -\n", at + 2);
        if let Some(span) = turn.given {
            let (begin, end) = (at + 1, at + 1 + turn.length);
            drawing += &format!("2 {begin} attach w {span}\n2 {end} detach w {span}\n");
        }
        at += turn.length + 3;
        drawing += &match turn.by_timer {
            true => format!("1 {at} timer\n1 {} wake b\n1 {} timerend\n", at + 1, at + 2),
            false => format!("2 {} wake b\n", at + 1),
        };
        let came = i64::from(!turn.by_timer);
        drawing += &format!(
            "1 {} switch - b\n1 {} ret epoll_pwait {came}\n",
            at + 4,
            at + 5
        );
        at += 6;
        if let Some(span) = turn.works_for {
            drawing += &format!("1 {at} attach b {span}\n");
            at += turn.length;
            if turn.wakes {
                drawing += &format!(
                    "1 {at} wake a\n0 {} switch - a\n0 {} switch a:S -\n",
                    at + 3,
                    at + 5
                );
                at += 6;
            }
            drawing += &format!("1 {at} detach b {span}\n");
            at += 1;
        }
    }
    drawing += &format!(
        "1 {at} wake a\n1 {} end b 1.3\n1 {0} end b 1.2\n1 {0} end b 2.1\n0 {} switch - a\n0 {} end a 1.1\n",
        at + 1,
        at + 5,
        at + 9
    );
    let file = format!(
        "1.1 50..{end} s o\n1.2 85..{end} s o parent=1\n1.3 88..{end} s o parent=2\n2.1 80..{end} s o",
        end = at + 1
    );
    joined(&drawing, &file).0
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn paths_with_parts_of_event_loops_add_up(all in prop::collection::vec(turn(), 1..12)) {
        adds_up(&turns(&all))?;
    }
}

/// Thread c serves a part of the request as well, and longer than the loop b, which it has wake a meanwhile.
const TWO_SERVE_AT_A_TIME: &str = "
    0   0 switch - a
    1   0 switch - b
    2   0 switch - c
    0 100 start a 1.1
    0 105 call read
    0 110 switch a:S -
    1 120 start b 1.2
    1 121 attach b 1.2
    1 130 detach b 1.2
    1 132 call epoll_pwait
    1 135 switch b:S -
    1 150 timer
    1 151 wake b
    1 152 timerend
    1 155 switch - b
    1 157 ret epoll_pwait
    1 160 call epoll_pwait
    1 165 switch b:S -
    1 200 timer
    1 201 wake b
    1 202 timerend
    1 205 switch - b
    1 207 ret epoll_pwait
    1 210 attach b 1.2
    1 240 detach b 1.2
    1 243 call epoll_pwait
    1 246 switch b:S -
    2 250 attach c 1.2
    2 280 wake b
    1 285 switch - b
    1 288 ret epoll_pwait 1
    1 290 attach b 1.2
    1 330 wake a
    1 335 detach b 1.2
    0 345 switch - a
    0 350 ret read
    2 380 detach c 1.2
    2 380 end c 1.2
    0 400 end a 1.1
    0 600 switch a:S -
    1 600 switch b:S -
    2 600 switch c:S -";

#[test]
fn who_ended_a_wait_is_on_the_path_though_another_thread_serves_the_part_as_well() {
    let file = "1.1 100..400 shop GET\n1.2 120..380 stock GET parent=1";
    let found = joined(TWO_SERVE_AT_A_TIME, file).0;
    let summary = (found.requests).summary(Some(&found.lines), found.id("1.1"));
    let waker = summary.waits[0]
        .on
        .waker()
        .map(|waker| letter(waker.thread));
    assert_eq!(waker.as_deref(), Some("b"), "{}", found.path("1.1"));
}

/// Loops a and b call each other for one request, so many calls each from within the one before.
fn nested(calls: usize) -> Found {
    let mut drawing =
        "0 0 switch - a\n1 0 switch - b\n1 1 call epoll_pwait\n1 2 switch b:S -\n0 3 start a 1.1\n\
        0 4 attach a 1.1\n"
            .to_owned();
    let mut file = String::new();
    let mut at = 10;
    let down = (1..calls).map(|call| (call, call + 1));
    let up = (1..=calls).rev().map(|call| (call, call - 1));
    for (call, next) in down.chain(up) {
        let (cpu, other) = ((call - 1) % 2, call % 2);
        let [own, woken] = [cpu, other].map(|cpu| ["a", "b"][cpu]);
        if next > 0 {
            drawing += &format!(
                "{cpu} {at} wake {woken}\n{other} {} switch - {woken}\n{other} {} ret epoll_pwait 1\n",
                at + 2,
                at + 3
            );
        }
        drawing += &format!("{cpu} {} detach {own} 1.{call:x}\n", at + 4);
        if next < call {
            drawing += &format!("{cpu} {} end {own} 1.{call:x}\n", at + 4);
        }
        if next > 0 {
            drawing += &format!(
                "{cpu} {} call epoll_pwait\n{cpu} {} switch {own}:S -\n",
                at + 5,
                at + 6
            );
        }
        if next > call {
            drawing += &format!("{other} {} start {woken} 1.{next:x}\n", at + 8);
        }
        if next > 0 {
            drawing += &format!("{other} {} attach {woken} 1.{next:x}\n", at + 9);
        }
        at += 200;
    }
    for call in 1..=calls {
        file += &format!("1.{call:x} 3..{at} s o parent={:x}\n", call - 1);
    }
    joined(&drawing, &file).0
}

#[test]
fn calls_within_calls_cost_no_more_than_each_of_them() {
    let found = nested(60);
    adds_up(&found).expect("paths tile, sums add up");
    assert!(found.path("1.1").contains("RUNNING"));
}
