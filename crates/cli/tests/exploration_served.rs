//! What `slowpath serve` answers of an exploration agrees with what `slowpath explore` prints, also while it runs and after
//! it was killed.
//!
//! Small scripts are explored, so that the answer is known.

mod support;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::{Value, json};
use support::server::Server;
use support::{slowpath, wait_until};

const PARAMETERS: &str = "[parameters.a]\ntype = \"integer\"\nmin = 1\nmax = 4\n\
                          [parameters.mode]\ntype = \"category\"\nvalues = [\"slow\", \"fast\"]\n";
const METRICS: &str = "[metrics.cost]\nregex = 'cost ([0-9.]+)'\nunit = \"s\"\n[[objectives]]\nminimise = \"cost\"\n\
                       [trials]\nper_configuration = 2\n";

/// A folder with a specification, a template, and the exploration of it in `x`.
fn place(workload: &str) -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let specification = format!(
        "{PARAMETERS}[[files]]\npath = \"{{{{scratch}}}}/f.conf\"\ntemplate = \"f.in\"\n\
         [workload]\ncommand = '''{workload}'''\n{METRICS}"
    );
    fs::write(folder.path().join("s.toml"), specification).expect("written");
    fs::write(folder.path().join("f.in"), "a = {{a}}\n").expect("written");
    let explored = folder.path().join("x");
    (folder, explored)
}

fn explore(folder: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_slowpath"));
    command.arg("explore").arg(folder.join("s.toml"));
    command.arg("-o").arg(folder.join("x")).args(arguments);
    command.stdin(Stdio::null());
    command.stdout(Stdio::piped()).stderr(Stdio::null());
    command
}

fn results(folder: &Path) -> Value {
    let told = explore(folder, &["--results", "json"]).output();
    serde_json::from_slice(&told.expect("slowpath runs").stdout).expect("JSON")
}

/// Fails where `a` is 4; else the cost is known.
const KNOWN: &str = "grep -qx 'a = {{a}}' {{scratch}}/f.conf && test {{a}} != 4 && \
                     awk 'BEGIN { print \"cost\", 10 + 5 * ({{a}} - 3) ^ 2 + (\"{{mode}}\" == \"slow\") }' ";

#[test]
fn what_is_served_is_what_the_command_tells() {
    let (folder, explored) = place(KNOWN);
    let ran = explore(folder.path(), &["--no-reasons"]).status();
    assert!(ran.expect("slowpath runs").success());
    let server = Server::of(&explored);
    assert_eq!(server.get("/api/recording")["has_exploration"], true);
    let progress = server.get("/api/exploration/progress");
    assert_eq!(progress["state"], "ended");
    assert_eq!(
        (&progress["planned"], &progress["ended"]),
        (&json!(16), &json!(16))
    );

    let told = server.get("/api/exploration");
    let expected = results(folder.path());
    let own = told["results"].as_object().expect("an object");
    for (key, value) in own {
        // It has no name of its own, and is called by its folder here, by its file there.
        if key != "name" {
            assert_eq!(value, &expected[key], "{key}");
        }
    }
    assert_eq!(told["results"]["failed"], 4);
    assert_eq!(told["conclusions"], expected["conclusions"]);
    let best = &told["results"]["configurations"][0];
    assert_eq!(best["configuration"], json!({"a": 3, "mode": "fast"}));
    assert_eq!(told["parameters"][0]["values"], json!([1, 2, 3, 4]));
    assert_eq!(told["parameters"][1]["values"], json!(["slow", "fast"]));
    let trials = told["trials"].as_array().expect("a list");
    assert_eq!(trials.len(), 16);
    for trial in trials {
        let place = trial["configuration"].as_u64().expect("a place") as usize;
        let row = &told["results"]["configurations"][place];
        let mean = &row["metrics"]["cost"]["mean"];
        match trial["outcome"] == "good" {
            true => assert_eq!(
                (&trial["measures"]["cost"], &trial["deviations"]["cost"]),
                (mean, &json!(0.0))
            ),
            false => assert!(row["configuration"]["a"] == 4 && trial["words"] != ""),
        }
    }
    // The files are those that it has written.
    let files = told["recommended"]["files"].as_array().expect("a list");
    let text = |path: &str| {
        let file = files.iter().find(|file| file["path"] == path);
        file.unwrap_or_else(|| panic!("{path} of {files:?}"))["text"].clone()
    };
    assert_eq!(text("parameters.toml"), "a = 3\nmode = \"fast\"\n");
    assert_eq!(text("scratch/f.conf"), "a = 3\n");
    let script = fs::read_to_string(explored.join("recommended/start.sh")).expect("written");
    assert_eq!(text("start.sh"), script);
}

