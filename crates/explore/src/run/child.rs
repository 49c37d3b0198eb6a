//! A program that a trial runs: started tied to the explorer, its output in files, waited for with everything else that
//! may happen meanwhile.

use std::collections::BTreeMap;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use slowpath_platform::process::{self, WatchedChild};
use slowpath_platform::signals::{EndSignal, SignalPipe};
use slowpath_platform::wait::wait_readable;

/// Output beyond this ends a trial.
const MOST_OUTPUT: u64 = 256 << 20;

/// So often it is looked at what a program has printed.
const LOOK: Duration = Duration::from_millis(50);

/// What is to be started.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Program {
    /// The program and its arguments; never empty.
    pub(crate) words: Vec<String>,
    /// Added to the environment.
    pub(crate) environment: BTreeMap<String, String>,
}

/// A program that was started.
#[derive(Debug)]
pub(crate) struct Child {
    child: std::process::Child,
    watched: WatchedChild,
    status: Option<ExitStatus>,
}

/// Why a wait ended.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Waited {
    /// The program has ended.
    Ended(ExitStatus),
    /// It took too long.
    TimedOut,
    /// The other program has ended first.
    OtherEnded,
    /// The user wants an end.
    Signal(EndSignal),
    /// Whoever looked at the output has seen enough.
    Enough,
    /// It printed too much.
    TooMuchOutput,
}

/// What to look at while waiting.
pub(crate) struct While<'run> {
    /// What ends all waits.
    pub(crate) signals: &'run SignalPipe,
    /// How long at most.
    pub(crate) limit: Duration,
    /// A program that must not end meanwhile.
    pub(crate) other: Option<&'run Child>,
    /// Files that must not grow without bounds.
    pub(crate) outputs: &'run [PathBuf],
    /// Asked from time to time whether it is enough.
    pub(crate) look: Option<&'run mut dyn FnMut() -> bool>,
}

impl Child {
    /// Starts `program` in `folder`, in the control group behind `door`.
    pub(crate) fn start(
        program: &Program,
        folder: &Path,
        door: Option<File>,
        (stdout, stderr): (File, File),
    ) -> io::Result<Self> {
        let mut command = Command::new(&program.words[0]);
        command
            .args(&program.words[1..])
            .envs(&program.environment)
            .current_dir(folder);
        command.stdin(Stdio::null()).stdout(stdout).stderr(stderr);
        process::tie(&mut command, door);
        let child = command.spawn()?;
        let watched = WatchedChild::new(child.id())?;
        Ok(Self {
            child,
            watched,
            status: None,
        })
    }

    /// Its number, which is that of its process group, too.
    pub(crate) fn pid(&self) -> i32 {
        self.child.id() as i32
    }

    /// Whether it has ended.
    pub(crate) fn has_ended(&self) -> bool {
        self.status.is_some() || self.watched.has_ended()
    }

    /// How it has ended; waits for that.
    pub(crate) fn status(&mut self) -> io::Result<ExitStatus> {
        if let Some(status) = self.status {
            return Ok(status);
        }
        let status = self.child.wait()?;
        self.status = Some(status);
        Ok(status)
    }

    /// Waits until it has ended, or something else comes first.
    pub(crate) fn wait(&mut self, mut meanwhile: While<'_>) -> io::Result<Waited> {
        let begin = Instant::now();
        loop {
            let left = meanwhile.limit.saturating_sub(begin.elapsed());
            let step = match meanwhile.look.is_some() || !meanwhile.outputs.is_empty() {
                true => left.min(LOOK),
                false => left,
            };
            let mut descriptors = vec![self.watched.descriptor()];
            descriptors.extend(meanwhile.signals.descriptors());
            descriptors.extend(meanwhile.other.map(|other| other.watched.descriptor()));
            let readable = wait_readable(&descriptors, step)?;
            if readable[0] {
                return Ok(Waited::Ended(self.status()?));
            }
            if let Some(signal) = meanwhile.signals.next() {
                return Ok(Waited::Signal(signal));
            }
            if meanwhile.other.is_some() && readable.last() == Some(&true) {
                return Ok(Waited::OtherEnded);
            }
            if let Some(look) = &mut meanwhile.look
                && look()
            {
                return Ok(Waited::Enough);
            }
            let size = |path: &Path| std::fs::metadata(path).map_or(0, |file| file.len());
            if meanwhile
                .outputs
                .iter()
                .any(|path| size(path) > MOST_OUTPUT)
            {
                return Ok(Waited::TooMuchOutput);
            }
            if begin.elapsed() >= meanwhile.limit {
                return Ok(Waited::TimedOut);
            }
        }
    }

    /// Asks it and its process group to end.
    pub(crate) fn terminate(&self) {
        process::end_group(self.child.id(), false);
    }

    /// Ends it and its process group at once.
    pub(crate) fn kill(&mut self) {
        if self.status.is_none() {
            process::end_group(self.child.id(), true);
            let _ = self.child.kill();
            let _ = self.status();
        }
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        self.kill();
    }
}
