//! The traces of an experiment by host, and as one source where a host has several.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::PathBuf;

use slowpath_engine::{Cancelled, Options, Outcome};
use slowpath_kernel::InterruptedWait;
use slowpath_kernel::disks::{DiskUse, disk_use};
use slowpath_kernel::exits::{Exits, exits};
use slowpath_kernel::io::Known;
use slowpath_kernel::latency::{LatencyKind, LatencyReport, latency};
use slowpath_kernel::peers::{Peer, peers};
use slowpath_kernel::priorities::{Priorities, priorities};
use slowpath_kernel::quotas::GroupQuotas;
use slowpath_kernel::timelines::Timelines;
use slowpath_kernel::timers::{Firings, firings};
use slowpath_model::{
    Diagnostic, DiagnosticCode, Place, ProcessId, ThreadId, TimeRange, Timestamp,
};
use slowpath_source::{Joined, Source};

use crate::{Experiment, OpenedSource, group_quotas, state_dump};

/// The kernel traces of one host.
pub struct HostKernels<'experiment> {
    /// The host's name, with its boot where several hosts have that name; empty where the traces do
    /// not say.
    pub name: String,
    /// In the order of their begin.
    traces: Vec<&'experiment OpenedSource>,
    joined: Option<Joined<'experiment>>,
}

impl Experiment {
    /// The kernel traces by host, in the order of the traces.
    pub fn hosts(&self) -> Vec<HostKernels<'_>> {
        let names = ShownNames::of(&self.traces);
        let mut hosts: Vec<HostKernels<'_>> = Vec::new();
        for trace in self.kernels() {
            let machine = trace.machine();
            let is_same = |host: &&mut HostKernels<'_>| host.machine().may_be(&machine);
            match hosts.iter_mut().find(is_same) {
                Some(host) => host.traces.push(trace),
                None => hosts.push(HostKernels {
                    name: names.of_machine(&machine),
                    traces: vec![trace],
                    joined: None,
                }),
            }
        }
        for host in &mut hosts {
            // What several of them say must not depend on which was named first.
            host.traces
                .sort_by_key(|trace| (trace.begin(), trace.path.clone()));
            if host.traces.len() > 1 {
                host.joined = Some(Joined::new(host.traces.iter().map(|trace| &*trace.source)));
            }
        }
        // Nor their order.
        hosts.sort_by_cached_key(|host| {
            let machine = host.machine();
            let first = host.traces.first();
            let begin = first.and_then(|trace| trace.begin());
            let path = first.map(|trace| trace.path.clone());
            (machine.name.to_owned(), machine.boot, begin, path)
        });
        hosts
    }
}

impl Experiment {
    /// For each trace the position of its host among [`Experiment::hosts`]; `None` where that is not known.
    pub fn hosts_of_traces(&self) -> Vec<Option<usize>> {
        let hosts = self.hosts();
        let only_one = hosts.len() == 1;
        let of_trace = |trace: &OpenedSource| {
            let machine = trace.machine();
            let fits = |host: &HostKernels<'_>| host.machine().may_be(&machine);
            let found = hosts.iter().position(fits);
            found.or(only_one.then_some(0))
        };
        self.traces.iter().map(of_trace).collect()
    }
}

/// What tells the host of a trace from others: several may have the same name.
#[derive(Debug)]
pub(crate) struct Machine<'experiment> {
    pub(crate) name: &'experiment str,
    /// Empty where the trace does not say.
    pub(crate) boot: String,
}

impl Machine<'_> {
    /// Whether nothing tells the two apart.
    pub(crate) fn may_be(&self, other: &Self) -> bool {
        let boots = [&self.boot, &other.boot];
        self.name == other.name
            && (boots.iter().any(|boot| boot.is_empty()) || boots[0] == boots[1])
    }
}

