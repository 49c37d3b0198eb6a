//! What was opened: its hosts and traces, what is wrong with them, and how far the analyses are.

use std::collections::BTreeSet;

use axum::extract::State;
use serde::Serialize;
use slowpath_critical_path::State as ThreadState;
use slowpath_kernel::Extent;
use slowpath_model::{CpuId, Diagnostic, HostId, Nanoseconds, Severity, TracerDomain};
use slowpath_session::OpenedSource;
use slowpath_views::Origin;
use utoipa::ToSchema;

use super::exchange::Answer;
use crate::description::RECORDING;
use crate::jobs::{JobReport, NotThere};
use crate::problem::Problem;
use crate::recording::Recording;
use crate::serve::Shared;

/// What was opened.
#[derive(Serialize, ToSchema)]
#[schema(as = Recording)]
pub(super) struct RecordingAnswer {
    /// What it is called: names of files and folders.
    name: String,
    /// What was given on the command line.
    paths: Vec<String>,
    /// Its begin, from which times are counted: nanoseconds since the Unix epoch as a decimal text, which
    /// may be more than a program's numbers hold exactly.
    origin_ns: String,
    /// How long it is.
    duration_ns: Nanoseconds,
    /// Its hosts; those with kernel events first.
    hosts: Vec<HostAnswer>,
    /// Its traces.
    traces: Vec<TraceAnswer>,
    /// How many files of spans were read; where there is none, there are no services to rank.
    span_files: usize,
    /// Whether a data store was recorded from inside.
    has_stores: bool,
    /// How many reports of transfers were read: what agents for Java told.
    transfer_reports: usize,
    /// Whether an exploration was opened.
    has_exploration: bool,
    /// What is wrong with what was opened.
    diagnostics: Vec<DiagnosticAnswer>,
    /// The version of slowpath that answers.
    version: &'static str,
    /// The states that screens and intervals give by number, in the order of these numbers.
    #[schema(value_type = Vec<ThreadState>)]
    states: [&'static str; ThreadState::ALL.len()],
}

/// A host.
#[derive(Serialize, ToSchema)]
#[schema(as = Host)]
struct HostAnswer {
    /// Its number, by which every other answer means it.
    id: HostId,
    /// Its name.
    name: String,
    /// Whether events of its kernel were recorded; nothing tells what threads did without.
    has_kernel: bool,
    /// Its processors, as far as its traces name them.
    cpus: BTreeSet<CpuId>,
}

/// A trace.
#[derive(Serialize, ToSchema)]
#[schema(as = Trace)]
struct TraceAnswer {
    /// Where it is.
    path: String,
    /// `CTF 1.8`, `CTF 2` or `ftrace`.
    format: &'static str,
    /// The tracer's name; empty where the trace does not say.
    tracer: String,
    /// The host's name as the trace has it; empty where it does not say.
    host: String,
    /// What was traced.
    kind: TraceKind,
    /// Its first event; null where it has none.
    #[schema(required)]
    begin_ns: Option<i64>,
    /// Its last event.
    #[schema(required)]
    end_ns: Option<i64>,
    /// How many packets it has.
    packets: usize,
    /// How many bytes its packets have.
    bytes: u64,
    /// How many events the tracer says it lost.
    lost_events: u64,
}

/// What a tracer traced.
#[derive(Serialize, ToSchema)]
enum TraceKind {
    #[serde(rename = "kernel")]
    Kernel,
    #[serde(rename = "user space")]
    UserSpace,
    #[serde(rename = "unknown")]
    Unknown,
}

/// Something that is wrong with what was opened.
#[derive(Serialize, ToSchema)]
#[schema(as = Diagnostic)]
struct DiagnosticAnswer {
    /// Its kind.
    code: &'static str,
    /// How bad it is.
    severity: Severity,
    /// What was found, with the offending value.
    message: String,
    /// How many things it is about, where that can be counted.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    count: Option<u64>,
    /// The file; empty where it is about none.
    file: String,
    /// What can be done about it.
    hint: &'static str,
}

impl From<&Diagnostic> for DiagnosticAnswer {
    fn from(diagnostic: &Diagnostic) -> Self {
        Self {
            code: diagnostic.code.name(),
            severity: diagnostic.code.severity(),
            message: diagnostic.message.clone(),
            count: diagnostic.count,
            file: diagnostic.place.file.clone(),
            hint: diagnostic.code.hint(),
        }
    }
}

/// What was recorded: hosts, traces, losses.
#[utoipa::path(get, path = "/recording", tag = RECORDING,
    responses((status = OK, body = RecordingAnswer), NotThere))]
