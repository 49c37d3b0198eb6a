//! `slowpath redis` on a recording of real servers (`tests/fixtures/redis-commands`): what it tells is what their
//! clients did, what the servers counted themselves, and what a script computes from babeltrace2's text.

mod support;

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;
use support::chance::Chance;
use support::{oracle_says, slowpath, slowpath_succeeds};

/// The fixture, unpacked for as long as the folder is kept, and what a client and the servers wrote down.
fn recording() -> (tempfile::TempDir, Value) {
    let fixture = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/fixtures/redis-commands");
    let folder = tempfile::tempdir().expect("a folder");
    let packed = fs::File::open(fixture.join("recording.tar.zst")).expect("the fixture");
    let archive = folder.path().join("recording.tar");
    let mut unpacked = fs::File::create(&archive).expect("a file");
    zstd::stream::copy_decode(packed, &mut unpacked).expect("a whole archive");
    let tar = [
        "-xf".as_ref(),
        archive.as_os_str(),
        "-C".as_ref(),
        folder.path().as_os_str(),
    ];
    assert_eq!(support::run("tar", &tar).expect("tar").status, Some(0));
    let truth = fs::read(folder.path().join("truth.json")).expect("the truth");
    (folder, serde_json::from_slice(&truth).expect("JSON"))
}

const LEVELS: [&str; 2] = ["lite", "life-cycle"];

fn ask(trace: &Path, options: &[&str]) -> Value {
    let command = [&["redis", "--json", "--slowest", "100000"], options].concat();
    slowpath_succeeds(&command, trace).json()
}

fn rows<'document>(document: &'document Value, list: &str, server: u64) -> Vec<&'document Value> {
    let rows = document[list].as_array().expect("a list").iter();
    rows.filter(|row| row["server"] == server).collect()
}

fn number(row: &Value, key: &str) -> u64 {
    row[key]
        .as_u64()
        .unwrap_or_else(|| panic!("`{key}` of {row}"))
}

fn text<'row>(row: &'row Value, key: &str) -> &'row str {
    row[key]
        .as_str()
        .unwrap_or_else(|| panic!("`{key}` of {row}"))
}

/// Commands by name: how many.
type Counts = BTreeMap<String, u64>;

fn counts(value: &Value) -> Counts {
    serde_json::from_value(value.clone()).expect("numbers by name")
}

/// Servers of the truth, with their numbers as they are told.
fn servers(truth: &Value) -> impl Iterator<Item = (u64, &Value)> {
    (1..).zip(truth["servers"].as_array().expect("servers"))
}

#[test]
fn batches_are_what_the_clients_did() {
    let (folder, truth) = recording();
    let told = ask(&folder.path().join("lite"), &[]);
    assert_eq!(told["lost"], 0);
    assert_eq!(told["servers"].as_array().map(Vec::len), Some(3));
    for (server, row) in told["servers"]
        .as_array()
        .expect("servers")
        .iter()
        .enumerate()
    {
        let expected = &truth["servers"][server];
        assert_eq!(
            (&row["pid"], &row["port"]),
            (&expected["pid"], &expected["port"])
        );
        assert_eq!(row["level"], "lite");
    }
    for (server, expected) in servers(&truth) {
        let clients = rows(&told, "clients", server);
        let runs = rows(&told, "slowest", server);
        for client in expected["clients"].as_array().expect("clients") {
            let is_its = |row: &&&Value| row["port"] == client["port"];
            let row = clients
                .iter()
                .find(is_its)
                .unwrap_or_else(|| panic!("{client} is told"));
            assert_eq!(row["bytes_read"], client["sent"], "{client}");
            assert_eq!(row["bytes_written"], client["received"], "{client}");
            let mut found = Counts::new();
            let mut own: Vec<&Value> = runs.iter().filter(is_its).copied().collect();
            own.sort_by_key(|run| number(run, "start_ns"));
            for run in &own {
                *found.entry(text(run, "command").to_owned()).or_default() += 1;
            }
            assert_eq!(found, counts(&client["commands"]), "{client}");
            assert_eq!(number(row, "count"), found.values().sum::<u64>());
            took_no_longer_than_the_client_waited(&own, client);
        }
    }
    let named = |name: &str| {
        let clients = truth["servers"][0]["clients"].as_array().expect("clients");
        let port = &clients.iter().find(|row| row["name"] == name).expect(name)["port"];
        let runs = rows(&told, "slowest", 1);
        let mut own: Vec<&Value> = runs
            .into_iter()
            .filter(|run| run["port"] == *port)
            .collect();
        own.sort_by_key(|run| number(run, "start_ns"));
        own
    };
    // A command behind a slow one in its pipeline queues; one whose bytes come late does, too.
    let piped = named("piped");
    let (slow, behind) = (piped[piped.len() - 2], piped[piped.len() - 1]);
    assert!(number(slow, "executing_ns") >= 30_000_000, "{slow}");
    assert_eq!(number(behind, "queueing_ns"), number(slow, "executing_ns"));
    assert_eq!(number(behind, "batch_commands"), 2);
    assert!(number(named("big")[0], "queueing_ns") > 45_000_000);
    // One of 70 is told in three parts.
    let longest = piped
        .iter()
        .filter(|run| run["batch_commands"] == 70)
        .count();
    assert_eq!(longest, 70);
    // A blocking command waits, and is not executed meanwhile.
    for (name, least) in [("short", 190_000_000), ("long", 1_590_000_000)] {
        let run = named(name)[0];
        assert!(
            number(run, "waiting_ns") > least && number(run, "executing_ns") < 1_000_000,
            "{run}"
        );
        assert_eq!(run["answered"], true);
    }
    assert_eq!(named("gone")[0]["answered"], false);
}

