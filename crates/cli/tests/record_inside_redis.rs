//! Redis servers that the command starts, recorded from inside: every request of a client is told, and what stands out;
//! keys and values are not. Which servers a recording has: record_named_redis.rs.
//!
//! Needs LTTng, redis and the agent, which it builds; skips visibly where one is missing.

mod support;

use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};
use support::inside::record;
use support::redis_servers::{REQUESTS, agents, alone, benchmark, free_port, free_ports, gets};
use support::server::Server as Served;
use support::{oracle_says, slowpath_succeeds};

#[test]
fn a_server_that_the_command_starts_is_recorded() {
    let Some(agents) = agents() else { return };
    let _alone = alone();
    let port = free_port();
    let folder = tempfile::tempdir().expect("a folder");
    let recording = folder.path().join("launched");
    let script = format!(
        "redis-server --port {port} --bind 127.0.0.1 --save '' --appendonly no >/dev/null & server=$!
        until redis-cli -p {port} ping >/dev/null 2>&1; do kill -0 $! || exit 1; sleep 0.05; done; sleep 0.3
        {}; kill $server; wait $server",
        benchmark(&port).join(" ")
    );
    let said = record(
        &agents,
        &recording,
        &["--redis", "launch", "--", "sh", "-c", &script],
    );
    assert!(
        !said.contains("not traced"),
        "the shell says what it is not: {said}"
    );
    assert_eq!(gets(&recording), REQUESTS);
}

#[test]
fn what_else_the_command_starts_is_left_alone() {
    let Some(agents) = agents() else { return };
    let _alone = alone();
    let folder = tempfile::tempdir().expect("a folder");
    let maps = folder.path().join("maps");
    // By a shell that has forked: with LTTng in it, another session's end would end it.
    let script = format!("(cat /proc/self/maps >{}); true", maps.display());
    record(
        &agents,
        &folder.path().join("recording"),
        &["--redis", "launch", "--", "sh", "-c", &script],
    );
    let maps = std::fs::read_to_string(maps).expect("what is loaded");
    assert!(maps.contains("libslowpath_redis_launch.so"), "{maps}");
    assert!(!maps.contains("lttng"), "{maps}");
}

#[test]
fn a_slow_command_is_told_with_the_clients_that_waited_for_it() {
    let Some(agents) = agents() else { return };
    let _alone = alone();
    let port = free_port();
    let folder = tempfile::tempdir().expect("a folder");
    let recording = folder.path().join("slow");
    // The others send without a pause while the loop runs.
    let script = format!(
        "redis-server --port {port} --bind 127.0.0.1 --save '' --appendonly no >/dev/null & server=$!
        until redis-cli -p {port} ping >/dev/null 2>&1; do kill -0 $! || exit 1; sleep 0.05; done; sleep 0.3
        redis-benchmark -q -c 5 -p {port} -t get -n 1000000 >/dev/null & others=$!
        sleep 0.5; redis-cli -p {port} eval 'local x = 0 for i = 1, 20000000 do x = x + i end return x' 0
        sleep 0.2; kill $others; kill $server; wait $server"
    );
    record(
        &agents,
        &recording,
        &["--redis", "launch", "--", "sh", "-c", &script],
    );
    let told = slowpath_succeeds(&["redis", "--json"], &recording).json();
    let findings = told["findings"].as_array().expect("findings");
    let slow = (findings.iter()).find(|row| row["kind"] == "slow-command");
    let slow = slow.unwrap_or_else(|| panic!("no slow command: {findings:?}"));
    assert_eq!(
        (&slow["command"], &slow["count"]),
        (&"eval".into(), &1.into())
    );
    assert_eq!(slow["clients"], 5, "{slow}");
    let waited = ["held", "likely_held"].map(|key| slow[key].as_u64().expect("a number"));
    assert_eq!(waited.iter().sum::<u64>(), 5, "{slow}");
    for victim in slow["worst"]["victims"].as_array().expect("victims") {
        assert_eq!(victim["command"], "get", "{slow}");
    }
    let text = slowpath_succeeds(&["redis"], &recording);
    let text = String::from_utf8_lossy(&text.stdout);
    let said = "slow command: eval held up 5 other clients (once)";
    assert!(
        text.contains("What stands out\n") && text.contains(said),
        "{text}"
    );
}

