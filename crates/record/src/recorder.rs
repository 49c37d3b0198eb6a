//! One recording from begin to end: tracing starts, the command runs, everything is put away.
//!
//! A forked guardian waits beside the recorder. Whatever way the recorder ends other than in order,
//! an error included, the guardian closes the recording, so there is one path for all mishaps.

use std::io;
use std::path::{Path, PathBuf};

use slowpath_model::ThreadId;
use slowpath_platform::clocks::process_cpu_ns;
use slowpath_platform::ownership::{self, Owner};
use slowpath_platform::process::{Guardian, Parting, machine};
use slowpath_platform::signals::SignalPipe;

use crate::accounts::AccountBook;
use crate::claims::{self, Claim, recorder_name};
use crate::control::{self, ControlSocket};
use crate::error::RecordError;
use crate::ftrace::{self, Instance, Setup};
use crate::group_quotas::GroupQuotas;
use crate::host;
use crate::lttng::Session;
use crate::manifest::{
    self, Accounts, Cost, FailedSnapshots, KernelPart, Manifest, Mode, Tracer, Trigger,
    UserSpacePart,
};
use crate::options::RecordOptions;
use crate::plan::Plan;
use crate::spans::SpanReceiver;
use crate::state_dump::{self, StateDump};
use crate::storage::{self, OutputFolder, PageFiles};
use crate::watch::{self, Ended};

/// How a recorded command ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CommandEnd {
    /// There was none.
    NoCommand,
    /// By itself or by somebody else: its status as a shell tells it (128 + signal).
    ByItself(i32),
    /// We ended it because the recording's duration was over.
    ByDuration,
}

/// A finished recording.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// Its folder, absolute.
    pub folder: PathBuf,
    /// What its `slowpath.json` says.
    pub manifest: Manifest,
    /// How the command ended.
    pub command_end: CommandEnd,
}

/// Records as `options` say until the command ends, the duration is over or a signal asks for the
/// end; `talk` gets a line for whatever the user should know meanwhile.
///
/// One recording at a time in a process: it takes over SIGINT, SIGTERM and SIGHUP, and its guardian,
/// a fork, shares the files that are open when it begins.
///
/// # Errors
/// When nothing could be recorded, or writing failed half-way; the guardian has then closed what
/// there is (`complete: false`).
pub fn record(options: &RecordOptions, talk: &mut dyn FnMut(&str)) -> Result<Outcome, RecordError> {
    let plan = Plan::make(options, talk)?;
    let output = OutputFolder::make(&options.output, options.replace)?;
    // From here on, a signal ends the recording in order, also one that comes before it has begun.
    let signals = SignalPipe::new().map_err(RecordError::system("signals"))?;
    let name = recorder_name(std::process::id() as i32);
    // Where no claim can be made, others may tidy up too early should this process be killed.
    let claim = Claim::take(&claims::run_folder(), &name).ok();
    let begun = Recording::begin(options, &plan, output.path.clone(), name, talk);
    let mut recording = begun.inspect_err(|_| output.discard())?;
    let guardian = Guardian::fork(|parting| recording.guard(parting))
        .map_err(RecordError::system("no guardian process could be started"))
        .inspect_err(|_| output.discard())?;
    let result = recording.run(options, &plan, signals, talk);
    let parting = if result.is_ok() || recording.has_ended_early {
        Parting::Goodbye
    } else {
        Parting::Silence
    };
    // The guardian removes the instance, which must not be held by us any more.
    recording.let_go();
    guardian.dismiss(parting);
    if let Some(claim) = claim {
        claim.give_up();
    }
    let was_interrupted = matches!(result, Err(RecordError::Interrupted { .. }));
    if was_interrupted || !recording.has_started {
        output.discard();
    }
    let (manifest, command_end) = result?;
    hand_over(&output.path).map_err(RecordError::system(
        "the recording could not be handed to the user of sudo",
    ))?;
    Ok(Outcome {
        folder: output.path,
        manifest,
        command_end,
    })
}

