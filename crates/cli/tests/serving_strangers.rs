//! `slowpath serve` stands up to questions that are none, to strangers and to crowds: the reason comes back,
//! nothing but what was opened can be read, and it goes on.

mod support;

use serde_json::{Value, json};
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
        ("/api/threads/99999/path?begin_ns=0&end_ns=9", 404),
    ] {
        assert_eq!(
            server.answer("GET", path, &Value::Null).status,
            status,
            "{path}"
        );
    }
    // As far as numbers go.
    let far = json!({ "rows": [0, 1], "begin_ns": i64::MIN, "end_ns": i64::MAX, "pixels": 100 });
    assert_eq!(server.answer("POST", "/api/screen", &far).status, 200);
    server.get(&format!(
        "/api/usage?begin_ns={}&end_ns={}&buckets=10",
        i64::MIN,
        i64::MAX
    ));
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

/// Small and the same on every machine (xorshift64*).
struct Chance(u64);

impl Chance {
    fn below(&mut self, most: usize) -> usize {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        (self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 33) as usize % most
    }

    /// Numbers, texts and lists, few of them sensible.
    fn value(&mut self, depth: usize) -> Value {
        match self.below(if depth == 0 { 8 } else { 12 }) {
            0 => json!(null),
            1 => json!(self.below(2) == 0),
            2 => json!(i64::MIN),
            3 => json!(i64::MAX),
            4 => json!(u64::MAX),
            5 => json!(self.below(1_000)),
            6 => json!(-1.5e300),
            7 => json!(
                [
                    "",
                    "threads",
                    "duration",
                    "\u{0}",
                    "../..",
                    "9999999999999999999",
                    "NaN"
                ][self.below(7)]
            ),
            8 | 9 => (0..self.below(5)).map(|_| self.value(depth - 1)).collect(),
            _ => {
                const NAMES: [&str; 10] = [
                    "parameters",
                    "requested_timerange",
                    "start",
                    "end",
                    "nbTimes",
                    "requested_items",
                    "rows",
                    "begin_ns",
                    "end_ns",
                    "pixels",
                ];
                let fields = (0..self.below(6)).map(|_| {
                    (
                        NAMES[self.below(NAMES.len())].to_owned(),
                        self.value(depth - 1),
                    )
                });
                Value::Object(fields.collect())
            }
        }
    }
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
    let own =
        ["screen", "intervals", "arrows", "paths", "compare"].map(|name| format!("/api/{name}"));
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
    let posts: Vec<String> = own
        .into_iter()
        .chain(of_outputs.iter().map(|path| format!("{outputs}/{path}")))
        .collect();
    let gets = [
        "/api/requests",
        "/api/usage",
        "/api/events",
        "/api/distribution",
        "/api/threads/3/path",
    ];
    let mut chance = Chance(0x510);
    for turn in 0..600 {
        let (method, path, body) = if turn % 3 == 0 {
            const NAMES: [&str; 9] = [
                "begin_ns", "end_ns", "buckets", "at_ns", "before", "after", "limit", "offset",
                "sort",
            ];
            let query = (0..4).map(|_| {
                let value = chance.value(0).to_string().replace(['"', ' ', '\\'], "");
                format!("{}={value}&", NAMES[chance.below(NAMES.len())])
            });
            let query: String = query.collect();
            (
                "GET",
                format!("{}?{query}", gets[chance.below(gets.len())]),
                String::new(),
            )
        } else {
            // Most have what is asked for, some of it sensible.
            let time = |chance: &mut Chance| match chance.below(3) {
                0 => chance.value(0),
                _ => json!(chance.below(20) as i64 * 1_000_000_000),
            };
            let rows = json!(
                (0..chance.below(5))
                    .map(|_| chance.below(30))
                    .collect::<Vec<_>>()
            );
            let range = json!({ "start": time(&mut chance), "end": time(&mut chance), "nbTimes": chance.below(2_000) });
            let body = match chance.below(3) {
                0 => chance.value(3),
                1 => {
                    json!({ "of": "cpus", "rows": rows, "begin_ns": time(&mut chance), "end_ns": time(&mut chance),
                             "pixels": chance.below(3_000), "limit": chance.below(1_000), "requests": rows })
                }
                _ => json!({ "parameters": { "requested_timerange": range, "requested_items": rows,
                             "requested_table_count": chance.below(50), "requested_table_index": time(&mut chance),
                             "requested_times": [time(&mut chance)],
                             "requested_element": { "elementType": "STATE", "time": 1, "duration": chance.below(9) } } }),
            };
            (
                "POST",
                posts[chance.below(posts.len())].clone(),
                body.to_string(),
            )
        };
        let answer = server.ask(method, &path, "", &body);
        assert!(
            matches!(answer.status, 200 | 202 | 400 | 404 | 405 | 409),
            "{method} {path} {body}: {} {}",
            answer.status,
            String::from_utf8_lossy(&answer.body),
        );
    }
    server.get("/api/threads");
}
