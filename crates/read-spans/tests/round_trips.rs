//! Random spans, written by independent writers (prost and serde of opentelemetry-proto, serde_json) in
//! every format, read back; and files cut anywhere keep what came before.

mod support;

use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::tonic::common::v1::{AnyValue, KeyValue, any_value::Value as Any};
use opentelemetry_proto::tonic::resource::v1::Resource;
use opentelemetry_proto::tonic::trace::v1::{self as otlp, ResourceSpans, ScopeSpans};
use proptest::prelude::*;
use prost::Message;
use serde_json::{Value as Json, json};
use slowpath_model::TraceId;
use slowpath_read_spans::{
    Attribute, AttributeValue, Collected, ReadOptions, ReferenceKind, Span, SpanKind, SpanStatus,
    read_spans, sniff_spans,
};
use support::{any_span, read, span, tell, wrong};

fn trace_bytes(trace: TraceId) -> Vec<u8> {
    [trace.high.to_be_bytes(), trace.low.to_be_bytes()].concat()
}

fn otlp_pair(key: &str, value: Any) -> KeyValue {
    KeyValue {
        key: key.to_owned(),
        value: Some(AnyValue { value: Some(value) }),
        ..KeyValue::default()
    }
}

fn otlp_attribute(attribute: &Attribute) -> KeyValue {
    let value = match &attribute.value {
        AttributeValue::Text(value) => Any::StringValue(value.to_string()),
        AttributeValue::Integer(value) => Any::IntValue(*value),
        AttributeValue::Float(value) => Any::DoubleValue(*value),
        AttributeValue::Bool(value) => Any::BoolValue(*value),
        AttributeValue::Json(_) => unreachable!("not among the random values"),
    };
    otlp_pair(&attribute.key, value)
}

fn otlp_span(span: &Span) -> otlp::Span {
    let of_kind = |kind| {
        span.references
            .iter()
            .filter(move |other| other.kind == kind)
    };
    let mut parents = of_kind(ReferenceKind::ChildOf);
    let parent = parents
        .next()
        .map(|parent| parent.span.0.to_be_bytes().to_vec());
    let links = of_kind(ReferenceKind::FollowsFrom).map(|link| otlp::span::Link {
        trace_id: trace_bytes(link.trace),
        span_id: link.span.0.to_be_bytes().to_vec(),
        ..otlp::span::Link::default()
    });
    otlp::Span {
        trace_id: trace_bytes(span.trace),
        span_id: span.span.0.to_be_bytes().to_vec(),
        parent_span_id: parent.unwrap_or_default(),
        name: span.operation.to_string(),
        kind: match span.kind {
            SpanKind::Internal => otlp::span::SpanKind::Internal,
            SpanKind::Server => otlp::span::SpanKind::Server,
            SpanKind::Client => otlp::span::SpanKind::Client,
            SpanKind::Producer => otlp::span::SpanKind::Producer,
            SpanKind::Consumer => otlp::span::SpanKind::Consumer,
        } as i32,
        flags: (span.has_remote_parent)
            .map_or(0, |is_remote| if is_remote { 0x300 } else { 0x100 }),
        start_time_unix_nano: span.begin.ns() as u64,
        end_time_unix_nano: span.end.ns() as u64,
        attributes: span.attributes.iter().map(otlp_attribute).collect(),
        links: links.collect(),
        status: Some(otlp::Status {
            message: "because".to_owned(),
            code: match span.status {
                SpanStatus::Unset => otlp::status::StatusCode::Unset,
                SpanStatus::Ok => otlp::status::StatusCode::Ok,
                SpanStatus::Error => otlp::status::StatusCode::Error,
            } as i32,
        }),
        ..otlp::Span::default()
    }
}

/// A request with a `ResourceSpans` for each span.
fn otlp_request(spans: &[Span]) -> ExportTraceServiceRequest {
    let resource_spans = spans.iter().map(|span| ResourceSpans {
        resource: Some(Resource {
            attributes: vec![otlp_pair(
                "service.name",
                Any::StringValue(span.service.to_string()),
            )],
            ..Resource::default()
        }),
        scope_spans: vec![ScopeSpans {
            spans: vec![otlp_span(span)],
            ..ScopeSpans::default()
        }],
        ..ResourceSpans::default()
    });
    ExportTraceServiceRequest {
        resource_spans: resource_spans.collect(),
    }
}

/// Messages, each behind its size.
fn sized(messages: impl IntoIterator<Item = Vec<u8>>) -> Vec<u8> {
    let mut file = Vec::new();
    for message in messages {
        file.extend((message.len() as u32).to_be_bytes());
        file.extend(message);
    }
    file
}

