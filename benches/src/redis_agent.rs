//! `slowpath-benches redis-agent`: what recording a redis-server from inside costs it, over a stock one.
//!
//! In each round every variant has its turn with a server of its own, in another order each time; a variant is
//! compared with the stock server of the same round. See benches/README.md.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStderr, Command, Stdio};

use anyhow::{Context, bail, ensure};
use serde::Serialize;

use crate::redis::Redis;
use crate::statistics::{Estimate, excess_percent, mean};

/// What to run.
#[derive(Clone, Debug, clap::Args)]
pub struct Settings {
    /// The program that records.
    #[arg(long, default_value = "target/release/slowpath")]
    slowpath: PathBuf,
    /// Rounds, in each of which every variant has its turn.
    #[arg(long, default_value_t = 10)]
    rounds: usize,
    /// Requests of each command in all rounds together, one at a time; five times as many in pipelines of 16.
    #[arg(long, default_value_t = 1_000_000)]
    requests: usize,
    /// Commands, as redis-benchmark names its tests.
    #[arg(long, value_delimiter = ',', default_values_t = ["get".to_owned(), "set".to_owned()])]
    commands: Vec<String>,
    /// Connections.
    #[arg(long, value_delimiter = ',', default_values_t = [50, 100])]
    connections: Vec<usize>,
    /// Print one JSON line for each run, and no table.
    #[arg(long)]
    json: bool,
}

const DEPTHS: [usize; 2] = [1, 16];
/// Requests before those that count: a server's first ones are slow.
const BEFORE: usize = 5_000;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
enum Variant {
    Stock,
    NotRecorded,
    Lite,
    LifeCycle,
}

const VARIANTS: [Variant; 4] = [
    Variant::Stock,
    Variant::NotRecorded,
    Variant::Lite,
    Variant::LifeCycle,
];

impl Variant {
    fn name(self) -> &'static str {
        match self {
            Self::Stock => "stock",
            Self::NotRecorded => "loaded, not recorded",
            Self::Lite => "lite",
            Self::LifeCycle => "life-cycle",
        }
    }

    fn detail(self) -> Option<&'static str> {
        match self {
            Self::Stock | Self::NotRecorded => None,
            Self::Lite | Self::LifeCycle => Some(self.name()),
        }
    }
}

/// The figures of one command in one variant in one round.
#[derive(Clone, Debug, Serialize)]
struct Run {
    round: usize,
    variant: Variant,
    command: String,
    connections: usize,
    depth: usize,
    requests: usize,
    /// Processor time of the server for each request.
    server_ns: f64,
    /// As redis-benchmark saw them, in milliseconds.
    p50_ms: f64,
    p99_ms: f64,
    per_second: f64,
    /// Of the server afterwards, what LTTng's daemon shares with it left out.
    own_kib: f64,
    /// LTTng's buffers among the rest.
    shared_kib: f64,
}

/// Runs all rounds and prints what they say.
///
/// # Errors
/// Where redis, the agent or LTTng is missing, or a run fails.
pub fn run(settings: &Settings) -> anyhow::Result<()> {
    let slowpath = (settings.slowpath.canonicalize())
        .with_context(|| format!("{}\n  hint: make build", settings.slowpath.display()))?;
    let agents = Path::new(env!("CARGO_MANIFEST_DIR")).join("../agents");
    let library = agents.join("redis/build/libslowpath_redis.so");
    let library = library
        .canonicalize()
        .context("the agent for Redis is not built\n  hint: make agents")?;
    let mut runs = Vec::new();
    for round in 0..settings.rounds {
        for &connections in &settings.connections {
            for depth in DEPTHS {
                for turn in 0..VARIANTS.len() {
                    let variant = VARIANTS[(turn + round) % VARIANTS.len()];
                    let loads = Loads {
                        settings,
                        round,
                        connections,
                        depth,
                    };
                    runs.extend(loads.measure(variant, &slowpath, &agents, &library)?);
                }
            }
        }
        eprintln!("round {} of {}", round + 1, settings.rounds);
    }
    if settings.json {
        for run in &runs {
            println!("{}", serde_json::to_string(run)?);
        }
        return Ok(());
    }
    print(settings, &runs);
    Ok(())
}

