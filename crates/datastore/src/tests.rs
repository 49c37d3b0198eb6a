//! Small time lines and what is told of them, asked in every way that must not matter.

use std::num::NonZeroUsize;

use slowpath_drawn::DrawnTrace;
use slowpath_engine::{Analysis, Options, chunks, run_chunk};
use slowpath_model::{TimeRange, Timestamp};
use slowpath_source::Source;

use crate::pass::Pass;
use crate::server::Servers;
use crate::totals::{Asked, Keeps};
use crate::{Appends, Level, StoreReport, probes, store, told};

/// The answer, after checking that it does not depend on where packets are cut, on the size of chunks, on the
/// number of workers, on the bracketing of merges, or on states being serialised in between.
pub(crate) fn ask(text: &str, window: TimeRange) -> StoreReport {
    ask_with(text, window, None)
}

/// The same where the kernel told of append-only files.
pub(crate) fn ask_with(text: &str, window: TimeRange, appends: Option<&Appends>) -> StoreReport {
    let drawn = DrawnTrace::parse(text).unwrap();
    let whole = drawn.recut(|_, _| false);
    let with_engine = |trace: &DrawnTrace, jobs, bytes| {
        let options = Options {
            jobs: NonZeroUsize::new(jobs).unwrap(),
            chunk_bytes: Some(bytes),
            range: window,
            ..Options::default()
        };
        store(trace, usize::MAX, None, appends, &options)
            .unwrap()
            .state
            .unwrap()
    };
    let plain = with_engine(&whole, 1, u64::MAX);
    let cuts = [whole, drawn.recut(|_, _| true)];
    let random = (0..6).map(|seed| drawn.recut_at_random(seed, 2 + seed));
    for (trace, cut) in cuts.into_iter().chain(random).zip(0..) {
        for jobs in [1, 2, 8] {
            for bytes in [1, 300, u64::MAX] {
                let found = with_engine(&trace, jobs, bytes);
                assert_eq!(found, plain, "cut {cut}, {jobs} workers, {bytes} bytes");
            }
        }
        for from_the_right in [false, true] {
            let found = by_hand(&trace, window, appends, from_the_right);
            assert_eq!(found, plain, "cut {cut}, from the right: {from_the_right}");
        }
    }
    plain
}

/// States travel as text before each merge, and settle only at the end.
fn by_hand(
    trace: &DrawnTrace,
    window: TimeRange,
    appends: Option<&Appends>,
    from_the_right: bool,
) -> StoreReport {
    let concepts = probes::resolve(trace, told::STORE_FACTS);
    let asked = Asked {
        window,
        slowest: usize::MAX,
        level: None,
        keeps: Keeps::Nothing,
        appends,
    };
    let pass = Pass::<Servers>::new(trace, &concepts, asked);
    let decoder = trace.decoder(concepts.projection());
    let travel = |state| serde_json::from_str(&serde_json::to_string(&state).unwrap()).unwrap();
    let mut states: Vec<_> = chunks(trace, 1, TimeRange::ALL)
        .iter()
        .map(|chunk| travel(run_chunk(trace, &*decoder, &pass, chunk).0))
        .collect();
    while states.len() > 1 {
        let position = if from_the_right { states.len() - 2 } else { 0 };
        let later = travel(states.remove(position + 1));
        pass.merge(&mut states[position], later);
    }
    let mut state = states.pop().unwrap_or_default();
    pass.settle(&mut state, Timestamp::MAX);
    let (servers, lost) = pass.finish(travel(state));
    StoreReport::new(servers, lost, &asked)
}

/// `server command client: latency = reading + queueing + executing + waiting + writing`, in the order in
/// which commands were turned to; `?` where no reply was seen.
pub(crate) fn check(text: &str, expected: &str) -> StoreReport {
    let report = ask(text, TimeRange::ALL);
    assert_eq!(shown(&report), lines(expected));
    adds_up(&report);
    report
}

