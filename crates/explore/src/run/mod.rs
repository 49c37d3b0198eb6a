//! Runs one trial: files, commands, the system, the workload, what was measured; and puts everything away.
//!
//! What the specification's programs do wrong is the trial's outcome. Only what keeps any trial from being run, and
//! the user's wish to end, are errors.

mod child;
mod filling;
mod functions;
mod group;
mod leftovers;
mod load;
mod looking;
mod measure;
mod probes;
mod ready;
mod restoring;
mod system;
mod workload;

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::process::ExitStatus;
use std::time::{Duration, Instant};

use slowpath_platform::signals::{EndSignal, SignalPipe};

use crate::spec::{CommandLine, Spec};
use crate::store::Planned;
use crate::trial::{Failure, Outcome};
use child::{Child, Program, Waited, While};
pub(crate) use filling::Filled;
use functions::Probes;
use group::{Group, Part};
use leftovers::Signs;

pub use functions::{Calls, Times, Unusable};
pub(crate) use functions::{end_definitions, own_group};
use measure::measure_part;
pub use measure::{Observed, measure};
pub(crate) use restoring::restore;

/// With less than this left on the disk nobody can tell whether what programs printed was kept.
const LEAST_ROOM: u64 = 64 << 10;

/// Why trials cannot be run.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// The user wants an end.
    #[error("interrupted by {}", .0.name())]
    Interrupted(EndSignal),
    /// The folder of the exploration cannot be used.
    #[error("{what} cannot be written")]
    Folder {
        /// What.
        what: String,
        /// What the system answered.
        #[source]
        cause: io::Error,
    },
    /// Somebody else has what the system needs.
    #[error(
        "port {0} is taken already, so that nobody could tell when the system listens there\n  hint: end what listens there (`ss -ltnp` names it), or use another port in the specification"
    )]
    PortTaken(String),
    /// The agent that is to run trials does not.
    #[error("the agent at {address}: {what}{}", .hint.map(|hint| format!("\n  hint: {hint}")).unwrap_or_default())]
    Agent {
        /// Where it should listen.
        address: String,
        /// What is wrong.
        what: String,
        /// What can be done.
        hint: Option<&'static str>,
    },
    /// A function that a metric names cannot be observed.
    #[error("{0}")]
    Function(Unusable),
    /// Waiting failed.
    #[error("the programs of a trial cannot be watched")]
    Watch(#[source] io::Error),
}

impl RunError {
    pub(crate) fn agent(address: &str, what: String, hint: &'static str) -> Self {
        Self::Agent {
            address: address.to_owned(),
            what,
            hint: (!hint.is_empty()).then_some(hint),
        }
    }
}

/// What a trial came to.
#[derive(Clone, Debug, PartialEq)]
pub struct Ended {
    /// How it ended.
    pub outcome: Outcome,
    /// Its metrics; empty where it failed.
    pub measures: BTreeMap<String, f64>,
    /// What its metrics lack, in words; empty where nothing.
    pub notes: String,
    /// How long all of it took.
    pub took: Duration,
}

/// Asked whether a trial has told enough: a metric, and a number of it that the workload has just printed.
pub type StopRun<'run> = &'run mut dyn FnMut(&str, f64) -> bool;

/// Runs trials.
pub struct Runner<'run> {
    spec: &'run Spec,
    folder: PathBuf,
    spec_folder: PathBuf,
    signals: &'run SignalPipe,
    group: Option<Group>,
    signs: Signs,
    /// Of the trial that runs, where it has metrics of probes.
    room: Option<probes::Room>,
    collector: Option<probes::Collector>,
}

/// What a trial found: how it ended, its metrics, what they lack.
type Found = (Outcome, BTreeMap<String, f64>, String);

/// A trial that cannot go on: with an outcome, or because of an error.
enum Broken {
    Failed(Failure, String),
    Error(RunError),
}

impl From<RunError> for Broken {
    fn from(error: RunError) -> Self {
        Self::Error(error)
    }
}

type Step<T> = Result<T, Broken>;

