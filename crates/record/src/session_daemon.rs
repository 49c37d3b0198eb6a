//! LTTng's session daemon: one per user (for root one per machine), started where none runs.
//!
//! Who started it is noted in a file, so that the last recording to end stops a daemon that
//! recordings started, and nobody stops one that somebody else uses.

use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{self, Read, Seek, Write};
use std::path::PathBuf;
use std::process::Stdio;
use std::time::{Duration, Instant};

use slowpath_platform::ownership::may_write;
use slowpath_platform::process::{StartTime, helper, is_root, start_time, terminate};
use slowpath_platform::signals::SignalPipe;

use crate::claims;
use crate::lttng::{lttng, session_names};

/// The file that says which daemon recordings started.
const NOTE: &str = "slowpath-lttng-sessiond";

/// How long a daemon may take to end; LTTng 2.13 takes 2 s.
const PATIENCE: Duration = Duration::from_secs(10);

/// How long applications may take to find a new daemon; LTTng 2.13 sleeps 5 s.
const PATIENCE_WITH_APPLICATIONS: Duration = Duration::from_secs(6);

/// The daemon that a recording started.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Daemon {
    pid: i32,
    start: StartTime,
    /// It has been told to end, and takes its time.
    is_ending: bool,
}

/// A daemon that runs, and that no other recorder ends before this is dropped.
pub(crate) struct Running {
    _note: File,
    /// It was started just now.
    pub(crate) is_new: bool,
}

/// Makes sure that a session daemon runs. `with_kernel` is what one that must be started is to do.
///
/// # Errors
/// What the daemon said when it could not be started.
pub(crate) fn ensure_running(with_kernel: bool) -> Result<Running, String> {
    let mut note = locked_note().map_err(|cause| format!("no note of the daemon: {cause}"))?;
    if let Some(daemon) = read_note(&mut note).filter(|daemon| daemon.is_ending) {
        let deadline = Instant::now() + PATIENCE;
        while daemon.is_there() && Instant::now() < deadline {
            std::thread::sleep(Duration::from_millis(20));
        }
    }
    if lttng(&["list"]).is_ok() {
        return Ok(Running {
            _note: note,
            is_new: false,
        });
    }
    let mut daemon = helper("lttng-sessiond");
    daemon.arg("--daemonize");
    if !with_kernel {
        daemon.arg("--no-kernel");
    }
    if let Some(home) = home() {
        daemon.env("LTTNG_HOME", home);
    }
    daemon
        .current_dir("/")
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    let status = daemon
        .status()
        .map_err(|cause| format!("lttng-sessiond: {cause}"))?;
    if !status.success() {
        return Err(format!("lttng-sessiond ended with {status}"));
    }
    let pid = fs::read_to_string(pid_file())
        .ok()
        .and_then(|text| text.trim().parse().ok());
    if let Some((pid, start)) = pid.and_then(|pid| Some((pid, start_time(pid)?))) {
        // Without the note the daemon merely outlives the recording.
        let _ = write_note(
            &mut note,
            Daemon {
                pid,
                start,
                is_ending: false,
            },
        );
    }
    Ok(Running {
        _note: note,
        is_new: true,
    })
}

/// After a daemon was started: waits until it knows the applications that can tell events. One whose daemon has
/// ended looks for another after 5 s, every second time. A signal ends the wait.
pub(crate) fn await_applications(signals: &SignalPipe, talk: &mut dyn FnMut(&str)) {
    let begin = Instant::now();
    let mut is_told = false;
    loop {
        let known = lttng(&["list", "--userspace"]).unwrap_or_default();
        let is_unknown = |process: &i32| !known.contains(&format!("PID: {process} "));
        let missing = applications().into_iter().filter(is_unknown).count();
        if missing == 0 || begin.elapsed() > PATIENCE_WITH_APPLICATIONS {
            return;
        }
        if !is_told && begin.elapsed() > Duration::from_millis(500) {
            talk(&format!(
                "waiting for {missing} of the applications that run to find LTTng's new session daemon, 5 s or so"
            ));
            is_told = true;
        }
        if signals.interrupts_sleep(Duration::from_millis(50)) {
            return;
        }
    }
}

