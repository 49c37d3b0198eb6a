//! `slowpath count`, `cpu`, `io` and `latency`: run one analysis per host, print its report.
//!
//! The JSON is the report as the analysis gives it; with several hosts each row says whose it is.

use clap::{Args, ValueEnum};
use serde::Serialize;
use serde_json::Value;
use slowpath_engine::{Cancelled, Options, Outcome};
use slowpath_kernel::{Extent, count, cpu, io, latency};
use slowpath_model::{TimeRange, Timestamp, shown};
use slowpath_session::{Experiment, HostKernels};
use slowpath_source::{Joined, Source};
use slowpath_views::merge_documents;

use crate::input::{InputArgs, Report, how_many};
use crate::output::print_json;
use crate::tables;

/// Count events.
#[derive(Args)]
pub struct CountArgs {
    #[command(flatten)]
    input: InputArgs,
    /// What to count by.
    #[arg(long, value_enum, default_value_t = By::Event)]
    by: By,
    /// Print one JSON document.
    #[arg(long)]
    json: bool,
}

/// What events are counted by.
#[derive(Clone, Copy, ValueEnum)]
enum By {
    /// Their name.
    Event,
    /// Their stream.
    Stream,
    /// Their processor.
    Cpu,
    /// Nothing: the total only.
    None,
}

/// How busy each processor was, and with which threads.
#[derive(Args)]
pub struct CpuArgs {
    #[command(flatten)]
    report: ReportArgs,
}

/// What processes read and wrote, and which files.
///
/// Files are named through descriptors. A recording by ftrace has no names in its events of system
/// calls: it names what was open when somebody looked, about five times a second, and few files that
/// were open for a shorter time.
#[derive(Args)]
pub struct IoArgs {
    #[command(flatten)]
    report: ReportArgs,
}

/// How long system calls, interrupts, disk requests and wake-ups took.
#[derive(Args)]
pub struct LatencyArgs {
    #[command(flatten)]
    report: ReportArgs,
    /// Of what.
    #[arg(long, value_enum, default_value_t = Kind::Syscall)]
    kind: Kind,
}

/// What latencies there are.
#[derive(Clone, Copy, ValueEnum)]
enum Kind {
    /// System calls, by name.
    Syscall,
    /// Device interrupts, by line.
    Irq,
    /// Softirqs, by vector.
    Softirq,
    /// Disk requests, by device.
    Block,
    /// From wake-up to running, by thread.
    Wakeup,
}

#[derive(Args)]
struct ReportArgs {
    #[command(flatten)]
    input: InputArgs,
    /// Rows in each printed table; 0 prints all. JSON always has all.
    #[arg(long, value_name = "N", default_value_t = 20, value_parser = how_many)]
    top: usize,
    /// Print one JSON document.
    #[arg(long)]
    json: bool,
}

/// Runs `slowpath count`.
pub fn run_count(args: &CountArgs) -> anyhow::Result<Report> {
    let experiment = args.input.open()?;
    let by = match args.by {
        By::Event => count::CountBy::Event,
        By::Stream => count::CountBy::Stream,
        By::Cpu => count::CountBy::Cpu,
        By::None => count::CountBy::None,
    };
    let run = args.input.options();
    let options = run.engine_in(args.input.range(&experiment)?);
    let joined;
    let source: &dyn Source = match &experiment.traces[..] {
        [only] => &*only.source,
        several => {
            joined = Joined::new(several.iter().map(|trace| &*trace.source));
            &joined
        }
    };
    let outcome = count::count(source, by, &options).map_err(|Cancelled| interrupted())?;
    let report = Report::begin(&experiment).with(outcome.diagnostics);
    let counted = outcome.state.unwrap_or_default();
    if args.json {
        print_json(&counted)?;
    } else {
        tables::count(&counted)?;
    }
    Ok(report)
}

/// Runs `slowpath cpu`.
pub fn run_cpu(args: &CpuArgs) -> anyhow::Result<Report> {
    let analysis = |host: &HostKernels<'_>, options: &Options<'_>| cpu::cpu(host.source(), options);
    run_on_hosts(&args.report, analysis, tables::cpu, |cpu| {
        let window = cpu.end_ns.abs_diff(cpu.begin_ns);
        let is_unknown = |row: &cpu::CpuRow| row.unknown_ns.get() == window;
        let nobody_ran = cpu.threads.is_empty() && cpu.cpus.iter().all(is_unknown);
        nobody_ran.then_some(SWITCHES)
    })
}

/// Runs `slowpath io`.
pub fn run_io(args: &IoArgs) -> anyhow::Result<Report> {
    let analysis = |host: &HostKernels<'_>, options: &Options<'_>| {
        io::io(host.source(), &host.known(), options)
    };
    run_on_hosts(&args.report, analysis, tables::io, |io| {
        let is_empty = io.processes.is_empty();
        is_empty.then_some("system call that moves bytes")
    })
}

