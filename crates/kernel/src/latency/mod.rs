//! How long things took: system calls, interrupts, disk requests, and threads that were woken and
//! waited for a processor.
//!
//! What is measured from where to where is in docs/reference/definitions.md. Each kind is an analysis
//! of its own, because each wants other events.

mod block;
mod calls;
mod interrupts;
mod wakeup;

use std::cmp::Reverse;

use serde::{Deserialize, Serialize};
use slowpath_engine::{Cancelled, Distribution, Options, Outcome};
use slowpath_model::Nanoseconds;
use slowpath_source::Source;
use utoipa::ToSchema;

use crate::Window;
use crate::answer::answer;

/// What is measured.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum LatencyKind {
    /// System calls, from entry to exit.
    #[default]
    Syscall,
    /// Handlers of device interrupts.
    Irq,
    /// Softirqs.
    Softirq,
    /// Disk requests, from issue to completion.
    Block,
    /// Threads, from being woken to running.
    Wakeup,
}

/// How long things took.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
pub struct LatencyReport {
    /// What was measured.
    pub kind: LatencyKind,
    /// First point of the window, nanoseconds since the Unix epoch.
    pub begin_ns: i64,
    /// End of the window.
    pub end_ns: i64,
    /// By name, of each host the largest total first.
    pub entries: Vec<LatencyRow>,
}

/// One call, interrupt, disk or thread.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
#[schema(as = LatencyEntry)]
pub struct LatencyRow {
    /// Its name.
    pub name: String,
    /// How many were measured.
    pub count: u64,
    /// The shortest.
    pub min_ns: Nanoseconds,
    /// The mean, rounded down.
    pub mean_ns: Nanoseconds,
    /// The median, by nearest rank.
    pub p50_ns: Nanoseconds,
    /// The 99th percentile, by nearest rank.
    pub p99_ns: Nanoseconds,
    /// The longest.
    pub max_ns: Nanoseconds,
    /// The sum.
    pub total_ns: Nanoseconds,
}

/// Measures `kind` in `options.range` of `source`, a kernel trace.
pub fn latency(
    source: &dyn Source,
    kind: LatencyKind,
    options: &Options<'_>,
) -> Result<Outcome<LatencyReport>, Cancelled> {
    let range = options.range;
    match kind {
        LatencyKind::Syscall => {
            let calls = calls::Calls::new(source, range);
            let outcome = answer(source, &calls, options)?;
            match calls.has_overlaps() {
                true => answer(source, &calls::Calls::interleaved(source, range), options),
                false => Ok(outcome),
            }
        }
        LatencyKind::Irq => answer(
            source,
            &interrupts::Interrupts::irqs(source, range),
            options,
        ),
        LatencyKind::Softirq => answer(
            source,
            &interrupts::Interrupts::softirqs(source, range),
            options,
        ),
        LatencyKind::Block => answer(source, &block::Block::new(source, range), options),
        LatencyKind::Wakeup => answer(source, &wakeup::Wakeups::new(source, range), options),
    }
}

fn report(
    kind: LatencyKind,
    window: Window,
    distributions: impl Iterator<Item = (String, Distribution)>,
) -> LatencyReport {
    let mut entries: Vec<LatencyRow> = distributions
        .filter_map(|(name, distribution)| {
            let summary = distribution.summary()?;
            Some(LatencyRow {
                name,
                count: summary.count,
                min_ns: summary.min,
                mean_ns: summary.mean,
                p50_ns: summary.p50,
                p99_ns: summary.p99,
                max_ns: summary.max,
                total_ns: summary.total,
            })
        })
        .collect();
    entries.sort_by(|a, b| {
        let key = |row: &LatencyRow| (Reverse(row.total_ns), Reverse(row.count));
        key(a).cmp(&key(b)).then_with(|| a.name.cmp(&b.name))
    });
    LatencyReport {
        kind,
        begin_ns: window.begin.ns(),
        end_ns: window.end.ns(),
        entries,
    }
}

