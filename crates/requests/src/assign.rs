//! From span events to requests: which thread served which span when, and which one was active.
//!
//! Algorithm 1 of Gelle, Ezzati-Jivan & Dagenais (2021), with the branches of start and end as the
//! text has them, not the listing. A thread's spans lie on a stack, the topmost is the active one.
//! Where threads tell when spans are attached to them, that is what fills the stack, and a
//! request may go from thread to thread; elsewhere (`tellers.rs`) the thread that starts a span serves it to its
//! end, whichever thread ends it. Where that cannot be (`unseen.rs`), it is a guess, and nobody is said to be active: a
//! thread that takes up another request holds up nobody then.

use std::collections::BTreeMap;
use std::collections::hash_map::Entry;

use rustc_hash::FxHashMap;
use slowpath_model::{ProcessId, ThreadId, TimeRange, Timestamp};

use crate::events::{SpanEvent, SpanEventKind, SpanEvents};
use crate::request::{Bound, PlacedBy, Request, RequestId, Serving, Shown, SpanKey};
use crate::tellers::Tellers;
use crate::unseen::{Moving, may_move, moving_unseen};

/// A thread serves one request before all others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Active {
    pub(crate) thread: ThreadId,
    pub(crate) range: TimeRange,
    pub(crate) request: RequestId,
}

/// What spans did to the threads of a host.
#[derive(Debug, Default)]
pub(crate) struct Assigned {
    /// In the order of their begin, then of their keys.
    pub(crate) requests: Vec<Request>,
    /// In the order of thread and time, apart.
    pub(crate) active: Vec<Active>,
    /// The processes whose requests may move unseen.
    pub(crate) unseen: BTreeMap<ProcessId, Moving>,
}

/// A request goes onto the stack of a thread, or off it.
#[derive(Clone, Copy)]
struct Step {
    thread: ThreadId,
    at: Timestamp,
    change: Change,
    request: RequestId,
    /// Its place among all, in the order in which they were told.
    number: u32,
    /// Whether it only follows from the span's start or end, and counts where nobody attached the span.
    is_guess: bool,
}

#[derive(Clone, Copy, PartialEq)]
enum Change {
    On,
    Off,
    /// Off, wherever it lies and however often; nothing where it is not on the stack.
    Ended,
}

/// Assigns the threads of a host to its requests. `events` are in the order of time and have their
/// threads; `trace` is the time that the traces of the host cover.
pub(crate) fn assign(events: Vec<SpanEvent>, trace: TimeRange) -> Assigned {
    let events: SpanEvents = events.into_iter().collect();
    let (mut requests, of_events) = spans(events.iter(), trace);
    let tellers = Tellers::of(events.iter());
    let mut steps = steps(&events, &of_events, &tellers, &mut requests);
    // These are many, and what follows is as large.
    drop((events, of_events));
    steps.sort_unstable_by_key(|step| (step.thread, step.number));
    let mut stacks = Stacks {
        trace,
        requests: &mut requests,
        active: Vec::new(),
    };
    for of_thread in steps.chunk_by(|step, other| step.thread == other.thread) {
        stacks.thread(of_thread);
    }
    let mut active = stacks.active;
    for request in &mut requests {
        let servings = &mut request.servings;
        servings.sort_by_key(|serving| (serving.range.begin, serving.thread));
    }
    let unseen = moving_unseen(&requests, tellers.left_elsewhere);
    active.retain(|piece| {
        let request = &requests[piece.request.index()];
        !may_move(request, &unseen)
    });
    let (requests, active) = ordered(requests, active);
    Assigned {
        requests,
        active,
        unseen,
    }
}

/// The requests by start and end alone, without threads that serve them.
pub(crate) fn spans_alone(events: &[SpanEvent]) -> Vec<Request> {
    let bounds = events.first().zip(events.last());
    let trace = bounds.map(|(first, last)| TimeRange::new(first.at, last.at));
    trace.map_or(Vec::new(), |trace| spans(events.iter().copied(), trace).0)
}

/// The requests by start and end alone, in the order of their first events; and by event, the
/// request that it starts or ends.
fn spans(
    events: impl Iterator<Item = SpanEvent>,
    trace: TimeRange,
) -> (Vec<Request>, Vec<Option<RequestId>>) {
    let mut requests: Vec<Request> = Vec::new();
    let mut of_events = Vec::new();
    let mut open: FxHashMap<SpanKey, Vec<RequestId>> = FxHashMap::default();
    let next = |requests: &Vec<Request>| RequestId(requests.len() as u32);
    for event in events {
        let key = event.key();
        let mut of_event = None;
        let bound = Bound {
            at: event.at,
            thread: event.thread(),
        };
        match event.kind {
            SpanEventKind::Start => {
                let id = next(&requests);
                open.entry(key).or_default().push(id);
                of_event = Some(id);
                requests.push(Request {
                    window: TimeRange::new(event.at, trace.end),
                    shown: Shown::NoEnd,
                    start: Some(bound),
                    ..bare(key, &event)
                });
            }
            SpanEventKind::End => match take_open(&mut open, &requests, &event) {
                Some(id) => {
                    let request = &mut requests[id.index()];
                    request.window = TimeRange::new(request.window.begin, event.at);
                    request.shown = Shown::Whole;
                    request.end = Some(bound);
                    of_event = Some(id);
                }
                None => {
                    of_event = Some(next(&requests));
                    requests.push(Request {
                        window: TimeRange::new(trace.begin.min(event.at), event.at),
                        shown: Shown::NoStart,
                        end: Some(bound),
                        ..bare(key, &event)
                    });
                }
            },
            SpanEventKind::Attach | SpanEventKind::Detach => {}
        }
        of_events.push(of_event);
    }
    (requests, of_events)
}

