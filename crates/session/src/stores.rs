//! The traces that tell of data stores and services from inside, by host: those with the agents' events; and where the
//! kernel of that host was traced, too.

use slowpath_datastore::{
    Appends, Level, ServerModel, StoreReport, has_service_events, has_store_events, model, store,
};
use slowpath_engine::{Cancelled, Options, Outcome};
use slowpath_kernel::io::io_with_calls;
use slowpath_model::{Diagnostic, ProcessId, TimeRange, Timestamp};
use slowpath_source::{Joined, Source};

use crate::host::{Machine, ShownNames};
use crate::{Experiment, HostKernels, OpenedSource};

/// The traces of one host that tell of programs from inside.
pub struct InsideTraces<'experiment> {
    /// The host's name, with its boot where several hosts have that name; empty where the traces do
    /// not say.
    pub name: String,
    machine: Machine<'experiment>,
    traces: Vec<&'experiment OpenedSource>,
}

/// What the resources of one host's data stores were over time.
pub(crate) struct HostStores {
    /// The host's name, as [`InsideTraces::name`].
    pub(crate) name: String,
    pub(crate) servers: Vec<ServerModel>,
}

impl Experiment {
    /// The models of all data stores by host, and what was wrong with their traces.
    pub(crate) fn store_models(
        &self,
        options: &Options<'_>,
    ) -> Result<(Vec<HostStores>, Vec<Diagnostic>), Cancelled> {
        let options = Options {
            range: TimeRange::ALL,
            ..*options
        };
        let mut diagnostics = Vec::new();
        let mut hosts = Vec::new();
        for host in self.stores() {
            let outcome = model(&host.source(), &options)?;
            diagnostics.extend(outcome.diagnostics);
            hosts.push(HostStores {
                servers: outcome.state.unwrap_or_default(),
                name: host.name,
            });
        }
        Ok((hosts, diagnostics))
    }

    /// The traces that tell of data stores by host, in the order of the hosts' names.
    pub fn stores(&self) -> Vec<InsideTraces<'_>> {
        self.inside(|trace| has_store_events(&*trace.source))
    }

    /// The traces that tell of services and of data stores, by host in the order of the hosts' names; none where none
    /// tells of services.
    pub fn with_services(&self) -> Vec<InsideTraces<'_>> {
        let is_service = |trace: &OpenedSource| has_service_events(&*trace.source);
        let mut hosts = self.inside(|trace| is_service(trace) || has_store_events(&*trace.source));
        let mut traces = hosts.iter().flat_map(|host| &host.traces);
        if !traces.any(|trace| is_service(trace)) {
            hosts.clear();
        }
        hosts
    }

    fn inside(&self, tells: impl Fn(&OpenedSource) -> bool) -> Vec<InsideTraces<'_>> {
        let names = ShownNames::of(&self.traces);
        let mut hosts: Vec<InsideTraces<'_>> = Vec::new();
        for trace in self.traces.iter().filter(|trace| tells(trace)) {
            let machine = trace.machine();
            match hosts.iter_mut().find(|host| host.machine.may_be(&machine)) {
                Some(host) => host.traces.push(trace),
                None => hosts.push(InsideTraces {
                    name: names.of_machine(&machine),
                    machine,
                    traces: vec![trace],
                }),
            }
        }
        for host in &mut hosts {
            // Nothing may depend on which was named first.
            host.traces
                .sort_by_key(|trace| (trace.begin(), trace.path.clone()));
        }
        hosts.sort_by_cached_key(|host| {
            let first = host.traces.first();
            let place = first.map(|trace| (trace.begin(), trace.path.clone()));
            (host.name.clone(), place)
        });
        hosts
    }
}

impl<'experiment> InsideTraces<'experiment> {
    /// All of them as one.
    pub fn source(&self) -> Joined<'experiment> {
        Joined::new(
            self.traces
                .iter()
                .map(|trace| &*trace.source as &dyn Source),
        )
    }

    /// Which of an experiment's hosts it is, where its kernel was traced: the one of that name, or the only one where
    /// the names are not recorded.
    pub fn kernel<'hosts>(
        &self,
        hosts: &'hosts [HostKernels<'experiment>],
    ) -> Option<&'hosts HostKernels<'experiment>> {
        let is_its = |host: &&HostKernels<'_>| host.machine().may_be(&self.machine);
        let nameless =
            |host: &HostKernels<'_>| self.machine.name.is_empty() || host.machine().name.is_empty();
        hosts.iter().find(is_its).or(match hosts {
            [only] => Some(only).filter(|host| nameless(host)),
            _ => None,
        })
    }

    /// What its data stores did, as [`store`] tells it, with what the `kernel` tells of their append-only files.
    ///
    /// # Errors
    /// Where it was cancelled.
    pub fn stores(
        &self,
        kernel: Option<&HostKernels<'_>>,
        slowest: usize,
        level: Option<Level>,
        options: &Options<'_>,
    ) -> Result<Outcome<StoreReport>, Cancelled> {
        let told = kernel.map(|kernel| appends(kernel, options)).transpose()?;
        let (appends, diagnostics) = told.unzip();
        let mut outcome = store(&self.source(), slowest, level, appends.as_ref(), options)?;
        outcome
            .diagnostics
            .extend(diagnostics.into_iter().flatten());
        Ok(outcome)
    }
}

/// What first threads of processes waited for in append-only files; and what was wrong with the traces.
fn appends(
    kernel: &HostKernels<'_>,
    options: &Options<'_>,
) -> Result<(Appends, Vec<Diagnostic>), Cancelled> {
    // A batch that ended in the window may have waited before.
    let options = Options {
        range: TimeRange::new(Timestamp::MIN, options.range.end),
        ..*options
    };
    let told = io_with_calls(kernel.source(), &kernel.known(), &options)?;
    let mut appends = Appends::default();
    for file in told.state.unwrap_or_default().calls {
        if Appends::is_append_only_file(&file.path) {
            let calls = file.calls.iter();
            let calls = calls.map(|call| (call.range, call.name, call.syncs));
            appends.add(ProcessId(file.thread.0), &file.path, calls);
        }
    }
    Ok((appends, told.diagnostics))
}
