//! The parts of a request that event loops served, on the path of who waited for them.
//!
//! The path of a wait goes into the thread that ended it, and follows from there what woke that thread, one wake-up
//! after the other. An event loop was woken for others, too. Where it worked for a part of the request when it ended
//! the wait, the path of that part (`absent.rs`) takes the place of what the loop did since the part began.

use std::collections::BTreeMap;

use slowpath_critical_path::Piece;
use slowpath_model::{HostId, TimeRange, Timestamp};

use crate::absent::absences;
use crate::hosts::{AllHosts, RequestOfHost};
use crate::path::{Step, Walked, stages};

impl<'run> AllHosts<'run> {
    /// The path of `of`, with those of its parts in it.
    pub(crate) fn with_callees(&self, of: RequestOfHost, mut path: Walked<'run>) -> Walked<'run> {
        let mut backwards = Vec::new();
        let mut of_loops = BTreeMap::new();
        while let Some(step) = path.steps.pop() {
            let callee = self.callee(of, &step.piece).filter(|callee| {
                *(of_loops.entry(*callee)).or_insert_with(|| self.is_of_loop(*callee))
            });
            let begin = callee.and_then(|callee| {
                let begin = self.get(callee).window.begin;
                self.hosts().translate(begin, callee.host, of.host)
            });
            let begin = begin.filter(|begin| *begin < step.piece.range.end);
            let Some((callee, begin)) = callee.zip(begin) else {
                backwards.push(step);
                continue;
            };
            let begin = take_since(&mut path.steps, step, begin);
            let range = TimeRange::new(begin, step.piece.range.end);
            let within = self.within(callee, step, range, of.host);
            backwards.extend(within.steps.into_iter().rev());
            path.links.retain(|link| !is_inside(link.at, range));
            path.links.extend(within.links);
        }
        backwards.reverse();
        path.steps = backwards;
        path.links.sort_by_key(|link| link.at);
        path
    }

    /// What of a part's path is within `range` of the clock of `host`, there on top of what `step` is on top of.
    fn within(
        &self,
        part: RequestOfHost,
        step: Step<'run>,
        range: TimeRange,
        host: HostId,
    ) -> Walked<'run> {
        let mut path = self.walked(part);
        let told = |at| self.hosts().translate(at, part.host, host);
        path.links.retain_mut(|link| {
            let at = told(link.at);
            link.at = at.unwrap_or(link.at);
            at.is_some_and(|at| is_inside(at, range))
        });
        path.steps.retain_mut(|inner| {
            let TimeRange { begin, end } = inner.piece.range;
            let told = told(begin).zip(told(end));
            let piece = told
                .and_then(|(begin, end)| clipped(&inner.piece, TimeRange::new(begin, end), range));
            inner.piece = piece.unwrap_or(inner.piece);
            inner.piece.depth += step.piece.depth;
            piece.is_some()
        });
        match path.steps.last_mut() {
            // By clocks that are a little off it may seem to have ended before it woke who waited for it.
            Some(last) => last.piece.range.end = range.end,
            None => path.steps.push(Step {
                piece: Piece {
                    range,
                    ..step.piece
                },
                ..step
            }),
        }
        path
    }

    /// The part of a request for which a thread that is waited for works at the end of a piece of the request's path.
    fn callee(&self, of: RequestOfHost, piece: &Piece<'_>) -> Option<RequestOfHost> {
        let own = self.get(of);
        if piece.depth == 0 || own.tree.is_none() {
            return None;
        }
        let (host, end) = (piece.host, piece.recorded.end);
        let last = TimeRange::new(Timestamp::from_ns(end.ns().saturating_sub(1)), end);
        let (_, request) = self.requests(host).active(piece.thread, last).last()?;
        let callee = RequestOfHost { host, request };
        self.get(callee).is_part_of(own).then_some(callee)
    }

    /// Whether threads do other things while a request cannot go on.
    fn is_of_loop(&self, of: RequestOfHost) -> bool {
        let lines = self.hosts().lines(of.host);
        let mut stages = stages(self.get(of)).into_iter();
        lines.is_some_and(|lines| stages.any(|stage| !absences(self, lines, of, stage).is_empty()))
    }
}

fn is_inside(at: Timestamp, range: TimeRange) -> bool {
    range.begin < at && at < range.end
}

/// Takes away what the thread of `last` does since `begin`, with what others do for which it waits. Says since when.
fn take_since<'run>(steps: &mut Vec<Step<'run>>, last: Step<'run>, begin: Timestamp) -> Timestamp {
    let of_last = |piece: &Piece<'_>| (piece.host, piece.thread, piece.depth);
    let mut first = last;
    while begin < first.piece.range.begin {
        let earlier = steps.pop_if(|earlier| {
            earlier.piece.depth > last.piece.depth
                || of_last(&earlier.piece) == of_last(&last.piece)
        });
        match earlier {
            Some(earlier) => first = earlier,
            None => return first.piece.range.begin,
        }
    }
    let told = first.piece.range;
    let before = TimeRange::new(told.begin, begin);
    if let Some(piece) = clipped(&first.piece, told, before) {
        steps.push(Step { piece, ..first });
    }
    begin
}

/// What of a piece, which is told as `told`, is within `range`.
fn clipped<'run>(piece: &Piece<'run>, told: TimeRange, range: TimeRange) -> Option<Piece<'run>> {
    let inside = told.intersect(range);
    let later = |at: Timestamp, by: i64| Timestamp::from_ns(at.ns().saturating_add(by));
    let recorded = piece.recorded;
    let cut_off = |at: Timestamp, since: Timestamp| at.ns().saturating_sub(since.ns());
    let begin = later(recorded.begin, cut_off(inside.begin, told.begin)).min(recorded.end);
    let end = later(recorded.end, cut_off(inside.end, told.end)).max(begin);
    (!inside.is_empty()).then_some(Piece {
        range: inside,
        recorded: TimeRange::new(begin, end),
        ..*piece
    })
}
