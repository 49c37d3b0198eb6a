//! Small commands that a client sends one by one, each when the one before was answered.
//!
//! A pause of the client between an answer and its next command is taken for the way there and back only where it
//! is short: longer ones are the client's own, and no pipeline saves them.

use std::collections::BTreeMap;

use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};
use slowpath_concepts::StoreClientId;
use slowpath_model::{Nanoseconds, Timestamp};

use super::{AT_ONCE, MANY};
use crate::batch::Batch;

/// More bytes than this, read or written, are not small: a packet of Ethernet holds it with room for headers.
const SMALL: u64 = 1024;

/// Round trips of all clients of a server.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct RoundTrips {
    /// By client: the row that its next command may continue, and the end of its last answer.
    open: FxHashMap<StoreClientId, (Row, Timestamp)>,
    /// By client: the sum of its rows of many.
    pub(super) many: BTreeMap<StoreClientId, Row>,
}

/// Round trips, one after the other.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub(super) struct Row {
    pub(super) count: u64,
    /// From the first command's first read to the last answer.
    pub(super) elapsed: Nanoseconds,
    pub(super) executing: Nanoseconds,
}

impl RoundTrips {
    /// One more batch; those of one client come in its order.
    pub(crate) fn add(&mut self, batch: &Batch) {
        let Some(executing) = small(batch) else {
            if let Some((row, _)) = self.open.remove(&batch.client) {
                self.close(batch.client, row);
            }
            return;
        };
        let open = self.open.get(&batch.client).copied();
        let continued = open.filter(|(_, ended)| batch.begin.since(*ended) <= AT_ONCE);
        if let (Some((row, _)), None) = (open, continued) {
            self.close(batch.client, row);
        }
        let (mut row, since) = continued.unwrap_or((Row::default(), batch.begin));
        row.count += 1;
        row.elapsed += batch.ended.since(since);
        row.executing += executing;
        self.open.insert(batch.client, (row, batch.ended));
    }

    /// Nothing follows that is known to continue what is open.
    pub(crate) fn settle(&mut self) {
        for (client, (row, _)) in std::mem::take(&mut self.open) {
            self.close(client, row);
        }
    }

    fn close(&mut self, client: StoreClientId, row: Row) {
        if row.count < MANY {
            return;
        }
        let sum = self.many.entry(client).or_default();
        sum.count += row.count;
        sum.elapsed += row.elapsed;
        sum.executing += row.executing;
    }
}

impl Row {
    pub(super) fn saved_at_most(&self) -> Nanoseconds {
        self.elapsed - self.executing
    }
}

/// How long the command of a small round trip was executed. One that takes the server longer than the way there
/// and back (it is slow, or blocks) is none.
fn small(batch: &Batch) -> Option<Nanoseconds> {
    let [command] = batch.commands[..] else {
        return None;
    };
    let is_small = batch.answered
        && batch.bytes_read.max(batch.bytes_written) <= SMALL
        && batch.ended.since(batch.begin) <= AT_ONCE;
    is_small.then_some(command.length)
}
