//! The Trace Server Protocol, version 0.6.0, under `/tsp/api`: the viewers of VS Code and Theia work
//! with it.
//!
//! The one experiment is what was opened; its traces are the paths that were named. Clients may close
//! and open these, but nothing else: no path of a question is ever read. Answers that are not ready
//! have the status RUNNING; clients ask again.

mod annotations;
mod experiments;
mod outputs;
mod style;
mod tables;
mod time_graph;
mod trees;
mod xy;

pub(crate) use experiments::Registry;

use axum::Router;
use axum::body::Bytes;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use axum::routing::{any, get, post};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::api::Answer;
use crate::problem::Problem;
use crate::recording::Recording;
use crate::serve::Shared;
use outputs::Output;

/// The most items, samples or lines that a question may name.
const MOST_ITEMS: usize = 65_536;
/// The most samples of all items together.
const MOST_CELLS: usize = 16 << 20;

pub(crate) fn routes() -> Router<Shared> {
    const OUTPUTS: &str = "/experiments/{uuid}/outputs";
    let of_output = |path: &str| format!("{OUTPUTS}/{path}");
    Router::new()
        .route(
            "/health",
            get(async || axum::Json(json!({ "status": "UP" }))),
        )
        .route("/identifier", get(experiments::identifier))
        .route(
            "/traces",
            get(experiments::traces).post(experiments::open_trace),
        )
        .route(
            "/traces/{uuid}",
            get(experiments::trace).delete(experiments::close_trace),
        )
        .route(
            "/experiments",
            get(experiments::all).post(experiments::open),
        )
        .route(
            "/experiments/{uuid}",
            get(experiments::one).delete(experiments::close),
        )
        .route(
            "/experiments/{uuid}/bookmarks",
            get(experiments::bookmarks).post(experiments::add_bookmark),
        )
        .route(
            "/experiments/{uuid}/bookmarks/{bookmark}",
            get(experiments::bookmark)
                .put(experiments::change_bookmark)
                .delete(experiments::remove_bookmark),
        )
        .route("/config/types", get(async || axum::Json(json!([]))))
        .route("/config/types/{*rest}", any(no_configuration))
        .route(OUTPUTS, get(outputs::all))
        .route(&of_output("markerSets"), get(annotations::marker_sets))
        .route(&of_output("{id}"), get(outputs::one).post(cannot_derive))
        .route(&of_output("{id}/{derived}"), any(no_derived))
        .route(
            &of_output("{id}/configTypes"),
            get(outputs::configuration_types),
        )
        .route(&of_output("{id}/configTypes/{type}"), get(no_configuration))
        .route(&of_output("{id}/style"), post(style::styles))
        .route(
            &of_output("{id}/annotations"),
            get(annotations::categories).post(annotations::annotations),
        )
        .route(&of_output("timeGraph/{id}/tree"), post(time_graph::tree))
        .route(
            &of_output("timeGraph/{id}/states"),
            post(time_graph::states),
        )
        .route(
            &of_output("timeGraph/{id}/arrows"),
            post(time_graph::arrows_of_output),
        )
        .route(
            &of_output("timeGraph/{id}/tooltip"),
            post(time_graph::tooltip),
        )
        .route(&of_output("XY/{id}/tree"), post(xy::tree))
        .route(&of_output("XY/{id}/xy"), post(xy::series))
        .route(&of_output("genericXY/{id}/tree"), post(xy::generic_tree))
        .route(&of_output("genericXY/{id}/xy"), post(xy::generic_series))
        .route(&of_output("data/{id}/tree"), post(trees::tree))
        .route(&of_output("table/{id}/columns"), post(tables::columns))
        .route(&of_output("table/{id}/lines"), post(tables::lines))
        .fallback(any(async || {
            Problem::Unknown("the Trace Server Protocol 0.6.0 has no such call".to_owned())
        }))
}

async fn no_configuration() -> Problem {
    Problem::Unknown("there are no configurations".to_owned())
}

async fn no_derived() -> Problem {
    Problem::Unknown("there are no derived outputs".to_owned())
}

async fn cannot_derive(
    State(shared): State<Shared>,
    Path((uuid, id)): Path<(String, String)>,
) -> Result<Response, Problem> {
    shared.registry.experiment(&uuid)?;
    Output::find(&id)?;
    Err(Problem::Bad("outputs cannot be derived".to_owned()))
}

