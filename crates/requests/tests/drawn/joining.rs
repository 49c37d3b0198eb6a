//! Span events and spans of files, joined: names and parents, raw times kept, clocks that are off, and
//! spans without events where only one thread can have served them.

use slowpath_model::{ProcessId, SpanId, Timestamp, TraceId};
use slowpath_read_spans::{
    Attribute, AttributeValue, Reference, ReferenceKind, Span, SpanKind, SpanStatus,
};
use slowpath_requests::{
    HostEvents, PlacedBy, Request, Requests, ToldBy, clock_offsets, join, span_events,
};

use crate::support::{Drawing, Found, assert_shows};

/// A line per span: `1.2 100..300 SERVICE OPERATION`, then `parent=1`, `called` if it serves a call, `remote` or `local` as
/// its parent is told to be, and attributes `key=value`.
fn spans(text: &str) -> Vec<Span> {
    let lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
    lines.map(span).collect()
}

fn span(line: &str) -> Span {
    let words: Vec<&str> = line.split_whitespace().collect();
    let [ids, times, service, operation, ref rest @ ..] = words[..] else {
        panic!("no ids, times, service and operation in {line:?}");
    };
    let (trace, span) = ids.split_once('.').expect("TRACE.SPAN");
    let (begin, end) = times.split_once("..").expect("BEGIN..END");
    let trace = TraceId::from_hex(trace).expect("a trace id");
    let at = |text: &str| Timestamp::from_ns(text.parse().expect("a time"));
    let mut made = Span {
        trace,
        span: SpanId::from_hex(span).expect("a span id"),
        references: Vec::new(),
        service: service.into(),
        operation: operation.into(),
        begin: at(begin),
        end: at(end),
        kind: SpanKind::Internal,
        has_remote_parent: None,
        status: SpanStatus::Unset,
        attributes: Vec::new(),
    };
    for word in rest {
        match (*word, word.split_once('=')) {
            ("called", _) => made.kind = SpanKind::Server,
            ("remote", _) => made.has_remote_parent = Some(true),
            ("local", _) => made.has_remote_parent = Some(false),
            (_, Some(("parent", parent))) => made.references.push(Reference {
                kind: ReferenceKind::ChildOf,
                trace,
                span: SpanId::from_hex(parent).expect("a span id"),
            }),
            (_, Some((key, value))) => made.attributes.push(Attribute {
                key: key.into(),
                value: match value.parse() {
                    Ok(number) => AttributeValue::Integer(number),
                    Err(_) => AttributeValue::Text(value.into()),
                },
            }),
            (other, None) => panic!("{other:?} says nothing of a span"),
        }
    }
    made
}

/// Joins one drawn host with spans of a file; what was found, and the names of the diagnostics.
pub fn joined(drawing: &str, file: &str) -> (Found, Vec<String>) {
    let drawing = Drawing::parse(drawing);
    let Found { lines, .. } = drawing.find(1, u64::MAX);
    let events = span_events(&drawing.spans, &Default::default()).expect("nobody cancels");
    let host = HostEvents {
        name: "web-1".into(),
        shown_name: "web-1".into(),
        events: events.state.unwrap_or_default(),
        lines: Some(&lines),
    };
    let (mut requests, diagnostics) = join(vec![host], spans(file));
    let shown = diagnostics.iter().map(|diagnostic| {
        let (code, count) = (diagnostic.code.name(), diagnostic.count);
        format!("{code} {}", count.unwrap_or_default())
    });
    let shown = shown.collect();
    let requests = requests.pop().expect("one host");
    (Found { lines, requests }, shown)
}

#[test]
fn a_thread_that_is_not_known_has_no_name() {
    let (found, _) = joined(TWO_RUN, "1.1 1000..5000 shop GET");
    let path = found
        .requests
        .path(Some(&found.lines), found.id("1.1"))
        .path;
    let names: Vec<String> = path
        .segments
        .iter()
        .map(|segment| segment.comm.to_string())
        .collect();
    assert_eq!(names, [""]);
    let told = path.to_string();
    assert_eq!(
        told.matches("a thread that is not known").count(),
        3,
        "{told}"
    );
    assert_eq!(told.matches("thread 0").count(), 0, "{told}");
}