impl<'run> Runner<'run> {
    /// Runs trials of `spec` that keep their output below `folder`. Processes numbered in `spared` are left alone.
    ///
    /// # Errors
    /// Where the folder cannot be used, or a function that a metric names cannot be observed.
    pub fn new(
        spec: &'run Spec,
        folder: &Path,
        token: &str,
        spared: BTreeSet<i32>,
        signals: &'run SignalPipe,
    ) -> Result<Self, RunError> {
        let usable = |what: &Path| {
            let made = fs::create_dir_all(what).and_then(|()| what.canonicalize());
            made.map_err(|cause| RunError::Folder {
                what: what.display().to_string(),
                cause,
            })
        };
        usable(&folder.join("output"))?;
        check_functions(spec)?;
        // Whose parents end stays known as long as this process lives.
        let _ = slowpath_platform::process::adopt_orphans();
        Ok(Self {
            spec,
            folder: usable(folder)?,
            spec_folder: usable(&spec.folder)?,
            signals,
            group: Group::of(token).filter(Group::make),
            signs: Signs {
                token: token.to_owned(),
                groups: BTreeSet::new(),
                ancestor: Some(std::process::id() as i32),
                spared,
            },
            room: None,
            collector: None,
        })
    }

    /// Runs a trial. With `wrapped`, the workload runs as these words' last arguments.
    ///
    /// # Errors
    /// Where no trial can be run, or the user wants an end; the trial does not count then.
    pub fn run(
        &mut self,
        planned: &Planned,
        limit: Option<Duration>,
        wrapped: &[String],
        stop_run: Option<StopRun<'_>>,
    ) -> Result<Ended, RunError> {
        let begin = Instant::now();
        let scratch = self.folder.join("scratch");
        let (ended, put_away) = {
            let ran = self.fresh(&scratch).map_err(Broken::Error);
            self.room = probes::Room::make(self.spec, &self.signs.token);
            let ran = ran.and_then(|()| self.steps(planned, &scratch, limit, wrapped, stop_run));
            let ran = self.if_there_was_room(ran);
            self.collector = None;
            self.clean_up();
            self.room = None;
            (ran, fs::remove_dir_all(&scratch))
        };
        if let Err(cause) = put_away
            && cause.kind() != io::ErrorKind::NotFound
        {
            return Err(RunError::Folder {
                what: scratch.display().to_string(),
                cause,
            });
        }
        let (outcome, measures, notes) = match ended {
            Ok(found) => found,
            Err(Broken::Failed(kind, what)) => (
                Outcome::Failed { kind, what },
                BTreeMap::new(),
                String::new(),
            ),
            Err(Broken::Error(error)) => return Err(error),
        };
        Ok(Ended {
            outcome,
            measures,
            notes,
            took: begin.elapsed(),
        })
    }

    /// Where the output of trials is.
    pub fn output_folder(&self) -> PathBuf {
        self.folder.join("output")
    }

    /// What steps came to, unless the disk is full: what could not be written may be missing from it.
    fn if_there_was_room<T>(&self, ran: Step<T>) -> Step<T> {
        let room = slowpath_platform::room::free_bytes(&self.folder);
        let is_full = room.is_some_and(|room| room < LEAST_ROOM);
        if is_full && !matches!(ran, Err(Broken::Error(_))) {
            let cause = io::ErrorKind::StorageFull.into();
            return Err(self.unusable(&self.output_folder(), cause).into());
        }
        ran
    }

    /// Restores what trials changed.
    ///
    /// # Errors
    /// In words.
    pub fn restore(&self) -> Result<(), String> {
        restore(self.spec, &self.spec_folder, &self.folder)
    }

    /// Ends whatever still runs.
    fn clean_up(&mut self) {
        if let Some(group) = &self.group {
            group.kill();
        }
        leftovers::kill(&self.signs);
        self.signs.groups.clear();
    }

    fn fresh(&self, scratch: &Path) -> Result<(), RunError> {
        let made = match fs::remove_dir_all(scratch) {
            Err(cause) if cause.kind() != io::ErrorKind::NotFound => Err(cause),
            _ => fs::create_dir(scratch),
        };
        made.map_err(|cause| RunError::Folder {
            what: scratch.display().to_string(),
            cause,
        })
    }

