//! Why a recording could not be made, and what the user can do about it.

use std::io;
use std::path::PathBuf;

use slowpath_platform::signals::EndSignal;
use slowpath_platform::tracefs::{Capability, TracefsError, missing_capabilities};

use crate::manifest::Manifest;
use crate::plan::{LEAST_BUFFER, most_of_memory};

/// Why a recording could not be made.
#[derive(Debug, thiserror::Error)]
pub enum RecordError {
    /// The output folder cannot be used.
    #[error("the recording cannot be written to {}: {cause}", folder.display())]
    Output {
        /// The folder.
        folder: PathBuf,
        /// What the system answered.
        cause: io::Error,
    },
    /// The disk of the output folder has less room than a recording begins with.
    #[error(
        "there is too little room for a recording in {}: it begins with {} MB{}, {} MB are free",
        folder.display(), wanted.div_ceil(1 << 20), among(*rings, *ring_bytes, *lttng_bytes), free >> 20
    )]
    NoRoom {
        /// The folder.
        folder: PathBuf,
        /// Bytes that are needed.
        wanted: u64,
        /// The kernel's buffers, whose content always has its room.
        rings: u64,
        /// Bytes of each.
        ring_bytes: u64,
        /// Bytes that LTTng's buffers hold, which have their room as well.
        lttng_bytes: u64,
        /// Bytes that are free.
        free: u64,
    },
    /// The kernel's buffers would leave programs too little memory.
    #[error(
        "{rings} buffers of {} MB for kernel events do not fit into memory, of which {} MB are free",
        ring_bytes.div_ceil(1 << 20), free >> 20
    )]
    NoMemory {
        /// How many buffers.
        rings: u64,
        /// Bytes of each.
        ring_bytes: u64,
        /// Bytes of memory that are free.
        free: u64,
    },
    /// The output folder holds something.
    #[error("the folder {} is not empty", folder.display())]
    Occupied {
        /// The folder.
        folder: PathBuf,
        /// Whether a recording is what it holds.
        by_recording: bool,
    },
    /// The folder of the recording that is to be replaced holds something else as well.
    #[error("the folder {} holds more than a recording: {}", folder.display(), other.display())]
    MoreThanARecording {
        /// The folder.
        folder: PathBuf,
        /// What is none of the recorder's.
        other: PathBuf,
    },
    /// There is no such command.
    #[error("the command {command:?} cannot be run: {cause}")]
    Command {
        /// Its name.
        command: String,
        /// What the system answered.
        cause: io::Error,
    },
    /// The kernel's tracing files are out of reach.
    #[error("kernel events cannot be recorded: {0}")]
    Rights(#[from] TracefsError),
    /// A file of the tracer refused.
    #[error("the kernel's tracer refused {}: {cause}", path.display())]
    Tracer {
        /// The file.
        path: PathBuf,
        /// What the kernel answered.
        cause: io::Error,
    },
    /// An event name or glob matches nothing on this kernel.
    #[error("no kernel event here matches {pattern:?}")]
    UnknownEvent {
        /// As the user wrote it.
        pattern: String,
    },
    /// LTTng was asked for and cannot serve.
    #[error("LTTng cannot record: {cause}")]
    Lttng {
        /// What is missing or what it answered.
        cause: String,
    },
    /// LTTng was asked for kernel events and cannot serve.
    #[error("LTTng cannot record kernel events: {cause}")]
    LttngKernel {
        /// What is missing.
        cause: &'static str,
    },
    /// Neither kernel nor user space is left to record, nor are spans received.
    #[error(
        "there is nothing to record: neither kernel events nor received spans were asked for, and {cause}"
    )]
    Nothing {
        /// Why user space is out.
        cause: String,
    },
    /// An address for spans cannot be had.
    #[error("spans cannot be received at {address}: {cause}")]
    SpanAddress {
        /// The address.
        address: std::net::SocketAddr,
        /// What the system answered.
        cause: io::Error,
    },
    /// An agent that was asked for is not there.
    #[error("the agent for {} is not built{}", agent.name(), in_folder(folder))]
    NoAgent {
        /// The agent.
        agent: crate::agents::Agent,
        /// Where agents were looked for, if anywhere.
        folder: Option<PathBuf>,
    },
    /// An agent that records a program from inside was asked for and is not there.
    #[error("the agent for {program} is not built{}", in_folder(folder))]
    NotBuilt {
        /// For whom it is.
        program: &'static str,
        /// Where agents were looked for, if anywhere.
        folder: Option<PathBuf>,
    },
    /// A Redis server cannot be recorded from inside.
    #[error("process {process} cannot be recorded as a Redis server: {cause}")]
    NoRedis {
        /// The process.
        process: slowpath_model::ProcessId,
        /// Why.
        cause: String,
        /// What helps, if more is known than where to read on.
        hint: String,
    },
    /// Probes are of ftrace, which is not to record.
    #[error(
        "Redis servers can be recorded by uprobes where ftrace records the kernel's events alone"
    )]
    NoFtraceForProbes,
    /// A signal asked for the end before there was anything to record.
    #[error("{} came before the command was started: neither was it run nor anything recorded", signal.name())]
    Interrupted {
        /// The signal.
        signal: EndSignal,
    },
    /// No process has this id.
    #[error("there is no process {0} to keep accounts of")]
    NoSuchProcess(slowpath_model::ProcessId),
    /// No recorder listens in this folder.
    #[error("no recording is running in {}: {cause}", folder.display())]
    NotRunning {
        /// The folder.
        folder: PathBuf,
        /// What the system answered.
        cause: io::Error,
    },
    /// The running recorder refused a snapshot.
    #[error("the recorder gave no snapshot: {0}")]
    SnapshotRefused(String),
    /// The recording could not go on, or not be written in full at its end; what there is has been closed.
    #[error("{cause}")]
    EndedEarly {
        /// Why.
        cause: Box<Self>,
        /// Its folder, absolute.
        folder: PathBuf,
        /// What there is, as its `slowpath.json` says where there was room for that.
        manifest: Box<Manifest>,
    },
    /// Something else that the system refused.
    #[error("{what}: {cause}")]
    System {
        /// What was being done.
        what: &'static str,
        /// What the system answered.
        cause: io::Error,
    },
}

