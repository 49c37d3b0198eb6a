//! `slowpath diagnose` finds what is known to be wrong in recordings whose programs wrote it down.

mod support;

use std::fs;

use serde_json::Value;
use support::{shared_traces, slowpath, slowpath_succeeds, unpacked};

/// The recording's findings, and the lines of its ground truth.
fn diagnosed(name: &str) -> Option<(Vec<Value>, Vec<Value>)> {
    let truth = fs::read_to_string(shared_traces()?.join(name).join("ground-truth.jsonl"));
    let truth = truth.expect("the ground truth can be read");
    let trace = unpacked(&format!("{name}/{name}.tar.zst"))?.join(name);
    let document = slowpath_succeeds(&["diagnose", "--json"], &trace).json();
    let findings = document["findings"].as_array().expect("findings").clone();
    let line = |line: &str| serde_json::from_str(line).expect("JSON");
    Some((findings, truth.lines().map(line).collect()))
}

fn number(value: &Value) -> f64 {
    value
        .as_f64()
        .unwrap_or_else(|| panic!("{value} is no number"))
}

/// The first two numbers after `words`, as nanoseconds: `… ran for 6.107 ms …`.
fn length_after(text: &str, words: &str) -> f64 {
    let rest = text
        .split(words)
        .nth(1)
        .unwrap_or_else(|| panic!("no {words:?} in {text:?}"));
    let mut parts = rest.split_whitespace();
    let amount: f64 = parts
        .next()
        .and_then(|part| part.parse().ok())
        .expect("a number");
    let unit = parts
        .next()
        .expect("a unit")
        .trim_end_matches([',', ';', ':']);
    amount
        * match unit {
            "s" => 1e9,
            "ms" => 1e6,
            "µs" => 1e3,
            "ns" => 1.0,
            other => panic!("no unit: {other}"),
        }
}

#[test]
fn a_cpu_quota_is_the_first_cause_with_its_period_and_size() {
    let Some((findings, truth)) = diagnosed("cpu-cgroup") else {
        return;
    };
    let run = truth
        .iter()
        .find(|line| line["type"] == "run")
        .expect("a run");
    let offset = number(&run["realtime_minus_monotonic_ns"]);
    // Phases with a limit: its quota and period in nanoseconds, begin and end since the epoch.
    let limited: Vec<(f64, f64, f64, f64)> = (truth.iter())
        .filter(|line| line["type"] == "phase" && number(&line["nr_periods"]) > 0.0)
        .map(|line| {
            let limit = line["cpu_max"].as_str().expect("cpu.max");
            let parts: Vec<f64> = limit.split(' ').map(|n| n.parse().unwrap()).collect();
            let at = |key: &str| number(&line[key]) + offset;
            (parts[0] * 1e3, parts[1] * 1e3, at("start_ns"), at("end_ns"))
        })
        .collect();
    assert_eq!(limited.len(), 2, "the program was limited in two phases");
    let first = &findings[0];
    assert_eq!(first["id"], "cpu-quota");
    assert!(number(&first["share"]) > 0.5);
    let regimes: Vec<&Value> = (first["evidence"].as_array().expect("evidence").iter())
        .filter(|evidence| {
            evidence["text"]
                .as_str()
                .is_some_and(|t| t.contains("periods of"))
        })
        .collect();
    assert_eq!(regimes.len(), 2, "{regimes:?}");
    let (unlimited_until, unlimited_from) = (limited[0].2, limited[1].3);
    for (regime, (quota, period, begin, end)) in regimes.into_iter().zip(limited) {
        let text = regime["text"].as_str().expect("words");
        let within = |found: f64, truth: f64| (found / truth - 1.0).abs() < 0.1;
        assert!(within(length_after(text, "periods of "), period), "{text}");
        assert!(within(length_after(text, "ran for "), quota), "{text}");
        // When the quota was changed is told to the second only.
        let near = |found: f64, truth: f64| (found - truth).abs() < 10.0 * period;
        assert!(near(number(&regime["begin_ns"]), begin), "{regime}");
        assert!(near(number(&regime["end_ns"]), end), "{regime}");
        // Nothing is said of the time in which there was no limit.
        assert!(
            number(&regime["begin_ns"]) >= unlimited_until - period,
            "{regime}"
        );
        assert!(
            number(&regime["end_ns"]) <= unlimited_from + period,
            "{regime}"
        );
    }
    let others = findings
        .iter()
        .filter(|finding| finding["id"] == "cpu-quota");
    assert_eq!(others.count(), 1);
}

