//! Redis recorded from outside, by the kernel's uprobes: the same commands, bytes and connections that the server itself
//! counts, and nothing of it is changed.
//!
//! Needs root, tracefs and redis; skips visibly where one is missing.

mod support;

use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::Value;
use support::redis_servers::{Server, running, running_in};
use support::{skip, slowpath_succeeds, wait_until};

const BINARY: &str = env!("CARGO_BIN_EXE_slowpath");
const TRACING: &str = "/sys/kernel/tracing";

/// Whether servers can be probed here. A recorder mounts tracefs where it is not.
fn can_probe() -> bool {
    let has_redis = Command::new("redis-server")
        .arg("--version")
        .output()
        .is_ok();
    let folder = tempfile::tempdir().expect("a folder");
    let mut trial = recorder(&folder.path().join("trial"), &["--", "true"]);
    let can_trace = trial.output().is_ok_and(|run| run.status.success());
    let has_uprobes = Path::new(TRACING).join("uprobe_events").exists();
    let can = cfg!(target_arch = "x86_64") && has_redis && can_trace && has_uprobes;
    if !can {
        skip("redis-server, x86-64, and the rights and the kernel for uprobes are needed");
    }
    can
}

/// The probes that are defined.
fn defined() -> String {
    fs::read_to_string(Path::new(TRACING).join("uprobe_events")).expect("a list")
}

/// A recorder that is still to be started; the load is what the test does until it ends it.
fn recorder(folder: &Path, arguments: &[&str]) -> Command {
    let mut recorder = Command::new(BINARY);
    recorder.args([
        "record",
        "--kernel",
        "ftrace",
        "--events",
        "sched:sched_switch",
    ]);
    recorder
        .args(["--ust", "none", "--spans", "off", "-o"])
        .arg(folder);
    recorder.args(arguments).stdin(Stdio::null());
    recorder
}

/// A recording of these servers while `load` is done.
fn recorded(folder: &Path, servers: &[&Server], load: impl FnOnce()) {
    let servers: Vec<String> = servers
        .iter()
        .map(|server| server.0.id().to_string())
        .collect();
    let mut recorder = recorder(
        folder,
        &["--redis", &servers.join(","), "--redis-by", "uprobes"],
    );
    let mut child = recorder.stderr(Stdio::piped()).spawn().expect("a recorder");
    let mut said = BufReader::new(child.stderr.take().expect("its words"));
    let mut text = String::new();
    while !text.contains("recording ") {
        assert!(
            said.read_line(&mut text).is_ok_and(|read| read > 0),
            "{text}"
        );
    }
    load();
    let end = Command::new("kill")
        .args(["-INT", &child.id().to_string()])
        .status();
    assert!(end.is_ok_and(|status| status.success()));
    let _ = said.read_to_string(&mut text);
    assert!(child.wait().expect("its end").success(), "{text}");
    assert!(text.contains("\nnext: slowpath redis "), "{text}");
}

/// A client that sends commands one by one.
struct Client(BufReader<TcpStream>);

impl Client {
    fn to(port: &str) -> Self {
        let stream = TcpStream::connect(format!("127.0.0.1:{port}")).expect("connected");
        Self(BufReader::new(stream))
    }

    fn port(&self) -> u64 {
        u64::from(self.0.get_ref().local_addr().expect("bound").port())
    }

    /// Sends a command of one line, and reads its reply; what a bulk reply has in it.
    fn ask(&mut self, command: &str) -> String {
        let words: Vec<&str> = command.split(' ').collect();
        let mut message = format!("*{}\r\n", words.len());
        for word in words {
            message += &format!("${}\r\n{word}\r\n", word.len());
        }
        self.0
            .get_mut()
            .write_all(message.as_bytes())
            .expect("sent");
        self.reply()
    }

    fn reply(&mut self) -> String {
        let mut line = String::new();
        self.0.read_line(&mut line).expect("a reply");
        match (line.chars().next(), line[1..].trim().parse::<i64>()) {
            (Some('$'), Ok(length @ 0..)) => {
                let mut bytes = vec![0; length as usize + 2];
                self.0.read_exact(&mut bytes).expect("a reply");
                String::from_utf8_lossy(&bytes).trim_end().to_owned()
            }
            (Some('*'), Ok(length)) => (0..length).map(|_| self.reply()).collect(),
            _ => line,
        }
    }

    /// A number of `INFO`.
    fn info(&mut self, section: &str, key: &str) -> u64 {
        let text = self.ask(&format!("INFO {section}"));
        let line = text
            .lines()
            .find_map(|line| line.strip_prefix(key)?.strip_prefix(':'));
        line.and_then(|value| value.trim().parse().ok())
            .expect("a number")
    }

    /// How often each command was called, by `INFO commandstats`.
    fn calls(&mut self) -> BTreeMap<String, u64> {
        let text = self.ask("INFO commandstats");
        let lines = text.lines().filter_map(|line| {
            let (name, rest) = line.strip_prefix("cmdstat_")?.split_once(":calls=")?;
            Some((name.to_owned(), rest.split(',').next()?.parse().ok()?))
        });
        lines.collect()
    }
}

