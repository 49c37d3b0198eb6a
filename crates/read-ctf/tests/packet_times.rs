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
        typealias integer {{ size = 16; align = 8; }} := u16;
        trace {{ major = 1; minor = 8; byte_order = le; }};
        clock {{ name = c; freq = 1000000000; }};
        typealias integer {{ size = 16; align = 8; map = clock.c.value; }} := time;
        stream {{
            packet.context := struct {{ u16 packet_size; {times} }};
            event.header := struct {{ integer {{ size = 8; align = 8; map = clock.c.value; }} timestamp; }};
        }};
        event {{ name = "tick"; }};"#
    )
}

/// A packet of these times and the events' bytes.
fn packet(times: &[u16], events: &[u8]) -> Vec<u8> {
    let bits = (2 + 2 * times.len() + events.len()) as u16 * 8;
    let numbers = [&[bits], times].concat();
    let numbers = numbers.into_iter().flat_map(u16::to_le_bytes);
    numbers.chain(events.iter().copied()).collect()
}

/// Each packet's range and the times of its events.
fn check(times: &str, packets: &[Vec<u8>], expected: &[&str]) {
    check_layout(&layout(times), packets, expected);
}

/// The same for any layout, with what is told of the packet behind it.
fn check_layout(layout: &str, packets: &[Vec<u8>], expected: &[&str]) {
    let file = StreamFile {
        stream: NamedBytes::new("s", packets.concat()),
        index: None,
        is_cut_off: false,
    };
    let trace = CtfTrace::new(understood(layout).layout, vec![file]);
    let decoder = trace.decoder(&Projection::every_event(1));
    let shown = trace.packets().iter().map(|packet| {
        let mut shown = format!("{}..{}:", packet.range.begin.ns(), packet.range.end.ns());
        let mut note = |event: &Event<'_>| shown += &format!(" {}", event.at.ns());
        for told in decoder.decode(packet.id, &mut note) {
            shown += &format!(" {:?} at byte {}", told.code, told.place.byte.unwrap());
        }
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

#[test]
fn no_event_lies_behind_the_first_one_of_the_next_packet() {
    // Each of the two would end with 522, 8 bits of the clock having wrapped where one bit is wrong.
    for (end, range) in [(300, "100..300"), (0, "100..276")] {
        check(
            "time timestamp_begin; time timestamp_end;",
            &[
                packet(&[100, end], &[110, 20, 10]),
                packet(&[300, 400], &[50]),
            ],
            &[
                &format!("{range}: 110 276 InvalidEvent at byte 8"),
                "300..400: 306",
            ],
        );
    }
}

#[test]
fn packets_that_state_no_times_are_left_out_where_their_events_contradict_the_others() {
    let layout = layout("").replace(
        "struct { integer { size = 8;",
        "struct { integer { size = 64;",
    );
    check_layout(
        &layout,
        &[
            packet(&[], &whole(&[10, 20])),
            packet(&[], &whole(&[90, 95])),
            packet(&[], &whole(&[30, 40])),
            packet(&[], &whole(&[50, 60])),
            packet(&[], &whole(&[70, 80])),
        ],
        &[
            "10..20: 10 20",
            "30..40: 30 40",
            "50..60: 50 60",
            "70..80: 70 80",
        ],
    );
}

/// A layout whose clock has this frequency and whose events have so many bits of it.
fn layout_of_events(frequency: u32, bits: u32) -> String {
    layout("time timestamp_begin; time timestamp_end;")
        .replace("freq = 1000000000", &format!("freq = {frequency}"))
        .replace(
            "struct { integer { size = 8;",
            &format!("struct {{ integer {{ size = {bits};"),
        )
}

/// Events with the whole clock.
fn whole(clocks: &[u64]) -> Vec<u8> {
    (clocks.iter().copied())
        .flat_map(u64::to_le_bytes)
        .collect()
}

#[test]
fn a_packet_begins_with_an_event_that_is_earlier_than_it_states() {
    // A millisecond, by which events may lie outside, is ten cycles.
    check_layout(
        &layout_of_events(10_000, 64),
        &[
            packet(&[100, 200], &whole(&[95, 120])),
            packet(&[200, 300], &whole(&[189, 250])),
        ],
        &[
            "9500000..20000000: 9500000 12000000",
            "20000000..30000000: InvalidEvent at byte 28",
        ],
    );
    // Where the clock's lower bits lead behind the packet's end, they are those of a time before its begin.
    check_layout(
        &layout_of_events(10_000, 8),
        &[
            packet(&[100, 200], &[95, 120]),
            packet(&[300, 600], &[42, 45]),
        ],
        &[
            "9500000..20000000: 9500000 12000000",
            "30000000..60000000: 55400000 55700000",
        ],
    );
}

#[test]
fn time_does_not_go_back_within_a_packet() {
    let clocks = [110, 150, 120, 140, 160, 130, 170];
    check_layout(
        &layout_of_events(1_000_000_000, 64),
        &[packet(&[100, 200], &whole(&clocks))],
        &["100..200: 110 150 150 150 160 160 170 TimeGoesBack at byte 22"],
    );
}
