//! A request's critical path: those of the threads that served it, one after the other.
//!
//! §3.4 of Gelle, Ezzati-Jivan & Dagenais (2021), for requests that go from thread to thread. Walked
//! backwards: within a serving the path is the thread's own; between two, while the request lay in a
//! queue, it is that of the thread that takes it up next. Where a serving thread meanwhile works for
//! another request, that request is what blocks this one, on whichever host, unless it cannot go on yet
//! itself ([`absences`]). Threads that had the request while one of its threads waited are on the path, too
//! (`hand_overs.rs`).

use std::cmp::Reverse;

use slowpath_critical_path::{
    Backwards, BareLink, Cause, CriticalPath, Detail, LOCK_CALLS, LinkKind, Piece, Segments, State,
    Walker, Words,
};
use slowpath_model::{HostId, Nanoseconds, ThreadId, TimeRange, Timestamp};

use crate::absent::{Absence, absences, waits_for_events};
use crate::assign::Active;
use crate::hosts::{AllHosts, RequestOfHost};
use crate::request::{Bound, Request, Serving};

/// Where the time of a request went, in words.
#[derive(Debug, PartialEq)]
pub struct RequestPath {
    /// The path; its segments cover the request's window without a gap or an overlap. `thread` is
    /// the one that served the request last.
    pub path: CriticalPath,
    /// By segment: the other request that its thread works for meanwhile, or, where that one works for none, the thread
    /// that waits for it.
    pub blocked_by: Vec<Option<RequestOfHost>>,
}

impl RequestPath {
    /// How long threads on the path worked for other requests, or waited for their sake, the longest first.
    pub fn blockers(&self) -> Vec<(RequestOfHost, Nanoseconds)> {
        let segments = self.path.segments.iter().zip(&self.blocked_by);
        sums(segments.map(|(segment, other)| (*other, segment.range)))
    }
}

/// The sums of the times of each request, the longest first.
pub(crate) fn sums(
    times: impl Iterator<Item = (Option<RequestOfHost>, TimeRange)>,
) -> Vec<(RequestOfHost, Nanoseconds)> {
    let mut sums: Vec<(RequestOfHost, Nanoseconds)> = Vec::new();
    for (request, range) in times {
        let Some(request) = request else {
            continue;
        };
        match sums.iter_mut().find(|(known, _)| *known == request) {
            Some((_, sum)) => *sum += range.length(),
            None => sums.push((request, range.length())),
        }
    }
    sums.sort_by_key(|(request, length)| (Reverse(*length), *request));
    sums
}

/// The same before names are looked up.
#[derive(Debug, Default)]
pub(crate) struct Parts<'lines> {
    /// In the order of time; they cover the window.
    pub(crate) parts: Vec<Part<'lines>>,
    pub(crate) links: Vec<BareLink<'lines>>,
}

/// A piece of the path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Part<'lines> {
    pub(crate) piece: Piece<'lines>,
    /// The other request that its thread works for meanwhile, or else the one that waits for it.
    pub(crate) blocked_by: Option<RequestOfHost>,
    /// The other request that the thread which serves the request works for meanwhile.
    pub(crate) held_by: Option<RequestOfHost>,
}

impl Part<'_> {
    /// Whether a part only goes on with this one.
    fn goes_on_in(&self, later: &Self) -> bool {
        self.piece.goes_on_in(&later.piece)
            && (self.blocked_by, self.held_by) == (later.blocked_by, later.held_by)
    }
}

/// A part of the window in which one thread's path is the request's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Stage {
    pub(crate) thread: ThreadId,
    pub(crate) range: TimeRange,
}

impl AllHosts<'_> {
    /// Where the time of a request went.
    pub fn path(&self, of: RequestOfHost) -> RequestPath {
        let parts = self.parts(of);
        let window = self.get(of).window;
        let visited = parts.parts.iter().map(|part| part.piece.host);
        let mut words = Words::of(self.hosts(), of.host, window.begin, visited);
        let links = parts.links.iter().map(|link| words.link(link)).collect();
        let mut segments = Segments::default();
        for part in &parts.parts {
            let mut segment = words.segment(&part.piece);
            if let (State::BlockedByRequest, Some(other)) = (segment.state, part.blocked_by) {
                segment.detail = self.described(other).into();
            }
            segments.push(&segment);
        }
        let last = parts.parts.iter().rfind(|part| part.piece.depth == 0);
        RequestPath {
            path: CriticalPath {
                host: of.host,
                thread: last.map_or(ThreadId::IDLE, |part| part.piece.thread),
                window,
                segments,
                links,
                corrections: words.corrections(),
            },
            blocked_by: parts.parts.iter().map(|part| part.blocked_by).collect(),
        }
    }
}

