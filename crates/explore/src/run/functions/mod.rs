//! Calls of functions in unmodified programs, observed by uprobes: how many there were, and how long they took.
//!
//! Counters are opened on the thread that starts a trial's programs, before it starts them, and wake up where one of these
//! becomes another program (exec): so they see exactly what the trial starts, its threads and children too, from the first
//! instruction on, and the explorer never. A count is one number in the kernel, nothing is written for each call. For
//! times, entries and returns go into a buffer for each processor, which a thread here empties.

mod kernel;
mod latency;
mod symbols;

use std::collections::BTreeMap;
use std::fmt;
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;

use perf_event::events::{Software, Tracepoint};
use perf_event::{Builder, Clock, Counter, SampleFlag, Sampler};
use slowpath_platform::clocks::monotonic_ns;

use crate::spec::{Function, Metric, OfCalls, Source};
use kernel::Definitions;
use latency::{Frame, Pairing, Told};

pub(crate) use kernel::own_group;
pub use latency::Times;

/// So often buffers are emptied.
const PAUSE: Duration = Duration::from_millis(20);

/// Bytes of all buffers together, and of one at least and at most.
const ALL_BUFFERS: usize = 128 << 20;
const BUFFER: (usize, usize) = (64 << 10, 1 << 20);

/// Kinds of records (`PERF_RECORD_…`).
const LOST: u32 = 2;
const SAMPLE: u32 = 9;

/// The stack pointer in the kernel's numbering of registers, and by how much it is larger after a return than at the entry.
#[cfg(target_arch = "x86_64")]
const STACK: Option<(u64, u64)> = Some((7, 8));
#[cfg(target_arch = "aarch64")]
const STACK: Option<(u64, u64)> = Some((31, 0));
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
const STACK: Option<(u64, u64)> = None;

/// Why a function cannot be observed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unusable {
    /// What is wrong.
    pub what: String,
    /// What can be done.
    pub hint: String,
}

impl fmt::Display for Unusable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.what)?;
        match self.hint.is_empty() {
            true => Ok(()),
            false => write!(f, "\n  hint: {}", self.hint),
        }
    }
}

/// What was seen of a function.
#[derive(Clone, Debug, Default)]
pub struct Calls {
    /// How often it was called; `None` where no metric asked.
    pub count: Option<u64>,
    /// How long calls took that began and ended meanwhile; `None` where no metric asked.
    pub times: Option<Times>,
}

impl Calls {
    /// The number that a metric asks for; calls were seen for `wall` seconds.
    pub(super) fn number(&self, of: OfCalls, wall: f64) -> Option<f64> {
        match of {
            OfCalls::Count => Some(self.count? as f64),
            OfCalls::PerSecond => Some(self.count? as f64 / wall),
            OfCalls::Time { take, unit } => Some(unit.of_ns(self.times.as_ref()?.take(take)?)),
        }
    }
}

/// Finds out whether all functions of these metrics can be observed, by observing them for a moment. Clears away what
/// explorers that were killed have left.
pub(crate) fn check(metrics: &BTreeMap<String, Metric>, folder: &Path) -> Result<(), Unusable> {
    if wanted(metrics).is_empty() {
        return Ok(());
    }
    kernel::remove_leftovers();
    Probes::open(metrics, folder).map(drop)
}

/// Ends what an explorer that was killed has defined.
pub(crate) fn end_definitions(metrics: &BTreeMap<String, Metric>, group: &str) {
    if !wanted(metrics).is_empty() {
        kernel::remove_group(group);
    }
}

/// Probes on functions; they and all that belongs to them end with this.
pub(super) struct Probes {
    // Counters and buffers first: definitions cannot be removed while they are used.
    functions: Vec<Observed>,
    emptying: Option<Emptying>,
    begin_ns: Arc<AtomicU64>,
    _anchors: Vec<Counter>,
    _definitions: Option<Definitions>,
}

/// A function and its counters.
struct Observed {
    function: Function,
    counters: Vec<Counter>,
    /// What this thread itself does, where that is in these counters, too.
    own: Vec<Counter>,
    /// What they had counted when the workload began.
    before: u64,
}

/// The thread that empties buffers.
struct Emptying {
    stop: Option<Sender<()>>,
    thread: Option<JoinHandle<Vec<Stopwatch>>>,
}