pub(super) async fn recording(State(shared): State<Shared>) -> Result<Answer, Problem> {
    shared
        .answer(|recording| Answer::of(&described(recording)?))
        .await
}

fn described(recording: &Recording) -> Result<RecordingAnswer, Problem> {
    let (experiment, range) = (&recording.experiment, recording.range()?);
    let clocks = recording.trace_clocks()?;
    let hosts = experiment.hosts();
    let requests = recording.requests.get().ok();
    let with_kernel = hosts.iter().map(|host| {
        let packets = host.source().packets().iter();
        (
            host.name.clone(),
            packets.filter_map(|packet| packet.cpu).collect(),
        )
    });
    let mut known: Vec<HostAnswer> = (with_kernel.zip(0..))
        .map(|((name, cpus), id)| HostAnswer {
            id: HostId(id),
            name,
            has_kernel: true,
            cpus,
        })
        .collect();
    if let Some(requests) = &requests {
        let hosts = requests.recorded.hosts.iter().zip((0..).map(HostId));
        known.extend(hosts.skip(known.len()).map(|(host, id)| HostAnswer {
            id,
            name: host.name.clone(),
            has_kernel: false,
            cpus: BTreeSet::new(),
        }));
    }
    let traces = experiment.traces.iter().enumerate();
    let of_requests = requests.iter().flat_map(|requests| &requests.diagnostics);
    let diagnostics = experiment.opening_diagnostics().chain(of_requests);
    let paths = experiment.paths.iter();
    Ok(RecordingAnswer {
        name: recording.name.clone(),
        paths: paths.map(|path| path.display().to_string()).collect(),
        origin_ns: range.begin.ns().to_string(),
        duration_ns: range.length(),
        hosts: known,
        traces: traces
            .map(|(place, trace)| trace_answer(trace, clocks.of_trace(place)))
            .collect(),
        span_files: experiment.span_files().len(),
        has_stores: !experiment.stores().is_empty(),
        transfer_reports: experiment.transfers().reports().len(),
        has_exploration: recording.exploration.is_some(),
        diagnostics: diagnostics.map(DiagnosticAnswer::from).collect(),
        version: env!("CARGO_PKG_VERSION"),
        states: ThreadState::ALL.map(ThreadState::name),
    })
}

fn trace_answer(trace: &OpenedSource, origin: Origin) -> TraceAnswer {
    let (source, schema) = (&*trace.source, trace.source.schema());
    let bounds = Extent::of(source).bounds;
    let packets = source.packets();
    TraceAnswer {
        path: trace.path.display().to_string(),
        format: trace.format,
        tracer: schema.tracer.clone(),
        host: schema.host.clone(),
        kind: match schema.domain {
            TracerDomain::Kernel => TraceKind::Kernel,
            TracerDomain::User => TraceKind::UserSpace,
            TracerDomain::Unknown => TraceKind::Unknown,
        },
        begin_ns: bounds.map(|(begin, _)| origin.offset(begin)),
        end_ns: bounds.map(|(_, end)| origin.offset(end)),
        packets: packets.len(),
        bytes: packets.iter().map(|packet| packet.size).sum(),
        lost_events: packets.iter().map(|packet| packet.lost_events).sum(),
    }
}

/// How far the analyses are.
#[derive(Serialize, ToSchema)]
struct Progress {
    /// Every part of what can be asked for.
    jobs: Vec<JobReport>,
    /// Whether all that is wanted is over.
    done: bool,
}

/// How far the analyses are.
#[utoipa::path(get, path = "/progress", tag = RECORDING, responses((status = OK, body = Progress)))]
pub(super) async fn progress(State(shared): State<Shared>) -> Result<Answer, Problem> {
    let jobs = shared.recording.progress();
    let mut wanted = jobs.iter().filter(|job| job.wanted);
    let done = wanted.all(JobReport::is_over);
    Answer::of(&Progress { jobs, done })
}