/// The client's own calls, one after the other, each with begin and end.
fn took_no_longer_than_the_client_waited(runs: &[&Value], client: &Value) {
    let calls = client["calls"].as_array().expect("calls");
    if calls.len() != runs.len() {
        // It sent others together.
        return;
    }
    // The tracer's clock was set by wall time once.
    const CLOCKS_NS: u64 = 2_000_000;
    for (run, call) in runs.iter().zip(calls) {
        let (begin, end) = (
            call[1].as_u64().expect("a time"),
            call[2].as_u64().expect("a time"),
        );
        assert_eq!(run["command"], call[0]);
        // It can have its reply before the server's call to write returns.
        let until_writing = number(run, "total_ns") - number(run, "writing_ns");
        assert!(until_writing <= end - begin, "{run} {call}");
        let told = number(run, "begin_ns");
        assert!(
            (begin - CLOCKS_NS..end + CLOCKS_NS).contains(&told),
            "{run} {call}"
        );
    }
}

#[test]
fn the_life_cycle_is_what_the_servers_counted() {
    let (folder, truth) = recording();
    for (server, expected) in servers(&truth) {
        let window = ["begin_ns", "end_ns"].map(|key| number(expected, key).to_string());
        let options = ["--begin", &window[0], "--end", &window[1]];
        let told = ask(&folder.path().join("life-cycle"), &options);
        let mut found = BTreeMap::new();
        for row in rows(&told, "commands", server) {
            let calls = number(row, "count") + number(row, "inside");
            found.insert(text(row, "command").to_owned(), calls);
        }
        let stats = expected["commandstats"].as_object().expect("counts");
        let calls = stats
            .iter()
            .map(|(name, row)| (name.clone(), row[0].as_u64().unwrap_or(0)));
        assert_eq!(found, calls.collect::<BTreeMap<_, _>>(), "server {server}");
        for row in rows(&told, "commands", server) {
            let own = &stats[text(row, "command")];
            let (calls, micros) = (number(row, "count"), own[1].as_u64().unwrap_or(0));
            let told = number(row, "executing_ns") as f64 / 1e3;
            // Of a blocking command the server also counts what it takes to answer it later.
            if number(row, "inside") > 0 || row["command"] == "blpop" {
                continue;
            }
            // The server counts whole microseconds, and not what telling the events takes.
            let most = micros as f64 * 1.01 + 3.0 * calls as f64 + 60.0;
            assert!(
                told >= micros as f64 - calls as f64 && told <= most,
                "{row} {own}"
            );
        }
    }
}

