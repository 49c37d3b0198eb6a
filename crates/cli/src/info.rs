//! `slowpath info`: what a recording holds: its traces, and its files of spans.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::sync::Arc;

use clap::Args;
use serde_json::{Value, json};
use slowpath_engine::Cancelled;
use slowpath_kernel::Extent;
use slowpath_kernel::count::{CountBy, count};
use slowpath_model::{Diagnostic, TimeRange, Timestamp, TraceId, shown};
use slowpath_read_spans::{ReadOptions, Span, SpanSink};
use slowpath_session::{OpenedSource, SpanFile};
use slowpath_views::{bytes, grouped, number_of};

use crate::input::{InputArgs, Report, Run};
use crate::output::print;
use crate::output::print_json;
use crate::tables::moment;

/// Show what a recording holds: traces, time, events, losses, spans.
#[derive(Args)]
pub struct InfoArgs {
    #[command(flatten)]
    input: InputArgs,
    /// Print one JSON document.
    #[arg(long)]
    json: bool,
}

/// Runs the command.
pub fn run(args: &InfoArgs) -> anyhow::Result<Report> {
    let experiment = args.input.open_or_only_spans()?;
    let mut report = Report::begin(&experiment);
    let range = args.input.range(&experiment)?;
    let run = args.input.options();
    let mut documents = Vec::new();
    for trace in &experiment.traces {
        let (document, diagnostics) = describe(trace, &run, range)?;
        report = report.with(diagnostics);
        if !args.json {
            print(&as_text(&document))?;
        }
        documents.push(document);
    }
    let mut span_documents = Vec::new();
    for file in experiment.span_files() {
        let (document, diagnostics) = describe_spans(file);
        report = report.with(diagnostics);
        if !args.json {
            print(&spans_as_text(&document))?;
        }
        span_documents.push(document);
    }
    if args.json {
        print_json(&json!({ "traces": documents, "span_files": span_documents }))?;
    }
    Ok(report)
}

fn describe(
    trace: &OpenedSource,
    run: &Run,
    range: TimeRange,
) -> anyhow::Result<(Value, Vec<Diagnostic>)> {
    let source = &*trace.source;
    let schema = source.schema();
    let outcome = count(source, CountBy::None, &run.engine_in(range))
        .map_err(|Cancelled| anyhow::anyhow!("interrupted"))?;
    let counted = outcome.state.unwrap_or_default();
    let bounds = Extent::of(source)
        .bounds
        .map(|(first, last)| (first.max(range.begin), last.min(range.end)))
        .filter(|(begin, end)| begin <= end);
    let size: u64 = source.packets().iter().map(|packet| packet.size).sum();
    let streams: BTreeSet<_> = source.packets().iter().map(|one| one.stream).collect();
    let recording = trace.recording.as_ref().map(|(folder, manifest)| {
        json!({
            "path": folder.display().to_string(),
            "mode": manifest.mode,
            "command": manifest.command,
            "complete": manifest.complete,
            "ended_because": manifest.ended_because,
            "snapshots": (manifest.snapshots.iter())
                .filter(|snapshot| folder.join(snapshot).is_dir())
                .collect::<Vec<_>>(),
        })
    });
    let document = json!({
        "path": trace.path.display().to_string(),
        "later_parts": (trace.later_parts.iter())
            .map(|(path, _)| path.display().to_string())
            .collect::<Vec<_>>(),
        "format": trace.format,
        "tracer": schema.tracer,
        "tracer_version": schema.tracer_version,
        "domain": format!("{:?}", schema.domain).to_lowercase(),
        "host": schema.host,
        "begin_ns": bounds.map(|(begin, _)| begin.ns()),
        "end_ns": bounds.map(|(_, end)| end.ns()),
        "events": counted.events,
        "lost": counted.lost,
        "event_classes": schema.event_classes.len(),
        "packets": source.packets().len(),
        "streams": streams.len(),
        "bytes": size,
        "environment": schema.environment.iter().cloned().collect::<BTreeMap<_, _>>(),
        "recording": recording,
    });
    Ok((document, outcome.diagnostics))
}

/// What a file of spans holds, counted while it is read.
#[derive(Default)]
struct SpanCount {
    spans: u64,
    services: BTreeMap<Arc<str>, u64>,
    traces: HashSet<TraceId>,
    bounds: Option<(Timestamp, Timestamp)>,
    diagnostics: Vec<Diagnostic>,
}

impl SpanSink for SpanCount {
    fn span(&mut self, span: Span) {
        self.spans += 1;
        if span.has_times() {
            let (begin, end) = self.bounds.unwrap_or((span.begin, span.end));
            self.bounds = Some((begin.min(span.begin), end.max(span.end)));
        }
        self.traces.insert(span.trace);
        *self.services.entry(span.service).or_default() += 1;
    }

