//! Time lines are the same wherever they lie, however chunks are cut, and over any road that states
//! take; what they mean is tested with the critical path.

use std::num::NonZeroUsize;

use slowpath_drawn::DrawnTrace;
use slowpath_engine::{Analysis, chunks, run_chunk};
use slowpath_model::{CpuId, Nanoseconds};

use super::gather::Gathered;
use super::*;
use crate::answer::every_way::{contradiction, with_losses};

/// Two processors: wake-ups of both stages, interrupts, a packet that answers a packet, lost
/// packets (of lost events it is not known after which event of a packet, so that cuts matter).
const DRAWING: &str = "
    cpu0  10 sched_switch prev_comm=a prev_tid=7 prev_state=1 next_comm=b next_tid=8
    cpu0  12 sched_waking comm=a tid=7 target_cpu=1
    cpu1  14 sched_switch prev_comm=swapper/1 prev_tid=0 prev_state=0 next_comm=a next_tid=7
    cpu1  15 syscall_entry_read fd=3
    cpu1  16 net_dev_queue skbaddr=0x10 name=lo
    cpu1  17 irq_softirq_entry vec=3
    cpu1  18 net_if_receive_skb skbaddr=0x10 name=lo
    cpu1  19 sched_waking comm=c tid=9 target_cpu=0
    cpu1  20 net_dev_queue skbaddr=0x20 name=lo
    cpu1  21 irq_softirq_exit vec=3
    cpu1  22 sched_switch prev_comm=a prev_tid=7 prev_state=1 next_comm=swapper/1 next_tid=0
    cpu0  24 irq_handler_entry irq=4 name=disk
    cpu0  26 irq_handler_exit irq=4 ret=1
    cpu0  30 sched_switch prev_comm=b prev_tid=8 prev_state=0 next_comm=c next_tid=9
    cpu0  31 irq_softirq_entry vec=3
    cpu0  32 net_if_receive_skb skbaddr=0x20 name=lo
    cpu0  33 sched_waking comm=a tid=7 target_cpu=1
    cpu0  34 irq_softirq_exit vec=3
    cpu1  36 sched_switch prev_comm=swapper/1 prev_tid=0 prev_state=0 next_comm=a next_tid=7
    -- lost-packets 2 cpu0
    cpu0  50 sched_waking comm=d tid=10 target_cpu=0
    cpu0  52 sched_switch prev_comm=c prev_tid=9 prev_state=2 next_comm=d next_tid=10
    cpu1  60 sched_switch prev_comm=a prev_tid=7 prev_state=0 next_comm=b next_tid=8
    cpu0  70 sched_switch prev_comm=d prev_tid=10 prev_state=1 next_comm=swapper/0 next_tid=0
";

/// Everything that is told of every thread, as text.
fn told(lines: &Timelines) -> String {
    let mut text = String::new();
    for &thread in lines.threads() {
        let name = lines.name(thread, Timestamp::from_ns(60));
        text += &format!("{thread:?} {name}\n");
        for stretch in lines.backwards(thread, lines.range()) {
            text += &format!("  {stretch:?}\n");
            if let Doing::Running { cpu } = stretch.doing {
                let interruptions: Vec<_> = lines.interruptions(cpu, stretch.range).collect();
                text += &format!("    {interruptions:?}\n");
            }
        }
    }
    for cpu in lines.processors() {
        text += &format!("nobody known on {cpu}: {:?}\n", unknown_on(lines, cpu.0));
    }
    text
}

fn unknown_on(lines: &Timelines, cpu: u32) -> Vec<(i64, i64)> {
    let ranges = lines.unknown_on(CpuId(cpu));
    ranges
        .map(|range| (range.begin.ns(), range.end.ns()))
        .collect()
}

fn built(trace: &DrawnTrace, memory: usize, jobs: usize) -> String {
    built_in_chunks(trace, memory, jobs, 1)
}

fn built_in_chunks(trace: &DrawnTrace, memory: usize, jobs: usize, chunk_bytes: u64) -> String {
    let shelves = [(); 2].map(|()| Shelf::new(&std::env::temp_dir(), memory));
    let options = Options {
        jobs: NonZeroUsize::new(jobs).unwrap(),
        chunk_bytes: Some(chunk_bytes),
        ..Options::default()
    };
    let outcome = Timelines::build_on(&shelves, trace, &options, false).unwrap();
    assert_eq!(outcome.diagnostics, []);
    told(&outcome.state.unwrap())
}

