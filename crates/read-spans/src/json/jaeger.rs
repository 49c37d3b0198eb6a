//! Jaeger's traces: spans, and the processes that they name.
//!
//! A document's processes mostly stand behind its spans, and whether a trace counts from 0 is known when all of it is
//! read, so the spans of one document are held until then.
//! Field names are those of Jaeger's JSON model (query API, user interface, Elasticsearch documents).

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use serde::Deserialize;
use slowpath_model::{DiagnosticCode, Timestamp, TraceId};

use super::loose::{Loose, list};
use super::walker::{Stop, Walker, read_front};
use crate::builder::{
    Builder, Process, is_of_a_clock, is_of_states, is_of_told_times, kind_of_name, says_true,
    told_times,
};
use crate::ids::{ReadId, span_id, trace_id};
use crate::{Attribute, AttributeValue, Reference, ReferenceKind, Span, SpanKind, SpanStatus};

#[derive(Deserialize)]
struct SpanJson<'json> {
    #[serde(borrow, default, rename = "traceID")]
    trace: Loose<'json>,
    #[serde(borrow, default, rename = "spanID")]
    span: Loose<'json>,
    /// Where old clients put the parent.
    #[serde(borrow, default, rename = "parentSpanID")]
    parent: Loose<'json>,
    #[serde(borrow, default, rename = "operationName")]
    operation: Loose<'json>,
    #[serde(borrow, default, deserialize_with = "list")]
    references: Vec<ReferenceJson<'json>>,
    /// Microseconds since the epoch.
    #[serde(borrow, default, rename = "startTime")]
    begin: Loose<'json>,
    /// Microseconds.
    #[serde(borrow, default)]
    duration: Loose<'json>,
    #[serde(borrow, default, deserialize_with = "list")]
    tags: Vec<TagJson<'json>>,
    #[serde(borrow, default, rename = "tag")]
    tags_as_fields: Loose<'json>,
    #[serde(borrow, default, rename = "processID")]
    process_name: Loose<'json>,
    /// Where spans are stored one by one.
    #[serde(borrow, default)]
    process: Option<ProcessJson<'json>>,
    #[serde(borrow, default, deserialize_with = "list")]
    warnings: Vec<Loose<'json>>,
}

#[derive(Deserialize)]
struct ReferenceJson<'json> {
    #[serde(borrow, default, rename = "refType")]
    kind: Loose<'json>,
    #[serde(borrow, default, rename = "traceID")]
    trace: Loose<'json>,
    #[serde(borrow, default, rename = "spanID")]
    span: Loose<'json>,
}

#[derive(Deserialize)]
struct TagJson<'json> {
    #[serde(borrow, default)]
    key: Loose<'json>,
    #[serde(borrow, default, rename = "type")]
    kind: Loose<'json>,
    #[serde(borrow, default)]
    value: Loose<'json>,
}

#[derive(Deserialize, Default)]
struct ProcessJson<'json> {
    #[serde(borrow, default, rename = "serviceName")]
    service: Loose<'json>,
    #[serde(borrow, default, deserialize_with = "list")]
    tags: Vec<TagJson<'json>>,
    #[serde(borrow, default, rename = "tag")]
    tags_as_fields: Loose<'json>,
}

/// A span that waits for the others of its document.
struct Held {
    span: Span,
    process: ProcessOfSpan,
    place: u64,
}

enum ProcessOfSpan {
    /// The trace has it.
    Named(Arc<str>),
    Own(Process),
}

/// Reads `{"traceID", "spans": [...], "processes": {...}}`.
pub(super) fn read_trace(
    walker: &mut Walker<'_, '_>,
    builder: &mut Builder<'_>,
) -> Result<(), Stop> {
    let mut held = Vec::new();
    let mut processes = Processes::new();
    let result = walk_trace(walker, builder, &mut held, &mut processes);
    let by_clock: HashSet<TraceId> = (held.iter())
        .filter(|held| is_of_a_clock(held.span.begin))
        .map(|held| held.span.trace)
        .collect();
    for held in held {
        let is_by_clock = by_clock.contains(&held.span.trace);
        place_span(held, &processes, is_by_clock, builder);
    }
    result
}

type Processes = HashMap<String, Process>;

