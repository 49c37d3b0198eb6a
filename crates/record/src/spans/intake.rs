//! What becomes of a request once its bytes are here: kept, passed on, held against the rules.
//!
//! Synchronous, and nothing in it waits. How requests come is `server.rs`'s matter.

use std::borrow::Cow;
use std::sync::Arc;

use bytes::Bytes;
use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use prost::Message;

use super::counts::Counts;
use super::forward::{ForwardQueue, Outgoing, Signal};
use super::glance::{Malformed, glance};
use super::store::{Batch, Store, TimeSpan};
use super::triggers::Triggers;

/// A JSON text with more objects than this is refused: each of them costs a hundred times its bytes
/// while it is translated.
const MOST_JSON_OBJECTS: usize = 200_000;

/// Takes in requests.
#[derive(Debug)]
pub(crate) struct Intake {
    pub(crate) store: Store,
    pub(crate) forward: Option<ForwardQueue>,
    pub(crate) triggers: Option<Triggers>,
    pub(crate) counts: Arc<Counts>,
}

/// Spans that could not be kept although they were understood.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct LostSpans(pub(crate) u64);

impl Intake {
    /// Takes an `ExportTraceServiceRequest`.
    ///
    /// # Errors
    /// Where it is none; nothing of it is kept then.
    pub(crate) fn traces(&self, message: Bytes) -> Result<LostSpans, Malformed> {
        let mut spans = 0;
        let mut time = TimeSpan {
            begin_ns: u64::MAX,
            end_ns: 0,
        };
        glance(&message, |span| {
            spans += 1;
            time.begin_ns = time.begin_ns.min(span.begin_ns);
            time.end_ns = time.end_ns.max(span.end_ns);
        })?;
        if let Some(triggers) = &self.triggers {
            triggers.look_at(&message);
        }
        if let Some(forward) = &self.forward {
            forward.offer(Outgoing {
                signal: Signal::Traces,
                is_json: false,
                message: message.clone(),
            });
        }
        let batch = Batch {
            message,
            spans,
            time,
        };
        if self.store.keep(batch) {
            return Ok(LostSpans(0));
        }
        self.counts.lost_spans.add(spans);
        Ok(LostSpans(spans))
    }

    /// Takes the same in the protocol's JSON form.
    ///
    /// # Errors
    /// Where it is none, or too large to be translated.
    pub(crate) fn traces_in_json(&self, text: &[u8]) -> Result<LostSpans, Malformed> {
        if text.iter().filter(|byte| **byte == b'{').count() > MOST_JSON_OBJECTS {
            return Err(Malformed("the JSON text has more than 200,000 objects"));
        }
        // A list of the message's members would be taken for the message otherwise.
        if text.trim_ascii_start().first() != Some(&b'{') {
            return Err(Malformed("the JSON text is no object"));
        }
        let request: ExportTraceServiceRequest = serde_json::from_slice(&without_nulls(text))
            .map_err(|_| Malformed("the JSON text is malformed or has other members"))?;
        self.traces(request.encode_to_vec().into())
    }

    /// Takes metrics or logs: passed on where there is somewhere, else dropped.
    pub(crate) fn other(&self, outgoing: Outgoing) {
        self.counts.other_requests.add(1);
        if let Some(forward) = &self.forward {
            forward.offer(outgoing);
        }
    }
}

