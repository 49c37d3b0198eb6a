//! Pass 2 over everything: joins the pieces of every processor, then puts each thread's runs and
//! wake-ups from all processors together in the order of time.
//!
//! Both in parallel, processor by processor and thread by thread. Lines are written to a shelf as
//! they come, so that memory does not grow with them.

use std::collections::{BTreeMap, BTreeSet};
use std::num::NonZeroUsize;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};

use rustc_hash::{FxHashMap, FxHashSet};
use slowpath_engine::Cancelled;
use slowpath_model::{CpuId, StreamId, ThreadId};
use slowpath_platform::{Kept, Shelf};

use super::entry::{Interruption, Run, Stage, Wake, Waker};
use super::gather::{Name, Piece};
use super::in_order::InOrder;
use super::join::{Join, Joined, Placed};
use super::packets::packets;
use super::record::{Call, Word};
use super::segment::Share;
use super::told::SwitchesTold;
use super::{CpuLine, Known, ThreadLine, Timelines};

/// How pass 2 works.
#[derive(Clone, Copy)]
pub(super) struct Assembly<'run> {
    pub(super) known: Known,
    pub(super) shelf: &'run Shelf,
    pub(super) jobs: NonZeroUsize,
    pub(super) cancel: Option<&'run AtomicBool>,
}

