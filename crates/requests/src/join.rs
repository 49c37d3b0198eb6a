//! Spans' own events and the spans of a tracing system's files, put together.
//!
//! The file knows names, parents and attributes, to the microsecond and by a wall clock that may be
//! off; the events know when and in which thread. A span without events is given a thread only where
//! no other can have been it, and says so. Nothing that was told is changed: both times are kept.

use std::cmp::Reverse;
use std::collections::BTreeSet;

use rustc_hash::{FxHashMap, FxHashSet};
use slowpath_kernel::timelines::Timelines;
use slowpath_model::{
    CpuId, Diagnostic, DiagnosticCode, Place, ProcessId, ThreadId, TimeRange, Timestamp, counted,
};
use slowpath_read_spans::{Attribute, AttributeValue, Span};

use crate::assign::spans_alone;
use crate::copies::{Repeated, one_of_each, told_once};
use crate::events::{SpanEvent, SpanEventKind};
use crate::late::Late;
use crate::request::{PlacedBy, Request, SpanKey, Told};
use crate::requests::Requests;
use crate::threads;
use crate::trees::{Tree, Trees};
use crate::unheard::unheard_of;
use crate::unseen::{Moving, Sign};

/// What is known of one host before its requests are made of it.
#[derive(Debug)]
pub struct HostEvents<'lines> {
    /// Its name, as spans say it; empty where unknown.
    pub name: String,
    /// What it is called in messages: its name, with more where several hosts have that name.
    pub shown_name: String,
    /// As [`span_events`](crate::span_events) gave them.
    pub events: Vec<SpanEvent>,
    /// Its time lines, where its kernel was traced.
    pub lines: Option<&'lines Timelines>,
}

/// Clocks that differ by less are not worth a word: files are written in microseconds, and the events
/// are told a little before or after the span takes its own times.
const WORTH_A_WORD_NS: i64 = 1_000_000;

/// Whether the file says when the span began, which its events say lasted for `whole`: one of whose times only the
/// end was set is taken to last no time.
fn tells_begin(span: &Span, whole: TimeRange) -> bool {
    let has_length = span.begin < span.end || whole.length().get() < WORTH_A_WORD_NS.unsigned_abs();
    span.has_times() && has_length
}

/// Makes the requests of every host, in the order of `hosts`, of its events and of `spans` of files.
pub fn join(hosts: Vec<HostEvents<'_>>, spans: Vec<Span>) -> (Vec<Requests>, Vec<Diagnostic>) {
    let mut join = Join {
        hosts,
        told: FxHashMap::default(),
        diagnostics: Vec::new(),
    };
    let mut told_again = 0;
    for host in &mut join.hosts {
        told_again += told_once(&mut host.events);
        if let Some(lines) = host.lines {
            threads::resolve(&mut host.events, lines);
        }
    }
    if told_again > 0 {
        let message = counted(told_again, "event of spans is", "events of spans are")
            + " there more than once; each counts once";
        join.diagnose(DiagnosticCode::DuplicateSpan, "", message, told_again);
    }
    let (spans, repeated) = one_of_each(spans);
    join.tell_repeated(&repeated);
    if !spans.is_empty() {
        let Trees {
            places,
            orphans,
            circles,
        } = Trees::of(&spans);
        join.tell_broken(&spans, &orphans, circles);
        let spans: Vec<(Span, Option<Tree>)> = spans.into_iter().zip(places).collect();
        let alone = join.match_events(spans);
        join.place(alone);
    }
    join.finish()
}

/// What a file tells about a request, to be found by its host, span and first event.
struct ToldOf {
    told: Told,
    tree: Option<Tree>,
    by_file_only: bool,
}

struct Join<'lines> {
    hosts: Vec<HostEvents<'lines>>,
    told: FxHashMap<(usize, SpanKey, Timestamp), ToldOf>,
    diagnostics: Vec<Diagnostic>,
}

/// A request that events tell of and that no file's span has been matched with yet.
struct Candidate {
    host: usize,
    first_event: Timestamp,
    /// Where it has both its ends.
    whole: Option<TimeRange>,
}

/// A span of a file, and what events tell of it.
struct Matched {
    candidate: Candidate,
    span: Span,
    tree: Option<Tree>,
}

/// Spans without events, and what the others say about clocks and services.
struct Alone {
    spans: Vec<(Span, Option<Tree>)>,
    /// By host: nanoseconds from the file's clock to the host's.
    offsets: Vec<i64>,
    /// By service: the host of its matched spans; `None` where there are several.
    hosts_of: FxHashMap<std::sync::Arc<str>, Option<usize>>,
}

