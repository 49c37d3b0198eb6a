//! Locks: who holds them while requests wait, and what the holder waits for itself.

use std::collections::BTreeMap;

use slowpath_kernel::exits::Exits;
use slowpath_model::Nanoseconds;
use slowpath_requests::ThreadOfHost;

use crate::finding::{Evidence, Finding, FindingId};
use crate::path::{Slow, Taken, Wait, counted, listed, percent};
use crate::quota::{Quota, quota_behind};
use crate::runtime::is_runtime;

/// Waits in `futex` for other threads.
fn waits<'run>(slow: &'run Slow<'_>) -> impl Iterator<Item = Wait> + 'run {
    (slow.waits())
        .filter(|wait| wait.call.as_deref() == Some("futex") && !is_runtime(&wait.holder_comm))
}

/// Whether there are waits on the requests' host for threads that have ended: then it matters when they
/// began to.
pub(crate) fn asks_for_exits(slow: &Slow<'_>) -> bool {
    let end = slow.lines.range().end;
    waits(slow)
        .any(|wait| wait.holder.host == slow.host && slow.lines.life(wait.holder.thread).end < end)
}

/// Waits for holders that a quota stopped are the quota's, which tells of them.
pub(crate) fn finding(slow: &Slow<'_>, quotas: &[Quota], exits: &Exits) -> Option<Finding> {
    let is_own = |wait: &Wait| quota_behind(quotas, wait).is_none();
    let waits: Vec<Wait> = waits(slow).filter(is_own).collect();
    let ended: Nanoseconds = (waits.iter())
        .filter(|wait| is_for_its_end(slow, exits, wait))
        .map(|wait| wait.range.length())
        .sum();
    let mut taken = Taken::default();
    let mut holders: BTreeMap<ThreadOfHost, Holder> = BTreeMap::new();
    for wait in &waits {
        taken.add(wait.request, wait.waiter, wait.range);
        let holder = holders.entry(wait.holder).or_default();
        holder.waited += wait.range.length();
        holder.times += 1;
        for piece in &wait.pieces {
            let mut did = piece.state.name().to_owned();
            let whose = ThreadOfHost {
                host: piece.host,
                thread: piece.thread,
            };
            if whose != wait.holder {
                did += &format!(" of {}", slow.thread(whose));
            }
            *holder.did.entry(did).or_default() += piece.range.length();
        }
    }
    let mut ranked: Vec<(&ThreadOfHost, &Holder)> = holders.iter().collect();
    ranked.sort_by_key(|(thread, holder)| (std::cmp::Reverse(holder.waited), **thread));
    let (first, most) = ranked.first()?;
    let are_joins = ended.get() * 2 > taken.total.get();
    let thread = slow.thread(**first);
    let title = match (ranked.len() - 1, are_joins) {
        (0, false) => format!("Lock: requests wait for {thread}"),
        (0, true) => format!("Threads: requests wait until {thread} has ended"),
        (more, false) => format!(
            "Locks: requests wait for {thread} and {}",
            counted(more, "other holder", "other holders")
        ),
        (more, true) => format!(
            "Threads: requests wait until {thread} and {} have ended",
            counted(more, "other", "others")
        ),
    };
    let joins = match ended {
        Nanoseconds::ZERO => String::new(),
        ended => format!(
            " For {ended} of it that thread was at its end when it woke them: it was joined."
        ),
    };
    let unless = match slow.lines.records_timers() {
        true => "",
        false => {
            " The trace has no timers: where the time of a wait was up, whoever ran then seems to have \
             woken it."
        }
    };
    let explanation = format!(
        "{} waited {} in all in futex, for a lock, a condition or the end of a thread, until another \
         thread woke them.{joins} The one that was waited for most is {} ({} of it); meanwhile it was: \
         {}.{unless}",
        taken.slow_requests(),
        taken.total,
        thread,
        percent(most.waited, taken.total),
        listed(&most.did, 4)
    );
    let mut evidence: Vec<Evidence> = (ranked.iter().take(4))
        .map(|(thread, holder)| Evidence {
            text: format!(
                "{} was waited for {}, {} in all; meanwhile: {}",
                slow.thread(**thread),
                counted(holder.times, "time", "times"),
                holder.waited,
                listed(&holder.did, 4)
            ),
            range: None,
            thread: Some(thread.thread),
            request: None,
        })
        .collect();
    let (what, advice) = match are_joins {
        false => (
            "waited for a lock for",
            "Hold the lock for less: move what its holder waits for (disk, sleep, calls) out \
             of the locked part, or split the lock.",
        ),
        true => (
            "waited for the end of a thread for",
            "Look at what these threads did; keep threads in a pool instead of starting and joining some \
             for each request.",
        ),
    };
    evidence.extend(taken.evidence(slow, what));
    let id = FindingId::LockContention;
    taken.finding(slow, id, title, explanation, evidence, advice)
}

/// Whether the wait was for the end of a thread (`pthread_join`): the kernel wakes the waiter when that
/// thread is in its last system call. A thread that gives something up and ends soon after wakes it before.
fn is_for_its_end(slow: &Slow<'_>, exits: &Exits, wait: &Wait) -> bool {
    wait.holder.host == slow.host
        && exits.has_begun(wait.holder.thread, wait.range.begin, wait.range.end)
}

/// A thread that was waited for.
#[derive(Default)]
struct Holder {
    waited: Nanoseconds,
    times: usize,
    did: BTreeMap<String, Nanoseconds>,
}
