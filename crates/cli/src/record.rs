//! `slowpath record` and `slowpath snapshot`: write down what happens, all of it or the last of it.
//!
//! Only words in and words out; the recording itself is slowpath-record's.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::bail;
use clap::{Args, ValueEnum};
use slowpath_model::ProcessId;
use slowpath_record::{
    CommandEnd, KernelChoice, Manifest, Mode, Outcome, RecordError, RecordOptions, Tracer,
    UserSpaceChoice, record, request_snapshot,
};

/// Record what the kernel and applications do, while a command runs or until Ctrl-C.
///
/// The exit status is the command's (128 + signal where one killed it); 2 or 3 where the recording
/// itself failed.
#[derive(Args, Clone, Debug)]
pub struct RecordArgs {
    /// The folder to write; it must not exist or be empty.
    #[arg(short, long, value_name = "DIR")]
    output: PathBuf,
    /// Replace the recording that lies in DIR.
    #[arg(long)]
    overwrite: bool,
    /// Keep only the last events, in memory; write them on `slowpath snapshot DIR` and at the end.
    #[arg(long)]
    snapshot: bool,
    /// End after this many seconds; the command is then asked to end too (SIGTERM).
    #[arg(long, value_name = "SECONDS", value_parser = duration)]
    duration: Option<Duration>,
    /// Who delivers kernel events; auto: LTTng where its modules are there, else ftrace.
    #[arg(long, value_enum, default_value_t = Kernel::Auto)]
    kernel: Kernel,
    /// Kernel events: presets (default, sched, syscalls, irq, timer, io, net), names and globs such
    /// as block:*.
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    events: Vec<String>,
    /// Applications' LTTng events by name or glob [default: slowpath_span:* where LTTng is
    /// installed]; `none` for none.
    #[arg(long, value_name = "GLOB", value_delimiter = ',')]
    ust: Vec<String>,
    /// Kernel buffer for each processor, for instance 64M [default: 16M, with --snapshot 64M, less
    /// where memory is short].
    #[arg(long, value_name = "SIZE", value_parser = size)]
    buffer_size: Option<u64>,
    /// Note the CPU times by /proc of this process too (those of the command always are).
    #[arg(long, value_name = "PID")]
    account: Vec<i32>,
    /// The command to run and record.
    #[arg(last = true, value_name = "COMMAND")]
    command: Vec<OsString>,
}

