//! What was opened, with everything that is computed from it in the background.

use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use serde_json::Value;
use slowpath_engine::{Cancelled, Options, Outcome};
use slowpath_kernel::{Extent, count, cpu, io, latency};
use slowpath_model::{Diagnostic, HostId, TimeRange, Timestamp};
use slowpath_requests::Operations;
use slowpath_services::{Limits, Order, Report, SurveyOptions, survey};
use slowpath_session::{
    Experiment, HistoryError, HostKernels, OpenedHistory, RecordedRequests, SPANS_SPILLED,
    span_traces,
};
use slowpath_source::Joined;
use slowpath_transfers::Report as TransfersReport;
use slowpath_views::{
    Clocks, EventIndex, Found, HostMoved, OperationName, RequestNumbers, Rows, StoreHops,
    StoreRows, StoreTables, TraceClocks, diagnose, merge_documents, store_hops, store_tables,
};

use crate::exploration::Explored;
use crate::jobs::{JobReport, NotThere, Part, Unmade};

/// The kinds of latency by the names that the command line has for them.
pub(crate) const LATENCIES: [(&str, &str, latency::LatencyKind); 5] = [
    ("syscall", "latency-syscall", latency::LatencyKind::Syscall),
    ("irq", "latency-irq", latency::LatencyKind::Irq),
    ("softirq", "latency-softirq", latency::LatencyKind::Softirq),
    ("block", "latency-block", latency::LatencyKind::Block),
    ("wakeup", "latency-wakeup", latency::LatencyKind::Wakeup),
];

/// So many of the slowest commands are told.
const SLOWEST_COMMANDS: usize = 200;

/// The state history and its rows.
pub(crate) struct HistoryPart {
    pub(crate) opened: OpenedHistory,
    pub(crate) rows: Rows,
}

/// The state history of data stores and its rows.
pub(crate) struct StoreHistoryPart {
    pub(crate) opened: OpenedHistory,
    pub(crate) rows: StoreRows,
}

/// What data stores did for their clients.
pub(crate) struct StorePart {
    /// Of all hosts as one.
    pub(crate) document: Value,
    /// By host.
    pub(crate) hosts: Vec<(String, StoreTables)>,
}

/// The requests.
pub(crate) struct RequestsPart {
    pub(crate) recorded: RecordedRequests,
    pub(crate) numbers: RequestNumbers,
    pub(crate) diagnostics: Vec<Diagnostic>,
}

/// What was read and written.
pub(crate) struct IoPart {
    pub(crate) document: Value,
    pub(crate) over_time: Vec<HostMoved>,
}

/// A recording, or several as one, that is looked at.
pub struct Recording {
    pub(crate) experiment: Experiment,
    pub(crate) name: String,
    /// How times are shown, and the time that is; of several hosts known with their requests.
    clocks: OnceLock<(Clocks, TimeRange)>,
    /// What was explored, if that was opened.
    pub(crate) exploration: Option<Explored>,
    jobs: NonZeroUsize,
    cancel: AtomicBool,
    wanted: Mutex<Option<Sender<Job>>>,
    pub(crate) history: Part<HistoryPart>,
    pub(crate) requests: Part<RequestsPart>,
    pub(crate) findings: Part<Found>,
    pub(crate) operations: Part<Operations<OperationName>>,
    pub(crate) services: Part<Report>,
    pub(crate) event_index: Part<EventIndex>,
    pub(crate) store: Part<StorePart>,
    pub(crate) store_history: Part<StoreHistoryPart>,
    pub(crate) store_hops: Part<Vec<StoreHops>>,
    pub(crate) transfers: Part<TransfersReport>,
    pub(crate) count: Part<Value>,
    pub(crate) cpu: Part<Value>,
    pub(crate) io: Part<IoPart>,
    pub(crate) latencies: [Part<Value>; LATENCIES.len()],
}

/// What can be made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Job {
    /// The history, if it is in the cache.
    KeptHistory,
    History,
    Requests,
    Findings,
    Operations,
    Services,
    EventIndex,
    Store,
    StoreHistory,
    StoreHops,
    Transfers,
    Count,
    Cpu,
    Io,
    Latency(usize),
}