#[test]
fn lock_chains_are_named() {
    let Some((findings, truth)) = diagnosed("futex-contention") else {
        return;
    };
    let locks = findings
        .iter()
        .find(|finding| finding["id"] == "lock-contention");
    let evidence = &locks.expect("a finding about locks")["evidence"];
    let evidence = evidence.as_array().expect("evidence");
    let workers: Vec<i64> = (truth.iter())
        .filter(|line| line["type"] == "thread" && line["role"] == "worker")
        .map(|line| line["tid"].as_i64().expect("a number"))
        .collect();
    assert!(workers.len() > 1);
    let told = |worker: &&i64| {
        evidence.iter().any(|evidence| {
            let text = evidence["text"].as_str().expect("words");
            evidence["tid"] == **worker && text.contains("was waited for")
        })
    };
    let missing: Vec<&i64> = workers.iter().filter(|worker| !told(worker)).collect();
    assert!(
        missing.is_empty(),
        "no word of {missing:?} in {evidence:#?}"
    );
    // The holders fsync under the lock: the journal's thread is part of the chain.
    let chains = evidence
        .iter()
        .filter_map(|evidence| evidence["text"].as_str());
    let chains: Vec<&str> = chains
        .filter(|text| text.contains("was waited for"))
        .collect();
    assert!(
        chains
            .iter()
            .any(|text| text.contains("BLOCK_DEVICE of jbd2")),
        "{chains:?}"
    );
    let quota = findings.iter().find(|finding| finding["id"] == "cpu-quota");
    assert!(quota.is_none(), "{quota:?}");
}

#[test]
fn the_disk_and_its_writers_are_named() {
    let Some((findings, truth)) = diagnosed("futex-contention") else {
        return;
    };
    let disk = findings.iter().find(|finding| finding["id"] == "disk-wait");
    let disk = disk.expect("a finding about disks");
    // The program wrote to a disk of its own (the journal's thread is `jbd2/vdc-8`).
    assert_eq!(disk["title"], "Disk: requests wait for vdc");
    let evidence = disk["evidence"].as_array().expect("evidence").iter();
    let evidence: Vec<&str> = evidence.filter_map(|one| one["text"].as_str()).collect();
    let written = (evidence.iter())
        .find(|text| text.starts_with("vdc was waited for") && text.contains("were being written"));
    let written = written.unwrap_or_else(|| panic!("no word of writers in {evidence:#?}"));
    let writers: Vec<i64> = (truth.iter())
        .filter(|line| line["type"] == "thread" && line["role"] == "disk")
        .map(|line| line["tid"].as_i64().expect("a number"))
        .collect();
    assert!(!writers.is_empty());
    let told = |writer: &i64| written.contains(&format!("({writer})"));
    assert!(
        writers.iter().any(told),
        "no word of {writers:?} in {written}"
    );
}

#[test]
fn the_peer_is_named_and_told_to_be_recorded_where_it_is_not() {
    let Some(folder) = unpacked("two-hosts/two-hosts.tar.zst") else {
        return;
    };
    // The server's address is 10.0.0.1, its port 7000.
    let both = folder.join("two-hosts");
    let waits = |trace: &std::path::Path| {
        let document = slowpath_succeeds(&["diagnose", "--json"], trace).json();
        let findings = document["findings"].as_array().expect("findings").clone();
        let network = findings.into_iter().find(|one| one["id"] == "network-wait");
        network.expect("a finding about the network")
    };
    let among = waits(&both);
    assert_eq!(
        among["title"],
        "Network: requests wait for server (10.0.0.1:7000)"
    );
    let advice = |finding: &Value| finding["advice"].as_str().expect("words").to_owned();
    assert!(!advice(&among).contains("Record on"), "{among}");
    let alone = waits(&both.join("client"));
    assert_eq!(alone["title"], "Network: requests wait for 10.0.0.1:7000");
    assert!(advice(&alone).contains("Record on"), "{alone}");
}

