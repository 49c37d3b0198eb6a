//! What system calls moved, by process and by file.
//!
//! A chunk pairs a call's exit with its entry where the thread cannot have been elsewhere in between;
//! all else becomes records that are resolved in the order of time when chunks are merged. Files are
//! named through descriptors. What counts and how is in docs/reference/definitions.md.

mod calls;
mod over_time;
mod pass;
mod record;
mod resolve;
mod uring;

use std::cmp::Reverse;

use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};
use slowpath_engine::{Cancelled, Options, Outcome};
use slowpath_model::{
    Diagnostic, DiagnosticCode, Place, ProcessId, ThreadId, TimeRange, Timestamp,
};
use slowpath_source::Source;
use utoipa::ToSchema;

use crate::answer::answer;

pub use over_time::{Bytes, Medium, MovedOverTime};

/// What system calls moved.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, ToSchema)]
pub struct IoReport {
    /// First point of the window, nanoseconds since the Unix epoch.
    pub begin_ns: i64,
    /// End of the window.
    pub end_ns: i64,
    /// Processes with a counted call, of each host those that moved most first.
    pub processes: Vec<ProcessRow>,
    /// Files with a counted call, of each host those of which most was moved first.
    pub files: Vec<FileRow>,
    /// The same over time; for pictures, no part of the document.
    #[serde(skip)]
    pub over_time: MovedOverTime,
    /// What first threads of processes waited for in files, by thread and path, as [`io_with_calls`] tells; no part of
    /// the document either.
    #[serde(skip)]
    pub calls: Vec<FileCalls>,
    /// Completions of operations of io_uring that moved bytes or did something else, nothing tells: their submissions
    /// are not in the trace. Told as a diagnostic.
    #[serde(skip)]
    pub unknown_operations: u64,
}

/// Calls of a process's first thread on a file: those that synced it (`fsync`, `fdatasync`), and those that wrote to it
/// for 100 µs or longer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileCalls {
    /// The thread, which has the number of its process.
    pub thread: ThreadId,
    /// The file's path as it was given.
    pub path: String,
    /// In the order of time.
    pub calls: Vec<FileCall>,
}

/// One call on a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FileCall {
    /// From its entry to its return.
    pub range: TimeRange,
    /// Its name.
    pub name: &'static str,
    /// It synced; else it wrote.
    pub syncs: bool,
}

/// One process.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
#[schema(as = ProcessIo)]
pub struct ProcessRow {
    /// Its number.
    pub pid: ProcessId,
    /// The name of its first thread, else of another one; empty where none is known.
    pub comm: String,
    /// What it moved.
    #[serde(flatten)]
    pub moved: Moved,
}

/// One file, or what else a descriptor can be.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
#[schema(as = FileIo)]
pub struct FileRow {
    /// Its path as it was given, `socket` and the like, or `unknown (pid P, fd N)`.
    pub path: String,
    /// What was moved.
    #[serde(flatten)]
    pub moved: Moved,
}

/// Bytes and calls.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Moved {
    /// Bytes read.
    pub read_bytes: u64,
    /// Bytes written.
    pub write_bytes: u64,
    /// Calls that read.
    pub reads: u64,
    /// Calls that wrote.
    pub writes: u64,
}

impl Moved {
    fn bytes(&self) -> u64 {
        self.read_bytes.saturating_add(self.write_bytes)
    }
}

impl std::ops::AddAssign for Moved {
    fn add_assign(&mut self, other: Self) {
        self.read_bytes = self.read_bytes.saturating_add(other.read_bytes);
        self.write_bytes = self.write_bytes.saturating_add(other.write_bytes);
        self.reads += other.reads;
        self.writes += other.writes;
    }
}

