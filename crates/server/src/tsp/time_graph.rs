//! Time graphs: rows with states, arrows between them, and what a tooltip says.

use std::collections::BTreeMap;

use axum::body::Bytes;
use axum::extract::{Path, State};
use axum::response::Response;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use slowpath_critical_path::State as ThreadState;
use slowpath_model::{HostId, Nanoseconds, TimeRange, Timestamp};
use slowpath_views::{Clocks, RequestQuery, Track, Wanted, arrows, intervals, screen};

use super::outputs::Output;
use super::{MOST_CELLS, MOST_ITEMS, Model, OfOutput, about};
use crate::problem::Problem;
use crate::recording::Recording;
use crate::serve::Shared;

/// Ids of entries that stand for hosts and operations; those below are rows and requests.
const GROUPS: i64 = 1 << 30;
/// So many of the slowest requests are rows.
const MOST_REQUESTS: usize = 500;
const MOST_ARROWS: usize = 5_000;

/// A range of times, in so many samples.
#[derive(Clone, Copy, Debug, Deserialize)]
pub(super) struct Times {
    start: i64,
    end: i64,
    #[serde(rename = "nbTimes")]
    samples: Option<i32>,
}

impl Times {
    /// The range, and the number of samples.
    pub(super) fn range(self) -> Result<(TimeRange, usize), Problem> {
        if self.start > self.end {
            return Err(Problem::Bad(
                "Invalid query parameters: start is after end".to_owned(),
            ));
        }
        let samples = self.samples.unwrap_or(1_000);
        if samples < 1 || samples as usize > MOST_ITEMS {
            return Err(Problem::Bad(format!(
                "Invalid query parameters: nbTimes must be 1 to {MOST_ITEMS}"
            )));
        }
        // The end belongs to it.
        let range = TimeRange::new(
            Timestamp::from_ns(self.start),
            Timestamp::from_ns(self.end.saturating_add(1)),
        );
        Ok((range, samples as usize))
    }
}

/// A range by the first host's clock, as offsets.
pub(super) fn offsets_of(clocks: &Clocks, range: TimeRange) -> (i64, i64) {
    (clocks.offset(range.begin), clocks.offset(range.end))
}

#[derive(Deserialize)]
pub(super) struct TreeParameters {
    requested_timerange: Option<Times>,
}

impl TreeParameters {
    pub(super) fn range(&self) -> Result<Option<TimeRange>, Problem> {
        let range = self.requested_timerange.map(Times::range).transpose()?;
        Ok(range.map(|(range, _)| range))
    }
}

#[derive(Deserialize)]
pub(super) struct RowParameters {
    pub(super) requested_timerange: Times,
    pub(super) requested_items: Vec<i64>,
    #[serde(default)]
    filter_query_parameters: Option<Filters>,
}

impl RowParameters {
    /// The range, the number of samples, and the items, if they are not too many.
    pub(super) fn checked(&self) -> Result<(TimeRange, usize, &[i64]), Problem> {
        let (range, samples) = self.requested_timerange.range()?;
        let items = &self.requested_items;
        if items.len() > MOST_ITEMS || items.len().saturating_mul(samples) > MOST_CELLS {
            return Err(Problem::Bad(
                "Invalid query parameters: too many items".to_owned(),
            ));
        }
        Ok((range, samples, items))
    }
}

/// Expressions by what becomes of states that do not match: `1` dimmed, `4` excluded.
#[derive(Deserialize)]
struct Filters {
    filter_expressions_map: BTreeMap<String, Vec<String>>,
}

impl Filters {
    /// Tags of a state; `None` where it is left out.
    fn tags(&self, label: &str, state: &str) -> Option<i32> {
        let mut tags = 0;
        for (tag, expressions) in &self.filter_expressions_map {
            let fits = |text: &String| {
                let text = text.to_lowercase();
                label.to_lowercase().contains(&text) || state.to_lowercase().contains(&text)
            };
            if expressions.iter().any(fits) {
                continue;
            }
            match tag.as_str() {
                "4" => return None,
                _ => tags |= tag.parse::<i32>().unwrap_or(0),
            }
        }
        Some(tags)
    }
}

