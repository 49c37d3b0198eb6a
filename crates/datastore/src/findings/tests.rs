//! Small servers at work and what stands out of it, asked in every way that must not matter.

use slowpath_model::{ProcessId, TimeRange, Timestamp};

use super::{AppendOnlyFileInThePath, Finding, NamedClient};
use crate::Appends;
use crate::tests::{ask, ask_with};

const GET: u32 = 3;
const EVAL: u32 = 9;

/// What a client sent at once: the client; then, in microseconds, when its first read began, its first command
/// began, its reply began to be written and was written; its commands, each with its length.
struct Sent {
    client: u64,
    begin: u64,
    start: u64,
    write: u64,
    ended: u64,
    commands: Vec<(u32, u64)>,
}

fn sent(client: u64, times: [u64; 4], commands: &[(u32, u64)]) -> Sent {
    let [begin, start, write, ended] = times;
    let commands = commands.to_vec();
    Sent {
        client,
        begin,
        start,
        write,
        ended,
        commands,
    }
}

impl Sent {
    fn event(&self) -> String {
        let since = |at: u64| (at - self.begin) * 1000;
        let mut at = self.start;
        let mut starts = Vec::new();
        for (_, length) in &self.commands {
            starts.push(since(at));
            at += length;
        }
        let commands: Vec<u32> = self.commands.iter().map(|(command, _)| *command).collect();
        let lengths: Vec<u64> = self.commands.iter().map(|(_, us)| us * 1000).collect();
        format!(
            "cpu{} {} slowpath_redis:batch client_id={} fd={} read_thread=7 ended_by=0 unit_ns=1 read_end=1000 \
             write_start={} ended={} bytes_read=20 bytes_written=10 command={commands:?} start={starts:?} \
             duration={lengths:?} @vpid=7 @vtid=7\n",
            self.client % 2,
            self.ended * 1000,
            self.client,
            self.client + 10,
            since(self.write),
            since(self.ended),
        )
        .replace(", ", ",")
    }
}

fn found(all: Vec<Sent>) -> Vec<Finding> {
    ask(&text_of(all), TimeRange::ALL).findings
}

fn text_of(mut all: Vec<Sent>) -> String {
    all.sort_by_key(|sent| sent.ended);
    let events: String = all.iter().map(Sent::event).collect();
    format!(
        "-- domain user
        cpu0 1 slowpath_redis:command_name number={GET} command=get @vpid=7 @vtid=7
        cpu0 2 slowpath_redis:command_name number={EVAL} command=eval @vpid=7 @vtid=7
        cpu0 3 slowpath_redis:client_address fd=12 client_id=2 peer_address=10.0.0.1 peer_port=4000 \
        own_address=10.0.0.2 own_port=6379 @vpid=7 @vtid=7
        {events}"
    )
}

/// A command of client 2 that takes `length` among others: 1 before it in its turn, 3 after it, 4 in the next
/// turn `pause` later, 5 after that, and 6 that an earlier turn blocked.
fn slow(length: u64, pause: u64) -> Vec<Sent> {
    let over = 1025 + length;
    let next = over + 105 + pause;
    vec![
        sent(4, [500, 505, 520, 530], &[(GET, 5)]),
        sent(6, [510, 512, over + 100, over + 102], &[(GET, 1)]),
        sent(1, [1000, 1010, over + 80, over + 90], &[(GET, 5)]),
        sent(2, [1020, 1025, over + 95, over + 105], &[(EVAL, length)]),
        sent(
            3,
            [over + 10, over + 15, over + 60, over + 70],
            &[(GET, 5), (GET, 5)],
        ),
        sent(4, [next, next + 5, next + 100, next + 110], &[(GET, 5)]),
        sent(
            1,
            [next + 20, next + 25, next + 120, next + 130],
            &[(GET, 5)],
        ),
        sent(
            5,
            [next + 200, next + 205, next + 220, next + 230],
            &[(GET, 5)],
        ),
    ]
}

#[test]
fn a_slow_command_is_named_with_those_that_waited_for_it() {
    let [Finding::SlowCommand(row)] = &found(slow(20_000, 70))[..] else {
        panic!("one slow command");
    };
    assert_eq!(
        (row.server, row.command.as_str(), row.count),
        (1, "eval", 1)
    );
    assert_eq!((row.clients, row.held, row.likely_held), (3, 3, 1));
    let times = [
        row.executing_ns,
        row.waited_at_least_ns,
        row.waited_at_most_ns,
    ];
    assert_eq!(
        times.map(|time| time.get()),
        [20_000_000, 60_000_000, 80_000_000]
    );
    let worst = &row.worst;
    let NamedClient { client, port, .. } = worst.client;
    assert_eq!((client.0, port), (2, 4000));
    assert_eq!(
        (worst.start_ns, worst.executing_ns.get()),
        (1_025_000, 20_000_000)
    );
    assert_eq!((worst.held, worst.likely_held, worst.clients), (3, 1, 3));
    let victims: Vec<_> = (worst.victims.iter())
        .map(|held| {
            let command = held.command.as_str();
            (held.client.client.0, command, held.commands, held.certain)
        })
        .collect();
    assert_eq!(
        victims,
        [
            (1, "get", 1, true),
            (3, "get", 2, true),
            (4, "get", 1, false)
        ]
    );
}

