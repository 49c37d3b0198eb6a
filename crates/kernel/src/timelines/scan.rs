//! Reads the records of one processor in the order of time: runs of threads, interruptions and
//! wake-ups that know who woke.
//!
//! What a processor is doing is known after any switch, and not where events were lost before one.
//! So the chunks of a processor are scanned apart, each from its first switch on, and only the few
//! records around are left to whoever knows what came before (`join.rs`).

use serde::{Deserialize, Serialize};
use slowpath_concepts::{Softirq, SwitchOut};
use slowpath_model::ThreadId;

use super::entry::{Interruption, Run, Sender, Stage, Step, StepKind, Wake, Waker};
use super::record::{Call, Interrupt, Kind, Record, Returned, Runner, Word, interrupt_bits};
use super::segment::Found;

/// The kernel tells of a signal in the same breath, after it has woken who takes it.
pub(super) const AT_ONCE_NS: i64 = 30_000;
/// Softirq that receives packets, packed.
const NET_RX: u32 = (Softirq::NET_RX.0 << 2) | 1;

/// Reads records and notes what they tell.
#[derive(Debug)]
pub(super) struct Scanner {
    pub(super) knows: Known,
    pub(super) found: Found,
    /// The trace says which packets are received. Otherwise "somebody asked this processor to
    /// receive" has to stand for that.
    packets_recorded: bool,
    /// The trace says when threads are switched to. Otherwise events tell who ran when they happened, and nothing
    /// tells who ran between two of them, be both of one thread.
    switches_recorded: bool,
}

/// What is known of the processor between two records.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Known {
    current: Option<Runner>,
    since: i64,
    /// The switch from the idle thread to `current` is missing.
    begun_unseen: bool,
    /// What the call returned from which `current` returned first.
    returned: Returned,
    /// Time of the last record; where it matters to what was lost or is missing, of the last event.
    pub(super) now: i64,
    /// Whom the processor woke last and when, if no call, interrupt or run began or ended on it since.
    woken: Option<(ThreadId, i64)>,
    /// Interrupts that are being handled, packed, outermost first, with their begins.
    interrupts: Vec<(u32, i64)>,
    lost_since: Option<i64>,
    pub(super) carried_call: Call,
    /// What is known of the calls that `current` made since it began to run.
    word: Word,
    others: bool,
    /// The packet being received by the innermost softirq: its position among all that are in
    /// `found` (negative, as it were, for earlier ones) and its buffer.
    receipt: Option<(u32, u64)>,
}

impl Known {
    fn nothing(since: i64) -> Self {
        Self {
            current: None,
            since,
            begun_unseen: false,
            returned: Returned::Unseen,
            now: since,
            woken: None,
            interrupts: Vec::new(),
            lost_since: None,
            carried_call: Call::UNSEEN,
            word: Word::UNKNOWN,
            others: false,
            receipt: None,
        }
    }

    /// Nothing here is earlier than `floor`.
    pub(super) fn not_before(&mut self, floor: i64) {
        self.since = self.since.max(floor);
        self.now = self.now.max(floor);
        self.lost_since = self.lost_since.map(|since| since.max(floor));
        for (_, begin) in &mut self.interrupts {
            *begin = (*begin).max(floor);
        }
    }

    /// Positions of receipts count from `count` receipts further on.
    pub(super) fn pass_receipts(&mut self, count: u32) {
        if let Some((position, _)) = &mut self.receipt {
            *position = position.wrapping_sub(count);
        }
    }
}

impl Scanner {
    /// Knows nothing of what came before `begin` but what `first`, the first records, tell of it.
    pub(super) fn before(
        begin: i64,
        first: impl Iterator<Item = Record>,
        packets_recorded: bool,
    ) -> Self {
        let mut scanner = Self {
            knows: Known::nothing(begin),
            found: Found::default(),
            packets_recorded,
            switches_recorded: true,
        };
        scanner.knows.current = running_at_the_begin(first);
        scanner
    }

    /// Begins right after a switch to `next`.
    pub(super) fn after_switch(at: i64, next: Runner, packets_recorded: bool) -> Self {
        let mut scanner = Self::before(at, std::iter::empty(), packets_recorded);
        scanner.knows.current = Some(next);
        scanner
    }

