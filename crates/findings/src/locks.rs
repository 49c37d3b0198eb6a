//! Locks: who holds them while requests wait, and what the holder waits for itself.

use std::collections::{BTreeMap, BTreeSet};

use slowpath_critical_path::{Cause, LOCK_CALLS, Segment};
use slowpath_kernel::exits::Exits;
use slowpath_model::{Nanoseconds, TimeRange, Timestamp};
use slowpath_requests::ThreadOfHost;

use crate::finding::{Evidence, Finding, FindingId, Severity};
use crate::path::{Piece, Slow, Taken, counted, listed, percent};
use crate::quota::{Quota, quota_behind};
use crate::runtime::is_runtime;
use crate::waits::Wait;

/// What threads of a process wait for that the kernel has take turns.
const OF_MEMORY: &str = "the process's memory map, which one thread changes at a time";
const OF_KERNEL: &str = "a lock of the kernel";
/// In which they change that map.
const MEMORY_CALLS: [&str; 10] = [
    "brk",
    "madvise",
    "mlock",
    "mmap",
    "mprotect",
    "mremap",
    "munlock",
    "munmap",
    "pkey_mprotect",
    "shmat",
];

/// Waits for locks that others gave up. Who waits for its own work in another thread waits for no lock; that thread may,
/// and so may another process that is waited for, but for its last wait before it is killed.
pub(crate) fn waits<'run>(slow: &'run Slow<'_>) -> impl Iterator<Item = Wait> + 'run {
    let waits = slow.waits_looked_into().chain(slow.lock_waits_of_peers());
    waits.filter(|wait| {
        kind_of(wait).is_some()
            && !is_runtime(&wait.holder_comm)
            && !slow.is_for_own_work(wait)
            && !slow.is_cut_by_a_kill(wait)
    })
}

/// A request's own waits for locks that were given up while it handled a signal.
fn waits_cut_short<'run>(
    slow: &'run Slow<'_>,
) -> impl Iterator<Item = (Kind<'static>, Piece)> + 'run {
    slow.pieces().filter_map(|piece| {
        let segment = &piece.segment;
        let is_own = segment.cause == Cause::CutShort && segment.depth == 0;
        let kind = known_kind(segment.call.as_deref().filter(|_| is_own)?)?;
        Some((kind, piece))
    })
}

/// How much of these a runtime may have made that parks its threads: in futex, for threads of the same process, whose
/// spans move unseen.
fn may_be_parked(slow: &Slow<'_>, waits: &[Wait]) -> Nanoseconds {
    let moving = slow.requests.moving_unseen();
    let process = |thread, at| slow.lines.process(thread, at);
    let is_meant = |wait: &&Wait| {
        let at = wait.range.end;
        moving.contains(&wait.request)
            && wait.call.as_deref() == Some("futex")
            && wait.holder.host == slow.host
            && process(wait.waiter.thread, at).is_some()
            && process(wait.waiter.thread, at) == process(wait.holder.thread, at)
    };
    waits.iter().filter(is_meant).map(length).sum()
}

/// What was done meanwhile, but by a language's runtime, which is told for itself.
fn of_program(wait: &Wait) -> impl Iterator<Item = &Segment> {
    (wait.pieces.iter()).filter(|piece| !is_runtime(&piece.comm))
}

/// When that was.
fn ranges(wait: &Wait) -> Vec<TimeRange> {
    TimeRange::union(of_program(wait).map(|piece| piece.range).collect())
}

fn length(wait: &Wait) -> Nanoseconds {
    of_program(wait).map(|piece| piece.range.length()).sum()
}

/// The call in which threads wait for a lock, and what for.
type Kind<'wait> = (&'wait str, &'static str);

fn kind_of(wait: &Wait) -> Option<Kind<'_>> {
    let call = wait.call.as_deref();
    let of_kernel = || match call {
        None => ("page faults (or calls that the trace lacks)", OF_KERNEL),
        Some(call) if MEMORY_CALLS.contains(&call) => (call, OF_MEMORY),
        Some(call) => (call, OF_KERNEL),
    };
    let known = call.and_then(known_kind);
    known.or_else(|| wait.is_for_turn.then(of_kernel))
}

fn known_kind(call: &str) -> Option<Kind<'static>> {
    LOCK_CALLS.into_iter().find(|(known, _)| *known == call)
}

/// Whether there are waits on the requests' host for threads that have ended: then it matters when they
/// began to.
pub(crate) fn asks_for_exits(slow: &Slow<'_>) -> bool {
    let end = slow.lines.range().end;
    waits(slow).any(|wait| {
        Ending::is_told_by(&wait, slow) && slow.lines.life(wait.holder.thread).end < end
    })
}

