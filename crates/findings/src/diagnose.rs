//! All findings about a host, worst first.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use slowpath_kernel::timers::Firings;
use slowpath_model::{Diagnostic, HostId, Nanoseconds, ProcessId, TimeRange};
use slowpath_requests::AllHosts;

use crate::finding::Finding;
use crate::path::Slow;
use crate::{blocked, cpu, locks, runtime, serial, unknown, waits};

/// What is known of a host.
#[derive(Clone, Copy)]
pub struct Host<'run> {
    /// All hosts, with their requests and time lines.
    pub all: &'run AllHosts<'run>,
    /// The one that is asked about.
    pub id: HostId,
    /// The control group of each process that was in one below the root, as far as known.
    pub control_groups: &'run BTreeMap<ProcessId, String>,
    /// When the periods of control groups' CPU quotas began, by the kernel's timers; none where unknown.
    pub quota_periods: &'run Firings,
    /// What was wrong with its traces.
    pub diagnostics: &'run [Diagnostic],
    /// Only requests that touch it are looked at.
    pub window: TimeRange,
}

/// What makes the slow requests of a host slow: the most share of their time first.
///
/// Empty where there is no request or no kernel trace, or nothing stands out.
pub fn diagnose(host: Host<'_>) -> Vec<Finding> {
    let Some(lines) = host.all.hosts().lines(host.id) else {
        return Vec::new();
    };
    let slow = Slow::of(host.all, host.id, lines, host.window);
    if slow.total == Nanoseconds::ZERO {
        return Vec::new();
    }
    let (mut findings, quotas) = cpu::findings(&slow, host.control_groups, host.quota_periods);
    findings.extend(locks::finding(&slow, &quotas));
    findings.extend(waits::findings(&slow));
    findings.extend(blocked::finding(&slow));
    findings.extend(runtime::finding(&slow, &quotas));
    findings.extend(serial::findings(&slow));
    findings.sort_by(|one, other| {
        let rank = |finding: &Finding| (Reverse(finding.severity), finding.id);
        other
            .share
            .total_cmp(&one.share)
            .then(rank(one).cmp(&rank(other)))
    });
    findings.extend(unknown::findings(&slow, host.diagnostics));
    findings
}