#[test]
fn a_name_that_comes_back_on_its_processor_holds_again() {
    let trace =
        "cpu0 10 sched_switch prev_comm=x prev_tid=1 prev_state=1 next_comm=alpha next_tid=7
        cpu0 20 sched_switch prev_comm=alpha prev_tid=7 prev_state=1 next_comm=x next_tid=1
        cpu1 30 sched_switch prev_comm=y prev_tid=2 prev_state=1 next_comm=beta next_tid=7
        cpu1 60 sched_switch prev_comm=beta prev_tid=7 prev_state=1 next_comm=y next_tid=2
        cpu0 80 sched_switch prev_comm=x prev_tid=1 prev_state=1 next_comm=alpha next_tid=7
        cpu0 90 sched_switch prev_comm=alpha prev_tid=7 prev_state=1 next_comm=x next_tid=1";
    let trace = DrawnTrace::parse(trace).unwrap();
    for seed in 0..20 {
        let cut = trace.recut_at_random(seed, 1 + seed % 7);
        let lines = Timelines::build(&cut, &Options::default())
            .unwrap()
            .state
            .unwrap();
        let names =
            [15, 29, 30, 60, 61, 90].map(|at| lines.name(ThreadId(7), Timestamp::from_ns(at)));
        assert_eq!(
            names,
            ["alpha", "alpha", "beta", "beta", "beta", "alpha"],
            "{seed}"
        );
    }
}

#[test]
fn threads_that_kthreadd_made_are_of_the_kernel_and_others_are_not() {
    let trace = "cpu0 10 lttng_statedump_process_state tid=2 pid=2 ppid=0 name=kthreadd
        cpu0 11 lttng_statedump_process_state tid=15 pid=15 ppid=2 name=rcu_sched
        cpu0 12 lttng_statedump_process_state tid=30 pid=30 ppid=1 name=python3
        cpu0 20 sched_process_fork parent_comm=kthreadd parent_tid=2 parent_pid=2 child_comm=kworker child_tid=40 child_pid=40
        cpu0 20 sched_process_fork parent_comm=kthreadd parent_tid=2 parent_pid=2 child_comm=kworker child_tid=42 child_pid=42
        cpu0 22 sched_process_fork parent_comm=sh parent_tid=30 parent_pid=30 child_comm=sh child_tid=42 child_pid=42
        cpu0 22 sched_process_fork parent_comm=sh parent_tid=30 parent_pid=30 child_comm=sh child_tid=41 child_pid=41
        cpu0 30 sched_switch prev_comm=python3 prev_tid=30 prev_state=2 next_comm=rcu_sched next_tid=15
        cpu0 40 sched_switch prev_comm=rcu_sched prev_tid=15 prev_state=1 next_comm=kworker next_tid=40";
    let trace = DrawnTrace::parse(trace).unwrap();
    let mut lines = Timelines::build(&trace, &Options::default())
        .unwrap()
        .state
        .unwrap();
    let of_kernel = |lines: &Timelines| {
        [2, 15, 30, 40, 41, 42, 50].map(|thread| lines.is_of_kernel(ThreadId(thread)))
    };
    assert_eq!(
        of_kernel(&lines),
        [true, true, false, true, false, false, false]
    );
    // 42 was the kernel's when the tracer looked.
    lines.add_saved(&[], &[], &[ThreadId(50), ThreadId(42)], &[]);
    assert_eq!(
        of_kernel(&lines),
        [true, true, false, true, false, false, true]
    );
}

#[test]
fn a_stream_of_which_nothing_is_left_leaves_the_same_lines_however_they_are_cut() {
    let text = DRAWING
        .replace("cpu0 ", "sched/cpu0 ")
        .replace("2 cpu0", "2 sched/cpu0");
    let trace = DrawnTrace::parse(&format!("{text}-- cut-off 10 calls/cpu0")).unwrap();
    let expected = built(&trace, usize::MAX, 1);
    for seed in 0..30 {
        let cut = trace.recut_at_random(seed, 1 + seed % 7);
        for chunk_bytes in [1, 1 << 30] {
            assert_eq!(
                built_in_chunks(&cut, usize::MAX, 2, chunk_bytes),
                expected,
                "{seed}"
            );
        }
    }
}

#[test]
fn lines_are_the_same_in_memory_and_in_files_however_they_are_cut() {
    let trace = DrawnTrace::parse(DRAWING).unwrap();
    let expected = built(&trace, usize::MAX, 1);
    let answered = "Packet { sender: (ThreadId(7), Timestamp(16))";
    assert_eq!(expected.matches(answered).count(), 2, "{expected}");
    for seed in 0..30 {
        let cut = trace.recut_at_random(seed, 1 + seed % 7);
        for (memory, jobs) in [(0, 1), (100, 2), (usize::MAX, 8)] {
            assert_eq!(built(&cut, memory, jobs), expected);
        }
    }
}

#[test]
fn streams_that_contradict_each_other_give_the_same_lines_however_they_are_cut() {
    for seed in 0..12 {
        let trace = DrawnTrace::parse(&contradiction(seed)).unwrap();
        let expected = built(&trace, usize::MAX, 1);
        for cut in 0..10 {
            let cut = trace.recut_at_random(cut, 1 + cut % 7);
            assert_eq!(built(&cut, usize::MAX, 2), expected, "seed {seed}");
        }
    }
}

