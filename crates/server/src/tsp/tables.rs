//! Tables: every event, every request; pages by number or time, and searching.

use std::collections::BTreeMap;

use axum::body::Bytes;
use axum::extract::{Path, State};
use axum::response::Response;
use serde::Deserialize;
use serde_json::{Value, json};
use slowpath_model::Timestamp;
use slowpath_views::{Clocks, EventRow, RequestQuery};

use super::outputs::Output;
use super::style::NoParameters;
use super::{Model, OfOutput, about};
use crate::problem::Problem;
use crate::recording::Recording;
use crate::serve::Shared;

/// Columns: name, type, what it is.
type Column = (&'static str, &'static str, &'static str);
const EVENTS: [Column; 7] = [
    ("Timestamp", "TIMESTAMP", "Nanoseconds since the Unix epoch"),
    ("Host", "STRING", ""),
    ("Stream", "STRING", "The stream of the trace"),
    ("CPU", "NUMBER", "The CPU on which it happened"),
    ("Event", "STRING", "The event's name"),
    ("TID", "NUMBER", "The thread, where the event says so"),
    ("Fields", "STRING", "The event's fields"),
];
const REQUESTS: [Column; 9] = [
    ("Begin", "TIMESTAMP", "Nanoseconds since the Unix epoch"),
    ("Duration", "DURATION", "Nanoseconds, as far as it is shown"),
    (
        "Shown",
        "STRING",
        "Whole, or which of its start and its end is not recorded",
    ),
    ("Service", "STRING", ""),
    ("Operation", "STRING", ""),
    ("Thread", "STRING", "The thread that served it first"),
    ("Mostly", "STRING", "The state that took most of its time"),
    ("Span", "STRING", ""),
    ("Trace", "STRING", ""),
];
/// The most lines of an answer.
const MOST_LINES: usize = 10_000;
/// The most lines that a search looks at.
const MOST_SEARCHED: usize = 1_000_000;

fn columns_of(output: Output) -> &'static [Column] {
    match output {
        Output::Events => &EVENTS,
        _ => &REQUESTS,
    }
}

pub(super) async fn columns(
    State(shared): State<Shared>,
    Path(of): OfOutput,
    body: Bytes,
) -> Result<Response, Problem> {
    about(
        shared,
        of,
        Output::is_table,
        body,
        |_, output, NoParameters {}| {
            let columns = columns_of(output).iter().zip(0..).map(|((name, kind, what), id)| {
            json!({ "id": id, "name": name, "type": kind, "description": what })
        });
            Ok(columns.collect::<Vec<Value>>())
        },
    )
    .await
}

#[derive(Deserialize)]
pub(super) struct LineParameters {
    requested_table_index: Option<i64>,
    requested_times: Option<Vec<i64>>,
    requested_table_count: i64,
    requested_table_column_ids: Option<Vec<i64>>,
    /// By column.
    table_search_expressions: Option<BTreeMap<String, String>>,
    table_search_direction: Option<String>,
}

impl LineParameters {
    fn count(&self) -> Result<usize, Problem> {
        let count = usize::try_from(self.requested_table_count).ok();
        let count = count.filter(|count| *count <= MOST_LINES);
        count.ok_or_else(|| {
            Problem::Bad(format!(
                "Invalid query parameters: requested_table_count must be 0 to {MOST_LINES}"
            ))
        })
    }

    /// The number of the first line that is wanted.
    fn first(&self, at: impl Fn(Timestamp) -> u64) -> Result<u64, Problem> {
        match (self.requested_table_index, &self.requested_times) {
            (Some(index), _) => u64::try_from(index).map_err(|_| {
                Problem::Bad(
                    "Invalid query parameters: requested_table_index is negative".to_owned(),
                )
            }),
            (None, Some(times)) => Ok(times
                .first()
                .map_or(0, |time| at(Timestamp::from_ns(*time)))),
            (None, None) => Err(Problem::Bad(
                "Missing query parameters: requested_table_index or requested_times".to_owned(),
            )),
        }
    }

    /// The columns that are wanted, all where none is named.
    fn columns(&self, known: usize) -> Result<Vec<usize>, Problem> {
        let Some(wanted) = &self.requested_table_column_ids else {
            return Ok((0..known).collect());
        };
        if wanted.is_empty() {
            return Ok((0..known).collect());
        }
        let place = |id: &i64| usize::try_from(*id).ok().filter(|place| *place < known);
        let unknown =
            |id: &i64| Problem::Bad(format!("Invalid query parameters: there is no column {id}"));
        wanted
            .iter()
            .map(|id| place(id).ok_or_else(|| unknown(id)))
            .collect()
    }

    /// Whether a line fits what is searched for.
    fn fits(&self, cells: &[String]) -> bool {
        let expressions = self.table_search_expressions.iter().flatten();
        let mut expressions = expressions.filter(|(_, text)| !text.is_empty());
        expressions.all(|(column, text)| {
            let cell = column
                .parse()
                .ok()
                .and_then(|place: usize| cells.get(place));
            cell.is_some_and(|cell| cell.to_lowercase().contains(&text.to_lowercase()))
        })
    }

    fn is_search(&self) -> bool {
        self.table_search_direction.is_some()
            && self
                .table_search_expressions
                .as_ref()
                .is_some_and(|all| !all.is_empty())
    }

    fn is_backwards(&self) -> bool {
        self.table_search_direction.as_deref() == Some("PREVIOUS")
    }
}

pub(super) async fn lines(
    State(shared): State<Shared>,
    Path(of): OfOutput,
    body: Bytes,
) -> Result<Response, Problem> {
    about(
        shared,
        of,
        Output::is_table,
        body,
        |recording, output, asked| match output {
            Output::Events => event_lines(recording, &asked),
            _ => request_lines(recording, &asked),
        },
    )
    .await
}

