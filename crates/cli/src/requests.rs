//! `slowpath requests`: where the time of requests went, the slowest first; summaries by operation.
//!
//! Chooses requests and gives them out; what they are and where their time went is the matter of
//! crate `slowpath-requests`. Keys of the JSON document: docs/reference/definitions.md.

use std::cell::RefCell;
use std::convert::Infallible;
use std::num::NonZeroUsize;

use clap::Args;
use serde::ser::{Serialize, SerializeSeq, SerializeStruct, Serializer};
use slowpath_kernel::timelines::Timelines;
use slowpath_model::{
    HostId, Nanoseconds, SpanId, ThreadId, TimeRange, Timestamp, TraceId, counted, shown,
};
use slowpath_requests::{
    AllHosts, Operation, Operations, PlacedBy, Request, RequestOfHost, Shown, Summary, ThreadOfHost,
};
use slowpath_session::{HostRequests, RecordedRequests};
use slowpath_views::OperationName;

use crate::input::{self, InputArgs, Report, how_many};
use crate::output::print_json;
use crate::pattern::matches_any;
use crate::request_tables;

/// Show where the time of requests (spans) went, the slowest first.
#[derive(Args)]
pub struct RequestsArgs {
    #[command(flatten)]
    input: InputArgs,
    /// So many requests; 0 shows all. By default 20, or all with --json.
    #[arg(long, value_name = "N", value_parser = how_many)]
    slowest: Option<usize>,
    #[command(flatten)]
    chosen: ChosenArgs,
    /// By operation: what fast and slow requests spend their time on.
    #[arg(long)]
    percentiles: bool,
    /// One JSON document.
    #[arg(long)]
    json: bool,
}

/// Which requests are meant.
#[derive(Args, Clone)]
pub struct ChosenArgs {
    /// Only operations whose name matches; `*` and `?` stand for anything. May be repeated. Spans
    /// without a name go by that of their thread.
    #[arg(long, value_name = "GLOB")]
    operation: Vec<String>,
    /// Only services whose name matches. May be repeated.
    #[arg(long, value_name = "GLOB")]
    service: Vec<String>,
    /// Only requests of this distributed trace (hexadecimal).
    #[arg(long, value_name = "ID", value_parser = parse_trace)]
    trace: Option<TraceId>,
    /// Only requests of known duration that took at least so long, for instance 300ms or 1min.
    #[arg(long, value_name = "DURATION", value_parser = parse_duration, allow_hyphen_values = true)]
    min_duration: Option<Nanoseconds>,
}

pub(crate) fn parse_trace(text: &str) -> Result<TraceId, String> {
    TraceId::from_hex(text)
        .ok_or_else(|| format!("`{text}` is no trace id: up to 32 hexadecimal digits"))
}

fn parse_duration(text: &str) -> Result<Nanoseconds, String> {
    let explain = || format!("`{text}` is no duration such as 1min, 2.5s, 300ms or 10us");
    let digits = text.trim_end_matches(|symbol: char| symbol.is_alphabetic());
    let scale = match &text[digits.len()..] {
        "min" => 60e9,
        "s" => 1e9,
        "ms" => 1e6,
        "us" | "µs" => 1e3,
        "ns" => 1.0,
        _ => return Err(explain()),
    };
    let number: f64 = digits.parse().map_err(|_| explain())?;
    match number >= 0.0 {
        true => Ok(Nanoseconds((number * scale).round() as u64)),
        false => Err(explain()),
    }
}

/// A request with its host and what it is called.
#[derive(Clone, Copy)]
pub(crate) struct Chosen<'run> {
    pub(crate) all: &'run AllHosts<'run>,
    pub(crate) host: &'run HostRequests,
    pub(crate) of: RequestOfHost,
}