/// That events flow, and what ends that.
fn begun(options: &RecordOptions) -> String {
    let until = match options.duration {
        Some(duration) => format!("for {} s, or until Ctrl-C", duration.as_secs_f64()),
        None => "until Ctrl-C".to_owned(),
    };
    match options.mode {
        Mode::Standard => format!("recording {until}"),
        Mode::Snapshot => format!(
            "recording {until}; what it holds is written by: slowpath snapshot {}",
            options.output.display()
        ),
    }
}

/// What a recording holds while it runs; its guardian has a copy.
#[derive(Debug)]
pub(crate) struct Recording {
    pub(crate) folder: PathBuf,
    pub(crate) mode: Mode,
    pub(crate) instance: Option<Instance>,
    /// Standard recordings with ftrace: where pages go as they come.
    pub(crate) pages: Option<PageFiles>,
    pub(crate) state: Option<StateDump>,
    pub(crate) group_quotas: Option<GroupQuotas>,
    pub(crate) accounts: AccountBook,
    manifest: Manifest,
    /// Of its instance and session.
    name: String,
    uses_lttng: bool,
    session: Option<Session>,
    pub(crate) receiver: Option<SpanReceiver>,
    /// Whether events could be recorded.
    has_started: bool,
    /// Whether it could not go on and everything is put away.
    has_ended_early: bool,
}

impl Recording {
    fn begin(
        options: &RecordOptions,
        plan: &Plan,
        folder: PathBuf,
        name: String,
        talk: &mut dyn FnMut(&str),
    ) -> Result<Self, RecordError> {
        let kernel_folder = folder.join("kernel");
        let cannot_write = |cause| RecordError::Output {
            folder: folder.clone(),
            cause,
        };
        let mut instance = None;
        let (mut pages, mut state, mut group_quotas) = (None, None, None);
        let mut quotas_unread = None;
        if let Some(tracefs) = &plan.tracefs {
            let made = Instance::create(tracefs.clone(), &name, talk)?;
            std::fs::create_dir(&kernel_folder).map_err(cannot_write)?;
            if options.mode == Mode::Standard {
                let mut files =
                    PageFiles::create(&kernel_folder, made.cpus()).map_err(cannot_write)?;
                let online = host::online_cpus();
                files
                    .keep_room(plan.buffer_bytes_per_cpu, |cpu| {
                        online.as_ref().is_none_or(|online| online.contains(&cpu))
                    })
                    .map_err(cannot_write)?;
                pages = Some(files);
                state = Some(StateDump::to_folder(&kernel_folder).map_err(cannot_write)?);
            } else {
                state = Some(StateDump::to_memory());
            }
            let into = (options.mode == Mode::Standard).then_some(&*kernel_folder);
            match GroupQuotas::begin(into) {
                Ok(quotas) => group_quotas = Some(quotas),
                Err(cause) => {
                    talk(&format!(
                        "CPU quotas of control groups are not recorded: {cause}"
                    ));
                    quotas_unread = Some(cause);
                }
            }
            instance = Some(made);
        }
        let manifest = Manifest {
            quotas_unread,
            ..first_manifest(options, plan, instance.as_ref())
        };
        manifest.write(&folder).map_err(cannot_write)?;
        Ok(Self {
            folder,
            mode: options.mode,
            instance,
            pages,
            state,
            group_quotas,
            accounts: AccountBook::default(),
            manifest,
            name,
            uses_lttng: plan.tracer == Tracer::Lttng || !plan.user_space_events.is_empty(),
            session: None,
            receiver: None,
            has_started: false,
            has_ended_early: false,
        })
    }

