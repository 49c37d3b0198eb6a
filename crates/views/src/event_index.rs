//! Where the n-th event of all traces is: numbers of events between the begins of packets, counted once.
//!
//! Between two checkpoints lie no more events than a few packets hold, so that a page of events at any
//! number is found by reading those only. The same numbers are a histogram of events over time.

use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};
use slowpath_engine::{Analysis, Cancelled, Chunk, Options, run};
use slowpath_model::{Event, Projection};
use slowpath_session::{EventPlace, Experiment, Interrupted, merged_events_by};
use slowpath_source::Source;

use crate::event_page::{EventRow, event_row};
use crate::{Origin, TraceClocks};

/// So many checkpoints at even steps, for the histogram of traces with few packets.
const STEPS: i64 = 4_096;

/// How many events there are before certain times.
#[derive(Debug)]
pub struct EventIndex {
    clocks: TraceClocks,
    /// Rising; offsets from the recording's begin.
    times: Vec<i64>,
    /// By time: how many events are earlier.
    before: Vec<u64>,
    total: u64,
}

/// Events by the last checkpoint that is not after them.
#[derive(Default, Serialize, Deserialize)]
struct Counts(FxHashMap<u32, u64>);

/// Counts the events of a trace between checkpoints.
struct CountBetween<'run> {
    times: &'run [i64],
    origin: Origin,
}

impl Analysis for CountBetween<'_> {
    type State = Counts;

    fn begin(&self, _: &Chunk) -> Counts {
        Counts::default()
    }

    fn event(&self, counts: &mut Counts, event: &Event<'_>) {
        let at = self.origin.offset(event.at);
        let place = self.times.partition_point(|time| *time <= at);
        *counts.0.entry(place.saturating_sub(1) as u32).or_default() += 1;
    }

    fn merge(&self, earlier: &mut Counts, later: Counts) {
        for (place, count) in later.0 {
            *earlier.0.entry(place).or_default() += count;
        }
    }
}

impl EventIndex {
    /// Counts the events of all traces.
    ///
    /// # Errors
    /// Where it was cancelled.
    pub fn of(
        experiment: &Experiment,
        clocks: TraceClocks,
        options: &Options<'_>,
    ) -> Result<Self, Cancelled> {
        let mut times = Vec::new();
        for (trace, opened) in experiment.traces.iter().enumerate() {
            let packets = opened.source.packets().iter();
            times.extend(packets.map(|packet| clocks.of_trace(trace).offset(packet.range.begin)));
        }
        if let Some((first, last)) = times.iter().min().copied().zip(times.iter().max().copied()) {
            let step = last.saturating_sub(first) / STEPS;
            times.extend((0..STEPS).map(|number| first.saturating_add(step * number)));
        }
        times.sort_unstable();
        times.dedup();
        let mut counts = vec![0; times.len()];
        for (trace, opened) in experiment.traces.iter().enumerate() {
            let source = &*opened.source;
            let wanted = Projection::every_event(source.schema().event_classes.len());
            let origin = clocks.of_trace(trace);
            let between = CountBetween {
                times: &times,
                origin,
            };
            let found = run(source, &wanted, &between, options)?
                .state
                .unwrap_or_default();
            for (place, count) in found.0 {
                counts[place as usize] += count;
            }
        }
        let mut total = 0;
        let before = counts.into_iter().map(|count| {
            let before = total;
            total += count;
            before
        });
        Ok(Self {
            before: before.collect(),
            total,
            times,
            clocks,
        })
    }

    /// How many events there are.
    pub fn total(&self) -> u64 {
        self.total
    }

    /// How many events lie in each of so many equal parts of the time between two offsets, spread evenly
    /// between checkpoints.
    pub fn histogram(&self, (begin, end): (i64, i64), parts: usize) -> Vec<f64> {
        let rank = |at: i64| {
            let next = self.times.partition_point(|time| *time <= at);
            let Some(last) = next.checked_sub(1) else {
                return 0.0;
            };
            let (since, count) = (self.times[last], self.before[last] as f64);
            let (until, at_end) = match self.times.get(next) {
                Some(until) => (*until, self.before[next] as f64),
                None => (at.max(end), self.total as f64),
            };
            let length = |later: i64| later.saturating_sub(since) as f64;
            count + (at_end - count) * (length(at) / length(until).max(1.0)).min(1.0)
        };
        let width = end.saturating_sub(begin) as f64 / parts.max(1) as f64;
        let ranks: Vec<f64> = (0..=parts)
            .map(|part| rank(begin.saturating_add((width * part as f64) as i64)))
            .collect();
        ranks
            .windows(2)
            .map(|pair| (pair[1] - pair[0]).max(0.0).round())
            .collect()
    }

    /// The events of `experiment` from number `first` on, at most so many that `fits`, with their
    /// numbers. At most `patience` events are looked at.
    pub fn events(
        &self,
        experiment: &Experiment,
        first: u64,
        most: usize,
        patience: usize,
        fits: impl Fn(&EventRow) -> bool,
    ) -> Vec<(u64, EventRow)> {
        let place = self.before.partition_point(|before| *before <= first);
        let Some(place) = place
            .checked_sub(1)
            .filter(|_| first < self.total && most > 0)
        else {
            return Vec::new();
        };
        let (mut found, mut looked_at) = (Vec::new(), 0);
        self.from(experiment, place, None, |number, event| {
            if number < first {
                return Ok(());
            }
            looked_at += 1;
            let row = event_row(experiment, event, &self.clocks);
            if fits(&row) {
                found.push((number, row));
            }
            match found.len() == most || looked_at >= patience {
                true => Err(Interrupted),
                false => Ok(()),
            }
        });
        found
    }

    /// The number of the first event that is not before an offset.
    pub fn number_at(&self, experiment: &Experiment, at: i64) -> u64 {
        let next = self.times.partition_point(|time| *time <= at);
        let Some(last) = next.checked_sub(1) else {
            return 0;
        };
        let mut reached = self.before[last];
        self.from(experiment, last, Some(at), |number, _| {
            reached = number + 1;
            Ok(())
        });
        reached
    }

    /// Tells `each` the events from a checkpoint on, with their numbers, up to an offset.
    fn from(
        &self,
        experiment: &Experiment,
        checkpoint: usize,
        end: Option<i64>,
        mut each: impl FnMut(u64, EventPlace) -> Result<(), Interrupted>,
    ) {
        let traces = experiment.traces.iter();
        let sources: Vec<&dyn Source> = traces.map(|trace| &*trace.source).collect();
        let wanted: Vec<Projection> = (sources.iter())
            .map(|source| Projection::every_event(source.schema().event_classes.len()))
            .collect();
        // What is before all packets' begins belongs to the first checkpoint.
        let begin = (checkpoint > 0).then(|| self.times[checkpoint]);
        let range = |trace: usize| self.clocks.about(trace, begin, end);
        let shown = |trace: usize, at| self.clocks.of_trace(trace).offset(at);
        let mut number = self.before[checkpoint];
        let _ = merged_events_by(&sources, &wanted, range, shown, |event| {
            let at = shown(event.trace, event.at);
            if begin.is_some_and(|begin| at < begin) || end.is_some_and(|end| at >= end) {
                return Ok(());
            }
            number += 1;
            each(number - 1, event)
        });
    }
}
