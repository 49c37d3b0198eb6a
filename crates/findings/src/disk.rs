//! Waits for disks: which disk, and whose requests it had to deal with meanwhile.
//!
//! What the disks did is not in the time lines: whoever asks reads it from the trace for the waits
//! that are worth a finding. A wait whose disk the trace does not tell counts all the same.

use std::collections::BTreeMap;

use slowpath_critical_path::State;
use slowpath_kernel::InterruptedWait;
use slowpath_kernel::disks::{DiskRequest, DiskUse};
use slowpath_model::{Nanoseconds, ThreadId, TimeRange, shown};

use crate::finding::{Evidence, Finding, FindingId};
use crate::path::{Piece, Slow, Taken, each_once, listed, place_of};

/// Disks that are told of.
const MOST_DISKS: usize = 3;
/// Threads that are told of by disk and direction.
const MOST_THREADS: usize = 4;

/// The waits for disks on the requests' own host, where they are worth a finding; each once.
pub(crate) fn waits(slow: &Slow<'_>) -> Vec<InterruptedWait> {
    if taken(slow).share(slow).is_none() {
        return Vec::new();
    }
    each_once(pieces(slow).filter_map(|piece| wait_of(slow, &piece)))
}

fn pieces(slow: &Slow<'_>) -> impl Iterator<Item = Piece> {
    (slow.pieces()).filter(|piece| piece.segment.state == State::BlockDevice)
}

fn wait_of(slow: &Slow<'_>, piece: &Piece) -> Option<InterruptedWait> {
    let segment = (piece.segment.host == slow.host).then_some(&piece.segment)?;
    InterruptedWait::by_device(slow.lines, segment.thread, segment.recorded.end)
}

fn taken(slow: &Slow<'_>) -> Taken {
    let mut taken = Taken::default();
    for piece in pieces(slow) {
        taken.add(piece.request, piece.whose(), piece.segment.range);
    }
    taken
}

/// `waits` are those that [`waits`] gave, `disks` what was found out about them.
pub(crate) fn finding(
    slow: &Slow<'_>,
    waits: &[InterruptedWait],
    disks: &DiskUse,
) -> Option<Finding> {
    let mut taken = taken(slow);
    taken.share(slow)?;
    let mut causes: BTreeMap<String, Nanoseconds> = BTreeMap::new();
    // By disk: how long it was waited for, and when.
    let mut waited: BTreeMap<&str, (Nanoseconds, Vec<TimeRange>)> = BTreeMap::new();
    for piece in pieces(slow) {
        let segment = &piece.segment;
        taken.blame(slow.thread(piece.whose()), segment.range.length());
        let wait = wait_of(slow, &piece);
        let place = wait.and_then(|wait| place_of(&wait, waits));
        let disk = place.and_then(|place| disks.ended_by.get(place)?.as_deref());
        if let Some(disk) = disk {
            let (length, when) = waited.entry(disk).or_default();
            *length += segment.range.length();
            when.push(segment.recorded);
        } else if !segment.detail.is_empty() {
            *causes.entry(segment.detail.to_string()).or_default() += segment.range.length();
        }
    }
    let lengths = waited
        .iter()
        .map(|(disk, (length, _))| (shown(disk).into_owned(), *length));
    let lengths: BTreeMap<String, Nanoseconds> = lengths.collect();
    let mut words = Vec::new();
    if !lengths.is_empty() {
        words.push(listed(&lengths, MOST_DISKS));
    }
    if !causes.is_empty() {
        words.push(match words.is_empty() {
            true => listed(&causes, 3),
            false => format!(
                "a disk that the trace does not tell: {}",
                listed(&causes, 2)
            ),
        });
    }
    let words = match words.is_empty() {
        true => String::new(),
        false => format!(" ({})", words.join("; ")),
    };
    let explanation = format!(
        "{} waited for a disk for {} in all{words}, in these threads: {}.",
        taken.slow_requests(),
        taken.total,
        taken.blamed()
    );
    let mut ranked: Vec<(&str, Nanoseconds, Vec<TimeRange>)> = (waited.into_iter())
        .map(|(disk, (length, when))| (disk, length, when))
        .collect();
    ranked.sort_by_key(|(disk, length, _)| (std::cmp::Reverse(*length), *disk));
    let title = match ranked.first() {
        Some((disk, ..)) => format!("Disk: requests wait for {}", shown(disk)),
        None => "Disk: requests wait for a block device".to_owned(),
    };
    let mut evidence: Vec<Evidence> = (ranked.into_iter().take(MOST_DISKS))
        .flat_map(|(disk, length, when)| users(slow, disks, disk, length, when))
        .collect();
    evidence.extend(taken.evidence_by(slow, "waited for a disk for", "thread"));
    let advice = "Write less often or in larger pieces, sync less (or together), keep what is read in \
                  memory, or use a faster disk. Look with `slowpath io` and `slowpath latency --kind \
                  block` at who else uses it. Where requests take the disk itself far less time, see whether a limit \
                  holds them back (`io.max` of a control group).";
    taken.finding(
        slow,
        FindingId::DiskWait,
        title,
        explanation,
        evidence,
        advice,
    )
}

