//! A request: a span, with the threads that served it and when.
//!
//! Plain data. Times are those of the span's own events where there are any, to the nanosecond;
//! what the tracing system's file said is kept beside them. A request that the trace shows in part
//! is kept and says so.

use std::sync::Arc;

use serde::Serialize;
use slowpath_kernel::timelines::Timelines;
use slowpath_model::{Nanoseconds, ProcessId, SpanId, ThreadId, TimeRange, Timestamp, TraceId};
use slowpath_read_spans::{Attribute, SpanKind, SpanStatus};
use utoipa::ToSchema;

use crate::trees::Tree;

/// A request of a host: its position in [`Requests::all`](crate::Requests::all).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RequestId(pub u32);

impl RequestId {
    /// The position in the list that gave out this id.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// Which span a request is. Not unique where tracing systems give both sides of a call one id.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SpanKey {
    /// The distributed trace.
    pub trace: TraceId,
    /// The span.
    pub span: SpanId,
}

/// How it is known which threads served a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, ToSchema)]
#[serde(rename_all = "kebab-case")]
pub enum PlacedBy {
    /// Events of the span say when a thread took it up and left it.
    Attach,
    /// Events of the span say which thread started it; it is taken to serve it to its end.
    Start,
    /// Its process tells who takes up spans, but nobody took up this one: whoever ended it stands for
    /// it.
    End,
    /// Nothing but the file's span is there; the thread is the only one that it can have been.
    OnlyThread,
    /// No thread is known.
    Nothing,
}

/// What of a request the trace shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, ToSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Shown {
    /// Its start and its end.
    Whole,
    /// It started before the trace, or its start was lost: its window begins with the trace.
    NoStart,
    /// It ended after the trace, or its end was lost: its window ends with the trace.
    NoEnd,
}

impl Shown {
    /// As JSON has it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Whole => "whole",
            Self::NoStart => "no-start",
            Self::NoEnd => "no-end",
        }
    }
}

/// A span's start or end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bound {
    /// When.
    pub at: Timestamp,
    /// The thread that told it, where known.
    pub thread: Option<ThreadId>,
}

/// A thread works for a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Serving {
    /// The thread.
    pub thread: ThreadId,
    /// When.
    pub range: TimeRange,
}

/// A span, and who served it.
#[derive(Clone, Debug, PartialEq)]
pub struct Request {
    /// Which span.
    pub key: SpanKey,
    /// From its start to its end, as far as the trace shows it.
    pub window: TimeRange,
    /// Whether that is all of it.
    pub shown: Shown,
    /// How its threads are known.
    pub placed_by: PlacedBy,
    /// Its process, as its namespace numbers it, where recorded.
    pub process: Option<ProcessId>,
    /// The event of its start, where there is one.
    pub start: Option<Bound>,
    /// The event of its end, where there is one.
    pub end: Option<Bound>,
    /// In the order of their begin, within the window.
    pub servings: Vec<Serving>,
    /// What the tracing system's file says, where it has the span.
    pub told: Option<Box<Told>>,
    /// Its place in the tree of its distributed trace, where that is known.
    pub(crate) tree: Option<Tree>,
}

/// What the file of a tracing system says about a span.
#[derive(Clone, Debug, PartialEq)]
pub struct Told {
    /// Its service.
    pub service: Arc<str>,
    /// What was done.
    pub operation: Arc<str>,
    /// The span that it is part of.
    pub parent: Option<SpanId>,
    /// Its window as written, by the clock of its writer: often rounded to microseconds.
    pub window: TimeRange,
    /// Its side of a call.
    pub kind: SpanKind,
    /// Whether its parent is in another process, where that is told.
    pub has_remote_parent: Option<bool>,
    /// Whether it failed.
    pub status: SpanStatus,
    /// What else was said.
    pub attributes: Vec<Attribute>,
}

impl Request {
    /// How long it took; `None` where its start or its end is not recorded: at least as long as its window
    /// then, which is nothing to compare or to rank it by.
    pub fn duration(&self) -> Option<Nanoseconds> {
        (self.shown == Shown::Whole).then(|| self.window.length())
    }

    /// The service, where a file says it; else empty.
    pub fn service(&self) -> &str {
        self.told.as_ref().map_or("", |told| &told.service)
    }

    /// The operation, where a file says it; else empty.
    pub fn operation(&self) -> &str {
        self.told.as_ref().map_or("", |told| &told.operation)
    }

    /// The thread that served it first; see [`Self::threads`].
    pub fn first_thread(&self) -> Option<ThreadId> {
        let first = self.servings.first().map(|serving| serving.thread);
        first.or_else(|| self.end.or(self.start)?.thread)
    }

    /// What it goes by: its operation, else the thread that served it first; empty where neither is
    /// known.
    pub fn name(&self, lines: Option<&Timelines>) -> String {
        match (self.operation(), lines, self.threads().first()) {
            ("", Some(lines), Some(&first)) => lines.name(first, self.window.end).into_owned(),
            (operation, ..) => operation.to_owned(),
        }
    }

    /// The threads that served it, in the order of when they first did; the one that ended it, where
    /// none is known to have served it.
    pub fn threads(&self) -> Vec<ThreadId> {
        let mut threads: Vec<ThreadId> = Vec::new();
        for serving in &self.servings {
            if !threads.contains(&serving.thread) {
                threads.push(serving.thread);
            }
        }
        if threads.is_empty() {
            threads.extend(self.first_thread());
        }
        threads
    }

    /// Whether another thread ended it than started it, and no event says how it got there.
    pub fn ends_elsewhere(&self) -> bool {
        self.placed_by == PlacedBy::Start && self.ends().is_some_and(|[start, end]| start != end)
    }

    /// The threads that started and ended it, where both are known.
    pub(crate) fn ends(&self) -> Option<[ThreadId; 2]> {
        Some([self.start?.thread?, self.end?.thread?])
    }

    /// Whether it is known to be a part of `other`, and not all of it.
    pub(crate) fn is_part_of(&self, other: &Self) -> bool {
        let trees = self.tree.zip(other.tree);
        self.key.trace == other.key.trace
            && trees.is_some_and(|(own, outer)| own != outer && own.is_within(outer))
    }

    /// Whether one of the two is part of the other, as far as the trace tells: within one
    /// distributed trace whose tree is not known, everything may be part of everything.
    pub fn is_kin(&self, other: &Self) -> bool {
        let trees = self.tree.zip(other.tree);
        self.key.trace == other.key.trace && trees.is_none_or(|(own, other)| own.may_be_kin(other))
    }
}
