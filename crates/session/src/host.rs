//! The traces of an experiment by host, and as one source where a host has several.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufRead, BufReader};

use slowpath_engine::{Cancelled, Options};
use slowpath_kernel::io::Known;
use slowpath_kernel::timelines::Timelines;
use slowpath_kernel::timers::{Firings, firings};
use slowpath_model::{Diagnostic, ProcessId, ThreadId, TimeRange};
use slowpath_source::{Joined, Source};

use crate::{Experiment, OpenedSource, state_dump};

/// The kernel traces of one host.
pub struct HostKernels<'experiment> {
    /// The host's name; empty where the traces do not say.
    pub name: &'experiment str,
    traces: Vec<&'experiment OpenedSource>,
    joined: Option<Joined<'experiment>>,
}

impl Experiment {
    /// The kernel traces by host, in the order of the traces.
    pub fn hosts(&self) -> Vec<HostKernels<'_>> {
        let mut hosts: Vec<HostKernels<'_>> = Vec::new();
        for trace in self.kernels() {
            let name = trace.source.schema().host.as_str();
            match hosts.iter_mut().find(|host| host.name == name) {
                Some(host) => host.traces.push(trace),
                None => hosts.push(HostKernels {
                    name,
                    traces: vec![trace],
                    joined: None,
                }),
            }
        }
        for host in &mut hosts {
            if host.traces.len() > 1 {
                host.joined = Some(Joined::new(host.traces.iter().map(|trace| &*trace.source)));
            }
        }
        hosts
    }
}

impl HostKernels<'_> {
    /// The host's kernel events.
    pub fn source(&self) -> &dyn Source {
        match &self.joined {
            Some(joined) => joined,
            None => &*self.traces[0].source,
        }
    }

    /// The host's threads over time, `None` where there was no event in `options.range`; and what was
    /// wrong with its traces. `among_hosts`: packets will be looked for on other hosts.
    pub fn timelines(
        &self,
        options: &Options<'_>,
        among_hosts: bool,
    ) -> Result<(Option<Timelines>, Vec<Diagnostic>), Cancelled> {
        let mut outcome = match among_hosts {
            true => Timelines::build_among_hosts(self.source(), options)?,
            false => Timelines::build(self.source(), options)?,
        };
        if let Some(lines) = &mut outcome.state {
            lines.add_saved(&self.saved_names(), &self.saved_processes());
        }
        Ok((outcome.state, outcome.diagnostics))
    }

    /// What is known about the host's processes besides the events.
    pub fn known(&self) -> Known {
        state_dump::known(&self.traces)
    }

    /// Names of threads that the tracers kept beside the events.
    pub fn saved_names(&self) -> Vec<(ThreadId, String)> {
        let saved = self.traces.iter().flat_map(|trace| &trace.saved_names);
        let mut names = state_dump::names(&self.traces);
        names.extend(saved.cloned());
        names.into_iter().collect()
    }

    /// The control group of each process that was in one below the root when it was last looked at.
    pub fn control_groups(&self) -> BTreeMap<ProcessId, String> {
        state_dump::control_groups(&self.traces)
    }

    /// When the periods of control groups' CPU quotas began, as each group's timer in the kernel told;
    /// empty where the recording does not say which timers these are.
    ///
    /// # Errors
    ///
    /// Where it was cancelled.
    pub fn quota_periods(&self, options: &Options<'_>) -> Result<Firings, Cancelled> {
        let address = |trace: &&OpenedSource| kernel_symbol(trace, "sched_cfs_period_timer");
        let Some(function) = self.traces.iter().find_map(address) else {
            return Ok(Firings::new());
        };
        let options = Options {
            range: TimeRange::ALL,
            ..*options
        };
        Ok(firings(self.source(), function, &options)?
            .state
            .unwrap_or_default())
    }

    /// Processes of threads that the tracers kept beside the events.
    pub fn saved_processes(&self) -> Vec<(ThreadId, ProcessId)> {
        let processes = self.traces.iter().flat_map(|trace| &trace.saved_processes);
        processes.copied().collect()
    }
}

/// The address of a function of the kernel, where the recorder wrote it down (`kernel/kallsyms`).
fn kernel_symbol(trace: &OpenedSource, name: &str) -> Option<u64> {
    trace.recording.as_ref()?;
    let symbols = BufReader::new(File::open(trace.path.join("kallsyms")).ok()?);
    let address = |line: String| {
        let mut words = line.split_ascii_whitespace();
        let (address, _kind) = (words.next()?, words.next()?);
        (words.next()? == name).then(|| u64::from_str_radix(address, 16).ok())?
    };
    symbols.lines().map_while(Result::ok).find_map(address)
}
