//! Pass 2 over everything: scans the processors in parallel, then puts each thread's runs and
//! wake-ups from all processors together in the order of time.

use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use rustc_hash::{FxHashMap, FxHashSet};
use slowpath_model::{CpuId, ThreadId};

use super::gather::{Block, Name};
use super::record::Call;
use super::scan::{self, Receipt, Run, Scanned, Sender, Sent, Wake};
use super::{CpuLine, Delivery, Timelines};

/// What is known about the trace as a whole.
#[derive(Clone, Copy, Debug)]
pub(super) struct Known {
    pub(super) begin: i64,
    pub(super) end: i64,
    /// The trace has events for received packets, timers, wake-ups.
    pub(super) packets: bool,
    pub(super) timers: bool,
    pub(super) wakes: bool,
}

pub(super) fn assemble(
    blocks: Vec<Block>,
    known: Known,
    calls: Vec<String>,
    jobs: NonZeroUsize,
) -> Timelines {
    let mut processes: Vec<_> = (blocks.iter())
        .flat_map(|block| block.processes.iter().copied())
        .collect();
    processes.sort_unstable();
    processes.dedup_by_key(|(thread, _, process)| (*thread, *process));
    let mut scans = scan_processors(blocks, known, jobs);
    let deliveries = deliveries(&scans);
    let threads = threads_of(&scans);
    let position: FxHashMap<ThreadId, u32> = threads.iter().copied().zip(0..).collect();

    let (run_starts, mut runs) =
        by_thread(&mut scans, &position, |scan| std::mem::take(&mut scan.runs));
    let (wake_starts, mut wakes) = by_thread(&mut scans, &position, |scan| {
        std::mem::take(&mut scan.wakes)
    });
    for thread in 0..threads.len() {
        let runs = &mut runs[run_starts[thread] as usize..run_starts[thread + 1] as usize];
        let wakes = &mut wakes[wake_starts[thread] as usize..wake_starts[thread + 1] as usize];
        wakes.sort_by_key(|wake: &Wake| (wake.at, wake.stage, wake.cpu));
        bound_unknown_runs(runs, wakes);
        runs.sort_by_key(|run: &Run| (run.begin, run.end));
        carry_calls(runs);
    }

    let mut lost: Vec<(i64, i64)> = scans.iter().flat_map(|scan| &scan.lost).copied().collect();
    lost.sort_unstable();
    Timelines {
        known,
        lost: joined(lost),
        names: names(&mut scans),
        processes,
        cpus: (scans.into_iter())
            .zip(deliveries)
            .map(|(scan, deliveries)| CpuLine {
                cpu: scan.cpu,
                interruptions: scan.interruptions,
                deliveries,
                irq_names: scan.irq_names,
            })
            .collect(),
        threads,
        position,
        run_starts,
        runs,
        wake_starts,
        wakes,
        calls,
    }
}

/// Scans every processor's blocks; the result is in the order of the processors.
fn scan_processors(blocks: Vec<Block>, known: Known, jobs: NonZeroUsize) -> Vec<Scanned> {
    let mut by_cpu: std::collections::BTreeMap<CpuId, Vec<Block>> = Default::default();
    for block in blocks {
        by_cpu.entry(block.cpu).or_default().push(block);
    }
    type Slot = Mutex<(Option<Vec<Block>>, Option<Scanned>)>;
    let (cpus, slots): (Vec<CpuId>, Vec<Slot>) = by_cpu
        .into_iter()
        .map(|(cpu, blocks)| (cpu, Mutex::new((Some(blocks), None))))
        .unzip();
    let next = AtomicUsize::new(0);
    let work = || {
        loop {
            let turn = next.fetch_add(1, Ordering::Relaxed);
            let (Some(&cpu), Some(slot)) = (cpus.get(turn), slots.get(turn)) else {
                return;
            };
            let mut slot = slot.lock().unwrap_or_else(PoisonError::into_inner);
            let blocks = slot.0.take().unwrap_or_default();
            slot.1 = Some(scan::scan(
                cpu,
                blocks,
                known.begin,
                known.end,
                known.packets,
            ));
        }
    };
    std::thread::scope(|scope| {
        for _ in 1..jobs.get().min(cpus.len().max(1)) {
            scope.spawn(work);
        }
        work();
    });
    (slots.into_iter())
        .filter_map(|slot| slot.into_inner().unwrap_or_else(PoisonError::into_inner).1)
        .collect()
}

fn threads_of(scans: &[Scanned]) -> Vec<ThreadId> {
    let mut seen = FxHashSet::default();
    for scan in scans {
        seen.extend(scan.runs.iter().map(|(thread, _)| *thread));
        seen.extend(scan.wakes.iter().map(|(thread, _)| *thread));
    }
    seen.remove(&ThreadId::IDLE);
    let mut threads: Vec<ThreadId> = seen.into_iter().collect();
    threads.sort_unstable();
    threads
}

