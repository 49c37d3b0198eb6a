//! The interface's description (docs/reference/openapi.json) for people: questions and shapes in Markdown.
//!
//! From text to text; what writes the description is `slowpath_server::description`. Understands what
//! that uses of OpenAPI and no more, in the description's own order.

use std::fmt::{self, Write as _};
use std::marker::PhantomData;

use serde::Deserialize;
use serde::de::{Deserializer, MapAccess, Visitor};

/// Where the description is.
pub const DESCRIPTION: &str = "docs/reference/openapi.json";

/// A JSON object in the order in which it is written.
struct Ordered<T>(Vec<(String, T)>);

impl<T> Default for Ordered<T> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Ordered<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Entries<T>(PhantomData<T>);
        impl<'de, T: Deserialize<'de>> Visitor<'de> for Entries<T> {
            type Value = Ordered<T>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<M: MapAccess<'de>>(self, mut map: M) -> Result<Self::Value, M::Error> {
                let mut entries = Vec::new();
                while let Some(entry) = map.next_entry()? {
                    entries.push(entry);
                }
                Ok(Ordered(entries))
            }
        }
        deserializer.deserialize_map(Entries(PhantomData))
    }
}

#[derive(Deserialize)]
struct Description {
    paths: Ordered<Ordered<Operation>>,
    components: Components,
    tags: Vec<Tag>,
}

#[derive(Deserialize)]
struct Components {
    schemas: Ordered<Schema>,
}

