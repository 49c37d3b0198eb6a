//! Traces that two recorders made of one machine at the same time: each of them holds the same switches,
//! wake-ups and calls, or the same events of applications, which would count twice.
//!
//! Unlike copies (`copies`) they share no packet, and the times of an event differ by what tracing it
//! takes. So they are known by events of one name on one processor: of kernels over the same time, of
//! applications, which may tell little, each at the same time. Only the outermost packets of that time are
//! decoded. Sessions of LTTng with different events go on to be read together; of several instances of ftrace
//! one is read.

use std::cmp::Reverse;
use std::collections::BTreeSet;
use std::path::PathBuf;

use slowpath_model::{Diagnostic, DiagnosticCode, TimeRange, TracerDomain};
use slowpath_source::{ROTATION, Recorded};

use crate::copies::in_common;
use crate::host::Machine;
use crate::open::damaged;
use crate::{Experiment, OpenedSource};

/// Of traces that hold the same events of the same time, leaves out all but the one that covers most time, and
/// says so. Of applications' traces those come first whose recorder's kernel trace is read. No answer depends on
/// the order of the traces.
pub(crate) fn leave_out(experiment: &mut Experiment) {
    let mut told = Vec::new();
    let kernels = one_of_each(
        experiment.kernels(),
        &BTreeSet::new(),
        Candidate::records_same,
        &mut told,
    );
    let is_of_applications =
        |trace: &&OpenedSource| trace.source.schema().domain == TracerDomain::User;
    let applications = one_of_each(
        experiment.traces.iter().filter(is_of_applications),
        &kernels.recordings,
        Candidate::tells_same,
        &mut told,
    );
    experiment.diagnostics.extend(told);
    let traces = &mut experiment.traces;
    traces.retain(|trace| {
        let of_either = [&kernels, &applications];
        !of_either.iter().any(|out| out.traces.contains(&trace.path))
    });
}

/// What is not to be read.
#[derive(Default)]
struct LeftOut {
    traces: BTreeSet<PathBuf>,
    /// The recordings that they are of.
    recordings: BTreeSet<PathBuf>,
}

/// All of the traces that hold what another one does; those of the recordings `last` rather than others.
fn one_of_each<'trace>(
    traces: impl Iterator<Item = &'trace OpenedSource>,
    last: &BTreeSet<PathBuf>,
    holds_same: impl Fn(&Candidate<'trace>, &Candidate<'trace>) -> bool,
    told: &mut Vec<Diagnostic>,
) -> LeftOut {
    let mut candidates: Vec<Candidate<'trace>> = traces.map(Candidate::new).collect();
    Candidate::note_sessions(&mut candidates);
    candidates.sort_by_cached_key(|candidate| {
        let is_last = recording_of(candidate.trace).is_some_and(|path| last.contains(&path));
        let length = candidate.of_session.length();
        (is_last, Reverse(length), candidate.trace.path.clone())
    });
    let mut kept: Vec<Candidate<'_>> = Vec::new();
    let mut left_out = LeftOut::default();
    for candidate in candidates {
        match kept.iter().find(|known| holds_same(known, &candidate)) {
            None => kept.push(candidate),
            Some(known) => {
                told.push(recorded_twice(&candidate, known));
                left_out.traces.insert(candidate.trace.path.clone());
                left_out.recordings.extend(recording_of(candidate.trace));
            }
        }
    }
    left_out
}

fn recording_of(trace: &OpenedSource) -> Option<PathBuf> {
    let (path, _) = trace.recording.as_ref()?;
    Some(path.clone())
}

fn recorded_twice(left_out: &Candidate<'_>, read: &Candidate<'_>) -> Diagnostic {
    let common = left_out.whole.intersect(read.whole);
    let why = match read.of_session.length() < left_out.of_session.length() {
        true => "and is of the recorder whose kernel trace is read",
        false => "and covers more time",
    };
    let what = format!(
        "{} holds events of the same processors during {:.3} s of its {:.3} s, {why}; that one is read",
        read.trace.path.display(),
        common.length().0 as f64 / 1e9,
        left_out.whole.length().0 as f64 / 1e9,
    );
    Diagnostic {
        code: DiagnosticCode::RecordedTwice,
        ..damaged(&left_out.trace.path, what)
    }
}

/// A trace and when it has packets.
struct Candidate<'trace> {
    trace: &'trace OpenedSource,
    machine: Machine<'trace>,
    recorded: Recorded<'trace>,
    whole: TimeRange,
    /// With all other parts of its session, where it has been rotated.
    of_session: TimeRange,
}

impl<'trace> Candidate<'trace> {
    fn new(trace: &'trace OpenedSource) -> Self {
        let source = &*trace.source;
        let recorded = Recorded::new(source, source.streams());
        Self {
            trace,
            machine: trace.machine(),
            whole: recorded.whole(),
            of_session: recorded.whole(),
            recorded,
        }
    }

    fn note_sessions(candidates: &mut [Self]) {
        for position in 0..candidates.len() {
            let one = &candidates[position];
            let parts = candidates.iter().filter(|other| one.is_of_session(other));
            let hull = parts.map(|part| part.whole).reduce(TimeRange::hull);
            candidates[position].of_session = hull.unwrap_or(candidates[position].whole);
        }
    }

    fn is_of_session(&self, other: &Self) -> bool {
        let session = &self.trace.source.schema().session;
        !session.is_empty()
            && *session == other.trace.source.schema().session
            && self.machine.may_be(&other.machine)
    }

    /// Whether both have events of one name on one processor over more than a moment of the same time, or are
    /// pages of two instances of ftrace: these say nothing of where one begins within the other.
    fn records_same(&self, other: &Self) -> bool {
        let is_brief = self.whole.intersect(other.whole).length() <= ROTATION;
        if is_brief || !self.machine.may_be(&other.machine) {
            return false;
        }
        let is_ftrace = |one: &Self| one.trace.format == "ftrace";
        let holds_same = match is_ftrace(self) && is_ftrace(other) {
            true => self.recorded.shares_time(&other.recorded),
            false => self.recorded.holds_same(&other.recorded, counts),
        };
        // Where they share packets it has been said already.
        holds_same && in_common(self.trace, other.trace).is_none()
    }

    /// Whether most events of `other`, which is of applications, that lie in time of both are here as well.
    fn tells_same(&self, other: &Self) -> bool {
        self.machine.may_be(&other.machine)
            && self.recorded.holds_each(&other.recorded, counts)
            && in_common(self.trace, other.trace).is_none()
    }
}

/// Not what LTTng writes at the begin of every session.
fn counts(name: &str) -> bool {
    !name.starts_with("lttng_statedump_") && !name.starts_with("lttng_ust_statedump:")
}
