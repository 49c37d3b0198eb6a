//! `slowpath redis`: what a Redis server did for its clients, from inside: commands, clients, event loop.
//!
//! Everything that is computed lies in crates `slowpath-datastore` and `slowpath-session`. Keys of the JSON document:
//! docs/reference/definitions.md.

use clap::{Args, ValueEnum};
use slowpath_critical_path::CriticalPath;
use slowpath_datastore::{Level, StoreReport};
use slowpath_engine::Cancelled;
use slowpath_model::TimeRange;
use slowpath_session::{HostKernels, store_paths};
use slowpath_views::merge_documents;

use crate::input::{InputArgs, Report, Run, how_many};
use crate::output::{print, print_json};
use crate::{redis_findings, redis_paths, redis_tables, redis_touches};

/// What Redis did for its clients: where the time of each command went, and how busy the event loop was.
///
/// Reads what the agent for Redis tells: recordings by `slowpath record --redis`, or by LTTng alone
/// (agents/redis). Where the kernel was recorded, too, it says what the slowest commands waited for below Redis.
#[derive(Args)]
pub struct RedisArgs {
    #[command(flatten)]
    input: InputArgs,
    /// What the table has a row for.
    #[arg(long, value_enum, default_value_t = By::Command)]
    by: By,
    /// What the figures are made of, where both were recorded [default: lite].
    #[arg(long, value_enum)]
    level: Option<MadeOf>,
    /// So many of the slowest commands, each with its parts.
    #[arg(long, value_name = "N", default_value_t = 10, value_parser = how_many)]
    slowest: usize,
    /// Rows in the printed table; 0 prints all. JSON always has all.
    #[arg(long, value_name = "N", default_value_t = 20, value_parser = how_many)]
    top: usize,
    /// Print one JSON document.
    #[arg(long)]
    json: bool,
}

/// What a row is.
#[derive(Clone, Copy, ValueEnum)]
enum By {
    /// A command.
    Command,
    /// A client.
    Client,
    /// A server.
    Server,
    /// A type of message between nodes of a cluster.
    Bus,
}

/// A level of detail.
#[derive(Clone, Copy, ValueEnum)]
enum MadeOf {
    /// One event for all that a client sent at once.
    Lite,
    /// Single events for reading, executing and writing.
    LifeCycle,
}

/// Runs the command.
pub fn run(args: &RedisArgs) -> anyhow::Result<Report> {
    let experiment = args.input.open()?;
    let mut report = Report::begin(&experiment);
    let hosts = experiment.stores();
    if hosts.is_empty() {
        let why = "no events of Redis were recorded\n  hint: `slowpath record --redis PID -- COMMAND` records a server \
                   from inside; agents/redis/README.md says how to with LTTng alone";
        return Err(report.nothing(why.to_owned()));
    }
    let run = args.input.options();
    let options = run.engine_in(args.input.range(&experiment)?);
    let level = args.level.map(|level| match level {
        MadeOf::Lite => Level::Lite,
        MadeOf::LifeCycle => Level::LifeCycle,
    });
    let kernels = experiment.hosts();
    let mut documents = Vec::new();
    let mut lost: u64 = 0;
    let mut has_servers = false;
    for host in &hosts {
        let kernel = host.kernel(&kernels);
        let outcome = (host.stores(kernel, args.slowest, level, &options))
            .map_err(|Cancelled| interrupted())?;
        report = report.with(outcome.diagnostics);
        let told = outcome.state.unwrap_or_default();
        has_servers |= !told.servers.is_empty();
        let paths = paths(&told, kernel, &run)?;
        lost = lost.saturating_add(told.lost);
        if args.json {
            let mut document = serde_json::to_value(&told)?;
            for (place, path) in paths.iter().enumerate() {
                document["slowest"][place]["critical_path"] = serde_json::to_value(path)?;
            }
            documents.push((host.name.as_str(), document));
            continue;
        }
        if told.servers.is_empty() {
            continue;
        }
        if hosts.len() > 1 {
            print(&format!("host {}\n", host.name))?;
        }
        print(&text(&told, &paths, args))?;
    }
    if !has_servers {
        return Err(report.nothing(nothing_said(level)));
    }
    if args.json {
        let mut document = merge_documents(documents);
        document["lost"] = lost.into();
        print_json(&document)?;
    }
    Ok(report)
}

/// Why there is no server, though something was recorded inside of one.
fn nothing_said(level: Option<Level>) -> String {
    match level {
        Some(_) => "nothing was recorded of this level of detail, or not within the window\n  hint: without --level \
                    what there is is told; `slowpath record --redis-detail` says what is recorded",
        None => "no server did anything while it was recorded, or not within the window\n  hint: with `--redis launch` \
                 COMMAND has to start the server itself; of one that runs, name its PID",
    }
    .to_owned()
}

fn interrupted() -> anyhow::Error {
    anyhow::anyhow!("interrupted")
}

/// For each of the slowest commands its critical path, where the kernel tells of it.
fn paths(
    told: &StoreReport,
    kernel: Option<&HostKernels<'_>>,
    run: &Run,
) -> anyhow::Result<Vec<Option<CriticalPath>>> {
    let none = || told.slowest.iter().map(|_| None).collect();
    let Some(kernel) = kernel.filter(|_| !told.slowest.is_empty()) else {
        return Ok(none());
    };
    // All of it: what ended a wait may lie outside of the window. What is wrong with the traces was told before.
    let lines = kernel.timelines(&run.engine_in(TimeRange::ALL), false);
    let (lines, _) = lines.map_err(|Cancelled| interrupted())?;
    Ok(lines.map_or_else(none, |lines| store_paths(told, &lines)))
}

fn text(told: &StoreReport, paths: &[Option<CriticalPath>], args: &RedisArgs) -> String {
    let mut text = redis_tables::servers(told);
    text += &redis_touches::touched(told);
    text += &redis_findings::stands_out(told);
    text.push('\n');
    text += &match args.by {
        By::Command => redis_tables::commands(told, args.top),
        By::Client => redis_tables::clients(told, args.top),
        By::Server => redis_tables::by_server(told),
        By::Bus => redis_tables::bus(told, args.top),
    };
    if matches!(args.by, By::Bus) && !told.hops.is_empty() {
        text.push('\n');
        text += &redis_tables::hops(told);
    }
    if args.slowest > 0 && !told.slowest.is_empty() {
        text.push('\n');
        text += &redis_tables::slowest(told);
        let paths = redis_paths::paths(told, paths);
        if !paths.is_empty() {
            text.push('\n');
            text += &paths;
        }
    }
    text
}
