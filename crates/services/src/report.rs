//! Contexts ranked, with names, as plain data: what `slowpath services` shows.
//!
//! The ranking is that of the paper on unnecessary data transfer (§5.1, Table 2): inclusive and
//! exclusive time of each path are normalised to the largest of all paths, and the paths come in the
//! order of their Euclidean distance from the origin.

use serde::Serialize;
use slowpath_model::Nanoseconds;
use utoipa::ToSchema;

use crate::contexts::{Context, ContextId, ContextTree};
use crate::links::Mended;
use crate::map::ServiceMap;
use crate::survey::Summary;

/// What comes first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Order {
    /// The farthest from the origin of (inclusive, exclusive).
    #[default]
    Distance,
    /// The most time of their own.
    Exclusive,
    /// The most time on critical paths.
    Critical,
    /// The most to gain.
    Drag,
}

/// Paths of calls, ranked.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[schema(as = ServicesReport)]
pub struct Report {
    /// Distributed traces.
    pub traces: u64,
    /// Spans, without duplicates.
    pub spans: u64,
    /// Requests: first spans of traces, or those that were asked for.
    pub requests: u64,
    /// Sum of the requests' times.
    pub latency: Nanoseconds,
    /// Median time of a request.
    pub latency_p50: Nanoseconds,
    /// 9 of 10 requests took no longer.
    pub latency_p90: Nanoseconds,
    /// 99 of 100 requests took no longer.
    pub latency_p99: Nanoseconds,
    /// The longest request, exactly.
    pub latency_max: Nanoseconds,
    /// Requests that are in no path's drag, as they overlap in too many ways.
    pub without_drag: u64,
    /// Services that are too rare to be told apart: their spans are those of the service `(other)`.
    pub other_services: u64,
    /// Operations that are too rare to be told apart: their spans are those of the operation `(other)`.
    pub other_operations: u64,
    /// Most calls that a path may have: 256, or as many as leave no more paths than are told.
    pub most_calls: u32,
    /// Spans below such paths: they are in no path, and their time is that of the last call of one.
    pub deeper_spans: u64,
    /// What was wrong with the spans.
    pub mended: Mended,
    /// Paths of calls in all, those that were left out included.
    pub contexts: usize,
    /// The paths, best rank first.
    pub paths: Vec<PathRow>,
    /// Who calls whom.
    pub map: ServiceMap,
}

/// A path of calls.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[schema(as = CallingContext)]
pub struct PathRow {
    /// From 1.
    pub rank: usize,
    /// `service[operation]` from the request down.
    pub path: Vec<String>,
    /// Spans.
    pub count: u64,
    /// Spans that failed.
    pub errors: u64,
    /// Sum of the spans' times.
    pub inclusive: Nanoseconds,
    /// Sum of the spans' times without the children that they waited for.
    pub exclusive: Nanoseconds,
    /// `inclusive` as part of the largest.
    pub inclusive_normalized: f64,
    /// `exclusive` as part of the largest.
    pub exclusive_normalized: f64,
    /// From the origin of the plane of these two.
    pub distance: f64,
    /// Percentiles of the spans' times.
    pub inclusive_p50: Nanoseconds,
    /// 9 of 10 took no longer.
    pub inclusive_p90: Nanoseconds,
    /// 99 of 100 took no longer.
    pub inclusive_p99: Nanoseconds,
    /// The longest, exactly.
    pub inclusive_max: Nanoseconds,
    /// Percentiles of the spans' times without children.
    pub exclusive_p50: Nanoseconds,
    /// 9 of 10 took no longer.
    pub exclusive_p90: Nanoseconds,
    /// 99 of 100 took no longer.
    pub exclusive_p99: Nanoseconds,
    /// The longest, exactly.
    pub exclusive_max: Nanoseconds,
    /// Own time on the requests' critical paths.
    pub critical: Nanoseconds,
    /// `critical` as part of all requests' time; the parts of all paths add up to 1.
    pub critical_share: f64,
    /// Requests on whose critical path it had time of its own.
    pub on_critical_path: u64,
    /// How much all requests would gain if these spans took no time.
    pub drag: Nanoseconds,
    /// `drag` as part of all requests' time.
    pub drag_share: f64,
    /// How much longer a span may take, on average, before its request does; absent where nobody
    /// waits for it.
    #[schema(required)]
    pub slack_mean: Option<Nanoseconds>,
    /// The longest span.
    #[schema(required)]
    pub slowest: Option<SlowestSpan>,
}

/// A span to look at.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct SlowestSpan {
    /// Its trace, 32 hexadecimal digits.
    pub trace_id: String,
    /// Its id, 16 hexadecimal digits.
    pub span_id: String,
    /// How long it took.
    pub duration: Nanoseconds,
}

