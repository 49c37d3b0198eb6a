//! OTLP requests in JSON of protobuf, as any exporter may write it.
//!
//! The library that reads them knows less than the format allows: `null`, numbers as texts, members
//! left out. What it does not understand is put into words that it does; no span is left out.

use std::borrow::Cow;

use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use serde_json::{Map, Value, json};
use slowpath_model::json_in_unicode;

/// A text with more commas is not put into other words: every value costs many times its bytes then.
const MOST_COMMAS: usize = 400_000;

/// The request that a JSON text is; `None` where it is none.
pub(crate) fn request_in_json(text: &[u8]) -> Option<ExportTraceServiceRequest> {
    let mut text = without_nulls(text);
    if let Ok(request) = serde_json::from_slice(&text) {
        return Some(request);
    }
    // Only now: hardly any text needs that.
    if let Some(mended) = json_in_unicode(&text) {
        text = Cow::Owned(mended);
        if let Ok(request) = serde_json::from_slice(&text) {
            return Some(request);
        }
    }
    if text.iter().filter(|byte| **byte == b',').count() > MOST_COMMAS {
        return None;
    }
    let mut value: Value = serde_json::from_slice(&text).ok()?;
    complete(&mut value);
    serde_json::from_value(value).ok()
}

/// Gives all objects within `value` what the library misses.
fn complete(value: &mut Value) {
    match value {
        Value::Array(values) => {
            values.retain(|value| !value.is_null());
            values.iter_mut().for_each(complete);
        }
        Value::Object(members) => {
            complete_double(members);
            for list in ["arrayValue", "kvlistValue"] {
                if let Some(Value::Object(list)) = members.get_mut(list) {
                    list.entry("values").or_insert_with(|| json!([]));
                }
            }
            if let Some(Value::Array(entities)) = members.get_mut("entityRefs") {
                for entity in entities.iter_mut().filter_map(Value::as_object_mut) {
                    for text in ["schemaUrl", "type"] {
                        entity.entry(text).or_insert_with(|| json!(""));
                    }
                    for keys in ["idKeys", "descriptionKeys"] {
                        entity.entry(keys).or_insert_with(|| json!([]));
                    }
                }
            }
            members.values_mut().for_each(complete);
        }
        _ => {}
    }
}

/// Doubles may be texts. Those that are no finite number, which JSON cannot say otherwise, stay texts.
fn complete_double(members: &mut Map<String, Value>) {
    let Some(Value::String(text)) = members.get("doubleValue") else {
        return;
    };
    let Ok(double) = text.parse::<f64>() else {
        return;
    };
    match double.is_finite() {
        true => members.insert("doubleValue".to_owned(), json!(double)),
        false => {
            let text = json!(text);
            members.remove("doubleValue");
            members.insert("stringValue".to_owned(), text)
        }
    };
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

    #[test]
    fn what_the_library_does_not_know_is_put_into_words_that_it_does() {
        let read = |value: &str| {
            let text = format!(
                r#"{{"resourceSpans":[{{"scopeSpans":[{{"spans":[{{"name":"a","attributes":[{{"key":"k","value":{value}}}]}}]}}]}}]}}"#
            );
            request_in_json(text.as_bytes())
        };
        for (value, same) in [
            (r#"{"doubleValue":"1.5"}"#, r#"{"doubleValue":1.5}"#),
            (r#"{"doubleValue":"NaN"}"#, r#"{"stringValue":"NaN"}"#),
            (
                r#"{"doubleValue":"-Infinity"}"#,
                r#"{"stringValue":"-Infinity"}"#,
            ),
            (r#"{"arrayValue":{}}"#, r#"{"arrayValue":{"values":[]}}"#),
            (
                r#"{"kvlistValue":{"values":[{"key":"b","value":{"arrayValue":{}}}]}}"#,
                r#"{"kvlistValue":{"values":[{"key":"b","value":{"arrayValue":{"values":[]}}}]}}"#,
            ),
        ] {
            let found = read(value);
            assert!(found.is_some(), "{value}");
            assert_eq!(found, read(same), "{value}");
        }
        assert_eq!(
            read(r#"{"stringValue":"ab\ud83d"}"#),
            read(r#"{"stringValue":"ab\ufffd"}"#)
        );
        assert!(read(r#"{"stringValue":"ab\ud83d"}"#).is_some());
        assert_eq!(
            read(r#"{"arrayValue":{"values":[null,{"intValue":1},null]}}"#),
            read(r#"{"arrayValue":{"values":[{"intValue":1}]}}"#)
        );
        assert_eq!(read(r#"{"doubleValue":"much"}"#), None);
        let entity = r#"{"resourceSpans":[{"resource":{"entityRefs":[{"type":"service","idKeys":["a"]}]}}]}"#;
        let found = request_in_json(entity.as_bytes()).expect("a request");
        let resource = found.resource_spans[0].resource.as_ref();
        let entities = &resource.expect("a resource").entity_refs;
        assert_eq!(entities[0].r#type, "service");
        assert_eq!(entities[0].id_keys, ["a"]);
        let many = format!(
            r#"{{"resourceSpans":[{{"resource":{{"entityRefs":[{{}}]}}}}],"x":[{}0]}}"#,
            "0,".repeat(MOST_COMMAS + 1)
        );
        assert_eq!(request_in_json(many.as_bytes()), None);
    }

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
}
