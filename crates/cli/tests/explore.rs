//! `slowpath explore` with small scripts as the observed system: what is found, what becomes of failures, and that nothing is
//! counted twice or left running however the explorer ends.
//!
//! Scripts are functions of their parameters, so that the answer is known. No rights are needed; what needs them skips.

mod support;

use std::fs;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;
use support::chance::Chance;
use support::exploring::{COST, Left, NUMBERS, Place};
use support::{python, skip, wait_until};

/// The processes whose arguments are as `is_meant` wants, each behind a zero byte.
fn processes(is_meant: impl Fn(&str) -> bool) -> Vec<String> {
    let entries = fs::read_dir("/proc").expect("/proc").flatten();
    let meant = entries.filter(|entry| {
        let line = fs::read(entry.path().join("cmdline")).unwrap_or_default();
        is_meant(&String::from_utf8_lossy(&line))
    });
    let names = meant.map(|entry| entry.file_name().to_string_lossy().into_owned());
    names.collect()
}

/// How many processes have `word` among their arguments.
fn running(word: &str) -> usize {
    processes(|line| line.contains(word)).len()
}

/// Kills those that are called `sleep SECONDS`; how many there were.
fn kill_sleepers(seconds: &str) -> u64 {
    let found = processes(|line| line == format!("sleep\0{seconds}\0"));
    let killed = (found.iter()).filter(|process| {
        let killed = Command::new("kill")
            .args(["-KILL", process])
            .stderr(Stdio::null())
            .status();
        killed.is_ok_and(|status| status.success())
    });
    killed.count() as u64
}

fn kill(child: &Child, signal: &str) {
    let killed = Command::new("kill")
        .args([signal, &child.id().to_string()])
        .status();
    assert!(killed.is_ok_and(|status| status.success()), "kill {signal}");
}

#[test]
fn the_best_configuration_of_a_known_function_is_found_and_what_it_depends_on() {
    let place = Place::with(&format!(
        "{NUMBERS}[[files]]\npath = \"{{{{scratch}}}}/f.conf\"\ncontent = \"a = {{{{a}}}}\\n\"\n\
         [workload]\ncommand = '''grep -qx 'a = {{{{a}}}}' {{{{scratch}}}}/f.conf && awk 'BEGIN {{ print \"cost\", 10 + 5 * ({{{{a}}}} - 3) ^ 2 + {{{{b}}}} }}' '''\n{COST}[trials]\nper_configuration = 2\n"
    ));
    let left = place.explore(&["--no-reasons"]);
    assert_eq!(left.status, Some(0), "{}", left.stderr);
    assert!(
        left.stdout.contains("24 trials of 12 configurations"),
        "{}",
        left.stdout
    );
    let results = place.results();
    let best = &results["configurations"][0];
    assert_eq!(best["configuration"], serde_json::json!({"a": 3, "b": 1}));
    assert_eq!(
        (&best["standing"], &best["metrics"]["cost"]["mean"]),
        (&"best".into(), &11.0.into())
    );
    assert_eq!(results["importance"]["method"], "main-effects");
    assert_eq!(results["importance"]["parameters"][0][0], "a");
    let next = &results["configurations"][1];
    assert_eq!(
        (&next["standing"], &next["difference"]["low"]),
        (&"worse".into(), &1.0.into())
    );
    let recommended = place.path("x/recommended");
    assert_eq!(
        fs::read_to_string(recommended.join("parameters.toml")).expect("written"),
        "a = 3\nb = 1\n"
    );
    assert_eq!(
        fs::read_to_string(recommended.join("scratch/f.conf")).expect("written"),
        "a = 3\n"
    );
    let started = Command::new("sh")
        .arg(recommended.join("start.sh"))
        .output()
        .expect("sh runs");
    assert_eq!(String::from_utf8_lossy(&started.stdout), "cost 11\n");
    let csv = place.explore(&["--results", "csv"]).stdout;
    assert_eq!(
        csv.lines().next(),
        Some("trial,batch,outcome,a,b,cost,words")
    );
    assert_eq!(csv.lines().count(), 25);
    check_parquet(&place, &csv);
}