impl Recording {
    /// Makes an experiment ready to be looked at; so many workers compute. Nothing is computed before
    /// [`Self::start`].
    pub fn new(experiment: Experiment, jobs: NonZeroUsize) -> Self {
        let clocks = OnceLock::new();
        if experiment.hosts().len() < 2 {
            let ranges = ranges_of(&experiment);
            let range = ranges.into_iter().flatten().reduce(TimeRange::hull);
            let range =
                range.unwrap_or(TimeRange::new(Timestamp::from_ns(0), Timestamp::from_ns(0)));
            // Nobody else knows of it yet.
            let _ = clocks.set((Clocks::one(range.begin), range));
        }
        let names = experiment.paths.iter().map(|path| {
            let full = path.canonicalize().unwrap_or_else(|_| path.clone());
            let name = full.file_name().map(PathBuf::from).unwrap_or(full);
            name.display().to_string()
        });
        Self {
            name: names.collect::<Vec<_>>().join(", "),
            clocks,
            exploration: None,
            jobs,
            cancel: AtomicBool::new(false),
            wanted: Mutex::new(None),
            history: Part::new("history"),
            requests: Part::new("requests"),
            findings: Part::new("findings"),
            operations: Part::new("operations"),
            services: Part::new("services"),
            event_index: Part::new("event-index"),
            store: Part::new("store"),
            store_history: Part::new("store-history"),
            store_hops: Part::new("store-hops"),
            transfers: Part::new("transfers"),
            count: Part::new("count"),
            cpu: Part::new("cpu"),
            io: Part::new("io"),
            latencies: LATENCIES.map(|(_, name, _)| Part::new(name)),
            experiment,
        }
    }

    /// Shows the exploration in this folder, too.
    pub fn with_exploration(self, folder: PathBuf) -> Self {
        Self {
            exploration: Some(Explored::in_folder(folder)),
            ..self
        }
    }

    /// Begins to compute in the background what every view needs.
    pub fn start(self: &Arc<Self>) {
        let (sender, receiver) = channel();
        *self.wanted.lock().unwrap_or_else(PoisonError::into_inner) = Some(sender);
        let recording = Arc::clone(self);
        std::thread::spawn(move || recording.work(receiver));
        self.queue(Job::KeptHistory);
        let of_every_view = [
            Job::Requests,
            Job::History,
            Job::Findings,
            Job::Operations,
            Job::EventIndex,
        ];
        for job in of_every_view {
            self.want(job);
        }
    }

    /// Ends what is being computed.
    pub fn stop(&self) {
        self.cancel.store(true, Ordering::Relaxed);
        *self.wanted.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }

    /// Sees to it that a part will be made.
    pub(crate) fn want(&self, job: Job) {
        let is_new = match job {
            Job::KeptHistory => true,
            Job::History => self.history.want(),
            Job::Requests => self.requests.want(),
            Job::Findings => self.findings.want(),
            Job::Operations => self.operations.want(),
            Job::Services => self.services.want(),
            Job::EventIndex => self.event_index.want(),
            Job::Store => self.store.want(),
            Job::StoreHistory => self.store_history.want(),
            Job::StoreHops => self.store_hops.want(),
            Job::Transfers => self.transfers.want(),
            Job::Count => self.count.want(),
            Job::Cpu => self.cpu.want(),
            Job::Io => self.io.want(),
            Job::Latency(kind) => self.latencies[kind].want(),
        };
        if is_new {
            self.queue(job);
        }
    }

    fn queue(&self, job: Job) {
        let sender = self.wanted.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(sender) = &*sender {
            // Nobody works any more where the server goes down.
            let _ = sender.send(job);
        }
    }

    fn work(&self, receiver: Receiver<Job>) {
        for job in receiver {
            if self.cancel.load(Ordering::Relaxed) {
                return;
            }
            match job {
                Job::KeptHistory => self.open_history(),
                Job::History => self.history.make(|_| self.make_history()),
                Job::Requests => self.requests.make(|progress| self.make_requests(progress)),
                Job::Findings => self.findings.make(|progress| self.make_findings(progress)),
                Job::Operations => self
                    .operations
                    .make(|progress| self.make_operations(progress)),
                Job::Services => self.services.make(|progress| self.make_services(progress)),
                Job::EventIndex => self.event_index.make(|progress| {
                    let clocks = self.trace_clocks().map_err(without_requests)?;
                    let options = self.options(progress);
                    EventIndex::of(&self.experiment, clocks, &options).map_err(cancelled)
                }),
                Job::Store => self.store.make(|progress| self.make_store(progress)),
                Job::StoreHistory => self
                    .store_history
                    .make(|progress| self.make_store_history(progress)),
                Job::StoreHops => self
                    .store_hops
                    .make(|progress| self.make_store_hops(progress)),
                Job::Transfers => self
                    .transfers
                    .make(|progress| self.make_transfers(progress)),
                Job::Count => self.count.make(|progress| self.make_count(progress)),
                Job::Cpu => self.cpu.make(|progress| {
                    let cpu = |host: &HostKernels<'_>, options: &Options<'_>| {
                        cpu::cpu(host.source(), options)
                    };
                    as_document(&self.on_hosts(progress, cpu)?)
                }),
                Job::Io => self.io.make(|progress| self.make_io(progress)),
                Job::Latency(kind) => self.latencies[kind].make(|progress| {
                    let latency = |host: &HostKernels<'_>, options: &Options<'_>| {
                        host.latency(LATENCIES[kind].2, options)
                    };
                    as_document(&self.on_hosts(progress, latency)?)
                }),
            }
        }
    }

