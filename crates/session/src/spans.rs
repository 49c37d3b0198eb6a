//! Files of spans of an experiment: which there are, and reading them.
//!
//! Not mapped like traces: they are read once, from front to end, and often compressed.

use std::fs::File;
use std::path::PathBuf;

use slowpath_model::{Diagnostic, DiagnosticCode, Place};
use slowpath_read_spans::{ReadOptions, SpanFormat, SpanSink, read_spans};

use crate::discover::Found;
use crate::gather::gather;
use crate::open::losses_of_recordings;
use crate::{Experiment, NotOpened, OpenError};

/// A file of spans.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SpanFile {
    /// Where it lies.
    pub path: PathBuf,
    /// Told by its content.
    pub format: SpanFormat,
}

impl SpanFile {
    /// Reads all of its spans; what is wrong is told to `sink` as well.
    pub fn read(&self, options: ReadOptions, sink: &mut dyn SpanSink) {
        let file = self.path.display().to_string();
        match File::open(&self.path) {
            Ok(input) => read_spans(input, &file, options, sink),
            Err(cause) => {
                let place = Place {
                    file,
                    ..Place::default()
                };
                let message = format!("it cannot be opened: {cause}");
                sink.diagnostic(Diagnostic::new(DiagnosticCode::InvalidFile, place, message));
            }
        }
    }
}

impl Experiment {
    /// The files of spans, in the order of the paths given and of their names.
    pub fn span_files(&self) -> &[SpanFile] {
        &self.span_files
    }
}

/// All files of spans at or below `paths`, each once, and what could not be looked into or was lost (paths
/// without any among it); no trace is opened.
///
/// # Errors
/// When none of the paths can be read and holds a file of spans: why the first does not.
pub fn span_files(paths: &[PathBuf]) -> Result<(Vec<SpanFile>, Vec<Diagnostic>), NotOpened> {
    let pick = |found| match found {
        Found::Spans(path, format) => Some(SpanFile { path, format }),
        _ => None,
    };
    let nothing = |path| OpenError::NoSpans { path };
    let what = "it holds no file of spans that slowpath can read";
    let (files, mut diagnostics) = gather(paths, pick, nothing, what)?;
    diagnostics.extend(losses_of_recordings(files.iter().map(|file| &file.path)));
    Ok((files, diagnostics))
}
