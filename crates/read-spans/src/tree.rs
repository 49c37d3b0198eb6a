//! How the spans of one distributed trace hang together, whatever they claim.
//!
//! Each span gets at most one parent, no span is its own ancestor, and the same spans in any order give
//! the same tree; what had to be mended is a diagnostic. Linear in the number of spans (but for sorting)
//! and without recursion: traces of 100,000 spans, all in one chain, are real.

use std::collections::BTreeMap;

use rustc_hash::FxHashMap;
use slowpath_model::{Diagnostic, DiagnosticCode, Place, SpanId, TimeRange, Timestamp, TraceId};

use crate::skew::Hosts;
use crate::{HostShift, Span, SpanKind, SpanSink};

/// The spans of one distributed trace; a span's position in [`Self::spans`] is its name here.
#[derive(Clone, Debug, Default)]
pub struct TraceTree {
    spans: Vec<Span>,
    parents: Vec<Option<u32>>,
    /// Children of all spans, parent by parent, and where each parent's begin.
    children: Vec<u32>,
    begins: Vec<u32>,
    hosts: Hosts,
}

impl TraceTree {
    /// The tree of `spans`, all of one trace; what was wrong goes to `diagnostics`.
    pub fn new(mut spans: Vec<Span>, diagnostics: &mut Vec<Diagnostic>) -> Self {
        remove_duplicates(&mut spans, diagnostics);
        spans.sort_by_key(|span| (span.begin, span.span, is_server(span)));
        let mut parents = parents_of(&spans, diagnostics);
        cut_circles(&spans, &mut parents, diagnostics);
        let (children, begins) = children_of(&parents);
        let mut tree = Self {
            spans,
            parents,
            children,
            begins,
            hosts: Hosts::default(),
        };
        let order = tree.callers_first();
        tree.hosts = Hosts::new(&tree.spans, &tree.parents, &order, diagnostics);
        tree
    }

    /// All spans, in the order of their begins.
    pub fn spans(&self) -> &[Span] {
        &self.spans
    }

    /// Spans without a parent, in the order of their begins.
    pub fn roots(&self) -> impl Iterator<Item = usize> {
        let parents = self.parents.iter().enumerate();
        parents
            .filter(|(_, parent)| parent.is_none())
            .map(|(position, _)| position)
    }

    /// The span that this one is part of.
    pub fn parent(&self, span: usize) -> Option<usize> {
        self.parents[span].map(|parent| parent as usize)
    }

    /// The spans that are part of this one, in the order of their begins.
    pub fn children(&self, span: usize) -> impl Iterator<Item = usize> {
        let range = self.begins[span] as usize..self.begins[span + 1] as usize;
        self.children[range].iter().map(|&child| child as usize)
    }

    /// All spans, each behind its parent.
    pub fn callers_first(&self) -> Vec<u32> {
        let mut order: Vec<u32> = self.roots().map(|root| root as u32).collect();
        let mut next = 0;
        while let Some(&parent) = order.get(next) {
            let parent = parent as usize;
            let range = self.begins[parent] as usize..self.begins[parent + 1] as usize;
            order.extend_from_slice(&self.children[range]);
            next += 1;
        }
        order
    }

    /// The span's time as its host's clock told it.
    pub fn raw(&self, span: usize) -> TimeRange {
        TimeRange::new(self.spans[span].begin, self.spans[span].end)
    }

    /// The span's time by the clock of the first root's host, as far as the spans show how far the clocks
    /// are apart.
    pub fn corrected(&self, span: usize) -> TimeRange {
        let shift = self.shift(span).shift_ns;
        let moved = |at: Timestamp| Timestamp::from_ns(at.ns().saturating_add(shift));
        let raw = self.raw(span);
        TimeRange::new(moved(raw.begin), moved(raw.end))
    }

    /// The host of a span, and how its clock was shifted.
    pub fn shift(&self, span: usize) -> &HostShift {
        &self.hosts.shifts[self.hosts.host_of[span] as usize]
    }

    /// All hosts, the first root's first.
    pub fn hosts(&self) -> &[HostShift] {
        &self.hosts.shifts
    }
}

fn is_server(span: &Span) -> bool {
    span.kind == SpanKind::Server
}

fn report(diagnostics: &mut Vec<Diagnostic>, code: DiagnosticCode, count: u64, first: String) {
    if count > 0 {
        diagnostics.push(Diagnostic {
            count: Some(count),
            ..Diagnostic::new(code, Place::default(), first)
        });
    }
}

/// Of spans with the same id and side the first by content stays. A client and a server that share an id
/// (Zipkin's way) both stay.
fn remove_duplicates(spans: &mut Vec<Span>, diagnostics: &mut Vec<Diagnostic>) {
    let content = |span: &Span| {
        let times = (span.begin, span.end);
        let names = (span.service.clone(), span.operation.clone());
        (times, names, span.kind as u8, span.status as u8)
    };
    spans.sort_by(|one, other| {
        let identity = |span: &Span| (span.span, is_server(span));
        let by_identity = identity(one).cmp(&identity(other));
        by_identity.then_with(|| {
            let by_content = content(one).cmp(&content(other));
            // Seldom more than this is needed; what is left is told apart by everything.
            by_content.then_with(|| {
                let rest = |span: &Span| format!("{:?}{:?}", span.references, span.attributes);
                rest(one).cmp(&rest(other))
            })
        })
    });
    let (mut same, mut different) = (0, 0);
    let mut first = [None, None];
    spans.dedup_by(|span, kept| {
        let is_duplicate = span.span == kept.span && is_server(span) == is_server(kept);
        if is_duplicate {
            let conflicts = span != kept;
            *(if conflicts { &mut different } else { &mut same }) += 1;
            first[usize::from(conflicts)].get_or_insert((span.span, span.trace));
        }
        is_duplicate
    });
    for (code, count, first) in [
        (DiagnosticCode::DuplicateSpan, same, first[0]),
        (DiagnosticCode::ConflictingSpans, different, first[1]),
    ] {
        if let Some((span, trace)) = first {
            let message = format!("span {span} of trace {trace} has {count} doubles in its trace");
            report(diagnostics, code, count, message);
        }
    }
}