    fn steps(
        &mut self,
        planned: &Planned,
        scratch: &Path,
        limit: Option<Duration>,
        wrapped: &[String],
        stop_run: Option<StopRun<'_>>,
    ) -> Step<Found> {
        let spec = self.spec;
        let spec_folder = self.spec_folder.clone();
        let filled = Filled::new(spec, planned, scratch, &spec_folder);
        for file in &spec.files {
            filled
                .write(file)
                .map_err(|what| Broken::Failed(Failure::Apply, what))?;
        }
        let log = self.file(planned, "commands.log")?;
        self.commands(&spec.commands.before, &filled, &log)?;
        let mut functions = Probes::open(&spec.metrics, &spec_folder)
            .map_err(|unusable| Broken::Failed(Failure::Apply, unusable.what))?;
        let mut system = match &spec.system {
            Some(system) => Some(self.start_system(system, planned, &filled)?),
            None => None,
        };
        self.commands(&spec.commands.configure, &filled, &log)?;
        let workload = (filled.program(&spec.workload.command, &spec.workload.environment))
            .map_err(|what| Broken::Failed(Failure::Apply, what))?;
        let load = load::Running::begin(&spec.load, &filled, &self.folder)
            .map_err(|what| Broken::Failed(Failure::Apply, what))?;
        let limit = limit.map_or(spec.workload.timeout, |limit| {
            limit.min(spec.workload.timeout)
        });
        for _ in 0..spec.workload.warm_up {
            self.workload(planned, "warm-up", &workload, limit, system.as_mut(), None)?;
        }
        let mut measured = Program {
            words: [wrapped, &workload.words].concat(),
            ..workload
        };
        self.collect(&filled, &mut measured)?;
        functions.begin().map_err(RunError::Watch)?;
        let running = system.as_mut();
        let ran = self.workload(planned, "workload", &measured, limit, running, stop_run);
        if let Err(Broken::Error(error)) = ran {
            return Err(error.into());
        }
        let (calls, mut notes) = functions.end().map_err(RunError::Watch)?;
        // A system that ends often takes the workload with it.
        if let (Some(running), Some(system)) = (&mut system, &spec.system) {
            self.is_still_there(system, running, &filled)?;
        }
        let (outcome, mut observed) = ran?;
        observed.calls = calls;
        let collected = self.collector.take().map(|one| one.end(observed.wall));
        let collected = collected.unwrap_or_default();
        observed.collected = collected.numbers;
        notes.extend(collected.notes);
        load.end()
            .map_err(|what| Broken::Failed(Failure::Apply, what))?;
        // The metrics first: what comes behind may not change what was found.
        let measures = match &outcome {
            Outcome::Stopped => Ok(measure_part(&spec.metrics, &observed)),
            _ => measure(&spec.metrics, &observed)
                .map_err(|what| Broken::Failed(Failure::NoMetric, what)),
        };
        self.commands(&spec.commands.after, &filled, &log)?;
        if let (Some(running), Some(system)) = (system, &spec.system) {
            self.stop_system(system, running, &filled, &log)?;
        }
        Ok((outcome, measures?, notes.join("; ")))
    }

    /// From here on records of probes count, where metrics are about some.
    fn collect(&mut self, filled: &Filled<'_>, workload: &mut Program) -> Step<()> {
        let Some(room) = &self.room else {
            return Ok(());
        };
        let environment = match &self.spec.system {
            Some(system) => filled.program(&system.command, &system.environment),
            None => Ok(workload.clone()),
        };
        let system = environment.map_err(|what| Broken::Failed(Failure::Apply, what))?;
        let environments = [&system.environment, &workload.environment];
        let (group, signs) = (self.group.clone(), self.signs.clone());
        let collector = probes::Collector::begin(self.spec, room, group, signs, environments);
        self.collector = Some(collector.map_err(RunError::Watch)?);
        probes::switch_on(self.spec, &mut workload.environment);
        Ok(())
    }

    /// Runs commands one after the other; each must succeed.
    fn commands(&mut self, commands: &[CommandLine], filled: &Filled<'_>, log: &File) -> Step<()> {
        for command in commands {
            self.command(command, filled, log, self.spec.commands.timeout)?;
        }
        Ok(())
    }

