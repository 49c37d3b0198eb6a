//! Small time lines of services and data stores, and what is joined of them, asked in every way that must not matter.

use std::fmt::Write as _;
use std::num::NonZeroUsize;

use slowpath_drawn::DrawnTrace;
use slowpath_engine::Options;
use slowpath_model::{Diagnostic, DiagnosticCode, TimeRange, Timestamp};
use slowpath_source::Source;

use super::{CallReport, CalledNode, Joinable, RequestNode, Whereabouts, calls};

/// The answer, after checking that it depends neither on where packets are cut, nor on the size of chunks, nor on the
/// number of workers.
fn ask(text: &str, window: TimeRange) -> CallReport {
    let drawn = DrawnTrace::parse(text).unwrap();
    let whole = drawn.recut(|_, _| false);
    let with = |trace: &DrawnTrace, jobs, bytes| {
        let options = Options {
            jobs: NonZeroUsize::new(jobs).unwrap(),
            chunk_bytes: Some(bytes),
            range: window,
            ..Options::default()
        };
        calls(&[("one", trace)], usize::MAX, &options)
            .unwrap()
            .state
            .unwrap()
    };
    let plain = with(&whole, 1, u64::MAX);
    let random = (0..6).map(|seed| drawn.recut_at_random(seed, 2 + seed));
    let cuts = [whole, drawn.recut(|_, _| true)].into_iter().chain(random);
    for (trace, cut) in cuts.zip(0..) {
        for (jobs, bytes) in [(1, 1), (2, 300), (8, 1), (8, u64::MAX)] {
            let found = with(&trace, jobs, bytes);
            assert_eq!(found, plain, "cut {cut}, {jobs} workers, {bytes} bytes");
        }
    }
    plain
}

/// Trees as lines: `service: METHOD path begin+duration`, below it what it asked, indented; `!` where the receiver was
/// not recorded, `?` where it is not certain.
fn shown(report: &CallReport) -> String {
    let mut text = String::new();
    let mut requests: Vec<_> = report.requests.iter().collect();
    requests.sort_by_key(|request| (request.begin_ns, request.service));
    for request in requests {
        show(&mut text, request, 0);
    }
    text
}

fn show(text: &mut String, request: &RequestNode, depth: usize) {
    let length = request
        .duration_ns
        .map_or("…".to_owned(), |length| length.get().to_string());
    let RequestNode {
        service,
        path,
        begin_ns,
        ..
    } = request;
    let indent = "  ".repeat(depth);
    writeln!(text, "{indent}{service}: {path} {begin_ns}+{length}").unwrap();
    for called in &request.called {
        match called {
            CalledNode::Request {
                path,
                receiver,
                request: Some(request),
                ..
            } => {
                assert_eq!((path, receiver), (&request.path, &Whereabouts::Joined));
                show(text, request, depth + 1);
            }
            CalledNode::Request { path, receiver, .. } => {
                writeln!(text, "{indent}  {path}{}", mark(*receiver)).unwrap();
            }
            CalledNode::Command {
                command,
                number,
                receiver,
                execution,
                ..
            } => {
                let parts = execution.as_ref().map_or(String::new(), |execution| {
                    let replied = execution
                        .replied_ns
                        .map_or("…".to_owned(), |ns| ns.get().to_string());
                    let (queued, executed) =
                        (execution.queued_ns.get(), execution.executed_ns.get());
                    format!(": {queued} + {executed} + {replied}")
                });
                writeln!(
                    text,
                    "{indent}  {command} {number}{}{parts}",
                    mark(*receiver)
                )
                .unwrap();
            }
        }
    }
}

fn mark(receiver: Whereabouts) -> &'static str {
    match receiver {
        Whereabouts::Joined => "",
        Whereabouts::Outside => "!",
        Whereabouts::Uncertain => "?",
    }
}

fn check(text: &str, expected: &str) -> CallReport {
    let report = ask(text, TimeRange::ALL);
    let clean = |text: &str| {
        let lines = text.lines().filter(|line| !line.trim().is_empty());
        let lines: Vec<&str> = lines.map(str::trim_end).collect();
        let indents = lines
            .iter()
            .map(|line| line.len() - line.trim_start().len());
        let indent = indents.min().unwrap_or(0);
        lines
            .iter()
            .map(|line| line[indent..].to_owned())
            .collect::<Vec<_>>()
    };
    assert_eq!(clean(&shown(&report)), clean(expected));
    adds_up(&report);
    report
}

