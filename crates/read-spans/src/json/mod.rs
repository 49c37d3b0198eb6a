//! Documents of spans in JSON: what kind each is, and where its spans lie.
//!
//! Jaeger's and OTLP's documents are told apart by their keys, one by one, so that a file may hold
//! documents one behind the other, line by line, or in arrays. Only single spans and processes are parsed
//! whole; what holds them is walked.

mod jaeger;
mod loose;
mod otlp;
mod walker;

use slowpath_model::DiagnosticCode;

use crate::builder::Builder;
use crate::window::Window;
use walker::{Stop, Walker};

/// Documents within documents (`data`, `hits`, `_source`, arrays) are followed so deep.
const MOST_DEPTH: usize = 8;

/// A writer that was killed leaves an unclosed document, and its successor may write on behind it. Each
/// such document costs a look at the rest of the file.
const MOST_UNCLOSED: usize = 8;

/// Reads all documents.
pub(crate) fn read(window: &mut Window<'_>, builder: &mut Builder<'_>) {
    let mut walker = Walker::new(window);
    let mut unclosed = 0;
    walker.skip_byte_order_mark();
    while walker.peek().is_some() {
        let Err(stop) = document(&mut walker, builder, 0) else {
            continue;
        };
        let place = walker.position();
        match stop {
            Stop::End => {
                unclosed += 1;
                builder.problem(DiagnosticCode::TruncatedSpans, place, || {
                    "it ends within a document; the spans before are kept".to_owned()
                });
            }
            Stop::Invalid(what) => {
                builder.problem(DiagnosticCode::InvalidSpanFile, place, || {
                    format!("it is not JSON here: {what}; spans are read again from the next line that begins a document")
                });
            }
        }
        if unclosed > MOST_UNCLOSED || !walker.skip_to_next_document(stop) {
            return;
        }
    }
}

/// Reads a value that is, or holds, documents.
fn document(
    walker: &mut Walker<'_, '_>,
    builder: &mut Builder<'_>,
    depth: usize,
) -> Result<(), Stop> {
    match walker.peek() {
        Some(b'[') if depth < MOST_DEPTH => {
            let mut elements = walker.array()?;
            while walker.next_element(&mut elements)? {
                document(walker, builder, depth + 1)?;
            }
            Ok(())
        }
        Some(b'{') if depth < MOST_DEPTH => match walker.first_known_key(&KEYS) {
            Some("spanID") => jaeger::read_single_span(walker, builder),
            Some("traceID" | "spans" | "processes") => jaeger::read_trace(walker, builder),
            Some("resource" | "scopeSpans") => otlp::read_resource_spans(walker, builder),
            _ => {
                let mut members = walker.object()?;
                while let Some(key) = walker.next_key(&mut members)? {
                    match &*key {
                        "data" | "hits" | "_source" | "result" | "trace" | "resourceSpans"
                        | "resource_spans" | "batches" => document(walker, builder, depth + 1)?,
                        _ => walker.skip()?,
                    }
                }
                Ok(())
            }
        },
        _ => walker.skip(),
    }
}

/// Keys that say what an object is. `traceID` alone does not (a span has it as well), so it counts only
/// where no other is found.
const KEYS: [&str; 6] = [
    "spanID",
    "spans",
    "processes",
    "resource",
    "scopeSpans",
    "traceID",
];
