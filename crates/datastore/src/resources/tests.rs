//! Small time lines and the model that they give, however they are cut.

use std::num::NonZeroUsize;

use slowpath_drawn::DrawnTrace;
use slowpath_engine::Options;

use super::{Entity, NOT_TOLD, Resource, ServerModel, Together};
use crate::model;

fn ask(text: &str) -> Vec<ServerModel> {
    let drawn = DrawnTrace::parse(text).unwrap();
    let with = |trace: &DrawnTrace, jobs, bytes| {
        let options = Options {
            jobs: NonZeroUsize::new(jobs).unwrap(),
            chunk_bytes: Some(bytes),
            ..Options::default()
        };
        model(trace, &options).unwrap().state.unwrap()
    };
    let expected = with(&drawn.recut(|_, _| false), 1, u64::MAX);
    let random = (0..4).map(|seed| drawn.recut_at_random(seed, 2 + seed));
    for trace in std::iter::once(drawn.recut(|_, _| true)).chain(random) {
        for (jobs, bytes) in [(1, 1), (8, 1), (8, 300), (2, u64::MAX)] {
            assert_eq!(with(&trace, jobs, bytes), expected);
        }
    }
    expected
}

/// `ENTITY WHAT: BEGIN-END VALUE, …`, a line each.
fn check(text: &str, expected: &str) {
    let servers = ask(text);
    let found = servers.iter().flat_map(|server| {
        let mut rows: Vec<_> = (server.together.iter())
            .flat_map(|together| together.resources.iter().map(move |one| (one, together)))
            .collect();
        rows.sort_by_key(|(resource, _)| (resource.of, resource.what));
        let shown = |(resource, of): (&Resource, &Together)| {
            format!("{} {}", server.number, shown(server, resource, of))
        };
        rows.into_iter().map(shown).collect::<Vec<_>>()
    });
    let expected: Vec<&str> = expected
        .lines()
        .map(str::trim)
        .filter(|line| !line.is_empty())
        .collect();
    assert_eq!(found.collect::<Vec<_>>(), expected);
}

fn shown(server: &ServerModel, resource: &Resource, together: &Together) -> String {
    let names: Vec<&str> = match resource.values {
        super::Values::Commands => server.commands.iter().map(String::as_str).collect(),
        super::Values::RequestTypes => server.request_types().collect(),
        super::Values::Messages => server.messages.iter().map(String::as_str).collect(),
        other => other.names().to_vec(),
    };
    let told = together.intervals.iter();
    let told = told.map(|(range, told)| (*range, told[resource.column]));
    let mut intervals: Vec<_> = told.filter(|(_, value)| *value != NOT_TOLD).collect();
    intervals.sort_by_key(|(range, value)| (range.begin, range.end, *value));
    // What changes together with something else may go on.
    intervals.dedup_by(|(next, value), (range, before)| {
        let goes_on = range.end == next.begin && value == before;
        if goes_on {
            range.end = next.end;
        }
        goes_on
    });
    let intervals: Vec<String> = (intervals.iter())
        .map(|(range, value)| {
            let name = names.get(*value as usize);
            let value = name.map_or_else(|| value.to_string(), |name| (*name).to_owned());
            format!("{}-{} {value}", range.begin.ns(), range.end.ns())
        })
        .collect();
    let of = match resource.of {
        Entity::Server => "server".to_owned(),
        Entity::Connection(client) => format!("connection {}", client.0),
        Entity::Link(fd) => format!("link {fd}"),
        Entity::Request(client) => format!("request {}", client.0),
        Entity::Bus => "bus".to_owned(),
        Entity::Thread(thread) => format!("thread {}", thread.0),
        Entity::EventLoop => "loop".to_owned(),
        Entity::Clients => "clients".to_owned(),
    };
    format!("{of} {}: {}", resource.what, intervals.join(", "))
}