fn rows<'json>(told: &'json Value, name: &str) -> &'json [Value] {
    told[name].as_array().expect("rows")
}

/// By command: how often, those that others called among them.
fn calls_told(told: &Value, server: u64) -> BTreeMap<String, u64> {
    let of_server = rows(told, "commands")
        .iter()
        .filter(|row| row["server"] == server);
    let calls = of_server.map(|row| {
        let count = row["count"].as_u64().unwrap_or(0) + row["inside"].as_u64().unwrap_or(0);
        (row["command"].as_str().expect("a name").to_owned(), count)
    });
    calls.collect()
}

#[test]
fn a_server_is_recorded_as_it_counts_itself_and_stays_as_it_was() {
    if !can_probe() {
        return;
    }
    let (server, port) = running();
    let process = server.0.id();
    let maps = || fs::read_to_string(format!("/proc/{process}/maps")).expect("its memory");
    let libraries = |maps: &str| maps.lines().filter(|line| line.contains(".so")).count();
    let before = libraries(&maps());
    let folder = tempfile::tempdir().expect("a folder");
    let recording = folder.path().join("recording");
    let mut old = Client::to(&port);
    old.ask("CONFIG RESETSTAT");
    let (mut calls, mut moved, mut ports) = (BTreeMap::new(), (0, 0), Vec::new());
    recorded(&recording, &[&server], || {
        let mut clients = [Client::to(&port), Client::to(&port)];
        let begin = (
            old.info("stats", "total_net_input_bytes"),
            old.info("stats", "total_net_output_bytes"),
        );
        for round in 0..200 {
            for client in &mut clients {
                client.ask(&format!("SET key:{round} {}", "v".repeat(round * 40)));
                client.ask(&format!("GET key:{round}"));
            }
        }
        old.ask("EVAL return{redis.call('GET','key:1'),redis.call('PING')} 0");
        assert!(clients[0].ask("NOCOMMAND secret").starts_with("-ERR"));
        clients[1].ask("MULTI");
        clients[1].ask("INCR counter");
        clients[1].ask("EXEC");
        // Whose connection a client is, is seen by looks; two are 200 ms apart.
        std::thread::sleep(std::time::Duration::from_millis(900));
        clients
            .iter_mut()
            .for_each(|client| drop(client.ask("PING")));
        std::thread::sleep(std::time::Duration::from_millis(900));
        calls = old.calls();
        let end = (
            old.info("stats", "total_net_input_bytes"),
            old.info("stats", "total_net_output_bytes"),
        );
        moved = (end.0 - begin.0, end.1 - begin.1);
        ports = clients.iter().map(Client::port).collect();
        ports.push(old.port());
    });
    let told = slowpath_succeeds(&["redis", "--json"], &recording).json();
    let mut found = calls_told(&told, 1);
    // Of INFO itself the last two, and at its time that command's own, were not counted yet.
    calls.remove("info");
    calls.remove("config|resetstat");
    found.remove("info");
    assert_eq!(found, calls);
    let server_row = &rows(&told, "servers")[0];
    assert_eq!(server_row["pid"], process);
    assert_eq!(server_row["unanswered"], 0, "{server_row}");
    // The counts are asked for by commands that are recorded, too: they are at most some kilobytes.
    let bytes = |key: &str| server_row[key].as_u64().expect("a number");
    let near = |found: u64, counted: u64| found >= counted && found < counted + 16_000;
    assert!(
        near(bytes("bytes_read"), moved.0),
        "{moved:?}: {server_row}"
    );
    assert!(
        near(bytes("bytes_written"), moved.1),
        "{moved:?}: {server_row}"
    );
    let clients = rows(&told, "clients");
    for port in &ports {
        assert!(
            clients.iter().any(|row| row["port"] == *port),
            "{port}: {clients:?}"
        );
    }
    assert_eq!(libraries(&maps()), before);
    let left = defined();
    assert!(!left.contains(&format!("_{process}/")), "{left}");
    let events = slowpath_succeeds(&["events"], &recording).stdout;
    let events = String::from_utf8_lossy(&events);
    assert!(!events.contains("key:") && !events.contains("secret"));
    old.ask("PING");
}

#[test]
fn of_several_servers_each_has_what_was_its_own() {
    if !can_probe() {
        return;
    }
    let servers = [running(), running(), running()];
    let folder = tempfile::tempdir().expect("a folder");
    let recording = folder.path().join("recording");
    let named = [&servers[0].0, &servers[2].0];
    recorded(&recording, &named, || {
        for ((_, port), count) in servers.iter().zip([30, 50, 70]) {
            let mut client = Client::to(port);
            (0..count).for_each(|_| drop(client.ask("GET nothing")));
        }
    });
    let told = slowpath_succeeds(&["redis", "--json"], &recording).json();
    let counts: Vec<(u64, u64)> = (rows(&told, "servers").iter())
        .map(|row| {
            (
                row["pid"].as_u64().unwrap_or(0),
                row["count"].as_u64().unwrap_or(0),
            )
        })
        .collect();
    let processes = named.map(|server| u64::from(server.0.id()));
    assert_eq!(counts, [(processes[0], 30), (processes[1], 70)]);
}

