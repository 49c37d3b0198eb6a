//! What can stand in a page, drawn as text, and the events that must come out.

mod support;

use slowpath_model::{CpuId, DiagnosticCode, Scope};
use slowpath_read_ftrace::{ByteOrder, FolderFiles, FtraceTrace, ReadOptions};
use slowpath_source::Source;
use support::drawn_pages::{DrawnFile, Machine, USUAL};
use support::values::{Seen, Value, all_events};

const MACHINES: [Machine; 4] = [
    USUAL,
    Machine {
        order: ByteOrder::Little,
        long_size: 4,
        page_size: 4096,
    },
    Machine {
        order: ByteOrder::Big,
        long_size: 8,
        page_size: 8192,
    },
    Machine {
        order: ByteOrder::Big,
        long_size: 4,
        page_size: 1024,
    },
];

/// One line per event: time, name, value.
fn lines(events: &[Seen]) -> Vec<String> {
    let line = |event: &Seen| {
        let fields = event.payload.iter().map(|(_, value)| match value {
            Value::Number(number, _) => number.to_string(),
            Value::Text(text) => String::from_utf8_lossy(text).into_owned(),
            Value::Bytes(bytes) => format!("{} bytes", bytes.len()),
            Value::Numbers(numbers) if numbers.len() > 4 => format!("{} numbers", numbers.len()),
            Value::Numbers(numbers) => format!(
                "{:?}",
                numbers.iter().map(|(number, _)| number).collect::<Vec<_>>()
            ),
            Value::Nothing => "nothing".to_owned(),
        });
        format!(
            "{} {} {}",
            event.at_ns,
            event.name,
            fields.collect::<Vec<_>>().join(" ")
        )
    };
    events.iter().map(line).collect()
}

/// Reads drawn pages on every kind of machine; `expected` holds the events and then, if any, the
/// codes of the diagnostics.
fn check(drawn: &str, expected: &[&str]) {
    for machine in MACHINES {
        let trace = FtraceTrace::from_folder(machine.folder(&[drawn]), ReadOptions::default())
            .expect("a folder");
        let (events, found) = all_events(&trace);
        let mut all = lines(&events);
        all.extend(
            trace
                .diagnostics()
                .iter()
                .chain(&found)
                .map(|diagnostic| diagnostic.code.name().to_owned()),
        );
        assert_eq!(all, expected, "{machine:?}");
    }
}

#[test]
fn times_add_up() {
    check(
        "page 1000
         +0 number 1
         +5 number -2
         extend 134217728      # 2^27
         +1 number 3
         absolute 300000000000
         +2 number 4
         page 400000000000
         +0 number 5",
        &[
            "1000 number 1",
            "1005 number -2",
            "134218734 number 3",
            "300000000002 number 4",
            "400000000000 number 5",
        ],
    );
}

#[test]
fn an_absolute_time_takes_its_highest_bits_from_the_page() {
    // Bits 59 and up are not stored: 2^59 + 7 before, so 9 means 2^59 + 9, and 3 the next round.
    check(
        "page 576460752303423495
         absolute 9
         +0 number 1
         absolute 3
         +0 number 2",
        &[
            "576460752303423497 number 1",
            "1152921504606846979 number 2",
        ],
    );
}

#[test]
fn what_is_no_event_is_stepped_over() {
    check(
        "page 1000
         +1 number 1
         discard 6 8           # its time counts
         +1 number 2
         discard 1 12          # 1 stands for no time
         +1 number 3
         padding
         hex ffffffffffffffff  # never looked at
         page 2000             # an empty page
         page 3000
         +0 number 4",
        &[
            "1001 number 1",
            "1008 number 2",
            "1009 number 3",
            "3000 number 4",
        ],
    );
}

#[test]
fn large_and_dynamic_records() {
    check(
        "page 1000
         +1 long 7 100         # 112 bytes: the largest whose length fits the header
         +1 long 8 104
         +1 words hello there
         +1 words",
        &[
            "1001 long 7 100 numbers",
            "1002 long 8 104 numbers",
            "1003 words hello there [3, 4]",
            "1004 words  [3, 4]",
        ],
    );
}

