//! Where the time of commands of a data store went below it: critical paths of the server's main thread.
//!
//! The thread is the one that has the number of its process, as the server itself numbers it. In a container that may
//! be another one on the host, so it is held against who ran when the server turned to its commands.

use std::collections::BTreeMap;

use slowpath_critical_path::{CriticalPath, critical_path};
use slowpath_datastore::{CommandRun, StoreReport};
use slowpath_kernel::timelines::{Doing, Timelines};
use slowpath_model::{Nanoseconds, ProcessId, ThreadId, TimeRange, Timestamp};

/// For each of the slowest commands the critical path of its server's main thread, from the first read of its batch
/// until its last reply was written; `None` where the kernel's events do not tell of that thread.
pub fn store_paths(told: &StoreReport, lines: &Timelines) -> Vec<Option<CriticalPath>> {
    let mut threads: BTreeMap<u32, ThreadId> = BTreeMap::new();
    for server in &told.servers {
        let runs = (told.slowest.iter()).filter(|run| run.server == server.server);
        let starts = runs.map(|run| Timestamp::from_ns(run.start_ns));
        let main = store_thread(lines, server.pid, starts);
        threads.extend(main.map(|main| (server.server, main)));
    }
    let path_of = |run: &CommandRun| {
        let begin = Timestamp::from_ns(run.begin_ns);
        let window = TimeRange::new(begin, begin + run.total_ns);
        Some(critical_path(lines, *threads.get(&run.server)?, window))
    };
    told.slowest.iter().map(path_of).collect()
}

/// The main thread of the server that is this process, by when it turned to commands; `None` where the kernel's events do
/// not tell of it.
pub fn store_thread(
    lines: &Timelines,
    process: Option<ProcessId>,
    starts: impl Iterator<Item = Timestamp>,
) -> Option<ThreadId> {
    let main = ThreadId(process?.0);
    executes(lines, main, starts).then_some(main)
}

/// Whether the thread ran when the server turned to most of these commands, as far as that is known.
fn executes(lines: &Timelines, thread: ThreadId, starts: impl Iterator<Item = Timestamp>) -> bool {
    if lines.threads().binary_search(&thread).is_err() {
        return false;
    }
    let (mut agree, mut differ) = (0, 0);
    for start in starts {
        match lines.stretch_before(thread, start + Nanoseconds(1)).doing {
            Doing::Running { .. } => agree += 1,
            Doing::Unknown => {}
            _ => differ += 1,
        }
    }
    agree >= differ
}

#[cfg(test)]
mod tests {
    use slowpath_datastore::store;
    use slowpath_drawn::DrawnTrace;
    use slowpath_engine::Options;

    use super::*;

    /// A server whose process has the number `pid` reads a command at 100 and has answered it at 900; its thread 7 waits
    /// for a disk until 600 and for a processor until 700.
    fn paths(pid: i32) -> Vec<Option<CriticalPath>> {
        let told = DrawnTrace::parse(&format!(
            "-- domain user
            cpu0 1000 slowpath_redis:batch client_id=5 fd=9 read_thread={pid} ended_by=0 unit_ns=1 read_end=10 \
             write_start=750 ended=800 bytes_read=21 bytes_written=11 command=[3] start=[10] duration=[20] \
             @vpid={pid} @vtid={pid}
            cpu0 1001 slowpath_redis:batch client_id=5 fd=9 read_thread={pid} ended_by=0 unit_ns=1 read_end=1 \
             write_start=3 ended=4 bytes_read=21 bytes_written=11 command=[3] start=[1] duration=[2] \
             @vpid={pid} @vtid={pid}"
        ));
        let kernel = DrawnTrace::parse(
            "cpu0 50 sched_switch prev_comm=swapper prev_tid=0 prev_state=0 next_comm=redis next_tid=7
             cpu0 300 sched_switch prev_comm=redis prev_tid=7 prev_state=2 next_comm=swapper next_tid=0
             cpu0 590 irq_softirq_entry vec=4
             cpu0 600 sched_waking comm=redis tid=7 target_cpu=0
             cpu0 610 irq_softirq_exit vec=4
             cpu0 700 sched_switch prev_comm=swapper prev_tid=0 prev_state=0 next_comm=redis next_tid=7
             cpu0 1500 sched_switch prev_comm=redis prev_tid=7 prev_state=1 next_comm=other next_tid=8
             cpu0 1600 sched_switch prev_comm=other prev_tid=8 prev_state=1 next_comm=swapper next_tid=0",
        );
        let told = store(&told.unwrap(), 10, None, None, &Options::default()).unwrap();
        let lines = Timelines::build(&kernel.unwrap(), &Options::default()).unwrap();
        store_paths(&told.state.unwrap(), &lines.state.unwrap())
    }

    #[test]
    fn the_path_of_a_command_covers_its_latency() {
        let paths = paths(7);
        let told = paths.iter().flatten().map(|path| {
            let window = (path.window.begin.ns(), path.window.end.ns());
            let states = path.segments.iter().map(|segment| {
                format!(
                    "{}..{} {}",
                    segment.range.begin.ns(),
                    segment.range.end.ns(),
                    segment.state.name()
                )
            });
            (window, states.collect::<Vec<_>>().join(", "))
        });
        let slow = "200..300 RUNNING, 300..600 BLOCK_DEVICE, 600..700 WAIT_CPU, 700..1000 RUNNING";
        assert_eq!(
            told.collect::<Vec<_>>(),
            [
                ((200, 1000), slow.to_owned()),
                ((997, 1001), "997..1001 RUNNING".to_owned())
            ]
        );
    }

    #[test]
    fn a_thread_that_did_not_run_when_commands_were_executed_is_another_one() {
        // One that ran later, one that never did.
        assert_eq!(paths(8), [None, None]);
        assert_eq!(paths(9), [None, None]);
    }
}