fn jaeger_trace(span: &Span) -> Json {
    let tag = |attribute: &Attribute| {
        let (kind, value) = match &attribute.value {
            AttributeValue::Text(value) => ("string", json!(**value)),
            AttributeValue::Integer(value) => ("int64", json!(value)),
            AttributeValue::Float(value) => ("float64", json!(value)),
            AttributeValue::Bool(value) => ("bool", json!(value)),
            AttributeValue::Json(_) => unreachable!("not among the random values"),
        };
        json!({"key": *attribute.key, "type": kind, "value": value})
    };
    let mut tags: Vec<Json> = span.attributes.iter().map(tag).collect();
    let kind = format!("{:?}", span.kind).to_lowercase();
    tags.push(json!({"key": "span.kind", "type": "string", "value": kind}));
    if span.status != SpanStatus::Unset {
        let status = format!("{:?}", span.status).to_uppercase();
        tags.push(json!({"key": "otel.status_code", "type": "string", "value": status}));
    }
    let references = span.references.iter().map(|other| {
        let kind = match other.kind {
            ReferenceKind::ChildOf => "CHILD_OF",
            ReferenceKind::FollowsFrom => "FOLLOWS_FROM",
        };
        json!({"refType": kind, "traceID": other.trace.to_string(), "spanID": other.span.to_string()})
    });
    json!({
        "traceID": span.trace.to_string(),
        "spans": [{
            "traceID": span.trace.to_string(),
            "spanID": span.span.to_string(),
            "operationName": *span.operation,
            "references": references.collect::<Vec<_>>(),
            "startTime": span.begin.ns() / 1000,
            "duration": (span.end.ns() - span.begin.ns()) / 1000,
            "tags": tags,
            "logs": [],
            "processID": "p1",
            "warnings": null,
        }],
        "processes": {"p1": {"serviceName": *span.service, "tags": []}},
    })
}

/// The spans in every format.
fn files(spans: &[Span]) -> Vec<(&'static str, Vec<u8>)> {
    let request = otlp_request(spans);
    let each = || spans.chunks(1).map(otlp_request);
    let as_line =
        |request: ExportTraceServiceRequest| serde_json::to_string(&request).unwrap() + "\n";
    let traces: Vec<Json> = spans.iter().map(jaeger_trace).collect();
    let document = json!({"data": traces, "total": 0});
    vec![
        ("bare protobuf", request.encode_to_vec()),
        (
            "protobuf behind sizes",
            sized(each().map(|request| request.encode_to_vec())),
        ),
        (
            "compressed messages",
            sized(each().map(|request| zstd::encode_all(&request.encode_to_vec()[..], 1).unwrap())),
        ),
        ("OTLP JSON", serde_json::to_vec_pretty(&request).unwrap()),
        (
            "OTLP lines",
            each().map(as_line).collect::<String>().into_bytes(),
        ),
        ("Jaeger", serde_json::to_vec(&document).unwrap()),
        (
            "Jaeger, indented",
            serde_json::to_vec_pretty(&document).unwrap(),
        ),
    ]
}

/// Without what formats add to attributes: all random keys begin with k.
fn comparable(mut span: Span) -> Span {
    span.attributes
        .retain(|attribute| attribute.key.starts_with('k'));
    span
}

/// As a format can tell it.
fn told_in(format: &str, mut span: Span) -> Span {
    if format.starts_with("Jaeger") {
        span.has_remote_parent = None;
    }
    span
}

/// A wall clock's time; times of files made by hand may count from 0.
const TODAY: i64 = 1_700_000_000_000_000_000;

#[test]
fn what_specifications_forbid_is_told_in_every_format() {
    let check = |odd: Span, line: &str, codes: &[&str]| {
        let good = span(1, 0, "s", TODAY, TODAY + 2_000);
        for (format, file) in files(&[odd.clone(), good, odd.clone()]) {
            let spans = read(&file).spans.into_iter().map(comparable);
            let told: String = spans.map(|span| tell(&span)).collect();
            let good = "7/1 s work 1700000000000000000..1700000000000002000 Internal Unset\n";
            assert_eq!(told, format!("{line}{good}{line}"), "{format}");
            assert_eq!(wrong(&file), codes, "{format}");
        }
    };
    let of_no_length = "7/2 s work 1700000000000000000..1700000000000000000 Internal Unset\n";
    check(span(2, 0, "s", 0, TODAY), of_no_length, &["UnsetTime 2"]);
    check(span(2, 0, "s", TODAY, 0), of_no_length, &["UnsetTime 2"]);
    let by_hand = "7/2 s work 0..5000 Internal Unset\n";
    check(span(2, 0, "s", 0, 5_000), by_hand, &[]);
    let of_no_time = "7/2 s work 0..0 Internal Unset\n";
    check(span(2, 0, "s", 0, 0), of_no_time, &["UnsetTime 2"]);
    let mut of_no_trace = span(2, 0, "s", TODAY, TODAY);
    of_no_trace.trace = TraceId::default();
    check(of_no_trace, "", &["InvalidSpan 2"]);
}

