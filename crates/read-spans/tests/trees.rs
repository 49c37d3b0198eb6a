//! Trees of distributed traces drawn in text: what hangs below what, what was mended, which clocks were
//! shifted; the same for any order of spans.
//!
//! A drawn span: `id parent service begin-end words…`, with `-` for no parent; times in microseconds, as
//! clocks are only told apart beyond that. Words: client, server, consumer, and `key=value` attributes.

mod support;

use std::sync::Arc;

use proptest::prelude::*;
use slowpath_model::{Diagnostic, SpanId, TraceId};
use slowpath_read_spans::{
    Attribute, AttributeValue, Span, SpanKind, SpanSink, TraceSet, TraceTree,
};
use support::span;

fn drawn(drawing: &str) -> Vec<Span> {
    let lines = drawing
        .lines()
        .map(str::trim)
        .filter(|line| !line.is_empty());
    lines
        .map(|line| {
            let words: Vec<&str> = line.split_whitespace().collect();
            let id = |text: &str| text.parse().unwrap_or(0);
            let (begin, end) = words[3].split_once('-').expect(line);
            let at = |text: &str| text.parse::<i64>().expect(line) * 1000;
            let mut drawn = span(id(words[0]), id(words[1]), words[2], at(begin), at(end));
            for word in &words[4..] {
                match (*word, word.split_once('=')) {
                    (_, Some((key, value))) => drawn.attributes.push(Attribute {
                        key: Arc::from(key),
                        value: AttributeValue::Text(Arc::from(value)),
                    }),
                    ("client", _) => drawn.kind = SpanKind::Client,
                    ("server", _) => drawn.kind = SpanKind::Server,
                    ("consumer", _) => drawn.kind = SpanKind::Consumer,
                    _ => panic!("`{word}` means nothing: {line}"),
                }
            }
            drawn
        })
        .collect()
}

/// `1(2 3(4))`: a span and those below it, in the order of their begins.
fn shape(tree: &TraceTree) -> String {
    fn below(tree: &TraceTree, span: usize) -> String {
        let children: Vec<_> = tree
            .children(span)
            .map(|child| below(tree, child))
            .collect();
        let own = tree.spans()[span].span.0;
        match children.is_empty() {
            true => own.to_string(),
            false => format!("{own}({})", children.join(" ")),
        }
    }
    tree.roots()
        .map(|root| below(tree, root))
        .collect::<Vec<_>>()
        .join(" ")
}

fn codes(diagnostics: &[Diagnostic]) -> String {
    let codes = diagnostics
        .iter()
        .map(|found| format!("{} {}", found.code.name(), found.count.unwrap_or(0)));
    codes.collect::<Vec<_>>().join(", ")
}

/// Draws the tree, whatever the order of the spans.
fn check(drawing: &str, expected: &str, expected_codes: &str) -> TraceTree {
    let spans = drawn(drawing);
    let mut trees = Vec::new();
    for turn in 0..spans.len() {
        for turned_over in [false, true] {
            let mut turned = spans.clone();
            turned.rotate_left(turn);
            if turned_over {
                turned.reverse();
            }
            let mut diagnostics = Vec::new();
            let tree = TraceTree::new(turned, &mut diagnostics);
            assert_eq!(shape(&tree), expected, "{drawing}");
            assert_eq!(codes(&diagnostics), expected_codes, "{drawing}");
            trees.push(tree);
        }
    }
    trees.swap_remove(0)
}

#[test]
fn spans_hang_below_their_parents() {
    check(
        "1 - a 0-100 \n 2 1 a 10-50 \n 3 2 b 20-30 \n 4 1 c 60-70",
        "1(2(3) 4)",
        "",
    );
}

#[test]
fn a_missing_parent_makes_a_root() {
    check(
        "1 - a 0-100 \n 2 9 a 10-50 \n 3 2 b 20-30",
        "1 2(3)",
        "MissingParentSpan 1",
    );
}

