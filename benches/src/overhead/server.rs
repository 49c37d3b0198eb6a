//! HotROD as a process: started alone or under `slowpath record`, awaited, measured, ended.
//!
//! Dropping it ends it, and the recorder with it, which removes its tracing instance; so does the end
//! of its time (`modes.rs`) should the benchmark be killed.

use std::fs::{self, File};
use std::net::{SocketAddr, TcpListener};
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, bail, ensure};
use rustix::process::{Pid, Signal, kill_process};

use super::accounts::{self, Accounts};
use super::load;
use super::modes::{Delays, Mode, Place};

const START: Duration = Duration::from_secs(60);
const END: Duration = Duration::from_secs(60);

/// A server that runs.
pub struct Server {
    child: Child,
    /// Where its front end answers.
    pub address: SocketAddr,
}

impl Server {
    /// Starts HotROD in a mode and waits until it answers.
    ///
    /// # Errors
    /// Where it does not start; with the end of what it said.
    pub fn start(
        mode: Mode,
        delays: Delays,
        place: &Place<'_>,
        stopped: &dyn Fn() -> bool,
    ) -> anyhow::Result<Self> {
        let said = place.recording.with_extension("said");
        let output = File::create(&said)?;
        let [frontend, customer, driver, route] = free_ports()?;
        let mut arguments: Vec<String> = Vec::new();
        arguments.push("all".into());
        for (service, port) in [
            ("frontend", frontend),
            ("customer", customer),
            ("driver", driver),
            ("route", route),
        ] {
            arguments.push(format!("--{service}-service-hostname=127.0.0.1"));
            arguments.push(format!("--{service}-service-port={port}"));
        }
        // One database connection for all requests would make them wait for each other and for
        // nothing else, and so would few workers.
        arguments.push("--fix-disable-db-conn-mutex".into());
        arguments.push(match delays {
            Delays::Pretended => "--fix-db-query-delay=1ms".into(),
            Delays::None => "--fix-db-query-delay=0".into(),
        });
        arguments.push("--fix-route-worker-pool-size=2000".into());
        let child = mode
            .command(delays, place, &arguments)
            .stdin(Stdio::null())
            .stdout(output.try_clone()?)
            .stderr(output)
            .spawn()
            .with_context(|| format!("{}: cannot be started", mode.name()))?;
        let mut server = Self {
            child,
            address: ([127, 0, 0, 1], frontend).into(),
        };
        let deadline = Instant::now() + START;
        let is_up =
            || load::ask(&mut None, server.address, "/config").is_ok_and(|it| it.status == 200);
        while !is_up() {
            ensure!(!stopped(), "stopped");
            let ended = server.child.try_wait()?;
            if ended.is_some() || Instant::now() > deadline {
                let text = fs::read_to_string(&said).unwrap_or_default();
                let lines: Vec<&str> = text.lines().collect();
                let end = lines[lines.len().saturating_sub(8)..].join("\n    ");
                bail!("{}: HotROD does not answer:\n    {end}", mode.name());
            }
            std::thread::sleep(Duration::from_millis(50));
        }
        Ok(server)
    }

    /// Processor time so far.
    pub fn accounts(&self) -> Accounts {
        accounts::read(self.child.id(), "hotrod")
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // It may have ended already; there is nobody to tell then.
        let _ = kill_process(Pid::from_child(&self.child), Signal::TERM);
        let deadline = Instant::now() + END;
        while let Ok(None) = self.child.try_wait() {
            if Instant::now() > deadline {
                let _ = self.child.kill();
                let _ = self.child.wait();
                return;
            }
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}

/// Ports that nobody listened on a moment ago.
fn free_ports() -> anyhow::Result<[u16; 4]> {
    // Held together, so that they differ.
    let listeners = [(); 4].map(|()| TcpListener::bind("127.0.0.1:0"));
    let mut ports = [0; 4];
    for (port, listener) in ports.iter_mut().zip(listeners) {
        *port = listener.context("no free port")?.local_addr()?.port();
    }
    Ok(ports)
}