fn adds_up(report: &CallReport) {
    for row in &report.joins {
        assert_eq!(
            row.count,
            row.joined + row.outside + row.uncertain,
            "{row:?}"
        );
    }
    let joined = |of| report.joins.iter().find(|row| row.of == of).unwrap().joined;
    assert_eq!(joined(Joinable::Received), joined(Joinable::Calls));
    let executed: u64 = report.stores.iter().map(|row| row.joined).sum();
    assert_eq!(joined(Joinable::Commands), executed);
}

/// Where it is written, all is on this device.
const LOOPBACK: &str = "127.0.0.1";

/// An event of a service: `CPU TIME PROCESS name FIELDS`, with what every event has.
fn service(lines: &str) -> String {
    let mut text = "-- domain user\n".to_owned();
    for line in lines.lines().map(str::trim).filter(|line| !line.is_empty()) {
        let words: Vec<&str> = line.split_whitespace().collect();
        let [cpu, at, process, name, fields @ ..] = &words[..] else {
            panic!("{line}");
        };
        if *cpu == "--" {
            writeln!(text, "{line}").unwrap();
            continue;
        }
        let mut all = fields.join(" ");
        let places = fields.iter().find_map(|field| field.strip_prefix("over="));
        if let Some((own, peer)) = places.and_then(|places| places.split_once('>')) {
            let place = if lines.contains(LOOPBACK) {
                LOOPBACK
            } else {
                "10.0.0.1"
            };
            let address =
                |prefix: &str, port: &str| format!("{prefix}_address={place} {prefix}_port={port}");
            all = all.replace(
                &format!("over={own}>{peer}"),
                &format!("{} {}", address("local", own), address("remote", peer)),
            );
        }
        let provider = if name.starts_with("http") || *name == "redis_command" {
            "slowpath_node"
        } else {
            "slowpath_redis"
        };
        writeln!(
            text,
            "{cpu} {at} {provider}:{name} {all} @vpid={process} @vtid={process}"
        )
        .unwrap();
    }
    text
}

/// Service 7 is asked from outside over port 50, and asks service 8 over port 60, twice at once over two connections,
/// the second one used again at once; 8 sends commands of both over one connection.
const SHOP: &str = "
    cpu0 100 7 http_server_receive context=2 cause=0 connection=1 number=1 over=3000>50 version=11 status=0 sent=0 received=40 method=GET path=/a
    cpu0 110 7 http_client_request context=4 cause=2 connection=3 number=1 over=60>3001 version=11 status=0 sent=0 received=0 method=GET path=/b
    cpu0 111 7 http_server_receive context=6 cause=0 connection=5 number=1 over=3000>51 version=11 status=0 sent=0 received=40 method=GET path=/c
    cpu0 112 7 http_client_request context=8 cause=6 connection=7 number=1 over=61>3001 version=11 status=0 sent=0 received=0 method=GET path=/b
    cpu1 120 8 http_server_receive context=2 cause=0 connection=1 number=1 over=3001>61 version=11 status=0 sent=0 received=30 method=GET path=/b
    cpu1 121 8 redis_command context=3 cause=2 connection=9 number=1 over=70>6379 offset=0 bytes=20 arguments=1 command=get
    cpu1 130 8 http_server_receive context=5 cause=0 connection=4 number=1 over=3001>60 version=11 status=0 sent=0 received=30 method=GET path=/b
    cpu1 131 8 redis_command context=6 cause=5 connection=9 number=2 over=70>6379 offset=20 bytes=30 arguments=2 command=set
    cpu0 115 9 command_name number=3 command=get
    cpu0 115 9 command_name number=4 command=set
    cpu0 119 9 client_address fd=9 client_id=5 peer_address=10.0.0.1 peer_port=70 own_address=10.0.0.1 own_port=6379 bytes_before=0
    cpu0 160 9 batch client_id=5 fd=9 read_thread=9 ended_by=0 unit_ns=1 read_end=2 write_start=20 ended=25 bytes_read=50 bytes_written=9 command=[3,4] start=[2,10] duration=[8,5]
    cpu1 170 8 http_server_response context=2 cause=0 connection=1 number=1 over=3001>61 version=11 status=200 sent=9 received=30 method=GET path=/b
    cpu1 171 8 http_server_response context=5 cause=0 connection=4 number=1 over=3001>60 version=11 status=200 sent=9 received=30 method=GET path=/b
    cpu0 180 7 http_client_response context=8 cause=6 connection=7 number=1 over=61>3001 version=11 status=200 sent=30 received=9 method=GET path=/b
    cpu0 181 7 http_client_response context=4 cause=2 connection=3 number=1 over=60>3001 version=11 status=200 sent=30 received=9 method=GET path=/b
    cpu0 182 7 http_client_request context=10 cause=6 connection=7 number=2 over=61>3001 version=11 status=0 sent=30 received=9 method=GET path=/d
    cpu1 190 8 http_server_receive context=11 cause=0 connection=1 number=2 over=3001>61 version=11 status=0 sent=9 received=60 method=GET path=/d
    cpu0 200 7 http_server_response context=2 cause=0 connection=1 number=1 over=3000>50 version=11 status=200 sent=5 received=40 method=GET path=/a
