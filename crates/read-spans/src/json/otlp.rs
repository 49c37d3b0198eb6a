//! OTLP's JSON: `ResourceSpans` with a process and its spans.
//!
//! Field names are those of protobuf's JSON mapping, in camel case or as in the .proto files; ids are
//! hexadecimal, as OTLP demands, or base64, as plain protobuf libraries write them.

use serde::Deserialize;
use serde_json::Value as Json;
use slowpath_model::{DiagnosticCode, Timestamp};

use super::loose::{Loose, list, or_default};
use super::walker::{Stop, Walker, read_front};
use crate::builder::{
    Builder, Process, has_remote_parent, is_of_states, is_of_told_times, kind_of_name,
    kind_of_number, status_of_number, told_times,
};
use crate::ids::{span_id, trace_id};
use crate::{Attribute, AttributeValue, Reference, ReferenceKind, Span, SpanKind, SpanStatus};

#[derive(Deserialize)]
struct SpanJson<'json> {
    #[serde(borrow, default, rename = "traceId", alias = "trace_id")]
    trace: Loose<'json>,
    #[serde(borrow, default, rename = "spanId", alias = "span_id")]
    span: Loose<'json>,
    #[serde(borrow, default, rename = "parentSpanId", alias = "parent_span_id")]
    parent: Loose<'json>,
    #[serde(borrow, default)]
    name: Loose<'json>,
    #[serde(borrow, default)]
    kind: Loose<'json>,
    #[serde(borrow, default)]
    flags: Loose<'json>,
    #[serde(
        borrow,
        default,
        rename = "startTimeUnixNano",
        alias = "start_time_unix_nano"
    )]
    begin: Loose<'json>,
    #[serde(
        borrow,
        default,
        rename = "endTimeUnixNano",
        alias = "end_time_unix_nano"
    )]
    end: Loose<'json>,
    #[serde(borrow, default, deserialize_with = "list")]
    attributes: Vec<PairJson<'json>>,
    #[serde(borrow, default, deserialize_with = "list")]
    links: Vec<LinkJson<'json>>,
    #[serde(borrow, default, deserialize_with = "or_default")]
    status: StatusJson<'json>,
}

#[derive(Deserialize)]
struct LinkJson<'json> {
    #[serde(borrow, default, rename = "traceId", alias = "trace_id")]
    trace: Loose<'json>,
    #[serde(borrow, default, rename = "spanId", alias = "span_id")]
    span: Loose<'json>,
}

#[derive(Deserialize, Default)]
struct StatusJson<'json> {
    #[serde(borrow, default)]
    code: Loose<'json>,
}

#[derive(Deserialize)]
struct ResourceJson<'json> {
    #[serde(borrow, default, deserialize_with = "list")]
    attributes: Vec<PairJson<'json>>,
}

#[derive(Deserialize)]
struct PairJson<'json> {
    #[serde(borrow, default)]
    key: Loose<'json>,
    #[serde(borrow, default, deserialize_with = "or_default")]
    value: AnyJson<'json>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct AnyJson<'json> {
    #[serde(borrow, rename = "stringValue", alias = "string_value")]
    string: Option<Loose<'json>>,
    #[serde(borrow, rename = "boolValue", alias = "bool_value")]
    boolean: Option<Loose<'json>>,
    #[serde(borrow, rename = "intValue", alias = "int_value")]
    integer: Option<Loose<'json>>,
    #[serde(borrow, rename = "doubleValue", alias = "double_value")]
    double: Option<Loose<'json>>,
    #[serde(borrow, rename = "bytesValue", alias = "bytes_value")]
    bytes: Option<Loose<'json>>,
    #[serde(rename = "arrayValue", alias = "array_value")]
    array: Option<Json>,
    #[serde(rename = "kvlistValue", alias = "kvlist_value")]
    map: Option<Json>,
}

/// Reads `{"resource": {...}, "scopeSpans": [{"spans": [...]}]}`.
pub(super) fn read_resource_spans(
    walker: &mut Walker<'_, '_>,
    builder: &mut Builder<'_>,
) -> Result<(), Stop> {
    let mut held = Vec::new();
    let mut process = None;
    let result = walk(walker, builder, &mut held, &mut process);
    let process = process.unwrap_or_else(Process::unknown);
    for span in held {
        builder.emit(span, &process);
    }
    result
}

