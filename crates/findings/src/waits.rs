//! The times in which slow requests waited for other threads, and what for.
//!
//! Who hands work to another thread waits for it as who waits for a lock does: in the same system call, until that
//! thread wakes it. But that thread then works for this very request. Such a wait is for what that thread does: for
//! other requests first, where it is busy, and then for whatever it waits for itself. So these are looked into, and
//! of a lock nothing is.

use std::sync::Arc;

use slowpath_critical_path::{LOCK_CALLS, Link, LinkKind, Segment, State};
use slowpath_kernel::timelines::Doing;
use slowpath_model::{Nanoseconds, TimeRange, Timestamp};
use slowpath_requests::{RequestId, RequestOfHost, RequestPath, ThreadOfHost};

use crate::path::{Slow, whose};

/// Who waits in the kernel and finds that it is to wait on runs for no longer; mostly for a tenth of it.
const LOOKS_AGAIN: Nanoseconds = Nanoseconds(50_000);

/// A time in which a thread on a request's path waited for another thread, with all that was done meanwhile.
pub(crate) struct Wait {
    pub(crate) request: RequestId,
    /// How many threads on the path wait for the waiter.
    depth: u32,
    /// The thread that waited, and the one that it waited for.
    pub(crate) waiter: ThreadOfHost,
    pub(crate) holder: ThreadOfHost,
    pub(crate) holder_comm: Arc<str>,
    /// The system call in which it waited.
    pub(crate) call: Option<Arc<str>>,
    /// Nothing but what it waited for could end it, and that a thread of its own process did: the kernel had them take
    /// turns.
    pub(crate) is_for_turn: bool,
    pub(crate) range: TimeRange,
    pub(crate) pieces: Vec<Segment>,
    /// The request that the waiter worked for.
    whom: RequestOfHost,
    /// The last one that the holder worked for meanwhile, where it is known to have worked for any.
    served: Option<RequestOfHost>,
}

impl Wait {
    /// Whether the waiter worked for `request`.
    pub(crate) fn is_of(&self, request: RequestOfHost) -> bool {
        self.whom == request
    }

    /// Whether it was in a call in which threads wait for locks, or for one of the kernel's own.
    fn is_for_lock(&self) -> bool {
        self.is_for_turn || (LOCK_CALLS.iter()).any(|(call, _)| self.call.as_deref() == Some(call))
    }
}

