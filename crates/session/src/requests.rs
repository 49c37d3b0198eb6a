//! The requests of an experiment: span events of each host, laid over its time lines.
//!
//! A host is any that a trace names, with or without kernel events; without them its requests are
//! known, but not where their time went.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use rustc_hash::FxHashSet;
use slowpath_critical_path::{Host, Hosts};
use slowpath_engine::{Cancelled, Options};
use slowpath_kernel::network::Network;
use slowpath_kernel::timelines::Timelines;
use slowpath_model::{Diagnostic, DiagnosticCode, ProcessId, TimeRange, Timestamp};
use slowpath_read_spans::{Collected, ReadOptions};
use slowpath_requests::{
    AllHosts, ClockOffset, HostEvents, Requests, SpanEvent, SpanEventKind, SpanKey, clock_offsets,
    has_span_events, join, span_events,
};
use slowpath_source::{Joined, Source};

use crate::host::{Machine, ShownNames};
use crate::{Experiment, HostKernels};

/// The requests of one host.
#[derive(Debug)]
pub struct HostRequests {
    /// The host's name, with its boot where several hosts have that name; empty where the traces do
    /// not say.
    pub name: String,
    /// Its threads over time, where its kernel was traced.
    pub lines: Option<Timelines>,
    /// Its requests.
    pub requests: Requests,
    /// The control groups that each process was seen in, the latest last; `/` is the root.
    pub control_groups: BTreeMap<ProcessId, Vec<String>>,
    /// Where its traces lie, and the recordings that they are part of.
    folders: BTreeSet<PathBuf>,
}

/// The requests of all hosts, in the order of the traces.
#[derive(Debug)]
pub struct RecordedRequests {
    /// By [`HostId`](slowpath_model::HostId).
    pub hosts: Vec<HostRequests>,
    /// The packets between them.
    pub network: Network,
    /// Spans of files that are of no host or time that was recorded.
    pub unplaced_spans: u64,
}

impl RecordedRequests {
    /// The diagnostics about each host's traces, in the order of the hosts; one that is not about a file of
    /// any of them is with all.
    pub fn by_host(&self, diagnostics: &[Diagnostic]) -> Vec<Vec<Diagnostic>> {
        let is_of = |host: &HostRequests, diagnostic: &Diagnostic| {
            let file = Path::new(&diagnostic.place.file);
            host.folders.iter().any(|folder| file.starts_with(folder))
        };
        let is_of_none = |one: &Diagnostic| !self.hosts.iter().any(|host| is_of(host, one));
        let of_host = |host: &HostRequests| {
            let all = diagnostics.iter();
            let own = all.filter(|one| is_of(host, one) || is_of_none(one));
            own.cloned().collect()
        };
        self.hosts.iter().map(of_host).collect()
    }

    /// As paths need them, which may lead from host to host.
    pub fn all(&self) -> AllHosts<'_> {
        let hosts = self.hosts.iter().map(|host| Host {
            name: &host.name,
            lines: host.lines.as_ref(),
        });
        let requests = self.hosts.iter().map(|host| &host.requests).collect();
        AllHosts::new(Hosts::new(hosts.collect(), Some(&self.network)), requests)
    }
}

