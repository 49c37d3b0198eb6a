//! Several recordings of one host at once: one after the other, copies that are damaged, and a
//! recording with a snapshot of itself. What is the same is read once, and no order of names matters.

mod support;

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;
use support::{Printed, quiet_recording, slowpath, unpacked};

/// Runs `slowpath COMMAND... ONE OTHER`.
fn on_both(command: &[&str], one: &Path, other: &Path) -> Printed {
    let one = one.to_str().expect("a plain path");
    slowpath(&[command, &[one]].concat(), other)
}

/// The number of events of two traces together, and what was said about them.
fn events(one: &Path, other: &Path) -> (Option<u64>, String) {
    let counted = on_both(&["count", "--by", "none", "--json"], one, other);
    (counted.json()["events"].as_u64(), counted.stderr)
}

/// Makes a recording one of the same host, a thousand seconds later.
fn put_later(recording: &Path) {
    shift(recording, 1_000_000_000_000);
}

/// Makes a recording one of the same host at another time.
fn shift(recording: &Path, by_ns: i64) {
    let path = recording.join("slowpath.json");
    let mut manifest: Value =
        serde_json::from_slice(&fs::read(&path).expect("a manifest")).expect("JSON");
    let offset = &mut manifest["clocks"][0]["offset_to_epoch_ns"];
    *offset = (offset.as_i64().expect("a time") + by_ns).into();
    for key in ["begin_ns", "end_ns"] {
        manifest[key] = (manifest[key].as_i64().expect("a time") + by_ns).into();
    }
    manifest["clocks"][0]["offset_to_epoch_at_end_ns"] =
        manifest["clocks"][0]["offset_to_epoch_ns"].clone();
    fs::write(&path, manifest.to_string()).expect("written");
    fs::remove_dir_all(recording.join("ust")).expect("events of applications");
}

/// Cuts a file after half of its pages.
fn cut(path: &Path) {
    let file = fs::OpenOptions::new().write(true).open(path);
    let file = file.expect("a file");
    let pages = file.metadata().expect("a file").len() / 4096;
    file.set_len(pages / 2 * 4096).expect("cut");
}

#[test]
fn no_answer_depends_on_which_recording_is_named_first() {
    let (_folder, first) = quiet_recording();
    let (_other_folder, second) = quiet_recording();
    put_later(&second);
    // Numbers of threads are used again: in the second recording they are of another process.
    let saved = second.join("kernel/saved_tgids");
    let text = fs::read_to_string(&saved).expect("threads");
    let of_one = text.lines().map(|line| {
        let (thread, _) = line.split_once(' ').expect("a thread and its process");
        format!("{thread} 1\n")
    });
    fs::write(&saved, of_one.collect::<String>()).expect("written");
    for command in [
        &["io", "--json"][..],
        &["cpu", "--json"],
        &["thread-states", "--json"],
    ] {
        let [one, other] = [(&first, &second), (&second, &first)]
            .map(|(one, other)| on_both(command, one, other).stdout);
        assert!(!one.is_empty());
        assert_eq!(
            String::from_utf8_lossy(&one),
            String::from_utf8_lossy(&other),
            "{command:?}"
        );
    }
}

#[test]
fn hosts_come_in_one_order() {
    let Some(folder) = unpacked("two-hosts/two-hosts.tar.zst") else {
        return;
    };
    let [client, server] = ["client", "server"].map(|host| folder.join("two-hosts").join(host));
    for command in ["cpu", "io", "latency"] {
        let [one, other] = [(&client, &server), (&server, &client)]
            .map(|(one, other)| on_both(&[command, "--json"], one, other).json());
        let has = |host: &str| one.to_string().contains(&format!("\"host\":\"{host}\""));
        assert!(has("client") && has("server"), "{one}");
        assert_eq!(one, other, "{command}");
    }
}

