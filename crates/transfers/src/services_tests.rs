//! Contexts and paths of services drawn in text, a line each, and which contexts lie on which paths.
//!
//! A context is "number method url (what noticed it) its call path"; a path "rank service[pid command] method url", and, after
//! a bar, the methods that spans above the call name.

use slowpath_read_spans::{Collected, ReadOptions, Span, read_spans};
use slowpath_read_transfers::{Transfers, read_transfers};

use crate::{Calls, MarkedPath, Report, ServicePath, ServicePaths};

/// The report of a process that ran from 10 to 20 seconds.
fn report(pid: u32, program: &str, contexts: &str) -> Transfers {
    let mut text = format!(
        r#"{{"format":"slowpath-transfers","version":1,"pid":{pid},"program":"{program}","backend":"field-mask","begin_ns":10000000000,"end_ns":20000000000,"samples":385,"watched_now":0,"not_watched":{{}},"responses_without_context":0,"failures":0,"classes_not_rewritten":0}}"#
    );
    for line in contexts
        .lines()
        .map(str::trim)
        .filter(|line| !line.is_empty())
    {
        let (endpoint, rest) = line.split_once(" (").expect("what noticed it");
        let (by, methods) = rest.split_once(')').expect("a call path");
        let [number, method, url] = endpoint.split(' ').collect::<Vec<_>>()[..] else {
            panic!("{line}: number, method and url");
        };
        let frames: Vec<String> = (methods.split_whitespace())
            .map(|method| {
                let (class, method) = method.rsplit_once('.').expect("class and method");
                format!(r#"{{"class":"{class}","method":"{method}","file":null,"line":-1}}"#)
            })
            .collect();
        // The higher its number, the more comes in vain.
        text += &format!(
            r#"
{{"context":{number},"call_path":[{}],"endpoint":{{"method":"{method}","url":"{}"}},"by":"{by}","responses":{number},"looked_into":1,"too_large":0,"classes":[{{"class":"T","responses":1,"objects":1,"watched":1,"decided":1,"censored":0,"fields":[{{"name":"a","type":"int","used":0,"printed":0,"unused":1,"censored_used":0,"present":1,"bytes":8}}]}}]}}"#,
            frames.join(","),
            url
        );
    }
    let (transfers, told) = read_transfers("drawn", text.as_bytes());
    assert_eq!(told, []);
    transfers.expect("it is whole")
}

/// A span of a process, "pid command", that began when so many seconds had passed.
fn span(kind: u32, seconds: u64, of_process: &str, attributes: &[(&str, &str)]) -> Span {
    let process: Vec<&str> = of_process.splitn(2, ' ').collect();
    let mut resource = Vec::new();
    if let Some(pid) = process.first().filter(|pid| !pid.is_empty()) {
        resource.push(format!(
            r#"{{"key":"process.pid","value":{{"intValue":"{pid}"}}}}"#
        ));
    }
    if let Some(command) = process.get(1) {
        resource.push(format!(
            r#"{{"key":"process.command_line","value":{{"stringValue":"{command}"}}}}"#
        ));
    }
    let attributes: Vec<String> = (attributes.iter())
        .map(|(key, text)| format!(r#"{{"key":"{key}","value":{{"stringValue":"{text}"}}}}"#))
        .collect();
    let document = format!(
        r#"{{"resourceSpans":[{{"resource":{{"attributes":[{}]}},"scopeSpans":[{{"spans":[{{"traceId":"0102030405060708090a0b0c0d0e0f10","spanId":"0102030405060708","kind":{kind},"startTimeUnixNano":"{seconds}000000000","endTimeUnixNano":"{seconds}000000009","attributes":[{}]}}]}}]}}]}}"#,
        resource.join(","),
        attributes.join(",")
    );
    let mut read = Collected::default();
    read_spans(
        document.as_bytes(),
        "drawn",
        ReadOptions::default(),
        &mut read,
    );
    read.spans.pop().expect("a span")
}

fn paths(calls: &Calls, drawn: &str) -> ServicePaths {
    const CLIENT: u32 = 3;
    const INTERNAL: u32 = 1;
    let lines = drawn.lines().map(str::trim).filter(|line| !line.is_empty());
    let marked = lines.map(|line| {
        let (call, methods) = line.split_once(" |").unwrap_or((line, ""));
        let (begin, rest) = call.split_once('[').expect("a process");
        let (process, call) = rest.split_once("] ").expect("a call");
        let (rank, service) = begin.split_once(' ').expect("a rank");
        let (method, url) = call.split_once(' ').expect("method and url");
        let told = [("http.request.method", method), ("url.full", url)];
        let above = methods.split_whitespace().map(|method| {
            let named = [("code.function.name", method)];
            vec![calls.mark(&span(INTERNAL, 15, process, &named))]
        });
        MarkedPath {
            path: ServicePath {
                rank: rank.parse().expect("a rank"),
                path: vec![service.to_owned()],
                inclusive: 100,
                share: 0.1,
            },
            service: service.to_owned(),
            marks: vec![calls.mark(&span(CLIENT, 15, process, &told))],
            above: above.collect(),
        }
    });
    ServicePaths {
        requests: 10,
        latency: 1_000,
        paths: 40,
        marked: marked.collect(),
    }
}

/// Rows in their order: "pid/context: ranks of its paths", or why there is none.
fn rows(reports: &[Transfers], drawn: &str) -> Vec<String> {
    let calls = Calls::of(reports);
    let services = paths(&calls, drawn);
    let report = Report::on_services(reports, &calls, &services, 0);
    let told = report.services.expect("there are spans");
    let without = report
        .transfers
        .iter()
        .filter(|row| row.no_path.is_some())
        .count();
    assert_eq!(told.rows_on_paths + without, report.rows);
    let row = |row: &crate::TransferRow| {
        let ranks: Vec<String> = row.paths.iter().map(|path| path.rank.to_string()).collect();
        let why = row.no_path.map(|why| format!("{why:?}"));
        format!(
            "{}/{}: {}",
            row.pid,
            row.context,
            why.unwrap_or(ranks.join(" "))
        )
    };
    report.transfers.iter().map(row).collect()
}

const TWO_CALLERS: &str = "
    1 GET http://t/tickets/{id} (RestTemplate) shop.A.one shop.C.get
    2 GET http://t/tickets/{} (Gson) shop.A.all shop.C.get
    3 GET http://t/stations (RestTemplate) shop.A.all";

#[test]
fn a_context_lies_on_the_only_path_with_a_call_to_its_endpoint() {
    let report = report(7, "shop.jar a", TWO_CALLERS);
    let drawn = "
        4 planner[7 java -jar shop.jar a] GET http://t/tickets/7
        9 planner[7 java -jar shop.jar a] GET http://t/stations?x";
    // Those on the first path come first, of these what comes in vain most.
    assert_eq!(rows(&[report], drawn), ["7/2: 4", "7/1: 4", "7/3: 9"]);
}

#[test]
fn the_only_context_of_an_endpoint_lies_on_all_paths_with_calls_to_it() {
    let report = report(7, "shop.jar", "1 GET http://t/a (RestTemplate) shop.A.one");
    let drawn = "
        2 planner[7] GET http://t/a
        3 planner[7] POST http://t/a
        5 planner[7] GET http://t/a";
    assert_eq!(rows(&[report], drawn), ["7/1: 2 5"]);
}

#[test]
fn methods_that_spans_name_tell_contexts_of_one_endpoint_apart() {
    let report = report(7, "shop.jar", TWO_CALLERS);
    let drawn = "
        2 planner[7] GET http://t/tickets/1 | shop.A.all
        3 planner[7] GET http://t/tickets/1 | shop.A.one shop.C.get
        4 planner[7] GET http://t/tickets/1 | shop.A.all shop.A.one
        5 planner[7] GET http://t/tickets/1 | shop.C.get shop.A.one
        6 planner[7] GET http://t/tickets/1 | unheard.Of.it
        8 planner[7] GET http://t/tickets/1";
    assert_eq!(rows(&[report], drawn), ["7/2: 2", "7/1: 3", "7/3: NoCall"]);
}

#[test]
fn what_cannot_be_told_apart_is_on_no_path() {
    let two = report(7, "shop.jar", TWO_CALLERS);
    let drawn = "
        2 planner[7] GET http://t/tickets/1
        3 planner[7] GET http://t/tickets/1
        8 planner[7] GET http://t/stations";
    let expected = ["7/3: 8", "7/2: Ambiguous", "7/1: Ambiguous"];
    assert_eq!(rows(&[two], drawn), expected);

    // Two containers with a process 1 each, of the same command, in different services.
    let one = report(1, "app.jar", "1 GET http://t/a (RestTemplate) shop.A.one");
    let drawn = "
        2 planner[1 java -jar app.jar] GET http://t/a
        3 orders[1 java -jar app.jar] GET http://t/a";
    assert_eq!(rows(&[one], drawn), ["1/1: Ambiguous"]);
}

#[test]
fn a_process_is_known_by_number_command_and_time() {
    let check = |process: &str, expected: &str| {
        let one = report(
            7,
            "shop.jar a",
            "1 GET http://t/a (RestTemplate) shop.A.one",
        );
        let drawn = format!("2 planner[{process}] GET http://t/a");
        assert_eq!(
            rows(&[one], &drawn),
            [format!("7/1: {expected}")],
            "{process}"
        );
    };
    check("7", "2");
    check("7 java -jar shop.jar a", "2");
    check("7 java -jar shop.jar a --server.port=8080", "2");
    check("7 java -jar shop.jar ab", "NoProcess");
    check("7 java @shop.args", "2");
    check(
        "7 java -cp lib/a.jar --add-opens a/b=c -Xmx1g @shop.args",
        "2",
    );
    check("7 /opt/a b/bin/java -jar @shop.jar", "2");
    check("7 java -cp @paths shop.Other", "NoProcess");
    check("7 java -jar other.jar @a", "NoProcess");
    check("7 java shop.Other @a", "NoProcess");
    check("8 java -jar shop.jar a", "NoProcess");
    check("7 java -jar shop.jar b", "NoProcess");
    check("7 java -jar myshop.jar a", "NoProcess");
    check("", "NoProcess");

    let calls = Calls::of(&[report(7, "shop.jar", TWO_CALLERS)]);
    let attributes = [
        ("http.request.method", "GET"),
        ("url.full", "http://t/stations"),
    ];
    let at = |kind, seconds| calls.mark(&span(kind, seconds, "7", &attributes));
    assert_eq!([9, 21].map(|seconds| at(3, seconds)), [0, 0]);
    assert!(at(3, 10) > 0 && at(3, 10) == at(3, 20));
    assert_eq!(at(2, 15), 0, "a server does not call");
}

#[test]
fn copies_of_a_service_share_its_paths() {
    let context = "1 GET http://t/a (RestTemplate) shop.A.one";
    let reports = [report(1, "app.jar", context), report(1, "app.jar", context)];
    let drawn = "
        2 planner[1 java -jar app.jar] GET http://t/a
        3 planner[1 java -jar app.jar] GET http://t/a";
    assert_eq!(rows(&reports, drawn), ["1/1: 2 3", "1/1: 2 3"]);
}

#[test]
fn calls_that_are_in_no_path_are_told() {
    let reports = [report(7, "shop.jar", TWO_CALLERS)];
    let calls = Calls::of(&reports);
    let attributes = [
        ("http.request.method", "GET"),
        ("url.full", "http://t/stations"),
    ];
    assert!(calls.mark(&span(3, 15, "7", &attributes)) > 0);
    let report = Report::on_services(&reports, &calls, &ServicePaths::default(), 0);
    let told = report.services.expect("there are spans").rows_without;
    assert_eq!((told.not_told, told.no_call), (1, 2));
}
