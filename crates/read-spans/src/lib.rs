//! Spans of distributed traces, read from what tracing systems write: Jaeger JSON and OTLP.
//!
//! Readers take bytes and give spans and diagnostics; they open no files. What a span means for
//! threads and services is decided above.

#![forbid(unsafe_code)]

mod span;

pub use span::{Attribute, AttributeValue, Reference, ReferenceKind, Span, SpanKind, SpanStatus};