/// The Parquet file has what the CSV has, and numbers as such.
fn check_parquet(place: &Place, csv: &str) {
    let Some(python) = python("duckdb") else {
        return;
    };
    let file = place.path("trials.parquet");
    let told = place
        .command(&["--results", "parquet"])
        .output()
        .expect("it runs");
    fs::write(&file, told.stdout).expect("written");
    let program = "import duckdb, sys\n\
        table = duckdb.read_parquet(sys.argv[1])\n\
        print([str(kind) for kind in table.types])\n\
        for row in table.fetchall(): print(*row, sep=',')";
    let output = Command::new(python)
        .args(["-c", program])
        .arg(&file)
        .output()
        .expect("Python runs");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let (types, rows) = text.split_once('\n').unwrap_or_default();
    assert_eq!(
        types,
        "['BIGINT', 'UINTEGER', 'VARCHAR', 'BIGINT', 'BIGINT', 'DOUBLE', 'VARCHAR']"
    );
    let numbers = |text: &str| -> Vec<Vec<String>> {
        let as_number = |cell: &str| {
            cell.parse()
                .map_or(cell.to_owned(), |number: f64| number.to_string())
        };
        text.lines()
            .map(|line| line.split(',').map(as_number).collect())
            .collect()
    };
    let (_, expected) = csv.split_once('\n').unwrap_or_default();
    assert_eq!(numbers(rows), numbers(expected));
}

/// Each trial counts the threads of the load that its explorer has beside it, once they have given themselves a name.
#[test]
fn load_runs_beside_the_workload_and_no_longer() {
    let place = Place::with(&format!(
        "[parameters.neighbours]\ntype = \"integer\"\nvalues = [0, 3]\n\
         [load]\ncpu = \"{{{{neighbours}}}}\"\ndisk = 1\nmemory_mib = 16\n\
         [workload]\ncommand = '''sleep 0.3; echo cost $(cat /proc/$PPID/task/*/comm | grep -c '^load$'); ls -l /proc/$PPID/fd | sed -n 's/.*load-0 (deleted)/gone with its writer/p' >> files; ls x | grep load- >> files; true'''\n\
         {COST}[trials]\nper_configuration = 1\n"
    ));
    assert_eq!(place.explore(&["--no-reasons"]).status, Some(0));
    let results = place.results();
    let rows = results["configurations"]
        .as_array()
        .expect("configurations");
    let found = rows.iter().map(|row| {
        let cost = &row["metrics"]["cost"]["mean"];
        (row["configuration"]["neighbours"].as_i64(), cost.as_f64())
    });
    let found: std::collections::BTreeMap<_, _> = found.collect();
    assert_eq!(found, [(Some(0), Some(2.0)), (Some(3), Some(5.0))].into());
    // What is written has no name, so that nothing of it stays whenever the explorer is killed.
    assert_eq!(place.lines("files"), ["gone with its writer"; 2]);
    let left = fs::read_dir(place.path("x")).expect("a folder").flatten();
    let left: Vec<_> = left.map(|entry| entry.file_name().into_string()).collect();
    assert!(
        !left.iter().flatten().any(|name| name.starts_with("load")),
        "{left:?}"
    );
}

#[test]
fn a_load_that_cannot_be_is_told() {
    let with_load = |load: &str| {
        Place::with(&format!(
            "[parameters.a]\ntype = \"category\"\nvalues = [\"x\"]\n[load]\n{load}\n\
             [workload]\ncommand = \"echo cost 1\"\n{COST}[trials]\nper_configuration = 1\n"
        ))
    };
    let place = with_load("cpu = -1");
    let told = place.explore(&["--check"]);
    assert!(told.status == Some(1) || told.status == Some(2));
    assert!(
        told.stderr.contains("a load is a whole number"),
        "{}",
        told.stderr
    );
    for (load, words) in [
        (
            "cpu = \"{{a}}\"",
            "`cpu` of [load] is `x`, which is no whole number",
        ),
        (
            "memory_mib = 999999999",
            "there are no 999999999 MiB of memory for [load]",
        ),
    ] {
        let place = with_load(load);
        let _ = place.explore(&["--no-reasons"]);
        let csv = place.explore(&["--results", "csv"]).stdout;
        assert!(csv.contains(words), "{csv}");
    }
}

