//! `slowpath thread-states`: how long threads ran, were runnable, blocked or unknown in windows.
//!
//! A line per thread and window; with `--json` a JSON object each. Definitions:
//! docs/reference/definitions.md.

use std::io::{self, BufRead, BufReader, Write};
use std::path::{Path, PathBuf};

use anyhow::Context;
use clap::Args;
use serde::{Deserialize, Serialize};
use slowpath_kernel::timelines::Timelines;
use slowpath_model::{ThreadId, TimeRange, Timestamp};
use slowpath_session::OpenedSource;

use crate::input::{InputArgs, Report, Run};

/// Print how long threads ran, were runnable, blocked or unknown.
#[derive(Args)]
pub struct ThreadStatesArgs {
    #[command(flatten)]
    input: InputArgs,
    /// Threads and windows, one JSON object per line: {"tid":N,"begin_ns":T,"end_ns":T}; `-` is
    /// standard input. Without it: every thread over --begin and --end.
    #[arg(long, value_name = "FILE")]
    requests: Option<PathBuf>,
    /// One JSON object per line.
    #[arg(long)]
    json: bool,
}

/// A thread and a window, as a line of a request file.
#[derive(Clone, Copy, Debug, Deserialize)]
pub(crate) struct Request {
    pub(crate) tid: ThreadId,
    pub(crate) begin_ns: Timestamp,
    pub(crate) end_ns: Timestamp,
}

#[derive(Serialize)]
struct Answer {
    tid: ThreadId,
    begin_ns: Timestamp,
    end_ns: Timestamp,
    running_ns: u64,
    /// Part of `running_ns`.
    interrupted_ns: u64,
    runnable_ns: u64,
    blocked_ns: u64,
    unknown_ns: u64,
}

/// Runs the command.
pub fn run(args: &ThreadStatesArgs) -> anyhow::Result<Report> {
    let experiment = args.input.open()?;
    let mut report = Report::begin(&experiment);
    let range = args.input.range(&experiment)?;
    let run = args.input.options();
    let requests = args.requests.as_deref().map(read_requests).transpose()?;
    let mut output = io::BufWriter::new(io::stdout().lock());
    if !args.json {
        let heads = ["running", "(interrupted)", "runnable", "blocked", "unknown"];
        write!(output, "{:>8} {:<15}", "tid", "name")?;
        heads
            .iter()
            .try_for_each(|head| write!(output, " {head:>12}"))?;
        writeln!(output)?;
    }
    for kernel in experiment.kernels() {
        let (lines, found) = timelines(kernel, &run, range)?;
        report = report.with(found);
        let everything = range.intersect(lines.range());
        let every_thread = || {
            let threads = lines.threads().iter();
            threads.map(|&tid| Request::new(tid, everything)).collect()
        };
        for request in requests.clone().unwrap_or_else(every_thread) {
            let window = TimeRange::new(request.begin_ns, request.end_ns);
            let states = lines.states(request.tid, window);
            let answer = Answer {
                tid: request.tid,
                begin_ns: window.begin,
                end_ns: window.end,
                running_ns: states.running.get(),
                interrupted_ns: states.interrupted.get(),
                runnable_ns: states.runnable.get(),
                blocked_ns: states.blocked.get(),
                unknown_ns: states.unknown.get(),
            };
            if args.json {
                writeln!(output, "{}", serde_json::to_string(&answer)?)?;
            } else {
                let name = lines.name(request.tid, window.end);
                let lengths = [
                    states.running,
                    states.interrupted,
                    states.runnable,
                    states.blocked,
                    states.unknown,
                ];
                write!(output, "{:>8} {name:<15}", request.tid)?;
                for length in lengths {
                    write!(output, " {:>12}", length.to_string())?;
                }
                writeln!(output)?;
            }
        }
    }
    output.flush()?;
    Ok(report)
}

impl Request {
    pub(crate) fn new(tid: ThreadId, window: TimeRange) -> Self {
        Self {
            tid,
            begin_ns: window.begin,
            end_ns: window.end,
        }
    }
}

/// Reads a file of requests, or standard input where it is `-`.
pub(crate) fn read_requests(path: &Path) -> anyhow::Result<Vec<Request>> {
    let name = || path.display();
    let reader: Box<dyn BufRead> = if path == Path::new("-") {
        Box::new(io::stdin().lock())
    } else {
        let file = std::fs::File::open(path)
            .with_context(|| format!("the requests in {} cannot be read", name()))?;
        Box::new(BufReader::new(file))
    };
    let mut requests = Vec::new();
    for (number, line) in (1..).zip(reader.lines()) {
        let line = line.with_context(|| format!("{}: line {number} cannot be read", name()))?;
        if !line.trim().is_empty() {
            requests.push(serde_json::from_str(&line).with_context(|| {
                format!(
                    "{}: line {number} is no request\n  hint: {{\"tid\":7,\"begin_ns\":0,\"end_ns\":9}}",
                    name()
                )
            })?);
        }
    }
    Ok(requests)
}

/// The time lines of one kernel's threads, and what was wrong with its trace.
pub(crate) fn timelines(
    kernel: &OpenedSource,
    run: &Run,
    range: TimeRange,
) -> anyhow::Result<(Timelines, Vec<slowpath_model::Diagnostic>)> {
    let outcome = Timelines::build(&*kernel.source, &run.engine_in(range))
        .map_err(|_| anyhow::anyhow!("interrupted"))?;
    let mut lines = outcome.state.with_context(|| {
        format!(
            "{} has no events in the window\n  hint: `slowpath info` shows what time it covers",
            kernel.path.display()
        )
    })?;
    lines.add_saved(&kernel.saved_names, &kernel.saved_processes);
    Ok((lines, outcome.diagnostics))
}