    /// The same for a trace that has no switch of any processor.
    pub(super) fn without_switches(mut self) -> Self {
        self.switches_recorded = false;
        self
    }

    /// Reads records that begin where this scanner is. After a loss of events they must reach to a
    /// switch, if there is one at all before the next loss.
    pub(super) fn read(&mut self, mut records: impl Iterator<Item = Record> + Clone) {
        loop {
            let following = records.clone();
            let Some(record) = records.next() else {
                return;
            };
            self.read_first(record, following);
        }
    }

    /// Reads `record`, the first of `following`.
    pub(super) fn read_first(&mut self, record: Record, following: impl Iterator<Item = Record>) {
        if self.knows.lost_since.is_some() && record.kind() != Kind::Lost {
            self.found_again(record.at, following);
        }
        self.record(record.at, record.kind());
    }

    /// Reads one record; after a loss of events [`Self::read`] has to be used.
    #[inline]
    pub(super) fn record(&mut self, at: i64, kind: Kind) {
        match kind {
            Kind::Lost => return self.lost(),
            Kind::Runs(thread) => return self.runs(at, thread),
            _ => {}
        }
        self.knows.now = at.max(self.knows.now);
        match kind {
            Kind::Switch {
                prev,
                next,
                left,
                call,
            } => self.switch(prev, next, left, call),
            Kind::Waking(thread) => {
                self.wake(thread, Stage::Waking);
                self.knows.woken = Some((thread, self.knows.now));
            }
            Kind::Wakeup { thread, new: false } => self.wake(thread, Stage::Wakeup),
            Kind::Wakeup { thread, new: true } => self.wake(thread, Stage::New),
            Kind::Signal { thread, to_process } => self.signal(thread, to_process),
            Kind::Forked(thread) => self.wake(thread, Stage::Forked),
            Kind::Enter(interrupt) => self.enter(interrupt_bits(interrupt) as u32),
            Kind::Leave(interrupt) => self.leave(interrupt),
            Kind::ReceiveRaised => self.receive_raised(),
            Kind::PacketQueued { buffer, loopback } => self.packet_queued(buffer, loopback),
            Kind::PacketLooped { buffer } => self.packet_step(StepKind::Looped { buffer }),
            Kind::PacketReceived { buffer } => self.packet_received(buffer),
            Kind::Call(call) => self.knows.carried_call = call,
            Kind::CallEdge => self.knows.woken = None,
            Kind::Futex { word, others } => {
                self.knows.word = word;
                self.knows.others |= others;
            }
            // Only the first call that a run returns from tells of the wait before it.
            Kind::Returned(returned) => {
                if self.knows.carried_call == Call::UNSEEN
                    && self.knows.returned == Returned::Unseen
                {
                    self.knows.returned = returned;
                }
            }
            Kind::Seen | Kind::Lost | Kind::Runs(_) => {}
        }
    }

    /// The last record was the last before `end`.
    pub(super) fn finish(&mut self, end: i64) {
        match self.knows.lost_since {
            Some(since) => self.add_lost(since, end),
            None => {
                self.end_run(end.max(self.knows.now), None, self.knows.carried_call);
            }
        }
    }

    fn switch(&mut self, prev: Runner, next: Runner, left: SwitchOut, call: Call) {
        let carried = std::mem::take(&mut self.knows.carried_call);
        let call = if call == Call::UNSEEN { carried } else { call };
        match self.thread() {
            Some(current) if current != prev.thread => {
                // A trace of a few chosen threads lacks the others' switches: when the current
                // thread left and `prev` came is unknown, but what each does elsewhere still holds.
                self.found.add_unknown(self.knows.since, self.knows.now);
                self.run(current, self.knows.now, true, None, Call::UNSEEN);
                self.run(prev.thread, self.knows.now, true, Some(left), call);
            }
            _ => self.end_run(self.knows.now, Some(left), call),
        }
        self.knows.interrupts.clear();
        self.knows.receipt = None;
        self.knows.woken = None;
        self.knows.current = Some(next);
        self.knows.since = self.knows.now;
        self.knows.begun_unseen = false;
        self.knows.returned = Returned::Unseen;
        (self.knows.word, self.knows.others) = (Word::UNKNOWN, false);
    }

