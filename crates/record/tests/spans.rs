//! Whole recordings of spans: what a command finds in its environment, snapshots by rules, floods.
//!
//! No rights are needed: nothing of the kernel is recorded here.

mod support;

use std::fs;
use std::path::Path;
use std::sync::Mutex;
use std::thread;
use std::time::{Duration, Instant, SystemTime};

use slowpath_record::{Manifest, Mode, Outcome, record};
use support::{post, spans_alone};

/// Records spans while `meanwhile` runs, which is given the receiver's address.
fn record_spans(
    folder: &Path,
    mode: Mode,
    rules: &[&str],
    meanwhile: impl FnOnce(&str),
) -> Outcome {
    record_and_listen(folder, mode, rules, meanwhile).0
}

/// The same, and what the recorder said.
fn record_and_listen(
    folder: &Path,
    mode: Mode,
    rules: &[&str],
    meanwhile: impl FnOnce(&str),
) -> (Outcome, Vec<String>) {
    static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());
    let _held = ONE_AT_A_TIME.lock();
    let end = folder.with_extension("end");
    let script = format!(
        "echo $OTEL_EXPORTER_OTLP_ENDPOINT > {0}.env; while [ ! -e {0} ]; do sleep 0.05; done",
        end.display()
    );
    let options = spans_alone(folder, mode, rules, &["sh", "-c", &script]);
    let recording = thread::spawn(move || {
        let mut said = Vec::new();
        let outcome = record(&options, &mut |line| said.push(line.to_owned()));
        (outcome, said)
    });
    let mut address = String::new();
    wait_for("the command to start", || {
        address = fs::read_to_string(end.with_extension("end.env")).unwrap_or_default();
        address.ends_with('\n')
    });
    let address = address.trim().strip_prefix("http://").expect("a URL");
    meanwhile(address);
    fs::write(&end, "").expect("a file");
    let (outcome, said) = recording.join().expect("no panic");
    (outcome.expect("a recording"), said)
}

/// The wire form of a request: a service with spans of one operation that took so long each.
fn request(service: &str, operation: &str, durations_ms: &[u64]) -> Vec<u8> {
    let now = SystemTime::UNIX_EPOCH.elapsed().expect("a time").as_nanos() as u64;
    let spans = durations_ms.iter().zip(1..).map(|(duration_ms, number)| {
        let mut span = [field(1, &[number; 16]), field(2, &[number; 8])].concat();
        span.extend(field(5, operation.as_bytes()));
        for (number, time) in [(7, now - duration_ms * 1_000_000), (8, now)] {
            span.push(number << 3 | 1);
            span.extend(u64::to_le_bytes(time));
        }
        field(2, &span)
    });
    let spans = spans.collect::<Vec<_>>().concat();
    let value = field(1, service.as_bytes());
    let attribute = [field(1, b"service.name"), field(2, &value)].concat();
    let resource = field(1, &attribute);
    field(1, &[field(1, &resource), field(2, &spans)].concat())
}

/// A field of a protobuf message that holds bytes.
fn field(number: u8, bytes: &[u8]) -> Vec<u8> {
    let mut field = vec![number << 3 | 2];
    let mut length = bytes.len();
    while length >= 0x80 {
        field.push(length as u8 | 0x80);
        length >>= 7;
    }
    field.push(length as u8);
    field.extend(bytes);
    field
}

#[test]
fn a_command_is_told_where_to_send_its_spans() {
    let base = tempfile::tempdir().expect("a temporary folder");
    let folder = base.path().join("recording");
    let message = request("shop", "/buy", &[1, 2, 3]);
    let outcome = record_spans(&folder, Mode::Standard, &[], |address| {
        assert_eq!(post(address, &message), 200);
    });
    let part = outcome.manifest.spans.expect("spans");
    assert_eq!((part.requests, part.spans, part.lost_spans), (1, 3, 0));
    let file = fs::read(folder.join("spans/otlp-1.pb")).expect("the file");
    assert_eq!(file[..4], u32::to_be_bytes(message.len() as u32));
    assert_eq!(file[4..], message);
    assert_eq!(
        Manifest::read(&folder)
            .expect("slowpath.json")
            .spans
            .map(|one| one.spans),
        Some(3)
    );
}

#[test]
fn a_broken_rule_takes_a_snapshot_that_knows_why_and_recording_goes_on() {
    let base = tempfile::tempdir().expect("a temporary folder");
    let folder = base.path().join("recording");
    let rule = "max(shop:/buy) > 300ms hold 1min";
    let outcome = record_spans(&folder, Mode::Snapshot, &[rule], |address| {
        assert_eq!(post(address, &request("shop", "/buy", &[10, 20])), 200);
        assert_eq!(
            post(address, &request("shop", "/buy", &[400, 30, 900])),
            200
        );
        let manifest = folder.join("snapshot-1/slowpath.json");
        wait_for("the snapshot", || manifest.exists());
        // Within the hold: no second snapshot, but it belongs to the first.
        assert_eq!(post(address, &request("shop", "/buy", &[5000])), 200);
    });
    assert_eq!(outcome.manifest.snapshots, ["snapshot-1"]);
    let trigger = &outcome.manifest.triggers[..];
    let [trigger] = trigger else {
        panic!("{trigger:?}");
    };
    assert_eq!((&*trigger.snapshot, &*trigger.rule), ("snapshot-1", rule));
    assert_eq!(
        (trigger.value, trigger.threshold),
        (900_000_000, 300_000_000)
    );
    let slow: Vec<(u64, &str)> = trigger
        .requests
        .iter()
        .map(|one| (one.duration_ns / 1_000_000, &*one.trace_id))
        .collect();
    assert_eq!(slow, [(900, &*"03".repeat(16)), (400, &*"01".repeat(16))]);

    let snapshot = Manifest::read(&folder.join("snapshot-1")).expect("its slowpath.json");
    assert_eq!(snapshot.triggers, outcome.manifest.triggers);
    let sizes: Vec<u64> = messages(&folder.join("snapshot-1/spans/otlp-1.pb"));
    assert_eq!(
        sizes.len(),
        3,
        "what was before, what broke the rule, what came late"
    );
    assert!(
        !messages(&folder.join("spans/otlp-1.pb")).is_empty(),
        "the rest, at the end"
    );
}

