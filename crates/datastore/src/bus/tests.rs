//! Small clusters at work: what their bus carried, and what stands out of it, asked in every way that must not matter.

use slowpath_model::{TimeRange, Timestamp};

use crate::tests::ask;
use crate::{Finding, PublishAmplification, StoreReport};

/// What comes before channel and payload in a message that was published; the channel has three letters.
const HEADER: u64 = 2264 + 3;
const PUBLISH: u16 = 4;
const SHARDED: u16 = 10;

fn message(cpu: u64, at: u64, event: &str, kind: u16, bytes: u64, payload: i64) -> String {
    format!(
        "cpu{} {at} slowpath_redis:{event} fd=14 type={kind} bytes={bytes} payload={payload} @vpid=7 @vtid=7\n",
        cpu % 2
    )
}

/// At `at`, and in 50 ns: a message of `payload` bytes goes to `copies` nodes.
fn published(at: u64, payload: u64, copies: u64) -> String {
    let bytes = HEADER + payload;
    let one = |cpu, at, event| message(cpu, at, event, PUBLISH, bytes, payload.cast_signed());
    let mut text = one(1, at, "broadcast_start");
    for copy in 0..copies {
        text += &one(copy, at + 10 + copy, "cluster_send");
    }
    text + &one(0, at + 50, "broadcast_end")
}

fn told(events: &str) -> StoreReport {
    ask(&format!("-- domain user\n{events}"), TimeRange::ALL)
}

fn amplified(report: &StoreReport) -> Option<&PublishAmplification> {
    match &report.findings[..] {
        [] => None,
        [Finding::PublishAmplification(row)] => Some(row),
        others => panic!("something else stands out: {others:?}"),
    }
}

#[test]
fn messages_are_counted_by_type() {
    let events = [
        message(0, 100, "cluster_send", 0, 2360, -1),
        message(1, 110, "cluster_process_packet", 1, 2400, -1),
        published(200, 10, 2),
        message(0, 300, "cluster_process_packet", PUBLISH, 2300, 33),
        message(1, 1_000_000_400, "cluster_send", 11, 5000, -1),
    ]
    .concat();
    let report = told(&events);
    let rows: Vec<_> = (report.bus.iter())
        .map(|row| {
            let sent = (row.sent, row.sent_bytes);
            let broadcast = (row.broadcast, row.broadcast_bytes);
            let received = (row.received, row.received_bytes);
            (row.kind.as_str(), sent, broadcast, received)
        })
        .collect();
    let expected = [
        ("ping", (1, 2360), (0, 0), (0, 0)),
        ("pong", (0, 0), (0, 0), (1, 2400)),
        ("publish", (2, 4554), (2, 4554), (1, 2300)),
        ("type 11", (1, 5000), (0, 0), (0, 0)),
    ];
    assert_eq!(rows, expected);
    let volume = report.servers[0].bus.expect("a bus");
    assert_eq!((volume.sent, volume.sent_bytes), (4, 2360 + 4554 + 5000));
    assert_eq!((volume.received, volume.received_bytes), (2, 4700));
    assert_eq!(
        (volume.busiest_begin_ns, volume.busiest_bytes),
        (0, 2360 + 4554)
    );
    assert_eq!(report.findings, [], "one message is not many");
}

#[test]
fn what_is_published_is_told_with_how_often_the_bus_carried_it() {
    for nodes in 3..=6 {
        let copies = nodes - 1;
        let mut events = String::new();
        for number in 0..100 {
            let payload = [10, 10_240][number as usize % 2];
            events += &published(1000 + number * 100, payload, copies);
        }
        let report = told(&events);
        let row = amplified(&report).expect("publish amplification");
        assert_eq!((row.server, row.messages), (1, 100));
        assert_eq!((row.copies, row.most_copies), (100 * copies, copies));
        let payload = 50 * (10 + 10_240);
        let bus = copies * (payload + 100 * HEADER);
        assert_eq!((row.payload_bytes, row.bus_bytes), (payload, bus));
        assert_eq!(row.factor, Some(bus as f64 / payload as f64));
        assert_eq!(row.broadcasting_ns.get(), 100 * 50);
        let by_length: Vec<_> = (row.payloads.iter())
            .map(|row| (row.least_bytes, row.most_bytes, row.messages, row.factor))
            .collect();
        let factor = |payload: u64| Some((copies * (payload + HEADER)) as f64 / payload as f64);
        let expected = [
            (10, 10, 50, factor(10)),
            (10_240, 10_240, 50, factor(10_240)),
        ];
        assert_eq!(by_length, expected);
    }
}

/// `count` messages of one length, to `copies` nodes each.
fn all(count: u64, payload: u64, copies: u64) -> String {
    let messages = (0..count).map(|number| published(1000 + number * 100, payload, copies));
    messages.collect()
}

#[test]
fn few_messages_or_little_more_on_the_bus_do_not_stand_out() {
    assert!(amplified(&told(&all(100, 10, 2))).is_some());
    assert_eq!(amplified(&told(&all(99, 10, 2))), None, "few");
    assert_eq!(
        amplified(&told(&all(100, HEADER + 1, 1))),
        None,
        "to one other node"
    );
    assert_eq!(amplified(&told(&all(100, 10, 0))), None, "alone");
    let empty = told(&all(100, 0, 2));
    assert_eq!(
        amplified(&empty).map(|row| row.factor),
        Some(None),
        "headers alone"
    );
}

#[test]
fn gossip_and_sharded_messages_do_not_stand_out() {
    let mut events = String::new();
    for number in 0..200 {
        let at = 1000 + number * 100;
        events += &message(0, at, "broadcast_start", 0, 2360, -1);
        events += &message(1, at + 1, "cluster_send", 0, 2360, -1);
        events += &message(1, at + 2, "broadcast_end", 0, 2360, -1);
        events += &message(0, at + 3, "cluster_send", SHARDED, HEADER + 10, 10);
        events += &message(
            0,
            at + 4,
            "cluster_process_packet",
            PUBLISH,
            HEADER + 10,
            10,
        );
    }
    let report = told(&events);
    assert_eq!(report.bus.len(), 3);
    assert_eq!(report.findings, []);
}

#[test]
fn messages_of_which_not_all_is_known_are_left_out() {
    let whole = all(101, 10, 2);
    let mut lines: Vec<&str> = whole.lines().collect();
    let last = lines.len() - 4;
    assert!(lines[last].contains("broadcast_start"), "{}", lines[last]);
    lines.insert(last + 1, "-- lost 1 cpu0");
    let events = lines.join("\n") + "\n";
    let row = told(&events);
    let row = amplified(&row).expect("the others");
    assert_eq!((row.messages, row.copies), (100, 200));
    // An agent that does not tell of payloads.
    let unknown = all(100, 10, 2).replace("payload=10 ", "payload=-1 ");
    assert_eq!(amplified(&told(&unknown)), None);
}

#[test]
fn a_window_has_the_messages_that_went_out_in_it() {
    let window = TimeRange::new(Timestamp::from_ns(1050), Timestamp::from_ns(11_050));
    let report = ask(&format!("-- domain user\n{}", all(200, 10, 2)), window);
    let row = amplified(&report).expect("publish amplification");
    // Of the first one copies went out before; the last one ends at the end.
    assert_eq!((row.messages, row.copies), (100, 200));
    assert_eq!(report.bus[0].sent, 200);
}
