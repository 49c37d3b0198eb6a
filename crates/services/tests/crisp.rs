//! CRISP's own test cases: each file says how much time of the critical path every operation has.
//!
//! The files are not in this repository; `SLOWPATH_TRACES` names the folder that holds them (by
//! default `../shared/traces` beside the workspace), under `jaeger/crisp`.

mod support;

use std::collections::BTreeMap;
use std::io::Write;
use std::path::{Path, PathBuf};

use serde_json::Value;
use slowpath_read_spans::{Collected, ReadOptions, read_spans};
use support::{Way, survey_of};

fn test_cases() -> Vec<PathBuf> {
    let workspace = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let traces = std::env::var_os("SLOWPATH_TRACES")
        .map_or(workspace.join("../shared/traces"), PathBuf::from);
    let mut folders = vec![traces.join("jaeger/crisp/test_cases")];
    let mut files = Vec::new();
    while let Some(folder) = folders.pop() {
        let entries = std::fs::read_dir(&folder).into_iter().flatten().flatten();
        for path in entries.map(|entry| entry.path()) {
            if path.is_dir() {
                folders.push(path);
            } else if path
                .extension()
                .is_some_and(|extension| extension == "json")
            {
                files.push(path);
            }
        }
    }
    files.sort();
    files
}

/// All 33 cases: nested, sequential and parallel calls, children that outlast or miss their parents,
/// clocks that disagree a little, errors. Total and parts are CRISP's to the microsecond.
#[test]
fn every_operation_has_the_time_on_the_critical_path_that_crisp_expects() {
    let files = test_cases();
    if files.is_empty() {
        let _ = writeln!(std::io::stderr(), "skipped: no CRISP test cases are there");
        return;
    }
    for file in &files {
        let bytes = std::fs::read(file).unwrap();
        let document: Value = serde_json::from_slice(&bytes).unwrap();
        let testing = &document["testing"];
        let expected = testing.get("opTimeExclusive").unwrap_or(&testing[0]);
        let expected: BTreeMap<String, u64> = serde_json::from_value(expected.clone())
            .unwrap_or_else(|error| panic!("{}: {error}", file.display()));
        let mut read = Collected::default();
        let options = ReadOptions::default();
        read_spans(bytes.as_slice(), "case", options, &mut read);
        let summary = survey_of(&read.spans, &Way::default());
        let names = &summary.names;
        let mut found: BTreeMap<String, u64> = BTreeMap::new();
        for context in summary.tree.contexts() {
            let name = format!(
                "[{}] {}",
                names.text(context.service),
                names.text(context.operation)
            );
            if context.totals.on_critical_path > 0 || expected.get(&name) == Some(&0) {
                *found.entry(name).or_default() += context.totals.critical.get() / 1000;
            }
        }
        assert_eq!(found, expected, "{}", file.display());
    }
    assert!(files.len() >= 33, "{} of 33 cases", files.len());
}
