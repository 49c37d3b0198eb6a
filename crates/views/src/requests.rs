//! Requests as a table that can be searched and sorted, and one request in full.
//!
//! Requests of all hosts are numbered as in the state history: those of hosts with time lines first,
//! in the order of hosts and of their begin.

use std::collections::BTreeMap;

use serde::Serialize;
use slowpath_critical_path::State;
use slowpath_kernel::timelines::Timelines;
use slowpath_model::{HostId, Nanoseconds, SpanId, ThreadId, TimeRange, Timestamp, TraceId};
use slowpath_requests::{AllHosts, PlacedBy, Request, RequestOfHost, Shown, Summary};
use slowpath_session::RecordedRequests;
use utoipa::ToSchema;

use crate::paths::{PathRow, TimeByState, path_row};
use crate::{Clocks, Origin};

/// The numbers of all requests.
#[derive(Debug)]
pub struct RequestNumbers {
    /// By number.
    of: Vec<RequestOfHost>,
    /// By host: the number of its first request.
    first: Vec<usize>,
    /// By number: when it was, as offsets.
    windows: Vec<(i64, i64)>,
    /// By number: the share of the requests of its operation that took no longer, in per cent; `None` where
    /// its own duration is not known.
    percentiles: Vec<Option<f32>>,
    /// By number: its operation.
    operations: Vec<u32>,
    names: Vec<OperationName>,
    /// By number: the name of the thread that served it first.
    comms: Vec<u32>,
    comm_names: Vec<String>,
    clocks: Clocks,
}

/// What requests are grouped by.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub struct OperationName {
    /// The service; empty where no file names it.
    pub service: String,
    /// The operation; empty where no file names it.
    pub operation: String,
    /// The thread's name, where the operation has none.
    pub comm: String,
}

/// What comes first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Order {
    /// The longest.
    #[default]
    Duration,
    /// The earliest.
    Begin,
    /// By operation, then the longest.
    Operation,
    /// By service, then the longest.
    Service,
    /// By host, then the longest.
    Host,
}

/// Which requests are meant, in which order.
#[derive(Clone, Debug, Default)]
pub struct RequestQuery {
    /// What comes first.
    pub order: Order,
    /// The other way round.
    pub reversed: bool,
    /// Only of this operation, by its name or that of its thread.
    pub operation: Option<String>,
    /// Only of this service.
    pub service: Option<String>,
    /// Only of this distributed trace.
    pub trace: Option<TraceId>,
    /// A part of the operation, the service, the name of the thread that served it first, or of an id.
    pub text: String,
    /// Only those of known duration that took at least so long.
    pub least: Nanoseconds,
    /// Only those of known duration that took no longer.
    pub most: Option<Nanoseconds>,
    /// Only those above the first and not above the second percentile of their operation.
    pub percentiles: Option<(f32, f32)>,
    /// Only those that touch the time between two offsets.
    pub range: Option<(i64, i64)>,
    /// So many are left out first.
    pub offset: usize,
    /// At most so many.
    pub limit: usize,
}

impl RequestQuery {
    /// Whether only requests of known length can fit.
    fn asks_length(&self) -> bool {
        self.least > Nanoseconds::ZERO || self.most.is_some()
    }
}

/// A part of the requests.
#[derive(Debug, Serialize, ToSchema)]
pub struct RequestPage {
    /// How many fit.
    pub total: usize,
    /// Those of the page.
    pub requests: Vec<RequestRow>,
}

