//! Requests: the table, one in full, paths of many, operations, groups compared.

use std::collections::BTreeMap;

use axum::extract::State;
use serde::{Deserialize, Serialize};
use slowpath_model::{Nanoseconds, TraceId};
use slowpath_requests::{AllHosts, Band, Operation};
use slowpath_views::{
    Comparison, Distribution, OperationName, Order, PathRow, RequestDetail, RequestNumbers,
    RequestPage, RequestQuery, TimeByState,
};
use utoipa::{IntoParams, ToSchema};

use super::exchange::{Answer, Asked, Numbered, Posted, limited, parts, range_of};
use crate::description::REQUESTS;
use crate::jobs::NotThere;
use crate::problem::Problem;
use crate::serve::Shared;

const MOST_AT_A_TIME: usize = 500;
const MOST_OF_A_PAGE: usize = 10_000;
const MOST_CLASSES: usize = 1_000;
/// Of larger groups an even sample is compared.
const MOST_COMPARED: usize = 5_000;

#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(super) struct PageAsked {
    /// What comes first.
    #[serde(default)]
    #[param(inline, default = "duration")]
    sort: Sort,
    /// `default`: the longest first, else by rising time or name.
    #[serde(default)]
    #[param(inline, default = "default")]
    order: Direction,
    /// Only of this operation; where a span has none, of threads of this name.
    operation: Option<String>,
    /// Only of this service.
    service: Option<String>,
    /// A part of the operation, the service, the name of the thread that served it first, or of an id;
    /// empty for all.
    #[serde(default)]
    text: String,
    /// Only of this distributed trace: up to 32 hexadecimal digits.
    trace: Option<String>,
    /// Only those of known duration that took at least so long.
    #[serde(default)]
    #[param(default = 0)]
    min_ns: u64,
    /// Only those of known duration that took no longer.
    max_ns: Option<u64>,
    /// Only those above this percentile of their own operation.
    #[param(minimum = 0, maximum = 100)]
    from_percentile: Option<f32>,
    /// Only those not above this percentile of their own operation.
    #[param(minimum = 0, maximum = 100)]
    to_percentile: Option<f32>,
    /// Only those that end after this time, or begin then.
    begin_ns: Option<i64>,
    /// Only those that begin before this time.
    end_ns: Option<i64>,
    /// How many are left out first.
    #[serde(default)]
    #[param(default = 0)]
    offset: usize,
    /// How many at most.
    #[serde(default = "hundred")]
    #[param(default = 100, maximum = 10_000)]
    limit: usize,
}

fn hundred() -> usize {
    100
}

#[derive(Clone, Copy, Default, PartialEq, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
enum Sort {
    #[default]
    Duration,
    Begin,
    Operation,
    Service,
    Host,
}

#[derive(Clone, Copy, Default, PartialEq, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
enum Direction {
    /// The longest first, else by rising time or name.
    #[default]
    Default,
    Asc,
    Desc,
}

/// A page of the requests that fit.
#[utoipa::path(get, path = "/requests", tag = REQUESTS, params(PageAsked),
    responses((status = OK, body = RequestPage), NotThere))]
pub(super) async fn requests(
    State(shared): State<Shared>,
    Asked(question): Asked<PageAsked>,
) -> Result<Answer, Problem> {
    shared
        .answer(move |recording| {
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
                    begin.unwrap_or(i64::MIN),
                    end.unwrap_or(i64::MAX),
                )?),
            };
            if question.max_ns.is_some_and(|most| most < question.min_ns) {
                return Err(Problem::Bad(
                    "`min_ns` is more than `max_ns`\n  hint: no request lasts at least the one and at most the other"
                        .to_owned(),
                ));
            }
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
                    (from, to) => Some(percentiles(from.unwrap_or(0.0), to.unwrap_or(100.0))?),
                },
                range,
                offset: question.offset,
                limit: limited("requests", question.limit, MOST_OF_A_PAGE)?,
            };
            let requests = recording.requests.get()?;
            let all = requests.recorded.all();
            Answer::of(&requests.numbers.page(&all, &query))
        })
        .await
}

/// A request in full.
#[utoipa::path(get, path = "/requests/{id}", tag = REQUESTS,
    params(("id" = usize, Path, description = "The request's number.")),
    responses((status = OK, body = RequestDetail), NotThere))]