";

const SHOP_TREES: &str = "
    1: /a 100+100
      2: /b 130+41
        set 2: 14 + 5 + 10
    1: /c 111+…
      2: /b 120+50
        get 1: 16 + 8 + 15
      2: /d 190+…
";

#[test]
fn requests_at_once_stay_apart_through_services_into_the_data_store() {
    let report = check(&service(SHOP), SHOP_TREES);
    let rows: Vec<_> = report
        .joins
        .iter()
        .map(|row| (row.count, row.joined, row.outside))
        .collect();
    assert_eq!(rows, [(5, 3, 2), (3, 3, 0), (2, 2, 0)]);
    let store = &report.stores[0];
    assert_eq!((store.port, store.commands, store.joined), (6379, 2, 2));
    let first = &report.services[0];
    assert_eq!((first.received, first.calls, first.commands), (2, 3, 0));
    assert_eq!(Vec::from_iter(&first.ports), [&3000]);
}

/// The processes of a text, each on a host of its own whose clock is ahead by so many nanoseconds.
fn on_hosts(text: &str, clocks: &[(&str, u64)]) -> (CallReport, Vec<Diagnostic>) {
    let of_host = |(process, ahead): &(&str, u64)| {
        let lines = text.lines().map(str::split_whitespace).map(Vec::from_iter);
        let its = lines.filter(|words| words.get(2) == Some(process));
        let mut moved: Vec<(u64, String)> = its
            .map(|words| {
                let at = words[1].parse::<u64>().unwrap() + ahead;
                (at, format!("{} {at} {}\n", words[0], words[2..].join(" ")))
            })
            .collect();
        moved.sort();
        let lines: String = moved.into_iter().map(|(_, line)| line).collect();
        DrawnTrace::parse(&service(&lines)).unwrap()
    };
    let traces: Vec<DrawnTrace> = clocks.iter().map(of_host).collect();
    let hosts: Vec<(&str, &dyn Source)> = (clocks.iter().zip(&traces))
        .map(|((name, _), trace)| (*name, trace as &dyn Source))
        .collect();
    let outcome = calls(&hosts, usize::MAX, &Options::default()).unwrap();
    let report = outcome.state.unwrap();
    adds_up(&report);
    (report, outcome.diagnostics)
}

#[test]
fn requests_are_followed_from_host_to_host() {
    let (report, said) = on_hosts(SHOP, &[("7", 0), ("8", 0), ("9", 0)]);
    assert_eq!(shown(&report), shown(&check(&service(SHOP), SHOP_TREES)));
    let codes: Vec<_> = said.iter().map(|said| said.code).collect();
    assert_eq!(codes, [DiagnosticCode::HostClocksUncertain]);
    let first = &report.requests[0];
    assert_eq!(first.host.as_deref(), Some("7"));
    let hosts: Vec<_> = report
        .stores
        .iter()
        .map(|row| row.host.as_deref())
        .collect();
    assert_eq!(hosts, [Some("9")]);
}

