//! An LTTng session of our own, driven through the `lttng` command.
//!
//! Every command names the session, because for root the daemon belongs to the whole machine. The
//! session writes below the recording's folder: `kernel/` and `ust/` (CTF).

use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::{Command, Stdio};
use std::{fs, io};

use slowpath_model::ProcessId;
use slowpath_platform::process::helper;
use slowpath_platform::signals::SignalPipe;

use crate::claims;
use crate::event_names;
use crate::host;
use crate::leftovers;
use crate::manifest::Mode;
use crate::session_daemon;

const CHANNEL: &str = "slowpath";
/// LTTng's own channel of what is needed to read a trace.
const METADATA: &str = "metadata";
/// How often that is written, in microseconds. Without, LTTng writes it when the session is stopped: a full disk may
/// leave no room for it then.
const METADATA_TIMER: &str = "200000";
const SUB_BUFFERS: u64 = 8;
/// Of applications' events, in bytes, if there is room for them.
const MOST_SUB_BUFFER: u64 = 1 << 20;
const LEAST_SUB_BUFFER: u64 = 64 << 10;

/// A session.
#[derive(Debug)]
pub(crate) struct Session {
    name: String,
    mode: Mode,
}

/// Whether the LTTng tools are installed.
pub(crate) fn is_installed() -> bool {
    lttng(&["--version"]).is_ok()
}

/// Whether LTTng's kernel modules are loaded or can be.
pub(crate) fn has_kernel_modules() -> bool {
    let loaded = fs::read_to_string("/proc/modules").unwrap_or_default();
    if loaded.lines().any(|line| line.starts_with("lttng_tracer ")) {
        return true;
    }
    let mut probe = Command::new("modprobe");
    probe.args(["--dry-run", "--quiet", "lttng-tracer"]);
    probe
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    probe.status().is_ok_and(|status| status.success())
}

impl Session {
    /// Makes the session of the recorder `name`, after destroying those that dead recorders left.
    ///
    /// # Errors
    /// What LTTng answered.
    pub(crate) fn create(
        name: &str,
        folder: &Path,
        mode: Mode,
        with_kernel: bool,
        signals: &SignalPipe,
        talk: &mut dyn FnMut(&str),
    ) -> Result<Self, String> {
        // Held until there is a session: a daemon without one may be ended.
        let daemon = session_daemon::ensure_running(with_kernel)?;
        let claims = claims::run_folder();
        for orphan in session_names()?
            .iter()
            .filter(|session| leftovers::is_orphan(session, &claims))
        {
            talk(&format!(
                "destroying the LTTng session {orphan} of a recorder that was killed"
            ));
            lttng(&["destroy", orphan])?;
        }
        let session = Self::of(name, mode);
        let output = format!("--output={}", folder.display());
        let mut create = vec!["create", &session.name, &output];
        if mode == Mode::Snapshot {
            create.push("--snapshot");
        }
        create_session(&create, folder)?;
        let is_new = daemon.is_new;
        drop(daemon);
        if is_new {
            session_daemon::await_applications(signals, talk);
        }
        Ok(session)
    }

    /// The session that the recorder `name` has or may have, for the one who puts it away.
    pub(crate) fn of(name: &str, mode: Mode) -> Self {
        Self {
            name: name.to_owned(),
            mode,
        }
    }

