//! Replies that wait until the main thread has written the append-only file, or synced it.
//!
//! Redis does both once in a turn of the event loop: between the turn's last command and its first reply. So a command
//! waits for the last time before its reply at most, whatever else happened since its first read.

use serde::{Deserialize, Serialize};
use slowpath_model::{Nanoseconds, ProcessId, TimeRange};

use super::{AT_ONCE, AppendOnlyFileInThePath, LongestAppend, SLOW};
use crate::appends::{Append, Appends};
use crate::batch::Batch;

/// What commands of one server waited for in its append-only file.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Appending {
    /// Commands that waited.
    commands: u64,
    waited: Nanoseconds,
    /// Part of `waited`: until the file was synced.
    syncing: Nanoseconds,
    /// Of the commands that waited.
    latency: Nanoseconds,
    /// Of all commands.
    latency_of_all: Nanoseconds,
    /// The longest call that commands waited for, and how many did.
    longest: Option<(TimeRange, u64)>,
}

impl Appending {
    /// One more batch; `appends` are those of its server.
    pub(crate) fn add(&mut self, batch: &Batch, appends: &[Append]) {
        for command in &batch.commands {
            let parts = batch.parts(command);
            self.latency_of_all += parts.total();
            let executed =
                batch.begin + (parts.reading_ns + parts.queueing_ns + parts.executing_ns);
            let waiting = TimeRange::new(executed, executed + parts.waiting_ns);
            let [write, sync] = waited_for(appends, waiting);
            let length = |append: Option<&Append>| {
                append.map_or(Nanoseconds::ZERO, |append| {
                    append.range.intersect(waiting).length()
                })
            };
            let waited = length(write) + length(sync);
            if waited == Nanoseconds::ZERO {
                continue;
            }
            self.commands += 1;
            self.waited += waited;
            self.syncing += length(sync);
            self.latency += parts.total();
            for append in [write, sync].into_iter().flatten() {
                self.note(append.range);
            }
        }
    }

    fn note(&mut self, call: TimeRange) {
        let key = |range: &TimeRange| (range.length(), std::cmp::Reverse(range.begin));
        match &mut self.longest {
            Some((longest, commands)) if *longest == call => *commands += 1,
            Some((longest, _)) if key(longest) > key(&call) => {}
            longest => *longest = Some((call, 1)),
        }
    }

    /// What stands out of it, if anything does.
    pub(super) fn finding(
        &self,
        appends: &Appends,
        process: ProcessId,
        server: u32,
    ) -> Option<AppendOnlyFileInThePath> {
        let (longest, commands) = self.longest?;
        let is_much = self.waited.get().saturating_mul(10) >= self.latency_of_all.get();
        if !is_much && longest.length() < SLOW {
            return None;
        }
        let calls = appends.of(process).iter();
        let append = calls.clone().find(|append| append.range == longest)?;
        Some(AppendOnlyFileInThePath {
            server,
            commands: self.commands,
            waited_ns: self.waited,
            syncing_ns: self.syncing,
            latency_ns: self.latency,
            longest: LongestAppend {
                call: append.call.to_owned(),
                file: appends.file(append).to_owned(),
                begin_ns: longest.begin.ns(),
                length_ns: longest.length(),
                commands,
            },
        })
    }
}

/// The last write and sync that touch `waiting`, without a write that is not of the same turn as the sync.
fn waited_for(appends: &[Append], waiting: TimeRange) -> [Option<&Append>; 2] {
    let past = appends.partition_point(|append| append.range.begin < waiting.end);
    let touches = |append: &&Append| append.range.end > waiting.begin;
    let Some((last, before)) = appends[..past].split_last() else {
        return [None, None];
    };
    if !last.syncs {
        return [Some(last).filter(touches), None];
    }
    let is_its = |write: &&Append| {
        !write.syncs && last.range.begin.since(write.range.end) <= AT_ONCE && touches(write)
    };
    [before.last().filter(is_its), Some(last).filter(touches)]
}
