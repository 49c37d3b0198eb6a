//! What recording costs the recorded: requests per second of a real redis-server under
//! redis-benchmark, without and with a recording, in turn.

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, bail};

use crate::redis::{PROGRAM, Redis};

/// How the load is recorded.
const MODES: &[(&str, Option<&[&str]>)] = &[
    ("not recorded", None),
    ("default events", Some(&[])),
    ("default events, --snapshot", Some(&["--snapshot"])),
    ("--events sched", Some(&["--events", "sched"])),
];

/// Prints the throughput of each mode.
///
/// # Errors
/// Where redis or the recording cannot be started.
pub fn report(slowpath: &Path, data: &Path, times: usize) -> anyhow::Result<()> {
    let Some(server) = Redis::start(PROGRAM.as_ref(), None)? else {
        println!("\nrecording: skipped, redis-server is not installed");
        return Ok(());
    };
    let port = server.port;
    println!("\nrecording redis-benchmark -t get, requests per second (of the unrecorded run):");
    for pipeline in ["1", "16"] {
        let mut rates = vec![Vec::new(); MODES.len()];
        for _ in 0..times {
            for ((_, mode), rates) in MODES.iter().zip(&mut rates) {
                rates.push(throughput(slowpath, data, port, pipeline, *mode)?);
            }
        }
        let medians: Vec<f64> = rates
            .iter_mut()
            .map(|rates| {
                rates.sort_by(f64::total_cmp);
                rates[rates.len() / 2]
            })
            .collect();
        for ((name, _), rate) in MODES.iter().zip(&medians) {
            let share = 100.0 * rate / medians[0];
            println!("  pipeline {pipeline:>2}, {name:28} {rate:9.0}  {share:5.1} %");
        }
    }
    Ok(())
}

/// Requests per second of one run.
fn throughput(
    slowpath: &Path,
    data: &Path,
    port: u16,
    pipeline: &str,
    mode: Option<&[&str]>,
) -> anyhow::Result<f64> {
    let requests = if pipeline == "1" { "100000" } else { "1000000" };
    let port = port.to_string();
    let load = [
        "redis-benchmark",
        "-p",
        &port,
        "-t",
        "get",
        "-n",
        requests,
        "-P",
        pipeline,
        "--csv",
    ];
    let recording = data.join("recorded-redis");
    let output = match mode {
        None => Command::new(load[0]).args(&load[1..]).output()?,
        Some(options) => Command::new(slowpath)
            .args(["record", "--ust", "none", "-o"])
            .arg(&recording)
            .args(options)
            .arg("--")
            .args(load)
            .output()?,
    };
    if recording.is_dir() {
        fs::remove_dir_all(&recording)?;
    }
    if !output.status.success() {
        bail!("{}", String::from_utf8_lossy(&output.stderr));
    }
    // "GET","19308.75",…
    let text = String::from_utf8_lossy(&output.stdout);
    let line = text
        .lines()
        .find(|line| line.starts_with("\"GET\""))
        .context("no result")?;
    let rate = line.split(',').nth(1).map(|field| field.trim_matches('"'));
    rate.and_then(|rate| rate.parse().ok())
        .context("no rate in the result")
}
