//! Events, page by page.

use axum::extract::State;
use serde::Deserialize;
use slowpath_views::{EventPage, EventQuery, event_page};
use utoipa::IntoParams;

use super::exchange::{Answer, Asked, limited};
use crate::description::FINDINGS;
use crate::jobs::NotThere;
use crate::problem::Problem;
use crate::serve::Shared;

/// The most events before or after a time.
const MOST_EVENTS: usize = 1_000;

#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(super) struct EventsAsked {
    /// The time around which.
    at_ns: i64,
    /// How many that are earlier.
    #[serde(default)]
    #[param(default = 0, maximum = 1_000)]
    before: usize,
    /// How many from that time on.
    #[serde(default = "hundred")]
    #[param(default = 100, maximum = 1_000)]
    after: usize,
    /// A part of the event's name; empty for all.
    #[serde(default)]
    name: String,
    /// A part of the printed fields; empty for all.
    #[serde(default)]
    text: String,
}

fn hundred() -> usize {
    100
}

/// Events around a time.
///
/// A search (`name`, `text`) looks at a bounded part of a large recording; the answer says where it ended, and the
/// next question can go on from there.
#[utoipa::path(get, path = "/events", tag = FINDINGS, params(EventsAsked),
    responses((status = OK, body = EventPage), NotThere))]
pub(super) async fn events(
    State(shared): State<Shared>,
    Asked(question): Asked<EventsAsked>,
) -> Result<Answer, Problem> {
    shared
        .answer(move |recording| {
            let query = EventQuery {
                at: question.at_ns,
                before: limited("events", question.before, MOST_EVENTS)?,
                after: limited("events", question.after, MOST_EVENTS)?,
                name: question.name,
                text: question.text,
            };
            let clocks = recording.trace_clocks()?;
            Answer::of(&event_page(&recording.experiment, &query, &clocks))
        })
        .await
}
