//! A session that was rotated is told as if it had not been, where numbers of packets tell that none is missing: also of a
//! processor that did nothing when it was rotated, whose next packet comes late (LTTng before 2.12 opened none then).
//! So are files that were rotated.

mod support;

use std::fs;
use std::path::Path;

use support::{packets, slowpath};

const FIRST_OF_0: &str = "
    packet 1000000..10000000
    1000000 0>7
    10000000 7>8";
const FIRST_OF_1: &str = "
    packet 1000000..9000000
    1000000 0>9
    9000000 >read 3";
const LATER_OF_0: &str = "
    packet 11000000..90000000 number=1
    11000000 8>7
    90000000 7>0";
const LATER_OF_1: &str = "
    packet 80000000..85000000 number=1
    80000000 <read 4
    85000000 9>0";

/// What is told of processors, files, latencies, threads and their critical paths.
fn answers(trace: &Path) -> Vec<(String, String)> {
    let questions = [
        &["cpu", "--json"][..],
        &["io", "--json"],
        &["latency", "--json"],
        &["thread-states", "--json"],
        &["critical-path", "--comm", "*", "--json"],
    ];
    questions
        .map(|question| {
            let printed = slowpath(question, trace);
            let told = String::from_utf8_lossy(&printed.stdout).into_owned();
            (told, printed.stderr)
        })
        .into()
}

/// Nanoseconds of each processor of which nothing is known.
fn unknown(trace: &Path) -> [Option<u64>; 2] {
    let told = slowpath(&["cpu", "--json"], trace).json();
    [0, 1].map(|cpu| told["cpus"][cpu]["unknown_ns"].as_u64())
}

fn of(of_0: &str, of_1: &str) -> String {
    format!("stream cpu_0 0{of_0}\nstream cpu_1 1{of_1}")
}

#[test]
fn a_processor_may_be_idle_when_a_session_is_rotated() {
    let [of_0, of_1] = [[FIRST_OF_0, LATER_OF_0], [FIRST_OF_1, LATER_OF_1]].map(|of| of.concat());
    let whole = packets::written(&of(&of_0, &of_1));
    let (first, later) = (of(FIRST_OF_0, FIRST_OF_1), of(LATER_OF_0, LATER_OF_1));
    let rotated = packets::rotated(&[&first, &later]);
    assert_eq!(answers(rotated.path()), answers(whole.path()));
    assert_eq!(unknown(rotated.path()), [Some(0); 2]);
    // Where a packet is missing, it is told.
    let later = later.replace("80000000..85000000 number=1", "80000000..85000000 number=2");
    let rotated = packets::rotated(&[&first, &later]);
    assert!(unknown(rotated.path())[1] > Some(0));
}

#[test]
fn a_part_that_lost_its_end_lacks_time_though_the_next_one_goes_on() {
    let (first, later) = (of(FIRST_OF_0, FIRST_OF_1), of(LATER_OF_0, LATER_OF_1));
    // In the middle of its last event, and all of that.
    for cut in [5, 13] {
        let rotated = packets::rotated(&[&first, &later]);
        let file = rotated.path().join("1/cpu_1");
        let bytes = fs::read(&file).expect("a stream");
        fs::write(&file, &bytes[..bytes.len() - cut]).expect("cut");
        let [known, lacking] = unknown(rotated.path());
        assert_eq!(known, Some(0));
        assert!(lacking > Some(70_000_000), "{lacking:?}");
    }
}

#[test]
fn a_part_may_end_with_a_full_packet_long_before_other_processors_do() {
    // Of two pages.
    let ticks = "8000000 tick\n".repeat(898);
    let full = format!(
        "\npacket 1000000..9000000\n1000000 0>9\n2000000 wakes 10\n{ticks}9000000 >read 3\n"
    );
    let busy = FIRST_OF_0.replace("10000000", "60000000");
    let later_of_0 = LATER_OF_0.replace("11000000", "61000000");
    let whole = packets::written(&of(
        &[&*busy, &later_of_0].concat(),
        &[&*full, LATER_OF_1].concat(),
    ));
    let rotated = packets::rotated(&[&of(&busy, &full), &of(&later_of_0, LATER_OF_1)]);
    let size = fs::metadata(rotated.path().join("1/cpu_1"))
        .expect("a stream")
        .len();
    assert_eq!(size, 8192);
    assert_eq!(answers(rotated.path()), answers(whole.path()));
}

