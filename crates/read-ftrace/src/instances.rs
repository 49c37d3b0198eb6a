//! Instances of one file that hold the same events, each of which would count twice.
//!
//! `trace-cmd record` fills as many buffers side by side as it is told to. What one of them holds may be in
//! another one as well; of such buffers the one that covers most time is read.

use std::collections::BTreeMap;

use slowpath_model::{Diagnostic, DiagnosticCode, Place};
use slowpath_source::{Recorded, Source, Stream};

use crate::trace::FtraceTrace;

/// The buffers of `trace` that hold what another one that is longer holds, each with what is to be said of it.
pub(crate) fn recorded_twice(trace: &FtraceTrace) -> Vec<(u32, Diagnostic)> {
    let mut streams: BTreeMap<u32, Vec<&Stream>> = BTreeMap::new();
    for stream in trace.streams() {
        streams.entry(stream.buffer).or_default().push(stream);
    }
    if streams.len() < 2 {
        return Vec::new();
    }
    let mut buffers: Vec<Buffer<'_>> = (streams.into_iter())
        .map(|(number, streams)| Buffer {
            number,
            name: name(&streams),
            recorded: Recorded::new(trace, streams),
        })
        .collect();
    // A stable order: of those that are as long the first one.
    buffers.sort_by_key(|buffer| std::cmp::Reverse(buffer.recorded.whole().length()));
    let (mut kept, mut left_out): (Vec<Buffer<'_>>, Vec<_>) = (Vec::new(), Vec::new());
    for buffer in buffers {
        let holds_same =
            |known: &&Buffer<'_>| known.recorded.holds_same(&buffer.recorded, |_| true);
        match kept.iter().find(holds_same) {
            Some(known) => left_out.push((buffer.number, buffer.told(known))),
            None => kept.push(buffer),
        }
    }
    left_out
}

struct Buffer<'trace> {
    number: u32,
    name: String,
    recorded: Recorded<'trace>,
}

impl Buffer<'_> {
    fn told(&self, read: &Self) -> Diagnostic {
        let (own, other) = (self.recorded.whole(), read.recorded.whole());
        let what = format!(
            "{} holds the same events of the same processors during {:.3} s of its {:.3} s; that one is read",
            read.name,
            own.intersect(other).length().0 as f64 / 1e9,
            own.length().0 as f64 / 1e9,
        );
        let place = Place {
            file: self.name.clone(),
            ..Place::default()
        };
        Diagnostic::new(DiagnosticCode::RecordedTwice, place, what)
    }
}

/// What the names of a buffer's streams begin with: the file, and the instance where it is one.
fn name(streams: &[&Stream]) -> String {
    let name = streams.first().map_or("", |stream| stream.name.as_str());
    let (name, _cpu) = name.rsplit_once("cpu").unwrap_or((name, ""));
    name.trim_end_matches(['/', ':']).to_owned()
}