/// Takes a list out of every scan and groups its entries by thread: for each thread where its
/// entries begin (and after the last where they end), and all entries.
fn by_thread<Entry: Copy>(
    scans: &mut [Scanned],
    position: &FxHashMap<ThreadId, u32>,
    take: impl Fn(&mut Scanned) -> Vec<(ThreadId, Entry)>,
) -> (Vec<u32>, Vec<Entry>) {
    let lists: Vec<Vec<(ThreadId, Entry)>> = scans.iter_mut().map(take).collect();
    let mut starts = vec![0u32; position.len() + 1];
    let entries = || lists.iter().flatten();
    for (thread, _) in entries() {
        if let Some(&at) = position.get(thread) {
            starts[at as usize + 1] += 1;
        }
    }
    for at in 1..starts.len() {
        starts[at] += starts[at - 1];
    }
    let Some(&(_, any)) = entries().next() else {
        return (starts, Vec::new());
    };
    let total = starts[position.len()] as usize;
    let mut grouped = vec![any; total];
    let mut next = starts.clone();
    for (thread, entry) in entries() {
        if let Some(&at) = position.get(thread) {
            let place = &mut next[at as usize];
            grouped[*place as usize] = *entry;
            *place += 1;
        }
    }
    (starts, grouped)
}

/// A run of an unknown part of some time began after everything that is known of the thread.
fn bound_unknown_runs(runs: &mut [Run], wakes: &[Wake]) {
    if runs.iter().all(|run| !run.in_part) {
        return;
    }
    runs.sort_by_key(|run: &Run| (run.end, run.begin));
    let mut known_until = i64::MIN;
    for run in runs {
        if run.in_part {
            let woken = wakes.partition_point(|wake| wake.at < run.end);
            let last_wake = woken.checked_sub(1).map_or(i64::MIN, |last| wakes[last].at);
            run.begin = run.begin.max(known_until).max(last_wake).min(run.end);
        }
        known_until = known_until.max(run.end);
    }
}

/// A run without a system call's entry or exit ends in the call in which the run before ended.
fn carry_calls(runs: &mut [Run]) {
    let mut call = Call::UNSEEN;
    for run in runs {
        if run.call == Call::UNSEEN {
            run.call = call;
        }
        call = run.call;
    }
}

fn joined(sorted: Vec<(i64, i64)>) -> Vec<(i64, i64)> {
    let mut joined: Vec<(i64, i64)> = Vec::new();
    for (begin, end) in sorted {
        match joined.last_mut() {
            Some(last) if begin <= last.1 => last.1 = last.1.max(end),
            _ => joined.push((begin, end)),
        }
    }
    joined
}

fn names(scans: &mut [Scanned]) -> FxHashMap<ThreadId, Vec<(i64, Name)>> {
    let mut names: FxHashMap<ThreadId, Vec<(i64, Name)>> = FxHashMap::default();
    for scan in scans {
        for (thread, at, name) in std::mem::take(&mut scan.names) {
            names.entry(thread).or_default().push((at, name));
        }
    }
    for list in names.values_mut() {
        list.sort_unstable();
        list.dedup_by_key(|(_, name)| *name);
    }
    names
}

/// For every processor's receipts: who on this host sent the packet.
fn deliveries(scans: &[Scanned]) -> Vec<Vec<Delivery>> {
    /// What happened to a buffer: sent before received at the same time.
    #[derive(Clone, Copy)]
    enum Step {
        Sent(Sent),
        Received,
    }
    let mut steps: Vec<(u64, i64, bool, u32, Step)> = Vec::new();
    for (cpu, scan) in (0u32..).zip(scans) {
        let sent = scan.sent.iter();
        steps.extend(sent.map(|sent| (sent.buffer, sent.at, false, cpu, Step::Sent(*sent))));
        let received = scan.receipts.iter().filter(|r| r.raised_by.is_none());
        steps.extend(received.map(|r| (r.buffer, r.at, true, cpu, Step::Received)));
    }
    steps.sort_by_key(|&(buffer, at, received, cpu, _)| (buffer, at, received, cpu));
    // A buffer is used again: the packet is the one sent last, if nobody has received it since.
    let sent_before = |receipt: &Receipt| {
        let after = steps.partition_point(|&(buffer, at, received, ..)| {
            (buffer, at, received) < (receipt.buffer, receipt.at, true)
        });
        match steps.get(after.checked_sub(1)?)? {
            (buffer, _, _, cpu, Step::Sent(sent)) if *buffer == receipt.buffer => {
                Some((*cpu, *sent))
            }
            _ => None,
        }
    };
    let sender_of = |mut receipt: Receipt| {
        /// An answer to an answer to an answer ... within softirqs: two are common.
        const LONGEST_CHAIN: usize = 16;
        for _ in 0..LONGEST_CHAIN {
            if let Some(raised_by) = receipt.raised_by {
                return Some(raised_by);
            }
            let (cpu, sent) = sent_before(&receipt)?;
            match sent.by {
                Sender::Thread(thread) => return Some((thread, sent.at)),
                Sender::Receipt(answered) => {
                    receipt = *scans[cpu as usize].receipts.get(answered as usize)?;
                }
                Sender::Unknown => return None,
            }
        }
        None
    };
    scans
        .iter()
        .map(|scan| {
            let deliver = |receipt: &Receipt| Delivery {
                sender: sender_of(*receipt),
                during: receipt.during,
            };
            scan.receipts.iter().map(deliver).collect()
        })
        .collect()
}
