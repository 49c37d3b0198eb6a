//! Policies in Python: a class in a child process that is asked in JSON, a line each way.
//!
//! The class needs only what `slowpath_policy.py` says, which is put beside it. It is told every trial, those of
//! earlier runs of the explorer as well, so that it need not keep anything.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::Duration;

use serde::Deserialize;
use serde_json::{Value as Json, json};

use super::{Policy, PolicyError, Seen, Wanted};
use crate::space::Space;
use crate::spec::{PythonPolicy, Spec};
use crate::trial::Trial;
use crate::value::Configuration;

/// So often a policy may choose what constraints forbid before it is given up.
const MOST_FORBIDDEN: u32 = 1000;

const MODULE: &str = include_str!("slowpath_policy.py");
const OPTUNA: &str = include_str!("optuna_policy.py");

/// A policy in Python.
#[derive(Debug)]
pub struct PythonPolicyProcess {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
    _folder: tempfile::TempDir,
    /// How many trials it has been told of.
    told: usize,
    per_configuration: u32,
    has_max_duration: bool,
    has_stop_run: bool,
}

#[derive(Deserialize)]
struct Begun {
    max_duration: bool,
    stop_run: bool,
}

/// A configuration alone, or with the number of its trials.
#[derive(Deserialize)]
struct Proposed {
    configuration: Configuration,
    trials: Option<u32>,
}

impl PythonPolicyProcess {
    /// Starts the interpreter and the class.
    ///
    /// # Errors
    /// Where the interpreter, the file or what it needs is missing.
    pub fn start(spec: &Spec, choice: &PythonPolicy) -> Result<Self, PolicyError> {
        let failed = |what: String| PolicyError(format!("the policy cannot be started: {what}"));
        let folder = tempfile::tempdir().map_err(|cause| failed(cause.to_string()))?;
        let write = |name: &str, text: &str| {
            let path = folder.path().join(name);
            std::fs::write(&path, text)
                .map(|()| path)
                .map_err(|cause| failed(cause.to_string()))
        };
        let module = write("slowpath_policy.py", MODULE)?;
        let file = match &choice.file {
            Some(file) => {
                let path = spec.folder.join(file);
                path.canonicalize().map_err(|cause| {
                    failed(format!(
                        "{}: {cause}\n  hint: `file` starts from the folder of the specification",
                        path.display()
                    ))
                })?
            }
            None => write("optuna_policy.py", OPTUNA)?,
        };
        let mut command = Command::new(interpreter(&choice.interpreter, &spec.folder));
        command
            .arg(&module)
            .arg(&file)
            .env("PYTHONPATH", path_with(folder.path()));
        // The terminal's Ctrl-C is the explorer's.
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        std::os::unix::process::CommandExt::process_group(&mut command, 0);
        let mut child = command.spawn().map_err(|cause| {
            failed(format!(
                "{}: {cause}\n  hint: name a Python 3 by `interpreter` in [policy]",
                choice.interpreter
            ))
        })?;
        let (Some(input), Some(output)) = (child.stdin.take(), child.stdout.take()) else {
            return Err(failed("it has no standard streams".to_owned()));
        };
        let mut process = Self {
            child,
            input,
            output: BufReader::new(output),
            _folder: folder,
            told: 0,
            per_configuration: spec.trials.per_configuration,
            has_max_duration: false,
            has_stop_run: false,
        };
        let objectives = spec.objectives.iter().map(
            |objective| json!({"metric": objective.metric, "maximise": objective.is_maximised}),
        );
        let begun = process.ask(json!({
            "begin": {
                "parameters": spec.space.parameters,
                "objectives": objectives.collect::<Vec<_>>(),
                "seed": spec.trials.seed,
                "trials": spec.trials.per_configuration,
                "options": choice.options,
            }
        }))?;
        let begun: Begun = understood(begun)?;
        process.has_max_duration = begun.max_duration;
        process.has_stop_run = begun.stop_run;
        Ok(process)
    }

    /// Sends a line, and gets the answer to it.
    fn ask(&mut self, question: Json) -> Result<Json, PolicyError> {
        let mut line = String::new();
        let asked = writeln!(self.input, "{question}").and_then(|()| self.input.flush());
        let answered = asked.and_then(|()| self.output.read_line(&mut line));
        if !answered.is_ok_and(|count| count > 0) {
            return Err(PolicyError(
                "the policy in Python has ended\n  hint: what it printed on standard error, above, says why".to_owned(),
            ));
        }
        let answer: Json = serde_json::from_str(&line).map_err(|_| {
            PolicyError(format!(
                "the policy in Python answered {:?}\n  hint: print to sys.stderr: standard output is for answers",
                line.trim_end()
            ))
        })?;
        match answer.get("error").and_then(Json::as_str) {
            Some(error) => Err(PolicyError(format!("the policy in Python failed: {error}"))),
            None => Ok(answer),
        }
    }

