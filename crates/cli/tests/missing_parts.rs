//! Recordings with something missing: no command passes over that in silence.

mod support;

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;
use support::{quiet_recording, skip, slowpath, slowpath_succeeds, unpacked};

/// Commands that read a kernel trace.
const COMMANDS: [&[&str]; 6] = [
    &["count"],
    &["info"],
    &["events"],
    &["cpu"],
    &["io"],
    &["latency"],
];

/// Copies a folder.
fn copy(from: &Path, to: &Path) {
    let status = Command::new("cp").arg("-r").args([from, to]).status();
    assert!(status.expect("cp runs").success());
}

/// Takes the packets at these positions out of a stream that LTTng wrote.
fn take_out(stream: &Path, positions: &[usize]) {
    // Behind 32 bytes of header and 24 of context: the packet's size in bits.
    const SIZE_AT: usize = 56;
    let whole = fs::read(stream).expect("a stream");
    let mut rest = &whole[..];
    let mut kept = Vec::new();
    for position in 0.. {
        let Some(size) = rest.get(SIZE_AT..SIZE_AT + 8) else {
            break;
        };
        let bits = u64::from_le_bytes(size.try_into().expect("eight bytes"));
        let (packet, behind) = rest.split_at(bits as usize / 8);
        if !positions.contains(&position) {
            kept.extend_from_slice(packet);
        }
        rest = behind;
    }
    assert!(kept.len() < whole.len(), "nothing was taken out");
    fs::write(stream, kept).expect("written");
}

/// A recording of our own to break: a copy of one that is shared.
fn broken_copy(name: &str) -> Option<(tempfile::TempDir, PathBuf)> {
    let trace = unpacked(&format!("{name}/{name}.tar.zst"))?.join(name);
    let folder = tempfile::tempdir().expect("a temporary folder");
    let own = folder.path().join(name);
    copy(&trace, &own);
    Some((folder, own))
}

#[test]
fn losses_are_told_by_every_command() {
    let Some(suite) = unpacked("babeltrace/babeltrace-ctf-tests.tar.zst") else {
        return;
    };
    let suite = suite.join("tests/data/ctf-traces");
    let kernel = suite.join("succeed/multi-domains/kernel");
    for command in COMMANDS {
        let told = slowpath_succeeds(command, &kernel).stderr;
        let warning = "warning[LostEvents]:";
        assert_eq!(told.matches(warning).count(), 1, "{command:?}: {told}");
        assert!(
            told.contains("kernel_channel_0: 728 events were lost\n"),
            "{command:?}: {told}"
        );
    }
    let gaps = suite.join("packet-seq-num");
    for (trace, expected) in [
        ("2-lost-before-last", Some("2 packets are missing\n")),
        (
            "2-streams-lost-in-2",
            Some("6 packets are missing, in 2 streams, 4 of them in this one\n"),
        ),
        (
            "7-lost-between-2-with-index",
            Some("7 packets are missing\n"),
        ),
        ("no-lost", None),
        ("no-lost-not-starting-at-0", None),
    ] {
        for command in &COMMANDS[..3] {
            let told = slowpath_succeeds(command, &gaps.join(trace)).stderr;
            match expected {
                Some(expected) => {
                    assert!(told.contains("warning[LostPackets]"), "{trace}: {told}");
                    assert!(told.contains(expected), "{trace}: {told}");
                }
                None => assert_eq!(told, "", "{trace}"),
            }
        }
    }
}

/// babeltrace2 says of this stream that events *may* have been discarded, without a number.
#[test]
fn what_was_lost_before_the_first_packet_is_not_counted() {
    let Some(suite) = unpacked("babeltrace/babeltrace-ctf-tests.tar.zst") else {
        return;
    };
    let kernel = suite.join("tests/data/ctf-traces/succeed/multi-domains/kernel");
    let folder = tempfile::tempdir().expect("a temporary folder");
    for name in ["metadata", "kernel_channel_0"] {
        fs::copy(kernel.join(name), folder.path().join(name)).expect("copied");
    }
    take_out(
        &folder.path().join("kernel_channel_0"),
        &(0..15).collect::<Vec<_>>(),
    );
    let counted = slowpath_succeeds(&["count", "--by", "none", "--json"], folder.path());
    assert_eq!(counted.json()["lost"], 0);
    assert!(
        counted
            .stderr
            .contains("728 events were lost in or before the first packet"),
        "{}",
        counted.stderr
    );
}

