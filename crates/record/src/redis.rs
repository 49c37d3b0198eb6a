//! Recording inside redis-server: the agent of agents/redis is brought into servers that run and into those
//! that the command starts, and which of its events are recorded.
//!
//! A server that runs is left as it was when the recording ends. One into which the agent was brought before
//! keeps it: nobody else's recording is disturbed, and idle it costs nothing that can be measured.

mod filter;

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::time::{Duration, Instant};

use slowpath_model::ProcessId;
use slowpath_platform::process::helper;
use slowpath_platform::signals::SignalPipe;

use crate::agents;
use crate::error::RecordError;
use crate::lttng;

const LIBRARY: &str = "redis/build/libslowpath_redis.so";
const ATTACH: &str = "redis/build/slowpath-redis-attach";
const PRELOAD: &str = "LD_PRELOAD";
/// Before the names of its events.
const PROVIDER: &str = "slowpath_redis:";
/// An idle server notices a recording within a tenth of a second.
const NOTICED: Duration = Duration::from_millis(200);
/// A process tells a new daemon of itself 5 s after the one before has ended, or somewhat later.
const PATIENCE: Duration = Duration::from_secs(15);
/// Who waits longer wants to know what for.
const SWIFT: Duration = Duration::from_secs(1);
const PAUSE: Duration = Duration::from_millis(50);

/// Which Redis servers are recorded from inside, and how closely.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RedisChoice {
    /// Those that run already.
    pub servers: Vec<ProcessId>,
    /// Those that the command starts.
    pub launched: bool,
    /// How closely.
    pub detail: RedisDetail,
}

/// How closely Redis is recorded; agents/redis/README.md lists the events of each.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RedisDetail {
    /// One event for all that a client sent at once, one for each message between nodes of a cluster.
    #[default]
    Lite,
    /// Single events for reading, executing and writing, commands of scripts, too; messages between nodes.
    LifeCycle,
    /// Also the event loop, I/O threads and TLS.
    Full,
}

impl RedisDetail {
    /// The events by name or glob, as LTTng has them.
    fn events(self) -> &'static [&'static str] {
        match self {
            Self::Lite => &[
                "slowpath_redis:batches",
                "slowpath_redis:command_name",
                "slowpath_redis:client_address",
                "slowpath_redis:cluster_send",
                "slowpath_redis:cluster_process_packet",
                "slowpath_redis:broadcast_start",
                "slowpath_redis:broadcast_end",
                "slowpath_redis:bus_address",
            ],
            Self::LifeCycle => &[
                "slowpath_redis:start_read_client_query",
                "slowpath_redis:end_read_client_query",
                "slowpath_redis:call_command_start",
                "slowpath_redis:call_command_end",
                "slowpath_redis:write_to_client_start",
                "slowpath_redis:write_to_client_end",
                "slowpath_redis:client_address",
                "slowpath_redis:cluster_send",
                "slowpath_redis:cluster_process_packet",
                "slowpath_redis:broadcast_start",
                "slowpath_redis:broadcast_end",
                "slowpath_redis:bus_address",
            ],
            Self::Full => &["slowpath_redis:*"],
        }
    }
}

/// A server to record: `launch` those of the command, a number that process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RedisServer {
    /// Those that the command starts.
    Launched,
    /// One that runs.
    Running(ProcessId),
}

impl FromStr for RedisServer {
    type Err = String;

    fn from_str(word: &str) -> Result<Self, String> {
        match (word, word.parse()) {
            ("launch", _) => Ok(Self::Launched),
            (_, Ok(process @ 1..)) => Ok(Self::Running(ProcessId(process))),
            _ => Err(format!(
                "{word:?} is neither `launch` nor the number of a process"
            )),
        }
    }
}

/// The agent, where it is wanted, and what it is wanted for.
#[derive(Clone, Debug, Default)]
pub(crate) struct RedisAgent {
    choice: RedisChoice,
    /// Where it is built; `None` where it is not wanted.
    folder: Option<PathBuf>,
}