impl Slow<'_> {
    /// Every time in which a thread that serves a request waited for another thread.
    pub(crate) fn waits(&self) -> impl Iterator<Item = Wait> {
        let paths = self.paths.iter();
        paths.flat_map(|(request, path)| Waiting::of(self, *request, path).waits())
    }

    /// The same, and the waits of those threads that did the waiting thread's own work meanwhile, and of theirs, while
    /// they worked for some request: else they waited for work.
    pub(crate) fn waits_looked_into(&self) -> impl Iterator<Item = Wait> {
        self.paths.iter().flat_map(|(request, path)| {
            let waiting = Waiting::of(self, *request, path);
            let mut found = waiting.waits();
            let mut looked_at = 0;
            while looked_at < found.len() {
                if self.is_for_own_work(&found[looked_at]) {
                    found.extend(waiting.waits_within(&found[looked_at]));
                }
                looked_at += 1;
            }
            found
        })
    }

    /// The waits for locks of other processes that requests wait for, which are not known to work for any request: on a
    /// file, for a semaphore, or for what another process holds. Between its own threads a process hands over work by
    /// `futex` as well, which is none.
    pub(crate) fn lock_waits_of_peers(&self) -> impl Iterator<Item = Wait> {
        self.paths.iter().flat_map(|(request, path)| {
            let waiting = Waiting::of(self, *request, path);
            let mut asked = waiting.waits();
            let (mut looked_at, mut found) = (0, Vec::new());
            while looked_at < asked.len() {
                let wait = &asked[looked_at];
                if wait.served.is_none() && !wait.is_for_lock() && self.is_for_a_peer(wait) {
                    let (locks, others): (Vec<Wait>, Vec<Wait>) = (waiting.waits_of_holder(wait))
                        .into_iter()
                        .partition(|inner| {
                            inner.is_for_lock()
                                && (inner.call.as_deref() != Some("futex")
                                    || self.is_for_a_peer(inner))
                        });
                    found.extend(locks);
                    asked.extend(others);
                }
                looked_at += 1;
            }
            found
        })
    }

    /// Whether a wait was for a thread that is known to be of another process.
    fn is_for_a_peer(&self, wait: &Wait) -> bool {
        let process = |of: ThreadOfHost| {
            let lines = self.all.hosts().lines(of.host)?;
            Some((of.host, lines.process(of.thread, wait.range.end)?))
        };
        let (own, other) = (process(wait.waiter), process(wait.holder));
        own.is_some() && other.is_some() && own != other
    }

    /// Whether another process ended the waiter's, and woke it for that: it only came out of its call any more, and the
    /// other one had nothing that it waited for.
    pub(crate) fn is_cut_by_a_kill(&self, wait: &Wait) -> bool {
        let (thread, woken) = (wait.waiter.thread, wait.range.end);
        let Some(lines) = self.all.hosts().lines(wait.waiter.host) else {
            return false;
        };
        let ended = lines.life(thread).end;
        let waits_again = || {
            let mut at = ended;
            while at > woken {
                let stretch = lines.stretch_before(thread, at);
                at = stretch.range.begin;
                if at >= woken && matches!(stretch.doing, Doing::Blocked { .. }) {
                    return true;
                }
            }
            false
        };
        self.is_for_a_peer(wait)
            && (woken..lines.range().end).contains(&ended)
            && lines.last_call(thread).is_none()
            && !lines.made_other_calls(thread, TimeRange::new(woken, ended))
            && !waits_again()
    }

    /// Whether a wait was for work that the holder did for the same request as the waiter.
    pub(crate) fn is_for_own_work(&self, wait: &Wait) -> bool {
        (wait.served).is_some_and(|served| self.is_same_work(wait.whom, served))
    }

    /// When a thread that a request needs worked for other requests during a wait: the thread that serves it, or
    /// before its own work the one that does this.
    pub(crate) fn queued(&self, wait: &Wait) -> Vec<(TimeRange, RequestOfHost)> {
        let mut queued: Vec<(TimeRange, RequestOfHost)> = Vec::new();
        match self.is_same_work(self.own_request(wait.request), wait.whom) {
            true if self.is_for_own_work(wait) => {}
            false if wait.depth == 0 => return vec![(wait.range, wait.whom)],
            // What threads do that work for others is within their time already.
            _ => return queued,
        }
        let mut add = |range: TimeRange, other: RequestOfHost| match queued.last_mut() {
            Some((later, known)) if *known == other && later.begin == range.end => {
                later.begin = range.begin;
            }
            _ => queued.push((range, other)),
        };
        // Backwards: while the holder waits, it works for whom it works for when it goes on.
        let mut goes_on_for = None;
        for piece in wait.pieces.iter().rev() {
            if whose(piece) != wait.holder {
                goes_on_for
                    .into_iter()
                    .for_each(|other| add(piece.range, other));
                continue;
            }
            let mut others: Vec<(TimeRange, RequestOfHost)> = self.worked_for(piece).collect();
            others.retain(|(_, other)| !self.is_same_work(wait.whom, *other));
            let first = others.first();
            let since_begin = first.filter(|(when, _)| when.begin == piece.range.begin);
            goes_on_for = since_begin.map(|(_, other)| *other);
            for (when, other) in others.into_iter().rev() {
                add(when, other);
            }
        }
        queued.reverse();
        queued
    }

    fn own_request(&self, request: RequestId) -> RequestOfHost {
        let host = self.host;
        RequestOfHost { host, request }
    }

    fn is_same_work(&self, one: RequestOfHost, other: RequestOfHost) -> bool {
        one == other || self.all.get(one).is_kin(self.all.get(other))
    }

    /// What the thread of a piece worked for meanwhile, by the clock of the path, in the order of time.
    pub(crate) fn worked_for(
        &self,
        piece: &Segment,
    ) -> impl Iterator<Item = (TimeRange, RequestOfHost)> {
        let (host, recorded, shown) = (piece.host, piece.recorded, piece.range);
        let at = move |at: Timestamp| match at == recorded.end {
            true => shown.end,
            false => {
                let since = at.ns() - recorded.begin.ns();
                Timestamp::from_ns(shown.begin.ns() + since).min(shown.end)
            }
        };
        let active = self.all.requests(host).active(piece.thread, recorded);
        active.map(move |(when, request)| {
            let when = TimeRange::new(at(when.begin), at(when.end));
            (when, RequestOfHost { host, request })
        })
    }
}

