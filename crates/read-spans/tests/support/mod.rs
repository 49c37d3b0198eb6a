//! Spans told in text, and spans made at random, for tests of readers.
//!
//! A told span: `trace/span < parent ~ link service operation begin..end kind status key=value …`.

#![allow(dead_code, reason = "each test uses a part")]

use std::fmt::Write as _;
use std::sync::Arc;

use proptest::prelude::*;
use slowpath_model::{SpanId, Timestamp, TraceId};
use slowpath_read_spans::{
    Attribute, AttributeValue, Collected, ReadOptions, Reference, ReferenceKind, Span, SpanKind,
    SpanStatus, read_spans,
};

/// Reads a file.
pub fn read(file: &[u8]) -> Collected {
    let mut found = Collected::default();
    read_spans(file, "spans", ReadOptions::default(), &mut found);
    found
}

/// What a file says, one line per span.
pub fn told(file: &[u8]) -> String {
    read(file).spans.iter().map(tell).collect()
}

/// The codes of all that was wrong, with their counts.
pub fn wrong(file: &[u8]) -> Vec<String> {
    let found = read(file).diagnostics.into_iter();
    found
        .map(|found| format!("{} {}", found.code.name(), found.count.unwrap_or(0)))
        .collect()
}

/// A span as a line.
pub fn tell(span: &Span) -> String {
    let trace = span.trace;
    let mut line = format!("{:x}{:016x}/{:x}", trace.high, trace.low, span.span.0);
    line = line.trim_start_matches('0').to_owned();
    for reference in &span.references {
        let sign = match reference.kind {
            ReferenceKind::ChildOf => '<',
            ReferenceKind::FollowsFrom => '~',
        };
        write!(line, " {sign} {:x}", reference.span.0).unwrap();
    }
    let (begin, end) = (span.begin.ns(), span.end.ns());
    write!(
        line,
        " {} {} {begin}..{end} {:?} {:?}",
        span.service, span.operation, span.kind, span.status
    )
    .unwrap();
    for attribute in &span.attributes {
        let value = match &attribute.value {
            AttributeValue::Text(value) => value.to_string(),
            AttributeValue::Integer(value) => value.to_string(),
            AttributeValue::Float(value) => format!("{value:?}"),
            AttributeValue::Bool(value) => value.to_string(),
            AttributeValue::Json(value) => format!("json:{value}"),
        };
        write!(line, " {}={value}", attribute.key).unwrap();
    }
    line + "\n"
}

/// A span with nothing special; times in nanoseconds.
pub fn span(id: u64, parent: u64, service: &str, begin: i64, end: i64) -> Span {
    let trace = TraceId { high: 0, low: 7 };
    let parent = (parent != 0).then_some(Reference {
        kind: ReferenceKind::ChildOf,
        trace,
        span: SpanId(parent),
    });
    Span {
        trace,
        span: SpanId(id),
        references: parent.into_iter().collect(),
        service: Arc::from(service),
        operation: Arc::from("work"),
        begin: Timestamp::from_ns(begin),
        end: Timestamp::from_ns(end),
        kind: SpanKind::Internal,
        has_remote_parent: None,
        status: SpanStatus::Unset,
        attributes: Vec::new(),
    }
}

fn text() -> impl Strategy<Value = Arc<str>> {
    "[a-z \"\\\\é{}\\[\\]\n]{0,12}".prop_map(Arc::from)
}

fn attribute() -> impl Strategy<Value = Attribute> {
    let value = prop_oneof![
        text().prop_map(AttributeValue::Text),
        any::<i64>().prop_map(AttributeValue::Integer),
        (-1e9f64..1e9).prop_map(|number| AttributeValue::Float(number + 0.5)),
        any::<bool>().prop_map(AttributeValue::Bool),
    ];
    // Keys that mean nothing, so that kind and status are only where the span has them.
    ("k[a-z.]{1,9}".prop_map(Arc::from), value).prop_map(|(key, value)| Attribute { key, value })
}

/// Any span whose times are whole microseconds, of one of three services.
pub fn any_span() -> impl Strategy<Value = Span> {
    let ids = (any::<u64>(), 1..u64::MAX, 1..u64::MAX, 0..3u64, 0..3u64);
    let times = (0..2_000_000_000_000_000i64, 0..1_000_000_000i64);
    let kind = prop_oneof![
        Just(SpanKind::Internal),
        Just(SpanKind::Server),
        Just(SpanKind::Client),
        Just(SpanKind::Producer),
        Just(SpanKind::Consumer)
    ];
    let status = prop_oneof![
        Just(SpanStatus::Unset),
        Just(SpanStatus::Ok),
        Just(SpanStatus::Error)
    ];
    let attributes = prop::collection::vec(attribute(), 0..4);
    let kind = (kind, any::<Option<bool>>());
    (ids, times, kind, status, text(), "s[abc]", attributes).prop_map(
        |(ids, (begin, length), kind, status, operation, service, attributes)| {
            let (kind, has_remote_parent) = kind;
            let (high, low, id, parent, link) = ids;
            let trace = TraceId { high, low };
            let reference = |kind, span| Reference {
                kind,
                trace,
                span: SpanId(span),
            };
            let parent = (parent > 0).then(|| reference(ReferenceKind::ChildOf, parent));
            let link = (link > 0).then(|| reference(ReferenceKind::FollowsFrom, link));
            Span {
                trace,
                span: SpanId(id),
                references: parent.into_iter().chain(link).collect(),
                service: Arc::from(service),
                operation,
                begin: Timestamp::from_ns(begin * 1000),
                end: Timestamp::from_ns((begin + length) * 1000),
                kind,
                has_remote_parent,
                status,
                attributes,
            }
        },
    )
}
