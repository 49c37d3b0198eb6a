//! What `make bench` runs: makes large traces and compares slowpath with its peers on them.
//!
//! Figures are ratios of CPU time measured in one run, side by side; nothing here is a test.

#![forbid(unsafe_code)]

mod enlarge;

use std::path::PathBuf;

use clap::{Parser, Subcommand};

#[derive(Parser)]
#[command(name = "slowpath-benches")]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Make a large CTF trace out of a small one.
    Enlarge {
        /// A folder with a CTF trace.
        source: PathBuf,
        /// The folder to write.
        target: PathBuf,
        /// How large at least.
        #[arg(long, default_value_t = 600)]
        megabytes: u64,
    },
}

fn main() -> anyhow::Result<()> {
    match Arguments::parse().command {
        Command::Enlarge {
            source,
            target,
            megabytes,
        } => {
            let copies = enlarge::enlarge(&source, &target, megabytes << 20)?;
            println!("{}: {copies} times {}", target.display(), source.display());
        }
    }
    Ok(())
}
