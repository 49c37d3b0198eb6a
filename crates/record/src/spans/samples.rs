//! Requests for the tests of the receiver, as a sender would make them.

use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::tonic::common::v1::{AnyValue, KeyValue, any_value::Value};
use opentelemetry_proto::tonic::resource::v1::Resource;
use opentelemetry_proto::tonic::trace::v1::{ResourceSpans, ScopeSpans, Span, Status};

/// When the spans begin, in nanoseconds since the epoch.
pub(crate) const BEGIN_NS: u64 = 1_700_000_000_000_000_000;
/// How long they take.
pub(crate) const DURATION_NS: u64 = 5_000_000;

/// A request with `count` spans of one service and operation, numbered by their ids; the first has
/// failed.
pub(crate) fn request(service: &str, operation: &str, count: u8) -> ExportTraceServiceRequest {
    let name = KeyValue {
        key: "service.name".to_owned(),
        value: Some(AnyValue {
            value: Some(Value::StringValue(service.to_owned())),
        }),
        ..KeyValue::default()
    };
    let span = |number: u8| Span {
        trace_id: vec![number; 16],
        span_id: vec![number; 8],
        name: operation.to_owned(),
        start_time_unix_nano: BEGIN_NS,
        end_time_unix_nano: BEGIN_NS + DURATION_NS,
        status: (number == 0).then(|| Status {
            code: 2,
            message: "out of stock".to_owned(),
        }),
        ..Span::default()
    };
    ExportTraceServiceRequest {
        resource_spans: vec![ResourceSpans {
            resource: Some(Resource {
                attributes: vec![name],
                ..Resource::default()
            }),
            scope_spans: vec![ScopeSpans {
                spans: (0..count).map(span).collect(),
                ..ScopeSpans::default()
            }],
            ..ResourceSpans::default()
        }],
    }
}