#[test]
fn an_unknown_event_is_skipped_alone() {
    check(
        "page 1000
         +1 number 1
         +1 odd 3 4
         +1 number 2",
        &["1001 number 1", "1003 number 2", "UnknownEventClass"],
    );
}

#[test]
fn a_record_that_runs_out_of_its_page_ends_the_page_only() {
    // Little-endian: type 28, that is 112 bytes. Big-endian: type 9 and a huge length.
    check(
        "page 1000
         +1 number 1
         hex 1c0000ff
         page 2000
         +0 number 2",
        &["1001 number 1", "2000 number 2", "InvalidEvent"],
    );
}

#[test]
fn losses_stand_between_packets() {
    let drawn = "page 1000
         +0 number 1
         page 2000 lost 7
         +0 number 2
         page 3000
         +4 number 3
         page 4000 lost ?
         +5 number 4";
    for machine in MACHINES {
        let trace = FtraceTrace::from_folder(machine.folder(&[drawn]), ReadOptions::default())
            .expect("a folder");
        let packets: Vec<_> = trace
            .packets()
            .iter()
            .map(|packet| {
                (
                    packet.range.begin.ns(),
                    packet.range.end.ns(),
                    packet.lost_events,
                )
            })
            .collect();
        assert_eq!(
            packets,
            [(1000, 2000, 0), (2000, 4000, 7), (4000, 4005, 1)],
            "{machine:?}"
        );
        let codes: Vec<_> = trace
            .diagnostics()
            .iter()
            .map(|diagnostic| (diagnostic.code, diagnostic.count))
            .collect();
        assert_eq!(codes, [(DiagnosticCode::LostEvents, Some(8))]);
    }
}

/// Begin and end of packets, what is lost or missing before each, and diagnostics with their counts.
type Listed = (
    Vec<(i64, i64, u64, u64)>,
    Vec<(DiagnosticCode, Option<u64>)>,
);

fn listed(pages: &str, is_snapshot: bool) -> Listed {
    let folder = FolderFiles {
        is_snapshot,
        ..USUAL.folder(&["page 1\n+1 number 0\n", pages])
    };
    let trace = FtraceTrace::from_folder(folder, ReadOptions::default()).expect("a folder");
    let packets = trace.packets().iter().skip(1).map(|packet| {
        let (begin, end) = (packet.range.begin.ns(), packet.range.end.ns());
        (begin, end, packet.lost_events, packet.lost_packets)
    });
    let found = trace.diagnostics().iter();
    let found = found.map(|found| (found.code, found.count)).collect();
    (packets.collect(), found)
}

#[test]
fn pages_that_contradict_the_most_are_left_out() {
    let pages = |begins: &[u64]| -> String {
        let page = |begin: &u64| format!("page {begin}\n+9 number 1\n");
        begins.iter().map(page).collect()
    };
    let left_out = |count| vec![(DiagnosticCode::InvalidPacket, Some(count))];
    // Nothing tells which of two is right.
    assert_eq!(listed(&pages(&[1000, 500]), false), (vec![], left_out(2)));
    // No event is counted as lost: the page is there.
    let found = listed(&pages(&[1000, 2000, 500, 3000]), false);
    let packets = vec![(1000, 3000, 0, 0), (3000, 3009, 0, 1)];
    assert_eq!(found, (packets, left_out(1)));
    // However many they are.
    let mut begins: Vec<u64> = (20..50).map(|page| page * 1000).collect();
    begins[15..25].iter_mut().for_each(|begin| *begin -= 20_000);
    let (_, found) = listed(&pages(&begins), false);
    assert_eq!(found, left_out(10));
}

