//! Threads on processors, as the switches and wake-ups of Linux's scheduler.
//!
//! Made of time lines, so a trace of any tracer looks like one that Perfetto recorded.

use std::collections::BTreeMap;
use std::io::{self, Write};

use slowpath_kernel::timelines::{Doing, Timelines, Waker};
use slowpath_model::{CpuId, ProcessId, ThreadId, TimeRange, Timestamp};

use super::messages::{
    Data, FtraceEvent, FtraceEventBundle, Process, ProcessTree, SchedSwitch, SchedWaking,
    SchedulerEvent, Thread,
};
use super::{PerfettoWriter, nanoseconds};

/// What the scheduler did on each processor within a window.
///
/// Takes memory in proportion to the switches and wake-ups in it.
#[derive(Debug, Default)]
pub struct KernelTracks {
    runs: BTreeMap<CpuId, Vec<Run>>,
    wakings: BTreeMap<CpuId, Vec<Waking>>,
    threads: Vec<(ThreadId, Option<ProcessId>, String)>,
}

#[derive(Clone, Copy, Debug)]
struct Run {
    begin: Timestamp,
    end: Timestamp,
    thread: ThreadId,
    /// The state in which the thread left, as the kernel numbers it.
    left: i64,
}

#[derive(Clone, Copy, Debug)]
struct Waking {
    at: Timestamp,
    thread: ThreadId,
    by: ThreadId,
}

/// `prev_state` of the kernel: runnable, interruptible and uninterruptible sleep, dead.
const RUNNABLE: i64 = 0;
const INTERRUPTIBLE: i64 = 1;
const UNINTERRUPTIBLE: i64 = 2;
const DEAD: i64 = 16;

/// Events of a bundle at most.
const BUNDLE: usize = 4096;
/// The priority of threads that nobody gave another one.
const ORDINARY_PRIORITY: i32 = 120;

impl KernelTracks {
    /// Collects from `lines` what happened within `window`.
    pub fn collect(lines: &Timelines, window: TimeRange) -> Self {
        let window = window.intersect(lines.range());
        let mut tracks = Self::default();
        for &thread in lines.threads() {
            let name = lines.name(thread, window.end).into_owned();
            let process = lines.process(thread, window.end);
            tracks.threads.push((thread, process, name));
            tracks.collect_thread(lines, thread, window);
        }
        tracks
            .runs
            .values_mut()
            .for_each(|runs| runs.sort_by_key(|run| run.begin));
        let wakings = tracks.wakings.values_mut();
        wakings.for_each(|wakings| wakings.sort_by_key(|waking| waking.at));
        tracks
    }

    fn collect_thread(&mut self, lines: &Timelines, thread: ThreadId, window: TimeRange) {
        // Going backwards: how the run that comes next was left.
        let mut left = RUNNABLE;
        for stretch in lines.backwards(thread, window) {
            match stretch.doing {
                Doing::Running { cpu } => {
                    self.runs.entry(cpu).or_default().push(Run {
                        begin: stretch.range.begin,
                        end: stretch.range.end,
                        thread,
                        left,
                    });
                }
                Doing::Blocked {
                    wake,
                    uninterruptible,
                    ..
                } => {
                    left = match uninterruptible {
                        true => UNINTERRUPTIBLE,
                        false => INTERRUPTIBLE,
                    };
                    if let Some(wake) = wake.filter(|wake| wake.begin >= window.begin) {
                        let by = match wake.by {
                            Waker::Thread(by) => by,
                            Waker::Packet { during, .. } | Waker::Arrival { during, .. } => during,
                            Waker::Interrupt(_) | Waker::Unknown => ThreadId::IDLE,
                        };
                        let at = wake.begin;
                        (self.wakings.entry(wake.cpu).or_default()).push(Waking { at, thread, by });
                    }
                }
                Doing::Dead => left = DEAD,
                _ => left = RUNNABLE,
            }
        }
    }