#[test]
fn what_slowpath_added_itself_is_left_out_in_every_format() {
    let mut state = span(2, 1, "s", TODAY, TODAY + 1_000);
    state.attributes.push(Attribute {
        key: "slowpath.state".into(),
        value: AttributeValue::Text("RUNNING".into()),
    });
    for (format, file) in files(&[state.clone(), span(1, 0, "s", TODAY, TODAY + 2_000), state]) {
        for attributes in [true, false] {
            let mut found = Collected::default();
            let options = ReadOptions { attributes };
            read_spans(&file[..], "spans", options, &mut found);
            let ids: Vec<u64> = found.spans.iter().map(|span| span.span.0).collect();
            assert_eq!(ids, [1], "{format}");
        }
        assert_eq!(wrong(&file), ["AddedSpans 2"], "{format}");
    }
}

#[test]
fn a_span_that_slowpath_gave_the_times_of_its_events_has_those_that_it_was_told_with_in_every_format()
 {
    let mut exported = span(1, 0, "s", TODAY + 5_000, TODAY + 9_000);
    exported.attributes.push(Attribute {
        key: "slowpath.told_ns".into(),
        value: AttributeValue::Text(format!("{TODAY} {}", TODAY + 8_000).into()),
    });
    for (format, file) in files(&[exported]) {
        for attributes in [true, false] {
            let mut found = Collected::default();
            let options = ReadOptions { attributes };
            read_spans(&file[..], "spans", options, &mut found);
            let [span] = &found.spans[..] else {
                panic!("{format}: one span");
            };
            let times = (span.begin.ns() - TODAY, span.end.ns() - TODAY);
            assert_eq!(times, (0, 8_000), "{format}");
            let is_kept = |attribute: &Attribute| attribute.key.starts_with("slowpath");
            assert!(!span.attributes.iter().any(is_kept), "{format}");
        }
    }
}

#[test]
fn messages_may_begin_with_a_field_that_is_not_known() {
    let request = otlp_request(&[span(2, 0, "s", TODAY, TODAY)]).encode_to_vec();
    for field in [&b"\x7a\x02hi"[..], b"\x28\x07", b"\x15\0\0\0\0"] {
        let file = sized([[field, &request].concat(), request.clone()]);
        assert_eq!(read(&file).spans.len(), 2, "{field:?}");
        assert!(wrong(&file).is_empty(), "{field:?}: {:?}", wrong(&file));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn every_format_gives_back_what_was_written(
        spans in prop::collection::vec(any_span(), 1..6),
    ) {
        for (format, file) in files(&spans) {
            let found = read(&file);
            prop_assert!(found.diagnostics.is_empty(), "{format}: {:?}", found.diagnostics);
            let found: Vec<Span> = found.spans.into_iter().map(comparable).collect();
            let told: Vec<Span> = spans.iter().map(|span| told_in(format, span.clone())).collect();
            prop_assert_eq!(found, told, "{}", format);
            prop_assert!(sniff_spans(&file).is_some(), "{} is not recognised", format);
        }
    }

    #[test]
    fn a_cut_anywhere_keeps_what_came_before(
        spans in prop::collection::vec(any_span(), 1..6),
        place in 0.0..1.0f64,
    ) {
        // The file of the first spans only is, but for brackets at its end, how the file of all begins.
        let files_of_first: Vec<_> = (0..=spans.len()).map(|count| files(&spans[..count])).collect();
        for (number, (format, file)) in files(&spans).into_iter().enumerate() {
            let at = (file.len() as f64 * place) as usize;
            let found = read(&file[..at]).spans;
            let is_before = |count: &usize| files_of_first[*count][number].1.len() <= at;
            let before = (0..=spans.len()).rev().find(is_before).unwrap_or(0);
            prop_assert!(before <= found.len(), "{} cut at {}: {} kept", format, at, found.len());
            for (position, (found, span)) in found.iter().zip(&spans).enumerate() {
                let mut expected = told_in(format, span.clone());
                if position >= before && found.service.is_empty() {
                    // Whole, but its process lay behind the cut.
                    expected.service = found.service.clone();
                }
                prop_assert_eq!(comparable(found.clone()), expected, "{} cut at {}", format, at);
            }
            prop_assert!(found.len() <= spans.len(), "{}", format);
        }
    }

    /// The reader's window is filled in other steps: the result is the same.
    #[test]
    fn bytes_may_come_one_by_one(spans in prop::collection::vec(any_span(), 1..4)) {
        struct OneByOne<'file>(&'file [u8]);
        impl std::io::Read for OneByOne<'_> {
            fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
                let count = buffer.len().min(1);
                self.0.read(&mut buffer[..count])
            }
        }
        for (format, file) in files(&spans) {
            let mut found = Collected::default();
            let options = ReadOptions::default();
            read_spans(OneByOne(&file), "spans", options, &mut found);
            prop_assert_eq!(found, read(&file), "{}", format);
        }
    }
}
