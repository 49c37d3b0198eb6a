//! An ftrace instance of our own: set up, drained, described and removed.
//!
//! The instance holds nothing of the user's own tracing. Its `trace_pipe_raw` files stay open as
//! long as a recorder or its guardian lives; the kernel refuses to remove an instance that is held
//! so, and `leftovers.rs` does not try where a claim is held.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, Read};
use std::os::fd::{AsFd, BorrowedFd};
use std::path::{Path, PathBuf};

use slowpath_model::{CpuId, ThreadId};
use slowpath_platform::tracefs;

use crate::claims;
use crate::error::RecordError;
use crate::leftovers;
use crate::manifest::Mode;
use crate::storage::PageFiles;

/// The kernel's clock that user-space events share.
pub(crate) const CLOCK: &str = "mono";

/// A device gives a packet back to this host. That the loopback device does so with each that was queued there is known.
const GIVEN_BACK: &str = "net:netif_rx";
const BY_OTHERS: &str = "name != \"lo\"";

/// A ring that is this full wakes its reader.
const WAKE_AT_PERCENT: &str = "50";

/// How the instance is to record.
#[derive(Clone, Debug)]
pub(crate) struct Setup<'a> {
    pub(crate) events: &'a [String],
    pub(crate) buffer_bytes_per_cpu: u64,
    /// The thread whose system calls are not recorded: the one that moves events to the disk, which
    /// would otherwise stand first in `slowpath io`. `None` where it is not known by its number in events.
    pub(crate) silent: Option<ThreadId>,
}

/// A tracing instance.
#[derive(Debug)]
pub(crate) struct Instance {
    tracefs: PathBuf,
    folder: PathBuf,
    rings: Vec<(CpuId, File)>,
    page_size: u64,
}

impl Instance {
    /// Makes an instance that does not trace yet, after removing those that dead recorders left.
    pub(crate) fn create(
        tracefs: PathBuf,
        name: &str,
        talk: &mut dyn FnMut(&str),
    ) -> Result<Self, RecordError> {
        let parent = tracefs.join("instances");
        // Until the rings are open, another recorder's clean-up would take this for a leftover.
        let lock = File::open(&parent).map_err(refused(&parent))?;
        lock.lock().map_err(refused(&parent))?;
        for name in leftovers::remove_instances(&parent, &claims::run_folder()) {
            talk(&format!(
                "removed the tracing instance {name} of a recorder that was killed"
            ));
        }
        let folder = parent.join(name);
        fs::create_dir(&folder).map_err(refused(&folder))?;
        let mut instance = Self {
            tracefs,
            folder,
            rings: Vec::new(),
            page_size: 0,
        };
        let opened = instance
            .write("tracing_on", "0")
            .and_then(|()| instance.open_rings());
        opened.map(|()| instance)
    }

    fn open_rings(&mut self) -> Result<(), RecordError> {
        let path = self.folder.join("events/header_page");
        let header = self.text("events/header_page").map_err(refused(&path))?;
        self.page_size = page_size(&header).ok_or_else(|| {
            let cause = io::Error::new(io::ErrorKind::InvalidData, "it states no page size");
            refused(&path)(cause)
        })?;
        let per_cpu = self.folder.join("per_cpu");
        for entry in fs::read_dir(&per_cpu).map_err(refused(&per_cpu))?.flatten() {
            let name = entry.file_name();
            let number = name
                .to_str()
                .and_then(|name| name.strip_prefix("cpu")?.parse().ok());
            if let Some(number) = number {
                let path = entry.path().join("trace_pipe_raw");
                let ring = tracefs::open_ring(&path).map_err(refused(&path))?;
                self.rings.push((CpuId(number), ring));
            }
        }
        self.rings.sort_by_key(|(cpu, _)| *cpu);
        Ok(())
    }

    /// The processors, in ascending order: the positions that [`PageFiles`] has.
    pub(crate) fn cpus(&self) -> impl Iterator<Item = CpuId> {
        self.rings.iter().map(|(cpu, _)| *cpu)
    }

