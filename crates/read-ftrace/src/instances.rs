//! Instances of one file that hold the same events, each of which would count twice.
//!
//! `trace-cmd record` fills as many buffers side by side as it is told to. What one of them holds may be in
//! another one as well; of such buffers the one that covers most time is read.

use std::collections::BTreeMap;

use slowpath_model::{Diagnostic, DiagnosticCode, Nanoseconds, Place};
use slowpath_source::{Recorded, Shared, Source, Stream, without_kinds};

use crate::trace::FtraceTrace;

/// Each instance may have a clock of its own; those that count from the start of the machine drift apart.
const CLOCKS_APART: Nanoseconds = Nanoseconds(1_000_000_000);

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
        let same = kept.iter().find_map(|known| {
            let shared = known.recorded.shared(&buffer.recorded, CLOCKS_APART);
            let is_same = shared.values().any(|of_name| of_name.is_most());
            is_same.then(|| buffer.told(known, &shared))
        });
        match same {
            Some(told) => left_out.push((buffer.number, told)),
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
    fn told(&self, read: &Self, shared: &BTreeMap<&str, Shared>) -> Diagnostic {
        let (own, other) = (self.recorded.whole(), read.recorded.whole());
        let lost = shared.iter().filter(|(_, of_name)| !of_name.is_most());
        let lost = without_kinds(lost.map(|(name, _)| *name));
        let what = format!(
            "{} holds the same events of the same processors during {:.3} s of its {:.3} s; that one is read{lost}",
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