#[test]
fn who_is_answered_while_a_script_is_executed_did_not_wait() {
    let mut script = slow(20_000, 70);
    script.retain(|sent| sent.client != 6);
    // Redis refuses what they send.
    script.push(sent(7, [9_000, 9_010, 9_020, 9_030], &[(GET, 5)]));
    script.push(sent(8, [15_000, 15_010, 15_020, 15_030], &[(GET, 5)]));
    let [Finding::SlowCommand(row)] = &found(script)[..] else {
        panic!("one slow command");
    };
    let waited: Vec<_> = row
        .worst
        .victims
        .iter()
        .map(|held| held.client.client.0)
        .collect();
    assert_eq!(waited, [1, 3, 4]);
}

#[test]
fn who_is_executed_while_a_script_is_did_not_wait() {
    let mut script = slow(20_000, 70);
    script.retain(|sent| [2, 3].contains(&sent.client));
    let over = 1025 + 20_000;
    // What ends the script, as SCRIPT KILL does.
    script.push(sent(
        7,
        [over - 500, over - 490, over - 450, over - 400],
        &[(GET, 5)],
    ));
    // Another one at once, and who comes meanwhile.
    let next = over + 150;
    script.push(sent(
        2,
        [next, next + 5, next + 20_100, next + 20_110],
        &[(EVAL, 20_000)],
    ));
    script.push(sent(
        8,
        [next + 9_000, next + 9_010, next + 9_020, next + 9_030],
        &[(GET, 5)],
    ));
    let [Finding::SlowCommand(row)] = &found(script)[..] else {
        panic!("one slow command");
    };
    assert_eq!(
        (row.count, row.clients, row.held, row.likely_held),
        (1, 1, 2, 0)
    );
}

#[test]
fn who_comes_after_a_pause_did_not_wait() {
    let [Finding::SlowCommand(row)] = &found(slow(20_000, 1001))[..] else {
        panic!("one slow command");
    };
    assert_eq!((row.clients, row.held, row.likely_held), (2, 3, 0));
    assert_eq!(row.waited_at_most_ns, row.waited_at_least_ns);
}

#[test]
fn what_is_short_or_holds_nobody_up_does_not_stand_out() {
    assert_eq!(found(slow(9_999, 70)), []);
    let mut alone = slow(20_000, 1001);
    alone.retain(|sent| ![1, 3].contains(&sent.client));
    assert_eq!(found(alone), []);
}

#[test]
fn a_slow_command_whose_reply_is_written_late_is_of_its_turn() {
    let mut late = slow(20_000, 70);
    for sent in &mut late {
        if sent.client == 2 {
            sent.ended += 5_000;
        }
    }
    let [Finding::SlowCommand(row)] = &found(late)[..] else {
        panic!("one slow command");
    };
    assert_eq!((row.held, row.clients), (3, 2));
}

/// Turns of 100 ms from 5 s on, in each of which the server is at work for `length`: first for 9 commands of
/// client 1, then for 2 of `second`.
fn turns(count: u64, length: u64, second: u64) -> Vec<Sent> {
    let one = (length - 500) / 11;
    let turn = |number: u64| {
        let begin = 5_000_000 + number * 100_000;
        let [write, ended] = [begin + length - 100, begin + length];
        let start = begin + 100;
        let next = start + 9 * one;
        [
            sent(1, [begin, start, write, ended], &[(GET, one); 9]),
            sent(second, [next, next, write + 1, ended], &[(GET, one); 2]),
        ]
    };
    (0..count).flat_map(turn).collect()
}

#[test]
fn an_event_loop_is_saturated_while_commands_wait_for_it() {
    let [Finding::SaturatedLoop(row)] = &found(turns(25, 99_500, 2))[..] else {
        panic!("a saturated event loop");
    };
    assert_eq!((row.seconds, row.commands, row.queued), (2, 220, 40));
    assert!((row.percent - 99.5).abs() < 1e-9, "{}", row.percent);
    assert_eq!(
        (row.most_clients, row.longest_seconds, row.longest_begin_ns),
        (2, 2, 5_000_000_000)
    );
    assert_eq!(found(turns(20, 89_900, 2)), [], "there was time left");
    assert_eq!(found(turns(9, 99_500, 2)), [], "not for a second");
    let mut alone = turns(20, 99_500, 2);
    alone.retain(|sent| sent.client == 1);
    for sent in &mut alone {
        sent.commands = vec![(GET, 9_000); 11];
    }
    assert_eq!(found(alone), [], "nobody waited for another");
}

/// Commands of one client, each `pause` after the answer to the one before.
fn one_by_one(count: u64, pause: u64, commands: &[(u32, u64)]) -> Vec<Sent> {
    let trip = |number: u64| {
        let begin = 1_000 + number * (50 + pause);
        sent(2, [begin, begin + 5, begin + 30, begin + 50], commands)
    };
    (0..count).map(trip).collect()
}

