//! What chunks could not resolve by themselves, per processor, until all that came before is merged.
//!
//! A chunk does not know which thread runs when it begins, and events of one thread lie on many
//! processors ("executions split at migration", Reumont-Locke et al. 2019, §4.2.2). So a chunk leaves
//! records; merged lanes learn their threads from the switches around them, and everything before a
//! watermark comes out once, in the order of time, then of processor. Merging lanes is putting one
//! list behind the other, which is associative.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap, VecDeque};

use serde::{Deserialize, Serialize};
use slowpath_engine::Chunk;
use slowpath_model::{CpuId, StreamId, ThreadId, Timestamp};

/// Something that happened in the context of a thread.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Record<What> {
    pub(crate) at: Timestamp,
    /// The thread, as far as it is known.
    pub(crate) thread: Whose,
    pub(crate) what: What,
}

/// The thread of a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Whose {
    /// This one.
    Thread(ThreadId),
    /// The one that runs on the processor, which is not known yet.
    Current,
    /// One that will never be known, for want of a switch; with the number of the stretch of time in
    /// which it ran on its processor all along.
    Unknown(u32),
    /// Of no interest.
    Nobody,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
enum Item<What> {
    Record(Record<What>),
    Switch(Switch),
    /// Events were lost.
    Gap(Timestamp),
}

/// The processor goes from one thread to another.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(crate) struct Switch {
    pub(crate) at: Timestamp,
    pub(crate) prev: ThreadId,
    pub(crate) next: ThreadId,
}

/// The time between two switches of a processor or gaps: one thread runs all along.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Stay {
    pub(crate) cpu: CpuId,
    /// How many switches and gaps the lane has before it.
    number: u32,
}

/// An item, and the stream that it is from.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Placed<What> {
    stream: StreamId,
    item: Item<What>,
    /// Which stay it is in, once it has been seen.
    stay: u32,
}

impl<What> Placed<What> {
    /// The stream is the chunk's, and named at its end.
    fn new(item: Item<What>) -> Self {
        Self {
            stream: StreamId::default(),
            item,
            stay: 0,
        }
    }

    fn at(&self) -> Timestamp {
        match &self.item {
            Item::Record(record) => record.at,
            Item::Switch(switch) => switch.at,
            Item::Gap(at) => *at,
        }
    }

    /// Items of one moment come in the order of their streams, whichever chunk was merged first.
    fn key(&self) -> (Timestamp, StreamId) {
        (self.at(), self.stream)
    }
}

/// The records of one processor in the order of time.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Lane<What> {
    items: VecDeque<Placed<What>>,
    /// How many items at the front have been labelled or wait for the next switch.
    seen: usize,
    /// The first item that waits for the next switch.
    waiting: Option<usize>,
    current: Option<ThreadId>,
    gaps: u32,
    /// The stay that the next item is in.
    stay: u32,
}

impl<What> Default for Lane<What> {
    fn default() -> Self {
        Self {
            items: VecDeque::new(),
            seen: 0,
            waiting: None,
            current: None,
            gaps: 0,
            stay: 0,
        }
    }
}

impl<What> Lane<What> {
    /// Adds a record. Records may come slightly out of order: later than some that follow them.
    pub(crate) fn push(&mut self, record: Record<What>) {
        let is_later = |placed: &Placed<What>| match &placed.item {
            Item::Record(known) => known.at > record.at,
            Item::Switch(_) | Item::Gap(_) => false,
        };
        let out_of_order = self
            .items
            .iter()
            .rev()
            .take_while(|placed| is_later(placed))
            .count();
        let position = self.items.len() - out_of_order;
        if out_of_order == 0 {
            self.push_back(Item::Record(record));
        } else {
            self.items
                .insert(position, Placed::new(Item::Record(record)));
        }
    }

    fn switch(&mut self, switch: Switch) {
        self.push_back(Item::Switch(switch));
    }

    fn gap(&mut self, at: Timestamp) {
        self.push_back(Item::Gap(at));
    }

    fn push_back(&mut self, item: Item<What>) {
        self.items.push_back(Placed::new(item));
    }

    /// Puts the items of `later` behind those here; where the two overlap (they are of two streams of
    /// one processor), in the order of time.
    fn merge(&mut self, later: Self) {
        let Some(first) = later.items.front().map(Placed::key) else {
            return;
        };
        let follow = |placed: &&Placed<What>| placed.key() > first;
        let overlap = self.items.iter().rev().take_while(follow).count();
        let mut behind = self.items.split_off(self.items.len() - overlap);
        for item in later.items {
            while behind
                .front()
                .is_some_and(|known| known.key() <= item.key())
            {
                self.items.extend(behind.pop_front());
            }
            self.items.push_back(item);
        }
        self.items.append(&mut behind);
    }

    /// Goes through the items before `until` that were not seen yet and gives them their threads.
    fn label(&mut self, cpu: CpuId, until: Timestamp) {
        while let Some(placed) = self.items.get_mut(self.seen)
            && (placed.at() < until || until == Timestamp::MAX)
        {
            let position = self.seen;
            self.seen += 1;
            placed.stay = self.stay;
            if !matches!(placed.item, Item::Record(_)) {
                self.stay = self.stay.wrapping_add(1);
            }
            match &mut placed.item {
                Item::Record(record) if record.thread == Whose::Current => match self.current {
                    Some(thread) => record.thread = Whose::Thread(thread),
                    None => self.waiting = self.waiting.or(Some(position)),
                },
                Item::Record(_) => {}
                &mut Item::Switch(Switch { prev, next, .. }) => {
                    self.resolve_waiting(position, Whose::Thread(prev));
                    self.current = Some(next);
                }
                Item::Gap(_) => {
                    self.give_up(cpu, position);
                    self.current = None;
                    self.gaps += 1;
                }
            }
        }
    }

