//! Waits for processors: whether those that ran instead had a better priority.

use slowpath_findings::FindingId;

use crate::support::{evidence, findings, only};

/// Thread 7 loses its processor for 10 ms to thread 8, then for 5 ms to thread 9.
fn drawing(priorities: [i32; 3]) -> String {
    let names = ["shop", "audio", "batch"];
    let switch = |at: u32, from: usize, state: u32, to: usize| {
        format!(
            "cpu0 {at} sched_switch prev_comm={} prev_tid={} prev_prio={} prev_state={state} \
             next_comm={} next_tid={} next_prio={}\n",
            names[from],
            from + 7,
            priorities[from],
            names[to],
            to + 7,
            priorities[to]
        )
    };
    "cpu0 0 sched_wakeup comm=shop tid=7 target_cpu=0\n".to_owned()
        + &switch(5, 2, 1, 0)
        + "cpu0 10 start 7 1\n"
        + &switch(1_000, 0, 0, 1)
        + &switch(11_000, 1, 1, 2)
        + &switch(16_000, 2, 1, 0)
        + "cpu0 16500 end 7 1\n"
        + &switch(17_000, 0, 1, 2)
}

#[test]
fn better_priorities_are_told_with_who_has_them() {
    // As LTTng numbers them: -51 is real-time priority 50, 20 is nice 0.
    let found = findings(&drawing([20, -51, 20]), Vec::new());
    let finding = only(&found, FindingId::CpuContention);
    assert!(
        finding.explanation.contains(
            "waited 15.000 ms in all for a processor that others used: audio (8) 10.000 ms, batch (9) \
             5.000 ms. For 10.000 ms of it (67 %) those that ran had a better priority: audio (8) \
             [real-time priority 50] 10.000 ms."
        ),
        "{}",
        finding.explanation
    );
    let told = evidence(finding);
    let by_priority = told
        .iter()
        .find(|text| text.starts_with("by better priority"));
    let by_priority = by_priority.unwrap_or_else(|| panic!("no priority in {told:?}"));
    assert!(
        by_priority.contains("shop (7) [nice 0] 10.000 ms"),
        "{by_priority}"
    );
    assert!(!by_priority.contains("batch"), "{by_priority}");
}

#[test]
fn equal_and_worse_priorities_are_not_told() {
    let found = findings(&drawing([20, 20, 25]), Vec::new());
    let finding = only(&found, FindingId::CpuContention);
    assert!(
        !finding.explanation.contains("priority"),
        "{}",
        finding.explanation
    );
    let told = evidence(finding);
    assert!(
        !told.iter().any(|text| text.contains("by better priority")),
        "{told:?}"
    );
}

/// In every one of 20 periods of 60 ms thread 8 takes the processor for 25 ms.
fn in_step() -> String {
    let switch = |at: u32, from: u32, state: u32, to: u32| {
        format!(
            "cpu0 {at} sched_switch prev_comm=t prev_tid={from} prev_state={state} next_comm=t next_tid={to}\n"
        )
    };
    let periods = (1..20).map(|n| 60_000 * n);
    let taken = periods.map(|at| switch(at, 7, 0, 8) + &switch(at + 25_000, 8, 1, 7));
    switch(0, 0, 0, 7)
        + "cpu0 10 start 7 1\n"
        + &taken.collect::<String>()
        + "cpu0 1200000 end 7 1\n"
        + &switch(1_200_100, 7, 1, 0)
}

#[test]
fn others_that_run_in_step_are_no_quota() {
    let found = findings(&in_step(), Vec::new());
    let finding = only(&found, FindingId::CpuContention);
    assert!((finding.share - 0.39).abs() < 0.02, "{finding:?}");
    let quota = found.iter().find(|one| one.id == FindingId::CpuQuota);
    assert_eq!(quota, None);
}
