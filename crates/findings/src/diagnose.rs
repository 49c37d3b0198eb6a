//! All findings about a host, worst first.
//!
//! In two steps: what the slow requests waited for says what else has to be read from the trace (what
//! disks did, for instance); this crate reads no trace, so the caller does that in between.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use slowpath_kernel::InterruptedWait;
use slowpath_kernel::disks::DiskUse;
use slowpath_kernel::exits::Exits;
use slowpath_kernel::peers::Peer;
use slowpath_kernel::priorities::Priorities;
use slowpath_kernel::quotas::GroupQuotas;
use slowpath_kernel::timelines::Timelines;
use slowpath_kernel::timers::Firings;
use slowpath_model::{Diagnostic, HostId, Nanoseconds, ProcessId, TimeRange};
use slowpath_requests::{AllHosts, Request};

use crate::finding::Finding;
use crate::path::{Recorded, Slow};
use crate::unknown::Missing;
use crate::{
    blocked, cpu, disk, kernel_wait, locks, network, processes, runtime, serial, sleep, stopped,
    unknown,
};

/// What is known of a host.
#[derive(Clone, Copy)]
pub struct Host<'run> {
    /// All hosts, with their requests and time lines.
    pub all: &'run AllHosts<'run>,
    /// The one that is asked about.
    pub id: HostId,
    /// The control group of each process, as far as known; `/` is the root.
    pub control_groups: &'run BTreeMap<ProcessId, Vec<String>>,
    /// The CPU quotas of control groups, as the kernel told the recorder; `None` where it did not ask.
    pub group_quotas: Option<&'run GroupQuotas>,
    /// When the periods of control groups' CPU quotas began, by the kernel's timers; `None` where
    /// that is not known.
    pub quota_periods: Option<&'run Firings>,
    /// What was wrong with the traces of each host, by [`HostId`]; what cannot be said to be of one host is
    /// with all of them.
    pub diagnostics: &'run [Vec<Diagnostic>],
    /// The hosts of which rings in memory were recorded, in which later events overwrite older ones, and when
    /// these were filled.
    pub rings: &'run BTreeMap<HostId, Vec<TimeRange>>,
    /// Only requests that lie within it are looked at.
    pub window: TimeRange,
    /// Which of them.
    pub meant: Meant<'run>,
}

/// Which requests of a host are asked about; its time lines name threads.
pub type Meant<'run> = &'run dyn Fn(&Request, Option<&Timelines>) -> bool;

/// The slow requests of a host with their paths, and what is to be found out besides.
pub struct Diagnosis<'run> {
    host: Host<'run>,
    /// `None` where there is no request or no kernel trace.
    slow: Option<Slow<'run>>,
    disk_waits: Vec<InterruptedWait>,
    network_waits: Vec<InterruptedWait>,
}

/// What the trace says about what a [`Diagnosis`] asks; what is not known is left empty.
#[derive(Debug, Default)]
pub struct FoundOut {
    /// What the disks did in [`Diagnosis::disk_waits`].
    pub disks: DiskUse,
    /// Whose packets ended [`Diagnosis::network_waits`], in their order.
    pub peers: Vec<Option<Peer>>,
    /// The priorities of the host's threads, where [`Diagnosis::asks_for_priorities`].
    pub priorities: Priorities,
    /// When the host's threads began to exit, where [`Diagnosis::asks_for_exits`].
    pub exits: Exits,
}

impl<'run> Diagnosis<'run> {
    /// Finds the slow requests and their paths.
    pub fn begin(host: Host<'run>) -> Self {
        let lines = host.all.hosts().lines(host.id);
        let missing =
            (host.diagnostics.get(host.id.index())).and_then(|of_host| Missing::of(of_host));
        let is_cut = missing.is_some_and(|missing| missing.is_cut());
        let slow = lines.map(|lines| {
            let rings = host.rings.get(&host.id).map_or(&[][..], Vec::as_slice);
            let recorded = Recorded::of(lines, is_cut, rings);
            Slow::of(&host, lines, &recorded)
        });
        let slow = slow.filter(|slow| slow.total > Nanoseconds::ZERO);
        Self {
            host,
            disk_waits: slow.as_ref().map(disk::waits).unwrap_or_default(),
            network_waits: slow.as_ref().map(network::waits).unwrap_or_default(),
            slow,
        }
    }

    /// How many requests are examined: the slow ones.
    pub fn examined(&self) -> usize {
        self.slow.as_ref().map_or(0, |slow| slow.paths.len())
    }

    /// How many others took as long as those, and are left out as the recording does not hold all of their time.
    pub fn left_out(&self) -> usize {
        self.slow.as_ref().map_or(0, |slow| slow.left_out)
    }

    /// The waits for disks of which is to be found out which disk it was and what it did; empty where
    /// they are not worth a finding.
    pub fn disk_waits(&self) -> &[InterruptedWait] {
        &self.disk_waits
    }

    /// The waits for packets of which is to be found out whose these were; empty where they are not
    /// worth a finding.
    pub fn network_waits(&self) -> &[InterruptedWait] {
        &self.network_waits
    }

    /// Whether waits for processors are worth a finding: then priorities matter.
    pub fn asks_for_priorities(&self) -> bool {
        self.slow.as_ref().is_some_and(cpu::are_waits_worth_telling)
    }

    /// Whether slow requests waited for threads that have ended since: then it matters whether they were
    /// joined.
    pub fn asks_for_exits(&self) -> bool {
        self.slow.as_ref().is_some_and(locks::asks_for_exits)
    }

    /// What makes the slow requests of the host slow: the most share of their time first.
    ///
    /// Empty where there is no request or no kernel trace, or nothing stands out.
    pub fn findings(&self, found_out: &FoundOut) -> Vec<Finding> {
        let Some(slow) = &self.slow else {
            return Vec::new();
        };
        let host = &self.host;
        let (mut findings, quotas) = cpu::findings(
            slow,
            host.control_groups,
            host.group_quotas,
            host.quota_periods,
            &found_out.priorities,
        );
        findings.extend(locks::finding(slow, &quotas, &found_out.exits));
        findings.extend(disk::finding(slow, &self.disk_waits, &found_out.disks));
        let missing: BTreeMap<HostId, Missing<'_>> = (0..)
            .map(HostId)
            .zip(host.diagnostics)
            .filter_map(|(id, of_host)| Some((id, Missing::of(of_host)?)))
            .collect();
        let cut = missing.iter().filter(|(_, missing)| missing.is_cut());
        let cut: Vec<HostId> = cut.map(|(id, _)| *id).collect();
        let network_waits = network::network_waits(slow, &cut);
        findings.extend(network::finding(
            slow,
            &network_waits,
            &self.network_waits,
            &found_out.peers,
        ));
        let unseen = network::unseen(&network_waits);
        findings.extend(sleep::finding(slow, &quotas));
        findings.extend(kernel_wait::finding(slow));
        findings.extend(stopped::by_signal(slow));
        findings.extend(stopped::frozen(slow));
        findings.extend(blocked::finding(slow, &quotas));
        findings.extend(runtime::finding(slow, &quotas));
        findings.extend(processes::finding(slow, &quotas));
        findings.extend(serial::findings(slow));
        findings.extend(unknown::findings(slow, &missing, host.rings, &unseen));
        findings.sort_by(|one, other| {
            let rank = |finding: &Finding| (Reverse(finding.severity), finding.id);
            other
                .share
                .total_cmp(&one.share)
                .then(rank(one).cmp(&rank(other)))
        });
        findings
    }
}
