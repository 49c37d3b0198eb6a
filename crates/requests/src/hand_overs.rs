//! A request that goes from thread to thread while another thread waits for it.
//!
//! The path of a wait goes into the thread that ended it, and back through what that thread did before. One of a pool did
//! nothing for the request before it was given that: it waited for work, and whoever gave it some meanwhile is no part of
//! the path. So where a thread takes up the request (or a part of it) within the wait, and was idle until one woke it that
//! worked for the request, the path goes on in that one. What is given to a busy thread lies in its queue, nobody is woken,
//! and nothing tells since when: then the path stays in the thread.

use slowpath_critical_path::{BareLink, LinkKind, Walker};
use slowpath_kernel::timelines::{Doing, Timelines, WakeUp, Waker};
use slowpath_model::{Nanoseconds, ThreadId, TimeRange, Timestamp};

use crate::assign::Active;
use crate::callees::clipped;
use crate::hosts::{AllHosts, RequestOfHost};
use crate::path::{LEFT_AROUND, Step, Walked};
use crate::request::RequestId;
use crate::requests::Requests;

/// Who is woken for a request takes it out of a queue before it tells that it works for it; who runs for longer
/// did other things.
const TAKING_UP: Nanoseconds = Nanoseconds(1_000_000);
/// Who runs for more than one of so many parts of a time is not idle then.
const MOST_RUNNING: u64 = 10;

impl<'run> AllHosts<'run> {
    /// Leads a request's path, as a walk told it backwards, through all threads that were given the request.
    pub(crate) fn follow_hand_overs(
        &self,
        of: RequestOfHost,
        lines: &'run Timelines,
        walker: &mut Walker<'_, 'run>,
        walked: Walked<'run>,
    ) -> Walked<'run> {
        let work = Work {
            requests: self.requests(of.host),
            lines,
            of: of.request,
        };
        let mut path = walked.reversed();
        let mut backwards = Walked::default();
        let mut waits: Vec<Wait> = Vec::new();
        while let Some(step) = path.steps.pop() {
            let piece = step.piece;
            while let Some(link) = path.links.pop_if(|link| link.at >= piece.range.end) {
                backwards.links.push(link);
            }
            let is_over =
                |wait: &mut Wait| wait.depth > piece.depth || piece.range.end <= wait.since;
            while waits.pop_if(is_over).is_some() {}
            if piece.depth > 0 && waits.last().is_none_or(|wait| wait.depth < piece.depth) {
                let before = path.steps.iter().rposition(|step| {
                    let is_its_own =
                        (step.piece.host, step.piece.thread) == (piece.host, piece.thread);
                    step.piece.depth < piece.depth || step.piece.depth == piece.depth && !is_its_own
                });
                let first = path.steps.get(before.map_or(0, |place| place + 1));
                let before = before.and_then(|place| path.steps.get(place));
                waits.push(Wait {
                    depth: piece.depth,
                    waiter: before
                        .filter(|step| step.piece.depth < piece.depth && step.piece.host == of.host)
                        .map(|step| step.piece.thread),
                    since: first.unwrap_or(&step).piece.range.begin,
                    followed_to: Timestamp::MAX,
                });
            }
            let hand_over = (waits.last_mut())
                .filter(|wait| piece.host == of.host && piece.range.end <= wait.followed_to)
                .and_then(|wait| {
                    let begun = work.begun(piece.thread, piece.range, piece.range.begin)?;
                    let given = work.given(piece.thread, begun, wait)?;
                    let is_led_back = given.since == wait.since || path.is_in(&piece, given.since);
                    is_led_back.then_some((given, wait))
                });
            let Some((last, wait)) = hand_over else {
                backwards.steps.push(step);
                continue;
            };
            path.steps.push(step);
            wait.followed_to = work.go_on(last, of, wait, walker, &mut path);
        }
        backwards.links.extend(path.links.into_iter().rev());
        backwards
    }
}

/// A wait that the path is in: on top of so many threads, and since when.
struct Wait {
    depth: u32,
    /// Whose wait it is: that thread gives nobody the request meanwhile, though it may run.
    waiter: Option<ThreadId>,
    since: Timestamp,
    /// The path was led through all threads that had the request, back to this time.
    followed_to: Timestamp,
}

