//! The calling-context tree: for each path of calls from a request's first span down, what its spans
//! took in all requests together.
//!
//! The tree grows with different paths, not with spans. Two trees merge into one that says the same as
//! if all traces had gone into it, in any order and grouping.

use rustc_hash::FxHashMap;
use slowpath_model::{Nanoseconds, SpanId, TraceId};

use crate::histogram::Histogram;
use crate::names::NameId;

/// Calls nested deeper than this count for the context at this depth, so that a recursion of many
/// thousand calls is no path of as many names.
pub const DEEPEST: u32 = 256;

/// A context: its position in the tree that it belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ContextId(pub u32);

/// A path of calls: what its last call is, and the context of the call that made it.
#[derive(Clone, Debug)]
pub struct Context {
    /// The context that it was called from; `None` for first spans.
    pub parent: Option<ContextId>,
    /// Who does the work.
    pub service: NameId,
    /// What is done.
    pub operation: NameId,
    /// Calls above it.
    pub depth: u32,
    /// What its spans took.
    pub totals: Totals,
}

/// What the spans of a context took, in all traces.
#[derive(Clone, Debug, Default)]
pub struct Totals {
    /// Spans.
    pub count: u64,
    /// Spans that failed.
    pub errors: u64,
    /// Sum of their times.
    pub inclusive: Nanoseconds,
    /// Sum of their times without those of the children that they waited for.
    pub exclusive: Nanoseconds,
    /// Their own time on critical paths.
    pub critical: Nanoseconds,
    /// Requests whose critical path they were on, with time of their own.
    pub on_critical_path: u64,
    /// Sum over requests of what each gains if the context's spans take no time.
    pub drag: Nanoseconds,
    /// Sum of what each span may grow, and of how many spans that is known.
    pub slack: Nanoseconds,
    /// Spans that somebody waited for.
    pub with_slack: u64,
    /// Distribution of the times.
    pub inclusive_times: Histogram,
    /// Distribution of the times without children.
    pub exclusive_times: Histogram,
    /// The longest span; the smallest ids of several.
    pub slowest: Option<(Nanoseconds, TraceId, SpanId)>,
}

impl Totals {
    fn merge(&mut self, other: &Self) {
        self.count += other.count;
        self.errors += other.errors;
        self.inclusive += other.inclusive;
        self.exclusive += other.exclusive;
        self.critical += other.critical;
        self.on_critical_path += other.on_critical_path;
        self.drag += other.drag;
        self.slack += other.slack;
        self.with_slack += other.with_slack;
        self.inclusive_times.merge(&other.inclusive_times);
        self.exclusive_times.merge(&other.exclusive_times);
        if let Some((length, trace, span)) = other.slowest {
            self.see(length, trace, span);
        }
    }

    /// Remembers the span if it is the slowest so far.
    pub(crate) fn see(&mut self, length: Nanoseconds, trace: TraceId, span: SpanId) {
        let rank = |(length, trace, span)| (std::cmp::Reverse(length), trace, span);
        let new = (length, trace, span);
        if self.slowest.is_none_or(|slowest| rank(new) < rank(slowest)) {
            self.slowest = Some(new);
        }
    }
}

/// All contexts, callers before callees.
#[derive(Clone, Debug, Default)]
pub struct ContextTree {
    contexts: Vec<Context>,
    known: FxHashMap<(Option<ContextId>, NameId, NameId), ContextId>,
}

impl ContextTree {
    /// The context of an operation that is called from `parent`.
    pub fn context(
        &mut self,
        parent: Option<ContextId>,
        service: NameId,
        operation: NameId,
    ) -> ContextId {
        let mut parent = parent;
        if let Some(id) = parent
            && self.get(id).depth + 1 >= DEEPEST
        {
            parent = self.get(id).parent;
        }
        let next = ContextId(u32::try_from(self.contexts.len()).unwrap_or(u32::MAX));
        let id = *self
            .known
            .entry((parent, service, operation))
            .or_insert(next);
        if id == next {
            let depth = parent.map_or(0, |parent| self.get(parent).depth + 1);
            self.contexts.push(Context {
                parent,
                service,
                operation,
                depth,
                totals: Totals::default(),
            });
        }
        id
    }

    /// The context of that number.
    pub fn get(&self, id: ContextId) -> &Context {
        &self.contexts[id.0 as usize]
    }

    /// What is known of it, to add to.
    pub(crate) fn totals(&mut self, id: ContextId) -> &mut Totals {
        &mut self.contexts[id.0 as usize].totals
    }

    /// All contexts.
    pub fn contexts(&self) -> &[Context] {
        &self.contexts
    }

    /// The calls from the first span down to `context`.
    pub fn path<'tree>(&'tree self, context: &'tree Context) -> Vec<&'tree Context> {
        let up = |context: &&'tree Context| context.parent.map(|parent| self.get(parent));
        let mut path: Vec<_> = std::iter::successors(Some(context), up).collect();
        path.reverse();
        path
    }

    /// Adds what `other` knows; both must have their names from the same place.
    pub fn merge(&mut self, other: &Self) {
        let mut here: Vec<ContextId> = Vec::with_capacity(other.contexts.len());
        for context in &other.contexts {
            let parent = context.parent.map(|parent| here[parent.0 as usize]);
            let id = self.context(parent, context.service, context.operation);
            self.totals(id).merge(&context.totals);
            here.push(id);
        }
    }
}
