//! `slowpath-benches overhead`: what recording costs a service, after §4.1 of Gelle et al. (2021).
//!
//! HotROD runs in each mode (`modes.rs`) under the same loads; the modes take turns, forwards and
//! backwards. Each result is written down at once, so that an interrupted benchmark goes on where it
//! was. See benches/README.md.

mod accounts;
mod collector;
mod load;
mod modes;
mod server;
mod table;

use std::fs::{self, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, SystemTime};

use anyhow::{Context, bail, ensure};
use serde::{Deserialize, Serialize};
use slowpath_platform::signals::SignalPipe;

use crate::statistics::quantile;
use collector::Collector;
use load::Load;
use modes::{Delays, Mode, Place};
use server::Server;

/// What to run.
#[derive(Clone, Debug, PartialEq, clap::Args, Serialize, Deserialize)]
pub struct Settings {
    /// The program to measure.
    #[arg(long, default_value = "target/release/slowpath")]
    slowpath: PathBuf,
    /// Rounds, in each of which every mode has its turn.
    #[arg(long, default_value_t = 12)]
    rounds: u32,
    /// Ride requests in a round, for each mode and load; without delays six times as many.
    #[arg(long, default_value_t = 1000)]
    rides: u64,
    /// Page requests in a round, for each mode and load.
    #[arg(long, default_value_t = 20_000)]
    pages: u64,
    /// Ride requests per second at the fixed rate.
    #[arg(long, default_value_t = 100)]
    ride_rate: u64,
    /// Page requests per second at the fixed rate.
    #[arg(long, default_value_t = 4000)]
    page_rate: u64,
    /// Modes to compare.
    #[arg(long, value_name = "LIST", value_enum, value_delimiter = ',', default_values_t = modes::ALL)]
    modes: Vec<Mode>,
    /// Further options of `slowpath record`, for instance `--record-options=--events=sched`.
    #[arg(long, allow_hyphen_values = true)]
    record_options: Vec<String>,
    /// Do not go on with an interrupted benchmark of the same settings.
    #[arg(long)]
    #[serde(skip)]
    fresh: bool,
}

/// A load by name: what is asked for, and how fast.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum LoadName {
    /// Ride requests (40 spans each) at a fixed rate.
    RidesAtARate,
    /// As fast as they are answered, by many clients: rides sleep, and the processors could serve more.
    RidesAtOnce,
    /// A page (one span) at a fixed rate.
    PagesAtARate,
    /// As many as the processors can serve.
    PagesAtOnce,
    /// The paper's: no pretended delays, ten clients, each of which waits for its answer before it asks again.
    UndelayedRides,
}

const LOADS: [LoadName; 5] = [
    LoadName::RidesAtARate,
    LoadName::RidesAtOnce,
    LoadName::PagesAtARate,
    LoadName::PagesAtOnce,
    LoadName::UndelayedRides,
];

/// Rides without delays for one with them: they take as long then as the others.
const UNDELAYED: u64 = 6;

/// Figures from a machine of which others take more are told with a warning.
const DISTURBED_PERCENT: f64 = 10.0;

const RIDES: &[&str] = &[
    "/dispatch?customer=123",
    "/dispatch?customer=392",
    "/dispatch?customer=731",
    "/dispatch?customer=567",
];
const PAGES: &[&str] = &["/config"];

impl LoadName {
    /// Which HotROD is asked.
    fn delays(self) -> Delays {
        match self {
            Self::UndelayedRides => Delays::None,
            _ => Delays::Pretended,
        }
    }

    fn load(self, settings: &Settings) -> Load {
        let (paths, requests, connections, rate) = match self {
            Self::RidesAtARate => (RIDES, settings.rides, 128, Some(settings.ride_rate)),
            Self::RidesAtOnce => (RIDES, settings.rides, 128, None),
            Self::PagesAtARate => (PAGES, settings.pages, 16, Some(settings.page_rate)),
            Self::PagesAtOnce => (PAGES, settings.pages, 16, None),
            Self::UndelayedRides => (RIDES, UNDELAYED * settings.rides, 10, None),
        };
        Load {
            paths,
            requests,
            connections,
            rate,
        }
    }
}

