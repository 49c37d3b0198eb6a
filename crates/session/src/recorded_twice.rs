//! Kernel traces that two recorders made of one machine at the same time: each of them holds the same
//! switches, wake-ups and calls, which would count twice.
//!
//! Unlike copies (`copies`) they share no packet, and the times of an event differ by what tracing it
//! takes. So they are known by events of one name on one processor over the same time; only the outermost
//! packets of that time are decoded. Sessions of LTTng with different
//! events go on to be read together; of several instances of ftrace one is read.

use std::collections::BTreeSet;
use std::path::PathBuf;

use slowpath_model::{Diagnostic, DiagnosticCode, TimeRange};
use slowpath_source::{ROTATION, Recorded};

use crate::copies::in_common;
use crate::host::Machine;
use crate::open::damaged;
use crate::{Experiment, OpenedSource};

/// Of kernel traces that hold the same events of the same time, leaves out all but the one that covers most
/// time, and says so; with it what its recorder wrote of applications, which the other one wrote, too. No answer
/// depends on the order of the traces.
pub(crate) fn leave_out(experiment: &mut Experiment) {
    let mut candidates: Vec<Candidate<'_>> = (experiment.kernels().map(Candidate::new)).collect();
    Candidate::note_sessions(&mut candidates);
    candidates.sort_by(|one, other| {
        let longer_first = other.of_session.length().cmp(&one.of_session.length());
        longer_first.then_with(|| one.trace.path.cmp(&other.trace.path))
    });
    let mut kept: Vec<Candidate<'_>> = Vec::new();
    let mut told = Vec::new();
    let (mut left_out, mut recordings) = (BTreeSet::new(), BTreeSet::new());
    for candidate in candidates {
        match kept.iter().find(|known| known.records_same(&candidate)) {
            None => kept.push(candidate),
            Some(known) => {
                told.push(recorded_twice(&candidate, known));
                left_out.insert(candidate.trace.path.clone());
                recordings.extend(recording_of(candidate.trace));
            }
        }
    }
    experiment.diagnostics.extend(told);
    let traces = &mut experiment.traces;
    traces.retain(|trace| {
        let is_beside = recording_of(trace).is_some_and(|path| recordings.contains(&path));
        !left_out.contains(&trace.path) && !is_beside
    });
}

fn recording_of(trace: &OpenedSource) -> Option<PathBuf> {
    let (path, _) = trace.recording.as_ref()?;
    Some(path.clone())
}

fn recorded_twice(left_out: &Candidate<'_>, read: &Candidate<'_>) -> Diagnostic {
    let common = left_out.whole.intersect(read.whole);
    let what = format!(
        "{} holds events of the same processors during {:.3} s of its {:.3} s, and covers more time; that one is read",
        read.trace.path.display(),
        common.length().0 as f64 / 1e9,
        left_out.whole.length().0 as f64 / 1e9,
    );
    Diagnostic {
        code: DiagnosticCode::RecordedTwice,
        ..damaged(&left_out.trace.path, what)
    }
}

/// A kernel trace and when it has packets.
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
            // LTTng writes these at the begin of every session.
            false => (self.recorded).holds_same(&other.recorded, |name| {
                !name.starts_with("lttng_statedump_")
            }),
        };
        // Where they share packets it has been said already.
        holds_same && in_common(self.trace, other.trace).is_none()
    }
}
