//! Spans of distributed traces, read from what tracing systems write: Jaeger JSON and OTLP.
//!
//! Readers take bytes and give spans and diagnostics; they open no files. [`read_spans`] streams: it
//! holds one document's unfinished part (Jaeger: one trace) at a time. How the spans of a trace hang
//! together, and what they mean for threads and services, is decided above.

#![forbid(unsafe_code)]

mod builder;
mod format;
mod ids;
mod interner;
mod json;
mod protobuf;
mod read;
mod sink;
mod span;
mod told;
mod window;

pub use format::{SNIFF_BYTES, SpanFormat, bytes_to_sniff, sniff_spans, why_blank};
pub use read::{ReadOptions, read_spans};
pub use sink::{Collected, SpanSink};
pub use span::{Attribute, AttributeValue, Reference, ReferenceKind, Span, SpanKind, SpanStatus};
pub use told::{ToldCall, ToldProcess, ToldQuery, command_line};
