//! `count`, `cpu`, `io` and `latency` agree with what Trace Compass and lttng-analyses print about
//! the same traces; `tests/oracles/compare.py` knows the differences of definition.

mod support;

use std::ffi::OsStr;
use std::io::Write;

use support::{oracle, reference, run, skip, slowpath_succeeds, unpacked};

/// What slowpath is asked, of which trace, and who has answered it before.
struct Answered {
    command: &'static [&'static str],
    trace: &'static str,
    peer: &'static str,
    kind: &'static str,
    file: &'static str,
}

const fn answered(
    command: &'static [&'static str],
    trace: &'static str,
    [peer, kind, file]: [&'static str; 3],
) -> Answered {
    Answered {
        command,
        trace,
        peer,
        kind,
        file,
    }
}

const MANY: &str = "many-threads";
const SOURCE: &str = "synctraces/scp_src";
const DESTINATION: &str = "synctraces/scp_dest";

#[rustfmt::skip]
const ANSWERS: &[Answered] = &[
    answered(&["count"], MANY, ["tracecompass", "count", "count-many-threads.txt"]),
    answered(&["count"], SOURCE, ["tracecompass", "count", "count-scp_src.txt"]),
    answered(&["count"], DESTINATION, ["tracecompass", "count", "count-scp_dest.txt"]),
    answered(&["cpu"], MANY, ["tracecompass", "cpu", "cpu-many-threads.txt"]),
    answered(&["cpu"], SOURCE, ["tracecompass", "cpu", "cpu-scp_src.txt"]),
    answered(&["cpu"], DESTINATION, ["tracecompass", "cpu", "cpu-scp_dest.txt"]),
    answered(&["io"], MANY, ["tracecompass", "io", "io-many-threads.txt"]),
    answered(&["cpu"], MANY, ["lttng-analyses", "cputop", "la-many-threads-cputop.json"]),
    answered(&["io"], MANY, ["lttng-analyses", "iousagetop", "la-many-threads-iousagetop.json"]),
    answered(&["latency", "--kind", "irq"], MANY, ["lttng-analyses", "irqstats", "la-many-threads-irqstats.json"]),
    answered(&["latency", "--kind", "wakeup"], MANY, ["lttng-analyses", "schedstats", "la-many-threads-schedstats.json"]),
];

#[test]
fn answers_agree_with_other_programs() {
    let Some(answers) = reference() else { return };
    let mut disagreements = String::new();
    for answer in ANSWERS {
        let archive = answer.trace.split('/').next().unwrap_or_default();
        let Some(folder) = unpacked(&format!("tracecompass/{archive}.tar.zst")) else {
            return;
        };
        let mut command = answer.command.to_vec();
        command.push("--json");
        let printed = slowpath_succeeds(&command, &folder.join(answer.trace));
        let mut file = tempfile::NamedTempFile::new().expect("a temporary file");
        file.write_all(&printed.stdout).expect("the answer is kept");
        let (script, theirs) = (oracle("compare.py"), answers.join(answer.file));
        let arguments = [
            script.as_os_str(),
            OsStr::new(answer.peer),
            OsStr::new(answer.kind),
            theirs.as_os_str(),
            file.path().as_os_str(),
        ];
        let compared = match run("python3", &arguments) {
            Ok(compared) => compared,
            Err(error) => return skip(&format!("python3 does not run: {error}")),
        };
        if compared.status != Some(0) {
            disagreements += &format!(
                "{command:?} of {} against {}:\n{}{}\n",
                answer.trace,
                answer.file,
                String::from_utf8_lossy(&compared.stdout),
                compared.stderr
            );
        }
    }
    assert!(disagreements.is_empty(), "{disagreements}");
}