#[test]
fn clocks_that_are_apart_are_brought_together() {
    const SECOND: u64 = 1_000_000_000;
    let (together, _) = on_hosts(SHOP, &[("7", 0), ("8", 0), ("9", 0)]);
    let clocks = [
        [0, 5 * SECOND, 5 * SECOND],
        [5 * SECOND, 0, 0],
        [SECOND, 0, 9 * SECOND],
        [SECOND, 9 * SECOND, 0],
        [0, 200, 0],
    ];
    for [seven, eight, nine] in clocks {
        let (report, said) = on_hosts(SHOP, &[("7", seven), ("8", eight), ("9", nine)]);
        assert_eq!(report.joins, together.joins, "{seven} {eight} {nine}");
        // Whoever is more than a millisecond away from the first one.
        let apart = [eight, nine].map(|clock| usize::from(clock.abs_diff(seven) > 1_000_000));
        let is_apart = |said: &&Diagnostic| said.code == DiagnosticCode::HostClocksApart;
        let told = said.iter().filter(is_apart).count();
        assert_eq!(told, apart.iter().sum::<usize>(), "{said:?}");
        // The third host gets commands alone.
        assert_eq!(said.len(), told + 1, "{said:?}");
    }
    let (_, said) = on_hosts(SHOP, &[("7", 0), ("8", 5 * SECOND), ("9", 0)]);
    assert_eq!(
        said[0].message,
        "the clock of 8 is 5.000000 s ahead of that of 7, as requests and commands between hosts show: times here are by \
         the clock of 7"
    );
}

#[test]
fn connections_older_than_the_recording_tell_how_far_clocks_are_apart() {
    const SECOND: u64 = 1_000_000_000;
    let exchanges: String = (0..3)
        .map(|i| {
            let ends = (10 + i, 1, 0);
            let bytes = (1000 + 30 * i, 1030 + 30 * i);
            exchange(100 + 20 * i, ends, ends, bytes, "/a")
        })
        .collect();
    let gets = commands(500, 500, &["get"; 4]);
    for [sends, receives] in [[0, 2 * SECOND], [2 * SECOND, 0], [0, 0]] {
        let (report, said) = on_hosts(&exchanges, &[("7", sends), ("8", receives)]);
        assert_eq!(report.joins[0].joined, 3, "{sends} {receives}");
        assert_eq!(said.len(), usize::from(sends != receives), "{said:?}");
        let (report, said) = on_hosts(&gets, &[("8", sends), ("9", receives)]);
        assert_eq!(report.joins[2].joined, 4, "{sends} {receives}");
        let codes: Vec<_> = said.iter().map(|said| said.code).collect();
        let apart = (sends != receives).then_some(DiagnosticCode::HostClocksApart);
        let expected: Vec<_> = (apart.into_iter())
            .chain([DiagnosticCode::HostClocksUncertain])
            .collect();
        assert_eq!(codes, expected, "{said:?}");
    }
}

/// The connection is not older than the recording: its first command has a number.
fn numbered(commands: &str) -> String {
    commands.replacen(" number=0 ", " number=1 ", 1)
}

#[test]
fn one_slow_command_does_not_move_a_clock() {
    let text = numbered(&commands(0, 0, &["get"; 4]));
    let later = |line: &str| {
        let words: Vec<&str> = line.split_whitespace().collect();
        // All but when the first one was sent.
        let late = match line.contains("redis_command context=2 ") {
            true => 0,
            false => 1_000_000_000,
        };
        let at = words[1].parse::<u64>().unwrap() + late;
        format!("{} {at} {}\n", words[0], words[2..].join(" "))
    };
    let slow: String = text.lines().map(later).collect();
    let (report, said) = on_hosts(&slow, &[("8", 0), ("9", 0)]);
    assert_eq!(report.joins[2].joined, 4);
    let codes: Vec<_> = said.iter().map(|said| said.code).collect();
    assert_eq!(codes, [DiagnosticCode::HostClocksUncertain]);
}

#[test]
fn what_tells_most_of_a_clock_counts_first() {
    // The first host only sends commands to the third one, which the second one asks, too.
    let ports = |text: String| {
        text.replace("60>3001", "62>3002")
            .replace("3001>60", "3002>62")
    };
    let text = [
        numbered(&commands(0, 0, &["get"; 2])).replace(" 8 redis", " 5 redis"),
        exchange(1000, (20, 7, 1), (30, 3, 1), (0, 30), "/a")
            .replace(" 7 http", " 5 http")
            .replace(" 8 http", " 6 http"),
        ports(exchange(2000, (40, 4, 1), (50, 5, 1), (0, 30), "/b"))
            .replace(" 7 http", " 6 http")
            .replace(" 8 http", " 9 http"),
    ];
    let (report, said) = on_hosts(&text.concat(), &[("5", 0), ("6", 0), ("9", 50_000_000)]);
    let joined: Vec<_> = report.joins.iter().map(|row| row.joined).collect();
    assert_eq!(joined, [2, 2, 2]);
    assert_eq!(said.len(), 1, "{said:?}");
}

