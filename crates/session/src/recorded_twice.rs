//! Traces that two recorders made of one machine at the same time: each of them holds the same switches,
//! wake-ups and calls, or the same events of applications, which would count twice.
//!
//! Unlike copies (`copies`) they share no packet, and the times of an event differ by what tracing it
//! takes. So they are known by most events of the one being in the other ([`Recorded::shared`]). Of kernels' traces
//! one is read then; of applications', which have no state that all their events make together, the kinds of
//! events that the other holds are left out. What only one holds, before or after the other, is read. Sessions of LTTng with different events go on to be read together; of several
//! instances of ftrace one is read.

use std::cell::OnceCell;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use slowpath_kernel::Extent;
use slowpath_model::{
    Diagnostic, DiagnosticCode, EventClassId, Nanoseconds, TimeRange, Timestamp, TracerDomain,
};
use slowpath_source::{ROTATION, Recorded, Shared, Without, without_kinds};

use crate::copies::in_common;
use crate::host::Machine;
use crate::open::damaged;
use crate::{Experiment, OpenedSource};

/// So far apart two tracers take one event, at most: one after the other, on one processor.
const APART: Nanoseconds = Nanoseconds(1_000_000);

/// Leaves out what another trace holds as well, of the one that covers less time, and says so. Of applications'
/// traces those come first whose recorder's kernel trace is read. No answer depends on the order of the traces.
pub(crate) fn leave_out(experiment: &mut Experiment) {
    let mut told = Vec::new();
    let mut left_out = kernels_left_out(experiment, &mut told);
    let of_applications = applications_left_out(experiment, &left_out, &mut told);
    left_out.extend(of_applications);
    experiment.diagnostics.extend(told);
    let traces = &mut experiment.traces;
    for (path, left_out) in left_out {
        let Some(place) = traces.iter().position(|trace| trace.path == path) else {
            continue;
        };
        let trace = traces.remove(place);
        let source = match left_out {
            LeftOut::All => continue,
            LeftOut::Time(ranges) => Without::time(trace.source, ranges),
            LeftOut::Kinds(kinds) => Without::kinds(trace.source, kinds),
        };
        let source = Box::new(source);
        traces.insert(place, OpenedSource { source, ..trace });
    }
}

/// What of a trace is not read.
enum LeftOut {
    All,
    Time(Vec<TimeRange>),
    /// Events of some kinds, and when.
    Kinds(Vec<(EventClassId, Vec<TimeRange>)>),
}

/// By the path of a trace.
type OfTraces = Vec<(PathBuf, LeftOut)>;

/// What longer traces of kernels hold as well.
fn kernels_left_out(experiment: &Experiment, told: &mut Vec<Diagnostic>) -> OfTraces {
    let mut kept: Vec<Candidate<'_>> = Vec::new();
    let mut left_out = Vec::new();
    for candidate in Candidate::longest_first(experiment.kernels()) {
        let same = kept.iter().filter(|known| known.records_same(&candidate));
        let same: Vec<&Candidate<'_>> = same.collect();
        let ranges = same.iter().map(|known| around(known.events()));
        let ranges: Vec<TimeRange> = ranges.collect();
        for known in &same {
            let (of_candidate, of_known) = (names(candidate.trace), names(known.trace));
            let lost = without_kinds(of_candidate.difference(&of_known).copied());
            told.push(candidate.told(known, &format!("; then only that one is read{lost}")));
        }
        let path = candidate.trace.path.clone();
        if same.is_empty() {
            kept.push(candidate);
        } else if candidate.is_within(&ranges) {
            left_out.push((path, LeftOut::All));
        } else {
            left_out.push((path, LeftOut::Time(ranges)));
            kept.push(candidate);
        }
    }
    left_out
}

/// A time with what two tracers' times of an event may differ by at either end.
fn around(range: TimeRange) -> TimeRange {
    let apart = APART.get() as i64;
    let moved = |at: Timestamp, by: i64| Timestamp::from_ns(at.ns().saturating_add(by));
    TimeRange::new(moved(range.begin, -apart), moved(range.end, apart))
}

