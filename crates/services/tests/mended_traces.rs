//! Traces that contradict themselves: what is kept, what is counted, and that nothing hangs.

mod support;

use std::cell::Cell;
use std::io::Cursor;
use std::num::NonZeroUsize;
use std::sync::Arc;

use proptest::prelude::*;
use slowpath_model::{Nanoseconds, SpanId, Timestamp};
use slowpath_read_spans::{Reference, ReferenceKind, Span, SpanKind};
use slowpath_services::{
    DEEPEST, Limits, Mark, Mended, Order, SurveyOptions, TraceSorter, Traces, survey,
};
use support::{ALL, Way, line, path_as_text, report_of, spans, survey_of};

#[test]
fn a_circle_is_cut_at_its_earliest_span() {
    let (line, mended) = line(
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
    let (line, mended) = line("A a[x] 0-100 parent=A");
    assert_eq!((mended.circles, line.nodes().len()), (1, 1));
}

#[test]
fn a_span_without_its_parent_is_a_request_of_its_own() {
    let summary = survey_of(
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
    let summary = survey_of(&twice, &Way::default());
    assert_eq!((summary.spans, summary.mended.duplicates), (2, 2));
    assert_eq!(summary.mended.conflicting, 0);
}

#[test]
fn other_spans_of_an_id_are_told_from_copies() {
    let of_one = |name: &str, end: i64| format!("A a[{name}] 0-{end}");
    let told = |others: &[String]| {
        let mut all = spans(1, &of_one("x", 10_000));
        all.extend(others.iter().flat_map(|drawing| spans(1, drawing)));
        let summary = survey_of(&all, &Way::default());
        let Mended {
            duplicates,
            conflicting,
            ..
        } = summary.mended;
        (duplicates, conflicting)
    };
    assert_eq!(told(&[of_one("x", 10_900)]), (1, 0), "rounded to µs");
    assert_eq!(told(&[of_one("x", 20_000), of_one("y", 10_000)]), (2, 2));
}

/// Neither by its name nor by the span that it names as the one before it, as `slowpath requests` has it.
#[test]
fn of_spans_of_one_id_and_time_the_parent_decides_then_side_and_failure() {
    let kept = |one: &str, other: &str| {
        let drawing = format!("A a[x] 0-100\nB b[y] 0-50 parent=A\n{one}\n{other}");
        let report = report_of(&spans(1, &drawing), &Way::default(), Order::Distance);
        let rows = report.paths.iter().filter(|row| row.count == 1);
        let rows = rows.map(|row| row.path.last().cloned().unwrap_or_default());
        rows.filter(|last| last.starts_with('c'))
            .collect::<Vec<_>>()
    };
    for [one, other] in [["1", "2"], ["2", "1"]] {
        let first = format!("c[{one}]");
        let below_a = format!("C {first} 60-70 parent=A after=B");
        let below_b = format!("C c[{other}] 60-70 parent=B");
        assert_eq!(kept(&below_a, &below_b), [first.as_str()]);
        let only_follows = format!("C {first} 60-70 parent=B follows");
        let below_a = format!("C c[{other}] 60-70 parent=A");
        assert_eq!(kept(&only_follows, &below_a), [first.as_str()]);
        let succeeded = format!("C {first} 60-70 parent=A after=B");
        let failed = format!("C c[{other}] 60-70 parent=A failed");
        assert_eq!(kept(&succeeded, &failed), [first.as_str()]);
    }
}

#[test]
fn a_child_that_begins_well_before_its_parent_is_told() {
    let early = |begin: i64| {
        let begin = 600_000_000 - begin;
        let drawing = format!("A a[x] 600000000-700000000\n  B b[x] {begin}-650000000");
        line(&drawing).1.early
    };
    assert_eq!((early(500_000_000), early(1_000_000)), (1, 1));
    assert_eq!((early(999_999), early(0)), (0, 0));
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
    let summary = survey_of(&nested, &Way::default());
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
    let summary = survey_of(&flat, &Way::default());
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
    let summary = survey_of(&staggered, &Way::default());
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
    let summary = survey_of(&extreme, &Way::default());
    assert_eq!(summary.spans, 4);
}

/// Spans with any times, sides, parents (missing ones, themselves, their grandchildren) and links.
fn nonsense() -> impl Strategy<Value = Vec<Span>> {
    let time = prop_oneof![0..20_000_i64, 0..300_i64, i64::MIN / 4..i64::MAX / 4];
    let kind = prop::sample::select(vec![
        SpanKind::Internal,
        SpanKind::Server,
        SpanKind::Client,
        SpanKind::Producer,
        SpanKind::Consumer,
    ]);
    let reference = prop::option::of((1..14_u64, any::<bool>()));
    let span = (
        1..12_u64,
        (time.clone(), time),
        kind,
        [reference.clone(), reference],
    );
    prop::collection::vec(span, 1..30).prop_map(|drawn| {
        let template = &many(1, |_| (None, 0, 0))[0];
        (drawn.into_iter())
            .map(|(id, (begin, end), kind, references)| Span {
                span: SpanId(id),
                references: (references.into_iter().flatten())
                    .map(|(span, child)| Reference {
                        kind: match child {
                            true => ReferenceKind::ChildOf,
                            false => ReferenceKind::FollowsFrom,
                        },
                        trace: template.trace,
                        span: SpanId(span),
                    })
                    .collect(),
                begin: Timestamp::from_ns(begin.min(end)),
                end: Timestamp::from_ns(begin.max(end)),
                kind,
                ..template.clone()
            })
            .collect()
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(3000))]

    #[test]
    fn whatever_spans_claim_the_totals_fit_together(spans in nonsense(), shuffled in any::<prop::sample::Index>()) {
        let report = report_of(&spans, &Way::default(), Order::Distance);
        let mut turned = spans.clone();
        turned.rotate_left(shuffled.index(spans.len()));
        let text = |spans: &[Span]| serde_json::to_string(&report_of(spans, &Way::default(), Order::Distance)).unwrap();
        prop_assert_eq!(text(&turned), text(&spans));
        let counted: u64 = report.paths.iter().map(|row| row.count).sum();
        prop_assert_eq!(counted, report.spans);
        prop_assert_eq!(counted + report.mended.duplicates, spans.len() as u64);
        // Sums stop at the largest number; only below it they can be held against each other.
        if report.latency.get() < u64::MAX {
            let critical: Nanoseconds = report.paths.iter().map(|row| row.critical).sum();
            prop_assert_eq!(critical, report.latency);
        }
        for row in &report.paths {
            prop_assert!(row.exclusive <= row.inclusive, "{:?}", row);
            prop_assert!(row.drag <= report.latency, "{:?}", row);
            prop_assert!(row.distance <= 2.0_f64.sqrt() + 1e-9, "{:?}", row);
        }
    }
}

#[test]
fn counts_of_many_different_names_go_onto_the_disk_and_come_back_whole() {
    let drawing: String = (0..2_000)
        .map(|number| format!("s{number} shop[get-{}] 0-{}\n", number % 1_000, 10 + number))
        .collect();
    let opened = Cell::new(0);
    let open = || {
        opened.set(opened.get() + 1);
        Ok(Cursor::new(Vec::new()))
    };
    // No span has to go there.
    let mut sorter = TraceSorter::new(2_000, open);
    for span in spans(1, &drawing) {
        sorter.push(&span, true, Mark::NONE).unwrap();
    }
    let options = SurveyOptions {
        limits: Limits {
            operations: 900,
            ..ALL
        },
        jobs: NonZeroUsize::MIN,
        progress: &|_| (),
    };
    let summary = survey(Traces::merge([sorter]).unwrap(), options).unwrap();
    assert_eq!((opened.get(), summary.other_operations), (1, 100));
    let contexts = summary.tree.contexts().iter();
    let mut counts: Vec<u64> = contexts.map(|context| context.totals.count).collect();
    counts.sort_unstable();
    assert_eq!(counts, [vec![2; 900], vec![200]].concat());
}
