//! Rows of threads and processors, and what they show over a time.

use axum::body::Body;
use axum::extract::State;
use axum::http::header;
use axum::response::{IntoResponse, Response};
use serde::{Deserialize, Serialize};
use slowpath_critical_path::critical_path_among;
use slowpath_model::{HostId, ThreadId};
use slowpath_session::OpenedHistory;
use slowpath_views::{
    Arrows, CpuRow, IoRates, LostRow, PathRow, RowPlace, StoreTrack, ThreadRow, Track, Usage,
    Wanted, io_rates, lost_events, path_row,
};
use utoipa::openapi::{KnownFormat, ObjectBuilder, RefOr, Schema, SchemaFormat, Type};
use utoipa::{IntoParams, PartialSchema, ToSchema};

use super::exchange::{Answer, Asked, Numbered, Posted, limited, parts, range_of};
use super::{MOST_CELLS, MOST_ITEMS, MOST_PIXELS, MOST_ROWS};
use crate::description::ROWS;
use crate::jobs::NotThere;
use crate::problem::Problem;
use crate::recording::{Job, Recording};
use crate::serve::Shared;

/// Threads.
#[derive(Serialize, ToSchema)]
struct Threads<'rows> {
    /// By host, process and thread.
    threads: &'rows [ThreadRow],
}

/// Every thread, with how long it was in each state.
#[utoipa::path(get, path = "/threads", tag = ROWS, responses((status = OK, body = Threads), NotThere))]
pub(super) async fn threads(State(shared): State<Shared>) -> Result<Answer, Problem> {
    shared
        .answer(|recording| {
            let history = recording.history.get()?;
            Answer::of(&Threads {
                threads: &history.rows.threads,
            })
        })
        .await
}

/// Processors.
#[derive(Serialize, ToSchema)]
struct Processors<'rows> {
    /// By host and number.
    cpus: &'rows [CpuRow],
}

/// Every processor, with how long threads ran on it.
#[utoipa::path(get, path = "/cpus", tag = ROWS, responses((status = OK, body = Processors), NotThere))]
pub(super) async fn cpus(State(shared): State<Shared>) -> Result<Answer, Problem> {
    shared
        .answer(|recording| {
            let history = recording.history.get()?;
            Answer::of(&Processors {
                cpus: &history.rows.cpus,
            })
        })
        .await
}

/// What rows show: `threads` (of threads: the place of a state in `states` of the recording), `cpus` (of
/// processors: the number of the thread that ran, 0 for none), `requests` (of threads: the number of the
/// request that they worked for), `store` (of rows of data stores: the place among `operations` or, of connections,
/// `structures`) or `store-commands` (of their connections: the place among `commands`).
#[derive(Clone, Copy, Default, Deserialize, ToSchema)]
#[serde(rename_all = "kebab-case")]
#[schema(as = TrackName)]
enum Of {
    #[default]
    Threads,
    Cpus,
    Requests,
    Store,
    StoreCommands,
}

impl Of {
    /// Answers from the history that has such rows, with where it keeps each of `rows`.
    fn drawn<A>(
        self,
        recording: &Recording,
        rows: &[usize],
        answer: impl FnOnce(&OpenedHistory, &[Option<RowPlace>]) -> A,
    ) -> Result<A, Problem> {
        let track = match self {
            Self::Threads => Track::Threads,
            Self::Cpus => Track::Cpus,
            Self::Requests => Track::Requests,
            Self::Store | Self::StoreCommands => {
                let track = match self {
                    Self::Store => StoreTrack::Operations,
                    _ => StoreTrack::Commands,
                };
                recording.want(Job::StoreHistory);
                let store = recording.store_history.get()?;
                let places = rows.iter().map(|&row| store.rows.place(track, row));
                let places: Vec<_> = places.collect();
                return Ok(answer(&store.opened, &places));
            }
        };
        let history = recording.history.get()?;
        let places = rows.iter().map(|&row| history.rows.place(track, row));
        let places: Vec<_> = places.collect();
        Ok(answer(&history.opened, &places))
    }
}