/// The output of a call, on the experiment that is open.
pub(super) type OfOutput = Path<(String, String)>;

/// A part of an answer: the model, or what has to be waited for.
pub(super) type Model<T> = Result<T, Problem>;

/// The parameters of a body; what is missing or wrong is told.
fn parameters<T: DeserializeOwned>(body: &[u8]) -> Result<T, Problem> {
    let bad = |error: serde_json::Error| {
        let text = error.to_string();
        let missing = text
            .strip_prefix("missing field `")
            .and_then(|rest| rest.split('`').next());
        Problem::Bad(match missing {
            Some(name) => format!("Missing query parameters: {name}"),
            None => format!("Invalid query parameters: {text}"),
        })
    };
    let body: Value = serde_json::from_slice(body).map_err(bad)?;
    let parameters = body.get("parameters").cloned();
    let parameters = parameters
        .ok_or_else(|| Problem::Bad("Missing query parameters: parameters".to_owned()))?;
    serde_json::from_value(parameters).map_err(bad)
}

/// Answers a call about an output: checks that it is there and has such data, reads the parameters, and
/// wraps the model up with its status.
async fn about<P, T>(
    shared: Shared,
    (uuid, id): (String, String),
    fits: impl Fn(Output) -> bool,
    body: Bytes,
    make: impl FnOnce(&Recording, Output, P) -> Model<T> + Send + 'static,
) -> Result<Response, Problem>
where
    P: DeserializeOwned + Send + 'static,
    T: Serialize + Send + 'static,
{
    shared.registry.experiment(&uuid)?;
    let output = Output::find(&id)?;
    if !fits(output) {
        return Ok(not_allowed(
            "Analysis cannot run",
            "this output has no such data",
        ));
    }
    let parameters = parameters(&body)?;
    let answered = shared
        .answer(move |recording| {
            output.want(recording);
            with_status(make(recording, output, parameters))
        })
        .await?;
    Ok(answered.into_response())
}

/// A model with its status, as every call about an output answers.
fn with_status<T: Serialize>(model: Model<T>) -> Result<Answer, Problem> {
    #[derive(Serialize)]
    struct Whole<'text, T> {
        #[serde(skip_serializing_if = "Option::is_none")]
        model: Option<T>,
        #[serde(rename = "statusMessage")]
        message: &'text str,
        status: &'static str,
    }
    match model {
        Ok(model) => Answer::of(&Whole {
            model: Some(model),
            message: "Completed",
            status: "COMPLETED",
        }),
        Err(Problem::NotYet { job, done }) => {
            let message = format!("{job}: {:.0} %", done * 100.0);
            Answer::of(&Whole::<T> {
                model: None,
                message: &message,
                status: "RUNNING",
            })
        }
        Err(Problem::Cancelled) => Answer::of(&Whole::<T> {
            model: None,
            message: "Cancelled",
            status: "CANCELLED",
        }),
        Err(Problem::Impossible(why)) => Answer::of(&Whole::<T> {
            model: None,
            message: why.lines().next().unwrap_or_default(),
            status: "FAILED",
        }),
        Err(problem) => Err(problem),
    }
}

fn not_allowed(title: &str, detail: &str) -> Response {
    let body = axum::Json(json!({ "title": title, "detail": detail }));
    (StatusCode::METHOD_NOT_ALLOWED, body).into_response()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_outcome_has_the_status_of_the_protocol() {
        let status = |model: Model<u32>| {
            let answer = with_status(model).ok().unwrap();
            serde_json::from_slice::<Value>(&answer.0).unwrap()
        };
        let of = |model| status(model)["status"].as_str().unwrap().to_owned();
        assert_eq!(of(Ok(7)), "COMPLETED");
        assert_eq!(of(Err(Problem::Cancelled)), "CANCELLED");
        assert_eq!(
            of(Err(Problem::Impossible("no events".to_owned()))),
            "FAILED"
        );
        let running = status(Err(Problem::NotYet {
            job: "requests",
            done: 0.25,
        }));
        assert_eq!(running["status"], "RUNNING");
        assert_eq!(running["statusMessage"], "requests: 25 %");
        assert!(with_status(Err::<u32, _>(Problem::Bad("no".to_owned()))).is_err());
    }
}