/// What starts three nodes of a cluster, whose processes are `$servers` then, and the ports of the first and the last.
fn cluster(folder: &Path) -> (String, [String; 2]) {
    // Ports of the bus are chosen, too: by default they are 10,000 above, which may be none.
    let [a, b, c, d, e, f] = free_ports();
    let ports = [[a, b], [c, d], [e, f]];
    let node = |[port, bus]: &[String; 2]| {
        let place = folder.join(port);
        std::fs::create_dir(&place).expect("a folder");
        let place = place.display();
        format!(
            "redis-server --port {port} --cluster-port {bus} --bind 127.0.0.1 --dir {place} --save '' \
             --cluster-enabled yes >/dev/null & servers=\"$servers $!\"
            until redis-cli -p {port} ping >/dev/null 2>&1; do kill -0 $! || exit 1; sleep 0.05; done\n"
        )
    };
    let nodes: String = ports.iter().map(node).collect();
    let addresses: Vec<String> = (ports.iter())
        .map(|[port, bus]| format!("127.0.0.1:{port}@{bus}"))
        .collect();
    let [first, last] = [&ports[0][0], &ports[2][0]];
    let script = format!(
        "{nodes} redis-cli --cluster create {} --cluster-yes >/dev/null
        for port in {first} {last}; do
            until redis-cli -p $port cluster info | grep -q known_nodes:3; do kill -0 $! || exit 1; sleep 0.05; done
        done",
        addresses.join(" ")
    );
    (script, [first.clone(), last.clone()])
}

#[test]
fn what_a_cluster_makes_of_published_messages_is_told() {
    let Some(agents) = agents() else { return };
    let _alone = alone();
    let folder = tempfile::tempdir().expect("a folder");
    let recording = folder.path().join("cluster");
    let (script, [first, _]) = cluster(folder.path());
    let script = format!(
        "{script}
        sleep 0.5; redis-benchmark -q -c 1 -n 300 -p {first} publish channel 0123456789 >/dev/null
        sleep 0.5; kill $servers; wait $servers"
    );
    record(
        &agents,
        &recording,
        &["--redis", "launch", "--", "sh", "-c", &script],
    );
    let told = slowpath_succeeds(&["redis", "--json"], &recording).json();
    assert_eq!(told["servers"].as_array().map(Vec::len), Some(3), "{told}");
    let findings = told["findings"].as_array().expect("findings").iter();
    let found: Vec<_> = findings
        .filter(|row| row["kind"] == "publish-amplification")
        .collect();
    let [row] = found[..] else {
        panic!("publish amplification at one node: {found:?}");
    };
    let counts = ["messages", "copies", "most_copies", "payload_bytes"].map(|key| &row[key]);
    assert_eq!(counts, [300, 600, 2, 3000], "{row}");
    // Two copies with a header of 2,264 bytes and the channel.
    assert_eq!(row["factor"], (2 * (2264 + 7 + 10)) as f64 / 10.0);
    let bus = told["bus"].as_array().expect("rows of the bus").iter();
    let received = bus.filter(|row| row["type"] == "publish");
    let received: u64 = received.filter_map(|row| row["received"].as_u64()).sum();
    assert_eq!(received, 600, "{told}");

    // Each message is found again at both others, a moment later.
    let hops = told["hops"].as_array().expect("rows between nodes");
    let [one, other] = &hops[..] else {
        panic!("two ways: {hops:?}");
    };
    for hop in [one, other] {
        assert_eq!(
            (&hop["server"], &hop["messages"]),
            (&row["server"], &300.into()),
            "{hop}"
        );
        let [p50, max] = ["p50_ns", "max_ns"].map(|key| hop[key].as_u64().expect("a time"));
        assert!((1_000..1_000_000_000).contains(&p50) && p50 <= max, "{hop}");
    }
    assert_ne!(one["to_server"], other["to_server"]);
    let (server, rows, arrows) = arrows(&recording);
    let published: Vec<_> = arrows
        .iter()
        .filter(|arrow| arrow["kind"] == "publish")
        .collect();
    assert_eq!(published.len(), 600);
    for arrow in published {
        let of = |key: &str| &rows[arrow[key].as_u64().expect("a row") as usize];
        let (from, to) = (of("from_row"), of("to_row"));
        assert_eq!(
            (&from["kind"], &from["server"]),
            (&"event-loop".into(), &row["server"])
        );
        assert_eq!(to["kind"], "event-loop");
        assert_ne!(to["server"], from["server"]);
        assert!(
            arrow["from_ns"].as_i64() < arrow["to_ns"].as_i64(),
            "{arrow}"
        );
    }
    assert_eq!(server.get("/api/store")["hops"][0]["messages"], 300);
    let text = slowpath_succeeds(&["redis"], &recording);
    let text = String::from_utf8_lossy(&text.stdout);
    let said =
        "publish amplification: 300 published messages of 2.9 KiB went to 2 other nodes each";
    assert!(text.contains(said), "{text}");
}

