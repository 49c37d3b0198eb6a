//! Values of parameters, and configurations: what a trial is run with.
//!
//! A configuration's key is its JSON text: equal configurations have equal keys, in the store as well.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};
use utoipa::openapi::schema::{SchemaType, Type};
use utoipa::openapi::{ObjectBuilder, RefOr, Schema};
use utoipa::{PartialSchema, ToSchema};

/// The value of a parameter.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Value {
    /// Yes or no.
    Boolean(bool),
    /// A whole number.
    Integer(i64),
    /// A number; finite.
    Float(f64),
    /// One of several words.
    Text(String),
}

impl Value {
    /// As a number; booleans are 0 and 1, words are none.
    pub fn number(&self) -> Option<f64> {
        match self {
            Self::Boolean(value) => Some(f64::from(u8::from(*value))),
            Self::Integer(value) => Some(*value as f64),
            Self::Float(value) => Some(*value),
            Self::Text(_) => None,
        }
    }

    /// Equal, where 2 and 2.0 are the same.
    pub fn is_same(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Integer(_), Self::Float(_)) | (Self::Float(_), Self::Integer(_)) => {
                self.number() == other.number()
            }
            _ => self == other,
        }
    }
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Boolean(value) => value.fmt(f),
            Self::Integer(value) => value.fmt(f),
            Self::Float(value) => value.fmt(f),
            Self::Text(value) => value.fmt(f),
        }
    }
}

/// Its name in the description of interfaces, whose macros take every `Value` for one of JSON.
pub(crate) type ParameterValue = Value;

impl PartialSchema for Value {
    fn schema() -> RefOr<Schema> {
        let types = [Type::Boolean, Type::Number, Type::String];
        ObjectBuilder::new()
            .schema_type(SchemaType::from_iter(types))
            .description(Some("The value of a parameter."))
            .into()
    }
}

impl ToSchema for Value {
    fn name() -> Cow<'static, str> {
        Cow::Borrowed("ParameterValue")
    }
}

/// A value for each parameter that has one: those whose condition does not hold are absent.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(transparent)]
#[schema(value_type = BTreeMap<String, ParameterValue>)]
pub struct Configuration(pub BTreeMap<String, Value>);

impl Configuration {
    /// The value of a parameter.
    pub fn get(&self, name: &str) -> Option<&Value> {
        self.0.get(name)
    }

    /// A text that is the same for equal configurations only.
    pub fn key(&self) -> String {
        serde_json::to_string(self).unwrap_or_default()
    }

    /// The configuration with this key.
    pub fn from_key(key: &str) -> Option<Self> {
        serde_json::from_str(key).ok()
    }
}

impl fmt::Display for Configuration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (number, (name, value)) in self.0.iter().enumerate() {
            let gap = if number == 0 { "" } else { " " };
            write!(f, "{gap}{name}={value}")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_gives_its_configuration_back() {
        let values = [
            ("a", Value::Integer(-3)),
            ("b", Value::Float(0.1)),
            ("c", Value::Text("x y".to_owned())),
            ("d", Value::Boolean(true)),
        ];
        let configuration =
            Configuration(values.map(|(name, value)| (name.to_owned(), value)).into());
        let key = configuration.key();
        assert_eq!(key, r#"{"a":-3,"b":0.1,"c":"x y","d":true}"#);
        assert_eq!(Configuration::from_key(&key), Some(configuration));
    }
}
