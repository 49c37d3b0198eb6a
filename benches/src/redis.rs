//! A redis-server of its own for a benchmark, on a free port of loopback.

use std::fs;
use std::io;
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use anyhow::{Context, ensure};
use rustix::process::Pid;
use rustix::thread::{CpuSet, sched_setaffinity};

/// The stock one.
pub const PROGRAM: &str = "redis-server";

/// A redis-server that ends with this.
pub struct Redis {
    child: Child,
    /// Where it answers.
    pub port: u16,
}

impl Redis {
    /// Starts one by `program` that keeps nothing on disk, with `library` in it; `None` where redis is not installed.
    ///
    /// # Errors
    /// When it cannot be started or does not answer.
    pub fn start(program: &Path, library: Option<&Path>) -> anyhow::Result<Option<Self>> {
        let port = TcpListener::bind("127.0.0.1:0")?.local_addr()?.port();
        let mut command = Command::new(program);
        command
            .args(["--port", &port.to_string(), "--bind", "127.0.0.1"])
            .args(["--save", "", "--appendonly", "no"])
            .stdout(Stdio::null());
        if let Some(library) = library {
            command.env("LD_PRELOAD", library);
        }
        let child = match command.spawn() {
            Err(cause) if cause.kind() == io::ErrorKind::NotFound => return Ok(None),
            started => started.context("redis-server")?,
        };
        let redis = Self { child, port };
        let mut tries = 0;
        while TcpStream::connect(("127.0.0.1", port)).is_err() {
            tries += 1;
            ensure!(tries < 500, "redis-server does not answer");
            std::thread::sleep(Duration::from_millis(20));
        }
        Ok(Some(redis))
    }

    /// Has it run on this processor alone, and the threads that it starts from now on.
    ///
    /// # Errors
    /// When the processor is not there.
    pub fn keep_on(&self, processor: usize) -> anyhow::Result<()> {
        let mut only = CpuSet::new();
        only.set(processor);
        for task in fs::read_dir(format!("/proc/{}/task", self.process()))? {
            let thread = task?.file_name().to_string_lossy().parse()?;
            sched_setaffinity(Pid::from_raw(thread), &only)?;
        }
        Ok(())
    }

    /// Its number.
    pub fn process(&self) -> u32 {
        self.child.id()
    }

    /// Processor time of all its threads so far, in nanoseconds.
    ///
    /// # Errors
    /// When it has ended.
    pub fn processor_ns(&self) -> anyhow::Result<f64> {
        let mut sum = 0.0;
        for task in fs::read_dir(format!("/proc/{}/task", self.process()))? {
            let text = fs::read_to_string(task?.path().join("schedstat"))?;
            let run = text.split_ascii_whitespace().next().context("schedstat")?;
            sum += run.parse::<f64>()?;
        }
        Ok(sum)
    }

    /// Its resident memory of these kinds (lines of `/proc/PID/status`), in KiB.
    ///
    /// # Errors
    /// When it has ended.
    pub fn memory_kib(&self, kinds: &[&str]) -> anyhow::Result<f64> {
        let status = fs::read_to_string(format!("/proc/{}/status", self.process()))?;
        let of_kind = |line: &str| {
            let (kind, rest) = line.split_once(':')?;
            let number = rest.split_ascii_whitespace().next()?;
            kinds.contains(&kind).then(|| number.parse::<f64>())?.ok()
        };
        Ok(status.lines().filter_map(of_kind).sum())
    }
}

impl Drop for Redis {
    fn drop(&mut self) {
        // It may have ended by itself; there is nobody to tell then.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
