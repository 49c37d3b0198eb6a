//! Packets of one stream that name several processors.

mod support;

use slowpath_read_ctf::{CtfTrace, StreamFile};
use slowpath_source::{NamedBytes, Source};
use support::understood;

/// The processors of packets that name `named`, and what is said about them.
fn check(tracer: &str, named: &[u8], expected: &[u32], told: Option<&str>) {
    let layout = format!(
        r#"/* CTF 1.8 */
        typealias integer {{ size = 8; align = 8; }} := u8;
        trace {{ major = 1; minor = 8; byte_order = le; }};
        env {{ tracer_name = "{tracer}"; }};
        stream {{ packet.context := struct {{ u8 packet_size; u8 cpu_id; }}; }};
        event {{ name = "tick"; }};"#
    );
    let bytes: Vec<u8> = named.iter().flat_map(|cpu| [16, *cpu]).collect();
    let file = StreamFile {
        stream: NamedBytes::new("s", bytes),
        index: None,
        is_cut_off: false,
    };
    let trace = CtfTrace::new(understood(&layout).layout, vec![file]);
    let cpus = trace
        .packets()
        .iter()
        .filter_map(|packet| Some(packet.cpu?.0));
    assert_eq!(cpus.collect::<Vec<_>>(), expected);
    let found = trace.diagnostics().iter();
    let found = found.map(|found| format!("{}: {}", found.place, found.message));
    assert_eq!(
        found.collect::<Vec<_>>(),
        told.into_iter().collect::<Vec<_>>()
    );
}

#[test]
fn a_stream_of_lttng_is_of_the_processor_that_most_packets_name() {
    let lttng = "lttng-modules";
    check(lttng, &[3, 3, 3], &[3, 3, 3], None);
    let told = "s at byte 0: the packet names processor 49, its stream is of 3";
    check(lttng, &[49, 3, 3], &[3, 3, 3], Some(told));
    check(lttng, &[49, 3, 1, 3], &[3, 3, 3, 3], Some(told));
    let told = "s at byte 4: the packet names processor 1, its stream is of 3";
    check(lttng, &[3, 3, 1], &[3, 3, 3], Some(told));
    // As many of one as of the other: the first.
    let told = "s at byte 2: the packet names processor 1, its stream is of 3";
    check(lttng, &[3, 1], &[3, 3], Some(told));
}

#[test]
fn streams_of_others_may_be_of_several_processors() {
    check("barectf", &[3, 1, 3], &[3, 1, 3], None);
}
