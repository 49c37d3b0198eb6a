//! What the tests of the binary share: shared traces, unpacked once; other programs' answers, kept
//! between runs; and how to run `slowpath`.
//!
//! The traces are not in this repository: `SLOWPATH_TRACES` names the folder that holds them (by
//! default `../shared/traces` beside the workspace), `SLOWPATH_REFERENCE` other programs' answers
//! (`../shared/reference`). A test whose input or peer is not there says so on standard error, past
//! the capture of the test harness, and ends well.

#![allow(dead_code, reason = "each test uses a part")]

pub mod chance;
pub mod exploring;
pub mod inside;
pub mod packets;
pub mod probed;
pub mod questions;
pub mod redis_servers;
pub mod server;

use std::collections::hash_map::DefaultHasher;
use std::ffi::OsStr;
use std::fs::{self, File};
use std::hash::{Hash, Hasher};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// What a program printed and how it ended.
pub struct Printed {
    pub status: Option<i32>,
    pub stdout: Vec<u8>,
    pub stderr: String,
}

impl Printed {
    pub fn json(&self) -> serde_json::Value {
        serde_json::from_slice(&self.stdout).unwrap_or_else(|error| {
            panic!(
                "no JSON on standard output: {error}\n{}",
                String::from_utf8_lossy(&self.stdout[..self.stdout.len().min(500)])
            )
        })
    }

    pub fn lines(&self) -> Vec<&[u8]> {
        lines(&self.stdout)
    }
}

/// The lines of a text, without their ends.
pub fn lines(text: &[u8]) -> Vec<&[u8]> {
    let text = text.strip_suffix(b"\n").unwrap_or(text);
    if text.is_empty() {
        return Vec::new();
    }
    text.split(|&byte| byte == b'\n').collect()
}

/// Runs a program in UTC and collects what it prints.
pub fn run(program: &str, arguments: &[&OsStr]) -> std::io::Result<Printed> {
    let output = Command::new(program)
        .args(arguments)
        .env("TZ", "UTC")
        .stdin(Stdio::null())
        .output()?;
    Ok(Printed {
        status: output.status.code(),
        stdout: output.stdout,
        stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
    })
}

/// Runs `slowpath COMMAND... TRACE`. Whatever happens, it must not have panicked.
pub fn slowpath(command: &[&str], trace: &Path) -> Printed {
    let mut arguments: Vec<&OsStr> = command.iter().map(OsStr::new).collect();
    arguments.push(trace.as_os_str());
    let printed = run(env!("CARGO_BIN_EXE_slowpath"), &arguments).expect("slowpath runs");
    assert!(
        !printed.stderr.contains("panicked at") && printed.status.is_some_and(|code| code < 100),
        "slowpath {arguments:?} crashed with {:?}:\n{}",
        printed.status,
        printed.stderr
    );
    printed
}

/// The same, and it must have read the trace without damage.
pub fn slowpath_succeeds(command: &[&str], trace: &Path) -> Printed {
    let printed = slowpath(command, trace);
    assert_eq!(
        printed.status,
        Some(0),
        "slowpath {command:?} {}:\n{}",
        trace.display(),
        printed.stderr
    );
    printed
}

/// Says past the test harness why a test does nothing.
pub fn skip(reason: &str) {
    let thread = std::thread::current();
    let name = thread.name().unwrap_or("a test");
    // Nothing can be done where standard error is closed.
    let _ = writeln!(std::io::stderr(), "skipped {name}: {reason}");
}

fn workspace() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn folder(variable: &str, default: &str) -> Option<PathBuf> {
    let folder = match std::env::var_os(variable) {
        Some(named) => PathBuf::from(named),
        None => workspace().join(default),
    };
    if !folder.is_dir() {
        skip(&format!(
            "{} is no folder; set {variable}",
            folder.display()
        ));
        return None;
    }
    Some(folder)
}

