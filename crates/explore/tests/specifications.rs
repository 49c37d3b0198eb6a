//! What is wrong with a specification is told with its line, and what may help.

use std::io;
use std::path::Path;

use slowpath_explore::{Observed, Spec, measure};

const GOOD: &str = r#"
constraints = ["threads * 2 <= 12", "mode != 'slow' || threads < 4"]

[parameters.threads]
type = "integer"
min = 1
max = 8

[parameters.mode]
type = "category"
values = ["fast", "slow"]

[parameters.depth]
type = "integer"
values = [1, 2, 4]
when = { mode = "fast" }

[[files]]
path = "{{scratch}}/server.conf"
template = "server.conf.in"

[system]
command = ["server", "--threads", "{{threads}}"]
ready = { port = 7000 }

[workload]
command = "bench --depth {{depth * 2}}"
timeout = "90s"

[metrics.speed]
regex = '([0-9.]+) requests'

[[objectives]]
maximise = "speed"
"#;

fn parse(text: &str) -> Result<Spec, String> {
    let load = |path: &Path| match path.ends_with("server.conf.in") {
        true => Ok("threads {{threads}};\n".to_owned()),
        false => Err(io::ErrorKind::NotFound.into()),
    };
    let parsed = Spec::parse(text, "a.toml", "a", Path::new("."), &load);
    parsed.map_err(|error| error.to_string())
}

/// The good specification, with `from` replaced by `to`, has this error.
#[track_caller]
fn check(from: &str, to: &str, expected: &str) {
    assert!(
        GOOD.contains(from),
        "{from:?} is no part of the specification"
    );
    let error = parse(&GOOD.replacen(from, to, 1)).expect_err(to);
    assert!(
        error.starts_with(expected),
        "{to:?} gives:\n{error}\ninstead of:\n{expected}"
    );
}

#[test]
fn a_good_specification_is_read_with_its_defaults() {
    let spec = parse(GOOD).expect("a specification");
    assert_eq!(spec.name, "a");
    let names: Vec<&str> = spec
        .space
        .parameters
        .iter()
        .map(|one| one.name.as_str())
        .collect();
    assert_eq!(names, ["threads", "mode", "depth"], "as the file has them");
    assert_eq!((spec.trials.per_configuration, spec.trials.seed), (3, 1));
    // 6 threads with 3 depths in mode fast, 3 in mode slow.
    assert_eq!(spec.space.grid().expect("a grid").len(), 6 * 3 + 3);
}

#[test]
fn what_is_no_toml_or_has_unknown_keys_is_told_with_its_line() {
    check("min = 1", "min = ", "a.toml:6: ");
    check(
        "min = 1",
        "minimum = 1",
        "a.toml:6: unknown field `minimum`, expected one of `type`",
    );
    check(
        "[workload]",
        "[worklaod]",
        "a.toml:26: unknown field `worklaod`",
    );
    check(
        "timeout = \"90s\"",
        "timeout = 90",
        "a.toml:28: invalid type: integer `90`, expected a string",
    );
    check(
        "timeout = \"90s\"",
        "timeout = \"90\"",
        "a.toml:28: `90` is no length of time\n  hint: \"500ms\"",
    );
    check(
        "min = 1",
        "min = 1\nmin = 2",
        "a.toml:7: `min` stands there twice\n  hint: TOML",
    );
    check(
        "\"integer\"",
        "\"number\"",
        "a.toml:5: unknown variant `number`, expected one of `integer`",
    );
}