    /// Enables applications' events by name or glob, where a filter says so only some of them; with process, thread
    /// and program name.
    pub(crate) fn enable_user_space<'a>(
        &self,
        events: impl Iterator<Item = (&'a str, Option<&'a str>)>,
        sub_buffer: u64,
    ) -> Result<(), String> {
        if self.mode == Mode::Standard {
            let timer = ["--userspace", "--switch-timer", METADATA_TIMER, METADATA];
            self.lttng_for("enable-channel", &timer)?;
        }
        self.channel("--userspace", sub_buffer)?;
        for (event, filter) in events {
            let mut arguments = vec!["--userspace", "--channel", CHANNEL, event];
            arguments.extend(filter.iter().flat_map(|filter| ["--filter", *filter]));
            match self.lttng_for("enable-event", &arguments) {
                // For LTTng, `a**` is `a*`.
                Err(cause) if !cause.contains("already enabled") => return Err(cause),
                _ => {}
            }
        }
        let contexts = ["--type", "vpid", "--type", "vtid", "--type", "procname"];
        let arguments = [&["--userspace", "--channel", CHANNEL][..], &contexts].concat();
        self.lttng_for("add-context", &arguments).map(drop)
    }

    /// Enables kernel events, given by ftrace's names; returns those that LTTng has.
    pub(crate) fn enable_kernel(
        &self,
        wanted: &[String],
        buffer_bytes_per_cpu: u64,
    ) -> Result<Vec<String>, String> {
        self.channel("--kernel", sub_buffer_of_kernel(buffer_bytes_per_cpu))?;
        let on_channel = ["--kernel", "--channel", CHANNEL];
        let mut enabled = Vec::new();
        if wanted
            .iter()
            .any(|event| event.starts_with("raw_syscalls:"))
        {
            let arguments = [&on_channel[..], &["--syscall", "--all"]].concat();
            self.lttng_for("enable-event", &arguments)?;
        }
        for event in wanted {
            let is_call = event.starts_with("raw_syscalls:");
            let name = lttng_event(event);
            let arguments = [&on_channel[..], &[&name]].concat();
            if is_call || self.lttng_for("enable-event", &arguments).is_ok() {
                enabled.push(event.clone());
            }
        }
        match enabled.is_empty() {
            true => Err("it has none of the wanted kernel events".to_owned()),
            false => Ok(enabled),
        }
    }

    /// Starts recording.
    pub(crate) fn start(&self) -> Result<(), String> {
        lttng(&["start", &self.name]).map(drop)
    }

    /// Stops recording and waits until everything is written.
    pub(crate) fn stop(&self) -> Result<(), String> {
        lttng(&["stop", &self.name]).map(drop)
    }

    /// Writes what the session holds in memory into `folder`.
    pub(crate) fn write_snapshot(&self, folder: &Path) -> Result<(), String> {
        let target = format!("file://{}", folder.join("ust").display());
        self.lttng_for("snapshot", &["record", &target]).map(drop)
    }

    /// Events and packets that LTTng discarded so far.
    pub(crate) fn lost_events(&self) -> u64 {
        let description = lttng(&["--mi", "xml", "list", &self.name]).unwrap_or_default();
        let lost = |tag| elements(&description, tag).filter_map(|text| text.parse::<u64>().ok());
        match self.mode {
            Mode::Standard => lost("discarded_events").chain(lost("lost_packets")).sum(),
            // What a flight recorder overwrites is not lost.
            Mode::Snapshot => lost("discarded_events").sum(),
        }
    }

    /// Destroys the session, and the daemon if recordings started it and none is left.
    pub(crate) fn destroy(&self) {
        // It may not exist: this is also called for a recorder that was killed before it made one.
        let _ = lttng(&["destroy", &self.name]);
        session_daemon::stop_if_unused();
    }

    fn channel(&self, domain: &str, sub_buffer: u64) -> Result<(), String> {
        let (count, size) = (SUB_BUFFERS.to_string(), sub_buffer.to_string());
        let mut arguments = vec![domain, "--num-subbuf", &count, "--subbuf-size", &size];
        if self.mode == Mode::Snapshot {
            arguments.push("--overwrite");
        }
        arguments.push(CHANNEL);
        self.lttng_for("enable-channel", &arguments).map(drop)
    }

    /// Runs `lttng VERB --session=OURS ARGUMENTS`.
    fn lttng_for(&self, verb: &str, arguments: &[&str]) -> Result<String, String> {
        let session = format!("--session={}", self.name);
        // `snapshot` has a verb of its own, behind which the session goes.
        let arguments = match (verb, arguments.split_first()) {
            ("snapshot", Some((action, rest))) => [&[verb, *action, &session][..], rest].concat(),
            _ => [&[verb, &session][..], arguments].concat(),
        };
        lttng(&arguments)
    }
}

