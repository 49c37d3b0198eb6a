//! Calls that a request makes one after the other although none is seen to need another's result.
//!
//! Known from the spans of tracing systems: parts of one request, of the same operation, of the same
//! callee as far as the spans tell it, at least three in a row without overlap. Whether they could
//! overlap only the program's author knows; so this is advice, not a verdict. Parts that call nobody and mostly
//! compute would take as long at the same time, on their thread.

use std::collections::BTreeMap;

use slowpath_model::{Nanoseconds, SpanId, TimeRange, Timestamp, TraceId, shown};
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
        let mut groups: BTreeMap<Call, Vec<RequestId>> = BTreeMap::new();
        for &part in parts {
            let request = slow.requests.get(part);
            let callee = callee(whole, request, &servers);
            let call = (request.operation().to_owned(), callee);
            groups.entry(call).or_default().push(part);
        }
        let window = |call: &RequestId| slow.requests.get(*call).window;
        let grouped = groups.values().zip(0..);
        let all = grouped.flat_map(|(calls, group)| calls.iter().map(move |call| (call, group)));
        let ends = FirstEnds::of(all.map(|(call, group)| (window(call), group)).collect());
        for ((call, calls), group) in groups.into_iter().zip(0..) {
            let apart = |pair: &[RequestId]| window(&pair[0]).end <= window(&pair[1]).begin;
            if calls.len() < LEAST_CALLS || !calls.windows(2).all(apart) {
                continue;
            }
            let is_work = call.1.is_empty() && !calls.iter().any(|part| is_client(slow, *part));
            if is_work && mostly_compute(slow, &calls) {
                continue;
            }
            let longest = calls.iter().map(|call| window(call).length()).max();
            let longest = longest.unwrap_or(Nanoseconds::ZERO);
            let key = (whole.operation().to_owned(), call);
            let serial = operations.entry(key).or_default();
            serial.requests += 1;
            serial.most_calls = serial.most_calls.max(calls.len());
            let mut pauses = calls
                .windows(2)
                .map(|pair| TimeRange::new(window(&pair[0]).end, window(&pair[1]).begin));
            serial.with_others += usize::from(pauses.any(|pause| ends.lies_within(pause, group)));
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

/// The parts of a request, to ask whether some lie within a pause between calls: there may be as many of these.
struct FirstEnds {
    /// In their order.
    begins: Vec<Timestamp>,
    /// Of those that begin then or later: the first end with the group of that part, and the first of other groups.
    ends: Vec<[Option<(Timestamp, u32)>; 2]>,
}

impl FirstEnds {
    /// Of parts with the numbers of their groups.
    fn of(mut parts: Vec<(TimeRange, u32)>) -> Self {
        parts.sort_unstable_by_key(|(window, group)| (window.begin, window.end, *group));
        let mut first: [Option<(Timestamp, u32)>; 2] = [None, None];
        let mut ends: Vec<_> = (parts.iter().rev())
            .map(|(window, group)| {
                let new = (window.end, *group);
                let is_earlier =
                    |old: Option<(Timestamp, u32)>| old.is_none_or(|old| new.0 < old.0);
                first = match first {
                    [Some((_, own)), other] if own == *group && is_earlier(first[0]) => {
                        [Some(new), other]
                    }
                    [known, _] if is_earlier(known) => [Some(new), known],
                    [Some((_, own)), other] if own != *group && is_earlier(other) => {
                        [first[0], Some(new)]
                    }
                    same => same,
                };
                first
            })
            .collect();
        ends.reverse();
        let begins = parts.iter().map(|(window, _)| window.begin).collect();
        Self { begins, ends }
    }

    /// Whether a part of another group than `own` does.
    fn lies_within(&self, pause: TimeRange, own: u32) -> bool {
        let from = self.begins.partition_point(|begin| *begin < pause.begin);
        let ends = self.ends.get(from).into_iter().flatten().flatten();
        let mut others = ends.filter(|(_, group)| *group != own);
        others.any(|(end, _)| *end <= pause.end)
    }
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

fn is_client(slow: &Slow<'_>, part: RequestId) -> bool {
    let told = slow.requests.get(part).told.as_ref();
    told.is_some_and(|told| matches!(told.kind, SpanKind::Client | SpanKind::Producer))
}

/// Whether the threads of these parts run, or could, in most of their time.
fn mostly_compute(slow: &Slow<'_>, parts: &[RequestId]) -> bool {
    let (mut computed, mut all) = (Nanoseconds::ZERO, Nanoseconds::ZERO);
    for &part in parts {
        let request = slow.requests.get(part);
        all += request.window.length();
        if let [thread] = request.threads()[..] {
            let states = slow.lines.states(thread, request.window);
            computed += states.running + states.runnable;
        }
    }
    computed.get() * 2 > all.get()
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_lies_within_a_pause_is_what_a_look_at_each_part_finds() {
        let window = |begin: i64, end: i64| {
            TimeRange::new(Timestamp::from_ns(begin), Timestamp::from_ns(end))
        };
        // Some of them empty, in four groups.
        let mut number = 1_i64;
        let mut next = |below: i64| {
            number = (number * 75 + 74) % 65_537;
            number % below
        };
        let parts: Vec<(TimeRange, u32)> = (0..60)
            .map(|_| {
                let begin = next(200);
                (window(begin, begin + next(12)), next(4) as u32)
            })
            .collect();
        let ends = FirstEnds::of(parts.clone());
        let mut found = [0, 0];
        for begin in 0..200 {
            for (length, own) in (0..12).flat_map(|length| [(length, 0), (length, 3), (length, 9)])
            {
                let pause = window(begin, begin + length);
                let lies_within = parts.iter().any(|(part, group)| {
                    *group != own && pause.begin <= part.begin && part.end <= pause.end
                });
                assert_eq!(ends.lies_within(pause, own), lies_within, "{pause:?} {own}");
                found[usize::from(lies_within)] += 1;
            }
        }
        assert!(found.iter().all(|count| *count > 500), "{found:?}");
    }
}
