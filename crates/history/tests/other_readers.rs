//! The files of a history open in DuckDB and pandas (tests/oracles/history_tables.py).

use std::path::{Path, PathBuf};
use std::process::Command;

use slowpath_history::{Attribute, AttributeId, Builder, Interval, Key, Part, Value, Vocabulary};
use slowpath_model::{TimeRange, Timestamp};

/// The repository's Python, if `scripts/python.sh` could make it with what the script imports.
fn python(root: &Path) -> Option<PathBuf> {
    let python = root.join(".cache/python/bin/python");
    let imports = Command::new(&python)
        .args(["-c", "import duckdb, pandas, pyarrow"])
        .output();
    imports
        .is_ok_and(|out| out.status.success())
        .then_some(python)
}

#[test]
fn duckdb_and_pandas_read_the_files() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let Some(python) = python(&root) else {
        eprintln!("SKIPPED: no DuckDB and pandas in .cache/python (scripts/python.sh)");
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    let target = folder.path().join("history");
    let builder = Builder::create(&target).unwrap();
    let [first, second] = [(0, 2), (2, 9)].map(|(first_bit, bits)| Part {
        of: AttributeId(2),
        first_bit,
        bits,
    });
    let mut writer = builder.writer();
    for (attribute, begin, end, value) in [
        (1, 5, 9, 40),
        (0, 10, 30, 1),
        (0, 0, 10, 0),
        // An operation, and 300 beside it in the first.
        (2, 0, 3, second.packed(300) + first.packed(1)),
        (2, 3, 4, first.packed(0)),
    ] {
        let interval = Interval {
            attribute: AttributeId(attribute),
            range: TimeRange::new(Timestamp::from_ns(begin), Timestamp::from_ns(end)),
            value: Value(value),
        };
        writer.push(interval).unwrap();
    }
    writer.close();
    let attributes = [
        Attribute {
            path: "threads/7/state".into(),
            vocabulary: Some("thread state".into()),
            part: None,
        },
        Attribute {
            path: "cpus/0/thread".into(),
            vocabulary: None,
            part: None,
        },
        Attribute {
            path: "stores/1/operation".into(),
            vocabulary: Some("thread state".into()),
            part: Some(first),
        },
        Attribute {
            path: "stores/1/request".into(),
            vocabulary: None,
            part: Some(second),
        },
    ];
    let states = Vocabulary {
        name: "thread state".into(),
        names: vec!["RUNNING".into(), "PREEMPTED".into()],
    };
    builder
        .finish(&Key("test".into()), &attributes, &[states], Vec::new())
        .unwrap();

    let script = root.join("tests/oracles/history_tables.py");
    let output = Command::new(python)
        .arg(script)
        .arg(&target)
        .output()
        .unwrap();
    let told = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{told}");
    let read: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let expected = serde_json::json!({
        "duckdb": [
            ["cpus/0/thread", "40", 4],
            ["stores/1/operation", "PREEMPTED", 3],
            ["stores/1/operation", "RUNNING", 1],
            ["stores/1/request", "300", 3],
            ["threads/7/state", "PREEMPTED", 20],
            ["threads/7/state", "RUNNING", 10],
        ],
        "pandas": {
            "attribute": [0, 0, 1, 2, 2],
            "begin_ns": [0, 10, 5, 0, 3],
            "end_ns": [10, 30, 9, 3, 4],
            "value": [0, 1, 40, 1206, 1],
        },
    });
    assert_eq!(read, expected);
}
