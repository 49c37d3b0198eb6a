//! Checks what TOML gave, and makes a specification of it.
//!
//! The first thing that is wrong ends it, with its place. Parameters and policies: `check/`.

mod function;
mod parameters;
mod policy;

use std::collections::BTreeMap;
use std::io;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::time::Duration;

use regex::Regex;
use toml::Spanned;

use super::metric::{Metric, Source, Take};
use super::probe::{self, ProbeMetric};
use super::raw::{
    RawAgent, RawCommand, RawCommands, RawFile, RawLoad, RawMeasure, RawMetric, RawObjective,
    RawProbe, RawReady, RawSpec, RawSystem, RawWorkload,
};
use super::read::Wrong;
use super::{
    CommandLine, Commands, FilledFile, Limits, Load, Objective, Pattern, Ready, RemoteAgent, Spec,
    System, Trials, Why, Workload,
};
use crate::template::Template;
use crate::value::Value;

/// Names that templates may use beside parameters.
pub(crate) const GIVEN_NAMES: [&str; 4] = ["scratch", "spec_folder", "trial", "seed"];

/// What checking needs beside the text.
pub(super) struct Checker<'run> {
    pub(super) folder: &'run Path,
    pub(super) load: &'run dyn Fn(&Path) -> io::Result<String>,
}

impl Checker<'_> {
    pub(super) fn check(&self, raw: RawSpec, name: &str) -> Result<Spec, Wrong> {
        let space = parameters::space(raw.parameters, raw.constraints)?;
        let names: Vec<&str> = (space.parameters.iter())
            .map(|parameter| parameter.name.as_str())
            .chain(GIVEN_NAMES)
            .collect();
        let filling = Filling { names: &names };
        let files = (raw.files.into_iter())
            .map(|file| self.file(&filling, file))
            .collect::<Result<_, _>>()?;
        let commands = filling.commands(raw.commands)?;
        let system = raw
            .system
            .map(|system| filling.system(system))
            .transpose()?;
        let workload = filling.workload(raw.workload)?;
        let load = filling.load(raw.load)?;
        let metrics = metrics(raw.metrics, system.is_some())?;
        let objectives = objectives(raw.objectives, &metrics)?;
        let trials = raw.trials;
        let per_configuration = trials.per_configuration;
        let trials = Trials {
            per_configuration: match &per_configuration {
                None => 3,
                Some(count) if *count.get_ref() > 0 => *count.get_ref(),
                Some(count) => {
                    let what = "a configuration needs a trial at least";
                    return Err(Wrong::new(count.span(), what, "1 or more; 3 by default"));
                }
            },
            seed: trials.seed.unwrap_or(1),
            confidence: match trials.confidence {
                None => 0.95,
                Some(share) if (0.5..1.0).contains(share.get_ref()) => *share.get_ref(),
                Some(share) => {
                    let what = "a confidence lies between 0.5 and 1";
                    return Err(Wrong::new(share.span(), what, "0.95 is usual"));
                }
            },
        };
        let limits = Limits {
            trials: raw.limits.trials,
            time: raw.limits.time.as_ref().map(duration).transpose()?,
        };
        let why = Why {
            per: match raw.why.per {
                Some(per) if !metrics.contains_key(per.get_ref()) => {
                    return Err(no_metric(per.span(), per.get_ref(), &metrics));
                }
                per => per.map(Spanned::into_inner),
            },
        };
        Ok(Spec {
            name: raw.name.unwrap_or_else(|| name.to_owned()),
            folder: self.folder.to_owned(),
            policy: policy::choice(raw.policy, &space, &trials)?,
            space,
            files,
            commands,
            system,
            workload,
            load,
            metrics,
            objectives,
            trials,
            limits,
            why,
            agent: raw.agent.map(agent).transpose()?,
        })
    }

    fn file(&self, filling: &Filling<'_>, raw: RawFile) -> Result<FilledFile, Wrong> {
        let at = raw.path.span();
        let (content, at, of) = match (raw.template, raw.content) {
            (Some(template), None) => {
                let path = self.folder.join(template.get_ref());
                let content = (self.load)(&path).map_err(|cause| {
                    let what = format!("the template {} cannot be read: {cause}", path.display());
                    let hint = "the path starts from the folder of the specification";
                    Wrong::new(template.span(), what, hint)
                })?;
                (content, template.span(), path.display().to_string())
            }
            (None, Some(content)) => {
                let at = content.span();
                (content.into_inner(), at, "`content`".to_owned())
            }
            _ => {
                let what = "a file needs either `template` or `content`";
                let hint = "template = \"server.conf.in\", or content = \"threads = {{threads}}\"";
                return Err(Wrong::new(at, what, hint));
            }
        };
        let content = filling.template(&content, at).map_err(|wrong| Wrong {
            what: format!("in {of}: {}", wrong.what),
            ..wrong
        })?;
        let at = raw.path.span();
        Ok(FilledFile {
            path: filling.template(raw.path.get_ref(), at)?,
            content,
        })
    }
}

