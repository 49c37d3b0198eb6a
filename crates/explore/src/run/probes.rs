//! Collects the records of probes while a workload runs: the collector and tracer of SPEX (Go and Colmenares 2016, §3.1).
//!
//! A thread finds the memories of the trial's processes, switches on what the specification names and takes records in
//! bounded batches, in turns; nothing is computed inside the observed programs. Processes may start and end at any time: by
//! default their memory is a file in a folder of the trial, which stays. Where it cannot be, it is a memfd, and a process
//! that ends within [`LOOK_AT_PROCESSES`] of its start is missed.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use slowpath_platform::clocks::monotonic_ns;

use super::group::Group;
use super::leftovers::{self, Signs};
use crate::probes::{Finder, Gathered, Probe, ProbeKind, ProbeMemory, Record, Window};
use crate::spec::{ProbeMetric, ProbeName, Source, Spec};

const FOLDER_VARIABLE: &str = "SLOWPATH_PROBES_DIR";
const SWITCH_VARIABLE: &str = "SLOWPATH_PROBES";
const SLOTS_VARIABLE: &str = "SLOWPATH_PROBES_SLOTS";

/// Records that are taken from one queue before the next one's turn comes.
const BATCH: usize = 256;
/// How long to rest when all queues were empty.
const REST: Duration = Duration::from_millis(1);
/// How often folders are looked at, and tables of probes.
const LOOK: Duration = Duration::from_millis(5);
/// How often descriptors of processes are looked at.
const LOOK_AT_PROCESSES: Duration = Duration::from_millis(50);
/// Numbers that wait for a policy; what is more is not shown to it.
const SHOWN: usize = 4096;
/// Memory that the queues of one process may take, roughly.
const MOST_BYTES: u64 = 64 << 20;

/// A folder in memory for the probes of one trial. Removed with it.
#[derive(Debug)]
pub(super) struct Room {
    folder: PathBuf,
    slots: u64,
    made_ns: u64,
}

impl Room {
    /// Where the trials of the exploration with this token have theirs.
    fn place(token: &str) -> PathBuf {
        Path::new("/dev/shm").join(format!("slowpath-probes-{token}"))
    }

    /// Makes it, if the specification has metrics of probes. Where it cannot be made, memfds have to do.
    pub(super) fn make(spec: &Spec, token: &str) -> Option<Self> {
        wanted(spec).next()?;
        let folder = Self::place(token);
        let _ = fs::remove_dir_all(&folder);
        // Where this fails, nothing will be found in it.
        let _ = DirBuilder::new().mode(0o700).create(&folder);
        let processors = fs::read_dir("/sys/devices/system/cpu").map_or(1, |entries| {
            let names = entries.flatten().map(|entry| entry.file_name());
            let digits = |name: &str| name.bytes().all(|byte| byte.is_ascii_digit());
            let is_one = |name: &std::ffi::OsString| {
                let name = name.to_str().and_then(|name| name.strip_prefix("cpu"));
                name.is_some_and(|rest| !rest.is_empty() && digits(rest))
            };
            names.filter(is_one).count().max(1) as u64
        });
        let mut slots = 4096;
        while slots > 64 && processors * 8 * slots * 136 > MOST_BYTES {
            slots /= 2;
        }
        Some(Self {
            folder,
            slots,
            made_ns: now(),
        })
    }

    /// Tells a program of it, unless the user has something else in mind.
    pub(super) fn tell(&self, environment: &mut BTreeMap<String, String>) {
        if environment.contains_key(FOLDER_VARIABLE) {
            return;
        }
        let folder = self.folder.display().to_string();
        environment.insert(FOLDER_VARIABLE.to_owned(), folder);
        if !environment.contains_key(SLOTS_VARIABLE) && std::env::var_os(SLOTS_VARIABLE).is_none() {
            environment.insert(SLOTS_VARIABLE.to_owned(), self.slots.to_string());
        }
    }
}

impl Drop for Room {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.folder);
    }
}

/// Removes what a killed explorer left.
pub(super) fn remove_leftovers(token: &str) {
    let _ = fs::remove_dir_all(Room::place(token));
}

/// Has the probes of a program on from its start, unless the user switches them.
pub(super) fn switch_on(spec: &Spec, environment: &mut BTreeMap<String, String>) {
    let text = selection(spec);
    if !text.is_empty() && !environment.contains_key(SWITCH_VARIABLE) {
        environment.insert(SWITCH_VARIABLE.to_owned(), text);
    }
}