fn applications_left_out(
    experiment: &Experiment,
    of_kernels: &OfTraces,
    told: &mut Vec<Diagnostic>,
) -> OfTraces {
    let is_read = |trace: &&OpenedSource| {
        let mut of_kernels = of_kernels.iter();
        !of_kernels.any(|(path, left_out)| *path == trace.path && matches!(left_out, LeftOut::All))
    };
    let recordings: Vec<&Path> = (experiment.kernels())
        .filter(is_read)
        .filter_map(recording_of)
        .collect();
    let is_of_applications =
        |trace: &&OpenedSource| trace.source.schema().domain == TracerDomain::User;
    let traces = experiment.traces.iter().filter(is_of_applications);
    let is_first = |trace: &OpenedSource| {
        recording_of(trace).is_some_and(|recording| recordings.contains(&recording))
    };
    let mut kept: Vec<Candidate<'_>> = Vec::new();
    let mut left_out = Vec::new();
    let mut candidates = Candidate::longest_first(traces);
    candidates.sort_by_key(|candidate| !is_first(candidate.trace));
    for candidate in candidates {
        let mut held: BTreeMap<&str, Vec<TimeRange>> = BTreeMap::new();
        for known in &kept {
            let shared = known.shared_kinds(&candidate);
            let of_known = listed(&shared, Shared::is_most);
            if !of_known.is_empty() {
                let which = of_known.join(", ");
                told.push(
                    candidate.told(known, &format!("; of {which} then only that one is read")),
                );
            }
            // Of kinds without an event in what was looked at, what is so of others of their provider.
            let providers: BTreeSet<&str> = of_known.iter().map(|name| provider(name)).collect();
            let of_both = names(known.trace)
                .intersection(&names(candidate.trace))
                .copied()
                .collect::<Vec<_>>();
            let others = of_both
                .into_iter()
                .filter(|name| !shared.contains_key(name) && providers.contains(provider(name)));
            for name in others.chain(of_known.iter().copied()) {
                held.entry(name).or_default().push(around(known.events()));
            }
            let in_part = listed(&shared, |shared| !shared.is_most() && shared.is_a_tenth());
            if !in_part.is_empty() {
                told.push(overlapping(&candidate, known, &in_part.join(", ")));
            }
        }
        if held.is_empty() {
            kept.push(candidate);
            continue;
        }
        let classes = || candidate.trace.source.schema().classes();
        let is_held = |name: &str| held.get(name).is_some_and(|when| candidate.is_within(when));
        let rest = classes().any(|(_, class)| counts(&class.name) && !is_held(&class.name));
        let path = candidate.trace.path.clone();
        if rest {
            let when = |name: &str| match is_held(name) {
                true => Some(vec![TimeRange::ALL]),
                false => held.get(name).cloned(),
            };
            let kinds = classes().filter_map(|(id, class)| Some((id, when(&class.name)?)));
            left_out.push((path, LeftOut::Kinds(kinds.collect())));
            kept.push(candidate);
        } else {
            left_out.push((path, LeftOut::All));
        }
    }
    left_out
}

fn listed<'name>(
    shared: &BTreeMap<&'name str, Shared>,
    is_meant: impl Fn(Shared) -> bool,
) -> Vec<&'name str> {
    let meant = shared.iter().filter(|(_, shared)| is_meant(**shared));
    meant.map(|(name, _)| *name).collect()
}

/// That some events of these kinds are read from both.
fn overlapping(one: &Candidate<'_>, other: &Candidate<'_>, kinds: &str) -> Diagnostic {
    let what = format!(
        "{} holds some of the same events of {kinds}, and each has some that the other lacks; both are read",
        other.trace.path.display()
    );
    Diagnostic {
        code: DiagnosticCode::OverlappingTraces,
        ..damaged(&one.trace.path, what)
    }
}

/// The kinds of events of a trace that count.
fn names(trace: &OpenedSource) -> BTreeSet<&str> {
    let classes = trace.source.schema().event_classes.iter();
    let names = classes.map(|class| class.name.as_str());
    names.filter(|name| counts(name)).collect()
}

fn recording_of(trace: &OpenedSource) -> Option<&Path> {
    let (path, _) = trace.recording.as_ref()?;
    Some(path)
}

