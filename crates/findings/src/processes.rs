//! Other processes that compute while requests wait for them: a server on the same machine, a child that was started
//! for the request, the other end of a pipe.
//!
//! Only what they compute is told here: what they wait for themselves, and waits for locks, for a queue, or for threads that
//! a quota holds back are told by the findings about these, so that no time counts twice.

use std::collections::{BTreeMap, BTreeSet};

use slowpath_critical_path::State;
use slowpath_model::{Nanoseconds, ProcessId, ThreadId, TimeRange, shown};
use slowpath_requests::{RequestId, ThreadOfHost};

use crate::finding::{Evidence, Finding, FindingId};
use crate::path::{LEAST_SHARE, Piece, Slow, Taken, counted, listed, percent};
use crate::quota::{Quota, quota_behind};
use crate::{locks, runtime};

/// By request: ranges in the order of time, apart.
type Times = BTreeMap<RequestId, Vec<TimeRange>>;

pub(crate) fn finding(slow: &Slow<'_>, quotas: &[Quota]) -> Option<Finding> {
    let computing = || {
        let pieces = slow.pieces().filter(computes);
        pieces.filter_map(|piece| Some((other_process(slow, &piece)?, piece)))
    };
    // What others tell is looked up where that may matter only: it takes a good while.
    let at_most: Nanoseconds = computing()
        .map(|(_, piece)| piece.segment.range.length())
        .sum();
    if (at_most.get() as f64) < LEAST_SHARE * slow.total.get() as f64 {
        return None;
    }
    let told_elsewhere = told_elsewhere(slow, quotas);
    let mut taken = Taken::default();
    let mut computed: Vec<(RequestId, ThreadOfHost, TimeRange)> = Vec::new();
    let (mut operations, mut calls) = (BTreeMap::new(), BTreeMap::new());
    let mut started: BTreeSet<String> = BTreeSet::new();
    let waits = calls_of_waits(slow);
    for (process, piece) in computing() {
        let whose = piece.whose();
        let name = slow.thread(ThreadOfHost {
            thread: ThreadId(process.0),
            ..whose
        });
        let known = told_elsewhere
            .get(&piece.request)
            .map_or(&[][..], Vec::as_slice);
        for range in without(piece.segment.range, known) {
            match computed.last_mut() {
                // Interrupts cut it in pieces.
                Some((request, thread, last))
                    if (*request, *thread, last.end) == (piece.request, whose, range.begin) =>
                {
                    last.end = range.end;
                }
                _ => computed.push((piece.request, whose, range)),
            }
            taken.blame(name.clone(), range.length());
            let call = call_at(&waits, piece.request, range);
            *calls.entry(call).or_default() += range.length();
            for (when, served) in slow.worked_for(&piece.segment) {
                let lines = slow.all.hosts().lines(served.host);
                let operation = shown(&slow.all.get(served).name(lines)).into_owned();
                *operations.entry(operation).or_default() += when.intersect(range).length();
            }
        }
        if is_started_by(slow, &piece, process) {
            started.insert(name);
        }
    }
    for (request, whose, range) in computed {
        taken.add(request, whose, range);
    }
    taken.share(slow)?;
    let (most, of_most) = taken.most_blamed()?;
    let title = match taken.blamed_count() {
        1 => format!("Process: requests wait for {most}, which computes"),
        all => format!(
            "Processes: requests wait for {most} and {}, which compute",
            counted(all - 1, "other", "others")
        ),
    };
    let of_operations = match operations.is_empty() {
        true => String::new(),
        false => format!(
            " By their spans they worked for: {}.",
            listed(&operations, 4)
        ),
    };
    let of_started = match started.len() {
        0 => String::new(),
        some => format!(
            " {} of them {} started after the request that waited had begun.",
            some,
            if some == 1 { "was" } else { "were" }
        ),
    };
    let explanation = format!(
        "{} waited {} in all while other processes computed: {}. The one that was waited for most is {most} ({} of \
         it).{of_operations}{of_started}",
        taken.slow_requests(),
        taken.total,
        taken.blamed(),
        percent(of_most, taken.total),
    );
    let mut evidence =
        taken.evidence_by(slow, "computed while another process waited for", "process");
    evidence.push(Evidence::text(format!(
        "by system call in which the requests' threads waited: {}",
        listed(&calls, 4)
    )));
    if !operations.is_empty() {
        evidence.push(Evidence::text(format!(
            "by operation: {}",
            listed(&operations, 6)
        )));
    }
    let advice = "Look at what that process computes (profile it, or record its spans as well), and make it less; ask it \
                  less often, keep its answers, or do something else meanwhile. Where it is started for each request, \
                  keep one running instead.";
    let id = FindingId::ProcessWait;
    taken.finding(slow, id, title, explanation, evidence, advice)
}