/// A probe that is known by its name alone is switched on with all of its kind; the collector switches the others off.
fn selection(spec: &Spec) -> String {
    let one = |metric: &ProbeMetric| {
        let kind = metric.kind.name();
        let every = metric
            .every
            .map_or(String::new(), |every| format!("/{every}"));
        match metric.probe {
            ProbeName::Id(id) => format!("{kind}:{id}{every}"),
            ProbeName::Name(_) => format!("{kind}{every}"),
        }
    };
    // Kinds first, as what comes later decides.
    let (names, ids): (Vec<_>, Vec<_>) =
        wanted(spec).partition(|(_, metric)| matches!(metric.probe, ProbeName::Name(_)));
    let texts: Vec<String> = (names.iter().chain(&ids))
        .map(|(_, metric)| one(metric))
        .collect();
    texts.join(",")
}

fn wanted(spec: &Spec) -> impl Iterator<Item = (&String, &ProbeMetric)> {
    spec.metrics
        .iter()
        .filter_map(|(name, metric)| match &metric.source {
            Source::Probe(probe) => Some((name, probe)),
            _ => None,
        })
}

fn now() -> u64 {
    u64::try_from(monotonic_ns()).unwrap_or(0)
}

/// What was collected.
#[derive(Debug, Default)]
pub(super) struct Collected {
    /// By metric: the number, or why there is none.
    pub(super) numbers: BTreeMap<String, Result<f64, String>>,
    /// What the numbers lack.
    pub(super) notes: Vec<String>,
}

/// A collector at work.
#[derive(Debug)]
pub(super) struct Collector {
    thread: Option<JoinHandle<Work>>,
    shared: Arc<Shared>,
    /// Numbers of records as they come: the place of a metric and its value.
    pub(super) shown: Shown,
}

/// Numbers for a policy that looks at runs.
#[derive(Debug)]
pub(super) struct Shown {
    names: Vec<String>,
    receiver: Receiver<(usize, f64)>,
}

impl Shown {
    /// Those that have come since the last time: metric and value.
    pub(super) fn new_ones(&self) -> impl Iterator<Item = (&str, f64)> {
        // Bounded, as more may come meanwhile.
        let taken = self.receiver.try_iter().take(SHOWN);
        taken.filter_map(|(place, value)| Some((self.names.get(place)?.as_str(), value)))
    }
}

#[derive(Debug)]
struct Shared {
    is_over: AtomicBool,
    end_ns: AtomicU64,
}

/// What is known of a process with probes.
#[derive(Debug)]
struct Process {
    memory: ProbeMemory,
    /// Whether its probes were all off when it was found, or it began in the window.
    was_off: bool,
    /// Whether it began in the window.
    is_new: bool,
    table: Vec<Probe>,
    /// For each probe in the table, which metrics are about it.
    meant: BTreeMap<(ProbeKind, u16), Vec<usize>>,
    /// Of each kind that is wanted: what had been stored when the window began, and what was taken since.
    counts: BTreeMap<ProbeKind, (u64, u64)>,
    refused: u64,
}

/// What the thread works on.
#[derive(Debug)]
struct Work {
    names: Vec<String>,
    metrics: Vec<ProbeMetric>,
    kinds: Vec<ProbeKind>,
    gathered: Vec<Gathered>,
    processes: Vec<Process>,
    finder: Finder,
    group: Option<Group>,
    signs: Signs,
    begin_ns: u64,
    /// Whether the user switches probes, too: then none is switched off.
    is_users: bool,
    show: Option<SyncSender<(usize, f64)>>,
}

