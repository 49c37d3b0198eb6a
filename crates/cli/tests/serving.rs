//! What `slowpath serve` and `slowpath report` answer agrees with what the other commands print.

mod support;

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::{Value, json};
use support::server::{Server, i64_of, served};
use support::{quiet_recording, slowpath_succeeds};

#[test]
fn requests_are_those_of_the_command_line() {
    let Some((server, trace, _home)) = served("cpu-cgroup/cpu-cgroup.tar.zst", "cpu-cgroup") else {
        return;
    };
    let recording = server.get("/api/recording");
    let origin: i64 = recording["origin_ns"].as_str().unwrap().parse().unwrap();
    let expected = slowpath_succeeds(&["requests", "--json"], &trace).json();
    let expected = expected["requests"].as_array().unwrap();
    let page = server.get("/api/requests?limit=10000");
    let found = page["requests"].as_array().unwrap();
    assert_eq!(i64_of(&page, "total") as usize, expected.len());
    let by_span = |rows: &[Value], offset: i64| -> BTreeMap<String, (i64, i64, String, String)> {
        let row = |row: &Value| {
            let summaries = (["summary", "states"].iter())
                .find_map(|key| row.get(key))
                .unwrap();
            let own = (["own_summary", "own_states"].iter())
                .find_map(|key| row.get(key))
                .unwrap();
            let times = (
                i64_of(row, "begin_ns") + offset,
                i64_of(row, "end_ns") + offset,
            );
            (
                row["span_id"].to_string(),
                (times.0, times.1, summaries.to_string(), own.to_string()),
            )
        };
        rows.iter().map(row).collect()
    };
    assert_eq!(by_span(found, origin), by_span(expected, 0));
    // The longest first; sorted and filtered otherwise where asked.
    let durations: Vec<i64> = found.iter().map(|row| i64_of(row, "duration_ns")).collect();
    assert!(durations.is_sorted_by(|one, other| one >= other));
    let begins = server.get("/api/requests?sort=begin&limit=10&offset=5");
    let begins: Vec<i64> = begins["requests"]
        .as_array()
        .unwrap()
        .iter()
        .map(|row| i64_of(row, "begin_ns"))
        .collect();
    assert!(begins.len() == 10 && begins.is_sorted());
    let by_name = server.get("/api/requests?sort=operation&limit=10000");
    let by_name: Vec<(String, i64)> = (by_name["requests"].as_array().unwrap().iter())
        .map(|row| (row["comm"].to_string(), -i64_of(row, "duration_ns")))
        .collect();
    assert!(by_name.is_sorted() && by_name.len() == expected.len());
    let longest = &found[0];
    let span = longest["span_id"].as_str().unwrap();
    let one = server.get(&format!("/api/requests?text={span}"));
    assert_eq!(
        (i64_of(&one, "total"), &one["requests"][0]["id"]),
        (1, &longest["id"])
    );
    let least = durations[durations.len() / 2];
    let long = server.get(&format!("/api/requests?min_ns={least}"));
    let at_least = durations
        .iter()
        .filter(|duration| **duration >= least)
        .count();
    assert_eq!(i64_of(&long, "total") as usize, at_least);

    // One in full: its path is that of the command line, and adds up.
    let id = i64_of(longest, "id");
    let detail = server.get(&format!("/api/requests/{id}"));
    let path = slowpath_succeeds(&["critical-path", "--json", "--span", span], &trace).json();
    let tiles = |path: &Value, offset: i64| -> Vec<(i64, i64, String, i64)> {
        let segment = |one: &Value| {
            let times = (
                i64_of(one, "begin_ns") + offset,
                i64_of(one, "end_ns") + offset,
            );
            (
                times.0,
                times.1,
                one["state"].to_string(),
                i64_of(one, "tid"),
            )
        };
        path["segments"]
            .as_array()
            .unwrap()
            .iter()
            .map(segment)
            .collect()
    };
    assert_eq!(tiles(&detail["path"], origin), tiles(&path, 0));
    assert_eq!(detail["path"]["states"], path["summary"]);
    assert!(
        detail["verdict"]
            .as_str()
            .unwrap()
            .starts_with("What dominated: ")
    );
    let spans = detail["spans"].as_array().unwrap();
    assert!(spans.iter().any(|one| one["id"] == longest["id"]));
    let paths = server.post("/api/paths", json!({ "requests": [id, 1_000_000_000_u64] }));
    assert_eq!(paths["paths"].as_array().unwrap().len(), 1);
    assert_eq!(paths["paths"][0]["path"], detail["path"]);
    let coarse = server.post(
        "/api/paths",
        json!({ "requests": [id], "least_ns": 1_000_000 }),
    );
    let lengths = |path: &Value| -> i64 {
        tiles(path, 0)
            .iter()
            .map(|(begin, end, ..)| end - begin)
            .sum()
    };
    assert_eq!(
        lengths(&coarse["paths"][0]["path"]),
        lengths(&detail["path"])
    );
    assert!(tiles(&coarse["paths"][0]["path"], 0).len() < tiles(&detail["path"], 0).len());

    // Groups, and what they add up to.
    let counts = server.get("/api/distribution?buckets=7");
    let counts: i64 = counts["counts"]
        .as_array()
        .unwrap()
        .iter()
        .filter_map(Value::as_i64)
        .sum();
    assert_eq!(counts as usize, expected.len());
    let operations = server.get("/api/operations");
    let of_operations = operations["operations"].as_array().unwrap().iter();
    assert_eq!(
        of_operations.map(|one| i64_of(one, "count")).sum::<i64>() as usize,
        expected.len()
    );
    let halves =
        json!({ "one": { "percentiles": [0, 50] }, "other": { "percentiles": [50, 100] } });
    let comparison = server.post("/api/compare", halves);
    let compared = i64_of(&comparison["one"], "count") + i64_of(&comparison["other"], "count");
    assert_eq!(compared as usize, expected.len());
    let mean = |side: &str| comparison[side]["mean_ns"].as_f64().unwrap();
    let differences = comparison["differences"].as_array().unwrap().iter();
    let sum: f64 = differences
        .filter_map(|one| one["difference_ns"].as_f64())
        .sum();
    assert!(
        (sum - (mean("other") - mean("one"))).abs() < 1_000.0,
        "{sum}"
    );
}

