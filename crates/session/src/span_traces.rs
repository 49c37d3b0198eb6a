//! Files of spans as whole distributed traces, read several files at a time.

use std::fs::File;
use std::io;
use std::num::NonZeroUsize;
use std::path::Path;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use slowpath_model::{Diagnostic, DiagnosticCode, Place};
use slowpath_read_spans::{ReadOptions, Span, SpanSink, read_spans};
use slowpath_services::{Mark, TraceSorter, Traces};

use crate::SpanFile;

/// Spans held in memory by all workers together, about 150 MB; more go through a temporary file.
const MOST_HELD: usize = 1_000_000;

/// Why spans could not be brought together, and what can be done.
pub const SPANS_SPILLED: &str = "spans do not fit into memory, and the temporary file for them failed\n  \
                       hint: let TMPDIR name a folder with room";

type Sorter = TraceSorter<File, fn() -> io::Result<File>>;

/// Whether a span is a request where no span above it is one.
pub type MayBeRequest<'a> = &'a (dyn Fn(&Span) -> bool + Sync);

/// What else is to be known of a span, which has its attributes then.
pub type MarkOf<'a> = &'a (dyn Fn(&Span) -> Mark + Sync);

/// Reads files on several threads into whole distributed traces; what was wrong with them comes in the
/// order of the files. Where `may_be_request` is true of all spans, the first ones of the traces are the requests.
/// Without `mark_of` no attribute is read. `progress` is told bytes done and bytes in all.
///
/// # Errors
/// Where spans do not fit into memory and the temporary file for them fails: [`SPANS_SPILLED`].
pub fn span_traces(
    files: &[SpanFile],
    may_be_request: MayBeRequest<'_>,
    mark_of: Option<MarkOf<'_>>,
    jobs: NonZeroUsize,
    progress: &(dyn Fn(u64, u64) + Sync),
) -> io::Result<(Traces<File>, Vec<Diagnostic>)> {
    let length = |file: &SpanFile| file.path.metadata().map_or(0, |metadata| metadata.len());
    let total = files.iter().map(length).sum();
    let (next, done) = (AtomicUsize::new(0), AtomicU64::new(0));
    let progress = |bytes: usize| {
        let before = done.fetch_add(bytes as u64, Ordering::Relaxed);
        progress(before + bytes as u64, total);
    };
    let jobs = jobs.get().min(files.len()).max(1);
    let work = || {
        let mut intake = Intake {
            sorter: TraceSorter::new(MOST_HELD / jobs, tempfile::tempfile),
            may_be_request,
            mark_of,
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
    let (sorters, found): (Vec<Sorter>, Vec<_>) = parts?.into_iter().unzip();
    let mut found: Vec<_> = found.into_iter().flatten().collect();
    found.sort_by_key(|(number, _)| *number);
    let diagnostics = found.into_iter().flat_map(|(_, found)| found).collect();
    Ok((Traces::merge(sorters)?, diagnostics))
}

/// Takes the spans of files, one after the other.
struct Intake<'run> {
    sorter: Sorter,
    may_be_request: MayBeRequest<'run>,
    mark_of: Option<MarkOf<'run>>,
    /// What became of storing them.
    pushed: io::Result<()>,
    found: Vec<Diagnostic>,
}

impl Intake<'_> {
    fn read(&mut self, path: &Path, progress: &dyn Fn(usize)) {
        let name = path.display().to_string();
        match File::open(path) {
            Ok(file) => {
                let attributes = self.mark_of.is_some();
                let options = ReadOptions { attributes };
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
        if span.has_times() && self.pushed.is_ok() {
            let may_be_request = (self.may_be_request)(&span);
            let mark = self.mark_of.map_or(Mark::NONE, |mark_of| mark_of(&span));
            self.pushed = self.sorter.push(&span, may_be_request, mark);
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