fn walk_trace(
    walker: &mut Walker<'_, '_>,
    builder: &mut Builder<'_>,
    held: &mut Vec<Held>,
    processes: &mut Processes,
) -> Result<(), Stop> {
    let mut trace = None;
    let mut members = walker.object()?;
    while let Some(key) = walker.next_key(&mut members)? {
        match &*key {
            "traceID" => trace = trace_id(&walker.text()?.unwrap_or_default()).id,
            "spans" if walker.peek() == Some(b'[') => {
                let mut elements = walker.array()?;
                while walker.next_element(&mut elements)? {
                    let span = walker.value(builder, |json, place, builder| {
                        let (span, length) = read_front(json)?;
                        Ok((span_of(span, trace, place, builder), length))
                    })?;
                    held.extend(span.flatten());
                }
            }
            "processes" if walker.peek() == Some(b'{') => {
                let mut by_name = walker.object()?;
                while let Some(name) = walker.next_key(&mut by_name)? {
                    if walker.peek() != Some(b'{') {
                        walker.skip()?;
                        continue;
                    }
                    let process = walker.value(builder, |json, _, builder| {
                        let (process, length): (ProcessJson<'_>, _) = read_front(json)?;
                        Ok((process_of(process, builder), length))
                    })?;
                    processes.extend(process.map(|process| (name, process)));
                }
            }
            _ => walker.skip()?,
        }
    }
    Ok(())
}

/// Reads a span by itself, as Jaeger stores it.
pub(super) fn read_single_span(
    walker: &mut Walker<'_, '_>,
    builder: &mut Builder<'_>,
) -> Result<(), Stop> {
    let span = walker.value(builder, |json, place, builder| {
        let (span, length) = read_front(json)?;
        Ok((span_of(span, None, place, builder), length))
    })?;
    if let Some(held) = span.flatten() {
        place_span(held, &Processes::new(), true, builder);
    }
    Ok(())
}

/// `is_by_clock`: the trace's times do not count from 0.
fn place_span(held: Held, processes: &Processes, is_by_clock: bool, builder: &mut Builder<'_>) {
    let Held {
        mut span,
        process,
        place,
    } = held;
    if is_by_clock {
        (span.begin, span.end) = builder.times_since_a_start(span.begin, span.end, place);
    }
    let name = match process {
        ProcessOfSpan::Own(process) => return builder.emit(span, &process),
        ProcessOfSpan::Named(name) => name,
    };
    match processes.get(&*name) {
        Some(process) => builder.emit(span, process),
        None => {
            builder.problem(DiagnosticCode::MissingProcess, place, || {
                format!(
                    "span {} is of process `{name}`, which is not described",
                    span.span
                )
            });
            builder.emit(span, &Process::unknown());
        }
    }
}

/// The tags that Elasticsearch has as fields (Jaeger's `es.tags-as-fields`): with `@` in the place of dots.
fn fields<'json>(tags: Loose<'_>) -> impl Iterator<Item = TagJson<'json>> {
    let members = tags.into_members().into_iter();
    members.map(|(key, value)| TagJson {
        key: Loose::Text(key.replace('@', ".").into()),
        kind: Loose::Null,
        value: Loose::deserialize(value).unwrap_or_default(),
    })
}

