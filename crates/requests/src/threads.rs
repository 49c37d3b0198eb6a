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

/// Gives every event the thread that told it, as the host numbers it; `None` where the trace does
/// not say. A number that a process's events mostly agree with is believed throughout, unless a process in a namespace of
/// its own has it, too: then the process is that of the thread as well.
pub(crate) fn resolve(events: &mut [SpanEvent], lines: &Timelines) {
    type Namespaced = (Option<ProcessId>, Option<ThreadId>);
    // By thread as told: how often it ran on the event's processor, and how often another did.
    let mut votes: FxHashMap<Namespaced, (u32, u32)> = FxHashMap::default();
    for event in events.iter() {
        let vote = votes.entry((event.process(), event.thread())).or_default();
        if vote.0 + vote.1 >= MOST_VOTES {
            continue;
        }
        match (event.thread(), event.cpu()) {
            (Some(thread), Some(cpu)) => match lines.stretch_before(thread, event.at).doing {
                Doing::Running { cpu: ran_on } if ran_on == cpu => vote.0 += 1,
                Doing::Unknown if lines.threads().binary_search(&thread).is_ok() => {}
                _ => vote.1 += 1,
            },
            (Some(_), None) => {}
            (None, _) => vote.1 += 1,
        }
    }
    // Processes of containers, and of the host beside them, may have one number.
    let is_shared = |event: &SpanEvent| {
        let process = event.process();
        process.is_some_and(|process| !lines.numbered_inside(process).is_empty())
    };
    let is_believed = |event: &SpanEvent| {
        let (agree, differ) = votes[&(event.process(), event.thread())];
        agree >= differ && !is_shared(event)
    };
    if events.iter().all(is_believed) {
        return;
    }
    let occupants = Occupants::of(lines);
    // Where nobody is known to have run, it was most likely the process that told of the span before.
    let mut latest: FxHashMap<SpanKey, ProcessId> = FxHashMap::default();
    for event in events.iter_mut() {
        if is_believed(event) {
            continue;
        }
        let ran = event.cpu().and_then(|cpu| occupants.at(cpu, event.at));
        if is_shared(event) {
            let key = event.key();
            if let Some(process) = ran.and_then(|thread| lines.process(thread, event.at)) {
                latest.insert(key, process);
            }
            event.of_process(latest.get(&key).copied().or(event.process()));
        }
        if let Some(thread) = ran {
            event.told_by(thread);
        }
    }
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