/// What is known about a thread besides the trace, from the recorder's look at `/proc`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct StatedumpProcess {
    /// When it was looked at.
    pub at: Timestamp,
    /// The thread.
    pub tid: ThreadId,
    /// Its process.
    pub pid: ProcessId,
    /// The process that made it.
    pub ppid: ProcessId,
    /// Its name.
    pub comm: String,
    /// The open descriptors of its process with what the kernel calls them; may be left out where
    /// another thread of the process has them.
    pub fds: Vec<(i32, String)>,
    /// When looking at the descriptors began, if that is known: what has changed since is not said of.
    pub files_since: Option<Timestamp>,
}

/// What is known besides the trace.
#[derive(Clone, Debug, Default)]
pub struct Known {
    /// By time.
    dumps: Vec<StatedumpProcess>,
    process_of: FxHashMap<ThreadId, ProcessId>,
}

impl Known {
    /// State dumps in any order, and processes of threads as the recorder noted them at some time.
    /// A fork in the trace that tells the process wins over both.
    pub fn new(
        mut dumps: Vec<StatedumpProcess>,
        process_of: impl IntoIterator<Item = (ThreadId, ProcessId)>,
    ) -> Self {
        dumps.sort_by_key(|dump| (dump.at, dump.tid));
        let mut map: FxHashMap<_, _> = dumps
            .iter()
            .rev()
            .map(|dump| (dump.tid, dump.pid))
            .collect();
        map.extend(process_of);
        Self {
            dumps,
            process_of: map,
        }
    }
}

/// Tells what was moved in `options.range` of `source`, a kernel trace.
pub fn io(
    source: &dyn Source,
    known: &Known,
    options: &Options<'_>,
) -> Result<Outcome<IoReport>, Cancelled> {
    ask(
        || pass::Io::new(source, known, options.range, false),
        source,
        options,
    )
}

/// Asks again where several processors tell of one thread at one time.
fn ask<'known>(
    analysis: impl Fn() -> pass::Io<'known>,
    source: &dyn Source,
    options: &Options<'_>,
) -> Result<Outcome<IoReport>, Cancelled> {
    let first = analysis();
    let mut outcome = answer(source, &first, options)?;
    if first.has_overlaps() {
        outcome = answer(source, &analysis().interleaved(), options)?;
    }
    let unknown = outcome.state.as_ref().map_or(0, |io| io.unknown_operations);
    if unknown > 0 {
        let place = Place {
            file: source.schema().host.clone(),
            ..Place::default()
        };
        let what = format!(
            "{unknown} completions of io_uring are of operations whose submission was not recorded: what they moved does not count"
        );
        outcome.diagnostics.push(Diagnostic {
            count: Some(unknown),
            ..Diagnostic::new(DiagnosticCode::UnknownOperations, place, what)
        });
    }
    Ok(outcome)
}

/// As [`io`], with the calls that waited for files: memory for each of them.
pub fn io_with_calls(
    source: &dyn Source,
    known: &Known,
    options: &Options<'_>,
) -> Result<Outcome<IoReport>, Cancelled> {
    ask(
        || pass::Io::new(source, known, options.range, true),
        source,
        options,
    )
}

fn process_rows(rows: impl Iterator<Item = ProcessRow>) -> Vec<ProcessRow> {
    let mut rows: Vec<ProcessRow> = rows.collect();
    rows.sort_by_key(|row| (Reverse(row.moved.bytes()), row.pid));
    rows
}

fn file_rows(rows: impl Iterator<Item = FileRow>) -> Vec<FileRow> {
    let mut rows: Vec<FileRow> = rows.collect();
    rows.sort_by(|a, b| {
        (Reverse(a.moved.bytes()), &a.path).cmp(&(Reverse(b.moved.bytes()), &b.path))
    });
    rows
}

#[cfg(test)]
mod tests {
    use slowpath_drawn::DrawnTrace;
    use slowpath_model::TimeRange;

    use super::*;
    use crate::answer::every_way;

