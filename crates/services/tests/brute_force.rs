//! Path, drag, slack and exclusive time of random traces, held against answers that are slow and
//! plain: all chains of siblings tried, the whole request replayed, time counted step by step.

mod support;

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::sync::Arc;

use proptest::prelude::*;
use slowpath_model::{SpanId, Timestamp, TraceId};
use slowpath_read_spans::{Reference, ReferenceKind, Span, SpanKind, SpanStatus};
use slowpath_services::{Limits, Order, Report};
use support::{ALL, Way, report_of};

/// A span as the slow answers see it; times as plain numbers.
#[derive(Clone, Debug)]
struct Plain {
    parent: Option<usize>,
    begin: i64,
    end: i64,
    detached: bool,
    /// The sibling that it names as the one before it.
    follows: Option<usize>,
    operation: String,
}

/// Up to ten spans within 60 ns, so that no two overlap by less than a hundredth of anything.
fn traces(operations: u8) -> impl Strategy<Value = Vec<Plain>> {
    let span = (
        any::<prop::sample::Index>(),
        0..50_i64,
        0..30_i64,
        0..10_u8,
        any::<prop::sample::Index>(),
        0..operations,
    );
    prop::collection::vec(span, 1..10).prop_map(|spans| {
        let mut all: Vec<Plain> = vec![];
        for (position, (parent, begin, length, kind, follows, operation)) in
            spans.into_iter().enumerate()
        {
            let first = position == 0;
            // Few parents, so that many are siblings.
            let parent = (!first).then(|| parent.index(position).min(parent.index(3)));
            let (begin, end) = if first {
                (0, 60)
            } else {
                (begin, begin + length)
            };
            let siblings: Vec<usize> = (1..position)
                .filter(|&other| all[other].parent == parent)
                .collect();
            let follows = (kind < 3 && !siblings.is_empty()).then(|| *follows.get(&siblings));
            let detached = kind == 9;
            let follows = follows.filter(|_| !detached);
            all.push(Plain {
                parent,
                begin,
                end,
                detached,
                follows,
                operation: format!("op{operation}"),
            });
        }
        all
    })
}

fn span_id(position: usize) -> SpanId {
    SpanId(position as u64 + 1)
}

fn spans(trace: &[Plain]) -> Vec<Span> {
    let id = TraceId { high: 7, low: 9 };
    (trace.iter().enumerate())
        .map(|(position, plain)| {
            let reference = |kind, span| Reference {
                kind,
                trace: id,
                span: span_id(span),
            };
            let kind = match plain.detached {
                true => ReferenceKind::FollowsFrom,
                false => ReferenceKind::ChildOf,
            };
            let parent = plain.parent.map(|parent| reference(kind, parent));
            let follows = plain
                .follows
                .map(|other| reference(ReferenceKind::FollowsFrom, other));
            Span {
                trace: id,
                span: span_id(position),
                references: parent.into_iter().chain(follows).collect(),
                service: Arc::from("s"),
                operation: Arc::from(plain.operation.as_str()),
                begin: Timestamp::from_ns(plain.begin),
                end: Timestamp::from_ns(plain.end),
                kind: SpanKind::Internal,
                has_remote_parent: None,
                status: SpanStatus::Unset,
                attributes: Vec::new(),
            }
        })
        .collect()
}

/// Every operation differs: contexts are single spans.
fn with_names_of_their_own(trace: &[Plain]) -> Vec<Plain> {
    let mut trace = trace.to_vec();
    for (position, plain) in trace.iter_mut().enumerate() {
        plain.operation = format!("op{position}");
    }
    trace
}

/// The slow answers of one trace.
struct Slow {
    trace: Vec<Plain>,
    /// For each span the part that its parent waits for; `None` where it does not.
    waited: Vec<Option<(i64, i64)>>,
}

