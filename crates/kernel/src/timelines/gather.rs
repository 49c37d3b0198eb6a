//! Pass 1: every chunk's events about scheduling, interrupts and packets, read from the chunk's first
//! switch on; what comes before it is kept as records.
//!
//! Nothing is decided about what chunks cannot know, so a merge only puts lists one after the
//! other; pass 2 (`join.rs`) reads what is between the chunks of a processor. What was found goes to
//! a shelf when the chunk ends, so that memory is bounded by the chunks at work.

use rustc_hash::{FxHashMap, FxHashSet};
use serde::{Deserialize, Serialize};
use slowpath_concepts::{Concepts, Fact, FactKind, NumbersInside, Softirq, SwitchOut, SyscallId};
use slowpath_engine::{Analysis, Chunk};
use slowpath_model::{CpuId, Event, PacketId, ProcessId, StreamId, ThreadId, TimeRange, Timestamp};
use slowpath_platform::{Kept, Shelf};
use slowpath_source::Packet;

use crate::contexts::Contexts;

use super::MAKES_KERNEL_THREADS;
use super::record::{
    Call, Interrupt, Kind, Record, Returned, Runner, Word, thread_bits, thread_of,
};
use super::scan::{Known, Scanner};
use super::segment::Segment;
use crate::network::{SegmentSeen, connection, identity};

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
    FactKind::Signal,
    FactKind::DumpedThread,
    FactKind::DumpedNumbers,
];

/// What is asked for besides where packets are to be found again on other hosts.
pub(super) const FACTS_OF_SEGMENTS: &[FactKind] =
    &[FactKind::SegmentQueued, FactKind::SegmentReceived];

/// Facts that tell nothing but in whose context they happened. A thread that waits for its page to come from a disk makes no
/// system call: where a switch to it is missing, that it asks the disk is all that tells that it runs.
pub(super) const FACTS_OF_CONTEXTS: &[FactKind] = &[FactKind::BlockInsert, FactKind::BlockIssue];

/// What who waits for a lock calls between two looks at it: `futex`, the call by which it goes on after a signal, clocks
/// (where the C library cannot read them itself), and what gives the processor away.
pub(super) fn goes_on(concepts: &Concepts) -> Vec<SyscallId> {
    const CALLS: [&str; 6] = [
        "futex",
        "restart_syscall",
        "clock_gettime",
        "gettimeofday",
        "sched_yield",
        "getcpu",
    ];
    let names = (0..).map(SyscallId).zip(concepts.syscall_names());
    let meant = names.filter(|(_, name)| CALLS.contains(&name.as_str()));
    meant.map(|(call, _)| call).collect()
}

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
    pub(super) contexts: Contexts,
    /// Where what is found is put.
    pub(super) shelf: &'run Shelf,
    /// Processors of which several streams tell at the same time, so that none of them can be
    /// understood alone.
    pub(super) interleaved: FxHashSet<CpuId>,
    /// The trace says which packets are received.
    pub(super) packets_recorded: bool,
    /// What who waits for a lock calls between two looks at it.
    pub(super) goes_on: Vec<SyscallId>,
}

/// What chunks told, in no particular order.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct Gathered {
    pub(super) pieces: Vec<Piece>,
    /// What follows belongs to the chunk that is being passed over.
    #[serde(skip)]
    open: Open,
}

/// What a run of packets of one stream tells of one processor.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Piece {
    pub(super) cpu: CpuId,
    pub(super) stream: StreamId,
    pub(super) first_packet: PacketId,
    /// Of its first packet.
    pub(super) begin: i64,
    /// From its first to its last event, whether they are kept or not.
    pub(super) events: Option<TimeRange>,
    /// Some event told that a thread was switched to.
    pub(super) has_switches: bool,
    /// What depends on what came before: records up to the first switch, or all.
    #[serde(with = "super::segment::rows")]
    pub(super) head: Kept<2>,
    /// What comes after.
    pub(super) body: Option<Body>,
    /// Names of threads, each as long as its thread was seen with no other.
    pub(super) names: Vec<Named>,
    /// Interrupt lines seen with the names of their handlers.
    pub(super) irq_names: Vec<(u32, String)>,
    /// Which process a thread belongs to, and when that was said.
    pub(super) processes: Vec<(ThreadId, i64, ProcessId)>,
    /// Threads in namespaces of their own: how deep these lie, and the numbers of process and thread there.
    pub(super) inside: Vec<(ThreadId, i32, ProcessId, ThreadId)>,
    /// Threads that are said to be the kernel's own, and those that programs made.
    pub(super) of_kernel: Vec<ThreadId>,
    pub(super) of_programs: Vec<ThreadId>,
    /// TCP segments that were sent and received, where headers were asked for: rows of
    /// [`SegmentSeen`].
    #[serde(with = "super::segment::rows")]
    pub(super) segments: Kept<4>,
}

