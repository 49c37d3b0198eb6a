//! Packets that do not state all of their times: what the times of their events are counted from.
//!
//! A stream is a list of packets, `BEGIN..END: EVENTS`; events have the lowest 8 bits of a clock.

mod support;

use slowpath_model::{Event, Projection};
use slowpath_read_ctf::{CtfTrace, StreamFile};
use slowpath_source::{NamedBytes, Source};
use support::understood;

/// The layout where packets state `times`.
fn layout(times: &str) -> String {
    format!(
        r#"/* CTF 1.8 */
        typealias integer {{ size = 8; align = 8; }} := u8;
        trace {{ major = 1; minor = 8; byte_order = le; }};
        clock {{ name = c; freq = 1000000000; }};
        typealias integer {{ size = 16; align = 8; map = clock.c.value; }} := time;
        stream {{
            packet.context := struct {{ u8 packet_size; {times} }};
            event.header := struct {{ integer {{ size = 8; align = 8; map = clock.c.value; }} timestamp; }};
        }};
        event {{ name = "tick"; }};"#
    )
}

/// A packet of these times and the events' bytes.
fn packet(times: &[u16], events: &[u8]) -> Vec<u8> {
    let times = times.iter().flat_map(|time| time.to_le_bytes());
    let mut bytes: Vec<u8> = [0]
        .into_iter()
        .chain(times)
        .chain(events.to_vec())
        .collect();
    bytes[0] = bytes.len() as u8 * 8;
    bytes
}

/// Each packet's range and the times of its events.
fn check(times: &str, packets: &[Vec<u8>], expected: &[&str]) {
    let file = StreamFile {
        stream: NamedBytes::new("s", packets.concat()),
        index: None,
        is_cut_off: false,
    };
    let trace = CtfTrace::new(understood(&layout(times)).layout, vec![file]);
    let decoder = trace.decoder(&Projection::every_event(1));
    let shown = trace.packets().iter().map(|packet| {
        let mut shown = format!("{}..{}:", packet.range.begin.ns(), packet.range.end.ns());
        let mut note = |event: &Event<'_>| shown += &format!(" {}", event.at.ns());
        assert_eq!(decoder.decode(packet.id, &mut note), []);
        shown
    });
    assert_eq!(shown.collect::<Vec<_>>(), expected);
}

#[test]
fn a_packet_without_a_begin_goes_on_where_the_one_before_it_ended() {
    check(
        "time timestamp_end;",
        &[
            packet(&[700], &[10, 20, 5]),
            packet(&[700], &[]),
            packet(&[1000], &[200, 190]),
        ],
        &["10..700: 10 20 261", "700..700:", "712..1000: 712 958"],
    );
    // Where none states its end, where the last event of the one before it was.
    check(
        "",
        &[packet(&[], &[10, 5]), packet(&[], &[4, 6])],
        &["10..261: 10 261", "516..518: 516 518"],
    );
}

#[test]
fn a_packet_that_was_never_closed_ends_with_its_last_event() {
    check(
        "time timestamp_begin; time timestamp_end;",
        &[packet(&[100, 300], &[110]), packet(&[300, 0], &[50, 40])],
        &["100..300: 110", "300..552: 306 552"],
    );
}
