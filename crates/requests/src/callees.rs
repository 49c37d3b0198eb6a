//! The parts of a request that event loops serve, or several threads in turn, on the path of who waits for them.
//!
//! The path of a wait goes into the thread that ended it, and follows from there what woke that thread, one wake-up
//! after the other. An event loop was woken for others, too, also while a thread to which it gave the request served
//! it. Where the thread had worked last for a part of the request when it ended the wait, the path of that part
//! (`path.rs`) takes the place of what the thread did since the part began. That path may lead to other threads, which
//! work for parts of the part: these take their places in turn. So it goes down the tree of spans and back in time, and
//! ends.

use std::collections::BTreeMap;
use std::iter::successors;
use std::rc::Rc;

use slowpath_critical_path::{BareLink, LinkKind, Piece};
use slowpath_model::{HostId, Nanoseconds, TimeRange, Timestamp};

use crate::absent::absences;
use crate::hosts::{AllHosts, RequestOfHost};
use crate::path::{Stage, Step, Walked, stages};

impl<'run> AllHosts<'run> {
    /// The path of a request, with those of its parts in it; the last first.
    pub(crate) fn with_callees(&self, of: RequestOfHost) -> Walked<'run> {
        let path = self.walked(of);
        if self.get(of).tree.is_none() {
            return path;
        }
        let mut path = path.reversed();
        let mut backwards = Walked::default();
        // Each may be waited for again and again.
        let mut parts = BTreeMap::new();
        while let Some(step) = path.steps.pop() {
            let callees = self.callees(&step);
            let mut found = |has_ended| {
                callees.clone().find_map(|callee| {
                    let part = parts.entry(callee);
                    let part = part.or_insert_with(|| self.part(callee, of.host).map(Rc::new));
                    let part = part.clone()?;
                    Some((part.before(&step.piece, has_ended)?, part))
                })
            };
            let Some((range, part)) = found(false).or_else(|| found(true)) else {
                backwards.steps.push(step);
                continue;
            };
            let after = TimeRange::new(range.end, step.piece.range.end);
            let after = clipped(&step.piece, after).map(|piece| Step { piece, ..step });
            backwards.steps.extend(after);
            let begin = take_since(&mut path.steps, step, range.begin);
            let range = TimeRange::new(begin, range.end);
            while let Some(link) = path.links.pop_if(|link| link.at >= range.end) {
                backwards.links.push(link);
            }
            while path.links.pop_if(|link| link.at > range.begin).is_some() {}
            let within = part.within(step, range);
            if let Some(first) = within.steps.first() {
                lead_into(&mut path.links, &step.piece, &first.piece);
            }
            path.steps.extend(within.steps);
            path.links.extend(within.links);
        }
        backwards.links.extend(path.links.into_iter().rev());
        backwards
    }

    /// The part of a request for which a thread that is waited for worked last in a piece of the request's path, and the
    /// parts that this one is a part of, the innermost first: an answer may be sent in a short span of its own, or when
    /// that has ended; some frameworks end all of them first.
    fn callees(&self, step: &Step<'run>) -> impl Iterator<Item = RequestOfHost> + Clone {
        let (piece, own) = (step.piece, self.get(step.of));
        let (host, is_own_thread) = (piece.host, piece.depth == step.depth);
        let requests = self.requests(host);
        let innermost = (!is_own_thread)
            .then(|| requests.last_active(piece.thread, piece.recorded))
            .flatten();
        successors(innermost, |request| requests.outer(*request))
            .take_while(|request| requests.get(*request).is_part_of(own))
            .map(move |request| RequestOfHost { host, request })
    }

    /// A part by the clock of `host`; none where what its thread does is its path already: that one serves it alone,
    /// and does nothing else while it cannot go on.
    fn part(&self, of: RequestOfHost, host: HostId) -> Option<Callee<'run>> {
        let lines = self.hosts().lines(of.host)?;
        let stages = stages(self.get(of));
        if let [stage] = stages[..]
            && absences(self, lines, of, stage).is_empty()
        {
            return None;
        }
        let mut path = self.walked(of).reversed();
        let told = |at| self.hosts().translate(at, of.host, host);
        for Step { piece, .. } in &mut path.steps {
            piece.range = TimeRange::new(told(piece.range.begin)?, told(piece.range.end)?);
        }
        for link in &mut path.links {
            link.at = told(link.at)?;
        }
        Some(Callee { stages, path })
    }
}

/// A part of a request.
struct Callee<'run> {
    stages: Vec<Stage>,
    /// By the clock of the host that was asked about, in the order of time.
    path: Walked<'run>,
}

impl<'run> Callee<'run> {
    /// From its begin to the end of a piece, or to its own end if it `has_ended` within the piece; if the piece's thread
    /// has it there: several may serve it at a time.
    fn before(&self, piece: &Piece<'_>, has_ended: bool) -> Option<TimeRange> {
        let (first, last) = (self.path.steps.first()?, self.path.steps.last()?);
        let at_end = (self.stages).partition_point(|stage| stage.range.end < piece.recorded.end);
        let (stage, end) = match has_ended {
            true if at_end == self.stages.len() => (self.stages.last()?, last.piece.range.end),
            true => return None,
            false => (self.stages.get(at_end)?, piece.range.end),
        };
        let range = TimeRange::new(first.piece.range.begin, end.min(piece.range.end));
        let has_it = stage.thread == piece.thread && range.end > piece.range.begin;
        (has_it && !range.is_empty()).then_some(range)
    }