fn lines(text: &str) -> Vec<&str> {
    text.lines()
        .map(str::trim)
        .filter(|line| !line.is_empty())
        .collect()
}

fn shown(report: &StoreReport) -> Vec<String> {
    let mut runs: Vec<_> = report.slowest.iter().collect();
    runs.sort_by_key(|run| (run.start_ns, run.server, run.client));
    let line = |run: &&crate::CommandRun| {
        let parts = run.parts;
        format!(
            "{} {} {}: {}{} = {} + {} + {} + {} + {}",
            run.server,
            run.command,
            run.client.0,
            run.total_ns.get(),
            if run.answered { "" } else { "?" },
            parts.reading_ns.get(),
            parts.queueing_ns.get(),
            parts.executing_ns.get(),
            parts.waiting_ns.get(),
            parts.writing_ns.get()
        )
    };
    runs.iter().map(line).collect()
}

/// Rows of servers, commands and clients come to the same.
fn adds_up(report: &StoreReport) {
    let servers = report.servers.iter();
    let of_servers: Vec<(u64, u64)> = servers
        .map(|row| (row.count, row.latency.total_ns.get()))
        .collect();
    for (row, number) in report.servers.iter().zip(1..) {
        let commands = || report.commands.iter().filter(|row| row.server == number);
        let clients = || report.clients.iter().filter(|row| row.server == number);
        let of_server = of_servers[number as usize - 1];
        let counts = commands().map(|row| row.count).sum();
        let times = commands().map(|row| row.latency.total_ns.get()).sum();
        assert_eq!((counts, times), of_server);
        let counts = clients().map(|row| row.count).sum();
        let times = clients().map(|row| row.total_ns.get()).sum();
        assert_eq!((counts, times), of_server);
        assert_eq!(row.latency.parts.total(), row.latency.total_ns);
        assert_eq!(
            row.bytes_read,
            clients().map(|row| row.bytes_read).sum::<u64>()
        );
        for row in commands() {
            assert_eq!(row.latency.parts.total(), row.latency.total_ns);
        }
    }
}

const LITE: &str = "
    -- domain user
    cpu0 1000 slowpath_redis:command_name number=3 command=get @vpid=7 @vtid=7
    cpu1 1500 slowpath_redis:client_address fd=9 client_id=5 peer_address=10.0.0.1 peer_port=4000 own_address=10.0.0.2 own_port=6379 @vpid=7 @vtid=7
    cpu0 2000 slowpath_redis:batch client_id=5 fd=9 read_thread=7 ended_by=0 unit_ns=1 read_end=10 write_start=70 ended=100 bytes_read=21 bytes_written=11 command=[3,4] start=[10,30] duration=[20,30] @vpid=7 @vtid=7
    cpu0 3000 slowpath_redis:batch client_id=6 fd=10 read_thread=7 ended_by=1 unit_ns=1 read_end=5 write_start=0 ended=50 bytes_read=40 bytes_written=0 command=[3] start=[5] duration=[45] @vpid=7 @vtid=7
    cpu1 3060 slowpath_redis:batch client_id=6 fd=10 read_thread=0 ended_by=0 unit_ns=1 read_end=0 write_start=40 ended=60 bytes_read=0 bytes_written=20 command=[3] start=[0] duration=[40] @vpid=7 @vtid=8
    cpu0 5000 slowpath_redis:batch client_id=8 fd=11 read_thread=7 ended_by=2 unit_ns=1 read_end=10 write_start=0 ended=100 bytes_read=9 bytes_written=0 command=[3] start=[10] duration=[10] @vpid=7 @vtid=7
    cpu1 5100 slowpath_redis:batch client_id=9 fd=12 read_thread=7 ended_by=2 unit_ns=10 read_end=1 write_start=0 ended=10 bytes_read=9 bytes_written=0 command=[0] start=[1] duration=[2] @vpid=7 @vtid=7
    cpu0 6000 slowpath_redis:batch client_id=8 fd=11 read_thread=0 ended_by=0 unit_ns=1 read_end=0 write_start=5 ended=30 bytes_read=0 bytes_written=9 @vpid=7 @vtid=7
    cpu1 6200 slowpath_redis:batch client_id=9 fd=12 read_thread=7 ended_by=3 unit_ns=1 read_end=10 write_start=0 ended=100 bytes_read=9 bytes_written=0 command=[3] start=[10] duration=[20] @vpid=7 @vtid=7