const TWO_RUN: &str = "
    0    0 switch - a
    1    0 switch - b
    0 9000 switch a:S -
    1 9000 switch b:S -";

const ONE_RUNS: &str = "
    0       0 switch - a
    0 9000000 switch a:S -";

#[test]
fn events_give_the_times_and_files_the_names() {
    let drawing = format!("{ONE_RUNS}\n0 1234 start a 1.1\n0 5678 end a 1.1");
    let (found, diagnostics) = joined(&drawing, "1.1 1000..5000 shop GET");
    let request = &found.requests.all()[0];
    assert_eq!((request.service(), request.operation()), ("shop", "GET"));
    assert_eq!(
        (request.window.begin.ns(), request.window.end.ns()),
        (1234, 5678)
    );
    let told = request.told.as_ref().expect("the file has it");
    assert_eq!((told.window.begin.ns(), told.window.end.ns()), (1000, 5000));
    assert_eq!(request.placed_by, PlacedBy::Start);
    assert!(diagnostics.is_empty(), "{diagnostics:?}");
}

#[test]
fn parents_tell_which_requests_are_strangers() {
    // Two children of one request on one thread: the inner blocks the outer, which it is no part of.
    let drawing = format!(
        "{ONE_RUNS}
         0 1000 start a 1.1
         0 2000 start a 1.2
         0 3000 start a 1.3
         0 4000 end a 1.3
         0 5000 end a 1.2
         0 6000 end a 1.1"
    );
    let file = "
        1.3 3000..4000 shop third parent=1
        1.1 1000..6000 shop first
        1.2 2000..5000 shop second parent=1";
    let (found, _) = joined(&drawing, file);
    assert_eq!(found.summary("1.1"), "RUNNING 5000");
    assert_eq!(
        found.summary("1.2"),
        "RUNNING 2000, BLOCKED_BY_REQUEST 1000"
    );
    // Where the file lacks the parent, they are children of one still. Of two that it lacks, one may be part of the other,
    // unless what it lacks are their callers.
    let (part, stranger) = ("RUNNING 3000", "RUNNING 2000, BLOCKED_BY_REQUEST 1000");
    for (third, second, summary) in [
        ("parent=1", "parent=1", stranger),
        ("parent=1", "parent=7", part),
        ("parent=1 called", "parent=7", part),
        ("parent=1 called", "parent=7 called", stranger),
        ("parent=1 remote", "parent=7 called", stranger),
        ("parent=1 called", "parent=7 called local", part),
        // A request and its own call, of which the caller's side is missing.
        ("parent=1 called", "", part),
    ] {
        let file =
            format!("1.3 3000..4000 shop third {third}\n1.2 2000..5000 shop second {second}");
        assert_eq!(joined(&drawing, &file).0.summary("1.2"), summary, "{file}");
    }
}

#[test]
fn spans_that_are_their_own_ancestors_have_no_place_in_a_tree() {
    let drawing = format!(
        "{ONE_RUNS}\n0 1000 start a 1.1\n0 2000 start a 1.2\n0 3000 end a 1.2\n0 4000 end a 1.1"
    );
    let file = "1.1 1000..4000 shop a parent=2\n1.2 2000..3000 shop b parent=1";
    assert_eq!(joined(&drawing, file).0.summary("1.1"), "RUNNING 3000");
}

#[test]
fn a_clock_that_is_off_is_said_and_allowed_for() {
    // Without 1.2's events: it is placed by what those of 1.1 say about the clock.
    let drawing = format!("{ONE_RUNS}\n0 5001000 start a 1.1\n0 5009000 end a 1.1");
    let file = "
        1.1 1000..9000 shop GET process.pid=97
        1.2 2000..3000 shop parse parent=1 process.pid=97";
    let (found, diagnostics) = joined(&drawing, file);
    assert_eq!(diagnostics, ["SpanClockOffset 1"]);
    assert_shows(
        &found.servings(),
        "1.1 5001000..5009000: a 5001000..5009000 (Start, Whole)
         1.2 5002000..5003000: a 5002000..5003000 (OnlyThread, Whole)",
    );
}

