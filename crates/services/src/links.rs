//! Who is below whom in one distributed trace, whatever its spans claim.
//!
//! Spans arrive doubled, with parents that are missing, or as their own grandparents. Here each span
//! gets at most one parent and no span is its own ancestor; what had to be mended is counted. Time
//! plays no part here.

use serde::Serialize;
use slowpath_model::{SpanId, Timestamp};
use slowpath_read_spans::SpanKind;
use utoipa::ToSchema;

use crate::mark::Mark;
use crate::record::SpanRecord;

/// What was wrong with traces; counts of spans.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, ToSchema)]
#[schema(as = MendedSpans)]
pub struct Mended {
    /// Named the same id as another of the same kind; left out.
    pub duplicates: u64,
    /// Of these, differed from the one that was kept: in name, parent, or by more than 2 µs in time.
    pub conflicting: u64,
    /// Named a parent that is not there; became roots.
    pub orphans: u64,
    /// Were their own ancestors; the earliest of each circle became a root.
    pub circles: u64,
    /// Served a call outside of the caller's time: the clocks of two hosts differ; moved.
    pub skewed: u64,
    /// Lay outside of their parent's time altogether; the parent does not wait for them.
    pub outside: u64,
    /// Began at least a millisecond before their parent, which cannot be by one clock.
    pub early: u64,
    /// Began more than an hour after their parent had ended: a clock is wrong, or a time was not set.
    pub late: u64,
}

impl Mended {
    /// Adds the counts of `other`.
    pub fn merge(&mut self, other: &Self) {
        self.duplicates += other.duplicates;
        self.conflicting += other.conflicting;
        self.orphans += other.orphans;
        self.circles += other.circles;
        self.skewed += other.skewed;
        self.outside += other.outside;
        self.early += other.early;
        self.late += other.late;
    }
}

/// The spans of a trace with their parents, as positions.
pub(crate) struct Links {
    /// Parents; `None` for roots.
    parents: Vec<Option<u32>>,
    /// Children of all spans, parent by parent, and where each parent's begin.
    children: Vec<u32>,
    begins: Vec<u32>,
}

impl Links {
    /// Links the spans of one trace, sorted by id; duplicates are taken out of `records`.
    pub(crate) fn new(records: &mut Vec<SpanRecord>, mended: &mut Mended) -> Self {
        remove_duplicates(records, mended);
        let mut parents: Vec<Option<u32>> = (records.iter())
            .map(|record| {
                let parent = parent_of(records, record);
                mended.orphans += u64::from(parent.is_none() && record.parent.is_some());
                parent
            })
            .collect();
        mended.circles += cut_circles(records, &mut parents);
        let (children, begins) = children_of(&parents);
        Self {
            parents,
            children,
            begins,
        }
    }

    pub(crate) fn roots(&self) -> impl Iterator<Item = u32> {
        (self.parents.iter().zip(0..))
            .filter(|(parent, _)| parent.is_none())
            .map(|(_, position)| position)
    }

    pub(crate) fn children(&self, parent: u32) -> &[u32] {
        let parent = parent as usize;
        &self.children[self.begins[parent] as usize..self.begins[parent + 1] as usize]
    }
}

/// Of spans with the same id and side one stays, whatever order they came in: the first by times, parent, kind and
/// failure, as requests have it; of spans that agree in these always the same one, but that may be another one there. A
/// client and a server that share an id (as Zipkin has it) both stay, the client first.
fn remove_duplicates(records: &mut Vec<SpanRecord>, mended: &mut Mended) {
    let all = records.len();
    let identity = |record: &SpanRecord| (record.span, record.kind == SpanKind::Server);
    records.sort_unstable_by_key(identity);
    if records.is_sorted_by(|one, next| identity(one) < identity(next)) {
        return;
    }
    let content = |record: &SpanRecord| {
        (
            identity(record),
            (record.range.begin, record.range.end),
            record.parent.filter(|_| !record.detached),
            (record.kind as u8, record.failed),
            (record.parent, record.follows, record.detached),
            (record.service, record.operation),
            record.mark == Mark::NONE,
        )
    };
    records.sort_unstable_by_key(content);
    records.dedup_by(|record, kept| {
        let is_duplicate = identity(record) == identity(kept);
        mended.conflicting += u64::from(is_duplicate && !is_copy(record, kept));
        is_duplicate
    });
    mended.duplicates += (all - records.len()) as u64;
}

/// Whether two spans of one id say the same, but for the microseconds that some formats round to.
fn is_copy(one: &SpanRecord, other: &SpanRecord) -> bool {
    const ROUNDED_NS: u64 = 2_000;
    let near = |one: Timestamp, other: Timestamp| one.ns().abs_diff(other.ns()) <= ROUNDED_NS;
    let said = |record: &SpanRecord| (record.service, record.operation, record.parent);
    said(one) == said(other)
        && near(one.range.begin, other.range.begin)
        && near(one.range.end, other.range.end)
}

/// The position of the span that `record` hangs below. Where client and server share the id, that
/// is the server for others and the client for the server.
fn parent_of(records: &[SpanRecord], record: &SpanRecord) -> Option<u32> {
    let position = |id: SpanId, server: bool| {
        let key = |other: &SpanRecord| (other.span, other.kind == SpanKind::Server);
        let position = records.binary_search_by_key(&(id, server), key).ok()?;
        u32::try_from(position).ok()
    };
    if record.kind == SpanKind::Server
        && let Some(client) = position(record.span, false)
    {
        return Some(client);
    }
    let parent = record.parent?;
    position(parent, true).or_else(|| position(parent, false))
}

/// Makes the earliest span of every circle a root; how many circles there were.
fn cut_circles(records: &[SpanRecord], parents: &mut [Option<u32>]) -> u64 {
    let mut circles = 0;
    // Which walk came by each span first; 0: none yet.
    let mut walks = vec![0; parents.len()];
    for (start, walk) in (0..parents.len()).zip(1..) {
        let mut position = start;
        while walks[position] == 0 {
            walks[position] = walk;
            match parents[position] {
                Some(parent) => position = parent as usize,
                None => break,
            }
        }
        if walks[position] != walk || parents[position].is_none() {
            continue;
        }
        let next = |position: &usize| parents[*position].map(|parent| parent as usize);
        let rest = std::iter::successors(next(&position), next);
        let circle = std::iter::once(position).chain(rest.take_while(|other| *other != position));
        let earliest = circle.min_by_key(|&member| (records[member].range.begin, member));
        if let Some(earliest) = earliest {
            parents[earliest] = None;
            circles += 1;
        }
    }
    circles
}

fn children_of(parents: &[Option<u32>]) -> (Vec<u32>, Vec<u32>) {
    let mut begins = vec![0_u32; parents.len() + 2];
    for parent in parents.iter().flatten() {
        begins[*parent as usize + 2] += 1;
    }
    for position in 1..begins.len() {
        begins[position] += begins[position - 1];
    }
    // Filling moves each begin to the next parent's, which is where it belongs one place earlier.
    let mut children = vec![0; begins.last().map_or(0, |&all| all as usize)];
    for (parent, child) in parents.iter().zip(0..) {
        if let Some(parent) = parent {
            let free = &mut begins[*parent as usize + 1];
            children[*free as usize] = child;
            *free += 1;
        }
    }
    (children, begins)
}
