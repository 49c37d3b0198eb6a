//! Python's own OpenTelemetry exporters send to a recording, over gRPC and HTTP, packed and not.
//!
//! They are installed from the package registry into a folder of their own; where that cannot be
//! done the test says so and is skipped.

mod support;

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use slowpath_record::{Mode, record};
use support::spans_alone;

const PACKAGES: [&str; 2] = [
    "opentelemetry-sdk>=1.30,<2",
    "opentelemetry-exporter-otlp>=1.30,<2",
];

/// 300 spans through each exporter; prints nothing where all is well.
const SENDER: &str = r#"
import importlib
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor
for protocol in ("grpc", "http"):
    exporter = importlib.import_module(f"opentelemetry.exporter.otlp.proto.{protocol}.trace_exporter")
    Compression = getattr(exporter, "Compression")
    for compression in (getattr(Compression, "NoCompression"), Compression.Gzip):
        name = f"{protocol}-{compression.name.lower()}"
        provider = TracerProvider(resource=Resource.create({"service.name": name}))
        provider.add_span_processor(BatchSpanProcessor(exporter.OTLPSpanExporter(compression=compression)))
        tracer = provider.get_tracer("sender")
        for number in range(300):
            with tracer.start_as_current_span("work", attributes={"number": number}):
                pass
        assert provider.force_flush(20000)
        provider.shutdown()
"#;

#[test]
fn pythons_exporters_over_both_protocols_lose_nothing() {
    let Some(python) = python_with_exporters() else {
        // Past the capture of the test harness.
        let told = "SKIPPED: Python's OpenTelemetry exporters cannot be installed here";
        let _ = writeln!(std::io::stderr(), "{told}");
        return;
    };
    let base = tempfile::tempdir().expect("a temporary folder");
    let folder = base.path().join("recording");
    let python = python.to_str().expect("a path in Unicode");
    let options = spans_alone(&folder, Mode::Standard, &[], &[python, "-c", SENDER]);
    let outcome = record(&options, &mut |line| println!("{line}")).expect("a recording");
    assert_eq!(outcome.manifest.command_exit, Some(0));
    let part = outcome.manifest.spans.expect("spans");
    assert_eq!((part.spans, part.lost_spans), (1200, 0));
    assert_eq!(part.refused_requests, 0);
    let bytes = fs::read(folder.join("spans/otlp-1.pb")).expect("the file");
    for service in [
        "grpc-nocompression",
        "grpc-gzip",
        "http-nocompression",
        "http-gzip",
    ] {
        let is_there = bytes
            .windows(service.len())
            .any(|window| window == service.as_bytes());
        assert!(is_there, "{service}");
    }
}

/// A Python that has the exporters, installed once and kept between runs.
fn python_with_exporters() -> Option<PathBuf> {
    let venv = Path::new(env!("CARGO_TARGET_TMPDIR")).join("python-senders");
    let python = venv.join("bin/python");
    let runs = |program: &Path, arguments: &[&str]| {
        Command::new(program)
            .args(arguments)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .status()
            .is_ok_and(|status| status.success())
    };
    let has_them = || {
        runs(
            &python,
            &["-c", "import opentelemetry.exporter.otlp.proto.grpc"],
        )
    };
    if !has_them() {
        let folder = venv.to_str()?;
        let install = [
            "-m",
            "pip",
            "install",
            "--quiet",
            "--timeout",
            "20",
            PACKAGES[0],
            PACKAGES[1],
        ];
        let is_installed =
            runs(Path::new("python3"), &["-m", "venv", folder]) && runs(&python, &install);
        if !is_installed {
            return None;
        }
    }
    Some(python)
}
