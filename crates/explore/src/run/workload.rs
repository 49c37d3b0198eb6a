//! The workload of a trial: run once, watched, and what was observed of it.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use nix::sys::resource::{UsageWho, getrusage};

use super::child::{Child, Program, Waited, While};
use super::group::Part;
use super::looking::Looking;
use super::measure::Observed;
use super::{Broken, RunError, Runner, Step, StopRun, how, leftovers, ready, system};
use crate::store::Planned;
use crate::trial::{Failure, Outcome};

/// How long a program may take to end after it was asked to.
const GRACE: Duration = Duration::from_secs(2);

impl Runner<'_> {
    /// Runs the workload once.
    pub(super) fn workload(
        &mut self,
        planned: &Planned,
        name: &str,
        program: &Program,
        limit: Duration,
        mut system: Option<&mut Child>,
        stop_run: Option<StopRun<'_>>,
    ) -> Step<(Outcome, Observed)> {
        let failed = |kind, what: String| Broken::Failed(kind, what);
        let path = self.output(planned, &format!("{name}.out"));
        let output = self.file(planned, &format!("{name}.out"))?;
        let errors = self.file(planned, &format!("{name}.err"))?;
        let outputs = [
            path.clone(),
            self.output(planned, &format!("{name}.err")),
            self.output(planned, "system.log"),
        ];
        let cpu_before = self.cpu(system.as_deref());
        let begin = Instant::now();
        let mut child = (self.start(program, Part::Workload, &output, &errors))
            .map_err(|what| failed(Failure::Apply, what))?;
        let mut looking = stop_run.map(|stop_run| Looking {
            spec: self.spec,
            path: &path,
            seen: 0,
            shown: self.collector.as_ref().map(|collector| &collector.shown),
            stop_run,
        });
        let mut look = looking.as_mut().map(|looking| move || looking.look());
        // A system that was in the background already is asked for when the workload has ended.
        let mut in_background = match &mut system {
            Some(child) if child.has_ended() => child.status().map_err(RunError::Watch)?.success(),
            _ => false,
        };
        let mut waited = loop {
            let waited = child.wait(While {
                limit: limit.saturating_sub(begin.elapsed()),
                other: system.as_deref().filter(|_| !in_background),
                outputs: &outputs,
                look: look.as_mut().map(|look| look as &mut dyn FnMut() -> bool),
                ..self.meanwhile()
            });
            let waited = waited.map_err(RunError::Watch)?;
            if waited != Waited::OtherEnded
                || !self.is_in_background(system.as_deref_mut(), &child)?
            {
                break waited;
            }
            in_background = true;
        };
        let wall = begin.elapsed();
        let left_nothing = waited == Waited::OtherEnded;
        if let Some(collector) = &self.collector {
            collector.stop_counting();
        }
        if !matches!(waited, Waited::Ended(_)) {
            child.terminate();
            let ended = child.wait(While {
                limit: GRACE,
                ..self.meanwhile()
            });
            if let Ok(signal @ Waited::Signal(_)) = ended {
                waited = signal;
            }
            child.kill();
        }
        let cpu_after = self.cpu(system.as_deref());
        let errors = self.output(planned, &format!("{name}.err"));
        // A system that ends often takes the workload with it. One that had left nothing is not looked for again: what the
        // workload started, and has lost its parent since, would be taken for it.
        let is_in_background =
            !left_nothing && self.is_in_background(system.as_deref_mut(), &child)?;
        let system_end = match &mut system {
            Some(child) if child.has_ended() && !is_in_background => {
                Some(child.status().map_err(RunError::Watch)?)
            }
            _ => None,
        };
        if let (Some(status), false) = (system_end, matches!(waited, Waited::Signal(_))) {
            let last = ready::last_line(&self.output(planned, "system.log"));
            let what = match &self.spec.system {
                Some(system) if status.success() => system::left_nothing(system, &last),
                _ => format!(
                    "the system ended with {} while the workload ran{last}",
                    how(status)
                ),
            };
            return Err(failed(Failure::SystemEnded, what));
        }
        let outcome = outcome(waited, name, &errors, limit)?;
        let text = fs::read(&path).map_err(|cause| self.unusable(&path, cause))?;
        let observed = Observed {
            output: String::from_utf8_lossy(&text).into_owned(),
            wall: wall.as_secs_f64(),
            workload_cpu: cpu_after.1 - cpu_before.1,
            system_cpu: cpu_after.0 - cpu_before.0,
            collected: BTreeMap::new(),
            calls: BTreeMap::new(),
        };
        Ok((outcome, observed))
    }

    /// Seconds of processor time so far: of the system, of workloads.
    pub(super) fn cpu(&self, system: Option<&Child>) -> (f64, f64) {
        if let Some(group) = &self.group
            && let (Some(system), Some(workload)) =
                (group.cpu(Part::System), group.cpu(Part::Workload))
        {
            return (system, workload);
        }
        let seconds =
            |time: nix::sys::time::TimeVal| time.tv_sec() as f64 + time.tv_usec() as f64 / 1e6;
        let children = getrusage(UsageWho::RUSAGE_CHILDREN);
        let children = children.map_or(0.0, |usage| {
            seconds(usage.user_time()) + seconds(usage.system_time())
        });
        (
            system.map_or(0.0, |system| leftovers::cpu_of_group(system.pid())),
            children,
        )
    }
}

/// What the end of a workload comes to; `errors` is what it printed there.
fn outcome(waited: Waited, name: &str, errors: &Path, limit: Duration) -> Step<Outcome> {
    let failed = |kind, what: String| Broken::Failed(kind, what);
    match waited {
        Waited::Ended(status) if status.success() => Ok(Outcome::Good),
        Waited::Enough => Ok(Outcome::Stopped),
        Waited::Signal(signal) => Err(RunError::Interrupted(signal).into()),
        Waited::Ended(status) => {
            let what = format!(
                "the {name} ended with {}{}",
                how(status),
                ready::last_line(errors)
            );
            Err(failed(Failure::Workload, what))
        }
        Waited::TooMuchOutput => Err(failed(
            Failure::TooMuchOutput,
            format!("the {name}, or the system meanwhile, printed more than 256 MiB"),
        )),
        Waited::TimedOut | Waited::OtherEnded => Err(failed(
            Failure::TimedOut,
            format!("the {name} took longer than {limit:?}"),
        )),
    }
}