/// A thread had the request until it woke another one, which got it.
#[derive(Clone, Copy)]
struct HandOver<'lines> {
    at: Timestamp,
    from: ThreadId,
    to: ThreadId,
    /// The system call in which `to` waited.
    call: Option<&'lines str>,
    /// Since when `to` did not have it: the wait's begin, or when it had it itself last.
    since: Timestamp,
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

    /// What a thread worked for before a time, the last first.
    fn before(&self, thread: ThreadId, at: Timestamp) -> impl Iterator<Item = &'run Active> {
        let pieces = self.requests.active_of(thread);
        let until = pieces.partition_point(|piece| piece.range.begin < at);
        pieces[..until].iter().rev()
    }

    /// When the thread took the request up first, of the times that it did within `range` without waiting in between: the last
    /// of them, and back from that to `since`.
    fn begun(&self, thread: ThreadId, range: TimeRange, since: Timestamp) -> Option<Timestamp> {
        let mut begun = None;
        let pieces = self.before(thread, range.end);
        for piece in pieces.take_while(|piece| piece.range.begin >= range.begin) {
            if !self.is_its(piece.request) {
                continue;
            }
            let TimeRange { begin, end } = piece.range;
            let goes_on =
                |later| begin >= since && self.runs_on(thread, TimeRange::new(end, later));
            if !begun.is_none_or(goes_on) {
                break;
            }
            begun = Some(begin);
        }
        begun
    }

    /// Whether a thread does not wait for anything but a processor.
    fn runs_on(&self, thread: ThreadId, range: TimeRange) -> bool {
        let mut at = range.end;
        while at > range.begin {
            let stretch = self.lines.stretch_before(thread, at);
            match stretch.doing {
                Doing::Running { .. } | Doing::Preempted | Doing::WaitingForCpu => {}
                _ => return false,
            }
            at = stretch.range.begin;
        }
        true
    }

    /// Who gave the request to the thread that takes it up at `begin`, if that was within the wait.
    fn given(&self, to: ThreadId, begin: Timestamp, wait: &Wait) -> Option<HandOver<'run>> {
        let mut since = wait.since;
        let mut idle = since;
        let mut has_others = false;
        let mut arrived = None;
        for piece in self.before(to, begin) {
            if piece.range.end <= since {
                break;
            }
            idle = idle.max(piece.range.end);
            if self.is_its(piece.request) {
                since = piece.range.end;
                break;
            }
            has_others = true;
            let other = self.requests.get(piece.request);
            // One that the thread began itself may have lain in its queue for long.
            let beginner = other.start.and_then(|start| start.thread);
            if beginner.is_some_and(|beginner| beginner != to) {
                arrived = arrived.max(Some(other.window.begin));
            }
        }
        // Most queues give first what came first: what was given to the thread before would not have waited for a request that
        // came later.
        if has_others && arrived.is_none_or(|arrived| arrived <= since) {
            return None;
        }
        let mut given = None;
        let mut ran = Nanoseconds::ZERO;
        let mut at = begin;
        while at > idle && ran <= TAKING_UP {
            let stretch = self.lines.stretch_before(to, at);
            let range = TimeRange::new(stretch.range.begin.max(idle), at);
            match stretch.doing {
                Doing::Running { .. } => ran += range.length(),
                Doing::Preempted | Doing::WaitingForCpu => {}
                // Nobody gives anything by a signal.
                Doing::Blocked {
                    wake:
                        Some(WakeUp {
                            for_signal: true, ..
                        }),
                    ..
                } => {}
                // Whoever works for the request may only have had a lock, after another one gave the thread the request.
                Doing::Blocked {
                    wake: Some(wake),
                    call,
                    ..
                } => match self.worker(wake).filter(|(at, _)| *at > idle) {
                    // Who waits gives it to nobody meanwhile, but may have a lock, too.
                    Some((_, from)) if wait.waiter == Some(from) => {}
                    Some((at, from)) => {
                        given = Some(HandOver {
                            at,
                            from,
                            to,
                            call,
                            since,
                        });
                    }
                    None => break,
                },
                _ => break,
            }
            at = range.begin;
        }
        given.filter(|given| self.is_idle(to, TimeRange::new(idle, given.at)))
    }

    /// Whether a thread hardly ran, and waited for nothing but that another one woke it in `futex`, as threads of pools do.
    fn is_idle(&self, thread: ThreadId, range: TimeRange) -> bool {
        let mut ran = Nanoseconds::ZERO;
        let mut at = range.end;
        while at > range.begin {
            let stretch = self.lines.stretch_before(thread, at);
            let begin = stretch.range.begin.max(range.begin);
            match stretch.doing {
                Doing::Running { .. } => ran += TimeRange::new(begin, at).length(),
                Doing::Preempted | Doing::WaitingForCpu => {}
                Doing::Blocked {
                    wake: Some(wake),
                    call: Some("futex"),
                    ..
                } if matches!(wake.by, Waker::Thread(_)) => {}
                _ => return false,
            }
            at = begin;
        }
        ran.get() * MOST_RUNNING <= range.length().get()
    }

    /// Who woke somebody and when, if that is a thread which worked for the request last.
    fn worker(&self, wake: WakeUp) -> Option<(Timestamp, ThreadId)> {
        let Waker::Thread(thread) = wake.by else {
            return None;
        };
        let at = wake.begin;
        let before = Timestamp::from_ns(at.ns().saturating_sub(LEFT_AROUND.get() as i64));
        let before = TimeRange::new(before, at);
        let worked = self.requests.last_active(thread, before)?;
        self.is_its(worked).then_some((at, thread))
    }

    /// Leads the path, which is given in the order of time, through all threads that had the request before `last`, back to
    /// when the wait began, or the thread had it itself, in the place of what it told of that time. Says when that was.
    fn go_on(
        &self,
        last: HandOver<'run>,
        of: RequestOfHost,
        wait: &Wait,
        walker: &mut Walker<'_, 'run>,
        path: &mut Walked<'run>,
    ) -> Timestamp {
        let Wait { depth, since, .. } = *wait;
        let mut begin = last.since;
        // Since when `to` had it last: only what others took up after that, they may have from it.
        let first = self.before(last.to, since).next();
        let first = first.map_or(since, |piece| piece.range.begin);
        let had_since = self.begun(last.to, TimeRange::new(first, begin), first);
        let had_since = had_since.unwrap_or(begin);
        let mut chain = vec![last];
        while let Some(hand_over) = chain.last() {
            let taken_up = Timestamp::from_ns(begin.ns().saturating_sub(LEFT_AROUND.get() as i64));
            let taken_up = TimeRange::new(taken_up, hand_over.at);
            let begun = self.begun(hand_over.from, taken_up, had_since);
            let earlier = begun.and_then(|begun| self.given(hand_over.from, begun, wait));
            match earlier {
                // Back to where the path is anyway.
                Some(earlier) if earlier.from == last.to => {
                    begin = earlier.at;
                    chain.push(earlier);
                    break;
                }
                Some(earlier) if earlier.at > begin => chain.push(earlier),
                _ => break,
            }
        }
        let mut later = Vec::new();
        let is_within =
            |step: &mut Step<'_>| step.piece.depth >= depth && step.piece.range.end > begin;
        while let Some(step) = path.steps.pop_if(is_within) {
            let of_step = |range| clipped(&step.piece, range).map(|piece| Step { piece, ..step });
            later.extend(of_step(TimeRange::new(last.at, step.piece.range.end)));
            if let Some(before) = of_step(TimeRange::new(step.piece.range.begin, begin)) {
                path.steps.push(before);
                break;
            }
        }
        let mut later_links = Vec::new();
        while let Some(link) = path.links.pop_if(|link| link.at >= last.at) {
            later_links.push(link);
        }
        // Who wakes a thread that has not left its processor yet is on no walk.
        let is_its = |link: &BareLink<'_>| (link.hosts[1], link.to) == (of.host, last.to);
        let is_told = (later_links.iter()).any(|link| link.at == last.at && is_its(link));
        let mut outer = Vec::new();
        while let Some(link) = path.links.pop_if(|link| link.at >= begin) {
            outer.extend((link.at == begin).then_some(link));
        }
        if begin == since {
            outer.drain(..outer.iter().position(is_its).unwrap_or(0));
            if let Some((entry, first)) = outer.first_mut().zip(chain.last()) {
                entry.to = first.from;
            }
        }
        let mut told = Walked::default();
        for (place, hand_over) in chain.iter().enumerate() {
            let HandOver {
                at, from, to, call, ..
            } = *hand_over;
            if place > 0 || !is_told {
                told.links.push(BareLink {
                    at,
                    hosts: [of.host; 2],
                    from,
                    to,
                    kind: LinkKind::WakeUp,
                    call,
                });
            }
            let until = chain.get(place + 1).map_or(begin, |earlier| earlier.at);
            if until < at {
                let range = TimeRange::new(until, at);
                walker.walk(of.host, from, range, &mut told.leg(of, false));
            }
        }
        for step in &mut told.steps {
            step.piece.depth += depth;
        }
        let told = told.reversed();
        path.links.extend(outer.into_iter().rev().chain(told.links));
        path.links.extend(later_links.into_iter().rev());
        path.steps
            .extend(told.steps.into_iter().chain(later.into_iter().rev()));
        begin
    }
}