";

#[test]
fn batches_become_commands_with_parts() {
    let report = check(
        LITE,
        "1 get 5: 100 = 10 + 0 + 20 + 40 + 30
         1 command 4 5: 100 = 10 + 20 + 30 + 10 + 30
         1 get 6: 110 = 5 + 0 + 45 + 40 + 20
         1 get 6: 110 = 5 + 45 + 40 + 0 + 20
         1 get 8: 1100 = 10 + 0 + 10 + 1055 + 25
         1 (unknown) 9: 30? = 10 + 0 + 20 + 0 + 0
         1 get 9: 30? = 10 + 0 + 20 + 0 + 0",
    );
    let get = report
        .commands
        .iter()
        .find(|row| row.command == "get")
        .unwrap();
    assert_eq!((get.count, get.unanswered), (5, 1));
    let bytes: Vec<_> = (report.commands.iter())
        .map(|row| (row.command.as_str(), row.bytes_read, row.bytes_written))
        .collect();
    assert_eq!(
        bytes,
        [("get", 69, 35), ("command 4", 10, 5), ("(unknown)", 9, 0)]
    );
    let client = report.clients.iter().find(|row| row.client.0 == 5).unwrap();
    assert_eq!((client.address.as_str(), client.port), ("10.0.0.1", 4000));
    // The write at 3060 was another thread's; that of client 8 began at 5975.
    let busy = report.servers[0].busy;
    let busy = [busy.reading_ns, busy.executing_ns, busy.writing_ns].map(|time| time.get());
    assert_eq!(
        busy,
        [10 + 5 + 10 + 10 + 10, 50 + 85 + 10 + 20 + 20, 30 + 25]
    );
    assert_eq!(report.servers[0].port, 6379);
}

#[test]
fn a_window_has_the_batches_that_ended_in_it() {
    let range = |begin, end| TimeRange::new(Timestamp::from_ns(begin), Timestamp::from_ns(end));
    let report = ask(LITE, range(2500, 6000));
    let expected = "
        1 get 6: 110 = 5 + 0 + 45 + 40 + 20
        1 get 6: 110 = 5 + 45 + 40 + 0 + 20
        1 get 8: 20? = 10 + 0 + 10 + 0 + 0
        1 (unknown) 9: 30? = 10 + 0 + 20 + 0 + 0";
    assert_eq!(shown(&report), lines(expected));
    adds_up(&report);
    let server = &report.servers[0];
    assert_eq!((server.begin_ns, server.end_ns), (2500, 5100));
    assert_eq!(ask(LITE, range(6300, 6400)).slowest, []);
}

/// The batches of `LITE` as agents tell them now: several at once, after they ended.
const TOGETHER: &str = "
    -- domain user
    cpu0 1000 slowpath_redis:command_name number=3 command=get @vpid=7 @vtid=7
    cpu1 1500 slowpath_redis:client_address fd=9 client_id=5 peer_address=10.0.0.1 peer_port=4000 own_address=10.0.0.2 own_port=6379 @vpid=7 @vtid=7
    cpu1 3500 slowpath_redis:batches client_id=[5,6,6] fd=[9,10,10] age=[1600,550,500] read_thread=[7,7,0] write_thread=[7,0,8] ended_by=[0,1,0] unit_ns=[1,1,1] read_end=[10,5,0] write_start=[70,0,40] ended=[100,50,60] bytes_read=[21,40,0] bytes_written=[11,0,20] commands=[2,1,1] command=[3,4,3,3] start=[10,30,5,0] duration=[20,30,45,40] @vpid=7 @vtid=7
    cpu0 6300 slowpath_redis:batches client_id=[8,9,8,9] fd=[11,12,11,12] age=[1400,1300,330,200] read_thread=[7,7,0,7] write_thread=[0,0,7,0] ended_by=[2,2,0,3] unit_ns=[1,10,1,1] read_end=[10,1,0,10] write_start=[0,0,5,0] ended=[100,10,30,100] bytes_read=[9,9,0,9] bytes_written=[0,0,9,0] commands=[1,1,0,1] command=[3,0,3] start=[10,1,10] duration=[10,2,20] @vpid=7 @vtid=7
