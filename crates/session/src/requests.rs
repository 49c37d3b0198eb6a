//! The requests of an experiment: span events of each host, laid over its time lines.
//!
//! A host is any that a trace names, with or without kernel events; without them its requests are
//! known, but not where their time went.

use std::collections::BTreeMap;

use slowpath_engine::{Cancelled, Options};
use slowpath_kernel::timelines::Timelines;
use slowpath_model::{Diagnostic, ProcessId, TimeRange};
use slowpath_read_spans::{Collected, ReadOptions};
use slowpath_requests::{HostEvents, Requests, clock_offsets, has_span_events, join, span_events};
use slowpath_source::{Joined, Source};

use crate::{Experiment, HostKernels};

/// The requests of one host.
#[derive(Debug)]
pub struct HostRequests {
    /// The host's name; empty where the traces do not say.
    pub name: String,
    /// Its threads over time, where its kernel was traced.
    pub lines: Option<Timelines>,
    /// Its requests.
    pub requests: Requests,
    /// The control group of each process that was in one below the root, where the recording tells.
    pub control_groups: BTreeMap<ProcessId, String>,
}

impl Experiment {
    /// The requests of every host, in the order of the traces; and what was wrong with the traces.
    /// All of each trace is read: what ended a wait may lie anywhere.
    pub fn requests(
        &self,
        options: &Options<'_>,
    ) -> Result<(Vec<HostRequests>, Vec<Diagnostic>), Cancelled> {
        let options = Options {
            range: TimeRange::ALL,
            ..*options
        };
        let mut diagnostics = Vec::new();
        let hosts = self.span_hosts();
        let mut all_lines: Vec<Option<Timelines>> = Vec::new();
        let mut all_events = Vec::new();
        for host in &hosts {
            let mut lines = None;
            if let Some(kernel) = &host.kernel {
                let outcome = Timelines::build(kernel.source(), &options)?;
                diagnostics.extend(outcome.diagnostics);
                lines = outcome.state;
                if let Some(lines) = &mut lines {
                    lines.add_saved(&kernel.saved_names(), &kernel.saved_processes());
                }
            }
            all_lines.push(lines);
            let outcome = span_events(&Joined::new(host.spans.iter().copied()), &options)?;
            diagnostics.extend(outcome.diagnostics);
            all_events.push(outcome.state.unwrap_or_default());
        }
        let events = (hosts.iter().zip(all_events).zip(&all_lines))
            .map(|((host, events), lines)| HostEvents {
                name: host.name.clone(),
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
        diagnostics.extend(found);
        for offset in clock_offsets(&requests.iter().collect::<Vec<_>>()) {
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
                name: host.name,
                lines,
                requests,
            })
            .collect();
        Ok((requests, diagnostics))
    }

    /// The hosts with kernel events or span events.
    fn span_hosts(&self) -> Vec<SpanHost<'_>> {
        let kernels = self.hosts();
        let mut hosts: Vec<SpanHost<'_>> = (kernels.into_iter())
            .map(|kernel| SpanHost {
                name: kernel.name.to_owned(),
                kernel: Some(kernel),
                spans: Vec::new(),
            })
            .collect();
        let only_one = hosts.len() == 1;
        for trace in &self.traces {
            let source = &*trace.source;
            if !has_span_events(source) {
                continue;
            }
            let name = source.schema().host.as_str();
            // One kernel, and one of the two traces does not say where it was recorded.
            let fits = |host: &&mut SpanHost<'_>| {
                host.name == name || only_one && (name.is_empty() || host.name.is_empty())
            };
            match hosts.iter_mut().find(fits) {
                Some(host) => host.spans.push(source),
                None => hosts.push(SpanHost {
                    name: name.to_owned(),
                    kernel: None,
                    spans: vec![source],
                }),
            }
        }
        hosts
    }
}

struct SpanHost<'experiment> {
    name: String,
    kernel: Option<HostKernels<'experiment>>,
    spans: Vec<&'experiment dyn Source>,
}