impl Assembly<'_> {
    /// Builds the time lines; `is_interleaved` tells of which processors several streams tell at a
    /// time, and traces that are read as one begin with the streams `traces`.
    pub(super) fn assemble(
        self,
        mut pieces: Vec<Piece>,
        is_interleaved: impl Fn(CpuId) -> bool + Sync,
        traces: &[StreamId],
        calls: Vec<String>,
    ) -> Result<Timelines, Cancelled> {
        let mut processes: Vec<_> = (pieces.iter())
            .flat_map(|piece| piece.processes.iter().copied())
            .collect();
        processes.sort_unstable();
        processes.dedup_by_key(|(thread, _, process)| (*thread, *process));

        // A thread calls itself as the innermost does.
        let inside: BTreeSet<_> = (pieces.iter())
            .flat_map(|piece| piece.inside.iter().copied())
            .collect();
        let mut of_kernel: FxHashSet<ThreadId> = (pieces.iter())
            .flat_map(|piece| piece.of_kernel.iter().copied())
            .collect();
        let of_programs: FxHashSet<ThreadId> = (pieces.iter())
            .flat_map(|piece| piece.of_programs.iter().copied())
            .collect();
        // Numbers are given again.
        of_kernel.retain(|thread| !of_programs.contains(thread));
        let segments = (pieces.iter_mut()).map(|piece| std::mem::take(&mut piece.segments));
        let segments = segments.filter(|rows| !rows.is_empty()).collect();

        let switches = SwitchesTold::by(&pieces, traces);
        let mut by_cpu: BTreeMap<CpuId, Vec<Piece>> = BTreeMap::new();
        for piece in pieces {
            by_cpu.entry(piece.cpu).or_default().push(piece);
        }
        let join = Join {
            begin: self.known.begin,
            end: self.known.end,
            packets_recorded: self.known.packets,
            switches: &switches,
            shelf: self.shelf,
        };
        let mut joined = self.in_parallel(by_cpu.into_iter().collect(), |(cpu, pieces)| {
            join.join(cpu, pieces, is_interleaved(cpu))
        })?;
        let names = names(&mut joined);
        let packets = packets(&joined, self.shelf, self.known.headers);
        let interruptions = self.in_parallel(joined.iter().collect(), |one| {
            self.interruptions(&one.segments)
        })?;
        let unknown =
            self.in_parallel(joined.iter().collect(), |one| self.unknown(&one.segments))?;
        let (threads, lines) = self.threads(&joined)?;

        let mut lost: Vec<(i64, i64)> = (joined.iter())
            .flat_map(|one| &one.segments)
            .flat_map(|placed| {
                let floor = placed.floor;
                let lost = placed.segment.lost.iter();
                lost.map(move |(begin, end)| (*begin.max(&floor), *end.max(&floor)))
            })
            .collect();
        lost.sort_unstable();
        let mut lines = Timelines {
            known: self.known,
            lost: apart(lost),
            switches: switches.times(),
            names,
            processes,
            segments,
            cpus: (joined.into_iter())
                .zip(interruptions.into_iter().zip(unknown).zip(packets))
                .map(|(one, ((interruptions, unknown), packets))| CpuLine {
                    cpu: one.cpu,
                    interruptions,
                    unknown,
                    deliveries: packets.deliveries,
                    sendings: packets.sendings,
                    irq_names: one.irq_names,
                })
                .collect(),
            position: threads.iter().copied().zip(0..).collect(),
            threads,
            lines,
            calls,
            of_kernel,
            of_programs,
            inside: FxHashMap::default(),
            threads_inside: FxHashMap::default(),
            sleeping_without_calls: OnceLock::new(),
            hand_overs: OnceLock::new(),
        };
        let mut inside = inside.into_iter().rev().peekable();
        while let Some((thread, level, process_there, there)) = inside.next() {
            lines.add_inside(thread, process_there, there);
            while (inside.next_if(|(other, above, ..)| *other == thread && *above < level))
                .is_some()
            {}
        }
        Ok(lines)
    }

    /// Does `work` with all items, several at a time; the results are in the order of the items.
    fn in_parallel<Item: Send, Done: Send>(
        self,
        items: Vec<Item>,
        work: impl Fn(Item) -> Done + Sync,
    ) -> Result<Vec<Done>, Cancelled> {
        let slots: Vec<Mutex<(Option<Item>, Option<Done>)>> = (items.into_iter())
            .map(|item| Mutex::new((Some(item), None)))
            .collect();
        let next = AtomicUsize::new(0);
        let take_turns = || {
            while let Some(slot) = slots.get(next.fetch_add(1, Ordering::Relaxed)) {
                if self.cancel.is_some_and(|flag| flag.load(Ordering::Relaxed)) {
                    return;
                }
                let mut slot = slot.lock().unwrap_or_else(PoisonError::into_inner);
                slot.1 = slot.0.take().map(&work);
            }
        };
        std::thread::scope(|scope| {
            for _ in 1..self.jobs.get().min(slots.len().max(1)) {
                scope.spawn(take_turns);
            }
            take_turns();
        });
        (slots.into_iter())
            .map(|slot| slot.into_inner().unwrap_or_else(PoisonError::into_inner).1)
            .collect::<Option<Vec<Done>>>()
            .ok_or(Cancelled)
    }

    fn interruptions(self, segments: &[Placed]) -> Kept<2> {
        let count = segments.iter().map(|s| s.segment.interruptions.len()).sum();
        let mut writer = self.shelf.writer(count);
        for Placed { segment, floor, .. } in segments {
            for row in segment.interruptions.iter() {
                let kept = Interruption::from_row(row);
                writer.push(match kept.begin < *floor {
                    false => *row,
                    true => Interruption::between(*floor, kept.end(), kept.source).row(),
                });
            }
        }
        writer.finish()
    }

    /// Where nobody is known to run, those that touch as one.
    fn unknown(self, segments: &[Placed]) -> Kept<2> {
        let count = segments.iter().map(|s| s.segment.unknown.len()).sum();
        let mut writer = self.shelf.writer(count);
        let mut open: Option<(i64, i64)> = None;
        for Placed { segment, floor, .. } in segments {
            for &[begin, end] in segment.unknown.iter() {
                let (begin, end) = ((begin as i64).max(*floor), (end as i64).max(*floor));
                open = Some(match open {
                    Some((first, last)) if begin <= last => (first, end.max(last)),
                    Some((first, last)) => {
                        writer.push([first as u64, last as u64]);
                        (begin, end)
                    }
                    None => (begin, end),
                });
            }
        }
        if let Some((first, last)) = open {
            writer.push([first as u64, last as u64]);
        }
        writer.finish()
    }

    /// All threads in the order of their ids, and their lines.
    fn threads(self, joined: &[Joined]) -> Result<(Vec<ThreadId>, Vec<ThreadLine>), Cancelled> {
        let mut parts: Vec<Part<'_>> = Vec::new();
        for (one, cpu) in joined.iter().zip(0..) {
            for placed in &one.segments {
                let shares = placed.segment.threads.iter();
                let shares = shares.filter(|share| share.thread != ThreadId::IDLE);
                parts.extend(shares.map(|share| Part { cpu, placed, share }));
            }
        }
        // Stable: the segments of a processor stay in their order.
        parts.sort_by_key(|part| (part.share.thread, part.cpu));
        let of_threads: Vec<&[Part<'_>]> = parts
            .chunk_by(|one, other| one.share.thread == other.share.thread)
            // Of whom there are but signals, perhaps for another thread of its process, nothing is known.
            .filter(|parts| parts.iter().any(Part::has_more_than_signals))
            .collect();
        let threads = of_threads
            .iter()
            .map(|parts| parts[0].share.thread)
            .collect();
        let lines = self.in_parallel(of_threads, |parts| self.line(parts))?;
        Ok((threads, lines))
    }

    /// Puts the parts of one thread together.
    fn line(self, parts: &[Part<'_>]) -> ThreadLine {
        let by_cpu = || parts.chunk_by(|one, other| one.cpu == other.cpu);
        let wakes = by_cpu().map(|parts| parts.iter().flat_map(Part::wakes));
        let wakes = InOrder::new(wakes, |wake: &Wake| (wake.at, wake.stage));
        let mut writer = (self.shelf).writer(parts.iter().map(|part| part.share.wakes.len()).sum());
        wakes.for_each(|(_, wake)| writer.push(wake.row()));
        let wakes = writer.finish();

        let count = parts.iter().map(|part| part.share.runs.len()).sum();
        let mut writer = self.shelf.writer(count);
        let runs = by_cpu().map(|parts| parts.iter().flat_map(Part::runs));
        let runs = InOrder::new(runs, |run: &Run| (run.begin, run.end)).map(|(_, run)| run);
        let (mut call, mut word) = (Call::UNSEEN, Word::UNKNOWN);
        let mut add = |mut run: Run| {
            // A run without a system call's entry or exit ends in the call in which the run before
            // ended.
            if run.call == Call::UNSEEN {
                (run.call, run.word) = (call, word);
            }
            (call, word) = (run.call, run.word);
            writer.push(run.row());
        };
        if parts.iter().flat_map(Part::runs).any(|run| run.in_part) {
            bounded(runs.collect(), &wakes)
                .into_iter()
                .for_each(&mut add);
        } else {
            runs.for_each(&mut add);
        }
        ThreadLine {
            runs: writer.finish(),
            wakes,
        }
    }
}

/// What a segment tells of a thread.
struct Part<'run> {
    /// Position of the processor.
    cpu: u32,
    placed: &'run Placed,
    share: &'run Share,
}

