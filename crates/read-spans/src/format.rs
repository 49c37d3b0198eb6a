//! Which format of spans a file has, told by its content.
//!
//! Three questions: [`sniff_spans`] asks whether a file that nobody named holds spans (it has to be sure);
//! [`why_blank`] asks why not even that can be told: it is empty, cut off, or cannot be decompressed; a reader, told
//! that it does, asks only how they are encoded.

use std::borrow::Cow;
use std::io::Read;

use flate2::read::MultiGzDecoder;
use memchr::memmem;
use serde::de::IgnoredAny;

use crate::protobuf::{Likeness, likeness};

/// How many bytes of a file [`sniff_spans`] wants to see (fewer where the file is shorter).
pub const SNIFF_BYTES: usize = 16 << 10;

/// A format of spans.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum SpanFormat {
    /// Jaeger's query API, downloads of its user interface, traces and spans by themselves.
    JaegerJson,
    /// OTLP's JSON: documents, lines or arrays of `ExportTraceServiceRequest`.
    OtlpJson,
    /// OTLP's protobuf: an `ExportTraceServiceRequest`, or several each behind its size.
    OtlpProtobuf,
}

impl SpanFormat {
    /// As users know it.
    pub fn name(self) -> &'static str {
        match self {
            Self::JaegerJson => "Jaeger JSON",
            Self::OtlpJson => "OTLP JSON",
            Self::OtlpProtobuf => "OTLP protobuf",
        }
    }
}

/// How many bytes of a file that begins like this [`sniff_spans`] needs: nothing of a block of Zstandard can be had
/// before its end (RFC 8878, 3.1.1.2: at most 128 KiB).
pub fn bytes_to_sniff(head: &[u8]) -> usize {
    match compression_of(head) {
        Compression::Zstd => SNIFF_BYTES + (128 << 10),
        Compression::None | Compression::Gzip => SNIFF_BYTES,
    }
}

/// The format of spans that a file, plain or compressed, begins like; `None` where it is not one.
pub fn sniff_spans(head: &[u8]) -> Option<SpanFormat> {
    let head = &*plain(head);
    match encoding_of(head) {
        Encoding::Json => sniff_json(head),
        // The first messages need not have a span: exporters tell of services before these have made any.
        Encoding::Sized => {
            sized(head).find_map(|message| match (compression_of(message), message.first()) {
                (Compression::Zstd, _) => Some(SpanFormat::OtlpProtobuf),
                (_, Some(b'{')) => sniff_json(message),
                _ => sniff_protobuf(message),
            })
        }
        Encoding::Protobuf => sniff_protobuf(head),
        Encoding::Empty | Encoding::Unknown => None,
    }
}

/// Why nothing can be had of a file, plain or compressed, that begins like this, as far as [`sniff_spans`] needs it;
/// `None` where something can, or where more than its head would have to be seen.
pub fn why_blank(head: &[u8]) -> Option<&'static str> {
    let plain = plain(head);
    if compression_of(head) != Compression::None && plain.is_empty() {
        return Some(
            "nothing of it can be decompressed: it is cut off, empty, or asks for more memory than 128 MiB",
        );
    }
    // Neither the file nor, where it is compressed, its text may go beyond what is looked at.
    let sees_its_end = head.len() < bytes_to_sniff(head) && plain.len() < SNIFF_BYTES;
    match encoding_of(&plain) {
        Encoding::Empty if sees_its_end => Some("it is empty"),
        Encoding::Json if sees_its_end && ends_within_document(&plain) => {
            Some("it ends within its first document")
        }
        _ => None,
    }
}

/// What the head of a file holds. If compressed, it ends in the middle: what it gives until then is enough.
fn plain(head: &[u8]) -> Cow<'_, [u8]> {
    let decompressed = |decoder: &mut dyn Read| {
        let mut plain = Vec::new();
        let _ = decoder.take(SNIFF_BYTES as u64).read_to_end(&mut plain);
        plain.into()
    };
    match compression_of(head) {
        Compression::None => head.into(),
        Compression::Gzip => decompressed(&mut MultiGzDecoder::new(head)),
        Compression::Zstd => match zstd::Decoder::new(head) {
            Ok(mut decoder) => decompressed(&mut decoder),
            Err(_) => Cow::default(),
        },
    }
}

fn sniff_protobuf(head: &[u8]) -> Option<SpanFormat> {
    (likeness(head) > Likeness::None).then_some(SpanFormat::OtlpProtobuf)
}

fn sniff_json(head: &[u8]) -> Option<SpanFormat> {
    let has = |key: &str| memmem::find(head, key.as_bytes()).is_some();
    if has("\"resourceSpans\"") || has("\"resource_spans\"") || has("\"scopeSpans\"") {
        return Some(SpanFormat::OtlpJson);
    }
    let has_trace = has("\"traceID\"")
        && (has("\"spans\"") || has("\"processes\"") || has("\"operationName\""));
    // The processes of a trace may come before everything else, and fill all that is looked at or all that a cut file
    // has: its first document does not end there. Of one that does, `traceID` would be in sight.
    let has_processes_alone =
        || has_processes(head) && has("\"serviceName\"") && ends_within_document(head);
    (has_trace || has_processes_alone()).then_some(SpanFormat::JaegerJson)
}

