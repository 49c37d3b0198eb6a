//! Random mutations of the fixtures, thrown at every target: fuzzing without a nightly toolchain.
//!
//! Deterministic for a given `--seed`. Not guided by coverage: cargo-fuzz is.

use std::fs;
use std::panic;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use rustix::process::{Resource, Rlimit, setrlimit};
use slowpath_fuzz::{TARGETS, Target, run};

/// An input that takes longer is a failure.
const SLOWEST: Duration = Duration::from_secs(10);
/// More address space than any input may need.
const MOST_MEMORY: u64 = 2 << 30;

/// What to do, from the command line.
struct Plan {
    target: Option<String>,
    seconds: Option<u64>,
    mutations: Option<u64>,
    seed: u64,
}

fn main() -> ExitCode {
    let plan = match Plan::from_arguments() {
        Ok(plan) => plan,
        Err(wrong) => {
            eprintln!(
                "{wrong}\nusage: mutate [--target NAME] [--seconds N | --mutations N] [--seed N]"
            );
            return ExitCode::from(2);
        }
    };
    let limit = Rlimit {
        current: Some(MOST_MEMORY),
        maximum: Some(MOST_MEMORY),
    };
    if let Err(refused) = setrlimit(Resource::As, limit) {
        eprintln!("memory is not limited: {refused}");
    }
    let chosen = |target: &&Target| {
        plan.target
            .as_deref()
            .is_none_or(|name| name == target.name)
    };
    let targets: Vec<&Target> = TARGETS.iter().filter(chosen).collect();
    if targets.is_empty() {
        eprintln!("no such target");
        return ExitCode::from(2);
    }
    let mut failed = 0;
    for target in &targets {
        let share = |whole: u64| (whole / targets.len() as u64).max(1);
        let report = hunt(
            target,
            plan.seconds.map(share),
            plan.mutations.map(share),
            plan.seed,
        );
        println!(
            "{}: {} mutations in {:.1} s, slowest {:.1} ms, {} failures",
            target.name,
            report.mutations,
            report.time.as_secs_f64(),
            report.slowest.as_secs_f64() * 1e3,
            report.failures,
        );
        failed += report.failures;
    }
    ExitCode::from(u8::from(failed > 0))
}

impl Plan {
    fn from_arguments() -> Result<Self, String> {
        let mut plan = Self {
            target: None,
            seconds: None,
            mutations: None,
            seed: 1,
        };
        let mut arguments = std::env::args().skip(1);
        while let Some(option) = arguments.next() {
            let value = arguments.next().ok_or(format!("{option} needs a value"))?;
            let number = || {
                value
                    .parse()
                    .map_err(|_| format!("`{value}` is not a number"))
            };
            match option.as_str() {
                "--target" => plan.target = Some(value),
                "--seconds" => plan.seconds = Some(number()?),
                "--mutations" => plan.mutations = Some(number()?),
                "--seed" => plan.seed = number()?,
                _ => return Err(format!("{option} is not known")),
            }
        }
        if plan.seconds.is_none() && plan.mutations.is_none() {
            plan.seconds = Some(60);
        }
        Ok(plan)
    }
}

struct Report {
    mutations: u64,
    failures: u64,
    time: Duration,
    slowest: Duration,
}

/// Mutates the seeds of a target until time or number is up.
fn hunt(target: &Target, seconds: Option<u64>, mutations: Option<u64>, seed: u64) -> Report {
    let seeds = (target.seeds)();
    let mut random = Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
    let begin = Instant::now();
    let mut report = Report {
        mutations: 0,
        failures: 0,
        time: Duration::ZERO,
        slowest: Duration::ZERO,
    };
    let watched = Watched::begin(target.name);
    let goes_on = |report: &Report| {
        seconds.is_none_or(|seconds| begin.elapsed().as_secs() < seconds)
            && mutations.is_none_or(|mutations| report.mutations < mutations)
    };
    while goes_on(&report) {
        let input = random.mutate(&seeds);
        watched.set(&input);
        let started = Instant::now();
        let panicked = panic::catch_unwind(|| run(target.name, &input)).is_err();
        let took = started.elapsed();
        report.mutations += 1;
        report.slowest = report.slowest.max(took);
        if panicked || took > SLOWEST {
            report.failures += 1;
            let kept = keep(target.name, &input);
            eprintln!("{}: failed on {}", target.name, kept.display());
            if report.failures >= 5 {
                break;
            }
        }
    }
    watched.end();
    report.time = begin.elapsed();
    report
}

