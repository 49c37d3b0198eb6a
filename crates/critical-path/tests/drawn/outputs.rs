//! The two forms in which a path is given out: for people and as JSON.

use crate::support::{Tracer, path, range, timelines, trace};

const DRAWING: &str = "
    0       0 switch - a
    1       0 switch - b
    0  100000 call futex
    0  110000 switch a:S -
    1  150000 timer
    1  150500 timerend
    1  300000 call futex
    1  310000 wake a
    0  330000 switch - a
    0 1000000 switch a:S -
    1 1000000 switch b:S -";

#[test]
fn for_people_it_is_a_time_line_a_summary_and_a_sentence() {
    let lines = timelines(&trace(DRAWING, Tracer::Lttng), 1, 1);
    let shown = path(&lines, "a", range(0, 1_000_000)).to_string();
    let expected = "\
Critical path of a (97): 1.000 ms from 0

      offset      duration  state         thread
        0 ns    110.000 µs  RUNNING       a (97)
  110.000 µs                                > a (97) waits for b (98) in futex
  110.000 µs    200.000 µs  RUNNING         b (98): interrupted once for 500 ns
  310.000 µs                              > b (98) wakes a (97) in futex
  310.000 µs     20.000 µs  WAIT_CPU      a (97)
  330.000 µs    670.000 µs  RUNNING       a (97)

Summary           1.000 ms  100.0 %
RUNNING         979.500 µs   98.0 %
WAIT_CPU         20.000 µs    2.0 %
INTERRUPTED         500 ns    0.1 %

What dominated: RUNNING, 979.500 µs (98 % of the time): a (97) ran for 780.000 µs.
";
    assert_eq!(format!("{shown}\n"), expected);
}

#[test]
fn who_was_stopped_is_not_said_to_be_blocked() {
    let drawing = "
        0   0 switch - a
        2   0 switch - c
        0 110 switch a:T -
        2 900 wake a
        0 910 switch - a
        0 990 switch a:S -";
    let lines = timelines(&trace(drawing, Tracer::Lttng), 1, 1);
    let verdict = path(&lines, "a", range(0, 990)).verdict();
    let expected = "a (97) was stopped by a signal for 790 ns.";
    assert!(verdict.ends_with(expected), "{verdict}");
}

#[test]
fn for_machines_it_is_the_documented_json() {
    let lines = timelines(&trace(DRAWING, Tracer::Lttng), 1, 1);
    let path = path(&lines, "a", range(100_000, 320_000));
    let json = serde_json::to_value(&path).expect("a path can be written");
    let segment = |begin: i64, end: i64, (tid, comm): (i32, &str), state: &str, detail: &str| {
        let depth = i32::from(tid != 97);
        serde_json::json!({"begin_ns": begin, "end_ns": end, "tid": tid, "comm": comm,
            "state": state, "depth": depth, "detail": detail})
    };
    let (a, b) = ((97, "a"), (98, "b"));
    let link = |ns: i64, from: i32, to: i32, kind: &str| serde_json::json!({"ns": ns, "from_tid": from, "to_tid": to, "kind": kind, "call": "futex"});
    let expected = serde_json::json!({
        "tid": 97,
        "begin_ns": 100_000,
        "end_ns": 320_000,
        "segments": [
            segment(100_000, 110_000, a, "RUNNING", ""),
            segment(110_000, 150_000, b, "RUNNING", ""),
            segment(150_000, 150_500, b, "INTERRUPTED", "timer"),
            segment(150_500, 310_000, b, "RUNNING", ""),
            segment(310_000, 320_000, a, "WAIT_CPU", ""),
        ],
        "links": [link(110_000, 97, 98, "wait"), link(310_000, 98, 97, "wake-up")],
        "summary": {"INTERRUPTED": 500, "RUNNING": 209_500, "WAIT_CPU": 10_000},
    });
    assert_eq!(json, expected);
}