#[test]
fn diagnose_says_that_missing_packets_make_time_unknown() {
    let Some((_folder, recording)) = broken_copy("futex-contention") else {
        return;
    };
    let lost_events = |recording: &Path| {
        let document = slowpath_succeeds(&["diagnose", "--json"], recording).json();
        let findings = document["findings"].as_array().expect("findings").clone();
        findings
            .into_iter()
            .find(|finding| finding["id"] == "lost-events")
    };
    assert_eq!(lost_events(&recording), None);
    let kernel = recording.join("kernel");
    fs::remove_dir_all(kernel.join("index")).expect("an index");
    take_out(&kernel.join("kchan_1"), &[3, 4]);
    let finding = lost_events(&recording).expect("a finding");
    let words = finding["explanation"].as_str().expect("words");
    assert!(words.contains("lacks 2 packets of events"), "{words}");
    let evidence = &finding["evidence"][0];
    let (text, hint) = (evidence["text"].as_str(), evidence["hint"].as_str());
    let hint = hint.expect("a hint");
    assert!(text.is_some_and(|text| text.ends_with("kchan_1: 2 packets are missing")));
    assert!(hint.starts_with("record with larger buffers"), "{hint}");
    let printed = slowpath_succeeds(&["diagnose"], &recording).stdout;
    let printed = String::from_utf8_lossy(&printed);
    let lines = format!(" missing\n     hint: {hint}\n");
    assert!(printed.contains(&lines), "{printed}");
}

#[test]
fn diagnose_examines_requests_behind_the_place_where_a_stream_is_cut() {
    let Some((_folder, recording)) = broken_copy("futex-contention") else {
        return;
    };
    let examined =
        slowpath_succeeds(&["diagnose", "--json"], &recording).json()["examined"].clone();
    let stream = fs::File::options()
        .write(true)
        .open(recording.join("kernel/kchan_1"))
        .expect("a stream");
    let length = stream.metadata().expect("a size").len();
    stream.set_len(length / 10 * 6).expect("cut");
    let told = slowpath(&["diagnose", "--json"], &recording);
    assert_eq!(told.status, Some(1), "{}", told.stderr);
    let document = told.json();
    assert_eq!(document["examined"], examined);
    let findings = document["findings"].as_array().expect("findings");
    let share = (findings.iter()).find(|finding| finding["id"] == "lost-events");
    let share = share.and_then(|finding| finding["share"].as_f64());
    assert!(share.is_some_and(|share| share > 0.2), "{share:?}");
}

#[test]
fn diagnose_names_what_could_not_be_read() {
    let Some((_folder, recording)) = broken_copy("futex-contention") else {
        return;
    };
    fs::remove_file(recording.join("kernel/kchan_1")).expect("a stream");
    let told = slowpath(&["diagnose", "--json"], &recording);
    assert_eq!(told.status, Some(1), "{}", told.stderr);
    let document = told.json();
    let findings = document["findings"].as_array().expect("findings");
    let finding = findings
        .iter()
        .find(|finding| finding["id"] == "lost-events");
    let finding = finding.expect("a finding about what is missing");
    assert!(finding["share"].as_f64().is_some_and(|share| share > 0.1));
    let words = finding["explanation"].as_str().expect("words");
    assert!(words.contains("(MissingStream)"), "{words}");
}

