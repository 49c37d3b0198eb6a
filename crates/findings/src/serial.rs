//! Calls that a request makes one after the other although none is seen to need another's result.
//!
//! Known from the spans of tracing systems: parts of one request, of the same operation, of the same
//! callee as far as the spans tell it, at least three in a row without overlap. Whether they could
//! overlap only the program's author knows; so this is advice, not a verdict.

use std::collections::BTreeMap;

use slowpath_model::{Nanoseconds, SpanId, TimeRange, TraceId, shown};
use slowpath_read_spans::{AttributeValue, SpanKind};
use slowpath_requests::{Request, RequestId, Told};

use crate::finding::{Evidence, Finding, FindingId};
use crate::path::{Slow, Taken, counted};

/// Fewer calls in a row are how programs are written.
const LEAST_CALLS: usize = 3;

/// Attributes that say who is called: OpenTelemetry's names, older ones and OpenTracing's, the plainest
/// first.
const CALLEES: [&str; 7] = [
    "peer.service",
    "server.address",
    "net.peer.name",
    "peer.hostname",
    "net.peer.ip",
    "peer.address",
    "http.host",
];
/// And at which of its ports.
const PORTS: [&str; 3] = ["server.port", "net.peer.port", "peer.port"];

/// What makes calls the same: what is done, and by whom (empty where the spans do not say).
type Call = (String, String);

pub(crate) fn findings(slow: &Slow<'_>) -> Vec<Finding> {
    let mut parts: BTreeMap<(TraceId, SpanId), Vec<RequestId>> = BTreeMap::new();
    for (id, request) in slow.requests.ids() {
        if let Some(parent) = request.told.as_ref().and_then(|told| told.parent) {
            parts
                .entry((request.key.trace, parent))
                .or_default()
                .push(id);
        }
    }
    let servers = servers(slow);
    let mut operations: BTreeMap<(String, Call), Serial> = BTreeMap::new();
    for (id, _) in &slow.paths {
        let whole = slow.requests.get(*id);
        let Some(parts) = parts.get(&(whole.key.trace, whole.key.span)) else {
            continue;
        };
        let mut calls: BTreeMap<Call, Vec<RequestId>> = BTreeMap::new();
        for &part in parts {
            let request = slow.requests.get(part);
            let callee = callee(whole, request, &servers);
            let call = (request.operation().to_owned(), callee);
            calls.entry(call).or_default().push(part);
        }
        for (call, calls) in calls {
            let window = |call: &RequestId| slow.requests.get(*call).window;
            let apart = |pair: &[RequestId]| window(&pair[0]).end <= window(&pair[1]).begin;
            if calls.len() < LEAST_CALLS || !calls.windows(2).all(apart) {
                continue;
            }
            let longest = calls.iter().map(|call| window(call).length()).max();
            let longest = longest.unwrap_or(Nanoseconds::ZERO);
            let key = (whole.operation().to_owned(), call);
            let serial = operations.entry(key).or_default();
            serial.requests += 1;
            serial.most_calls = serial.most_calls.max(calls.len());
            let others = parts.iter().filter(|part| !calls.contains(part));
            if others
                .map(window)
                .any(|other| lies_between(other, &calls, window))
            {
                serial.with_others += 1;
            }
            // What could be gained: all but the longest.
            let mut left_out = false;
            for call in &calls {
                if window(call).length() == longest && !left_out {
                    left_out = true;
                    continue;
                }
                let thread = slow.requests.get(*call).threads().first().copied();
                (serial.taken).add(*id, thread.map(|thread| slow.own(thread)), window(call));
            }
        }
    }
    let told = operations.into_iter();
    told.filter_map(|((whole, call), serial)| serial.told(slow, &whole, &call))
        .collect()
}

/// Whether `other` begins after one of these calls and ends before the next.
fn lies_between(
    other: TimeRange,
    calls: &[RequestId],
    window: impl Fn(&RequestId) -> TimeRange,
) -> bool {
    let mut pauses = calls
        .windows(2)
        .map(|pair| TimeRange::new(window(&pair[0]).end, window(&pair[1]).begin));
    pauses.any(|pause| pause.begin <= other.begin && other.end <= pause.end)
}

/// Calls that the requests of an operation make one after the other.
#[derive(Default)]
struct Serial {
    taken: Taken,
    requests: usize,
    /// In which other calls lie between them.
    with_others: usize,
    most_calls: usize,
}

impl Serial {
    fn told(mut self, slow: &Slow<'_>, whole: &str, (part, callee): &Call) -> Option<Finding> {
        let of_callee = match callee.as_str() {
            "" => String::new(),
            callee => format!(" of {}", shown(callee)),
        };
        let requests = counted(self.requests, "slow request", "slow requests");
        let most = self.most_calls;
        let (in_a_row, between) = match self.with_others {
            0 => ("in a row", String::new()),
            some => (
                "one after the other",
                format!(
                    " In {some} of them other calls lie between, which may need a result or give one."
                ),
            ),
        };
        let title = format!(
            "Serial calls: {} calls {}{of_callee} up to {} {in_a_row}",
            shown(whole),
            shown(part),
            counted(most, "time", "times")
        );
        let explanation = format!(
            "In {requests} these calls follow each other without overlap.{between} At the \
             same time they would need {} less in all, if none needs another's result.",
            self.taken.total
        );
        let mut evidence = self.taken.evidence(slow, "one of the calls, for");
        evidence.push(Evidence::text(format!(
            "{requests}, at most {}",
            counted(most, "call", "calls")
        )));
        let advice = "Make the calls at the same time, or ask for everything in one call.";
        let id = FindingId::SerialCalls;
        (self.taken).finding(slow, id, title, explanation, evidence, advice)
    }
}

/// The spans that serve a call, of all hosts, by the span that makes it: with their services.
fn servers<'run>(slow: &Slow<'run>) -> BTreeMap<(TraceId, SpanId), &'run Told> {
    let mut servers = BTreeMap::new();
    for host in slow.all.hosts().ids() {
        for request in slow.all.requests(host).all() {
            let Some(told) = request.told.as_deref() else {
                continue;
            };
            let serves = matches!(told.kind, SpanKind::Server | SpanKind::Consumer);
            if let (true, Some(parent)) = (serves, told.parent) {
                servers.insert((request.key.trace, parent), told);
            }
        }
    }
    servers
}

/// Who is called by `part` of `whole`: the service that serves it, where it is recorded; else what its
/// attributes say; else empty.
fn callee(whole: &Request, part: &Request, servers: &BTreeMap<(TraceId, SpanId), &Told>) -> String {
    if let Some(server) = servers.get(&(part.key.trace, part.key.span)) {
        return server.service.to_string();
    }
    if part.service() != whole.service() {
        // It is the serving side itself.
        return part.service().to_owned();
    }
    let attribute = |key: &&str| {
        let attributes = &part.told.as_ref()?.attributes;
        let found = attributes
            .iter()
            .find(|attribute| &*attribute.key == *key)?;
        match &found.value {
            AttributeValue::Text(text) if !text.is_empty() => Some(text.to_string()),
            AttributeValue::Integer(number) => Some(number.to_string()),
            _ => None,
        }
    };
    let address = CALLEES.iter().find_map(&attribute);
    let port = PORTS.iter().find_map(attribute);
    match (address, port) {
        (Some(address), Some(port)) if !address.ends_with(&format!(":{port}")) => {
            format!("{address}:{port}")
        }
        (Some(one), _) | (None, Some(one)) => one,
        (None, None) => String::new(),
    }
}