fn walk(
    walker: &mut Walker<'_, '_>,
    builder: &mut Builder<'_>,
    held: &mut Vec<Span>,
    process: &mut Option<Process>,
) -> Result<(), Stop> {
    let mut members = walker.object()?;
    while let Some(key) = walker.next_key(&mut members)? {
        match &*key {
            "resource" if walker.peek() == Some(b'{') => {
                *process = walker.value(builder, |json, _, builder| {
                    let (resource, length): (ResourceJson<'_>, _) = read_front(json)?;
                    Ok((process_of(&resource, builder), length))
                })?;
            }
            "scopeSpans" | "scope_spans" | "instrumentationLibrarySpans"
                if walker.peek() == Some(b'[') =>
            {
                let mut scopes = walker.array()?;
                while walker.next_element(&mut scopes)? {
                    if walker.peek() != Some(b'{') {
                        walker.skip()?;
                        continue;
                    }
                    let mut members = walker.object()?;
                    while let Some(key) = walker.next_key(&mut members)? {
                        if key == "spans" && walker.peek() == Some(b'[') {
                            walk_spans(walker, builder, held, process.as_ref())?;
                        } else {
                            walker.skip()?;
                        }
                    }
                }
            }
            _ => walker.skip()?,
        }
    }
    Ok(())
}

fn walk_spans(
    walker: &mut Walker<'_, '_>,
    builder: &mut Builder<'_>,
    held: &mut Vec<Span>,
    process: Option<&Process>,
) -> Result<(), Stop> {
    let mut elements = walker.array()?;
    while walker.next_element(&mut elements)? {
        let span = walker.value(builder, |json, place, builder| {
            let (span, length) = read_front(json)?;
            Ok((span_of(&span, place, builder), length))
        })?;
        match (span.flatten(), process) {
            (Some(span), Some(process)) => builder.emit(span, process),
            (Some(span), None) => held.push(span),
            (None, _) => {}
        }
    }
    Ok(())
}

fn span_of(json: &SpanJson<'_>, place: u64, builder: &mut Builder<'_>) -> Option<Span> {
    if (json.attributes.iter()).any(|pair| is_of_states(&pair.key.text())) {
        builder.left_out_state(place);
        return None;
    }
    let trace = trace_id(&json.trace.text());
    let id = span_id(&json.span.text());
    if !trace.usual || !id.usual {
        builder.problem(DiagnosticCode::UnusualSpanId, place, || {
            format!(
                "`{}` in trace `{}` is no id",
                json.span.text(),
                json.trace.text()
            )
        });
    }
    let time = |value: &Loose<'_>| value.integer().filter(|&ns| ns >= 0);
    let times = (time(&json.begin), time(&json.end));
    let (Some(trace), Some(id), (Some(begin), Some(end))) = (trace.id, id.id, times) else {
        builder.problem(DiagnosticCode::InvalidSpan, place, || {
            "a span is left out: it has no id, no trace, or a time that is no number from 0 on"
                .to_owned()
        });
        return None;
    };
    let mut references = Vec::with_capacity(1 + json.links.len());
    if let Some(span) = span_id(&json.parent.text()).id {
        let kind = ReferenceKind::ChildOf;
        references.push(Reference { kind, trace, span });
    }
    references.extend(json.links.iter().filter_map(|link| {
        Some(Reference {
            kind: ReferenceKind::FollowsFrom,
            trace: trace_id(&link.trace.text()).id?,
            span: span_id(&link.span.text()).id?,
        })
    }));
    let told = (json.attributes.iter()).find(|pair| is_of_told_times(&pair.key.text()));
    let told = told.and_then(|pair| told_times(&pair.value.string.as_ref()?.text()));
    let (begin, end) = told.unwrap_or((Timestamp::from_ns(begin), Timestamp::from_ns(end)));
    let (begin, end) = builder.times(begin, end, place);
    Some(Span {
        trace,
        span: id,
        references,
        service: std::sync::Arc::from(""),
        operation: builder.name(&json.name.text()),
        begin,
        end,
        kind: kind_of(&json.kind),
        has_remote_parent: json
            .flags
            .integer()
            .and_then(|flags| has_remote_parent(u64::try_from(flags).ok()?)),
        status: status_of(&json.status.code),
        attributes: if builder.options.attributes {
            attributes_of(&json.attributes, builder)
        } else {
            Vec::new()
        },
    })
}

fn kind_of(json: &Loose<'_>) -> SpanKind {
    match json.integer() {
        Some(number) => kind_of_number(u64::try_from(number).unwrap_or(0)),
        None => kind_of_name(&json.text()),
    }
}

fn status_of(json: &Loose<'_>) -> SpanStatus {
    match (json.integer(), &*json.text()) {
        (Some(number), _) => status_of_number(u64::try_from(number).unwrap_or(0)),
        (None, "STATUS_CODE_OK") => SpanStatus::Ok,
        (None, "STATUS_CODE_ERROR") => SpanStatus::Error,
        _ => SpanStatus::Unset,
    }
}

fn process_of(json: &ResourceJson<'_>, builder: &mut Builder<'_>) -> Process {
    let mut process = Process::unknown();
    process.attributes = attributes_of(&json.attributes, builder);
    let name = (process.attributes.iter()).find(|attribute| &*attribute.key == "service.name");
    if let Some(AttributeValue::Text(name)) = name.map(|attribute| &attribute.value) {
        process.service = name.clone();
    }
    process
}

fn attributes_of(pairs: &[PairJson<'_>], builder: &mut Builder<'_>) -> Vec<Attribute> {
    (pairs.iter())
        .filter(|pair| !is_of_told_times(&pair.key.text()))
        .map(|pair| Attribute {
            key: builder.name(&pair.key.text()),
            value: value_of(&pair.value, builder),
        })
        .collect()
}

fn value_of(json: &AnyJson<'_>, builder: &mut Builder<'_>) -> AttributeValue {
    if let Some(text) = &json.string {
        return AttributeValue::Text(builder.name(&text.text()));
    }
    if let Some(Loose::Bool(value)) = json.boolean {
        return AttributeValue::Bool(value);
    }
    if let Some(number) = json.integer.as_ref().and_then(Loose::integer) {
        return AttributeValue::Integer(number);
    }
    let double = json.double.as_ref();
    let double = double.and_then(|number| match number {
        Loose::Float(value) => Some(*value),
        other => other.text().parse().ok(),
    });
    if let Some(value) = double {
        return AttributeValue::Float(value);
    }
    let json = match (&json.bytes, &json.array, &json.map) {
        (Some(bytes), ..) => Json::from(bytes.text()),
        (_, Some(list), _) => plain_list(list),
        (_, _, Some(map)) => plain_map(map),
        _ => Json::Null,
    };
    AttributeValue::Json(builder.name(&json.to_string()))
}

/// `{"values": [AnyValue]}` as a plain list. No deeper than what parsed it allowed.
fn plain_list(json: &Json) -> Json {
    let values = json.get("values").and_then(Json::as_array);
    Json::Array(values.into_iter().flatten().map(plain).collect())
}

/// `{"values": [{"key", "value": AnyValue}]}` as a plain map.
fn plain_map(json: &Json) -> Json {
    let pairs = json.get("values").and_then(Json::as_array);
    (pairs.into_iter().flatten())
        .filter_map(|pair| {
            let key = pair.get("key")?.as_str()?.to_owned();
            Some((key, pair.get("value").map_or(Json::Null, plain)))
        })
        .collect()
}

fn plain(any: &Json) -> Json {
    let Some((kind, value)) = any.as_object().and_then(|members| members.iter().next()) else {
        return Json::Null;
    };
    match kind.as_str() {
        "arrayValue" | "array_value" => plain_list(value),
        "kvlistValue" | "kvlist_value" => plain_map(value),
        "intValue" | "int_value" => {
            let number = value.as_str().and_then(|text| text.parse::<i64>().ok());
            number.map_or_else(|| value.clone(), Json::from)
        }
        _ => value.clone(),
    }
}