/// The figures of one load in one mode in one round. Times in microseconds.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Run {
    round: u32,
    mode: Mode,
    load: LoadName,
    /// With status 200; latencies are theirs.
    answered: u64,
    #[serde(flatten)]
    failed: Failed,
    /// Answers with status 200, a second.
    per_second: f64,
    mean: f64,
    median: f64,
    p99: f64,
    /// Processor time for a request, failed ones among them.
    server_cpu: f64,
    observers_cpu: f64,
    /// What other programs took of the machine, in per cent.
    others_percent: f64,
}

/// Requests that failed by HotROD's own doing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
struct Failed {
    /// HotROD pretends that its store timed out: every fifth look at it, and a ride fails whose three
    /// looks for one of ten drivers do. Where many rides take turns, that is 10/5³, one in 13.
    pretended: u64,
    /// HotROD gives up where its drivers take more than a second: the machine is too busy.
    late: u64,
}

impl Failed {
    /// What the failures are.
    ///
    /// # Errors
    /// Where one is none of HotROD's own: no figure means anything then.
    fn of(answers: &load::Answers) -> anyhow::Result<Self> {
        let mut failed = Self::default();
        for (said, count) in &answers.failures {
            if said.contains("redis timeout") {
                failed.pretended += count;
            } else if said.contains("DeadlineExceeded") {
                failed.late += count;
            } else {
                let all = answers.failures.values().sum::<u64>() + answers.latencies.len() as u64;
                bail!("{count} of {all} requests failed: {said}");
            }
        }
        ensure!(!answers.latencies.is_empty(), "no request was answered");
        Ok(failed)
    }

    fn count(self) -> u64 {
        self.pretended + self.late
    }
}

/// The file that an interrupted benchmark goes on from.
#[derive(Debug, Serialize, Deserialize)]
struct Header {
    settings: Settings,
    version: String,
    /// When the program was built: a version has many.
    built: SystemTime,
}

/// Runs what has not been run, and prints tables.
///
/// # Errors
/// Where HotROD cannot be built or started, and when interrupted.
pub fn run(settings: &Settings) -> anyhow::Result<()> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let data = root.join("data/overhead");
    fs::create_dir_all(&data)?;
    ensure!(
        settings.slowpath.is_file(),
        "{} does not exist\n  hint: make build",
        settings.slowpath.display()
    );
    let programs = root.join("../.cache/hotrod");
    let library = root.join("../agents/spans-native/build/libslowpath_spans.so");
    build(root, &programs, &library)?;
    let version = Command::new(&settings.slowpath).arg("--version").output()?;
    let header = serde_json::to_string(&Header {
        settings: settings.clone(),
        version: String::from_utf8_lossy(&version.stdout).trim().to_owned(),
        built: fs::metadata(&settings.slowpath)?.modified()?,
    })?;
    let file = data.join("runs.jsonl");
    let mut done = if settings.fresh {
        Vec::new()
    } else {
        runs_so_far(&fs::read_to_string(&file).unwrap_or_default(), &header)
    };
    if done.is_empty() {
        fs::write(&file, format!("{header}\n"))?;
    } else {
        eprintln!(
            "going on after {} results of {}",
            done.len(),
            file.display()
        );
    }
    let mut results = OpenOptions::new().append(true).open(&file)?;
    let collector = Collector::start()?;
    let recording = data.join("recording");
    let place = Place {
        slowpath: &settings.slowpath,
        programs: &programs,
        recording: &recording,
        span_events: &library,
        collector: collector.address,
        record_options: &settings.record_options,
    };
    let signals = SignalPipe::new()?;
    let interrupted = std::cell::Cell::new(false);
    let stopped = || {
        interrupted.set(interrupted.get() || signals.next().is_some());
        interrupted.get()
    };
    for (turn, (round, mode)) in schedule(settings.rounds, &settings.modes)
        .into_iter()
        .enumerate()
    {
        if done
            .iter()
            .any(|run| (run.round, run.mode) == (round, mode))
        {
            continue;
        }
        let turns = settings.rounds as usize * settings.modes.len();
        eprint!(
            "{:3} of {turns}: round {round}, {:20}",
            turn + 1,
            mode.name()
        );
        let received = collector.received();
        let runs = one_turn(round, mode, settings, &place, &stopped);
        if recording.is_dir() {
            // At once: its pages need not come to the disk while the next is measured.
            fs::remove_dir_all(&recording)?;
        }
        let runs = runs.context("interrupted or failed; the same command goes on from here")?;
        if mode == Mode::Spans {
            ensure!(collector.received() > received, "no spans were exported");
        }
        for run in &runs {
            eprint!("  {:.0}/s", run.per_second);
            writeln!(results, "{}", serde_json::to_string(run)?)?;
        }
        let others = runs
            .iter()
            .map(|run| run.others_percent)
            .fold(0.0, f64::max);
        match others > DISTURBED_PERCENT {
            true => eprintln!("  (others take {others:.0} % of the machine)"),
            false => eprintln!(),
        }
        done.extend(runs);
    }
    table::print(settings, &done);
    let summary = data.join("summary.json");
    fs::write(&summary, table::json(settings, &header, &done)?)?;
    println!(
        "\nAs JSON: {}; each run: {}",
        summary.display(),
        file.display()
    );
    Ok(())
}

