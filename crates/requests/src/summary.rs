//! What a request's time was spent on, added up: by state, by other request, and its longest waits.
//!
//! §3.5 of Gelle, Ezzati-Jivan & Dagenais (2021). Sums always add up to the request's window. Made for
//! very many requests: nothing here looks up a name.

use std::collections::BTreeMap;
use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use slowpath_critical_path::{BareLink, LinkKind, Piece, State};
use slowpath_model::{HostId, Nanoseconds, ThreadId, TimeRange};

use crate::hosts::{AllHosts, RequestOfHost, ThreadOfHost};
use crate::path::{Part, Parts, sums};

/// Time by state. Small: a request is in few states.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct States([Nanoseconds; State::ALL.len()]);

impl States {
    /// Adds time in a state.
    pub fn add(&mut self, state: State, length: Nanoseconds) {
        self.0[state as usize] += length;
    }

    /// Adds all times of `other`.
    pub fn add_all(&mut self, other: &Self) {
        for (own, others) in self.0.iter_mut().zip(other.0) {
            *own += others;
        }
    }

    /// The time in a state.
    pub fn of(&self, state: State) -> Nanoseconds {
        self.0[state as usize]
    }

    /// All time.
    pub fn total(&self) -> Nanoseconds {
        self.0.iter().copied().sum()
    }

    /// The states that took any time, the longest first.
    pub fn longest(&self) -> Vec<(State, Nanoseconds)> {
        let all = State::ALL.iter().map(|&state| (state, self.of(state)));
        let mut some: Vec<_> = all
            .filter(|(_, length)| *length > Nanoseconds::ZERO)
            .collect();
        some.sort_by_key(|(_, length)| std::cmp::Reverse(*length));
        some
    }

    /// The states that took any time, by name.
    pub fn by_name(&self) -> BTreeMap<&'static str, u64> {
        let some = self.longest().into_iter();
        some.map(|(state, length)| (state.name(), length.get()))
            .collect()
    }
}

/// Where the time of a request went.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Summary<'lines> {
    /// What the path did, in whichever thread.
    pub states: States,
    /// What the threads that served the request did themselves: the time in which they waited for
    /// other threads is BLOCKED here; for those of another host NETWORK.
    pub own: States,
    /// Other requests that threads on the path worked for meanwhile, or waited for the sake of, the longest first.
    pub blocked_by: Vec<(RequestOfHost, Nanoseconds)>,
    /// The longest waits, at most [`Summary::MOST_WAITS`], the longest first.
    pub waits: Box<[Wait<'lines>]>,
}

/// A time in which the thread that served the request could not go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wait<'lines> {
    /// When.
    pub range: TimeRange,
    /// The thread that waited, of the request's own host.
    pub thread: ThreadId,
    /// What for.
    pub on: WaitFor,
    /// The system call in which it waited, where the trace tells.
    pub call: Option<&'lines str>,
    /// Which thread the path was in for most of the wait, and what it did there.
    pub mostly: (ThreadOfHost, State),
}

/// What a thread waited for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WaitFor {
    /// Another thread, which woke it.
    Thread(ThreadOfHost),
    /// The thread worked for another request.
    Request(RequestOfHost),
    /// A time, a device or whatever else the state names.
    State(State),
}

impl WaitFor {
    /// `THREAD`, or the name of the state.
    pub fn name(self) -> &'static str {
        match self {
            Self::Thread(_) => "THREAD",
            Self::Request(_) => State::BlockedByRequest.name(),
            Self::State(state) => state.name(),
        }
    }

    /// The thread that ended the wait, where one did.
    pub fn waker(self) -> Option<ThreadOfHost> {
        match self {
            Self::Thread(waker) => Some(waker),
            Self::Request(_) | Self::State(_) => None,
        }
    }
}

impl Summary<'_> {
    /// How many waits are kept.
    pub const MOST_WAITS: usize = 3;
}

impl<'run> AllHosts<'run> {
    /// Where the time of a request went; without the time lines of its host all of it is unknown.
    pub fn summary(&self, of: RequestOfHost) -> Summary<'run> {
        summarise(of.host, &self.parts(of))
    }

    /// Tells `each` where the time of every request went, in the order of `requests` and with the
    /// position there; found by so many workers. Only some are in memory at a time.
    ///
    /// # Errors
    /// The first one of `each`, which is not told anything more then.
    pub fn for_each_summary<E>(
        &self,
        requests: &[RequestOfHost],
        jobs: NonZeroUsize,
        mut each: impl FnMut(usize, Summary<'run>) -> Result<(), E>,
    ) -> Result<(), E> {
        const IN_MEMORY: usize = 1 << 14;
        let mut position = 0;
        for some in requests.chunks(IN_MEMORY) {
            for summary in self.summaries(some, jobs) {
                each(position, summary)?;
                position += 1;
            }
        }
        Ok(())
    }

    /// In the order of `requests`.
    fn summaries(
        &self,
        requests: &[RequestOfHost],
        jobs: NonZeroUsize,
    ) -> impl Iterator<Item = Summary<'run>> + use<'run> {
        const AT_A_TIME: usize = 64;
        // In the order of time: what one request's path looks up, the next one's finds in the cache.
        let mut places: Vec<usize> = (0..requests.len()).collect();
        places.sort_unstable_by_key(|&place| requests[place]);
        let batches: Vec<&[usize]> = places.chunks(AT_A_TIME).collect();
        let next = AtomicUsize::new(0);
        let done = Mutex::new(vec![None; requests.len()]);
        let work = || {
            while let Some(batch) = batches.get(next.fetch_add(1, Ordering::Relaxed)) {
                let some = batch.iter().map(|&place| self.summary(requests[place]));
                let some: Vec<Summary<'run>> = some.collect();
                let mut done = done.lock().unwrap_or_else(PoisonError::into_inner);
                for (place, summary) in batch.iter().zip(some) {
                    done[*place] = Some(summary);
                }
            }
        };
        std::thread::scope(|scope| {
            for _ in 1..jobs.get().min(batches.len().max(1)) {
                scope.spawn(work);
            }
            work();
        });
        let done = done.into_inner().unwrap_or_else(PoisonError::into_inner);
        done.into_iter().flatten()
    }
}

