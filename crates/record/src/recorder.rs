//! One recording from begin to end: tracing starts, the command runs, everything is put away.
//!
//! A forked guardian waits beside the recorder, and closes the recording (`recorder/closing.rs`) where the recorder
//! was killed before it did.

mod closing;
mod snapshots;

use std::io;
use std::path::{Path, PathBuf};

use slowpath_model::shell_word;
use slowpath_platform::process::{Guardian, Parting, machine};
use slowpath_platform::signals::SignalPipe;

use crate::accounts::AccountBook;
use crate::claims::{self, Claim, recorder_name};
use crate::command_line::without_secrets;
use crate::control::ControlSocket;
use crate::error::RecordError;
use crate::ftrace::{self, Instance, Setup};
use crate::group_quotas::GroupQuotas;
use crate::host;
use crate::lttng::Session;
use crate::manifest::{self, Accounts, Cost, KernelPart, Manifest, Mode, Tracer, UserSpacePart};
use crate::options::RecordOptions;
use crate::plan::Plan;
use crate::processes;
use crate::redis::{CALL_ENDS, ENDS_OF_MOVERS, Probes};
use crate::room_left::RoomLeft;
use crate::spans::SpanReceiver;
use crate::state_dump::{self, StateDump};
use crate::storage::{self, OutputFolder, PageFiles};
use crate::watch;

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
/// When nothing could be recorded, or writing failed half-way: then what there is has been closed
/// (`complete: false`), and the error is [`RecordError::EndedEarly`].
pub fn record(options: &RecordOptions, talk: &mut dyn FnMut(&str)) -> Result<Outcome, RecordError> {
    // From here on, a signal ends the recording in order, also one that comes before it has begun.
    let signals = SignalPipe::new().map_err(RecordError::system("signals"))?;
    // Before anything is said of how it will be made.
    storage::check_folder(&options.output, options.replace)?;
    let plan = Plan::make(options, talk)?;
    let output = OutputFolder::make(&options.output, options.replace)?;
    let name = recorder_name(std::process::id() as i32);
    // Where no claim can be made, others may tidy up too early should this process be killed.
    let claim = Claim::take(&claims::run_folder(), &name).ok();
    let begun = Recording::begin(options, &plan, output.path.clone(), name, talk);
    let mut recording = begun.inspect_err(|_| output.discard())?;
    let guardian = Guardian::fork(|parting| recording.guard(parting))
        .map_err(RecordError::system("no guardian process could be started"))
        .inspect_err(|_| output.discard())?;
    recording.guardian = Some(guardian);
    let result = recording.run(options, &plan, signals, talk);
    if let Err(error) = &result
        && recording.has_started
    {
        recording.end_early(error);
        recording.finish_early();
    }
    // Where nothing was recorded, it removes what was set up.
    recording.part(Parting::Silence);
    if let Some(claim) = claim {
        claim.give_up();
    }
    let was_interrupted = matches!(result, Err(RecordError::Interrupted { .. }));
    let is_kept = recording.has_started && !was_interrupted;
    if !is_kept {
        output.discard();
    }
    let (manifest, command_end) = result.map_err(|cause| match is_kept {
        true => RecordError::EndedEarly {
            cause: Box::new(cause),
            folder: output.path.clone(),
            manifest: Box::new(recording.manifest.clone()),
        },
        false => cause,
    })?;
    recording.hand_over().map_err(RecordError::system(
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
            shell_word(&options.output.display().to_string())
        ),
    }
}