/// The calls, and what threads wait for in them: locks of programs first.
fn told_in_order<'wait>(kinds: &BTreeSet<Kind<'wait>>) -> (Vec<&'wait str>, Vec<&'static str>) {
    let place = |kind: &Kind<'_>| LOCK_CALLS.iter().position(|known| known == kind);
    let mut kinds: Vec<Kind<'wait>> = kinds.iter().copied().collect();
    kinds.sort_by_key(|kind| (place(kind).unwrap_or(LOCK_CALLS.len()), kind.1));
    kinds.into_iter().unzip()
}

/// Waits for holders that a quota stopped are the quota's, which tells of them.
pub(crate) fn finding(slow: &Slow<'_>, quotas: &[Quota], exits: &Exits) -> Option<Finding> {
    let is_own = |wait: &Wait| quota_behind(quotas, wait).is_none();
    let waits: Vec<Wait> = waits(slow).filter(is_own).collect();
    let time_of = |ending: Ending| -> Nanoseconds {
        let waits = waits.iter();
        let those = waits.filter(|wait| Ending::of(slow, exits, wait) == Some(ending));
        those.map(length).sum()
    };
    let (ended, ending) = (time_of(Ending::Joined), time_of(Ending::RightAfter));
    let mut taken = Taken::default();
    let mut holders: BTreeMap<ThreadOfHost, Holder> = BTreeMap::new();
    for wait in &waits {
        for range in ranges(wait) {
            taken.add(wait.request, wait.waiter, range);
        }
        let holder = holders.entry(wait.holder).or_default();
        holder.waited += length(wait);
        holder.times += 1;
        for piece in of_program(wait) {
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
    let mut kinds: BTreeSet<Kind<'_>> = waits.iter().filter_map(kind_of).collect();
    let mut of_nobody = Nanoseconds::ZERO;
    for (kind, piece) in waits_cut_short(slow) {
        kinds.insert(kind);
        of_nobody += piece.segment.range.length();
        taken.add(piece.request, piece.whose(), piece.segment.range);
    }
    let mut ranked: Vec<(&ThreadOfHost, &Holder)> = holders.iter().collect();
    ranked.sort_by_key(|(thread, holder)| (std::cmp::Reverse(holder.waited), **thread));
    let are_joins = ended.get() * 2 > taken.total.get();
    let may_be_joins = (ended + ending).get() * 2 > taken.total.get();
    let thread = (ranked.first()).map_or(String::new(), |(first, _)| slow.thread(**first));
    let title = match (ranked.len(), are_joins, may_be_joins) {
        (0, ..) => "Lock: requests wait for a holder that is not known".to_owned(),
        (1, true, _) => format!("Threads: requests wait until {thread} has ended"),
        (1, false, true) => {
            format!("Threads or a lock: requests wait for {thread}, which ends then")
        }
        (1, false, false) => format!("Lock: requests wait for {thread}"),
        (all, true, _) => format!(
            "Threads: requests wait until {thread} and {} have ended",
            counted(all - 1, "other", "others")
        ),
        (all, false, true) => format!(
            "Threads or locks: requests wait for {thread} and {}, which end then",
            counted(all - 1, "other", "others")
        ),
        (all, false, false) => format!(
            "Locks: requests wait for {thread} and {}",
            counted(all - 1, "other holder", "other holders")
        ),
    };
    let mut joins = match ended {
        Nanoseconds::ZERO => String::new(),
        ended => format!(
            " For {ended} of it that thread was at its end when it woke them: it was joined."
        ),
    };
    if ending > Nanoseconds::ZERO {
        joins += &format!(
            " For {ending} of it that thread ended right after it had woken them: it was joined as runtimes do \
             that tell of an end before it (Java's Thread.join), or gave up a lock as the last it did."
        );
    }
    let unless = match slow.lines.records_timers() {
        true => "",
        false => {
            " The trace has no timers: where the time of a wait was up, whoever ran then seems to have \
             woken it."
        }
    };
    let mut by_whom = match ranked.first() {
        Some((_, most)) => format!(
            ", until another thread woke them.{joins} The one that was waited for most is {thread} ({} of it); \
             meanwhile it was: {}.{unless}",
            percent(most.waited, taken.total),
            listed(&most.did, 4)
        ),
        None => ".".to_owned(),
    };
    if of_nobody > Nanoseconds::ZERO {
        by_whom += &format!(
            " For {of_nobody} of it a signal interrupted them, and they did not wait on right after it: it was given \
             up meanwhile, or the signal stopped them, or kept them busy for more than 5 ms; by whom it was \
             held is not known."
        );
    }
    let is_doubtful = may_be_parked(slow, &waits).get() * 2 > taken.total.get();
    if is_doubtful {
        by_whom += " Spans of their process end on other threads than they begin on, and nothing tells when they move: \
                    these may be waits of threads that the runtime has parked (as Go's does) while others served the \
                    requests.";
    }
    let (calls, mut what_for) = told_in_order(&kinds);
    what_for.dedup();
    let (calls, what_for) = (calls.join(" and "), what_for.join(", or "));
    let explanation = format!(
        "{} waited {} in all in {calls}, for {what_for}{by_whom}",
        taken.slow_requests(),
        taken.total,
    );
    let mut evidence: Vec<Evidence> = (ranked.iter().take(4))
        .map(|(thread, holder)| Evidence {
            thread: Some(thread.thread),
            ..Evidence::text(format!(
                "{} was waited for {}, {} in all; meanwhile: {}",
                slow.thread(**thread),
                counted(holder.times, "time", "times"),
                holder.waited,
                listed(&holder.did, 4)
            ))
        })
        .collect();
    let what = match (are_joins, may_be_joins) {
        (true, _) => "waited for the end of a thread for",
        (false, true) => "waited for a thread that ended then for",
        (false, false) => "waited for a lock for",
    };
    let for_turns = waits.iter().filter(|wait| wait.is_for_turn).map(length);
    let are_turns = for_turns.sum::<Nanoseconds>().get() * 2 > taken.total.get();
    let advice = match (are_joins, may_be_joins) {
        (false, false) if are_turns => {
            "See what that thread asks the kernel for (`slowpath latency` has calls that take long). Memory: map and \
             unmap less often or in smaller pieces (an allocator that keeps what it has), or in a process of its own. \
             Files: have one thread write, or each to a file of its own, in smaller pieces."
        }
        (false, false) => {
            "Hold the lock for less: move what its holder waits for (disk, sleep, calls) out of the locked \
             part, or split the lock."
        }
        (false, true) => {
            "Look at what these threads did. Where they are joined, keep threads in a pool instead; where they \
             hold a lock until they end, hold it for less."
        }
        (true, _) => {
            "Look at what these threads did; keep threads in a pool instead of starting and joining some for \
             each request."
        }
    };
    evidence.extend(taken.evidence(slow, what));
    let id = FindingId::LockContention;
    if !is_doubtful {
        return taken.finding(slow, id, title, explanation, evidence, advice);
    }
    let advice = "See whether the program knows of locks that are waited for (Go: its mutex and block profiles), and hold \
                  those for less. Where it knows of none, look at the spans within these requests instead.";
    let title = format!("{title}, or are parked by their runtime");
    let finding = taken.finding(slow, id, title, explanation, evidence, advice)?;
    Some(Finding {
        severity: Severity::Low,
        ..finding
    })
}

/// What a wait may have had to do with the end of the thread that it was for.
#[derive(Clone, Copy, PartialEq)]
enum Ending {
    /// It was for its end (`pthread_join`): the kernel wakes who waits when that thread is in its last system call.
    Joined,
    /// The thread woke who waited itself, and then ended. Java's threads do so when they are joined; others that
    /// give up a lock as the last they do look the same.
    RightAfter,
}

impl Ending {
    /// Nobody joins a thread by a lock on a file or a semaphore: who holds one until it ends gives it up by that.
    fn is_told_by(wait: &Wait, slow: &Slow<'_>) -> bool {
        wait.call.as_deref() == Some("futex") && wait.holder.host == slow.host
    }

    fn of(slow: &Slow<'_>, exits: &Exits, wait: &Wait) -> Option<Self> {
        /// Java's threads take 0.1 ms from the wake-up to their last system call, and more without a processor.
        const SOON_NS: i64 = 1_000_000;
        let (begin, end) = (wait.range.begin, wait.range.end);
        let soon = Timestamp::from_ns(end.ns().saturating_add(SOON_NS));
        let has_begun = |from, until| exits.has_begun(wait.holder.thread, from, until);
        match Self::is_told_by(wait, slow) {
            true if has_begun(begin, end) => Some(Self::Joined),
            true if has_begun(end, soon) => Some(Self::RightAfter),
            _ => None,
        }
    }
}

/// A thread that was waited for.
#[derive(Default)]
struct Holder {
    waited: Nanoseconds,
    times: usize,
    did: BTreeMap<String, Nanoseconds>,
}
