//! What many batches come to: by command, by client, in all; and the slowest commands.
//!
//! The order in which batches are added does not matter.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};
use slowpath_concepts::StoreClientId;
use slowpath_engine::Distribution;
use slowpath_model::{Nanoseconds, ThreadId, TimeRange, Timestamp};

use crate::appends::{Append, Appends};
use crate::batch::{Batch, Parts};
use crate::busy::Work;
use crate::findings::{Appending, RoundTrips, Turns};
use crate::server::Level;
use crate::told::Process;

/// What is asked for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Asked<'run> {
    pub(crate) window: TimeRange,
    /// So many of the slowest commands.
    pub(crate) slowest: usize,
    /// Totals are made of this one.
    pub(crate) level: Option<Level>,
    pub(crate) keeps: Keeps,
    /// What the kernel tells of append-only files, where that was recorded.
    pub(crate) appends: Option<&'run Appends>,
}

impl<'run> Asked<'run> {
    /// What the main thread of a server waited for in its append-only file.
    pub(crate) fn appends_of(&self, process: Process) -> &'run [Append] {
        let known = self.appends.zip(process.number);
        known.map_or(&[], |(appends, process)| appends.of(process))
    }
}

/// What is kept beside totals.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Keeps {
    Nothing,
    /// Each batch.
    Batches,
    /// Each published message that went from one node to another (`links.rs`).
    Hops,
    /// All that the model is made of (`resources.rs`).
    Model,
}

impl Keeps {
    fn keeps_batches(self) -> bool {
        match self {
            Self::Nothing | Self::Hops => false,
            Self::Batches | Self::Model => true,
        }
    }
}

/// Totals of one server, made of one level of detail.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Totals {
    /// Any event of this level was seen, be it outside of the window.
    pub(crate) is_recorded: bool,
    /// By the number of their name.
    pub(crate) commands: BTreeMap<u32, CommandTotals>,
    pub(crate) clients: FxHashMap<StoreClientId, ClientTotals>,
    pub(crate) work: Work,
    pub(crate) turns: Turns,
    pub(crate) round_trips: RoundTrips,
    pub(crate) appending: Appending,
    slowest: Vec<Run>,
    /// Batches by client, in their order, where they are asked for.
    pub(crate) kept: BTreeMap<StoreClientId, Vec<Batch>>,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct CommandTotals {
    pub(crate) latency: Distribution,
    pub(crate) parts: Parts,
    pub(crate) unanswered: u64,
    /// How often another command called it.
    pub(crate) inside: u64,
    pub(crate) bytes_read: u64,
    pub(crate) bytes_written: u64,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct ClientTotals {
    pub(crate) batches: u64,
    pub(crate) commands: BTreeMap<u32, u64>,
    pub(crate) unanswered: u64,
    pub(crate) parts: Parts,
    pub(crate) longest: Nanoseconds,
    pub(crate) bytes_read: u64,
    pub(crate) bytes_written: u64,
}

/// One command, once.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(crate) struct Run {
    pub(crate) client: StoreClientId,
    pub(crate) command: u32,
    pub(crate) begin: Timestamp,
    pub(crate) start: Timestamp,
    pub(crate) parts: Parts,
    pub(crate) answered: bool,
    pub(crate) read_thread: Option<ThreadId>,
    pub(crate) batch_commands: u64,
    pub(crate) batch_bytes_read: u64,
    pub(crate) batch_bytes_written: u64,
}

impl Totals {
    /// Takes a complete batch of the level that these totals of `process` are of.
    pub(crate) fn take(&mut self, process: Process, batch: Batch, asked: &Asked<'_>) {
        self.add(process, &batch, asked);
        if asked.keeps.keeps_batches() {
            self.kept.entry(batch.client).or_default().push(batch);
        }
    }

    /// Adds a batch that ended in the window.
    fn add(&mut self, process: Process, batch: &Batch, asked: &Asked<'_>) {
        if !asked.window.contains(batch.ended) {
            return;
        }
        self.turns.add(batch);
        self.round_trips.add(batch);
        self.appending.add(batch, asked.appends_of(process));
        let client = self.clients.entry(batch.client).or_default();
        client.batches += 1;
        client.bytes_read = client.bytes_read.saturating_add(batch.bytes_read);
        client.bytes_written = client.bytes_written.saturating_add(batch.bytes_written);
        for (executed, position) in batch.commands.iter().zip(0..) {
            let parts = batch.parts(executed);
            let unanswered = u64::from(!batch.answered);

            *client.commands.entry(executed.command).or_default() += 1;
            client.unanswered += unanswered;
            client.parts.add(&parts);
            client.longest = client.longest.max(parts.total());

            let command = self.commands.entry(executed.command).or_default();
            command.latency.add(parts.total());
            command.parts.add(&parts);
            command.unanswered += unanswered;
            let read = batch.share(batch.bytes_read, position);
            let written = batch.share(batch.bytes_written, position);
            command.bytes_read = command.bytes_read.saturating_add(read);
            command.bytes_written = command.bytes_written.saturating_add(written);

            self.slowest.push(Run {
                client: batch.client,
                command: executed.command,
                begin: batch.begin,
                start: executed.start,
                parts,
                answered: batch.answered,
                read_thread: batch.read_thread,
                batch_commands: batch.commands.len() as u64,
                batch_bytes_read: batch.bytes_read,
                batch_bytes_written: batch.bytes_written,
            });
        }
        // Twice as many before they are sorted, so that this costs little for each.
        if self.slowest.len() > asked.slowest.saturating_mul(2).saturating_add(64) {
            self.keep_slowest(asked.slowest);
        }
    }

    /// Nothing follows that is known to continue what is open.
    pub(crate) fn settle(&mut self) {
        self.turns.settle();
        self.round_trips.settle();
    }

    fn keep_slowest(&mut self, most: usize) {
        self.slowest.sort_unstable_by_key(Run::order);
        self.slowest.truncate(most);
    }

    /// The slowest, those first.
    pub(crate) fn slowest(&mut self, most: usize) -> &[Run] {
        self.keep_slowest(most);
        &self.slowest
    }
}

impl Run {
    /// Longest first, then earliest.
    pub(crate) fn order(
        &self,
    ) -> (
        Reverse<Nanoseconds>,
        Timestamp,
        Timestamp,
        StoreClientId,
        u32,
    ) {
        let length = Reverse(self.parts.total());
        (length, self.begin, self.start, self.client, self.command)
    }
}

impl CommandTotals {
    pub(crate) fn merge(&mut self, other: Self) {
        self.latency.merge(other.latency);
        self.parts.add(&other.parts);
        self.unanswered += other.unanswered;
        self.inside += other.inside;
        self.bytes_read = self.bytes_read.saturating_add(other.bytes_read);
        self.bytes_written = self.bytes_written.saturating_add(other.bytes_written);
    }
}
