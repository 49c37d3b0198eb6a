//! Threads of a language's runtime that requests wait for: garbage collectors, compilers.

use crate::finding::{Finding, FindingId};
use crate::path::{Slow, Taken, whose};
use crate::quota::{Quota, quota_behind};

/// How such threads are called, as far as the kernel keeps names (15 bytes): HotSpot's collectors,
/// its VM thread and compilers; V8's workers; .NET's and Ruby's.
const NAMES: [&str; 16] = [
    "GC Thread",
    "G1 ",
    "ZWorker",
    "ZDriver",
    "ZDirector",
    "Shenandoah",
    "VM Thread",
    "VM Periodic",
    "C1 CompilerThre",
    "C2 CompilerThre",
    "Reference Handl",
    "Finalizer",
    "V8Worker",
    "V8 WorkerThread",
    ".NET Server GC",
    ".NET BGC",
];

/// Whether a thread's name is that of a runtime's.
pub(crate) fn is_runtime(comm: &str) -> bool {
    NAMES.iter().any(|name| comm.starts_with(name))
}

/// Only what these threads did is theirs, not the rest of a wait in which they had a part. Waits for threads that a quota
/// stopped are the quota's, which tells of them.
pub(crate) fn finding(slow: &Slow<'_>, quotas: &[Quota]) -> Option<Finding> {
    let mut taken = Taken::default();
    for wait in slow.waits() {
        if quota_behind(quotas, &wait).is_some() {
            continue;
        }
        for piece in wait.pieces.iter().filter(|piece| is_runtime(&piece.comm)) {
            taken.add(wait.request, whose(piece), piece.range);
            taken.blame(slow.thread(whose(piece)), piece.range.length());
        }
    }
    let title = "Runtime: requests wait for threads of the language's runtime".to_owned();
    let explanation = format!(
        "{} waited {} in all for the runtime's own threads: {}.",
        taken.slow_requests(),
        taken.total,
        taken.blamed()
    );
    let evidence = taken.evidence_by(slow, "was waited for", "thread");
    let advice = "Look at the collector's log and the heap's size; allocate less, or choose a \
                  collector with shorter pauses.";
    let id = FindingId::RuntimeThreads;
    taken.finding(slow, id, title, explanation, evidence, advice)
}