impl Collector {
    /// Begins: from here on records count. What runs already is found and switched on before this returns.
    pub(super) fn begin(
        spec: &Spec,
        room: &Room,
        group: Option<Group>,
        signs: Signs,
        environments: [&BTreeMap<String, String>; 2],
    ) -> io::Result<Self> {
        let (names, metrics): (Vec<String>, Vec<ProbeMetric>) = wanted(spec)
            .map(|(name, metric)| (name.clone(), metric.clone()))
            .unzip();
        let kinds: BTreeSet<ProbeKind> = metrics.iter().map(|metric| metric.kind).collect();
        // The user's own folders, where there are some.
        let users = environments
            .iter()
            .filter_map(|one| one.get(FOLDER_VARIABLE));
        let folders = users
            .map(PathBuf::from)
            .chain([room.folder.clone()])
            .collect();
        let (show, receiver) = sync_channel(SHOWN);
        let mut work = Work {
            names: names.clone(),
            gathered: metrics.iter().cloned().map(Gathered::of).collect(),
            metrics,
            kinds: kinds.into_iter().collect(),
            processes: Vec::new(),
            finder: Finder::new(folders, room.made_ns),
            group,
            signs,
            begin_ns: u64::MAX,
            is_users: environments
                .iter()
                .any(|one| one.contains_key(SWITCH_VARIABLE)),
            show: None,
        };
        work.find(true);
        // What was stored until now only tells how much there was before.
        work.drain(u64::MAX);
        work.begin_ns = now();
        for process in &mut work.processes {
            process.begin(&work.kinds);
            process.switch(&work.metrics, true, work.is_users);
        }
        work.show = Some(show);
        let shared = Arc::new(Shared {
            is_over: AtomicBool::new(false),
            end_ns: AtomicU64::new(u64::MAX),
        });
        let seen = Arc::clone(&shared);
        let thread = std::thread::Builder::new()
            .name("probes".to_owned())
            .spawn(move || work.until_over(&seen))?;
        Ok(Self {
            thread: Some(thread),
            shared,
            shown: Shown { names, receiver },
        })
    }

    /// The workload has ended: records that are made from now on do not count.
    pub(super) fn stop_counting(&self) {
        self.shared.end_ns.store(now(), Ordering::Release);
    }

    /// What was collected, the workload having taken so many seconds.
    pub(super) fn end(mut self, seconds: f64) -> Collected {
        self.shared.is_over.store(true, Ordering::Release);
        let work = self.thread.take().map(JoinHandle::join);
        match work {
            Some(Ok(work)) => work.collected(seconds),
            _ => Collected::default(),
        }
    }
}