#[test]
fn each_host_has_its_own_loopback_device_and_containers() {
    let drawn = DrawnTrace::parse(&service(SHOP)).unwrap();
    let one = calls(&[("one", &drawn)], 0, &Options::default()).unwrap();
    let two = calls(&[("one", &drawn), ("two", &drawn)], 0, &Options::default()).unwrap();
    let (one, two) = (one.state.unwrap(), two.state.unwrap());
    for (alone, twice) in one.joins.iter().zip(&two.joins) {
        assert_eq!(
            (2 * alone.joined, 2 * alone.outside, 0),
            (twice.joined, twice.outside, twice.uncertain)
        );
    }
    let loopback = SHOP.replace(" path=", &format!(" by={LOOPBACK} path="));
    let loopback = loopback.replace("10.0.0.1", LOOPBACK);
    let (report, _) = on_hosts(&loopback, &[("7", 0), ("8", 0), ("9", 0)]);
    let joined: Vec<_> = report.joins.iter().map(|row| row.joined).collect();
    assert_eq!(joined, [0, 0, 0]);
}

#[test]
fn a_window_has_the_requests_received_in_it_whole() {
    let window = TimeRange::new(Timestamp::from_ns(100), Timestamp::from_ns(111));
    let report = ask(&service(SHOP), window);
    assert_eq!(
        shown(&report),
        "1: /a 100+100\n  2: /b 130+41\n    set 2: 14 + 5 + 10\n"
    );
    assert_eq!(report.joins[0].count, 1);
}

#[test]
fn what_a_service_asks_of_its_own_is_a_tree_too() {
    let text = exchange(100, (2, 1, 1), (2, 1, 1), (0, 30), "/a");
    let report = check(&service(&by_time(&text)), "2: /a 100+5");
    assert_eq!(report.requests[0].sender_service, Some(1));
    assert_eq!(report.joins[1].without_request, 1);
}

/// A request and its answer at both ends of a connection from port 60, received at the time; numbers as told.
fn exchange(
    at: u64,
    client: (u64, u64, u32),
    server: (u64, u64, u32),
    bytes: (u64, u64),
    path: &str,
) -> String {
    let (sent, received) = (bytes.0, bytes.1);
    let ends = [
        (
            "cpu0",
            at - 5,
            7,
            "http_client_request",
            client,
            "60>3001",
            0,
            sent,
            0,
        ),
        (
            "cpu1",
            at,
            8,
            "http_server_receive",
            server,
            "3001>60",
            0,
            0,
            received,
        ),
        (
            "cpu1",
            at + 5,
            8,
            "http_server_response",
            server,
            "3001>60",
            200,
            9,
            received,
        ),
        (
            "cpu0",
            at + 8,
            7,
            "http_client_response",
            client,
            "60>3001",
            200,
            received,
            9,
        ),
    ];
    let mut text = String::new();
    for (cpu, at, process, name, (context, connection, number), over, status, sent, received) in
        ends
    {
        writeln!(
            text,
            "{cpu} {at} {process} {name} context={context} cause=0 connection={connection} number={number} \
             over={over} version=11 status={status} sent={sent} received={received} method=GET path={path}"
        )
        .unwrap();
    }
    text
}

/// Without the line of this event at this time.
fn without(text: &str, at: u64) -> String {
    let is_it = |line: &&str| line.split_whitespace().nth(1) != Some(&at.to_string());
    text.lines()
        .filter(is_it)
        .map(|line| line.to_owned() + "\n")
        .collect()
}

fn by_time(text: &str) -> String {
    let mut lines: Vec<&str> = text.lines().collect();
    lines.sort_by_key(|line| {
        let at = line.split_whitespace().nth(1);
        at.and_then(|at| at.parse::<u64>().ok())
    });
    lines.join("\n")
}

/// Of the requests received: joined, outside, uncertain.
fn joined(text: &str) -> (u64, u64, u64) {
    let row = ask(&service(&by_time(text)), TimeRange::ALL).joins[0];
    (row.joined, row.outside, row.uncertain)
}