/// The size of the sub-buffers of a buffer that holds at most `buffer` bytes, unless that is too little for them.
fn sub_buffer(buffer: u64, least: u64) -> u64 {
    let wanted = (buffer / SUB_BUFFERS).max(least);
    // LTTng wants powers of two.
    1 << wanted.ilog2()
}

/// The size of the sub-buffers of kernel events, where the buffer of a processor holds `buffer` bytes.
pub(crate) fn sub_buffer_of_kernel(buffer: u64) -> u64 {
    sub_buffer(buffer, 4096)
}

/// The size of the sub-buffers of applications' events, where the buffer of a processor may hold `share` bytes.
pub(crate) fn sub_buffer_of_user_space(share: u64) -> u64 {
    sub_buffer(share, LEAST_SUB_BUFFER).min(MOST_SUB_BUFFER)
}

/// What the buffers of all processors hold that have sub-buffers of so many bytes: there is one for each processor
/// that there may be.
pub(crate) fn bytes_of_buffers(sub_buffer: u64) -> u64 {
    host::possible_cpus() * SUB_BUFFERS * sub_buffer
}

/// The sessions of this user's daemon.
pub(crate) fn session_names() -> Result<Vec<String>, String> {
    let list = lttng(&["--mi", "xml", "list"])?;
    let sessions = list.split("<session>").skip(1);
    Ok(sessions
        .filter_map(|session| elements(session, "name").next())
        .map(str::to_owned)
        .collect())
}

/// The processes that have told the daemon of their events.
pub(crate) fn registered_processes() -> Result<Vec<ProcessId>, String> {
    processes_with_events("")
}

/// Those of them that have events whose names begin with `provider`.
pub(crate) fn processes_with_events(provider: &str) -> Result<Vec<ProcessId>, String> {
    let list = lttng(&["--mi", "xml", "list", "--userspace"])?;
    let processes = list.split("<pid>").skip(1);
    let has_some = |process: &&str| {
        let names = process.split_once("<events>").map_or("", |(_, rest)| rest);
        provider.is_empty() || elements(names, "name").any(|name| name.starts_with(provider))
    };
    let numbers = (processes.filter(has_some))
        .filter_map(|process| elements(process, "id").next()?.parse().ok());
    Ok(numbers.map(ProcessId).collect())
}

/// Runs `lttng create` with a home of its own, made in `folder` meanwhile. In the user's the command notes the session which
/// it made last, as the one that is meant where none is named; that one is to stay the user's.
fn create_session(arguments: &[&str], folder: &Path) -> Result<(), String> {
    let failed = |cause: io::Error| format!("a folder for the lttng command: {cause}");
    let name = ".lttng-home";
    let home = folder.join(name);
    fs::create_dir(&home).map_err(failed)?;
    // There the daemon listens, unless it is root's.
    let listens = session_daemon::home().map(|home| home.join(".lttng"));
    let linked = listens.map_or(Ok(()), |there| symlink(there, home.join(".lttng")));
    // Named from the folder on: the path of a socket has 107 bytes at most.
    let mut create = command(arguments);
    create.env("LTTNG_HOME", name).current_dir(folder);
    let made = linked
        .map_err(failed)
        .and_then(|()| answer(&mut create, arguments));
    let _ = fs::remove_dir_all(&home);
    made.map(drop)
}

/// Runs the `lttng` command, which must not start a daemon by itself; returns what it printed.
pub(crate) fn lttng(arguments: &[&str]) -> Result<String, String> {
    answer(&mut command(arguments), arguments)
}

