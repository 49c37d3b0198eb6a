//! How long it is known who runs on a processor, and how long not as events are missing.
//!
//! A run of events between two gaps tells from its first event to its last, if it has a switch. A
//! processor without a gap counts as known, before its first event as well, if it has a switch at all.

use std::collections::BTreeMap;

use slowpath_model::{CpuId, Nanoseconds, TimeRange};

use super::{CpuUse, Lane, Run};

impl Run {
    /// When it is known who ran, for a run of which no end is open but those that `window` cuts off.
    fn known(&self, window: TimeRange) -> Option<TimeRange> {
        self.first_switch?;
        let begin = match self.after_gap {
            true => self.first_event?,
            false => window.begin,
        };
        let end = match self.before_gap {
            true => self.last_event?,
            false => window.end,
        };
        Some(TimeRange::new(begin, end))
    }
}

impl Lane {
    /// A gap follows the run after the last gap: nothing more will be known of that run.
    pub(super) fn settle_last(&mut self) {
        let settled = self.last.and_then(|run| run.known(TimeRange::ALL));
        self.known.extend(settled);
    }

    /// Whether only a switch behind the window, if there is one, tells who ran at the window's end.
    pub(super) fn waits_for_switch(&self) -> bool {
        let run = self.last.unwrap_or(self.first);
        run.first_switch.is_none() && (!run.after_gap || run.first_event.is_some())
    }

    /// When it is known who ran, within `window`.
    fn known_in(&self, window: TimeRange) -> Vec<TimeRange> {
        let outer = [Some(self.first), self.last]
            .into_iter()
            .flatten()
            .filter_map(|run| run.known(window));
        let all = outer.chain(self.known.iter().copied());
        TimeRange::union(all.map(|range| range.intersect(window)).collect())
    }
}

impl CpuUse {
    /// How long nobody is known to run: on each processor, and on all at once.
    pub(super) fn unknown(
        &self,
        lanes: &BTreeMap<CpuId, Lane>,
    ) -> (BTreeMap<CpuId, Nanoseconds>, Nanoseconds) {
        let window = TimeRange::new(self.window.begin, self.window.end);
        let unknown = |known: &[TimeRange]| {
            let known = known.iter().map(|range| range.length()).sum();
            window.length() - known
        };
        let mut anywhere = Vec::new();
        let mut by_cpu = BTreeMap::new();
        for &cpu in &self.cpus {
            let lane = lanes.get(&cpu);
            let known = lane.map_or(Vec::new(), |lane| lane.known_in(window));
            by_cpu.insert(cpu, unknown(&known));
            anywhere.extend(known);
        }
        (by_cpu, unknown(&TimeRange::union(anywhere)))
    }
}