    /// A trace of LTTng in short: `cpu0 10 7>8` is a switch, `cpu0 20 >read fd=3` an entry,
    /// `cpu0 30 <read ret=5` an exit, `fork 7/7 8/7` a fork by thread/process, `thread 8/7 name` a
    /// thread in a state dump.
    pub(in crate::io) fn drawn(text: &str) -> DrawnTrace {
        let mut lines = String::new();
        for line in text.lines() {
            let words: Vec<&str> = line.split_whitespace().collect();
            let Some((start, rest)) = words
                .split_at_checked(2)
                .filter(|(_, rest)| !rest.is_empty())
            else {
                continue;
            };
            let arguments = rest[1..].join(" ");
            let of = |word: &str| {
                let (thread, process) = word.split_once('/').unwrap();
                (thread.to_owned(), process.to_owned())
            };
            let event = match rest[0] {
                "fork" => {
                    let ((parent, of_parent), (child, of_child)) = (of(rest[1]), of(rest[2]));
                    format!(
                        "sched_process_fork parent_tid={parent} parent_pid={of_parent} child_tid={child} child_pid={of_child} child_comm=c{child}"
                    )
                }
                "thread" => {
                    let (thread, process) = of(rest[1]);
                    format!(
                        "lttng_statedump_process_state tid={thread} pid={process} name=d{thread} {}",
                        rest[2..].join(" ")
                    )
                }
                "descriptor" => format!("lttng_statedump_file_descriptor {arguments}"),
                word => match (word.strip_prefix('>'), word.strip_prefix('<')) {
                    (Some(call), _) => format!("syscall_entry_{call} {arguments}"),
                    (_, Some(call)) => format!("syscall_exit_{call} {arguments}"),
                    _ => match word.split_once('>') {
                        Some((prev, next)) => format!(
                            "sched_switch prev_comm=t{prev} prev_tid={prev} prev_state=0 next_comm=t{next} next_tid={next}"
                        ),
                        None => format!("{word} {arguments}"),
                    },
                },
            };
            lines += &format!("{} {event}\n", start.join(" "));
        }
        DrawnTrace::parse(&lines).unwrap()
    }

    pub(in crate::io) fn told(report: &IoReport) -> String {
        let show = |name: &str, moved: &Moved| {
            let Moved {
                read_bytes,
                write_bytes,
                reads,
                writes,
            } = moved;
            format!("{name} {read_bytes}/{reads} {write_bytes}/{writes}")
        };
        let processes = report.processes.iter();
        let processes = processes.map(|row| show(&format!("{}:{}", row.pid, row.comm), &row.moved));
        let files = report.files.iter().map(|row| show(&row.path, &row.moved));
        let join = |rows: Vec<String>| rows.join(", ");
        format!("{} | {}", join(processes.collect()), join(files.collect()))
    }

    fn check_with(known: &Known, text: &str, expected: &str) {
        let trace = drawn(text);
        let range = TimeRange::ALL;
        let report = every_way::ask(&trace, |source| pass::Io::new(source, known, range, false));
        assert_eq!(told(&report), expected, "{text}");
    }

    /// Processes and files, each with bytes/calls read and written.
    pub(in crate::io) fn check(text: &str, expected: &str) {
        check_with(&Known::default(), text, expected);
    }

    #[test]
    fn bytes_of_threads_that_two_processors_tell_of_at_once_do_not_depend_on_chunks() {
        every_way::ask_of_overlaps(|source, options| {
            let outcome = io(source, &Known::default(), options).unwrap();
            told(&outcome.state.unwrap())
        });
    }

    #[test]
    fn a_thread_is_of_the_process_that_its_own_calls_say_whatever_others_say_meanwhile() {
        let text = "cpu0 10 >read fd=3 @tid=70 @pid=50
             cpu0 11 <read ret=9 @tid=70 @pid=50
             cpu1 50 MEANWHILE
             cpu0 90 >read fd=3 @tid=70 @pid=50
             cpu0 91 <read ret=5 @tid=70 @pid=50";
        let check = |meanwhile: &str, expected: &str| {
            let trace = drawn(&text.replace("MEANWHILE", meanwhile));
            for (seed, chunk_bytes) in [(0, 1 << 30), (1, 1), (2, 1), (3, 1 << 30)] {
                let options = Options {
                    chunk_bytes: Some(chunk_bytes),
                    ..Options::default()
                };
                let cut = trace.recut_at_random(seed, 1 + seed);
                let outcome = io(&cut, &Known::default(), &options).unwrap();
                assert_eq!(told(&outcome.state.unwrap()), expected, "{seed}");
            }
        };
        check(
            "fork 90/90 70/70",
            "50:c70 14/2 0/0 | unknown (pid 50, fd 3) 14/2 0/0",
        );
        check(
            ">write fd=1 @tid=70 @pid=70\ncpu1 51 <write ret=3 @tid=70 @pid=70",
            "50: 14/2 0/0, 70: 0/0 3/1 | unknown (pid 50, fd 3) 14/2 0/0, unknown (pid 70, fd 1) 0/0 3/1",
        );
    }

