//! Facts: what happened in the kernel, in applications' spans, services and data stores, in words that no tracer owns.
//!
//! A fact borrows text from its packet and is gone after the call. Where it happened (processor)
//! and in whose context (thread) is not part of it: that follows from the stream.

use serde::{Deserialize, Serialize};
use slowpath_model::{CpuId, Event, ProcessId, SpanId, ThreadId, TraceId};

use crate::service::MessageMoment;
use crate::store::{BusMessage, StoreAddress, StoreMark, StoreOperation, StoreProbe};
use crate::{FactKind, SwitchOut, SyscallEntry, SyscallExit, slot};

/// What became of a signal (`trace_signal_generate`, `include/trace/events/signal.h`): it was sent, or was but for its
/// details; all others wake nobody.
const SIGNAL_DELIVERED: u32 = 0;
const SIGNAL_LOST_INFO: u32 = 4;
/// By which a parent learns of its children (on x86 and ARM), and why, where one has ended (`siginfo.h`).
const SIGCHLD: u32 = 17;
const CLD_EXITED: u32 = 1;
const CLD_DUMPED: u32 = 3;

/// Something that happened in the kernel, in an application's spans, in a service or in a data store.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Fact<'packet> {
    /// The processor goes from one thread to another.
    Switch {
        /// The thread that ran.
        prev: ThreadId,
        /// Why it stopped running.
        prev_state: SwitchOut,
        /// The thread that runs from now on.
        next: ThreadId,
        /// Name of the thread that ran.
        prev_comm: &'packet [u8],
        /// Name of the thread that runs from now on.
        next_comm: &'packet [u8],
    },
    /// What a switch says of priorities, as the kernel numbers them: the lower runs first; below 0
    /// deadline, to 99 real-time, from 100 nice -20 to 19.
    SwitchPriorities {
        /// The thread that ran.
        prev: (ThreadId, i32),
        /// The thread that runs from now on.
        next: (ThreadId, i32),
    },
    /// A thread is about to be woken, in the context of whoever wakes it.
    Waking {
        /// The thread to be woken.
        thread: ThreadId,
        /// Its name.
        comm: &'packet [u8],
        /// The processor on which it last ran or will be queued, where the tracer says so.
        target: Option<CpuId>,
    },
    /// A thread has become runnable; on the waker's or the target's processor.
    Wakeup {
        /// The woken thread.
        thread: ThreadId,
        /// Its name.
        comm: &'packet [u8],
        /// The processor on whose run queue it is, where the tracer says so.
        target: Option<CpuId>,
        /// It has just been created.
        new: bool,
    },
    /// A thread is moved to another processor's run queue.
    Migrate {
        /// The thread.
        thread: ThreadId,
        /// From this processor ...
        from: CpuId,
        /// ... to this one.
        to: CpuId,
    },
    /// A device interrupt's handler begins.
    IrqEntry {
        /// Interrupt line.
        irq: u32,
        /// Name of the handler.
        name: &'packet [u8],
    },
    /// A device interrupt's handler ends.
    IrqExit {
        /// Interrupt line.
        irq: u32,
    },
    /// A softirq is asked for.
    SoftirqRaise(Softirq),
    /// A softirq's handler begins.
    SoftirqEntry(Softirq),
    /// A softirq's handler ends.
    SoftirqExit(Softirq),
    /// A timer's function begins.
    TimerEntry {
        /// Address of the timer.
        timer: u64,
        /// Address of its function; 0 where the trace does not tell.
        function: u64,
    },
    /// A timer's function ends.
    TimerExit {
        /// Address of the timer.
        timer: u64,
    },
    /// The processor's own timer interrupt begins.
    LocalTimerEntry,
    /// The processor's own timer interrupt ends.
    LocalTimerExit,
    /// An interrupt that another processor sent begins.
    IpiEntry,
    /// An interrupt that another processor sent ends.
    IpiExit,
    /// A packet is handed to a network device to be sent.
    PacketQueued(Packet<'packet>),
    /// A packet is put on this host's own receive queue: by a device without a queue of its own, as
    /// the loopback device is.
    PacketLooped(Packet<'packet>),
    /// A packet is handed to the protocols that receive it.
    PacketReceived(Packet<'packet>),
    /// A thread enters the kernel by a system call.
    SyscallEntry(SyscallEntry<'packet>),
    /// A thread returns from a system call.
    SyscallExit(SyscallExit),
    /// A thread makes another one, of its own process or of a new one.
    Fork {
        /// The thread that makes it.
        parent: ThreadId,
        /// Its process, where the tracer says so.
        parent_process: Option<ProcessId>,
        /// The new thread.
        child: ThreadId,
        /// Its process, where the tracer says so.
        child_process: Option<ProcessId>,
        /// The new thread's name.
        child_comm: &'packet [u8],
    },
    /// A process runs another program from now on, in this thread.
    Exec {
        /// The thread.
        thread: ThreadId,
        /// The program's file.
        filename: &'packet [u8],
    },
    /// A thread ends.
    Exit {
        /// The thread.
        thread: ThreadId,
        /// Its name.
        comm: &'packet [u8],
    },
    /// A thread's number is free again.
    Free {
        /// The thread.
        thread: ThreadId,
    },
    /// A signal is sent, by whatever the processor is doing; right before, who is to take it was woken.
    Signal {
        /// For whom; if any of a process may take it, its first thread.
        thread: ThreadId,
        /// Any thread of the process may take it.
        to_process: bool,
        /// It may have woken who is to take it. What nobody takes wakes nobody, nor does what has been sent already.
        wakes: bool,
        /// It tells a parent that a child has ended, and comes from that child, which gave up all that it held before.
        of_end: bool,
    },
    /// A request is put in a disk's queue.
    BlockInsert {
        /// Which.
        request: BlockRequest,
        /// The thread that does so, where the tracer says so.
        thread: Option<ThreadId>,
    },
    /// A request is given to a disk.
    BlockIssue {
        /// Which.
        request: BlockRequest,
        /// The thread that gives it, where the tracer says so. It need not be the one whose data it
        /// is: the kernel's own threads write back what programs wrote.
        thread: Option<ThreadId>,
        /// Which way the data goes.
        direction: Direction,
    },
    /// A disk has completed a request, or the first part of it.
    BlockComplete(BlockRequest),
    /// A thread gives an operation to io_uring.
    UringSubmitted {
        /// Which request it becomes.
        request: UringRequest,
        /// Its number in `linux/io_uring.h` (`IORING_OP_READ`).
        operation: u8,
        /// Its file is one that was registered: no descriptor.
        is_of_fixed_file: bool,
        /// What its program calls it; programs may call several the same.
        user_data: Option<u64>,
        /// The thread, where the event's context says so.
        thread: Option<ThreadId>,
        /// Its process, where the event's context says so.
        process: Option<ProcessId>,
    },
    /// An operation of io_uring looks a descriptor up, on whatever thread.
    UringFile {
        /// Which.
        request: UringRequest,
        /// The descriptor.
        fd: i32,
    },
    /// An operation of io_uring has completed, on whatever thread.
    UringCompleted {
        /// Which; of one that completes again and again address 0.
        request: UringRequest,
        /// What its program calls it.
        user_data: Option<u64>,
        /// What it returns, as the system call would.
        result: i64,
        /// It tells only that a buffer which was sent is free again.
        is_notice: bool,
        /// It completes again.
        has_more: bool,
    },
    /// The tracer begins to list what is there.
    DumpBegin,
    /// A thread that was there when the tracer looked.
    DumpedThread {
        /// The thread.
        thread: ThreadId,
        /// Its process.
        process: ProcessId,
        /// The process that made it.
        parent: ProcessId,
        /// Its name.
        comm: &'packet [u8],
        /// Which table of descriptors it uses, where the tracer says so.
        table: Option<u64>,
        /// Its numbers in a namespace below that of the host, where the tracer says them here (LTTng before 2.12).
        inside: Option<NumbersInside>,
    },
    /// The numbers of a thread that was there when the tracer looked in a namespace below that of the host.
    DumpedNumbers {
        /// The thread.
        thread: ThreadId,
        /// Its numbers there; none where that is the host's own namespace.
        inside: Option<NumbersInside>,
    },
    /// A descriptor that was open when the tracer looked.
    DumpedDescriptor {
        /// Whose it is.
        owner: DescriptorOwner,
        /// Its number.
        fd: i32,
        /// The file's path, or what else the kernel calls it.
        path: &'packet [u8],
    },
    /// A disk that was there when the tracer looked.
    DumpedDisk {
        /// The device.
        device: BlockDevice,
        /// Its name, for instance `sda`.
        name: &'packet [u8],
    },
    /// An application's tracing library starts a span.
    SpanStart(SpanMark),
    /// It ends a span, perhaps in another thread.
    SpanEnd(SpanMark),
    /// From now on the thread works for a span, until the mark that detaches it; these nest.
    SpanAttach(SpanMark),
    /// The thread works no more for a span that was attached.
    SpanDetach(SpanMark),
    /// What clients of a data store sent, each at once, until they were answered. These are arrays, which
    /// [`StoreBatches`](crate::StoreBatches) collects; the mark says who tells them.
    StoreBatches(StoreMark),
    /// What a number of a command means, for the life of the process.
    StoreCommandName {
        /// Who tells it; there is no client.
        mark: StoreMark,
        /// The number.
        number: u32,
        /// The command's name.
        command: &'packet [u8],
    },
    /// Whose connection a client is.
    StoreClientAddress(StoreMark, StoreAddress<'packet>),
    /// A data store turns to a connection that has something to read.
    StoreReadStart(StoreMark),
    /// It has read, and executed that unless others do; `bytes`: 0: the client closed; -1: nothing was there.
    StoreReadEnd {
        /// Who and of which client.
        mark: StoreMark,
        /// Bytes that were read.
        bytes: i64,
        /// Bytes of memory that the client takes up; 0: it is gone, or that is not told.
        memory: u64,
    },
    /// A command is executed; those that it calls nest.
    StoreCallStart {
        /// Who and for which client.
        mark: StoreMark,
        /// The command's name.
        command: &'packet [u8],
    },
    /// It has been executed.
    StoreCallEnd {
        /// Who and for which client.
        mark: StoreMark,
        /// The command's name.
        command: &'packet [u8],
    },
    /// Replies are written to a client.
    StoreWriteStart(StoreMark),
    /// They have been written, as far as the kernel took them.
    StoreWriteEnd {
        /// Who and to which client.
        mark: StoreMark,
        /// Bytes that the kernel took.
        bytes: i64,
    },
    /// A message between nodes of a cluster.
    StoreBus(StoreMark, BusMessage),
    /// Between which ends a connection between nodes of a cluster is; the mark names its descriptor.
    StoreBusAddress(StoreMark, StoreAddress<'packet>),
    /// A client that had nothing to be written has something now.
    StoreReplyQueued(StoreMark),
    /// A thread of a data store does something to a connection, or all have done what there was.
    StoreOperation(StoreMark, StoreOperation),
    /// What probes of the kernel on a data store's functions tell; the mark's thread is numbered as the kernel does.
    StoreProbe(StoreMark, StoreProbe<'packet>),
    /// A moment of a request over HTTP; [`ServiceMessage::of`](crate::ServiceMessage::of) has what is told of it.
    ServiceMessage(MessageMoment),
    /// A service is about to send a command to a data store;
    /// [`ServiceCommand::of`](crate::ServiceCommand::of) has what is told of it.
    ServiceCommand,
}

/// Which span an application speaks of, and where it does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SpanMark {
    /// The distributed trace.
    pub trace: TraceId,
    /// The span.
    pub span: SpanId,
    /// The thread as its own namespace numbers it, where recorded (context `vtid`).
    pub thread: Option<ThreadId>,
    /// Its process as its own namespace numbers it, where recorded (context `vpid`).
    pub process: Option<ProcessId>,
}

/// How a namespace of its own, as in a container, numbers a thread and its process.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct NumbersInside {
    /// The thread.
    pub thread: ThreadId,
    /// Its process.
    pub process: ProcessId,
    /// How many namespaces lie between that of the host and this one, and this one.
    pub level: i32,
}

/// Whose a dumped descriptor is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DescriptorOwner {
    /// That of a process.
    Process(ProcessId),
    /// In the table of descriptors at this address, which dumped threads refer to.
    Table(u64),
}

/// A block device in the kernel's numbering: major number above 20 bits of minor number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct BlockDevice(pub u32);

impl std::fmt::Display for BlockDevice {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}:{}", self.0 >> 20, self.0 & 0xf_ffff)
    }
}

/// Part of a block device.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct BlockRequest {
    /// The device.
    pub device: BlockDevice,
    /// Its first sector.
    pub sector: u64,
    /// How many sectors.
    pub sectors: u32,
}