/// Runs `slowpath latency`.
pub fn run_latency(args: &LatencyArgs) -> anyhow::Result<Report> {
    let (kind, what) = match args.kind {
        Kind::Syscall => (latency::LatencyKind::Syscall, "system call"),
        Kind::Irq => (latency::LatencyKind::Irq, "interrupt of a device"),
        Kind::Softirq => (latency::LatencyKind::Softirq, "softirq"),
        Kind::Block => (latency::LatencyKind::Block, "disk request"),
        Kind::Wakeup => (
            latency::LatencyKind::Wakeup,
            "wake-up, or no switch to who was woken,",
        ),
    };
    let analysis = |host: &HostKernels<'_>, options: &Options<'_>| host.latency(kind, options);
    run_on_hosts(&args.report, analysis, tables::latency, |latency| {
        latency.entries.is_empty().then_some(what)
    })
}

fn interrupted() -> anyhow::Error {
    anyhow::anyhow!("interrupted")
}

/// Runs an analysis of kernel events on every host and prints what it gives; `lacks` names what it found none of, so
/// that an empty table is not taken for a quiet machine.
fn run_on_hosts<R: Serialize>(
    args: &ReportArgs,
    analysis: impl Fn(&HostKernels<'_>, &Options<'_>) -> Result<Outcome<R>, Cancelled>,
    print: impl Fn(&R, usize) -> anyhow::Result<()>,
    lacks: impl Fn(&R) -> Option<&'static str>,
) -> anyhow::Result<Report> {
    let experiment = args.input.open()?;
    let mut report = Report::begin(&experiment);
    let hosts = kernel_hosts(&experiment, &report)?;
    let run = args.input.options();
    let range = args.input.range(&experiment)?;
    let options = run.engine_in(range);
    let is_silent = silent_hosts(&hosts, range)?;
    let mut documents = Vec::new();
    for (host, is_silent) in hosts.iter().zip(is_silent) {
        if is_silent && !args.json {
            let name = &host.name;
            crate::output::print(&format!("host {name}\nnothing was recorded of it then\n\n"))?;
            continue;
        }
        let outcome = analysis(host, &options).map_err(|Cancelled| interrupted())?;
        report = report.with(outcome.diagnostics);
        let Some(result) = outcome.state else {
            continue;
        };
        if let (Some(what), false) = (lacks(&result), is_silent) {
            note_lack(host, what);
        }
        if args.json {
            let mut document = serde_json::to_value(&result)?;
            if let (true, Some(document)) = (is_silent, document.as_object_mut()) {
                // Its window is empty, and somewhere else; its processors would seem to idle.
                document.remove("begin_ns");
                document.remove("end_ns");
                let rows = document.values_mut().filter_map(Value::as_array_mut);
                rows.for_each(Vec::clear);
            }
            documents.push((host.name.as_str(), document));
            continue;
        }
        if hosts.len() > 1 {
            crate::output::print(&format!("host {}\n", host.name))?;
        }
        print(&result, args.top)?;
    }
    if args.json {
        print_json(&merge_documents(documents))?;
    }
    Ok(report)
}

/// What tells who runs.
pub(crate) const SWITCHES: &str = "switch of threads";

/// Says that events of a kind are missing, without which an answer is empty or unknown.
pub(crate) fn note_lack(host: &HostKernels<'_>, what: &str) {
    let name = shown(&host.name);
    eprintln!(
        "note: host {name}: no {what} was recorded then\n  hint: `slowpath count` lists \
         the events that were; others are chosen by `slowpath record --events`"
    );
}

/// Which of the hosts have no kernel event in `range`'s time.
///
/// # Errors
/// Where none has any.
pub(crate) fn silent_hosts(
    hosts: &[HostKernels<'_>],
    range: TimeRange,
) -> anyhow::Result<Vec<bool>> {
    if range == TimeRange::ALL {
        return Ok(vec![false; hosts.len()]);
    }
    let bounds = hosts.iter().map(|host| Extent::of(host.source()).bounds);
    let bounds: Vec<_> = bounds.collect();
    let is_outside =
        |(first, last): (Timestamp, Timestamp)| range.end <= first || last < range.begin;
    let is_silent: Vec<bool> = (bounds.iter())
        .map(|bounds| bounds.is_some_and(is_outside))
        .collect();
    if is_silent.contains(&false) {
        return Ok(is_silent);
    }
    let covered = bounds.into_iter().flatten().map(|(first, last)| {
        let length = last.since(first);
        format!("{length} from {} to {}", first.ns(), last.ns())
    });
    anyhow::bail!(
        "no kernel events were recorded then\n  hint: those that were cover {} (nanoseconds since the epoch)",
        covered.collect::<Vec<_>>().join(", ")
    )
}

/// The hosts with kernel traces.
///
/// # Errors
/// Where there is none.
pub(crate) fn kernel_hosts<'run>(
    experiment: &'run Experiment,
    report: &Report,
) -> anyhow::Result<Vec<HostKernels<'run>>> {
    let hosts = experiment.hosts();
    if hosts.is_empty() {
        let why = "no kernel events were recorded\n  hint: record with --kernel ftrace or lttng; `slowpath count` \
                   lists what there is";
        return Err(report.nothing(why.to_owned()));
    }
    Ok(hosts)
}
