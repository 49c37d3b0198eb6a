//! `slowpath explore`: which configuration is fast, and why.
//!
//! Trials, policies and numbers are `slowpath-explore`'s; here are words in, words out, and recordings for the reasons
//! (`explore_reasons.rs`).

use std::io::IsTerminal;
use std::path::{Path, PathBuf};

use anyhow::{Context, ensure};
use clap::{Args, ValueEnum};
use indicatif::{ProgressBar, ProgressStyle};
use serde::Serialize;
use slowpath_explore::{
    Begin, Change, Drift, Event, Exploration, ExploreError, GridError, Outcome, Results, RunError,
    Seen, SignalPipe, Spec, SpecError, Store, Trial, as_it_began, change, check_functions, csv,
    drifts, policy, recommend, write_parquet,
};
use slowpath_model::{counted, shown_lines};

use crate::explore_agent;
use crate::explore_reasons;
use crate::explore_tables;
use crate::input::how_many;
use crate::output::{finish, print, print_json};

/// Try configurations of a system, and say which one is fast, and why.
///
/// SPEC says in TOML or XML which parameters there are, how to apply them, what to run and what to measure
/// (docs/guide/explore.md). Trials are kept in a folder; what was interrupted goes on with --resume.
#[derive(Args)]
pub struct ExploreArgs {
    /// The specification.
    #[arg(value_name = "SPEC", required_unless_present = "agent")]
    spec: Option<PathBuf>,
    /// Listen at HOST:PORT instead, and run trials here for an explorer on another machine whose SPEC has an [agent].
    #[arg(long, value_name = "HOST:PORT", conflicts_with_all = ["spec", "resume", "overwrite", "results", "check", "json"], requires = "token_file")]
    agent: Option<String>,
    /// The file with the token that an explorer has to know; whoever has it runs commands here.
    #[arg(long, value_name = "FILE", requires = "agent")]
    token_file: Option<PathBuf>,
    /// The folder of the exploration [default: the name of SPEC without its ending, and -exploration; of an agent
    /// slowpath-agent].
    #[arg(short, long, value_name = "DIR")]
    output: Option<PathBuf>,
    /// Go on with the exploration in DIR.
    #[arg(long, conflicts_with = "overwrite")]
    resume: bool,
    /// Remove the exploration in DIR and begin anew.
    #[arg(long)]
    overwrite: bool,
    /// Run nothing; give the results so far of the exploration in DIR.
    #[arg(long, value_name = "FORM", conflicts_with_all = ["resume", "overwrite", "check", "json"])]
    results: Option<Form>,
    /// Run nothing; say whether SPEC can be used, and what it comes to.
    #[arg(long, conflicts_with_all = ["resume", "overwrite", "json"])]
    check: bool,
    /// End after so many trials, whatever [limits] of SPEC says.
    #[arg(long, value_name = "N")]
    trials: Option<u64>,
    /// Do not repeat trials under `slowpath record` at the end to find reasons.
    #[arg(long)]
    no_reasons: bool,
    /// Rows of the table; 0 shows all.
    #[arg(long, value_name = "N", default_value_t = 20, value_parser = how_many)]
    top: usize,
    /// One JSON document.
    #[arg(long)]
    json: bool,
}

/// Forms of results.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Form {
    /// For people.
    Table,
    /// One document.
    Json,
    /// A line for each trial.
    Csv,
    /// A row for each trial, in columns with types.
    Parquet,
}

/// Everything that is told in JSON.
#[derive(Serialize)]
struct Document<'run> {
    #[serde(flatten)]
    results: &'run Results,
    end: Option<&'run str>,
    drift: &'run [Drift],
    conclusions: &'run [String],
    reasons: &'run [String],
}

