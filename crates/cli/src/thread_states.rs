//! `slowpath thread-states`: how long threads ran, were runnable, blocked or unknown in windows.
//!
//! A line per thread and window; with `--json` a JSON object each. Definitions:
//! docs/reference/definitions.md.

use std::fmt::Write;
use std::io::{self, BufRead, BufReader};
use std::path::{Path, PathBuf};

use anyhow::{Context, ensure};
use clap::Args;
use serde::{Deserialize, Serialize};
use slowpath_kernel::timelines::Timelines;
use slowpath_model::{Nanoseconds, ThreadId, TimeRange, Timestamp, shown};
use slowpath_session::HostKernels;

use crate::analyses::{SWITCHES, kernel_hosts, note_lack, silent_hosts};
use crate::input::{InputArgs, Report, Run};
use crate::output::print;

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
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct Request {
    /// The thread's host; every host is asked where it is left out.
    #[serde(default)]
    pub(crate) host: Option<String>,
    pub(crate) tid: ThreadId,
    pub(crate) begin_ns: Timestamp,
    pub(crate) end_ns: Timestamp,
}

#[derive(Serialize)]
struct Answer<'host> {
    #[serde(skip_serializing_if = "Option::is_none")]
    host: Option<&'host str>,
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
    let mut output = String::new();
    if !args.json {
        let heads = ["running", "(interrupted)", "runnable", "blocked", "unknown"];
        write!(output, "{:>8} {:<15}", "tid", "name")?;
        heads
            .iter()
            .try_for_each(|head| write!(output, " {head:>12}"))?;
        writeln!(output)?;
    }
    let hosts = kernel_hosts(&experiment, &report)?;
    let several = hosts.len() > 1;
    let silent_then = match requests {
        None => silent_hosts(&hosts, range)?,
        // Each of them has a window of its own.
        Some(_) => vec![false; hosts.len()],
    };
    for (host, is_silent) in hosts.iter().zip(silent_then) {
        if several && !args.json {
            writeln!(output, "host {}", host.name)?;
        }
        if is_silent {
            if !args.json {
                writeln!(output, "nothing was recorded of it then")?;
            }
            continue;
        }
        // All of it: who has no event in the window does what it did before.
        let (lines, told) = timelines(host, &run, false, report)?;
        report = told;
        let everything = range.intersect(lines.range());
        if requests.is_none() && everything.is_empty() {
            return Err(no_events(host, &report));
        }
        if everything.length() > Nanoseconds::ZERO
            && lines.without_switches(everything) == everything.length()
        {
            note_lack(host, SWITCHES);
        }
        let lives = |tid: &&ThreadId| {
            let life = lines.life(**tid);
            everything == lines.range()
                || life.begin < everything.end && everything.begin < life.end
        };
        let every_thread = || {
            let threads = lines.threads().iter().filter(lives);
            threads.map(|&tid| Request::new(tid, everything)).collect()
        };
        for request in requests.clone().unwrap_or_else(every_thread) {
            if !request.is_for(host) {
                continue;
            }
            let window = request.window();
            let states = lines.states(request.tid, window);
            let answer = Answer {
                host: several.then_some(host.name.as_str()),
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
                write!(output, "{:>8} {:<15}", request.tid, shown(&name))?;
                for length in lengths {
                    write!(output, " {:>12}", length.to_string())?;
                }
                writeln!(output)?;
            }
        }
    }
    print(&output)?;
    Ok(report)
}

impl Request {
    pub(crate) fn new(tid: ThreadId, window: TimeRange) -> Self {
        Self {
            host: None,
            tid,
            begin_ns: window.begin,
            end_ns: window.end,
        }
    }

    pub(crate) fn window(&self) -> TimeRange {
        TimeRange::new(self.begin_ns, self.end_ns)
    }
}

impl Request {
    /// Whether it is about a thread of this host.
    pub(crate) fn is_for(&self, host: &HostKernels<'_>) -> bool {
        self.host.as_deref().is_none_or(|name| name == host.name)
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
            let request: Request = serde_json::from_str(&line).with_context(|| {
                format!(
                    "{}: line {number} is no request\n  hint: {{\"tid\":7,\"begin_ns\":0,\"end_ns\":9}}",
                    name()
                )
            })?;
            ensure!(
                request.begin_ns <= request.end_ns,
                "{}: the window of line {number} ends before it begins",
                name()
            );
            requests.push(request);
        }
    }
    Ok(requests)
}

/// The time lines of one host's threads over all of its trace; adds what was wrong with that to the report.
pub(crate) fn timelines(
    host: &HostKernels<'_>,
    run: &Run,
    among_hosts: bool,
    report: Report,
) -> anyhow::Result<(Timelines, Report)> {
    let (lines, found) =
        (host.timelines(&run.engine(), among_hosts)).map_err(|_| anyhow::anyhow!("interrupted"))?;
    let report = report.with(found);
    match lines {
        Some(lines) => Ok((lines, report)),
        None => Err(no_events(host, &report)),
    }
}

fn no_events(host: &HostKernels<'_>, report: &Report) -> anyhow::Error {
    report.nothing(format!(
        "host {} has no kernel events in the window\n  hint: `slowpath info` shows what time it covers",
        host.name
    ))
}
