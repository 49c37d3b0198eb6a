//! Servers of Redis of a test's own, with the agent or without, and what recordings have of them.

use std::collections::BTreeSet;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use super::inside::agents_with;
use super::slowpath_succeeds;

/// How many `benchmark` sends.
pub const REQUESTS: u64 = 3_000;

/// Recordings of servers that the command starts have every server that the agent comes into meanwhile: tests with
/// servers run one after the other.
pub fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

pub fn agents() -> Option<PathBuf> {
    agents_with("redis", "libslowpath_redis.so", "redis-benchmark")
}

pub struct Server(pub Child);

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

pub fn free_port() -> String {
    let [port] = free_ports();
    port
}

/// Ports of which no two are the same.
pub fn free_ports<const N: usize>() -> [String; N] {
    let listeners = [(); N].map(|()| TcpListener::bind("127.0.0.1:0").expect("a port"));
    listeners.map(|listener| {
        let address = listener.local_addr().expect("an address");
        address.port().to_string()
    })
}

pub fn redis(port: &str) -> Command {
    let mut command = Command::new("redis-server");
    command.args([
        "--port",
        port,
        "--bind",
        "127.0.0.1",
        "--save",
        "",
        "--appendonly",
        "no",
    ]);
    command.stdout(Stdio::null());
    command
}

pub fn wait_for(port: &str) {
    let address: SocketAddr = format!("127.0.0.1:{port}").parse().expect("an address");
    let begin = Instant::now();
    while TcpStream::connect(address).is_err() {
        assert!(
            begin.elapsed() < Duration::from_secs(20),
            "redis-server does not answer"
        );
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// A server that answers, and its port.
pub fn running() -> (Server, String) {
    let port = free_port();
    let server = Server(redis(&port).spawn().expect("redis-server"));
    wait_for(&port);
    (server, port)
}

/// The same in a folder of its own: a replica writes there what it gets.
pub fn running_in(folder: &Path) -> (Server, String) {
    let port = free_port();
    let mut command = redis(&port);
    let server = Server(command.current_dir(folder).spawn().expect("redis-server"));
    wait_for(&port);
    (server, port)
}

/// One with the agent, which nobody has asked to be recorded.
pub fn running_with(agents: &Path) -> (Server, String) {
    let port = free_port();
    let mut command = redis(&port);
    command.env(
        "LD_PRELOAD",
        agents.join("redis/build/libslowpath_redis.so"),
    );
    let server = Server(command.spawn().expect("redis-server"));
    wait_for(&port);
    (server, port)
}

/// Which processes the recording has events of Redis from, by their own numbers.
pub fn recorded_processes(recording: &Path) -> BTreeSet<u32> {
    let text = slowpath_succeeds(&["events"], recording);
    let text = String::from_utf8_lossy(&text.stdout);
    (text.lines())
        .filter(|line| line.contains("slowpath_redis:"))
        .filter_map(|line| {
            line.split("vpid = ")
                .nth(1)?
                .split(',')
                .next()?
                .parse()
                .ok()
        })
        .collect()
}

/// How many GET the recording has.
pub fn gets(recording: &Path) -> u64 {
    let text = slowpath_succeeds(&["events"], recording);
    let text = String::from_utf8_lossy(&text.stdout);
    assert!(!text.contains("key:"), "a key was recorded");
    let numbers: Vec<&str> = (text.lines())
        .filter(|line| line.contains("slowpath_redis:command_name") && line.contains("\"get\""))
        .filter_map(|line| line.split("number = ").nth(1)?.split(',').next())
        .collect();
    assert!(!numbers.is_empty(), "nothing explains what a get is");
    let is_get = |command: &&str| command.split("] = ").nth(1) == Some(numbers[0]);
    (text.lines())
        .filter(|line| line.contains("slowpath_redis:batches"))
        .filter_map(|line| line.split(" command = [ ").nth(1)?.split(" ]").next())
        .map(|commands| commands.split(", ").filter(is_get).count() as u64)
        .sum()
}

pub fn benchmark(port: &str) -> Vec<String> {
    let requests = REQUESTS.to_string();
    let words = [
        "redis-benchmark",
        "-q",
        "-c",
        "5",
        "-p",
        port,
        "-t",
        "get",
        "-r",
        "9",
        "-n",
        &requests,
    ];
    words.map(Into::into).into()
}
