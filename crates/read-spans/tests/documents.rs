//! Documents written by hand, in all the forms that are read, and what they say.
//!
//! Forms only; what random spans look like after a round trip is in round_trips.rs.

mod support;

use std::io::Write;

use slowpath_read_spans::{SNIFF_BYTES, SpanFormat, bytes_to_sniff, sniff_spans, why_blank};

use support::{told, wrong};

/// A trace as Jaeger's query API gives it: processes behind the spans, every type of tag, logs, warnings.
const JAEGER_API: &str = r#"{"data":[{"traceID":"00000000000000aa","spans":[
 {"traceID":"aa","spanID":"0000000000000001","flags":1,"operationName":"GET /","references":[],
  "startTime":1500000000000001,"duration":250,
  "tags":[{"key":"span.kind","type":"string","value":"server"},{"key":"http.status_code","type":"int64","value":200},
          {"key":"ratio","type":"float64","value":1},{"key":"ok","type":"bool","value":true}],
  "logs":[{"timestamp":1,"fields":[{"key":"event","type":"string","value":"}]"}]}],
  "processID":"p1","warnings":null},
 {"traceID":"aa","spanID":"2","operationName":"SQL","references":[
   {"refType":"FOLLOWS_FROM","traceID":"aa","spanID":"9"},{"refType":"CHILD_OF","traceID":"aa","spanID":"1"}],
  "startTime":1500000000000100,"duration":20,"tags":[{"key":"error","type":"bool","value":true}],
  "logs":[],"processID":"p2","warnings":["clock skew adjustment disabled"]}],
 "processes":{"p1":{"serviceName":"front","tags":[{"key":"hostname","type":"string","value":"h1"}]},
              "p2":{"serviceName":"mysql","tags":[]}},"warnings":null}],
 "total":0,"limit":0,"offset":0,"errors":null}"#;

const JAEGER_TOLD: &str = "\
aa/1 front GET / 1500000000000001000..1500000000000251000 Server Unset span.kind=server http.status_code=200 ratio=1.0 ok=true hostname=h1
aa/2 < 1 ~ 9 mysql SQL 1500000000000100000..1500000000000120000 Internal Error error=true
";

#[test]
fn jaeger_as_the_query_api_gives_it() {
    assert_eq!(told(JAEGER_API.as_bytes()), JAEGER_TOLD);
    assert_eq!(wrong(JAEGER_API.as_bytes()), ["TracingSystemWarning 1"]);
}

#[test]
fn a_bare_trace_and_a_list_of_traces() {
    let trace = &JAEGER_API[r#"{"data":["#.len()..JAEGER_API.rfind("],\n \"total\"").unwrap()];
    assert_eq!(told(trace.as_bytes()), JAEGER_TOLD);
    assert_eq!(told(format!("[{trace}]").as_bytes()), JAEGER_TOLD);
    assert_eq!(
        told(format!("\u{feff}{trace}\n{trace}\n").as_bytes()),
        JAEGER_TOLD.repeat(2)
    );
}

#[test]
fn spans_one_by_one_as_jaeger_stores_them() {
    let span = r#"{"traceID":"aa","spanID":"2","parentSpanID":"1","operationName":"SQL","startTime":5,"duration":"7",
        "tags":[{"key":"n","type":"int64","value":"12"},{"key":"span.kind","value":"client"}],
        "process":{"serviceName":"mysql","tags":[{"key":"ip","value":"10.0.0.1"}]}}"#
        .replace('\n', "");
    let expected =
        "aa/2 < 1 mysql SQL 5000..12000 Client Unset n=12 span.kind=client ip=10.0.0.1\n";
    let check = |file: String| assert_eq!(told(file.as_bytes()), expected.repeat(2), "{file}");
    check(format!("{span}\n{span}\n"));
    check(format!("[{span},{span}]"));
    let stored = format!(r#"{{"_index":"jaeger-span","_source":{span}}}"#);
    check(format!("{stored}\n{stored}"));
}

/// A request as OTLP's JSON has it, with every type of value; numbers as text and as numbers.
const OTLP: &str = r#"{"resourceSpans":[{"resource":{"attributes":[
   {"key":"service.name","value":{"stringValue":"cart"}},{"key":"pid","value":{"intValue":"42"}}]},
 "scopeSpans":[{"scope":{"name":"lib"},"spans":[
  {"traceId":"5b8efff798038103d269b633813fc60c","spanId":"eee19b7ec3c1b174","parentSpanId":"eee19b7ec3c1b173",
   "name":"add","startTimeUnixNano":"1544712660000000001","endTimeUnixNano":1544712661000000002,"kind":2,
   "attributes":[{"key":"a","value":{"boolValue":true}},{"key":"b","value":{"doubleValue":0.5}},
    {"key":"c","value":{"arrayValue":{"values":[{"intValue":"1"},{"stringValue":"x"}]}}},
    {"key":"d","value":{"kvlistValue":{"values":[{"key":"e","value":{"boolValue":false}}]}}}],
   "links":[{"traceId":"5b8efff798038103d269b633813fc60c","spanId":"0000000000000005"}],
   "status":{"code":"STATUS_CODE_ERROR","message":"no"}}]}]}]}"#;