/// A thread that was seen with a name, and with no other by the same stream meanwhile.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Named {
    pub(super) thread: ThreadId,
    pub(super) name: Name,
    pub(super) first: i64,
    pub(super) last: i64,
}

/// What was understood of a chunk from its first switch on.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Body {
    pub(super) segment: Segment,
    /// What is known at the end.
    pub(super) knows: Known,
    /// After it: records that depend on what comes later, as events were lost before them.
    pub(super) tail: Vec<Record>,
}

#[derive(Debug, Default)]
struct Open {
    stream: StreamId,
    cpu: CpuId,
    /// The last packet lost events: perhaps after its last event.
    lost_after: bool,
    call: Call,
    /// The word of memory that the call is about, and whether the running thread made calls of other kinds before.
    word: Word,
    others: bool,
    /// Somebody may have been woken since the running thread entered a call or left one.
    woke: bool,
    /// Where records are not read: the thread of the last one's context, if no switch came since.
    context: Option<ThreadId>,
    /// By thread: where its name is noted.
    named: FxHashMap<ThreadId, u32>,
    /// The thread that was switched to last, and where its name is noted.
    last_named: (ThreadId, Name, u32),
    /// Of the packet: when the last event was, else its begin.
    last_at: i64,
    /// Several streams tell of the processor at the same time.
    interleaved: bool,
    /// The next event has to be noted even if it tells nothing: nobody knows when the one before it was.
    first: bool,
    segments: Vec<[u64; 4]>,
    head: Vec<Record>,
    /// From the first switch on.
    scanner: Option<Scanner>,
    /// Records that have not been read, if any: events were lost and no switch has come since.
    tail: Vec<Record>,
    /// What comes next can be read at once.
    reads: bool,
}

impl Open {
    /// Nothing is known of the calls of the thread that runs.
    fn forget_calls(&mut self) {
        (self.call, self.word, self.others) = (Call::UNSEEN, Word::UNKNOWN, false);
    }
}

