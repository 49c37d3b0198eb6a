//! What a running workload tells, for a policy that may have seen enough of it: numbers on the lines that it prints, and those of
//! probes.

use std::path::Path;

use super::{StopRun, measure, probes, ready};
use crate::spec::{Source, Spec};

/// Looks at what a workload prints while it runs.
pub(super) struct Looking<'run> {
    pub(super) spec: &'run Spec,
    pub(super) path: &'run Path,
    pub(super) seen: u64,
    pub(super) shown: Option<&'run probes::Shown>,
    pub(super) stop_run: StopRun<'run>,
}

impl Looking<'_> {
    /// Tells of numbers that are new; whether that is enough.
    pub(super) fn look(&mut self) -> bool {
        let mut is_enough = self.look_at_lines();
        for (name, value) in self.shown.into_iter().flat_map(|shown| shown.new_ones()) {
            is_enough |= (self.stop_run)(name, value);
        }
        is_enough
    }

    fn look_at_lines(&mut self) -> bool {
        let text = ready::read_from(self.path, self.seen);
        let Some(end) = text.iter().rposition(|byte| *byte == b'\n') else {
            // A line without an end is passed over.
            self.seen += if text.len() == ready::PIECE {
                text.len() as u64
            } else {
                0
            };
            return false;
        };
        self.seen += end as u64 + 1;
        let text = String::from_utf8_lossy(&text[..=end]);
        let mut is_enough = false;
        for (name, metric) in &self.spec.metrics {
            if let Source::Regex { pattern, .. } = &metric.source {
                for number in measure::matches(&pattern.0, &text) {
                    is_enough |= (self.stop_run)(name, number);
                }
            }
        }
        is_enough
    }
}