fn bare(key: SpanKey, event: &SpanEvent) -> Request {
    Request {
        key,
        window: TimeRange::new(event.at, event.at),
        shown: Shown::Whole,
        placed_by: PlacedBy::Nothing,
        process: event.process(),
        start: None,
        end: None,
        servings: Vec::new(),
        told: None,
        tree: None,
    }
}

/// How many open spans of one id are told apart.
const MOST_ALIKE: usize = 8;

/// The started span that an end is of. Both sides of a call may have one id: then the one of the
/// same thread, else of the same process, else the latest.
fn take_open(
    open: &mut FxHashMap<SpanKey, Vec<RequestId>>,
    requests: &[Request],
    end: &SpanEvent,
) -> Option<RequestId> {
    let candidates = open.get_mut(&end.key())?;
    let fits = |&id: &RequestId| {
        let request = &requests[id.index()];
        let same_thread = request.start.and_then(|start| start.thread) == end.thread();
        (request.process == end.process(), same_thread)
    };
    let latest = candidates.len().saturating_sub(MOST_ALIKE)..candidates.len();
    let place = latest.max_by_key(|&place| (fits(&candidates[place]), place))?;
    let id = candidates.remove(place);
    if candidates.is_empty() {
        open.remove(&end.key());
    }
    Some(id)
}

/// What happens to the threads' stacks, in the order in which it was told. Notes how each request is
/// placed.
///
/// An attached span that its process neither starts nor ends is somebody else's, of which only the
/// context came here: it is no request of its own.
fn steps(
    events: &SpanEvents,
    of_events: &[Option<RequestId>],
    tellers: &Tellers,
    requests: &mut [Request],
) -> Vec<Step> {
    // What is open, as far as somebody may be attached to it, and by request the threads that it was attached to.
    let mut open: FxHashMap<(SpanKey, Option<ProcessId>), Vec<RequestId>> = FxHashMap::default();
    let mut attached: FxHashMap<RequestId, Vec<ThreadId>> = FxHashMap::default();
    let are_attached = !tellers.are_none();
    for (id, request) in (0..).map(RequestId).zip(requests.iter()) {
        if request.start.is_none() && are_attached {
            let place = open.entry((request.key, request.process)).or_default();
            place.push(id);
        }
    }
    let mut steps: Vec<Step> = Vec::new();
    for (event, of_event) in events.iter().zip(of_events) {
        let mut step = |thread: Option<ThreadId>, change, request, is_guess| {
            let number = steps.len() as u32;
            steps.extend(thread.map(|thread| Step {
                thread,
                at: event.at,
                change,
                request,
                number,
                is_guess,
            }));
        };
        match (event.kind, *of_event) {
            (SpanEventKind::Start, Some(id)) => {
                if are_attached {
                    let place = open.entry((event.key(), event.process())).or_default();
                    place.push(id);
                }
                if !tellers.tell_of(&requests[id.index()]) {
                    step(event.thread(), Change::On, id, true);
                }
            }
            (SpanEventKind::End, Some(id)) => {
                let request = &requests[id.index()];
                if let Entry::Occupied(mut place) = open.entry((request.key, request.process)) {
                    place.get_mut().retain(|other| *other != id);
                    if place.get().is_empty() {
                        place.remove();
                    }
                }
                for thread in attached.remove(&id).unwrap_or_default() {
                    step(Some(thread), Change::Ended, id, false);
                }
                if !tellers.tell_of(request) {
                    // One that started before the trace was started by whoever ends it, most likely.
                    let server = request.start.or(request.end);
                    step(server.and_then(|bound| bound.thread), Change::Off, id, true);
                }
            }
            (SpanEventKind::Attach | SpanEventKind::Detach, _)
                if tellers.tells(event.process(), event.thread()) =>
            {
                let place = open.get(&(event.key(), event.process()));
                let Some(&id) = place.and_then(|place| place.last()) else {
                    continue;
                };
                requests[id.index()].placed_by = PlacedBy::Attach;
                if event.kind == SpanEventKind::Detach {
                    step(event.thread(), Change::Off, id, false);
                } else if let Some(thread) = event.thread() {
                    let threads = attached.entry(id).or_default();
                    if !threads.contains(&thread) {
                        threads.push(thread);
                    }
                    step(Some(thread), Change::On, id, false);
                }
            }
            _ => {}
        }
    }
    for request in requests.iter_mut() {
        let bound = request.start.or(request.end);
        let is_known = bound.is_some_and(|bound| bound.thread.is_some());
        request.placed_by = match request.placed_by {
            PlacedBy::Nothing if is_known && tellers.tell_of(request) => PlacedBy::End,
            PlacedBy::Nothing if is_known => PlacedBy::Start,
            known => known,
        };
    }
    // Who started what others took up did not serve it.
    let is_attached = |step: &Step| requests[step.request.index()].placed_by == PlacedBy::Attach;
    steps.retain(|step| !(step.is_guess && is_attached(step)));
    steps
}

