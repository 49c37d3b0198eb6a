//! `slowpath serve` stands up to questions that are none, to strangers and to crowds: the reason comes back,
//! nothing but what was opened can be read, and it goes on.

mod support;

use std::collections::BTreeSet;

use serde_json::{Value, json};
use support::chance::Chance;
use support::questions::described;
use support::server::served;

#[test]
fn what_is_no_question_is_refused() {
    let Some((server, _, _home)) = served("cpu-cgroup/cpu-cgroup.tar.zst", "cpu-cgroup") else {
        return;
    };
    server.get("/api/threads");
    // Names that are not ours, pages of others.
    for host in [
        "Host: evil.example\r\n",
        "Host: localhost:1\r\n",
        "Host:\r\n",
    ] {
        assert_eq!(
            server.ask("GET", "/api/recording", host, "").status,
            403,
            "{host}"
        );
    }
    let origin = "Origin: http://evil.example\r\n";
    let refused = server.ask("GET", "/api/recording", origin, "");
    assert_eq!(refused.status, 403);
    assert!(
        !refused
            .headers
            .to_lowercase()
            .contains("access-control-allow-origin")
    );
    let answer = server.ask("GET", "/api/recording", "", "");
    for header in [
        "content-security-policy: default-src 'self'",
        "x-content-type-options: nosniff",
    ] {
        assert!(
            answer.headers.to_lowercase().contains(header),
            "{}",
            answer.headers
        );
    }
    // No file of the disk.
    for path in [
        "/../../../../etc/passwd",
        "/%2e%2e/%2e%2e/%2e%2e/etc/passwd",
        "/..%2f..%2f..%2fetc%2fpasswd",
        "//etc/passwd",
        "/assets/../../../etc/passwd",
        "/api/../../etc/passwd",
        "/etc/passwd",
        "/....//....//etc/passwd",
        "/%00",
        "/tsp/api/traces/..%2f..%2fetc%2fpasswd",
    ] {
        let answer = server.ask("GET", path, "", "");
        assert!(
            !String::from_utf8_lossy(&answer.body).contains("root:"),
            "{path}"
        );
    }
    let open = json!({ "parameters": { "uri": "/etc", "name": "x" } }).to_string();
    assert_eq!(server.ask("POST", "/tsp/api/traces", "", &open).status, 404);
    // Too much, too little, nonsense: the reason comes back, and the server goes on.
    let rows: Vec<usize> = (0..20_000).collect();
    let questions = [
        (
            "/api/screen",
            json!({ "rows": rows, "begin_ns": 0, "end_ns": 10, "pixels": 10 }),
        ),
        (
            "/api/screen",
            json!({ "rows": [0], "begin_ns": 0, "end_ns": 10, "pixels": 4_000_000_000_u64 }),
        ),
        (
            "/api/screen",
            json!({ "rows": rows[..9_000], "begin_ns": 0, "end_ns": 10, "pixels": 16_000 }),
        ),
        (
            "/api/screen",
            json!({ "rows": [0], "begin_ns": 10, "end_ns": 10, "pixels": 10 }),
        ),
        (
            "/api/screen",
            json!({ "rows": [-1], "begin_ns": 0, "end_ns": 10, "pixels": 10 }),
        ),
        (
            "/api/screen",
            json!({ "rows": [0], "begin_ns": "x", "end_ns": 10, "pixels": 10 }),
        ),
        ("/api/paths", json!({ "requests": rows })),
        ("/api/compare", json!({ "one": {}, "other": {} })),
        (
            "/api/compare",
            json!({ "one": { "percentiles": [50, 20] }, "other": { "percentiles": [0, 101] } }),
        ),
    ];
    for (path, question) in &questions {
        let answer = server.answer("POST", path, question);
        assert_eq!(answer.status, 400, "{path} {}", answer.headers);
        assert!(
            answer.json()["title"]
                .as_str()
                .is_some_and(|title| !title.is_empty()),
            "{path}"
        );
    }
    for (path, status) in [
        ("/api/requests?limit=x", 400),
        ("/api/requests?trace=zz", 400),
        ("/api/requests/99999999", 404),
        ("/api/requests/x", 400),
        ("/api/analyses/latency?kind=x", 400),
        ("/api/analyses/x", 404),
        ("/api/x", 404),
        ("/api/events", 400),
        ("/api/events?at_ns=0&after=100000", 400),
        ("/api/usage?begin_ns=0&end_ns=-5&buckets=3", 400),
        ("/api/io?begin_ns=0&end_ns=-5&buckets=3", 400),
        ("/api/io?begin_ns=0&end_ns=5&buckets=99999", 400),
        ("/api/usage?begin_ns=0&end_ns=5&buckets=0", 400),
        ("/api/distribution?buckets=0", 400),
        ("/api/requests?from_percentile=-5", 400),
        ("/api/requests?min_ns=5&max_ns=4", 400),
        ("/api/requests?min_ns=5&max_ns=5", 200),
        ("/api/requests?from_percentile=50&to_percentile=nan", 400),
        ("/api/threads/99999/path?begin_ns=0&end_ns=9", 404),
    ] {
        assert_eq!(
            server.answer("GET", path, &Value::Null).status,
            status,
            "{path}"
        );
    }
    let wrong_method = server.ask("POST", "/api/recording", "", "");
    assert_eq!(wrong_method.status, 405);
    assert!(
        wrong_method
            .headers
            .to_lowercase()
            .contains("\r\nallow: get")
    );
    assert!(wrong_method.json()["detail"].is_string());
    for (question, status) in [
        (json!({ "begin_ns": 0, "end_ns": 9 }), 400),
        (
            json!({ "rows": [0], "touching": 0, "begin_ns": 0, "end_ns": 9 }),
            400,
        ),
        (json!({ "rows": [], "begin_ns": 0, "end_ns": 9 }), 200),
    ] {
        let answer = server.answer("POST", "/api/arrows", &question);
        assert_eq!(answer.status, status, "{question}");
    }
    // As far as numbers go.
    let far = json!({ "rows": [0, 1], "begin_ns": i64::MIN, "end_ns": i64::MAX, "pixels": 100 });
    assert_eq!(server.answer("POST", "/api/screen", &far).status, 200);
    for rates in ["usage", "io"] {
        server.get(&format!(
            "/api/{rates}?begin_ns={}&end_ns={}&buckets=10",
            i64::MIN,
            i64::MAX
        ));
    }
    server.get(&format!("/api/events?at_ns={}&before=5&after=5", i64::MAX));
    server.get(&format!("/api/events?at_ns={}&before=5&after=5", i64::MIN));
    // What is no HTTP at all, and a body that is too long.
    server.raw(b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03");
    server.raw(b"GET\r\n\r\n");
    let long = "x".repeat(2 << 20);
    let answer = server.raw(
        format!("POST /api/screen HTTP/1.1\r\nHost: localhost:{}\r\nConnection: close\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n", server.port, long.len()).as_bytes(),
    );
    assert!(
        String::from_utf8_lossy(&answer).starts_with("HTTP/1.1 4"),
        "{}",
        String::from_utf8_lossy(&answer)
    );
    server.get("/api/threads");
}

#[test]
fn fifty_who_zoom_at_once_are_all_answered_alike() {
    let Some((server, _, _home)) = served("cpu-cgroup/cpu-cgroup.tar.zst", "cpu-cgroup") else {
        return;
    };
    let threads = server.get("/api/threads");
    let rows: Vec<usize> = (0..threads["threads"].as_array().unwrap().len()).collect();
    let question = |step: i64| {
        let (begin, end) = (step * 10_000_000, 10_000_000_000 - step * 10_000_000);
        json!({ "rows": rows, "begin_ns": begin, "end_ns": end, "pixels": 800 })
    };
    let expected: Vec<Vec<u8>> = (0..8)
        .map(|step| server.answer("POST", "/api/screen", &question(step)).body)
        .collect();
    std::thread::scope(|scope| {
        for client in 0..50 {
            let (server, expected, question) = (&server, &expected, &question);
            scope.spawn(move || {
                for turn in 0..8 {
                    let step = (client + turn) % 8;
                    let answer = server.answer("POST", "/api/screen", &question(step));
                    assert_eq!(answer.status, 200);
                    assert!(answer.body == expected[step as usize], "client {client}");
                }
            });
        }
    });
}

#[test]
fn nonsense_of_the_right_form_breaks_nothing() {
    let Some((server, _, _home)) = served("cpu-cgroup/cpu-cgroup.tar.zst", "cpu-cgroup") else {
        return;
    };
    for ready in [
        "/api/threads",
        "/api/requests",
        "/api/operations",
        "/api/findings",
    ] {
        server.get(ready);
    }
    let experiments = server.get("/tsp/api/experiments");
    let outputs = format!(
        "/tsp/api/experiments/{}/outputs",
        experiments[0]["UUID"].as_str().unwrap()
    );
    let of_outputs = [
        "timeGraph/slowpath.threads/tree",
        "timeGraph/slowpath.threads/states",
        "timeGraph/slowpath.cpus/states",
        "timeGraph/slowpath.requests/states",
        "timeGraph/slowpath.threads/arrows",
        "timeGraph/slowpath.threads/tooltip",
        "XY/slowpath.cpu-usage/xy",
        "XY/slowpath.histogram/xy",
        "genericXY/slowpath.latency/xy",
        "table/slowpath.events/lines",
        "table/slowpath.request-table/lines",
        "data/slowpath.statistics/tree",
        "slowpath.threads/annotations",
        "slowpath.threads/style",
    ];
    let posts = of_outputs.map(|path| format!("{outputs}/{path}"));
    let mut chance = Chance(0x510);
    for _ in 0..400 {
        // Most have what is asked for, some of it sensible.
        let time = |chance: &mut Chance| match chance.below(3) {
            0 => chance.value(0),
            _ => json!(chance.below(20) as i64 * 1_000_000_000),
        };
        let rows: Vec<usize> = (0..chance.below(5)).map(|_| chance.below(30)).collect();
        let range = json!({ "start": time(&mut chance), "end": time(&mut chance), "nbTimes": chance.below(2_000) });
        let body = match chance.below(3) {
            0 => chance.value(3),
            _ => json!({ "parameters": { "requested_timerange": range, "requested_items": rows,
                         "requested_table_count": chance.below(50), "requested_table_index": time(&mut chance),
                         "requested_times": [time(&mut chance)],
                         "requested_element": { "elementType": "STATE", "time": 1, "duration": chance.below(9) } } }),
        };
        let path = &posts[chance.below(posts.len())];
        let answer = server.ask("POST", path, "", &body.to_string());
        assert!(
            matches!(answer.status, 200 | 202 | 400 | 404 | 405 | 409),
            "{path} {body}: {} {}",
            answer.status,
            String::from_utf8_lossy(&answer.body),
        );
    }
    server.get("/api/threads");
}

#[test]
fn nonsense_in_the_form_of_the_description_is_answered_as_it_says() {
    let Some((server, _, _home)) = served("cpu-cgroup/cpu-cgroup.tar.zst", "cpu-cgroup") else {
        return;
    };
    for ready in ["/api/threads", "/api/findings", "/api/operations"] {
        server.get(ready);
    }
    let description = server.get("/api/openapi.json");
    let questions = described(&description);
    let mut chance = Chance(0x511);
    let mut answered = BTreeSet::new();
    for turn in 0..90 * questions.len() {
        let question = &questions[turn % questions.len()];
        let (path, body) = question.made_up(&mut chance);
        let answer = server.ask(&question.method, &path, "", &body);
        assert!(
            question.may_answer(answer.status),
            "{} {path} {body}: {} {}",
            question.method,
            answer.status,
            String::from_utf8_lossy(&answer.body),
        );
        if answer.status == 200 {
            answered.insert(question.path);
        }
    }
    // Most questions are such that they can be answered; there are no spans here, and no data store.
    let of_store = questions
        .iter()
        .filter(|one| one.path.starts_with("/api/store"));
    let answerable = questions.len() - of_store.count();
    assert!(answered.len() * 4 > answerable * 3, "{answered:?}");
    server.get("/api/threads");
}