/// A request's path before it is asked for whom its threads work meanwhile: steps and links in the order of time, or both
/// the last first, as whoever tells it says.
#[derive(Debug, Default)]
pub(crate) struct Walked<'lines> {
    /// They cover the window.
    pub(crate) steps: Vec<Step<'lines>>,
    pub(crate) links: Vec<BareLink<'lines>>,
}

impl<'lines> Walked<'lines> {
    pub(crate) fn leg(&mut self, of: RequestOfHost, is_absent: bool) -> Leg<'_, 'lines> {
        Leg {
            first: self.steps.len(),
            whole: self,
            of,
            is_absent,
        }
    }

    /// Whether it is where a later piece is until a time: in the same thread, on top of as many others; of a path in the order of
    /// time, which reaches until then.
    pub(crate) fn is_in(&self, later: &Piece<'_>, until: Timestamp) -> bool {
        let place = (self.steps).partition_point(|step| step.piece.range.end < until);
        let there = self.steps.get(place).map(|step| step.piece);
        let of = |piece: &Piece<'_>| (piece.host, piece.thread, piece.depth);
        there.is_none_or(|piece| of(&piece) == of(later))
    }

    /// The first becomes the last.
    pub(crate) fn reversed(mut self) -> Self {
        self.steps.reverse();
        self.links.reverse();
        self
    }
}

/// A time in which a request's path is that of one walk. What the walks after it told lies in `whole` already.
pub(crate) struct Leg<'whole, 'lines> {
    whole: &'whole mut Walked<'lines>,
    /// Where its own steps begin there.
    first: usize,
    of: RequestOfHost,
    /// The request cannot go on then (`absent.rs`).
    is_absent: bool,
}

impl<'lines> Backwards<'lines> for Leg<'_, 'lines> {
    fn piece(&mut self, piece: Piece<'lines>) {
        if let Some(later) = self.whole.steps[self.first..].last_mut()
            && piece.goes_on_in(&later.piece)
        {
            later.piece.begin_with(&piece);
            return;
        }
        // What its thread does for others until then is not what it waits for.
        let waits = self.is_absent
            && piece.depth == 0
            && (waits_for_events(piece.detail.call) || piece.detail.cause == Cause::SeveralEvents);
        self.whole.steps.push(Step {
            piece,
            holds_up: !waits,
            of: self.of,
            depth: 0,
        });
    }

    fn link(&mut self, link: BareLink<'lines>) {
        self.whole.links.push(link);
    }
}

/// A piece, and whether what its thread does for others meanwhile holds the request up.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Step<'lines> {
    pub(crate) piece: Piece<'lines>,
    pub(crate) holds_up: bool,
    /// Whose path it is of, and on top of how many threads that one lies here.
    pub(crate) of: RequestOfHost,
    pub(crate) depth: u32,
}

impl<'run> AllHosts<'run> {
    /// The same without names.
    pub(crate) fn parts(&self, of: RequestOfHost) -> Parts<'run> {
        let Walked { steps, mut links } = self.with_callees(of);
        links.reverse();
        let mut strangers = Strangers::of(self, of, &links);
        let mut parts = Vec::new();
        for Step {
            piece, holds_up, ..
        } in steps
        {
            strangers.cut(piece, holds_up, &mut parts);
        }
        parts.reverse();
        Parts { parts, links }
    }

    /// As if everything that its threads wait for were done for it; the last first.
    pub(crate) fn walked(&self, of: RequestOfHost) -> Walked<'run> {
        let request = self.get(of);
        let mut whole = Walked::default();
        let stages = stages(request);
        let Some(lines) = self.hosts().lines(of.host).filter(|_| !stages.is_empty()) else {
            whole.steps.extend(nowhere(of, request));
            return whole;
        };
        let mut walker = Walker::new(self.hosts());
        for Stage { thread, range } in stages.into_iter().rev() {
            let mut stage = Walked::default();
            let mut end = range.end;
            let absences = absences(self, lines, of, Stage { thread, range });
            for Absence { range, is_told } in absences.into_iter().rev() {
                let after = TimeRange::new(range.end, end);
                walker.walk(of.host, thread, after, &mut stage.leg(of, false));
                end = range.begin;
                let mut leg = stage.leg(of, true);
                match is_told {
                    true => walker.walk_from_wait(of.host, thread, range, &mut leg),
                    false => Piece::unknown(of.host, thread, range, Cause::SeveralEvents)
                        .into_iter()
                        .for_each(|piece| leg.piece(piece)),
                }
            }
            let rest = TimeRange::new(range.begin, end);
            walker.walk(of.host, thread, rest, &mut stage.leg(of, false));
            let stage = self.follow_hand_overs(of, lines, &mut walker, stage);
            whole.steps.extend(stage.steps);
            whole.links.extend(stage.links);
        }
        whole
    }
}

