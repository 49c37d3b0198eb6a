//! System calls, from entry to exit of the same thread.
//!
//! A call that its thread does not leave the processor in is measured in its chunk; the ends of
//! others are brought together in the order of time.

use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};
use slowpath_concepts::{Concepts, Fact, FactKind};
use slowpath_engine::{Analysis, Chunk};
use slowpath_model::{CpuId, Event, Projection, ThreadId, TimeRange, Timestamp};
use slowpath_source::{Packet, Source};

use super::distribution::Distribution;
use super::{LatencyKind, LatencyReport, report};
use crate::answer::Answer;
use crate::extent::shares_processors;
use crate::lanes::{Lanes, Occupant, Record, Switch, Whose};
use crate::{Extent, Window};

/// The analysis.
pub(super) struct Calls {
    window: Window,
    concepts: Concepts,
    shares_processors: bool,
}

/// Position of a call in the list of names.
type CallNumber = u16;

#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
enum End {
    Entered(CallNumber),
    /// Of this call, where the tracer says so.
    Returned(Option<CallNumber>),
}

/// What a chunk, or several, told.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct Told {
    /// By number of the call.
    taken: Vec<Distribution>,
    lanes: Lanes<End>,
    /// Calls that threads are in, in merged states.
    entered: FxHashMap<ThreadId, (CallNumber, Timestamp)>,
    /// Only while a chunk is passed over.
    occupant: Occupant<End>,
    /// The call that the current thread is in, entered since it was switched to.
    current: Option<(Timestamp, Whose, CallNumber)>,
}

impl Told {
    fn leave_call(&mut self) {
        if let Some((at, thread, call)) = self.current.take() {
            let what = End::Entered(call);
            self.occupant.lane.push(Record { at, thread, what });
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
        }
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

    fn drain(&self, told: &mut Told, until: Timestamp, end: bool) {
        let (entered, taken) = (&mut told.entered, &mut told.taken);
        told.lanes.drain(until, end, |record| {
            let thread = match record.thread {
                Whose::Thread(thread) => thread,
                // No thread has a negative number, whatever processor a stretch is of.
                Whose::Unknown(stretch) => ThreadId((stretch | 1 << 31) as i32),
                Whose::Current | Whose::Nobody => return,
            };
            match record.what {
                End::Entered(call) => drop(entered.insert(thread, (call, record.at))),
                End::Returned(call) => {
                    if let Some(&(entered_call, from)) = entered.get(&thread)
                        && call.is_none_or(|call| call == entered_call)
                    {
                        entered.remove(&thread);
                        self.measure(taken, entered_call, from, record.at);
                    }
                }
            }
        });
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
        self.drain(&mut told, Timestamp::MAX, true);
        let names = self.concepts.syscall_names().iter().cloned();
        report(LatencyKind::Syscall, self.window, names.zip(told.taken))
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
                told.current = Some((at, whose(entry.thread, told), entry.call.0));
                if self.shares_processors {
                    told.leave_call();
                }
            }
            Some(Fact::SyscallExit(exit)) => {
                let call = exit.call.map(|call| call.0);
                match told.current.take() {
                    Some((from, _, entered)) if call.is_none_or(|call| call == entered) => {
                        self.measure(&mut told.taken, entered, from, at);
                    }
                    _ => {
                        let thread = whose(exit.thread, told);
                        let what = End::Returned(call);
                        told.occupant.lane.push(Record { at, thread, what });
                    }
                }
            }
            _ => {}
        }
    }

    fn end(&self, told: &mut Told, chunk: &Chunk) {
        told.leave_call();
        let cpu = chunk.cpu.unwrap_or(CpuId(chunk.stream.0));
        let occupant = std::mem::take(&mut told.occupant);
        told.lanes = Lanes::of(cpu, occupant.finish());
    }

    fn merge(&self, earlier: &mut Told, later: Told) {
        earlier.lanes.merge(later.lanes);
        if earlier.taken.len() < later.taken.len() {
            earlier
                .taken
                .resize_with(later.taken.len(), Distribution::default);
        }
        for (known, more) in earlier.taken.iter_mut().zip(later.taken) {
            known.merge(more);
        }
    }

    fn settle(&self, told: &mut Told, watermark: Timestamp) {
        self.drain(told, watermark, false);
    }
}