/// Keeps an input that failed.
fn keep(target: &str, input: &[u8]) -> PathBuf {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("artifacts")
        .join(target);
    let sum = input.iter().fold(0xcbf2_9ce4_8422_2325u64, |sum, &byte| {
        (sum ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3)
    });
    let path = folder.join(format!("{sum:016x}"));
    let kept = fs::create_dir_all(&folder).and_then(|()| fs::write(&path, input));
    if let Err(refused) = kept {
        eprintln!("the input could not be kept: {refused}");
    }
    path
}

/// Since when an input is being tried.
type Tried = (Instant, Vec<u8>);

/// The input being tried, so that one that never ends can be kept.
#[derive(Clone)]
struct Watched {
    current: Arc<Mutex<Option<Tried>>>,
}

impl Watched {
    fn begin(target: &'static str) -> Self {
        let watched = Self {
            current: Arc::new(Mutex::new(Some((Instant::now(), Vec::new())))),
        };
        let seen = watched.clone();
        std::thread::spawn(move || {
            loop {
                std::thread::sleep(Duration::from_secs(1));
                let current = seen.current.lock().expect("nobody panics while holding it");
                let Some((began, input)) = &*current else {
                    return;
                };
                if began.elapsed() > 3 * SLOWEST {
                    let kept = keep(target, input);
                    eprintln!("{target}: does not end on {}", kept.display());
                    std::process::exit(1);
                }
            }
        });
        watched
    }

    fn set(&self, input: &[u8]) {
        let mut current = self.current.lock().expect("nobody panics while holding it");
        if let Some((began, kept)) = &mut *current {
            *began = Instant::now();
            kept.clear();
            kept.extend_from_slice(input);
        }
    }

    fn end(self) {
        *self.current.lock().expect("nobody panics while holding it") = None;
    }
}

/// xorshift64*.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    fn below(&mut self, limit: usize) -> usize {
        if limit == 0 {
            0
        } else {
            (self.next() >> 11) as usize % limit
        }
    }

    /// A seed with one to eight changes.
    fn mutate(&mut self, seeds: &[Vec<u8>]) -> Vec<u8> {
        let mut input = seeds[self.below(seeds.len())].clone();
        for _ in 0..=self.below(8) {
            self.change(&mut input, seeds);
        }
        input
    }

    fn change(&mut self, input: &mut Vec<u8>, seeds: &[Vec<u8>]) {
        const NUMBERS: [u64; 10] = [
            0,
            1,
            0x7f,
            0x80,
            0xff,
            0x7fff_ffff,
            0xffff_ffff,
            0x7fff_ffff_ffff_ffff,
            0x8000_0000_0000_0000,
            u64::MAX,
        ];
        let at = self.below(input.len());
        let some = 1 + self.below(64);
        match self.below(9) {
            0 if !input.is_empty() => input[at] ^= 1 << self.below(8),
            1 if !input.is_empty() => input[at] = self.next() as u8,
            2 => {
                // A number that is at the edge of something, in one of the usual widths and orders.
                let number = NUMBERS[self.below(NUMBERS.len())];
                let width = 1 << self.below(4);
                let mut bytes = number.to_le_bytes()[..width].to_vec();
                if self.below(2) == 0 {
                    bytes.reverse();
                }
                let end = (at + width).min(input.len());
                input[at..end].copy_from_slice(&bytes[..end - at]);
            }
            3 => input.truncate(at),
            4 => drop(input.drain(at..(at + some).min(input.len()))),
            5 => {
                let copy = input[at..(at + some).min(input.len())].to_vec();
                let to = self.below(input.len());
                input.splice(to..to, copy);
            }
            6 => {
                let other = &seeds[self.below(seeds.len())];
                let from = self.below(other.len());
                let piece = &other[from..(from + some).min(other.len())];
                input.splice(at..at, piece.iter().copied());
            }
            7 => {
                let end = (at + some).min(input.len());
                input[at..end].fill(self.next() as u8);
            }
            _ => {
                let random: Vec<u8> = (0..some % 9).map(|_| self.next() as u8).collect();
                input.splice(at..at, random);
            }
        }
    }
}
