//! Policies against functions that are known, without running anything.

mod constrained;

use std::collections::BTreeMap;
use std::io;
use std::path::Path;

use super::{Policy, Seen, Wanted, policy};
use crate::results::Results;
use crate::spec::Spec;
use crate::trial::{Failure, Outcome, Trial};
use crate::value::{Configuration, Value};

fn spec(parameters: &str, rest: &str) -> Spec {
    let text = format!(
        "{parameters}\n[workload]\ncommand = \"true\"\n[metrics.time]\nmeasure = \"wall\"\n[[objectives]]\nminimise = \"time\"\n{rest}"
    );
    let load = |_: &Path| Err(io::ErrorKind::NotFound.into());
    Spec::parse(&text, "test.toml", "test", Path::new("."), &load)
        .unwrap_or_else(|error| panic!("{error}"))
}

const TWO: &str = "[parameters.a]\ntype = \"integer\"\nmin = 0\nmax = 9\n[parameters.b]\ntype = \"integer\"\nmin = 0\nmax = 9";

fn number(configuration: &Configuration, name: &str) -> f64 {
    configuration
        .get(name)
        .and_then(Value::number)
        .expect("a number")
}

/// What a policy tries, where configurations cost what `cost` says, those that fail NaN; and what it concludes.
fn simulate(
    spec: &Spec,
    policy: &mut dyn Policy,
    cost: impl FnMut(&Configuration) -> f64,
) -> (Vec<Trial>, Vec<String>) {
    go_on(spec, policy, Vec::new(), cost)
}

/// The same behind what an earlier policy has tried.
fn go_on(
    spec: &Spec,
    policy: &mut dyn Policy,
    mut trials: Vec<Trial>,
    mut cost: impl FnMut(&Configuration) -> f64,
) -> (Vec<Trial>, Vec<String>) {
    for batch in 0..200 {
        let wanted = policy
            .next(Seen {
                spec,
                trials: &trials,
                batches: batch,
            })
            .expect("an answer");
        if wanted.is_empty() {
            let conclusions = policy.conclusions(Seen {
                spec,
                trials: &trials,
                batches: batch,
            });
            return (trials, conclusions.expect("conclusions"));
        }
        for one in wanted {
            assert_eq!(
                spec.space.objection(&one.configuration),
                None,
                "{}",
                one.configuration
            );
            for _ in 0..one.trials {
                let cost = cost(&one.configuration);
                let mut measures = BTreeMap::from([("time".to_owned(), cost)]);
                measures.retain(|_, cost| !cost.is_nan());
                let outcome = match measures.is_empty() {
                    true => Outcome::Failed {
                        kind: Failure::Workload,
                        what: "it failed".to_owned(),
                    },
                    false => Outcome::Good,
                };
                trials.push(Trial {
                    id: trials.len() as i64 + 1,
                    batch,
                    measures,
                    configuration: one.configuration.clone(),
                    outcome,
                    notes: String::new(),
                });
            }
        }
    }
    panic!("it finds no end");
}

fn run(spec: &Spec, cost: impl FnMut(&Configuration) -> f64) -> (Vec<Trial>, Vec<String>) {
    let mut policy = policy(spec).unwrap_or_else(|error| panic!("{error}"));
    simulate(spec, &mut *policy, cost)
}

fn keys(trials: &[Trial]) -> std::collections::BTreeSet<String> {
    trials
        .iter()
        .map(|trial| trial.configuration.key())
        .collect()
}

#[test]
fn the_grid_is_all_and_random_is_a_part_of_it() {
    let (trials, _) = run(&spec(TWO, ""), |_| 1.0);
    assert_eq!((trials.len(), keys(&trials).len()), (300, 100));
    let some = |seed: u32| {
        run(&spec(TWO, &format!("[trials]\nper_configuration = 2\nseed = {seed}\n[policy]\nname = \"random\"\nconfigurations = 12")), |_| 1.0).0
    };
    let first = some(1);
    assert_eq!((first.len(), keys(&first).len()), (24, 12));
    assert_eq!(keys(&first), keys(&some(1)));
    assert_ne!(keys(&first), keys(&some(2)));
}