#[derive(Serialize)]
struct Style {
    #[serde(rename = "parentKey")]
    parent: String,
    values: BTreeMap<&'static str, String>,
}

#[derive(Serialize)]
struct StateOfRow {
    start: i64,
    end: i64,
    #[serde(skip_serializing_if = "Option::is_none")]
    label: Option<String>,
    style: Style,
    #[serde(skip_serializing_if = "Option::is_none")]
    tags: Option<i32>,
}

#[derive(Serialize)]
struct Row {
    #[serde(rename = "entryId")]
    entry: i64,
    states: Vec<StateOfRow>,
}

pub(super) async fn tree(
    State(shared): State<Shared>,
    Path(of): OfOutput,
    body: Bytes,
) -> Result<Response, Problem> {
    about(shared, of, Output::is_time_graph, body, tree_of).await
}

fn tree_of(recording: &Recording, output: Output, asked: TreeParameters) -> Model<Value> {
    let range = asked.range()?;
    let hosts = recording.experiment.hosts();
    let clocks = recording.clocks()?;
    let whole = recording.range()?;
    let whole = (whole.begin.ns(), whole.end.ns());
    let group = |id: i64, label: &str, columns: usize| {
        let mut labels = vec![label.to_owned()];
        labels.resize(columns, String::new());
        json!({
            "id": GROUPS + id, "parentId": -1, "labels": labels,
            "start": whole.0, "end": whole.1, "hasData": false,
        })
    };
    let of_hosts = |columns: usize| {
        let named = hosts.iter().zip(0..);
        named.map(move |(host, id)| {
            let name = if host.name.is_empty() {
                "host"
            } else {
                &host.name
            };
            group(id, name, columns)
        })
    };
    let (mut entries, headers): (Vec<Value>, &[&str]) = match output {
        Output::Threads => (of_hosts(4).collect(), &["Thread", "TID", "PID", "Host"]),
        Output::Cpus => (of_hosts(1).collect(), &[]),
        _ => (Vec::new(), &["Request", "Duration", "Span", "Trace"]),
    };
    match output {
        Output::Threads => {
            let history = recording.history.get()?;
            for thread in &history.rows.threads {
                let (start, end) = (clocks.shown(thread.begin_ns), clocks.shown(thread.end_ns));
                if range.is_some_and(|range| end <= range.begin || start >= range.end) {
                    continue;
                }
                let host = hosts
                    .get(thread.host.index())
                    .map_or("", |host| host.name.as_str());
                let pid = thread.pid.map_or(String::new(), |pid| pid.to_string());
                entries.push(json!({
                    "id": thread.row,
                    "parentId": GROUPS + i64::from(thread.host.0),
                    "labels": [thread.comm, thread.tid.to_string(), pid, host],
                    "start": start.ns(), "end": end.ns(), "hasData": true,
                    "metadata": { "TID": [thread.tid], "PID": [thread.pid.unwrap_or(-1)], "hostId": [host] },
                }));
            }
        }
        Output::Cpus => {
            let history = recording.history.get()?;
            for cpu in &history.rows.cpus {
                entries.push(json!({
                    "id": cpu.row,
                    "parentId": GROUPS + i64::from(cpu.host.0),
                    "labels": [format!("CPU {}", cpu.cpu)],
                    "start": whole.0, "end": whole.1, "hasData": true,
                    "metadata": { "CPU": [cpu.cpu] },
                }));
            }
        }
        _ => {
            let requests = recording.requests.get()?;
            let all = requests.recorded.all();
            let query = RequestQuery {
                range: range.map(|range| offsets_of(clocks, range)),
                limit: MOST_REQUESTS,
                ..RequestQuery::default()
            };
            let page = requests.numbers.page(&all, &query);
            let mut operations: Vec<String> = Vec::new();
            for request in &page.requests {
                let name = [&request.operation, &request.comm];
                let name = name
                    .into_iter()
                    .find(|name| !name.is_empty())
                    .cloned()
                    .unwrap_or_default();
                let name = match request.service.as_str() {
                    "" => name,
                    service => format!("{service}: {name}"),
                };
                let known = operations.iter().position(|known| *known == name);
                let place = known.unwrap_or_else(|| {
                    operations.push(name.clone());
                    operations.len() - 1
                });
                entries.push(json!({
                    "id": request.id,
                    "parentId": GROUPS + place as i64,
                    "labels": [
                        name, request.duration_ns.to_string(),
                        request.span_id.to_string(), request.trace_id.to_string(),
                    ],
                    "start": clocks.shown(request.begin_ns).ns(),
                    "end": clocks.shown(request.end_ns).ns(),
                    "hasData": true,
                }));
            }
            let groups = operations
                .iter()
                .zip(0..)
                .map(|(name, id)| group(id, name, 4));
            entries.splice(0..0, groups.collect::<Vec<_>>());
        }
    }
    Ok(json!({ "entries": entries, "headers": headers_of(headers), "autoExpandLevel": -1 }))
}

