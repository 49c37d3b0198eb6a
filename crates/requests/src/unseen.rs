//! Processes whose spans do not stay where they begin, though no event says when they leave: goroutines, and whatever else
//! has several requests take turns on few threads.
//!
//! Three things tell: spans that one thread takes up and another one leaves, spans that end on another thread than they
//! begin on, and spans of different traces on one thread of which the one that began first also ends first, before the
//! other one. No thread that serves one request after the other has such. Who serves what is a guess then, and nobody is
//! said to be active.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound::Excluded;

use slowpath_model::{Nanoseconds, ProcessId, ThreadId, TimeRange, Timestamp, TraceId};

use crate::request::{PlacedBy, Request, Shown};

/// Of fewer spans little can be said, but where most of them move.
const LEAST: usize = 20;

/// Spans of a process that does not tell which thread serves them when.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Moving {
    /// Those that last as long, or longer.
    pub(crate) from: Nanoseconds,
    pub(crate) sign: Sign,
}

/// What tells, in spans of which the threads of begin and end are known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sign {
    /// Of so many spans, these end on another thread than they begin on.
    EndElsewhere { moved: usize, all: usize },
    /// Of so many that end where they begin, these cross others of different traces.
    TakeTurns { crossing: usize, all: usize },
    /// So often a thread took up a span, and so often another one than that left it (`tellers.rs`).
    LeftElsewhere { moved: usize, all: usize },
}

impl Moving {
    /// Where one in a hundred is left elsewhere, all spans are meant: fewer are those of which events were lost.
    pub(crate) fn left(moved: usize, all: usize) -> Option<Self> {
        (moved > 0 && moved * 100 >= all).then_some(Self {
            from: Nanoseconds::ZERO,
            sign: Sign::LeftElsewhere { moved, all },
        })
    }
}

/// Whether a request is one of those that move unseen.
pub(crate) fn may_move(request: &Request, unseen: &BTreeMap<ProcessId, Moving>) -> bool {
    let moving = request.process.and_then(|process| unseen.get(&process));
    moving.is_some_and(|moving| request.window.length() >= moving.from) && !is_followed(request)
}

/// Whether threads told when they served it, the one that ended it among them.
fn is_followed(request: &Request) -> bool {
    let ended_by = request.end.and_then(|end| end.thread);
    let mut servers = request.servings.iter().map(|serving| serving.thread);
    request.placed_by == PlacedBy::Attach
        && ended_by.is_none_or(|thread| servers.any(|server| server == thread))
}

/// The processes whose spans go from thread to thread, or take turns on one, without a word of when; of those in `known`
/// that is known.
pub(crate) fn moving_unseen(
    requests: &[Request],
    known: BTreeMap<ProcessId, Moving>,
) -> BTreeMap<ProcessId, Moving> {
    let mut spans: BTreeMap<ProcessId, Vec<&Request>> = BTreeMap::new();
    for request in requests {
        if let (PlacedBy::Start, Shown::Whole, Some(process), Some(_)) = (
            request.placed_by,
            request.shown,
            request.process,
            request.ends(),
        ) {
            spans.entry(process).or_default().push(request);
        }
    }
    let moving = spans.into_iter().filter_map(|(process, spans)| {
        let moving = take_turns(&spans).or_else(|| end_elsewhere(&spans));
        Some((process, moving?))
    });
    moving.chain(known).collect()
}

/// Where one in a hundred crosses others, all are meant, and whatever lasts a shorter time: it may lie in another one
/// without a sign.
fn take_turns(spans: &[&Request]) -> Option<Moving> {
    let mut staying: Vec<Staying> = (spans.iter())
        .filter(|span| !span.ends_elsewhere())
        .filter_map(|span| {
            Some(Staying {
                thread: span.start?.thread?,
                range: span.window,
                trace: span.key.trace,
            })
        })
        .collect();
    staying.sort_unstable_by_key(|span| (span.thread, span.range.begin, Reverse(span.range.end)));
    let of_threads = staying.chunk_by(|one, other| one.thread == other.thread);
    let crossing: usize = of_threads.map(crossing).sum();
    let all = staying.len();
    let sign = Sign::TakeTurns { crossing, all };
    (crossing > 0 && crossing * 100 >= all).then_some(Moving {
        from: Nanoseconds::ZERO,
        sign,
    })
}

/// A span that ends on the thread on which it begins.
#[derive(Clone, Copy, Debug)]
struct Staying {
    thread: ThreadId,
    range: TimeRange,
    trace: TraceId,
}