/// Rows to draw.
#[derive(Deserialize, ToSchema)]
#[schema(as = ScreenQuestion)]
pub(super) struct ScreenPosted {
    /// What they show.
    #[serde(default)]
    #[schema(default = "threads")]
    of: Of,
    /// Which, in the order in which they are wanted; those that are not there show nothing.
    #[schema(max_items = 10_000)]
    rows: Vec<usize>,
    /// From when.
    begin_ns: i64,
    /// Until when.
    end_ns: i64,
    /// Into how many parts the time is cut. Rows times pixels may be 16,777,216 at most.
    #[schema(minimum = 1, maximum = 16_384)]
    pixels: usize,
}

/// The answer to a question about a screen, which is no JSON.
struct ScreenBytes;

impl PartialSchema for ScreenBytes {
    fn schema() -> RefOr<Schema> {
        let bytes = ObjectBuilder::new().schema_type(Type::String);
        bytes
            .format(Some(SchemaFormat::KnownFormat(KnownFormat::Binary)))
            .into()
    }
}

impl ToSchema for ScreenBytes {}

/// What rows show, pixel by pixel.
///
/// The answer is bytes, row after row: for each pixel a value (u32, little-endian); after all values, for each
/// pixel a share (u8): how much of its time the value filled, in 255ths, 0 where nothing is known. The value is
/// the one that filled most. Where pixels are longer than the buckets for which the history has added up beforehand,
/// both are of the buckets in the pixel, each by its part in the pixel and for the value that filled most of it;
/// `/api/intervals` is exact.
#[utoipa::path(post, path = "/screen", tag = ROWS, request_body = ScreenPosted,
    responses((status = OK, content_type = "application/octet-stream", body = inline(ScreenBytes)), NotThere))]
pub(super) async fn screen(
    State(shared): State<Shared>,
    Posted(question): Posted<ScreenPosted>,
) -> Result<Response, Problem> {
    shared
        .answer(move |recording| {
            limited("rows", question.rows.len(), MOST_ROWS)?;
            let range = range_of(question.begin_ns, question.end_ns)?;
            let pixels = parts("pixels", question.pixels, MOST_PIXELS)?;
            limited("cells", question.rows.len() * pixels, MOST_CELLS)?;
            let draw = |opened: &OpenedHistory, rows: &[_]| {
                slowpath_views::screen(&opened.history, rows, range, pixels)
            };
            let shown = question.of.drawn(recording, &question.rows, draw)?;
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

/// Threads of which is asked when none of them did anything but wait.
#[derive(Deserialize, ToSchema)]
#[schema(as = QuietQuestion)]
pub(super) struct QuietPosted {
    /// Which.
    #[schema(max_items = 10_000)]
    rows: Vec<usize>,
    /// From when.
    begin_ns: i64,
    /// Until when.
    end_ns: i64,
    /// Into how many parts the time is cut, each of which counts as a whole. Rows times pixels may be 16,777,216 at
    /// most.
    #[schema(minimum = 1, maximum = 16_384)]
    pixels: usize,
}

/// When none of the threads did anything but wait.
#[derive(Serialize, ToSchema)]
struct Quiet {
    /// In the order of time, apart from each other.
    quiet: Vec<QuietStretch>,
}

/// A time in which each of the threads is blocked, or nothing is known of it.
#[derive(Serialize, ToSchema)]
struct QuietStretch {
    /// When it begins.
    begin_ns: i64,
    /// When it ends.
    end_ns: i64,
}

/// When none of some threads did anything but wait: time that a picture of them may leave out.
#[utoipa::path(post, path = "/quiet", tag = ROWS, request_body = QuietPosted,
    responses((status = OK, body = Quiet), NotThere))]
pub(super) async fn quiet(
    State(shared): State<Shared>,
    Posted(question): Posted<QuietPosted>,
) -> Result<Answer, Problem> {
    shared
        .answer(move |recording| {
            limited("rows", question.rows.len(), MOST_ROWS)?;
            let range = range_of(question.begin_ns, question.end_ns)?;
            let parts = parts("pixels", question.pixels, MOST_PIXELS)?;
            limited("cells", question.rows.len() * parts, MOST_CELLS)?;
            let history = recording.history.get()?;
            let opened = &history.opened.history;
            let found = slowpath_views::quiet(opened, &history.rows, &question.rows, range, parts);
            let stretch = |(begin_ns, end_ns)| QuietStretch { begin_ns, end_ns };
            Answer::of(&Quiet {
                quiet: found.into_iter().map(stretch).collect(),
            })
        })
        .await
}

/// Rows of which the intervals are wanted.
#[derive(Deserialize, ToSchema)]
#[schema(as = IntervalsQuestion)]
pub(super) struct IntervalsPosted {
    /// What they show.
    #[serde(default)]
    #[schema(default = "threads")]
    of: Of,
    /// Which, in the order in which they are wanted.
    #[schema(max_items = 10_000)]
    rows: Vec<usize>,
    /// From when.
    begin_ns: i64,
    /// Until when.
    end_ns: i64,
    /// How many at most, of all rows together.
    #[serde(default = "some")]
    #[schema(default = 10_000, maximum = 100_000)]
    limit: usize,
}

fn some() -> usize {
    10_000
}

/// Intervals of rows.
#[derive(Serialize, ToSchema)]
struct Intervals {
    /// By row, in the order of the question: in the order of time. What is not known is left out.
    rows: Vec<Vec<Interval>>,
    /// Whether these are all.
    complete: bool,
}

/// A row shows one value for a time.
#[derive(Serialize, ToSchema)]
struct Interval {
    /// When it begins, which may be before the time that was asked about.
    begin_ns: i64,
    /// When it ends.
    end_ns: i64,
    /// What the row shows: the number of a state, a thread, a request, or what of a data store.
    value: i64,
}

/// What rows show, exactly.
#[utoipa::path(post, path = "/intervals", tag = ROWS, request_body = IntervalsPosted,
    responses((status = OK, body = Intervals), NotThere))]