    /// How far everything is.
    pub(crate) fn progress(&self) -> Vec<JobReport> {
        let mut reports = vec![
            self.history.report(),
            self.requests.report(),
            self.findings.report(),
            self.operations.report(),
            self.services.report(),
            self.event_index.report(),
            self.store.report(),
            self.store_history.report(),
            self.store_hops.report(),
            self.transfers.report(),
            self.count.report(),
            self.cpu.report(),
            self.io.report(),
        ];
        reports.extend(self.latencies.iter().map(Part::report));
        reports
    }

    fn options<'run>(&'run self, progress: &'run (dyn Fn(u64, u64) + Sync)) -> Options<'run> {
        Options {
            progress: Some(progress),
            cancel: Some(&self.cancel),
            ..Options::new(self.jobs)
        }
    }

    /// The host of that name; the first one where only data stores are known.
    pub(crate) fn host_named(&self, name: &str) -> HostId {
        let position = self.host_names().iter().position(|known| known == name);
        HostId(position.unwrap_or(0) as u32)
    }

    fn host_names(&self) -> Vec<String> {
        self.experiment
            .hosts()
            .into_iter()
            .map(|host| host.name)
            .collect()
    }

    /// How times are shown.
    pub(crate) fn clocks(&self) -> Result<&Clocks, NotThere> {
        self.shown().map(|(clocks, _)| clocks)
    }

    /// The time of the recording, by the first host's clock.
    pub(crate) fn range(&self) -> Result<TimeRange, NotThere> {
        self.shown().map(|(_, range)| *range)
    }

    fn shown(&self) -> Result<&(Clocks, TimeRange), NotThere> {
        match (self.clocks.get(), self.requests.get()) {
            (Some(known), _) => Ok(known),
            (None, Err(not_there)) => Err(not_there),
            (None, Ok(_)) => Err(NotThere::Failed("the clocks are not known".to_owned())),
        }
    }

    /// How times of traces are shown.
    pub(crate) fn trace_clocks(&self) -> Result<TraceClocks, NotThere> {
        Ok(TraceClocks::of(
            self.clocks()?,
            &self.experiment.hosts_of_traces(),
        ))
    }

    fn history_part(&self, opened: OpenedHistory) -> Result<HistoryPart, Unmade> {
        if opened.history.is_empty() {
            return Err(NO_THREADS.to_owned().into());
        }
        let clocks = self.clocks().map_err(without_requests)?;
        let rows = Rows::of(&opened.history, &self.host_names(), clocks.clone());
        Ok(HistoryPart { opened, rows })
    }

    /// Without the requests, so at once; of several hosts they are needed for the clocks.
    fn open_history(&self) {
        if self.clocks.get().is_some()
            && let Some(opened) = self.experiment.kept_history()
        {
            self.history.make(|_| self.history_part(opened));
        }
    }

    fn make_history(&self) -> Result<HistoryPart, Unmade> {
        let requests = self.requests.get().map_err(without_requests)?;
        let opened = match self.experiment.kept_history() {
            Some(opened) => opened,
            None => (self.experiment)
                .build_history(&requests.recorded, requests.diagnostics.clone(), self.jobs)
                .map_err(|error| error.to_string())?,
        };
        self.history_part(opened)
    }

    fn make_requests(&self, progress: &(dyn Fn(u64, u64) + Sync)) -> Result<RequestsPart, Unmade> {
        let (recorded, diagnostics) = (self.experiment)
            .requests(&self.options(progress))
            .map_err(cancelled)?;
        let known = self.clocks.get_or_init(|| {
            let mut ranges = ranges_of(&self.experiment);
            // Hosts of which nothing but spans is known.
            ranges.resize(recorded.hosts.len(), None);
            Clocks::of(&recorded.network, &ranges)
        });
        Ok(RequestsPart {
            numbers: RequestNumbers::of(&recorded, known.0.clone()),
            recorded,
            diagnostics,
        })
    }

