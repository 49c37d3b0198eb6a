//! A live redis-benchmark run is recorded; what `slowpath cpu` says of the processes is held
//! against what the kernel itself counted for them in /proc (schedstat), which the recording keeps.
//!
//! Needs root, tracefs and redis; skips visibly where one is missing.

mod support;

use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;
use support::{skip, slowpath};

/// Most by which events and /proc may differ over both processes, as a share of what /proc says.
const TOLERANCE: f64 = 0.02;
/// The same for each of them: the kernel charges a thread whose wake-up preempts another from the
/// wake-up on, so mutual wake-ups move time between the two (docs/formats/recording.md).
const TOLERANCE_OF_ONE: f64 = 0.04;
/// A virtual machine's own agents can take the processor unseen by the tracer; a run that they
/// disturb is repeated. What is wrong in slowpath is wrong every time.
const TRIES: usize = 3;

/// Where server and load run: wherever the kernel puts them, or both on one processor. On some virtual
/// machines the tracer misses every switch away from the idle thread of all processors but the first.
const PLACES: &[Place] = &[Place::Anywhere, Place::On("0"), Place::On("1")];

#[derive(Clone, Copy, Debug)]
enum Place {
    Anywhere,
    On(&'static str),
}

impl Place {
    /// A command that runs `program` here.
    fn run(self, program: &str) -> Vec<String> {
        match self {
            Self::Anywhere => vec![program.into()],
            Self::On(processor) => ["taskset", "-c", processor, program].map(Into::into).into(),
        }
    }

