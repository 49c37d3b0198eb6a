//! Time lines of threads: when each ran, where, why it stopped and who woke it.
//!
//! Built without a sequential pass over the trace: pass 1 (`gather`) collects compact records of
//! every chunk in parallel, pass 2 (`scan`, `assemble`) reads each processor for itself and then
//! groups by thread. A time line needs only its own facts and the wakers' identities, so nothing
//! is global; questions are answered by binary search. What waits *mean* is not decided here: that
//! is the critical path's matter.

mod assemble;
mod gather;
mod occupants;
mod record;
mod scan;
mod states;
mod stretch;

use std::borrow::Cow;

use rustc_hash::FxHashMap;
use slowpath_concepts::{Concepts, FactKind};
use slowpath_engine::{Cancelled, Options, Outcome};
use slowpath_model::{CpuId, ProcessId, ThreadId, TimeRange, Timestamp};
use slowpath_source::Source;

use assemble::Known;
use gather::{Gather, Name};
use scan::{Interruption, Run, Wake};

pub use occupants::Occupants;
pub use record::Interrupt;
pub use states::ThreadStates;
pub use stretch::{Doing, Stretch, WakeUp, Waker};

/// The time lines of all threads of one host over one trace.
///
/// About 24 bytes per run and wake-up event, 16 per interruption.
#[derive(Debug)]
pub struct Timelines {
    known: Known,
    /// Where events of any processor are missing, in order, apart.
    lost: Vec<(i64, i64)>,
    names: FxHashMap<ThreadId, Vec<(i64, Name)>>,
    /// In the order of thread and time: the process that a thread belongs to from then on.
    processes: Vec<(ThreadId, i64, ProcessId)>,
    cpus: Vec<CpuLine>,
    /// In the order of their ids.
    threads: Vec<ThreadId>,
    position: FxHashMap<ThreadId, u32>,
    /// By position of the thread: where its runs begin; one more than there are threads.
    run_starts: Vec<u32>,
    runs: Vec<Run>,
    wake_starts: Vec<u32>,
    wakes: Vec<Wake>,
    /// Names of system calls.
    calls: Vec<String>,
}

/// What is kept of one processor.
#[derive(Debug)]
struct CpuLine {
    cpu: CpuId,
    /// In the order of time, apart.
    interruptions: Vec<Interruption>,
    deliveries: Vec<Delivery>,
    irq_names: Vec<(u32, String)>,
}

/// A packet that was received.
#[derive(Clone, Copy, Debug)]
struct Delivery {
    /// The thread of this host that sent it, and when.
    sender: Option<(ThreadId, i64)>,
    /// The thread in whose time it was received.
    during: ThreadId,
}

impl Timelines {
    /// Reads the scheduling, interrupt and packet events of `source` and builds all time lines.
    ///
    /// The state is `None` when there was no event. The result does not depend on the number of
    /// workers or the size of the chunks.
    pub fn build(source: &dyn Source, options: &Options<'_>) -> Result<Outcome<Self>, Cancelled> {
        let concepts = Concepts::resolve(source.schema(), gather::FACTS);
        let gather = Gather {
            concepts: &concepts,
        };
        let outcome = slowpath_engine::run(source, concepts.projection(), &gather, options)?;
        let state = outcome.state.and_then(|gathered| {
            let range = gathered.range()?.intersect(options.range);
            let known = Known {
                begin: range.begin.ns(),
                end: range.end.ns(),
                packets: concepts.has(FactKind::PacketReceived),
                timers: concepts.has(FactKind::TimerEntry)
                    || concepts.has(FactKind::LocalTimerEntry),
                wakes: concepts.has(FactKind::Waking) || concepts.has(FactKind::Wakeup),
            };
            let calls = concepts.syscall_names().to_vec();
            Some(assemble::assemble(
                gathered.blocks,
                known,
                calls,
                options.jobs,
            ))
        });
        Ok(Outcome {
            state,
            diagnostics: outcome.diagnostics,
            timings: outcome.timings,
        })
    }

    /// Adds names and processes of threads that the tracer kept beside the events; what the events
    /// say has precedence.
    pub fn add_saved(&mut self, names: &[(ThreadId, String)], processes: &[(ThreadId, ProcessId)]) {
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

    /// The time that the trace covers, from its first to its last event; nothing is known outside.
    pub fn range(&self) -> TimeRange {
        range(self.known.begin, self.known.end)
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
        let all = self.cpu(cpu).map_or(&[][..], |line| &line.interruptions);
        let end_of = |i: &Interruption| i.begin.saturating_add(i64::from(i.length));
        let first = all.partition_point(|i| end_of(i) <= range.begin.ns());
        let past = all.partition_point(|i| i.begin < range.end.ns());
        all[first..past.max(first)].iter().map(move |i| {
            let when = self::range(i.begin, end_of(i)).intersect(range);
            (when, record::interrupt_of(u64::from(i.source)))
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

    /// Whether the trace records wake-ups at all; without them no wait can be explained.
    pub fn records_wake_ups(&self) -> bool {
        self.known.wakes
    }

    /// Whether the trace records timers that expire; otherwise whoever they interrupt seems to wake.
    pub fn records_timers(&self) -> bool {
        self.known.timers
    }

    fn cpu(&self, cpu: CpuId) -> Option<&CpuLine> {
        let position = self.cpus.binary_search_by_key(&cpu, |line| line.cpu).ok()?;
        Some(&self.cpus[position])
    }

    /// The runs and the wake-ups of a thread in the order of time; empty for an unknown one.
    fn line(&self, thread: ThreadId) -> (&[Run], &[Wake]) {
        let Some(&position) = self.position.get(&thread) else {
            return (&[], &[]);
        };
        let position = position as usize;
        let between = |starts: &[u32]| starts[position] as usize..starts[position + 1] as usize;
        (
            &self.runs[between(&self.run_starts)],
            &self.wakes[between(&self.wake_starts)],
        )
    }
}

fn range(begin: i64, end: i64) -> TimeRange {
    TimeRange::new(Timestamp::from_ns(begin), Timestamp::from_ns(end))
}

#[cfg(test)]
mod tests {
    use slowpath_drawn::DrawnTrace;

    use super::*;

    #[test]
    fn processors_have_any_number() {
        let numbers = [0, 65_535, 65_536, u32::MAX];
        for cpu in numbers {
            let trace = format!(
                "cpu{cpu} 10 sched_switch prev_comm=idle prev_tid=0 prev_state=0 next_comm=a next_tid=7
                 cpu{cpu} 20 sched_wakeup comm=b tid=8
                 cpu{cpu} 30 sched_switch prev_comm=a prev_tid=7 prev_state=0 next_comm=b next_tid=8"
            );
            let trace = DrawnTrace::parse(&trace).unwrap();
            let lines = Timelines::build(&trace, &Options::default()).unwrap();
            let lines = lines.state.unwrap();
            let stretch = lines.stretch_before(ThreadId(7), Timestamp::from_ns(30));
            let cpu = CpuId(cpu);
            assert_eq!(stretch.doing, Doing::Running { cpu });
            let stretch = lines.stretch_before(ThreadId(8), Timestamp::from_ns(20));
            let Doing::Blocked {
                wake: Some(wake), ..
            } = stretch.doing
            else {
                panic!("{stretch:?}");
            };
            assert_eq!((wake.cpu, wake.by), (cpu, Waker::Thread(ThreadId(7))));
        }
    }
}
