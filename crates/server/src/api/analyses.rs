//! What is found out about the whole recording: findings, services, and the analyses of `slowpath cpu`
//! and its like. Asked for the first time, an analysis begins.

use axum::extract::State;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use slowpath_findings::{Evidence, FindingId, Severity};
use slowpath_kernel::count::CountReport;
use slowpath_kernel::cpu::CpuReport;
use slowpath_kernel::io::IoReport;
use slowpath_kernel::latency::{LatencyKind, LatencyReport};
use slowpath_model::{HostId, ThreadId};
use slowpath_requests::RequestOfHost;
use slowpath_services::Report;
use slowpath_views::{FindingOfHost, Origin};
use utoipa::{IntoParams, ToSchema};

use super::exchange::{Answer, Asked};
use crate::description::{ANALYSES, FINDINGS};
use crate::jobs::{NotThere, Part};
use crate::problem::Problem;
use crate::recording::{Job, LATENCIES, Recording, RequestsPart};
use crate::serve::Shared;

/// What makes slow requests slow.
#[derive(Serialize, ToSchema)]
struct Findings {
    /// The most share of the slow requests' time first.
    findings: Vec<FindingAnswer>,
    /// How many requests were examined: the slow ones.
    examined: usize,
    /// How many others took as long, and are left out as the recording does not hold all of their time.
    left_out: usize,
    /// How many requests there are.
    requests: usize,
}

/// A cause of slow requests.
#[derive(Serialize, ToSchema)]
#[schema(as = Finding)]
struct FindingAnswer {
    /// Whose requests.
    host: HostId,
    /// Its kind.
    id: FindingId,
    /// How much it matters.
    severity: Severity,
    /// In a line.
    title: String,
    /// In a few sentences.
    explanation: String,
    /// What can be done.
    advice: String,
    /// The share of the slow requests' time that it touches, from 0 to 1; shares of several findings overlap.
    share: f64,
    /// Since when it was so.
    begin_ns: i64,
    /// Until when.
    end_ns: i64,
    /// What it rests on.
    evidence: Vec<EvidenceAnswer>,
}

/// What a finding rests on.
#[derive(Serialize, ToSchema)]
#[schema(as = Evidence)]
struct EvidenceAnswer {
    /// In words, with figures.
    text: String,
    /// What can be done about just this; most evidence has none.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    hint: Option<&'static str>,
    /// When; null where it is about no certain time.
    #[schema(required)]
    begin_ns: Option<i64>,
    /// Until when.
    #[schema(required)]
    end_ns: Option<i64>,
    /// The thread that it is about.
    #[schema(required)]
    tid: Option<ThreadId>,
    /// The number of a request in which it can be seen.
    #[schema(required)]
    request: Option<usize>,
}

/// What makes slow requests slow, as `slowpath diagnose` tells.
#[utoipa::path(get, path = "/findings", tag = FINDINGS,
    responses((status = OK, body = Findings), NotThere))]
pub(super) async fn findings(State(shared): State<Shared>) -> Result<Answer, Problem> {
    shared
        .answer(|recording| {
            let requests = recording.requests.get()?;
            let findings = recording.findings.get()?;
            let clocks = recording.clocks()?;
            let rows = findings
                .findings
                .iter()
                .map(|found| finding_answer(clocks.of_host(found.id), &requests, found));
            Answer::of(&Findings {
                findings: rows.collect(),
                examined: findings.examined,
                left_out: findings.left_out,
                requests: findings.requests,
            })
        })
        .await
}

fn finding_answer(origin: Origin, requests: &RequestsPart, found: &FindingOfHost) -> FindingAnswer {
    let finding = &found.finding;
    let evidence = finding.evidence.iter().map(|evidence| EvidenceAnswer {
        text: evidence.text.clone(),
        hint: evidence.hint,
        begin_ns: evidence.range.map(|range| origin.offset(range.begin)),
        end_ns: evidence.range.map(|range| origin.offset(range.end)),
        tid: evidence.thread,
        request: number_of_request(requests, found.id, evidence),
    });
    FindingAnswer {
        host: found.id,
        id: finding.id,
        severity: finding.severity,
        title: finding.title.clone(),
        explanation: finding.explanation.clone(),
        advice: finding.advice.clone(),
        share: (finding.share * 1e4).round() / 1e4,
        begin_ns: origin.offset(finding.range.begin),
        end_ns: origin.offset(finding.range.end),
        evidence: evidence.collect(),
    }
}

fn number_of_request(requests: &RequestsPart, id: HostId, evidence: &Evidence) -> Option<usize> {
    let key = evidence.request?;
    let host = requests.recorded.hosts.get(id.index())?;
    let mut of_host = host.requests.ids();
    let (request, _) = of_host.find(|(_, request)| request.key == key)?;
    let of = RequestOfHost { host: id, request };
    Some(requests.numbers.number(of))
}

/// Where services spend their requests' time, as `slowpath services` tells.
#[utoipa::path(get, path = "/services", tag = FINDINGS,
    responses((status = OK, body = Report), NotThere))]
pub(super) async fn services(State(shared): State<Shared>) -> Result<Answer, Problem> {
    shared
        .answer(|recording| {
            recording.want(Job::Services);
            Answer::of(&*recording.services.get()?)
        })
        .await
}

/// How many events of each name there are.
#[utoipa::path(get, path = "/analyses/count", tag = ANALYSES,
    responses((status = OK, body = CountReport), NotThere))]
pub(super) async fn count(State(shared): State<Shared>) -> Result<Answer, Problem> {
    analysis(shared, Job::Count, |recording| &recording.count).await
}

/// How busy processors were, and with which threads.
#[utoipa::path(get, path = "/analyses/cpu", tag = ANALYSES,
    responses((status = OK, body = CpuReport), NotThere))]
pub(super) async fn cpu(State(shared): State<Shared>) -> Result<Answer, Problem> {
    analysis(shared, Job::Cpu, |recording| &recording.cpu).await
}

/// What system calls read and wrote, by process and file.
#[utoipa::path(get, path = "/analyses/io", tag = ANALYSES,
    responses((status = OK, body = IoReport), NotThere))]
pub(super) async fn io(State(shared): State<Shared>) -> Result<Answer, Problem> {
    shared
        .answer(|recording| {
            recording.want(Job::Io);
            Answer::of(&recording.io.get()?.document)
        })
        .await
}

#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(super) struct LatencyAsked {
    /// What is measured.
    #[serde(default)]
    #[param(inline, default = "syscall")]
    kind: LatencyKind,
}

/// How long system calls, interrupts, disk requests or wake-ups took.
#[utoipa::path(get, path = "/analyses/latency", tag = ANALYSES, params(LatencyAsked),
    responses((status = OK, body = LatencyReport), NotThere))]
pub(super) async fn latency(
    State(shared): State<Shared>,
    Asked(question): Asked<LatencyAsked>,
) -> Result<Answer, Problem> {
    let kind = LATENCIES
        .iter()
        .position(|(.., kind)| *kind == question.kind);
    let kind = kind.ok_or_else(|| Problem::Broken("a latency that is not measured".to_owned()))?;
    analysis(shared, Job::Latency(kind), move |recording| {
        &recording.latencies[kind]
    })
    .await
}

async fn analysis(
    shared: Shared,
    job: Job,
    part: impl FnOnce(&Recording) -> &Part<Value> + Send + 'static,
) -> Result<Answer, Problem> {
    shared
        .answer(move |recording| {
            recording.want(job);
            Answer::of(&*part(recording).get()?)
        })
        .await
}
