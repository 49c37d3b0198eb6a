//! What goes back when a question cannot be answered: a status, a title, and what can be done.

use axum::Json;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use serde_json::json;

use crate::jobs::NotThere;

/// Why a question was not answered.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Problem {
    /// It will be: ask again.
    NotYet { job: &'static str, done: f64 },
    /// The question makes no sense.
    Bad(String),
    /// There is no such thing.
    Unknown(String),
    /// It will not be answered any more: the server is going down.
    Cancelled,
    /// It can never be answered for this recording.
    Impossible(String),
    /// Something broke.
    Broken(String),
}

impl From<NotThere> for Problem {
    fn from(not_there: NotThere) -> Self {
        match not_there {
            NotThere::NotYet { job, done } => Self::NotYet { job, done },
            NotThere::Cancelled => Self::Cancelled,
            NotThere::Failed(why) => Self::Impossible(why),
        }
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let (status, text) = match self {
            Self::NotYet { job, done } => {
                let body = Json(json!({ "job": job, "done": done }));
                return (StatusCode::ACCEPTED, body).into_response();
            }
            Self::Bad(text) => (StatusCode::BAD_REQUEST, text),
            Self::Unknown(text) => (StatusCode::NOT_FOUND, text),
            Self::Cancelled => (
                StatusCode::SERVICE_UNAVAILABLE,
                "cancelled: the server is going down".to_owned(),
            ),
            Self::Impossible(text) => (StatusCode::CONFLICT, text),
            Self::Broken(text) => (StatusCode::INTERNAL_SERVER_ERROR, text),
        };
        let mut parts = text.splitn(2, "\n  hint: ");
        let title = parts.next().unwrap_or_default();
        let body = Json(json!({ "title": title, "detail": parts.next().unwrap_or_default() }));
        (status, body).into_response()
    }
}