impl RedisAgent {
    /// Finds it.
    ///
    /// # Errors
    /// Where it is wanted and has not been built, or a server does not run.
    pub(crate) fn find(choice: &RedisChoice) -> Result<Self, RecordError> {
        if choice.servers.is_empty() && !choice.launched {
            return Ok(Self::default());
        }
        for server in &choice.servers {
            if !Path::new(&format!("/proc/{}", server.0)).exists() {
                return Err(RecordError::NoRedis {
                    process: *server,
                    cause: "there is no such process".to_owned(),
                    hint: those_that_run(),
                });
            }
        }
        let folder = agents::folder();
        let is_built = |folder: &Path| {
            [LIBRARY, ATTACH]
                .iter()
                .all(|file| folder.join(file).exists())
        };
        if !folder.as_deref().is_some_and(is_built) {
            return Err(RecordError::NotBuilt {
                program: "Redis",
                folder,
            });
        }
        Ok(Self {
            choice: choice.clone(),
            folder,
        })
    }

    /// The events to record.
    pub(crate) fn events(&self) -> impl Iterator<Item = String> {
        let wanted = self.folder.is_some().then(|| self.choice.detail.events());
        wanted.unwrap_or_default().iter().map(ToString::to_string)
    }

    /// Which servers' events are recorded, of all that have the agent: those named, and where the command may start
    /// some, all that are not there before. `None`: all.
    ///
    /// # Errors
    /// What LTTng answered.
    pub(crate) fn filter(&self) -> Result<Option<String>, String> {
        let named = &self.choice.servers;
        if self.folder.is_none() {
            return Ok(None);
        }
        if !self.choice.launched {
            return Ok(Some(filter::only(named)));
        }
        let mut others = lttng::processes_with_events(PROVIDER)?;
        others.retain(|process| !named.contains(process));
        Ok(filter::all_but(&others))
    }

    /// Whether `event` is the agent's, by its name or glob.
    pub(crate) fn has(&self, event: &str) -> bool {
        self.folder.is_some() && event.starts_with(PROVIDER)
    }

    /// What makes servers that the command starts load the agent; `theirs` is what is loaded now.
    pub(crate) fn variable(&self, theirs: Option<OsString>) -> Option<(&'static str, OsString)> {
        let folder = self.folder.as_ref().filter(|_| self.choice.launched)?;
        let mut value = folder.join(LIBRARY).into_os_string();
        if let Some(theirs) = theirs.filter(|theirs| !theirs.is_empty()) {
            value.push(":");
            value.push(theirs);
        }
        Some((PRELOAD, value))
    }

    /// Brings it into the servers that run, until what is returned is dropped.
    ///
    /// # Errors
    /// What kept it out of one; the others are left as they were.
    pub(crate) fn attach(&self, talk: &mut dyn FnMut(&str)) -> Result<Attached, RecordError> {
        let mut attached = Attached(Vec::new());
        let Some(folder) = &self.folder else {
            return Ok(attached);
        };
        let program = folder.join(ATTACH);
        for server in &self.choice.servers {
            let failed = |said: String| {
                let (cause, hint) = said.split_once("\nhint: ").unwrap_or((&said, ""));
                let is_another = cause.contains("is no redis-server");
                RecordError::NoRedis {
                    process: *server,
                    cause: cause.to_owned(),
                    hint: match is_another {
                        true => those_that_run(),
                        false => hint.to_owned(),
                    },
                }
            };
            let said = run(&program, &[], *server).map_err(failed)?;
            talk(&said);
            if said.starts_with("attached to ") {
                attached.0.push((program.clone(), *server));
            }
        }
        Ok(attached)
    }
}

/// Servers that the agent leaves when this is dropped.
pub(crate) struct Attached(Vec<(PathBuf, ProcessId)>);