#[cfg(test)]
mod tests {
    use slowpath_drawn::DrawnTrace;
    use slowpath_model::{TimeRange, Timestamp};

    use super::*;
    use crate::answer::every_way::{ask, ask_of_overlaps, contradiction, with_losses};

    fn measure(kind: LatencyKind, text: &str, range: TimeRange) -> LatencyReport {
        let trace = DrawnTrace::parse(text).unwrap();
        match kind {
            LatencyKind::Syscall => ask(&trace, |source| calls::Calls::new(source, range)),
            LatencyKind::Irq => ask(&trace, |source| interrupts::Interrupts::irqs(source, range)),
            LatencyKind::Softirq => ask(&trace, |source| {
                interrupts::Interrupts::softirqs(source, range)
            }),
            LatencyKind::Block => ask(&trace, |source| block::Block::new(source, range)),
            LatencyKind::Wakeup => ask(&trace, |source| wakeup::Wakeups::new(source, range)),
        }
    }

    fn rows(report: &LatencyReport) -> Vec<String> {
        let row = |row: &LatencyRow| {
            format!(
                "{}: {} of {}..{}",
                row.name,
                row.count,
                row.min_ns.get(),
                row.max_ns.get()
            )
        };
        report.entries.iter().map(row).collect()
    }

    /// Names with how many of which lengths.
    fn check(kind: LatencyKind, text: &str, expected: &[&str]) {
        assert_eq!(
            rows(&measure(kind, text, TimeRange::ALL)),
            expected,
            "{text}"
        );
    }

    #[test]
    fn calls_of_threads_that_two_processors_tell_of_at_once_do_not_depend_on_chunks() {
        ask_of_overlaps(|source, options| {
            let outcome = latency(source, LatencyKind::Syscall, options).unwrap();
            rows(&outcome.state.unwrap())
        });
    }

    #[test]
    fn calls_last_from_entry_to_exit_on_any_processor() {
        check(
            LatencyKind::Syscall,
            "cpu0 10 sched_switch prev_tid=0 next_tid=7
             cpu0 20 syscall_entry_read
             cpu0 23 syscall_exit_read ret=1
             cpu0 30 syscall_entry_read
             cpu0 35 sched_switch prev_tid=7 next_tid=8
             cpu0 36 syscall_entry_futex
             cpu0 40 sched_switch prev_tid=8 next_tid=0
             cpu1 50 sched_switch prev_tid=0 next_tid=7
             cpu1 90 syscall_exit_read ret=-4
             cpu1 91 syscall_entry_write
             cpu1 92 sched_switch prev_tid=7 next_tid=0
             cpu0 95 sched_switch prev_tid=0 next_tid=8
             cpu0 96 syscall_exit_futex ret=0",
            &["read: 2 of 3..60", "futex: 1 of 60..60"],
        );
    }

    #[test]
    fn a_call_that_stays_on_its_processor_is_measured_whatever_is_missing_elsewhere() {
        let text = "cpu0 10 sched_switch prev_tid=0 next_tid=7
             cpu0 20 syscall_entry_read
             cpu0 30 tick
             cpu0 60 syscall_exit_read ret=1
             cpu0 70 syscall_entry_write
             cpu0 75 sched_switch prev_tid=7 next_tid=8
             cpu0 76 sched_switch prev_tid=8 next_tid=7
             cpu0 90 syscall_exit_write ret=1
             cpu1 5 tick";
        check(
            LatencyKind::Syscall,
            &format!("{text}\n-- cut-off 6 cpu1"),
            &["read: 1 of 40..40"],
        );
        // Where nothing is missing, so is one that was left.
        check(
            LatencyKind::Syscall,
            &format!("{text}\ncpu1 100 tick"),
            &["read: 1 of 40..40", "write: 1 of 20..20"],
        );
    }