const OTLP_TOLD: &str = "5b8efff798038103d269b633813fc60c/eee19b7ec3c1b174 < eee19b7ec3c1b173 ~ 5 cart add \
1544712660000000001..1544712661000000002 Server Error a=true b=0.5 c=json:[1,\"x\"] d=json:{\"e\":false} \
service.name=cart pid=42\n";

#[test]
fn otlp_json_as_document_lines_and_list() {
    let line = OTLP.replace('\n', "");
    assert_eq!(told(OTLP.as_bytes()), OTLP_TOLD);
    assert_eq!(
        told(format!("{line}\n{line}\n").as_bytes()),
        OTLP_TOLD.repeat(2)
    );
    assert_eq!(
        told(format!("[{line},{line}]").as_bytes()),
        OTLP_TOLD.repeat(2)
    );
    assert!(wrong(OTLP.as_bytes()).is_empty());
}

#[test]
fn an_empty_trace_id_is_none() {
    let file = OTLP.replace("5b8efff798038103d269b633813fc60c", "");
    assert_eq!(told(file.as_bytes()), "");
    assert_eq!(wrong(file.as_bytes()), ["InvalidSpan 1"]);
}

#[test]
fn a_time_before_1970_is_none() {
    let file = OTLP.replace("UnixNano\":\"15447", "UnixNano\":\"-15447");
    assert_eq!(told(file.as_bytes()), "");
    assert_eq!(wrong(file.as_bytes()), ["InvalidSpan 1"]);
}

#[test]
fn otlp_json_with_the_ids_and_names_of_plain_protobuf_libraries() {
    let file = OTLP
        .replace(
            "5b8efff798038103d269b633813fc60c",
            "W47/95gDgQPSabYzgT/GDA==",
        )
        .replace("eee19b7ec3c1b174", "7uGbfsPBsXQ=")
        .replace("resourceSpans", "resource_spans")
        .replace("scopeSpans", "scope_spans")
        .replace("startTimeUnixNano", "start_time_unix_nano")
        .replace("\"kind\":2", "\"kind\":\"SPAN_KIND_SERVER\"");
    assert_eq!(told(file.as_bytes()), OTLP_TOLD);
}

#[test]
fn the_resource_may_stand_behind_its_spans() {
    let begin = OTLP.find("\"resource\":").unwrap();
    let end = OTLP.find("\"scopeSpans\"").unwrap();
    let resource = OTLP[begin..end].trim_end().trim_end_matches(',');
    let moved = OTLP.replace(&OTLP[begin..end], "");
    let moved = moved.replace("]}]}]}", &format!("]}}],{resource}}}]}}"));
    assert_eq!(told(moved.as_bytes()), OTLP_TOLD);
}

#[test]
fn compression_is_seen_through() {
    for text in [JAEGER_API, OTLP] {
        let gzip = gzip(text, flate2::Compression::fast());
        assert_eq!(told(&gzip), told(text.as_bytes()));
        let zstd = zstd::encode_all(text.as_bytes(), 1).unwrap();
        assert_eq!(told(&zstd), told(text.as_bytes()));
        let cut = told(&zstd[..zstd.len() - 9]);
        assert!(told(text.as_bytes()).starts_with(&cut));
        assert_eq!(
            wrong(&zstd[..zstd.len() - 9]).last().unwrap(),
            "TruncatedSpans 1"
        );
    }
}

#[test]
fn a_file_of_spans_that_hardly_compresses_is_one() {
    // Its first block is compressed to more than what is looked at of other files.
    let mut state = 1_u64;
    let noise: String = std::iter::repeat_with(|| {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        char::from(b'0' + (state >> 33) as u8 % 64)
    })
    .filter(|one| one.is_ascii_alphanumeric())
    .take(1 << 17)
    .collect();
    let whole = OTLP.trim_end().strip_suffix('}').expect("an object");
    let zstd =
        zstd::encode_all(format!("{whole}, \"noise\": \"{noise}\"}}").as_bytes(), 1).unwrap();
    assert!(why_blank(&zstd[..SNIFF_BYTES]).is_some());
    let head = &zstd[..bytes_to_sniff(&zstd).min(zstd.len())];
    assert_eq!(why_blank(head), None);
    assert_eq!(sniff_spans(head), Some(SpanFormat::OtlpJson));
}

