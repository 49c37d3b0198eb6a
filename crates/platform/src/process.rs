//! Processes: a forked guardian, helpers, who a pid is, and how a child ended without reaping it.
//!
//! Not a process library: only what the standard library lacks and the recorder needs.

use std::ffi::OsStr;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::{Command, Stdio};

use rustix::process::{Pid, PidfdFlags, Signal, WaitId, WaitIdOptions, WaitOptions};

/// The moment a process started, in clock ticks since boot: together with its pid it names the
/// process for good, where a pid alone may be given out again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StartTime(pub u64);

/// When the process `pid` started; `None` when there is no such process, or it has ended and only waits for its parent.
pub fn start_time(pid: i32) -> Option<StartTime> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // Field 22; the name in field 2 may hold spaces and parentheses, so count from its end.
    let mut after_name = stat[stat.rfind(')')? + 1..].split_ascii_whitespace();
    let state = after_name.next()?;
    let start = after_name.nth(18)?.parse().ok()?;
    let has_ended = matches!(state, "Z" | "X");
    (!has_ended).then_some(StartTime(start))
}

/// Asks the process `pid` to end (SIGTERM); nothing happens where there is none or it is not ours.
pub fn terminate(pid: i32) {
    if let Some(pid) = Pid::from_raw(pid).filter(|_| pid > 0) {
        let _ = rustix::process::kill_process(pid, Signal::TERM);
    }
}

/// A program that does a part of this process's work and is to do all of it: it reads nothing, and is in a
/// process group of its own, so that Ctrl-C at the terminal does not end it half-way.
pub fn helper(program: impl AsRef<OsStr>) -> Command {
    let mut command = Command::new(program);
    command.stdin(Stdio::null()).process_group(0);
    command
}

/// Makes the child that `command` will start end (SIGKILL) with the thread that starts it, be in a process group of
/// its own, and join the control group whose `cgroup.procs` is `group` before it becomes the program.
///
/// A control group that cannot be joined any more does not keep it from starting.
pub fn tie(command: &mut Command, group: Option<std::fs::File>) {
    command.process_group(0);
    let parent = rustix::process::getpid();
    let before_exec = move || {
        rustix::process::set_parent_process_death_signal(Some(Signal::KILL))?;
        // The parent may have died before this was said.
        if rustix::process::getppid() != Some(parent) {
            return Err(io::ErrorKind::BrokenPipe.into());
        }
        if let Some(group) = &group {
            let _ = rustix::io::write(group, b"0");
        }
        Ok(())
    };
    // SAFETY: the closure runs between fork and exec, where only async-signal-safe calls may be made: it makes three
    // plain system calls, and neither allocates nor takes a lock.
    #[expect(unsafe_code, reason = "only the child itself can ask for these")]
    unsafe {
        command.pre_exec(before_exec);
    }
}

/// From now on this process becomes the parent of descendants whose own parents end.
///
/// # Errors
/// When the kernel has no such thing.
pub fn adopt_orphans() -> io::Result<()> {
    Ok(rustix::process::set_child_subreaper(Some(
        rustix::process::getpid(),
    ))?)
}

/// Ends all processes of a process group that a child leads, at once or by asking.
pub fn end_group(leader: u32, at_once: bool) {
    let leader = i32::try_from(leader).ok().and_then(Pid::from_raw);
    if let Some(leader) = leader.filter(|leader| !leader.is_init()) {
        let signal = if at_once { Signal::KILL } else { Signal::TERM };
        let _ = rustix::process::kill_process_group(leader, signal);
    }
}

/// Whether any process is in the process group of this number.
pub fn is_group(leader: i32) -> bool {
    let group = Some(leader).filter(|leader| *leader > 1);
    group.and_then(Pid::from_raw).is_some_and(|group| {
        rustix::process::test_kill_process_group(group) != Err(rustix::io::Errno::SRCH)
    })
}

/// Ends a process at once (SIGKILL) if it still is the one that `is_meant` describes, whatever became of its number.
pub fn kill_if(pid: i32, is_meant: impl FnOnce() -> bool) {
    let Some(pid) = Pid::from_raw(pid).filter(|pid| pid.as_raw_pid() > 1) else {
        return;
    };
    if let Ok(descriptor) = rustix::process::pidfd_open(pid, PidfdFlags::empty())
        && is_meant()
    {
        let _ = rustix::process::pidfd_send_signal(descriptor, Signal::KILL);
    }
}

