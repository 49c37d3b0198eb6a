//! Level lite: puts the parts together in which the agent tells a long batch, or one that waited.
//!
//! A batch with more commands than the agent takes together is told in several; replies that were not there after a
//! second are told when they are written, as a batch without commands.

use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};
use slowpath_concepts::{BatchEnd, StoreClientId};
use slowpath_model::{ThreadId, TimeRange};

use crate::batch::Batch;
use crate::busy::{Doing, Operation, Work};
use crate::told::{Process, ToldBatch};
use crate::totals::Asked;

/// What of each client waits to be continued.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct LiteBatches {
    unfinished: FxHashMap<StoreClientId, ToldBatch>,
}

impl LiteBatches {
    /// One more part; batches that are complete by it go to `done`.
    pub(crate) fn take(&mut self, part: ToldBatch, mut done: impl FnMut(Batch)) {
        let client = part.batch.client;
        let mut whole = match self.unfinished.remove(&client) {
            Some(mut known) if is_continued(&known, &part) => {
                known.batch.extend(part.batch);
                known.ended_by = part.ended_by;
                known
            }
            Some(known) => {
                done(known.batch);
                part
            }
            None => part,
        };
        match whole.ended_by {
            BatchEnd::Full | BatchEnd::Waited => {
                self.unfinished.insert(client, whole);
            }
            BatchEnd::Written => {
                whole.batch.answered = whole.batch.bytes_written > 0;
                done(whole.batch);
            }
            BatchEnd::Gone | BatchEnd::Unanswered => done(whole.batch),
        }
    }

    /// What is known of the rest, where nothing follows that could continue it.
    pub(crate) fn finish(&mut self, done: impl FnMut(Batch)) {
        let rest = self.unfinished.drain();
        rest.map(|(_, part)| part.batch).for_each(done);
    }
}

/// Whether `part` goes on with `known`. After a second of waiting that is so only where nothing new was read:
/// else whose replies were written is not known.
fn is_continued(known: &ToldBatch, part: &ToldBatch) -> bool {
    let only_writes = part.batch.commands.is_empty() && part.batch.bytes_read == 0;
    known.ended_by == BatchEnd::Full || only_writes
}

/// More than this Redis does not write to one client before it turns to others (`NET_MAX_WRITES_PER_EVENT`).
pub(crate) const MOST_WRITTEN_AT_ONCE: u64 = 64 * 1024;

/// Adds the stretches of threads that a batch tells of. What was written in several turns is left out, as others were
/// served in between.
pub(crate) fn add_work(work: &mut Work, asked: &Asked<'_>, process: Process, part: &ToldBatch) {
    let batch = &part.batch;
    let mut add = |doing, thread, begin, end| {
        let operation = Operation {
            thread,
            client: batch.client,
            doing,
            range: TimeRange::new(begin, end),
        };
        work.add(process, operation, asked);
    };
    if batch.bytes_read > 0 {
        add(
            Doing::Reading,
            batch.read_thread,
            batch.begin,
            batch.read_end,
        );
    }
    let main = process.number.map(|process| ThreadId(process.0));
    for command in &batch.commands {
        let end = command.start + command.length;
        add(Doing::Executing, main, command.start, end);
    }
    if let Some(begin) = batch.write_start
        && part.ended_by == BatchEnd::Written
        && batch.bytes_written <= MOST_WRITTEN_AT_ONCE
    {
        add(Doing::Writing, part.write_thread, begin, batch.ended);
    }
}