    fn diagnostic(&mut self, diagnostic: Diagnostic) {
        self.diagnostics.push(diagnostic);
    }
}

fn describe_spans(file: &SpanFile) -> (Value, Vec<Diagnostic>) {
    let mut count = SpanCount::default();
    file.read(ReadOptions { attributes: false }, &mut count);
    let services = count.services.iter();
    let document = json!({
        "path": file.path.display().to_string(),
        "format": file.format.name(),
        "begin_ns": count.bounds.map(|(begin, _)| begin.ns()),
        "end_ns": count.bounds.map(|(_, end)| end.ns()),
        "spans": count.spans,
        "traces": count.traces.len(),
        "services": services.map(|(name, spans)| json!({"service": **name, "spans": spans})).collect::<Vec<_>>(),
        "bytes": file.path.metadata().map_or(0, |metadata| metadata.len()),
    });
    (document, count.diagnostics)
}

fn spans_as_text(document: &Value) -> String {
    let text = |key: &str| document[key].as_str().unwrap_or_default();
    let number = |key: &str| document[key].as_u64().unwrap_or(0);
    let mut lines = vec![text("path").to_owned()];
    lines.push(format!("  {}, {}", text("format"), bytes(number("bytes"))));
    lines.extend(time_as_text(document));
    lines.push(format!(
        "  {} of {}",
        number_of(number("spans"), "span"),
        number_of(number("traces"), "distributed trace"),
    ));
    let services = document["services"].as_array().into_iter().flatten();
    lines.extend(services.map(|service| {
        let name = shown(service["service"].as_str().unwrap_or_default());
        let spans = grouped(service["spans"].as_u64().unwrap_or(0));
        format!(
            "    {spans:>12}  {}",
            if name.is_empty() {
                "(unknown service)"
            } else {
                &name
            }
        )
    }));
    lines.join("\n") + "\n"
}

fn time_as_text(document: &Value) -> Option<String> {
    let (begin, end) = (document["begin_ns"].as_i64()?, document["end_ns"].as_i64()?);
    let seconds = end.saturating_sub(begin) as f64 / 1e9;
    Some(format!("  {seconds:.3} s from {}", moment(begin)))
}

fn as_text(document: &Value) -> String {
    let text = |key: &str| shown(document[key].as_str().unwrap_or_default()).into_owned();
    let number = |key: &str| document[key].as_u64().unwrap_or(0);
    let mut lines = vec![text("path")];
    let later_parts = document["later_parts"].as_array().into_iter().flatten();
    lines.extend(
        later_parts
            .filter_map(Value::as_str)
            .map(|part| format!("  and a later part of its session: {}", shown(part))),
    );
    let tracer = match (text("tracer"), text("tracer_version")) {
        (tracer, _) if tracer.is_empty() => "a tracer that it does not name".to_owned(),
        (tracer, version) => format!("{tracer} {version}").trim_end().to_owned(),
    };
    let domain = match text("domain") {
        domain if domain == "unknown" => "trace".to_owned(),
        domain => format!("{domain} trace"),
    };
    lines.push(format!("  {}, {domain} by {tracer}", text("format")));
    if !text("host").is_empty() {
        lines.push(format!("  host {}", text("host")));
    }
    lines.extend(time_as_text(document));
    lines.push(format!(
        "  {} in {}, {}, {}",
        number_of(number("events"), "event"),
        number_of(number("streams"), "stream"),
        number_of(number("packets"), "packet"),
        bytes(number("bytes")),
    ));
    if number("lost") > 0 {
        lines.push(format!(
            "  {} lost by the tracer",
            number_of(number("lost"), "event")
        ));
    }
    let recording = &document["recording"];
    let snapshots = recording["snapshots"].as_array().into_iter().flatten();
    lines.extend(snapshots.filter_map(Value::as_str).map(|snapshot| {
        let folder = shown(recording["path"].as_str().unwrap_or_default());
        format!("  an earlier snapshot, to be opened by itself: {folder}/{snapshot}")
    }));
    lines.join("\n") + "\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_trace_does_not_say_is_said_in_words_and_snapshots_are_listed() {
        let text = as_text(&json!({
            "path": "r/kernel", "format": "CTF 2", "domain": "unknown",
            "recording": {"path": "r", "complete": true, "snapshots": ["snapshot-1"]},
        }));
        assert!(
            text.starts_with("r/kernel\n  CTF 2, trace by a tracer that it does not name\n"),
            "{text}"
        );
        assert!(
            text.contains("to be opened by itself: r/snapshot-1\n"),
            "{text}"
        );
        let text = as_text(&json!({
            "format": "CTF 1.8", "domain": "kernel", "tracer": "lttng-modules", "tracer_version": "2.13.4",
        }));
        assert!(
            text.contains("  CTF 1.8, kernel trace by lttng-modules 2.13.4\n"),
            "{text}"
        );
    }
}