/// The host of a span without events.
struct OfHost {
    host: usize,
    /// The span names another one: a container, which has thread numbers of its own.
    by_another_name: bool,
}

impl Join<'_> {
    fn tell_repeated(&mut self, repeated: &Repeated) {
        let Repeated {
            copies,
            conflicting,
        } = *repeated;
        if copies > 0 {
            let message = counted(copies, "span is", "spans are") + " there more than once";
            self.diagnose(DiagnosticCode::DuplicateSpan, "", message, copies);
        }
        if conflicting > 0 {
            let message = counted(conflicting, "span has", "spans have")
                + " the id of another one but other contents; left out";
            self.diagnose(DiagnosticCode::ConflictingSpans, "", message, conflicting);
        }
    }

    /// Tells of trees that are not whole; a parent may be known by its events alone.
    fn tell_broken(&mut self, spans: &[Span], orphans: &[usize], circles: u64) {
        if !orphans.is_empty() {
            let events = self.hosts.iter().flat_map(|host| &host.events);
            let known: FxHashSet<SpanKey> = events.map(SpanEvent::key).collect();
            let is_missing = |position: &&usize| {
                let span = &spans[**position];
                let key = |parent| SpanKey {
                    trace: span.trace,
                    span: parent,
                };
                span.parent()
                    .is_some_and(|parent| !known.contains(&key(parent)))
            };
            let missing = orphans.iter().filter(is_missing).count() as u64;
            if missing > 0 {
                let message =
                    counted(missing, "span has", "spans have") + " a parent that is missing";
                self.diagnose(DiagnosticCode::MissingParentSpan, "", message, missing);
            }
        }
        if circles > 0 {
            let message =
                counted(circles, "circle", "circles") + " of spans that are their own ancestors";
            self.diagnose(DiagnosticCode::SpanCycle, "", message, circles);
        }
    }

    /// Tells the requests that have events what the files say about them.
    fn match_events(&mut self, spans: Vec<(Span, Option<Tree>)>) -> Alone {
        let mut candidates: FxHashMap<SpanKey, Vec<Candidate>> = FxHashMap::default();
        for (host, of_host) in self.hosts.iter().enumerate() {
            for request in spans_alone(&of_host.events) {
                let Some(first) = request.start.or(request.end) else {
                    continue;
                };
                let whole = request.start.and(request.end).map(|_| request.window);
                candidates.entry(request.key).or_default().push(Candidate {
                    host,
                    first_event: first.at,
                    whole,
                });
            }
        }
        let mut alone = Vec::new();
        let mut hosts_of: FxHashMap<std::sync::Arc<str>, Option<usize>> = FxHashMap::default();
        let mut offsets = vec![Vec::new(); self.hosts.len()];
        let mut matched = Vec::new();
        for (span, tree) in spans {
            let key = key_of(&span);
            let length = TimeRange::new(span.begin, span.end).length().get();
            // Both sides of a call may have one id; the durations tell which is which.
            let difference = |candidate: &Candidate| {
                let whole = candidate.whole.map(|whole| whole.length().get());
                whole.map_or(u64::MAX, |whole| whole.abs_diff(length))
            };
            let best = candidates.get_mut(&key).and_then(|candidates| {
                let closest = (0..candidates.len()).min_by_key(|&n| difference(&candidates[n]))?;
                Some(candidates.swap_remove(closest))
            });
            let Some(mut candidate) = best else {
                alone.push((span, tree));
                continue;
            };
            let host = candidate.host;
            candidate.whole = candidate.whole.filter(|whole| tells_begin(&span, *whole));
            if let Some(whole) = candidate.whole {
                let offset = whole.begin.ns().saturating_sub(span.begin.ns());
                offsets[host].push(offset);
            }
            let known = hosts_of.entry(span.service.clone());
            let of_service = known.or_insert(Some(host));
            *of_service = of_service.filter(|known| *known == host);
            matched.push(Matched {
                candidate,
                span,
                tree,
            });
        }
        let offsets: Vec<i64> = (offsets.into_iter().enumerate())
            .map(|(host, offsets)| self.clock(host, offsets))
            .collect();
        self.tell_matched(matched, &offsets);
        Alone {
            spans: alone,
            offsets,
            hosts_of,
        }
    }

    /// Tells the requests what their spans say, and puts their events back that are late.
    fn tell_matched(&mut self, matched: Vec<Matched>, offsets: &[i64]) {
        let mut late: Vec<Late> = self.hosts.iter().map(|_| Late::default()).collect();
        for Matched {
            candidate, span, ..
        } in &matched
        {
            let (late, offset) = (&mut late[candidate.host], offsets[candidate.host]);
            if let Some(whole) = candidate.whole {
                let mut note = |kind, told, file: Timestamp| {
                    let file = Timestamp::from_ns(file.ns().saturating_add(offset));
                    late.note((key_of(span), kind, told), file);
                };
                note(SpanEventKind::Start, whole.begin, span.begin);
                note(SpanEventKind::End, whole.end, span.end);
            }
        }
        let put_back: Vec<Late> = (self.hosts.iter_mut().zip(late))
            .map(|(host, late)| match host.lines {
                Some(lines) => late.put_back(&mut host.events, lines),
                None => Late::default(),
            })
            .collect();
        for Matched {
            candidate: Candidate {
                host, first_event, ..
            },
            span,
            tree,
        } in matched
        {
            let start = (key_of(&span), SpanEventKind::Start, first_event);
            self.tell(host, put_back[host].at(start), span, tree, false);
        }
    }

    fn tell(
        &mut self,
        host: usize,
        first_event: Timestamp,
        span: Span,
        tree: Option<Tree>,
        by_file_only: bool,
    ) {
        let key = key_of(&span);
        let told = ToldOf {
            tree,
            by_file_only,
            told: Told {
                parent: span.parent(),
                window: TimeRange::new(span.begin, span.end),
                service: span.service,
                operation: span.operation,
                kind: span.kind,
                has_remote_parent: span.has_remote_parent,
                status: span.status,
                attributes: span.attributes,
            },
        };
        self.told.insert((host, key, first_event), told);
    }

    /// Makes events of the spans that have none, by the clock of their host.
    fn place(&mut self, alone: Alone) {
        let offsets = alone.offsets;
        let hosts = self.hosts.iter();
        let processes: Vec<Processes<'_>> = hosts.map(|host| Processes::of(host.lines)).collect();
        let (mut timeless, mut nowhere, mut by_another_name) = (0, 0, 0);
        // By service: spans of another time, and whether others of it were recorded.
        let mut elsewhen: FxHashMap<std::sync::Arc<str>, (u64, bool)> = FxHashMap::default();
        let mut made: Vec<Vec<(Order, SpanEvent)>> = vec![Vec::new(); self.hosts.len()];
        for (span, tree) in alone.spans {
            if !span.has_times() {
                timeless += 1;
                continue;
            }
            let of_service = alone.hosts_of.get(&span.service).copied().flatten();
            let Some(of_host) = self.host_of(&span, of_service) else {
                nowhere += 1;
                continue;
            };
            let host = of_host.host;
            let at = |at: Timestamp| Timestamp::from_ns(at.ns().saturating_add(offsets[host]));
            let window = TimeRange::new(at(span.begin), at(span.end));
            let lines = self.hosts[host].lines;
            let of_time = elsewhen.entry(span.service.clone()).or_default();
            of_time.1 |= of_service.is_some();
            let is_outside = |lines: &Timelines| {
                let range = lines.range();
                window.end < range.begin || window.begin >= range.end
            };
            if lines.is_some_and(is_outside) {
                of_time.0 += 1;
                continue;
            }
            of_time.1 = true;
            let (mut process, mut thread) = (None, None);
            if of_host.by_another_name {
                by_another_name += u64::from(of_service.is_none());
            } else {
                let told = number(&span, &["process.pid", "pid"]).map(ProcessId);
                process = told.and_then(|told| processes[host].only_process(told, window));
                thread = processes[host].only_thread(&span, told, process, window);
            }
            for (at, kind) in [
                (window.begin, SpanEventKind::Start),
                (window.end, SpanEventKind::End),
            ] {
                let event = SpanEvent::new(at, kind, key_of(&span), None, thread, process);
                made[host].push((order(kind, window), event));
            }
            self.tell(host, window.begin, span, tree, true);
        }
        for (host, mut made) in self.hosts.iter_mut().zip(made) {
            made.sort_by_key(|(order, event)| (event.at, *order));
            let made = made.into_iter().map(|(_, event)| event);
            host.events.extend(made);
            host.events.sort_by_key(|event| event.at);
        }
        self.left_out(timeless, ["has", "have"], "neither times nor events");
        self.left_out(nowhere, ["is", "are"], "of no host that was recorded");
        let count = |recorded: bool| -> u64 {
            let of_kind = elsewhen.values().filter(|(_, others)| *others == recorded);
            of_kind.map(|(count, _)| *count).sum()
        };
        let (strange, late) = (count(false), count(true));
        self.left_out(
            strange,
            ["lies", "lie"],
            "outside of the time of the host's trace",
        );
        if late > 0 {
            // An application that runs already sends what it did before.
            let message = counted(late, "span of files lies", "spans of files lie")
                + " before or after the recording";
            self.diagnose(DiagnosticCode::SpansOfAnotherTime, "", message, late);
        }
        if by_another_name > 0 {
            let spans = counted(
                by_another_name,
                "span of files names",
                "spans of files name",
            );
            let message = spans + " another host than the only one that was recorded";
            let code = DiagnosticCode::UnknownSpanHost;
            self.diagnose(code, "", message, by_another_name);
        }
    }

    fn left_out(&mut self, count: u64, [does, do_so]: [&str; 2], what: &str) {
        if count > 0 {
            let [one, several] = [
                format!("span of files {does}"),
                format!("spans of files {do_so}"),
            ];
            let message = format!("{} {what}", counted(count, &one, &several));
            self.diagnose(DiagnosticCode::UnplacedSpans, "", message, count);
        }
    }

    fn diagnose(&mut self, code: DiagnosticCode, file: &str, message: String, count: u64) {
        let file = match file {
            "" => "spans".to_owned(),
            host => format!("host {host}"),
        };
        let place = Place {
            file,
            ..Place::default()
        };
        self.diagnostics.push(Diagnostic {
            count: Some(count),
            ..Diagnostic::new(code, place, message)
        });
    }

    /// The file's clock against the host's: the median of what the matched spans say.
    fn clock(&mut self, host: usize, mut offsets: Vec<i64>) -> i64 {
        offsets.sort_unstable();
        let Some(&median) = offsets.get(offsets.len() / 2) else {
            return 0;
        };
        if median.unsigned_abs() >= WORTH_A_WORD_NS.unsigned_abs() {
            let seconds = median.unsigned_abs() as f64 / 1e9;
            let direction = if median > 0 { "behind" } else { "ahead of" };
            let (least, most) = (offsets[0], offsets[offsets.len() - 1]);
            let spread = most.saturating_sub(least) as f64 / 1e6;
            let message = format!(
                "the times of its spans in files are {seconds:.6} s {direction} its events \
                 (median of {}, which differ by up to {spread:.3} ms)",
                offsets.len()
            );
            let name = self.hosts[host].shown_name.clone();
            let count = offsets.len() as u64;
            self.diagnose(DiagnosticCode::SpanClockOffset, &name, message, count);
        }
        median
    }

    /// The host that a span without events is of.
    fn host_of(&self, span: &Span, of_service: Option<usize>) -> Option<OfHost> {
        let named: Vec<usize> = match text(span, &["host.name", "hostname"]) {
            Some(name) if self.hosts.iter().any(|host| !host.name.is_empty()) => {
                let hosts = (0..).zip(&self.hosts);
                let named = hosts.filter(|(_, host)| host.name == name);
                named.map(|(position, _)| position).collect()
            }
            _ => {
                let host = of_service.or((self.hosts.len() == 1).then_some(0))?;
                return Some(OfHost {
                    host,
                    by_another_name: false,
                });
            }
        };
        let window = TimeRange::new(span.begin, span.end);
        let was_traced_then = |&&host: &&usize| {
            let lines = self.hosts[host].lines;
            lines.is_some_and(|lines| !lines.range().intersect(window).is_empty())
        };
        let by_name = match named.as_slice() {
            [only] => Some(*only),
            // One name of several hosts: the one that was recorded at that time.
            several => (of_service.filter(|host| several.contains(host)))
                .or_else(|| several.iter().find(was_traced_then).copied()),
        };
        // Containers have host names of their own.
        let by_another_name = by_name.is_none();
        let only = (named.is_empty() && self.hosts.len() == 1).then_some(0);
        Some(OfHost {
            host: by_name.or(of_service).or(only)?,
            by_another_name,
        })
    }

    /// Says of which processors nothing is heard, where requests lack their start or end besides.
    fn tell_unheard(&mut self, host: &str, unheard: &BTreeSet<CpuId>, requests: &[Request]) {
        /// So few may be under way when the recording begins or ends.
        const FEW: usize = 3;
        let all = requests.iter();
        let in_part = all.filter(|one| one.duration().is_none()).count();
        if unheard.is_empty() || in_part <= FEW {
            return;
        }
        let cpus: Vec<String> = unheard.iter().map(CpuId::to_string).collect();
        let message = format!(
            "no event of a span is from processor {}, on which threads ran that tell of spans elsewhere; of {} \
             requests, {in_part} lack their start or end",
            cpus.join(", "),
            requests.len()
        );
        let code = DiagnosticCode::MissingSpanEvents;
        self.diagnose(code, host, message, in_part as u64);
    }

    fn finish(mut self) -> (Vec<Requests>, Vec<Diagnostic>) {
        let mut all = Vec::new();
        let mut moving = Vec::new();
        let (mut without_thread, mut of_traced) = (0, 0);
        let (mut named, mut unnamed) = (0, 0);
        for (number, host) in std::mem::take(&mut self.hosts).into_iter().enumerate() {
            let unheard = (host.lines)
                .map(|lines| unheard_of(&host.events, lines))
                .unwrap_or_default();
            let mut requests = Requests::of(host.events, host.lines);
            self.tell_unheard(&host.shown_name, &unheard, requests.all());
            let unseen = requests.unseen().iter();
            moving.extend(
                unseen.map(|(process, moving)| (host.shown_name.clone(), *process, *moving)),
            );
            for request in requests.all_mut() {
                let first = request.start.or(request.end);
                let told =
                    first.and_then(|first| self.told.remove(&(number, request.key, first.at)));
                let Some(told) = told else {
                    unnamed += u64::from(request.duration().is_some());
                    continue;
                };
                named += 1;
                if told.by_file_only && request.placed_by == PlacedBy::Start {
                    request.placed_by = PlacedBy::OnlyThread;
                }
                request.told = Some(Box::new(told.told));
                request.tree = told.tree;
            }
            requests.find_outer();
            if let Some(lines) = host.lines {
                // Of what began before the recording's end and ended after it, there may be a span before there is an event.
                let is_unplaced = |request: &&Request| {
                    request.first_thread().is_none() && request.window.end <= lines.range().end
                };
                without_thread += requests.all().iter().filter(is_unplaced).count();
                of_traced += requests.all().len();
            }
            all.push(requests);
        }
        if without_thread > 0 {
            let message =
                format!("no thread is known that served {without_thread} of {of_traced} requests");
            let code = DiagnosticCode::NoThreadKnown;
            self.diagnose(code, "", message, without_thread as u64);
        }
        if named > 0 && unnamed > 0 {
            let message = counted(unnamed, "request has", "requests have")
                + &format!(" no name, {named} have: no file has their spans");
            self.diagnose(DiagnosticCode::UnnamedRequests, "", message, unnamed);
        }
        for (host, process, Moving { from, sign }) in moving {
            let (message, count) = match sign {
                Sign::EndElsewhere { moved, all } => (
                    format!(
                        "{moved} of {all} spans of process {process} that last {from} or longer end on another thread \
                         than they begin on, and nothing tells when they move"
                    ),
                    moved,
                ),
                Sign::TakeTurns { crossing, all } => (
                    format!(
                        "{crossing} of {all} spans of process {process} that end on the thread they begin on take turns \
                         there with spans of other traces, and nothing tells when"
                    ),
                    crossing,
                ),
                Sign::LeftElsewhere { moved, all } => (
                    format!(
                        "{moved} of the {all} times that a thread of process {process} took up a span, another one left \
                         it, and nothing tells when it moved"
                    ),
                    moved,
                ),
            };
            let code = DiagnosticCode::SpansMoveUnseen;
            self.diagnose(code, &host, message, count as u64);
        }
        (all, self.diagnostics)
    }
}