#[test]
fn files_that_were_rotated_are_one_stream_though_no_packet_names_it() {
    let [of_0, of_1] = [[FIRST_OF_0, LATER_OF_0], [FIRST_OF_1, LATER_OF_1]].map(|of| of.concat());
    let whole = packets::written(&of(&of_0, &of_1));
    // As LTTng names them; before 2.8 it wrote nothing else that tells.
    let rotated = packets::written(&format!(
        "stream cpu_0_0 0{FIRST_OF_0}\nstream cpu_0_1 0{LATER_OF_0}\n\
         stream cpu_1_0 1{FIRST_OF_1}\nstream cpu_1_1 1{LATER_OF_1}"
    ));
    assert_eq!(answers(rotated.path()), answers(whole.path()));
}

#[test]
fn what_was_lost_between_and_within_parts_is_told_as_in_one() {
    let lost = |told: &str, packets: &str| packets.replace("number=1", &format!("number=1 {told}"));
    let lost_before = FIRST_OF_0.replace("10000000\n", "10000000 lost=5\n");
    let missing = LATER_OF_0.replace("number=1", "number=3");
    let later_in_0 = lost("lost=7", LATER_OF_0);
    let cases = [
        // Counted in the first packet of the later part, in the last one of the part before, and packets that are missing.
        (FIRST_OF_0, &*later_in_0),
        (&lost_before, &lost("lost=5", LATER_OF_0)),
        (FIRST_OF_0, &missing),
    ];
    for (first_of_0, later_of_0) in cases {
        let whole = packets::written(&of(
            &[first_of_0, later_of_0].concat(),
            &[FIRST_OF_1, LATER_OF_1].concat(),
        ));
        // In a part between them there was only the other processor, which lacks nothing.
        let rotated = packets::rotated(&[
            &of(first_of_0, FIRST_OF_1),
            &format!("stream cpu_0 0\nstream cpu_1 1{LATER_OF_1}"),
            &format!("stream cpu_0 0{later_of_0}\nstream cpu_1 1"),
        ]);
        let [expected, found] =
            [&whole, &rotated].map(|trace| slowpath(&["cpu", "--json"], trace.path()));
        assert!(unknown(whole.path())[0] > Some(0));
        assert_eq!(unknown(whole.path())[1], Some(0));
        assert_eq!(
            String::from_utf8_lossy(&found.stdout),
            String::from_utf8_lossy(&expected.stdout)
        );
        let codes = |said: &str| -> Vec<String> {
            let words = said
                .split_whitespace()
                .filter(|word| word.starts_with("warning["));
            words.map(|word| word.replace(':', "")).collect()
        };
        assert_eq!(codes(&found.stderr), codes(&expected.stderr));
    }
}

#[test]
fn parts_stay_one_where_another_part_is_described_anew() {
    let first = of(FIRST_OF_0, FIRST_OF_1);
    let later = of(&LATER_OF_0.replace("number=1", "number=3"), LATER_OF_1);
    let latest = of(
        "\npacket 100000000..110000000 number=4\n100000000 0>7\n110000000 7>0",
        "\npacket 100000000..110000000 number=2\n100000000 0>9\n110000000 9>0",
    );
    let described_anew = |part: &str| {
        let rotated = packets::rotated(&[&first, &later, &latest]);
        // As `lttng regenerate metadata` does.
        let described = rotated.path().join(part).join("metadata");
        let text = fs::read_to_string(&described).expect("a description");
        let anew = text.replacen("freq = 1000000000;", "freq = 1000000000; offset = 9;", 1);
        assert_ne!(anew, text);
        fs::write(&described, anew).expect("written");
        slowpath(&["count"], rotated.path()).stderr
    };
    let said = described_anew("3");
    assert!(said.contains("2 packets are missing"), "{said}");
    // What such a part in the middle holds is not missing on both sides of it.
    let said = described_anew("2");
    assert!(!said.contains("missing"), "{said}");
}