impl Analysis for Gather<'_> {
    type State = Gathered;

    fn begin(&self, chunk: &Chunk) -> Gathered {
        Gathered {
            pieces: Vec::new(),
            open: Open {
                stream: chunk.stream,
                cpu: chunk.processor(),
                interleaved: self.interleaved.contains(&chunk.processor()),
                woke: true,
                last_at: chunk.range.begin.ns(),
                first: true,
                ..Open::default()
            },
        }
    }

    fn packet(&self, state: &mut Gathered, packet: &Packet) {
        if state.pieces.is_empty() {
            state.pieces.push(Piece {
                cpu: state.open.cpu,
                stream: state.open.stream,
                first_packet: packet.id,
                begin: packet.range.begin.ns(),
                events: None,
                has_switches: false,
                head: Kept::default(),
                body: None,
                names: Vec::new(),
                irq_names: Vec::new(),
                processes: Vec::new(),
                inside: Vec::new(),
                of_kernel: Vec::new(),
                of_programs: Vec::new(),
                segments: Kept::default(),
            });
        }
        self.lost_after(state);
        let begin = packet.range.begin.ns();
        if packet.lost_events > 0 || packet.lost_packets > 0 {
            state.open.forget_calls();
            self.lost(state, begin);
        }
        state.open.lost_after = packet.lost_events > 0;
        state.open.last_at = begin;
    }

    fn event(&self, state: &mut Gathered, event: &Event<'_>) {
        let fact = self.concepts.fact(event);
        let context = self.contexts.thread(event);
        if fact.is_none() && context.is_none() {
            return;
        }
        let at = event.at.ns();
        let before = state.last_event().filter(|_| !state.open.first);
        state.saw(event.at);
        if let Some(thread) = context
            && !matches!(fact, Some(Fact::Switch { .. }))
        {
            self.in_context(state, before, at, known(thread));
        }
        if std::mem::take(&mut state.open.first) || state.open.interleaved {
            self.push(state, at, Kind::Seen);
        }
        let Some(fact) = fact else {
            return;
        };
        match fact {
            Fact::Switch {
                prev,
                prev_state,
                next,
                prev_comm,
                next_comm,
            } => {
                let prev = state.runner(at, prev, prev_comm);
                let next = state.runner(at, next, next_comm);
                let left = prev_state;
                if let Some(piece) = state.pieces.last_mut() {
                    piece.has_switches = true;
                }
                self.futex(state, at, left == SwitchOut::Runnable);
                let call = std::mem::take(&mut state.open.call);
                self.push(
                    state,
                    at,
                    Kind::Switch {
                        prev,
                        next,
                        left,
                        call,
                    },
                );
            }
            Fact::Waking { thread, .. } => {
                state.open.woke = true;
                self.push(state, at, Kind::Waking(known(thread)));
            }
            Fact::Wakeup { thread, new, .. } => {
                let thread = known(thread);
                self.push(state, at, Kind::Wakeup { thread, new });
            }
            // Who ends sends one each time, right after it has given up what others wait for. Where it does interrupt a
            // wait, the call's result tells that.
            Fact::Signal {
                thread,
                to_process,
                wakes: true,
                of_end: false,
            } => {
                let thread = known(thread);
                self.push(state, at, Kind::Signal { thread, to_process });
            }
            Fact::IrqEntry { irq, name } => {
                state.irq_name(irq, name);
                self.push(state, at, Kind::Enter(Interrupt::Irq(irq)));
            }
            Fact::IrqExit { irq } => self.push(state, at, Kind::Leave(Interrupt::Irq(irq))),
            Fact::SoftirqRaise(Softirq::NET_RX) => self.push(state, at, Kind::ReceiveRaised),
            Fact::SoftirqEntry(softirq) => {
                self.push(state, at, Kind::Enter(Interrupt::Softirq(softirq)));
            }
            Fact::SoftirqExit(softirq) => {
                self.push(state, at, Kind::Leave(Interrupt::Softirq(softirq)));
            }
            Fact::TimerEntry { .. } | Fact::LocalTimerEntry => {
                self.push(state, at, Kind::Enter(Interrupt::Timer));
            }
            Fact::TimerExit { .. } | Fact::LocalTimerExit => {
                self.push(state, at, Kind::Leave(Interrupt::Timer));
            }
            Fact::IpiEntry => self.push(state, at, Kind::Enter(Interrupt::Ipi)),
            Fact::IpiExit => self.push(state, at, Kind::Leave(Interrupt::Ipi)),
            Fact::PacketQueued(packet) => {
                state.segment(at, packet, true);
                let (buffer, loopback) = (packet.buffer, packet.device == b"lo");
                self.push(state, at, Kind::PacketQueued { buffer, loopback });
            }
            Fact::PacketLooped(packet) => self.push(
                state,
                at,
                Kind::PacketLooped {
                    buffer: packet.buffer,
                },
            ),
            Fact::PacketReceived(packet) => {
                state.segment(at, packet, false);
                let buffer = packet.buffer;
                self.push(state, at, Kind::PacketReceived { buffer });
            }
            Fact::SyscallEntry(entry) => {
                self.call(state, at, Call::named(entry.call.index()));
                let is_other = !self.goes_on.contains(&entry.call);
                // Where that is not told, it may be.
                let is_timed = entry.is_timed.unwrap_or(true);
                let word =
                    (entry.word).map(|address| Word::at(address, is_timed, entry.is_for_mutex));
                state.open.word = word.unwrap_or(Word::UNKNOWN);
                state.open.others |= is_other;
                if state.open.interleaved && (is_other || state.open.word.is_known()) {
                    self.futex(state, at, true);
                }
            }
            Fact::SyscallExit(exit) => {
                if state.open.call == Call::UNSEEN {
                    self.push(state, at, Kind::Returned(Returned::new(exit.ret)));
                }
                self.call(state, at, Call::NONE);
            }
            Fact::Fork {
                parent,
                child,
                child_process,
                ..
            } => {
                self.push(state, at, Kind::Forked(known(child)));
                state.made(child, parent == MAKES_KERNEL_THREADS);
                if let Some(process) = child_process {
                    state.belongs(at, child, process);
                }
            }
            Fact::DumpedThread {
                thread,
                process,
                parent,
                inside,
                ..
            } => {
                state.belongs(at, thread, process);
                state.numbered(thread, inside);
                let is_of_kernel = [process, parent].contains(&ProcessId(MAKES_KERNEL_THREADS.0));
                if is_of_kernel {
                    state.made(thread, true);
                }
            }
            Fact::DumpedNumbers { thread, inside } => state.numbered(thread, inside),
            _ => {}
        }
    }

    fn end(&self, state: &mut Gathered, _: &Chunk) {
        let call = state.open.call;
        if let (Some(last), true) = (state.last_event(), call != Call::UNSEEN) {
            self.push(state, last, Kind::Call(call));
            self.futex(state, last, true);
        }
        self.lost_after(state);
        self.note_last(state);
        let open = std::mem::take(&mut state.open);
        if let Some(piece) = state.pieces.last_mut() {
            let head = open.head.into_iter().map(Record::row).collect();
            piece.head = self.shelf.keep(head);
            piece.segments = self.shelf.keep(open.segments);
            piece.body = open.scanner.map(|scanner| Body {
                segment: scanner.found.into_segment(self.shelf),
                knows: scanner.knows,
                tail: open.tail,
            });
        }
    }

    fn merge(&self, earlier: &mut Gathered, later: Gathered) {
        earlier.pieces.extend(later.pieces);
    }
}

