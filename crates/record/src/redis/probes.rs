//! Recording Redis and Valkey from outside, where nothing may be loaded into them: the kernel's uprobes on the functions
//! that read, execute and write, in the recorder's own tracing instance. The server's program and memory stay as they
//! are; each probe costs it some microseconds.
//!
//! What the probes do not say follows when they are read (datastore's `probes.rs`): how many bytes were moved from the
//! ends of system calls, which are recorded beside them; whose connection a client is from marks in the trace, made of
//! looks at `/proc`.

mod layout;
mod sockets;

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use slowpath_model::ProcessId;
use slowpath_platform::uprobes::{self, Definitions};

use self::layout::Layout;
use self::sockets::Sockets;
use crate::error::RecordError;
use crate::ftrace::Instance;
use crate::processes;

/// What the groups of all recorders begin with.
const PREFIX: &str = "slowpath_record_";
/// System calls end by this event.
pub(crate) const CALL_ENDS: (&str, &str) = ("raw_syscalls", "sys_exit");
/// Those of `read`, `write` and `writev`, by their numbers on x86-64; of everybody, as a server may make threads.
pub(crate) const ENDS_OF_MOVERS: &str = "id == 0 || id == 1 || id == 20";
/// A client that was blocked goes on …
const RELEASED: &str = "redis_client_released";
/// … with what it sent next, by this argument.
const GOES_ON: &str = "goes_on";
/// Threads that an event is recorded of: the kernel takes a filter of a page.
const MOST_THREADS: usize = 100;

/// Servers that are probed; probes end with this. The instance's events must have ended.
#[derive(Debug)]
pub(crate) struct Probes {
    servers: Vec<Server>,
    instance: PathBuf,
    definitions: Vec<Definitions>,
}

#[derive(Debug)]
struct Server {
    process: ProcessId,
    /// The user knows that an agent keeps the probes from firing.
    is_told: bool,
    /// `None`: its network cannot be asked.
    sockets: Option<Sockets>,
}

