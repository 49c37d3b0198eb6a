//! Two nodes of a cluster and what goes between them, asked in every way that must not matter.

use slowpath_model::TimeRange;

use crate::tests::ask;
use crate::{Finding, HopRow, StalledLink, StoreReport};

const PUBLISH: u16 = 4;
const PING: u16 = 0;

/// Node 7 sends by descriptor 20, node 8 receives by descriptor 30; a line each, with times in µs: `AT sent`, `AT got`,
/// both of a published message, `AT sent ping`, `AT got ping`, or an event of node 8.
fn told(lines: &str) -> StoreReport {
    let mut text = "-- domain user\n".to_owned();
    for (node, fd, own, peer) in [(7, 20, 5001, 17002), (8, 30, 17002, 5001)] {
        text += &format!(
            "cpu0 1 slowpath_redis:bus_address fd={fd} peer_address=10.0.0.1 peer_port={peer} own_address=10.0.0.1 \
             own_port={own} @vpid={node} @vtid={node}\n"
        );
    }
    let lines = lines.lines().map(str::trim).filter(|line| !line.is_empty());
    for (line, cpu) in lines.zip([0, 1].into_iter().cycle()) {
        let (at, event) = line.split_once(' ').expect("a time");
        let message = |node, fd, event, kind| {
            let (bytes, payload) = match kind {
                PUBLISH => (2364, 100),
                _ => (2360, -1),
            };
            format!(
                "slowpath_redis:{event} fd={fd} type={kind} bytes={bytes} payload={payload} @vpid={node} @vtid={node}"
            )
        };
        let event = match event {
            "sent" => message(7, 20, "cluster_send", PUBLISH),
            "got" => message(8, 30, "cluster_process_packet", PUBLISH),
            "sent ping" => message(7, 20, "cluster_send", PING),
            "got ping" => message(8, 30, "cluster_process_packet", PING),
            other => format!("slowpath_redis:{other} @vpid=8 @vtid=8"),
        };
        text += &format!("cpu{cpu} {at}000 {event}\n");
    }
    ask(&text, TimeRange::ALL)
}

/// How many messages were joined, and how long in µs the longest took; deliveries, and their longest.
fn joined(report: &StoreReport) -> Option<[u64; 4]> {
    let us = |ns: slowpath_model::Nanoseconds| ns.get() / 1000;
    let row = |row: &HopRow| {
        assert_eq!((row.server, row.to_server), (1, 2));
        [
            row.messages,
            us(row.max_ns),
            row.delivered,
            us(row.delivery_max_ns),
        ]
    };
    assert!(report.hops.len() < 2, "{:?}", report.hops);
    report.hops.first().map(row)
}

fn stalls(report: &StoreReport) -> &[StalledLink] {
    match &report.findings[..] {
        [] => &[],
        [Finding::BusStall(stall)] => {
            assert_eq!(stall.server, stall.links[0].server);
            assert_eq!(
                stall.count,
                stall.links.iter().map(|link| link.count).sum::<u64>()
            );
            &stall.links
        }
        others => panic!("one finding at most: {others:?}"),
    }
}

#[test]
fn what_one_node_sent_is_what_the_other_got_and_handed_on() {
    let report = told(
        "1000 sent ping
         1100 got ping
         30000 sent
         30010 sent
         30200 got
         30201 insert_clientwrite_queue fd=9 client_id=5
         30300 got
         30310 start_read_client_query fd=10 client_id=6
         30320 insert_clientwrite_queue fd=10 client_id=6
         30400 write_to_client_start fd=9 client_id=5
         30450 write_to_client_end fd=9 client_id=5 bytes=100
         30460 write_to_client_start fd=10 client_id=6
         30470 write_to_client_end fd=10 client_id=6 bytes=5",
    );
    assert_eq!(joined(&report), Some([2, 290, 1, 250]));
    assert!(stalls(&report).is_empty());
}

/// A message that was sent before shifts the order by one, which shows when more has come than went out; what was joined
/// until then is dropped.
#[test]
fn what_was_on_its_way_before_is_joined_to_nothing() {
    let report = told(
        "900 sent
         1000 got
         1200 got
         30000 sent
         30100 got",
    );
    assert_eq!(joined(&report), Some([1, 100, 0, 0]));
}

#[test]
fn until_a_link_has_rested_nothing_is_told_of_it() {
    let busy = "1000 sent
                1100 got
                1200 sent
                1300 got
                1400 sent";
    assert_eq!(joined(&told(busy)), None);
    // Nothing more came in meanwhile, so the order was right from the begin on.
    let rested = format!("{busy}\n1500 got\n20000 sent ping");
    assert_eq!(joined(&told(&rested)), Some([3, 100, 0, 0]));
}

#[test]
fn what_was_published_and_not_read_for_long_stands_out() {
    let report = told(
        "1000 sent ping
         1100 got ping
         20000 sent ping
         60000 got ping
         100000 sent
         100100 sent
         125000 got
         125100 got",
    );
    // That a ping waited is nothing.
    assert_eq!(joined(&report).map(|[messages, ..]| messages), Some(2));
    let [stall] = stalls(&report) else {
        panic!("one stall: {:?}", report.findings);
    };
    assert_eq!((stall.from_server, stall.server, stall.count), (1, 2, 1));
    assert_eq!(
        (stall.begin_ns, stall.length_ns.get()),
        (100_000_000, 25_000_000)
    );
    assert_eq!((stall.messages, stall.bytes), (2, 2 * 2364));
    assert!(stall.in_busiest_second);
}

/// However many links stood still: each has the same remedy.
#[test]
fn stalls_of_several_links_are_one_finding() {
    let mut text = "-- domain user\n".to_owned();
    for (node, fd, own, peer) in [(7, 20, 5001, 17002), (8, 30, 17002, 5001)] {
        text += &format!(
            "cpu0 1 slowpath_redis:bus_address fd={fd} peer_address=::1 peer_port={peer} own_address=::1 own_port={own} \
             @vpid={node} @vtid={node}\n"
        );
    }
    // Node 7's message waits for 20 ms, node 8's for 30 ms.
    for (at, event, node, fd) in [
        (20, "cluster_send", 7, 20),
        (20, "cluster_send", 8, 30),
        (40, "cluster_process_packet", 8, 30),
        (50, "cluster_process_packet", 7, 20),
    ] {
        text += &format!(
            "cpu0 {at}000000 slowpath_redis:{event} fd={fd} type=4 bytes=2364 payload=100 @vpid={node} @vtid={node}\n"
        );
    }
    text += "cpu0 90000000 slowpath_redis:cluster_send fd=20 type=0 bytes=9 payload=-1 @vpid=7 @vtid=7\n";
    let report = ask(&text, TimeRange::ALL);
    let links = stalls(&report).iter();
    let links: Vec<_> = links
        .map(|link| {
            (
                link.from_server,
                link.server,
                link.length_ns.get() / 1_000_000,
            )
        })
        .collect();
    assert_eq!(links, [(2, 1, 30), (1, 2, 20)]);
}
