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