impl Probes {
    /// Observes what this thread starts from now on. Relative paths start from `folder`.
    pub(super) fn open(
        metrics: &BTreeMap<String, Metric>,
        folder: &Path,
    ) -> Result<Self, Unusable> {
        let wanted = wanted(metrics);
        let begin_ns = Arc::new(AtomicU64::new(u64::MAX));
        if wanted.is_empty() {
            return Ok(Self {
                functions: Vec::new(),
                emptying: None,
                begin_ns,
                _anchors: Vec::new(),
                _definitions: None,
            });
        }
        let places = wanted
            .iter()
            .map(|(function, want)| {
                let place = symbols::find(function, folder)?;
                if want.times && place.is_go {
                    return Err(Unusable {
                        what: format!(
                            "calls in {} cannot be timed: it was compiled by Go, whose stacks move",
                            place.shown
                        ),
                        hint: "type = \"CNT\" and \"TPT\" are possible".to_owned(),
                    });
                }
                Ok((function, want, place))
            })
            .collect::<Result<Vec<_>, Unusable>>()?;
        let timed = places.iter().filter(|(_, want, _)| want.times);
        let buffers = timed.map(|(.., place)| place.offsets.len()).sum::<usize>();
        let processors = online_processors();
        let size = ALL_BUFFERS / (2 * buffers * processors.len()).max(1);
        let size = size.clamp(BUFFER.0, BUFFER.1);
        let mut definitions = Definitions::new()?;
        let mut anchors = Vec::from_iter(anchor());
        let has_anchor = !anchors.is_empty();
        let mut functions = Vec::new();
        let mut stopwatches = Vec::new();
        for (function, want, place) in places {
            let refused = |cause: io::Error| refused(function, &cause);
            let (mut counters, mut own) = (Vec::new(), Vec::new());
            for offset in &place.offsets {
                let entry = definitions.add(&place.path, *offset, false)?;
                if !has_anchor {
                    anchors.push(anchor_of(entry).map_err(refused)?);
                }
                if want.count {
                    if !has_anchor {
                        own.push(of_this_thread(entry).map_err(refused)?);
                    }
                    counters.push(counter(entry, has_anchor).build().map_err(refused)?);
                }
                if want.times {
                    let back = definitions.add(&place.path, *offset, true)?;
                    if !has_anchor {
                        anchors.push(anchor_of(back).map_err(refused)?);
                    }
                    stopwatches.push(Stopwatch {
                        function: function.clone(),
                        entries: buffered(entry, has_anchor, &processors, size).map_err(refused)?,
                        returns: buffered(back, has_anchor, &processors, size).map_err(refused)?,
                        waiting: Vec::new(),
                        seen: 0,
                        pairing: Pairing::new(),
                    });
                }
            }
            functions.push(Observed {
                function: function.clone(),
                counters,
                own,
                before: 0,
            });
        }
        let emptying = (!stopwatches.is_empty()).then(|| Emptying::begin(stopwatches, &begin_ns));
        Ok(Self {
            functions,
            emptying,
            begin_ns,
            _anchors: anchors,
            _definitions: Some(definitions),
        })
    }

    /// From now on calls count.
    pub(super) fn begin(&mut self) -> io::Result<()> {
        for observed in &mut self.functions {
            observed.before = observed.sum()?;
        }
        self.begin_ns.store(now(), Ordering::Relaxed);
        Ok(())
    }

    /// What was seen since then, and what is to be told of it.
    pub(super) fn end(mut self) -> io::Result<(BTreeMap<Function, Calls>, Vec<String>)> {
        let end = now();
        let mut seen = BTreeMap::new();
        for observed in &mut self.functions {
            let count = observed.sum()?.saturating_sub(observed.before);
            let calls = Calls {
                count: (!observed.counters.is_empty()).then_some(count),
                times: None,
            };
            seen.insert(observed.function.clone(), calls);
        }
        let begin = self.begin_ns.load(Ordering::Relaxed);
        for mut stopwatch in self.emptying.take().map_or(Vec::new(), Emptying::end) {
            stopwatch.empty();
            stopwatch.tell_until(end, begin);
            let calls = seen.entry(stopwatch.function).or_default();
            match &mut calls.times {
                Some(times) => times.merge(&stopwatch.pairing.times),
                none => *none = Some(stopwatch.pairing.times),
            }
        }
        let notes = seen.iter().filter_map(|(function, calls)| {
            let times = calls.times.as_ref().filter(|times| times.lost > 0)?;
            Some(format!(
                "`{}` of {} was called too often to be timed every time: {} calls were, {} entries and returns were lost",
                function.name,
                function.binary,
                times.count(),
                times.lost
            ))
        });
        let notes = notes.collect();
        Ok((seen, notes))
    }
}

