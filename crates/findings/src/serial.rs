//! Calls that a request makes one after the other although none is seen to need another's result.
//!
//! Known from the spans of tracing systems: parts of one request, of the same operation, of the same
//! callee as far as the spans tell it, at least three in a row without overlap. Whether they could
//! overlap only the program's author knows; so this is advice, not a verdict.

use std::collections::BTreeMap;

use slowpath_model::{Nanoseconds, SpanId, TraceId, shown};
use slowpath_read_spans::{AttributeValue, SpanKind};
use slowpath_requests::{Request, RequestId, Told};

use crate::finding::{Evidence, Finding, FindingId};
use crate::path::{Slow, Taken};

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
    let mut operations: BTreeMap<(String, Call), (Taken, usize, usize)> = BTreeMap::new();
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
            let apart = |pair: &[RequestId]| {
                let [one, other] = pair else {
                    return false;
                };
                slow.requests.get(*one).window.end <= slow.requests.get(*other).window.begin
            };
            if calls.len() < LEAST_CALLS || !calls.windows(2).all(apart) {
                continue;
            }
            let window = |call: &RequestId| slow.requests.get(*call).window;
            let longest = calls.iter().map(|call| window(call).length()).max();
            let longest = longest.unwrap_or(Nanoseconds::ZERO);
            let key = (whole.operation().to_owned(), call);
            let (taken, count, most) = operations.entry(key).or_default();
            *count += 1;
            *most = (*most).max(calls.len());
            // What could be gained: all but the longest.
            let mut left_out = false;
            for call in &calls {
                if window(call).length() == longest && !left_out {
                    left_out = true;
                    continue;
                }
                let thread = slow.requests.get(*call).threads().first().copied();
                taken.add(*id, thread.map(|thread| slow.own(thread)), window(call));
            }
        }
    }
    let findings = operations
        .into_iter()
        .filter_map(|((whole, (part, callee)), of)| {
            let (mut taken, count, most) = of;
            let of_callee = match callee.as_str() {
                "" => String::new(),
                callee => format!(" of {}", shown(callee)),
            };
            let title = format!(
                "Serial calls: {} calls {}{of_callee} up to {most} times in a row",
                shown(&whole),
                shown(&part)
            );
            let explanation = format!(
                "In {count} slow requests these calls follow each other without overlap. At the same \
                 time they would need {} less in all, if none needs another's result.",
                taken.total
            );
            let mut evidence = taken.evidence(slow, "one of the calls, for");
            evidence.push(Evidence::text(format!(
                "{count} slow requests, at most {most} calls"
            )));
            let advice = "Make the calls at the same time, or ask for everything in one call.";
            taken.finding(slow, FindingId::SerialCalls, title, explanation, evidence, advice)
        });
    findings.collect()
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