#[test]
fn diagnose_names_the_host_whose_recording_is_cut_where_the_other_one_waits() {
    let Some((_folder, recording)) = broken_copy("two-hosts") else {
        return;
    };
    for stream in ["kchan_0", "kchan_1"] {
        let stream = recording.join("server/kernel").join(stream);
        let stream = fs::File::options().write(true).open(stream);
        let stream = stream.expect("a stream");
        let length = stream.metadata().expect("its length").len();
        stream.set_len(length / 20 * 13).expect("cut");
    }
    let document = slowpath(&["diagnose", "--json"], &recording).json();
    let of_client = |id: &str| {
        let findings = document["findings"].as_array().expect("findings");
        let mut found = (findings.iter()).filter(|one| one["id"] == id && one["host"] == "client");
        let explanation = found.next().map(|one| one["explanation"].to_string());
        explanation.unwrap_or_else(|| panic!("no {id} of the client in {findings:#?}"))
    };
    let lost = of_client("lost-events");
    for words in [
        "The recording of server lacks",
        "events of there are missing: server",
    ] {
        assert!(lost.contains(words), "{lost}");
    }
    assert!(!lost.contains("recording of client"), "{lost}");
    let network = of_client("network-wait");
    let words = "missing from its recording for: server";
    assert!(network.contains(words), "{network}");
}

#[test]
fn a_stream_of_which_only_the_index_is_there_is_missed() {
    let Some((_folder, recording)) = broken_copy("io-mix") else {
        return;
    };
    fs::remove_file(recording.join("kernel/kchan_1")).expect("a stream");
    let told = slowpath(&["count"], &recording);
    assert_eq!(told.status, Some(1), "{}", told.stderr);
    assert!(told.stderr.contains("kchan_1: "), "{}", told.stderr);
    assert!(told.stderr.contains("MissingStream"), "{}", told.stderr);
}

#[test]
fn events_without_their_description_are_missed() {
    let (_folder, recording) = quiet_recording();
    fs::remove_file(recording.join("kernel/header_page")).expect("a description");
    let told = slowpath(&["requests"], &recording);
    assert_eq!(told.status, Some(1), "{}", told.stderr);
    assert!(
        told.stderr.contains("without `header_page`"),
        "{}",
        told.stderr
    );
    let pages_alone = slowpath(&["count"], &recording.join("kernel"));
    assert_eq!(pages_alone.status, Some(3), "{}", pages_alone.stderr);
    assert!(
        pages_alone.stderr.contains("without `header_page`"),
        "{}",
        pages_alone.stderr
    );
    let Some((_folder, recording)) = broken_copy("futex-contention") else {
        return;
    };
    fs::remove_file(recording.join("kernel/metadata")).expect("a description");
    let told = slowpath(&["requests"], &recording);
    assert_eq!(told.status, Some(1), "{}", told.stderr);
    assert!(
        told.stderr.contains("without `metadata`"),
        "{}",
        told.stderr
    );
}

#[test]
fn without_any_packet_nothing_is_left_to_answer_with_whichever_thread_is_asked_about() {
    let (_folder, recording) = quiet_recording();
    let commands: [&[&str]; 4] = [
        &["requests"],
        &["thread-states"],
        &["critical-path", "--tid", "1"],
        &["critical-path", "--merged"],
    ];
    let whole = slowpath(&["critical-path", "--tid", "999999"], &recording);
    assert_eq!(whole.status, Some(2), "{}", whole.stderr);
    for entry in fs::read_dir(recording.join("kernel")).expect("a folder") {
        let path = entry.expect("an entry").path();
        if path.extension().is_some_and(|extension| extension == "raw") {
            fs::remove_file(path).expect("a stream");
        }
    }
    for command in COMMANDS.iter().chain(&commands) {
        let told = slowpath(command, &recording);
        assert_eq!(told.status, Some(1), "{command:?}: {}", told.stderr);
        assert!(
            told.stderr.contains("error[MissingStream]"),
            "{}",
            told.stderr
        );
    }
}