    /// Those of the wanted configurations that the space has; the policy is told which ones are forbidden.
    fn allowed(
        &mut self,
        space: &Space,
        proposed: Vec<Proposed>,
    ) -> Result<Vec<Wanted>, PolicyError> {
        let mut wanted = Vec::new();
        for Proposed {
            configuration,
            trials,
        } in proposed
        {
            match space.objection(&configuration) {
                None => {
                    let trials = trials.unwrap_or(self.per_configuration).max(1);
                    wanted.push(Wanted {
                        configuration,
                        trials,
                    });
                }
                Some(_) if !space.satisfies(&configuration) => {
                    let told = json!({"trial": null, "configuration": configuration, "outcome": "forbidden", "metrics": {}});
                    self.ask(json!({"result": told}))?;
                }
                Some(objection) => {
                    return Err(PolicyError(format!(
                        "the policy wants `{configuration}`, but {objection}\n  hint: `self.parameters` says what can be chosen"
                    )));
                }
            }
        }
        Ok(wanted)
    }

    /// Tells it of trials that it has not been told of.
    fn tell(&mut self, trials: &[Trial]) -> Result<(), PolicyError> {
        for trial in trials.iter().skip(self.told) {
            self.ask(json!({
                "result": {
                    "trial": trial.id,
                    "configuration": trial.configuration,
                    "outcome": trial.outcome.name(),
                    "metrics": trial.measures,
                }
            }))?;
        }
        self.told = trials.len();
        Ok(())
    }
}

impl Policy for PythonPolicyProcess {
    fn next(&mut self, seen: Seen<'_>) -> Result<Vec<Wanted>, PolicyError> {
        self.tell(seen.trials)?;
        // Where all that it wants is forbidden, it is told so and chooses again.
        for _ in 0..MOST_FORBIDDEN {
            let answer = self.ask(json!({"next": seen.batches}))?;
            let proposed: Vec<Proposed> = understood(answer["next"].clone())?;
            let is_end = proposed.is_empty();
            let wanted = self.allowed(&seen.spec.space, proposed)?;
            if is_end || !wanted.is_empty() {
                return Ok(wanted);
            }
        }
        Err(PolicyError(format!(
            "the policy wanted {MOST_FORBIDDEN} configurations one after the other that constraints forbid\n  \
             hint: ranges of parameters that leave less to the constraints help"
        )))
    }

    fn max_duration(
        &mut self,
        configuration: &Configuration,
    ) -> Result<Option<Duration>, PolicyError> {
        if !self.has_max_duration {
            return Ok(None);
        }
        let answer = self.ask(json!({"max_duration": configuration}))?;
        let seconds = answer["max_duration"]
            .as_f64()
            .filter(|seconds| *seconds > 0.0 && *seconds < 1e9);
        Ok(seconds.map(Duration::from_secs_f64))
    }

    fn looks_at_runs(&self) -> bool {
        self.has_stop_run
    }

    fn stop_run(
        &mut self,
        configuration: &Configuration,
        metric: &str,
        value: f64,
    ) -> Result<bool, PolicyError> {
        let record = json!({"configuration": configuration, "metric": metric, "value": value});
        Ok(self.ask(json!({"stop_run": record}))?["stop_run"] == json!(true))
    }

    fn conclusions(&mut self, seen: Seen<'_>) -> Result<Vec<String>, PolicyError> {
        self.tell(seen.trials)?;
        let answer = self.ask(json!({"conclusions": null}))?;
        understood(answer["conclusions"].clone())
    }

    fn process(&self) -> Option<i32> {
        Some(self.child.id() as i32)
    }
}

impl Drop for PythonPolicyProcess {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn understood<T: for<'de> Deserialize<'de>>(answer: Json) -> Result<T, PolicyError> {
    let shown = answer.to_string();
    serde_json::from_value(answer).map_err(|_| {
        let shown: String = shown.chars().take(200).collect();
        PolicyError(format!(
            "the policy in Python answered {shown}, which is not understood"
        ))
    })
}

/// A name is looked for as usual; a path starts from the specification's folder.
fn interpreter(named: &str, folder: &Path) -> std::path::PathBuf {
    match named.contains('/') {
        true => folder.join(named),
        false => named.into(),
    }
}

fn path_with(folder: &Path) -> std::ffi::OsString {
    let known = std::env::var_os("PYTHONPATH");
    let known = known.iter().flat_map(std::env::split_paths);
    let all = [folder.to_owned()].into_iter().chain(known);
    std::env::join_paths(all).unwrap_or_else(|_| folder.into())
}
