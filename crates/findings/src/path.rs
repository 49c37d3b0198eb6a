//! The slow requests' critical paths, and time added up by whatever a finding asks for.

use std::collections::BTreeMap;

use slowpath_critical_path::{Segment, State};
use slowpath_kernel::InterruptedWait;
use slowpath_kernel::timelines::Timelines;
pub(crate) use slowpath_model::counted;
use slowpath_model::{HostId, Nanoseconds, ThreadId, TimeRange, shown};
use slowpath_requests::{
    AllHosts, Request, RequestId, RequestOfHost, RequestPath, Requests, SpanKey, ThreadOfHost,
};

use crate::diagnose::Host;
use crate::finding::{Evidence, Finding, FindingId, Severity};

/// Causes that take less of the slow requests' time are not told.
pub(crate) const LEAST_SHARE: f64 = 0.1;
/// Nor those that cost the requests that they touch less than this, on average.
const LEAST_EACH: Nanoseconds = Nanoseconds(1_000_000);
/// Requests of one operation that are examined.
pub const MOST_EXAMINED: usize = 2000;
/// Pieces of evidence of one kind.
const MOST_EVIDENCE: usize = 3;

/// The requests that are examined, with their paths.
pub(crate) struct Slow<'run> {
    pub(crate) all: &'run AllHosts<'run>,
    /// Whose requests they are.
    pub(crate) host: HostId,
    pub(crate) requests: &'run Requests,
    pub(crate) lines: &'run Timelines,
    pub(crate) paths: Vec<(RequestId, RequestPath)>,
    /// How many others took as long, but cannot be explained.
    pub(crate) left_out: usize,
    /// Their durations, added up.
    pub(crate) total: Nanoseconds,
    /// Within which they lie.
    pub(crate) window: TimeRange,
}

/// A piece of a slow request's path.
pub(crate) struct Piece {
    pub(crate) request: RequestId,
    pub(crate) segment: Segment,
    /// The request that its thread works for, where that is another one.
    pub(crate) blocked_by: Option<RequestOfHost>,
}

impl Piece {
    /// The thread whose state it is.
    pub(crate) fn whose(&self) -> ThreadOfHost {
        whose(&self.segment)
    }
}

/// Waits, each once, in an order by which [`place_of`] finds them again.
pub(crate) fn each_once(waits: impl Iterator<Item = InterruptedWait>) -> Vec<InterruptedWait> {
    let by_order: BTreeMap<_, InterruptedWait> = waits.map(|wait| (order(&wait), wait)).collect();
    by_order.into_values().collect()
}

pub(crate) fn place_of(wait: &InterruptedWait, waits: &[InterruptedWait]) -> Option<usize> {
    waits.binary_search_by_key(&order(wait), order).ok()
}

fn order(wait: &InterruptedWait) -> [i64; 4] {
    let times = [wait.range.end, wait.range.begin, wait.interrupt.begin];
    let [end, begin, interrupt] = times.map(|at| at.ns());
    [end, i64::from(wait.cpu.0), begin, interrupt]
}

pub(crate) fn whose(segment: &Segment) -> ThreadOfHost {
    ThreadOfHost {
        host: segment.host,
        thread: segment.thread,
    }
}

/// When requests can be explained.
pub(crate) struct Recorded {
    range: TimeRange,
    /// Between snapshots: some processor's ring did not hold these any more. In order and apart.
    gaps: Vec<TimeRange>,
}

impl Recorded {
    /// Each processor's part of the `rings` may begin at another time; but what `is_cut` off or damaged is not left
    /// out in silence: that its time is unknown has to be told.
    pub(crate) fn of(lines: &Timelines, is_cut: bool, rings: &[TimeRange]) -> Self {
        let (whole, everywhere) = (lines.range(), recorded_everywhere(lines));
        let unknown = lines.processors().flat_map(|cpu| lines.unknown_on(cpu));
        // Within a ring only a moment is unknown here and there, where the tracer misses a switch.
        let is_between = |gap: &TimeRange| {
            let is_new = |ring: &TimeRange| gap.begin <= ring.begin && ring.begin <= gap.end;
            whole.begin < gap.begin && gap.end < whole.end && rings.iter().any(is_new)
        };
        Self {
            range: match (is_cut, rings) {
                (false, _) => everywhere,
                (true, []) => whole,
                (true, _) => TimeRange::new(everywhere.begin, whole.end),
            },
            gaps: match is_cut {
                true => Vec::new(),
                false => TimeRange::union(unknown.filter(is_between).collect()),
            },
        }
    }