    fn command(
        &mut self,
        command: &CommandLine,
        filled: &Filled<'_>,
        log: &File,
        limit: Duration,
    ) -> Step<()> {
        let failed = |what: String| Broken::Failed(Failure::Apply, what);
        let program = filled.program(command, &BTreeMap::new()).map_err(failed)?;
        let words = program.words.join(" ");
        let mut child = self
            .start(&program, Part::System, log, log)
            .map_err(failed)?;
        let waited = child
            .wait(While {
                limit,
                ..self.meanwhile()
            })
            .map_err(RunError::Watch)?;
        match waited {
            Waited::Ended(status) if status.success() => Ok(()),
            Waited::Ended(status) => Err(failed(format!(
                "the command `{words}` ended with {}",
                how(status)
            ))),
            Waited::Signal(signal) => Err(RunError::Interrupted(signal).into()),
            _ => Err(failed(format!(
                "the command `{words}` took longer than {limit:?}"
            ))),
        }
    }

    fn start(
        &mut self,
        program: &Program,
        part: Part,
        stdout: &File,
        stderr: &File,
    ) -> Result<Child, String> {
        let mut program = program.clone();
        program.environment.insert(
            leftovers::TOKEN_VARIABLE.to_owned(),
            self.signs.token.clone(),
        );
        (program.environment).insert(leftovers::PART_VARIABLE.to_owned(), part.name().to_owned());
        if let Some(room) = &self.room {
            room.tell(&mut program.environment);
        }
        let door = self.group.as_ref().and_then(|group| group.door(part));
        let started = stdout.try_clone().and_then(|stdout| {
            Child::start(
                &program,
                &self.spec_folder,
                door,
                (stdout, stderr.try_clone()?),
            )
        });
        let child = started
            .map_err(|cause| format!("`{}` cannot be started: {cause}", program.words[0]))?;
        // The number of a group that nobody is in any more may be given to somebody else.
        (self.signs.groups).retain(|leader| slowpath_platform::process::is_group(*leader));
        self.signs.groups.insert(child.pid());
        Ok(child)
    }

    fn meanwhile<'short>(&self) -> While<'short>
    where
        'run: 'short,
    {
        While {
            signals: self.signals,
            limit: Duration::ZERO,
            other: None,
            outputs: &[],
            look: None,
        }
    }

    fn output(&self, planned: &Planned, name: &str) -> PathBuf {
        self.folder
            .join("output")
            .join(format!("{:05}.{name}", planned.id))
    }

    fn file(&self, planned: &Planned, name: &str) -> Result<File, RunError> {
        let path = self.output(planned, name);
        let made = File::options()
            .create(true)
            .write(true)
            .truncate(true)
            .open(&path);
        // Several programs write one log: each behind what is there.
        let made = made.and_then(|_| File::options().append(true).open(&path));
        made.map_err(|cause| self.unusable(&path, cause))
    }

    fn unusable(&self, path: &Path, cause: io::Error) -> RunError {
        RunError::Folder {
            what: path.display().to_string(),
            cause,
        }
    }
}

impl Drop for Runner<'_> {
    fn drop(&mut self) {
        self.clean_up();
        if let Some(group) = &self.group {
            group.remove();
        }
    }
}

/// Finds out whether the functions that metrics name can be observed; they are, for a moment.
///
/// # Errors
/// The first that cannot be.
pub fn check_functions(spec: &Spec) -> Result<(), RunError> {
    let folder = spec.folder.canonicalize();
    let folder = folder.unwrap_or_else(|_| spec.folder.clone());
    functions::check(&spec.metrics, &folder).map_err(RunError::Function)
}

/// Ends what a killed explorer left running.
pub(crate) fn end_leftovers(token: &str) {
    probes::remove_leftovers(token);
    if let Some(group) = Group::of(token) {
        group.kill();
        group.remove();
    }
    leftovers::kill(&Signs {
        token: token.to_owned(),
        ..Signs::default()
    });
}

/// How a program ended, in words.
fn how(status: ExitStatus) -> String {
    use std::os::unix::process::ExitStatusExt;
    match (status.code(), status.signal()) {
        (Some(code), _) => format!("status {code}"),
        (None, Some(signal)) => format!("signal {signal}"),
        (None, None) => "no status".to_owned(),
    }
}
