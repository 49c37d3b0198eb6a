//! A folder of raw pages, compared with what the kernel itself printed of them.

mod support;

use slowpath_model::{DiagnosticCode, ProcessId, ThreadId, Timestamp};
use slowpath_read_ftrace::{FtraceTrace, ReadOptions};
use slowpath_source::{NamedBytes, Source};
use support::values::all_events;
use support::{fixture_text, raw_pages_folder};

fn trace() -> FtraceTrace {
    FtraceTrace::from_folder(raw_pages_folder(), ReadOptions::default()).expect("the folder")
}

#[test]
fn every_event_is_as_the_kernel_printed_it() {
    let trace = trace();
    let (events, diagnostics) = all_events(&trace);
    assert_eq!(diagnostics, []);
    let texts = [1, 2].map(|burst| fixture_text(&format!("ftrace-raw-pages/kernel-{burst}.txt")));
    let lines: Vec<&str> = texts
        .iter()
        .flat_map(|text| text.lines())
        .filter(|line| line.contains("sched_"))
        .collect();
    assert_eq!(events.len(), lines.len());
    for cpu in [0, 1] {
        let mark = format!(" [{cpu:03}]");
        let of_cpu = lines.iter().filter_map(|line| line.split_once(&mark));
        let events: Vec<_> = events.iter().filter(|event| event.cpu == cpu).collect();
        assert_eq!(of_cpu.clone().count(), events.len());
        for ((thread, rest), event) in of_cpu.zip(events) {
            // ` cat-13971 (13971) [001] d..2. 3152.206616: sched_switch: prev_comm=...`
            let mut words = rest.split_whitespace().skip(1);
            let time = words
                .next()
                .expect("a time")
                .trim_end_matches(':')
                .replace('.', "");
            let rounded = (event.at_ns + 500) / 1_000;
            assert_eq!(rounded.to_string(), time, "{rest}");
            assert_eq!(
                words.next(),
                Some(format!("{}:", event.name).as_str()),
                "{rest}"
            );
            let pid = event.number("common_pid");
            assert!(
                thread
                    .split('(')
                    .next()
                    .expect("a thread")
                    .trim_end()
                    .ends_with(&format!("-{pid}")),
                "{thread}"
            );
            let field = if event.name == "sched_switch" {
                "next_pid"
            } else {
                "pid"
            };
            assert!(
                rest.contains(&format!(" {field}={} ", event.number(field))),
                "{rest}"
            );
        }
    }
}

#[test]
fn losses_are_those_that_the_tracer_counted() {
    let trace = trace();
    for stream in trace.streams() {
        let packets = &trace.packets()[stream.packets.start as usize..stream.packets.end as usize];
        let lost: u64 = packets.iter().map(|packet| packet.lost_events).sum();
        let stats = fixture_text(&format!(
            "ftrace-raw-pages/stats/cpu{}",
            stream.cpu.expect("a processor")
        ));
        let overrun = stats
            .lines()
            .find_map(|line| line.strip_prefix("overrun: "))
            .expect("overrun");
        assert_eq!(lost.to_string(), overrun, "{}", stream.name);
        assert_eq!(packets.len(), 2, "losses cut packets: one for each burst");
        assert!(packets[0].range.end <= packets[1].range.begin);
    }
    let codes: Vec<_> = trace
        .diagnostics()
        .iter()
        .map(|diagnostic| diagnostic.code)
        .collect();
    assert_eq!(codes, [DiagnosticCode::LostEvents; 2]);
}

#[test]
fn a_snapshot_lost_nothing_that_its_ring_overwrote() {
    let mut folder = raw_pages_folder();
    folder.is_snapshot = true;
    let snapshot = FtraceTrace::from_folder(folder, ReadOptions::default()).expect("the folder");
    for (packet, of_snapshot) in trace().packets().iter().zip(snapshot.packets()) {
        let is_first = trace().streams()[packet.stream.index()].packets.start == packet.id.0;
        assert_eq!(of_snapshot.lost_events, 0);
        // What happened then is unknown all the same.
        assert!(is_first || of_snapshot.lost_packets == 1);
    }
    assert_eq!(snapshot.diagnostics(), []);
}

#[test]
fn rings_of_a_snapshot_may_reach_back_unequally_far() {
    let is_told = |is_snapshot: bool, overwritten: [bool; 2]| {
        let mut folder = raw_pages_folder();
        folder.is_snapshot = is_snapshot;
        // The first page of a ring is marked where the one before it was overwritten.
        for ((_, pages), overwritten) in folder.cpus.iter_mut().zip(overwritten) {
            let mut bytes = pages.get().to_vec();
            bytes[11] = (bytes[11] & 0x7f) | u8::from(overwritten) << 7;
            *pages = NamedBytes::new(pages.name.clone(), bytes);
        }
        let trace = FtraceTrace::from_folder(folder, ReadOptions::default()).expect("the folder");
        let firsts = trace.streams().iter().map(|stream| stream.packets.start);
        let firsts = firsts.map(|first| &trace.packets()[first as usize]);
        let begins: Vec<_> = firsts.clone().map(|packet| packet.range.begin).collect();
        assert!(begins[0] != begins[1], "one begins later");
        let later = usize::from(begins[1] > begins[0]);
        let lost: Vec<_> = firsts.map(|packet| packet.lost_packets).collect();
        assert_eq!(
            lost[1 - later],
            0,
            "nothing of the trace is before its begin"
        );
        lost[later]
    };
    assert_eq!(is_told(true, [true, true]), 1);
    assert_eq!(is_told(true, [false, false]), 0);
    assert_eq!(is_told(false, [false, false]), 0);
}

#[test]
fn threads_are_named() {
    let trace = trace();
    let (thread, _) = trace
        .saved_cmdlines()
        .iter()
        .find(|(_, comm)| comm == "make.sh")
        .expect("make.sh");
    let of_thread = trace.saved_tgids().iter().find(|(of, _)| of == thread);
    assert_eq!(of_thread, Some(&(*thread, ProcessId(thread.0))));
    assert!(
        trace
            .saved_cmdlines()
            .iter()
            .all(|(thread, _)| *thread != ThreadId::IDLE)
    );
}

#[test]
fn the_clocks_offset_is_added() {
    let options = ReadOptions {
        clock_offset_ns: 1_000_000_000_000_000_000,
    };
    let moved = FtraceTrace::from_folder(raw_pages_folder(), options).expect("the folder");
    for (packet, moved) in trace().packets().iter().zip(moved.packets()) {
        let expected = Timestamp::from_ns(packet.range.begin.ns() + options.clock_offset_ns);
        assert_eq!(moved.range.begin, expected);
    }
}
