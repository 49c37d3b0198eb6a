//! Damaged recordings: nothing panics, nothing hangs, and what came before the damage is kept.

mod support;

use proptest::prelude::*;
use slowpath_model::DiagnosticCode;
use slowpath_read_ftrace::{FtraceTrace, ReadOptions};
use slowpath_source::{NamedBytes, Source};
use support::drawn_pages::{DrawnFile, USUAL};
use support::values::{Seen, all_events};
use support::{fixture, raw_pages_folder, trace_dat};

const PAGE_BYTES: usize = 4096;
const FILES: [&str; 3] = ["everyday-v6", "everyday-v7-plain", "everyday-v7-zstd"];

fn file(name: &str) -> Vec<u8> {
    fixture(&format!("ftrace-trace-cmd/{name}.dat"))
}

/// Events of one processor, in their order.
fn of_cpu(events: &[Seen], cpu: u32) -> Vec<&Seen> {
    events.iter().filter(|event| event.cpu == cpu).collect()
}

#[test]
fn every_prefix_of_a_file_gives_the_events_before_its_end() {
    for name in FILES {
        let whole = file(name);
        let (all, _) = all_events(&trace_dat(whole.clone()).expect(name));
        let mut readable = 0;
        // Every length near a page's begin or end, and a sample of the others.
        let near = |length: &usize| {
            length % 4096 < 40 || length % 4096 > 4090 || length.is_multiple_of(97)
        };
        for length in (0..whole.len()).filter(near) {
            let Ok(trace) = trace_dat(whole[..length].to_vec()) else {
                continue;
            };
            readable += 1;
            let (events, _) = all_events(&trace);
            for cpu in [0, 1] {
                let (kept, all) = (of_cpu(&events, cpu), of_cpu(&all, cpu));
                assert!(all.starts_with(&kept), "{name} cut to {length}");
            }
            let complete = events.len() == all.len();
            assert!(
                complete || !trace.diagnostics().is_empty(),
                "{name} cut to {length} says nothing"
            );
        }
        // Version 7 without compression is written with its options at the end of the file.
        assert!(
            readable > 30 || name.ends_with("zstd"),
            "{name}: {readable}"
        );
    }
}

#[test]
fn a_file_of_version_7_without_its_last_bytes_gives_the_processors_that_it_still_describes() {
    // Where the last list of options ends; descriptions of sections follow, which nobody needs.
    for (name, end) in [("everyday-v7-plain", 53363), ("everyday-v7-zstd", 13497)] {
        let whole = file(name);
        let (all, _) = all_events(&trace_dat(whole.clone()).expect(name));
        let read = |length: usize| trace_dat(whole[..length].to_vec()).expect(name);
        // Its last 14 bytes say that it ends, the 20 before them describe the last processor.
        assert!(all_events(&read(end)).0 == all, "{name}");
        for length in end - 34..end {
            let trace = read(length);
            assert!(!trace.diagnostics().is_empty(), "{name} cut to {length}");
            let kept = all_events(&trace).0;
            let all_are_described = length >= end - 14;
            let expected = all
                .iter()
                .filter(|event| all_are_described || event.cpu == 0);
            assert!(kept.iter().eq(expected), "{name} cut to {length}");
        }
    }
}

#[test]
fn every_prefix_of_raw_pages_gives_the_events_before_its_end() {
    let whole = raw_pages_folder();
    let bytes = whole.cpus[0].1.get().to_vec();
    let read = |length: usize| {
        let mut folder = raw_pages_folder();
        folder.cpus.truncate(1);
        folder.cpus[0].1 = NamedBytes::new("cpu0.raw", bytes[..length].to_vec());
        let trace = FtraceTrace::from_folder(folder, ReadOptions::default()).expect("a folder");
        all_events(&trace).0
    };
    let all = read(bytes.len());
    let mut most = 0;
    for length in (0..bytes.len()).step_by(13) {
        let kept = read(length);
        assert!(all.starts_with(&kept), "cut to {length}");
        assert!(kept.len() >= most, "cut to {length}");
        most = kept.len();
    }
    assert!(most + 3 > all.len());
}

/// Of the last page alone that may be: it may have been used before.
#[test]
fn pages_that_state_no_records_are_told_at_the_end_too() {
    let told = |count: usize| {
        let mut folder = raw_pages_folder();
        folder.cpus.truncate(1);
        let mut bytes = folder.cpus[0].1.get().to_vec();
        let pages = bytes.len() / PAGE_BYTES;
        for page in pages - count..pages {
            bytes[page * PAGE_BYTES + 8..][..8].fill(0);
        }
        folder.cpus[0].1 = NamedBytes::new("cpu0.raw", bytes);
        let trace = FtraceTrace::from_folder(folder, ReadOptions::default()).expect("a folder");
        let said = trace.diagnostics().iter();
        let said = said.filter(|said| said.message.contains("states no records"));
        said.filter_map(|said| said.count).sum::<u64>()
    };
    assert_eq!([0, 1, 2, 3].map(told), [0, 0, 1, 2]);
}

