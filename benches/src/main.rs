//! What `make bench` runs: makes large traces and compares slowpath with its peers on them.
//!
//! Figures are ratios of CPU time measured in one run, side by side; nothing here is a test.

#![forbid(unsafe_code)]

mod enlarge;
mod history;
mod made;
mod many_threads;
mod measure;
mod overhead;
mod recording;
mod redis;
mod redis_agent;
mod report;
mod requests;
mod scaling;
mod serve;
mod spans;
mod statistics;

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
    /// Compare with the peers, side by side.
    Run {
        /// The program to measure.
        #[arg(long, default_value = "target/release/slowpath")]
        slowpath: PathBuf,
        /// Size of the traces at least.
        #[arg(long, default_value_t = 600)]
        megabytes: u64,
        /// Runs of each command.
        #[arg(long, default_value_t = 5)]
        times: usize,
    },
    /// What 32 workers would give, modelled from the time of each chunk and merge on one.
    Scaling {
        /// A folder with a CTF trace of a kernel.
        trace: PathBuf,
    },
    /// The state history: building, a point query, a screen.
    History {
        /// How many, about.
        #[arg(long, default_value_t = 10_000_000)]
        intervals: u64,
    },
    /// Files of spans: writing them in each format, reading them back.
    Spans {
        /// How many in each file, about.
        #[arg(long, default_value_t = 1_000_000)]
        count: u64,
        /// The same seed gives the same files.
        #[arg(long, default_value_t = 1)]
        seed: u64,
        /// Where to leave the files; by default they are removed.
        #[arg(long)]
        folder: Option<PathBuf>,
    },
    /// All requests' critical paths, by size of the recording.
    Requests(requests::Settings),
    /// The browser's server: the first picture, zooming, jumping, frames.
    Serve(serve::Settings),
    /// What recording costs a service: HotROD without tracing, with spans, and recorded.
    Overhead(overhead::Settings),
    /// What recording a redis-server from inside costs it, over a stock one.
    RedisAgent(redis_agent::Settings),
    /// What `serve` records: many threads that wake each other.
    #[command(hide = true)]
    ManyThreads(many_threads::Load),
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
        Command::Run {
            slowpath,
            megabytes,
            times,
        } => report::run_all(&slowpath, megabytes, times)?,
        Command::Scaling { trace } => report::model(&trace)?,
        Command::History { intervals } => history::run(intervals)?,
        Command::Spans {
            count,
            seed,
            folder,
        } => spans::run(count, seed, folder.as_deref())?,
        Command::Requests(settings) => requests::run(&settings)?,
        Command::Serve(settings) => serve::run(&settings)?,
        Command::Overhead(settings) => overhead::run(&settings)?,
        Command::RedisAgent(settings) => redis_agent::run(&settings)?,
        Command::ManyThreads(load) => many_threads::run(&load)?,
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