/// Whom a thread works for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum WorksFor {
    /// No span is active, or none that matters.
    Nobody,
    /// The request, or one that it is a part of or that is a part of it.
    This,
    Other(RequestOfHost),
}

/// A thread that waits for the next one, and whom it works for when it goes on: so it does while it waits.
struct Waiting {
    depth: u32,
    works_for: WorksFor,
    goes_on: Timestamp,
    host: HostId,
    thread: ThreadId,
}

/// Finds out where the threads on a request's path work for requests that are no part of it, nor the
/// other way round. Is told the path backwards.
struct Strangers<'run, 'path> {
    all: &'run AllHosts<'run>,
    of: RequestOfHost,
    host: HostId,
    thread: ThreadId,
    /// What the thread worked for before the end of the time that was asked about last.
    pieces: &'run [Active],
    links: &'path [BareLink<'run>],
    /// Those that wait for each other here.
    waiting: Vec<Waiting>,
}

impl<'run, 'path> Strangers<'run, 'path> {
    fn of(all: &'run AllHosts<'run>, of: RequestOfHost, links: &'path [BareLink<'run>]) -> Self {
        Self {
            all,
            of,
            host: of.host,
            thread: ThreadId::IDLE,
            pieces: &[],
            links,
            waiting: Vec::new(),
        }
    }

    /// The system call in which a thread waits, where the trace tells.
    fn call_of(&self, waiting: &Waiting) -> Option<&'run str> {
        let at = waiting.goes_on;
        let from = self.links.partition_point(|link| link.at < at);
        let mut links = self.links[from..].iter().take_while(|link| link.at == at);
        let its = (waiting.host, waiting.thread);
        links
            .find(|link| (link.hosts[1], link.to) == its && link.kind != LinkKind::Wait)?
            .call
    }

    /// The other request for whose sake it is waited for what the path does now.
    fn waited_for_by(&self) -> Option<RequestOfHost> {
        let mut threads = self.waiting.iter().enumerate().rev();
        let whom = threads.find_map(|(place, above)| match above.works_for {
            WorksFor::Nobody => None,
            WorksFor::This => Some(None),
            WorksFor::Other(other) => self.keeps_waiting(place).then_some(Some(other)),
        });
        whom.flatten()
    }

    /// Whether a thread that waits keeps those above it waiting. In the same call for a lock, or for a token in a pipe, it
    /// may be in the same queue as who waits for it; and what wakes one that waits for whatever comes first need not be
    /// what they need.
    fn keeps_waiting(&self, place: usize) -> bool {
        let queues =
            |call: &str| call == "read" || LOCK_CALLS.iter().any(|(lock, _)| *lock == call);
        let (waiting, above) = match &self.waiting[..=place] {
            [.., above, waiting] => (waiting, above),
            // The one that serves the request does nothing else.
            threads => return threads.iter().all(|thread| thread.depth == 0),
        };
        let call = self.call_of(waiting);
        let is_queue = call.is_some_and(queues) && call == self.call_of(above);
        let is_known = |one: &Waiting| {
            let call = self.call_of(one);
            call.is_some() && !waits_for_events(call)
        };
        let mut others = self.waiting[..=place].iter().filter(|one| one.depth > 0);
        !is_queue && others.all(is_known)
    }

    /// What the piece's thread worked for within the piece, the latest first.
    fn active(
        &mut self,
        piece: &Piece<'_>,
    ) -> impl Iterator<Item = (TimeRange, RequestOfHost)> + use<'run> {
        let (host, range) = (piece.host, piece.recorded);
        if (host, piece.thread) != (self.host, self.thread) {
            let pieces = self.all.requests(host).active_of(piece.thread);
            let until = pieces.partition_point(|piece| piece.range.begin < range.end);
            (self.host, self.thread, self.pieces) = (host, piece.thread, &pieces[..until]);
        }
        while let [rest @ .., last] = self.pieces
            && last.range.begin >= range.end
        {
            self.pieces = rest;
        }
        (self.pieces.iter().rev())
            .take_while(move |active| range.begin < active.range.end)
            .map(move |active| {
                let request = active.request;
                (
                    active.range.intersect(range),
                    RequestOfHost { host, request },
                )
            })
    }

    /// Adds a piece of the path, cut where its thread turns to another request if that holds the request up.
    fn cut<'lines>(&mut self, piece: Piece<'lines>, holds_up: bool, parts: &mut Vec<Part<'lines>>) {
        while self
            .waiting
            .pop_if(|above| above.depth >= piece.depth)
            .is_some()
        {}
        let waited_for_by = self.waited_for_by();
        let serving = match self.waiting.first() {
            Some(first) if first.depth == 0 => match first.works_for {
                WorksFor::Other(other) => Some(other),
                WorksFor::Nobody | WorksFor::This => None,
            },
            _ => None,
        };
        let mut add = |recorded: TimeRange, works_for: WorksFor| {
            let shown = TimeRange::new(piece.shown(recorded.begin), piece.shown(recorded.end));
            let mut piece = Piece {
                range: shown,
                recorded,
                ..piece
            };
            let blocked_by = match works_for {
                WorksFor::Nobody => waited_for_by,
                WorksFor::This => None,
                WorksFor::Other(other) => Some(other),
            };
            let held_by = match piece.depth {
                0 => blocked_by,
                _ => blocked_by.and(serving),
            };
            if held_by.is_some() && piece.depth == 0 {
                piece.state = State::BlockedByRequest;
                piece.detail = Detail::default();
            }
            let part = Part {
                piece,
                blocked_by,
                held_by,
            };
            match parts.last_mut() {
                _ if shown.is_empty() => {}
                Some(later) if part.goes_on_in(later) => later.piece.begin_with(&piece),
                _ => parts.push(part),
            }
        };
        let own = self.all.get(self.of);
        let (all, of) = (self.all, self.of);
        let mut rest = piece.recorded;
        let mut works_for = WorksFor::Nobody;
        for (when, request) in self.active(&piece).filter(|_| holds_up) {
            add(TimeRange::new(when.end, rest.end), WorksFor::Nobody);
            works_for = match request == of || all.get(request).is_kin(own) {
                true => WorksFor::This,
                false => WorksFor::Other(request),
            };
            add(when, works_for);
            rest.end = when.begin;
        }
        if !rest.is_empty() {
            works_for = WorksFor::Nobody;
            add(rest, works_for);
        }
        self.waiting.push(Waiting {
            depth: piece.depth,
            works_for,
            goes_on: piece.range.begin,
            host: piece.host,
            thread: piece.thread,
        });
    }
}