/// The repository's Python, where scripts/python.sh could make it with this module.
pub fn python(module: &str) -> Option<PathBuf> {
    let python = workspace().join(".cache/python/bin/python");
    let arguments = ["-c".to_owned(), format!("import {module}")];
    let arguments: Vec<&OsStr> = arguments.iter().map(OsStr::new).collect();
    let found = run(&python.to_string_lossy(), &arguments);
    if found.is_ok_and(|printed| printed.status == Some(0)) {
        return Some(python);
    }
    skip(&format!("no {module} in .cache/python (scripts/python.sh)"));
    None
}

/// The folder of shared traces.
pub fn shared_traces() -> Option<PathBuf> {
    folder("SLOWPATH_TRACES", "../shared/traces")
}

/// The folder of other programs' answers.
pub fn reference() -> Option<PathBuf> {
    folder("SLOWPATH_REFERENCE", "../shared/reference")
}

/// A script of `tests/oracles`.
pub fn oracle(script: &str) -> PathBuf {
    workspace().join("tests/oracles").join(script)
}

/// Unpacks `NAME.tar.zst` of the shared traces, once for all tests; the folder that holds what was
/// in the archive.
pub fn unpacked(archive: &str) -> Option<PathBuf> {
    let archive = shared_traces()?.join(archive);
    if !archive.is_file() {
        skip(&format!("{} is missing", archive.display()));
        return None;
    }
    let target = cache_of("unpacked", &[&archive]);
    if target.is_dir() {
        return Some(target);
    }
    let fresh = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("a temporary folder");
    let mut tar = Command::new("tar")
        .arg("-xf-")
        .arg("-C")
        .arg(fresh.path())
        .stdin(Stdio::piped())
        .spawn()
        .expect("tar runs");
    let packed = File::open(&archive).expect("the archive opens");
    let mut pipe = tar.stdin.take().expect("a pipe to tar");
    zstd::stream::copy_decode(packed, &mut pipe).expect("the archive is whole");
    drop(pipe);
    assert!(tar.wait().expect("tar ends").success());
    // Where another test was faster, its folder is as good.
    if fs::rename(fresh.path(), &target).is_ok() {
        let _ = fresh.keep();
    }
    Some(target)
}

/// What a program prints on standard output, and its exit status, kept until one of `inputs`
/// (scripts, archives) changes. None, visibly, where the program is not installed.
pub fn kept(program: &str, arguments: &[&OsStr], inputs: &[&Path]) -> Option<Printed> {
    let stem = format!("{program} {arguments:?}");
    let file = cache_of(&stem, inputs);
    if let (Ok(stdout), Ok(status)) = (fs::read(&file), fs::read(file.with_extension("status"))) {
        let status = String::from_utf8_lossy(&status).parse().ok();
        return Some(Printed {
            status,
            stdout,
            stderr: String::new(),
        });
    }
    let printed = match run(program, arguments) {
        Ok(printed) => printed,
        Err(error) => {
            skip(&format!("{program} does not run: {error}"));
            return None;
        }
    };
    let status = printed
        .status
        .map_or(String::new(), |code| code.to_string());
    write_whole(&file, &printed.stdout);
    write_whole(&file.with_extension("status"), status.as_bytes());
    Some(printed)
}

/// babeltrace2's text of a trace, with its default options.
pub fn babeltrace2(trace: &Path) -> Option<Printed> {
    kept("babeltrace2", &[trace.as_os_str()], &[trace])
}

/// What an oracle prints about traces.
pub fn oracle_says(script: &str, arguments: &[&OsStr], traces: &[&Path]) -> Option<Printed> {
    let path = oracle(script);
    let reader = oracle("babeltrace_text.py");
    let mut all = vec![path.as_os_str()];
    all.extend(arguments);
    all.extend(traces.iter().map(|trace| trace.as_os_str()));
    let mut inputs: Vec<&Path> = vec![&path, &reader];
    inputs.extend(traces);
    if let Err(error) = run("babeltrace2", &[OsStr::new("--version")]) {
        skip(&format!("babeltrace2 does not run: {error}"));
        return None;
    }
    let printed = kept("python3", &all, &inputs)?;
    assert_eq!(printed.status, Some(0), "{script}: {}", printed.stderr);
    Some(printed)
}

