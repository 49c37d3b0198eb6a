//! A recording of many threads, made here: more rows than a screen has. The recordings that other benchmarks
//! enlarge have tens of threads.
//!
//! This program records itself: rings of threads hand a token on through pipes until the recording is large
//! enough. It is bounded in time too, should nothing be recorded.

use std::fs;
use std::io::{PipeReader, PipeWriter, Read, Write, pipe};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::Context;

/// Some more than the rows of a screen.
const THREADS: usize = 600;
/// Threads of a ring: one of them is awake.
const RING: usize = 10;
/// What a thread does with the token: turns of a loop, then sleep, that the recorder keeps up.
const WORK: u32 = 5_000;
const SLEEP: Duration = Duration::from_millis(2);
const LOOK: Duration = Duration::from_millis(50);
const LONGEST: Duration = Duration::from_secs(120);

/// The load.
#[derive(Debug, clap::Args)]
pub struct Load {
    /// Ends once this folder of raw trace buffers is as large as said.
    folder: PathBuf,
    megabytes: u64,
}

/// A recording of about this size: made once, until somebody removes it. None, having said why, where
/// nothing can be recorded.
///
/// # Errors
/// Where the folder of recordings cannot be written.
pub fn of_size(slowpath: &Path, megabytes: u64) -> anyhow::Result<Option<PathBuf>> {
    let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("data");
    fs::create_dir_all(&data)?;
    let recording = data.join(format!("many-threads-{megabytes}"));
    if recording.exists() {
        return Ok(Some(recording));
    }
    // Under another name until it is whole.
    let begun = data.join(format!("many-threads-{megabytes}.begun"));
    if begun.exists() {
        fs::remove_dir_all(&begun)?;
    }
    let recorded = Command::new(slowpath)
        .args(["record", "--kernel", "ftrace", "--ust", "none"])
        .args(["--spans", "off", "--agents", "off", "-o"])
        .arg(&begun)
        .arg("--")
        .arg(std::env::current_exe()?)
        .arg("many-threads")
        .args([&begun.join("kernel"), Path::new(&megabytes.to_string())])
        .stdin(Stdio::null())
        .output()
        .with_context(|| format!("cannot run {}", slowpath.display()))?;
    if !recorded.status.success() {
        let said = String::from_utf8_lossy(&recorded.stderr);
        println!("\nmany threads: skipped, nothing can be recorded:\n{said}");
        return Ok(None);
    }
    fs::rename(&begun, &recording)?;
    Ok(Some(recording))
}

/// Runs the load.
///
/// # Errors
/// Where threads or pipes cannot be made.
pub fn run(load: &Load) -> anyhow::Result<()> {
    for _ in 0..THREADS / RING {
        ring()?;
    }
    let begin = Instant::now();
    while begin.elapsed() < LONGEST && size_of(&load.folder)? < load.megabytes << 20 {
        std::thread::sleep(LOOK);
    }
    // The end of the process ends the threads.
    Ok(())
}

/// Threads that wait for a token, work a little, and hand it on.
fn ring() -> anyhow::Result<()> {
    let pipes = (0..RING).map(|_| pipe()).collect::<Result<Vec<_>, _>>()?;
    let (readers, mut writers): (Vec<PipeReader>, Vec<PipeWriter>) = pipes.into_iter().unzip();
    writers[0].write_all(&[0])?;
    writers.rotate_left(1);
    for (number, (from, to)) in readers.into_iter().zip(writers).enumerate() {
        std::thread::Builder::new()
            .name(format!("ring-{number}"))
            .stack_size(64 << 10)
            .spawn(move || hand_on(from, to))?;
    }
    Ok(())
}

fn hand_on(mut from: PipeReader, mut to: PipeWriter) -> std::io::Result<()> {
    let mut token = [0];
    loop {
        from.read_exact(&mut token)?;
        for step in 0..WORK {
            std::hint::black_box(step);
        }
        std::thread::sleep(SLEEP);
        to.write_all(&token)?;
    }
}

fn size_of(folder: &Path) -> anyhow::Result<u64> {
    let mut size = 0;
    for entry in fs::read_dir(folder)? {
        size += entry?.metadata()?.len();
    }
    Ok(size)
}
