//! Ready threads that wait although a processor idles: the one that they used last, or another one to which nothing moves
//! them.
//!
//! More processors would help neither: nothing runs on one that is there.

use std::collections::{BTreeMap, BTreeSet};

use slowpath_kernel::timelines::{Occupants, Timelines};
use slowpath_model::{CpuId, Nanoseconds, TimeRange, counted};
use slowpath_requests::{RequestId, ThreadOfHost};

use crate::finding::{Evidence, Finding, FindingId};
use crate::path::{Slow, Taken, listed};
use crate::ran_instead::RanInstead;

/// Threads that are told of with the processors that they ran on.
const MOST_THREADS: usize = 3;

/// A time in which a ready thread waited while others ran on its processor.
#[derive(Clone, Copy)]
pub(crate) struct Contended {
    pub(crate) request: RequestId,
    pub(crate) whose: ThreadOfHost,
    pub(crate) cpu: CpuId,
    pub(crate) range: TimeRange,
}

/// Waits for a processor while one idled.
#[derive(Default)]
pub(crate) struct Placement {
    /// Blamed on moves to busy processors.
    taken: Taken,
    /// Of that, while others ran on the processor that the thread had used last: by the one that idled.
    idle_elsewhere: BTreeMap<CpuId, Nanoseconds>,
    /// By whom.
    kept_from: BTreeMap<ThreadOfHost, Nanoseconds>,
    /// On the busy processors: those that threads were moved to, or had used last while another one idled.
    pub(crate) ran: RanInstead,
}

/// Which other processor idled for most of a contended time, for each of them.
pub(crate) fn idle_elsewhere(lines: &Timelines, contended: &[Contended]) -> Vec<Option<CpuId>> {
    let others = |one: &Contended| {
        let own = one.cpu;
        lines.processors().filter(move |cpu| *cpu != own)
    };
    let times = contended
        .iter()
        .flat_map(|one| others(one).map(|cpu| (cpu, one.range)));
    let occupants = lines.occupants(&times.collect::<Vec<_>>());
    let unknown: BTreeMap<CpuId, Vec<TimeRange>> = (lines.processors())
        .map(|cpu| (cpu, lines.unknown_on(cpu).collect()))
        .collect();
    let idle = |cpu: CpuId, range: TimeRange| {
        let unknown = unknown.get(&cpu).map_or(&[][..], Vec::as_slice);
        idle_time(&occupants, unknown, cpu, range)
    };
    let most_idle = |one: &Contended| {
        let idle = others(one).map(|cpu| (idle(cpu, one.range), cpu));
        let (length, cpu) = idle.max()?;
        (length.get() * 2 > one.range.length().get()).then_some(cpu)
    };
    contended.iter().map(most_idle).collect()
}

/// How long a processor is known to have idled. `unknown` is in the order of time, apart.
fn idle_time(
    occupants: &Occupants,
    unknown: &[TimeRange],
    cpu: CpuId,
    range: TimeRange,
) -> Nanoseconds {
    let first = unknown.partition_point(|gap| gap.end <= range.begin);
    let unknown = unknown[first..]
        .iter()
        .take_while(|gap| gap.begin < range.end)
        .map(|gap| gap.intersect(range).length());
    let ran = occupants.during(cpu, range).map(|(_, time)| time);
    let busy: Nanoseconds = ran.chain(unknown).sum();
    Nanoseconds(range.length().get().saturating_sub(busy.get()))
}

impl Placement {
    /// Nobody ran on the processor that the thread used last; it ran next on `busy`, where others had run.
    pub(crate) fn add_idle(
        &mut self,
        slow: &Slow<'_>,
        request: RequestId,
        whose: ThreadOfHost,
        range: TimeRange,
        from: CpuId,
        busy: Option<CpuId>,
    ) {
        self.taken.add(request, whose, range);
        if let Some(to) = busy {
            let moved = format!("{} from processor {from} to {to}", slow.thread(whose));
            self.taken.blame(moved, range.length());
        }
    }

    /// Others ran there, while `idle` did nothing.
    pub(crate) fn add_contended(&mut self, one: &Contended, idle: CpuId) {
        self.taken.add(one.request, one.whose, one.range);
        let length = one.range.length();
        *self.idle_elsewhere.entry(idle).or_default() += length;
        *self.kept_from.entry(one.whose).or_default() += length;
    }

