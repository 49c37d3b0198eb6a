//! Servers that run, while a recording has them: the agent is brought there, asked how far it is, and sent away.
//!
//! Several recordings may have one server. The agent leaves it when the one that brought it has ended and none of the
//! others is left, and is brought again should it be gone when this one begins.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use slowpath_model::ProcessId;
use slowpath_platform::process::helper;
use slowpath_platform::signals::SignalPipe;

use crate::error::RecordError;
use crate::lttng;

/// An idle server notices a recording within a tenth of a second, and LTTng switches events on one by one.
const NOTICED: Duration = Duration::from_millis(200);
/// How long it may take on a busy machine.
const NOTICED_AT_LAST: Duration = Duration::from_secs(3);
/// A process tells a new daemon of itself 5 s after the one before has ended, or somewhat later; and the agent gives up
/// after 10 s to learn what it must of a build of Redis.
const PATIENCE: Duration = Duration::from_secs(15);
/// Who waits longer wants to know what for.
const SWIFT: Duration = Duration::from_secs(1);
const PAUSE: Duration = Duration::from_millis(50);

/// How far the agent is, as `slowpath-redis-attach --status` says.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Status {
    Away,
    Refused(String),
    Learning,
    Idle,
    Recorded,
}

/// Servers that the agent leaves when this is dropped, unless others brought it there or record them.
pub(crate) struct Servers {
    program: PathBuf,
    named: Vec<ProcessId>,
    /// Where this recording has brought it.
    ours: Vec<ProcessId>,
    /// Of which the user knows that nothing comes.
    told: Vec<ProcessId>,
}

impl Servers {
    /// Brings the agent into `named` by this program.
    ///
    /// # Errors
    /// What kept it out of one; the others are left as they were.
    pub(super) fn attach(
        program: PathBuf,
        named: &[ProcessId],
        talk: &mut dyn FnMut(&str),
    ) -> Result<Self, RecordError> {
        let mut servers = Self {
            program,
            named: named.to_vec(),
            ours: Vec::new(),
            told: Vec::new(),
        };
        for server in named {
            servers.attach_to(*server, talk)?;
        }
        Ok(servers)
    }

    fn attach_to(
        &mut self,
        server: ProcessId,
        talk: &mut dyn FnMut(&str),
    ) -> Result<(), RecordError> {
        let said = run(&self.program, &[], server).map_err(|said| refused(server, &said))?;
        talk(&said);
        if said.starts_with("attached to ") {
            self.ours.push(server);
        }
        Ok(())
    }

    /// Before events are recorded: waits until the agent has learned what it must, and LTTng can record the servers.
    /// An agent that was there before looks every few seconds for the daemon after the one that it knew has ended. A
    /// signal ends the wait.
    ///
    /// # Errors
    /// Why the agent refuses a server.
    pub(crate) fn wait_until_ready(
        &mut self,
        signals: &SignalPipe,
        talk: &mut dyn FnMut(&str),
    ) -> Result<(), RecordError> {
        let begin = Instant::now();
        for server in self.named.clone() {
            loop {
                let may_wait = begin.elapsed() < PATIENCE && runs(server);
                match self.ask(server) {
                    Ok(Status::Refused(cause)) => return Err(refused(server, &cause)),
                    Ok(Status::Idle | Status::Recorded) => break,
                    // By another recording that has ended.
                    Ok(Status::Away) if may_wait => self.attach_to(server, talk)?,
                    Ok(Status::Learning) | Err(_) if may_wait => {}
                    // What comes of it is told when the recording has begun.
                    _ => break,
                }
                if signals.interrupts_sleep(PAUSE) {
                    return Ok(());
                }
            }
        }
        self.wait_until_known(signals, talk);
        Ok(())
    }

