//! `statedump.jsonl`: who existed and which files they held open, which events alone cannot tell.
//!
//! Written in full when a recording begins and ends; meanwhile only what a look at `/proc` finds
//! new: processes and threads, and descriptors of the recorded command. A flight recorder keeps the
//! last lines in memory instead.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::path::Path;

use serde::Serialize;
use slowpath_model::{ProcessId, ThreadId};
use slowpath_platform::clocks::monotonic_ns;

use crate::notes::Notes;
use crate::processes::{self, OpenFile};

pub(crate) const FILE_NAME: &str = "statedump.jsonl";

/// One thread at one moment.
#[derive(Serialize)]
struct Line<'a> {
    at_ns: i64,
    tid: ThreadId,
    pid: ProcessId,
    ppid: ProcessId,
    comm: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pid_inside: Option<ProcessId>,
    /// It runs a program of 32 bits.
    #[serde(skip_serializing_if = "Option::is_none")]
    is_of_32_bit: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cgroup: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    fds: Option<&'a [OpenFile]>,
    /// When it began to be looked at these.
    #[serde(skip_serializing_if = "Option::is_none")]
    fds_since_ns: Option<i64>,
}

/// What was seen, and where it is noted.
#[derive(Debug)]
pub(crate) struct StateDump {
    notes: Notes,
    known: BTreeMap<ProcessId, Known>,
    command: Option<ProcessId>,
    /// Control groups in which processes were seen that were new, or had moved.
    entered: BTreeSet<String>,
    /// Processes have numbers here by which the kernel's events call others: what is said of them would be told of those.
    is_of_others: bool,
}

#[derive(Debug)]
struct Known {
    parent: ProcessId,
    /// The recorded command or one of its descendants.
    is_command: bool,
    threads: Vec<ThreadId>,
    files: Vec<OpenFile>,
    files_since_ns: i64,
    /// A second look found the same files, so that none became another one while it was looked at them.
    are_files_sure: bool,
    group: Option<String>,
    /// Its number in its own namespace, where that is another one.
    inside: Option<ProcessId>,
    is_of_32_bit: bool,
    /// It has been looked at again since it was new: what starts a service moves it to its group only
    /// then.
    is_settled: bool,
}

impl StateDump {
    /// Notes into `folder`.
    pub(crate) fn to_folder(folder: &Path) -> io::Result<Self> {
        Ok(Self::to(Notes::to_file(&folder.join(FILE_NAME))?))
    }

    /// Notes into memory.
    pub(crate) fn to_memory() -> Self {
        Self::to(Notes::to_memory())
    }

    fn to(notes: Notes) -> Self {
        Self {
            notes,
            known: BTreeMap::new(),
            command: None,
            entered: BTreeSet::new(),
            is_of_others: !processes::are_numbered_as_in_events(),
        }
    }

    /// Says which process is the recorded command: its descriptors are looked at again and again.
    pub(crate) fn follow(&mut self, command: ProcessId) {
        self.command = Some(command);
    }

    /// Notes every thread there is.
    pub(crate) fn dump_all(&mut self) -> io::Result<()> {
        self.known.clear();
        self.look_for_news()
    }

    /// Notes what is new since the last look.
    pub(crate) fn look_for_news(&mut self) -> io::Result<()> {
        let present = processes::processes();
        self.known
            .retain(|process, _| present.binary_search(process).is_ok());
        for process in present {
            match self.known.get(&process) {
                None => self.note_process(process)?,
                Some(known) if known.is_command || !known.is_settled => {
                    self.note_changes(process)?;
                }
                Some(_) => {}
            }
        }
        self.notes.flush()
    }

    /// The processes of the recorded command that were there at the last look.
    pub(crate) fn command_processes(&self) -> impl Iterator<Item = ProcessId> {
        self.known
            .iter()
            .filter(|(_, known)| known.is_command)
            .map(|(process, _)| *process)
    }

    /// The control groups that processes were found in, new or moved, since this was asked last.
    pub(crate) fn take_entered(&mut self) -> BTreeSet<String> {
        std::mem::take(&mut self.entered)
    }

    /// Writes what is remembered, and then the present, as a file of its own in `folder`.
    pub(crate) fn write_snapshot(&mut self, folder: &Path) -> io::Result<()> {
        self.dump_all()?;
        self.notes.write_remembered(&folder.join(FILE_NAME))
    }