    /// Writes it.
    ///
    /// # Errors
    ///
    /// The output cannot be written.
    pub fn write<W: Write>(&self, writer: &mut PerfettoWriter<W>) -> io::Result<()> {
        writer.packet(None, Data::ProcessTree(self.process_tree()))?;
        let names: BTreeMap<ThreadId, &str> = (self.threads.iter())
            .map(|(thread, _, name)| (*thread, name.as_str()))
            .collect();
        let name = |thread: ThreadId| match thread {
            ThreadId::IDLE => "swapper".to_owned(),
            thread => names.get(&thread).copied().unwrap_or_default().to_owned(),
        };
        for (cpu, wakings) in &self.wakings {
            writer.counts.wakings += wakings.len() as u64;
            let events = wakings.iter().map(|waking| FtraceEvent {
                timestamp: Some(nanoseconds(waking.at)),
                pid: Some(waking.by.0 as u32),
                event: Some(SchedulerEvent::Waking(SchedWaking {
                    comm: Some(name(waking.thread)),
                    pid: Some(waking.thread.0),
                    target_cpu: Some(cpu.0 as i32),
                })),
            });
            write_bundles(writer, *cpu, events)?;
        }
        for (cpu, runs) in &self.runs {
            let switches = switches(runs);
            writer.counts.switches += switches.len() as u64;
            let events = switches.iter().map(|(at, prev, state, next)| FtraceEvent {
                timestamp: Some(nanoseconds(*at)),
                pid: Some(prev.0 as u32),
                event: Some(SchedulerEvent::Switch(SchedSwitch {
                    prev_comm: Some(name(*prev)),
                    prev_pid: Some(prev.0),
                    prev_prio: Some(ORDINARY_PRIORITY),
                    prev_state: Some(*state),
                    next_comm: Some(name(*next)),
                    next_pid: Some(next.0),
                    next_prio: Some(ORDINARY_PRIORITY),
                })),
            });
            write_bundles(writer, *cpu, events)?;
        }
        Ok(())
    }

    fn process_tree(&self) -> ProcessTree {
        let mut tree = ProcessTree::default();
        for (thread, process, name) in &self.threads {
            let process = process.map_or(thread.0, |process| process.0);
            if process == thread.0 {
                tree.processes.push(Process {
                    pid: Some(process),
                    cmdline: vec![name.clone()],
                });
            }
            tree.threads.push(Thread {
                tid: Some(thread.0),
                name: Some(name.clone()),
                tgid: Some(process),
            });
        }
        tree
    }
}

/// When a processor went from which thread, in which state, to which: the idle thread fills gaps.
fn switches(runs: &[Run]) -> Vec<(Timestamp, ThreadId, i64, ThreadId)> {
    let mut switches = Vec::with_capacity(runs.len() * 2);
    let mut before: Option<&Run> = None;
    for run in runs {
        match before {
            Some(before) if before.end >= run.begin => {
                switches.push((run.begin, before.thread, before.left, run.thread));
            }
            Some(before) => {
                switches.push((before.end, before.thread, before.left, ThreadId::IDLE));
                switches.push((run.begin, ThreadId::IDLE, RUNNABLE, run.thread));
            }
            None => switches.push((run.begin, ThreadId::IDLE, RUNNABLE, run.thread)),
        }
        before = Some(run);
    }
    if let Some(last) = before {
        switches.push((last.end, last.thread, last.left, ThreadId::IDLE));
    }
    switches
}

fn write_bundles<W: Write>(
    writer: &mut PerfettoWriter<W>,
    cpu: CpuId,
    events: impl Iterator<Item = FtraceEvent>,
) -> io::Result<()> {
    let mut events = events.peekable();
    while events.peek().is_some() {
        let bundle = FtraceEventBundle {
            cpu: Some(cpu.0),
            event: events.by_ref().take(BUNDLE).collect(),
        };
        writer.packet(None, Data::FtraceEvents(bundle))?;
    }
    Ok(())
}