/// An operation in io_uring's hands, by addresses that are used again once it has completed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct UringRequest {
    /// Of the ring.
    pub ring: u64,
    /// Of the request.
    pub request: u64,
}

/// Which way a disk request moves data.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Direction {
    /// From the disk.
    Read,
    /// To the disk.
    Write,
    /// It moves none (flush, discard), or the tracer does not say.
    Neither,
}

impl Direction {
    /// From ftrace's letters (`blk_fill_rwbs`), for instance `FWS`: a flush before a write.
    fn from_letters(letters: &[u8]) -> Self {
        match letters.iter().find(|&&letter| letter != b'F') {
            Some(b'R') => Self::Read,
            Some(b'W') => Self::Write,
            _ => Self::Neither,
        }
    }

    /// From LTTng's bits for the same letters.
    fn from_bits(bits: u64) -> Self {
        match bits {
            _ if bits & 1 != 0 => Self::Write,
            _ if bits & 4 != 0 => Self::Read,
            _ => Self::Neither,
        }
    }
}

/// A network packet in the kernel's hands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Packet<'packet> {
    /// Address of its buffer in the kernel: the same while the packet stays on this host.
    pub buffer: u64,
    /// Name of the network device.
    pub device: &'packet [u8],
    /// Its TCP header, if it has one and headers were asked for.
    pub segment: Option<Segment<'packet>>,
}

