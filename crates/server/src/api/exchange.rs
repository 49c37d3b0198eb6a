//! How questions of the interface come in and answers go out: query, number, body and JSON.
//!
//! Whatever does not fit its type is refused with the reason, before a handler sees it. Limits beyond
//! types are the handlers' matter ([`limited`], [`range_of`]).

use axum::Json;
use axum::body::Body;
use axum::extract::{FromRequest, FromRequestParts, Path, Query, Request};
use axum::http::request::Parts;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::problem::Problem;

/// A question of the query string.
pub(crate) struct Asked<T>(pub(crate) T);

impl<T: DeserializeOwned, S: Send + Sync> FromRequestParts<S> for Asked<T> {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        match Query::from_request_parts(parts, state).await {
            Ok(Query(question)) => Ok(Self(question)),
            Err(error) => Err(Problem::Bad(error.body_text())),
        }
    }
}

/// A number in the path.
pub(crate) struct Numbered(pub(crate) usize);

impl<S: Send + Sync> FromRequestParts<S> for Numbered {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        match Path::from_request_parts(parts, state).await {
            Ok(Path(number)) => Ok(Self(number)),
            Err(error) => Err(Problem::Bad(error.body_text())),
        }
    }
}

/// A question of the body.
pub(crate) struct Posted<T>(pub(crate) T);

impl<T: DeserializeOwned, S: Send + Sync> FromRequest<S> for Posted<T> {
    type Rejection = Problem;

    async fn from_request(request: Request, state: &S) -> Result<Self, Problem> {
        match Json::from_request(request, state).await {
            Ok(Json(question)) => Ok(Self(question)),
            Err(error) if error.status() == StatusCode::PAYLOAD_TOO_LARGE => Err(Problem::TooLong),
            Err(error) => Err(Problem::Bad(error.body_text())),
        }
    }
}

/// An answer as JSON.
pub(crate) struct Answer(pub(crate) Vec<u8>);

impl Answer {
    pub(crate) fn of(answer: &impl Serialize) -> Result<Self, Problem> {
        let bytes = serde_json::to_vec(answer);
        bytes
            .map(Self)
            .map_err(|error| Problem::Broken(error.to_string()))
    }
}

impl IntoResponse for Answer {
    fn into_response(self) -> Response {
        (
            [(header::CONTENT_TYPE, "application/json")],
            Body::from(self.0),
        )
            .into_response()
    }
}

/// Two offsets with something between them.
pub(crate) fn range_of(begin: i64, end: i64) -> Result<(i64, i64), Problem> {
    match begin < end {
        true => Ok((begin, end)),
        false => Err(Problem::Bad(
            "the range is empty\n  hint: begin_ns must be less than end_ns".to_owned(),
        )),
    }
}

/// At most so many.
pub(crate) fn limited(what: &str, wanted: usize, most: usize) -> Result<usize, Problem> {
    match wanted <= most {
        true => Ok(wanted),
        false => Err(Problem::Bad(format!(
            "{wanted} {what} are too many\n  hint: at most {most}"
        ))),
    }
}

/// Into how many parts something is cut: at least one, at most so many.
pub(crate) fn parts(what: &str, wanted: usize, most: usize) -> Result<usize, Problem> {
    match wanted {
        0 => Err(Problem::Bad(format!(
            "0 {what} show nothing\n  hint: at least 1"
        ))),
        _ => limited(what, wanted, most),
    }
}