impl<'run> Chosen<'run> {
    pub(crate) fn request(self) -> &'run Request {
        self.all.get(self.of)
    }

    /// All requests of all hosts.
    pub(crate) fn every(
        recorded: &'run RecordedRequests,
        all: &'run AllHosts<'run>,
    ) -> impl Iterator<Item = Self> {
        let hosts = (0..).map(HostId).zip(&recorded.hosts);
        hosts.flat_map(move |(id, host)| {
            host.requests.ids().map(move |(request, _)| Self {
                all,
                host,
                of: RequestOfHost { host: id, request },
            })
        })
    }

    /// The name of a thread of its host at the end of the request; empty where unknown.
    pub(crate) fn comm(self, thread: ThreadId) -> String {
        let host = self.of.host;
        self.comm_of(ThreadOfHost { host, thread })
    }

    /// The same of a thread of any host; of another one its last name.
    pub(crate) fn comm_of(self, of: ThreadOfHost) -> String {
        let lines = self.all.hosts().lines(of.host);
        lines.map_or(String::new(), |lines| {
            let at = match of.host == self.of.host {
                true => self.request().window.end,
                false => lines.range().end,
            };
            lines.name(of.thread, at).into_owned()
        })
    }

    /// The name of a host that is not the request's own.
    pub(crate) fn other_host(self, host: HostId) -> Option<&'run str> {
        (host != self.of.host).then(|| self.all.hosts().name(host))
    }

    /// The name of the thread that served it first; empty where unknown.
    pub(crate) fn own_comm(self) -> String {
        let first = self.request().first_thread();
        first.map_or(String::new(), |thread| self.comm(thread))
    }

    /// What it is grouped by.
    pub(crate) fn operation(self) -> OperationName {
        OperationName::of(self.request(), self.host.lines.as_ref())
    }
}

impl ChosenArgs {
    /// Whether the request is meant, whenever it was; `lines` of its host name its thread.
    pub(crate) fn means(&self, request: &Request, lines: Option<&Timelines>) -> bool {
        let any =
            |patterns: &[String], name: &str| patterns.is_empty() || matches_any(patterns, name);
        self.trace.is_none_or(|trace| trace == request.key.trace)
            && self
                .min_duration
                .is_none_or(|least| request.duration() >= Some(least))
            && any(&self.service, request.service())
            && (self.operation.is_empty() || any(&self.operation, &request.name(lines)))
    }

    /// The requests that are meant and touch `range`, the slowest first.
    pub(crate) fn choose<'run>(
        &self,
        recorded: &'run RecordedRequests,
        all: &'run AllHosts<'run>,
        range: TimeRange,
    ) -> Vec<Chosen<'run>> {
        let mut chosen: Vec<Chosen<'run>> = Chosen::every(recorded, all)
            .filter(|chosen| {
                let request = chosen.request();
                request.window.touches(range) && self.means(request, chosen.host.lines.as_ref())
            })
            .collect();
        chosen.sort_by_cached_key(|chosen| {
            let request = chosen.request();
            (
                request.duration().is_none(),
                std::cmp::Reverse(request.window.length()),
            )
        });
        chosen
    }
}

/// Runs the command.
pub fn run(args: &RequestsArgs) -> anyhow::Result<Report> {
    anyhow::ensure!(
        args.json || !args.percentiles || args.slowest.is_none(),
        "--percentiles tells of operations, not of single requests\n  hint: leave out --slowest, or ask for --json, which \
         has both"
    );
    let experiment = args.input.open()?;
    let mut report = Report::begin(&experiment);
    let range = args.input.range(&experiment)?;
    let run = args.input.options();
    let (recorded, found) = input::requests(&experiment, &run)?;
    let (hosts, all) = (&recorded.hosts, recorded.all());
    report = report.with(found);
    ensure_spans(&recorded, &report)?;
    note_hosts(&recorded, range);
    let mut chosen = args.chosen.choose(&recorded, &all, range);
    let found = chosen.len();
    anyhow::ensure!(
        args.json || found > 0,
        "no request fits\n  hint: without filters and window, `slowpath requests` lists all"
    );
    let most = match args.slowest {
        // Their table tells nothing of single requests.
        _ if args.percentiles && !args.json => 0,
        Some(0) => usize::MAX,
        Some(most) => most,
        None if args.json => usize::MAX,
        None => 20,
    };
    if !args.percentiles {
        chosen.truncate(most);
    }
    let wanted = Wanted {
        all: &all,
        chosen: &chosen,
        most,
        jobs: run.jobs(),
        several_hosts: hosts.len() > 1,
        operations: RefCell::new(args.percentiles.then(|| {
            let durations = chosen.iter().map(|chosen| chosen.request().duration());
            let name = |chosen: &Chosen<'_>| OperationOfHost {
                name: chosen.operation(),
                host: (hosts.len() > 1).then(|| chosen.host.name.clone()),
            };
            Operations::of(chosen.iter().map(name).zip(durations))
        })),
    };
    if args.json {
        print_json(&wanted)?;
    } else if args.percentiles {
        wanted.for_each(|_, _| Ok::<_, Infallible>(()))?;
        let operations = wanted.operations.borrow();
        if let Some(operations) = &*operations {
            crate::output::print(&request_tables::operations(operations))?;
        }
    } else {
        let mut rows = Vec::new();
        wanted.for_each(|chosen, summary| {
            rows.push((chosen, summary));
            Ok::<_, Infallible>(())
        })?;
        let text = request_tables::slowest(&rows, found, hosts.len() > 1);
        crate::output::print(&text)?;
    }
    Ok(report)
}

