//! Requests and what they waited for as OTLP spans: the states of the critical path become parts of
//! the request's span, so that Jaeger and others show them below it.
//!
//! OTLP's JSON form (opentelemetry-proto, `ExportTraceServiceRequest`): one document per line, as the
//! OpenTelemetry collector writes and reads files.

use std::borrow::Cow;
use std::io::{self, Write};

use serde::Serialize;
use slowpath_model::{SpanId, TimeRange, Timestamp};
use slowpath_read_spans::{AttributeValue, SpanKind, SpanStatus};
use slowpath_requests::{Request, RequestId, Shown};

use crate::HostRequests;
use crate::request::state_name;

/// What the added spans' `scope` says.
const SCOPE: &str = "slowpath";
/// About so many spans make a document: collectors refuse or drop what they cannot queue.
const AT_A_TIME: usize = 1000;

/// `ExportTraceServiceRequest`.
#[derive(Default, Serialize)]
#[serde(rename_all = "camelCase")]
struct Document {
    resource_spans: Vec<ResourceSpans>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ResourceSpans {
    resource: Resource,
    scope_spans: Vec<ScopeSpans>,
}

#[derive(Serialize)]
struct Resource {
    attributes: Vec<Attribute>,
}

#[derive(Serialize)]
struct ScopeSpans {
    scope: Scope,
    spans: Vec<Span>,
}

#[derive(Serialize)]
struct Scope {
    name: &'static str,
    version: &'static str,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Span {
    trace_id: String,
    span_id: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    parent_span_id: Option<String>,
    name: String,
    kind: u8,
    #[serde(skip_serializing_if = "Option::is_none")]
    flags: Option<u32>,
    start_time_unix_nano: String,
    end_time_unix_nano: String,
    attributes: Vec<Attribute>,
    #[serde(skip_serializing_if = "Option::is_none")]
    status: Option<Status>,
}

#[derive(Serialize)]
struct Status {
    code: u8,
}

#[derive(Serialize)]
struct Attribute {
    key: Cow<'static, str>,
    value: Value,
}

/// `AnyValue`: numbers are text in OTLP's JSON.
#[derive(Serialize)]
enum Value {
    #[serde(rename = "stringValue")]
    Text(String),
    #[serde(rename = "intValue")]
    Integer(String),
    #[serde(rename = "doubleValue")]
    Float(f64),
    #[serde(rename = "boolValue")]
    Bool(bool),
}

fn text(key: &'static str, text: impl Into<String>) -> Attribute {
    Attribute {
        key: key.into(),
        value: Value::Text(text.into()),
    }
}

/// What was written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OtlpCounts {
    /// Spans of requests, which other tools may have already.
    pub requests: u64,
    /// Spans of states, which only slowpath knows.
    pub states: u64,
}

/// Which spans to write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OtlpSpans {
    /// The states alone, for a store that has the requests' own spans.
    States,
    /// The requests' spans as well, for a store that has nothing.
    All,
}