#[test]
fn requests_are_found_by_what_their_rows_show() {
    let (_folder, recording) = quiet_recording();
    let server = Server::of(&recording);
    let all = server.get("/api/requests?limit=10000");
    let rows = all["requests"].as_array().unwrap();
    assert!(!rows.is_empty());
    for column in ["comm", "operation", "service", "span_id", "trace_id"] {
        let shown = rows[0][column].as_str().unwrap();
        assert!(!shown.is_empty(), "{column}");
        let text = shown.to_uppercase();
        let text: String = text.bytes().map(|byte| format!("%{byte:02x}")).collect();
        let found = server.get(&format!("/api/requests?text={text}"));
        let same = rows.iter().filter(|row| row[column] == shown).count();
        assert_eq!(i64_of(&found, "total"), same as i64, "{shown} in {column}");
    }
}

#[test]
fn findings_are_those_of_diagnose_and_lead_to_requests() {
    let Some((server, trace, _home)) = served("cpu-cgroup/cpu-cgroup.tar.zst", "cpu-cgroup") else {
        return;
    };
    let expected = slowpath_succeeds(&["diagnose", "--json"], &trace).json();
    let found = server.get("/api/findings");
    let told = |document: &Value| -> Vec<(String, String, String)> {
        let findings = document["findings"].as_array().unwrap().iter();
        let told = findings.map(|one| {
            (
                one["id"].to_string(),
                one["title"].to_string(),
                one["share"].to_string(),
            )
        });
        told.collect()
    };
    assert!(!told(&found).is_empty());
    assert_eq!(told(&found), told(&expected));
    for count in ["requests", "examined", "left_out"] {
        assert_eq!(found[count], expected[count], "{count}");
    }
    let (examined, all) = (i64_of(&found, "examined"), i64_of(&found, "requests"));
    assert!(
        examined >= all / 10 && examined < all,
        "{examined} of {all}"
    );
    let findings = found["findings"].as_array().unwrap().iter();
    let evidence = findings.flat_map(|one| one["evidence"].as_array().unwrap());
    let requests: Vec<i64> = evidence.filter_map(|one| one["request"].as_i64()).collect();
    assert!(!requests.is_empty());
    for request in requests {
        server.get(&format!("/api/requests/{request}"));
    }
}

