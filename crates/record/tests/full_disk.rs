//! Disks without room: what a failed snapshot leaves, and that the next one is taken; that a disk which fills
//! takes nothing of what was recorded before.
//!
//! Mounting a disk of its own needs root; the test says so where it is skipped.

mod support;

use std::fs::{self, File};
use std::io::Write;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use slowpath_platform::process::terminate;
use slowpath_platform::{room, tracefs};
use slowpath_record::{
    KernelChoice, Manifest, Mode, RecordError, RecordOptions, SpansChoice, record, request_snapshot,
};
use support::{post, spans_alone};

/// What the system says of a full disk.
const FULL: &str = "No space left on device (os error 28)";

/// One recording at a time in a process.
fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A file system of its own, gone with the test.
struct Disk(PathBuf);

impl Disk {
    /// In memory.
    fn mounted(folder: &Path, size: &str) -> Option<Self> {
        Self::mount(folder, &["-t", "tmpfs", "-o", size, "none"])
    }

    /// One that keeps no room for anybody.
    fn without_kept_room(folder: &Path, bytes: u64) -> Option<Self> {
        let image = folder.with_extension("ext2");
        let file = File::create(&image).expect("a file");
        file.set_len(bytes).expect("its length");
        let mut make = Command::new("mkfs.ext2");
        // Its owner has all of it.
        make.args(["-q", "-F", "-m", "0", "-b", "4096"]).arg(&image);
        // Where there is none, nothing can be mounted.
        let _ = make.status();
        let image = image.to_str().expect("a path");
        Self::mount(folder, &["-t", "ext2", "-o", "loop", image])
    }

    fn mount(folder: &Path, what: &[&str]) -> Option<Self> {
        fs::create_dir(folder).expect("a folder");
        let status = Command::new("mount").args(what).arg(folder).status();
        let is_mounted = status.is_ok_and(|status| status.success());
        if !is_mounted {
            let _ = writeln!(std::io::stderr(), "SKIPPED: no file system can be mounted");
        }
        is_mounted.then(|| Self(folder.to_owned()))
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("--lazy").arg(&self.0).status();
    }
}

#[test]
fn after_a_snapshot_without_room_the_next_one_is_taken() {
    let _alone = alone();
    let base = tempfile::tempdir().expect("a temporary folder");
    let Some(disk) = Disk::mounted(&base.path().join("disk"), "size=256k") else {
        return;
    };
    let (folder, end) = (disk.0.join("recording"), base.path().join("end"));
    let script = format!("while [ ! -e {} ]; do sleep 0.05; done", end.display());
    let options = spans_alone(&folder, Mode::Snapshot, &[], &["sh", "-c", &script]);
    let recording = thread::spawn(move || record(&options, &mut |line| eprintln!("{line}")));
    let deadline = Instant::now() + Duration::from_secs(30);
    let is_running = || Manifest::read(&folder).is_ok_and(|manifest| manifest.spans.is_some());
    while !is_running() {
        assert!(Instant::now() < deadline, "it does not begin");
        thread::sleep(Duration::from_millis(20));
    }

    let filler = disk.0.join("filler");
    let mut file = File::create(&filler).expect("a file");
    while file.write_all(&[0; 4096]).is_ok() {}
    drop(file);
    for _ in 0..2 {
        let error = request_snapshot(&folder).expect_err("no room").to_string();
        assert!(error.contains("No space left"), "{error}");
        assert!(!folder.join("snapshot-1").exists());
        assert!(!folder.join("slowpath.json.new").exists());
    }
    fs::remove_file(&filler).expect("removed");
    let snapshot = request_snapshot(&folder).expect("a snapshot");
    assert_eq!(snapshot, folder.join("snapshot-1"));
    assert!(Manifest::read(&snapshot).is_ok_and(|manifest| manifest.complete));
    // What somebody else put there is left alone.
    fs::create_dir(folder.join("snapshot-2")).expect("a folder");
    let snapshot = request_snapshot(&folder).expect("a snapshot");
    assert_eq!(snapshot, folder.join("snapshot-3"));

    fs::write(&end, "").expect("a file");
    let outcome = recording.join().expect("no panic").expect("a recording");
    assert_eq!(outcome.manifest.snapshots, ["snapshot-1", "snapshot-3"]);
    let failed = outcome.manifest.failed_snapshots.expect("a note");
    assert_eq!(failed.count, 2);
    assert!(
        failed.last_cause.contains("No space left"),
        "{}",
        failed.last_cause
    );
}

#[test]
fn what_was_recorded_on_every_processor_before_the_disk_was_full_is_kept() {
    fill(|folder| Disk::mounted(folder, "size=32m"));
}

#[test]
fn so_it_is_where_the_file_system_keeps_no_room() {
    fill(|folder| Disk::without_kept_room(folder, 32 << 20));
}