/// Ask a running `slowpath record --snapshot` to write what it holds.
#[derive(Args, Clone, Debug)]
pub struct SnapshotArgs {
    /// The folder that it was given with -o.
    #[arg(value_name = "DIR")]
    folder: PathBuf,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Kernel {
    Auto,
    Lttng,
    Ftrace,
    None,
}

/// Runs `slowpath record`; returns the exit status.
///
/// # Errors
/// None: a failed recording is reported here and becomes an exit status.
pub fn run_record(args: RecordArgs) -> anyhow::Result<u8> {
    let talk = &mut |line: &str| eprintln!("slowpath: {line}");
    Ok(match record(&args.into_options(), talk) {
        Ok(outcome) => {
            eprint!("{}", summary(&outcome));
            exit_status(outcome.command_end)
        }
        Err(error) => report(&error),
    })
}

/// Runs `slowpath snapshot`, which prints the folder of the snapshot; returns the exit status.
///
/// # Errors
/// None: a refused snapshot is reported here and becomes an exit status.
pub fn run_snapshot(args: SnapshotArgs) -> anyhow::Result<u8> {
    Ok(match request_snapshot(&args.folder) {
        Ok(folder) => {
            crate::output::print(&format!("{}\n", folder.display()))?;
            0
        }
        Err(error) => report(&error),
    })
}

impl RecordArgs {
    fn into_options(self) -> RecordOptions {
        let user_space = match &self.ust[..] {
            [] => UserSpaceChoice::SpansIfPossible,
            [none] if none == "none" => UserSpaceChoice::Nothing,
            _ => UserSpaceChoice::Events(self.ust),
        };
        RecordOptions {
            output: self.output,
            replace: self.overwrite,
            mode: if self.snapshot {
                Mode::Snapshot
            } else {
                Mode::Standard
            },
            duration: self.duration,
            kernel: match self.kernel {
                Kernel::Auto => KernelChoice::Auto,
                Kernel::Lttng => KernelChoice::Lttng,
                Kernel::Ftrace => KernelChoice::Ftrace,
                Kernel::None => KernelChoice::None,
            },
            events: self.events,
            user_space,
            buffer_bytes_per_cpu: self.buffer_size,
            accounts: self.account.into_iter().map(ProcessId).collect(),
            command: self.command,
        }
    }
}

fn report(error: &RecordError) -> u8 {
    eprintln!("error: {error}");
    if let Some(hint) = error.hint() {
        eprintln!("hint: {hint}");
    }
    error.exit_status()
}

fn exit_status(end: CommandEnd) -> u8 {
    match end {
        CommandEnd::NoCommand | CommandEnd::ByDuration => 0,
        CommandEnd::ByItself(status) => u8::try_from(status).unwrap_or(u8::MAX),
    }
}

/// What was recorded, what was lost, what it cost, and what to type next.
fn summary(outcome: &Outcome) -> String {
    let Manifest {
        kernel,
        ust,
        cost,
        begin_ns,
        end_ns,
        snapshots,
        ..
    } = &outcome.manifest;
    let folder = shown(&outcome.folder);
    let seconds = end_ns.since(*begin_ns).get() as f64 / 1e9;
    let tracer = match kernel.tracer {
        Tracer::Ftrace => "ftrace",
        Tracer::Lttng => "LTTng",
        Tracer::None => "no kernel events",
    };
    let mut text = format!(
        "slowpath: recorded {seconds:.1} s to {folder}: {} of events ({tracer}{}), {} ms CPU of its own\n",
        in_words(cost.bytes_written),
        if ust.is_some() { " and LTTng-UST" } else { "" },
        cost.recorder_cpu_ns / 1_000_000,
    );
    for snapshot in snapshots {
        text += &format!("slowpath: earlier snapshot: {folder}/{snapshot}\n");
    }
    let lost: u64 = kernel.lost_events.values().sum();
    if lost > 0 {
        let cpus: Vec<String> = kernel.lost_events.keys().map(ToString::to_string).collect();
        text += &format!(
            "warning: {lost} kernel events were lost on CPU {}\n\
             hint: give each processor more than {} with --buffer-size, or ask for less with --events\n",
            cpus.join(", "),
            in_words(kernel.buffer_bytes_per_cpu),
        );
    }
    if let Some(lost) = ust
        .as_ref()
        .map(|part| part.lost_events)
        .filter(|lost| *lost > 0)
    {
        text += &format!(
            "warning: LTTng discarded {lost} events of applications\n\
             hint: ask for fewer with --ust\n"
        );
    }
    let next = match (kernel.tracer, cost.bytes_written) {
        (_, 0) => return text + "nothing happened that was to be recorded\n",
        (Tracer::None, _) => "events",
        _ => "cpu",
    };
    text + &format!("next: slowpath {next} {folder}\n")
}

/// A path as one would type it here.
fn shown(folder: &std::path::Path) -> String {
    let here = std::env::current_dir().unwrap_or_default();
    folder
        .strip_prefix(&here)
        .unwrap_or(folder)
        .display()
        .to_string()
}

fn in_words(bytes: u64) -> String {
    match bytes {
        0..=9_999 => format!("{bytes} B"),
        10_000..=9_999_999 => format!("{:.1} KiB", bytes as f64 / 1024.0),
        _ => format!("{:.1} MiB", bytes as f64 / f64::from(1 << 20)),
    }
}

fn duration(text: &str) -> anyhow::Result<Duration> {
    match Duration::try_from_secs_f64(text.parse()?) {
        Ok(duration) if duration > Duration::ZERO => Ok(duration),
        _ => bail!("seconds above 0 are wanted, for instance 2.5"),
    }
}

/// Bytes, with K, M or G behind for powers of 1024.
fn size(text: &str) -> anyhow::Result<u64> {
    let (number, unit) = match text.find(|one: char| !one.is_ascii_digit()) {
        Some(at) => text.split_at(at),
        None => (text, ""),
    };
    let factor = match unit.to_ascii_uppercase().as_str() {
        "" => 1,
        "K" | "KIB" => 1 << 10,
        "M" | "MIB" => 1 << 20,
        "G" | "GIB" => 1 << 30,
        _ => bail!("{unit:?} is no unit; K, M and G are"),
    };
    match number.parse::<u64>()?.checked_mul(factor) {
        Some(bytes) if bytes > 0 => Ok(bytes),
        _ => bail!("a size above 0 is wanted, for instance 64M"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_and_durations_are_read_as_people_write_them() {
        for (text, expected) in [
            ("4096", 4096),
            ("64M", 64 << 20),
            ("1g", 1 << 30),
            ("8KiB", 8192),
        ] {
            assert_eq!(size(text).ok(), Some(expected), "{text}");
        }
        for text in ["", "0", "12Q", "M", "99999999999G"] {
            assert!(size(text).is_err(), "{text}");
        }
        assert_eq!(duration("2.5").ok(), Some(Duration::from_millis(2500)));
        for text in ["0", "-1", "soon", "inf", "nan"] {
            assert!(duration(text).is_err(), "{text}");
        }
    }
}