";

#[test]
fn batches_told_together_are_what_they_are_one_by_one() {
    let windows = [
        TimeRange::ALL,
        TimeRange::new(Timestamp::from_ns(2500), Timestamp::from_ns(6000)),
        TimeRange::new(Timestamp::from_ns(6300), Timestamp::from_ns(6400)),
    ];
    for window in windows {
        assert_eq!(ask(TOGETHER, window), ask(LITE, window), "{window:?}");
    }
    // What is not there is 0, where an event says less than it should.
    let batch = "cpu0 9 slowpath_redis:batches client_id=[5,6] fd=[1] unit_ns=[1] ended=[3,4] bytes_read=[2] \
                 commands=[9,9] command=[1,2] start=[1] @vpid=7 @vtid=7";
    check(
        &format!("-- domain user\n{batch}"),
        "1 command 2 5: 0? = 0 + 0 + 0 + 0 + 0
         1 command 1 5: 1? = 0 + 1 + 0 + 0 + 0",
    );
}

const LIFE_CYCLE: &str = "
    -- domain user
    cpu0 100 slowpath_redis:start_read_client_query fd=9 client_id=5 @vpid=7 @vtid=7
    cpu0 110 slowpath_redis:call_command_start fd=9 client_id=5 command=set @vpid=7 @vtid=7
    cpu1 130 slowpath_redis:call_command_end fd=9 client_id=5 command=set @vpid=7 @vtid=7
    cpu1 132 slowpath_redis:call_command_start fd=9 client_id=5 command=exec @vpid=7 @vtid=7
    cpu1 134 slowpath_redis:call_command_start fd=9 client_id=5 command=set @vpid=7 @vtid=7
    cpu1 136 slowpath_redis:call_command_end fd=9 client_id=5 command=set @vpid=7 @vtid=7
    cpu0 140 slowpath_redis:call_command_end fd=9 client_id=5 command=exec @vpid=7 @vtid=7
    cpu0 145 slowpath_redis:end_read_client_query fd=9 client_id=5 bytes=50 memory=1 @vpid=7 @vtid=7
    cpu0 150 slowpath_redis:write_to_client_start fd=9 client_id=5 @vpid=7 @vtid=7
    cpu0 170 slowpath_redis:write_to_client_end fd=9 client_id=5 bytes=5 @vpid=7 @vtid=7
    cpu1 200 slowpath_redis:start_read_client_query fd=10 client_id=6 @vpid=7 @vtid=7
    cpu1 201 slowpath_redis:end_read_client_query fd=10 client_id=6 bytes=-1 memory=1 @vpid=7 @vtid=7
    cpu0 205 slowpath_redis:start_read_client_query fd=10 client_id=6 @vpid=7 @vtid=8
    cpu0 215 slowpath_redis:end_read_client_query fd=10 client_id=6 bytes=9 memory=1 @vpid=7 @vtid=8
    cpu1 220 slowpath_redis:call_command_start fd=10 client_id=6 command=get @vpid=7 @vtid=7
    cpu1 225 slowpath_redis:call_command_end fd=10 client_id=6 command=get @vpid=7 @vtid=7
    cpu0 230 slowpath_redis:write_to_client_start fd=10 client_id=6 @vpid=7 @vtid=8
    cpu0 240 slowpath_redis:write_to_client_end fd=10 client_id=6 bytes=65536 @vpid=7 @vtid=8
    cpu1 250 slowpath_redis:write_to_client_start fd=10 client_id=6 @vpid=7 @vtid=7
    cpu1 260 slowpath_redis:write_to_client_end fd=10 client_id=6 bytes=9 @vpid=7 @vtid=7
    cpu0 300 slowpath_redis:write_to_client_start fd=11 client_id=7 @vpid=7 @vtid=7
    cpu0 310 slowpath_redis:write_to_client_end fd=11 client_id=7 bytes=30 @vpid=7 @vtid=7