/// A trace and when it has packets.
struct Candidate<'trace> {
    trace: &'trace OpenedSource,
    machine: Machine<'trace>,
    recorded: Recorded<'trace>,
    whole: TimeRange,
    /// From its first event to its last one, once asked for: packets are opened before and closed later.
    events: OnceCell<TimeRange>,
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
            events: OnceCell::new(),
            recorded,
        }
    }

    /// Those that cover most time first.
    fn longest_first(traces: impl Iterator<Item = &'trace OpenedSource>) -> Vec<Self> {
        let mut candidates: Vec<Self> = traces.map(Self::new).collect();
        for position in 0..candidates.len() {
            let one = &candidates[position];
            let parts = candidates.iter().filter(|other| one.is_of_session(other));
            let hull = parts.map(|part| part.whole).reduce(TimeRange::hull);
            candidates[position].of_session = hull.unwrap_or(candidates[position].whole);
        }
        candidates.sort_by_cached_key(|candidate| {
            let length = candidate.of_session.length();
            let path = candidate.trace.path.clone();
            (Reverse(length), path)
        });
        candidates
    }

    fn events(&self) -> TimeRange {
        *self.events.get_or_init(|| {
            let (first, last) = Extent::of(&*self.trace.source).bounds.unwrap_or_default();
            TimeRange::new(first, last)
        })
    }

    /// Whether no more than a moment of it lies outside of these times.
    fn is_within(&self, ranges: &[TimeRange]) -> bool {
        let own = self.events();
        let common = ranges.iter().map(|range| own.intersect(*range));
        let common = TimeRange::union(common.collect());
        let common: u64 = common.iter().map(|range| range.length().get()).sum();
        own.length().get().saturating_sub(common) <= ROTATION.get()
    }

    fn is_of_session(&self, other: &Self) -> bool {
        let session = &self.trace.source.schema().session;
        !session.is_empty()
            && *session == other.trace.source.schema().session
            && self.machine.may_be(&other.machine)
    }

    /// Whether most events of kinds that both have, in time of both, are the same, or both are pages of
    /// ftrace: these say nothing of where one begins within the other.
    fn records_same(&self, other: &Self) -> bool {
        let is_brief = self.whole.intersect(other.whole).length() <= ROTATION;
        if is_brief || !self.may_share(other) {
            return false;
        }
        let is_ftrace = |one: &Self| one.trace.format == "ftrace";
        if is_ftrace(self) && is_ftrace(other) {
            return self.recorded.shares_time(&other.recorded);
        }
        let shared = self.recorded.shared(&other.recorded, APART);
        let mut shared = shared.into_iter().filter(|(name, _)| counts(name));
        shared.any(|(_, of_name)| of_name.is_most())
    }

    /// By name, how many events of `other`, in time of both, this one has as well.
    fn shared_kinds(&self, other: &Self) -> BTreeMap<&'trace str, Shared> {
        if self.is_of_others(other) || !self.may_share(other) {
            return BTreeMap::new();
        }
        let mut shared = self.recorded.shared(&other.recorded, APART);
        shared.retain(|name, _| counts(name));
        shared
    }

    /// Whether these are buffers of different users or processes, which never tell the same.
    fn is_of_others(&self, other: &Self) -> bool {
        let [one, other] = [self, other].map(|of| {
            let environment = &of.trace.source.schema().environment;
            let value = |name: &str| environment.iter().find(|(key, _)| key == name);
            ["scheme", "id"].map(|part| value(&format!("tracer_buffering_{part}")))
        });
        matches!((one, other), ([Some(of), Some(id)], [Some(as_of), Some(other)]) if of == as_of && id != other)
    }

    /// Where they share packets it has been said already.
    fn may_share(&self, other: &Self) -> bool {
        self.machine.may_be(&other.machine) && in_common(self.trace, other.trace).is_none()
    }

    /// That `read` holds the same, and what follows.
    fn told(&self, read: &Self, what_follows: &str) -> Diagnostic {
        let common = self.whole.intersect(read.whole);
        let why = match read.of_session.length() < self.of_session.length() {
            true => "and is of the recorder whose kernel trace is read",
            false => "and covers more time",
        };
        let what = format!(
            "{} records the same processors during {:.3} s of its {:.3} s, {why}{what_follows}",
            read.trace.path.display(),
            common.length().0 as f64 / 1e9,
            self.whole.length().0 as f64 / 1e9,
        );
        Diagnostic {
            code: DiagnosticCode::RecordedTwice,
            ..damaged(&self.trace.path, what)
        }
    }
}

/// Who provides events of a name: LTTng's applications put it before a colon.
fn provider(name: &str) -> &str {
    name.split_once(':').map_or(name, |(provider, _)| provider)
}

/// Not what LTTng writes at the begin of every session.
fn counts(name: &str) -> bool {
    !name.starts_with("lttng_statedump_") && !name.starts_with("lttng_ust_statedump:")
}

#[cfg(test)]
mod tests {
    use std::ops::Range;

    use slowpath_drawn::DrawnTrace;
    use slowpath_model::{Event, Projection};

    use super::*;
    use crate::open::opened;

