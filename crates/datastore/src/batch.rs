//! What a client sent at once and how it was answered, and the parts of each command's time.
//!
//! The one form that both levels of detail are brought into, so that all totals are made the same way. The
//! parts of a command always add up to its latency.

use serde::{Deserialize, Serialize};
use slowpath_concepts::StoreClientId;
use slowpath_model::{Nanoseconds, ThreadId, Timestamp};
use utoipa::ToSchema;

/// What one client sent at once.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Batch {
    pub(crate) client: StoreClientId,
    /// Its first read began.
    pub(crate) begin: Timestamp,
    /// The bytes of that read were there; `begin` where nothing was read.
    pub(crate) read_end: Timestamp,
    /// Writing of replies began.
    pub(crate) write_start: Option<Timestamp>,
    /// The last reply was written; where none was, the last that is known of it.
    pub(crate) ended: Timestamp,
    /// All its replies were written.
    pub(crate) answered: bool,
    /// The thread that read last.
    pub(crate) read_thread: Option<ThreadId>,
    /// What had been read of the connection before, where that was told just before.
    pub(crate) bytes_before: Option<u64>,
    pub(crate) bytes_read: u64,
    pub(crate) bytes_written: u64,
    /// In the order in which the client sent them.
    pub(crate) commands: Vec<Executed>,
}

/// One command of a batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Executed {
    /// Its number in the names of its server (`server.rs`).
    pub(crate) command: u32,
    /// The data store turned to it.
    pub(crate) start: Timestamp,
    pub(crate) length: Nanoseconds,
}

/// Where the time of a command, or of many, went. The parts add up to the latency.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = StoreParts)]
pub struct Parts {
    /// The first bytes of its batch were read.
    pub reading_ns: Nanoseconds,
    /// It waited until the data store turned to it: for the rest of its bytes, for commands before it.
    pub queueing_ns: Nanoseconds,
    /// It was executed.
    pub executing_ns: Nanoseconds,
    /// Its reply waited to be written; of a blocking command, also what it blocked for.
    pub waiting_ns: Nanoseconds,
    /// Replies of its batch were written.
    pub writing_ns: Nanoseconds,
}

impl Parts {
    /// The sum: the latency.
    pub fn total(&self) -> Nanoseconds {
        [
            self.reading_ns,
            self.queueing_ns,
            self.executing_ns,
            self.waiting_ns,
            self.writing_ns,
        ]
        .into_iter()
        .sum()
    }

    pub(crate) fn add(&mut self, other: &Self) {
        self.reading_ns += other.reading_ns;
        self.queueing_ns += other.queueing_ns;
        self.executing_ns += other.executing_ns;
        self.waiting_ns += other.waiting_ns;
        self.writing_ns += other.writing_ns;
    }
}

impl Batch {
    /// With nothing in it yet.
    pub(crate) fn begin(client: StoreClientId, at: Timestamp) -> Self {
        Self {
            client,
            begin: at,
            read_end: at,
            write_start: None,
            ended: at,
            answered: false,
            read_thread: None,
            bytes_before: None,
            bytes_read: 0,
            bytes_written: 0,
            commands: Vec::new(),
        }
    }

    /// Whether nothing was read, executed or written.
    pub(crate) fn is_empty(&self) -> bool {
        self.bytes_read == 0 && self.bytes_written == 0 && self.commands.is_empty()
    }

    /// `part` continues it.
    pub(crate) fn extend(&mut self, part: Self) {
        self.write_start = self.write_start.or(part.write_start);
        self.ended = self.ended.max(part.ended);
        self.read_thread = part.read_thread.or(self.read_thread);
        self.bytes_read = self.bytes_read.saturating_add(part.bytes_read);
        self.bytes_written = self.bytes_written.saturating_add(part.bytes_written);
        self.commands.extend(part.commands);
    }

    /// The latency of one of its commands, in parts: from `begin` until the last reply was written; where
    /// none was, until the command had been executed.
    pub(crate) fn parts(&self, command: &Executed) -> Parts {
        let start = command.start.max(self.begin);
        let read_end = self.read_end.clamp(self.begin, start);
        let executed = start + command.length;
        let ended = match self.answered {
            true => self.ended.max(executed),
            false => executed,
        };
        let write_start = self.write_start.unwrap_or(ended).clamp(executed, ended);
        Parts {
            reading_ns: read_end.since(self.begin),
            queueing_ns: start.since(read_end),
            executing_ns: executed.since(start),
            waiting_ns: write_start.since(executed),
            writing_ns: ended.since(write_start),
        }
    }

    /// The share of `bytes` that the command at `position` has: as even as whole bytes can be.
    pub(crate) fn share(&self, bytes: u64, position: usize) -> u64 {
        let commands = self.commands.len().max(1) as u64;
        bytes / commands + u64::from((position as u64) < bytes % commands)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ns: i64) -> Timestamp {
        Timestamp::from_ns(ns)
    }

    fn executed(start: i64, length: u64) -> Executed {
        Executed {
            command: 0,
            start: at(start),
            length: Nanoseconds(length),
        }
    }

    /// Reading, queueing, executing, waiting, writing.
    fn check(batch: &Batch, command: Executed, expected: [u64; 5]) {
        let parts = batch.parts(&command);
        let found = [
            parts.reading_ns,
            parts.queueing_ns,
            parts.executing_ns,
            parts.waiting_ns,
            parts.writing_ns,
        ];
        assert_eq!(found.map(Nanoseconds::get), expected, "{batch:?}");
        assert_eq!(parts.total().get(), expected.iter().sum::<u64>());
    }

    #[test]
    fn parts_follow_one_another_and_add_up() {
        let mut batch = Batch::begin(StoreClientId(7), at(100));
        batch.read_end = at(110);
        batch.write_start = Some(at(200));
        batch.ended = at(230);
        check(&batch, executed(110, 20), [10, 0, 20, 0, 0]);
        batch.answered = true;
        check(&batch, executed(110, 20), [10, 0, 20, 70, 30]);
        check(&batch, executed(130, 40), [10, 20, 40, 30, 30]);
        // Written while it was executed still: the kernel was slow to take what came before.
        check(&batch, executed(190, 20), [10, 80, 20, 0, 20]);
        // What cannot be.
        check(&batch, executed(90, 500), [0, 0, 500, 0, 0]);
        check(
            &batch,
            executed(i64::MAX, 1),
            [10, i64::MAX as u64 - 110, 0, 0, 0],
        );
    }

    #[test]
    fn bytes_are_shared_without_a_rest() {
        let mut batch = Batch::begin(StoreClientId(7), at(0));
        batch.commands = vec![executed(0, 0); 3];
        assert_eq!(
            [0, 1, 2].map(|position| batch.share(11, position)),
            [4, 4, 3]
        );
    }
}