    #[test]
    fn calls_are_paired_on_one_processor() {
        check(
            "cpu0 10 0>7
             cpu0 20 >openat filename=/etc/hosts
             cpu0 21 <openat ret=3
             cpu0 30 >read fd=3 count=100
             cpu0 31 <read ret=50
             cpu0 32 >write fd=1 count=9
             cpu0 33 <write ret=9
             cpu0 40 7>0",
            "7:t7 50/1 9/1 | /etc/hosts 50/1 0/0, unknown (pid 7, fd 1) 0/0 9/1",
        );
    }

    #[test]
    fn a_range_of_descriptors_is_closed_at_once() {
        let text = "cpu0 5 0>7
             cpu0 10 >openat filename=/low
             cpu0 11 <openat ret=3
             cpu0 12 >openat filename=/high
             cpu0 13 <openat ret=9
             cpu0 20 >close_range fd=4 max_fd=4294967295 flags=FLAGS
             cpu0 21 <close_range ret=0
             cpu0 30 >write fd=3
             cpu0 31 <write ret=10
             cpu0 32 >write fd=9
             cpu0 33 <write ret=5
             cpu0 40 7>0";
        check(
            &text.replace("FLAGS", "0"),
            "7:t7 0/0 15/2 | /low 0/0 10/1, unknown (pid 7, fd 9) 0/0 5/1",
        );
        // Only `exec` will close them.
        check(
            &text.replace("FLAGS", "4"),
            "7:t7 0/0 15/2 | /low 0/0 10/1, /high 0/0 5/1",
        );
    }

    #[test]
    fn a_call_ends_whatever_its_thread_entered_before() {
        check(
            "cpu0 5 0>7
             cpu0 10 >read fd=3
             cpu0 20 >write fd=4
             cpu0 30 <write ret=2
             cpu0 40 <read ret=5
             cpu0 50 >close fd=6
             cpu0 60 <read ret=4
             cpu0 70 7>0",
            "7:t7 9/2 2/1 | unknown (pid 7) 9/2 0/0, unknown (pid 7, fd 4) 0/0 2/1",
        );
    }

    #[test]
    fn calls_that_contradict_each_other_give_one_answer() {
        for seed in 0..24 {
            let drawing = every_way::contradiction(seed);
            for drawing in [every_way::with_losses(&drawing), drawing] {
                let trace = DrawnTrace::parse(&drawing).unwrap();
                let (known, range) = (Known::default(), TimeRange::ALL);
                every_way::ask(&trace, |source| pass::Io::new(source, &known, range, true));
            }
        }
    }

    #[test]
    fn a_call_may_block_and_return_elsewhere() {
        check(
            "cpu0 10 0>7
             cpu0 20 >read fd=3
             cpu0 25 7>0
             cpu1 50 0>7
             cpu1 55 <read ret=6
             cpu1 60 >read fd=4
             cpu1 61 7>0
             cpu0 70 0>7
             cpu0 75 <read ret=2
             cpu0 90 7>0",
            "7:t7 8/2 0/0 | unknown (pid 7, fd 3) 6/1 0/0, unknown (pid 7, fd 4) 2/1 0/0",
        );
    }

