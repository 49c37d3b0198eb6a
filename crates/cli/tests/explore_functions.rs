//! `slowpath explore` with functions of unmodified programs as metrics: counts against what the programs say themselves.
//!
//! Programs are a small one in C, compiled here, and the stock redis-server. Takes the rights to set uprobes; what is
//! missing skips.

mod support;

use std::fs;
use std::net::TcpListener;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;
use support::skip;

const LIST: &str = "/sys/kernel/tracing/uprobe_events";

/// `MODE THREADS N`: calls `step` N times in each of some threads and in a forked child, and says how often.
const PROGRAM: &str = r#"
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#define PLAIN __attribute__((noipa))

PLAIN int step(int x) { return x + 1; }
PLAIN void nap(int ms) { usleep(ms * 1000); }
PLAIN int down(int n) { if (n == 0) { usleep(2000); return 0; } return 1 + step(down(n - 1)); }
PLAIN void never(void) { step(0); }
PLAIN void killed(void) { raise(SIGKILL); }
PLAIN int twice(int x) { return 2 * x; }
/* As compilers name a copy that they have made for some callers, and what they have taken out of it. */
int copied(int x) __asm__("twice.constprop.0");
int part(int x) __asm__("twice.part.0");
PLAIN int copied(int x) { return 2 * x + 1; }
PLAIN int part(int x) { return x - 1; }

static int count;
static void *steps(void *none) { for (int i = 0; i < count; i++) step(i); return none; }

int main(int argc, char **argv) {
    int threads = atoi(argv[2]);
    pthread_t ids[16];
    count = atoi(argv[3]);
    if (!strcmp(argv[1], "serve")) {
        char line[100];
        steps(NULL);
        puts("up");
        fflush(stdout);
        while (fgets(line, sizeof line, stdin)) step(0);
        return 0;
    }
    if (!strcmp(argv[1], "sleep")) {
        for (int i = 0; i < count; i++) nap(20);
        printf("depth %d\n", down(4));
        return 0;
    }
    for (int i = 0; i < threads; i++) pthread_create(&ids[i], NULL, steps, NULL);
    if (fork() == 0) { steps(NULL); _exit(0); }
    wait(NULL);
    for (int i = 0; i < threads; i++) pthread_join(ids[i], NULL);
    if (!strcmp(argv[1], "die")) killed();
    for (int i = 0; i < 30; i++) part(twice(i));
    for (int i = 0; i < 40; i++) copied(i);
    printf("made %d\n", (threads + 1) * count);
    return 0;
}
"#;

/// A folder with the program and a specification.
struct Place {
    folder: tempfile::TempDir,
}

impl Place {
    /// `None` where there is no compiler.
    fn with(specification: &str) -> Option<Self> {
        let folder = tempfile::tempdir().expect("a temporary folder");
        fs::write(folder.path().join("s.toml"), specification).expect("written");
        fs::write(folder.path().join("program.c"), PROGRAM).expect("written");
        let compiled = Command::new("cc")
            .args(["-O1", "-pthread", "-o", "program", "program.c"])
            .current_dir(folder.path())
            .status();
        match compiled {
            Ok(status) => assert!(status.success(), "the program is compiled"),
            Err(_) => {
                skip("there is no C compiler");
                return None;
            }
        }
        Some(Self { folder })
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_slowpath"));
        command.arg("explore").arg(self.path("s.toml"));
        command.arg("-o").arg(self.path("x")).args(arguments);
        command.stdin(Stdio::null());
        command
    }

    /// The results; `None` where uprobes are refused.
    fn results(&self) -> Option<Value> {
        let output = self.command(&["--no-reasons", "--json"]).output();
        let output = output.expect("slowpath runs");
        let said = String::from_utf8_lossy(&output.stderr);
        if said.contains("observing functions needs") || said.contains("has no uprobes") {
            skip("functions cannot be observed here");
            return None;
        }
        assert_eq!(output.status.code(), Some(0), "{said}");
        assert!(!said.contains("were lost"), "{said}");
        Some(serde_json::from_slice(&output.stdout).expect("JSON"))
    }
}

/// The metrics of each configuration.
fn rows(results: &Value) -> impl Iterator<Item = (&Value, impl Fn(&str) -> f64)> {
    let rows = results["configurations"].as_array().expect("rows");
    rows.iter().map(|row| {
        let mean = move |metric: &str| {
            let mean = row["metrics"][metric]["mean"].as_f64();
            mean.unwrap_or_else(|| panic!("no {metric} in {row}"))
        };
        (&row["configuration"], mean)
    })
}