/// A request.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[schema(as = Request)]
pub struct RequestRow {
    /// Its number.
    pub id: usize,
    /// Its host.
    pub host: HostId,
    /// Its distributed trace.
    pub trace_id: TraceId,
    /// Its span.
    pub span_id: SpanId,
    /// The span that it is part of.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub parent_span_id: Option<SpanId>,
    /// Its service.
    pub service: String,
    /// What was done.
    pub operation: String,
    /// The thread that served it first.
    pub comm: String,
    /// Threads that served it.
    pub tids: Vec<ThreadId>,
    /// When it began.
    pub begin_ns: i64,
    /// When it ended.
    pub end_ns: i64,
    /// How long it took; where it is shown in part, which is not known, for how long it is shown.
    pub duration_ns: Nanoseconds,
    /// Whether its start and its end are recorded.
    pub shown: Shown,
    /// How its threads are known.
    pub placed_by: PlacedBy,
    /// Where its time went, waits followed to their causes.
    #[schema(value_type = TimeByState)]
    pub states: BTreeMap<&'static str, u64>,
    /// What its own threads did.
    #[schema(value_type = TimeByState)]
    pub own_states: BTreeMap<&'static str, u64>,
    /// Its rank among the requests of its operation whose durations are known, from the fastest, in per cent
    /// of them all; missing where its own is not known.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub percentile: Option<f32>,
}

/// A request in full.
#[derive(Debug, Serialize, ToSchema)]
pub struct RequestDetail {
    /// Itself.
    pub request: RequestRow,
    /// Where its time went.
    pub path: PathRow,
    /// Its longest waits.
    pub waits: Vec<WaitRow>,
    /// Other requests that threads on its path worked for meanwhile, or were waited for by.
    pub blocked_by: Vec<BlockedByRow>,
    /// What dominated, in a sentence.
    pub verdict: String,
    /// The spans of its distributed trace that were recorded.
    pub spans: Vec<SpanRow>,
}

/// A wait of the thread that served the request.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Wait)]
pub struct WaitRow {
    /// When it began.
    pub begin_ns: i64,
    /// When it ended.
    pub end_ns: i64,
    /// Who waited.
    pub tid: ThreadId,
    /// `THREAD`, or the state.
    pub on: &'static str,
    /// The thread that ended it.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub waker_tid: Option<ThreadId>,
    /// Its name.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub waker_comm: Option<String>,
    /// The system call.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub call: Option<String>,
    /// The thread that the path was in for most of it.
    pub mostly_tid: ThreadId,
    /// What that did.
    #[schema(value_type = State)]
    pub mostly_state: &'static str,
}

/// Another request that was worked for.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = BlockedBy)]
pub struct BlockedByRow {
    /// Its number.
    pub id: usize,
    /// In words.
    pub described: String,
    /// How long.
    pub ns: Nanoseconds,
}

/// A span of the same distributed trace.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Span)]
pub struct SpanRow {
    /// Its number.
    pub id: usize,
    /// Its span.
    pub span_id: SpanId,
    /// The span that it is part of.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub parent_span_id: Option<SpanId>,
    /// Its service.
    pub service: String,
    /// What was done.
    pub operation: String,
    /// Its host.
    pub host: HostId,
    /// When it began.
    pub begin_ns: i64,
    /// When it ended.
    pub end_ns: i64,
}