#[test]
fn random_finds_what_constraints_leave_of_a_large_space() {
    let parameters: String = ["a", "b", "c", "d", "e", "f"]
        .map(|name| format!("[parameters.{name}]\ntype = \"integer\"\nmin = 1\nmax = 64\n"))
        .concat();
    let random = |constraint: &str, name: &str| {
        let parameters = format!("constraints = [\"{constraint}\"]\n{parameters}");
        let rest = format!(
            "[policy]\nname = \"{name}\"\nconfigurations = 20\n[trials]\nper_configuration = 1"
        );
        run(&spec(&parameters, &rest), |_| 1.0)
    };
    for name in ["random", "halving"] {
        let (trials, conclusions) = random("a + b + c + d + e + f <= 46", name);
        assert_eq!((keys(&trials).len(), conclusions.len()), (20, 0), "{name}");
    }
    // One change alone satisfies no other constraint but these; the defaults do.
    let (trials, conclusions) = random(
        "a * b * c * d * e * f == 1 || (a + b + c + d + e + f) == 384",
        "random",
    );
    assert_eq!(keys(&trials).len(), 1);
    let expected = "only 1 of 20 configurations that satisfy all constraints were found at random; there may be more";
    assert_eq!(conclusions, [expected]);
}

#[test]
fn one_at_a_time_varies_each_from_the_defaults() {
    let parameters = TWO.replacen("max = 9", "max = 9\ndefault = 4", 1);
    let (trials, _) = run(
        &spec(&parameters, "[policy]\nname = \"one-at-a-time\""),
        |_| 1.0,
    );
    assert_eq!(keys(&trials).len(), 19);
    assert!(
        trials
            .iter()
            .all(|trial| number(&trial.configuration, "a") == 4.0
                || number(&trial.configuration, "b") == 0.0)
    );
}

#[test]
fn halving_gives_its_trials_to_those_that_are_good() {
    let cost = |one: &Configuration| number(one, "a") * 10.0 + number(one, "b");
    let (trials, _) = run(&spec(TWO, "[policy]\nname = \"halving\"\neta = 3"), cost);
    // 100, 33, 11, 3, with 1, 3, 9, 27 trials each.
    assert_eq!(trials.len(), 100 + 33 * 3 + 11 * 9 + 3 * 27);
    let last = trials
        .iter()
        .filter(|trial| trial.batch == 3)
        .map(|trial| cost(&trial.configuration));
    assert_eq!(last.fold(0.0, f64::max), 2.0, "the best three");
}

#[test]
fn halving_keeps_by_the_next_objective_what_the_first_does_not_tell_apart() {
    let parameters = "[parameters.a]\ntype = \"integer\"\nmin = 0\nmax = 7";
    let errors = "[metrics.errors]\nregex = 'e ([0-9]+)'\n[[objectives]]\nminimise = \"errors\"\n[[objectives]]\nminimise = \"time\"";
    let text = format!(
        "{parameters}\n[workload]\ncommand = \"true\"\n[metrics.time]\nmeasure = \"wall\"\n{errors}\n[policy]\nname = \"halving\"\n"
    );
    let load = |_: &Path| Err(io::ErrorKind::NotFound.into());
    let spec = Spec::parse(&text, "test.toml", "test", Path::new("."), &load).expect("right");
    let trial = |a: i64| Trial {
        id: a + 1,
        batch: 0,
        configuration: Configuration::from_key(&format!("{{\"a\":{a}}}")).expect("JSON"),
        outcome: Outcome::Good,
        measures: [
            ("errors".to_owned(), 0.0),
            ("time".to_owned(), 9.0 - a as f64),
        ]
        .into(),
        notes: String::new(),
    };
    let trials: Vec<Trial> = (0..8).map(trial).collect();
    let mut policy = policy(&spec).expect("a policy");
    let wanted = policy.next(Seen {
        spec: &spec,
        trials: &trials,
        batches: 1,
    });
    let wanted = wanted.expect("an answer").into_iter();
    let wanted: Vec<f64> = wanted.map(|one| number(&one.configuration, "a")).collect();
    assert_eq!(wanted, [7.0, 6.0, 5.0, 4.0]);
}

