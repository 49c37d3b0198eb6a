//! Time lines of threads: when each ran, where, why it stopped and who woke it.
//!
//! Built without a sequential pass over the trace: pass 1 (`gather`) reads every chunk in parallel,
//! pass 2 (`join`, `assemble`) puts the chunks of each processor together and then, thread by
//! thread, the lines. A time line needs only its own facts and the wakers' identities, so nothing
//! is global; questions are answered by binary search. What waits *mean* is not decided here: that
//! is the critical path's matter.
//!
//! All lists that grow with the trace lie on shelves: in memory while they are small, else in
//! temporary files that are page cache to the kernel.

mod assemble;
mod entry;
mod gather;
mod hand_overs;
mod in_order;
mod join;
mod nearby;
mod occupants;
mod packets;
mod record;
mod scan;
mod segment;
mod states;
mod stretch;
mod told;

use std::borrow::Cow;

use std::sync::OnceLock;

use rustc_hash::{FxHashMap, FxHashSet};
use slowpath_concepts::{Concepts, FactKind};
use slowpath_engine::{Cancelled, Options, Outcome};
use slowpath_model::{
    CpuId, Diagnostic, DiagnosticCode, Nanoseconds, Place, ProcessId, ThreadId, TimeRange,
    Timestamp,
};
use slowpath_platform::{Kept, Shelf};
use slowpath_source::Source;

use crate::contexts::Contexts;
use crate::extent::interleaved;
use crate::network::SegmentSeen;

use assemble::Assembly;
use entry::{Interruption, RunRow, Sending, WakeRow};
use gather::{Gather, Name};
use nearby::count_near;

pub use hand_overs::{HandOver, Mutex};
pub use nearby::Nearby;
pub use occupants::Occupants;
pub use record::{Interrupt, Returned};
pub use states::ThreadStates;
pub use stretch::{Doing, Futex, Stretch, WakeUp, Waker};

/// `kthreadd`, which makes all other threads of the kernel's own.
pub const MAKES_KERNEL_THREADS: ThreadId = ThreadId(2);
/// Bytes of what pass 1 finds, and again of the lines, that stay in memory.
const MEMORY: usize = 48 << 20;

/// The time lines of all threads of one host over one trace.
///
/// 24 bytes per run, 16 per wake-up event, interruption and received packet, of which a bounded
/// part is in memory and the rest in a temporary file.
#[derive(Debug)]
pub struct Timelines {
    known: Known,
    /// Where events of any processor are missing, in order, apart.
    lost: Vec<(i64, i64)>,
    /// When a trace tells of switches, in order, apart.
    switches: Vec<TimeRange>,
    names: FxHashMap<ThreadId, Vec<(i64, Name)>>,
    /// In the order of thread and time: the process that a thread belongs to from then on.
    processes: Vec<(ThreadId, i64, ProcessId)>,
    /// TCP segments that were sent or received, in no order: rows of `SegmentSeen`; only among hosts.
    segments: Vec<Kept<4>>,
    cpus: Vec<CpuLine>,
    /// In the order of their ids.
    threads: Vec<ThreadId>,
    position: FxHashMap<ThreadId, u32>,
    /// By position of the thread.
    lines: Vec<ThreadLine>,
    /// Names of system calls.
    calls: Vec<String>,
    /// Threads of the kernel's own, as far as the trace tells.
    of_kernel: FxHashSet<ThreadId>,
    /// Threads that programs made, as far as the trace tells.
    of_programs: FxHashSet<ThreadId>,
    /// By the number that a process has in a namespace of its own: those that it has here.
    inside: FxHashMap<ProcessId, Vec<ProcessId>>,
    /// The same of threads, as far as a state dump tells: by the numbers of the process and of the thread there.
    threads_inside: FxHashMap<(ProcessId, ThreadId), Vec<ThreadId>>,
    /// Found when they are asked for.
    sleeping_without_calls: OnceLock<FxHashSet<ThreadId>>,
    /// The same, in order.
    hand_overs: OnceLock<Vec<(Mutex, HandOver)>>,
}

/// What is known about the trace as a whole.
#[derive(Clone, Copy, Debug)]
struct Known {
    begin: i64,
    end: i64,
    /// The trace has events for received packets, timers, wake-ups.
    packets: bool,
    timers: bool,
    wakes: bool,
    /// It has those for interrupts and for softirqs.
    interrupts: bool,
    /// Packets were to be found again on other hosts.
    headers: bool,
}

/// What is kept of one thread, in the order of time: rows of [`entry::Run`] and [`entry::Wake`].
#[derive(Debug)]
struct ThreadLine {
    runs: Kept<3>,
    wakes: Kept<2>,
}

