//! `slowpath transfers`: which remote objects a Java program receives in vain, as its agent saw it.
//!
//! Everything that is computed lies in crate `slowpath-transfers`. Keys of the JSON document: docs/reference/definitions.md.

use std::fmt::Write as _;
use std::path::PathBuf;

use clap::Args;
use slowpath_session::transfers;
use slowpath_transfers::{FieldRow, LeftOut, Report, TransferRow, Use};
use slowpath_views::{bytes, grouped};

use crate::input::{Report as InputReport, how_many, unopenable};
use crate::output::{print, print_json};
use crate::tables::Columns;

/// Say what Java programs receive from others and never use, worst first: from reports of the agent for Java.
#[derive(Args)]
pub struct TransfersArgs {
    /// Reports of the agent, or folders with any of them.
    #[arg(required = true, value_name = "PATH")]
    paths: Vec<PathBuf>,
    /// So many transfers; 0 shows all. By default 10, or all with --json.
    #[arg(long, value_name = "N", value_parser = how_many)]
    top: Option<usize>,
    /// One JSON document.
    #[arg(long)]
    json: bool,
}

/// Runs the command.
pub fn run(args: &TransfersArgs) -> anyhow::Result<InputReport> {
    let (processes, diagnostics) = transfers(&args.paths).map_err(unopenable)?;
    let input = InputReport::default().with(diagnostics);
    let top = args.top.unwrap_or(if args.json { 0 } else { 10 });
    let report = Report::new(&processes, top);
    match args.json {
        true => print_json(&report)?,
        false => print(&text(&report))?,
    }
    Ok(input)
}

fn text(report: &Report) -> String {
    let processes = match report.processes {
        1 => "1 process".to_owned(),
        more => format!("{} processes", grouped(more as u64)),
    };
    let mut text = format!("{} responses in {processes}\n", grouped(report.responses));
    text += &left_out(&report.left_out);
    for row in &report.transfers {
        text += &one(row);
    }
    let left_out = report.rows - report.transfers.len();
    if left_out > 0 {
        text += &format!("\n… and {left_out} more (--top 0 shows all)\n");
    }
    text
}

/// What the agents could not count or watch, a line each; nothing where that is nothing.
fn left_out(left_out: &LeftOut) -> String {
    let LeftOut {
        responses_without_context,
        failures,
        classes_not_rewritten,
        reads_unseen,
        too_many,
    } = *left_out;
    let counts = [
        (
            responses_without_context,
            "responses stand nowhere below: there are too many contexts",
        ),
        (failures, "responses could not be looked into"),
        (
            classes_not_rewritten,
            "classes could not be rewritten: what they read was not watched",
        ),
        (
            reads_unseen,
            "objects were not watched: reads of their class might be missed",
        ),
        (too_many, "objects were not watched: too many were"),
    ];
    let told = counts.iter().filter(|(count, _)| *count > 0);
    told.map(|(count, what)| format!("left out: {} {what}\n", grouped(*count)))
        .collect()
}

/// A transfer: where, what, how often, field by field, what to change.
fn one(row: &TransferRow) -> String {
    let endpoint = match row.endpoint.as_str() {
        "" => "an unknown endpoint",
        endpoint => endpoint,
    };
    let mut text = format!(
        "\n{}. {} from {endpoint} ({})\n",
        row.rank, row.class, row.by
    );
    for (depth, place) in row.call_path.iter().enumerate() {
        let arrow = if depth == 0 { "" } else { "→ " };
        let _ = writeln!(
            text,
            "   {:indent$}{arrow}{place}",
            "",
            indent = 2 * depth.saturating_sub(1)
        );
    }
    let used = (row.utilisation).map_or_else(|| "unknown".to_owned(), percent);
    let _ = writeln!(
        text,
        "   {} responses ({:.1} a second) with {:.1} objects each; {used} of the fields used ({} objects decided, \
         {} censored)",
        grouped(row.responses),
        row.responses_per_second,
        row.objects_per_response,
        grouped(row.decided),
        grouped(row.censored),
    );
    if row.too_large > 0 {
        let _ = writeln!(
            text,
            "   {} responses had too many objects to count them all",
            grouped(row.too_large)
        );
    }
    let _ = writeln!(
        text,
        "   in vain: {} of {} a response, {} a second",
        bytes(row.wasted_bytes_per_response.round() as u64),
        bytes(row.bytes_per_response.round() as u64),
        bytes(row.wasted_bytes_per_second.round() as u64),
    );
    let _ = writeln!(
        text,
        "   {}: {}\n",
        if row.advice.is_needed {
            "change"
        } else {
            "note"
        },
        row.advice.text
    );
    for line in fields(&row.fields).lines() {
        let _ = writeln!(text, "     {line}");
    }
    text
}

fn fields(rows: &[FieldRow]) -> String {
    let mut columns = Columns::new(
        &["field", "type", "read", "#used", "#95 % interval", "#bytes"],
        0,
    );
    for row in rows {
        let (share, interval) = match &row.utilisation {
            Some(share) => (
                percent(share.share),
                format!("{:.1}–{:.1} %", 100.0 * share.low, 100.0 * share.high),
            ),
            None => (String::new(), String::new()),
        };
        columns.row(vec![
            row.name.clone(),
            without_package(&row.type_name).to_owned(),
            read(row.kind).to_owned(),
            share,
            interval,
            format!("{:.0}", row.bytes),
        ]);
    }
    columns.text()
}

fn without_package(type_name: &str) -> &str {
    type_name.rsplit('.').next().unwrap_or(type_name)
}

fn read(kind: Use) -> &'static str {
    match kind {
        Use::Always => "always",
        Use::Sometimes => "sometimes",
        Use::Printed => "only logged or compared",
        Use::Never => "never",
        Use::NotYet => "not yet",
        Use::Absent => "always null",
        Use::Unknown => "unknown",
    }
}

fn percent(share: f64) -> String {
    format!("{:.1} %", 100.0 * share)
}