#[test]
fn repeating_ends_where_the_best_is_told_from_the_rest() {
    let mut random = fastrand::Rng::with_seed(3);
    let text = "[policy]\nname = \"confident\"\nmost_trials = 12\nprecision = 0.001";
    let noisy = |one: &Configuration, random: &mut fastrand::Rng| {
        100.0 + number(one, "a") * 10.0 + number(one, "b") * 0.2 + random.f64() * 2.0
    };
    let (trials, _) = run(&spec(TWO, text), |one| noisy(one, &mut random));
    let count = |wanted: &str| {
        trials
            .iter()
            .filter(|trial| trial.configuration.key() == wanted)
            .count()
    };
    let (near, far) = (count(r#"{"a":0,"b":1}"#), count(r#"{"a":9,"b":0}"#));
    assert!(
        near > far && near <= 12,
        "{near} trials of what is near the best, {far} of what is not"
    );
    assert!(trials.len() < 100 * 6, "{} trials", trials.len());
}

#[test]
fn what_fails_at_times_is_not_the_best_that_others_are_compared_with() {
    let mut random = fastrand::Rng::with_seed(3);
    let text = "[policy]\nname = \"confident\"\nmost_trials = 5\nprecision = 0.0001";
    let mut failed = false;
    let (trials, _) = run(&spec(TWO, text), |one| {
        if one.key() != r#"{"a":0,"b":0}"# {
            return 100.0 + random.f64();
        }
        failed = !failed;
        if failed { f64::NAN } else { 1.0 }
    });
    assert!(
        trials.len() > 300,
        "{} trials, as if all were told apart",
        trials.len()
    );
}

#[test]
fn a_knee_is_found_where_a_value_in_between_fails() {
    let text = "[policy]\nname = \"knee\"\nparameter = \"n\"\n[trials]\nper_configuration = 2";
    let spec = spec(
        "[parameters.n]\ntype = \"integer\"\nmin = 1\nmax = 200",
        text,
    );
    let (trials, conclusions) = run(&spec, |one| match number(one, "n") {
        96.0 => f64::NAN,
        n => 1000.0 + (n - 120.0).abs(),
    });
    assert!(trials.iter().any(Trial::is_failed), "it was in between");
    assert!(
        conclusions[0].starts_with("n=120 is the best value"),
        "{conclusions:?}"
    );
    let (_, conclusions) = run(&spec, |one| match number(one, "n") {
        151.0.. => f64::NAN,
        n => 1000.0 - n,
    });
    assert!(conclusions[1].starts_with("beyond n="), "{conclusions:?}");
    assert!(conclusions[1].contains(" it fails: n="), "{conclusions:?}");
}

#[test]
fn a_knee_is_found_without_trying_every_value() {
    let line = "[parameters.n]\ntype = \"integer\"\nmin = 1\nmax = 200";
    let knee = |at: f64| {
        let spec = spec(
            line,
            "[policy]\nname = \"knee\"\nparameter = \"n\"\n[trials]\nper_configuration = 2",
        );
        // Falls until `at`, and rises slowly from there.
        let cost = |one: &Configuration| {
            let n = number(one, "n");
            if n <= at {
                1000.0 * at / n
            } else {
                1000.0 + 3.0 * (n - at)
            }
        };
        run(&spec, cost)
    };
    for at in [1.0, 3.0, 17.0, 120.0, 200.0] {
        let (trials, conclusions) = knee(at);
        assert!(
            keys(&trials).len() <= 40,
            "{} of 200 values",
            keys(&trials).len()
        );
        assert!(
            conclusions[0].starts_with(&format!("n={at} is the best value")),
            "{conclusions:?}"
        );
    }
    let (_, conclusions) = knee(120.0);
    assert!(
        conclusions[0].contains("the knee is at n=115"),
        "{conclusions:?}"
    );
    assert!(
        conclusions[1].starts_with("beyond n=120 it becomes worse: n=200 by 24.0 %"),
        "{conclusions:?}"
    );
}

#[test]
fn a_knee_tells_small_numbers_as_tables_do() {
    let rest = "[policy]\nname = \"knee\"\nparameter = \"n\"\n[trials]\nper_configuration = 2";
    let parameters = "[parameters.n]\ntype = \"integer\"\nmin = 1\nmax = 20";
    for (unit, expected) in [(1e-5, "time 0.00002000"), (1e-12, "time 2.000e-12")] {
        let (_, conclusions) = run(&spec(parameters, rest), |one| {
            unit * (2.0 + (number(one, "n") - 7.0).abs())
        });
        assert!(conclusions[0].ends_with(expected), "{conclusions:?}");
    }
}

#[test]
fn beyond_a_best_value_of_0_what_is_lost_is_no_share() {
    let rest = "[policy]\nname = \"knee\"\nparameter = \"n\"\n[trials]\nper_configuration = 2";
    let parameters = "[parameters.n]\ntype = \"integer\"\nmin = 1\nmax = 20";
    let (_, conclusions) = run(&spec(parameters, rest), |one| {
        (number(one, "n") - 7.0).abs() / 4.0
    });
    let expected = "beyond n=7 it becomes worse: n=20 by 3.250 (95 % interval 3.250 to 3.250)";
    assert_eq!(conclusions[1], expected);
}

/// A policy in Python: the text of its file, and what follows `[policy]`.
fn in_python(text: &str, parameters: &str, rest: &str) -> (tempfile::TempDir, Spec) {
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::write(folder.path().join("mine.py"), text).expect("written");
    let mut spec = spec(
        parameters,
        &format!("[policy]\nname = \"python\"\nfile = \"mine.py\"\n{rest}"),
    );
    spec.folder = folder.path().to_owned();
    (folder, spec)
}

/// The policy that docs/guide/explore.md shows.
fn policy_of_the_guide() -> String {
    let guide = std::fs::read_to_string(concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../docs/guide/explore.md"
    ));
    let guide = guide.expect("the guide");
    let begin = guide.find("```python\n").expect("a policy in Python") + "```python\n".len();
    let end = guide[begin..].find("```").expect("its end");
    guide[begin..begin + end].to_owned()
}