fn fill(make: impl FnOnce(&Path) -> Option<Disk>) {
    if let Err(error) = tracefs::find_or_mount() {
        println!("SKIPPED: {error}");
        return;
    }
    let _alone = alone();
    let base = tempfile::tempdir().expect("a temporary folder");
    let Some(disk) = make(&base.path().join("disk")) else {
        return;
    };
    let (folder, end) = (disk.0.join("recording"), base.path().join("end"));
    // One processor fills the disk in less time than the others need for half a buffer.
    let busy = "taskset -c 0 dd if=/dev/zero of=/dev/null bs=1 count=3000000 2>/dev/null";
    let trap = "trap 'echo asked > \"$0\"; exit' TERM";
    let script = format!("{trap}; {busy}; for i in $(seq 600); do sleep 0.1; done");
    let to_end = end.to_str().expect("a path");
    let with_spans = spans_alone(&folder, Mode::Standard, &[], &[]).spans;
    let options = RecordOptions {
        spans: with_spans,
        ..kernel_events(&folder, &["sh", "-c", &script, to_end])
    };
    let recording = thread::spawn(move || record(&options, &mut |line| eprintln!("{line}")));

    // While the command goes on, it is put away already.
    let deadline = Instant::now() + Duration::from_secs(60);
    let manifest = loop {
        match Manifest::read(&folder) {
            Ok(manifest) if manifest.ended_because.is_some() => break manifest,
            _ => assert!(Instant::now() < deadline, "it does not end"),
        }
        thread::sleep(Duration::from_millis(20));
    };
    assert!(!manifest.complete, "{manifest:?}");
    assert!(manifest.end_ns > manifest.begin_ns, "{manifest:?}");
    let cause = manifest.ended_because.as_deref().unwrap_or_default();
    // The same words on every file system.
    assert!(cause.ends_with(FULL), "{cause}");
    let mut bytes = 0;
    for cpu in 0..thread::available_parallelism().map_or(1, |count| count.get()) {
        let pages = fs::metadata(folder.join(format!("kernel/cpu{cpu}.raw"))).expect("pages");
        assert!(pages.len() > 0, "processor {cpu}");
        // What was kept for more is given back; a file system may need some blocks to find the others.
        assert!(
            pages.blocks() * 512 <= pages.len() + (64 << 10),
            "{pages:?}"
        );
        bytes += pages.len();
    }
    assert_eq!(manifest.cost.bytes_written, bytes);
    assert!(!recording.is_finished());
    // Spans that it sends are received as before: a span with a name in a scope of a resource.
    let address = &manifest.spans.expect("a receiver").addresses[0];
    assert_eq!(post(address, b"\x0a\x07\x12\x05\x12\x03\x2a\x01x"), 200);
    // The first signal asks the command to end.
    terminate(std::process::id() as i32);
    let error = recording.join().expect("no panic").expect_err("no room");
    assert!(
        error
            .hint()
            .is_some_and(|hint| hint.contains("disk is full")),
        "{error}"
    );
    let asked = fs::read_to_string(&end).unwrap_or_default();
    assert_eq!(asked, "asked\n", "killed at once");
    let after = Manifest::read(&folder).expect("a manifest");
    assert_eq!(after.end_ns, manifest.end_ns);
    assert_eq!(after.spans.map(|part| part.requests), Some(1));
}

#[test]
fn a_recording_without_kernel_events_ends_on_a_full_disk_too() {
    let _alone = alone();
    let base = tempfile::tempdir().expect("a temporary folder");
    let Some(disk) = Disk::mounted(&base.path().join("disk"), "size=8m") else {
        return;
    };
    let (folder, end) = (disk.0.join("recording"), base.path().join("end"));
    let script = format!(
        "for i in $(seq 600); do [ -e {} ] && break; sleep 0.1; done",
        end.display()
    );
    let options = spans_alone(&folder, Mode::Standard, &[], &["sh", "-c", &script]);
    let recording = thread::spawn(move || record(&options, &mut |line| eprintln!("{line}")));
    let manifest_with = |what: fn(&Manifest) -> bool| {
        let deadline = Instant::now() + Duration::from_secs(30);
        loop {
            match Manifest::read(&folder) {
                Ok(manifest) if what(&manifest) => break manifest,
                _ => assert!(Instant::now() < deadline, "it does not come"),
            }
            thread::sleep(Duration::from_millis(20));
        }
    };
    manifest_with(|manifest| manifest.spans.is_some());
    let mut file = File::create(disk.0.join("filler")).expect("a file");
    while file.write_all(&[0; 4096]).is_ok() {}
    let manifest = manifest_with(|manifest| manifest.ended_because.is_some());
    assert!(manifest.end_ns > manifest.begin_ns && !manifest.complete);
    assert!(!recording.is_finished(), "the command goes on");
    fs::write(&end, "").expect("a file");
    let error = recording.join().expect("no panic").expect_err("no room");
    assert!(error.to_string().ends_with(FULL), "{error}");
    assert!(
        error
            .hint()
            .is_some_and(|hint| hint.contains("disk is full"))
    );
}