#[test]
fn what_is_recommended_runs_with_its_own_files() {
    let place = Place::with(&format!(
        "[parameters.a]\ntype = \"integer\"\nvalues = [3, 1, 2]\n\
         [[files]]\npath = \"etc/it's/app.conf\"\ncontent = \"cost {{{{a}}}}\"\n\
         [[files]]\npath = \"{{{{scratch}}}}/sub/app.conf\"\ncontent = \"other {{{{a}}}}\"\n\
         [[files]]\npath = \"{{{{scratch}}}}/start.sh\"\ncontent = \"echo not me\"\n\
         [workload]\ncommand = '''cat etc/*/app.conf {{{{scratch}}}}/sub/app.conf'''\n{COST}[trials]\nper_configuration = 1\n"
    ));
    assert_eq!(place.explore(&["--no-reasons"]).status, Some(0));
    fs::remove_dir_all(place.path("etc")).expect("its folder was made");
    let recommended = place.path("x/recommended");
    let started = Command::new("sh")
        .arg(recommended.join("start.sh"))
        .output();
    let started = started.expect("sh runs").stdout;
    assert_eq!(String::from_utf8_lossy(&started), "cost 1other 1");
    let parameters = fs::read_to_string(recommended.join("parameters.toml"));
    assert_eq!(parameters.expect("written"), "a = 1\n");
}

#[test]
fn what_applies_the_recommended_configuration_is_a_script() {
    let place = Place::with(&format!(
        "[parameters.a]\ntype = \"integer\"\nvalues = [3, 1, 2]\n[parameters.b]\ntype = \"category\"\nvalues = [\"it's\"]\n\
         [commands]\nconfigure = [[\"sh\", \"-c\", 'echo \"$0\" {{{{a}}}} > now', \"{{{{b}}}}\"], \"grep -q 3 now && exit 7; echo shell {{{{a}}}} >> now\", \"exit 0\"]\n\
         [workload]\ncommand = \"tail -1 now | sed s/shell/cost/\"\n{COST}[trials]\nper_configuration = 1\n"
    ));
    assert_eq!(place.explore(&["--no-reasons"]).status, Some(0));
    fs::write(place.path("now"), "what was").expect("written");
    // As a command of its own: it may be executed.
    let applied = Command::new(place.path("x/recommended/configure.sh")).status();
    assert!(applied.expect("it runs").success());
    assert_eq!(place.lines("now"), ["it's 1", "shell 1"]);
    assert!(
        Command::new(place.path("x/recommended/start.sh"))
            .status()
            .expect("it runs")
            .success()
    );
}

#[test]
fn the_same_seed_gives_the_same_order() {
    let order = |seed: u32| {
        let place = Place::with(&format!(
            "{NUMBERS}[workload]\ncommand = \"echo {{{{a}}}}{{{{b}}}} >> order; echo cost 1\"\n{COST}[trials]\nper_configuration = 2\nseed = {seed}\n"
        ));
        assert_eq!(place.explore(&["--no-reasons"]).status, Some(0));
        place.lines("order")
    };
    let first = order(1);
    assert_eq!(first.len(), 24);
    assert_eq!(first, order(1));
    assert_ne!(first, order(2));
    let sorted = |part: &[String]| {
        part.iter()
            .cloned()
            .collect::<std::collections::BTreeSet<_>>()
    };
    assert_eq!(
        sorted(&first[..12]),
        sorted(&first[12..]),
        "every configuration once in each round"
    );
}

#[test]
fn failures_are_results_of_their_trials() {
    let place = Place::with(&format!(
        "[parameters.what]\ntype = \"category\"\nvalues = [\"good\", \"status\", \"hang\", \"silent\", \"crash\", \"early\", \"late\", \"apply\", \"loud\"]\n\
         [commands]\nconfigure = [\"test {{{{what}}}} != apply\"]\n\
         [system]\ncommand = '''case {{{{what}}}} in early) echo no room; exit 3;; late) sleep 60;; crash) echo up; sleep 0.3; kill -SEGV $$;; *) echo up; exec sleep 60;; esac'''\n\
         ready = {{ line = '^up$' }}\nready_timeout = \"2s\"\n\
         [workload]\ncommand = '''case {{{{what}}}} in status) echo broken pipes >&2; exit 7;; hang) sleep 60;; silent) ;; crash) sleep 60;; loud) truncate -s 300M /dev/stderr; sleep 60;; *) echo cost 1;; esac'''\ntimeout = \"3s\"\n\
         {COST}[trials]\nper_configuration = 1\nseed = 2\n"
    ));
    let left = place.explore(&["--no-reasons"]);
    assert_eq!(left.status, Some(0), "{}", left.stderr);
    let results = place.results();
    assert_eq!(
        (&results["trials"], &results["failed"]),
        (&9.into(), &8.into())
    );
    let outcome = |what: &str| {
        let rows = results["configurations"].as_array().expect("rows");
        let row = rows
            .iter()
            .find(|row| row["configuration"]["what"] == what)
            .expect(what);
        row["outcomes"]
            .as_object()
            .expect("outcomes")
            .keys()
            .next()
            .cloned()
            .unwrap_or_default()
    };
    let kinds = [
        ("good", "good"),
        ("status", "workload"),
        ("hang", "timed-out"),
        ("silent", "no-metric"),
        ("crash", "system-ended"),
        ("early", "system-ended"),
        ("late", "not-ready"),
        ("apply", "apply"),
        ("loud", "too-much-output"),
    ];
    for (what, expected) in kinds {
        assert_eq!(outcome(what), expected, "{what}");
    }
    let csv = place.explore(&["--results", "csv"]).stdout;
    assert!(
        csv.contains("the workload ended with status 7: broken pipes"),
        "{csv}"
    );
    assert!(
        csv.contains("the system ended with status 3 before it was ready: no room"),
        "{csv}"
    );
}