#[derive(Deserialize)]
struct Tag {
    name: String,
    #[serde(default)]
    description: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Operation {
    tags: Vec<String>,
    summary: String,
    #[serde(default)]
    description: String,
    #[serde(default)]
    parameters: Vec<Parameter>,
    request_body: Option<Body>,
    responses: Ordered<Body>,
}

#[derive(Deserialize)]
struct Parameter {
    name: String,
    #[serde(rename = "in")]
    place: String,
    #[serde(default)]
    description: String,
    required: bool,
    schema: Schema,
}

#[derive(Deserialize)]
struct Body {
    #[serde(default)]
    content: Ordered<Content>,
}

#[derive(Deserialize)]
struct Content {
    schema: Schema,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Schema {
    #[serde(rename = "$ref")]
    reference: Option<String>,
    #[serde(rename = "type")]
    types: Option<OneOrMore>,
    description: String,
    #[serde(rename = "enum")]
    names: Vec<String>,
    properties: Ordered<Schema>,
    required: Vec<String>,
    items: Option<ItemsOrNone>,
    prefix_items: Vec<Schema>,
    one_of: Vec<Schema>,
    all_of: Vec<Schema>,
    additional_properties: Option<ItemsOrNone>,
    default: Option<serde_json::Value>,
    maximum: Option<serde_json::Number>,
    max_items: Option<u64>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum OneOrMore {
    One(String),
    More(Vec<String>),
}

#[derive(Deserialize)]
#[serde(untagged)]
enum ItemsOrNone {
    /// `false`: there are none.
    None(#[expect(dead_code)] bool),
    Items(Box<Schema>),
}

/// Every question, under a heading for each tag.
///
/// # Errors
/// Where the text is no description that this understands.
pub fn questions(description: &str) -> Result<String, String> {
    let description = understood(description)?;
    let mut out = String::new();
    for tag in &description.tags {
        let _ = writeln!(out, "\n## {}\n", tag.name);
        if !tag.description.is_empty() {
            let _ = writeln!(out, "{}\n", in_a_line(&tag.description));
        }
        for (path, operations) in &description.paths.0 {
            for (method, operation) in &operations.0 {
                if operation.tags.contains(&tag.name) {
                    description.question(&mut out, &method.to_uppercase(), path, operation);
                }
            }
        }
    }
    Ok(out.trim_start().to_owned())
}

/// Every shape of answers and posted questions, by name.
///
/// # Errors
/// Where the text is no description that this understands.
pub fn shapes(description: &str) -> Result<String, String> {
    let description = understood(description)?;
    let mut out = String::new();
    for (name, schema) in &description.components.schemas.0 {
        let fields = description.fields(schema);
        if fields.is_empty() {
            continue;
        }
        let _ = writeln!(out, "### {name}\n\n{}\n", in_a_line(&schema.description));
        out += "| field | is | meaning |\n|---|---|---|\n";
        for field in fields {
            let absent = match field.is_always_there {
                true => "",
                false => ", or absent",
            };
            let kind = description.kind(field.schema);
            let limits = limits(field.schema);
            let meaning = in_a_line(description.meaning(field.schema));
            let _ = writeln!(
                out,
                "| `{}` | {kind}{limits}{absent} | {meaning} |",
                field.name
            );
        }
        out += "\n";
    }
    out += "### Single values\n\n| name | is | meaning |\n|---|---|---|\n";
    for (name, schema) in &description.components.schemas.0 {
        if description.fields(schema).is_empty() {
            let (kind, meaning) = (description.kind(schema), in_a_line(&schema.description));
            let _ = writeln!(out, "| `{name}` | {kind} | {meaning} |");
        }
    }
    Ok(out)
}

fn understood(description: &str) -> Result<Description, String> {
    serde_json::from_str(description).map_err(|error| format!("{DESCRIPTION}: {error}"))
}

/// A field of a shape.
struct Field<'a> {
    name: &'a str,
    schema: &'a Schema,
    is_always_there: bool,
}

impl Description {
    fn question(&self, out: &mut String, method: &str, path: &str, operation: &Operation) {
        let _ = writeln!(out, "### `{method} {path}`\n");
        let text = format!("{} {}", operation.summary, operation.description);
        let _ = writeln!(out, "{}\n", in_a_line(&text));
        let asked = operation.request_body.as_ref();
        let asked = asked.and_then(|body| body.content.0.first());
        let answered = operation
            .responses
            .0
            .iter()
            .find(|(status, _)| status == "200");
        let answered = answered.and_then(|(_, body)| body.content.0.first());
        if let Some((_, content)) = asked {
            let _ = write!(out, "Question: {}. ", self.kind(&content.schema));
        }
        if let Some((media, content)) = answered {
            let kind = match media.as_str() {
                "application/json" => self.kind(&content.schema),
                bytes => format!("`{bytes}`"),
            };
            let _ = writeln!(out, "Answer: {kind}.\n");
        }
        if operation.parameters.is_empty() {
            return;
        }
        out.push_str("| parameter | is | default | meaning |\n|---|---|---|---|\n");
        for parameter in &operation.parameters {
            let default = match (&parameter.schema.default, parameter.required) {
                (Some(default), _) => format!("`{}`", default.to_string().replace('"', "")),
                (None, true) => "needed".to_owned(),
                (None, false) => "–".to_owned(),
            };
            let name = match parameter.place.as_str() {
                "path" => format!("{{{}}}", parameter.name),
                _ => parameter.name.clone(),
            };
            let (kind, limits) = (self.kind(&parameter.schema), limits(&parameter.schema));
            let meaning = in_a_line(&parameter.description);
            let _ = writeln!(out, "| `{name}` | {kind}{limits} | {default} | {meaning} |");
        }
        out.push('\n');
    }

    fn named(&self, reference: &str) -> Option<(&str, &Schema)> {
        let wanted = reference.rsplit('/').next()?;
        let mut schemas = self.components.schemas.0.iter();
        let (name, schema) = schemas.find(|(name, _)| name == wanted)?;
        Some((name, schema))
    }

    /// The fields of a shape, those of what it contains too; none where it is a single value.
    fn fields<'a>(&'a self, schema: &'a Schema) -> Vec<Field<'a>> {
        let referred = schema.reference.as_deref();
        let referred = referred.and_then(|reference| self.named(reference));
        let of_others = (schema.all_of.iter()).chain(referred.map(|(_, schema)| schema));
        let mut fields: Vec<Field<'_>> = of_others.flat_map(|part| self.fields(part)).collect();
        fields.extend(schema.properties.0.iter().map(|(name, property)| Field {
            name,
            schema: property,
            is_always_there: schema.required.contains(name),
        }));
        fields
    }

    /// What a field means: its own words, or those of what it may be.
    fn meaning<'a>(&self, schema: &'a Schema) -> &'a str {
        let mut parts = schema.one_of.iter().map(|part| self.meaning(part));
        match schema.description.as_str() {
            "" => parts.find(|text| !text.is_empty()).unwrap_or_default(),
            text => text,
        }
    }

