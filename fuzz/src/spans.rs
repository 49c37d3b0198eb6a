//! The target `spans`: files of spans in every format, down to the tree of each trace.

use std::io::{self, Cursor, Write};
use std::num::NonZeroUsize;

use slowpath_model::Diagnostic;
use slowpath_read_spans::{ReadOptions, Span, SpanSink, read_spans, sniff_spans, why_blank};
use slowpath_services::{Limits, Mark, SurveyOptions, TraceSorter, Traces, survey};

const JAEGER: &str = r#"{"data":[{"traceID":"aa","spans":[
{"traceID":"aa","spanID":"1","operationName":"GET /","references":[],"startTime":1500000000000001,
"duration":250,"tags":[{"key":"span.kind","type":"string","value":"client"}],"logs":[],"processID":"p1"},
{"traceID":"aa","spanID":"2","operationName":"SQL","references":[{"refType":"CHILD_OF","traceID":"aa",
"spanID":"1"}],"startTime":1600000000000001,"duration":20,"tags":[{"key":"span.kind","value":"server"},
{"key":"list","value":[1,{"a":null}]}],"processID":"p2","warnings":["late"]}],
"processes":{"p1":{"serviceName":"a","tags":[{"key":"ip","value":"1"}]},"p2":{"serviceName":"b"}}}]}
{"traceID":"b","spanID":"1","parentSpanID":"2","startTime":1,"process":{"serviceName":"c"}}
"#;

const OTLP: &str = r#"{"resourceSpans":[{"scopeSpans":[{"spans":[{"traceId":"W47/95gDgQPSabYzgT/GDA==",
"spanId":"eee19b7ec3c1b174","parentSpanId":"eee19b7ec3c1b174","name":"x","startTimeUnixNano":"5",
"endTimeUnixNano":"4","kind":"SPAN_KIND_SERVER","attributes":[{"key":"d","value":{"kvlistValue":{"values":
[{"key":"e","value":{"arrayValue":{"values":[{"intValue":"1"}]}}}]}}}],"links":[{"traceId":"00","spanId":"1"}],
"status":{"code":2}}]}],"resource":{"attributes":[{"key":"service.name","value":{"stringValue":"s"}}]}}]}
"#;

/// A request of two spans with all that is read of one.
fn request() -> Vec<u8> {
    let field = |number: u8, content: &[u8]| {
        let length = u8::try_from(content.len()).expect("a short message");
        let mut bytes = vec![number << 3 | 2];
        if length > 0x7f {
            bytes.extend([length, 1]);
        } else {
            bytes.push(length);
        }
        bytes.extend(content);
        bytes
    };
    let pair = |number, key: &[u8], value: Vec<u8>| {
        field(number, &[field(1, key), field(2, &value)].concat())
    };
    let list = field(
        5,
        &[field(1, &[0x18, 7]), field(1, &field(1, b"x"))].concat(),
    );
    let span = |id: u8, parent: u8| {
        let parts = [
            field(1, &[9; 16]),
            field(2, &[id; 8]),
            field(4, &[parent; 8]),
            field(5, b"work"),
            vec![6 << 3, 2, 7 << 3 | 1, 1, 2, 3, 4, 5, 6, 7, 8],
            vec![8 << 3 | 1, 1, 2, 3, 5, 5, 6, 7, 8],
            pair(9, b"k", list.clone()),
            field(15, &[3 << 3, 2]),
        ];
        field(2, &parts.concat())
    };
    let resource = field(1, &pair(1, b"service.name", field(1, b"s")));
    let first = field(1, &[&resource[..], &field(2, &span(1, 2))].concat());
    let second = field(1, &[&field(2, &span(2, 1))[..], &resource].concat());
    [first, second].concat()
}

/// A file of each format and compression.
pub(crate) fn seeds() -> Vec<Vec<u8>> {
    let request = request();
    let size = u32::try_from(request.len()).expect("a short message");
    let sized = [&size.to_be_bytes()[..], &request].concat().repeat(2);
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    let gzip = gzip
        .write_all(JAEGER.as_bytes())
        .and_then(|()| gzip.finish());
    let zstd = zstd::encode_all(&sized[..], 1);
    vec![
        JAEGER.into(),
        OTLP.into(),
        request,
        sized,
        gzip.expect("memory takes everything"),
        zstd.expect("memory takes everything"),
    ]
}

type Open = fn() -> io::Result<Cursor<Vec<u8>>>;

/// Sorts spans by trace, most of them beside memory.
struct Sorting(TraceSorter<Cursor<Vec<u8>>, Open>);

impl SpanSink for Sorting {
    fn span(&mut self, span: Span) {
        self.0
            .push(&span, true, Mark::NONE)
            .expect("memory takes everything");
    }

    fn diagnostic(&mut self, _diagnostic: Diagnostic) {}
}

pub(crate) fn read(input: &[u8]) {
    let _ = (sniff_spans(input), why_blank(input));
    let open: Open = || Ok(Cursor::default());
    let mut sorting = Sorting(TraceSorter::new(3, open));
    read_spans(input, "spans", ReadOptions::default(), &mut sorting);
    let traces = Traces::merge([sorting.0]).expect("memory gives everything back");
    let read = traces.spans();
    let options = SurveyOptions {
        limits: Limits {
            services: 3,
            operations_of_service: 2,
            operations: 4,
            contexts: 5,
        },
        jobs: NonZeroUsize::MIN,
        progress: &|_| (),
    };
    let summary = survey(traces, options).expect("memory gives everything back");
    assert_eq!(summary.spans + summary.mended.duplicates, read);
}
