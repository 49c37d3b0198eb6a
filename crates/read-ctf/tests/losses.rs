//! What packets say about losses: which packet a loss belongs to, and the one diagnostic of each kind.
//!
//! A stream is a list of packets `SEQUENCE/DISCARDED`; packets are made by hand and have no events.

mod support;

use std::num::NonZeroUsize;

use slowpath_model::{TimeRange, Timestamp};
use slowpath_read_ctf::{CtfTrace, StreamFile};
use slowpath_source::{NamedBytes, Source};
use support::understood;

const LAYOUT: &str = r#"/* CTF 1.8 */
    typealias integer { size = 8; align = 8; signed = false; } := u8;
    typealias integer { size = 32; align = 8; signed = false; } := u32;
    trace { major = 1; minor = 8; byte_order = le; };
    stream {
        packet.context := struct { u8 packet_size; u32 packet_seq_num; u32 events_discarded; };
    };
    event { name = "tick"; };"#;

fn packet(text: &str) -> Vec<u8> {
    let numbers = text.split('/').map(|number| number.parse::<u32>());
    let numbers = numbers.map(|number| number.expect("a number").to_le_bytes());
    let content: Vec<u8> = numbers.flatten().collect();
    [vec![(content.len() + 1) as u8 * 8], content].concat()
}

/// The losses of each packet of each stream as `EVENTS+PACKETS`, behind `>` where some may lie behind the packet before
/// it; then the diagnostics.
fn check(layout: &str, streams: &[&str], expected: &[&str]) {
    let file = |(position, text): (usize, &&str)| StreamFile {
        stream: NamedBytes::new(
            format!("s{position}"),
            text.split(' ').flat_map(packet).collect::<Vec<u8>>(),
        ),
        index: None,
        is_cut_off: false,
    };
    let files = streams.iter().enumerate().map(file).collect();
    let trace = CtfTrace::new(understood(layout).layout, files);
    let shown_stream = |stream: &slowpath_source::Stream| {
        let packets = &trace.packets()[stream.packets.start as usize..stream.packets.end as usize];
        let lost = |packet: &slowpath_source::Packet| {
            let behind = if packet.behind_loss { ">" } else { "" };
            format!("{behind}{}+{}", packet.lost_events, packet.lost_packets)
        };
        packets.iter().map(lost).collect::<Vec<_>>().join(" ")
    };
    let mut shown: Vec<String> = trace.streams().iter().map(shown_stream).collect();
    shown.extend(trace.diagnostics().iter().map(|found| {
        let count = found
            .count
            .map_or("?".to_owned(), |count| count.to_string());
        let (name, message) = (found.code.name(), &found.message);
        format!("{name} {} x{count}: {message}", found.place)
    }));
    assert_eq!(shown, expected, "{streams:?}");
}

#[test]
fn a_number_that_does_not_fit_is_damaged_and_nothing_is_missing_for_it() {
    let what = |number: u64| {
        format!(
            "InvalidPacket s0 at byte 9 x1: the packet's number, {number}, does not lie between those of its neighbours"
        )
    };
    let missing = "LostPackets s0 x1: 1 packet is missing";
    check(LAYOUT, &["0/0 9/0 2/0 3/0"], &["0+0 0+0 0+0 0+0", &what(9)]);
    check(LAYOUT, &["4/0 1/0 6/0"], &["0+0 0+0 0+0", &what(1)]);
    check(
        LAYOUT,
        &["4/0 9/0 7/0"],
        &["0+0 0+0 0+1", &what(9), missing],
    );
    // The last one may be right.
    check(LAYOUT, &["0/0 1/0 3/0"], &["0+0 0+0 0+1", missing]);
}

#[test]
fn a_loss_is_the_growth_from_packet_to_packet() {
    check(LAYOUT, &["0/0 1/0 2/0"], &["0+0 0+0 0+0"]);
    check(
        LAYOUT,
        &["0/5 1/5 2/12"],
        &["5+0 >0+0 7+0", "LostEvents s0 x12: 12 events were lost"],
    );
    check(
        LAYOUT,
        &["0/0 1/0 4/0"],
        &["0+0 0+0 0+2", "LostPackets s0 x2: 2 packets are missing"],
    );
    check(
        LAYOUT,
        &["0/0 1/3", "0/0 5/0", "0/0 3/4"],
        &[
            "0+0 3+0",
            "0+0 0+4",
            "0+0 4+2",
            "LostEvents s2 x7: 7 events were lost, in 2 streams, 4 of them in this one",
            "LostPackets s1 x6: 6 packets are missing, in 2 streams, 4 of them in this one",
        ],
    );
}

#[test]
fn what_was_lost_before_the_first_packet_is_told_but_not_counted() {
    check(
        LAYOUT,
        &["15/728 16/728"],
        &[
            "0+0 >0+0",
            "LostEvents s0 x?: 728 events were lost in or before the first packet; not \
             counted, since nothing says that the counter began with it",
        ],
    );
    check(
        LAYOUT,
        &["15/728 16/730"],
        &[
            "0+0 >2+0",
            "LostEvents s0 x2: 2 events were lost; up to 728 more, not counted, in or before the \
             first packets",
        ],
    );
    let unnumbered = LAYOUT.replace("u32 packet_seq_num;", "");
    check(
        &unnumbered,
        &["0 4 4"],
        &["0+0 4+0 >0+0", "LostEvents s0 x4: 4 events were lost"],
    );
}

