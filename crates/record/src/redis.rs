//! Recording inside redis-server: the agent of agents/redis is brought into servers that run and into those
//! that the command starts, and which of its events are recorded.
//!
//! A server that runs is left as it was when the recording, or the last of those that overlap, ends. One into which the
//! agent was brought before keeps it: nobody else's recording is disturbed, and idle it costs nothing that can be
//! measured.

mod filter;
mod probes;
mod servers;

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use slowpath_model::ProcessId;

use crate::agents;
use crate::error::RecordError;
use crate::lttng;

use self::probes::Wanted;
pub(crate) use probes::{CALL_ENDS, ENDS_OF_MOVERS, Probes};
pub(crate) use servers::Servers;

const LIBRARY: &str = "redis/build/libslowpath_redis.so";
/// Loads it into what is a Redis, and nothing into anything else that inherits this.
const LAUNCH: &str = "redis/build/libslowpath_redis_launch.so";
const ATTACH: &str = "redis/build/slowpath-redis-attach";
const PRELOAD: &str = "LD_PRELOAD";
/// Before the names of its events.
const PROVIDER: &str = "slowpath_redis:";
/// Which Redis servers are recorded from inside, and how closely.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RedisChoice {
    /// Those that run already.
    pub servers: Vec<ProcessId>,
    /// Those that the command starts.
    pub launched: bool,
    /// How closely.
    pub detail: RedisDetail,
    /// By what.
    pub by: RedisBackend,
}

/// By what servers are recorded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RedisBackend {
    /// The agent, inside.
    #[default]
    Agent,
    /// The kernel's uprobes: nothing is loaded into them. Life cycles, of servers that run.
    Uprobes,
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
    /// Servers that are probed instead.
    pub(crate) probed: Vec<Wanted>,
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
        if choice.by == RedisBackend::Uprobes {
            let probed = choice.servers.iter().map(|server| Wanted::of(*server));
            return Ok(Self {
                probed: probed.collect::<Result<_, _>>()?,
                ..Self::default()
            });
        }
        let folder = agents::folder();
        let is_built = |folder: &Path| {
            [LIBRARY, LAUNCH, ATTACH]
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
            probed: Vec::new(),
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
        let mut value = folder.join(LAUNCH).into_os_string();
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
    pub(crate) fn attach(&self, talk: &mut dyn FnMut(&str)) -> Result<Servers, RecordError> {
        let program = self.folder.clone().unwrap_or_default().join(ATTACH);
        Servers::attach(program, &self.choice.servers, talk)
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
            probed: Vec::new(),
        };
        let own = format!("/a/{LAUNCH}");
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