pub(super) async fn intervals(
    State(shared): State<Shared>,
    Posted(question): Posted<IntervalsPosted>,
) -> Result<Answer, Problem> {
    shared
        .answer(move |recording| {
            limited("rows", question.rows.len(), MOST_ROWS)?;
            let range = range_of(question.begin_ns, question.end_ns)?;
            let mut left = limited("intervals", question.limit, MOST_ITEMS)?;
            let tell = |opened: &OpenedHistory, rows: &[_]| {
                let mut answer = Intervals {
                    rows: Vec::with_capacity(rows.len()),
                    complete: true,
                };
                for &row in rows {
                    let (found, all) = slowpath_views::intervals(&opened.history, row, range, left);
                    left -= found.len();
                    answer.complete &= all;
                    let found = found.into_iter().map(|(begin_ns, end_ns, value)| Interval {
                        begin_ns,
                        end_ns,
                        value,
                    });
                    answer.rows.push(found.collect());
                }
                answer
            };
            Answer::of(&question.of.drawn(recording, &question.rows, tell)?)
        })
        .await
}

/// Threads whose wake-ups are wanted.
#[derive(Deserialize, ToSchema)]
#[schema(as = ArrowsQuestion)]
pub(super) struct ArrowsPosted {
    /// Rows of threads: wake-ups among these are told.
    #[schema(max_items = 10_000)]
    rows: Option<Vec<usize>>,
    /// Instead: wake-ups from or to this row, whichever the other one.
    touching: Option<usize>,
    /// From when.
    begin_ns: i64,
    /// Until when.
    end_ns: i64,
    /// How many at most.
    #[serde(default = "some")]
    #[schema(default = 10_000, maximum = 100_000)]
    limit: usize,
}

/// Who woke whom.
#[utoipa::path(post, path = "/arrows", tag = ROWS, request_body = ArrowsPosted,
    responses((status = OK, body = Arrows), NotThere))]
