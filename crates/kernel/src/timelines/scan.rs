//! Pass 2 over one processor: its records in the order of time become runs of threads, interruptions
//! and wake-ups that know who woke.
//!
//! Processors are independent of each other here, so they are scanned in parallel. What happened
//! before the first record follows from the first switch (who ran until then), and only from there
//! on where events were lost in between.

use rustc_hash::{FxHashMap, FxHashSet};
use slowpath_concepts::{Softirq, SwitchOut};
use slowpath_model::{CpuId, ThreadId};

use super::gather::{Block, Name};
use super::record::{Call, Interrupt, Kind, Record, interrupt_bits};

/// A thread on a processor, from the switch to it until the switch from it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Run {
    pub(super) begin: i64,
    pub(super) end: i64,
    pub(super) cpu: CpuId,
    /// The thread ran for an unknown part of the time only.
    pub(super) in_part: bool,
    /// System call that it was in at the end.
    pub(super) call: Call,
    /// Why it ended; `None` where the trace ends or events are missing.
    pub(super) left: Option<SwitchOut>,
}

/// A wake-up event, recorded on the waker's (waking) or the target's processor (wakeup).
#[derive(Clone, Copy, Debug)]
pub(super) struct Wake {
    pub(super) at: i64,
    pub(super) cpu: CpuId,
    pub(super) stage: Stage,
    pub(super) by: Waker,
}

/// The events of one wake-up, in their order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Stage {
    Waking,
    Wakeup,
    /// The thread was made; it becomes runnable with `New`.
    Forked,
    New,
}

/// What the processor was doing when it woke a thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Waker {
    Thread(ThreadId),
    /// The innermost interrupt, packed (`interrupt_of`).
    Interrupt(u32),
    /// Receiving packets; the position in the processor's list of receipts.
    Receipt(u32),
    Unknown,
}

/// A stretch of a run that belongs to an interrupt.
#[derive(Clone, Copy, Debug)]
pub(super) struct Interruption {
    pub(super) begin: i64,
    /// In nanoseconds, at most four seconds.
    pub(super) length: u32,
    /// Packed (`interrupt_of`).
    pub(super) source: u32,
}

/// A packet was received.
#[derive(Clone, Copy, Debug)]
pub(super) struct Receipt {
    pub(super) at: i64,
    pub(super) buffer: u64,
    /// Who asked for it to be received, and when, where only that is known.
    pub(super) raised_by: Option<(ThreadId, i64)>,
    /// The thread in whose time it was received.
    pub(super) during: ThreadId,
}

/// A packet was sent to this host itself.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sent {
    pub(super) at: i64,
    pub(super) buffer: u64,
    pub(super) by: Sender,
}

/// Who sent a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sender {
    Thread(ThreadId),
    /// It answers a packet: the position in the processor's list of receipts.
    Receipt(u32),
    Unknown,
}

/// Everything that one processor's records say.
#[derive(Debug, Default)]
pub(super) struct Scanned {
    pub(super) cpu: CpuId,
    pub(super) runs: Vec<(ThreadId, Run)>,
    pub(super) wakes: Vec<(ThreadId, Wake)>,
    pub(super) interruptions: Vec<Interruption>,
    pub(super) receipts: Vec<Receipt>,
    pub(super) sent: Vec<Sent>,
    pub(super) names: Vec<(ThreadId, i64, Name)>,
    /// Where events are missing: begin and end.
    pub(super) lost: Vec<(i64, i64)>,
    pub(super) irq_names: Vec<(u32, String)>,
}

/// Reads the records of one processor; `begin` and `end` bound what the trace covers.
///
/// `packets_recorded`: the trace says which packets are received. Otherwise receipts stand for
/// "somebody asked this processor to receive".
pub(super) fn scan(
    cpu: CpuId,
    blocks: Vec<Block>,
    begin: i64,
    end: i64,
    packets_recorded: bool,
) -> Scanned {
    let (records, names, irq_names) = in_order_of_time(blocks);
    let mut scanner = Scanner {
        out: Scanned {
            cpu,
            irq_names,
            ..Scanned::default()
        },
        names,
        packets_recorded,
        current: running_at_the_begin(&records),
        since: begin,
        now: begin,
        interrupts: Vec::new(),
        lost_since: None,
        carried_call: Call::UNSEEN,
        receipt: None,
        queued: None,
        raised_by: None,
        name_of: FxHashMap::default(),
        softirq_threads: FxHashSet::default(),
    };
    for (position, record) in records.iter().enumerate() {
        let kind = record.kind();
        if kind == Kind::Lost {
            scanner.lost();
            continue;
        }
        scanner.now = record.at.max(scanner.now);
        scanner.found_again(&records[position..]);
        scanner.record(kind);
    }
    scanner.finish(end)
}

/// All records of the blocks, with positions of names that hold for all of them.
type Ordered = (Vec<Record>, Vec<Name>, Vec<(u32, String)>);