    /// The rings to wait on, in the processors' order: readable when half full.
    pub(crate) fn rings(&self) -> impl Iterator<Item = BorrowedFd<'_>> {
        self.rings.iter().map(|(_, ring)| ring.as_fd())
    }

    /// Bytes of a page of the rings.
    pub(crate) fn page_size(&self) -> u64 {
        self.page_size
    }

    /// Sets clock, buffers, options and events. Tracing stays off.
    pub(crate) fn set_up(&self, setup: &Setup<'_>) -> Result<(), RecordError> {
        self.write("trace_clock", CLOCK)?;
        self.write(
            "buffer_size_kb",
            &setup.buffer_bytes_per_cpu.div_ceil(1024).to_string(),
        )?;
        // A full ring gives up its oldest page and marks the gap in the next; the other mode drops
        // the newest events without saying where.
        self.write("options/overwrite", "1")?;
        // Absent on old kernels, which wake at the first event and have no threads' processes.
        let _ = self.write("buffer_percent", WAKE_AT_PERCENT);
        let _ = self.write("options/record-tgid", "1");
        let _ = self.write("options/record-cmd", "1");
        for event in setup.events {
            let (system, name) = event.split_once(':').unwrap_or(("", event));
            if system == "raw_syscalls"
                && let Some(silent) = setup.silent
            {
                // One test and no more: each costs every system call of everybody a twelfth of what
                // recording it does.
                let but_ours = format!("common_pid != {silent}");
                let _ = self.write(&format!("events/{system}/{name}/filter"), &but_ours);
            }
            if event == GIVEN_BACK {
                let _ = self.write(&format!("events/{system}/{name}/filter"), BY_OTHERS);
            }
            self.write(&format!("events/{system}/{name}/enable"), "1")?;
        }
        Ok(())
    }

    /// Where it is in the tracing file system.
    pub(crate) fn folder(&self) -> &Path {
        &self.folder
    }

    /// Adds an event of those that `filter` is true for.
    pub(crate) fn record(&self, system: &str, name: &str, filter: &str) -> Result<(), RecordError> {
        self.write(&format!("events/{system}/{name}/filter"), filter)?;
        self.write(&format!("events/{system}/{name}/enable"), "1")
    }

    /// Writes the descriptions of a system's events, as those of another.
    pub(crate) fn save_system(
        &self,
        folder: &Path,
        system: &str,
        saved_as: &str,
    ) -> io::Result<()> {
        for entry in fs::read_dir(self.folder.join("events").join(system))?.flatten() {
            if let Ok(text) = read_text(&entry.path().join("format")) {
                let target = folder.join("events").join(saved_as).join(entry.file_name());
                fs::create_dir_all(&target)?;
                fs::write(target.join("format"), text)?;
            }
        }
        Ok(())
    }

    /// Starts or stops recording into the rings.
    pub(crate) fn trace(&self, on: bool) -> Result<(), RecordError> {
        self.write("tracing_on", if on { "1" } else { "0" })
    }

    /// Appends the whole pages that wait in the ring at `position`; returns their bytes.
    pub(crate) fn drain(&self, files: &mut PageFiles, position: usize) -> io::Result<u64> {
        files.append_pages(position, &self.rings[position].1)
    }

    /// Appends everything, once tracing has stopped: of every processor, also where one fails.
    pub(crate) fn drain_rest(&self, files: &mut PageFiles) -> io::Result<()> {
        let rings = self.rings.iter().enumerate();
        let written =
            rings.map(|(index, (_, ring))| files.append_rest(index, ring, self.page_size));
        written.fold(Ok(()), io::Result::and)
    }

    /// Writes the texts that describe the pages and do not change while they are recorded.
    pub(crate) fn save_formats(&self, folder: &Path, events: &[String]) -> io::Result<()> {
        for name in ["header_page", "header_event"] {
            let text = self.text(&format!("events/{name}"))?;
            fs::write(folder.join(name), text)?;
        }
        fs::write(folder.join("trace_clock"), self.text("trace_clock")?)?;
        // Markers and the like may be written into any instance, so their formats are kept too.
        let own = fs::read_dir(self.tracefs.join("events/ftrace"))
            .into_iter()
            .flatten()
            .flatten();
        let own = own.map(|entry| format!("ftrace:{}", entry.file_name().to_string_lossy()));
        for event in own.chain(events.iter().cloned()) {
            let relative = format!("events/{}", event.replacen(':', "/", 1));
            if let Ok(text) = self.text(&format!("{relative}/format")) {
                let target = folder.join(relative);
                fs::create_dir_all(&target)?;
                fs::write(target.join("format"), text)?;
            }
        }
        if let Some(symbols) = crate::host::code_symbols() {
            fs::write(folder.join("kallsyms"), symbols)?;
        }
        Ok(())
    }

    /// Writes the texts that grow while pages are recorded: names, processes of threads, counts.
    pub(crate) fn save_tables(&self, folder: &Path) -> io::Result<()> {
        for name in ["saved_cmdlines", "saved_tgids", "printk_formats"] {
            // The kernel may have no such table; readers go without.
            if let Ok(text) = self.text(name) {
                fs::write(folder.join(name), text)?;
            }
        }
        fs::create_dir_all(folder.join("stats"))?;
        for cpu in self.cpus() {
            let text = self.text(&format!("per_cpu/cpu{cpu}/stats"))?;
            fs::write(folder.join(format!("stats/cpu{cpu}")), text)?;
        }
        Ok(())
    }

    /// Events lost so far, by processor. What a flight recorder overwrites is not lost.
    pub(crate) fn lost_events(&self, mode: Mode) -> BTreeMap<CpuId, u64> {
        let lost_on = |cpu| {
            let stats = self
                .text(&format!("per_cpu/cpu{cpu}/stats"))
                .unwrap_or_default();
            lost_in(&stats, mode)
        };
        self.cpus()
            .map(|cpu| (cpu, lost_on(cpu)))
            .filter(|(_, lost)| *lost > 0)
            .collect()
    }

    /// A text of the instance or, where only the whole tracer has it, of that.
    fn text(&self, name: &str) -> io::Result<String> {
        read_text(&self.folder.join(name)).or_else(|_| read_text(&self.tracefs.join(name)))
    }

    fn write(&self, name: &str, value: &str) -> Result<(), RecordError> {
        let path = self.folder.join(name);
        fs::write(&path, value).map_err(refused(&path))
    }
}