#[test]
fn events_of_a_thread_that_stood_still_before_them_are_when_the_file_says() {
    // Two spans tell how the clocks relate: here alike. The third one's start and end come 5 ms late.
    let told = |between: &str| {
        let drawing = format!(
            "0        0 switch - a
             0  1000000 start a 1.1
             0  1200000 end a 1.1
             0  2000000 start a 1.2
             0  2200000 end a 1.2
             {between}
             0 30000000 switch a:S -"
        );
        let file = "
            1.1  1000000..1200000  shop GET
            1.2  2000000..2200000  shop GET
            1.3 10000000..20000000 shop GET";
        let (found, diagnostics) = joined(&drawing, file);
        let is_of_fourth = |diagnostic: &String| diagnostic == "UnnamedRequests 1";
        assert!(diagnostics.iter().all(is_of_fourth), "{diagnostics:?}");
        let servings = found.servings();
        let third = servings.lines().find(|line| line.starts_with("1.3"));
        third.expect("it has events").to_owned()
    };
    let stood_still = "
        0 10100000 switch a:R b
        0 14900000 switch b:R a
        0 15000000 start a 1.3
        0 20100000 switch a:R -
        0 24900000 switch - a
        0 25000000 end a 1.3";
    assert_eq!(
        told(stood_still),
        "1.3 10000000..20000000: a 10000000..20000000 (Start, Whole)"
    );
    let late = "1.3 15000000..25000000: a 15000000..25000000 (Start, Whole)";
    // It slept, ran or told of others in between, so that clocks or a tracer that is slow may be why.
    let slept = stood_still.replace("a:R", "a:S");
    let slept = slept.replace("0 14900000", "0 14800000 wake a\n0 14900000");
    let slept = slept.replace("0 24900000", "0 24800000 wake a\n0 24900000");
    assert_eq!(told(&slept), late);
    assert_eq!(told("0 15000000 start a 1.3\n0 25000000 end a 1.3"), late);
    let told_others = stood_still
        .replace("0 10100000", "0 10050000 start a 1.4\n0 10100000")
        .replace("0 20100000", "0 20050000 end a 1.4\n0 20100000");
    assert!(told(&told_others).starts_with("1.3 15000000..25000000"));
}

#[test]
fn requests_whose_spans_never_came_are_counted() {
    let drawing = "
        0       0 switch - a
        0 1000000 start a 1.1
        0 1200000 end a 1.1
        0 2000000 start a 1.2
        0 2200000 end a 1.2
        0 3000000 start a 1.3
        0 9000000 switch a:S -";
    // 1.3 goes on beyond the recording: no file can have it.
    let (found, diagnostics) = joined(drawing, "1.1 1000000..1200000 shop GET");
    assert_eq!(diagnostics, ["UnnamedRequests 1"]);
    let names: Vec<&str> = (found.requests.all().iter())
        .map(Request::operation)
        .collect();
    assert_eq!(names, ["GET", "", ""]);
    // Where there are no files, none is missing.
    assert_eq!(joined(drawing, "").1, [""; 0]);
}

#[test]
fn spans_that_lack_a_time_say_nothing_of_clocks() {
    // 1.1's exporter set no times, or only the end: its events have both. Of 1.3 nothing is known.
    let drawing = format!("{ONE_RUNS}\n0 1000000 start a 1.1\n0 8000000 end a 1.1");
    for times in ["0..0", "8000000..8000000"] {
        let file = format!(
            "1.1 {times} shop GET process.pid=97
             1.2 2000000..3000000 shop parse parent=1 process.pid=97
             1.3 0..0 shop draw parent=1 process.pid=97"
        );
        let (found, diagnostics) = joined(&drawing, &file);
        assert_eq!(diagnostics, ["UnplacedSpans 1"], "{times}");
        assert_shows(
            &found.servings(),
            "1.1 1000000..8000000: a 1000000..8000000 (Start, Whole)
             1.2 2000000..3000000: a 2000000..3000000 (OnlyThread, Whole)",
        );
        assert_eq!(found.requests.all()[0].operation(), "GET");
    }
}

