//! Drawn hosts and their findings. Times in drawings are in microseconds.
//!
//! Kernel events are drawn as in crate `slowpath-drawn`; `start THREAD SPAN` and `end THREAD SPAN`
//! begin and end a request of trace 1 in a thread, or of another one as `TRACE:SPAN`; `attach` and `detach` tell
//! when a thread takes it up and leaves it. `-- …` is of the kernel's trace.

use std::collections::BTreeMap;

use slowpath_critical_path::{Host as NamedHost, Hosts};
use slowpath_drawn::DrawnTrace;
use slowpath_findings::{Diagnosis, Finding, FindingId, FoundOut, Host};
use slowpath_kernel::disks::disk_use;
use slowpath_kernel::exits::exits;
use slowpath_kernel::network::Network;
use slowpath_kernel::peers::peers;
use slowpath_kernel::priorities::priorities;
use slowpath_kernel::quotas::GroupQuotas;
use slowpath_kernel::timelines::Timelines;
use slowpath_kernel::timers::Firings;
use slowpath_model::{
    Diagnostic, DiagnosticCode, HostId, Place, ProcessId, SpanId, TimeRange, Timestamp, TraceId,
};
use slowpath_read_spans::{
    Attribute, AttributeValue, Reference, ReferenceKind, Span, SpanKind, SpanStatus,
};
use slowpath_requests::{AllHosts, HostEvents, Requests, join, span_events};

/// Drawn hosts with their requests.
pub struct Drawn {
    kernels: Vec<DrawnTrace>,
    names: Vec<String>,
    lines: Vec<Timelines>,
    network: Network,
    requests: Vec<Requests>,
    diagnostics: Vec<Vec<Diagnostic>>,
    /// Hosts of which rings in memory were recorded, and when these were filled.
    pub rings: BTreeMap<HostId, Vec<TimeRange>>,
    pub control_groups: BTreeMap<ProcessId, Vec<String>>,
    /// What a recorder noted of quotas, and when their timers fired.
    pub quotas: Option<(GroupQuotas, Firings)>,
}

/// The findings about one drawn host, with the spans of a file.
pub fn findings(drawing: &str, spans: Vec<Span>) -> Vec<Finding> {
    Drawn::hosts(&[("web-1", drawing)], spans).findings(HostId(0))
}

impl Drawn {
    /// Hosts by name, and the spans of a file.
    pub fn hosts(drawings: &[(&str, &str)], spans: Vec<Span>) -> Self {
        let traces: Vec<[DrawnTrace; 2]> = drawings.iter().map(|(_, text)| traces(text)).collect();
        let options = Default::default();
        let lines = traces.iter().map(|[kernel, _]| {
            let built = Timelines::build_among_hosts(kernel, &options).expect("nobody cancels");
            built.state.expect("there are kernel events")
        });
        let lines: Vec<Timelines> = lines.collect();
        let names: Vec<String> = drawings
            .iter()
            .map(|(name, _)| (*name).to_owned())
            .collect();
        let hosts = traces.iter().zip(&lines).zip(&names);
        let hosts = hosts.map(|(([_, marks], lines), name)| HostEvents {
            name: name.clone(),
            shown_name: name.clone(),
            events: (span_events(marks, &options).expect("nobody cancels").state)
                .unwrap_or_default(),
            lines: Some(lines),
        });
        let (requests, _) = join(hosts.collect(), spans);
        Self {
            network: Network::of(&lines.iter().map(Some).collect::<Vec<_>>()),
            kernels: traces.into_iter().map(|[kernel, _]| kernel).collect(),
            names,
            diagnostics: vec![Vec::new(); lines.len()],
            lines,
            requests,
            rings: BTreeMap::new(),
            control_groups: BTreeMap::new(),
            quotas: None,
        }
    }