/// Reads texts that may refer to these names.
struct Filling<'run> {
    names: &'run [&'run str],
}

impl Filling<'_> {
    fn template(&self, text: &str, at: Range<usize>) -> Result<Template, Wrong> {
        let template = Template::parse(text).map_err(|error| {
            let hint =
                "`{{name}}` stands for a parameter, `{{name * 1024}}` for what is computed from it";
            Wrong::new(at.clone(), error, hint)
        })?;
        let unknown = template
            .names()
            .into_iter()
            .find(|name| !self.names.contains(name));
        if let Some(unknown) = unknown {
            let what = format!("there is no parameter `{unknown}`");
            return Err(Wrong::new(
                at,
                what,
                format!("there are: {}", self.names.join(", ")),
            ));
        }
        Ok(template)
    }

    fn command(&self, raw: RawCommand, at: Range<usize>) -> Result<CommandLine, Wrong> {
        let is_empty = match &raw {
            RawCommand::Shell(text) => text.trim().is_empty(),
            RawCommand::Words(words) => words.is_empty(),
        };
        if is_empty {
            let hint = "[\"program\", \"argument\"], or one text for the shell";
            return Err(Wrong::new(at, "the command is empty", hint));
        }
        Ok(match raw {
            RawCommand::Shell(text) => CommandLine::Shell(self.template(&text, at)?),
            RawCommand::Words(words) => CommandLine::Words(
                (words.iter())
                    .map(|word| self.template(word, at.clone()))
                    .collect::<Result<_, _>>()?,
            ),
        })
    }

    fn spanned(&self, raw: Spanned<RawCommand>) -> Result<CommandLine, Wrong> {
        let at = raw.span();
        self.command(raw.into_inner(), at)
    }

    fn environment(
        &self,
        raw: BTreeMap<String, Spanned<String>>,
    ) -> Result<BTreeMap<String, Template>, Wrong> {
        let one = |(name, text): (String, Spanned<String>)| -> Result<_, Wrong> {
            if name.is_empty() || name.contains(['=', '\0']) {
                let what = format!("`{name}` is no name of an environment variable");
                return Err(Wrong::new(text.span(), what, ""));
            }
            Ok((name, self.template(text.get_ref(), text.span())?))
        };
        raw.into_iter().map(one).collect()
    }

    fn commands(&self, raw: RawCommands) -> Result<Commands, Wrong> {
        let list = |commands: Vec<Spanned<RawCommand>>| -> Result<Vec<_>, Wrong> {
            commands
                .into_iter()
                .map(|command| self.spanned(command))
                .collect()
        };
        // They run where no trial does, so that no parameter has a value.
        let outside = Filling {
            names: &["spec_folder", "seed"],
        };
        let restore = (raw.restore.into_iter())
            .map(|command| outside.spanned(command))
            .collect::<Result<_, _>>()?;
        Ok(Commands {
            before: list(raw.before)?,
            configure: list(raw.configure)?,
            after: list(raw.after)?,
            restore,
            timeout: duration_or(raw.timeout, 60)?,
        })
    }

    fn system(&self, raw: RawSystem) -> Result<System, Wrong> {
        Ok(System {
            command: self.spanned(raw.command)?,
            environment: self.environment(raw.environment)?,
            ready: raw.ready.map(|ready| self.ready(ready)).transpose()?,
            ready_timeout: duration_or(raw.ready_timeout, 30)?,
            stop: raw.stop.map(|stop| self.spanned(stop)).transpose()?,
            stop_timeout: duration_or(raw.stop_timeout, 10)?,
        })
    }

    fn ready(&self, raw: Spanned<RawReady>) -> Result<Ready, Wrong> {
        let at = raw.span();
        match raw.into_inner() {
            RawReady {
                port: Some(port),
                line: None,
                command: None,
            } => {
                let template = self.template(&port.to_string(), at.clone())?;
                if !may_be_port(&template) {
                    let what = format!("`{port}` is no port");
                    let hint = "a number from 1 to 65535, or host:7000";
                    return Err(Wrong::new(at, what, hint));
                }
                Ok(Ready::Port(template))
            }
            RawReady {
                port: None,
                line: Some(line),
                command: None,
            } => Ok(Ready::Line(pattern(&line, at)?)),
            RawReady {
                port: None,
                line: None,
                command: Some(command),
            } => Ok(Ready::Command(self.command(command, at)?)),
            _ => {
                let hint =
                    "{ port = 7000 }, { line = \"a regular expression\" } or { command = \"…\" }";
                Err(Wrong::new(at, "`ready` needs one way to tell", hint))
            }
        }
    }

    fn load(&self, raw: RawLoad) -> Result<Load, Wrong> {
        let one = |value: Option<Spanned<Value>>, most: u64| -> Result<_, Wrong> {
            let Some(value) = value else {
                return Ok(None);
            };
            let template = self.template(&value.get_ref().to_string(), value.span())?;
            let is_fixed = template.names().is_empty();
            let number = template.fill(&|_| None).map(|text| text.parse::<u64>());
            match number {
                Ok(Ok(number)) if number > most => {
                    let what = format!("a load has {most} threads of a kind at most");
                    return Err(Wrong::new(value.span(), what, ""));
                }
                Ok(Ok(_)) => {}
                _ if is_fixed => {
                    let hint = "0 or more, or \"{{name}}\" of a parameter";
                    return Err(Wrong::new(value.span(), "a load is a whole number", hint));
                }
                _ => {}
            }
            Ok(Some(template))
        };
        Ok(Load {
            cpu: one(raw.cpu, Load::MOST_THREADS)?,
            disk: one(raw.disk, Load::MOST_THREADS)?,
            memory_mib: one(raw.memory_mib, u64::MAX)?,
        })
    }

    fn workload(&self, raw: RawWorkload) -> Result<Workload, Wrong> {
        Ok(Workload {
            command: self.spanned(raw.command)?,
            environment: self.environment(raw.environment)?,
            warm_up: raw.warm_up,
            timeout: duration_or(raw.timeout, 300)?,
        })
    }
}