/// # Errors
/// Where there are no requests at all.
pub(crate) fn ensure_spans(recorded: &RecordedRequests, report: &Report) -> anyhow::Result<()> {
    let mut hosts = recorded.hosts.iter();
    let any = hosts.any(|host| !host.requests.all().is_empty());
    let unplaced = recorded.unplaced_spans;
    if !any && unplaced > 0 {
        return Err(report.nothing(format!(
            "there {} {}, but none of a host and time that was recorded\n  hint: \
             `slowpath info` tells which hosts were; `slowpath services` needs spans alone",
            if unplaced == 1 { "is" } else { "are" },
            counted(unplaced, "span", "spans")
        )));
    }
    if !any {
        let why = "no spans were recorded\n  hint: applications tell their spans as user-space events \
                   (`PROVIDER:start_span`, `PROVIDER:end_span`); `slowpath count` lists what there is; what the \
                   agents for Node and Redis told is shown by `slowpath calls` and `slowpath redis`";
        return Err(report.nothing(why.to_owned()));
    }
    Ok(())
}

/// Says of which hosts requests tell nothing: those without kernel events; and, of several, those without a request in the
/// window, which is compared with each host's own clock, and these may be far apart.
pub(crate) fn note_hosts(recorded: &RecordedRequests, window: TimeRange) {
    for host in &recorded.hosts {
        let all = host.requests.all();
        let name = shown(&host.name);
        if !all.is_empty() && host.lines.is_none() {
            eprintln!(
                "note: host {name}: no kernel events were recorded, so nothing tells what its requests waited for\n  hint: \
                 `slowpath record` records them where it has the rights"
            );
        }
        let is_outside = !all.iter().any(|request| request.window.touches(window));
        if recorded.hosts.len() > 1 && !all.is_empty() && is_outside {
            eprintln!(
                "note: host {name}: none of its requests lies in the window\n  hint: --begin and --end are compared with \
                 each host's own clock; `slowpath info` tells when each was recorded"
            );
        }
    }
}

/// What is to be told.
struct Wanted<'run> {
    all: &'run AllHosts<'run>,
    /// The slowest first.
    chosen: &'run [Chosen<'run>],
    /// So many of them are told one by one.
    most: usize,
    jobs: NonZeroUsize,
    several_hosts: bool,
    /// What all of them add up to, where that is wanted; complete after [`Self::for_each`].
    operations: RefCell<Option<Operations<OperationOfHost>>>,
}

impl<'run> Wanted<'run> {
    /// Tells `each` of those that are told one by one, and adds up all.
    fn for_each<E>(
        &self,
        mut each: impl FnMut(Chosen<'run>, Summary<'run>) -> Result<(), E>,
    ) -> Result<(), E> {
        let mut operations = self.operations.borrow_mut();
        let mut order: Vec<usize> = (0..self.chosen.len()).collect();
        // Those that are told one by one come first, the others in the order of time, which is faster.
        order[self.most.min(self.chosen.len())..]
            .sort_unstable_by_key(|&place| self.chosen[place].of);
        let requests: Vec<RequestOfHost> =
            order.iter().map(|&place| self.chosen[place].of).collect();
        (self.all).for_each_summary(&requests, self.jobs, |number, summary| {
            let place = order[number];
            if let Some(operations) = operations.as_mut() {
                operations.add(place, &summary);
            }
            match place < self.most {
                true => each(self.chosen[place], summary),
                false => Ok(()),
            }
        })
    }
}