    fn run(
        &mut self,
        options: &RecordOptions,
        plan: &Plan,
        signals: SignalPipe,
        talk: &mut dyn FnMut(&str),
    ) -> Result<(Manifest, CommandEnd), RecordError> {
        if let Some(instance) = &self.instance {
            instance.set_up(&Setup {
                events: &plan.kernel_events,
                buffer_bytes_per_cpu: plan.buffer_bytes_per_cpu,
                silent: ThreadId(std::process::id() as i32),
            })?;
            describe(instance, &self.folder, &plan.kernel_events).map_err(RecordError::system(
                "the events' formats could not be saved",
            ))?;
        }
        self.set_up_lttng(plan, &signals, talk)?;
        let control = ControlSocket::listen(&self.folder)
            .map_err(RecordError::system("no socket for snapshot requests"))?;
        self.receiver = SpanReceiver::start(&options.spans, &self.folder, self.mode, talk)?;
        let in_servers = plan.redis.attach(talk)?;
        in_servers.wait_until_known(&options.redis, &signals, talk);
        self.start(options)?;
        in_servers.settle(&options.redis);
        // A command's start shows that tracing has begun.
        if options.command.is_empty() {
            talk(&begun(options));
        }
        let ended = watch::watch(self, options, plan, signals, &control, talk)?;
        let cpu_ns = self.finish(&ended)?;
        drop(in_servers);
        let command_end = ended.wait_for_command(talk);
        // Only now: a command that is told to end sends its last spans then.
        self.finish_spans();
        self.manifest.command_exit = match command_end {
            CommandEnd::ByItself(status) => Some(status),
            CommandEnd::NoCommand | CommandEnd::ByDuration => None,
        };
        self.manifest.cost.recorder_cpu_ns = cpu_ns;
        self.manifest.complete = true;
        self.manifest.files = storage::files_of(&self.folder);
        self.write_manifest()?;
        Ok((self.manifest.clone(), command_end))
    }

    fn set_up_lttng(
        &mut self,
        plan: &Plan,
        signals: &SignalPipe,
        talk: &mut dyn FnMut(&str),
    ) -> Result<(), RecordError> {
        if !self.uses_lttng {
            return Ok(());
        }
        match self.make_session(plan, signals, talk) {
            Ok(session) => self.session = Some(session),
            Err(cause) if plan.user_space_is_optional && plan.tracer != Tracer::Lttng => {
                talk(&format!("no span events of applications: {cause}"));
                self.manifest.ust = None;
                Session::of(&self.name, self.mode).destroy();
                self.uses_lttng = false;
            }
            Err(cause) => return Err(RecordError::Lttng { cause }),
        }
        Ok(())
    }

    fn make_session(
        &mut self,
        plan: &Plan,
        signals: &SignalPipe,
        talk: &mut dyn FnMut(&str),
    ) -> Result<Session, String> {
        let (name, folder) = (&self.name, &self.folder);
        let with_kernel = plan.tracer == Tracer::Lttng;
        let session = Session::create(name, folder, self.mode, with_kernel, signals, talk)?;
        if with_kernel {
            let buffer = plan.buffer_bytes_per_cpu;
            self.manifest.kernel.events = session.enable_kernel(&plan.kernel_events, buffer)?;
        }
        if !plan.user_space_events.is_empty() {
            session.enable_user_space(&plan.user_space_events)?;
        }
        Ok(session)
    }

    /// Events flow from here on.
    fn start(&mut self, options: &RecordOptions) -> Result<(), RecordError> {
        let clock = host::read_clocks();
        self.manifest.clocks = vec![clock];
        self.manifest.begin_ns = host::now();
        self.manifest.end_ns = self.manifest.begin_ns;
        self.manifest.spans = self.receiver.as_ref().map(SpanReceiver::part);
        self.write_manifest()?;
        if let Some(session) = &self.session {
            session
                .start()
                .map_err(|cause| RecordError::Lttng { cause })?;
        }
        // What the kernel has counted before is of no event.
        if let Some(quotas) = &mut self.group_quotas {
            quotas.note_all().map_err(group_quotas_failed())?;
        }
        if let Some(instance) = &self.instance {
            instance.trace(true)?;
        }
        self.has_started = true;
        // Dumped while events flow: what changes meanwhile is then in one of both.
        if let Some(state) = &mut self.state {
            state.dump_all().map_err(state_dump_failed())?;
        }
        for process in &options.accounts {
            self.accounts.look_at(*process);
        }
        Ok(())
    }

    /// Stops tracing and writes everything that is left; returns the CPU time spent on it all.
    fn finish(&mut self, ended: &Ended) -> Result<u64, RecordError> {
        for process in ended.processes() {
            self.accounts.look_at(process);
        }
        self.close()?;
        self.manifest.accounts = self.accounts.accounts();
        let offset_at_end = host::read_clocks().offset_to_epoch_ns;
        for clock in &mut self.manifest.clocks {
            clock.offset_to_epoch_at_end_ns = offset_at_end;
        }
        Ok(process_cpu_ns())
    }

