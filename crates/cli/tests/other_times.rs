//! Traces of different times opened together: clocks that count from the epoch beside those that do not.

mod support;

use std::path::{Path, PathBuf};

use support::{Printed, quiet_recording, slowpath};

/// A file of trace-cmd from `tests/fixtures`.
fn of_trace_cmd(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../tests/fixtures/ftrace-trace-cmd")
        .join(name)
}

fn on_both(command: &[&str], one: &Path, other: &Path) -> Printed {
    let one = one.to_str().expect("a plain path");
    slowpath(&[command, &[one]].concat(), other)
}

#[test]
fn a_clock_without_an_epoch_beside_one_with_is_told() {
    let (_folder, recording) = quiet_recording();
    let counts_from_start = of_trace_cmd("everyday-v6.dat");
    let alone = slowpath(&["cpu"], &counts_from_start);
    assert!(!alone.stderr.contains("MixedClocks"), "{}", alone.stderr);
    let told = on_both(&["cpu"], &recording, &counts_from_start).stderr;
    let said = format!("warning[MixedClocks]: {}", counts_from_start.display());
    assert!(told.contains(&said), "{told}");
    let of_date = of_trace_cmd("everyday-v7-zstd.dat");
    let told = on_both(&["cpu"], &recording, &of_date).stderr;
    assert!(!told.contains("MixedClocks"), "{told}");
}
