//! Where trials run: in this process, or with an agent.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::time::Duration;

use slowpath_platform::signals::SignalPipe;

use super::Remote;
use crate::run::{Ended, RunError, Runner, StopRun};
use crate::spec::Spec;
use crate::store::Planned;

/// Who runs trials.
pub(crate) enum Place<'run> {
    Here(Runner<'run>),
    There(Remote<'run>),
}

/// What trials belong to.
pub(crate) struct Whose<'run> {
    pub(crate) spec: &'run Spec,
    /// Its text.
    pub(crate) text: &'run str,
    pub(crate) folder: &'run Path,
    /// Tells the exploration from others.
    pub(crate) token: &'run str,
}

impl<'run> Place<'run> {
    /// Processes numbered in `spared` are left alone.
    ///
    /// # Errors
    /// Where no trial can be run.
    pub(crate) fn of(
        whose: &Whose<'run>,
        spared: BTreeSet<i32>,
        signals: &'run SignalPipe,
    ) -> Result<Self, RunError> {
        let Whose {
            spec,
            text,
            folder,
            token,
        } = *whose;
        Ok(match &spec.agent {
            None => Self::Here(Runner::new(spec, folder, token, spared, signals)?),
            Some(agent) => Self::There(Remote::new(spec, text, agent, token, signals)?),
        })
    }

    /// Runs a trial. With `wrapped`, which an agent does not do, the workload runs as these words' last arguments.
    ///
    /// # Errors
    /// Where no trial can be run, or the user wants an end; the trial does not count then.
    pub(crate) fn run(
        &mut self,
        planned: &Planned,
        limit: Option<Duration>,
        wrapped: &[String],
        stop_run: Option<StopRun<'_>>,
    ) -> Result<Ended, RunError> {
        match self {
            Self::Here(runner) => runner.run(planned, limit, wrapped, stop_run),
            Self::There(remote) => remote.run(planned, limit, stop_run),
        }
    }

    /// Restores what trials changed.
    ///
    /// # Errors
    /// In words.
    pub(crate) fn restore(&mut self) -> Result<(), String> {
        match self {
            Self::Here(runner) => runner.restore(),
            Self::There(remote) => remote.restore(),
        }
    }

    /// Whether anything may have run: an agent that was never reached has changed nothing.
    pub(crate) fn may_have_run(&self) -> bool {
        match self {
            Self::Here(_) => true,
            Self::There(remote) => remote.may_have_run(),
        }
    }

    /// Where the output of trials is.
    pub(crate) fn output_folder(&self) -> PathBuf {
        match self {
            Self::Here(runner) => runner.output_folder(),
            Self::There(remote) => remote.output_folder(),
        }
    }
}
