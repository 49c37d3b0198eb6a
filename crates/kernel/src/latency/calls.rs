//! System calls, from entry to exit of the same thread.
//!
//! A call that its thread does not leave the processor in is measured in its chunk; the ends of
//! others are brought together in the order of time, by thread. Where events of any processor are missing
//! between the two, a call may have returned there and another have begun; only while the thread stays on its
//! processor nothing can be missing. Where several processors tell of one thread at one time, all ends are brought
//! together, in a second pass.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError, RwLock, RwLockReadGuard};

use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};
use slowpath_concepts::{Concepts, Fact, FactKind};
use slowpath_engine::{Analysis, Chunk, Distribution};
use slowpath_model::{CpuId, Event, Projection, ThreadId, TimeRange, Timestamp};
use slowpath_source::{Packet, Source};

use super::{LatencyKind, LatencyReport, report};
use crate::answer::Answer;
use crate::extent::{add_unreadable, interleaved, is_whole, missing};
use crate::lanes::{Lanes, Occupant, Record, Stay, Switch, Whose};
use crate::overlaps::Overlaps;
use crate::shards::{Happened, Shards, Sorted};
use crate::{Extent, Window};

/// The analysis.
pub(super) struct Calls {
    window: Window,
    concepts: Concepts,
    /// Calls are not measured in their chunks: one thread may seem to run on several processors at a time.
    is_interleaved: bool,
    /// One did.
    has_overlaps: AtomicBool,
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
    /// A call was measured in its chunk: whatever was entered before is over.
    Over,
}

/// An end, and which comes first at one moment of a stream.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct InTurn {
    end: End,
    turn: u64,
    /// It stands for all ends of its thread in its stay from here on.
    since: Timestamp,
}

/// An end, since when it stands for others, and the stay in which the thread came to it, where another chunk may have
/// the other end of the same.
type EndInStay = (End, Timestamp, Option<Stay>);

/// What is known of the threads of a shard.
#[derive(Default)]
struct OfThreads {
    /// Calls that threads are in.
    entered: FxHashMap<ThreadId, (CallNumber, Timestamp, Option<Stay>)>,
    overlaps: Overlaps,
    /// By number of the call.
    taken: Vec<Distribution>,
}

/// What a chunk, or several, told.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct Told {
    /// Of each chunk, by number of the call.
    taken: Vec<Vec<Distribution>>,
    /// Ends of which the thread is not known yet.
    lanes: Lanes<InTurn>,
    /// Ends of which it is.
    sorted: Sorted<EndInStay>,
    /// Only while a chunk is passed over: the same.
    of_threads: Vec<Happened<EndInStay>>,
    own: Vec<Distribution>,
    unreadable: Vec<TimeRange>,
    occupant: Occupant<InTurn>,
    /// The turn of the latest event: packet, and place in it.
    turn: u64,
    /// The call that the current thread is in, entered since it was switched to.
    current: Option<(Record<InTurn>, CallNumber)>,
    /// That its latest call is over, as long as nothing handed over says so.
    over: Option<Record<InTurn>>,
    /// When the first call was entered of which nothing was handed over, since something was of the current thread.
    hidden_since: Option<Timestamp>,
}

impl Told {
    /// Calls are of another thread from here on, if it is not the one of the latest.
    fn turn_to(&mut self, thread: Whose) {
        let current = self.current.as_ref().map(|(entered, _)| entered);
        let latest = current.or(self.over.as_ref()).map(|latest| latest.thread);
        if latest.is_some_and(|latest| latest != thread) {
            self.leave_call();
        }
    }

    /// The exit of the call that was entered may come anywhere from here on; or that of none.
    fn leave_call(&mut self) {
        let over = self.over.take();
        let current = self.current.take().map(|(entered, _)| entered);
        let since = self.hidden_since.take();
        if let Some(mut latest) = current.or(over) {
            latest.what.since = since.unwrap_or(latest.at);
            self.push(latest);
        }
    }

