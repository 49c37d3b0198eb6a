//! One distributed trace on one time line: for each span, the time in which its parent waits for it.
//!
//! Spans are timed by the clocks of several hosts and outlive those who called them. Here a server is
//! moved into its client's time, a child is cut to its parent, and siblings that overlap by less than
//! clocks agree are moved apart. Everything after this (path, drag, slack) works on these times and
//! can rely on: a waited-for child lies within its parent.

use std::cmp::Reverse;
use std::ops::Range;

use rustc_hash::FxHashMap;
use slowpath_model::{Nanoseconds, SpanId, TimeRange, Timestamp};
use slowpath_read_spans::SpanKind;

use crate::links::{Links, Mended};
use crate::record::SpanRecord;

/// Siblings that overlap by less than this part of their parent's time are taken to follow each other
/// (CRISP's heuristic for clocks that do not agree): 1 in 100.
const OVERLAP_PARTS: u64 = 100;

/// Children that begin earlier than their parent by less are not worth a word: times are rounded.
const WORTH_A_WORD: Nanoseconds = Nanoseconds(1_000_000);
/// Children that begin so long after their parent's end are worth one: messages and jobs are rarely older.
const LONG_AFTER: Nanoseconds = Nanoseconds(3_600_000_000_000);

/// A span on the time line of its trace.
#[derive(Clone, Debug)]
pub struct Node {
    /// The span.
    pub record: SpanRecord,
    /// Position of its parent in the time line.
    pub parent: Option<u32>,
    /// All of its time, moved where clocks differ.
    pub whole: TimeRange,
    /// The part of it that its parent waits for. For spans that nobody waits for: all.
    pub range: TimeRange,
    /// Whether its parent waits for it; roots count as waited for.
    pub waited: bool,
    /// `whole` without the time of the children that it waits for.
    pub exclusive: Nanoseconds,
    /// Positions of its children; those that it waits for come first, in the order of their ends.
    pub(crate) children: Range<u32>,
    /// Where the children that it does not wait for begin.
    pub(crate) detached: u32,
    /// How many siblings had ended when it began: the last of these is what it waited for.
    pub(crate) before: u32,
    /// It names that sibling itself; the ones before do not matter to it.
    pub(crate) names_before: bool,
    /// Position of the first sibling of its block: no sibling runs across the border of two blocks.
    pub(crate) block: u32,
    /// What was added to its recorded time, in nanoseconds.
    shift: i64,
}

/// The spans of one trace, parents before children.
#[derive(Clone, Debug, Default)]
pub struct Timeline {
    nodes: Vec<Node>,
}

impl Timeline {
    /// Puts the spans of one trace on a time line; what had to be mended is counted.
    pub fn new(mut records: Vec<SpanRecord>, mended: &mut Mended) -> Self {
        let links = Links::new(&mut records, mended);
        let mut line = Self {
            nodes: Vec::with_capacity(records.len()),
        };
        // Positions in `records` of the nodes.
        let mut positions: Vec<u32> = links.roots().collect();
        positions.sort_by_key(|&root| {
            let record = &records[root as usize];
            (record.range.begin, record.span)
        });
        for &root in &positions {
            let record = records[root as usize];
            line.nodes.push(Node::new(record, None, record.range, 0));
        }
        let mut parent = 0;
        while parent < line.nodes.len() {
            let children = links.children(positions[parent]);
            line.add_children(parent, children, &records, &mut positions, mended);
            parent += 1;
        }
        line
    }

    /// All spans; a span's position here is what [`Node::parent`] means.
    pub fn nodes(&self) -> &[Node] {
        &self.nodes
    }

    /// The children that `node` waits for, in the order of their ends.
    pub fn waited_children(&self, node: &Node) -> &[Node] {
        &self.nodes[node.children.start as usize..node.detached as usize]
    }