/// What is kept of one processor.
#[derive(Debug)]
struct CpuLine {
    cpu: CpuId,
    /// Rows of [`Interruption`], in the order of time, apart.
    interruptions: Kept<2>,
    /// Where nobody is known to run: begin and end, in the order of time, apart.
    unknown: Kept<2>,
    /// Rows of [`entry::Delivery`], as wakers number them.
    deliveries: Kept<2>,
    /// Rows of [`entry::Sending`], in the order of time; only among hosts.
    sendings: Kept<2>,
    irq_names: Vec<(u32, String)>,
}

impl Timelines {
    /// Reads the scheduling, interrupt and packet events of `source` and builds all time lines.
    ///
    /// The state is `None` when there was no event. The result does not depend on the number of
    /// workers or the size of the chunks. Memory is bounded by what the workers are at; what is more
    /// goes to temporary files (`Shelf::usual_folder`), and where these cannot be had, a diagnostic
    /// says so and everything stays in memory.
    pub fn build(source: &dyn Source, options: &Options<'_>) -> Result<Outcome<Self>, Cancelled> {
        Self::build_on(
            &[(); 2].map(|()| Shelf::new(&Shelf::usual_folder(), MEMORY)),
            source,
            options,
            false,
        )
    }

    /// The same for one of several hosts: what [`Network::of`](crate::network::Network::of) needs to
    /// find packets again on the others is kept as well, 32 bytes for each TCP segment.
    pub fn build_among_hosts(
        source: &dyn Source,
        options: &Options<'_>,
    ) -> Result<Outcome<Self>, Cancelled> {
        let shelves = [(); 2].map(|()| Shelf::new(&Shelf::usual_folder(), MEMORY));
        Self::build_on(&shelves, source, options, true)
    }

    /// Puts what pass 1 finds on the first shelf, the lines on the second.
    fn build_on(
        [found, lines]: &[Shelf; 2],
        source: &dyn Source,
        options: &Options<'_>,
        headers: bool,
    ) -> Result<Outcome<Self>, Cancelled> {
        let mut facts = gather::FACTS.to_vec();
        facts.extend(gather::FACTS_OF_SEGMENTS.iter().filter(|_| headers));
        let concepts = Concepts::resolve(source.schema(), &facts);
        let mut projection = concepts.projection().clone();
        let gather = Gather {
            concepts: &concepts,
            contexts: Contexts::of_wanted_and(
                source.schema(),
                &mut projection,
                gather::FACTS_OF_CONTEXTS,
            ),
            shelf: found,
            interleaved: interleaved(source, false),
            packets_recorded: concepts.has(FactKind::PacketReceived)
                || concepts.has(FactKind::SegmentReceived),
            goes_on: gather::goes_on(&concepts),
        };
        let outcome = slowpath_engine::run(source, &projection, &gather, options)?;
        let range = outcome.state.as_ref().and_then(|state| state.range());
        let state = match (outcome.state, range) {
            (Some(gathered), Some(range)) => {
                let range = range.intersect(options.range);
                let known = Known {
                    begin: range.begin.ns(),
                    end: range.end.ns(),
                    packets: gather.packets_recorded,
                    timers: concepts.has(FactKind::TimerEntry)
                        || concepts.has(FactKind::LocalTimerEntry),
                    interrupts: concepts.has(FactKind::IrqEntry)
                        && concepts.has(FactKind::SoftirqEntry),
                    headers,
                    wakes: concepts.has(FactKind::Waking) || concepts.has(FactKind::Wakeup),
                };
                let assembly = Assembly {
                    known,
                    shelf: lines,
                    jobs: options.jobs,
                    cancel: options.cancel,
                };
                Some(assembly.assemble(
                    gathered.pieces,
                    |cpu| gather.interleaved.contains(&cpu),
                    &source.traces(),
                    concepts.syscall_names().to_vec(),
                )?)
            }
            _ => None,
        };
        let mut diagnostics = outcome.diagnostics;
        if let Some(why) = found.failure().or_else(|| lines.failure()) {
            let code = DiagnosticCode::NoTemporaryFile;
            diagnostics.push(Diagnostic::new(code, Place::default(), why));
        }
        Ok(Outcome {
            state,
            diagnostics,
            timings: outcome.timings,
        })
    }

