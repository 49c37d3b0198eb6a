//! Analyses print the same bytes with any number of workers and any size of chunk.

mod support;

use std::fs;
use std::path::Path;

use support::{slowpath, slowpath_succeeds, unpacked};

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
    slowpath_succeeds(&["info"], &trace);
    check_every_way(&trace, &trace);
}

/// Asks what there is to ask of the trace that `like` is.
fn check_every_way(trace: &Path, like: &Path) {
    let ask = |command: &[&str], (jobs, chunk): (&str, &str)| {
        let mut command = command.to_vec();
        command.extend(["--jobs", jobs, "--chunk-bytes", chunk]);
        slowpath(&command, trace).stdout
    };
    for command in COMMANDS {
        if skipped(command, like) {
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

/// A damaged number of a processor (one that there is, and one that there is not) changes nothing.
#[test]
fn packets_of_another_processor() {
    // Bytes of a packet, and where it says which processor it is of.
    const PACKET: usize = 256 << 10;
    const PROCESSOR: usize = 80;
    let Some(folder) = unpacked("cpu-cgroup/cpu-cgroup.tar.zst") else {
        return;
    };
    let whole = folder.join("cpu-cgroup/kernel");
    for number in [2, 77] {
        let copy = tempfile::tempdir().expect("a temporary folder");
        copy_files(&whole, copy.path());
        let stream = copy.path().join("kchan_3");
        let mut bytes = fs::read(&stream).expect("a stream");
        for packet in [0, 3] {
            let place = &mut bytes[packet * PACKET + PROCESSOR..][..4];
            assert_eq!(place, [3, 0, 0, 0], "packets lie elsewhere");
            place[0] = number;
        }
        fs::write(&stream, bytes).expect("written");
        for command in without_paths(&whole) {
            let expected = slowpath(command, &whole).stdout;
            let found = slowpath(command, copy.path());
            assert!(found.stdout == expected, "{command:?} differs");
            let told = format!(
                "kchan_3 at byte 0: the packet names processor {number}, its stream is of 3"
            );
            assert!(found.stderr.contains(&told), "{}", found.stderr);
        }
    }
}

fn copy_files(from: &Path, to: &Path) {
    for entry in fs::read_dir(from).expect("a folder") {
        let entry = entry.expect("a file");
        if entry.path().is_file() {
            fs::copy(entry.path(), to.join(entry.file_name())).expect("copied");
        }
    }
}

/// Of a processor whose stream was cut nothing is known from there on, wherever the others are cut into chunks.
#[test]
fn a_stream_cut_short() {
    let Some(folder) = unpacked("cpu-cgroup/cpu-cgroup.tar.zst") else {
        return;
    };
    let whole = folder.join("cpu-cgroup/kernel");
    let copy = tempfile::tempdir().expect("a temporary folder");
    copy_files(&whole, copy.path());
    let stream = fs::File::options()
        .write(true)
        .open(copy.path().join("kchan_3"));
    stream
        .and_then(|stream| stream.set_len(700_000))
        .expect("cut");
    check_every_way(copy.path(), &whole);
}

/// A file that was copied beside the one it is of changes nothing.
#[test]
fn a_stream_that_is_there_twice() {
    let Some(folder) = unpacked("cpu-cgroup/cpu-cgroup.tar.zst") else {
        return;
    };
    let whole = folder.join("cpu-cgroup/kernel");
    let copy = tempfile::tempdir().expect("a temporary folder");
    copy_files(&whole, copy.path());
    fs::copy(whole.join("kchan_2"), copy.path().join("kchan_7")).expect("copied");
    for command in without_paths(&whole) {
        let expected = slowpath(command, &whole).stdout;
        let found = slowpath(command, copy.path());
        assert!(found.stdout == expected, "{command:?} differs");
        let told = "kchan_7 at byte 0: ";
        assert!(found.stderr.contains(told), "{}", found.stderr);
        assert!(found.stderr.contains("CopiedPacket"), "{}", found.stderr);
    }
}

/// What there is to ask of a trace, but for answers that have paths of files in them.
fn without_paths(trace: &Path) -> impl Iterator<Item = &'static &'static [&'static str]> {
    let has_path = |command: &&&[&str]| command.contains(&"stream");
    let commands = COMMANDS.iter().filter(move |command| !has_path(command));
    commands.filter(|command| !skipped(command, trace))
}

/// Asks for what the trace does not have: a thread of this name, or spans.
fn skipped(command: &[&str], trace: &Path) -> bool {
    let others: &[&str] = match trace {
        trace if trace.ends_with("cpu-cgroup") => &["sqlite3"],
        trace if trace.ends_with("kernel") => &["sqlite3", "requests"],
        _ => &["srv-worker-*", "requests"],
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
