//! Processors of which a kernel trace has no stream though threads were sent there: their files are gone, or nothing
//! was recorded there.
//!
//! A wake-up or a migration names the processor. A sample of the trace's packets is looked at: of a processor that
//! takes part in anything they tell. Nothing is said of processors whose streams are there, empty or not.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use slowpath_concepts::{Concepts, Fact, FactKind};
use slowpath_model::{
    CpuId, Diagnostic, DiagnosticCode, Event, PacketId, Place, TimeRange, Timestamp,
};
use slowpath_source::{Packet, ROTATION, Source, Stream};

use crate::retold::Retold;

/// A sample is so small a part of a trace,
const PART: u64 = 256;
/// and of small traces no less than so many bytes.
const LEAST_BYTES: u64 = 1 << 20;

/// The trace at `path` with a stream for each processor that is missing, of which nothing is left. That is told where
/// the trace `may_lack_files`: else nothing was recorded there.
pub(crate) fn noted(path: &Path, source: Box<dyn Source>, may_lack_files: bool) -> Box<dyn Source> {
    let missing = missing(&*source);
    if missing.is_empty() {
        return source;
    }
    let times: usize = missing.values().sum();
    let cpus: Vec<String> = missing.keys().map(CpuId::to_string).collect();
    let message = format!(
        "threads were sent to processors of which there is no stream ({}): {times} times in a sample",
        cpus.join(", ")
    );
    let place = Place {
        file: path.display().to_string(),
        ..Place::default()
    };
    let told = Diagnostic {
        count: Some(missing.len() as u64),
        ..Diagnostic::new(DiagnosticCode::MissingProcessor, place, message)
    };
    let (begin, end) = (whole(&*source).begin, source.packets().len() as u32);
    let empty = missing.keys().map(|cpu| Stream {
        name: format!("{}/cpu{cpu}", path.display()),
        cpu: Some(*cpu),
        packets: end..end,
        buffer: 0,
        cut_off_at: Some(begin),
    });
    let streams = source.streams().iter().cloned().chain(empty);
    let told = may_lack_files.then_some(told);
    let diagnostics = source.diagnostics().iter().cloned().chain(told);
    Box::new(Retold {
        schema: None,
        streams: Some(streams.collect()),
        diagnostics: Some(diagnostics.collect()),
        source,
    })
}

/// How often the sample tells of each missing processor.
fn missing(source: &dyn Source) -> BTreeMap<CpuId, usize> {
    const SENT: [FactKind; 3] = [FactKind::Wakeup, FactKind::WakeupNew, FactKind::Migrate];
    let concepts = Concepts::resolve(source.schema(), &SENT);
    let of_streams = source.streams().iter().filter_map(|stream| stream.cpu);
    let of_packets = source.packets().iter().filter_map(|packet| packet.cpu);
    let known: BTreeSet<CpuId> = of_streams.chain(of_packets).collect();
    let mut missing = BTreeMap::new();
    let tells_cpu = |packet: &Packet| packet.cpu.is_some();
    if !SENT.into_iter().any(|kind| concepts.has(kind)) || !source.packets().iter().all(tells_cpu) {
        return missing;
    }
    let end = whole(source).end;
    let mut note = |event: &Event<'_>| {
        let sent_to = match concepts.fact(event) {
            Some(Fact::Wakeup { target, .. }) => target,
            Some(Fact::Migrate { to, .. }) => Some(to),
            _ => None,
        };
        // What is about to happen when recording ends need not have happened.
        if let Some(cpu) = sent_to.filter(|cpu| !known.contains(cpu))
            && event.at + ROTATION < end
        {
            *missing.entry(cpu).or_default() += 1;
        }
    };
    let decoder = source.decoder(concepts.projection());
    for packet in sample(source) {
        decoder.decode(packet, &mut note);
    }
    missing
}

/// Packets from the middle of each stream, in turn: where a trace begins, others states are dumped.
fn sample(source: &dyn Source) -> Vec<PacketId> {
    let packets = source.packets();
    let size: u64 = packets.iter().map(|packet| packet.size).sum();
    let mut left = (size / PART).max(LEAST_BYTES);
    let longest = source.streams().iter().map(|stream| stream.packets.len());
    let mut found = Vec::new();
    for turn in 0..longest.max().unwrap_or(0) {
        for stream in source.streams() {
            let length = stream.packets.len();
            if turn >= length {
                continue;
            }
            let from_begin = (length / 2 + turn) % length;
            let packet = &packets[stream.packets.start as usize + from_begin];
            found.push(packet.id);
            left = left.saturating_sub(packet.size);
            if left == 0 {
                return found;
            }
        }
    }
    found
}

/// From the first packet's begin to the last one's end.
fn whole(source: &dyn Source) -> TimeRange {
    let ranges = source.packets().iter().map(|packet| packet.range);
    let none = TimeRange::new(Timestamp::MIN, Timestamp::MIN);
    ranges.reduce(TimeRange::hull).unwrap_or(none)
}

#[cfg(test)]
mod tests {
    use slowpath_drawn::DrawnTrace;

    use super::*;

    /// Wakes threads on processor 0; the trace goes on for a second.
    fn missing_of(lines: &str) -> Vec<u32> {
        let text = format!("{lines}\ncpu0 1000000000 tick");
        let trace = DrawnTrace::parse(&text).expect("a trace");
        let missing = noted(Path::new("trace"), Box::new(trace), true);
        let told = missing.diagnostics().iter();
        let told = told.filter(|told| told.code == DiagnosticCode::MissingProcessor);
        let gone = missing.streams().iter();
        let gone = gone.filter(|stream| stream.cut_off_at.is_some());
        let cpus: Vec<u32> = gone.filter_map(|stream| Some(stream.cpu?.0)).collect();
        assert_eq!(told.count(), usize::from(!cpus.is_empty()), "{lines}");
        cpus
    }

    #[test]
    fn where_no_file_can_be_missing_nothing_is_told() {
        let text = "cpu0 10 sched_wakeup comm=a tid=7 target_cpu=1\ncpu0 1000000000 tick";
        let trace = DrawnTrace::parse(text).expect("a trace");
        let noted = noted(Path::new("trace"), Box::new(trace), false);
        assert_eq!((noted.streams().len(), noted.diagnostics()), (2, &[][..]));
    }

    #[test]
    fn processors_that_threads_were_sent_to_and_that_have_no_stream_are_missing() {
        let check = |lines: &str, expected: &[u32]| {
            assert_eq!(missing_of(lines), expected, "{lines}");
        };
        let woken = |cpu| format!("cpu0 10 sched_wakeup comm=a tid=7 target_cpu={cpu}\n");
        let moved = "cpu0 20 sched_migrate_task comm=a tid=7 prio=1 orig_cpu=0 dest_cpu=3";
        check(&woken(0), &[]);
        check(&woken(1), &[1]);
        check(&(woken(1) + moved), &[1, 3]);
        check(&(woken(1) + "cpu1 30 tick"), &[]);
        // As recording ends the processor need not have had the time.
        check(&woken(1).replace("cpu0 10", "cpu0 999000000"), &[]);
        // Not every kernel tells the processor, and not every trace.
        check("cpu1 10 sched_wakeup comm=a tid=7", &[]);
        check(&(woken(1) + "other 10 tick"), &[]);
    }
}
