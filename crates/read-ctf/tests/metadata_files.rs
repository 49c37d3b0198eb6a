//! Metadata files as tracers wrote them: all are understood, the broken ones are refused with the
//! right place, and no damage makes the parser panic.
//!
//! The shared traces are found through `SLOWPATH_TRACES` and skipped, visibly, where they are not.

mod support;

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

use proptest::prelude::*;
use slowpath_model::{Diagnostic, Severity};
use slowpath_read_ctf::metadata::{Metadata, parse};
use slowpath_source::NamedBytes;

fn workspace() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn read(name: &str, bytes: Vec<u8>) -> Result<Metadata, Diagnostic> {
    parse(&NamedBytes::new(name, bytes))
}

fn fixture(name: &str) -> Vec<u8> {
    let bytes =
        fs::read(workspace().join("tests/fixtures/ctf-metadata").join(name)).expect("the fixture");
    match name.strip_suffix(".zst") {
        Some(_) => zstd::decode_all(&bytes[..]).expect("the fixture is compressed by zstd"),
        None => bytes,
    }
}

const FIXTURES: [&str; 4] = [
    "lttng-ust.metadata",
    "every-type.tsdl",
    "every-class.json",
    "lttng-modules.metadata.zst",
];

#[test]
fn fixtures_are_understood() {
    let check = |name: &str, events: usize, registers: u16| {
        let metadata = read(name, fixture(name)).unwrap_or_else(|fault| panic!("{fault}"));
        assert_eq!(support::notes(&metadata), [""; 0], "{name}");
        let layout = metadata.layout;
        assert_eq!(
            (layout.streams[0].events.len(), layout.register_count),
            (events, registers),
            "{name}"
        );
    };
    check("lttng-ust.metadata", 2, 1);
    check("lttng-modules.metadata.zst", 1220, 53);
    check("every-type.tsdl", 1, 5);
    check("every-class.json", 1, 7);
}

/// Metadata files below a folder, with their paths.
fn metadata_files(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            metadata_files(&path, found);
        } else if path
            .file_name()
            .is_some_and(|name| name.to_string_lossy().starts_with("metadata"))
        {
            found.push(path);
        }
    }
}

fn skip(reason: &str) {
    // Nothing can be done where standard error is closed.
    let _ = writeln!(std::io::stderr(), "skipped: {reason}");
}

/// The metadata files of the archives of shared traces that are there.
fn shared(archives: &[&str]) -> Option<(tempfile::TempDir, Vec<PathBuf>)> {
    let traces = std::env::var_os("SLOWPATH_TRACES");
    let traces = traces.map_or_else(|| workspace().join("../shared/traces"), PathBuf::from);
    let target = tempfile::tempdir().expect("a temporary folder");
    for archive in archives {
        let archive = traces.join(archive);
        if !archive.is_file() {
            skip(&format!(
                "{} is missing; set SLOWPATH_TRACES",
                archive.display()
            ));
            continue;
        }
        let packed =
            zstd::decode_all(fs::File::open(&archive).expect("the archive opens")).expect("zstd");
        let tar = target.path().join("archive.tar");
        fs::write(&tar, packed).expect("room for the archive");
        let extracted = Command::new("tar")
            .args(["--wildcards", "-xf"])
            .arg(&tar)
            .arg("-C")
            .arg(target.path())
            .arg("*metadata*")
            .status()
            .expect("tar runs");
        assert!(extracted.success());
    }
    let mut files = Vec::new();
    metadata_files(target.path(), &mut files);
    files.retain(|file| file.extension().is_none());
    files.sort();
    (!files.is_empty()).then_some((target, files))
}

#[test]
fn metadata_of_recorded_traces_is_understood() {
    let archives = [
        "io-mix/io-mix.tar.zst",
        "redis-kernel/redis-kernel.tar.zst",
        "two-hosts/two-hosts.tar.zst",
        "tracecompass/many-threads.tar.zst",
        "tracecompass/synctraces.tar.zst",
        "tracecompass/funky_trace.tar.zst",
        "tracecompass/hello-lost.tar.zst",
        "tracecompass/CTF2-7.0-smalltrace.tar.zst",
        "tracecompass/CTF2-7.0-succeed1.tar.zst",
        "tracecompass/CTF2-7.0-trace-with-index.tar.zst",
        "tracecompass/CTF2-vl-ints.tar.zst",
    ];
    let Some((_folder, files)) = shared(&archives) else {
        return;
    };
    for file in files {
        let metadata = read(&file.to_string_lossy(), fs::read(&file).expect("a file"));
        let metadata = metadata.unwrap_or_else(|fault| panic!("{fault}"));
        assert_eq!(support::notes(&metadata), [""; 0], "{}", file.display());
        assert!(
            metadata
                .layout
                .streams
                .iter()
                .any(|stream| !stream.events.is_empty()),
            "{}",
            file.display()
        );
    }
}

