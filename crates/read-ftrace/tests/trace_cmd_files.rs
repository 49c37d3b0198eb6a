//! Recordings made by trace-cmd, read and compared field by field with what `trace-cmd report` says.

mod support;

use slowpath_model::{CpuId, TracerDomain};
use slowpath_source::Source;
use support::values::{Seen, Value, all_events};
use support::{fixture, fixture_path, fixture_text, trace_dat};

const FILES: [&str; 5] = [
    "everyday-v6",
    "wide-v7-zstd",
    "everyday-v7-plain",
    "everyday-v7-zstd",
    "busy-v7-zstd",
];

fn kept_report(name: &str) -> String {
    let path = format!("ftrace-trace-cmd/{name}.report");
    if fixture_path(&path).exists() {
        return fixture_text(&path);
    }
    let compressed = fixture(&format!("{path}.zst"));
    let report = zstd::stream::decode_all(&compressed[..]).expect("a compressed report");
    String::from_utf8(report).expect("a text")
}

#[test]
fn every_event_is_as_trace_cmd_reports_it() {
    for name in FILES {
        let trace = trace_dat(fixture(&format!("ftrace-trace-cmd/{name}.dat"))).expect(name);
        compare(name, &trace, &kept_report(name));
    }
}

#[test]
fn every_event_is_as_the_installed_trace_cmd_reports_it() {
    for name in FILES {
        let file = fixture_path(&format!("ftrace-trace-cmd/{name}.dat"));
        let run = std::process::Command::new("trace-cmd")
            .args(["report", "-N", "-t", "-R"])
            .arg(&file)
            .output();
        let Ok(output) = run else {
            eprintln!("skipped: trace-cmd is not installed");
            return;
        };
        let trace = trace_dat(fixture(&format!("ftrace-trace-cmd/{name}.dat"))).expect(name);
        compare(name, &trace, &String::from_utf8_lossy(&output.stdout));
    }
}

/// Events of each processor in their order, against lines such as
/// `instance: sh-13505 [001] 3102.205: sys_exit: id=1 ret=1`.
fn compare(file: &str, trace: &dyn Source, report: &str) {
    assert_eq!(trace.diagnostics(), [], "{file}");
    let (events, diagnostics) = all_events(trace);
    assert_eq!(diagnostics, [], "{file}");
    let lines: Vec<&str> = report.lines().filter(|line| line.contains('[')).collect();
    assert_eq!(events.len(), lines.len(), "{file}");
    for cpu in [0, 1] {
        let mark = format!(" [{cpu:03}]");
        let of_cpu = lines.iter().filter(|line| line.contains(&mark));
        let mut events = events.iter().filter(|event| event.cpu == cpu);
        for line in of_cpu {
            check(
                events
                    .next()
                    .unwrap_or_else(|| panic!("{file}: no event for {line}")),
                line,
                &mark,
            );
        }
        assert_eq!(events.next(), None, "{file}");
    }
}

fn check(event: &Seen, line: &str, mark: &str) {
    let (thread, rest) = line.split_once(mark).expect("a processor");
    let (time, rest) = rest.trim_start().split_once(": ").expect("a time");
    let (name, mut fields) = rest.split_once(':').expect("a name");
    assert_eq!(event.at_ns.to_string(), time.replace('.', ""), "{line}");
    assert_eq!(event.name, name, "{line}");
    let pid = thread.rsplit_once('-').expect("a thread").1.trim();
    assert_eq!(event.number("common_pid").to_string(), pid, "{line}");
    let mut names = event.payload.iter().map(|(name, _)| name).skip(1);
    for (name, value) in &event.payload {
        let after = fields
            .trim_start()
            .strip_prefix(name.as_str())
            .and_then(|rest| rest.strip_prefix('='));
        let after = after.unwrap_or_else(|| panic!("{name} in {line}"));
        let end = names
            .next()
            .and_then(|next| after.find(&format!(" {next}=")))
            .unwrap_or(after.len());
        assert!(equal(value, &after[..end]), "{name} is {value:?} in {line}");
        fields = &after[end..];
    }
}

