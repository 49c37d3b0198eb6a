//! The shared memory of a process with probes: docs/formats/probes.md in Rust, the reader's side.
//!
//! The header is copied once and checked to fit together and into the memory; from then on every place is computed from
//! that copy, and every access is bounded by `SharedMemory` as well. A damaged memory gives wrong numbers, never anything
//! worse, and costs a bounded time.

use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, SeqCst};
use std::sync::atomic::{AtomicU32, AtomicU64, fence};

use slowpath_platform::SharedMemory;
use slowpath_platform::clocks::{TickClock, pair};

use super::ProbeKind;

const MAGIC: u64 = u64::from_ne_bytes(*b"SLPROBES");
const VERSION: u32 = 1;
const HEADER: u64 = 4096;
const ENTRY: u64 = 64;
const NODE: u64 = 128;
const FIELDS: usize = 6;
/// Tries of one step beyond what an undamaged memory can need.
const ATTEMPTS: u64 = 1000;

/// Memory that is not what the format says.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DamagedProbes {
    /// It is of another version.
    #[error("its format is version {0}, not {VERSION}")]
    Version(u32),
    /// Its header does not fit together.
    #[error("its header does not fit together")]
    Header,
}

/// A record of a probe.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Record {
    /// Nanoseconds of `CLOCK_MONOTONIC` when it was made.
    pub time_ns: u64,
    /// The thread that made it, by its number in its own PID namespace.
    pub thread: u32,
    /// The processor that it ran on.
    pub processor: u16,
    /// What was measured.
    pub kind: ProbeKind,
    /// Which probe.
    pub id: u16,
    /// Its values; durations in nanoseconds. 0 where it has fewer.
    pub fields: [u64; FIELDS],
    /// How many values it has.
    pub field_count: usize,
}

/// A probe that the process reached, or that somebody switched.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Probe {
    /// What it measures.
    pub kind: ProbeKind,
    /// Its number.
    pub id: u16,
    /// So many executions of a thread make a record: its switch; 0 where it is off.
    pub every: u32,
    /// The same, as the source says; 0 where it was not reached yet.
    pub written: u32,
    /// As the source calls it; empty where it was not reached yet.
    pub name: String,
}

/// What became of the records of a kind of probe since the process began.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Ever stored.
    pub published: u64,
    /// Not read yet.
    pub waiting: u64,
    /// Sacrificed to newer ones.
    pub lost: u64,
}

/// The memory of one process.
#[derive(Debug)]
pub struct ProbeMemory {
    memory: SharedMemory,
    header: Header,
    /// The processor whose queues are next.
    turn: u64,
}

/// What of the header is needed, as it was found and checked.
#[derive(Clone, Copy, Debug)]
struct Header {
    process: u32,
    processors: u64,
    slots: u64,
    capacity: u64,
    spares: u64,
    probes_offset: u64,
    queues_offset: u64,
    queue_stride: u64,
    nodes_offset: u64,
    clock: TickClock,
    base_ticks: u64,
    base_ns: u64,
}

/// From ticks to nanoseconds.
#[derive(Clone, Copy)]
struct Times {
    passed_ticks: i64,
    passed_ns: i64,
}

impl Times {
    fn ns(self, ticks: i64) -> i64 {
        if self.passed_ticks == 0 {
            return 0;
        }
        // Both factors have 64 bits, so that their product has its place.
        (i128::from(ticks) * i128::from(self.passed_ns) / i128::from(self.passed_ticks)) as i64
    }
}

impl ProbeMemory {
    /// Of mapped memory; `None` where it is not complete yet, and is to be looked at again later.
    ///
    /// # Errors
    /// Where it is of another version, or damaged.
    pub fn open(memory: SharedMemory) -> Result<Option<Self>, DamagedProbes> {
        let is_complete = memory.bytes() >= HEADER
            && memory
                .u64_at(0)
                .is_some_and(|magic| magic.load(Acquire) == MAGIC);
        if !is_complete {
            return Ok(None);
        }
        let header = Header::read(&memory)?;
        Ok(Some(Self {
            memory,
            header,
            turn: 0,
        }))
    }

    /// The process, by its number in its own PID namespace.
    pub fn process(&self) -> u32 {
        self.header.process
    }

    /// Nanoseconds of `CLOCK_MONOTONIC` when it was made.
    pub fn made_ns(&self) -> u64 {
        self.header.base_ns
    }

    /// The program's name.
    pub fn program(&self) -> String {
        self.text(112, 64)
    }

