//! Thread states and critical paths agree with what the traced programs wrote about themselves:
//! `tests/oracles/ground_truth.py` asks slowpath about every request of a recording.

mod support;

use std::ffi::OsStr;

use support::{oracle, run, shared_traces, skip, unpacked};

struct Recording {
    truth: &'static str,
    archive: &'static str,
    trace: &'static str,
    /// Requests whose states have to agree, of a hundred. The rest was on a virtual processor that
    /// its host stopped between two of the program's own readings (README of the trace); on
    /// cpu-cgroup a reading takes a millisecond of throttled time.
    states_percent: f64,
}

const RECORDINGS: &[Recording] = &[
    Recording {
        truth: "futex-contention/ground-truth.jsonl",
        archive: "futex-contention/futex-contention.tar.zst",
        trace: "futex-contention",
        states_percent: 97.0,
    },
    Recording {
        truth: "cpu-cgroup/ground-truth.jsonl",
        archive: "cpu-cgroup/cpu-cgroup.tar.zst",
        trace: "cpu-cgroup",
        states_percent: 85.0,
    },
    Recording {
        truth: "two-hosts/ground-truth-server.jsonl",
        archive: "two-hosts/two-hosts.tar.zst",
        trace: "two-hosts/server",
        states_percent: 98.0,
    },
    Recording {
        truth: "two-hosts/ground-truth-client.jsonl",
        archive: "two-hosts/two-hosts.tar.zst",
        trace: "two-hosts/client",
        states_percent: 98.0,
    },
];

/// Of a hundred waits whose record names a thread, so many critical paths must go into it.
const WAITS_PERCENT: f64 = 99.0;

/// Asks about one recording; None where something is not there.
fn report(recording: &Recording) -> Option<serde_json::Value> {
    let truth = shared_traces()?.join(recording.truth);
    let trace = unpacked(recording.archive)?.join(recording.trace);
    let script = oracle("ground_truth.py");
    let arguments = [
        script.as_os_str(),
        OsStr::new("--slowpath"),
        OsStr::new(env!("CARGO_BIN_EXE_slowpath")),
        truth.as_os_str(),
        trace.as_os_str(),
    ];
    match run("python3", &arguments) {
        Err(error) => {
            skip(&format!("python3 does not run: {error}"));
            None
        }
        // The clock's offset comes from babeltrace2.
        Ok(printed) if printed.stderr.contains("'babeltrace2'") => {
            skip("babeltrace2 does not run");
            None
        }
        Ok(printed) => {
            assert_eq!(printed.status, Some(0), "{}", printed.stderr);
            Some(printed.json())
        }
    }
}

#[test]
fn states_and_waits_agree_with_the_programs_records() {
    let mut disagreements = String::new();
    for recording in RECORDINGS {
        let Some(report) = report(recording) else {
            return;
        };
        let states = &report["states"];
        let number = |value: &serde_json::Value| value.as_f64().expect("a number");
        assert_eq!(states["not_adding_up"], serde_json::json!([]));
        let share = 100.0 * number(&states["agreed"]) / number(&states["requests"]);
        if share < recording.states_percent {
            disagreements += &format!("{}: states {share:.2} %\n", recording.truth);
        }
        for (kind, row) in report["waits"].as_object().expect("waits by kind") {
            let (agreed, total) = (number(&row["agreed"]), number(&row["total"]));
            if row["checked"] == true && 100.0 * agreed < WAITS_PERCENT * total {
                disagreements += &format!(
                    "{}: {agreed} of {total} {kind} waits\n{}\n",
                    recording.truth, row["disagreements"]
                );
            }
        }
    }
    assert!(disagreements.is_empty(), "{disagreements}");
}
