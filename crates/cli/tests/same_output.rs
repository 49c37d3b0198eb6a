//! Analyses print the same bytes with any number of workers and any size of chunk.

mod support;

use support::{slowpath_succeeds, unpacked};

/// Workers and bytes per chunk; 1 byte is one packet, the last is the whole trace.
const SPLITS: &[(&str, &str)] = &[
    ("1", "1"),
    ("2", "65536"),
    ("8", "1"),
    ("8", "300000"),
    ("2", "1000000000000"),
];
const WHOLE: (&str, &str) = ("1", "1000000000000");

const COMMANDS: &[&[&str]] = &[
    &["count", "--json"],
    &["count", "--by", "stream", "--json"],
    &[
        "count", "--by", "cpu", "--json", "--begin", "+1s", "--end", "+3.5s",
    ],
    &["cpu", "--json"],
    &["cpu", "--json", "--begin", "+1s", "--end", "+3.5s"],
    &["io", "--json"],
    &["io", "--json", "--begin", "+1s", "--end", "+3.5s"],
    &["latency", "--kind", "syscall", "--json"],
    &["latency", "--kind", "irq", "--json"],
    &["latency", "--kind", "softirq", "--json"],
    &["latency", "--kind", "block", "--json"],
    &["latency", "--kind", "wakeup", "--json"],
    &[
        "latency", "--kind", "wakeup", "--json", "--begin", "+1s", "--end", "+3.5s",
    ],
    &["thread-states", "--json"],
    &["critical-path", "--comm", "srv-worker-*", "--json"],
    &["critical-path", "--comm", "sqlite3", "--json"],
    &["critical-path", "--merged", "--json"],
    &["requests", "--json", "--percentiles"],
];

fn check(archive: &str, trace: &str) {
    let Some(folder) = unpacked(archive) else {
        return;
    };
    let trace = folder.join(trace);
    let ask = |command: &[&str], (jobs, chunk): (&str, &str)| {
        let mut command = command.to_vec();
        command.extend(["--jobs", jobs, "--chunk-bytes", chunk]);
        slowpath_succeeds(&command, &trace).stdout
    };
    for command in COMMANDS {
        if skipped(command, &trace) {
            continue;
        }
        let expected = ask(command, WHOLE);
        assert!(!expected.is_empty(), "{command:?} prints nothing");
        for &split in SPLITS {
            let found = ask(command, split);
            assert!(
                found == expected,
                "{command:?} of {} differs with {split:?} (jobs, bytes per chunk) from {WHOLE:?}",
                trace.display()
            );
        }
    }
}

/// Asks for what the trace does not have: a thread of this name, or spans.
fn skipped(command: &[&str], trace: &std::path::Path) -> bool {
    let others: &[&str] = match trace.ends_with("io-mix") {
        true => &["srv-worker-*", "requests"],
        false => &["sqlite3"],
    };
    others.iter().any(|other| command.contains(other))
}

#[test]
fn kernel_and_user_space() {
    check("cpu-cgroup/cpu-cgroup.tar.zst", "cpu-cgroup");
}

#[test]
fn kernel_only() {
    check("io-mix/io-mix.tar.zst", "io-mix");
}