impl OpenedSource {
    /// Where it and the other parts of its session lie, and the recordings that they are part of.
    pub(crate) fn folders(&self) -> impl Iterator<Item = PathBuf> {
        let own = [(&self.path, &self.recording)];
        let others = self
            .later_parts
            .iter()
            .map(|(path, recording)| (path, recording));
        own.into_iter().chain(others).flat_map(|(path, recording)| {
            let recording = recording.as_ref().map(|(folder, _)| folder);
            [path].into_iter().chain(recording).cloned()
        })
    }

    /// Where it lies, with all parts of its session.
    pub(crate) fn paths(&self) -> impl Iterator<Item = &PathBuf> {
        let others = self.later_parts.iter().map(|(path, _)| path);
        [&self.path].into_iter().chain(others)
    }

    /// When its first packet begins.
    pub(crate) fn begin(&self) -> Option<Timestamp> {
        let packets = self.source.packets().iter();
        packets.map(|packet| packet.range.begin).min()
    }

    /// The host that was traced.
    pub(crate) fn machine(&self) -> Machine<'_> {
        let schema = self.source.schema();
        let boot = match (&self.recording, schema.boot.as_str()) {
            (Some((_, manifest)), "") => manifest.boot_id.replace('-', ""),
            (_, boot) => boot.to_owned(),
        };
        Machine {
            name: &schema.host,
            boot,
        }
    }
}

/// What hosts are called so that each has a name of its own.
pub(crate) struct ShownNames<'experiment> {
    /// The boots of names that several hosts have.
    shared: BTreeMap<&'experiment str, BTreeSet<String>>,
}

impl<'experiment> ShownNames<'experiment> {
    pub(crate) fn of(traces: &'experiment [OpenedSource]) -> Self {
        let mut shared: BTreeMap<&str, BTreeSet<String>> = BTreeMap::new();
        for machine in traces.iter().map(OpenedSource::machine) {
            if !machine.boot.is_empty() {
                shared.entry(machine.name).or_default().insert(machine.boot);
            }
        }
        shared.retain(|_, boots| boots.len() > 1);
        Self { shared }
    }

    /// The name, with the begin of the boot's id where several hosts have that name.
    pub(crate) fn of_machine(&self, machine: &Machine<'_>) -> String {
        match self.shared.get(machine.name) {
            Some(boots) if !machine.boot.is_empty() => {
                with_boot(machine.name, &machine.boot, boots)
            }
            _ => machine.name.to_owned(),
        }
    }

    fn diagnostics(&self) -> Vec<Diagnostic> {
        let diagnostic = |(name, boots): (&&str, &BTreeSet<String>)| {
            let place = Place {
                file: format!("host {name}"),
                ..Place::default()
            };
            let shown: Vec<String> = (boots.iter())
                .map(|boot| format!("`{}`", with_boot(name, boot, boots)))
                .collect();
            let (count, shown) = (boots.len(), shown.join(", "));
            let message = format!("{count} hosts are called `{name}`; here they are {shown}");
            Diagnostic {
                count: Some(count as u64),
                ..Diagnostic::new(DiagnosticCode::SameHostName, place, message)
            }
        };
        self.shared.iter().map(diagnostic).collect()
    }
}

/// Says which names several hosts have.
pub(crate) fn same_names(traces: &[OpenedSource]) -> Vec<Diagnostic> {
    ShownNames::of(traces).diagnostics()
}

/// As much of the boot's id as tells it from the other ones, and 8 digits at least.
fn with_boot(name: &str, boot: &str, boots: &BTreeSet<String>) -> String {
    let begin = |boot: &str, length: usize| boot.chars().take(length).collect::<String>();
    let is_unique = |length: &usize| {
        let alike = |other: &&String| begin(other, *length) == begin(boot, *length);
        boots.iter().filter(alike).count() == 1
    };
    let most = boot.chars().count().max(8);
    let length = (8..most).find(is_unique).unwrap_or(most);
    format!("{name} (boot {})", begin(boot, length))
}