    /// Why a kind of probe has no values there: an errno, or 0.
    pub fn unavailable(&self, kind: ProbeKind) -> u32 {
        self.load32(208 + 4 * u64::from(kind.number()))
    }

    /// Records that were never stored, as their thread had no memory for them.
    pub fn refused(&self) -> u64 {
        self.load64(240)
    }

    /// Probes that the table had no room for, each time one was tried.
    pub fn probes_refused(&self) -> u32 {
        self.load32(260)
    }

    /// All probes of the table.
    pub fn probes(&self) -> Vec<Probe> {
        let used = (0..self.header.capacity).map_while(|number| {
            let entry = self.entry(number);
            match self.atomic32(entry)?.load(Acquire) {
                0 => None,
                key => Some((entry, key)),
            }
        });
        let probe = |(entry, key): (u64, u32)| {
            let written = self.atomic32(entry + 8)?.load(Acquire);
            Some(Probe {
                kind: *ProbeKind::ALL.get((key >> 16 & 0x7fff) as usize)?,
                id: key as u16,
                every: self.load32(entry + 4),
                written,
                // Valid once it was reached.
                name: match written {
                    0 => String::new(),
                    _ => self.text(entry + 16, 48),
                },
            })
        };
        used.filter_map(probe).collect()
    }

    /// Switches one probe, which may be one that is reached later; whether the table had room for it. `every`: 0 is off, and
    /// [`u32::MAX`] as often as the source says.
    pub fn switch(&self, kind: ProbeKind, id: u16, every: u32) -> bool {
        let key = 1 << 31 | kind.number() << 16 | u32::from(id);
        for number in 0..self.header.capacity {
            let entry = self.entry(number);
            let (Some(at), Some(switch)) = (self.atomic32(entry), self.atomic32(entry + 4)) else {
                return false;
            };
            let there = match at.load(Acquire) {
                0 => at
                    .compare_exchange(0, key, AcqRel, Acquire)
                    .map_or_else(|there| there, |_| key),
                there => there,
            };
            if there == key {
                switch.store(every, SeqCst);
                return true;
            }
        }
        false
    }

    /// Switches probes of a kind that are reached from now on; those that were reached are left as they are.
    pub fn switch_later_ones(&self, kind: ProbeKind, every: u32) {
        if let Some(switch) = self.atomic32(176 + 4 * u64::from(kind.number())) {
            switch.store(every, SeqCst);
        }
    }

    /// Takes the oldest records of these kinds, at most `each` from one queue, a turn over all queues; how many.
    pub fn take(
        &mut self,
        kinds: &[ProbeKind],
        each: usize,
        sink: &mut dyn FnMut(Record),
    ) -> usize {
        let Some((ticks, ns)) = pair(self.header.clock) else {
            return 0;
        };
        let times = Times {
            passed_ticks: ticks.wrapping_sub(self.header.base_ticks) as i64,
            passed_ns: ns.wrapping_sub(self.header.base_ns) as i64,
        };
        let mut taken = 0;
        for step in 0..self.header.processors {
            let processor = (self.turn + step) % self.header.processors;
            for kind in kinds {
                for _ in 0..each {
                    let Some(node) = self.take_one(self.queue(*kind, processor)) else {
                        break;
                    };
                    taken += 1;
                    if let Some(record) = self.record(&node, times) {
                        sink(record);
                    }
                }
            }
        }
        self.turn = (self.turn + 1) % self.header.processors;
        taken
    }

    /// What became of the records of a kind. Looks at every slot of queues that were used.
    pub fn counts(&self, kind: ProbeKind) -> Counts {
        let mut counts = Counts::default();
        for processor in 0..self.header.processors {
            let queue = self.queue(kind, processor);
            for slot in 0..self.header.slots {
                let (published, waiting, lost) = self.count_slot(&queue, slot);
                if slot == 0 && published == 0 {
                    break;
                }
                counts.published = counts.published.saturating_add(published);
                counts.waiting += waiting;
                counts.lost = counts.lost.saturating_add(lost);
            }
        }
        counts
    }

    fn count_slot(&self, queue: &Queue, slot: u64) -> (u64, u64, u64) {
        let mut word = self.word(queue, slot);
        // Until nobody changed it in between.
        for _ in 0..ATTEMPTS {
            let lost = self.load64(self.node(queue, slot, word));
            fence(Acquire);
            let now = self.word(queue, slot);
            if now == word {
                return (round(word), u64::from(is_full(word)), lost);
            }
            word = now;
        }
        (round(word), 0, 0)
    }