    fn make_findings(&self, progress: &(dyn Fn(u64, u64) + Sync)) -> Result<Found, Unmade> {
        let requests = self.requests.get().map_err(without_requests)?;
        let options = self.options(progress);
        diagnose(
            &self.experiment,
            &requests.recorded,
            &requests.diagnostics,
            TimeRange::ALL,
            &|_, _| true,
            &options,
        )
        .map_err(cancelled)
    }

    fn make_operations(
        &self,
        progress: &(dyn Fn(u64, u64) + Sync),
    ) -> Result<Operations<OperationName>, Unmade> {
        let requests = self.requests.get().map_err(without_requests)?;
        let all = requests.recorded.all();
        let numbers = 0..requests.numbers.len();
        let chosen: Vec<_> = numbers
            .clone()
            .filter_map(|number| requests.numbers.get(number))
            .collect();
        let names = numbers.zip(&chosen).map(|(number, of)| {
            let duration = all.get(*of).duration();
            (requests.numbers.name(number).clone(), duration)
        });
        let mut operations = Operations::of(names);
        let total = chosen.len() as u64;
        all.for_each_summary(&chosen, self.jobs, |position, summary| {
            operations.add(position, &summary);
            progress(position as u64 + 1, total);
            match self.cancel.load(Ordering::Relaxed) {
                true => Err(Unmade::Cancelled),
                false => Ok(()),
            }
        })?;
        Ok(operations)
    }

    fn make_services(&self, progress: &(dyn Fn(u64, u64) + Sync)) -> Result<Report, Unmade> {
        let files = self.experiment.span_files();
        if files.is_empty() {
            return Err(NO_SPAN_FILES.to_owned().into());
        }
        let spilled = |error: std::io::Error| format!("{SPANS_SPILLED}: {error}");
        let (traces, _) =
            span_traces(files, &|_| true, None, self.jobs, progress).map_err(spilled)?;
        let options = SurveyOptions {
            limits: Limits::default(),
            jobs: self.jobs,
            progress: &|_| (),
        };
        let summary = survey(traces, options).map_err(spilled)?;
        Ok(Report::new(&summary, Order::default(), 0))
    }

    fn make_store(&self, progress: &(dyn Fn(u64, u64) + Sync)) -> Result<StorePart, Unmade> {
        let clocks = self.clocks().map_err(without_requests)?;
        let options = self.options(progress);
        let told = store_tables(&self.experiment, clocks, SLOWEST_COMMANDS, &options);
        let told = told.map_err(cancelled)?;
        if told.is_empty() {
            return Err(NO_STORE.to_owned().into());
        }
        let lost: u64 = told.iter().map(|(_, tables)| tables.lost).sum();
        let documents: Result<Vec<_>, Unmade> = (told.iter())
            .map(|(host, tables)| Ok((host.as_str(), as_json(tables)?)))
            .collect();
        let mut document = merge_documents(documents?);
        document["lost"] = lost.into();
        Ok(StorePart {
            document,
            hosts: told,
        })
    }

    fn make_store_history(
        &self,
        progress: &(dyn Fn(u64, u64) + Sync),
    ) -> Result<StoreHistoryPart, Unmade> {
        let clocks = self.clocks().map_err(without_requests)?;
        let opened = (self.experiment).store_history(&self.options(progress));
        let opened = opened.map_err(|error| match error {
            HistoryError::Cancelled => Unmade::Cancelled,
            other => Unmade::Failed(other.to_string()),
        })?;
        let opened = opened.ok_or_else(|| NO_STORE.to_owned())?;
        let stores = self.experiment.stores().into_iter();
        let stores: Vec<String> = stores.map(|host| host.name).collect();
        let hosts = self.host_names();
        let rows = StoreRows::of(&opened.history, &hosts, &stores, clocks.clone());
        Ok(StoreHistoryPart { opened, rows })
    }

    /// One by one only where there are any.
    fn make_store_hops(
        &self,
        progress: &(dyn Fn(u64, u64) + Sync),
    ) -> Result<Vec<StoreHops>, Unmade> {
        if let Ok(tables) = self.store.get()
            && tables
                .hosts
                .iter()
                .all(|(_, tables)| tables.hops.is_empty())
        {
            return Ok(Vec::new());
        }
        store_hops(&self.experiment, &self.options(progress)).map_err(cancelled)
    }

