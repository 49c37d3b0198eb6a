//! Parts of one tracing session of LTTng, read as the one trace that they are: what a session leaves that is rotated, and
//! snapshots of it, which may share packets.
//!
//! Streams go on from part to part by what packets state, so that nothing is told of between two parts but what is missing
//! there. Not so where the parts' descriptions contradict each other, as where one was made anew meanwhile.

use std::num::NonZeroUsize;

use slowpath_model::{TimeRange, TracerDomain};
use slowpath_read_ctf::{CtfTrace, StreamFile, metadata};

use crate::OpenedSource;
use crate::open::{map, stream_files};

/// The traces, in the order of the first part of each.
pub(crate) fn joined(traces: Vec<OpenedSource>, jobs: NonZeroUsize) -> Vec<OpenedSource> {
    let mut sessions: Vec<Vec<OpenedSource>> = Vec::new();
    for trace in traces {
        let of_same = sessions.iter_mut().find(|parts| {
            let session = session_of(&parts[0]);
            session.is_some() && session == session_of(&trace)
        });
        match of_same {
            Some(parts) => parts.push(trace),
            None => sessions.push(vec![trace]),
        }
    }
    let joined = sessions.into_iter().flat_map(|mut parts| {
        parts.sort_by_key(|part| (part.begin().is_none(), part.begin()));
        match one_trace(&parts, jobs) {
            Some(trace) => one_source(parts, trace),
            None => parts,
        }
    });
    joined.collect()
}

type Session<'trace> = (
    &'static str,
    &'trace str,
    &'trace str,
    TracerDomain,
    &'trace str,
);

fn session_of(trace: &OpenedSource) -> Option<Session<'_>> {
    let schema = trace.source.schema();
    let is_by_lttng = trace.format.starts_with("CTF") && schema.tracer.starts_with("lttng");
    (is_by_lttng && !schema.session.is_empty()).then_some((
        trace.format,
        &schema.session,
        &schema.tracer,
        schema.domain,
        &schema.host,
    ))
}

fn one_trace(parts: &[OpenedSource], jobs: NonZeroUsize) -> Option<CtfTrace> {
    if parts.len() < 2 {
        return None;
    }
    let mut files: Vec<StreamFile> = Vec::new();
    let mut descriptions = Vec::new();
    for part in parts {
        descriptions.push(map(&part.path.join("metadata")).ok()?);
        // What is wrong with them was told when each part was opened.
        let of_part = stream_files(&part.path, part.recording.as_ref(), &mut Vec::new());
        files.extend(of_part.ok()?);
    }
    let texts: Option<Vec<_>> = (descriptions.iter())
        .map(|description| Some((metadata::text(description).ok()?, description)))
        .collect();
    let texts = texts?;
    // A later part's description goes on where an earlier one ends.
    let (longest, description) = texts.iter().max_by_key(|(text, _)| text.len())?;
    if !texts.iter().all(|(text, _)| longest.starts_with(text)) {
        return None;
    }
    let recorded = parts.iter().map(|part| match &part.recording {
        Some((_, manifest)) => manifest.recorded(),
        None => TimeRange::ALL,
    });
    let recorded = recorded.reduce(TimeRange::hull)?;
    let layout = metadata::parse(description).ok()?.layout;
    Some(CtfTrace::recorded_in(recorded, layout, files, jobs))
}

fn one_source(parts: Vec<OpenedSource>, trace: CtfTrace) -> Vec<OpenedSource> {
    let mut parts = parts.into_iter();
    let Some(mut one) = parts.next() else {
        return Vec::new();
    };
    for part in parts {
        one.snapshots_since = one.snapshots_since.min(part.snapshots_since);
        one.state_dump.extend(part.state_dump);
        one.disk_names.extend(part.disk_names);
        if let Some(notes) = part.quota_notes {
            one.quota_notes.get_or_insert_default().extend(notes);
        }
        one.later_parts.push((part.path, part.recording));
    }
    one.source = Box::new(trace);
    vec![one]
}