/// Of events that are made at one time: ends before starts, inner ends and outer starts first.
type Order = (u8, Reverse<i64>);

fn order(kind: SpanEventKind, window: TimeRange) -> Order {
    match kind {
        SpanEventKind::End if window.is_empty() => (2, Reverse(0)),
        SpanEventKind::End => (0, Reverse(window.begin.ns())),
        _ => (1, Reverse(window.end.ns())),
    }
}

/// `init`, `systemd`, or in a container the service itself.
const FIRST_PROCESS: ProcessId = ProcessId(1);

/// The threads of a host by process, and when they lived.
struct Processes<'lines> {
    lines: Option<&'lines Timelines>,
    threads: FxHashMap<ProcessId, Vec<(ThreadId, TimeRange)>>,
}

impl<'lines> Processes<'lines> {
    fn of(lines: Option<&'lines Timelines>) -> Self {
        let mut threads: FxHashMap<ProcessId, Vec<_>> = FxHashMap::default();
        for (lines, &thread) in lines
            .iter()
            .flat_map(|lines| lines.threads().iter().map(move |thread| (lines, thread)))
        {
            let process = lines.process(thread, lines.range().end);
            let process = process.unwrap_or(ProcessId(thread.0));
            let life = lines.life(thread);
            threads.entry(process).or_default().push((thread, life));
        }
        Self { lines, threads }
    }

