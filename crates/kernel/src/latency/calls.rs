//! System calls, from entry to exit of the same thread.
//!
//! A call that its thread does not leave the processor in is measured in its chunk; the ends of
//! others are brought together in the order of time, by thread. Where events of any processor are missing
//! between the two, a call may have returned there and another have begun; only while the thread stays on its
//! processor nothing can be missing.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError, RwLock, RwLockReadGuard};

use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};
use slowpath_concepts::{Concepts, Fact, FactKind};
use slowpath_engine::{Analysis, Chunk, Distribution};
use slowpath_model::{CpuId, Event, Projection, ThreadId, TimeRange, Timestamp};
use slowpath_source::{Packet, Source};

use super::{LatencyKind, LatencyReport, report};
use crate::answer::Answer;
use crate::extent::{add_unreadable, is_whole, missing, shares_processors};
use crate::lanes::{Lanes, Occupant, Record, Stay, Switch, Whose};
use crate::shards::{Happened, Shards, Sorted};
use crate::{Extent, Window};

/// The analysis.
pub(super) struct Calls {
    window: Window,
    concepts: Concepts,
    shares_processors: bool,
    /// When any processor's events are missing: a call may have returned there unseen, and another begun. Those
    /// within packets that could not be read as far as the merge has come; written before the ends of calls
    /// behind them are handed over.
    missing: RwLock<Vec<TimeRange>>,
    shards: Shards<EndInStay, OfThreads>,
    /// What chunks have measured, by number of the call.
    measured: Mutex<Vec<Vec<Distribution>>>,
    /// All of that which was added up.
    all: Mutex<Vec<Distribution>>,
}

/// Position of a call in the list of names.
type CallNumber = u16;

#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
enum End {
    Entered(CallNumber),
    /// Of this call, where the tracer says so.
    Returned(Option<CallNumber>),
}

/// An end, and the stay in which the thread came to it, where another chunk may have the other end of the same.
type EndInStay = (End, Option<Stay>);

/// What is known of the threads of a shard.
#[derive(Default)]
struct OfThreads {
    /// Calls that threads are in.
    entered: FxHashMap<ThreadId, (CallNumber, Timestamp, Option<Stay>)>,
    /// By number of the call.
    taken: Vec<Distribution>,
}

/// What a chunk, or several, told.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct Told {
    /// Of each chunk, by number of the call.
    taken: Vec<Vec<Distribution>>,
    /// Ends of which the thread is not known yet.
    lanes: Lanes<End>,
    /// Ends of which it is.
    sorted: Sorted<EndInStay>,
    /// Only while a chunk is passed over: the same.
    of_threads: Vec<Happened<EndInStay>>,
    own: Vec<Distribution>,
    unreadable: Vec<TimeRange>,
    occupant: Occupant<End>,
    /// The call that the current thread is in, entered since it was switched to.
    current: Option<(Timestamp, Whose, CallNumber)>,
}

impl Told {
    fn leave_call(&mut self) {
        if let Some((at, thread, call)) = self.current.take() {
            self.push(at, thread, End::Entered(call));
        }
    }

    fn push(&mut self, at: Timestamp, thread: Whose, what: End) {
        match (thread, self.occupant.current()) {
            // Its stay began in the chunk, and has no other end of a call that is not in it.
            (Whose::Thread(thread), Whose::Thread(_)) => self.of_threads.push(Happened {
                at,
                thread,
                what: (what, None),
            }),
            _ => self.occupant.lane.push(Record { at, thread, what }),
        }
    }
}

const KINDS: &[FactKind] = &[
    FactKind::Switch,
    FactKind::SyscallEntry,
    FactKind::SyscallExit,
];

impl Calls {
    pub(super) fn new(source: &dyn Source, range: TimeRange) -> Self {
        Self {
            window: Extent::of(source).window(range),
            concepts: Concepts::resolve(source.schema(), KINDS),
            shares_processors: shares_processors(source),
            missing: RwLock::new(missing(source)),
            shards: Shards::new(),
            measured: Mutex::default(),
            all: Mutex::default(),
        }
    }

    /// Adds up what chunks have measured and the merge has handed over.
    fn add_measured(&self) {
        if let Ok(mut all) = self.all.try_lock() {
            let measured = std::mem::take(&mut *lock(&self.measured));
            for of_chunk in measured {
                add_all(&mut all, of_chunk);
            }
        }
    }

    fn all_measured(&self) -> Vec<Distribution> {
        self.add_measured();
        std::mem::take(&mut *lock(&self.all))
    }

    fn measure(
        &self,
        taken: &mut Vec<Distribution>,
        call: CallNumber,
        from: Timestamp,
        to: Timestamp,
    ) {
        if !self.window.contains(from) || !self.window.contains(to) {
            return;
        }
        let call = call as usize;
        if taken.len() <= call {
            taken.resize_with(call + 1, Distribution::default);
        }
        taken[call].add(to.since(from));
    }

    /// Hands over all before `until`, and what was measured.
    fn hand_over(&self, told: &mut Told, until: Timestamp, end: bool) {
        let mut labelled: BTreeMap<CpuId, Vec<Happened<EndInStay>>> = BTreeMap::new();
        let limit = told.lanes.drain(until, end, |stay, record| {
            let thread = match record.thread {
                Whose::Thread(thread) => thread,
                // No thread has a negative number, whatever processor a stretch is of.
                Whose::Unknown(stretch) => ThreadId((stretch | 1 << 31) as i32),
                Whose::Current | Whose::Nobody => return,
            };
            let of_cpu = labelled.entry(stay.cpu).or_default();
            of_cpu.push(Happened {
                at: record.at,
                thread,
                what: (record.what, Some(stay)),
            });
        });
        // Before those of its chunk: they are of the thread that ran when it began.
        let mut sorted = Sorted::default();
        for (cpu, records) in labelled {
            sorted.merge(Sorted::of(cpu, records));
        }
        sorted.merge(std::mem::take(&mut told.sorted));
        if !told.unreadable.is_empty() {
            let known = self.missing.write();
            let mut known = known.unwrap_or_else(PoisonError::into_inner);
            add_unreadable(&mut known, std::mem::take(&mut told.unreadable));
        }
        self.shards.hand_over(sorted, limit);
        lock(&self.measured).append(&mut told.taken);
    }