/// Whether a port, or that of `host:port`, is one, or depends on parameters.
fn may_be_port(template: &Template) -> bool {
    let Ok(text) = template.fill(&|_| None) else {
        return true;
    };
    let port = text.rsplit_once(':').map_or(&*text, |(_, port)| port);
    port.parse::<u16>().is_ok_and(|port| port > 0)
}

fn pattern(text: &str, at: Range<usize>) -> Result<Pattern, Wrong> {
    let built = regex::RegexBuilder::new(text)
        .size_limit(1 << 20)
        .multi_line(true)
        .build();
    built.map(Pattern).map_err(|error| {
        let last = error.to_string();
        let last = last.lines().last().unwrap_or_default().trim().to_owned();
        let hint = "quote it as '…', so that TOML leaves backslashes alone";
        Wrong::new(
            at,
            format!("the regular expression cannot be used: {last}"),
            hint,
        )
    })
}

fn agent(raw: RawAgent) -> Result<RemoteAgent, Wrong> {
    let address = raw.address.get_ref();
    let is_one = (address.rsplit_once(':'))
        .is_some_and(|(host, port)| !host.is_empty() && port.parse::<u16>().is_ok());
    if !is_one {
        let what = format!("`{address}` is no address of an agent");
        let hint = "HOST:PORT, where `slowpath explore --agent` listens";
        return Err(Wrong::new(raw.address.span(), what, hint));
    }
    Ok(RemoteAgent {
        address: raw.address.into_inner(),
        token_file: PathBuf::from(raw.token_file),
        patience: duration_or(raw.patience, 60)?,
    })
}

