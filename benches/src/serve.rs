//! `slowpath-benches serve`: how soon the browser has a picture, and how fast it moves.
//!
//! A large recording of requests, and one of many threads, are each served twice, without their state history
//! and with it, and asked what the application asks. Latencies are the client's, over loopback. Frames are
//! counted in headless Chromium where there is one.

use std::cmp::Reverse;
use std::collections::HashMap;
use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, bail, ensure};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::many_threads;
use crate::report::requests_of_size;

/// Rows of a screen at most, and its pixels.
const ROWS: usize = 500;
const PIXELS: usize = 2_000;
/// Questions of each kind.
const QUESTIONS: u64 = 200;
/// Heights of the browser's window: a small screen, and a large one.
const HEIGHTS: [&str; 2] = ["900", "2160"];

/// What to run.
#[derive(Debug, clap::Args)]
pub struct Settings {
    /// The program to measure.
    #[arg(long, default_value = "target/release/slowpath")]
    slowpath: PathBuf,
    /// Size of the recording, about.
    #[arg(long, default_value_t = 500)]
    megabytes: u64,
    /// Starts without a history, and with one.
    #[arg(long, default_value_t = 3)]
    times: usize,
    /// Serve this recording instead of large ones made here.
    #[arg(long)]
    recording: Option<PathBuf>,
}

/// Runs the benchmark.
///
/// # Errors
/// Where a recording is not there, cannot be made, or has too few threads, or the server does not answer.
pub fn run(settings: &Settings) -> anyhow::Result<()> {
    if let Some(recording) = &settings.recording {
        return measure(settings, recording, 1);
    }
    measure(settings, &requests_of_size(settings.megabytes)?, 1)?;
    match many_threads::of_size(&settings.slowpath, settings.megabytes)? {
        Some(recording) => measure(settings, &recording, ROWS),
        None => Ok(()),
    }
}

/// Measures all of it on a recording that has at least `rows` threads.
fn measure(settings: &Settings, recording: &Path, rows: usize) -> anyhow::Result<()> {
    let mut cache = recording.as_os_str().to_owned();
    cache.push(".slowpath-cache");
    println!("\n{}", recording.display());
    println!("start              picture  requests  anonymous");
    for (name, is_cold) in [("without history", true), ("with history", false)] {
        for _ in 0..settings.times {
            if is_cold && Path::new(&cache).exists() {
                fs::remove_dir_all(&cache)?;
            }
            let served = Served::start(&settings.slowpath, recording)?;
            let picture = served.first_picture()?;
            served.ask("/api/requests?limit=100", None)?;
            let requests = served.since.elapsed();
            served.all_done()?;
            println!(
                "{name:17} {:6.2} s {:7.2} s {:7} MB",
                picture.as_secs_f64(),
                requests.as_secs_f64(),
                served.anonymous_kib()? / 1024,
            );
        }
    }
    let served = Served::start(&settings.slowpath, recording)?;
    served.first_picture()?;
    served.all_done()?;
    let found = served.rows()?.len();
    ensure!(found >= rows, "{found} threads, {rows} are to be shown");
    latencies(&served)?;
    frames(&served)
}

/// A server that ends with this.
struct Served {
    child: Child,
    address: String,
    since: Instant,
    agent: ureq::Agent,
}