#[test]
fn the_time_between_two_recordings_is_unknown_not_idle() {
    let (_folder, first) = quiet_recording();
    let (_other_folder, second) = quiet_recording();
    put_later(&second);
    let alone = slowpath(&["cpu", "--json"], &first).json();
    let both = on_both(&["cpu", "--json"], &first, &second).json();
    let rows = |document: &Value| document["cpus"].as_array().expect("processors").clone();
    for (alone, both) in rows(&alone).iter().zip(rows(&both)) {
        assert_eq!(alone["unknown_ns"], 0);
        let unknown = both["unknown_ns"].as_u64().expect("a time");
        assert!(
            (990_000_000_000..1_000_000_000_000).contains(&unknown),
            "{unknown}"
        );
        let [alone, both] = [alone, &both].map(|row| row["percent"].as_f64().expect("a share"));
        assert!((alone - both).abs() < 1.0, "{alone} and {both}");
    }
    let busiest = |document: &Value| document["threads"][0]["percent"].as_f64().expect("a share");
    assert!((busiest(&alone) - busiest(&both)).abs() < 1.0, "{both}");
    let between = on_both(&["state", "--at", "+500s", "--json"], &first, &second).json();
    for cpu in rows(&between) {
        assert_eq!(
            (&cpu["tid"], &cpu["comm"]),
            (&Value::Null, &"unknown".into())
        );
    }
    let table = on_both(&["cpu"], &first, &second).stdout;
    assert!(String::from_utf8_lossy(&table).contains("unknown"));
}

#[test]
fn of_two_recorders_that_ran_at_once_one_is_read() {
    let (_folder, longer) = quiet_recording();
    let (_other_folder, shorter) = quiet_recording();
    // Another instance of ftrace fills other pages, and takes an event a moment later.
    shift(&shorter, 1_000);
    for cpu in ["cpu0.raw", "cpu1.raw"] {
        cut(&shorter.join("kernel").join(cpu));
    }
    let alone = slowpath(&["cpu", "--json"], &longer).json();
    for (one, other) in [(&longer, &shorter), (&shorter, &longer)] {
        for jobs in ["1", "8"] {
            let both = on_both(&["cpu", "--json", "--jobs", jobs], one, other);
            assert_eq!(both.json(), alone, "{}", both.stderr);
            let kernel = shorter.join("kernel").display().to_string();
            let said = format!("warning[RecordedTwice]: {kernel}: {}", longer.display());
            assert_eq!(both.stderr.matches(&said).count(), 1, "{}", both.stderr);
        }
    }
}

/// Copies a trace of LTTng as another session of the same machine; `change` is made to its description.
fn other_session(trace: &Path, folder: &Path, change: impl Fn(&mut Vec<u8>)) {
    let description = fs::read(trace.join("metadata")).expect("a description");
    let (known, new) = session_and_another(&description);
    fs::create_dir_all(folder).expect("a folder");
    for entry in fs::read_dir(trace).expect("streams").flatten() {
        if !entry.path().is_file() {
            continue;
        }
        let mut bytes = fs::read(entry.path()).expect("a file");
        replace(&mut bytes, known.as_bytes(), new.as_bytes());
        // In the header of each packet.
        let [known, new] = [&known, &new].map(|id| {
            let id = u32::from_str_radix(id, 16).expect("hexadecimal");
            id.to_be_bytes()
        });
        replace(&mut bytes, &known, &new);
        if entry.file_name() == "metadata" {
            change(&mut bytes);
        }
        fs::write(folder.join(entry.file_name()), bytes).expect("written");
    }
}

/// The begin of the id of the session that is described, as text, and that of another one.
fn session_and_another(description: &[u8]) -> (String, String) {
    let text = String::from_utf8_lossy(description);
    let (_, id) = text.split_once("uuid = \"").expect("an id");
    let known = id[..8].to_owned();
    let first = if known.starts_with('0') { "1" } else { "0" };
    let new = first.to_owned() + &known[1..];
    (known, new)
}

/// Replaces some bytes by as many others, wherever they are.
fn replace(bytes: &mut [u8], known: &[u8], new: &[u8]) {
    let mut at = 0;
    while let Some(rest) = bytes.get_mut(at..at + known.len()) {
        if rest == known {
            rest.copy_from_slice(new);
        }
        at += 1;
    }
}