#[test]
fn what_a_replica_gets_from_its_primary_wants_no_replies() {
    if !can_probe() {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let (_primary, primary_port) = running();
    let (replica, port) = running_in(folder.path());
    let mut of_replica = Client::to(&port);
    of_replica.ask(&format!("REPLICAOF 127.0.0.1 {primary_port}"));
    wait_until("the replica has all", || {
        Client::to(&port)
            .ask("INFO replication")
            .contains("master_link_status:up")
    });
    let recording = folder.path().join("recording");
    recorded(&recording, &[&replica], || {
        let mut of_primary = Client::to(&primary_port);
        for _ in 0..300 {
            of_primary.ask("INCR counter");
            std::thread::sleep(std::time::Duration::from_millis(2));
        }
        wait_until("the replica has all", || {
            Client::to(&port).ask("GET counter") == "300"
        });
    });
    let told = slowpath_succeeds(&["redis", "--json"], &recording).json();
    let row = rows(&told, "commands")
        .iter()
        .find(|row| row["command"] == "incr");
    let row = row.expect("what was replicated");
    assert_eq!(
        (row["count"].as_u64(), row["unanswered"].as_u64()),
        (Some(300), Some(300)),
        "{row}"
    );
    // Each by itself: all of them take most of a second.
    assert!(
        row["p50_ns"].as_u64().is_some_and(|half| half < 20_000_000),
        "{row}"
    );
}

#[test]
fn a_recorder_that_is_killed_leaves_a_server_that_answers_and_the_next_one_clears_up() {
    if !can_probe() {
        return;
    }
    let (server, port) = running();
    let folder = tempfile::tempdir().expect("a folder");
    let process = server.0.id().to_string();
    let arguments = ["--redis", &process, "--redis-by", "uprobes"];
    let mut first = recorder(&folder.path().join("first"), &arguments);
    let mut first = first.stderr(Stdio::piped()).spawn().expect("a recorder");
    let mut said = BufReader::new(first.stderr.take().expect("its words")).lines();
    assert!(said.any(|line| line.is_ok_and(|line| line.contains("recording "))));
    let mut client = Client::to(&port);
    client.ask("SET a b");
    first.kill().expect("killed");
    first.wait().expect("its end");
    assert_eq!(client.ask("GET a"), "b");
    let owner = format!("slowpath_record_{}_", first.id());
    assert!(defined().contains(&owner), "{}", defined());
    // Its guardian still has to write what there is.
    wait_until("its instance is removed", || {
        let entries = fs::read_dir(Path::new(TRACING).join("instances"))
            .expect("instances")
            .flatten();
        let name = format!("slowpath-{}-", first.id());
        entries
            .into_iter()
            .all(|entry| !entry.file_name().to_string_lossy().starts_with(&name))
    });
    let second = folder.path().join("second");
    recorded(&second, &[&server], || drop(client.ask("GET a")));
    assert!(!defined().contains(&owner), "{}", defined());
    let told = slowpath_succeeds(&["redis", "--json"], &second).json();
    assert_eq!(
        calls_told(&told, 1),
        BTreeMap::from([("get".to_owned(), 1)])
    );
}

#[test]
fn what_cannot_be_probed_is_told_before_anything_is_recorded() {
    if !can_probe() {
        return;
    }
    let (server, _) = running();
    let server = server.0.id().to_string();
    let own = std::process::id().to_string();
    let folder = tempfile::tempdir().expect("a folder");
    let by = |redis: &str, more: &[&str]| {
        let recording = folder.path().join("recording");
        let mut recorder = Command::new(BINARY);
        recorder.args(["record", "--redis-by", "uprobes", "--redis", redis]);
        let run = recorder
            .args(more)
            .arg("-o")
            .arg(&recording)
            .args(["--", "true"])
            .output();
        let run = run.expect("a recorder");
        assert!(!recording.exists());
        assert_eq!(run.status.code(), Some(2));
        String::from_utf8_lossy(&run.stderr).into_owned()
    };
    for (redis, more, words) in [
        (
            &*own,
            &[][..],
            "names no function `readQueryFromClient`: it is no Redis",
        ),
        (&*server, &["--kernel", "none"], "hint: add --kernel ftrace"),
        (
            &*server,
            &["--redis-detail", "lite"],
            "uprobes tell of life cycles",
        ),
        ("launch", &[], "uprobes watch servers that run already"),
    ] {
        let said = by(redis, more);
        assert!(said.contains(words), "{said}");
    }
}
