//! Reports of transfers: finding and reading them, and the spans beside them. They need no trace.

use std::fs;
use std::io;
use std::num::NonZeroUsize;
use std::path::PathBuf;

use slowpath_model::Diagnostic;
use slowpath_read_spans::Span;
use slowpath_read_transfers::{Transfers, read_transfers};
use slowpath_services::{
    Context, ContextTree, Limits, Mark, Marks, Order, Summary, SurveyOptions, ranked, survey,
};
use slowpath_transfers::{Calls, MarkedPath, Report, ServicePath, ServicePaths};

use crate::discover::{Found, unreadable};
use crate::gather::gather;
use crate::open::losses_of_recordings;
use crate::{Experiment, NotOpened, OpenError, SpanFile, span_traces};

/// What agents told of transfers, and files of spans that may tell on which paths of services these lie.
#[derive(Clone, Debug, Default)]
pub struct RecordedTransfers {
    reports: Vec<Transfers>,
    span_files: Vec<SpanFile>,
}

/// All reports at or below `paths`, each once, and all files of spans; what was wrong with them (paths without any of
/// these among it).
///
/// # Errors
/// When none of the paths can be read and holds a report, or all reports are damaged at their heads.
pub fn transfers(paths: &[PathBuf]) -> Result<(RecordedTransfers, Vec<Diagnostic>), NotOpened> {
    let pick = |found| match found {
        Found::Transfers(_) | Found::Spans(..) => Some(found),
        _ => None,
    };
    let nothing = |path| OpenError::NoTransfers { path };
    let what = "it holds no report of transfers";
    let (found, mut diagnostics) = gather(paths, pick, nothing, what)?;
    let mut files = Vec::new();
    let mut span_files = Vec::new();
    for found in found {
        match found {
            Found::Spans(path, format) => span_files.push(SpanFile { path, format }),
            other => files.push(other.path().to_owned()),
        }
    }
    let path = paths.first().cloned().unwrap_or_default();
    if files.is_empty() {
        return Err((nothing(path), diagnostics));
    }
    diagnostics.extend(losses_of_recordings(
        span_files.iter().map(|file| &file.path),
    ));
    let (recorded, wrong) = RecordedTransfers::read(&files, &span_files);
    diagnostics.extend(wrong);
    match recorded.reports.is_empty() {
        true => Err((OpenError::AllDamaged { path }, diagnostics)),
        false => Ok((recorded, diagnostics)),
    }
}

impl Experiment {
    /// What agents told of transfers; nothing where it was not opened to be shown.
    pub fn transfers(&self) -> &RecordedTransfers {
        &self.transfers
    }
}

impl RecordedTransfers {
    /// The reports.
    pub fn reports(&self) -> &[Transfers] {
        &self.reports
    }

    /// Reads these reports.
    pub(crate) fn read(files: &[PathBuf], span_files: &[SpanFile]) -> (Self, Vec<Diagnostic>) {
        let mut diagnostics = Vec::new();
        let mut reports = Vec::new();
        for file in files {
            match fs::read(file) {
                Ok(bytes) => {
                    let (read, wrong) = read_transfers(&file.display().to_string(), &bytes);
                    reports.extend(read);
                    diagnostics.extend(wrong);
                }
                Err(cause) => diagnostics.push(unreadable(file, &cause)),
            }
        }
        let span_files = span_files.to_vec();
        (
            Self {
                reports,
                span_files,
            },
            diagnostics,
        )
    }

    /// The rows, `top` of them where it is not 0, and what was wrong with the spans. `progress` is told bytes of spans done
    /// and bytes in all.
    ///
    /// # Errors
    /// Where spans do not fit into memory and the temporary file for them fails: [`crate::SPANS_SPILLED`].
    pub fn report(
        &self,
        top: usize,
        jobs: NonZeroUsize,
        progress: &(dyn Fn(u64, u64) + Sync),
    ) -> io::Result<(Report, Vec<Diagnostic>)> {
        if self.span_files.is_empty() {
            return Ok((Report::new(&self.reports, top), Vec::new()));
        }
        let calls = Calls::of(&self.reports);
        let mark = |span: &Span| Mark::new(calls.mark(span));
        let (traces, diagnostics) =
            span_traces(&self.span_files, &|_| true, Some(&mark), jobs, progress)?;
        let options = SurveyOptions {
            limits: Limits::default(),
            jobs,
            progress: &|_| (),
        };
        let services = service_paths(&survey(traces, options)?);
        let report = Report::on_services(&self.reports, &calls, &services, top);
        Ok((report, diagnostics))
    }
}

/// The paths whose last spans have marks, as `slowpath services` ranks them.
fn service_paths(summary: &Summary) -> ServicePaths {
    let tree = &summary.tree;
    let contexts = ranked(summary, Order::Distance).into_iter().zip(1..);
    let marked = contexts.filter_map(|(id, rank)| {
        let context = tree.get(id);
        let is_marked = context.totals.marks.iter().next().is_some();
        is_marked.then(|| marked_path(rank, context, tree, summary))
    });
    ServicePaths {
        requests: summary.requests,
        latency: summary.latency.get(),
        paths: tree.contexts().len(),
        marked: marked.collect(),
    }
}

fn marked_path(
    rank: usize,
    context: &Context,
    tree: &ContextTree,
    summary: &Summary,
) -> MarkedPath {
    let names = &summary.names;
    let numbers = |marks: &Marks| marks.iter().map(Mark::number).collect();
    let calls = tree.path(context);
    let callers = calls.iter().rev().skip(1);
    let of_service = callers.take_while(|caller| caller.service == context.service);
    let mut above: Vec<Vec<u32>> = of_service
        .map(|caller| numbers(&caller.totals.marks))
        .collect();
    above.reverse();
    let inclusive = context.totals.inclusive.get();
    MarkedPath {
        path: ServicePath {
            rank,
            path: (calls.iter())
                .map(|call| {
                    format!(
                        "{}[{}]",
                        names.text(call.service),
                        names.text(call.operation)
                    )
                })
                .collect(),
            inclusive,
            share: inclusive as f64 / summary.latency.get().max(1) as f64,
        },
        service: names.text(context.service).to_owned(),
        marks: numbers(&context.totals.marks),
        above,
    }
}