/// Row by row as they become known.
impl Serialize for Wanted<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut document = serializer.serialize_struct("Requests", 3)?;
        document.serialize_field("requests", &Rows(self))?;
        if let Some(operations) = &*self.operations.borrow() {
            let rows: Vec<OperationRow<'_>> = operations.all().iter().map(operation_row).collect();
            document.serialize_field("operations", &rows)?;
            document.serialize_field("in_part", &operations.in_part())?;
            document.serialize_field("left_out", &left_out_rows(operations))?;
        }
        document.end()
    }
}

struct Rows<'all, 'run>(&'all Wanted<'run>);

impl Serialize for Rows<'_, '_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut rows = serializer.serialize_seq(None)?;
        (self.0).for_each(|chosen, summary| {
            rows.serialize_element(&row(chosen, &summary, self.0.several_hosts))
        })?;
        rows.end()
    }
}

#[derive(serde::Serialize)]
struct Row<'run> {
    #[serde(skip_serializing_if = "Option::is_none")]
    host: Option<&'run str>,
    trace_id: TraceId,
    span_id: SpanId,
    #[serde(skip_serializing_if = "Option::is_none")]
    parent_span_id: Option<SpanId>,
    service: &'run str,
    operation: &'run str,
    comm: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pid: Option<i32>,
    tids: Vec<ThreadId>,
    begin_ns: Timestamp,
    end_ns: Timestamp,
    duration_ns: Nanoseconds,
    shown: Shown,
    placed_by: PlacedBy,
    /// The thread that ended it, where no event says how it got there.
    #[serde(skip_serializing_if = "Option::is_none")]
    ended_by_tid: Option<ThreadId>,
    /// As the tracing system's file has it.
    #[serde(skip_serializing_if = "Option::is_none")]
    recorded: Option<WindowRow>,
    summary: std::collections::BTreeMap<&'static str, u64>,
    own_summary: std::collections::BTreeMap<&'static str, u64>,
    blocked_by: Vec<BlockedByRow>,
    waits: Vec<WaitRow<'run>>,
}

#[derive(serde::Serialize)]
struct WindowRow {
    begin_ns: Timestamp,
    end_ns: Timestamp,
}

#[derive(serde::Serialize)]
struct BlockedByRow {
    trace_id: TraceId,
    span_id: SpanId,
    ns: Nanoseconds,
}

#[derive(serde::Serialize)]
struct WaitRow<'run> {
    begin_ns: Timestamp,
    end_ns: Timestamp,
    ns: Nanoseconds,
    tid: ThreadId,
    /// `THREAD`, or the state.
    on: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    waker_tid: Option<ThreadId>,
    #[serde(skip_serializing_if = "Option::is_none")]
    waker_comm: Option<String>,
    /// Where that is not the request's own.
    #[serde(skip_serializing_if = "Option::is_none")]
    waker_host: Option<&'run str>,
    call: Option<&'run str>,
    mostly_tid: ThreadId,
    #[serde(skip_serializing_if = "Option::is_none")]
    mostly_host: Option<&'run str>,
    mostly_state: &'static str,
}

/// An operation, of each host for itself where there are several.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct OperationOfHost {
    pub(crate) name: OperationName,
    pub(crate) host: Option<String>,
}

/// Requests of an operation that are in no percentile and no comparison.
#[derive(serde::Serialize)]
pub(crate) struct LeftOutRow<'run> {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) host: Option<&'run str>,
    #[serde(flatten)]
    pub(crate) name: &'run OperationName,
    pub(crate) in_part: u64,
}