impl Slow {
    fn new(trace: &[Plain]) -> Self {
        let mut waited: Vec<Option<(i64, i64)>> = Vec::new();
        for plain in trace {
            let whole = (plain.begin, plain.end);
            waited.push(match plain.parent {
                None => Some(whole),
                Some(_) if plain.detached => None,
                Some(parent) => {
                    // Whoever nobody waits for has children that it waits for itself.
                    let outer = waited[parent].unwrap_or((trace[parent].begin, trace[parent].end));
                    let within = outer.0 <= whole.0 && whole.1 <= outer.1;
                    let shared = (whole.0.max(outer.0), whole.1.min(outer.1));
                    (within || shared.0 < shared.1).then_some(shared)
                }
            });
        }
        Self {
            trace: trace.to_vec(),
            waited,
        }
    }

    fn range(&self, span: usize) -> (i64, i64) {
        self.waited[span].unwrap_or((self.trace[span].begin, self.trace[span].end))
    }

    /// The order in which siblings end: of those that end together the shorter first, but those of no
    /// length last.
    fn key(&self, span: usize) -> (i64, bool, Reverse<i64>, usize) {
        let (begin, end) = self.range(span);
        (end, begin == end, Reverse(begin), span)
    }

    fn waited_children(&self, parent: usize) -> Vec<usize> {
        let mut children: Vec<usize> = (0..self.trace.len())
            .filter(|&span| self.trace[span].parent == Some(parent) && self.waited[span].is_some())
            .collect();
        children.sort_by_key(|&span| self.key(span));
        children
    }

    fn had_ended(&self, earlier: usize, later: usize) -> bool {
        self.range(earlier).1 <= self.range(later).0 && self.key(earlier) < self.key(later)
    }

    /// The siblings that a span waited for before it began.
    fn awaited(&self, span: usize, siblings: &[usize]) -> Vec<usize> {
        let named = self.trace[span].follows;
        if let Some(named) =
            named.filter(|named| siblings.contains(named) && self.had_ended(*named, span))
        {
            return vec![named];
        }
        siblings
            .iter()
            .copied()
            .filter(|&other| self.had_ended(other, span))
            .collect()
    }

    /// Of all chains of children in which each waited for the one before, that which ends last, and of
    /// those that whose second to last ends last, and so on.
    fn chain(&self, parent: usize) -> Vec<usize> {
        let children = self.waited_children(parent);
        let mut best: Vec<usize> = Vec::new();
        for subset in 0..1_u32 << children.len() {
            let chosen = (0..children.len()).filter(|bit| subset & 1 << bit != 0);
            let chain: Vec<usize> = chosen.map(|bit| children[bit]).collect();
            let linked = chain
                .windows(2)
                .all(|pair| self.awaited(pair[1], &children).contains(&pair[0]));
            let backwards = |chain: &[usize]| -> Vec<_> {
                chain.iter().rev().map(|&span| self.key(span)).collect()
            };
            if linked && backwards(&chain) > backwards(&best) {
                best = chain;
            }
        }
        best
    }

    /// Own time on the critical path, for spans that have some.
    fn path(&self, span: usize, times: &mut BTreeMap<usize, u64>) {
        let (begin, end) = self.range(span);
        let chain = self.chain(span);
        let covered: i64 = chain
            .iter()
            .map(|&child| self.range(child).1 - self.range(child).0)
            .sum();
        if end - begin > covered {
            times.insert(span, (end - begin - covered) as u64);
        }
        chain.iter().for_each(|&child| self.path(child, times));
    }

    /// When a span that begins at `begin` ends, if spans take as much longer as `longer` says; those
    /// that it says nothing of as long as they did, as their children have it.
    fn replay(&self, span: usize, begin: i64, longer: &dyn Fn(usize) -> Option<i64>) -> i64 {
        let (was_begin, was_end) = self.range(span);
        let children = self.waited_children(span);
        let mut ends: BTreeMap<usize, i64> = BTreeMap::new();
        for &child in &children {
            let awaited = self.awaited(child, &children);
            let ended = awaited
                .iter()
                .map(|other| ends[other])
                .max()
                .unwrap_or(begin);
            let had_ended = awaited
                .iter()
                .map(|&other| self.range(other).1)
                .max()
                .unwrap_or(was_begin);
            let child_begin = ended + self.range(child).0 - had_ended;
            ends.insert(child, self.replay(child, child_begin, longer));
        }
        let ended = ends.values().copied().max().unwrap_or(begin);
        let had_ended = children
            .iter()
            .map(|&child| self.range(child).1)
            .max()
            .unwrap_or(was_begin);
        match longer(span) {
            Some(change) if change < 0 => begin,
            change => ended + (was_end - had_ended) + change.unwrap_or(0),
        }
    }

