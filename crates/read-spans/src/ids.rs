//! Ids of traces and spans in all the ways that formats write them.
//!
//! An id is `None` where there is none (empty, or all zeros, as tracing systems have it).

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use slowpath_model::{SpanId, TraceId};
use xxhash_rust::xxh3::{xxh3_64, xxh3_128};

/// An id that was read, and whether it was written as tracing systems write theirs.
pub(crate) struct ReadId<Id> {
    pub(crate) id: Option<Id>,
    pub(crate) usual: bool,
}

/// A trace's id out of text: hexadecimal, base64 of 16 bytes, or anything (then a hash stands for it).
pub(crate) fn trace_id(text: &str) -> ReadId<TraceId> {
    let number = |number: u128| TraceId {
        high: (number >> 64) as u64,
        low: number as u64,
    };
    let known = TraceId::from_hex(text).or_else(|| trace_id_of_bytes(&base64_bytes(text, 24)?));
    ReadId {
        id: (known.or_else(|| (!text.is_empty()).then(|| number(xxh3_128(text.as_bytes())))))
            .filter(|id| *id != TraceId::default()),
        usual: known.is_some() || text.is_empty(),
    }
}

/// A span's id out of text, likewise.
pub(crate) fn span_id(text: &str) -> ReadId<SpanId> {
    let known = SpanId::from_hex(text).or_else(|| span_id_of_bytes(&base64_bytes(text, 12)?));
    ReadId {
        id: (known.or_else(|| (!text.is_empty()).then(|| SpanId(xxh3_64(text.as_bytes())))))
            .filter(|id| *id != SpanId::default()),
        usual: known.is_some() || text.is_empty(),
    }
}

/// OTLP's 16 bytes.
pub(crate) fn trace_id_of_bytes(bytes: &[u8]) -> Option<TraceId> {
    let number = u128::from_be_bytes(bytes.try_into().ok()?);
    let id = TraceId {
        high: (number >> 64) as u64,
        low: number as u64,
    };
    (number != 0).then_some(id)
}

/// OTLP's 8 bytes.
pub(crate) fn span_id_of_bytes(bytes: &[u8]) -> Option<SpanId> {
    let number = u64::from_be_bytes(bytes.try_into().ok()?);
    (number != 0).then_some(SpanId(number))
}

fn base64_bytes(text: &str, length: usize) -> Option<Vec<u8>> {
    (text.len() == length).then(|| STANDARD.decode(text).ok())?
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_as_formats_write_them() {
        let check = |text: &str, id: Option<u64>, usual| {
            let read = span_id(text);
            assert_eq!((read.id, read.usual), (id.map(SpanId), usual), "{text}");
        };
        check("00f067aa0ba902b7", Some(0x00f0_67aa_0ba9_02b7), true);
        check("f067aa0ba902b7", Some(0x00f0_67aa_0ba9_02b7), true);
        check("APBnqgupArc=", Some(0x00f0_67aa_0ba9_02b7), true);
        check("0000000000000000", None, true);
        check("", None, true);
        let (one, other) = (span_id("root span"), span_id("other span"));
        assert!(!one.usual && one.id.is_some() && one.id != other.id);
        let hex = trace_id("4bf92f3577b34da6a3ce929d0e0e4736").id;
        assert!(hex.is_some());
        assert_eq!(trace_id("S/kvNXezTaajzpKdDg5HNg==").id, hex);
    }
}
