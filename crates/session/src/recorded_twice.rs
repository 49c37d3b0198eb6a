//! Kernel traces that two recorders made of one machine at the same time: each of them holds the same
//! switches, wake-ups and calls, which would count twice.
//!
//! Unlike copies (`copies`) they share no packet, and the times of an event differ by what tracing it
//! takes. So they are known by events of one name on one processor over the same time; only the outermost
//! packets of that time are decoded. Sessions of LTTng with different
//! events go on to be read together; of several instances of ftrace one is read.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use slowpath_model::{
    CpuId, Diagnostic, DiagnosticCode, Event, EventClassId, PacketId, Projection, TimeRange,
    Timestamp,
};
use slowpath_source::{Packet, ROTATION};

use crate::copies::in_common;
use crate::host::Machine;
use crate::open::damaged;
use crate::{Experiment, OpenedSource};

/// So many packets at either end of the common time tell which events a stream has.
const OUTERMOST: usize = 3;

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
    whole: TimeRange,
    /// With all other parts of its session, where it has been rotated.
    of_session: TimeRange,
    /// Of each processor.
    by_cpu: BTreeMap<CpuId, TimeRange>,
}

impl<'trace> Candidate<'trace> {
    fn new(trace: &'trace OpenedSource) -> Self {
        let mut by_cpu: BTreeMap<CpuId, TimeRange> = BTreeMap::new();
        for packet in trace.source.packets() {
            if let Some(cpu) = packet.cpu {
                let known = by_cpu.entry(cpu).or_insert(packet.range);
                *known = known.hull(packet.range);
            }
        }
        let whole = by_cpu.values().copied().reduce(TimeRange::hull);
        let whole = whole.unwrap_or(TimeRange::new(Timestamp::MIN, Timestamp::MIN));
        Self {
            trace,
            machine: trace.machine(),
            whole,
            of_session: whole,
            by_cpu,
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
        if !is_long(self.whole.intersect(other.whole)) || !self.machine.may_be(&other.machine) {
            return false;
        }
        if [self, other].iter().all(|one| one.trace.format == "ftrace") {
            let shares_time = |(cpu, range): (&CpuId, &TimeRange)| {
                let of_other = other.by_cpu.get(cpu);
                of_other.is_some_and(|of_other| is_long(range.intersect(*of_other)))
            };
            return self.by_cpu.iter().any(shares_time)
                && in_common(self.trace, other.trace).is_none();
        }
        let of_other = names(other.trace);
        let mut both = names(self.trace);
        both.retain(|name| of_other.contains(name));
        let is_same_on = |(cpu, range): (&CpuId, &TimeRange)| {
            let range = match other.by_cpu.get(cpu) {
                Some(of_other) => range.intersect(*of_other),
                None => return false,
            };
            if !is_long(range) {
                return false;
            }
            let [one, other] =
                [self, other].map(|candidate| times(candidate.trace, *cpu, range, &both));
            let mut one = one.iter();
            one.any(|(name, one)| {
                let other = other.get(name);
                other.is_some_and(|other| is_long(one.intersect(*other)))
            })
        };
        !both.is_empty()
            && self.by_cpu.iter().any(is_same_on)
            // Where they share packets it has been said already.
            && in_common(self.trace, other.trace).is_none()
    }
}

/// Parts of a rotated session, and recordings one after the other, have less time in common.
fn is_long(common: TimeRange) -> bool {
    common.length() > ROTATION
}

/// The names of a trace's events, but for those that LTTng writes at the begin of every session.
fn names(trace: &OpenedSource) -> BTreeSet<&str> {
    let classes = trace.source.schema().event_classes.iter();
    let names = classes.map(|class| class.name.as_str());
    names
        .filter(|name| !name.starts_with("lttng_statedump_"))
        .collect()
}

/// When events of some names happened on a processor in `range`: from the first to the last one in each
/// stream's outermost packets there.
fn times<'name>(
    trace: &OpenedSource,
    cpu: CpuId,
    range: TimeRange,
    wanted: &BTreeSet<&'name str>,
) -> BTreeMap<&'name str, TimeRange> {
    let source = &*trace.source;
    let classes = &source.schema().event_classes;
    let names: Vec<Option<&'name str>> = (classes.iter())
        .map(|class| wanted.get(class.name.as_str()).copied())
        .collect();
    let mut projection = Projection::nothing(classes.len());
    for (name, class) in names.iter().zip(0..) {
        if name.is_some() {
            projection.want(EventClassId(class), Vec::new());
        }
    }
    let decoder = source.decoder(&projection);
    let mut times: BTreeMap<&'name str, TimeRange> = BTreeMap::new();
    let mut note = |event: &Event<'_>| {
        if let Some(name) = names[event.class.index()]
            && range.contains(event.at)
        {
            let at = TimeRange::new(event.at, event.at);
            let known = times.entry(name).or_insert(at);
            *known = known.hull(at);
        }
    };
    for stream in source.streams() {
        let packets = &source.packets()[stream.packets.start as usize..stream.packets.end as usize];
        let is_inside =
            |packet: &&Packet| packet.cpu == Some(cpu) && !is_before_or_after(packet.range, range);
        let inside: Vec<PacketId> = (packets.iter().filter(is_inside))
            .map(|packet| packet.id)
            .collect();
        let behind_first = OUTERMOST.min(inside.len());
        let last = inside.len().saturating_sub(OUTERMOST).max(behind_first);
        for packet in inside[..behind_first].iter().chain(&inside[last..]) {
            decoder.decode(*packet, &mut note);
        }
    }
    times
}

fn is_before_or_after(packet: TimeRange, range: TimeRange) -> bool {
    packet.end < range.begin || range.end <= packet.begin
}
