//! Time of the slow requests of which the recording does not say where it went, and why it does not.
//!
//! Nothing here is a cause of slowness: it says how far the other findings can be trusted. Events that
//! are missing, requests of which no thread is known, event loops, and what none of these explains are told apart.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use slowpath_critical_path::{Cause, State};
use slowpath_model::{
    Diagnostic, DiagnosticCode, HostId, Nanoseconds, TimeRange, Timestamp, shown,
};
use slowpath_requests::RequestId;

use crate::finding::{Evidence, Finding, FindingId, Severity};
use crate::path::{LEAST_SHARE, Piece, Slow, listed};

const MOST_EVIDENCE: usize = 5;

/// What it says about unknown time where any is worth a word. `missing` is what each host's recording
/// lacks, `rings` when rings in memory were filled, `unseen` for how long hosts were waited for of which such events would
/// tell what they did.
pub(crate) fn findings(
    slow: &Slow<'_>,
    missing: &BTreeMap<HostId, Missing<'_>>,
    rings: &BTreeMap<HostId, Vec<TimeRange>>,
    unseen: &BTreeMap<HostId, Nanoseconds>,
) -> Vec<Finding> {
    let unknown = slow
        .pieces()
        .filter(|piece| piece.segment.state == State::Unknown);
    let has_no_thread = |piece: &Piece| slow.requests.get(piece.request).first_thread().is_none();
    let (without_thread, mut others): (Vec<Piece>, Vec<Piece>) = unknown.partition(has_no_thread);
    others.sort_by_key(|piece| (Reverse(piece.segment.range.length()), piece.request));
    let (of_loops, others): (Vec<Piece>, Vec<Piece>) =
        (others.into_iter()).partition(|piece| piece.segment.cause == Cause::SeveralEvents);
    let mut explained: BTreeMap<HostId, Nanoseconds> = BTreeMap::new();
    for piece in &others {
        let host = piece.segment.host;
        if let Some(missing) = missing.get(&host) {
            *explained.entry(host).or_default() += missing.explains(slow, piece);
        }
    }
    explained.retain(|_, length| *length > Nanoseconds::ZERO);
    let rest = total(&others) - explained.values().copied().sum();
    let lost = lost(slow, missing, &explained, unseen);
    let unexplained = unexplained(slow, &others, rings, rest);
    let no_thread = no_thread(slow, &without_thread, missing.get(&slow.host));
    [
        lost,
        unexplained,
        no_thread,
        of_several_events(slow, &of_loops),
    ]
    .into_iter()
    .flatten()
    .collect()
}

fn total(pieces: &[Piece]) -> Nanoseconds {
    let lengths = pieces.iter().map(|piece| piece.segment.range.length());
    lengths.sum()
}

fn share(slow: &Slow<'_>, unknown: Nanoseconds) -> f64 {
    unknown.get() as f64 / slow.total.get().max(1) as f64
}

/// What diagnostics tell of events that are not there in a host's recording.
pub(crate) struct Missing<'run> {
    told: Vec<&'run Diagnostic>,
    /// Dropped while recording.
    lost: Vec<String>,
    /// The codes of what was recorded but cannot be read.
    unreadable: BTreeSet<&'static str>,
}

impl<'run> Missing<'run> {
    pub(crate) fn of(diagnostics: &'run [Diagnostic]) -> Option<Self> {
        use DiagnosticCode::{
            ForeignStream, InvalidEvent, InvalidFormat, InvalidMetadata, InvalidPacket, LostEvents,
            LostPackets, MissingEnd, MissingPackets, MissingProcessor, MissingStream,
            TooManyPackets, TruncatedPacket, UnknownEventClass, UnknownStreamClass,
        };
        let is_missing = |diagnostic: &&Diagnostic| match diagnostic.code {
            // Those without a count may be of a time before the recording.
            LostEvents | LostPackets => diagnostic.count.is_some(),
            InvalidMetadata | UnknownStreamClass | UnknownEventClass | InvalidPacket
            | TooManyPackets | ForeignStream | MissingEnd | MissingPackets | MissingProcessor
            | MissingStream | TruncatedPacket | InvalidEvent | InvalidFormat => true,
            _ => false,
        };
        let told: Vec<&Diagnostic> = diagnostics.iter().filter(is_missing).collect();
        let count = |code| -> u64 {
            let of_kind = told.iter().filter(|diagnostic| diagnostic.code == code);
            of_kind.filter_map(|diagnostic| diagnostic.count).sum()
        };
        let lost = [(LostEvents, "events"), (LostPackets, "packets of events")];
        let lost = (lost.into_iter())
            .map(|(code, what)| (count(code), what))
            .filter(|(count, _)| *count > 0)
            .map(|(count, what)| format!("{count} {what}"))
            .collect();
        let is_lost =
            |diagnostic: &&Diagnostic| matches!(diagnostic.code, LostEvents | LostPackets);
        let unreadable = told
            .iter()
            .copied()
            .filter(|diagnostic| !is_lost(diagnostic));
        let unreadable = unreadable
            .map(|diagnostic| diagnostic.code.name())
            .collect();
        (!told.is_empty()).then_some(Self {
            told,
            lost,
            unreadable,
        })
    }