";

#[test]
fn single_events_become_commands_with_parts() {
    let report = check(
        LIFE_CYCLE,
        "1 set 5: 70 = 10 + 0 + 20 + 20 + 20
         1 exec 5: 70 = 10 + 22 + 8 + 10 + 20
         1 get 6: 55 = 10 + 5 + 5 + 5 + 30",
    );
    let set = report
        .commands
        .iter()
        .find(|row| row.command == "set")
        .unwrap();
    assert_eq!((set.count, set.inside), (1, 1));
    // What the other thread read and wrote is not the event loop's.
    let busy = report.servers[0].busy;
    let busy = [busy.reading_ns, busy.executing_ns, busy.writing_ns].map(|time| time.get());
    assert_eq!(busy, [10, 20 + 8 + 5, 20 + 10 + 10]);
    assert_eq!(report.servers[0].batches, 3);
}

/// A script takes so long that Redis serves others meanwhile: it refuses the GET, and executes MULTI and SCRIPT KILL.
const WHILE_A_SCRIPT_IS_EXECUTED: &str = "
    -- domain user
    cpu0 100 slowpath_redis:start_read_client_query fd=9 client_id=5 @vpid=7 @vtid=7
    cpu0 110 slowpath_redis:call_command_start fd=9 client_id=5 command=eval @vpid=7 @vtid=7
    cpu0 120 slowpath_redis:call_command_start fd=-1 client_id=9 command=get @vpid=7 @vtid=7
    cpu0 125 slowpath_redis:call_command_end fd=-1 client_id=9 command=get @vpid=7 @vtid=7
    cpu1 200 slowpath_redis:start_read_client_query fd=10 client_id=6 @vpid=7 @vtid=7
    cpu1 210 slowpath_redis:end_read_client_query fd=10 client_id=6 bytes=9 memory=1 @vpid=7 @vtid=7
    cpu1 220 slowpath_redis:write_to_client_start fd=10 client_id=6 @vpid=7 @vtid=7
    cpu1 230 slowpath_redis:write_to_client_end fd=10 client_id=6 bytes=30 @vpid=7 @vtid=7
    cpu1 300 slowpath_redis:start_read_client_query fd=10 client_id=6 @vpid=7 @vtid=7
    cpu1 310 slowpath_redis:call_command_start fd=10 client_id=6 command=multi @vpid=7 @vtid=7
    cpu1 312 slowpath_redis:call_command_end fd=10 client_id=6 command=multi @vpid=7 @vtid=7
    cpu1 315 slowpath_redis:end_read_client_query fd=10 client_id=6 bytes=9 memory=1 @vpid=7 @vtid=7
    cpu1 320 slowpath_redis:write_to_client_start fd=10 client_id=6 @vpid=7 @vtid=7
    cpu1 330 slowpath_redis:write_to_client_end fd=10 client_id=6 bytes=30 @vpid=7 @vtid=7
    cpu0 400 slowpath_redis:start_read_client_query fd=11 client_id=7 @vpid=7 @vtid=7
    cpu0 410 slowpath_redis:call_command_start fd=11 client_id=7 command=script|kill @vpid=7 @vtid=7
    cpu0 415 slowpath_redis:call_command_end fd=11 client_id=7 command=script|kill @vpid=7 @vtid=7
    cpu0 420 slowpath_redis:end_read_client_query fd=11 client_id=7 bytes=9 memory=1 @vpid=7 @vtid=7
    cpu0 500 slowpath_redis:call_command_end fd=9 client_id=5 command=eval @vpid=7 @vtid=7
    cpu0 505 slowpath_redis:end_read_client_query fd=9 client_id=5 bytes=50 memory=1 @vpid=7 @vtid=7
    cpu0 510 slowpath_redis:write_to_client_start fd=11 client_id=7 @vpid=7 @vtid=7
    cpu0 515 slowpath_redis:write_to_client_end fd=11 client_id=7 bytes=5 @vpid=7 @vtid=7
    cpu0 520 slowpath_redis:write_to_client_start fd=9 client_id=5 @vpid=7 @vtid=7
    cpu0 530 slowpath_redis:write_to_client_end fd=9 client_id=5 bytes=5 @vpid=7 @vtid=7