    fn add_children(
        &mut self,
        position: usize,
        children: &[u32],
        records: &[SpanRecord],
        positions: &mut Vec<u32>,
        mended: &mut Mended,
    ) {
        let parent = &self.nodes[position];
        let placed = children.iter().map(|&child| {
            let record = records[child as usize];
            (child, place(record, parent, position as u32, mended))
        });
        let (mut waited, detached): (Vec<_>, Vec<_>) = placed.partition(|(_, node)| node.waited);
        let outlasting = detached
            .iter()
            .filter(|(_, node)| !detaches(parent, &node.record));
        let exclusive = exclusive(parent.whole, waited.iter().chain(outlasting));
        waited.sort_unstable_by_key(|(_, node)| order(node));
        move_apart(&mut waited, parent.range);
        waited.sort_unstable_by_key(|(_, node)| order(node));
        let begin = self.nodes.len() as u32;
        link_siblings(&mut waited, begin);
        let end_of_waited = begin + waited.len() as u32;
        for (child, node) in waited.into_iter().chain(detached) {
            positions.push(child);
            self.nodes.push(node);
        }
        let end = self.nodes.len() as u32;
        let parent = &mut self.nodes[position];
        parent.exclusive = exclusive;
        parent.children = begin..end;
        parent.detached = end_of_waited;
    }
}

impl Node {
    fn new(record: SpanRecord, parent: Option<u32>, whole: TimeRange, shift: i64) -> Self {
        Self {
            record,
            parent,
            whole,
            range: whole,
            waited: true,
            exclusive: Nanoseconds::ZERO,
            children: 0..0,
            detached: 0,
            before: 0,
            names_before: false,
            block: 0,
            shift,
        }
    }

    /// Moves it, with all that will hang below it, and cuts it to `bounds`.
    fn move_back(&mut self, by: Nanoseconds, bounds: TimeRange) {
        let by = -i64::try_from(by.get()).unwrap_or(i64::MAX);
        self.shift = self.shift.saturating_add(by);
        self.whole = moved(self.whole, by);
        self.range = moved(self.range, by).intersect(bounds);
    }
}

fn moved(range: TimeRange, by: i64) -> TimeRange {
    let move_point = |point: Timestamp| Timestamp::from_ns(point.ns().saturating_add(by));
    TimeRange::new(move_point(range.begin), move_point(range.end))
}

/// Ends first; of spans with the same end the longest last, as it is what the parent waited for; but
/// those of no length come after what ended just then.
fn order(node: &Node) -> (Timestamp, bool, Reverse<Timestamp>, SpanId) {
    let TimeRange { begin, end } = node.range;
    (end, begin == end, Reverse(begin), node.record.span)
}

/// Puts a child onto the time line of its parent.
fn place(record: SpanRecord, parent: &Node, position: u32, mended: &mut Mended) -> Node {
    let mut shift = parent.shift;
    let mut whole = moved(record.range, shift);
    let outer = parent.whole;
    let within =
        |inner: TimeRange, outer: TimeRange| outer.begin <= inner.begin && inner.end <= outer.end;
    // A client waits for its server. Where the server's time says otherwise, the clocks differ.
    let call = parent.record.kind == SpanKind::Client && record.kind == SpanKind::Server;
    if call && !within(whole, outer) {
        let (spare, fits) = (
            outer.length() - whole.length(),
            whole.length() <= outer.length(),
        );
        if fits || whole.begin < outer.begin {
            let begin = outer.begin + Nanoseconds(spare.get() / 2);
            let correction = begin.ns().saturating_sub(whole.begin.ns());
            shift = shift.saturating_add(correction);
            whole = moved(whole, correction);
            mended.skewed += 1;
        }
    }
    let detached = detaches(parent, &record);
    let shared = whole.intersect(parent.range);
    let touches = within(whole, parent.range) || !shared.is_empty();
    let outside = !within(whole, outer) && whole.intersect(outer).is_empty();
    mended.outside += u64::from(outside && !detached);
    let early = outer.begin.since(whole.begin) >= WORTH_A_WORD;
    mended.early += u64::from(early && !detached);
    mended.late += u64::from(whole.begin.since(outer.end) > LONG_AFTER);
    let mut node = Node::new(record, Some(position), whole, shift);
    node.waited = touches && !detached;
    if node.waited {
        node.range = shared;
    }
    node
}