#[test]
fn what_the_ring_of_a_snapshot_overwrote_is_not_lost() {
    // The first page was being filled when the snapshot before was taken.
    let overwritten = "page 1000\n+9 number 1\npage 5000 lost 7\n+9 number 2\n";
    let lost = vec![(DiagnosticCode::LostEvents, Some(7))];
    let with_loss = vec![(1000, 5000, 0, 0), (5000, 5009, 7, 0)];
    assert_eq!(listed(overwritten, false), (with_loss, lost));
    let behind = vec![(5000, 5009, 0, 1)];
    assert_eq!(listed(overwritten, true), (behind, vec![]));
    // Nothing was overwritten: it is part of this one.
    let kept = "page 1000\n+9 number 1\npage 5000\n+9 number 2\n";
    assert_eq!(listed(kept, true), (vec![(1000, 5009, 0, 0)], vec![]));
}

#[test]
fn many_pages_are_several_packets() {
    let drawn: String = (0..200)
        .map(|page| format!("page {}\n+1 number {page}\n", page * 10))
        .collect();
    for compression in ["none", "zlib"] {
        let file = DrawnFile {
            machine: USUAL,
            compression,
            clock: "mono",
            options: vec![],
            cpus: vec![&drawn, "", &drawn],
        };
        let trace = support::trace_dat(file.write()).expect("a file");
        assert_eq!(trace.diagnostics(), []);
        let sizes: Vec<u64> = trace
            .packets()
            .iter()
            .map(|packet| packet.size / 4096)
            .collect();
        assert_eq!(sizes, [64, 64, 64, 8, 64, 64, 64, 8]);
        let streams: Vec<_> = trace
            .streams()
            .iter()
            .map(|stream| stream.packets.clone())
            .collect();
        assert_eq!(streams, [0..4, 4..4, 4..8]);
        let (events, _) = all_events(&trace);
        let values: Vec<i128> = events.iter().map(|event| event.number("value")).collect();
        assert_eq!(values, (0..200).chain(0..200).collect::<Vec<_>>());
    }
}

#[test]
fn a_cut_last_page_keeps_what_came_before() {
    let whole = USUAL.pages("page 1000\n+1 number 1\n+1 number 2\n+1 number 3");
    // Header 16, records of 16 bytes each.
    for (length, expected) in [
        (10, vec![]),
        (16, vec![]),
        (33, vec!["1001 number 1"]),
        (48, vec!["1001 number 1", "1002 number 2"]),
    ] {
        let mut folder = USUAL.folder(&[""]);
        folder.cpus[0].1 = slowpath_source::NamedBytes::new("cpu0.raw", whole[..length].to_vec());
        let trace = FtraceTrace::from_folder(folder, ReadOptions::default()).expect("a folder");
        assert_eq!(
            trace.diagnostics()[0].code,
            DiagnosticCode::TruncatedPacket,
            "{length}"
        );
        assert_eq!(lines(&all_events(&trace).0), expected, "{length}");
    }
}

#[test]
fn files_of_every_machine_and_compression() {
    for machine in MACHINES {
        for compression in ["none", "zlib", "zstd"] {
            let cpus = vec![
                "page 1000\n+1 number 1\npage 1100\n+1 words hi\npage 1200\n+0 number 3",
                "page 1050\n+1 number 2",
            ];
            let file = DrawnFile {
                machine,
                compression,
                clock: "mono",
                options: vec![(7, b"500\0".to_vec())],
                cpus,
            };
            let trace = support::trace_dat(file.write()).expect("a file");
            assert_eq!(trace.diagnostics(), []);
            let (events, diagnostics) = all_events(&trace);
            assert_eq!(diagnostics, []);
            assert_eq!(
                lines(&events),
                [
                    "1501 number 1",
                    "1601 words hi [3, 4]",
                    "1700 number 3",
                    "1551 number 2"
                ]
            );
            assert_eq!(trace.schema().host, "drawn-host");
            assert_eq!(trace.saved_cmdlines()[0].1, "drawn");
        }
    }
}