fn in_order_of_time(mut blocks: Vec<Block>) -> Ordered {
    blocks.sort_by_key(|block| (block.stream, block.first_packet));
    let mut records = Vec::with_capacity(blocks.iter().map(|block| block.records.len()).sum());
    let mut names: Vec<Name> = Vec::new();
    let mut irq_names: Vec<(u32, String)> = Vec::new();
    for block in blocks {
        let first_name = names.len() as u32;
        names.extend(block.names);
        records.extend(block.records.iter().map(|record| match record.kind() {
            Kind::Name { thread, name } => {
                let name = name + first_name;
                Record::new(record.at, Kind::Name { thread, name })
            }
            _ => *record,
        }));
        for entry in block.irq_names {
            if !irq_names.contains(&entry) {
                irq_names.push(entry);
            }
        }
    }
    records.sort_by_key(|record| record.at);
    (records, names, irq_names)
}

/// The thread that runs when `records` begin, as far as they tell before events are lost.
fn running_at_the_begin(records: &[Record]) -> Option<ThreadId> {
    records.iter().find_map(|record| match record.kind() {
        Kind::Switch { prev, .. } => Some(Some(prev)),
        Kind::Lost => Some(None),
        _ => None,
    })?
}

struct Scanner {
    out: Scanned,
    names: Vec<Name>,
    packets_recorded: bool,
    current: Option<ThreadId>,
    since: i64,
    /// Time of the record at hand (or of the one before, between records).
    now: i64,
    /// Interrupts that are being handled, outermost first, with their begins.
    interrupts: Vec<(Interrupt, i64)>,
    lost_since: Option<i64>,
    carried_call: Call,
    /// The packet being received by the innermost softirq.
    receipt: Option<u32>,
    /// The packet handed to a device last, which may turn out to come back.
    queued: Option<Sent>,
    raised_by: Option<(ThreadId, i64)>,
    name_of: FxHashMap<ThreadId, Name>,
    softirq_threads: FxHashSet<ThreadId>,
}

impl Scanner {
    fn record(&mut self, kind: Kind) {
        match kind {
            Kind::Switch {
                prev,
                next,
                left,
                call,
            } => self.switch(prev, next, left, call),
            Kind::Waking(thread) => self.wake(thread, Stage::Waking),
            Kind::Wakeup { thread, new: false } => self.wake(thread, Stage::Wakeup),
            Kind::Wakeup { thread, new: true } => self.wake(thread, Stage::New),
            Kind::Forked(thread) => self.wake(thread, Stage::Forked),
            Kind::Enter(interrupt) => self.enter(interrupt),
            Kind::Leave(interrupt) => self.leave(interrupt),
            Kind::ReceiveRaised => self.receive_raised(),
            Kind::PacketQueued { buffer, loopback } => self.packet_queued(buffer, loopback),
            Kind::PacketLooped { buffer } => self.packet_looped(buffer),
            Kind::PacketReceived { buffer } => self.packet_received(buffer),
            Kind::Name { thread, name } => self.name(thread, name),
            Kind::Call(call) => self.carried_call = call,
            Kind::Lost => {}
        }
    }

    fn switch(&mut self, prev: ThreadId, next: ThreadId, left: SwitchOut, call: Call) {
        let carried = std::mem::take(&mut self.carried_call);
        let call = if call == Call::UNSEEN { carried } else { call };
        if self.current.is_some_and(|current| current != prev) {
            // A trace of a few chosen threads lacks the others' switches: when the current thread
            // left and `prev` came is unknown, but what each does elsewhere still holds.
            self.end_run_somewhere(self.current, None, Call::UNSEEN);
            self.end_run_somewhere(Some(prev), Some(left), call);
        } else {
            self.end_run(self.now, Some(left), call);
        }
        self.interrupts.clear();
        self.current = Some(next);
        self.since = self.now;
    }

    fn end_run(&mut self, end: i64, left: Option<SwitchOut>, call: Call) {
        let begin = self.since;
        if let Some(thread) = self.current.filter(|&thread| thread != ThreadId::IDLE)
            && begin <= end
        {
            let cpu = self.out.cpu;
            self.out.runs.push((
                thread,
                Run {
                    begin,
                    end,
                    cpu,
                    in_part: false,
                    call,
                    left,
                },
            ));
        }
    }

    /// A thread ran for some part of the time since the last switch.
    fn end_run_somewhere(&mut self, thread: Option<ThreadId>, left: Option<SwitchOut>, call: Call) {
        if let Some(thread) = thread.filter(|&thread| thread != ThreadId::IDLE) {
            self.out.runs.push((
                thread,
                Run {
                    begin: self.since,
                    end: self.now,
                    cpu: self.out.cpu,
                    in_part: true,
                    call,
                    left,
                },
            ));
        }
    }

    /// Events are missing after the record before.
    fn lost(&mut self) {
        if self.lost_since.is_none() {
            self.end_run(self.now, None, Call::UNSEEN);
            self.lost_since = Some(self.now);
            self.current = None;
            self.carried_call = Call::UNSEEN;
            self.interrupts.clear();
            self.receipt = None;
            self.queued = None;
            self.raised_by = None;
        }
    }

