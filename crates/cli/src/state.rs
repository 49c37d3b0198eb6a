//! `slowpath state`: what every processor, thread and data store was doing at a time, from the state history.
//!
//! The history is built the first time and reused after that (`RECORDING.slowpath-cache/`).

use std::collections::{BTreeMap, BTreeSet};
use std::num::NonZeroUsize;
use std::path::PathBuf;

use anyhow::{Context, ensure};
use clap::Args;
use serde::Serialize;
use slowpath_history::{AttributeId, History, Interval};
use slowpath_model::{TimeRange, Timestamp};
use slowpath_session::{AttributePath, HistoryError, Subject, UNKNOWN_THREAD};

use crate::input::{InputArgs, Report, TimePoint, at_least_one, parse_time};
use crate::output::print_json;
use crate::pattern::matches_any;
use crate::store_state::{self, StoreRow};
use crate::tables;

/// Show what every processor, thread and data store was doing at a time.
#[derive(Args)]
pub struct StateArgs {
    /// Recordings, CTF traces, trace.dat files, or folders with any of them.
    #[arg(required = true, value_name = "PATH")]
    paths: Vec<PathBuf>,
    /// Workers; by default as many as there are processors.
    #[arg(long, short, value_name = "N", value_parser = at_least_one)]
    jobs: Option<NonZeroUsize>,
    /// When: nanoseconds since the epoch, or an offset from the first event such as +2.5s.
    #[arg(long, value_name = "TIME", value_parser = parse_time)]
    at: TimePoint,
    /// Only threads whose name matches; `*` and `?` stand for anything. May be repeated.
    #[arg(long, value_name = "GLOB")]
    comm: Vec<String>,
    /// One JSON document.
    #[arg(long)]
    json: bool,
}

/// Everything at a time.
#[derive(Serialize)]
pub(crate) struct Document {
    at_ns: Timestamp,
    pub(crate) cpus: Vec<CpuRow>,
    pub(crate) threads: Vec<ThreadRow>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) stores: Vec<StoreRow>,
}

/// What ran on a processor.
#[derive(Serialize)]
pub(crate) struct CpuRow {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) host: Option<String>,
    pub(crate) cpu: u32,
    /// 0 while it was idle, `null` where nothing tells what it did.
    pub(crate) tid: Option<i64>,
    pub(crate) comm: String,
}

/// What a thread did.
#[derive(Serialize)]
pub(crate) struct ThreadRow {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) host: Option<String>,
    pub(crate) tid: i64,
    pub(crate) comm: String,
    pub(crate) state: String,
    /// Since when and until when it was so.
    begin_ns: Timestamp,
    end_ns: Timestamp,
    #[serde(skip)]
    pub(crate) range: TimeRange,
    /// What it worked for: `TRACE/SPAN OPERATION`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) request: Option<String>,
}

/// Runs the command.
pub fn run(args: &StateArgs) -> anyhow::Result<Report> {
    let input = InputArgs {
        begin: Some(args.at),
        ..InputArgs::all_of(&args.paths, args.jobs)
    };
    let experiment = input.open()?;
    let mut report = Report::begin(&experiment);
    let at = input.range(&experiment)?.begin;
    let run = input.options();
    let failed = |error| match error {
        HistoryError::Cancelled => anyhow::anyhow!("interrupted"),
        other => other.into(),
    };
    let threads = experiment.history(&run.engine()).map_err(failed)?;
    let stores = experiment.store_history(&run.engine()).map_err(failed)?;
    // Spans and data stores may be of the same streams.
    let found = stores.iter().flat_map(|stores| &stores.diagnostics);
    let new: Vec<_> = found
        .filter(|one| !threads.diagnostics.contains(one))
        .cloned()
        .collect();
    report = report.with(threads.diagnostics).with(new);
    let histories = [
        Some(&threads.history),
        stores.as_ref().map(|stores| &stores.history),
    ];
    let covered = histories
        .into_iter()
        .flatten()
        .filter(|one| !one.is_empty());
    let covered = covered.map(History::range).reduce(TimeRange::hull);
    let covered = covered.context(
        "no thread and no data store is known in these traces\n  hint: record kernel events (sched_switch), or \
         Redis from inside (--redis)",
    )?;
    ensure!(
        at >= covered.begin && at < covered.end,
        "nothing was recorded then\n  hint: the recording covers {} to {}",
        covered.begin.ns(),
        covered.end.ns()
    );
    let damaged = "the history is damaged";
    let mut document = document(&threads.history, at, &args.comm).context(damaged)?;
    if let Some(stores) = &stores {
        document.stores = store_state::rows(&stores.history, at).context(damaged)?;
    }
    match args.json {
        true => print_json(&document)?,
        false => crate::output::print(&tables::state(&document, at))?,
    }
    Ok(report)
}

