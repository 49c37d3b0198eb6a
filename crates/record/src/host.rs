//! The machine a recording is made on: its names, its clocks, its interrupts and disks.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::num::NonZero;
use std::path::Path;

use slowpath_model::{CpuId, Timestamp};
use slowpath_platform::clocks::{monotonic_ns, realtime_ns};

use crate::manifest::ClockReading;

/// How often the clocks are read to find the pair that lies closest together.
const CLOCK_ATTEMPTS: usize = 32;

/// A line of `/proc/sys/kernel/…`; empty where it cannot be read.
pub(crate) fn kernel_setting(name: &str) -> String {
    let text = fs::read_to_string(format!("/proc/sys/kernel/{name}")).unwrap_or_default();
    text.trim().to_owned()
}

/// The distance of the monotonic clock from wall time, from the closest of several readings.
pub(crate) fn read_clocks() -> ClockReading {
    let readings = (0..CLOCK_ATTEMPTS).map(|_| {
        let before = monotonic_ns();
        let wall = realtime_ns();
        let after = monotonic_ns();
        (after - before, wall - (before + (after - before) / 2))
    });
    let (width, offset) = readings.min().unwrap_or_default();
    ClockReading {
        name: "monotonic".to_owned(),
        offset_to_epoch_ns: offset,
        offset_to_epoch_at_end_ns: offset,
        uncertainty_ns: u64::try_from(width / 2 + 1).unwrap_or(u64::MAX),
    }
}

/// The present, by the wall clock.
pub(crate) fn now() -> Timestamp {
    Timestamp::from_ns(realtime_ns())
}

/// Interrupt number → the handlers' names, of those that have any.
pub(crate) fn interrupts() -> BTreeMap<String, String> {
    named_files(Path::new("/sys/kernel/irq"), "actions").collect()
}

/// `major:minor` → name, of disks and partitions.
pub(crate) fn block_devices() -> BTreeMap<String, String> {
    let names = named_files(Path::new("/sys/class/block"), "dev");
    names.map(|(name, number)| (number, name)).collect()
}

/// For every folder in `parent`: its name and the content of its file `file`, where not empty.
fn named_files(parent: &Path, file: &str) -> impl Iterator<Item = (String, String)> {
    fs::read_dir(parent)
        .into_iter()
        .flatten()
        .flatten()
        .filter_map(move |entry| {
            let content = fs::read_to_string(entry.path().join(file)).ok()?;
            let content = content.trim();
            (!content.is_empty()).then(|| {
                (
                    entry.file_name().to_string_lossy().into_owned(),
                    content.to_owned(),
                )
            })
        })
}

/// The kernel's symbols of code, in the form of `/proc/kallsyms`; `None` where their addresses are
/// kept from us.
pub(crate) fn code_symbols() -> Option<String> {
    let all = fs::read_to_string("/proc/kallsyms").ok()?;
    let of_code = |line: &&str| {
        matches!(
            line.split_ascii_whitespace().nth(1),
            Some("t" | "T" | "w" | "W")
        )
    };
    let hidden = |line: &str| line.starts_with("0000000000000000 ");
    let mut lines = all.lines().filter(of_code).peekable();
    if lines.peek().is_none_or(|first| hidden(first)) {
        return None;
    }
    let mut text = String::with_capacity(all.len());
    for line in lines {
        text.push_str(line);
        text.push('\n');
    }
    Some(text)
}

/// The processors that are online; `None` where the kernel does not say. There may be many more: those that could
/// be added while the machine runs.
pub(crate) fn online_cpus() -> Option<BTreeSet<CpuId>> {
    cpu_list(&fs::read_to_string("/sys/devices/system/cpu/online").ok()?)
}

/// How many processors there may be; those that are known where the kernel does not say.
pub(crate) fn possible_cpus() -> u64 {
    let possible = fs::read_to_string("/sys/devices/system/cpu/possible");
    let cpus = possible.ok().and_then(|text| cpu_list(&text));
    let known = || std::thread::available_parallelism().map_or(1, NonZero::get);
    cpus.map_or_else(known, |cpus| cpus.len()) as u64
}

/// The processors of a list such as `0-3,8`.
fn cpu_list(text: &str) -> Option<BTreeSet<CpuId>> {
    let mut cpus = BTreeSet::new();
    for part in text.trim().split(',') {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        cpus.extend((first.parse().ok()?..=last.parse().ok()?).map(CpuId));
    }
    Some(cpus)
}

/// Bytes of memory that new allocations may have; `None` where the kernel does not say.
pub(crate) fn available_memory() -> Option<u64> {
    let text = fs::read_to_string("/proc/meminfo").ok()?;
    let line = text
        .lines()
        .find_map(|line| line.strip_prefix("MemAvailable:"))?;
    let kib: u64 = line.split_ascii_whitespace().next()?.parse().ok()?;
    Some(kib * 1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_of_processors_has_ranges_and_single_ones() {
        let cpus =
            |text| cpu_list(text).map(|cpus| cpus.iter().map(|cpu| cpu.0).collect::<Vec<_>>());
        assert_eq!(cpus("0-2,5\n"), Some(vec![0, 1, 2, 5]));
        assert_eq!(cpus("0\n"), Some(vec![0]));
        assert_eq!(cpus("\n"), None);
    }

    #[test]
    fn the_clock_offset_turns_monotonic_time_into_wall_time() {
        let reading = read_clocks();
        let error = realtime_ns() - (monotonic_ns() + reading.offset_to_epoch_ns);
        assert!(error.abs() < 50_000_000, "off by {error} ns");
        assert!(reading.uncertainty_ns < 50_000_000);
    }
}