#[test]
fn of_a_quota_a_window_has_what_lies_within() {
    let Some(folder) = unpacked("cpu-cgroup/cpu-cgroup.tar.zst") else {
        return;
    };
    let trace = folder.join("cpu-cgroup");
    let quota = |begin: &str, end: &str| {
        let command = ["diagnose", "--json", "--begin", begin, "--end", end];
        let document = slowpath_succeeds(&command, &trace).json();
        let findings = document["findings"].as_array().expect("findings").iter();
        let mut quotas = findings.filter(|finding| finding["id"] == "cpu-quota");
        quotas.next().cloned()
    };
    // The program was limited from 4.2 s to 16.3 s after the first event.
    assert_eq!(quota("+0s", "+4s"), None);
    assert_eq!(quota("+17s", "+25s"), None);
    // Right behind the limit, some requests still are as late as it made them.
    let behind = quota("1795239820590600000", "1795239824096000000");
    assert_eq!(behind, None);
    // Hardly any request is as short as a second there.
    let told = slowpath_succeeds(&["diagnose", "--begin", "+7s", "--end", "+8s"], &trace);
    let told = String::from_utf8_lossy(&told.stdout);
    let others = "8 more lie in the window in part only and count for nothing here.";
    assert!(told.contains(others), "{told}");
    let window = ["diagnose", "--json", "--begin", "+7s", "--end", "+8s"];
    let told = slowpath_succeeds(&window, &trace).json();
    assert_eq!(
        (&told["requests"], &told["in_part"]),
        (&1.into(), &8.into())
    );
    // Of 3 s of it, no more than these are told.
    let within = quota("1795239810310531463", "1795239813310531463").expect("a quota");
    assert_eq!(within["begin_ns"], 1_795_239_810_310_531_463_i64);
    assert_eq!(within["end_ns"], 1_795_239_813_310_531_463_i64);
    let words = within["explanation"].as_str().expect("words");
    assert!(words.contains(" In 31 periods of 99."), "{words}");
}

#[test]
fn nothing_is_said_of_a_service_in_good_health() {
    let (_folder, recording) = support::quiet_recording();
    let requests = slowpath_succeeds(&["requests", "--json"], &recording).json();
    let requests = requests["requests"].as_array().expect("requests").clone();
    let of_service = |request: &&Value| {
        request["service"] == "prices" && request["operation"] == "GET /price/<int:number>"
    };
    assert_eq!(requests.iter().filter(of_service).count(), 40);
    assert_eq!(requests.len(), 40);
    let findings = slowpath_succeeds(&["diagnose", "--json"], &recording).json();
    assert_eq!(findings["findings"], serde_json::json!([]));
    // Some of them, chosen as for `requests`.
    let duration = |request: &Value| request["duration_ns"].as_u64().expect("a duration");
    let mut durations: Vec<u64> = requests.iter().map(duration).collect();
    durations.sort_unstable();
    let least = format!("{}ns", durations[30]);
    let chosen = [
        "diagnose",
        "--json",
        "--operation",
        "GET*",
        "--min-duration",
        &least,
    ];
    let chosen = slowpath_succeeds(&chosen, &recording).json();
    assert_eq!(
        (&chosen["requests"], &chosen["in_part"]),
        (&10.into(), &0.into())
    );
    for nothing in [["--end", "+1us"], ["--operation", "POST*"]] {
        let told = slowpath(&["diagnose", nothing[0], nothing[1]], &recording);
        assert_eq!(told.status, Some(2), "{}", told.stderr);
        assert!(told.stderr.contains("no request fits\n"), "{}", told.stderr);
    }
    fs::remove_dir_all(recording.join("kernel")).expect("kernel events");
    for command in ["diagnose", "requests"] {
        let blind = slowpath(&[command], &recording);
        assert_eq!(blind.status, Some(1), "{}", blind.stderr);
        let said = blind
            .stderr
            .matches("no kernel events were recorded")
            .count();
        assert_eq!(said, 1, "{}", blind.stderr);
    }
}
