//! The workers: take chunks in order, pass over them, merge the states in order as they come.
//!
//! A worker never runs further ahead of the merge than a few chunks per worker, so memory is
//! bounded by workers × chunk. Merging is done by whichever worker finds the next state ready,
//! outside the lock, while the others go on.

use std::collections::BTreeMap;
use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use slowpath_model::{
    CpuId, Diagnostic, Event, Nanoseconds, PacketId, Projection, StreamId, TimeRange, Timestamp,
};
use slowpath_source::{Decoder, EventSink, Packet, Source};

use crate::{Analysis, Chunk, chunks};

/// How to run.
#[derive(Clone, Copy)]
pub struct Options<'run> {
    /// Workers.
    pub jobs: NonZeroUsize,
    /// Bytes per chunk; `None` chooses by the size of the trace.
    pub chunk_bytes: Option<u64>,
    /// Only packets that touch this range are read (their events are not filtered).
    pub range: TimeRange,
    /// Told bytes done and bytes in all, after each chunk, from any worker.
    pub progress: Option<&'run (dyn Fn(u64, u64) + Sync)>,
    /// Set it to stop.
    pub cancel: Option<&'run AtomicBool>,
}

impl Options<'_> {
    /// All of a trace, with so many workers.
    pub fn new(jobs: NonZeroUsize) -> Self {
        Self {
            jobs,
            chunk_bytes: None,
            range: TimeRange::ALL,
            progress: None,
            cancel: None,
        }
    }
}

/// A worker for each processor. Finding out how many there are takes a millisecond where control groups are asked.
impl Default for Options<'_> {
    fn default() -> Self {
        Self::new(std::thread::available_parallelism().unwrap_or(NonZeroUsize::MIN))
    }
}

/// What a run gave.
#[derive(Debug)]
pub struct Outcome<State> {
    /// The merged state; `None` when there was no packet.
    pub state: Option<State>,
    /// What was wrong with the packets, in their order.
    pub diagnostics: Vec<Diagnostic>,
    /// How long each chunk took, in the order of the chunks.
    pub timings: Vec<ChunkTiming>,
}

impl<State> Outcome<State> {
    /// The same with something made of the state.
    pub fn map<Made>(self, make: impl FnOnce(State) -> Made) -> Outcome<Made> {
        Outcome {
            state: self.state.map(make),
            diagnostics: self.diagnostics,
            timings: self.timings,
        }
    }
}

/// Time spent on one chunk: measured, for the model of parallel efficiency.
#[derive(Clone, Copy, Debug, Default)]
pub struct ChunkTiming {
    /// Its bytes.
    pub bytes: u64,
    /// The pass over it, and what was left to be done by anybody before.
    pub pass: Duration,
    /// Merging its state.
    pub merge: Duration,
}

/// The run was stopped by [`Options::cancel`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cancelled;

/// Passes over one chunk.
pub fn run_chunk<A: Analysis>(
    source: &dyn Source,
    decoder: &dyn Decoder,
    analysis: &A,
    chunk: &Chunk,
) -> (A::State, Vec<(PacketId, Diagnostic)>) {
    let mut state = analysis.begin(chunk);
    let mut diagnostics = Vec::new();
    for id in chunk.packet_ids() {
        let packet = &source.packets()[id.index()];
        analysis.packet(&mut state, packet);
        if analysis.skips(packet) {
            continue;
        }
        let told = if analysis.wants_only_numbers() {
            decoder.tally(id, &mut |class, count| {
                analysis.tally(&mut state, class, count)
            })
        } else {
            let mut taker = Taker {
                analysis,
                state: &mut state,
                packet,
                last: packet.range.begin,
            };
            decoder.decode(id, &mut taker)
        };
        diagnostics.extend(told.into_iter().map(|diagnostic| (id, diagnostic)));
    }
    if let Some(at) = chunk.cut_off_at {
        let last = chunk.packet_ids().last();
        let last = last.map(|id| &source.packets()[id.index()]);
        let id = PacketId(chunk.packets.end);
        let cpu = last.map_or(chunk.cpu, |last| last.cpu);
        analysis.packet(&mut state, &missing(id, chunk.stream, cpu, at));
    }
    analysis.end(&mut state, chunk);
    // In the worker, as taking pages away costs time, too.
    source.release(PacketId(chunk.packets.start)..PacketId(chunk.packets.end));
    (state, diagnostics)
}