    #[test]
    fn the_thread_before_the_first_switch_is_the_one_switched_from() {
        check(
            "cpu0 5 <read ret=1
             cpu0 20 >read fd=3
             cpu0 21 <read ret=7
             cpu0 30 9>0",
            "9:t9 8/2 0/0 | unknown (pid 9, fd 3) 7/1 0/0, unknown (pid 9) 1/1 0/0",
        );
    }

    #[test]
    fn failed_calls_do_not_count_and_empty_ones_do() {
        check(
            "cpu0 1 0>7
             cpu0 2 >read fd=3
             cpu0 3 <read ret=-11
             cpu0 4 >read fd=3
             cpu0 5 <read ret=0
             cpu0 6 >openat filename=/no
             cpu0 7 <openat ret=-2
             cpu0 9 7>0",
            "7:t7 0/1 0/0 | unknown (pid 7, fd 3) 0/1 0/0",
        );
    }

    #[test]
    fn descriptors_are_duplicated_inherited_shared_and_closed() {
        check(
            "cpu0 1 0>7
             cpu0 2 >openat filename=/log
             cpu0 3 <openat ret=3
             cpu0 4 >dup2 oldfd=3 newfd=1
             cpu0 5 <dup2 ret=1
             cpu0 6 >fcntl fd=3 cmd=0 arg=10
             cpu0 7 <fcntl ret=10
             cpu0 8 >fcntl fd=3 cmd=3 arg=0
             cpu0 9 <fcntl ret=4
             cpu0 10 fork 7/7 8/8
             cpu0 11 fork 7/7 9/7
             cpu0 12 >close fd=3
             cpu0 13 <close ret=0
             cpu0 20 7>8
             cpu0 21 >write fd=3
             cpu0 22 <write ret=100
             cpu0 30 8>9
             cpu0 31 >write fd=1
             cpu0 32 <write ret=20
             cpu0 33 >write fd=10
             cpu0 34 <write ret=3
             cpu0 35 >write fd=3
             cpu0 36 <write ret=4
             cpu0 37 >write fd=4
             cpu0 38 <write ret=1
             cpu0 40 9>0",
            "8:t8 0/0 100/1, 7:t7 0/0 28/4 | /log 0/0 123/3, unknown (pid 7, fd 3) 0/0 4/1, unknown (pid 7, fd 4) 0/0 1/1",
        );
    }

    #[test]
    fn descriptors_without_a_path_have_the_name_of_their_kind() {
        check(
            "cpu0 1 0>7
             cpu0 2 >pipe2 flags=0
             cpu0 3 <pipe2 ret=0 fildes=[3,4]
             cpu0 4 >socket family=2
             cpu0 5 <socket ret=5
             cpu0 10 >write fd=4
             cpu0 11 <write ret=1
             cpu0 12 >read fd=3
             cpu0 13 <read ret=1
             cpu0 14 >sendto fd=5
             cpu0 15 <sendto ret=30
             cpu0 16 >sendmmsg fd=5
             cpu0 17 <sendmmsg ret=2
             cpu0 18 >splice fd_in=3 fd_out=5
             cpu0 19 <splice ret=8
             cpu0 30 7>0",
            "7:t7 9/2 39/4 | socket 0/0 38/3, pipe 9/2 1/1",
        );
    }

    #[test]
    fn a_state_dump_names_what_was_used_before_it() {
        check(
            "cpu0 1 0>7
             cpu0 2 >write fd=1
             cpu0 3 <write ret=10
             cpu0 4 >write fd=5
             cpu0 5 <write ret=3
             cpu0 6 >close fd=5
             cpu0 7 <close ret=0
             cpu0 9 7>0
             cpu1 20 lttng_statedump_start
             cpu1 21 thread 6/6 file_table_address=0xa0
             cpu1 22 descriptor file_table_address=0xa0 fd=1 filename=/dev/console
             cpu1 23 descriptor file_table_address=0xa0 fd=5 filename=/five
             cpu1 24 thread 7/6 file_table_address=0xa0
             cpu0 30 0>7
             cpu0 31 >write fd=5
             cpu0 32 <write ret=1
             cpu0 40 7>0",
            "6:d6 0/0 14/3 | /dev/console 0/0 10/1, unknown (pid 6, fd 5) 0/0 3/1, /five 0/0 1/1",
        );
    }

