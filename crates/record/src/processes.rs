//! `/proc` as far as a recording reads it: who exists, what they are called, what they hold open.
//!
//! Processes vanish while one looks at them; whatever cannot be read any more is left out.

use std::fs;
use std::io::Read;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use serde::Serialize;
use slowpath_model::{ProcessId, ThreadId};

/// A line of `/proc/PID/task/TID/stat`, as far as needed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct TaskStat {
    pub(crate) comm: String,
    pub(crate) parent: ProcessId,
}

/// An open file descriptor.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct OpenFile {
    pub(crate) fd: i32,
    pub(crate) path: String,
}

/// `/proc/…/schedstat`: nanoseconds on a processor, nanoseconds runnable but waiting for one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SchedStat {
    pub(crate) run_ns: u64,
    pub(crate) wait_ns: u64,
}

/// All processes, in ascending order.
pub(crate) fn processes() -> Vec<ProcessId> {
    numbered_entries(Path::new("/proc"))
        .into_iter()
        .map(ProcessId)
        .collect()
}

/// The threads of a process, in ascending order.
pub(crate) fn threads(process: ProcessId) -> Vec<ThreadId> {
    numbered_entries(Path::new(&format!("/proc/{process}/task")))
        .into_iter()
        .map(ThreadId)
        .collect()
}

/// The control group in which the process gets CPU time: of version 1 that of the controller cpu, else of
/// version 2. `/` is the root of all groups: `None` where only the recorder's container has it for one.
pub(crate) fn control_group(process: ProcessId) -> Option<String> {
    let group = parse_control_group(&fs::read_to_string(format!("/proc/{process}/cgroup")).ok()?)?;
    (group != "/" || sees_all_groups()).then_some(group)
}

/// Whether the groups that this process sees are all there are: it is in no container.
pub(crate) fn sees_all_groups() -> bool {
    /// Number of the first namespace of control groups (`PROC_CGROUP_INIT_INO` of the kernel).
    const OUTERMOST: u64 = 0xEFFF_FFFB;
    fs::metadata("/proc/self/ns/cgroup").is_ok_and(|namespace| namespace.ino() == OUTERMOST)
}

/// Whether processes have the numbers here by which the kernel's events call them: `/proc` is not that of a container, nor
/// is this process in one that shows no other.
pub(crate) fn are_numbered_as_in_events() -> bool {
    /// Number of the first namespace of processes (`PROC_PID_INIT_INO` of the kernel).
    const OUTERMOST: u64 = 0xEFFF_FFFC;
    let is_outermost = |namespace: fs::Metadata| namespace.ino() == OUTERMOST;
    // No namespace but the first has threads of the kernel's own.
    let maker = task_stat(ProcessId(2), ThreadId(2));
    fs::metadata("/proc/self/ns/pid").map_or(true, is_outermost)
        || maker.is_some_and(|stat| stat.comm == "kthreadd" && stat.parent == ProcessId(0))
}

/// This process, as the kernel's events call it, where that is known.
pub(crate) fn this_in_events() -> Option<ThreadId> {
    let own = fs::read_link("/proc/self").ok()?;
    let own = own.to_str()?.parse().ok().map(ThreadId);
    own.filter(|_| are_numbered_as_in_events())
}

/// Whether a process runs a program of 32 bits: its calls have other numbers on a 64-bit kernel.
pub(crate) fn is_of_32_bit(process: ProcessId) -> bool {
    /// Of a file in ELF: the magic number, and the class for 32 bits.
    const BEGIN: [u8; 5] = *b"\x7fELF\x01";
    let mut begin = [0; BEGIN.len()];
    let program = fs::File::open(format!("/proc/{process}/exe"));
    program.is_ok_and(|mut program| program.read_exact(&mut begin).is_ok()) && begin == BEGIN
}

/// The number that a process has in its own namespace, where that is another one than here.
pub(crate) fn number_inside(process: ProcessId) -> Option<ProcessId> {
    let status = fs::read_to_string(format!("/proc/{process}/status")).ok()?;
    parse_number_inside(&status).filter(|inside| *inside != process)
}

