//! A span as all formats tell it; what a format cannot say is absent, never guessed.

use std::sync::Arc;

use slowpath_model::{SpanId, Timestamp, TraceId};

/// A unit of work in a distributed trace.
///
/// Names that many spans share (service, operation, keys) are shared, not copied.
#[derive(Clone, Debug, PartialEq)]
pub struct Span {
    /// The distributed trace that it belongs to.
    pub trace: TraceId,
    /// Its own id, unique within the trace.
    pub span: SpanId,
    /// The spans that caused it, the parent first.
    pub references: Vec<Reference>,
    /// `service.name` of the process that made it; empty where unknown.
    pub service: Arc<str>,
    /// What was done, for instance `HTTP GET /dispatch`.
    pub operation: Arc<str>,
    /// When it began by the clock of its host, as recorded: Jaeger rounds to microseconds.
    pub begin: Timestamp,
    /// When it ended by the same clock; never before `begin`, and unset only where `begin` is, too (a
    /// reader diagnoses and mends anything else).
    pub end: Timestamp,
    /// Its side of a call.
    pub kind: SpanKind,
    /// Whether its parent is in another process, where that is told (OTLP: `flags`).
    pub has_remote_parent: Option<bool>,
    /// Whether it failed.
    pub status: SpanStatus,
    /// Attributes of the span (Jaeger: tags), then of its process (OTLP: resource).
    pub attributes: Vec<Attribute>,
}

/// A span that caused another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reference {
    /// How.
    pub kind: ReferenceKind,
    /// Its trace; mostly that of the span itself.
    pub trace: TraceId,
    /// Its id.
    pub span: SpanId,
}

/// How a span caused another (OpenTracing's words).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ReferenceKind {
    /// The other span depends on this one's result: its parent.
    ChildOf,
    /// The other span does not wait for this one (OTLP: a link).
    FollowsFrom,
}

/// The side of a call that a span stands for (OpenTelemetry's span kinds).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum SpanKind {
    /// Within a process, or unknown.
    #[default]
    Internal,
    /// Serves a call.
    Server,
    /// Makes a call and waits for the answer.
    Client,
    /// Sends a message.
    Producer,
    /// Handles a message.
    Consumer,
}

/// Whether what a span stands for went well.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum SpanStatus {
    /// Nothing was said.
    #[default]
    Unset,
    /// It did.
    Ok,
    /// It did not.
    Error,
}

/// A key and a value about a span or its process.
#[derive(Clone, Debug, PartialEq)]
pub struct Attribute {
    /// For instance `http.request.method`.
    pub key: Arc<str>,
    /// Its value.
    pub value: AttributeValue,
}

/// The value of an attribute.
#[derive(Clone, Debug, PartialEq)]
pub enum AttributeValue {
    /// Text.
    Text(Arc<str>),
    /// A whole number.
    Integer(i64),
    /// A number.
    Float(f64),
    /// True or false.
    Bool(bool),
    /// Anything else, as JSON.
    Json(Arc<str>),
}

impl Span {
    /// Whether its times were set: some exporters send spans that lack both, or have no more than a duration; both are
    /// zero then.
    pub fn has_times(&self) -> bool {
        self.end.ns() != 0
    }

    /// The span that this one is part of, within the same trace.
    pub fn parent(&self) -> Option<SpanId> {
        (self.references.iter())
            .find(|reference| {
                reference.kind == ReferenceKind::ChildOf && reference.trace == self.trace
            })
            .map(|reference| reference.span)
    }
}
