//! Which servers a recording of Redis has, where the machine has several and others record them, too: all that were
//! named, or the user is told; and no other.
//!
//! Needs LTTng, redis and the agent, which it builds; skips visibly where one is missing.

mod support;

use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use support::inside::{record, recorder};
use support::redis_servers::{
    REQUESTS, Server, agents, alone, benchmark, free_port, gets, recorded_processes, redis,
    running, running_with, wait_for,
};

#[test]
fn a_server_that_runs_is_recorded_and_left_as_it_was() {
    let Some(agents) = agents() else { return };
    let _alone = alone();
    let (server, port) = running();
    let folder = tempfile::tempdir().expect("a folder");
    let process = server.0.id().to_string();
    let benchmark = benchmark(&port);
    let mut arguments = vec!["--redis", &process, "--"];
    arguments.extend(benchmark.iter().map(String::as_str));
    for name in ["first", "again"] {
        let recording = folder.path().join(name);
        let said = record(&agents, &recording, &arguments);
        // The second time, too: it was taken away in between.
        assert!(
            said.contains(&format!("attached to process {process}")),
            "{said}"
        );
        assert!(said.contains("\nnext: slowpath redis "), "{said}");
        assert_eq!(gets(&recording), REQUESTS);
    }
}

#[test]
fn servers_that_nobody_named_are_not_recorded() {
    let Some(agents) = agents() else { return };
    let _alone = alone();
    let (named, port) = running();
    let (_other, other_port) = running_with(&agents);
    let folder = tempfile::tempdir().expect("a folder");
    let named = named.0.id();
    let of_other = benchmark(&other_port).join(" ");

    let both = format!("{}; {of_other}", benchmark(&port).join(" "));
    for detail in ["lite", "full"] {
        let recording = folder.path().join(detail);
        let process = named.to_string();
        let arguments = ["--redis", &process, "--redis-detail", detail];
        let arguments = [&arguments[..], &["--", "sh", "-c", &both]].concat();
        record(&agents, &recording, &arguments);
        assert_eq!(recorded_processes(&recording), [named].into(), "{detail}");
    }

    // Where the command starts none, that is said, though LTTng knows of another one.
    let silent = folder.path().join("silent");
    let said = record(&agents, &silent, &["--redis", "launch", "--", "true"]);
    assert!(
        said.contains("warning: the command started no Redis server"),
        "{said}"
    );
    // And what to type next is nothing that asks such a server.
    assert!(!said.contains("next: slowpath redis"), "{said}");

    // Nor where the command starts some.
    let launched = folder.path().join("launched");
    let port = free_port();
    let process = folder.path().join("process");
    let script = format!(
        "redis-server --port {port} --bind 127.0.0.1 --save '' --appendonly no >/dev/null & server=$!
        echo $server >{}
        until redis-cli -p {port} ping >/dev/null 2>&1; do kill -0 $! || exit 1; sleep 0.05; done; sleep 0.3
        redis-cli -p {port} set key value >/dev/null; {of_other}; kill $server; wait $server",
        process.display()
    );
    record(
        &agents,
        &launched,
        &["--redis", "launch", "--", "sh", "-c", &script],
    );
    let process = std::fs::read_to_string(process).expect("a number");
    let process = process.trim().parse().expect("a number");
    assert_eq!(recorded_processes(&launched), [process].into());
}

#[test]
fn a_server_in_a_namespace_of_processes_is_recorded() {
    let Some(agents) = agents() else { return };
    let _alone = alone();
    let port = free_port();
    let mut unshare = Command::new("unshare");
    unshare.args(["--pid", "--fork", "--kill-child", "--mount-proc"]);
    if !unshare.arg("true").status().is_ok_and(|run| run.success()) {
        support::skip("namespaces of processes are not permitted here");
        return;
    }
    let mut unshare = Command::new("unshare");
    unshare.args(["--pid", "--fork", "--kill-child", "--mount-proc"]);
    let inside = redis(&port);
    let inside = std::iter::once(inside.get_program()).chain(inside.get_args());
    let parent = unshare.args(inside).stdout(Stdio::null()).spawn();
    let parent = Server(parent.expect("unshare"));
    wait_for(&port);
    let children = format!("/proc/{0}/task/{0}/children", parent.0.id());
    let process = std::fs::read_to_string(children).expect("its child");
    let benchmark = benchmark(&port);
    let mut arguments = vec!["--redis", process.trim(), "--"];
    arguments.extend(benchmark.iter().map(String::as_str));
    let folder = tempfile::tempdir().expect("a folder");
    let recording = folder.path().join("inside");
    record(&agents, &recording, &arguments);
    assert_eq!(recorded_processes(&recording), [1].into());
    assert_eq!(gets(&recording), REQUESTS);
}

