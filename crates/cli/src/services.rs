//! `slowpath services`: which paths of calls between services take the time, from spans alone.
//!
//! Reads span files, several at a time, into sorters of traces; everything that is computed lies in
//! crate `slowpath-services`. Keys of the JSON document: docs/reference/definitions.md.

use std::fs::File;
use std::io;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use anyhow::Context;
use clap::{Args, ValueEnum};
use slowpath_model::{Diagnostic, DiagnosticCode, Place};
use slowpath_read_spans::{ReadOptions, Span, SpanSink, read_spans};
use slowpath_services::{
    Mended, Names, Order, Report, SpanRecord, SurveyOptions, TraceSorter, Traces, survey,
};
use slowpath_session::SpanFile;

use crate::input::{Report as InputReport, Run, open_span_files};
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
    #[arg(long, value_name = "N")]
    top: Option<usize>,
    /// What comes first.
    #[arg(long, value_enum, default_value_t)]
    sort: Sort,
    /// Only requests to this operation, wherever it is in a trace: `operation` or
    /// `service[operation]`; `*` and `?` stand for anything. May be repeated.
    #[arg(long, value_name = "GLOB")]
    operation: Vec<String>,
    /// Workers; by default as many as there are processors.
    #[arg(long, short, value_name = "N")]
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

/// Spans held in memory by all workers together, about 100 MB; more go through a temporary file.
const MOST_HELD: usize = 1_000_000;

/// Runs the command.
pub fn run(args: &ServicesArgs) -> anyhow::Result<InputReport> {
    let run = Run::new(args.jobs, None);
    let (files, not_looked_into) = open_span_files(&args.paths)?;
    let input = InputReport::default().with(not_looked_into);
    let names = Names::default();
    let (traces, diagnostics) = read(&files, &run, &names)?;
    let input = input.with(diagnostics);
    let is_request = |service: &str, operation: &str| {
        let whole = format!("{service}[{operation}]");
        matches_any(&args.operation, operation) || matches_any(&args.operation, &whole)
    };
    let all = args.operation.is_empty();
    let options = SurveyOptions {
        requests: (!all).then_some(&is_request),
        jobs: run.jobs(),
        progress: &|_| (),
    };
    let summary = survey(traces, &names, options).context(SPILLED)?;
    anyhow::ensure!(
        all || summary.requests > 0,
        "no span has an operation that matches {}\n  hint: `slowpath services PATH --top 0` shows \
         all operations; `*` and `?` stand for anything",
        args.operation.join(", ")
    );
    let input = input.with(mended(&summary.mended, &args.paths));
    let top = args.top.unwrap_or(if args.json { 0 } else { 20 });
    let report = Report::new(&summary, &names, args.sort.into(), top);
    match args.json {
        true => print_json(&report)?,
        false => print(&service_tables::paths(&report, terminal_width()))?,
    }
    Ok(input)
}

const SPILLED: &str = "spans do not fit into memory, and the temporary file for them failed\n  \
                       hint: let TMPDIR name a folder with room";

type Sorter = TraceSorter<File, fn() -> io::Result<File>>;