#[test]
fn threads_and_processors_are_those_of_the_command_line() {
    let archive = "futex-contention/futex-contention.tar.zst";
    let Some((server, trace, _home)) = served(archive, "futex-contention") else {
        return;
    };
    let threads = server.get("/api/threads");
    let threads = threads["threads"].as_array().unwrap();
    let expected = slowpath_succeeds(&["thread-states", "--json"], &trace);
    let expected: BTreeMap<i64, Value> = (expected.lines().iter())
        .map(|line| serde_json::from_slice::<Value>(line).unwrap())
        .map(|row| (i64_of(&row, "tid"), row))
        .collect();
    assert_eq!(threads.len(), expected.len());
    for thread in threads {
        let states = &expected[&i64_of(thread, "tid")];
        let time = |state: &str| thread["states"][state].as_i64().unwrap_or(0);
        assert_eq!(time("RUNNING"), i64_of(states, "running_ns"), "{thread}");
        let runnable = time("PREEMPTED") + time("WAIT_CPU");
        assert_eq!(runnable, i64_of(states, "runnable_ns"), "{thread}");
    }
    // A screen of a row in one pixel is what it did most; in many, its parts.
    let row = threads
        .iter()
        .find(|thread| thread["comm"] == "worker-A")
        .expect("worker-A");
    let (begin, end) = (i64_of(row, "begin_ns"), i64_of(row, "end_ns"));
    let asked = json!({
        "of": "threads", "rows": [row["row"], 1_000_000], "begin_ns": begin, "end_ns": end, "pixels": 1,
    });
    let screen = server.answer("POST", "/api/screen", &asked);
    assert_eq!(screen.body.len(), 2 * 5);
    let states = server.get("/api/recording");
    let shown = screen.body[0] as usize;
    let longest = row["states"].as_object().unwrap().iter();
    let longest = longest.max_by_key(|(_, time)| time.as_i64()).unwrap().0;
    assert_eq!(states["states"][shown].as_str().unwrap(), longest);
    assert_eq!(screen.body[9], 0, "a row that is not there shows nothing");
    let exact = server.post(
        "/api/intervals",
        json!({ "rows": [row["row"]], "begin_ns": begin, "end_ns": end, "limit": 100_000 }),
    );
    let mut times: BTreeMap<String, i64> = BTreeMap::new();
    for interval in exact["rows"][0].as_array().unwrap() {
        let state = states["states"][i64_of(interval, "value") as usize]
            .as_str()
            .unwrap();
        let within = (
            i64_of(interval, "begin_ns").max(begin),
            i64_of(interval, "end_ns").min(end),
        );
        *times.entry(state.to_owned()).or_default() += within.1 - within.0;
    }
    assert_eq!(serde_json::to_value(&times).unwrap(), row["states"]);
    // Every wake-up that is told is of rows that were asked for.
    let rows: Vec<usize> = (0..threads.len()).collect();
    let question =
        json!({ "rows": rows, "begin_ns": 2_000_000_000_i64, "end_ns": 2_100_000_000_i64 });
    let arrows = server.post("/api/arrows", question);
    let arrows = arrows["arrows"].as_array().unwrap();
    assert!(!arrows.is_empty());
    let touching = json!({ "touching": row["row"], "begin_ns": 0, "end_ns": 12_000_000_000_i64 });
    let touching = server.post("/api/arrows", touching);
    let touching = touching["arrows"].as_array().unwrap();
    assert!(!touching.is_empty());
    assert!(
        touching
            .iter()
            .all(|arrow| arrow["from_row"] == row["row"] || arrow["to_row"] == row["row"])
    );

    let used = server.get("/api/analyses/cpu");
    assert_eq!(used, slowpath_succeeds(&["cpu", "--json"], &trace).json());
    let cpus = server.get("/api/cpus");
    let busy = |rows: &Value| -> Vec<i64> {
        rows["cpus"]
            .as_array()
            .unwrap()
            .iter()
            .map(|cpu| i64_of(cpu, "busy_ns"))
            .collect()
    };
    assert_eq!(busy(&cpus), busy(&used));
}