/// In JSON of protobuf `null` stands for what a member is without being told. What reads the text knows
/// no such thing: members that are null get names that nobody knows, and those that must be there are
/// empty. No byte moves, so that it costs no more memory than the text.
fn without_nulls(text: &[u8]) -> Cow<'_, [u8]> {
    const NULL: &[u8; 4] = b"null";
    if !text.windows(NULL.len()).any(|four| four == NULL) {
        return Cow::Borrowed(text);
    }
    let mut text = text.to_vec();
    // The text in quotes that ended last: before a colon it is a member's name.
    let mut name = 0..0;
    let mut at = 0;
    while at < text.len() {
        match text[at] {
            b'"' => {
                let end = end_of_quoted(&text, at + 1);
                name = at + 1..end;
                at = end;
            }
            b':' => {
                let blank = text[at + 1..]
                    .iter()
                    .take_while(|b| b.is_ascii_whitespace());
                let value = at + 1 + blank.count();
                if text[value..].starts_with(NULL) {
                    let instead = match &text[name.clone()] {
                        b"values" => Some(b"[]  "),
                        b"key" => Some(b"\"\"  "),
                        _ => None,
                    };
                    match (instead, text.get_mut(name.start)) {
                        (Some(instead), _) => text[value..][..NULL.len()].copy_from_slice(instead),
                        (None, Some(first)) if first.is_ascii_alphabetic() => *first = b'~',
                        _ => {}
                    }
                }
            }
            _ => {}
        }
        at += 1;
    }
    Cow::Owned(text)
}

/// Where the quote is that closes a text in quotes, or where the bytes end.
fn end_of_quoted(text: &[u8], begin: usize) -> usize {
    let mut at = begin;
    while at < text.len() && text[at] != b'"' {
        at += if text[at] == b'\\' { 2 } else { 1 };
    }
    at.min(text.len())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::spans::samples;

    #[test]
    fn null_is_what_a_member_is_without_being_told() {
        let read = |text: &str| -> ExportTraceServiceRequest {
            let bytes = without_nulls(text.as_bytes());
            serde_json::from_slice(&bytes).unwrap_or_else(|wrong| panic!("{text}: {wrong}"))
        };
        let span = |members: &str| {
            read(&format!(
                r#"{{"resourceSpans":[{{"scopeSpans":[{{"spans":[{{{members}}}]}}]}}]}}"#
            ))
        };
        let same: [(&str, &str); 8] = [
            (r#""name" : null"#, ""),
            (
                r#""name":"a","attributes":null , "kind":2"#,
                r#""name":"a","kind":2"#,
            ),
            (r#""events":null,"links":null,"status":null"#, ""),
            (
                r#""parentSpanId":null,"startTimeUnixNano":null,"name":"null""#,
                r#""name":"null""#,
            ),
            (
                r#""name":"a\":null","traceState":null"#,
                r#""name":"a\":null""#,
            ),
            (
                r#""attributes":[{"key":"a","value":null},{"key":null,"value":{"stringValue":null}}]"#,
                r#""attributes":[{"key":"a"},{"key":"","value":{}}]"#,
            ),
            (
                r#""attributes":[{"key":"a","value":{"arrayValue":{"values":null}}}]"#,
                r#""attributes":[{"key":"a","value":{"arrayValue":{"values":[]}}}]"#,
            ),
            (r#""nobody knows":null"#, ""),
        ];
        for (with_null, without) in same {
            assert_eq!(span(with_null), span(without), "{with_null}");
        }
        for text in [
            r#"{"resourceSpans":null}"#,
            "{}",
            "{\"resourceSpans\" :\n null, \"é\":null}",
        ] {
            assert_eq!(read(text), ExportTraceServiceRequest::default(), "{text}");
        }
    }

    #[test]
    fn what_is_no_json_does_not_become_json() {
        for text in [
            "{\"a\":null",
            "null",
            ":null",
            "{\"\\",
            "{null:null}",
            "{\"a\":nullnull}",
        ] {
            let bytes = without_nulls(text.as_bytes());
            let read = serde_json::from_slice::<ExportTraceServiceRequest>(&bytes);
            assert!(read.is_err(), "{text}");
        }
    }

    #[test]
    fn a_disk_that_takes_nothing_costs_spans_and_no_more_memory() {
        let (store, _unread) = Store::stuck();
        let intake = Intake {
            store,
            forward: None,
            triggers: None,
            counts: Arc::default(),
        };
        let operation = "x".repeat(1 << 20);
        let message = Bytes::from(samples::request("shop", &operation, 2).encode_to_vec());
        let lost = (0..40).map(|_| intake.traces(message.clone()).expect("a request").0);
        assert_eq!(lost.sum::<u64>(), 2 * 25, "15 of 2 MiB wait");
        assert_eq!(intake.counts.lost_spans.get(), 50);
    }
}
