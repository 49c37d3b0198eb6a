//! Distributed traces drawn in text, for tests: a line per span, below its parent and indented.
//!
//! `B  S2[O2]  10-60  server after=A` is span B of service S2, operation O2, from 10 to 60 ns. Words
//! behind the time: client, server, producer, consumer; `failed`; `follows` (its parent does not wait
//! for it); `after=X` (it names X as the span before it); `parent=X` (whatever the drawing says).

#![allow(dead_code, reason = "each test uses a part")]

use std::collections::BTreeMap;
use std::io::Cursor;
use std::num::NonZeroUsize;
use std::sync::Arc;

use slowpath_model::{SpanId, Timestamp, TraceId};
use slowpath_read_spans::{Reference, ReferenceKind, Span, SpanKind, SpanStatus};
use slowpath_services::{
    Limits, Mark, Mended, Order, Report, SpanRecord, Summary, SurveyOptions, Timeline, TraceSorter,
    Traces, critical_path, survey,
};

/// The id of the span that is drawn with `name`, which has 8 letters at most.
pub fn id(name: &str) -> SpanId {
    SpanId(name.bytes().fold(0, |id, byte| id << 8 | u64::from(byte)))
}

/// The name that a span was drawn with.
pub fn name(id: SpanId) -> String {
    let letters = id.0.to_be_bytes().into_iter().filter(|&byte| byte != 0);
    letters.map(char::from).collect()
}

/// The spans of one trace.
pub fn spans(number: u64, drawing: &str) -> Vec<Span> {
    let trace = TraceId {
        high: 0,
        low: number,
    };
    let mut above: Vec<(usize, SpanId)> = Vec::new();
    let lines = drawing.lines().filter(|line| !line.trim().is_empty());
    lines
        .map(|line| {
            let indent = line.len() - line.trim_start().len();
            let mut words = line.split_whitespace();
            let mut word = || {
                words
                    .next()
                    .unwrap_or_else(|| panic!("too few words: {line}"))
            };
            let (span, place, time) = (id(word()), word(), word());
            let (service, operation) = place.split_once('[').expect(line);
            let (begin, end) = time.split_once('-').expect(line);
            let at = |text: &str| Timestamp::from_ns(text.parse().expect(line));
            while above.last().is_some_and(|(other, _)| *other >= indent) {
                above.pop();
            }
            let mut parent = above.last().map(|(_, span)| *span);
            above.push((indent, span));
            let mut drawn = Span {
                trace,
                span,
                references: Vec::new(),
                service: Arc::from(service),
                operation: Arc::from(operation.trim_end_matches(']')),
                begin: at(begin),
                end: at(end),
                kind: SpanKind::Internal,
                has_remote_parent: None,
                status: SpanStatus::Unset,
                attributes: Vec::new(),
            };
            let mut kind = ReferenceKind::ChildOf;
            let mut after = None;
            for word in words {
                match word.split_once('=').unwrap_or((word, "")) {
                    ("client", _) => drawn.kind = SpanKind::Client,
                    ("server", _) => drawn.kind = SpanKind::Server,
                    ("producer", _) => drawn.kind = SpanKind::Producer,
                    ("consumer", _) => drawn.kind = SpanKind::Consumer,
                    ("failed", _) => drawn.status = SpanStatus::Error,
                    ("follows", _) => kind = ReferenceKind::FollowsFrom,
                    ("after", other) => after = Some(id(other)),
                    ("parent", other) => parent = Some(id(other)),
                    _ => panic!("`{word}` means nothing: {line}"),
                }
            }
            let parent = parent.map(|span| Reference { kind, trace, span });
            let after = after.map(|span| Reference {
                kind: ReferenceKind::FollowsFrom,
                trace,
                span,
            });
            drawn.references = parent.into_iter().chain(after).collect();
            drawn
        })
        .collect()
}

/// The time line of one trace.
pub fn line(drawing: &str) -> (Timeline, Mended) {
    let records = spans(1, drawing)
        .iter()
        .map(|span| SpanRecord::new(span, true))
        .collect();
    let mut mended = Mended::default();
    (Timeline::new(records, &mut mended), mended)
}

/// Time on the critical path of the first root, by span.
pub fn path_by_span(line: &Timeline) -> BTreeMap<String, u64> {
    let mut times = BTreeMap::new();
    for stretch in critical_path(line, 0) {
        let span = line.nodes()[stretch.node as usize].record.span;
        *times.entry(name(span)).or_default() += stretch.range.length().get();
    }
    times
}

/// The critical path as it is drawn in tests: `A 0-10, B 10-60, A 60-100`.
pub fn path_as_text(line: &Timeline) -> String {
    let mut stretches = critical_path(line, 0);
    stretches.reverse();
    let texts = stretches.iter().map(|stretch| {
        let span = name(line.nodes()[stretch.node as usize].record.span);
        let range = stretch.range;
        format!("{span} {}-{}", range.begin.ns(), range.end.ns())
    });
    texts.collect::<Vec<_>>().join(", ")
}

/// Everything told apart.
pub const ALL: Limits = Limits {
    services: usize::MAX,
    operations_of_service: usize::MAX,
    operations: usize::MAX,
    contexts: usize::MAX,
};

/// How a survey is run, for tests that hold different ways to the same result.
pub struct Way<'a> {
    pub jobs: usize,
    pub sorters: usize,
    pub most_held: usize,
    pub may_be_request: &'a dyn Fn(&Span) -> bool,
    pub mark: &'a dyn Fn(&Span) -> Mark,
    pub limits: Limits,
}

impl Default for Way<'_> {
    fn default() -> Self {
        Self {
            jobs: 1,
            sorters: 1,
            most_held: 1000,
            may_be_request: &|_| true,
            mark: &|_| Mark::NONE,
            limits: ALL,
        }
    }
}

/// Surveys `spans`.
pub fn survey_of(spans: &[Span], way: &Way<'_>) -> Summary {
    let open = || Ok(Cursor::new(Vec::new()));
    let mut sorters: Vec<_> = (0..way.sorters)
        .map(|_| TraceSorter::new(way.most_held, open))
        .collect();
    for (number, span) in spans.iter().enumerate() {
        let sorter = &mut sorters[number % way.sorters];
        sorter
            .push(span, (way.may_be_request)(span), (way.mark)(span))
            .unwrap();
    }
    let options = SurveyOptions {
        limits: way.limits,
        jobs: NonZeroUsize::new(way.jobs).unwrap(),
        progress: &|_| (),
    };
    let traces = Traces::merge(sorters).unwrap();
    survey(traces, options).unwrap()
}

/// Surveys `spans` and ranks everything.
pub fn report_of(spans: &[Span], way: &Way<'_>, order: Order) -> Report {
    Report::new(&survey_of(spans, way), order, 0)
}
