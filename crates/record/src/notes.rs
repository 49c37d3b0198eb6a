//! A file of JSON lines that grows while a recording runs; a flight recorder keeps the last lines in memory
//! and writes them with each snapshot. What the lines say is the matter of those who write them.

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
    Memory(VecDeque<Vec<u8>>),
}

impl Notes {
    /// Into a new file.
    pub(crate) fn to_file(path: &Path) -> io::Result<Self> {
        Ok(Self::File(BufWriter::new(File::create(path)?)))
    }

    /// Into memory.
    pub(crate) fn to_memory() -> Self {
        Self::Memory(VecDeque::new())
    }

    /// Adds a line.
    pub(crate) fn add(&mut self, line: &impl Serialize) -> io::Result<()> {
        let mut bytes = serde_json::to_vec(line)?;
        bytes.push(b'\n');
        match self {
            Self::File(file) => file.write_all(&bytes),
            Self::Memory(lines) => {
                if lines.len() == REMEMBERED_LINES {
                    lines.pop_front();
                }
                lines.push_back(bytes);
                Ok(())
            }
        }
    }

    /// What was added is in the file, where there is one.
    pub(crate) fn flush(&mut self) -> io::Result<()> {
        match self {
            Self::File(file) => file.flush(),
            Self::Memory(_) => Ok(()),
        }
    }

    /// Writes what is remembered as a file; where it goes to one anyway, nothing is to be done.
    pub(crate) fn write_remembered(&self, path: &Path) -> io::Result<()> {
        if let Self::Memory(lines) = self {
            let mut file = BufWriter::new(File::create(path)?);
            for line in lines {
                file.write_all(line)?;
            }
            file.flush()?;
        }
        Ok(())
    }
}
