//! Reading one file of spans: format and compression found by content, problems gathered.
//!
//! Streaming: memory is bounded by the largest value that must be seen whole (a span, a Jaeger trace, an
//! OTLP message), not by the input.

use std::io::{BufReader, Read};

use flate2::read::MultiGzDecoder;
use slowpath_model::DiagnosticCode;

use crate::builder::Builder;
use crate::format::{Compression, Encoding, SNIFF_BYTES, compression_of, encoding_of};
use crate::window::Window;
use crate::{SpanSink, json, protobuf};

/// What is wanted of spans.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReadOptions {
    /// Whether to keep attributes. Without them reading is faster; kind and status are always known.
    pub attributes: bool,
}

impl Default for ReadOptions {
    fn default() -> Self {
        Self { attributes: true }
    }
}

/// Reads all spans of `input` into `sink`: any of [`crate::SpanFormat`], plain or compressed by gzip or zstd.
///
/// `file` is the input as the user knows it, for diagnostics. Never fails: what cannot be read is a
/// diagnostic, and what came before it was given to `sink`.
pub fn read_spans(input: impl Read, file: &str, options: ReadOptions, sink: &mut dyn SpanSink) {
    let mut builder = Builder::new(file, options, sink);
    let mut window = Window::new(Box::new(input));
    window.ensure(4);
    match compression_of(window.bytes()) {
        Compression::None => {}
        Compression::Gzip => {
            let plain = MultiGzDecoder::new(BufReader::new(window.into_rest()));
            window = Window::new(Box::new(plain));
        }
        Compression::Zstd => match zstd::Decoder::new(window.into_rest()) {
            Ok(plain) => window = Window::new(Box::new(plain)),
            Err(cause) => {
                builder.problem(DiagnosticCode::InvalidSpanFile, 0, || {
                    format!("it cannot be decompressed: {cause}")
                });
                return builder.finish();
            }
        },
    }
    window.ensure(SNIFF_BYTES);
    let encoding = encoding_of(window.bytes());
    match encoding {
        Encoding::Empty => {}
        Encoding::Json => json::read(&mut window, &mut builder),
        Encoding::Sized => protobuf::read_sized(&mut window, &mut builder),
        Encoding::Protobuf => protobuf::read_bare(&mut window, &mut builder),
        Encoding::Unknown => builder.problem(DiagnosticCode::InvalidSpanFile, 0, || {
            "it is neither JSON nor OTLP's protobuf".to_owned()
        }),
    }
    if let Some(cause) = window.failure.take() {
        builder.problem(DiagnosticCode::TruncatedSpans, window.position(), || {
            format!("it cannot be read on: {cause}; the spans before are kept")
        });
    }
    if window.too_large {
        builder.problem(DiagnosticCode::InvalidSpanFile, window.position(), || {
            "a value is larger than 512 MiB; it is not read".to_owned()
        });
    }
    // What is received as protobuf may tell of a service before it has made a span.
    if encoding == Encoding::Json && !builder.has_told() {
        builder.problem(DiagnosticCode::NoSpans, 0, || "no span is in it".to_owned());
    }
    builder.finish();
}