    /// No switch will tell whose the items before `until` are that wait for one.
    fn give_up(&mut self, cpu: CpuId, until: usize) {
        let stretch = cpu.0 << 10 | (self.gaps & 0x3ff);
        self.resolve_waiting(until, Whose::Unknown(stretch));
    }

    fn resolve_waiting(&mut self, until: usize, whose: Whose) {
        let Some(first) = self.waiting.take() else {
            return;
        };
        for placed in self.items.range_mut(first..until) {
            if let Item::Record(record) = &mut placed.item
                && record.thread == Whose::Current
            {
                record.thread = whose;
            }
        }
    }

    /// When the next record happened, if it has been seen and its thread is settled.
    fn next(&mut self) -> Option<Timestamp> {
        loop {
            match &self.items.front().filter(|_| self.seen > 0)?.item {
                Item::Record(record) => return (self.waiting != Some(0)).then_some(record.at),
                Item::Switch(_) | Item::Gap(_) => drop(self.pop()),
            }
        }
    }

    fn pop(&mut self) -> Option<Placed<What>> {
        let first = self.items.pop_front()?;
        self.seen -= 1;
        self.waiting = self.waiting.map(|position| position - 1);
        Some(first)
    }
}

/// The lanes of all processors.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Lanes<What>(BTreeMap<CpuId, Lane<What>>);

impl<What> Default for Lanes<What> {
    fn default() -> Self {
        Self(BTreeMap::new())
    }
}

impl<What> Lanes<What> {
    /// The lane of a chunk.
    pub(crate) fn of(chunk: &Chunk, mut lane: Lane<What>) -> Self {
        for placed in &mut lane.items {
            placed.stream = chunk.stream;
        }
        Self(BTreeMap::from([(chunk.processor(), lane)]))
    }

    /// Puts the records of `later` behind those here.
    pub(crate) fn merge(&mut self, later: Self) {
        for (cpu, lane) in later.0 {
            match self.0.get_mut(&cpu) {
                None => drop(self.0.insert(cpu, lane)),
                Some(known) => known.merge(lane),
            }
        }
    }

    /// Hands out all records before `until` whose threads are settled, with those of all lanes in
    /// one order; stops at the first whose thread is not, unless this is the `end`: nothing more will
    /// be merged. Returns when that one happened, else `until`: what comes later has to wait.
    pub(crate) fn drain(
        &mut self,
        until: Timestamp,
        end: bool,
        mut take: impl FnMut(Stay, Record<What>),
    ) -> Timestamp {
        let mut limit = until;
        let mut heads = BinaryHeap::new();
        for (&cpu, lane) in &mut self.0 {
            lane.label(cpu, until);
            if end {
                lane.give_up(cpu, lane.seen);
            }
            if let Some(first) = lane.waiting
                && let Some(Item::Record(record)) = lane.items.get(first).map(|placed| &placed.item)
            {
                limit = limit.min(record.at);
            }
            if let Some(at) = lane.next() {
                heads.push(Reverse((at, cpu)));
            }
        }
        let settled = |at| at < limit || limit == Timestamp::MAX;
        while let Some(Reverse((at, cpu))) = heads.pop()
            && settled(at)
        {
            let Some(lane) = self.0.get_mut(&cpu) else {
                continue;
            };
            let others = heads.peek().map(|Reverse(head)| *head);
            let is_first = |at| settled(at) && others.is_none_or(|other| (at, cpu) < other);
            loop {
                if let Some(Placed { item, stay, .. }) = lane.pop()
                    && let Item::Record(record) = item
                {
                    take(Stay { cpu, number: stay }, record);
                }
                match lane.next() {
                    Some(at) if is_first(at) => {}
                    Some(at) => break heads.push(Reverse((at, cpu))),
                    None => break,
                }
            }
        }
        limit
    }
}

/// Follows which thread runs on the processor of a chunk, and fills the chunk's lane.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Occupant<What> {
    pub(crate) lane: Lane<What>,
    current: Whose,
    /// Every switch is kept: records of other chunks need them.
    keep_switches: bool,
    /// The latest switch, as long as the lane does not have it.
    latest: Option<Switch>,
}

impl<What> Default for Occupant<What> {
    fn default() -> Self {
        Self::new(false)
    }
}

impl<What> Occupant<What> {
    /// With `keep_switches` where records of other chunks of the processor lie between those of this one.
    pub(crate) fn new(keep_switches: bool) -> Self {
        Self {
            lane: Lane::default(),
            current: Whose::Current,
            keep_switches,
            latest: None,
        }
    }

    /// The thread that runs now.
    pub(crate) fn current(&self) -> Whose {
        self.current
    }

    pub(crate) fn switch(&mut self, switch: Switch) {
        if self.keep_switches {
            return self.lane.switch(switch);
        }
        if self.current == Whose::Current {
            self.lane.switch(switch);
            self.latest = None;
        } else {
            self.latest = Some(switch);
        }
        self.current = Whose::Thread(switch.next);
    }

    /// Events were lost before `at`: the thread is not known from here to the next switch.
    pub(crate) fn gap(&mut self, at: Timestamp) {
        self.latest = None;
        self.current = Whose::Current;
        self.lane.gap(at);
    }

    /// The lane, when the chunk is over.
    pub(crate) fn finish(mut self) -> Lane<What> {
        if let Some(switch) = self.latest {
            self.lane.switch(switch);
        }
        self.lane
    }
}
