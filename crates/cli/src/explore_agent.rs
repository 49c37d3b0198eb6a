//! `slowpath explore --agent`: runs trials for an explorer on another machine. What it does is `slowpath-explore`'s.

use std::fs;
use std::path::Path;

use anyhow::Context;
use slowpath_explore::{Agent, SignalPipe};
use slowpath_model::shown_lines;

/// Listens until a signal comes; the exit status.
pub(crate) fn run(address: &str, token_file: &Path, folder: &Path) -> anyhow::Result<u8> {
    let token = fs::read_to_string(token_file)
        .with_context(|| format!("the token cannot be read from {}", token_file.display()))?;
    let agent = Agent::listen(address, token.trim(), folder)?;
    let signals = SignalPipe::new().context("signals cannot be waited for")?;
    eprintln!(
        "slowpath: an agent listens at {}; whoever has the token runs commands here",
        agent.address()?
    );
    let signal = agent.serve(&signals, &mut |words| {
        eprintln!("slowpath: {}", shown_lines(words));
    })?;
    Ok(128 + signal.number())
}