/// The path of a slow request, to find the waits on it.
struct Waiting<'run> {
    slow: &'run Slow<'run>,
    request: RequestId,
    segments: Vec<Segment>,
    /// In the order of time.
    links: Vec<Link>,
}

impl<'run> Waiting<'run> {
    fn of(slow: &'run Slow<'_>, request: RequestId, path: &RequestPath) -> Self {
        Self {
            slow,
            request,
            segments: path.path.segments.iter().collect(),
            links: path.path.links.iter().collect(),
        }
    }

    /// Those of the threads that serve the request.
    fn waits(&self) -> Vec<Wait> {
        let own = self.slow.own_request(self.request);
        let waits = self.waits_among(&self.segments, 0);
        waits
            .map(|(wait, whom)| Wait {
                whom: whom.unwrap_or(own),
                ..wait
            })
            .collect()
    }

    /// Those of the holder, while it worked for some request.
    fn waits_within(&self, wait: &Wait) -> Vec<Wait> {
        let waits = self.waits_among(&wait.pieces, wait.depth + 1);
        let of_holder = waits.filter(|(found, _)| found.waiter == wait.holder);
        of_holder
            .filter_map(|(found, whom)| {
                Some(Wait {
                    whom: whom?,
                    ..found
                })
            })
            .collect()
    }

    /// Those of the holder, which is not known to have worked for any.
    fn waits_of_holder(&self, wait: &Wait) -> Vec<Wait> {
        let waits = self.waits_among(&wait.pieces, wait.depth + 1);
        let of_holder = waits.filter(|(found, whom)| found.waiter == wait.holder && whom.is_none());
        of_holder.map(|(found, _)| found).collect()
    }