/// Columns of text.
pub(super) fn headers_of(names: &[&str]) -> Vec<Value> {
    let header = |name: &&str| json!({ "name": name, "tooltip": "", "dataType": "STRING" });
    names.iter().map(header).collect()
}

pub(super) async fn states(
    State(shared): State<Shared>,
    Path(of): OfOutput,
    body: Bytes,
) -> Result<Response, Problem> {
    about(shared, of, Output::is_time_graph, body, states_of).await
}

fn states_of(recording: &Recording, output: Output, asked: RowParameters) -> Model<Value> {
    let (range, samples, items) = asked.checked()?;
    let mut rows = match output {
        Output::Requests => request_rows(recording, range, samples, items)?,
        _ => history_rows(recording, output, range, samples, items)?,
    };
    if let Some(filters) = &asked.filter_query_parameters {
        for row in &mut rows {
            row.states.retain_mut(|state| {
                let label = state.label.as_deref().unwrap_or_default();
                let tags = filters.tags(label, &state.style.parent);
                state.tags = tags.filter(|tags| *tags != 0);
                tags.is_some()
            });
        }
    }
    serde_json::to_value(json!({ "rows": rows }))
        .map_err(|error| Problem::Broken(error.to_string()))
}

/// Rows of the state history: exactly, or, where that is more than can be drawn, sampled.
fn history_rows(
    recording: &Recording,
    output: Output,
    range: TimeRange,
    samples: usize,
    items: &[i64],
) -> Result<Vec<Row>, Problem> {
    let history = recording.history.get()?;
    let (track, count) = match output {
        Output::Cpus => (Track::Cpus, history.rows.cpus.len()),
        _ => (Track::Threads, history.rows.threads.len()),
    };
    let items = items.iter().filter(|item| (0..count as i64).contains(item));
    let clocks = history.rows.clocks();
    let offsets = offsets_of(clocks, range);
    let rows = items.map(|&item| {
        let row = item as usize;
        let kept = &history.opened.history;
        let place = history.rows.place(track, row);
        let (found, complete) = intervals(kept, place, offsets, 2 * samples);
        let found = match complete {
            true => found,
            false => runs(&screen(kept, &[place], offsets, samples), offsets),
        };
        let shown = found
            .into_iter()
            .filter(|(.., value)| track != Track::Cpus || *value > 0);
        let states = shown.map(|(begin, end, value)| {
            let (parent, label) = match track {
                Track::Cpus => {
                    let host = history.rows.cpus[row].host;
                    let thread = history.rows.of_thread(host, value);
                    let comm = thread.map_or("", |row| history.rows.threads[row].comm.as_str());
                    ("THREAD".to_owned(), Some(format!("{comm} ({value})")))
                }
                _ => {
                    let state = usize::try_from(value)
                        .ok()
                        .and_then(|at| ThreadState::ALL.get(at));
                    (
                        state.map_or("UNKNOWN", |state| state.name()).to_owned(),
                        None,
                    )
                }
            };
            StateOfRow {
                start: clocks.shown(begin).ns(),
                end: clocks.shown(end).ns(),
                label,
                style: style_of(parent, (track == Track::Cpus).then_some(value)),
                tags: None,
            }
        });
        Row {
            entry: item,
            states: states.collect(),
        }
    });
    Ok(rows.collect())
}

