//! Rows of threads and processors, and what they show over a time.

use axum::body::Body;
use axum::extract::{Path, State};
use axum::http::header;
use axum::response::{IntoResponse, Response};
use serde::Deserialize;
use serde_json::json;
use slowpath_critical_path::critical_path_among;
use slowpath_model::{HostId, ThreadId};
use slowpath_views::{Track, arrows, intervals, path_row, screen, usage};

use super::{
    Answer, Asked, MOST_CELLS, MOST_ITEMS, MOST_PIXELS, MOST_ROWS, Posted, asked, limited, posted,
    range_of,
};
use crate::problem::Problem;
use crate::serve::Shared;

pub(super) async fn threads(State(shared): State<Shared>) -> Result<Answer, Problem> {
    shared
        .answer(|recording| {
            let history = recording.history.get()?;
            Answer::of(&json!({ "threads": history.rows.threads }))
        })
        .await
}

pub(super) async fn cpus(State(shared): State<Shared>) -> Result<Answer, Problem> {
    shared
        .answer(|recording| {
            let history = recording.history.get()?;
            Answer::of(&json!({ "cpus": history.rows.cpus }))
        })
        .await
}

#[derive(Clone, Copy, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Of {
    #[default]
    Threads,
    Cpus,
    Requests,
}

impl From<Of> for Track {
    fn from(of: Of) -> Self {
        match of {
            Of::Threads => Self::Threads,
            Of::Cpus => Self::Cpus,
            Of::Requests => Self::Requests,
        }
    }
}

#[derive(Deserialize)]
pub(super) struct RowsPosted {
    #[serde(default)]
    of: Of,
    #[serde(default)]
    rows: Vec<usize>,
    begin_ns: i64,
    end_ns: i64,
    #[serde(default)]
    pixels: usize,
    #[serde(default = "some")]
    limit: usize,
    /// Only arrows from or to this row.
    touching: Option<usize>,
}

impl RowsPosted {
    /// The time that is asked for, if it is one, and the rows are not too many.
    fn range(&self) -> Result<(i64, i64), Problem> {
        limited("rows", self.rows.len(), MOST_ROWS)?;
        range_of(self.begin_ns, self.end_ns)
    }
}

fn some() -> usize {
    10_000
}

pub(super) async fn screen_of_rows(
    State(shared): State<Shared>,
    question: Posted<RowsPosted>,
) -> Result<Response, Problem> {
    let question = posted(question)?;
    shared
        .answer(move |recording| {
            let history = recording.history.get()?;
            let range = question.range()?;
            let pixels = limited("pixels", question.pixels, MOST_PIXELS)?;
            limited("cells", question.rows.len() * pixels, MOST_CELLS)?;
            let shown = screen(
                &history.opened.history,
                &history.rows,
                question.of.into(),
                &question.rows,
                range,
                pixels,
            );
            let mut bytes = Vec::with_capacity(shown.values.len() * 5);
            for value in &shown.values {
                bytes.extend_from_slice(&value.to_le_bytes());
            }
            bytes.extend_from_slice(&shown.shares);
            let kind = [(header::CONTENT_TYPE, "application/octet-stream")];
            Ok((kind, Body::from(bytes)).into_response())
        })
        .await
}

pub(super) async fn intervals_of_rows(
    State(shared): State<Shared>,
    question: Posted<RowsPosted>,
) -> Result<Answer, Problem> {
    let question = posted(question)?;
    shared
        .answer(move |recording| {
            let history = recording.history.get()?;
            let range = question.range()?;
            let mut left = limited("intervals", question.limit, MOST_ITEMS)?;
            let mut complete = true;
            let mut rows = Vec::with_capacity(question.rows.len());
            for &row in &question.rows {
                let track = question.of.into();
                let (found, all) = intervals(
                    &history.opened.history,
                    &history.rows,
                    track,
                    row,
                    range,
                    left,
                );
                left -= found.len();
                complete &= all;
                let found = found.into_iter().map(|(begin, end, value)| {
                    json!({ "begin_ns": begin, "end_ns": end, "value": value })
                });
                rows.push(found.collect::<Vec<_>>());
            }
            Answer::of(&json!({ "rows": rows, "complete": complete }))
        })
        .await
}

pub(super) async fn arrows_of_rows(
    State(shared): State<Shared>,
    question: Posted<RowsPosted>,
) -> Result<Answer, Problem> {
    let question = posted(question)?;
    shared
        .answer(move |recording| {
            let history = recording.history.get()?;
            let requests = recording.requests.get()?;
            let range = question.range()?;
            let limit = limited("arrows", question.limit, MOST_ITEMS)?;
            let lines = |host: HostId| {
                let host = requests.recorded.hosts.get(host.index());
                host.and_then(|host| host.lines.as_ref())
            };
            let found = arrows(
                lines,
                &history.rows,
                &question.rows,
                question.touching,
                range,
                limit,
            );
            Answer::of(&found)
        })
        .await
}

#[derive(Deserialize)]
pub(super) struct UsageAsked {
    begin_ns: i64,
    end_ns: i64,
    buckets: usize,
}

pub(super) async fn usage_of_cpus(
    State(shared): State<Shared>,
    question: Asked<UsageAsked>,
) -> Result<Answer, Problem> {
    let question = asked(question)?;
    shared
        .answer(move |recording| {
            let history = recording.history.get()?;
            let range = range_of(question.begin_ns, question.end_ns)?;
            let buckets = limited("buckets", question.buckets, MOST_PIXELS)?;
            Answer::of(&usage(
                &history.opened.history,
                &history.rows,
                range,
                buckets,
            ))
        })
        .await
}

#[derive(Deserialize)]
pub(super) struct PathAsked {
    begin_ns: i64,
    end_ns: i64,
}

pub(super) async fn thread_path(
    State(shared): State<Shared>,
    row: Result<Path<usize>, axum::extract::rejection::PathRejection>,
    question: Asked<PathAsked>,
) -> Result<Answer, Problem> {
    let Path(row) = row.map_err(|error| Problem::Bad(error.body_text()))?;
    let question = asked(question)?;
    shared
        .answer(move |recording| {
            let history = recording.history.get()?;
            let requests = recording.requests.get()?;
            let thread = history.rows.threads.get(row);
            let thread =
                thread.ok_or_else(|| Problem::Unknown(format!("there is no row {row}")))?;
            let range = range_of(question.begin_ns, question.end_ns)?;
            let all = requests.recorded.all();
            let lines = all.hosts().lines(thread.host);
            let origin = recording.clocks()?.of_host(thread.host);
            let range = origin.range(range.0, range.1);
            let range = lines.map_or(range, |lines| range.intersect(lines.range()));
            let thread_id = ThreadId(thread.tid as i32);
            let path = critical_path_among(all.hosts(), thread.host, thread_id, range);
            Answer::of(&path_row(&path, &[], origin))
        })
        .await
}