pub(super) async fn request(
    State(shared): State<Shared>,
    Numbered(number): Numbered,
) -> Result<Answer, Problem> {
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

/// Requests whose paths are wanted.
#[derive(Deserialize, ToSchema)]
#[schema(as = PathsQuestion)]
pub(super) struct PathsPosted {
    /// Their numbers; those that are no request's are left out.
    #[schema(max_items = 500)]
    requests: Vec<usize>,
    /// Segments shorter than this are put together; 0 gives all.
    #[serde(default)]
    #[schema(default = 0)]
    least_ns: i64,
}

/// Paths of requests.
#[derive(Serialize, ToSchema)]
struct Paths {
    /// In the order of the question.
    paths: Vec<PathOfRequest>,
}

/// The path of a request.
#[derive(Serialize, ToSchema)]
struct PathOfRequest {
    /// The request's number.
    id: usize,
    /// Where its time went.
    path: PathRow,
}

/// The critical paths of many requests.
#[utoipa::path(post, path = "/paths", tag = REQUESTS, request_body = PathsPosted,
    responses((status = OK, body = Paths), NotThere))]
pub(super) async fn paths(
    State(shared): State<Shared>,
    Posted(question): Posted<PathsPosted>,
) -> Result<Answer, Problem> {
    shared
        .answer(move |recording| {
            limited("requests", question.requests.len(), MOST_AT_A_TIME)?;
            let requests = recording.requests.get()?;
            let all = requests.recorded.all();
            let paths = question.requests.iter().filter_map(|&id| {
                let of = requests.numbers.get(id)?;
                let path = requests.numbers.path(&all, of);
                let path = path.coarsened(question.least_ns);
                Some(PathOfRequest { id, path })
            });
            Answer::of(&Paths {
                paths: paths.collect(),
            })
        })
        .await
}

/// Operations.
#[derive(Serialize, ToSchema)]
struct Operations {
    /// The one whose requests took most time together first.
    operations: Vec<OperationAnswer>,
    /// Requests that are in no band, of all operations; those without any other are left out.
    in_part: u64,
}

/// An operation: what requests are grouped by.
#[derive(Serialize, ToSchema)]
#[schema(as = Operation)]
struct OperationAnswer {
    /// The service; empty where no span names it.
    service: String,
    /// The operation; empty where no span names it.
    operation: String,
    /// The name of the threads that served it, where the operation has none; else empty.
    comm: String,
    /// How many requests whose durations are known.
    count: u64,
    /// How many others: their start or end is not recorded, so that they are in no band.
    in_part: u64,
    /// The median of the durations.
    p50_ns: Nanoseconds,
    /// 9 of 10 took no longer.
    p90_ns: Nanoseconds,
    /// 99 of 100 took no longer.
    p99_ns: Nanoseconds,
    /// The longest.
    max_ns: Nanoseconds,
    /// The requests by how long they took, the fastest first.
    bands: Vec<BandAnswer>,
}

/// The requests of an operation between two percentiles of duration.
#[derive(Serialize, ToSchema)]
#[schema(as = Band)]
struct BandAnswer {
    /// Above this.
    from_percentile: f64,
    /// Not above this.
    to_percentile: f64,
    /// How many requests.
    count: u64,
    /// The shortest.
    min_ns: Nanoseconds,
    /// The longest.
    max_ns: Nanoseconds,
    /// Where their time went, waits followed to their causes: sums of all.
    #[schema(value_type = TimeByState)]
    states: BTreeMap<&'static str, u64>,
    /// What their own threads did: sums of all.
    #[schema(value_type = TimeByState)]
    own_states: BTreeMap<&'static str, u64>,
}

impl From<&Band> for BandAnswer {
    fn from(band: &Band) -> Self {
        Self {
            from_percentile: band.permille.0 as f64 / 10.0,
            to_percentile: band.permille.1 as f64 / 10.0,
            count: band.count,
            min_ns: band.durations.0,
            max_ns: band.durations.1,
            states: band.states.by_name(),
            own_states: band.own.by_name(),
        }
    }
}

impl From<&Operation<OperationName>> for OperationAnswer {
    fn from(operation: &Operation<OperationName>) -> Self {
        let name = operation.name.clone();
        Self {
            service: name.service,
            operation: name.operation,
            comm: name.comm,
            count: operation.count,
            in_part: operation.in_part,
            p50_ns: operation.p50,
            p90_ns: operation.p90,
            p99_ns: operation.p99,
            max_ns: operation.longest,
            bands: operation.bands.iter().map(BandAnswer::from).collect(),
        }
    }
}