#[test]
fn what_is_wrong_with_parameters_is_told() {
    check(
        "[parameters.threads]",
        "[parameters.io-threads]",
        "a.toml:4: `io-threads` cannot be the name of a parameter\n  hint:",
    );
    check(
        "max = 8",
        "max = 0",
        "a.toml:4: the range of `threads` is empty",
    );
    check(
        "max = 8",
        "max = 8.5",
        "a.toml:4: the bounds of `threads` are no whole numbers",
    );
    check(
        "max = 8",
        "max = 99999999999999999999",
        "a.toml:7: the number 99999999999999999999 has more than 64 bits\n  hint: a float",
    );
    check(
        "values = [1, 2, 4]",
        "values = [1, 18446744073709551615]",
        "a.toml:13: the value 18446744073709552000 does not fit the type of `depth`\n  hint: whole numbers have",
    );
    check(
        "max = 8",
        "",
        "a.toml:4: `threads` has neither `values` nor both",
    );
    check(
        "values = [1, 2, 4]",
        "values = [1, \"2\"]",
        "a.toml:13: the value 2 does not fit the type of `depth`",
    );
    check(
        "values = [1, 2, 4]",
        "values = [1, 1]",
        "a.toml:13: `depth` has the value 1 twice",
    );
    check(
        "values = [1, 2, 4]",
        "values = [1, 2, 4]\ndefault = 3",
        "a.toml:13: the default of `depth`, 3, is none of its values",
    );
    check(
        "mode = \"fast\" }",
        "size = \"fast\" }",
        "a.toml:13: `depth` depends on `size`, which is no parameter above it",
    );
    check(
        "mode = \"fast\" }",
        "mode = \"quick\" }",
        "a.toml:13: `depth` depends on `mode` being quick, which it cannot be",
    );
    check(
        "threads * 2",
        "thread * 2",
        "a.toml:2: there is no parameter `thread`",
    );
    check(
        "mode != 'slow'",
        "mode > 'slow'",
        "a.toml:2: the constraint cannot hold: `mode` is no number\n  hint:",
    );
    check(
        "threads * 2 <= 12",
        "threads * 2",
        "a.toml:2: the constraint cannot hold: it is neither true nor false, whatever",
    );
    check(
        "mode != 'slow' || threads < 4",
        "mode != 'slow' || threads",
        "a.toml:2: the constraint cannot hold: `threads` is neither true nor false\n",
    );
    check(
        "threads * 2",
        "threads * * 2",
        "a.toml:2: the constraint cannot be read: `*` stands where a value is expected",
    );
}

#[test]
fn constraints_that_mean_nothing_are_told() {
    check(
        "mode != 'slow'",
        "mode != 'slwo'",
        "a.toml:2: the constraint compares `mode` with 'slwo', which it never is\n  hint: its values are: fast, slow",
    );
    check(
        "mode != 'slow'",
        "!('fst' == mode)",
        "a.toml:2: the constraint compares `mode` with 'fst', which it never is",
    );
    for operator in ["==", "!="] {
        check(
            "mode != 'slow'",
            &format!("mode {operator} 3"),
            "a.toml:2: the constraint cannot hold: `mode` cannot be compared with `3`: one is a word, the other none\n",
        );
        check(
            "threads * 2 <= 12",
            &format!("threads {operator} '2'"),
            "a.toml:2: the constraint cannot hold: `threads` cannot be compared with `2`: one is a word, the other none\n",
        );
    }
    let divided =
        "a.toml:2: the constraint has no value with threads=4: it divides by 0\n  hint: guard it";
    check("threads * 2 <= 12", "12 / (threads - 4) < 9", divided);
    check(
        "threads * 2 <= 12",
        "1 / 0 < 2",
        "a.toml:2: the constraint never has a value: it divides by 0",
    );
    let wide = GOOD.replace("max = 8", "max = 1000000\n");
    let error = parse(&wide.replace("threads * 2", "8 / (threads - 1)")).expect_err("0");
    assert!(error.contains("with threads=1: it divides by 0"), "{error}");
    // Guarded, by itself or by another one.
    for good in [
        "threads != 4 && 12 / (threads - 4) < 9\", \"threads > 0",
        "12 / (threads - 4) < 9\", \"threads != 4",
    ] {
        let spec = parse(&GOOD.replacen("threads * 2 <= 12", good, 1));
        assert!(spec.is_ok(), "{spec:?}");
    }
}