/// What threads and processors did; only those threads whose names fit.
fn document(history: &History, at: Timestamp, comm: &[String]) -> Option<Document> {
    let path = |attribute: AttributeId| &history.attributes()[attribute.0 as usize].path;
    let told = |interval: &Interval| {
        let name = history.value_name(interval.attribute, interval.value);
        name.map_or_else(|| interval.value.0.to_string(), str::to_owned)
    };
    let mut document = Document {
        at_ns: at,
        cpus: Vec::new(),
        threads: Vec::new(),
        stores: Vec::new(),
    };
    let mut threads: BTreeMap<(Option<&str>, i64), [Option<Interval>; 3]> = BTreeMap::new();
    // Processors of hosts that were recorded then, and who ran there.
    let mut recorded: BTreeSet<(Option<&str>, u32)> = BTreeSet::new();
    let mut running: BTreeMap<(Option<&str>, u32), i64> = BTreeMap::new();
    for interval in history.all_at(at) {
        let AttributePath {
            host,
            subject,
            what,
        } = AttributePath::parse(path(interval.attribute))?;
        match (subject, what) {
            (Subject::Cpu(cpu), "recorded") => drop(recorded.insert((host, cpu))),
            (Subject::Cpu(cpu), "thread") => {
                running.insert((host, cpu), interval.value.0);
            }
            (Subject::Thread(number), _) => {
                let shown = ["state", "name", "request"];
                let Some(place) = shown.iter().position(|name| *name == what) else {
                    continue;
                };
                threads.entry((host, number)).or_default()[place] = Some(interval);
            }
            _ => {}
        }
    }
    let name_of = |host: Option<&str>, tid: i64| {
        let [_, name, _] = threads.get(&(host, tid)).copied().unwrap_or_default();
        name.map_or(String::new(), |name| told(&name))
    };
    for attribute in history.attributes() {
        let AttributePath {
            host,
            subject,
            what,
        } = AttributePath::parse(&attribute.path)?;
        if let (Subject::Cpu(cpu), "thread") = (subject, what) {
            let idle = match recorded.contains(&(host, cpu)) {
                true => 0,
                false => UNKNOWN_THREAD,
            };
            let tid = running.get(&(host, cpu)).copied().unwrap_or(idle);
            document.cpus.push(CpuRow {
                host: host.map(str::to_owned),
                cpu,
                tid: Some(tid).filter(|tid| *tid != UNKNOWN_THREAD),
                comm: match tid {
                    UNKNOWN_THREAD => "unknown".to_owned(),
                    0 => "idle".to_owned(),
                    tid => name_of(host, tid),
                },
            });
        }
    }
    for (&(host, tid), &[state, _, request]) in &threads {
        let Some(state) = state else {
            continue;
        };
        let name = name_of(host, tid);
        if !comm.is_empty() && !matches_any(comm, &name) {
            continue;
        }
        document.threads.push(ThreadRow {
            host: host.map(str::to_owned),
            tid,
            comm: name,
            state: told(&state),
            begin_ns: state.range.begin,
            end_ns: state.range.end,
            range: state.range,
            request: request.map(|request| told(&request)),
        });
    }
    Some(document)
}
