//! The test traces of Trace Compass read whole, those that babeltrace2 2.0 refuses too.

mod support;

use support::{assert_same_lines, slowpath_succeeds, unpacked};

/// Events and lost events of one trace.
struct Whole {
    archive: &'static str,
    trace: &'static str,
    events: u64,
    lost: u64,
}

/// The numbers are Trace Compass's.
const TRACES: &[Whole] = &[
    whole("many-threads", "many-threads", 240_644, 0),
    whole("synctraces", "synctraces/scp_src", 110_771, 0),
    whole("synctraces", "synctraces/scp_dest", 85_729, 0),
    whole("funky_trace", "funky_trace", 100_002, 0),
    whole("CTF2-7.0-smalltrace", "CTF2-7.0-smalltrace", 2, 0),
    whole("CTF2-7.0-succeed1", "CTF2-7.0-succeed1", 7_809, 0),
    whole(
        "CTF2-7.0-trace-with-index",
        "CTF2-7.0-trace-with-index",
        4_000,
        0,
    ),
    whole("CTF2-vl-ints", "CTF2-vl-ints", 1, 0),
];

const fn whole(archive: &'static str, trace: &'static str, events: u64, lost: u64) -> Whole {
    Whole {
        archive,
        trace,
        events,
        lost,
    }
}

#[test]
fn every_event_is_counted() {
    for expected in TRACES {
        let Some(folder) = unpacked(&format!("tracecompass/{}.tar.zst", expected.archive)) else {
            return;
        };
        let counted = slowpath_succeeds(&["count", "--json"], &folder.join(expected.trace)).json();
        assert_eq!(counted["events"], expected.events, "{}", expected.trace);
        assert_eq!(counted["lost"], expected.lost, "{}", expected.trace);
        let by = counted["by"].as_object().expect("counts by event");
        let sum: u64 = by.values().filter_map(serde_json::Value::as_u64).sum();
        assert_eq!(sum, expected.events, "{}", expected.trace);
    }
}

/// The program wrote a million events; what is not in the trace is counted as lost.
#[test]
fn events_and_lost_events_together() {
    let Some(folder) = unpacked("tracecompass/hello-lost.tar.zst") else {
        return;
    };
    let counted = slowpath_succeeds(&["count", "--json"], &folder.join("hello-lost")).json();
    let number = |key: &str| counted[key].as_u64().expect("a number");
    assert!(number("lost") > 0 && number("events") > 0, "{counted}");
    assert_eq!(number("events") + number("lost"), 1_000_000);
}

/// One event of variable-length integers, decoded by hand from the bytes of the stream (LEB128).
#[test]
fn variable_length_integers() {
    let Some(folder) = unpacked("tracecompass/CTF2-vl-ints.tar.zst") else {
        return;
    };
    let printed = slowpath_succeeds(&["events"], &folder.join("CTF2-vl-ints"));
    let expected = "test: { vu1a = 0, vu1b = 77, vu2 = 177, vu3 = 43123, vu4 = 21829382, \
        vu5 = 5121829382, vu6 = 95121829382, vu7 = 13895121829382, vu8 = 913895121855555, \
        vu9 = 333333333333333333, vu10 = 18446744073709551615, vi1a = 0, vi1b = -1, vi1c = 23, \
        vi2 = -156, vi3 = 8556, vi4 = -100101001, vi5 = 8288491823, vi6 = -171717171717, \
        vi7 = 123456787654321, vi8 = -1121231234123450, vi9 = 99999999999999999, \
        vi10a = 9223372036853775807, vi10b = 9223372036854775807, \
        vi10c = -9223372036854775808 }\n";
    assert_same_lines("CTF2-vl-ints", expected.as_bytes(), &printed.stdout);
}
