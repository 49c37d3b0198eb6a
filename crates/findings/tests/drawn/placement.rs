//! Waits for a processor while another one was idle.

use slowpath_findings::{Finding, FindingId};
use slowpath_kernel::quotas::{GroupQuotas, QuotaLimit, QuotaNote, QuotaSeen};
use slowpath_kernel::timers::TimerId;
use slowpath_model::{HostId, Nanoseconds, ProcessId, Timestamp};

use crate::support::{Drawn, evidence, findings, only};

/// Thread 7 runs on processor 0 and sleeps. It is woken and queued on processor 1, where thread 8 runs
/// until 12 ms, while nobody runs on processor 0.
const MOVED: &str =
    "cpu0 0 sched_switch prev_comm=swapper/0 prev_tid=0 prev_state=0 next_comm=shop next_tid=7
    cpu1 5 sched_switch prev_comm=swapper/1 prev_tid=0 prev_state=0 next_comm=batch next_tid=8
    cpu0 10 start 7 1
    cpu0 1000 sched_switch prev_comm=shop prev_tid=7 prev_state=1 next_comm=swapper/0 next_tid=0
    cpu1 2000 sched_waking comm=shop tid=7 target_cpu=1
    cpu1 2001 sched_wakeup comm=shop tid=7 target_cpu=1
    cpu1 12000 sched_switch prev_comm=batch prev_tid=8 prev_state=1 next_comm=shop next_tid=7
    cpu1 12500 end 7 1
    cpu1 13000 sched_switch prev_comm=shop prev_tid=7 prev_state=1 next_comm=swapper/1 next_tid=0";

#[test]
fn a_thread_that_was_moved_to_a_busy_processor_is_told_with_both() {
    let found = findings(MOVED, Vec::new());
    let finding = only(&found, FindingId::CpuPlacement);
    assert!(
        (finding.explanation).contains("shop (7) from processor 0 to 1"),
        "{}",
        finding.explanation
    );
    let told = evidence(finding);
    assert!(
        (told.iter()).any(|text| text.starts_with("by move to a busy processor: shop (7) from")),
        "{told:?}"
    );
    assert!(
        told.contains(&"by threads that ran instead: batch (8) 10.000 ms"),
        "{told:?}"
    );
}

#[test]
fn one_that_was_fetched_by_an_idle_processor_was_not_moved_to_a_busy_one() {
    // Thread 8 leaves processor 1 at once.
    let left = "cpu1 1500 sched_switch prev_comm=batch prev_tid=8 prev_state=1 next_comm=swapper/1 next_tid=0
    cpu0 2000 sched_waking comm=shop tid=7 target_cpu=1
    cpu0 2001 sched_wakeup comm=shop tid=7 target_cpu=1
    cpu1 12000 sched_switch prev_comm=swapper/1 prev_tid=0 prev_state=0 next_comm=shop next_tid=7";
    let (before, after) = MOVED.split_once("cpu1 2000").expect("a wake-up");
    let after = after.split_once("cpu1 12500").expect("an end").1;
    let found = findings(&format!("{before}{left}\ncpu1 12500{after}"), Vec::new());
    let finding = only(&found, FindingId::CpuPlacement);
    assert!(
        !finding.explanation.contains("moved"),
        "{}",
        finding.explanation
    );
    let told = evidence(finding);
    assert!(
        !told.iter().any(|text| text.contains("by move")),
        "{told:?}"
    );
    assert!(
        !told.iter().any(|text| text.contains("ran instead")),
        "{told:?}"
    );
}