fn command(arguments: &[&str]) -> Command {
    let mut command = helper("lttng");
    command.arg("--no-sessiond").args(arguments);
    command
}

fn answer(command: &mut Command, arguments: &[&str]) -> Result<String, String> {
    let output = command
        .output()
        .map_err(|cause| format!("the lttng command: {cause}"))?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    let said = String::from_utf8_lossy(&output.stderr);
    let reason = said
        .lines()
        .find(|line| !line.trim().is_empty())
        .unwrap_or("no reason given");
    Err(format!(
        "`lttng {}`: {}",
        arguments.join(" "),
        reason.trim_start_matches("Error: ")
    ))
}

/// The texts of the elements `tag` in a machine-interface document, which has no attributes there.
fn elements<'a>(document: &'a str, tag: &str) -> impl Iterator<Item = &'a str> {
    let (open, close) = (format!("<{tag}>"), format!("</{tag}>"));
    let mut rest = document;
    std::iter::from_fn(move || {
        let (_, after) = rest.split_once(open.as_str())?;
        let (text, remaining) = after.split_once(close.as_str())?;
        rest = remaining;
        Some(text)
    })
}

/// LTTng's name of an event that ftrace calls `system:event`.
fn lttng_event(event: &str) -> String {
    let (system, name) = event.split_once(':').unwrap_or(("", event));
    match (system, name) {
        ("irq", softirq) if softirq.starts_with("softirq") => format!("irq_{softirq}"),
        ("timer", timer) if timer.contains("timer") => format!("timer_{timer}"),
        ("irq_vectors", vector) => format!("x86_irq_vectors_{vector}"),
        ("power", "cpu_idle") => "power_cpu_idle".to_owned(),
        ("net", "netif_rx") => "net_if_rx".to_owned(),
        ("net", "netif_receive_skb") => "net_if_receive_skb".to_owned(),
        // A whole system: LTTng has none, but its names mostly begin with the system's.
        (system, "*") => format!("{system}_*"),
        _ => name.to_owned(),
    }
}

/// Kernel events asked of LTTng without ftrace to list what there is: presets opened, the rest taken
/// as written, without globs of systems.
pub(crate) fn wanted_kernel_events(wanted: &[String]) -> Vec<String> {
    let default = ["default".to_owned()];
    let wanted = if wanted.is_empty() {
        &default[..]
    } else {
        wanted
    };
    let mut events: Vec<String> = wanted
        .iter()
        .flat_map(|one| match event_names::preset(one) {
            Some(events) => events.into_iter().map(str::to_owned).collect(),
            None => vec![one.clone()],
        })
        .collect();
    let mut seen = std::collections::BTreeSet::new();
    events.retain(|event| seen.insert(event.clone()));
    events
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_found_in_what_lttng_prints() {
        let text = "<a><discarded_events>3</discarded_events></a><b><discarded_events>4\
                    </discarded_events><lost_packets>1</lost_packets></b>";
        assert_eq!(
            elements(text, "discarded_events").collect::<Vec<_>>(),
            ["3", "4"]
        );
        assert_eq!(elements(text, "absent").count(), 0);
    }

    #[test]
    fn the_kernels_event_names_become_lttngs() {
        for (ftrace, expected) in [
            ("sched:sched_switch", "sched_switch"),
            ("irq:softirq_entry", "irq_softirq_entry"),
            ("irq:irq_handler_entry", "irq_handler_entry"),
            ("timer:hrtimer_expire_entry", "timer_hrtimer_expire_entry"),
            ("irq_vectors:local_timer_*", "x86_irq_vectors_local_timer_*"),
            ("net:netif_rx", "net_if_rx"),
            ("net:net_dev_queue", "net_dev_queue"),
            ("block:*", "block_*"),
        ] {
            assert_eq!(lttng_event(ftrace), expected);
        }
    }
}