/// Packets that say what was lost are cut once: where they begin is where something is missing.
#[test]
fn what_was_lost_beside_another_stream_is_the_same_in_chunks_of_any_size() {
    for seed in 0..24 {
        let trace = DrawnTrace::parse(&with_losses(&contradiction(seed))).unwrap();
        for cut in [None, Some(3), Some(7)] {
            let cut = cut.map(|every| trace.recut_at_random(seed, every));
            let trace = cut.as_ref().unwrap_or(&trace);
            let expected = built_in_chunks(trace, usize::MAX, 1, u64::MAX);
            for bytes in [1, 300] {
                let found = built_in_chunks(trace, usize::MAX, 2, bytes);
                assert_eq!(found, expected, "seed {seed}, {bytes} bytes");
            }
        }
    }
}

#[test]
fn a_gap_is_from_the_last_event_to_the_next_whatever_these_tell() {
    // Calls are no news about who runs; a chunk that ends or begins with one must not make it news.
    let drawing = "
        cpu0 10 sched_switch prev_comm=a prev_tid=7 prev_state=1 next_comm=b next_tid=8
        cpu0 20 syscall_entry_read fd=3
        cpu0 25 syscall_exit_read ret=1
        -- lost-packets 2 cpu0
        cpu0 40 syscall_entry_read fd=3
        cpu0 45 syscall_exit_read ret=1
        cpu0 50 irq_handler_entry irq=4 name=disk
        cpu0 52 irq_handler_exit irq=4 ret=1
        cpu0 60 sched_switch prev_comm=b prev_tid=8 prev_state=1 next_comm=a next_tid=7";
    // The same where every event says whose context it happened in.
    let in_context = drawing
        .lines()
        .map(|line| match line.trim().split_once(' ') {
            Some(("cpu0", _)) if line.contains(" 10 ") => format!("{line} @tid=7\n"),
            Some(("cpu0", _)) => format!("{line} @tid=8\n"),
            _ => format!("{line}\n"),
        });
    let in_context: String = in_context.collect();
    for drawing in [drawing, &in_context] {
        let trace = DrawnTrace::parse(drawing).unwrap();
        let lines = Timelines::build(&trace, &Options::default()).unwrap();
        assert_eq!(unknown_on(&lines.state.unwrap(), 0), [(25, 40)]);
        let expected = built(&trace, usize::MAX, 1);
        for seed in 0..30 {
            let cut = trace.recut_at_random(seed, 1 + seed % 5);
            assert_eq!(built(&cut, 0, 2), expected);
        }
    }
}

#[test]
fn who_asks_a_disk_runs_where_the_switch_to_it_is_missing() {
    // Thread 7 waits for a page, is woken on an idle processor, and waits for the next one: the tracer misses each switch
    // from the idle thread.
    let turn = |at: i64| {
        format!(
            "cpu0 {} irq_softirq_entry vec=4 @tid=0
             cpu0 {} sched_waking comm=a tid=7 target_cpu=0 @tid=0
             cpu0 {} sched_wakeup comm=a tid=7 target_cpu=0 @tid=0
             cpu0 {} irq_softirq_exit vec=4 @tid=0
             cpu0 {} block_rq_insert dev=1 sector=8 nr_sector=8 bytes=4096 @tid=7
             cpu0 {} block_rq_issue dev=1 sector=8 nr_sector=8 bytes=4096 @tid=7
             cpu0 {} sched_switch prev_comm=a prev_tid=7 prev_state=2 next_comm=swapper/0 next_tid=0 @tid=7\n",
            at + 20,
            at + 21,
            at + 22,
            at + 23,
            at + 30,
            at + 31,
            at + 40,
        )
    };
    let first = "cpu0 40 sched_switch prev_comm=a prev_tid=7 prev_state=2 next_comm=swapper/0 next_tid=0 @tid=7\n";
    let drawing = format!("{first}{}{}", turn(40), turn(80));
    let told = |drawing: &str| {
        let trace = DrawnTrace::parse(drawing).unwrap();
        let expected = built(&trace, usize::MAX, 1);
        for seed in 0..20 {
            let cut = trace.recut_at_random(seed, 1 + seed % 5);
            assert_eq!(built(&cut, 0, 2), expected);
        }
        let lines = Timelines::build(&trace, &Options::default()).unwrap();
        let states = lines.state.unwrap().states(ThreadId(7), range(40, 120));
        let lengths = [
            states.running,
            states.runnable,
            states.blocked,
            states.unknown,
        ];
        lengths.map(|length| length.get())
    };
    assert_eq!(told(&drawing), [20, 16, 44, 0]);
    let blind = drawing.lines().filter(|line| !line.contains("block_"));
    let blind: String = blind.map(|line| format!("{line}\n")).collect();
    assert_eq!(told(&blind)[0], 0);
}