#[test]
fn quiet_is_when_all_threads_that_are_shown_wait() {
    let archive = "futex-contention/futex-contention.tar.zst";
    let Some((server, _trace, _home)) = served(archive, "futex-contention") else {
        return;
    };
    let recording = server.get("/api/recording");
    let (begin, end, pixels) = (0, i64_of(&recording, "duration_ns"), 2_000);
    let threads = server.get("/api/threads");
    let rows: Vec<&Value> = (threads["threads"].as_array().unwrap().iter())
        .filter(|row| row["serves_requests"] == true)
        .map(|row| &row["row"])
        .collect();
    let asked = json!({ "rows": rows, "begin_ns": begin, "end_ns": end, "pixels": pixels });
    let quiet = server.post("/api/quiet", asked);
    let quiet: Vec<(i64, i64)> = (quiet["quiet"].as_array().unwrap().iter())
        .map(|one| (i64_of(one, "begin_ns"), i64_of(one, "end_ns")))
        .collect();
    let asked = json!({ "rows": rows, "begin_ns": begin, "end_ns": end, "limit": 100_000 });
    let intervals = server.post("/api/intervals", asked);
    let waiting = ["BLOCKED", "BLOCK_DEVICE", "NETWORK", "TIMER", "USER_INPUT"];
    let mut busy: Vec<(i64, i64)> = Vec::new();
    for interval in
        (intervals["rows"].as_array().unwrap().iter()).flat_map(|row| row.as_array().unwrap())
    {
        let state = &recording["states"][i64_of(interval, "value") as usize];
        if !waiting.contains(&state.as_str().unwrap()) {
            busy.push((i64_of(interval, "begin_ns"), i64_of(interval, "end_ns")));
        }
    }
    busy.sort_unstable();
    let overlap = |(begin, end): (i64, i64)| busy.iter().find(|of| of.0 < end && of.1 > begin);
    for &stretch in &quiet {
        assert_eq!(overlap(stretch), None, "{stretch:?}");
    }
    // Whatever is not told to be quiet lies less than a pixel from something that is not.
    let pixel = (end - begin) / pixels + 1;
    let mut until = begin;
    for (from, to) in quiet.iter().copied().chain([(end, end)]) {
        if from > until {
            assert!(
                overlap((until - pixel, from + pixel)).is_some(),
                "{until} to {from}"
            );
        }
        until = to;
    }
    assert!(quiet.len() > 1, "{} stretches", quiet.len());
}