/// Every mode in every round: forwards, then backwards.
fn schedule(rounds: u32, modes: &[Mode]) -> Vec<(u32, Mode)> {
    (0..rounds)
        .flat_map(|round| {
            let mut turns: Vec<_> = modes.iter().map(|mode| (round, *mode)).collect();
            if round % 2 == 1 {
                turns.reverse();
            }
            turns
        })
        .collect()
}

/// The complete turns in a file that the same settings wrote.
fn runs_so_far(text: &str, header: &str) -> Vec<Run> {
    let mut lines = text.lines();
    if lines.next() != Some(header) {
        return Vec::new();
    }
    // A line that was cut off is not a run; its turn is taken anew.
    let runs: Vec<Run> = lines
        .filter_map(|line| serde_json::from_str(line).ok())
        .collect();
    let is_complete = |one: &Run| {
        let of_turn = |run: &&Run| (run.round, run.mode) == (one.round, one.mode);
        runs.iter().filter(of_turn).count() == LOADS.len()
    };
    runs.iter()
        .filter(|run| is_complete(run))
        .cloned()
        .collect()
}

/// Starts HotROD in a mode, as it is and without delays, and sends every load.
fn one_turn(
    round: u32,
    mode: Mode,
    settings: &Settings,
    place: &Place<'_>,
    stopped: &dyn Fn() -> bool,
) -> anyhow::Result<Vec<Run>> {
    let mut runs = Vec::new();
    for delays in [Delays::Pretended, Delays::None] {
        let server = Server::start(mode, delays, place, stopped)?;
        let sent = |load: &Load| -> anyhow::Result<_> {
            let answers = load::send(server.address, load, stopped)?;
            let failed = Failed::of(&answers).context(mode.name())?;
            Ok((answers, failed))
        };
        let warm_up = Load {
            requests: 200,
            ..LoadName::RidesAtOnce.load(settings)
        };
        sent(&warm_up)?;
        for name in LOADS.into_iter().filter(|name| name.delays() == delays) {
            let before = server.accounts();
            let (answers, failed) = sent(&name.load(settings))?;
            // Spans are exported a second later at most; that belongs to the requests.
            std::thread::sleep(Duration::from_millis(1200));
            let spent = server.accounts().since(before);
            let good = answers.latencies.len();
            let count = (good as u64 + failed.count()) as f64;
            runs.push(Run {
                round,
                mode,
                load: name,
                answered: good as u64,
                failed,
                per_second: good as f64 / answers.took.as_secs_f64(),
                mean: answers.latencies.iter().sum::<f64>() / good as f64,
                median: quantile(&answers.latencies, 0.5),
                p99: quantile(&answers.latencies, 0.99),
                server_cpu: spent.server.as_secs_f64() * 1e6 / count,
                observers_cpu: spent.observers.as_secs_f64() * 1e6 / count,
                others_percent: spent.others_percent(),
            });
        }
    }
    Ok(runs)
}