";

#[test]
fn what_others_send_while_a_script_is_executed_is_their_own() {
    let report = check(
        WHILE_A_SCRIPT_IS_EXECUTED,
        "1 eval 5: 430 = 10 + 0 + 390 + 20 + 10
         1 multi 6: 30 = 10 + 0 + 2 + 8 + 10
         1 script|kill 7: 115 = 10 + 0 + 5 + 95 + 5",
    );
    let mut counts: Vec<_> = (report.commands.iter())
        .map(|row| (row.command.as_str(), row.count, row.inside))
        .collect();
    counts.sort_unstable();
    assert_eq!(
        counts,
        [
            ("eval", 1, 0),
            ("get", 0, 1),
            ("multi", 1, 0),
            ("script|kill", 1, 0)
        ]
    );
    // The time of the script has that of what was done meanwhile.
    let busy = report.servers[0].busy;
    let busy = [busy.reading_ns, busy.executing_ns, busy.writing_ns].map(|time| time.get());
    assert_eq!(busy, [10, 390, 5 + 10]);
}

#[test]
fn batches_count_alone_where_both_levels_were_recorded() {
    let both = format!("{LIFE_CYCLE}{}", LITE.replace("-- domain user", ""));
    let alone = ask(LITE, TimeRange::ALL);
    let report = ask(&both, TimeRange::ALL);
    assert_eq!(shown(&report), shown(&alone));
    assert_eq!(report.commands, alone.commands);
}

#[test]
fn the_level_that_is_asked_for_is_told() {
    let both = format!("{LIFE_CYCLE}{}", LITE.replace("-- domain user", ""));
    let told = |text: &str, level| {
        let trace = DrawnTrace::parse(text).unwrap();
        let outcome = store(&trace, usize::MAX, Some(level), None, &Options::default());
        outcome.unwrap().state.unwrap()
    };
    for (level, alone) in [(Level::Lite, LITE), (Level::LifeCycle, LIFE_CYCLE)] {
        let report = told(&both, level);
        assert_eq!(report.servers[0].level, level);
        assert_eq!(report.commands, ask(alone, TimeRange::ALL).commands);
    }
    assert_eq!(told(LITE, Level::LifeCycle).servers, []);
}