#[test]
fn a_pipeline_is_requests_one_after_the_other() {
    check(
        "-- domain user
        cpu0 1000 slowpath_redis:command_name number=3 command=get @vpid=7 @vtid=7
        cpu0 1000 slowpath_redis:command_name number=4 command=set @vpid=7 @vtid=7
        cpu1 2000 slowpath_redis:batch client_id=5 fd=9 read_thread=8 ended_by=0 unit_ns=1 read_end=10 write_start=70 ended=100 bytes_read=21 bytes_written=11 command=[3,4] start=[10,40] duration=[20,10] @vpid=7 @vtid=7
        cpu0 3000 slowpath_redis:client_address fd=9 client_id=6 peer_address=a peer_port=1 own_address=b own_port=2 @vpid=7 @vtid=7
        cpu0 3100 slowpath_redis:command_name number=3 command=get @vpid=7 @vtid=7",
        "1 server process: 1000-3100 7
         1 connection 5 data-structure: 1900-1950 query-buffer, 1950-2000 reply-buffer
         1 connection 5 type: 1900-3000 client
         1 connection 6 type: 3000-3100 client
         1 request 5 command: 1900-1930 get, 1930-2000 set
         1 request 5 connection: 1900-2000 9
         1 request 5 data-structure: 1900-1910 query-buffer, 1910-1930 arguments, 1930-1940 query-buffer, 1940-1950 arguments, 1950-2000 reply-buffer
         1 request 5 type: 1900-1930 read, 1930-2000 write
         1 thread 7 operation: 1910-1930 executing, 1940-1950 executing, 1970-2000 writing
         1 thread 7 request: 1910-1930 5, 1940-1950 5, 1970-2000 5
         1 thread 8 operation: 1900-1910 reading
         1 thread 8 request: 1900-1910 5
         1 loop busy: 0-1000000 60
         1 loop operation: 1910-1930 executing, 1940-1950 executing, 1970-2000 writing
         1 loop waiting: 1900-2000 1
         1 clients read: 0-1000000 21
         1 clients written: 0-1000000 11",
    );
}

/// Single events tell memory, and count instead of the batch that tells the same.
#[test]
fn single_events_count_where_there_are_batches_too() {
    check(
        "-- domain user
        cpu0 100 slowpath_redis:start_read_client_query fd=9 client_id=5 @vpid=7 @vtid=7
        cpu0 110 slowpath_redis:call_command_start fd=9 client_id=5 command=eval @vpid=7 @vtid=7
        cpu1 112 slowpath_redis:call_command_start fd=-1 client_id=9 command=get @vpid=7 @vtid=7
        cpu1 120 slowpath_redis:call_command_end fd=-1 client_id=9 command=get @vpid=7 @vtid=7
        cpu0 140 slowpath_redis:call_command_end fd=9 client_id=5 command=eval @vpid=7 @vtid=7
        cpu0 145 slowpath_redis:end_read_client_query fd=9 client_id=5 bytes=50 memory=2000 @vpid=7 @vtid=7
        cpu1 150 slowpath_redis:write_to_client_start fd=9 client_id=5 @vpid=7 @vtid=8
        cpu1 170 slowpath_redis:write_to_client_end fd=9 client_id=5 bytes=5 @vpid=7 @vtid=8
        cpu1 171 slowpath_redis:batch client_id=5 fd=9 read_thread=7 ended_by=0 unit_ns=1 read_end=10 write_start=50 ended=71 bytes_read=50 bytes_written=5 command=[3] start=[10] duration=[30] @vpid=7 @vtid=7
        cpu0 200 slowpath_redis:start_read_client_query fd=9 client_id=5 @vpid=7 @vtid=7
        cpu0 210 slowpath_redis:end_read_client_query fd=9 client_id=5 bytes=0 memory=0 @vpid=7 @vtid=7
        cpu0 250 slowpath_redis:command_name number=3 command=eval @vpid=7 @vtid=7",
        "1 server process: 100-250 7
         1 connection 5 data-structure: 100-140 query-buffer, 140-170 reply-buffer
         1 connection 5 memory: 145-210 2000
         1 connection 5 type: 100-210 client
         1 request 5 command: 100-170 eval
         1 request 5 connection: 100-170 9
         1 request 5 data-structure: 100-110 query-buffer, 110-140 arguments, 140-170 reply-buffer
         1 request 5 type: 100-170 other
         1 thread 7 operation: 100-110 reading, 110-140 executing
         1 thread 7 request: 100-140 5
         1 thread 8 operation: 150-170 writing
         1 thread 8 request: 150-170 5
         1 loop busy: 0-1000000 40
         1 loop operation: 100-110 reading, 110-140 executing
         1 loop waiting: 100-170 1
         1 clients read: 0-1000000 50
         1 clients written: 0-1000000 5",
    );
}