#[test]
fn killed_at_any_moment_it_goes_on_and_counts_nothing_twice() {
    let killed = killed_at_random(2, 200, 0);
    assert!(killed.explorers > 3, "{killed:?}");
    assert_eq!(killed.failed, 0, "{killed:?}");
}

/// Half a minute: `cargo test -p slowpath-cli --test explore -- --ignored --nocapture two_hundred`.
#[test]
#[ignore = "takes half a minute"]
fn two_hundred_kills_of_explorer_and_system_leave_no_wrong_result() {
    let killed = killed_at_random(25, 200, 2);
    assert!(killed.explorers + killed.systems >= 200, "{killed:?}");
    assert!((1..=killed.systems).contains(&killed.failed), "{killed:?}");
    use std::io::Write as _;
    let _ = writeln!(std::io::stderr(), "{killed:?}");
}

#[derive(Debug, Default)]
struct Killed {
    explorers: u64,
    systems: u64,
    /// Trials of which the system was gone.
    failed: u64,
}

/// So often at most, by SIGKILL: the explorer, with all that it collects, and one time of `system_each` the observed system
/// (never where 0). What is left then is gone on with, to the end.
fn killed_at_random(per_configuration: u64, most: u64, system_each: u64) -> Killed {
    // A system that goes into the background, leaves its group and changes its environment, as servers do.
    let sleeper = format!("{}.{}", 61 + system_each, std::process::id());
    let place = Place::with(&format!(
        "{NUMBERS}[system]\ncommand = '''setsid env -i sh -c 'echo $$ > {{{{scratch}}}}/up; exec sleep {sleeper}' >/dev/null 2>&1 & '''\n\
         ready = {{ command = \"test -s {{{{scratch}}}}/up\" }}\nstop = \"kill $(cat {{{{scratch}}}}/up) || true\"\n\
         [commands]\nbefore = [\"echo changed > state\"]\nrestore = [\"echo restored > state; echo once >> restored\"]\n\
         [workload]\ncommand = \"echo {{{{trial}}}} >> ran; sleep 0.02; grep -q sleep /proc/$(cat {{{{scratch}}}}/up)/cmdline && echo cost {{{{a}}}}\"\n\
         {COST}[trials]\nper_configuration = {per_configuration}\n",
    ));
    let mut chance = Chance(7);
    let mut killed = Killed::default();
    while killed.explorers + killed.systems < most {
        let resume: &[&str] = if place.path("x/exploration.sqlite").exists() {
            &["--resume", "--no-reasons"]
        } else {
            &["--no-reasons"]
        };
        let mut explorer = place
            .command(resume)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("slowpath starts");
        std::thread::sleep(Duration::from_millis(5 + chance.below(250) as u64));
        while system_each > 0 && chance.below(system_each as usize) > 0 {
            killed.systems += kill_sleepers(&sleeper);
            std::thread::sleep(Duration::from_millis(5 + chance.below(100) as u64));
        }
        if let Ok(Some(status)) = explorer.try_wait() {
            assert_eq!(status.code(), Some(0), "after {killed:?}");
            break;
        }
        kill(&explorer, "-KILL");
        explorer.wait().expect("it ended");
        killed.explorers += 1;
        if killed.explorers % 10 == 0 {
            wait_until("the guardian's end", || {
                running(&sleeper) == 0 && running(&format!("{}", place.path("x").display())) == 0
            });
            let state = place.lines("state");
            assert!(
                state.is_empty() || state == ["restored"],
                "{state:?} after {killed:?}"
            );
        }
    }
    let left = place.explore(&["--resume", "--no-reasons"]);
    assert_eq!(left.status, Some(0), "{}", left.stderr);
    let results = place.results();
    assert_eq!(
        results["trials"],
        12 * per_configuration,
        "after {killed:?}"
    );
    killed.failed = results["failed"].as_u64().expect("a number");
    let rows = results["configurations"].as_array().expect("rows");
    assert_eq!(rows.len(), 12);
    for row in rows {
        let outcomes = row["outcomes"].as_object().expect("by kind");
        let all = outcomes.values().filter_map(Value::as_u64).sum::<u64>();
        assert_eq!(all, per_configuration, "{row}");
        assert_eq!(
            row["metrics"]["cost"]["mean"].as_f64(),
            row["configuration"]["a"].as_f64(),
            "{row}"
        );
    }
    assert!(place.lines("ran").len() as u64 >= 12 * per_configuration);
    assert_eq!(place.lines("state"), ["restored"]);
    assert_eq!(running(&sleeper), 0, "a system was left running");
    killed
}

