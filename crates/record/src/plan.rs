//! What a recording will consist of on this machine, decided before anything is touched.
//!
//! All that can be refused for the user's options or rights is refused here, so that a mistake
//! leaves neither a folder nor a tracing instance behind.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs;
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use slowpath_platform::{room, tracefs};

use crate::agents::Agents;
use crate::error::RecordError;
use crate::manifest::{Mode, Tracer};
use crate::node::NodeAgent;
use crate::options::{KernelChoice, RecordOptions, UserSpaceChoice};
use crate::redis::{CALL_ENDS, RedisAgent};
use crate::room_left::{FirstRoom, LttngBuffers};
use crate::spans::{self, SpansChoice};
use crate::{event_names, ftrace, host, lttng, processes};

const STANDARD_BUFFER: u64 = 16 << 20;
const SNAPSHOT_BUFFER: u64 = 64 << 20;
/// No buffer is smaller than so, unless told to be.
pub(crate) const LEAST_BUFFER: u64 = 1 << 20;
/// All processors' buffers together take at most this part of the free memory, and of the free disk
/// where room is kept for what they hold, unless told more.
const SHARE: u64 = 8;

/// The parts of a recording.
#[derive(Debug)]
pub(crate) struct Plan {
    pub(crate) tracer: Tracer,
    /// Where tracefs is, with ftrace.
    pub(crate) tracefs: Option<PathBuf>,
    /// Kernel events as `system:event`.
    pub(crate) kernel_events: Vec<String>,
    pub(crate) buffer_bytes_per_cpu: u64,
    /// Names and globs of applications' events; empty for none.
    pub(crate) user_space_events: Vec<String>,
    /// Whether the recording goes on without applications' events when LTTng refuses.
    pub(crate) user_space_is_optional: bool,
    /// Bytes of a sub-buffer of applications' events.
    pub(crate) user_space_sub_buffer: u64,
    /// What LTTng's buffers can hold.
    pub(crate) lttng_buffers: LttngBuffers,
    /// What the command inherits.
    pub(crate) agents: Agents,
    /// Whether the ends of all system calls are among them, whoever needs some.
    pub(crate) has_all_call_ends: bool,
    /// What Redis servers are brought.
    pub(crate) redis: RedisAgent,
    /// What Node programs of the command load.
    pub(crate) node: NodeAgent,
}