#[test]
fn without_spans_a_path_that_cannot_be_read_is_told_and_may_have_them() {
    let (_folder, recording) = quiet_recording();
    let missing = recording.join("spnas").display().to_string();
    let kernel = recording.join("kernel");
    let whole = recording.display().to_string();
    let refused = |command: &[&str], status| {
        let told = slowpath(command, &kernel);
        assert_eq!(told.status, Some(status), "{command:?}: {}", told.stderr);
        assert!(told.stderr.contains("no spans were recorded"));
        assert!(told.stderr.contains("`slowpath calls`"));
        assert_eq!(told.stderr.contains(&missing), status == 1, "{command:?}");
    };
    let commands: [&[&str]; 3] = [
        &["requests", "--json"],
        &["diagnose"],
        &["export", "--to", "folded", "--output", "-"],
    ];
    for command in commands {
        refused(command, 2);
        refused(&[command, &[&missing]].concat(), 1);
    }
    refused(&["compare", &whole, "--with"], 2);
    refused(&["compare", &whole, "--with", &missing, "--with"], 1);
}

#[test]
fn formats_that_cannot_be_read_are_named() {
    let (_folder, recording) = quiet_recording();
    let formats = recording.join("kernel/events/sched");
    fs::remove_dir_all(&formats).expect("formats");
    // A link to itself can be read by nobody, not even by root.
    std::os::unix::fs::symlink(&formats, &formats).expect("a link");
    let told = slowpath(&["count"], &recording);
    assert_eq!(told.status, Some(1), "{}", told.stderr);
    assert!(told.stderr.contains("events/sched: "), "{}", told.stderr);
}

#[test]
fn folders_and_files_that_cannot_be_looked_into_are_named() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let fixture = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/fixtures/cpu-cgroup-ust");
    copy(&fixture, &folder.path().join("trace"));
    let closed = folder.path().join("closed");
    copy(&fixture, &closed);
    for (path, mode) in [(folder.path(), "755"), (&closed, "700")] {
        let status = Command::new("chmod").arg(mode).arg(path).status();
        assert!(status.expect("chmod runs").success());
    }
    // As somebody who has no rights there.
    let run = |command: &str, path: &Path| {
        let mut setpriv = Command::new("setpriv");
        setpriv.args(["--reuid=65534", "--regid=65534", "--clear-groups"]);
        let program = env!("CARGO_BIN_EXE_slowpath");
        setpriv.arg(program).arg(command).arg(path).output()
    };
    let Ok(info) = run("info", folder.path()) else {
        skip("setpriv does not run");
        return;
    };
    let told = String::from_utf8_lossy(&info.stderr);
    if told.contains("setpriv: ") {
        skip("setting the user needs root, and the program in a folder that others may enter");
        return;
    }
    assert_eq!(info.status.code(), Some(1), "{told}");
    let named = format!("{}: it cannot be read: Permission denied", closed.display());
    assert!(told.contains(&named), "{told}");
    assert!(String::from_utf8_lossy(&info.stdout).contains("trace"));
    for command in ["count", "events", "services"] {
        let told = run(command, folder.path()).expect("it runs").stderr;
        let told = String::from_utf8_lossy(&told).into_owned();
        assert!(told.contains(&named), "{command}: {told}");
    }
}

#[test]
fn folders_that_the_recording_names_are_missed() {
    for part in ["kernel", "ust"] {
        let (_folder, recording) = quiet_recording();
        fs::remove_dir_all(recording.join(part)).expect("a part");
        let told = slowpath(&["info"], &recording);
        assert_eq!(told.status, Some(1), "{}", told.stderr);
        assert!(told.stderr.contains("MissingStream"), "{}", told.stderr);
        let named = format!("{part}: it is not there");
        assert!(told.stderr.contains(&named), "{}", told.stderr);
        let others = fs::read_dir(&recording).expect("a folder").flatten();
        for other in
            others.filter(|entry| entry.file_name() == "kernel" || entry.file_name() == "ust")
        {
            // Who asks for that part alone does not miss the other one.
            let told = slowpath(&["info"], &other.path());
            assert_eq!(told.status, Some(0), "{}", told.stderr);
        }
    }
}

/// The files below `folder` with their bytes, by path within `root`.
fn files_below(folder: &Path, root: &Path, files: &mut serde_json::Map<String, Value>) {
    for entry in fs::read_dir(folder).expect("a folder").flatten() {
        let (path, about) = (entry.path(), entry.metadata().expect("a file"));
        if about.is_dir() {
            files_below(&path, root, files);
        } else {
            let name = path
                .strip_prefix(root)
                .expect("below")
                .display()
                .to_string();
            files.insert(name, about.len().into());
        }
    }
}

