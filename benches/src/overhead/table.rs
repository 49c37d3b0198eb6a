//! The results of all rounds, as tables and as JSON.
//!
//! Overheads are over spans only, as in the paper's table 2. It computes nothing but means and ratios.

use serde_json::{Map, Value, json};

use super::modes::Mode;
use super::{DISTURBED_PERCENT, Failed, LOADS, LoadName, Run, Settings};
use crate::statistics::{Estimate, excess_percent, mean};

/// The figures of a run: name, what is measured, digits, and whether more of it is worse.
struct Figure {
    name: &'static str,
    digits: usize,
    more_is_worse: bool,
    of: fn(&Run) -> f64,
}

const FIGURES: [Figure; 6] = [
    Figure {
        name: "requests/s",
        digits: 0,
        more_is_worse: false,
        of: |run| run.per_second,
    },
    Figure {
        name: "mean ms",
        digits: 2,
        more_is_worse: true,
        of: |run| run.mean / 1e3,
    },
    Figure {
        name: "median ms",
        digits: 2,
        more_is_worse: true,
        of: |run| run.median / 1e3,
    },
    Figure {
        name: "p99 ms",
        digits: 2,
        more_is_worse: true,
        of: |run| run.p99 / 1e3,
    },
    Figure {
        name: "server CPU µs",
        digits: 1,
        more_is_worse: true,
        of: |run| run.server_cpu,
    },
    Figure {
        name: "all CPU µs",
        digits: 1,
        more_is_worse: true,
        of: |run| run.server_cpu + run.observers_cpu,
    },
];

impl LoadName {
    fn title(self, settings: &Settings) -> String {
        match self {
            Self::RidesAtARate => format!("Rides, {} a second", settings.ride_rate),
            Self::RidesAtOnce => "Rides, as fast as they are answered".to_owned(),
            Self::PagesAtARate => format!("Pages, {} a second", settings.page_rate),
            Self::PagesAtOnce => "Pages, as fast as they are answered".to_owned(),
            Self::UndelayedRides => "Rides without pretended delays, by 10 clients".to_owned(),
        }
    }
}

/// Prints a table for each load.
pub fn print(settings: &Settings, runs: &[Run]) {
    for load in LOADS {
        println!("\n{}; ± 95 %", load.title(settings));
        print!("{:20}", "");
        for figure in &FIGURES {
            print!("{:>20}", figure.name);
        }
        println!("{:>12}{:>10}", "answered", "failed");
        for &mode in &settings.modes {
            print!("{:20}", mode.name());
            for figure in &FIGURES {
                print!(
                    "{:>20}",
                    written(absolute(runs, load, mode, figure), figure.digits, "")
                );
            }
            let (answered, failed) = counts(runs, load, mode);
            println!("{answered:>12}{:>10}", failed.count());
        }
        for &mode in settings.modes.iter().filter(|mode| is_compared(**mode)) {
            print!("{:20}", format!("+ {}", mode.name()));
            for figure in &FIGURES {
                print!(
                    "{:>20}",
                    written(over_spans(runs, load, mode, figure), 1, " %")
                );
            }
            println!();
        }
    }
    println!(
        "\n+: overhead over spans only, in per cent; for requests/s, how many more the same time \
         served without.\nCPU: processor time per request; all: with the recorder's and LTTng's."
    );
    println!(
        "failed: HotROD pretends that its store times out, which fails about one ride in 13 where many \
         run at once;\nrequests/s and times are of answered ones."
    );
    let late: u64 = runs.iter().map(|run| run.failed.late).sum();
    if late > 0 {
        println!(
            "Beware: HotROD gave up on rides ({late}) whose drivers took more than a second: the machine is \
             too busy."
        );
    }
    let disturbed = disturbed(runs);
    if disturbed > 0.0 {
        println!(
            "Beware: other programs took more than {DISTURBED_PERCENT} % of the machine in {disturbed:.0} % of \
             the runs."
        );
    }
}

/// The share of runs that others disturbed, in per cent.
fn disturbed(runs: &[Run]) -> f64 {
    let disturbed = runs
        .iter()
        .filter(|run| run.others_percent > DISTURBED_PERCENT);
    100.0 * disturbed.count() as f64 / runs.len().max(1) as f64
}

/// All of it, with intervals.
///
/// # Errors
/// None in practice: there is nothing in it that JSON lacks.
pub fn json(settings: &Settings, header: &str, runs: &[Run]) -> anyhow::Result<String> {
    let mut loads = Map::new();
    for load in LOADS {
        let mut by_mode = Map::new();
        for &mode in &settings.modes {
            let mut figures = Map::new();
            for figure in &FIGURES {
                let mut entry = Map::new();
                entry.insert("is".into(), json!(absolute(runs, load, mode, figure)));
                if is_compared(mode) {
                    let over = over_spans(runs, load, mode, figure);
                    entry.insert("percent_over_spans".into(), json!(over));
                }
                figures.insert(figure.name.into(), Value::Object(entry));
            }
            let (answered, failed) = counts(runs, load, mode);
            figures.insert("answered".into(), json!(answered));
            figures.insert("failed".into(), json!(failed));
            by_mode.insert(mode.name().into(), Value::Object(figures));
        }
        let name = serde_json::to_value(load)?;
        let name = name.as_str().unwrap_or_default().to_owned();
        loads.insert(name, Value::Object(by_mode));
    }
    let header: Value = serde_json::from_str(header)?;
    Ok(serde_json::to_string_pretty(
        &json!({ "of": header, "disturbed_runs_percent": disturbed(runs), "loads": loads }),
    )?)
}

/// Whether a mode is compared with spans only.
fn is_compared(mode: Mode) -> bool {
    mode > Mode::Spans
}

/// How many requests of a load in a mode were answered, and how many failed.
fn counts(runs: &[Run], load: LoadName, mode: Mode) -> (u64, Failed) {
    let of_mode = runs
        .iter()
        .filter(|run| (run.load, run.mode) == (load, mode));
    of_mode.fold((0, Failed::default()), |(answered, failed), run| {
        let failed = Failed {
            pretended: failed.pretended + run.failed.pretended,
            late: failed.late + run.failed.late,
        };
        (answered + run.answered, failed)
    })
}

fn absolute(runs: &[Run], load: LoadName, mode: Mode, figure: &Figure) -> Estimate {
    let of_mode = runs
        .iter()
        .filter(|run| (run.load, run.mode) == (load, mode));
    mean(&of_mode.map(figure.of).collect::<Vec<_>>())
}

/// By how much worse a mode is than spans only, round by round.
fn over_spans(runs: &[Run], load: LoadName, mode: Mode, figure: &Figure) -> Estimate {
    let find = |round: u32, mode: Mode| {
        let run = runs
            .iter()
            .find(|run| (run.round, run.load, run.mode) == (round, load, mode));
        run.map(figure.of)
    };
    let rounds = runs.iter().map(|run| run.round + 1).max().unwrap_or(0);
    let pairs: Vec<(f64, f64)> = (0..rounds)
        .filter_map(|round| Some((find(round, mode)?, find(round, Mode::Spans)?)))
        .map(|(one, base)| match figure.more_is_worse {
            true => (one, base),
            false => (base, one),
        })
        .collect();
    excess_percent(&pairs)
}

fn written(estimate: Estimate, digits: usize, unit: &str) -> String {
    match estimate.margin {
        Some(margin) if margin > 1e4 => format!("{:.digits$} ± much{unit}", estimate.value),
        Some(margin) => format!("{:.digits$} ± {margin:.digits$}{unit}", estimate.value),
        None => format!("{:.digits$}{unit}", estimate.value),
    }
}
