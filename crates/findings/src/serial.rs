//! Calls that a request makes one after the other although none is seen to need another's result.
//!
//! Known from the spans of tracing systems: parts of one request, of the same operation, in the same
//! service, at least three in a row without overlap. Whether they could overlap only the program's
//! author knows; so this is advice, not a verdict.

use std::collections::BTreeMap;

use slowpath_model::{Nanoseconds, SpanId, TraceId};
use slowpath_requests::RequestId;

use crate::finding::{Evidence, Finding, FindingId};
use crate::path::{Slow, Taken};

/// Fewer calls in a row are how programs are written.
const LEAST_CALLS: usize = 3;

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
    let mut operations: BTreeMap<(String, String), (Taken, usize, usize)> = BTreeMap::new();
    for (id, _) in &slow.paths {
        let whole = slow.requests.get(*id);
        let Some(parts) = parts.get(&(whole.key.trace, whole.key.span)) else {
            continue;
        };
        let mut calls: BTreeMap<&str, Vec<RequestId>> = BTreeMap::new();
        for &part in parts {
            calls
                .entry(slow.requests.get(part).operation())
                .or_default()
                .push(part);
        }
        for (operation, calls) in calls {
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
            let key = (whole.operation().to_owned(), operation.to_owned());
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
                taken.add(*id, slow.own(thread.unwrap_or_default()), window(call));
            }
        }
    }
    let findings = operations.into_iter().filter_map(|((whole, part), (mut taken, count, most))| {
        let title = format!("Serial calls: {whole} calls {part} up to {most} times in a row");
        let explanation = format!(
            "In {count} slow requests these calls follow each other without overlap. At the same \
             time they would need {} less in all, if none needs another's result.",
            taken.total
        );
        let mut evidence = taken.evidence(slow, "one of the calls, for");
        evidence.push(Evidence::text(format!("{count} slow requests, at most {most} calls")));
        let advice = "Make the calls at the same time, or ask for everything in one call.";
        taken.finding(slow, FindingId::SerialCalls, title, explanation, evidence, advice)
    });
    findings.collect()
}