#[test]
fn processes_may_fill_all_that_is_looked_at() {
    let process = |number| format!(r#""p{number}":{{"serviceName":"s{number}"}}"#);
    let processes = (0..1000).map(process).collect::<Vec<_>>().join(",");
    let file = format!(
        r#"{{"data":[{{"processes":{{{processes}}},"spans":[
        {{"traceID":"aa","spanID":"1","operationName":"x","startTime":1,"duration":1,"processID":"p999"}}]}}]}}"#
    );
    for file in forms(&file) {
        let head = &file[..bytes_to_sniff(&file).min(file.len())];
        assert_eq!(sniff_spans(head), Some(SpanFormat::JaegerJson));
        assert_eq!(told(&file), "aa/1 s999 x 1000..2000 Internal Unset\n");
    }
    // Or all that is left of it.
    for cut in forms(&file[..100]) {
        assert_eq!(sniff_spans(&cut), Some(SpanFormat::JaegerJson));
        assert_eq!(wrong(&cut), ["TruncatedSpans 1"]);
    }
}

#[test]
fn long_files_of_other_programs_are_none_of_spans() {
    let rows = |row: &str| [row; 1000].join(",");
    let check = |text: &str| {
        for file in forms(text) {
            let head = &file[..bytes_to_sniff(&file).min(file.len())];
            assert_eq!(sniff_spans(head), None, "{text:.40} {}", file.len());
        }
    };
    let services = rows(r#"{"serviceName":"a","state":"running"}"#);
    let numbers = rows(r#"{"pid":1,"name":"a"}"#);
    check(&format!(
        r#"{{"main":{{"serviceName":"a"}},"processes":[{numbers}]}}"#
    ));
    check(&format!(r#"{{"processes": 4, "services":[{services}]}}"#));
    check(&format!(r#"{{"processes":{{"1":[{numbers}]}}}}"#));
    check(&format!(
        r#"{{"services":[{services}],"processes":{{"count":4}}}}"#
    ));
    let line = r#"{"serviceName":"web","processes":{"count":4}}"#;
    check(&[line; 1000].join("\n"));
}

/// A file with this text: plain, and compressed well and not at all.
fn forms(text: &str) -> [Vec<u8>; 4] {
    [
        text.into(),
        zstd::encode_all(text.as_bytes(), 1).unwrap(),
        gzip(text, flate2::Compression::best()),
        gzip(text, flate2::Compression::none()),
    ]
}

fn gzip(text: &str, level: flate2::Compression) -> Vec<u8> {
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), level);
    gzip.write_all(text.as_bytes()).unwrap();
    gzip.finish().unwrap()
}

#[test]
fn a_file_is_blank_whose_end_is_seen_before_anything_of_it() {
    let check = |text: &str, expected: Option<&str>| {
        for file in forms(text) {
            let head = &file[..bytes_to_sniff(&file).min(file.len())];
            assert_eq!(why_blank(head), expected, "{text:.40} {}", file.len());
        }
    };
    let (empty, ends) = ("it is empty", "it ends within its first document");
    check(" \r\n", Some(empty));
    check("\u{feff}", Some(empty));
    check("{\"data\":[{\"processes\":{\"p1\":{\"serv", Some(ends));
    check("\u{feff}\n[{\"a\":1},", Some(ends));
    check("{\"a\":-", Some(ends));
    check("{\"a\":1.", Some(ends));
    let long = "a".repeat(SNIFF_BYTES);
    check(&format!("{{\"a\":\"{long}\"}}"), None);
    check("{\"a\":1}\n{\"b\":", None);
    check("{\"a\": 1, // of other programs\n", None);
    check("text", None);
    // What can be decompressed of a cut file ends as well.
    let cut = gzip("{\"a\":1}", flate2::Compression::none());
    assert_eq!(why_blank(&cut[..cut.len() - 9]), Some(ends));
    assert_eq!(why_blank(&[]), Some(empty));
}

#[test]
fn what_was_wrong_is_told_and_the_rest_is_read() {
    let span = |id: &str, rest: &str| {
        format!(
            r#"{{"traceID":"a","spanID":"{id}","operationName":"x","startTime":1{rest},"processID":"p"}}"#
        )
    };
    let trace = |spans: &[String]| {
        let spans = spans.join(",");
        format!(r#"{{"traceID":"a","spans":[{spans}],"processes":{{"p":{{"serviceName":"s"}}}}}}"#)
    };
    let check = |file: &str, spans: usize, expected: &[&str]| {
        assert_eq!(wrong(file.as_bytes()), expected, "{file}");
        assert_eq!(told(file.as_bytes()).lines().count(), spans, "{file}");
    };
    let good = span("1", "");
    check(
        &trace(&[span("2", r#","duration":-3"#), good.clone()]),
        2,
        &["NegativeDuration 1"],
    );
    check(
        &trace(&[span("", ""), good.clone(), span("0", "")]),
        1,
        &["InvalidSpan 2"],
    );
    check(
        &trace(&[span("2", r#","duration":"soon""#), good.clone()]),
        1,
        &["InvalidSpan 1"],
    );
    check(
        &trace(&[span("2", r#","duration":9e18"#), good.clone()]),
        1,
        &["InvalidSpan 1"],
    );
    check(
        &trace(&[span("2", r#","tags":{}"#), good.clone()]),
        1,
        &["InvalidSpan 1"],
    );
    check(
        &trace(&["7".to_owned(), "[]".to_owned(), good.clone()]),
        1,
        &["InvalidSpan 2"],
    );
    check(
        &trace(&[span("root", ""), span("child", "")]),
        2,
        &["UnusualSpanId 2"],
    );
    check(
        &trace(&[good.replace("\"p\"", "\"q\""), good.clone()]),
        2,
        &["MissingProcess 1"],
    );
    let whole = trace(std::slice::from_ref(&good));
    let cut = &whole[..whole.find("\"processes\"").unwrap()];
    check(cut, 1, &["TruncatedSpans 1", "MissingProcess 1"]);
    // A writer was killed, and the next one wrote on in the same file: in a text, and behind a value.
    check(
        &format!("{}\n{whole}\n", &whole[..whole.find("x\"").unwrap()]),
        1,
        &["InvalidSpanFile 1"],
    );
    check(
        &format!("{cut}\n{whole}\n"),
        2,
        &["InvalidSpanFile 1", "MissingProcess 1"],
    );
    // Each process by itself.
    let processes = r#"{"p":{"serviceName":"s","tags":[null]},"q":7,"r":{"tags":{}}}"#;
    let others = [
        good.replace("\"p\"", "\"q\""),
        good.replace("\"p\"", "\"r\""),
    ];
    let some_damaged = format!(
        r#"{{"spans":[{good},{}],"processes":{processes}}}"#,
        others.join(",")
    );
    let damages = ["InvalidSpan 1", "MissingProcess 2"];
    check(&some_damaged, 3, &damages);
    assert!(told(some_damaged.as_bytes()).starts_with("a/1 s x "));
    let scopes_damaged = OTLP.replace("\"scopeSpans\":[", "\"scopeSpans\":[null,");
    assert_eq!(told(scopes_damaged.as_bytes()), OTLP_TOLD);
    check("{\"data\":[} nonsense", 0, &["InvalidSpanFile 1"]);
    for without in [
        r#"{"traceID":"a","spans":[],"processes":null}"#,
        r#"{"traceID":"a","spans":{"1":{}}}"#,
        r#"{"resourceSpans":[]}"#,
    ] {
        check(without, 0, &["NoSpans 1"]);
    }
    check("hello", 0, &["InvalidSpanFile 1"]);
    check("", 0, &[]);
}

/// JavaScript cuts texts between the two halves of a character; others write Latin-1.
#[test]
fn texts_that_are_no_unicode_cost_neither_the_span_nor_its_service() {
    let jaeger = JAEGER_API
        .replace("\"GET /\"", r#""GET \ud83d""#)
        .replace("\"h1\"", r#""h\ude00""#);
    let expected = JAEGER_TOLD
        .replace("GET /", "GET \u{fffd}")
        .replace("=h1", "=h\u{fffd}");
    assert_eq!(told(jaeger.as_bytes()), expected);
    assert_eq!(wrong(jaeger.as_bytes()), ["TracingSystemWarning 1"]);

    let otlp = OTLP
        .replace("\"add\"", r#""add \ud83d\ude00 \ud83d""#)
        .replace("\"cart\"", r#""\uDC00cart""#)
        .replace("\"pid\"", "\"pid~\"");
    let expected = OTLP_TOLD
        .replace("cart", "\u{fffd}cart")
        .replace(" add ", " add \u{1f600} \u{fffd} ")
        .replace("pid", "pid?");
    let latin: Vec<u8> = otlp
        .bytes()
        .map(|byte| if byte == b'~' { 0xe9 } else { byte })
        .collect();
    assert_eq!(told(&latin), expected);
    assert_eq!(wrong(&latin), [""; 0]);
}

#[test]
fn what_a_search_of_jaegers_store_answers_has_its_spans_and_tags_as_fields() {
    let span = r#"{"traceID":"aa","spanID":"2","operationName":"SQL","startTime":5,"duration":7,
        "tags":[{"key":"n","type":"int64","value":"12"}],
        "tag":{"span@kind":"server","error":true,"http@status_code":500,"ratio":0.5},
        "process":{"serviceName":"mysql","tag":{"ip":"10.0.0.1"}}}"#;
    let answer = format!(r#"{{"took":3,"hits":{{"total":1,"hits":[{{"_source":{span}}}]}}}}"#);
    let expected = "aa/2 mysql SQL 5000..12000 Server Error n=12 error=true http.status_code=500 ratio=0.5 \
        span.kind=server ip=10.0.0.1\n";
    assert_eq!(told(answer.as_bytes()), expected);
    assert_eq!(wrong(answer.as_bytes()), [""; 0]);
}

#[test]
fn a_jaeger_span_without_a_start_has_no_time() {
    let span = |id: u8, start: &str, process: &str| {
        format!(
            r#"{{"traceID":"aa","spanID":"{id}","operationName":"x",{start}"duration":7,{process}}}"#
        )
    };
    let (unset, zero, now) = ("", r#""startTime":0,"#, r#""startTime":1500000000000000,"#);
    let processes = r#""processes":{"p":{"serviceName":"s"}}"#;
    let check = |starts: [&str; 2], expected: [&str; 2], codes: &[&str]| {
        let [first, second] = [1, 2].map(|n| span(n, starts[n as usize - 1], r#""processID":"p""#));
        let spans = format!(r#""spans":[{first},{second}]"#);
        let expected: String = (expected.iter().zip(1..))
            .map(|(times, n)| format!("aa/{n} s x {times} Internal Unset\n"))
            .collect();
        for members in [[&*spans, processes], [processes, &*spans]] {
            let file = format!("{{{}}}", members.join(","));
            assert_eq!(told(file.as_bytes()), expected, "{file}");
            assert_eq!(wrong(file.as_bytes()), codes, "{file}");
        }
    };
    let by_clock = "1500000000000000000..1500000000000007000";
    check([zero, now], ["0..0", by_clock], &["UnsetTime 1"]);
    check([now, unset], [by_clock, "0..0"], &["UnsetTime 1"]);
    // Files made by hand count from 0.
    let early = r#""startTime":5,"#;
    check([zero, early], ["0..7000", "5000..12000"], &[]);
    check([zero, zero], ["0..7000"; 2], &[]);
    // An end of 0 is that of a span without times.
    let before = r#""startTime":-7,"#;
    check([before, early], ["0..0", "5000..12000"], &["UnsetTime 1"]);
    // One trace's clock says nothing of another trace in the same document.
    let own = r#""processID":"p""#;
    let by_hand = span(1, zero, own);
    let other = span(2, now, own).replace("aa", "bb");
    let file = format!(r#"{{"spans":[{by_hand},{other}],{processes}}}"#);
    let expected = format!("aa/1 s x 0..7000 Internal Unset\nbb/2 s x {by_clock} Internal Unset\n");
    assert_eq!(told(file.as_bytes()), expected);
    assert!(wrong(file.as_bytes()).is_empty());
    // As Jaeger stores it.
    let stored = span(1, zero, r#""process":{"serviceName":"s"}"#);
    assert_eq!(told(stored.as_bytes()), "aa/1 s x 0..0 Internal Unset\n");
    assert_eq!(wrong(stored.as_bytes()), ["UnsetTime 1"]);
}

/// Nothing is read by recursion that the input could drive too deep.
#[test]
fn nesting_without_end_is_only_long() {
    for depth in [1000, 300_000] {
        for open in ["[", "{\"data\":", "{\"a\":[", "{\"spans\":[{\"tags\":["] {
            assert!(told(open.repeat(depth).as_bytes()).is_empty());
        }
        let tag = format!("{}1{}", "[".repeat(depth), "]".repeat(depth));
        let file = JAEGER_API.replace("\"value\":200", &format!("\"value\":{tag}"));
        assert_eq!(
            wrong(file.as_bytes()),
            ["InvalidSpan 1", "TracingSystemWarning 1"]
        );
    }
}