#[test]
fn what_a_quota_leaves_of_a_wait_is_judged_by_who_ran_in_that_time() {
    const PERIODS: i64 = 20;
    let switch = |ms: i64, from: i32, to: i32| {
        format!(
            "cpu0 {} sched_switch prev_comm=t prev_tid={from} prev_state=0 next_comm=t next_tid={to}\n",
            ms * 1000
        )
    };
    // Thread 7 uses up 50 ms in each 100 ms. Nobody runs until the next begin, and thread 8 for the first 20.
    let turn = |n: i64| {
        let begin = n * 100;
        switch(begin, 0, 8) + &switch(begin + 20, 8, 7) + &switch(begin + 70, 7, 0)
    };
    let turns: String = (0..=PERIODS).map(turn).collect();
    let request = format!(
        "cpu0 21000 start 7 1\ncpu0 {} end 7 1",
        PERIODS * 100_000 + 69_000
    );
    let mut host = Drawn::hosts(&[("web-1", &format!("{turns}{request}"))], Vec::new());
    let at = |ms: i64| Timestamp::from_ns(ms * 1_000_000);
    let seen = |times: u64| QuotaNote::Group {
        group: "/limited".to_owned(),
        is_new: false,
        seen: QuotaSeen {
            limit: Some(QuotaLimit {
                quota: Nanoseconds(50_000_000),
                period: Nanoseconds(100_000_000),
                burst: Nanoseconds::ZERO,
            }),
            periods: times,
            throttled: times,
            stopped: Nanoseconds(times * 30_000_000),
        },
    };
    let end = at(PERIODS * 100 + 50);
    let look = QuotaNote::Look { has_more: false };
    let notes = [
        (at(0), seen(0)),
        (at(0), look.clone()),
        (end, seen(PERIODS as u64)),
        (end, look),
    ];
    let quotas = GroupQuotas::new(at(0), notes).expect("a look");
    let firings = (1..=PERIODS).map(|n| at(n * 100)).collect();
    host.quotas = Some((quotas, [(TimerId(1), firings)].into()));
    host.control_groups = [(ProcessId(7), vec!["/limited".to_owned()])].into();
    let found = host.findings(HostId(0));
    only(&found, FindingId::CpuQuota);
    let others = only(&found, FindingId::CpuContention);
    assert!(
        others.explanation.contains("400.000 ms"),
        "{}",
        others.explanation
    );
    let is_placement = |finding: &Finding| finding.id == FindingId::CpuPlacement;
    assert!(!found.iter().any(is_placement), "{found:#?}");
}

/// Thread 7 loses processor 0 to thread 8 from 1 to 11 ms, while `other` happens on processor 1.
fn kept_from(other: &str) -> String {
    format!(
        "cpu0 0 sched_switch prev_comm=batch prev_tid=8 prev_state=1 next_comm=shop next_tid=7
         cpu0 10 start 7 1
         cpu1 20 sched_switch prev_comm=cron prev_tid=9 prev_state=1 next_comm=swapper/1 next_tid=0
         {other}
         cpu0 1000 sched_switch prev_comm=shop prev_tid=7 prev_state=0 next_comm=batch next_tid=8
         cpu0 11000 sched_switch prev_comm=batch prev_tid=8 prev_state=1 next_comm=shop next_tid=7
         cpu0 11500 end 7 1
         cpu0 12000 sched_switch prev_comm=shop prev_tid=7 prev_state=1 next_comm=swapper/0 next_tid=0
         cpu1 13000 sched_switch prev_comm=swapper/1 prev_tid=0 prev_state=0 next_comm=cron next_tid=9"
    )
}

#[test]
fn where_another_processor_idles_no_more_of_them_are_asked_for() {
    let found = findings(&kept_from(""), Vec::new());
    let finding = only(&found, FindingId::CpuPlacement);
    assert_eq!(
        finding.title,
        "CPU placement: ready threads wait for a busy processor while another one idles"
    );
    let advice = &finding.advice;
    assert!(
        advice.contains("More processors would not help") && advice.contains("taskset"),
        "{advice}"
    );
    let told = evidence(finding);
    assert!(
        told.contains(&"by processor that idled: processor 1 10.000 ms"),
        "{told:?}"
    );
    let ran = "shop (7) waited 10.000 ms so; in the whole recording it ran on processor 0 only";
    assert!(told.contains(&ran), "{told:?}");
    let is_contention = |finding: &Finding| finding.id == FindingId::CpuContention;
    assert!(!found.iter().any(is_contention), "{found:#?}");
}