#[test]
fn a_heat_map_has_every_mean_at_its_place() {
    let (folder, explored) = place(KNOWN);
    let ran = explore(folder.path(), &["--no-reasons"]).status();
    assert!(ran.expect("slowpath runs").success());
    let server = Server::of(&explored);
    let map = server.get("/api/exploration/heat-map");
    // `a` matters most.
    assert_eq!(
        (&map["x"]["parameter"], &map["y"]["parameter"]),
        (&json!("a"), &json!("mode"))
    );
    assert_eq!(map["x"]["labels"], json!(["1", "2", "3", "4"]));
    let cells = map["panels"][0]["cells"].as_array().expect("a list");
    assert_eq!(cells.len(), 8);
    for cell in cells {
        let (x, y) = (
            cell["x"].as_i64().expect("a place"),
            cell["y"].as_i64().expect("a place"),
        );
        let expected = match x {
            3 => Value::Null,
            _ => json!((10 + 5 * (x - 2).pow(2) + (1 - y)) as f64),
        };
        assert_eq!(cell["mean"], expected, "{cell}");
        assert_eq!(cell["failed"], if x == 3 { 2 } else { 0 });
    }
    let other = server.get("/api/exploration/heat-map?x=mode&y=a&metric=cost&by=,");
    assert_eq!(other["x"]["labels"], json!(["slow", "fast"]));
    assert_eq!(
        other["panels"][0]["cells"].as_array().map(Vec::len),
        Some(8)
    );
    for (question, told) in [
        ("x=nothing", "its parameters are a, mode"),
        ("metric=nothing", "its metrics are cost"),
        ("x=a&y=a", "different parameters"),
    ] {
        let refused = server.ask(
            "GET",
            &format!("/api/exploration/heat-map?{question}"),
            "",
            "",
        );
        assert_eq!(refused.status, 400, "{question}");
        let detail = refused.json()["detail"]
            .as_str()
            .unwrap_or_default()
            .to_owned();
        assert!(detail.contains(told), "{question}: {detail}");
    }
}

#[test]
fn it_is_seen_while_it_runs_and_after_it_was_killed() {
    let (folder, explored) = place("sleep 0.05; echo cost 1");
    let mut explorer = explore(folder.path(), &["--no-reasons"])
        .spawn()
        .expect("slowpath runs");
    wait_until("a first trial", || {
        explored.join("exploration.sqlite").exists()
    });
    let server = Server::of(&explored);
    let progress = || server.get("/api/exploration/progress");
    wait_until("two trials", || progress()["ended"].as_u64() >= Some(2));
    let seen = progress();
    assert_eq!(seen["state"], "running", "{seen}");
    let ended = seen["ended"].as_u64().expect("a number");
    let told = server.get(&format!(
        "/api/exploration?revision={}",
        seen["revision"].as_str().unwrap_or_default()
    ));
    assert!(told["results"]["trials"].as_u64() >= Some(ended), "{told}");
    explorer.kill().expect("killed");
    explorer.wait().expect("waited for");
    let cut = progress();
    assert_eq!(
        (&cut["state"], &cut["running"]),
        (&json!("interrupted"), &Value::Null)
    );
    assert_ne!(cut["revision"], seen["revision"]);
    // It goes on, and the same server sees it.
    let resumed = explore(folder.path(), &["--no-reasons", "--resume"]).status();
    assert!(resumed.expect("slowpath runs").success());
    let over = progress();
    assert_eq!(
        (&over["state"], &over["ended"]),
        (&json!("ended"), &json!(16))
    );
    assert_eq!(server.get("/api/exploration")["results"]["trials"], 16);
}

#[test]
fn what_cannot_be_shown_is_said_before_anything_is_served() {
    let (folder, explored) = place("echo cost 1");
    let ran = explore(folder.path(), &["--no-reasons"]).status();
    assert!(ran.expect("slowpath runs").success());
    let other = folder.path().join("y");
    fs::create_dir(&other).expect("made");
    fs::copy(
        explored.join("exploration.sqlite"),
        other.join("exploration.sqlite"),
    )
    .expect("copied");
    let other = other.display().to_string();
    let two = slowpath(&["serve", "--port", "0", &other], &explored);
    assert!(
        two.status != Some(0) && two.stderr.contains("only one exploration"),
        "{}",
        two.stderr
    );
    fs::write(explored.join("exploration.sqlite"), "x".repeat(5000)).expect("written");
    let damaged = slowpath(&["serve", "--port", "0"], &explored);
    assert!(
        damaged.status != Some(0) && damaged.stderr.contains("damaged"),
        "{}",
        damaged.stderr
    );
    assert!(damaged.stderr.contains("hint:"), "{}", damaged.stderr);
}