#[test]
fn interrupted_it_restores_and_says_how_to_go_on() {
    let place = Place::with(&format!(
        "{NUMBERS}[commands]\nrestore = [\"echo restored >> restored\"]\n[workload]\ncommand = \"sleep 0.1; echo cost 1\"\n{COST}"
    ));
    let explorer = place
        .command(&["--no-reasons"])
        .spawn()
        .expect("slowpath starts");
    wait_until("the first trial", || {
        place.path("x/output/00001.workload.out").exists()
    });
    kill(&explorer, "-INT");
    let output = explorer.wait_with_output().expect("it ended");
    assert_eq!(output.status.code(), Some(130));
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(
        said.contains("of 36 planned trials; --resume goes on"),
        "{said}"
    );
    assert_eq!(place.lines("restored").len(), 1);
    let again = place.explore(&[]);
    assert_eq!(again.status, Some(2));
    assert!(
        again.stderr.contains("stopped after") && again.stderr.contains("hint: --resume goes on"),
        "{}",
        again.stderr
    );
    assert_eq!(
        place
            .explore(&["--resume", "--no-reasons", "--trials", "4"])
            .status,
        Some(0)
    );
    assert_eq!(place.results()["trials"], 4);
    assert_eq!(place.lines("restored").len(), 2);
}

/// Starts the explorer, sends it SIGINT when `is_so`, and gives what it left; within seconds.
fn interrupted(place: &Place, arguments: &[&str], is_so: impl Fn() -> bool) -> Left {
    let explorer = place.command(arguments).spawn().expect("slowpath starts");
    wait_until("the moment to interrupt", is_so);
    let begin = Instant::now();
    kill(&explorer, "-INT");
    let output = explorer.wait_with_output().expect("it ended");
    // What hangs in these tests would hang for a minute.
    assert!(begin.elapsed() < Duration::from_secs(30), "it was deaf");
    Left {
        status: output.status.code(),
        stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
        stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
    }
}

#[test]
fn it_is_interrupted_while_it_waits_for_a_sign_of_readiness() {
    let place = Place::with(&format!(
        "{NUMBERS}[system]\ncommand = \"sleep 60\"\nready = {{ command = \"echo asked >> asked; sleep 3; false\" }}\nready_timeout = \"60s\"\n\
         [workload]\ncommand = \"echo cost 1\"\n{COST}"
    ));
    let left = interrupted(&place, &["--no-reasons"], || place.path("asked").exists());
    assert_eq!(left.status, Some(130), "{}", left.stderr);
}