/// What a TCP segment's headers say: the same on the host that sends it and on the one that receives it,
/// unless somebody between them translates addresses or puts segments together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Segment<'packet> {
    /// Sender and receiver, as in the header; empty where the tracer does not give them as bytes
    /// (IPv6).
    pub addresses: [&'packet [u8]; 2],
    /// Of the sender and of the receiver.
    pub ports: [u16; 2],
    /// Sequence number.
    pub sequence: u32,
    /// Acknowledgement number.
    pub acknowledgement: u32,
    /// SYN, ACK, PSH and so on, as in the header.
    pub flags: u16,
}

/// A kind of softirq, in the kernel's numbering.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Softirq(pub u32);

impl Softirq {
    /// Ordinary timers.
    pub const TIMER: Self = Self(1);
    /// Packets sent.
    pub const NET_TX: Self = Self(2);
    /// Packets received.
    pub const NET_RX: Self = Self(3);
    /// Block requests completed.
    pub const BLOCK: Self = Self(4);
    /// Block requests polled.
    pub const IRQ_POLL: Self = Self(5);
    /// High-resolution timers.
    pub const HRTIMER: Self = Self(8);

    /// The kernel's name.
    pub fn name(self) -> &'static str {
        const NAMES: [&str; 10] = [
            "HI", "TIMER", "NET_TX", "NET_RX", "BLOCK", "IRQ_POLL", "TASKLET", "SCHED", "HRTIMER",
            "RCU",
        ];
        NAMES.get(self.0 as usize).copied().unwrap_or("unknown")
    }
}

