//! Standard output that may go away: a reader that has seen enough (`| head`) is no error.

use std::io::{self, BufWriter, Write};

use anyhow::Context;
use serde::Serialize;
use slowpath_model::shown_lines;

/// Prints `text`, control characters other than those that separate lines and columns written out.
///
/// # Errors
/// Where it cannot be written, other than to a closed pipe.
pub(crate) fn print(text: &str) -> anyhow::Result<()> {
    let mut output = io::stdout().lock();
    let written = output.write_all(shown_lines(text).as_bytes());
    finish(written.and_then(|()| output.flush()))
}

/// Prints a JSON document and a line end.
///
/// # Errors
/// Where it cannot be written, other than to a closed pipe.
pub(crate) fn print_json(document: &impl Serialize) -> anyhow::Result<()> {
    let mut output = BufWriter::new(io::stdout().lock());
    let written = serde_json::to_writer(&mut output, document).map_err(io::Error::from);
    let written = written.and_then(|()| writeln!(output));
    finish(written.and_then(|()| output.flush()))
}

/// What a failure to write means.
pub(crate) fn finish(result: io::Result<()>) -> anyhow::Result<()> {
    match result {
        Err(failure) if failure.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        other => other.context("cannot write the output"),
    }
}
