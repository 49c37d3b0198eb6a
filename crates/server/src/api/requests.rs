//! Requests: the table, one in full, paths of many, operations, groups compared.

use axum::extract::{Path, State};
use serde::Deserialize;
use serde_json::json;
use slowpath_model::{Nanoseconds, TraceId};
use slowpath_requests::AllHosts;
use slowpath_views::{Order, RequestNumbers, RequestQuery, compare, distribution};

use super::{Answer, Asked, Posted, asked, limited, posted, range_of};
use crate::problem::Problem;
use crate::serve::Shared;

const MOST_AT_A_TIME: usize = 500;
/// Of larger groups an even sample is compared.
const MOST_COMPARED: usize = 5_000;

#[derive(Deserialize)]
pub(super) struct PageAsked {
    #[serde(default)]
    sort: Sort,
    #[serde(default)]
    order: Direction,
    operation: Option<String>,
    service: Option<String>,
    #[serde(default)]
    text: String,
    trace: Option<String>,
    #[serde(default)]
    min_ns: u64,
    max_ns: Option<u64>,
    from_percentile: Option<f32>,
    to_percentile: Option<f32>,
    begin_ns: Option<i64>,
    end_ns: Option<i64>,
    #[serde(default)]
    offset: usize,
    #[serde(default = "hundred")]
    limit: usize,
}

fn hundred() -> usize {
    100
}

#[derive(Clone, Copy, Default, PartialEq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Sort {
    #[default]
    Duration,
    Begin,
    Operation,
    Service,
    Host,
}

#[derive(Clone, Copy, Default, PartialEq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Direction {
    /// The longest first, else by rising time or name.
    #[default]
    Default,
    Asc,
    Desc,
}

pub(super) async fn page(
    State(shared): State<Shared>,
    question: Asked<PageAsked>,
) -> Result<Answer, Problem> {
    let question = asked(question)?;
    shared
        .answer(move |recording| {
            let requests = recording.requests.get()?;
            let trace = question.trace.filter(|text| !text.is_empty()).map(|text| {
                let bad = || {
                    Problem::Bad(format!(
                        "`{text}` is no trace id\n  hint: up to 32 hexadecimal digits"
                    ))
                };
                TraceId::from_hex(&text).ok_or_else(bad)
            });
            let range = match (question.begin_ns, question.end_ns) {
                (None, None) => None,
                (begin, end) => Some(range_of(
                    begin.unwrap_or(i64::MIN / 2),
                    end.unwrap_or(i64::MAX / 2),
                )?),
            };
            let order = match question.sort {
                Sort::Duration => Order::Duration,
                Sort::Begin => Order::Begin,
                Sort::Operation => Order::Operation,
                Sort::Service => Order::Service,
                Sort::Host => Order::Host,
            };
            // Durations fall by nature, everything else rises.
            let falls = question.sort == Sort::Duration;
            let query = RequestQuery {
                order,
                reversed: match question.order {
                    Direction::Default => false,
                    Direction::Asc => falls,
                    Direction::Desc => !falls,
                },
                operation: question.operation.filter(|name| !name.is_empty()),
                service: question.service.filter(|name| !name.is_empty()),
                trace: trace.transpose()?,
                text: question.text,
                least: Nanoseconds(question.min_ns),
                most: question.max_ns.map(Nanoseconds),
                percentiles: match (question.from_percentile, question.to_percentile) {
                    (None, None) => None,
                    (from, to) => Some((from.unwrap_or(0.0), to.unwrap_or(100.0))),
                },
                range,
                offset: question.offset,
                limit: limited("requests", question.limit, 10_000)?,
            };
            let all = requests.recorded.all();
            Answer::of(&requests.numbers.page(&all, &query))
        })
        .await
}

pub(super) async fn detail(
    State(shared): State<Shared>,
    number: Result<Path<usize>, axum::extract::rejection::PathRejection>,
) -> Result<Answer, Problem> {
    let Path(number) = number.map_err(|error| Problem::Bad(error.body_text()))?;
    shared
        .answer(move |recording| {
            let requests = recording.requests.get()?;
            let all = requests.recorded.all();
            let detail = requests.numbers.detail(&all, number);
            let unknown = || Problem::Unknown(format!("there is no request {number}"));
            Answer::of(&detail.ok_or_else(unknown)?)
        })
        .await
}

#[derive(Deserialize)]
pub(super) struct PathsPosted {
    requests: Vec<usize>,
    /// Segments shorter than this are put together; 0 gives all.
    #[serde(default)]
    least_ns: i64,
}

