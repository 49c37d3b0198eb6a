//! The benchmarks and what they print.
//!
//! Large traces are made once, out of the recordings in `SLOWPATH_TRACES` (default:
//! ../shared/traces), and kept in benches/data.

use std::fs;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, ensure};
use slowpath_engine::{ChunkTiming, Options};
use slowpath_kernel::{count, cpu, io, latency, timelines::Timelines};

use crate::enlarge::{enlarge, open};
use crate::measure::{compare, fastest};
use crate::recording;
use crate::scaling::modelled_efficiency;

/// A large trace: its name, the recording it is made of, where in that the trace lies, and a thread
/// to explain.
struct Subject {
    name: &'static str,
    recording: &'static str,
    folder: &'static str,
    thread: Option<&'static str>,
    /// Whether workers are compared on a larger one, too.
    also_larger: bool,
}

/// How many times as large that is: what takes as long whatever the size, such as to start and to read what the
/// events look like, hardly counts there.
const LARGER: u64 = 4;

const SUBJECTS: &[Subject] = &[
    Subject {
        name: "kernel, contention",
        recording: "futex-contention",
        folder: "futex-contention/kernel",
        thread: Some("315"),
        also_larger: true,
    },
    Subject {
        name: "kernel, network",
        recording: "redis-kernel",
        folder: "redis-kernel/kernel",
        thread: None,
        also_larger: false,
    },
    Subject {
        name: "user space",
        recording: "futex-contention",
        folder: "futex-contention/ust/uid/0/64-bit",
        thread: None,
        also_larger: true,
    },
];

/// Runs all benchmarks.
///
/// # Errors
/// Where a trace cannot be made or a command fails.
pub fn run_all(slowpath: &Path, megabytes: u64, times: usize) -> anyhow::Result<()> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let recordings = recordings();
    ensure!(
        slowpath.is_file(),
        "{} does not exist\n  hint: make build",
        slowpath.display()
    );
    for subject in SUBJECTS {
        let archive = recordings
            .join(subject.recording)
            .join(format!("{}.tar.zst", subject.recording));
        if !archive.is_file() {
            println!(
                "{}: skipped, {} is not there",
                subject.name,
                archive.display()
            );
            continue;
        }
        let small = unpacked(&archive, &root.join("data/small"))?.join(subject.folder);
        let target = root
            .join("data")
            .join(format!("{}-{megabytes}", subject.folder.replace('/', "-")));
        if !target.join("metadata").is_file() {
            enlarge(&small, &target, megabytes << 20)?;
        }
        subject.report(slowpath, &target, times)?;
        subject.scaling(slowpath, &target, times)?;
        if subject.also_larger {
            let larger = tempfile::tempdir_in(root.join("data"))?;
            enlarge(&small, larger.path(), (LARGER * megabytes) << 20)?;
            subject.scaling(slowpath, larger.path(), times)?;
        }
        if subject.name == "kernel, contention" {
            memory(slowpath, &small, &root.join("data"), megabytes)?;
            model(&target)?;
        }
    }
    fs::create_dir_all(root.join("data"))?;
    recording::report(slowpath, &root.join("data"), times.min(3))
}

/// Where the recordings lie that large traces are made of.
pub fn recordings() -> PathBuf {
    let beside = || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../shared/traces");
    std::env::var_os("SLOWPATH_TRACES").map_or_else(beside, PathBuf::from)
}

/// A recording of requests of about this size, kernel and user-space traces: made once, until somebody
/// removes it.
pub fn requests_of_size(megabytes: u64) -> anyhow::Result<PathBuf> {
    let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("data");
    let archive = recordings().join("futex-contention/futex-contention.tar.zst");
    ensure!(archive.is_file(), "{} is not there", archive.display());
    let small = unpacked(&archive, &data.join("small"))?.join("futex-contention");
    let large = data.join(format!("requests-{megabytes}"));
    if !large.exists() {
        // Under another name until it is whole.
        let begun = data.join(format!("requests-{megabytes}.begun"));
        if begun.exists() {
            fs::remove_dir_all(&begun)?;
        }
        enlarge(&small, &begun, megabytes << 20)?;
        fs::rename(&begun, &large)?;
    }
    Ok(large)
}