    /// Step by step as the format says; ends after a round of the ring at the latest.
    fn take_one(&self, queue: Queue) -> Option<[u64; 4 + FIELDS]> {
        let head_at = self.atomic64(queue.offset + 64)?;
        let slots = self.header.slots;
        let mut head = head_at.load(Acquire);
        for _ in 0..slots + ATTEMPTS {
            let slot = head % slots;
            let round_of_head = head / slots + 1;
            let word_at = self.atomic64(queue.offset + 128 + 8 * slot)?;
            let word = word_at.load(Acquire);
            if round(word) < round_of_head {
                return None;
            }
            let mut copy = None;
            if round(word) == round_of_head && is_full(word) {
                let node = self.node(&queue, slot, word);
                let mut words = [0; 4 + FIELDS];
                for (place, copied) in words.iter_mut().enumerate() {
                    *copied = self.atomic64(node + 8 * place as u64)?.load(Relaxed);
                }
                fence(Acquire);
                let taken = word_at.compare_exchange(word, word & !FULL, AcqRel, Acquire);
                copy = taken.is_ok().then_some(words);
            }
            let tail = self.atomic64(queue.offset)?.load(Acquire);
            let next = head.wrapping_add(1).max(tail.saturating_sub(slots));
            head = match head_at.compare_exchange(head, next, AcqRel, Acquire) {
                Ok(_) => next,
                Err(there) => there,
            };
            if copy.is_some() {
                return copy;
            }
        }
        None
    }

    fn record(&self, node: &[u64; 4 + FIELDS], times: Times) -> Option<Record> {
        // Two or more numbers lie in one word; which comes first is the machine's byte order.
        let bytes = node.map(u64::to_ne_bytes).concat();
        let u16_at = |at: usize| Some(u16::from_ne_bytes(bytes.get(at..at + 2)?.try_into().ok()?));
        let u32_at = |at: usize| Some(u32::from_ne_bytes(bytes.get(at..at + 4)?.try_into().ok()?));
        let bit = u32_at(20)?;
        let kind = *ProbeKind::ALL.get(bit.trailing_zeros() as usize)?;
        if !bit.is_power_of_two() {
            return None;
        }
        let field_count = usize::from(*bytes.get(28)?).min(FIELDS);
        let mut fields = [0; FIELDS];
        for (place, field) in fields.iter_mut().enumerate().take(field_count) {
            *field = match kind.is_duration(place) {
                true => times.ns(node[4 + place] as i64) as u64,
                false => node[4 + place],
            };
        }
        let passed = times.ns(node[1].wrapping_sub(self.header.base_ticks) as i64);
        Some(Record {
            time_ns: self.header.base_ns.wrapping_add(passed as u64),
            thread: u32_at(16)?,
            processor: u16_at(26)?,
            kind,
            id: u16_at(24)?,
            fields,
            field_count,
        })
    }

    fn queue(&self, kind: ProbeKind, processor: u64) -> Queue {
        let number = u64::from(kind.number()) * self.header.processors + processor;
        Queue {
            offset: self.header.queues_offset + number * self.header.queue_stride,
            first_node: number * self.header.slots,
        }
    }

    fn word(&self, queue: &Queue, slot: u64) -> u64 {
        self.atomic64(queue.offset + 128 + 8 * slot)
            .map_or(0, |word| word.load(Acquire))
    }

    /// Where the node of a slot's word begins; within bounds, also in damaged memory.
    fn node(&self, queue: &Queue, slot: u64, word: u64) -> u64 {
        let number = (word ^ (queue.first_node + slot)) & NODE_MASK;
        let number = match number < self.header.node_count() {
            true => number,
            false => queue.first_node,
        };
        self.header.nodes_offset + number * NODE
    }

    fn entry(&self, number: u64) -> u64 {
        self.header.probes_offset + number * ENTRY
    }

    fn atomic32(&self, offset: u64) -> Option<&AtomicU32> {
        self.memory.u32_at(offset)
    }

    fn atomic64(&self, offset: u64) -> Option<&AtomicU64> {
        self.memory.u64_at(offset)
    }

    fn load32(&self, offset: u64) -> u32 {
        self.atomic32(offset).map_or(0, |at| at.load(Relaxed))
    }

    fn load64(&self, offset: u64) -> u64 {
        self.atomic64(offset).map_or(0, |at| at.load(Relaxed))
    }