    /// Traces of one machine; what is left of them: path and kinds of events, and what is said of each.
    fn left_of(traces: &[(&str, &str)]) -> (Vec<(String, Vec<String>)>, Vec<String>) {
        let mut experiment = Experiment::default();
        for (path, text) in traces {
            let text = format!("-- environment hostname=vm\n{text}");
            let source = DrawnTrace::parse(&text).expect("a trace");
            let path = PathBuf::from(path);
            let trace = OpenedSource {
                path,
                ..opened("CTF 1.8", source)
            };
            experiment.traces.push(trace);
        }
        leave_out(&mut experiment);
        let kinds = |trace: &OpenedSource| {
            let source = &*trace.source;
            let schema = source.schema();
            let every = Projection::every_event(schema.event_classes.len());
            let mut kinds = BTreeSet::new();
            for packet in source.packets() {
                let mut note = |event: &Event<'_>| {
                    kinds.insert(schema.event_classes[event.class.index()].name.clone());
                };
                source.decoder(&every).decode(packet.id, &mut note);
            }
            kinds.into_iter().collect()
        };
        let traces = experiment.traces.iter();
        let traces = traces.map(|trace| (trace.path.display().to_string(), kinds(trace)));
        let said = experiment.diagnostics.iter();
        (
            traces.collect(),
            said.map(|said| said.message.clone()).collect(),
        )
    }

    /// Ten spans, each with begin and end, of one thread; `late` nanoseconds later than another recorder has them.
    fn spans(first: u64, thread: u32, late: u64) -> String {
        let span = |number: u64| {
            let begin = 1_000_000_000 + number * 50_000_000 + late;
            let end = begin + 200_000;
            let id = first + number;
            format!(
                "cpu0 {begin} slowpath_span:start_span span_id=0x{id:x} @vtid={thread}\n\
                 cpu0 {end} slowpath_span:end_span span_id=0x{id:x} @vtid={thread}\n"
            )
        };
        let spans: String = (0..10).map(span).collect();
        format!("-- domain user\n{spans}")
    }

    const SPANS: [&str; 2] = ["slowpath_span:end_span", "slowpath_span:start_span"];

    fn with(path: &str, kinds: &[&str]) -> (String, Vec<String>) {
        (
            path.to_owned(),
            kinds.iter().map(|kind| (*kind).to_owned()).collect(),
        )
    }

    #[test]
    fn applications_that_tell_different_things_at_the_same_time_are_read_together() {
        // A service and the one that it calls, of different users: two traces of one recorder.
        let (caller, called) = (spans(1, 7, 0), spans(101, 8, 50_000));
        let (traces, said) = left_of(&[("one", &caller), ("other", &called)]);
        assert_eq!(traces, [with("one", &SPANS), with("other", &SPANS)]);
        assert_eq!(said, [""; 0]);
        // Buffers of different processes, without a context that tells them apart.
        let of_process = |id: u32, late| {
            let spans = spans(1, 7, late).replace(" @vtid=7", "");
            format!(
                "-- environment tracer_buffering_scheme=pid\n-- environment tracer_buffering_id={id}\n{spans}"
            )
        };
        let (traces, _) = left_of(&[("one", &of_process(1, 0)), ("other", &of_process(2, 1_000))]);
        assert_eq!(traces.len(), 2);
        let (traces, _) = left_of(&[("one", &of_process(1, 0)), ("other", &of_process(1, 1_000))]);
        assert_eq!(traces.len(), 1);
        // Both tell of one span: what two threads say of it are two things.
        let same_span = spans(1, 8, 50_000);
        let (traces, _) = left_of(&[("one", &caller), ("other", &same_span)]);
        assert_eq!(traces, [with("one", &SPANS), with("other", &SPANS)]);
    }

    #[test]
    fn what_applications_told_two_recorders_is_read_once_and_the_rest_of_both() {
        let longer =
            spans(1, 7, 0) + "cpu0 9000000000 slowpath_span:start_span span_id=0x99 @vtid=7\n";
        let again = spans(1, 7, 1_500);
        for (one, other) in [(0, 1), (1, 0)] {
            let both = [("one", &*longer), ("two", &*again)];
            let (traces, said) = left_of(&[both[one], both[other]]);
            assert_eq!(traces, [with("one", &SPANS)]);
            let [said] = &said[..] else {
                panic!("{said:?}")
            };
            assert!(
                said.starts_with("one ") && said.contains("of slowpath_span"),
                "{said}"
            );
        }
        let ticks: String = (0..400u64)
            .map(|tick| {
                format!(
                    "cpu1 {} app:tick n={tick} @vtid=7\n",
                    1_000_000_000 + tick * 1_000_000
                )
            })
            .collect();
        let (traces, _) = left_of(&[("one", &longer), ("two", &(again + &ticks))]);
        assert_eq!(traces, [with("one", &SPANS), with("two", &["app:tick"])]);
    }

    /// Numbers that an event carries, from all traces that are left, in order.
    fn numbers_left(traces: &[(&str, &str)]) -> Vec<u64> {
        let mut experiment = Experiment::default();
        for (path, text) in traces {
            let text = format!("-- environment hostname=vm\n{text}");
            let source = DrawnTrace::parse(&text).expect("a trace");
            experiment.traces.push(OpenedSource {
                path: PathBuf::from(path),
                ..opened("CTF 1.8", source)
            });
        }
        leave_out(&mut experiment);
        let mut numbers = Vec::new();
        for trace in &experiment.traces {
            let source = &*trace.source;
            let decoder = source.decoder(&Projection::everything(source.schema()));
            let (mut decoded, mut tallied) = (0, 0);
            for packet in source.packets() {
                decoder.decode(packet.id, &mut |event: &Event<'_>| {
                    assert!(event.at >= packet.range.begin && event.at <= packet.range.end);
                    decoded += 1;
                    let fields = source.schema().event_classes[event.class.index()]
                        .fields
                        .iter();
                    let number = fields.zip(0..).find(|(field, _)| field.name == "n");
                    numbers
                        .extend(number.map(|(_, slot)| event.unsigned(slowpath_model::Slot(slot))));
                });
                decoder.tally(packet.id, &mut |_, count| tallied += count);
            }
            assert_eq!(tallied, decoded);
        }
        numbers.sort_unstable();
        numbers
    }

    /// Events each 10 ms, with their number, in packets of `per_packet`.
    fn ticks(names: &[&str], numbers: Range<u64>, per_packet: u64, late: u64) -> String {
        let tick = |number: u64| {
            let at = 1_000_000_000 + number * 10_000_000 + late;
            let cut = match number.is_multiple_of(per_packet) {
                true => "-- packet cpu0\n",
                false => "",
            };
            let event = |(name, at): (&&str, u64)| format!("cpu0 {at} {name} n={number} @vtid=7\n");
            cut.to_owned() + &names.iter().zip(at..).map(event).collect::<String>()
        };
        numbers.map(tick).collect()
    }

    #[test]
    fn recorders_that_hand_over_are_both_read_each_for_what_only_it_has() {
        let of_applications = |numbers, late| {
            let ticks = ticks(&["app:tick"], numbers, 7, late);
            format!("-- domain user\n{ticks}")
        };
        let of_kernel = |numbers, late| ticks(&["syscall_entry_read"], numbers, 5, late);
        for (one, other) in [(0, 1), (1, 0)] {
            for (first, second) in [(0..40, 30..80), (0..50, 30..60)] {
                let both = [
                    ("one", of_applications(first.clone(), 0)),
                    ("two", of_applications(second.clone(), 1_500)),
                ];
                let both = [&both[one], &both[other]].map(|(path, text)| (*path, &**text));
                let all: Vec<u64> = (first.start..second.end).collect();
                assert_eq!(numbers_left(&both), all, "{first:?} {second:?}");
                let both = [
                    ("one", of_kernel(first, 0)),
                    ("two", of_kernel(second, 1_500)),
                ];
                let both = [&both[one], &both[other]].map(|(path, text)| (*path, &**text));
                assert_eq!(numbers_left(&both), all);
            }
        }
    }

    #[test]
    fn what_is_read_of_one_trace_is_left_out_of_no_other_for_what_is_not() {
        let first = ticks(&["app:tick"], 0..60, 60, 0);
        let second = ticks(&["app:tick", "app:rare"], 50..105, 60, 2_000);
        let third = ticks(&["app:tick"], 95..120, 60, 4_000);
        let all = [&first, &second, &third].map(|ticks| format!("-- domain user\n{ticks}"));
        let rare = 50..105;
        let mut expected: Vec<u64> = (0..120).chain(rare).collect();
        expected.sort_unstable();
        for order in [[0, 1, 2], [2, 1, 0], [1, 0, 2]] {
            let traces = order.map(|number| (["one", "two", "three"][number], &*all[number]));
            assert_eq!(numbers_left(&traces), expected, "{order:?}");
        }
    }

    #[test]
    fn kernels_that_were_recorded_with_other_filters_are_read_together() {
        let calls = |thread: u32, late: u64| -> String {
            let call = |number: u64| {
                let at = 1_000_000_000 + number * 500_000 + late;
                format!("cpu0 {at} syscall_entry_read fd={number} @tid={thread}\n")
            };
            (0..200).map(call).collect()
        };
        let read = |thread, late| {
            let (traces, said) = left_of(&[("one", &calls(7, 0)), ("two", &calls(thread, late))]);
            (traces.len(), said.len())
        };
        assert_eq!(read(8, 1_000), (2, 0));
        assert_eq!(read(7, 1_000), (1, 1));
    }
}