    fn holds(&self, window: TimeRange) -> bool {
        let next = self.gaps.partition_point(|gap| gap.end <= window.begin);
        let touches = |gap: &TimeRange| gap.begin < window.end;
        self.range.intersect(window) == window && !self.gaps.get(next).is_some_and(touches)
    }
}

/// From when until when the events of every processor are there.
fn recorded_everywhere(lines: &Timelines) -> TimeRange {
    let whole = lines.range();
    let (mut begin, mut end) = (whole.begin, whole.end);
    for cpu in lines.processors() {
        let unknown: Vec<TimeRange> = lines.unknown_on(cpu).collect();
        let before = unknown.first().filter(|first| first.begin <= whole.begin);
        let after = unknown.last().filter(|last| last.end >= whole.end);
        // Nothing is ever known of some.
        if before != after || before.is_none() {
            begin = before.map_or(begin, |before| before.end.max(begin));
            end = after.map_or(end, |after| after.begin.min(end));
        }
    }
    TimeRange::new(begin, end)
}

impl<'run> Slow<'run> {
    /// Of the requests that are meant and lie within the window the slowest tenth of each operation, at least one of each; of
    /// very many some that lie evenly among them, the slowest first. Those that the recording shows in
    /// part are of no length that could be compared, and those from before or after the kernel's events
    /// cannot be explained: those that are not `recorded` whole count only where there are no others.
    pub(crate) fn of(asked: &Host<'run>, lines: &'run Timelines, recorded: &Recorded) -> Self {
        let (all, host, window) = (asked.all, asked.id, asked.window);
        let requests = all.requests(host);
        let mut operations: BTreeMap<(String, String), Vec<RequestId>> = BTreeMap::new();
        let is_asked = |request: &Request| {
            request.window.lies_within(window) && (asked.meant)(request, Some(lines))
        };
        for (id, request) in requests.ids().filter(|(_, request)| is_asked(request)) {
            let name = request.name(Some(lines));
            let key = (request.service().to_owned(), name);
            operations.entry(key).or_default().push(id);
        }
        let length = |id: &RequestId| requests.get(*id).window.length();
        let mut slow = Vec::new();
        let mut left_out = 0;
        for ids in operations.values() {
            let is_whole = |id: &RequestId| {
                let request = requests.get(*id);
                request.duration().is_some() && recorded.holds(request.window)
            };
            let (mut slowest, mut others): (Vec<RequestId>, Vec<RequestId>) =
                ids.iter().copied().partition(is_whole);
            if slowest.is_empty() {
                slowest = std::mem::take(&mut others);
            }
            slowest.sort_by_key(|id| (std::cmp::Reverse(length(id)), *id));
            slowest.truncate(slowest.len().div_ceil(10));
            let took_as_long =
                |other: &&RequestId| Some(length(other)) >= slowest.last().map(length);
            left_out += others.iter().filter(took_as_long).count();
            slow.extend(evenly(&slowest, MOST_EXAMINED));
        }
        slow.sort_unstable();
        let total = slow.iter().map(length).sum();
        let path = |request| (request, all.path(RequestOfHost { host, request }));
        Self {
            all,
            host,
            requests,
            lines,
            paths: slow.into_iter().map(path).collect(),
            left_out,
            total,
            window,
        }
    }

    pub(crate) fn pieces(&self) -> impl Iterator<Item = Piece> {
        let paths = self.paths.iter();
        paths.flat_map(|(request, path)| Self::pieces_of(*request, path))
    }

    pub(crate) fn pieces_of(request: RequestId, path: &RequestPath) -> impl Iterator<Item = Piece> {
        let segments = path.path.segments.iter().zip(&path.blocked_by);
        segments.map(move |(segment, blocked_by)| Piece {
            request,
            segment,
            blocked_by: *blocked_by,
        })
    }

    /// Those on the requests' own host.
    pub(crate) fn pieces_here(&self) -> impl Iterator<Item = Piece> {
        self.pieces()
            .filter(|piece| piece.segment.host == self.host)
    }

    pub(crate) fn key(&self, request: RequestId) -> SpanKey {
        self.requests.get(request).key
    }

