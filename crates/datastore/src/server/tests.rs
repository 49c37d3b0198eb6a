//! Replicas: their connections to a primary want no replies, are no clients' and come again.

use std::collections::BTreeMap;

use slowpath_model::TimeRange;

use crate::tests::{ask, check};

/// What the primary sends at once, and what the replica writes then: how far it has come.
const LITE: &str = "
    -- domain user
    cpu0 100 slowpath_redis:command_name number=3 command=set @vpid=7 @vtid=7
    cpu0 110 slowpath_redis:client_address fd=9 client_id=5 peer_address=::1 peer_port=6379 own_address=::1 own_port=3000 outgoing=1 @vpid=7 @vtid=7
    cpu0 2000 slowpath_redis:batches client_id=[5,5] fd=[9,9] age=[1000,500] read_thread=[7,7] write_thread=[0,7] ended_by=[4,0] unit_ns=[1,1] read_end=[10,5] write_start=[0,400] ended=[60,450] bytes_read=[40,20] bytes_written=[0,30] commands=[2,1] command=[3,3,3] start=[10,30,5] duration=[20,30,10] @vpid=7 @vtid=7
";

#[test]
fn what_a_primary_sends_wants_no_reply() {
    let report = check(
        LITE,
        "1 set 5: 30? = 10 + 0 + 20 + 0 + 0
         1 set 5: 60? = 10 + 20 + 30 + 0 + 0
         1 set 5: 15? = 5 + 0 + 10 + 0 + 0",
    );
    let server = &report.servers[0];
    assert_eq!((server.unanswered, server.bytes_written), (3, 30));
}

const LIFE_CYCLE: &str = "
    -- domain user
    cpu0 100 slowpath_redis:client_address fd=9 client_id=5 peer_address=::1 peer_port=6379 own_address=::1 own_port=3000 outgoing=1 @vpid=7 @vtid=7
    cpu0 110 slowpath_redis:start_read_client_query fd=9 client_id=5 @vpid=7 @vtid=7
    cpu0 120 slowpath_redis:call_command_start fd=9 client_id=5 command=set @vpid=7 @vtid=7
    cpu0 130 slowpath_redis:call_command_end fd=9 client_id=5 command=set @vpid=7 @vtid=7
    cpu0 140 slowpath_redis:end_read_client_query fd=9 client_id=5 bytes=40 memory=1 @vpid=7 @vtid=7
    cpu0 500 slowpath_redis:start_read_client_query fd=9 client_id=5 @vpid=7 @vtid=7
    cpu0 510 slowpath_redis:call_command_start fd=9 client_id=5 command=set @vpid=7 @vtid=7
    cpu0 520 slowpath_redis:call_command_end fd=9 client_id=5 command=set @vpid=7 @vtid=7
    cpu0 530 slowpath_redis:end_read_client_query fd=9 client_id=5 bytes=40 memory=1 @vpid=7 @vtid=7
    cpu0 900 slowpath_redis:write_to_client_start fd=9 client_id=5 @vpid=7 @vtid=7
    cpu0 910 slowpath_redis:write_to_client_end fd=9 client_id=5 bytes=30 @vpid=7 @vtid=7
";

#[test]
fn single_events_of_what_a_primary_sends_want_no_reply() {
    check(
        LIFE_CYCLE,
        "1 set 5: 20? = 10 + 0 + 10 + 0 + 0
         1 set 5: 20? = 10 + 0 + 10 + 0 + 0",
    );
}

/// Of a handshake each REPLCONF is answered; after it they acknowledge, and what is written is replicated.
#[test]
fn what_a_replica_acknowledges_has_no_reply() {
    let mut at = 100;
    let mut events = "    -- domain user\n".to_owned();
    let mut tell = |client: u32, command: &str, writes: &[u64]| {
        let mut event = |name: &str, more: &str| {
            at += 10;
            events += &format!(
                "cpu0 {at} slowpath_redis:{name} fd={client} client_id={client} {more} @vpid=7 @vtid=7\n"
            );
        };
        event("start_read_client_query", "");
        event("call_command_start", &format!("command={command}"));
        event("call_command_end", &format!("command={command}"));
        event("end_read_client_query", "bytes=40 memory=1");
        for bytes in writes {
            event("write_to_client_start", "");
            event("write_to_client_end", &format!("bytes={bytes}"));
        }
    };
    tell(5, "ping", &[7]);
    tell(5, "replconf", &[5]);
    tell(5, "psync", &[30]);
    tell(5, "replconf", &[30, 30]);
    tell(6, "replconf", &[30]);
    tell(7, "get", &[30]);
    let report = check(
        &events,
        "1 ping 5: 50 = 10 + 0 + 10 + 20 + 10
         1 replconf 5: 50 = 10 + 0 + 10 + 20 + 10
         1 psync 5: 20? = 10 + 0 + 10 + 0 + 0
         1 replconf 5: 20? = 10 + 0 + 10 + 0 + 0
         1 replconf 6: 20? = 10 + 0 + 10 + 0 + 0
         1 get 7: 50 = 10 + 0 + 10 + 20 + 10",
    );
    let clients = report
        .clients
        .iter()
        .map(|row| (row.client.0, row.is_replication));
    let expected = [(5, true), (6, true), (7, false)];
    assert_eq!(BTreeMap::from_iter(clients), BTreeMap::from(expected));
}

