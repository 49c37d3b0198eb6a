//! `statedump.jsonl`: who existed and which files they held open, which events alone cannot tell.
//!
//! Written in full when a recording begins and ends; meanwhile only what a look at `/proc` finds
//! new: processes and threads, and descriptors of the recorded command. A flight recorder keeps the
//! last lines in memory instead.

use std::collections::{BTreeMap, VecDeque};
use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::Path;

use serde::Serialize;
use slowpath_model::{ProcessId, ThreadId};
use slowpath_platform::clocks::monotonic_ns;

use crate::processes::{self, OpenFile};

/// How many lines a flight recorder remembers between snapshots.
const REMEMBERED_LINES: usize = 16_384;

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
    cgroup: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    fds: Option<&'a [OpenFile]>,
}

/// What was seen, and where it is noted.
#[derive(Debug)]
pub(crate) struct StateDump {
    sink: Sink,
    known: BTreeMap<ProcessId, Known>,
    command: Option<ProcessId>,
}

#[derive(Debug)]
enum Sink {
    File(BufWriter<File>),
    Memory(VecDeque<Vec<u8>>),
}

#[derive(Debug)]
struct Known {
    parent: ProcessId,
    /// The recorded command or one of its descendants.
    is_command: bool,
    threads: Vec<ThreadId>,
    files: Vec<OpenFile>,
}

impl StateDump {
    /// Notes into `folder`.
    pub(crate) fn to_folder(folder: &Path) -> io::Result<Self> {
        let file = File::create(folder.join(FILE_NAME))?;
        Ok(Self {
            sink: Sink::File(BufWriter::new(file)),
            known: BTreeMap::new(),
            command: None,
        })
    }

    /// Notes into memory.
    pub(crate) fn to_memory() -> Self {
        Self {
            sink: Sink::Memory(VecDeque::new()),
            known: BTreeMap::new(),
            command: None,
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
                Some(known) if known.is_command => self.note_changes(process)?,
                Some(_) => {}
            }
        }
        if let Sink::File(file) = &mut self.sink {
            file.flush()?;
        }
        Ok(())
    }

    /// The processes of the recorded command that were there at the last look.
    pub(crate) fn command_processes(&self) -> impl Iterator<Item = ProcessId> {
        self.known
            .iter()
            .filter(|(_, known)| known.is_command)
            .map(|(process, _)| *process)
    }

    /// Writes what is remembered, and then the present, as a file of its own in `folder`.
    pub(crate) fn write_snapshot(&mut self, folder: &Path) -> io::Result<()> {
        self.dump_all()?;
        if let Sink::Memory(lines) = &self.sink {
            let mut file = BufWriter::new(File::create(folder.join(FILE_NAME))?);
            for line in lines {
                file.write_all(line)?;
            }
            file.flush()?;
        }
        Ok(())
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
            files: Vec::new(),
        };
        known.files = processes::open_files(process);
        self.write(leader, process, parent, &stat.comm, Some(&known.files))?;
        self.note_new_threads(process, &mut known)?;
        self.known.insert(process, known);
        Ok(())
    }

    fn note_changes(&mut self, process: ProcessId) -> io::Result<()> {
        let Some(mut known) = self.known.remove(&process) else {
            return Ok(());
        };
        self.note_new_threads(process, &mut known)?;
        let files = processes::open_files(process);
        if files != known.files
            && let Some(stat) = processes::task_stat(process, ThreadId(process.0))
        {
            self.write(
                ThreadId(process.0),
                process,
                known.parent,
                &stat.comm,
                Some(&files),
            )?;
            known.files = files;
        }
        self.known.insert(process, known);
        Ok(())
    }

    fn note_new_threads(&mut self, process: ProcessId, known: &mut Known) -> io::Result<()> {
        let present = processes::threads(process);
        for thread in &present {
            let is_new = thread.0 != process.0 && known.threads.binary_search(thread).is_err();
            if is_new && let Some(stat) = processes::task_stat(process, *thread) {
                self.write(*thread, process, known.parent, &stat.comm, None)?;
            }
        }
        known.threads = present;
        Ok(())
    }

    fn write(
        &mut self,
        tid: ThreadId,
        pid: ProcessId,
        ppid: ProcessId,
        comm: &str,
        fds: Option<&[OpenFile]>,
    ) -> io::Result<()> {
        let line = Line {
            at_ns: monotonic_ns(),
            tid,
            pid,
            ppid,
            comm,
            cgroup: fds.and_then(|_| processes::control_group(pid)),
            fds,
        };
        let mut bytes = serde_json::to_vec(&line)?;
        bytes.push(b'\n');
        match &mut self.sink {
            Sink::File(file) => file.write_all(&bytes),
            Sink::Memory(lines) => {
                if lines.len() == REMEMBERED_LINES {
                    lines.pop_front();
                }
                lines.push_back(bytes);
                Ok(())
            }
        }
    }
}

/// Copies the tables that name interrupts and disks into `folder`.
pub(crate) fn write_tables(folder: &Path) -> io::Result<()> {
    let interrupts = serde_json::to_vec_pretty(&crate::host::interrupts())?;
    fs::write(folder.join("interrupts.json"), interrupts)?;
    let disks = serde_json::to_vec_pretty(&crate::host::block_devices())?;
    fs::write(folder.join("block_devices.json"), disks)
}
