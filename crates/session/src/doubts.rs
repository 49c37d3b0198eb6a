//! What is doubtful about the times of a trace when its streams are compared.
//!
//! Readers leave out what contradicts itself. Here is what may be true and mostly is not; it is told, and
//! nothing else is done about it.

use std::collections::BTreeSet;

use slowpath_model::{
    Diagnostic, DiagnosticCode, Event, PacketId, Place, Projection, StreamId, TimeRange, Timestamp,
};
use slowpath_source::{Packet, Source};

use crate::OpenedSource;

/// Nothing shorter is worth a word.
const SHORTEST_NS: i64 = 10_000_000_000;
/// How many times as long as everything else.
const TIMES_AS_LONG: i64 = 4;

/// What is doubtful about `trace`.
pub(crate) fn doubts(trace: &dyn Source) -> Vec<Diagnostic> {
    lonely_times(trace)
        .into_iter()
        .chain(unnumbered_begins(trace))
        .collect()
}

/// Says so where some traces have the times of a clock without an epoch, and others do not.
pub(crate) fn mixed_clocks(traces: &[OpenedSource]) -> Option<Diagnostic> {
    /// No tracer is older: earlier times are of a clock that counts from the machine's start.
    const THIS_CENTURY: Timestamp = Timestamp::from_ns(978_307_200_000_000_000);
    let begin = |trace: &OpenedSource| {
        let packets = trace.source.packets().iter();
        packets.map(|packet| packet.range.begin).min()
    };
    let begins = || (traces.iter()).filter_map(|trace| Some((trace, begin(trace)?)));
    let (without, _) = begins().find(|(_, begin)| *begin < THIS_CENTURY)?;
    let (with, _) = begins().find(|(_, begin)| *begin >= THIS_CENTURY)?;
    let place = Place {
        file: without.path.display().to_string(),
        ..Place::default()
    };
    let what = format!(
        "its times do not count from the epoch, those of {} do",
        with.path.display()
    );
    Some(Diagnostic::new(DiagnosticCode::MixedClocks, place, what))
}

/// A stream that alone has something before or after a silence which takes far longer than all the rest.
fn lonely_times(trace: &dyn Source) -> Option<Diagnostic> {
    let packets = trace.packets();
    let ranges = packets.iter().map(|packet| packet.range);
    let whole = ranges.reduce(TimeRange::hull)?;
    let length = distance(whole.begin, whole.end);
    if length <= SHORTEST_NS || packets.len() < 2 {
        return None;
    }
    let middle = Timestamp::from_ns(whole.begin.ns().saturating_add(length / 2));
    // Such a silence is most of the trace, so that it lies in the middle.
    let most_around = length / TIMES_AS_LONG;
    let is_around = |at: Timestamp| distance(middle, at).saturating_abs() < most_around;
    let mut sides = [Side::default(), Side::default()];
    let mut add = |packet: &Packet, at: Timestamp| {
        sides[usize::from(at > middle)].add(packet, distance(middle, at).saturating_abs());
    };
    let is_across = |packet: &&Packet| packet.range.begin <= middle && middle < packet.range.end;
    for packet in packets {
        let is_wholly_around = is_around(packet.range.begin) && is_around(packet.range.end);
        if is_wholly_around {
            return None;
        }
        add(packet, packet.range.begin);
        add(packet, packet.range.end);
    }
    let decoder = trace.decoder(&Projection::every_event(trace.schema().event_classes.len()));
    for packet in packets.iter().filter(is_across) {
        let mut has_around = false;
        let mut note = |event: &Event<'_>| {
            has_around |= is_around(event.at);
            add(packet, event.at);
        };
        decoder.decode(packet.id, &mut note);
        if has_around {
            return None;
        }
    }
    let [early, late] = sides;
    let silence = early.nearest?.0.saturating_add(late.nearest?.0);
    let far = length.saturating_sub(silence).saturating_mul(TIMES_AS_LONG);
    if silence <= far.max(SHORTEST_NS) {
        return None;
    }
    // Where several streams have something on both sides, they confirm each other.
    let of_one_stream = [early, late]
        .into_iter()
        .filter(|side| side.streams.len() == 1);
    let lonely = of_one_stream.min_by_key(|side| side.times)?;
    let packet = &packets[lonely.nearest?.1.index()];
    let place = Place {
        file: trace.streams()[packet.stream.index()].name.clone(),
        byte: Some(packet.offset),
        at: Some(packet.range.begin),
        ..Place::default()
    };
    let what = format!(
        "the packet goes from {} to {} (nanoseconds); {:.3} s are between this stream and all else, in which \
         nothing happens",
        packet.range.begin.ns(),
        packet.range.end.ns(),
        silence as f64 / 1e9
    );
    Some(Diagnostic::new(DiagnosticCode::UnlikelyTime, place, what))
}

/// What happens before the middle of a trace, or after it.
#[derive(Default)]
struct Side {
    /// What is nearest to the middle: how far from it in nanoseconds, and of which packet.
    nearest: Option<(i64, PacketId)>,
    streams: BTreeSet<StreamId>,
    /// How many times were seen there.
    times: usize,
}

impl Side {
    fn add(&mut self, packet: &Packet, from_middle: i64) {
        if self.nearest.is_none_or(|(known, _)| from_middle < known) {
            self.nearest = Some((from_middle, packet.id));
        }
        self.streams.insert(packet.stream);
        self.times += 1;
    }
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
        // Two streams are right together.
        let both = [("cpu0", 1), ("cpu0", 90), ("cpu1", 2), ("cpu1", 90)];
        check(&both, &[]);
    }

    #[test]
    fn a_long_silence_between_packets_is_doubted() {
        let mut text = String::new();
        for second in [1, 3, 5, 3_605, 3_606] {
            text += &format!("cpu0 {second}000000000 tick\n-- packet cpu0\n");
            text += &format!("cpu1 {}500000000 tick\n-- packet cpu1\n", second.min(9));
        }
        check(&text, &["UnlikelyTime cpu0"]);
    }
}
