//! `slowpath-benches redis-agent`: what recording a redis-server from inside costs it, over a stock one.
//!
//! In each round every variant has its turn: a server of its own, and a stock one beside it, which serve the same load by
//! turns, a piece at a time. See benches/README.md.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStderr, Command, Stdio};

use anyhow::{Context, bail, ensure};
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};
use serde::Serialize;

use crate::redis::{PROGRAM, Redis};
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
    /// Requests of each load in all rounds together; five times as many in pipelines.
    #[arg(long, default_value_t = 1_000_000)]
    requests: usize,
    /// Pieces of a load in a round, after each of which it is the other server's turn.
    #[arg(long, default_value_t = 4)]
    pieces: usize,
    /// Commands, as redis-benchmark names its tests.
    #[arg(long, value_delimiter = ',', default_values_t = ["get".to_owned(), "set".to_owned()])]
    commands: Vec<String>,
    /// Connections.
    #[arg(long, value_delimiter = ',', default_values_t = [50, 100])]
    connections: Vec<usize>,
    /// Commands that a client sends at once.
    #[arg(long, value_delimiter = ',', default_values_t = [1, 16])]
    depths: Vec<usize>,
    /// What is compared with a stock server.
    #[arg(long, value_enum, value_delimiter = ',', default_values_t = [Variant::NotRecorded, Variant::Lite, Variant::LifeCycle])]
    variants: Vec<Variant>,
    /// Print one JSON line for each run, and no table.
    #[arg(long)]
    json: bool,
}

/// Requests before those that count: a server's first ones are slow.
const BEFORE: usize = 5_000;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, clap::ValueEnum)]
#[serde(rename_all = "kebab-case")]
enum Variant {
    /// The agent is loaded, and nobody records.
    NotRecorded,
    /// Recorded at level lite.
    Lite,
    /// Recorded at level life-cycle.
    LifeCycle,
    /// Recorded by the kernel's uprobes, without the agent.
    Uprobes,
}

impl Variant {
    fn name(self) -> &'static str {
        match self {
            Self::NotRecorded => "loaded, not recorded",
            Self::Lite => "lite",
            Self::LifeCycle => "life-cycle",
            Self::Uprobes => "uprobes",
        }
    }

    /// How `slowpath record` is asked for it, if it is. Uprobes are the kernel's events, of which no others are recorded.
    fn recorded(self) -> Option<&'static [&'static str]> {
        Some(match self {
            Self::NotRecorded => return None,
            Self::Lite => &["--kernel", "none", "--redis-detail", "lite"],
            Self::LifeCycle => &["--kernel", "none", "--redis-detail", "life-cycle"],
            Self::Uprobes => &[
                "--kernel",
                "ftrace",
                "--events",
                "sched:sched_process_exec",
                "--redis-by",
                "uprobes",
            ],
        })
    }

    fn has_agent(self) -> bool {
        self != Self::Uprobes
    }
}

/// What one server did with one piece of a load.
#[derive(Clone, Copy, Debug, Serialize)]
struct Figures {
    /// Processor time of the server for each request.
    server_ns: f64,
    /// As redis-benchmark saw them, in milliseconds.
    p50_ms: f64,
    p99_ms: f64,
    per_second: f64,
}

/// What clients send.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
struct Load {
    command: String,
    connections: usize,
    depth: usize,
}

/// One piece of a load, by a variant and the stock server beside it.
#[derive(Clone, Debug, Serialize)]
struct Piece {
    round: usize,
    variant: Variant,
    load: Load,
    requests: usize,
    of_variant: Figures,
    of_stock: Figures,
}

/// By how much more memory a variant's server has than the stock one after all loads of a round, in KiB: what LTTng's daemon
/// shares with it left out, and those buffers.
#[derive(Clone, Copy, Debug, Serialize)]
struct Memory {
    variant: Variant,
    own_kib: f64,
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
    let bench = Bench {
        settings,
        slowpath: &slowpath,
        agents: &agents,
        agent: &library,
        processor: a_processor_of_its_own()?,
        loads: loads(settings),
    };
    let (mut pieces, mut memory) = (Vec::new(), Vec::new());
    for round in 0..settings.rounds {
        for turn in 0..settings.variants.len() {
            let variant = settings.variants[(turn + round) % settings.variants.len()];
            memory.push(bench.compare(round, variant, &mut pieces)?);
        }
        eprintln!("round {} of {}", round + 1, settings.rounds);
    }
    if settings.json {
        for piece in &pieces {
            println!("{}", serde_json::to_string(piece)?);
        }
        for memory in &memory {
            println!("{}", serde_json::to_string(memory)?);
        }
        return Ok(());
    }
    print(&bench, &pieces, &memory);
    Ok(())
}

