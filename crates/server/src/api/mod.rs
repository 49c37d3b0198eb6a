//! The interface of our own views: `/api`, described in docs/reference/http.md.
//!
//! Handlers read the question, see to its limits and hand over to `views`; they compute nothing.

mod analyses;
mod requests;
mod timeline;

use std::collections::BTreeSet;

use axum::Router;
use axum::body::Body;
use axum::extract::{Query, State};
use axum::http::header;
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use slowpath_critical_path::State as ThreadState;
use slowpath_kernel::Extent;
use slowpath_model::{Diagnostic, TracerDomain};
use slowpath_views::{EventQuery, event_page};

use crate::problem::Problem;
use crate::recording::Recording;
use crate::serve::Shared;

/// The most rows of a question about rows.
const MOST_ROWS: usize = 10_000;
/// The most pixels of a row.
const MOST_PIXELS: usize = 16_384;
/// The most cells of a screen.
const MOST_CELLS: usize = 16 << 20;
/// The most of whatever a question says how many it wants.
const MOST_ITEMS: usize = 100_000;

pub(crate) fn routes() -> Router<Shared> {
    Router::new()
        .route("/recording", get(recording))
        .route("/progress", get(progress))
        .route("/threads", get(timeline::threads))
        .route("/threads/{row}/path", get(timeline::thread_path))
        .route("/cpus", get(timeline::cpus))
        .route("/screen", post(timeline::screen_of_rows))
        .route("/intervals", post(timeline::intervals_of_rows))
        .route("/arrows", post(timeline::arrows_of_rows))
        .route("/usage", get(timeline::usage_of_cpus))
        .route("/requests", get(requests::page))
        .route("/requests/{number}", get(requests::detail))
        .route("/paths", post(requests::paths))
        .route("/operations", get(requests::operations))
        .route("/distribution", get(requests::distribution_of_requests))
        .route("/compare", post(requests::comparison))
        .route("/findings", get(analyses::findings))
        .route("/services", get(analyses::services))
        .route("/analyses/{name}", get(analyses::analysis))
        .route("/events", get(events))
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

/// A question of the query string.
pub(crate) type Asked<T> = Result<Query<T>, axum::extract::rejection::QueryRejection>;

/// A question of the body.
pub(crate) type Posted<T> = Result<axum::Json<T>, axum::extract::rejection::JsonRejection>;

pub(crate) fn asked<T>(asked: Asked<T>) -> Result<T, Problem> {
    let asked = asked.map_err(|error| Problem::Bad(error.body_text()))?;
    Ok(asked.0)
}

pub(crate) fn posted<T>(posted: Posted<T>) -> Result<T, Problem> {
    let posted = posted.map_err(|error| Problem::Bad(error.body_text()))?;
    Ok(posted.0)
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

#[derive(Serialize)]
struct DiagnosticRow<'run> {
    code: &'static str,
    severity: String,
    message: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    count: Option<u64>,
    #[serde(skip_serializing_if = "str::is_empty")]
    file: &'run str,
}

async fn recording(State(shared): State<Shared>) -> Result<Answer, Problem> {
    shared
        .answer(|recording| Answer::of(&described(recording)?))
        .await
}

fn described(recording: &Recording) -> Result<Value, Problem> {
    let (experiment, range) = (&recording.experiment, recording.range()?);
    let clocks = recording.trace_clocks()?;
    let hosts = experiment.hosts();
    let requests = recording.requests.get().ok();
    let mut known: Vec<Value> = (hosts.iter().zip(0..))
        .map(|(host, id)| {
            let packets = host.source().packets().iter();
            let cpus: BTreeSet<u32> = packets.filter_map(|packet| Some(packet.cpu?.0)).collect();
            json!({ "id": id, "name": host.name, "has_kernel": true, "cpus": cpus })
        })
        .collect();
    if let Some(requests) = &requests {
        for (host, id) in requests.recorded.hosts.iter().zip(0..).skip(known.len()) {
            known.push(json!({ "id": id, "name": host.name, "has_kernel": false, "cpus": [] }));
        }
    }
    let traces = experiment.traces.iter().enumerate().map(|(place, trace)| {
        let origin = clocks.of_trace(place);
        let (source, schema) = (&*trace.source, trace.source.schema());
        let bounds = Extent::of(source).bounds;
        let lost: u64 = source
            .packets()
            .iter()
            .map(|packet| packet.lost_events)
            .sum();
        json!({
            "path": trace.path.display().to_string(),
            "format": trace.format,
            "tracer": schema.tracer,
            "host": schema.host,
            "kind": match schema.domain {
                TracerDomain::Kernel => "kernel",
                TracerDomain::User => "user space",
                TracerDomain::Unknown => "unknown",
            },
            "begin_ns": bounds.map(|(begin, _)| origin.offset(begin)),
            "end_ns": bounds.map(|(_, end)| origin.offset(end)),
            "packets": source.packets().len(),
            "bytes": source.packets().iter().map(|packet| packet.size).sum::<u64>(),
            "lost_events": lost,
        })
    });
    let of_requests = requests.iter().flat_map(|requests| &requests.diagnostics);
    let diagnostics = experiment.opening_diagnostics().chain(of_requests);
    let row = |diagnostic: &Diagnostic| {
        let row = DiagnosticRow {
            code: diagnostic.code.name(),
            severity: format!("{:?}", diagnostic.code.severity()).to_lowercase(),
            message: diagnostic.message.clone(),
            count: diagnostic.count,
            file: &diagnostic.place.file,
        };
        serde_json::to_value(row).unwrap_or_default()
    };
    Ok(json!({
        "name": recording.name,
        "paths": experiment.paths.iter().map(|path| path.display().to_string()).collect::<Vec<_>>(),
        "origin_ns": range.begin.ns().to_string(),
        "duration_ns": range.length().get(),
        "hosts": known,
        "traces": traces.collect::<Vec<_>>(),
        "span_files": experiment.span_files().len(),
        "diagnostics": diagnostics.map(row).collect::<Vec<_>>(),
        "version": env!("CARGO_PKG_VERSION"),
        "states": ThreadState::ALL.map(ThreadState::name),
    }))
}

async fn progress(State(shared): State<Shared>) -> Result<Answer, Problem> {
    let jobs = shared.recording.progress();
    let done = jobs
        .iter()
        .filter(|job| job.wanted)
        .all(|job| job.is_over());
    Answer::of(&json!({ "jobs": jobs, "done": done }))
}

#[derive(Deserialize)]
struct EventsAsked {
    at_ns: i64,
    #[serde(default)]
    before: usize,
    #[serde(default = "hundred")]
    after: usize,
    #[serde(default)]
    name: String,
    #[serde(default)]
    text: String,
}

fn hundred() -> usize {
    100
}

async fn events(
    State(shared): State<Shared>,
    question: Asked<EventsAsked>,
) -> Result<Answer, Problem> {
    let question = asked(question)?;
    shared
        .answer(move |recording| {
            let clocks = recording.trace_clocks()?;
            let query = EventQuery {
                at: question.at_ns,
                before: limited("events", question.before, 1_000)?,
                after: limited("events", question.after, 1_000)?,
                name: question.name,
                text: question.text,
            };
            Answer::of(&event_page(&recording.experiment, &query, &clocks))
        })
        .await
}