/// Unpacks an archive once.
pub fn unpacked(archive: &Path, folder: &Path) -> anyhow::Result<PathBuf> {
    fs::create_dir_all(folder)?;
    let name = archive.file_name().unwrap_or_default().to_string_lossy();
    if !folder.join(name.trim_end_matches(".tar.zst")).is_dir() {
        let status = Command::new("tar")
            .arg("--zstd")
            .arg("-xf")
            .arg(archive)
            .arg("-C")
            .arg(folder)
            .status()
            .context("cannot run tar")?;
        ensure!(status.success(), "{} cannot be unpacked", archive.display());
    }
    Ok(folder.to_owned())
}

impl Subject {
    fn report(&self, slowpath: &Path, trace: &Path, times: usize) -> anyhow::Result<()> {
        let slowpath = slowpath.to_string_lossy();
        let path = trace.to_string_lossy();
        let size: u64 = sizes(trace)?;
        println!("\n{}: {:.0} MB", self.name, size as f64 / 1e6);
        let ours = |arguments: &[&'static str]| -> Vec<String> {
            let mut command = vec![slowpath.to_string()];
            command.extend(arguments.iter().map(|&argument| argument.to_owned()));
            command.push(path.to_string());
            command
        };
        let peer = vec![
            "babeltrace2".to_owned(),
            "-o".into(),
            "dummy".into(),
            path.to_string(),
        ];
        let mut rows = vec![
            ("babeltrace2, all fields", peer),
            (
                "decode all fields",
                ours(&["events", "--format", "null", "--jobs", "1"]),
            ),
            (
                "count",
                ours(&["count", "--by", "none", "--json", "--jobs", "1"]),
            ),
        ];
        if self.name.starts_with("kernel") {
            rows.push(("cpu", ours(&["cpu", "--json", "--jobs", "1"])));
            rows.push(("io", ours(&["io", "--json", "--jobs", "1"])));
        }
        if let Some(thread) = self.thread {
            let path_of = ours(&["critical-path", "--json", "--jobs", "1", "--tid", thread]);
            rows.push(("time lines and a critical path", path_of));
        }
        let commands: Vec<Vec<&str>> = rows
            .iter()
            .map(|(_, command)| command.iter().map(String::as_str).collect())
            .collect();
        let borrowed: Vec<&[&str]> = commands.iter().map(Vec::as_slice).collect();
        let costs = compare(times, &borrowed)?;
        let peer = costs[0].cpu.as_secs_f64();
        for ((what, _), cost) in rows.iter().zip(&costs) {
            let cpu = cost.cpu.as_secs_f64();
            println!(
                "  {what:32} {cpu:7.2} s CPU  {:6.1} × less than babeltrace2  {:4} MB anonymous",
                peer / cpu.max(1e-3),
                cost.anonymous_kib / 1024,
            );
        }
        Ok(())
    }

    /// One worker against two.
    fn scaling(&self, slowpath: &Path, trace: &Path, times: usize) -> anyhow::Result<()> {
        let (slowpath, path) = (slowpath.to_string_lossy(), trace.to_string_lossy());
        let analyses: &[&[&str]] = match self.name.starts_with("kernel") {
            true => &[
                &["events", "--format", "null"],
                &["count"],
                &["cpu"],
                &["io"],
            ],
            false => &[&["events", "--format", "null"], &["count"]],
        };
        let size = sizes(trace)? as f64 / 1e6;
        println!("  2 workers on {size:.0} MB, wall time, best of {times} runs each in turn:");
        for analysis in analyses {
            let with = |jobs| [&[&*slowpath], *analysis, &["--jobs", jobs, &*path]].concat();
            let walls = fastest(times, &[&with("1"), &with("2")])?;
            let [one, two] = [walls[0], walls[1]].map(|wall| wall.as_secs_f64());
            let speedup = one / two;
            println!(
                "    {:30} {speedup:.2} × faster ({one:.3} s, {two:.3} s)",
                analysis[0]
            );
        }
        Ok(())
    }
}

