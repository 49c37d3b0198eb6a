//! Which of all servers with the agent a recording is of, as an expression for `lttng enable-event --filter`: a session
//! has the events of whichever program fires them, and the machine may have servers that are nobody's business here.
//!
//! LTTng evaluates it in each server, for each event.

use std::fs;
use std::path::Path;

use slowpath_model::ProcessId;

/// What LTTng calls a process, there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Identity {
    /// In its own namespace of processes.
    number: i32,
    /// That namespace, where the process can tell.
    namespace: Option<u64>,
}

impl Identity {
    fn of(process: ProcessId) -> Self {
        let path = |file: &str| format!("/proc/{}/{file}", process.0);
        let status = fs::read_to_string(path("status")).unwrap_or_default();
        let namespace = fs::read_link(path("ns/pid")).ok();
        // It finds out by its /proc, which it may have none of.
        let can_tell = fs::symlink_metadata(Path::new(&path("root/proc/self"))).is_ok();
        Self {
            number: innermost_number(&status).unwrap_or(process.0),
            namespace: namespace
                .filter(|_| can_tell)
                .and_then(|link| number_of_namespace(link.to_str()?)),
        }
    }

    /// True in this process, or else false.
    fn is(self) -> String {
        match self.namespace {
            Some(namespace) => format!(
                "($ctx.vpid == {} && $ctx.pid_ns == {namespace})",
                self.number
            ),
            None => format!("$ctx.vpid == {}", self.number),
        }
    }

    fn is_not(self) -> String {
        match self.namespace {
            Some(namespace) => format!(
                "($ctx.vpid != {} || $ctx.pid_ns != {namespace})",
                self.number
            ),
            None => format!("$ctx.vpid != {}", self.number),
        }
    }
}

/// Only these processes.
pub(super) fn only(processes: &[ProcessId]) -> String {
    let each = processes.iter().map(|process| Identity::of(*process).is());
    each.collect::<Vec<_>>().join(" || ")
}

/// All but these; `None`: all.
pub(super) fn all_but(processes: &[ProcessId]) -> Option<String> {
    let each = processes
        .iter()
        .map(|process| Identity::of(*process).is_not());
    let each: Vec<_> = each.collect();
    (!each.is_empty()).then(|| each.join(" && "))
}

/// The last of those that `/proc/PID/status` has.
fn innermost_number(status: &str) -> Option<i32> {
    let line = status.lines().find_map(|line| line.strip_prefix("NSpid:"));
    line?.split_ascii_whitespace().last()?.parse().ok()
}

/// Of `pid:[4026531836]`.
fn number_of_namespace(link: &str) -> Option<u64> {
    link.strip_prefix("pid:[")?.strip_suffix(']')?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_in_a_container_is_called_as_it_calls_itself() {
        let status = "Name:\tredis-server\nPid:\t4711\nNSpid:\t4711\t23\t7\nUid:\t0\n";
        assert_eq!(innermost_number(status), Some(7));
        assert_eq!(innermost_number("NSpid:\t4711\n"), Some(4711));
        assert_eq!(innermost_number("Name:\tx\n"), None);
        assert_eq!(number_of_namespace("pid:[4026531836]"), Some(4026531836));
    }

    #[test]
    fn those_named_are_told_from_all_others() {
        let own = ProcessId(std::process::id() as i32);
        let Identity { number, namespace } = Identity::of(own);
        let namespace = namespace.expect("this process has a /proc");
        let one = format!("($ctx.vpid == {number} && $ctx.pid_ns == {namespace})");
        assert_eq!(only(&[own]), one);
        assert_eq!(only(&[own, own]), format!("{one} || {one}"));
        let other = format!("($ctx.vpid != {number} || $ctx.pid_ns != {namespace})");
        assert_eq!(all_but(&[own, own]), Some(format!("{other} && {other}")));
        assert_eq!(all_but(&[]), None);
        // One that has ended.
        assert_eq!(only(&[ProcessId(i32::MAX)]), "$ctx.vpid == 2147483647");
    }
}
