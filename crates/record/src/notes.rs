//! A file of JSON lines that grows while a recording runs; a flight recorder keeps the last lines in memory
//! and writes them with each snapshot. What the lines say is the matter of those who write them; one who writes
//! what has changed writes all now and then, so that what is remembered begins with all.

use std::collections::VecDeque;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::Path;

use serde::Serialize;

/// How many lines a flight recorder remembers between snapshots.
const REMEMBERED_LINES: usize = 16_384;

/// Where lines go.
#[derive(Debug)]
pub(crate) enum Notes {
    File(BufWriter<File>),
    Memory {
        lines: VecDeque<Vec<u8>>,
        /// So many of them were there when all was last written.
        before_all: usize,
    },
}

impl Notes {
    /// Into a new file.
    pub(crate) fn to_file(path: &Path) -> io::Result<Self> {
        Ok(Self::File(BufWriter::new(File::create(path)?)))
    }

    /// Into memory.
    pub(crate) fn to_memory() -> Self {
        Self::Memory {
            lines: VecDeque::new(),
            before_all: 0,
        }
    }

    /// Adds a line.
    pub(crate) fn add(&mut self, line: &impl Serialize) -> io::Result<()> {
        let mut bytes = serde_json::to_vec(line)?;
        bytes.push(b'\n');
        match self {
            Self::File(file) => file.write_all(&bytes),
            Self::Memory { lines, before_all } => {
                if lines.len() == REMEMBERED_LINES {
                    lines.pop_front();
                    *before_all = before_all.saturating_sub(1);
                }
                lines.push_back(bytes);
                Ok(())
            }
        }
    }

    /// Whether it is time to write all again: soon no room is left for what has changed.
    pub(crate) fn wants_all(&self) -> bool {
        match self {
            Self::File(_) => false,
            Self::Memory { lines, before_all } => lines.len() - before_all >= REMEMBERED_LINES / 2,
        }
    }

    /// All is written from here on: what is older than the time before is forgotten.
    pub(crate) fn begin_all(&mut self) {
        if let Self::Memory { lines, before_all } = self {
            lines.drain(..*before_all);
            *before_all = lines.len();
        }
    }

    /// What was added is in the file, where there is one.
    pub(crate) fn flush(&mut self) -> io::Result<()> {
        match self {
            Self::File(file) => file.flush(),
            Self::Memory { .. } => Ok(()),
        }
    }

    /// Writes what is remembered as a file; where it goes to one anyway, nothing is to be done.
    pub(crate) fn write_remembered(&self, path: &Path) -> io::Result<()> {
        if let Self::Memory { lines, .. } = self {
            let mut file = BufWriter::new(File::create(path)?);
            for line in lines {
                file.write_all(line)?;
            }
            file.flush()?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_remembered_begins_where_all_was_written() {
        let folder = tempfile::tempdir().expect("a folder");
        let mut notes = Notes::to_memory();
        let (mut looks, mut longest) = (0_u32, 0);
        for number in 0..REMEMBERED_LINES * 3 {
            if number == 0 || notes.wants_all() {
                notes.begin_all();
                notes.add(&"all").expect("remembered");
                looks += 1;
            }
            notes.add(&number).expect("remembered");
            if number % 1000 == 0 {
                let path = folder.path().join("lines");
                notes.write_remembered(&path).expect("written");
                let text = std::fs::read_to_string(path).expect("lines");
                assert_eq!(text.lines().next(), Some("\"all\""), "{number}");
                assert!(text.ends_with(&format!("{number}\n")));
                longest = longest.max(text.lines().count());
            }
        }
        assert!(
            looks >= 5 && longest > REMEMBERED_LINES / 2,
            "{looks}, {longest}"
        );
    }
}