fn sizes(folder: &Path) -> anyhow::Result<u64> {
    let files = fs::read_dir(folder)?.filter_map(|entry| entry.ok()?.metadata().ok());
    Ok(files
        .filter(fs::Metadata::is_file)
        .map(|file| file.len())
        .sum())
}

/// Anonymous memory against the size of the trace.
fn memory(slowpath: &Path, small: &Path, data: &Path, megabytes: u64) -> anyhow::Result<()> {
    let slowpath = slowpath.to_string_lossy();
    println!("  memory that is not the trace's own, by size of the trace:");
    for factor in [1, 2, 4] {
        let size = megabytes / 4 * factor;
        let target = data.join(format!("memory-{size}"));
        enlarge(small, &target, size << 20)?;
        let path = target.to_string_lossy();
        let explain = [&slowpath, "critical-path", "--json", "--tid", "315", &path];
        // A short path: the time lines alone. The other is as long as the trace. The thread begins after 1.3 s.
        let explain_a_second = [&explain[..], &["--end", "+2s"]].concat();
        let commands: [&[&str]; 4] = [
            &[&slowpath, "count", &path],
            &[&slowpath, "io", &path],
            &explain_a_second,
            &explain,
        ];
        let costs = compare(1, &commands)?;
        let shown: Vec<String> = ["count", "io", "time lines", "a path over all of it"]
            .iter()
            .zip(&costs)
            .map(|(what, cost)| format!("{what} {} MB", cost.anonymous_kib / 1024))
            .collect();
        println!("    {size:5} MB: {}", shown.join(", "));
        fs::remove_dir_all(&target)?;
    }
    Ok(())
}

/// Modelled efficiency of many workers, from measured chunks and merges.
///
/// # Errors
/// Where the trace cannot be read.
pub fn model(trace: &Path) -> anyhow::Result<()> {
    let source = open(trace)?;
    let options = Options {
        chunk_bytes: Some(1 << 20),
        ..Options::new(NonZeroUsize::MIN)
    };
    let stopped = |_| anyhow::anyhow!("stopped");
    let known = io::Known::default();
    let syscalls = latency::LatencyKind::Syscall;
    let runs: [(&str, Vec<ChunkTiming>); 5] = [
        (
            "count",
            count::count(&source, count::CountBy::None, &options)
                .map_err(stopped)?
                .timings,
        ),
        ("cpu", cpu::cpu(&source, &options).map_err(stopped)?.timings),
        (
            "io",
            io::io(&source, &known, &options).map_err(stopped)?.timings,
        ),
        (
            "latency",
            latency::latency(&source, syscalls, &options)
                .map_err(stopped)?
                .timings,
        ),
        (
            "time lines",
            Timelines::build(&source, &options)
                .map_err(stopped)?
                .timings,
        ),
    ];
    println!("  modelled parallel efficiency (chunks of 1 MiB):");
    for (what, timings) in runs {
        let at = |workers| modelled_efficiency(&timings, workers);
        let sum = |time: fn(&ChunkTiming) -> Duration| timings.iter().map(time).sum::<Duration>();
        println!(
            "    {what:12} 2: {:.2}  8: {:.2}  32: {:.2}  ({} chunks: {:.0?} in passes, {:.1?} in merges)",
            at(2),
            at(8),
            at(32),
            timings.len(),
            sum(|chunk| chunk.pass),
            sum(|chunk| chunk.merge),
        );
    }
    Ok(())
}