impl Gather<'_> {
    #[inline]
    fn push(&self, state: &mut Gathered, at: i64, kind: Kind) {
        let open = &mut state.open;
        match &mut open.scanner {
            Some(scanner) if open.reads => {
                scanner.record(at, kind);
                open.reads = kind != Kind::Lost;
            }
            _ => self.push_unread(state, at, kind),
        }
    }

    /// The thread that runs has entered a call, or left one.
    fn call(&self, state: &mut Gathered, at: i64, call: Call) {
        let woke = std::mem::take(&mut state.open.woke);
        let interleaved = state.open.interleaved;
        match interleaved {
            // The switch that wants to know may be in another stream.
            true => self.push(state, at, Kind::Call(call)),
            false => state.open.call = call,
        }
        // So may the wake-up be.
        if woke || interleaved {
            self.push(state, at, Kind::CallEdge);
        }
    }

    /// What is known of the calls that the running thread made so far, if somebody may ask for it: where it waits at a
    /// word of memory, or `goes_on` after what comes next.
    fn futex(&self, state: &mut Gathered, at: i64, goes_on: bool) {
        let word = std::mem::take(&mut state.open.word);
        let others = std::mem::take(&mut state.open.others);
        if word.is_known() || others && goes_on {
            self.push(state, at, Kind::Futex { word, others });
        }
    }

    /// An event happened in the context of `thread`; notes that where it is news.
    #[inline]
    fn in_context(&self, state: &mut Gathered, before: Option<i64>, at: i64, thread: ThreadId) {
        let open = &mut state.open;
        if open.interleaved {
            // Another stream may tell of a thread that ran meanwhile.
            return self.push(state, at, Kind::Runs(thread));
        }
        let running = match &open.scanner {
            Some(scanner) if open.reads => scanner.thread(),
            _ => open.context,
        };
        if running != Some(thread) {
            open.forget_calls();
            if let Some(before) = before {
                self.push(state, before, Kind::Seen);
            }
            self.push(state, at, Kind::Runs(thread));
        }
    }

    /// The packet that ends here lost events, perhaps after its last one.
    fn lost_after(&self, state: &mut Gathered) {
        if std::mem::take(&mut state.open.lost_after) {
            state.open.forget_calls();
            self.lost(state, state.open.last_at);
        }
    }

    /// Events were lost after the last one.
    fn lost(&self, state: &mut Gathered, at: i64) {
        self.note_last(state);
        self.push(state, at, Kind::Lost);
        state.open.context = None;
        state.open.first = true;
    }

    /// Notes when the last event of the piece was, for what may be missing after it.
    fn note_last(&self, state: &mut Gathered) {
        if let (false, Some(last)) = (state.open.first, state.last_event()) {
            self.push(state, last, Kind::Seen);
        }
    }

    /// Notes a record that can only be read when it is known what is running.
    fn push_unread(&self, state: &mut Gathered, at: i64, kind: Kind) {
        let open = &mut state.open;
        let unread = match open.scanner {
            Some(_) => &mut open.tail,
            None => &mut open.head,
        };
        unread.push(Record::new(at, kind));
        match kind {
            Kind::Runs(thread) => open.context = Some(thread),
            Kind::Switch { .. } | Kind::Lost => open.context = None,
            _ => {}
        }
        let Kind::Switch { next, .. } = kind else {
            return;
        };
        if open.interleaved {
            return;
        }
        match &mut open.scanner {
            Some(scanner) => scanner.read(open.tail.drain(..).as_slice().iter().copied()),
            None => open.scanner = Some(Scanner::after_switch(at, next, self.packets_recorded)),
        }
        open.reads = true;
    }
}