impl RequestNumbers {
    /// Numbers all requests.
    pub fn of(recorded: &RecordedRequests, clocks: Clocks) -> Self {
        let hosts = &recorded.hosts;
        let mut numbers = Self {
            of: Vec::new(),
            first: vec![0; hosts.len()],
            windows: Vec::new(),
            percentiles: Vec::new(),
            operations: Vec::new(),
            names: Vec::new(),
            comms: Vec::new(),
            comm_names: Vec::new(),
            clocks,
        };
        let mut known_comms: BTreeMap<String, u32> = BTreeMap::new();
        let mut known: BTreeMap<OperationName, u32> = BTreeMap::new();
        let mut durations: Vec<Vec<(Nanoseconds, usize)>> = Vec::new();
        for with_lines in [true, false] {
            for (place, host) in hosts.iter().enumerate() {
                if host.lines.is_some() != with_lines {
                    continue;
                }
                numbers.first[place] = numbers.of.len();
                for (request, about) in host.requests.ids() {
                    let name = OperationName::of(about, host.lines.as_ref());
                    let operation = *known.entry(name).or_insert_with_key(|name| {
                        numbers.names.push(name.clone());
                        durations.push(Vec::new());
                        numbers.names.len() as u32 - 1
                    });
                    let number = numbers.of.len();
                    let duration = about.duration().map(|duration| (duration, number));
                    durations[operation as usize].extend(duration);
                    numbers.operations.push(operation);
                    let comm = own_comm(about, host.lines.as_ref());
                    let comm = *known_comms.entry(comm).or_insert_with_key(|comm| {
                        numbers.comm_names.push(comm.clone());
                        numbers.comm_names.len() as u32 - 1
                    });
                    numbers.comms.push(comm);
                    let origin = numbers.clocks.of_host(HostId(place as u32));
                    let window = about.window;
                    numbers
                        .windows
                        .push((origin.offset(window.begin), origin.offset(window.end)));
                    numbers.of.push(RequestOfHost {
                        host: HostId(place as u32),
                        request,
                    });
                }
            }
        }
        numbers.percentiles = vec![None; numbers.of.len()];
        for mut of_operation in durations {
            of_operation.sort_unstable();
            let count = of_operation.len() as u64;
            for ((_, number), rank) in of_operation.into_iter().zip(1..) {
                // Upwards, so that what is above a whole percentile stays above it.
                let hundredths = (rank * 10_000u64).div_ceil(count);
                numbers.percentiles[number] = Some(hundredths as f32 / 100.0);
            }
        }
        numbers
    }

    /// The clocks by which times are shown.
    pub fn clocks(&self) -> &Clocks {
        &self.clocks
    }

    /// How many requests.
    pub fn len(&self) -> usize {
        self.of.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.of.is_empty()
    }

    /// The request of a number.
    pub fn get(&self, number: usize) -> Option<RequestOfHost> {
        self.of.get(number).copied()
    }

    /// The number of a request.
    pub fn number(&self, of: RequestOfHost) -> usize {
        self.first[of.host.index()] + of.request.index()
    }

    /// What a request's operation goes by.
    pub fn name(&self, number: usize) -> &OperationName {
        &self.names[self.operations[number] as usize]
    }