#[test]
fn several_streams_of_a_processor_tell_the_same_as_one() {
    let expected = built(&DrawnTrace::parse(DRAWING).unwrap(), usize::MAX, 1);
    for others in [&[" net_", "irq"][..], &[" syscall_"]] {
        let is_other = |line: &str| others.iter().any(|part| line.contains(part));
        let apart: Vec<String> = (DRAWING.lines())
            .map(|line| match is_other(line) {
                true => line.replace("cpu", "other_cpu"),
                false => line.to_owned(),
            })
            .collect();
        let trace = DrawnTrace::parse(&apart.join("\n")).unwrap();
        let of_two_streams = interleaved(&trace, false);
        assert!(!of_two_streams.is_empty(), "{others:?}");
        for seed in 0..10 {
            let cut = trace.recut_at_random(seed, 3);
            assert_eq!(built(&cut, 0, 2), expected, "{others:?}");
        }
    }
}

#[test]
fn states_may_travel_as_text() {
    let trace = DrawnTrace::parse(DRAWING).unwrap().recut_at_random(1, 4);
    let shelf = Shelf::new(&std::env::temp_dir(), 0);
    let concepts = Concepts::resolve(trace.schema(), gather::FACTS);
    let mut projection = concepts.projection().clone();
    let gather = Gather {
        concepts: &concepts,
        contexts: Contexts::of_wanted(trace.schema(), &mut projection),
        shelf: &shelf,
        interleaved: Default::default(),
        packets_recorded: true,
        goes_on: gather::goes_on(&concepts),
    };
    let decoder = trace.decoder(&projection);
    let mut merged = Gathered::default();
    for chunk in chunks(&trace, 1, TimeRange::ALL) {
        let (state, _) = run_chunk(&trace, &*decoder, &gather, &chunk);
        let text = serde_json::to_string(&state).unwrap();
        gather.merge(&mut merged, serde_json::from_str(&text).unwrap());
    }
    let range = merged.range().unwrap();
    let assembly = Assembly {
        known: Known {
            begin: range.begin.ns(),
            end: range.end.ns(),
            packets: true,
            timers: false,
            wakes: true,
            interrupts: false,
            headers: false,
        },
        shelf: &shelf,
        jobs: NonZeroUsize::MIN,
        cancel: None,
    };
    let calls = concepts.syscall_names().to_vec();
    let lines = assembly
        .assemble(merged.pieces, |_| false, &[], calls)
        .unwrap();
    assert_eq!(told(&lines), built(&trace, usize::MAX, 1));
}

#[test]
fn lines_without_a_folder_for_files_say_so() {
    let trace = DrawnTrace::parse(DRAWING).unwrap();
    let shelves = [(); 2].map(|()| Shelf::new(std::path::Path::new("/nowhere"), 0));
    let outcome = Timelines::build_on(&shelves, &trace, &Options::default(), false).unwrap();
    assert_eq!(told(&outcome.state.unwrap()), built(&trace, 0, 1));
    let codes: Vec<_> = outcome.diagnostics.iter().map(|found| found.code).collect();
    assert_eq!(codes, [DiagnosticCode::NoTemporaryFile]);
}

#[test]
fn building_can_be_stopped() {
    let trace = DrawnTrace::parse(DRAWING).unwrap();
    let stop = std::sync::atomic::AtomicBool::new(true);
    let options = Options {
        cancel: Some(&stop),
        ..Options::default()
    };
    assert_eq!(Timelines::build(&trace, &options).unwrap_err(), Cancelled);
}

#[test]
fn processors_have_any_number() {
    let numbers = [0, 65_535, 65_536, u32::MAX];
    for cpu in numbers {
        let trace = format!(
            "cpu{cpu} 10 sched_switch prev_comm=idle prev_tid=0 prev_state=0 next_comm=a next_tid=7
             cpu{cpu} 20 sched_wakeup comm=b tid=8
             cpu{cpu} 30 sched_switch prev_comm=a prev_tid=7 prev_state=0 next_comm=b next_tid=8"
        );
        let trace = DrawnTrace::parse(&trace).unwrap();
        let lines = Timelines::build(&trace, &Options::default()).unwrap();
        let lines = lines.state.unwrap();
        let stretch = lines.stretch_before(ThreadId(7), Timestamp::from_ns(30));
        let cpu = CpuId(cpu);
        assert_eq!(stretch.doing, Doing::Running { cpu });
        let stretch = lines.stretch_before(ThreadId(8), Timestamp::from_ns(20));
        let Doing::Blocked {
            wake: Some(wake), ..
        } = stretch.doing
        else {
            panic!("{stretch:?}");
        };
        assert_eq!((wake.cpu, wake.by), (cpu, Waker::Thread(ThreadId(7))));
    }
}