#[test]
fn of_two_rings_of_ftrace_one_is_read_whatever_they_hold() {
    let (_folder, longer) = quiet_recording();
    let (_other_folder, shorter) = quiet_recording();
    shift(&shorter, 1_000);
    for cpu in ["cpu0.raw", "cpu1.raw"] {
        cut(&shorter.join("kernel").join(cpu));
    }
    // What each recorder was told to record: not one kind of event is the same.
    let keep = |recording: &Path, is_kept: fn(&str) -> bool| {
        for system in fs::read_dir(recording.join("kernel/events")).expect("systems") {
            let system = system.expect("a system");
            if !is_kept(system.file_name().to_str().expect("a name")) {
                fs::remove_dir_all(system.path()).expect("events");
            }
        }
    };
    keep(&longer, |system| system == "sched");
    keep(&shorter, |system| system != "sched");
    let both = on_both(&["count", "--json"], &shorter, &longer);
    assert_eq!(both.json(), slowpath(&["count", "--json"], &longer).json());
    assert!(both.stderr.contains("RecordedTwice"), "{}", both.stderr);
}

/// A file of trace-cmd.
fn by_trace_cmd(name: &str) -> PathBuf {
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/fixtures");
    fixtures.join("ftrace-trace-cmd").join(name)
}

#[test]
fn instances_of_one_file_with_the_same_events_count_once() {
    let file = by_trace_cmd("same-twice.dat");
    let counted = slowpath(&["count", "--by", "stream", "--json"], &file);
    assert_eq!(counted.status, Some(0), "{}", counted.stderr);
    let said = counted.stderr.matches("warning[RecordedTwice]").count();
    assert_eq!(said, 1, "{}", counted.stderr);
    let streams = counted.json()["by"].as_object().expect("streams").clone();
    let second = |name: &&String| name.contains("slowpath-fixture-second/");
    let of_second = streams.keys().filter(second).count();
    assert!(streams.len() == 2 && of_second % 2 == 0, "{streams:?}");
}

#[test]
fn instances_of_one_file_with_different_events_are_read_together() {
    let file = by_trace_cmd("side-by-side.dat");
    let counted = slowpath(&["count", "--by", "stream", "--json"], &file);
    assert_eq!((counted.status, counted.stderr.as_str()), (Some(0), ""));
    assert_eq!(counted.json()["streams"], 4);
    for command in [
        &["thread-states", "--json"][..],
        &["latency", "--json"],
        &["io", "--json"],
        &["cpu", "--json"],
    ] {
        let [one, two, eight] = ["1", "2", "8"].map(|jobs| {
            let run = slowpath(&[command, &["--jobs", jobs]].concat(), &file);
            assert_eq!(run.status, Some(0), "{}", run.stderr);
            run.stdout
        });
        assert_eq!((&one, &one), (&two, &eight), "{command:?}");
    }
}

#[test]
fn what_a_recorder_that_is_left_out_wrote_of_applications_is_left_out() {
    let (_folder, longer) = quiet_recording();
    let (_other_folder, shorter) = quiet_recording();
    shift(&shorter, 1_000);
    let ust = "ust/uid/0/64-bit";
    other_session(&longer.join(ust), &shorter.join(ust), |_| ());
    for cpu in ["cpu0.raw", "cpu1.raw"] {
        cut(&shorter.join("kernel").join(cpu));
    }
    let count = |recording: &Path| slowpath(&["count", "--json"], recording).json();
    for recording in [&longer, &shorter] {
        let spans = &count(recording)["by"]["slowpath_span:start_span"];
        assert!(spans.as_u64() > Some(0), "{spans}");
    }
    let alone = count(&longer);
    for (one, other) in [(&longer, &shorter), (&shorter, &longer)] {
        let both = on_both(&["count", "--json"], one, other);
        assert_eq!(both.json(), alone, "{}", both.stderr);
    }
}

#[test]
fn of_two_sessions_of_lttng_with_the_same_events_one_is_read_and_of_different_ones_both() {
    let Some(trace) = unpacked("io-mix/io-mix.tar.zst") else {
        return;
    };
    let longer = trace.join("io-mix/kernel");
    let folder = tempfile::tempdir().expect("a folder");
    let [same, different] = ["same", "different"].map(|name| folder.path().join(name));
    other_session(&longer, &same, |_| ());
    for cpu in 0..4 {
        let stream = same.join(format!("kchan_{cpu}"));
        let packets = packets(&stream);
        fs::write(stream, packets[..packets.len() - 1].concat()).expect("written");
    }
    // What LTTng writes at the begin of every session keeps its name.
    let families = [
        "sched", "sys", "irq", "timer", "block", "power", "net", "signal",
    ];
    other_session(&longer, &different, |metadata| {
        for family in families {
            let known = format!("\"{family}");
            let new = format!("\"x{}", &family[1..]);
            replace(metadata, known.as_bytes(), new.as_bytes());
        }
    });
    let (alone, _) = events(&longer, &longer);
    let alone = alone.expect("a number");
    for (one, other) in [(&longer, &same), (&same, &longer)] {
        let (both, said) = events(one, other);
        assert_eq!(both, Some(alone), "{said}");
        let left_out = format!("warning[RecordedTwice]: {}: ", same.display());
        assert_eq!(said.matches(&left_out).count(), 1, "{said}");
    }
    let (both, said) = events(&longer, &different);
    assert_eq!((both, said.as_str()), (Some(alone * 2), ""));
    // Nothing is missing where the one begins beside the other.
    let busy = |told: Printed| told.json()["cpus"].clone();
    let beside = busy(on_both(&["cpu", "--json"], &longer, &different));
    assert_eq!(beside, busy(slowpath(&["cpu", "--json"], &longer)));
}

