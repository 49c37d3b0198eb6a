//! Takes records in the order of time and keeps the books: threads to processes, descriptors to
//! files, bytes to both.
//!
//! What is said later about an earlier time (the process of a thread; a state dump's name for a
//! descriptor that has been in use) is waited for: the former in a bounded queue, the latter as sums
//! per descriptor.

use std::collections::{BTreeMap, VecDeque};

use rustc_hash::{FxHashMap, FxHashSet};
use serde::{Deserialize, Serialize};
use slowpath_model::{ProcessId, ThreadId, TimeRange, Timestamp};

use super::calls::{Call, Effect, Entry, Way, outcome};
use super::over_time::{Bytes, Medium, MovedOverTime};
use super::record::{Name, What};
use super::uring::{Completed, Does, Operations, Submitted};
use super::{FileCall, FileCalls, Known, Moved};
use crate::lanes::{Record, Whose};

/// How many records are held back at most to learn which process a thread is of.
const PATIENCE: u64 = 1 << 20;

/// The books. Records are to be given in the order of time.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct Resolver {
    queue: VecDeque<Record<What>>,
    /// How many records came before those in the queue.
    taken: u64,
    /// By thread of which nothing was said yet: the first record in the queue that says something.
    announced: FxHashMap<ThreadId, (u64, ProcessId)>,
    process_of: FxHashMap<ThreadId, ProcessId>,
    entered: FxHashMap<ThreadId, (Timestamp, Entry)>,
    operations: Operations,
    /// Completions in the window whose submission is not in the trace.
    unknown_operations: u64,
    processes: FxHashMap<ProcessId, Process>,
    files: Files,
    /// Calls on files by first threads of processes.
    calls: Vec<(ThreadId, FileId, Called)>,
    over_time: MovedOverTime,
    /// Tables of descriptors in the state dump that is going on.
    tables: FxHashMap<u64, Table>,
    /// How many of the state dumps that are known besides the trace have been taken in.
    dumps_taken: usize,
    /// Contexts said what a thread is of; and of one something else was said than before.
    has_contexts: bool,
    is_contradicted: bool,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct Process {
    moved: Moved,
    /// By descriptor: the file.
    descriptors: FxHashMap<i32, FileId>,
    /// By descriptor without a name: what was moved since the latest statement about it.
    unnamed: FxHashMap<i32, Moved>,
    /// The same of calls.
    unnamed_calls: FxHashMap<i32, Vec<Called>>,
    /// By descriptor: when it was opened, closed or made last; and when all may have been closed.
    changed: FxHashMap<i32, Timestamp>,
    all_changed: Option<Timestamp>,
    /// Descriptors that may have been closed as a program was executed, and of which nothing was said since.
    doubtful: FxHashSet<i32>,
}

impl Process {
    /// Whether a descriptor may have become another file since.
    fn has_changed(&self, fd: i32, since: Timestamp) -> bool {
        let changed = self.changed.get(&fd).copied().max(self.all_changed);
        changed.is_some_and(|at| at >= since)
    }

    /// The descriptors from `first` to `last` of which anything is known, in order.
    fn known(&self, first: u32, last: u32) -> Vec<i32> {
        let known = self.descriptors.keys().chain(self.unnamed.keys());
        let known = known.chain(self.unnamed_calls.keys()).copied();
        let mut known: Vec<i32> = known
            .filter(|&fd| (first..=last).contains(&(fd as u32)) && fd >= 0)
            .collect();
        known.sort_unstable();
        known.dedup();
        known
    }
}