fn event_cells(row: &EventRow, clocks: &Clocks) -> Vec<String> {
    vec![
        clocks.shown(row.at_ns).ns().to_string(),
        row.host_name.clone(),
        row.stream.rsplit('/').next().unwrap_or_default().to_owned(),
        row.cpu.map_or(String::new(), |cpu| cpu.to_string()),
        row.name.clone(),
        row.tid.map_or(String::new(), |tid| tid.to_string()),
        row.text.clone(),
    ]
}

fn event_lines(recording: &Recording, asked: &LineParameters) -> Model<Value> {
    let index = recording.event_index.get()?;
    let experiment = &recording.experiment;
    let count = asked.count()?;
    let columns = asked.columns(EVENTS.len())?;
    let clocks = recording.clocks()?;
    let mut first = asked.first(|at| index.number_at(experiment, clocks.offset(at)))?;
    let all = |first: u64, most: usize, fits: &dyn Fn(&EventRow) -> bool, patience: usize| {
        index.events(experiment, first, most, patience, fits)
    };
    let is_found = |row: &EventRow| asked.fits(&event_cells(row, clocks));
    if asked.is_search() {
        let found = match asked.is_backwards() {
            false => all(first, 1, &is_found, MOST_SEARCHED)
                .first()
                .map(|(number, _)| *number),
            // In ever longer strides, of each of which the last one counts.
            true => {
                let (mut end, mut stride, mut looked_at) = (first.saturating_add(1), 1_000, 0);
                loop {
                    let begin = end.saturating_sub(stride);
                    let some = (end - begin) as usize;
                    let found = all(begin, some, &is_found, some);
                    looked_at += some;
                    match found.last() {
                        Some((number, _)) => break Some(*number),
                        None if begin == 0 || looked_at >= MOST_SEARCHED => break None,
                        None => (end, stride) = (begin, stride * 2),
                    }
                }
            }
        };
        let Some(found) = found else {
            return Ok(table(&columns, first, index.total(), Vec::new()));
        };
        first = found;
    }
    let rows = all(first, count, &|_| true, usize::MAX);
    let is_search = asked.is_search();
    let lines = rows.into_iter().map(|(number, row)| {
        let cells = event_cells(&row, clocks);
        // What was searched for is marked (the protocol's tag HIGHLIGHT).
        let tags = (is_search && asked.fits(&cells)).then_some(8);
        line(number, &columns, &cells, tags)
    });
    Ok(table(&columns, first, index.total(), lines.collect()))
}

fn request_lines(recording: &Recording, asked: &LineParameters) -> Model<Value> {
    let requests = recording.requests.get()?;
    let all = requests.recorded.all();
    let count = asked.count()?;
    let columns = asked.columns(REQUESTS.len())?;
    // The longest first: a time says nothing about a place.
    let mut first = asked.first(|_| 0)? as usize;
    let page = |offset: usize, limit: usize| {
        let query = RequestQuery {
            offset,
            limit,
            ..RequestQuery::default()
        };
        requests.numbers.page(&all, &query)
    };
    let clocks = recording.clocks()?;
    let cells = |row: &slowpath_views::RequestRow| {
        let mostly = row.states.iter().max_by_key(|(_, length)| **length);
        vec![
            clocks.shown(row.begin_ns).ns().to_string(),
            row.duration_ns.get().to_string(),
            row.shown.name().to_owned(),
            row.service.clone(),
            row.operation.clone(),
            row.comm.clone(),
            mostly.map_or(String::new(), |(state, _)| (*state).to_owned()),
            row.span_id.to_string(),
            row.trace_id.to_string(),
        ]
    };
    let total = requests.numbers.len();
    if asked.is_search() {
        const STRIDE: usize = 2_000;
        let found = if asked.is_backwards() {
            let mut end = first.saturating_add(1).min(total);
            loop {
                let begin = end.saturating_sub(STRIDE);
                let rows = page(begin, end - begin).requests;
                match rows.iter().rposition(|row| asked.fits(&cells(row))) {
                    Some(place) => break Some(begin + place),
                    None if begin == 0 => break None,
                    None => end = begin,
                }
            }
        } else {
            let mut begin = first;
            loop {
                let rows = page(begin, STRIDE).requests;
                match rows.iter().position(|row| asked.fits(&cells(row))) {
                    Some(place) => break Some(begin + place),
                    None if rows.len() < STRIDE || begin - first > MOST_SEARCHED => break None,
                    None => begin += STRIDE,
                }
            }
        };
        let Some(found) = found else {
            return Ok(table(&columns, first as u64, total as u64, Vec::new()));
        };
        first = found;
    }
    let rows = page(first, count).requests;
    let lines = rows.iter().zip(first as u64..).map(|(row, number)| {
        let cells = cells(row);
        let tags = (asked.is_search() && asked.fits(&cells)).then_some(8);
        line(number, &columns, &cells, tags)
    });
    Ok(table(&columns, first as u64, total as u64, lines.collect()))
}

fn line(number: u64, columns: &[usize], cells: &[String], tags: Option<i32>) -> Value {
    let cells: Vec<Value> = columns
        .iter()
        .map(|&column| json!({ "content": cells[column] }))
        .collect();
    match tags {
        Some(tags) => json!({ "index": number, "cells": cells, "tags": tags }),
        None => json!({ "index": number, "cells": cells }),
    }
}

fn table(columns: &[usize], first: u64, size: u64, lines: Vec<Value>) -> Value {
    json!({ "columnIds": columns, "lowIndex": first, "size": size, "lines": lines })
}