/// Takes note of the end of an adopted child that has ended; nothing happens where it has not.
pub fn reap(pid: i32) {
    if let Some(pid) = Pid::from_raw(pid).filter(|_| pid > 1) {
        let _ = rustix::process::waitpid(Some(pid), WaitOptions::NOHANG);
    }
}

/// Whether this process acts for root.
pub fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

/// The machine's architecture, as `uname -m` says.
pub fn machine() -> String {
    rustix::system::uname()
        .machine()
        .to_string_lossy()
        .into_owned()
}

/// A process that was forked to outlive this one, at the other end of a pipe.
#[derive(Debug)]
pub struct Guardian {
    pid: Pid,
    line: OwnedFd,
}

/// What the guardian saw at the end of its wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Parting {
    /// The guarded process said goodbye.
    Goodbye,
    /// The pipe closed without a word: the guarded process was killed.
    Silence,
}

impl Guardian {
    /// Forks a process in a session of its own (so that no signal of the terminal and no kill of the
    /// process group reaches it), with its standard streams on `/dev/null`. It waits until this
    /// process says [`Guardian::dismiss`] or dies, runs `duty` and exits.
    ///
    /// The duty sees a copy of this process's memory and shares its open files. Threads of this
    /// process do not exist there.
    ///
    /// # Errors
    /// When the pipe or the fork is refused.
    pub fn fork(duty: impl FnOnce(Parting)) -> io::Result<Self> {
        let null = std::fs::File::options()
            .read(true)
            .write(true)
            .open("/dev/null")?;
        let (listening, line) = rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC)?;
        // SAFETY: fork() has no preconditions on memory. The child goes on in ordinary Rust code,
        // which is sound after a fork: its only thread is this one, glibc's allocator resets its own
        // locks in the child, and the duty takes no lock of this process (the standard streams are
        // replaced below descriptor level and never used through `std::io`).
        #[expect(unsafe_code, reason = "fork has no safe form")]
        match unsafe { libc::fork() } {
            -1 => Err(io::Error::last_os_error()),
            0 => {
                drop(line);
                // `exit_now` must be reached whatever happens: the child may not run the parent's code.
                let _ = catch_unwind(AssertUnwindSafe(|| keep_watch(listening, &null, duty)));
                exit_now()
            }
            pid => {
                let pid = Pid::from_raw(pid).ok_or(io::ErrorKind::InvalidData)?;
                Ok(Self { pid, line })
            }
        }
    }

    /// Its number.
    pub fn pid(&self) -> i32 {
        self.pid.as_raw_pid()
    }

    /// Ends the guardian: with a goodbye when all has been put away, in silence to have it do its
    /// duty. Waits until it is gone.
    pub fn dismiss(self, parting: Parting) {
        if parting == Parting::Goodbye {
            // A guardian that has died cannot be told; it holds nothing then.
            let _ = rustix::io::write(&self.line, b"goodbye");
        }
        drop(self.line);
        while let Err(rustix::io::Errno::INTR) =
            rustix::process::waitpid(Some(self.pid), WaitOptions::empty())
        {}
    }
}

fn keep_watch(listening: OwnedFd, null: &std::fs::File, duty: impl FnOnce(Parting)) {
    let _ = rustix::process::setsid();
    let _ = rustix::stdio::dup2_stdin(null);
    let _ = rustix::stdio::dup2_stdout(null);
    let _ = rustix::stdio::dup2_stderr(null);
    let mut bytes = [0; 16];
    let parting = loop {
        match rustix::io::read(&listening, &mut bytes) {
            Ok(0) => break Parting::Silence,
            Ok(_) => break Parting::Goodbye,
            Err(rustix::io::Errno::INTR) => {}
            Err(_) => break Parting::Silence,
        }
    };
    duty(parting);
}

fn exit_now() -> ! {
    // SAFETY: _exit has no preconditions; it skips the exit handlers, which belong to the parent.
    #[expect(
        unsafe_code,
        reason = "std::process::exit would run the parent's exit handlers"
    )]
    unsafe {
        libc::_exit(0)
    }
}

