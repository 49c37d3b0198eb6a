//! Streams of kernels that lack their ends, as their last packets and other streams tell.
//!
//! Said only where all traces are known: a later part of a session may go on with a stream that looks so.

use slowpath_model::{Diagnostic, DiagnosticCode, Place, Timestamp};
use slowpath_source::{Packet, Source, Stream};

use crate::OpenedSource;

/// What is missing, one diagnostic per trace.
pub(crate) fn missing_ends(traces: &[OpenedSource]) -> Vec<Diagnostic> {
    let told = traces.iter().filter_map(|trace| {
        let source = &*trace.source;
        let others = traces.iter().map(|other| &*other.source);
        let parts: Vec<&dyn Source> = others
            .filter(|other| is_of_same_session(source, *other))
            .collect();
        let missing = |stream: &&Stream| {
            stream.may_go_on && !parts.iter().any(|part| goes_on_in(*part, source, stream))
        };
        told(source, source.streams().iter().filter(missing))
    });
    told.collect()
}

fn is_of_same_session(source: &dyn Source, other: &dyn Source) -> bool {
    let [session, of_other] = [source, other].map(|source| &source.schema().session);
    !session.is_empty() && session == of_other
}

/// Whether `part` has the packet behind the last one of the stream.
fn goes_on_in(part: &dyn Source, source: &dyn Source, stream: &Stream) -> bool {
    let next = last(source, stream).and_then(|last| last.number?.checked_add(1));
    next.is_some()
        && part.streams().iter().any(|other| {
            let first = part.packets().get(other.packets.start as usize);
            let first = first.filter(|_| !other.packets.is_empty());
            other.is_part_of_same(stream) && first.and_then(|first| first.number) == next
        })
}

fn last<'source>(source: &'source dyn Source, stream: &Stream) -> Option<&'source Packet> {
    let packets = stream.packets.start as usize..stream.packets.end as usize;
    source.packets().get(packets)?.last()
}

fn told<'source>(
    source: &'source dyn Source,
    missing: impl Iterator<Item = &'source Stream>,
) -> Option<Diagnostic> {
    let missing: Vec<(Timestamp, &str)> = missing
        .filter_map(|stream| Some((stream.cut_off_at?, &*stream.name)))
        .collect();
    let (end, name) = *missing.iter().min_by_key(|(end, _)| *end)?;
    let ends = source
        .streams()
        .iter()
        .filter_map(|stream| last(source, stream));
    let latest = ends.map(|last| last.range.end).max()?;
    let mut what = format!(
        "its last packet is full and ends {:.3} s before the latest stream does; what followed is missing",
        latest.since(end).0 as f64 / 1e9
    );
    if missing.len() > 1 {
        what += &format!(", in {} streams like this", missing.len());
    }
    let place = Place {
        file: name.to_owned(),
        at: Some(end),
        ..Place::default()
    };
    Some(Diagnostic {
        count: Some(missing.len() as u64),
        ..Diagnostic::new(DiagnosticCode::MissingEnd, place, what)
    })
}
