//! `slowpath critical-path`: where threads' time went in a window, waits followed to their causes.
//! Those of requests are given out by `request_path.rs`.

use std::io::{self, BufWriter, Write};
use std::path::PathBuf;

use anyhow::ensure;
use clap::Args;
use serde::Serialize;
use slowpath_critical_path::{CriticalPath, Holdups, Host, Hosts, critical_path_among};
use slowpath_kernel::network::Network;
use slowpath_kernel::timelines::Timelines;
use slowpath_model::{HostId, SpanId, ThreadId, TimeRange, TraceId, shown};

use crate::analyses::kernel_hosts;
use crate::input::{InputArgs, Report, how_many};
use crate::merged;
use crate::output::finish;
use crate::pattern::matches_any;
use crate::request_path;
use crate::requests::parse_trace;
use crate::thread_states::{Request, read_requests, timelines};

/// Explain where a thread's time went: its critical path.
#[derive(Args)]
pub struct CriticalPathArgs {
    #[command(flatten)]
    input: InputArgs,
    /// Threads. May be repeated.
    #[arg(long, value_name = "TID")]
    tid: Vec<i32>,
    /// All threads of these processes. May be repeated.
    #[arg(long, value_name = "PID")]
    pid: Vec<i32>,
    /// All threads whose name matches; `*` and `?` stand for anything. May be repeated.
    #[arg(long, value_name = "GLOB")]
    comm: Vec<String>,
    /// Threads and windows, one JSON object per line: {"tid":N,"begin_ns":T,"end_ns":T}; `-` is
    /// standard input.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["tid", "pid", "comm"])]
    requests: Option<PathBuf>,
    /// The request that is this span (hexadecimal), through all threads that served it.
    #[arg(long, value_name = "ID", value_parser = parse_span,
          conflicts_with_all = ["tid", "pid", "comm", "requests", "merged", "begin", "end"])]
    span: Option<SpanId>,
    /// All requests of this distributed trace (hexadecimal); with --span only that one.
    #[arg(long, value_name = "ID", value_parser = parse_trace,
          conflicts_with_all = ["tid", "pid", "comm", "requests", "merged", "begin", "end"])]
    trace: Option<TraceId>,
    /// The paths as one graph, in which a state that several share is one node: shows which
    /// threads hold others up. All threads where none is named, each as long as it lives. With
    /// --json of a long trace name some, or a window: the whole graph lies in memory then.
    #[arg(long)]
    merged: bool,
    /// Rows of the table of --merged; 0 shows all.
    #[arg(long, default_value_t = 20, value_name = "N", requires = "merged", value_parser = how_many)]
    top: usize,
    /// One JSON document per path and line; with --merged one per host.
    #[arg(long)]
    json: bool,
}

fn parse_span(text: &str) -> Result<SpanId, String> {
    SpanId::from_hex(text)
        .ok_or_else(|| format!("`{text}` is no span id: up to 16 hexadecimal digits"))
}

/// Runs the command.
pub fn run(args: &CriticalPathArgs) -> anyhow::Result<Report> {
    if args.span.is_some() || args.trace.is_some() {
        return request_path::run(&args.input, args.span, args.trace, args.json);
    }
    ensure!(
        args.merged
            || args.requests.is_some()
            || !(args.tid.is_empty() && args.pid.is_empty() && args.comm.is_empty()),
        "no thread was named\n  hint: --tid 1234, --pid 1234, --comm 'worker-*', --span ID or --requests FILE; \
         `slowpath cpu` lists threads, `slowpath requests` spans"
    );
    let experiment = args.input.open()?;
    let mut report = Report::begin(&experiment);
    let range = args.input.range(&experiment)?;
    let run = args.input.options();
    let requests = args.requests.as_deref().map(read_requests).transpose()?;
    let mut output = BufWriter::new(io::stdout().lock());
    let mut printed = 0;
    let hosts = kernel_hosts(&experiment, &report)?;
    let several = hosts.len() > 1;
    let mut all_lines = Vec::new();
    for host in &hosts {
        // All of it: what ended a wait may lie outside of the window.
        let (lines, told) = timelines(host, &run, several, report)?;
        report = told;
        all_lines.push(lines);
    }
    let network = Network::of(&all_lines.iter().map(Some).collect::<Vec<_>>());
    let named = hosts.iter().zip(&all_lines).map(|(host, lines)| Host {
        name: &host.name,
        lines: Some(lines),
    });
    let paths = Hosts::new(named.collect(), Some(&network));
    let path_of =
        |id, request: &Request| critical_path_among(&paths, id, request.tid, request.window());
    for ((host, lines), id) in hosts.iter().zip(&all_lines).zip((0..).map(HostId)) {
        let requests = requests
            .clone()
            .unwrap_or_else(|| args.chosen(lines, range));
        let host_name = several.then_some(host.name.as_str());
        if args.merged {
            let requests = requests.iter().filter(|request| request.is_for(host));
            let paths = requests.map(|request| path_of(id, request));
            let (count, written) = args.write_merged(&mut output, paths, host_name);
            printed += count;
            if written.is_err() {
                finish(written)?;
                return Ok(report);
            }
            continue;
        }
        for request in requests {
            if !request.is_for(host) {
                continue;
            }
            let path = path_of(id, &request);
            let written = write_path(&mut output, &path, host_name, args.json, printed == 0);
            if written.is_err() {
                finish(written)?;
                return Ok(report);
            }
            printed += 1;
        }
    }
    finish(output.flush())?;
    if printed == 0 && requests.is_none() {
        let why = "no thread that lived in the window fits\n  hint: `slowpath cpu` lists the threads, `slowpath info` \
                   says what time the trace covers";
        return Err(report.nothing(why.to_owned()));
    }
    Ok(report)
}

