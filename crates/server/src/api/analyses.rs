//! What is found out about the whole recording: findings, services, and the analyses of `slowpath cpu`
//! and its like. Asked for the first time, an analysis begins.

use axum::extract::{Path, State};
use serde::Deserialize;
use serde_json::json;
use slowpath_views::{Clocks, FindingOfHost};

use super::{Answer, Asked, asked};
use crate::problem::Problem;
use crate::recording::{Job, LATENCIES, RequestsPart};
use crate::serve::Shared;

pub(super) async fn findings(State(shared): State<Shared>) -> Result<Answer, Problem> {
    shared
        .answer(|recording| {
            let requests = recording.requests.get()?;
            let findings = recording.findings.get()?;
            let clocks = recording.clocks()?;
            let rows = findings.iter().map(|found| row(clocks, &requests, found));
            Answer::of(&json!({
                "findings": rows.collect::<Vec<_>>(),
                "requests": requests.numbers.len(),
            }))
        })
        .await
}

fn row(clocks: &Clocks, requests: &RequestsPart, found: &FindingOfHost) -> serde_json::Value {
    let (origin, finding) = (clocks.of_host(found.id), &found.finding);
    let evidence = finding.evidence.iter().map(|evidence| {
        let request = evidence.request.and_then(|key| {
            let host = requests.recorded.hosts.get(found.id.index())?;
            let (request, _) = host
                .requests
                .ids()
                .find(|(_, request)| request.key == key)?;
            Some(requests.numbers.number(slowpath_requests::RequestOfHost {
                host: found.id,
                request,
            }))
        });
        json!({
            "text": evidence.text,
            "begin_ns": evidence.range.map(|range| origin.offset(range.begin)),
            "end_ns": evidence.range.map(|range| origin.offset(range.end)),
            "tid": evidence.thread,
            "request": request,
        })
    });
    json!({
        "host": found.id,
        "id": finding.id,
        "severity": finding.severity,
        "title": finding.title,
        "explanation": finding.explanation,
        "advice": finding.advice,
        "share": (finding.share * 1e4).round() / 1e4,
        "begin_ns": origin.offset(finding.range.begin),
        "end_ns": origin.offset(finding.range.end),
        "evidence": evidence.collect::<Vec<_>>(),
    })
}

pub(super) async fn services(State(shared): State<Shared>) -> Result<Answer, Problem> {
    shared
        .answer(|recording| {
            recording.want(Job::Services);
            Answer::of(&*recording.services.get()?)
        })
        .await
}

#[derive(Deserialize)]
pub(super) struct AnalysisAsked {
    #[serde(default = "syscall")]
    kind: String,
}

fn syscall() -> String {
    "syscall".to_owned()
}

pub(super) async fn analysis(
    State(shared): State<Shared>,
    Path(name): Path<String>,
    question: Asked<AnalysisAsked>,
) -> Result<Answer, Problem> {
    let question = asked(question)?;
    shared
        .answer(move |recording| {
            let (job, part) = match name.as_str() {
                "count" => (Job::Count, &recording.count),
                "cpu" => (Job::Cpu, &recording.cpu),
                "io" => (Job::Io, &recording.io),
                "latency" => {
                    let kind = LATENCIES
                        .iter()
                        .position(|(kind, ..)| *kind == question.kind);
                    let kinds: Vec<&str> = LATENCIES.iter().map(|(kind, ..)| *kind).collect();
                    let bad = || {
                        let kinds = kinds.join(", ");
                        Problem::Bad(format!("there is no such kind of latency\n  hint: {kinds}"))
                    };
                    let kind = kind.ok_or_else(bad)?;
                    (Job::Latency(kind), &recording.latencies[kind])
                }
                _ => {
                    let text = "there is no such analysis\n  hint: count, cpu, io, latency";
                    return Err(Problem::Unknown(text.to_owned()));
                }
            };
            recording.want(job);
            Answer::of(&*part.get()?)
        })
        .await
}