#[test]
fn a_signal_is_known_where_the_switch_behind_it_is_missing() {
    // 7 waits in futex until 8 sends it a signal; after the switch from the idle thread or from 9, or without either.
    let drawing = |switch: &str| {
        format!(
            "cpu0 10 sched_switch prev_comm=idle prev_tid=0 prev_state=0 next_comm=a next_tid=7 @tid=0
             cpu0 20 syscall_entry_futex op=0 @tid=7
             cpu0 30 sched_switch prev_comm=a prev_tid=7 prev_state=1 next_comm=c next_tid=9 @tid=7
             cpu1 10 sched_switch prev_comm=idle prev_tid=0 prev_state=0 next_comm=b next_tid=8 @tid=0
             cpu1 40 sched_waking comm=a tid=7 target_cpu=0 @tid=8
             cpu0 41 sched_wakeup comm=a tid=7 target_cpu=0 @tid=9
             {switch}
             cpu0 60 syscall_exit_futex ret=-512 @tid=7
             cpu0 70 sched_switch prev_comm=a prev_tid=7 prev_state=1 next_comm=idle next_tid=0 @tid=7"
        )
    };
    let seen =
        "cpu0 50 sched_switch prev_comm=c prev_tid=9 prev_state=0 next_comm=a next_tid=7 @tid=9";
    for switch in [seen, ""] {
        let trace = DrawnTrace::parse(&drawing(switch)).unwrap();
        let lines = Timelines::build(&trace, &Options::default()).unwrap();
        let stretch =
            (lines.state.as_ref().unwrap()).stretch_before(ThreadId(7), Timestamp::from_ns(40));
        let Doing::Blocked { wake, call, .. } = stretch.doing else {
            panic!("{stretch:?}");
        };
        assert_eq!(call, Some("futex"));
        assert!(wake.is_some_and(|wake| wake.by_signal), "{switch}");
    }
}

#[test]
fn a_thread_is_one_of_which_there_is_more_than_signals() {
    // 8 sends a signal to a process whose first thread is 6, and 7 wakes for it; later one that nobody wakes for.
    let drawing = "
        cpu0 10 sched_switch prev_comm=idle prev_tid=0 prev_state=0 next_comm=b next_tid=8 @tid=0
        cpu0 20 sched_waking comm=a tid=7 target_cpu=0 @tid=8
        cpu0 21 sched_wakeup comm=a tid=7 target_cpu=0 @tid=8
        cpu0 22 signal_generate sig=14 comm=a pid=6 group=1 result=0 @tid=8
        cpu0 40000 signal_generate sig=14 comm=a pid=6 group=1 result=0 @tid=8";
    let trace = DrawnTrace::parse(drawing).unwrap();
    let lines = Timelines::build(&trace, &Options::default()).unwrap();
    let lines = lines.state.as_ref().unwrap();
    assert_eq!(lines.threads(), [ThreadId(7), ThreadId(8)]);
}

#[test]
fn a_signal_to_a_process_is_what_its_thread_was_woken_for() {
    // 8 wakes 7 and sends a signal: to the process whose first thread is 6, to thread 6, or after something else.
    let drawing = |between: &str, group: i32| {
        format!(
            "cpu0 10 sched_switch prev_comm=a prev_tid=7 prev_state=1 next_comm=b next_tid=8 @tid=7
             cpu0 20 sched_waking comm=a tid=7 target_cpu=0 @tid=8
             {between}
             cpu0 24 signal_generate sig=14 comm=a pid=6 group={group} result=0 @tid=8
             cpu0 30 sched_switch prev_comm=b prev_tid=8 prev_state=1 next_comm=a next_tid=7 @tid=8
             cpu0 40 sched_switch prev_comm=a prev_tid=7 prev_state=1 next_comm=idle next_tid=0 @tid=7"
        )
    };
    let interrupt = "cpu0 22 irq_handler_entry irq=1 name=x @tid=8
             cpu0 23 irq_handler_exit irq=1 ret=1 @tid=8";
    // The lock that 7 waits for is given up, and then the signal is sent, which others take.
    let call = "cpu0 22 syscall_exit_futex ret=1 @tid=8
             cpu0 23 syscall_entry_kill pid=6 sig=14 @tid=8";
    let cases = [
        ("", 1, true),
        ("", 0, false),
        (interrupt, 1, false),
        (call, 1, false),
    ];
    for (between, group, expected) in cases {
        let trace = DrawnTrace::parse(&drawing(between, group)).unwrap();
        let lines = Timelines::build(&trace, &Options::default()).unwrap();
        let lines = lines.state.as_ref().unwrap();
        let stretch = lines.stretch_before(ThreadId(7), Timestamp::from_ns(20));
        let Doing::Blocked { wake, .. } = stretch.doing else {
            panic!("{stretch:?}");
        };
        assert_eq!(
            wake.map(|wake| wake.for_signal),
            Some(expected),
            "{between} {group}"
        );
    }
}

