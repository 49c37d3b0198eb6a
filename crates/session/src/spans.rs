//! Files of spans of an experiment: which there are, and reading them.
//!
//! Not mapped like traces: they are read once, from front to end, and often compressed.

use std::collections::HashSet;
use std::fs::{self, File};
use std::path::PathBuf;

use slowpath_model::{Diagnostic, DiagnosticCode, Place};
use slowpath_read_spans::{ReadOptions, SpanFormat, SpanSink, read_spans};

use crate::discover::{Found, discover, unreadable};
use crate::open::{damaged, losses_of_recordings};
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
    let mut diagnostics = Vec::new();
    let mut files = Vec::new();
    let mut known = HashSet::new();
    let mut without = Vec::new();
    for path in paths {
        let found = match discover(path, &mut diagnostics) {
            Ok(found) => found,
            Err(cause) => {
                let told = unreadable(path, &cause);
                let path = path.clone();
                without.push((OpenError::Unreadable { path, cause }, told));
                continue;
            }
        };
        let mut found_any = false;
        for found in found {
            if let Found::Spans(path, format) = found {
                found_any = true;
                // A file that is named twice is one file.
                if fs::canonicalize(&path).is_ok_and(|place| known.insert(place)) {
                    files.push(SpanFile { path, format });
                }
            }
        }
        if !found_any {
            let told = damaged(path, "it holds no file of spans that slowpath can read");
            without.push((OpenError::NoSpans { path: path.clone() }, told));
        }
    }
    let mut without = without.into_iter();
    let why = if files.is_empty() {
        without.next()
    } else {
        None
    };
    diagnostics.extend(without.map(|(_, told)| told));
    if let Some((why, _)) = why {
        return Err((why, diagnostics));
    }
    diagnostics.extend(losses_of_recordings(files.iter().map(|file| &file.path)));
    Ok((files, diagnostics))
}
