//! The pass over a chunk: facts become records, calls are paired where that is safe.
//!
//! A thread that was not switched out between an entry and an exit on one processor cannot have been
//! elsewhere: the two belong together. Everything else is left to be resolved in the order of time; all is, in a second
//! pass, where several processors tell of one thread at one time.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};

use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};
use slowpath_concepts::{
    Concepts, DescriptorOwner, Fact, FactKind, SyscallEntry, SyscallExit, SyscallId,
};
use slowpath_engine::{Analysis, Chunk};
use slowpath_model::{Event, EventClass, ProcessId, Projection, ThreadId, TimeRange, Timestamp};
use slowpath_source::{Packet, Source};

use super::calls::{Call, Effect, Entry, Return, closes, duplicates, outcome};
use super::record::What;
use super::resolve::Resolver;
use super::uring::Operation;
use super::{FileRow, IoReport, Known, ProcessRow, file_rows, process_rows};
use crate::answer::Answer;
use crate::comm::Names;
use crate::extent::interleaved;
use crate::lanes::{Lanes, Occupant, Record, Stay, Switch, Whose};
use crate::overlaps::Overlaps;
use crate::{Extent, Window};

/// The analysis.
pub(super) struct Io<'known> {
    window: Window,
    known: &'known Known,
    tells_calls: bool,
    concepts: Concepts,
    calls: Vec<Option<Call>>,
    /// Exits do not say which call they are of, so other calls matter too.
    exits_are_unnamed: bool,
    /// The numbers of the two descriptors that a call makes lie in memory, of which nothing is told.
    pairs_are_untold: bool,
    /// Calls are not paired in their chunks: one thread may seem to run on several processors at a time.
    is_interleaved: bool,
    /// One did.
    has_overlaps: AtomicBool,
}

/// Something that happened.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Since {
    /// It stands for all ends of calls of its thread on its processor from here on.
    since: Timestamp,
    what: What,
}

/// What a chunk, or several, told.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct Told {
    lanes: Lanes<Since>,
    names: Names,
    resolver: Resolver,
    overlaps: Overlaps,
    /// Only while a chunk is passed over.
    chunk: Progress,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct Progress {
    occupant: Occupant<Since>,
    /// The call that the current thread is in, entered since it was switched to.
    entered: Option<Record<Entry>>,
    /// The end of its latest call, where no record says yet that it is in none.
    completed: Option<(Timestamp, Whose)>,
    /// When the first call was entered of which no record tells, since one was made of the current thread's calls.
    hidden_since: Option<Timestamp>,
    /// What the events' contexts said about threads, and whether that is told for each call again.
    process_of: FxHashMap<ThreadId, ProcessId>,
    says_again: bool,
}

const KINDS: &[FactKind] = &[
    FactKind::Switch,
    FactKind::SyscallEntry,
    FactKind::SyscallExit,
    FactKind::Fork,
    FactKind::Free,
    FactKind::Exec,
    FactKind::UringSubmitted,
    FactKind::UringFile,
    FactKind::UringCompleted,
    FactKind::DumpBegin,
    FactKind::DumpedThread,
    FactKind::DumpedDescriptor,
];

impl<'known> Io<'known> {
    /// With [`IoReport::calls`] where `tells_calls`.
    pub(super) fn new(
        source: &dyn Source,
        known: &'known Known,
        range: TimeRange,
        tells_calls: bool,
    ) -> Self {
        let named = |name: &str| {
            let is_asked_for =
                |call: &Call| tells_calls || !matches!(call.effect(), Some(Effect::Syncs));
            Call::named(name).filter(is_asked_for)
        };
        let is_wanted = |name: &str| named(name).is_some();
        let concepts = Concepts::resolve_calls(source.schema(), KINDS, is_wanted);
        let names = concepts.syscall_names();
        let mut classes = source.schema().event_classes.iter();
        // ftrace's.
        let is_without_memory =
            |class: &EventClass| class.name == "sys_exit" || class.name.starts_with("sys_exit_");
        Self {
            pairs_are_untold: classes.clone().any(is_without_memory),
            window: Extent::of(source).window(range),
            known,
            tells_calls,
            calls: names.iter().map(|name| named(name)).collect(),
            concepts,
            exits_are_unnamed: classes.any(|class| class.name == "exit_syscall"),
            is_interleaved: !interleaved(source, true).is_empty(),
            has_overlaps: AtomicBool::new(false),
        }
    }