#[test]
fn what_is_wrong_with_commands_and_files_is_told() {
    check(
        "{{depth * 2}}",
        "{{depht}}",
        "a.toml:27: there is no parameter `depht`\n  hint: there are: threads, mode, depth, scratch",
    );
    check(
        "{{depth * 2}}",
        "{{depth",
        "a.toml:27: a `{{` is not closed by `}}`",
    );
    check(
        "[\"server\", \"--threads\", \"{{threads}}\"]",
        "[]",
        "a.toml:23: the command is empty",
    );
    check(
        "{ port = 7000 }",
        "{}",
        "a.toml:24: `ready` needs one way to tell\n  hint: { port = 7000 }",
    );
    for port in ["0", "65536", "\"127.0.0.1:70000\"", "\"redis\"", "-1"] {
        let what = format!(
            "a.toml:24: `{}` is no port\n  hint: a number",
            port.trim_matches('"')
        );
        check("{ port = 7000 }", &format!("{{ port = {port} }}"), &what);
    }
    for port in ["65535", "\"db:7000\"", "\"{{7000 + threads}}\""] {
        let spec = parse(&GOOD.replacen("port = 7000", &format!("port = {port}"), 1));
        assert!(spec.is_ok(), "{spec:?}");
    }
    check(
        "[workload]",
        "[load]\ncpu = 1025\n[workload]",
        "a.toml:27: a load has 1024 threads of a kind at most",
    );
    check(
        "\"server.conf.in\"",
        "\"other.in\"",
        "a.toml:20: the template ./other.in cannot be read",
    );
    check(
        "template = \"server.conf.in\"",
        "content = \"{{x}}\"",
        "a.toml:20: in `content`: there is no parameter `x`",
    );
    check(
        "template = \"server.conf.in\"",
        "",
        "a.toml:19: a file needs either `template` or `content`",
    );
}

#[test]
fn what_is_wrong_with_metrics_objectives_and_policies_is_told() {
    check(
        "'([0-9.]+) requests'",
        "'[0-9.]+ requests'",
        "a.toml:30: the regular expression of `speed` needs one group\n  hint:",
    );
    check(
        "'([0-9.]+) requests'",
        "'('",
        "a.toml:30: the regular expression cannot be used",
    );
    check(
        "regex = '([0-9.]+) requests'",
        "",
        "a.toml:30: `speed` needs one place that it comes from",
    );
    check(
        "regex = '([0-9.]+) requests'",
        "json = \"speed\"",
        "a.toml:30: `speed` is no JSON pointer",
    );
    check(
        "maximise = \"speed\"",
        "maximise = \"sped\"",
        "a.toml:33: there is no metric `sped`\n  hint: there are: speed",
    );
    check(
        "maximise = \"speed\"",
        "",
        "a.toml:33: an objective either maximises or minimises",
    );
    check(
        "[[objectives]]\nmaximise = \"speed\"",
        "",
        "a.toml: no objective says what is wanted",
    );
    let policy = |text: &str| format!("maximise = \"speed\"\n[policy]\n{text}");
    let check = |text: &str, expected| check("maximise = \"speed\"", &policy(text), expected);
    check(
        "name = \"gird\"",
        "a.toml:36: unknown variant `gird`, expected one of `grid`",
    );
    check(
        "name = \"grid\"\neta = 3",
        "a.toml:35: `eta` is no option of this policy\n  hint: it has no options",
    );
    check(
        "name = \"knee\"",
        "a.toml:35: a knee needs the `parameter` to look along",
    );
    check(
        "name = \"knee\"\nparameter = \"depth\"",
        "a.toml:35: `depth` is no whole number with `min` and `max`",
    );
    check(
        "name = \"python\"",
        "a.toml:35: a policy in Python needs a `file`",
    );
}