#[test]
fn what_no_signal_wakes_for_was_something_else() {
    // 8 gives 7 a lock, and then a signal is sent to 7's process: one that nobody takes (result 1) or that it has already
    // (2), or 8 has ended (17 with codes 1 to 3). That it was stopped (5) it tells while it keeps what it has.
    let cases = [
        ("sig=14 errno=0 code=0", 0, true),
        ("sig=14 errno=0 code=0", 4, true),
        ("sig=14 errno=0 code=0", 1, false),
        ("sig=14 errno=0 code=0", 2, false),
        ("sig=17 errno=0 code=1", 0, false),
        ("sig=17 errno=0 code=2", 1, false),
        ("sig=17 errno=0 code=5", 0, true),
    ];
    for (signal, result, expected) in cases {
        let drawing = format!(
            "cpu0 10 sched_switch prev_comm=a prev_tid=7 prev_state=1 next_comm=b next_tid=8 @tid=7
             cpu0 20 sched_waking comm=a tid=7 target_cpu=0 @tid=8
             cpu0 24 signal_generate {signal} comm=a pid=7 group=1 result={result} @tid=8
             cpu0 30 sched_switch prev_comm=b prev_tid=8 prev_state=1 next_comm=a next_tid=7 @tid=8
             cpu0 40 sched_switch prev_comm=a prev_tid=7 prev_state=1 next_comm=idle next_tid=0 @tid=7"
        );
        let trace = DrawnTrace::parse(&drawing).unwrap();
        let lines = Timelines::build(&trace, &Options::default()).unwrap();
        let lines = lines.state.as_ref().unwrap();
        let stretch = lines.stretch_before(ThreadId(7), Timestamp::from_ns(20));
        let Doing::Blocked { wake, .. } = stretch.doing else {
            panic!("{stretch:?}");
        };
        let for_signal = wake.map(|wake| wake.for_signal);
        assert_eq!(for_signal, Some(expected), "{signal} {result}");
    }
}

#[test]
fn events_tell_who_runs_where_a_switch_is_missing() {
    // 9 went unseen, and 7 came in its place: it wakes 8. Nor is it told that 5 ran before the idle thread.
    let drawing = "
        cpu0 10 sched_switch prev_comm=idle prev_tid=0 prev_state=0 next_comm=c next_tid=9 @tid=0
        cpu0 20 irq_handler_entry irq=1 name=x @tid=9
        cpu0 21 irq_handler_exit irq=1 ret=1 @tid=9
        cpu0 30 sched_waking comm=b tid=8 target_cpu=1 @tid=7
        cpu0 35 softirq_entry vec=1 @tid=7
        cpu0 37 softirq_exit vec=1 @tid=7
        cpu0 40 sched_switch prev_comm=a prev_tid=7 prev_state=1 next_comm=idle next_tid=0 @tid=7
        cpu0 50 sched_waking comm=b tid=6 target_cpu=1 @tid=5
        cpu0 60 sched_switch prev_comm=d prev_tid=5 prev_state=1 next_comm=idle next_tid=0 @tid=5
        cpu1 10 sched_switch prev_comm=b prev_tid=8 prev_state=1 next_comm=idle next_tid=0 @tid=8
        cpu1 32 sched_switch prev_comm=idle prev_tid=0 prev_state=0 next_comm=b next_tid=8 @tid=0
        cpu1 60 irq_handler_entry irq=1 name=x @tid=8";
    let trace = DrawnTrace::parse(drawing).unwrap();
    let lines = Timelines::build(&trace, &Options::default()).unwrap();
    let lines = lines.state.unwrap();
    let before = |thread, at| lines.stretch_before(ThreadId(thread), Timestamp::from_ns(at));
    let Doing::Blocked { wake, .. } = before(8, 30).doing else {
        panic!("{:?}", before(8, 30));
    };
    assert_eq!(wake.map(|wake| wake.by), Some(Waker::Thread(ThreadId(7))));
    let cpu = CpuId(0);
    assert_eq!(before(9, 21).doing, Doing::Running { cpu });
    assert_eq!(before(9, 30).doing, Doing::Unknown);
    assert_eq!(before(7, 30).doing, Doing::Unknown);
    let range = |begin, end| TimeRange::new(Timestamp::from_ns(begin), Timestamp::from_ns(end));
    assert_eq!(
        (before(7, 40).doing, before(7, 40).range),
        (Doing::Running { cpu }, range(30, 40))
    );
    assert_eq!(
        (before(5, 60).doing, before(5, 60).range),
        (Doing::Running { cpu }, range(50, 60))
    );
    let expected = built(&trace, usize::MAX, 1);
    for seed in 0..30 {
        let cut = trace.recut_at_random(seed, 1 + seed % 5);
        assert_eq!(built(&cut, 0, 2), expected);
    }
}

