//! `cpu` on traces drawn in text: who ran, where nobody knows, and what a window leaves of it.
//!
//! Answers are asked for in every way that must not matter: how packets are cut, how many workers.

use slowpath_drawn::DrawnTrace;

use super::*;
use crate::answer::every_way;

/// Switches between `prev` and `next` of the short form `cpu0 10 7>0`, other lines as they are.
fn drawn(text: &str) -> DrawnTrace {
    let mut lines = String::new();
    for line in text.lines() {
        let words: Vec<&str> = line.split_whitespace().collect();
        if let [cpu, at, switch] = words[..]
            && let Some((prev, next)) = switch.split_once('>')
        {
            lines += &format!(
                "{cpu} {at} sched_switch prev_comm=t{prev} prev_tid={prev} prev_state=0 next_comm=t{next} next_tid={next}\n"
            );
        } else {
            lines += &format!("{line}\n");
        }
    }
    DrawnTrace::parse(&lines).unwrap()
}

fn rows(report: &CpuReport) -> String {
    let cpus = report
        .cpus
        .iter()
        .map(|row| format!("cpu{} {}", row.cpu, row.busy_ns.get()));
    let threads = report.threads.iter();
    let threads = threads.map(|row| format!("{}:{} {}", row.tid, row.comm, row.busy_ns.get()));
    cpus.chain(threads).collect::<Vec<_>>().join(", ")
}

fn check_in(text: &str, range: TimeRange, expected: &str) {
    let trace = drawn(text);
    let analysis = CpuUse::new(&trace, range);
    let mut counts = every_way::ask(&trace, |source| CpuUse::new(source, range));
    let runs = std::mem::take(&mut counts.unseen);
    let search = |source: &dyn Source| Search::new(source.schema(), &runs, analysis.range());
    let begins = every_way::ask(&trace, search);
    analysis.see(&mut counts, &runs, &begins);
    assert_eq!(rows(&analysis.rows(counts)), expected, "{text}");
}

fn check(text: &str, expected: &str) {
    check_in(text, TimeRange::ALL, expected);
}

#[test]
fn threads_run_from_switch_to_switch() {
    check(
        "cpu0 10 tick
         cpu0 20 7>0
         cpu0 50 0>8
         cpu0 60 8>7
         cpu0 90 tick",
        "cpu0 50, 7:t7 40, 8:t8 10",
    );
}

#[test]
fn a_thread_without_a_switch_from_it_keeps_its_name() {
    check(
        "cpu0 0 0>7
         cpu0 10 8>9
         cpu0 15 9>0
         cpu0 40 tick",
        "cpu0 15, 7:t7 10, 9:t9 5",
    );
}

#[test]
fn a_thread_on_two_processors_is_one_row() {
    check(
        "cpu0 0 0>7
         cpu0 30 7>0
         cpu1 5 0>9
         cpu1 40 9>7
         cpu1 100 tick
         cpu0 35 tick
         cpu0 100 tick",
        "cpu0 30, cpu1 95, 7:t7 90, 9:t9 35",
    );
}

#[test]
fn a_processor_without_switches_is_not_known_to_be_busy() {
    check(
        "cpu0 0 tick\ncpu0 50 tick\ncpu1 0 0>3\ncpu1 50 3>0",
        "cpu0 0, cpu1 50, 3:t3 50",
    );
}

#[test]
fn nobody_is_known_to_run_where_events_were_lost() {
    check(
        "cpu0 0 0>7
         cpu0 10 tick
         -- lost 3 cpu0
         cpu0 50 tick
         cpu0 60 8>9
         cpu0 65 tick
         -- lost 1 cpu0
         -- lost-packets 1 cpu0
         cpu0 80 tick
         -- lost 1 cpu0
         cpu0 90 9>0
         cpu0 95 tick",
        "cpu0 25, 7:t7 10, 8:t8 10, 9:t9 5",
    );
}