#[test]
fn files_that_the_recording_names_are_missed_or_too_short() {
    let remove = |path: &Path| fs::remove_file(path).expect("removed");
    let empty = |path: &Path| fs::write(path, "").expect("emptied");
    let cut_at_a_page = |path: &Path| {
        let file = fs::OpenOptions::new()
            .write(true)
            .open(path)
            .expect("pages");
        let pages = file.metadata().expect("a file").len() / 4096;
        file.set_len(pages / 2 * 4096).expect("cut");
    };
    type Damage<'run> = &'run dyn Fn(&Path);
    let damages: [(&str, Damage<'_>); 6] = [
        ("kernel/saved_tgids", &remove),
        ("kernel/statedump.jsonl", &remove),
        ("kernel/cpu0.raw", &cut_at_a_page),
        ("kernel/cpu0.raw", &remove),
        ("kernel/cpu1.raw", &empty),
        ("spans/otlp-1.pb", &remove),
    ];
    for (name, damage) in damages {
        let (_folder, recording) = quiet_recording();
        let manifest = recording.join("slowpath.json");
        let text = fs::read_to_string(&manifest).expect("a manifest");
        let mut document: Value = serde_json::from_str(&text).expect("JSON");
        let mut files = serde_json::Map::new();
        for part in ["kernel", "ust", "spans"] {
            files_below(&recording.join(part), &recording, &mut files);
        }
        document["files"] = files.into();
        fs::write(&manifest, document.to_string()).expect("written");
        assert_eq!(slowpath(&["count"], &recording).status, Some(0));
        damage(&recording.join(name));
        let told = slowpath(&["count"], &recording);
        assert_eq!(told.status, Some(1), "{name}: {}", told.stderr);
        assert!(
            told.stderr.contains(&format!("{name}: it ")),
            "{}",
            told.stderr
        );
        assert_eq!(told.stderr.matches(name).count(), 1, "{}", told.stderr);
        if name.ends_with(".raw") {
            // What ran when the pages end does not run on until the others end.
            let (_folder, whole) = quiet_recording();
            let (before, after) = (unknown_ns(&whole), unknown_ns(&recording));
            assert!(after > before + 100_000_000, "{before} and {after} ns");
            // Nor is the processor idle then.
            let told = slowpath(&["state", "--json", "--at", "+1.5s"], &recording).json();
            let cpus = told["cpus"].as_array().expect("processors").iter();
            let unknown: Vec<_> = cpus.filter(|cpu| cpu["tid"].is_null()).collect();
            assert_eq!(unknown.len(), 1, "{told}");
            assert!(name.ends_with(&format!("cpu{}.raw", unknown[0]["cpu"])));
            assert_eq!(unknown[0]["comm"], "unknown");
        }
    }
}

#[test]
fn blank_pages_are_told_wherever_they_lie() {
    for (from_end, what) in [
        (false, "a page without a time"),
        (true, "no page with a time follows"),
    ] {
        let (_folder, recording) = quiet_recording();
        let pages = recording.join("kernel/cpu0.raw");
        let mut bytes = fs::read(&pages).expect("pages");
        let at = if from_end { bytes.len() - 4096 } else { 4096 };
        bytes[at..at + 4096].fill(0);
        fs::write(&pages, bytes).expect("written");
        let told = slowpath(&["count"], &recording);
        assert_eq!(told.status, Some(1), "{}", told.stderr);
        let named = format!("cpu0.raw at byte {at}: {what}");
        assert!(told.stderr.contains(&named), "{}", told.stderr);
    }
}

/// The time of all threads of which nothing is known, together.
fn unknown_ns(trace: &Path) -> u64 {
    let told = slowpath(&["thread-states", "--json"], trace);
    let rows = told.lines().into_iter().map(|line| {
        let row: Value = serde_json::from_slice(line).expect("JSON");
        row["unknown_ns"].as_u64().expect("a number")
    });
    rows.sum()
}

#[test]
fn after_the_end_of_a_stream_that_was_cut_nothing_is_known() {
    let Some((_folder, recording)) = broken_copy("futex-contention") else {
        return;
    };
    let before = unknown_ns(&recording);
    let stream = recording.join("kernel/kchan_1");
    let file = fs::OpenOptions::new()
        .write(true)
        .open(stream)
        .expect("a stream");
    let length = file.metadata().expect("a file").len();
    file.set_len(length / 2).expect("cut");
    // Half of the trace, on one of four processors, in some of the threads.
    let after = unknown_ns(&recording);
    assert!(after > before + 1_000_000_000, "{before} and {after} ns");
}

#[test]
fn a_stream_that_ends_early_with_a_full_packet_lacks_its_end() {
    let Some((_folder, recording)) = broken_copy("io-mix") else {
        return;
    };
    let kernel = recording.join("kernel");
    fs::remove_dir_all(kernel.join("index")).expect("an index");
    let unknown = || {
        let told = slowpath_succeeds(&["cpu", "--json"], &kernel);
        let unknown = told.json()["cpus"][1]["unknown_ns"].as_u64();
        (unknown.expect("a time"), told.stderr)
    };
    // All streams were closed together, the last packets of none being full.
    assert_eq!(unknown(), (0, String::new()));
    take_out(&kernel.join("kchan_1"), &[2]);
    let (unknown, said) = unknown();
    assert!(unknown > 4_700_000_000, "{unknown}");
    let warning = "kchan_1: its last packet is full and ends 4.963 s before the latest stream does";
    assert_eq!(said.matches("warning[MissingEnd]").count(), 1, "{said}");
    assert!(said.contains(warning), "{said}");
}

#[test]
fn of_a_processor_whose_stream_is_gone_nothing_is_known() {
    let Some((_folder, recording)) = broken_copy("futex-contention") else {
        return;
    };
    let stream = recording.join("kernel/kchan_1");
    let bytes = fs::metadata(&stream).expect("a stream").len();
    let manifest = format!(
        r#"{{"format_version":1,"complete":true,"begin_ns":1,"end_ns":2,"kernel":{{"tracer":"lttng"}},
            "files":{{"kernel/kchan_1":{bytes}}}}}"#
    );
    fs::write(recording.join("slowpath.json"), manifest).expect("written");
    fs::remove_dir_all(recording.join("kernel/index")).expect("an index");
    let before = unknown_ns(&recording);
    let on_first = |recording: &Path| {
        let told = slowpath(&["state", "--json", "--at", "+1s"], recording).json();
        told["cpus"][1].clone()
    };
    assert!(on_first(&recording)["tid"].is_i64());
    for remove in [false, true] {
        match remove {
            false => fs::write(&stream, "").expect("emptied"),
            true => fs::remove_file(&stream).expect("removed"),
        }
        let told = slowpath(&["cpu"], &recording);
        assert_eq!(told.status, Some(1), "{}", told.stderr);
        let after = unknown_ns(&recording);
        assert!(after > before + 1_000_000_000, "{before} and {after} ns");
        let cpu = on_first(&recording);
        assert_eq!((&cpu["cpu"], &cpu["comm"]), (&1.into(), &"unknown".into()));
    }
}