/// `NSpid:` has its numbers from our namespace to its own.
fn parse_number_inside(status: &str) -> Option<ProcessId> {
    let numbers = status
        .lines()
        .find_map(|line| line.strip_prefix("NSpid:"))?;
    let own = numbers.split_ascii_whitespace().next_back()?;
    own.parse().ok().map(ProcessId)
}

/// Lines are `number:controllers:path`; version 2 has number 0 and no controllers.
fn parse_control_group(text: &str) -> Option<String> {
    let parts = text.lines().filter_map(|line| {
        let (_, rest) = line.split_once(':')?;
        rest.split_once(':')
    });
    let has_cpu = |controllers: &str| controllers.split(',').any(|one| one == "cpu");
    let mut version_2 = None;
    for (controllers, path) in parts {
        if has_cpu(controllers) {
            return Some(path.to_owned());
        }
        if controllers.is_empty() {
            version_2 = Some(path);
        }
    }
    version_2.map(str::to_owned)
}

/// Name and parent of a thread.
pub(crate) fn task_stat(process: ProcessId, thread: ThreadId) -> Option<TaskStat> {
    let text = fs::read(format!("/proc/{process}/task/{thread}/stat")).ok()?;
    parse_stat(&String::from_utf8_lossy(&text))
}

/// The name may hold any character, so it ends at the last parenthesis.
fn parse_stat(text: &str) -> Option<TaskStat> {
    let (begin, end) = (text.find('(')?, text.rfind(')')?);
    let comm = text.get(begin + 1..end)?.to_owned();
    let parent = text[end + 1..]
        .split_ascii_whitespace()
        .nth(1)?
        .parse()
        .ok()?;
    Some(TaskStat {
        comm,
        parent: ProcessId(parent),
    })
}

/// The descriptors of a process, in ascending order.
pub(crate) fn open_files(process: ProcessId) -> Vec<OpenFile> {
    let folder = format!("/proc/{process}/fd");
    let path_of = |fd| {
        let path = fs::read_link(format!("{folder}/{fd}")).ok()?;
        Some(OpenFile {
            fd,
            path: path.to_string_lossy().into_owned(),
        })
    };
    numbered_entries(Path::new(&folder))
        .into_iter()
        .filter_map(path_of)
        .collect()
}

/// The CPU times of a thread; `None` also where the kernel keeps none (`CONFIG_SCHED_INFO`).
pub(crate) fn sched_stat(process: ProcessId, thread: ThreadId) -> Option<SchedStat> {
    let text = fs::read_to_string(format!("/proc/{process}/task/{thread}/schedstat")).ok()?;
    let mut numbers = text.split_ascii_whitespace().map(str::parse);
    Some(SchedStat {
        run_ns: numbers.next()?.ok()?,
        wait_ns: numbers.next()?.ok()?,
    })
}

fn numbered_entries(folder: &Path) -> Vec<i32> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut numbers: Vec<i32> = entries
        .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
        .collect();
    numbers.sort_unstable();
    numbers
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_control_group_is_the_one_that_shares_out_cpu_time() {
        let group = |text: &str| parse_control_group(text).unwrap_or_default();
        assert_eq!(
            group("0::/system.slice/shop.service\n"),
            "/system.slice/shop.service"
        );
        let mixed = "4:memory:/all\n3:cpu,cpuacct:/limited:1\n0::/other\n";
        assert_eq!(group(mixed), "/limited:1");
        assert_eq!(group("1:cpu:/\n0::/other\n"), "/");
        assert_eq!(group("0::/\n"), "/");
        assert_eq!(group("nonsense"), "");
    }

    #[test]
    fn a_name_with_parentheses_and_spaces_is_read_whole() {
        let stat = parse_stat("42 (a) b (c) S 7 42 42 0 -1").map(|stat| (stat.comm, stat.parent.0));
        assert_eq!(stat, Some(("a) b (c".to_owned(), 7)));
        assert_eq!(parse_stat("42 (cut"), None);
    }

    #[test]
    fn this_process_is_seen_with_its_threads_and_files() {
        let own = ProcessId(std::process::id() as i32);
        assert!(processes().contains(&own));
        assert!(threads(own).contains(&ThreadId(own.0)));
        let file = tempfile::NamedTempFile::new().expect("a temporary file");
        let path = file.path().to_string_lossy();
        assert!(open_files(own).iter().any(|open| open.path == path));
    }
}
