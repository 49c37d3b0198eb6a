//! Where events are missing that a packet says were lost: before its first one or behind its last.

mod support;

use std::fs;

use support::slowpath;

/// A processor's first packet ends with thread 101, the next one begins with 102 leaving: the packet with this number
/// counts the events lost between them.
fn recording_with_a_loss(counted_in: usize) -> tempfile::TempDir {
    const METADATA: &str = r#"/* CTF 1.8 */
        typealias integer { size = 8; align = 8; } := u8;
        typealias integer { size = 32; align = 8; } := u32;
        typealias integer { size = 32; align = 8; signed = true; } := i32;
        trace { major = 1; minor = 8; byte_order = le; };
        env { domain = "kernel"; tracer_name = "lttng-modules"; };
        clock { name = c; freq = 1000000000; };
        typealias integer { size = 64; align = 8; map = clock.c.value; } := time;
        stream {
            packet.context := struct {
                u32 packet_size; time timestamp_begin; time timestamp_end; u32 events_discarded; u8 cpu_id;
            };
            event.header := struct { time timestamp; };
        };
        event { name = "sched_switch"; fields := struct {
            string prev_comm; i32 prev_tid; i32 prev_prio; i32 prev_state;
            string next_comm; i32 next_tid; i32 next_prio;
        }; };"#;
    let event = |(at, prev, next): (u64, i32, i32)| {
        let thread =
            |tid: i32| [b"t\0".as_slice(), &tid.to_le_bytes(), &20_i32.to_le_bytes()].concat();
        let state = 1_i32.to_le_bytes().to_vec();
        [at.to_le_bytes().to_vec(), thread(prev), state, thread(next)].concat()
    };
    let packet = |events: &[(u64, i32, i32)], number: usize| {
        let content: Vec<u8> = events.iter().copied().flat_map(event).collect();
        let lost = if number < counted_in { 0_u32 } else { 4 };
        let bits = (content.len() as u32 + 25) * 8;
        let [begin, end] = [events.first(), events.last()].map(|event| event.expect("one").0);
        let context = [
            bits.to_le_bytes().to_vec(),
            begin.to_le_bytes().to_vec(),
            end.to_le_bytes().to_vec(),
        ];
        [
            context.concat(),
            lost.to_le_bytes().to_vec(),
            vec![0],
            content,
        ]
        .concat()
    };
    let folder = tempfile::tempdir().expect("a temporary folder");
    fs::write(folder.path().join("metadata"), METADATA).expect("written");
    let stream = [
        packet(&[(1_000_000, 0, 101)], 0),
        packet(
            &[
                (6_000_000, 102, 0),
                (9_000_000, 0, 103),
                (9_100_000, 103, 0),
            ],
            1,
        ),
    ];
    fs::write(folder.path().join("stream"), stream.concat()).expect("written");
    folder
}

#[test]
fn a_loss_between_two_packets_is_nobodys_time_whichever_of_them_counts_it() {
    for counted_in in [0, 1] {
        let recording = recording_with_a_loss(counted_in);
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