pub(super) async fn arrows(
    State(shared): State<Shared>,
    Posted(question): Posted<ArrowsPosted>,
) -> Result<Answer, Problem> {
    shared
        .answer(move |recording| {
            let wanted = match (question.rows, question.touching) {
                (Some(rows), None) => {
                    limited("rows", rows.len(), MOST_ROWS)?;
                    Wanted::Among(rows)
                }
                (None, Some(row)) => Wanted::Touching(row),
                _ => return Err(Problem::Bad(
                    "wake-ups are either among `rows` or `touching` one\n  hint: give one of both"
                        .to_owned(),
                )),
            };
            let range = range_of(question.begin_ns, question.end_ns)?;
            let limit = limited("arrows", question.limit, MOST_ITEMS)?;
            let history = recording.history.get()?;
            let requests = recording.requests.get()?;
            let lines = |host: HostId| {
                let host = requests.recorded.hosts.get(host.index());
                host.and_then(|host| host.lines.as_ref())
            };
            let found = slowpath_views::arrows(lines, &history.rows, &wanted, range, limit);
            Answer::of(&found)
        })
        .await
}

#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(super) struct UsageAsked {
    /// From when.
    begin_ns: i64,
    /// Until when.
    end_ns: i64,
    /// Into how many equal parts the time is cut.
    #[param(minimum = 1, maximum = 16_384)]
    buckets: usize,
}

/// How busy processors were over a time.
#[utoipa::path(get, path = "/usage", tag = ROWS, params(UsageAsked),
    responses((status = OK, body = Usage), NotThere))]
pub(super) async fn usage(
    State(shared): State<Shared>,
    Asked(question): Asked<UsageAsked>,
) -> Result<Answer, Problem> {
    shared
        .answer(move |recording| {
            let range = range_of(question.begin_ns, question.end_ns)?;
            let buckets = parts("buckets", question.buckets, MOST_PIXELS)?;
            let history = recording.history.get()?;
            Answer::of(&slowpath_views::usage(
                &history.opened.history,
                &history.rows,
                range,
                buckets,
            ))
        })
        .await
}

/// What was read and written over a time.
#[utoipa::path(get, path = "/io", tag = ROWS, params(UsageAsked),
    responses((status = OK, body = IoRates), NotThere))]
pub(super) async fn io_over_time(
    State(shared): State<Shared>,
    Asked(question): Asked<UsageAsked>,
) -> Result<Answer, Problem> {
    shared
        .answer(move |recording| {
            let range = range_of(question.begin_ns, question.end_ns)?;
            let buckets = parts("buckets", question.buckets, MOST_PIXELS)?;
            recording.want(Job::Io);
            let io = recording.io.get()?;
            let clocks = recording.clocks()?;
            Answer::of(&io_rates(&io.over_time, clocks, range, buckets))
        })
        .await
}

/// The most packets with losses that are told one by one.
const MOST_LOSSES: usize = 10_000;

/// Where events were lost.
#[derive(Serialize, ToSchema)]
struct Losses {
    /// Packets before or in which events were lost, trace by trace; at most 10,000.
    lost: Vec<LostRow>,
    /// Whether these are all.
    complete: bool,
}

/// Where events were lost.
#[utoipa::path(get, path = "/lost", tag = ROWS,
    responses((status = OK, body = Losses), NotThere))]
pub(super) async fn lost(State(shared): State<Shared>) -> Result<Answer, Problem> {
    shared
        .answer(|recording| {
            let clocks = recording.trace_clocks()?;
            let all = lost_events(&recording.experiment, &clocks, (i64::MIN, i64::MAX));
            let lost: Vec<LostRow> = all.take(MOST_LOSSES).collect();
            let complete = lost.len() < MOST_LOSSES;
            Answer::of(&Losses { lost, complete })
        })
        .await
}

#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(super) struct PathAsked {
    /// Begin of the window.
    begin_ns: i64,
    /// End of the window.
    end_ns: i64,
}

/// A thread's critical path in a window.
#[utoipa::path(get, path = "/threads/{row}/path", tag = ROWS,
    params(("row" = usize, Path, description = "The thread's row."), PathAsked),
    responses((status = OK, body = PathRow), NotThere))]
pub(super) async fn thread_path(
    State(shared): State<Shared>,
    Numbered(row): Numbered,
    Asked(question): Asked<PathAsked>,
) -> Result<Answer, Problem> {
    shared
        .answer(move |recording| {
            let range = range_of(question.begin_ns, question.end_ns)?;
            let history = recording.history.get()?;
            let requests = recording.requests.get()?;
            let thread = history.rows.threads.get(row);
            let thread =
                thread.ok_or_else(|| Problem::Unknown(format!("there is no row {row}")))?;
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