impl<'packet> Fact<'packet> {
    /// Takes the values out of the slots that `rules.rs` numbered.
    #[inline]
    pub(crate) fn from_event(kind: FactKind, event: &Event<'packet>) -> Option<Self> {
        let thread = |n| ThreadId(event.signed(slot(n)) as i32);
        let number = |n| event.unsigned(slot(n)) as u32;
        let text = |n| event.text(slot(n));
        let packet = |segment| Packet {
            buffer: event.unsigned(slot(0)),
            device: text(1),
            segment,
        };
        let process = |n| {
            let present = event.has(slot(n));
            present.then(|| ProcessId(event.signed(slot(n)) as i32))
        };
        // The number of the namespace's level is 0 of the host's own.
        let inside = |[there, process_there, level]: [u16; 3]| {
            let is_told = [there, process_there, level].map(|n| event.has(slot(n))) == [true; 3];
            let numbers = is_told.then(|| NumbersInside {
                thread: thread(there),
                process: ProcessId(event.signed(slot(process_there)) as i32),
                level: event.signed(slot(level)) as i32,
            });
            numbers.filter(|numbers| numbers.level > 0)
        };
        let table = |n| event.has(slot(n)).then(|| event.unsigned(slot(n)));
        let span = || SpanMark {
            trace: TraceId {
                high: event.unsigned(slot(0)),
                low: event.unsigned(slot(1)),
            },
            span: SpanId(event.unsigned(slot(2))),
            thread: event.has(slot(3)).then(|| thread(3)),
            process: process(4),
        };
        // IPv4 in slots 4 to 8, IPv6 in 9 to 13: one of the two is there, if it is a TCP segment.
        let segment = || {
            let first = [4, 9].into_iter().find(|&first| event.has(slot(first)))?;
            let addresses = match first {
                4 => [event.raw_bytes(slot(2)), event.raw_bytes(slot(3))],
                _ => [&[][..]; 2],
            };
            Some(Segment {
                addresses,
                ports: [number(first) as u16, number(first + 1) as u16],
                sequence: number(first + 2),
                acknowledgement: number(first + 3),
                flags: number(first + 4) as u16,
            })
        };
        let request = || BlockRequest {
            device: BlockDevice(number(0)),
            sector: event.unsigned(slot(1)),
            sectors: number(2),
        };
        let uring = || UringRequest {
            ring: event.unsigned(slot(0)),
            request: event.unsigned(slot(1)),
        };
        Some(match kind {
            FactKind::Switch => Self::Switch {
                prev: thread(0),
                prev_state: SwitchOut::from_kernel(event.signed(slot(1))),
                next: thread(2),
                prev_comm: text(3),
                next_comm: text(4),
            },
            FactKind::SwitchPriorities => {
                // LTTng has 0 where the kernel has 100.
                let by_lttng = event.has(slot(0));
                let (threads, begin) = match by_lttng {
                    true => ([0, 2], 100),
                    false => ([1, 3], 0),
                };
                let [prev, next] = threads.map(thread);
                let priority = |n| begin + event.signed(slot(n)).clamp(-1000, 1000) as i32;
                Self::SwitchPriorities {
                    prev: (prev, priority(4)),
                    next: (next, priority(5)),
                }
            }
            FactKind::Waking => Self::Waking {
                thread: thread(0),
                comm: text(1),
                target: event.has(slot(2)).then(|| CpuId(number(2))),
            },
            FactKind::Wakeup | FactKind::WakeupNew => Self::Wakeup {
                thread: thread(0),
                comm: text(1),
                target: event.has(slot(2)).then(|| CpuId(number(2))),
                new: kind == FactKind::WakeupNew,
            },
            FactKind::Migrate => Self::Migrate {
                thread: thread(0),
                from: CpuId(number(1)),
                to: CpuId(number(2)),
            },
            FactKind::IrqEntry => Self::IrqEntry {
                irq: number(0),
                name: text(1),
            },
            FactKind::IrqExit => Self::IrqExit { irq: number(0) },
            FactKind::SoftirqRaise => Self::SoftirqRaise(Softirq(number(0))),
            FactKind::SoftirqEntry => Self::SoftirqEntry(Softirq(number(0))),
            FactKind::SoftirqExit => Self::SoftirqExit(Softirq(number(0))),
            FactKind::TimerEntry => Self::TimerEntry {
                timer: event.unsigned(slot(0)),
                function: event.unsigned(slot(1)),
            },
            FactKind::TimerExit => Self::TimerExit {
                timer: event.unsigned(slot(0)),
            },
            FactKind::LocalTimerEntry => Self::LocalTimerEntry,
            FactKind::LocalTimerExit => Self::LocalTimerExit,
            FactKind::IpiEntry => Self::IpiEntry,
            FactKind::IpiExit => Self::IpiExit,
            FactKind::PacketQueued => Self::PacketQueued(packet(None)),
            FactKind::SegmentQueued => Self::PacketQueued(packet(segment())),
            FactKind::PacketLooped => Self::PacketLooped(packet(None)),
            FactKind::PacketReceived => Self::PacketReceived(packet(None)),
            FactKind::SegmentReceived => Self::PacketReceived(packet(segment())),
            FactKind::Fork => Self::Fork {
                parent: thread(0),
                parent_process: process(1),
                child: thread(2),
                child_process: process(3),
                child_comm: text(4),
            },
            FactKind::Exec => Self::Exec {
                thread: thread(0),
                filename: text(1),
            },
            FactKind::Exit => Self::Exit {
                thread: thread(0),
                comm: text(1),
            },
            FactKind::Free => Self::Free { thread: thread(0) },
            FactKind::Signal => Self::Signal {
                thread: thread(0),
                to_process: number(1) != 0,
                wakes: [SIGNAL_DELIVERED, SIGNAL_LOST_INFO].contains(&number(4)),
                of_end: number(2) == SIGCHLD && (CLD_EXITED..=CLD_DUMPED).contains(&number(3)),
            },
            FactKind::BlockInsert => Self::BlockInsert {
                request: request(),
                thread: event.has(slot(3)).then(|| thread(3)),
            },
            FactKind::BlockIssue => {
                let by_lttng = event.has(slot(4));
                let by = [4, 5].into_iter().find(|&n| event.has(slot(n)));
                Self::BlockIssue {
                    request: request(),
                    thread: by.map(thread),
                    direction: match by_lttng {
                        true => Direction::from_bits(event.unsigned(slot(3))),
                        false => Direction::from_letters(text(3)),
                    },
                }
            }
            FactKind::BlockComplete => Self::BlockComplete(request()),
            FactKind::UringSubmitted => Self::UringSubmitted {
                request: uring(),
                operation: event.unsigned(slot(2)) as u8,
                // IOSQE_FIXED_FILE
                is_of_fixed_file: event.unsigned(slot(3)) & 1 != 0,
                thread: event.has(slot(4)).then(|| thread(4)),
                process: process(5),
                user_data: event.has(slot(6)).then(|| event.unsigned(slot(6))),
            },
            FactKind::UringFile => Self::UringFile {
                request: uring(),
                fd: event.signed(slot(2)) as i32,
            },
            FactKind::UringCompleted => Self::UringCompleted {
                request: uring(),
                user_data: event.has(slot(4)).then(|| event.unsigned(slot(4))),
                result: event.signed(slot(2)),
                // IORING_CQE_F_NOTIF
                is_notice: event.unsigned(slot(3)) & 8 != 0,
                // IORING_CQE_F_MORE
                has_more: event.unsigned(slot(3)) & 2 != 0,
            },
            FactKind::DumpBegin => Self::DumpBegin,
            // Calls are not recognised by a rule: `syscall.rs`.
            FactKind::SyscallEntry | FactKind::SyscallExit => return None,
            FactKind::DumpedThread => Self::DumpedThread {
                thread: thread(0),
                process: ProcessId(event.signed(slot(1)) as i32),
                parent: ProcessId(event.signed(slot(2)) as i32),
                comm: text(3),
                table: table(4),
                inside: inside([5, 6, 7]),
            },
            FactKind::DumpedNumbers => Self::DumpedNumbers {
                thread: thread(0),
                inside: inside([1, 2, 3]),
            },
            FactKind::DumpedDescriptor => Self::DumpedDescriptor {
                owner: match table(0) {
                    Some(address) => DescriptorOwner::Table(address),
                    None => DescriptorOwner::Process(ProcessId(event.signed(slot(1)) as i32)),
                },
                fd: event.signed(slot(2)) as i32,
                path: text(3),
            },
            FactKind::DumpedDisk => Self::DumpedDisk {
                device: BlockDevice(number(0)),
                name: text(1),
            },
            FactKind::SpanStart => Self::SpanStart(span()),
            FactKind::SpanEnd => Self::SpanEnd(span()),
            FactKind::SpanAttach => Self::SpanAttach(span()),
            FactKind::SpanDetach => Self::SpanDetach(span()),
            FactKind::StoreBatches => Self::StoreBatches(StoreMark::of_no_client(event)),
            FactKind::StoreCommandName => Self::StoreCommandName {
                mark: StoreMark::of(event),
                number: number(5),
                command: text(6),
            },
            FactKind::StoreClientAddress => {
                Self::StoreClientAddress(StoreMark::of(event), StoreAddress::of(event))
            }
            FactKind::StoreReadStart => Self::StoreReadStart(StoreMark::of(event)),
            FactKind::StoreReadEnd => Self::StoreReadEnd {
                mark: StoreMark::of(event),
                bytes: event.signed(slot(5)),
                memory: event.unsigned(slot(6)),
            },
            FactKind::StoreCallStart => Self::StoreCallStart {
                mark: StoreMark::of(event),
                command: text(5),
            },
            FactKind::StoreCallEnd => Self::StoreCallEnd {
                mark: StoreMark::of(event),
                command: text(5),
            },
            FactKind::StoreWriteStart => Self::StoreWriteStart(StoreMark::of(event)),
            FactKind::StoreWriteEnd => Self::StoreWriteEnd {
                mark: StoreMark::of(event),
                bytes: event.signed(slot(5)),
            },
            FactKind::StoreBusSent
            | FactKind::StoreBusReceived
            | FactKind::StoreBroadcastStart
            | FactKind::StoreBroadcastEnd => {
                Self::StoreBus(StoreMark::of(event), BusMessage::of(event, kind))
            }
            FactKind::StoreBusAddress => {
                Self::StoreBusAddress(StoreMark::of(event), StoreAddress::of(event))
            }
            FactKind::StoreReplyQueued => Self::StoreReplyQueued(StoreMark::of(event)),
            FactKind::StoreTlsRead
            | FactKind::StoreReadPostponed
            | FactKind::StoreClientFreed
            | FactKind::StoreUnwatched
            | FactKind::StoreCycleEnd => {
                Self::StoreOperation(StoreMark::of(event), StoreOperation::of(event, kind))
            }
            FactKind::StoreEntered
            | FactKind::StoreReturned
            | FactKind::StoreClientMade
            | FactKind::StoreClientBlocked
            | FactKind::StoreClientReleased => {
                Self::StoreProbe(StoreMark::of(event), StoreProbe::of(event, kind)?)
            }
            FactKind::StoreSocket => {
                let (mark, socket) = StoreProbe::socket(text(0))?;
                Self::StoreProbe(mark, socket)
            }
            FactKind::ServiceRequestSent => Self::ServiceMessage(MessageMoment::RequestSent),
            FactKind::ServiceRequestReceived => {
                Self::ServiceMessage(MessageMoment::RequestReceived)
            }
            FactKind::ServiceResponseSent => Self::ServiceMessage(MessageMoment::ResponseSent),
            FactKind::ServiceResponseReceived => {
                Self::ServiceMessage(MessageMoment::ResponseReceived)
            }
            FactKind::ServiceCommand => Self::ServiceCommand,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn directions_of_both_tracers() {
        let check = |letters: &str, bits, expected| {
            assert_eq!(Direction::from_letters(letters.as_bytes()), expected);
            assert_eq!(Direction::from_bits(bits), expected);
        };
        check("WS", 0x21, Direction::Write);
        check("FWFS", 0x621, Direction::Write);
        check("RA", 0x0c, Direction::Read);
        check("RM", 0x44, Direction::Read);
        check("FF", 0x100, Direction::Neither);
        check("D", 0x02, Direction::Neither);
        check("", 0, Direction::Neither);
    }
}