    /// The same that pairs nothing in chunks.
    pub(super) fn interleaved(self) -> Self {
        Self {
            is_interleaved: true,
            ..self
        }
    }

    /// Whether the report is not to be believed: that of another one that is [`Io::interleaved`] is.
    pub(super) fn has_overlaps(&self) -> bool {
        !self.is_interleaved && self.has_overlaps.load(Ordering::Relaxed)
    }

    /// Gives the books all records before `until`.
    fn drain(&self, told: &mut Told, until: Timestamp, end: bool) {
        let Told {
            lanes,
            resolver,
            overlaps,
            ..
        } = told;
        lanes.drain(until, end, |stay: Stay, record| {
            let Record { at, thread, what } = record;
            let Since { since, what } = what;
            if let Whose::Thread(thread) = thread
                && !self.is_interleaved
                && what.is_of_call()
            {
                overlaps.note(thread, stay.cpu, since, at);
            }
            resolver.take(Record { at, thread, what }, self.known);
        });
    }

    fn call(&self, id: SyscallId) -> Option<Call> {
        *self.calls.get(id.index())?
    }

    fn enter(&self, chunk: &mut Progress, at: Timestamp, entry: &SyscallEntry<'_>) {
        let call = match self.call(entry.call) {
            Some(call) => call,
            None if self.exits_are_unnamed => Call::OTHER,
            None => return,
        };
        let thread = chunk.whose(at, entry.thread, entry.process);
        chunk.turn_to(thread);
        // Of one whose exit is missing nothing is told.
        if let Some(earlier) = chunk.entered.take() {
            chunk.hidden_since.get_or_insert(earlier.at);
        }
        let fd = entry.fd.unwrap_or(-1);
        let call = match call.effect() {
            Some(Effect::Closes) => {
                chunk.push(at, thread, What::Closed { fd });
                Call::OTHER
            }
            Some(Effect::ClosesRange) => {
                if let (Some(first), Some(last), true) =
                    (entry.fd, entry.other_fd, closes(entry.command))
                {
                    // All from one on are closed by the largest number that there is.
                    let (first, last) = (first as u32, last as u32);
                    chunk.push(at, thread, What::ClosedRange { first, last });
                }
                Call::OTHER
            }
            Some(Effect::Controls) if !duplicates(entry.command) => Call::OTHER,
            _ => call,
        };
        let entered = Record {
            at,
            thread,
            what: Entry {
                call,
                fd,
                other_fd: entry.other_fd.unwrap_or(-1),
                path: entry
                    .path
                    .filter(|path| !path.is_empty())
                    .map(|path| String::from_utf8_lossy(path).into()),
            },
        };
        chunk.entered = Some(entered);
        if self.is_interleaved {
            chunk.leave_call();
        }
    }

    fn exit(&self, chunk: &mut Progress, at: Timestamp, exit: &SyscallExit) {
        let call = match exit.call {
            Some(id) => match self.call(id) {
                Some(call) => Some(call),
                None => return,
            },
            None => None,
        };
        let failed = exit.ret < 0;
        let counts = self.window.contains(at);
        let returned = Return {
            value: exit.ret,
            pair: exit.pair,
            counts,
            is_looked_at: counts && self.tells_calls,
        };
        let thread = chunk.whose(at, exit.thread, exit.process);
        chunk.turn_to(thread);
        let is_its = |entered: &mut Record<Entry>| entered.what.is_ended_by(call);
        let Some(entered) = chunk.entered.take_if(is_its) else {
            chunk.leave_call();
            let what = match failed {
                true => What::Completed,
                false => What::Returned { call, returned },
            };
            return chunk.push(at, thread, what);
        };
        chunk.completed = Some((at, thread));
        chunk.hidden_since.get_or_insert(entered.at);
        if !failed {
            let call = entered.what.call;
            let tell = |what| chunk.push(at, thread, what);
            outcome(call, Some((entered.at, entered.what)), at, returned, tell);
        }
    }
}

