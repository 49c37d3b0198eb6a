//! Traces that contradict themselves: what is kept, what is counted, and that nothing hangs.

mod support;

use std::sync::Arc;

use slowpath_model::{Nanoseconds, SpanId, Timestamp};
use slowpath_read_spans::{Reference, ReferenceKind, Span};
use slowpath_services::{DEEPEST, Mended, Order};
use support::{Way, line, path_as_text, report_of, spans, survey_of};

#[test]
fn a_circle_is_cut_at_its_earliest_span() {
    let (line, mended, _) = line(
        "
        A a[x] 0-100 parent=C
          B b[x] 10-90
            C c[x] 20-80
              D d[x] 30-40",
    );
    assert_eq!(mended.circles, 1);
    assert_eq!(
        path_as_text(&line),
        "A 0-10, B 10-20, C 20-30, D 30-40, C 40-80, B 80-90, A 90-100"
    );
}

#[test]
fn a_span_that_is_its_own_parent_is_a_root() {
    let (line, mended, _) = line("A a[x] 0-100 parent=A");
    assert_eq!((mended.circles, line.nodes().len()), (1, 1));
}

#[test]
fn a_span_without_its_parent_is_a_request_of_its_own() {
    let (summary, _) = survey_of(
        &spans(
            1,
            "
        A a[x] 0-100
        B b[x] 10-30 parent=Z",
        ),
        &Way::default(),
    );
    assert_eq!((summary.mended.orphans, summary.requests), (1, 2));
    assert_eq!(summary.latency, Nanoseconds(120));
}

#[test]
fn a_span_told_twice_counts_once() {
    let drawing = "
        A a[x] 0-100
          B b[x] 10-60";
    let twice = [spans(1, drawing), spans(1, drawing)].concat();
    let (summary, _) = survey_of(&twice, &Way::default());
    assert_eq!((summary.spans, summary.mended.duplicates), (2, 2));
}

#[test]
fn a_client_and_a_server_that_share_an_id_are_two_spans() {
    let mut drawn = spans(
        1,
        "
        A a[x] 0-100
          B a[call] 10-90 client
            S b[serve] 20-80 server
              C b[query] 30-40",
    );
    let shared = support::id("B");
    drawn[2].span = shared;
    drawn[2].references = drawn[1].references.clone();
    drawn[3].references[0].span = shared;
    let report = report_of(&drawn, &Way::default(), Order::Distance);
    let deepest = report
        .paths
        .iter()
        .max_by_key(|row| row.path.len())
        .unwrap();
    assert_eq!(deepest.path, ["a[x]", "a[call]", "b[serve]", "b[query]"]);
}

/// `count` spans; what the n-th one's parent, begin and end are.
fn many(count: u64, of: impl Fn(u64) -> (Option<u64>, i64, i64)) -> Vec<Span> {
    let template = &spans(1, "A a[x] 0-1")[0];
    (1..=count)
        .map(|number| {
            let (parent, begin, end) = of(number);
            let reference = parent.map(|parent| Reference {
                kind: ReferenceKind::ChildOf,
                trace: template.trace,
                span: SpanId(parent),
            });
            Span {
                span: SpanId(number),
                references: reference.into_iter().collect(),
                operation: Arc::from(format!("op{number}")),
                begin: Timestamp::from_ns(begin),
                end: Timestamp::from_ns(end),
                ..template.clone()
            }
        })
        .collect()
}

#[test]
fn a_hundred_thousand_calls_within_each_other_are_no_problem() {
    let nested = many(100_000, |number| {
        let margin = number as i64;
        (
            Some(number - 1).filter(|&parent| parent > 0),
            margin,
            1_000_000 - margin,
        )
    });
    let (summary, _) = survey_of(&nested, &Way::default());
    assert_eq!(summary.mended, Mended::default());
    let deepest = summary
        .tree
        .contexts()
        .iter()
        .map(|context| context.depth)
        .max();
    assert_eq!(deepest, Some(DEEPEST - 1));
    let critical: Nanoseconds = (summary.tree.contexts().iter())
        .map(|context| context.totals.critical)
        .sum();
    assert_eq!(critical, summary.latency);
}

#[test]
fn a_hundred_thousand_calls_of_different_names_one_after_the_other_are_no_problem() {
    let flat = many(100_000, |number| match number {
        1 => (None, 0, 1_000_000_000),
        _ => (Some(1), number as i64 * 100, number as i64 * 100 + 90),
    });
    let (summary, _) = survey_of(&flat, &Way::default());
    assert_eq!(summary.without_drag, 0);
    let drag: Nanoseconds = (summary.tree.contexts().iter())
        .filter(|context| context.depth == 1)
        .map(|context| context.totals.drag)
        .sum();
    assert_eq!(drag, Nanoseconds(99_999 * 90));
}

/// Every call overlaps the next two: one block of siblings, each of them a context of its own. Drag is
/// given up rather than waited for, and everything else is answered.
#[test]
fn calls_that_overlap_in_a_hundred_thousand_ways_cost_their_drag_only() {
    let staggered = many(100_000, |number| match number {
        1 => (None, 0, 1_000_000_000),
        _ => (Some(1), number as i64 * 100, number as i64 * 100 + 250),
    });
    let (summary, _) = survey_of(&staggered, &Way::default());
    assert_eq!((summary.spans, summary.without_drag), (100_000, 1));
    let critical: Nanoseconds = (summary.tree.contexts().iter())
        .map(|context| context.totals.critical)
        .sum();
    assert_eq!(critical, summary.latency);
}

#[test]
fn times_at_the_end_of_time_add_up_to_something() {
    let extreme = many(4, |number| match number {
        1 => (None, i64::MIN, i64::MAX),
        2 => (Some(1), i64::MIN, i64::MIN),
        3 => (Some(1), i64::MAX, i64::MAX),
        _ => (Some(1), i64::MIN, i64::MAX),
    });
    let (summary, _) = survey_of(&extreme, &Way::default());
    assert_eq!(summary.spans, 4);
}