#[test]
fn of_a_damaged_copy_and_a_whole_one_the_whole_one_is_read() {
    let (_folder, whole) = quiet_recording();
    let alone = slowpath(&["count", "--by", "none", "--json"], &whole).json();
    let alone = alone["events"].as_u64();
    // One has fewer pages, the other as many of which one is unreadable.
    type Damage<'run> = &'run dyn Fn(&Path);
    let damages: [Damage<'_>; 2] = [&cut, &|path: &Path| {
        let mut bytes = fs::read(path).expect("pages");
        let middle = bytes.len() / 2 / 4096 * 4096;
        bytes[middle + 64..middle + 4096].fill(0xff);
        fs::write(path, bytes).expect("written");
    }];
    for damage in damages {
        let (_folder, damaged) = quiet_recording();
        damage(&damaged.join("kernel/cpu0.raw"));
        for (one, other) in [(&whole, &damaged), (&damaged, &whole)] {
            let (events, said) = events(one, other);
            assert_eq!(events, alone, "{said}");
            assert!(said.contains("warning[SameTrace]"), "{said}");
            let kernel = damaged.join("kernel").display().to_string();
            assert!(
                said.contains(&format!("{kernel}: {}", whole.display())),
                "{said}"
            );
        }
    }
}

#[test]
fn of_two_copies_with_damage_in_different_places_both_are_read_and_that_is_said() {
    let [(_folder, one), (_other_folder, other)] = [(); 2].map(|()| quiet_recording());
    cut(&one.join("kernel/cpu0.raw"));
    cut(&other.join("kernel/cpu1.raw"));
    let said = events(&one, &other).1;
    assert_eq!(
        said.matches("warning[OverlappingTraces]").count(),
        1,
        "{said}"
    );
}

/// The user-space trace of a recording, changed as a snapshot or another part of it may be.
fn part_of_ust(change: impl Fn(&Path)) -> (tempfile::TempDir, PathBuf) {
    let (folder, recording) = quiet_recording();
    let trace = recording.join("ust/uid/0/64-bit");
    fs::remove_dir_all(trace.join("index")).expect("an index");
    change(&trace);
    (folder, trace)
}

#[test]
fn a_request_that_two_recordings_hold_is_one() {
    let (_folder, whole) = part_of_ust(|_| ());
    let (_snapshot_folder, snapshot) = part_of_ust(|trace| cut(&trace.join("slowpath_0")));
    let (_later_folder, later) = part_of_ust(|trace| {
        fs::remove_file(trace.join("slowpath_1")).expect("a stream");
    });
    let requests = |printed: Printed| {
        let document = printed.json();
        let requests = document["requests"].as_array().expect("requests");
        let said = |request: &Value| {
            let keys = ["trace_id", "span_id", "begin_ns", "end_ns"];
            keys.map(|key| request[key].to_string())
        };
        let mut found: Vec<_> = requests.iter().map(said).collect();
        found.sort();
        (found, printed.stderr)
    };
    let (alone, _) = requests(slowpath(&["requests", "--json"], &whole));
    assert!(alone.len() > 10);
    let (both, said) = requests(on_both(&["requests", "--json"], &snapshot, &later));
    assert_eq!(both, alone, "{said}");
    assert!(!said.contains("OverlappingTraces"), "{said}");
    let (both, said) = requests(on_both(&["requests", "--json"], &snapshot, &whole));
    assert_eq!(both, alone, "{said}");
    assert!(said.contains("warning[SameTrace]"), "{said}");
}

