//! What is known of one processor over some time, grouped by thread and put on a shelf.
//!
//! Segments of a processor follow each other. Inside one, the entries of a thread lie together in
//! the order of time, so that a thread's line is made by putting parts of segments together.

use std::ops::Range;

use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};
use slowpath_model::ThreadId;
use slowpath_platform::{Kept, Shelf};

use super::entry::{Interruption, InterruptionRow, Run, RunRow, Step, StepRow, Wake, WakeRow};

/// What a scanner has found so far, in the order of time.
#[derive(Debug, Default)]
pub(super) struct Found {
    threads: Vec<ThreadId>,
    position: FxHashMap<ThreadId, u32>,
    /// With the positions of their threads.
    runs: Vec<(u32, RunRow)>,
    wakes: Vec<(u32, WakeRow)>,
    interruptions: Vec<InterruptionRow>,
    steps: Vec<StepRow>,
    /// How many of the steps are receipts.
    pub(super) receipts: u32,
    /// Where events are missing: begin and end.
    pub(super) lost: Vec<(i64, i64)>,
    /// Where nobody is known to run, for that or another reason: begin and end.
    unknown: Vec<[u64; 2]>,
}

/// What a scanner found over some time.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct Segment {
    /// In the order of their ids.
    pub(super) threads: Vec<Share>,
    #[serde(with = "rows")]
    pub(super) runs: Kept<3>,
    #[serde(with = "rows")]
    pub(super) wakes: Kept<2>,
    #[serde(with = "rows")]
    pub(super) interruptions: Kept<2>,
    #[serde(with = "rows")]
    pub(super) steps: Kept<3>,
    pub(super) receipts: u32,
    pub(super) lost: Vec<(i64, i64)>,
    #[serde(with = "rows")]
    pub(super) unknown: Kept<2>,
}

/// Where a thread's entries are in a segment.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Share {
    pub(super) thread: ThreadId,
    pub(super) runs: Range<u32>,
    pub(super) wakes: Range<u32>,
}

impl Found {
    /// Entries, of which a segment should not have many more than a few hundred thousand.
    pub(super) fn len(&self) -> usize {
        let known = self.runs.len() + self.wakes.len() + self.interruptions.len();
        known + self.steps.len() + self.unknown.len()
    }

    #[inline]
    pub(super) fn add_run(&mut self, thread: ThreadId, run: Run) {
        let position = self.position(thread);
        self.runs.push((position, run.row()));
    }

    #[inline]
    pub(super) fn add_wake(&mut self, thread: ThreadId, wake: Wake) {
        let position = self.position(thread);
        self.wakes.push((position, wake.row()));
    }

    #[inline]
    pub(super) fn add_interruption(&mut self, interruption: Interruption) {
        self.interruptions.push(interruption.row());
    }

    #[inline]
    pub(super) fn add_step(&mut self, step: Step) {
        self.steps.push(step.row());
    }

    /// Nobody is known to run on the processor from `begin` to `end`.
    pub(super) fn add_unknown(&mut self, begin: i64, end: i64) {
        if begin < end {
            self.unknown.push([begin as u64, end as u64]);
        }
    }

    #[inline]
    fn position(&mut self, thread: ThreadId) -> u32 {
        let threads = &mut self.threads;
        *self.position.entry(thread).or_insert_with(|| {
            threads.push(thread);
            threads.len() as u32 - 1
        })
    }

    /// Groups by thread and puts on a shelf.
    pub(super) fn into_segment(self, shelf: &Shelf) -> Segment {
        let mut order: Vec<u32> = (0..self.threads.len() as u32).collect();
        order.sort_unstable_by_key(|&position| self.threads[position as usize]);
        let (run_ranges, runs) = grouped(self.runs, &order);
        let (wake_ranges, wakes) = grouped(self.wakes, &order);
        let ranges = run_ranges.into_iter().zip(wake_ranges);
        let threads = order
            .iter()
            .map(|&position| self.threads[position as usize]);
        Segment {
            threads: (threads.zip(ranges))
                .map(|(thread, (runs, wakes))| Share {
                    thread,
                    runs,
                    wakes,
                })
                .collect(),
            runs: shelf.keep(runs),
            wakes: shelf.keep(wakes),
            interruptions: shelf.keep(self.interruptions),
            steps: shelf.keep(self.steps),
            receipts: self.receipts,
            lost: self.lost,
            unknown: shelf.keep(self.unknown),
        }
    }
}

/// Puts entries into the `order` of their first values, those with the same one in their own order:
/// for each where its entries are, and all entries.
fn grouped<const N: usize>(
    entries: Vec<(u32, [u64; N])>,
    order: &[u32],
) -> (Vec<Range<u32>>, Vec<[u64; N]>) {
    let mut next = vec![0u32; order.len()];
    for (position, _) in &entries {
        next[*position as usize] += 1;
    }
    let mut taken = 0;
    let mut ranges = Vec::with_capacity(order.len());
    for &position in order {
        let begin = taken;
        taken += std::mem::replace(&mut next[position as usize], begin);
        ranges.push(begin..taken);
    }
    let mut rows = vec![[0; N]; entries.len()];
    for (position, row) in entries {
        let place = &mut next[position as usize];
        rows[*place as usize] = row;
        *place += 1;
    }
    (ranges, rows)
}

/// Rows on a shelf as a sequence.
pub(super) mod rows {
    use serde::{Deserialize, Deserializer, Serializer};
    use slowpath_platform::Kept;

    pub(in super::super) fn serialize<S: Serializer, const N: usize>(
        rows: &Kept<N>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(rows.iter().map(|row| row.as_slice()))
    }

    pub(in super::super) fn deserialize<'de, D: Deserializer<'de>, const N: usize>(
        deserializer: D,
    ) -> Result<Kept<N>, D::Error> {
        let rows = Vec::<Vec<u64>>::deserialize(deserializer)?;
        let rows: Result<Vec<[u64; N]>, _> = rows.into_iter().map(TryInto::try_into).collect();
        let wrong = |row: Vec<u64>| serde::de::Error::invalid_length(row.len(), &"a whole row");
        Ok(rows.map_err(wrong)?.into())
    }
}