    /// The first record after events were lost: `following` begins with it.
    fn found_again(&mut self, following: &[Record]) {
        if let Some(since) = self.lost_since.take() {
            self.out.lost.push((since, self.now));
            self.current = running_at_the_begin(following);
            self.since = self.now;
        }
    }

    fn enter(&mut self, interrupt: Interrupt) {
        if interrupt == Interrupt::Softirq(Softirq::NET_RX) {
            self.receipt = None;
            if let Some(raised_by) = self.raised_by.filter(|_| !self.packets_recorded) {
                self.add_receipt(0, Some(raised_by));
            }
        }
        self.interrupts.push((interrupt, self.now));
    }

    fn leave(&mut self, interrupt: Interrupt) {
        let Some(depth) = self
            .interrupts
            .iter()
            .rposition(|(open, _)| *open == interrupt)
        else {
            return;
        };
        let begin = self.interrupts[depth].1;
        // A softirq that runs in its own thread (ksoftirqd) interrupts nobody.
        let own_softirq = matches!(self.interrupts[0].0, Interrupt::Softirq(_))
            && self
                .current
                .is_some_and(|thread| self.softirq_threads.contains(&thread));
        self.interrupts.truncate(depth);
        if depth == usize::from(own_softirq) && self.current != Some(ThreadId::IDLE) {
            self.out.interruptions.push(Interruption {
                begin,
                length: u32::try_from(self.now.saturating_sub(begin)).unwrap_or(u32::MAX),
                source: interrupt_bits(interrupt) as u32,
            });
        }
    }

    fn wake(&mut self, thread: ThreadId, stage: Stage) {
        let by = match self.interrupts.last() {
            Some((Interrupt::Softirq(Softirq::NET_RX), _)) if self.receipt.is_some() => {
                Waker::Receipt(self.receipt.unwrap_or_default())
            }
            Some((interrupt, _)) => Waker::Interrupt(interrupt_bits(*interrupt) as u32),
            None => match self.current {
                Some(current) if current != ThreadId::IDLE => Waker::Thread(current),
                _ => Waker::Unknown,
            },
        };
        let wake = Wake {
            at: self.now,
            cpu: self.out.cpu,
            stage,
            by,
        };
        self.out.wakes.push((thread, wake));
    }

    fn receive_raised(&mut self) {
        match self.interrupts.last() {
            None => {
                let thread = self.current.filter(|&thread| thread != ThreadId::IDLE);
                self.raised_by = thread.map(|thread| (thread, self.now));
            }
            // Raised again because there was too much for one go.
            Some((Interrupt::Softirq(Softirq::NET_RX), _)) => {}
            Some(_) => self.raised_by = None,
        }
    }

    fn packet_queued(&mut self, buffer: u64, loopback: bool) {
        let by = match (self.interrupts.last(), self.receipt, self.current) {
            (None, _, Some(thread)) if thread != ThreadId::IDLE => Sender::Thread(thread),
            (Some((Interrupt::Softirq(Softirq::NET_RX), _)), Some(receipt), _) => {
                Sender::Receipt(receipt)
            }
            _ => Sender::Unknown,
        };
        let sent = Sent {
            at: self.now,
            buffer,
            by,
        };
        if loopback {
            self.out.sent.push(sent);
        }
        self.queued = (!loopback).then_some(sent);
    }

    /// A device gave a packet back to this host: what was handed to it was not sent elsewhere.
    fn packet_looped(&mut self, buffer: u64) {
        if let Some(sent) = self.queued.take_if(|sent| sent.buffer == buffer) {
            self.out.sent.push(sent);
        }
    }

    fn packet_received(&mut self, buffer: u64) {
        // A bridge or a virtual device hands the same packet on several times.
        let known = self.receipt.is_some_and(|receipt| {
            self.out.receipts.get(receipt as usize).map(|r| r.buffer) == Some(buffer)
        });
        if !known {
            self.add_receipt(buffer, None);
        }
    }

    fn add_receipt(&mut self, buffer: u64, raised_by: Option<(ThreadId, i64)>) {
        self.receipt = Some(self.out.receipts.len() as u32);
        self.out.receipts.push(Receipt {
            at: self.now,
            buffer,
            raised_by,
            during: self.current.unwrap_or(ThreadId::IDLE),
        });
    }

    fn name(&mut self, thread: ThreadId, name: u32) {
        let name = self.names[name as usize];
        if self.name_of.insert(thread, name) != Some(name) {
            self.out.names.push((thread, self.now, name));
            if name.starts_with(b"ksoftirqd/") {
                self.softirq_threads.insert(thread);
            }
        }
    }

    fn finish(mut self, end: i64) -> Scanned {
        match self.lost_since {
            Some(since) => self.out.lost.push((since, end)),
            None => self.end_run(end.max(self.now), None, self.carried_call),
        }
        self.out
    }
}
