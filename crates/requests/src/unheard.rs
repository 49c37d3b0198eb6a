//! Processors that nothing is heard of: no event of a span is from there, though threads ran there that tell of
//! spans elsewhere. The stream is gone, and where its index is gone as well, no file is missed.
//!
//! How much they would have told there is known by how much they told where they ran else.

use std::collections::{BTreeMap, BTreeSet};

use rustc_hash::FxHashMap;
use slowpath_kernel::timelines::Timelines;
use slowpath_model::{CpuId, ThreadId, TimeRange};

use crate::events::SpanEvent;

/// Where fewer events are to be expected, that there is none says little.
const LEAST_EXPECTED: f64 = 20.0;

/// The processors. `events` have the host's numbers of threads.
pub(crate) fn unheard_of(events: &[SpanEvent], lines: &Timelines) -> BTreeSet<CpuId> {
    let heard_of: BTreeSet<CpuId> = events.iter().filter_map(SpanEvent::cpu).collect();
    let is_unheard = |cpu: &CpuId| !heard_of.contains(cpu);
    if heard_of.is_empty() || !lines.processors().any(|cpu| is_unheard(&cpu)) {
        return BTreeSet::new();
    }
    // What a thread does before the first and after the last it tells may be something else.
    let mut told: FxHashMap<ThreadId, (TimeRange, u64)> = FxHashMap::default();
    for event in events.iter().filter(|event| event.cpu().is_some()) {
        let at = TimeRange::new(event.at, event.at);
        let of_thread = event
            .thread()
            .map(|thread| told.entry(thread).or_insert((at, 0)));
        if let Some((range, count)) = of_thread {
            *range = range.hull(at);
            *count += 1;
        }
    }
    let mut expected: BTreeMap<CpuId, f64> = BTreeMap::new();
    for (thread, (range, count)) in told {
        let (mut heard, mut unheard) = (0_u64, BTreeMap::<CpuId, u64>::new());
        for (run, cpu) in lines.runs_of(thread) {
            let length = run.intersect(range).length().get();
            match is_unheard(&cpu) {
                true => *unheard.entry(cpu).or_insert(0) += length,
                false => heard += length,
            }
        }
        for (cpu, length) in unheard {
            // Of little time where it was heard of, more cannot be concluded.
            let events = count as f64 * length.min(heard) as f64 / heard.max(1) as f64;
            *expected.entry(cpu).or_default() += events;
        }
    }
    expected.retain(|_, events| *events >= LEAST_EXPECTED);
    expected.into_keys().collect()
}