/// The last processor, which is left to the servers: this process, and all that it starts, keep to the others. `None` where
/// there is only one.
fn a_processor_of_its_own() -> anyhow::Result<Option<usize>> {
    let mut others = sched_getaffinity(None)?;
    if others.count() < 2 {
        return Ok(None);
    }
    let last = (0..CpuSet::MAX_CPU).rev().find(|cpu| others.is_set(*cpu));
    let last = last.context("no processor")?;
    others.unset(last);
    sched_setaffinity(None, &others)?;
    Ok(Some(last))
}

fn loads(settings: &Settings) -> Vec<Load> {
    let mut loads = Vec::new();
    for &depth in &settings.depths {
        for command in &settings.commands {
            for &connections in &settings.connections {
                loads.push(Load {
                    command: command.clone(),
                    connections,
                    depth,
                });
            }
        }
    }
    loads
}

/// What all rounds have in common.
struct Bench<'run> {
    settings: &'run Settings,
    slowpath: &'run Path,
    agents: &'run Path,
    agent: &'run Path,
    processor: Option<usize>,
    loads: Vec<Load>,
}

impl Bench<'_> {
    /// One round of a variant.
    fn compare(
        &self,
        round: usize,
        variant: Variant,
        pieces: &mut Vec<Piece>,
    ) -> anyhow::Result<Memory> {
        let folder = tempfile::tempdir()?;
        let stock_program = match variant {
            Variant::Uprobes => a_file_of_its_own(folder.path())?,
            _ => PROGRAM.into(),
        };
        let stock = self.server(&stock_program, None)?;
        let library = variant.has_agent().then_some(self.agent);
        let server = self.server(PROGRAM.as_ref(), library)?;
        let recorder = match variant.recorded() {
            Some(how) => {
                let recording = folder.path().join("recording");
                let recorder =
                    Recorder::start(self.slowpath, self.agents, &recording, &server, how)?;
                Some(recorder)
            }
            None => None,
        };
        for load in &self.loads {
            let requests = self.requests(load);
            for server in [&stock, &server] {
                measure(server, load, BEFORE)?;
            }
            for piece in 0..self.settings.pieces {
                let (of_stock, of_variant) = if piece % 2 == 0 {
                    let of_stock = measure(&stock, load, requests)?;
                    (of_stock, measure(&server, load, requests)?)
                } else {
                    let of_variant = measure(&server, load, requests)?;
                    (measure(&stock, load, requests)?, of_variant)
                };
                pieces.push(Piece {
                    round,
                    variant,
                    load: load.clone(),
                    requests,
                    of_variant,
                    of_stock,
                });
            }
        }
        let more =
            |kinds: &[&str]| anyhow::Ok(server.memory_kib(kinds)? - stock.memory_kib(kinds)?);
        let memory = Memory {
            variant,
            own_kib: more(&["RssAnon", "RssFile"])?,
            shared_kib: more(&["RssShmem"])?,
        };
        if let Some(recorder) = recorder {
            recorder.stop()?;
        }
        Ok(memory)
    }

    fn server(&self, program: &Path, library: Option<&Path>) -> anyhow::Result<Redis> {
        let redis = Redis::start(program, library)?;
        let redis = redis.context("redis-server is not installed\n  hint: make setup")?;
        if let Some(processor) = self.processor {
            redis.keep_on(processor)?;
        }
        Ok(redis)
    }

    /// Of one piece.
    fn requests(&self, load: &Load) -> usize {
        let more = if load.depth == 1 { 1 } else { 5 };
        let pieces = self.settings.rounds * self.settings.pieces;
        (self.settings.requests * more / pieces.max(1)).max(1)
    }
}