    /// Whether something could not be read: it may be of any time, the end of the recording as well.
    pub(crate) fn is_cut(&self) -> bool {
        !self.unreadable.is_empty()
    }

    /// As much of a piece as what is missing may be of: lost events are of the recorded time of their host.
    fn explains(&self, slow: &Slow<'_>, piece: &Piece) -> Nanoseconds {
        let segment = &piece.segment;
        if self.is_cut() {
            return segment.range.length();
        }
        let lines = slow.all.hosts().lines(segment.host);
        let within = lines.map(|lines| segment.recorded.intersect(lines.range()).length());
        let within = within.unwrap_or_default().min(segment.range.length());
        // What was not to be recorded was not lost.
        within - without_switches(slow, piece).min(within)
    }

    fn described(&self) -> String {
        let codes: Vec<&str> = self.unreadable.iter().copied().collect();
        let unreadable =
            (!codes.is_empty()).then(|| format!("what could not be read ({})", codes.join(", ")));
        let all: Vec<String> = self.lost.iter().cloned().chain(unreadable).collect();
        all.join(" and ")
    }
}

/// Missing events, where they make the answers unsafe: on the requests' own host or another one.
fn lost(
    slow: &Slow<'_>,
    missing: &BTreeMap<HostId, Missing<'_>>,
    explained: &BTreeMap<HostId, Nanoseconds>,
    unseen: &BTreeMap<HostId, Nanoseconds>,
) -> Option<Finding> {
    let touches = |host: &HostId| explained.contains_key(host) || unseen.contains_key(host);
    let of_hosts = missing.iter().filter(|(host, _)| touches(host));
    let of_hosts: Vec<(HostId, &Missing<'_>)> = of_hosts.map(|(host, of)| (*host, of)).collect();
    let unknown: Nanoseconds = explained.values().copied().sum();
    let unseen = unseen.iter().filter(|(host, _)| missing.contains_key(host));
    let unseen: BTreeMap<String, Nanoseconds> = unseen
        .map(|(host, of)| (slow.host_name(*host), *of))
        .collect();
    let share = share(slow, unknown + unseen.values().copied().sum());
    let is_lost = of_hosts.iter().any(|(_, of)| !of.lost.is_empty());
    if of_hosts.is_empty() || !is_lost && share < LEAST_SHARE {
        // They are missing elsewhere.
        return None;
    }
    let several = slow.all.hosts().ids().count() > 1;
    let described = of_hosts.iter().map(|(host, of)| match several {
        true => format!(
            "The recording of {} lacks {}.",
            slow.host_name(*host),
            of.described()
        ),
        false => format!("The recording lacks {}.", of.described()),
    });
    let described: Vec<String> = described.collect();
    let of_unknown = match unknown {
        Nanoseconds::ZERO => String::new(),
        unknown => format!(
            " Where that is missing the slow requests' time is unknown: {unknown} of {}.",
            slow.total
        ),
    };
    let of_unseen = match unseen.is_empty() {
        true => String::new(),
        false => format!(
            " They waited for packets of hosts while events of there are missing: {}.",
            listed(&unseen, 4)
        ),
    };
    let told = of_hosts.iter().flat_map(|(_, of)| of.told.iter());
    let record = is_lost
        .then_some("Record with larger buffers (`--buffer-size`) or fewer events (`--events`)");
    let is_cut = of_hosts.iter().any(|(_, of)| of.is_cut());
    let copy = is_cut.then_some("Copy the recording again as a whole");
    let advice: Vec<&str> = record.into_iter().chain(copy).collect();
    Some(Finding {
        id: FindingId::LostEvents,
        severity: match share {
            share if share >= 0.25 => Severity::High,
            share if share >= 0.05 => Severity::Medium,
            _ => Severity::Low,
        },
        title: "Lost events: parts of the recording are missing".to_owned(),
        explanation: format!("{}{of_unknown}{of_unseen}", described.join(" ")),
        evidence: (told.take(MOST_EVIDENCE))
            .map(|diagnostic| Evidence {
                hint: Some(diagnostic.code.hint()),
                ..Evidence::text(diagnostic.headline())
            })
            .collect(),
        advice: format!(
            "{}, and take the other findings with care.",
            advice.join(". ")
        ),
        range: slow.lines.range(),
        share,
    })
}

/// Requests of which no thread is known, where they are a good part.
fn no_thread(slow: &Slow<'_>, pieces: &[Piece], missing: Option<&Missing<'_>>) -> Option<Finding> {
    let unknown = total(pieces);
    let share = share(slow, unknown);
    if share < LEAST_SHARE {
        return None;
    }
    let requests: BTreeSet<RequestId> = pieces.iter().map(|piece| piece.request).collect();
    let mut slowest: Vec<RequestId> = requests.iter().copied().collect();
    let window = |id: RequestId| slow.requests.get(id).window;
    slowest.sort_by_key(|&id| (Reverse(window(id).length()), id));
    let evidence = slowest.iter().take(MOST_EVIDENCE).map(|&id| Evidence {
        range: Some(window(id)),
        request: Some(slow.key(id)),
        ..Evidence::text(format!(
            "request {}: {}, no thread known",
            slow.named(id),
            window(id).length()
        ))
    });
    let why = missing.map_or(String::new(), |missing| {
        format!(
            " What would tell may be missing: the recording lacks {}.",
            missing.described()
        )
    });
    Some(Finding {
        id: FindingId::UnknownTime,
        severity: Severity::of(share),
        title: "Unknown time: nothing tells which threads served the requests".to_owned(),
        explanation: format!(
            "No thread is known for {} of {} requests that were examined, so nothing tells where \
             their time went: {unknown} of {}. Spans alone do not say which thread does the work.{why}",
            requests.len(),
            slow.paths.len(),
            slow.total
        ),
        evidence: evidence.collect(),
        advice:
            "Build the agents (`make agents`), which tell the threads of spans, and record again."
                .to_owned(),
        range: slow.lines.range(),
        share,
    })
}

/// Requests of event loops that had several things to do when these were taken up again.
fn of_several_events(slow: &Slow<'_>, longest_first: &[Piece]) -> Option<Finding> {
    let unknown = total(longest_first);
    let share = share(slow, unknown);
    if share < LEAST_SHARE {
        return None;
    }
    let requests: BTreeSet<RequestId> = longest_first.iter().map(|piece| piece.request).collect();
    let evidence = longest_first.iter().take(MOST_EVIDENCE).map(|piece| {
        let segment = &piece.segment;
        Evidence {
            range: Some(segment.range),
            thread: Some(segment.thread),
            request: Some(slow.key(piece.request)),
            ..Evidence::text(format!(
                "request {}: waited for {}, while thread {} ({}) did other things",
                slow.named(piece.request),
                segment.range.length(),
                segment.thread,
                shown(&segment.comm),
            ))
        }
    });
    Some(Finding {
        id: FindingId::UnknownTime,
        severity: Severity::of(share),
        title: "Unknown time: event loops had several things to do when requests were taken up again".to_owned(),
        explanation: format!(
            "{} of {} requests that were examined waited, and before they were taken up again their event loop was told of \
             several things at once, served others or had no processor. So nothing tells which of these they waited for: {unknown} of {}.",
            requests.len(),
            slow.paths.len(),
            slow.total
        ),
        evidence: evidence.collect(),
        advice: "Have spans of what the requests call (instrument clients of databases and other services): they tell how long \
                 each call took. Or record while fewer requests are under way at once. Where the loop has much to do, let \
                 several processes share it."
            .to_owned(),
        range: slow.lines.range(),
        share,
    })
}

/// Unknown time of these pieces that neither missing events nor missing threads explain.
fn unexplained(
    slow: &Slow<'_>,
    longest_first: &[Piece],
    rings: &BTreeMap<HostId, Vec<TimeRange>>,
    unknown: Nanoseconds,
) -> Option<Finding> {
    let share = share(slow, unknown);
    if share < LEAST_SHARE {
        return None;
    }
    let of_rings = longest_first.iter().filter_map(|piece| {
        let filled = TimeRange::union(rings.get(&piece.segment.host)?.clone());
        Some(not_held(slow, piece, &filled))
    });
    let (overwritten, outside): (Vec<_>, Vec<_>) = of_rings.unzip();
    let [overwritten, outside]: [Nanoseconds; 2] =
        [overwritten, outside].map(|all| all.into_iter().sum());
    // The first event comes a moment after a ring begins to be filled.
    let is_much = |part: Nanoseconds| part.get() * 10 > unknown.get();
    let mut of_rings = String::new();
    if is_much(overwritten) {
        of_rings += &format!(
            " {overwritten} of it lies where the ring in memory did not hold all events any more when the \
             snapshot was taken: older ones had been overwritten."
        );
    }
    if is_much(outside) {
        of_rings += &format!(
            " {outside} of it lies before the ring in memory began to be filled for the first snapshot that was \
             read, or between two of these."
        );
    }
    let without: Nanoseconds = (longest_first.iter())
        .map(|piece| without_switches(slow, piece))
        .sum();
    let missed: Nanoseconds = longest_first
        .iter()
        .map(|piece| at_missing_switches(slow, piece))
        .sum();
    let of_missed = match is_much(missed) {
        true => format!(
            " {missed} of it lies where a switch to a thread is missing that ran, between events that are there: the tracer \
             does not see every switch from the idle thread, in virtual machines above all."
        ),
        false => String::new(),
    };
    let of_without = match is_much(without) {
        true => format!(
            " {without} of it lies where no switches of threads were recorded, which tell who runs."
        ),
        false => String::new(),
    };
    // Where that is most of it, nothing else is to blame.
    let is_missed = missed.get() * 2 > unknown.get();
    let is_explained = is_missed || without.get() * 2 > unknown.get();
    let why = match is_explained {
        true => "",
        false => {
            ": the requests reach beyond the recording of the kernel, or the events \
             that end waits and start threads were not recorded"
        }
    };
    let evidence = longest_first.iter().take(MOST_EVIDENCE).map(|piece| {
        let whose = piece.whose();
        let here = whose.host == slow.host;
        Evidence {
            range: Some(piece.segment.range),
            thread: here.then_some(whose.thread),
            request: Some(slow.key(piece.request)),
            ..Evidence::text(format!(
                "request {}: nothing is known of thread {} ({}) for {}",
                slow.named(piece.request),
                whose.thread,
                shown(&piece.segment.comm),
                piece.segment.range.length()
            ))
        }
    });
    Some(Finding {
        id: FindingId::UnknownTime,
        severity: Severity::of(share),
        title: "Unknown time: the recording does not tell where it went".to_owned(),
        explanation: format!(
            "{unknown} of {} of the slow requests' time is unknown, and no events that were lost \
             explain that{why}.{of_rings}{of_without}{of_missed}",
            slow.total
        ),
        evidence: evidence.collect(),
        advice: match [overwritten, outside].map(|part| part.get() * 2 > unknown.get()) {
            [true, _] => {
                "Have the ring reach back to before the requests: give each processor more room (`slowpath \
                 record --snapshot --buffer-size`), or record fewer events (`--events`)."
            }
            [_, true] => {
                "Begin to record before the requests, and open snapshots that follow each other together."
            }
            [false, false] if is_missed => {
                "Record system calls and block requests with the scheduler, as `slowpath record` does unless told otherwise: \
                 what threads do then tells that they run. What lies before the first of these stays unknown."
            }
            [false, false] => {
                "Record the scheduler and interrupts, as `slowpath record` does unless told otherwise, from \
                 before the requests until after them."
            }
        }
        .to_owned(),
        range: slow.lines.range(),
        share,
    })
}

/// As much of a piece as lies where its thread ran for an unknown part of the time, between switches that are there.
fn at_missing_switches(slow: &Slow<'_>, piece: &Piece) -> Nanoseconds {
    let segment = &piece.segment;
    let lines = slow.all.hosts().lines(segment.host);
    let missed = lines.map(|lines| lines.beside_missing_switches(segment.thread, segment.recorded));
    let elsewhere = segment.range.length() - without_switches(slow, piece);
    missed.unwrap_or_default().min(elsewhere)
}

/// As much of a piece as lies in recorded time of its host in which switches of threads were not recorded.
fn without_switches(slow: &Slow<'_>, piece: &Piece) -> Nanoseconds {
    let segment = &piece.segment;
    let lines = slow.all.hosts().lines(segment.host);
    let without = lines.map(|lines| lines.without_switches(segment.recorded));
    without.unwrap_or_default().min(segment.range.length())
}

/// As much of a piece as lies where the ring of some processor did not hold events: while it was `filled`, so
/// that they were overwritten, and at other times.
fn not_held(slow: &Slow<'_>, piece: &Piece, filled: &[TimeRange]) -> (Nanoseconds, Nanoseconds) {
    let segment = &piece.segment;
    let Some(lines) = slow.all.hosts().lines(segment.host) else {
        return Default::default();
    };
    let whole = lines.range();
    let of_processors = lines.processors().flat_map(|cpu| lines.unknown_on(cpu));
    // Nothing is ever known of some, nor of others after their ends.
    let unknown = of_processors.filter(|unknown| unknown.end < whole.end);
    let before = TimeRange::new(Timestamp::MIN, whole.begin);
    let parts = TimeRange::union(unknown.chain([before]).collect());
    let parts = parts.iter().map(|part| part.intersect(segment.recorded));
    let (mut overwritten, mut all) = (Nanoseconds::ZERO, Nanoseconds::ZERO);
    for part in parts {
        let filled = filled.iter().map(|filled| filled.intersect(part).length());
        overwritten += filled.sum::<Nanoseconds>();
        all += part.length();
    }
    // By the clock of another host it may be longer.
    let [overwritten, all] = [overwritten, all].map(|time| time.min(segment.range.length()));
    (overwritten, all - overwritten)
}