#[test]
fn a_policy_that_hangs_is_interrupted_and_ends_with_a_killed_explorer() {
    let place = Place::with(&format!(
        "{NUMBERS}[workload]\ncommand = \"echo cost 1\"\n{COST}[policy]\nname = \"python\"\nfile = \"p.py\"\n"
    ));
    let mark = format!("p{}.py", std::process::id());
    fs::write(
        place.path("s.toml"),
        fs::read_to_string(place.path("s.toml"))
            .expect("written")
            .replace("p.py", &mark),
    )
    .expect("written");
    let policy = "import time\nfrom slowpath_policy import Policy\nclass Slow(Policy):\n    def next(self):\n        open('asked', 'w').close()\n        time.sleep(60)\n";
    fs::write(
        place.path(&mark),
        policy.replace("'asked'", &format!("{:?}", place.path("asked"))),
    )
    .expect("written");
    if Command::new("python3").arg("--version").output().is_err() {
        return skip("there is no python3");
    }
    let left = interrupted(&place, &["--no-reasons"], || place.path("asked").exists());
    assert_eq!(left.status, Some(130), "{}", left.stderr);
    fs::remove_file(place.path("asked")).expect("it was there");
    let mut explorer = place
        .command(&["--resume", "--no-reasons"])
        .spawn()
        .expect("slowpath starts");
    wait_until("the policy", || place.path("asked").exists());
    kill(&explorer, "-KILL");
    explorer.wait().expect("it ended");
    wait_until("the end of the policy", || running(&mark) == 0);
}

#[test]
fn what_could_not_be_restored_is_told_also_after_an_interruption() {
    let place = Place::with(&format!(
        "{NUMBERS}[commands]\nrestore = [\"echo no way back; false\"]\n[workload]\ncommand = \"echo > began; sleep 60; echo cost 1\"\n{COST}"
    ));
    let left = interrupted(&place, &["--no-reasons"], || place.path("began").exists());
    assert_eq!(left.status, Some(2), "{}", left.stderr);
    for expected in [
        "before that: interrupted by SIGINT",
        "could not be restored",
        "hint: ",
    ] {
        assert!(left.stderr.contains(expected), "{}", left.stderr);
    }
    // The terminal interrupts whoever is in the explorer's process group.
    let place = Place::with(&format!(
        "{NUMBERS}[commands]\nrestore = [\"cut -d' ' -f5 /proc/self/stat > group; ps -o pgid= -p $PPID > explorers; true\"]\n[workload]\ncommand = \"echo cost 1\"\n{COST}"
    ));
    assert_eq!(
        place.explore(&["--no-reasons", "--trials", "1"]).status,
        Some(0)
    );
    assert_ne!(
        place.lines("group")[0].trim(),
        place.lines("explorers")[0].trim()
    );
}

#[test]
fn a_changed_template_ends_an_exploration_and_its_results_stay() {
    let text = format!(
        "[parameters.a]\ntype = \"integer\"\nvalues = [1, 2]\n[[files]]\npath = \"{{{{scratch}}}}/x\"\ntemplate = \"x.in\"\n\
         [workload]\ncommand = \"cat {{{{scratch}}}}/x\"\n{COST}"
    );
    let place = Place::with(&text);
    fs::write(place.path("x.in"), "cost {{a}}\n").expect("written");
    let first = place.explore(&["--no-reasons", "--trials", "3"]);
    assert_eq!(first.status, Some(0), "{}", first.stderr);
    fs::write(place.path("x.in"), "cost {{a + 100}}\n").expect("written");
    for (arguments, status) in [
        (["--resume", "--no-reasons"], 2),
        (["--results", "json"], 0),
    ] {
        let left = place.explore(&arguments);
        assert_eq!(left.status, Some(status), "{arguments:?}");
        let told = "or a template of it has";
        assert!(left.stderr.contains(told), "{}", left.stderr);
    }
    // What was measured does not change with the file.
    assert_eq!(place.results()["trials"], 3);
    fs::write(place.path("x.in"), "cost {{a}}\n").expect("written");
    let turned = text.replace("minimise", "maximise");
    fs::write(place.path("s.toml"), turned).expect("written");
    let left = place.explore(&["--results", "json"]);
    assert_eq!(left.status, Some(0));
    assert!(
        left.stderr.contains("judges the trials otherwise"),
        "{}",
        left.stderr
    );
    fs::write(place.path("s.toml"), &text).expect("written");
    let left = place.explore(&["--resume", "--no-reasons"]);
    assert_eq!(left.status, Some(0), "{}", left.stderr);
    assert_eq!(place.explore(&["--results", "json"]).stderr, "");
}