#[test]
fn nothing_tells_how_long_a_thread_ran_in_a_trace_without_switches() {
    // 7 and 8 call twice each, and nothing is told in between.
    let states = |switch: &str| {
        let drawing = format!(
            "cpu0 10 syscall_entry_read fd=3 @tid=7
             cpu0 90 syscall_exit_read ret=1 @tid=7
             cpu1 10 syscall_entry_read fd=3 @tid=8
             cpu1 50 syscall_exit_read ret=1 @tid=8
             {switch}
             cpu1 100 irq_handler_entry irq=1 name=x @tid=0"
        );
        let trace = DrawnTrace::parse(&drawing).unwrap();
        let lines = Timelines::build(&trace, &Options::default()).unwrap();
        let lines = lines.state.unwrap();
        let states = [7, 8].map(|thread| lines.states(ThreadId(thread), lines.range()));
        (
            states.map(|states| [states.running, states.unknown].map(Nanoseconds::get)),
            [0, 1].map(|cpu| unknown_on(&lines, cpu)),
        )
    };
    let all = || vec![(10, 100)];
    assert_eq!(states(""), ([[0, 90]; 2], [all(), all()]));
    // Where switches of any processor are told, nobody takes another one's place unseen.
    let switch =
        "cpu1 50 sched_switch prev_comm=b prev_tid=8 prev_state=1 next_comm=i next_tid=0 @tid=8";
    assert_eq!(states(switch).0, [[90, 0], [40, 0]]);
}

#[test]
fn who_is_woken_does_not_wait_for_a_processor_in_a_trace_without_switches() {
    let drawing = "cpu0 10 sched_wakeup comm=a tid=7 target_cpu=0 @tid=0
         cpu0 40 sched_wakeup comm=b tid=8 target_cpu=0 @tid=7
         cpu1 70 sched_wakeup comm=a tid=7 target_cpu=0 @tid=0
         cpu1 90 sched_wakeup comm=c tid=9 target_cpu=0 @tid=0";
    let trace = DrawnTrace::parse(drawing).unwrap();
    let lines = Timelines::build(&trace, &Options::default()).unwrap();
    let lines = lines.state.unwrap();
    for thread in [7, 8].map(ThreadId) {
        let states = lines.states(thread, lines.range());
        assert_eq!(states.unknown, lines.range().length(), "{states:?}");
    }
}

#[test]
fn what_a_trace_without_switches_says_of_threads_is_unknown_beside_one_with_switches() {
    // 7 and 8 run, then 7 sleeps; in the other trace 9 wakes it, and nothing tells that it sleeps again. In ms.
    let drawn = |lines: &[(u32, i64, &str)]| {
        let line = |(cpu, at, rest): &(u32, i64, &str)| format!("cpu{cpu} {at}000000 {rest}\n");
        DrawnTrace::parse(&lines.iter().map(line).collect::<String>()).unwrap()
    };
    let states = |begin: i64| {
        let with = drawn(&[
            (
                0,
                1000,
                "sched_switch prev_tid=0 prev_state=0 next_tid=7 @tid=0",
            ),
            (
                1,
                1000,
                "sched_switch prev_tid=0 prev_state=0 next_tid=8 @tid=0",
            ),
            (
                0,
                4000,
                "sched_switch prev_tid=7 prev_state=1 next_tid=0 @tid=7",
            ),
            (
                1,
                5000,
                "sched_switch prev_tid=8 prev_state=1 next_tid=0 @tid=8",
            ),
        ]);
        let without = drawn(&[
            (0, begin, "syscall_entry_read fd=3 @tid=7"),
            (
                1,
                begin + 5000,
                "sched_wakeup comm=a tid=7 target_cpu=0 @tid=9",
            ),
            (0, begin + 6000, "syscall_exit_read ret=1 @tid=7"),
            (1, begin + 7000, "syscall_entry_read fd=3 @tid=9"),
        ]);
        let joined = slowpath_source::Joined::new([&with as &dyn Source, &without]);
        let lines = Timelines::build(&joined, &Options::default()).unwrap();
        let lines = lines.state.unwrap();
        [7, 8, 9].map(|thread| {
            assert!(lines.threads().contains(&ThreadId(thread)), "{thread}");
            let states = lines.states(ThreadId(thread), lines.range());
            let parts = [
                states.running,
                states.runnable,
                states.blocked,
                states.unknown,
            ];
            parts.map(|part| part.get() / 1_000_000)
        })
    };
    // One after the other: all is unknown from the last event of any processor with switches on.
    assert_eq!(
        states(10_000),
        [
            [3000, 0, 0, 13_000],
            [4000, 0, 0, 12_000],
            [0, 0, 0, 16_000]
        ]
    );
    // Side by side, as long as both are there.
    assert_eq!(
        states(2000),
        [[3000, 0, 0, 5000], [4000, 0, 0, 4000], [0, 0, 0, 8000]]
    );
}