/// Threads a and b of one process.
const TWO_OF_A_PROCESS: &str = "
    0       0 switch - a
    1       0 switch - b
    0 9000000 switch a:S -
    1 9000000 switch b:S -";

#[test]
fn a_span_without_events_has_a_thread_only_where_no_other_is_possible() {
    let placed = |attributes: &str| {
        let drawing = Drawing::parse(TWO_OF_A_PROCESS);
        let Found { mut lines, .. } = drawing.find(1, u64::MAX);
        let process = |letter: u8| (slowpath_model::ThreadId(letter.into()), ProcessId(90));
        lines.add_saved(&[], &[process(b'a'), process(b'b')], &[], &[]);
        let host = HostEvents {
            name: "web-1".into(),
            shown_name: "web-1".into(),
            events: Vec::new(),
            lines: Some(&lines),
        };
        let file = spans(&format!("1.1 1000..2000 shop GET {attributes}"));
        let (mut requests, _) = join(vec![host], file);
        let requests = requests.pop().expect("one host");
        let found = Found { lines, requests };
        found.servings().trim_end().to_owned()
    };
    let unknown = "1.1 1000..2000: (Nothing, Whole)";
    assert_eq!(placed(""), unknown);
    assert_eq!(placed("process.pid=90"), unknown);
    let on_b = "1.1 1000..2000: b 1000..2000 (OnlyThread, Whole)";
    assert_eq!(placed("process.pid=90 thread.name=b"), on_b);
    assert_eq!(placed("process.pid=90 thread.id=98"), on_b);
    assert_eq!(placed("process.pid=90 thread.id=1"), unknown);
    assert_eq!(placed("process.pid=90 thread.name=c"), unknown);
    assert_eq!(placed("host.name=web-1 process.pid=90 thread.name=b"), on_b);
    // A container: it numbers its processes and threads itself.
    assert_eq!(
        placed("host.name=web-2 process.pid=90 thread.name=b"),
        unknown
    );
}

#[test]
fn a_process_of_a_container_is_told_from_one_of_the_host_with_its_number() {
    let placed = |attributes: &str, inside: &[(i32, i32)]| {
        let Found { mut lines, .. } = Drawing::parse(TWO_OF_A_PROCESS).find(1, u64::MAX);
        let numbers = inside
            .iter()
            .map(|(there, here)| (ProcessId(*there), ProcessId(*here)));
        lines.add_saved(&[], &[], &[], &numbers.collect::<Vec<_>>());
        let host = HostEvents {
            name: "web-1".into(),
            shown_name: "web-1".into(),
            events: Vec::new(),
            lines: Some(&lines),
        };
        let file = spans(&format!("1.1 1000..2000 shop GET {attributes}"));
        let (requests, _) = join(vec![host], file);
        let request = &requests[0].all()[0];
        request.first_thread().map(|thread| thread.0)
    };
    // Thread 97 is called a and is process 97 of the host; 98 is called b.
    assert_eq!(placed("process.pid=97", &[]), Some(97));
    assert_eq!(placed("process.pid=1", &[(1, 98)]), Some(98));
    assert_eq!(placed("process.pid=97", &[(97, 98)]), None);
    // A name is no proof: the other may only be called otherwise.
    assert_eq!(
        placed("process.pid=97 process.executable.name=b", &[(97, 98)]),
        None
    );
    assert_eq!(placed("process.pid=1", &[(1, 97), (1, 98)]), None);
}

