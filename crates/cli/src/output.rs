//! Standard output that may go away: a reader that has seen enough (`| head`) is no error.

use std::io::{self, Write};

use anyhow::Context;

/// Prints `text`.
///
/// # Errors
/// Where it cannot be written, other than to a closed pipe.
pub(crate) fn print(text: &str) -> anyhow::Result<()> {
    let mut output = io::stdout().lock();
    let written = output.write_all(text.as_bytes());
    finish(written.and_then(|()| output.flush()))
}

/// What a failure to write means.
pub(crate) fn finish(result: io::Result<()>) -> anyhow::Result<()> {
    match result {
        Err(failure) if failure.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        other => other.context("cannot write the output"),
    }
}