#[test]
fn counters_become_time_where_the_file_says_how() {
    let scale = |multiplier: u32, shift: u32| {
        (
            14,
            [
                multiplier.to_le_bytes(),
                shift.to_le_bytes(),
                [0; 4],
                [0; 4],
            ]
            .concat(),
        )
    };
    let first = |clock, options| {
        let cpus = vec!["page 1000\n+1 number 1"];
        let trace = support::trace_dat(
            DrawnFile {
                machine: USUAL,
                compression: "none",
                clock,
                options,
                cpus,
            }
            .write(),
        )
        .expect("a file");
        let codes: Vec<_> = trace
            .diagnostics()
            .iter()
            .map(|diagnostic| diagnostic.code)
            .collect();
        (all_events(&trace).0[0].at_ns, codes)
    };
    assert_eq!(first("x86-tsc", vec![scale(3, 1)]), (1501, vec![]));
    assert_eq!(first("tsc2nsec", vec![scale(1 << 31, 32)]), (500, vec![]));
    assert_eq!(
        first("x86-tsc", vec![]),
        (1001, vec![DiagnosticCode::UnknownClockUnit])
    );
    assert_eq!(
        first("counter", vec![]),
        (1001, vec![DiagnosticCode::UnknownClockUnit])
    );
    assert_eq!(first("mono", vec![scale(3, 1)]), (1001, vec![]));
    assert_eq!(
        first("uptime", vec![(1, b"0x1\0".to_vec())]),
        (10_010_001_000, vec![])
    );
}

#[test]
fn fields_say_where_they_stand() {
    let mut folder = USUAL.folder(&[]);
    let mut other = folder.formats[0].clone();
    other.system = "other".into();
    other.text = other.text.replace("ID: 7", "ID: 17");
    folder.formats.push(other);
    let trace = FtraceTrace::from_folder(folder, ReadOptions::default()).expect("a folder");
    let classes = &trace.schema().event_classes;
    let names: Vec<_> = classes.iter().map(|class| class.name.as_str()).collect();
    assert_eq!(names, ["number", "long", "words", "other:number"]);
    let fields: Vec<_> = classes[2]
        .fields
        .iter()
        .map(|field| (field.name.as_str(), field.scope))
        .collect();
    assert_eq!(
        fields,
        [
            ("common_type", Scope::EventHeader),
            ("common_flags", Scope::CommonContext),
            ("common_preempt_count", Scope::CommonContext),
            ("common_pid", Scope::CommonContext),
            ("text", Scope::Payload),
            ("pair", Scope::Payload),
            ("pair.0", Scope::Payload),
            ("pair.1", Scope::Payload),
        ]
    );
}

#[test]
fn pages_that_are_missing_lie_at_the_end_or_between_others() {
    // The codes of what was said; for each packet whether any are missing before; whether the end is.
    let check = |drawn: &str, is_short, expected: (&[DiagnosticCode], &[u64], bool)| {
        let mut folder = USUAL.folder(&[drawn, "page 100\n+0 number 1"]);
        if is_short {
            folder.short = vec![CpuId(0)];
        }
        let trace = FtraceTrace::from_folder(folder, ReadOptions::default()).expect("a folder");
        let codes: Vec<_> = trace.diagnostics().iter().map(|said| said.code).collect();
        let packets = trace.packets().iter();
        let packets = packets.filter(|packet| packet.cpu == Some(CpuId(0)));
        let missing: Vec<_> = packets.map(|packet| packet.lost_packets).collect();
        let lacks_end = trace.streams()[0].cut_off_at.is_some();
        assert_eq!((&codes[..], &missing[..], lacks_end), expected, "{drawn}");
        let (events, _) = all_events(&trace);
        assert_eq!(events.len(), drawn.matches('+').count() + 1, "{drawn}");
    };
    let written_last = "page 1000\n+0 number 1\npage 1100\n+0 number 2\n+700 number 3
        page 3000\n+0 number 4\npage 3500\n+0 number 5\n+0 number 6";
    check(written_last, false, (&[], &[0], false));
    check(
        written_last,
        true,
        (&[DiagnosticCode::MissingPackets], &[0, 1], false),
    );
    // Another one followed the last page that is there.
    let full = written_last.to_owned() + "\n+5 long 1 3900";
    check(&full, true, (&[], &[0], true));
    check(&full, false, (&[], &[0], false));
}
