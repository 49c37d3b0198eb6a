//! Processor time of the server and of those who observe it, by `/proc`.
//!
//! The observers are the recorder and its guardian, children of the benchmark as the server is, and
//! LTTng's daemons, which are nobody's children. What the kernel does in interrupts is not seen.

use std::collections::HashMap;
use std::fs;
use std::time::Duration;

/// Processor time, user and system, since the processes began.
#[derive(Clone, Copy, Debug, Default)]
pub struct Accounts {
    /// Of the server's process.
    pub server: Duration,
    /// Of all who observe it.
    pub observers: Duration,
    /// Of this process, which makes the load and collects spans.
    pub load: Duration,
    /// Of everything on the machine, interrupts and idle time included.
    pub machine: Duration,
    /// Of the machine's: what nobody used.
    pub idle: Duration,
}

impl Accounts {
    /// What passed since `earlier`.
    pub fn since(self, earlier: Self) -> Self {
        Self {
            server: self.server.saturating_sub(earlier.server),
            observers: self.observers.saturating_sub(earlier.observers),
            load: self.load.saturating_sub(earlier.load),
            machine: self.machine.saturating_sub(earlier.machine),
            idle: self.idle.saturating_sub(earlier.idle),
        }
    }

    /// The share of the machine, in per cent, that went to anything but the benchmark: other programs,
    /// and interrupts.
    pub fn others_percent(self) -> f64 {
        let ours = self.server + self.observers + self.load + self.idle;
        let others = self.machine.saturating_sub(ours);
        100.0 * others.as_secs_f64() / self.machine.as_secs_f64().max(1e-9)
    }
}

struct Process {
    parent: u32,
    name: String,
    time: Duration,
}

/// The accounts of the server, whose name begins with `server`, among the descendants of `root`
/// (`root` included).
pub fn read(root: u32, server: &str) -> Accounts {
    let tick = tick();
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    let processes: HashMap<u32, Process> = entries
        .filter_map(|entry| {
            let number = entry.file_name().to_str()?.parse().ok()?;
            let stat = fs::read_to_string(entry.path().join("stat")).ok()?;
            Some((number, parse(&stat, tick)?))
        })
        .collect();
    let mut accounts = Accounts::default();
    let stat = fs::read_to_string("/proc/stat").unwrap_or_default();
    (accounts.machine, accounts.idle) = parse_machine(&stat, tick).unwrap_or_default();
    for (number, process) in &processes {
        if *number == std::process::id() {
            accounts.load = process.time;
        }
        if process.name.starts_with("lttng-") {
            accounts.observers += process.time;
        } else if descends(&processes, *number, root) {
            match process.name.starts_with(server) {
                true => accounts.server += process.time,
                false => accounts.observers += process.time,
            }
        }
    }
    accounts
}

fn descends(processes: &HashMap<u32, Process>, mut number: u32, root: u32) -> bool {
    // Parents are read at different times: a number used anew could make a circle.
    for _ in 0..64 {
        if number == root {
            return true;
        }
        match processes.get(&number) {
            Some(process) => number = process.parent,
            None => return false,
        }
    }
    false
}

/// The length of a clock tick, in which `/proc` counts.
fn tick() -> Duration {
    Duration::from_secs(1) / rustix::param::clock_ticks_per_second() as u32
}

/// The first line of `/proc/stat`: all time of all processors, and what of it was idle. What virtual
/// machines use is in the first two figures already.
fn parse_machine(stat: &str, tick: Duration) -> Option<(Duration, Duration)> {
    let line = stat.lines().next()?.strip_prefix("cpu ")?;
    let ticks: Vec<u32> = line
        .split_whitespace()
        .take(8)
        .filter_map(|word| word.parse().ok())
        .collect();
    let idle = ticks.get(3)?.saturating_add(*ticks.get(4)?);
    Some((tick * ticks.iter().sum::<u32>(), tick * idle))
}

/// A line of `/proc/PID/stat`. The name is in brackets and may hold anything.
fn parse(stat: &str, tick: Duration) -> Option<Process> {
    let (before, after) = stat.rsplit_once(')')?;
    let (_, name) = before.split_once('(')?;
    let fields: Vec<&str> = after.split_whitespace().collect();
    let ticks = |index: usize| fields.get(index)?.parse::<u32>().ok();
    Some(Process {
        parent: fields.get(1)?.parse().ok()?,
        name: name.to_owned(),
        time: tick * (ticks(11)?.saturating_add(ticks(12)?)),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_is_found_behind_any_name() {
        let stat = "42 (a) b (c) S 7 42 42 0 -1 0 1 2 3 4 150 50 9 9 20 0 1 0 5";
        let process = parse(stat, Duration::from_millis(10)).expect("it is complete");
        assert_eq!((process.parent, process.name.as_str()), (7, "a) b (c"));
        assert_eq!(process.time, Duration::from_secs(2));
    }

    #[test]
    fn what_neither_we_nor_nobody_used_went_to_others() {
        let tick = Duration::from_millis(10);
        let stat = "cpu  50 0 30 100 20 0 0 0 7 7\ncpu0 1 2 3 4\n";
        let (machine, idle) = parse_machine(stat, tick).expect("it is complete");
        assert_eq!((machine, idle), (tick * 200, tick * 120));
        let accounts = Accounts {
            server: tick * 40,
            observers: tick * 10,
            load: tick * 10,
            machine,
            idle,
        };
        assert!((accounts.others_percent() - 10.0).abs() < 1e-9);
        assert!(parse_machine("", tick).is_none());
    }

    #[test]
    fn this_process_has_used_time() {
        let name = fs::read_to_string("/proc/self/comm").expect("/proc is there");
        let begin = std::time::Instant::now();
        while begin.elapsed() < Duration::from_millis(60) {
            std::hint::black_box(begin);
        }
        let accounts = read(std::process::id(), name.trim());
        assert!(accounts.server > Duration::ZERO);
    }
}
