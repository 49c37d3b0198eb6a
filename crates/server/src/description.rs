//! The description of the interface (OpenAPI 3.1), made of the handlers and of what they ask and answer.
//!
//! docs/reference/openapi.json is this text; docs/reference/http.md and the browser application's types are
//! made of it. Not a place for what a single question means: that stands above its handler.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use axum::extract::State;
use axum::http::header;
use axum::response::{IntoResponse, Response as Answered};
use utoipa::openapi::path::{Operation, ParameterIn};
use utoipa::openapi::{
    Content, ObjectBuilder, Ref, RefOr, Response, ResponseBuilder, Schema, Type,
};
use utoipa::{IntoResponses, OpenApi as _};
use utoipa_axum::router::OpenApiRouter;

use crate::api;
use crate::jobs::NotThere;
use crate::problem::{NotYet, Refusal};
use crate::serve::Shared;

pub(crate) const RECORDING: &str = "The recording";
pub(crate) const ROWS: &str = "Threads and processors";
pub(crate) const REQUESTS: &str = "Requests";
pub(crate) const FINDINGS: &str = "Findings, services, events";
pub(crate) const STORES: &str = "Data stores";
pub(crate) const TRANSFERS: &str = "Transfers";
pub(crate) const EXPLORATION: &str = "Explorations";
pub(crate) const ANALYSES: &str = "Analyses";

/// What the description says that no single handler does.
#[derive(utoipa::OpenApi)]
#[openapi(
    info(
        title = "slowpath serve",
        description = "Where requests' time went, as the browser application asks for it. Times are \
                       nanoseconds since the begin of the recording, durations are nanoseconds.",
    ),
    components(schemas(NotYet, Refusal)),
    tags(
        (name = RECORDING),
        (name = ROWS, description = "Rows are numbered; these numbers go into other questions as `row` and `rows`."),
        (name = REQUESTS, description = "Requests are numbered as `id`."),
        (name = FINDINGS),
        (name = STORES, description = "Of recordings whose `has_stores` says so. What the numbers mean: \
                                       definitions.md, sections redis and state."),
        (name = TRANSFERS, description = "Of recordings with `transfer_reports`. What the numbers mean: \
                                          definitions.md, section transfers."),
        (name = EXPLORATION, description = "Of recordings whose `has_exploration` says so: folders that `slowpath explore` \
                                            writes, also while it runs. What the numbers mean: definitions.md, section explore."),
        (name = ANALYSES, description = "As `slowpath count`, `cpu`, `io` and `latency` with `--json`: times are \
                                         nanoseconds since the Unix epoch here."),
    )
)]
struct Frame;

/// An answer that many questions have: its status, its name in the description, what it means.
type Common = (&'static str, &'static str, &'static str);

const NOT_YET: Common = ("202", "NotYet", "It is being computed: ask again.");
const BAD: Common = ("400", "Bad", "The question makes no sense.");
const NO_TOKEN: Common = ("401", "NoToken", "The token is missing.");
const STRANGER: Common = (
    "403",
    "Stranger",
    "By a name or from an origin that is not ours.",
);
const UNKNOWN: Common = ("404", "Unknown", "There is no such row or request.");
const TOO_LATE: Common = ("408", "TooLate", "It took longer than 60 s.");
const NEVER: Common = (
    "409",
    "Never",
    "It can never be answered for this recording.",
);
const TOO_LONG: Common = ("413", "TooLong", "The question has more than 1 MiB.");
const BROKEN: Common = ("500", "Broken", "Something broke: a mistake of slowpath.");
const CANCELLED: Common = ("503", "Cancelled", "The server is going down.");
const COMMON: [Common; 10] = [
    NOT_YET, BAD, NO_TOKEN, STRANGER, UNKNOWN, TOO_LATE, NEVER, TOO_LONG, BROKEN, CANCELLED,
];

/// What waits for a part of the recording may have to wait, or wait in vain.
impl IntoResponses for NotThere {
    fn responses() -> BTreeMap<String, RefOr<Response>> {
        BTreeMap::from([NOT_YET, NEVER, CANCELLED].map(reference))
    }
}

fn reference((status, name, _): Common) -> (String, RefOr<Response>) {
    (status.to_owned(), Ref::from_response_name(name).into())
}

/// The rows of analyses, which say whose they are where several hosts are told of
/// ([`slowpath_views::merge_documents`]).
const ROWS_OF_HOSTS: [&str; 11] = [
    "CpuUse",
    "ThreadUse",
    "ProcessIo",
    "FileIo",
    "LatencyEntry",
    "StoreServer",
    "StoreCommand",
    "StoreClient",
    "StoreCommandRun",
    "StoreBusMessages",
    "StoreFinding",
];

static DESCRIPTION: LazyLock<String> = LazyLock::new(|| {
    let mut description = OpenApiRouter::<Shared>::with_openapi(Frame::openapi())
        .nest("/api", api::routes())
        .into_openapi();
    let components = description.components.get_or_insert_default();
    for common in COMMON {
        let (name, answer) = common_answer(common);
        components.responses.insert(name, answer.into());
    }
    for row in ROWS_OF_HOSTS {
        if let Some(schema) = components.schemas.get_mut(row) {
            add_host(schema);
        }
    }
    for path in description.paths.paths.values_mut() {
        for operation in [&mut path.get, &mut path.post].into_iter().flatten() {
            add_common(operation);
        }
    }
    let text = serde_json::to_string_pretty(&description);
    text.map_or_else(|error| error.to_string(), |text| text + "\n")
});

/// The description of the interface: OpenAPI 3.1 as JSON, the same for every recording.
pub fn description() -> &'static str {
    &DESCRIPTION
}