#[test]
fn calls_in_threads_and_children_are_counted_exactly_and_timed() {
    let specification = r#"
        parameters.threads = { type = "integer", values = [1, 3] }
        workload = { command = ["./program", "run", "{{threads}}", "2000"], warm_up = 1 }
        trials = { per_configuration = 1 }
        objectives = [{ minimise = "seen" }]
        [metrics]
        said = { regex = 'made ([0-9]+)' }
        seen = { function = "step", binary = "./program", type = "CNT" }
        rate = { function = "step", binary = "./program", type = "TPT" }
        shortest = { function = "step", binary = "./program", type = "LAT", take = "min", unit = "ns" }
        median = { function = "step", binary = "./program", type = "LAT", take = "median", unit = "ns" }
        all = { function = "step", binary = "./program", type = "LAT", take = "sum", unit = "ns" }
        copies = { function = "twice", binary = "./program", type = "CNT" }
    "#;
    let Some(results) = Place::with(specification).and_then(|place| place.results()) else {
        return;
    };
    for (configuration, mean) in rows(&results) {
        let threads = configuration["threads"].as_f64().expect("a number");
        assert_eq!(mean("seen"), (threads + 1.0) * 2000.0, "{configuration}");
        assert_eq!(mean("seen"), mean("said"));
        assert_eq!(
            mean("copies"),
            70.0,
            "what the compiler copies is the function"
        );
        assert!(mean("rate") > 0.0);
        assert!(0.0 < mean("shortest") && mean("shortest") <= mean("median"));
        assert!(
            mean("all") >= mean("shortest") * mean("seen"),
            "every call was timed"
        );
    }
}

#[test]
fn a_call_takes_as_long_as_it_sleeps_and_calls_inside_calls_count_too() {
    let specification = r#"
        parameters.naps = { type = "integer", values = [1, 3] }
        workload = { command = ["./program", "sleep", "1", "{{naps}}"] }
        trials = { per_configuration = 1 }
        objectives = [{ minimise = "sum" }]
        [metrics]
        sum = { function = "nap", binary = "./program", type = "LAT", take = "sum" }
        min = { function = "nap", binary = "./program", type = "LAT", take = "min", unit = "ms" }
        down = { function = "down", binary = "./program", type = "CNT" }
        inside = { function = "down", binary = "./program", type = "LAT", take = "min", unit = "us" }
        all = { function = "down", binary = "./program", type = "LAT", take = "sum", unit = "us" }
        never = { function = "never", binary = "./program", type = "CNT" }
    "#;
    let Some(results) = Place::with(specification).and_then(|place| place.results()) else {
        return;
    };
    for (configuration, mean) in rows(&results) {
        let naps = configuration["naps"].as_f64().expect("a number");
        assert!(mean("sum") >= 0.02 * naps && mean("min") >= 20.0);
        assert_eq!((mean("down"), mean("never")), (5.0, 0.0));
        assert!(mean("inside") >= 2000.0 && mean("all") >= 5.0 * 2000.0);
    }
}

#[test]
fn of_the_system_only_what_it_does_meanwhile_counts_and_who_is_killed_fails_alone() {
    // The system makes 50 calls before it is ready and one for each line; the workload makes 2 * 10 of its own.
    let specification = r#"
        parameters.how = { type = "category", values = ["run", "die"] }
        system.command = "mkfifo {{scratch}}/lines; exec ./program serve 1 50 <> {{scratch}}/lines"
        system.ready = { line = "^up$" }
        workload.command = "for i in 1 2 3 4 5 6 7; do echo > {{scratch}}/lines; done; ./program {{how}} 1 10 && sleep 0.5"
        trials = { per_configuration = 2 }
        objectives = [{ minimise = "seen" }]
        [metrics]
        seen = { function = "step", binary = "./program", type = "CNT" }
    "#;
    let Some(results) = Place::with(specification).and_then(|place| place.results()) else {
        return;
    };
    let outcomes = |row: usize| &results["configurations"][row]["outcomes"];
    assert_eq!(
        (&outcomes(0)["good"], &outcomes(1)["workload"]),
        (&2.into(), &2.into())
    );
    let (configuration, mean) = rows(&results).next().expect("a row");
    assert_eq!((&configuration["how"], mean("seen")), (&"run".into(), 27.0));
}