    #[test]
    fn state_dumps_of_older_lttng_name_the_process() {
        check(
            "cpu1 21 thread 6/6
             cpu1 22 descriptor pid=6 fd=1 filename=/out
             cpu0 30 0>6
             cpu0 31 >write fd=1
             cpu0 32 <write ret=1
             cpu0 40 6>0",
            "6:t6 0/0 1/1 | /out 0/0 1/1",
        );
    }

    /// By file: calls of first threads, each with its name, begin and end in microseconds.
    fn check_calls(known: &Known, text: &str, expected: &str) {
        let range = TimeRange::ALL;
        let ask = |tells_calls| {
            every_way::ask(&drawn(text), |source| {
                pass::Io::new(source, known, range, tells_calls)
            })
        };
        let report = ask(true);
        let unasked = IoReport {
            calls: Vec::new(),
            ..report.clone()
        };
        assert_eq!(ask(false), unasked, "{text}");
        let call = |call: &FileCall| {
            let us = |at: Timestamp| at.ns() / 1000;
            let what = if call.syncs { "syncs" } else { "writes" };
            let TimeRange { begin, end } = call.range;
            format!("{} {what} {}..{}", call.name, us(begin), us(end))
        };
        let file = |file: &FileCalls| {
            let calls: Vec<String> = file.calls.iter().map(call).collect();
            format!("{} {}: {}", file.thread, file.path, calls.join(", "))
        };
        let files: Vec<String> = report.calls.iter().map(file).collect();
        assert_eq!(files.join(" | "), expected, "{text}");
    }

    #[test]
    fn syncs_and_long_writes_of_first_threads_are_told_by_file() {
        let text = "cpu0 1000 0>7
             cpu0 2000 >openat filename=/log
             cpu0 3000 <openat ret=3
             cpu0 10000 >write fd=3
             cpu0 11000 <write ret=5
             cpu0 12000 >fdatasync fd=3
             cpu0 20000 7>0
             cpu1 30000 0>7
             cpu1 32000 <fdatasync ret=0
             cpu1 40000 >write fd=3
             cpu1 140000 <write ret=5
             cpu1 150000 >fsync fd=3
             cpu1 151000 <fsync ret=-5
             cpu1 152000 >fsync fd=4
             cpu1 153000 <fsync ret=0
             cpu1 160000 7>8
             cpu1 161000 >fsync fd=3
             cpu1 162000 <fsync ret=0
             cpu1 163000 8>0
             cpu1 170000 fork 7/7 8/7";
        let told = "7 /log: fdatasync syncs 12..32, write writes 40..140";
        check_calls(&Known::default(), text, told);
        let named_later = StatedumpProcess {
            at: Timestamp::from_ns(165_000),
            tid: ThreadId(7),
            pid: ProcessId(7),
            fds: vec![(4, "/other".into())],
            ..StatedumpProcess::default()
        };
        check_calls(
            &Known::new(vec![named_later], [(ThreadId(8), ProcessId(7))]),
            text,
            &format!("{told} | 7 /other: fsync syncs 152..153"),
        );
    }

    #[test]
    fn exits_without_a_name_are_of_the_latest_entry() {
        check(
            "cpu0 1 0>7
             cpu0 2 sys_open filename=/a
             cpu0 3 exit_syscall ret=3
             cpu0 4 sys_read fd=3
             cpu0 5 7>0
             cpu1 6 0>7
             cpu1 7 exit_syscall ret=10
             cpu1 8 sys_poll fds=0
             cpu1 9 exit_syscall ret=1
             cpu1 10 7>0
             cpu0 11 exit_syscall ret=99
             cpu0 12 8>0",
            "7:t7 10/1 0/0 | /a 10/1 0/0",
        );
    }

