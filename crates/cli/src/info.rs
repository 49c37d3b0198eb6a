//! `slowpath info`: what a recording holds.

use clap::Args;
use serde_json::{Value, json};
use slowpath_engine::Cancelled;
use slowpath_kernel::Extent;
use slowpath_kernel::count::{CountBy, count};
use slowpath_model::TimeRange;
use slowpath_session::OpenedSource;

use crate::analyses::print_json;
use crate::input::{InputArgs, Report, Run};
use crate::output::print;
use crate::tables::{bytes, grouped};

/// Show what a recording holds: traces, time, events, losses.
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
    let experiment = args.input.open()?;
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
    if args.json {
        print_json(&json!({ "traces": documents }))?;
    }
    Ok(report)
}

fn describe(
    trace: &OpenedSource,
    run: &Run,
    range: TimeRange,
) -> anyhow::Result<(Value, Vec<slowpath_model::Diagnostic>)> {
    let source = &*trace.source;
    let schema = source.schema();
    let outcome = count(source, CountBy::None, &run.engine_in(range))
        .map_err(|Cancelled| anyhow::anyhow!("interrupted"))?;
    let counted = outcome.state.unwrap_or_default();
    let bounds = Extent::of(source)
        .bounds
        .map(|(first, last)| (first.max(range.begin), last.min(range.end)));
    let size: u64 = source.packets().iter().map(|packet| packet.size).sum();
    let recording = trace.recording.as_ref().map(|(folder, manifest)| {
        json!({
            "path": folder.display().to_string(),
            "mode": manifest.mode,
            "command": manifest.command,
            "complete": manifest.complete,
        })
    });
    let document = json!({
        "path": trace.path.display().to_string(),
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
        "streams": source.streams().len(),
        "bytes": size,
        "environment": schema.environment.iter().cloned().collect::<std::collections::BTreeMap<_, _>>(),
        "recording": recording,
    });
    Ok((document, outcome.diagnostics))
}

fn as_text(document: &Value) -> String {
    let text = |key: &str| document[key].as_str().unwrap_or_default().to_owned();
    let number = |key: &str| document[key].as_u64().unwrap_or(0);
    let mut lines = vec![text("path")];
    let tracer = [text("tracer"), text("tracer_version")].join(" ");
    lines.push(format!(
        "  {}, {} trace by {}",
        text("format"),
        text("domain"),
        tracer.trim()
    ));
    if !text("host").is_empty() {
        lines.push(format!("  host {}", text("host")));
    }
    if let (Some(begin), Some(end)) = (document["begin_ns"].as_i64(), document["end_ns"].as_i64()) {
        let seconds = (end - begin) as f64 / 1e9;
        lines.push(format!(
            "  {seconds:.3} s from {begin} (nanoseconds since the epoch)"
        ));
    }
    lines.push(format!(
        "  {} events in {} streams, {} packets, {}",
        grouped(number("events")),
        number("streams"),
        grouped(number("packets")),
        bytes(number("bytes")),
    ));
    if number("lost") > 0 {
        lines.push(format!(
            "  {} events were lost by the tracer",
            grouped(number("lost"))
        ));
    }
    if document["recording"]["complete"] == json!(false) {
        lines.push("  the recorder did not end in order: the end may be missing".to_owned());
    }
    lines.join("\n") + "\n"
}
