//! Spans that files hold more than once, as where one system's export lies beside another's.
//!
//! Copies say the same but for the microseconds that some formats round to, and one is kept. Spans of
//! one id that differ are all kept: which of them is meant cannot be known here.

use rustc_hash::FxHashMap;
use slowpath_model::Timestamp;
use slowpath_read_spans::Span;

use crate::join::key_of;
use crate::request::SpanKey;

/// How many spans have the id of an earlier one.
pub(crate) struct Repeated {
    /// And say the same; left out.
    pub(crate) copies: u64,
    /// And are of the same side of a call, but differ.
    pub(crate) conflicting: u64,
}

/// `spans` in the same order, without copies.
pub(crate) fn without_copies(spans: Vec<Span>) -> (Vec<Span>, Repeated) {
    let mut repeated = Repeated {
        copies: 0,
        conflicting: 0,
    };
    let mut kept: Vec<Span> = Vec::with_capacity(spans.len());
    let mut by_key: FxHashMap<SpanKey, Vec<usize>> = FxHashMap::default();
    for span in spans {
        let same_id = by_key.entry(key_of(&span)).or_default();
        if same_id.iter().any(|&other| is_copy(&kept[other], &span)) {
            repeated.copies += 1;
            continue;
        }
        // Both sides of a call may have one id.
        let is_of_same_side = |&other: &usize| kept[other].kind == span.kind;
        repeated.conflicting += u64::from(same_id.iter().any(is_of_same_side));
        same_id.push(kept.len());
        kept.push(span);
    }
    (kept, repeated)
}

fn is_copy(one: &Span, other: &Span) -> bool {
    const ROUNDED_NS: u64 = 2_000;
    let near = |one: Timestamp, other: Timestamp| one.ns().abs_diff(other.ns()) <= ROUNDED_NS;
    one.kind == other.kind
        && one.service == other.service
        && one.operation == other.operation
        && one.parent() == other.parent()
        && near(one.begin, other.begin)
        && near(one.end, other.end)
}