#[test]
fn what_a_switch_missed_is_told_by_wake_ups_and_contexts() {
    // The idle thread's switches to 7 and 9 are missing, and 9's to 8.
    let text = "cpu0 0 5>0
         cpu0 30 sched_wakeup comm=t7 tid=7 target_cpu=0
         cpu0 50 7>0
         cpu1 0 3>3
         cpu1 55 sched_waking comm=t9 tid=9 target_cpu=1
         cpu1 60 sched_waking comm=t9 tid=9 target_cpu=0
         cpu1 62 sched_waking comm=t9 tid=9 target_cpu=0
         cpu1 90 tick
         cpu0 70 0>9
         cpu0 80 tick @tid=9
         cpu0 82 sched_waking comm=t8 tid=8 target_cpu=0
         cpu0 85 tick @tid=8
         cpu0 90 8>0
         cpu0 100 tick";
    check(
        text,
        "cpu0 40, cpu1 100, 3:t3 100, 7:t7 20, 9:t9 15, 8:t8 5",
    );
    check(
        &text.replace("cpu0 70 0>9\n", "cpu0 70 9>0\n"),
        "cpu0 38, cpu1 100, 3:t3 100, 7:t7 20, 9:t9 10, 8:t8 8",
    );
    // A wake-up says nothing where another thread was running, nor does one elsewhere.
    check(
        "cpu0 0 5>6
         cpu0 30 sched_wakeup comm=t7 tid=7 target_cpu=0
         cpu0 50 7>0
         cpu0 60 sched_wakeup comm=t7 tid=7 target_cpu=1
         cpu0 90 7>0",
        "cpu0 50, 6:t6 50",
    );
}

#[test]
fn who_was_woken_here_and_ran_elsewhere_did_not_run_here_since() {
    // 7 is taken to another processor before it runs, and comes back later; the idle thread's switch to it is missing.
    let text = "cpu0 0 5>0
         cpu0 10 sched_wakeup comm=t7 tid=7 target_cpu=0
         cpu1 0 3>0
         cpu1 20 0>7
         cpu1 40 7>0
         cpu1 60 sched_wakeup comm=t7 tid=7 target_cpu=0
         cpu0 90 7>0
         cpu1 100 tick";
    check(text, "cpu0 30, cpu1 20, 7:t7 50");
    // Nothing but its own context tells when it came back.
    check(
        &text.replace(
            "cpu1 60 sched_wakeup comm=t7 tid=7 target_cpu=0",
            "cpu0 85 tick @tid=7",
        ),
        "cpu0 5, cpu1 20, 7:t7 25",
    );
}

#[test]
fn a_window_cuts_off_what_lies_outside() {
    let range = TimeRange::new(Timestamp::from_ns(25), Timestamp::from_ns(70));
    let text = "cpu0 0 0>7\ncpu0 30 7>0\ncpu0 40 0>8\ncpu0 90 8>0\ncpu1 0 1>2\ncpu1 90 tick";
    check_in(text, range, "cpu0 35, cpu1 45, 2:t2 45, 8:t8 30, 7:t7 5");
}

#[test]
fn parts_of_a_window_add_up_to_it() {
    let trace = drawn(
        "cpu0 10 tick
         -- packet cpu0
         cpu0 20 7>0
         -- packet cpu0
         cpu0 25 0>8
         cpu0 30 tick
         -- lost 3 cpu0
         cpu0 60 tick
         -- packet cpu0
         cpu0 65 8>0
         cpu0 70 0>7
         cpu0 75 tick
         -- cut-off 75 cpu0
         -- lost-packets 1 cpu1
         cpu1 40 5>0
         cpu1 50 0>5
         -- lost-packets 1 cpu1
         cpu1 80 tick
         -- packet cpu1
         cpu1 90 5>6
         cpu2 0 tick
         cpu2 100 tick",
    );
    let add = |sums: &mut BTreeMap<String, [u64; 2]>, begin: i64, end: i64| {
        let range = TimeRange::new(Timestamp::from_ns(begin), Timestamp::from_ns(end));
        let options = Options {
            range,
            ..Options::default()
        };
        let report = cpu(&trace, &options).unwrap().state.unwrap();
        let cpus = report.cpus.iter();
        let cpus = cpus.map(|row| (format!("cpu{}", row.cpu.0), row.busy_ns, row.unknown_ns));
        let threads = report.threads.iter();
        let threads = threads.map(|row| (row.tid.0.to_string(), row.busy_ns, Nanoseconds(0)));
        for (name, busy, unknown) in cpus.chain(threads) {
            let [busy_sum, unknown_sum] = sums.entry(name).or_default();
            *busy_sum += busy.get();
            *unknown_sum += unknown.get();
        }
    };
    let expected = [
        ("5", [10, 0]),
        ("6", [10, 0]),
        ("7", [15, 0]),
        ("8", [10, 0]),
        ("cpu0", [25, 55]),
        ("cpu1", [20, 70]),
        ("cpu2", [0, 100]),
    ];
    let expected = expected.map(|(name, sums)| (name.to_owned(), sums));
    for split in 0..100 {
        let mut sums = BTreeMap::new();
        add(&mut sums, 0, split);
        add(&mut sums, split, 101);
        assert_eq!(sums, BTreeMap::from(expected.clone()), "split at {split}");
    }
}