/// Hands documents to `send`, one after the other, each a whole `ExportTraceServiceRequest`.
///
/// # Errors
///
/// What `send` returns.
pub fn otlp_documents(
    hosts: &[HostRequests<'_>],
    spans: OtlpSpans,
    mut send: impl FnMut(&[u8]) -> io::Result<()>,
) -> io::Result<OtlpCounts> {
    let mut counts = OtlpCounts::default();
    let mut waiting = Document::default();
    let mut spans_waiting = 0;
    for host in hosts {
        for (id, request) in host.requests() {
            let mut spans_of_request = request_spans(*host, id, request, spans, &mut counts);
            while !spans_of_request.is_empty() {
                let room = (AT_A_TIME - spans_waiting).min(spans_of_request.len());
                let rest = spans_of_request.split_off(room);
                spans_waiting += room;
                (waiting.resource_spans).push(of_request(*host, request, spans_of_request));
                spans_of_request = rest;
                if spans_waiting == AT_A_TIME {
                    send(&std::mem::take(&mut waiting).bytes()?)?;
                    spans_waiting = 0;
                }
            }
        }
    }
    if spans_waiting > 0 {
        send(&waiting.bytes()?)?;
    }
    Ok(counts)
}

impl Document {
    fn bytes(&self) -> io::Result<Vec<u8>> {
        serde_json::to_vec(self).map_err(io::Error::other)
    }
}

/// Writes documents as lines.
///
/// # Errors
///
/// The output cannot be written.
pub fn write_otlp(
    output: &mut impl Write,
    hosts: &[HostRequests<'_>],
    spans: OtlpSpans,
) -> io::Result<OtlpCounts> {
    let counts = otlp_documents(hosts, spans, |document| {
        output.write_all(document)?;
        output.write_all(b"\n")
    })?;
    output.flush()?;
    Ok(counts)
}

fn request_spans(
    host: HostRequests<'_>,
    id: RequestId,
    request: &Request,
    which: OtlpSpans,
    counts: &mut OtlpCounts,
) -> Vec<Span> {
    let mut spans = Vec::new();
    if which == OtlpSpans::All {
        spans.push(own_span(host, request));
        counts.requests += 1;
    }
    let states = state_spans(host, id, request);
    counts.states += states.len() as u64;
    spans.extend(states);
    spans
}

fn of_request(host: HostRequests<'_>, request: &Request, spans: Vec<Span>) -> ResourceSpans {
    let service = match request.service() {
        "" => "unknown_service",
        service => service,
    };
    let mut attributes = vec![text("service.name", service)];
    if !host.host().is_empty() {
        attributes.push(text("host.name", host.host()));
    }
    ResourceSpans {
        resource: Resource { attributes },
        scope_spans: vec![ScopeSpans {
            scope: Scope {
                name: SCOPE,
                version: env!("CARGO_PKG_VERSION"),
            },
            spans,
        }],
    }
}

/// As it was told, but for its times, where events tell these: then an attribute has those that it was told with, so that
/// slowpath, which reads them in place of the others, finds a copy of what told it.
fn own_span(host: HostRequests<'_>, request: &Request) -> Span {
    let told = request.told.as_ref();
    let parent = told.and_then(|told| told.parent);
    let mut span = span(
        request,
        request.key.span,
        parent,
        host.name(request),
        request.window,
    );
    let Some(told) = told else {
        return span;
    };
    if told.window != request.window {
        let TimeRange { begin, end } = told.window;
        span.attributes.push(text(
            "slowpath.told_ns",
            format!("{} {}", begin.ns(), end.ns()),
        ));
    }
    span.kind = number_of_kind(told.kind);
    span.flags = (told.has_remote_parent).map(|is_remote| 1 << 8 | u32::from(is_remote) << 9);
    span.status = match told.status {
        SpanStatus::Unset => None,
        SpanStatus::Ok => Some(Status { code: 1 }),
        SpanStatus::Error => Some(Status { code: 2 }),
    };
    // The resource tells the service.
    let others = (told.attributes.iter()).filter(|attribute| &*attribute.key != "service.name");
    span.attributes.extend(others.map(|attribute| Attribute {
        key: attribute.key.to_string().into(),
        value: value_of(&attribute.value),
    }));
    span
}

fn number_of_kind(kind: SpanKind) -> u8 {
    match kind {
        SpanKind::Internal => 1,
        SpanKind::Server => 2,
        SpanKind::Client => 3,
        SpanKind::Producer => 4,
        SpanKind::Consumer => 5,
    }
}

fn value_of(told: &AttributeValue) -> Value {
    match told {
        AttributeValue::Text(text) | AttributeValue::Json(text) => Value::Text(text.to_string()),
        AttributeValue::Integer(number) => Value::Integer(number.to_string()),
        AttributeValue::Bool(value) => Value::Bool(*value),
        AttributeValue::Float(number) if number.is_finite() => Value::Float(*number),
        AttributeValue::Float(number) => Value::Text(number.to_string()),
    }
}

fn state_spans(host: HostRequests<'_>, id: RequestId, request: &Request) -> Vec<Span> {
    let path = host.path(id);
    let segments = path.path.segments.iter().zip(&path.blocked_by).zip(1..);
    segments
        .map(|((segment, blocked_by), number)| {
            let state = segment.state.name();
            let name = state_name(&segment);
            let own = derived_id(request.key.span, number);
            let mut span = span(request, own, Some(request.key.span), name, segment.range);
            span.attributes.extend([
                text("slowpath.state", state),
                Attribute {
                    key: "thread.id".into(),
                    value: Value::Integer(segment.thread.to_string()),
                },
                text("thread.name", &*segment.comm),
            ]);
            if !segment.detail.is_empty() {
                span.attributes
                    .push(text("slowpath.detail", &*segment.detail));
            }
            if let Some(host) = &segment.host_name {
                let number = |at: Timestamp| Value::Integer(at.ns().to_string());
                span.attributes.extend([
                    text("slowpath.state_host", &**host),
                    Attribute {
                        key: "slowpath.recorded_begin_ns".into(),
                        value: number(segment.recorded.begin),
                    },
                    Attribute {
                        key: "slowpath.recorded_end_ns".into(),
                        value: number(segment.recorded.end),
                    },
                ]);
            }
            if let Some(other) = blocked_by {
                let other = host.all.get(*other).key;
                let attributes = [
                    text("slowpath.works_for.trace_id", other.trace.to_string()),
                    text("slowpath.works_for.span_id", other.span.to_string()),
                ];
                span.attributes.extend(attributes);
            }
            span
        })
        .collect()
}

/// A span of a request's trace; one of a request that is shown in part says so.
fn span(
    request: &Request,
    id: SpanId,
    parent: Option<SpanId>,
    name: String,
    range: TimeRange,
) -> Span {
    Span {
        trace_id: request.key.trace.to_string(),
        span_id: id.to_string(),
        parent_span_id: parent.map(|parent| parent.to_string()),
        name,
        kind: number_of_kind(SpanKind::Internal),
        flags: None,
        status: None,
        start_time_unix_nano: range.begin.ns().to_string(),
        end_time_unix_nano: range.end.ns().to_string(),
        attributes: match request.shown {
            Shown::Whole => Vec::new(),
            shown => vec![text("slowpath.shown", shown.name())],
        },
    }
}

/// An id for the `number`th state of a request: the same whenever it is exported again, and no other
/// span's but by chance (the finaliser of SplitMix64 of both).
fn derived_id(request: SpanId, number: u64) -> SpanId {
    let mut id = request
        .0
        .wrapping_add(number.wrapping_mul(0x9e37_79b9_7f4a_7c15));
    id = (id ^ id >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    id = (id ^ id >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    SpanId((id ^ id >> 31).max(1))
}