impl Progress {
    fn push(&mut self, at: Timestamp, thread: Whose, what: What) {
        let mut since = at;
        if what.ends_call() {
            self.completed = None;
        }
        if what.is_of_call() {
            since = self.hidden_since.take().unwrap_or(at);
        }
        let what = Since { since, what };
        self.occupant.lane.push(Record { at, thread, what });
    }

    /// Whose an event is; notes which process its context says.
    fn whose(
        &mut self,
        at: Timestamp,
        thread: Option<ThreadId>,
        process: Option<ProcessId>,
    ) -> Whose {
        let Some(thread) = thread else {
            return self.occupant.current();
        };
        if let Some(process) = process
            && (self.process_of.insert(thread, process) != Some(process) || self.says_again)
        {
            self.push(at, Whose::Thread(thread), What::BelongsTo(process));
        }
        Whose::Thread(thread)
    }

    /// Calls are of another thread from here on, if it is not the one of the latest.
    fn turn_to(&mut self, thread: Whose) {
        let entered = self.entered.as_ref().map(|entered| entered.thread);
        let latest = entered.or(self.completed.map(|(_, thread)| thread));
        if latest.is_some_and(|latest| latest != thread) {
            self.leave_call();
        }
    }

    /// The exit of the call that was entered may come anywhere from here on; or that of none.
    fn leave_call(&mut self) {
        let completed = self.completed.take();
        if let Some(entered) = self.entered.take() {
            self.push(entered.at, entered.thread, What::Entered(entered.what));
        } else if let Some((at, thread)) = completed {
            self.push(at, thread, What::Completed);
        }
    }
}

impl Answer for Io<'_> {
    type Report = IoReport;

    fn projection(&self) -> &Projection {
        self.concepts.projection()
    }

    fn range(&self) -> TimeRange {
        self.window.and_before()
    }

    fn report(&self, mut told: Told) -> IoReport {
        self.drain(&mut told, Timestamp::MAX, true);
        let resolver = &mut told.resolver;
        resolver.advance(self.known, true);
        let is_doubtful = told.overlaps.found() || resolver.is_contradicted();
        self.has_overlaps.store(is_doubtful, Ordering::Relaxed);
        for dump in &self.known.dumps {
            told.names.other(dump.tid, dump.at, dump.comm.as_bytes());
        }
        let totals = resolver.totals();
        let mut threads: BTreeMap<ProcessId, ThreadId> = BTreeMap::new();
        for (thread, process) in resolver.threads() {
            if told.names.get(thread).is_some() {
                let lowest = threads.entry(process).or_insert(thread);
                *lowest = thread.min(*lowest);
            }
        }
        let comm = |pid: ProcessId| {
            let first = told.names.get(ThreadId(pid.0));
            first.or_else(|| told.names.get(*threads.get(&pid)?))
        };
        let processes = totals.processes.into_iter().map(|(pid, moved)| ProcessRow {
            pid,
            comm: comm(pid).map(|comm| comm.to_string()).unwrap_or_default(),
            moved,
        });
        let files = totals
            .files
            .into_iter()
            .map(|(path, moved)| FileRow { path, moved });
        IoReport {
            begin_ns: self.window.begin.ns(),
            end_ns: self.window.end.ns(),
            processes: process_rows(processes),
            files: file_rows(files),
            over_time: totals.over_time,
            calls: totals.calls,
            unknown_operations: totals.unknown_operations,
        }
    }
}

