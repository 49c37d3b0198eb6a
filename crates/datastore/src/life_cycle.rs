//! The life cycle: makes batches of single events, as the agent itself does for level lite.
//!
//! Events of one process come here in the order of time. Commands are executed by one thread, one inside
//! another at most, so one stack of calls is enough. One inside another is mostly called by it; where a script takes
//! long, or data is loaded, Redis serves other clients meanwhile, whose commands are their own.

use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};
use slowpath_concepts::StoreClientId;
use slowpath_model::{Nanoseconds, TimeRange, Timestamp};

use crate::batch::{Batch, Executed};
use crate::busy::{Doing, Operation, Work};
use crate::lite::MOST_WRITTEN_AT_ONCE;
use crate::server::has_client;
use crate::told::{Told, What};
use crate::totals::Asked;

/// A client that sends again after so long without an answer to what it sent before waits for none.
const WAITED: Nanoseconds = Nanoseconds(1_000_000_000);

/// What is open in one process.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct LifeCycle {
    open: FxHashMap<StoreClientId, Open>,
    /// Commands that are being executed, the outermost first.
    calls: Vec<Call>,
    /// Names of commands; a command's number is its position.
    names: Vec<Box<str>>,
    numbers: FxHashMap<Box<str>, u32>,
    /// What had been read of a connection before its next batch, in bytes, where that was told.
    before: FxHashMap<StoreClientId, u64>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
struct Open {
    batch: Batch,
    /// The first bytes are there.
    is_read: bool,
    reading_since: Option<Timestamp>,
    writing_since: Option<Timestamp>,
}

#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct Call {
    client: StoreClientId,
    command: u32,
    begin: Timestamp,
    /// No other command called it.
    is_asked: bool,
}

/// What an event completes.
pub(crate) enum Completed {
    Batch(Batch),
    /// A command that another one called.
    Inside(u32),
}

impl LifeCycle {
    /// One more event; what is complete by it. Where its client `wants_no_reply`, batches end with their reads.
    pub(crate) fn take(
        &mut self,
        told: &Told,
        wants_no_reply: bool,
        work: &mut Work,
        asked: &Asked<'_>,
    ) -> Option<Completed> {
        let client = told.client;
        match &told.what {
            What::ReadStart => {
                let left_behind = self.left_behind(client, told.at);
                self.open(client, told.at).reading_since = Some(told.at);
                left_behind.map(Completed::Batch)
            }
            What::ReadEnd { bytes, .. } => {
                // Else it is within the time of the command that is executed.
                let work = self.calls.is_empty().then_some(work);
                let open = self.open.get_mut(&client)?;
                open.read(told, (*bytes).max(0).cast_unsigned(), work, asked);
                let closed = *bytes == 0;
                let is_executed = wants_no_reply && !open.batch.commands.is_empty();
                let is_over = closed || is_executed || open.batch.is_empty();
                let batch = is_over.then(|| self.close(client));
                batch.flatten().map(Completed::Batch)
            }
            What::CallStart { command } => {
                let command = self.number_of(command);
                let is_asked = self.calls.is_empty()
                    || (has_client(told) && self.calls.iter().all(|call| call.client != client));
                if is_asked {
                    let work = self.calls.is_empty().then_some(work);
                    let open = self.open(client, told.at);
                    open.first_bytes_are_there(told, work, asked);
                }
                self.calls.push(Call {
                    client,
                    command,
                    begin: told.at,
                    is_asked,
                });
                None
            }
            What::CallEnd { command } => {
                let command = self.number_of(command);
                let inside = self.call_end(told, command, work, asked);
                inside.map(Completed::Inside)
            }
            What::WriteStart => {
                let open = self.open(client, told.at);
                open.batch.write_start.get_or_insert(told.at);
                open.writing_since = Some(told.at);
                None
            }
            What::WriteEnd { bytes } => {
                let bytes = (*bytes).max(0).cast_unsigned();
                let is_over = self.wrote(told, bytes, work, asked);
                let batch = is_over.then(|| self.close(client));
                batch.flatten().map(Completed::Batch)
            }
            _ => None,
        }
    }

    /// So many bytes had been read of the client's connection before its next batch.
    pub(crate) fn was_read(&mut self, client: StoreClientId, bytes: u64) {
        self.before.insert(client, bytes);
    }

    /// What is known of the rest, where nothing follows that could complete it.
    pub(crate) fn finish(&mut self, mut done: impl FnMut(Batch)) {
        self.calls.clear();
        let clients: Vec<StoreClientId> = self.open.keys().copied().collect();
        for client in clients {
            if let Some(batch) = self.close(client) {
                done(batch);
            }
        }
    }