    /// When the request ends if these spans, and all that they wait for, take no time.
    fn end_without(&self, vanished: &[usize]) -> i64 {
        self.replay(0, 0, &|span| vanished.contains(&span).then_some(-1))
    }

    fn end_if_longer(&self, span: usize, by: i64) -> i64 {
        self.replay(0, 0, &|other| (other == span).then_some(by))
    }

    fn waited_for_all_the_way(&self, span: usize) -> bool {
        self.waited[span].is_some()
            && self.trace[span]
                .parent
                .is_none_or(|parent| self.waited_for_all_the_way(parent))
    }

    fn exclusive(&self, span: usize) -> u64 {
        let Plain { begin, end, .. } = self.trace[span];
        let waits_at = |at: i64| {
            let mut children = self
                .trace
                .iter()
                .filter(|other| other.parent == Some(span) && !other.detached);
            children.any(|child| child.begin <= at && at < child.end)
        };
        (begin..end).filter(|&at| !waits_at(at)).count() as u64
    }
}

fn limits() -> impl Strategy<Value = Limits> {
    let few = || prop::sample::select(vec![1, 2, usize::MAX]);
    let contexts = prop_oneof![0..20_usize, Just(usize::MAX)];
    let limits = (few(), few(), few(), contexts);
    limits.prop_map(
        |(services, operations_of_service, operations, contexts)| Limits {
            services,
            operations_of_service,
            operations,
            contexts,
        },
    )
}

/// The paths of a report, without their ranks.
fn rows(report: &Report) -> Vec<String> {
    let mut rows: Vec<_> = (report.paths.iter())
        .map(|row| {
            let (count, inclusive, exclusive) = (row.count, row.inclusive, row.exclusive);
            let own = (row.exclusive_p50, row.exclusive_p99, row.exclusive_max);
            let on_path = (row.critical, row.on_critical_path, row.drag, row.slack_mean);
            format!(
                "{:?} {count} {inclusive} {exclusive} {own:?} {on_path:?}",
                row.path
            )
        })
        .collect();
    rows.sort();
    rows
}