/// What the requests of each operation do with their time, slow ones apart from fast ones.
#[utoipa::path(get, path = "/operations", tag = REQUESTS,
    responses((status = OK, body = Operations), NotThere))]
pub(super) async fn operations(State(shared): State<Shared>) -> Result<Answer, Problem> {
    shared
        .answer(|recording| {
            let operations = recording.operations.get()?;
            let rows = operations.all().iter().map(OperationAnswer::from);
            Answer::of(&Operations {
                operations: rows.collect(),
                in_part: operations.in_part(),
            })
        })
        .await
}

#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(super) struct DistributionAsked {
    /// Only of this service.
    service: Option<String>,
    /// Only of this operation; where a span has none, of threads of this name.
    operation: Option<String>,
    /// In how many classes.
    #[serde(default = "sixty")]
    #[param(default = 60, minimum = 1, maximum = 1_000)]
    buckets: usize,
}

fn sixty() -> usize {
    60
}

/// How many requests took how long.
#[utoipa::path(get, path = "/distribution", tag = REQUESTS, params(DistributionAsked),
    responses((status = OK, body = Distribution), NotThere))]
pub(super) async fn distribution(
    State(shared): State<Shared>,
    Asked(question): Asked<DistributionAsked>,
) -> Result<Answer, Problem> {
    shared
        .answer(move |recording| {
            let buckets = parts("buckets", question.buckets, MOST_CLASSES)?;
            let requests = recording.requests.get()?;
            let query = RequestQuery {
                service: question.service.filter(|name| !name.is_empty()),
                operation: question.operation.filter(|name| !name.is_empty()),
                ..RequestQuery::default()
            };
            let durations = requests.numbers.durations(&requests.recorded.all(), &query);
            Answer::of(&slowpath_views::distribution(&durations, buckets))
        })
        .await
}

/// Two groups of requests. Those whose start or end is not recorded are in none.
#[derive(Deserialize, ToSchema)]
#[schema(as = CompareQuestion)]
pub(super) struct ComparePosted {
    /// The one group.
    one: Group,
    /// The other.
    other: Group,
}

/// Requests by number, or those of an operation between two percentiles of duration: either `requests` or
/// `percentiles` is there. Of more than 5,000 requests an even sample is taken.
#[derive(Deserialize, ToSchema)]
#[schema(as = RequestGroup)]
struct Group {
    /// Numbers of requests.
    #[schema(nullable = false)]
    requests: Option<Vec<usize>>,
    /// Those above the first and not above the second; from 0 to 100.
    #[schema(nullable = false)]
    percentiles: Option<(f32, f32)>,
    /// Whose percentiles: only of this service.
    #[schema(nullable = false)]
    service: Option<String>,
    /// Whose percentiles: only of this operation.
    #[schema(nullable = false)]
    operation: Option<String>,
}

/// Two percentiles with something between them.
fn percentiles(from: f32, to: f32) -> Result<(f32, f32), Problem> {
    match 0.0 <= from && from < to && to <= 100.0 {
        true => Ok((from, to)),
        false => Err(Problem::Bad(
            "percentiles go from 0 to 100\n  hint: the first must be less than the second"
                .to_owned(),
        )),
    }
}

impl Group {
    fn numbers(&self, all: &AllHosts<'_>, numbers: &RequestNumbers) -> Result<Vec<usize>, Problem> {
        let mut chosen = match (&self.requests, self.percentiles) {
            (Some(requests), None) => requests.clone(),
            (None, Some((from, to))) => {
                let query = RequestQuery {
                    service: self.service.clone(),
                    operation: self.operation.clone(),
                    percentiles: Some(percentiles(from, to)?),
                    ..RequestQuery::default()
                };
                numbers.chosen(all, &query)
            }
            _ => {
                return Err(Problem::Bad(
                    "a group is either `requests` or `percentiles`\n  hint: \
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

/// What makes one group of requests slower than another.
#[utoipa::path(post, path = "/compare", tag = REQUESTS, request_body = ComparePosted,
    responses((status = OK, body = Comparison), NotThere))]
pub(super) async fn compare(
    State(shared): State<Shared>,
    Posted(question): Posted<ComparePosted>,
) -> Result<Answer, Problem> {
    shared
        .answer(move |recording| {
            let requests = recording.requests.get()?;
            let (all, numbers) = (requests.recorded.all(), &requests.numbers);
            let one = question.one.numbers(&all, numbers)?;
            let other = question.other.numbers(&all, numbers)?;
            Answer::of(&slowpath_views::compare(&all, numbers, &one, &other))
        })
        .await
}