#[test]
fn shares_are_of_the_window() {
    let trace = drawn("cpu0 0 0>7\ncpu0 50 7>0\ncpu0 200 tick");
    let report = cpu(&trace, &Options::default()).unwrap().state.unwrap();
    assert_eq!((report.begin_ns, report.end_ns), (0, 200));
    assert_eq!(report.threads[0].percent, 25.0);
    let json = serde_json::to_value(&report).unwrap();
    assert_eq!(
        json["cpus"][0],
        serde_json::json!({"cpu": 0, "busy_ns": 50, "unknown_ns": 0, "percent": 25.0})
    );
}

#[test]
fn where_events_are_missing_nothing_is_known() {
    let check = |text: &str, cpus: &[(u64, u64, f64)], thread: f64| {
        let trace = drawn(text);
        let mut counts = every_way::ask(&trace, |source| CpuUse::new(source, TimeRange::ALL));
        counts.unseen.clear();
        let report = CpuUse::new(&trace, TimeRange::ALL).rows(counts);
        let row = |row: &CpuRow| (row.busy_ns.get(), row.unknown_ns.get(), row.percent);
        assert_eq!(
            report.cpus.iter().map(row).collect::<Vec<_>>(),
            cpus,
            "{text}"
        );
        assert_eq!(report.threads[0].percent, thread, "{text}");
    };
    let whole = "cpu0 0 0>7\ncpu0 40 7>0\ncpu0 100 tick\ncpu1 0 3>0\ncpu1 50 tick\n";
    check(whole, &[(40, 0, 40.0), (0, 0, 0.0)], 40.0);
    let cut = format!("{whole}-- cut-off 50 cpu1");
    check(&cut, &[(40, 0, 40.0), (0, 50, 0.0)], 40.0);
    // A processor of which nothing is left.
    check(
        "cpu0 0 0>7\ncpu0 40 7>0\ncpu0 100 tick\n-- cut-off 0 cpu1",
        &[(40, 0, 40.0), (0, 100, 0.0)],
        40.0,
    );
    // Two recordings of one host, and in the middle of the later one a part without a switch.
    check(
        "cpu0 0 0>7
         cpu0 10 7>0
         cpu0 20 tick
         cpu1 0 0>8
         cpu1 20 8>0
         -- lost-packets 1 cpu0
         -- lost-packets 1 cpu1
         cpu0 80 0>7
         cpu0 82 7>0
         cpu0 84 tick
         -- lost-packets 1 cpu0
         cpu0 86 tick
         cpu0 88 tick
         -- lost-packets 1 cpu0
         cpu0 90 tick
         cpu0 95 0>7
         cpu0 100 tick
         cpu1 80 0>8
         cpu1 100 8>0",
        &[(17, 66, 50.0), (40, 60, 100.0)],
        100.0,
    );
}

#[test]
fn a_stream_without_switches_says_nothing_beside_others_but_ends_those_before_it() {
    check(
        "a/cpu0 0 0>7
         a/cpu0 10 7>8
         a/cpu0 20 tick
         x/cpu0 5 tick
         x/cpu0 15 tick
         -- lost-packets 1 b/cpu0
         b/cpu0 1000 tick
         b/cpu0 1010 tick",
        "cpu0 20, 7:t7 10, 8:t8 10",
    );
}

#[test]
fn streams_that_contradict_each_other_give_one_answer() {
    for seed in 0..12 {
        let trace = DrawnTrace::parse(&every_way::contradiction(seed)).unwrap();
        let range = TimeRange::ALL;
        let counts = every_way::ask(&trace, |source| CpuUse::new(source, range));
        let analysis = CpuUse::new(&trace, range);
        let search =
            |source: &dyn Source| Search::new(source.schema(), &counts.unseen, analysis.range());
        every_way::ask(&trace, search);
    }
}

#[test]
fn of_two_names_of_one_time_the_same_one_is_told_however_chunks_are_cut() {
    for [one, other] in [["first", "second"], ["second", "first"]] {
        let drawing = format!(
            "cpu0 5 tick
             cpu0 10 sched_switch prev_comm={one} prev_tid=7 prev_state=1 next_comm=swapper next_tid=0
             cpu0 20 tick
             cpu1 10 sched_switch prev_comm=swapper prev_tid=0 prev_state=0 next_comm={other} next_tid=7
             cpu1 20 tick"
        );
        check(&drawing, "cpu0 5, cpu1 10, 7:second 15");
    }
}