#[test]
fn both_levels_tell_the_same() {
    let (folder, truth) = recording();
    let [lite, life_cycle] = LEVELS.map(|level| ask(&folder.path().join(level), &[]));
    let mut compared = 0;
    for (server, expected) in servers(&truth) {
        let (one, other) = (
            rows(&lite, "slowest", server),
            rows(&life_cycle, "slowest", server),
        );
        for client in expected["clients"].as_array().expect("clients") {
            // What the transaction queues and what Redis refuses is not executed.
            if ["transaction", "plain"].contains(&text(client, "name")) {
                continue;
            }
            let of = |runs: &[&Value]| {
                let mut own: Vec<Value> = (runs.iter())
                    .filter(|run| run["port"] == client["port"])
                    .map(|run| (*run).clone())
                    .collect();
                own.sort_by_key(|run| number(run, "start_ns"));
                own
            };
            let (one, other) = (of(&one), of(&other));
            assert_eq!(one.len(), other.len(), "{client}");
            for (one, other) in one.iter().zip(&other) {
                for key in [
                    "command",
                    "answered",
                    "read_tid",
                    "batch_commands",
                    "batch_bytes_read",
                ] {
                    assert_eq!(one[key], other[key], "{key}: {one} {other}");
                }
                let differs = number(one, "total_ns").abs_diff(number(other, "total_ns"));
                assert!(differs < 500_000, "{one} {other}");
                compared += 1;
            }
        }
    }
    assert!(compared > 260, "{compared}");
    // Given together, nothing counts twice.
    let both = ask(folder.path(), &[]);
    for list in ["commands", "clients", "slowest"] {
        assert_eq!(both[list], lite[list]);
    }
}

#[test]
fn where_nobody_waits_for_anybody_nothing_stands_out() {
    let (folder, _) = recording();
    for level in LEVELS {
        let told = ask(&folder.path().join(level), &[]);
        let longest = told["slowest"].as_array().expect("runs").iter();
        let longest = longest.map(|run| number(run, "executing_ns")).max();
        assert!(longest > Some(50_000_000), "a slow command was sent");
        assert_eq!(told["findings"], Value::Array(Vec::new()), "{level}");
    }
}

#[test]
fn totals_are_those_of_the_oracle() {
    let (folder, _) = recording();
    for level in LEVELS {
        let trace = folder.path().join(level);
        let Some(oracle) = oracle_says("redis.py", &[], &[&trace]) else {
            return;
        };
        let oracle = oracle.json();
        let told = ask(&trace, &[]);
        let expected = oracle.as_array().expect("servers");
        assert_eq!(
            told["servers"].as_array().map(Vec::len),
            Some(expected.len())
        );
        for (server, expected) in (1..).zip(expected) {
            let same = |row: &Value, expected: &Value| {
                for (key, value) in expected.as_object().expect("a row") {
                    assert_eq!(&row[key], value, "{level} {server} {key}: {row}");
                }
            };
            let commands = rows(&told, "commands", server);
            let own = expected["commands"].as_object().expect("rows");
            let own_inside = expected["inside"].as_object().expect("rows");
            for row in &commands {
                let name = text(row, "command");
                if row["count"] != 0 {
                    same(row, &own[name]);
                }
                let inside = own_inside.get(name).and_then(Value::as_u64);
                assert_eq!(number(row, "inside"), inside.unwrap_or(0), "{row}");
            }
            assert_eq!(
                commands.iter().filter(|row| row["count"] != 0).count(),
                own.len()
            );
            let clients = rows(&told, "clients", server);
            let own = expected["clients"].as_object().expect("rows");
            assert_eq!(clients.len(), own.len());
            for row in clients {
                same(row, &own[&row["client"].to_string()]);
            }
        }
    }
}

#[test]
fn workers_and_chunks_do_not_matter() {
    let (folder, _) = recording();
    for level in LEVELS {
        let trace = folder.path().join(level);
        let expected = ask(&trace, &["--jobs", "1"]);
        for (jobs, bytes) in [("2", "1"), ("8", "1"), ("8", "20000")] {
            assert_eq!(
                ask(&trace, &["--jobs", jobs, "--chunk-bytes", bytes]),
                expected
            );
        }
    }
}

#[test]
fn tables_say_who_did_what() {
    let (folder, _) = recording();
    let trace = folder.path().join("lite");
    let print = |options: &[&str]| {
        let command = [&["redis", "--slowest", "1"], options].concat();
        String::from_utf8(slowpath_succeeds(&command, &trace).stdout).expect("text")
    };
    let commands = print(&["--top", "0"]);
    assert!(
        commands.contains("server 1: process ") && commands.contains("event loop: "),
        "{commands}"
    );
    assert!(commands.contains("object|encoding"), "{commands}");
    let slowest = commands.lines().last().expect("a line");
    assert!(
        slowest.contains("blpop") && slowest.contains("127.0.0.1:"),
        "{slowest}"
    );
    assert!(print(&["--by", "client", "--top", "1"]).contains("--top 0 shows all"));
    assert!(print(&["--by", "server"]).contains("process 1, port "));
}