/// A server on the recording, its rows, and all arrows among them.
fn arrows(recording: &Path) -> (Served, Vec<Value>, Vec<Value>) {
    let server = Served::of(recording);
    let end = &server.get("/api/recording")["duration_ns"];
    let end = end.as_i64().expect("a time") + 1;
    let list = server.get("/api/store/rows");
    let rows = list["rows"].as_array().expect("rows").clone();
    let all: Vec<usize> = (0..rows.len()).collect();
    let question = json!({"rows": all, "begin_ns": 0, "end_ns": end, "limit": 100_000});
    let told = server.post("/api/store/arrows", question);
    assert_eq!(told["complete"], true);
    let arrows = told["arrows"].as_array().expect("arrows").clone();
    (server, rows, arrows)
}

/// A recording without events of the kernel.
#[test]
fn the_browser_application_tells_what_the_command_line_tells() {
    let Some(agents) = agents() else { return };
    let _alone = alone();
    let port = free_port();
    let folder = tempfile::tempdir().expect("a folder");
    let recording = folder.path().join("served");
    let script = format!(
        "redis-server --port {port} --bind 127.0.0.1 --save '' --appendonly no >/dev/null & server=$!
        until redis-cli -p {port} ping >/dev/null 2>&1; do kill -0 $! || exit 1; sleep 0.05; done; sleep 0.3
        {}; kill $server; wait $server",
        benchmark(&port).join(" ")
    );
    record(
        &agents,
        &recording,
        &["--redis", "launch", "--", "sh", "-c", &script],
    );
    let told = slowpath_succeeds(&["redis", "--json"], &recording).json();
    let server = Served::of(&recording);
    let about = server.get("/api/recording");
    assert_eq!(about["has_stores"], true);
    let origin = about["origin_ns"].as_str().expect("digits");
    let origin: i64 = origin.parse().expect("a time");
    let store = server.get("/api/store");
    for part in ["commands", "clients", "bus", "lost"] {
        assert_eq!(store[part], told[part], "{part}");
    }
    let first = |tables: &Value, part, key| tables[part][0][key].as_i64().expect("a number");
    for (part, key) in [
        ("servers", "begin_ns"),
        ("servers", "end_ns"),
        ("slowest", "start_ns"),
    ] {
        assert_eq!(
            first(&store, part, key) + origin,
            first(&told, part, key),
            "{part} {key}"
        );
    }
    assert_eq!(
        store["findings"].as_array().map(Vec::len),
        told["findings"].as_array().map(Vec::len)
    );

    let list = server.get("/api/store/rows");
    let rows = list["rows"].as_array().expect("rows");
    assert_eq!(
        (&rows[0]["kind"], &rows[0]["number"]),
        (&"event-loop".into(), &told["servers"][0]["pid"])
    );
    let connections = rows.iter().filter(|row| row["kind"] == "connection");
    let connections: Vec<usize> = connections
        .filter_map(|row| Some(row["row"].as_u64()? as usize))
        .collect();
    assert_eq!(
        connections.len(),
        told["clients"].as_array().expect("clients").len()
    );

    // Each command is executed once.
    let end = about["duration_ns"].as_i64().expect("a time") + 1;
    let ask = |of: &str, rows: &[usize]| {
        let question =
            json!({"of": of, "rows": rows, "begin_ns": 0, "end_ns": end, "limit": 100_000});
        let answer = server.post("/api/intervals", question);
        assert_eq!(answer["complete"], true);
        let rows = answer["rows"].as_array().expect("rows").clone();
        rows.iter()
            .flat_map(|row| row.as_array().expect("intervals").clone())
            .collect::<Vec<_>>()
    };
    let executing = list["structures"]
        .as_array()
        .expect("names")
        .iter()
        .position(|name| name == "arguments");
    let shown = ask("store", &connections);
    let shown = shown
        .iter()
        .filter(|one| one["value"].as_u64() == executing.map(|at| at as u64));
    let count = told["servers"][0]["count"].as_u64().expect("a number");
    // Of some the clock does not tell how long.
    let least = count - count / 10;
    let executed = shown.count() as u64;
    assert!((least..=count).contains(&executed), "{executed} of {count}");
    let get = list["commands"]
        .as_array()
        .expect("names")
        .iter()
        .position(|name| name == "get");
    let commands = ask("store-commands", &connections);
    assert!(
        commands
            .iter()
            .any(|one| one["value"].as_u64() == get.map(|at| at as u64))
    );

    // Without I/O threads, what is read comes from a connection to the event loop, and goes back.
    let (_, _, arrows) = arrows(&recording);
    let batches = told["servers"][0]["batches"].as_u64().expect("a number");
    for (kind, from, to) in [
        ("read", "connection", "event-loop"),
        ("reply", "event-loop", "connection"),
    ] {
        let such = arrows.iter().filter(|arrow| arrow["kind"] == kind);
        let ends = such.map(|arrow| {
            ["from_row", "to_row"]
                .map(|end| &rows[arrow[end].as_u64().expect("a row") as usize]["kind"])
        });
        let ends: Vec<_> = ends.collect();
        assert!(ends.iter().all(|ends| *ends == [from, to]), "{kind}");
        let count = ends.len() as u64;
        assert!(
            (batches - batches / 10..=batches).contains(&count),
            "{count} of {batches} {kind}"
        );
    }
    // What the loop did while the slowest command was under way was for its client, too.
    let slowest = &store["slowest"][0];
    let number = |key: &str| slowest[key].as_i64().expect("a number");
    let (begin, length) = (number("begin_ns"), number("total_ns"));
    let meanwhile = server.get(&format!(
        "/api/store/command?server=1&client={}&begin_ns={begin}&end_ns={}",
        number("client"),
        begin + length
    ));
    assert_eq!(meanwhile["path"], Value::Null);
    let did = meanwhile["meanwhile"]["did"]
        .as_array()
        .expect("what it did");
    let own = did
        .iter()
        .find(|one| one["own"] == true && one["operation"] == "executing");
    let own = own.unwrap_or_else(|| panic!("it executed it: {did:?}"));
    assert_eq!(own["command"], slowest["command"]);
    let sum: i64 = did.iter().filter_map(|one| one["total_ns"].as_i64()).sum();
    let rest = meanwhile["meanwhile"]["rest_ns"]
        .as_i64()
        .expect("the rest");
    assert!(
        (length..length + length / 10 + 2).contains(&(sum + rest)),
        "{meanwhile}"
    );

    let over_time = server.get(&format!(
        "/api/store/over-time?begin_ns=0&end_ns={end}&buckets=1"
    ));
    let mean = |key: &str| over_time["servers"][0][key][0].as_f64().expect("a number");
    let expected =
        |key: &str| told["servers"][0][key].as_f64().expect("a number") * 1e9 / end as f64;
    for (found, key) in [("read", "bytes_read"), ("written", "bytes_written")] {
        let ratio = mean(found) / expected(key);
        assert!((0.98..1.02).contains(&ratio), "{found}: {ratio}");
    }
    let length = first(&told, "servers", "end_ns") - first(&told, "servers", "begin_ns");
    let busy = told["servers"][0]["busy"]["percent"]
        .as_f64()
        .expect("a share")
        / 100.0;
    let ratio = mean("busy") / (busy * length as f64 / end as f64);
    assert!((0.95..1.02).contains(&ratio), "busy: {ratio}");
}