/// Whether a value is what trace-cmd printed: numbers in any base and as wide as their field.
fn equal(value: &Value, printed: &str) -> bool {
    match value {
        Value::Number(number, bits) => {
            let printed = if printed == "(nil)" { "0" } else { printed };
            let printed = match printed.strip_prefix("0x") {
                Some(digits) => i128::from_str_radix(digits, 16),
                None => printed.parse(),
            };
            printed.is_ok_and(|printed| (printed - number) % (1 << bits) == 0)
        }
        Value::Text(text) => String::from_utf8_lossy(text).trim_end() == printed.trim_end(),
        Value::Numbers(numbers) => {
            let low_bytes =
                |(number, bits): &(i128, u32)| number.to_le_bytes()[..*bits as usize / 8].to_vec();
            let bytes: Vec<u8> = numbers.iter().flat_map(low_bytes).collect();
            match printed.strip_prefix("ARRAY[") {
                Some(list) => {
                    let digits = list
                        .trim_end_matches(']')
                        .split(", ")
                        .filter(|digits| !digits.is_empty());
                    bytes
                        == digits
                            .map(|digits| u8::from_str_radix(digits, 16).expect("a byte"))
                            .collect::<Vec<_>>()
                }
                // Bytes that could be text are printed as text.
                None => bytes.split(|byte| *byte == 0).next() == Some(printed.as_bytes()),
            }
        }
        other => panic!("no field of the fixtures is {other:?}"),
    }
}

#[test]
fn a_file_says_what_it_is() {
    let check = |name: &str, clock: &str, version: &str| {
        let trace = trace_dat(fixture(&format!("ftrace-trace-cmd/{name}.dat"))).expect(name);
        let schema = trace.schema();
        assert_eq!(
            (schema.domain, schema.tracer.as_str()),
            (TracerDomain::Kernel, "ftrace")
        );
        assert_eq!(
            (
                schema.host.as_str(),
                schema.tracer_version.starts_with("6.18")
            ),
            ("vm", true)
        );
        for (key, value) in [
            ("clock", clock),
            ("trace_dat_version", version),
            ("page_size", "4096"),
        ] {
            let found = schema.environment.iter().find(|(of, _)| of == key);
            assert_eq!(
                found.map(|(_, value)| value.as_str()),
                Some(value),
                "{name}: {key}"
            );
        }
        let streams: Vec<_> = trace
            .streams()
            .iter()
            .map(|stream| (stream.name.as_str(), stream.cpu))
            .collect();
        assert_eq!(
            streams,
            [
                ("trace.dat:slowpath-fixture/cpu0", Some(CpuId(0))),
                ("trace.dat:slowpath-fixture/cpu1", Some(CpuId(1)))
            ]
        );
        assert!(
            trace
                .saved_cmdlines()
                .iter()
                .any(|(_, comm)| comm == "cat" || comm == "dd"),
            "{name}"
        );
    };
    check("everyday-v6", "mono", "6");
    check("everyday-v7-plain", "boot", "7");
    check("everyday-v7-zstd", "mono", "7");
    check("busy-v7-zstd", "mono", "7");
}

#[test]
fn a_file_without_a_clock_option_has_its_clock_behind_the_table() {
    let mut bytes = fixture("ftrace-trace-cmd/everyday-v6.dat");
    let at = bytes
        .windows(6)
        .position(|window| window == b"[mono]")
        .expect("the option");
    bytes[at..at + 6].copy_from_slice(b" mono ");
    let table = bytes
        .windows(7)
        .rposition(|window| window == b"[local]")
        .expect("the table");
    bytes[table..table + 7].copy_from_slice(b"[boot] ");
    let trace = trace_dat(bytes).expect("a file");
    let clock = trace
        .schema()
        .environment
        .iter()
        .find(|(key, _)| key == "clock");
    assert_eq!(clock.map(|(_, value)| value.as_str()), Some("boot"));
}