impl<'experiment> HostKernels<'experiment> {
    /// Those of all its traces.
    pub(crate) fn folders(&self) -> impl Iterator<Item = PathBuf> {
        self.traces.iter().flat_map(|trace| trace.folders())
    }

    pub(crate) fn machine(&self) -> Machine<'experiment> {
        self.traces[0].machine()
    }

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
            lines.add_saved(
                &self.saved_names(),
                &self.saved_processes(),
                &state_dump::threads_of_kernel(&self.traces),
                &state_dump::numbers_inside(&self.traces),
            );
        }
        Ok((outcome.state, outcome.diagnostics))
    }

    /// What is known about the host's processes besides the events.
    pub fn known(&self) -> Known {
        state_dump::known(&self.traces)
    }

    /// Names of threads that the recorder saw, or that the tracers kept beside the events.
    pub fn saved_names(&self) -> Vec<(ThreadId, String)> {
        let kept = self.traces.iter().flat_map(|trace| &trace.saved_names);
        saved_names(kept.cloned(), state_dump::names(&self.traces))
    }

    /// The control groups that each process was seen in, the latest last; `/` is the root.
    pub fn control_groups(&self) -> BTreeMap<ProcessId, Vec<String>> {
        state_dump::control_groups(&self.traces)
    }

    /// When the rings in memory were filled that snapshots were taken of, in order; empty where there are none.
    pub fn rings(&self) -> Vec<TimeRange> {
        let recordings = self.traces.iter().flat_map(|trace| {
            let later = trace.later_parts.iter().map(|(_, recording)| recording);
            std::iter::once(&trace.recording).chain(later).flatten()
        });
        let mut rings: Vec<TimeRange> = recordings
            .filter_map(|(_, manifest)| manifest.ring())
            .collect();
        rings.sort_unstable_by_key(|ring| (ring.begin, ring.end));
        rings
    }

    /// The CPU quotas of control groups, as the kernel told the recorder; `None` where it did not ask.
    pub fn group_quotas(&self) -> Option<GroupQuotas> {
        group_quotas::known(&self.traces)
    }

    /// When the periods of control groups' CPU quotas began, as each group's timer in the kernel told;
    /// `None` where the recording does not say which timers these are.
    ///
    /// # Errors
    ///
    /// Where it was cancelled.
    pub fn quota_periods(&self, options: &Options<'_>) -> Result<Option<Firings>, Cancelled> {
        let address = |trace: &&OpenedSource| kernel_symbol(trace, "sched_cfs_period_timer");
        let Some(function) = self.traces.iter().find_map(address) else {
            return Ok(None);
        };
        let options = Options {
            range: TimeRange::ALL,
            ..*options
        };
        Ok(firings(self.source(), function, &options)?.state)
    }

    /// What the host's disks did while somebody waited for them. Reads nothing where nobody did.
    ///
    /// # Errors
    ///
    /// Where it was cancelled.
    pub fn disk_use(
        &self,
        waits: &[InterruptedWait],
        options: &Options<'_>,
    ) -> Result<DiskUse, Cancelled> {
        if waits.is_empty() {
            return Ok(DiskUse::default());
        }
        let found = disk_use(self.source(), waits, options)?;
        let mut found = found.state.unwrap_or_default();
        let names = self.disk_names();
        let ended_by = found.ended_by.iter_mut().flatten();
        for disk in ended_by.chain(found.requests.iter_mut().map(|request| &mut request.disk)) {
            if let Some(name) = names.get(&**disk) {
                *disk = name.as_str().into();
            }
        }
        Ok(found)
    }

    /// How long things took on the host; disks go by their names where these were kept.
    ///
    /// # Errors
    ///
    /// Where it was cancelled.
    pub fn latency(
        &self,
        kind: LatencyKind,
        options: &Options<'_>,
    ) -> Result<Outcome<LatencyReport>, Cancelled> {
        let mut outcome = latency(self.source(), kind, options)?;
        if kind == LatencyKind::Block
            && let Some(report) = &mut outcome.state
        {
            let names = self.disk_names();
            for row in &mut report.entries {
                if let Some(name) = names.get(&row.name) {
                    row.name.clone_from(name);
                }
            }
        }
        Ok(outcome)
    }

    /// The names of disks that the recorder kept beside the events, by their numbers (`254:0`).
    pub fn disk_names(&self) -> BTreeMap<String, String> {
        let recorded = self.traces.iter();
        let names = recorded.flat_map(|trace| trace.disk_names.clone());
        names.collect()
    }

    /// Whose packets ended each of the waits for the network, where the trace tells. Reads nothing
    /// where there are no waits.
    ///
    /// # Errors
    ///
    /// Where it was cancelled.
    pub fn peers(
        &self,
        waits: &[InterruptedWait],
        options: &Options<'_>,
    ) -> Result<Vec<Option<Peer>>, Cancelled> {
        if waits.is_empty() {
            return Ok(Vec::new());
        }
        let found = peers(self.source(), waits, options)?;
        Ok(found.state.unwrap_or_default())
    }

    /// The priorities of the host's threads, as last seen.
    ///
    /// # Errors
    ///
    /// Where it was cancelled.
    pub fn priorities(&self, options: &Options<'_>) -> Result<Priorities, Cancelled> {
        let found = priorities(self.source(), options)?;
        Ok(found.state.unwrap_or_default())
    }

    /// When the host's threads began to exit.
    ///
    /// # Errors
    ///
    /// Where it was cancelled.
    pub fn exits(&self, options: &Options<'_>) -> Result<Exits, Cancelled> {
        let found = exits(self.source(), options)?;
        Ok(found.state.unwrap_or_default())
    }

    /// Processes of threads that the recorder saw, or that the tracers kept beside the events: these
    /// may have forgotten threads that ended. The first that is said of a thread counts.
    pub fn saved_processes(&self) -> Vec<(ThreadId, ProcessId)> {
        let kept = self.traces.iter().flat_map(|trace| &trace.saved_processes);
        let mut processes = state_dump::processes(&self.traces);
        processes.extend(kept);
        processes
    }
}

