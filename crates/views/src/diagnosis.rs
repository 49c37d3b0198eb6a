//! The diagnosis of an experiment: its hosts' findings, for which parts of the traces are read again.
//!
//! What is found is the matter of crate `slowpath-findings`; this brings it together with the traces.

use serde::Serialize;
use slowpath_engine::{Cancelled, Options};
use slowpath_findings::{Diagnosis, Finding, FoundOut, Host, Meant};
use slowpath_model::{Diagnostic, HostId, TimeRange};
use slowpath_requests::Request;
use slowpath_session::{Experiment, HostKernels, RecordedRequests};

/// A finding with its host, where there are several.
#[derive(Clone, Debug, Serialize)]
pub struct FindingOfHost {
    /// The host's name, where there are several.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub host: Option<String>,
    /// Which host.
    #[serde(skip)]
    pub id: HostId,
    /// What was found.
    #[serde(flatten)]
    pub finding: Finding,
}

/// What was found on all hosts.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Found {
    /// Requests that lie in the window from begin to end.
    pub requests: usize,
    /// Requests that lie in the window in part only, and count for nothing.
    pub in_part: usize,
    /// How many of `requests` were examined: the slow ones.
    pub examined: usize,
    /// How many others took as long, and are left out as the recording does not hold all of their time.
    pub left_out: usize,
    /// The most share of their time first.
    pub findings: Vec<FindingOfHost>,
}

/// What makes the slow ones of the requests that are `meant` and lie in `window` slow, on every host: the most share
/// of their time first.
/// `diagnostics` tell what was wrong with the traces when the requests were read.
///
/// # Errors
/// Where it was cancelled.
pub fn diagnose(
    experiment: &Experiment,
    recorded: &RecordedRequests,
    diagnostics: &[Diagnostic],
    window: TimeRange,
    meant: Meant<'_>,
    options: &Options<'_>,
) -> Result<Found, Cancelled> {
    let (hosts, all) = (&recorded.hosts, recorded.all());
    let several = hosts.len() > 1;
    let opening = experiment.opening_diagnostics();
    let known: Vec<_> = opening.chain(diagnostics).cloned().collect();
    let diagnostics = recorded.by_host(&known);
    let requests = || {
        hosts.iter().flat_map(|host| {
            let all = host.requests.all().iter();
            all.filter(|request| meant(request, host.lines.as_ref()))
        })
    };
    let lies_within = |request: &&Request| request.window.lies_within(window);
    let is_in_part = |request: &&Request| request.window.touches(window) && !lies_within(request);
    let mut found = Found {
        requests: requests().filter(lies_within).count(),
        in_part: requests().filter(is_in_part).count(),
        ..Found::default()
    };
    let kernels = experiment.hosts();
    let rings = (0..).map(HostId).zip(&kernels);
    let rings = rings.map(|(id, kernel)| (id, kernel.rings()));
    let rings = rings.filter(|(_, filled)| !filled.is_empty()).collect();
    for (host, id) in hosts.iter().zip((0..).map(HostId)) {
        // Hosts with kernel events come first, in the same order.
        let kernel = kernels.get(id.index());
        let quota_periods = kernel.map(|kernel| kernel.quota_periods(options));
        let quota_periods = quota_periods.transpose()?.flatten();
        let group_quotas = kernel.and_then(HostKernels::group_quotas);
        let diagnosis = Diagnosis::begin(Host {
            all: &all,
            id,
            control_groups: &host.control_groups,
            group_quotas: group_quotas.as_ref(),
            quota_periods: quota_periods.as_ref(),
            diagnostics: &diagnostics,
            rings: &rings,
            window,
            meant,
        });
        let found_out = kernel.map(|kernel| find_out(&diagnosis, kernel, options));
        let found_out = found_out.transpose()?.unwrap_or_default();
        let of_host = diagnosis.findings(&found_out);
        found.examined += diagnosis.examined();
        found.left_out += diagnosis.left_out();
        found
            .findings
            .extend(of_host.into_iter().map(|finding| FindingOfHost {
                host: several.then(|| host.name.clone()),
                id,
                finding,
            }));
    }
    if several {
        let findings = &mut found.findings;
        findings.sort_by(|one, other| other.finding.share.total_cmp(&one.finding.share));
    }
    Ok(found)
}

/// Reads from the trace what the diagnosis asks for: each a pass over few events.
fn find_out(
    diagnosis: &Diagnosis<'_>,
    kernel: &HostKernels<'_>,
    options: &Options<'_>,
) -> Result<FoundOut, Cancelled> {
    Ok(FoundOut {
        disks: kernel.disk_use(diagnosis.disk_waits(), options)?,
        peers: kernel.peers(diagnosis.network_waits(), options)?,
        priorities: match diagnosis.asks_for_priorities() {
            true => kernel.priorities(options)?,
            false => Default::default(),
        },
        exits: match diagnosis.asks_for_exits() {
            true => kernel.exits(options)?,
            false => Default::default(),
        },
    })
}