type RawMetrics = BTreeMap<Spanned<String>, Spanned<RawMetric>>;

fn metrics(raw: RawMetrics, has_system: bool) -> Result<BTreeMap<String, Metric>, Wrong> {
    let one = |(name, metric): (Spanned<String>, Spanned<RawMetric>)| -> Result<_, Wrong> {
        let at = name.span();
        let metric = metric.into_inner();
        if function::is_meant(&metric) {
            let checked = function::metric(name.get_ref(), at, metric)?;
            return Ok((name.into_inner(), checked));
        }
        if metric.take.is_some() && metric.regex.is_none() && metric.probe.is_none() {
            return Err(Wrong::new(
                at,
                "`take` chooses among matches of a `regex` or records of a `probe`",
                "",
            ));
        }
        let is_of_probe = metric.kind.is_some() || metric.value.is_some() || metric.every.is_some();
        if is_of_probe && metric.probe.is_none() {
            let hint = "probe = \"NAME\", with type = \"LAT\"";
            let what = "`type`, `value` and `every` are of a `probe`";
            return Err(Wrong::new(at, what, hint));
        }
        let take = metric.take.as_deref();
        let (source, unit) = match (metric.regex, metric.json, metric.measure, metric.probe) {
            (None, None, None, Some(probe)) => {
                let (kind, value, every) = (metric.kind, metric.value, metric.every);
                let raw = RawProbe {
                    probe,
                    kind,
                    value,
                    every,
                };
                let (probe, unit) = ProbeMetric::check(raw, take, &at)?;
                (Source::Probe(probe), unit)
            }
            (Some(text), None, None, None) => {
                let pattern = pattern(&text, at.clone())?;
                if Regex::captures_len(&pattern.0) != 2 {
                    let what = format!(
                        "the regular expression of `{}` needs one group",
                        name.get_ref()
                    );
                    return Err(Wrong::new(
                        at,
                        what,
                        "put the number in parentheses: '([0-9.]+) requests'",
                    ));
                }
                let take = take.map_or(Some(Take::default()), Take::named);
                let take = take.ok_or_else(|| {
                    let hint = "first, last, mean, median, p95, p99, sum, min or max";
                    Wrong::new(at, "`take` is none of what can be taken", hint)
                })?;
                (Source::Regex { pattern, take }, "")
            }
            (None, Some(pointer), None, None) => {
                if !pointer.is_empty() && !pointer.starts_with('/') {
                    let what = format!("`{pointer}` is no JSON pointer");
                    return Err(Wrong::new(
                        at,
                        what,
                        "it begins with `/`, as in /latency/p99",
                    ));
                }
                (Source::Json { pointer }, "")
            }
            (None, None, Some(RawMeasure::Wall), None) => (Source::Wall, "s"),
            (None, None, Some(RawMeasure::WorkloadCpu), None) => (Source::WorkloadCpu, "s"),
            (None, None, Some(RawMeasure::SystemCpu), None) if has_system => {
                (Source::SystemCpu, "s")
            }
            (None, None, Some(RawMeasure::SystemCpu), None) => {
                let hint = "add [system], or use measure = \"workload-cpu\"";
                return Err(Wrong::new(
                    at,
                    "there is no system whose time could be measured",
                    hint,
                ));
            }
            _ => {
                let what = format!("`{}` needs one place that it comes from", name.get_ref());
                let hint = "regex = '…', json = \"/pointer\", measure = \"wall\", probe = \"name\", or function and binary";
                return Err(Wrong::new(at, what, hint));
            }
        };
        let unit = if metric.unit.is_empty() {
            unit.to_owned()
        } else {
            metric.unit
        };
        Ok((name.into_inner(), Metric { source, unit }))
    };
    let places: BTreeMap<String, Range<usize>> = (raw.keys())
        .map(|name| (name.get_ref().clone(), name.span()))
        .collect();
    let metrics = raw.into_iter().map(one).collect::<Result<_, _>>()?;
    probe::agree(&metrics).map_err(|(name, other)| Wrong {
        at: places.get(&name).cloned(),
        what: format!("`{name}` and `{other}` want one probe switched in two ways"),
        hint: "give both the same `every`".to_owned(),
    })?;
    Ok(metrics)
}