fn span_of(
    mut json: SpanJson<'_>,
    trace_above: Option<TraceId>,
    place: u64,
    builder: &mut Builder<'_>,
) -> Option<Held> {
    json.tags
        .extend(fields(std::mem::take(&mut json.tags_as_fields)));
    if (json.tags.iter()).any(|tag| is_of_states(&tag.key.text())) {
        builder.left_out_state(place);
        return None;
    }
    let trace = known(trace_id(&json.trace.text()), &json.trace, place, builder).or(trace_above);
    let id = known(span_id(&json.span.text()), &json.span, place, builder);
    let (begin, end) = match times(&json) {
        Some(times) => times,
        None => return invalid(builder, place, "its time is no number, or out of range"),
    };
    let (Some(trace), Some(id)) = (trace, id) else {
        return invalid(builder, place, "it has no id");
    };
    let mut references: Vec<Reference> = Vec::with_capacity(json.references.len());
    for reference in &json.references {
        let other = trace_id(&reference.trace.text()).id.unwrap_or(trace);
        if let Some(span) = span_id(&reference.span.text()).id {
            let kind = match &*reference.kind.text() {
                "FOLLOWS_FROM" => ReferenceKind::FollowsFrom,
                _ => ReferenceKind::ChildOf,
            };
            references.push(Reference {
                kind,
                trace: other,
                span,
            });
        }
    }
    // The parent first; the others stay in their order.
    references.sort_by_key(|reference| reference.kind == ReferenceKind::FollowsFrom);
    if references.is_empty()
        && let Some(span) = span_id(&json.parent.text()).id
    {
        let kind = ReferenceKind::ChildOf;
        references.push(Reference { kind, trace, span });
    }
    if let Some(warning) = json.warnings.first() {
        builder.problem(DiagnosticCode::TracingSystemWarning, place, || {
            format!("span {id}: {}", warning.text())
        });
    }
    let (mut kind, mut status) = (SpanKind::Internal, SpanStatus::Unset);
    for tag in &json.tags {
        match &*tag.key.text() {
            "span.kind" => kind = kind_of_name(&tag.value.text()),
            "otel.status_code" => match &*tag.value.text() {
                "OK" if status == SpanStatus::Unset => status = SpanStatus::Ok,
                "ERROR" => status = SpanStatus::Error,
                _ => {}
            },
            "error" if says_true(&value_of(tag, builder)) => status = SpanStatus::Error,
            _ => {}
        }
    }
    let told = json
        .tags
        .iter()
        .find(|tag| is_of_told_times(&tag.key.text()));
    let (begin, end) = told
        .and_then(|tag| told_times(&tag.value.text()))
        .unwrap_or((begin, end));
    let (begin, end) = builder.times(begin, end, place);
    let span = Span {
        trace,
        span: id,
        references,
        service: Arc::from(""),
        operation: builder.name(&json.operation.text()),
        begin,
        end,
        kind,
        has_remote_parent: None,
        status,
        attributes: attributes_of(&json.tags, builder),
    };
    Some(Held {
        span,
        process: match json.process {
            Some(process) => ProcessOfSpan::Own(process_of(process, builder)),
            None => ProcessOfSpan::Named(builder.name(&json.process_name.text())),
        },
        place,
    })
}

fn invalid(builder: &mut Builder<'_>, place: u64, what: &str) -> Option<Held> {
    builder.problem(DiagnosticCode::InvalidSpan, place, || {
        format!("a span is left out: {what}")
    });
    None
}

/// An id, and a word about it if it is not written as ids are.
fn known<Id>(
    read: ReadId<Id>,
    text: &Loose<'_>,
    place: u64,
    builder: &mut Builder<'_>,
) -> Option<Id> {
    if !read.usual {
        builder.problem(DiagnosticCode::UnusualSpanId, place, || {
            format!("the id `{}` is no hexadecimal number", text.text())
        });
    }
    read.id
}

fn times(json: &SpanJson<'_>) -> Option<(Timestamp, Timestamp)> {
    let (begin, duration) = (json.begin.integer()?, json.duration.integer()?);
    let end = begin.checked_add(duration)?.checked_mul(1000)?;
    let begin = begin.checked_mul(1000)?;
    Some((Timestamp::from_ns(begin), Timestamp::from_ns(end)))
}

fn process_of(mut json: ProcessJson<'_>, builder: &mut Builder<'_>) -> Process {
    json.tags.extend(fields(json.tags_as_fields));
    Process {
        service: builder.name(&json.service.text()),
        attributes: attributes_of(&json.tags, builder),
    }
}

fn attributes_of(tags: &[TagJson<'_>], builder: &mut Builder<'_>) -> Vec<Attribute> {
    if !builder.options.attributes {
        return Vec::new();
    }
    (tags.iter())
        .filter(|tag| !is_of_told_times(&tag.key.text()))
        .map(|tag| Attribute {
            key: builder.name(&tag.key.text()),
            value: value_of(tag, builder),
        })
        .collect()
}

/// A tag's value, of the type that the tag says.
fn value_of(tag: &TagJson<'_>, builder: &mut Builder<'_>) -> AttributeValue {
    match &tag.value {
        Loose::Bool(value) => AttributeValue::Bool(*value),
        Loose::Integer(value) if tag.kind.text() == "float64" => {
            AttributeValue::Float(*value as f64)
        }
        Loose::Integer(value) => AttributeValue::Integer(*value),
        Loose::Float(value) => AttributeValue::Float(*value),
        Loose::Text(text) => {
            let typed = match &*tag.kind.text() {
                "bool" => text.parse().ok().map(AttributeValue::Bool),
                "int64" => text.parse().ok().map(AttributeValue::Integer),
                "float64" => text.parse().ok().map(AttributeValue::Float),
                _ => None,
            };
            typed.unwrap_or_else(|| AttributeValue::Text(builder.name(text)))
        }
        Loose::Json(value) => AttributeValue::Json(builder.name(&value.to_string())),
        Loose::Null => AttributeValue::Json(builder.name("null")),
    }
}