#[test]
fn metrics_of_probes_ask_for_what_their_records_have() {
    let check = |metric: &str, expected| check("regex = '([0-9.]+) requests'", metric, expected);
    check(
        "probe = \"query\"",
        "a.toml:30: a probe needs its `type`\n  hint: a type is one of CNT, LAT, TPT, LLC,",
    );
    check(
        "probe = \"query\"\ntype = \"LAT\"\nvalue = \"executions\"",
        "a.toml:30: a probe LAT has no such value\n  hint: it has: duration",
    );
    check(
        "probe = 70000\ntype = \"LAT\"",
        "a.toml:30: `70000` is no number of a probe",
    );
    check(
        "probe = 7\ntype = \"CNT\"\ntake = \"p99\"",
        "a.toml:30: records of CNT tell how much there was only in all",
    );
    check(
        "probe = 7\ntype = \"LAT\"\ntake = \"p100\"",
        "a.toml:30: `p100` is nothing that can be taken from records of a probe",
    );
    check(
        "probe = 7\ntype = \"LAT\"\nevery = 0",
        "a.toml:30: `every` is 1 or more",
    );
    check(
        "json = \"/a\"\ntype = \"LAT\"",
        "a.toml:30: `type`, `value` and `every` are of a `probe`",
    );
    check(
        "regex = '([0-9.]+)'\ntake = \"most\"",
        "a.toml:30: `take` is none of what can be taken\n  hint: first, last,",
    );
    check(
        "probe = 7\ntype = \"LAT\"\n[metrics.other]\nprobe = 7\ntype = \"LAT\"\nevery = 2",
        "a.toml:30: `speed` and `other` want one probe switched in two ways",
    );
}

#[test]
fn a_knee_along_a_parameter_that_is_not_there_by_default_is_refused() {
    let text = |default: &str| {
        format!(
            "[parameters.m]\ntype = \"category\"\nvalues = [\"x\", \"y\"]\ndefault = \"{default}\"\n\
             [parameters.a]\ntype = \"integer\"\nmin = 1\nmax = 8\nwhen = {{ m = \"y\" }}\n\
             [policy]\nname = \"knee\"\nparameter = \"a\"\n[workload]\ncommand = \"true\"\n\
             [metrics.time]\nmeasure = \"wall\"\n[[objectives]]\nminimise = \"time\"\n"
        )
    };
    let load = |_: &Path| Err(io::ErrorKind::NotFound.into());
    let parse = |text: &str| Spec::parse(text, "a.toml", "a", Path::new("."), &load);
    assert!(parse(&text("y")).is_ok());
    let error = parse(&text("x")).expect_err("`a` has no value").to_string();
    let expected = "`a` has no value beside the defaults of the others\n  hint: give the parameters in its `when`";
    assert!(error.contains(expected), "{error}");
}

#[test]
fn the_postgresql_example_measures_both_scripts_together() {
    let path =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/explore-postgres/postgres.toml");
    let (spec, _) = Spec::read(&path).unwrap_or_else(|error| panic!("{error}"));
    // As pgbench prints it where it is given two scripts.
    let output = "transaction type: multiple scripts\n\
        number of transactions actually processed: 2000/2000\n\
        latency average = 12.500 ms\n\
        initial connection time = 20.000 ms\n\
        tps = 640.000000 (without initial connection time)\n\
        SQL script 1: write.sql\n \
        - weight: 39 (targets 97.5% of total)\n \
        - 1951 transactions (97.5% of total, tps = 624.320000)\n \
        - latency average = 11.700 ms\n\
        SQL script 2: report.sql\n \
        - weight: 1 (targets 2.5% of total)\n \
        - 49 transactions (2.5% of total, tps = 15.680000)\n \
        - latency average = 45.100 ms\n";
    let observed = Observed {
        output: output.to_owned(),
        ..Observed::default()
    };
    let found = measure(&spec.metrics, &observed).expect("all metrics");
    assert_eq!((found["throughput"], found["latency"]), (640.0, 12.5));
}