impl Gathered {
    /// From the first to the last event. A packet may begin long before: tracers open their first
    /// packet when a buffer is made, not when events are turned on.
    pub(super) fn range(&self) -> Option<TimeRange> {
        let ranges = self.pieces.iter().filter_map(|piece| piece.events);
        ranges.reduce(TimeRange::hull)
    }

    /// When the last event of the piece was.
    #[inline]
    fn last_event(&self) -> Option<i64> {
        let events = self.pieces.last()?.events?;
        Some(events.end.ns())
    }

    #[inline]
    fn saw(&mut self, at: Timestamp) {
        self.open.last_at = at.ns();
        if let Some(piece) = self.pieces.last_mut() {
            piece.events.get_or_insert(TimeRange::new(at, at)).end = at;
        }
    }

    /// A thread that is switched from or to; notes its name.
    #[inline]
    fn runner(&mut self, at: i64, thread: ThreadId, text: &[u8]) -> Runner {
        let thread = known(thread);
        let for_softirqs = text.starts_with(b"ksoftirqd/");
        if thread != ThreadId::IDLE {
            let name = name_from(text);
            let (last, of_last, place) = self.open.last_named;
            match self
                .pieces
                .last_mut()
                .and_then(|piece| piece.names.get_mut(place as usize))
            {
                Some(named) if (last, of_last) == (thread, name) => named.last = at,
                _ => self.name(at, thread, name),
            }
        }
        Runner {
            thread,
            for_softirqs,
        }
    }

    fn name(&mut self, at: i64, thread: ThreadId, name: Name) {
        let Some(piece) = self.pieces.last_mut() else {
            return;
        };
        let next = piece.names.len() as u32;
        let place = self.open.named.entry(thread).or_insert(next);
        match piece.names.get_mut(*place as usize) {
            Some(named) if named.name == name => named.last = at,
            _ => {
                *place = next;
                piece.names.push(Named {
                    thread,
                    name,
                    first: at,
                    last: at,
                });
            }
        }
        self.open.last_named = (thread, name, *place);
    }

    fn belongs(&mut self, at: i64, thread: ThreadId, process: ProcessId) {
        if let Some(piece) = self.pieces.last_mut() {
            piece.processes.push((thread, at, process));
        }
    }

    /// A thread has these numbers in a namespace of its own.
    fn numbered(&mut self, thread: ThreadId, inside: Option<NumbersInside>) {
        if let (Some(piece), Some(numbers)) = (self.pieces.last_mut(), inside) {
            let NumbersInside { level, .. } = numbers;
            (piece.inside).push((thread, level, numbers.process, numbers.thread));
        }
    }

    /// A thread is the kernel's own, or a program's.
    fn made(&mut self, thread: ThreadId, is_of_kernel: bool) {
        if let Some(piece) = self.pieces.last_mut() {
            match is_of_kernel {
                true => piece.of_kernel.push(thread),
                false => piece.of_programs.push(thread),
            }
        }
    }

    /// Notes a TCP segment that may be seen on another host.
    fn segment(&mut self, at: i64, packet: slowpath_concepts::Packet<'_>, sent: bool) {
        if let (Some(segment), Some(piece)) = (packet.segment, self.pieces.last())
            && packet.device != b"lo"
        {
            let (at, cpu) = (Timestamp::from_ns(at), piece.cpu);
            let seen = SegmentSeen {
                identity: identity(&segment),
                connection: connection(&segment),
                at,
                cpu,
                sent,
            };
            self.open.segments.push(seen.row());
        }
    }

    fn irq_name(&mut self, line: u32, name: &[u8]) {
        let Some(piece) = self.pieces.last_mut() else {
            return;
        };
        let known = |(other, text): &(u32, String)| *other == line && text.as_bytes() == name;
        if !piece.irq_names.iter().any(known) {
            let name = String::from_utf8_lossy(name).into_owned();
            piece.irq_names.push((line, name));
        }
    }
}

/// A thread as records number it.
fn known(thread: ThreadId) -> ThreadId {
    thread_of(thread_bits(thread))
}