/// How many spans of a thread, in the order of their begin and the longer ones first, cross others of different traces.
fn crossing(spans: &[Staying]) -> usize {
    /// So many are looked at for each; the others that it crosses are most likely alike.
    const LOOKS: usize = 8;
    if are_nested(spans) {
        return 0;
    }
    let mut crosses = vec![false; spans.len()];
    // By their end, those that began before: of which one ends within it?
    let mut known: BTreeSet<(Timestamp, usize)> = BTreeSet::new();
    for (position, span) in spans.iter().enumerate() {
        while known
            .first()
            .is_some_and(|(end, _)| *end <= span.range.begin)
        {
            known.pop_first();
        }
        let within = known.range(..(span.range.end, 0)).take(LOOKS);
        crosses[position] = within
            .into_iter()
            .any(|(_, other)| spans[*other].trace != span.trace);
        known.insert((span.range.end, position));
    }
    // By their begin, those that end later: of which one begins within it?
    let mut order: Vec<usize> = (0..spans.len()).collect();
    order.sort_unstable_by_key(|&position| (Reverse(spans[position].range.end), position));
    known.clear();
    for same_end in order.chunk_by(|one, other| spans[*one].range.end == spans[*other].range.end) {
        for &position in same_end {
            let TimeRange { begin, end } = spans[position].range;
            if begin == end {
                continue;
            }
            let within = (Excluded((begin, usize::MAX)), Excluded((end, 0)));
            let mut within = known.range(within).take(LOOKS);
            crosses[position] |=
                within.any(|(_, other)| spans[*other].trace != spans[position].trace);
        }
        known.extend(
            same_end
                .iter()
                .map(|&position| (spans[position].range.begin, position)),
        );
    }
    crosses.into_iter().filter(|crosses| *crosses).count()
}

/// Whether each of these ends before those end that began before and last until then: mostly so, and soon known.
fn are_nested(spans: &[Staying]) -> bool {
    let mut open: Vec<Timestamp> = Vec::new();
    spans.iter().all(|span| {
        while open.pop_if(|end| *end <= span.range.begin).is_some() {}
        let is_within = open.last().is_none_or(|end| span.range.end <= *end);
        open.push(span.range.end);
        is_within
    })
}

/// Spans of about one length move, or they do not: those that last longer wait for more. From the shortest of which a
/// tenth and more moved; spans that one thread hands over at their end only are rarer. Where there are few, or few that
/// last so long, more than half of them must have moved.
fn end_elsewhere(spans: &[&Request]) -> Option<Moving> {
    // By the power of two that is no longer: how many, and how many of them moved.
    let mut lengths: BTreeMap<Reverse<u32>, (usize, usize)> = BTreeMap::new();
    for span in spans {
        let power = span.window.length().0.max(1).ilog2();
        let (all, moved) = lengths.entry(Reverse(power)).or_default();
        *all += 1;
        *moved += usize::from(span.ends_elsewhere());
    }
    let mut found = None;
    let (mut all, mut moved) = (0, 0);
    // Longest first. Too few of one length are taken together with shorter ones, and at last with longer ones.
    let (mut some, mut some_moved, mut do_move) = (0, 0, false);
    for (Reverse(power), (of_length, of_length_moved)) in lengths {
        (all, moved) = (all + of_length, moved + of_length_moved);
        (some, some_moved) = (some + of_length, some_moved + of_length_moved);
        if some >= LEAST {
            do_move = some_moved * 10 >= some;
            (some, some_moved) = (0, 0);
        }
        let most_move = moved > 1 && moved * 2 > all;
        if do_move || most_move {
            let from = Nanoseconds(1 << power);
            let sign = Sign::EndElsewhere { moved, all };
            found = Some(Moving { from, sign });
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn those_that_cross_are_counted_whether_all_others_are_nested_or_not() {
        const TIMES: i64 = 5;
        let ranges: Vec<(i64, i64)> = (0..TIMES)
            .flat_map(|begin| (begin..TIMES).map(move |end| (begin, end)))
            .collect();
        let span = |(begin, end), low| Staying {
            thread: ThreadId(7),
            range: TimeRange::new(Timestamp::from_ns(begin), Timestamp::from_ns(end)),
            trace: TraceId { high: 0, low },
        };
        let cross = |one: &Staying, other: &Staying| {
            let (one_range, other_range) = (one.range, other.range);
            let in_turn = |first: TimeRange, then: TimeRange| {
                first.begin < then.begin && then.begin < first.end && first.end < then.end
            };
            one.trace != other.trace
                && (in_turn(one_range, other_range) || in_turn(other_range, one_range))
        };
        let mut counts = BTreeSet::new();
        for &one in &ranges {
            for &other in &ranges {
                for &third in &ranges {
                    let mut spans = [span(one, 1), span(other, 2), span(third, 3)];
                    spans.sort_by_key(|span| (span.range.begin, Reverse(span.range.end)));
                    let crosses = |span: &&Staying| spans.iter().any(|other| cross(span, other));
                    let expected = spans.iter().filter(crosses).count();
                    assert_eq!(crossing(&spans), expected, "{spans:?}");
                    counts.insert(expected);
                }
            }
        }
        assert_eq!(counts, BTreeSet::from([0, 2, 3]));
    }
}
