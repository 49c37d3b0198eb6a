//! `ResourceSpans` of OTLP's protobuf: one process, its spans.

use slowpath_model::{DiagnosticCode, SpanId, Timestamp, TraceId};

use super::value::{Attributes, key_of, text, text_of};
use super::wire::{Fields, Value};
use crate::builder::{
    Builder, Process, has_remote_parent, is_of_states, is_of_told_times, kind_of_number,
    status_of_number, told_times,
};
use crate::ids::{span_id_of_bytes, trace_id_of_bytes};
use crate::{Reference, ReferenceKind, Span, SpanKind, SpanStatus};

/// Gives the spans of a `ResourceSpans` to the sink; `place` is where it lies in the file. False where
/// the message is damaged or cut; what it holds before that was given.
pub(crate) fn read_resource_spans(message: &[u8], place: u64, builder: &mut Builder<'_>) -> bool {
    // The resource may stand behind its spans.
    let process = (Fields::of(message))
        .find_map(|field| match field {
            (1, Value::Bytes(resource)) => Some(process_of(resource, builder)),
            _ => None,
        })
        .unwrap_or_else(Process::unknown);
    let mut sound = true;
    let mut parts = Fields::of(message);
    for (number, value) in &mut parts {
        // 1000: where scopes were called instrumentation libraries.
        if let (2 | 1000, Value::Bytes(scope_spans)) = (number, value) {
            let mut fields = Fields::of(scope_spans);
            while let Some((number, value)) = fields.next() {
                if let (2, Value::Bytes(span)) = (number, value) {
                    // What is left of a span at a cut is none.
                    if !fields.damaged {
                        read_span(span, place, &process, builder);
                    }
                }
            }
            sound &= !fields.damaged;
        }
    }
    sound && !parts.damaged
}

fn process_of(resource: &[u8], builder: &mut Builder<'_>) -> Process {
    let mut process = Process::unknown();
    for (number, value) in Fields::of(resource) {
        if let (1, Value::Bytes(pair)) = (number, value) {
            let (key, value) = Attributes { builder }.pair(pair);
            if &*key == "service.name"
                && let crate::AttributeValue::Text(name) = &value
            {
                process.service = name.clone();
            }
            process.attributes.push(crate::Attribute { key, value });
        }
    }
    process
}

fn read_span(message: &[u8], place: u64, process: &Process, builder: &mut Builder<'_>) {
    let mut trace = None;
    let mut id = None;
    let mut parent = None;
    let mut references = Vec::new();
    let mut operation: &[u8] = b"";
    let mut kind = SpanKind::Internal;
    let mut flags = 0;
    let (mut begin, mut end) = (0, 0);
    let mut told = None;
    let mut attributes = Vec::new();
    let mut status = SpanStatus::Unset;
    let mut fields = Fields::of(message);
    for (number, value) in &mut fields {
        match (number, value) {
            (1, Value::Bytes(bytes)) => trace = trace_id_of_bytes(bytes),
            (2, Value::Bytes(bytes)) => id = span_id_of_bytes(bytes),
            (4, Value::Bytes(bytes)) => parent = span_id_of_bytes(bytes),
            (5, Value::Bytes(bytes)) => operation = bytes,
            (6, Value::Varint(number)) => kind = kind_of_number(number),
            (7, Value::Fixed64(ns)) => begin = ns,
            (8, Value::Fixed64(ns)) => end = ns,
            (9, Value::Bytes(pair)) if is_of_states(&key_of(pair)) => {
                return builder.left_out_state(place);
            }
            (9, Value::Bytes(pair)) if is_of_told_times(&key_of(pair)) => {
                told = text_of(pair).and_then(|value| told_times(&value));
            }
            (9, Value::Bytes(pair)) if builder.options.attributes => {
                let (key, value) = Attributes { builder }.pair(pair);
                attributes.push(crate::Attribute { key, value });
            }
            (13, Value::Bytes(link)) => references.extend(link_of(link)),
            (15, Value::Bytes(bytes)) => status = status_of(bytes),
            (16, Value::Fixed32(bits)) => flags = bits,
            _ => {}
        }
    }
    let times = (i64::try_from(begin), i64::try_from(end));
    let (Some(trace), Some(id), (Ok(begin), Ok(end)), false) = (trace, id, times, fields.damaged)
    else {
        builder.problem(DiagnosticCode::InvalidSpan, place, || {
            "a span has no id, no trace, or a time beyond the year 2262".to_owned()
        });
        return;
    };
    if let Some(span) = parent {
        let kind = ReferenceKind::ChildOf;
        references.insert(0, Reference { kind, trace, span });
    }
    let at = Timestamp::from_ns;
    let (begin, end) = told.unwrap_or((at(begin), at(end)));
    let (begin, end) = builder.times(begin, end, place);
    let operation = builder.name(&text(operation));
    let span = Span {
        trace,
        span: id,
        references,
        service: process.service.clone(),
        operation,
        begin,
        end,
        kind,
        has_remote_parent: has_remote_parent(flags.into()),
        status,
        attributes,
    };
    builder.emit(span, process);
}

fn link_of(message: &[u8]) -> Option<Reference> {
    let mut trace: Option<TraceId> = None;
    let mut span: Option<SpanId> = None;
    for (number, value) in Fields::of(message) {
        match (number, value) {
            (1, Value::Bytes(bytes)) => trace = trace_id_of_bytes(bytes),
            (2, Value::Bytes(bytes)) => span = span_id_of_bytes(bytes),
            _ => {}
        }
    }
    Some(Reference {
        kind: ReferenceKind::FollowsFrom,
        trace: trace?,
        span: span?,
    })
}

fn status_of(message: &[u8]) -> SpanStatus {
    let code = Fields::of(message).find_map(|field| match field {
        (3, Value::Varint(code)) => Some(code),
        _ => None,
    });
    status_of_number(code.unwrap_or(0))
}