/// A child process, watched without reaping it, so that its last figures stay in `/proc`.
#[derive(Debug)]
pub struct WatchedChild {
    pid: Pid,
    descriptor: OwnedFd,
}

impl WatchedChild {
    /// Watches the child `pid` of this process.
    ///
    /// # Errors
    /// When there is no such process or the kernel has no pidfd (before 5.3).
    pub fn new(pid: u32) -> io::Result<Self> {
        let pid = i32::try_from(pid)
            .ok()
            .and_then(Pid::from_raw)
            .ok_or(io::ErrorKind::NotFound)?;
        let descriptor = rustix::process::pidfd_open(pid, PidfdFlags::empty())?;
        Ok(Self { pid, descriptor })
    }

    /// The descriptor to wait on; readable when the child has ended.
    pub fn descriptor(&self) -> BorrowedFd<'_> {
        self.descriptor.as_fd()
    }

    /// Whether the child has ended. It stays a zombie.
    pub fn has_ended(&self) -> bool {
        let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
        !matches!(
            rustix::process::waitid(WaitId::Pid(self.pid), options),
            Ok(None)
        )
    }

    /// Asks the child to end (SIGTERM).
    pub fn terminate(&self) {
        let _ = rustix::process::kill_process(self.pid, Signal::TERM);
    }

    /// Ends the child at once (SIGKILL).
    pub fn kill(&self) {
        let _ = rustix::process::kill_process(self.pid, Signal::KILL);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn start_time_tells_a_living_process_from_none() {
        let own = std::process::id() as i32;
        assert!(start_time(own).is_some_and(|start| start.0 > 0));
        assert_eq!(start_time(own), start_time(own));
        assert_eq!(start_time(0), None);
    }

    #[test]
    fn the_guardian_does_its_duty_when_left_in_silence_and_when_dismissed() -> io::Result<()> {
        for (parting, expected) in [(Parting::Goodbye, "Goodbye"), (Parting::Silence, "Silence")] {
            let folder = tempfile::tempdir()?;
            let note = folder.path().join("note");
            let guardian = Guardian::fork(|parting| {
                let _ = std::fs::write(&note, format!("{parting:?}"));
            })?;
            guardian.dismiss(parting);
            assert_eq!(std::fs::read_to_string(&note)?, expected);
        }
        Ok(())
    }

    #[test]
    fn a_helper_is_not_in_the_process_group_that_the_terminal_interrupts() -> io::Result<()> {
        let output = helper("cat").arg("/proc/self/stat").output()?;
        let stat = String::from_utf8_lossy(&output.stdout).into_owned();
        let words: Vec<&str> = stat.split_ascii_whitespace().collect();
        assert_eq!(words[4], words[0], "{stat}");
        Ok(())
    }

    #[test]
    fn a_tied_child_ends_with_its_parent() -> io::Result<()> {
        let mut command = Command::new("sleep");
        command.arg("60");
        tie(&mut command, None);
        let started = std::thread::spawn(move || command.spawn());
        let mut child = started.join().map_err(|_| io::ErrorKind::Other)??;
        // The thread that started it has ended.
        let ended = child.wait()?;
        assert_eq!(
            std::os::unix::process::ExitStatusExt::signal(&ended),
            Some(9)
        );
        Ok(())
    }

    #[test]
    fn a_group_is_there_as_long_as_anybody_is_in_it() -> io::Result<()> {
        let mut child = helper("sleep").arg("60").spawn()?;
        let group = child.id() as i32;
        assert!(is_group(group));
        end_group(child.id(), true);
        child.wait()?;
        assert!(!is_group(group) && !is_group(0) && !is_group(-5));
        Ok(())
    }

    #[test]
    fn an_ended_child_is_seen_and_still_reapable() -> io::Result<()> {
        let mut child = Command::new("false").spawn()?;
        let watched = WatchedChild::new(child.id())?;
        while !watched.has_ended() {
            std::thread::sleep(std::time::Duration::from_millis(5));
        }
        assert_eq!(child.wait()?.code(), Some(1));
        Ok(())
    }
}