    fn push(&mut self, record: Record<InTurn>) {
        match (record.thread, self.occupant.current()) {
            // Its stay began in the chunk, and has no other end of a call that is not in it.
            (Whose::Thread(thread), Whose::Thread(_)) => {
                let InTurn { turn, end, since } = record.what;
                self.of_threads.push(Happened {
                    at: record.at,
                    turn,
                    thread,
                    what: (end, since, None),
                });
            }
            _ => self.occupant.lane.push(record),
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
            is_interleaved: !interleaved(source, true).is_empty(),
            has_overlaps: AtomicBool::new(false),
            missing: RwLock::new(missing(source)),
            shards: Shards::new(),
            measured: Mutex::default(),
            all: Mutex::default(),
        }
    }

    /// Measures nothing in chunks.
    pub(super) fn interleaved(source: &dyn Source, range: TimeRange) -> Self {
        Self {
            is_interleaved: true,
            ..Self::new(source, range)
        }
    }

    /// Whether the report is not to be believed: another one that is [`Calls::interleaved`] is.
    pub(super) fn has_overlaps(&self) -> bool {
        !self.is_interleaved && self.has_overlaps.load(Ordering::Relaxed)
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
                turn: record.what.turn,
                thread,
                what: (record.what.end, record.what.since, Some(stay)),
            });
        });
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

    fn take(
        &self,
        threads: &mut OfThreads,
        cpu: CpuId,
        record: Happened<EndInStay>,
        missing: &[TimeRange],
    ) {
        let OfThreads {
            entered,
            overlaps,
            taken,
        } = threads;
        let (what, since, stay) = record.what;
        if !self.is_interleaved {
            overlaps.note(record.thread, cpu, since, record.at);
        }
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
            End::Over => drop(entered.remove(&record.thread)),
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
            .finish(|threads, cpu, record| self.take(threads, cpu, record, &missing));
        let mut all = self.all_measured();
        for threads in threads {
            self.has_overlaps
                .fetch_or(threads.overlaps.found(), Ordering::Relaxed);
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
            occupant: Occupant::new(self.is_interleaved),
            ..Told::default()
        }
    }

    fn packet(&self, told: &mut Told, packet: &Packet) {
        told.turn = u64::from(packet.id.0) << 32;
        if packet.lacks_events_before() {
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
        told.turn += 1;
        let record = |thread: Option<ThreadId>, end, told: &Told| Record {
            at,
            thread: thread.map_or(told.occupant.current(), Whose::Thread),
            what: InTurn {
                end,
                turn: told.turn,
                since: at,
            },
        };
        match self.concepts.fact(event) {
            Some(Fact::Switch { prev, next, .. }) => {
                told.leave_call();
                told.occupant.switch(Switch { at, prev, next });
            }
            Some(Fact::SyscallEntry(entry)) => {
                let call = entry.call.0;
                let entered = record(entry.thread, End::Entered(call), told);
                told.turn_to(entered.thread);
                // Of one whose exit is missing nothing is told.
                if let Some((earlier, _)) = told.current.replace((entered, call)) {
                    told.hidden_since.get_or_insert(earlier.at);
                }
                if self.is_interleaved {
                    told.leave_call();
                }
            }
            Some(Fact::SyscallExit(exit)) => {
                let call = exit.call.map(|call| call.0);
                let returned = record(exit.thread, End::Returned(call), told);
                told.turn_to(returned.thread);
                let is_its =
                    |(_, entered): &mut (_, CallNumber)| call.is_none_or(|call| call == *entered);
                if let Some((entered, call)) = told.current.take_if(is_its) {
                    self.measure(&mut told.own, call, entered.at, at);
                    told.hidden_since.get_or_insert(entered.at);
                    told.over = Some(record(exit.thread, End::Over, told));
                } else {
                    told.leave_call();
                    told.push(returned);
                }
            }
            _ => {}
        }
    }

    fn end(&self, told: &mut Told, chunk: &Chunk) {
        // The next chunk may have the other end in the same stay.
        let entered = told.current.take().map(|(entered, _)| entered);
        if entered.is_none() {
            told.leave_call();
        }
        let mut lane = std::mem::take(&mut told.occupant).finish();
        if let Some(mut entered) = entered {
            entered.what.since = told.hidden_since.take().unwrap_or(entered.at);
            lane.push(entered);
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
            .work_off(|threads, cpu, record| self.take(threads, cpu, record, &missing));
        drop(missing);
        self.add_measured();
    }
}
