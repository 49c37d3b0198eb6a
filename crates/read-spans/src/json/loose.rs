//! JSON values as programs really write them: numbers as text, ids as numbers, nothing as null.
//!
//! Parsing a span must not fail for such things: what can be meant by them is plain.

use std::borrow::Cow;
use std::fmt;

use serde::de::{Deserialize, Deserializer, MapAccess, SeqAccess, Visitor, value};
use serde_json::{Map, Value as Json};

/// Any value, texts borrowed where they need no unescaping.
#[derive(Clone, Debug, PartialEq, Default)]
pub(super) enum Loose<'json> {
    #[default]
    Null,
    Bool(bool),
    Integer(i64),
    Float(f64),
    Text(Cow<'json, str>),
    /// A list or map, or a number beyond 64 bits.
    Json(Json),
}

impl Loose<'_> {
    /// As text: nothing is empty.
    pub(super) fn text(&self) -> Cow<'_, str> {
        match self {
            Self::Null => Cow::Borrowed(""),
            Self::Text(text) => Cow::Borrowed(text),
            Self::Bool(value) => value.to_string().into(),
            Self::Integer(value) => value.to_string().into(),
            Self::Float(value) => value.to_string().into(),
            Self::Json(value) => value.to_string().into(),
        }
    }

    /// The members, where it is a map.
    pub(super) fn into_members(self) -> Map<String, Json> {
        match self {
            Self::Json(Json::Object(members)) => members,
            _ => Map::new(),
        }
    }

    /// As a whole number, where it is one or text of one; nothing is 0.
    pub(super) fn integer(&self) -> Option<i64> {
        match self {
            Self::Null => Some(0),
            Self::Integer(value) => Some(*value),
            Self::Float(value) => {
                let fits = value.abs() < i64::MAX as f64;
                fits.then_some(value.round() as i64)
            }
            Self::Text(text) if text.is_empty() => Some(0),
            Self::Text(text) => text.parse().ok(),
            Self::Bool(_) | Self::Json(_) => None,
        }
    }
}

impl<'de: 'json, 'json> Deserialize<'de> for Loose<'json> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(LooseVisitor)
    }
}

struct LooseVisitor;

impl<'de> Visitor<'de> for LooseVisitor {
    type Value = Loose<'de>;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("any value")
    }

    fn visit_unit<E>(self) -> Result<Self::Value, E> {
        Ok(Loose::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Self::Value, E> {
        Ok(Loose::Bool(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Self::Value, E> {
        Ok(Loose::Integer(value))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Self::Value, E> {
        let small = i64::try_from(value).map(Loose::Integer);
        Ok(small.unwrap_or_else(|_| Loose::Json(value.into())))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Self::Value, E> {
        Ok(Loose::Float(value))
    }

    fn visit_borrowed_str<E>(self, value: &'de str) -> Result<Self::Value, E> {
        Ok(Loose::Text(Cow::Borrowed(value)))
    }

    fn visit_str<E>(self, value: &str) -> Result<Self::Value, E> {
        Ok(Loose::Text(Cow::Owned(value.to_owned())))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, list: A) -> Result<Self::Value, A::Error> {
        Json::deserialize(value::SeqAccessDeserializer::new(list)).map(Loose::Json)
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Self::Value, A::Error> {
        Json::deserialize(value::MapAccessDeserializer::new(map)).map(Loose::Json)
    }
}

/// A list that may be null, and so may be what is in it: it is left out.
pub(super) fn list<'de, D, Item>(deserializer: D) -> Result<Vec<Item>, D::Error>
where
    D: Deserializer<'de>,
    Item: Deserialize<'de>,
{
    let list = Option::<Vec<Option<Item>>>::deserialize(deserializer)?;
    Ok(list.into_iter().flatten().flatten().collect())
}

/// Something that may be null.
pub(super) fn or_default<'de, D, Item>(deserializer: D) -> Result<Item, D::Error>
where
    D: Deserializer<'de>,
    Item: Deserialize<'de> + Default,
{
    Option::<Item>::deserialize(deserializer).map(Option::unwrap_or_default)
}
