//! Pass 1: every chunk's events about scheduling, interrupts and packets as compact records.
//!
//! Nothing is interpreted here, so nothing is pending across chunks and a merge only puts lists one
//! after the other; pass 2 (`scan.rs`) reads each processor's records in the order of time.

use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};
use slowpath_concepts::{Concepts, Fact, FactKind, Softirq};
use slowpath_engine::{Analysis, Chunk};
use slowpath_model::{CpuId, Event, ProcessId, StreamId, ThreadId, TimeRange, Timestamp};
use slowpath_source::Packet;

use super::record::{Call, Interrupt, Kind, Record};

/// The facts that time lines are made of.
pub(super) const FACTS: &[FactKind] = &[
    FactKind::Switch,
    FactKind::Waking,
    FactKind::Wakeup,
    FactKind::WakeupNew,
    FactKind::IrqEntry,
    FactKind::IrqExit,
    FactKind::SoftirqRaise,
    FactKind::SoftirqEntry,
    FactKind::SoftirqExit,
    FactKind::TimerEntry,
    FactKind::TimerExit,
    FactKind::LocalTimerEntry,
    FactKind::LocalTimerExit,
    FactKind::IpiEntry,
    FactKind::IpiExit,
    FactKind::PacketQueued,
    FactKind::PacketLooped,
    FactKind::PacketReceived,
    FactKind::SyscallEntry,
    FactKind::SyscallExit,
    FactKind::Fork,
    FactKind::DumpedThread,
];

/// A thread's name as the kernel keeps it: at most 15 bytes, zeros behind.
pub(super) type Name = [u8; 16];

pub(super) fn name_from(text: &[u8]) -> Name {
    let mut name = Name::default();
    let length = text.len().min(name.len() - 1);
    name[..length].copy_from_slice(&text[..length]);
    name
}

/// The pass.
pub(super) struct Gather<'run> {
    pub(super) concepts: &'run Concepts,
}

/// What chunks told, in no particular order.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct Gathered {
    pub(super) blocks: Vec<Block>,
    /// What follows belongs to the chunk that is being passed over.
    #[serde(skip)]
    open: Open,
}

/// Records of one processor, from a run of packets of one stream.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Block {
    pub(super) cpu: CpuId,
    pub(super) stream: StreamId,
    /// Position of its first packet: blocks of a stream are in the order of their packets.
    pub(super) first_packet: u32,
    pub(super) records: Vec<Record>,
    /// From its first to its last event, whether they are kept or not.
    pub(super) events: Option<TimeRange>,
    /// Names of threads, as records number them.
    pub(super) names: Vec<Name>,
    /// Interrupt lines seen with the names of their handlers.
    pub(super) irq_names: Vec<(u32, String)>,
    /// Which process a thread belongs to, and when that was said.
    pub(super) processes: Vec<(ThreadId, i64, ProcessId)>,
}

#[derive(Debug, Default)]
struct Open {
    stream: StreamId,
    cpu: Option<CpuId>,
    /// The last packet lost events: perhaps after its last event.
    lost_after: bool,
    call: Call,
    name_of: FxHashMap<ThreadId, Name>,
    last_at: i64,
}

