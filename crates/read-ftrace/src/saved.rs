//! The small text files beside the pages: names and processes of threads, and buffer statistics.
//!
//! A thread of which the kernel knew no name is skipped (`<...>`). Lines that cannot be understood are
//! counted: what is said on the others is used.

use slowpath_model::{Diagnostic, DiagnosticCode, Place, ProcessId, ThreadId, counted};

/// The lines of a text that cannot be understood.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Misread {
    /// How many.
    pub(crate) lines: u64,
    /// The number of the first one, from 1.
    pub(crate) first: u32,
}

impl Misread {
    /// Nothing where every line was understood; else that `missing` follows from it.
    pub(crate) fn diagnostic(self, file: &str, missing: &str) -> Option<Diagnostic> {
        let place = Place {
            file: file.to_owned(),
            line: Some((self.first, 1)),
            ..Place::default()
        };
        let message = format!(
            "{} cannot be understood; {missing}",
            counted(self.lines, "line", "lines")
        );
        (self.lines > 0).then(|| Diagnostic {
            count: Some(self.lines),
            ..Diagnostic::new(DiagnosticCode::InvalidFile, place, message)
        })
    }
}

/// Reads `text` line by line, blank ones left out. `read` adds what a line says to the rows; false where
/// it cannot be understood.
fn read_lines<'text, Row>(
    text: &'text str,
    read: impl Fn(&'text str, &mut Vec<Row>) -> bool,
) -> (Vec<Row>, Misread) {
    let mut rows = Vec::new();
    let mut misread = Misread::default();
    for (line, number) in text.lines().zip(1..) {
        // `trace.dat` may end texts with a zero.
        let line = line.trim_end_matches('\0');
        if !line.trim().is_empty() && !read(line, &mut rows) {
            misread.lines += 1;
            if misread.lines == 1 {
                misread.first = number;
            }
        }
    }
    (rows, misread)
}

/// `saved_cmdlines`: a thread's id and its name on each line. A name may have several lines.
pub(crate) fn parse_cmdlines(text: &str) -> (Vec<(ThreadId, String)>, Misread) {
    /// The kernel keeps no more of a name, in bytes.
    const LONGEST_NAME: usize = 15;
    let read = |line: &str, rows: &mut Vec<(ThreadId, String)>| {
        if let Some((tid, comm)) = pair(line) {
            rows.push((tid, comm.to_owned()));
            return true;
        }
        match rows.last_mut() {
            Some((_, name)) if name.len() + 1 + line.len() <= LONGEST_NAME => {
                name.push('\n');
                name.push_str(line);
                true
            }
            _ => false,
        }
    };
    let (mut rows, misread) = read_lines(text, read);
    rows.retain(|(_, comm)| comm != "<...>");
    (rows, misread)
}

/// `saved_tgids`: a thread's id and its process's id on each line.
pub(crate) fn parse_tgids(text: &str) -> (Vec<(ThreadId, ProcessId)>, Misread) {
    read_lines(text, |line, rows| {
        let row = pair(line).and_then(|(tid, tgid)| {
            let process = tgid.trim().parse().ok()?;
            Some((tid, ProcessId(process)))
        });
        rows.extend(row);
        row.is_some()
    })
}

fn pair(line: &str) -> Option<(ThreadId, &str)> {
    let (tid, rest) = line.trim_start().split_once(' ')?;
    Some((ThreadId(tid.parse().ok()?), rest))
}

/// What `per_cpu/cpuN/stats` says of events that are not in the pages.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Losses {
    /// Overwritten before they were read; the page behind the gap is marked.
    pub(crate) overwritten: u64,
    /// Refused at the writing end, which leaves no mark in the pages.
    pub(crate) dropped: u64,
}

/// Reads the text of `per_cpu/cpuN/stats`: a name and a number on each line, some of them with a
/// fraction.
pub(crate) fn parse_stats(stats: &str) -> (Losses, Misread) {
    let read = |line: &'_ str, counts: &mut Vec<(String, u64)>| {
        let Some((key, value)) = line.split_once(':') else {
            return false;
        };
        let (key, value) = (key.trim(), value.trim());
        let count = value.parse().ok();
        counts.extend(count.map(|count| (key.to_owned(), count)));
        let is_loss = matches!(key, "overrun" | "commit overrun" | "dropped events");
        count.is_some() || !is_loss && value.parse::<f64>().is_ok()
    };
    let (counts, misread) = read_lines(stats, read);
    let mut losses = Losses::default();
    for (key, count) in counts {
        let sum = match key.as_str() {
            "overrun" => &mut losses.overwritten,
            "commit overrun" | "dropped events" => &mut losses.dropped,
            _ => continue,
        };
        *sum = sum.saturating_add(count);
    }
    (losses, misread)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn misread(lines: u64, first: u32) -> Misread {
        Misread { lines, first }
    }

    #[test]
    fn threads_by_id() {
        let named = |tid, comm: &str| (ThreadId(tid), comm.to_owned());
        assert_eq!(
            parse_cmdlines("1 systemd\n 77 Web Content\n\nbadly\nx of no use\n9 <...>\n\0"),
            (
                vec![named(1, "systemd"), named(77, "Web Content")],
                misread(2, 4)
            )
        );
        assert_eq!(
            parse_cmdlines("5 one\ntwo\n6 three\n"),
            (
                vec![named(5, "one\ntwo"), named(6, "three")],
                Misread::default()
            )
        );
        let of = |tid, process| (ThreadId(tid), ProcessId(process));
        assert_eq!(
            parse_tgids("7 5\n8 \n9 9\n"),
            (vec![of(7, 5), of(9, 9)], misread(1, 2))
        );
    }

    #[test]
    fn losses_with_and_without_a_mark() {
        let stats = "entries: 20\noverrun: 7\ncommit overrun: 1\nbytes: 1360\noldest event ts:  2185.062121\ndropped events: 3\nread events: 0\n";
        let losses = Losses {
            overwritten: 7,
            dropped: 4,
        };
        assert_eq!(parse_stats(stats), (losses, Misread::default()));
        let damaged = "dropped events: x\nnothing\noverrun: 1";
        assert_eq!(parse_stats(damaged).0.overwritten, 1);
        assert_eq!(parse_stats(damaged).1, misread(2, 1));
    }
}
