//! Who ran on processors at chosen times: who was there instead of a thread that had to wait.

use rustc_hash::FxHashMap;
use slowpath_model::{CpuId, Nanoseconds, ThreadId, TimeRange, Timestamp};

use super::entry::Run;
use super::{Doing, Timelines};

/// The runs on some processors at some times.
#[derive(Debug, Default)]
pub struct Occupants {
    /// In the order of time; of one processor they do not overlap.
    by_cpu: FxHashMap<CpuId, Vec<(TimeRange, ThreadId)>>,
}

impl Timelines {
    /// Who ran at these times. Reads the runs of all threads once.
    pub fn occupants(&self, times: &[(CpuId, TimeRange)]) -> Occupants {
        let mut wanted: FxHashMap<CpuId, Vec<TimeRange>> = FxHashMap::default();
        for (cpu, range) in times {
            wanted.entry(*cpu).or_default().push(*range);
        }
        for ranges in wanted.values_mut() {
            ranges.sort_by_key(|range| range.begin);
            *ranges = joined(ranges);
        }
        let mut occupants = Occupants::default();
        for &thread in &self.threads {
            for (run, cpu) in self.runs_of(thread) {
                let Some(ranges) = wanted.get(&cpu) else {
                    continue;
                };
                let first = ranges.partition_point(|range| range.end <= run.begin);
                if ranges.get(first).is_some_and(|range| range.begin < run.end) {
                    occupants.by_cpu.entry(cpu).or_default().push((run, thread));
                }
            }
        }
        for runs in occupants.by_cpu.values_mut() {
            runs.sort_by_key(|(run, _)| run.begin);
        }
        occupants
    }

    /// When and where a thread ran, in the order of time.
    pub fn runs_of(&self, thread: ThreadId) -> impl Iterator<Item = (TimeRange, CpuId)> {
        let (runs, _) = self.line(thread);
        let known = runs.iter().map(Run::from_row).filter(|run| !run.in_part);
        known.filter_map(|run| {
            let line = self.cpu_at(run.cpu)?;
            Some((super::range(run.begin, run.end), line.cpu))
        })
    }

    /// How much of `range` lies where a thread ran for an unknown part of the time, as a switch is missing from the trace.
    pub fn beside_missing_switches(&self, thread: ThreadId, range: TimeRange) -> Nanoseconds {
        let (runs, _) = self.line(thread);
        let first = runs.partition_point(|row| Run::from_row(row).end <= range.begin.ns());
        let runs = runs[first..].iter().map(Run::from_row);
        let within = runs.take_while(|run| run.begin < range.end.ns());
        let in_part = within.filter(|run| run.in_part);
        (in_part.map(|run| super::range(run.begin, run.end).intersect(range).length())).sum()
    }

    /// Times right before runs of a thread in which it was ready and may have run already: the processor
    /// was idle, and the switch to the thread is missing.
    pub fn perhaps_ran(&self, thread: ThreadId) -> impl Iterator<Item = TimeRange> {
        let (runs, _) = self.line(thread);
        let unseen = runs
            .iter()
            .map(Run::from_row)
            .filter(|run| run.begun_unseen);
        unseen.filter_map(move |run| {
            let before = self.stretch_before(thread, Timestamp::from_ns(run.begin));
            let is_ready = matches!(before.doing, Doing::Preempted | Doing::WaitingForCpu);
            is_ready.then_some(before.range)
        })
    }
}

impl Occupants {
    /// How long each thread ran on `cpu` within `range`, which is one of the times that were asked
    /// for; the rest of it the processor was idle.
    pub fn during(
        &self,
        cpu: CpuId,
        range: TimeRange,
    ) -> impl Iterator<Item = (ThreadId, Nanoseconds)> {
        let runs = self.by_cpu.get(&cpu).map_or(&[][..], Vec::as_slice);
        let first = runs.partition_point(|(run, _)| run.end <= range.begin);
        let inside = runs[first..]
            .iter()
            .take_while(move |(run, _)| run.begin < range.end);
        inside.map(move |(run, thread)| (*thread, run.intersect(range).length()))
    }
}

/// Ranges in the order of their begin, those that touch as one.
fn joined(ranges: &[TimeRange]) -> Vec<TimeRange> {
    let mut joined: Vec<TimeRange> = Vec::with_capacity(ranges.len());
    for &range in ranges {
        match joined.last_mut() {
            Some(last) if last.end >= range.begin => last.end = last.end.max(range.end),
            _ => joined.push(range),
        }
    }
    joined
}

#[cfg(test)]
mod tests {
    use slowpath_drawn::DrawnTrace;
    use slowpath_engine::Options;
    use slowpath_model::Timestamp;

    use super::*;

    #[test]
    fn runs_are_told_where_they_touch_the_times() {
        let switch = |cpu: u32, at: i64, prev: i32, next: i32| {
            format!(
                "cpu{cpu} {at} sched_switch prev_comm=p prev_tid={prev} prev_state=1 next_comm=n \
                 next_tid={next}\n"
            )
        };
        let trace = [
            switch(0, 0, 0, 7),
            switch(0, 10, 7, 8),
            switch(0, 30, 8, 0),
            switch(0, 50, 0, 7),
            switch(0, 60, 7, 0),
            switch(1, 0, 0, 9),
            switch(1, 60, 9, 0),
        ];
        let trace = DrawnTrace::parse(&trace.concat()).unwrap();
        let lines = Timelines::build(&trace, &Options::default()).unwrap();
        let lines = lines.state.unwrap();
        let range = |begin, end| TimeRange::new(Timestamp::from_ns(begin), Timestamp::from_ns(end));
        let times = [(CpuId(0), range(5, 20)), (CpuId(0), range(15, 55))];
        let occupants = lines.occupants(&times);
        let told = |cpu, range| {
            let told = occupants.during(CpuId(cpu), range);
            told.map(|(thread, time)| (thread.0, time.get()))
                .collect::<Vec<_>>()
        };
        assert_eq!(told(0, range(5, 20)), [(7, 5), (8, 10)]);
        assert_eq!(told(0, range(15, 55)), [(8, 15), (7, 5)]);
        assert_eq!(told(1, range(5, 20)), [], "nobody asked for processor 1");
    }
}
