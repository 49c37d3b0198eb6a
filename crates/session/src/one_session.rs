//! Parts of one tracing session of LTTng, read as the one trace that they are: what a session leaves that is rotated, and
//! snapshots of it, which may share packets.
//!
//! Streams go on from part to part by what packets state, so that nothing is told of between two parts but what is missing
//! there. Not so where the parts' descriptions contradict each other, as where one was made anew meanwhile.

use std::num::NonZeroUsize;

use slowpath_model::{TimeRange, TracerDomain};
use slowpath_read_ctf::{CtfTrace, metadata};
use slowpath_source::NamedBytes;

use crate::OpenedSource;

/// Parts whose descriptions go on from each other.
struct Parts {
    parts: Vec<OpenedSource>,
    /// The longest description, and its text where there are several parts that may be one.
    description: Option<NamedBytes>,
    text: Vec<u8>,
}

/// The traces, in the order of the first part of each.
pub(crate) fn joined(traces: Vec<OpenedSource>, jobs: NonZeroUsize) -> Vec<OpenedSource> {
    let mut sessions: Vec<Vec<OpenedSource>> = Vec::new();
    for trace in traces {
        let of_same = (sessions.iter_mut()).find(|parts| are_of_one(&parts[0], &trace));
        match of_same {
            Some(parts) => parts.push(trace),
            None => sessions.push(vec![trace]),
        }
    }
    let joined = sessions.into_iter().flat_map(|mut parts| {
        parts.sort_by_key(|part| (part.begin().is_none(), part.begin()));
        let mut traces = Vec::new();
        for described in by_description(parts) {
            traces.extend(one_source(described, jobs));
        }
        traces
    });
    joined
        .map(|trace| OpenedSource { ctf: None, ..trace })
        .collect()
}

/// Whether they will be one trace, unless their descriptions contradict each other.
pub(crate) fn are_of_one(first: &OpenedSource, second: &OpenedSource) -> bool {
    let session = session_of(first);
    session.is_some() && session == session_of(second)
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

/// The parts of a session by what their events are described by: a later one's description goes on where an earlier one's
/// ends, unless it was made anew meanwhile.
fn by_description(parts: Vec<OpenedSource>) -> Vec<Parts> {
    let are_several = parts.len() > 1;
    let mut found: Vec<Parts> = Vec::new();
    for part in parts {
        let description = part.ctf.as_ref().map(|files| files.description.clone());
        let text = (description.as_ref().filter(|_| are_several))
            .and_then(|description| Some(metadata::text(description).ok()?.into_owned()));
        let Some(text) = text else {
            found.push(Parts {
                parts: vec![part],
                description,
                text: Vec::new(),
            });
            continue;
        };
        let goes_on = |known: &&mut Parts| {
            !known.text.is_empty()
                && (known.text.starts_with(&text) || text.starts_with(&known.text))
        };
        // Not over a part of another description: what lies in that one would be missing between its neighbours.
        match found.last_mut().filter(goes_on) {
            Some(known) => {
                known.parts.push(part);
                if known.text.len() < text.len() {
                    (known.description, known.text) = (description, text);
                }
            }
            None => found.push(Parts {
                parts: vec![part],
                description,
                text,
            }),
        }
    }
    found
}

fn one_trace(
    parts: &[OpenedSource],
    description: &NamedBytes,
    jobs: NonZeroUsize,
) -> Option<CtfTrace> {
    let files = parts.iter().filter_map(|part| part.ctf.as_ref());
    let files = files.flat_map(|files| files.streams.iter().cloned());
    let recorded = parts.iter().map(|part| match &part.recording {
        Some((_, manifest)) => manifest.recorded(),
        None => TimeRange::ALL,
    });
    let recorded = recorded.reduce(TimeRange::hull)?;
    let layout = metadata::parse(description).ok()?.layout;
    Some(CtfTrace::recorded_in(
        recorded,
        layout,
        files.collect(),
        jobs,
    ))
}

fn one_source(described: Parts, jobs: NonZeroUsize) -> Vec<OpenedSource> {
    let Parts {
        parts, description, ..
    } = described;
    let several = description.filter(|_| parts.len() > 1);
    let Some(trace) = several.and_then(|description| one_trace(&parts, &description, jobs)) else {
        return parts;
    };
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