/// What tells an analysis that events are missing from `at` on: a packet that says so.
fn missing(id: PacketId, stream: StreamId, cpu: Option<CpuId>, at: Timestamp) -> Packet {
    Packet {
        id,
        stream,
        offset: 0,
        size: 0,
        range: TimeRange::new(at, at),
        cpu,
        lost_events: 0,
        lost_packets: 1,
        behind_loss: false,
        beyond: Nanoseconds::ZERO,
        number: None,
    }
}

/// Hands the events of a packet to an analysis.
struct Taker<'run, A: Analysis> {
    analysis: &'run A,
    state: &'run mut A::State,
    packet: &'run Packet,
    /// When the last event happened.
    last: Timestamp,
}

impl<A: Analysis> EventSink for Taker<'_, A> {
    #[inline]
    fn event(&mut self, event: &Event<'_>) {
        self.last = event.at;
        self.analysis.event(self.state, event);
    }

    fn gap(&mut self, until: Timestamp) {
        let packet = self.packet;
        let missing = missing(packet.id, packet.stream, packet.cpu, self.last);
        self.analysis.packet(self.state, &missing);
        let unreadable = TimeRange::new(self.last, until);
        self.analysis.unreadable(self.state, unreadable);
    }
}

/// Runs `analysis` over the packets of `source`, decoding what `projection` wants.
pub fn run<A: Analysis>(
    source: &dyn Source,
    projection: &Projection,
    analysis: &A,
    options: &Options<'_>,
) -> Result<Outcome<A::State>, Cancelled> {
    let total: u64 = source.packets().iter().map(|packet| packet.size).sum();
    let jobs = options.jobs.get();
    let chunk_bytes = options
        .chunk_bytes
        .unwrap_or_else(|| (total / (jobs as u64 * 16)).clamp(256 << 10, 8 << 20));
    let chunks = chunks(source, chunk_bytes, options.range);
    let decoder = source.decoder(projection);
    let pipeline = Pipeline {
        source,
        decoder: &*decoder,
        analysis,
        chunks: &chunks,
        total: chunks.iter().map(|chunk| chunk.bytes).sum(),
        window: jobs * 4,
        next: AtomicUsize::new(0),
        merger: Mutex::new(Merger {
            ready: BTreeMap::new(),
            merged: 0,
            bytes: 0,
            merging: false,
            abandoned: false,
            state: None,
            diagnostics: Vec::new(),
            timings: Vec::with_capacity(chunks.len()),
        }),
        progressed: Condvar::new(),
        options,
    };
    let workers = jobs.min(chunks.len().max(1));
    std::thread::scope(|scope| {
        for _ in 1..workers {
            scope.spawn(|| pipeline.work());
        }
        pipeline.work();
    });
    let merger = pipeline
        .merger
        .into_inner()
        .unwrap_or_else(PoisonError::into_inner);
    if merger.abandoned {
        return Err(Cancelled);
    }
    let mut diagnostics = merger.diagnostics;
    // Chunks come in the order of time, whatever their length.
    diagnostics.sort_by_key(|(packet, _)| *packet);
    Ok(Outcome {
        state: merger.state,
        diagnostics: diagnostics.into_iter().map(|(_, told)| told).collect(),
        timings: merger.timings,
    })
}