/// Whether a thread computes that others on the path wait for.
fn computes(piece: &Piece) -> bool {
    let is_on_processor = matches!(piece.segment.state, State::Running | State::Interrupted);
    is_on_processor && piece.segment.depth > 0
}

/// The process that a piece is of, where it is known to be none that serves the request, and none of the kernel's threads.
fn other_process(slow: &Slow<'_>, piece: &Piece) -> Option<ProcessId> {
    let (segment, hosts) = (&piece.segment, slow.all.hosts());
    let lines = hosts.lines(segment.host)?;
    let process = lines.process(segment.thread, segment.recorded.end)?;
    if lines.is_of_kernel(segment.thread) || runtime::is_runtime(&segment.comm) {
        return None;
    }
    let serves = |thread: &ThreadId| {
        let own = slow.lines.process(*thread, segment.range.end);
        // Of whom nothing is known that one may be as well.
        own.is_none_or(|own| own == process)
    };
    let threads = slow.requests.get(piece.request).threads();
    let is_own = segment.host == slow.host && threads.iter().any(serves);
    (!is_own && !threads.is_empty()).then_some(process)
}

/// Whether a process on the requests' host was made after the request had begun.
fn is_started_by(slow: &Slow<'_>, piece: &Piece, process: ProcessId) -> bool {
    let window = slow.requests.get(piece.request).window;
    let life = slow.lines.life(ThreadId(process.0));
    piece.segment.host == slow.host && window.begin < life.begin && life.begin < window.end
}

/// The waits of each request's own threads: when, and in which call.
fn calls_of_waits(slow: &Slow<'_>) -> BTreeMap<RequestId, Vec<(TimeRange, String)>> {
    let mut waits: BTreeMap<RequestId, Vec<(TimeRange, String)>> = BTreeMap::new();
    for wait in slow.waits() {
        let call = wait.call.as_deref().unwrap_or("no known call");
        let of_request = waits.entry(wait.request).or_default();
        of_request.push((wait.range, call.to_owned()));
    }
    waits
}

/// The call of the wait that `range` is a part of.
fn call_at(
    waits: &BTreeMap<RequestId, Vec<(TimeRange, String)>>,
    request: RequestId,
    range: TimeRange,
) -> String {
    let waits = waits.get(&request).map_or(&[][..], Vec::as_slice);
    let past = waits.partition_point(|(wait, _)| wait.begin <= range.begin);
    let wait = past.checked_sub(1).map(|last| &waits[last]);
    let wait = wait.filter(|(wait, _)| range.end <= wait.end);
    wait.map_or("no known call".to_owned(), |(_, call)| call.clone())
}

/// What other findings tell already: waits for locks, for other requests, and for threads that a quota stops.
fn told_elsewhere(slow: &Slow<'_>, quotas: &[Quota]) -> Times {
    let mut times = Times::new();
    for wait in locks::waits(slow) {
        times.entry(wait.request).or_default().push(wait.range);
    }
    for wait in slow.waits_looked_into() {
        let of_request = times.entry(wait.request).or_default();
        match quota_behind(quotas, &wait) {
            Some(_) => of_request.push(wait.range),
            None => of_request.extend(slow.queued(&wait).into_iter().map(|(range, _)| range)),
        }
    }
    for ranges in times.values_mut() {
        *ranges = TimeRange::union(std::mem::take(ranges));
    }
    times
}

/// The parts of `range` that lie outside of `others`, which are in the order of time and apart.
fn without(range: TimeRange, others: &[TimeRange]) -> Vec<TimeRange> {
    let first = others.partition_point(|other| other.end <= range.begin);
    let mut parts = Vec::new();
    let mut begin = range.begin;
    for other in others[first..]
        .iter()
        .take_while(|other| other.begin < range.end)
    {
        parts.push(TimeRange::new(begin, other.begin.max(begin)));
        begin = other.end.min(range.end);
    }
    parts.push(TimeRange::new(begin, range.end));
    parts.retain(|part| part.length() > Nanoseconds::ZERO);
    parts
}
