//! Redis servers recorded from inside and by the kernel: what commands waited for below Redis is told, the sync of the
//! append-only file among it.
//!
//! Needs root, tracefs, LTTng, redis and the agent, which it builds; skips visibly where one is missing.

mod support;

use std::net::TcpListener;

use serde_json::Value;
use support::inside::{agents_with, recorder_with_kernel};
use support::{skip, slowpath_succeeds};

const REQUESTS: u64 = 300;

/// The exit status of a recorder that may not record.
const NO_RIGHTS: Option<i32> = Some(3);

fn number(row: &Value, key: &str) -> u64 {
    row[key]
        .as_u64()
        .unwrap_or_else(|| panic!("`{key}` of {row}"))
}

fn rows<'document>(document: &'document Value, list: &str) -> &'document [Value] {
    document[list].as_array().expect("a list")
}

#[test]
fn commands_that_wait_for_the_append_only_file_are_told_with_their_critical_paths() {
    let Some(agents) = agents_with("redis", "libslowpath_redis.so", "redis-benchmark") else {
        return;
    };
    // Not where files lie in memory: there syncing costs nothing.
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("a folder");
    let listeners = [(); 2].map(|()| TcpListener::bind("127.0.0.1:0").expect("a port"));
    let [port, other] = listeners.map(|listener| listener.local_addr().expect("an address").port());
    let place = folder.path().display();
    let script = format!(
        "redis-server --port {port} --bind 127.0.0.1 --dir {place} --save '' --appendonly yes \
            --appendfsync always >/dev/null & servers=$!
        redis-server --port {other} --bind 127.0.0.1 --save '' --appendonly no >/dev/null & servers=\"$servers $!\"
        for port in {port} {other}; do
            for i in $(seq 400); do redis-cli -p $port ping >/dev/null 2>&1 && break; sleep 0.05; done
        done
        sleep 0.5
        for port in {port} {other}; do redis-benchmark -q -c 1 -t set -n {REQUESTS} -p $port >/dev/null; done
        kill $servers; wait $servers"
    );
    let recording = folder.path().join("recording");
    let arguments = ["--redis", "launch", "--", "sh", "-c", &script];
    let said = recorder_with_kernel("ftrace", &agents, &recording, &arguments).output();
    let said = said.expect("a recorder");
    let talk = String::from_utf8_lossy(&said.stderr).into_owned();
    if said.status.code() == NO_RIGHTS {
        return skip(&format!("kernel events cannot be recorded here: {talk}"));
    }
    assert!(said.status.success(), "{talk}");

    // That the loopback device gives back what was queued is not recorded; of other devices it may be.
    let of_loopback = |event: &str| {
        let told = slowpath_succeeds(&["events", "--event", event], &recording).stdout;
        String::from_utf8_lossy(&told)
            .matches("name = \"lo\"")
            .count()
    };
    assert!(of_loopback("netif_receive_skb") > 0);
    assert_eq!(of_loopback("netif_rx"), 0);

    let told = slowpath_succeeds(&["redis", "--json"], &recording).json();
    let servers = rows(&told, "servers").iter();
    let with_file = servers
        .clone()
        .find(|row| row["port"] == port)
        .expect("the server");
    assert_eq!(servers.count(), 2);
    let kind = "append-only-file-in-the-path";
    let found = rows(&told, "findings")
        .iter()
        .filter(|row| row["kind"] == kind);
    let found: Vec<&Value> = found.collect();
    let [finding] = found[..] else {
        panic!("one finding, of one server: {found:?}");
    };
    assert_eq!(finding["server"], with_file["server"]);
    // Of one client that sends one command at a time each waits for a sync of its own.
    assert_eq!(number(finding, "commands"), REQUESTS, "{finding}");
    let longest = &finding["longest"];
    assert_eq!(
        (&longest["call"], &longest["commands"]),
        (&"fdatasync".into(), &1.into())
    );
    let file = longest["file"].as_str().expect("a path");
    assert!(
        file.starts_with(&place.to_string()) && file.ends_with(".aof"),
        "{file}"
    );
    let latencies = slowpath_succeeds(&["latency", "--json"], &recording).json();
    let synced = rows(&latencies, "entries")
        .iter()
        .find(|row| row["name"] == "fdatasync");
    let synced = number(synced.expect("fdatasync"), "total_ns");
    let syncing = number(finding, "syncing_ns");
    // Others may have synced something as well.
    let bounds = number(longest, "length_ns")..=synced;
    assert!(bounds.contains(&syncing), "{synced} {finding}");
    let waited = number(finding, "waited_ns");
    assert!(
        waited >= syncing && waited <= number(finding, "latency_ns"),
        "{finding}"
    );

    let slowest = rows(&told, "slowest");
    assert_eq!(slowest.len(), 10);
    let mut in_the_sync = 0;
    for run in slowest {
        let path = &run["critical_path"];
        let (begin, latency) = (number(run, "begin_ns"), number(run, "total_ns"));
        let mut at = begin;
        let mut by_state = std::collections::BTreeMap::new();
        for segment in rows(path, "segments") {
            assert_eq!(number(segment, "begin_ns"), at, "{path}");
            at = number(segment, "end_ns");
            let state = segment["state"].as_str().expect("a state");
            *by_state.entry(state).or_default() += at - number(segment, "begin_ns");
            let detail = segment["detail"].as_str().expect("words");
            in_the_sync += u32::from(detail.contains("in fdatasync"));
        }
        assert_eq!(at - begin, latency, "{run}");
        let summary = path["summary"].as_object().expect("sums");
        let summary = summary
            .iter()
            .map(|(state, sum)| (state.as_str(), sum.as_u64().expect("a sum")));
        assert_eq!(
            summary.collect::<std::collections::BTreeMap<_, _>>(),
            by_state
        );
        assert!(by_state.contains_key("RUNNING"), "{path}");
    }
    assert!(in_the_sync > 0, "{slowest:?}");

    let text = slowpath_succeeds(&["redis"], &recording);
    let text = String::from_utf8_lossy(&text.stdout);
    for said in [
        &format!("append-only file in the path: {REQUESTS} commands waited "),
        "Critical paths of the main thread in the slowest",
        ": in fdatasync",
    ] {
        assert!(text.contains(said), "`{said}`: {text}");
    }
}
