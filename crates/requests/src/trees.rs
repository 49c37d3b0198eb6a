//! The trees that spans of files form, by the parents that they name.
//!
//! Spans may name parents that are not there, or be their own ancestors, and are told then. Those in a circle, and what is
//! below them, have no place. Which span is whose request, and on which host, is `join`'s matter.

use rustc_hash::FxHashMap;
use slowpath_model::SpanId;
use slowpath_read_spans::{Span, SpanKind};

use crate::join::key_of;
use crate::request::SpanKey;

/// A span's place in the tree of its trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Tree {
    /// Descendants lie within their ancestors' numbers.
    numbers: (u32, u32),
    /// The topmost span that is known above it, where that one's parent is missing. How several such branches of a trace
    /// hang together is not known; those with one parent lie beside each other.
    orphan: Option<Orphan>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Orphan {
    /// A number of the parent.
    parent: u32,
    /// Whether it serves a call: the parent is the caller, in another process; else one of its own process is missing.
    is_called: bool,
}

impl Tree {
    /// Whether the span is a descendant of another one of its trace, or that one itself.
    pub(crate) fn is_within(self, outer: Self) -> bool {
        outer.numbers.0 <= self.numbers.0 && self.numbers.1 <= outer.numbers.1
    }

    /// Whether one of two spans of a trace is within the other, or may be, as spans between them are missing.
    pub(crate) fn may_be_kin(self, other: Self) -> bool {
        let are_beside_each_other = match (self.orphan, other.orphan) {
            (Some(one), Some(other)) => {
                one.parent == other.parent || one.is_called && other.is_called
            }
            // Below a root may be all of its trace.
            (one, other) => one.is_none() && other.is_none(),
        };
        self.is_within(other) || other.is_within(self) || !are_beside_each_other
    }
}

/// What spans say about each other.
pub(crate) struct Trees {
    /// By span: its place; none where it or an ancestor is an ancestor of its own.
    pub(crate) places: Vec<Option<Tree>>,
    /// Positions of the spans that name a parent which is none of them.
    pub(crate) orphans: Vec<usize>,
    /// How many circles of spans there are that are their own ancestors.
    pub(crate) circles: u64,
}

impl Trees {
    pub(crate) fn of(spans: &[Span]) -> Self {
        let mut first_of: FxHashMap<SpanKey, usize> = FxHashMap::default();
        for (position, span) in spans.iter().enumerate() {
            first_of.entry(key_of(span)).or_insert(position);
        }
        let mut parents: Vec<Option<usize>> = vec![None; spans.len()];
        let mut children: FxHashMap<usize, Vec<usize>> = FxHashMap::default();
        let mut roots: Vec<usize> = Vec::new();
        let mut orphans = Vec::new();
        for (position, span) in spans.iter().enumerate() {
            let Some(parent) = parent_of(span) else {
                roots.push(position);
                continue;
            };
            match first_of.get(&parent) {
                Some(&parent) => {
                    parents[position] = Some(parent);
                    children.entry(parent).or_default().push(position);
                }
                None => orphans.push(position),
            }
        }
        Self {
            places: places(roots, &orphans, children, spans),
            orphans,
            circles: circles(&parents),
        }
    }
}

fn parent_of(span: &Span) -> Option<SpanKey> {
    let parent = span.parent().filter(|parent| *parent != SpanId(0))?;
    Some(SpanKey {
        trace: span.trace,
        span: parent,
    })
}

/// Whether its parent is in another process, as far as the file tells.
fn is_called(span: &Span) -> bool {
    (span.has_remote_parent).unwrap_or(matches!(span.kind, SpanKind::Server | SpanKind::Consumer))
}

fn places(
    roots: Vec<usize>,
    orphans: &[usize],
    mut children: FxHashMap<usize, Vec<usize>>,
    spans: &[Span],
) -> Vec<Option<Tree>> {
    let mut places: Vec<Option<Tree>> = vec![None; spans.len()];
    let mut missing: FxHashMap<SpanKey, u32> = FxHashMap::default();
    let mut open: Vec<(usize, bool)> = Vec::new();
    let mut next = 0;
    for &top in roots.iter().chain(orphans) {
        let orphan = parent_of(&spans[top]).map(|parent| Orphan {
            parent: *missing.entry(parent).or_insert(next),
            is_called: is_called(&spans[top]),
        });
        open.push((top, false));
        while let Some((position, is_left)) = open.pop() {
            match &mut places[position] {
                Some(tree) if is_left => tree.numbers.1 = next,
                tree => {
                    let numbers = (next, next);
                    *tree = Some(Tree { numbers, orphan });
                    next += 1;
                    open.push((position, true));
                    let own = children.remove(&position).unwrap_or_default();
                    open.extend(own.into_iter().map(|child| (child, false)));
                }
            }
        }
    }
    places
}

/// Goes up from each span until a root or a span that was passed already: one of the same way closes
/// a circle.
fn circles(parents: &[Option<usize>]) -> u64 {
    let mut circles = 0;
    let mut passed_from: Vec<Option<usize>> = vec![None; parents.len()];
    for start in 0..parents.len() {
        let mut at = Some(start);
        while let Some(position) = at {
            if let Some(other) = passed_from[position] {
                circles += u64::from(other == start);
                break;
            }
            passed_from[position] = Some(start);
            at = parents[position];
        }
    }
    circles
}