/// What every variant has to serve in its turn.
#[derive(Clone, Copy)]
struct Loads<'settings> {
    settings: &'settings Settings,
    round: usize,
    connections: usize,
    depth: usize,
}

impl Loads<'_> {
    fn measure(
        self,
        variant: Variant,
        slowpath: &Path,
        agents: &Path,
        library: &Path,
    ) -> anyhow::Result<Vec<Run>> {
        let library = (variant != Variant::Stock).then_some(library);
        let redis =
            Redis::start(library)?.context("redis-server is not installed\n  hint: make setup")?;
        let folder = tempfile::tempdir()?;
        let recorder = match variant.detail() {
            Some(detail) => {
                let recording = folder.path().join("recording");
                Some(Recorder::start(
                    slowpath, agents, &recording, &redis, detail,
                )?)
            }
            None => None,
        };
        let mut runs = Vec::new();
        for command in &self.settings.commands {
            benchmark(&redis, command, self.connections, self.depth, BEFORE)?;
            let more = if self.depth == 1 { 1 } else { 5 };
            let requests = (self.settings.requests * more / self.settings.rounds).max(1);
            let before = redis.processor_ns()?;
            let [per_second, p50_ms, p99_ms] =
                benchmark(&redis, command, self.connections, self.depth, requests)?;
            runs.push(Run {
                round: self.round,
                variant,
                command: command.clone(),
                connections: self.connections,
                depth: self.depth,
                requests,
                server_ns: (redis.processor_ns()? - before) / requests as f64,
                p50_ms,
                p99_ms,
                per_second,
                own_kib: redis.memory_kib(&["RssAnon", "RssFile"])?,
                shared_kib: redis.memory_kib(&["RssShmem"])?,
            });
        }
        if let Some(recorder) = recorder {
            recorder.stop()?;
        }
        Ok(runs)
    }
}

/// `slowpath record` at work; told to end when dropped.
struct Recorder {
    child: Child,
    /// Kept, as it may have more to say.
    _words: BufReader<ChildStderr>,
}

