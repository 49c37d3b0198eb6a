//! What the tests share: fixtures, events as plain values, and recordings written as text.
//!
//! Not every test uses all of it.

#![allow(dead_code)]

pub mod drawn_pages;
pub mod values;

use std::path::PathBuf;

use slowpath_model::CpuId;
use slowpath_read_ftrace::{EventFormatFile, FolderFiles, FtraceTrace, ReadOptions};
use slowpath_source::NamedBytes;

/// The path of a file kept under `tests/fixtures`.
pub fn fixture_path(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
        .join("../../tests/fixtures")
        .join(name)
}

/// The content of a file kept under `tests/fixtures`.
pub fn fixture(name: &str) -> Vec<u8> {
    std::fs::read(fixture_path(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
}

/// A text kept under `tests/fixtures`.
pub fn fixture_text(name: &str) -> String {
    String::from_utf8(fixture(name)).expect("a text")
}

/// Reads a `trace.dat` from its bytes.
pub fn trace_dat(bytes: Vec<u8>) -> Result<FtraceTrace, slowpath_read_ftrace::ReadError> {
    FtraceTrace::from_trace_dat(NamedBytes::new("trace.dat", bytes), ReadOptions::default())
}

/// The contents of `tests/fixtures/ftrace-raw-pages`.
pub fn raw_pages_folder() -> FolderFiles {
    let text = |name: &str| fixture_text(&format!("ftrace-raw-pages/{name}"));
    let format = |event: &str| EventFormatFile {
        system: "sched".into(),
        text: text(&format!("events/sched/{event}/format")),
    };
    let cpus = [0, 1].map(CpuId);
    FolderFiles {
        header_page: text("header_page"),
        header_event: text("header_event"),
        formats: vec![format("sched_switch"), format("sched_waking")],
        cpus: cpus
            .map(|cpu| {
                (
                    cpu,
                    NamedBytes::new(
                        format!("cpu{cpu}.raw"),
                        fixture(&format!("ftrace-raw-pages/cpu{cpu}.raw")),
                    ),
                )
            })
            .into(),
        saved_cmdlines: text("saved_cmdlines"),
        saved_tgids: text("saved_tgids"),
        trace_clock: text("trace_clock"),
        stats: cpus
            .map(|cpu| (cpu, text(&format!("stats/cpu{cpu}"))))
            .into(),
        ..FolderFiles::default()
    }
}
