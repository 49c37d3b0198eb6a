//! OTLP's protobuf: an `ExportTraceServiceRequest` as it goes over the network, or many in a file.
//!
//! Field numbers are those of opentelemetry-proto 1.x (trace/v1, resource/v1, common/v1). Read straight
//! from the bytes, as generated types would copy every text of every span.

mod request;
mod value;
mod wire;

use slowpath_model::DiagnosticCode;

use crate::builder::Builder;
use crate::format::{Compression, MOST_MESSAGE_BYTES, compression_of};
use crate::json;
use crate::window::Window;
use wire::{Fields, Value, varint};

/// The field of a request that holds `ResourceSpans`, as it is written.
const RESOURCE_SPANS_TAG: u8 = 0x0a;

/// Reads messages that each come behind their size (four bytes, the highest first), as the file
/// exporter of OpenTelemetry's collector and `slowpath record` write them. A message may be compressed by
/// zstd, and may be JSON.
pub(crate) fn read_sized(window: &mut Window<'_>, builder: &mut Builder<'_>) {
    loop {
        if !window.ensure(4) {
            if !window.bytes().is_empty() {
                cut(builder, window.position());
            }
            return;
        }
        let place = window.position();
        let mut size = [0; 4];
        size.copy_from_slice(&window.bytes()[..4]);
        let size = u32::from_be_bytes(size) as usize;
        if size >= MOST_MESSAGE_BYTES {
            builder.problem(DiagnosticCode::InvalidSpanFile, place, || {
                format!("a message of {size} bytes is announced, which no collector takes")
            });
            return;
        }
        window.consume(4);
        let whole = window.ensure(size);
        let there = size.min(window.bytes().len());
        let message = &window.bytes()[..there];
        if compression_of(message) == Compression::Zstd {
            match decompressed(message) {
                Ok(plain) => read_message(&plain, place, true, builder),
                Err(cause) => builder.problem(DiagnosticCode::InvalidSpanFile, place, || {
                    format!("a message cannot be decompressed: {cause}")
                }),
            }
        } else {
            read_message(message, place, whole, builder);
        }
        window.consume(there);
        if !whole {
            return cut(builder, place);
        }
    }
}

fn decompressed(message: &[u8]) -> std::io::Result<Vec<u8>> {
    use std::io::Read;
    let mut plain = Vec::new();
    let decoder = zstd::Decoder::new(message)?;
    decoder
        .take(MOST_MESSAGE_BYTES as u64)
        .read_to_end(&mut plain)?;
    Ok(plain)
}

fn read_message(message: &[u8], place: u64, whole: bool, builder: &mut Builder<'_>) {
    if message.first() == Some(&b'{') {
        return json::read(&mut Window::new(Box::new(message)), builder);
    }
    let mut sound = true;
    let mut fields = Fields::of(message);
    for (number, value) in &mut fields {
        if let (1, Value::Bytes(resource_spans)) = (number, value) {
            sound &= request::read_resource_spans(resource_spans, place, builder);
        }
    }
    if whole && (fields.damaged || !sound) {
        damaged(builder, place);
    }
}

/// Reads one request, or several one behind the other (which protobuf takes for one): field by field, so
/// that only one `ResourceSpans` is held at a time.
pub(crate) fn read_bare(window: &mut Window<'_>, builder: &mut Builder<'_>) {
    loop {
        window.ensure(11);
        let place = window.position();
        let Some((&tag, rest)) = window.bytes().split_first() else {
            return;
        };
        let length = varint(rest).filter(|_| tag == RESOURCE_SPANS_TAG);
        let Some((length, digits)) = length else {
            builder.problem(DiagnosticCode::InvalidSpanFile, place, || {
                format!("byte {tag:#04x} begins no part of a request of OTLP")
            });
            return;
        };
        let length = usize::try_from(length).unwrap_or(usize::MAX);
        window.consume(1 + digits);
        let whole = window.ensure(length);
        let there = length.min(window.bytes().len());
        let sound = request::read_resource_spans(&window.bytes()[..there], place, builder);
        window.consume(there);
        if !whole {
            return cut(builder, place);
        }
        if !sound {
            damaged(builder, place);
        }
    }
}

fn cut(builder: &mut Builder<'_>, place: u64) {
    builder.problem(DiagnosticCode::TruncatedSpans, place, || {
        "the file ends within a message; the spans before are kept".to_owned()
    });
}

fn damaged(builder: &mut Builder<'_>, place: u64) {
    builder.problem(DiagnosticCode::InvalidSpanFile, place, || {
        "a message is no request of OTLP from some place on".to_owned()
    });
}

/// How sure it is that something begins like a request: messages within each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Likeness {
    /// It does not.
    None,
    /// Nothing speaks against it for as far as it goes.
    Likely,
    /// There is a span with its trace's id.
    Sure,
}

/// How much `head` begins like a request.
pub(crate) fn likeness(head: &[u8]) -> Likeness {
    fits(head, &LEVELS).unwrap_or(Likeness::None)
}

/// Fields of a request, of `ResourceSpans` (resource, scopes, schema), of `ScopeSpans` (scope, spans,
/// schema): the number, and whether the next level is in it.
const LEVELS: [&[(u32, bool)]; 3] = [
    &[(1, true)],
    &[(1, false), (2, true), (3, false), (1000, true)],
    &[(1, false), (2, true), (3, false)],
];

/// `None` where something in it cannot be.
fn fits(message: &[u8], levels: &[&[(u32, bool)]]) -> Option<Likeness> {
    const FAR: usize = 1024;
    let mut walk = Fields::of(message);
    let Some((fields, deeper)) = levels.split_first() else {
        return match walk.next() {
            Some((1, Value::Bytes(id))) => {
                (id.len() == 16 || walk.damaged).then_some(Likeness::Sure)
            }
            _ => None,
        };
    };
    let mut likeness = Likeness::None;
    for (number, value) in walk.by_ref() {
        let (_, goes_deeper) = fields.iter().find(|(known, _)| *known == number)?;
        let Value::Bytes(inner) = value else {
            return None;
        };
        if *goes_deeper && !inner.is_empty() {
            likeness = likeness.max(fits(inner, deeper)?);
        }
        if likeness == Likeness::Sure {
            return Some(likeness);
        }
    }
    let goes_far = walk.damaged && message.len() >= FAR;
    Some(likeness.max(if goes_far {
        Likeness::Likely
    } else {
        Likeness::None
    }))
}
