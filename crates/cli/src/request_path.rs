//! `slowpath critical-path --span`: the paths of requests, down to the wake-ups.
//!
//! The same forms as for a thread's path: a time line and a summary for people, a JSON document per
//! path with the request's ids and, by segment, the other request that its thread works for.

use std::io::{self, BufWriter, Write};

use serde::Serialize;
use slowpath_critical_path::{Correction, CriticalPath, Links, Segment, Segments, State};
use slowpath_model::{SpanId, ThreadId, Timestamp, TraceId, shown};
use slowpath_requests::{RequestPath, SpanKey};

use crate::input::{self, InputArgs, Report};
use crate::output::finish;
use crate::requests::Chosen;

/// Writes the paths of the requests that are span `span`, or of all of `trace`.
///
/// # Errors
/// Where there is no such request.
pub(crate) fn run(
    input: &InputArgs,
    span: Option<SpanId>,
    trace: Option<TraceId>,
    json: bool,
) -> anyhow::Result<Report> {
    let experiment = input.open()?;
    let mut report = Report::begin(&experiment);
    let run = input.options();
    let (recorded, found) = input::requests(&experiment, &run)?;
    let (hosts, all) = (&recorded.hosts, recorded.all());
    report = report.with(found);
    let is_meant = |key: SpanKey| {
        span.is_none_or(|span| span == key.span) && trace.is_none_or(|trace| trace == key.trace)
    };
    let meant: Vec<Chosen<'_>> = Chosen::every(&recorded, &all)
        .filter(|chosen| is_meant(chosen.request().key))
        .collect();
    if meant.is_empty() {
        let why = "no such span was recorded\n  hint: `slowpath requests` lists spans";
        return Err(report.nothing(why.to_owned()));
    }
    let mut output = BufWriter::new(io::stdout().lock());
    let mut write = || {
        for (number, chosen) in meant.iter().enumerate() {
            let path = all.path(chosen.of);
            if json {
                let document = document(*chosen, &path, hosts.len() > 1);
                serde_json::to_writer(&mut output, &document)?;
                writeln!(output)?;
                continue;
            }
            if number > 0 {
                writeln!(output)?;
            }
            write_for_people(&mut output, *chosen, path, hosts.len() > 1)?;
        }
        output.flush()
    };
    let written = write();
    finish(written)?;
    Ok(report)
}

fn write_for_people(
    output: &mut impl Write,
    chosen: Chosen<'_>,
    path: RequestPath,
    several_hosts: bool,
) -> io::Result<()> {
    let blockers = path.blockers();
    let request = chosen.request();
    let SpanKey { trace, span } = request.key;
    writeln!(output, "Request {span} of trace {trace}")?;
    let service = request.service();
    if !service.is_empty() {
        writeln!(output, "{}: {}", shown(service), shown(request.operation()))?;
    }
    if several_hosts {
        writeln!(output, "host {}", shown(&chosen.host.name))?;
    }
    writeln!(output, "{}", with_others(chosen, path))?;
    for (other, length) in blockers {
        let other = chosen.all.described(other);
        writeln!(
            output,
            "For {length} of it, a thread that it needed worked or waited for {}.",
            shown(&other)
        )?;
    }
    Ok(())
}

/// The path with the request that a thread works for meanwhile told where it does, if that is another one.
fn with_others(chosen: Chosen<'_>, path: RequestPath) -> CriticalPath {
    let RequestPath { path, blocked_by } = path;
    let mut segments = Segments::default();
    for (mut segment, other) in path.segments.iter().zip(blocked_by) {
        // Where it serves this one, too, the state itself says so.
        let other = other.filter(|_| segment.state != State::BlockedByRequest);
        if let Some(other) = other {
            let other = chosen.all.described(other);
            let before = match segment.detail.is_empty() {
                true => String::new(),
                false => format!("{}, ", segment.detail),
            };
            segment.detail = format!("{before}for {other}").into();
        }
        segments.push(&segment);
    }
    CriticalPath { segments, ..path }
}

/// A request's path as a JSON document.
#[derive(Serialize)]
struct Document<'run> {
    #[serde(skip_serializing_if = "Option::is_none")]
    host: Option<&'run str>,
    trace_id: TraceId,
    span_id: SpanId,
    service: &'run str,
    operation: &'run str,
    tid: ThreadId,
    begin_ns: Timestamp,
    end_ns: Timestamp,
    segments: Vec<SegmentRow>,
    links: &'run Links,
    summary: std::collections::BTreeMap<&'static str, u64>,
    #[serde(skip_serializing_if = "<[Correction]>::is_empty")]
    corrections: &'run [Correction],
}

#[derive(Serialize)]
struct SegmentRow {
    #[serde(flatten)]
    segment: Segment,
    blocked_by: Option<Key>,
}

#[derive(Serialize)]
struct Key {
    trace_id: TraceId,
    span_id: SpanId,
}

fn document<'run>(
    chosen: Chosen<'run>,
    path: &'run RequestPath,
    several_hosts: bool,
) -> Document<'run> {
    let request = chosen.request();
    let key = |other: &Option<_>| {
        other.map(|other| {
            let SpanKey { trace, span } = chosen.all.get(other).key;
            Key {
                trace_id: trace,
                span_id: span,
            }
        })
    };
    let segments = path.path.segments.iter().zip(&path.blocked_by);
    let summary = path.path.summary().into_iter();
    Document {
        host: several_hosts.then_some(&chosen.host.name),
        trace_id: request.key.trace,
        span_id: request.key.span,
        service: request.service(),
        operation: request.operation(),
        tid: path.path.thread,
        begin_ns: path.path.window.begin,
        end_ns: path.path.window.end,
        segments: segments
            .map(|(segment, other)| SegmentRow {
                segment,
                blocked_by: key(other),
            })
            .collect(),
        corrections: &path.path.corrections,
        links: &path.path.links,
        summary: summary
            .map(|(state, length)| (state.name(), length.get()))
            .collect(),
    }
}