impl Analysis for Gather<'_> {
    type State = Gathered;

    fn begin(&self, chunk: &Chunk) -> Gathered {
        Gathered {
            blocks: Vec::new(),
            open: Open {
                stream: chunk.stream,
                cpu: chunk.cpu,
                last_at: i64::MIN,
                ..Open::default()
            },
        }
    }

    fn packet(&self, state: &mut Gathered, packet: &Packet) {
        let open = &mut state.open;
        let cpu = packet.cpu.or(open.cpu).unwrap_or(CpuId(open.stream.0));
        if state.blocks.last().is_none_or(|block| block.cpu != cpu) {
            open.name_of.clear();
            state.blocks.push(Block {
                cpu,
                stream: open.stream,
                first_packet: packet.id.0,
                records: Vec::new(),
                events: None,
                names: Vec::new(),
                irq_names: Vec::new(),
                processes: Vec::new(),
            });
        }
        let lost = packet.lost_events > 0 || packet.lost_packets > 0;
        if lost || open.lost_after {
            open.call = Call::UNSEEN;
            state.push(packet.range.begin.ns(), Kind::Lost);
        }
        state.open.lost_after = packet.lost_events > 0;
    }

    fn event(&self, state: &mut Gathered, event: &Event<'_>) {
        let Some(fact) = self.concepts.fact(event) else {
            return;
        };
        state.saw(event.at);
        let at = event.at.ns();
        match fact {
            Fact::Switch {
                prev,
                prev_state,
                next,
                prev_comm,
                next_comm,
            } => {
                state.name(at, prev, prev_comm);
                state.name(at, next, next_comm);
                let call = std::mem::take(&mut state.open.call);
                let left = prev_state;
                state.push(
                    at,
                    Kind::Switch {
                        prev,
                        next,
                        left,
                        call,
                    },
                );
            }
            Fact::Waking { thread, .. } => state.push(at, Kind::Waking(thread)),
            Fact::Wakeup { thread, new, .. } => state.push(at, Kind::Wakeup { thread, new }),
            Fact::IrqEntry { irq, name } => {
                state.irq_name(irq, name);
                state.push(at, Kind::Enter(Interrupt::Irq(irq)));
            }
            Fact::IrqExit { irq } => state.push(at, Kind::Leave(Interrupt::Irq(irq))),
            Fact::SoftirqRaise(Softirq::NET_RX) => state.push(at, Kind::ReceiveRaised),
            Fact::SoftirqEntry(softirq) => {
                state.push(at, Kind::Enter(Interrupt::Softirq(softirq)));
            }
            Fact::SoftirqExit(softirq) => {
                state.push(at, Kind::Leave(Interrupt::Softirq(softirq)));
            }
            Fact::TimerEntry { .. } | Fact::LocalTimerEntry => {
                state.push(at, Kind::Enter(Interrupt::Timer));
            }
            Fact::TimerExit { .. } | Fact::LocalTimerExit => {
                state.push(at, Kind::Leave(Interrupt::Timer));
            }
            Fact::IpiEntry => state.push(at, Kind::Enter(Interrupt::Ipi)),
            Fact::IpiExit => state.push(at, Kind::Leave(Interrupt::Ipi)),
            Fact::PacketQueued(packet) => state.push(
                at,
                Kind::PacketQueued {
                    buffer: packet.buffer,
                    loopback: packet.device == b"lo",
                },
            ),
            Fact::PacketLooped(packet) => state.push(
                at,
                Kind::PacketLooped {
                    buffer: packet.buffer,
                },
            ),
            Fact::PacketReceived(packet) => state.push(
                at,
                Kind::PacketReceived {
                    buffer: packet.buffer,
                },
            ),
            Fact::SyscallEntry(entry) => state.open.call = Call::named(entry.call.index()),
            Fact::SyscallExit(_) => state.open.call = Call::NONE,
            Fact::Fork {
                child,
                child_process,
                ..
            } => {
                state.push(at, Kind::Forked(child));
                if let Some(process) = child_process {
                    state.belongs(at, child, process);
                }
            }
            Fact::DumpedThread {
                thread, process, ..
            } => state.belongs(at, thread, process),
            _ => {}
        }
    }

    fn end(&self, state: &mut Gathered, chunk: &Chunk) {
        let open = std::mem::take(&mut state.open);
        let end = open.last_at.max(chunk.range.begin.ns());
        if open.call != Call::UNSEEN {
            state.push(end, Kind::Call(open.call));
        }
        if open.lost_after {
            state.push(end, Kind::Lost);
        }
        if let Some(block) = state.blocks.last_mut() {
            block.records.shrink_to_fit();
        }
    }

    fn merge(&self, earlier: &mut Gathered, later: Gathered) {
        earlier.blocks.extend(later.blocks);
    }
}

impl Gathered {
    /// From the first to the last event. A packet may begin long before: tracers open their first
    /// packet when a buffer is made, not when events are turned on.
    pub(super) fn range(&self) -> Option<TimeRange> {
        let ranges = self.blocks.iter().filter_map(|block| block.events);
        ranges.reduce(TimeRange::hull)
    }

    #[inline]
    fn saw(&mut self, at: Timestamp) {
        self.open.last_at = at.ns();
        if let Some(block) = self.blocks.last_mut() {
            block.events.get_or_insert(TimeRange::new(at, at)).end = at;
        }
    }

    #[inline]
    fn push(&mut self, at: i64, kind: Kind) {
        if let Some(block) = self.blocks.last_mut() {
            block.records.push(Record::new(at, kind));
        }
    }

    /// Notes a thread's name where it is not the one known.
    #[inline]
    fn name(&mut self, at: i64, thread: ThreadId, text: &[u8]) {
        let name = name_from(text);
        if thread == ThreadId::IDLE || self.open.name_of.get(&thread) == Some(&name) {
            return;
        }
        self.open.name_of.insert(thread, name);
        if let Some(block) = self.blocks.last_mut() {
            let position = block.names.len() as u32;
            block.names.push(name);
            let name = position;
            self.push(at, Kind::Name { thread, name });
        }
    }

    fn belongs(&mut self, at: i64, thread: ThreadId, process: ProcessId) {
        if let Some(block) = self.blocks.last_mut() {
            block.processes.push((thread, at, process));
        }
    }

    fn irq_name(&mut self, line: u32, name: &[u8]) {
        let Some(block) = self.blocks.last_mut() else {
            return;
        };
        let known = |(other, text): &(u32, String)| *other == line && text.as_bytes() == name;
        if !block.irq_names.iter().any(known) {
            let name = String::from_utf8_lossy(name).into_owned();
            block.irq_names.push((line, name));
        }
    }
}
