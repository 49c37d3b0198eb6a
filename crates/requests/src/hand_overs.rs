//! A request that goes from thread to thread while another thread waits for it.
//!
//! The path of a wait goes into the thread that ended it, and back through what that thread did before. One of a pool did
//! nothing for the request before it was given that: it waited for work, and whoever gave it some meanwhile is no part of
//! the path. So where a thread takes up the request (or a part of it) within the wait, and the thread that woke it for
//! that worked for the request, the path goes on in that one: it had the request before. Where none did, as the thread
//! was busy with other things and found the request in a queue, the one that had served it last by then put it there.

use slowpath_critical_path::{BareLink, LinkKind, Walker};
use slowpath_kernel::timelines::{Doing, Timelines, WakeUp, Waker};
use slowpath_model::{Nanoseconds, ThreadId, TimeRange, Timestamp};

use crate::callees::clipped;
use crate::hosts::{AllHosts, RequestOfHost};
use crate::path::{Step, Walked};
use crate::request::{RequestId, Serving};
use crate::requests::Requests;

/// Who is woken for a request takes it out of a queue before it tells that it works for it; who runs for longer
/// did other things.
const TAKING_UP: Nanoseconds = Nanoseconds(1_000_000);
/// Who gives up what all share (Python's interpreter lock) may have said before that it works for the request no more.
const LEFT_BEFORE: Nanoseconds = Nanoseconds(1_000_000);

impl<'run> AllHosts<'run> {
    /// Looks through what a walk told of a request, which is last in `whole`, for threads that were given the request.
    pub(crate) fn follow_hand_overs(
        &self,
        of: RequestOfHost,
        lines: &'run Timelines,
        walker: &mut Walker<'_, 'run>,
        whole: &mut Walked<'run>,
        first: usize,
    ) {
        let work = Work {
            requests: self.requests(of.host),
            lines,
            of: of.request,
        };
        let mut waits: Vec<Wait> = Vec::new();
        let mut place = first;
        while let Some(step) = whole.steps.get(place) {
            let piece = step.piece;
            let is_over =
                |wait: &mut Wait| wait.depth > piece.depth || piece.range.end <= wait.since;
            while waits.pop_if(is_over).is_some() {}
            if piece.depth > 0 && waits.last().is_none_or(|wait| wait.depth < piece.depth) {
                let meanwhile = during(piece.depth, &whole.steps[place..]);
                waits.push(Wait {
                    depth: piece.depth,
                    since: whole.steps[place + meanwhile - 1].piece.range.begin,
                    is_followed: false,
                });
            }
            if piece.host == of.host
                && let Some(wait) = waits.last_mut().filter(|wait| !wait.is_followed)
                && let Some(begun) = work.begun(piece.thread, piece.range)
                && let Some(last) = work.given(piece.thread, begun, wait.since)
            {
                wait.is_followed = true;
                let meanwhile = during(piece.depth, &whole.steps[place..]);
                let before = whole.steps.split_off(place + meanwhile);
                work.go_on(last, of, wait, walker, whole);
                whole.steps.extend(before);
                whole.is_handed_over = true;
            }
            place += 1;
        }
    }
}

/// A wait that the path is in, the last first: on top of so many threads, and since when.
struct Wait {
    depth: u32,
    since: Timestamp,
    /// The path was led through all threads that had the request.
    is_followed: bool,
}

/// How many of the steps are in the wait that the first one is in.
fn during(depth: u32, steps: &[Step<'_>]) -> usize {
    let steps = steps.iter();
    steps.take_while(|step| depth <= step.piece.depth).count()
}

/// A thread had the request until another one got it.
#[derive(Clone, Copy)]
struct HandOver<'lines> {
    at: Timestamp,
    from: ThreadId,
    to: ThreadId,
    by: Way<'lines>,
}

#[derive(Clone, Copy)]
enum Way<'lines> {
    /// It woke the other one, which waited in this system call.
    WakeUp(Option<&'lines str>),
    Queue,
}

/// Who works for a request and its parts when.
struct Work<'run> {
    requests: &'run Requests,
    lines: &'run Timelines,
    of: RequestId,
}

impl<'run> Work<'run> {
    fn is_its(&self, request: RequestId) -> bool {
        let of = self.requests.get(self.of);
        request == self.of || self.requests.get(request).is_part_of(of)
    }

    /// When the thread took up the work that it did last within `range`, if that is the request's, and that was within
    /// `range`, too.
    fn begun(&self, thread: ThreadId, range: TimeRange) -> Option<Timestamp> {
        let pieces = self.requests.active_of(thread);
        let until = pieces.partition_point(|piece| piece.range.begin < range.end);
        let mut begun = None;
        for piece in pieces[..until].iter().rev() {
            let goes_on = begun.is_none_or(|begun| piece.range.end == begun);
            if !goes_on || piece.range.end <= range.begin || !self.is_its(piece.request) {
                break;
            }
            begun = Some(piece.range.begin);
        }
        begun.filter(|begun| *begun >= range.begin)
    }