#[test]
fn the_earliest_span_of_a_circle_is_a_root() {
    check(
        "1 3 a 5-100 \n 2 1 a 10-50 \n 3 2 b 0-30 \n 4 2 b 11-12",
        "3(1(2(4)))",
        "SpanCycle 1",
    );
    check("1 1 a 5-100 \n 2 1 a 10-50", "1(2)", "SpanCycle 1");
    check(
        "1 2 a 0-9 \n 2 1 a 1-9 \n 3 4 a 2-9 \n 4 3 a 3-9",
        "1(2) 3(4)",
        "SpanCycle 2",
    );
}

#[test]
fn doubles_are_dropped_and_a_client_and_its_server_with_one_id_are_kept_apart() {
    check(
        "1 - a 0-100 \n 2 1 a 10-50 \n 2 1 a 10-50",
        "1(2)",
        "DuplicateSpan 1",
    );
    let tree = check(
        "1 - a 0-100 \n 2 1 a 10-50 \n 2 1 b 9-51",
        "1(2)",
        "ConflictingSpans 1",
    );
    assert_eq!(&*tree.spans()[1].service, "b");
    check(
        "1 - a 0-100 \n 2 1 a 10-50 client \n 2 1 b 20-40 server \n 3 2 b 25-30",
        "1(2(2(3)))",
        "",
    );
}

/// `host shift` in microseconds, where there is one.
fn shifts(tree: &TraceTree) -> String {
    let shifted = tree.hosts().iter().filter(|host| host.shift_ns != 0);
    let texts = shifted.map(|host| format!("{} {:+}", host.host, host.shift_ns / 1000));
    texts.collect::<Vec<_>>().join(", ")
}

#[test]
fn one_shift_puts_all_spans_of_a_host_right_and_raw_times_stay() {
    let tree = check(
        "1 - a 0-100 client host.name=x
         2 1 b 1020-1080 server host.name=y
         3 2 b 1030-1040 host.name=y
         4 1 b 1050-1060 server host.name=y",
        "1(2(3) 4)",
        "ClockSkew 2",
    );
    assert_eq!(shifts(&tree), "host y -1000");
    let in_microseconds =
        |range: slowpath_model::TimeRange| (range.begin.ns() / 1000, range.end.ns() / 1000);
    assert_eq!(in_microseconds(tree.raw(1)), (1020, 1080));
    assert_eq!(in_microseconds(tree.corrected(1)), (20, 80));
    assert_eq!(in_microseconds(tree.corrected(2)), (30, 40));
}

#[test]
fn what_may_lie_outside_of_its_parent_is_no_evidence() {
    // A consumer, a span that outlives its parent, the same host, a link, and how Jaeger rounds.
    check("1 - a 0-100 \n 2 1 b 500-600 consumer", "1(2)", "");
    check("1 - a 0-100 \n 2 1 b 50-600", "1(2)", "");
    check(
        "1 - a 100-200 client ip=1 \n 2 1 b 50-60 server ip=1",
        "1(2)",
        "",
    );
    check("1 - a 0-100 client \n 2 1 b 20-101 server", "1(2)", "");
    // Without kinds, only a callee that begins first is.
    let tree = check("1 - a 100-200 \n 2 1 b 50-60", "1(2)", "ClockSkew 1");
    assert_eq!(shifts(&tree), "service b +50");
}

#[test]
fn clocks_of_hosts_behind_hosts_and_hosts_hours_apart() {
    let tree = check(
        "1 - a 0-100 client
         2 1 b 5855000000-5855000080 server
         3 2 b 5855000010-5855000070 client
         4 3 c 0-20 server",
        "1(2(3(4)))",
        "ClockSkew 1, ClockSkew 1",
    );
    assert_eq!(shifts(&tree), "service b -5854999990, service c +40");
}

#[test]
fn two_hosts_with_one_name_have_clocks_of_their_own() {
    let tree = check(
        "1 - a 0-100 client host.name=node ip=10.0.0.1
         2 1 b 1020-1080 server host.name=node ip=10.0.0.2",
        "1(2)",
        "SameHostName 2, ClockSkew 1",
    );
    assert_eq!(shifts(&tree), "host node (10.0.0.2) -1000");
}

