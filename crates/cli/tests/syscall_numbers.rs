//! What the numbers of system calls mean, which is all that ftrace tells of them: it depends on the processor, and on
//! 32-bit programs.
//!
//! Recording needs root, tracefs and a C compiler for 32-bit x86; skips visibly where one is missing.

mod support;

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::Value;
use support::{quiet_recording, skip, slowpath_succeeds};

/// Without a library, which machines have for 64 bits only. Waits, so that the recorder sees it run; then ten times
/// `write`, `brk`, `getpid`, `lseek` and `read`.
const PROGRAM: &str = r#"
static long call(long n, long a, long b, long d) {
    long r;
    __asm__ volatile("int $0x80" : "=a"(r) : "a"(n), "b"(a), "c"(b), "d"(d) : "memory");
    return r;
}
static char buffer[5000];
void _start(void) {
    long wait[2] = {1, 0};
    call(162, (long)wait, 0, 0);
    long file = call(5, (long)"data", 0x242, 0600);
    for (int i = 0; i < 10; i++) {
        call(4, file, (long)buffer, 1234);
        call(45, 0, 0, 0);
        call(20, 0, 0, 0);
        call(19, file, i * 100, 0);
        call(3, file, (long)buffer, 500);
    }
    call(6, file, 0, 0);
    call(1, 0, 0, 0);
}
"#;

/// Makes a program in `folder`, and records it; why that cannot be, otherwise.
fn record_32_bit(program: &str, folder: &Path) -> Result<(), String> {
    fs::write(folder.join("small.c"), program).expect("written");
    let options = "-m32 -O1 -static -nostdlib -ffreestanding -fno-stack-protector -fno-pic -no-pie -o small32";
    let compiled = Command::new("gcc")
        .args(options.split(' '))
        .arg("small.c")
        .current_dir(folder)
        .stderr(Stdio::null())
        .status();
    if !compiled.is_ok_and(|status| status.success()) {
        return Err("gcc cannot make 32-bit programs here".into());
    }
    let runs = Command::new("./small32").current_dir(folder).status();
    if !runs.is_ok_and(|status| status.success()) {
        return Err("32-bit programs do not run here".into());
    }
    let words = "record --kernel ftrace --ust none --spans off -o recording -- ./small32";
    let said = Command::new(env!("CARGO_BIN_EXE_slowpath"))
        .args(words.split(' '))
        .current_dir(folder)
        .stdin(Stdio::null())
        .output()
        .expect("slowpath runs");
    match said.status.success() {
        true => Ok(()),
        false => Err(String::from_utf8_lossy(&said.stderr).into_owned()),
    }
}

#[test]
fn calls_of_a_32_bit_program_are_those_that_it_made() {
    moves_what_it_moved(PROGRAM);
}

#[test]
fn so_are_those_of_one_that_ends_before_the_recorder_sees_it() {
    let at_once = PROGRAM.replace("call(162, (long)wait, 0, 0);", "");
    assert_ne!(at_once, PROGRAM);
    moves_what_it_moved(&at_once);
}

fn moves_what_it_moved(program: &str) {
    let folder = tempfile::tempdir().expect("a temporary folder");
    if let Err(missing) = record_32_bit(program, folder.path()) {
        return skip(&missing);
    }
    let told = slowpath_succeeds(&["io", "--json"], &folder.path().join("recording")).json();
    let rows = told["processes"].as_array().expect("rows");
    let found = rows.iter().find(|row| row["comm"] == "small32");
    let Some(row) = found else {
        panic!("{told}");
    };
    let moved = ["read_bytes", "reads", "write_bytes", "writes"].map(|key| row[key].as_u64());
    assert_eq!(moved, [5000, 10, 12340, 10].map(Some), "{row}");
}

#[test]
fn numbers_are_those_of_the_processor_that_was_recorded() {
    let (_folder, recording) = quiet_recording();
    let names = || -> BTreeSet<String> {
        let told = slowpath_succeeds(&["latency", "--json"], &recording).json();
        let entries = told["entries"].as_array().expect("rows");
        let name = |entry: &Value| entry["name"].as_str().expect("a name").to_owned();
        entries.iter().map(name).collect()
    };
    assert!(names().contains("futex"), "{:?}", names());
    let path = recording.join("slowpath.json");
    let manifest = fs::read_to_string(&path).expect("a manifest");
    let of_arm = manifest.replace("\"x86_64\"", "\"aarch64\"");
    assert_ne!(of_arm, manifest);
    fs::write(&path, of_arm).expect("written");
    let names = names();
    assert!(
        names.contains("accept") && !names.contains("futex"),
        "{names:?}"
    );
}