    /// What a number of a command means here.
    pub(crate) fn name(&self, number: u32) -> Option<&str> {
        self.names.get(number as usize).map(|name| &**name)
    }

    fn number_of(&mut self, command: &str) -> u32 {
        if let Some(&number) = self.numbers.get(command) {
            return number;
        }
        let number = self.names.len() as u32;
        self.names.push(command.into());
        self.numbers.insert(command.into(), number);
        number
    }

    fn open(&mut self, client: StoreClientId, at: Timestamp) -> &mut Open {
        let Self { open, before, .. } = self;
        open.entry(client).or_insert_with(|| Open {
            batch: Batch {
                bytes_before: before.remove(&client),
                ..Batch::begin(client, at)
            },
            is_read: false,
            reading_since: None,
            writing_since: None,
        })
    }

    /// The client's batch that a read at `at` does not add to: it was answered, or will not be.
    fn left_behind(&mut self, client: StoreClientId, at: Timestamp) -> Option<Batch> {
        let batch = &self.open.get(&client)?.batch;
        if batch.bytes_written > 0 || at.since(batch.ended) > WAITED {
            return self.close(client);
        }
        None
    }

    /// Takes the client's batch away; `None` where there is nothing in it.
    fn close(&mut self, client: StoreClientId) -> Option<Batch> {
        let mut batch = self.open.remove(&client)?.batch;
        batch.answered = batch.bytes_written > 0;
        (!batch.is_empty()).then_some(batch)
    }

    /// A call is over: the command of its batch, or, returned, one that another one called.
    fn call_end(
        &mut self,
        told: &Told,
        command: u32,
        work: &mut Work,
        asked: &Asked<'_>,
    ) -> Option<u32> {
        let (client, at) = (told.client, told.at);
        let is_it = |call: &Call| call.client == client && call.command == command;
        let position = self.calls.iter().rposition(is_it)?;
        let call = self.calls[position];
        self.calls.truncate(position);
        if !call.is_asked {
            return Some(command);
        }
        let batch = &mut self.open(client, call.begin).batch;
        batch.ended = batch.ended.max(at);
        batch.commands.push(Executed {
            command,
            start: call.begin,
            length: at.since(call.begin),
        });
        if self.calls.is_empty() {
            work.add(
                told.process,
                told.since(call.begin, Doing::Executing),
                asked,
            );
        }
        None
    }

    /// A write is over; whether the batch is, too.
    fn wrote(&mut self, told: &Told, bytes: u64, work: &mut Work, asked: &Asked<'_>) -> bool {
        let Some(open) = self.open.get_mut(&told.client) else {
            return false;
        };
        if let Some(begin) = open.writing_since.take()
            && self.calls.is_empty()
        {
            work.add(told.process, told.since(begin, Doing::Writing), asked);
        }
        let batch = &mut open.batch;
        batch.ended = batch.ended.max(told.at);
        batch.bytes_written = batch.bytes_written.saturating_add(bytes);
        match bytes {
            0 => batch.is_empty(),
            // As much as is written at once: there may be more.
            MOST_WRITTEN_AT_ONCE.. => false,
            _ => true,
        }
    }
}

impl Open {
    /// A read is over that got `bytes`.
    fn read(&mut self, told: &Told, bytes: u64, work: Option<&mut Work>, asked: &Asked<'_>) {
        if bytes > 0 {
            self.first_bytes_are_there(told, work, asked);
            self.batch.bytes_read = self.batch.bytes_read.saturating_add(bytes);
            self.batch.read_thread = told.thread;
            self.batch.ended = self.batch.ended.max(told.at);
        }
        self.reading_since = None;
    }

    /// `work`: where reading is to be counted.
    fn first_bytes_are_there(&mut self, told: &Told, work: Option<&mut Work>, asked: &Asked<'_>) {
        let Some(begin) = self.reading_since.take() else {
            return;
        };
        if let Some(work) = work {
            work.add(told.process, told.since(begin, Doing::Reading), asked);
        }
        if !self.is_read {
            self.is_read = true;
            self.batch.read_end = told.at;
        }
    }
}

impl Told {
    /// What its thread did for its client until then.
    fn since(&self, begin: Timestamp, doing: Doing) -> Operation {
        Operation {
            thread: self.thread,
            client: self.client,
            doing,
            range: TimeRange::new(begin, self.at),
        }
    }

    /// Whether it is an event of a command's life, other than batches.
    pub(crate) fn is_of_life_cycle(&self) -> bool {
        matches!(
            self.what,
            What::ReadStart
                | What::ReadEnd { .. }
                | What::CallStart { .. }
                | What::CallEnd { .. }
                | What::WriteStart
                | What::WriteEnd { .. }
        )
    }
}
