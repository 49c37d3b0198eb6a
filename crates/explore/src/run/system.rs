//! The system of a trial: started and waited for, stopped, asked whether it goes on by itself.

use std::fs::File;
use std::path::Path;
use std::time::{Duration, Instant};

use super::child::{Child, Program, Waited, While};
use super::filling::Filled;
use super::group::Part;
use super::{Broken, RunError, Runner, Step, how, leftovers, ready};
use crate::spec::{Ready, System};
use crate::store::Planned;
use crate::trial::Failure;

impl Runner<'_> {
    /// Starts the system and waits until it is ready. What is returned may have ended: the system then goes on in the
    /// background.
    pub(super) fn start_system(
        &mut self,
        system: &System,
        planned: &Planned,
        filled: &Filled<'_>,
    ) -> Step<Child> {
        let failed = |what: String| Broken::Failed(Failure::Apply, what);
        let program = filled
            .program(&system.command, &system.environment)
            .map_err(failed)?;
        let mut ready = ready::Waiting::new(system.ready.as_ref(), filled).map_err(failed)?;
        if let Some(port) = ready.taken_port() {
            return Err(RunError::PortTaken(port).into());
        }
        let path = self.output(planned, "system.log");
        let log = self.file(planned, "system.log")?;
        let asked = self.output(planned, "ready.log");
        let mut why = String::new();
        let mut child = self
            .start(&program, Part::System, &log, &log)
            .map_err(failed)?;
        let begin = Instant::now();
        loop {
            if child.has_ended() {
                let status = child.status().map_err(RunError::Watch)?;
                // One that goes on in the background has nothing left to wait for but its own sign.
                if status.success() && !self.goes_on_without(system, None) {
                    let what = left_nothing(system, &ready::last_line(&path));
                    return Err(Broken::Failed(Failure::SystemEnded, what));
                }
                if !status.success() {
                    let what = format!(
                        "the system ended with {} before it was ready{}",
                        how(status),
                        ready::last_line(&path)
                    );
                    return Err(Broken::Failed(Failure::SystemEnded, what));
                }
            }
            let succeeds = |program: &Program| {
                let failure = self.failure_of(program, &asked)?;
                let succeeded = failure.is_none();
                why = failure.unwrap_or_default();
                Ok::<_, RunError>(succeeded)
            };
            if ready.is_met(&path, succeeds)? {
                return Ok(child);
            }
            if begin.elapsed() > system.ready_timeout {
                let last = match why.is_empty() {
                    true => ready::last_line(&path),
                    false => why,
                };
                let what = format!(
                    "the system was not ready within {:?}{last}",
                    system.ready_timeout
                );
                return Err(Broken::Failed(Failure::NotReady, what));
            }
            if self.signals.interrupts_sleep(Duration::from_millis(10))
                && let Some(signal) = self.signals.next()
            {
                return Err(RunError::Interrupted(signal).into());
            }
        }
    }

    pub(super) fn stop_system(
        &mut self,
        system: &System,
        mut running: Child,
        filled: &Filled<'_>,
        log: &File,
    ) -> Step<()> {
        if let Some(stop) = &system.stop {
            // Where that fails, it is ended in other ways.
            if let Err(Broken::Error(error)) = self.command(stop, filled, log, system.stop_timeout)
            {
                return Err(error.into());
            }
        } else if !running.has_ended() {
            running.terminate();
        }
        let limit = system.stop_timeout;
        if let Waited::Signal(signal) = running
            .wait(While {
                limit,
                ..self.meanwhile()
            })
            .map_err(RunError::Watch)?
        {
            return Err(RunError::Interrupted(signal).into());
        }
        running.kill();
        Ok(())
    }

    /// Whether the program that started the system has ended well, and the system goes on without it beside this workload.
    pub(super) fn is_in_background(
        &self,
        child: Option<&mut Child>,
        workload: &Child,
    ) -> Result<bool, RunError> {
        match (child, self.spec.system.as_ref()) {
            (Some(child), Some(system)) if child.has_ended() => {
                let status = child.status().map_err(RunError::Watch)?;
                Ok(status.success() && self.goes_on_without(system, Some(workload)))
            }
            _ => Ok(false),
        }
    }

    /// Whether there may be a system though the program that started it has ended: it has left a process, or runs where
    /// only its own sign can tell (a container, a service).
    fn goes_on_without(&self, system: &System, workload: Option<&Child>) -> bool {
        has_sign(system) || self.has_left_any(workload)
    }

    /// Whether any process of the trial runs beside this workload and what it has started.
    fn has_left_any(&self, workload: Option<&Child>) -> bool {
        let of = |part| self.group.as_ref().map(|group| group.of_part(part));
        let of_workload = of(Part::Workload).unwrap_or_default();
        of(Part::System).is_some_and(|system| !system.is_empty())
            || leftovers::are_any_beside(
                &self.signs,
                workload.map(Child::pid),
                &of_workload.into_iter().collect(),
            )
    }

    /// Asks a system that was ready once more for its sign where the program that started it has ended well since, or had
    /// before: what is left of its processes may be on its way out.
    pub(super) fn is_still_there(
        &mut self,
        system: &System,
        child: &mut Child,
        filled: &Filled<'_>,
    ) -> Step<()> {
        if !child.has_ended() || !has_sign(system) {
            return Ok(());
        }
        if !child.status().map_err(RunError::Watch)?.success() {
            return Ok(());
        }
        let failed = |what: String| Broken::Failed(Failure::SystemEnded, what);
        let mut ready = ready::Waiting::new(system.ready.as_ref(), filled).map_err(failed)?;
        let unseen = Path::new("/dev/null");
        match ready.is_met(unseen, |program| {
            Ok::<_, RunError>(self.failure_of(program, unseen)?.is_none())
        })? {
            true => Ok(()),
            false => Err(failed(
                "the system ended while the workload ran: it no longer gives the sign in `ready`"
                    .to_owned(),
            )),
        }
    }

    /// Why a command that asks whether the system is ready does not succeed, as the end of a sentence; what it prints goes
    /// to `log`.
    fn failure_of(&mut self, program: &Program, log: &Path) -> Result<Option<String>, RunError> {
        let cannot =
            |cause: String| Some(format!("; the command in `ready` cannot be run: {cause}"));
        let file = match File::create(log) {
            Ok(file) => file,
            Err(cause) => return Ok(cannot(cause.to_string())),
        };
        let mut child = match self.start(program, Part::Workload, &file, &file) {
            Ok(child) => child,
            Err(cause) => return Ok(cannot(cause)),
        };
        let limit = Duration::from_secs(5);
        let waited = child.wait(While {
            limit,
            ..self.meanwhile()
        });
        Ok(match waited.map_err(RunError::Watch)? {
            Waited::Ended(status) if status.success() => None,
            Waited::Ended(status) => Some(format!(
                "; the command in `ready` ended with {}{}",
                how(status),
                ready::last_line(log)
            )),
            Waited::Signal(signal) => return Err(RunError::Interrupted(signal)),
            _ => Some(format!(
                "; the command in `ready` took longer than {limit:?}"
            )),
        })
    }
}

/// Whether the system's sign of readiness is one that it gives as long as it runs.
fn has_sign(system: &System) -> bool {
    matches!(system.ready, Some(Ready::Port(_) | Ready::Command(_)))
}

/// Of a system of which the last line is this.
pub(super) fn left_nothing(system: &System, last: &str) -> String {
    let stop = match (&system.ready, &system.stop) {
        (None, None) => ", and a command in `stop` ends it",
        _ => "",
    };
    format!(
        "the system ended with status 0 and left no process{last}; where it runs elsewhere, as in a container, a port or a command in `ready` tells so{stop}"
    )
}