impl RecordError {
    /// Wraps an error of the system with what was being done.
    pub(crate) fn system(what: &'static str) -> impl FnOnce(io::Error) -> Self {
        move |cause| Self::System { what, cause }
    }

    /// The exit status of the command line: 2 where the user can put it right by asking otherwise,
    /// 3 where this machine cannot record so, 128 + signal where one ended it.
    pub fn exit_status(&self) -> u8 {
        match self {
            Self::Interrupted { signal } => 128 + signal.number(),
            Self::EndedEarly { cause, .. } => cause.exit_status(),
            Self::Output { .. }
            | Self::NoRoom { .. }
            | Self::NoMemory { .. }
            | Self::Occupied { .. }
            | Self::MoreThanARecording { .. }
            | Self::Command { .. }
            | Self::UnknownEvent { .. }
            | Self::NoSuchProcess(_)
            | Self::NoAgent { .. }
            | Self::NotBuilt { .. }
            | Self::NoRedis { .. }
            | Self::NoFtraceForProbes
            | Self::SpanAddress { .. }
            | Self::NotRunning { .. } => 2,
            _ => 3,
        }
    }

    /// What the user can do.
    pub fn hint(&self) -> Option<String> {
        Some(match self {
            Self::EndedEarly { cause, .. } => return cause.hint(),
            Self::Output { cause, .. } | Self::System { cause, .. } if is_full(cause) => {
                "the disk is full, or what is left of it is kept for what buffers hold: make room, name a folder \
                 on another one (-o DIR), or ask for less with --buffer-size or --events".into()
            }
            Self::Output { cause, .. } | Self::System { cause, .. }
                if cause.kind() == io::ErrorKind::FileTooLarge =>
            {
                "a file grew beyond the limit of this process: raise it with `ulimit -f`, or ask for less with \
                 --events".into()
            }
            Self::NoRoom {
                rings, ring_bytes, ..
            } if *rings == 0 || *ring_bytes <= LEAST_BUFFER => {
                "make room, or name a folder on another disk (-o DIR)".into()
            }
            Self::NoRoom { .. } => {
                "make room, name a folder on another disk (-o DIR), or ask for smaller buffers with --buffer-size".into()
            }
            Self::NoMemory { rings, free, .. } => format!(
                "an eighth of it is left to programs: ask for at most {}M with --buffer-size",
                (most_of_memory(*free) / (*rings).max(1)) >> 20
            ),
            Self::Output { cause, .. } if cause.kind() == io::ErrorKind::ResourceBusy => {
                "choose another folder, or end the recording that runs".into()
            }
            Self::Output { .. } => "name a folder that can be written: -o DIR".into(),
            Self::Occupied {
                by_recording: true, ..
            } => "choose another folder, or replace that recording with --overwrite".into(),
            Self::Occupied {
                by_recording: false,
                ..
            } => "choose another folder: -o DIR".into(),
            Self::MoreThanARecording { .. } => {
                "choose another folder, or move that out of it: --overwrite removes all of it".into()
            }
            Self::Command { .. } => "check the spelling, or give the path of the program".into(),
            Self::Rights(cause) => rights_hint(cause),
            Self::Tracer { cause, .. } if cause.kind() == io::ErrorKind::OutOfMemory => {
                "the buffers do not fit into memory: ask for less with --buffer-size".into()
            }
            Self::UnknownEvent { .. } => format!(
                "names look like sched:sched_switch, globs like block:*, presets are {}; \
                 /sys/kernel/tracing/available_events lists what this kernel has",
                crate::event_names::preset_names().join(", ")
            ),
            Self::Lttng { .. } => lttng_hint(),
            Self::LttngKernel { .. } => {
                "--kernel ftrace needs nothing to be installed, and is what is used without --kernel".into()
            }
            Self::Nothing { .. } if crate::lttng::is_installed() => {
                "leave out --kernel none, --ust none or --spans off".into()
            }
            Self::Nothing { .. } => "leave out --kernel none or --spans off, or install lttng-tools".into(),
            Self::NoRedis { hint, .. } if !hint.is_empty() => hint.clone(),
            Self::NoRedis { .. } => "agents/redis/README.md says which servers can be recorded, and what that needs".into(),
            Self::NoFtraceForProbes => "add --kernel ftrace".into(),
            Self::NoAgent { .. } | Self::NotBuilt { .. } => {
                "run `make agents`, or name the folder that has them by SLOWPATH_AGENTS".into()
            }
            Self::SpanAddress { .. } => {
                "choose another address, or --spans auto, which finds a free port".into()
            }
            Self::NotRunning { .. } => {
                "start one with: slowpath record --snapshot -o DIR -- COMMAND".into()
            }
            _ => return None,
        })
    }
}

