//! `slowpath explore` with systems that go into the background, run elsewhere, or are gone: which of them count as running.

mod support;

use std::fs;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use support::exploring::{COST, NUMBERS, Place};

/// A service with users of its own, and how to control it: `set a b` by its socket makes it serve as fast as that says.
const SERVICE: &str = r#"
import socket, sys, threading, time

class Control:
    def __init__(self, path):
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.connect(path)

    def ask(self, what):
        self.socket.sendall((what + "\n").encode())
        return self.socket.makefile().readline().strip()

if __name__ == "__main__":
    served, pause = 0, 0.01
    def serve():
        global served
        while True:
            served += 1
            time.sleep(pause)
    threading.Thread(target=serve, daemon=True).start()
    listening = socket.socket(socket.AF_UNIX)
    listening.bind(sys.argv[1])
    listening.listen()
    while True:
        user, _ = listening.accept()
        words = user.makefile().readline().split()
        if words[0] == "set":
            pause = 0.002 if words[1:] == ["3", "2"] else 0.02
        user.sendall(f"{served}\n".encode())
        user.close()
"#;

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
fn a_service_that_runs_already_is_configured_under_the_load_of_its_own_users() {
    let ask = |what: &str| {
        format!(
            "python3 -c \"from service import Control; print(Control('control').ask('{what}'))\""
        )
    };
    let place = Place::with(&format!(
        "{NUMBERS}[commands]\nconfigure = ['''{}''']\nrestore = ['''{}''']\n[workload]\n\
         command = '''before=$({served}); sleep 0.1; echo served $(($({served}) - before))'''\n\
         [metrics.served]\nregex = 'served ([0-9]+)'\n[[objectives]]\nmaximise = \"served\"\n\
         [trials]\nper_configuration = 1\n",
        ask("set {{a}} {{b}}"),
        ask("set 1 1"),
        served = ask("served"),
    ));
    fs::write(place.path("service.py"), SERVICE).expect("written");
    let mut service = Command::new("python3")
        .args(["service.py", "control"])
        .current_dir(place.path("."))
        .stdin(Stdio::null())
        .spawn()
        .expect("python3 runs");
    let begin = Instant::now();
    while !place.path("control").exists() && begin.elapsed() < Duration::from_secs(10) {
        std::thread::sleep(Duration::from_millis(20));
    }
    let left = place.explore(&["--no-reasons"]);
    let still_runs = service.try_wait().expect("a child").is_none();
    service.kill().expect("a child");
    service.wait().expect("a child");
    assert_eq!(left.status, Some(0), "{}", left.stderr);
    assert!(still_runs, "it was none of the explorer's");
    let first = left
        .stdout
        .lines()
        .find(|line| line.trim_start().starts_with("1 "));
    let words = first.map(|line| line.split_whitespace().take(3).collect::<Vec<_>>());
    assert_eq!(words, Some(vec!["1", "3", "2"]), "{}", left.stdout);
}

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
fn what_a_workload_leaves_running_is_no_system() {
    // In the background of its shell, in a session of its own, and without its parent.
    for left in ["sleep 60 &", "setsid sleep 60 &", "(setsid sleep 60 &);"] {
        let workload = format!("exec 2>/dev/null; {left} sleep 1.2; echo cost 1");
        for system in [
            "command = \"sleep 0.5\"",
            "command = \"setsid sleep 0.5 >/dev/null 2>&1 & true\"",
        ] {
            let csv = explored(system, &workload, 1);
            assert!(csv.contains("system-ended") && csv.contains(GONE), "{csv}");
        }
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