#[test]
fn of_a_processor_whose_stream_ends_early_or_is_gone_nothing_is_known() {
    const WAITS: &str = "
        cpu0 10 sched_switch prev_comm=a prev_tid=7 prev_state=1 next_comm=b next_tid=8
        cpu0 20 sched_waking comm=a tid=7 target_cpu=1
        cpu0 90 sched_switch prev_comm=b prev_tid=8 prev_state=1 next_comm=a next_tid=7
        cpu0 100 sched_switch prev_comm=a prev_tid=7 prev_state=1 next_comm=b next_tid=8
    ";
    let other =
        "cpu1 30 sched_switch prev_comm=c prev_tid=9 prev_state=1 next_comm=swapper/1 next_tid=0";
    let doing = |text: &str, asked: TimeRange| {
        let trace = DrawnTrace::parse(&format!("{WAITS}{text}")).unwrap();
        let options = Options {
            range: asked,
            ..Options::default()
        };
        let lines = Timelines::build(&trace, &options).unwrap().state.unwrap();
        let stretches = lines.backwards(ThreadId(7), range(20, 90));
        let states = stretches.map(|stretch| match stretch.doing {
            Doing::WaitingForCpu => "waits",
            Doing::Unknown => "unknown",
            _ => "else",
        });
        (states.collect::<Vec<_>>(), unknown_on(&lines, 1))
    };
    let all = TimeRange::ALL;
    assert_eq!(doing(other, all), (vec!["waits"], vec![]));
    let cut = format!("{other}\n-- cut-off 40 cpu1");
    assert_eq!(
        doing(&cut, all),
        (vec!["unknown", "waits"], vec![(30, 100)])
    );
    let gone = "-- cut-off 10 cpu1";
    assert_eq!(doing(gone, all), (vec!["unknown"], vec![(10, 100)]));
    // What is missing is missed in a window as well that none of the stream's packets touches.
    assert_eq!(doing(&cut, range(85, 101)).1, [(85, 100)]);
}

#[test]
fn a_run_from_the_idle_thread_whose_switch_is_missing_may_have_begun_earlier() {
    // 8 is woken twice; only the second switch to it is told.
    let drawing = "
        cpu0 10 sched_switch prev_comm=b prev_tid=8 prev_state=1 next_comm=idle next_tid=0 @tid=8
        cpu0 20 sched_wakeup comm=b tid=8 target_cpu=0 @tid=0
        cpu0 30 irq_handler_entry irq=1 name=x @tid=8
        cpu0 31 irq_handler_exit irq=1 ret=1 @tid=8
        cpu0 40 sched_switch prev_comm=b prev_tid=8 prev_state=1 next_comm=idle next_tid=0 @tid=8
        cpu0 50 sched_wakeup comm=b tid=8 target_cpu=0 @tid=0
        cpu0 60 sched_switch prev_comm=idle prev_tid=0 prev_state=0 next_comm=b next_tid=8 @tid=0
        cpu0 70 sched_switch prev_comm=b prev_tid=8 prev_state=1 next_comm=idle next_tid=0 @tid=8";
    let trace = DrawnTrace::parse(drawing).unwrap();
    let lines = Timelines::build(&trace, &Options::default()).unwrap();
    let lines = lines.state.unwrap();
    let perhaps: Vec<TimeRange> = lines.perhaps_ran(ThreadId(8)).collect();
    let range = TimeRange::new(Timestamp::from_ns(20), Timestamp::from_ns(30));
    assert_eq!(perhaps, [range]);
}

#[test]
fn a_thread_that_is_created_after_a_loss_lives_from_then_on() {
    let drawing = "
        cpu0 10 sched_switch prev_comm=swapper prev_tid=0 prev_state=0 next_comm=a next_tid=7
        -- lost-packets 1 cpu1
        cpu1 50 irq_handler_entry irq=4 name=disk
        cpu1 55 irq_handler_exit irq=4 ret=1
        cpu0 60 sched_wakeup_new comm=b tid=8 target_cpu=1
        cpu1 70 sched_switch prev_comm=swapper prev_tid=0 prev_state=0 next_comm=b next_tid=8
        cpu1 90 sched_switch prev_comm=b prev_tid=8 prev_state=0 next_comm=swapper next_tid=0";
    let trace = DrawnTrace::parse(drawing).unwrap();
    let lines = Timelines::build(&trace, &Options::default()).unwrap();
    let lines = lines.state.unwrap();
    let before = lines.stretch_before(ThreadId(8), Timestamp::from_ns(40));
    assert_eq!(before.doing, Doing::Unknown);
    assert_eq!(lines.life(ThreadId(8)), range(60, 90));
    assert_eq!(lines.creator(ThreadId(8)), Some(ThreadId(7)));
}