#[test]
fn a_recording_goes_on_when_another_one_that_brought_the_agent_ends() {
    let Some(agents) = agents() else { return };
    let _alone = alone();
    let (server, port) = running();
    let folder = tempfile::tempdir().expect("a folder");
    let process = server.0.id().to_string();
    let place = |name: &str| folder.path().join(name).display().to_string();
    let (begun, ended) = (place("begun"), place("ended"));
    let wait_for =
        |file: &str| format!("for i in $(seq 1200); do [ -e {file} ] && break; sleep 0.05; done");
    // The first ends when the second has begun (or has failed), which goes on when the first has ended.
    let until_begun = wait_for(&begun);
    let arguments = ["--redis", &process, "--", "sh", "-c", &until_begun];
    let mut first = recorder(&agents, &folder.path().join("first"), &arguments);
    let mut first = first.stderr(Stdio::piped()).spawn().expect("a recorder");
    let mut said = BufReader::new(first.stderr.take().expect("its words")).lines();
    let attached = format!("attached to process {process}");
    assert!(said.any(|line| line.is_ok_and(|line| line.contains(&attached))));
    let script = format!(
        "touch {begun}; {}; {}",
        wait_for(&ended),
        benchmark(&port).join(" ")
    );
    let second = folder.path().join("second");
    let arguments = ["--redis", &process, "--", "sh", "-c", &script];
    let mut recorder = recorder(&agents, &second, &arguments);
    let recorder = recorder
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn();
    let recorder = recorder.expect("a recorder");
    assert!(first.wait().is_ok_and(|end| end.success()));
    std::fs::write(&ended, "").expect("a file");
    let run = recorder.wait_with_output().expect("its end");
    let said = String::from_utf8_lossy(&run.stderr);
    assert!(run.status.success(), "{said}");
    assert_eq!(gets(&second), REQUESTS, "{said}");
    // Then the agent leaves.
    let status = || {
        let mut ask = Command::new(agents.join("redis/build/slowpath-redis-attach"));
        let run = ask
            .args(["--status", &process])
            .output()
            .expect("its words");
        String::from_utf8_lossy(&run.stdout).trim().to_owned()
    };
    let begin = Instant::now();
    while status() != "away" {
        let waited = begin.elapsed();
        assert!(waited < Duration::from_secs(10), "{}", status());
        std::thread::sleep(Duration::from_millis(50));
    }
}

#[test]
fn a_server_that_cannot_be_recorded_is_named() {
    let Some(agents) = agents() else { return };
    let _alone = alone();
    let port = free_port();
    let mut unshare = Command::new("unshare");
    let hide = "mount -t tmpfs tmpfs /run && mount -t tmpfs tmpfs /dev/shm";
    unshare.args(["--mount", "sh", "-c", hide]);
    if !unshare.status().is_ok_and(|run| run.success()) {
        support::skip("mount namespaces are not permitted here");
        return;
    }
    let mut unshare = Command::new("unshare");
    let script = format!(
        "{hide}; exec redis-server --port {port} --bind 127.0.0.1 --save '' --appendonly no"
    );
    let server = unshare.args(["--mount", "sh", "-c", &script]);
    let server = Server(server.stdout(Stdio::null()).spawn().expect("a server"));
    wait_for(&port);
    let folder = tempfile::tempdir().expect("a folder");
    let recording = folder.path().join("unreached");
    let process = server.0.id();
    let said = record(
        &agents,
        &recording,
        &["--redis", &process.to_string(), "--", "true"],
    );
    let expected = format!("process {process} has not told LTTng of itself in 15 s: nothing of it");
    assert!(said.contains(&expected), "{said}");
    assert!(!said.contains("first events"), "{said}");
    let told = std::fs::read(recording.join("slowpath.json")).expect("what it says of itself");
    let told: Value = serde_json::from_slice(&told).expect("JSON");
    assert_eq!(told["ust"]["missing_servers"], json!([process]), "{said}");
}

#[test]
fn a_server_is_recorded_whole_after_a_recorder_was_killed() {
    let Some(agents) = agents() else { return };
    let _alone = alone();
    let (server, port) = running();
    let folder = tempfile::tempdir().expect("a folder");
    let process = server.0.id().to_string();
    let mut killed = recorder(
        &agents,
        &folder.path().join("killed"),
        &["--redis", &process],
    );
    let mut killed = killed.stderr(Stdio::piped()).spawn().expect("a recorder");
    let mut said = BufReader::new(killed.stderr.take().expect("its words")).lines();
    assert!(said.any(|line| line.is_ok_and(|line| line.contains("recording until Ctrl-C"))));
    let benchmark = benchmark(&port);
    let run = || Command::new(&benchmark[0]).args(&benchmark[1..]).output();
    assert!(run().is_ok_and(|run| run.status.success()));
    killed.kill().expect("killed");
    killed.wait().expect("its end");

    // It goes on, and what the killed one left in it is no hindrance.
    assert!(run().is_ok_and(|run| run.status.success()));
    let mut arguments = vec!["--redis", &process, "--"];
    arguments.extend(benchmark.iter().map(String::as_str));
    let recording = folder.path().join("next");
    record(&agents, &recording, &arguments);
    assert_eq!(gets(&recording), REQUESTS);
}

#[test]
fn what_is_no_server_is_refused_and_leaves_nothing_behind() {
    let Some(agents) = agents() else { return };
    let _alone = alone();
    let folder = tempfile::tempdir().expect("a folder");
    let recording = folder.path().join("none");
    let own = std::process::id().to_string();
    let port = free_port();
    let mut renamed = redis(&port);
    renamed.args(["--rename-command", "CLIENT", "KUNDE"]);
    let server = Server(renamed.stderr(Stdio::null()).spawn().expect("redis-server"));
    wait_for(&port);
    let renamed = server.0.id().to_string();
    for (server, why) in [
        (
            own.as_str(),
            "is no redis-server that exports its functions",
        ),
        ("2147483647", "there is no such process"),
        // It says so only once it has learned.
        (renamed.as_str(), "is CLIENT renamed?"),
    ] {
        let run = Command::new(env!("CARGO_BIN_EXE_slowpath"))
            .args(["record", "--kernel", "none", "--redis", server, "-o"])
            .arg(&recording)
            .env("SLOWPATH_AGENTS", &agents)
            .output()
            .expect("a recorder");
        let said = String::from_utf8_lossy(&run.stderr);
        assert_eq!(run.status.code(), Some(2), "{said}");
        assert!(said.contains(why) && said.contains("hint: "), "{said}");
        assert!(!recording.exists(), "{said}");
    }
}
