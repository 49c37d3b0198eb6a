//! `slowpath-benches requests`: all requests' critical paths, by size of the recording.
//!
//! Kernel and user-space traces of a recording of requests, again and again one after the other: time and
//! memory should grow with the size, and no faster.

use std::fs;
use std::path::PathBuf;

use crate::measure::compare;
use crate::report::requests_of_size;

/// What to run.
#[derive(Debug, clap::Args)]
pub struct Settings {
    /// The program to measure.
    #[arg(long, default_value = "target/release/slowpath")]
    slowpath: PathBuf,
    /// Sizes of the recordings, about.
    #[arg(long, value_delimiter = ',', default_values_t = [100, 500, 1000, 2000, 4000])]
    megabytes: Vec<u64>,
    /// Runs of each.
    #[arg(long, default_value_t = 3)]
    times: usize,
}

/// Runs the benchmark.
///
/// # Errors
/// Where the recording is not there, cannot be enlarged, or the command fails.
pub fn run(settings: &Settings) -> anyhow::Result<()> {
    let slowpath = settings.slowpath.to_string_lossy();
    println!("     size    wall     CPU  anonymous");
    for &megabytes in &settings.megabytes {
        let large = requests_of_size(megabytes)?;
        let path = large.to_string_lossy();
        let command = [&*slowpath, "requests", "--percentiles", &*path];
        let costs = compare(settings.times, &[&command]);
        // Four gigabytes are not left lying about.
        fs::remove_dir_all(&large)?;
        for cost in costs? {
            let (wall, cpu) = (cost.wall.as_secs_f64(), cost.cpu.as_secs_f64());
            let anonymous = cost.anonymous_kib / 1024;
            println!("{megabytes:6} MB {wall:6.2} s {cpu:6.2} s {anonymous:7} MB");
        }
    }
    Ok(())
}
