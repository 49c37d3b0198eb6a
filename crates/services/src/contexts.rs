//! The calling-context tree: for each path of calls from a request's first span down, what its spans
//! took in all requests together.
//!
//! The tree grows with different paths, not with spans, and where there are too many paths it stays as deep as they
//! fit: it tells what it would tell if nothing deeper had been called. Two trees merge into one that says the same as
//! if all traces had gone into it, in any order and grouping: how deep a tree is depends on which paths there are and
//! on nothing else, and the tree of some of them is at least as deep as that of all.

use std::cmp::Ordering;

use rustc_hash::FxHashMap;
use slowpath_model::{Nanoseconds, SpanId, TraceId};

use crate::histogram::Histogram;
use crate::mark::Marks;
use crate::names::{NameId, Names};

/// No path has more calls than this, so that a recursion of many thousand is no path of as many names.
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
    /// Requests whose critical path they or what they called were on.
    pub(crate) led_to_critical_path: u64,
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
    /// Those of its spans.
    pub marks: Marks,
}

impl Totals {
    fn merge(&mut self, other: &Self) {
        self.count += other.count;
        self.errors += other.errors;
        self.inclusive += other.inclusive;
        self.exclusive += other.exclusive;
        self.critical += other.critical;
        self.on_critical_path += other.on_critical_path;
        self.led_to_critical_path += other.led_to_critical_path;
        self.drag += other.drag;
        self.slack += other.slack;
        self.with_slack += other.with_slack;
        self.inclusive_times.merge(&other.inclusive_times);
        self.exclusive_times.merge(&other.exclusive_times);
        self.marks.merge(&other.marks);
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
#[derive(Clone, Debug)]
pub struct ContextTree {
    contexts: Vec<Context>,
    known: FxHashMap<(Option<ContextId>, NameId, NameId), ContextId>,
    most: usize,
    most_calls: u32,
    deeper_spans: u64,
}

impl ContextTree {
    /// An empty tree, to be as deep as it may be with no more than `most` contexts; requests are told in any case.
    pub fn new(most: usize) -> Self {
        Self {
            contexts: Vec::new(),
            known: FxHashMap::default(),
            most,
            most_calls: DEEPEST,
            deeper_spans: 0,
        }
    }

    /// An empty tree, for some of the traces that this one is of.
    pub(crate) fn part(&self) -> Self {
        Self {
            most_calls: self.most_calls,
            ..Self::new(self.most)
        }
    }

    /// The most calls that a path may have.
    pub fn most_calls(&self) -> u32 {
        self.most_calls
    }

    /// Spans below longer paths: their time counts as that of the last call told.
    pub fn deeper_spans(&self) -> u64 {
        self.deeper_spans
    }

    /// The context of an operation that is called from `parent`: `parent` itself where paths may not be longer.
    pub(crate) fn context(
        &mut self,
        parent: Option<ContextId>,
        service: NameId,
        operation: NameId,
    ) -> ContextId {
        let depth = parent.map_or(0, |parent| self.get(parent).depth + 1);
        if let Some(parent) = parent.filter(|_| depth >= self.most_calls) {
            return parent;
        }
        let next = ContextId(u32::try_from(self.contexts.len()).unwrap_or(u32::MAX));
        let id = *self
            .known
            .entry((parent, service, operation))
            .or_insert(next);
        if id == next {
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

    /// Counts a span below the longest paths.
    pub(crate) fn add_deeper_span(&mut self) {
        self.deeper_spans += 1;
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

    /// The order of two paths by the names of their calls, the first calls first.
    pub(crate) fn compare_paths(
        &self,
        one: ContextId,
        other: ContextId,
        names: &Names,
    ) -> Ordering {
        let depth = |id| self.get(id).depth;
        let up_to = |depth_of_both: u32, mut id: ContextId| {
            while let Some(parent) = self.get(id).parent.filter(|_| depth(id) > depth_of_both) {
                id = parent;
            }
            id
        };
        let shorter = depth(one).min(depth(other));
        let (mut first, mut second) = (up_to(shorter, one), up_to(shorter, other));
        if first == second {
            return depth(one).cmp(&depth(other));
        }
        while let (Some(above), Some(above_other)) =
            (self.get(first).parent, self.get(second).parent)
            && above != above_other
        {
            (first, second) = (above, above_other);
        }
        let texts = |id| {
            let Context {
                service, operation, ..
            } = *self.get(id);
            (names.text(service), names.text(operation))
        };
        texts(first).cmp(&texts(second))
    }

    /// Makes a tree of twice as many contexts as may be less deep: seldom, as all of it is made anew. Where that changed
    /// anything: the contexts that those from before count for now.
    pub(crate) fn make_room(&mut self) -> Option<Vec<ContextId>> {
        (self.contexts.len() > self.most.saturating_mul(2)).then(|| self.fit())?
    }

    /// Makes the tree less deep until there are no more contexts than may be.
    fn fit(&mut self) -> Option<Vec<ContextId>> {
        if self.contexts.len() <= self.most || self.most_calls == 1 {
            return None;
        }
        let mut of_depths = vec![0; self.most_calls as usize];
        for context in &self.contexts {
            of_depths[context.depth as usize] += 1;
        }
        let mut left = self.most;
        let fitting = of_depths.into_iter().take_while(|&contexts| {
            let fits = contexts <= left;
            left = left.saturating_sub(contexts);
            fits
        });
        let most_calls = (fitting.count() as u32).max(1);
        Some(self.cut(most_calls))
    }

    /// Lets no path have more calls. Which contexts those from before count for then.
    fn cut(&mut self, most_calls: u32) -> Vec<ContextId> {
        let contexts = std::mem::take(&mut self.contexts);
        self.known.clear();
        self.most_calls = most_calls;
        let mut now: Vec<ContextId> = Vec::with_capacity(contexts.len());
        for context in contexts {
            let parent = context.parent.map(|parent| now[parent.0 as usize]);
            let id = self.context(parent, context.service, context.operation);
            if context.depth < most_calls {
                *self.totals(id) = context.totals;
            } else {
                self.totals(id).critical += context.totals.critical;
                self.deeper_spans += context.totals.count;
            }
            now.push(id);
        }
        now
    }

    /// Adds what `other` knows; both must have as many contexts allowed.
    pub(crate) fn merge(&mut self, mut other: Self) {
        let most_calls = self.most_calls.min(other.most_calls);
        for tree in [&mut *self, &mut other] {
            if tree.most_calls > most_calls {
                tree.cut(most_calls);
            }
        }
        let mut here: Vec<ContextId> = Vec::with_capacity(other.contexts.len());
        for context in &other.contexts {
            let parent = context.parent.map(|parent| here[parent.0 as usize]);
            let id = self.context(parent, context.service, context.operation);
            self.totals(id).merge(&context.totals);
            here.push(id);
        }
        self.deeper_spans += other.deeper_spans;
        self.make_room();
    }

    /// Makes the tree fit when all traces are in, and counts all time below the longest paths as that of their last
    /// calls.
    pub(crate) fn close(&mut self) {
        self.fit();
        for context in &mut self.contexts {
            if context.depth + 1 == self.most_calls {
                let totals = &mut context.totals;
                totals.exclusive = totals.inclusive;
                totals.exclusive_times = totals.inclusive_times.clone();
                totals.on_critical_path = totals.led_to_critical_path;
            }
        }
    }
}
