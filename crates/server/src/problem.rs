//! What goes back when a question cannot be answered: a status, a title, and what can be done.

use axum::Json;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use serde::Serialize;
use utoipa::ToSchema;

use crate::jobs::NotThere;

/// Why a question was not answered.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Problem {
    /// It will be: ask again.
    NotYet { job: &'static str, done: f64 },
    /// The question makes no sense.
    Bad(String),
    /// The question has too many bytes.
    TooLong,
    /// There is such a question, but it is not asked so.
    WrongMethod,
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

/// It is being computed.
#[derive(Serialize, ToSchema)]
pub(crate) struct NotYet {
    /// What is waited for.
    job: &'static str,
    /// How much of it is done, from 0 to 1.
    done: f64,
}

/// Why there is no answer.
#[derive(Serialize, ToSchema)]
pub(crate) struct Refusal<'text> {
    /// What is wrong.
    title: &'text str,
    /// What can be done; empty where there is nothing to say.
    detail: &'text str,
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let (status, text) = match self {
            Self::NotYet { job, done } => {
                let body = Json(NotYet { job, done });
                return (StatusCode::ACCEPTED, body).into_response();
            }
            Self::Bad(text) => (StatusCode::BAD_REQUEST, text),
            Self::TooLong => (
                StatusCode::PAYLOAD_TOO_LARGE,
                "the question is too long\n  hint: at most 1 MiB".to_owned(),
            ),
            Self::WrongMethod => (
                StatusCode::METHOD_NOT_ALLOWED,
                "this is not asked with that method\n  hint: the header `allow` says with which"
                    .to_owned(),
            ),
            Self::Unknown(text) => (StatusCode::NOT_FOUND, text),
            Self::Cancelled => (
                StatusCode::SERVICE_UNAVAILABLE,
                "cancelled: the server is going down".to_owned(),
            ),
            Self::Impossible(text) => (StatusCode::CONFLICT, text),
            Self::Broken(text) => (StatusCode::INTERNAL_SERVER_ERROR, text),
        };
        let (title, detail) = text.split_once("\n  hint: ").unwrap_or((&text, ""));
        (status, Json(Refusal { title, detail })).into_response()
    }
}
