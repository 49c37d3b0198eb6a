//! The requests of an experiment: span events of each host, laid over its time lines.
//!
//! A host is any that a trace names, with or without kernel events; without them its requests are
//! known, but not where their time went.

use slowpath_engine::{Cancelled, Options};
use slowpath_kernel::timelines::Timelines;
use slowpath_model::{Diagnostic, TimeRange};
use slowpath_requests::{Requests, has_span_events, span_events};
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
        let mut requests = Vec::new();
        for host in self.span_hosts() {
            let lines = match &host.kernel {
                None => None,
                Some(kernel) => {
                    let outcome = Timelines::build(kernel.source(), &options)?;
                    diagnostics.extend(outcome.diagnostics);
                    outcome.state.map(|mut lines| {
                        lines.add_saved(&kernel.saved_names(), &kernel.saved_processes());
                        lines
                    })
                }
            };
            let outcome = span_events(&Joined::new(host.spans), &options)?;
            diagnostics.extend(outcome.diagnostics);
            let events = outcome.state.unwrap_or_default();
            requests.push(HostRequests {
                name: host.name,
                requests: Requests::build(events, lines.as_ref()),
                lines,
            });
        }
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
