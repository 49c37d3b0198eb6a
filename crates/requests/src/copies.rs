//! Spans of one id: files may hold a span more than once, as where one system's export lies beside
//! another's, and different spans may have one id by mistake.
//!
//! One of each id and side of a call is kept: the first by times, parent, kind and failure, as services have it. Where
//! spans agree in all of these, it is the first by name here; it may be another one there, where only hashes of names
//! are known. Copies say the same, but for the microseconds that some formats round to. Spans' own events are told
//! twice where two recordings hold them, as a snapshot and the recording that it is of do: then they are the same to
//! the last bit.

use std::cmp::Ordering;

use slowpath_model::Timestamp;
use slowpath_read_spans::{Span, SpanKind, SpanStatus};

use crate::events::SpanEvent;
use crate::join::key_of;
use crate::request::SpanKey;

/// How many spans were left out as they have the id of another one of the same side of a call.
#[derive(Default)]
pub(crate) struct Repeated {
    /// And say the same.
    pub(crate) copies: u64,
    /// And differ.
    pub(crate) conflicting: u64,
}

/// One span of each id and side, in the same order.
pub(crate) fn one_of_each(spans: Vec<Span>) -> (Vec<Span>, Repeated) {
    let mut order: Vec<usize> = (0..spans.len()).collect();
    order.sort_by(|&one, &other| by_content(&spans[one], &spans[other]));
    let mut repeated = Repeated::default();
    let mut is_kept = vec![true; spans.len()];
    let mut last: Option<&Span> = None;
    for position in order {
        let span = &spans[position];
        let same_id = last.filter(|last| identity(last) == identity(span));
        let Some(same_id) = same_id else {
            last = Some(span);
            continue;
        };
        is_kept[position] = false;
        match is_copy(same_id, span) {
            true => repeated.copies += 1,
            false => repeated.conflicting += 1,
        }
    }
    let kept = spans.into_iter().zip(is_kept);
    let kept = kept.filter_map(|(span, is_kept)| is_kept.then_some(span));
    (kept.collect(), repeated)
}

/// Leaves out events that are there already, by the same thread at the same time; how many these are.
/// `events` are in the order of time.
pub(crate) fn told_once(events: &mut Vec<SpanEvent>) -> u64 {
    /// Of more events at one time, as of a trace without a clock, the later ones are not compared.
    const MOST_ALIKE: usize = 64;
    let before = events.len();
    let mut at_one_time: Vec<SpanEvent> = Vec::new();
    events.retain(|event| {
        if at_one_time.first().is_none_or(|first| first.at != event.at) {
            at_one_time.clear();
        }
        let is_new = !at_one_time.contains(event);
        if is_new && at_one_time.len() < MOST_ALIKE {
            at_one_time.push(*event);
        }
        is_new
    });
    (before - events.len()) as u64
}

/// Both sides of a call may have one id.
fn identity(span: &Span) -> (SpanKey, bool) {
    (key_of(span), span.kind == SpanKind::Server)
}

/// The order of spans of one id: the first is kept.
fn by_content(one: &Span, other: &Span) -> Ordering {
    let said = |span: &Span| {
        let failed = span.status == SpanStatus::Error;
        (span.begin, span.end, span.parent(), span.kind as u8, failed)
    };
    (identity(one).cmp(&identity(other)))
        .then_with(|| said(one).cmp(&said(other)))
        .then_with(|| one.service.cmp(&other.service))
        .then_with(|| one.operation.cmp(&other.operation))
}

fn is_copy(one: &Span, other: &Span) -> bool {
    const ROUNDED_NS: u64 = 2_000;
    let near = |one: Timestamp, other: Timestamp| one.ns().abs_diff(other.ns()) <= ROUNDED_NS;
    one.service == other.service
        && one.operation == other.operation
        && one.parent() == other.parent()
        && near(one.begin, other.begin)
        && near(one.end, other.end)
}