#[test]
fn a_stock_redis_server_makes_as_many_calls_as_it_says() {
    let found = Command::new("redis-benchmark").arg("--version").output();
    if found.is_err() {
        return skip("there is no redis");
    }
    let port = TcpListener::bind("127.0.0.1:0").and_then(|port| port.local_addr());
    let port = port.expect("a port").port();
    let specification = format!(
        r#"
        parameters.clients = {{ type = "integer", values = [1, 8] }}
        system.command = ["redis-server", "--port", "{port}", "--save", "", "--dir", "{{{{scratch}}}}"]
        system.ready = {{ port = {port} }}
        workload.command = "redis-benchmark -p {port} -q -t set -n 4000 -c {{{{clients}}}} >/dev/null; redis-cli -p {port} info commandstats"
        trials = {{ per_configuration = 1 }}
        objectives = [{{ minimise = "seen" }}]
        [metrics]
        said = {{ regex = 'cmdstat_set:calls=([0-9]+)' }}
        seen = {{ function = "setCommand", binary = "redis-server", type = "CNT" }}
    "#
    );
    let Some(results) = Place::with(&specification).and_then(|place| place.results()) else {
        return;
    };
    for (configuration, mean) in rows(&results) {
        assert_eq!(
            (mean("seen"), mean("said")),
            (4000.0, 4000.0),
            "{configuration}"
        );
    }
}

#[test]
fn nothing_is_left_in_the_kernel_when_the_explorer_is_killed() {
    let specification = r#"
        parameters.a = { type = "integer", values = [1, 2] }
        workload.command = "./program run 1 100; echo > started; sleep 60"
        objectives = [{ minimise = "seen" }]
        [metrics]
        seen = { function = "step", binary = "./program", type = "CNT" }
        time = { function = "step", binary = "./program", type = "LAT" }
    "#;
    let Some(place) = Place::with(specification) else {
        return;
    };
    // As if an explorer and its guardian had been killed: the next start clears it away.
    let left = "slowpath_explore_999999999_7";
    let line = format!("p:{left}/f0 {}:0x1000\n", place.path("program").display());
    let written = fs::File::options()
        .append(true)
        .open(LIST)
        .and_then(|mut file| std::io::Write::write_all(&mut file, line.as_bytes()));
    if written.is_err() {
        return skip("functions cannot be observed here");
    }
    let mut explorer = place
        .command(&["--no-reasons"])
        .stdout(Stdio::null())
        .spawn()
        .expect("slowpath starts");
    let own = format!("slowpath_explore_{}_", explorer.id());
    let has = |name: &str| fs::read_to_string(LIST).is_ok_and(|list| list.contains(name));
    wait_until("the workload", || place.path("started").exists());
    assert!(has(&own) && !has(left));
    explorer.kill().expect("it is killed");
    explorer.wait().expect("it ended");
    wait_until("the guardian's end", || !has(&own));
}

#[test]
fn what_cannot_be_observed_is_told_before_anything_runs() {
    let check = |metric: &str, expected: &str| {
        let specification = format!(
            "parameters.a = {{ type = \"integer\", values = [1] }}\nworkload.command = \"echo ran > ran\"\nobjectives = [{{ minimise = \"m\" }}]\n[metrics]\nm = {{ {metric} }}\n"
        );
        let Some(place) = Place::with(&specification) else {
            return;
        };
        for arguments in [&["--check"][..], &["--no-reasons"]] {
            let output = place.command(arguments).output().expect("slowpath runs");
            let said = String::from_utf8_lossy(&output.stderr);
            assert_eq!(output.status.code(), Some(2), "{metric}: {said}");
            assert!(said.contains(expected), "{metric}: {said}");
            assert!(!place.path("ran").exists());
        }
    };
    let of = |rest: &str| format!("function = \"step\", binary = \"./program\", {rest}");
    check(
        &of("take = \"sum\""),
        "`m` needs `function`, `binary` and `type`",
    );
    check(
        &of("type = \"CNT\", take = \"sum\""),
        "`take` chooses among times",
    );
    check(&of("type = \"LAT\", take = \"last\""), "hint: take = mean");
    check(
        &of("type = \"LAT\", unit = \"h\""),
        "`h` is no unit of time",
    );
    check(
        &of("type = \"CNT\", regex = 'x'"),
        "needs one place that it comes from",
    );
    check(
        "function = \"stepp\", binary = \"./program\", type = \"CNT\"",
        "has no function `stepp`",
    );
    check(
        "function = \"neve\", binary = \"./program\", type = \"CNT\"",
        "hint: there are: never",
    );
    check(
        "function = \"usleep\", binary = \"./program\", type = \"CNT\"",
        "uses `usleep` of another file\n  hint: name the library that has it",
    );
    check(
        "function = \"main\", binary = \"no-such-library.so.7\", type = \"CNT\"",
        "there is no program or library `no-such-library.so.7`\n  hint:",
    );
}

fn wait_until(what: &str, is_so: impl Fn() -> bool) {
    let begin = Instant::now();
    while !is_so() {
        let took = begin.elapsed();
        assert!(took < Duration::from_secs(60), "{what} did not come about");
        std::thread::sleep(Duration::from_millis(5));
    }
}
