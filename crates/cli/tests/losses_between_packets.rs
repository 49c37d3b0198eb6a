//! Where events are missing that a packet says were lost: before its first one or behind its last.

mod support;

use support::{packets, slowpath};

#[test]
fn a_loss_between_two_packets_is_nobodys_time_whichever_of_them_counts_it() {
    for (first, second) in [(4, 4), (0, 4)] {
        let recording = packets::written(&format!(
            "stream cpu0 0
             packet 1000000..1000000 lost={first}
             1000000 0>101
             packet 6000000..9100000 lost={second}
             6000000 102>0
             9000000 0>103
             9100000 103>0"
        ));
        let report = slowpath(&["cpu", "--json"], recording.path()).json();
        let busy = |tid: i64| {
            let mut threads = report["threads"].as_array().expect("threads").iter();
            let thread = threads.find(|thread| thread["tid"] == tid);
            thread.and_then(|thread| thread["busy_ns"].as_i64())
        };
        assert_eq!(
            [busy(101), busy(102), busy(103)],
            [None, None, Some(100_000)],
            "{report}"
        );
    }
}

#[test]
fn a_counter_that_states_nothing_once_goes_on_where_it_was() {
    let recording = packets::written(
        "stream cpu0 0
         packet 1000000..2000000 lost=5
         1000000 0>101
         packet 3000000..4000000 number=1
         3000000 101>0
         packet 5000000..6000000 number=2 lost=7
         5000000 0>101",
    );
    let report = slowpath(&["count", "--json"], recording.path()).json();
    assert_eq!(report["lost"], 7, "{report}");
}