    fn finish_spans(&mut self) {
        if let Some(receiver) = self.receiver.take() {
            let part = receiver.finish(&self.folder, self.manifest.begin_ns, host::now());
            self.manifest.spans = Some(part);
            self.manifest.cost.bytes_written += storage::bytes_below(&self.folder.join("spans"));
        }
    }

    /// What recorder and guardian do alike.
    fn close(&mut self) -> Result<(), RecordError> {
        control::remove_socket(&self.folder);
        if let Some(instance) = &self.instance {
            instance.trace(false)?;
        }
        self.manifest.end_ns = host::now();
        // At once: what the kernel counts from here on has no events beside it.
        let quotas_noted = self.group_quotas.as_mut().map(GroupQuotas::note_all);
        let kernel_folder = self.folder.join("kernel");
        // First: room that was kept for rings is free then, for what LTTng still has to write.
        let written = self.drain_rest(&kernel_folder);
        if let Some(session) = self.session.take() {
            // A session that will not stop still has written what it could.
            let _ = match self.mode {
                Mode::Standard => session.stop(),
                Mode::Snapshot => session.write_snapshot(&self.folder),
            };
            let lost = session.lost_events();
            if let Some(part) = &mut self.manifest.ust {
                part.lost_events = lost;
            }
            session.destroy();
        }
        if let Some(instance) = &self.instance {
            let failed = RecordError::system("the last kernel events could not be written");
            // Also where pages could not be written: those before them are of no use without.
            let described = instance.save_tables(&kernel_folder);
            let bytes = written.and_then(|bytes| described.map(|()| bytes));
            self.manifest.cost.bytes_written += bytes.map_err(failed)?;
            self.manifest.kernel.lost_events = instance.lost_events(self.mode);
        }
        self.manifest.cost.bytes_written += storage::bytes_below(&self.folder.join("ust"));
        if let Some(state) = &mut self.state {
            state
                .write_snapshot(&kernel_folder)
                .map_err(state_dump_failed())?;
        }
        if let Some(quotas) = &mut self.group_quotas {
            quotas
                .write_snapshot(&kernel_folder)
                .map_err(group_quotas_failed())?;
        }
        let noted = quotas_noted.transpose().map(drop);
        noted.map_err(group_quotas_failed())
    }

    /// Writes what the rings of a stopped tracer hold; returns the bytes written by this process from the begin.
    fn drain_rest(&mut self, kernel_folder: &Path) -> io::Result<u64> {
        let Some(instance) = &self.instance else {
            return Ok(0);
        };
        let mut pages = match self.pages.take() {
            Some(pages) => pages,
            None => PageFiles::create(kernel_folder, instance.cpus())?,
        };
        instance.drain_rest(&mut pages)?;
        pages.remove_empty();
        Ok(pages.bytes())
    }

    /// The guardian's duty: nothing after a goodbye but to remove the instance; everything else
    /// where the recorder was killed.
    fn guard(&mut self, parting: Parting) {
        if parting == Parting::Silence {
            if let Ok(latest) = Manifest::read(&self.folder) {
                self.manifest = latest;
            }
            if self.manifest.end_ns > self.manifest.begin_ns {
                // The recorder has put it away.
                return self.let_go();
            }
            if self.uses_lttng {
                self.session = Some(Session::of(&self.name, self.mode));
            }
            // Nobody is left to be told of a failure; what could be written is written.
            let _ = self.close();
            let _ = self.manifest.write(&self.folder);
            let _ = hand_over(&self.folder);
        }
        self.let_go();
    }

    /// Closes the rings and removes the instance, if the other of recorder and guardian has
    /// already closed them.
    fn let_go(&mut self) {
        drop(self.instance.take());
    }