    fn note_process(&mut self, process: ProcessId) -> io::Result<()> {
        let leader = ThreadId(process.0);
        let Some(stat) = processes::task_stat(process, leader) else {
            return Ok(());
        };
        let parent = stat.parent;
        let is_command = Some(process) == self.command
            || self
                .known
                .get(&parent)
                .is_some_and(|known| known.is_command);
        let mut known = Known {
            parent,
            is_command,
            threads: Vec::new(),
            files_since_ns: monotonic_ns(),
            files: processes::open_files(process),
            are_files_sure: false,
            group: processes::control_group(process),
            inside: processes::number_inside(process),
            is_of_32_bit: processes::is_of_32_bit(process),
            is_settled: false,
        };
        self.write(leader, process, &stat.comm, &known, true)?;
        self.note_new_threads(process, &mut known)?;
        self.known.insert(process, known);
        Ok(())
    }

    fn note_changes(&mut self, process: ProcessId) -> io::Result<()> {
        let Some(mut known) = self.known.remove(&process) else {
            return Ok(());
        };
        if known.is_command {
            self.note_new_threads(process, &mut known)?;
        }
        let group = processes::control_group(process);
        let is_of_32_bit = processes::is_of_32_bit(process);
        let since_ns = monotonic_ns();
        let mut says_files = false;
        if known.is_command {
            let files = processes::open_files(process);
            let are_the_same = files == known.files;
            says_files = !are_the_same || !known.are_files_sure;
            known.are_files_sure = are_the_same;
            (known.files, known.files_since_ns) = (files, since_ns);
        }
        if (says_files || group != known.group || is_of_32_bit != known.is_of_32_bit)
            && let Some(stat) = processes::task_stat(process, ThreadId(process.0))
        {
            known.group = group;
            known.is_of_32_bit = is_of_32_bit;
            self.write(ThreadId(process.0), process, &stat.comm, &known, true)?;
        }
        known.is_settled = true;
        self.known.insert(process, known);
        Ok(())
    }

    fn note_new_threads(&mut self, process: ProcessId, known: &mut Known) -> io::Result<()> {
        let present = processes::threads(process);
        for thread in &present {
            let is_new = thread.0 != process.0 && known.threads.binary_search(thread).is_err();
            if is_new && let Some(stat) = processes::task_stat(process, *thread) {
                self.write(*thread, process, &stat.comm, known, false)?;
            }
        }
        known.threads = present;
        Ok(())
    }

    /// Notes a thread; the first one of a process with what is `of_process`.
    fn write(
        &mut self,
        tid: ThreadId,
        pid: ProcessId,
        comm: &str,
        known: &Known,
        of_process: bool,
    ) -> io::Result<()> {
        self.entered.extend(known.group.clone());
        if self.is_of_others {
            return Ok(());
        }
        let line = Line {
            at_ns: monotonic_ns(),
            tid,
            pid,
            ppid: known.parent,
            comm,
            pid_inside: known.inside.filter(|_| of_process),
            is_of_32_bit: Some(true).filter(|_| known.is_of_32_bit && of_process),
            cgroup: known.group.as_deref().filter(|_| of_process),
            fds: of_process.then_some(&known.files),
            fds_since_ns: of_process.then_some(known.files_since_ns),
        };
        self.notes.add(&line)
    }
}

/// Copies the tables that name interrupts and disks into `folder`.
pub(crate) fn write_tables(folder: &Path) -> io::Result<()> {
    let interrupts = serde_json::to_vec_pretty(&crate::host::interrupts())?;
    fs::write(folder.join("interrupts.json"), interrupts)?;
    let disks = serde_json::to_vec_pretty(&crate::host::block_devices())?;
    fs::write(folder.join("block_devices.json"), disks)
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::process::{Command, Stdio};

    use super::*;

    #[test]
    fn what_a_process_holds_open_is_said_again_until_a_look_finds_it_unchanged() {
        let folder = tempfile::tempdir().expect("a folder");
        let mut dump = StateDump::to_folder(folder.path()).expect("a file");
        dump.is_of_others = false;
        let mut child = Command::new("cat")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("cat runs");
        let process = ProcessId(child.id() as i32);
        dump.follow(process);
        // It has begun when it answers.
        let _ = child.stdin.as_mut().map(|pipe| pipe.write_all(b"?"));
        let _ = child.stdout.as_mut().map(|pipe| pipe.read_exact(&mut [0]));
        let mut lines = || {
            dump.look_for_news().expect("a look");
            let text = fs::read_to_string(folder.path().join(FILE_NAME)).expect("lines");
            let start = format!("\"tid\":{process},");
            text.matches(&start).count()
        };
        // The second one is of files that had stayed the same.
        let counts = [lines(), lines(), lines()];
        drop(child.stdin.take());
        let _ = child.wait();
        assert_eq!(counts, [1, 2, 2]);
    }
}