/// A path as a JSON document.
#[derive(Serialize)]
struct PathOfHost<'path> {
    #[serde(skip_serializing_if = "Option::is_none")]
    host: Option<&'path str>,
    #[serde(flatten)]
    path: &'path CriticalPath,
}

/// Writes one path, with its host where there are several.
fn write_path(
    output: &mut impl Write,
    path: &CriticalPath,
    host: Option<&str>,
    json: bool,
    first: bool,
) -> io::Result<()> {
    if json {
        serde_json::to_writer(&mut *output, &PathOfHost { host, path })?;
        return writeln!(output);
    }
    if !first {
        writeln!(output)?;
    }
    if let Some(host) = host {
        writeln!(output, "host {}", shown(host))?;
    }
    writeln!(output, "{path}")
}

impl CriticalPathArgs {
    /// Writes what `paths` have in common, and says how many there are; nothing where there is none.
    fn write_merged(
        &self,
        output: &mut impl Write,
        paths: impl Iterator<Item = CriticalPath>,
        host: Option<&str>,
    ) -> (usize, io::Result<()>) {
        if self.json {
            let paths: Vec<CriticalPath> = paths.collect();
            return match paths.is_empty() {
                true => (0, Ok(())),
                false => (paths.len(), merged::write_graph(output, &paths, host)),
            };
        }
        let mut holdups = Holdups::default();
        paths.for_each(|path| holdups.add(&path));
        match holdups.paths() {
            0 => (0, Ok(())),
            count => (
                count,
                merged::write_holdups(output, holdups, host, self.top),
            ),
        }
    }

    /// The threads that the options name and that live at some time in `range`; each over the bounds
    /// that were given, else over its life. Where paths are merged, over its life within the bounds: before it was
    /// created, its path is its creator's.
    fn chosen(&self, lines: &Timelines, range: TimeRange) -> Vec<Request> {
        let all = self.tid.is_empty() && self.pid.is_empty() && self.comm.is_empty();
        let is_chosen = |&&thread: &&ThreadId| {
            if all {
                return true;
            }
            let process = lines.process(thread, range.end);
            let pid = process.map_or(thread.0, |process| process.0);
            self.tid.contains(&thread.0)
                || self.pid.contains(&pid)
                || matches_any(&self.comm, &lines.name(thread, range.end))
        };
        let chosen = lines.threads().iter().filter(is_chosen);
        let whole = lines.range();
        let window = |thread| {
            let life = lines.life(thread);
            let begin = match self.input.begin {
                Some(_) if !self.merged => range.begin.max(whole.begin),
                _ => range.begin.max(life.begin),
            };
            let end = match self.input.end {
                Some(_) if !self.merged => range.end.min(whole.end),
                _ => range.end.min(life.end),
            };
            (range.begin < life.end && life.begin < range.end).then(|| TimeRange::new(begin, end))
        };
        chosen
            .filter_map(|&thread| Some(Request::new(thread, window(thread)?)))
            .collect()
    }
}