#[test]
fn many_small_commands_one_by_one_would_gain_by_a_pipeline() {
    let [Finding::Pipeline(row)] = &found(one_by_one(100, 250, &[(GET, 10)]))[..] else {
        panic!("a pipeline that would help");
    };
    assert_eq!((row.server, row.clients, row.round_trips), (1, 1, 100));
    let times = [row.elapsed_ns, row.executing_ns, row.saved_at_most_ns];
    assert_eq!(
        times.map(|time| time.get()),
        [29_750_000, 1_000_000, 28_750_000]
    );
    let worst = &row.worst[0];
    assert_eq!(
        (worst.client.port, worst.round_trips, worst.saved_at_most_ns),
        (4000, 100, row.saved_at_most_ns)
    );
    assert_eq!(found(one_by_one(99, 250, &[(GET, 10)])), [], "few");
    assert_eq!(
        found(one_by_one(100, 1001, &[(GET, 10)])),
        [],
        "the client pauses"
    );
    let two = [(GET, 10), (GET, 10)];
    assert_eq!(found(one_by_one(100, 250, &two)), [], "a pipeline");
}

/// What is found of the append-only file, whose calls are given with begin and end in microseconds.
fn appending(
    all: Vec<Sent>,
    path: &str,
    calls: &[(&'static str, u64, u64)],
) -> Option<AppendOnlyFileInThePath> {
    let at = |us: u64| Timestamp::from_ns(us as i64 * 1000);
    let calls = calls.iter().map(|&(call, begin, end)| {
        let range = TimeRange::new(at(begin), at(end));
        (range, call, call != "write")
    });
    let mut appends = Appends::default();
    appends.add(ProcessId(7), path, calls);
    let findings = ask_with(&text_of(all), TimeRange::ALL, Some(&appends)).findings;
    findings.into_iter().find_map(|finding| match finding {
        Finding::AppendOnlyFileInThePath(found) => Some(found),
        _ => None,
    })
}

#[test]
fn commands_wait_for_the_append_only_file_between_their_turn_and_their_reply() {
    let calls = [
        ("fdatasync", 500, 900),
        ("write", 1030, 1130),
        ("fdatasync", 1132, 5000),
        ("fdatasync", 8500, 8900),
        ("fdatasync", 9000, 9400),
        ("write", 11_000, 11_200),
        ("fdatasync", 12_300, 12_400),
    ];
    let turn = || {
        vec![
            sent(1, [1000, 1005, 5010, 5020], &[(GET, 5), (GET, 5)]),
            sent(2, [1020, 1025, 5030, 5040], &[(GET, 5)]),
            // Blocked until later turns: they wait for what those wrote and synced alone.
            sent(3, [1001, 1003, 9500, 9510], &[(GET, 1)]),
            sent(6, [10_000, 10_005, 12_500, 12_510], &[(GET, 5)]),
            // Before that and after it.
            sent(4, [100, 105, 120, 130], &[(GET, 5)]),
            sent(5, [9600, 9605, 9620, 9630], &[(GET, 5)]),
        ]
    };
    let found = appending(turn(), "/data/a.aof", &calls).expect("a finding");
    assert_eq!(found.commands, 5);
    assert_eq!(
        [found.waited_ns, found.syncing_ns, found.latency_ns].map(|time| time.get() / 1000),
        [3 * 3968 + 500, 3 * 3868 + 500, 3 * 4020 + 8509 + 2510]
    );
    let longest = found.longest;
    assert_eq!(
        (
            longest.call.as_str(),
            longest.file.as_str(),
            longest.commands
        ),
        ("fdatasync", "/data/a.aof", 3)
    );
    assert_eq!(
        (longest.begin_ns, longest.length_ns.get()),
        (1_132_000, 3_868_000)
    );
    assert_eq!(appending(turn(), "/data/a.aof", &calls[..1]), None);
}

#[test]
fn an_append_only_file_that_takes_little_is_told_where_it_once_took_long() {
    // A write behind another thread's sync.
    let turns = |length: u64| {
        let over = 1100 + length;
        vec![
            sent(1, [1000, 1005, over, over + 10], &[(GET, 5)]),
            sent(2, [100_000, 100_005, 400_000, 400_010], &[(GET, 299_000)]),
        ]
    };
    let write = |length: u64| [("write", 1050, 1050 + length)];
    assert_eq!(appending(turns(9_999), "/a.aof", &write(9_999)), None);
    let found = appending(turns(10_000), "/a.aof", &write(10_000)).expect("a finding");
    assert_eq!((found.commands, found.syncing_ns.get()), (1, 0));
    assert_eq!(found.waited_ns.get(), 10_000_000);
}

#[test]
fn append_only_files_have_names_that_say_so() {
    let is_one = Appends::is_append_only_file;
    assert!(is_one("/data/appendonlydir/appendonly.aof.1.incr.aof"));
    assert!(is_one("/data/appendonly.aof (deleted)"));
    assert!(!is_one("/data/nodes.conf") && !is_one("/data/temp-7.rdb"));
}