/// The user-space trace of a recording as another recorder of the same time has it: a session of its own, whose
/// events come a moment later, by so many nanoseconds.
fn ust_beside(later_by: i64) -> (tempfile::TempDir, PathBuf) {
    part_of_ust(|trace| {
        let offset = 1_795_247_784_435_383_891_i64;
        let [known, new] = [offset, offset + later_by].map(|offset| offset.to_string());
        let id = [0x26, 0x07, 0xa8, 0x65, 0x6d, 0x2e];
        for entry in fs::read_dir(trace).expect("streams").flatten() {
            let mut bytes = fs::read(entry.path()).expect("a file");
            replace(&mut bytes, b"2607a865-6d2e", b"3607a865-6d2e");
            replace(&mut bytes, &id, &[&[0x36], &id[1..]].concat());
            replace(&mut bytes, b"slowpath-28524", b"slowpath-28525");
            replace(&mut bytes, known.as_bytes(), new.as_bytes());
            fs::write(entry.path(), bytes).expect("written");
        }
    })
}

#[test]
fn what_applications_told_two_recorders_is_read_once() {
    let (_folder, one) = part_of_ust(|_| ());
    let (alone, _) = events(&one, &one);
    let alone = alone.expect("a number");
    let (_beside_folder, beside) = ust_beside(1_000);
    for (one, other) in [(&one, &beside), (&beside, &one)] {
        let (both, said) = events(one, other);
        assert_eq!(both, Some(alone), "{said}");
        assert_eq!(said.matches("warning[RecordedTwice]").count(), 1, "{said}");
    }
    // What happens half a second later is something else.
    let (_later_folder, later) = ust_beside(500_000_000);
    assert_eq!(events(&one, &later), (Some(alone * 2), String::new()));
}

#[test]
fn what_only_the_recorder_that_is_left_out_was_told_is_read() {
    let (_folder, longer) = quiet_recording();
    let (_other_folder, shorter) = quiet_recording();
    let spans = |recording: &Path| {
        let document = slowpath(&["requests", "--json"], recording).json();
        document["requests"].as_array().map_or(0, Vec::len)
    };
    let all = spans(&longer);
    let ust = tempfile::tempdir().expect("a folder");
    let kept = ust.path().join("ust");
    fs::rename(shorter.join("ust"), &kept).expect("moved");
    fs::create_dir(shorter.join("ust")).expect("a folder");
    shift(&shorter, 1_000);
    for cpu in ["cpu0.raw", "cpu1.raw"] {
        cut(&shorter.join("kernel").join(cpu));
    }
    fs::rename(&kept, shorter.join("ust")).expect("moved");
    fs::remove_dir_all(longer.join("ust")).expect("events of applications");
    for recording in [&longer, &shorter] {
        fs::remove_dir_all(recording.join("spans")).expect("spans of files");
    }
    let both = on_both(&["requests", "--json"], &longer, &shorter);
    assert!(both.stderr.contains("RecordedTwice"), "{}", both.stderr);
    let requests = both.json()["requests"].as_array().map_or(0, Vec::len);
    assert!(all > 10 && requests == all, "{requests} of {all}");
}

#[test]
fn pages_whose_wall_time_nothing_tells_are_said_to_be() {
    let (_folder, recording) = quiet_recording();
    assert_eq!(slowpath(&["cpu"], &recording).stderr, "");
    fs::remove_file(recording.join("slowpath.json")).expect("a manifest");
    for path in [recording.clone(), recording.join("kernel")] {
        let told = slowpath(&["cpu"], &path);
        assert_eq!(told.status, Some(0), "{}", told.stderr);
        let said = told.stderr.matches("warning[UnknownWallTime]").count();
        assert_eq!(said, 1, "{}", told.stderr);
    }
}