#[test]
fn numbers_of_a_container_are_those_that_a_state_dump_tells() {
    // Threads a and b are of process 80 (P), which its container calls 81 (Q), and them x and y.
    let drawing = format!(
        "0 0 dump a P x Q\n0 0 dump b P y Q\n{}",
        TWO_OF_A_PROCESS.trim()
    );
    let placed = |attributes: &str| {
        let (found, _) = joined(&drawing, &format!("1.1 1000..2000 shop GET {attributes}"));
        let thread = found.requests.all()[0].first_thread();
        thread.map(|thread| thread.0)
    };
    assert_eq!(placed("process.pid=81 thread.name=a"), Some(97));
    assert_eq!(placed("process.pid=81 thread.id=121"), Some(98));
    assert_eq!(placed("process.pid=80 thread.id=98"), Some(98));
    // What the host calls so is another matter.
    assert_eq!(placed("process.pid=81 thread.id=98"), None);
    assert_eq!(placed("process.pid=80 thread.id=121"), None);
    assert_eq!(placed("process.pid=82 thread.name=a"), None);
}

#[test]
fn the_kernels_own_threads_serve_no_spans() {
    // Neither makes a call: who says that 97 serves it has numbers of its own, as in a container.
    let Found { mut lines, .. } = Drawing::parse(TWO_OF_A_PROCESS).find(1, u64::MAX);
    lines.add_saved(&[], &[], &[slowpath_model::ThreadId(97)], &[]);
    let host = HostEvents {
        name: "web-1".into(),
        shown_name: "web-1".into(),
        events: Vec::new(),
        lines: Some(&lines),
    };
    let file = spans(
        "1.1 1000..9000 shop GET process.pid=97
         1.2 1000..9000 shop GET process.pid=98",
    );
    let (requests, _) = join(vec![host], file);
    let all = requests[0].all().iter();
    let threads: Vec<_> = all
        .map(|request| request.first_thread().map(|thread| thread.0))
        .collect();
    assert_eq!(threads, [None, Some(98)]);
}

#[test]
fn spans_of_another_time_are_left_out_and_those_of_containers_kept() {
    let file = "
        1.1 1000..2000 shop GET
        1.2 20000000..20001000 shop GET
        1.3 1000..2000 shop GET host.name=elsewhere
        1.4 1000..2000 shop GET host.name=elsewhere";
    let (found, diagnostics) = joined(ONE_RUNS, file);
    assert_eq!(found.requests.all().len(), 3);
    assert_eq!(
        diagnostics,
        [
            "SpansOfAnotherTime 1",
            "UnknownSpanHost 2",
            "NoThreadKnown 3"
        ]
    );
}

#[test]
fn broken_trees_are_told() {
    let file = "
        1.1 1000..2000 shop GET
        1.2 1000..2000 shop GET parent=1
        1.3 1000..2000 shop GET parent=4
        1.4 1000..2000 shop GET parent=5
        1.5 1000..2000 shop GET parent=3
        1.6 1000..2000 shop GET parent=3
        1.7 1000..2000 shop GET parent=7
        1.8 1000..2000 shop GET parent=99
        2.1 1000..2000 shop GET parent=2";
    let (found, diagnostics) = joined(ONE_RUNS, file);
    assert_eq!(found.requests.all().len(), 9);
    assert_eq!(diagnostics[..2], ["MissingParentSpan 2", "SpanCycle 2"]);
    let (_, whole) = joined(
        ONE_RUNS,
        "1.1 1000..2000 shop GET\n1.2 1000..2000 shop GET parent=1",
    );
    assert_eq!(whole, ["NoThreadKnown 2"]);
}

