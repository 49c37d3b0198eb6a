//! `slowpath services`: which paths of calls between services take the time, from spans alone.
//!
//! Everything that is computed lies in crate `slowpath-services`. Keys of the JSON document: docs/reference/definitions.md.

use std::num::NonZeroUsize;
use std::path::PathBuf;

use anyhow::Context;
use clap::{Args, ValueEnum};
use slowpath_model::{Diagnostic, DiagnosticCode, Place, counted};
use slowpath_read_spans::Span;
use slowpath_services::{DEEPEST, Limits, OTHER, Order, Report, Summary, SurveyOptions, survey};
use slowpath_session::{SPANS_SPILLED, span_traces};
use slowpath_views::grouped;

use crate::input::{Report as InputReport, Run, at_least_one, how_many, open_span_files};
use crate::output::print;
use crate::output::print_json;
use crate::pattern::matches_any;
use crate::service_tables;
use crate::tables::terminal_width;

/// Rank the paths of calls between services by the time they take: calling contexts of all spans.
#[derive(Args)]
pub struct ServicesArgs {
    /// Jaeger or OTLP files, recordings, or folders with any of them.
    #[arg(required = true, value_name = "PATH")]
    paths: Vec<PathBuf>,
    /// So many paths; 0 shows all. By default 20, or all with --json.
    #[arg(long, value_name = "N", value_parser = how_many)]
    top: Option<usize>,
    /// What comes first.
    #[arg(long, value_enum, default_value_t)]
    sort: Sort,
    /// Only requests to this operation, wherever it is in a trace: `operation` or
    /// `service[operation]`; `*` and `?` stand for anything. May be repeated.
    #[arg(long, value_name = "GLOB")]
    operation: Vec<String>,
    /// Workers; by default as many as there are processors.
    #[arg(long, short, value_name = "N", value_parser = at_least_one)]
    jobs: Option<NonZeroUsize>,
    /// One JSON document.
    #[arg(long)]
    json: bool,
}

/// Orders by their names on the command line.
#[derive(Clone, Copy, Default, ValueEnum)]
enum Sort {
    /// Distance from the origin of normalised inclusive and exclusive time.
    #[default]
    Distance,
    /// Time without that of the calls made.
    Exclusive,
    /// Own time on the requests' critical paths.
    Critical,
    /// What requests would gain if the calls took no time.
    Drag,
}

impl From<Sort> for Order {
    fn from(sort: Sort) -> Self {
        match sort {
            Sort::Distance => Self::Distance,
            Sort::Exclusive => Self::Exclusive,
            Sort::Critical => Self::Critical,
            Sort::Drag => Self::Drag,
        }
    }
}

/// Runs the command.
pub fn run(args: &ServicesArgs) -> anyhow::Result<InputReport> {
    let run = Run::new(args.jobs, None);
    let (files, not_looked_into) = open_span_files(&args.paths)?;
    let input = InputReport::default().with(not_looked_into);
    let all = args.operation.is_empty();
    let may_be_request = |span: &Span| {
        let whole = || format!("{}[{}]", span.service, span.operation);
        all || matches_any(&args.operation, &span.operation)
            || matches_any(&args.operation, &whole())
    };
    let progress = |done, total| run.progress(done, total);
    let (traces, diagnostics) =
        span_traces(&files, &may_be_request, None, run.jobs(), &progress).context(SPANS_SPILLED)?;
    let input = input.with(diagnostics);
    let options = SurveyOptions {
        limits: Limits::default(),
        jobs: run.jobs(),
        progress: &|_| (),
    };
    let summary = survey(traces, options).context(SPANS_SPILLED)?;
    anyhow::ensure!(
        all || summary.requests > 0,
        "no span has an operation that matches {}\n  hint: `slowpath services PATH --top 0` shows those that are told \
         apart, and spans keep their names where they are shown as {OTHER} or lie too deep to be shown; `*` and `?` \
         stand for anything",
        args.operation.join(", ")
    );
    let input = input.with(mended(&summary, &options.limits, &args.paths));
    let top = args.top.unwrap_or(if args.json { 0 } else { 20 });
    let report = Report::new(&summary, args.sort.into(), top);
    match args.json {
        true => print_json(&report)?,
        false => print(&service_tables::paths(&report, terminal_width()))?,
    }
    Ok(input)
}

/// What had to be mended to make trees of the spans, and what is not told apart in these.
fn mended(summary: &Summary, limits: &Limits, paths: &[PathBuf]) -> Vec<Diagnostic> {
    use DiagnosticCode::{
        ClockSkew, ConflictingSpans, DuplicateSpan, ManyContexts, ManyOperations,
        MissingParentSpan, SpanCycle,
    };
    let mended = &summary.mended;
    let paths: Vec<_> = paths
        .iter()
        .map(|path| path.display().to_string())
        .collect();
    let place = Place {
        file: paths.join(", "),
        ..Place::default()
    };
    let tree = &summary.tree;
    let grouped = |number: usize| grouped(number as u64);
    let other_services = format!(
        "not told apart, as there are more than {}; shown as {OTHER}",
        grouped(limits.services)
    );
    let other_operations = format!(
        "not told apart, as there are more than {} of one service or more than {} in all; shown as {OTHER}",
        grouped(limits.operations_of_service),
        grouped(limits.operations)
    );
    let deeper_spans = format!(
        "below paths of {} and counted as time of the last of these: no more than {} paths are told apart, and none \
         of more than {DEEPEST} calls",
        counted(tree.most_calls(), "call", "calls"),
        grouped(limits.contexts)
    );
    let found = [
        (
            DuplicateSpan,
            mended.duplicates - mended.conflicting,
            ["span is", "spans are"],
            "there more than once",
        ),
        (
            ConflictingSpans,
            mended.conflicting,
            ["span has", "spans have"],
            "the id of another one but other contents; left out",
        ),
        (
            MissingParentSpan,
            mended.orphans,
            ["span has", "spans have"],
            "a parent that is missing",
        ),
        (
            SpanCycle,
            mended.circles,
            ["circle of spans was", "circles of spans were"],
            "cut",
        ),
        (
            ClockSkew,
            mended.skewed,
            ["server was", "servers were"],
            "moved into the client's time",
        ),
        (
            ClockSkew,
            mended.early,
            ["span begins", "spans begin"],
            "before the parent; only what lies within the parent's time counts there",
        ),
        (
            ClockSkew,
            mended.late,
            ["span begins", "spans begin"],
            "more than an hour after the parent ended: clocks differ, or a time was not set",
        ),
        (
            ManyOperations,
            summary.other_services,
            ["service is", "services are"],
            &other_services,
        ),
        (
            ManyOperations,
            summary.other_operations,
            ["operation is", "operations are"],
            &other_operations,
        ),
        (
            ManyContexts,
            tree.deeper_spans(),
            ["span lies", "spans lie"],
            &deeper_spans,
        ),
    ];
    let found = found.into_iter().filter(|(_, count, ..)| *count > 0);
    found
        .map(|(code, count, [one, several], what)| Diagnostic {
            count: Some(count),
            ..Diagnostic::new(
                code,
                place.clone(),
                format!("{} {what}", counted(count, one, several)),
            )
        })
        .collect()
}
