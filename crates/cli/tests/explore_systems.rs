//! `slowpath explore` with systems that go into the background, run elsewhere, or are gone: which of them count as running.

mod support;

use support::exploring::{COST, Place};

/// The trials of an exploration with this system, as CSV.
#[track_caller]
fn explored(system: &str, workload: &str, expected: i32) -> String {
    let place = Place::with(&format!(
        "[parameters.a]\ntype = \"integer\"\nvalues = [1]\n[system]\n{system}\nready_timeout = \"5s\"\n\
         [workload]\ncommand = '''{workload}'''\n{COST}[trials]\nper_configuration = 1\n"
    ));
    let left = place.explore(&["--no-reasons"]);
    assert_eq!(left.status, Some(expected), "{system}: {}", left.stderr);
    place.explore(&["--results", "csv"]).stdout
}

const GONE: &str = "the system ended with status 0 and left no process";

#[test]
fn a_system_that_ends_well_and_leaves_nothing_has_failed() {
    // At once, and while the workload runs, with and without a line that it has printed.
    for (system, workload) in [
        (
            "command = \"echo up; exit 0\"\nready = { line = \"up\" }\nstop = \"true\"",
            "sleep 1; echo cost 1",
        ),
        (
            "command = \"sleep 0.5; echo bye\"\nstop = \"true\"",
            "sleep 2; echo cost 1",
        ),
    ] {
        let csv = explored(system, workload, 1);
        assert!(csv.contains("system-ended") && csv.contains(GONE), "{csv}");
        let hint = "a port or a command in `ready` tells so";
        assert!(csv.contains(hint), "{csv}");
    }
}

#[test]
fn a_system_that_leaves_a_process_goes_on() {
    let system = "command = \"setsid sleep 60 >/dev/null 2>&1 & sleep 0.3\"\nstop = \"true\"";
    let csv = explored(system, "sleep 0.6; echo cost 1", 0);
    assert!(csv.contains(",good,"), "{csv}");
}

#[test]
fn of_a_system_that_runs_elsewhere_its_sign_decides() {
    let system = |sign: &str, end: &str| {
        format!(
            "command = \"touch here; {end}\"\nready = {{ command = \"{sign}\" }}\nstop = \"rm -f here\""
        )
    };
    // As `docker run -d` and `systemctl start`; and as one that takes longer to end than to be ready.
    for end in ["exit 0", "sleep 0.5"] {
        let csv = explored(&system("test -e here", end), "sleep 1; echo cost 1", 0);
        assert!(csv.contains(",good,"), "{end}: {csv}");
    }
    let absent = "echo asked; no-such-program-for-slowpath";
    let csv = explored(&system(absent, "exit 0"), "echo cost 1", 1);
    assert!(csv.contains("not-ready"), "{csv}");
    let why = "the command in `ready` ended with status 127: ";
    assert!(csv.contains(why), "{csv}");
    let workload = "rm here; sleep 1; echo cost 1";
    let csv = explored(&system("test -e here", "sleep 0.5"), workload, 1);
    assert!(csv.contains("system-ended"), "{csv}");
}

#[test]
fn whether_its_starter_was_faster_than_its_sign_decides_nothing() {
    // With and without `stop`, the starter gone before the sign is seen, and while the workload runs.
    for (stop, end) in [("true", "true"), ("", "true"), ("", "sleep 0.4")] {
        let stop = match stop {
            "" => String::new(),
            stop => format!("stop = \"{stop}\""),
        };
        let signed = format!(
            "command = \"touch here; {end}\"\nready = {{ command = \"test -e here && sleep 0.1\" }}\n{stop}"
        );
        let csv = explored(&signed, "sleep 0.8; echo cost 1", 0);
        assert!(csv.contains(",good,"), "{signed}: {csv}");
        let csv = explored(&signed, "rm here; sleep 0.8; echo cost 1", 1);
        assert!(csv.contains("system-ended"), "{signed}: {csv}");
        // A workload that fails without its system is not to blame.
        let csv = explored(&signed, "rm here; sleep 0.8; exit 3", 1);
        assert!(csv.contains("system-ended"), "{signed}: {csv}");

        let printing =
            format!("command = \"sleep 60 & echo up; {end}\"\nready = {{ line = \"up\" }}\n{stop}");
        let csv = explored(&printing, "sleep 0.8; echo cost 1", 0);
        assert!(csv.contains(",good,"), "{printing}: {csv}");
    }
}

#[test]
fn a_system_with_neither_ready_nor_stop_is_known_by_its_processes() {
    let system = "command = \"setsid sleep 60 >/dev/null 2>&1 & true\"";
    let csv = explored(system, "sleep 0.3; echo cost 1", 0);
    assert!(csv.contains(",good,"), "{csv}");
    let csv = explored("command = \"true\"", "sleep 0.5; echo cost 1", 1);
    assert!(
        csv.contains(GONE) && csv.contains("a command in `stop` ends it"),
        "{csv}"
    );
}