/// Reads files on several threads; what was wrong with them comes in the order of the files.
fn read(
    files: &[SpanFile],
    run: &Run,
    names: &Names,
) -> anyhow::Result<(Traces<File>, Vec<Diagnostic>)> {
    let length = |file: &SpanFile| file.path.metadata().map_or(0, |metadata| metadata.len());
    let total = files.iter().map(length).sum();
    let (next, done) = (AtomicUsize::new(0), AtomicU64::new(0));
    let progress = |bytes: usize| {
        let before = done.fetch_add(bytes as u64, Ordering::Relaxed);
        run.progress(before + bytes as u64, total);
    };
    let jobs = run.jobs().get().min(files.len()).max(1);
    let work = || {
        let mut intake = Intake {
            sorter: TraceSorter::new(MOST_HELD / jobs, tempfile::tempfile),
            names,
            pushed: Ok(()),
            found: Vec::new(),
        };
        let mut found = Vec::new();
        loop {
            let number = next.fetch_add(1, Ordering::Relaxed);
            let Some(file) = files.get(number).filter(|_| intake.pushed.is_ok()) else {
                break;
            };
            intake.read(&file.path, &progress);
            found.push((number, std::mem::take(&mut intake.found)));
        }
        intake.pushed.map(|()| (intake.sorter, found))
    };
    let parts: io::Result<Vec<_>> = std::thread::scope(|scope| {
        let workers: Vec<_> = (0..jobs).map(|_| scope.spawn(work)).collect();
        let joined = workers.into_iter().map(|worker| worker.join());
        joined
            .map(|part| part.unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
            .collect()
    });
    let (sorters, found): (Vec<Sorter>, Vec<_>) = parts.context(SPILLED)?.into_iter().unzip();
    let mut found: Vec<_> = found.into_iter().flatten().collect();
    found.sort_by_key(|(number, _)| *number);
    let diagnostics = found.into_iter().flat_map(|(_, found)| found).collect();
    Ok((Traces::merge(sorters).context(SPILLED)?, diagnostics))
}

/// Takes the spans of files, one after the other.
struct Intake<'run> {
    sorter: Sorter,
    names: &'run Names,
    /// What became of storing them.
    pushed: io::Result<()>,
    found: Vec<Diagnostic>,
}

impl Intake<'_> {
    fn read(&mut self, path: &Path, progress: &dyn Fn(usize)) {
        let name = path.display().to_string();
        match File::open(path) {
            Ok(file) => {
                let options = ReadOptions { attributes: false };
                read_spans(Watched { file, progress }, &name, options, self);
            }
            Err(cause) => self.found.push(Diagnostic::new(
                DiagnosticCode::InvalidFile,
                Place {
                    file: name,
                    ..Place::default()
                },
                format!("it cannot be opened: {cause}"),
            )),
        }
    }
}

impl SpanSink for Intake<'_> {
    fn span(&mut self, span: Span) {
        if self.pushed.is_ok() {
            self.pushed = self.sorter.push(SpanRecord::new(&span, self.names));
        }
    }

    fn diagnostic(&mut self, diagnostic: Diagnostic) {
        self.found.push(diagnostic);
    }
}

/// A file that tells how far it was read.
struct Watched<'run> {
    file: File,
    progress: &'run dyn Fn(usize),
}

impl io::Read for Watched<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.file.read(buffer)?;
        (self.progress)(read);
        Ok(read)
    }
}

/// What had to be mended to make trees of the spans.
fn mended(mended: &Mended, paths: &[PathBuf]) -> Vec<Diagnostic> {
    use DiagnosticCode::{
        ClockSkew, ConflictingSpans, DuplicateSpan, MissingParentSpan, SpanCycle,
    };
    let paths: Vec<_> = paths
        .iter()
        .map(|path| path.display().to_string())
        .collect();
    let place = Place {
        file: paths.join(", "),
        ..Place::default()
    };
    let found = [
        (
            DuplicateSpan,
            mended.duplicates - mended.conflicting,
            "spans are there more than once",
        ),
        (
            ConflictingSpans,
            mended.conflicting,
            "spans have the id of another one but differ; they were left out",
        ),
        (
            MissingParentSpan,
            mended.orphans,
            "spans have a parent that is missing",
        ),
        (SpanCycle, mended.circles, "circles of spans were cut"),
        (
            ClockSkew,
            mended.skewed,
            "servers were moved into their clients' time",
        ),
        (
            ClockSkew,
            mended.early,
            "spans begin before their parents; only what lies within the parents' time counts there",
        ),
    ];
    let found = found.into_iter().filter(|(_, count, _)| *count > 0);
    found
        .map(|(code, count, what)| Diagnostic {
            count: Some(count),
            ..Diagnostic::new(code, place.clone(), format!("{count} {what}"))
        })
        .collect()
}