    /// Who had the request before the thread that takes it up at `begin`, and not only before `since`.
    fn given(&self, to: ThreadId, begin: Timestamp, since: Timestamp) -> Option<HandOver<'run>> {
        let pieces = self.requests.active_of(to);
        let earlier = pieces.partition_point(|piece| piece.range.end <= begin);
        let worked = pieces[..earlier].last();
        let worked = worked.filter(|piece| piece.range.end > since);
        if worked.is_some_and(|piece| self.is_its(piece.request)) {
            return None;
        }
        let idle = worked.map_or(since, |piece| piece.range.end);
        let woken = self.woken(to, begin, idle);
        woken.or_else(|| self.queued(to, begin, since))
    }

    /// Who woke the thread that takes up the request at `begin` and was idle before, if that one worked for it.
    fn woken(&self, to: ThreadId, begin: Timestamp, idle: Timestamp) -> Option<HandOver<'run>> {
        let mut ran = Nanoseconds::ZERO;
        let mut at = begin;
        while at > idle && ran <= TAKING_UP {
            let stretch = self.lines.stretch_before(to, at);
            let range = TimeRange::new(stretch.range.begin.max(idle), at);
            match stretch.doing {
                Doing::Blocked {
                    wake: Some(wake),
                    call,
                    ..
                } => {
                    if let Some((at, from)) = self.worker(wake).filter(|(at, _)| *at > idle) {
                        let by = Way::WakeUp(call);
                        return Some(HandOver { at, from, to, by });
                    }
                }
                Doing::Running { .. } => ran += range.length(),
                Doing::Preempted | Doing::WaitingForCpu => {}
                _ => return None,
            }
            at = range.begin;
        }
        None
    }

    /// Who served the request last before another thread of its process took it up at `begin`: it lay in a queue meanwhile.
    fn queued(&self, to: ThreadId, begin: Timestamp, since: Timestamp) -> Option<HandOver<'run>> {
        let process = |thread| self.lines.process(thread, begin);
        let waits = |serving: &Serving| {
            let at = serving.range.end.min(begin);
            let stretch = self.lines.stretch_before(serving.thread, at);
            matches!(stretch.doing, Doing::Blocked { .. }) && stretch.range.begin <= since
        };
        let is_before = |serving: &&Serving| {
            let TimeRange { begin: first, end } = serving.range;
            let ends = end > since && end <= begin + LEFT_BEFORE;
            first < begin && ends && serving.thread != to && !waits(serving)
        };
        let servings = self.requests.get(self.of).servings.iter();
        let last = (servings.filter(is_before)).max_by_key(|serving| serving.range.end)?;
        let is_one_process = process(to).is_some() && process(to) == process(last.thread);
        is_one_process.then_some(HandOver {
            at: last.range.end.min(begin),
            from: last.thread,
            to,
            by: Way::Queue,
        })
    }

    /// Who woke somebody and when, if that is a thread which worked for the request last.
    fn worker(&self, wake: WakeUp) -> Option<(Timestamp, ThreadId)> {
        let Waker::Thread(thread) = wake.by else {
            return None;
        };
        let at = wake.begin;
        let before = Timestamp::from_ns(at.ns().saturating_sub(LEFT_BEFORE.get() as i64));
        let before = TimeRange::new(before, at);
        let worked = self.requests.last_active(thread, before)?;
        self.is_its(worked).then_some((at, thread))
    }

    /// Leads the path through all threads that had the request before `last`, back to when the wait began, in the place of
    /// what it told of that time.
    fn go_on(
        &self,
        last: HandOver<'run>,
        of: RequestOfHost,
        wait: &Wait,
        walker: &mut Walker<'_, 'run>,
        whole: &mut Walked<'run>,
    ) {
        let Wait { depth, since, .. } = *wait;
        let mut entered = None;
        while let Some(step) = whole.steps.pop_if(|step| step.piece.range.begin < last.at) {
            if step.piece.depth == depth {
                entered = entered.or(Some(step.piece.thread));
            }
            let after = TimeRange::new(last.at, step.piece.range.end);
            if let Some(piece) = clipped(&step.piece, after) {
                whole.steps.push(Step { piece, ..step });
            }
        }
        let later = whole.links.partition_point(|link| link.at >= last.at);
        let mut links = whole.links.split_off(later);
        let is_entry = |link: &BareLink<'_>| link.at == since && Some(link.to) == entered;
        let first = links.iter().position(is_entry);
        let first = first.unwrap_or_else(|| links.partition_point(|link| link.at >= since));
        links.drain(..first);
        let hosts = [of.host; 2];
        let mut given = Some(last);
        while let Some(HandOver { at, from, to, by }) = given {
            let mut told = whole.links.iter().rev().take_while(|link| link.at == at);
            if let Way::WakeUp(call) = by
                && !told.any(|link| (link.from, link.to) == (from, to))
            {
                whole.links.push(BareLink {
                    at,
                    hosts,
                    from,
                    to,
                    kind: LinkKind::WakeUp,
                    call,
                });
            }
            let begun = self.begun(from, TimeRange::new(since, at));
            given = begun.and_then(|begun| self.given(from, begun, since));
            let begin = given.map_or(since, |given| given.at);
            let first = whole.steps.len();
            let range = TimeRange::new(begin, at);
            walker.walk(of.host, from, range, &mut whole.leg(of, false));
            for step in &mut whole.steps[first..] {
                step.piece.depth += depth;
            }
            if given.is_none()
                && let Some(entry) = links.first_mut().filter(|link| is_entry(link))
            {
                entry.to = from;
            }
        }
        whole.links.extend(links);
    }
}