    /// What of its path is within `range`, on top of what `step` is on top of.
    fn within(&self, step: Step<'run>, range: TimeRange) -> Walked<'run> {
        let steps = &self.path.steps;
        let until = steps.partition_point(|inner| inner.piece.range.begin < range.end);
        let from = steps.partition_point(|inner| inner.piece.range.end <= range.begin);
        let mut path = Walked::default();
        for (place, inner) in (steps.iter().enumerate())
            .take(until)
            .skip(from.min(until - 1))
        {
            let mut piece = inner.piece;
            if place + 1 == until {
                // By clocks that are a little off it may seem to have ended before it woke who waited for it.
                piece.range.end = piece.range.end.max(range.end);
            }
            path.steps.extend(clipped(&piece, range).map(|piece| Step {
                piece: Piece {
                    depth: piece.depth + step.piece.depth,
                    ..piece
                },
                depth: step.piece.depth,
                ..*inner
            }));
        }
        let first = (self.path.links).partition_point(|link| link.at <= range.begin);
        let links = self.path.links[first..].iter().copied();
        path.links = links.take_while(|link| link.at < range.end).collect();
        path
    }
}

/// Takes away what the thread of `last` does since `begin`, with what others do for which it waits. Says since when.
fn take_since<'run>(steps: &mut Vec<Step<'run>>, last: Step<'run>, begin: Timestamp) -> Timestamp {
    let of_last = |piece: &Piece<'_>| (piece.host, piece.thread, piece.depth);
    let mut first = last;
    while begin < first.piece.range.begin {
        let earlier = steps.pop_if(|earlier| {
            earlier.of == last.of
                && (earlier.piece.depth > last.piece.depth
                    || of_last(&earlier.piece) == of_last(&last.piece))
        });
        match earlier {
            Some(earlier) => first = earlier,
            None => return first.piece.range.begin,
        }
    }
    let before = TimeRange::new(first.piece.range.begin, begin);
    if let Some(piece) = clipped(&first.piece, before) {
        steps.push(Step { piece, ..first });
    }
    begin
}

/// Leads a path, in which the thread of `piece` would come next, into the path of a part, which begins with `first`: another
/// thread may have the part when that thread is given the request.
fn lead_into<'run>(links: &mut Vec<BareLink<'run>>, piece: &Piece<'run>, first: &Piece<'run>) {
    let at = first.range.begin;
    if first.thread != piece.thread {
        links.pop_if(|link| {
            link.at == at && link.kind == LinkKind::WakeUp && link.from != first.thread
        });
    }
    if first.depth > piece.depth {
        links.push(BareLink {
            at,
            hosts: [piece.host, first.host],
            from: piece.thread,
            to: first.thread,
            kind: LinkKind::Wait,
            call: None,
        });
    }
}

/// What of a piece is within `range`. By its own host's clock it is never empty, though that may go slower.
pub(crate) fn clipped<'run>(piece: &Piece<'run>, range: TimeRange) -> Option<Piece<'run>> {
    let inside = piece.range.intersect(range);
    let recorded = piece.recorded;
    let least = Nanoseconds(1);
    let before = inside.begin.since(piece.range.begin);
    let begin = before.min(recorded.length() - least);
    let rest = recorded.length() - begin;
    let length = (rest - piece.range.end.since(inside.end)).max(least);
    let begin = recorded.begin + begin;
    (!inside.is_empty()).then_some(Piece {
        range: inside,
        recorded: TimeRange::new(begin, begin + length),
        ..*piece
    })
}

#[cfg(test)]
mod tests {
    use slowpath_critical_path::{Detail, State};
    use slowpath_model::ThreadId;

    use super::*;

    #[test]
    fn what_is_cut_from_a_piece_is_not_lost_where_its_own_clock_goes_slower() {
        let range = |begin, end| TimeRange::new(Timestamp::from_ns(begin), Timestamp::from_ns(end));
        let piece = Piece {
            range: range(1_000, 1_100),
            recorded: range(5_000, 5_099),
            host: HostId(1),
            thread: ThreadId(7),
            state: State::Running,
            depth: 1,
            detail: Detail::default(),
        };
        let cut =
            |begin, end| clipped(&piece, range(begin, end)).map(|cut| (cut.range, cut.recorded));
        assert_eq!(
            cut(1_000, 1_001),
            Some((range(1_000, 1_001), range(5_000, 5_001)))
        );
        assert_eq!(
            cut(1_099, 1_100),
            Some((range(1_099, 1_100), range(5_098, 5_099)))
        );
        assert_eq!(
            cut(1_020, 1_050),
            Some((range(1_020, 1_050), range(5_020, 5_049)))
        );
        assert_eq!(cut(1_100, 1_200), None);
    }
}
