//! Waits that timers end. Who sleeps is told apart from who waits for somebody until the time is up; of who looks now
//! and then whether threads go on that a CPU quota holds back neither is told.

use slowpath_findings::{FindingId, Severity};

use slowpath_model::{HostId, TimeRange, Timestamp};

use crate::support::{Drawn, findings, only};

/// Thread 7 serves a request and waits in `call`; a timer wakes it in the middle of each period of 100 ms.
/// Thread 8 of the same process uses the quota up within the first ms of each: both stand still until
/// the next period.
pub(crate) fn held_back(call: &str) -> String {
    let switch = |cpu: u32, at: u32, from: u32, state: u32, to: u32| {
        format!(
            "cpu{cpu} {at} sched_switch prev_comm=t prev_tid={from} prev_state={state} next_comm=t next_tid={to}\n"
        )
    };
    let waits =
        |at: u32| format!("cpu0 {at} syscall_entry_{call} fd=1\n") + &switch(0, at + 10, 7, 1, 0);
    let period = |at: u32| {
        let timer = at + 50_000;
        switch(1, at + 5, 0, 0, 8)
            + &switch(1, at + 1000, 8, 0, 0)
            + &format!(
                "cpu0 {timer} timer_hrtimer_expire_entry hrtimer=0x1
                 cpu0 {timer} sched_waking comm=t tid=7 target_cpu=0
                 cpu0 {timer} sched_wakeup comm=t tid=7 target_cpu=0
                 cpu0 {timer} timer_hrtimer_expire_exit hrtimer=0x1\n"
            )
            + &switch(0, at + 100_000, 0, 0, 7)
            + &format!("cpu0 {} syscall_exit_{call} ret=0\n", at + 100_005)
            + &waits(at + 100_010)
    };
    "cpu0 0 sched_process_fork parent_tid=7 parent_pid=7 child_tid=8 child_pid=7 child_comm=t\n"
        .to_owned()
        + &switch(0, 1, 0, 0, 7)
        + "cpu0 2 start 7 1\n"
        + &waits(5)
        + &(0..15).map(|n| period(n * 100_000)).collect::<String>()
        + &switch(0, 1_550_000, 0, 0, 7)
        + "cpu0 1550010 end 7 1\n"
        + &switch(0, 1_550_020, 7, 1, 0)
}

#[test]
fn who_looks_whether_others_go_on_waits_for_the_quota_and_not_for_a_time() {
    let found = findings(&held_back("futex"), Vec::new());
    only(&found, FindingId::CpuQuota);
    let sleeps = found
        .iter()
        .find(|finding| finding.id == FindingId::TimerWait);
    assert_eq!(sleeps, None);
}

#[test]
fn who_means_to_sleep_sleeps_whatever_the_quota_does() {
    let found = findings(&held_back("clock_nanosleep"), Vec::new());
    only(&found, FindingId::CpuQuota);
    let share = only(&found, FindingId::TimerWait).share;
    assert!((0.4..0.6).contains(&share), "{share}");
}

/// Thread 7 serves a request and waits in `call` for 20 ms, until a timer wakes it.
fn woken_by_a_timer(call: &str) -> String {
    let switch = "sched_switch prev_comm=t prev_tid";
    format!(
        "cpu0 1 {switch}=0 prev_state=0 next_comm=t next_tid=7
         cpu0 2 start 7 1
         cpu0 100 syscall_entry_{call} fd=1
         cpu0 110 {switch}=7 prev_state=1 next_comm=t next_tid=0
         cpu0 20110 timer_hrtimer_expire_entry hrtimer=0x1
         cpu0 20110 sched_waking comm=t tid=7 target_cpu=0
         cpu0 20110 sched_wakeup comm=t tid=7 target_cpu=0
         cpu0 20110 timer_hrtimer_expire_exit hrtimer=0x1
         cpu0 20120 {switch}=0 prev_state=0 next_comm=t next_tid=7
         cpu0 20125 syscall_exit_{call} ret=-110
         cpu0 20300 end 7 1
         cpu0 20310 {switch}=7 prev_state=1 next_comm=t next_tid=0\n"
    )
}

#[test]
fn who_waits_for_somebody_until_the_time_is_up_need_not_sleep() {
    let told = |call: &str| {
        let found = findings(&woken_by_a_timer(call), Vec::new());
        let finding = only(&found, FindingId::TimerWait);
        (finding.title.clone(), finding.explanation.clone())
    };
    let (title, explanation) = told("clock_nanosleep");
    assert!(title.starts_with("Sleep:"), "{title}");
    assert!(!explanation.contains("the time was up"), "{explanation}");
    for (call, words) in [
        ("futex", "waits for a lock, a condition or a thread"),
        ("epoll_wait", "when none comes in time"),
    ] {
        let (title, explanation) = told(call);
        assert!(title.starts_with("Time-outs or sleep:"), "{title}");
        assert!(explanation.contains(words), "{explanation}");
    }
}