#[test]
fn bytes_over_time_add_up_to_those_of_all_processes() {
    let Some((server, _trace, _home)) = served("io-mix/io-mix.tar.zst", "io-mix") else {
        return;
    };
    let recording = server.get("/api/recording");
    let end = i64_of(&recording, "duration_ns");
    let moved = |begin: i64, end: i64, buckets: i64| -> [f64; 2] {
        let path = format!("/api/io?begin_ns={begin}&end_ns={end}&buckets={buckets}");
        let answer = server.get(&path);
        let seconds = (end - begin) as f64 / buckets as f64 / 1e9;
        ["read", "written"].map(|way| {
            let rates = answer["rates"].as_array().unwrap().iter();
            let values = rates.flat_map(|row| row[way].as_array().unwrap());
            values.map(|rate| rate.as_f64().unwrap() * seconds).sum()
        })
    };
    let processes = server.get("/api/analyses/io");
    let all = ["read_bytes", "write_bytes"].map(|way| -> f64 {
        let rows = processes["processes"].as_array().unwrap().iter();
        rows.map(|row| row[way].as_f64().unwrap()).sum()
    });
    let near = |found: [f64; 2]| {
        for (found, all) in found.into_iter().zip(all) {
            assert!(
                all > 1e6 && (found / all - 1.0).abs() < 1e-6,
                "{found} of {all}"
            );
        }
    };
    near(moved(0, end, 7));
    near(moved(0, end, 3_000));
    let [one, other] = [moved(0, end / 3, 50), moved(end / 3, end, 100)];
    near([one[0] + other[0], one[1] + other[1]]);
    let media = server.get("/api/io?begin_ns=0&end_ns=9&buckets=1");
    let media = media["rates"].as_array().unwrap().iter();
    assert!(media.clone().any(|row| row["medium"] == "files"));
}

#[test]
fn a_page_of_events_is_a_part_of_all_events() {
    let Some((server, trace, _home)) = served("io-mix/io-mix.tar.zst", "io-mix") else {
        return;
    };
    let recording = server.get("/api/recording");
    let origin: i64 = recording["origin_ns"].as_str().unwrap().parse().unwrap();
    let all = slowpath_succeeds(&["events", "--format", "jsonl"], &trace);
    let all: Vec<(i64, String)> = (all.lines().iter())
        .map(|line| serde_json::from_slice::<Value>(line).unwrap())
        .map(|event| {
            (
                i64_of(&event, "ns"),
                event["name"].as_str().unwrap().to_owned(),
            )
        })
        .collect();
    let rows = |page: &Value| -> Vec<(i64, String)> {
        let row = |event: &Value| {
            (
                i64_of(event, "at_ns") + origin,
                event["name"].as_str().unwrap().to_owned(),
            )
        };
        page["events"].as_array().unwrap().iter().map(row).collect()
    };
    for place in [0, 1, 7, all.len() / 2, all.len() - 2, all.len() - 1] {
        let at = all[place].0;
        let first = all.partition_point(|(time, _)| *time < at);
        let url = format!("/api/events?at_ns={}&before=40&after=60", at - origin);
        let page = server.get(&url);
        let expected = &all[first.saturating_sub(40)..(first + 60).min(all.len())];
        assert_eq!(rows(&page), expected, "around {place}");
        assert_eq!(page["has_earlier"], first > 40);
        assert_eq!(page["has_later"], first + 60 < all.len());
    }
    let only = server.get("/api/events?at_ns=0&after=30&name=sched_switch");
    let expected: Vec<_> = all
        .iter()
        .filter(|(_, name)| name == "sched_switch")
        .take(30)
        .cloned()
        .collect();
    assert_eq!(rows(&only), expected);
}