    /// A request in words.
    pub(crate) fn named(&self, request: RequestId) -> String {
        let of = self.requests.get(request);
        format!("{} ({})", of.key.span, shown(&of.name(Some(self.lines))))
    }

    /// A thread of the requests' own host.
    pub(crate) fn own(&self, thread: ThreadId) -> ThreadOfHost {
        ThreadOfHost {
            host: self.host,
            thread,
        }
    }

    pub(crate) fn host_name(&self, host: HostId) -> String {
        shown(self.all.hosts().name(host)).into_owned()
    }

    /// A thread in words, for instance `worker-A (315)`; one of another host with that host's name.
    pub(crate) fn thread(&self, of: ThreadOfHost) -> String {
        let lines = self.all.hosts().lines(of.host);
        let name = lines.map(|lines| lines.name(of.thread, lines.range().end));
        let thread = match name {
            Some(name) if !name.is_empty() => format!("{} ({})", shown(&name), of.thread),
            _ => of.thread.to_string(),
        };
        match of.host == self.host {
            true => thread,
            false => format!("{thread} on {}", self.host_name(of.host)),
        }
    }
}

/// At most so many of `all`, the first among them, all at the same distance.
fn evenly<T: Copy>(all: &[T], most: usize) -> impl Iterator<Item = T> {
    all.iter().copied().step_by(all.len().div_ceil(most).max(1))
}

/// Time that a cause takes: in all, by request, and its longest single occasions.
#[derive(Default)]
pub(crate) struct Taken {
    pub(crate) total: Nanoseconds,
    by_request: BTreeMap<RequestId, Nanoseconds>,
    range: Option<TimeRange>,
    /// By whom or what.
    parts: BTreeMap<String, Nanoseconds>,
    longest: Vec<Occasion>,
}

/// A single time, in which thread, where that is known, and of which request.
type Occasion = (TimeRange, Option<ThreadOfHost>, RequestId);

impl Taken {
    pub(crate) fn add(
        &mut self,
        request: RequestId,
        thread: impl Into<Option<ThreadOfHost>>,
        range: TimeRange,
    ) {
        let length = range.length();
        self.total += length;
        *self.by_request.entry(request).or_default() += length;
        self.range = Some(self.range.map_or(range, |all| all.hull(range)));
        self.longest.push((range, thread.into(), request));
        if self.longest.len() > 16 * MOST_EVIDENCE {
            self.keep_longest();
        }
    }

    /// Says who or what took `length` of it.
    pub(crate) fn blame(&mut self, part: String, length: Nanoseconds) {
        *self.parts.entry(part).or_default() += length;
    }

    /// Who or what took most of it, in words.
    pub(crate) fn blamed(&self) -> String {
        listed(&self.parts, 4)
    }

    /// How many are blamed.
    pub(crate) fn blamed_count(&self) -> usize {
        self.parts.len()
    }

    /// Who or what took most of it, if anybody is blamed.
    pub(crate) fn most_blamed(&self) -> Option<(&str, Nanoseconds)> {
        let (name, length) = self.parts.iter().max_by_key(|(_, length)| **length)?;
        Some((name, *length))
    }

    fn keep_longest(&mut self) {
        let rank = |(range, thread, request): &Occasion| {
            (
                std::cmp::Reverse(range.length()),
                range.begin,
                *thread,
                *request,
            )
        };
        self.longest.sort_by_key(rank);
        self.longest.truncate(MOST_EVIDENCE);
    }

    pub(crate) fn slow_requests(&self) -> String {
        counted(self.by_request.len(), "slow request", "slow requests")
    }

    /// The longest single occasions.
    fn occasions(&mut self) -> &[Occasion] {
        self.keep_longest();
        &self.longest
    }

    /// The share of the slow requests' time, if it is worth telling.
    pub(crate) fn share(&self, slow: &Slow<'_>) -> Option<f64> {
        let share = self.total.get() as f64 / slow.total.get().max(1) as f64;
        let each = self.total.get() / self.by_request.len().max(1) as u64;
        (share >= LEAST_SHARE && each >= LEAST_EACH.get()).then_some(share)
    }