#[test]
fn a_copy_of_a_trace_is_not_read_twice() {
    let Some((_folder, copy)) = broken_copy("io-mix") else {
        return;
    };
    let Some(original) = unpacked("io-mix/io-mix.tar.zst") else {
        return;
    };
    let original = original.join("io-mix");
    let alone = slowpath_succeeds(&["cpu", "--json"], &original);
    let both = slowpath_succeeds(
        &["cpu", "--json", original.to_str().expect("a path")],
        &copy,
    );
    assert!(
        both.stderr.contains("warning[SameTrace]"),
        "{}",
        both.stderr
    );
    assert_eq!(alone.stdout, both.stdout);
}

#[test]
fn lines_beside_the_events_that_cannot_be_understood_are_told() {
    let (_folder, recording) = quiet_recording();
    for name in ["statedump.jsonl", "cgroups.jsonl"] {
        let file = recording.join("kernel").join(name);
        // Recorders in containers write no quotas.
        let text =
            fs::read_to_string(&file).unwrap_or_else(|_| "{\"at_ns\":1,\"groups\":1}\n".into());
        let mut damaged = text.clone();
        let second = damaged.find('\n').expect("lines") + 1;
        damaged.insert_str(second, "{\"at_ns\": \n");
        fs::write(&file, damaged).expect("written");
        let told = slowpath(&["io"], &recording);
        assert_eq!(told.status, Some(1), "{}", told.stderr);
        let named = format!("{name}:2:1: ");
        assert!(told.stderr.contains(&named), "{}", told.stderr);
        fs::write(&file, text).expect("written");
    }
}