    #[test]
    fn an_exit_of_another_call_ends_the_one_that_was_entered() {
        check(
            LatencyKind::Syscall,
            "cpu0 10 sched_switch prev_tid=0 next_tid=7
             cpu0 20 syscall_entry_read
             cpu0 30 syscall_exit_write ret=1
             cpu0 40 syscall_exit_read ret=1
             cpu0 50 syscall_entry_read
             cpu0 55 syscall_exit_read ret=1
             cpu1 5 tick
             -- cut-off 6 cpu1",
            &["read: 1 of 5..5"],
        );
    }

    #[test]
    fn without_switches_calls_are_told_apart_by_their_threads() {
        check(
            LatencyKind::Syscall,
            "cpu0 10 syscall_entry_read @tid=7
             cpu0 20 syscall_entry_read @tid=8
             cpu0 25 syscall_exit_read ret=1 @tid=7
             cpu0 50 syscall_exit_read ret=1 @tid=8",
            &["read: 2 of 15..30"],
        );
    }

    #[test]
    fn what_was_measured_in_a_chunk_ends_what_was_entered_before() {
        check(
            LatencyKind::Syscall,
            "cpu0 5 sched_switch prev_tid=0 next_tid=7
             cpu0 10 syscall_entry_read
             cpu0 20 syscall_entry_write
             cpu0 30 syscall_exit_write ret=1
             cpu0 40 syscall_exit_read ret=1",
            &["write: 1 of 10..10"],
        );
    }

    #[test]
    fn ends_of_calls_at_one_moment_keep_their_order() {
        check(
            LatencyKind::Syscall,
            "cpu0 5 sched_switch prev_tid=0 next_tid=7
             cpu0 10 syscall_entry_write
             cpu0 11 sched_switch prev_tid=7 next_tid=0
             cpu0 20 sched_switch prev_tid=0 next_tid=7
             cpu0 30 syscall_exit_write ret=1
             cpu0 30 syscall_entry_write
             cpu0 35 sched_switch prev_tid=7 next_tid=0
             cpu0 40 sched_switch prev_tid=0 next_tid=7
             cpu0 50 syscall_exit_write ret=1",
            &["write: 2 of 20..20"],
        );
    }

    #[test]
    fn streams_that_contradict_each_other_give_one_answer() {
        for seed in 0..24 {
            let drawing = contradiction(seed);
            for kind in [LatencyKind::Syscall, LatencyKind::Irq, LatencyKind::Wakeup] {
                measure(kind, &drawing, TimeRange::ALL);
            }
            measure(LatencyKind::Syscall, &with_losses(&drawing), TimeRange::ALL);
        }
    }

    #[test]
    fn no_wake_up_is_measured_over_missing_events() {
        let wakes_and_switches = "cpu0 10 sched_wakeup comm=a tid=7
             cpu0 20 sched_switch prev_tid=0 next_tid=7 next_comm=a
             cpu0 30 sched_switch prev_tid=7 next_tid=0 next_comm=b
             cpu0 80 sched_wakeup comm=a tid=7
             cpu0 90 sched_switch prev_tid=0 next_tid=7 next_comm=a";
        let check = |cpu1: &str, expected: &[&str]| {
            let text = format!("{wakes_and_switches}\n{cpu1}");
            check(LatencyKind::Wakeup, &text, expected);
        };
        check("cpu1 40 tick", &["a-7: 2 of 10..10"]);
        check(
            "-- lost-packets 1 cpu1\ncpu1 40 tick",
            &["a-7: 1 of 10..10"],
        );
        check(
            "cpu1 40 tick\n-- lost 1 cpu1\ncpu1 85 tick",
            &["a-7: 1 of 10..10"],
        );
        check("cpu1 40 tick\n-- cut-off 45 cpu1", &["a-7: 1 of 10..10"]);
        let unreadable = |from: i64, until: i64| {
            format!(
                "cpu1 {from} sched_wakeup comm=b tid=9\n-- unreadable {until} cpu1\ncpu1 95 tick"
            )
        };
        check(&unreadable(40, 85), &["a-7: 1 of 10..10"]);
        check(&unreadable(84, 86), &["a-7: 1 of 10..10"]);
        check(&unreadable(21, 79), &["a-7: 2 of 10..10"]);
        check(
            "cpu1 22 tick\n-- lost 1 cpu1\ncpu1 70 tick",
            &["a-7: 2 of 10..10"],
        );
    }