/// This description.
#[utoipa::path(get, path = "/openapi.json", tag = RECORDING,
    responses((status = OK, body = serde_json::Value)))]
pub(crate) async fn openapi(State(_): State<Shared>) -> Answered {
    let kind = [(header::CONTENT_TYPE, "application/json")];
    (kind, description()).into_response()
}

fn common_answer(common: Common) -> (String, Response) {
    let (_, name, means) = common;
    let shape = match common {
        NOT_YET => "NotYet",
        _ => "Refusal",
    };
    let content = Content::new(Some(Ref::from_schema_name(shape)));
    let answer = ResponseBuilder::new().description(means);
    (
        name.to_owned(),
        answer.content("application/json", content).build(),
    )
}

/// What can happen to every question of its form, beside what its handler says.
fn add_common(operation: &mut Operation) {
    let parameters = operation.parameters.as_deref().unwrap_or_default();
    let names_something = parameters
        .iter()
        .any(|parameter| parameter.parameter_in == ParameterIn::Path);
    let has_body = operation.request_body.is_some();
    let mut add = |common: Common, applies: bool| {
        if applies {
            operation.responses.responses.extend([reference(common)]);
        }
    };
    add(BAD, has_body || !parameters.is_empty());
    add(UNKNOWN, names_something);
    add(TOO_LONG, has_body);
    for always in [NO_TOKEN, STRANGER, TOO_LATE, BROKEN] {
        add(always, true);
    }
    if let Some(RefOr::T(answer)) = operation.responses.responses.get_mut("200") {
        "The answer.".clone_into(&mut answer.description);
    }
}

fn add_host(row: &mut RefOr<Schema>) {
    let about = "The host's name, where several hosts are told of.";
    let host = ObjectBuilder::new()
        .schema_type(Type::String)
        .description(Some(about));
    let fields = match row {
        RefOr::T(Schema::Object(fields)) => Some(fields),
        RefOr::T(Schema::AllOf(parts)) => parts.items.iter_mut().find_map(|part| match part {
            RefOr::T(Schema::Object(fields)) => Some(fields),
            _ => None,
        }),
        _ => None,
    };
    if let Some(fields) = fields {
        fields.properties.insert("host".to_owned(), host.into());
    }
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;

    const KEPT: &str = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../docs/reference/openapi.json"
    );

    #[test]
    fn the_description_in_the_repository_is_fresh() {
        let kept = std::fs::read_to_string(KEPT).unwrap();
        assert!(
            kept == description(),
            "docs/reference/openapi.json is stale\n  hint: cargo xtask generate"
        );
    }

    #[test]
    fn everything_is_said_and_null_is_not_the_same_as_absent() {
        let description: Value = serde_json::from_str(description()).unwrap();
        let shapes = description["components"]["schemas"].as_object().unwrap();
        let mut wrong = Vec::new();
        for (name, shape) in shapes {
            let parts = shape["allOf"].as_array();
            let parts = parts.map_or(vec![shape], |parts| parts.iter().collect());
            for (field, schema) in parts.iter().flat_map(|part| fields(part)) {
                // States speak for themselves.
                if name != "TimeByState" && !schema.to_string().contains("description") {
                    wrong.push(format!("{name}.{field} is not described"));
                }
                let required = parts.iter().any(|part| lists(&part["required"], field));
                let is_null = schema.to_string().contains("\"null\"");
                if !required && is_null && !name.ends_with("Question") {
                    wrong.push(format!("{name}.{field} may be null or absent"));
                }
            }
        }
        for (path, operations) in description["paths"].as_object().unwrap() {
            for (method, operation) in operations.as_object().unwrap() {
                let parameters = operation["parameters"].as_array().into_iter().flatten();
                for parameter in parameters {
                    if parameter["description"].as_str().is_none_or(str::is_empty) {
                        wrong.push(format!("{method} {path}: {}", parameter["name"]));
                    }
                }
            }
        }
        assert_eq!(wrong, [""; 0]);
    }

    fn fields(shape: &Value) -> impl Iterator<Item = (&String, &Value)> {
        shape["properties"].as_object().into_iter().flatten()
    }

    fn lists(names: &Value, name: &str) -> bool {
        let mut names = names.as_array().into_iter().flatten();
        names.any(|known| known == name)
    }
}
