//! `slowpath report`: findings and the slowest requests as one file, to attach to a ticket.

use std::fs;
use std::io::Write as _;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::Context;
use clap::Args;
use slowpath_server::{Recording, report};

use crate::input::{InputArgs, Report, at_least_one};

/// Write a report: one HTML file with findings and the slowest requests, for a browser without a server.
#[derive(Args)]
pub struct ReportArgs {
    /// Recordings, CTF traces, trace.dat files, or folders with any of them.
    #[arg(required = true, value_name = "PATH")]
    paths: Vec<PathBuf>,
    /// Where the report goes; `-` is standard output.
    #[arg(long, short, value_name = "FILE", default_value = "report.html")]
    output: PathBuf,
    /// So many of the slowest requests are in it in full, at most 100.
    #[arg(long, value_name = "N", default_value_t = 20,
          value_parser = clap::value_parser!(u8).range(1..=100))]
    slowest: u8,
    /// Workers; by default as many as there are processors.
    #[arg(long, short, value_name = "N", value_parser = at_least_one)]
    jobs: Option<NonZeroUsize>,
}

/// Runs the command.
pub fn run(args: &ReportArgs) -> anyhow::Result<Report> {
    let input = InputArgs::all_of(&args.paths, args.jobs);
    let experiment = input.open()?;
    let told = Report::begin(&experiment);
    let recording = Arc::new(Recording::new(experiment, input.options().jobs()));
    let page = report(&recording, args.slowest.into())?;
    if args.output == Path::new("-") {
        crate::output::finish(std::io::stdout().write_all(page.as_bytes()))?;
        return Ok(told);
    }
    fs::write(&args.output, page)
        .with_context(|| format!("{} cannot be written", args.output.display()))?;
    eprintln!("slowpath: wrote {}", args.output.display());
    Ok(told)
}