/// The collection of babeltrace's tests: what it refuses for its metadata, and where. The other
/// traces under `fail` are wrong in their streams.
#[test]
fn metadata_of_babeltraces_tests() {
    let refused = [
        (
            "fail1",
            ":15:10: expected 1 (of CTF 1.8) for `major`, found 0",
        ),
        (
            "fail2",
            ":6:10: expected 1 (of CTF 1.8) for `major`, found 0",
        ),
        (
            "integer-range",
            ":7:10: expected a whole number of at most 64 bits",
        ),
        (
            "invalid-sequence-length-field-class",
            ":23:13: expected an integer as a length, `len` is none",
        ),
        (
            "invalid-variant-selector-field-class",
            ":23:11: expected an integer as the selector of a variant, `selector` is none",
        ),
        (
            "lttng-modules-2.0-pre1",
            " at byte 35: the metadata packet is of CTF 116.121",
        ),
        (
            "metadata-syntax-error",
            ":3:58: expected an attribute or `}`, found `]`",
        ),
        (
            "packet-based-metadata",
            " at byte 35: the metadata packet is of CTF 116.121",
        ),
        (
            "smalltrace",
            ":6:10: expected 1 (of CTF 1.8) for `major`, found 0",
        ),
    ];
    let Some((_folder, files)) = shared(&["babeltrace/babeltrace-ctf-tests.tar.zst"]) else {
        return;
    };
    let mut refusals = 0;
    for file in files {
        let name = file.to_string_lossy().into_owned();
        let expected = refused
            .iter()
            .find(|(trace, _)| name.ends_with(&format!("/fail/{trace}/metadata")));
        match (read("metadata", fs::read(&file).expect("a file")), expected) {
            (Ok(metadata), None) => {
                let severities = metadata.diagnostics.iter().map(|note| note.code.severity());
                assert!(
                    severities
                        .into_iter()
                        .all(|severity| severity == Severity::Note),
                    "{name}"
                );
            }
            (Err(fault), Some((_, message))) => {
                refusals += 1;
                let fault = fault.to_string();
                let expected = format!("error[InvalidMetadata]: metadata{message}");
                assert!(fault.starts_with(&expected), "{name}: {fault}");
            }
            (Ok(_), Some((_, message))) => panic!("{name} was understood, expected {message}"),
            (Err(fault), None) => panic!("{name}: {fault}"),
        }
    }
    assert_eq!(refusals, refused.len());
}

/// One damage to a text: bytes from `begin` on are replaced.
#[derive(Clone, Debug)]
struct Damage {
    begin: usize,
    removed: usize,
    put: Vec<u8>,
}

/// Things that matter to the parser more than random bytes do.
const PIECES: [&str; 24] = [
    "{",
    "}",
    "[",
    "]",
    "<",
    ">",
    ";",
    ":=",
    "...",
    "-1",
    "18446744073709551615",
    "0x",
    "struct",
    "variant",
    "enum",
    "align(4096)",
    "event.fields.",
    "\"",
    "/*",
    "\u{1e}",
    "null",
    "uint8_t",
    "id",
    "\\",
];

fn damages() -> impl Strategy<Value = Vec<Damage>> {
    let random = proptest::collection::vec(any::<u8>(), 0..4);
    let piece = (0..PIECES.len()).prop_map(|piece| PIECES[piece].as_bytes().to_vec());
    let put = prop_oneof![random, piece];
    let damage = (0_usize..20_000, 0_usize..40, put).prop_map(|(begin, removed, put)| Damage {
        begin,
        removed,
        put,
    });
    proptest::collection::vec(damage, 1..6)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2_000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn damaged_metadata_is_refused_or_understood(fixture_number in 0..FIXTURES.len() - 1, damages in damages()) {
        let name = FIXTURES[fixture_number];
        let mut bytes = fixture(name);
        for damage in &damages {
            let begin = damage.begin % bytes.len().max(1);
            let end = (begin + damage.removed).min(bytes.len());
            bytes.splice(begin.min(end)..end, damage.put.iter().copied());
        }
        if let Err(fault) = read(name, bytes) {
            prop_assert!(fault.place.line.is_some() || fault.place.byte.is_some());
        }
    }
}
