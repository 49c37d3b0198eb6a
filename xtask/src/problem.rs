//! What a check found: where, what is wrong, and what to do about it.
//!
//! Every problem fails the run; there are no warnings, because nobody reads them.

use std::fmt;

/// One thing that is not as it should be.
#[derive(Debug, PartialEq, Eq)]
pub struct Problem {
    /// Path from the repository's root.
    pub file: String,
    /// From 1, where there is a line to point at.
    pub line: Option<usize>,
    /// What is wrong.
    pub what: String,
    /// What to do about it.
    pub hint: &'static str,
}

impl fmt::Display for Problem {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}", self.file)?;
        if let Some(line) = self.line {
            write!(out, ":{line}")?;
        }
        write!(out, ": {}\n    hint: {}", self.what, self.hint)
    }
}
