//! A live redis-benchmark run is recorded; what `slowpath cpu` says of the processes is held
//! against what the kernel itself counted for them in /proc (schedstat), which the recording keeps.
//! Where other threads want the processors as well, the two differ; `charged.py` says for each run why.
//!
//! Needs root, tracefs and redis; skips visibly where one is missing.

mod support;

use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;
use support::{oracle, run, skip, slowpath};

/// Most by which events and /proc may differ over both processes, as a share of what /proc says.
const TOLERANCE: f64 = 0.02;
/// The same for each of them: the kernel charges a thread whose wake-up preempts another from the
/// wake-up on, so mutual wake-ups move time between the two (docs/formats/recording.md).
const TOLERANCE_OF_ONE: f64 = 0.04;
/// A virtual machine's own agents can take the processor unseen by the tracer; a run that they
/// disturb is repeated. What is wrong in slowpath is wrong every time.
const TRIES: usize = 3;

/// A load that keeps server and load busy at once, with few wake-ups.
const IN_BATCHES: [&str; 7] = ["-t", "get", "-n", "1000000", "-P", "16", "-q"];

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
        let folder = tempfile::tempdir().expect("a temporary folder");
        let recording = recorded_run(folder.path(), &redis, place, "sched", &IN_BATCHES)?;
        found.push(accounts(&recording, &manifest_of(&recording)));
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
fn recorded_run(
    folder: &Path,
    redis: &Redis,
    place: Place,
    events: &str,
    load: &[&str],
) -> Result<PathBuf, String> {
    let recording = folder.join("recording");
    let recorded = Command::new(env!("CARGO_BIN_EXE_slowpath"))
        .args(["record", "--kernel", "ftrace", "--ust", "none", "--events"])
        .args([events, "-o"])
        .arg(&recording)
        .args(["--account", &redis.child.id().to_string(), "--"])
        .args(place.run("redis-benchmark"))
        .args(["-p", &redis.port.to_string()])
        .args(load)
        .stdin(Stdio::null())
        .output()
        .expect("slowpath runs");
    let talk = String::from_utf8_lossy(&recorded.stderr).into_owned();
    if recorded.status.code() == Some(3) {
        return Err(format!("kernel events cannot be recorded here: {talk}"));
    }
    assert_eq!(recorded.status.code(), Some(0), "{talk}");
    Ok(recording)
}

fn manifest_of(recording: &Path) -> Value {
    let manifest = std::fs::read(recording.join("slowpath.json")).expect("a manifest");
    serde_json::from_slice(&manifest).expect("JSON")
}

/// A process that would never give up its processor.
struct Neighbour(Child);

impl Drop for Neighbour {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// The share of a thread's time that nobody may be charged for.
const LEFT_UNEXPLAINED: f64 = 0.08;

#[test]
fn where_proc_differs_on_a_busy_machine_it_is_from_charging_at_the_wake_up() {
    let redis = match Redis::start(Place::Anywhere) {
        Ok(redis) => redis,
        Err(error) => return skip(&format!("redis-server cannot be started: {error}")),
    };
    let processors = std::thread::available_parallelism().map_or(1, |count| count.get());
    let spin = |_| {
        let spinning = Command::new("sh")
            .args(["-c", "while :; do :; done"])
            .spawn();
        Neighbour(spinning.expect("a shell"))
    };
    let _neighbours: Vec<Neighbour> = (0..processors).map(spin).collect();
    let folder = tempfile::tempdir().expect("a temporary folder");
    let events = "sched,sched:sched_stat_runtime";
    let one_by_one = ["-t", "get", "-n", "100000", "-c", "20", "-q"];
    let place = Place::Anywhere;
    let recording = match recorded_run(folder.path(), &redis, place, events, &one_by_one) {
        Ok(recording) => recording,
        Err(missing) => return skip(&missing),
    };

    let lines = folder.path().join("events.jsonl");
    let events = slowpath(&["events", "--format", "jsonl"], &recording);
    assert_eq!(events.status, Some(0), "{}", events.stderr);
    std::fs::write(&lines, events.stdout).expect("written");
    let script = oracle("charged.py");
    let arguments = [script.as_os_str(), recording.as_os_str(), lines.as_os_str()];
    let Ok(told) = run("python3", &arguments) else {
        return skip("there is no python3");
    };
    assert_eq!(told.status, Some(0), "{}", told.stderr);
    let by_slowpath = accounts(&recording, &manifest_of(&recording));
    let mut busy = 0;
    let rows = serde_json::Deserializer::from_slice(&told.stdout).into_iter();
    for (row, (name, proc, events)) in rows.zip(by_slowpath) {
        let row: Value = row.expect("JSON");
        let of = |key: &str| row[key].as_f64().unwrap_or(0.0);
        assert!(
            (of("proc_ns") - proc).abs() < 1.0,
            "the same rows: {row} {proc}"
        );
        if proc < 100e6 {
            continue;
        }
        busy += 1;
        println!("{name}: {row}, slowpath cpu {events}");
        let within = |difference: f64| difference.abs() <= TOLERANCE * proc;
        assert!(
            within(of("charged_ns") - proc),
            "an event is missing: {row}"
        );
        assert!(
            within(of("ran_ns") - events),
            "slowpath cpu says {events}: {row}"
        );
        // What is left is small, or little of what there was to explain: the kernel charges nobody for what a hypervisor
        // takes, and a switch takes its time, too.
        let (left, difference) = (of("unexplained_ns"), of("charged_ns") - of("ran_ns"));
        let is_explained = left <= LEFT_UNEXPLAINED * proc || left <= difference.abs() / 2.0;
        assert!(is_explained, "{row}");
    }
    assert!(busy >= 2, "server and load were both busy");
}
