//! Reasons for the differences between configurations: trials repeated under `slowpath record`, and the critical paths
//! of the workload's threads compared.
//!
//! Chosen are the best and the worst configuration, and the one beside the best at which the parameter that matters most
//! turns the result. What is computed from the paths is `slowpath-explore`'s.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Context;
use slowpath_critical_path::{Host, Hosts, critical_path_among};
use slowpath_explore::{
    Accounts, Configuration, Ended, Exploration, ExploreError, Outcome, Reason, Results, Row,
    RunError, SignalPipe, Source, Standing, Value, four_digits,
};
use slowpath_kernel::timelines::Timelines;
use slowpath_model::{HostId, ProcessId, ThreadId, TimeRange};

use crate::analyses::kernel_hosts;
use crate::explore::typed;
use crate::input::{InputArgs, Report};
use crate::thread_states::timelines;

/// Two configurations to compare, the better one first.
struct Pair<'run> {
    better: &'run Row,
    worse: &'run Row,
}

/// Sentences that say why; one that says why there are none where recording is not possible.
pub(crate) fn find(
    exploration: &mut Exploration,
    results: &Results,
    signals: &SignalPipe,
) -> anyhow::Result<Vec<Reason>> {
    if exploration.spec().agent.is_some() {
        let why = "no reasons are looked for where an agent runs the trials";
        return Ok(vec![about_all(why.to_owned())]);
    }
    let pairs = pairs(results);
    if pairs.is_empty() {
        let why = match results.best() {
            None => "no trial has a result, so there is no difference to explain",
            Some(_) => {
                "no two configurations were told apart, so there is no difference to explain"
            }
        };
        return Ok(vec![about_all(why.to_owned())]);
    }
    let mut chosen: Vec<&Configuration> = Vec::new();
    for pair in &pairs {
        for row in [pair.better, pair.worse] {
            if !chosen.contains(&&row.configuration) {
                chosen.push(&row.configuration);
            }
        }
    }
    let folder = exploration.folder().join("recordings");
    fs::create_dir_all(&folder).with_context(|| format!("{} cannot be made", folder.display()))?;
    let mut recorded = Vec::new();
    for (place, configuration) in (1..).zip(&chosen) {
        eprintln!("slowpath: a trial of {configuration} is recorded to find reasons");
        match one(
            exploration,
            configuration,
            &folder.join(format!("{place}")),
            signals,
        )? {
            Ok(found) => recorded.push(found),
            Err(why) => return Ok(vec![about_all(why)]),
        }
    }
    let objective = &results.objectives[0];
    let mut reasons = Vec::new();
    for pair in &pairs {
        let place = |row: &Row| chosen.iter().position(|one| **one == row.configuration);
        let (Some(better), Some(worse)) = (place(pair.better), place(pair.worse)) else {
            continue;
        };
        let (better, worse) = (&recorded[better], &recorded[worse]);
        let names = what_differs(&pair.better.configuration, &pair.worse.configuration);
        let found = better
            .accounts
            .reasons(&worse.accounts, (&names.0, &names.1));
        let is_worse = match objective.goal {
            "maximise" => worse.result < better.result,
            _ => worse.result > better.result,
        };
        let found = match is_worse && !found.is_empty() {
            true => found,
            false => vec![format!(
                "why {} is worse than {} the recordings do not show ({}: {} and {} in them)",
                names.1,
                names.0,
                objective.metric,
                four_digits(worse.result),
                four_digits(better.result)
            )],
        };
        reasons.extend(found.into_iter().map(|words| {
            Reason {
                words,
                about: [pair.better, pair.worse]
                    .map(|row| row.configuration.clone())
                    .into(),
            }
        }));
    }
    for (place, configuration) in (1..).zip(&chosen) {
        let recording = typed(&folder.join(format!("{place}")));
        reasons.push(Reason {
            words: format!("{configuration} is recorded in {recording}"),
            about: vec![(*configuration).clone()],
        });
    }
    Ok(reasons)
}

fn about_all(words: String) -> Reason {
    Reason {
        words,
        about: Vec::new(),
    }
}

/// What a recorded trial came to.
struct Recorded {
    /// Its first objective.
    result: f64,
    accounts: Accounts,
}

/// Records a trial and reads the recording; inside, why that is not possible.
fn one(
    exploration: &mut Exploration,
    configuration: &Configuration,
    recording: &Path,
    signals: &SignalPipe,
) -> anyhow::Result<Result<Recorded, String>> {
    let ended = match repeat(exploration, configuration, recording, signals) {
        Ok(ended) => ended,
        Err(ExploreError::Run(RunError::Interrupted(_))) => {
            return Ok(Err("the search for reasons was interrupted".to_owned()));
        }
        Err(error) => return Err(error.into()),
    };
    if let Outcome::Failed { what, .. } = &ended.outcome {
        return Ok(Err(format!(
            "no recording could be made of {configuration}: {what}"
        )));
    }
    let spec = exploration.spec();
    let measure = |name: &String| ended.measures.get(name).copied();
    let work = spec.why.per.as_ref().and_then(measure);
    let metric = &spec.objectives[0].metric;
    let is_wall = (spec.metrics.get(metric)).is_some_and(|metric| metric.source == Source::Wall);
    Ok(match of_recording(recording, work) {
        Ok(accounts) => Ok(Recorded {
            // The trial took what the recorder takes to start and to end, too; the recording says what the workload took.
            result: match is_wall {
                true => accounts.whole.seconds(),
                false => measure(metric).unwrap_or_default(),
            },
            accounts,
        }),
        Err(error) => Err(format!(
            "the recording of {configuration} cannot be read: {error:#}"
        )),
    })
}