#[test]
fn garbage_in_the_files_beside_the_pages_is_told() {
    let texts = [
        "saved_cmdlines",
        "saved_tgids",
        "stats/cpu0",
        "statedump.jsonl",
    ];
    for name in texts {
        let (_folder, recording) = quiet_recording();
        let path = recording.join("kernel").join(name);
        let text = fs::read_to_string(&path).expect("a text");
        let lines = text.lines().enumerate();
        let with_garbage = lines.map(|(position, line)| match position {
            1 | 3 => "~".repeat(line.len()) + "\n",
            _ => line.to_owned() + "\n",
        });
        fs::write(&path, with_garbage.collect::<String>()).expect("written");
        let told = slowpath(&["cpu"], &recording);
        assert_eq!(told.status, Some(1), "{name}: {}", told.stderr);
        assert_eq!(told.stderr.matches("error[").count(), 1, "{}", told.stderr);
        assert!(
            told.stderr.contains(&format!("{}:2:1: ", path.display())),
            "{}",
            told.stderr
        );
    }
    let tables = ["block_devices.json", "interrupts.json", "kallsyms"];
    for name in texts.into_iter().chain(tables) {
        let (_folder, recording) = quiet_recording();
        let path = recording.join("kernel").join(name);
        if name == "kallsyms" {
            let symbols = "ffffffff81000000 T _stext\nffffffffc0000000 t begin\t[module]\n";
            fs::write(&path, symbols).expect("written");
            assert_eq!(slowpath(&["cpu"], &recording).stderr, "");
        }
        let garbage = fs::read(&path).expect("a file").into_iter();
        let garbage = garbage.map(|byte| if byte == b'\n' { byte } else { byte ^ 0xa5 });
        let garbage: Vec<u8> = garbage.collect();
        fs::write(&path, garbage).expect("written");
        let told = slowpath(&["cpu"], &recording);
        assert_eq!(told.status, Some(1), "{name}: {}", told.stderr);
        assert!(told.stderr.contains(name), "{}", told.stderr);
    }
}

#[test]
fn a_copy_that_lost_its_description_is_no_other_host() {
    let (_folder, whole) = quiet_recording();
    let (_other_folder, copy) = quiet_recording();
    fs::remove_file(copy.join("slowpath.json")).expect("a manifest");
    let alone = slowpath(&["cpu", "--json"], &whole);
    for (one, other) in [(&whole, &copy), (&copy, &whole)] {
        let both = on_both(&["cpu", "--json"], one, other);
        assert_eq!(both.json(), alone.json(), "{}", both.stderr);
        let kernel = copy.join("kernel").display().to_string();
        let said = format!("warning[SameTrace]: {kernel}: {}", whole.display());
        assert!(both.stderr.contains(&said), "{}", both.stderr);
    }
}

/// Where a packet that LTTng wrote states its size in bits: behind 32 bytes of header and 24 of context.
const SIZE_AT: usize = 56;

/// The packets of a stream that LTTng wrote, each with all its bytes.
fn packets(stream: &Path) -> Vec<Vec<u8>> {
    let whole = fs::read(stream).expect("a stream");
    let (mut packets, mut rest) = (Vec::new(), &whole[..]);
    while let Some(size) = rest.get(SIZE_AT..SIZE_AT + 8) {
        let bits = u64::from_le_bytes(size.try_into().expect("eight bytes"));
        let (packet, behind) = rest.split_at(bits as usize / 8);
        packets.push(packet.to_owned());
        rest = behind;
    }
    packets
}

/// The packets as a rotation leaves them: it closes the last one when there is room left in it, and writes
/// whole pages.
fn closed_by_rotation(packets: &[Vec<u8>]) -> Vec<Vec<u8>> {
    let mut packets = packets.to_vec();
    let last = packets.last_mut().expect("a packet");
    last.resize(last.len() + 4096, 0);
    let bits = last.len() as u64 * 8;
    last[SIZE_AT..SIZE_AT + 8].copy_from_slice(&bits.to_le_bytes());
    packets
}

#[test]
fn the_copy_that_describes_more_events_is_read() {
    let (_folder, whole) = quiet_recording();
    let (_other_folder, damaged) = quiet_recording();
    let format = damaged.join("kernel/events/sched/sched_switch/format");
    fs::remove_file(format).expect("a format");
    let cpus = |one: &Path, other: &Path| {
        let told = on_both(&["cpu", "--json"], one, other);
        assert!(told.stderr.contains("[SameTrace]"), "{}", told.stderr);
        told.json()["cpus"].clone()
    };
    assert_eq!(cpus(&whole, &damaged), cpus(&damaged, &whole));
    // Without switches nothing tells who ran.
    let alone = slowpath(&["cpu", "--json"], &damaged).json();
    for row in alone["cpus"].as_array().expect("processors") {
        assert!(row["unknown_ns"].as_u64() > Some(0), "{row}");
        assert_eq!((&row["busy_ns"], &row["percent"]), (&0.into(), &0.0.into()));
    }
}