    #[test]
    fn streams_of_one_processor_complete_each_other() {
        check(
            "sched/cpu0 1 0>7
             calls/cpu0 2 >read fd=3
             calls/cpu0 3 <read ret=5
             calls/cpu0 4 >read fd=3
             sched/cpu0 5 7>8
             calls/cpu0 6 >read fd=4
             calls/cpu0 7 <read ret=1
             sched/cpu0 8 8>7
             calls/cpu0 9 <read ret=2
             sched/cpu0 10 7>0",
            "7:t7 7/2 0/0, 8:t8 1/1 0/0 | unknown (pid 7, fd 3) 7/2 0/0, unknown (pid 8, fd 4) 1/1 0/0",
        );
    }

    #[test]
    fn contexts_tell_thread_and_process() {
        check(
            "cpu0 2 >read fd=3 @tid=12 @pid=11
             cpu0 3 <read ret=5 @tid=12 @pid=11
             cpu1 4 >read fd=3 @tid=13 @pid=11
             cpu2 5 <read ret=6 @tid=13 @pid=11",
            "11: 11/2 0/0 | unknown (pid 11, fd 3) 11/2 0/0",
        );
    }

    #[test]
    fn ftrace_needs_what_the_recorder_knows() {
        let dump = |at, fd, name: &str| StatedumpProcess {
            at: Timestamp::from_ns(at),
            tid: ThreadId(7),
            pid: ProcessId(6),
            ppid: ProcessId(1),
            comm: "worker".into(),
            fds: vec![(fd, name.into())],
            files_since: None,
        };
        let dumps = vec![dump(50, 5, "/late"), dump(0, 3, "/early")];
        let known = Known::new(dumps, [(ThreadId(9), ProcessId(6))]);
        let line = |cpu, at, event: &str, rest: &str| format!("{cpu} {at} {event} {rest}\n");
        let text = line(
            "cpu0",
            1,
            "sys_enter",
            "id=0 args=[3,0,0,0,0,0] @common_pid=7",
        ) + &line("cpu0", 2, "sys_exit", "id=0 ret=5 @common_pid=7")
            + &line(
                "cpu0",
                3,
                "sys_enter",
                "id=257 args=[0,0,0,0,0,0] @common_pid=9",
            )
            + &line("cpu0", 4, "sys_exit", "id=257 ret=5 @common_pid=9")
            + &line(
                "cpu0",
                5,
                "sys_enter",
                "id=1 args=[5,0,0,0,0,0] @common_pid=9",
            )
            + &line("cpu0", 6, "sys_exit", "id=1 ret=8 @common_pid=9")
            + &line(
                "cpu0",
                7,
                "sys_enter",
                "id=1 args=[4,0,0,0,0,0] @common_pid=9",
            )
            + &line("cpu0", 8, "sys_exit", "id=1 ret=2 @common_pid=9");
        let expected =
            "6:worker 5/1 10/2 | /late 0/0 8/1, /early 5/1 0/0, unknown (pid 6, fd 4) 0/0 2/1";
        check_with(&known, &text, expected);
    }

    #[test]
    fn only_exits_in_the_window_count() {
        let trace = drawn(
            "cpu0 1 0>7
             cpu0 2 >openat filename=/a
             cpu0 3 <openat ret=3
             cpu0 4 >read fd=3
             cpu0 5 <read ret=1
             cpu0 8 >read fd=3
             cpu0 15 <read ret=10
             cpu0 16 >read fd=3
             cpu0 20 <read ret=100
             cpu0 30 7>0",
        );
        let range = TimeRange::new(Timestamp::from_ns(10), Timestamp::from_ns(20));
        let known = Known::default();
        let report = every_way::ask(&trace, |source| pass::Io::new(source, &known, range, false));
        assert_eq!(told(&report), "7:t7 10/1 0/0 | /a 10/1 0/0");
        let row = serde_json::to_value(&report.files[0]).unwrap();
        let keys = serde_json::json!({"path": "/a", "read_bytes": 10, "write_bytes": 0, "reads": 1, "writes": 0});
        assert_eq!(row, keys);
    }
}
