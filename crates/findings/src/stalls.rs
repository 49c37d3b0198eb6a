//! When ready threads stood still: their processor idled, or none of all threads of a group ran.
//!
//! Says when and for which processor they waited. Whether a quota held them is `quota`'s matter.

use std::collections::BTreeMap;

use slowpath_kernel::timelines::{Doing, Occupants, Timelines};
use slowpath_model::{CpuId, Nanoseconds, ThreadId, TimeRange, Timestamp};

/// A ready thread that waits longer for an idle processor is stopped: wake-ups take microseconds.
pub(crate) const STALL: Nanoseconds = Nanoseconds(2_000_000);
/// A process with ready threads of which none runs for longer is stopped, or others have the
/// processors: slices are of a few milliseconds, and only a quota ends such times in step.
pub(crate) const SILENCE: Nanoseconds = Nanoseconds(10_000_000);
/// A processor that was idle takes no longer to run who was woken there.
pub(crate) const LATE: Nanoseconds = Nanoseconds(100_000);

/// A time in which a ready thread stood still.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Stall {
    pub(crate) range: TimeRange,
    /// On which it went on, or where it does not, had run.
    pub(crate) cpu: CpuId,
    /// Nobody ran there for most of the time.
    pub(crate) was_idle: bool,
}

/// Whether nearly all stalls are waits for one processor on which others ran meanwhile: so it is where
/// these take it from threads that are bound to it. Who is held to a quota waits for idle processors
/// too, or for several.
pub(crate) fn are_of_one_busy_processor<'run>(stalls: impl Iterator<Item = &'run Stall>) -> bool {
    let (mut all, mut busy) = (0, BTreeMap::<CpuId, usize>::new());
    for stall in stalls {
        all += 1;
        if !stall.was_idle {
            *busy.entry(stall.cpu).or_default() += 1;
        }
    }
    busy.values().any(|count| count * 4 > all * 3)
}

/// A time in which a thread was ready, where it ran before and after.
struct Ready {
    range: TimeRange,
    from: CpuId,
    /// `None` where it does not run again.
    to: Option<CpuId>,
}

/// When threads were ready while their processor was idle for most of the time, or while all of
/// them stood still until one of them took a processor from somebody or found it idle.
pub(crate) fn stalls(lines: &Timelines, threads: &[ThreadId]) -> Vec<Stall> {
    let silences = silences(lines, threads);
    let mut waits: Vec<Ready> = Vec::new();
    for &thread in threads {
        // Going backwards, the run before a wait comes after it.
        let mut open: Vec<(TimeRange, Option<CpuId>)> = Vec::new();
        let mut later = None;
        for stretch in lines.backwards(thread, lines.range()) {
            match stretch.doing {
                Doing::Preempted | Doing::WaitingForCpu if stretch.range.length() >= STALL => {
                    open.push((stretch.range, later));
                }
                Doing::Running { cpu: from } => {
                    let ready = open.drain(..);
                    waits.extend(ready.map(|(range, to)| Ready { range, from, to }));
                    later = Some(from);
                }
                _ => {}
            }
        }
    }
    let places = waits.iter().flat_map(|wait| {
        let cpus = [Some(wait.from), wait.to.filter(|to| *to != wait.from)];
        cpus.into_iter().flatten().map(|cpu| (cpu, wait.range))
    });
    let occupants = lines.occupants(&places.collect::<Vec<_>>());
    let is_idle = |cpu: CpuId, range: TimeRange| is_idle(&occupants, cpu, range);
    let is_in_silence = |range: TimeRange| {
        // The last one that begins before the wait ends: who is ready then is who ends it.
        let next = silences.partition_point(|silence| silence.begin < range.end);
        let last = silences[..next].last();
        last.is_some_and(|silence| {
            silence.intersect(range).length() >= SILENCE && range.end.since(silence.end) < STALL
        })
    };
    let stall = |wait: Ready| {
        let (range, cpu) = (wait.range, wait.to.unwrap_or(wait.from));
        let was_idle = is_idle(wait.from, range) && is_idle(cpu, range);
        let stood_still =
            was_idle || is_in_silence(range) && is_taken(lines, &occupants, cpu, range.end);
        stood_still.then_some(Stall {
            range,
            cpu,
            was_idle,
        })
    };
    waits.into_iter().filter_map(stall).collect()
}

/// Whether who goes on at a time takes the processor from somebody, or finds it idle. Who only waits until
/// others have done with it goes on when they leave it, or when these are stopped: then they stand still
/// for long. `occupants` must tell who was there before.
pub(crate) fn is_taken(
    lines: &Timelines,
    occupants: &Occupants,
    cpu: CpuId,
    at: Timestamp,
) -> bool {
    let begin = at.ns().saturating_sub(LATE.get() as i64);
    let at_last = TimeRange::new(Timestamp::from_ns(begin), at);
    let past = Timestamp::from_ns(at.ns().saturating_add(1));
    let wants_more = |thread| {
        let next = lines.stretch_before(thread, past);
        next.doing == Doing::Preempted && next.range.length() < SILENCE
    };
    is_idle(occupants, cpu, at_last)
        || (occupants.during(cpu, at_last)).any(|(thread, _)| wants_more(thread))
}

/// Whether nobody ran there for most of the time.
fn is_idle(occupants: &Occupants, cpu: CpuId, range: TimeRange) -> bool {
    let busy: Nanoseconds = (occupants.during(cpu, range)).map(|(_, time)| time).sum();
    busy.get() * 2 < range.length().get()
}

/// When none of the threads ran, for long; in the order of time.
fn silences(lines: &Timelines, threads: &[ThreadId]) -> Vec<TimeRange> {
    let runs = threads.iter().flat_map(|thread| lines.runs_of(*thread));
    let mut runs: Vec<TimeRange> = runs.map(|(run, _)| run).collect();
    runs.sort_unstable_by_key(|run| run.begin);
    let mut silences = Vec::new();
    let mut ran_until = lines.range().begin;
    for run in runs {
        let silence = TimeRange::new(ran_until, run.begin.max(ran_until));
        if silence.length() >= SILENCE {
            silences.push(silence);
        }
        ran_until = ran_until.max(run.end);
    }
    silences
}