/// Best and worst, and best and what stands beside it: where the two are told apart, or were run once each, as the
/// recordings then have to show the difference as well.
fn pairs(results: &Results) -> Vec<Pair<'_>> {
    let Some(better) = results.best() else {
        return Vec::new();
    };
    let worst = results.configurations.iter().rev().find(is_worse);
    let mut pairs: Vec<Pair<'_>> = beside(results, better)
        .map(|worse| Pair { better, worse })
        .into_iter()
        .collect();
    let is_known = |row: &Row| {
        pairs
            .iter()
            .any(|pair| pair.worse.configuration == row.configuration)
    };
    if let Some(worse) = worst.filter(|worst| !is_known(worst)) {
        pairs.push(Pair { better, worse });
    }
    pairs
}

fn is_worse(row: &&Row) -> bool {
    matches!(row.standing, Standing::Worse | Standing::NoInterval)
}

/// The configuration that differs from the best only in the number that matters most, by one step: upwards, else
/// downwards.
fn beside<'run>(results: &'run Results, best: &Row) -> Option<&'run Row> {
    let name = (results.importance.as_ref()?.parameters.iter())
        .map(|(name, _)| name)
        .find(|name| {
            best.configuration
                .get(name)
                .is_some_and(|value| matches!(value, Value::Integer(_) | Value::Float(_)))
        })?;
    let number = |configuration: &Configuration| configuration.get(name).and_then(Value::number);
    let own = number(&best.configuration)?;
    let differs_in_it_alone = |row: &&Row| {
        let mut other = row.configuration.clone();
        let mine = best.configuration.get(name).cloned();
        mine.is_some_and(|value| other.0.insert(name.clone(), value).is_some())
            && other == best.configuration
            && row.rank.is_some()
    };
    let rows = || results.configurations.iter().filter(differs_in_it_alone);
    let of = |row: &&Row| number(&row.configuration).unwrap_or(own);
    let above = rows()
        .filter(is_worse)
        .filter(|row| of(row) > own)
        .min_by(|one, two| of(one).total_cmp(&of(two)));
    above.or_else(|| {
        rows()
            .filter(is_worse)
            .filter(|row| of(row) < own)
            .max_by(|one, two| of(one).total_cmp(&of(two)))
    })
}

/// The parameters in which two configurations differ, with the values in each.
fn what_differs(one: &Configuration, other: &Configuration) -> (String, String) {
    let names: BTreeSet<&String> = one.0.keys().chain(other.0.keys()).collect();
    let names: Vec<&String> = names
        .into_iter()
        .filter(|name| one.get(name) != other.get(name))
        .collect();
    let of = |configuration: &Configuration| {
        let told = names
            .iter()
            .filter_map(|name| Some(format!("{name}={}", configuration.get(name)?)));
        told.collect::<Vec<_>>().join(" ")
    };
    (of(one), of(other))
}

/// Repeats a trial under the recorder. Its process notes its number beside the recording before it becomes the workload.
fn repeat(
    exploration: &mut Exploration,
    configuration: &Configuration,
    recording: &Path,
    signals: &SignalPipe,
) -> Result<Ended, ExploreError> {
    let own = std::env::current_exe().unwrap_or_else(|_| PathBuf::from("slowpath"));
    let words = [
        own.display().to_string().as_str(),
        "record",
        "--output",
        &recording.display().to_string(),
        "--overwrite",
        "--spans",
        "off",
        "--agents",
        "off",
        "--ust",
        "none",
        "--",
        "sh",
        "-c",
        r#"echo $$ >"$1"; shift; exec "$@""#,
        "-",
        &number_file(recording).display().to_string(),
    ]
    .map(str::to_owned);
    exploration.repeat(configuration, &words, signals)
}

fn number_file(recording: &Path) -> PathBuf {
    recording.with_extension("pid")
}

/// What the time of the workload's threads went to.
fn of_recording(recording: &Path, work: Option<f64>) -> anyhow::Result<Accounts> {
    let number = fs::read_to_string(number_file(recording))?;
    let root = ThreadId(
        number
            .trim()
            .parse()
            .context("the workload's number was not noted")?,
    );
    let input = InputArgs::all_of(&[recording.to_owned()], None);
    let experiment = input.open()?;
    let report = Report::begin(&experiment);
    let hosts = kernel_hosts(&experiment, &report)?;
    let host = hosts.first().context("it has no host")?;
    let (lines, _) = timelines(host, &input.options(), false, report)?;
    let paths = Hosts::new(
        vec![Host {
            name: &host.name,
            lines: Some(&lines),
        }],
        None,
    );
    let mut accounts = Accounts {
        work,
        ..Accounts::default()
    };
    let window = lines.life(root);
    for thread in of_workload(&lines, root) {
        let life = lines.life(thread);
        let range = TimeRange::new(life.begin.max(window.begin), life.end.min(window.end));
        if range.begin < range.end {
            let path = critical_path_among(&paths, HostId(0), thread, range);
            match thread == root {
                true => accounts.whole.add(&path),
                false => accounts.add(&lines.name(thread, range.end), &path),
            }
        }
    }
    Ok(accounts)
}

/// The workload's first thread, those that it created, and so on.
fn of_workload(lines: &Timelines, root: ThreadId) -> BTreeSet<ThreadId> {
    let is_of_root = |thread: ThreadId| {
        let mut thread = thread;
        // Bounded, as numbers may be given out again.
        for _ in 0..100 {
            let process = lines.process(thread, lines.life(thread).end);
            if thread == root || process == Some(ProcessId(root.0)) {
                return true;
            }
            match lines.creator(thread) {
                Some(creator) => thread = creator,
                None => return false,
            }
        }
        false
    };
    lines
        .threads()
        .iter()
        .copied()
        .filter(|thread| is_of_root(*thread))
        .collect()
}
