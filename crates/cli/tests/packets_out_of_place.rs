//! Answers do not depend on chunks where packets do not follow each other: closed before their last event (LTTng before
//! 2.11 did that), with empty ones or losses behind them, begun before the one before them ended, there twice.

mod support;

use std::fmt::Write;
use std::path::Path;

use support::chance::Chance;
use support::{packets, slowpath};

const QUESTIONS: &[&[&str]] = &[
    &["count", "--json"],
    &["cpu", "--json"],
    &["io", "--json"],
    &["latency", "--kind", "syscall", "--json"],
    &["latency", "--kind", "wakeup", "--json"],
    &["thread-states", "--json"],
    &["critical-path", "--comm", "*", "--json"],
    &["critical-path", "--merged", "--json"],
];
/// Workers and bytes per chunk, the first being the whole trace.
const WAYS: [[&str; 2]; 4] = [
    ["1", "1000000000000"],
    ["1", "1"],
    ["2", "200"],
    ["8", "500"],
];

/// Asks everything in every way; tells which questions had an answer.
fn check(trace: &Path, what: &str) {
    for question in QUESTIONS {
        let ask = |[jobs, chunk]: [&str; 2]| {
            let command = [question, &["--jobs", jobs, "--chunk-bytes", chunk][..]].concat();
            let printed = slowpath(&command, trace);
            let told = String::from_utf8_lossy(&printed.stdout).into_owned();
            (told, printed.stderr, printed.status)
        };
        let [whole, cut @ ..] = WAYS;
        let expected = ask(whole);
        for way in cut {
            assert_eq!(ask(way), expected, "{question:?}, {way:?} of\n{what}");
        }
    }
}

#[test]
fn packets_closed_before_their_last_event() {
    let traces = [
        // An empty packet behind, and one whose events lie before the last of the first.
        "stream cpu0 0
         packet 1000..2000
         1000 0>7
         1500 >read 3
         1900 <read 9
         5000 >write 3
         9000 7>8
         9500 >write 1
         packet 2000..2000
         packet 3000..12000
         3000 <write 5
         3500 8>7
         3600 <write 7
         3700 >read 4
         12000 <read 3",
        // Losses behind, and another processor that has none.
        "stream cpu0 0
         packet 100000..118000
         100000 0>7
         110000 >read 3
         126000 <read 9
         packet 123000..170000 lost=5
         150000 >write 3
         160000 <write 4
         170000 7>8
         packet 175000..180000 lost=5
         180000 8>7
         stream cpu1 1
         packet 99000..190000
         99000 0>9
         190000 9>0",
        // Two streams of one processor: calls in one, which has losses; switches in the other.
        "stream calls 0
         packet 100000..118000
         126000 <read 9
         packet 123000..150000 lost=5
         150000 tick
         stream switches 0
         packet 100000..160000
         100000 0>7
         120000 >read 3
         160000 7>0",
        // Two streams that lie beside each other by their events alone.
        "stream calls 0
         packet 90000..99000
         90000 >read 3
         95000 <read 4
         98000 >write 3
         150000 <write 4
         stream switches 0
         packet 120000..125000
         120000 7>8
         packet 130000..140000
         130000 8>9
         140000 9>7
         packet 160000..160000
         160000 7>8",
    ];
    for text in traces {
        check(packets::written(text).path(), text);
    }
}

#[test]
fn a_stream_that_is_there_twice_with_a_packet_that_begins_early() {
    // Behind a loss, and behind a packet that is missing.
    for told in ["lost=2", "number=2"] {
        let packets = format!(
            "packet 890..890
             890 101>102
             packet 888..888 {told}
             893 >write 4
             packet 894..895 lost=2
             894 <write 100
             packet 894..903 lost=2
             895 102>0"
        );
        let text = format!("stream cpu0 0\n{packets}\nstream cpu0_again 0\n{packets}");
        check(packets::written(&text).path(), &text);
    }
}

/// A trace of two processors and three threads with packets out of place.
fn made_up(chance: &mut Chance) -> String {
    let mut text = String::new();
    let is_early = chance.below(2) == 0;
    let is_late = chance.below(2) == 0;
    for cpu in 0..2 {
        let mut stream = String::new();
        let (mut now, mut lost, mut current, mut number) = (1_000, 0, 0, 0);
        for _ in 0..8 {
            let (first, mut events) = (now, String::new());
            for _ in 0..chance.below(6) {
                now += 1 + chance.below(40);
                let call = ["read", "write"][chance.below(2)];
                let what = match chance.below(5) {
                    0 => {
                        let next = chance.below(4);
                        let switch = format!("{current}>{next}");
                        current = next;
                        switch
                    }
                    1 => format!("wakes {}", 1 + chance.below(3)),
                    2 => format!(">{call} {}", 3 + chance.below(2)),
                    3 => format!("<{call} {}", chance.below(9)),
                    _ => "tick".to_owned(),
                };
                let _ = writeln!(events, "{now} {what}");
            }
            let mut begin = first;
            if is_late && chance.below(3) == 0 {
                begin = begin.saturating_sub(chance.below(30));
            }
            let mut end = now;
            if is_early && chance.below(3) == 0 {
                end = end.saturating_sub(chance.below(60)).max(begin);
            }
            if chance.below(5) == 0 {
                lost += 1 + chance.below(3);
                now += chance.below(50);
            }
            number += 1 + usize::from(chance.below(6) == 0);
            let _ = write!(
                stream,
                "packet {begin}..{end} lost={lost} number={number}\n{events}"
            );
            now += chance.below(20);
        }
        let _ = write!(text, "stream cpu{cpu} {cpu}\n{stream}");
        if chance.below(4) == 0 {
            let _ = write!(text, "stream cpu{cpu}_again {cpu}\n{stream}");
        }
    }
    text
}

#[test]
fn made_up_traces_whose_packets_do_not_follow_each_other() {
    for seed in 1..=24 {
        let text = made_up(&mut Chance(seed));
        check(packets::written(&text).path(), &text);
    }
}