    /// The process that a span names: the host's of that number, or one that has it in a container; none where several
    /// of them lived then. Names do not decide: a program may be called otherwise than the span says.
    fn only_process(&self, told: ProcessId, window: TimeRange) -> Option<ProcessId> {
        let Some(lines) = self.lines else {
            return Some(told);
        };
        let inside = lines.numbered_inside(told);
        if inside.is_empty() {
            return Some(told);
        }
        let serves = |process: &ProcessId| {
            let threads = self.threads.get(process).into_iter().flatten();
            let lived = |life: &TimeRange| !life.intersect(window).is_empty();
            threads
                .into_iter()
                .any(|(thread, life)| lived(life) && !lines.is_of_kernel(*thread))
        };
        // The first process of the host serves nobody; that of a container does.
        let outside = [told]
            .into_iter()
            .filter(|process| *process != FIRST_PROCESS);
        let mut serving = outside.chain(inside.iter().copied()).filter(serves);
        let only = serving.next()?;
        serving.next().is_none().then_some(only)
    }

    /// The thread that a span's attributes leave no doubt about: the only one of its process that
    /// lived at that time and has the name that the span says. Where several have, the span's thread
    /// number decides; alone it does not count, as some languages number threads themselves. The kernel's own
    /// threads serve no spans: who names one has numbers of its own, as in a container; of a process that is `told` by
    /// such a number a thread is, too.
    fn only_thread(
        &self,
        span: &Span,
        told: Option<ProcessId>,
        process: Option<ProcessId>,
        window: TimeRange,
    ) -> Option<ThreadId> {
        let lines = self.lines?;
        let name = text(span, &["thread.name"]).map(as_kernel_keeps);
        let fits = |(thread, life): &&(ThreadId, TimeRange)| {
            let named = |name: &String| *name == lines.name(*thread, window.end);
            !life.intersect(window).is_empty() && name.as_ref().is_none_or(named)
        };
        let of_process = self.threads.get(&process?)?;
        let mut threads = of_process.iter().map(|(thread, _)| *thread);
        if threads.all(|thread| lines.is_of_kernel(thread)) {
            return None;
        }
        let fitting = of_process.iter().filter(fits).map(|(thread, _)| *thread);
        match fitting.collect::<Vec<_>>().as_slice() {
            [only] => Some(*only),
            several => {
                let tid = number(span, &["thread.id"]).map(ThreadId)?;
                let inside = lines.threads_numbered_inside(told?, tid);
                let mut inside = inside.iter().copied().filter(|tid| several.contains(tid));
                match (inside.next(), inside.next()) {
                    (None, _) if told == process => Some(tid).filter(|tid| several.contains(tid)),
                    (only, None) => only,
                    _ => None,
                }
            }
        }
    }
}

/// A name as the kernel keeps it: 15 bytes.
fn as_kernel_keeps(name: &str) -> String {
    let bytes = &name.as_bytes()[..name.len().min(15)];
    String::from_utf8_lossy(bytes).into_owned()
}

fn attribute<'span>(span: &'span Span, keys: &[&str]) -> Option<&'span Attribute> {
    let mut found = keys.iter().filter_map(|key| {
        let mut attributes = span.attributes.iter();
        attributes.find(|attribute| &*attribute.key == *key)
    });
    found.next()
}

fn text<'span>(span: &'span Span, keys: &[&str]) -> Option<&'span str> {
    match &attribute(span, keys)?.value {
        AttributeValue::Text(text) => Some(text),
        _ => None,
    }
}

fn number(span: &Span, keys: &[&str]) -> Option<i32> {
    match &attribute(span, keys)?.value {
        AttributeValue::Integer(number) => i32::try_from(*number).ok(),
        AttributeValue::Float(number) if number.fract() == 0.0 => Some(*number as i32),
        AttributeValue::Text(text) => text.parse().ok(),
        _ => None,
    }
}

pub(crate) fn key_of(span: &Span) -> SpanKey {
    SpanKey {
        trace: span.trace,
        span: span.span,
    }
}