fn style_of(parent: String, thread: Option<i64>) -> Style {
    // A colour for each thread, by the golden angle.
    let colour = thread.map(|thread| {
        let hue = (thread as f64 * 137.508).rem_euclid(360.0);
        ("background-color", super::style::of_hue(hue))
    });
    Style {
        parent,
        values: colour.into_iter().collect(),
    }
}

/// A row of a screen as intervals.
fn runs(screen: &slowpath_views::Screen, (begin, end): (i64, i64)) -> Vec<(i64, i64, i64)> {
    let pixels = screen.values.len();
    let bound = |pixel: usize| {
        let length = i128::from(end) - i128::from(begin);
        (i128::from(begin) + length * pixel as i128 / pixels.max(1) as i128) as i64
    };
    let mut runs: Vec<(i64, i64, i64)> = Vec::new();
    for pixel in (0..pixels).filter(|&pixel| screen.shares[pixel] > 0) {
        let value = i64::from(screen.values[pixel]);
        let (begin, end) = (bound(pixel), bound(pixel + 1));
        match runs.last_mut() {
            Some((_, last, known)) if *known == value && *last == begin => *last = end,
            _ => runs.push((begin, end, value)),
        }
    }
    runs
}

fn request_rows(
    recording: &Recording,
    range: TimeRange,
    samples: usize,
    items: &[i64],
) -> Result<Vec<Row>, Problem> {
    let requests = recording.requests.get()?;
    let all = requests.recorded.all();
    let clocks = recording.clocks()?;
    let pixel = range.length().get() / samples as u64;
    let known = items.iter().filter_map(|&item| {
        let number = usize::try_from(item).ok()?;
        Some((item, requests.numbers.get(number)?))
    });
    let rows = known.take(MOST_REQUESTS).map(|(entry, of)| {
        let path = requests.numbers.path(&all, of).coarsened(pixel as i64);
        let offsets = offsets_of(clocks, range);
        let within = (path.segments.into_iter())
            .filter(|segment| segment.end_ns > offsets.0 && segment.begin_ns < offsets.1);
        let states = within.map(|segment| StateOfRow {
            start: clocks.shown(segment.begin_ns).ns(),
            end: clocks.shown(segment.end_ns).ns(),
            label: Some(format!("{} ({})", segment.comm, segment.tid)),
            style: style_of(segment.state.to_owned(), None),
            tags: None,
        });
        Row {
            entry,
            states: states.collect(),
        }
    });
    Ok(rows.collect())
}

#[derive(Deserialize)]
pub(super) struct ArrowParameters {
    requested_timerange: Times,
}

pub(super) async fn arrows_of_output(
    State(shared): State<Shared>,
    Path(of): OfOutput,
    body: Bytes,
) -> Result<Response, Problem> {
    about(shared, of, Output::is_time_graph, body, arrows_in).await
}

fn arrows_in(recording: &Recording, output: Output, asked: ArrowParameters) -> Model<Value> {
    let (range, _) = asked.requested_timerange.range()?;
    if output != Output::Threads {
        return Ok(json!([]));
    }
    let history = recording.history.get()?;
    let requests = recording.requests.get()?;
    let lines = |host: HostId| {
        let host = requests.recorded.hosts.get(host.index());
        host.and_then(|host| host.lines.as_ref())
    };
    let every: Vec<usize> = (0..history.rows.threads.len()).collect();
    let clocks = recording.clocks()?;
    let found = arrows(
        lines,
        &history.rows,
        &Wanted::Among(every),
        offsets_of(clocks, range),
        MOST_ARROWS,
    );
    let arrows = found.arrows.iter().map(|arrow| {
        json!({
            "sourceId": arrow.from_row,
            "targetId": arrow.to_row,
            "start": clocks.shown(arrow.from_ns).ns(),
            "end": clocks.shown(arrow.to_ns).ns(),
            "style": { "parentKey": "WAKE_UP", "values": {} },
        })
    });
    Ok(arrows.collect())
}

#[derive(Deserialize)]
pub(super) struct TooltipParameters {
    requested_element: Element,
    requested_items: Vec<i64>,
    requested_times: Vec<i64>,
}

#[derive(Deserialize)]
struct Element {
    #[serde(rename = "elementType")]
    kind: String,
    time: i64,
    duration: i64,
}