#[test]
fn a_policy_that_cannot_start_costs_no_results() {
    let text = format!(
        "{NUMBERS}[workload]\ncommand = \"echo cost 1\"\n{COST}[trials]\nper_configuration = 1\n"
    );
    let place = Place::with(&text);
    let with_policy = format!("{text}[policy]\nname = \"python\"\nfile = \"p.py\"\n");
    fs::write(place.path("p.py"), "this is no Python\n").expect("written");
    fs::write(place.path("s.toml"), &with_policy).expect("written");
    assert_eq!(place.explore(&["--no-reasons"]).status, Some(2));
    assert!(!place.path("x").exists(), "nothing has begun");
    fs::write(place.path("s.toml"), &text).expect("written");
    assert_eq!(place.explore(&["--no-reasons"]).status, Some(0));
    fs::write(place.path("s.toml"), &with_policy).expect("written");
    assert_eq!(
        place.explore(&["--overwrite", "--no-reasons"]).status,
        Some(2)
    );
    fs::write(place.path("s.toml"), &text).expect("written");
    assert_eq!(place.results()["trials"], 12);
}

#[test]
fn what_cannot_work_is_told_at_once() {
    let place = Place::with(&format!(
        "{NUMBERS}[commands]\nbefore = [\"no-such-program\"]\nrestore = [\"echo restored > state\"]\n[workload]\ncommand = \"echo cost 1\"\n{COST}"
    ));
    let left = place.explore(&["--no-reasons"]);
    assert_eq!(left.status, Some(2));
    let expected = "error: the first 3 trials all failed alike: the command `sh -c no-such-program` ended with status 127";
    assert!(
        left.stderr.contains(expected) && left.stderr.contains("hint:"),
        "{}",
        left.stderr
    );
    assert_eq!(place.lines("state"), ["restored"]);
    fs::write(
        place.path("s.toml"),
        format!("{NUMBERS}[workload]\ncommand = \"echo cost 2\"\n{COST}"),
    )
    .expect("written");
    let changed = place.explore(&["--resume"]);
    assert!(
        changed.status == Some(2) && changed.stderr.contains("the specification has changed"),
        "{}",
        changed.stderr
    );
    assert_eq!(
        place.explore(&["--overwrite", "--no-reasons"]).status,
        Some(0)
    );
    fs::write(
        place.path("s.toml"),
        format!("{NUMBERS}[workload]\ncommand = \"echo cost 2\"\n{COST}max = 3\n"),
    )
    .expect("written");
    let wrong = place.explore(&["--check"]);
    assert!(
        wrong.status == Some(2) && wrong.stderr.contains("s.toml:15: unknown field `max`"),
        "{}",
        wrong.stderr
    );
    assert_eq!(
        Place::with("x").explore(&["--results", "json"]).status,
        Some(2)
    );
}

#[test]
fn a_policy_stops_runs_that_have_told_enough() {
    let place = Place::with(&format!(
        "{NUMBERS}[workload]\ncommand = \"for i in 1 2 3 4 5 6 7 8 9; do echo cost {{{{a}}}}; sleep 0.2; done\"\n{COST}[trials]\nper_configuration = 1\n[policy]\nname = \"python\"\nfile = \"p.py\"\n"
    ));
    let policy = "from slowpath_policy import Policy\nclass One(Policy):\n    def next(self):\n        return None if len(self.results) > 1 else {'a': 2 + len(self.results), 'b': 1}\n    def stop_run(self, configuration, metric, value):\n        return configuration['a'] == 2\n    def conclusions(self):\n        return [self.results[0]['outcome']]\n";
    fs::write(place.path("p.py"), policy).expect("written");
    let left = place.explore(&["--no-reasons"]);
    if left.stderr.contains("python3: No such file") {
        return skip("there is no python3");
    }
    assert_eq!(left.status, Some(0), "{}", left.stderr);
    let results = place.results();
    assert_eq!(results["conclusions"][0], "stopped");
    // What ran to its end is the best there is, though the one that was stopped had told of less cost.
    let [best, stopped] = [0, 1].map(|place| &results["configurations"][place]);
    assert_eq!(
        (&best["configuration"]["a"], &best["rank"]),
        (&3.into(), &1.into())
    );
    assert_eq!(
        (&stopped["outcomes"]["stopped"], &stopped["rank"]),
        (&1.into(), &Value::Null)
    );
}