/// Who had requests under way on a disk while it was waited for: those that write, those that read.
fn users(
    slow: &Slow<'_>,
    disks: &DiskUse,
    disk: &str,
    length: Nanoseconds,
    mut when: Vec<TimeRange>,
) -> Vec<Evidence> {
    when.sort_by_key(|range| (range.begin, range.end));
    // The latest end of all that begin no later.
    let mut ends = Vec::with_capacity(when.len());
    for range in &when {
        ends.push((range.end).max(ends.last().copied().unwrap_or(range.end)));
    }
    let is_meanwhile = |request: &&DiskRequest| {
        let past = when.partition_point(|range| range.begin < request.range.end);
        let latest = past.checked_sub(1).and_then(|last| ends.get(last));
        &*request.disk == disk && latest.is_some_and(|end| *end > request.range.begin)
    };
    let mut moved: BTreeMap<(bool, Option<ThreadId>), u64> = BTreeMap::new();
    for request in disks.requests.iter().filter(is_meanwhile) {
        *moved.entry((request.writes, request.thread)).or_default() += request.bytes;
    }
    let directions = [(true, "written"), (false, "read")];
    let told = directions.into_iter().filter_map(|(writes, did)| {
        let of_direction = moved.iter().filter(|((way, _), _)| *way == writes);
        let mut ranked: Vec<(Option<ThreadId>, u64)> = of_direction
            .map(|((_, thread), bytes)| (*thread, *bytes))
            .collect();
        ranked.sort_by_key(|(thread, bytes)| (std::cmp::Reverse(*bytes), *thread));
        let whole: u64 = ranked.iter().map(|(_, bytes)| bytes).sum();
        let name = |thread: Option<ThreadId>| match thread {
            Some(ThreadId::IDLE) | None => "an unknown thread".to_owned(),
            Some(thread) => slow.thread(slow.own(thread)),
        };
        let named: Vec<String> = (ranked.iter().take(MOST_THREADS))
            .map(|(thread, bytes)| format!("{} {}", name(*thread), amount(*bytes)))
            .collect();
        let (first, _) = ranked.first()?;
        Some(Evidence {
            thread: first.filter(|thread| *thread != ThreadId::IDLE),
            ..Evidence::text(format!(
                "{} was waited for {length} in all; meanwhile {} were being {did}, by: {}",
                shown(disk),
                amount(whole),
                named.join(", ")
            ))
        })
    });
    told.collect()
}

/// Bytes in words.
fn amount(bytes: u64) -> String {
    match bytes {
        0..1_000_000 => format!("{:.1} kB", bytes as f64 / 1e3),
        1_000_000..1_000_000_000 => format!("{:.1} MB", bytes as f64 / 1e6),
        _ => format!("{:.1} GB", bytes as f64 / 1e9),
    }
}