/// Runs the command; its exit status.
pub fn run(args: &ExploreArgs) -> anyhow::Result<u8> {
    if let (Some(address), Some(token_file)) = (&args.agent, &args.token_file) {
        return explore_agent::run(address, token_file, &args.folder());
    }
    let path = args.spec.as_deref().unwrap_or(Path::new(""));
    let read = Spec::read(path);
    let folder = args.folder();
    if let Some(form) = args.results {
        let store = match folder.join(slowpath_explore::FILE_NAME).exists() {
            true => Store::open(&folder)?,
            false => return Err(ExploreError::Nothing(folder).into()),
        };
        let spec = meant(read.map(|(spec, _)| spec), path, &folder, &store)?;
        return args.give(&spec, &store, form);
    }
    let (mut spec, text) = read?;
    if let Some(trials) = args.trials {
        spec.limits.trials = Some(trials);
    }
    if args.check {
        return check(&spec);
    }
    let begin = match (args.resume, args.overwrite) {
        (true, _) => Begin::Resume,
        (_, true) => Begin::Overwrite,
        _ => Begin::New,
    };
    // Before anything is removed or made: it may not be there.
    let mut policy = policy(&spec)?;
    // Before signals are taken over, as a process is forked.
    let mut exploration = Exploration::open(spec.clone(), &text, &folder, begin)?;
    let signals = SignalPipe::new().context("signals cannot be waited for")?;
    let mut progress = Progress::new(&spec);
    let ended = exploration.run(&mut *policy, &signals, &text, &mut |event| {
        progress.tell(event)
    });
    progress.bar.finish_and_clear();
    drop(policy);
    if let Err(ExploreError::Run(RunError::Interrupted(signal))) = &ended {
        let (planned, ended) = exploration.store().counts()?;
        eprintln!("slowpath: stopped after {ended} of {planned} planned trials; --resume goes on");
        return Ok(128 + signal.number());
    }
    let end = ended?;
    eprintln!(
        "slowpath: {}, as {}",
        counted(
            exploration.store().counts()?.1,
            "trial has been run",
            "trials have been run"
        ),
        end.words()
    );
    let trials = exploration.store().trials()?;
    let results = Results::new(&spec, &trials);
    if let Some(best) = results.best() {
        let folder = exploration.folder().join("recommended");
        let written = recommend(&spec, &best.configuration, &folder);
        written.with_context(|| format!("{} cannot be written", folder.display()))?;
    }
    if !args.no_reasons {
        let reasons = explore_reasons::find(&mut exploration, &results, &signals)?;
        exploration.store().set_reasons(&reasons)?;
    }
    let form = if args.json { Form::Json } else { Form::Table };
    let status = args.give(&spec, exploration.store(), form)?;
    if results.best().is_some() && form == Form::Table {
        print(&format!(
            "\nThe best configuration, ready to use: {}\n",
            exploration.folder().join("recommended").display()
        ))?;
    }
    Ok(status)
}

/// Says what a specification comes to.
fn check(spec: &Spec) -> anyhow::Result<u8> {
    let size = match spec.space.grid() {
        Ok(grid) => counted(grid.len() as u64, "configuration", "configurations"),
        Err(error @ GridError::Empty) => return Err(error.into()),
        Err(GridError::Continuous(_)) => "no grid".to_owned(),
        Err(GridError::TooLarge) => "more configurations than a grid has".to_owned(),
    };
    // Whatever the policy lacks is told as an error. Those in Python may do anything when they are asked.
    let mut policy = policy(spec)?;
    if policy.process().is_none() {
        let seen = Seen {
            spec,
            trials: &[],
            batches: 0,
        };
        policy.next(seen)?;
    }
    drop(policy);
    check_functions(spec)?;
    print(&format!(
        "{}: {}, {size}; {} each unless the policy wants otherwise\n",
        spec.name,
        counted(
            spec.space.parameters.len() as u64,
            "parameter",
            "parameters"
        ),
        counted(spec.trials.per_configuration, "trial", "trials"),
    ))?;
    Ok(0)
}

/// Of which specification trials that are kept are told: the file's, or what it was where it is another one now.
fn meant(
    read: Result<Spec, SpecError>,
    path: &Path,
    folder: &Path,
    store: &Store,
) -> anyhow::Result<Spec> {
    let then = format!(
        "what follows is of the specification as it was when the exploration in {} began",
        folder.display()
    );
    let spec = match read {
        Ok(spec) => spec,
        Err(error) => {
            eprintln!("slowpath: {error}\nslowpath: {then}");
            return Ok(as_it_began(folder)?);
        }
    };
    match change(&store.about()?, &spec) {
        Change::Limits => {}
        Change::Judgement => eprintln!(
            "slowpath: {} judges the trials otherwise than when they ran: by its objectives, confidence and [why] of now",
            path.display()
        ),
        Change::Trials => {
            eprintln!(
                "slowpath: {} has changed since then, or a template of it has: {then}",
                path.display()
            );
            return Ok(as_it_began(folder)?);
        }
    }
    Ok(spec)
}