#[test]
fn among_several_hosts_a_span_of_none_of_them_is_left_out() {
    let lines = [ONE_RUNS, TWO_RUN].map(|text| Drawing::parse(text).find(1, u64::MAX).lines);
    let host = |name: &str, lines| HostEvents {
        name: name.into(),
        shown_name: name.into(),
        events: Vec::new(),
        lines: Some(lines),
    };
    let file = spans(
        "1.1 1000..2000 shop GET host.name=web-2
         1.2 1000..2000 shop GET host.name=elsewhere
         1.3 1000..2000 shop GET",
    );
    let hosts = vec![host("web-1", &lines[0]), host("web-2", &lines[1])];
    let (requests, diagnostics) = join(hosts, file.clone());
    let counts = requests.iter().map(|requests| requests.all().len());
    assert_eq!(counts.collect::<Vec<_>>(), [0, 1]);
    let unplaced = diagnostics
        .iter()
        .find(|diagnostic| diagnostic.code.name() == "UnplacedSpans");
    assert_eq!(unplaced.and_then(|diagnostic| diagnostic.count), Some(2));
    // Of two hosts with that name it is the one that was recorded then.
    let later = Drawing::parse("0 7000 switch - a\n0 8000 switch a:S -");
    let later = later.find(1, u64::MAX).lines;
    let hosts = vec![host("web-2", &later), host("web-2", &lines[1])];
    let (requests, _) = join(hosts, file);
    let counts = requests.iter().map(|requests| requests.all().len());
    assert_eq!(counts.collect::<Vec<_>>(), [0, 1]);
}

#[test]
fn of_spans_of_one_id_one_is_a_request_and_those_that_differ_are_told() {
    let file = "
        1.1 10000..20000 shop GET
        1.1 10000..20900 shop GET
        1.1 10000..30000 shop GET
        1.1 10000..20000 shop PUT";
    let (found, diagnostics) = joined(ONE_RUNS, file);
    assert_eq!(
        found.servings().trim_end(),
        "1.1 10000..20000: (Nothing, Whole)"
    );
    assert_eq!(
        diagnostics,
        ["DuplicateSpan 1", "ConflictingSpans 2", "NoThreadKnown 1"]
    );
}

#[test]
fn of_spans_of_one_id_that_differ_the_earliest_is_kept_whatever_its_name() {
    let kept = |file: &str| {
        let (found, _) = joined(ONE_RUNS, file);
        found.servings().trim_end().to_owned()
    };
    let earlier = "
        1.1 11000..20000 shop GET
        1.1 10000..30000 shop PUT";
    assert_eq!(kept(earlier), "1.1 10000..30000: (Nothing, Whole)");
    let shorter = "
        1.1 10000..30000 shop GET
        1.1 10000..20000 shop PUT";
    assert_eq!(kept(shorter), "1.1 10000..20000: (Nothing, Whole)");
}

/// The requests of a host by its span events alone.
fn by_events(text: &str) -> Requests {
    let drawing = Drawing::parse(&format!("0 0 switch - a\n{text}"));
    let events = span_events(&drawing.spans, &Default::default()).expect("nobody cancels");
    Requests::build(events.state.expect("there are events"), None)
}

#[test]
fn hosts_whose_clocks_differ_are_told_by_the_traces_that_they_share() {
    let client =
        by_events("0 1000 start a 1.1\n0 2000 end a 1.1\n0 3000 start a 2.1\n0 4000 end a 2.1");
    let server = by_events(
        "0 5001100 start a 1.2\n0 5001800 end a 1.2\n0 5003300 start a 2.2\n0 5003900 end a 2.2",
    );
    let offsets = clock_offsets(&[&client, &server]);
    let [offset] = offsets.as_slice() else {
        panic!("{offsets:?}");
    };
    // Trace 1 allows -5,000,100 to -4,999,800; trace 2 -5,000,300 to -4,999,900.
    assert_eq!(offset.ahead_ns, (-5_000_100, -4_999_900));
    assert_eq!(
        (offset.told_by, offset.may_agree()),
        (ToldBy::Traces(2), false)
    );
    let message = offset.diagnostic(("client", "server")).message;
    assert!(
        message.starts_with("the clock of server is 0.005000 s ahead of that of client"),
        "{message}"
    );
    let near = by_events("0 1100 start a 1.2\n0 1800 end a 1.2");
    assert!(clock_offsets(&[&client, &near])[0].may_agree());
}

