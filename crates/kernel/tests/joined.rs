//! Several recordings of one host as one: what lies between them is known to nobody.

use slowpath_drawn::DrawnTrace;
use slowpath_engine::Options;
use slowpath_kernel::cpu::cpu;
use slowpath_kernel::timelines::Timelines;
use slowpath_model::ThreadId;
use slowpath_source::{Joined, Source};

/// A trace in which thread 7 runs from `begin + 10` to its last event at `begin + 30`.
fn recording(begin: u64) -> DrawnTrace {
    let text = format!(
        "
        cpu0 {} sched_switch prev_comm=swapper prev_tid=0 prev_state=0 next_comm=worker next_tid=7
        cpu0 {} tick
        ",
        begin + 10,
        begin + 30,
    );
    DrawnTrace::parse(&text).expect("a trace")
}

#[test]
fn the_time_between_two_recordings_is_nobodys() {
    let (first, second) = (recording(0), recording(1000));
    let in_either_order: [[&dyn Source; 2]; 2] = [[&first, &second], [&second, &first]];
    for sources in in_either_order {
        let joined = Joined::new(sources);
        let outcome = cpu(&joined, &Options::default()).expect("nobody cancels");
        let report = outcome.state.expect("there are events");
        let worker = report.threads.iter().find(|row| row.tid == ThreadId(7));
        // 20 ns in each; the 980 ns between them are not the worker's.
        assert_eq!(worker.map(|row| row.busy_ns.get()), Some(40));
    }
}

#[test]
fn who_ran_last_on_a_processor_that_a_later_recording_lacks_does_not_run_on() {
    let both = "
        cpu0 10 sched_switch prev_comm=swapper prev_tid=0 prev_state=0 next_comm=a next_tid=8
        cpu0 30 tick
        cpu1 10 sched_switch prev_comm=swapper prev_tid=0 prev_state=0 next_comm=worker next_tid=7
        cpu1 30 sched_waking comm=other tid=9 target_cpu=1
    ";
    let both = DrawnTrace::parse(both).expect("a trace");
    let later = "
        cpu0 1010 sched_switch prev_comm=swapper prev_tid=0 prev_state=0 next_comm=a next_tid=8
        cpu0 1030 tick
    ";
    let later = DrawnTrace::parse(later).expect("a trace");
    let joined = Joined::new([&both as &dyn Source, &later]);
    let outcome = cpu(&joined, &Options::default()).expect("nobody cancels");
    let report = outcome.state.expect("there are events");
    let rows = report.cpus.iter();
    let rows: Vec<_> = rows
        .map(|row| (row.busy_ns.get(), row.unknown_ns.get()))
        .collect();
    assert_eq!(rows, [(40, 980), (20, 1000)]);
    let lines = Timelines::build(&joined, &Options::default()).expect("nobody cancels");
    let lines = lines.state.expect("there are events");
    let ran = lines.states(ThreadId(7), lines.range()).running;
    assert_eq!(ran.get(), 20);
}