/// A copy of the program: uprobes are in its file, for whoever runs that.
fn a_file_of_its_own(folder: &Path) -> anyhow::Result<PathBuf> {
    let paths = std::env::var_os("PATH").unwrap_or_default();
    let mut programs = std::env::split_paths(&paths).map(|path| path.join(PROGRAM));
    let program = programs.find(|program| program.is_file());
    let program = program.context("redis-server is not installed\n  hint: make setup")?;
    let copy = folder.join(PROGRAM);
    std::fs::copy(program, &copy)?;
    Ok(copy)
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
        how: &[&str],
    ) -> anyhow::Result<Self> {
        let mut child = Command::new(slowpath)
            .args(["record", "--spans", "off", "--agents", "off"])
            .args(["--redis", &redis.process().to_string()])
            .args(how)
            .arg("-o")
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

fn measure(redis: &Redis, load: &Load, requests: usize) -> anyhow::Result<Figures> {
    let before = redis.processor_ns()?;
    let output = Command::new("redis-benchmark")
        .args(["-p", &redis.port.to_string(), "-t", &load.command, "--csv"])
        .args(["-c", &load.connections.to_string()])
        .args(["-P", &load.depth.to_string(), "-n", &requests.to_string()])
        .output()
        .context("redis-benchmark")?;
    let server_ns = (redis.processor_ns()? - before) / requests as f64;
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
        let command = &load.command;
        number.with_context(|| format!("redis-benchmark -t {command} says no {name}: {text}"))
    };
    Ok(Figures {
        server_ns,
        p50_ms: value("p50_latency_ms")?,
        p99_ms: value("p99_latency_ms")?,
        per_second: value("rps")?,
    })
}

fn print(bench: &Bench<'_>, pieces: &[Piece], memory: &[Memory]) {
    let settings = bench.settings;
    println!(
        "{} rounds; over the stock server beside, in per cent, ± 95 %",
        settings.rounds
    );
    for load in &bench.loads {
        let of_load = |piece: &&Piece| piece.load == *load;
        let stock = pieces.iter().filter(of_load);
        let stock: Vec<f64> = stock.map(|piece| piece.of_stock.server_ns).collect();
        println!(
            "{}, {} connections, depth {}, {} requests: stock {} ns of the server each",
            load.command,
            load.connections,
            load.depth,
            bench.requests(load) * settings.rounds * settings.pieces,
            shown(mean(&stock), 0)
        );
        for &variant in &settings.variants {
            let excess =
                |figure| shown(excess_percent(&by_round(pieces, variant, load, figure)), 1);
            println!(
                "  {:22} CPU {:>14}   p50 {:>14}   p99 {:>14}   requests a second {:>14}",
                variant.name(),
                excess(|figures| figures.server_ns),
                excess(|figures| figures.p50_ms),
                excess(|figures| figures.p99_ms),
                excess(|figures| figures.per_second)
            );
        }
    }
    for &depth in &settings.depths {
        println!("all loads of depth {depth}");
        for &variant in &settings.variants {
            let loads = bench.loads.iter().filter(|load| load.depth == depth);
            let of = |load| by_round(pieces, variant, load, |figures| figures.server_ns);
            let pairs: Vec<(f64, f64)> = loads.flat_map(of).collect();
            println!(
                "  {:22} CPU {:>14}",
                variant.name(),
                shown(excess_percent(&pairs), 1)
            );
        }
    }
    for &variant in &settings.variants {
        let of_variant = || {
            memory
                .iter()
                .filter(move |memory| memory.variant == variant)
        };
        let own: Vec<f64> = of_variant().map(|memory| memory.own_kib / 1024.0).collect();
        let shared: Vec<f64> = of_variant()
            .map(|memory| memory.shared_kib / 1024.0)
            .collect();
        println!(
            "resident memory, {}: {} MiB, shared with LTTng's daemon {} MiB",
            variant.name(),
            shown(mean(&own), 2),
            shown(mean(&shared), 2)
        );
    }
}

/// For each round a figure of the variant, and of the stock server beside it: means over the pieces.
fn by_round(
    pieces: &[Piece],
    variant: Variant,
    load: &Load,
    figure: fn(&Figures) -> f64,
) -> Vec<(f64, f64)> {
    let these = pieces
        .iter()
        .filter(|piece| piece.variant == variant && piece.load == *load);
    let these: Vec<&Piece> = these.collect();
    let rounds = these.chunk_by(|one, other| one.round == other.round);
    let over = |round: &[&Piece], of: fn(&Piece) -> &Figures| {
        mean(
            &round
                .iter()
                .map(|piece| figure(of(piece)))
                .collect::<Vec<_>>(),
        )
        .value
    };
    rounds
        .map(|round| {
            (
                over(round, |piece| &piece.of_variant),
                over(round, |piece| &piece.of_stock),
            )
        })
        .collect()
}

fn shown(estimate: Estimate, digits: usize) -> String {
    match estimate.margin {
        Some(margin) => format!("{:+.digits$} ± {margin:.digits$}", estimate.value),
        None => format!("{:+.digits$}", estimate.value),
    }
}