/// Everything that the model has: pipelines, I/O threads, a script, a transaction, a command that blocks, a subscriber,
/// and the bus of a cluster.
fn work(folder: &Path, commands: &Path) -> String {
    let (script, [node, _]) = cluster(folder);
    let port = free_port();
    let commands = commands.display();
    format!(
        "{script}
        redis-server --port {port} --bind 127.0.0.1 --save '' --appendonly no --io-threads 2 \
            --io-threads-do-reads yes >/dev/null & servers=\"$servers $!\"
        until redis-cli -p {port} ping >/dev/null 2>&1; do kill -0 $! || exit 1; sleep 0.05; done; sleep 0.3
        redis-cli --json -p {port} command >{commands}
        redis-cli -p {port} subscribe channel >/dev/null & others=$!
        redis-benchmark -q -c 8 -P 4 -p {port} -t get,set,lpush,lrange_100 -n 400 >/dev/null
        redis-cli -p {port} blpop nothing 5 >/dev/null & sleep 0.2; redis-cli -p {port} lpush nothing 1 >/dev/null
        printf 'multi\nset a 1\nget a\nexec\nnonsense\n' | redis-cli -p {port} >/dev/null
        redis-cli -p {port} eval 'return redis.call(\"get\", \"a\")' 0 >/dev/null
        redis-cli -p {port} publish channel message >/dev/null
        redis-benchmark -q -c 2 -n 100 -p {node} publish channel 0123456789 >/dev/null
        sleep 0.3; kill $others $servers; wait $servers"
    )
}

