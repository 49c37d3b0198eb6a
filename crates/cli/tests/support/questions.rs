//! Questions of the server's own interface, made up from its description: some sensible, some nonsense.
//!
//! Routes, parameters and bodies are what `GET /api/openapi.json` says, so that a new one is asked as soon as
//! it is described.

use serde_json::{Map, Value, json};

use super::chance::Chance;

/// A question of the description, without its inputs.
pub struct Question<'a> {
    pub method: String,
    pub path: &'a str,
    description: &'a Value,
    operation: &'a Value,
}

/// Every question that `description` has.
pub fn described(description: &Value) -> Vec<Question<'_>> {
    let paths = description["paths"].as_object().expect("paths");
    let questions = paths.iter().flat_map(|(path, operations)| {
        let operations = operations.as_object().expect("operations");
        operations.iter().map(|(method, operation)| Question {
            method: method.to_uppercase(),
            path,
            description,
            operation,
        })
    });
    questions.collect()
}

impl Question<'_> {
    /// The address and the body of a made-up question of this kind.
    pub fn made_up(&self, chance: &mut Chance) -> (String, String) {
        let (mut path, mut query) = (self.path.to_owned(), String::new());
        for parameter in self.operation["parameters"]
            .as_array()
            .into_iter()
            .flatten()
        {
            let (name, place) = (text(&parameter["name"]), text(&parameter["in"]));
            let is_needed = parameter["required"] == true || place == "path";
            if !is_needed && chance.below(2) == 0 || chance.below(12) == 0 {
                continue;
            }
            let value = self.value(&parameter["schema"], chance).to_string();
            let value = value.replace(['"', ' ', '\\', '/', '?', '#', '&', '%'], "");
            match place {
                "path" => path = path.replace(&format!("{{{name}}}"), &value),
                _ => query += &format!("{name}={value}&"),
            }
        }
        let body = &self.operation["requestBody"]["content"]["application/json"]["schema"];
        let body = match body {
            Value::Null => String::new(),
            schema => self.value(schema, chance).to_string(),
        };
        (format!("{path}?{query}"), body)
    }

    /// Whether the description says that this status can come back.
    pub fn may_answer(&self, status: u16) -> bool {
        self.operation["responses"]
            .get(status.to_string())
            .is_some()
    }

    /// A value that fits the schema, or one that does not.
    fn value(&self, schema: &Value, chance: &mut Chance) -> Value {
        if chance.below(8) == 0 {
            return chance.value(2);
        }
        if let Some(reference) = schema["$ref"].as_str() {
            let pointer = reference.trim_start_matches('#');
            let named = self.description.pointer(pointer);
            return self.value(named.expect("what is referred to"), chance);
        }
        if let Some(choices) = schema["oneOf"].as_array().or(schema["enum"].as_array()) {
            let chosen = &choices[chance.below(choices.len())];
            return match chosen {
                Value::Object(_) => self.value(chosen, chance),
                name => name.clone(),
            };
        }
        let kind = match &schema["type"] {
            Value::Array(kinds) => &kinds[chance.below(kinds.len())],
            kind => kind,
        };
        match text(kind) {
            "integer" => match chance.below(2) {
                0 => json!(chance.below(2_000)),
                _ => json!(chance.below(20) as i64 * 1_000_000_000),
            },
            "number" => json!(chance.below(101)),
            "string" => json!(["", "a", "GET /", "0a1b"][chance.below(4)]),
            "boolean" => json!(chance.below(2) == 0),
            "array" => match schema["prefixItems"].as_array() {
                Some(items) => items.iter().map(|item| self.value(item, chance)).collect(),
                None => (0..chance.below(5))
                    .map(|_| self.value(&schema["items"], chance))
                    .collect(),
            },
            "object" => {
                let mut object = Map::new();
                for (name, schema) in schema["properties"].as_object().into_iter().flatten() {
                    if chance.below(8) > 0 {
                        object.insert(name.clone(), self.value(schema, chance));
                    }
                }
                Value::Object(object)
            }
            _ => Value::Null,
        }
    }
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}