/// Builds HotROD in its variants, where that has not been done, and the library for its events.
fn build(root: &Path, programs: &Path, library: &Path) -> anyhow::Result<()> {
    if !programs.join("undelayed/hotrod-getpid").is_file() {
        eprintln!("building HotROD (a minute or two)");
        let status = Command::new("sh")
            .arg(root.join("overhead/build.sh"))
            .arg(programs)
            .status()?;
        if !status.success() {
            bail!(
                "HotROD cannot be built\n  hint: Go 1.25 or later and its module proxy are needed"
            );
        }
    }
    if !library.is_file() {
        let folder = root.join("../agents/spans-native");
        let status = Command::new("make")
            .arg("--silent")
            .arg("-C")
            .arg(folder)
            .status()?;
        ensure!(
            status.success(),
            "the library that fires span events cannot be built\n  hint: make setup"
        );
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn modes_take_turns_forwards_and_backwards() {
        let schedule = schedule(2, &modes::ALL);
        assert_eq!(schedule.len(), 2 * modes::ALL.len());
        assert_eq!(schedule[0], (0, Mode::NoTracing));
        assert_eq!(schedule[5], (0, Mode::FakeCallStandard));
        assert_eq!(schedule[6], (1, Mode::FakeCallStandard));
        assert_eq!(schedule[11], (1, Mode::NoTracing));
    }

    #[test]
    fn only_failures_that_are_of_hotrod_are_put_up_with() {
        let check = |failures: &[(&str, u64)]| {
            let failures = failures
                .iter()
                .map(|(said, count)| ((*said).to_owned(), *count));
            let answers = load::Answers {
                latencies: vec![1.0],
                failures: failures.collect(),
                ..load::Answers::default()
            };
            Failed::of(&answers).map_err(|cause| cause.to_string())
        };
        let pretended = ("500 rpc error: code = Unknown desc = redis timeout", 3);
        let late = (
            "500 rpc error: code = DeadlineExceeded desc = context deadline exceeded",
            1,
        );
        let expected = Failed {
            pretended: 3,
            late: 1,
        };
        assert_eq!(check(&[pretended, late]), Ok(expected));
        let broken = ("no answer: Connection refused (os error 111)", 2);
        let told = "2 of 6 requests failed: no answer: Connection refused (os error 111)";
        assert_eq!(check(&[pretended, broken]), Err(told.to_owned()));
    }

    #[test]
    fn only_complete_turns_of_the_same_settings_count() {
        let run = |mode, load| {
            let run = Run {
                round: 0,
                mode,
                load,
                answered: 1,
                failed: Failed::default(),
                per_second: 1.0,
                mean: 1.0,
                median: 1.0,
                p99: 1.0,
                server_cpu: 1.0,
                observers_cpu: 0.0,
                others_percent: 0.0,
            };
            serde_json::to_string(&run).expect("it has no maps")
        };
        let mut lines = vec!["{settings}".to_owned()];
        lines.extend(LOADS.map(|load| run(Mode::Spans, load)));
        lines.extend(LOADS.map(|load| run(Mode::Standard, load)));
        let last = lines.last_mut().expect("there are lines");
        last.truncate(last.len() / 2);
        let text = lines.join("\n");
        let runs = runs_so_far(&text, "{settings}");
        assert_eq!(runs.len(), LOADS.len());
        assert!(runs.iter().all(|run| run.mode == Mode::Spans));
        assert!(runs_so_far(&text, "{others}").is_empty());
    }
}