#[test]
fn hosts_whose_clocks_are_far_apart_are_shown_at_one_time() {
    let Some((server, trace, _home)) = served("two-hosts/two-hosts.tar.zst", "two-hosts") else {
        return;
    };
    let recording = server.answer("GET", "/api/recording", &Value::Null).json();
    // The clocks are 5,855.696 s apart; both were recorded for some seconds.
    let duration = i64_of(&recording, "duration_ns");
    assert!(duration < 60_000_000_000, "{duration}");
    let traces = recording["traces"].as_array().unwrap();
    let within = |row: &Value, slack: i64| {
        i64_of(row, "begin_ns") >= -slack && i64_of(row, "end_ns") <= duration + slack
    };
    assert!(traces.iter().all(|trace| within(trace, 1)), "{traces:?}");
    let page = server.get("/api/requests?limit=10000");
    let requests = page["requests"].as_array().unwrap();
    assert!(
        requests
            .iter()
            .all(|request| within(request, 1_000_000_000))
    );
    // What the server did for a question lies within what the client waited for it.
    let by_span: BTreeMap<String, Vec<&Value>> = {
        let mut spans: BTreeMap<String, Vec<&Value>> = BTreeMap::new();
        for request in requests {
            spans
                .entry(request["trace_id"].to_string())
                .or_default()
                .push(request);
        }
        spans
    };
    let mut pairs = 0;
    for both in by_span
        .values()
        .filter(|both| both.len() == 2 && both[0]["host"] != both[1]["host"])
    {
        let (outer, inner) = match i64_of(both[0], "duration_ns") >= i64_of(both[1], "duration_ns")
        {
            true => (both[0], both[1]),
            false => (both[1], both[0]),
        };
        // As exactly as packets tell the clocks' difference.
        const SLACK: i64 = 1_000_000;
        assert!(
            i64_of(inner, "begin_ns") >= i64_of(outer, "begin_ns") - SLACK,
            "{outer} {inner}"
        );
        assert!(
            i64_of(inner, "end_ns") <= i64_of(outer, "end_ns") + SLACK,
            "{outer} {inner}"
        );
        pairs += 1;
    }
    assert!(pairs > 100, "{pairs}");
    // Paths of one host that lead to the other one show its threads when their rows do.
    let threads = server.get("/api/threads");
    let threads = threads["threads"].as_array().unwrap();
    let row_of = |host: i64, tid: i64| {
        let found = threads
            .iter()
            .find(|row| i64_of(row, "host") == host && i64_of(row, "tid") == tid);
        found.map(|row| i64_of(row, "row"))
    };
    let longest = server.get(&format!("/api/requests/{}", requests[0]["id"]));
    let own = i64_of(&longest["path"], "host");
    let elsewhere = longest["path"]["segments"]
        .as_array()
        .unwrap()
        .iter()
        .find(|segment| i64_of(segment, "host") != own && segment["state"] == "RUNNING");
    let elsewhere = elsewhere.expect("it leads to the other host");
    let (begin, end) = (i64_of(elsewhere, "begin_ns"), i64_of(elsewhere, "end_ns"));
    let row = row_of(i64_of(elsewhere, "host"), i64_of(elsewhere, "tid")).expect("a row");
    let shown = server.post(
        "/api/intervals",
        json!({ "rows": [row], "begin_ns": begin, "end_ns": end }),
    );
    let running = shown["rows"][0].as_array().unwrap().iter().any(|interval| {
        i64_of(interval, "value") == 0 && (i64_of(interval, "begin_ns") - begin).abs() < 1_000_000
    });
    assert!(running, "{elsewhere} {shown}");
    // A host is no idler for not having been recorded yet.
    let used = server.get(&format!(
        "/api/usage?begin_ns=0&end_ns={duration}&buckets=1"
    ));
    let analysed = slowpath_succeeds(&["cpu", "--json"], &trace).json();
    for cpu in analysed["cpus"].as_array().unwrap() {
        let hosts = recording["hosts"].as_array().unwrap();
        let host = hosts.iter().position(|host| host["name"] == cpu["host"]);
        let mut all = used["cpus"].as_array().unwrap().iter();
        let same = all.find(|one| {
            i64_of(one, "cpu") == i64_of(cpu, "cpu")
                && i64_of(one, "host") as usize == host.unwrap()
        });
        let share = same.unwrap()["values"][0].as_f64().unwrap();
        let expected = cpu["percent"].as_f64().unwrap() / 100.0;
        assert!((share - expected).abs() < 1e-3, "{cpu} {share}");
    }
    let early = server.get("/api/usage?begin_ns=0&end_ns=1000000000&buckets=1");
    let known = early["cpus"].as_array().unwrap().iter();
    let known = known.filter(|cpu| !cpu["values"][0].is_null());
    assert_eq!(known.count(), 2, "{early}");
    let state = slowpath_succeeds(&["state", "--json", "--at", "+5s"], &trace).json();
    for cpu in state["cpus"].as_array().unwrap() {
        assert_eq!(cpu["tid"].is_null(), cpu["host"] == "client", "{cpu}");
    }
    // Events come in one order, none is left out.
    let mut at = i64::MIN / 2;
    let mut seen = 0;
    loop {
        let page = server.get(&format!(
            "/api/events?at_ns={at}&after=1000&name=sched_process"
        ));
        let events = page["events"].as_array().unwrap();
        let times: Vec<i64> = events.iter().map(|event| i64_of(event, "at_ns")).collect();
        assert!(times.is_sorted());
        for event in events {
            let host = i64_of(event, "host") as usize;
            assert_eq!(recording["hosts"][host]["name"], event["host_name"]);
        }
        seen += events.len();
        match times.last() {
            Some(last) if page["has_later"] == true => at = last + 1,
            _ => break,
        }
    }
    let all = slowpath_succeeds(&["count", "--json"], &trace).json();
    let counts = all["by"].as_object().unwrap().iter();
    let of_kind = counts.filter(|(name, _)| name.contains("sched_process"));
    let expected: i64 = of_kind.filter_map(|(_, count)| count.as_i64()).sum();
    assert_eq!(seen as i64, expected);
}