    /// Adds names and processes of threads that the tracer kept beside the events, those that it knew to be the
    /// kernel's, and of processes in namespaces the number there with the one here; what the events say has precedence.
    pub fn add_saved(
        &mut self,
        names: &[(ThreadId, String)],
        processes: &[(ThreadId, ProcessId)],
        of_kernel: &[ThreadId],
        inside: &[(ProcessId, ProcessId)],
    ) {
        // Numbers are given again.
        let still = of_kernel
            .iter()
            .filter(|thread| !self.of_programs.contains(thread));
        self.of_kernel.extend(still);
        for (there, here) in inside {
            self.add_process_inside(*there, *here);
        }
        for (thread, text) in names {
            let name = gather::name_from(text.as_bytes());
            self.names
                .entry(*thread)
                .or_insert_with(|| vec![(i64::MIN, name)]);
        }
        for &(thread, process) in processes {
            if self.process(thread, Timestamp::MAX).is_none() {
                let place = self
                    .processes
                    .partition_point(|(other, ..)| *other < thread);
                self.processes.insert(place, (thread, i64::MIN, process));
            }
        }
    }

    /// The processes that have this number in a namespace of their own, as in a container, and another one here.
    pub fn numbered_inside(&self, number: ProcessId) -> &[ProcessId] {
        self.inside.get(&number).map_or(&[], Vec::as_slice)
    }

    /// The threads that have these numbers in a namespace of their own, as in a container, as far as a state dump tells.
    pub fn threads_numbered_inside(&self, process: ProcessId, thread: ThreadId) -> &[ThreadId] {
        let known = self.threads_inside.get(&(process, thread));
        known.map_or(&[], Vec::as_slice)
    }

    /// A thread that was there has these numbers in a namespace of its own.
    fn add_inside(&mut self, thread: ThreadId, process_there: ProcessId, there: ThreadId) {
        let is_first = there.0 == process_there.0;
        let process = self.process(thread, Timestamp::MIN);
        let Some(process) = process.or_else(|| is_first.then_some(ProcessId(thread.0))) else {
            return;
        };
        if (process, thread) != (process_there, there) {
            self.add_process_inside(process_there, process);
            let known = self.threads_inside.entry((process_there, there));
            known.or_default().push(thread);
        }
    }

    fn add_process_inside(&mut self, there: ProcessId, here: ProcessId) {
        let known = self.inside.entry(there).or_default();
        if !known.contains(&here) {
            known.push(here);
        }
    }

    /// The time that the trace covers, from its first to its last event; nothing is known outside.
    pub fn range(&self) -> TimeRange {
        range(self.known.begin, self.known.end)
    }

    /// Whether the trace covers all of `range`, and no events are known to be missing in it.
    pub fn covers(&self, range: TimeRange) -> bool {
        let lost = &self.lost;
        let first = lost.partition_point(|(_, end)| *end <= range.begin.ns());
        let is_lost = lost
            .get(first)
            .is_some_and(|(begin, _)| *begin < range.end.ns());
        self.range().intersect(range) == range && !is_lost
    }

    /// How much of `range` the trace covers without telling of switches of threads: they were not recorded then.
    pub fn without_switches(&self, range: TimeRange) -> Nanoseconds {
        let covered = self.range().intersect(range);
        let told = self.switches.iter();
        let told: Nanoseconds = told.map(|of| of.intersect(covered).length()).sum();
        covered.length() - told
    }

    /// Every thread that ran or was woken, in the order of their ids; the idle threads are left out.
    pub fn threads(&self) -> &[ThreadId] {
        &self.threads
    }