#[test]
fn answers_from_the_kept_history_tell_of_damage_as_well() {
    let (_folder, recording) = quiet_recording();
    let pages = recording.join("kernel/cpu0.raw");
    let mut bytes = fs::read(&pages).expect("pages");
    let middle = bytes.len() / 2;
    bytes[middle..middle + 2048].fill(0xff);
    fs::write(&pages, bytes).expect("written");
    let [first, second] = [(); 2].map(|()| slowpath(&["state", "--at", "+1s"], &recording));
    assert!(first.stderr.contains("error["), "{}", first.stderr);
    assert_eq!(first.stderr, second.stderr);
    assert_eq!((first.status, second.status), (Some(1), Some(1)));
}

#[test]
fn a_trace_without_any_stream_is_damaged() {
    let Some(trace) = unpacked("io-mix/io-mix.tar.zst") else {
        return;
    };
    let folder = tempfile::tempdir().expect("a temporary folder");
    let metadata = trace.join("io-mix/kernel/metadata");
    fs::copy(metadata, folder.path().join("metadata")).expect("copied");
    let told = slowpath(&["cpu"], folder.path());
    assert_eq!(told.status, Some(1), "{}", told.stderr);
    let said = "error[MissingStream]";
    assert!(told.stderr.contains(said), "{}", told.stderr);
}

#[test]
fn the_rest_of_a_damaged_page_is_unknown() {
    let (_folder, recording) = quiet_recording();
    let unknown = || {
        let report = slowpath(&["cpu", "--json"], &recording).json();
        let rows = report["cpus"].as_array().expect("processors").clone();
        let unknown = |row: &Value| row["unknown_ns"].as_u64().expect("a time");
        rows.iter().map(unknown).collect::<Vec<_>>()
    };
    assert_eq!(unknown(), [0, 0]);
    let pages = recording.join("kernel/cpu0.raw");
    let mut bytes = fs::read(&pages).expect("pages");
    let middle = bytes.len() / 2 / 4096 * 4096;
    bytes[middle + 2048..middle + 4096].fill(0xff);
    fs::write(&pages, bytes).expect("written");
    let damaged = unknown();
    assert!(damaged[0] > 0, "{damaged:?}");
    assert_eq!(damaged[1], 0);
}

#[test]
fn pages_that_are_missing_between_others_are_told_and_unknown() {
    let (_folder, recording) = quiet_recording();
    let pages = recording.join("kernel/cpu0.raw");
    let whole = fs::read(&pages).expect("pages");
    let manifest = recording.join("slowpath.json");
    let mut document: Value =
        serde_json::from_slice(&fs::read(&manifest).expect("a manifest")).expect("JSON");
    document["files"]["kernel/cpu0.raw"] = whole.len().into();
    fs::write(&manifest, document.to_string()).expect("written");
    // A page begins with the time of its first record.
    let time = |page: usize| {
        let bytes = whole[page * 4096..][..8].try_into().expect("eight bytes");
        u64::from_le_bytes(bytes)
    };
    let (first, behind) = (100, 150);
    let kept = [&whole[..first * 4096], &whole[behind * 4096..]].concat();
    fs::write(&pages, kept).expect("written");
    let told = slowpath(&["cpu", "--json"], &recording);
    assert_eq!(told.status, Some(1), "{}", told.stderr);
    let place = format!(
        "error[MissingPackets]: {} at byte {}: ",
        pages.display(),
        first * 4096
    );
    assert!(told.stderr.contains(&place), "{}", told.stderr);
    let report = told.json();
    let unknown = [0, 1].map(|cpu| report["cpus"][cpu]["unknown_ns"].as_u64());
    let (taken, longer) = (time(behind) - time(first), time(behind) - time(first - 1));
    let unknown_of_first = unknown[0].expect("a time");
    assert!((taken..longer).contains(&unknown_of_first), "{report}");
    assert_eq!(unknown[1], Some(0));
}