pub(super) async fn paths(
    State(shared): State<Shared>,
    question: Posted<PathsPosted>,
) -> Result<Answer, Problem> {
    let question = posted(question)?;
    shared
        .answer(move |recording| {
            let requests = recording.requests.get()?;
            limited("requests", question.requests.len(), MOST_AT_A_TIME)?;
            let all = requests.recorded.all();
            let paths = question.requests.iter().filter_map(|&id| {
                let of = requests.numbers.get(id)?;
                let path = requests.numbers.path(&all, of);
                let path = path.coarsened(question.least_ns);
                Some(json!({ "id": id, "path": path }))
            });
            Answer::of(&json!({ "paths": paths.collect::<Vec<_>>() }))
        })
        .await
}

pub(super) async fn operations(State(shared): State<Shared>) -> Result<Answer, Problem> {
    shared
        .answer(|recording| {
            let operations = recording.operations.get()?;
            let rows = operations.all().iter().map(|operation| {
                let bands = operation.bands.iter().map(|band| {
                    json!({
                        "from_percentile": band.permille.0 as f64 / 10.0,
                        "to_percentile": band.permille.1 as f64 / 10.0,
                        "count": band.count,
                        "min_ns": band.durations.0,
                        "max_ns": band.durations.1,
                        "states": band.states.by_name(),
                        "own_states": band.own.by_name(),
                    })
                });
                json!({
                    "service": operation.name.service,
                    "operation": operation.name.operation,
                    "comm": operation.name.comm,
                    "count": operation.count,
                    "p50_ns": operation.p50,
                    "p90_ns": operation.p90,
                    "p99_ns": operation.p99,
                    "max_ns": operation.longest,
                    "bands": bands.collect::<Vec<_>>(),
                })
            });
            Answer::of(&json!({ "operations": rows.collect::<Vec<_>>() }))
        })
        .await
}

#[derive(Deserialize)]
pub(super) struct DistributionAsked {
    service: Option<String>,
    operation: Option<String>,
    #[serde(default = "sixty")]
    buckets: usize,
}

fn sixty() -> usize {
    60
}

pub(super) async fn distribution_of_requests(
    State(shared): State<Shared>,
    question: Asked<DistributionAsked>,
) -> Result<Answer, Problem> {
    let question = asked(question)?;
    shared
        .answer(move |recording| {
            let requests = recording.requests.get()?;
            let buckets = limited("buckets", question.buckets, 1_000)?;
            let all = requests.recorded.all();
            let chosen = requests.numbers.of_operation(
                &all,
                question.service.as_deref().filter(|name| !name.is_empty()),
                question
                    .operation
                    .as_deref()
                    .filter(|name| !name.is_empty()),
            );
            let durations = chosen
                .iter()
                .filter_map(|&number| requests.numbers.get(number));
            let durations: Vec<Nanoseconds> =
                durations.map(|of| all.get(of).window.length()).collect();
            Answer::of(&distribution(&durations, buckets))
        })
        .await
}

#[derive(Deserialize)]
pub(super) struct ComparePosted {
    one: Group,
    other: Group,
}

/// Requests by number, or those of an operation between two percentiles of duration.
#[derive(Deserialize)]
struct Group {
    requests: Option<Vec<usize>>,
    percentiles: Option<(f64, f64)>,
    service: Option<String>,
    operation: Option<String>,
}

impl Group {
    fn numbers(&self, all: &AllHosts<'_>, numbers: &RequestNumbers) -> Result<Vec<usize>, Problem> {
        let mut chosen = match (&self.requests, self.percentiles) {
            (Some(requests), None) => requests.clone(),
            (None, Some((from, to))) if 0.0 <= from && from < to && to <= 100.0 => {
                let (service, operation) = (self.service.as_deref(), self.operation.as_deref());
                let fastest_first = numbers.of_operation(all, service, operation);
                let place = |percent: f64| (fastest_first.len() as f64 * percent / 100.0).ceil();
                fastest_first[place(from) as usize..place(to) as usize].to_vec()
            }
            _ => {
                return Err(Problem::Bad(
                    "a group is `requests`, or `percentiles` between 0 and 100\n  hint: \
                     {\"percentiles\":[99,100],\"operation\":\"GET /\"}"
                        .to_owned(),
                ));
            }
        };
        let stride = chosen.len().div_ceil(MOST_COMPARED).max(1);
        chosen = chosen.into_iter().step_by(stride).collect();
        Ok(chosen)
    }
}

pub(super) async fn comparison(
    State(shared): State<Shared>,
    question: Posted<ComparePosted>,
) -> Result<Answer, Problem> {
    let question = posted(question)?;
    shared
        .answer(move |recording| {
            let requests = recording.requests.get()?;
            let (all, numbers) = (requests.recorded.all(), &requests.numbers);
            let one = question.one.numbers(&all, numbers)?;
            let other = question.other.numbers(&all, numbers)?;
            Answer::of(&compare(&all, numbers, &one, &other))
        })
        .await
}