#[test]
fn who_ran_instead_is_told_where_another_processor_idles() {
    // As LTTng numbers them: -51 is real-time priority 50, 20 is nice 0.
    let of_priority = |batch: i32| {
        let [shop, batch] = [(7, 20), (8, batch)].map(|(tid, priority)| {
            move |drawing: String| {
                ["prev", "next"].iter().fold(drawing, |drawing, side| {
                    let thread = format!("{side}_tid={tid}");
                    drawing.replace(&thread, &format!("{thread} {side}_prio={priority}"))
                })
            }
        });
        findings(&batch(shop(kept_from(""))), Vec::new())
    };
    let instead = "The others were batch (8) 10.000 ms.";
    let evidence_of_it = "by threads that ran instead: batch (8) 10.000 ms";
    let found = of_priority(-51);
    let finding = only(&found, FindingId::CpuPlacement);
    let better = format!(
        "{instead} For 10.000 ms of it (100 %) those that ran had a better priority: batch (8) \
         [real-time priority 50] 10.000 ms."
    );
    assert!(
        finding.explanation.ends_with(&better),
        "{}",
        finding.explanation
    );
    let told = evidence(finding);
    assert!(told.contains(&evidence_of_it), "{told:?}");
    let by_priority = "by better priority: batch (8) [real-time priority 50] 10.000 ms ran while these waited: \
                       shop (7) [nice 0] 10.000 ms";
    assert!(told.contains(&by_priority), "{told:?}");

    let found = of_priority(20);
    let finding = only(&found, FindingId::CpuPlacement);
    assert!(
        finding.explanation.ends_with(instead),
        "{}",
        finding.explanation
    );
    let told = evidence(finding);
    assert!(told.contains(&evidence_of_it), "{told:?}");
    assert!(
        !told.iter().any(|text| text.contains("priority")),
        "{told:?}"
    );
}

#[test]
fn one_that_is_busy_or_unknown_is_not_said_to_idle() {
    let busy = "cpu1 900 sched_switch prev_comm=swapper/1 prev_tid=0 prev_state=0 next_comm=cron next_tid=9
         cpu1 9000 sched_switch prev_comm=cron prev_tid=9 prev_state=1 next_comm=swapper/1 next_tid=0";
    // Who was switched to there is not in the trace.
    let unknown = kept_from("").replace(
        "cpu1 13000 sched_switch prev_comm=swapper/1 prev_tid=0 prev_state=0",
        "cpu1 13000 sched_switch prev_comm=batch prev_tid=10 prev_state=1",
    );
    for drawing in [kept_from(busy), unknown] {
        let found = findings(&drawing, Vec::new());
        only(&found, FindingId::CpuContention);
        let is_placement = |finding: &Finding| finding.id == FindingId::CpuPlacement;
        assert!(!found.iter().any(is_placement), "{found:#?}");
    }
}

#[test]
fn threads_that_have_used_up_their_deadline_runtime_are_not_misplaced() {
    // Thread 7, of SCHED_DEADLINE, stands still from 1 to 12 ms, while nobody runs or thread 8 of a priority does (as
    // LTTng numbers these: nice 0 is 20).
    let drawing = |other: u32, priority: i32| {
        let switch = |at: u32, [from, of]: [i32; 2], [to, its]: [i32; 2]| {
            format!(
                "cpu0 {at} sched_switch prev_comm=t prev_tid={from} prev_prio={of} prev_state=0 next_comm=t next_tid={to} next_prio={its}\n"
            )
        };
        let (idle, own, other) = ([0, 20], [7, -101], [other.cast_signed(), priority]);
        [
            switch(0, idle, own),
            "cpu0 10 start 7 1\n".to_owned(),
            switch(1_000, own, other),
            switch(12_000, other, own),
            "cpu0 13000 end 7 1\n".to_owned(),
            switch(13_100, own, idle),
        ]
        .concat()
    };
    for (other, priority) in [(0, 20), (8, 20), (8, -50)] {
        let found = findings(&drawing(other, priority), Vec::new());
        let finding = only(&found, FindingId::DeadlineRuntime);
        assert_eq!(
            evidence(finding),
            [
                "t (7): ready, but held back for 11.000 ms in request 0000000000000001 (t)",
                "by thread: t (7) 11.000 ms",
            ]
        );
        assert_eq!(found.len(), 1, "{found:?}");
    }
    // Another one of that policy ran.
    let found = findings(&drawing(8, -101), Vec::new());
    only(&found, FindingId::CpuContention);
    assert_eq!(found.len(), 1, "{found:?}");
}