    /// Writes what the ring holds into the next snapshot's folder, and empties it; `reason` is the
    /// rule that asked for it. Where this fails, nothing is left of it but a note.
    pub(crate) fn take_snapshot(&mut self, reason: Option<Trigger>) -> Result<PathBuf, String> {
        if self.mode == Mode::Standard {
            return Err(
                "it writes everything to disk already; end it to read the recording".into(),
            );
        }
        let number = self.manifest.snapshots.len() + 1;
        let free = (number..).map(|number| format!("snapshot-{number}"));
        let mut free = free.filter(|name| !self.folder.join(name).exists());
        let name = free.next().unwrap_or_default();
        let folder = self.folder.join(&name);
        let told = |error: io::Error| format!("{}: {error}", folder.display());
        if let Err(cause) = self.write_snapshot(&name, &folder, reason) {
            // A part of it would take room, and be taken for the whole.
            let _ = std::fs::remove_dir_all(&folder);
            let before = self.manifest.failed_snapshots.take();
            self.manifest.failed_snapshots = Some(FailedSnapshots {
                count: before.map_or(0, |before| before.count) + 1,
                last_ns: host::now(),
                last_cause: cause.clone(),
            });
            // What is short for the snapshot may be short for this; the end says it again.
            let _ = self.manifest.write(&self.folder);
            return Err(cause);
        }
        self.manifest.snapshots.push(name);
        self.manifest.write(&self.folder).map_err(told)?;
        Ok(folder)
    }

    fn write_snapshot(
        &mut self,
        name: &str,
        folder: &Path,
        reason: Option<Trigger>,
    ) -> Result<(), String> {
        let told = |error: io::Error| format!("{}: {error}", folder.display());
        std::fs::create_dir(folder).map_err(told)?;
        let mut own = self.manifest.clone();
        if let Some(session) = &self.session {
            session.write_snapshot(folder)?;
        }
        own.end_ns = host::now();
        if let Some(instance) = &self.instance {
            let kernel_folder = folder.join("kernel");
            std::fs::create_dir(&kernel_folder).map_err(told)?;
            let mut pages = PageFiles::create(&kernel_folder, instance.cpus()).map_err(told)?;
            // Stopped while it is emptied, so that all processors end at the same moment.
            instance.trace(false).map_err(|error| error.to_string())?;
            own.end_ns = host::now();
            // What the kernel counts from here on has no events beside it.
            let quotas_noted = self.group_quotas.as_mut().map(GroupQuotas::note_all);
            let drained = instance.drain_rest(&mut pages);
            own.kernel.lost_events = instance.lost_events(self.mode);
            instance.trace(true).map_err(|error| error.to_string())?;
            drained.map_err(told)?;
            quotas_noted.transpose().map_err(told)?;
            pages.remove_empty();
            own.cost.bytes_written = pages.bytes();
            describe(instance, folder, &own.kernel.events).map_err(told)?;
            instance.save_tables(&kernel_folder).map_err(told)?;
            if let Some(state) = &mut self.state {
                state.write_snapshot(&kernel_folder).map_err(told)?;
            }
            if let Some(quotas) = &mut self.group_quotas {
                quotas.write_snapshot(&kernel_folder).map_err(told)?;
            }
        }
        if let Some(receiver) = &self.receiver {
            receiver.write_snapshot(folder, own.begin_ns, own.end_ns);
            own.spans = Some(receiver.part());
            own.cost.bytes_written += storage::bytes_below(&folder.join("spans"));
        }
        own.cost.bytes_written += storage::bytes_below(&folder.join("ust"));
        own.cost.recorder_cpu_ns = process_cpu_ns();
        own.accounts = self.accounts.accounts();
        own.snapshots.clear();
        let reason = reason.map(|reason| Trigger {
            snapshot: name.to_owned(),
            ..reason
        });
        own.triggers = reason.clone().into_iter().collect();
        own.complete = true;
        own.files = storage::files_of(folder);
        // Spans that come late are added to it.
        own.files.retain(|file, _| !file.starts_with("spans/"));
        own.write(folder).map_err(told)?;
        self.manifest.triggers.extend(reason);
        // From now on the ring fills anew. Spans of the time of a failed one are in the next.
        self.manifest.begin_ns = own.end_ns;
        self.manifest.end_ns = own.end_ns;
        Ok(())
    }