/// Closes the rings and removes the instance; the kernel switches its events off. Refused by the kernel while
/// another process holds a ring: that one then removes it.
impl Drop for Instance {
    fn drop(&mut self) {
        self.rings.clear();
        // Whatever remains is found by the next recorder's clean-up.
        let _ = fs::remove_dir(&self.folder);
    }
}

/// How many rings of an instance have memory: those of processors that are online. There is one for each processor
/// that there may be.
pub(crate) fn ring_count(tracefs: &Path) -> u64 {
    let possible = || {
        let entries = fs::read_dir(tracefs.join("per_cpu")).into_iter().flatten();
        entries.flatten().count()
    };
    crate::host::online_cpus().map_or_else(possible, |online| online.len()) as u64
}

/// Reads a text of the tracer. Some are made anew for every read(2) and cut to its size, so the first
/// must be a large one.
fn read_text(path: &Path) -> io::Result<String> {
    let mut bytes = vec![0; 1 << 16];
    let mut file = File::open(path)?;
    let count = file.read(&mut bytes)?;
    bytes.truncate(count);
    file.read_to_end(&mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// The events that this kernel offers, one `system:event` a line.
pub(crate) fn available_events(tracefs: &Path) -> Result<String, RecordError> {
    let path = tracefs.join("available_events");
    fs::read_to_string(&path).map_err(refused(&path))
}

fn refused(path: &Path) -> impl FnOnce(io::Error) -> RecordError {
    move |cause| RecordError::Tracer {
        path: path.to_owned(),
        cause,
    }
}

/// The size of a page as `header_page` states it: where its data begin and how long they are.
fn page_size(header_page: &str) -> Option<u64> {
    let data = header_page.lines().find(|line| line.contains(" data;"))?;
    let number = |key: &str| -> Option<u64> {
        let (_, rest) = data.split_once(key)?;
        rest.split(';').next()?.trim().parse().ok()
    };
    number("offset:")?.checked_add(number("size:")?)
}

fn lost_in(stats: &str, mode: Mode) -> u64 {
    let counted: &[&str] = match mode {
        Mode::Standard => &["overrun", "commit overrun", "dropped events"],
        Mode::Snapshot => &["commit overrun", "dropped events"],
    };
    let pairs = stats.lines().filter_map(|line| line.split_once(':'));
    let lost = pairs.filter(|(name, _)| counted.contains(&name.trim()));
    lost.filter_map(|(_, value)| value.trim().parse::<u64>().ok())
        .sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_is_as_long_as_its_header_says() {
        let text = "\tfield: u64 timestamp;\toffset:0;\tsize:8;\tsigned:0;\n\
                    \tfield: local_t commit;\toffset:8;\tsize:8;\tsigned:1;\n\
                    \tfield: char data;\toffset:16;\tsize:65520;\tsigned:0;\n";
        assert_eq!(page_size(text), Some(65536));
        assert_eq!(page_size("field: char data;\toffset:x;"), None);
    }

    #[test]
    fn overwritten_events_are_lost_to_a_standard_recording_only() {
        let stats = "entries: 12\noverrun: 7\ncommit overrun: 2\nbytes: 99\n\
                     oldest event ts:  1.5\nnow ts:  2.5\ndropped events: 30\nread events: 4\n";
        assert_eq!(lost_in(stats, Mode::Standard), 39);
        assert_eq!(lost_in(stats, Mode::Snapshot), 32);
    }
}