fn no_metric(at: Range<usize>, name: &str, metrics: &BTreeMap<String, Metric>) -> Wrong {
    let known: Vec<&str> = metrics.keys().map(String::as_str).collect();
    let hint = match known.is_empty() {
        true => "add [metrics.NAME] with regex, json, measure or function".to_owned(),
        false => format!("there are: {}", known.join(", ")),
    };
    Wrong::new(at, format!("there is no metric `{name}`"), hint)
}

fn objectives(
    raw: Vec<Spanned<RawObjective>>,
    metrics: &BTreeMap<String, Metric>,
) -> Result<Vec<Objective>, Wrong> {
    if raw.is_empty() {
        return Err(Wrong {
            at: None,
            what: "no objective says what is wanted".to_owned(),
            hint: "[[objectives]] with minimise = \"METRIC\" or maximise = \"METRIC\"".to_owned(),
        });
    }
    let mut objectives: Vec<Objective> = Vec::new();
    for objective in raw {
        let at = objective.span();
        let (metric, is_maximised) = match objective.into_inner() {
            RawObjective {
                maximise: Some(metric),
                minimise: None,
            } => (metric, true),
            RawObjective {
                maximise: None,
                minimise: Some(metric),
            } => (metric, false),
            _ => {
                let what = "an objective either maximises or minimises";
                return Err(Wrong::new(
                    at,
                    what,
                    "maximise = \"METRIC\" or minimise = \"METRIC\"",
                ));
            }
        };
        if !metrics.contains_key(&metric) {
            return Err(no_metric(at, &metric, metrics));
        }
        if objectives.iter().any(|known| known.metric == metric) {
            return Err(Wrong::new(
                at,
                format!("`{metric}` is an objective already"),
                "",
            ));
        }
        objectives.push(Objective {
            metric,
            is_maximised,
        });
    }
    Ok(objectives)
}

fn duration_or(text: Option<Spanned<String>>, seconds: u64) -> Result<Duration, Wrong> {
    match text {
        Some(text) => duration(&text),
        None => Ok(Duration::from_secs(seconds)),
    }
}

fn duration(text: &Spanned<String>) -> Result<Duration, Wrong> {
    let trimmed = text.get_ref().trim();
    let digits = trimmed.trim_end_matches(|letter: char| letter.is_ascii_alphabetic());
    let unit = match &trimmed[digits.len()..] {
        "ms" => Some(1e-3),
        "s" => Some(1.0),
        "m" | "min" => Some(60.0),
        "h" => Some(3600.0),
        _ => None,
    };
    let seconds = digits
        .trim()
        .parse::<f64>()
        .ok()
        .zip(unit)
        .map(|(number, unit)| number * unit);
    let seconds = seconds.filter(|seconds| *seconds > 0.0 && *seconds < 1e9);
    seconds.map(Duration::from_secs_f64).ok_or_else(|| {
        let what = format!("`{trimmed}` is no length of time");
        Wrong::new(text.span(), what, "\"500ms\", \"30s\", \"10m\" or \"2h\"")
    })
}
