//! Charts: processor use and events over time, and how many requests took how long.

use axum::body::Bytes;
use axum::extract::{Path, State};
use axum::response::Response;
use serde::Deserialize;
use serde_json::{Value, json};
use slowpath_model::{HostId, Nanoseconds, TimeRange, Timestamp};
use slowpath_views::{RequestQuery, distribution, usage};

use super::outputs::Output;
use super::time_graph::{RowParameters, TreeParameters, headers_of, offsets_of};
use super::{MOST_ITEMS, Model, OfOutput, about};
use crate::problem::Problem;
use crate::recording::Recording;
use crate::serve::Shared;

/// Numbers of more digits are no use, and some clients cannot read them.
fn short(value: f64) -> f64 {
    (value * 1e4).round() / 1e4
}

pub(super) async fn tree(
    State(shared): State<Shared>,
    Path(of): OfOutput,
    body: Bytes,
) -> Result<Response, Problem> {
    about(shared, of, Output::is_xy, body, tree_of).await
}

fn tree_of(recording: &Recording, output: Output, asked: TreeParameters) -> Model<Value> {
    asked.range()?;
    let mut entries = vec![json!({
        "id": 0, "parentId": -1, "labels": ["Total"], "hasData": true, "isDefault": true,
    })];
    if output == Output::CpuUsage {
        let history = recording.history.get()?;
        let cpus = history.rows.cpus.iter().map(|cpu| {
            let label = cpu_name(recording, cpu.host, cpu.cpu);
            json!({ "id": cpu.row + 1, "parentId": 0, "labels": [label], "hasData": true })
        });
        entries.extend(cpus);
    } else {
        recording.event_index.get()?;
    }
    Ok(json!({ "entries": entries, "headers": headers_of(&["Name"]), "autoExpandLevel": -1 }))
}

/// A processor's name, with its host where there are several.
fn cpu_name(recording: &Recording, host: HostId, cpu: u32) -> String {
    let hosts = recording.experiment.hosts();
    match hosts.get(host.index()).filter(|_| hosts.len() > 1) {
        Some(host) => format!("{} CPU {cpu}", host.name),
        None => format!("CPU {cpu}"),
    }
}

pub(super) async fn series(
    State(shared): State<Shared>,
    Path(of): OfOutput,
    body: Bytes,
) -> Result<Response, Problem> {
    about(shared, of, Output::is_xy, body, series_of).await
}

fn series_of(recording: &Recording, output: Output, asked: RowParameters) -> Model<Value> {
    let (range, samples, items) = asked.checked()?;
    let times: Vec<i64> = (0..samples)
        .map(|sample| {
            let length = u128::from(range.length().get());
            let offset = length * sample as u128 / samples as u128;
            range.begin.ns().saturating_add(offset as i64)
        })
        .collect();
    let offsets = offsets_of(recording.clocks()?, range);
    let one = |id: i64, name: &str, unit: &str, values: Vec<f64>| {
        json!({
            "seriesId": id,
            "seriesName": name,
            "xValues": times,
            "yValues": values,
            "style": { "values": { "series-type": "line" } },
            "xValuesDescription": { "label": "Time", "unit": "ns", "dataType": "TIMESTAMP" },
            "yValuesDescription": { "label": name, "unit": unit, "dataType": "NUMBER" },
        })
    };
    let (title, series): (&str, Vec<Value>) = match output {
        Output::CpuUsage => {
            let history = recording.history.get()?;
            let used = usage(&history.opened.history, &history.rows, offsets, samples);
            // The protocol has no word for "unknown", and clients want all series to have the same times.
            let percent = |values: &[Option<f64>]| {
                let values = values.iter().map(|value| value.unwrap_or(0.0));
                values.map(|value| short(value * 100.0)).collect()
            };
            let wanted = items.iter().filter_map(|&item| match item {
                0 => Some(one(0, "Total", "%", percent(&used.total))),
                _ => {
                    let place = usize::try_from(item - 1).ok()?;
                    let cpu = used.cpus.get(place)?;
                    let name = cpu_name(recording, cpu.host, cpu.cpu);
                    Some(one(item, &name, "%", percent(&cpu.values)))
                }
            });
            ("CPU usage", wanted.collect())
        }
        _ => {
            let index = recording.event_index.get()?;
            let wanted = items.iter().filter(|&&item| item == 0);
            let counts = |_: &i64| one(0, "Total", "", index.histogram(offsets, samples));
            ("Histogram", wanted.map(counts).collect())
        }
    };
    Ok(json!({ "title": title, "series": series }))
}

fn is_generic(output: Output) -> bool {
    output == Output::Latency
}

pub(super) async fn generic_tree(
    State(shared): State<Shared>,
    Path(of): OfOutput,
    body: Bytes,
) -> Result<Response, Problem> {
    about(shared, of, is_generic, body, generic_tree_of).await
}

fn generic_tree_of(recording: &Recording, _: Output, asked: TreeParameters) -> Model<Value> {
    asked.range()?;
    recording.requests.get()?;
    Ok(json!({
        "entries": [{
            "id": 0, "parentId": -1, "labels": ["All requests"], "hasData": true, "isDefault": true,
        }],
        "headers": headers_of(&["Name"]),
        "autoExpandLevel": -1,
    }))
}

#[derive(Deserialize)]
pub(super) struct GenericParameters {
    requested_timerange: GenericRange,
    requested_items: Vec<i64>,
}

#[derive(Deserialize)]
struct GenericRange {
    start: i64,
    end: i64,
    #[serde(rename = "nbSamples")]
    samples: Option<i32>,
}

pub(super) async fn generic_series(
    State(shared): State<Shared>,
    Path(of): OfOutput,
    body: Bytes,
) -> Result<Response, Problem> {
    about(shared, of, is_generic, body, generic_series_of).await
}

fn generic_series_of(recording: &Recording, _: Output, asked: GenericParameters) -> Model<Value> {
    let times = &asked.requested_timerange;
    let samples = usize::try_from(times.samples.unwrap_or(100)).unwrap_or(0);
    if times.start > times.end || !(1..=MOST_ITEMS).contains(&samples) {
        let text = "Invalid query parameters: requested_timerange";
        return Err(Problem::Bad(text.to_owned()));
    }
    let requests = recording.requests.get()?;
    let all = requests.recorded.all();
    let range = TimeRange::new(
        Timestamp::from_ns(times.start),
        Timestamp::from_ns(times.end.saturating_add(1)),
    );
    let (begin, end) = offsets_of(recording.clocks()?, range);
    let query = RequestQuery {
        range: Some((begin, end)),
        ..RequestQuery::default()
    };
    let durations: Vec<Nanoseconds> = requests.numbers.durations(&all, &query);
    let found = distribution(&durations, samples);
    let ranges: Vec<Value> = (found.edges_ns.windows(2))
        .map(|edge| json!({ "start": edge[0] as i64, "end": edge[1] as i64 }))
        .collect();
    let series = asked
        .requested_items
        .iter()
        .filter(|&&item| item == 0)
        .map(|_| {
            json!({
                "seriesId": 0,
                "seriesName": "All requests",
                "xRanges": ranges,
                "yValues": found.counts,
                "style": { "values": { "series-type": "bar" } },
                "xValuesDescription": { "label": "Duration", "unit": "ns", "dataType": "DURATION" },
                "yValuesDescription": { "label": "Requests", "unit": "", "dataType": "NUMBER" },
            })
        });
    Ok(json!({ "title": "Request latency", "series": series.collect::<Vec<_>>() }))
}