/// Of level lite the times of each batch count from when it was told: a client's second one seems to begin before the
/// first is answered.
#[test]
fn a_batch_is_over_where_the_next_of_its_client_begins() {
    check(
        "-- domain user
        cpu0 1000 slowpath_redis:command_name number=3 command=get @vpid=7 @vtid=7
        cpu0 1000 slowpath_redis:command_name number=4 command=set @vpid=7 @vtid=7
        cpu0 2000 slowpath_redis:batch client_id=5 fd=9 read_thread=7 ended_by=0 unit_ns=1 read_end=10 write_start=70 ended=100 bytes_read=21 bytes_written=11 command=[3] start=[10] duration=[20] @vpid=7 @vtid=7
        cpu0 2090 slowpath_redis:batch client_id=5 fd=9 read_thread=7 ended_by=0 unit_ns=1 read_end=10 write_start=70 ended=100 bytes_read=21 bytes_written=11 command=[4] start=[30] duration=[20] @vpid=7 @vtid=7",
        "1 server process: 1000-2090 7
         1 connection 5 data-structure: 1900-1930 query-buffer, 1930-1990 reply-buffer, 1990-2040 query-buffer, 2040-2090 reply-buffer
         1 connection 5 type: 1900-2090 client
         1 request 5 command: 1900-1990 get, 1990-2090 set
         1 request 5 connection: 1900-2090 9
         1 request 5 data-structure: 1900-1910 query-buffer, 1910-1930 arguments, 1930-1990 reply-buffer, 1990-2020 query-buffer, 2020-2040 arguments, 2040-2090 reply-buffer
         1 request 5 type: 1900-1990 read, 1990-2090 write
         1 thread 7 operation: 1900-1910 reading, 1910-1930 executing, 1970-2000 writing, 1990-2000 reading, 2020-2040 executing, 2060-2090 writing
         1 thread 7 request: 1900-1930 5, 1970-2000 5, 1990-2000 5, 2020-2040 5, 2060-2090 5
         1 loop busy: 0-1000000 110
         1 loop operation: 1900-1910 reading, 1910-1930 executing, 1970-2000 writing, 1990-2000 reading, 2020-2040 executing, 2060-2090 writing
         1 loop waiting: 1900-1990 1, 1990-2000 2, 2000-2090 1
         1 clients read: 0-1000000 42
         1 clients written: 0-1000000 22",
    );
}

#[test]
fn the_bus_has_a_volume_by_millisecond_and_the_type_of_the_last_message() {
    check(
        "-- domain user
        cpu0 1000100 slowpath_redis:cluster_send fd=14 type=0 bytes=100 payload=-1 @vpid=7 @vtid=7
        cpu1 1000200 slowpath_redis:cluster_send fd=15 type=0 bytes=30 payload=-1 @vpid=7 @vtid=7
        cpu0 3000000 slowpath_redis:broadcast_start fd=-1 type=4 bytes=50 payload=3 @vpid=7 @vtid=7
        cpu0 3000001 slowpath_redis:cluster_send fd=14 type=4 bytes=50 payload=3 @vpid=7 @vtid=7
        cpu0 3000002 slowpath_redis:broadcast_end fd=-1 type=4 bytes=50 payload=3 @vpid=7 @vtid=7
        cpu0 3000500 slowpath_redis:cluster_process_packet fd=14 type=1 bytes=900 payload=-1 @vpid=7 @vtid=7",
        "1 server process: 1000100-3000500 7
         1 bus message: 1000100-3000001 ping, 3000001-3000500 publish broadcast
         1 bus type: 1000100-3000500 node-to-node
         1 bus volume: 1000000-2000000 130, 3000000-4000000 50",
    );
}