impl Plan {
    /// Decides, and says in a line each what is not as one might expect.
    pub(crate) fn make(
        options: &RecordOptions,
        talk: &mut dyn FnMut(&str),
    ) -> Result<Self, RecordError> {
        for process in &options.accounts {
            if processes::threads(*process).is_empty() {
                return Err(RecordError::NoSuchProcess(*process));
            }
        }
        if let Some(program) = options.command.first() {
            find_program(program).map_err(|cause| RecordError::Command {
                command: program.to_string_lossy().into_owned(),
                cause,
            })?;
        }
        spans::check_addresses(&options.spans.listen)?;
        let tracer = choose_tracer(options.kernel, talk)?;
        let (tracefs, kernel_events) = match tracer {
            Tracer::Ftrace => {
                if !processes::are_numbered_as_in_events() {
                    talk(
                        "this runs in a namespace of processes of its own, as in a container: kernel events call threads by \
                         the numbers of the host, which are not known here. Names of threads are those that the \
                         tracer has; files and control groups of processes are not recorded",
                    );
                    talk(
                        "hint: record on the host, or let the container share its processes (docker run --pid=host)",
                    );
                }
                let tracefs = tracefs::find_or_mount()?;
                let available = ftrace::available_events(&tracefs)?;
                (
                    Some(tracefs),
                    event_names::resolve(&available, &options.events)?,
                )
            }
            Tracer::Lttng => (None, lttng::wanted_kernel_events(&options.events)),
            Tracer::None => (None, Vec::new()),
        };
        let redis = RedisAgent::find(&options.redis)?;
        if !redis.probed.is_empty() && tracer != Tracer::Ftrace {
            return Err(RecordError::NoFtraceForProbes);
        }
        let has_all_call_ends = kernel_events
            .iter()
            .any(|event| event.split_once(':') == Some(CALL_ENDS));
        let node = NodeAgent::find(options.node)?;
        let from_inside: Vec<String> = redis.events().chain(node.events()).collect();
        if !from_inside.is_empty() && !lttng::is_installed() {
            return Err(RecordError::Lttng {
                cause: "it is not installed, and records what is said from inside Redis and Node"
                    .to_owned(),
            });
        }
        let user_space_is_optional = options.user_space == UserSpaceChoice::SpansIfPossible
            && tracer != Tracer::None
            && from_inside.is_empty();
        let mut user_space_events = choose_user_space(options, tracer, talk)?;
        user_space_events.extend(from_inside);
        // LTTng refuses a name that it has; an event that globs cover as well is recorded once.
        let mut seen = BTreeSet::new();
        user_space_events.retain(|event| seen.insert(event.clone()));
        let agents = Agents::find(&options.agents)?;
        let rings = tracefs.as_deref().map_or(0, ftrace::ring_count);
        let buffer_bytes_per_cpu = options
            .buffer_bytes_per_cpu
            .unwrap_or_else(|| default_buffer(options, rings));
        check_memory(rings, buffer_bytes_per_cpu, host::available_memory())?;
        let user_space_sub_buffer = lttng::sub_buffer_of_user_space(share_of_disk(options));
        let lttng_buffers = LttngBuffers {
            kernel: match tracer {
                Tracer::Lttng => {
                    lttng::bytes_of_buffers(lttng::sub_buffer_of_kernel(buffer_bytes_per_cpu))
                }
                Tracer::Ftrace | Tracer::None => 0,
            },
            of_user: match user_space_events.is_empty() {
                true => 0,
                false => lttng::bytes_of_buffers(user_space_sub_buffer),
            },
        };
        let first = FirstRoom {
            rings,
            ring_bytes: buffer_bytes_per_cpu,
            lttng: lttng_buffers,
        };
        match options.mode {
            Mode::Standard => first.check(&options.output, options.replace)?,
            Mode::Snapshot => first.warn_of_snapshots(&options.output, options.replace, talk),
        }
        Ok(Self {
            tracer,
            agents,
            redis,
            node,
            tracefs,
            has_all_call_ends,
            kernel_events,
            buffer_bytes_per_cpu,
            user_space_events,
            user_space_is_optional,
            user_space_sub_buffer,
            lttng_buffers,
        })
    }
}

fn choose_tracer(choice: KernelChoice, talk: &mut dyn FnMut(&str)) -> Result<Tracer, RecordError> {
    let lacking = || match (lttng::is_installed(), lttng::has_kernel_modules()) {
        (false, _) => Some("LTTng is not installed"),
        (true, false) => Some("LTTng's kernel modules are not installed for this kernel"),
        (true, true) => None,
    };
    match choice {
        KernelChoice::None => Ok(Tracer::None),
        KernelChoice::Ftrace => Ok(Tracer::Ftrace),
        KernelChoice::Lttng => match lacking() {
            None => Ok(Tracer::Lttng),
            Some(cause) => Err(RecordError::LttngKernel { cause }),
        },
        KernelChoice::Auto => match lacking() {
            None => Ok(Tracer::Lttng),
            Some(cause) => {
                talk(&format!("kernel events come from ftrace: {cause}"));
                Ok(Tracer::Ftrace)
            }
        },
    }
}

