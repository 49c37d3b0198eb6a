//! The specification as TOML has it: keys and types, with the places of what `check.rs` may object to.
//!
//! Unknown keys are errors. No defaults other than those of types.

use std::collections::BTreeMap;
use std::fmt;

use serde::Deserialize;
use toml::Spanned;

use crate::value::Value;

type Text = Spanned<String>;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawSpec {
    pub(super) name: Option<String>,
    #[serde(default)]
    pub(super) parameters: BTreeMap<Text, Spanned<RawParameter>>,
    #[serde(default)]
    pub(super) constraints: Vec<Text>,
    #[serde(default)]
    pub(super) files: Vec<RawFile>,
    #[serde(default)]
    pub(super) commands: RawCommands,
    pub(super) system: Option<RawSystem>,
    pub(super) workload: RawWorkload,
    #[serde(default)]
    pub(super) load: RawLoad,
    #[serde(default)]
    pub(super) metrics: BTreeMap<Text, Spanned<RawMetric>>,
    #[serde(default)]
    pub(super) objectives: Vec<Spanned<RawObjective>>,
    #[serde(default)]
    pub(super) trials: RawTrials,
    #[serde(default)]
    pub(super) limits: RawLimits,
    pub(super) policy: Option<Spanned<RawPolicy>>,
    #[serde(default)]
    pub(super) why: RawWhy,
    pub(super) agent: Option<RawAgent>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawAgent {
    pub(super) address: Text,
    pub(super) token_file: String,
    pub(super) patience: Option<Text>,
}

#[derive(Clone, Copy, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
pub(super) enum RawType {
    Integer,
    Float,
    Category,
    Boolean,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawParameter {
    #[serde(rename = "type")]
    pub(super) kind: RawType,
    pub(super) min: Option<Value>,
    pub(super) max: Option<Value>,
    pub(super) step: Option<i64>,
    pub(super) steps: Option<u32>,
    pub(super) values: Option<Vec<Value>>,
    pub(super) default: Option<Value>,
    #[serde(default)]
    pub(super) when: BTreeMap<String, OneOrMore>,
}

#[derive(Clone, Deserialize)]
#[serde(untagged)]
pub(super) enum OneOrMore {
    More(Vec<Value>),
    One(Value),
}

#[derive(Clone, Deserialize)]
#[serde(untagged)]
pub(super) enum RawCommand {
    Shell(String),
    Words(Vec<String>),
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawFile {
    pub(super) path: Text,
    pub(super) template: Option<Text>,
    pub(super) content: Option<Text>,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawCommands {
    #[serde(default)]
    pub(super) before: Vec<Spanned<RawCommand>>,
    #[serde(default)]
    pub(super) configure: Vec<Spanned<RawCommand>>,
    #[serde(default)]
    pub(super) after: Vec<Spanned<RawCommand>>,
    #[serde(default)]
    pub(super) restore: Vec<Spanned<RawCommand>>,
    pub(super) timeout: Option<Text>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawSystem {
    pub(super) command: Spanned<RawCommand>,
    #[serde(default)]
    pub(super) environment: BTreeMap<String, Text>,
    pub(super) ready: Option<Spanned<RawReady>>,
    pub(super) ready_timeout: Option<Text>,
    pub(super) stop: Option<Spanned<RawCommand>>,
    pub(super) stop_timeout: Option<Text>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawReady {
    pub(super) port: Option<Value>,
    pub(super) line: Option<String>,
    pub(super) command: Option<RawCommand>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawWorkload {
    pub(super) command: Spanned<RawCommand>,
    #[serde(default)]
    pub(super) environment: BTreeMap<String, Text>,
    #[serde(default)]
    pub(super) warm_up: u32,
    pub(super) timeout: Option<Text>,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawLoad {
    pub(super) cpu: Option<Spanned<Value>>,
    pub(super) disk: Option<Spanned<Value>>,
    pub(super) memory_mib: Option<Spanned<Value>>,
}

#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum RawMeasure {
    Wall,
    WorkloadCpu,
    SystemCpu,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawMetric {
    pub(super) regex: Option<String>,
    pub(super) take: Option<String>,
    pub(super) json: Option<String>,
    pub(super) measure: Option<RawMeasure>,
    pub(super) function: Option<String>,
    pub(super) binary: Option<String>,
    pub(super) probe: Option<RawName>,
    #[serde(rename = "type")]
    pub(super) kind: Option<String>,
    pub(super) value: Option<RawName>,
    pub(super) every: Option<u32>,
    #[serde(default)]
    pub(super) unit: String,
}

/// A name, or a number that stands for one.
#[derive(Clone, Deserialize)]
#[serde(untagged)]
pub(super) enum RawName {
    Number(i64),
    Text(String),
}

impl fmt::Display for RawName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Number(number) => number.fmt(f),
            Self::Text(text) => text.fmt(f),
        }
    }
}

/// What of a metric is about a probe.
pub(super) struct RawProbe {
    pub(super) probe: RawName,
    pub(super) kind: Option<String>,
    pub(super) value: Option<RawName>,
    pub(super) every: Option<u32>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawObjective {
    pub(super) maximise: Option<String>,
    pub(super) minimise: Option<String>,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawTrials {
    pub(super) per_configuration: Option<Spanned<u32>>,
    pub(super) seed: Option<u64>,
    pub(super) confidence: Option<Spanned<f64>>,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawLimits {
    pub(super) trials: Option<u64>,
    pub(super) time: Option<Text>,
}

#[derive(Clone, Copy, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "kebab-case")]
pub(super) enum RawPolicyName {
    Grid,
    Random,
    OneAtATime,
    Halving,
    Confident,
    Knee,
    Optuna,
    Python,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawPolicy {
    pub(super) name: RawPolicyName,
    pub(super) configurations: Option<u32>,
    pub(super) eta: Option<u32>,
    pub(super) most_trials: Option<u32>,
    pub(super) precision: Option<f64>,
    pub(super) parameter: Option<String>,
    pub(super) tolerance: Option<f64>,
    pub(super) interpreter: Option<String>,
    pub(super) file: Option<String>,
    #[serde(default)]
    pub(super) options: serde_json::Map<String, serde_json::Value>,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawWhy {
    pub(super) per: Option<Text>,
}