#[test]
fn a_run_that_is_stopped_has_not_failed_to_print_what_comes_at_its_end() {
    let place = Place::with(&format!(
        "{NUMBERS}[workload]\ncommand = \"for i in 1 2 3; do echo cost {{{{a}}}}; sleep 0.2; done; echo total 7\"\n{COST}[metrics.total]\nregex = 'total ([0-9]+)'\n[trials]\nper_configuration = 1\n[policy]\nname = \"python\"\nfile = \"p.py\"\n"
    ));
    let policy = "from slowpath_policy import Policy\nclass One(Policy):\n    def next(self):\n        return None if self.results else [{'a': a, 'b': 1} for a in (1, 2, 3, 4)]\n    def stop_run(self, configuration, metric, value):\n        return configuration['a'] > 1\n    def conclusions(self):\n        return [str(sorted(one['metrics'].items())) for one in self.results if one['outcome'] == 'stopped']\n";
    fs::write(place.path("p.py"), policy).expect("written");
    let left = place.explore(&["--no-reasons"]);
    if left.stderr.contains("python3: No such file") {
        return skip("there is no python3");
    }
    assert_eq!(left.status, Some(0), "{}", left.stderr);
    let results = place.results();
    assert_eq!(results["failed"], 0, "{results}");
    let told = results["conclusions"].as_array().expect("sentences");
    let mut told: Vec<&str> = told.iter().filter_map(Value::as_str).collect();
    told.sort_unstable();
    assert_eq!(
        told,
        ["[('cost', 2.0)]", "[('cost', 3.0)]", "[('cost', 4.0)]"]
    );
}

#[test]
fn processor_time_of_system_and_workload_are_told_apart() {
    let busy = "i=0; while [ $i -lt 60000 ]; do i=$((i+1)); done";
    let place = Place::with(&format!(
        "[parameters.who]\ntype = \"category\"\nvalues = [\"system\", \"workload\"]\n\
         [system]\ncommand = '''echo up; [ {{{{who}}}} = system ] || sleep 60; while :; do :; done'''\nready = {{ line = \"up\" }}\n\
         [workload]\ncommand = '''if [ {{{{who}}}} = system ]; then sleep 0.3; else {busy}; fi'''\n\
         [metrics]\nsystem = {{ measure = \"system-cpu\" }}\nworkload = {{ measure = \"workload-cpu\" }}\nwall = {{ measure = \"wall\" }}\n[[objectives]]\nminimise = \"wall\"\n[trials]\nper_configuration = 1\n"
    ));
    let left = place.explore(&["--no-reasons"]);
    assert_eq!(left.status, Some(0), "{}", left.stderr);
    let results = place.results();
    for row in results["configurations"].as_array().expect("rows") {
        let mean = |metric: &str| row["metrics"][metric]["mean"].as_f64().expect("a number");
        let who = row["configuration"]["who"].as_str().expect("a word");
        let (busy, idle) = if who == "system" {
            ("system", "workload")
        } else {
            ("workload", "system")
        };
        assert!(mean(busy) > 4.0 * mean(idle) && mean(busy) > 0.01, "{row}");
    }
}

/// A small file system at the place of results; whether that can be had.
fn mounted(disk: &Path, size: &str) -> bool {
    fs::create_dir(disk).expect("a folder");
    let mounted = Command::new("mount")
        .args(["-t", "tmpfs", "-o", &format!("size={size}"), "none"])
        .arg(disk)
        .status();
    mounted.is_ok_and(|status| status.success())
}

fn unmount(disk: &Path) {
    let _ = Command::new("umount").arg("--lazy").arg(disk).status();
}

#[test]
fn a_full_disk_is_told_and_what_was_kept_is_right() {
    // Full of what is kept; or of what a trial writes and its end would remove, so that only its output is missing.
    let workloads = [
        "head -c 150000 /dev/zero; echo; echo cost 1",
        "[ {{trial}} != 5 ] || head -c 2000000 /dev/zero > {{scratch}}/data 2>/dev/null; echo cost 1; echo cost 2 || true",
    ];
    for workload in workloads {
        let place = Place::with(&format!(
            "{NUMBERS}[workload]\ncommand = '''{workload}'''\n{COST}"
        ));
        let disk = place.path("x");
        if !mounted(&disk, "1m") {
            return skip("no file system can be mounted");
        }
        let left = place.explore(&["--no-reasons"]);
        let kept = place.explore(&["--results", "csv"]).stdout;
        unmount(&disk);
        assert_ne!(left.status, Some(0), "{workload}");
        assert!(
            left.stderr.contains("hint: the disk is full") || left.stderr.contains("No space left"),
            "{}",
            left.stderr
        );
        let good = kept.lines().filter(|line| line.contains(",good,")).count();
        assert!((1..36).contains(&good), "{kept}");
        assert_eq!(kept.lines().count(), 1 + good, "{kept}");
    }
}