#[test]
fn a_restart_is_another_server_and_so_is_another_process() {
    let batch = "ended_by=0 unit_ns=1 read_end=1 write_start=6 ended=10 bytes_read=9 bytes_written=9 \
                 command=[3] start=[1] duration=[5]";
    let named = |again: &str| {
        format!(
            "-- domain user
            cpu0 100 slowpath_redis:command_name number=3 command=get @vpid=1 @vtid=1
            cpu0 200 slowpath_redis:batch client_id=5 fd=9 {batch} @vpid=1 @vtid=1
            cpu1 250 slowpath_redis:batch client_id=5 fd=9 {batch} @vpid=2 @vtid=2
            cpu1 260 slowpath_redis:command_name number=3 command=ping @vpid=2 @vtid=2
            {again}
            cpu0 400 slowpath_redis:batch client_id=5 fd=9 {batch} @vpid=1 @vtid=1"
        )
    };
    let check = |again: &str, third: &str| {
        let expected = format!(
            "1 get 5: 10 = 1 + 0 + 5 + 0 + 4
             2 ping 5: 10 = 1 + 0 + 5 + 0 + 4
             {third} 5: 10 = 1 + 0 + 5 + 0 + 4"
        );
        check(&named(again), &expected);
    };
    check("", "1 get");
    let name = "cpu1 300 slowpath_redis:command_name number=3";
    check(&format!("{name} command=get @vpid=1 @vtid=1"), "1 get");
    check(&format!("{name} command=set @vpid=1 @vtid=1"), "3 set");
    let address = |port, at| {
        format!(
            "cpu1 {at} slowpath_redis:client_address fd=9 client_id=5 peer_address=::1 peer_port={port} \
             own_address=::1 own_port=1 @vpid=1 @vtid=1\n"
        )
    };
    check(
        &(address(4000, 300) + &address(0, 310) + &address(4000, 320)),
        "1 get",
    );
    check(&(address(4000, 300) + &address(4001, 310)), "3 get");
    let closed =
        "cpu1 300 slowpath_redis:end_read_client_query fd=9 client_id=5 bytes=0 @vpid=1 @vtid=1
                  cpu1 310 slowpath_redis:start_read_client_query fd=9 client_id=5 @vpid=1 @vtid=1";
    check(closed, "3 get");
    // Descriptor 9 has had a later client.
    let later = "cpu1 300 slowpath_redis:client_address fd=9 client_id=6 peer_address=::1 peer_port=1 \
                 own_address=::1 own_port=1 @vpid=1 @vtid=1";
    check(later, "3 get");
}

#[test]
fn what_is_open_where_events_are_missing_ends_there() {
    let text = "
        -- domain user
        cpu0 100 slowpath_redis:start_read_client_query fd=9 client_id=5 @vpid=7 @vtid=7
        cpu0 110 slowpath_redis:call_command_start fd=9 client_id=5 command=get @vpid=7 @vtid=7
        -- lost 3 cpu0
        cpu0 200 slowpath_redis:start_read_client_query fd=9 client_id=5 @vpid=7 @vtid=7
        cpu0 210 slowpath_redis:call_command_start fd=9 client_id=5 command=get @vpid=7 @vtid=7
        cpu0 220 slowpath_redis:call_command_end fd=9 client_id=5 command=get @vpid=7 @vtid=7
        cpu0 225 slowpath_redis:end_read_client_query fd=9 client_id=5 bytes=50 memory=1 @vpid=7 @vtid=7
    ";
    let report = check(text, "1 get 5: 20? = 10 + 0 + 10 + 0 + 0");
    assert_eq!(report.lost, 3);
}

#[test]
fn only_so_many_of_the_slowest_are_told() {
    let batch = |at: u64, ended: u64| {
        format!(
            "cpu0 {at} slowpath_redis:batch client_id=5 fd=9 ended_by=0 unit_ns=1 read_end=0 write_start=0 \
             ended={ended} bytes_read=9 bytes_written=9 command=[3] start=[0] duration=[0] @vpid=1 @vtid=1\n"
        )
    };
    let text: String = (1..=300).map(|n| batch(n * 1000, n * 7919 % 997)).collect();
    let trace = DrawnTrace::parse(&format!("-- domain user\n{text}")).unwrap();
    let report = store(&trace, 3, None, None, &Options::default())
        .unwrap()
        .state
        .unwrap();
    let found: Vec<u64> = report
        .slowest
        .iter()
        .map(|run| run.total_ns.get())
        .collect();
    let mut expected: Vec<u64> = (1..=300).map(|n| n * 7919 % 997).collect();
    expected.sort_unstable_by(|a, b| b.cmp(a));
    assert_eq!(found, expected[..3]);
    assert_eq!(report.commands[0].count, 300);
}
