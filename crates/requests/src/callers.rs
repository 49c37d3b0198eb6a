//! Who made a call of which the caller's span is missing: between the span that makes a call and the one that serves it may
//! lie those of a proxy that tells nobody of them.
//!
//! By time: who made it waits for it, in a span that is there for a call and has no known child. Not by time alone, as one of
//! a page's requests may lie within a call that another one makes to somewhere else: who serves it is another service.

use std::collections::BTreeSet;

use rustc_hash::{FxHashMap, FxHashSet};
use slowpath_model::{Timestamp, TraceId};
use slowpath_read_spans::{Span, SpanKind};

/// Of a call, by position.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Caller {
    /// None of the spans.
    Elsewhere,
    /// It alone can be.
    Span(usize),
    OneOfSeveral,
}

/// The callers of the spans at the positions `calls`.
pub(crate) fn callers(
    spans: &[Span],
    calls: &[usize],
    has_children: impl Fn(usize) -> bool,
) -> FxHashMap<usize, Caller> {
    let traces: FxHashSet<TraceId> = calls.iter().map(|&call| spans[call].trace).collect();
    // By trace and begin; of those that begin together, calls first: who makes one begins before.
    let mut all: Vec<(TraceId, Timestamp, bool, usize)> = Vec::new();
    for (position, span) in spans.iter().enumerate() {
        if matches!(span.kind, SpanKind::Client | SpanKind::Producer)
            && traces.contains(&span.trace)
            && !has_children(position)
        {
            all.push((span.trace, span.begin, true, position));
        }
    }
    all.extend((calls.iter()).map(|&call| (spans[call].trace, spans[call].begin, false, call)));
    all.sort_unstable();
    let mut callers = FxHashMap::default();
    // Those that have begun, of one trace, by service; by their ends.
    let mut makers: FxHashMap<&str, BTreeSet<(Timestamp, usize)>> = FxHashMap::default();
    let mut of = None;
    for (trace, _, is_maker, position) in all {
        if of.replace(trace) != Some(trace) {
            makers.clear();
        }
        let Span { service, end, .. } = &spans[position];
        if is_maker {
            makers.entry(service).or_default().insert((*end, position));
            continue;
        }
        let mut longer = (makers.iter())
            .filter(|(other, _)| **other != &**service)
            .flat_map(|(_, makers)| makers.range((*end, usize::MAX)..))
            .map(|(_, maker)| *maker);
        let caller = match (longer.next(), longer.next()) {
            (None, _) => Caller::Elsewhere,
            (Some(maker), None) => Caller::Span(maker),
            _ => Caller::OneOfSeveral,
        };
        callers.insert(position, caller);
    }
    callers
}
