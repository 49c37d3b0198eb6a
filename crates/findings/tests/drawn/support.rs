//! Drawn hosts and their findings. Times in drawings are in microseconds.
//!
//! Kernel events are drawn as in crate `slowpath-drawn`; `start THREAD SPAN` and `end THREAD SPAN`
//! begin and end a request of trace 1 in a thread.

use std::collections::BTreeMap;

use slowpath_critical_path::{Host as NamedHost, Hosts};
use slowpath_drawn::DrawnTrace;
use slowpath_findings::{Diagnosis, Finding, FindingId, Host};
use slowpath_kernel::disks::disk_use;
use slowpath_kernel::timelines::Timelines;
use slowpath_kernel::timers::Firings;
use slowpath_model::{HostId, SpanId, TimeRange, Timestamp, TraceId};
use slowpath_read_spans::{
    Attribute, AttributeValue, Reference, ReferenceKind, Span, SpanKind, SpanStatus,
};
use slowpath_requests::{AllHosts, HostEvents, join, span_events};

/// The findings about one drawn host, with the spans of a file.
pub fn findings(drawing: &str, spans: Vec<Span>) -> Vec<Finding> {
    let (mut kernel, mut marks) = (String::new(), "-- domain user\n".to_owned());
    for line in drawing
        .lines()
        .map(str::trim)
        .filter(|line| !line.is_empty())
    {
        let words: Vec<&str> = line.splitn(4, ' ').collect();
        let [stream, at, what, rest] = words[..] else {
            panic!("no stream, time, event and fields in {line:?}");
        };
        let at = 1000 * at.parse::<i64>().expect("a time");
        match (what, rest.split_once(' ')) {
            ("start" | "end", Some((thread, span))) => {
                marks += &format!(
                    "{stream} {at} slowpath_span:{what}_span trace_id_high=0x0 trace_id_low=0x1 \
                     span_id=0x{span} @vpid=1 @vtid={thread}\n"
                );
            }
            _ => kernel += &format!("{stream} {at} {what} {rest}\n"),
        }
    }
    let parse = |text: &str| DrawnTrace::parse(text).expect("the drawing can be read");
    let (kernel, marks) = (parse(&kernel), parse(&marks));
    let options = Default::default();
    let lines = Timelines::build(&kernel, &options).expect("nobody cancels");
    let lines = lines.state.expect("there are kernel events");
    let events = span_events(&marks, &options).expect("nobody cancels");
    let host = HostEvents {
        name: "web-1".into(),
        shown_name: "web-1".into(),
        events: events.state.unwrap_or_default(),
        lines: Some(&lines),
    };
    let (requests, _) = join(vec![host], spans);
    let named = NamedHost {
        name: "web-1",
        lines: Some(&lines),
    };
    let all = AllHosts::new(Hosts::new(vec![named], None), requests.iter().collect());
    let (control_groups, quota_periods) = (BTreeMap::new(), Firings::new());
    let diagnosis = Diagnosis::begin(Host {
        all: &all,
        id: HostId(0),
        control_groups: &control_groups,
        quota_periods: &quota_periods,
        diagnostics: &[],
        window: TimeRange::ALL,
    });
    let disks = disk_use(&kernel, diagnosis.disk_waits(), &options).expect("nobody cancels");
    diagnosis.findings(&disks.state.unwrap_or_default())
}

/// The one finding of a kind.
pub fn only(findings: &[Finding], id: FindingId) -> &Finding {
    let mut of_kind = findings.iter().filter(|finding| finding.id == id);
    match (of_kind.next(), of_kind.next()) {
        (Some(finding), None) => finding,
        _ => panic!("not one of {id:?}: {findings:#?}"),
    }
}

/// The words of its evidence.
pub fn evidence(finding: &Finding) -> Vec<&str> {
    let evidence = finding.evidence.iter();
    evidence.map(|evidence| evidence.text.as_str()).collect()
}

/// A span of a file: `2 100..300 SERVICE OPERATION KIND`, then `parent=1` and attributes `key=value`.
pub fn span(line: &str) -> Span {
    let words: Vec<&str> = line.split_whitespace().collect();
    let [id, times, service, operation, kind, ref rest @ ..] = words[..] else {
        panic!("no id, times, service, operation and kind in {line:?}");
    };
    let (begin, end) = times.split_once("..").expect("BEGIN..END");
    let trace = TraceId { high: 0, low: 1 };
    let at = |text: &str| Timestamp::from_ns(1000 * text.parse::<i64>().expect("a time"));
    let mut made = Span {
        trace,
        span: SpanId::from_hex(id).expect("a span id"),
        references: Vec::new(),
        service: service.into(),
        operation: operation.into(),
        begin: at(begin),
        end: at(end),
        kind: match kind {
            "server" => SpanKind::Server,
            "client" => SpanKind::Client,
            _ => SpanKind::Internal,
        },
        status: SpanStatus::Unset,
        attributes: Vec::new(),
    };
    for word in rest {
        match word.split_once('=').expect("KEY=VALUE") {
            ("parent", parent) => made.references.push(Reference {
                kind: ReferenceKind::ChildOf,
                trace,
                span: SpanId::from_hex(parent).expect("a span id"),
            }),
            (key, value) => made.attributes.push(Attribute {
                key: key.into(),
                value: AttributeValue::Text(value.into()),
            }),
        }
    }
    made
}
