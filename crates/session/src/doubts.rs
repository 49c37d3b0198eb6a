//! What is doubtful about the times of a trace when its streams are compared.
//!
//! Readers leave out what contradicts itself. Here is what may be true and mostly is not; it is told, and
//! nothing else is done about it.

use slowpath_model::{Diagnostic, DiagnosticCode, Event, Place, Projection, TimeRange, Timestamp};
use slowpath_source::{Packet, Source};

/// Nothing shorter is worth a word.
const SHORTEST_NS: i64 = 10_000_000_000;
/// How many times as long as everything else.
const TIMES_AS_LONG: i64 = 4;

/// What is doubtful about `trace`.
pub(crate) fn doubts(trace: &dyn Source) -> Vec<Diagnostic> {
    let mut found = lonely_times(trace);
    found.extend(unnumbered_begins(trace));
    found
}

/// Streams that begin or end far from all other packets, with an empty time in between.
fn lonely_times(trace: &dyn Source) -> Vec<Diagnostic> {
    let packets = trace.packets();
    let hull_without = |left_out: &Packet| {
        let others = packets.iter().filter(|packet| packet.id != left_out.id);
        others.map(|packet| packet.range).reduce(TimeRange::hull)
    };
    let streams = trace
        .streams()
        .iter()
        .filter(|stream| !stream.packets.is_empty());
    let is_lonely = |packet: &&Packet| {
        let Some(others) = hull_without(packet) else {
            return false;
        };
        let length = distance(others.begin, others.end);
        let far = length.saturating_mul(TIMES_AS_LONG).max(SHORTEST_NS);
        let is_far = distance(packet.range.begin, others.begin) > far
            || distance(others.end, packet.range.end) > far;
        is_far && longest_silence(trace, packet) > far
    };
    let earliest = packets.iter().map(|packet| packet.range.begin).min();
    let latest = packets.iter().map(|packet| packet.range.end).max();
    let outer = streams.flat_map(|stream| {
        let ends = [stream.packets.start, stream.packets.end - 1];
        let count = if ends[0] == ends[1] { 1 } else { 2 };
        ends.into_iter().take(count)
    });
    let outer = outer
        .map(|position| &packets[position as usize])
        .filter(|packet| Some(packet.range.begin) == earliest || Some(packet.range.end) == latest);
    let lonely = outer.filter(is_lonely).map(|packet| {
        let place = Place {
            file: trace.streams()[packet.stream.index()].name.clone(),
            byte: Some(packet.offset),
            at: Some(packet.range.begin),
            ..Place::default()
        };
        let what = format!(
            "the packet goes from {} to {} (nanoseconds), far beyond everything else, and is silent most of that time",
            packet.range.begin.ns(),
            packet.range.end.ns()
        );
        Diagnostic::new(DiagnosticCode::UnlikelyTime, place, what)
    });
    lonely.collect()
}

/// The longest time in a packet without an event.
fn longest_silence(trace: &dyn Source, packet: &Packet) -> i64 {
    let classes = trace.schema().event_classes.len();
    let (mut longest, mut last) = (0, packet.range.begin);
    let mut note = |event: &Event<'_>| {
        longest = distance(last, event.at).max(longest);
        last = event.at;
    };
    let decoder = trace.decoder(&Projection::every_event(classes));
    decoder.decode(packet.id, &mut note);
    longest.max(distance(last, packet.range.end))
}

fn distance(from: Timestamp, to: Timestamp) -> i64 {
    to.ns().saturating_sub(from.ns())
}

/// Processors whose streams begin late where nothing tells whether packets are missing before.
fn unnumbered_begins(trace: &dyn Source) -> Option<Diagnostic> {
    let packets = trace.packets();
    let is_numbered = packets.iter().any(|packet| packet.number.is_some());
    let schema = trace.schema();
    // Applications come and go, processors do not.
    if is_numbered || schema.tracer != "lttng-modules" {
        return None;
    }
    let whole = packets
        .iter()
        .map(|packet| packet.range)
        .reduce(TimeRange::hull)?;
    let late = |at: Timestamp| distance(whole.begin, at);
    let streams = trace
        .streams()
        .iter()
        .filter(|stream| !stream.packets.is_empty());
    let begins = streams.map(|stream| {
        let first = &packets[stream.packets.start as usize];
        (late(first.range.begin), &stream.name)
    });
    let begins: Vec<_> = begins
        .filter(|(late, _)| *late > distance(whole.begin, whole.end) / 10)
        .collect();
    let (latest, stream) = begins.iter().max()?;
    let place = Place {
        file: (*stream).clone(),
        ..Place::default()
    };
    let what = format!(
        "{} of {} streams begin later than the first one, this one {:.3} s, and nothing tells whether packets are missing before",
        begins.len(),
        trace.streams().len(),
        *latest as f64 / 1e9
    );
    Some(Diagnostic {
        count: Some(begins.len() as u64),
        ..Diagnostic::new(DiagnosticCode::UnknownBegin, place, what)
    })
}

#[cfg(test)]
mod tests {
    use slowpath_drawn::DrawnTrace;

    use super::*;

    fn check(text: &str, expected: &[&str]) {
        let found = doubts(&DrawnTrace::parse(text).expect("a trace"));
        let found: Vec<_> = (found.iter())
            .map(|found| format!("{} {}", found.code.name(), found.place.file))
            .collect();
        assert_eq!(found, expected, "{text}");
    }

    #[test]
    fn streams_without_numbers_that_begin_late_may_lack_packets() {
        let text = "cpu0 10 tick\ncpu0 1000 tick\ncpu1 500 tick\ncpu1 900 tick";
        check(text, &[]);
        let of_lttng = format!("-- environment tracer_name=lttng-modules\n{text}");
        check(&of_lttng, &["UnknownBegin cpu1"]);
        check(&of_lttng.replace("500", "50"), &[]);
    }

    #[test]
    fn a_long_silence_at_either_end_of_a_trace_is_doubted() {
        let check = |events: &[(&str, i64)], expected: &[&str]| {
            let lines = events.iter();
            let lines = lines.map(|(stream, second)| format!("{stream} {second}000000000 tick\n"));
            check(&lines.collect::<String>(), expected);
        };
        check(&[("cpu0", 1), ("cpu0", 9), ("cpu1", 2), ("cpu1", 8)], &[]);
        let late = [("cpu0", 1), ("cpu0", 9), ("cpu1", 2), ("cpu1", 90)];
        check(&late, &["UnlikelyTime cpu1"]);
        let early = [("cpu0", 1), ("cpu0", 91), ("cpu1", 90), ("cpu1", 92)];
        check(&early, &["UnlikelyTime cpu0"]);
        // It may be just a long trace, of which one processor has most.
        check(&[("cpu0", 1), ("cpu0", 9), ("cpu1", 2), ("cpu1", 30)], &[]);
        check(&[("cpu0", 1), ("cpu0", 100)], &[]);
    }
}