fn parents_of(spans: &[Span], diagnostics: &mut Vec<Diagnostic>) -> Vec<Option<u32>> {
    let mut positions: FxHashMap<(SpanId, bool), u32> = FxHashMap::default();
    for (span, position) in spans.iter().zip(0..) {
        positions.insert((span.span, is_server(span)), position);
    }
    let mut missing = 0;
    let mut first = None;
    let parents = spans.iter().map(|span| {
        // Of a client and a server with one id, the server is the client's child, others the server's.
        if is_server(span)
            && let Some(client) = positions.get(&(span.span, false))
        {
            return Some(*client);
        }
        let follows = || {
            let mut inside = span.references.iter();
            inside.find(|reference| reference.trace == span.trace)
        };
        let parent = span.parent().or_else(|| Some(follows()?.span))?;
        let server = positions.get(&(parent, true));
        let found = server.or_else(|| positions.get(&(parent, false)));
        if found.is_none() {
            missing += 1;
            first.get_or_insert((span, parent));
        }
        found.copied()
    });
    let parents = parents.collect();
    if let Some((span, parent)) = first {
        let message = format!(
            "span {} of trace {} names {parent} as its parent",
            span.span, span.trace
        );
        report(
            diagnostics,
            DiagnosticCode::MissingParentSpan,
            missing,
            message,
        );
    }
    parents
}

/// Makes the earliest span of every circle a root.
fn cut_circles(spans: &[Span], parents: &mut [Option<u32>], diagnostics: &mut Vec<Diagnostic>) {
    /// Which walk came by a span first; 0: none.
    type Walk = u32;
    let mut walks: Vec<Walk> = vec![0; parents.len()];
    let mut circles = 0;
    let mut first = None;
    for (start, walk) in (0..parents.len()).zip(1..) {
        let mut position = start;
        while walks[position] == 0 {
            walks[position] = walk;
            let Some(parent) = parents[position] else {
                break;
            };
            position = parent as usize;
        }
        if walks[position] != walk || parents[position].is_none() {
            continue;
        }
        // The walk came back to where it had been: go round once. Spans stand in the order of time.
        let mut earliest = position;
        let mut at = position;
        while let Some(parent) = parents[at].map(|parent| parent as usize) {
            earliest = earliest.min(parent);
            at = parent;
            if at == position {
                break;
            }
        }
        parents[earliest] = None;
        circles += 1;
        first.get_or_insert(earliest);
    }
    if let Some(earliest) = first {
        let span = &spans[earliest];
        let message = format!(
            "span {} of trace {} is its own ancestor",
            span.span, span.trace
        );
        report(diagnostics, DiagnosticCode::SpanCycle, circles, message);
    }
}

/// Children in the order of their positions, and where each parent's begin (one more than parents).
fn children_of(parents: &[Option<u32>]) -> (Vec<u32>, Vec<u32>) {
    let mut begins = vec![0; parents.len() + 1];
    for parent in parents.iter().flatten() {
        begins[*parent as usize + 1] += 1;
    }
    for position in 0..parents.len() {
        begins[position + 1] += begins[position];
    }
    let mut next = begins.clone();
    let mut children = vec![0; parents.iter().flatten().count()];
    for (parent, child) in parents.iter().zip(0..) {
        if let Some(parent) = parent {
            let place = &mut next[*parent as usize];
            children[*place as usize] = child;
            *place += 1;
        }
    }
    (children, begins)
}

/// Spans of many traces, in memory, by trace. For more than fits: `slowpath-services` sorts on disk.
#[derive(Clone, Debug, Default)]
pub struct TraceSet {
    traces: BTreeMap<TraceId, Vec<Span>>,
    diagnostics: Vec<Diagnostic>,
}

impl SpanSink for TraceSet {
    fn span(&mut self, span: Span) {
        self.traces.entry(span.trace).or_default().push(span);
    }

    fn diagnostic(&mut self, diagnostic: Diagnostic) {
        self.diagnostics.push(diagnostic);
    }
}

impl TraceSet {
    /// The trees, in the order of their ids; and what was wrong: with the input as told, with the traces
    /// one diagnostic for each kind of problem, with the first case and the number of all.
    pub fn into_trees(self) -> (Vec<TraceTree>, Vec<Diagnostic>) {
        let mut all: BTreeMap<DiagnosticCode, Diagnostic> = BTreeMap::new();
        let mut of_trace = Vec::new();
        let trees = self.traces.into_values().map(|spans| {
            let tree = TraceTree::new(spans, &mut of_trace);
            for problem in of_trace.drain(..) {
                match all.get_mut(&problem.code) {
                    Some(known) => {
                        let count = known.count.unwrap_or(1) + problem.count.unwrap_or(1);
                        known.count = Some(count);
                    }
                    None => {
                        all.insert(problem.code, problem);
                    }
                }
            }
            tree
        });
        let trees = trees.collect();
        let mut diagnostics = self.diagnostics;
        diagnostics.extend(all.into_values());
        (trees, diagnostics)
    }
}
