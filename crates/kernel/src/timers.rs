//! When the timers of one function fired, timer by timer: those of control groups' CPU quotas, for
//! instance, which mark the begin of each period. Knows nothing of what the function does.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use slowpath_concepts::{Concepts, Fact, FactKind};
use slowpath_engine::{Analysis, Cancelled, Chunk, Options, Outcome};
use slowpath_model::{Event, Timestamp};
use slowpath_source::Source;

/// Address of a timer; one that is freed may be given to another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct TimerId(pub u64);

/// When each timer fired, in the order of time.
pub type Firings = BTreeMap<TimerId, Vec<Timestamp>>;

/// Finds when the timers whose function lies at the address `function` fired. The state is `None` where
/// the trace does not record timers, or nothing else either.
///
/// # Errors
///
/// Where it was cancelled.
pub fn firings(
    source: &dyn Source,
    function: u64,
    options: &Options<'_>,
) -> Result<Outcome<Firings>, Cancelled> {
    let concepts = Concepts::resolve(source.schema(), &[FactKind::TimerEntry]);
    let find = Find {
        concepts: &concepts,
        function,
    };
    let mut outcome = slowpath_engine::run(source, concepts.projection(), &find, options)?;
    outcome.state = outcome.state.filter(|_| concepts.has(FactKind::TimerEntry));
    for times in outcome.state.iter_mut().flat_map(BTreeMap::values_mut) {
        times.sort_unstable();
    }
    Ok(outcome)
}

struct Find<'run> {
    concepts: &'run Concepts,
    function: u64,
}

impl Analysis for Find<'_> {
    type State = Firings;

    fn begin(&self, _chunk: &Chunk) -> Firings {
        Firings::new()
    }

    fn event(&self, state: &mut Firings, event: &Event<'_>) {
        if let Some(Fact::TimerEntry { timer, function }) = self.concepts.fact(event)
            && function == self.function
        {
            state.entry(TimerId(timer)).or_default().push(event.at);
        }
    }

    fn merge(&self, earlier: &mut Firings, later: Firings) {
        for (timer, times) in later {
            earlier.entry(timer).or_default().extend(times);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::num::NonZeroUsize;

    use slowpath_drawn::DrawnTrace;

    use super::*;

    #[test]
    fn timers_of_a_function_are_told_apart() {
        let drawing = "cpu0 10 hrtimer_expire_entry hrtimer=0x1 function=0x70
            cpu1 15 hrtimer_expire_entry hrtimer=0x2 function=0x70
            cpu0 18 hrtimer_expire_entry hrtimer=0x3 function=0x71
            cpu1 20 hrtimer_expire_entry hrtimer=0x1 function=0x70
            cpu0 30 hrtimer_expire_entry hrtimer=0x1 function=0x70";
        let trace = DrawnTrace::parse(drawing).unwrap();
        for (jobs, chunk_bytes) in [(1, None), (2, Some(1)), (8, Some(1))] {
            let options = Options {
                jobs: NonZeroUsize::new(jobs).unwrap(),
                chunk_bytes,
                ..Options::default()
            };
            let found = firings(&trace, 0x70, &options).unwrap().state.unwrap();
            let found: Vec<(u64, Vec<i64>)> = (found.into_iter())
                .map(|(timer, times)| (timer.0, times.iter().map(|at| at.ns()).collect()))
                .collect();
            assert_eq!(found, [(1, vec![10, 20, 30]), (2, vec![15])], "{jobs}");
        }
    }
}