    /// A text that ends with a zero, in at most `bytes`.
    fn text(&self, offset: u64, bytes: u64) -> String {
        let words = (offset..offset + bytes).step_by(8);
        let bytes: Vec<u8> = words.flat_map(|at| self.load64(at).to_ne_bytes()).collect();
        let end = bytes.iter().position(|byte| *byte == 0);
        String::from_utf8_lossy(&bytes[..end.unwrap_or(bytes.len())]).into_owned()
    }
}

/// A queue: where it begins, and the node of slot 0 at the very first.
#[derive(Clone, Copy)]
struct Queue {
    offset: u64,
    first_node: u64,
}

const NODE_MASK: u64 = (1 << 24) - 1;
const FULL: u64 = 1 << 24;

fn round(word: u64) -> u64 {
    word >> 25
}

fn is_full(word: u64) -> bool {
    word & FULL != 0
}

impl Header {
    fn read(memory: &SharedMemory) -> Result<Self, DamagedProbes> {
        let u32_at = |offset| memory.u32_at(offset).map_or(0, |at| at.load(Relaxed));
        let u64_at = |offset| memory.u64_at(offset).map_or(0, |at| at.load(Relaxed));
        if u32_at(8) != VERSION {
            return Err(DamagedProbes::Version(u32_at(8)));
        }
        let clock = match u32_at(88) {
            1 => TickClock::Monotonic,
            2 | 3 => TickClock::Processor,
            _ => return Err(DamagedProbes::Header),
        };
        let header = Self {
            process: u32_at(24),
            processors: u32_at(28).into(),
            slots: u32_at(36).into(),
            capacity: u32_at(40).into(),
            spares: u32_at(44).into(),
            probes_offset: u64_at(48),
            queues_offset: u64_at(56),
            queue_stride: u64_at(64),
            nodes_offset: u64_at(72),
            clock,
            base_ticks: u64_at(96),
            base_ns: u64_at(104),
        };
        let fits = u64::from(u32_at(12)) >= 264
            && u64_at(16) <= memory.bytes()
            && u32_at(32) as usize == ProbeKind::ALL.len()
            && u64_at(80) == NODE
            && header.fits(memory.bytes());
        fits.then_some(header).ok_or(DamagedProbes::Header)
    }

    fn queues(&self) -> u64 {
        self.processors * ProbeKind::ALL.len() as u64
    }

    fn node_count(&self) -> u64 {
        self.queues() * self.slots + self.spares
    }

