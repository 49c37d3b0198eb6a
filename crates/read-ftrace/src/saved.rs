//! The small text files beside the pages: names and processes of threads, and buffer statistics.
//!
//! Lines that do not fit are skipped: the kernel itself writes such (`<...>`) where it knows nothing.

use slowpath_model::{ProcessId, ThreadId};

/// `saved_cmdlines`: a thread's id and its name on each line.
pub(crate) fn parse_cmdlines(text: &str) -> Vec<(ThreadId, String)> {
    pairs(text)
        .filter(|(_, comm)| *comm != "<...>")
        .map(|(tid, comm)| (tid, comm.to_owned()))
        .collect()
}

/// `saved_tgids`: a thread's id and its process's id on each line.
pub(crate) fn parse_tgids(text: &str) -> Vec<(ThreadId, ProcessId)> {
    pairs(text)
        .filter_map(|(tid, tgid)| Some((tid, ProcessId(tgid.trim().parse().ok()?))))
        .collect()
}

fn pairs(text: &str) -> impl Iterator<Item = (ThreadId, &str)> {
    text.lines().filter_map(|line| {
        let (tid, rest) = line.trim_start().split_once(' ')?;
        Some((ThreadId(tid.parse().ok()?), rest))
    })
}

/// What `per_cpu/cpuN/stats` says of events that are not in the pages.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Losses {
    /// Overwritten before they were read; the page behind the gap is marked.
    pub(crate) overwritten: u64,
    /// Refused at the writing end, which leaves no mark in the pages.
    pub(crate) dropped: u64,
}

/// Reads the text of `per_cpu/cpuN/stats`.
pub(crate) fn parse_stats(stats: &str) -> Losses {
    let mut losses = Losses::default();
    for line in stats.lines() {
        let Some((key, value)) = line.split_once(':') else {
            continue;
        };
        let count: u64 = value.trim().parse().unwrap_or(0);
        let sum = match key.trim() {
            "overrun" => &mut losses.overwritten,
            "commit overrun" | "dropped events" => &mut losses.dropped,
            _ => continue,
        };
        *sum = sum.saturating_add(count);
    }
    losses
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_by_id() {
        assert_eq!(
            parse_cmdlines("1 systemd\n 77 Web Content\nbad\nx y\n9 <...>\n"),
            [
                (ThreadId(1), "systemd".to_owned()),
                (ThreadId(77), "Web Content".to_owned())
            ]
        );
        assert_eq!(
            parse_tgids("7 5\n8 \n9 9\n"),
            [(ThreadId(7), ProcessId(5)), (ThreadId(9), ProcessId(9))]
        );
    }

    #[test]
    fn losses_with_and_without_a_mark() {
        let stats = "entries: 20\noverrun: 7\ncommit overrun: 1\nbytes: 1360\ndropped events: 3\nread events: 0\n";
        assert_eq!(
            parse_stats(stats),
            Losses {
                overwritten: 7,
                dropped: 4
            }
        );
        assert_eq!(parse_stats("dropped events: x\nnothing"), Losses::default());
    }
}
