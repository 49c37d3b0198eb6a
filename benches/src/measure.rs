//! CPU time, wall time and memory of a command, as the operating system accounts them.
//!
//! Commands are run in turn (A B A B …), so that a machine whose speed drifts slows both. One command
//! at a time: the account is that of all children that have ended.

use std::fs;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, ensure};
use nix::sys::resource::{UsageWho, getrusage};

/// What one run of a command took.
#[derive(Clone, Copy, Debug, Default)]
pub struct Cost {
    /// User and system time.
    pub cpu: Duration,
    /// From start to end.
    pub wall: Duration,
    /// The most memory that is not a file's, in KiB, as seen every few milliseconds.
    pub anonymous_kib: u64,
}

/// Runs a command, its output thrown away.
///
/// # Errors
/// Where it cannot be started or fails.
pub fn run(command: &[&str]) -> anyhow::Result<Cost> {
    let (program, arguments) = command.split_first().context("an empty command")?;
    let before = children_cpu()?;
    let begin = Instant::now();
    let mut child = Command::new(program)
        .args(arguments)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .with_context(|| format!("cannot run {program}"))?;
    let (pid, has_ended) = (child.id(), AtomicBool::new(false));
    let (status, wall, anonymous_kib) = thread::scope(|scope| {
        let watcher = scope.spawn(|| watch(pid, &has_ended));
        let status = child.wait();
        let wall = begin.elapsed();
        has_ended.store(true, Ordering::Relaxed);
        (status, wall, watcher.join().unwrap_or(0))
    });
    let status = status?;
    ensure!(status.success(), "{} failed: {status}", command.join(" "));
    Ok(Cost {
        cpu: children_cpu()?.saturating_sub(before),
        wall,
        anonymous_kib,
    })
}

/// Runs all commands `times` times in turn; the median of each figure of each.
///
/// # Errors
/// Where one of them fails.
pub fn compare(times: usize, commands: &[&[&str]]) -> anyhow::Result<Vec<Cost>> {
    let costs = in_turn(times, commands)?;
    Ok(costs.iter().map(|costs| median(costs)).collect())
}

/// Runs all commands `times` times in turn; the shortest time of each from start to end, which other programs on
/// the machine have disturbed least.
///
/// # Errors
/// Where one of them fails.
pub fn fastest(times: usize, commands: &[&[&str]]) -> anyhow::Result<Vec<Duration>> {
    let costs = in_turn(times, commands)?;
    let shortest = costs.iter().map(|costs| {
        let walls = costs.iter().map(|cost| cost.wall);
        walls.min().context("no runs")
    });
    shortest.collect()
}

/// What each run of each command took.
fn in_turn(times: usize, commands: &[&[&str]]) -> anyhow::Result<Vec<Vec<Cost>>> {
    let mut costs = vec![Vec::with_capacity(times); commands.len()];
    for command in commands {
        run(command)?; // not counted: the files come into memory
    }
    for _ in 0..times {
        for (command, costs) in commands.iter().zip(&mut costs) {
            costs.push(run(command)?);
        }
    }
    Ok(costs)
}

fn median(costs: &[Cost]) -> Cost {
    let mut cpu: Vec<Duration> = costs.iter().map(|cost| cost.cpu).collect();
    let mut wall: Vec<Duration> = costs.iter().map(|cost| cost.wall).collect();
    cpu.sort();
    wall.sort();
    let anonymous = costs.iter().map(|cost| cost.anonymous_kib);
    Cost {
        cpu: cpu.get(cpu.len() / 2).copied().unwrap_or_default(),
        wall: wall.get(wall.len() / 2).copied().unwrap_or_default(),
        anonymous_kib: anonymous.max().unwrap_or(0),
    }
}

/// The CPU time of all children that have ended.
fn children_cpu() -> anyhow::Result<Duration> {
    let usage = getrusage(UsageWho::RUSAGE_CHILDREN)?;
    let micros = |time: nix::sys::time::TimeVal| time.tv_sec() * 1_000_000 + time.tv_usec();
    let total = micros(usage.user_time()) + micros(usage.system_time());
    Ok(Duration::from_micros(total.unsigned_abs()))
}

/// Looks at a running child's anonymous memory until it ends. By a thread of its own: the looks are milliseconds
/// apart, and the child's end is not to wait for the next.
fn watch(pid: u32, has_ended: &AtomicBool) -> u64 {
    let status = format!("/proc/{pid}/status");
    let mut most = 0;
    while !has_ended.load(Ordering::Relaxed) {
        let text = fs::read_to_string(&status).unwrap_or_default();
        let anonymous = text.lines().find_map(|line| line.strip_prefix("RssAnon:"));
        let kib = anonymous.and_then(|rest| rest.trim().strip_suffix(" kB")?.parse().ok());
        most = most.max(kib.unwrap_or(0));
        thread::sleep(Duration::from_millis(5));
    }
    most
}