/// The link is lost, a later client gets its descriptor and leaves, and the link comes again over that, or another.
#[test]
fn a_replica_that_takes_its_link_up_again_is_the_same_server() {
    let lost = "
        cpu0 1000 slowpath_redis:start_read_client_query fd=9 client_id=5 @vpid=7 @vtid=7
        cpu0 1010 slowpath_redis:free_client fd=9 client_id=5 @vpid=7 @vtid=7
        cpu0 1020 slowpath_redis:delete_file_event fd=9 mask=3 @vpid=7 @vtid=7
        cpu0 1030 slowpath_redis:end_read_client_query fd=9 client_id=5 bytes=0 memory=0 @vpid=7 @vtid=7
        cpu0 1040 slowpath_redis:before_sleep_end @vpid=7 @vtid=7
        cpu0 1100 slowpath_redis:client_address fd=10 client_id=8 peer_address=::1 peer_port=4000 own_address=::1 own_port=6380 outgoing=0 @vpid=7 @vtid=7";
    let again = "
        cpu0 2000 slowpath_redis:start_read_client_query fd=10 client_id=5 @vpid=7 @vtid=7
        cpu0 2005 slowpath_redis:client_address fd=10 client_id=5 peer_address=::1 peer_port=6381 own_address=::1 own_port=3002 outgoing=1 @vpid=7 @vtid=7
        cpu0 2010 slowpath_redis:call_command_start fd=10 client_id=5 command=set @vpid=7 @vtid=7
        cpu0 2020 slowpath_redis:call_command_end fd=10 client_id=5 command=set @vpid=7 @vtid=7
        cpu0 2030 slowpath_redis:end_read_client_query fd=10 client_id=5 bytes=40 memory=1 @vpid=7 @vtid=7
        cpu0 2040 slowpath_redis:free_client fd=10 client_id=5 @vpid=7 @vtid=7";
    let report = check(
        &format!("{LIFE_CYCLE}{lost}{again}"),
        "1 set 5: 20? = 10 + 0 + 10 + 0 + 0
         1 set 5: 20? = 10 + 0 + 10 + 0 + 0
         1 set 5: 20? = 10 + 0 + 10 + 0 + 0",
    );
    assert_eq!(report.findings, [], "it was not freed twice");
    // A client with its number that connects to the server is another server's.
    let restarted = "
        cpu0 2005 slowpath_redis:client_address fd=10 client_id=5 peer_address=::1 peer_port=4001 own_address=::1 own_port=6380 outgoing=0 @vpid=7 @vtid=7
        cpu0 2010 slowpath_redis:call_command_start fd=10 client_id=5 command=get @vpid=7 @vtid=7
        cpu0 2020 slowpath_redis:call_command_end fd=10 client_id=5 command=get @vpid=7 @vtid=7";
    check(
        &format!("{LIFE_CYCLE}{restarted}"),
        "1 set 5: 20? = 10 + 0 + 10 + 0 + 0
         1 set 5: 20? = 10 + 0 + 10 + 0 + 0
         2 get 5: 10? = 0 + 0 + 10 + 0 + 0",
    );
}

#[test]
fn a_servers_port_is_that_of_most_clients() {
    let address = |client: u64, port: u16, outgoing: u8| {
        format!(
            "cpu0 {client} slowpath_redis:client_address fd={client} client_id={client} peer_address=::1 peer_port=1 \
             own_address=::1 own_port={port} outgoing={outgoing} @vpid=7 @vtid=7\n"
        )
    };
    let check = |ports: &[(u16, u8)], expected: u16| {
        let addresses = (10..).zip(ports);
        let addresses =
            addresses.map(|(client, &(port, outgoing))| address(client, port, outgoing));
        let text = format!(
            "-- domain user\n{}cpu0 1000 slowpath_redis:batch client_id=99 fd=99 ended_by=0 unit_ns=1 ended=1 \
             bytes_read=9 bytes_written=9 command=[3] start=[0] duration=[1] @vpid=7 @vtid=7",
            addresses.collect::<String>()
        );
        let report = ask(&text, TimeRange::ALL);
        assert_eq!(report.servers[0].port, expected, "{ports:?}");
    };
    check(&[], 0);
    // Its own link to a primary has any port.
    check(&[(40_000, 1)], 0);
    check(&[(40_000, 1), (50_000, 0)], 50_000);
    check(&[(40_000, 1), (41_000, 1), (50_000, 0)], 50_000);
    // Earlier agents do not tell such links apart.
    check(&[(40_000, 0), (50_000, 0), (50_000, 0)], 50_000);
    check(&[(6380, 0), (6379, 0)], 6379);
}