/// A place in the cargo target folder for what depends on `inputs`.
fn cache_of(name: &str, inputs: &[&Path]) -> PathBuf {
    let mut hasher = DefaultHasher::new();
    name.hash(&mut hasher);
    for input in inputs {
        input.hash(&mut hasher);
        if let Ok(about) = fs::metadata(input) {
            about.len().hash(&mut hasher);
            about.modified().ok().hash(&mut hasher);
        }
    }
    Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{:016x}", hasher.finish()))
}

/// A file appears whole or not at all: tests run at the same time.
fn write_whole(path: &Path, bytes: &[u8]) {
    let mut file =
        tempfile::NamedTempFile::new_in(env!("CARGO_TARGET_TMPDIR")).expect("a temporary file");
    file.write_all(bytes).expect("the file is written");
    file.persist(path).expect("the file gets its name");
}

/// Folders directly below `folder`, in order.
pub fn folders_in(folder: &Path) -> Vec<PathBuf> {
    let entries =
        fs::read_dir(folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let mut found: Vec<PathBuf> = entries
        .filter_map(|entry| entry.ok().map(|entry| entry.path()))
        .filter(|path| path.is_dir())
        .collect();
    found.sort();
    found
}

/// Panics with the first line that differs, and its number.
///
/// babeltrace2 2.0.4 prints an empty text as the text that the field had in the event before (it
/// reuses fields and does not empty them): there the expectation is taken as empty.
pub fn assert_same_lines(what: &str, expected: &[u8], found: &[u8]) {
    if expected == found {
        return;
    }
    let (expected, found) = (lines(expected), lines(found));
    let agree = |(expected, found): (&&[u8], &&[u8])| {
        expected == found || same_but_for_empty_texts(expected, found)
    };
    let shorter = expected.len().min(found.len());
    let first = expected.iter().zip(&found).position(|pair| !agree(pair));
    if first.is_none() && expected.len() == found.len() {
        return;
    }
    let first = first.unwrap_or(shorter);
    let show = |lines: &[&[u8]]| {
        lines.get(first).map_or("(no line)".to_owned(), |line| {
            String::from_utf8_lossy(line).into_owned()
        })
    };
    panic!(
        "{what}: {} lines expected, {} printed; line {} differs\n expected: {}\n  printed: {}",
        expected.len(),
        found.len(),
        first + 1,
        show(&expected),
        show(&found)
    );
}

/// Whether the lines are the same when each `= ""` of `found` may be any text in `expected`.
fn same_but_for_empty_texts(expected: &[u8], found: &[u8]) -> bool {
    const EMPTY: &str = "= \"\"";
    let (expected, found) = (
        String::from_utf8_lossy(expected),
        String::from_utf8_lossy(found),
    );
    let mut pieces = found.split(EMPTY);
    let begin = pieces.next().unwrap_or_default();
    let Some(mut rest) = expected.strip_prefix(begin) else {
        return false;
    };
    for piece in pieces {
        let Some(text) = rest.strip_prefix("= \"") else {
            return false;
        };
        let Some((_, behind)) = text.split_once('"') else {
            return false;
        };
        let Some(behind) = behind.strip_prefix(piece) else {
            return false;
        };
        rest = behind;
    }
    rest.is_empty()
}

/// The quiet service of `tests/fixtures`, unpacked for as long as the folder is kept.
pub fn quiet_recording() -> (tempfile::TempDir, PathBuf) {
    let packed = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../tests/fixtures/quiet-recording/recording.tar.gz");
    let folder = tempfile::tempdir().expect("a folder");
    let arguments = [OsStr::new("-xzf"), packed.as_os_str(), OsStr::new("-C")];
    let arguments = [&arguments[..], &[folder.path().as_os_str()]].concat();
    assert_eq!(run("tar", &arguments).expect("tar").status, Some(0));
    let recording = folder.path().join("quiet-recording");
    (folder, recording)
}

/// Waits for something that has to come about, for a minute at most.
#[track_caller]
pub fn wait_until(what: &str, is_so: impl Fn() -> bool) {
    let begin = Instant::now();
    while !is_so() {
        assert!(
            begin.elapsed() < Duration::from_secs(60),
            "{what} did not come about"
        );
        std::thread::sleep(Duration::from_millis(5));
    }
}