impl Attached {
    /// Before events are recorded: waits until LTTng can record the servers that run. An agent that was there
    /// before looks every few seconds for the daemon after the one that it knew has ended. A signal ends the wait.
    pub(crate) fn wait_until_known(
        &self,
        choice: &RedisChoice,
        signals: &SignalPipe,
        talk: &mut dyn FnMut(&str),
    ) {
        let begin = Instant::now();
        let mut has_said_so = false;
        for server in &choice.servers {
            while !lttng::registered_processes().is_ok_and(|known| known.contains(server)) {
                let waited = begin.elapsed();
                if waited > PATIENCE {
                    talk(&format!(
                        "process {} has not told LTTng of itself in {} s: its first events may be missing",
                        server.0,
                        PATIENCE.as_secs()
                    ));
                    break;
                }
                if waited > SWIFT && !has_said_so {
                    talk("waiting until LTTng knows the servers");
                    has_said_so = true;
                }
                if signals.interrupts_sleep(PAUSE) {
                    return;
                }
            }
        }
    }

    /// Once events are recorded: waits until the agent, wherever it is in a server that runs, has noticed.
    pub(crate) fn settle(&self, choice: &RedisChoice) {
        if !choice.servers.is_empty() {
            std::thread::sleep(NOTICED);
        }
    }
}

impl Drop for Attached {
    fn drop(&mut self) {
        for (program, server) in &self.0 {
            // One that has ended meanwhile needs nothing; in one that cannot be stopped it stays, idle.
            let _ = run(program, &["--detach"], *server);
        }
    }
}

/// For whom named another process: which ones are servers. Empty where none is.
fn those_that_run() -> String {
    let names_of = |folder: std::fs::DirEntry| {
        let name = std::fs::read_to_string(folder.path().join("comm")).ok()?;
        let is_server = name.trim_end() == "redis-server";
        is_server.then(|| folder.file_name().to_string_lossy().into_owned())
    };
    let processes = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    let servers: Vec<String> = processes.filter_map(names_of).collect();
    match servers.len() {
        0 => String::new(),
        1 => format!("redis-server is process {}", servers[0]),
        _ => format!(
            "those called redis-server are processes {}",
            servers.join(", ")
        ),
    }
}

/// Runs the program for a server; what it said, or why it failed.
fn run(program: &Path, options: &[&str], server: ProcessId) -> Result<String, String> {
    let run = helper(program)
        .args(options)
        .arg(server.0.to_string())
        .output()
        .map_err(|cause| format!("{}: {cause}", program.display()))?;
    let said = |bytes: &[u8]| String::from_utf8_lossy(bytes).trim().to_owned();
    match run.status.success() {
        true => Ok(said(&run.stdout)),
        false => {
            let said = said(&run.stderr);
            let named = said.strip_prefix("slowpath-redis-attach: ");
            Err(named.unwrap_or(&said).to_owned())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn servers_are_launched_or_run() {
        assert_eq!("launch".parse(), Ok(RedisServer::Launched));
        assert_eq!("17".parse(), Ok(RedisServer::Running(ProcessId(17))));
        for nonsense in ["", "0", "-3", "redis", "17 "] {
            let parsed: Result<RedisServer, _> = nonsense.parse();
            assert!(parsed.is_err(), "{nonsense:?}");
        }
    }

    #[test]
    fn what_is_loaded_already_stays() {
        let agent = |launched| RedisAgent {
            choice: RedisChoice {
                launched,
                ..RedisChoice::default()
            },
            folder: Some("/a".into()),
        };
        let own = format!("/a/{LIBRARY}");
        assert_eq!(agent(false).variable(None), None);
        let variable = |theirs: Option<&str>| agent(true).variable(theirs.map(Into::into));
        assert_eq!(variable(None), Some((PRELOAD, own.clone().into())));
        assert_eq!(variable(Some("")), Some((PRELOAD, own.clone().into())));
        let both = format!("{own}:/b.so");
        assert_eq!(variable(Some("/b.so")), Some((PRELOAD, both.into())));
    }

    #[test]
    fn without_a_server_nothing_is_recorded() {
        let agent = RedisAgent::find(&RedisChoice::default()).expect("nothing to find");
        assert_eq!(agent.events().count(), 0);
        assert_eq!(agent.variable(None), None);
    }
}