/// Links to other nodes have no client; links of replicas are clients that say so, or that the server opened itself.
#[test]
fn links_are_told_apart_from_clients() {
    check(
        "-- domain user
        cpu0 100 slowpath_redis:command_name number=3 command=replconf @vpid=7 @vtid=7
        cpu0 110 slowpath_redis:client_address fd=9 client_id=4 peer_address=a peer_port=1 own_address=b own_port=2 outgoing=1 @vpid=7 @vtid=7
        cpu0 200 slowpath_redis:bus_address fd=14 peer_address=a peer_port=3 own_address=b own_port=4 @vpid=7 @vtid=7
        cpu0 210 slowpath_redis:cluster_send fd=14 type=0 bytes=100 payload=-1 @vpid=7 @vtid=7
        cpu1 300 slowpath_redis:batch client_id=5 fd=10 read_thread=7 ended_by=0 unit_ns=1 read_end=10 write_start=0 ended=20 bytes_read=21 bytes_written=0 command=[3] start=[10] duration=[10] @vpid=7 @vtid=7
        cpu1 400 slowpath_redis:batch client_id=5 fd=10 write_thread=7 ended_by=0 unit_ns=1 read_end=0 write_start=10 ended=20 bytes_read=0 bytes_written=9 @vpid=7 @vtid=7
        cpu0 500 slowpath_redis:bus_address fd=14 peer_address=a peer_port=3 own_address=b own_port=4 @vpid=7 @vtid=7
        cpu0 600 slowpath_redis:client_address fd=14 client_id=6 peer_address=a peer_port=5 own_address=b own_port=2 @vpid=7 @vtid=7
        cpu0 700 slowpath_redis:client_address fd=15 client_id=7 peer_address=a peer_port=6 own_address=b own_port=2 @vpid=7 @vtid=7",
        "1 server process: 100-700 7
         1 connection 4 type: 110-700 replica-link
         1 connection 5 data-structure: 280-300 query-buffer, 380-400 reply-buffer
         1 connection 5 type: 280-700 replica-link
         1 connection 6 type: 600-700 client
         1 link 14 type: 200-600 internal-link
         1 request 5 command: 280-300 replconf
         1 request 5 connection: 280-300 10
         1 request 5 data-structure: 280-290 query-buffer, 290-300 arguments
         1 request 5 type: 280-300 other
         1 bus message: 210-700 ping
         1 bus type: 210-390 node-to-node, 390-700 primary-to-replica
         1 bus volume: 0-1000000 100
         1 thread 7 operation: 280-290 reading, 290-300 executing, 390-400 writing
         1 thread 7 request: 280-300 5, 390-400 5
         1 loop busy: 0-1000000 30
         1 loop operation: 280-290 reading, 290-300 executing, 390-400 writing
         1 loop waiting: 280-300 1
         1 clients read: 0-1000000 21
         1 clients written: 0-1000000 9",
    );
}

/// Until the next one, or the end of the cycle; reads name no client.
#[test]
fn what_threads_did_to_a_connection_over_tls_is_told_one_by_one() {
    check(
        "-- domain user
        cpu0 1000 slowpath_redis:start_read_client_query fd=9 client_id=5 @vpid=7 @vtid=7
        cpu0 1100 slowpath_redis:read_postponed fd=9 client_id=5 @vpid=7 @vtid=7
        cpu0 1200 slowpath_redis:end_read_client_query fd=9 client_id=5 bytes=-1 memory=0 @vpid=7 @vtid=7
        cpu1 1300 slowpath_redis:ssl_read fd=9 asked=16384 got=101 pending=0 @vpid=7 @vtid=8
        cpu0 1400 slowpath_redis:before_sleep_end @vpid=7 @vtid=7
        cpu1 1500 slowpath_redis:ssl_read fd=9 asked=16384 got=-1 pending=0 @vpid=7 @vtid=8
        cpu0 1600 slowpath_redis:free_client fd=9 client_id=5 @vpid=7 @vtid=7
        cpu0 1700 slowpath_redis:delete_file_event fd=9 mask=3 @vpid=7 @vtid=7",
        "1 server process: 1000-1200 7
         1 connection 5 asked: 1300-1400 16384, 1500-1600 16384
         1 connection 5 got: 1300-1400 101
         1 connection 5 operation: 1100-1300 read-postponed, 1300-1400 tls-read, 1500-1600 tls-read, 1600-1700 freed, 1700-2700 unwatched
         1 connection 5 thread: 1100-1300 7, 1300-1400 8, 1500-1600 8, 1600-2700 7
         1 connection 5 type: 1000-1200 client",
    );
    // Of a connection without TLS in the hands of one thread, nobody needs to know.
    check(
        "-- domain user
        cpu0 1000 slowpath_redis:start_read_client_query fd=9 client_id=5 @vpid=7 @vtid=7
        cpu0 1100 slowpath_redis:end_read_client_query fd=9 client_id=5 bytes=-1 memory=0 @vpid=7 @vtid=7
        cpu0 1600 slowpath_redis:free_client fd=9 client_id=5 @vpid=7 @vtid=7",
        "1 server process: 1000-1100 7
         1 connection 5 type: 1000-1100 client",
    );
}
