//! Calls one after the other: of one callee they are a finding, of several they are not.

use slowpath_findings::{Finding, FindingId};
use slowpath_read_spans::Span;

use crate::support::{evidence, findings, only, span};

/// A thread that does nothing else, and the request that it serves.
const SERVED: &str =
    "cpu0 0 sched_switch prev_comm=swapper/0 prev_tid=0 prev_state=0 next_comm=shop next_tid=7
    cpu0 10 start 7 1
    cpu0 50000 end 7 1
    cpu0 60000 sched_switch prev_comm=shop prev_tid=7 prev_state=1 next_comm=swapper/0 next_tid=0";

/// The request and three calls `GET` that follow each other, with these words behind each.
fn calls(words: [&str; 3]) -> Vec<Span> {
    let call = |(words, n): (&str, i64)| {
        let (begin, end) = (1000 + n * 12_000, 11_000 + n * 12_000);
        span(&format!(
            "{} {begin}..{end} shop GET client parent=1 {words}",
            n + 2
        ))
    };
    let mut spans = vec![span("1 10..50000 shop /cart server")];
    spans.extend(words.into_iter().zip(0..).map(call));
    spans
}

fn serial(spans: Vec<Span>) -> Vec<Finding> {
    let mut found = findings(SERVED, spans);
    found.retain(|finding| finding.id == FindingId::SerialCalls);
    found
}

#[test]
fn calls_of_one_service_are_told_without_a_thread_that_nobody_knows() {
    let found = serial(calls([""; 3]));
    let finding = only(&found, FindingId::SerialCalls);
    assert_eq!(
        finding.title,
        "Serial calls: /cart calls GET up to 3 times in a row"
    );
    // The slow requests are the whole and one of the calls.
    assert!((finding.share - 20.0 / 59.99).abs() < 1e-3, "{finding:?}");
    for text in evidence(finding) {
        assert!(!text.contains("swapper"), "{text}");
    }
    assert!(
        finding.evidence[0]
            .text
            .starts_with("one of the calls, for 10.000 ms")
    );
}

#[test]
fn parts_that_compute_are_no_calls() {
    let internal = |words: &str| -> Vec<Span> {
        let part = |n: i64| {
            let (begin, end) = (1000 + n * 12_000, 11_000 + n * 12_000);
            span(&format!(
                "{} {begin}..{end} shop GET internal parent=1 {words}",
                n + 2
            ))
        };
        let whole = span("1 10..50000 shop /cart server");
        std::iter::once(whole).chain((0..3).map(part)).collect()
    };
    // The events of the thread that the spans are of.
    let on_thread = "cpu0 1000 start 7 2
    cpu0 11000 end 7 2
    cpu0 13000 start 7 3
    cpu0 23000 end 7 3
    cpu0 25000 start 7 4
    cpu0 35000 end 7 4
    ";
    let computing = SERVED.replace("cpu0 50000", &format!("{on_thread}cpu0 50000"));
    let title = |drawing: &str, words: &str| {
        let mut found = findings(drawing, internal(words));
        found.retain(|finding| finding.id == FindingId::SerialCalls);
        found.first().map(|finding| finding.title.clone())
    };
    assert_eq!(title(&computing, ""), None);
    assert!(title(&computing, "peer.service=db").is_some());
    // Nobody knows what they do.
    assert!(title(SERVED, "").is_some());
}

#[test]
fn calls_of_several_services_are_not_the_same_call() {
    let to = |host: &str| format!("server.address={host} server.port=80");
    let hosts = ["svc1", "svc2", "svc3"].map(to);
    assert_eq!(serial(calls([&hosts[0], &hosts[1], &hosts[2]])), []);
    let found = serial(calls([&hosts[0], &hosts[0], &hosts[0]]));
    let title = &only(&found, FindingId::SerialCalls).title;
    assert!(title.contains("calls GET of svc1:80 up to 3"), "{title}");
}

#[test]
fn calls_with_others_between_them_are_not_called_a_row() {
    // Between the first and the second; one that runs beside the second lies between none.
    for (other, is_between) in [("11500..12500", true), ("14000..20000", false)] {
        let mut spans = calls([""; 3]);
        spans.push(span(&format!("9 {other} shop PUT client parent=1")));
        let found = serial(spans);
        let finding = only(&found, FindingId::SerialCalls);
        let title = match is_between {
            true => "Serial calls: /cart calls GET up to 3 times one after the other",
            false => "Serial calls: /cart calls GET up to 3 times in a row",
        };
        assert_eq!(finding.title, title);
        let words = "In 1 of them other calls lie between";
        assert_eq!(finding.explanation.contains(words), is_between);
    }
}

#[test]
fn the_service_that_serves_a_call_says_more_than_its_address() {
    let served_by = |services: [&str; 3]| {
        let mut spans = calls(["server.address=gateway"; 3]);
        for (service, n) in services.into_iter().zip(0..) {
            let (begin, end) = (2000 + n * 12_000, 10_000 + n * 12_000);
            let (id, call) = (n + 5, n + 2);
            spans.push(span(&format!(
                "{id} {begin}..{end} {service} GET server parent={call}"
            )));
        }
        serial(spans)
    };
    assert_eq!(served_by(["prices", "stock", "users"]), []);
    let found = served_by(["prices"; 3]);
    let title = &only(&found, FindingId::SerialCalls).title;
    assert!(title.contains("calls GET of prices up to 3"), "{title}");
}