    /// Whether everything lies in `bytes`; each number is small enough for the next product where it is reached.
    fn fits(&self, bytes: u64) -> bool {
        let part = |offset: u64, size: u64| {
            offset.is_multiple_of(64) && offset.checked_add(size).is_some_and(|end| end <= bytes)
        };
        (1..=65535).contains(&self.processors)
            && self.slots >= 2
            && self.slots.is_power_of_two()
            && self.capacity <= 65536
            && self.node_count() <= NODE_MASK
            && self.queue_stride.is_multiple_of(64)
            && self.queue_stride >= 128 + 8 * self.slots
            && self.queue_stride <= bytes
            && part(self.probes_offset, self.capacity * ENTRY)
            && (self.queues().checked_mul(self.queue_stride))
                .is_some_and(|size| part(self.queues_offset, size))
            && part(self.nodes_offset, self.node_count() * NODE)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn golden() -> Vec<u8> {
        let path = "../../agents/probes/tests/golden/memory-v1.bin";
        std::fs::read(path).expect("the golden memory")
    }

    fn open(bytes: &[u8]) -> Result<Option<ProbeMemory>, DamagedProbes> {
        ProbeMemory::open(SharedMemory::of_bytes(bytes).expect("memory"))
    }

    /// As the agent's own reader writes a record.
    fn line(memory: &ProbeMemory, record: &Record) -> serde_json::Value {
        let names: &[&str] = match record.kind {
            ProbeKind::Lat => &["duration_ns"],
            ProbeKind::Tpt => &[
                "executions",
                "duration_ns",
                "all_executions",
                "all_duration_ns",
            ],
            _ => &[],
        };
        let fields = &record.fields[..record.field_count];
        let is_it = |probe: &&Probe| (probe.kind, probe.id) == (record.kind, record.id);
        let probes = memory.probes();
        serde_json::json!({
            "timestamp_ns": record.time_ns, "process": memory.process(), "thread": record.thread,
            "processor": record.processor, "type": record.kind.name(), "probe": record.id,
            "name": probes.iter().find(is_it).map_or("", |probe| &probe.name),
            "values": match names {
                [] => serde_json::json!(fields),
                _ => names.iter().zip(fields).map(|(name, field)| ((*name).to_owned(), (*field).into()))
                    .collect::<serde_json::Map<String, serde_json::Value>>().into(),
            },
        })
    }

    #[test]
    fn the_golden_memory_is_read_as_its_description_says() {
        let text = std::fs::read_to_string("../../agents/probes/tests/golden/memory-v1.jsonl");
        let text = text.expect("its description");
        let mut lines = text
            .lines()
            .map(|line| serde_json::from_str::<serde_json::Value>(line).expect("JSON"));
        let mut memory = open(&golden()).expect("undamaged").expect("complete");
        let counts = |memory: &ProbeMemory| {
            let all = ProbeKind::ALL.map(|kind| memory.counts(kind));
            let sum = |of: fn(&Counts) -> u64| all.iter().map(of).sum::<u64>();
            serde_json::json!({
                "stored": sum(|one| one.published), "waiting": sum(|one| one.waiting), "lost": sum(|one| one.lost),
                "read": sum(|one| one.published - one.waiting - one.lost),
                "refused": memory.refused(), "probes_refused": memory.probes_refused(),
            })
        };
        assert_eq!(Some(counts(&memory)), lines.next());
        let mut records = Vec::new();
        while memory.take(&ProbeKind::ALL, 1, &mut |record| records.push(record)) > 0 {}
        let found: Vec<_> = records.iter().map(|one| line(&memory, one)).collect();
        let mut expected: Vec<_> = lines.collect();
        let mut sorted = found.clone();
        for list in [&mut expected, &mut sorted] {
            list.sort_by_key(ToString::to_string);
        }
        assert_eq!(sorted, expected);
        assert_eq!(memory.counts(ProbeKind::Lat).waiting, 0);
        assert_eq!(memory.program(), "golden");
        assert_eq!(memory.unavailable(ProbeKind::Llc), 2);
    }

    #[test]
    fn probes_are_switched_and_entered() {
        let memory = open(&golden()).expect("undamaged").expect("complete");
        let switched = |kind: ProbeKind, id: u16| {
            let probes = memory.probes();
            probes
                .into_iter()
                .find(|probe| (probe.kind, probe.id) == (kind, id))
                .map(|probe| probe.every)
        };
        assert_eq!(switched(ProbeKind::Lat, 7), Some(u32::MAX));
        assert!(memory.switch(ProbeKind::Lat, 7, 5));
        assert_eq!(switched(ProbeKind::Lat, 7), Some(5));
        assert_eq!(switched(ProbeKind::Cnt, 1), None);
        assert!(memory.switch(ProbeKind::Cnt, 1, 1));
        assert_eq!(switched(ProbeKind::Cnt, 1), Some(1));
        let room = (100..200).filter(|id| memory.switch(ProbeKind::Flt, *id, 1));
        assert_eq!(room.count(), 2, "a table of 8, of which 6 are used");
    }

    #[test]
    fn memory_that_is_not_complete_or_of_another_version_is_told() {
        let mut bytes = golden();
        assert!(open(&bytes[..100]).expect("undamaged").is_none());
        bytes[8] = 2;
        assert_eq!(
            open(&bytes).expect_err("another"),
            DamagedProbes::Version(2)
        );
        bytes[8] = 1;
        bytes.truncate(8192);
        assert_eq!(open(&bytes).expect_err("cut"), DamagedProbes::Header);
        bytes[0] = 0;
        assert!(open(&bytes).expect("undamaged").is_none());
    }

    #[test]
    fn no_number_of_the_header_leads_outside() {
        // Every word of the header, and of queues and nodes, replaced by numbers that are popular with attackers.
        let wild = [
            0,
            1,
            3,
            0xff,
            1 << 24,
            1 << 31,
            u64::MAX >> 1,
            u64::MAX - 63,
            u64::MAX,
        ];
        for at in (0..264).step_by(4).chain((4608..12288).step_by(128)) {
            for number in wild {
                let mut bytes = golden();
                bytes[at..at + 8].copy_from_slice(&number.to_ne_bytes());
                if let Ok(Some(mut memory)) = open(&bytes) {
                    for kind in ProbeKind::ALL {
                        memory.counts(kind);
                    }
                    memory.probes();
                    memory.switch(ProbeKind::Cnt, 9, 1);
                    let mut taken = 0;
                    while taken < 1000 {
                        match memory.take(&ProbeKind::ALL, 4, &mut |_| {}) {
                            0 => break,
                            more => taken += more,
                        }
                    }
                    assert!(taken < 1000, "records without end: {at} {number:#x}");
                }
            }
        }
    }
}