impl Observed {
    fn sum(&mut self) -> io::Result<u64> {
        let sum = |counters: &mut [Counter]| -> io::Result<u64> {
            counters.iter_mut().map(Counter::read).sum()
        };
        let own = sum(&mut self.own)?;
        Ok(sum(&mut self.counters)?.saturating_sub(own))
    }
}

impl Emptying {
    fn begin(mut stopwatches: Vec<Stopwatch>, begin_ns: &Arc<AtomicU64>) -> Self {
        let (stop, stopped) = channel();
        let begin_ns = Arc::clone(begin_ns);
        let thread = std::thread::spawn(move || {
            while stopped.recv_timeout(PAUSE) == Err(RecvTimeoutError::Timeout) {
                for stopwatch in &mut stopwatches {
                    // What was seen the last time is complete by now, on whichever processor it happened.
                    let complete = stopwatch.seen;
                    stopwatch.empty();
                    stopwatch.tell_until(complete, begin_ns.load(Ordering::Relaxed));
                }
            }
            stopwatches
        });
        Self {
            stop: Some(stop),
            thread: Some(thread),
        }
    }

    fn end(mut self) -> Vec<Stopwatch> {
        self.stop = None;
        let ended = self.thread.take().map(JoinHandle::join);
        ended.and_then(Result::ok).unwrap_or_default()
    }
}

impl Drop for Emptying {
    fn drop(&mut self) {
        self.stop = None;
        // Its buffers must be gone before the definitions.
        let _ = self.thread.take().map(JoinHandle::join);
    }
}

/// One place whose calls are timed.
struct Stopwatch {
    function: Function,
    /// For each processor.
    entries: Vec<Sampler>,
    returns: Vec<Sampler>,
    /// Read, but others that happened before may not have been.
    waiting: Vec<(u64, Told)>,
    /// The time of the latest.
    seen: u64,
    pairing: Pairing,
}

impl Stopwatch {
    /// Reads what the kernel has written.
    fn empty(&mut self) {
        for sampler in &mut self.entries {
            read(sampler, &mut self.waiting, Told::Entry, 0);
        }
        let after = STACK.map_or(0, |(_, after)| after);
        for sampler in &mut self.returns {
            read(sampler, &mut self.waiting, Told::Return, after);
        }
        let latest = self.waiting.iter().map(|(ns, _)| *ns).max();
        self.seen = self.seen.max(latest.unwrap_or(0));
    }

    /// Pairs what happened until then, that moment with it.
    fn tell_until(&mut self, end: u64, begin: u64) {
        self.waiting.sort_by_key(|(ns, _)| *ns);
        let complete = self.waiting.partition_point(|(ns, _)| *ns <= end);
        for (ns, what) in self.waiting.drain(..complete) {
            self.pairing.tell(ns, what, begin);
        }
    }
}

/// Reads all records of a buffer. The frame's address is by `after` lower than the stack pointer.
fn read(
    sampler: &mut Sampler,
    into: &mut Vec<(u64, Told)>,
    what: impl Fn(Frame) -> Told,
    after: u64,
) {
    let own = std::process::id().to_ne_bytes();
    while let Some(record) = sampler.next_record() {
        let bytes = record.to_contiguous();
        let word = |place: usize| {
            let word = bytes.get(8 * place..8 * place + 8)?.try_into().ok()?;
            Some(u64::from_ne_bytes(word))
        };
        // Samples: pid and tid, time, kind of registers, stack pointer. Losses: id, how many, pid and tid, time.
        let told = match record.ty() {
            SAMPLE if bytes.starts_with(&own) => None,
            SAMPLE => (|| {
                let tid = bytes.get(4..8)?.try_into().ok()?;
                let frame = Frame {
                    tid: u32::from_ne_bytes(tid),
                    stack: word(3)?.wrapping_sub(after),
                };
                Some((word(1)?, what(frame)))
            })(),
            LOST => word(3).zip(word(1).map(Told::Lost)),
            _ => None,
        };
        into.extend(told);
    }
}

