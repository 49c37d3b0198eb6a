//! All requests of a host, and who was active where: the answers that paths and summaries ask for.
//!
//! Built once from the host's span events and its time lines; then only read, by any number of
//! threads.

use std::collections::{BTreeMap, HashSet};
use std::ops::Range;

use rustc_hash::FxHashMap;
use slowpath_kernel::timelines::Timelines;
use slowpath_model::{ProcessId, ThreadId, TimeRange};

use crate::assign::{Active, assign};
use crate::request::{Request, RequestId};
use crate::unseen::{Moving, may_move};
use crate::{SpanEvent, threads};

/// The requests of one host.
#[derive(Debug, Default)]
pub struct Requests {
    all: Vec<Request>,
    /// By request: the innermost other one that it is known to be a part of. Empty where no file tells of any.
    outer: Vec<Option<RequestId>>,
    /// In the order of thread and time, apart.
    active: Vec<Active>,
    /// By thread: its part of `active`.
    of_thread: FxHashMap<ThreadId, Range<u32>>,
    /// The processes whose requests may move unseen.
    unseen: BTreeMap<ProcessId, Moving>,
}

impl Requests {
    /// Assigns the threads of a host to its spans. `events` as [`span_events`](crate::span_events)
    /// gave them; `lines` are the host's time lines, where its kernel was traced.
    pub fn build(mut events: Vec<SpanEvent>, lines: Option<&Timelines>) -> Self {
        if let Some(lines) = lines {
            threads::resolve(&mut events, lines);
        }
        Self::of(events, lines)
    }

    /// The same where the events already have the host's numbers of their threads.
    pub(crate) fn of(events: Vec<SpanEvent>, lines: Option<&Timelines>) -> Self {
        let bounds = events.first().zip(events.last());
        let told = bounds.map(|(first, last)| TimeRange::new(first.at, last.at));
        let traced = lines.map(Timelines::range);
        let trace = told.into_iter().chain(traced).reduce(TimeRange::hull);
        let Some(trace) = trace else {
            return Self::default();
        };
        let assigned = assign(events, trace);
        let mut of_thread: FxHashMap<ThreadId, Range<u32>> = FxHashMap::default();
        for (piece, position) in assigned.active.iter().zip(0..) {
            let part = of_thread.entry(piece.thread);
            part.or_insert(position..position).end = position + 1;
        }
        Self {
            all: assigned.requests,
            outer: Vec::new(),
            active: assigned.active,
            of_thread,
            unseen: assigned.unseen,
        }
    }

    /// The requests that may go from thread to thread, without a word of when: while the first thread of such a one
    /// waits, another one may serve it.
    pub fn moving_unseen(&self) -> HashSet<RequestId> {
        let requests = self.all().iter().zip(0..);
        let moving = requests.filter(|(request, _)| may_move(request, &self.unseen));
        moving.map(|(_, position)| RequestId(position)).collect()
    }

    /// The processes of these.
    pub(crate) fn unseen(&self) -> &BTreeMap<ProcessId, Moving> {
        &self.unseen
    }

    /// Every request, in the order of their begin; [`RequestId`] is the position.
    pub fn all(&self) -> &[Request] {
        &self.all
    }

    pub(crate) fn all_mut(&mut self) -> &mut [Request] {
        &mut self.all
    }

    /// Notes which requests are parts of which, once their places in trees are known.
    pub(crate) fn find_outer(&mut self) {
        let mut in_trees: Vec<_> = (self.ids())
            .filter_map(|(id, request)| Some((request.tree?, id)))
            .collect();
        if in_trees.is_empty() {
            return;
        }
        self.outer = vec![None; self.all.len()];
        in_trees.sort_unstable();
        let mut open: Vec<RequestId> = Vec::new();
        for (_, id) in in_trees {
            let is_part = |outer: &RequestId| self.get(id).is_part_of(self.get(*outer));
            while open.pop_if(|outer| !is_part(outer)).is_some() {}
            self.outer[id.index()] = open.last().copied();
            open.push(id);
        }
    }

    /// The innermost other request that one is known to be a part of.
    pub(crate) fn outer(&self, id: RequestId) -> Option<RequestId> {
        *self.outer.get(id.index())?
    }

    /// The requests with their ids.
    pub fn ids(&self) -> impl Iterator<Item = (RequestId, &Request)> {
        (0..).map(RequestId).zip(&self.all)
    }

    /// A request.
    ///
    /// # Panics
    /// Where the id is that of another host.
    pub fn get(&self, request: RequestId) -> &Request {
        &self.all[request.index()]
    }

    /// What `thread` worked for within `range`, cut to it, in the order of time: of the requests that
    /// it serves at a time the one that it took up last.
    pub fn active(
        &self,
        thread: ThreadId,
        range: TimeRange,
    ) -> impl Iterator<Item = (TimeRange, RequestId)> {
        let pieces = self.active_of(thread);
        let first = pieces.partition_point(|piece| piece.range.end <= range.begin);
        (pieces[first..].iter())
            .take_while(move |piece| piece.range.begin < range.end)
            .map(move |piece| (piece.range.intersect(range), piece.request))
    }

    /// The last of these.
    pub(crate) fn last_active(&self, thread: ThreadId, range: TimeRange) -> Option<RequestId> {
        let pieces = self.active_of(thread);
        let until = pieces.partition_point(|piece| piece.range.begin < range.end);
        let last = pieces[..until].last();
        last.filter(|piece| piece.range.end > range.begin)
            .map(|piece| piece.request)
    }

    /// Everything that `thread` worked for, in the order of time.
    pub(crate) fn active_of(&self, thread: ThreadId) -> &[Active] {
        let part = self.of_thread.get(&thread);
        part.map_or(&[], |part| {
            &self.active[part.start as usize..part.end as usize]
        })
    }

    /// A request in words, for instance `request 55cb4297a1b2c3d4 (GET /dispatch)`.
    pub fn described(&self, request: RequestId) -> String {
        let request = self.get(request);
        let span = request.key.span;
        match request.operation() {
            "" => format!("request {span}"),
            operation => format!("request {span} ({operation})"),
        }
    }
}