/// A thread that has lost its processor may say so late that it serves a request no more; one that gives up what all
/// share (Python's interpreter lock) may have said so before.
pub(crate) const LEFT_AROUND: Nanoseconds = Nanoseconds(1_000_000);
/// No more than one of so many parts of a request is late.
const LATE: u64 = 50;

/// The parts of a request's window, in the order of time; they cover it. Empty where no thread is
/// known.
pub(crate) fn stages(request: &Request) -> Vec<Stage> {
    let thread_of = |bound: Option<Bound>| bound.and_then(|bound| bound.thread);
    let mut servings: Vec<Serving> = request.servings.clone();
    // Who ends the request and serves it until then has it, though another that served it meanwhile says a little later that
    // it does so no more.
    let ender = thread_of(request.end);
    let ends = request.window.end;
    let late = LEFT_AROUND.min(Nanoseconds(request.window.length().get() / LATE));
    let of_ender = (servings
        .iter()
        .filter(|serving| Some(serving.thread) == ender))
    .map(|serving| serving.range)
    .max_by_key(|range| range.end)
    .filter(|own| ends.since(own.end) <= late);
    let has_it_until = |serving: &Serving| {
        let end = serving.range.end;
        let own =
            of_ender.filter(|own| serving.range.intersect(*own).length() > end.since(own.end));
        own.map_or(end, |own| end.min(own.end))
    };
    servings.sort_by_key(|serving| {
        let is_ender = Some(serving.thread) == ender;
        Reverse((has_it_until(serving), is_ender, serving.range.begin))
    });
    let last = servings.first().map(|serving| serving.thread);
    // The thread that has the request after the time that was reached.
    let next = thread_of(request.end).or(last).or(thread_of(request.start));
    let Some(mut next) = next else {
        return Vec::new();
    };
    let mut stages: Vec<Stage> = Vec::new();
    let mut reached = request.window.end;
    let mut back_to = |begin, thread| {
        if begin < reached {
            match stages.last_mut() {
                Some(later) if later.thread == thread => later.range.begin = begin,
                _ => stages.push(Stage {
                    thread,
                    range: TimeRange::new(begin, reached),
                }),
            }
            reached = begin;
        }
        reached
    };
    for serving in servings {
        let range = serving.range.intersect(request.window);
        if !range.is_empty() && range.begin < back_to(range.end, next) {
            back_to(range.begin, serving.thread);
            next = serving.thread;
        }
    }
    back_to(request.window.begin, next);
    stages.reverse();
    stages
}

/// What there is to say of a request of which no thread is known, or whose host has no kernel trace.
fn nowhere(of: RequestOfHost, request: &Request) -> Option<Step<'static>> {
    let cause = Cause::Words("no kernel events of a thread that served it");
    let thread = request.threads().pop().unwrap_or(ThreadId::IDLE);
    let piece = Piece::unknown(of.host, thread, request.window, cause)?;
    Some(Step {
        piece,
        holds_up: false,
        of,
        depth: 0,
    })
}