/// Reads whatever can be read, to the last field.
fn read_all(bytes: Vec<u8>) {
    if let Ok(trace) = trace_dat(bytes) {
        all_events(&trace);
        trace.saved_cmdlines();
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn flipped_bytes_do_no_harm(
        which in 0..FILES.len(),
        flips in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..20),
    ) {
        let mut bytes = file(FILES[which]);
        for (at, value) in flips {
            let at = at.index(bytes.len());
            bytes[at] = value;
        }
        read_all(bytes);
    }

    #[test]
    fn damage_near_the_descriptions_does_no_harm(
        compression in prop::sample::select(vec!["none", "zlib", "zstd"]),
        flips in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..6),
        cut in any::<prop::sample::Index>(),
    ) {
        let cpus = vec!["page 10\n+1 words some text\n+1 long 5 200\n+1 number 6\npage 20 lost ?\n+0 number 7"];
        let mut bytes = DrawnFile { machine: USUAL, compression, clock: "mono", options: vec![(12, vec![0; 40])], cpus }.write();
        for (at, value) in flips {
            let at = at.index(bytes.len());
            bytes[at] = value;
        }
        let cut = cut.index(bytes.len());
        read_all(bytes[..cut].to_vec());
        read_all(bytes);
    }

    #[test]
    fn pages_of_random_bytes_do_no_harm(bytes in prop::collection::vec(any::<u8>(), 0..10_000)) {
        let mut folder = raw_pages_folder();
        folder.cpus[0].1 = NamedBytes::new("cpu0.raw", bytes);
        let trace = FtraceTrace::from_folder(folder, ReadOptions::default()).expect("a folder");
        all_events(&trace);
    }
}

#[test]
fn options_chained_in_a_ring_are_read_once() {
    // The last option says where the next options are: here, those that it belongs to.
    let mut bytes = DrawnFile {
        machine: USUAL,
        compression: "zlib",
        clock: "mono",
        options: vec![],
        cpus: vec!["page 10\n+1 number 6"],
    }
    .write();
    let last = bytes.len() - 8;
    let options = bytes[26..34].to_vec();
    bytes[last..].copy_from_slice(&options);
    let trace = trace_dat(bytes).expect("a file");
    assert_eq!(all_events(&trace).0.len(), 1);
}

#[test]
fn chunks_that_claim_too_much_are_not_believed() {
    let cpus = vec!["page 10\n+1 number 6"];
    let mut bytes = DrawnFile {
        machine: USUAL,
        compression: "zlib",
        clock: "mono",
        options: vec![],
        cpus,
    }
    .write();
    let claimed = 4096u32.to_le_bytes();
    let at = bytes
        .windows(4)
        .rposition(|word| word == claimed)
        .expect("the page size");
    let chunk = bytes[..at]
        .windows(4)
        .rposition(|word| word == claimed)
        .expect("the chunk's size");
    bytes[chunk..chunk + 4].copy_from_slice(&u32::MAX.to_le_bytes());
    let trace = trace_dat(bytes).expect("a file");
    assert_eq!(trace.packets().len(), 0);
    assert_eq!(trace.diagnostics()[0].code, DiagnosticCode::TruncatedPacket);
}

#[test]
fn what_cannot_be_read_at_all_says_why() {
    let fails = |bytes: Vec<u8>, expected: &str| match trace_dat(bytes) {
        Ok(_) => panic!("readable, not: {expected}"),
        Err(error) => {
            let text = error.to_string();
            assert!(text.contains(expected) && text.contains("hint:"), "{text}");
        }
    };
    let patched = |from: &str, to: &str| {
        let bytes = file("everyday-v7-zstd");
        let at = bytes
            .windows(from.len())
            .position(|window| window == from.as_bytes());
        let at = at.expect("the text to be replaced");
        [&bytes[..at], to.as_bytes(), &bytes[at + from.len()..]].concat()
    };
    fails(vec![], "not a trace.dat file");
    fails(
        b"\x17\x08\x44tracing".to_vec(),
        "the file header is missing",
    );
    fails(
        patched("tracing7", "tracing9"),
        "version \"9\" is not known",
    );
    fails(patched("zstd", "lzma"), "compressed with \"lzma\"");
    fails(
        file("everyday-v7-zstd")[..5000].to_vec(),
        "the list of options is missing",
    );
    let mut folder = raw_pages_folder();
    folder.header_page = folder.header_page.replace("size:4080", "size:2");
    let error = FtraceTrace::from_folder(folder, ReadOptions::default()).map(|_| ());
    assert!(error.is_err_and(|error| error.to_string().contains("header_page")));
}

#[test]
fn pages_belong_to_one_processor_only() {
    // The table of version 6 says of the second processor what it says of the first.
    let mut bytes = file("everyday-v6");
    let all = all_events(&trace_dat(bytes.clone()).expect("a file")).0;
    let table = bytes
        .windows(10)
        .rposition(|window| window == b"flyrecord\0")
        .expect("the table")
        + 10;
    let whole = [
        8192u64.to_le_bytes(),
        (bytes.len() as u64 - 8192).to_le_bytes(),
    ]
    .concat();
    bytes[table..table + 32].copy_from_slice(&[whole.clone(), whole].concat());
    let trace = trace_dat(bytes).expect("a file");
    let codes: Vec<_> = trace
        .diagnostics()
        .iter()
        .map(|diagnostic| diagnostic.code)
        .collect();
    assert!(codes.contains(&DiagnosticCode::InvalidFile), "{codes:?}");
    assert!(all_events(&trace).0.len() <= all.len());
}