#[test]
fn a_port_that_is_used_again_is_another_connection() {
    let first = exchange(100, (2, 1, 1), (2, 1, 1), (0, 30), "/a");
    let again = exchange(200, (4, 3, 1), (4, 3, 1), (0, 30), "/b");
    let text = first.clone() + &again;
    assert_eq!(joined(&text), (2, 0, 0));
    // Somebody who was not recorded had the port in between.
    let stranger = without(
        &without(&exchange(150, (9, 9, 1), (3, 2, 1), (0, 30), "/a"), 145),
        158,
    );
    assert_eq!(joined(&(text + &stranger)), (2, 0, 1));
    // What two hosts without names for their networks do at once over what looks like one connection.
    let at_once = exchange(102, (3, 2, 1), (3, 2, 1), (0, 30), "/a");
    assert_eq!(joined(&(first + &at_once)), (0, 0, 2));
}

#[test]
fn on_connections_older_than_the_recording_bytes_tell() {
    let exchanges = |numbers: [(u32, u32); 3]| {
        let exchanges = numbers.iter().zip(0..).map(|(&(client, server), i)| {
            let (at, context) = (100 + 20 * i, 10 + i);
            exchange(
                at,
                (context, 1, client),
                (context, 1, server),
                (1000 + 30 * i, 1030 + 30 * i),
                "/a",
            )
        });
        exchanges.collect::<String>()
    };
    for numbers in [
        [(0, 0); 3],
        [(0, 1), (0, 2), (0, 3)],
        [(4, 0), (5, 0), (6, 0)],
    ] {
        let text = exchanges(numbers);
        assert_eq!(joined(&text), (3, 0, 0), "{numbers:?}");
        // The sender's second request is lost: the receiver's is nobody's.
        assert_eq!(joined(&without(&text, 115)), (2, 0, 1), "{numbers:?}");
        // So is its answer to the first one.
        assert_eq!(
            joined(&without(&without(&text, 115), 108)),
            (1, 0, 2),
            "{numbers:?}"
        );
    }
}

#[test]
fn what_does_not_fit_is_not_joined() {
    let good = exchange(100, (2, 1, 1), (2, 1, 1), (0, 30), "/a");
    let check = |from: &str, to: &str, expected| {
        let bad = good.replacen(from, to, 1);
        assert_ne!(bad, good);
        assert_eq!(joined(&bad), expected, "{to}");
    };
    check("cpu1 100 8", "cpu1 90 8", (0, 0, 1)); // received before it was sent
    check("cpu0 108 7", "cpu0 99 7", (0, 0, 1)); // answered before it was received
    check("over=60>3001", "over=61>3001", (0, 1, 0)); // over another connection
    assert_eq!(
        joined(&good.replace(
            "version=11 status=0 sent=0 received=30 method=GET path=/a",
            "version=11 status=0 sent=0 received=30 method=PUT path=/a"
        )),
        (0, 0, 1)
    );
}

#[test]
fn a_process_number_that_is_used_again_is_another_service() {
    let life = |at: u64, path: &str, port: u16| {
        format!(
            "cpu0 {at} 7 http_server_receive context=2 cause=0 connection=1 number=1 over=3000>{port} version=11 status=0 sent=0 received=40 method=GET path={path}
             cpu1 {} 7 http_client_request context=4 cause=2 connection=3 number=1 over=1{port}>9 version=11 status=0 sent=0 received=0 method=GET path={path}/b",
            at + 5
        )
    };
    let expected = "
        1: /a 100+…
          /a/b!
        2: /c 200+…
          /c/b!";
    let restarted = format!("{}\n{}", life(100, "/a", 50), life(200, "/c", 51));
    check(&service(&restarted), expected);
    // The first one goes on: two services with one number, in containers of their own.
    let mixed = restarted
        + "\ncpu0 300 7 http_server_receive context=9 cause=0 connection=1 number=2 over=3000>50 version=11 status=0 sent=9 received=80 method=GET path=/d";
    let report = ask(&service(&mixed), TimeRange::ALL);
    assert!(report.services.iter().all(|service| service.mixed));
    assert_eq!(report.joins[1].without_request, 2);
}

