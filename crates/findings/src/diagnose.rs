//! All findings about a host, worst first.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use slowpath_kernel::timers::Firings;
use slowpath_model::{Diagnostic, DiagnosticCode, HostId, Nanoseconds, ProcessId, TimeRange};
use slowpath_requests::AllHosts;

use crate::finding::{Evidence, Finding, FindingId, Severity};
use crate::path::Slow;
use crate::{blocked, cpu, locks, runtime, serial, waits};

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
    findings.extend(lost(&slow, host.diagnostics));
    findings
}

/// Missing events, where they make the answers unsafe.
fn lost(slow: &Slow<'_>, diagnostics: &[Diagnostic]) -> Option<Finding> {
    let codes = [DiagnosticCode::LostEvents, DiagnosticCode::LostPackets];
    // Those without a count may be of a time before the recording.
    let lost: Vec<&Diagnostic> = diagnostics
        .iter()
        .filter(|d| codes.contains(&d.code) && d.count.is_some())
        .collect();
    if lost.is_empty() {
        return None;
    }
    let unknown: Nanoseconds = (slow.pieces())
        .filter(|piece| piece.segment.state == slowpath_critical_path::State::Unknown)
        .map(|piece| piece.segment.range.length())
        .sum();
    if unknown == Nanoseconds::ZERO {
        // They are missing elsewhere.
        return None;
    }
    let count = |code| -> u64 {
        let of_kind = lost.iter().filter(|diagnostic| diagnostic.code == code);
        of_kind.filter_map(|diagnostic| diagnostic.count).sum()
    };
    let missing: Vec<String> = (codes.into_iter().zip(["events", "packets of events"]))
        .map(|(code, what)| (count(code), what))
        .filter(|(count, _)| *count > 0)
        .map(|(count, what)| format!("{count} {what}"))
        .collect();
    let share = unknown.get() as f64 / slow.total.get().max(1) as f64;
    Some(Finding {
        id: FindingId::LostEvents,
        severity: match share {
            share if share >= 0.25 => Severity::High,
            share if share >= 0.05 => Severity::Medium,
            _ => Severity::Low,
        },
        title: "Lost events: parts of the recording are missing".to_owned(),
        explanation: format!(
            "The recording lacks {}. Where they are missing the slow requests' time is unknown: \
             {unknown} of {}.",
            missing.join(" and "),
            slow.total
        ),
        evidence: (lost.iter().take(5))
            .map(|diagnostic| Evidence::text(diagnostic.to_string()))
            .collect(),
        advice:
            "Record with larger buffers or fewer events, and take the other findings with care."
                .to_owned(),
        range: slow.lines.range(),
        share,
    })
}