    /// Says that something is wrong with the trace of a host.
    pub fn wrong(&mut self, id: HostId, code: DiagnosticCode, count: Option<u64>) {
        let place = Place {
            file: self.names[id.index()].clone(),
            ..Place::default()
        };
        self.diagnostics[id.index()].push(Diagnostic {
            count,
            ..Diagnostic::new(code, place, "in a test")
        });
    }

    /// The findings about a host, with all that they ask the trace for.
    pub fn findings(&self, id: HostId) -> Vec<Finding> {
        self.diagnosed(id, |diagnosis| self.told(id, diagnosis))
    }

    /// What is asked of the diagnosis of a host.
    pub fn diagnosed<T>(&self, id: HostId, ask: impl FnOnce(&Diagnosis<'_>) -> T) -> T {
        let hosts = self.lines.iter().zip(&self.names);
        let hosts = hosts.map(|(lines, name)| NamedHost {
            name,
            lines: Some(lines),
        });
        let hosts = Hosts::new(hosts.collect(), Some(&self.network));
        let all = AllHosts::new(hosts, self.requests.iter().collect());
        let (group_quotas, quota_periods) = self.quotas.as_ref().map(|(of, at)| (of, at)).unzip();
        let diagnosis = Diagnosis::begin(Host {
            all: &all,
            id,
            control_groups: &self.control_groups,
            group_quotas,
            quota_periods,
            diagnostics: &self.diagnostics,
            rings: &self.rings,
            window: TimeRange::ALL,
            meant: &|_, _| true,
        });
        ask(&diagnosis)
    }

    fn told(&self, id: HostId, diagnosis: &Diagnosis<'_>) -> Vec<Finding> {
        let (kernel, options) = (&self.kernels[id.index()], Default::default());
        let disks = disk_use(kernel, diagnosis.disk_waits(), &options).expect("nobody cancels");
        let peers = peers(kernel, diagnosis.network_waits(), &options).expect("nobody cancels");
        let priorities = priorities(kernel, &options).expect("nobody cancels");
        let priorities = priorities.state.filter(|_| diagnosis.asks_for_priorities());
        diagnosis.findings(&FoundOut {
            disks: disks.state.unwrap_or_default(),
            peers: peers.state.unwrap_or_default(),
            priorities: priorities.unwrap_or_default(),
            exits: match diagnosis.asks_for_exits() {
                true => exits(kernel, &options).expect("nobody cancels").state,
                false => None,
            }
            .unwrap_or_default(),
        })
    }
}

/// A drawing as the trace of the kernel and that of the spans.
fn traces(drawing: &str) -> [DrawnTrace; 2] {
    let (mut kernel, mut marks) = (String::new(), "-- domain user\n".to_owned());
    for line in drawing
        .lines()
        .map(str::trim)
        .filter(|line| !line.is_empty())
    {
        if line.starts_with("--") {
            kernel += &format!("{line}\n");
            continue;
        }
        let words: Vec<&str> = line.splitn(4, ' ').collect();
        let [stream, at, what, rest] = words[..] else {
            panic!("no stream, time, event and fields in {line:?}");
        };
        let at = 1000 * at.parse::<i64>().expect("a time");
        match (what, rest.split_once(' ')) {
            ("start" | "end" | "attach" | "detach", Some((thread, span))) => {
                let event = match what {
                    "start" | "end" => format!("{what}_span"),
                    _ => what.to_owned(),
                };
                let (trace, span) = span.split_once(':').unwrap_or(("1", span));
                marks += &format!(
                    "{stream} {at} slowpath_span:{event} trace_id_high=0x0 trace_id_low=0x{trace} \
                     span_id=0x{span} @vpid=1 @vtid={thread}\n"
                );
            }
            _ => kernel += &format!("{stream} {at} {what} {rest}\n"),
        }
    }
    [kernel, marks].map(|text| DrawnTrace::parse(&text).expect("the drawing can be read"))
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
        has_remote_parent: None,
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