#[test]
fn the_state_at_any_time_is_that_of_a_replay_of_the_events() {
    const TIMES: &str = "200";
    let Some(agents) = agents() else { return };
    let _alone = alone();
    for detail in ["lite", "life-cycle"] {
        let folder = tempfile::tempdir().expect("a folder");
        let recording = folder.path().join(detail);
        let commands = folder.path().join("commands.json");
        let script = work(folder.path(), &commands);
        let arguments = [
            "--redis",
            "launch",
            "--redis-detail",
            detail,
            "--",
            "sh",
            "-c",
            &script,
        ];
        record(&agents, &recording, &arguments);
        let arguments = [commands.as_os_str(), TIMES.as_ref()];
        let Some(oracle) = oracle_says("redis_state.py", &arguments, &[&recording]) else {
            return;
        };
        let mut told = std::collections::BTreeSet::new();
        for expected in oracle.json().as_array().expect("answers") {
            let at = expected["at_ns"].to_string();
            let found = slowpath_succeeds(&["state", "--json", "--at", &at], &recording).json();
            let rows = found["stores"].as_array().cloned().unwrap_or_default();
            assert_eq!(Value::Array(rows), expected["stores"], "{detail} at {at}");
            for store in expected["stores"].as_array().expect("servers") {
                let parts = store.as_object().expect("a server").iter();
                let full = parts.filter(|(_, part)| part.to_string().len() > 2);
                told.extend(full.map(|(name, _)| name.clone()));
            }
        }
        assert_eq!(
            told.len(),
            8,
            "something of everything was asked for: {told:?}"
        );
    }
}

