//! The traces that tell of data stores, by host: those of applications with the agent's events.

use slowpath_datastore::has_store_events;
use slowpath_source::{Joined, Source};

use crate::host::{Machine, ShownNames};
use crate::{Experiment, OpenedSource};

/// The traces of one host that tell of data stores.
pub struct HostStores<'experiment> {
    /// The host's name, with its boot where several hosts have that name; empty where the traces do
    /// not say.
    pub name: String,
    machine: Machine<'experiment>,
    traces: Vec<&'experiment OpenedSource>,
}

impl Experiment {
    /// The traces that tell of data stores by host, in the order of the hosts' names.
    pub fn stores(&self) -> Vec<HostStores<'_>> {
        let names = ShownNames::of(&self.traces);
        let mut hosts: Vec<HostStores<'_>> = Vec::new();
        let tells = |trace: &&OpenedSource| has_store_events(&*trace.source);
        for trace in self.traces.iter().filter(tells) {
            let machine = trace.machine();
            match hosts.iter_mut().find(|host| host.machine.may_be(&machine)) {
                Some(host) => host.traces.push(trace),
                None => hosts.push(HostStores {
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

impl<'experiment> HostStores<'experiment> {
    /// All of them as one.
    pub fn source(&self) -> Joined<'experiment> {
        Joined::new(
            self.traces
                .iter()
                .map(|trace| &*trace.source as &dyn Source),
        )
    }
}