#[test]
fn a_processor_of_which_nothing_is_left_is_known_by_what_was_sent_there() {
    let Some((_folder, recording)) = broken_copy("futex-contention") else {
        return;
    };
    let kernel = recording.join("kernel");
    fs::remove_dir_all(kernel.join("index")).expect("an index");
    assert_eq!(slowpath_succeeds(&["count"], &kernel).stderr, "");
    fs::remove_file(kernel.join("kchan_1")).expect("a stream");
    for command in COMMANDS {
        let told = slowpath_succeeds(command, &kernel).stderr;
        let said = format!("warning[MissingProcessor]: {}: ", kernel.display());
        assert_eq!(told.matches(&said).count(), 1, "{command:?}: {told}");
    }
    let report = slowpath_succeeds(&["cpu", "--json"], &kernel).json();
    let length = report["end_ns"].as_i64().zip(report["begin_ns"].as_i64());
    let length = length.map(|(end, begin)| end - begin);
    let row = &report["cpus"][1];
    assert_eq!(
        (&row["cpu"], row["unknown_ns"].as_i64()),
        (&1.into(), length)
    );
}

#[test]
fn zeros_in_a_packet_are_no_events() {
    let Some((_folder, recording)) = broken_copy("io-mix") else {
        return;
    };
    let kernel = recording.join("kernel");
    let stream = kernel.join("kchan_1");
    let whole = fs::read(&stream).expect("a stream");
    for page in [13, 31] {
        let blank = page * 4096..(page + 1) * 4096;
        let mut bytes = whole.clone();
        bytes[blank.clone()].fill(0);
        fs::write(&stream, bytes).expect("written");
        let told = slowpath(&["events", "--format", "null"], &kernel);
        assert_eq!(told.status, Some(1), "{}", told.stderr);
        let place = format!("error[InvalidEvent]: {} at byte ", stream.display());
        let (_, place) = told.stderr.split_once(&place).expect("the place");
        let (byte, _) = place.split_once(':').expect("a byte");
        let byte: usize = byte.parse().expect("a number");
        assert!(blank.contains(&byte), "page {page}: {}", told.stderr);
        let count = slowpath(&["count", "--json"], &kernel);
        assert_eq!(count.status, Some(1), "{}", count.stderr);
    }
}

#[test]
fn no_wake_up_is_measured_over_what_cannot_be_read() {
    let (_folder, recording) = quiet_recording();
    let longest = || {
        let report = slowpath(&["latency", "--kind", "wakeup", "--json"], &recording).json();
        let rows = report["entries"].as_array().expect("threads").clone();
        let longest = rows.iter().map(|row| {
            let name = row["name"].as_str().expect("a name").to_owned();
            (name, row["max_ns"].as_u64().expect("a time"))
        });
        longest.collect::<HashMap<_, _>>()
    };
    let whole = longest();
    let pages = recording.join("kernel/cpu1.raw");
    let mut bytes = fs::read(&pages).expect("pages");
    let middle = bytes.len() / 2 / 4096;
    for page in middle..middle + 4 {
        // Padding that runs past the page.
        bytes[page * 4096 + 64..(page + 1) * 4096].fill(0x1d);
    }
    fs::write(&pages, bytes).expect("written");
    for (name, longest) in longest() {
        let known = whole.get(&name).copied();
        assert!(Some(longest) <= known, "{name}: {longest} and {known:?} ns");
    }
}