impl Report {
    /// Ranks the contexts of `summary`; the first `top` stay, all where it is 0.
    pub fn new(summary: &Summary, order: Order, top: usize) -> Self {
        let tree = &summary.tree;
        let [latency_p50, latency_p90, latency_p99] = summary.latencies.percentiles([50, 90, 99]);
        let largest = Plane::of(tree);
        let mut ranked = ranked(summary, order);
        ranked.truncate(if top == 0 { usize::MAX } else { top });
        let rows = ranked.into_iter().zip(1..);
        Self {
            traces: summary.traces,
            spans: summary.spans,
            requests: summary.requests,
            latency: summary.latency,
            latency_p50,
            latency_p90,
            latency_p99,
            latency_max: summary.latencies.largest(),
            without_drag: summary.without_drag,
            other_services: summary.other_services,
            other_operations: summary.other_operations,
            most_calls: tree.most_calls(),
            deeper_spans: tree.deeper_spans(),
            mended: summary.mended,
            contexts: tree.contexts().len(),
            paths: rows
                .map(|(context, rank)| row(rank, tree.get(context), summary, &largest))
                .collect(),
            map: ServiceMap::new(summary),
        }
    }
}

/// All contexts in an order, the first rank first.
pub fn ranked(summary: &Summary, order: Order) -> Vec<ContextId> {
    let tree = &summary.tree;
    let largest = Plane::of(tree);
    let first_of_rank = |context: &Context| {
        let totals = &context.totals;
        match order {
            // Positive numbers are in the order of their bits.
            Order::Distance => largest.place(context).2.to_bits(),
            Order::Exclusive => totals.exclusive.get(),
            Order::Critical => totals.critical.get(),
            Order::Drag => totals.drag.get(),
        }
    };
    let mut ranked: Vec<_> = (tree.contexts().iter().zip((0..).map(ContextId)))
        .map(|(context, id)| {
            let totals = &context.totals;
            ((first_of_rank(context), totals.inclusive, totals.count), id)
        })
        .collect();
    // Ties by path, so that the order does not depend on that of the input.
    ranked.sort_unstable_by(|(value, context), (other_value, other)| {
        let by_path = || tree.compare_paths(*context, *other, &summary.names);
        other_value.cmp(value).then_with(by_path)
    });
    ranked.into_iter().map(|(_, id)| id).collect()
}

/// The plane of inclusive and exclusive time; its largest values.
struct Plane {
    inclusive: Nanoseconds,
    exclusive: Nanoseconds,
}

impl Plane {
    fn of(tree: &ContextTree) -> Self {
        let largest = |of: fn(&Context) -> Nanoseconds| tree.contexts().iter().map(of).max();
        Self {
            inclusive: largest(|context| context.totals.inclusive).unwrap_or_default(),
            exclusive: largest(|context| context.totals.exclusive).unwrap_or_default(),
        }
    }

    /// Normalised inclusive and exclusive time, and the distance.
    fn place(&self, context: &Context) -> (f64, f64, f64) {
        let inclusive = share(context.totals.inclusive, self.inclusive);
        let exclusive = share(context.totals.exclusive, self.exclusive);
        (inclusive, exclusive, distance(inclusive, exclusive))
    }
}

/// The distance by which Table 2 of the paper ranks, from its normalised latencies.
pub fn distance(inclusive_normalized: f64, exclusive_normalized: f64) -> f64 {
    inclusive_normalized.hypot(exclusive_normalized)
}

fn share(part: Nanoseconds, whole: Nanoseconds) -> f64 {
    if whole == Nanoseconds::ZERO {
        return 0.0;
    }
    part.get() as f64 / whole.get() as f64
}

fn row(rank: usize, context: &Context, summary: &Summary, largest: &Plane) -> PathRow {
    let names = &summary.names;
    let totals = &context.totals;
    let (inclusive_normalized, exclusive_normalized, distance) = largest.place(context);
    let path = summary.tree.path(context).into_iter();
    let [inclusive_p50, inclusive_p90, inclusive_p99] =
        totals.inclusive_times.percentiles([50, 90, 99]);
    let [exclusive_p50, exclusive_p90, exclusive_p99] =
        totals.exclusive_times.percentiles([50, 90, 99]);
    PathRow {
        rank,
        path: path
            .map(|call| {
                format!(
                    "{}[{}]",
                    names.text(call.service),
                    names.text(call.operation)
                )
            })
            .collect(),
        count: totals.count,
        errors: totals.errors,
        inclusive: totals.inclusive,
        exclusive: totals.exclusive,
        inclusive_normalized,
        exclusive_normalized,
        distance,
        inclusive_p50,
        inclusive_p90,
        inclusive_p99,
        inclusive_max: totals.inclusive_times.largest(),
        exclusive_p50,
        exclusive_p90,
        exclusive_p99,
        exclusive_max: totals.exclusive_times.largest(),
        critical: totals.critical,
        critical_share: share(totals.critical, summary.latency),
        on_critical_path: totals.on_critical_path,
        drag: totals.drag,
        drag_share: share(totals.drag, summary.latency),
        slack_mean: (totals.slack.get().checked_div(totals.with_slack)).map(Nanoseconds),
        slowest: totals.slowest.map(|(duration, trace, span)| SlowestSpan {
            trace_id: trace.to_string(),
            span_id: span.to_string(),
            duration,
        }),
    }
}