    /// What a value is, in a few words.
    fn kind(&self, schema: &Schema) -> String {
        if let Some((name, named)) = schema.reference.as_deref().and_then(|of| self.named(of)) {
            return match self.fields(named).is_empty() {
                true => format!("[`{name}`](#single-values)"),
                false => format!("[`{name}`](#{})", name.to_lowercase()),
            };
        }
        if !schema.one_of.is_empty() {
            // What it is, before that it may be null.
            let mut kinds: Vec<String> = schema.one_of.iter().map(|one| self.kind(one)).collect();
            kinds.sort_by_key(|kind| kind == "null");
            return kinds.join(" or ");
        }
        if !schema.names.is_empty() {
            let names: Vec<String> = schema
                .names
                .iter()
                .map(|name| format!("`{name}`"))
                .collect();
            return names.join(", ");
        }
        if !schema.prefix_items.is_empty() {
            let parts: Vec<String> = schema
                .prefix_items
                .iter()
                .map(|one| self.kind(one))
                .collect();
            return format!("[{}]", parts.join(", "));
        }
        let types = match &schema.types {
            None => vec!["any JSON"],
            Some(OneOrMore::One(name)) => vec![name.as_str()],
            Some(OneOrMore::More(names)) => names.iter().map(String::as_str).collect(),
        };
        let kinds: Vec<String> = (types.into_iter())
            .map(
                |name| match (name, &schema.items, &schema.additional_properties) {
                    ("array", Some(ItemsOrNone::Items(items)), _) => {
                        format!("list of {}", self.kind(items))
                    }
                    ("object", _, Some(ItemsOrNone::Items(values))) => {
                        format!("object of {}", self.kind(values))
                    }
                    ("string", ..) => "text".to_owned(),
                    (name, ..) => name.to_owned(),
                },
            )
            .collect();
        kinds.join(" or ")
    }
}

/// How much is allowed, where there is a limit.
fn limits(schema: &Schema) -> String {
    match (&schema.maximum, schema.max_items) {
        (Some(most), _) => format!(", at most {most}"),
        (None, Some(most)) => format!(", at most {most}"),
        (None, None) => String::new(),
    }
}

/// A description as a cell of a table holds it.
fn in_a_line(text: &str) -> String {
    let words: Vec<&str> = text.split_whitespace().collect();
    words.join(" ").replace('|', "\\|")
}

#[cfg(test)]
mod tests {
    use super::*;

    const SHOP: &str = r##"{
        "tags": [{"name": "Goods", "description": "What is\nsold."}],
        "paths": {"/goods/{id}": {"get": {
            "tags": ["Goods"], "summary": "One of the goods.",
            "parameters": [
                {"name": "id", "in": "path", "required": true, "schema": {"type": "integer"}, "description": "Which."},
                {"name": "most", "in": "query", "required": false, "description": "How many.",
                 "schema": {"type": "integer", "default": 7, "maximum": 9}}],
            "responses": {
                "200": {"content": {"application/json": {"schema": {"$ref": "#/components/schemas/Good"}}}},
                "404": {"$ref": "#/components/responses/Unknown"}}}}},
        "components": {"schemas": {
            "Good": {"allOf": [
                {"$ref": "#/components/schemas/Priced"},
                {"type": "object", "required": ["name"], "properties": {
                    "name": {"type": "string", "description": "Its name."},
                    "kinds": {"type": "array", "items": {"$ref": "#/components/schemas/Kind"}},
                    "note": {"oneOf": [{"type": "null"}, {"$ref": "#/components/schemas/Kind", "description": "Else."}]}}}],
                "description": "A good."},
            "Kind": {"type": "string", "enum": ["raw", "made"], "description": "How."},
            "Priced": {"type": "object", "required": ["price"], "description": "Its price.",
                "properties": {"price": {"type": ["number", "null"], "description": "In cents."}}}}}
    }"##;

    #[test]
    fn a_question_is_told_with_its_parameters() {
        let expected = "\
## Goods

What is sold.

### `GET /goods/{id}`

One of the goods.

Answer: [`Good`](#good).

| parameter | is | default | meaning |
|---|---|---|---|
| `{id}` | integer | needed | Which. |
| `most` | integer, at most 9 | `7` | How many. |

";
        assert_eq!(questions(SHOP).unwrap(), expected);
    }

    #[test]
    fn a_shape_has_the_fields_of_what_it_contains() {
        let expected = "\
### Good

A good.

| field | is | meaning |
|---|---|---|
| `price` | number or null | In cents. |
| `name` | text | Its name. |
| `kinds` | list of [`Kind`](#single-values), or absent |  |
| `note` | [`Kind`](#single-values) or null, or absent | Else. |

### Priced

Its price.

| field | is | meaning |
|---|---|---|
| `price` | number or null | In cents. |

### Single values

| name | is | meaning |
|---|---|---|
| `Kind` | `raw`, `made` | How. |
";
        assert_eq!(shapes(SHOP).unwrap(), expected);
    }
}