#[test]
fn a_snapshot_shortly_after_another_tells_where_its_requests_begin() {
    let base = tempfile::tempdir().expect("a temporary folder");
    let folder = base.path().join("recording");
    let rules = [
        "max(shop:/buy) > 300ms hold 1min",
        "max(shop:/pay) > 300ms hold 1ns",
    ];
    let (outcome, said) = record_and_listen(&folder, Mode::Snapshot, &rules, |address| {
        for (operation, pause, number) in [("/buy", 0, 1), ("/pay", 0, 2), ("/pay", 600, 3)] {
            thread::sleep(Duration::from_millis(pause));
            assert_eq!(post(address, &request("shop", operation, &[500])), 200);
            let manifest = folder.join(format!("snapshot-{number}/slowpath.json"));
            wait_for("the snapshot", || manifest.exists());
        }
    });
    let triggers = outcome.manifest.triggers.iter();
    let before: Vec<Option<&str>> = triggers.map(|trigger| trigger.before.as_deref()).collect();
    assert_eq!(before, [None, Some("snapshot-1"), None]);
    let snapshots = said.iter().filter(|line| line.contains("snapshot in "));
    let tells = |line: &String| line.ends_with("; requests that it names begin in snapshot-1");
    let told: Vec<bool> = snapshots.map(tells).collect();
    assert_eq!(told, [false, true, false], "{said:?}");
}

#[test]
fn a_rule_that_covers_more_than_is_watched_is_told_once() {
    let base = tempfile::tempdir().expect("a temporary folder");
    let folder = base.path().join("recording");
    let rule = "p50(shop:*) > 300ms hold 1min";
    let (outcome, said) = record_and_listen(&folder, Mode::Snapshot, &[rule], |address| {
        for item in 0..200 {
            let message = request("shop", &format!("/item/{item}"), &[1, 2]);
            assert_eq!(post(address, &message), 200);
        }
        assert_eq!(post(address, &request("shop", "/slow", &[400; 10])), 200);
        let manifest = folder.join("snapshot-1/slowpath.json");
        wait_for("the snapshot", || manifest.exists());
    });
    assert_eq!(outcome.manifest.triggers[0].requests[0].operation, "/slow");
    let told = said.iter().filter(|line| line.contains("not watched"));
    assert_eq!(told.count(), 1, "{said:?}");
}

#[test]
fn a_flood_costs_bounded_memory_and_is_counted() {
    let base = tempfile::tempdir().expect("a temporary folder");
    let folder = base.path().join("recording");
    const SENDERS: u64 = 8;
    const EACH: u64 = 5;
    // 4 MiB with the smallest spans there are, which a decoder would blow up to 500 MiB.
    let body = field(1, &field(2, &field(2, &[]).repeat(2 << 20)));
    let mut grown = 0;
    let outcome = record_spans(&folder, Mode::Snapshot, &["p99(*) > 1s"], |address| {
        let before = resident_bytes();
        let most = Mutex::new(0);
        thread::scope(|scope| {
            for _ in 0..SENDERS {
                scope.spawn(|| {
                    for _ in 0..EACH {
                        assert_eq!(post(address, &body), 200);
                        let mut most = most.lock().expect("no panic");
                        *most = resident_bytes().max(*most);
                    }
                });
            }
        });
        grown = most.into_inner().expect("no panic").saturating_sub(before);
    });
    let part = outcome.manifest.spans.expect("spans");
    assert_eq!(part.spans + part.lost_spans, SENDERS * EACH * (2 << 20));
    eprintln!(
        "flood of {} MiB: memory grew by {} MiB, {} spans lost",
        SENDERS * EACH * 4,
        grown >> 20,
        part.lost_spans
    );
    // 64 remembered, 32 queued, 8 bodies of 8 at most, and what the allocator keeps back.
    assert!(grown < 320 << 20, "{grown}");
}

/// The sizes of the messages in a file.
fn messages(path: &Path) -> Vec<u64> {
    let bytes = fs::read(path).unwrap_or_default();
    let mut rest = &bytes[..];
    let mut sizes = Vec::new();
    while let Some((size, behind)) = rest.split_first_chunk() {
        let size = u32::from_be_bytes(*size);
        sizes.push(u64::from(size));
        rest = &behind[size as usize..];
    }
    sizes
}

fn resident_bytes() -> u64 {
    let status = fs::read_to_string("/proc/self/status").expect("/proc");
    let line = status.lines().find(|line| line.starts_with("VmRSS:"));
    let kilobytes = line.and_then(|line| line.split_ascii_whitespace().nth(1)?.parse::<u64>().ok());
    kilobytes.expect("a number") << 10
}

fn wait_for(what: &str, mut is_so: impl FnMut() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(30);
    while !is_so() {
        assert!(Instant::now() < deadline, "waited in vain for {what}");
        thread::sleep(Duration::from_millis(20));
    }
}