/// Both as wide and as deep as traces get; time and memory grow with the number of spans only.
#[test]
fn traces_of_a_hundred_thousand_spans() {
    const SPANS: u64 = 100_000;
    let chain = (1..=SPANS).map(|id| span(id, id - 1, "a", id as i64, (2 * SPANS - id) as i64));
    let mut diagnostics = Vec::new();
    let tree = TraceTree::new(chain.collect(), &mut diagnostics);
    let mut depth = 0;
    let mut deepest = tree.spans().len() - 1;
    while let Some(parent) = tree.parent(deepest) {
        (deepest, depth) = (parent, depth + 1);
    }
    assert_eq!(depth, SPANS - 1);
    let star = (1..=SPANS).map(|id| span(id, id.min(2) - 1, "a", id as i64, id as i64 + 1));
    let tree = TraceTree::new(star.collect(), &mut diagnostics);
    assert_eq!(tree.children(0).count() as u64, SPANS - 1);
    let circle = (1..=SPANS).map(|id| span(id, if id == 1 { SPANS } else { id - 1 }, "a", 0, 1));
    let tree = TraceTree::new(circle.collect(), &mut diagnostics);
    assert_eq!(tree.callers_first().len() as u64, SPANS);
    assert_eq!(codes(&diagnostics), "SpanCycle 1");
}

#[test]
fn a_set_of_traces_tells_of_each_kind_of_problem_once() {
    let mut set = TraceSet::default();
    for trace in 1..=3 {
        for mut orphan in [span(1, 9, "a", 0, 5), span(2, 1, "a", 1, 2)] {
            orphan.trace = TraceId {
                high: 0,
                low: trace,
            };
            orphan.references[0].trace = orphan.trace;
            set.span(orphan);
        }
    }
    let (trees, diagnostics) = set.into_trees();
    assert_eq!(
        trees.iter().map(shape).collect::<Vec<_>>(),
        ["1(2)", "1(2)", "1(2)"]
    );
    assert_eq!(codes(&diagnostics), "MissingParentSpan 3");
}

/// Few ids and times, so that doubles, circles, missing parents and skew are common.
fn any_trace() -> impl Strategy<Value = Vec<Span>> {
    let kinds = prop::sample::select(vec![SpanKind::Internal, SpanKind::Client, SpanKind::Server]);
    let one = (
        1..12u64,
        0..14u64,
        "[ab]",
        0..50i64,
        0..50i64,
        kinds,
        0..3u32,
    );
    let spans = prop::collection::vec(one, 0..14);
    spans.prop_map(|spans| {
        let build = |(id, parent, service, begin, length, kind, mark): (
            u64,
            u64,
            String,
            i64,
            i64,
            _,
            u32,
        )| {
            let mut built = span(id, parent, &service, begin * 1000, (begin + length) * 1000);
            built.kind = kind;
            if mark > 0 {
                let value = AttributeValue::Integer(mark.into());
                built.attributes.push(Attribute {
                    key: Arc::from("mark"),
                    value,
                });
            }
            built
        };
        spans.into_iter().map(build).collect()
    })
}

proptest! {
    #[test]
    fn any_order_of_spans_gives_the_same_tree(
        (spans, shuffled) in any_trace().prop_flat_map(|spans| {
            (Just(spans.clone()), Just(spans).prop_shuffle())
        }),
    ) {
        let (mut found, mut found_shuffled) = (Vec::new(), Vec::new());
        let tree = TraceTree::new(spans.clone(), &mut found);
        let other = TraceTree::new(shuffled, &mut found_shuffled);
        prop_assert_eq!(tree.spans(), other.spans());
        prop_assert_eq!(shape(&tree), shape(&other));
        prop_assert_eq!(tree.hosts(), other.hosts());
        prop_assert_eq!(codes(&found), codes(&found_shuffled));
        // Every id that came in is there, and everything hangs on a root.
        let ids = |spans: &[Span]| spans.iter().map(|span| span.span).collect::<std::collections::BTreeSet<SpanId>>();
        prop_assert_eq!(ids(tree.spans()), ids(&spans));
        prop_assert_eq!(tree.callers_first().len(), tree.spans().len());
    }
}