impl Part<'_> {
    fn has_more_than_signals(&self) -> bool {
        !self.share.runs.is_empty() || self.wakes().any(|wake| wake.stage != Stage::Signal)
    }

    fn runs(&self) -> impl Iterator<Item = Run> {
        let Range { start, end } = self.share.runs;
        let rows = &self.placed.segment.runs[start as usize..end as usize];
        rows.iter().map(|row| {
            let run = Run::from_row(row);
            Run {
                begin: run.begin.max(self.placed.floor),
                end: run.end.max(self.placed.floor),
                cpu: self.cpu,
                ..run
            }
        })
    }

    fn wakes(&self) -> impl Iterator<Item = Wake> {
        let Range { start, end } = self.share.wakes;
        let rows = &self.placed.segment.wakes[start as usize..end as usize];
        rows.iter().map(|row| {
            let wake = Wake::from_row(row);
            let before = self.placed.receipts_before;
            Wake {
                at: wake.at.max(self.placed.floor),
                cpu: self.cpu,
                by: match wake.by {
                    Waker::Receipt(position) => Waker::Receipt(position.wrapping_add(before)),
                    by => by,
                },
                ..wake
            }
        })
    }
}

/// The runs of a thread in the order of time, those of an unknown part of some time bounded: they
/// began after everything that is known of the thread before.
fn bounded(mut runs: Vec<Run>, wakes: &[[u64; 2]]) -> Vec<Run> {
    runs.sort_by_key(|run| (run.end, run.begin));
    let mut known_until = i64::MIN;
    for run in &mut runs {
        if run.in_part {
            let woken = wakes.partition_point(|wake| Wake::from_row(wake).at < run.end);
            let last_wake = woken
                .checked_sub(1)
                .map_or(i64::MIN, |last| Wake::from_row(&wakes[last]).at);
            run.begin = run.begin.max(known_until).max(last_wake).min(run.end);
        }
        known_until = known_until.max(run.end);
    }
    runs.sort_by_key(|run| (run.begin, run.end));
    runs
}

/// Sorted ranges, with those that touch made one.
fn apart(sorted: Vec<(i64, i64)>) -> Vec<(i64, i64)> {
    let mut apart: Vec<(i64, i64)> = Vec::new();
    for (begin, end) in sorted {
        match apart.last_mut() {
            Some(last) if begin <= last.1 => last.1 = last.1.max(end),
            _ => apart.push((begin, end)),
        }
    }
    apart
}

/// Of each thread: from when on it has which name.
fn names(joined: &mut [Joined]) -> FxHashMap<ThreadId, Vec<(i64, Name)>> {
    let mut seen: FxHashMap<ThreadId, Vec<(i64, i64, Name)>> = FxHashMap::default();
    for named in joined
        .iter_mut()
        .flat_map(|one| std::mem::take(&mut one.names))
    {
        let of_thread = seen.entry(named.thread).or_default();
        of_thread.push((named.first, named.last, named.name));
    }
    (seen.into_iter())
        .map(|(thread, seen)| (thread, changes(seen)))
        .collect()
}

/// From when on a thread has which name, that was seen with each for the first time and the last: what lies between is
/// no sighting.
fn changes(seen: Vec<(i64, i64, Name)>) -> Vec<(i64, Name)> {
    let sightings = seen
        .into_iter()
        .flat_map(|(first, last, name)| [(first, name), (last, name)]);
    let mut changes: Vec<_> = sightings.collect();
    changes.sort_unstable();
    changes.dedup_by_key(|(_, name)| *name);
    changes
}
