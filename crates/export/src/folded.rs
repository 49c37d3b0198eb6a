//! Folded stacks, one per line with its weight: what flame-graph programs read.
//!
//! `service;operation;STATE;detail nanoseconds`: requests of one operation are added up, so the graph
//! shows where an operation's time goes.

use std::collections::BTreeMap;
use std::io::{self, Write};

use slowpath_critical_path::State;
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
                let mut stack = format!("{above};{}", segment.state.name());
                if segment.depth > 0 && !segment.comm.is_empty() {
                    stack += &format!(";{}", frame(&thread_name(&segment)));
                }
                // Its detail names that one request; here its operation counts.
                let blocker = other.filter(|_| segment.state == State::BlockedByRequest);
                let detail = match blocker {
                    Some(other) => frame(&host.name_of_any(other)),
                    None => frame(&segment.detail),
                };
                if !detail.is_empty() {
                    stack += &format!(";{detail}");
                }
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

/// A name in which nothing ends the frame or the line.
fn frame(name: &str) -> String {
    name.replace(|symbol: char| symbol == ';' || symbol.is_control(), " ")
}
