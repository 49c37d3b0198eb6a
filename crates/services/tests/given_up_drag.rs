//! Requests whose spans overlap in too many ways for their drag to be known: which these are depends on
//! nothing but their own spans.

mod support;

use std::collections::BTreeMap;
use std::num::NonZeroU64;

use proptest::prelude::*;
use slowpath_model::Nanoseconds;
use slowpath_read_spans::Span;
use slowpath_services::{Limits, Order, Report};
use support::{ALL, Way, report_of, spans};

/// A trace of calls of different names, each of which calls something else and overlaps the next two.
#[derive(Clone, Debug)]
struct Staggered {
    requests: usize,
    calls: usize,
    /// The calls of several traces have the same names, but not in the same order.
    step: usize,
}

fn staggered() -> impl Strategy<Value = Staggered> {
    // Replayed once for every second call, a block of 900 calls and more is more than 300 siblings per span.
    let calls = prop_oneof![1..40_usize, 700..1200_usize];
    (1..3_usize, calls, 0..4_usize).prop_map(|(requests, calls, step)| Staggered {
        requests,
        calls,
        step: [1, 7, 1009, 2003][step],
    })
}

impl Staggered {
    fn spans(&self, number: u64) -> Vec<Span> {
        let mut drawing = String::new();
        for request in 0..self.requests {
            drawing += &format!("R{request} shop[buy] 0-{}\n", self.calls * 100 + 1000);
            for call in 0..self.calls {
                let (begin, name) = (call * 100, (call + 1) * self.step % 4001);
                drawing += &format!(
                    "  C{request}x{call} shop[call-{name}] {begin}-{end}\n    D{request}x{call} db[query-{name}] {begin}-{end}\n",
                    end = begin + 250,
                );
            }
        }
        spans(number, &drawing)
    }
}

fn drags(report: &Report) -> BTreeMap<Vec<String>, u64> {
    let rows = report.paths.iter();
    rows.filter_map(|row| Some((row.path.clone(), NonZeroU64::new(row.drag.get())?.get())))
        .collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(10))]

    #[test]
    fn drag_of_all_requests_is_that_of_each_trace_alone_however_many_workers(
        traces in prop::collection::vec(staggered(), 1..8),
    ) {
        let each: Vec<_> = (traces.iter().zip(1..)).map(|(trace, number)| trace.spans(number)).collect();
        let mut expected: BTreeMap<Vec<String>, u64> = BTreeMap::new();
        let mut without_drag = 0;
        for spans in &each {
            let alone = report_of(spans, &Way::default(), Order::Distance);
            without_drag += alone.without_drag;
            for (path, drag) in drags(&alone) {
                *expected.entry(path).or_default() += drag;
            }
            // A request is in all paths' drag or in none's.
            let left_out = alone.without_drag;
            let of_one = alone.latency.get() / alone.requests;
            let of_request = alone.paths.iter().find(|row| row.path.len() == 1).map(|row| row.drag);
            prop_assert_eq!(of_request, Some(Nanoseconds(of_one * (alone.requests - left_out))));
        }
        let all = each.concat();
        for jobs in [1, 2, 8] {
            let found = report_of(&all, &Way { jobs, ..Way::default() }, Order::Distance);
            prop_assert_eq!(found.without_drag, without_drag, "{} workers", jobs);
            prop_assert_eq!(&drags(&found), &expected, "{} workers", jobs);
        }
    }

    #[test]
    fn a_tree_that_is_not_as_deep_knows_the_drag_of_the_same_requests(
        traces in prop::collection::vec(staggered(), 1..8),
        contexts in prop::sample::select(vec![0, 1, 50, 1000, 3000]),
    ) {
        let each = traces.iter().zip(1..).map(|(trace, number)| trace.spans(number));
        let all = each.collect::<Vec<_>>().concat();
        let uncut = report_of(&all, &Way::default(), Order::Distance);
        let expected = drags(&uncut);
        for jobs in [1, 2, 8] {
            let way = Way { jobs, limits: Limits { contexts, ..ALL }, ..Way::default() };
            let cut = report_of(&all, &way, Order::Distance);
            prop_assert_eq!(cut.without_drag, uncut.without_drag, "{} workers", jobs);
            let told = cut.most_calls as usize;
            let kept = expected.clone().into_iter().filter(|(path, _)| path.len() <= told);
            prop_assert_eq!(drags(&cut), kept.collect::<BTreeMap<_, _>>(), "{} workers", jobs);
        }
    }
}