impl ExploreArgs {
    fn folder(&self) -> PathBuf {
        let default = || {
            let Some(spec) = &self.spec else {
                return PathBuf::from("slowpath-agent");
            };
            let stem = spec.file_stem().unwrap_or_default().to_string_lossy();
            PathBuf::from(format!("{stem}-exploration"))
        };
        self.output.clone().unwrap_or_else(default)
    }

    /// Gives out what there is; 1 where no trial has a result.
    fn give(&self, spec: &Spec, store: &Store, form: Form) -> anyhow::Result<u8> {
        let trials = store.trials()?;
        let results = Results::new(spec, &trials);
        let drift = drifts(spec, &trials, &store.times()?);
        let conclusions = store.conclusions()?;
        let reasons: Vec<String> = store.reasons()?.into_iter().map(|one| one.words).collect();
        let end = store.about()?.end;
        match form {
            Form::Csv => print(&csv(spec, &trials))?,
            Form::Parquet => {
                let output = std::io::stdout();
                ensure!(
                    !output.is_terminal(),
                    "a Parquet file is nothing to look at\n  hint: send it to a file: `--results parquet > trials.parquet`"
                );
                finish(write_parquet(output, spec, &trials))?;
            }
            Form::Json => print_json(&Document {
                results: &results,
                drift: &drift,
                end: end.as_deref(),
                conclusions: &conclusions,
                reasons: &reasons,
            })?,
            Form::Table => print(&explore_tables::text(
                &results,
                &drift,
                &conclusions,
                &reasons,
                self.top,
            ))?,
        }
        Ok(u8::from(results.best().is_none()))
    }
}

/// What is going on, on standard error.
struct Progress {
    bar: ProgressBar,
    is_watched: bool,
    metric: String,
    unit: String,
}

impl Progress {
    fn new(spec: &Spec) -> Self {
        let is_watched = std::io::stderr().is_terminal();
        let bar = if is_watched {
            ProgressBar::new(0)
        } else {
            ProgressBar::hidden()
        };
        if let Ok(style) =
            ProgressStyle::with_template("{bar:30} {pos}/{len} trials, {eta} left: {msg}")
        {
            bar.set_style(style);
        }
        let metric = spec.objectives[0].metric.clone();
        let unit = spec
            .metrics
            .get(&metric)
            .map_or(String::new(), |metric| metric.unit.clone());
        Self {
            bar,
            is_watched,
            metric,
            unit,
        }
    }

    fn tell(&mut self, event: Event<'_>) {
        match event {
            Event::Again(count) => {
                let what = counted(
                    count,
                    "trial that was cut short is",
                    "trials that were cut short are",
                );
                self.line(&format!("slowpath: {what} run again"));
            }
            Event::Begins {
                configuration,
                ended,
                planned,
            } => {
                self.bar.set_length(planned);
                self.bar.set_position(ended);
                self.bar
                    .set_message(shown_lines(&configuration.to_string()).into_owned());
            }
            Event::Ends(trial) => self.ends(trial),
        }
    }

    /// A failure is worth a line wherever one looks; results are where nobody sees the bar.
    fn ends(&self, trial: &Trial) {
        if !trial.notes.is_empty() {
            self.line(&format!("trial {}: {}", trial.id, trial.notes));
        }
        let stopped = match trial.outcome {
            Outcome::Stopped => ", stopped early",
            _ => "",
        };
        let result = match trial.measures.get(&self.metric) {
            Some(value) if !self.is_watched => format!(
                "{} {} {}{stopped}",
                self.metric,
                slowpath_explore::four_digits(*value),
                self.unit
            ),
            Some(_) => return,
            // What its metric comes from is printed at the end of a run.
            None if trial.outcome == Outcome::Stopped => "stopped early".to_owned(),
            None => format!("failed: {}", trial.outcome.words()),
        };
        self.line(&format!(
            "trial {} ({}): {}",
            trial.id,
            trial.configuration,
            result.trim_end()
        ));
    }

    fn line(&self, line: &str) {
        let line = shown_lines(line);
        match self.is_watched {
            true => self.bar.println(line),
            false => eprintln!("{line}"),
        }
    }
}

/// A path as one would type it.
pub(crate) fn typed(path: &Path) -> String {
    let here = std::env::current_dir().unwrap_or_default();
    path.strip_prefix(here)
        .unwrap_or(path)
        .display()
        .to_string()
}