#[test]
fn a_processor_that_spans_are_not_heard_of_from_has_lost_its_stream() {
    // Thread a goes from one processor to the other and back. Of its spans every fifth ends on the next one.
    let turns = (0..40).map(|n| {
        let (cpu, next, at) = (n % 2, (n + 1) % 2, n * 100);
        let (end_cpu, end) = match n % 5 {
            0 => (next, at + 105),
            _ => (cpu, at + 80),
        };
        format!(
            "{cpu} {at} switch - a\n{cpu} {} start a {n:x}.1\n{end_cpu} {end} end a {n:x}.1\n{cpu} {} switch a -",
            at + 10,
            at + 90
        )
    });
    let mut lines: Vec<String> = turns
        .flat_map(|turn| turn.lines().map(str::to_owned).collect::<Vec<_>>())
        .collect();
    lines.push("0 4000 switch - a".to_owned());
    lines.sort_by_key(|line| line.split(' ').nth(1).and_then(|at| at.parse::<i64>().ok()));
    let diagnostics = |lines: &[String]| joined(&lines.join("\n"), "").1;
    assert!(diagnostics(&lines).is_empty(), "{:?}", diagnostics(&lines));
    let is_heard = |line: &String| !line.starts_with('1') || line.contains("switch");
    lines.retain(is_heard);
    assert_eq!(diagnostics(&lines), ["MissingSpanEvents 8"]);
}