/// Whether `parent` goes on without waiting for its child, whenever that runs.
fn detaches(parent: &Node, child: &SpanRecord) -> bool {
    let message = parent.record.kind == SpanKind::Producer && child.kind == SpanKind::Consumer;
    child.detached || message
}

/// The time of `whole` in which none of the children runs.
fn exclusive<'line>(
    whole: TimeRange,
    children: impl Iterator<Item = &'line (u32, Node)>,
) -> Nanoseconds {
    let mut ranges: Vec<TimeRange> = children
        .map(|(_, child)| child.whole.intersect(whole))
        .collect();
    ranges.sort_unstable_by_key(|range| range.begin);
    let mut alone = whole.length();
    let mut covered = whole.begin;
    for range in ranges {
        alone = alone - range.end.since(range.begin.max(covered));
        covered = covered.max(range.end);
    }
    alone
}

/// Moves siblings apart that overlap by less than clocks agree, walking back from the last one as the
/// critical path does: the earlier one moves, by no more than it overlaps and its follower moved.
fn move_apart(children: &mut [(u32, Node)], parent: TimeRange) {
    let recorded: Vec<TimeRange> = children.iter().map(|(_, node)| node.range).collect();
    let mut begins: Vec<Timestamp> = recorded.iter().map(|range| range.begin).collect();
    begins.sort_unstable();
    let ends_in = |range: TimeRange| {
        let up_to = |at| recorded.partition_point(|other| other.end <= at);
        up_to(range.end) - recorded.partition_point(|other| other.end < range.begin)
    };
    let begins_in = |range: TimeRange| {
        let up_to = |at| begins.partition_point(|begin| *begin <= at);
        up_to(range.end) - begins.partition_point(|begin| *begin < range.begin)
    };
    let Some(mut later) = children.len().checked_sub(1) else {
        return;
    };
    for earlier in (0..later).rev() {
        let (before, after) = (recorded[earlier], recorded[later]);
        if before.end > after.begin {
            let overlap = TimeRange::new(after.begin, before.end);
            let staggered = before.begin < after.begin && before.end < after.end;
            let small =
                overlap.length().get().saturating_mul(OVERLAP_PARTS) < parent.length().get();
            let named = children[later].1.record.follows.is_some();
            // A third sibling that begins or ends meanwhile: they do run at the same time.
            if !staggered || !small || named || begins_in(overlap) + ends_in(overlap) != 2 {
                continue;
            }
        }
        let by = before.end.since(children[later].1.range.begin);
        if by > Nanoseconds::ZERO {
            children[earlier].1.move_back(by, parent);
        }
        later = earlier;
    }
}

/// Finds for each sibling what it waited for, and the blocks.
fn link_siblings(children: &mut [(u32, Node)], first: u32) {
    let ranges: Vec<TimeRange> = children.iter().map(|(_, node)| node.range).collect();
    let mut by_span: FxHashMap<SpanId, usize> = FxHashMap::default();
    if children
        .iter()
        .any(|(_, node)| node.record.follows.is_some())
    {
        by_span.extend((children.iter().map(|(_, node)| node.record.span)).zip(0..));
    }
    // The earliest point that matters to any sibling from here on.
    let mut needed = Timestamp::MAX;
    let mut border_before = vec![false; children.len()];
    for (position, (_, node)) in children.iter_mut().enumerate().rev() {
        let begin = node.range.begin;
        let named = (node
            .record
            .follows
            .and_then(|span| by_span.get(&span).copied()))
        .filter(|&named| named < position && ranges[named].end <= begin);
        let ended = ranges
            .partition_point(|range| range.end <= begin)
            .min(position);
        node.before = named.map_or(ended, |named| named + 1) as u32;
        node.names_before = named.is_some();
        // One that names its predecessor shares the predecessor's block.
        needed = needed.min(named.map_or(begin, |named| {
            Timestamp::from_ns(ranges[named].end.ns().saturating_sub(1))
        }));
        border_before[position] = position == 0 || ranges[position - 1].end <= needed;
    }
    let mut block = first;
    for ((position, (_, node)), border) in (first..).zip(children.iter_mut()).zip(border_before) {
        if border {
            block = position;
        }
        node.block = block;
    }
}