    /// Puts away what there is of a recording that cannot go on for `cause`, so that nothing of it burdens the
    /// command, which may run for long. What fails here is left to the guardian.
    pub(crate) fn end_early(&mut self, cause: &RecordError) {
        self.manifest.ended_because = Some(cause.to_string());
        let closed = self.close();
        // What could not be written, the guardian may still write.
        if let (Ok(()), Some(instance)) = (&closed, &self.instance) {
            instance.shrink();
        }
        self.manifest.accounts = self.accounts.accounts();
        self.manifest.cost.recorder_cpu_ns = process_cpu_ns();
        if closed.is_err() {
            // For the guardian, it still runs.
            self.manifest.end_ns = self.manifest.begin_ns;
        }
        let written = self.manifest.write(&self.folder);
        let handed_over = hand_over(&self.folder);
        self.has_ended_early = closed.is_ok() && written.and(handed_over).is_ok();
    }

    /// Once the command has ended whose recording could not go on: what it sent until then.
    pub(crate) fn finish_early(&mut self) {
        self.finish_spans();
        // What was written before stands.
        let _ = self.write_manifest();
        let _ = hand_over(&self.folder);
    }

    /// Whether LTTng records events of applications.
    pub(crate) fn has_user_space(&self) -> bool {
        self.session.is_some() && self.manifest.ust.is_some()
    }

    /// How many snapshots rules have taken.
    pub(crate) fn triggered_snapshots(&self) -> usize {
        self.manifest.triggers.len()
    }

    /// How many rings there are.
    pub(crate) fn ring_count(&self) -> usize {
        self.instance
            .as_ref()
            .map_or(0, |instance| instance.cpus().count())
    }

    fn write_manifest(&self) -> Result<(), RecordError> {
        self.manifest
            .write(&self.folder)
            .map_err(RecordError::system("slowpath.json"))
    }
}

/// Gives a finished recording to the user who called `sudo`, so that reading it needs none.
fn hand_over(folder: &Path) -> io::Result<()> {
    match Owner::behind_sudo() {
        Some(owner) => ownership::hand_over(folder, owner),
        None => Ok(()),
    }
}

fn state_dump_failed() -> impl FnOnce(io::Error) -> RecordError {
    RecordError::system("the list of processes could not be written")
}

pub(crate) fn group_quotas_failed() -> impl FnOnce(io::Error) -> RecordError {
    RecordError::system("the list of control groups' quotas could not be written")
}

/// Writes all that a reader needs beside the pages and that does not change meanwhile.
fn describe(instance: &Instance, folder: &Path, events: &[String]) -> io::Result<()> {
    let kernel_folder = folder.join("kernel");
    instance.save_formats(&kernel_folder, events)?;
    state_dump::write_tables(&kernel_folder)
}

fn first_manifest(options: &RecordOptions, plan: &Plan, instance: Option<&Instance>) -> Manifest {
    let now = host::now();
    let words = options
        .command
        .iter()
        .map(|word| word.to_string_lossy().into_owned());
    let command: Vec<String> = words.collect();
    let user_space = UserSpacePart {
        events: plan.user_space_events.clone(),
        lost_events: 0,
    };
    Manifest {
        format_version: manifest::FORMAT_VERSION,
        tool_version: env!("CARGO_PKG_VERSION").to_owned(),
        host: host::kernel_setting("hostname"),
        kernel_release: host::kernel_setting("osrelease"),
        machine: machine(),
        boot_id: host::kernel_setting("random/boot_id"),
        clocks: vec![host::read_clocks()],
        mode: options.mode,
        command: (!command.is_empty()).then_some(command),
        command_exit: None,
        begin_ns: now,
        end_ns: now,
        kernel: KernelPart {
            tracer: plan.tracer,
            clock: ftrace::CLOCK.to_owned(),
            events: plan.kernel_events.clone(),
            page_size: instance.map_or(0, Instance::page_size),
            buffer_bytes_per_cpu: plan.buffer_bytes_per_cpu,
            lost_events: Default::default(),
        },
        ust: (!user_space.events.is_empty()).then_some(user_space),
        quotas_unread: None,
        spans: None,
        snapshots: Vec::new(),
        triggers: Vec::new(),
        failed_snapshots: None,
        complete: false,
        ended_because: None,
        files: Default::default(),
        cost: Cost::default(),
        accounts: Accounts::default(),
    }
}