    fn make_transfers(
        &self,
        progress: &(dyn Fn(u64, u64) + Sync),
    ) -> Result<TransfersReport, Unmade> {
        let recorded = self.experiment.transfers();
        if recorded.reports().is_empty() {
            return Err(NO_REPORTS.to_owned().into());
        }
        let report = recorded.report(0, self.jobs, progress);
        let (report, _) = report.map_err(|error| format!("{SPANS_SPILLED}: {error}"))?;
        Ok(report)
    }

    fn make_count(&self, progress: &(dyn Fn(u64, u64) + Sync)) -> Result<Value, Unmade> {
        let traces = self.experiment.traces.iter();
        let joined = Joined::new(traces.map(|trace| &*trace.source));
        let options = self.options(progress);
        let counted = count::count(&joined, count::CountBy::Event, &options).map_err(cancelled)?;
        as_json(&counted.state.unwrap_or_default())
    }

    fn make_io(&self, progress: &(dyn Fn(u64, u64) + Sync)) -> Result<IoPart, Unmade> {
        let mut reports = self.on_hosts(progress, |host, options| {
            io::io(host.source(), &host.known(), options)
        })?;
        Ok(IoPart {
            document: as_document(&reports)?,
            over_time: (reports.iter_mut())
                .map(|of| HostMoved {
                    host: of.host,
                    recorded: TimeRange::new(
                        Timestamp::from_ns(of.report.begin_ns),
                        Timestamp::from_ns(of.report.end_ns),
                    ),
                    moved: std::mem::take(&mut of.report.over_time),
                })
                .collect(),
        })
    }

    /// An analysis of kernel events on every host.
    fn on_hosts<R>(
        &self,
        progress: &(dyn Fn(u64, u64) + Sync),
        analysis: impl Fn(&HostKernels<'_>, &Options<'_>) -> Result<Outcome<R>, Cancelled>,
    ) -> Result<Vec<OfHost<R>>, Unmade> {
        let hosts = self.experiment.hosts();
        if hosts.is_empty() {
            return Err(NO_THREADS.to_owned().into());
        }
        let options = self.options(progress);
        let mut reports = Vec::new();
        for (host, number) in hosts.iter().zip(0..) {
            let found = analysis(host, &options).map_err(cancelled)?;
            reports.extend(found.state.map(|report| OfHost {
                host: HostId(number),
                name: host.name.clone(),
                report,
            }));
        }
        Ok(reports)
    }
}

/// What an analysis tells of a host.
struct OfHost<R> {
    host: HostId,
    name: String,
    report: R,
}

fn as_document<R: serde::Serialize>(reports: &[OfHost<R>]) -> Result<Value, Unmade> {
    let documents: Result<Vec<_>, Unmade> = (reports.iter())
        .map(|of| Ok((of.name.as_str(), as_json(&of.report)?)))
        .collect();
    Ok(merge_documents(documents?))
}

/// When each host was recorded, by its own clock: from its first event to its last.
fn ranges_of(experiment: &Experiment) -> Vec<Option<TimeRange>> {
    let mut ranges = vec![None; experiment.hosts().len().max(1)];
    for (trace, host) in experiment.traces.iter().zip(experiment.hosts_of_traces()) {
        let bounds = Extent::of(&*trace.source).bounds;
        if let Some((first, last)) = bounds {
            let range = TimeRange::new(first, last);
            let known = &mut ranges[host.unwrap_or(0)];
            *known = Some(known.map_or(range, |known: TimeRange| known.hull(range)));
        }
    }
    ranges
}

const NO_REQUESTS: &str = "the requests could not be read";
const NO_THREADS: &str = "no kernel events were recorded, so nothing tells what threads did\n  hint: \
     `slowpath record` records them where it has the rights";
const NO_STORE: &str =
    "no data store was recorded from inside\n  hint: `slowpath record --redis PID` records Redis";
const NO_REPORTS: &str = "no agent for Java told what programs receive\n  hint: its report may be opened alone or \
     together with a recording";
const NO_SPAN_FILES: &str = "no spans were recorded\n  hint: applications send theirs to the recorder by \
     OTLP; files of Jaeger or OTLP spans can be opened too";

fn without_requests(not_there: NotThere) -> Unmade {
    match not_there {
        NotThere::Cancelled => Unmade::Cancelled,
        _ => Unmade::Failed(NO_REQUESTS.to_owned()),
    }
}

fn cancelled(_: Cancelled) -> Unmade {
    Unmade::Cancelled
}

fn as_json(report: &impl serde::Serialize) -> Result<Value, Unmade> {
    serde_json::to_value(report).map_err(|error| error.to_string().into())
}
