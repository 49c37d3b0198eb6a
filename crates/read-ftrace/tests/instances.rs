//! Files of trace-cmd with several instances, which were filled side by side.

mod support;

use slowpath_model::DiagnosticCode;
use slowpath_source::Source;
use support::{fixture, trace_dat};

/// The buffer and the name of each stream.
type Streams = Vec<(u32, String)>;
/// What was said of which file.
type Said = Vec<(DiagnosticCode, String)>;

fn streams_and_said(name: &str) -> (Streams, Said) {
    let trace = trace_dat(fixture(&format!("ftrace-trace-cmd/{name}.dat"))).expect(name);
    let streams = trace.streams().iter();
    let said = trace.diagnostics().iter();
    (
        streams
            .map(|stream| (stream.buffer, stream.name.clone()))
            .collect(),
        said.map(|said| (said.code, said.place.file.clone()))
            .collect(),
    )
}

#[test]
fn of_instances_with_the_same_events_the_longer_one_is_read() {
    let (streams, said) = streams_and_said("same-twice");
    let [(DiagnosticCode::RecordedTwice, left_out)] = &said[..] else {
        panic!("{said:?}");
    };
    let read = match left_out.ends_with("-second") {
        true => "slowpath-fixture",
        false => "slowpath-fixture-second",
    };
    let names: Vec<&str> = streams.iter().map(|(_, name)| name.as_str()).collect();
    assert_eq!(
        names,
        ["cpu0", "cpu1"].map(|cpu| format!("trace.dat:{read}/{cpu}"))
    );
}

#[test]
fn instances_with_different_events_are_read_together() {
    // Of different kinds, and of one kind with different filters.
    for name in ["side-by-side", "filtered"] {
        let (streams, said) = streams_and_said(name);
        let mut buffers: Vec<u32> = streams.iter().map(|(buffer, _)| *buffer).collect();
        buffers.dedup();
        assert_eq!(buffers, [0, 1], "{streams:?}");
        assert_eq!(said, []);
    }
}
