//! Policies in Python: a class in a child process that is asked in JSON, a line each way.
//!
//! The class needs only what `slowpath_policy.py` says, which runs it. It is told every trial, those of earlier runs of
//! the explorer as well, so that it need not keep anything. It ends with the explorer, and may hang: signals are seen.

use std::io::{self, Read, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::Duration;

use serde::Deserialize;
use serde_json::{Value as Json, json};
use slowpath_platform::process;
use slowpath_platform::signals::SignalPipe;
use slowpath_platform::wait::wait_readable;

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
    output: ChildStdout,
    /// What it has answered and nobody has taken.
    answered: Vec<u8>,
    /// Readable when the user wants an end.
    signals: Vec<OwnedFd>,
    /// How many trials it has been told of.
    told: usize,
    per_configuration: u32,
    /// Whether it has still to propose once more what was tried before: it keeps in mind what it has proposed, beside what
    /// came of it.
    proposes_again: bool,
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
        let file = match &choice.file {
            Some(file) => {
                let path = spec.folder.join(file);
                Some(path.canonicalize().map_err(|cause| {
                    failed(format!(
                        "{}: {cause}\n  hint: `file` starts from the folder of the specification",
                        path.display()
                    ))
                })?)
            }
            None => None,
        };
        let mut command = Command::new(interpreter(&choice.interpreter, &spec.folder));
        command.args(["-c", MODULE]);
        match &file {
            Some(file) => command.arg(file),
            None => command.args(["optuna_policy.py", OPTUNA]),
        };
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        // The terminal's Ctrl-C is the explorer's.
        process::tie(&mut command, None);
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
            output,
            answered: Vec::new(),
            signals: Vec::new(),
            told: 0,
            per_configuration: spec.trials.per_configuration,
            proposes_again: choice.file.is_none(),
            has_max_duration: false,
            has_stop_run: false,
        };
        let objectives = spec.objectives.iter().map(
            |objective| json!({"metric": objective.metric, "maximise": objective.is_maximised}),
        );
        // With the values of the grid, so that there is one place where they are computed.
        let parameters = spec.space.parameters.iter().map(|parameter| {
            let mut told = json!(parameter);
            told["values"] = json!(parameter.domain.grid());
            told
        });
        let begun = process.ask(json!({
            "begin": {
                "parameters": parameters.collect::<Vec<_>>(),
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
        let asked = writeln!(self.input, "{question}").and_then(|()| self.input.flush());
        let line = match asked.and_then(|()| self.line()) {
            Ok(line) => line,
            Err(cause) if cause.kind() == io::ErrorKind::Interrupted => {
                return Err(PolicyError(
                    "the policy in Python did not answer".to_owned(),
                ));
            }
            Err(_) => {
                return Err(PolicyError(
                    "the policy in Python has ended\n  hint: what it printed on standard error, above, says why".to_owned(),
                ));
            }
        };
        let answer: Json = serde_json::from_str(&line).map_err(|_| {
            PolicyError(format!(
                "the policy in Python answered {:?}\n  hint: print to sys.stderr: standard output is for answers",
                line.trim_end()
            ))
        })?;
        let told = |key: &str| answer.get(key).and_then(Json::as_str);
        if let Some(mistake) = told("mistake") {
            return Err(PolicyError(format!("the policy: {mistake}")));
        }
        match told("error") {
            Some(error) => Err(PolicyError(format!("the policy in Python failed: {error}"))),
            None => Ok(answer),
        }
    }

    /// The next line of its answers; `Interrupted` where a signal comes first, which stays to be taken.
    fn line(&mut self) -> io::Result<String> {
        loop {
            if let Some(end) = self.answered.iter().position(|byte| *byte == b'\n') {
                let line = self.answered.drain(..=end).collect::<Vec<u8>>();
                return Ok(String::from_utf8_lossy(&line).into_owned());
            }
            let descriptors = [self.output.as_fd()].into_iter();
            let descriptors = descriptors.chain(self.signals.iter().map(AsFd::as_fd));
            let readable =
                wait_readable(&descriptors.collect::<Vec<_>>(), Duration::from_secs(3600))?;
            if readable[0] {
                let mut bytes = [0; 1 << 16];
                match self.output.read(&mut bytes)? {
                    0 => return Err(io::ErrorKind::UnexpectedEof.into()),
                    count => self.answered.extend(&bytes[..count]),
                }
            } else if readable.contains(&true) {
                return Err(io::ErrorKind::Interrupted.into());
            }
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
            let configuration = space.canonical(&configuration);
            match space.misfit(&configuration) {
                None if space.satisfies(&configuration) => {
                    let trials = trials.unwrap_or(self.per_configuration).max(1);
                    wanted.push(Wanted {
                        configuration,
                        trials,
                    });
                }
                None => {
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

    /// What it wants next. Where all of that is forbidden, it is told so and chooses again.
    fn wanted(&mut self, space: &Space, batch: u32) -> Result<Vec<Wanted>, PolicyError> {
        for _ in 0..MOST_FORBIDDEN {
            let answer = self.ask(json!({"next": batch}))?;
            let proposed: Vec<Proposed> = understood(answer["next"].clone())?;
            let is_end = proposed.is_empty();
            let wanted = self.allowed(space, proposed)?;
            if is_end || !wanted.is_empty() {
                return Ok(wanted);
            }
        }
        Err(PolicyError(format!(
            "the policy wanted {MOST_FORBIDDEN} configurations one after the other that constraints forbid\n  \
             hint: ranges of parameters that leave less to the constraints help"
        )))
    }
}

impl Policy for PythonPolicyProcess {
    fn next(&mut self, seen: Seen<'_>) -> Result<Vec<Wanted>, PolicyError> {
        if std::mem::take(&mut self.proposes_again) {
            // From the same results it proposes the same once more, what was forbidden as well, and goes on from there.
            for batch in seen.trials.chunk_by(|one, two| one.batch == two.batch) {
                self.wanted(&seen.spec.space, batch[0].batch)?;
                self.tell(&seen.trials[..self.told + batch.len()])?;
            }
        }
        self.tell(seen.trials)?;
        self.wanted(&seen.spec.space, seen.batches)
    }

    fn max_duration(
        &mut self,
        configuration: &Configuration,
    ) -> Result<Option<Duration>, PolicyError> {
        if !self.has_max_duration {
            return Ok(None);
        }
        let answer = self.ask(json!({"max_duration": configuration}))?;
        match &answer["max_duration"] {
            Json::Null => Ok(None),
            given => match given.as_f64() {
                Some(seconds) if seconds > 0.0 => {
                    Ok(Some(Duration::from_secs_f64(seconds.min(1e9))))
                }
                _ => Err(PolicyError(format!(
                    "the policy in Python gives {given} as `max_duration`\n  hint: seconds above 0, or None"
                ))),
            },
        }
    }

    fn watch(&mut self, signals: &SignalPipe) -> Result<(), PolicyError> {
        let descriptors = signals.descriptors();
        let owned = descriptors.iter().map(|one| one.try_clone_to_owned());
        self.signals = owned
            .collect::<io::Result<_>>()
            .map_err(|cause| PolicyError(format!("signals cannot be waited for: {cause}")))?;
        Ok(())
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
            "the policy in Python answered {shown}, which is not understood\n  hint: `next` gives a configuration, a list of them, or None; a configuration is a dictionary of values by parameter, or a pair (configuration, n)"
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