#[test]
fn what_cannot_be_opened_keeps_nothing_from_being_read() {
    let Some(trace) = unpacked("io-mix/io-mix.tar.zst") else {
        return;
    };
    let kernel = trace.join("io-mix/kernel");
    let folder = tempfile::tempdir().expect("a folder");
    let metadata = fs::read(kernel.join("metadata")).expect("metadata");
    let half = &metadata[..metadata.len() / 2];
    fs::write(folder.path().join("metadata"), half).expect("written");
    let (alone, _) = events(&kernel, &kernel);
    for (one, other) in [(folder.path(), &*kernel), (&*kernel, folder.path())] {
        let told = on_both(&["count", "--by", "none", "--json"], one, other);
        assert_eq!(told.status, Some(1), "{}", told.stderr);
        assert_eq!(told.json()["events"].as_u64(), alone);
    }
}

#[test]
fn chunks_of_one_session_are_all_read_and_a_damaged_copy_of_one_is_not() {
    let Some(trace) = unpacked("io-mix/io-mix.tar.zst") else {
        return;
    };
    let kernel = trace.join("io-mix/kernel");
    let alone = slowpath(&["count", "--by", "none", "--json"], &kernel).json();
    let folder = tempfile::tempdir().expect("a folder");
    // The second chunk's copy lacks the last packet of every stream.
    let [first, second, damaged] = ["first", "second", "damaged"].map(|name| {
        let chunk = folder.path().join(name);
        fs::create_dir(&chunk).expect("a folder");
        fs::copy(kernel.join("metadata"), chunk.join("metadata")).expect("copied");
        chunk
    });
    for entry in fs::read_dir(&kernel).expect("streams").flatten() {
        let name = entry.file_name();
        if !name.to_string_lossy().starts_with("kchan_") {
            continue;
        }
        let packets = packets(&entry.path());
        let middle = packets.len() / 2;
        assert!(middle > 0 && middle + 1 < packets.len(), "{name:?}");
        let write = |chunk: &Path, packets: &[Vec<u8>]| {
            fs::write(chunk.join(&name), packets.concat()).expect("written");
        };
        write(&first, &closed_by_rotation(&packets[..middle]));
        write(&second, &packets[middle..]);
        write(&damaged, &packets[middle..packets.len() - 1]);
    }
    let (chunks, said) = events(&first, &second);
    assert_eq!((chunks, said.as_str()), (alone["events"].as_u64(), ""));
    let (all, said) = {
        let counted = slowpath(&["count", "--by", "none", "--json"], folder.path());
        (counted.json()["events"].as_u64(), counted.stderr)
    };
    assert_eq!(all, chunks, "{said}");
    assert_eq!(said.matches("warning[SameTrace]").count(), 1, "{said}");
}

#[test]
fn between_two_snapshots_of_one_session_nothing_is_known() {
    let Some(trace) = unpacked("io-mix/io-mix.tar.zst") else {
        return;
    };
    let kernel = trace.join("io-mix/kernel");
    let folder = tempfile::tempdir().expect("a folder");
    let [first, second] = ["first", "second"].map(|name| {
        let snapshot = folder.path().join(name);
        fs::create_dir(&snapshot).expect("a folder");
        fs::copy(kernel.join("metadata"), snapshot.join("metadata")).expect("copied");
        snapshot
    });
    for name in ["kchan_0", "kchan_1"] {
        let packets = packets(&kernel.join(name));
        let middle = packets.len() / 2;
        let left_out = middle / 2..middle + middle / 2;
        fs::write(first.join(name), packets[..left_out.start].concat()).expect("written");
        fs::write(second.join(name), packets[left_out.end..].concat()).expect("written");
    }
    let unknown = |trace: &Path| {
        let report = slowpath(&["cpu", "--json"], trace).json();
        let rows = report["cpus"].as_array().expect("processors").clone();
        let unknown = rows.iter().map(|row| row["unknown_ns"].as_u64());
        unknown.collect::<Option<Vec<u64>>>().expect("times")
    };
    let alone = unknown(&first).into_iter().zip(unknown(&second));
    for ((first, second), both) in alone.zip(unknown(folder.path())) {
        assert!(
            both > first + second + 500_000_000,
            "{first}, {second}, {both}"
        );
    }
}