    fn exists(self) -> bool {
        let processors = std::thread::available_parallelism().map_or(1, |count| count.get());
        match self {
            Self::Anywhere => true,
            Self::On(processor) => processor
                .parse()
                .is_ok_and(|number: usize| number < processors),
        }
    }
}

/// A server that ends with the test.
struct Redis {
    child: Child,
    port: u16,
}

impl Redis {
    /// Starts one on a free port of the loopback interface.
    fn start(place: Place) -> std::io::Result<Self> {
        let port = TcpListener::bind("127.0.0.1:0")?.local_addr()?.port();
        let command = place.run("redis-server");
        let child = Command::new(&command[0])
            .args(&command[1..])
            .args(["--port", &port.to_string(), "--bind", "127.0.0.1"])
            .args(["--save", "", "--appendonly", "no", "--daemonize", "no"])
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()?;
        let redis = Self { child, port };
        let begin = Instant::now();
        let address = SocketAddr::from(([127, 0, 0, 1], port));
        while TcpStream::connect(address).is_err() {
            assert!(
                begin.elapsed() < Duration::from_secs(20),
                "redis-server does not answer"
            );
            std::thread::sleep(Duration::from_millis(20));
        }
        Ok(redis)
    }
}

impl Drop for Redis {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// By process name: nanoseconds of CPU that /proc counted, and those of `slowpath cpu`.
fn accounts(folder: &Path, manifest: &Value) -> Vec<(String, f64, f64)> {
    let offset = manifest["clocks"][0]["offset_to_epoch_ns"]
        .as_i64()
        .expect("a clock");
    let side = |side: &str| {
        manifest["accounts"][side]
            .as_array()
            .cloned()
            .unwrap_or_default()
    };
    let (begin, end) = (side("begin"), side("end"));
    let times = |rows: &[Value]| -> Vec<i64> {
        rows.iter()
            .filter_map(|row| row["at_ns"].as_i64())
            .collect()
    };
    let from = times(&begin)
        .into_iter()
        .min()
        .expect("accounts at the begin")
        + offset;
    let to = times(&end).into_iter().max().expect("accounts at the end") + offset;
    let (from, to) = (from.to_string(), to.to_string());
    let cpu = slowpath(&["cpu", "--json", "--begin", &from, "--end", &to], folder).json();
    let busy = |tid: &Value| -> f64 {
        let threads = cpu["threads"].as_array().expect("threads");
        let row = threads.iter().find(|row| row["tid"] == *tid);
        row.and_then(|row| row["busy_ns"].as_f64()).unwrap_or(0.0)
    };
    let mut processes: Vec<(String, f64, f64)> = Vec::new();
    for (before, after) in begin.iter().zip(&end) {
        let ran = |row: &Value| row["schedstat_run_ns"].as_f64().unwrap_or(0.0);
        let name = after["comm"].as_str().unwrap_or_default().to_owned();
        let name = if after["tid"] == after["pid"] {
            name
        } else {
            format!("{name} (thread)")
        };
        processes.push((name, ran(after) - ran(before), busy(&after["tid"])));
    }
    processes
}

#[test]
fn cpu_of_a_recorded_redis_run_agrees_with_proc() {
    for place in PLACES.iter().copied().filter(|place| place.exists()) {
        println!("{place:?}");
        if let Err(missing) = check(place) {
            return skip(&missing);
        }
    }
}

/// The error is why it cannot be tried here.
fn check(place: Place) -> Result<(), String> {
    let redis =
        Redis::start(place).map_err(|error| format!("redis-server cannot be started: {error}"))?;
    let mut found = Vec::new();
    for _ in 0..TRIES {
        let processes = recorded_run(&redis, place)
            .map_err(|refused| format!("kernel events cannot be recorded here: {refused}"))?;
        found.push(processes);
        if found.last().is_some_and(|processes| agrees(processes)) {
            return Ok(());
        }
    }
    panic!("{place:?}: events and /proc differ in {TRIES} runs (name, /proc, events): {found:#?}");
}

/// Whether what /proc and events say is close enough.
fn agrees(processes: &[(String, f64, f64)]) -> bool {
    // What a process did in a few ms is lost in the kernel's ticks.
    let busy: Vec<_> = processes
        .iter()
        .filter(|(_, proc, _)| *proc > 100e6)
        .collect();
    assert!(
        busy.len() >= 2,
        "server and load were both busy: {processes:?}"
    );
    let far = |proc: f64, events: f64| ((events - proc) / proc).abs();
    for (name, proc, events) in &busy {
        let percent = 100.0 * (events - proc) / proc;
        println!("{name}: /proc {:.1} ms, events {percent:+.2} %", proc / 1e6);
    }
    let proc: f64 = busy.iter().map(|(_, proc, _)| proc).sum();
    let events: f64 = busy.iter().map(|(_, _, events)| events).sum();
    println!("both: events {:+.2} %", 100.0 * (events - proc) / proc);
    far(proc, events) <= TOLERANCE
        && busy
            .iter()
            .all(|(_, proc, events)| far(*proc, *events) <= TOLERANCE_OF_ONE)
}

/// Records a run of redis-benchmark; the error is why it could not be recorded.
fn recorded_run(redis: &Redis, place: Place) -> Result<Vec<(String, f64, f64)>, String> {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let recording = folder.path().join("recording");
    let recorded = Command::new(env!("CARGO_BIN_EXE_slowpath"))
        .args([
            "record", "--kernel", "ftrace", "--ust", "none", "--events", "sched", "-o",
        ])
        .arg(&recording)
        .args(["--account", &redis.child.id().to_string(), "--"])
        .args(place.run("redis-benchmark"))
        .args(["-p", &redis.port.to_string()])
        .args(["-t", "get", "-n", "1000000", "-P", "16", "-q"])
        .stdin(Stdio::null())
        .output()
        .expect("slowpath runs");
    let talk = String::from_utf8_lossy(&recorded.stderr).into_owned();
    if recorded.status.code() == Some(3) {
        return Err(talk);
    }
    assert_eq!(recorded.status.code(), Some(0), "{talk}");
    let manifest = std::fs::read(recording.join("slowpath.json")).expect("a manifest");
    let manifest: Value = serde_json::from_slice(&manifest).expect("JSON");
    Ok(accounts(&recording, &manifest))
}