    fn wait_until_known(&mut self, signals: &SignalPipe, talk: &mut dyn FnMut(&str)) {
        let begin = Instant::now();
        let mut has_said_so = false;
        for server in &self.named {
            while !lttng::registered_processes().is_ok_and(|known| known.contains(server)) {
                let waited = begin.elapsed();
                if waited > PATIENCE || !runs(*server) {
                    talk(&format!(
                        "process {} has not told LTTng of itself in {} s: nothing of it will be recorded, unless it \
                         still does",
                        server.0,
                        waited.as_secs()
                    ));
                    talk(
                        "hint: it must see the same /run and /dev/shm as the session daemon, which must be its \
                         user's or root's",
                    );
                    self.told.push(*server);
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

    /// Once events are recorded: waits until the agent has noticed, and says where it does not.
    pub(crate) fn settle(&mut self, signals: &SignalPipe, talk: &mut dyn FnMut(&str)) {
        let begin = Instant::now();
        for server in self.named.clone() {
            if self.told.contains(&server) {
                continue;
            }
            // Of what it has noticed at once, the rest follows.
            let rest = NOTICED.saturating_sub(begin.elapsed());
            let mut is_interrupted = signals.interrupts_sleep(rest);
            loop {
                let status = self.ask(server);
                match status {
                    Ok(Status::Recorded) => break,
                    Ok(Status::Away) => {
                        if let Err(cause) = self.attach_to(server, talk) {
                            talk(&cause.to_string());
                        }
                    }
                    _ => {}
                }
                if begin.elapsed() > NOTICED_AT_LAST || !runs(server) {
                    talk(&missing(
                        server,
                        &status,
                        "so far nothing of it is recorded",
                    ));
                    self.told.push(server);
                    break;
                }
                if is_interrupted {
                    return;
                }
                is_interrupted = signals.interrupts_sleep(PAUSE);
            }
        }
    }

    /// Before recording ends: those that are not recorded, which is said.
    pub(crate) fn missing(&self, talk: &mut dyn FnMut(&str)) -> Vec<ProcessId> {
        let mut missing_ones = Vec::new();
        for server in self.named.iter().filter(|server| runs(**server)) {
            let status = self.ask(*server);
            // One that is stuck in a command is recorded until there.
            if matches!(status, Ok(Status::Recorded) | Err(_)) {
                continue;
            }
            talk(&missing(
                *server,
                &status,
                "it is not recorded, or was not to the end",
            ));
            missing_ones.push(*server);
        }
        missing_ones
    }

    fn ask(&self, server: ProcessId) -> Result<Status, String> {
        status_of(&run(&self.program, &["--status"], server)?)
    }
}

impl Drop for Servers {
    fn drop(&mut self) {
        for server in &self.ours {
            // One that has ended meanwhile needs nothing; in one that cannot be stopped it stays, idle.
            let _ = run(&self.program, &["--detach-when-idle"], *server);
        }
    }
}

fn runs(server: ProcessId) -> bool {
    Path::new(&format!("/proc/{}", server.0)).exists()
}

fn refused(server: ProcessId, said: &str) -> RecordError {
    let (cause, hint) = said.split_once("\nhint: ").unwrap_or((said, ""));
    let is_another = cause.contains("is no redis-server");
    RecordError::NoRedis {
        process: server,
        cause: cause.to_owned(),
        hint: match (is_another, hint) {
            (true, _) => super::those_that_run(),
            (false, "") => "--redis-by uprobes loads nothing into it; agents/redis/README.md says which servers can be \
                            recorded, and what that needs"
                .to_owned(),
            (false, hint) => format!("{hint}; or --redis-by uprobes, which loads nothing into it"),
        },
    }
}

/// What the user is told of a server from which nothing comes.
fn missing(server: ProcessId, status: &Result<Status, String>, what: &str) -> String {
    let why = match status {
        Ok(Status::Away) => "the agent has left it",
        Ok(Status::Refused(cause)) => cause,
        Ok(Status::Learning) => "the agent still learns where this build keeps what it tells",
        Ok(Status::Idle) => "LTTng has not switched its events on",
        Ok(Status::Recorded) => "another session records it",
        Err(cause) => cause.lines().next().unwrap_or_default(),
    };
    format!("redis-server {}: {what}: {why}", server.0)
}

fn status_of(said: &str) -> Result<Status, String> {
    Ok(match said.split_once(": ").unwrap_or((said, "")) {
        ("away", _) => Status::Away,
        ("refused", cause) => Status::Refused(cause.to_owned()),
        ("learning", _) => Status::Learning,
        ("idle", _) => Status::Idle,
        ("recorded", _) => Status::Recorded,
        _ => return Err(format!("the agent says {said:?}")),
    })
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
    fn the_agent_says_how_far_it_is_and_why_not() {
        assert_eq!(status_of("recorded"), Ok(Status::Recorded));
        assert_eq!(status_of("idle"), Ok(Status::Idle));
        let why = "the command of a client was not found (is CLIENT renamed?)";
        let refused = status_of(&format!("refused: {why}"));
        assert_eq!(refused, Ok(Status::Refused(why.to_owned())));
        assert!(status_of("").is_err());
    }
}