#[test]
fn packets_that_two_snapshots_of_one_session_share_are_read_once() {
    let Some(trace) = unpacked("io-mix/io-mix.tar.zst") else {
        return;
    };
    let kernel = trace.join("io-mix/kernel");
    let folder = tempfile::tempdir().expect("a folder");
    let [whole, earlier, later] = ["whole", "earlier", "later"].map(|name| {
        let snapshot = folder.path().join(name);
        fs::create_dir(&snapshot).expect("a folder");
        fs::copy(kernel.join("metadata"), snapshot.join("metadata")).expect("copied");
        snapshot
    });
    for (name, is_idle) in [("kchan_0", false), ("kchan_1", true)] {
        let packets = packets(&kernel.join(name));
        let third = packets.len() / 3;
        // A processor that was idle between them has nothing new in the later one.
        let end = if is_idle { 2 * third } else { packets.len() };
        fs::write(whole.join(name), packets[..end].concat()).expect("written");
        fs::write(earlier.join(name), packets[..2 * third].concat()).expect("written");
        fs::write(later.join(name), packets[third..end].concat()).expect("written");
    }
    for analysis in ["cpu", "io", "count"] {
        let alone = slowpath(&[analysis, "--json"], &whole);
        for (one, other) in [(&earlier, &later), (&later, &earlier)] {
            let both = on_both(&[analysis, "--json"], one, other);
            assert!(
                !both.stderr.contains("OverlappingTraces"),
                "{}",
                both.stderr
            );
            let [both, alone] = [&both, &alone].map(|printed| {
                let mut document = printed.json();
                document["diagnostics"].take();
                document
            });
            assert_eq!(both, alone, "{analysis}");
        }
    }
}

#[test]
fn requests_that_ended_before_a_snapshot_are_of_an_earlier_one() {
    let (_folder, recording) = quiet_recording();
    // Received spans are cut to a snapshot's time by the recorder.
    fs::remove_dir_all(recording.join("spans")).expect("spans");
    let requests = || {
        let document = slowpath(&["requests", "--json"], &recording).json();
        document["requests"].as_array().expect("requests").clone()
    };
    let end = |request: &Value| request["end_ns"].as_i64().expect("a time");
    let all = requests();
    let mut ends: Vec<i64> = all.iter().map(end).collect();
    ends.sort_unstable();
    let begin = ends[ends.len() / 2];
    // As LTTng puts the snapshots of applications.
    let folder = recording.join("ust/snapshot-0-1");
    fs::rename(recording.join("ust"), recording.join("inner")).expect("moved");
    fs::create_dir_all(&folder).expect("a folder");
    fs::rename(recording.join("inner"), folder.join("ust")).expect("moved");
    let path = recording.join("slowpath.json");
    let mut manifest: Value =
        serde_json::from_slice(&fs::read(&path).expect("a manifest")).expect("JSON");
    manifest["mode"] = "snapshot".into();
    manifest["begin_ns"] = begin.into();
    manifest["files"] = serde_json::json!({});
    fs::write(&path, manifest.to_string()).expect("written");
    let left = requests();
    assert!(
        !left.is_empty() && left.len() < all.len(),
        "{} of {}",
        left.len(),
        all.len()
    );
    assert!(left.iter().all(|request| end(request) >= begin), "{left:?}");
    assert_eq!(left.len(), ends.iter().filter(|end| **end >= begin).count());

    // Together with the one before it, whose trace of applications is held whole by this one's.
    let (_earlier_folder, earlier) = quiet_recording();
    fs::remove_dir_all(earlier.join("spans")).expect("spans");
    cut(&earlier.join("ust/uid/0/64-bit/slowpath_0"));
    fs::remove_dir_all(earlier.join("ust/uid/0/64-bit/index")).expect("an index");
    manifest["begin_ns"] = (ends[0] - 1).into();
    fs::write(earlier.join("slowpath.json"), manifest.to_string()).expect("written");
    for (one, other) in [(&earlier, &recording), (&recording, &earlier)] {
        let both = on_both(&["requests", "--json"], one, other);
        let said = &both.stderr;
        assert!(said.contains("warning[SameTrace]"), "{said}");
        assert_eq!(
            both.json()["requests"].as_array().expect("requests").len(),
            all.len()
        );
    }
}