    /// The requests that fit, in order, with their number.
    /// The numbers of all requests that fit, in order; the page asked for is left to the caller.
    pub fn chosen(&self, all: &AllHosts<'_>, query: &RequestQuery) -> Vec<usize> {
        let text = query.text.to_lowercase();
        let has_text = |part: &String| part.to_lowercase().contains(&text);
        let is = |wanted: &Option<String>, found: &str| {
            wanted.as_deref().is_none_or(|wanted| wanted == found)
        };
        // By operation and by thread's name, of which there are few.
        let fits: Vec<(bool, bool)> = (self.names.iter())
            .map(|name| {
                let operation = is(&query.operation, &name.operation)
                    || name.operation.is_empty() && is(&query.operation, &name.comm);
                (
                    operation && is(&query.service, &name.service),
                    has_text(&name.service) || has_text(&name.operation),
                )
            })
            .collect();
        let comm_fits: Vec<bool> = self.comm_names.iter().map(has_text).collect();
        // In one place, so that a great many are looked through fast.
        let mut chosen: Vec<(bool, i64, usize)> = (0..self.of.len())
            .filter(|&number| {
                let (meant, text_fits) = fits[self.operations[number] as usize];
                let (begin, end) = self.windows[number];
                let length = Nanoseconds(end.saturating_sub(begin).max(0) as u64);
                meant
                    && (self.percentiles[number].is_some() || !query.asks_length())
                    && length >= query.least
                    && query.most.is_none_or(|most| length <= most)
                    && query.percentiles.is_none_or(|(from, to)| {
                        self.percentiles[number].is_some_and(|own| from < own && own <= to)
                    })
                    && query.range.is_none_or(|(from, to)| {
                        let range = |begin, end| {
                            TimeRange::new(Timestamp::from_ns(begin), Timestamp::from_ns(end))
                        };
                        range(begin, end).touches(range(from, to))
                    })
                    && query
                        .trace
                        .is_none_or(|trace| trace == all.get(self.of[number]).key.trace)
                    && (text_fits || comm_fits[self.comms[number] as usize] || {
                        let key = all.get(self.of[number]).key;
                        key.span.to_string().contains(&text)
                            || key.trace.to_string().contains(&text)
                    })
            })
            .map(|number| {
                let (begin, end) = self.windows[number];
                let shortness = begin.saturating_sub(end);
                // Those of unknown length come last, whichever way round.
                let is_unknown = self.percentiles[number].is_none();
                match query.order {
                    Order::Begin => (false, begin, number),
                    _ => (is_unknown != query.reversed, shortness, number),
                }
            })
            .collect();
        // Equal ones stay in the order of their numbers.
        chosen.sort_unstable();
        let mut chosen: Vec<usize> = chosen.into_iter().map(|(_, _, number)| number).collect();
        // By the rank of the name, of which there are few.
        let ranked = |by: fn(&OperationName) -> (&str, &str)| {
            let mut order: Vec<usize> = (0..self.names.len()).collect();
            order.sort_by_key(|&place| by(&self.names[place]));
            let mut ranks = vec![0; order.len()];
            for pair in order.windows(2) {
                let same = by(&self.names[pair[0]]) == by(&self.names[pair[1]]);
                ranks[pair[1]] = ranks[pair[0]] + usize::from(!same);
            }
            ranks
        };
        let mut sort_by = |ranks: Vec<usize>| {
            chosen.sort_by_key(|&number| ranks[self.operations[number] as usize]);
        };
        match query.order {
            Order::Duration | Order::Begin => {}
            Order::Operation => sort_by(ranked(|name| (&name.operation, &name.comm))),
            Order::Service => sort_by(ranked(|name| (&name.service, ""))),
            Order::Host => chosen.sort_by_key(|&number| self.of[number].host),
        }
        if query.reversed {
            chosen.reverse();
        }
        chosen
    }

    /// How long the requests that fit took, those of which this is known.
    pub fn durations(&self, all: &AllHosts<'_>, query: &RequestQuery) -> Vec<Nanoseconds> {
        let chosen = self.chosen(all, query).into_iter();
        chosen
            .filter_map(|number| all.get(self.of[number]).duration())
            .collect()
    }

    /// The page that is asked for.
    pub fn page(&self, all: &AllHosts<'_>, query: &RequestQuery) -> RequestPage {
        let chosen = self.chosen(all, query);
        let page = chosen.iter().skip(query.offset).take(query.limit);
        RequestPage {
            total: chosen.len(),
            requests: page
                .map(|&number| self.row(all, number, &all.summary(self.of[number])))
                .collect(),
        }
    }

    fn row(&self, all: &AllHosts<'_>, number: usize, summary: &Summary<'_>) -> RequestRow {
        let of = self.of[number];
        let origin = self.clocks.of_host(of.host);
        let request = all.get(of);
        RequestRow {
            id: number,
            host: of.host,
            trace_id: request.key.trace,
            span_id: request.key.span,
            parent_span_id: request.told.as_ref().and_then(|told| told.parent),
            service: request.service().to_owned(),
            operation: request.operation().to_owned(),
            comm: self.comm_names[self.comms[number] as usize].clone(),
            tids: request.threads(),
            begin_ns: origin.offset(request.window.begin),
            end_ns: origin.offset(request.window.end),
            duration_ns: request.window.length(),
            shown: request.shown,
            placed_by: request.placed_by,
            states: summary.states.by_name(),
            own_states: summary.own.by_name(),
            percentile: self.percentiles[number],
        }
    }

