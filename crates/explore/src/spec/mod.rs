//! What an exploration is to do, as its file says: parameters, system, workload, metrics, objectives, policy.
//!
//! Everything in here has been checked: names exist, templates and expressions can be read, values lie in their ranges.
//! How the file is read: `read.rs`, `check.rs`.

mod check;
mod function;
mod metric;
mod probe;
mod raw;
mod read;
mod xml;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

pub use function::{Function, OfCalls, TimeUnit};
pub use metric::{Metric, Source, Take};
pub use probe::{Aggregate, ProbeMetric, ProbeName};
pub use read::SpecError;
pub(crate) use xml::{in_toml, is_meant as is_xml};

use crate::space::Space;
use crate::template::Template;

/// A specification.
#[derive(Clone, Debug, PartialEq)]
pub struct Spec {
    /// What the exploration is called.
    pub name: String,
    /// The folder that relative paths start from: that of the file.
    pub folder: PathBuf,
    /// The parameters.
    pub space: Space,
    /// Files that are written before each trial.
    pub files: Vec<FilledFile>,
    /// Commands beside the workload.
    pub commands: Commands,
    /// What runs while the workload does, if anything.
    pub system: Option<System>,
    /// What is measured.
    pub workload: Workload,
    /// What the machine has to bear beside.
    pub load: Load,
    /// What a trial gives, by name.
    pub metrics: BTreeMap<String, Metric>,
    /// What is wanted, the most important first; at least one.
    pub objectives: Vec<Objective>,
    /// How trials are repeated and ordered.
    pub trials: Trials,
    /// When to end.
    pub limits: Limits,
    /// Who chooses configurations.
    pub policy: PolicyChoice,
    /// How reasons are looked for.
    pub why: Why,
    /// Who runs trials on another machine, if they run there.
    pub agent: Option<RemoteAgent>,
}

/// An agent on another machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RemoteAgent {
    /// Where it listens: `host:port`.
    pub address: String,
    /// The file that has the token, from the folder of the specification.
    pub token_file: PathBuf,
    /// A trial has failed when the agent was cut off for so long.
    pub patience: Duration,
}

impl Spec {
    /// The templates of its files, as they were read.
    pub fn file_texts(&self) -> Vec<&str> {
        let files = self.files.iter();
        files.map(|file| file.content.text()).collect()
    }
}

/// A program and its arguments.
#[derive(Clone, Debug, PartialEq)]
pub enum CommandLine {
    /// For `sh -c`.
    Shell(Template),
    /// The program first; never empty.
    Words(Vec<Template>),
}

/// A file that is filled in before each trial.
#[derive(Clone, Debug, PartialEq)]
pub struct FilledFile {
    /// Where it goes.
    pub path: Template,
    /// What it holds.
    pub content: Template,
}

/// Commands that run in order, each until it ends.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Commands {
    /// Before the system is started.
    pub before: Vec<CommandLine>,
    /// When the system is ready.
    pub configure: Vec<CommandLine>,
    /// After the workload, while the system still runs.
    pub after: Vec<CommandLine>,
    /// At the end of the exploration, however it ends.
    pub restore: Vec<CommandLine>,
    /// How long each may take.
    pub timeout: Duration,
}

/// The observed system.
#[derive(Clone, Debug, PartialEq)]
pub struct System {
    /// What starts it; it runs until it is stopped.
    pub command: CommandLine,
    /// Added to its environment.
    pub environment: BTreeMap<String, Template>,
    /// How to know that it is ready.
    pub ready: Option<Ready>,
    /// How long that may take.
    pub ready_timeout: Duration,
    /// What asks it to end; SIGTERM where there is none.
    pub stop: Option<CommandLine>,
    /// How long that may take before it is killed.
    pub stop_timeout: Duration,
}

/// What tells that a system is ready.
#[derive(Clone, Debug, PartialEq)]
pub enum Ready {
    /// Somebody listens at this port (`7000` or `host:7000`).
    Port(Template),
    /// It has printed a line that matches.
    Line(Pattern),
    /// This command succeeds.
    Command(CommandLine),
}

/// A regular expression that is equal to others of the same text.
#[derive(Clone, Debug)]
pub struct Pattern(pub regex::Regex);

impl PartialEq for Pattern {
    fn eq(&self, other: &Self) -> bool {
        self.0.as_str() == other.0.as_str()
    }
}

/// What is measured.
#[derive(Clone, Debug, PartialEq)]
pub struct Workload {
    /// The command; a trial takes until it has ended.
    pub command: CommandLine,
    /// Added to its environment.
    pub environment: BTreeMap<String, Template>,
    /// So often it runs before it is measured.
    pub warm_up: u32,
    /// How long it may take.
    pub timeout: Duration,
}

/// Load beside the system while the workload runs; each a whole number when filled in, 0 where there is none.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Load {
    /// Threads that compute.
    pub cpu: Option<Template>,
    /// Threads that write to the disk that the exploration's folder is on.
    pub disk: Option<Template>,
    /// Memory that is in use, in MiB.
    pub memory_mib: Option<Template>,
}

impl Load {
    /// So many threads of a kind there may be.
    pub(crate) const MOST_THREADS: u64 = 1024;
}

/// A metric and which way it is better.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Objective {
    /// The name of the metric.
    pub metric: String,
    /// Whether more is better.
    pub is_maximised: bool,
}

impl Objective {
    /// The number turned so that smaller is better.
    pub fn cost(&self, value: f64) -> f64 {
        if self.is_maximised { -value } else { value }
    }
}

/// How trials are repeated and ordered.
#[derive(Clone, Debug, PartialEq)]
pub struct Trials {
    /// So many for each configuration, unless the policy wants otherwise.
    pub per_configuration: u32,
    /// Decides the order, and what is chosen at random.
    pub seed: u64,
    /// Of intervals, between 0 and 1.
    pub confidence: f64,
}

/// When to end.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Limits {
    /// After so many trials.
    pub trials: Option<u64>,
    /// After so much time.
    pub time: Option<Duration>,
}

/// Who chooses configurations.
#[derive(Clone, Debug, PartialEq)]
pub enum PolicyChoice {
    /// All of them.
    Grid,
    /// So many at random.
    Random {
        /// How many.
        configurations: u32,
    },
    /// The defaults, and each parameter varied by itself.
    OneAtATime,
    /// Many with few trials, the better ones with more.
    Halving {
        /// How many at first; the whole grid where `None`.
        configurations: Option<u32>,
        /// One of so many goes on, with so many times the trials.
        eta: u32,
    },
    /// The grid, repeated until the best is told from the rest.
    Confident {
        /// Of any one configuration.
        most_trials: u32,
        /// Good enough: the interval's half width as a share of the mean.
        precision: f64,
    },
    /// The best value of one whole number, and from where on more brings nothing.
    Knee {
        /// The parameter.
        parameter: String,
        /// A loss that does not matter, as a share of the best.
        tolerance: f64,
    },
    /// A class in Python.
    Python(PythonPolicy),
}

/// A policy in Python.
#[derive(Clone, Debug, PartialEq)]
pub struct PythonPolicy {
    /// The interpreter.
    pub interpreter: String,
    /// Its file; the one that Optuna needs where `None`.
    pub file: Option<PathBuf>,
    /// What the class gets as its options.
    pub options: serde_json::Map<String, serde_json::Value>,
}

/// How reasons are looked for.
#[derive(Clone, Debug, PartialEq)]
pub struct Why {
    /// The metric that counts the work of a trial, so that times are told for each unit of it.
    pub per: Option<String>,
}