fn choose_user_space(
    options: &RecordOptions,
    tracer: Tracer,
    talk: &mut dyn FnMut(&str),
) -> Result<Vec<String>, RecordError> {
    let cause = match &options.user_space {
        UserSpaceChoice::Nothing => "applications' events were not asked for either",
        UserSpaceChoice::Events(events) if lttng::is_installed() => return Ok(events.clone()),
        UserSpaceChoice::Events(_) => {
            return Err(RecordError::Lttng {
                cause: "it is not installed".to_owned(),
            });
        }
        UserSpaceChoice::SpansIfPossible if lttng::is_installed() => {
            return Ok(vec!["slowpath_span:*".to_owned()]);
        }
        UserSpaceChoice::SpansIfPossible => "LTTng, which records applications', is not installed",
    };
    if tracer == Tracer::None && options.spans.listen == SpansChoice::Off {
        return Err(RecordError::Nothing {
            cause: cause.to_owned(),
        });
    }
    if options.user_space == UserSpaceChoice::SpansIfPossible {
        let others = match tracer {
            Tracer::None => "",
            Tracer::Ftrace | Tracer::Lttng => "; kernel events are complete",
        };
        talk(&format!(
            "LTTng is not installed: no span events of applications{others}"
        ));
    }
    Ok(Vec::new())
}

/// How much of the memory that is free buffers may take at most: the kernel gives them all that there is, and then ends
/// programs.
pub(crate) fn most_of_memory(free: u64) -> u64 {
    free - free / 8
}

/// Whether so many buffers leave something to programs; where nobody tells what is free, they do.
fn check_memory(rings: u64, ring_bytes: u64, free: Option<u64>) -> Result<(), RecordError> {
    match free {
        Some(free) if rings.saturating_mul(ring_bytes) > most_of_memory(free) => {
            Err(RecordError::NoMemory {
                rings,
                ring_bytes,
                free,
            })
        }
        _ => Ok(()),
    }
}

fn default_buffer(options: &RecordOptions, rings: u64) -> u64 {
    let (wanted, free_on_disk) = match options.mode {
        // What the buffers hold has its room on disk from the begin.
        Mode::Standard => (STANDARD_BUFFER, room::free_bytes(&options.output)),
        Mode::Snapshot => (SNAPSHOT_BUFFER, None),
    };
    let free = [host::available_memory(), free_on_disk].into_iter();
    let shares = free.flatten().map(|free| free / SHARE / rings.max(1));
    shares.fold(wanted, u64::min).max(LEAST_BUFFER)
}

/// What the buffer of a processor may hold of applications' events, in bytes.
fn share_of_disk(options: &RecordOptions) -> u64 {
    let free_on_disk = match options.mode {
        Mode::Standard => room::free_bytes(&options.output),
        Mode::Snapshot => None,
    };
    free_on_disk.map_or(u64::MAX, |free| free / SHARE / host::possible_cpus())
}

/// Finds what the command would run, as execvp(3) does.
fn find_program(program: &OsStr) -> io::Result<()> {
    let candidates: Vec<PathBuf> = if program.to_string_lossy().contains('/') {
        vec![PathBuf::from(program)]
    } else {
        let path = std::env::var_os("PATH").unwrap_or_default();
        std::env::split_paths(&path)
            .map(|folder| folder.join(program))
            .collect()
    };
    let is_runnable = |path: &Path| {
        fs::metadata(path).map(|data| data.is_file() && data.permissions().mode() & 0o111 != 0)
    };
    let mut worst = io::Error::new(io::ErrorKind::NotFound, "not found");
    for path in candidates {
        match is_runnable(&path) {
            Ok(true) => return Ok(()),
            Ok(false) => worst = io::Error::new(io::ErrorKind::PermissionDenied, "not executable"),
            Err(_) => {}
        }
    }
    Err(worst)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buffers_leave_memory_to_programs() {
        let check = |rings, ring_bytes, free| check_memory(rings, ring_bytes, free);
        assert!(check(2, 7 << 29, Some(8 << 30)).is_ok());
        let Err(error) = check(2, (7 << 29) + 1, Some(8 << 30)) else {
            panic!("more than there is");
        };
        assert_eq!(error.exit_status(), 2);
        let hint = error.hint().unwrap_or_default();
        assert!(
            hint.ends_with("ask for at most 3584M with --buffer-size"),
            "{hint}"
        );
        assert!(check(1 << 40, 1 << 40, Some(8 << 30)).is_err());
        assert!(check(2, 1 << 40, None).is_ok());
        assert!(check(0, 1 << 40, Some(0)).is_ok());
    }
}
