//! The `slowpath` command: reads the arguments, runs one command, ends with its exit status.
//!
//! 0 done; 1 done but the input was damaged; 2 usage; 3 nothing could be read. Data goes to
//! standard output, talk to standard error.

#![forbid(unsafe_code)]

mod analyses;
mod call_trees;
mod calls;
mod compare;
mod critical_path;
mod diagnose;
mod events;
mod explore;
mod explore_agent;
mod explore_reasons;
mod explore_tables;
mod export;
mod info;
mod input;
mod merged;
mod output;
mod pattern;
mod record;
mod redis;
mod redis_findings;
mod redis_paths;
mod redis_tables;
mod redis_touches;
mod report;
mod request_path;
mod request_tables;
mod requests;
mod serve;
mod service_tables;
mod services;
mod state;
mod store_state;
mod tables;
mod thread_states;
mod transfers;

use std::io;
use std::process::ExitCode;

use clap::{Arg, CommandFactory, FromArgMatches, Parser, Subcommand};
use slowpath_model::shown_lines;

/// Where a thread's time went, in every layer, and why.
#[derive(Parser)]
#[command(name = "slowpath", version, max_term_width = 100)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    Record(record::RecordArgs),
    Snapshot(record::SnapshotArgs),
    Info(info::InfoArgs),
    Events(events::EventsArgs),
    Count(analyses::CountArgs),
    Cpu(analyses::CpuArgs),
    Io(analyses::IoArgs),
    Latency(analyses::LatencyArgs),
    Diagnose(diagnose::DiagnoseArgs),
    Requests(requests::RequestsArgs),
    Compare(compare::CompareArgs),
    CriticalPath(critical_path::CriticalPathArgs),
    ThreadStates(thread_states::ThreadStatesArgs),
    State(state::StateArgs),
    Services(services::ServicesArgs),
    Redis(redis::RedisArgs),
    Calls(calls::CallsArgs),
    Transfers(transfers::TransfersArgs),
    Explore(explore::ExploreArgs),
    Export(export::ExportArgs),
    Serve(serve::ServeArgs),
    Report(report::ReportArgs),
}

fn main() -> ExitCode {
    let matches = command_line().get_matches();
    let arguments = Arguments::from_arg_matches(&matches).unwrap_or_else(|error| error.exit());
    match run(arguments.command) {
        Ok(status) => ExitCode::from(status),
        Err(error) => {
            eprintln!("error: {}", shown_lines(&format!("{error:#}")));
            if is_full_disk(&error) {
                eprintln!("  hint: the disk is full: make room, or write to another one");
            }
            ExitCode::from(exit_status_of(&error))
        }
    }
}

/// All options; each takes what looks like a negative number or time as its value, and says itself what is wrong with it.
fn command_line() -> clap::Command {
    let is_time = |arg: &Arg| {
        let names = arg.get_value_names().unwrap_or_default();
        names.iter().any(|name| name.as_str() == "TIME")
    };
    let with_negative = |arg: Arg| match arg.is_positional() || !arg.get_action().takes_values() {
        true => arg,
        false if is_time(&arg) => arg.allow_hyphen_values(true),
        false => arg.allow_negative_numbers(true),
    };
    Arguments::command().mut_subcommands(|command| command.mut_args(with_negative))
}

/// Runs one command; its exit status.
fn run(command: Command) -> anyhow::Result<u8> {
    let report = match &command {
        Command::Record(args) => return record::run_record(args.clone()),
        Command::Snapshot(args) => return record::run_snapshot(args.clone()),
        Command::Explore(args) => return explore::run(args),
        Command::Info(args) => info::run(args),
        Command::Events(args) => events::run(args),
        Command::Count(args) => analyses::run_count(args),
        Command::Cpu(args) => analyses::run_cpu(args),
        Command::Io(args) => analyses::run_io(args),
        Command::Latency(args) => analyses::run_latency(args),
        Command::Diagnose(args) => diagnose::run(args),
        Command::Requests(args) => requests::run(args),
        Command::Compare(args) => compare::run(args),
        Command::CriticalPath(args) => critical_path::run(args),
        Command::ThreadStates(args) => thread_states::run(args),
        Command::State(args) => state::run(args),
        Command::Services(args) => services::run(args),
        Command::Redis(args) => redis::run(args),
        Command::Calls(args) => calls::run(args),
        Command::Transfers(args) => transfers::run(args),
        Command::Export(args) => export::run(args),
        Command::Serve(args) => serve::run(args),
        Command::Report(args) => report::run(args),
    };
    Ok(report?.exit_status())
}

fn is_full_disk(error: &anyhow::Error) -> bool {
    let causes = error
        .chain()
        .filter_map(|cause| cause.downcast_ref::<io::Error>());
    let mut kinds = causes.map(io::Error::kind);
    kinds.any(|kind| {
        matches!(
            kind,
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded
        )
    })
}

/// 3 where nothing could be read, 1 where damage left nothing to answer with, 2 for everything that the user
/// can put right on the command line.
fn exit_status_of(error: &anyhow::Error) -> u8 {
    if error.is::<input::Unopenable>() {
        3
    } else if error.is::<input::NothingLeft>() {
        1
    } else {
        2
    }
}
