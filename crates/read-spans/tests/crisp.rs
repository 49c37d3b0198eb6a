//! The 33 Jaeger files of CRISP's test cases, held against what a general JSON parser sees in them.
//!
//! The files are not in this repository; `SLOWPATH_TRACES` names the folder that holds them (by default
//! `../shared/traces` beside the workspace), under `jaeger/crisp`.

mod support;

use std::io::Write;
use std::path::{Path, PathBuf};

use serde_json::Value;
use slowpath_read_spans::{SpanFormat, sniff_spans};
use support::read;

fn files(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() {
            files(&path, found);
        } else if path
            .extension()
            .is_some_and(|extension| extension == "json")
        {
            found.push(path);
        }
    }
}

#[test]
fn every_span_of_every_case_is_read_in_order_with_its_service_and_time() {
    let workspace = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let traces = std::env::var_os("SLOWPATH_TRACES")
        .map_or(workspace.join("../shared/traces"), PathBuf::from);
    let mut cases = Vec::new();
    files(&traces.join("jaeger/crisp/test_cases"), &mut cases);
    if cases.is_empty() {
        let _ = writeln!(std::io::stderr(), "skipped: no CRISP test cases are there");
        return;
    }
    for case in &cases {
        let bytes = std::fs::read(case).unwrap();
        assert_eq!(
            sniff_spans(&bytes),
            Some(SpanFormat::JaegerJson),
            "{}",
            case.display()
        );
        let document: Value = serde_json::from_slice(&bytes).unwrap();
        let trace = &document["data"][0];
        let expected: Vec<String> = (trace["spans"].as_array().unwrap().iter())
            .map(|span| {
                let process = span["processID"].as_str().unwrap();
                let begin = span["startTime"].as_i64().unwrap() * 1000;
                let end = begin + span["duration"].as_i64().unwrap() * 1000;
                let service = trace["processes"][process]["serviceName"].as_str().unwrap();
                format!(
                    "{service} {} {begin}..{end}",
                    span["operationName"].as_str().unwrap()
                )
            })
            .collect();
        let found = read(&bytes);
        let told: Vec<String> = (found.spans.iter())
            .map(|span| {
                let (begin, end) = (span.begin.ns(), span.end.ns());
                format!("{} {} {begin}..{end}", span.service, span.operation)
            })
            .collect();
        assert_eq!(told, expected, "{}", case.display());
    }
    assert!(cases.len() >= 33, "{} of 33 cases", cases.len());
}
