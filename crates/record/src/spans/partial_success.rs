//! What a collector says of a request that it took: how much of that it did not keep.
//!
//! OTLP has one form of it for each signal, which differ by a name in JSON and not at all in protobuf.
//! An answer that cannot be understood tells of nothing: the request has been taken all the same.

use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceResponse;
use prost::Message;
use serde::Deserialize;
use serde_json::Value;

/// How much a collector did not keep, and why.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PartialSuccess {
    /// Spans, data points or log records.
    pub rejected: u64,
    /// In the collector's words; empty where it gives no reason.
    pub error_message: String,
}

impl PartialSuccess {
    /// Of an answer in JSON.
    pub fn in_json(answer: &[u8]) -> Self {
        let answer: JsonAnswer = serde_json::from_slice(answer).unwrap_or_default();
        let partial_success = answer.partial_success.unwrap_or_default();
        let rejected = partial_success.rejected_spans;
        let number = match rejected.as_str() {
            Some(text) => text.parse().ok(),
            None => rejected.as_u64(),
        };
        Self {
            rejected: number.unwrap_or(0),
            error_message: partial_success.error_message.unwrap_or_default(),
        }
    }

    /// Of an answer in protobuf.
    pub(crate) fn in_protobuf(answer: &[u8]) -> Self {
        let answer = ExportTraceServiceResponse::decode(answer).unwrap_or_default();
        let partial_success = answer.partial_success.unwrap_or_default();
        Self {
            rejected: u64::try_from(partial_success.rejected_spans).unwrap_or(0),
            error_message: partial_success.error_message,
        }
    }
}

/// In JSON of Protocol Buffers what is not set may be `null`.
#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct JsonAnswer {
    partial_success: Option<JsonPartialSuccess>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct JsonPartialSuccess {
    /// A number, which JSON of Protocol Buffers writes as a text where it has 64 bits.
    #[serde(alias = "rejectedDataPoints", alias = "rejectedLogRecords")]
    rejected_spans: Value,
    error_message: Option<String>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_tell_how_much_was_rejected_and_why() {
        for (answer, rejected, error_message) in [
            (
                r#"{"partialSuccess":{"rejectedSpans":"5","errorMessage":"too many"}}"#,
                5,
                "too many",
            ),
            (r#"{"partialSuccess":{"rejectedSpans":5}}"#, 5, ""),
            (r#"{"partialSuccess":{"rejectedDataPoints":"5"}}"#, 5, ""),
            (
                r#"{"partialSuccess":{"rejectedLogRecords":5,"errorMessage":null}}"#,
                5,
                "",
            ),
            (r#"{"partialSuccess":{"rejectedSpans":-5}}"#, 0, ""),
            (r#"{"partialSuccess":null}"#, 0, ""),
            ("{}", 0, ""),
            ("", 0, ""),
            ("thank you", 0, ""),
        ] {
            let error_message = error_message.to_owned();
            let expected = PartialSuccess {
                rejected,
                error_message,
            };
            let found = PartialSuccess::in_json(answer.as_bytes());
            assert_eq!(found, expected, "{answer}");
        }
        for (answer, rejected, error_message) in [
            (&b"\x0a\x0c\x08\x05\x12\x08too many"[..], 5, "too many"),
            (b"\x0a\x02\x08\x05", 5, ""),
            // Below zero, cut short, not told, no protobuf.
            (
                b"\x0a\x0b\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01",
                0,
                "",
            ),
            (b"\x0a\x0c\x08\x05\x12", 0, ""),
            (b"\x0a\x00", 0, ""),
            (b"", 0, ""),
            (b"thank you", 0, ""),
        ] {
            let error_message = error_message.to_owned();
            let expected = PartialSuccess {
                rejected,
                error_message,
            };
            assert_eq!(PartialSuccess::in_protobuf(answer), expected, "{answer:?}");
        }
    }
}