/// A call of which the file is not said.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct Called {
    call: Call,
    range: TimeRange,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct Table {
    processes: Vec<ProcessId>,
    descriptors: Vec<(i32, FileId)>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
struct FileId(u32);

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct Files {
    ids: FxHashMap<Box<str>, FileId>,
    moved: Vec<Moved>,
    media: Vec<Medium>,
}

impl Files {
    fn id(&mut self, name: &str) -> FileId {
        if let Some(&id) = self.ids.get(name) {
            return id;
        }
        let id = FileId(self.moved.len() as u32);
        self.moved.push(Moved::default());
        self.media.push(Medium::of(name));
        self.ids.insert(name.into(), id);
        id
    }

    fn add(&mut self, id: FileId, moved: Moved) {
        self.moved[id.0 as usize] += moved;
    }

    fn add_unknown(&mut self, process: ProcessId, fd: i32, moved: Moved) {
        let id = self.id(&format!("unknown (pid {process}, fd {fd})"));
        self.add(id, moved);
    }
}

/// What was moved in the end, in no order.
pub(super) struct Totals {
    pub(super) processes: Vec<(ProcessId, Moved)>,
    pub(super) files: Vec<(String, Moved)>,
    pub(super) over_time: MovedOverTime,
    pub(super) calls: Vec<FileCalls>,
    pub(super) unknown_operations: u64,
}

impl Resolver {
    /// Takes the next record; at once, if nothing is held back and its process is known.
    pub(super) fn take(&mut self, record: Record<What>, known: &Known) {
        let is_clear = self.queue.is_empty()
            && needs_process(&record).is_none_or(|thread| self.process_of.contains_key(&thread));
        if is_clear {
            self.taken += 1;
            self.take_dumps(record.at, known);
            self.apply(record, known);
        } else {
            self.enqueue(record);
        }
    }

    fn enqueue(&mut self, record: Record<What>) {
        let said = match (&record.what, record.thread) {
            (What::BelongsTo(process), Whose::Thread(thread)) => Some((thread, *process)),
            (What::DumpedThread { process, .. }, Whose::Thread(thread)) => Some((thread, *process)),
            (
                What::Forked {
                    child,
                    child_process,
                    ..
                },
                _,
            ) => child_process.map(|of| (*child, of)),
            _ => None,
        };
        if let Some((thread, process)) = said
            && !self.process_of.contains_key(&thread)
        {
            let position = self.taken + self.queue.len() as u64;
            self.announced.entry(thread).or_insert((position, process));
        }
        self.queue.push_back(record);
    }

    /// Works through the queue as far as it can be known; all of it at the end.
    pub(super) fn advance(&mut self, known: &Known, end: bool) {
        while let Some(record) = self.queue.front() {
            let at = record.at;
            if let Some(thread) = needs_process(record)
                && !self.find_process(thread, known, end)
            {
                return;
            }
            self.take_dumps(at, known);
            if let Some(record) = self.queue.pop_front() {
                self.taken += 1;
                self.apply(record, known);
            }
        }
        if end {
            self.take_dumps(Timestamp::MAX, known);
        }
    }

    /// Takes in what the recorder saw until `at`.
    fn take_dumps(&mut self, at: Timestamp, known: &Known) {
        while let Some(dump) = known
            .dumps
            .get(self.dumps_taken)
            .filter(|dump| dump.at <= at)
        {
            self.dumps_taken += 1;
            self.process_of.insert(dump.tid, dump.pid);
            let of = self.processes.get(&dump.pid);
            let is_still_so = |fd: i32| {
                let since = dump.files_since.unwrap_or(dump.at);
                !of.is_some_and(|of| of.has_changed(fd, since))
            };
            let named: Vec<_> = (dump.fds.iter())
                .filter(|(fd, _)| is_still_so(*fd))
                .collect();
            for (fd, path) in named {
                let file = self.files.id(path);
                self.dump_names(dump.pid, *fd, file);
            }
        }
    }

    /// Makes sure that the process of `thread` is known; false when it is too early to tell.
    fn find_process(&mut self, thread: ThreadId, known: &Known, end: bool) -> bool {
        if self.process_of.contains_key(&thread) {
            return true;
        }
        let announced = self.announced.get(&thread);
        let announced =
            announced.filter(|(position, _)| position.saturating_sub(self.taken) <= PATIENCE);
        let process = match (known.process_of.get(&thread), announced) {
            (Some(&process), _) | (None, Some(&(_, process))) => process,
            (None, None) if end || self.queue.len() as u64 > PATIENCE => ProcessId(thread.0),
            (None, None) => return false,
        };
        self.process_of.insert(thread, process);
        self.announced.remove(&thread);
        true
    }

    fn apply(&mut self, record: Record<What>, known: &Known) {
        let Whose::Thread(thread) = record.thread else {
            return self.apply_nobodys(record.at, record.what);
        };
        let entered = match record.what.ends_call() {
            true => self.entered.remove(&thread),
            false => None,
        };
        match record.what {
            What::Entered(entry) => drop(self.entered.insert(thread, (record.at, entry))),
            What::Returned { call, returned } => {
                let entry = entered.filter(|(_, entry)| entry.is_ended_by(call));
                let entered_as = entry.as_ref().map(|(_, entry)| entry.call);
                if let Some(call) = entered_as.or(call) {
                    let mut effects = Vec::new();
                    outcome(call, entry, record.at, returned, |what| effects.push(what));
                    for what in effects {
                        self.happens(record.at, thread, what);
                    }
                }
            }
            What::Submitted {
                request,
                operation,
                user_data,
            } => {
                let process = self.process_of.get(&thread).copied();
                let process = process.unwrap_or(ProcessId(thread.0));
                let submitted = Submitted::new(process, operation, user_data);
                self.operations.submit(request, submitted);
            }
            What::BelongsTo(process) => {
                self.has_contexts = true;
                self.belongs(thread, process);
            }
            What::DumpedThread { process, table } => {
                self.belongs(thread, process);
                if let Some(table) = table {
                    self.uses_table(process, table);
                }
            }
            What::Forked {
                parent_process,
                child,
                child_process,
            } => {
                let parent = parent_process.or(self.process_of.get(&thread).copied());
                let saved = known.process_of.get(&child).copied();
                let process = child_process.or(saved).unwrap_or(ProcessId(child.0));
                self.belongs(child, process);
                if let Some(parent) = parent.filter(|&parent| parent != process) {
                    let of_parent = self.processes.get(&parent);
                    let inherited =
                        of_parent.map(|of| (of.descriptors.clone(), of.doubtful.clone()));
                    self.forget_all(process);
                    let of_child = self.processes.entry(process).or_default();
                    (of_child.descriptors, of_child.doubtful) = inherited.unwrap_or_default();
                }
            }
            What::Freed => {
                let process = ProcessId(thread.0);
                if self.process_of.get(&thread) == Some(&process) {
                    self.forget_all(process);
                }
            }
            what => self.happens(record.at, thread, what),
        }
    }

    fn belongs(&mut self, thread: ThreadId, process: ProcessId) {
        let known = self.process_of.insert(thread, process);
        self.is_contradicted |= known.is_some_and(|known| known != process);
    }

    /// Whether any thread was of several processes, and contexts tell of it. A chunk says only once what a thread is of:
    /// what lies between two of its calls, on other processors, may have said something else.
    pub(super) fn is_contradicted(&self) -> bool {
        self.has_contexts && self.is_contradicted
    }

    /// Something that a thread does with a descriptor of its process.
    fn happens(&mut self, at: Timestamp, thread: ThreadId, what: What) {
        let process = self
            .process_of
            .get(&thread)
            .copied()
            .unwrap_or(ProcessId(thread.0));
        match what {
            What::Moved {
                way,
                fd,
                other_fd,
                value,
            } => self.moved(at, process, way, (fd, other_fd), value),
            What::Named { fd, name } => {
                let file = match name {
                    Name::Path(path) => Some(self.files.id(&path)),
                    Name::Kind(kind) => Some(self.files.id(kind.name())),
                    Name::Like(other) => {
                        let of = self.processes.get(&process);
                        of.and_then(|of| of.descriptors.get(&other).copied())
                    }
                    Name::Unknown => None,
                };
                self.state(at, process, fd, file);
            }
            What::Closed { fd } => self.state(at, process, fd, None),
            What::ClosedRange { first, last } => self.close(at, process, first, last),
            What::Executed => {
                let of = self.processes.entry(process).or_default();
                of.doubtful = of.known(3, u32::MAX).into_iter().collect();
                of.all_changed = Some(at);
            }
            What::MadeUntold => {
                let of = self.processes.entry(process).or_default();
                let mut doubtful: Vec<i32> = of.doubtful.drain().collect();
                doubtful.sort_unstable();
                for fd in doubtful {
                    self.state(at, process, fd, None);
                }
            }
            What::Called { call, fd, since } => {
                let range = TimeRange::new(since, at);
                self.called(process, thread, fd, Called { call, range });
            }
            _ => {}
        }
    }

    fn moved(
        &mut self,
        at: Timestamp,
        process: ProcessId,
        way: Way,
        (fd, other_fd): (i32, i32),
        value: i64,
    ) {
        let bytes = value.max(0) as u64;
        let read = |bytes| Moved {
            read_bytes: bytes,
            reads: 1,
            ..Moved::default()
        };
        let write = |bytes| Moved {
            write_bytes: bytes,
            writes: 1,
            ..Moved::default()
        };
        match way {
            Way::Read => self.count(at, process, fd, read(bytes)),
            Way::ReadMessages => self.count(at, process, fd, read(0)),
            Way::Write => self.count(at, process, fd, write(bytes)),
            Way::WriteMessages => self.count(at, process, fd, write(0)),
            Way::ReadAndWrite => {
                self.count(at, process, fd, read(bytes));
                self.count(at, process, other_fd, write(bytes));
            }
        }
    }

    fn count(&mut self, at: Timestamp, process: ProcessId, fd: i32, moved: Moved) {
        let of = self.processes.entry(process).or_default();
        of.moved += moved;
        let file = of.descriptors.get(&fd);
        let medium = file.map_or(Medium::Unknown, |file| self.files.media[file.0 as usize]);
        let bytes = Bytes {
            read: moved.read_bytes,
            written: moved.write_bytes,
        };
        self.over_time.add(at, medium, bytes);
        match of.descriptors.get(&fd) {
            Some(&file) => self.files.add(file, moved),
            None if fd < 0 => {
                let file = self.files.id(&format!("unknown (pid {process})"));
                self.files.add(file, moved);
            }
            None => *of.unnamed.entry(fd).or_default() += moved,
        }
    }

    fn called(&mut self, process: ProcessId, thread: ThreadId, fd: i32, called: Called) {
        if thread.0 != process.0 || fd < 0 {
            return;
        }
        let of = self.processes.entry(process).or_default();
        match of.descriptors.get(&fd) {
            Some(&file) => self.calls.push((thread, file, called)),
            None => of.unnamed_calls.entry(fd).or_default().push(called),
        }
    }

    /// From now on the descriptor is this file, or an unknown one.
    fn state(&mut self, at: Timestamp, process: ProcessId, fd: i32, file: Option<FileId>) {
        let of = self.processes.entry(process).or_default();
        of.changed.insert(fd, at);
        of.doubtful.remove(&fd);
        if let Some(moved) = of.unnamed.remove(&fd) {
            self.files.add_unknown(process, fd, moved);
        }
        of.unnamed_calls.remove(&fd);
        match file {
            Some(file) => of.descriptors.insert(fd, file),
            None => of.descriptors.remove(&fd),
        };
    }

    /// Nothing is known of a process's descriptors from `first` to `last` any more.
    fn close(&mut self, at: Timestamp, process: ProcessId, first: u32, last: u32) {
        let of = self.processes.get(&process);
        for fd in of.map(|of| of.known(first, last)).unwrap_or_default() {
            self.state(at, process, fd, None);
        }
    }

    fn forget_all(&mut self, process: ProcessId) {
        if let Some(of) = self.processes.get_mut(&process) {
            of.descriptors.clear();
            of.doubtful.clear();
            of.unnamed_calls.clear();
            for (fd, moved) in of.unnamed.drain() {
                self.files.add_unknown(process, fd, moved);
            }
        }
    }

    /// The descriptor is this file, and has been since the latest statement about it.
    fn dump_names(&mut self, process: ProcessId, fd: i32, file: FileId) {
        let of = self.processes.entry(process).or_default();
        of.doubtful.remove(&fd);
        if let Some(moved) = of.unnamed.remove(&fd) {
            self.files.add(file, moved);
        }
        let calls = of.unnamed_calls.remove(&fd).into_iter().flatten();
        self.calls
            .extend(calls.map(|called| (ThreadId(process.0), file, called)));
        of.descriptors.insert(fd, file);
    }

    fn apply_nobodys(&mut self, at: Timestamp, what: What) {
        match what {
            What::Replaced(request) => self.operations.replace(request),
            What::LookedUp { request, fd } => self.operations.looks_up(request, fd),
            What::OperationCompleted {
                request,
                user_data,
                value,
                counts,
                has_more,
            } => {
                let completed = self.operations.complete(request, user_data, has_more);
                if value < 0 {
                    return;
                }
                let Submitted {
                    process, operation, ..
                } = match completed {
                    Completed::Of(submitted) => submitted,
                    Completed::OfOthers => return,
                    Completed::OfNothingKnown => {
                        self.unknown_operations += u64::from(counts && value > 0);
                        return;
                    }
                };
                match operation.does {
                    Does::Moves(way) if counts => {
                        self.moved(at, process, way, operation.descriptors(), value);
                    }
                    Does::Moves(_) => {}
                    // Of what goes to a registered file the number is 0, or that of a place among those.
                    Does::Opens if value > 0 => self.state(at, process, value as i32, None),
                    Does::Opens | Does::Else => {}
                }
            }
            What::DumpBegins => self.tables.clear(),
            What::DumpedOfProcess { process, fd, path } => {
                let file = self.files.id(&path);
                self.dump_names(process, fd, file);
            }
            What::DumpedOfTable { table, fd, path } => {
                let file = self.files.id(&path);
                let table = self.tables.entry(table).or_default();
                table.descriptors.push((fd, file));
                for process in table.processes.clone() {
                    self.dump_names(process, fd, file);
                }
            }
            _ => {}
        }
    }

    fn uses_table(&mut self, process: ProcessId, address: u64) {
        let table = self.tables.entry(address).or_default();
        if table.processes.contains(&process) {
            return;
        }
        table.processes.push(process);
        for (fd, file) in table.descriptors.clone() {
            self.dump_names(process, fd, file);
        }
    }

    /// What was moved by each process and of each file, when all is done.
    pub(super) fn totals(&mut self) -> Totals {
        let all: Vec<ProcessId> = self.processes.keys().copied().collect();
        for process in all {
            self.forget_all(process);
        }
        let moved = |moved: &Moved| moved.reads + moved.writes > 0;
        let processes = self
            .processes
            .iter()
            .map(|(&process, of)| (process, of.moved));
        let files = self.files.ids.iter();
        let files = files.map(|(name, id)| (name.to_string(), self.files.moved[id.0 as usize]));
        Totals {
            processes: processes.filter(|(_, of)| moved(of)).collect(),
            files: files.filter(|(_, of)| moved(of)).collect(),
            over_time: self.over_time.clone(),
            calls: self.file_calls(),
            unknown_operations: self.unknown_operations,
        }
    }

    fn file_calls(&self) -> Vec<FileCalls> {
        let paths = self.files.ids.iter();
        let paths: FxHashMap<FileId, &str> = paths.map(|(path, &id)| (id, &**path)).collect();
        let mut by_file: BTreeMap<(ThreadId, &str), Vec<FileCall>> = BTreeMap::new();
        for &(thread, file, Called { call, range }) in &self.calls {
            let path = paths.get(&file).copied().unwrap_or_default();
            by_file.entry((thread, path)).or_default().push(FileCall {
                range,
                name: call.name(),
                syncs: call.effect() == Some(Effect::Syncs),
            });
        }
        let files = by_file.into_iter().map(|((thread, path), mut calls)| {
            calls.sort_by_key(|call| (call.range.begin, call.range.end));
            FileCalls {
                thread,
                path: path.to_owned(),
                calls,
            }
        });
        files.collect()
    }

    /// The threads whose process is known, with it.
    pub(super) fn threads(&self) -> impl Iterator<Item = (ThreadId, ProcessId)> {
        self.process_of
            .iter()
            .map(|(&thread, &process)| (thread, process))
    }
}

/// The thread whose process has to be known before a record can be applied.
fn needs_process(record: &Record<What>) -> Option<ThreadId> {
    let Whose::Thread(thread) = record.thread else {
        return None;
    };
    match record.what {
        What::Returned { .. }
        | What::Submitted { .. }
        | What::Moved { .. }
        | What::Called { .. }
        | What::Named { .. }
        | What::Closed { .. }
        | What::ClosedRange { .. }
        | What::MadeUntold
        | What::Executed
        | What::Forked {
            parent_process: None,
            ..
        } => Some(thread),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use slowpath_engine::Options;
    use slowpath_model::{ProcessId, ThreadId, Timestamp};

    use crate::io::tests::{check, drawn};
    use crate::io::{Known, StatedumpProcess, io};

    #[test]
    fn what_a_program_may_have_closed_as_it_began_is_not_taken_for_what_it_makes() {
        // 3 was a pipe, and is a socket from then on that the program makes.
        let text = "cpu0 5 0>7
             cpu0 10 descriptor pid=7 fd=3 filename=pipe:[8]
             cpu0 11 descriptor pid=7 fd=1 filename=/log
             cpu0 20 sched_process_exec filename=/bin/a tid=7 old_tid=7
             cpu0 30 MADE
             cpu0 40 >write fd=3
             cpu0 41 <write ret=10
             cpu0 42 >write fd=1
             cpu0 43 <write ret=5
             cpu0 50 7>0";
        check(
            &text.replace("MADE", "syscall_exit_socketpair ret=0"),
            "7:t7 0/0 15/2 | pipe:[8] 0/0 10/1, /log 0/0 5/1",
        );
        check(
            &text.replace("MADE", "sys_exit_socketpair __syscall_nr=53 ret=0"),
            "7:t7 0/0 15/2 | unknown (pid 7, fd 3) 0/0 10/1, /log 0/0 5/1",
        );
    }

    #[test]
    fn what_a_program_has_kept_as_it_began_is_still_that_file() {
        // A script opens 7, sleeps and executes what writes to it.
        let text = "cpu0 5 0>7
             cpu0 10 descriptor pid=7 fd=7 filename=/kept
             cpu0 20 sched_process_exec filename=/bin/a tid=7 old_tid=7
             cpu0 40 >write fd=7
             cpu0 41 <write ret=10
             cpu0 45 sys_exit_pipe __syscall_nr=22 ret=FAILS
             cpu0 46 >write fd=7
             cpu0 47 <write ret=5
             cpu0 50 7>0";
        check(
            &text.replace("FAILS", "-24"),
            "7:t7 0/0 15/2 | /kept 0/0 15/2",
        );
        check(
            &text.replace("FAILS", "0"),
            "7:t7 0/0 15/2 | /kept 0/0 10/1, unknown (pid 7, fd 7) 0/0 5/1",
        );
        // What it has made since is not what it had before.
        check(
            &text
                .replace(
                    "cpu0 40",
                    "cpu0 30 >dup2 oldfd=7 newfd=7\n cpu0 31 <dup2 ret=7\n cpu0 40",
                )
                .replace("FAILS", "0"),
            "7:t7 0/0 15/2 | /kept 0/0 15/2",
        );
    }

    #[test]
    fn what_becomes_another_file_while_the_recorder_looks_is_not_taken_for_the_one_before() {
        let told = |files_since| {
            let dump = StatedumpProcess {
                at: Timestamp::from_ns(50),
                tid: ThreadId(7),
                pid: ProcessId(7),
                fds: vec![(3, "/before".into()), (4, "/kept".into())],
                files_since: Some(Timestamp::from_ns(files_since)),
                ..StatedumpProcess::default()
            };
            let text = "cpu0 5 0>7
                 cpu0 30 >close fd=3
                 cpu0 31 <close ret=0
                 cpu0 32 >openat
                 cpu0 40 <openat ret=3
                 cpu0 60 >read fd=3
                 cpu0 61 <read ret=9
                 cpu0 62 >read fd=4
                 cpu0 63 <read ret=2
                 cpu0 90 7>0";
            let known = Known::new(vec![dump], []);
            let outcome = io(&drawn(text), &known, &Options::default()).unwrap();
            let report = outcome.state.unwrap();
            let rows = report.files.into_iter();
            rows.map(|row| (row.path, row.moved.read_bytes))
                .collect::<Vec<_>>()
        };
        let rows = |first: &str| vec![(first.to_owned(), 9), ("/kept".to_owned(), 2)];
        assert_eq!(told(45), rows("/before"));
        assert_eq!(told(35), rows("unknown (pid 7, fd 3)"));
    }
}