#[test]
fn snapshots_that_hold_others_and_share_with_others_are_one() {
    let packet = |number: u64| {
        let begin = 1_000_000 + number * 10_000_000;
        format!(
            "\npacket {begin}..{} number={number}\n{begin} 0>7\n{} 7>0",
            begin + 5_000_000,
            begin + 5_000_000
        )
    };
    let of_0 = |numbers: std::ops::Range<u64>| -> String {
        format!("stream cpu_0 0{}", numbers.map(packet).collect::<String>())
    };
    let whole = packets::written(&of_0(0..4));
    let snapshots = packets::rotated(&[&of_0(0..2), &of_0(1..3), &of_0(1..4)]);
    assert_eq!(answers(snapshots.path())[0].0, answers(whole.path())[0].0);
    let said = slowpath(&["cpu"], snapshots.path()).stderr;
    assert!(!said.contains("OverlappingTraces"), "{said}");
}

/// A stream of packets of these numbers with a hundred events each.
fn ticking(numbers: &[u64]) -> String {
    let packet = |number: &u64| {
        let begin = 1_000_000 + number * 10_000_000;
        let ticks = format!("{} tick\n", begin + 1_000_000).repeat(100);
        let end = begin + 5_000_000;
        format!("\npacket {begin}..{end} number={number}\n{begin} 0>7\n{ticks}{end} 7>0\n")
    };
    format!(
        "stream cpu_0 0{}",
        numbers.iter().map(packet).collect::<String>()
    )
}

#[test]
fn of_a_packet_that_two_snapshots_have_the_whole_one_is_read() {
    let whole = packets::written(&ticking(&[0, 1, 2]));
    for damaged in ["1", "2"] {
        let snapshots = packets::rotated(&[&ticking(&[0, 1]), &ticking(&[1, 2])]);
        let file = snapshots.path().join(damaged).join("cpu_0");
        let mut bytes = fs::read(&file).expect("a stream");
        // In the middle of the packet that both have, what is no number of an event.
        let half = bytes.len() / 2;
        let middle = if damaged == "1" {
            half + half / 2
        } else {
            half / 2
        };
        bytes[middle..middle + 16].fill(0xff);
        fs::write(&file, bytes).expect("written");
        let count = |trace: &Path| slowpath(&["count", "--by", "none", "--json"], trace).json();
        assert_eq!(
            count(snapshots.path())["events"],
            count(whole.path())["events"]
        );
        let said = slowpath(&["count"], snapshots.path()).stderr;
        assert!(said.contains("warning[CopiedPacket]"), "{said}");
        assert!(!said.contains("TimeGoesBack"), "{said}");
    }
}

#[test]
fn a_part_that_lies_whole_in_another_part_is_read_where_that_one_is_damaged() {
    // Damages the middle of a packet, by position, where packets are of one size.
    let damage = |part: &Path, position: usize, of: usize| {
        let file = part.join("cpu_0");
        let mut bytes = fs::read(&file).expect("a stream");
        let middle = bytes.len() * (2 * position + 1) / (2 * of);
        bytes[middle..middle + 16].fill(0xff);
        fs::write(&file, bytes).expect("written");
    };
    let events = |trace: &Path| {
        slowpath(&["count", "--by", "none", "--json"], trace).json()["events"].clone()
    };
    let whole = events(packets::written(&ticking(&[0, 1, 2])).path());
    let parts = packets::rotated(&[&ticking(&[0, 1, 2]), &ticking(&[1])]);
    damage(&parts.path().join("1"), 1, 3);
    assert_eq!(events(parts.path()), whole);
    let copies = packets::rotated(&[&ticking(&[0, 1, 2]), &ticking(&[0, 1, 2])]);
    damage(&copies.path().join("1"), 0, 3);
    damage(&copies.path().join("2"), 2, 3);
    assert_eq!(events(copies.path()), whole);
}