/// Replays the threads' stacks.
struct Stacks<'run> {
    trace: TimeRange,
    requests: &'run mut [Request],
    active: Vec<Active>,
}

/// A request on a thread's stack.
struct Place {
    request: RequestId,
    since: Timestamp,
    is_left: bool,
}

impl Place {
    fn new(request: RequestId, since: Timestamp) -> Self {
        Self {
            request,
            since,
            is_left: false,
        }
    }
}

impl Stacks<'_> {
    /// Replays one thread.
    fn thread(&mut self, steps: &[Step]) {
        let Some(first) = steps.first() else {
            return;
        };
        let thread = first.thread;
        let begin = self.trace.begin.min(first.at);
        let mut stack: Vec<Place> = Vec::new();
        // By request: where it lies on the stack, the topmost last.
        let mut places: FxHashMap<RequestId, Vec<usize>> = FxHashMap::default();
        for &request in self.lying_at_begin(steps).iter().rev() {
            places.entry(request).or_default().push(stack.len());
            stack.push(Place::new(request, begin));
        }
        let mut last = begin;
        for step in steps {
            self.was_active(thread, last, step.at, &stack);
            last = step.at;
            if step.change == Change::On {
                places.entry(step.request).or_default().push(stack.len());
                stack.push(Place::new(step.request, step.at));
                continue;
            }
            if let Entry::Occupied(mut own) = places.entry(step.request) {
                let kept = match step.change {
                    Change::Ended => 0,
                    _ => own.get().len().saturating_sub(1),
                };
                for place in own.get_mut().drain(kept..) {
                    stack[place].is_left = true;
                    self.served(thread, step.request, stack[place].since, step.at);
                }
                if kept == 0 {
                    own.remove();
                }
            }
            while stack.last().is_some_and(|top| top.is_left) {
                stack.pop();
            }
        }
        let end = self.trace.end.max(last);
        self.was_active(thread, last, end, &stack);
        for place in stack.iter().filter(|place| !place.is_left) {
            self.served(thread, place.request, place.since, end);
        }
    }

    /// The requests that lie on the stack when the trace begins, the topmost first: those that go
    /// off it without having gone on.
    fn lying_at_begin(&self, steps: &[Step]) -> Vec<RequestId> {
        let mut depths: FxHashMap<RequestId, usize> = FxHashMap::default();
        let mut before = Vec::new();
        for step in steps {
            let depth = depths.entry(step.request).or_default();
            match step.change {
                Change::On => *depth += 1,
                Change::Off if *depth > 0 => *depth -= 1,
                Change::Off if self.requests[step.request.index()].start.is_none() => {
                    before.push(step.request);
                }
                Change::Off => {}
                Change::Ended => *depth = 0,
            }
        }
        before
    }

    fn was_active(&mut self, thread: ThreadId, begin: Timestamp, end: Timestamp, stack: &[Place]) {
        let Some(top) = stack.last().filter(|_| begin < end) else {
            return;
        };
        let request = top.request;
        if let Some(last) = self.active.last_mut()
            && (last.thread, last.request, last.range.end) == (thread, request, begin)
        {
            last.range.end = end;
            return;
        }
        self.active.push(Active {
            thread,
            range: TimeRange::new(begin, end),
            request,
        });
    }

    fn served(&mut self, thread: ThreadId, request: RequestId, begin: Timestamp, end: Timestamp) {
        let servings = &mut self.requests[request.index()].servings;
        // Mostly there is but one.
        servings.reserve_exact(usize::from(servings.is_empty()));
        servings.push(Serving {
            thread,
            range: TimeRange::new(begin, end),
        });
    }
}

/// Puts the requests in the order of their begin, and renumbers.
fn ordered(mut requests: Vec<Request>, mut active: Vec<Active>) -> (Vec<Request>, Vec<Active>) {
    let mut order: Vec<RequestId> = (0..requests.len() as u32).map(RequestId).collect();
    order.sort_unstable_by_key(|&id| {
        let request = &requests[id.index()];
        (request.window.begin, request.key, id)
    });
    let mut renumbered = vec![RequestId(0); order.len()];
    for (&id, number) in order.iter().zip(0..) {
        renumbered[id.index()] = RequestId(number);
    }
    for piece in &mut active {
        piece.request = renumbered[piece.request.index()];
    }
    // In place: each exchange puts one where it belongs.
    for place in 0..requests.len() {
        while renumbered[place].index() != place {
            let other = renumbered[place].index();
            requests.swap(place, other);
            renumbered.swap(place, other);
        }
    }
    active.shrink_to_fit();
    (requests, active)
}
