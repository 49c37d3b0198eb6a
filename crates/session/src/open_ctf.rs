//! Opens a trace of CTF: its description, its streams and their indexes.

use std::fs;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};

use slowpath_model::{Diagnostic, TimeRange};
use slowpath_read_ctf::{CtfTrace, StreamFile, metadata};
use slowpath_source::NamedBytes;

use crate::discover::unreadable;
use crate::open::{files_in, gone_files, is_short, map, missing_stream, no_bytes, opened};
use crate::{Manifest, OpenedSource};

/// The files of a trace of CTF.
pub(crate) struct CtfFiles {
    pub(crate) description: NamedBytes,
    pub(crate) streams: Vec<StreamFile>,
}

pub(crate) fn open_ctf(
    folder: &Path,
    recording: Option<&(PathBuf, Manifest)>,
    jobs: NonZeroUsize,
    diagnostics: &mut Vec<Diagnostic>,
) -> Result<OpenedSource, Diagnostic> {
    let description = map(&folder.join("metadata"))?;
    let metadata = metadata::parse(&description)?;
    diagnostics.extend(metadata.diagnostics);
    let files = stream_files(folder, recording, diagnostics)?;
    // Made by hand, a trace may consist of its description alone.
    let environment = &metadata.layout.environment;
    let names_tracer = environment.iter().any(|(key, _)| key == "tracer_name");
    if files.is_empty() && names_tracer {
        let what = "no stream is there; the description of their events is";
        diagnostics.push(missing_stream(folder, what));
    }
    let format = match metadata.layout.major {
        2 => "CTF 2",
        _ => "CTF 1.8",
    };
    let recorded = recording.map_or(TimeRange::ALL, |(_, manifest)| manifest.recorded());
    let ctf = Some(CtfFiles {
        description,
        streams: files.clone(),
    });
    let trace = CtfTrace::recorded_in(recorded, metadata.layout, files, jobs);
    Ok(OpenedSource {
        ctf,
        ..opened(format, trace)
    })
}

/// The streams of a trace of CTF, those among them of which only an index or the recording tells.
fn stream_files(
    folder: &Path,
    recording: Option<&(PathBuf, Manifest)>,
    diagnostics: &mut Vec<Diagnostic>,
) -> Result<Vec<StreamFile>, Diagnostic> {
    let mut files = Vec::new();
    for path in files_in(folder).map_err(|cause| unreadable(folder, &cause))? {
        let Some(name) = path.file_name().and_then(|name| name.to_str()) else {
            continue;
        };
        if name == "metadata" || name.starts_with('.') {
            continue;
        }
        let index = folder.join("index").join(format!("{name}.idx"));
        match map(&path) {
            Ok(stream) => files.push(StreamFile {
                is_cut_off: is_short(&path, stream.get(), recording),
                stream,
                index: index_at(&index),
            }),
            Err(diagnostic) => diagnostics.push(diagnostic),
        }
    }
    let without_streams = missing_streams(folder);
    let what = "this stream is not there; its index is";
    diagnostics.extend((without_streams.iter()).map(|stream| missing_stream(stream, what)));
    // Of what else is gone the name tells no processor, so that it does not count.
    let mut gone = gone_files(folder, recording);
    gone.extend(without_streams);
    gone.sort();
    gone.dedup();
    files.extend(gone.iter().map(|path| StreamFile {
        stream: no_bytes(path),
        index: None,
        is_cut_off: true,
    }));
    Ok(files)
}

/// An index, if there is one; small ones are not mapped, as there may be thousands and only so many maps.
fn index_at(path: &Path) -> Option<NamedBytes> {
    const SMALL: u64 = 1 << 16;
    match fs::metadata(path).ok().filter(fs::Metadata::is_file)?.len() {
        small if small <= SMALL => {
            let bytes = fs::read(path).ok()?;
            Some(NamedBytes::new(path.display().to_string(), bytes))
        }
        _ => map(path).ok(),
    }
}

/// The streams of a CTF trace that have an index but are not there.
fn missing_streams(folder: &Path) -> Vec<PathBuf> {
    let indexes = files_in(&folder.join("index")).unwrap_or_default();
    let streams = indexes.into_iter().filter_map(|index| {
        let is_index = index
            .extension()
            .is_some_and(|extension| extension == "idx");
        Some(folder.join(index.file_stem().filter(|_| is_index)?))
    });
    streams.filter(|stream| !stream.exists()).collect()
}