#[test]
fn io_threads_that_read_over_tls_are_shown_and_nothing_is_found_in_a_healthy_server() {
    let Some(agents) = agents() else { return };
    if Command::new("openssl").arg("version").output().is_err() {
        support::skip("openssl is missing");
        return;
    }
    let _alone = alone();
    let folder = tempfile::tempdir().expect("a folder");
    let recording = folder.path().join("tls");
    let place = folder.path().display();
    let port = free_port();
    let script = format!(
        "cd {place}
        openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 1 -subj /CN=localhost \
            -keyout key -out certificate 2>/dev/null
        redis-server --port 0 --tls-port {port} --bind 127.0.0.1 --save '' --tls-cert-file certificate \
            --tls-key-file key --tls-ca-cert-file certificate --tls-auth-clients no \
            --io-threads 4 --io-threads-do-reads yes >/dev/null & server=$!
        until redis-cli --tls --insecure -p {port} ping >/dev/null 2>&1; do kill -0 $! || exit 1; sleep 0.05; done
        sleep 0.3
        redis-benchmark --tls --insecure -q -p {port} -t set -c 30 -d 20000 -n 3000 >/dev/null
        kill $server; wait $server"
    );
    record(
        &agents,
        &recording,
        &[
            "--redis",
            "launch",
            "--redis-detail",
            "full",
            "--",
            "sh",
            "-c",
            &script,
        ],
    );
    let told = slowpath_succeeds(&["redis", "--json"], &recording).json();
    let rows = told["touched"].as_array().expect("rows");
    assert_eq!(rows.len(), 1, "I/O threads have read: {rows:?}");
    let touches = rows[0]["worst"]["touches"].as_array().expect("touches");
    let operations: Vec<_> = touches.iter().map(|touch| &touch["operation"]).collect();
    assert!(
        operations
            .iter()
            .any(|operation| *operation == "read-postponed"),
        "{touches:?}"
    );
    assert!(
        operations.iter().any(|operation| *operation == "tls-read"),
        "{touches:?}"
    );
    let times: Vec<_> = touches
        .iter()
        .map(|touch| touch["at_ns"].as_i64())
        .collect();
    assert!(times.is_sorted(), "{touches:?}");

    // The same in the browser application: each step in its row, with what was asked for and got; and the way of commands
    // leads over I/O threads.
    let (server, shown, arrows) = arrows(&recording);
    let origin = &server.get("/api/recording")["origin_ns"];
    let origin: i64 = origin
        .as_str()
        .and_then(|digits| digits.parse().ok())
        .expect("a time");
    let client = &rows[0]["worst"]["client"];
    let row = shown
        .iter()
        .find(|row| row["kind"] == "connection-operations" && row["number"] == *client);
    let row = &row.expect("a row of that connection")["row"];
    let first = times[0].expect("a time") - origin;
    let last = times[times.len() - 1].expect("a time") - origin;
    let question = json!({"rows": [row], "begin_ns": first, "end_ns": last + 1, "limit": 1000});
    let operations = server.post("/api/store/operations", question);
    let operations = operations["operations"].as_array().expect("operations");
    let steps = operations.iter().map(|one| {
        let at = one["at_ns"].as_i64().expect("a time") + origin;
        json!([at, one["tid"], one["operation"], one["asked"], one["got"]])
    });
    let expected = touches.iter().map(|touch| {
        let got = touch["got"].as_i64().filter(|got| *got >= 0);
        json!([
            touch["at_ns"],
            touch["tid"],
            touch["operation"],
            touch["asked"],
            got
        ])
    });
    assert_eq!(steps.collect::<Vec<_>>(), expected.collect::<Vec<_>>());
    let kind = |arrow: &Value, end: &str| {
        let row = arrow[end].as_u64().expect("a row") as usize;
        shown[row]["kind"].as_str().expect("a kind").to_owned()
    };
    let over_threads = |wanted: &str, from: &str, to: &str| {
        let such = arrows.iter().filter(|arrow| arrow["kind"] == wanted);
        such.filter(|arrow| {
            (kind(arrow, "from_row"), kind(arrow, "to_row")) == (from.to_owned(), to.to_owned())
        })
        .count()
    };
    let read = over_threads("read", "connection", "thread");
    // How often depends on how many clients' commands are there at once: seldom where others have the processors.
    assert!(read > 0);
    // Who reads the last part hands over to the event loop, which executes, and who writes gets it from there.
    let handed_over = over_threads("hand-over", "thread", "event-loop");
    assert!((1..=read).contains(&handed_over), "{handed_over} of {read}");
    let (written, got) = (
        over_threads("reply", "thread", "connection"),
        over_threads("hand-over", "event-loop", "thread"),
    );
    assert!(
        got >= written && written > 0,
        "{written} written, {got} handed over"
    );
    let kinds = ["connection-read-by-several-threads", "double-free"];
    for finding in told["findings"].as_array().expect("findings") {
        assert!(
            !kinds.iter().any(|kind| finding["kind"] == *kind),
            "{finding}"
        );
    }
}