    #[test]
    fn no_call_that_left_its_processor_is_measured_over_missing_events() {
        let calls = "cpu0 10 sched_switch prev_tid=0 next_tid=7
             cpu0 11 syscall_entry_write fd=1
             cpu0 12 syscall_exit_write ret=0
             cpu0 13 syscall_entry_read fd=1
             cpu0 14 sched_switch prev_tid=7 next_tid=0
             cpu0 40 sched_switch prev_tid=0 next_tid=7
             cpu0 43 syscall_exit_read ret=0";
        let check = |cpu1: &str, expected: &[&str]| {
            check(LatencyKind::Syscall, &format!("{calls}\n{cpu1}"), expected);
        };
        let write = "write: 1 of 1..1";
        check("cpu1 12 tick\ncpu1 30 tick", &["read: 1 of 30..30", write]);
        check("cpu1 12 tick\n-- lost 1 cpu1\ncpu1 30 tick", &[write]);
        let unreadable = |from: i64, until: i64| {
            let switch = "sched_switch prev_tid=0 next_tid=9";
            format!("cpu1 {from} {switch}\n-- unreadable {until} cpu1\ncpu1 50 tick")
        };
        check(&unreadable(12, 30), &[write]);
        check(&unreadable(30, 31), &[write]);
        check(&unreadable(43, 49), &["read: 1 of 30..30", write]);
    }

    #[test]
    fn calls_without_names_on_exit() {
        check(
            LatencyKind::Syscall,
            "cpu0 1 exit_syscall ret=0
             cpu0 10 sys_read fd=1
             cpu0 12 exit_syscall ret=0
             cpu0 14 sys_poll fds=1
             cpu0 15 sched_switch prev_tid=7 next_tid=8
             cpu0 18 sched_switch prev_tid=8 next_tid=7
             cpu0 20 exit_syscall ret=0",
            &["poll: 1 of 6..6", "read: 1 of 2..2"],
        );
    }

    #[test]
    fn interrupts_nest_and_are_named_by_line_and_handler() {
        check(
            LatencyKind::Irq,
            "cpu0 1 irq_handler_exit irq=9 ret=1
             cpu0 10 irq_handler_entry irq=26 name=ahci
             cpu0 11 irq_handler_entry irq=30 name=eno1
             cpu0 15 irq_handler_exit irq=30 ret=1
             cpu0 20 irq_handler_exit irq=26 ret=1
             cpu1 12 irq_handler_entry irq=26 name=other
             cpu1 14 irq_handler_exit irq=26 ret=1
             cpu0 30 irq_handler_entry irq=26 name=ahci",
            &[
                "26 ahci: 1 of 10..10",
                "30 eno1: 1 of 4..4",
                "26 other: 1 of 2..2",
            ],
        );
    }

    #[test]
    fn an_unknown_thread_is_no_other_thread_whatever_its_processor() {
        for cpu in [1, 2_097_152, 4_194_303, u32::MAX] {
            let text = format!(
                "cpu{cpu} 10 syscall_entry_read fd=3
                 cpu0 20 syscall_exit_read ret=1 @tid=1023
                 cpu0 30 syscall_entry_read fd=3 @tid=1023
                 cpu0 34 syscall_exit_read ret=1 @tid=1023"
            );
            check(LatencyKind::Syscall, &text, &["read: 1 of 4..4"]);
        }
    }

