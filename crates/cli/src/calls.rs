//! `slowpath calls`: what services asked of each other and of Redis, each request as a tree.
//!
//! Everything that is computed lies in crate `slowpath-datastore`. Keys of the JSON document:
//! docs/reference/definitions.md.

use clap::Args;
use slowpath_datastore::{CallReport, calls};
use slowpath_engine::Cancelled;
use slowpath_source::Source;

use crate::call_trees;
use crate::input::{InputArgs, Report, how_many};
use crate::output::{print, print_json};

/// What services asked of each other and of Redis: each request as a tree, with times.
///
/// Reads what the agents for Node and for Redis tell: recordings by `slowpath record --node --redis`, or by LTTng
/// alone (agents/node, agents/redis). Services need no change: what one sends is found again where it arrives.
#[derive(Args)]
pub struct CallsArgs {
    #[command(flatten)]
    input: InputArgs,
    /// So many of the slowest requests; 0: all of them.
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = how_many)]
    slowest: usize,
    /// Lines of each printed request; 0 prints all. JSON always has all.
    #[arg(long, value_name = "N", default_value_t = 40, value_parser = how_many)]
    top: usize,
    /// Print one JSON document.
    #[arg(long)]
    json: bool,
}

/// Runs the command.
pub fn run(args: &CallsArgs) -> anyhow::Result<Report> {
    let experiment = args.input.open()?;
    let mut report = Report::begin(&experiment);
    let hosts = experiment.with_services();
    if hosts.is_empty() {
        let why = "no requests of services were recorded from inside\n  hint: `slowpath record --node -- COMMAND` \
                   records Node programs, `--redis` Redis beside them; agents/node/README.md says how to with LTTng alone";
        return Err(report.nothing(why.to_owned()));
    }
    let run = args.input.options();
    let options = run.engine_in(args.input.range(&experiment)?);
    let slowest = match args.slowest {
        0 => usize::MAX,
        most => most,
    };
    let sources: Vec<_> = hosts.iter().map(|host| host.source()).collect();
    let named: Vec<(&str, &dyn Source)> = (hosts.iter().zip(&sources))
        .map(|(host, source)| (host.name.as_str(), source as &dyn Source))
        .collect();
    let outcome =
        calls(&named, slowest, &options).map_err(|Cancelled| anyhow::anyhow!("interrupted"))?;
    report = report.with(outcome.diagnostics);
    let told = outcome.state.unwrap_or_default();
    match args.json {
        true => print_json(&told)?,
        false => print(&text(&told, args.top))?,
    }
    Ok(report)
}

fn text(told: &CallReport, top: usize) -> String {
    let mut text = call_trees::overview(told);
    for request in &told.requests {
        text.push('\n');
        text += &call_trees::tree(request, top);
    }
    text
}