    /// The thread that runs.
    pub(super) fn thread(&self) -> Option<ThreadId> {
        self.knows.current.map(|runner| runner.thread)
    }

    /// What comes next happened in the context of `thread`. Where another one ran, a switch is missing
    /// since the record before: both ran for a part of that time. The idle thread's own part matters
    /// to nobody.
    fn runs(&mut self, at: i64, thread: ThreadId) {
        let Some(current) = self.thread() else {
            self.found.add_unknown(self.knows.since, at);
            return self.run_on(at, thread);
        };
        if current == thread {
            return;
        }
        let (last, now) = (self.knows.now, at.max(self.knows.now));
        self.end_run(last, None, Call::UNSEEN);
        self.knows.since = last;
        self.found.add_unknown(last, now);
        if current != ThreadId::IDLE {
            self.run(current, now, true, None, Call::UNSEEN);
            self.run(thread, now, true, None, Call::UNSEEN);
        }
        self.run_on(now, thread);
        self.knows.begun_unseen = current == ThreadId::IDLE;
    }

    /// From `at` on `thread` runs, after a switch that is not in the trace.
    fn run_on(&mut self, at: i64, thread: ThreadId) {
        self.knows.now = at.max(self.knows.now);
        self.knows.since = self.knows.now;
        self.knows.begun_unseen = false;
        self.knows.returned = Returned::Unseen;
        self.knows.current = Some(Runner::unnamed(thread));
        self.knows.carried_call = Call::UNSEEN;
        (self.knows.word, self.knows.others) = (Word::UNKNOWN, false);
        self.knows.interrupts.clear();
        self.knows.receipt = None;
        self.knows.woken = None;
    }

    /// The current thread, unless that is the idle thread.
    fn busy_thread(&self) -> Option<ThreadId> {
        self.thread().filter(|&thread| thread != ThreadId::IDLE)
    }

    fn end_run(&mut self, end: i64, left: Option<SwitchOut>, call: Call) {
        match self.thread() {
            Some(thread) if self.knows.since <= end => {
                if !self.switches_recorded {
                    self.found.add_unknown(self.knows.since, end);
                }
                self.run(thread, end, !self.switches_recorded, left, call);
            }
            Some(_) => {}
            None => self.found.add_unknown(self.knows.since, end),
        }
    }

    fn run(
        &mut self,
        thread: ThreadId,
        end: i64,
        in_part: bool,
        left: Option<SwitchOut>,
        call: Call,
    ) {
        if thread == ThreadId::IDLE {
            return;
        }
        self.found.add_run(
            thread,
            Run {
                begin: self.knows.since,
                end,
                cpu: 0,
                in_part,
                begun_unseen: self.knows.begun_unseen && !in_part,
                returned: match in_part {
                    true => Returned::Unseen,
                    false => self.knows.returned,
                },
                call,
                word: self.knows.word,
                others: self.knows.others,
                left,
            },
        );
    }

    fn add_lost(&mut self, begin: i64, end: i64) {
        self.found.lost.push((begin, end));
        self.found.add_unknown(begin, end);
    }

    /// Events are missing after the record before.
    fn lost(&mut self) {
        if self.knows.lost_since.is_none() {
            self.end_run(self.knows.now, None, Call::UNSEEN);
            self.found.add_step(Step {
                at: self.knows.now,
                what: StepKind::Lost,
            });
            self.knows = Known {
                lost_since: Some(self.knows.now),
                ..Known::nothing(self.knows.now)
            };
        }
    }

    /// The first record after events were lost: `following` begins with it.
    fn found_again(&mut self, at: i64, following: impl Iterator<Item = Record>) {
        if let Some(since) = self.knows.lost_since.take() {
            self.knows.now = at.max(self.knows.now);
            self.add_lost(since, self.knows.now);
            self.knows.current = running_at_the_begin(following);
            self.knows.since = self.knows.now;
        }
    }

    fn enter(&mut self, interrupt: u32) {
        if interrupt == NET_RX {
            self.knows.receipt = None;
            if !self.packets_recorded {
                self.receive(0, |during| StepKind::Receiving { during });
            }
        }
        self.knows.woken = None;
        self.knows.interrupts.push((interrupt, self.knows.now));
    }