/// With times: `SEQUENCE/DISCARDED/BEGIN/END`, in milliseconds.
const TIMED: &str = r#"/* CTF 1.8 */
    typealias integer { size = 8; align = 8; signed = false; } := u8;
    typealias integer { size = 32; align = 8; signed = false; } := u32;
    trace { major = 1; minor = 8; byte_order = le; };
    clock { name = c; freq = 1000; };
    typealias integer { size = 32; align = 8; signed = false; map = clock.c.value; } := time;
    stream {
        packet.context := struct {
            u8 packet_size; u32 packet_seq_num; u32 events_discarded;
            time timestamp_begin; time timestamp_end;
        };
    };
    event { name = "tick"; };"#;

#[test]
fn a_stream_whose_first_packets_are_gone_begins_with_a_gap() {
    let whole = "0/0/100/200 1/0/200/400";
    check(TIMED, &[whole, "0/0/300/400"], &["0+0 0+0", "0+0"]);
    check(TIMED, &[whole, "1/0/300/400"], &["0+0 0+0", "0+1"]);
    // The trace begins with its earliest packet, and rotated streams begin nearly together.
    check(TIMED, &["5/0/100/400", "1/0/300/400"], &["0+0", "0+1"]);
    check(TIMED, &["5/0/100/400", "9/0/105/400"], &["0+0", "0+0"]);
    check(TIMED, &["5/0/100/400", "9/0/111/400"], &["0+0", "0+1"]);
}

#[test]
fn a_packet_whose_times_its_neighbours_contradict_is_left_out() {
    let left_out = |offset: u64, count: u64, times: &str| {
        format!(
            "InvalidPacket s0 at byte {offset} x{count}: the packet's clock goes from {times}, which the \
             packets around it contradict"
        )
    };
    for wrong in ["900 to 300", "200 to 900"] {
        let (begin, end) = wrong.split_once(" to ").expect("two times");
        let stream = format!("0/0/100/200 1/0/{begin}/{end} 2/0/300/400 3/0/400/500");
        let expected = ["0+0 0+1 0+0", &left_out(17, 1, wrong)];
        check(TIMED, &[&stream], &expected);
    }
    check(
        TIMED,
        &["0/0/100/200 1/0/200/300 2/0/5/400"],
        &["0+0 0+0", &left_out(34, 1, "5 to 400")],
    );
    // Never closed, as the tracer crashed.
    check(
        TIMED,
        &["0/0/100/200 1/0/200/0 2/0/300/0"],
        &["0+0 0+0 0+0"],
    );
    // An overlap is told.
    let overlap = "TimeGoesBack s0 x1: 1 packet begins before the packet before it ends";
    for times in ["199/300", "199/0"] {
        let stream = format!("0/0/100/200 1/0/{times} 2/0/300/400");
        check(TIMED, &[&stream], &["0+0 0+0 0+0", overlap]);
    }
    // Where two contradict each other, nothing tells which of them is wrong.
    let first_two = left_out(0, 2, "100 to 200");
    check(
        TIMED,
        &["0/0/100/200 1/0/5/300 2/0/300/400 3/0/400/500"],
        &["0+1 0+0", &first_two],
    );
    let pair = left_out(0, 2, "900 to 950");
    check(TIMED, &["0/0/900/950 1/0/200/300"], &[&pair]);
    // The fewest are left out, be they the first ones or several in a row.
    let first = left_out(0, 1, "900 to 950");
    check(
        TIMED,
        &["0/0/900/950 1/0/200/300 2/0/300/400"],
        &["0+1 0+0", &first],
    );
    let two = "0/0/100/200 1/0/900/950 2/0/950/990 3/0/300/400 4/0/400/500 5/0/500/600";
    let expected = ["0+0 0+1 0+0 0+0", &left_out(17, 2, "900 to 950")];
    check(TIMED, &[two], &expected);
}

#[test]
fn packets_outside_of_the_time_of_the_recording_are_left_out() {
    const TICK_NS: i64 = 1_000_000;
    let tick = |number: i64| Timestamp::from_ns(number * TICK_NS);
    let within = |from: i64, to: i64, stream: &str| {
        let file = StreamFile {
            stream: NamedBytes::new(
                "s0",
                stream.split(' ').flat_map(packet).collect::<Vec<u8>>(),
            ),
            index: None,
            is_cut_off: false,
        };
        let recorded = TimeRange::new(tick(from), tick(to));
        let layout = understood(TIMED).layout;
        let trace = CtfTrace::recorded_in(recorded, layout, vec![file], NonZeroUsize::MIN);
        let begins = trace.packets().iter();
        let begins: Vec<i64> = begins
            .map(|packet| packet.range.begin.ns() / TICK_NS)
            .collect();
        (begins, trace.diagnostics().len())
    };
    let stream = "0/0/100/200 1/0/200/300 2/0/300/9000";
    assert_eq!(within(50, 10_000, stream), (vec![100, 200, 300], 0));
    assert_eq!(within(150, 1000, stream), (vec![200], 1));
    // Where nothing fits, it is the time of the recording that is wrong.
    assert_eq!(within(1, 2, stream), (vec![100, 200, 300], 0));
}
