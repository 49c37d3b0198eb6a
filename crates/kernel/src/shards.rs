//! Folding what happened in threads, in the order of time, on many workers: by thread, in shards.
//!
//! A chunk sorts what it cannot settle itself into shards. The merge, of which there is one at a time,
//! only hands them over; whichever worker is free puts the records of a shard in order and folds them.
//! A fold sees every record of its threads in the order of time, then of processor, then of their turns, whoever
//! calls it and when.

use std::sync::{Mutex, MutexGuard, PoisonError};

use serde::{Deserialize, Serialize};
use slowpath_model::{CpuId, ThreadId, Timestamp};

/// Enough for the processors of large machines; handing over costs the merge time for each.
const COUNT: usize = 32;

/// The shard that a thread belongs to: numbers that are near each other are apart.
fn shard_of(thread: ThreadId) -> usize {
    let spread = (thread.0 as u32).wrapping_mul(0x9e37_79b9);
    (spread >> 27) as usize % COUNT
}

/// Something that happened in a thread.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Happened<What> {
    pub(crate) at: Timestamp,
    /// Which comes first at one moment on one processor.
    pub(crate) turn: u64,
    pub(crate) thread: ThreadId,
    pub(crate) what: What,
}

/// What is to be folded, by shard; of one processor after the other.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Sorted<What>(Vec<Vec<(CpuId, Vec<Happened<What>>)>>);

impl<What> Default for Sorted<What> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<What> Sorted<What> {
    /// Adds the records of one processor.
    pub(crate) fn of(cpu: CpuId, records: impl IntoIterator<Item = Happened<What>>) -> Self {
        let mut shards: Vec<Vec<Happened<What>>> = Vec::new();
        shards.resize_with(COUNT, Vec::new);
        for record in records {
            shards[shard_of(record.thread)].push(record);
        }
        let shards = shards.into_iter().map(|records| match records.is_empty() {
            true => Vec::new(),
            false => vec![(cpu, records)],
        });
        Self(shards.collect())
    }

    /// Puts those of `later` behind those here.
    pub(crate) fn merge(&mut self, later: Self) {
        self.0.resize_with(COUNT, Vec::new);
        for (known, more) in self.0.iter_mut().zip(later.0) {
            known.extend(more);
        }
    }
}

/// The shards of one run.
pub(crate) struct Shards<What, Fold>(Vec<Shard<What, Fold>>);

struct Shard<What, Fold> {
    arrived: Mutex<Arrived<What>>,
    folding: Mutex<Folding<What, Fold>>,
}

/// What the merge has handed over.
struct Arrived<What> {
    records: Vec<(CpuId, Vec<Happened<What>>)>,
    until: Timestamp,
}

struct Folding<What, Fold> {
    /// In order: what may still have to wait for records before it.
    waiting: Vec<(CpuId, Happened<What>)>,
    fold: Fold,
}

impl<What, Fold: Default> Shards<What, Fold> {
    pub(crate) fn new() -> Self {
        let shard = || Shard {
            arrived: Mutex::new(Arrived {
                records: Vec::new(),
                until: Timestamp::MIN,
            }),
            folding: Mutex::new(Folding {
                waiting: Vec::new(),
                fold: Fold::default(),
            }),
        };
        Self((0..COUNT).map(|_| shard()).collect())
    }

    /// Hands records over. Nothing will come any more that happened before `until`.
    pub(crate) fn hand_over(&self, records: Sorted<What>, until: Timestamp) {
        let mut records = records.0;
        records.resize_with(COUNT, Vec::new);
        for (shard, records) in self.0.iter().zip(records) {
            let mut arrived = lock(&shard.arrived);
            arrived.records.extend(records);
            arrived.until = until;
        }
    }

    /// Folds what was handed over, in the shards that nobody else is at.
    pub(crate) fn work_off(&self, take: impl Fn(&mut Fold, CpuId, Happened<What>)) {
        for shard in &self.0 {
            if let Ok(mut folding) = shard.folding.try_lock() {
                shard.work_off(&mut folding, &take);
            }
        }
    }

    /// Folds all that is left and hands out the folds.
    pub(crate) fn finish(&self, take: impl Fn(&mut Fold, CpuId, Happened<What>)) -> Vec<Fold> {
        let folds = self.0.iter().map(|shard| {
            let mut folding = lock(&shard.folding);
            shard.work_off(&mut folding, &take);
            std::mem::take(&mut folding.fold)
        });
        folds.collect()
    }
}

impl<What, Fold> Shard<What, Fold> {
    fn work_off(
        &self,
        folding: &mut Folding<What, Fold>,
        take: impl Fn(&mut Fold, CpuId, Happened<What>),
    ) {
        let (records, until) = {
            let mut arrived = lock(&self.arrived);
            (std::mem::take(&mut arrived.records), arrived.until)
        };
        let Folding { waiting, fold } = folding;
        let records = records.into_iter();
        waiting.extend(
            records.flat_map(|(cpu, records)| records.into_iter().map(move |record| (cpu, record))),
        );
        // Runs that are in order already are found by the sort.
        waiting.sort_by_key(|(cpu, record)| (record.at, *cpu, record.turn));
        let ready = match until {
            Timestamp::MAX => waiting.len(),
            until => waiting.partition_point(|(_, record)| record.at < until),
        };
        for (cpu, record) in waiting.drain(..ready) {
            take(fold, cpu, record);
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
