//! `KeyValue` and `AnyValue` of OTLP's protobuf as attributes.

use std::borrow::Cow;
use std::sync::Arc;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value as Json;

use super::wire::{Fields, Value};
use crate::AttributeValue;
use crate::builder::Builder;

/// Values within values are read so deep, and left out below.
const MOST_DEPTH: usize = 64;

/// Reads attributes, names kept once.
pub(crate) struct Attributes<'builder, 'sink> {
    pub(crate) builder: &'builder mut Builder<'sink>,
}

impl Attributes<'_, '_> {
    /// A `KeyValue`.
    pub(crate) fn pair(&mut self, message: &[u8]) -> (Arc<str>, AttributeValue) {
        let (key, value) = key_and_value(message);
        let key = self.builder.name(&text(key));
        (key, self.value(value))
    }

    fn value(&mut self, message: &[u8]) -> AttributeValue {
        let mut found = None;
        for field in Fields::of(message) {
            found = Some(match field {
                (1, Value::Bytes(bytes)) => AttributeValue::Text(self.builder.name(&text(bytes))),
                (2, Value::Varint(number)) => AttributeValue::Bool(number != 0),
                (3, Value::Varint(number)) => AttributeValue::Integer(number.cast_signed()),
                (4, Value::Fixed64(bits)) => AttributeValue::Float(f64::from_bits(bits)),
                _ => continue,
            });
        }
        found.unwrap_or_else(|| {
            let json = json_of(message, 0).to_string();
            AttributeValue::Json(self.builder.name(&json))
        })
    }
}

/// Text that is not UTF-8 is shown as far as it is.
pub(crate) fn text(bytes: &[u8]) -> Cow<'_, str> {
    String::from_utf8_lossy(bytes)
}

/// The key of a `KeyValue`.
pub(crate) fn key_of(message: &[u8]) -> Cow<'_, str> {
    text(key_and_value(message).0)
}

/// The value of a `KeyValue`, if that is a text.
pub(crate) fn text_of(message: &[u8]) -> Option<Cow<'_, str>> {
    let texts = Fields::of(key_and_value(message).1).filter_map(|field| match field {
        (1, Value::Bytes(bytes)) => Some(text(bytes)),
        _ => None,
    });
    texts.last()
}

fn key_and_value(message: &[u8]) -> (&[u8], &[u8]) {
    let (mut key, mut value): (&[u8], &[u8]) = (b"", b"");
    for field in Fields::of(message) {
        match field {
            (1, Value::Bytes(bytes)) => key = bytes,
            (2, Value::Bytes(bytes)) => value = bytes,
            _ => {}
        }
    }
    (key, value)
}

/// An `AnyValue` as plain JSON: lists, maps, bytes in base64.
fn json_of(message: &[u8], depth: usize) -> Json {
    if depth > MOST_DEPTH {
        return Json::Null;
    }
    let inner = |list: &[u8], what: fn(&[u8], usize) -> Json| -> Vec<Json> {
        Fields::of(list)
            .filter_map(|field| match field {
                (1, Value::Bytes(bytes)) => Some(what(bytes, depth + 1)),
                _ => None,
            })
            .collect()
    };
    let mut json = Json::Null;
    for field in Fields::of(message) {
        json = match field {
            (1, Value::Bytes(bytes)) => text(bytes).into(),
            (2, Value::Varint(number)) => (number != 0).into(),
            (3, Value::Varint(number)) => number.cast_signed().into(),
            (4, Value::Fixed64(bits)) => f64::from_bits(bits).into(),
            (5, Value::Bytes(list)) => Json::Array(inner(list, json_of)),
            (6, Value::Bytes(map)) => Fields::of(map)
                .filter_map(|field| match field {
                    (1, Value::Bytes(pair)) => {
                        let (key, value) = key_and_value(pair);
                        Some((text(key).into_owned(), json_of(value, depth + 1)))
                    }
                    _ => None,
                })
                .collect(),
            (7, Value::Bytes(bytes)) => STANDARD.encode(bytes).into(),
            _ => continue,
        };
    }
    json
}