impl Recorder {
    fn start(
        slowpath: &Path,
        agents: &Path,
        recording: &Path,
        redis: &Redis,
        detail: &str,
    ) -> anyhow::Result<Self> {
        let mut child = Command::new(slowpath)
            .args([
                "record", "--kernel", "none", "--spans", "off", "--agents", "off",
            ])
            .args([
                "--redis",
                &redis.process().to_string(),
                "--redis-detail",
                detail,
                "-o",
            ])
            .arg(recording)
            .env("SLOWPATH_AGENTS", agents)
            .stdin(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()?;
        let mut words = BufReader::new(child.stderr.take().context("its words")?);
        let mut said = String::new();
        while !said.ends_with("recording until Ctrl-C\n") {
            if words.read_line(&mut said)? == 0 {
                child.wait()?;
                bail!("the recorder does not begin: {said}");
            }
        }
        Ok(Self {
            child,
            _words: words,
        })
    }

    fn tell_to_end(&mut self) {
        if let Ok(None) = self.child.try_wait() {
            let process = rustix::process::Pid::from_child(&self.child);
            // It may end at this moment.
            let _ = rustix::process::kill_process(process, rustix::process::Signal::INT);
        }
    }

    fn stop(mut self) -> anyhow::Result<()> {
        self.tell_to_end();
        let status = self.child.wait()?;
        ensure!(status.success(), "the recorder: {status}");
        Ok(())
    }
}

impl Drop for Recorder {
    fn drop(&mut self) {
        self.tell_to_end();
        let _ = self.child.wait();
    }
}

/// Requests a second, and the median and the 99th percentile of their latency in milliseconds.
fn benchmark(
    redis: &Redis,
    command: &str,
    connections: usize,
    depth: usize,
    requests: usize,
) -> anyhow::Result<[f64; 3]> {
    let output = Command::new("redis-benchmark")
        .args(["-p", &redis.port.to_string(), "-t", command, "--csv"])
        .args(["-c", &connections.to_string(), "-P", &depth.to_string()])
        .args(["-n", &requests.to_string()])
        .output()
        .context("redis-benchmark")?;
    let text = String::from_utf8_lossy(&output.stdout);
    // "GET","19308.75","0.123",…, under a line of names
    let mut lines = text
        .lines()
        .skip_while(|line| !line.contains("p50_latency_ms"));
    let names: Vec<&str> = lines.next().unwrap_or_default().split(',').collect();
    let values: Vec<&str> = lines.next().unwrap_or_default().split(',').collect();
    let value = |name: &str| {
        let at = names.iter().position(|one| one.trim_matches('"') == name);
        let word = at.and_then(|at| values.get(at));
        let number = word.and_then(|word| word.trim_matches('"').parse().ok());
        number.with_context(|| format!("redis-benchmark -t {command} says no {name}: {text}"))
    };
    Ok([
        value("rps")?,
        value("p50_latency_ms")?,
        value("p99_latency_ms")?,
    ])
}

fn print(settings: &Settings, runs: &[Run]) {
    println!(
        "{} rounds in turn; over the stock server of the same round, in per cent, ± 95 %",
        settings.rounds
    );
    for command in &settings.commands {
        for &connections in &settings.connections {
            for depth in DEPTHS {
                let these: Vec<&Run> = runs
                    .iter()
                    .filter(|run| {
                        run.command == *command
                            && run.connections == connections
                            && run.depth == depth
                    })
                    .collect();
                let requests: usize = these
                    .iter()
                    .filter(|run| run.variant == Variant::Stock)
                    .map(|run| run.requests)
                    .sum();
                let stock: Vec<f64> = of(&these, Variant::Stock, |run| run.server_ns);
                println!(
                    "{command}, {connections} connections, depth {depth}, {requests} requests: stock {} ns of the server each",
                    shown(mean(&stock), 0)
                );
                for variant in &VARIANTS[1..] {
                    let excess = |figure: fn(&Run) -> f64| {
                        let pairs = of(&these, *variant, figure).into_iter().zip(of(
                            &these,
                            Variant::Stock,
                            figure,
                        ));
                        shown(excess_percent(&pairs.collect::<Vec<_>>()), 1)
                    };
                    println!(
                        "  {:22} CPU {:>14}   p50 {:>14}   p99 {:>14}   requests a second {:>14}",
                        variant.name(),
                        excess(|run| run.server_ns),
                        excess(|run| run.p50_ms),
                        excess(|run| run.p99_ms),
                        excess(|run| run.per_second)
                    );
                }
            }
        }
    }
    let all: Vec<&Run> = runs.iter().collect();
    for variant in &VARIANTS[1..] {
        let more = |figure: fn(&Run) -> f64| {
            let stock = of(&all, Variant::Stock, figure);
            let pairs = of(&all, *variant, figure).into_iter().zip(stock);
            let more: Vec<f64> = pairs.map(|(one, stock)| (one - stock) / 1024.0).collect();
            shown(mean(&more), 2)
        };
        println!(
            "resident memory, {}: {} MiB, shared with LTTng's daemon {} MiB",
            variant.name(),
            more(|run| run.own_kib),
            more(|run| run.shared_kib)
        );
    }
}

/// A figure of a variant's runs, in the order of rounds and loads.
fn of(runs: &[&Run], variant: Variant, figure: fn(&Run) -> f64) -> Vec<f64> {
    let of_variant = runs.iter().filter(|run| run.variant == variant);
    of_variant.map(|run| figure(run)).collect()
}

fn shown(estimate: Estimate, digits: usize) -> String {
    match estimate.margin {
        Some(margin) => format!("{:+.digits$} ± {margin:.digits$}", estimate.value),
        None => format!("{:+.digits$}", estimate.value),
    }
}
