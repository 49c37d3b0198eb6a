//! Locks: who holds them while requests wait, and what the holder waits for itself.

use std::collections::BTreeMap;

use slowpath_model::Nanoseconds;
use slowpath_requests::ThreadOfHost;

use crate::finding::{Evidence, Finding, FindingId};
use crate::path::{Slow, Taken, Wait, counted, listed, percent};
use crate::quota::{Quota, quota_behind};
use crate::runtime::is_runtime;

/// Waits for holders that a quota stopped are the quota's, which tells of them.
pub(crate) fn finding(slow: &Slow<'_>, quotas: &[Quota]) -> Option<Finding> {
    let is_own = |wait: &Wait| quota_behind(quotas, wait).is_none();
    let waits: Vec<Wait> = (slow.waits())
        .filter(|wait| wait.call.as_deref() == Some("futex") && !is_runtime(&wait.holder_comm))
        .filter(is_own)
        .collect();
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
    let title = format!(
        "Locks: requests wait for {} and {}",
        slow.thread(**first),
        counted(ranked.len() - 1, "other holder", "other holders")
    );
    let title = match ranked.len() {
        1 => format!("Lock: requests wait for {}", slow.thread(**first)),
        _ => title,
    };
    let unless = match slow.lines.records_timers() {
        true => "",
        false => {
            " The trace has no timers: where the time of a wait was up, whoever ran then seems to have \
             woken it."
        }
    };
    let explanation = format!(
        "{} waited {} in all in futex, for a lock or a condition, until another \
         thread woke them. The one that was waited for most is {} ({} of it); meanwhile it was: \
         {}.{unless}",
        taken.slow_requests(),
        taken.total,
        slow.thread(**first),
        percent(most.waited, taken.total),
        listed(&most.did, 4)
    );
    let mut evidence: Vec<Evidence> = (ranked.iter().take(4))
        .map(|(thread, holder)| Evidence {
            text: format!(
                "{} was waited for {} times, {} in all; meanwhile: {}",
                slow.thread(**thread),
                holder.times,
                holder.waited,
                listed(&holder.did, 4)
            ),
            range: None,
            thread: Some(thread.thread),
            request: None,
        })
        .collect();
    evidence.extend(taken.evidence(slow, "waited for a lock for"));
    let advice = "Hold the lock for less: move what its holder waits for (disk, sleep, calls) out \
                  of the locked part, or split the lock.";
    let id = FindingId::LockContention;
    taken.finding(slow, id, title, explanation, evidence, advice)
}

/// A thread that was waited for.
#[derive(Default)]
struct Holder {
    waited: Nanoseconds,
    times: u64,
    did: BTreeMap<String, Nanoseconds>,
}
