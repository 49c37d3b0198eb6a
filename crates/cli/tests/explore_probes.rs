//! `slowpath explore` with metrics of probes inside a real program in C, linked with the agent: what is counted, from when to when,
//! whatever becomes of the processes.
//!
//! How often the program executes its probes is known, so that totals have to be exact. Skips where there is no C compiler.

mod support;

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::Value;
use support::probed::program;

struct Left {
    status: Option<i32>,
    stdout: String,
    stderr: String,
}

/// Explores a specification in which PROGRAM stands for the program; gives the results, too.
fn explore(specification: &str, program: &Path) -> (Left, Value, tempfile::TempDir) {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("s.toml");
    let text = specification.replace("PROGRAM", &program.display().to_string());
    fs::write(&path, text).expect("written");
    let run = |arguments: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_slowpath"));
        command
            .arg("explore")
            .arg(&path)
            .arg("-o")
            .arg(folder.path().join("x"));
        command
            .env_remove("SLOWPATH_PROBES")
            .env_remove("SLOWPATH_PROBES_DIR");
        let output = command
            .args(arguments)
            .stdin(Stdio::null())
            .output()
            .expect("slowpath runs");
        Left {
            status: output.status.code(),
            stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
            stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
        }
    };
    let left = run(&["--no-reasons"]);
    assert!(!left.stderr.contains("panicked at"), "{}", left.stderr);
    let results = run(&["--results", "json"]);
    let results = serde_json::from_str(&results.stdout).unwrap_or(Value::Null);
    (left, results, folder)
}

fn mean(results: &Value, number: usize, metric: &str) -> f64 {
    let mean = &results["configurations"][number]["metrics"][metric]["mean"];
    mean.as_f64()
        .unwrap_or_else(|| panic!("no {metric} in {results}"))
}

const ROWS: &str = "[metrics.rows]\nprobe = \"rows\"\ntype = \"CNT\"\n";

#[test]
fn probes_of_processes_that_come_late_and_die_are_metrics() {
    let Some(program) = program() else { return };
    let (left, results, folder) = explore(
        &format!(
            "[parameters.wait]\ntype = \"integer\"\nvalues = [2000, 200]\n\
             [workload]\ncommand = \"sleep 0.05; PROGRAM 100 3 {{{{wait}}}}\"\n{ROWS}\
             [metrics.each]\nprobe = \"query\"\ntype = \"LAT\"\ntake = \"median\"\n\
             [metrics.slow]\nprobe = 7\ntype = \"LAT\"\ntake = \"p99\"\nunit = \"seconds\"\n\
             [metrics.throughput]\nprobe = \"batch\"\ntype = \"TPT\"\n\
             [metrics.busy]\nprobe = \"batch\"\ntype = \"TPT\"\nvalue = \"duration\"\ntake = \"mean\"\n\
             [metrics.chosen]\nprobe = 9\ntype = \"SNAPSHOT\"\nvalue = 1\ntake = \"max\"\n\
             [metrics.wall]\nmeasure = \"wall\"\n\
             [[objectives]]\nminimise = \"each\"\n[trials]\nper_configuration = 2\n"
        ),
        program,
    );
    assert_eq!(left.status, Some(0), "{}", left.stderr);
    assert_eq!(
        (&results["trials"], &results["failed"]),
        (&4.into(), &0.into()),
        "{}",
        left.stderr
    );
    for (place, wait) in [(0, 200e-6), (1, 2000e-6)] {
        let of = |metric| mean(&results, place, metric);
        assert_eq!(of("rows"), 300.0);
        assert_eq!(of("chosen"), wait * 1e6);
        assert!(of("each") >= wait && of("slow") >= of("each"), "{results}");
        assert!(of("busy") >= wait && of("busy") < 100.0 * wait, "{results}");
        let throughput = 300.0 / of("wall");
        assert!(
            (of("throughput") / throughput - 1.0).abs() < 0.5,
            "{results}"
        );
    }
    assert!(left.stdout.contains("each (s)"), "{}", left.stdout);
    assert_eq!(results["notes"], serde_json::json!([]), "nothing was lost");
    drop(folder);
    let left_over = fs::read_dir("/dev/shm")
        .into_iter()
        .flatten()
        .flatten()
        .filter(|entry| {
            let name = entry.file_name().to_string_lossy().into_owned();
            let of = name
                .strip_prefix("slowpath-probes-")
                .and_then(|rest| rest.split('-').next());
            of.is_some_and(|pid| !Path::new(&format!("/proc/{pid}")).exists())
        });
    assert_eq!(
        left_over.count(),
        0,
        "a trial's folder in /dev/shm outlived its explorer"
    );
}

