//! Annotations: findings, and where events were lost.

use axum::body::Bytes;
use axum::extract::{Path, State};
use axum::response::Response;
use serde::Deserialize;
use serde_json::{Value, json};
use slowpath_model::TimeRange;
use slowpath_views::{Clocks, Origin, lost_events};

use super::outputs::Output;
use super::time_graph::Times;
use super::{Model, OfOutput, about, not_allowed, with_status};
use crate::api::Answer;
use crate::problem::Problem;
use crate::recording::{Job, Recording};
use crate::serve::Shared;

const FINDINGS: &str = "Findings";
const LOST: &str = "Lost events";

pub(super) async fn marker_sets(
    State(shared): State<Shared>,
    Path(uuid): Path<String>,
) -> Result<Answer, Problem> {
    shared.registry.experiment(&uuid)?;
    with_status(Ok(json!([])))
}

pub(super) async fn categories(
    State(shared): State<Shared>,
    Path((uuid, id)): OfOutput,
) -> Result<Response, Problem> {
    shared.registry.experiment(&uuid)?;
    if !is_annotated(Output::find(&id)?) {
        return Ok(not_allowed(
            "Analysis cannot run",
            "this output has no annotations",
        ));
    }
    let model = json!({ "annotationCategories": [FINDINGS, LOST] });
    Ok(axum::response::IntoResponse::into_response(with_status(
        Ok(model),
    )?))
}

fn is_annotated(output: Output) -> bool {
    output.is_time_graph() || output.is_xy()
}

#[derive(Deserialize)]
pub(super) struct AnnotationParameters {
    requested_timerange: Times,
    requested_marker_categories: Option<Vec<String>>,
}

pub(super) async fn annotations(
    State(shared): State<Shared>,
    Path(of): OfOutput,
    body: Bytes,
) -> Result<Response, Problem> {
    about(shared, of, is_annotated, body, annotations_in).await
}

fn annotations_in(recording: &Recording, _: Output, asked: AnnotationParameters) -> Model<Value> {
    let (range, _) = asked.requested_timerange.range()?;
    let wanted = |category: &str| {
        let categories = asked.requested_marker_categories.as_ref();
        categories.is_none_or(|categories| categories.iter().any(|one| one == category))
    };
    let clocks = recording.clocks()?;
    let mut annotations = serde_json::Map::new();
    if wanted(FINDINGS) {
        recording.want(Job::Findings);
        let rows: Vec<Value> = match recording.findings.get() {
            Ok(findings) => {
                let within = findings.findings.iter().map(|found| {
                    let shown = shown(clocks, clocks.of_host(found.id), found.finding.range);
                    (shown, &found.finding.title)
                });
                let within = within.filter(|(shown, _)| meets(*shown, range));
                within
                    .map(|(shown, title)| annotation(shown, title, "#c0392b"))
                    .collect()
            }
            Err(not_there) => match Problem::from(not_there) {
                // No requests: no findings.
                Problem::Impossible(_) => Vec::new(),
                problem => return Err(problem),
            },
        };
        annotations.insert(FINDINGS.to_owned(), Value::Array(rows));
    }
    if wanted(LOST) {
        let of_traces = recording.trace_clocks()?;
        let rows = lost_events(&recording.experiment, &of_traces, (i64::MIN, i64::MAX))
            .map(|row| {
                let shown = TimeRange::new(clocks.shown(row.begin_ns), clocks.shown(row.end_ns));
                (shown, row.events)
            })
            .filter(|(shown, _)| meets(*shown, range))
            .map(|(shown, lost)| annotation(shown, &format!("{lost} events lost"), "#646464"));
        annotations.insert(LOST.to_owned(), rows.take(10_000).collect());
    }
    Ok(json!({ "annotations": annotations }))
}

/// A range by a host's clock as the first host's has it.
fn shown(clocks: &Clocks, origin: Origin, range: TimeRange) -> TimeRange {
    let at = |at| clocks.shown(origin.offset(at));
    TimeRange::new(at(range.begin), at(range.end))
}

fn meets(one: TimeRange, other: TimeRange) -> bool {
    one.begin < other.end && one.end >= other.begin
}

fn annotation(range: TimeRange, label: &str, colour: &str) -> Value {
    json!({
        "entryId": -1,
        "type": "CHART",
        "time": range.begin.ns(),
        "duration": range.length().get(),
        "label": label,
        "style": { "values": { "color": colour, "opacity": 0.2 } },
    })
}