impl Drop for Served {
    fn drop(&mut self) {
        // It may have ended by itself; there is nobody to tell then.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[derive(Deserialize)]
struct Described {
    duration_ns: i64,
}

#[derive(Deserialize)]
struct Threads {
    threads: Vec<Thread>,
}

#[derive(Deserialize)]
struct Thread {
    row: u64,
    states: HashMap<String, i64>,
}

impl Served {
    fn start(slowpath: &Path, recording: &Path) -> anyhow::Result<Self> {
        let since = Instant::now();
        let mut child = Command::new(slowpath)
            .arg("serve")
            .arg(recording)
            .args(["--port", "0"])
            .stderr(Stdio::piped())
            .spawn()
            .with_context(|| format!("cannot run {}", slowpath.display()))?;
        let said = child.stderr.take().context("no standard error")?;
        let mut served = Self {
            child,
            address: String::new(),
            since,
            agent: ureq::Agent::new_with_defaults(),
        };
        for line in BufReader::new(said).lines() {
            if let Some(at) = line?.split("http://").nth(1) {
                served.address = format!("http://{}", at.trim().trim_end_matches('/'));
                return Ok(served);
            }
        }
        bail!("the server ended before it listened")
    }

    /// Asks until there is an answer.
    fn ask(&self, question: &str, body: Option<&Value>) -> anyhow::Result<Vec<u8>> {
        let address = format!("{}{question}", self.address);
        loop {
            let mut answer = match body {
                Some(body) => self.agent.post(&address).send_json(body)?,
                None => self.agent.get(&address).call()?,
            };
            if answer.status() != 202 {
                return Ok(answer.body_mut().read_to_vec()?);
            }
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    fn duration(&self) -> anyhow::Result<i64> {
        let described: Described = serde_json::from_slice(&self.ask("/api/recording", None)?)?;
        Ok(described.duration_ns)
    }

    /// The threads that ran most: theirs are the dearest rows.
    fn rows(&self) -> anyhow::Result<Vec<u64>> {
        let Threads { mut threads } = serde_json::from_slice(&self.ask("/api/threads", None)?)?;
        threads.sort_by_key(|thread| Reverse(thread.states.get("RUNNING").copied()));
        let rows = threads.iter().map(|thread| thread.row);
        Ok(rows.take(ROWS).collect())
    }

    /// From the start of the program to the time lines of all of the recording.
    fn first_picture(&self) -> anyhow::Result<Duration> {
        let question = screen(&self.rows()?, 0, self.duration()?);
        self.ask("/api/screen", Some(&question))?;
        Ok(self.since.elapsed())
    }

    fn all_done(&self) -> anyhow::Result<()> {
        loop {
            let progress: Value = serde_json::from_slice(&self.ask("/api/progress", None)?)?;
            if progress["done"] == json!(true) {
                return Ok(());
            }
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    fn anonymous_kib(&self) -> anyhow::Result<u64> {
        let status = fs::read_to_string(format!("/proc/{}/status", self.child.id()))?;
        let anonymous = status
            .lines()
            .find_map(|line| line.strip_prefix("RssAnon:"));
        let kib = anonymous.and_then(|rest| rest.trim().strip_suffix(" kB")?.parse().ok());
        kib.context("no RssAnon")
    }
}

fn screen(rows: &[u64], begin: i64, end: i64) -> Value {
    json!({ "of": "threads", "rows": rows, "begin_ns": begin, "end_ns": end, "pixels": PIXELS })
}

/// Asks what zooming, panning and jumping ask, anywhere.
fn latencies(served: &Served) -> anyhow::Result<()> {
    let (duration, rows) = (served.duration()?, served.rows()?);
    // A fixed sequence (Weyl) without a pattern that zooms could share.
    let part =
        |number: u64, step: u64| (number.wrapping_mul(step) >> 11) as f64 / (1_u64 << 53) as f64;
    let mut zooms = Vec::new();
    let mut jumps = Vec::new();
    for number in 0..QUESTIONS {
        let length =
            (duration as f64 / 2_f64.powf(16.0 * part(number, 0x9E37_79B9_7F4A_7C15))).max(1.0);
        let begin = ((duration as f64 - length) * part(number, 0xD1B5_4A32_D192_ED03)) as i64;
        let question = screen(&rows, begin, begin + length as i64);
        zooms.push(timed(|| served.ask("/api/screen", Some(&question)))?);
        let question = format!("/api/events?at_ns={begin}&before=50&after=100");
        jumps.push(timed(|| served.ask(&question, None))?);
    }
    println!("\nanswers            median     99 %     worst");
    for (name, mut times) in [("zoom or pan", zooms), ("jump in events", jumps)] {
        times.sort();
        let at =
            |share: f64| times[((times.len() - 1) as f64 * share) as usize].as_secs_f64() * 1e3;
        println!(
            "{name:15} {:7.1} ms {:6.1} ms {:6.1} ms",
            at(0.5),
            at(0.99),
            at(1.0)
        );
    }
    println!(
        "{} rows of {PIXELS} pixels; {} MB anonymous",
        rows.len(),
        served.anonymous_kib()? / 1024
    );
    Ok(())
}

fn timed<T>(work: impl FnOnce() -> anyhow::Result<T>) -> anyhow::Result<Duration> {
    let begin = Instant::now();
    work()?;
    Ok(begin.elapsed())
}

#[derive(Deserialize)]
struct Frames {
    rows: u64,
    frames_per_second: f64,
    longest_frame_ms: u64,
    heap_begin_mb: f64,
    heap_end_mb: f64,
}

/// Counts frames in headless Chromium while keys zoom and pan.
fn frames(served: &Served) -> anyhow::Result<()> {
    let web = Path::new(env!("CARGO_MANIFEST_DIR")).join("../web");
    let chromium = std::env::var_os("CHROMIUM").unwrap_or("/usr/bin/chromium".into());
    if !web.join("node_modules").exists() || !Path::new(&chromium).exists() {
        println!("\nframes: skipped, needs Chromium and `make web`");
        return Ok(());
    }
    println!(
        "\nrows in sight   frames a second   longest frame   memory of scripts, before and after"
    );
    for height in HEIGHTS {
        let output = Command::new("node")
            .args(["tests/browser/frames.mjs", height])
            .current_dir(&web)
            .env("SLOWPATH_SERVER", &served.address)
            .stderr(Stdio::inherit())
            .output()?;
        ensure!(output.status.success(), "the browser failed");
        let frames: Frames = serde_json::from_slice(&output.stdout)?;
        println!(
            "{:13} {:17.1} {:12} ms {:10.1} MB {:6.1} MB",
            frames.rows,
            frames.frames_per_second,
            frames.longest_frame_ms,
            frames.heap_begin_mb,
            frames.heap_end_mb,
        );
    }
    Ok(())
}