    #[test]
    fn an_interrupt_does_not_last_over_a_gap() {
        check(
            LatencyKind::Softirq,
            "cpu0 10 softirq_entry vec=3
             cpu0 13 softirq_exit vec=3
             cpu0 20 softirq_entry vec=3
             -- lost 4 cpu0
             cpu0 50 softirq_exit vec=3
             cpu0 60 softirq_entry vec=1
             cpu0 61 softirq_exit vec=1",
            &["NET_RX: 1 of 3..3", "TIMER: 1 of 1..1"],
        );
    }

    #[test]
    fn disk_requests_last_from_issue_to_first_completion() {
        check(
            LatencyKind::Block,
            "cpu0 1 lttng_statedump_block_device dev=8388608 diskname=sda
             cpu0 10 block_rq_issue dev=8388608 sector=100 nr_sector=8
             cpu1 20 block_rq_issue dev=8388608 sector=200 nr_sector=8
             cpu1 40 block_rq_complete dev=8388608 sector=100 nr_sector=8
             cpu1 41 block_rq_complete dev=8388608 sector=100 nr_sector=8
             cpu0 50 block_rq_issue dev=8388608 sector=200 nr_sector=8
             cpu0 55 block_rq_complete dev=8388608 sector=200 nr_sector=8
             cpu0 60 block_rq_issue dev=265289729 sector=1 nr_sector=1
             cpu0 61 block_rq_complete dev=265289729 sector=1 nr_sector=1",
            &["sda: 2 of 5..30", "253:1: 1 of 1..1"],
        );
    }

    #[test]
    fn a_woken_thread_waits_until_it_runs() {
        check(
            LatencyKind::Wakeup,
            "cpu0 10 sched_waking tid=7 comm=a target_cpu=1
             cpu0 12 sched_wakeup tid=7 comm=a target_cpu=1
             cpu1 20 sched_switch prev_tid=0 prev_state=0 next_tid=7 next_comm=first
             cpu0 25 sched_wakeup tid=7 comm=a target_cpu=1
             cpu1 30 sched_switch prev_tid=7 prev_state=0 next_tid=8 next_comm=x
             cpu1 35 sched_switch prev_tid=8 prev_state=1 next_tid=7 next_comm=second
             cpu0 38 sched_waking tid=7 comm=a target_cpu=1
             cpu1 40 sched_switch prev_tid=7 prev_state=1 next_tid=0 next_comm=idle
             cpu1 41 sched_wakeup tid=7 comm=a target_cpu=1
             cpu1 44 sched_switch prev_tid=0 prev_state=0 next_tid=7 next_comm=third
             cpu0 50 sched_wakeup_new tid=9 comm=b target_cpu=0
             cpu0 51 sched_switch prev_tid=0 prev_state=0 next_tid=9 next_comm=b",
            &["third-7: 2 of 3..10", "b-9: 1 of 1..1"],
        );
    }

    #[test]
    fn both_ends_lie_in_the_window() {
        let text = "cpu0 10 syscall_entry_a
             cpu0 20 syscall_exit_a
             cpu0 21 syscall_entry_b
             cpu0 25 syscall_exit_b
             cpu0 26 syscall_entry_c
             cpu0 30 syscall_exit_c";
        let range = TimeRange::new(Timestamp::from_ns(15), Timestamp::from_ns(30));
        let report = measure(LatencyKind::Syscall, text, range);
        assert_eq!(rows(&report), ["b: 1 of 4..4"]);
        let json = serde_json::to_value(&report).unwrap();
        assert_eq!(
            json["entries"][0],
            serde_json::json!({"name": "b", "count": 1, "min_ns": 4, "mean_ns": 4, "p50_ns": 4,
                "p99_ns": 4, "max_ns": 4, "total_ns": 4})
        );
        assert_eq!(json["kind"], "syscall");
    }
}