    /// Held while records are folded: none are handed over meanwhile that need to know of more.
    fn known_missing(&self) -> RwLockReadGuard<'_, Vec<TimeRange>> {
        let known = self.missing.read();
        known.unwrap_or_else(PoisonError::into_inner)
    }

    fn take(&self, threads: &mut OfThreads, record: Happened<EndInStay>, missing: &[TimeRange]) {
        let OfThreads { entered, taken } = threads;
        let (what, stay) = record.what;
        match what {
            End::Entered(call) => {
                entered.insert(record.thread, (call, record.at, stay));
            }
            End::Returned(call) => {
                // Where it is of another call, the thread is not in the one that was entered any more.
                if let Some((entered_call, from, entered_in)) = entered.remove(&record.thread)
                    && call.is_none_or(|call| call == entered_call)
                {
                    let stayed = stay.is_some() && stay == entered_in;
                    if stayed || is_whole(missing, from, record.at) {
                        self.measure(taken, entered_call, from, record.at);
                    }
                }
            }
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Adds distributions by number of the call.
fn add_all(known: &mut Vec<Distribution>, more: Vec<Distribution>) {
    if known.len() < more.len() {
        known.resize_with(more.len(), Distribution::default);
    }
    for (known, more) in known.iter_mut().zip(more) {
        known.merge(more);
    }
}

impl Answer for Calls {
    type Report = LatencyReport;

    fn projection(&self) -> &Projection {
        self.concepts.projection()
    }

    fn range(&self) -> TimeRange {
        self.window.and_before()
    }

    fn report(&self, mut told: Told) -> LatencyReport {
        self.hand_over(&mut told, Timestamp::MAX, true);
        let missing = self.known_missing();
        let threads = self
            .shards
            .finish(|threads, record| self.take(threads, record, &missing));
        let mut all = self.all_measured();
        for threads in threads {
            add_all(&mut all, threads.taken);
        }
        let names = self.concepts.syscall_names().iter().cloned();
        report(LatencyKind::Syscall, self.window, names.zip(all))
    }
}

impl Analysis for Calls {
    type State = Told;

    fn begin(&self, _chunk: &Chunk) -> Told {
        Told {
            occupant: Occupant::new(self.shares_processors),
            ..Told::default()
        }
    }

    fn packet(&self, told: &mut Told, packet: &Packet) {
        if packet.lost_events > 0 || packet.lost_packets > 0 {
            told.leave_call();
            told.occupant.gap(packet.range.begin);
        }
    }

    fn unreadable(&self, told: &mut Told, between: TimeRange) {
        add_unreadable(&mut told.unreadable, vec![between]);
    }

    #[inline]
    fn event(&self, told: &mut Told, event: &Event<'_>) {
        let at = event.at;
        let whose = |thread: Option<ThreadId>, told: &Told| {
            thread.map_or(told.occupant.current(), Whose::Thread)
        };
        match self.concepts.fact(event) {
            Some(Fact::Switch { prev, next, .. }) => {
                told.leave_call();
                told.occupant.switch(Switch { at, prev, next });
            }
            Some(Fact::SyscallEntry(entry)) => {
                told.leave_call();
                told.current = Some((at, whose(entry.thread, told), entry.call.0));
                if self.shares_processors {
                    told.leave_call();
                }
            }
            Some(Fact::SyscallExit(exit)) => {
                let call = exit.call.map(|call| call.0);
                let thread = whose(exit.thread, told);
                match told.current {
                    Some((from, by, entered))
                        if by == thread && call.is_none_or(|call| call == entered) =>
                    {
                        told.current = None;
                        self.measure(&mut told.own, entered, from, at);
                    }
                    _ => {
                        told.leave_call();
                        told.push(at, thread, End::Returned(call));
                    }
                }
            }
            _ => {}
        }
    }

    fn end(&self, told: &mut Told, chunk: &Chunk) {
        let mut lane = std::mem::take(&mut told.occupant).finish();
        if let Some((at, thread, call)) = told.current.take() {
            // The next chunk may have the other end.
            let what = End::Entered(call);
            lane.push(Record { at, thread, what });
        }
        told.lanes = Lanes::of(chunk, lane);
        let of_threads = std::mem::take(&mut told.of_threads);
        told.sorted = Sorted::of(chunk.processor(), of_threads);
        told.taken = vec![std::mem::take(&mut told.own)];
    }

    fn merge(&self, earlier: &mut Told, later: Told) {
        earlier.lanes.merge(later.lanes);
        earlier.sorted.merge(later.sorted);
        earlier.taken.extend(later.taken);
        add_unreadable(&mut earlier.unreadable, later.unreadable);
    }

    fn settle(&self, told: &mut Told, watermark: Timestamp) {
        self.hand_over(told, watermark, false);
    }

    fn assist(&self) {
        let missing = self.known_missing();
        self.shards
            .work_off(|threads, record| self.take(threads, record, &missing));
        drop(missing);
        self.add_measured();
    }
}