/// A probe: its name, where it is, at whose return, and what it tells as the kernel's uprobe events have it.
type Probe = (&'static str, u64, bool, String);

/// A server as it is to be probed.
#[derive(Clone, Debug)]
pub(crate) struct Wanted {
    process: ProcessId,
    layout: Layout,
    /// Whose events are recorded.
    whose: Whose,
}

/// By what a server's events are told from those of others that run the same program.
#[derive(Clone, Debug)]
enum Whose {
    /// The number that it keeps of itself, at this place: it has the same number here.
    Itself(u64),
    /// Threads, by their numbers here. Those that it makes later are missing.
    Threads(Vec<i32>),
}

impl Wanted {
    /// Looks at the program of a server, and at who has it already.
    ///
    /// # Errors
    /// Why it cannot be probed.
    pub(crate) fn of(process: ProcessId) -> Result<Self, RecordError> {
        let refused = |cause: String, hint: &str| RecordError::NoRedis {
            process,
            cause,
            hint: hint.to_owned(),
        };
        if has_detours(process) {
            return Err(refused(
                "its functions are detoured for a recording by the agent, where probes do not fire"
                    .to_owned(),
                "wait until that recording has ended, or record it by the agent as well",
            ));
        }
        let layout = Layout::of(&program(process)).map_err(|cause| {
            let hint = match cause.contains("it is no Redis") {
                true => super::those_that_run(),
                false => String::new(),
            };
            refused(cause, &hint)
        })?;
        let whose = match (layout.process, processes::number_inside(process)) {
            (Some(place), None) => Whose::Itself(place),
            _ => Whose::Threads(
                processes::threads(process)
                    .iter()
                    .map(|one| one.0)
                    .collect(),
            ),
        };
        if let Whose::Threads(threads) = &whose
            && threads.len() > MOST_THREADS
        {
            let cause = format!("it has {} threads", threads.len());
            return Err(refused(
                cause,
                "probes are possible where there are no more than 100",
            ));
        }
        Ok(Self {
            process,
            layout,
            whose,
        })
    }

    /// True for the events of this server, by this probe.
    fn filter(&self, probe: &str) -> String {
        let of_server = self.filter_of_server();
        match probe {
            // Else what has blocked is executed again.
            RELEASED => format!("({of_server}) && {GOES_ON} != 0"),
            _ => of_server,
        }
    }

    fn filter_of_server(&self) -> String {
        match &self.whose {
            Whose::Itself(_) => format!("itself == {}", self.process),
            Whose::Threads(threads) => {
                let each = threads
                    .iter()
                    .map(|thread| format!("common_pid == {thread}"));
                each.collect::<Vec<_>>().join(" || ")
            }
        }
    }

    fn probes(&self) -> Vec<Probe> {
        let Layout {
            read,
            call,
            write,
            create,
            read_in_thread,
            block,
            release,
            descriptor,
            client,
            command,
            name,
            ..
        } = self.layout;
        let itself = match self.whose {
            Whose::Itself(place) => format!("itself=@+{place}:s32 "),
            Whose::Threads(_) => String::new(),
        };
        let of = |function: u8| {
            format!(
                "{itself}vpid=\\{}:s32 function=\\{function}:u8",
                self.process
            )
        };
        // A client begins with its number in all of them.
        let mut probes = vec![
            (
                "redis_read",
                read,
                false,
                format!(
                    "{} fd=+{descriptor}(%di):s32 client_id=+0(+{client}(%di)):u64",
                    of(1)
                ),
            ),
            ("redis_read_return", read, true, of(1)),
            (
                "redis_call",
                call,
                false,
                format!(
                    "{} client_id=+0(%di):u64 command=+0(+{name}(+{command}(%di))):string",
                    of(2)
                ),
            ),
            ("redis_call_return", call, true, of(2)),
            (
                "redis_write",
                write,
                false,
                format!("{} client_id=+0(%di):u64", of(3)),
            ),
            ("redis_write_return", write, true, of(3)),
            (
                "redis_client_made",
                create,
                true,
                format!("{} client_id=+0($retval):u64", of(0)),
            ),
        ];
        if let Some(read) = read_in_thread {
            let told = format!("{} client_id=+0(%di):u64", of(1));
            probes.push(("redis_read_in_thread", read, false, told));
            probes.push(("redis_read_in_thread_return", read, true, of(1)));
        }
        if let Some(block) = block {
            let told = format!("{} client_id=+0(%di):u64", of(0));
            probes.push(("redis_client_blocked", block, false, told));
        }
        if let Some(release) = release {
            let told = format!("{} client_id=+0(%di):u64 {GOES_ON}=%si:u8", of(0));
            probes.push((RELEASED, release, false, told));
        }
        probes
    }
}

impl Probes {
    /// Defines the probes of `servers` and has `instance` record them.
    ///
    /// # Errors
    /// What the kernel answered.
    pub(crate) fn place(
        servers: &[Wanted],
        tracefs: &Path,
        instance: &Instance,
        talk: &mut dyn FnMut(&str),
    ) -> Result<Self, RecordError> {
        uprobes::remove_leftovers(tracefs, PREFIX);
        let mut probes = Self {
            servers: Vec::new(),
            instance: instance.folder().to_owned(),
            definitions: Vec::new(),
        };
        for server in servers {
            let refused = |cause: io::Error| RecordError::NoRedis {
                process: server.process,
                cause: format!("the kernel takes no probe on its functions: {cause}"),
                hint: "probes need root and a kernel with uprobes (CONFIG_UPROBE_EVENTS)"
                    .to_owned(),
            };
            let group = format!("{}_{}", uprobes::own_group(PREFIX), server.process);
            let mut definitions = Definitions::new(tracefs.to_owned(), group);
            let path = program(server.process);
            for (name, offset, is_return, fields) in server.probes() {
                definitions
                    .add(name, &path, offset, is_return, &fields)
                    .map_err(refused)?;
            }
            let group = definitions.group().to_owned();
            probes.definitions.push(definitions);
            for (name, ..) in server.probes() {
                instance.record(&group, name, &server.filter(name))?;
            }
            let sockets = Sockets::of(server.process);
            if let Err(cause) = &sockets {
                talk(&format!(
                    "addresses of clients of process {} will not be known: {cause}",
                    server.process
                ));
            }
            probes.servers.push(Server {
                process: server.process,
                is_told: false,
                sockets: sockets.ok(),
            });
        }
        Ok(probes)
    }

    /// Notes in the trace whose connections the servers have, and says where something keeps the probes from firing.
    pub(crate) fn look(&mut self, talk: &mut dyn FnMut(&str)) {
        for server in &mut self.servers {
            if !server.is_told && has_detours(server.process) {
                server.is_told = true;
                talk(&format!(
                    "another recording has the agent in process {} now: from here on, commands of it are missing in this one",
                    server.process
                ));
            }
            for mark in server.sockets.iter_mut().flat_map(Sockets::look) {
                // Where it cannot be written, the client has no address.
                let _ = fs::write(self.instance.join("trace_marker"), mark);
            }
        }
    }

    /// Writes the descriptions of their events beside those of the kernel's own.
    pub(crate) fn save_formats(&self, instance: &Instance, folder: &Path) -> io::Result<()> {
        for (server, definitions) in self.servers.iter().zip(&self.definitions) {
            instance.save_system(folder, definitions.group(), &system_of(server.process))?;
        }
        Ok(())
    }

    /// Their events, as they are called in the recording.
    pub(crate) fn events(&self) -> impl Iterator<Item = String> {
        let systems = self.servers.iter().map(|server| system_of(server.process));
        systems.map(|system| format!("{system}:*"))
    }
}

impl Drop for Probes {
    fn drop(&mut self) {
        // Definitions that are recorded cannot be removed.
        for definitions in &self.definitions {
            let enable = self.instance.join("events").join(definitions.group());
            let _ = fs::write(enable.join("enable"), "0");
        }
    }
}

/// What the events of a server are of in a recording, whoever recorded it.
fn system_of(process: ProcessId) -> String {
    format!("slowpath_redis_{process}")
}

/// Whether the agent has its detours in a process.
fn has_detours(process: ProcessId) -> bool {
    let maps = fs::read_to_string(format!("/proc/{process}/maps"));
    maps.is_ok_and(|maps| maps.contains("slowpath-redis-code"))
}

/// The program of a process, whatever its path is called now and there.
fn program(process: ProcessId) -> PathBuf {
    PathBuf::from(format!("/proc/{process}/exe"))
}