    /// The name of a thread as it was known at a time: the last one seen until then, else the
    /// first one; `swapper` for the idle threads, empty for a thread that never ran.
    pub fn name(&self, thread: ThreadId, at: Timestamp) -> Cow<'_, str> {
        if thread == ThreadId::IDLE {
            return "swapper".into();
        }
        let Some(names) = self.names.get(&thread) else {
            return "".into();
        };
        let after = names.partition_point(|(seen, _)| *seen <= at.ns());
        let (_, name) = &names[after.saturating_sub(1)];
        String::from_utf8_lossy(name.split(|&byte| byte == 0).next().unwrap_or_default())
    }

    /// The process of a thread as it was known at a time, where the trace tells (a state dump, the
    /// thread's creation).
    pub fn process(&self, thread: ThreadId, at: Timestamp) -> Option<ProcessId> {
        let first = self
            .processes
            .partition_point(|(other, ..)| *other < thread);
        let mut own = self.processes[first..]
            .iter()
            .take_while(|(other, ..)| *other == thread);
        let (_, _, earliest) = *own.next()?;
        let until = own.take_while(|(_, said, _)| *said <= at.ns());
        Some(until.last().map_or(earliest, |(_, _, process)| *process))
    }

    /// The interruptions of a processor that touch `range`, cut to it, in the order of time: when,
    /// and the outermost interrupt.
    pub fn interruptions(
        &self,
        cpu: CpuId,
        range: TimeRange,
    ) -> impl DoubleEndedIterator<Item = (TimeRange, Interrupt)> {
        self.interruptions_from(cpu, range, &mut 0)
    }

    /// The same, found sooner where the ones asked for last are near.
    pub fn interruptions_near<'lines>(
        &'lines self,
        cpu: CpuId,
        range: TimeRange,
        nearby: &mut Nearby,
    ) -> impl DoubleEndedIterator<Item = (TimeRange, Interrupt)> + use<'lines> {
        self.interruptions_from(cpu, range, nearby.of_cpu(cpu))
    }

    fn interruptions_from<'lines>(
        &'lines self,
        cpu: CpuId,
        range: TimeRange,
        near: &mut usize,
    ) -> impl DoubleEndedIterator<Item = (TimeRange, Interrupt)> + use<'lines> {
        let all = self.cpu(cpu).map_or(&[][..], |line| &line.interruptions);
        let first = count_near(all, near, |row| {
            Interruption::from_row(row).end() <= range.begin.ns()
        });
        let all = &all[first..];
        let count = leading(all, |row| {
            Interruption::from_row(row).begin < range.end.ns()
        });
        all[..count].iter().map(move |row| {
            let interruption = Interruption::from_row(row);
            let when = self::range(interruption.begin, interruption.end()).intersect(range);
            (when, record::interrupt_of(interruption.source.into()))
        })
    }

    /// The names of the handlers on an interrupt line (several may share it).
    pub fn irq_names(&self, line: u32) -> impl Iterator<Item = &str> {
        self.cpus
            .iter()
            .flat_map(|cpu| &cpu.irq_names)
            .filter(move |(other, _)| *other == line)
            .map(|(_, name)| name.as_str())
    }

    /// The thread that handed a packet to a device on `cpu` at `at`; only among hosts.
    pub fn sender(&self, cpu: CpuId, at: Timestamp) -> Option<ThreadId> {
        let sendings = &self.cpu(cpu)?.sendings;
        let first = sendings.partition_point(|row| Sending::from_row(row).at < at.ns());
        let sending = Sending::from_row(sendings.get(first)?);
        (sending.at == at.ns()).then_some(sending.thread)
    }

    /// The TCP segments that this host sent to and received from others, in no order.
    pub(crate) fn segments(&self) -> impl Iterator<Item = SegmentSeen> {
        let rows = self.segments.iter().flat_map(|rows| rows.iter());
        rows.map(SegmentSeen::from_row)
    }

    /// Whether the trace records wake-ups at all; without them no wait can be explained.
    pub fn records_wake_ups(&self) -> bool {
        self.known.wakes
    }

    /// Whether the trace records timers that expire; otherwise whoever they interrupt seems to wake.
    pub fn records_timers(&self) -> bool {
        self.known.timers
    }

    /// Whether the trace records interrupts and softirqs; otherwise whoever they interrupt seems to wake.
    pub fn records_interrupts(&self) -> bool {
        self.known.interrupts
    }

    /// The processors, in the order of their numbers.
    pub fn processors(&self) -> impl Iterator<Item = CpuId> {
        self.cpus.iter().map(|line| line.cpu)
    }

    /// When nothing tells who ran on a processor, in the order of time, apart: events are missing, or
    /// no switch tells.
    pub fn unknown_on(&self, cpu: CpuId) -> impl Iterator<Item = TimeRange> {
        let rows = self.cpu(cpu).map_or(&[][..], |line| &line.unknown);
        rows.iter()
            .map(|&[begin, end]| range(begin as i64, end as i64))
    }

    fn cpu(&self, cpu: CpuId) -> Option<&CpuLine> {
        let position = self.cpus.binary_search_by_key(&cpu, |line| line.cpu).ok()?;
        Some(&self.cpus[position])
    }

    /// The processor at a position, as runs and wake-ups number them.
    fn cpu_at(&self, position: u32) -> Option<&CpuLine> {
        self.cpus.get(position as usize)
    }

    /// The runs and the wake-ups of a thread in the order of time; empty for an unknown one.
    fn line(&self, thread: ThreadId) -> (&[RunRow], &[WakeRow]) {
        let position = self.position.get(&thread);
        match position.and_then(|&position| self.lines.get(position as usize)) {
            Some(line) => (&line.runs, &line.wakes),
            None => (&[], &[]),
        }
    }
}

fn range(begin: i64, end: i64) -> TimeRange {
    TimeRange::new(Timestamp::from_ns(begin), Timestamp::from_ns(end))
}

/// With how many rows a list begins for which `is_so` holds, as for none behind them. They are expected to be few:
/// nothing far behind them is looked at.
fn leading<T>(rows: &[T], is_so: impl Fn(&T) -> bool) -> usize {
    let mut ahead = 1;
    while rows.get(ahead).is_some_and(&is_so) {
        ahead *= 2;
    }
    let known = ahead / 2;
    let open = &rows[known..rows.len().min(ahead)];
    known + open.partition_point(is_so)
}

#[cfg(test)]
mod tests;