#[test]
fn a_trace_without_redis_is_refused_with_a_hint() {
    let fixture = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/fixtures/cpu-cgroup-ust");
    let printed = slowpath(&["redis"], &fixture);
    assert_eq!(printed.status, Some(2));
    assert!(
        printed.stderr.contains("hint: `slowpath record --redis"),
        "{}",
        printed.stderr
    );
}

#[test]
fn servers_of_several_hosts_are_told_apart() {
    let (folder, _) = recording();
    let trace = folder.path().join("lite");
    let alone = ask(&trace, &[]);
    let metadata = trace.join("ust/uid/0/64-bit/metadata");
    let text = fs::read(&metadata).expect("metadata");
    let other = folder.path().join("life-cycle/other");
    let of_other = other.join("ust/uid/0/64-bit");
    fs::create_dir_all(&of_other).expect("a folder");
    for stream in streams(&trace) {
        let copy = of_other.join(stream.file_name().expect("a name"));
        fs::copy(stream, copy).expect("a copy");
    }
    let name = b"hostname = \"vm\"";
    let at = text.windows(name.len()).position(|bytes| bytes == name);
    let at = at.expect("the host's name") + name.len() - 2;
    let renamed = [&text[..at], b"w", &text[at + 1..]].concat();
    fs::write(of_other.join("metadata"), renamed).expect("metadata");
    let command = [
        "redis",
        "--json",
        "--slowest",
        "100000",
        trace.to_str().expect("a path"),
    ];
    let both = slowpath_succeeds(&command, &other).json();
    for list in ["servers", "commands", "clients", "slowest"] {
        let of_host = |host: &str| {
            let rows = both[list].as_array().expect("rows").iter();
            let own = rows.filter(|row| row["host"] == host).cloned();
            own.map(|mut row| {
                row.as_object_mut().expect("a row").remove("host");
                row
            })
            .collect::<Value>()
        };
        assert_eq!(of_host("vm"), alone[list]);
        assert_eq!(of_host("vw"), alone[list]);
    }
    assert_eq!(both["lost"], 0);
}

/// Streams of a level's trace.
fn streams(trace: &Path) -> Vec<PathBuf> {
    let folder = trace.join("ust/uid/0/64-bit");
    let mut names: Vec<PathBuf> = (fs::read_dir(folder).expect("streams"))
        .map(|entry| entry.expect("an entry").path())
        .filter(|path| path.is_file() && path.file_name() != Some(OsStr::new("metadata")))
        .collect();
    names.sort();
    names
}

/// Commands of all servers.
fn commands_in(trace: &Path) -> u64 {
    let printed = slowpath(&["redis", "--json"], trace);
    assert!(matches!(printed.status, Some(0 | 1)), "{}", printed.stderr);
    let told = printed.json();
    let rows = told["servers"].as_array().expect("servers").iter();
    rows.map(|row| number(row, "count")).sum()
}

#[test]
fn damage_of_a_stream_loses_nothing_of_others() {
    let (folder, _) = recording();
    let trace = folder.path().join("lite");
    let streams = streams(&trace);
    let damaged = &streams[0];
    let whole = fs::read(damaged).expect("a stream");
    let all = commands_in(&trace);
    fs::remove_file(damaged).expect("removed");
    let of_others = commands_in(&trace);
    assert!(of_others > 0 && of_others < all, "{of_others} of {all}");
    let mut chance = Chance(7);
    for round in 0..16 {
        let mut bytes = whole.clone();
        if round % 2 == 0 {
            bytes.truncate(chance.below(whole.len()));
        } else {
            for _ in 0..1 + chance.below(40) {
                let at = chance.below(bytes.len());
                bytes[at] = chance.below(256) as u8;
            }
        }
        fs::write(damaged, bytes).expect("written");
        let found = commands_in(&trace);
        assert!(found >= of_others, "round {round}: {found} of {of_others}");
        if round % 2 == 0 {
            assert!(found <= all, "round {round}: {found} of {all}");
        }
    }
    // Single events: whatever is left.
    let trace = folder.path().join("life-cycle");
    let damaged = &self::streams(&trace)[0];
    let whole = fs::read(damaged).expect("a stream");
    for _ in 0..4 {
        let mut bytes = whole.clone();
        for _ in 0..1 + chance.below(40) {
            let at = chance.below(bytes.len());
            bytes[at] = chance.below(256) as u8;
        }
        fs::write(damaged, bytes).expect("written");
        commands_in(&trace);
    }
}