/// Whether processes stand there by their ids. Those of other programs are mostly a number or a list.
fn has_processes(head: &[u8]) -> bool {
    let key = b"\"processes\"";
    let mut behind =
        memmem::find_iter(head, key).map(|at| head[at + key.len()..].trim_ascii_start());
    behind.any(|rest| {
        let value = rest.strip_prefix(b":").unwrap_or_default();
        value.trim_ascii_start().starts_with(b"{")
    })
}

/// Whether the first document of JSON goes on where this ends.
fn ends_within_document(head: &[u8]) -> bool {
    let mut text = without_mark(head);
    // A number without its last digits would be invalid, not cut.
    while let [before @ .., b'-' | b'+' | b'.' | b'e' | b'E'] = text {
        text = before;
    }
    serde_json::from_slice::<IgnoredAny>(text).is_err_and(|failure| failure.is_eof())
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Compression {
    None,
    Gzip,
    Zstd,
}

pub(crate) fn compression_of(head: &[u8]) -> Compression {
    match head {
        [0x1f, 0x8b, ..] => Compression::Gzip,
        [0x28, 0xb5, 0x2f, 0xfd, ..] => Compression::Zstd,
        _ => Compression::None,
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Encoding {
    Empty,
    Json,
    /// Messages, each behind its size in four bytes, the highest first.
    Sized,
    Protobuf,
    Unknown,
}

/// How spans are encoded in what begins so.
pub(crate) fn encoding_of(head: &[u8]) -> Encoding {
    let text = without_mark(head).trim_ascii_start();
    match (text.first(), head.first()) {
        (None, _) => Encoding::Empty,
        // The tag of a request's field is a line break, and its length may be a bracket.
        (_, Some(0x0a)) if likeness(head) == Likeness::Sure => Encoding::Protobuf,
        (Some(b'{' | b'['), _) => Encoding::Json,
        // Field 1 of a request; as a size, it would be beyond every message.
        (_, Some(0x0a)) => Encoding::Protobuf,
        _ if sized(head).next().is_some() => Encoding::Sized,
        _ => Encoding::Unknown,
    }
}

/// What stands behind a byte-order mark.
fn without_mark(head: &[u8]) -> &[u8] {
    head.strip_prefix(b"\xef\xbb\xbf").unwrap_or(head)
}

/// Messages that are not empty, each as far as it is there, until one that cannot be; an empty one where nothing but
/// empty ones are.
fn sized(mut head: &[u8]) -> impl Iterator<Item = &[u8]> {
    let mut only_empty = true;
    std::iter::from_fn(move || {
        loop {
            let (size, rest) = head.split_first_chunk()?;
            let size = u32::from_be_bytes(*size) as usize;
            let (content, behind) = rest.split_at(size.min(rest.len()));
            head = behind;
            if size > 0 {
                only_empty = false;
                let can_be = content.is_empty()
                    || content[0] == b'{'
                    || begins_a_field(content[0])
                    || compression_of(content) == Compression::Zstd;
                return (size < MOST_MESSAGE_BYTES && can_be).then_some(content);
            }
            if behind.is_empty() && only_empty {
                return Some(behind);
            }
        }
    })
}

/// Whether a message of protobuf may begin with this: the first need not be a field that is known.
fn begins_a_field(tag: u8) -> bool {
    let (number, wire_type) = (tag >> 3, tag & 7);
    number > 0 && matches!(wire_type, 0 | 1 | 2 | 5)
}

/// Collectors refuse messages beyond a few MiB.
pub(crate) const MOST_MESSAGE_BYTES: usize = 0x0a00_0000;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formats_are_told_by_their_first_bytes() {
        let check = |head: &[u8], expected| assert_eq!(sniff_spans(head), expected, "{head:?}");
        check(
            b" {\"data\": [{\"traceID\": \"a\", \"spans\": [",
            Some(SpanFormat::JaegerJson),
        );
        check(
            b"[{\"traceID\":\"a\",\"operationName\":\"x\"",
            Some(SpanFormat::JaegerJson),
        );
        check(b"{\"resourceSpans\":[]}", Some(SpanFormat::OtlpJson));
        check(b"{\"serviceName\":\"web\",\"processes\":[4]}", None);
        check(b"{\"processes\":{\"p1\":{\"serviceName\":\"a\"}}}", None);
        check(
            b"{\"processes\" : {\"p1\":{\"serviceName\":\"a\"",
            Some(SpanFormat::JaegerJson),
        );
        check(b"{\"processes\":[{\"serviceName\":\"a\"", None);
        check(b"{\"format_version\":1,\"host\":\"a\"}", None);
        check(b"{\"traceID\":\"a\",\"msg\":\"a line of a log\"}", None);
        check(b"", None);
        check(b"\0\0\0\0", None);
        check(b"\x0a\x0ahello world", None);
        check(b"plain text", None);
    }

    #[test]
    fn messages_without_a_span_may_come_first() {
        let service = b"\0\0\0\x04\x0a\x02\x0a\0";
        let span = b"\0\0\0\x18\x0a\x16\x12\x14\x12\x12\x0a\x100123456789abcdef";
        let otlp = Some(SpanFormat::OtlpProtobuf);
        assert_eq!(sniff_spans(span), otlp);
        assert_eq!(sniff_spans(&[&service[..], span].concat()), otlp);
        assert_eq!(
            sniff_spans(&[&service[..], b"\0\0\0\0", span].concat()),
            otlp
        );
        assert_eq!(sniff_spans(service), None);
        assert_eq!(sniff_spans(&[&service[..], b"what is this"].concat()), None);
    }
}
