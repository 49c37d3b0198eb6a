//! Traces and experiments: what was opened, which clients may close and open again; bookmarks.

use std::collections::BTreeMap;
use std::path::{Path as FilePath, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use axum::body::Bytes;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use serde::Deserialize;
use serde_json::{Value, json};
use slowpath_kernel::Extent;
use slowpath_model::{TimeRange, Timestamp};
use xxhash_rust::xxh3::xxh3_128;

use super::parameters;
use crate::api::Answer;
use crate::jobs::NotThere;
use crate::problem::Problem;
use crate::recording::{Job, Recording};
use crate::serve::Shared;

/// What clients see as open.
pub(crate) struct Registry {
    /// The experiment's UUID.
    experiment: String,
    /// Paths that were opened: as named and in full, with their UUIDs.
    traces: Vec<(PathBuf, PathBuf, String)>,
    now: Mutex<Now>,
}

struct Now {
    name: String,
    is_open: bool,
    closed_traces: Vec<usize>,
    bookmarks: BTreeMap<String, Bookmark>,
    next_bookmark: u64,
}

#[derive(Clone, Deserialize)]
struct Bookmark {
    name: String,
    start: i64,
    end: i64,
}

/// A UUID made of a text: always the same one for the same text (version 8 of RFC 9562).
fn uuid_of(text: &str) -> String {
    let hash = xxh3_128(text.as_bytes());
    format!(
        "{:08x}-{:04x}-8{:03x}-{:04x}-{:012x}",
        (hash >> 96) as u32,
        (hash >> 80) as u16,
        (hash >> 64) as u16 & 0xfff,
        (hash >> 48) as u16 & 0x3fff | 0x8000,
        hash as u64 & 0xffff_ffff_ffff
    )
}

impl Registry {
    pub(crate) fn of(recording: &Recording) -> Self {
        let paths = recording.experiment.paths.iter();
        let traces: Vec<(PathBuf, PathBuf, String)> = paths
            .map(|path| {
                let full = path.canonicalize().unwrap_or_else(|_| path.clone());
                let uuid = uuid_of(&full.display().to_string());
                (path.clone(), full, uuid)
            })
            .collect();
        let all: Vec<&str> = traces.iter().map(|(.., uuid)| uuid.as_str()).collect();
        Self {
            experiment: uuid_of(&all.join(" ")),
            traces,
            now: Mutex::new(Now {
                name: recording.name.clone(),
                is_open: true,
                closed_traces: Vec::new(),
                bookmarks: BTreeMap::new(),
                next_bookmark: 0,
            }),
        }
    }

    fn now(&self) -> MutexGuard<'_, Now> {
        self.now.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether the experiment of that UUID is open.
    pub(super) fn experiment(&self, uuid: &str) -> Result<(), Problem> {
        match uuid == self.experiment && self.now().is_open {
            true => Ok(()),
            false => Err(Problem::Unknown(format!(
                "No experiment found with uuid {uuid}"
            ))),
        }
    }

    fn place(&self, uuid: &str) -> Result<usize, Problem> {
        let place = self.traces.iter().position(|(.., known)| known == uuid);
        let place = place.filter(|place| !self.now().closed_traces.contains(place));
        place.ok_or_else(|| Problem::Unknown(format!("No trace found with uuid {uuid}")))
    }
}

pub(super) async fn identifier() -> Result<Answer, Problem> {
    Answer::of(&json!({
        "version": env!("CARGO_PKG_VERSION"),
        "os": std::env::consts::OS,
        "osArch": std::env::consts::ARCH,
        "cpuCount": std::thread::available_parallelism().map_or(1, std::num::NonZero::get),
        "productId": "slowpath",
        "tspVersion": "0.6.0",
    }))
}

fn trace_document(recording: &Recording, registry: &Registry, place: usize) -> Value {
    let (path, full, uuid) = &registry.traces[place];
    let within = |trace: &FilePath| {
        trace.starts_with(path)
            || trace
                .canonicalize()
                .is_ok_and(|trace| trace.starts_with(full))
    };
    let clocks = recording.trace_clocks().ok().zip(recording.clocks().ok());
    let traces = recording.experiment.traces.iter().enumerate();
    let traces = traces.filter(|(_, trace)| within(&trace.path));
    let mut told: BTreeMap<String, Vec<(&str, String)>> = BTreeMap::new();
    let mut range: Option<TimeRange> = None;
    for (position, trace) in traces {
        let schema = trace.source.schema();
        let host = ("hostname".to_owned(), schema.host.clone());
        let environment = schema.environment.iter().cloned();
        let environment =
            environment.filter(|(key, _)| key != "hostname" || schema.host.is_empty());
        for (key, value) in environment.chain([host]) {
            told.entry(key).or_default().push((&schema.host, value));
        }
        if let Some((begin, end)) = Extent::of(&*trace.source).bounds {
            let shown = |at: Timestamp| match &clocks {
                Some((of_traces, clocks)) => clocks.shown(of_traces.of_trace(position).offset(at)),
                None => at,
            };
            let of_trace = TimeRange::new(shown(begin), shown(end));
            range = Some(range.map_or(of_trace, |range| range.hull(of_trace)));
        }
    }
    let properties = properties_of(told);
    let range = range.unwrap_or(shown_range(recording));
    let name = full.file_name().map_or(full.display().to_string(), |name| {
        name.to_string_lossy().into_owned()
    });
    let (events, status) = indexed(recording);
    json!({
        "name": name,
        "path": full.display().to_string(),
        "UUID": uuid,
        "nbEvents": events,
        "start": range.begin.ns(),
        "end": range.end.ns(),
        "properties": properties,
        "indexingStatus": status,
    })
}

/// What the environments of several traces say: where they say different things, each with its host, and all
/// that the traces of a host say.
fn properties_of(told: BTreeMap<String, Vec<(&str, String)>>) -> BTreeMap<String, String> {
    let mut properties = BTreeMap::new();
    for (key, values) in told {
        let first = &values[0].1;
        if values.iter().all(|(_, value)| value == first) {
            if !first.is_empty() {
                properties.insert(key, first.clone());
            }
            continue;
        }
        for (host, value) in values {
            let said: &mut String = properties.entry(format!("{key} ({host})")).or_default();
            if said.is_empty() {
                *said = value;
            } else if !said.split(", ").any(|known| known == value) {
                *said += &format!(", {value}");
            }
        }
    }
    properties
}

/// The time of the recording; nothing while the clocks of its hosts are not known.
fn shown_range(recording: &Recording) -> TimeRange {
    let begin = Timestamp::from_ns(0);
    recording.range().unwrap_or(TimeRange::new(begin, begin))
}

/// Events counted, and whether that is over.
fn indexed(recording: &Recording) -> (u64, &'static str) {
    recording.want(Job::EventIndex);
    match recording.event_index.get() {
        Ok(index) => (index.total(), "COMPLETED"),
        Err(NotThere::NotYet { .. }) => (0, "RUNNING"),
        Err(NotThere::Cancelled | NotThere::Failed(_)) => (0, "COMPLETED"),
    }
}

fn experiment_document(recording: &Recording, registry: &Registry) -> Value {
    let traces = (0..registry.traces.len()).map(|place| trace_document(recording, registry, place));
    let (events, status) = indexed(recording);
    let range = shown_range(recording);
    json!({
        "name": registry.now().name,
        "UUID": registry.experiment,
        "nbEvents": events,
        "start": range.begin.ns(),
        "end": range.end.ns(),
        "indexingStatus": status,
        "traces": traces.collect::<Vec<_>>(),
    })
}

pub(super) async fn traces(State(shared): State<Shared>) -> Result<Answer, Problem> {
    let registry = shared.registry.clone();
    shared
        .answer(move |recording| {
            let closed = registry.now().closed_traces.clone();
            let open = (0..registry.traces.len()).filter(|place| !closed.contains(place));
            let open = open.map(|place| trace_document(recording, &registry, place));
            Answer::of(&open.collect::<Vec<_>>())
        })
        .await
}

pub(super) async fn trace(
    State(shared): State<Shared>,
    Path(uuid): Path<String>,
) -> Result<Answer, Problem> {
    let registry = shared.registry.clone();
    let place = registry.place(&uuid)?;
    shared
        .answer(move |recording| Answer::of(&trace_document(recording, &registry, place)))
        .await
}

#[derive(Deserialize)]
struct TraceParameters {
    uri: String,
}

/// Opens a trace again. What was not named when the server was started stays unread.
pub(super) async fn open_trace(
    State(shared): State<Shared>,
    body: Bytes,
) -> Result<Answer, Problem> {
    let wanted: TraceParameters = parameters(&body)?;
    let registry = shared.registry.clone();
    let uri = wanted.uri.strip_prefix("file://").unwrap_or(&wanted.uri);
    let is_it = |(path, full, _): &(PathBuf, PathBuf, String)| {
        path == FilePath::new(uri) || full == FilePath::new(uri.trim_end_matches('/'))
    };
    let place = registry.traces.iter().position(is_it);
    let place = place.ok_or_else(|| {
        Problem::Unknown(
            "this server shows other traces\n  hint: slowpath serve PATH shows that one".to_owned(),
        )
    })?;
    registry
        .now()
        .closed_traces
        .retain(|closed| *closed != place);
    shared
        .answer(move |recording| Answer::of(&trace_document(recording, &registry, place)))
        .await
}

pub(super) async fn close_trace(
    State(shared): State<Shared>,
    Path(uuid): Path<String>,
) -> Result<Response, Problem> {
    let registry = shared.registry.clone();
    let place = registry.place(&uuid)?;
    let in_use = registry.now().is_open;
    let document = shared
        .answer({
            let registry = registry.clone();
            move |recording| Ok(trace_document(recording, &registry, place))
        })
        .await?;
    if in_use {
        let body = json!({
            "title": "the trace is in use by an experiment",
            "detail": "close the experiment first",
            "trace": document,
        });
        return Ok((StatusCode::CONFLICT, axum::Json(body)).into_response());
    }
    registry.now().closed_traces.push(place);
    Ok(axum::Json(document).into_response())
}

pub(super) async fn all(State(shared): State<Shared>) -> Result<Answer, Problem> {
    let registry = shared.registry.clone();
    shared
        .answer(move |recording| {
            let is_open = registry.now().is_open;
            let open = is_open.then(|| experiment_document(recording, &registry));
            Answer::of(&open.into_iter().collect::<Vec<_>>())
        })
        .await
}

pub(super) async fn one(
    State(shared): State<Shared>,
    Path(uuid): Path<String>,
) -> Result<Answer, Problem> {
    let registry = shared.registry.clone();
    registry.experiment(&uuid)?;
    shared
        .answer(move |recording| Answer::of(&experiment_document(recording, &registry)))
        .await
}

#[derive(Deserialize)]
struct ExperimentParameters {
    name: String,
    traces: Vec<String>,
}

pub(super) async fn open(State(shared): State<Shared>, body: Bytes) -> Result<Answer, Problem> {
    let wanted: ExperimentParameters = parameters(&body)?;
    let registry = shared.registry.clone();
    let mut places = wanted
        .traces
        .iter()
        .map(|uuid| registry.place(uuid))
        .collect::<Result<Vec<_>, _>>()?;
    places.sort_unstable();
    places.dedup();
    if places.len() != registry.traces.len() {
        return Err(Problem::Bad(
            "this server shows one experiment, with all of its traces\n  hint: name all of GET /traces".to_owned(),
        ));
    }
    {
        let mut now = registry.now();
        now.is_open = true;
        now.name = wanted.name;
    }
    shared
        .answer(move |recording| Answer::of(&experiment_document(recording, &registry)))
        .await
}

pub(super) async fn close(
    State(shared): State<Shared>,
    Path(uuid): Path<String>,
) -> Result<Answer, Problem> {
    let registry = shared.registry.clone();
    registry.experiment(&uuid)?;
    registry.now().is_open = false;
    shared
        .answer(move |recording| Answer::of(&experiment_document(recording, &registry)))
        .await
}

fn bookmark_document(uuid: &str, bookmark: &Bookmark) -> Value {
    json!({ "uuid": uuid, "name": bookmark.name, "start": bookmark.start, "end": bookmark.end })
}

fn no_bookmark(uuid: &str) -> Problem {
    Problem::Unknown(format!("No bookmark found with uuid {uuid}"))
}

pub(super) async fn bookmarks(
    State(shared): State<Shared>,
    Path(uuid): Path<String>,
) -> Result<Answer, Problem> {
    shared.registry.experiment(&uuid)?;
    let now = shared.registry.now();
    let all = now
        .bookmarks
        .iter()
        .map(|(uuid, bookmark)| bookmark_document(uuid, bookmark));
    Answer::of(&all.collect::<Vec<_>>())
}

/// More than anybody sets by hand.
const MOST_BOOKMARKS: usize = 10_000;

pub(super) async fn add_bookmark(
    State(shared): State<Shared>,
    Path(uuid): Path<String>,
    body: Bytes,
) -> Result<Answer, Problem> {
    shared.registry.experiment(&uuid)?;
    let bookmark: Bookmark = parameters(&body)?;
    let mut now = shared.registry.now();
    if now.bookmarks.len() >= MOST_BOOKMARKS {
        return Err(Problem::Bad(format!(
            "there are {MOST_BOOKMARKS} bookmarks already"
        )));
    }
    now.next_bookmark += 1;
    let uuid = uuid_of(&format!("bookmark {}", now.next_bookmark));
    let document = bookmark_document(&uuid, &bookmark);
    now.bookmarks.insert(uuid, bookmark);
    Answer::of(&document)
}

pub(super) async fn bookmark(
    State(shared): State<Shared>,
    Path((uuid, bookmark)): Path<(String, String)>,
) -> Result<Answer, Problem> {
    shared.registry.experiment(&uuid)?;
    let now = shared.registry.now();
    let found = now
        .bookmarks
        .get(&bookmark)
        .ok_or_else(|| no_bookmark(&bookmark))?;
    Answer::of(&bookmark_document(&bookmark, found))
}

pub(super) async fn change_bookmark(
    State(shared): State<Shared>,
    Path((uuid, bookmark)): Path<(String, String)>,
    body: Bytes,
) -> Result<Answer, Problem> {
    shared.registry.experiment(&uuid)?;
    let changed: Bookmark = parameters(&body)?;
    let mut now = shared.registry.now();
    let found = now
        .bookmarks
        .get_mut(&bookmark)
        .ok_or_else(|| no_bookmark(&bookmark))?;
    *found = changed;
    Answer::of(&bookmark_document(&bookmark, found))
}

pub(super) async fn remove_bookmark(
    State(shared): State<Shared>,
    Path((uuid, bookmark)): Path<(String, String)>,
) -> Result<Answer, Problem> {
    shared.registry.experiment(&uuid)?;
    let removed = shared.registry.now().bookmarks.remove(&bookmark);
    let removed = removed.ok_or_else(|| no_bookmark(&bookmark))?;
    Answer::of(&bookmark_document(&bookmark, &removed))
}

#[cfg(test)]
mod tests {
    use super::{properties_of, uuid_of};

    #[test]
    fn what_hosts_tell_differently_stands_with_the_host() {
        let told = [
            ("kernel", [("a", "6.1"), ("b", "6.1")]),
            ("hostname", [("a", "a"), ("b", "b")]),
            ("nothing", [("a", ""), ("b", "")]),
        ];
        let told = told.map(|(key, values)| {
            let values = values.map(|(host, value)| (host, value.to_owned()));
            (key.to_owned(), values.to_vec())
        });
        let properties = properties_of(told.into());
        let shown: Vec<(&str, &str)> = (properties.iter())
            .map(|(key, value)| (key.as_str(), value.as_str()))
            .collect();
        assert_eq!(
            shown,
            [
                ("hostname (a)", "a"),
                ("hostname (b)", "b"),
                ("kernel", "6.1")
            ]
        );
    }

    #[test]
    fn uuids_are_well_formed_and_stay_the_same() {
        let uuid = uuid_of("/recordings/shop");
        assert_eq!(uuid, uuid_of("/recordings/shop"));
        assert_ne!(uuid, uuid_of("/recordings/shop2"));
        let parts: Vec<usize> = uuid.split('-').map(str::len).collect();
        assert_eq!(parts, [8, 4, 4, 4, 12]);
        assert!(
            uuid.as_bytes()[14] == b'8' && b"89ab".contains(&uuid.as_bytes()[19]),
            "{uuid}"
        );
    }
}
