//! The system of a trial: started and waited for, stopped, asked whether it goes on by itself.

use std::fs::File;
use std::time::{Duration, Instant};

use super::child::{Child, Program, Waited, While};
use super::filling::Filled;
use super::group::Part;
use super::{Broken, RunError, Runner, Step, how, ready};
use crate::spec::System;
use crate::store::Planned;
use crate::trial::Failure;

impl Runner<'_> {
    /// Starts the system and waits until it is ready; `None` where it runs on in the background by itself.
    pub(super) fn start_system(
        &mut self,
        system: &System,
        planned: &Planned,
        filled: &Filled<'_>,
    ) -> Step<Option<Child>> {
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
        let mut child = self
            .start(&program, Part::System, &log, &log)
            .map_err(failed)?;
        let begin = Instant::now();
        loop {
            if child.has_ended() {
                let status = child.status().map_err(RunError::Watch)?;
                // One that goes on in the background has nothing left to wait for but its own sign.
                if !status.success() || system.ready.is_none() && system.stop.is_none() {
                    let what = format!(
                        "the system ended with {} before it was ready{}",
                        how(status),
                        ready::last_line(&path)
                    );
                    return Err(Broken::Failed(Failure::SystemEnded, what));
                }
            }
            if ready.is_met(&path, |program| self.succeeds(program))? {
                return Ok((!child.has_ended()).then_some(child));
            }
            if begin.elapsed() > system.ready_timeout {
                let what = format!(
                    "the system was not ready within {:?}{}",
                    system.ready_timeout,
                    ready::last_line(&path)
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
        mut running: Option<Child>,
        filled: &Filled<'_>,
        log: &File,
    ) -> Step<()> {
        match (&system.stop, &running) {
            (Some(stop), _) => {
                // Where that fails, it is ended in other ways.
                if let Err(Broken::Error(error)) =
                    self.command(stop, filled, log, system.stop_timeout)
                {
                    return Err(error.into());
                }
            }
            (None, Some(child)) => child.terminate(),
            (None, None) => {}
        }
        if let Some(child) = &mut running {
            let limit = system.stop_timeout;
            if let Waited::Signal(signal) = child
                .wait(While {
                    limit,
                    ..self.meanwhile()
                })
                .map_err(RunError::Watch)?
            {
                return Err(RunError::Interrupted(signal).into());
            }
            child.kill();
        }
        Ok(())
    }

    /// Whether the program that started the system has ended well, and the system goes on without it: it has a `stop`.
    pub(super) fn is_in_background(&self, system: Option<&mut Child>) -> Result<bool, RunError> {
        let has_stop = (self.spec.system.as_ref()).is_some_and(|system| system.stop.is_some());
        match system {
            Some(child) if has_stop && child.has_ended() => {
                Ok(child.status().map_err(RunError::Watch)?.success())
            }
            _ => Ok(false),
        }
    }

    /// Whether a command that asks whether the system is ready succeeds.
    fn succeeds(&mut self, program: &Program) -> Result<bool, RunError> {
        let Ok(null) = File::options().read(true).write(true).open("/dev/null") else {
            return Ok(false);
        };
        let Ok(mut child) = self.start(program, Part::Workload, &null, &null) else {
            return Ok(false);
        };
        let limit = Duration::from_secs(5);
        let waited = child.wait(While {
            limit,
            ..self.meanwhile()
        });
        match waited.map_err(RunError::Watch)? {
            Waited::Ended(status) => Ok(status.success()),
            Waited::Signal(signal) => Err(RunError::Interrupted(signal)),
            _ => Ok(false),
        }
    }
}
