//! Disks that fill: a recording from inside a Redis server ends before LTTng loses a packet, and what it takes to read
//! it is on the disk from the begin; spans that could not be kept are told.
//!
//! Needs root to mount a disk of its own, and for Redis LTTng, redis and the agent, which it builds; skips visibly
//! where one is missing.

mod support;

use std::fs;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use support::inside::{agents_with, recorder};
use support::{skip, slowpath_succeeds};

/// A disk in memory, gone with the test.
struct Disk(PathBuf);

impl Disk {
    fn mounted(folder: &Path, size: &str) -> Option<Self> {
        fs::create_dir(folder).expect("a folder");
        let mut mount = Command::new("mount");
        mount.args(["-t", "tmpfs", "-o", size, "none"]).arg(folder);
        let is_mounted = mount.status().is_ok_and(|status| status.success());
        if !is_mounted {
            skip("no file system can be mounted");
        }
        is_mounted.then(|| Self(folder.to_owned()))
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("--lazy").arg(&self.0).status();
    }
}

/// A server and a load for it that fill the disk within seconds, until the file `end` is there.
const SCRIPT: &str = "redis-server --port $0 --bind 127.0.0.1 --save '' --appendonly no > /dev/null & server=$!
    for i in $(seq 200); do redis-cli -p $0 ping > /dev/null 2>&1 && break; sleep 0.05; done
    for i in $(seq 60); do [ -e $1 ] && break; redis-benchmark -q -p $0 -t get -n 100000 > /dev/null; done
    kill $server; wait $server";

#[test]
fn what_lttng_wrote_on_a_disk_that_fills_is_whole() {
    let agents = agents_with("redis", "libslowpath_redis.so", "redis-benchmark");
    let Some(agents) = agents else { return };
    let base = tempfile::tempdir().expect("a temporary folder");
    let Some(disk) = Disk::mounted(&base.path().join("disk"), "size=40m") else {
        return;
    };
    let recording = disk.0.join("recording");
    let end = base.path().join("end");
    let port = TcpListener::bind("127.0.0.1:0").expect("a port");
    let number = port.local_addr().expect("an address").port().to_string();
    drop(port);
    let to_end = end.to_str().expect("a path");
    let arguments = ["--redis", "launch", "--redis-detail", "full", "--"];
    let command = ["sh", "-c", SCRIPT, &number, to_end];
    let recorder = recorder(&agents, &recording, &[&arguments[..], &command].concat())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .expect("a recorder");
    let manifest = || -> Value {
        let text = fs::read(recording.join("slowpath.json")).unwrap_or_default();
        serde_json::from_slice(&text).unwrap_or_default()
    };
    let metadata = recording.join("ust/uid/0/64-bit/metadata");
    let has_metadata = || fs::metadata(&metadata).is_ok_and(|file| file.len() > 0);
    let deadline = Instant::now() + Duration::from_secs(60);
    let mut was_early = false;
    while manifest()["ended_because"].is_null() && Instant::now() < deadline {
        was_early |= has_metadata() && manifest()["ended_because"].is_null();
        std::thread::sleep(Duration::from_millis(10));
    }
    fs::write(&end, "").expect("a file");
    let output = recorder.wait_with_output().expect("it ends");
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(3), "{said}");
    let told =
        "recording stopped, the command goes on: too little room is left on the disk to go on";
    assert!(said.contains(told), "{said}");
    assert!(was_early, "nothing could have been read while it ran");
    // Status 1 would tell of a packet that is cut.
    let counted = slowpath_succeeds(&["count"], &recording);
    assert!(String::from_utf8_lossy(&counted.stdout).contains("slowpath_redis:"));
    assert!(
        !counted.stderr.contains("TruncatedPacket"),
        "{}",
        counted.stderr
    );
}

#[test]
fn spans_that_a_full_disk_does_not_take_are_told() {
    let base = tempfile::tempdir().expect("a temporary folder");
    let Some(disk) = Disk::mounted(&base.path().join("disk"), "size=8m") else {
        return;
    };
    let (recording, end) = (disk.0.join("recording"), base.path().join("end"));
    let script = "for i in $(seq 600); do [ -e $0 ] && break; sleep 0.1; done";
    let recorder = Command::new(env!("CARGO_BIN_EXE_slowpath"))
        .args(["record", "--kernel", "none", "--ust", "none"])
        .args(["--agents", "off", "--spans", "127.0.0.1:0", "-o"])
        .arg(&recording)
        .args(["--", "sh", "-c", script])
        .arg(&end)
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .expect("a recorder");
    let manifest = || -> Value {
        let text = fs::read(recording.join("slowpath.json")).unwrap_or_default();
        serde_json::from_slice(&text).unwrap_or_default()
    };
    let wait_for = |key: &str| {
        let deadline = Instant::now() + Duration::from_secs(60);
        while manifest()[key].is_null() {
            assert!(Instant::now() < deadline, "no {key}: {}", manifest());
            std::thread::sleep(Duration::from_millis(20));
        }
        manifest()[key].clone()
    };
    let address = wait_for("spans")["addresses"][0].clone();
    let send = |id: u64, name: &str| {
        let span = json!({"traceId": format!("{id:032x}"), "spanId": format!("{id:016x}"), "name": name,
            "startTimeUnixNano": "1795452357000000000", "endTimeUnixNano": "1795452358000000000"});
        let spans = json!({"resourceSpans": [{"scopeSpans": [{"spans": [span]}]}]}).to_string();
        post_json(address.as_str().expect("an address"), &spans);
    };
    send(1, "kept");
    let first = recording.join("spans/otlp-1.pb");
    let deadline = Instant::now() + Duration::from_secs(30);
    while !first.exists() {
        assert!(Instant::now() < deadline, "no span is kept");
        std::thread::sleep(Duration::from_millis(20));
    }
    let filler = disk.0.join("filler");
    let fill = || {
        let mut file = fs::File::options().create(true).append(true).open(&filler);
        let file = file.as_mut().expect("a file");
        while file.write_all(&[0; 4096]).is_ok() {}
    };
    fill();
    wait_for("ended_because");
    // What was kept for the end is given back.
    fill();
    send(2, &"lost".repeat(4096));
    fs::write(&end, "").expect("a file");
    let output = recorder.wait_with_output().expect("it ends");
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(3), "{said}");
    let told = "warning: 1 span was lost: the disk was full or too slow";
    assert!(said.contains(told), "{said}");
    assert!(
        said.contains("slowpath: 1 span, received in 1 message"),
        "{said}"
    );

    // As the recorder writes it where there is room for that.
    let mut told = manifest();
    told["spans"]["lost_spans"] = 136_900.into();
    told["spans"]["refused_requests"] = 6.into();
    fs::remove_file(&filler).expect("removed");
    fs::write(recording.join("slowpath.json"), told.to_string()).expect("written");
    for command in ["info", "services"] {
        let stderr = slowpath_succeeds(&[command], &recording).stderr;
        let warning = format!(
            "warning[LostSpans]: {}: 136900 spans were lost",
            recording.display()
        );
        assert!(stderr.contains(&warning), "{command}: {stderr}");
        let warning = format!(
            "warning[RefusedMessages]: {}: 6 messages were refused",
            recording.display()
        );
        assert!(stderr.contains(&warning), "{command}: {stderr}");
    }
}

/// Sends spans of OTLP over HTTP.
fn post_json(address: &str, body: &str) {
    let mut stream = TcpStream::connect(address).expect("it listens");
    let request = format!(
        "POST /v1/traces HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\
         content-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    );
    stream.write_all(request.as_bytes()).expect("sent");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("an answer");
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
}
