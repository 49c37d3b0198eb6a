//! How busy servers were, how many clients waited and what went through them, in equal parts of a time.

use serde::Serialize;
use slowpath_history::{AttributeId, History};
use slowpath_model::TimeRange;
use utoipa::ToSchema;

use super::rows::{Series, StoreRows};
use crate::usage::spread;

/// Nanoseconds for which the history counts.
const MILLISECOND: f64 = 1e6;

/// One server over a time, in equal parts of it.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
pub struct StoreOverTime {
    /// The host's name, where there are several with data stores.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub host: Option<String>,
    /// The server's number.
    pub server: u32,
    /// The share of the time in which the event loop was busy with clients, from 0 to 1.
    pub busy: Vec<f64>,
    /// How many clients were not answered yet: the number that was so for longest.
    pub waiting: Vec<u32>,
    /// Bytes per second that were read from clients.
    pub read: Vec<f64>,
    /// Bytes per second that were written to clients.
    pub written: Vec<f64>,
    /// Bytes per second that were sent to other nodes over the cluster's bus; null where none ever was.
    #[schema(required)]
    pub bus: Option<Vec<f64>>,
}

/// What each server did between two offsets, cut into so many parts. What is known of a millisecond is spread over it
/// evenly.
pub fn store_over_time(
    history: &History,
    rows: &StoreRows,
    (begin, end): (i64, i64),
    parts: usize,
) -> Vec<StoreOverTime> {
    let of_server = |series: &Series| {
        let range = series.origin.range(begin, end);
        // Of each nanosecond so much.
        let rates = |attribute: Option<AttributeId>| rates(history, attribute, range, parts);
        let per_second = |attribute| {
            let rates = rates(attribute).into_iter();
            rates.map(|rate| (rate * 1e9).round()).collect()
        };
        let share = |rate: f64| (rate.clamp(0.0, 1.0) * 1e4).round() / 1e4;
        let waiting = series.waiting.map(|attribute| {
            let cells = history.screen(&[attribute], range, parts).into_iter();
            let known = |share| if share > 0 { 1 } else { 0 };
            cells
                .map(|cell| u32::try_from(cell.value.0).unwrap_or(u32::MAX) * known(cell.share))
                .collect()
        });
        StoreOverTime {
            host: series.name.clone(),
            server: series.server,
            busy: rates(series.busy).into_iter().map(share).collect(),
            waiting: waiting.unwrap_or_else(|| vec![0; parts]),
            read: per_second(series.read),
            written: per_second(series.written),
            bus: series.bus.map(|bus| per_second(Some(bus))),
        }
    };
    rows.series.iter().map(of_server).collect()
}

fn rates(
    history: &History,
    attribute: Option<AttributeId>,
    range: TimeRange,
    parts: usize,
) -> Vec<f64> {
    let mut sums = vec![0.0; parts];
    let width = range.length().get() as f64 / parts.max(1) as f64;
    let intervals = attribute.map(|attribute| history.intervals(attribute, range));
    for interval in intervals.into_iter().flatten() {
        let within = interval.range.intersect(range);
        let begin = within.begin.since(range.begin).get() as f64;
        let length = within.length().get() as f64;
        let density = interval.value.0 as f64 / MILLISECOND;
        spread((begin, length), density, width, &mut sums);
    }
    sums.iter_mut().for_each(|sum| *sum /= width);
    sums
}