/// What the workers of one run share.
struct Pipeline<'run, A: Analysis> {
    source: &'run dyn Source,
    decoder: &'run dyn Decoder,
    analysis: &'run A,
    chunks: &'run [Chunk],
    total: u64,
    /// How many chunks a worker may be ahead of the merge.
    window: usize,
    next: AtomicUsize,
    merger: Mutex<Merger<A::State>>,
    progressed: Condvar,
    options: &'run Options<'run>,
}

/// The merged state and those that wait for their turn.
struct Merger<State> {
    ready: BTreeMap<usize, Passed<State>>,
    /// Chunks merged so far.
    merged: usize,
    bytes: u64,
    /// Somebody is merging outside the lock.
    merging: bool,
    abandoned: bool,
    state: Option<State>,
    diagnostics: Vec<(PacketId, Diagnostic)>,
    timings: Vec<ChunkTiming>,
}

/// A chunk that has been passed over.
struct Passed<State> {
    state: State,
    diagnostics: Vec<(PacketId, Diagnostic)>,
    timing: ChunkTiming,
}

impl<A: Analysis> Pipeline<'_, A> {
    fn work(&self) {
        let _alarm = AbandonOnPanic(self);
        loop {
            let position = self.next.fetch_add(1, Ordering::Relaxed);
            let Some(chunk) = self.chunks.get(position) else {
                return self.analysis.assist();
            };
            if !self.may_begin(position) {
                return;
            }
            let begin = Instant::now();
            self.analysis.assist();
            let (state, diagnostics) = run_chunk(self.source, self.decoder, self.analysis, chunk);
            let passed = Passed {
                state,
                diagnostics,
                timing: ChunkTiming {
                    bytes: chunk.bytes,
                    pass: begin.elapsed(),
                    merge: Duration::ZERO,
                },
            };
            self.merge_ready(position, passed);
        }
    }

    fn lock(&self) -> MutexGuard<'_, Merger<A::State>> {
        self.merger.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until the merge is near enough; false when the run is to stop.
    fn may_begin(&self, position: usize) -> bool {
        let mut merger = self.lock();
        loop {
            let cancelled = self
                .options
                .cancel
                .is_some_and(|flag| flag.load(Ordering::Relaxed));
            if cancelled || merger.abandoned {
                merger.abandoned = true;
                self.progressed.notify_all();
                return false;
            }
            if position < merger.merged + self.window {
                return true;
            }
            merger = self
                .progressed
                .wait(merger)
                .unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Hands in a state and merges all that are next in order, unless somebody else is at it.
    fn merge_ready(&self, position: usize, passed: Passed<A::State>) {
        let mut merger = self.lock();
        merger.ready.insert(position, passed);
        while !merger.merging {
            let turn = merger.merged;
            let Some(mut passed) = merger.ready.remove(&turn) else {
                return;
            };
            merger.merging = true;
            let state = merger.state.take();
            drop(merger);

            let begin = Instant::now();
            let mut state = match state {
                None => passed.state,
                Some(mut earlier) => {
                    self.analysis.merge(&mut earlier, passed.state);
                    earlier
                }
            };
            let next = self.chunks.get(turn + 1);
            let watermark = next.map_or(Timestamp::MAX, |chunk| chunk.range.begin);
            self.analysis.settle(&mut state, watermark);
            passed.timing.merge = begin.elapsed();

            merger = self.lock();
            merger.state = Some(state);
            merger.merging = false;
            merger.merged += 1;
            merger.bytes += passed.timing.bytes;
            merger.diagnostics.extend(passed.diagnostics);
            merger.timings.push(passed.timing);
            self.progressed.notify_all();
            if let Some(progress) = self.options.progress {
                progress(merger.bytes, self.total);
            }
        }
    }
}

/// Lets the other workers go when one panics, instead of leaving them to wait for its state.
struct AbandonOnPanic<'run, 'pipeline, A: Analysis>(&'run Pipeline<'pipeline, A>);

impl<A: Analysis> Drop for AbandonOnPanic<'_, '_, A> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.lock().abandoned = true;
            self.0.progressed.notify_all();
        }
    }
}