    /// The critical path of a request.
    pub fn path(&self, all: &AllHosts<'_>, of: RequestOfHost) -> PathRow {
        let origin = self.clocks.of_host(of.host);
        let path = all.path(of);
        path_row(&path.path, &self.blockers(&path.blocked_by), origin)
    }

    fn blockers(&self, blocked_by: &[Option<RequestOfHost>]) -> Vec<Option<usize>> {
        let number = |other: &Option<RequestOfHost>| other.map(|other| self.number(other));
        blocked_by.iter().map(number).collect()
    }

    /// A request in full; `None` where there is none of that number.
    pub fn detail(&self, all: &AllHosts<'_>, number: usize) -> Option<RequestDetail> {
        let of = self.get(number)?;
        let origin = self.clocks.of_host(of.host);
        let request = all.get(of);
        let summary = all.summary(of);
        let path = all.path(of);
        let blocked_by = path.blockers().into_iter();
        let blocked_by = blocked_by.map(|(other, ns)| BlockedByRow {
            id: self.number(other),
            described: all.described(other),
            ns,
        });
        let mut spans: Vec<SpanRow> = (self.of.iter().enumerate())
            .map(|(number, &other)| (number, other, all.get(other)))
            .filter(|(.., other)| other.key.trace == request.key.trace)
            .map(|(number, of, other)| {
                span_row(number, of.host, other, self.clocks.of_host(of.host))
            })
            .collect();
        spans.sort_by_key(|span| (span.begin_ns, -span.end_ns));
        Some(RequestDetail {
            request: self.row(all, number, &summary),
            waits: waits(all, of, &summary, origin),
            blocked_by: blocked_by.collect(),
            verdict: path.path.verdict(),
            path: path_row(&path.path, &self.blockers(&path.blocked_by), origin),
            spans,
        })
    }
}

impl OperationName {
    /// The name of a request's operation.
    pub fn of(request: &Request, lines: Option<&Timelines>) -> Self {
        let operation = request.operation().to_owned();
        Self {
            service: request.service().to_owned(),
            comm: match operation.is_empty() {
                true => request.name(lines),
                false => String::new(),
            },
            operation,
        }
    }
}

/// The name of the thread that served a request first; empty where nothing tells.
fn own_comm(request: &Request, lines: Option<&Timelines>) -> String {
    let named = lines.zip(request.first_thread());
    named.map_or(String::new(), |(lines, thread)| {
        lines.name(thread, request.window.end).into_owned()
    })
}

fn span_row(number: usize, host: HostId, request: &Request, origin: Origin) -> SpanRow {
    SpanRow {
        id: number,
        span_id: request.key.span,
        parent_span_id: request.told.as_ref().and_then(|told| told.parent),
        service: request.service().to_owned(),
        operation: request.operation().to_owned(),
        host,
        begin_ns: origin.offset(request.window.begin),
        end_ns: origin.offset(request.window.end),
    }
}

fn waits(
    all: &AllHosts<'_>,
    of: RequestOfHost,
    summary: &Summary<'_>,
    origin: Origin,
) -> Vec<WaitRow> {
    let end = all.get(of).window.end;
    let waits = summary.waits.iter().map(|wait| {
        let waker = wait.on.waker();
        WaitRow {
            begin_ns: origin.offset(wait.range.begin),
            end_ns: origin.offset(wait.range.end),
            tid: wait.thread,
            on: wait.on.name(),
            waker_tid: waker.map(|waker| waker.thread),
            waker_comm: waker.and_then(|waker| {
                let lines = all.hosts().lines(waker.host)?;
                Some(lines.name(waker.thread, end).into_owned())
            }),
            call: wait.call.map(str::to_owned),
            mostly_tid: wait.mostly.0.thread,
            mostly_state: wait.mostly.1.name(),
        }
    });
    waits.collect()
}