/// What was seen has precedence: the kernel keeps the name of who had an id before until its next thread runs.
fn saved_names(
    kept: impl Iterator<Item = (ThreadId, String)>,
    seen: BTreeMap<ThreadId, String>,
) -> Vec<(ThreadId, String)> {
    let mut names: BTreeMap<ThreadId, String> = kept.collect();
    names.extend(seen);
    names.into_iter().collect()
}

/// The address of a function of the kernel, where the recorder wrote it down (`kernel/kallsyms`): zero is
/// what those are told who may not know.
fn kernel_symbol(trace: &OpenedSource, name: &str) -> Option<u64> {
    trace.recording.as_ref()?;
    let symbols = BufReader::new(File::open(trace.path.join("kallsyms")).ok()?);
    let address = |line: String| {
        let mut words = line.split_ascii_whitespace();
        let (address, _kind) = (words.next()?, words.next()?);
        (words.next()? == name).then(|| u64::from_str_radix(address, 16).ok())?
    };
    let mut found = symbols.lines().map_while(Result::ok).filter_map(address);
    found.next().filter(|address| *address != 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_that_was_seen_has_not_the_name_of_who_had_its_id_before() {
        let names = |names: &[(i32, &str)]| -> Vec<(ThreadId, String)> {
            let name = |(id, name): &(i32, &str)| (ThreadId(*id), (*name).to_owned());
            names.iter().map(name).collect()
        };
        let kept = names(&[(7, "cc"), (8, "sh")]).into_iter();
        let seen = names(&[(7, "java"), (9, "node")]).into_iter().collect();
        let expected = names(&[(7, "java"), (8, "sh"), (9, "node")]);
        assert_eq!(saved_names(kept, seen), expected);
    }
}