/// Which functions metrics need, and what of them.
fn wanted(metrics: &BTreeMap<String, Metric>) -> BTreeMap<Function, Wanted> {
    let mut all: BTreeMap<Function, Wanted> = BTreeMap::new();
    for metric in metrics.values() {
        if let Source::Function { function, of } = &metric.source {
            let wanted = all.entry(function.clone()).or_default();
            match of {
                OfCalls::Count | OfCalls::PerSecond => wanted.count = true,
                OfCalls::Time { .. } => wanted.times = true,
            }
        }
    }
    all
}

#[derive(Clone, Copy, Debug, Default)]
struct Wanted {
    count: bool,
    times: bool,
}

/// A counter of what this thread's children do. Without an anchor it counts what this thread does, too: the kernel
/// exchanges counters then, and may do so only where all of them are in the same state.
fn counter<'run>(id: u64, has_anchor: bool) -> Builder<'run> {
    let mut builder = Builder::new(Tracepoint::with_id(id));
    builder
        .observe_self()
        .any_cpu()
        .inherit(true)
        .enabled(!has_anchor)
        .enable_on_exec(has_anchor);
    builder
}

/// A counter of what this thread does alone.
fn of_this_thread(id: u64) -> io::Result<Counter> {
    let mut builder = Builder::new(Tracepoint::with_id(id));
    builder.observe_self().any_cpu().enabled(true).build()
}

/// Keeps the kernel from exchanging the counters of two threads, as it may at a switch between them where all are
/// inherited alike. But when one of the two ends, the kernel takes the probes out of the other's program; and one may be
/// about to wake up only. It does not exchange what is inherited and sampled with its value; `None` before 6.12, which has no such thing.
fn anchor() -> Option<Counter> {
    let mut builder = Builder::new(Software::DUMMY);
    builder
        .observe_self()
        .any_cpu()
        .inherit(true)
        .sample(SampleFlag::TID | SampleFlag::READ);
    builder.build().ok()
}

/// Keeps a probe in all programs that have it, whichever of them are observed. It counts nothing.
fn anchor_of(id: u64) -> io::Result<Counter> {
    let mut builder = Builder::new(Tracepoint::with_id(id));
    builder.any_pid().one_cpu(0).build()
}

/// The same with a buffer for each processor, as the kernel wants it for what is inherited.
fn buffered(
    id: u64,
    has_anchor: bool,
    processors: &[usize],
    size: usize,
) -> io::Result<Vec<Sampler>> {
    let Some((register, _)) = STACK else {
        let what = "times are known on x86-64 and ARM64 only; counts everywhere";
        return Err(io::Error::new(io::ErrorKind::Unsupported, what));
    };
    let one = |processor: &usize| {
        let mut builder = counter(id, has_anchor);
        builder
            .one_cpu(*processor)
            .sample_period(1)
            .sample(SampleFlag::TID | SampleFlag::TIME | SampleFlag::REGS_USER)
            .sample_regs_user(1 << register)
            .sample_id_all(true)
            .clockid(Clock::MONOTONIC);
        builder.build()?.sampled(size)
    };
    processors.iter().map(one).collect()
}

fn refused(function: &Function, cause: &io::Error) -> Unusable {
    let hint = match cause.kind() {
        io::ErrorKind::PermissionDenied => {
            "observing functions needs root, or CAP_PERFMON and CAP_IPC_LOCK; a container may forbid it altogether"
        }
        _ if cause.raw_os_error() == Some(nix::errno::Errno::EMFILE as i32) => {
            "raise the limit of open files (`ulimit -n`): a timed function takes two for each processor"
        }
        _ => "",
    };
    Unusable {
        what: format!(
            "the kernel does not let calls of `{}` in {} be observed: {cause}",
            function.name, function.binary
        ),
        hint: hint.to_owned(),
    }
}

/// The processors that are online.
fn online_processors() -> Vec<usize> {
    let list = std::fs::read_to_string("/sys/devices/system/cpu/online").unwrap_or_default();
    let mut processors = Vec::new();
    for part in list.trim().split(',') {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        if let (Ok(first), Ok(last)) = (first.parse::<usize>(), last.parse()) {
            processors.extend(first..=last);
        }
    }
    processors
}

fn now() -> u64 {
    u64::try_from(monotonic_ns()).unwrap_or(0)
}
