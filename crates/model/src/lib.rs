//! The vocabulary of slowpath: time, typed ids, schemas, raw events, diagnostics.
//!
//! Everything above speaks these words, so nothing here does I/O, starts a thread or knows a trace
//! format. Two numbers that mean different things have different types.

#![forbid(unsafe_code)]

mod diagnostic;
mod event;
mod ids;
mod json_text;
mod projection;
mod schema;
mod shown;
mod time;
mod visit;
mod words;

pub use diagnostic::{Diagnostic, DiagnosticCode, Place, Severity};
pub use event::Event;
pub use ids::{
    CpuId, EventClassId, FieldId, HostId, PacketId, ProcessId, SpanId, StreamId, ThreadId, TraceId,
};
pub use json_text::json_in_unicode;
pub use projection::{Projection, Slot};
pub use schema::{EventClass, Field, FieldKind, Schema, Scope, TracerDomain};
pub use shown::{shown, shown_lines};
pub use time::{Nanoseconds, TimeRange, Timestamp};
pub use visit::{DisplayBase, EnumerationValue, FieldVisitor};
pub use words::{counted, shell_word};