impl Drop for Collector {
    fn drop(&mut self) {
        self.shared.is_over.store(true, Ordering::Release);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

impl Work {
    fn until_over(mut self, shared: &Shared) -> Self {
        let mut looked_at_processes = Instant::now();
        let mut looked = looked_at_processes;
        while !shared.is_over.load(Ordering::Acquire) {
            if looked.elapsed() >= LOOK {
                let processes_too = looked_at_processes.elapsed() >= LOOK_AT_PROCESSES;
                self.look(processes_too);
                looked = Instant::now();
                if processes_too {
                    looked_at_processes = looked;
                }
            }
            if self.turn(shared.end_ns.load(Ordering::Acquire)) == 0 {
                std::thread::sleep(REST);
            }
        }
        let end_ns = shared.end_ns.load(Ordering::Acquire);
        self.look(true);
        self.drain(end_ns);
        for process in &self.processes {
            process.switch(&self.metrics, false, self.is_users);
        }
        self
    }

    /// Finds what is new, and has the right probes on.
    fn look(&mut self, processes_too: bool) {
        let known = self.processes.len();
        self.find(processes_too);
        for (place, process) in self.processes.iter_mut().enumerate() {
            let before = process.table.len();
            process.learn(&self.metrics);
            if place >= known {
                process.begin(&self.kinds);
            }
            if place >= known || process.table.len() > before {
                process.switch(&self.metrics, true, self.is_users);
            }
        }
    }

    fn find(&mut self, processes_too: bool) {
        let mut found = self.finder.in_folders();
        if processes_too {
            let processes = match &self.group {
                Some(group) => group.processes().into_iter().map(|(_, pid)| pid).collect(),
                None => leftovers::find(&self.signs).into_iter().collect::<Vec<_>>(),
            };
            found.extend(self.finder.of_processes(&processes));
        }
        for memory in found {
            let mut process = Process {
                // Everything that ran when the window began was found then.
                is_new: self.begin_ns != u64::MAX,
                was_off: true,
                table: Vec::new(),
                meant: BTreeMap::new(),
                counts: BTreeMap::new(),
                refused: 0,
                memory,
            };
            process.learn(&self.metrics);
            let is_on = |probe: &Probe| probe.every != 0 && self.kinds.contains(&probe.kind);
            process.was_off = process.is_new || !process.table.iter().any(is_on);
            self.processes.push(process);
        }
    }

    /// Takes a batch from each queue; how many records.
    fn turn(&mut self, end_ns: u64) -> usize {
        let mut all = 0;
        let window = Window {
            begin_ns: self.begin_ns,
            end_ns,
        };
        for (place, process) in self.processes.iter_mut().enumerate() {
            let mut unknown = Vec::new();
            let was_off = process.was_off;
            let (counts, meant) = (&mut process.counts, &process.meant);
            let mut add = |record: Record| {
                if let Some((_, taken)) = counts.get_mut(&record.kind) {
                    *taken += 1;
                }
                match meant.get(&(record.kind, record.id)) {
                    None => unknown.push(record),
                    Some(metrics) => {
                        for metric in metrics {
                            let gathered = &mut self.gathered[*metric];
                            gathered.add(place, &record, window, was_off);
                            if let Some(show) = &self.show {
                                let _ = show.try_send((*metric, gathered.value(&record)));
                            }
                        }
                    }
                }
            };
            all += process.memory.take(&self.kinds, BATCH, &mut add);
            if unknown.is_empty() {
                continue;
            }
            // Of probes that were reached just now.
            process.learn(&self.metrics);
            for record in unknown {
                for metric in process
                    .meant
                    .get(&(record.kind, record.id))
                    .into_iter()
                    .flatten()
                {
                    self.gathered[*metric].add(place, &record, window, was_off);
                }
            }
        }
        all
    }

    /// Takes all that is there, but not for ever what comes meanwhile.
    fn drain(&mut self, end_ns: u64) {
        let begin = Instant::now();
        while self.turn(end_ns) > 0 && begin.elapsed() < Duration::from_secs(5) {}
    }

    fn collected(mut self, seconds: f64) -> Collected {
        let mut collected = Collected {
            notes: std::mem::take(&mut self.finder.objections),
            ..Collected::default()
        };
        for (place, name) in self.names.iter().enumerate() {
            let number = match self.objection(place) {
                Some(what) => Err(format!("the metric `{name}` could not be measured: {what}")),
                None => self.gathered[place].number(seconds).ok_or_else(|| {
                    format!("the metric `{name}` could not be measured: its probe made no record")
                }),
            };
            collected.numbers.insert(name.clone(), number);
        }
        for kind in &self.kinds {
            collected.notes.extend(self.losses(*kind));
        }
        let refused = |process: &Process| process.memory.refused().saturating_sub(process.refused);
        let refused: u64 = self.processes.iter().map(refused).sum();
        if refused > 0 {
            collected.notes.push(format!(
                "{refused} records of probes were refused, as too many threads had some"
            ));
        }
        collected
    }

    /// Why there can be no number of a metric.
    fn objection(&self, place: usize) -> Option<String> {
        let metric = &self.metrics[place];
        let kind = metric.kind;
        let is_it = |probe: &Probe| probe.written != 0 && is_meant(metric, probe);
        let reached = |process: &&Process| process.table.iter().any(is_it);
        let Some(process) = self.processes.iter().find(reached) else {
            let probe = match &metric.probe {
                ProbeName::Id(id) => format!("{} {id}", kind.name()),
                ProbeName::Name(name) => format!("{} `{name}`", kind.name()),
            };
            if self.processes.is_empty() {
                return Some("no process of the trial has probes".to_owned());
            }
            let others = self.processes.iter().flat_map(|process| &process.table);
            let others: BTreeSet<String> = others
                .filter(|probe| probe.written != 0)
                .map(|probe| format!("{} {} `{}`", probe.kind.name(), probe.id, probe.name))
                .take(20)
                .collect();
            let others = others.into_iter().collect::<Vec<_>>().join(", ");
            return Some(match others.is_empty() {
                true => format!("no process reached a probe {probe}, nor any other"),
                false => format!("no process reached a probe {probe}; reached were {others}"),
            });
        };
        let errno = process.memory.unavailable(kind);
        (errno != 0).then(|| {
            let cause = io::Error::from_raw_os_error(errno as i32);
            format!("{} is not available here: {cause}", kind.name())
        })
    }

    /// How many executions can be missing at most where so many records of a kind with totals were lost. Where several
    /// probes are of this kind, any of them may be the one that lacks them.
    fn lacking(&self, kind: ProbeKind, lost: u64) -> u64 {
        let of_kind = || (0..self.names.len()).filter(|place| self.metrics[*place].kind == kind);
        let every = |place: usize| {
            let probes = self.processes.iter().flat_map(|process| &process.table);
            let meant = probes.filter(|probe| is_meant(&self.metrics[place], probe));
            let every = meant.map(|probe| match probe.every {
                0 | u32::MAX => probe.written,
                every => every,
            });
            u64::from(every.max().unwrap_or(1).max(1))
        };
        let made_up = of_kind().map(|place| self.gathered[place].made_up() / every(place));
        let lost = lost.saturating_sub(made_up.max().unwrap_or(0));
        lost.saturating_mul(of_kind().map(every).max().unwrap_or(1))
    }

    /// What of a kind was lost.
    fn losses(&self, kind: ProbeKind) -> Option<String> {
        let (mut lost, mut stored) = (0, 0);
        for process in &self.processes {
            if let Some((before, taken)) = process.counts.get(&kind) {
                let after = process.memory.counts(kind);
                let since = after.published.saturating_sub(*before);
                stored += since;
                lost += since.saturating_sub(*taken).saturating_sub(after.waiting);
            }
        }
        let of_kind = (0..self.names.len()).filter(|place| self.metrics[*place].kind == kind);
        let names: Vec<String> = of_kind
            .map(|place| format!("`{}`", self.names[place]))
            .collect();
        let (names, kind_name) = (names.join(", "), kind.name());
        (lost > 0).then(|| {
            let what = match (kind.has_totals(), self.lacking(kind, lost)) {
                (false, _) => "it is of the others".to_owned(),
                (true, 0) => "totals make up for them".to_owned(),
                (true, most) => format!(
                    "totals make up for them, but for what threads did last: up to {most} executions are missing"
                ),
            };
            format!("{names}: {lost} of {stored} records of {kind_name} probes were lost; {what}")
        })
    }
}

impl Process {
    /// Which probes there are by now, and which metrics are about them.
    fn learn(&mut self, metrics: &[ProbeMetric]) {
        self.table = self.memory.probes();
        // What has no name yet may turn out to be meant; until then it makes no record.
        for probe in self.table.iter().filter(|probe| probe.written != 0) {
            let of_it = (0..metrics.len()).filter(|place| is_meant(&metrics[*place], probe));
            self.meant.insert((probe.kind, probe.id), of_it.collect());
        }
    }

    /// Notes what there is before records count.
    fn begin(&mut self, kinds: &[ProbeKind]) {
        for kind in kinds {
            let before = match self.is_new {
                true => 0,
                false => self.memory.counts(*kind).published,
            };
            self.counts.insert(*kind, (before, 0));
        }
        self.refused = if self.is_new {
            0
        } else {
            self.memory.refused()
        };
    }

    /// Switches what metrics are about on, as they want it, or off.
    fn switch(&self, metrics: &[ProbeMetric], on: bool, is_users: bool) {
        if is_users && !on {
            return;
        }
        let every = |metric: &ProbeMetric| match on {
            true => metric.every.unwrap_or(u32::MAX),
            false => 0,
        };
        let mut by_name = BTreeMap::new();
        for metric in metrics {
            match metric.probe {
                ProbeName::Id(id) => {
                    self.memory.switch(metric.kind, id, every(metric));
                }
                // Whatever is reached later may be the one.
                ProbeName::Name(_) => {
                    let known = by_name.entry(metric.kind).or_insert(every(metric));
                    *known = every(metric).min(*known);
                }
            }
        }
        for (kind, every) in &by_name {
            self.memory.switch_later_ones(*kind, *every);
        }
        for probe in self.table.iter().filter(|probe| probe.written != 0) {
            let meant = metrics.iter().find(|metric| is_meant(metric, probe));
            match meant {
                Some(metric) => {
                    self.memory.switch(probe.kind, probe.id, every(metric));
                }
                None if by_name.contains_key(&probe.kind) && !is_users => {
                    self.memory.switch(probe.kind, probe.id, 0);
                }
                None => {}
            }
        }
    }
}

fn is_meant(metric: &ProbeMetric, probe: &Probe) -> bool {
    metric.kind == probe.kind
        && match &metric.probe {
            ProbeName::Id(id) => *id == probe.id,
            ProbeName::Name(name) => probe.written != 0 && *name == probe.name,
        }
}