    /// The longest occasions as evidence: `{thread}: {what} {length} in request {request}`.
    pub(crate) fn evidence(&mut self, slow: &Slow<'_>, what: &str) -> Vec<Evidence> {
        let evidence = |&(range, thread, request): &Occasion| {
            let who = thread.map_or(String::new(), |thread| format!("{}: ", slow.thread(thread)));
            let (length, request_name) = (range.length(), slow.named(request));
            let of_host = thread.filter(|thread| thread.host == slow.host);
            Evidence {
                range: Some(range),
                thread: of_host.map(|thread| thread.thread),
                request: Some(slow.key(request)),
                ..Evidence::text(format!("{who}{what} {length} in request {request_name}"))
            }
        };
        self.occasions().iter().map(evidence).collect()
    }

    /// The same, and who or what took it: `by` thread, for instance.
    pub(crate) fn evidence_by(&mut self, slow: &Slow<'_>, what: &str, by: &str) -> Vec<Evidence> {
        let parts = listed(&self.parts, 6);
        let mut evidence = self.evidence(slow, what);
        evidence.push(Evidence::text(format!("by {by}: {parts}")));
        evidence
    }

    /// A finding about it, if it is worth telling.
    pub(crate) fn finding(
        &self,
        slow: &Slow<'_>,
        id: FindingId,
        title: String,
        explanation: String,
        evidence: Vec<Evidence>,
        advice: &str,
    ) -> Option<Finding> {
        let share = self.share(slow)?;
        Some(Finding {
            id,
            severity: Severity::of(share),
            title,
            explanation,
            evidence,
            advice: advice.to_owned(),
            range: self.range?,
            share,
        })
    }
}

/// How many percent `part` is of `whole`.
pub(crate) fn percent(part: Nanoseconds, whole: Nanoseconds) -> String {
    format!(
        "{:.0} %",
        part.get() as f64 * 100.0 / whole.get().max(1) as f64
    )
}

/// The states in which a thread could run, had it a processor.
pub(crate) fn wants_cpu(state: State) -> bool {
    matches!(state, State::Preempted | State::WaitCpu)
}

/// The longest entries first, as words: `a 3 ms, b 2 ms`.
pub(crate) fn listed(sums: &BTreeMap<String, Nanoseconds>, most: usize) -> String {
    let mut all: Vec<(&String, &Nanoseconds)> = sums.iter().collect();
    all.sort_by_key(|(name, length)| (std::cmp::Reverse(**length), *name));
    let words = all.iter().take(most);
    let words: Vec<String> = words
        .map(|(name, length)| format!("{name} {length}"))
        .collect();
    words.join(", ")
}

#[cfg(test)]
mod tests {
    use slowpath_drawn::DrawnTrace;

    use super::*;

    #[test]
    fn all_is_recorded_from_when_the_last_processor_is() {
        let ticks = |cpu: u32, begin: u32| -> String {
            let tick = |at: u32| {
                format!(
                    "cpu{cpu} {at} sched_switch prev_comm=t prev_tid={cpu}7 prev_state=0 next_comm=t next_tid={cpu}7\n"
                )
            };
            (begin..100).step_by(10).map(tick).collect()
        };
        let recorded = |late: &str| {
            let drawing = format!("{}{late}", ticks(0, 0));
            let trace = DrawnTrace::parse(&drawing).expect("the drawing can be read");
            let lines = Timelines::build(&trace, &Default::default()).unwrap();
            let found = recorded_everywhere(&lines.state.unwrap());
            (found.begin.ns(), found.end.ns())
        };
        assert_eq!(recorded(&ticks(1, 0)), (0, 90));
        let late = format!("-- lost-packets 1 cpu1\n{}", ticks(1, 50));
        assert_eq!(recorded(&late), (50, 90));
        let early: String = ticks(1, 0).split_inclusive('\n').take(3).collect();
        let cut_off = format!("{early}-- cut-off 40 cpu1\n");
        assert_eq!(recorded(&cut_off), (0, 20));
    }

    #[test]
    fn few_are_all_taken_and_of_many_some_from_everywhere() {
        let taken = |count: u32, most| evenly(&(0..count).collect::<Vec<_>>(), most).collect();
        let expected: [(u32, Vec<u32>); 4] = [
            (0, vec![]),
            (3, vec![0, 1, 2]),
            (4, vec![0, 2]),
            (8, vec![0, 3, 6]),
        ];
        for (count, numbers) in expected {
            let found: Vec<u32> = taken(count, 3);
            assert_eq!(found, numbers, "of {count}");
        }
    }
}
