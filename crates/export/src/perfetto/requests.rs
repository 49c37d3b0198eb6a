//! Requests as slices: each with its critical path's states inside, and arrows to its parts.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};
use std::io::{self, Write};

use slowpath_model::{TimeRange, Timestamp};
use slowpath_requests::{Request, RequestId, SpanKey};

use super::{PerfettoWriter, Slice, Track};
use crate::HostRequests;
use crate::request::state_name;

/// Writes the requests of several hosts: requests that overlap lie in lanes beside each other.
///
/// # Errors
///
/// The output cannot be written.
pub fn write_requests<W: Write>(
    writer: &mut PerfettoWriter<W>,
    hosts: &[HostRequests<'_>],
) -> io::Result<()> {
    let arrows = Arrows::between(hosts);
    for host in hosts {
        let title = match host.host() {
            "" => "requests".to_owned(),
            name => format!("requests of {name}"),
        };
        let above = writer.track(&title, None)?;
        let mut lanes = Lanes::default();
        let mut tracks: Vec<Track> = Vec::new();
        for (id, request) in host.requests() {
            let lane = lanes.of(request.window);
            if lane == tracks.len() {
                let name = format!("lane {}", lane + 1);
                tracks.push(writer.track(&name, Some(above))?);
            }
            write_request(writer, tracks[lane], *host, request, &arrows)?;
            write_path(writer, tracks[lane], *host, id)?;
        }
        write_in_flight(writer, *host, &title)?;
    }
    Ok(())
}

/// Which lanes are free, as requests come in the order of their begins.
#[derive(Default)]
struct Lanes {
    busy: BinaryHeap<Reverse<(Timestamp, usize)>>,
    free: BinaryHeap<Reverse<usize>>,
}

impl Lanes {
    /// The first lane that is free then, from 0; the next number is that of a new one.
    fn of(&mut self, window: TimeRange) -> usize {
        while let Some(Reverse((end, lane))) = self.busy.peek().copied()
            && end <= window.begin
        {
            self.busy.pop();
            self.free.push(Reverse(lane));
        }
        let free = self.free.pop().map(|Reverse(lane)| lane);
        let lane = free.unwrap_or(self.busy.len());
        self.busy.push(Reverse((window.end, lane)));
        lane
    }
}

/// Arrows from each request to those that are part of it, by number.
#[derive(Default)]
struct Arrows {
    to: BTreeMap<SpanKey, u64>,
    from: BTreeMap<SpanKey, Vec<u64>>,
}

impl Arrows {
    /// Only between requests that are written.
    fn between(hosts: &[HostRequests<'_>]) -> Self {
        let requests = || hosts.iter().flat_map(|host| host.requests());
        let mut arrows = Self::default();
        for (_, request) in requests() {
            arrows.from.insert(request.key, Vec::new());
        }
        let parts = requests().filter_map(|(_, request)| {
            let span = request.told.as_ref()?.parent?;
            let trace = request.key.trace;
            Some((request.key, SpanKey { trace, span }))
        });
        for ((part, whole), number) in parts.zip(1..) {
            if let Some(from) = arrows.from.get_mut(&whole) {
                from.push(number);
                arrows.to.insert(part, number);
            }
        }
        arrows
    }
}

fn write_request<W: Write>(
    writer: &mut PerfettoWriter<W>,
    lane: Track,
    host: HostRequests<'_>,
    request: &Request,
    arrows: &Arrows,
) -> io::Result<()> {
    let mut details = vec![
        ("trace_id", request.key.trace.to_string()),
        ("span_id", request.key.span.to_string()),
    ];
    if !request.service().is_empty() {
        details.push(("service", request.service().to_owned()));
    }
    let slice = Slice {
        name: &host.name(request),
        category: "request",
        details,
        flows_out: arrows.from.get(&request.key).cloned().unwrap_or_default(),
        flows_in: arrows.to.get(&request.key).copied().into_iter().collect(),
    };
    writer.slice(lane, request.window, slice)
}

fn write_path<W: Write>(
    writer: &mut PerfettoWriter<W>,
    lane: Track,
    host: HostRequests<'_>,
    id: RequestId,
) -> io::Result<()> {
    let path = host.path(id);
    for (segment, blocked_by) in path.path.segments.iter().zip(&path.blocked_by) {
        let mut thread = format!("{} ({})", segment.comm, segment.thread);
        if let Some(host) = &segment.host_name {
            thread += &format!(" on {host}");
        }
        let mut details = vec![("thread", thread)];
        if !segment.detail.is_empty() {
            details.push(("detail", segment.detail.to_string()));
        }
        if segment.recorded != segment.range {
            let TimeRange { begin, end } = segment.recorded;
            details.push(("recorded", format!("{} to {}", begin.ns(), end.ns())));
        }
        if let Some(other) = blocked_by {
            details.push(("works for", host.all.described(*other)));
        }
        let slice = Slice {
            name: &state_name(&segment),
            category: segment.state.name(),
            details,
            ..Slice::default()
        };
        writer.slice(lane, segment.range, slice)?;
    }
    Ok(())
}

/// A counter of the requests that were under way.
fn write_in_flight<W: Write>(
    writer: &mut PerfettoWriter<W>,
    host: HostRequests<'_>,
    title: &str,
) -> io::Result<()> {
    let mut changes: BTreeMap<Timestamp, i64> = BTreeMap::new();
    for (_, request) in host.requests() {
        let TimeRange { begin, end } = request.window;
        *changes.entry(begin).or_default() += 1;
        *changes.entry(end).or_default() -= 1;
    }
    let track = writer.counter_track(&format!("{title}: under way"), "requests")?;
    let mut under_way = 0;
    for (at, change) in changes {
        under_way += change;
        writer.counter(track, at, under_way)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_lies_in_the_first_lane_that_is_free() {
        let mut lanes = Lanes::default();
        let mut of = |begin, end| {
            let at = Timestamp::from_ns;
            lanes.of(TimeRange::new(at(begin), at(end)))
        };
        assert_eq!([of(0, 9), of(1, 3), of(2, 4)], [0, 1, 2]);
        // Two are free, of which one is the first; of no length; and when all are busy.
        assert_eq!([of(5, 7), of(5, 5), of(5, 8), of(6, 7)], [1, 2, 2, 3]);
        assert_eq!(of(20, 21), 0);
    }
}