/// What a recording holds while it runs; its guardian has a copy.
#[derive(Debug)]
pub(crate) struct Recording {
    pub(crate) folder: PathBuf,
    pub(crate) mode: Mode,
    pub(crate) instance: Option<Instance>,
    /// Redis servers that are recorded from outside. After the instance: they end when it does.
    pub(crate) probes: Option<Probes>,
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
    /// Until everything is put away; of the guardian's copy none.
    guardian: Option<Guardian>,
    /// Standard recordings: what must be left on the disk.
    room: Option<RoomLeft>,
    /// Whether events could be recorded.
    has_started: bool,
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
        let room = match options.mode {
            Mode::Standard => {
                Some(RoomLeft::on(&folder, plan.lttng_buffers).map_err(cannot_write)?)
            }
            Mode::Snapshot => None,
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
            probes: None,
            pages,
            state,
            group_quotas,
            accounts: AccountBook::default(),
            manifest,
            name,
            uses_lttng: plan.tracer == Tracer::Lttng || !plan.user_space_events.is_empty(),
            session: None,
            receiver: None,
            guardian: None,
            room,
            has_started: false,
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
                silent: processes::this_in_events(),
            })?;
            self.place_probes(plan, talk)?;
            self.describe(&self.folder, &self.manifest.kernel.events)
                .map_err(RecordError::system(
                    "the events' formats could not be saved",
                ))?;
        }
        self.set_up_lttng(plan, &signals, talk)?;
        let control = ControlSocket::listen(&self.folder)
            .map_err(RecordError::system("no socket for snapshot requests"))?;
        self.receiver = SpanReceiver::start(&options.spans, &self.folder, self.mode, talk)?;
        let mut servers = plan.redis.attach(talk)?;
        servers.wait_until_ready(&signals, talk)?;
        self.start(options, talk)?;
        servers.settle(&signals, talk);
        // A command's start shows that tracing has begun.
        if options.command.is_empty() {
            talk(&begun(options));
        }
        let ended = watch::watch(self, options, plan, signals, &control, talk)?;
        let missing = servers.missing(talk);
        if let Some(part) = &mut self.manifest.ust {
            part.missing_servers = missing;
        }
        let finished = self.finish(&ended);
        drop(servers);
        let command_end = ended.wait_for_command(talk);
        finished?;
        // Only now: a command that is told to end sends its last spans then.
        self.finish_spans();
        self.manifest.command_exit = match command_end {
            CommandEnd::ByItself(status) => Some(status),
            CommandEnd::NoCommand | CommandEnd::ByDuration => None,
        };
        self.manifest.complete = true;
        self.manifest.files = storage::files_of(&self.folder);
        self.write_manifest()?;
        Ok((self.manifest.clone(), command_end))
    }

    fn place_probes(&mut self, plan: &Plan, talk: &mut dyn FnMut(&str)) -> Result<(), RecordError> {
        let probed = &plan.redis.probed;
        let (Some(tracefs), Some(instance)) = (&plan.tracefs, &self.instance) else {
            return Ok(());
        };
        if probed.is_empty() {
            return Ok(());
        }
        if !plan.has_all_call_ends {
            let (system, name) = CALL_ENDS;
            instance.record(system, name, ENDS_OF_MOVERS)?;
            (self.manifest.kernel.events).push(format!("{system}:{name}"));
        }
        let probes = Probes::place(probed, tracefs, instance, talk)?;
        self.manifest.kernel.events.extend(probes.events());
        self.probes = Some(probes);
        Ok(())
    }

    /// Writes all that a reader needs beside the pages and that does not change meanwhile into `folder`.
    fn describe(&self, folder: &Path, events: &[String]) -> io::Result<()> {
        let Some(instance) = &self.instance else {
            return Ok(());
        };
        let kernel_folder = folder.join("kernel");
        instance.save_formats(&kernel_folder, events)?;
        if let Some(probes) = &self.probes {
            probes.save_formats(instance, &kernel_folder)?;
        }
        state_dump::write_tables(&kernel_folder)
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
            let of_servers = plan.redis.filter()?;
            let events = plan.user_space_events.iter().map(|event| {
                let filter = of_servers.as_deref().filter(|_| plan.redis.has(event));
                (event.as_str(), filter)
            });
            session.enable_user_space(events, plan.user_space_sub_buffer)?;
        }
        Ok(session)
    }

    /// Events flow from here on.
    fn start(
        &mut self,
        options: &RecordOptions,
        talk: &mut dyn FnMut(&str),
    ) -> Result<(), RecordError> {
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
        if let Some(probes) = &mut self.probes {
            probes.look(talk);
        }
        for process in &options.accounts {
            self.accounts.look_at(*process);
        }
        Ok(())
    }

    /// Whether LTTng records events of applications.
    pub(crate) fn has_user_space(&self) -> bool {
        self.session.is_some() && self.manifest.ust.is_some()
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

fn state_dump_failed() -> impl FnOnce(io::Error) -> RecordError {
    RecordError::system("the list of processes could not be written")
}

pub(crate) fn group_quotas_failed() -> impl FnOnce(io::Error) -> RecordError {
    RecordError::system("the list of control groups' quotas could not be written")
}

fn first_manifest(options: &RecordOptions, plan: &Plan, instance: Option<&Instance>) -> Manifest {
    let now = host::now();
    let command = without_secrets(options.command.iter().map(|word| word.to_string_lossy()));
    let user_space = UserSpacePart {
        events: plan.user_space_events.clone(),
        lost_events: 0,
        missing_servers: Vec::new(),
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