fn summarise<'lines>(host: HostId, path: &Parts<'lines>) -> Summary<'lines> {
    let mut summary = Summary::default();
    // Backwards: the thread that ended a wait comes first, then what that one waited for.
    let mut waited_for = State::Blocked;
    for part in path.parts.iter().rev() {
        let (piece, length) = (part.piece, part.piece.range.length());
        summary.states.add(piece.state, length);
        waited_for = match piece.depth {
            1 if piece.host != host => State::Network,
            0 | 1 => State::Blocked,
            _ => waited_for,
        };
        let own = match (piece.depth, part.held_by) {
            (0, _) => piece.state,
            (_, Some(_)) => State::BlockedByRequest,
            (_, None) => waited_for,
        };
        summary.own.add(own, length);
    }
    summary.blocked_by = sums((path.parts.iter()).map(|part| (part.blocked_by, part.piece.range)));
    let waits = path
        .parts
        .chunk_by(|part, next| {
            is_same_wait(part, next) && (part.held_by.is_some() || !is_given_up(part, &path.links))
        })
        .filter_map(|run| wait(run, &path.links));
    let mut waits: Vec<Wait<'lines>> = waits.collect();
    let rank = |wait: &Wait<'_>| (std::cmp::Reverse(wait.range.length()), wait.range.begin);
    waits.sort_by_key(rank);
    waits.truncate(Summary::MOST_WAITS);
    summary.waits = waits.as_slice().into();
    summary
}

/// What interrupts or follows a wait: the thread could go on, had it a processor.
fn could_run(part: &Part<'_>) -> bool {
    let states = [
        State::Running,
        State::Preempted,
        State::WaitCpu,
        State::Interrupted,
    ];
    part.piece.depth == 0 && states.contains(&part.piece.state)
}

fn is_same_wait(part: &Part<'_>, next: &Part<'_>) -> bool {
    !could_run(part) && !could_run(next) && part.held_by == next.held_by
}

/// Whether what is waited for is given up at the end of a part, and another thread has it then.
fn is_given_up(part: &Part<'_>, links: &[BareLink<'_>]) -> bool {
    let (at, piece) = (part.piece.range.end, part.piece);
    let later = links.partition_point(|link| link.at < at);
    let mut links = links[later..].iter().take_while(|link| link.at == at);
    piece.depth == 1
        && links.any(|link| {
            link.kind == LinkKind::Release
                && (link.hosts[0], link.from) == (piece.host, piece.thread)
        })
}

/// The wait that a run of parts is, if it is one.
fn wait<'lines>(run: &[Part<'lines>], links: &[BareLink<'lines>]) -> Option<Wait<'lines>> {
    let (first, last) = (run.first()?, run.last()?);
    if could_run(first) {
        return None;
    }
    let range = TimeRange::new(first.piece.range.begin, last.piece.range.end);
    let mostly = mostly(run)?;
    let waker = run.iter().rfind(|part| part.piece.depth == 1);
    let from = links.partition_point(|link| link.at < range.begin);
    let to = links.partition_point(|link| link.at <= range.end);
    let links = &links[from..to.max(from)];
    let own = run.iter().find(|part| part.piece.depth == 0);
    let woken = links.iter().rfind(|link| {
        let is_from = |piece: Piece<'_>| (piece.host, piece.thread) == (link.hosts[0], link.from);
        waker.is_some_and(|waker| is_from(waker.piece)) && link.kind != LinkKind::Wait
    });
    let of_own = own.and_then(|part| part.piece.detail.call);
    Some(Wait {
        range,
        thread: (own.map(|part| part.piece.thread))
            .or(woken.map(|link| link.to))
            .unwrap_or(ThreadId::IDLE),
        on: match (first.held_by, waker) {
            (Some(other), _) => WaitFor::Request(other),
            (None, Some(waker)) => WaitFor::Thread(whose(&waker.piece)),
            (None, None) => WaitFor::State(mostly.1),
        },
        call: (of_own.or(woken.and_then(|link| link.call))).filter(|_| first.held_by.is_none()),
        mostly,
    })
}

/// The thread that most of a run's time was in, and the state that it was in longest.
fn mostly(run: &[Part<'_>]) -> Option<(ThreadOfHost, State)> {
    let mut threads: Vec<(ThreadOfHost, States)> = Vec::new();
    for part in run {
        let thread = whose(&part.piece);
        let known = threads.iter().position(|(known, _)| *known == thread);
        let at = known.unwrap_or_else(|| {
            threads.push((thread, States::default()));
            threads.len() - 1
        });
        threads[at]
            .1
            .add(part.piece.state, part.piece.range.length());
    }
    // That the wake-up took its time is not what was waited for.
    let beside = |states: &States| states.total() - states.of(State::Ipi);
    let (thread, states) = (threads.iter()).max_by_key(|(_, states)| beside(states))?;
    let longest = states.longest();
    let other = longest.iter().find(|(state, _)| *state != State::Ipi);
    other
        .or(longest.first())
        .map(|(state, _)| (*thread, *state))
}

fn whose(piece: &Piece<'_>) -> ThreadOfHost {
    ThreadOfHost {
        host: piece.host,
        thread: piece.thread,
    }
}