    fn leave(&mut self, interrupt: Interrupt) {
        let source = interrupt_bits(interrupt) as u32;
        let mut open = self.knows.interrupts.iter();
        let Some(depth) = open.rposition(|(open, _)| *open == source) else {
            return;
        };
        let begin = self.knows.interrupts[depth].1;
        let outermost = super::record::interrupt_of(self.knows.interrupts[0].0.into());
        // A softirq that runs in its own thread interrupts nobody.
        let own_softirq = matches!(outermost, Interrupt::Softirq(_))
            && self.knows.current.is_some_and(|runner| runner.for_softirqs);
        self.knows.woken = None;
        self.knows.interrupts.truncate(depth);
        if depth == usize::from(own_softirq) && self.thread() != Some(ThreadId::IDLE) {
            let now = self.knows.now;
            self.found
                .add_interruption(Interruption::between(begin, now, source));
        }
    }

    fn wake(&mut self, thread: ThreadId, stage: Stage) {
        let by = match (self.knows.interrupts.last(), self.knows.receipt) {
            (Some((NET_RX, _)), Some((receipt, _))) => Waker::Receipt(receipt),
            (Some((interrupt, _)), _) => Waker::Interrupt(*interrupt),
            (None, _) => self.busy_thread().map_or(Waker::Unknown, Waker::Thread),
        };
        let wake = Wake {
            at: self.knows.now,
            cpu: 0,
            stage,
            by,
        };
        self.found.add_wake(thread, wake);
    }

    /// Of a process, whoever was woken for the signal takes it; otherwise the thread that is told, its first.
    fn signal(&mut self, thread: ThreadId, to_process: bool) {
        let is_fresh = |&(_, at): &(ThreadId, i64)| self.knows.now - at <= AT_ONCE_NS;
        let woken = self
            .knows
            .woken
            .filter(|woken| to_process && is_fresh(woken));
        self.wake(woken.map_or(thread, |(woken, _)| woken), Stage::Signal);
    }

    fn receive_raised(&mut self) {
        if self.packets_recorded {
            return;
        }
        let by = match self.knows.interrupts.last() {
            None => self.busy_thread(),
            // Raised again because there was too much for one go.
            Some((NET_RX, _)) => return,
            Some(_) => None,
        };
        self.step(StepKind::Raised(by));
    }

    fn packet_queued(&mut self, buffer: u64, loopback: bool) {
        let by = match (self.knows.interrupts.last(), self.knows.receipt) {
            (None, _) => self.busy_thread().map_or(Sender::Unknown, Sender::Thread),
            (Some((NET_RX, _)), Some(_)) => Sender::Answer,
            _ => Sender::Unknown,
        };
        self.packet_step(match loopback {
            true => StepKind::Sent { buffer, by },
            false => StepKind::Queued { buffer, by },
        });
    }

    fn packet_received(&mut self, buffer: u64) {
        // A bridge or a virtual device hands the same packet on several times.
        if self.knows.receipt.is_none_or(|(_, known)| known != buffer) {
            self.receive(buffer, |during| StepKind::Received { buffer, during });
        }
    }

    fn receive(&mut self, buffer: u64, what: impl Fn(ThreadId) -> StepKind) {
        let during = self.thread().unwrap_or(ThreadId::IDLE);
        self.knows.receipt = Some((self.found.receipts, buffer));
        self.found.receipts = self.found.receipts.wrapping_add(1);
        self.step(what(during));
    }

    /// Of no use where nobody says which packets are received.
    fn packet_step(&mut self, what: StepKind) {
        if self.packets_recorded {
            self.step(what);
        }
    }

    fn step(&mut self, what: StepKind) {
        let at = self.knows.now;
        self.found.add_step(Step { at, what });
    }
}

/// The thread that runs when `records` begin, as far as they tell before events are lost.
fn running_at_the_begin(records: impl Iterator<Item = Record>) -> Option<Runner> {
    let mut running: Option<Runner> = None;
    for record in records {
        match (record.kind(), running) {
            (Kind::Switch { prev, .. }, None) => return Some(prev),
            (Kind::Switch { prev, .. }, Some(known)) if known.thread == prev.thread => {
                return Some(prev);
            }
            (Kind::Switch { .. } | Kind::Lost, _) => break,
            (Kind::Runs(thread), None) => running = Some(Runner::unnamed(thread)),
            _ => {}
        }
    }
    running
}