/// Spans of traces of their own: when and on which thread each begins and ends.
fn spans_on(spans: impl Iterator<Item = [(i32, &'static str); 2]>) -> String {
    let mut lines: Vec<(i32, String)> = Vec::new();
    for (number, ends) in (1..).zip(spans) {
        for ((at, thread), what) in ends.into_iter().zip(["start", "end"]) {
            let processor = i32::from(thread == "b");
            let line = format!("{processor} {at} {what} {thread} {number:x}.1\n");
            lines.push((at, line));
        }
    }
    lines.sort_by_key(|(at, _)| *at);
    let lines: String = lines.into_iter().map(|(_, line)| line).collect();
    format!("{TWO_RUN}\n{lines}")
}

/// How many requests are said to be blocked by others, and the diagnostics.
fn blocked(drawing: &str) -> (usize, Vec<String>) {
    let (found, diagnostics) = joined(drawing, "");
    let paths = (found.requests.ids()).map(|(id, _)| found.requests.path(Some(&found.lines), id));
    let blocked = paths.filter(|path| !path.blockers().is_empty()).count();
    (blocked, diagnostics)
}

#[test]
fn where_spans_move_unseen_nobody_is_said_to_be_blocked() {
    // Long ones of which every third ends on b, and short ones on a, one in the other.
    let long = (1..=24).map(|n| {
        let end_on = if n % 3 == 0 { "b" } else { "a" };
        [(n * 400, "a"), (n * 400 + 300, end_on)]
    });
    let within = (0..100).flat_map(|n| {
        let begin = 10_000 + n * 40;
        [
            [(begin, "a"), (begin + 30, "a")],
            [(begin + 10, "a"), (begin + 20, "a")],
        ]
    });
    assert_eq!(blocked(&spans_on(within.clone())), (100, vec![]));
    let moved = vec!["SpansMoveUnseen 8".to_owned()];
    assert_eq!(blocked(&spans_on(long.chain(within))), (100, moved));
}

#[test]
fn of_few_spans_most_must_move() {
    // Each begins on a while the ones before it are under way, in a queue that b takes them from.
    let queued = |count: i32| (1..=count).map(|n| [(n * 10, "a"), (400 + n * 300, "b")]);
    let told = vec!["SpansMoveUnseen 5".to_owned()];
    assert_eq!(blocked(&spans_on(queued(5))), (0, told.clone()));
    // Many short ones that stay do not hide them.
    let short = (0..200).map(|n| [(2_000 + n * 20, "a"), (2_000 + n * 20 + 9, "a")]);
    assert_eq!(blocked(&spans_on(queued(5).chain(short))), (0, told));
    // One may be handed over as it ends, and of two requests one does not wait for the other then.
    let none = Vec::<String>::new();
    assert_eq!(blocked(&spans_on(queued(1))), (0, none.clone()));
    let half = [
        [(10, "a"), (500, "b")],
        [(600, "a"), (900, "a")],
        [(1_000, "a"), (1_500, "b")],
        [(1_600, "a"), (1_900, "a")],
    ];
    assert_eq!(blocked(&spans_on(half.into_iter())), (0, none));
}

#[test]
fn where_spans_take_turns_on_a_thread_nobody_is_said_to_be_blocked() {
    let in_turn = (0..100).map(|n| [(n * 40, "a"), (n * 40 + 30, "a")]);
    assert_eq!(blocked(&spans_on(in_turn.clone())), (0, vec![]));
    // One takes no time.
    let at_once = in_turn.clone().chain([[(110, "a"), (110, "a")]]);
    assert_eq!(blocked(&spans_on(at_once)).1, Vec::<String>::new());
    let within = |n: i32| [(n * 40 + 10, "a"), (n * 40 + 20, "a")];
    // Two that cross, among others that lie in others.
    let crossing = in_turn.chain((0..98).map(within));
    let crossing = crossing.chain([[(98 * 40 + 20, "a"), (98 * 40 + 35, "a")]]);
    let told = vec!["SpansMoveUnseen 2".to_owned()];
    assert_eq!(blocked(&spans_on(crossing)), (0, told));
    // Too few of many are a chance, or one that was forgotten.
    let many = (0..300).map(|n| [(n * 40, "a"), (n * 40 + 30, "a")]);
    let few = many.chain([[(20, "a"), (35, "a")]]);
    assert_eq!(blocked(&spans_on(few)).1, Vec::<String>::new());
}

/// Spans of which every other one lies within one of another trace on thread a, and is said to be attached; how many of
/// the others are left by thread b, and how many are left where they were taken up.
fn attached(elsewhere: i32, there: i32) -> String {
    let lines = (1..=elsewhere + there).map(|n| {
        let (at, outer, inner) = (n * 100, 2 * n, 2 * n + 1);
        let (processor, left_by) = if n <= elsewhere { (1, "b") } else { (0, "a") };
        format!(
            "0 {at} start a {outer:x}.1
             0 {at} attach a {outer:x}.1
             0 {} start a {inner:x}.1
             0 {} attach a {inner:x}.1
             0 {} detach a {inner:x}.1
             0 {} end a {inner:x}.1
             {processor} {} detach {left_by} {outer:x}.1
             {processor} {} end {left_by} {outer:x}.1\n",
            at + 10,
            at + 10,
            at + 30,
            at + 30,
            at + 50,
            at + 50,
        )
    });
    format!("{TWO_RUN}\n{}", lines.collect::<String>())
}

#[test]
fn where_threads_leave_what_others_took_up_nobody_is_said_to_be_blocked() {
    let told = vec!["SpansMoveUnseen 1".to_owned()];
    assert_eq!(blocked(&attached(1, 9)), (0, told));
    assert_eq!(blocked(&attached(0, 10)), (10, vec![]));
    // One of many: some events were lost.
    let (_, diagnostics) = blocked(&attached(1, 79));
    assert_eq!(diagnostics, Vec::<String>::new());
}

#[test]
fn spans_that_threads_tell_of_may_be_followed_beside_those_that_move_unseen() {
    // Thread a takes up its spans, one in the other. Threads b and c are below virtual threads, whose spans they only
    // start and end, some of them not where they began.
    let unseen = (1..=40).map(|n| {
        let (at, trace) = (n * 100, 1000 + n);
        let end = if n % 3 == 0 { "end c" } else { "end b" };
        let processor = 1 + i32::from(n % 3 == 0);
        format!(
            "1 {at} start b {trace:x}.1\n{processor} {} {end} {trace:x}.1\n",
            at + 90
        )
    });
    let unseen: String = unseen.collect();
    let third = "2 0 switch - c\n2 9000 switch c:S -";
    let drawing = format!("{}\n{third}\n{unseen}", attached(0, 10));
    let told = vec!["SpansMoveUnseen 13".to_owned()];
    assert_eq!(blocked(&drawing), (10, told));
}