#[test]
fn only_waits_in_futex_may_be_threads_that_a_runtime_has_parked() {
    // Many more spans of the process end on another thread than they began on.
    let moved: String = (10..40)
        .map(|span| {
            let at = 100_000 + 1000 * span;
            format!("cpu0 {at} start 7 {span}\ncpu1 {} end 9 {span}\n", at + 500)
        })
        .collect();
    let switch = "sched_switch prev_comm=t prev_tid";
    let others = format!(
        "cpu1 0 sched_process_fork parent_tid=1 parent_pid=1 child_tid=7 child_pid=7 child_comm=t
         cpu1 1 sched_process_fork parent_tid=7 parent_pid=7 child_tid=9 child_pid=7 child_comm=t
         cpu0 30000 {switch}=0 prev_state=0 next_comm=t next_tid=7
         cpu1 30000 {switch}=0 prev_state=0 next_comm=t next_tid=9
         {moved}
         cpu0 200000 {switch}=7 prev_state=1 next_comm=t next_tid=0
         cpu1 200000 {switch}=9 prev_state=1 next_comm=t next_tid=0"
    );
    let told = |call: &str| {
        let found = findings(&format!("{}{others}", woken_by_a_timer(call)), Vec::new());
        let finding = only(&found, FindingId::TimerWait);
        (finding.explanation.contains("has parked"), finding.severity)
    };
    let (is_doubtful, severity) = told("futex");
    assert_eq!((is_doubtful, severity), (true, Severity::Low));
    let (is_doubtful, severity) = told("clock_nanosleep");
    assert!(!is_doubtful && severity > Severity::Low, "{severity:?}");
}

#[test]
fn it_is_told_how_many_that_took_as_long_are_not_recorded_whole() {
    let request = |span: u32, from: u32, until: u32| {
        format!(
            "cpu0 {from} start 7 {span}
             cpu0 {} sched_switch prev_comm=t prev_tid=7 prev_state=1 next_comm=t next_tid=0
             cpu0 {} sched_switch prev_comm=t prev_tid=0 prev_state=0 next_comm=t next_tid=7
             cpu0 {until} end 7 {span}\n",
            from + 10,
            until - 10
        )
    };
    let requests = [
        (1, 10_000, 130_000),
        (2, 140_000, 142_000),
        (3, 400_000, 600_000),
        (4, 700_000, 720_000),
        (5, 800_000, 810_000),
    ];
    let requests = requests.map(|(span, from, until)| request(span, from, until));
    let drawing = |before: &str| {
        "cpu0 1 sched_switch prev_comm=t prev_tid=0 prev_state=0 next_comm=t next_tid=7\n".to_owned()
            + &requests.concat()
            + "cpu0 900000 sched_switch prev_comm=t prev_tid=7 prev_state=1 next_comm=t next_tid=0\n"
            + before
            + "-- lost-packets 1 cpu1
               cpu1 500000 sched_switch prev_comm=t prev_tid=0 prev_state=0 next_comm=t next_tid=8
               cpu1 900000 sched_switch prev_comm=t prev_tid=8 prev_state=1 next_comm=t next_tid=0\n"
    };
    let asked = |before: &str, rings: &[TimeRange]| {
        let mut drawn = Drawn::hosts(&[("web-1", &drawing(before))], Vec::new());
        if !rings.is_empty() {
            drawn.rings.insert(HostId(0), rings.to_vec());
        }
        drawn.diagnosed(HostId(0), |diagnosis| {
            (diagnosis.examined(), diagnosis.left_out())
        })
    };
    // The second processor's events go back to 500 ms only: of those recorded whole the fourth took longest.
    assert_eq!(asked("", &[]), (1, 2));
    assert_eq!(asked("", &[TimeRange::ALL]), (1, 2));
    // The snapshot before holds the first request, and what followed until 160 ms.
    let earlier = "cpu1 150000 sched_switch prev_comm=t prev_tid=0 prev_state=0 next_comm=t next_tid=8
                   cpu1 160000 sched_switch prev_comm=t prev_tid=8 prev_state=1 next_comm=t next_tid=0\n";
    let at = Timestamp::from_ns(160_000_000);
    let rings =
        [(Timestamp::MIN, at), (at, Timestamp::MAX)].map(|(from, to)| TimeRange::new(from, to));
    assert_eq!(asked(earlier, &rings), (1, 1));
    // Within a ring a switch may be missing.
    assert_eq!(asked(earlier, &[TimeRange::ALL]), (1, 0));
    // What a tracer lost is told of otherwise.
    assert_eq!(asked(earlier, &[]), (1, 0));
}