/// The page of a report, cut before its answers, and these; `None` where there is no application to put in.
fn reported(trace: &Path, slowest: &str) -> Option<(String, Value)> {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("report.html");
    let output = ["--output", file.to_str().unwrap()];
    let command = [["report", "--slowest", slowest].as_slice(), &output].concat();
    let printed = support::slowpath(&command, trace);
    if printed
        .stderr
        .contains("built without the browser application")
    {
        support::skip("the browser application is not built: make web");
        return None;
    }
    assert_eq!(printed.status, Some(0), "{}", printed.stderr);
    let page = std::fs::read_to_string(&file).unwrap();
    let begin = page.find("id=\"slowpath-report\">").expect("the answers")
        + "id=\"slowpath-report\">".len();
    let end = begin + page[begin..].find("</script>").unwrap();
    let mut held: Value = serde_json::from_str(&page[begin..end]).expect("JSON");
    Some((page[..begin].to_owned(), held["answers"].take()))
}

#[test]
fn a_report_holds_what_the_server_answers() {
    let Some((server, trace, _home)) = served("cpu-cgroup/cpu-cgroup.tar.zst", "cpu-cgroup") else {
        return;
    };
    let Some((page, answers)) = reported(&trace, "7") else {
        return;
    };
    assert_eq!(answers["/api/findings"], server.get("/api/findings"));
    let full = answers.as_object().unwrap().keys();
    let full = full.filter(|key| key.strip_prefix("/api/requests/").is_some());
    assert_eq!(full.count(), 7);
    let list = "/api/requests?sort=duration&order=desc&offset=0&limit=";
    assert_eq!(
        answers[&format!("{list}20")],
        server.get(&format!("{list}20"))
    );
    assert_eq!(answers[&format!("{list}100")]["total"], 7);
    // One file: nothing is fetched from anywhere.
    for outside in ["src=\"", "href=\"http", "@import", "url(http"] {
        assert!(!page.contains(outside), "{outside}");
    }
}

#[test]
fn a_report_without_requests_shows_the_threads_that_ran_most() {
    let Some(folder) = support::unpacked("io-mix/io-mix.tar.zst") else {
        return;
    };
    let Some((_, answers)) = reported(&folder.join("io-mix"), "7") else {
        return;
    };
    let threads = answers["/api/threads"]["threads"].as_array().unwrap();
    let ran: Vec<i64> = (threads.iter())
        .map(|row| i64_of(&row["states"], "RUNNING"))
        .collect();
    assert!(ran.len() > 20 && ran.is_sorted_by(|one, other| one >= other));
}