impl Experiment {
    /// The requests of every host; and what was wrong with the traces.
    /// All of each trace is read: what ended a wait may lie anywhere.
    pub fn requests(
        &self,
        options: &Options<'_>,
    ) -> Result<(RecordedRequests, Vec<Diagnostic>), Cancelled> {
        let options = Options {
            range: TimeRange::ALL,
            ..*options
        };
        let mut diagnostics = Vec::new();
        let hosts = self.span_hosts();
        let several = hosts.iter().filter(|host| host.kernel.is_some()).count() > 1;
        let mut all_lines: Vec<Option<Timelines>> = Vec::new();
        let mut all_events = Vec::new();
        for host in &hosts {
            let mut lines = None;
            if let Some(kernel) = &host.kernel {
                let (found_lines, found) = kernel.timelines(&options, several)?;
                diagnostics.extend(found);
                lines = found_lines;
            }
            all_lines.push(lines);
            let outcome = span_events(&Joined::new(host.spans.iter().copied()), &options)?;
            diagnostics.extend(outcome.diagnostics);
            let mut events = outcome.state.unwrap_or_default();
            leave_out_ended(&mut events, host.since);
            all_events.push(events);
        }
        let events = (hosts.iter().zip(all_events).zip(&all_lines))
            .map(|((host, events), lines)| HostEvents {
                name: host.machine.name.to_owned(),
                shown_name: host.name.clone(),
                events,
                lines: lines.as_ref(),
            })
            .collect();
        let mut told = Collected::default();
        for file in self.span_files() {
            file.read(ReadOptions::default(), &mut told);
        }
        diagnostics.append(&mut told.diagnostics);
        let (requests, found) = join(events, told.spans);
        let unplaced = (found.iter()).filter(|d| d.code == DiagnosticCode::UnplacedSpans);
        let unplaced_spans = unplaced.filter_map(|diagnostic| diagnostic.count).sum();
        diagnostics.extend(found);
        let network = Network::of(&all_lines.iter().map(Option::as_ref).collect::<Vec<_>>());
        for offset in offsets(&network, &requests) {
            let (first, second) = offset.hosts;
            if !offset.may_agree() {
                diagnostics.push(offset.diagnostic((&hosts[first].name, &hosts[second].name)));
            }
        }
        let requests = (hosts.into_iter().zip(all_lines).zip(requests))
            .map(|((host, lines), requests)| HostRequests {
                control_groups: (host.kernel.as_ref())
                    .map(HostKernels::control_groups)
                    .unwrap_or_default(),
                folders: host.folders,
                name: host.name,
                lines,
                requests,
            })
            .collect();
        let recorded = RecordedRequests {
            hosts: requests,
            network,
            unplaced_spans,
        };
        Ok((recorded, diagnostics))
    }

    /// The hosts with kernel events or span events.
    fn span_hosts(&self) -> Vec<SpanHost<'_>> {
        let names = ShownNames::of(&self.traces);
        let kernels = self.hosts();
        let mut hosts: Vec<SpanHost<'_>> = (kernels.into_iter())
            .map(|kernel| SpanHost {
                name: kernel.name.clone(),
                machine: kernel.machine(),
                folders: kernel.folders().collect(),
                kernel: Some(kernel),
                spans: Vec::new(),
                since: Timestamp::MAX,
            })
            .collect();
        let only_one = hosts.len() == 1;
        for trace in &self.traces {
            let source = &*trace.source;
            let machine = trace.machine();
            let name = machine.name;
            // One kernel, and one of the two traces does not say where it was recorded.
            let fits = |host: &&mut SpanHost<'_>| {
                host.machine.may_be(&machine)
                    || only_one && (name.is_empty() || host.name.is_empty())
            };
            let mut host = hosts.iter_mut().find(fits);
            if let Some(host) = &mut host {
                host.since = host.since.min(trace.snapshots_since);
            }
            if !has_span_events(source) {
                continue;
            }
            match host {
                Some(host) => {
                    host.spans.push(source);
                    host.folders.extend(trace.folders());
                }
                None => hosts.push(SpanHost {
                    name: names.of_machine(&machine),
                    machine,
                    folders: trace.folders().collect(),
                    kernel: None,
                    spans: vec![source],
                    since: trace.snapshots_since,
                }),
            }
        }
        hosts
    }
}

/// How far clocks are apart: as packets tell where there are any, else as distributed traces do.
fn offsets(network: &Network, requests: &[Requests]) -> Vec<ClockOffset> {
    let by_packets = network.relations().iter();
    let mut offsets: Vec<ClockOffset> = by_packets.filter_map(ClockOffset::by_packets).collect();
    for by_traces in clock_offsets(&requests.iter().collect::<Vec<_>>()) {
        if offsets.iter().all(|known| known.hosts != by_traces.hosts) {
            offsets.push(by_traces);
        }
    }
    offsets
}

struct SpanHost<'experiment> {
    /// As shown.
    name: String,
    machine: Machine<'experiment>,
    folders: BTreeSet<PathBuf>,
    kernel: Option<HostKernels<'experiment>>,
    spans: Vec<&'experiment dyn Source>,
    /// When the first of the host's snapshots begins; before all time where others than snapshots are opened.
    since: Timestamp,
}

/// Leaves out requests that ended before `since`: they are of an earlier snapshot, after which the tracer of
/// applications keeps its events, unlike that of the kernel.
fn leave_out_ended(events: &mut Vec<SpanEvent>, since: Timestamp) {
    let ends = events
        .iter()
        .filter(|event| event.kind == SpanEventKind::End && event.at < since);
    let ended: FxHashSet<SpanKey> = ends.map(SpanEvent::key).collect();
    if !ended.is_empty() {
        events.retain(|event| !ended.contains(&event.key()));
    }
}