impl Analysis for Io<'_> {
    type State = Told;

    fn begin(&self, _chunk: &Chunk) -> Told {
        let mut told = Told::default();
        told.chunk.occupant = Occupant::new(self.is_interleaved);
        told.chunk.says_again = self.is_interleaved;
        told
    }

    fn packet(&self, state: &mut Told, packet: &Packet) {
        if packet.lacks_events_before() {
            state.chunk.leave_call();
            state.chunk.occupant.gap(packet.range.begin);
        }
    }

    #[inline]
    fn event(&self, state: &mut Told, event: &Event<'_>) {
        let Some(fact) = self.concepts.fact(event) else {
            return;
        };
        let (at, chunk) = (event.at, &mut state.chunk);
        match fact {
            Fact::Switch {
                prev,
                next,
                prev_comm,
                next_comm,
                ..
            } => {
                chunk.leave_call();
                chunk.occupant.switch(Switch { at, prev, next });
                if at <= self.window.end {
                    state.names.switch(prev, at, prev_comm);
                    state.names.switch(next, at, next_comm);
                }
            }
            Fact::SyscallEntry(entry) => self.enter(chunk, at, &entry),
            Fact::SyscallExit(exit) => self.exit(chunk, at, &exit),
            Fact::Fork {
                parent,
                parent_process,
                child,
                child_process,
                child_comm,
            } => {
                state.names.other(child, at, child_comm);
                let forked = What::Forked {
                    parent_process,
                    child,
                    child_process,
                };
                chunk.push(at, Whose::Thread(parent), forked);
            }
            Fact::Free { thread } => chunk.push(at, Whose::Thread(thread), What::Freed),
            // What it closes is not told; what gets a number next is, but for pairs.
            Fact::Exec { thread, .. } if self.pairs_are_untold => {
                chunk.push(at, Whose::Thread(thread), What::Executed);
            }
            Fact::UringSubmitted {
                request,
                operation,
                is_of_fixed_file,
                user_data,
                thread,
                process,
            } => {
                let thread = chunk.whose(at, thread, process);
                // Said of nobody first: whose it is may never be known.
                chunk.push(at, Whose::Nobody, What::Replaced(request));
                if let Some(operation) = Operation::of(operation, is_of_fixed_file) {
                    let submitted = What::Submitted {
                        request,
                        operation,
                        user_data,
                    };
                    chunk.push(at, thread, submitted);
                }
            }
            Fact::UringFile { request, fd } => {
                chunk.push(at, Whose::Nobody, What::LookedUp { request, fd });
            }
            Fact::UringCompleted {
                is_notice: true, ..
            } => {}
            Fact::UringCompleted {
                request,
                user_data,
                result,
                has_more,
                ..
            } => {
                let completed = What::OperationCompleted {
                    request,
                    user_data,
                    value: result,
                    counts: self.window.contains(at),
                    has_more,
                };
                chunk.push(at, Whose::Nobody, completed);
            }
            Fact::DumpBegin => chunk.push(at, Whose::Nobody, What::DumpBegins),
            Fact::DumpedThread {
                thread,
                process,
                comm,
                table,
                ..
            } => {
                state.names.other(thread, at, comm);
                let dumped = What::DumpedThread { process, table };
                chunk.push(at, Whose::Thread(thread), dumped);
            }
            Fact::DumpedDescriptor { owner, fd, path } => {
                let path = String::from_utf8_lossy(path).into();
                let dumped = match owner {
                    DescriptorOwner::Process(process) => {
                        What::DumpedOfProcess { process, fd, path }
                    }
                    DescriptorOwner::Table(table) => What::DumpedOfTable { table, fd, path },
                };
                chunk.push(at, Whose::Nobody, dumped);
            }
            _ => {}
        }
    }

    fn end(&self, state: &mut Told, chunk: &Chunk) {
        let mut progress = std::mem::take(&mut state.chunk);
        progress.leave_call();
        state.lanes = Lanes::of(chunk, progress.occupant.finish());
    }

    fn merge(&self, earlier: &mut Told, later: Told) {
        earlier.lanes.merge(later.lanes);
        earlier.names.merge(later.names);
    }

    fn settle(&self, state: &mut Told, watermark: Timestamp) {
        self.drain(state, watermark, false);
        state.resolver.advance(self.known, false);
    }
}