fn in_folder(folder: &Option<PathBuf>) -> String {
    let named = folder
        .as_ref()
        .map(|folder| format!(" in {}", folder.display()));
    named.unwrap_or_default()
}

/// The buffers among what a recording begins with, in words.
fn among(rings: u64, ring_bytes: u64, lttng_bytes: u64) -> String {
    let megabytes = |bytes: u64| bytes.div_ceil(1 << 20);
    let kernel = format!("{rings} buffers of {} MB", megabytes(ring_bytes));
    let lttng = format!("{} MB of LTTng's buffers", megabytes(lttng_bytes));
    match (rings, lttng_bytes) {
        (0, 0) => String::new(),
        (0, _) => format!(" ({lttng} among them)"),
        (_, 0) => format!(" ({kernel} among them)"),
        _ => format!(" ({kernel} and {lttng} among them)"),
    }
}

/// Whether there is no room left for files.
fn is_full(cause: &io::Error) -> bool {
    matches!(
        cause.kind(),
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded
    )
}

/// What LTTng lacks.
fn lttng_hint() -> String {
    if !crate::lttng::is_installed() {
        return "install lttng-tools (and lttng-modules for kernel events), or use \
                --kernel ftrace, which needs neither"
            .to_owned();
    }
    match crate::session_daemon::unusable_home() {
        Some(home) => format!(
            "LTTng and slowpath keep files in the home folder, and {} cannot be written: let HOME name \
             a folder of your own, or leave applications' events out with --ust none",
            home.display()
        ),
        None => "`lttng list` may say more; without applications' events: --ust none".to_owned(),
    }
}

/// Which capability is missing, and what works without it.
fn rights_hint(cause: &TracefsError) -> String {
    let wanted: &[Capability] = match cause {
        TracefsError::NotMountable { .. } => &[Capability::SysAdmin],
        TracefsError::Forbidden { .. } => &[Capability::DacOverride],
    };
    let missing = missing_capabilities(wanted);
    let reason = match missing.first() {
        Some(capability) => format!("this process lacks {}: run it as root", capability.name()),
        None => "this process has the capabilities, so a container's or the kernel's own policy \
                 (lockdown, a read-only /sys) forbids it"
            .to_owned(),
    };
    format!("{reason}. Applications' own events need no rights: --kernel none --ust GLOB")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_disk_is_answered_with_a_hint() {
        let full = || io::Error::from(io::ErrorKind::StorageFull);
        let folder = PathBuf::from("r");
        for error in [
            RecordError::system("slowpath.json")(full()),
            RecordError::Output {
                folder,
                cause: full(),
            },
        ] {
            let hint = error.hint().unwrap_or_default();
            assert!(hint.starts_with("the disk is full"), "{error}: {hint}");
        }
    }
}