#[test]
fn the_policy_that_the_guide_shows_finds_the_minimum() {
    let text = policy_of_the_guide();
    assert!(text.lines().count() <= 40, "{} lines", text.lines().count());
    let (_folder, spec) = in_python(&text, TWO, "");
    let cost = |one: &Configuration| {
        (number(one, "a") - 6.0).powi(2) + (number(one, "b") - 2.0).powi(2) + 1.0
    };
    let (trials, conclusions) = run(&spec, cost);
    assert!(
        keys(&trials).len() < 60,
        "{} of 100 configurations",
        keys(&trials).len()
    );
    assert!(
        keys(&trials).contains(r#"{"a":6,"b":2}"#),
        "{conclusions:?}"
    );
}

#[test]
fn the_policy_that_the_guide_shows_climbs_over_parameters_with_conditions() {
    let parameters = "[parameters.mode]\ntype = \"category\"\nvalues = [\"slow\", \"fast\"]\n\
        [parameters.a]\ntype = \"integer\"\nmin = 0\nmax = 9\n\
        [parameters.depth]\ntype = \"integer\"\nvalues = [1, 2, 3]\nwhen = { mode = \"fast\" }";
    let (_folder, spec) = in_python(&policy_of_the_guide(), parameters, "");
    let cost = |one: &Configuration| {
        let depth = one.get("depth").and_then(Value::number);
        (number(one, "a") - 6.0).powi(2) + depth.map_or(5.0, |depth| 4.0 - depth)
    };
    let (trials, conclusions) = run(&spec, cost);
    let best = r#"{"a":6,"depth":3,"mode":"fast"}"#;
    assert!(keys(&trials).contains(best), "{conclusions:?}");
}

#[test]
fn mistakes_of_a_policy_in_python_are_told() {
    let check = |body: &str, expected: &str| {
        let text = format!(
            "from slowpath_policy import Policy\nclass Mine(Policy):\n    def next(self):\n        {body}\n"
        );
        let (_folder, spec) = in_python(&text, TWO, "");
        let mut policy = policy(&spec).unwrap_or_else(|error| panic!("{error}"));
        let error = policy
            .next(Seen {
                spec: &spec,
                trials: &[],
                batches: 0,
            })
            .expect_err(body);
        assert!(error.to_string().contains(expected), "{error}");
    };
    check(
        "return {'a': 1}",
        "the policy wants `a=1`, but `b` has no value",
    );
    check("return {'a': 1, 'b': 77}", "`b` cannot be 77");
    check(
        "return 1 / 0",
        "failed: ZeroDivisionError: division by zero",
    );
    check("raise SystemExit(3)", "the policy in Python has ended");
    check("return {'a': 1.5, 'b': 2}", "`a` cannot be 1.5");
    check(
        "return {'a': float('nan'), 'b': 2}",
        "the policy: `next` gives nan as `a`, which is no value of a parameter",
    );
    check(
        "return 'ab'",
        "the policy: `next` gives 'ab', which is no configuration\n  hint: `next` gives a configuration, a list",
    );
    check(
        "return ['ab']",
        "`next` gives 'ab', which is no configuration",
    );
    check("return 7", "`next` gives 7, which is no configuration");
    let pair = "`next` wants 0 trials of a configuration\n  hint: (configuration, n), where n is 1";
    check("return ({'a': 1, 'b': 2}, 0)", pair);
    check("return ({'a': 1, 'b': 2}, 1.5)", "`next` wants 1.5 trials");
    check("return ('ab', 2)", "a pair of `next` has ('ab', 2), which");
    check(
        "return {'a': 2**70, 'b': 2}",
        "as `a`, which has more than 64 bits",
    );
    let (_folder, spec) = in_python("x = 1\n", TWO, "");
    let error = policy(&spec)
        .err()
        .map(|error| error.to_string())
        .unwrap_or_default();
    assert!(
        error.contains("has no class that extends slowpath_policy.Policy"),
        "{error}"
    );
}

#[test]
fn a_mistake_is_told_also_where_a_constraint_does_not_hold() {
    let text = "from slowpath_policy import Policy\nclass Mine(Policy):\n    def next(self):\n        return {'a': 9}\n";
    let constrained = format!("constraints = [\"a + b < 9\"]\n{TWO}");
    let (_folder, spec) = in_python(text, &constrained, "");
    let mut policy = policy(&spec).unwrap_or_else(|error| panic!("{error}"));
    let seen = Seen {
        spec: &spec,
        trials: &[],
        batches: 0,
    };
    let error = policy.next(seen).expect_err("`b` is missing");
    assert!(error.0.contains("`b` has no value"), "{error}");
}

/// What a policy in Python, whose methods these are, wants first.
fn first_wanted(methods: &str, parameters: &str) -> Vec<String> {
    let text =
        format!("import os\nfrom slowpath_policy import Policy\nclass Mine(Policy):\n{methods}");
    let (_folder, spec) = in_python(&text, parameters, "");
    let mut policy = policy(&spec).unwrap_or_else(|error| panic!("{error}"));
    let seen = Seen {
        spec: &spec,
        trials: &[],
        batches: 0,
    };
    let wanted = policy.next(seen).unwrap_or_else(|error| panic!("{error}"));
    wanted.iter().map(|one| one.configuration.key()).collect()
}

#[test]
fn values_of_python_are_those_of_the_space() {
    let floats = "[parameters.f]\ntype = \"float\"\nmin = 0.05\nmax = 0.95\nsteps = 28";
    let wanted = first_wanted(
        "    def next(self):\n        return [{'f': value} for value in self.values(self.parameters[0])]\n",
        floats,
    );
    let grid = spec(floats, "").space.grid().expect("a grid");
    let grid: Vec<String> = grid.iter().map(Configuration::key).collect();
    assert_eq!(wanted, grid);
    let wide = "[parameters.a]\ntype = \"integer\"\nmin = 0\nmax = 9000000000";
    let without = "    def next(self):\n        return {'a': 1 if self.values(self.parameters[0]) is None else 2}\n";
    assert_eq!(first_wanted(without, wide), [r#"{"a":1}"#]);
    let both = "    def next(self):\n        return [{'f': 0, 'a': 7.0}, {'a': 7, 'f': 0.0}]\n";
    let parameters = format!("{}\n{}", floats.replace("0.05", "0.0"), wide);
    assert_eq!(first_wanted(both, &parameters), [r#"{"a":7,"f":0.0}"#; 2]);
}

#[test]
fn one_sentence_is_a_conclusion_and_what_is_no_time_is_told() {
    let text = "from slowpath_policy import Policy\nclass Mine(Policy):\n    def next(self):\n        return None\n    def conclusions(self):\n        return 'all is well'\n    def max_duration(self, configuration):\n        return configuration['a'] or 'soon'\n";
    let (_folder, spec) = in_python(text, TWO, "");
    let mut policy = policy(&spec).unwrap_or_else(|error| panic!("{error}"));
    let (_, conclusions) = simulate(&spec, &mut *policy, |_| 1.0);
    assert_eq!(conclusions, ["all is well"]);
    let mut limit = |key: &str| policy.max_duration(&Configuration::from_key(key).expect("JSON"));
    let given = limit(r#"{"a":2,"b":1}"#).expect("seconds");
    assert_eq!(given, Some(std::time::Duration::from_secs(2)));
    let error = limit(r#"{"a":0,"b":1}"#).expect_err("a word").to_string();
    assert!(
        error.contains("gives \"soon\" as `max_duration`"),
        "{error}"
    );
}

#[test]
fn what_programs_of_a_policy_print_is_no_answer() {
    let talk = "    def next(self):\n        os.system('echo talk; cat')\n        os.write(1, b'talk')\n        return {'a': 1, 'b': 1}\n";
    assert_eq!(first_wanted(talk, TWO), [r#"{"a":1,"b":1}"#]);
}

#[test]
fn what_was_drawn_before_is_not_drawn_again_after_a_resume() {
    let text = "from slowpath_policy import Policy\nclass Mine(Policy):\n    def next(self):\n        return {'a': self.random.randrange(10), 'b': self.random.randrange(10)}\n";
    let (_folder, spec) = in_python(text, TWO, "");
    let drawn = |trials: &[Trial]| {
        let mut policy = policy(&spec).unwrap_or_else(|error| panic!("{error}"));
        let mut next = |batches| {
            let seen = Seen {
                spec: &spec,
                trials,
                batches,
            };
            policy.next(seen).expect("a configuration").remove(0)
        };
        (0..6).map(|batch| next(batch).configuration).collect()
    };
    let first: Vec<Configuration> = drawn(&[]);
    assert_eq!(first, drawn(&[]), "the seed decides");
    let trials = first.iter().zip(0..).map(|(configuration, batch)| Trial {
        id: i64::from(batch) + 1,
        batch,
        measures: BTreeMap::from([("time".to_owned(), 1.0)]),
        configuration: configuration.clone(),
        outcome: Outcome::Good,
        notes: String::new(),
    });
    assert_ne!(first, drawn(&trials.collect::<Vec<_>>()));
}

/// What Optuna chooses by, where a Python has it: that of tests (`scripts/python.sh`), else any.
fn optuna(
    parameters: &str,
    seed: u64,
    configurations: usize,
    options: &str,
) -> Option<(Spec, Box<dyn Policy>)> {
    let of_tests = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../.cache/python/bin/python");
    let interpreter = match of_tests.exists() {
        true => of_tests.display().to_string(),
        false => "python3".to_owned(),
    };
    let rest = format!(
        "[trials]\nper_configuration = 1\nseed = {seed}\n[policy]\nname = \"optuna\"\ninterpreter = \"{interpreter}\"\nconfigurations = {configurations}\n{options}"
    );
    let spec = spec(parameters, &rest);
    match policy(&spec) {
        Ok(policy) => Some((spec, policy)),
        Err(error) => {
            use std::io::Write as _;
            let _ = writeln!(io::stderr(), "skipped an adaptive policy: {error}");
            None
        }
    }
}

#[test]
fn samplers_that_cannot_work_are_told_before_anything_runs() {
    let of_tests = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../.cache/python/bin/python");
    let interpreter = match of_tests.exists() {
        true => of_tests.display().to_string(),
        false => "python3".to_owned(),
    };
    let told = |parameters: &str, sampler: &str| {
        let rest = format!(
            "[policy]\nname = \"optuna\"\ninterpreter = \"{interpreter}\"\noptions = {{ sampler = \"{sampler}\" }}\n"
        );
        let told = policy(&spec(parameters, &rest)).map(drop);
        told.err().map_or(String::new(), |error| error.0)
    };
    let numbers = "[parameters.a]\ntype = \"integer\"\nvalues = [1, 2, 8]\n";
    let missing = told(numbers, "tpe");
    if !missing.is_empty() {
        use std::io::Write as _;
        let words = "the policy: this Python has no optuna\n  hint: `pip install optuna`";
        assert!(missing.starts_with(words) || missing.contains("cannot be started"));
        let _ = writeln!(io::stderr(), "skipped samplers of Optuna: {missing}");
        return;
    }
    // Which of these packages there are differs from machine to machine.
    let gp = told(numbers, "gp");
    let needs = "the policy: the sampler `gp` needs torch and scipy: No module named";
    assert!(gp.is_empty() || gp.starts_with(needs), "{gp}");
    let cma_es = told(numbers, "cma-es");
    let needs = "the policy: the sampler `cma-es` needs cmaes: No module named";
    assert!(cma_es.is_empty() || cma_es.starts_with(needs), "{cma_es}");
    if cma_es.is_empty() {
        let words = "[parameters.m]\ntype = \"category\"\nvalues = [\"x\", \"y\"]\n";
        let told_words = told(&format!("{numbers}{words}"), "cma-es");
        assert!(
            told_words.contains("takes numbers alone, and `m` has none"),
            "{told_words}"
        );
        let at_times = "[parameters.b]\ntype = \"integer\"\nmin = 1\nmax = 9\nwhen = { a = 8 }\n";
        let told_times = told(&format!("{numbers}{at_times}"), "cma-es");
        assert!(told_times.contains("`b` has a `when`"), "{told_times}");
    }
    let none = told(numbers, "no-such");
    assert!(
        none.starts_with("the policy: there is no sampler `no-such`\n  hint: "),
        "{none}"
    );
}

#[test]
fn optuna_goes_on_as_if_it_had_not_stopped() {
    let parameters = "[parameters.x]\ntype = \"float\"\nmin = -5\nmax = 5\n[parameters.y]\ntype = \"float\"\nmin = -5\nmax = 5";
    let cost = |one: &Configuration| {
        let (x, y) = (number(one, "x") - 1.3, number(one, "y") + 2.0);
        x * x + 3.0 * y * y + x * y
    };
    for sampler in ["tpe", "cma-es"] {
        let options = format!("options = {{ sampler = \"{sampler}\" }}");
        // More than NumPy takes as a seed.
        let seed = (1 << 40) + 1;
        let new = || optuna(parameters, seed, 60, &options);
        let (Some((spec, mut one)), Some((_, mut other))) = (new(), new()) else {
            return;
        };
        let (whole, _) = simulate(&spec, &mut *one, cost);
        assert_eq!(whole.len(), 60);
        let (again, _) = go_on(&spec, &mut *other, whole[..31].to_vec(), cost);
        let tried = |trials: &[Trial]| -> Vec<String> {
            let trials = trials.iter();
            trials
                .map(|trial| trial.configuration.to_string())
                .collect()
        };
        assert_eq!(tried(&again), tried(&whole), "{sampler}");
        let found = whole.iter().map(|trial| cost(&trial.configuration));
        let found = found.fold(f64::INFINITY, f64::min);
        assert!(found < 0.5, "{sampler}: {found}");
    }
}

#[test]
fn optuna_stops_what_is_hopeless() {
    let parameters = "[parameters.x]\ntype = \"float\"\nmin = 0\nmax = 1";
    let Some((spec, mut policy)) = optuna(parameters, 1, 30, "options = { prune = true }") else {
        return;
    };
    let mut stopped = Vec::new();
    let mut trials: Vec<Trial> = Vec::new();
    loop {
        let seen = Seen {
            spec: &spec,
            trials: &trials,
            batches: trials.len() as u32,
        };
        let wanted = policy.next(seen).expect("an answer");
        let Some(Wanted { configuration, .. }) = wanted.into_iter().next() else {
            break;
        };
        let x = number(&configuration, "x");
        let is_stopped = (0..10).any(|_| {
            policy
                .stop_run(&configuration, "time", x)
                .expect("an answer")
        });
        stopped.push((x, is_stopped));
        trials.push(Trial {
            id: trials.len() as i64 + 1,
            batch: trials.len() as u32,
            measures: BTreeMap::from([("time".to_owned(), x)]),
            configuration,
            outcome: if is_stopped {
                Outcome::Stopped
            } else {
                Outcome::Good
            },
            notes: String::new(),
        });
    }
    let (hopeless, others): (Vec<_>, Vec<_>) =
        stopped.into_iter().partition(|(_, is_stopped)| *is_stopped);
    assert!(!hopeless.is_empty());
    let best = others.iter().map(|(x, _)| *x).fold(f64::INFINITY, f64::min);
    assert!(
        hopeless.iter().all(|(x, _)| *x > best),
        "{hopeless:?}, {others:?}"
    );
}

#[test]
fn optuna_comes_near_the_best_of_the_grid_in_a_quarter_of_its_trials() {
    let parameters = "[parameters.threads]\ntype = \"integer\"\nmin = 1\nmax = 8\n\
                      [parameters.cache]\ntype = \"integer\"\nvalues = [2, 4, 8, 16, 32, 64, 128]\n\
                      [parameters.page]\ntype = \"category\"\nvalues = [\"1k\", \"4k\", \"64k\"]";
    // Best at 3 threads, with a large cache and pages of 4 KiB; what is beyond 3 threads waits for the others.
    let cost = |one: &Configuration| {
        let threads = number(one, "threads");
        let crowd = if threads <= 3.0 {
            3.0 / threads
        } else {
            1.0 + 0.25 * (threads - 3.0)
        };
        let page = match one.get("page") {
            Some(Value::Text(page)) if page == "4k" => 1.0,
            Some(Value::Text(page)) if page == "1k" => 1.2,
            _ => 1.35,
        };
        100.0 * crowd * page * (1.0 + 0.5 / number(one, "cache").log2())
    };
    let all = spec(parameters, "");
    let best = all
        .space
        .grid()
        .expect("a grid")
        .iter()
        .map(cost)
        .fold(f64::INFINITY, f64::min);
    let grid_trials = 8 * 7 * 3;
    let mut far = Vec::new();
    for seed in 0..10 {
        let Some((spec, mut policy)) = optuna(parameters, seed, grid_trials / 4, "") else {
            return;
        };
        let mut random = fastrand::Rng::with_seed(seed);
        let (trials, _) = simulate(&spec, &mut *policy, |one| {
            cost(one) * (0.98 + 0.04 * random.f64())
        });
        assert!(trials.len() <= grid_trials / 4, "{} trials", trials.len());
        let measured = |trial: &&Trial| trial.measures["time"];
        let chosen = trials
            .iter()
            .min_by(|one, two| measured(one).total_cmp(&measured(two)))
            .expect("a trial");
        let worse = cost(&chosen.configuration) / best - 1.0;
        if worse > 0.03 {
            far.push((seed, worse, chosen.configuration.to_string()));
        }
    }
    assert!(far.is_empty(), "more than 3 % from the best: {far:?}");
}

#[test]
fn what_halving_threw_out_is_not_the_best_where_the_machine_becomes_slower() {
    let spec = spec(
        "[parameters.a]\ntype = \"integer\"\nmin = 0\nmax = 15",
        "[policy]\nname = \"halving\"",
    );
    let mut time = 0.0;
    let (mut trials, _) = run(&spec, |one| {
        time += 2.0;
        1000.0 + 10.0 * number(one, "a") + time
    });
    let ranked = |trials: &[Trial]| -> Vec<f64> {
        let rows = Results::new(&spec, trials).configurations.into_iter();
        rows.map(|row| number(&row.configuration, "a")).collect()
    };
    assert_eq!(ranked(&trials), (0..16).map(f64::from).collect::<Vec<_>>());
    let results = Results::new(&spec, &trials);
    assert!(results.is_by_rounds);
    // By what ran in the same rounds: two trials of 3 in the second, which took 40 more, and one in the first.
    let worse = &results.configurations[3];
    let difference = worse.difference.expect("several of both");
    assert!(
        difference.estimate > 0.0 && difference.low < 50.0,
        "{difference:?}"
    );
    let share = results.importance.expect("known").parameters[0].1;
    assert!(share.is_some_and(|share| share > 0.9), "{share:?}");
    // A last round that was cut short: those that it was to have are still before what was thrown out.
    let last = trials.last().expect("many").batch;
    trials.retain(|trial| trial.batch < last || number(&trial.configuration, "a") == 1.0);
    assert!(matches!(
        ranked(&trials)[..3],
        [0.0, 1.0, 2.0] | [1.0, 0.0, 2.0]
    ));
}