pub(crate) fn left_out_rows(operations: &Operations<OperationOfHost>) -> Vec<LeftOutRow<'_>> {
    let rows = operations.left_out().iter();
    let rows = rows.map(|(of, in_part)| LeftOutRow {
        host: of.host.as_deref(),
        name: &of.name,
        in_part: *in_part,
    });
    rows.collect()
}

#[derive(serde::Serialize)]
struct OperationRow<'run> {
    #[serde(skip_serializing_if = "Option::is_none")]
    host: Option<&'run str>,
    service: &'run str,
    operation: &'run str,
    comm: &'run str,
    count: u64,
    in_part: u64,
    p50_ns: Nanoseconds,
    p90_ns: Nanoseconds,
    p99_ns: Nanoseconds,
    max_ns: Nanoseconds,
    bands: Vec<BandRow>,
}

#[derive(serde::Serialize)]
struct BandRow {
    from_percentile: f64,
    to_percentile: f64,
    count: u64,
    min_ns: Nanoseconds,
    max_ns: Nanoseconds,
    summary: std::collections::BTreeMap<&'static str, u64>,
    own_summary: std::collections::BTreeMap<&'static str, u64>,
}

fn row<'run>(chosen: Chosen<'run>, summary: &'run Summary<'run>, several_hosts: bool) -> Row<'run> {
    let request = chosen.request();
    let told = request.told.as_ref();
    let blocked_by = summary.blocked_by.iter().map(|(other, length)| {
        let key = chosen.all.get(*other).key;
        BlockedByRow {
            trace_id: key.trace,
            span_id: key.span,
            ns: *length,
        }
    });
    let waits = summary.waits.iter().map(|wait| {
        let waker = wait.on.waker();
        WaitRow {
            begin_ns: wait.range.begin,
            end_ns: wait.range.end,
            ns: wait.range.length(),
            tid: wait.thread,
            on: wait.on.name(),
            waker_tid: waker.map(|waker| waker.thread),
            waker_comm: waker.map(|waker| chosen.comm_of(waker)),
            waker_host: waker.and_then(|waker| chosen.other_host(waker.host)),
            call: wait.call,
            mostly_tid: wait.mostly.0.thread,
            mostly_host: chosen.other_host(wait.mostly.0.host),
            mostly_state: wait.mostly.1.name(),
        }
    });
    Row {
        host: several_hosts.then_some(&chosen.host.name),
        trace_id: request.key.trace,
        span_id: request.key.span,
        parent_span_id: told.and_then(|told| told.parent),
        service: request.service(),
        operation: request.operation(),
        comm: chosen.own_comm(),
        pid: request.process.map(|process| process.0),
        tids: request.threads(),
        begin_ns: request.window.begin,
        end_ns: request.window.end,
        duration_ns: request.window.length(),
        shown: request.shown,
        placed_by: request.placed_by,
        ended_by_tid: (request.end)
            .and_then(|end| end.thread)
            .filter(|_| request.ends_elsewhere()),
        recorded: told.map(|told| WindowRow {
            begin_ns: told.window.begin,
            end_ns: told.window.end,
        }),
        summary: summary.states.by_name(),
        own_summary: summary.own.by_name(),
        blocked_by: blocked_by.collect(),
        waits: waits.collect(),
    }
}

fn operation_row(operation: &Operation<OperationOfHost>) -> OperationRow<'_> {
    let bands = operation.bands.iter().map(|band| BandRow {
        from_percentile: band.permille.0 as f64 / 10.0,
        to_percentile: band.permille.1 as f64 / 10.0,
        count: band.count,
        min_ns: band.durations.0,
        max_ns: band.durations.1,
        summary: band.states.by_name(),
        own_summary: band.own.by_name(),
    });
    let OperationOfHost { name, host } = &operation.name;
    OperationRow {
        host: host.as_deref(),
        service: &name.service,
        operation: &name.operation,
        comm: &name.comm,
        count: operation.count,
        in_part: operation.in_part,
        p50_ns: operation.p50,
        p90_ns: operation.p90,
        p99_ns: operation.p99,
        max_ns: operation.longest,
        bands: bands.collect(),
    }
}