/// Processes that have loaded LTTng's library for applications and can reach a daemon of ours.
fn applications() -> Vec<i32> {
    let here = fs::read_link("/proc/self/ns/mnt").ok();
    let processes = fs::read_dir("/proc").into_iter().flatten().flatten();
    let numbers = processes.filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok());
    let has_library = |process: &i32| {
        let of_process = |file: &str| format!("/proc/{process}/{file}");
        let name = fs::read_to_string(of_process("comm")).unwrap_or_default();
        fs::read_link(of_process("ns/mnt")).ok() == here
            // The daemon and its consumers.
            && !name.starts_with("lttng-")
            && fs::read_to_string(of_process("maps"))
                .is_ok_and(|maps| maps.contains("/liblttng-ust.so"))
    };
    numbers.filter(has_library).collect()
}

/// Tells the session daemon to end if a recording started it and no session is left in it. Does not
/// wait for it: the next recording does.
pub(crate) fn stop_if_unused() {
    let Ok(mut note) = locked_note() else { return };
    let Some(daemon) = read_note(&mut note).filter(Daemon::is_there) else {
        return;
    };
    if session_names().is_ok_and(|names| names.is_empty()) {
        terminate(daemon.pid);
        // At worst the next recording meets an ending daemon and says that LTTng refused.
        let _ = write_note(
            &mut note,
            Daemon {
                is_ending: true,
                ..daemon
            },
        );
    }
}

impl Daemon {
    fn is_there(&self) -> bool {
        start_time(self.pid) == Some(self.start)
    }
}

fn read_note(note: &mut File) -> Option<Daemon> {
    let mut text = String::new();
    note.read_to_string(&mut text).ok()?;
    let mut words = text.split_ascii_whitespace();
    let pid = words.next()?.parse().ok()?;
    let start = StartTime(words.next()?.parse().ok()?);
    Some(Daemon {
        pid,
        start,
        is_ending: words.next() == Some("ending"),
    })
}

fn write_note(note: &mut File, daemon: Daemon) -> io::Result<()> {
    note.set_len(0)?;
    note.rewind()?;
    let ending = if daemon.is_ending { " ending" } else { "" };
    writeln!(note, "{} {}{ending}", daemon.pid, daemon.start.0)
}

/// The note, locked against other recorders until it is dropped.
fn locked_note() -> io::Result<File> {
    let path = claims::run_folder().join(NOTE);
    let file = File::options()
        .read(true)
        .write(true)
        .create(true)
        .truncate(false)
        .open(path)?;
    file.lock()?;
    Ok(file)
}

fn pid_file() -> PathBuf {
    let folder = match is_root() {
        true => PathBuf::from("/var/run/lttng"),
        false => home().unwrap_or_default().join(".lttng"),
    };
    folder.join("lttng-sessiond.pid")
}

/// The home folder of a user other than root, where LTTng cannot keep its files in it.
pub(crate) fn unusable_home() -> Option<PathBuf> {
    let home = home().filter(|_| !is_root())?;
    (!may_write(&home)).then_some(home)
}

/// Where LTTng keeps what is a user's.
pub(crate) fn home() -> Option<PathBuf> {
    home_by(|name| std::env::var_os(name))
}

/// The same, where `variable` is the environment; absolute, as the daemon and the `lttng` command run in folders of
/// their own.
fn home_by(variable: impl Fn(&str) -> Option<OsString>) -> Option<PathBuf> {
    let home = variable("LTTNG_HOME").or_else(|| variable("HOME"))?;
    std::path::absolute(home).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_relative_home_lies_in_the_folder_that_the_user_is_in() {
        let here = std::env::current_dir().expect("a folder");
        let check = |lttng_home: Option<&str>, expected| {
            let home = home_by(|name| match name {
                "LTTNG_HOME" => lttng_home.map(OsString::from),
                _ => Some(OsString::from("/users/me")),
            });
            assert_eq!(home, Some(expected), "{lttng_home:?}");
        };
        check(Some("below"), here.join("below"));
        check(Some("/elsewhere"), PathBuf::from("/elsewhere"));
        check(None, PathBuf::from("/users/me"));
    }

    #[test]
    fn the_note_says_which_daemon_and_whether_it_is_ending() {
        let mut note = tempfile::tempfile().expect("a temporary file");
        assert_eq!(read_note(&mut note), None);
        for is_ending in [false, true] {
            let daemon = Daemon {
                pid: 17,
                start: StartTime(4711),
                is_ending,
            };
            write_note(&mut note, daemon).expect("written");
            note.rewind().expect("rewound");
            assert_eq!(read_note(&mut note), Some(daemon));
        }
    }
}