    pub(crate) fn finding(mut self, slow: &Slow<'_>) -> Option<Finding> {
        let elsewhere: Nanoseconds = self.idle_elsewhere.values().copied().sum();
        let is_elsewhere = elsewhere.get() * 2 > self.taken.total.get();
        let title = match is_elsewhere {
            true => {
                "CPU placement: ready threads wait for a busy processor while another one idles"
            }
            false => "CPU placement: ready threads wait although their processor idles",
        };
        let own = self.taken.total - elsewhere;
        let on_own = match own {
            Nanoseconds::ZERO => String::new(),
            own => format!(
                " For {own} nobody ran on the last one they used, and no quota shows that stopped them."
            ),
        };
        let moves = match self.taken.most_blamed() {
            Some(_) => format!(
                " Some had been moved from there to a processor that others used: {}.",
                self.taken.blamed()
            ),
            None => String::new(),
        };
        let processors =
            |(cpu, length): (&CpuId, &Nanoseconds)| (format!("processor {cpu}"), *length);
        let idle: BTreeMap<String, Nanoseconds> =
            self.idle_elsewhere.iter().map(processors).collect();
        let on_others = match elsewhere {
            Nanoseconds::ZERO => String::new(),
            elsewhere => format!(
                " For {elsewhere} others ran on the last one they used, while another one idled for most of each wait: {}.",
                listed(&idle, 4)
            ),
        };
        let total = self.taken.total;
        let others = match self.ran.named() {
            Some(named) => format!(" The others were {named}.{}", self.ran.because(total)),
            None => String::new(),
        };
        let explanation = format!(
            "{} waited {total} in all for a processor although one idled.{on_own}{moves}{on_others}{others}",
            self.taken.slow_requests(),
        );
        let what = "ready, but not running for";
        let mut evidence = match self.taken.most_blamed() {
            Some(_) => self
                .taken
                .evidence_by(slow, what, "move to a busy processor"),
            None => self.taken.evidence(slow, what),
        };
        if !idle.is_empty() {
            evidence.push(Evidence::text(format!(
                "by processor that idled: {}",
                listed(&idle, 6)
            )));
        }
        evidence.extend(self.ran.evidence(total));
        evidence.extend(self.where_they_ran(slow));
        let advice = match is_elsewhere {
            true => {
                "More processors would not help, as one idled. Look for threads that are bound to processors (taskset, \
                 sched_setaffinity, cpusets, isolated processors), and let them run on more of them, or bind the others \
                 elsewhere. Where none is bound, the kernel moves threads too late: wake fewer of them at once, and see \
                 whether it pays to bind the busy ones."
            }
            false => {
                "Look for threads bound to processors (taskset, cpusets), for control groups \
                 with a quota that is rarely used up, and for a virtual machine whose processors \
                 are stopped by its host."
            }
        };
        let id = FindingId::CpuPlacement;
        (self.taken).finding(slow, id, title.to_owned(), explanation, evidence, advice)
    }

    /// On which processors the threads ran that waited longest while another one idled: one that is bound runs on few.
    fn where_they_ran(&self, slow: &Slow<'_>) -> Vec<Evidence> {
        let mut ranked: Vec<(&ThreadOfHost, &Nanoseconds)> = self.kept_from.iter().collect();
        ranked.sort_by_key(|(thread, length)| (std::cmp::Reverse(**length), **thread));
        let ran = |(whose, length): (&ThreadOfHost, &Nanoseconds)| {
            let runs = slow.lines.runs_of(whose.thread);
            let cpus: BTreeSet<CpuId> = runs.map(|(_, cpu)| cpu).collect();
            let on = match cpus.first() {
                Some(only) if cpus.len() == 1 => format!("on processor {only} only"),
                _ => format!("on {}", counted(cpus.len(), "processor", "processors")),
            };
            Evidence {
                thread: Some(whose.thread),
                ..Evidence::text(format!(
                    "{} waited {length} so; in the whole recording it ran {on}",
                    slow.thread(*whose)
                ))
            }
        };
        ranked.into_iter().take(MOST_THREADS).map(ran).collect()
    }
}
