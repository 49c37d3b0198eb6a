//! What a request's latency would be if some of its spans were faster or slower: drag and slack.
//!
//! The request is replayed: a span begins as long after the siblings that had ended before it as it
//! really did, a parent ends as long after its last child as it really did, and nobody does its own
//! work faster. *Drag* is what the request gains when spans take no time; *slack* is how much longer a
//! span may take before the request does. The terms are Devaux's, by way of project scheduling.
//!
//! Siblings fall into blocks that no sibling runs across. What a block gains is passed on whole to all
//! that follows, so only the blocks with a changed span are replayed, not the request.

use std::collections::BinaryHeap;

use slowpath_model::{Nanoseconds, Timestamp};

use crate::timeline::{Node, Timeline};

/// Replays requests of one trace.
pub(crate) struct Replay<'line> {
    line: &'line Timeline,
    /// How much faster each span is; all zero between replays.
    gains: Vec<Nanoseconds>,
    /// When the last of the siblings up to this one has ended, and when this one has.
    ready: Vec<Timestamp>,
    ended: Vec<Timestamp>,
    /// Siblings that may still be replayed for the request.
    patience: usize,
}

/// Siblings replayed per span of a request, for all of its paths together, before its drag is given up; requests of real
/// programs take a handful.
const PATIENCE_PER_SPAN: usize = 300;

impl<'line> Replay<'line> {
    pub(crate) fn new(line: &'line Timeline) -> Self {
        let spans = line.nodes().len();
        Self {
            line,
            gains: vec![Nanoseconds::ZERO; spans],
            ready: vec![Timestamp::MIN; spans],
            ended: vec![Timestamp::MIN; spans],
            patience: 0,
        }
    }

    /// What follows is of one request, which has so many spans.
    pub(crate) fn begin_request(&mut self, spans: usize) {
        self.patience = spans.saturating_mul(PATIENCE_PER_SPAN);
    }

    /// How much sooner the span at `root` would end if the spans at `vanished`, with all below them,
    /// took no time. `None` where the request is such that finding out would take too long: as the work of all calls
    /// since [`Self::begin_request`] counts, one of these is `None` or none is, whatever their order.
    pub(crate) fn drag(&mut self, root: u32, vanished: &[u32]) -> Option<Nanoseconds> {
        let nodes = self.line.nodes();
        let mut changed: BinaryHeap<u32> = vanished.iter().copied().collect();
        let mut touched = Vec::with_capacity(changed.len());
        for &span in vanished {
            self.gains[span as usize] = nodes[span as usize].range.length();
        }
        // Parents come before children in the time line: from its end, siblings come out together.
        while let Some(&last) = changed.peek() {
            let span = &nodes[last as usize];
            if last <= root || self.patience == 0 {
                break;
            }
            let mut gain = Nanoseconds::ZERO;
            let mut replayed = u32::MAX;
            while let Some(&sibling) = changed.peek()
                && nodes[sibling as usize].parent == span.parent
                && sibling > root
            {
                changed.pop();
                touched.push(sibling);
                let node = &nodes[sibling as usize];
                if node.waited && node.block != replayed {
                    gain += self.gain_of_block(node);
                    replayed = node.block;
                }
            }
            if let Some(parent) = span.parent
                && gain > Nanoseconds::ZERO
                && self.gains[parent as usize] == Nanoseconds::ZERO
            {
                self.gains[parent as usize] = gain;
                changed.push(parent);
            }
        }
        let drag = self.gains[root as usize];
        touched.extend(changed);
        for span in touched {
            self.gains[span as usize] = Nanoseconds::ZERO;
        }
        (self.patience > 0).then_some(drag)
    }
}

impl Replay<'_> {
    /// How much sooner the block of siblings that `member` belongs to is over.
    fn gain_of_block(&mut self, member: &Node) -> Nanoseconds {
        let nodes = self.line.nodes();
        let Some(parent) = member.parent.map(|parent| &nodes[parent as usize]) else {
            return Nanoseconds::ZERO;
        };
        let siblings = &nodes[parent.children.start as usize..parent.detached as usize];
        let first = member.block - parent.children.start;
        let end_of = |sibling: u32| match sibling.checked_sub(1) {
            None => parent.range.begin,
            Some(before) => siblings[before as usize].range.end,
        };
        let mut ready = end_of(first);
        let mut last = ready;
        for (sibling, number) in siblings[first as usize..].iter().zip(first..) {
            if sibling.block != member.block {
                break;
            }
            let position = (parent.children.start + number) as usize;
            // What it waited for ended then; and now?
            let awaited = sibling.before;
            let now = match awaited.checked_sub(1).filter(|_| awaited > first) {
                None => end_of(awaited),
                Some(before) => {
                    let before = (parent.children.start + before) as usize;
                    match sibling.names_before {
                        true => self.ended[before],
                        false => self.ready[before],
                    }
                }
            };
            let gained = end_of(awaited).since(now) + self.gains[position];
            let end = sibling.range.end;
            self.ended[position] = earlier(end, gained);
            ready = ready.max(self.ended[position]);
            self.ready[position] = ready;
            last = end;
            self.patience = self.patience.saturating_sub(1);
        }
        last.since(ready)
    }
}

fn earlier(at: Timestamp, by: Nanoseconds) -> Timestamp {
    Timestamp::from_ns(at.ns().saturating_sub_unsigned(by.get()))
}

/// How much longer each span of the time line may take before its root does; `None` for spans that
/// nobody waits for, those below them, and those below no root.
pub(crate) fn slacks(line: &Timeline, roots: &[u32]) -> Vec<Option<Nanoseconds>> {
    let nodes = line.nodes();
    let mut slacks: Vec<Option<Nanoseconds>> = vec![None; nodes.len()];
    for &root in roots {
        slacks[root as usize] = Some(Nanoseconds::ZERO);
    }
    for (position, node) in nodes.iter().enumerate() {
        let children = line.waited_children(node);
        let (Some(slack), Some(last)) = (slacks[position], children.last()) else {
            continue;
        };
        let first = node.children.start as usize;
        // The latest time at which all up to a sibling must have ended, and at which it must have.
        let mut all_by = vec![Timestamp::MAX; children.len()];
        let mut one_by = vec![Timestamp::MAX; children.len()];
        let mut by = last.range.end + slack;
        for (number, child) in children.iter().enumerate().rev() {
            by = by.min(all_by[number]);
            let own = by.min(one_by[number]).since(child.range.end);
            slacks[first + number] = Some(own);
            if let Some(awaited) = child.before.checked_sub(1) {
                let awaited = awaited as usize;
                let limits = match child.names_before {
                    true => &mut one_by,
                    false => &mut all_by,
                };
                limits[awaited] = limits[awaited].min(children[awaited].range.end + own);
            }
        }
    }
    slacks
}
