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

/// Events that `per_cpu/cpuN/stats` says were dropped at the writing end, which leaves no mark in the
/// pages. (Overwritten ones do: the next page says so.)
pub(crate) fn parse_dropped(stats: &str) -> u64 {
    let number = |line: &str| {
        let (key, value) = line.split_once(':')?;
        let counts = matches!(key.trim(), "commit overrun" | "dropped events");
        value.trim().parse::<u64>().ok().filter(|_| counts)
    };
    stats
        .lines()
        .filter_map(number)
        .fold(0, u64::saturating_add)
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
    fn only_unmarked_losses_count() {
        let stats = "entries: 20\noverrun: 7\ncommit overrun: 1\nbytes: 1360\ndropped events: 3\nread events: 0\n";
        assert_eq!(parse_dropped(stats), 4);
        assert_eq!(parse_dropped("dropped events: x"), 0);
    }
}