    /// The waits of threads at a depth, and whom these worked for, where that is known.
    fn waits_among<'a>(
        &'a self,
        segments: &'a [Segment],
        depth: u32,
    ) -> impl Iterator<Item = (Wait, Option<RequestOfHost>)> + 'a {
        let groups = segments.chunk_by(move |one, next| {
            let is_same = (one.depth > depth) == (next.depth > depth);
            is_same && !self.is_given_up(one, depth)
        });
        let mut waits: Vec<_> = (groups)
            .filter_map(|group| self.wait(group, depth))
            .collect();
        // Whom it was for is known at the end.
        for later in (1..waits.len()).rev() {
            let (wait, whom) = &waits[later - 1];
            let whom = whom.unwrap_or(self.slow.own_request(self.request));
            let is_done = (wait.served).is_some_and(|served| self.slow.is_same_work(whom, served));
            if !is_done && self.goes_on(wait, &waits[later].0) {
                waits[later - 1].0.served = waits[later].0.served;
            }
        }
        waits.into_iter()
    }

    /// Whether a thread that was woken waited on in the same system call for the same thread right away: what it waits for
    /// has not come yet. So it is where the other end of a Unix socket takes a request, as that makes room for another one.
    /// Who asks for something else right after an answer looks the same: only calls' names are known.
    fn goes_on(&self, wait: &Wait, later: &Wait) -> bool {
        let whose = |wait: &Wait| (wait.waiter, wait.holder, wait.call.clone());
        let (woken, asleep) = (wait.range.end, later.range.begin);
        let since = |at| (self.segments).partition_point(|segment| segment.range.begin < at);
        let awake = self.segments.get(since(woken)..since(asleep));
        let ran: Nanoseconds = (awake.into_iter().flatten())
            .filter(|segment| segment.state != State::WaitCpu)
            .map(|segment| segment.range.length())
            .sum();
        wait.call.is_some()
            && !wait.is_for_lock()
            && whose(wait) == whose(later)
            && ran <= LOOKS_AGAIN
    }

    /// Whether the holder of what a thread at `depth` waits for gives it up at the end of a piece, and another one has it
    /// then.
    fn is_given_up(&self, piece: &Segment, depth: u32) -> bool {
        let at = piece.range.end;
        let later = self.links.partition_point(|link| link.at < at);
        let mut links = self.links[later..].iter().take_while(|link| link.at == at);
        piece.depth == depth + 1
            && links.any(|link| {
                link.kind == LinkKind::Release
                    && (link.hosts[0], link.from) == (piece.host, piece.thread)
            })
    }

    /// The wait of a thread at `depth` that a part of the path is, if it is one.
    fn wait(&self, pieces: &[Segment], depth: u32) -> Option<(Wait, Option<RequestOfHost>)> {
        let (first, last) = (pieces.first()?, pieces.last()?);
        let range = TimeRange::new(first.range.begin, last.range.end);
        // The thread above the waiter is the one that was waited for; it woke the waiter.
        let holder = pieces.iter().rfind(|piece| piece.depth == depth + 1)?;
        let later = self.links.partition_point(|link| link.at < range.end);
        let woken = self.links[later..].iter().find(|link| {
            (link.hosts[0], link.from) == (holder.host, holder.thread)
                && link.kind != LinkKind::Wait
        })?;
        let waiter = ThreadOfHost {
            host: woken.hosts[1],
            thread: woken.to,
        };
        // It was there all the time.
        let end = match last.host == waiter.host {
            true => Some(last.recorded.end),
            false => (waiter.host == self.slow.host).then_some(range.end),
        };
        let whom = end.and_then(|end| {
            let just_before = TimeRange::new(Timestamp::from_ns(end.ns() - 1), end);
            let host = waiter.host;
            let requests = self.slow.all.requests(host);
            let (_, request) = requests.active(waiter.thread, just_before).next()?;
            Some(RequestOfHost { host, request })
        });
        let is_for_turn = end.is_some_and(|end| self.is_for_turn(waiter, whose(holder), end));
        let mut of_holder = (pieces.iter().rev()).filter(|piece| whose(piece) == whose(holder));
        let served = of_holder.find_map(|piece| self.slow.worked_for(piece).last());
        let wait = Wait {
            request: self.request,
            depth,
            waiter,
            holder: whose(holder),
            holder_comm: holder.comm.clone(),
            call: woken.call.clone(),
            is_for_turn,
            range,
            pieces: pieces.to_vec(),
            whom: self.slow.own_request(self.request),
            served: served.map(|(_, request)| request),
        };
        Some((wait, whom))
    }

    /// Whether a wait that ended at a time of its host could not be interrupted, and a thread of the waiter's process
    /// ended it. What disks have brought is told by interrupts and the kernel's own threads, and that a child lets its
    /// memory go (`vfork`) by another process. Where interrupts were not recorded, the thread that one hit seems to be who
    /// ended the wait: there none is known to have been for a turn.
    fn is_for_turn(&self, waiter: ThreadOfHost, holder: ThreadOfHost, end: Timestamp) -> bool {
        let Some(lines) = self.slow.all.hosts().lines(waiter.host) else {
            return false;
        };
        let process = |thread| lines.process(thread, end);
        let doing = lines.stretch_before(waiter.thread, end).doing;
        waiter.host == holder.host
            && lines.records_interrupts()
            && process(waiter.thread).is_some()
            && process(waiter.thread) == process(holder.thread)
            && matches!(
                doing,
                Doing::Blocked {
                    uninterruptible: true,
                    ..
                }
            )
    }
}