/// Which span an operation that is its own stands for.
fn span_of(row: &slowpath_services::PathRow) -> usize {
    let last = row.path.last().expect("no path is empty");
    last.trim_start_matches("s[op")
        .trim_end_matches(']')
        .parse()
        .expect("drawn so")
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn each_span_has_the_times_that_trying_everything_gives(trace in traces(1)) {
        let trace = with_names_of_their_own(&trace);
        let slow = Slow::new(&trace);
        let report = report_of(&spans(&trace), &Way::default(), Order::Distance);
        let mut path = BTreeMap::new();
        slow.path(0, &mut path);
        prop_assert_eq!(report.paths.len(), trace.len());
        for row in &report.paths {
            let span = span_of(row);
            prop_assert_eq!(row.critical.get(), path.get(&span).copied().unwrap_or(0), "path of {}", span);
            prop_assert_eq!(row.exclusive.get(), slow.exclusive(span), "exclusive of {}", span);
            let drag = 60 - slow.end_without(&[span]);
            let waited = slow.waited_for_all_the_way(span);
            prop_assert_eq!(row.drag.get() as i64, if waited { drag } else { 0 }, "drag of {}", span);
            prop_assert_eq!(row.slack_mean.is_some(), waited, "slack of {}", span);
            if let Some(slack) = row.slack_mean {
                let slack = slack.get() as i64;
                prop_assert_eq!(slow.end_if_longer(span, slack), 60, "slack of {}", span);
                prop_assert!(slow.end_if_longer(span, slack + 1) > 60, "slack of {}", span);
            }
        }
        prop_assert_eq!(path.values().sum::<u64>(), report.latency.get());
    }

    #[test]
    fn the_drag_of_a_context_is_what_is_gained_when_all_its_spans_vanish_at_once(trace in traces(2)) {
        let slow = Slow::new(&trace);
        let report = report_of(&spans(&trace), &Way::default(), Order::Drag);
        let path_of = |span: usize| {
            let up = |span: &usize| trace[*span].parent;
            let mut path: Vec<String> = std::iter::successors(Some(span), up)
                .map(|span| format!("s[{}]", trace[span].operation))
                .collect();
            path.reverse();
            path
        };
        for row in &report.paths {
            let members: Vec<usize> = (0..trace.len()).filter(|&span| path_of(span) == row.path).collect();
            prop_assert_eq!(row.count, members.len() as u64);
            let waited: Vec<usize> = members.iter().copied().filter(|&span| slow.waited_for_all_the_way(span)).collect();
            prop_assert_eq!(row.drag.get() as i64, 60 - slow.end_without(&waited), "{:?}", row.path);
        }
    }

    /// A tree that is not as deep tells what one of traces without the deeper spans tells.
    #[test]
    fn what_is_too_deep_counts_as_if_it_had_not_been_called(
        several in prop::collection::vec(traces(3), 1..12),
        contexts in 1..20_usize,
        jobs in prop::sample::select(vec![1, 8]),
    ) {
        let depth = |trace: &[Plain], span: usize| {
            let up = |span: &usize| trace[*span].parent;
            std::iter::successors(Some(span), up).count()
        };
        let told = |most_calls: usize| -> Vec<Span> {
            (several.iter().zip(1..))
                .flat_map(|(trace, number)| {
                    let spans = spans(trace).into_iter().enumerate();
                    let kept = spans.filter(|(span, _)| depth(trace, *span) <= most_calls);
                    let kept: Vec<_> = kept.collect();
                    kept.into_iter().map(move |(_, mut span)| {
                        span.trace.low = number;
                        span.references.iter_mut().for_each(|reference| reference.trace = span.trace);
                        span
                    })
                })
                .collect()
        };
        let way = Way { jobs, limits: Limits { contexts, ..ALL }, ..Way::default() };
        let all = told(usize::MAX);
        let found = report_of(&all, &way, Order::Distance);
        let most_calls = found.most_calls as usize;
        let cut = told(most_calls);
        prop_assert_eq!(found.deeper_spans as usize, all.len() - cut.len());
        prop_assert_eq!(rows(&found), rows(&report_of(&cut, &Way::default(), Order::Distance)));
        prop_assert!(found.contexts <= contexts || most_calls == 1);
        if found.deeper_spans > 0 {
            let one_deeper = report_of(&told(most_calls + 1), &Way::default(), Order::Distance);
            prop_assert!(one_deeper.contexts > contexts);
        }
    }

    #[test]
    fn any_order_number_of_workers_and_use_of_the_disk_gives_the_same_report(
        several in prop::collection::vec(traces(3), 1..12),
        shuffle in any::<u64>(),
        (jobs, sorters, most_held) in (prop::sample::select(vec![1, 2, 8]), 1..5_usize, 1..40_usize),
        limits in limits(),
    ) {
        let mut all = Vec::new();
        for (trace, number) in several.iter().zip(0..) {
            all.extend(spans(trace).into_iter().map(|mut span| {
                span.trace.low = number % 5;
                span.service = Arc::from(format!("s{}", span.span.0 % 3));
                // Some traces come in two parts, with spans of the same ids told twice.
                let part = 100 * (number / 5) * (number % 2);
                span.span.0 += part;
                for reference in &mut span.references {
                    reference.trace = span.trace;
                    reference.span.0 += part;
                }
                span
            }));
        }
        let json = |spans: &[Span], way: &Way<'_>| {
            let report = report_of(spans, way, Order::Distance);
            serde_json::to_string(&report).unwrap()
        };
        let expected = json(&all, &Way { limits, ..Way::default() });
        all.sort_by_cached_key(|span| (span.span.0 ^ span.trace.low).wrapping_mul(shuffle | 1));
        let found = json(&all, &Way { jobs, sorters, most_held, limits, ..Way::default() });
        prop_assert_eq!(found, expected);
    }
}
