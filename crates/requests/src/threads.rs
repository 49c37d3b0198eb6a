//! Which thread of the host told a span event: as the event says, held against the kernel.
//!
//! A context's thread number is that of the thread's own namespace; in a container it means another
//! thread on the host, or none. Who ran on the event's processor at that time does not lie (Gelle,
//! Ezzati-Jivan & Dagenais 2021, §3.2), and is asked wherever the number does not fit.

use rustc_hash::FxHashMap;
use slowpath_kernel::timelines::{Doing, Timelines};
use slowpath_model::{CpuId, ProcessId, ThreadId, TimeRange, Timestamp};

use crate::SpanEvent;
use crate::request::SpanKey;

/// How many events of a thread are asked.
const MOST_VOTES: u32 = 64;

/// A process and a thread as an event tells them.
type Told = (Option<ProcessId>, Option<ThreadId>);

/// What the kernel says of a thread as told.
#[derive(Default)]
struct Votes {
    /// How often it ran on the event's processor.
    agree: u32,
    /// How often another did.
    differ: u32,
    /// On the host that number is a thread's of another process.
    is_of_other: bool,
}

impl Votes {
    fn believes(&self) -> bool {
        match self.agree + self.differ {
            0 => !self.is_of_other,
            _ => self.agree >= self.differ,
        }
    }
}

/// Gives every event the thread that told it, as the host numbers it; `None` where the trace does
/// not say. A number that a process's events mostly agree with is believed throughout, unless a process in a namespace of
/// its own has it, too: then the process is that of the thread as well.
pub(crate) fn resolve(events: &mut [SpanEvent], lines: &Timelines) {
    let votes = votes(events, lines);
    // Processes of containers, and of the host beside them, may have one number.
    let is_shared = |event: &SpanEvent| {
        let process = event.process();
        process.is_some_and(|process| !lines.numbered_inside(process).is_empty())
    };
    let is_believed = |event: &SpanEvent| {
        votes[&(event.process(), event.thread())].believes() && !is_shared(event)
    };
    if events.iter().all(is_believed) {
        return;
    }
    let occupants = Occupants::of(lines);
    let ran = |event: &SpanEvent| event.cpu().and_then(|cpu| occupants.at(cpu, event.at));
    // Where nobody is known to have run, it was who ran whenever that thread told something, if that was always one;
    let mut always: FxHashMap<Told, Option<ThreadId>> = FxHashMap::default();
    for event in events.iter().filter(|event| !is_believed(event)) {
        if let Some(thread) = ran(event) {
            let known = always.entry((event.process(), event.thread()));
            let known = known.or_insert(Some(thread));
            *known = known.filter(|known| *known == thread);
        }
    }
    // and of a process that shares its number, most likely the one that told of the span before.
    let mut latest: FxHashMap<SpanKey, ProcessId> = FxHashMap::default();
    for event in events.iter_mut() {
        if is_believed(event) {
            continue;
        }
        let told = (event.process(), event.thread());
        let thread = ran(event)
            .or_else(|| always.get(&told).copied().flatten())
            .or_else(|| dumped(event, lines));
        if is_shared(event) {
            let key = event.key();
            if let Some(process) = thread.and_then(|thread| lines.process(thread, event.at)) {
                latest.insert(key, process);
            }
            event.of_process(latest.get(&key).copied());
        }
        event.told_by(thread);
    }
}

/// The thread that has the numbers of an event's context by a state dump, if only one that lived then has.
fn dumped(event: &SpanEvent, lines: &Timelines) -> Option<ThreadId> {
    let (process, thread) = (event.process()?, event.thread()?);
    let inside = lines.threads_numbered_inside(process, thread);
    let outside = Some(thread).filter(|_| lines.process(thread, event.at) == Some(process));
    let lived = |thread: &ThreadId| {
        let life = lines.life(*thread);
        life.begin <= event.at && event.at <= life.end
    };
    let mut known = outside
        .into_iter()
        .chain(inside.iter().copied())
        .filter(lived);
    known.next().filter(|_| known.next().is_none())
}

/// By thread as told.
fn votes(events: &[SpanEvent], lines: &Timelines) -> FxHashMap<Told, Votes> {
    let mut votes: FxHashMap<Told, Votes> = FxHashMap::default();
    for event in events {
        let told = (event.process(), event.thread());
        let vote = votes.entry(told).or_insert_with(|| {
            let known = event
                .thread()
                .and_then(|thread| lines.process(thread, event.at));
            Votes {
                is_of_other: known.is_some()
                    && event.process().is_some()
                    && known != event.process(),
                ..Votes::default()
            }
        });
        if vote.agree + vote.differ >= MOST_VOTES {
            continue;
        }
        match (event.thread(), event.cpu()) {
            (Some(thread), Some(cpu)) => match lines.stretch_before(thread, event.at).doing {
                Doing::Running { cpu: ran_on } if ran_on == cpu => vote.agree += 1,
                Doing::Unknown if lines.threads().binary_search(&thread).is_ok() => {}
                _ => vote.differ += 1,
            },
            (Some(_), None) => {}
            (None, _) => vote.differ += 1,
        }
    }
    votes
}

/// Who ran on each processor: (begin, end, thread) in the order of time.
struct Occupants(FxHashMap<CpuId, Vec<(Timestamp, Timestamp, ThreadId)>>);

impl Occupants {
    fn of(lines: &Timelines) -> Self {
        let mut runs: FxHashMap<CpuId, Vec<_>> = FxHashMap::default();
        for &thread in lines.threads() {
            for stretch in lines.backwards(thread, lines.range()) {
                if let Doing::Running { cpu } = stretch.doing {
                    let TimeRange { begin, end } = stretch.range;
                    runs.entry(cpu).or_default().push((begin, end, thread));
                }
            }
        }
        runs.values_mut().for_each(|runs| runs.sort_unstable());
        Self(runs)
    }

    fn at(&self, cpu: CpuId, at: Timestamp) -> Option<ThreadId> {
        let runs = self.0.get(&cpu)?;
        let after = runs.partition_point(|(begin, ..)| *begin <= at);
        let (_, end, thread) = *runs.get(after.checked_sub(1)?)?;
        (at < end || at == Timestamp::MAX).then_some(thread)
    }
}