#[test]
fn a_flight_recorder_writes_at_its_end_what_there_is_room_for() {
    if let Err(error) = tracefs::find_or_mount() {
        println!("SKIPPED: {error}");
        return;
    }
    let _alone = alone();
    let base = tempfile::tempdir().expect("a temporary folder");
    let Some(disk) = Disk::mounted(&base.path().join("disk"), "size=20m") else {
        return;
    };
    let folder = disk.0.join("recording");
    // More than half of the disk for each of the first two processors.
    let busy = "for cpu in 0 1; do taskset -c $cpu dd if=/dev/zero of=/dev/null bs=1 count=800000 2>/dev/null; done";
    let options = RecordOptions {
        mode: Mode::Snapshot,
        buffer_bytes_per_cpu: Some(8 << 20),
        ..kernel_events(&folder, &["sh", "-c", busy])
    };
    let mut said = Vec::new();
    let error = record(&options, &mut |line| said.push(line.to_owned())).expect_err("no room");
    let is_told = |line: &String| line.starts_with("a snapshot may not fit on the disk");
    assert!(said.iter().any(is_told), "{said:?}");
    assert!(error.to_string().ends_with(FULL), "{error}");
    let manifest = Manifest::read(&folder).expect("a manifest");
    assert_eq!(manifest.ended_because, Some(error.to_string()));
    assert!(manifest.end_ns > manifest.begin_ns && !manifest.complete);
    // All that there is room for, but for what is left to the texts.
    let free = room::free_bytes(&folder).expect("a file system");
    assert!(free < 4 << 20, "{free} bytes are free");
    let size = |name: &str| fs::metadata(folder.join(name)).map_or(0, |file| file.len());
    assert!(size("kernel/cpu0.raw") > 7 << 20);
    for text in ["saved_cmdlines", "statedump.jsonl", "stats/cpu0"] {
        assert!(size(&format!("kernel/{text}")) > 0, "{text}");
    }
}

#[test]
fn a_disk_that_is_too_small_is_told_before_anything_is_touched() {
    if let Err(error) = tracefs::find_or_mount() {
        println!("SKIPPED: {error}");
        return;
    }
    let _alone = alone();
    let base = tempfile::tempdir().expect("a temporary folder");
    let Some(disk) = Disk::mounted(&base.path().join("disk"), "size=24m") else {
        return;
    };
    let folder = disk.0.join("recording");
    let first = kernel_events(&folder, &["true"]);
    record(&first, &mut |line| eprintln!("{line}")).expect("a recording");
    let before = Manifest::read(&folder).expect("a manifest");
    let instances = || {
        let tracefs = tracefs::find_or_mount().expect("it was there");
        let entries = fs::read_dir(tracefs.join("instances")).expect("instances");
        let own = format!("-{}-", std::process::id());
        let names = entries.flatten().map(|entry| entry.file_name());
        names
            .filter(|name| name.to_string_lossy().contains(&own))
            .count()
    };
    let large = RecordOptions {
        replace: true,
        buffer_bytes_per_cpu: Some(64 << 20),
        ..first
    };
    let error = record(&large, &mut |line| eprintln!("{line}")).expect_err("no room");
    assert!(matches!(error, RecordError::NoRoom { .. }), "{error}");
    assert!(
        error
            .hint()
            .is_some_and(|hint| hint.contains("--buffer-size"))
    );
    let after = Manifest::read(&folder).expect("the one of before");
    assert_eq!((after.begin_ns, after.complete), (before.begin_ns, true));
    assert_eq!(instances(), 0);
}

#[test]
fn a_flight_recorder_that_holds_more_than_the_disk_says_so_at_its_begin() {
    if let Err(error) = tracefs::find_or_mount() {
        println!("SKIPPED: {error}");
        return;
    }
    let _alone = alone();
    let base = tempfile::tempdir().expect("a temporary folder");
    let Some(disk) = Disk::mounted(&base.path().join("disk"), "size=16m") else {
        return;
    };
    for (buffer, expected) in [(20 << 20, true), (1 << 20, false)] {
        let options = RecordOptions {
            mode: Mode::Snapshot,
            replace: true,
            buffer_bytes_per_cpu: Some(buffer),
            ..kernel_events(&disk.0.join("recording"), &["true"])
        };
        let mut said = Vec::new();
        record(&options, &mut |line| said.push(line.to_owned())).expect("a recording");
        let is_told = |line: &String| line.starts_with("a snapshot may not fit on the disk");
        assert_eq!(said.iter().any(is_told), expected, "{said:?}");
    }
}

/// Kernel events to `folder` while the command runs, with buffers by the room that there is.
fn kernel_events(folder: &Path, command: &[&str]) -> RecordOptions {
    let mut options = spans_alone(folder, Mode::Standard, &[], command);
    options.spans.listen = SpansChoice::Off;
    RecordOptions {
        kernel: KernelChoice::Ftrace,
        events: vec!["sched".into(), "syscalls".into()],
        ..options
    }
}