#[test]
fn of_a_system_only_what_it_does_for_the_measured_workload_counts() {
    let Some(program) = program() else { return };
    for folder in [
        "",
        "environment = { SLOWPATH_PROBES_DIR = \"/nonexistent\" }\n",
    ] {
        // Without a folder that can be written, its memory is a memfd.
        let (left, results, _) = explore(
            &format!(
                "[parameters.n]\ntype = \"integer\"\nvalues = [20, 30]\n[commands]\nbefore = [\"mkfifo {{{{scratch}}}}/f\"]\n\
                 [system]\ncommand = [\"PROGRAM\", \"serve\", \"{{{{scratch}}}}/f\", \"{{{{scratch}}}}/done\"]\nready = {{ line = \"up\" }}\n{folder}\
                 [workload]\nwarm_up = 2\ncommand = '''\
                 head -c {{{{n}}}} /dev/zero > {{{{scratch}}}}/f; printf e > {{{{scratch}}}}/f; \
                 until [ -e {{{{scratch}}}}/done ]; do sleep 0.01; done; rm {{{{scratch}}}}/done'''\n{ROWS}\
                 [[objectives]]\nminimise = \"rows\"\n[trials]\nper_configuration = 2\n"
            ),
            program,
        );
        assert_eq!(left.status, Some(0), "{}", left.stderr);
        for (place, expected) in [(0, 21.0), (1, 31.0)] {
            assert_eq!(mean(&results, place, "rows"), expected, "{results}");
            assert_eq!(
                results["configurations"][place]["metrics"]["rows"]["count"],
                2
            );
        }
    }
}

#[test]
fn what_is_lost_is_told_and_what_totals_cannot_make_up_for() {
    let Some(program) = program() else { return };
    let (left, results, _) = explore(
        &format!(
            "[parameters.n]\ntype = \"integer\"\nvalues = [200000]\n\
             [workload]\ncommand = [\"PROGRAM\", \"{{{{n}}}}\", \"2\", \"0\"]\nenvironment = {{ SLOWPATH_PROBES_SLOTS = \"2\" }}\n{ROWS}\
             [metrics.each]\nprobe = \"query\"\ntype = \"LAT\"\n\
             [[objectives]]\nminimise = \"each\"\n[trials]\nper_configuration = 1\n"
        ),
        program,
    );
    assert_eq!(left.status, Some(0), "{}", left.stderr);
    let words = results["notes"][0]["words"].as_str().unwrap_or_default();
    // What a thread did behind the last record that was read of it: with one probe of a kind this is known.
    let missing = words.split_once("last: up to ");
    let missing = missing.and_then(|(_, rest)| rest.split(' ').next()?.parse::<f64>().ok());
    let rows = mean(&results, 0, "rows");
    assert_eq!(rows + missing.unwrap_or(0.0), 400_000.0, "{words}");
    assert!(
        words.contains("of 400000 records of CNT probes were lost"),
        "{words}"
    );
    assert!(
        words.contains("`each`: ") && words.contains("records of LAT probes were lost"),
        "{words}"
    );
    assert!(
        left.stdout
            .contains("Metrics of 1 of 1 trial lack something"),
        "{}",
        left.stdout
    );
    assert!(
        left.stderr.contains("records of LAT probes were lost"),
        "{}",
        left.stderr
    );
}

#[test]
fn a_probe_that_nothing_reached_is_told_with_those_that_were() {
    let Some(program) = program() else { return };
    let with = |command: &str, name: &str| {
        let (left, results, _) = explore(
            &format!(
                "[parameters.n]\ntype = \"integer\"\nvalues = [1]\n[workload]\ncommand = \"{command}\"\n\
                 [metrics.each]\nprobe = \"{name}\"\ntype = \"LAT\"\n[[objectives]]\nminimise = \"each\"\n[trials]\nper_configuration = 1\n"
            ),
            program,
        );
        assert_eq!(
            results["configurations"][0]["outcomes"]["no-metric"], 1,
            "{results}"
        );
        left.stderr
    };
    let words = with("PROGRAM 1 1 0", "nothing");
    assert!(
        words.contains("no process reached a probe LAT `nothing`; reached were"),
        "{words}"
    );
    assert!(words.contains("LAT 7 `query`"), "{words}");
    let words = with("true", "query");
    assert!(
        words.contains("no process of the trial has probes"),
        "{words}"
    );
}

#[test]
fn a_policy_stops_a_run_that_has_enough_records() {
    let Some(program) = program() else { return };
    let folder = tempfile::tempdir().expect("a temporary folder");
    let policy = folder.path().join("p.py");
    let text = "from slowpath_policy import Policy\n\nclass Enough(Policy):\n    def begin(self):\n        self.seen = 0\n\n    \
                def next(self):\n        return None if self.results else self.configuration(lambda one: one['default'])\n\n    \
                def stop_run(self, configuration, metric, value):\n        assert metric == 'each' and value >= 0.001\n        \
                self.seen += 1\n        return self.seen >= 20\n";
    fs::write(&policy, text).expect("written");
    let (left, results, _) = explore(
        &format!(
            "[parameters.n]\ntype = \"integer\"\nvalues = [100000]\n[workload]\ncommand = [\"PROGRAM\", \"{{{{n}}}}\", \"1\", \"1000\"]\n\
             [metrics.each]\nprobe = \"query\"\ntype = \"LAT\"\n[[objectives]]\nminimise = \"each\"\n\
             [policy]\nname = \"python\"\nfile = \"{}\"\n[trials]\nper_configuration = 1\n",
            policy.display()
        ),
        program,
    );
    assert_eq!(left.status, Some(0), "{}", left.stderr);
    assert_eq!(
        results["configurations"][0]["outcomes"]["stopped"], 1,
        "{results}"
    );
    assert!(mean(&results, 0, "each") >= 0.001);
}