pub(super) async fn tooltip(
    State(shared): State<Shared>,
    Path(of): OfOutput,
    body: Bytes,
) -> Result<Response, Problem> {
    about(shared, of, Output::is_time_graph, body, tooltip_of).await
}

fn tooltip_of(recording: &Recording, output: Output, asked: TooltipParameters) -> Model<Value> {
    if !["STATE", "ANNOTATION", "ARROW"].contains(&asked.requested_element.kind.as_str()) {
        let text = "Invalid query parameters: elementType is STATE, ANNOTATION or ARROW";
        return Err(Problem::Bad(text.to_owned()));
    }
    let mut told: Map<String, Value> = Map::new();
    let asked_for = asked
        .requested_items
        .first()
        .zip(asked.requested_times.first());
    let (Some((&item, &time)), "STATE") = (asked_for, asked.requested_element.kind.as_str()) else {
        return Ok(Value::Object(told));
    };
    let Ok(row) = usize::try_from(item) else {
        return Ok(Value::Object(told));
    };
    let at = Timestamp::from_ns(time);
    let mut tell = |key: &str, value: String| {
        if !value.is_empty() {
            told.insert(key.to_owned(), Value::String(value));
        }
    };
    if output == Output::Requests {
        let requests = recording.requests.get()?;
        let all = requests.recorded.all();
        let Some(of) = requests.numbers.get(row) else {
            return Ok(Value::Object(told));
        };
        let path = requests.numbers.path(&all, of);
        let offset = recording.clocks()?.offset(at);
        let here = path
            .segments
            .iter()
            .find(|one| one.begin_ns <= offset && offset < one.end_ns);
        if let Some(here) = here {
            tell("State", here.state.to_owned());
            tell("Thread", format!("{} ({})", here.comm, here.tid));
            tell("What", here.detail.clone());
            tell(
                "Duration",
                Nanoseconds((here.end_ns - here.begin_ns).max(0) as u64).to_string(),
            );
        }
        return Ok(Value::Object(told));
    }
    let history = recording.history.get()?;
    let rows = &history.rows;
    let kept = &history.opened.history;
    let clocks = rows.clocks();
    let moment = clocks.offset(at);
    // A sampled state may begin before anything was there: the longest of what it shows counts then.
    let Element { time, duration, .. } = asked.requested_element;
    let begin = clocks.offset(Timestamp::from_ns(time));
    let shown = (begin, begin.saturating_add(duration));
    let value_at = |track| {
        let place = rows.place(track, row);
        let (mut here, _) = intervals(kept, place, (moment, moment + 1), 1);
        let longest = || {
            let (all, _) = intervals(kept, place, shown, 1_000);
            all.into_iter().max_by_key(|(begin, end, _)| end - begin)
        };
        let found = here.pop().or_else(longest);
        found.map(|(begin, end, value)| (Nanoseconds((end - begin).max(0) as u64), value))
    };
    match output {
        Output::Cpus => {
            if let (Some(cpu), Some((length, tid))) = (rows.cpus.get(row), value_at(Track::Cpus)) {
                let thread = rows
                    .of_thread(cpu.host, tid)
                    .map(|row| rows.threads[row].comm.clone());
                tell("Thread", format!("{} ({tid})", thread.unwrap_or_default()));
                tell("Duration", length.to_string());
            }
        }
        _ => {
            if let Some(thread) = rows.threads.get(row) {
                tell("Thread", format!("{} ({})", thread.comm, thread.tid));
            }
            if let Some((length, value)) = value_at(Track::Threads) {
                let state = usize::try_from(value)
                    .ok()
                    .and_then(|at| ThreadState::ALL.get(at));
                tell("State", state.map_or("", |state| state.name()).to_owned());
                tell("Duration", length.to_string());
            }
            if let Some((_, value)) = value_at(Track::Requests)
                && let Ok(requests) = recording.requests.get()
                && let Some(of) = usize::try_from(value)
                    .ok()
                    .and_then(|at| requests.numbers.get(at))
            {
                tell("Request", requests.recorded.all().described(of));
            }
        }
    }
    Ok(Value::Object(told))
}
