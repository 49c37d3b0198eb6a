//! Folded stacks, one per line with its weight: what flame-graph programs read.
//!
//! `service;operation;STATE;detail nanoseconds`: requests of one operation are added up, so the graph
//! shows where an operation's time goes.

use std::collections::BTreeMap;
use std::io::{self, Write};

use slowpath_critical_path::{Segment, State};
use slowpath_requests::RequestPath;

use crate::HostRequests;
use crate::request::thread_name;

/// Writes the critical paths of all chosen requests; returns how many stacks there are.
///
/// # Errors
///
/// The output cannot be written.
pub fn write_folded(output: &mut impl Write, hosts: &[HostRequests<'_>]) -> io::Result<u64> {
    let mut weights: BTreeMap<String, u64> = BTreeMap::new();
    for host in hosts {
        for (id, request) in host.requests() {
            let names = [host.host(), request.service(), &host.name(request)].map(frame);
            let above: Vec<&str> = (names.iter())
                .map(String::as_str)
                .filter(|name| !name.is_empty())
                .collect();
            let above = above.join(";");
            let RequestPath { path, blocked_by } = host.path(id);
            for (segment, other) in path.segments.iter().zip(blocked_by) {
                let other = other.map(|other| host.name_of_any(other));
                let stack = stack(&above, &segment, other.as_deref());
                *weights.entry(stack).or_default() += segment.range.length().get();
            }
        }
    }
    for (stack, weight) in &weights {
        writeln!(output, "{stack} {weight}")?;
    }
    output.flush()?;
    Ok(weights.len() as u64)
}

/// The frames of a state, below those of its request. The detail of one in which a request is blocked names one request
/// only: of all `other` ones the operation counts.
fn stack(above: &str, segment: &Segment, other: Option<&str>) -> String {
    let mut stack = format!("{above};{}", segment.state.name());
    if segment.depth > 0 && !segment.comm.is_empty() {
        stack += &format!(";{}", frame(&thread_name(segment)));
    }
    let detail = match other.filter(|_| segment.state == State::BlockedByRequest) {
        Some(operation) => operation,
        None => &segment.detail,
    };
    if !detail.is_empty() {
        stack += &format!(";{}", frame(detail));
    }
    stack
}

/// A name in which nothing ends the frame or the line.
fn frame(name: &str) -> String {
    name.replace(|symbol: char| symbol == ';' || symbol.is_control(), " ")
}

#[cfg(test)]
mod tests {
    use slowpath_critical_path::Cause;
    use slowpath_model::{HostId, ThreadId, TimeRange};

    use super::*;

    #[test]
    fn who_blocks_requests_counts_by_its_operation() {
        let mut segment = Segment {
            range: TimeRange::ALL,
            recorded: TimeRange::ALL,
            host: HostId(0),
            host_name: None,
            thread: ThreadId(7),
            comm: "worker".into(),
            state: State::BlockedByRequest,
            detail: "request 55cb4297a1b2c3d4 (GET /pay)".into(),
            depth: 0,
            call: None,
            cause: Cause::None,
        };
        let of = |segment: &Segment| stack("shop;GET /buy", segment, Some("GET /pay"));
        assert_eq!(of(&segment), "shop;GET /buy;BLOCKED_BY_REQUEST;GET /pay");
        segment.state = State::Running;
        segment.depth = 1;
        segment.detail = "softirq;NET_RX".into();
        assert_eq!(of(&segment), "shop;GET /buy;RUNNING;worker;softirq NET_RX");
    }
}