/// Commands of 20 bytes by one service over one connection, each in a batch of its own; the data store tells what it
/// had read before the first.
fn commands(first: u64, before: i64, names: &[&str]) -> String {
    let mut text = format!(
        "cpu0 10 9 command_name number=3 command=get
         cpu0 10 9 command_name number=4 command=set
         cpu0 11 9 client_address fd=9 client_id=5 peer_address=::ffff:10.0.0.1 peer_port=70 own_address=10.0.0.1 own_port=6379 bytes_before={before}\n"
    );
    for (name, i) in names.iter().zip(0_u64..) {
        let (at, context, offset) = (100 + 100 * i, 2 + i, first + 20 * i);
        let number = if *name == "get" { 3 } else { 4 };
        writeln!(
            text,
            "cpu1 {at} 8 redis_command context={context} cause=0 connection=1 number=0 over=70>6379 offset={offset} bytes=20 arguments=1 command={name}
             cpu0 {} 9 batch client_id=5 fd=9 read_thread=9 ended_by=0 unit_ns=1 read_end=2 write_start=20 ended=25 bytes_read=20 bytes_written=9 command=[{number}] start=[2] duration=[8]",
            at + 50
        )
        .unwrap();
    }
    text
}

/// Joined, outside, uncertain.
fn executed(text: &str) -> (u64, u64, u64) {
    let row = ask(&service(text), TimeRange::ALL).joins[2];
    (row.joined, row.outside, row.uncertain)
}

#[test]
fn commands_are_counted_from_what_the_data_store_had_read() {
    let gets = commands(500, 500, &["get"; 4]);
    assert_eq!(executed(&commands(0, 0, &["get"; 4])), (4, 0, 0));
    assert_eq!(executed(&gets), (4, 0, 0));
    assert_eq!(
        executed(&gets.replace("peer_port=70", "peer_port=71")),
        (0, 4, 0)
    );
    // The data store was recorded later than the service, or earlier.
    let later = without(&without(&commands(500, 540, &["get"; 4]), 150), 250);
    assert_eq!(executed(&later), (2, 0, 2));
    let earlier = without(&without(&gets, 100), 200);
    assert_eq!(executed(&earlier), (2, 0, 0));
    // It does not know how much it had read, or says later that it was not so.
    assert_eq!(executed(&commands(500, -1, &["get"; 4])), (0, 0, 4));
    let told_again = |bytes: u64| {
        gets.replacen(
            "cpu0 350 9 batch",
            &format!(
                "cpu0 349 9 client_address fd=9 client_id=5 peer_address=10.0.0.1 peer_port=70 \
                 own_address=10.0.0.1 own_port=6379 bytes_before={bytes}\ncpu0 350 9 batch"
            ),
            1,
        )
    };
    assert_eq!(executed(&told_again(540)), (4, 0, 0));
    // What was joined before is given up.
    assert_eq!(executed(&told_again(520)), (2, 0, 2));
}

#[test]
fn names_times_and_bytes_must_agree() {
    let text = commands(0, 0, &["get", "get", "set", "get"]);
    assert_eq!(executed(&text), (4, 0, 0));
    assert_eq!(
        executed(&text.replace("command=set\n", "command=get\n")),
        (4, 0, 0),
        "only a name"
    );
    let renamed = text.replacen("arguments=1 command=set", "arguments=1 command=del", 1);
    assert_eq!(executed(&renamed), (0, 0, 4));
    assert_eq!(
        executed(&text.replace("cpu1 300 8", "cpu1 360 8")),
        (0, 0, 4),
        "executed before it was sent"
    );
    assert_eq!(
        executed(&text.replacen("bytes_read=20", "bytes_read=19", 1)),
        (0, 0, 4)
    );
    assert_eq!(
        executed(&text.replacen("bytes_read=20", "bytes_read=40", 1)),
        (0, 0, 4)
    );
}

#[test]
fn where_events_are_missing_counting_begins_anew() {
    let told_again = "cpu0 349 9 client_address fd=9 client_id=5 peer_address=10.0.0.1 peer_port=70 own_address=10.0.0.1 own_port=6379 bytes_before=40";
    let text = commands(0, 0, &["get"; 5]);
    let (head, tail) = text.split_at(text.find("cpu0 250 9").unwrap());
    let tail = &tail[tail.find("\n").unwrap() + 1..];
    // The second batch is lost, and told to be.
    let lost = format!("{head}-- lost 1 cpu0\n{tail}");
    assert_eq!(executed(&lost), (1, 0, 4));
    let (head, tail) = lost.split_at(lost.find("cpu0 450 9").unwrap());
    assert_eq!(
        executed(&format!(
            "{head}{}\n{tail}",
            told_again.replace("349", "449").replace("=40", "=60")
        )),
        (3, 0, 2)
    );
}
