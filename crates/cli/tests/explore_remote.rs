//! `slowpath explore` with an agent in another network namespace: the same results as without, whatever becomes of the link, of
//! the explorer and of the agent. Skips where namespaces cannot be made.

mod support;

use std::fs;
use std::path::PathBuf;
use std::process::{Child, Command, Output, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use serde_json::Value;
use support::{probed, skip, wait_until};

const TOKEN: &str = "a token of sufficient length";

/// Two namespaces with a link between them, and a folder.
struct Networks {
    here: String,
    there: String,
    folder: tempfile::TempDir,
}

fn ip(words: &str) -> bool {
    let words: Vec<&str> = words.split(' ').collect();
    let output = Command::new("ip").args(words).stdin(Stdio::null()).output();
    output.is_ok_and(|output| output.status.success())
}

impl Networks {
    fn new() -> Option<Self> {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let name = format!("{}-{number}", std::process::id());
        let networks = Self {
            here: format!("sp-e-{name}"),
            there: format!("sp-a-{name}"),
            folder: tempfile::tempdir().expect("a temporary folder"),
        };
        let (here, there) = (&networks.here, &networks.there);
        let made = ip(&format!("netns add {here}"))
            && ip(&format!("netns add {there}"))
            && ip(&format!(
                "-n {here} link add l0 type veth peer name l1 netns {there}"
            ))
            && ip(&format!("-n {here} addr add 10.213.77.1/30 dev l0"))
            && ip(&format!("-n {there} addr add 10.213.77.2/30 dev l1"))
            && ip(&format!("-n {here} link set l0 up"))
            && ip(&format!("-n {there} link set l1 up"))
            && ip(&format!("netns exec {here} true"));
        if !made {
            skip("network namespaces cannot be made");
            return None;
        }
        fs::write(networks.path("token"), TOKEN).expect("written");
        fs::create_dir(networks.path("there")).expect("made");
        Some(networks)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Has the link up or down.
    fn link(&self, state: &str) {
        assert!(
            ip(&format!("-n {} link set l0 {state}", self.here)),
            "link {state}"
        );
    }

    fn slowpath(&self, namespace: &str) -> Command {
        let mut command = Command::new("ip");
        command.args([
            "netns",
            "exec",
            namespace,
            env!("CARGO_BIN_EXE_slowpath"),
            "explore",
        ]);
        command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command
    }

    /// An agent that listens, in the folder `there`.
    fn agent(&self) -> Killed {
        let mut command = self.slowpath(&self.there);
        command
            .current_dir(self.path("there"))
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        command
            .args(["--agent", "10.213.77.2:7400", "--token-file"])
            .arg(self.path("token"));
        let agent = Killed(command.spawn().expect("it starts"));
        wait_until("the agent", || {
            let mut probe = Command::new("ip");
            probe.args([
                "netns",
                "exec",
                &self.there,
                "grep",
                "-q",
                ":1CE8 ",
                "/proc/net/tcp",
            ]);
            probe.status().is_ok_and(|status| status.success())
        });
        agent
    }

    fn write(&self, specification: &str, agent: &str) {
        fs::write(self.path("s.toml"), format!("{agent}{specification}")).expect("written");
    }

    fn command(&self, output: &str, arguments: &[&str]) -> Command {
        let mut command = self.slowpath(&self.here);
        command
            .arg(self.path("s.toml"))
            .arg("-o")
            .arg(self.path(output));
        command.args(arguments).current_dir(self.folder.path());
        command
    }

    fn explore(&self, output: &str, arguments: &[&str]) -> Output {
        self.command(output, arguments)
            .output()
            .expect("slowpath runs")
    }

    fn results(&self, output: &str) -> Value {
        let told = self.explore(output, &["--results", "json"]);
        serde_json::from_slice(&told.stdout).unwrap_or_else(|_| panic!("{}", text(&told.stderr)))
    }

    /// What workloads wrote in the agent's folder, a line for each time that one ran.
    fn ran(&self) -> usize {
        fs::read_to_string(self.path("there/ran"))
            .unwrap_or_default()
            .lines()
            .count()
    }
}

impl Drop for Networks {
    fn drop(&mut self) {
        ip(&format!("netns del {}", self.here));
        ip(&format!("netns del {}", self.there));
    }
}

/// Ended when nobody needs it any more.
struct Killed(Child);

impl Drop for Killed {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn agent(patience: &str) -> String {
    format!(
        "[agent]\naddress = \"10.213.77.2:7400\"\ntoken_file = \"token\"\npatience = \"{patience}\"\n"
    )
}

/// A workload that takes some seconds, and says each time that it ran.
const SLOW: &str = "[parameters.a]\ntype = \"integer\"\nvalues = [1, 2, 3]\n\
    [commands]\nrestore = [\"echo restored >> restored\"]\n\
    [workload]\ncommand = \"echo {{a}} >> ran; sleep 2; echo cost {{a}}\"\n\
    [metrics.cost]\nregex = 'cost ([0-9]+)'\n[[objectives]]\nminimise = \"cost\"\n[trials]\nper_configuration = 1\n";

/// The columns of `--results csv` that do not depend on time.
fn order(networks: &Networks, output: &str) -> Vec<String> {
    let csv = text(&networks.explore(output, &["--results", "csv"]).stdout);
    let columns = |line: &str| line.split(',').take(5).collect::<Vec<_>>().join(",");
    csv.lines().map(columns).collect()
}

#[test]
fn an_agent_gives_the_results_that_there_are_without() {
    let Some(networks) = Networks::new() else {
        return;
    };
    let Some(program) = probed::program() else {
        return;
    };
    let specification = format!(
        "[parameters.n]\ntype = \"integer\"\nvalues = [50, 100]\n[parameters.wait]\ntype = \"integer\"\nvalues = [500, 2000]\n\
         [[files]]\npath = \"{{{{scratch}}}}/n\"\ntemplate = \"n.in\"\n\
         [workload]\ncommand = \"{} $(cat {{{{scratch}}}}/n) 2 {{{{wait}}}}\"\n\
         [metrics.rows]\nprobe = \"rows\"\ntype = \"CNT\"\n[metrics.each]\nprobe = \"query\"\ntype = \"LAT\"\ntake = \"median\"\n\
         [[objectives]]\nminimise = \"rows\"\n[trials]\nper_configuration = 2\n",
        program.display()
    );
    fs::write(networks.path("n.in"), "{{n}}").expect("written");
    networks.write(&specification, "");
    let left = networks.explore("local", &["--no-reasons"]);
    assert!(left.status.success(), "{}", text(&left.stderr));
    networks.write(&specification, &agent("20s"));
    let running = networks.agent();
    let left = networks.explore("remote", &[]);
    assert!(left.status.success(), "{}", text(&left.stderr));
    assert!(
        text(&left.stdout).contains("no reasons are looked for"),
        "{}",
        text(&left.stdout)
    );
    // Trials and configurations in the same order; counts are the same, times alike.
    let with_rows = |output: &str| {
        let csv = text(&networks.explore(output, &["--results", "csv"]).stdout);
        let columns = |line: &str| {
            let cells: Vec<String> = line.split(',').map(str::to_owned).collect();
            [&cells[..5], &cells[6..7]].concat()
        };
        csv.lines().map(columns).collect::<Vec<_>>()
    };
    assert_eq!(with_rows("local"), with_rows("remote"));
    for row in networks.results("remote")["configurations"]
        .as_array()
        .expect("rows")
    {
        let each = row["metrics"]["each"]["mean"].as_f64().expect("a mean");
        let wait = row["configuration"]["wait"].as_f64().expect("a number") * 1e-6;
        assert!(each >= wait && each < 20.0 * wait, "{row}");
    }
    assert!(
        networks
            .path("there/slowpath-agent/output/00001.workload.out")
            .exists()
    );
    drop(running);
}

#[test]
fn a_link_that_is_cut_and_restored_costs_nothing() {
    let Some(networks) = Networks::new() else {
        return;
    };
    networks.write(SLOW, &agent("60s"));
    let running = networks.agent();
    let explorer = networks.command("x", &[]).spawn().expect("it starts");
    wait_until("a second trial", || networks.ran() == 2);
    networks.link("down");
    std::thread::sleep(Duration::from_secs(6));
    networks.link("up");
    let left = explorer.wait_with_output().expect("it ends");
    assert!(left.status.success(), "{}", text(&left.stderr));
    let results = networks.results("x");
    assert_eq!(
        (&results["trials"], &results["failed"]),
        (&3.into(), &0.into()),
        "{results}"
    );
    assert_eq!(networks.ran(), 3, "each ran once");
    assert_eq!(
        fs::read_to_string(networks.path("there/restored")).expect("restored"),
        "restored\n"
    );
    drop(running);
}

#[test]
fn a_link_that_stays_cut_counts_against_nothing_and_the_exploration_goes_on_later() {
    let Some(networks) = Networks::new() else {
        return;
    };
    networks.write(SLOW, &agent("6s"));
    let running = networks.agent();
    let explorer = networks.command("x", &[]).spawn().expect("it starts");
    wait_until("a second trial", || networks.ran() == 2);
    networks.link("down");
    let left = explorer.wait_with_output().expect("it ends");
    let stderr = text(&left.stderr);
    assert_eq!(left.status.code(), Some(2), "{stderr}");
    assert!(
        stderr.contains("the agent at 10.213.77.2:7400: it could not be reached for 6s"),
        "{stderr}"
    );
    assert!(stderr.contains("--resume goes on"), "{stderr}");
    networks.link("up");
    let left = networks.explore("x", &["--resume", "--no-reasons"]);
    assert!(left.status.success(), "{}", text(&left.stderr));
    let results = networks.results("x");
    assert_eq!(
        (&results["trials"], &results["failed"]),
        (&3.into(), &0.into()),
        "{results}"
    );
    assert_eq!(
        order(&networks, "x")
            .iter()
            .filter(|line| line.contains("unreachable"))
            .count(),
        0
    );
    drop(running);
}

#[test]
fn killed_explorers_and_agents_leave_nothing_counted_twice() {
    let Some(networks) = Networks::new() else {
        return;
    };
    networks.write(SLOW, &agent("30s"));
    let running = networks.agent();
    let mut explorer = networks.command("x", &[]).spawn().expect("it starts");
    wait_until("a trial", || networks.ran() == 1);
    explorer.kill().expect("killed");
    let _ = explorer.wait();
    let explorer = networks
        .command("x", &["--resume"])
        .spawn()
        .expect("it starts");
    // The first trial is run again.
    wait_until("the trial after", || networks.ran() == 3);
    drop(running);
    let running = networks.agent();
    let left = explorer.wait_with_output().expect("it ends");
    assert!(left.status.success(), "{}", text(&left.stderr));
    let results = networks.results("x");
    assert_eq!(
        (&results["trials"], &results["failed"]),
        (&3.into(), &0.into()),
        "{results}"
    );
    assert_eq!(
        networks.ran(),
        5,
        "the trials that were cut short ran again, and no other"
    );
    drop(running);
}

#[test]
fn strangers_are_told_to_stay_away() {
    let run = |address: &str, token: &str| {
        let folder = tempfile::tempdir().expect("a temporary folder");
        fs::write(folder.path().join("token"), token).expect("written");
        let mut command = Command::new(env!("CARGO_BIN_EXE_slowpath"));
        command.args(["explore", "--agent", address, "--token-file", "token"]);
        text(
            &command
                .current_dir(folder.path())
                .output()
                .expect("it runs")
                .stderr,
        )
    };
    let everywhere = run("0.0.0.0:0", TOKEN);
    assert!(
        everywhere.contains("hint: name the address that the explorer connects to"),
        "{everywhere}"
    );
    let short = run("127.0.0.1:0", "short");
    assert!(short.contains("the token is too short"), "{short}");
    let Some(networks) = Networks::new() else {
        return;
    };
    networks.write(SLOW, &agent("5s"));
    let left = text(&networks.explore("x", &[]).stderr);
    assert!(
        left.contains("error: the agent at 10.213.77.2:7400: it cannot be reached"),
        "{left}"
    );
    // Nothing has run there, so that there is nothing to restore.
    assert!(!left.contains("restored"), "{left}");
    let running = networks.agent();
    fs::write(networks.path("token"), "another token that is long").expect("written");
    let left = networks.explore("y", &[]);
    assert!(
        text(&left.stderr).contains("it refuses: its token is another one"),
        "{}",
        text(&left.stderr)
    );
    assert!(!text(&left.stderr).contains("restored"));
    assert_eq!(networks.ran(), 0);
    drop(running);
}

#[test]
fn an_agent_that_is_busy_says_so() {
    let Some(networks) = Networks::new() else {
        return;
    };
    networks.write(SLOW, &agent("5s"));
    let running = networks.agent();
    let first = networks.command("x", &["--no-reasons"]).spawn();
    let first = first.expect("it starts");
    wait_until("a trial", || networks.ran() == 1);
    let left = text(&networks.explore("y", &[]).stderr);
    let words =
        "it refuses: it works for another exploration\n  hint: wait until that one has ended";
    assert!(left.contains(words) && !left.contains("restored"), "{left}");
    let left = first.wait_with_output().expect("it ends");
    assert!(left.status.success(), "{}", text(&left.stderr));
    assert_eq!(networks.ran(), 3, "nothing has disturbed it");
    drop(running);
}
